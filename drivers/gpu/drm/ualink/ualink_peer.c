// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/random.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

/**
 * DOC: Peer state machine
 *
 * .. kernel-render:: DOT
 *    :alt: the states of a peer
 *    :caption: States of a peer
 *
 *    digraph "peer" {
 *       rankdir = LR; node [shape = box, fontsize = 10]; edge [fontsize = 9];
 *       DOWN -> GREETING [label = "greeting begins"];
 *       GREETING -> UP [label = "greeting is complete"];
 *       GREETING -> DOWN [label = "not answered"];
 *       GREETING -> INCOMPATIBLE [label = "refused"];
 *       INCOMPATIBLE -> GREETING [label = "greeting begins"];
 *       UP -> SUSPECT [label = "answer overdue"];
 *       SUSPECT -> UP [label = "heard again, or\nREVOKE answered"];
 *       UP -> GREETING [label = "new session"];
 *       SUSPECT -> GREETING [label = "new session"];
 *       UP -> DOWN [label = "link down,\nBYE, reset"];
 *       SUSPECT -> DOWN [label = "peer timeout,\nlink down, BYE, reset"];
 *    }
 *
 * A session, and with it every grant and every import, outlives SUSPECT and
 * ends with all other transitions out of UP and SUSPECT.
 */

/* A node that has gone mad shall not fill the log, nor hide what others do. */
void ualink_fault_limit_init(struct ratelimit_state *limit)
{
	ratelimit_state_init(limit, DEFAULT_RATELIMIT_INTERVAL, 1);
	/* The line says how many there were. */
	ratelimit_set_flags(limit, RATELIMIT_MSG_ON_RELEASE);
}

static struct ualink_peer *peer_create(struct ualink_device *udev, u32 id)
{
	struct ualink_peer *peer;

	peer = kzalloc_obj(*peer);
	if (!peer)
		return NULL;
	peer->replies = kvzalloc_objs(*peer->replies, UALINK_REPLIES);
	if (!peer->replies) {
		kfree(peer);
		return NULL;
	}

	peer->udev = udev;
	peer->id = id;
	peer->own_slot = udev->id > id;
	ualink_fault_limit_init(&peer->fault_limit);
	INIT_LIST_HEAD(&peer->unsent);
	INIT_LIST_HEAD(&peer->unsent_revokes);
	INIT_LIST_HEAD(&peer->sent);
	INIT_LIST_HEAD(&peer->imports);
	INIT_LIST_HEAD(&peer->dying);
	INIT_LIST_HEAD(&peer->flushing);
	INIT_LIST_HEAD(&peer->grants);
	INIT_LIST_HEAD(&peer->ping.link);
	INIT_WORK(&peer->rx_work, ualink_rx_work);
	INIT_DELAYED_WORK(&peer->timer, ualink_timer_work);
	INIT_DELAYED_WORK(&peer->slow_work, ualink_peer_slow_work);
	return peer;
}

static void peer_free(struct ualink_peer *peer)
{
	kvfree(peer->replies);
	kfree(peer);
}

/* The peer with @id, made if it is not there yet; it stays until the device goes. */
struct ualink_peer *ualink_peer_obtain(struct ualink_device *udev, u32 id)
{
	struct ualink_peer *peer = xa_load(&udev->peers, id);
	struct ualink_peer *old;

	might_alloc(GFP_KERNEL);
	if (peer)
		return peer;

	peer = peer_create(udev, id);
	if (!peer)
		return NULL;
	old = xa_cmpxchg(&udev->peers, id, NULL, peer, GFP_KERNEL);
	if (old) {
		peer_free(peer);
		return xa_is_err(old) ? NULL : old;
	}
	return peer;
}

void ualink_peer_stop_all(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	/* They queue each other. */
	xa_for_each(&udev->peers, id, peer) {
		disable_delayed_work_sync(&peer->slow_work);
		disable_delayed_work_sync(&peer->timer);
		disable_work_sync(&peer->rx_work);
	}
}

void ualink_peer_destroy_all(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	xa_for_each(&udev->peers, id, peer) {
		xa_erase(&udev->peers, id);
		peer_free(peer);
	}
}

/* The only place where the state of a peer changes. */
void ualink_peer_set_state(struct ualink_peer *peer, enum ualink_peer_state state)
{
	lockdep_assert_held(&peer->udev->lock);

	if (peer->state == state)
		return;
	trace_ualink_peer_state(peer, peer->state, state);
	peer->state = state;
}

void ualink_peer_kick_slow(struct ualink_peer *peer, unsigned long delay)
{
	ualink_kick(peer->udev->slow_wq, &peer->slow_work, delay);
}

/*
 * Ends the session with @peer on this side. Imports die. Grants stay counted until
 * the gate is closed, which the caller sees to.
 */
void ualink_peer_end_session(struct ualink_peer *peer, enum ualink_death why)
{
	lockdep_assert_held(&peer->udev->lock);

	memset(peer->session, 0, sizeof(peer->session));
	peer->down_reason = why;
	ualink_tx_session_ended(peer);
	ualink_kill_session(peer, why);
}

static void fail_pending_imports(struct ualink_peer *peer, int error)
{
	struct ualink_import *imp, *next;

	list_for_each_entry_safe(imp, next, &peer->imports, peer_link)
		if (imp->state == UALINK_IMPORT_PENDING)
			ualink_import_fail(imp, error);
}

/*
 * The peer is gone: its memory is lost for us and ours for it. @error is what
 * those get who wait for an import.
 */
void ualink_peer_down(struct ualink_peer *peer, enum ualink_death why, int error)
{
	lockdep_assert_held(&peer->udev->lock);

	if (ualink_peer_has_session(peer))
		ualink_peer_end_session(peer, why);
	ualink_greeting_abort(peer);
	fail_pending_imports(peer, error);
	peer->gate_wanted = false;
	peer->drop_grants = true;
	ualink_peer_set_state(peer, UALINK_PEER_DOWN);
	ualink_peer_kick_slow(peer, 0);
	/* What waited for the gate need not wait any more. */
	queue_work(peer->udev->wq, &peer->rx_work);
}

/* Calls the client, without the lock. */
static int move_gate(struct ualink_peer *peer, bool open)
{
	struct ualink_device *udev = peer->udev;
	int ret;

	if (peer->gate_open == open)
		return 0;

	spin_unlock(&udev->lock);
	ret = udev->ops->source_gate(udev, peer->id, open);
	trace_ualink_gate(peer, open, ret);
	spin_lock(&udev->lock);
	if (ret)
		ualink_device_set_wedged(udev);
	else
		peer->gate_open = open;
	return ret;
}

static void close_gate(struct ualink_peer *peer)
{
	if (move_gate(peer, false)) {
		/* The peer can still reach what it holds: no new session before a reset. */
		ualink_greeting_abort(peer);
		fail_pending_imports(peer, -ENODEV);
		ualink_peer_set_state(peer, UALINK_PEER_DOWN);
		return;
	}
	ualink_grant_drop_all(peer);
	peer->drop_grants = false;
}

static void open_gate(struct ualink_peer *peer)
{
	/* A greeting has begun since this work closed the gate, or did not have to. */
	if (peer->gate_open || peer->drop_grants) {
		ualink_peer_kick_slow(peer, 0);
		return;
	}
	if (move_gate(peer, true)) {
		ualink_peer_down(peer, UALINK_DEATH_PEER_LOST, -ENODEV);
		return;
	}
	/* It may have gone down while the gate moved; then this runs again and closes it. */
	if (peer->greeting != UALINK_GREETING_OPENING) {
		ualink_peer_kick_slow(peer, 0);
		return;
	}
	peer->gate_wanted = true;
	ualink_greeting_opened(peer);
}

/*
 * All that has to sleep for the hardware or for dma_resv, in this order: close the
 * gate, take dying imports out of the page tables, and go on with a greeting.
 */
void ualink_peer_slow_work(struct work_struct *work)
{
	struct ualink_peer *peer = container_of(to_delayed_work(work),
						struct ualink_peer, slow_work);
	struct ualink_device *udev = peer->udev;

	spin_lock(&udev->lock);
	if (!peer->gate_wanted && (peer->gate_open || peer->drop_grants))
		close_gate(peer);
	spin_unlock(&udev->lock);

	ualink_kill_work(peer);

	spin_lock(&udev->lock);
	/* Asked only now: a session may have ended since. */
	if (list_empty(&peer->dying) && list_empty(&peer->flushing))
		ualink_greeting_cleaned(peer);
	if (peer->greeting == UALINK_GREETING_OPENING)
		open_gate(peer);
	ualink_device_changed(udev);
	spin_unlock(&udev->lock);
}

/* Memory of our own is imported through the same messages, but they take no wire. */
void ualink_peer_connect_self(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	peer->pending[0] = get_random_u64() | 1;
	peer->pending[1] = get_random_u64() | 1;
	peer->reply_count = 0;
	peer->stashed = false;
	peer->gate_wanted = true;
	ualink_greeting_opened(peer);
}

static void peer_fault(struct ualink_peer *peer)
{
	u64 faults = atomic64_inc_return(&peer->faults);

	if (__ratelimit(&peer->fault_limit))
		dev_notice(peer->udev->dev,
			   "ualink: accelerator %u was refused access %llu times\n",
			   peer->id, faults);
}

/**
 * ualink_notify_fault - the link MMU has refused an access
 * @udev: the device
 * @src: accelerator whose access it was
 *
 * Counts it for @src, and says so in the log now and then. One that has not heard of
 * a revoke in time can do this without meaning harm. May be called from any context.
 */
void ualink_notify_fault(struct ualink_device *udev, u32 src)
{
	struct ualink_peer *peer;
	u64 faults;

	if (src >= UALINK_MAX_IDS)
		return;
	faults = atomic64_inc_return(&udev->counters[UALINK_COUNT_FAULTS]);
	trace_ualink_fault(udev, src);
	peer = xa_load(&udev->peers, src);
	if (peer)
		peer_fault(peer);
	else if (__ratelimit(&udev->fault_limit))
		dev_notice(udev->dev,
			   "ualink: accelerator %u, a stranger, was refused access, %llu in all\n",
			   src, faults);
}
EXPORT_SYMBOL_GPL(ualink_notify_fault);

/**
 * ualink_device_is_member - whether an accelerator is in the same vPod
 * @udev: the local accelerator
 * @id: accelerator id
 *
 * Return: true if it is.
 */
bool ualink_device_is_member(struct ualink_device *udev, u32 id)
{
	return ualink_has_id(udev->members, id);
}
EXPORT_SYMBOL_GPL(ualink_device_is_member);

/**
 * ualink_peer_get_info - state of the connection to another accelerator
 * @udev: the local accelerator
 * @id: accelerator id of the peer
 * @info: filled in; a peer that was never needed is DOWN
 */
void ualink_peer_get_info(struct ualink_device *udev, u32 id, struct ualink_peer_info *info)
{
	struct ualink_peer *peer = xa_load(&udev->peers, id);

	memset(info, 0, sizeof(*info));
	info->id = id;
	if (!peer)
		return;

	spin_lock(&udev->lock);
	info->state = peer->state;
	info->confirmed = peer->state == UALINK_PEER_UP;
	info->imports = peer->nr_imports;
	info->grants = peer->nr_grants;
	info->sessions = peer->sessions;
	info->bad_msgs = peer->bad_msgs;
	spin_unlock(&udev->lock);
}
EXPORT_SYMBOL_GPL(ualink_peer_get_info);
