// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/align.h>
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_syncobj.h>
#include <drm/gpu_scheduler.h>
#include <drm/vualink_drm.h>

#include "vualink_device.h"
#include "vualink_exec.h"
#include "vualink_file.h"
#include "vualink_job.h"
#include "vualink_vm.h"

/**
 * struct vualink_exec_sync - a syncobj to be signalled
 * @syncobj: a reference
 * @chain: memory for the point, if it is a timeline
 * @point: its point, or 0
 */
struct vualink_exec_sync {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/**
 * struct vualink_exec - a submission
 * @file: whose it is
 * @job: what runs
 * @syncs: what it signals
 * @num_syncs: number of them
 */
struct vualink_exec {
	struct drm_file *file;
	struct vualink_job *job;
	struct vualink_exec_sync *syncs;
	u32 num_syncs;
};

/* User memory */

static int vualink_array_get(const struct drm_vualink_array *array, u32 index,
			     void *to, size_t size)
{
	void __user *from = u64_to_user_ptr(array->ptr +
					    (u64)index * array->stride);
	int ret;

	ret = copy_struct_from_user(to, size, from, array->stride);
	return ret == -E2BIG ? -EINVAL : ret;
}

static bool vualink_array_valid(const struct drm_vualink_array *array,
				size_t min_stride, u32 max_count)
{
	return array->count <= max_count &&
	       (!array->count || (array->stride >= min_stride &&
				  array->stride <= PAGE_SIZE));
}

static int vualink_sync_get(const struct drm_vualink_array *array, u32 index,
			    struct drm_vualink_sync *sync)
{
	int ret;

	ret = vualink_array_get(array, index, sync, sizeof(*sync));
	if (!ret && sync->pad)
		ret = -EINVAL;
	return ret;
}

/* Commands */

static bool vualink_range_valid(u64 addr, u64 size)
{
	u64 end;

	return size && !check_add_overflow(addr, size, &end) &&
	       end <= VUALINK_VA_END;
}

static bool vualink_word_valid(u64 addr)
{
	return IS_ALIGNED(addr, sizeof(u64)) &&
	       vualink_range_valid(addr, sizeof(u64));
}

static bool vualink_copy_valid(const struct drm_vualink_cmd *cmd)
{
	return !cmd->timeout_ms && !cmd->value &&
	       vualink_range_valid(cmd->dst, cmd->len) &&
	       vualink_range_valid(cmd->src, cmd->len) &&
	       (cmd->dst >= cmd->src + cmd->len ||
		cmd->src >= cmd->dst + cmd->len);
}

static bool vualink_fill_valid(const struct drm_vualink_cmd *cmd)
{
	return !cmd->timeout_ms && !cmd->src && cmd->value <= U32_MAX &&
	       IS_ALIGNED(cmd->dst | cmd->len, sizeof(u32)) &&
	       vualink_range_valid(cmd->dst, cmd->len);
}

static bool vualink_cmd_valid(const struct drm_vualink_cmd *cmd)
{
	switch (cmd->op) {
	case DRM_VUALINK_OP_COPY:
		return vualink_copy_valid(cmd);
	case DRM_VUALINK_OP_FILL:
		return vualink_fill_valid(cmd);
	case DRM_VUALINK_OP_ATOMIC_ADD:
		return !cmd->timeout_ms && !cmd->len &&
		       vualink_word_valid(cmd->dst) &&
		       (!cmd->src || vualink_word_valid(cmd->src));
	case DRM_VUALINK_OP_WAIT:
		return !cmd->src && !cmd->len && vualink_word_valid(cmd->dst);
	case DRM_VUALINK_OP_STORE:
		return !cmd->timeout_ms && !cmd->src && !cmd->len &&
		       vualink_word_valid(cmd->dst);
	default:
		return false;
	}
}

static u32 vualink_hw_op(u32 op)
{
	static const u32 ops[] = {
		[DRM_VUALINK_OP_COPY] = VUALINK_HW_COPY,
		[DRM_VUALINK_OP_FILL] = VUALINK_HW_FILL,
		[DRM_VUALINK_OP_ATOMIC_ADD] = VUALINK_HW_ATOMIC_ADD,
		[DRM_VUALINK_OP_WAIT] = VUALINK_HW_WAIT,
		[DRM_VUALINK_OP_STORE] = VUALINK_HW_STORE,
	};

	return ops[op];
}

static int vualink_exec_get_cmds(struct vualink_exec *exec,
				 const struct drm_vualink_array *array)
{
	struct drm_vualink_cmd cmd;
	u32 i;
	int ret;

	for (i = 0; i < array->count; i++) {
		ret = vualink_array_get(array, i, &cmd, sizeof(cmd));
		if (ret)
			return ret;
		if (!vualink_cmd_valid(&cmd))
			return -EINVAL;
		exec->job->cmds[i] = (struct vualink_hw_cmd) {
			.op = vualink_hw_op(cmd.op),
			.timeout_ms = cmd.timeout_ms,
			.dst = cmd.dst,
			.src = cmd.src,
			.len = cmd.len,
			.value = cmd.value,
		};
	}
	return 0;
}

/* Syncobjs */

static int vualink_exec_get_in_syncs(struct vualink_exec *exec,
				     const struct drm_vualink_array *array)
{
	struct drm_vualink_sync sync;
	struct dma_fence *fence;
	u32 i;
	int ret;

	for (i = 0; i < array->count; i++) {
		ret = vualink_sync_get(array, i, &sync);
		if (ret)
			return ret;
		ret = drm_syncobj_find_fence(exec->file, sync.handle, sync.point,
					     0, &fence);
		if (ret)
			return ret;
		ret = drm_sched_job_add_dependency(&exec->job->base, fence);
		if (ret)
			return ret;
	}
	return 0;
}

static int vualink_exec_get_out_sync(struct vualink_exec *exec,
				     const struct drm_vualink_array *array,
				     u32 index, struct vualink_exec_sync *to)
{
	struct drm_vualink_sync sync;
	int ret;

	ret = vualink_sync_get(array, index, &sync);
	if (ret)
		return ret;
	to->syncobj = drm_syncobj_find(exec->file, sync.handle);
	if (!to->syncobj)
		return -ENOENT;
	to->point = sync.point;
	if (!to->point)
		return 0;
	to->chain = dma_fence_chain_alloc();
	return to->chain ? 0 : -ENOMEM;
}

static int vualink_exec_get_out_syncs(struct vualink_exec *exec,
				      const struct drm_vualink_array *array)
{
	u32 i;
	int ret;

	if (!array->count)
		return 0;
	exec->syncs = kvzalloc_objs(*exec->syncs, array->count,
				    GFP_KERNEL_ACCOUNT);
	if (!exec->syncs)
		return -ENOMEM;
	exec->num_syncs = array->count;
	for (i = 0; i < array->count; i++) {
		ret = vualink_exec_get_out_sync(exec, array, i, &exec->syncs[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static void vualink_exec_put_out_syncs(struct vualink_exec *exec)
{
	u32 i;

	for (i = 0; i < exec->num_syncs; i++) {
		dma_fence_chain_free(exec->syncs[i].chain);
		if (exec->syncs[i].syncobj)
			drm_syncobj_put(exec->syncs[i].syncobj);
	}
	kvfree(exec->syncs);
}

static void vualink_exec_signal_syncs(struct vualink_exec *exec,
				      struct dma_fence *fence)
{
	struct vualink_exec_sync *sync;

	for (sync = exec->syncs; sync < exec->syncs + exec->num_syncs; sync++) {
		if (!sync->chain) {
			drm_syncobj_replace_fence(sync->syncobj, fence);
			continue;
		}
		drm_syncobj_add_point(sync->syncobj, sync->chain, fence,
				      sync->point);
		sync->chain = NULL;
	}
}

/* Submission */

/* Locks all that is mapped, and brings it to its place. */
static int vualink_exec_lock(struct vualink_exec *exec, struct drm_exec *locks)
{
	struct drm_gpuvm *gpuvm = &exec->job->vm->base;
	int ret = 0;

	drm_exec_until_all_locked(locks) {
		ret = drm_gpuvm_prepare_vm(gpuvm, locks, 1);
		drm_exec_retry_on_contention(locks);
		if (ret)
			break;
		ret = drm_gpuvm_prepare_objects(gpuvm, locks, 1);
		drm_exec_retry_on_contention(locks);
		if (ret)
			break;
		/* Here and not later, as TTM may lock what it evicts. */
		ret = drm_gpuvm_validate(gpuvm, locks);
		if (ret)
			break;
	}
	return ret;
}

/* The job starts after what the kernel itself does to the memory. */
static int vualink_exec_add_kernel_fences(struct vualink_exec *exec,
					  struct drm_exec *locks)
{
	struct drm_gem_object *obj;
	int ret;

	drm_exec_for_each_locked_object(locks, obj) {
		ret = drm_sched_job_add_resv_dependencies(&exec->job->base,
							  obj->resv,
							  DMA_RESV_USAGE_KERNEL);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * A flush may have failed when something was unmapped here, under the lock of
 * the VM. The job could still get at it.
 */
static int vualink_exec_check(struct vualink_exec *exec)
{
	struct vualink_vm *vm = exec->job->vm;

	drm_gpuvm_resv_assert_held(&vm->base);
	return vualink_device_wedged(to_vualink(vm->base.drm)) ? -EIO : 0;
}

/* From the arming on nothing fails, and nothing is allocated. */
static void vualink_exec_push(struct vualink_exec *exec, struct drm_exec *locks)
{
	struct vualink_job *job = exec->job;
	struct vualink_file *vfile = job->vfile;
	struct dma_fence *fence;
	bool cookie;

	mutex_lock(&vfile->submit_lock);
	cookie = dma_fence_begin_signalling();
	drm_sched_job_arm(&job->base);
	fence = dma_fence_get(&job->base.s_fence->finished);
	drm_gpuvm_resv_add_fence(&job->vm->base, locks, fence,
				 DMA_RESV_USAGE_BOOKKEEP,
				 DMA_RESV_USAGE_BOOKKEEP);
	vualink_exec_signal_syncs(exec, fence);
	exec->job = NULL; /* It is the scheduler's now. */
	drm_sched_entity_push_job(&job->base);
	dma_fence_end_signalling(cookie);
	mutex_unlock(&vfile->submit_lock);
	dma_fence_put(fence);
}

static int vualink_exec_try_submit(struct vualink_exec *exec)
{
	struct drm_exec locks;
	int ret;

	drm_exec_init(&locks, DRM_EXEC_INTERRUPTIBLE_WAIT |
		      DRM_EXEC_IGNORE_DUPLICATES, 0);
	ret = vualink_exec_lock(exec, &locks);
	if (!ret)
		ret = vualink_exec_check(exec);
	if (!ret)
		ret = vualink_exec_add_kernel_fences(exec, &locks);
	if (!ret)
		vualink_exec_push(exec, &locks);
	drm_exec_fini(&locks);
	return ret;
}

static int vualink_exec_submit(struct vualink_exec *exec)
{
	u32 tries = 0;
	int ret;

	do {
		ret = vualink_exec_try_submit(exec);
		/* Only a failure leaves us the job, and the VM with it. */
	} while (ret && vualink_vm_try_again(exec->job->vm, &ret, &tries));
	return ret;
}

static int vualink_exec_run(struct vualink_exec *exec,
			    const struct drm_vualink_exec *args)
{
	int ret;

	ret = vualink_exec_get_cmds(exec, &args->cmds);
	if (!ret)
		ret = vualink_exec_get_in_syncs(exec, &args->in_syncs);
	if (!ret)
		ret = vualink_exec_get_out_syncs(exec, &args->out_syncs);
	if (!ret)
		ret = vualink_exec_submit(exec);
	vualink_exec_put_out_syncs(exec);
	return ret;
}

static bool vualink_exec_valid(const struct drm_vualink_exec *args)
{
	size_t cmd_size = offsetofend(struct drm_vualink_cmd, value);
	size_t sync_size = offsetofend(struct drm_vualink_sync, point);

	return !args->flags && args->cmds.count &&
	       vualink_array_valid(&args->cmds, cmd_size,
				   VUALINK_EXEC_MAX_CMDS) &&
	       vualink_array_valid(&args->in_syncs, sync_size,
				   VUALINK_EXEC_MAX_SYNCS) &&
	       vualink_array_valid(&args->out_syncs, sync_size,
				   VUALINK_EXEC_MAX_SYNCS);
}

int vualink_exec_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_vualink_exec *args = data;
	struct vualink_exec exec = { .file = file };
	struct vualink_job *job;
	struct vualink_vm *vm;
	int ret;

	if (!vualink_exec_valid(args))
		return -EINVAL;
	vm = vualink_file_get_vm(file->driver_priv, args->vm_id);
	if (!vm)
		return -ENOENT;
	job = vualink_job_create(file, vm, args->vm_id, args->cmds.count);
	vualink_vm_put(vm);
	if (IS_ERR(job))
		return PTR_ERR(job);

	exec.job = job;
	ret = vualink_exec_run(&exec, args);
	if (exec.job)
		vualink_job_destroy(exec.job);
	return ret;
}
