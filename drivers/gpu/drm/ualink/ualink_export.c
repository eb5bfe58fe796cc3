// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitmap.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

/**
 * DOC: Export state machine
 *
 * .. kernel-render:: DOT
 *    :alt: the states of an export
 *    :caption: States of an export
 *
 *    digraph "export" {
 *       rankdir = LR; node [shape = box, fontsize = 10]; edge [fontsize = 9];
 *       NEW -> ACTIVE [label = "mapped, published"];
 *       NEW -> WEDGED [label = "flush failed"];
 *       ACTIVE -> REVOKING [label = "ended"];
 *       REVOKING -> UNMAPPING [label = "all answered,\nor deadline over"];
 *       UNMAPPING -> DEAD [label = "flushed,\nno grants left"];
 *       UNMAPPING -> QUARANTINED [label = "flushed,\ngrants left"];
 *       UNMAPPING -> WEDGED [label = "flush failed"];
 *       QUARANTINED -> DEAD [label = "last grant ends"];
 *       WEDGED -> DEAD [label = "reset"];
 *    }
 *
 * The memory is released between UNMAPPING and DEAD or QUARANTINED, that of a
 * WEDGED export by the reset; the NPA range is not used again before DEAD. Time
 * alone ends nothing but REVOKING.
 */

static struct kmem_cache *export_cache;

int ualink_export_caches_init(void)
{
	export_cache = KMEM_CACHE(ualink_export, SLAB_ACCOUNT);
	return export_cache ? 0 : -ENOMEM;
}

void ualink_export_caches_fini(void)
{
	kmem_cache_destroy(export_cache);
}

static const struct rhashtable_params export_params = {
	.head_offset = offsetof(struct ualink_export, node),
	.key_offset = offsetof(struct ualink_export, handle.tag),
	.key_len = sizeof(u64),
	.automatic_shrinking = true,
};

int ualink_export_tables_init(struct ualink_device *udev)
{
	INIT_LIST_HEAD(&udev->active);
	INIT_LIST_HEAD(&udev->revoking);
	INIT_LIST_HEAD(&udev->unmapping);
	INIT_LIST_HEAD(&udev->quarantined);
	INIT_LIST_HEAD(&udev->wedged_exports);
	INIT_DELAYED_WORK(&udev->deadline_work, ualink_export_deadline_work);
	INIT_WORK(&udev->reap_work, ualink_export_reap_work);
	return rhashtable_init(&udev->exports, &export_params);
}

void ualink_export_tables_fini(struct ualink_device *udev)
{
	rhashtable_destroy(&udev->exports);
}

/* The only place where the state of an export changes. */
void ualink_export_set_state(struct ualink_export *exp, enum ualink_export_state state)
{
	struct ualink_device *udev = exp->udev;

	lockdep_assert_held(&udev->lock);

	trace_ualink_export_state(exp, exp->state, state);
	udev->nr_active_exports += (state == UALINK_EXPORT_ACTIVE) -
				   (exp->state == UALINK_EXPORT_ACTIVE);
	udev->nr_quarantined += (state == UALINK_EXPORT_QUARANTINED) -
				(exp->state == UALINK_EXPORT_QUARANTINED);
	/* Pairs with smp_load_acquire() in export_released(). */
	store_release_wake_up(&exp->state, state);
	ualink_device_changed(udev);
}

struct ualink_export *ualink_export_by_tag(struct ualink_device *udev, u64 tag)
{
	lockdep_assert_held(&udev->lock);

	return rhashtable_lookup_fast(&udev->exports, &tag, export_params);
}

/* The ACTIVE export that @handle names, or NULL. */
struct ualink_export *ualink_export_lookup(struct ualink_device *udev,
					   const struct ualink_handle *handle)
{
	struct ualink_export *exp = ualink_export_by_tag(udev, handle->tag);

	return exp && exp->handle.secret == handle->secret ? exp : NULL;
}

static void export_free(struct kref *ref)
{
	struct ualink_export *exp = container_of(ref, struct ualink_export, ref);
	struct ualink_device *udev = exp->udev;

	bitmap_free(exp->allow);
	ualink_ref_del(&udev->refs, &exp->udev_ref);
	kmem_cache_free(export_cache, exp);
	kobject_put(&udev->kobj);
}

static struct ualink_export *export_alloc(struct ualink_device *udev,
					  const struct ualink_export_params *params)
{
	struct ualink_export *exp;

	exp = kmem_cache_zalloc(export_cache, GFP_KERNEL);
	if (!exp)
		return NULL;
	kobject_get(&udev->kobj);
	ualink_ref_add(&udev->refs, &exp->udev_ref);
	exp->udev = udev;
	exp->priv = params->priv;
	exp->read_only = params->read_only;
	INIT_LIST_HEAD(&exp->link);
	INIT_LIST_HEAD(&exp->grants);
	kref_init(&exp->ref);

	if (params->allow) {
		exp->allow = bitmap_alloc(UALINK_MAX_IDS, GFP_KERNEL_ACCOUNT);
		if (!exp->allow) {
			kref_put(&exp->ref, export_free);
			return NULL;
		}
		bitmap_copy(exp->allow, params->allow, UALINK_MAX_IDS);
	}
	return exp;
}

/* Counts the bytes in, against the cap, and the export, so that the device waits for it. */
static int export_charge(struct ualink_device *udev, u64 size)
{
	int ret;

	guard(spinlock)(&udev->lock);
	ret = ualink_device_usable(udev);
	if (ret)
		return ret;
	if (udev->wedged)
		return -EBUSY;
	if (size > ualink_tunable(udev, UALINK_MAX_EXPORT_BYTES) ||
	    udev->exported_bytes > ualink_tunable(udev, UALINK_MAX_EXPORT_BYTES) - size)
		return -EDQUOT;
	udev->exported_bytes += size;
	udev->nr_exports++;
	return 0;
}

static void export_uncharge(struct ualink_device *udev, u64 size)
{
	lockdep_assert_held(&udev->lock);

	udev->exported_bytes -= size;
	udev->nr_exports--;
	ualink_device_changed(udev);
}

/* Gives the export its handle. Nothing after this can fail. */
static int export_publish(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;
	int ret;

	guard(spinlock)(&udev->lock);
	ret = ualink_device_usable(udev);
	if (ret)
		return ret;

	do {
		ualink_handle_generate(&exp->handle, udev->id);
		ret = rhashtable_lookup_insert_fast(&udev->exports, &exp->node, export_params);
	} while (ret == -EEXIST);
	if (ret)
		return -ENOMEM;

	/* The core's reference; the first one becomes the caller's. */
	kref_get(&exp->ref);
	list_add_tail(&exp->link, &udev->active);
	ualink_export_set_state(exp, UALINK_EXPORT_ACTIVE);
	ualink_count(udev, UALINK_COUNT_EXPORTS);
	return 0;
}

static int npa_flush(struct ualink_device *udev, u64 offset, u64 size)
{
	int ret = udev->ops->npa_flush(udev, offset, size);

	ualink_count(udev, UALINK_COUNT_FLUSHES);
	trace_ualink_flush(udev, ret);
	if (!ret)
		return 0;

	ualink_count(udev, UALINK_COUNT_FLUSHES_FAILED);
	spin_lock(&udev->lock);
	ualink_device_set_wedged(udev);
	spin_unlock(&udev->lock);
	return ret;
}

/* Nobody knows who can still reach the memory: neither it nor the range may be used again. */
static void export_wedge(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;

	guard(spinlock)(&udev->lock);
	udev->nr_exports--;
	ualink_export_set_state(exp, UALINK_EXPORT_WEDGED);
	list_move_tail(&exp->link, &udev->wedged_exports);
}

/* Maps and publishes. 0, or an errno and all is as it was; or 1: the export is WEDGED. */
static int export_place(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;
	struct drm_mm_node *npa = &exp->npa;
	int ret;

	ret = udev->ops->npa_map(udev, npa->start, npa->size, exp->read_only, exp->priv);
	if (ret)
		return ret;
	if (!udev->flush_on_map || !npa_flush(udev, npa->start, npa->size)) {
		ret = export_publish(exp);
		if (!ret)
			return 0;
		udev->ops->npa_unmap(udev, npa->start, npa->size);
		if (!npa_flush(udev, npa->start, npa->size))
			return ret;
	}
	export_wedge(exp);
	return 1;
}

static struct ualink_export *export_create(struct ualink_device *udev,
					   const struct ualink_export_params *params)
{
	struct ualink_export *exp;
	int ret;

	ret = export_charge(udev, params->size);
	if (ret)
		return ERR_PTR(ret);
	exp = export_alloc(udev, params);
	if (!exp) {
		ret = -ENOMEM;
		goto err_uncharge;
	}
	ret = ualink_npa_alloc(&udev->npa, &exp->npa, params->size);
	if (ret)
		goto err_put;
	ret = export_place(exp);
	if (ret > 0)
		return ERR_PTR(-EIO);
	if (ret)
		goto err_npa;
	return exp;

err_npa:
	ualink_npa_free(&udev->npa, &exp->npa, false);
err_put:
	kref_put(&exp->ref, export_free);
err_uncharge:
	spin_lock(&udev->lock);
	export_uncharge(udev, params->size);
	spin_unlock(&udev->lock);
	return ERR_PTR(ret);
}

/**
 * ualink_export_create - makes memory reachable for other accelerators
 * @udev: the accelerator whose memory it is, active
 * @params: the memory
 *
 * The memory must be pinned, and idle as far as the kernel's own work on it
 * is concerned, until &ualink_ops.export_release. May sleep.
 *
 * Return: the export, which lives until ualink_export_end(), with a reference that
 * the caller gives back by ualink_export_put(), or
 *
 * - %-ENOTCONN: the accelerator is not active
 * - %-ENODEV: it is gone
 * - %-EBUSY: it is being activated or stopped, or is wedged until a reset; try
 *   again
 * - %-EINVAL: the size is zero or no multiple of the page size
 * - %-EDQUOT: the cap %UALINK_MAX_EXPORT_BYTES is reached
 * - %-ENOSPC: the NPA segment, or the room for its page tables, is used up
 * - %-EIO: the link TLB could not be flushed. The memory has to stay pinned:
 *   &ualink_ops.export_release is called for it after the next reset
 * - %-ENOMEM: out of memory
 */
struct ualink_export *ualink_export_create(struct ualink_device *udev,
					   const struct ualink_export_params *params)
{
	struct ualink_export *exp;

	might_sleep();
	if (!params->size || !IS_ALIGNED(params->size, ualink_npa_page_size(&udev->npa)))
		exp = ERR_PTR(-EINVAL);
	else
		exp = export_create(udev, params);
	if (IS_ERR(exp))
		ualink_count(udev, UALINK_COUNT_REFUSED_LOCAL);
	return exp;
}
EXPORT_SYMBOL_GPL(ualink_export_create);

static void start_unmapping(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;

	ualink_export_set_state(exp, UALINK_EXPORT_UNMAPPING);
	list_move_tail(&exp->link, &udev->unmapping);
	queue_work(udev->slow_wq, &udev->reap_work);
}

static void arm_deadline(struct ualink_device *udev)
{
	struct ualink_export *first;
	long left;

	first = list_first_entry_or_null(&udev->revoking, struct ualink_export, link);
	if (!first)
		return;
	left = first->deadline - jiffies;
	mod_delayed_work(udev->wq, &udev->deadline_work, max(left, 0L));
}

/* Among those REVOKING, in the order of deadlines; it is the last, unless the tunable changed. */
static void start_deadline(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;
	struct list_head *pos = udev->revoking.prev;

	exp->deadline = jiffies + ualink_tunable_jiffies(udev, UALINK_REVOKE_DEADLINE_MS);
	while (pos != &udev->revoking &&
	       time_after(list_entry(pos, struct ualink_export, link)->deadline, exp->deadline))
		pos = pos->prev;
	list_move(&exp->link, pos);
	if (udev->revoking.next == &exp->link)
		arm_deadline(udev);
}

static void export_revoke(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;
	struct ualink_grant *grant;

	lockdep_assert_held(&udev->lock);

	rhashtable_remove_fast(&udev->exports, &exp->node, export_params);
	ualink_export_set_state(exp, UALINK_EXPORT_REVOKING);
	ualink_count(udev, UALINK_COUNT_EXPORTS_ENDED);
	if (list_empty(&exp->grants)) {
		start_unmapping(exp);
		return;
	}

	start_deadline(exp);
	list_for_each_entry(grant, &exp->grants, export_link)
		ualink_tx_request(grant->peer, &grant->req, UALINK_MSG_REVOKE);
}

/**
 * ualink_export_end - ends an export
 * @exp: the export
 *
 * The handle is unknown from now on, and all importers are told to stop using the
 * memory. Returns at once; &ualink_ops.export_release is called when nobody
 * can reach the memory any more. Does nothing if the export is ending already.
 * Does not sleep.
 */
void ualink_export_end(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;

	spin_lock(&udev->lock);
	if (exp->state == UALINK_EXPORT_ACTIVE)
		export_revoke(exp);
	spin_unlock(&udev->lock);
}
EXPORT_SYMBOL_GPL(ualink_export_end);

/*
 * Ends all exports, without asking the importers: their gates are being closed. May
 * drop the lock meanwhile; there are no new exports.
 */
void ualink_export_end_all(struct ualink_device *udev)
{
	lockdep_assert_held(&udev->lock);

	while (!list_empty(&udev->active)) {
		export_revoke(list_first_entry(&udev->active, struct ualink_export, link));
		cond_resched_lock(&udev->lock);
	}
}

/* The last grant of an export has ended. */
void ualink_export_ungranted(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;

	lockdep_assert_held(&udev->lock);

	if (exp->state == UALINK_EXPORT_REVOKING) {
		start_unmapping(exp);
	} else if (exp->state == UALINK_EXPORT_QUARANTINED) {
		list_del_init(&exp->link);
		ualink_npa_free(&udev->npa, &exp->npa, true);
		ualink_export_set_state(exp, UALINK_EXPORT_DEAD);
		kref_put(&exp->ref, export_free);
	}
}

/* Importers that have not answered in time are suspect; the export does not wait for them. */
static void export_overdue(struct ualink_export *exp)
{
	struct ualink_grant *grant;

	list_for_each_entry(grant, &exp->grants, export_link) {
		ualink_count(exp->udev, UALINK_COUNT_REVOKE_TIMEOUTS);
		trace_ualink_timeout(exp->udev, "revoke", grant->peer->id);
		ualink_peer_suspect(grant->peer, true);
	}
	start_unmapping(exp);
}

void ualink_export_deadline_work(struct work_struct *work)
{
	struct ualink_device *udev = container_of(to_delayed_work(work),
						  struct ualink_device, deadline_work);
	struct ualink_export *exp;

	guard(spinlock)(&udev->lock);
	for (;;) {
		exp = list_first_entry_or_null(&udev->revoking, struct ualink_export, link);
		if (!exp || time_before(jiffies, exp->deadline))
			break;
		export_overdue(exp);
		cond_resched_lock(&udev->lock);
	}
	arm_deadline(udev);
}

/* The memory is the client's again; the range only if nobody can hold it. */
static void export_release(struct ualink_export *exp)
{
	struct ualink_device *udev = exp->udev;

	udev->ops->export_release(udev, exp->priv);

	guard(spinlock)(&udev->lock);
	export_uncharge(udev, exp->npa.size);
	if (exp->nr_grants) {
		ualink_npa_quarantine(&udev->npa, &exp->npa);
		ualink_export_set_state(exp, UALINK_EXPORT_QUARANTINED);
		list_move_tail(&exp->link, &udev->quarantined);
		return;
	}
	list_del_init(&exp->link);
	ualink_npa_free(&udev->npa, &exp->npa, false);
	ualink_export_set_state(exp, UALINK_EXPORT_DEAD);
	kref_put(&exp->ref, export_free);
}

static void unmap_all(struct ualink_device *udev, struct list_head *exports,
		      u64 *start, u64 *end)
{
	struct ualink_export *exp;

	*start = U64_MAX;
	*end = 0;
	list_for_each_entry(exp, exports, link) {
		udev->ops->npa_unmap(udev, exp->npa.start, exp->npa.size);
		*start = min(*start, exp->npa.start);
		*end = max(*end, exp->npa.start + exp->npa.size);
	}
}

/* Takes exports out of the NPA tables: one flush for all that have come together. */
void ualink_export_reap_work(struct work_struct *work)
{
	struct ualink_device *udev = container_of(work, struct ualink_device, reap_work);
	struct ualink_export *exp, *next;
	u64 start, end;
	LIST_HEAD(batch);
	int ret;

	spin_lock(&udev->lock);
	list_splice_init(&udev->unmapping, &batch);
	spin_unlock(&udev->lock);
	if (list_empty(&batch))
		return;

	unmap_all(udev, &batch, &start, &end);
	ret = npa_flush(udev, start, end - start);
	list_for_each_entry_safe(exp, next, &batch, link) {
		if (ret)
			export_wedge(exp);
		else
			export_release(exp);
	}
}

/* After a reset, which has emptied tables and TLBs: what was WEDGED can be released. */
void ualink_export_release_wedged(struct ualink_device *udev)
{
	struct ualink_export *exp, *next;
	LIST_HEAD(batch);

	spin_lock(&udev->lock);
	list_splice_init(&udev->wedged_exports, &batch);
	list_for_each_entry(exp, &batch, link)
		udev->nr_exports++;
	spin_unlock(&udev->lock);

	list_for_each_entry_safe(exp, next, &batch, link)
		export_release(exp);
}

/**
 * ualink_export_get - a reference to an export
 * @exp: the export
 *
 * Return: @exp.
 */
struct ualink_export *ualink_export_get(struct ualink_export *exp)
{
	kref_get(&exp->ref);
	return exp;
}
EXPORT_SYMBOL_GPL(ualink_export_get);

/**
 * ualink_export_put - gives a reference back
 * @exp: the export
 */
void ualink_export_put(struct ualink_export *exp)
{
	kref_put(&exp->ref, export_free);
}
EXPORT_SYMBOL_GPL(ualink_export_put);

static bool export_released(struct ualink_export *exp)
{
	/* Pairs with store_release_wake_up() in ualink_export_set_state(). */
	return smp_load_acquire(&exp->state) >= UALINK_EXPORT_QUARANTINED;
}

/**
 * ualink_export_wait - waits until an export that was ended is released
 * @exp: the export; the caller holds a reference
 *
 * Takes at most %UALINK_REVOKE_DEADLINE_MS and the time of a flush. Only a fatal
 * signal ends it early: whoever came back from another one would find nothing to
 * wait for.
 *
 * Return: 0: nobody can reach the memory any more; %-EIO: the flush failed, and
 * the memory stays where it is; %-EINTR: the caller is being killed, the export
 * ends all the same.
 */
int ualink_export_wait(struct ualink_export *exp)
{
	if (wait_var_event_killable(&exp->state, export_released(exp)))
		return -EINTR;
	return READ_ONCE(exp->state) == UALINK_EXPORT_WEDGED ? -EIO : 0;
}
EXPORT_SYMBOL_GPL(ualink_export_wait);

/**
 * ualink_export_handle - the name by which others import an export
 * @exp: the export
 * @handle: filled in
 */
void ualink_export_handle(struct ualink_export *exp, struct ualink_handle *handle)
{
	*handle = exp->handle;
}
EXPORT_SYMBOL_GPL(ualink_export_handle);

/**
 * ualink_export_matches - whether an export was made with these parameters
 * @exp: the export
 * @read_only: see &ualink_export_params.read_only
 * @allow: see &ualink_export_params.allow
 *
 * Return: true if it was.
 */
bool ualink_export_matches(struct ualink_export *exp, bool read_only, const unsigned long *allow)
{
	if (exp->read_only != read_only || !exp->allow != !allow)
		return false;
	return !allow || bitmap_equal(exp->allow, allow, UALINK_MAX_IDS);
}
EXPORT_SYMBOL_GPL(ualink_export_matches);

/**
 * ualink_export_live - whether an export can be imported
 * @exp: the export
 *
 * Return: true if it can; once false, it stays false.
 */
bool ualink_export_live(struct ualink_export *exp)
{
	/* Pairs with store_release_wake_up() in ualink_export_set_state(). */
	return READ_ONCE(exp->state) == UALINK_EXPORT_ACTIVE;
}
EXPORT_SYMBOL_GPL(ualink_export_live);

/**
 * ualink_export_read_only - whether importers may only read
 * @exp: the export
 *
 * Return: true if so.
 */
bool ualink_export_read_only(struct ualink_export *exp)
{
	return exp->read_only;
}
EXPORT_SYMBOL_GPL(ualink_export_read_only);

/**
 * ualink_export_size - size of an export
 * @exp: the export
 *
 * Return: bytes.
 */
u64 ualink_export_size(struct ualink_export *exp)
{
	return exp->npa.size;
}
EXPORT_SYMBOL_GPL(ualink_export_size);

/**
 * ualink_export_importers - who has imported an export
 * @exp: the export
 * @ids: filled with accelerator ids, or NULL with @count 0
 * @count: room in @ids
 *
 * Return: number of importers, which may be more than @count.
 */
u32 ualink_export_importers(struct ualink_export *exp, u32 *ids, u32 count)
{
	struct ualink_grant *grant;
	u32 n = 0;

	guard(spinlock)(&exp->udev->lock);
	list_for_each_entry(grant, &exp->grants, export_link) {
		if (n == count)
			break;
		ids[n++] = grant->peer->id;
	}
	return exp->nr_grants;
}
EXPORT_SYMBOL_GPL(ualink_export_importers);
