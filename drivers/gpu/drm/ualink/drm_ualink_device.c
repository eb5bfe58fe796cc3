// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitops.h>
#include <linux/dma-resv.h>
#include <linux/export.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>

#include "drm_ualink_internal.h"

/**
 * DOC: Overview
 *
 * UALink lets the accelerators of a pod load and store each other's memory. The
 * protocol between them is the business of the UALink core (&struct
 * ualink_device), which knows nothing of DRM. The functions here connect it with
 * GEM, PRIME and TTM. A driver calls them; they call the driver back only
 * through &struct drm_ualink_funcs.
 *
 * Export
 *	The EXPORT ioctl pins a GEM object and publishes a handle for it. The
 *	object owns the export, not the other way round: the last reference to
 *	the object ends it. Since the memory must stay where it is until no other
 *	accelerator can reach it any more, &drm_gem_object_funcs.free of an
 *	exported object returns at once, and the rest of it is done later, in
 *	&drm_ualink_funcs.destroy.
 *
 * Import
 *	The IMPORT ioctl makes a GEM object for memory of another accelerator, or
 *	finds the one that is there, and returns it as a dma-buf. Import objects
 *	live in a TTM pool that allocates nothing. When their exporter takes the
 *	memory back they die: drm_ualink_gem_dead() becomes true and
 *	&drm_ualink_funcs.zap takes them out of all page tables.
 *
 * What a driver has to add is in Documentation/gpu/ualink/driver-guide.rst.
 */

/**
 * DOC: Locking
 *
 * Order, outermost first:
 *
 * .. code-block:: none
 *
 *	drm_device.object_name_lock, drm_file.prime.lock
 *	  drm_ualink_object.mutex	one object's export or dma-buf is being made
 *	  drm_ualink.import_mutex	an import's object is being made
 *	    dma_resv locks
 *	      (reclaim)
 *	        drm_ualink.lock		spinlock: exports, records, aliases
 *	          locks of the UALink core
 *	      drm_device.event_lock	spinlock: events
 *
 * The mutexes are taken by ioctls, and that of an object by the release of its
 * dma-buf, which no lock is held for. What can be called under a dma_resv lock or
 * in reclaim, that is the release of GEM objects, takes spinlocks and leaves the
 * rest to the core's work items, which hold no lock when they call back. No
 * function here waits for another node but the IMPORT and REVOKE ioctls, which
 * hold no lock then.
 */

static void drm_ualink_free(struct kref *ref)
{
	struct drm_ualink *ual = container_of(ref, struct drm_ualink, ref);

	if (ual->udev)
		ualink_device_put(ual->udev);
	mutex_destroy(&ual->import_mutex);
	kfree(ual);
}

void drm_ualink_put(struct drm_ualink *ual)
{
	kref_put(&ual->ref, drm_ualink_free);
}

static void drm_ualink_release(struct drm_device *drm, void *data)
{
	struct drm_ualink *ual = drm->ualink;

	drm_ualink_unplug(drm);
	ualink_refs_exit(&ual->refs);
	drm->ualink = NULL;
	drm_ualink_put(ual);
}

/* Teaches lockdep the order of DOC: Locking. */
static void drm_ualink_prime_lockdep(struct drm_ualink *ual)
{
	struct drm_ualink_object uobj;
	struct dma_resv resv;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;

	drm_ualink_object_init(&uobj, ual, NULL, false);
	dma_resv_init(&resv);
	mutex_lock(&ual->drm->object_name_lock);
	mutex_lock(&uobj.mutex);
	mutex_lock(&ual->import_mutex);
	dma_resv_lock(&resv, NULL);
	fs_reclaim_acquire(GFP_KERNEL);
	spin_lock(&ual->lock);
	spin_unlock(&ual->lock);
	fs_reclaim_release(GFP_KERNEL);
	dma_resv_unlock(&resv);
	mutex_unlock(&ual->import_mutex);
	mutex_unlock(&uobj.mutex);
	mutex_unlock(&ual->drm->object_name_lock);
	dma_resv_fini(&resv);
	drm_ualink_object_fini(&uobj);
}

/**
 * drm_ualink_init - make a device one that has UALink
 * @drm: the device, not yet registered
 * @funcs: the driver's part
 * @caps: how much may be exported; copied
 *
 * From here on the UALink ioctls reach the helpers, and say %-ENOTCONN before
 * drm_ualink_provision(). There is nothing to undo but by drm_ualink_unplug(). A
 * managed action that calls drm_ualink_npa_man_fini() is added after it, so that
 * when the device is released all objects are gone before the helpers' state is.
 *
 * Return: %0 on success, %-EINVAL when a file's cap is zero or not below that of
 * the device, %-ENOMEM.
 */
int drm_ualink_init(struct drm_device *drm, const struct drm_ualink_funcs *funcs,
		    const struct drm_ualink_caps *caps)
{
	struct drm_ualink *ual;

	if (!caps->file || caps->file >= caps->device)
		return -EINVAL;

	ual = kzalloc_obj(*ual);
	if (!ual)
		return -ENOMEM;

	kref_init(&ual->ref);
	ualink_refs_init(&ual->refs, "drm_ualink");
	ual->drm = drm;
	ual->funcs = funcs;
	ual->caps = *caps;
	mutex_init(&ual->import_mutex);
	init_waitqueue_head(&ual->unbind_wait);
	INIT_LIST_HEAD(&ual->tell);
	INIT_LIST_HEAD(&ual->flushed);
	spin_lock_init(&ual->lock);
	drm_ualink_prime_lockdep(ual);

	drm->ualink = ual;
	return drmm_add_action_or_reset(drm, drm_ualink_release, NULL);
}
EXPORT_SYMBOL_GPL(drm_ualink_init);

/**
 * drm_ualink_provision - make a device a member of a vPod
 * @drm: the device
 * @params: what the core must know; &ualink_device_params.dev and
 *	&ualink_device_params.priv are filled in here
 *
 * Once for each device: another identity needs another device. Exports and
 * imports are possible after ualink_device_activate().
 *
 * Return: %0 on success, %-EBUSY when it was done before, else what
 * ualink_device_create() says.
 */
int drm_ualink_provision(struct drm_device *drm, const struct ualink_device_params *params)
{
	struct ualink_device_params full = *params;
	struct drm_ualink *ual = drm->ualink;
	struct ualink_device *udev;

	if (ual->udev)
		return -EBUSY;

	full.dev = drm->dev;
	full.priv = drm;
	udev = ualink_device_create(&full);
	if (IS_ERR(udev))
		return PTR_ERR(udev);

	ualink_device_set_tunable(udev, UALINK_MAX_EXPORT_BYTES, ual->caps.device);
	ual->page_size = BIT_ULL(__ffs64(params->block_sizes));
	/* Pairs with drm_ualink_device(). */
	smp_store_release(&ual->udev, udev);
	return 0;
}
EXPORT_SYMBOL_GPL(drm_ualink_provision);

/**
 * drm_ualink_unplug - end all exports and imports, for good
 * @drm: the device, unplugged or about to be, or never registered
 *
 * When it returns, all exported objects are unpinned, objects that were only
 * waiting for that are destroyed, no page table holds an entry of an import,
 * and the driver's callbacks are not called any more. The hardware must still
 * work, or be reset. May be called twice, and on a device without UALink.
 */
void drm_ualink_unplug(struct drm_device *drm)
{
	struct drm_ualink *ual = drm->ualink;

	if (!ual || ual->unplugged)
		return;

	ual->unplugged = true;
	if (ual->udev)
		ualink_device_unregister(ual->udev);
}
EXPORT_SYMBOL_GPL(drm_ualink_unplug);

/**
 * drm_ualink_device - get the accelerator of a device
 * @drm: the device
 *
 * Return: the accelerator, which stays as long as @drm, or NULL when there is no
 * UALink or it is not provisioned.
 */
struct ualink_device *drm_ualink_device(struct drm_device *drm)
{
	/* Pairs with drm_ualink_provision(). */
	return drm->ualink ? smp_load_acquire(&drm->ualink->udev) : NULL;
}
EXPORT_SYMBOL_GPL(drm_ualink_device);

void drm_ualink_object_init(struct drm_ualink_object *uobj, struct drm_ualink *ual,
			    struct drm_gem_object *obj, bool imported)
{
	kref_get(&ual->ref);	/* Put in drm_ualink_object_fini() */
	ualink_ref_add(&ual->refs, &uobj->ual_ref);
	mutex_init(&uobj->mutex);
	uobj->ual = ual;
	uobj->obj = obj;
	uobj->imported = imported;
}

void drm_ualink_object_fini(struct drm_ualink_object *uobj)
{
	mutex_destroy(&uobj->mutex);
	ualink_ref_del(&uobj->ual->refs, &uobj->ual_ref);
	drm_ualink_put(uobj->ual);
}

/**
 * drm_ualink_gem_release - free the helpers' part of a GEM object
 * @obj: the object; any
 *
 * Called when nothing uses the object any more, neither page tables nor TLBs have
 * an entry of it, and its fences have signaled: with TTM, by the destroy function
 * of the &struct ttm_buffer_object, before drm_gem_object_release(). For an import
 * it begins the release of the remote memory, without waiting for it.
 *
 * For an object that came by PRIME from another accelerator it takes a dma_resv,
 * so the caller may not hold one. TTM sees to that for %ttm_bo_type_sg.
 */
void drm_ualink_gem_release(struct drm_gem_object *obj)
{
	struct drm_ualink_object *uobj = obj->ualink;

	if (!uobj)
		return;

	obj->ualink = NULL;
	if (uobj->imported)
		drm_ualink_imported_release(to_imported(uobj));
	else
		drm_ualink_exported_release(to_exported(uobj));
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_release);

MODULE_DESCRIPTION("UALink memory sharing helpers for DRM drivers");
MODULE_LICENSE("Dual MIT/GPL");
