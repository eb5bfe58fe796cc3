/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_FILE_H_
#define _VUALINK_FILE_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <drm/gpu_scheduler.h>

#include "vualink_fault.h"

struct drm_device;
struct drm_file;
struct vualink_device;
struct vualink_vm;

/* Jobs that a file may have, those included that are done but not freed yet */
#define VUALINK_FILE_MAX_JOBS	1024

/* How many of the hardware's address spaces a file may have */
#define VUALINK_FILE_MAX_VMS	64

/**
 * struct vualink_file - what an open file has
 */
struct vualink_file {
	/** @ref: references, of the file, of its VMs and of its jobs */
	struct kref ref;

	/** @vdev: the accelerator. Jobs hold it by their VM */
	struct vualink_device *vdev;

	/** @vms: &struct vualink_vm by id; each entry is a user of the VM */
	struct xarray vms;

	/** @num_vms: counts the VMs, until they have been torn down */
	atomic_t num_vms;

	/** @jobs: counts the jobs */
	atomic_t jobs;

	/**
	 * @fence_context: of the fences of its jobs in the hardware. Not shared,
	 * as jobs of a file that is closed end before older ones of others.
	 * Immutable
	 */
	u64 fence_context;

	/** @entity: the queue of the file's jobs */
	struct drm_sched_entity entity;

	/** @submit_lock: lets jobs get into @entity in the order of their fences */
	struct mutex submit_lock;

	/** @faults: of the jobs */
	struct vualink_fault_log faults;
};

int vualink_file_open(struct drm_device *drm, struct drm_file *file);
void vualink_file_close(struct drm_device *drm, struct drm_file *file);
struct vualink_file *vualink_file_get(struct vualink_file *vfile);
void vualink_file_put(struct vualink_file *vfile);
struct vualink_vm *vualink_file_get_vm(struct vualink_file *vfile, u32 vm_id);

int vualink_vm_create_ioctl(struct drm_device *drm, void *data,
			    struct drm_file *file);
int vualink_vm_destroy_ioctl(struct drm_device *drm, void *data,
			     struct drm_file *file);

#endif /* _VUALINK_FILE_H_ */
