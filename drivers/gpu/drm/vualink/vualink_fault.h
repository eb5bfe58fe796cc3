/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_FAULT_H_
#define _VUALINK_FAULT_H_

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <drm/vualink_drm.h>

struct drm_device;
struct drm_file;
struct vualink_hw_fault;

/* Faults that are kept for a file */
#define VUALINK_FAULT_LOG_SIZE	64

/**
 * struct vualink_fault_log - the last faults of a file's jobs
 */
struct vualink_fault_log {
	/** @read_lock: one reader at a time. Outside of @lock */
	struct mutex read_lock;

	/** @lock: protects all below; irq-safe */
	spinlock_t lock;

	/** @head: counts the faults put in */
	u32 head;

	/** @tail: counts those taken out or overwritten */
	u32 tail;

	/** @lost: how many were overwritten unread, since it was last asked */
	u64 lost;

	/** @faults: the ring */
	struct drm_vualink_fault faults[VUALINK_FAULT_LOG_SIZE];
};

void vualink_fault_log_init(struct vualink_fault_log *log);
void vualink_fault_log_fini(struct vualink_fault_log *log);
void vualink_fault_log_add(struct vualink_fault_log *log, u32 vm_id,
			   const struct vualink_hw_fault *hw_fault);
int vualink_get_faults_ioctl(struct drm_device *drm, void *data,
			     struct drm_file *file);

#endif /* _VUALINK_FAULT_H_ */
