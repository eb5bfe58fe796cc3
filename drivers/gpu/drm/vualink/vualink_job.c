// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-fence.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>

#include "vualink_device.h"
#include "vualink_file.h"
#include "vualink_job.h"
#include "vualink_vm.h"

/*
 * From the scheduler to the copy engine and back. A job is in the list of the
 * device from before the hardware gets it until its interrupt; nothing in
 * between allocates, or takes a lock under which others do.
 */

#define VUALINK_JOB_TIMEOUT_MS	10000

/* Jobs that the hardware has at once; a part of VUALINK_HW_JOBS */
#define VUALINK_JOB_CREDITS	(VUALINK_HW_JOBS / 2)

static struct vualink_job *to_vualink_job(struct drm_sched_job *job)
{
	return container_of(job, struct vualink_job, base);
}

static struct vualink_device *sched_to_vualink(struct drm_gpu_scheduler *sched)
{
	return container_of(sched, struct vualink_device, sched);
}

/* Fences */

static const char *vualink_fence_get_driver_name(struct dma_fence *fence)
{
	return "vualink";
}

static const char *vualink_fence_get_timeline_name(struct dma_fence *fence)
{
	return "copy";
}

static const struct dma_fence_ops vualink_fence_ops = {
	.get_driver_name = vualink_fence_get_driver_name,
	.get_timeline_name = vualink_fence_get_timeline_name,
};

/* Jobs */

static struct vualink_job *vualink_job_alloc(struct drm_file *file, u32 count)
{
	struct vualink_file *vfile = file->driver_priv;
	struct vualink_job *job;
	int ret;

	job = kvzalloc_flex(*job, cmds, count, GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->hw_fence = kzalloc_obj(*job->hw_fence, GFP_KERNEL_ACCOUNT);
	if (!job->hw_fence) {
		kvfree(job);
		return ERR_PTR(-ENOMEM);
	}
	ret = drm_sched_job_init(&job->base, &vfile->entity, 1, vfile,
				 file->client_id);
	if (ret) {
		kfree(job->hw_fence);
		kvfree(job);
		return ERR_PTR(ret);
	}
	INIT_LIST_HEAD(&job->link);
	job->count = count;
	return job;
}

/* Return: a job that is not armed, or an ERR_PTR */
struct vualink_job *vualink_job_create(struct drm_file *file,
				       struct vualink_vm *vm, u32 vm_id,
				       u32 count)
{
	struct vualink_file *vfile = file->driver_priv;
	struct vualink_job *job;

	/* Pairs with atomic_dec() in vualink_job_destroy(). */
	if (!atomic_add_unless(&vfile->jobs, 1, VUALINK_FILE_MAX_JOBS))
		return ERR_PTR(-EDQUOT);
	job = vualink_job_alloc(file, count);
	if (IS_ERR(job)) {
		atomic_dec(&vfile->jobs);
		return job;
	}
	/* Both pair with the puts in vualink_job_destroy(). */
	job->vfile = vualink_file_get(vfile);
	job->vm = vualink_vm_get(vm);
	job->vm_id = vm_id;
	return job;
}

void vualink_job_destroy(struct vualink_job *job)
{
	struct vualink_vm *vm = job->vm;

	drm_sched_job_cleanup(&job->base);
	if (job->started)
		dma_fence_put(job->hw_fence);
	else
		kfree(job->hw_fence);
	atomic_dec(&job->vfile->jobs);
	vualink_file_put(job->vfile);
	kvfree(job);
	/* At last: the device, and the module then, may go with it. */
	vualink_vm_put(vm);
}

static void vualink_job_start_fence(struct vualink_device *vdev,
				    struct vualink_job *job)
{
	job->seqno = ++vdev->job_seqno;
	dma_fence_init(job->hw_fence, &vualink_fence_ops, NULL,
		       job->vfile->fence_context, job->seqno);

	spin_lock_irq(&vdev->job_lock);
	job->started = true;
	list_add_tail(&job->link, &vdev->jobs);
	spin_unlock_irq(&vdev->job_lock);
}

static int vualink_job_start(struct vualink_device *vdev, struct vualink_job *job)
{
	int idx, ret;

	/* Pairs with WRITE_ONCE() in vualink_device_stop(). */
	if (READ_ONCE(vdev->gone) || !drm_dev_enter(&vdev->drm, &idx))
		return -ENODEV;
	vualink_job_start_fence(vdev, job);
	ret = vualink_hw_submit(vdev->hw, job->vm->vmid, job->seqno, job->cmds,
				job->count);
	drm_dev_exit(idx);
	if (ret) {
		spin_lock_irq(&vdev->job_lock);
		list_del_init(&job->link);
		spin_unlock_irq(&vdev->job_lock);
	}
	return ret;
}

static struct dma_fence *vualink_job_run(struct drm_sched_job *sched_job)
{
	struct vualink_device *vdev = sched_to_vualink(sched_job->sched);
	struct vualink_job *job = to_vualink_job(sched_job);
	struct dma_fence *fence;
	bool cookie;
	int ret;

	cookie = dma_fence_begin_signalling();
	/* The job may be done, but is not freed before this returns. */
	ret = vualink_job_start(vdev, job);
	fence = ret ? ERR_PTR(ret) : dma_fence_get(job->hw_fence);
	dma_fence_end_signalling(cookie);
	return fence;
}

/* Interrupt */

static struct vualink_job *vualink_jobs_find(struct vualink_device *vdev,
					     u64 seqno)
{
	struct vualink_job *job;

	lockdep_assert_held(&vdev->job_lock);
	list_for_each_entry(job, &vdev->jobs, link)
		if (job->seqno == seqno)
			return job;
	return NULL;
}

/* Why a job was cancelled, if it was */
static int vualink_job_error(struct vualink_device *vdev,
			     struct vualink_job *job, int error)
{
	if (error != -ECANCELED)
		return error;
	/* Likewise. */
	if (READ_ONCE(vdev->gone))
		return -ENODEV;
	return job->timed_out ? -ETIMEDOUT : error;
}

/* Return: the fence to be signalled with its error set, or NULL */
static struct dma_fence *
vualink_job_finish(struct vualink_device *vdev, u64 seqno, int error,
		   const struct vualink_hw_fault *fault)
{
	struct dma_fence *fence = NULL;
	struct vualink_job *job;
	unsigned long flags;

	spin_lock_irqsave(&vdev->job_lock, flags);
	job = vualink_jobs_find(vdev, seqno);
	if (job) {
		list_del_init(&job->link);
		fence = dma_fence_get(job->hw_fence);
		error = vualink_job_error(vdev, job, error);
		if (error)
			dma_fence_set_error(fence, error);
		if (fault)
			vualink_fault_log_add(&job->vfile->faults, job->vm_id,
					      fault);
	}
	spin_unlock_irqrestore(&vdev->job_lock, flags);
	return fence;
}

void vualink_job_done(void *data, u64 seqno, int error,
		      const struct vualink_hw_fault *fault)
{
	struct vualink_device *vdev = data;
	struct dma_fence *fence;
	bool cookie;

	cookie = dma_fence_begin_signalling();
	fence = vualink_job_finish(vdev, seqno, error, fault);
	if (fence) {
		dma_fence_signal(fence);
		dma_fence_put(fence);
	}
	dma_fence_end_signalling(cookie);
}

/* Cancellation */

/* Return: the lowest seqno after @seqno of a job of @vfile, or of any; or 0 */
static u64 vualink_jobs_next(struct vualink_device *vdev,
			     const struct vualink_file *vfile, u64 seqno)
{
	struct vualink_job *job;
	u64 next = 0;

	spin_lock_irq(&vdev->job_lock);
	list_for_each_entry(job, &vdev->jobs, link) {
		if (job->seqno <= seqno || (vfile && job->vfile != vfile))
			continue;
		next = job->seqno;
		break;
	}
	spin_unlock_irq(&vdev->job_lock);
	return next;
}

/* Cancels what the hardware has of a file's jobs, or of all. Waits for nothing. */
void vualink_jobs_cancel(struct vualink_device *vdev,
			 const struct vualink_file *vfile)
{
	u64 seqno = 0;
	int idx;

	if (!drm_dev_enter(&vdev->drm, &idx))
		return;
	while ((seqno = vualink_jobs_next(vdev, vfile, seqno)))
		vualink_hw_cancel(vdev->hw, seqno);
	drm_dev_exit(idx);
}

/* Return: whether the hardware had the job */
static bool vualink_job_mark_timed_out(struct vualink_device *vdev,
				       struct vualink_job *job)
{
	bool started;

	spin_lock_irq(&vdev->job_lock);
	job->timed_out = true;
	started = job->started;
	spin_unlock_irq(&vdev->job_lock);
	return started;
}

/* The others are none the worse for it: the engine goes on with the next job. */
static enum drm_gpu_sched_stat
vualink_job_timedout(struct drm_sched_job *sched_job)
{
	struct vualink_device *vdev = sched_to_vualink(sched_job->sched);
	struct vualink_job *job = to_vualink_job(sched_job);
	int idx;

	if (vualink_job_mark_timed_out(vdev, job) && drm_dev_enter(&vdev->drm, &idx)) {
		vualink_hw_cancel(vdev->hw, job->seqno);
		drm_dev_exit(idx);
	}
	return DRM_GPU_SCHED_STAT_NO_HANG;
}

static void vualink_job_free(struct drm_sched_job *sched_job)
{
	vualink_job_destroy(to_vualink_job(sched_job));
}

static const struct drm_sched_backend_ops vualink_sched_ops = {
	.run_job = vualink_job_run,
	.timedout_job = vualink_job_timedout,
	.free_job = vualink_job_free,
};

static void vualink_jobs_fini(struct drm_device *drm, void *data)
{
	drm_sched_fini(&to_vualink(drm)->sched);
}

int vualink_jobs_init(struct vualink_device *vdev)
{
	const struct drm_sched_init_args args = {
		.ops = &vualink_sched_ops,
		.submit_wq = vualink_sched_wq,
		.timeout_wq = vualink_sched_wq,
		.num_rqs = DRM_SCHED_PRIORITY_COUNT,
		.credit_limit = VUALINK_JOB_CREDITS,
		.timeout = msecs_to_jiffies(VUALINK_JOB_TIMEOUT_MS),
		.name = "vualink",
		.dev = vdev->drm.dev,
	};
	int ret;

	spin_lock_init(&vdev->job_lock);
	INIT_LIST_HEAD(&vdev->jobs);
	ret = drm_sched_init(&vdev->sched, &args);
	if (ret)
		return ret;
	return drmm_add_action_or_reset(&vdev->drm, vualink_jobs_fini, NULL);
}
