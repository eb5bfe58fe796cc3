// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/random.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

/**
 * DOC: Greeting
 *
 * A session between two accelerators is made by a greeting, in which each
 * proves to the other that it lives now, by returning the other's fresh random
 * challenge, and that it holds nothing of an earlier session::
 *
 *          initiator                               responder
 *      NONE
 *        | ---- HELLO (a) ---------------------------> |
 *      HELLO                                           | has challenge b
 *        | <--- HELLO_ACK (a, b) --------------------- |
 *      CLEANING: gate closes,                          |
 *        | old grants end, old imports die             |
 *        | ---- READY (a, b) ------------------------> |
 *      READY                                       CLEANING: gate closes,
 *        |                                           old grants end, old imports die
 *        |                                         OPENING: gate opens
 *        | <--- READY_ACK (a, b) --------------------- |
 *      OPENING: gate opens                         NONE, session is (a, b)
 *      NONE, session is (a, b)
 *
 * The two challenges, the one of the lower id first, are the session's number.
 * An accelerator has one outstanding challenge for each peer, whatever its
 * role, so that greetings which cross end in the same session. A HELLO proves
 * nothing, since it may be a late duplicate, and changes nothing but that it is
 * answered.
 *
 * The gate closes even if it was open for the same peer: what the peer's earlier
 * life has sent, and the fabric still carries, must not be served.
 */

#define GREETING_RETRIES	5

static void greeting_set(struct ualink_peer *peer, enum ualink_greeting greeting)
{
	lockdep_assert_held(&peer->udev->lock);

	if (peer->greeting == greeting)
		return;
	trace_ualink_greeting(peer, peer->greeting, greeting);
	peer->greeting = greeting;
	peer->greeting_sent = jiffies;
}

static u64 fresh_challenge(void)
{
	u64 challenge;

	do {
		challenge = get_random_u64();
	} while (!challenge);
	return challenge;
}

static u8 page_shift(struct ualink_device *udev)
{
	return ilog2(ualink_npa_page_size(&udev->npa));
}

/* HELLO or HELLO_ACK, with our versions and geometry. */
static void send_hello(struct ualink_peer *peer, u8 type, u64 theirs)
{
	struct ualink_device *udev = peer->udev;
	struct ualink_packet pkt = {
		.type = type,
		.hello = {
			.version_min = UALINK_VERSION_MIN,
			.version_max = UALINK_VERSION_MAX,
			.segment_shift = udev->segment_shift,
			.page_shift = page_shift(udev),
		},
	};

	pkt.session[peer->own_slot] = peer->challenge;
	pkt.session[!peer->own_slot] = theirs;
	export_uuid(pkt.hello.vpod, &udev->vpod);
	ualink_tx_reply(peer, &pkt);
	peer->greeting_sent = jiffies;
}

static void send_hello_nak(struct ualink_peer *peer, const struct ualink_packet *hello,
			   enum ualink_nak_reason reason)
{
	struct ualink_packet pkt = {
		.type = UALINK_MSG_HELLO_NAK,
		.hello_nak = { .reason = reason },
	};

	pkt.session[!peer->own_slot] = hello->session[!peer->own_slot];
	peer->naks++;
	ualink_count(peer->udev, UALINK_COUNT_NAKS_SENT);
	ualink_tx_reply(peer, &pkt);
}

static void send_ready(struct ualink_peer *peer, u8 type, const u64 session[2])
{
	struct ualink_packet pkt = {
		.type = type,
		.session = { session[0], session[1] },
	};

	ualink_tx_reply(peer, &pkt);
	peer->greeting_sent = jiffies;
}

/* Why no session can be made with the sender of a HELLO or HELLO_ACK; 0 when it can. */
static int hello_objection(struct ualink_device *udev, const struct ualink_packet *pkt)
{
	u8 vpod[16];

	export_uuid(vpod, &udev->vpod);
	if (pkt->hello.version_min > UALINK_VERSION_MAX ||
	    pkt->hello.version_max < UALINK_VERSION_MIN)
		return UALINK_NAK_VERSION;
	if (memcmp(pkt->hello.vpod, vpod, sizeof(vpod)))
		return UALINK_NAK_VPOD;
	if (pkt->hello.segment_shift != udev->segment_shift ||
	    pkt->hello.page_shift != page_shift(udev))
		return UALINK_NAK_GEOMETRY;
	return 0;
}

static void need_challenge(struct ualink_peer *peer)
{
	if (peer->challenge)
		return;
	peer->challenge = fresh_challenge();
	peer->greeting_start = jiffies;
	ualink_timer_arm(peer);
}

/* Wants a session with @peer; does nothing when one is being made. */
void ualink_greeting_start(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	if (peer->greeting != UALINK_GREETING_NONE || ualink_peer_is_self(peer))
		return;

	need_challenge(peer);
	peer->greeting_start = jiffies;
	if (!ualink_peer_has_session(peer))
		ualink_peer_set_state(peer, UALINK_PEER_GREETING);
	greeting_set(peer, UALINK_GREETING_HELLO);
	send_hello(peer, UALINK_MSG_HELLO, 0);
	ualink_timer_arm(peer);
}

/* Gives the greeting up. What answers its challenge later has no effect. */
void ualink_greeting_abort(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	greeting_set(peer, UALINK_GREETING_NONE);
	peer->challenge = 0;
	peer->peer_ready = false;
	peer->owe_ready_ack = false;
	memset(peer->pending, 0, sizeof(peer->pending));
}

/* The peer lives and wants the session @session; end what there was before it. */
static void clean(struct ualink_peer *peer, const u64 session[2])
{
	memcpy(peer->pending, session, sizeof(peer->pending));
	if (ualink_peer_has_session(peer))
		ualink_peer_end_session(peer, UALINK_DEATH_PEER_RESET);
	/* What the peer's earlier life has sent is cut off before its new one is let in. */
	peer->gate_wanted = false;
	peer->drop_grants = true;
	ualink_peer_set_state(peer, UALINK_PEER_GREETING);
	if (peer->greeting != UALINK_GREETING_CLEANING)
		peer->cleaning_since = jiffies;
	greeting_set(peer, UALINK_GREETING_CLEANING);
	ualink_peer_kick_slow(peer, 0);
	ualink_timer_arm(peer);
}

static void open_gate(struct ualink_peer *peer)
{
	peer->peer_ready = true;
	greeting_set(peer, UALINK_GREETING_OPENING);
	ualink_peer_kick_slow(peer, 0);
}

/* From slow_work: nothing of ours from an earlier session is left. */
void ualink_greeting_cleaned(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	if (peer->greeting != UALINK_GREETING_CLEANING)
		return;

	if (peer->peer_ready) {
		open_gate(peer);
		return;
	}
	greeting_set(peer, UALINK_GREETING_READY);
	/* The peer is not to blame for the time that this took. */
	peer->greeting_start += jiffies - peer->cleaning_since;
	peer->ready_since = jiffies;
	send_ready(peer, UALINK_MSG_READY, peer->pending);
	ualink_timer_arm(peer);
}

/* From slow_work: the gate is open, and the peer holds nothing of an earlier session. */
void ualink_greeting_opened(struct ualink_peer *peer)
{
	bool owe = peer->owe_ready_ack;

	lockdep_assert_held(&peer->udev->lock);

	memcpy(peer->session, peer->pending, sizeof(peer->session));
	ualink_greeting_abort(peer);
	peer->last_request = 0;
	peer->session_start = jiffies;
	peer->last_heard = jiffies;
	peer->suspect_revoke = false;
	peer->sessions++;
	peer->down_reason = UALINK_ALIVE;
	ualink_peer_set_state(peer, UALINK_PEER_UP);
	if (owe)
		send_ready(peer, UALINK_MSG_READY_ACK, peer->session);
	ualink_tx_pump(peer);
	ualink_timer_arm(peer);
	/* For what came in the meantime and is of this session. */
	queue_work(peer->udev->wq, &peer->rx_work);
}

static void ignore(struct ualink_peer *peer)
{
	peer->ignored++;
	ualink_count(peer->udev, UALINK_COUNT_IGNORED);
}

static void rx_hello(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	int objection = hello_objection(peer->udev, pkt);

	if (objection) {
		send_hello_nak(peer, pkt, objection);
		return;
	}
	need_challenge(peer);
	send_hello(peer, UALINK_MSG_HELLO_ACK, pkt->session[!peer->own_slot]);
}

/* Whether a message returns the challenge that we are waiting for. */
static bool answers_challenge(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	return peer->challenge && pkt->session[peer->own_slot] == peer->challenge;
}

static void rx_hello_ack(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	if (peer->greeting != UALINK_GREETING_HELLO || !answers_challenge(peer, pkt)) {
		ignore(peer);
		return;
	}
	if (hello_objection(peer->udev, pkt)) {
		ualink_peer_down(peer, UALINK_DEATH_PEER_LEFT, -ENODEV);
		ualink_peer_set_state(peer, UALINK_PEER_INCOMPATIBLE);
		return;
	}
	clean(peer, pkt->session);
}

static void rx_hello_nak(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	if (peer->greeting != UALINK_GREETING_HELLO || !answers_challenge(peer, pkt)) {
		ignore(peer);
		return;
	}
	ualink_peer_down(peer, UALINK_DEATH_PEER_RESET, -ENODEV);
	if (pkt->hello_nak.reason != UALINK_NAK_INACTIVE)
		ualink_peer_set_state(peer, UALINK_PEER_INCOMPATIBLE);
}

static void rx_ready(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	if (ualink_peer_has_session(peer) &&
	    ualink_session_equal(pkt->session, peer->session)) {
		ualink_peer_heard(peer);
		send_ready(peer, UALINK_MSG_READY_ACK, peer->session);
		return;
	}
	if (!answers_challenge(peer, pkt)) {
		ignore(peer);
		return;
	}

	peer->owe_ready_ack = true;
	if (peer->greeting == UALINK_GREETING_OPENING &&
	    ualink_session_equal(pkt->session, peer->pending))
		return;

	peer->peer_ready = true;
	if (peer->greeting == UALINK_GREETING_READY) {
		/* Greetings crossed; we hold nothing any more either. */
		memcpy(peer->pending, pkt->session, sizeof(peer->pending));
		open_gate(peer);
		return;
	}
	clean(peer, pkt->session);
}

static void rx_ready_ack(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	if (peer->greeting == UALINK_GREETING_READY &&
	    ualink_session_equal(pkt->session, peer->pending))
		open_gate(peer);
	else
		ignore(peer);
}

/* A message of the pending session came: the peer would not send it without being ready. */
void ualink_greeting_implied(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	if (peer->greeting == UALINK_GREETING_READY)
		open_gate(peer);
}

void ualink_greeting_rx(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	lockdep_assert_held(&peer->udev->lock);

	/* The connection to ourselves needs no greeting. */
	if (ualink_peer_is_self(peer)) {
		ignore(peer);
		return;
	}

	switch (pkt->type) {
	case UALINK_MSG_HELLO:
		rx_hello(peer, pkt);
		break;
	case UALINK_MSG_HELLO_ACK:
		rx_hello_ack(peer, pkt);
		break;
	case UALINK_MSG_HELLO_NAK:
		rx_hello_nak(peer, pkt);
		break;
	case UALINK_MSG_READY:
		rx_ready(peer, pkt);
		break;
	case UALINK_MSG_READY_ACK:
		rx_ready_ack(peer, pkt);
		break;
	}
}

/* A message of a version that we do not speak: tell a greeter so, in ours. */
void ualink_greeting_rx_version(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	lockdep_assert_held(&peer->udev->lock);

	if (pkt->type == UALINK_MSG_HELLO && !ualink_peer_is_self(peer))
		send_hello_nak(peer, pkt, UALINK_NAK_VERSION);
}

/* We are not active: a greeter may try again later. */
void ualink_greeting_rx_inactive(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	lockdep_assert_held(&peer->udev->lock);

	if (!ualink_peer_is_self(peer))
		send_hello_nak(peer, pkt, UALINK_NAK_INACTIVE);
}

/* READY is not answered: begin anew, with a challenge that no late message knows. */
static void start_over(struct ualink_peer *peer)
{
	unsigned long start = peer->greeting_start;

	ualink_greeting_abort(peer);
	ualink_greeting_start(peer);
	peer->greeting_start = start;
}

static bool greeting_expired(struct ualink_peer *peer)
{
	unsigned long patience = ualink_tunable_jiffies(peer->udev, UALINK_REQUEST_MS);

	return time_after_eq(jiffies, peer->greeting_start + patience);
}

/* From the timer: repeats what is not answered, and gives up in the end. */
void ualink_greeting_timer(struct ualink_peer *peer)
{
	unsigned long retry = msecs_to_jiffies(UALINK_RETRY_MS);

	lockdep_assert_held(&peer->udev->lock);

	switch (peer->greeting) {
	case UALINK_GREETING_NONE:
		/* A challenge that a HELLO made us draw, but no READY followed. */
		if (peer->challenge && greeting_expired(peer))
			peer->challenge = 0;
		return;
	case UALINK_GREETING_HELLO:
	case UALINK_GREETING_READY:
		break;
	default:
		return;
	}

	if (greeting_expired(peer)) {
		trace_ualink_timeout(peer->udev, "greeting", peer->id);
		ualink_peer_down(peer, UALINK_DEATH_PEER_LOST, -ETIMEDOUT);
	} else if (time_before(jiffies, peer->greeting_sent + retry) || peer->tx_blocked) {
		return;
	} else if (peer->greeting == UALINK_GREETING_HELLO) {
		send_hello(peer, UALINK_MSG_HELLO, 0);
	} else if (time_after(jiffies, peer->ready_since + GREETING_RETRIES * retry)) {
		start_over(peer);
	} else {
		send_ready(peer, UALINK_MSG_READY, peer->pending);
	}
}
