// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How imports die: because the exporter revokes them, or because the session with
 * it ends. Many die together: all are taken out of the page tables, and one flush
 * of the TLBs then serves them all. The client tells of all of them before the time
 * is spent that it takes to forget them; only an exporter that waits comes first.
 */

#include <linux/prefetch.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

/* Pause before an import is tried again that is busy, or when memory was short. */
#define KILL_RETRY_MS	10
/* Pause before TLBs are tried again that could not be emptied. */
#define FLUSH_RETRY_MS	200

static void kill_active(struct ualink_import *imp, enum ualink_death why, u32 grace_ms)
{
	struct ualink_peer *peer = imp->peer;

	/* Pairs with READ_ONCE() in ualink_import_death(). */
	WRITE_ONCE(imp->death, why);
	imp->when = jiffies + msecs_to_jiffies(grace_ms);
	ualink_count(imp->udev, UALINK_COUNT_IMPORTS_DIED);
	ualink_import_set_state(imp, UALINK_IMPORT_REVOKING);
	list_move_tail(&imp->peer_link, &peer->dying);
	peer->nr_dying++;
}

/*
 * Ends an import, whatever its state. @grace_ms: what running work gets to complete.
 * The caller kicks slow_work, once for all that it ends.
 */
void ualink_kill_import(struct ualink_import *imp, enum ualink_death why, u32 grace_ms)
{
	lockdep_assert_held(&imp->udev->lock);

	switch (imp->state) {
	case UALINK_IMPORT_PENDING:
		ualink_import_fail(imp, -ENOENT);
		break;
	case UALINK_IMPORT_ACTIVE:
		kill_active(imp, why, grace_ms);
		break;
	case UALINK_IMPORT_IDLE:
		ualink_cache_remove(imp);
		WRITE_ONCE(imp->death, why);
		ualink_import_finish(imp);
		break;
	default:
		break;
	}
}

/* Ends all that was imported from @peer in the session that is over. */
void ualink_kill_session(struct ualink_peer *peer, enum ualink_death why)
{
	struct ualink_import *imp, *next;

	lockdep_assert_held(&peer->udev->lock);

	/* There is nobody to acknowledge to any more, and no time to lose. */
	list_for_each_entry(imp, &peer->flushing, peer_link)
		imp->revoke_request = 0;
	list_for_each_entry(imp, &peer->dying, peer_link) {
		imp->revoke_request = 0;
		imp->when = jiffies;
	}
	list_for_each_entry_safe(imp, next, &peer->imports, peer_link) {
		if (imp->state == UALINK_IMPORT_RELEASING)
			ualink_import_finish(imp);
		else if (imp->state != UALINK_IMPORT_PENDING)
			ualink_kill_import(imp, why, 0);
	}
	ualink_peer_kick_slow(peer, 0);
}

static void ack_revoke(struct ualink_peer *peer, u64 tag, u64 grant, u64 request)
{
	struct ualink_packet pkt = {
		.type = UALINK_MSG_REVOKE_ACK,
		.request = request,
		.session = { peer->session[0], peer->session[1] },
		.grant = { .tag = tag, .grant = grant },
	};

	ualink_tx_reply(peer, &pkt);
}

static u32 grace_of(struct ualink_device *udev, const struct ualink_packet *pkt)
{
	return min_t(u64, pkt->grant.grace_ms, ualink_tunable(udev, UALINK_REVOKE_DEADLINE_MS));
}

/* Ends every record of the tag; it is acknowledged when the last of them is dead. */
void ualink_kill_rx_revoke(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_device *udev = peer->udev;

	lockdep_assert_held(&udev->lock);

	if (ualink_import_revoke_tag(udev, pkt, grace_of(udev, pkt)))
		ualink_peer_kick_slow(peer, 0);
	else
		ack_revoke(peer, pkt->grant.tag, pkt->grant.grant, pkt->request);
}

/*
 * Asks the client to take one import out of its page tables, and to note that it has
 * died. Drops the lock meanwhile.
 */
static bool invalidate(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;
	enum ualink_death why = imp->death;
	void *priv = imp->priv;
	bool force;
	int ret;

	/* Nothing bound, no page table. */
	if (!priv)
		return true;
	/* Its last reference is gone; ualink_import_put() will kick us. */
	if (!udev->ops->import_tryget(priv))
		return false;

	force = time_after_eq(jiffies, imp->when);
	spin_unlock(&udev->lock);
	ret = udev->ops->import_invalidate(udev, priv, force);
	if (!ret)
		udev->ops->import_dead(udev, priv, why);
	udev->ops->import_put(priv);
	spin_lock(&udev->lock);
	return !ret;
}

/*
 * The first import of a list. When very many die, none of them is in the caches of
 * the CPU: they are asked to fetch the object of the next one, and the one after it.
 */
static struct ualink_import *first_of(struct list_head *list)
{
	struct ualink_import *imp = list_first_entry(list, struct ualink_import, peer_link);
	struct ualink_import *next;

	if (!list_is_last(&imp->peer_link, list)) {
		next = list_next_entry(imp, peer_link);
		prefetchw(next->priv);
		prefetchw(next->peer_link.next);
	}
	return imp;
}

/* No page table holds it any more. Those that an exporter waits for come first. */
static void start_flushing(struct ualink_import *imp)
{
	struct ualink_peer *peer = imp->peer;

	if (imp->revoke_request)
		list_move(&imp->peer_link, &peer->flushing);
	else
		list_move_tail(&imp->peer_link, &peer->flushing);
	peer->nr_dying--;
}

/* One round over all that is dying; true if any of it is out of the page tables now. */
static bool invalidate_all(struct ualink_peer *peer)
{
	u32 count = peer->nr_dying;
	struct ualink_import *imp;

	while (count--) {
		imp = first_of(&peer->dying);
		list_move_tail(&imp->peer_link, &peer->dying);
		if (invalidate(imp))
			start_flushing(imp);
		cond_resched_lock(&peer->udev->lock);
	}
	return !list_empty(&peer->flushing);
}

/* The end of a record that no TLB holds; the exporter hears of it, if it waits for that. */
static void bury(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;
	struct ualink_peer *peer = imp->peer;
	u64 request = imp->revoke_request, grant = imp->revoke_grant;
	u64 tag = imp->handle.tag;

	ualink_import_finish(imp);
	if (request && !ualink_import_tag_dying(udev, tag))
		ack_revoke(peer, tag, grant, request);
}

/* Ends what no TLB holds: all of it, or what an exporter waits for. */
static void bury_flushed(struct ualink_peer *peer, bool all)
{
	struct ualink_import *imp;

	while (!list_empty(&peer->flushing)) {
		imp = first_of(&peer->flushing);
		if (!all && !imp->revoke_request)
			break;
		bury(imp);
		cond_resched_lock(&peer->udev->lock);
	}
}

/* Empties the TLBs; false if that has to be tried again. */
static bool flush_imports(struct ualink_device *udev)
{
	bool stopping;

	if (!udev->ops->import_flush(udev))
		return true;

	ualink_count(udev, UALINK_COUNT_FLUSHES_FAILED);
	spin_lock(&udev->lock);
	ualink_device_set_wedged(udev);
	/* The client waits to reset it. No exporter is told: all sessions have ended. */
	stopping = udev->state == UALINK_DEVICE_STOPPING;
	spin_unlock(&udev->lock);
	return stopping;
}

/* False if the TLBs have to be tried again. */
static bool end_flushing(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;

	/* What others invalidate meanwhile must not be told as dead before their flush. */
	guard(mutex)(&udev->flush_mutex);
	if (!flush_imports(udev))
		return false;
	spin_lock(&udev->lock);
	bury_flushed(peer, false);
	spin_unlock(&udev->lock);
	udev->ops->imports_died(udev);
	return true;
}

/*
 * From slow_work: takes what is dying out of the page tables, as far as possible
 * now, and sees that it goes on.
 */
void ualink_kill_work(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;
	bool flush;

	spin_lock(&udev->lock);
	flush = invalidate_all(peer);
	spin_unlock(&udev->lock);

	flush = flush && !end_flushing(peer);

	spin_lock(&udev->lock);
	if (flush)
		ualink_peer_kick_slow(peer, msecs_to_jiffies(FLUSH_RETRY_MS));
	else
		bury_flushed(peer, true);
	if (!list_empty(&peer->dying))
		ualink_peer_kick_slow(peer, msecs_to_jiffies(KILL_RETRY_MS));
	spin_unlock(&udev->lock);
}
