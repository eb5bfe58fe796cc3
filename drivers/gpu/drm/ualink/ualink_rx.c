// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Receiving: one work item for each peer takes that peer's messages out of its
 * ring, in order, checks them, and hands them to whom they concern. It never waits:
 * what has to wait is done elsewhere, and the backlog of a peer is its own.
 */

#include "ualink_internal.h"
#include "ualink_trace.h"

/* Messages handled before other peers get their turn on this CPU. */
#define RX_BUDGET	64

enum rx_verdict {
	RX_DONE,
	RX_LATER,	/* keep it; receiving goes on when the gate is open */
};

static void rx_ignore(struct ualink_peer *peer)
{
	peer->ignored++;
	ualink_count(peer->udev, UALINK_COUNT_IGNORED);
}

static void rx_bad(struct ualink_peer *peer, enum ualink_decode_error why)
{
	struct ualink_device *udev = peer->udev;

	peer->bad_msgs++;
	ualink_count(udev, UALINK_COUNT_BAD_MSGS);
	trace_ualink_msg_bad(udev, peer->id, why);
	dev_dbg_ratelimited(udev->dev, "ualink: malformed message from %u (%d)\n",
			    peer->id, why);
}

static void send_nak(struct ualink_peer *peer, const struct ualink_packet *pkt,
		     enum ualink_nak_reason reason)
{
	struct ualink_packet nak = {
		.type = UALINK_MSG_NAK,
		.request = pkt->request,
		.session = { pkt->session[0], pkt->session[1] },
		.nak = {
			.version = pkt->version,
			.type = pkt->type,
			.reason = reason,
			.request = pkt->request,
			.session = { pkt->session[0], pkt->session[1] },
		},
	};

	peer->naks++;
	ualink_count(peer->udev, UALINK_COUNT_NAKS_SENT);
	ualink_tx_reply(peer, &nak);
}

/*
 * Only requests are refused aloud, so that two nodes cannot refuse each other's refusals.
 * Those of a greeting do not come here.
 */
static void rx_refuse(struct ualink_peer *peer, const struct ualink_packet *pkt,
		      enum ualink_nak_reason reason)
{
	if (ualink_msg_is_request(pkt->type))
		send_nak(peer, pkt, reason);
	rx_ignore(peer);
}

/* Our request was refused. If it is one of ours, then the peer has lost the session. */
static void rx_nak(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	if (!ualink_peer_has_session(peer) ||
	    !ualink_session_equal(pkt->nak.session, peer->session) ||
	    !ualink_tx_find(peer, pkt->nak.type, pkt->nak.request)) {
		rx_ignore(peer);
		return;
	}
	ualink_greeting_start(peer);
}

static void rx_pong(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_req *req = ualink_tx_find(peer, UALINK_MSG_PING, pkt->request);

	if (req)
		ualink_tx_cancel(peer, req);
	else
		rx_ignore(peer);
}

static void rx_in_session(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	ualink_peer_heard(peer);

	switch (pkt->type) {
	case UALINK_MSG_IMPORT_REQ:
		ualink_grant_rx_import_req(peer, pkt);
		break;
	case UALINK_MSG_IMPORT_RSP:
		ualink_import_rx_rsp(peer, pkt);
		break;
	case UALINK_MSG_RELEASE:
		ualink_grant_rx_release(peer, pkt);
		break;
	case UALINK_MSG_RELEASE_ACK:
		ualink_import_rx_release_ack(peer, pkt);
		break;
	case UALINK_MSG_REVOKE:
		ualink_kill_rx_revoke(peer, pkt);
		break;
	case UALINK_MSG_REVOKE_ACK:
		ualink_grant_rx_revoke_ack(peer, pkt);
		break;
	case UALINK_MSG_PING:
		ualink_tx_answer(peer, pkt, UALINK_MSG_PONG);
		break;
	case UALINK_MSG_PONG:
		rx_pong(peer, pkt);
		break;
	case UALINK_MSG_BYE:
		ualink_peer_down(peer, UALINK_DEATH_PEER_LEFT, -ENODEV);
		break;
	}
}

static enum rx_verdict rx_dispatch(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	lockdep_assert_held(&peer->udev->lock);

	if (ualink_msg_is_greeting(pkt->type)) {
		ualink_greeting_rx(peer, pkt);
		return RX_DONE;
	}
	if (pkt->type == UALINK_MSG_NAK) {
		rx_nak(peer, pkt);
		return RX_DONE;
	}
	if (ualink_peer_has_session(peer) &&
	    ualink_session_equal(pkt->session, peer->session)) {
		rx_in_session(peer, pkt);
		return RX_DONE;
	}
	/* The peer's READY or READY_ACK was lost, but it must have sent one. */
	if (ualink_session_equal(pkt->session, peer->pending)) {
		ualink_greeting_implied(peer);
		if (peer->greeting == UALINK_GREETING_OPENING)
			return RX_LATER;
	}
	rx_refuse(peer, pkt, UALINK_NAK_SESSION);
	return RX_DONE;
}

/* Who greets an accelerator that is not active need not wait for nothing. */
static void rx_inactive(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	if (pkt->type == UALINK_MSG_HELLO)
		ualink_greeting_rx_inactive(peer, pkt);
	else
		rx_ignore(peer);
}

static enum rx_verdict rx_decoded(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_device *udev = peer->udev;
	enum rx_verdict verdict = RX_DONE;

	spin_lock(&udev->lock);
	if (udev->state == UALINK_DEVICE_ACTIVE)
		verdict = rx_dispatch(peer, pkt);
	else
		rx_inactive(peer, pkt);
	if (verdict == RX_DONE)
		ualink_tx_pump(peer);
	spin_unlock(&udev->lock);
	return verdict;
}

static enum rx_verdict rx_one(struct ualink_peer *peer, const struct ualink_msg *msg)
{
	struct ualink_device *udev = peer->udev;
	enum ualink_decode_error err;
	struct ualink_packet pkt;

	err = ualink_packet_decode(&pkt, msg, peer->id, udev->id);
	if (!err) {
		if (!peer->stashed) {
			atomic64_inc(&udev->received[pkt.type]);
			trace_ualink_msg_rx(udev, &pkt);
		}
		return rx_decoded(peer, &pkt);
	}

	spin_lock(&udev->lock);
	rx_bad(peer, err);
	if (err == UALINK_DECODE_VERSION && udev->state == UALINK_DEVICE_ACTIVE)
		ualink_greeting_rx_version(peer, &pkt);
	spin_unlock(&udev->lock);
	return RX_DONE;
}

/* Handles a message; false when receiving has to stop until somebody queues the work again. */
static bool rx_next(struct ualink_peer *peer)
{
	if (!peer->stashed && ualink_tx_recv(peer, &peer->stash))
		return false;

	if (rx_one(peer, &peer->stash) == RX_LATER) {
		peer->stashed = true;
		return false;
	}
	peer->stashed = false;
	return true;
}

void ualink_rx_work(struct work_struct *work)
{
	struct ualink_peer *peer = container_of(work, struct ualink_peer, rx_work);
	struct ualink_device *udev = peer->udev;
	unsigned int budget = RX_BUDGET;

	spin_lock(&udev->lock);
	peer->tx_blocked = false;
	ualink_tx_pump(peer);
	spin_unlock(&udev->lock);

	while (budget && rx_next(peer))
		budget--;
	if (!budget)
		queue_work(udev->wq, &peer->rx_work);
}
