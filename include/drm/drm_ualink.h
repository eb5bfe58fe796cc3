/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * UALink memory sharing: helpers for DRM drivers.
 */

#ifndef _DRM_UALINK_H_
#define _DRM_UALINK_H_

#include <linux/container_of.h>
#include <linux/types.h>
#include <linux/ualink.h>

#include <drm/drm_gem_ualink.h>
#include <drm/ttm/ttm_resource.h>

#include <uapi/drm/drm_ualink.h>

struct dma_buf;
struct drm_device;
struct drm_exec;
struct drm_file;
struct drm_gem_object;
struct drm_printer;
struct ttm_buffer_object;
struct ttm_device;
struct ttm_operation_ctx;
struct ttm_place;

/**
 * struct drm_ualink_funcs - what a driver does for the helpers
 *
 * All are mandatory but for @has_route. "Process context" means that no lock of
 * the helpers or of the UALink core is held unless it is said below.
 */
struct drm_ualink_funcs {
	/**
	 * @pin: makes an object ready to be exported
	 *
	 * Brings it to VRAM, pins it there, and waits until the kernel's own
	 * work on it is done (%DMA_RESV_USAGE_KERNEL: moves and clears). A
	 * runtime PM reference, if the driver needs one for as long as the
	 * export lives, is taken here too. Called by the ioctl, with a mutex of
	 * the object held and no dma_resv.
	 *
	 * Returns: 0, or an errno that goes to the user and then nothing has
	 * been changed: %-EOPNOTSUPP for an object that can never be exported
	 * (not in VRAM, user memory, encrypted, compressed, or with the
	 * reservation of a VM), %-ENOSPC when VRAM is full, %-EINTR,
	 * %-ERESTARTSYS, %-ENOMEM, or %-EBUSY while a reset is going on.
	 */
	int (*pin)(struct drm_gem_object *obj);

	/**
	 * @unpin: undoes @pin
	 *
	 * Process context; may take the object's dma_resv. Nobody can reach the
	 * memory any more. The object may have no reference left: then
	 * @destroy follows.
	 */
	void (*unpin)(struct drm_gem_object *obj);

	/**
	 * @destroy: frees an object for which drm_ualink_gem_free() said true
	 *
	 * Process context. Does what &drm_gem_object_funcs.free does after that
	 * call.
	 */
	void (*destroy)(struct drm_gem_object *obj);

	/**
	 * @import_create: makes the GEM object of an import
	 *
	 * Called by the IMPORT ioctl and by drm_ualink_gem_prime_import(), that
	 * is with mutexes of the helpers and of PRIME held: it may allocate and
	 * take the dma_resv of the new object, but not wait for fences.
	 *
	 * The object is @size bytes large, has a reservation of its own, and
	 * went through drm_gem_private_object_init() and then
	 * drm_ualink_gem_init_import() before TTM saw it. It is best made as
	 * %ttm_bo_type_sg, whose destruction TTM always leaves to a worker; see
	 * drm_ualink_gem_release().
	 *
	 * Returns: the object with its only reference, or an ERR_PTR().
	 */
	struct drm_gem_object *(*import_create)(struct drm_device *drm,
						struct ualink_import *imp, u64 size);

	/**
	 * @zap: takes an import object out of the page tables of all VMs
	 *
	 * Process context, with the object's dma_resv locked through @exec. If
	 * the driver needs those of the VMs, it locks them through @exec as well,
	 * and all of them before it changes anything: on contention it is called
	 * again after all locks were dropped. Then it clears the entries with
	 * immediate updates that wait for no submission, and takes the mappings
	 * off the VM's lists of what to validate. The TLB flush comes later, see
	 * @flush.
	 *
	 * Drivers refuse what names the object from now on, since
	 * drm_ualink_gem_dead() is true already.
	 *
	 * Returns: 0 when no entry is left; %-EBUSY when work that uses the
	 * object is still running, only with @force false, and then nothing has
	 * been changed, or when an update of before the first call may still
	 * bring an entry back; else what drm_exec_lock_obj() said, or %-ENOMEM.
	 * Unless it was 0, it is called again later.
	 */
	int (*zap)(struct drm_gem_object *obj, struct drm_exec *exec, bool force);

	/**
	 * @flush: empties the TLBs of all VMs of entries of import objects
	 *
	 * Process context; may not allocate. Returns only after every access
	 * that was translated before has completed.
	 *
	 * Returns: 0, or %-EIO.
	 */
	int (*flush)(struct drm_device *drm);

	/**
	 * @has_route: says whether the fabric has a way to accelerator @id
	 *
	 * Called by the QUERY ioctl. Optional: without it, there is always one.
	 */
	bool (*has_route)(struct drm_device *drm, u32 id);
};

/**
 * struct drm_ualink_caps - how much memory exports may pin
 *
 * Whoever can open a render node can export, and what is exported can neither
 * be moved nor evicted. So that neither one client nor all of them together can
 * take VRAM away from those who do not share, a driver gives shares of VRAM: three
 * quarters for the device and one half for a file, unless it knows better.
 */
struct drm_ualink_caps {
	/**
	 * @device: bytes that all exports of the device may have together. An
	 * administrator can change it, see %UALINK_MAX_EXPORT_BYTES
	 */
	u64 device;
	/**
	 * @file: bytes that the exports of one file may have; less than @device,
	 * not 0. It grows in proportion when an administrator raises @device
	 */
	u64 file;
};

/*
 * Device. drm_ualink_init() before drm_dev_register(); drm_ualink_provision()
 * once, when the pod's management has said who we are;
 * drm_ualink_unplug() after drm_dev_unplug() and on errors of probe.
 */
int drm_ualink_init(struct drm_device *drm, const struct drm_ualink_funcs *funcs,
		    const struct drm_ualink_caps *caps);
int drm_ualink_provision(struct drm_device *drm, const struct ualink_device_params *params);
void drm_ualink_unplug(struct drm_device *drm);
struct ualink_device *drm_ualink_device(struct drm_device *drm);

/* What &struct ualink_ops takes from the helpers. */
void drm_ualink_export_release(struct ualink_device *udev, void *priv);
bool drm_ualink_import_tryget(void *priv);
void drm_ualink_import_put(void *priv);
int drm_ualink_import_invalidate(struct ualink_device *udev, void *priv, bool force);
int drm_ualink_import_flush(struct ualink_device *udev);
void drm_ualink_import_dead(struct ualink_device *udev, void *priv, enum ualink_death why);
void drm_ualink_imports_died(struct ualink_device *udev);

/**
 * define DRM_UALINK_OPS - members of &struct ualink_ops that the helpers implement
 *
 * The driver adds the others, which touch its hardware. In all of them,
 * ualink_device_priv() is the &struct drm_device, and the private pointer of an
 * export (&ualink_ops.npa_map) is the &struct drm_gem_object.
 */
#define DRM_UALINK_OPS \
	.export_release		= drm_ualink_export_release, \
	.import_tryget		= drm_ualink_import_tryget, \
	.import_put		= drm_ualink_import_put, \
	.import_invalidate	= drm_ualink_import_invalidate, \
	.import_flush		= drm_ualink_import_flush, \
	.import_dead		= drm_ualink_import_dead,		\
	.imports_died		= drm_ualink_imports_died

/* What &struct drm_driver takes from the helpers. */
int drm_ualink_gem_export(struct drm_device *drm, struct drm_file *file,
			  struct drm_gem_ualink_export *args);
int drm_ualink_gem_import(struct drm_device *drm, struct drm_file *file,
			  struct drm_gem_ualink_import *args);
int drm_ualink_gem_revoke(struct drm_device *drm, struct drm_file *file,
			  struct drm_gem_ualink_revoke *args);
int drm_ualink_gem_query(struct drm_device *drm, struct drm_file *file,
			 struct drm_gem_ualink_query *args);

/**
 * define DRM_UALINK_DRIVER_OPS - the hooks of the UALink ioctls in &struct drm_driver
 *
 * The driver adds calls of drm_ualink_postclose() to its &drm_driver.postclose,
 * and of drm_ualink_show_fdinfo() to its &drm_driver.show_fdinfo.
 */
#define DRM_UALINK_DRIVER_OPS \
	.gem_ualink_export	= drm_ualink_gem_export, \
	.gem_ualink_import	= drm_ualink_gem_import, \
	.gem_ualink_revoke	= drm_ualink_gem_revoke, \
	.gem_ualink_query	= drm_ualink_gem_query

void drm_ualink_postclose(struct drm_device *drm, struct drm_file *file);
void drm_ualink_show_fdinfo(struct drm_printer *p, struct drm_file *file);

/* GEM objects */
bool drm_ualink_gem_free(struct drm_gem_object *obj);
void drm_ualink_gem_release(struct drm_gem_object *obj);

/**
 * struct drm_ualink_window - remote memory, as the page tables see it
 */
struct drm_ualink_window {
	/** @npa: network physical address of its begin; never to be shown to users */
	u64 npa;
	/** @size: bytes */
	u64 size;
	/** @access: UALINK_ACCESS_*, what entries of page tables may allow */
	u32 access;
};

int drm_ualink_gem_init_import(struct drm_gem_object *obj, struct ualink_import *imp);
bool drm_ualink_gem_is_import(const struct drm_gem_object *obj);
bool drm_ualink_gem_dead(struct drm_gem_object *obj);
void drm_ualink_gem_window(struct drm_gem_object *obj, struct drm_ualink_window *window);

/* PRIME */
bool drm_ualink_is_dma_buf(const struct dma_buf *dma_buf);
struct dma_buf *drm_ualink_gem_prime_export(struct drm_gem_object *obj, int flags);
struct drm_gem_object *drm_ualink_gem_prime_import(struct drm_device *drm,
						   struct dma_buf *dma_buf);

/**
 * struct drm_ualink_npa_resource - where an import object is, in the pool NPA
 */
struct drm_ualink_npa_resource {
	/** @base: TTM's part; its start is 0 and means nothing */
	struct ttm_resource base;
	/** @npa: network physical address; never to be shown to users */
	u64 npa;
	/** @size: bytes */
	u64 size;
};

/**
 * to_drm_ualink_npa_resource() - Downcast of a resource in the pool NPA
 * @res: the resource, whose mem_type must be that of the pool
 *
 * Return: the resource that contains @res
 */
static inline struct drm_ualink_npa_resource *
to_drm_ualink_npa_resource(struct ttm_resource *res)
{
	return container_of(res, struct drm_ualink_npa_resource, base);
}

int drm_ualink_npa_man_init(struct ttm_device *bdev, u32 mem_type);
void drm_ualink_npa_man_fini(struct ttm_device *bdev, u32 mem_type);
void drm_ualink_npa_place(struct ttm_place *place, u32 mem_type);
int drm_ualink_npa_validate(struct ttm_buffer_object *bo, u32 mem_type,
			    struct ttm_operation_ctx *ctx);

#endif /* _DRM_UALINK_H_ */
