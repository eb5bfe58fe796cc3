// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Time: one timer for each peer repeats requests, sends heartbeats, and finds out
 * that the peer does not answer. It runs only while there is something to time.
 */

#include "ualink_internal.h"
#include "ualink_trace.h"

/* Who answers this, but one request not for so many times the peer timeout, is of no use. */
#define DEAF_FACTOR	4

static bool heartbeat_needed(struct ualink_peer *peer)
{
	return ualink_peer_has_session(peer) && !ualink_peer_is_self(peer) &&
	       (peer->nr_imports || peer->nr_grants);
}

static bool retries_needed(struct ualink_peer *peer)
{
	return !list_empty(&peer->sent) || peer->tx_blocked ||
	       peer->greeting == UALINK_GREETING_HELLO ||
	       peer->greeting == UALINK_GREETING_READY;
}

/* Makes the timer run as soon as @peer needs it. */
void ualink_timer_arm(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;

	lockdep_assert_held(&udev->lock);

	if (retries_needed(peer)) {
		if (peer->timer_fast)
			return;
		peer->timer_fast = true;
		mod_delayed_work(udev->wq, &peer->timer, msecs_to_jiffies(UALINK_RETRY_MS));
	} else if (heartbeat_needed(peer) || peer->challenge) {
		queue_delayed_work(udev->wq, &peer->timer,
				   ualink_tunable_jiffies(udev, UALINK_HEARTBEAT_MS));
	}
}

/* A valid message of the present session came. */
void ualink_peer_heard(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	peer->last_heard = jiffies;
	if (peer->state == UALINK_PEER_SUSPECT && !peer->suspect_revoke)
		ualink_peer_set_state(peer, UALINK_PEER_UP);
}

/* An answer is overdue. @revoke: the answer to a REVOKE, and only that will do. */
void ualink_peer_suspect(struct ualink_peer *peer, bool revoke)
{
	lockdep_assert_held(&peer->udev->lock);

	if (!ualink_peer_has_session(peer))
		return;
	peer->suspect_revoke |= revoke;
	ualink_peer_set_state(peer, UALINK_PEER_SUSPECT);
}

/* Age of the oldest unanswered request of @type, or of any if it is 0, in jiffies; 0 for none. */
static u32 oldest_request(struct ualink_peer *peer, u8 type)
{
	struct ualink_req *req;
	u32 oldest = 0;

	list_for_each_entry(req, &peer->sent, link)
		if (!type || req->type == type)
			oldest = max(oldest, ualink_age(req->first_sent));
	return oldest;
}

/* A REVOKE was acknowledged; the peer is no longer suspect if none else is overdue. */
void ualink_peer_revoke_answered(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;

	lockdep_assert_held(&udev->lock);

	if (!peer->suspect_revoke)
		return;
	peer->suspect_revoke = oldest_request(peer, UALINK_MSG_REVOKE) >=
		ualink_tunable_jiffies(udev, UALINK_REVOKE_DEADLINE_MS);
	ualink_peer_heard(peer);
}

static u32 patience(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;
	u32 request = ualink_tunable_jiffies(udev, UALINK_REQUEST_MS);
	u32 heartbeats = 2 * ualink_tunable_jiffies(udev, UALINK_HEARTBEAT_MS);

	return peer->ping.type ? min(request, heartbeats) : request;
}

static void check_answers(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;
	u32 timeout = ualink_tunable_jiffies(udev, UALINK_PEER_TIMEOUT_MS);
	u32 oldest = oldest_request(peer, 0);
	/* For how long the peer has been silent although it was asked. */
	u32 silent = min(oldest, ualink_age(peer->last_heard));

	if (silent >= timeout || oldest_request(peer, UALINK_MSG_REVOKE) >= timeout ||
	    oldest / DEAF_FACTOR >= timeout) {
		trace_ualink_timeout(udev, "peer", peer->id);
		ualink_peer_down(peer, UALINK_DEATH_PEER_LOST, -ENODEV);
	} else if (silent >= patience(peer)) {
		trace_ualink_timeout(udev, "answer", peer->id);
		ualink_peer_suspect(peer, false);
	}
}

static void heartbeat(struct ualink_peer *peer)
{
	u32 idle = ualink_tunable_jiffies(peer->udev, UALINK_HEARTBEAT_MS);

	if (heartbeat_needed(peer) && !peer->ping.type && ualink_age(peer->last_heard) >= idle)
		ualink_tx_request(peer, &peer->ping, UALINK_MSG_PING);
}

static void timer_tick(struct ualink_peer *peer)
{
	/* Pairs with WRITE_ONCE() in ualink_notify_link_down(). */
	if (READ_ONCE(peer->link_lost)) {
		WRITE_ONCE(peer->link_lost, false);
		ualink_peer_down(peer, UALINK_DEATH_PEER_LOST, -ENODEV);
		return;
	}

	/* A ring that was full may have been emptied by a reset, without a word. */
	peer->tx_blocked = false;
	ualink_tx_pump(peer);
	ualink_greeting_timer(peer);
	if (!ualink_peer_has_session(peer))
		return;
	ualink_tx_retry(peer);
	if (ualink_peer_is_self(peer))
		return;
	check_answers(peer);
	heartbeat(peer);
}

void ualink_timer_work(struct work_struct *work)
{
	struct ualink_peer *peer = container_of(to_delayed_work(work), struct ualink_peer, timer);
	struct ualink_device *udev = peer->udev;

	spin_lock(&udev->lock);
	peer->timer_fast = false;
	if (udev->state == UALINK_DEVICE_ACTIVE) {
		timer_tick(peer);
		ualink_timer_arm(peer);
	}
	spin_unlock(&udev->lock);
}
