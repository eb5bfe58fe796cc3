// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/align.h>
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ualink.h>
#include <drm/vualink_drm.h>

#include "vualink_bo.h"
#include "vualink_device.h"
#include "vualink_file.h"
#include "vualink_vm.h"

/*
 * Changes of the mappings by the user. What can fail comes first: memory is
 * allocated, tables are made, and blocks are split at both ends of the range.
 * Then the tree of mappings and the page table are changed step by step, and
 * the TLB is flushed. The objects of old mappings are given up after that.
 */

/* A mapping that is cut in two, and the new one */
#define VUALINK_BIND_VMAS	3

/**
 * struct vualink_bind - a change of the mappings
 * @vm: where
 * @bo: object to be mapped, or NULL. A reference
 * @vm_bo: the same in the VM. A reference
 * @map: what is to be mapped
 * @va: start of the range
 * @size: size of it
 * @pte_flags: for the new mapping
 * @vmas: memory for new mappings
 * @flush: the TLB may hold what is not so any more
 * @garbage: tables to be freed after the flush
 */
struct vualink_bind {
	struct vualink_vm *vm;
	struct vualink_bo *bo;
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuvm_map_req map;
	u64 va;
	u64 size;
	u64 pte_flags;
	struct vualink_vma *vmas[VUALINK_BIND_VMAS];
	bool flush;
	struct list_head garbage;
};

/* Steps */

static struct vualink_vma *vualink_bind_take_vma(struct vualink_bind *bind,
						 u64 pte_flags)
{
	struct vualink_vma *vma = NULL;
	int i;

	for (i = 0; !vma; i++)
		swap(vma, bind->vmas[i]);
	vma->pte_flags = pte_flags;
	return vma;
}

static void vualink_bind_clear(struct vualink_bind *bind, u64 va, u64 size)
{
	int idx;

	bind->flush = true;
	if (!vualink_vm_pt_lock(bind->vm, &idx))
		return;
	vualink_pt_unmap(&bind->vm->pt, va, size);
	vualink_vm_pt_unlock(bind->vm, idx);
}

int vualink_bind_step_map(struct drm_gpuva_op *op, void *priv)
{
	struct vualink_bind *bind = priv;
	struct drm_gem_object *obj = op->map.gem.obj;
	struct vualink_vma *vma;
	int ret;

	vma = vualink_bind_take_vma(bind, bind->pte_flags);
	drm_gpuva_map(&bind->vm->base, &vma->base, &op->map);
	mutex_lock(&obj->gpuva.lock);
	drm_gpuva_link(&vma->base, bind->vm_bo);
	ret = vualink_vm_map_vma(bind->vm, vma);
	mutex_unlock(&obj->gpuva.lock);
	return ret;
}

static struct drm_gpuva *
vualink_bind_take_rest(struct vualink_bind *bind, struct drm_gpuva_op_map *rest,
		       struct drm_gpuva *va)
{
	struct vualink_vma *vma;

	if (!rest)
		return NULL;
	vma = vualink_bind_take_vma(bind, to_vualink_vma(va)->pte_flags);
	return &vma->base;
}

static void vualink_bind_drop(struct drm_gpuva *va)
{
	drm_gpuva_unlink_defer(va);
	kfree(to_vualink_vma(va));
}

/* What is left of a mapping keeps its entries. */
int vualink_bind_step_remap(struct drm_gpuva_op *op, void *priv)
{
	struct vualink_bind *bind = priv;
	struct drm_gpuva *va = op->remap.unmap->va;
	struct drm_gem_object *obj = va->gem.obj;
	struct drm_gpuva *prev, *next;
	u64 addr, range;

	drm_gpuva_op_remap_to_unmap_range(&op->remap, &addr, &range);
	prev = vualink_bind_take_rest(bind, op->remap.prev, va);
	next = vualink_bind_take_rest(bind, op->remap.next, va);

	vualink_bind_clear(bind, addr, range);
	drm_gpuva_remap(prev, next, &op->remap);
	mutex_lock(&obj->gpuva.lock);
	if (prev)
		drm_gpuva_link(prev, va->vm_bo);
	if (next)
		drm_gpuva_link(next, va->vm_bo);
	mutex_unlock(&obj->gpuva.lock);
	vualink_bind_drop(va);
	return 0;
}

int vualink_bind_step_unmap(struct drm_gpuva_op *op, void *priv)
{
	struct drm_gpuva *va = op->unmap.va;

	vualink_bind_clear(priv, va->va.addr, va->va.range);
	drm_gpuva_unmap(&op->unmap);
	vualink_bind_drop(va);
	return 0;
}

/* Preparation */

static int vualink_bind_alloc(struct vualink_bind *bind)
{
	int i;

	for (i = 0; i < VUALINK_BIND_VMAS; i++) {
		bind->vmas[i] = kzalloc_obj(*bind->vmas[i], GFP_KERNEL_ACCOUNT);
		if (!bind->vmas[i])
			return -ENOMEM;
	}
	if (!bind->bo)
		return 0;
	bind->vm_bo = drm_gpuvm_bo_create(&bind->vm->base, &bind->bo->tbo.base);
	if (!bind->vm_bo)
		return -ENOMEM;
	bind->vm_bo = drm_gpuvm_bo_obtain_prealloc(bind->vm_bo);
	return 0;
}

static void vualink_bind_free(struct vualink_bind *bind)
{
	int i;

	drm_gpuvm_bo_put_deferred(bind->vm_bo);
	for (i = 0; i < VUALINK_BIND_VMAS; i++)
		kfree(bind->vmas[i]);
}

/* What the exporter grants. The object is not dead: it has just been validated. */
static int vualink_bind_check_access(struct vualink_bind *bind)
{
	struct drm_gem_object *obj = &bind->bo->tbo.base;
	struct drm_ualink_window window;

	if (!drm_ualink_gem_is_import(obj))
		return 0;
	drm_ualink_gem_window(obj, &window);
	if (bind->pte_flags & VUALINK_PTE_WRITE && !(window.access & UALINK_ACCESS_WRITE))
		return -EACCES;
	return 0;
}

static int vualink_bind_validate(struct vualink_bind *bind)
{
	int ret;

	if (!bind->bo)
		return 0;
	ret = vualink_bo_validate(bind->bo, true);
	return ret ?: vualink_bind_check_access(bind);
}

/* Locks all that it concerns, and brings the new object to its place. */
static int vualink_bind_lock(struct vualink_bind *bind, struct drm_exec *exec)
{
	struct drm_gpuvm *gpuvm = &bind->vm->base;
	int ret = 0;

	drm_exec_until_all_locked(exec) {
		ret = drm_gpuvm_prepare_vm(gpuvm, exec, 1);
		drm_exec_retry_on_contention(exec);
		if (ret)
			break;
		if (bind->bo)
			ret = drm_gpuvm_sm_map_exec_lock(gpuvm, exec, 1,
							 &bind->map);
		else
			ret = drm_gpuvm_sm_unmap_exec_lock(gpuvm, exec, bind->va,
							   bind->size);
		drm_exec_retry_on_contention(exec);
		if (ret)
			break;
		/* Here and not later, as TTM may lock what it evicts. */
		ret = vualink_bind_validate(bind);
		if (ret)
			break;
	}
	return ret;
}

static int vualink_bind_try_split(struct vualink_bind *bind)
{
	struct vualink_pt *pt = &bind->vm->pt;
	int idx, ret;

	if (!vualink_vm_pt_lock(bind->vm, &idx))
		return -ENODEV;
	ret = vualink_pt_split(pt, bind->va);
	if (!ret)
		ret = vualink_pt_split(pt, bind->va + bind->size);
	vualink_vm_pt_unlock(bind->vm, idx);
	return ret;
}

static int vualink_bind_split(struct vualink_bind *bind)
{
	int ret;

	do {
		ret = vualink_bind_try_split(bind);
		if (ret != -EAGAIN)
			break;
		ret = vualink_pt_refill(&bind->vm->pt);
	} while (!ret);
	return ret;
}

static int vualink_bind_prepare(struct vualink_bind *bind)
{
	int ret;

	if (bind->bo) {
		ret = vualink_vm_populate(bind->vm, bind->va, bind->bo,
					  bind->map.map.gem.offset, bind->size);
		if (ret)
			return ret;
	}
	return vualink_bind_split(bind);
}

/* Execution */

static int vualink_bind_commit(struct vualink_bind *bind)
{
	struct drm_gpuvm *gpuvm = &bind->vm->base;

	if (!bind->bo)
		return drm_gpuvm_sm_unmap(gpuvm, bind, bind->va, bind->size);
	drm_gpuvm_bo_extobj_add(bind->vm_bo);
	return drm_gpuvm_sm_map(gpuvm, bind, &bind->map);
}

/*
 * Return: 0, or -EIO; then the old mappings still hold their objects, which stay
 * where they are as the accelerator is wedged.
 */
static int vualink_bind_flush(struct vualink_bind *bind)
{
	/* Tables that go may have been emptied anywhere. */
	bool all = bind->vm->unflushed || !list_empty(&bind->garbage);
	struct vualink_vm *vm = bind->vm;
	int ret;

	if (!bind->flush && !all)
		return 0;
	ret = vualink_vm_flush(vm, bind->va, all ? U64_MAX : bind->size,
			       &bind->garbage);
	vm->unflushed = ret;
	return ret;
}

static void vualink_bind_hold(struct vualink_bind *bind)
{
	mutex_lock(&bind->vm->pt.lock);
	vualink_pt_hold(&bind->vm->pt);
	mutex_unlock(&bind->vm->pt.lock);
}

static void vualink_bind_release(struct vualink_bind *bind)
{
	mutex_lock(&bind->vm->pt.lock);
	vualink_pt_release(&bind->vm->pt);
	mutex_unlock(&bind->vm->pt.lock);
}

static void vualink_bind_trim(struct vualink_bind *bind)
{
	int idx;

	if (!vualink_vm_pt_lock(bind->vm, &idx))
		return;
	vualink_pt_trim(&bind->vm->pt, VUALINK_PT_KEEP, &bind->garbage);
	vualink_vm_pt_unlock(bind->vm, idx);
}

static int vualink_bind_locked(struct vualink_bind *bind)
{
	int ret, err;

	vualink_bind_hold(bind);
	ret = vualink_bind_prepare(bind);
	if (!ret)
		ret = vualink_bind_commit(bind);
	else
		bind->flush = true; /* There may be tables instead of blocks. */
	vualink_bind_release(bind);
	vualink_bind_trim(bind);
	err = vualink_bind_flush(bind);
	return ret ?: err;
}

static int vualink_bind_run(struct vualink_bind *bind)
{
	struct drm_exec exec;
	int ret;

	lockdep_assert_held(&bind->vm->bind_lock);

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT |
		      DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = vualink_bind_lock(bind, &exec);
	if (!ret)
		ret = vualink_bind_locked(bind);
	drm_exec_fini(&exec);
	return ret;
}

static int vualink_bind(struct vualink_bind *bind)
{
	struct vualink_vm *vm = bind->vm;
	u32 tries = 0;
	int ret;

	INIT_LIST_HEAD(&bind->garbage);
	ret = mutex_lock_interruptible(&vm->bind_lock);
	if (ret)
		return ret;
	ret = vualink_bind_alloc(bind);
	if (!ret) {
		do {
			ret = vualink_bind_run(bind);
		} while (vualink_vm_try_again(vm, &ret, &tries));
	}
	vualink_bind_free(bind);
	if (!vm->unflushed)
		drm_gpuvm_bo_deferred_cleanup(&vm->base);
	mutex_unlock(&vm->bind_lock);
	return ret;
}

/* Ioctl */

static int vualink_bind_check_map(struct vualink_bind *bind,
				  const struct drm_vualink_vm_bind *args)
{
	struct drm_gem_object *obj = &bind->bo->tbo.base;
	u64 end;

	if (check_add_overflow(args->offset, args->size, &end) ||
	    end > obj->size)
		return -EINVAL;
	if (bind->bo->vm_obj && bind->bo->vm_obj != bind->vm->base.r_obj)
		return -EINVAL;
	/* Pairs with WRITE_ONCE() in vualink_vm_kill_bo(). */
	if (READ_ONCE(bind->bo->dead))
		return -ENODEV;
	return 0;
}

static int vualink_bind_map_ioctl(struct vualink_bind *bind,
				  const struct drm_vualink_vm_bind *args,
				  struct drm_file *file)
{
	struct vualink_bo *bo;
	int ret;

	if (args->flags & ~DRM_VUALINK_VM_BIND_READ_ONLY)
		return -EINVAL;
	bo = vualink_bo_lookup(file, args->handle);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	bind->bo = bo;
	if (!(args->flags & DRM_VUALINK_VM_BIND_READ_ONLY))
		bind->pte_flags = VUALINK_PTE_WRITE;
	bind->map.map.va.addr = args->va;
	bind->map.map.va.range = args->size;
	bind->map.map.gem.obj = &bo->tbo.base;
	bind->map.map.gem.offset = args->offset;

	ret = vualink_bind_check_map(bind, args);
	if (!ret)
		ret = vualink_bind(bind);
	vualink_bo_put(bo);
	return ret;
}

static int vualink_bind_unmap_ioctl(struct vualink_bind *bind,
				    const struct drm_vualink_vm_bind *args)
{
	if (args->flags || args->handle || args->offset)
		return -EINVAL;
	return vualink_bind(bind);
}

int vualink_vm_bind_ioctl(struct drm_device *drm, void *data,
			  struct drm_file *file)
{
	const struct drm_vualink_vm_bind *args = data;
	struct vualink_bind bind = {
		.va = args->va,
		.size = args->size,
	};
	int ret;

	if (args->op > DRM_VUALINK_VM_BIND_UNMAP || !args->size ||
	    !IS_ALIGNED(args->va | args->size | args->offset, VUALINK_PAGE_SIZE))
		return -EINVAL;
	bind.vm = vualink_file_get_vm(file->driver_priv, args->vm_id);
	if (!bind.vm)
		return -ENOENT;
	if (!drm_gpuvm_range_valid(&bind.vm->base, args->va, args->size))
		ret = -EINVAL;
	else if (args->op == DRM_VUALINK_VM_BIND_MAP)
		ret = vualink_bind_map_ioctl(&bind, args, file);
	else
		ret = vualink_bind_unmap_ioctl(&bind, args);
	vualink_vm_put(bind.vm);
	return ret;
}
