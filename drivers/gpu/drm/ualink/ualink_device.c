// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

/**
 * DOC: Overview
 *
 * Accelerators of a UALink pod load and store each other's memory over a fabric.
 * This is the part of it that all drivers share: which memory is exported, who
 * has imported it, and how access to it is taken away again, on this node and on
 * others, before it is used for something else.
 *
 * An *export* is pinned memory that has a contiguous range in the accelerator's
 * own segment of the pod's network physical address (NPA) space, and a handle of
 * 128 bits. An *import* is the counterpart on another accelerator: it knows the
 * NPA of the memory, which the exporter's kernel told it. The right of an importer
 * to an export is a *grant*. All that two accelerators have with each other
 * belongs to a *session* between them, and ends with it.
 *
 * The client, a driver, supplies &struct ualink_ops: a transport for messages, the
 * page tables of the NPA segment, and a way to take an import out of its own
 * page tables. A driver of the DRM subsystem uses the helpers in
 * include/drm/drm_ualink.h for most of it. The core knows no type of DRM but
 * the allocator drm_mm.
 *
 * The life of a device::
 *
 *     udev = ualink_device_create(&params);
 *     ualink_device_activate(udev);
 *             ...
 *     ualink_device_deactivate(udev);         // before a reset, or to suspend
 *     ualink_device_activate(udev);           // after it
 *             ...
 *     ualink_device_unregister(udev);         // the driver goes
 *     ualink_device_put(udev);
 */

/* Messages from a stranger that are thrown away before it is the turn of others. */
#define UNKNOWN_BUDGET	64

static struct workqueue_struct *release_wq;

static const u64 tunable_defaults[UALINK_TUNABLES] = {
	[UALINK_HEARTBEAT_MS]		= 500,
	[UALINK_REQUEST_MS]		= 5000,
	[UALINK_REVOKE_GRACE_MS]	= 1000,
	[UALINK_REVOKE_DEADLINE_MS]	= 2000,
	[UALINK_PEER_TIMEOUT_MS]	= 5000,
	[UALINK_CACHE_BYTES]		= 4ull << 30,
	[UALINK_CACHE_MS]		= 2000,
	[UALINK_MAX_EXPORT_BYTES]	= U64_MAX,
};

/* The only place where the state of a device changes. */
static void device_set_state(struct ualink_device *udev, enum ualink_device_state state)
{
	lockdep_assert_held(&udev->lock);

	/* Pairs with READ_ONCE() in ualink_device_active(). */
	WRITE_ONCE(udev->state, state);
}

void ualink_device_set_wedged(struct ualink_device *udev)
{
	lockdep_assert_held(&udev->lock);

	if (udev->wedged)
		return;
	udev->wedged = true;
	dev_err(udev->dev, "ualink: translations cannot be flushed, a reset is needed\n");
	ualink_device_changed(udev);
}

/* Why nothing can be exported or imported now; 0 when it can. */
int ualink_device_usable(struct ualink_device *udev)
{
	lockdep_assert_held(&udev->lock);

	switch (udev->state) {
	case UALINK_DEVICE_ACTIVE:
		return 0;
	case UALINK_DEVICE_INACTIVE:
		return -ENOTCONN;
	case UALINK_DEVICE_GONE:
		return -ENODEV;
	default:
		return -EBUSY;
	}
}

/* Throws messages away; false if there are more of them than others should wait for. */
static bool unknown_drain(struct ualink_device *udev, u32 id)
{
	unsigned int budget = UNKNOWN_BUDGET;
	struct ualink_msg msg;

	while (budget-- && !udev->ops->recv(udev, id, &msg)) {
		ualink_count(udev, UALINK_COUNT_BAD_MSGS);
		trace_ualink_msg_bad(udev, id, UALINK_DECODE_SOURCE);
	}
	return budget != UINT_MAX;
}

static void unknown_add(struct ualink_device *udev, u32 id, unsigned long delay)
{
	set_bit(id, udev->unknown);
	ualink_kick(udev->slow_wq, &udev->unknown_work, delay);
}

/* Messages from somebody that we have had nothing to do with yet. */
static void unknown_work(struct work_struct *work)
{
	struct ualink_device *udev = container_of(to_delayed_work(work),
						  struct ualink_device, unknown_work);
	struct ualink_peer *peer;
	unsigned int id;

	for_each_set_bit(id, udev->unknown, UALINK_MAX_IDS) {
		clear_bit(id, udev->unknown);
		if (!ualink_device_is_member(udev, id)) {
			if (!unknown_drain(udev, id))
				ualink_notify_rx(udev, id);
			continue;
		}
		peer = ualink_peer_obtain(udev, id);
		if (peer)
			queue_work(udev->wq, &peer->rx_work);
		else
			unknown_add(udev, id, msecs_to_jiffies(UALINK_RETRY_MS));
	}
}

static struct ualink_device *device_alloc(const struct ualink_device_params *params)
{
	struct ualink_device *udev;

	udev = kvzalloc_obj(*udev);
	if (!udev)
		return NULL;

	udev->ops = params->ops;
	udev->dev = get_device(params->dev);
	udev->priv = params->priv;
	udev->id = params->id;
	udev->segment_shift = params->segment_shift;
	udev->flush_on_map = params->flush_on_map;
	udev->vpod = params->vpod;
	bitmap_copy(udev->members, params->members, UALINK_MAX_IDS);
	__set_bit(params->id, udev->members);
	memcpy(udev->tunables, tunable_defaults, sizeof(udev->tunables));
	spin_lock_init(&udev->lock);
	mutex_init(&udev->state_mutex);
	mutex_init(&udev->flush_mutex);
	init_waitqueue_head(&udev->wait);
	ualink_fault_limit_init(&udev->fault_limit);
	xa_init(&udev->peers);
	ualink_refs_init(&udev->refs, "ualink_device");
	INIT_DELAYED_WORK(&udev->unknown_work, unknown_work);
	INIT_WORK(&udev->release_work, ualink_device_release_work);
	return udev;
}

static int device_init_queues(struct ualink_device *udev)
{
	udev->wq = alloc_workqueue("ualink-%u", WQ_UNBOUND | WQ_MEM_RECLAIM, 0, udev->id);
	if (!udev->wq)
		return -ENOMEM;
	udev->slow_wq = alloc_workqueue("ualink-slow-%u", WQ_UNBOUND, 0, udev->id);
	if (!udev->slow_wq) {
		destroy_workqueue(udev->wq);
		return -ENOMEM;
	}
	return 0;
}

static int device_init_tables(struct ualink_device *udev)
{
	int ret;

	ret = ualink_export_tables_init(udev);
	if (ret)
		return ret;
	ret = ualink_grant_table_init(udev);
	if (ret)
		goto err_exports;
	ret = ualink_import_table_init(udev);
	if (ret)
		goto err_grants;
	ret = ualink_cache_init(udev);
	if (ret)
		goto err_imports;
	return 0;

err_imports:
	ualink_import_table_fini(udev);
err_grants:
	ualink_grant_table_fini(udev);
err_exports:
	ualink_export_tables_fini(udev);
	return ret;
}

static void device_fini_tables(struct ualink_device *udev)
{
	ualink_import_table_fini(udev);
	ualink_grant_table_fini(udev);
	ualink_export_tables_fini(udev);
}

static void device_fini_queues(struct ualink_device *udev)
{
	destroy_workqueue(udev->slow_wq);
	destroy_workqueue(udev->wq);
}

static void device_free(struct ualink_device *udev)
{
	put_device(udev->dev);
	mutex_destroy(&udev->flush_mutex);
	mutex_destroy(&udev->state_mutex);
	kvfree(udev);
}

/* Teaches lockdep the order of DOC: Locking, and that to stop a device may allocate. */
static void device_prime_lockdep(struct ualink_device *udev)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;

	mutex_lock(&udev->state_mutex);
	mutex_lock(&udev->flush_mutex);
	fs_reclaim_acquire(GFP_KERNEL);
	spin_lock(&udev->lock);
	spin_lock(&udev->npa.lock);
	spin_unlock(&udev->npa.lock);
	spin_unlock(&udev->lock);
	fs_reclaim_release(GFP_KERNEL);
	mutex_unlock(&udev->flush_mutex);
	mutex_unlock(&udev->state_mutex);
}

static int device_init(struct ualink_device *udev, const struct ualink_device_params *params)
{
	int ret;

	ret = ualink_npa_init(&udev->npa, params->segment_shift, params->block_sizes);
	if (ret)
		return ret;
	ret = device_init_queues(udev);
	if (ret)
		goto err_npa;
	ret = device_init_tables(udev);
	if (ret)
		goto err_queues;
	device_prime_lockdep(udev);
	return 0;

err_queues:
	device_fini_queues(udev);
err_npa:
	ualink_npa_fini(&udev->npa);
	return ret;
}

/**
 * ualink_device_create - makes a local accelerator known
 * @params: what it is
 *
 * It is not active yet.
 *
 * Return: the device, with one reference; %-EINVAL for an id or a geometry out of
 * range, %-ENOMEM, or what adding it to sysfs gave.
 */
struct ualink_device *ualink_device_create(const struct ualink_device_params *params)
{
	struct ualink_device *udev;
	int ret;

	if (params->id >= UALINK_MAX_IDS)
		return ERR_PTR(-EINVAL);

	udev = device_alloc(params);
	if (!udev)
		return ERR_PTR(-ENOMEM);
	ret = device_init(udev, params);
	if (ret) {
		ualink_refs_exit(&udev->refs);
		device_free(udev);
		return ERR_PTR(ret);
	}

	ret = kobject_init_and_add(&udev->kobj, &ualink_device_ktype, &params->dev->kobj,
				   "ualink");
	if (ret) {
		ualink_cache_fini(udev);
		ualink_refs_exit(&udev->refs);
		kobject_put(&udev->kobj);
		return ERR_PTR(ret);
	}
	return udev;
}
EXPORT_SYMBOL_GPL(ualink_device_create);

void ualink_device_release_work(struct work_struct *work)
{
	struct ualink_device *udev = container_of(work, struct ualink_device, release_work);

	device_fini_queues(udev);
	ualink_peer_destroy_all(udev);
	xa_destroy(&udev->peers);
	device_fini_tables(udev);
	ualink_npa_fini(&udev->npa);
	device_free(udev);
}

/* The last reference may go where one cannot sleep. */
void ualink_device_release(struct kobject *kobj)
{
	struct ualink_device *udev = container_of(kobj, struct ualink_device, kobj);

	queue_work(release_wq, &udev->release_work);
}

/**
 * ualink_device_put - gives the reference of ualink_device_create() back
 * @udev: the device, unregistered
 *
 * All exports and imports have been put before. With CONFIG_UALINK_DEBUG_REFS those
 * that have not are named in the log.
 */
void ualink_device_put(struct ualink_device *udev)
{
	ualink_refs_exit(&udev->refs);
	kobject_put(&udev->kobj);
}
EXPORT_SYMBOL_GPL(ualink_device_put);

/* What peers held before a reset, they hold no more: it has closed the gate for all. */
static void forget_peers(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	lockdep_assert_held(&udev->lock);

	xa_for_each(&udev->peers, id, peer) {
		peer->gate_open = false;
		WRITE_ONCE(peer->link_lost, false);
		ualink_grant_drop_all(peer);
		peer->drop_grants = false;
		ualink_tx_forget(peer);
	}
}

static void reset_counters(struct ualink_device *udev)
{
	int i;

	for (i = 0; i < UALINK_COUNTERS; i++)
		atomic64_set(&udev->counters[i], 0);
	for (i = 0; i < UALINK_MSG_TYPES; i++) {
		atomic64_set(&udev->sent[i], 0);
		atomic64_set(&udev->received[i], 0);
	}
}

/* Proves that nothing from before is left in the accelerator. */
static int device_clean(struct ualink_device *udev)
{
	int ret;

	spin_lock(&udev->lock);
	forget_peers(udev);
	spin_unlock(&udev->lock);
	flush_workqueue(udev->slow_wq);

	ret = udev->ops->npa_flush(udev, 0, udev->npa.size);
	trace_ualink_flush(udev, ret);
	if (ret)
		return ret;
	ualink_export_release_wedged(udev);
	return 0;
}

static int device_start(struct ualink_device *udev)
{
	struct ualink_peer *self;
	int ret;

	ret = device_clean(udev);
	if (ret)
		return ret;
	self = ualink_peer_obtain(udev, udev->id);
	if (!self)
		return -ENOMEM;
	ret = udev->ops->source_gate(udev, udev->id, true);
	if (ret)
		return ret;

	reset_counters(udev);
	spin_lock(&udev->lock);
	udev->wedged = false;
	self->gate_open = true;
	device_set_state(udev, UALINK_DEVICE_ACTIVE);
	ualink_peer_connect_self(self);
	spin_unlock(&udev->lock);
	return 0;
}

/**
 * ualink_device_activate - exports and imports are possible from now on
 * @udev: the device
 *
 * The client calls it when the accelerator works, for the first time and after each
 * reset. The page tables of the NPA segment must be empty and the source gate
 * closed for all. See ualink_device_deactivate() for where it can be called.
 *
 * Return: 0, also when it is active already; %-ENODEV if it is unregistered; %-EIO
 * if the link TLB could not be flushed or the gate not opened; %-ENOMEM.
 */
int ualink_device_activate(struct ualink_device *udev)
{
	int ret;

	guard(mutex)(&udev->state_mutex);

	scoped_guard(spinlock, &udev->lock) {
		if (udev->state == UALINK_DEVICE_ACTIVE)
			return 0;
		if (udev->state == UALINK_DEVICE_GONE)
			return -ENODEV;
		device_set_state(udev, UALINK_DEVICE_ACTIVATING);
	}

	ret = device_start(udev);
	if (ret) {
		scoped_guard(spinlock, &udev->lock)
			device_set_state(udev, UALINK_DEVICE_INACTIVE);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(ualink_device_activate);

static void say_bye(struct ualink_peer *peer)
{
	struct ualink_packet pkt = {
		.type = UALINK_MSG_BYE,
		.session = { peer->session[0], peer->session[1] },
		.bye = { .reason = UALINK_BYE_INACTIVE },
	};

	if (ualink_peer_has_session(peer) && !ualink_peer_is_self(peer))
		ualink_tx_reply(peer, &pkt);
}

static void stop_peers(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	xa_for_each(&udev->peers, id, peer) {
		say_bye(peer);
		ualink_peer_down(peer, UALINK_DEATH_LOCAL_RESET, -ENODEV);
	}
}

static bool peers_quiet(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	xa_for_each(&udev->peers, id, peer)
		if (peer->gate_open || peer->drop_grants)
			return false;
	return true;
}

/* Whether nothing is exported or imported any more, as far as a wedged device can tell. */
static bool device_quiet(struct ualink_device *udev)
{
	guard(spinlock)(&udev->lock);

	if (udev->nr_exports || udev->nr_import_records)
		return false;
	return udev->wedged || (peers_quiet(udev) && !udev->nr_quarantined);
}

/* What is still to be said to peers is of no interest to them any more. */
static void forget_replies(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	xa_for_each(&udev->peers, id, peer)
		ualink_tx_forget(peer);
}

/**
 * ualink_device_deactivate - ends all exports and imports
 * @udev: the device
 *
 * Tells the peers, closes the source gate for all of them, takes what was imported
 * out of the page tables and what was exported out of the NPA tables, and
 * releases it. Sleeps for the accelerator's own hardware, for no other node. On
 * return nobody can reach anything, or the device is wedged and the client has to
 * reset it.
 *
 * It waits for work that allocates memory and takes dma_resv locks. So it, and
 * ualink_device_activate(), cannot be called with such a lock held, from a
 * section that a dma_fence waits for, or from a work item that memory reclaim
 * waits for: a driver that resets in its timeout handler stops the hardware there,
 * and does the rest in a work item of its own. Lockdep tells.
 */
void ualink_device_deactivate(struct ualink_device *udev)
{
	guard(mutex)(&udev->state_mutex);

	scoped_guard(spinlock, &udev->lock) {
		if (udev->state != UALINK_DEVICE_ACTIVE)
			return;
		device_set_state(udev, UALINK_DEVICE_STOPPING);
		stop_peers(udev);
		ualink_export_end_all(udev);
	}

	wait_event(udev->wait, device_quiet(udev));
	/* Those that died are reported before the client goes on. */
	flush_workqueue(udev->slow_wq);

	scoped_guard(spinlock, &udev->lock) {
		device_set_state(udev, UALINK_DEVICE_INACTIVE);
		forget_replies(udev);
	}
}
EXPORT_SYMBOL_GPL(ualink_device_deactivate);

/**
 * ualink_device_unregister - the client goes
 * @udev: the device
 *
 * Deactivates the device. The client is not called any more after this, and must
 * not call any ualink_notify_*() function during or after it. A device that is
 * wedged must have been reset or powered down before.
 */
void ualink_device_unregister(struct ualink_device *udev)
{
	ualink_device_deactivate(udev);

	scoped_guard(mutex, &udev->state_mutex) {
		guard(spinlock)(&udev->lock);
		if (udev->state == UALINK_DEVICE_GONE)
			return;
		device_set_state(udev, UALINK_DEVICE_GONE);
		forget_peers(udev);
	}

	ualink_cache_fini(udev);
	kobject_del(&udev->kobj);
	cancel_delayed_work_sync(&udev->unknown_work);
	cancel_delayed_work_sync(&udev->deadline_work);
	ualink_peer_stop_all(udev);
	flush_work(&udev->reap_work);
	ualink_export_release_wedged(udev);
}
EXPORT_SYMBOL_GPL(ualink_device_unregister);

/**
 * ualink_notify_rx - messages are waiting
 * @udev: the device
 * @src: accelerator whose ring is not empty any more
 *
 * May be called from any context.
 */
void ualink_notify_rx(struct ualink_device *udev, u32 src)
{
	struct ualink_peer *peer;

	if (src >= UALINK_MAX_IDS)
		return;
	peer = xa_load(&udev->peers, src);
	if (peer)
		queue_work(udev->wq, &peer->rx_work);
	else
		unknown_add(udev, src, 0);
}
EXPORT_SYMBOL_GPL(ualink_notify_rx);

/**
 * ualink_notify_tx - there is room again
 * @udev: the device
 * @dst: accelerator the ring to which was full
 *
 * May be called from any context.
 */
void ualink_notify_tx(struct ualink_device *udev, u32 dst)
{
	struct ualink_peer *peer = xa_load(&udev->peers, dst);

	if (peer)
		queue_work(udev->wq, &peer->rx_work);
}
EXPORT_SYMBOL_GPL(ualink_notify_tx);

/**
 * ualink_notify_link_down - the fabric does not reach an accelerator any more
 * @udev: the device
 * @id: that accelerator
 *
 * Ends the session with it. Short interruptions that the fabric will repair by
 * itself should not be reported. May be called from any context.
 */
void ualink_notify_link_down(struct ualink_device *udev, u32 id)
{
	struct ualink_peer *peer = xa_load(&udev->peers, id);

	/* The way to ourselves is none of the fabric's. */
	if (!peer || ualink_peer_is_self(peer))
		return;
	/* Pairs with READ_ONCE() in timer_tick(). */
	WRITE_ONCE(peer->link_lost, true);
	mod_delayed_work(udev->wq, &peer->timer, 0);
}
EXPORT_SYMBOL_GPL(ualink_notify_link_down);

/**
 * ualink_device_priv - the client's own data
 * @udev: the device
 *
 * Return: &ualink_device_params.priv.
 */
void *ualink_device_priv(struct ualink_device *udev)
{
	return udev->priv;
}
EXPORT_SYMBOL_GPL(ualink_device_priv);

/**
 * ualink_device_id - the accelerator's id
 * @udev: the device
 *
 * Return: &ualink_device_params.id.
 */
u32 ualink_device_id(struct ualink_device *udev)
{
	return udev->id;
}
EXPORT_SYMBOL_GPL(ualink_device_id);

/**
 * ualink_device_active - whether exports and imports are possible now
 * @udev: the device
 *
 * Return: true if they are; it may change at any time.
 */
bool ualink_device_active(struct ualink_device *udev)
{
	/* Pairs with WRITE_ONCE() in device_set_state(). */
	return READ_ONCE(udev->state) == UALINK_DEVICE_ACTIVE;
}
EXPORT_SYMBOL_GPL(ualink_device_active);

static u64 sum_messages(const atomic64_t *counters)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < UALINK_MSG_TYPES; i++)
		sum += atomic64_read(&counters[i]);
	return sum;
}

/**
 * ualink_device_get_info - state and counters of an accelerator
 * @udev: the device
 * @info: filled in
 */
void ualink_device_get_info(struct ualink_device *udev, struct ualink_device_info *info)
{
	memset(info, 0, sizeof(*info));
	info->vpod = udev->vpod;
	info->id = udev->id;
	info->page_size = ualink_npa_page_size(&udev->npa);
	info->segment_size = udev->npa.size;
	info->npa_largest_free = ualink_npa_largest_free(&udev->npa);
	info->max_export_bytes = ualink_tunable(udev, UALINK_MAX_EXPORT_BYTES);
	info->msgs_sent = sum_messages(udev->sent);
	info->msgs_received = sum_messages(udev->received);
	info->bad_msgs = atomic64_read(&udev->counters[UALINK_COUNT_BAD_MSGS]);
	info->imports_died = atomic64_read(&udev->counters[UALINK_COUNT_IMPORTS_DIED]);
	info->refused = atomic64_read(&udev->counters[UALINK_COUNT_REFUSED_LOCAL]) +
			atomic64_read(&udev->counters[UALINK_COUNT_REFUSED_PEER]);

	guard(spinlock)(&udev->lock);
	info->active = udev->state == UALINK_DEVICE_ACTIVE;
	info->wedged = udev->wedged;
	info->exported_bytes = udev->exported_bytes;
	info->exports = udev->nr_active_exports;
	info->grants = udev->nr_grants;
	info->imports = udev->nr_imports;
	ualink_npa_usage(&udev->npa, &info->npa_used, &info->npa_quarantined);
}
EXPORT_SYMBOL_GPL(ualink_device_get_info);

/**
 * ualink_device_count_refused - counts what the client has refused by itself
 * @udev: the device
 *
 * For exports and imports that met a limit of the client before the core heard of
 * them, so that &ualink_device_info.refused has them too.
 */
void ualink_device_count_refused(struct ualink_device *udev)
{
	ualink_count(udev, UALINK_COUNT_REFUSED_LOCAL);
}
EXPORT_SYMBOL_GPL(ualink_device_count_refused);

/**
 * ualink_device_tunable - a time or a limit
 * @udev: the device
 * @which: which one
 *
 * Return: its value.
 */
u64 ualink_device_tunable(struct ualink_device *udev, enum ualink_tunable which)
{
	return ualink_tunable(udev, which);
}
EXPORT_SYMBOL_GPL(ualink_device_tunable);

static bool tunable_valid(enum ualink_tunable which, u64 value)
{
	switch (which) {
	case UALINK_CACHE_BYTES:
	case UALINK_MAX_EXPORT_BYTES:
		return true;
	case UALINK_CACHE_MS:
	case UALINK_REVOKE_GRACE_MS:
		return value <= 3600 * MSEC_PER_SEC;
	default:
		return value && value <= 3600 * MSEC_PER_SEC;
	}
}

/* Work that sleeps as long as the old value said looks at the new one. */
static void retune(struct ualink_device *udev)
{
	struct ualink_peer *peer;
	unsigned long id;

	guard(spinlock)(&udev->lock);
	if (udev->state != UALINK_DEVICE_ACTIVE)
		return;
	ualink_cache_retune(udev);
	xa_for_each(&udev->peers, id, peer)
		mod_delayed_work(udev->wq, &peer->timer, 0);
}

/**
 * ualink_device_set_tunable - sets a time or a limit
 * @udev: the device
 * @which: which one
 * @value: its value; times are at most an hour, and only %UALINK_CACHE_MS and
 * %UALINK_REVOKE_GRACE_MS may be zero
 *
 * What has a deadline already keeps it. Does not sleep.
 *
 * Return: 0, or %-EINVAL.
 */
int ualink_device_set_tunable(struct ualink_device *udev, enum ualink_tunable which, u64 value)
{
	if (which >= UALINK_TUNABLES || !tunable_valid(which, value))
		return -EINVAL;
	/* Pairs with READ_ONCE() in ualink_tunable(). */
	WRITE_ONCE(udev->tunables[which], value);
	retune(udev);
	return 0;
}
EXPORT_SYMBOL_GPL(ualink_device_set_tunable);

static int __init ualink_init(void)
{
	int ret;

	release_wq = alloc_workqueue("ualink-release", WQ_UNBOUND, 0);
	if (!release_wq)
		return -ENOMEM;
	ret = ualink_export_caches_init();
	if (ret)
		goto err_wq;
	ret = ualink_grant_cache_init();
	if (ret)
		goto err_exports;
	return 0;

err_exports:
	ualink_export_caches_fini();
err_wq:
	destroy_workqueue(release_wq);
	return ret;
}

static void __exit ualink_exit(void)
{
	destroy_workqueue(release_wq);
	/* Imports are freed after a grace period, but hold no cache of ours. */
	ualink_grant_cache_fini();
	ualink_export_caches_fini();
}

module_init(ualink_init);
module_exit(ualink_exit);

MODULE_DESCRIPTION("UALink memory sharing");
MODULE_LICENSE("Dual MIT/GPL");
