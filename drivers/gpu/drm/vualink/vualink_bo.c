// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/align.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_ualink.h>
#include <drm/ttm/ttm_tt.h>
#include <drm/vualink_drm.h>

#include "vualink_bo.h"
#include "vualink_device.h"
#include "vualink_file.h"
#include "vualink_hw.h"
#include "vualink_vm.h"

/* Placement */

void vualink_bo_place(const struct vualink_bo *bo, struct ttm_place *place)
{
	struct vualink_device *vdev = ttm_to_vualink(bo->tbo.bdev);

	memset(place, 0, sizeof(*place));
	switch (bo->kind) {
	case VUALINK_BO_VRAM:
		place->mem_type = TTM_PL_VRAM;
		if (bo->cpu_visible)
			place->lpfn = vdev->vram.visible_size >> PAGE_SHIFT;
		break;
	case VUALINK_BO_TABLE:
		place->mem_type = TTM_PL_VRAM;
		place->flags = TTM_PL_FLAG_CONTIGUOUS | TTM_PL_FLAG_TOPDOWN;
		break;
	case VUALINK_BO_SYSTEM:
		place->mem_type = TTM_PL_TT;
		break;
	case VUALINK_BO_NPA:
		drm_ualink_npa_place(place, TTM_PL_PRIV);
		break;
	}
}

/* Brings an object to where the accelerator can use it. */
int vualink_bo_validate(struct vualink_bo *bo, bool interruptible)
{
	struct ttm_operation_ctx ctx = { .interruptible = interruptible };
	struct ttm_place place;
	struct ttm_placement placement = {
		.num_placement = 1,
		.placement = &place,
	};

	dma_resv_assert_held(bo->tbo.base.resv);

	if (bo->kind == VUALINK_BO_NPA)
		return drm_ualink_npa_validate(&bo->tbo, TTM_PL_PRIV, &ctx);

	vualink_bo_place(bo, &place);
	return ttm_bo_validate(&bo->tbo, &placement, &ctx);
}

/* Pieces */

static void vualink_bo_cursor_load_vram(struct vualink_bo_cursor *cur)
{
	cur->addr = cur->vram.addr;
	cur->size = cur->vram.size;
}

/* The exporter has made one piece of it. */
static void vualink_bo_cursor_load_npa(struct vualink_bo_cursor *cur)
{
	struct drm_ualink_window window;

	drm_ualink_gem_window(&cur->bo->tbo.base, &window);
	cur->addr = window.npa + cur->offset;
	cur->size = cur->left;
	cur->pte_flags = VUALINK_PTE_NPA;
}

static void vualink_bo_cursor_load_system(struct vualink_bo_cursor *cur)
{
	struct page **page = cur->bo->tbo.ttm->pages + (cur->offset >> PAGE_SHIFT);
	unsigned long pfn = page_to_pfn(*page);
	u64 size = PAGE_SIZE - offset_in_page(cur->offset);

	cur->addr = PFN_PHYS(pfn) + offset_in_page(cur->offset);
	while (size < cur->left && page_to_pfn(*++page) == ++pfn)
		size += PAGE_SIZE;
	cur->size = min(size, cur->left);
	cur->pte_flags = VUALINK_PTE_SYSTEM;
}

static bool vualink_bo_in_vram(const struct vualink_bo *bo)
{
	return bo->kind == VUALINK_BO_VRAM || bo->kind == VUALINK_BO_TABLE;
}

void vualink_bo_cursor_init(struct vualink_bo_cursor *cur, struct vualink_bo *bo,
			    u64 offset, u64 size)
{
	memset(cur, 0, sizeof(*cur));
	cur->bo = bo;
	cur->offset = offset;
	cur->left = size;
	if (vualink_bo_in_vram(bo))
		vualink_vram_cursor_init(&cur->vram, bo->tbo.resource, offset,
					 size);
}

/* Goes to the next piece. Return: whether there is one */
bool vualink_bo_cursor_next(struct vualink_bo_cursor *cur)
{
	cur->offset += cur->size;
	cur->left -= cur->size;
	if (vualink_bo_in_vram(cur->bo))
		vualink_vram_cursor_next(&cur->vram, cur->size);
	if (!cur->left)
		return false;
	if (cur->bo->kind == VUALINK_BO_SYSTEM)
		vualink_bo_cursor_load_system(cur);
	else if (cur->bo->kind == VUALINK_BO_NPA)
		vualink_bo_cursor_load_npa(cur);
	else
		vualink_bo_cursor_load_vram(cur);
	return true;
}

/* CPU mappings */

static vm_fault_t vualink_bo_fault_vram(struct vualink_bo *bo,
					struct vm_fault *vmf, u64 offset)
{
	struct vualink_device *vdev = ttm_to_vualink(bo->tbo.bdev);
	u64 addr = vualink_vram_offset(bo->tbo.resource, offset);
	struct page *page = vualink_hw_vram_page(vdev->hw, addr);

	return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(page));
}

static vm_fault_t vualink_bo_fault_reserved(struct vualink_bo *bo,
					    struct vm_fault *vmf)
{
	u64 start = drm_vma_node_offset_addr(&bo->tbo.base.vma_node);
	u64 offset = ((u64)vmf->pgoff << PAGE_SHIFT) - start;

	if (offset >= bo->tbo.base.size)
		return VM_FAULT_SIGBUS;
	if (bo->tbo.resource->mem_type == TTM_PL_VRAM)
		return vualink_bo_fault_vram(bo, vmf, offset);
	return ttm_bo_vm_fault_reserved(vmf, vmf->vma->vm_page_prot,
					TTM_BO_VM_NUM_PREFAULT);
}

static vm_fault_t vualink_bo_fault(struct vm_fault *vmf)
{
	struct ttm_buffer_object *tbo = vmf->vma->vm_private_data;
	vm_fault_t ret;
	int idx;

	ret = ttm_bo_vm_reserve(tbo, vmf);
	if (ret)
		return ret;
	if (drm_dev_enter(tbo->base.dev, &idx)) {
		ret = vualink_bo_fault_reserved(ttm_to_vualink_bo(tbo), vmf);
		drm_dev_exit(idx);
	} else {
		ret = ttm_bo_vm_dummy_page(vmf, vmf->vma->vm_page_prot);
	}
	/* Then it waited, and has unlocked the object itself. */
	if (ret == VM_FAULT_RETRY && !(vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return ret;
	dma_resv_unlock(tbo->base.resv);
	return ret;
}

static const struct vm_operations_struct vualink_bo_vm_ops = {
	.fault = vualink_bo_fault,
	.open = ttm_bo_vm_open,
	.close = ttm_bo_vm_close,
	.access = ttm_bo_vm_access,
};

static int vualink_bo_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct vualink_bo *bo = gem_to_vualink_bo(obj);
	int ret;

	if (!bo->cpu_visible)
		return -EOPNOTSUPP;
	ret = ttm_bo_mmap_obj(vma, &bo->tbo);
	if (ret)
		return ret;
	/* TTM took a reference for the mapping too. */
	drm_gem_object_put(obj);
	return 0;
}

/* GEM */

static struct dma_buf *vualink_bo_export(struct drm_gem_object *obj, int flags)
{
	if (gem_to_vualink_bo(obj)->vm_obj)
		return ERR_PTR(-EPERM);
	if (drm_ualink_gem_is_import(obj))
		return drm_ualink_gem_prime_export(obj, flags);
	return drm_gem_prime_export(obj, flags);
}

static void vualink_bo_free(struct drm_gem_object *obj)
{
	/* While others may reach it, it stays; vualink_ualink_destroy() goes on. */
	if (drm_ualink_gem_free(obj))
		return;
	ttm_bo_fini(&gem_to_vualink_bo(obj)->tbo);
}

static const struct drm_gem_object_funcs vualink_bo_funcs = {
	.free = vualink_bo_free,
	.export = vualink_bo_export,
	.mmap = vualink_bo_mmap,
	.vm_ops = &vualink_bo_vm_ops,
};

static void vualink_bo_destroy(struct ttm_buffer_object *tbo)
{
	struct vualink_bo *bo = ttm_to_vualink_bo(tbo);

	drm_ualink_gem_release(&tbo->base);
	drm_gem_object_release(&tbo->base);
	if (bo->vm_obj)
		drm_gem_object_put(bo->vm_obj);
	kfree(bo);
}

static enum ttm_bo_type vualink_bo_ttm_type(const struct vualink_bo *bo)
{
	switch (bo->kind) {
	case VUALINK_BO_TABLE:
		return ttm_bo_type_kernel;
	case VUALINK_BO_NPA:
		return ttm_bo_type_sg;
	default:
		return ttm_bo_type_device;
	}
}

/* Return: the object, or an ERR_PTR */
struct vualink_bo *vualink_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? gem_to_vualink_bo(obj) : ERR_PTR(-ENOENT);
}

void vualink_bo_put(struct vualink_bo *bo)
{
	drm_gem_object_put(&bo->tbo.base);
}

/* What finds no room in VRAM now is brought there when it is used. */
static int vualink_bo_init(struct vualink_bo *bo, struct dma_resv *resv)
{
	struct vualink_device *vdev = to_vualink(bo->tbo.base.dev);
	bool kernel = bo->kind == VUALINK_BO_TABLE;
	struct ttm_operation_ctx ctx = { .interruptible = !kernel };
	struct ttm_place places[2] = {
		[1] = { .mem_type = TTM_PL_SYSTEM, .flags = TTM_PL_FLAG_FALLBACK },
	};
	struct ttm_placement placement = {
		.num_placement = bo->kind == VUALINK_BO_VRAM ? 2 : 1,
		.placement = places,
	};
	int ret;

	bo->tbo.bdev = &vdev->ttm;
	vualink_bo_place(bo, &places[0]);
	ret = ttm_bo_init_reserved(&vdev->ttm, &bo->tbo,
				   vualink_bo_ttm_type(bo), &placement, 1, &ctx, NULL, resv,
				   vualink_bo_destroy);
	if (ret)
		return ret;
	if (kernel)
		ttm_bo_pin(&bo->tbo);
	/* The lock of a VM is the caller's to release. */
	if (resv)
		ttm_bo_move_to_lru_tail_unlocked(&bo->tbo);
	else
		ttm_bo_unreserve(&bo->tbo);
	return 0;
}

/* Return: the object, with one reference, or an ERR_PTR */
struct vualink_bo *
vualink_bo_create(struct vualink_device *vdev, enum vualink_bo_kind kind,
		  u64 size, bool cpu_visible, struct vualink_vm *vm)
{
	struct dma_resv *resv = NULL;
	struct vualink_bo *bo;
	int ret;

	bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->kind = kind;
	bo->cpu_visible = cpu_visible;
	bo->tbo.base.funcs = &vualink_bo_funcs;
	drm_gem_private_object_init(&vdev->drm, &bo->tbo.base, size);

	if (vm) {
		resv = drm_gpuvm_resv(&vm->base);
		bo->vm_obj = drm_gpuvm_resv_obj(&vm->base);
		/* Pairs with the put in vualink_bo_destroy(). */
		drm_gem_object_get(bo->vm_obj);
		dma_resv_lock(resv, NULL);
	}
	ret = vualink_bo_init(bo, resv); /* Frees the object if it fails. */
	if (vm)
		dma_resv_unlock(resv);
	return ret ? ERR_PTR(ret) : bo;
}

/* Memory of another accelerator. Return: the object, with one reference, or an ERR_PTR */
struct vualink_bo *
vualink_bo_create_import(struct vualink_device *vdev, struct ualink_import *imp,
			 u64 size)
{
	struct vualink_bo *bo;
	int ret;

	bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->kind = VUALINK_BO_NPA;
	bo->tbo.base.funcs = &vualink_bo_funcs;
	drm_gem_private_object_init(&vdev->drm, &bo->tbo.base, size);
	ret = drm_ualink_gem_init_import(&bo->tbo.base, imp);
	if (ret) {
		drm_gem_private_object_fini(&bo->tbo.base);
		kfree(bo);
		return ERR_PTR(ret);
	}
	ret = vualink_bo_init(bo, NULL); /* Frees the object if it fails. */
	return ret ? ERR_PTR(ret) : bo;
}

/* Ioctls */

#define VUALINK_BO_FLAGS	(DRM_VUALINK_BO_CPU_VISIBLE | \
				 DRM_VUALINK_BO_SYSTEM)

static u64 vualink_bo_max_size(struct vualink_device *vdev, u32 flags)
{
	if (flags & DRM_VUALINK_BO_SYSTEM)
		return ttm_manager_type(&vdev->ttm, TTM_PL_TT)->size << PAGE_SHIFT;
	if (flags & DRM_VUALINK_BO_CPU_VISIBLE)
		return vdev->vram.visible_size;
	return vdev->vram.base.size;
}

int vualink_bo_create_ioctl(struct drm_device *drm, void *data,
			    struct drm_file *file)
{
	struct drm_vualink_bo_create *args = data;
	struct vualink_device *vdev = to_vualink(drm);
	bool system = args->flags & DRM_VUALINK_BO_SYSTEM;
	bool visible = system || args->flags & DRM_VUALINK_BO_CPU_VISIBLE;
	struct vualink_vm *vm = NULL;
	struct vualink_bo *bo;
	int ret;

	if (args->flags & ~VUALINK_BO_FLAGS || args->pad || !args->size ||
	    !IS_ALIGNED(args->size, PAGE_SIZE))
		return -EINVAL;
	if (args->size > vualink_bo_max_size(vdev, args->flags))
		return -ENOSPC;

	if (args->vm_id) {
		vm = vualink_file_get_vm(file->driver_priv, args->vm_id);
		if (!vm)
			return -ENOENT;
	}
	bo = vualink_bo_create(vdev,
			       system ? VUALINK_BO_SYSTEM : VUALINK_BO_VRAM,
			       args->size, visible, vm);
	if (vm)
		vualink_vm_put(vm);
	if (IS_ERR(bo))
		return PTR_ERR(bo);

	ret = drm_gem_handle_create(file, &bo->tbo.base, &args->handle);
	vualink_bo_put(bo);
	return ret;
}

int vualink_bo_mmap_offset_ioctl(struct drm_device *drm, void *data,
				 struct drm_file *file)
{
	struct drm_vualink_bo_mmap_offset *args = data;
	struct vualink_bo *bo;
	int ret = 0;

	if (args->pad)
		return -EINVAL;
	bo = vualink_bo_lookup(file, args->handle);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	if (bo->cpu_visible)
		args->offset = drm_vma_node_offset_addr(&bo->tbo.base.vma_node);
	else
		ret = -EOPNOTSUPP;
	vualink_bo_put(bo);
	return ret;
}
