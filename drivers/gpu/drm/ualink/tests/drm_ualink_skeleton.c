// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The least that a driver needs to share memory over UALink, for those who write
 * another one: Documentation/gpu/ualink/driver-guide.rst shows this file, and the KUnit
 * suite drm_ualink_skeleton runs it. skel_hw_*() stands for registers and tables.
 */

#include <linux/bitmap.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_managed.h>
#include <drm/drm_prime.h>
#include <drm/drm_ualink.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_range_manager.h>

#include "drm_ualink_skeleton.h"

static struct skel_device *to_skel(struct drm_device *drm)
{
	return container_of(drm, struct skel_device, drm);
}

static struct skel_device *udev_to_skel(struct ualink_device *udev)
{
	return to_skel(ualink_device_priv(udev));
}

static struct skel_bo *to_skel_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct skel_bo, tbo.base);
}

/* [ualink_ops] */
static int skel_send(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg)
{
	return skel_hw_send(udev_to_skel(udev)->hw, dst, msg);
}

static int skel_recv(struct ualink_device *udev, u32 src, struct ualink_msg *msg)
{
	return skel_hw_recv(udev_to_skel(udev)->hw, src, msg);
}

static int skel_source_gate(struct ualink_device *udev, u32 src, bool open)
{
	return skel_hw_gate(udev_to_skel(udev)->hw, src, open);
}

/* @priv is what was pinned. A table that has to be allocated can fail, here only. */
static int skel_npa_map(struct ualink_device *udev, u64 offset, u64 size, bool read_only,
			void *priv)
{
	u64 vram = to_skel_bo(priv)->tbo.resource->start << PAGE_SHIFT;
	u64 at;

	for (at = 0; at < size; at += PAGE_SIZE)
		skel_hw_npa_set(udev_to_skel(udev)->hw, offset + at, vram + at, !read_only);
	return 0;
}

static void skel_npa_unmap(struct ualink_device *udev, u64 offset, u64 size)
{
	u64 at;

	for (at = 0; at < size; at += PAGE_SIZE)
		skel_hw_npa_clear(udev_to_skel(udev)->hw, offset + at);
}

static int skel_npa_flush(struct ualink_device *udev, u64 offset, u64 size)
{
	return skel_hw_npa_flush(udev_to_skel(udev)->hw);
}

static const struct ualink_ops skel_ualink_ops = {
	DRM_UALINK_OPS,
	.send = skel_send,
	.recv = skel_recv,
	.source_gate = skel_source_gate,
	.npa_map = skel_npa_map,
	.npa_unmap = skel_npa_unmap,
	.npa_flush = skel_npa_flush,
};

/* [interrupts] */
static void skel_irq(struct skel_device *skel, u32 id,
		     void (*notify)(struct ualink_device *udev, u32 id))
{
	unsigned long flags;

	/* The core is not there before it is provisioned, nor once it is told to go. */
	spin_lock_irqsave(&skel->irq_lock, flags);
	if (skel->irq_on)
		notify(drm_ualink_device(&skel->drm), id);
	spin_unlock_irqrestore(&skel->irq_lock, flags);
}

void skel_irq_rx(struct skel_device *skel, u32 src)
{
	skel_irq(skel, src, ualink_notify_rx);
}

void skel_irq_tx(struct skel_device *skel, u32 dst)
{
	skel_irq(skel, dst, ualink_notify_tx);
}

void skel_irq_link_down(struct skel_device *skel, u32 id)
{
	skel_irq(skel, id, ualink_notify_link_down);
}

static void skel_irq_set(struct skel_device *skel, bool on)
{
	spin_lock_irq(&skel->irq_lock);
	skel->irq_on = on;
	spin_unlock_irq(&skel->irq_lock);
}

/* [drm_ualink_funcs] */
static int skel_pin_locked(struct ttm_buffer_object *tbo)
{
	struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct ttm_operation_ctx ctx = { .interruptible = true };
	long ret;

	ret = ttm_bo_validate(tbo, &placement, &ctx);
	if (ret)
		return ret;
	ret = dma_resv_wait_timeout(tbo->base.resv, DMA_RESV_USAGE_KERNEL, true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;
	ttm_bo_pin(tbo);
	return 0;
}

static int skel_pin(struct drm_gem_object *obj)
{
	int ret;

	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		return ret;
	ret = skel_pin_locked(&to_skel_bo(obj)->tbo);
	dma_resv_unlock(obj->resv);
	return ret;
}

static void skel_unpin(struct drm_gem_object *obj)
{
	dma_resv_lock(obj->resv, NULL);
	ttm_bo_unpin(&to_skel_bo(obj)->tbo);
	dma_resv_unlock(obj->resv);
}

static void skel_destroy(struct drm_gem_object *obj)
{
	ttm_bo_fini(&to_skel_bo(obj)->tbo);
}

static void skel_clear_ptes(struct skel_device *skel, struct skel_bo *bo)
{
	u64 at;

	for (at = 0; bo->va && at < bo->tbo.base.size; at += PAGE_SIZE)
		skel_hw_pte_clear(skel->hw, bo->va + at);
}

/* What runs has a fence in the object's dma_resv. */
static int skel_zap(struct drm_gem_object *obj, struct drm_exec *exec, bool force)
{
	if (!force && !dma_resv_test_signaled(obj->resv, DMA_RESV_USAGE_BOOKKEEP))
		return -EBUSY;
	skel_clear_ptes(to_skel(obj->dev), to_skel_bo(obj));
	return 0;
}

static int skel_flush(struct drm_device *drm)
{
	return skel_hw_vm_flush(to_skel(drm)->hw);
}

static bool skel_has_route(struct drm_device *drm, u32 id)
{
	return skel_hw_has_route(to_skel(drm)->hw, id);
}

static struct drm_gem_object *skel_import_create(struct drm_device *drm,
						 struct ualink_import *imp, u64 size);

static const struct drm_ualink_funcs skel_ualink_funcs = {
	.pin = skel_pin,
	.unpin = skel_unpin,
	.destroy = skel_destroy,
	.import_create = skel_import_create,
	.zap = skel_zap,
	.flush = skel_flush,
	.has_route = skel_has_route,
};

/* [TTM] */
static bool skel_eviction_valuable(struct ttm_buffer_object *tbo, const struct ttm_place *place)
{
	return false;
}

/* A place, never none: that would take the resource away. */
static void skel_evict_flags(struct ttm_buffer_object *tbo, struct ttm_placement *placement)
{
	static struct ttm_place place;

	drm_ualink_npa_place(&place, SKEL_PL_NPA);
	placement->num_placement = 1;
	placement->placement = &place;
}

static int skel_move(struct ttm_buffer_object *tbo, bool evict, struct ttm_operation_ctx *ctx,
		     struct ttm_resource *to, struct ttm_place *hop)
{
	/* This driver moves nothing; one that does refuses moves from and to the pool. */
	if (tbo->resource && tbo->resource->mem_type != to->mem_type)
		return -EOPNOTSUPP;
	ttm_bo_move_null(tbo, to);
	return 0;
}

static int skel_io_mem_reserve(struct ttm_device *ttm, struct ttm_resource *res)
{
	return -EOPNOTSUPP;
}

static int skel_access_memory(struct ttm_buffer_object *tbo, unsigned long offset, void *buf,
			      int len, int write)
{
	return -EOPNOTSUPP;
}

static const struct ttm_device_funcs skel_ttm_funcs = {
	.eviction_valuable = skel_eviction_valuable,
	.evict_flags = skel_evict_flags,
	.move = skel_move,
	.io_mem_reserve = skel_io_mem_reserve,
	.access_memory = skel_access_memory,
};

/* [objects] */
static void skel_bo_free(struct drm_gem_object *obj)
{
	/* While others may reach it, it stays; skel_destroy() goes on. */
	if (drm_ualink_gem_free(obj))
		return;
	ttm_bo_fini(&to_skel_bo(obj)->tbo);
}

static struct dma_buf *skel_bo_export(struct drm_gem_object *obj, int flags)
{
	if (drm_ualink_gem_is_import(obj))
		return drm_ualink_gem_prime_export(obj, flags);
	return drm_gem_prime_export(obj, flags);
}

static const struct drm_gem_object_funcs skel_bo_funcs = {
	.free = skel_bo_free,
	.export = skel_bo_export,
};

static void skel_bo_destroy(struct ttm_buffer_object *tbo)
{
	drm_ualink_gem_release(&tbo->base);
	drm_gem_object_release(&tbo->base);
	kfree(to_skel_bo(&tbo->base));
}

static struct drm_gem_object *skel_bo_make(struct skel_device *skel, u64 size,
					   struct ualink_import *imp)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct ttm_place place = { .mem_type = imp ? SKEL_PL_NPA : TTM_PL_VRAM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct skel_bo *bo;
	int ret = 0;

	bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->tbo.base.funcs = &skel_bo_funcs;
	drm_gem_private_object_init(&skel->drm, &bo->tbo.base, size);

	if (imp)
		ret = drm_ualink_gem_init_import(&bo->tbo.base, imp);
	if (ret) {
		drm_gem_private_object_fini(&bo->tbo.base);
		kfree(bo);
		return ERR_PTR(ret);
	}
	/* Calls skel_bo_destroy() if it fails. */
	ret = ttm_bo_init_reserved(&skel->ttm, &bo->tbo,
				   imp ? ttm_bo_type_sg : ttm_bo_type_device,
				   &placement, 0, &ctx, NULL, NULL, skel_bo_destroy);
	if (ret)
		return ERR_PTR(ret);
	ttm_bo_unreserve(&bo->tbo);
	return &bo->tbo.base;
}

static struct drm_gem_object *skel_import_create(struct drm_device *drm,
						 struct ualink_import *imp, u64 size)
{
	return skel_bo_make(to_skel(drm), size, imp);
}

struct drm_gem_object *skel_bo_create(struct skel_device *skel, u64 size)
{
	return skel_bo_make(skel, size, NULL);
}

/* [mapping] */
static void skel_write_ptes(struct skel_device *skel, struct skel_bo *bo, u64 va, bool write)
{
	bool remote = drm_ualink_gem_is_import(&bo->tbo.base);
	struct drm_ualink_window window;
	u64 at, begin;

	if (remote) {
		drm_ualink_gem_window(&bo->tbo.base, &window);
		begin = window.npa;
	} else {
		begin = (u64)bo->tbo.resource->start << PAGE_SHIFT;
	}
	for (at = 0; at < bo->tbo.base.size; at += PAGE_SIZE)
		skel_hw_pte_set(skel->hw, va + at, begin + at, remote, write);
}

static int skel_bind_locked(struct skel_device *skel, struct skel_bo *bo, u64 va, bool write)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct drm_ualink_window window;
	int ret;

	if (bo->va)
		return -EBUSY;
	if (drm_ualink_gem_is_import(&bo->tbo.base)) {
		ret = drm_ualink_npa_validate(&bo->tbo, SKEL_PL_NPA, &ctx);
		if (ret)
			return ret;	/* -ENODEV: it has died */
		drm_ualink_gem_window(&bo->tbo.base, &window);
		if (write && !(window.access & UALINK_ACCESS_WRITE))
			return -EACCES;
	}
	skel_write_ptes(skel, bo, va, write);
	bo->va = va;
	return 0;
}

/* There is one address space, and one mapping of each object; it keeps the object. */
int skel_bind(struct skel_device *skel, struct drm_gem_object *obj, u64 va, bool write)
{
	int ret;

	dma_resv_lock(obj->resv, NULL);
	ret = skel_bind_locked(skel, to_skel_bo(obj), va, write);
	dma_resv_unlock(obj->resv);
	if (!ret)
		drm_gem_object_get(obj);	/* Put in skel_unbind() */
	return ret;
}

static int skel_unbind_locked(struct skel_device *skel, struct skel_bo *bo)
{
	int idx, ret;

	if (!drm_dev_enter(&skel->drm, &idx))
		return -ENODEV;		/* It has no page tables any more. */
	skel_clear_ptes(skel, bo);
	ret = skel_hw_vm_flush(skel->hw);
	drm_dev_exit(idx);
	return ret;
}

int skel_unbind(struct skel_device *skel, struct drm_gem_object *obj)
{
	int ret;

	dma_resv_lock(obj->resv, NULL);
	ret = skel_unbind_locked(skel, to_skel_bo(obj));
	to_skel_bo(obj)->va = 0;
	dma_resv_unlock(obj->resv);
	drm_gem_object_put(obj);
	return ret;
}

/* [driver] */
static struct drm_gem_object *skel_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	if (drm_ualink_is_dma_buf(dma_buf))
		return drm_ualink_gem_prime_import(drm, dma_buf);
	return drm_gem_prime_import(drm, dma_buf);
}

DEFINE_DRM_GEM_FOPS(skel_fops);

static const struct drm_driver skel_driver = {
	DRM_UALINK_DRIVER_OPS,
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.gem_prime_import = skel_prime_import,
	.postclose = drm_ualink_postclose,
	.show_fdinfo = drm_ualink_show_fdinfo,
	.fops = &skel_fops,
	.name = "ualink-skeleton",
	.desc = "UALink skeleton",
};

/* [life] */
static void skel_ttm_fini(struct drm_device *drm, void *data)
{
	ttm_range_man_fini(&to_skel(drm)->ttm, TTM_PL_VRAM);
	ttm_device_fini(&to_skel(drm)->ttm);
}

static void skel_npa_fini(struct drm_device *drm, void *data)
{
	drm_ualink_npa_man_fini(&to_skel(drm)->ttm, SKEL_PL_NPA);
}

static int skel_init_ttm(struct skel_device *skel)
{
	struct drm_device *drm = &skel->drm;
	int ret;

	ret = ttm_device_init(&skel->ttm, &skel_ttm_funcs, drm->dev, drm->anon_inode->i_mapping,
			      drm->vma_offset_manager, 0);
	if (ret)
		return ret;
	ret = ttm_range_man_init(&skel->ttm, TTM_PL_VRAM, false, SKEL_VRAM_SIZE >> PAGE_SHIFT);
	if (ret) {
		ttm_device_fini(&skel->ttm);
		return ret;
	}
	return drmm_add_action_or_reset(drm, skel_ttm_fini, NULL);
}

/* What stays until the last user has gone, the pool being the last to come, the first to go */
static int skel_init(struct skel_device *skel)
{
	static const struct drm_ualink_caps caps = {
		.device = SKEL_VRAM_SIZE / 4 * 3,
		.file = SKEL_VRAM_SIZE / 2,
	};
	int ret;

	spin_lock_init(&skel->irq_lock);
	ret = skel_init_ttm(skel);
	if (ret)
		return ret;
	ret = drm_ualink_init(&skel->drm, &skel_ualink_funcs, &caps);
	if (ret)
		return ret;
	ret = drm_ualink_npa_man_init(&skel->ttm, SKEL_PL_NPA);
	if (ret)
		return ret;
	return drmm_add_action_or_reset(&skel->drm, skel_npa_fini, NULL);
}

static int skel_provision(struct skel_device *skel)
{
	DECLARE_BITMAP(members, UALINK_MAX_IDS);
	struct ualink_device_params params = {
		.ops = &skel_ualink_ops,
		.id = skel_hw_id(skel->hw),
		.vpod = UUID_INIT(7, 3, 1, 1, 2, 3, 4, 5, 6, 7, 8),
		.members = members,
		.block_sizes = PAGE_SIZE,
		.segment_shift = SKEL_SEGMENT,
	};

	skel_hw_members(skel->hw, members);
	return drm_ualink_provision(&skel->drm, &params);
}

/* The hardware works, and its tables are empty. What came before is told to the core now. */
static int skel_activate(struct skel_device *skel)
{
	struct ualink_device *udev = drm_ualink_device(&skel->drm);
	unsigned int id;
	int ret;

	ret = ualink_device_activate(udev);
	if (ret)
		return ret;
	for (id = 0; id < UALINK_MAX_IDS; id++)
		if (skel_hw_rx_pending(skel->hw, id))
			ualink_notify_rx(udev, id);
	return 0;
}

/* On return nobody else reaches VRAM, and nothing of others is mapped here. */
static void skel_deactivate(struct skel_device *skel)
{
	struct ualink_device *udev = drm_ualink_device(&skel->drm);

	if (udev)
		ualink_device_deactivate(udev);
}

void skel_remove(struct skel_device *skel)
{
	/* While the hardware still works */
	drm_dev_unplug(&skel->drm);
	skel_deactivate(skel);
	skel_hw_reset(skel->hw);	/* If a flush failed, nothing else helps. */
	skel_irq_set(skel, false);
	drm_ualink_unplug(&skel->drm);
	skel_hw_attach(skel->hw, NULL);
}

struct skel_device *skel_probe(struct device *dev, struct skel_hw *hw)
{
	struct skel_device *skel;
	int ret;

	skel = devm_drm_dev_alloc(dev, &skel_driver, struct skel_device, drm);
	if (IS_ERR(skel))
		return skel;
	ret = skel_init(skel);
	if (ret)
		return ERR_PTR(ret);

	skel->hw = hw;
	skel_hw_attach(hw, skel);
	ret = skel_provision(skel);
	if (ret)
		goto err_detach;
	skel_irq_set(skel, true);
	ret = skel_activate(skel);
	if (ret)
		goto err_unplug;
	/* Users come last: what they do finds everything there. */
	ret = drm_dev_register(&skel->drm, 0);
	if (ret)
		goto err_unplug;
	return skel;

err_unplug:
	skel_irq_set(skel, false);
	drm_ualink_unplug(&skel->drm);
err_detach:
	skel_hw_attach(hw, NULL);
	return ERR_PTR(ret);
}

/* Not from a section that a fence waits for; see ualink_device_deactivate(). */
int skel_reset(struct skel_device *skel)
{
	skel_deactivate(skel);
	skel_hw_reset(skel->hw);
	return skel_activate(skel);
}

/* Exports end first, since what is pinned cannot be saved. */
void skel_suspend(struct skel_device *skel)
{
	skel_deactivate(skel);
	/* Now VRAM is saved, and the hardware loses power. */
	skel_hw_reset(skel->hw);
}

int skel_resume(struct skel_device *skel)
{
	return skel_activate(skel);
}
