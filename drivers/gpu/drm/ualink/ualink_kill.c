// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How imports die: because the exporter revokes them, or because the session with
 * it ends. Many die together: all are taken out of the page tables, and one flush
 * of the TLBs then serves them all.
 */

#include "ualink_internal.h"
#include "ualink_trace.h"

/* Pause before an import is tried again that is busy, or when memory was short. */
#define KILL_RETRY_MS	10

static void kill_active(struct ualink_import *imp, enum ualink_death why, u32 grace_ms)
{
	/* Pairs with READ_ONCE() in ualink_import_death(). */
	WRITE_ONCE(imp->death, why);
	imp->when = jiffies + msecs_to_jiffies(grace_ms);
	imp->invalidated = false;
	ualink_count(imp->udev, UALINK_COUNT_IMPORTS_DIED);
	ualink_import_set_state(imp, UALINK_IMPORT_REVOKING);
	list_move_tail(&imp->peer_link, &imp->peer->dying);
	ualink_peer_kick_slow(imp->peer, 0);
}

/* Ends an import, whatever its state. @grace_ms: what running work gets to complete. */
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

	list_for_each_entry_safe(imp, next, &peer->imports, peer_link) {
		if (imp->state == UALINK_IMPORT_RELEASING)
			ualink_import_finish(imp);
		else if (imp->state != UALINK_IMPORT_PENDING)
			ualink_kill_import(imp, why, 0);
	}
	/* There is nobody to acknowledge to any more, and no time to lose. */
	list_for_each_entry(imp, &peer->dying, peer_link) {
		imp->revoke_request = 0;
		imp->when = jiffies;
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
	struct ualink_import *imp, *next;
	bool dying = false;

	lockdep_assert_held(&udev->lock);

	ualink_import_kill_tag(udev, pkt->grant.tag, UALINK_DEATH_REVOKED, grace_of(udev, pkt));
	list_for_each_entry_safe(imp, next, &peer->dying, peer_link) {
		if (imp->handle.tag != pkt->grant.tag)
			continue;
		imp->revoke_request = pkt->request;
		imp->revoke_grant = pkt->grant.grant;
		dying = true;
	}
	if (!dying)
		ack_revoke(peer, pkt->grant.tag, pkt->grant.grant, pkt->request);
}

/* Asks the client to take one import out of its page tables. Drops the lock meanwhile. */
static bool invalidate(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;
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
	udev->ops->import_put(priv);
	spin_lock(&udev->lock);
	return !ret;
}

/* One round over all that is dying; true if any of it is out of the page tables now. */
static bool invalidate_all(struct ualink_peer *peer)
{
	size_t count = list_count_nodes(&peer->dying);
	struct ualink_import *imp;
	bool any = false;

	while (count--) {
		imp = list_first_entry(&peer->dying, struct ualink_import, peer_link);
		list_move_tail(&imp->peer_link, &peer->dying);
		if (!imp->invalidated)
			imp->invalidated = invalidate(imp);
		any |= imp->invalidated;
	}
	return any;
}

/* Reports a death to the client and to the exporter. Drops the lock meanwhile. */
static void bury(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;
	struct ualink_peer *peer = imp->peer;
	u64 request = imp->revoke_request, grant = imp->revoke_grant;
	enum ualink_death death = imp->death;
	u64 tag = imp->handle.tag;
	void *priv = imp->priv;

	if (priv && !udev->ops->import_tryget(priv))
		priv = NULL;
	ualink_import_finish(imp);
	if (request && !ualink_import_tag_dying(udev, tag))
		ack_revoke(peer, tag, grant, request);
	if (!priv)
		return;

	spin_unlock(&udev->lock);
	udev->ops->import_dead(udev, priv, death);
	udev->ops->import_put(priv);
	spin_lock(&udev->lock);
}

static void bury_invalidated(struct ualink_peer *peer)
{
	struct ualink_import *imp, *next;

	list_for_each_entry_safe(imp, next, &peer->dying, peer_link)
		if (imp->invalidated)
			list_move(&imp->peer_link, &peer->dying);

	/* What begins to die while the lock is dropped goes to the other end. */
	for (;;) {
		imp = list_first_entry_or_null(&peer->dying, struct ualink_import, peer_link);
		if (!imp || !imp->invalidated)
			break;
		bury(imp);
	}
}

/* Empties the TLBs; false if that has to be tried again. Drops the lock meanwhile. */
static bool flush_imports(struct ualink_device *udev)
{
	int ret;

	spin_unlock(&udev->lock);
	ret = udev->ops->import_flush(udev);
	spin_lock(&udev->lock);
	if (!ret)
		return true;

	ualink_count(udev, UALINK_COUNT_FLUSHES_FAILED);
	if (udev->state != UALINK_DEVICE_STOPPING)
		return false;
	/* The client waits to reset it. No exporter is told: all sessions have ended. */
	ualink_device_set_wedged(udev);
	return true;
}

/*
 * From slow_work: takes what is dying out of the page tables, as far as possible
 * now, and sees that it goes on.
 */
void ualink_kill_work(struct ualink_peer *peer)
{
	struct ualink_device *udev = peer->udev;

	spin_lock(&udev->lock);
	if (invalidate_all(peer) && flush_imports(udev))
		bury_invalidated(peer);
	if (!list_empty(&peer->dying))
		ualink_peer_kick_slow(peer, msecs_to_jiffies(KILL_RETRY_MS));
	spin_unlock(&udev->lock);
}
