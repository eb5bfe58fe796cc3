// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sending: requests that are repeated until answered, and answers.
 *
 * Nothing is allocated here. A request is a &struct ualink_req in the object
 * that it is about, and is put into words when there is room for it; an answer that
 * finds the ring full waits in a buffer of the peer.
 */

#include <linux/ktime.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

static struct ualink_import *req_to_import(struct ualink_req *req)
{
	return container_of(req, struct ualink_import, req);
}

static struct ualink_grant *req_to_grant(struct ualink_req *req)
{
	return container_of(req, struct ualink_grant, req);
}

static void fill_header(struct ualink_peer *peer, struct ualink_packet *pkt, u8 type)
{
	pkt->version = UALINK_VERSION_MAX;
	pkt->type = type;
	pkt->src = peer->udev->id;
	pkt->dst = peer->id;
}

static void compose_request(struct ualink_peer *peer, struct ualink_req *req,
			    struct ualink_packet *pkt)
{
	memset(pkt, 0, sizeof(*pkt));
	fill_header(peer, pkt, req->type);
	pkt->request = req->id;
	memcpy(pkt->session, peer->session, sizeof(pkt->session));

	switch (req->type) {
	case UALINK_MSG_IMPORT_REQ:
		pkt->import_req.tag = req_to_import(req)->handle.tag;
		pkt->import_req.secret = req_to_import(req)->handle.secret;
		pkt->import_req.access = req_to_import(req)->access;
		break;
	case UALINK_MSG_RELEASE:
		pkt->grant.tag = req_to_import(req)->handle.tag;
		pkt->grant.grant = req_to_import(req)->grant;
		break;
	case UALINK_MSG_REVOKE:
		pkt->grant.tag = req_to_grant(req)->exp->handle.tag;
		pkt->grant.grant = req_to_grant(req)->number;
		pkt->grant.grace_ms = ualink_tunable(peer->udev, UALINK_REVOKE_GRACE_MS);
		break;
	}
}

/* The ring buffer of answers; for the connection to ourselves, it is the wire. */
static bool push_reply(struct ualink_peer *peer, const struct ualink_msg *msg)
{
	if (peer->reply_count == UALINK_REPLIES)
		return false;

	peer->replies[(peer->reply_head + peer->reply_count) % UALINK_REPLIES] = *msg;
	peer->reply_count++;
	return true;
}

static void pop_reply(struct ualink_peer *peer)
{
	peer->reply_head = (peer->reply_head + 1) % UALINK_REPLIES;
	peer->reply_count--;
}

static int send_to_self(struct ualink_peer *peer, const struct ualink_msg *msg)
{
	if (!push_reply(peer, msg))
		return -ENOSPC;

	queue_work(peer->udev->wq, &peer->rx_work);
	return 0;
}

static int send_msg(struct ualink_peer *peer, const struct ualink_msg *msg, u8 type)
{
	struct ualink_device *udev = peer->udev;
	int ret;

	if (ualink_peer_is_self(peer))
		ret = send_to_self(peer, msg);
	else
		ret = udev->ops->send(udev, peer->id, msg);

	switch (ret) {
	case 0:
		atomic64_inc(&udev->sent[type]);
		break;
	case -ENOSPC:
		peer->tx_blocked = true;
		break;
	default:
		WRITE_ONCE(peer->link_lost, true);
		mod_delayed_work(udev->wq, &peer->timer, 0);
		break;
	}
	return ret;
}

static int send_packet(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_msg msg;
	int ret;

	ualink_packet_encode(pkt, &msg);
	ret = send_msg(peer, &msg, pkt->type);
	if (!ret)
		trace_ualink_msg_tx(peer->udev, pkt);
	return ret;
}

static int send_request(struct ualink_peer *peer, struct ualink_req *req)
{
	struct ualink_packet pkt;
	int ret;

	compose_request(peer, req, &pkt);
	ret = send_packet(peer, &pkt);
	if (!ret)
		req->last_sent = jiffies;
	return ret;
}

static bool flush_replies(struct ualink_peer *peer)
{
	if (ualink_peer_is_self(peer))
		return true;

	while (peer->reply_count) {
		const struct ualink_msg *msg = &peer->replies[peer->reply_head];

		/* Byte 1 of the header is the type. */
		if (send_msg(peer, msg, (le64_to_cpu(msg->words[0]) >> 8) & 0xff) == -ENOSPC)
			return false;
		pop_reply(peer);
	}
	return true;
}

/* One request at a time tells how long an answer takes, if it is not repeated meanwhile. */
static void rtt_begin(struct ualink_peer *peer, const struct ualink_req *req)
{
	if (peer->rtt_request)
		return;
	peer->rtt_request = req->id;
	peer->rtt_begin_ns = ktime_get_ns();
}

static void rtt_cancel(struct ualink_peer *peer, const struct ualink_req *req)
{
	if (req->id == peer->rtt_request)
		peer->rtt_request = 0;
}

static void rtt_end(struct ualink_peer *peer, const struct ualink_req *req)
{
	u64 rtt;

	if (req->id != peer->rtt_request)
		return;
	rtt = ktime_get_ns() - peer->rtt_begin_ns;
	if (!peer->rtt_min_ns || rtt < peer->rtt_min_ns)
		peer->rtt_min_ns = rtt;
	peer->rtt_request = 0;
}

static bool send_new_request(struct ualink_peer *peer, struct ualink_req *req)
{
	req->id = peer->last_request + 1;
	if (send_request(peer, req)) {
		req->id = 0;
		return false;
	}

	peer->last_request = req->id;
	req->first_sent = req->last_sent;
	list_move_tail(&req->link, &peer->sent);
	rtt_begin(peer, req);
	ualink_timer_arm(peer);
	return true;
}

/* Sends from one queue as far as its window has room; false when nothing more can be sent. */
static bool pump_requests(struct ualink_peer *peer, struct list_head *unsent, u32 *nr_sent)
{
	while (*nr_sent < UALINK_WINDOW && !list_empty(unsent)) {
		if (!send_new_request(peer, list_first_entry(unsent, struct ualink_req, link)))
			return false;
		(*nr_sent)++;
	}
	return true;
}

/* Sends what waits for @peer, as far as its windows and the ring have room. */
void ualink_tx_pump(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	if (peer->tx_blocked || !flush_replies(peer) || !ualink_peer_has_session(peer))
		return;

	if (pump_requests(peer, &peer->unsent_revokes, &peer->nr_sent_revokes))
		pump_requests(peer, &peer->unsent, &peer->nr_sent);
}

/* Makes @req a request of @type that is repeated until it is answered or cancelled. */
void ualink_tx_request(struct ualink_peer *peer, struct ualink_req *req, u8 type)
{
	lockdep_assert_held(&peer->udev->lock);

	ualink_tx_cancel(peer, req);
	req->type = type;
	req->id = 0;
	list_add_tail(&req->link, type == UALINK_MSG_REVOKE ? &peer->unsent_revokes :
							       &peer->unsent);
	ualink_tx_pump(peer);
}

/* Forgets @req; an answer that still comes will be ignored. */
void ualink_tx_cancel(struct ualink_peer *peer, struct ualink_req *req)
{
	lockdep_assert_held(&peer->udev->lock);

	if (!req->type)
		return;

	rtt_cancel(peer, req);
	if (req->id && req->type == UALINK_MSG_REVOKE)
		peer->nr_sent_revokes--;
	else if (req->id)
		peer->nr_sent--;
	list_del_init(&req->link);
	req->type = 0;
}

/* The request of ours that an answer to (@type, @id) is for, or NULL. */
struct ualink_req *ualink_tx_find(struct ualink_peer *peer, u8 type, u64 id)
{
	struct ualink_req *req;

	lockdep_assert_held(&peer->udev->lock);

	/* At most UALINK_WINDOW, and the oldest is the one most often answered. */
	list_for_each_entry(req, &peer->sent, link) {
		if (req->id != id)
			continue;
		rtt_end(peer, req);
		return req->type == type ? req : NULL;
	}
	return NULL;
}

/*
 * Sends @pkt, now or when the ring has room, but only once: it is an answer,
 * or it belongs to a greeting, and either is repeated by who needs it.
 */
void ualink_tx_reply(struct ualink_peer *peer, struct ualink_packet *pkt)
{
	struct ualink_msg msg;

	lockdep_assert_held(&peer->udev->lock);

	fill_header(peer, pkt, pkt->type);
	if (!peer->tx_blocked && (!peer->reply_count || ualink_peer_is_self(peer))) {
		if (send_packet(peer, pkt) != -ENOSPC)
			return;
	}

	ualink_packet_encode(pkt, &msg);
	if (ualink_peer_is_self(peer) || !push_reply(peer, &msg)) {
		peer->replies_lost++;
		ualink_count(peer->udev, UALINK_COUNT_REPLIES_LOST);
		return;
	}
	trace_ualink_msg_tx(peer->udev, pkt);
}

/* Answers @request with a message of @type that has the same request id, session and payload. */
void ualink_tx_answer(struct ualink_peer *peer, const struct ualink_packet *request, u8 type)
{
	struct ualink_packet pkt = *request;

	pkt.type = type;
	ualink_tx_reply(peer, &pkt);
}

/* Sends requests again that have waited long enough for their answers. */
void ualink_tx_retry(struct ualink_peer *peer)
{
	u32 patience = msecs_to_jiffies(UALINK_RETRY_MS);
	struct ualink_req *req;

	lockdep_assert_held(&peer->udev->lock);

	/* Each is moved to the end, so that this ends with the first that is young. */
	while (!peer->tx_blocked && !list_empty(&peer->sent)) {
		req = list_first_entry(&peer->sent, struct ualink_req, link);
		if (ualink_age(req->last_sent) < patience || send_request(peer, req))
			return;
		rtt_cancel(peer, req);
		list_move_tail(&req->link, &peer->sent);
		ualink_count(peer->udev, UALINK_COUNT_RETRIES);
	}
}

/*
 * The session is over, and with it all that was asked in it. Only who waits for an
 * import asks again, in the next one.
 */
void ualink_tx_session_ended(struct ualink_peer *peer)
{
	struct ualink_req *req, *next;
	LIST_HEAD(old);

	lockdep_assert_held(&peer->udev->lock);

	list_splice_init(&peer->sent, &old);
	list_splice_tail_init(&peer->unsent, &old);
	list_splice_tail_init(&peer->unsent_revokes, &old);
	peer->nr_sent = 0;
	peer->nr_sent_revokes = 0;
	peer->last_request = 0;
	peer->rtt_request = 0;
	list_for_each_entry_safe(req, next, &old, link) {
		req->id = 0;
		if (req->type == UALINK_MSG_IMPORT_REQ) {
			list_move_tail(&req->link, &peer->unsent);
		} else {
			list_del_init(&req->link);
			req->type = 0;
		}
	}
}

/* What is still to be said is of a life that is over. */
void ualink_tx_forget(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	peer->reply_count = 0;
	peer->tx_blocked = false;
}

/* The next message from @peer: 0, or -EAGAIN. */
int ualink_tx_recv(struct ualink_peer *peer, struct ualink_msg *msg)
{
	struct ualink_device *udev = peer->udev;
	int ret = -EAGAIN;

	if (!ualink_peer_is_self(peer))
		return udev->ops->recv(udev, peer->id, msg);

	spin_lock(&udev->lock);
	if (peer->reply_count) {
		*msg = peer->replies[peer->reply_head];
		pop_reply(peer);
		ret = 0;
	}
	spin_unlock(&udev->lock);
	return ret;
}
