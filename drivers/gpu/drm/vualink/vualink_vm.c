// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/delay.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>

#include "vualink_bo.h"
#include "vualink_device.h"
#include "vualink_file.h"
#include "vualink_vm.h"

/*
 * GPU virtual address spaces.
 *
 * Who moves an object holds its dma_resv lock, has waited for the jobs that use
 * it, and takes it out of all page tables. The next job in each VM brings it
 * back. Who maps or unmaps for the user holds the dma_resv locks of the VM and
 * of the objects concerned, until the TLB is flushed.
 *
 * Memory of another accelerator that is taken away goes at once, whatever runs:
 * that takes only the gpuva.lock of the object, and the lock of each page
 * table. So the entries of a mapping are written under the gpuva.lock, after a
 * look at whether the object is dead; and they are cleared before the mapping
 * leaves the list of its object.
 */

/* Page table */

/* Return: false when the accelerator, and the tables with it, are gone. */
bool vualink_vm_pt_lock(struct vualink_vm *vm, int *idx)
{
	if (!drm_dev_enter(vm->base.drm, idx))
		return false;
	mutex_lock(&vm->pt.lock);
	return true;
}

void vualink_vm_pt_unlock(struct vualink_vm *vm, int idx)
{
	mutex_unlock(&vm->pt.lock);
	drm_dev_exit(idx);
}

static int vualink_vm_try_populate(struct vualink_vm *vm, u64 va,
				   struct vualink_bo *bo, u64 offset, u64 size)
{
	struct vualink_bo_cursor cur;
	int idx, ret = 0;

	if (!vualink_vm_pt_lock(vm, &idx))
		return -ENODEV;
	vualink_bo_cursor_init(&cur, bo, offset, size);
	while (vualink_bo_cursor_next(&cur)) {
		ret = vualink_pt_populate(&vm->pt, va + cur.offset - offset,
					  cur.addr, cur.size);
		if (ret)
			break;
	}
	vualink_vm_pt_unlock(vm, idx);
	return ret;
}

/* Makes the tables that a mapping needs. They stay only if @vm->pt is held. */
int vualink_vm_populate(struct vualink_vm *vm, u64 va, struct vualink_bo *bo,
			u64 offset, u64 size)
{
	int ret;

	do {
		ret = vualink_vm_try_populate(vm, va, bo, offset, size);
		if (ret != -EAGAIN)
			break;
		ret = vualink_pt_refill(&vm->pt);
	} while (!ret);
	return ret;
}

/*
 * Writes the entries of a mapping, whose range is populated and unmapped. An
 * object that is dead stays unmapped.
 */
int vualink_vm_map_vma(struct vualink_vm *vm, struct vualink_vma *vma)
{
	struct vualink_bo *bo = gem_to_vualink_bo(vma->base.gem.obj);
	u64 offset = vma->base.gem.offset;
	struct vualink_bo_cursor cur;
	int idx, ret = 0;

	lockdep_assert_held(&bo->tbo.base.gpuva.lock);

	if (bo->dead)
		return 0;
	if (!vualink_vm_pt_lock(vm, &idx))
		return -ENODEV;
	vualink_bo_cursor_init(&cur, bo, offset, vma->base.va.range);
	while (vualink_bo_cursor_next(&cur)) {
		ret = vualink_pt_map(&vm->pt,
				     vma->base.va.addr + cur.offset - offset,
				     cur.addr, cur.size,
				     vma->pte_flags | cur.pte_flags);
		if (ret)
			break;
	}
	vualink_vm_pt_unlock(vm, idx);
	return ret;
}

/* Clears all entries of an object in a VM. Without a flush. */
static void vualink_vm_zap(struct drm_gpuvm_bo *vm_bo, struct list_head *garbage)
{
	struct vualink_vm *vm = to_vualink_vm(vm_bo->vm);
	struct drm_gpuva *va;
	int idx;

	if (!vualink_vm_pt_lock(vm, &idx))
		return;
	drm_gpuvm_bo_for_each_va(va, vm_bo)
		vualink_pt_unmap(&vm->pt, va->va.addr, va->va.range);
	vualink_pt_trim(&vm->pt, VUALINK_PT_KEEP, garbage);
	vualink_vm_pt_unlock(vm, idx);
}

/* TLB */

static int vualink_vm_hw_flush(struct vualink_vm *vm, u64 va, u64 size)
{
	struct vualink_device *vdev = to_vualink(vm->base.drm);
	int idx, ret;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return 0; /* No hardware, no TLB. */
	ret = vualink_hw_vm_flush(vdev->hw, vm->vmid, va, size);
	drm_dev_exit(idx);
	if (ret)
		vualink_device_wedge(vdev);
	return ret;
}

/* Keeps @garbage until the next flush that succeeds. */
static void vualink_vm_to_limbo(struct vualink_vm *vm, struct list_head *garbage)
{
	mutex_lock(&vm->pt.lock);
	list_splice_init(garbage, &vm->limbo);
	mutex_unlock(&vm->pt.lock);
}

/* What was kept becomes @garbage of this flush. Return: whether there was any */
static bool vualink_vm_take_limbo(struct vualink_vm *vm, struct list_head *garbage)
{
	bool any;

	mutex_lock(&vm->pt.lock);
	any = !list_empty(&vm->limbo);
	list_splice_init(&vm->limbo, garbage);
	mutex_unlock(&vm->pt.lock);
	return any;
}

/*
 * Flushes the TLB for a range, the whole with a @size of U64_MAX, and frees the
 * tables in @garbage.
 * Return: 0, or -EIO; then @garbage waits for a flush that succeeds.
 */
int vualink_vm_flush(struct vualink_vm *vm, u64 va, u64 size,
		     struct list_head *garbage)
{
	int ret;

	if (vualink_vm_take_limbo(vm, garbage))
		size = U64_MAX;
	ret = vualink_vm_hw_flush(vm, size == U64_MAX ? 0 : va, size);
	if (ret)
		vualink_vm_to_limbo(vm, garbage);
	else
		vualink_pt_free_garbage(&vm->pt, garbage);
	return ret;
}

/* Flushes the TLBs of all VMs. Return: 0, or -EIO if one failed. */
int vualink_vm_flush_all(struct vualink_device *vdev)
{
	struct vualink_vm *vm;
	int ret = 0;

	mutex_lock(&vdev->vm_lock);
	list_for_each_entry(vm, &vdev->vms, link)
		ret = vualink_vm_hw_flush(vm, 0, U64_MAX) ?: ret;
	mutex_unlock(&vdev->vm_lock);
	return ret;
}

/* Taking objects away */

/*
 * Takes an idle object out of all page tables, before it is moved.
 * Return: 0, or -EIO when a TLB may still have it.
 */
int vualink_vm_evict(struct vualink_bo *bo)
{
	struct drm_gem_object *obj = &bo->tbo.base;
	struct drm_gpuvm_bo *vm_bo;
	LIST_HEAD(garbage);
	int ret = 0;

	dma_resv_assert_held(obj->resv);

	mutex_lock(&obj->gpuva.lock);
	drm_gem_for_each_gpuvm_bo(vm_bo, obj) {
		vualink_vm_zap(vm_bo, &garbage);
		drm_gpuvm_bo_evict(vm_bo, true);
		ret = vualink_vm_flush(to_vualink_vm(vm_bo->vm), 0, U64_MAX,
				       &garbage) ?: ret;
	}
	mutex_unlock(&obj->gpuva.lock);
	return ret;
}

/*
 * Takes an object out of all page tables for ever, whatever uses it. The caller
 * flushes all TLBs then.
 */
void vualink_vm_kill_bo(struct vualink_bo *bo)
{
	struct drm_gem_object *obj = &bo->tbo.base;
	struct drm_gpuvm_bo *vm_bo;
	LIST_HEAD(garbage);

	mutex_lock(&obj->gpuva.lock);
	WRITE_ONCE(bo->dead, true);
	drm_gem_for_each_gpuvm_bo(vm_bo, obj) {
		vualink_vm_zap(vm_bo, &garbage);
		vualink_vm_to_limbo(to_vualink_vm(vm_bo->vm), &garbage);
	}
	mutex_unlock(&obj->gpuva.lock);
}

/* Bringing them back */

/* With 2 ms before the second, and twice as much before each further one: 62 ms */
#define VUALINK_VM_TRIES	6

/*
 * Whether to try again what failed with @ret. TTM gives up, with -ENOSPC, when
 * what it would evict is locked: by others, who are done soon, or by us. So the
 * tables that were missing are made here, where none of our objects is locked.
 */
bool vualink_vm_try_again(struct vualink_vm *vm, int *ret, u32 *tries)
{
	int err;

	if (*ret != -ENOSPC || ++*tries == VUALINK_VM_TRIES)
		return false;
	if (msleep_interruptible(1 << *tries)) {
		*ret = -ERESTARTSYS;
		return false;
	}
	err = vualink_pt_refill(&vm->pt);
	if (!err || err == -ENOSPC)
		return true;
	*ret = err;
	return false;
}

/* Writes the entries of all mappings of an object in a VM. */
static int vualink_vm_rebind(struct vualink_vm *vm, struct drm_gpuvm_bo *vm_bo)
{
	struct drm_gem_object *obj = vm_bo->obj;
	struct drm_gpuva *va;
	LIST_HEAD(garbage);
	int ret = 0;

	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		ret = vualink_vm_populate(vm, va->va.addr, gem_to_vualink_bo(obj),
					  va->gem.offset, va->va.range);
		if (ret)
			return ret;
	}

	mutex_lock(&obj->gpuva.lock);
	/* Those that were made since it was evicted are mapped already. */
	vualink_vm_zap(vm_bo, &garbage);
	vualink_vm_to_limbo(vm, &garbage);
	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		ret = vualink_vm_map_vma(vm, to_vualink_vma(va));
		if (ret)
			break;
	}
	mutex_unlock(&obj->gpuva.lock);
	return ret;
}

static void vualink_vm_hold(struct vualink_vm *vm, bool hold)
{
	mutex_lock(&vm->pt.lock);
	if (hold)
		vualink_pt_hold(&vm->pt);
	else
		vualink_pt_release(&vm->pt);
	mutex_unlock(&vm->pt.lock);
}

static int vualink_vm_bo_validate(struct drm_gpuvm_bo *vm_bo,
				  struct drm_exec *exec)
{
	struct vualink_bo *bo = gem_to_vualink_bo(vm_bo->obj);
	struct vualink_vm *vm = to_vualink_vm(vm_bo->vm);
	int ret;

	drm_gpuvm_resv_assert_held(vm_bo->vm);

	/* A dead one is nobody's trouble. Pairs with WRITE_ONCE() in vualink_vm_kill_bo(). */
	if (!READ_ONCE(bo->dead)) {
		ret = vualink_bo_validate(bo, true);
		if (ret)
			return ret;
		vualink_vm_hold(vm, true);
		ret = vualink_vm_rebind(vm, vm_bo);
		vualink_vm_hold(vm, false);
		if (ret)
			return ret;
	}
	drm_gpuvm_bo_evict(vm_bo, false);
	return 0;
}

/* Life */

static void vualink_vm_unmap_all(struct vualink_vm *vm)
{
	struct drm_gpuva *va, *next;

	dma_resv_lock(drm_gpuvm_resv(&vm->base), NULL);
	drm_gpuvm_for_each_va_safe(va, next, &vm->base) {
		drm_gpuva_remove(va);
		drm_gpuva_unlink_defer(va);
		kfree(to_vualink_vma(va));
	}
	dma_resv_unlock(drm_gpuvm_resv(&vm->base));
	drm_gpuvm_bo_deferred_cleanup(&vm->base);
}

/* Return: 0, or -EIO when the hardware may still use it; a reset helps then. */
static int vualink_vm_disable(struct vualink_vm *vm)
{
	struct vualink_device *vdev = to_vualink(vm->base.drm);
	int idx, ret = 0;

	mutex_lock(&vdev->vm_lock);
	if (drm_dev_enter(&vdev->drm, &idx)) {
		vualink_hw_vm_set_root(vdev->hw, vm->vmid, U64_MAX);
		ret = vualink_vm_hw_flush(vm, 0, U64_MAX);
		drm_dev_exit(idx);
	}
	vm->disabled = true;
	/* While the lock is held, so that unplug and reset see it or we see them. */
	vm->stuck = ret;
	if (!ret)
		list_del(&vm->link);
	mutex_unlock(&vdev->vm_lock);
	return ret;
}

static void vualink_vm_queue_teardown(struct vualink_vm *vm)
{
	/* Pairs with atomic_dec() in vualink_vm_left(). */
	atomic_inc(&to_vualink(vm->base.drm)->vms_leaving);
	queue_work(vualink_wq, &vm->teardown);
}

static void vualink_vm_left(struct vualink_device *vdev)
{
	atomic_dec(&vdev->vms_leaving);
	wake_up_all(&vdev->vm_wait);
}

static void vualink_vm_free_vmid(struct vualink_vm *vm)
{
	ida_free(&vm->vfile->vdev->vmids, vm->vmid);
	atomic_dec(&vm->vfile->num_vms);
	vualink_file_put(vm->vfile);
}

static void vualink_vm_teardown(struct work_struct *work)
{
	struct vualink_vm *vm = container_of(work, struct vualink_vm, teardown);
	struct vualink_device *vdev = to_vualink(vm->base.drm);

	if (vualink_vm_disable(vm)) {
		vualink_vm_left(vdev);
		return;
	}
	vualink_vm_unmap_all(vm);
	vualink_vm_free_vmid(vm);
	vualink_vm_left(vdev);
	drm_gpuvm_put(&vm->base);
}

static void vualink_vm_free(struct drm_gpuvm *gpuvm)
{
	struct vualink_vm *vm = to_vualink_vm(gpuvm);

	vualink_pt_free_garbage(&vm->pt, &vm->limbo);
	vualink_pt_fini(&vm->pt);
	vualink_table_pool_fini(&vm->pool);
	mutex_destroy(&vm->bind_lock);
	kfree(vm);
}

static const struct drm_gpuvm_ops vualink_gpuvm_ops = {
	.vm_free = vualink_vm_free,
	.vm_bo_validate = vualink_vm_bo_validate,
	.sm_step_map = vualink_bind_step_map,
	.sm_step_remap = vualink_bind_step_remap,
	.sm_step_unmap = vualink_bind_step_unmap,
};

/* Called with the vm_lock, after the hardware has forgotten everything. */
void vualink_vm_reset_done(struct vualink_vm *vm)
{
	struct vualink_device *vdev = to_vualink(vm->base.drm);

	lockdep_assert_held(&vdev->vm_lock);

	if (!vm->disabled)
		vualink_hw_vm_set_root(vdev->hw, vm->vmid,
				       vualink_pt_root(&vm->pt));
}

/* Called with the vm_lock, when no TLB has anything of it any more. */
void vualink_vm_unwedge(struct vualink_vm *vm)
{
	lockdep_assert_held(&to_vualink(vm->base.drm)->vm_lock);

	if (!vm->stuck)
		return;
	vm->stuck = false; /* It is queued once only. */
	vualink_vm_queue_teardown(vm);
}

static int vualink_vm_enable(struct vualink_vm *vm)
{
	struct vualink_device *vdev = to_vualink(vm->base.drm);
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	mutex_lock(&vdev->vm_lock);
	list_add_tail(&vm->link, &vdev->vms);
	vualink_hw_vm_set_root(vdev->hw, vm->vmid, vualink_pt_root(&vm->pt));
	mutex_unlock(&vdev->vm_lock);
	drm_dev_exit(idx);
	return 0;
}

static int vualink_vm_try_vmid(struct vualink_device *vdev)
{
	return ida_alloc_range(&vdev->vmids, 1, VUALINK_HW_VMIDS - 1,
			       GFP_KERNEL_ACCOUNT);
}

static int vualink_vm_alloc_vmid(struct vualink_device *vdev)
{
	long ret;
	int vmid;

	vmid = vualink_vm_try_vmid(vdev);
	if (vmid != -ENOSPC)
		return vmid;
	/* Some may be on their way out, which does not take long. */
	ret = wait_event_killable_timeout(vdev->vm_wait,
					  !atomic_read(&vdev->vms_leaving), HZ);
	return ret < 0 ? ret : vualink_vm_try_vmid(vdev);
}

/* A VM id, and a place among those of the file */
static int vualink_vm_init_vmid(struct vualink_vm *vm, struct vualink_file *vfile)
{
	int vmid;

	/* Pairs with atomic_dec() in vualink_vm_free_vmid(). */
	if (!atomic_add_unless(&vfile->num_vms, 1, VUALINK_FILE_MAX_VMS))
		return -EDQUOT;
	vmid = vualink_vm_alloc_vmid(vfile->vdev);
	if (vmid < 0) {
		atomic_dec(&vfile->num_vms);
		return vmid;
	}
	vm->vmid = vmid;
	vm->vfile = vualink_file_get(vfile);
	return 0;
}

static int vualink_vm_init_pt(struct vualink_vm *vm)
{
	struct vualink_device *vdev = vm->pool.vdev;
	int idx, ret;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	ret = vualink_pt_init(&vm->pt, &vualink_table_ops, &vm->pool,
			      &vualink_hw_stats(vdev->hw)->pte_writes);
	drm_dev_exit(idx);
	return ret;
}

/* All that a flush under the first of them may take */
static void vualink_vm_prime_lockdep(struct vualink_vm *vm,
				     struct drm_gem_object *obj)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;

	mutex_lock(&obj->gpuva.lock);
	might_lock(&vm->pool.lock);
	might_lock(&vm->pt.lock);
	might_lock(&vm->pool.vdev->vram.lock);
	mutex_unlock(&obj->gpuva.lock);

	/* Under these two nothing is allocated. */
	fs_reclaim_acquire(GFP_KERNEL);
	mutex_lock(&vm->pool.lock);
	might_lock(&vm->pt.lock);
	mutex_unlock(&vm->pool.lock);
	fs_reclaim_release(GFP_KERNEL);
}

/* Return: the VM with one user, or an ERR_PTR */
struct vualink_vm *vualink_vm_create(struct vualink_file *vfile)
{
	struct vualink_device *vdev = vfile->vdev;
	struct drm_gem_object *resv_obj;
	struct vualink_vm *vm;
	int ret;

	vm = kzalloc_obj(*vm, GFP_KERNEL_ACCOUNT);
	if (!vm)
		return ERR_PTR(-ENOMEM);
	kref_init(&vm->users);
	INIT_WORK(&vm->teardown, vualink_vm_teardown);
	INIT_LIST_HEAD(&vm->limbo);

	ret = vualink_vm_init_vmid(vm, vfile);
	if (ret)
		goto err_free;

	vualink_table_pool_init(&vm->pool, vdev);
	ret = vualink_vm_init_pt(vm);
	if (ret)
		goto err_pool;

	resv_obj = drm_gpuvm_resv_object_alloc(&vdev->drm);
	if (!resv_obj) {
		ret = -ENOMEM;
		goto err_pt;
	}
	mutex_init(&vm->bind_lock);
	drm_gpuvm_init(&vm->base, "vualink",
		       DRM_GPUVM_RESV_PROTECTED | DRM_GPUVM_IMMEDIATE_MODE,
		       &vdev->drm, resv_obj, VUALINK_VA_START,
		       VUALINK_VA_END - VUALINK_VA_START, 0, 0,
		       &vualink_gpuvm_ops);
	vualink_vm_prime_lockdep(vm, resv_obj);
	drm_gem_object_put(resv_obj);

	ret = vualink_vm_enable(vm);
	if (ret) {
		vualink_vm_free_vmid(vm);
		drm_gpuvm_put(&vm->base);
		return ERR_PTR(ret);
	}
	return vm;

err_pt:
	vualink_pt_fini(&vm->pt);
err_pool:
	vualink_table_pool_fini(&vm->pool);
	vualink_vm_free_vmid(vm);
err_free:
	kfree(vm);
	return ERR_PTR(ret);
}

struct vualink_vm *vualink_vm_get(struct vualink_vm *vm)
{
	kref_get(&vm->users);
	return vm;
}

static void vualink_vm_release(struct kref *kref)
{
	struct vualink_vm *vm = container_of(kref, struct vualink_vm, users);

	/* Not here: this may be the worker of the scheduler. */
	vualink_vm_queue_teardown(vm);
}

void vualink_vm_put(struct vualink_vm *vm)
{
	kref_put(&vm->users, vualink_vm_release);
}
