// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/debugfs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "ualink_internal.h"
#include "ualink_names.h"

/**
 * DOC: Files in debugfs
 *
 * In the folder "ualink" of a device, for tests and for those who debug. None of it is
 * ABI. What is called handle is a hash of it, the same as in the traces of this node.
 *
 * ``exports``
 *	A line for each range of the segment that is in use: ``state``, ``size``,
 *	``read_only``, and ``importers``, those that hold a grant.
 * ``imports``
 *	A line for each import that is not DEAD: ``exporter``, ``state``, ``size``,
 *	``access``, its ``users`` in the core, and whether a driver's object is ``bound``
 *	to it.
 * ``peers``
 *	A line for each accelerator that there was something to do with, this one itself
 *	included: ``state``, ``session_age_ms``, ``rtt_min_ns``, whether
 *	its ``gate`` is open; live ``imports`` from it and ``grants`` to it; requests that
 *	are ``unanswered``, and ``queued_replies`` for which its ring has no room;
 *	``sessions`` made; ``bad_msgs``; ``naks`` sent to it; messages that were
 *	``ignored`` since they were late or repeated; ``replies_lost``, since it does
 *	not empty its ring; and ``faults``, its accesses that the link MMU refused.
 * ``npa``
 *	Bytes of the segment: ``size``, ``used``, ``quarantined`` and ``largest_free``.
 * ``counters``
 *	First what there is now: ``nr_exports`` (those that quarantine only a range not
 *	among them), ``nr_active_exports``, ``nr_quarantined``, ``nr_grants``,
 *	``nr_imports``, ``nr_import_records``, ``exported_bytes``, ``nr_idle_imports``
 *	and ``idle_bytes``. Then what happened since activation: ``exports`` made and
 *	``exports_ended``; ``imports`` made, ``imports_reused`` without a message,
 *	``imports_died``, and ``imports_abandoned`` by a signal or a deadline; exports
 *	and imports refused to users (``refused_local``) and to peers
 *	(``refused_peer``); ``bad_msgs``, ``naks_sent``, ``ignored``, ``replies_lost`` and
 *	``faults`` as above, of all peers; requests sent again (``retries``); importers
 *	that let a deadline pass (``revoke_timeouts``); ``flushes`` of the link TLB, and
 *	``flushes_failed`` of it or of the TLBs for imports. Last, the messages
 *	``sent_TYPE`` and ``received_TYPE``.
 * ``drop_idle``
 *	Writing gives back all imports that are kept unused.
 */

/*
 * Lists can be long. Each entry is copied under the lock and printed without it, so
 * that a reader delays nobody; in exchange, what is printed is no snapshot: an entry
 * that comes, goes or changes in the meantime can be missed or be there twice.
 */

static const char * const counters[] = {
	[UALINK_COUNT_EXPORTS] = "exports",
	[UALINK_COUNT_EXPORTS_ENDED] = "exports_ended",
	[UALINK_COUNT_IMPORTS] = "imports",
	[UALINK_COUNT_IMPORTS_REUSED] = "imports_reused",
	[UALINK_COUNT_IMPORTS_DIED] = "imports_died",
	[UALINK_COUNT_IMPORTS_ABANDONED] = "imports_abandoned",
	[UALINK_COUNT_REFUSED_LOCAL] = "refused_local",
	[UALINK_COUNT_REFUSED_PEER] = "refused_peer",
	[UALINK_COUNT_BAD_MSGS] = "bad_msgs",
	[UALINK_COUNT_NAKS_SENT] = "naks_sent",
	[UALINK_COUNT_IGNORED] = "ignored",
	[UALINK_COUNT_RETRIES] = "retries",
	[UALINK_COUNT_REPLIES_LOST] = "replies_lost",
	[UALINK_COUNT_REVOKE_TIMEOUTS] = "revoke_timeouts",
	[UALINK_COUNT_FLUSHES] = "flushes",
	[UALINK_COUNT_FLUSHES_FAILED] = "flushes_failed",
	[UALINK_COUNT_FAULTS] = "faults",
};

static_assert(ARRAY_SIZE(counters) == UALINK_COUNTERS);

/* A line of "exports". */
struct export_row {
	u64 size;
	u32 handle;
	u32 importers;
	u8 state;
	bool read_only;
};

/*
 * The export with the lowest place in the segment from @offset on: of all orders of
 * exports, this is the one in which a reader finds its place again. The offset past
 * it is kept for that, but not shown.
 */
static bool next_export(struct ualink_device *udev, u64 *offset, struct export_row *row)
{
	struct ualink_npa *npa = &udev->npa;
	struct drm_mm_node *node;

	guard(spinlock)(&udev->lock);
	guard(spinlock)(&npa->lock);

	node = ualink_npa_next(npa, *offset);
	if (node) {
		struct ualink_export *exp = container_of(node, struct ualink_export, npa);

		row->size = node->size;
		row->handle = ualink_handle_hash(&exp->handle);
		row->importers = exp->nr_grants;
		row->state = exp->state;
		row->read_only = exp->read_only;
		*offset = node->start + node->size;
	}
	return node;
}

static int exports_show(struct seq_file *m, void *unused)
{
	struct ualink_device *udev = m->private;
	struct export_row row;
	u64 offset = 0;

	while (!seq_has_overflowed(m) && next_export(udev, &offset, &row)) {
		seq_printf(m, "handle=%08x state=%s size=%llu read_only=%d importers=%u\n",
			   row.handle, ualink_export_state_name(row.state), row.size,
			   row.read_only, row.importers);
		cond_resched();
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(exports);

/* A line of "imports". */
struct import_row {
	u64 size;
	u32 handle;
	u32 exporter;
	u32 users;
	u8 state;
	u8 access;
	bool bound;
};

static void import_row_fill(struct import_row *row, const struct ualink_import *imp)
{
	row->size = imp->size;
	row->handle = ualink_handle_hash(&imp->handle);
	row->exporter = ualink_handle_id(&imp->handle);
	row->users = imp->users;
	row->state = imp->state;
	row->access = imp->access;
	row->bound = imp->priv;
}

/* The next import of a walk: 0, or -ENOENT at the end, or -EAGAIN: the walk begins anew. */
static int next_import(struct ualink_device *udev, struct rhashtable_iter *iter,
		       struct import_row *row)
{
	struct ualink_import *imp;
	int ret = 0;

	spin_lock(&udev->lock);
	rhashtable_walk_start(iter);
	imp = rhashtable_walk_next(iter);
	if (!imp)
		ret = -ENOENT;
	else if (IS_ERR(imp))
		ret = PTR_ERR(imp);
	else
		import_row_fill(row, imp);
	rhashtable_walk_stop(iter);
	spin_unlock(&udev->lock);
	return ret;
}

static void print_import(struct seq_file *m, const struct import_row *row)
{
	seq_printf(m, "handle=%08x exporter=%u state=%s size=%llu access=%s%s users=%u bound=%d\n",
		   row->handle, row->exporter, ualink_import_state_name(row->state), row->size,
		   row->access & UALINK_ACCESS_READ ? "r" : "",
		   row->access & UALINK_ACCESS_WRITE ? "w" : "",
		   row->users, row->bound);
}

static int imports_show(struct seq_file *m, void *unused)
{
	struct ualink_device *udev = m->private;
	struct rhashtable_iter iter;
	struct import_row row;
	int ret = 0;

	rhltable_walk_enter(&udev->imports, &iter);
	while (ret != -ENOENT && !seq_has_overflowed(m)) {
		ret = next_import(udev, &iter, &row);
		if (!ret)
			print_import(m, &row);
		cond_resched();
	}
	rhashtable_walk_exit(&iter);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(imports);

static unsigned int session_age(const struct ualink_peer *peer)
{
	if (!ualink_peer_has_session(peer))
		return 0;
	return jiffies_to_msecs(jiffies - peer->session_start);
}

static void print_peer(struct seq_file *m, const struct ualink_peer *peer)
{
	seq_printf(m, "peer=%u state=%s", peer->id, ualink_peer_state_name(peer->state));
	seq_printf(m, " session_age_ms=%u rtt_min_ns=%llu", session_age(peer), peer->rtt_min_ns);
	seq_printf(m, " gate=%s", peer->gate_open ? "open" : "closed");
	seq_printf(m, " imports=%u grants=%u", peer->nr_imports, peer->nr_grants);
	seq_printf(m, " unanswered=%u queued_replies=%u", peer->nr_sent + peer->nr_sent_revokes,
		   peer->reply_count);
	seq_printf(m, " sessions=%llu bad_msgs=%llu naks=%llu ignored=%llu replies_lost=%llu",
		   peer->sessions, peer->bad_msgs, peer->naks, peer->ignored,
		   peer->replies_lost);
	seq_printf(m, " faults=%lld\n", atomic64_read(&peer->faults));
}

static int peers_show(struct seq_file *m, void *unused)
{
	struct ualink_device *udev = m->private;
	struct ualink_peer *peer;
	unsigned long id;

	/* One line each, for at most UALINK_MAX_IDS peers. */
	xa_for_each(&udev->peers, id, peer) {
		spin_lock(&udev->lock);
		print_peer(m, peer);
		spin_unlock(&udev->lock);
		cond_resched();
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(peers);

static void print_value(struct seq_file *m, const char *name, u64 value)
{
	seq_printf(m, "%s %llu\n", name, value);
}

static int npa_show(struct seq_file *m, void *unused)
{
	struct ualink_device *udev = m->private;
	struct ualink_npa *npa = &udev->npa;
	u64 used, quarantined;

	ualink_npa_usage(npa, &used, &quarantined);
	print_value(m, "size", npa->size);
	print_value(m, "page_size", ualink_npa_page_size(npa));
	print_value(m, "used", used);
	print_value(m, "quarantined", quarantined);
	print_value(m, "largest_free", ualink_npa_largest_free(npa));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(npa);

static void print_counters(struct seq_file *m, struct ualink_device *udev)
{
	unsigned int i;

	for (i = 0; i < UALINK_COUNTERS; i++)
		print_value(m, counters[i], atomic64_read(&udev->counters[i]));
}

static void print_messages(struct seq_file *m, const char *direction, const atomic64_t *counts)
{
	unsigned int type;

	for (type = 0; type < UALINK_MSG_TYPES; type++)
		if (ualink_msg_type_valid(type))
			seq_printf(m, "%s_%s %lld\n", direction, ualink_msg_type_name(type),
				   atomic64_read(&counts[type]));
}

static void print_gauges(struct seq_file *m, struct ualink_device *udev)
{
	spin_lock(&udev->lock);
	print_value(m, "nr_exports", udev->nr_exports);
	print_value(m, "nr_active_exports", udev->nr_active_exports);
	print_value(m, "nr_quarantined", udev->nr_quarantined);
	print_value(m, "nr_grants", udev->nr_grants);
	print_value(m, "nr_imports", udev->nr_imports);
	print_value(m, "nr_import_records", udev->nr_import_records);
	print_value(m, "exported_bytes", udev->exported_bytes);
	print_value(m, "nr_idle_imports", udev->nr_idle);
	print_value(m, "idle_bytes", udev->idle_bytes);
	spin_unlock(&udev->lock);
}

static int counters_show(struct seq_file *m, void *unused)
{
	struct ualink_device *udev = m->private;

	print_gauges(m, udev);
	print_counters(m, udev);
	print_messages(m, "sent", udev->sent);
	print_messages(m, "received", udev->received);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int drop_idle_set(void *data, u64 value)
{
	ualink_cache_drop(data);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(drop_idle_fops, NULL, drop_idle_set, "%llu\n");

/**
 * ualink_device_debugfs_init() - makes the debugfs files of an accelerator
 * @udev: the local accelerator
 * @dir: folder of the client in debugfs; gets a folder "ualink"
 *
 * There is no counterpart: the files go when the client removes @dir, as DRM does
 * for the folder of a device that is unregistered. That must be before the last
 * ualink_device_put(), since the files hold no reference.
 */
void ualink_device_debugfs_init(struct ualink_device *udev, struct dentry *dir)
{
	dir = debugfs_create_dir("ualink", dir);
	debugfs_create_file("exports", 0400, dir, udev, &exports_fops);
	debugfs_create_file("imports", 0400, dir, udev, &imports_fops);
	debugfs_create_file("peers", 0400, dir, udev, &peers_fops);
	debugfs_create_file("npa", 0400, dir, udev, &npa_fops);
	debugfs_create_file("counters", 0400, dir, udev, &counters_fops);
	debugfs_create_file_unsafe("drop_idle", 0200, dir, udev, &drop_idle_fops);
}
EXPORT_SYMBOL_GPL(ualink_device_debugfs_init);
