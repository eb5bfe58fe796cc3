// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/pm_runtime.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_ualink.h>
#include <drm/gpu_scheduler.h>

#include "amdgpu.h"
#include "amdgpu_object.h"
#include "amdgpu_reset.h"
#include "amdgpu_sync.h"
#include "amdgpu_ttm.h"
#include "amdgpu_ualink.h"
#include "amdgpu_vm.h"

/*
 * Exports are ordinary buffers, pinned in VRAM.
 *
 * Imports are buffers of type ttm_bo_type_sg in the pool AMDGPU_PL_NPA, which have no
 * domain: that is why amdgpu_bo_placement_from_domain() asks amdgpu_ualink_bo_place()
 * first. Page tables get their entries as those of any buffer. When an import dies,
 * the CPU clears them at once, since the engine that otherwise does may be busy with a
 * job for as long as it likes. What the engine was already told to write to the page
 * tables of the same address space might bring an entry back, so that a zap is complete
 * only when nothing of that is left.
 */

/* Pause before TLBs are flushed again that could not be */
#define AMDGPU_UALINK_RETRY_MS	20

/* Exports */

static bool amdgpu_ualink_exportable(struct amdgpu_bo *bo)
{
	const u64 refused = AMDGPU_GEM_CREATE_VM_ALWAYS_VALID | AMDGPU_GEM_CREATE_ENCRYPTED |
			    AMDGPU_GEM_CREATE_GFX12_DCC | AMDGPU_GEM_CREATE_DISCARDABLE;

	return bo->tbo.type == ttm_bo_type_device && !(bo->flags & refused) &&
	       bo->preferred_domains & AMDGPU_GEM_DOMAIN_VRAM &&
	       !drm_gem_is_imported(&bo->tbo.base) && !amdgpu_ttm_tt_get_usermm(bo->tbo.ttm);
}

static int amdgpu_ualink_pin_locked(struct amdgpu_bo *bo)
{
	long ret;

	ret = amdgpu_bo_pin(bo, AMDGPU_GEM_DOMAIN_VRAM);
	if (ret)
		return ret == -ENOMEM ? -ENOSPC : ret;

	ret = dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL, true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		amdgpu_bo_unpin(bo);
	return ret < 0 ? ret : 0;
}

/* The GPU stays awake as long as anything is shared. */
static int amdgpu_ualink_wake(struct drm_device *drm)
{
	int ret = pm_runtime_resume_and_get(drm->dev);

	/* Runtime PM is off: the GPU is being suspended, or removed. */
	return ret == -EACCES ? -EBUSY : ret;
}

static int amdgpu_ualink_pin(struct drm_gem_object *obj)
{
	struct amdgpu_bo *bo = gem_to_amdgpu_bo(obj);
	int ret;

	if (!amdgpu_ualink_exportable(bo))
		return -EOPNOTSUPP;
	ret = amdgpu_ualink_wake(obj->dev);
	if (ret)
		return ret;

	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (!ret) {
		ret = amdgpu_ualink_pin_locked(bo);
		dma_resv_unlock(obj->resv);
	}
	if (ret)
		pm_runtime_put_autosuspend(obj->dev->dev);
	return ret;
}

static void amdgpu_ualink_unpin(struct drm_gem_object *obj)
{
	dma_resv_lock(obj->resv, NULL);
	amdgpu_bo_unpin(gem_to_amdgpu_bo(obj));
	dma_resv_unlock(obj->resv);
	pm_runtime_put_autosuspend(obj->dev->dev);
}

static void amdgpu_ualink_destroy(struct drm_gem_object *obj)
{
	ttm_bo_fini(&gem_to_amdgpu_bo(obj)->tbo);
}

/* Imports */

static struct drm_gem_object *
amdgpu_ualink_import_create(struct drm_device *drm, struct ualink_import *imp, u64 size)
{
	struct amdgpu_bo_param bp = {
		.size = size,
		.byte_align = PAGE_SIZE,
		.flags = AMDGPU_GEM_CREATE_NO_CPU_ACCESS | AMDGPU_GEM_CREATE_UNCACHED,
		.type = ttm_bo_type_sg,
		.ualink_import = imp,
	};
	struct amdgpu_bo_user *ubo;
	int ret;

	ret = amdgpu_bo_create_user(drm_to_adev(drm), &bp, &ubo);
	if (ret)
		return ERR_PTR(ret);
	return &ubo->bo.tbo.base;
}

/**
 * amdgpu_ualink_bo_init - makes a buffer an import, before TTM sees it
 * @bo: the buffer
 * @imp: the import
 *
 * Return: 0 or an errno.
 */
int amdgpu_ualink_bo_init(struct amdgpu_bo *bo, struct ualink_import *imp)
{
	int ret;

	/* Put in amdgpu_ualink_bo_release() */
	ret = amdgpu_ualink_wake(bo->tbo.base.dev);
	if (ret)
		return ret;
	ret = drm_ualink_gem_init_import(&bo->tbo.base, imp);
	if (ret)
		pm_runtime_put_autosuspend(bo->tbo.base.dev->dev);
	return ret;
}

/**
 * amdgpu_ualink_bo_is_import - is a buffer remote memory?
 * @bo: the buffer
 *
 * Return: true if it is.
 */
bool amdgpu_ualink_bo_is_import(struct amdgpu_bo *bo)
{
	return drm_ualink_gem_is_import(&bo->tbo.base);
}

/**
 * amdgpu_ualink_bo_dead - has the remote memory of a buffer been lost?
 * @bo: the buffer, reserved if it is an import
 *
 * Return: true if it has: who names it gets %-ENODEV then.
 */
bool amdgpu_ualink_bo_dead(struct amdgpu_bo *bo)
{
	return drm_ualink_gem_dead(&bo->tbo.base);
}

/**
 * amdgpu_ualink_bo_place - sets the only placement of an import
 * @bo: the import
 */
void amdgpu_ualink_bo_place(struct amdgpu_bo *bo)
{
	drm_ualink_npa_place(&bo->placements[0], AMDGPU_PL_NPA);
	bo->placement.num_placement = 1;
	bo->placement.placement = bo->placements;
}

/**
 * amdgpu_ualink_bo_may_map - may a buffer be mapped in this way?
 * @bo: the buffer, reserved if it is an import
 * @vm_flags: AMDGPU_VM_PAGE_*
 *
 * Return: 0; %-ENODEV: it is dead; %-EACCES: it is read-only.
 */
int amdgpu_ualink_bo_may_map(struct amdgpu_bo *bo, u32 vm_flags)
{
	struct drm_ualink_window window;

	if (!amdgpu_ualink_bo_is_import(bo))
		return 0;
	if (amdgpu_ualink_bo_dead(bo))
		return -ENODEV;
	drm_ualink_gem_window(&bo->tbo.base, &window);
	if (vm_flags & AMDGPU_VM_PAGE_WRITEABLE && !(window.access & UALINK_ACCESS_WRITE))
		return -EACCES;
	return 0;
}

/**
 * amdgpu_ualink_get_vm_pte - what goes into the entry for an import
 * @adev: amdgpu_device pointer
 * @bo: the import, reserved
 * @base: set to its address
 * @flags: made those of remote memory
 */
void amdgpu_ualink_get_vm_pte(struct amdgpu_device *adev, struct amdgpu_bo *bo,
			      u64 *base, u64 *flags)
{
	struct drm_ualink_window window;

	drm_ualink_gem_window(&bo->tbo.base, &window);
	*base = window.npa;
	adev->ualink->funcs->get_vm_pte(adev, flags);
	if (!(window.access & UALINK_ACCESS_WRITE))
		*flags &= ~AMDGPU_PTE_WRITEABLE;
}

static bool amdgpu_ualink_is_job(struct dma_fence *fence)
{
	struct drm_sched_fence *job = to_drm_sched_fence(fence);

	return job && job->owner != AMDGPU_FENCE_OWNER_VM;
}

static bool amdgpu_ualink_is_update(struct dma_fence *fence)
{
	struct drm_sched_fence *job = to_drm_sched_fence(fence);

	return job && job->owner == AMDGPU_FENCE_OWNER_VM;
}

/* Has a reservation a fence of this kind that is not signaled? */
static bool amdgpu_ualink_pending(struct dma_resv *resv, bool (*kind)(struct dma_fence *))
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP, fence)
		if (kind(fence) && !dma_fence_is_signaled(fence))
			return true;
	return false;
}

static struct dma_resv *amdgpu_ualink_vm_resv(struct amdgpu_vm *vm)
{
	return vm->root.bo->tbo.base.resv;
}

/* Makes a buffer wait for what is still to be written to the page tables of @vm. */
static void amdgpu_ualink_note_updates(struct amdgpu_bo *bo, struct amdgpu_vm *vm)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, amdgpu_ualink_vm_resv(vm), DMA_RESV_USAGE_BOOKKEEP, fence)
		if (amdgpu_ualink_is_update(fence) && !dma_fence_is_signaled(fence))
			amdgpu_bo_fence(bo, fence, true);
}

/* Clears the entries of those mappings in a list that are of imports. */
static void amdgpu_ualink_zap_list(struct amdgpu_device *adev, struct amdgpu_vm *vm,
				   struct list_head *mappings)
{
	struct amdgpu_bo_va_mapping *mapping;
	u64 count;

	list_for_each_entry(mapping, mappings, list) {
		if (!(mapping->flags & AMDGPU_VM_MAPPING_NPA))
			continue;
		count = amdgpu_vm_ptes_zap(adev, vm, mapping->start, mapping->last);
		atomic64_add(count, &adev->ualink->zapped);
	}
}

static int amdgpu_ualink_lock_vms(struct amdgpu_bo *bo, struct drm_exec *exec)
{
	struct amdgpu_vm_bo_base *base;
	int ret;

	for (base = bo->vm_bo; base; base = base->next) {
		ret = drm_exec_lock_obj(exec, &base->vm->root.bo->tbo.base);
		if (ret)
			return ret;
	}
	return 0;
}

static bool amdgpu_ualink_busy(struct amdgpu_bo *bo)
{
	struct amdgpu_vm_bo_base *base;

	if (amdgpu_ualink_pending(bo->tbo.base.resv, amdgpu_ualink_is_job))
		return true;
	for (base = bo->vm_bo; base; base = base->next)
		if (amdgpu_ualink_pending(amdgpu_ualink_vm_resv(base->vm), amdgpu_ualink_is_job))
			return true;
	return false;
}

/*
 * Of one address space: what is mapped, and what was unmapped and is still to be
 * cleared. When no job runs there, the tables may be anywhere; then the next submission
 * first updates what amdgpu_vm_bo_invalidate() has marked.
 */
static void amdgpu_ualink_zap_vm(struct amdgpu_device *adev, struct amdgpu_bo_va *bo_va)
{
	struct amdgpu_vm *vm = bo_va->base.vm;

	if (amdgpu_vm_evicted(vm))
		return;
	amdgpu_ualink_zap_list(adev, vm, &vm->freed);
	amdgpu_ualink_zap_list(adev, vm, &bo_va->valids);
	amdgpu_ualink_zap_list(adev, vm, &bo_va->invalids);
}

/*
 * Is there an update from before the death, which may bring an entry back? Those that
 * came later leave the dead out. Who was pulled out of its slot completes nothing.
 */
static bool amdgpu_ualink_updates_pending(struct amdgpu_device *adev, struct amdgpu_bo *bo)
{
	struct amdgpu_vm_bo_base *base;

	if (!bo->ualink_dying) {
		bo->ualink_dying = true;
		for (base = bo->vm_bo; base; base = base->next)
			amdgpu_ualink_note_updates(bo, base->vm);
	}
	return !pci_dev_is_disconnected(adev->pdev) &&
	       amdgpu_ualink_pending(bo->tbo.base.resv, amdgpu_ualink_is_update);
}

static int amdgpu_ualink_zap(struct drm_gem_object *obj, struct drm_exec *exec, bool force)
{
	struct amdgpu_device *adev = drm_to_adev(obj->dev);
	struct amdgpu_bo *bo = gem_to_amdgpu_bo(obj);
	struct amdgpu_vm_bo_base *base;
	bool pending;
	int ret;

	ret = amdgpu_ualink_lock_vms(bo, exec);
	if (ret)
		return ret;
	/* Asked first: it may be completed after an entry is cleared. */
	pending = amdgpu_ualink_updates_pending(adev, bo);
	if (!force && amdgpu_ualink_busy(bo))
		return -EBUSY;

	amdgpu_vm_bo_invalidate(bo, false);
	for (base = bo->vm_bo; base; base = base->next)
		amdgpu_ualink_zap_vm(adev, container_of(base, struct amdgpu_bo_va, base));
	return pending ? -EBUSY : 0;
}

/*
 * TLBs of all address spaces, and then what was translated before. To wait for a reset
 * is right here: what a flush leaves out while one begins may still be used.
 */
static int amdgpu_ualink_flush(struct drm_device *drm)
{
	struct amdgpu_device *adev = drm_to_adev(drm);
	unsigned int hub, vmid;
	bool again;
	int ret;

	/* It does not answer any more, nor does it reach anything. */
	if (pci_dev_is_disconnected(adev->pdev))
		return 0;
	do {
		down_read(&adev->reset_domain->sem);
		for_each_set_bit(hub, adev->vmhubs_mask, AMDGPU_MAX_VMHUBS)
			for (vmid = 1; vmid < AMDGPU_NUM_VMID; vmid++)
				adev->gmc.gmc_funcs->flush_gpu_tlb(adev, vmid, hub, 2);
		ret = adev->ualink->funcs->drain(adev);
		/* Then flushes are cut short. */
		again = amdgpu_reset_pending(adev->reset_domain);
		up_read(&adev->reset_domain->sem);
	} while (again);
	return amdgpu_ualink_check(adev, ret);
}

static bool amdgpu_ualink_has_route(struct drm_device *drm, u32 id)
{
	struct amdgpu_device *adev = drm_to_adev(drm);

	return adev->ualink->funcs->has_route(adev, id);
}

const struct drm_ualink_funcs amdgpu_ualink_gem_funcs = {
	.pin = amdgpu_ualink_pin,
	.unpin = amdgpu_ualink_unpin,
	.destroy = amdgpu_ualink_destroy,
	.import_create = amdgpu_ualink_import_create,
	.zap = amdgpu_ualink_zap,
	.flush = amdgpu_ualink_flush,
	.has_route = amdgpu_ualink_has_route,
};

/**
 * amdgpu_ualink_bo_close - a buffer was removed from an address space
 * @bo: the buffer, reserved
 * @vm: the address space, reserved
 *
 * Makes the buffer outlive what is still to be written to the page tables: when it is
 * freed, or dies, no entry may be left. What could not even be told to the engine, since
 * memory is short, the CPU clears, although jobs may still use it.
 */
void amdgpu_ualink_bo_close(struct amdgpu_bo *bo, struct amdgpu_vm *vm)
{
	struct amdgpu_device *adev = amdgpu_ttm_adev(bo->tbo.bdev);
	int idx;

	if (!amdgpu_ualink_bo_is_import(bo))
		return;

	/* All imports had died before the device was unplugged. */
	if (!amdgpu_vm_evicted(vm) && drm_dev_enter(adev_to_drm(adev), &idx)) {
		amdgpu_ualink_zap_list(adev, vm, &vm->freed);
		drm_dev_exit(idx);
	}
	amdgpu_ualink_note_updates(bo, vm);
}

/**
 * amdgpu_ualink_bo_free - the last reference to a buffer is gone
 * @bo: the buffer
 *
 * Return: true if it must stay for now since others may reach it.
 */
bool amdgpu_ualink_bo_free(struct amdgpu_bo *bo)
{
	return drm_ualink_gem_free(&bo->tbo.base);
}

/*
 * The exporter may not hear of the release before TLBs are empty; if that fails, not before
 * the reset that follows. All imports have died before UALink is off.
 */
static void amdgpu_ualink_flush_released(struct drm_device *drm)
{
	struct amdgpu_ualink *ual = drm_to_adev(drm)->ualink;

	/* Pairs with WRITE_ONCE() in amdgpu_ualink_set_state(). */
	if (READ_ONCE(ual->state) == AMDGPU_UALINK_OFF)
		return;
	while (amdgpu_ualink_flush(drm) && READ_ONCE(ual->state) == AMDGPU_UALINK_ON)
		msleep(AMDGPU_UALINK_RETRY_MS);
}

/**
 * amdgpu_ualink_bo_release - nothing uses a buffer any more
 * @bo: the buffer, just being destroyed
 */
void amdgpu_ualink_bo_release(struct amdgpu_bo *bo)
{
	struct drm_gem_object *obj = &bo->tbo.base;
	bool import = amdgpu_ualink_bo_is_import(bo);

	if (import)
		amdgpu_ualink_flush_released(obj->dev);
	drm_ualink_gem_release(obj);
	if (import)
		pm_runtime_put_autosuspend(obj->dev->dev);
}

/* PRIME */

struct dma_buf *amdgpu_ualink_prime_export(struct drm_gem_object *obj, int flags)
{
	return drm_ualink_gem_prime_export(obj, flags);
}

bool amdgpu_ualink_is_dma_buf(const struct dma_buf *dma_buf)
{
	return drm_ualink_is_dma_buf(dma_buf);
}

struct drm_gem_object *amdgpu_ualink_prime_import(struct drm_device *drm,
						  struct dma_buf *dma_buf)
{
	return drm_ualink_gem_prime_import(drm, dma_buf);
}

/* TTM pool */

int amdgpu_ualink_man_init(struct amdgpu_device *adev)
{
	return drm_ualink_npa_man_init(&adev->mman.bdev, AMDGPU_PL_NPA);
}

/* The last objects may still need &amdgpu_device.ualink. */
void amdgpu_ualink_man_fini(struct amdgpu_device *adev)
{
	drm_ualink_npa_man_fini(&adev->mman.bdev, AMDGPU_PL_NPA);
	adev->ualink = NULL;
}
