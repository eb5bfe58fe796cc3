/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_JOB_H_
#define _VUALINK_JOB_H_

#include <linux/list.h>
#include <linux/types.h>

#include <drm/gpu_scheduler.h>

#include "vualink_hw.h"

struct dma_fence;
struct drm_file;
struct vualink_device;
struct vualink_file;
struct vualink_vm;

/**
 * struct vualink_job - commands for the copy engine
 */
struct vualink_job {
	/** @base: base class */
	struct drm_sched_job base;

	/** @link: entry in &vualink_device.jobs while the hardware has it */
	struct list_head link;

	/** @vfile: who submitted it. A reference */
	struct vualink_file *vfile;

	/** @vm: where its addresses are. It is a user of it */
	struct vualink_vm *vm;

	/** @vm_id: how @vfile calls @vm. Immutable */
	u32 vm_id;

	/** @count: number of @cmds. Immutable */
	u32 count;

	/**
	 * @hw_fence: signals when the hardware is done. Plain memory until
	 * @started, a reference then
	 */
	struct dma_fence *hw_fence;

	/**
	 * @started: @hw_fence and @seqno are valid. Set by the scheduler's
	 * worker, under &vualink_device.job_lock
	 */
	bool started;

	/** @timed_out: it was cancelled for that. Under &vualink_device.job_lock */
	bool timed_out;

	/** @seqno: its name in the hardware */
	u64 seqno;

	/** @cmds: what it does. Immutable once it is submitted */
	struct vualink_hw_cmd cmds[];
};

struct vualink_job *vualink_job_create(struct drm_file *file,
				       struct vualink_vm *vm, u32 vm_id,
				       u32 count);
void vualink_job_destroy(struct vualink_job *job);
void vualink_job_done(void *data, u64 seqno, int error,
		      const struct vualink_hw_fault *fault);
void vualink_jobs_cancel(struct vualink_device *vdev,
			 const struct vualink_file *vfile);
int vualink_jobs_init(struct vualink_device *vdev);

#endif /* _VUALINK_JOB_H_ */
