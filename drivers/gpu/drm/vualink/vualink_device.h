/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_DEVICE_H_
#define _VUALINK_DEVICE_H_

#include <linux/atomic.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/drm_device.h>
#include <drm/gpu_scheduler.h>
#include <drm/ttm/ttm_device.h>

#include "vualink_ualink.h"
#include "vualink_vram.h"

struct drm_file;
struct drm_printer;
struct faux_device;
struct vualink_config_accel;
struct vualink_hw;
struct workqueue_struct;

/*
 * Locks, the outer ones first:
 *
 * - the lock of a pod in configfs, under which devices come and go
 * - &vualink_device.reset_lock
 * - &vualink_vm.bind_lock
 * - dma_resv of VMs and objects, together in a ww transaction
 * - &vualink_device.vm_lock
 * - &drm_gem_object.gpuva.lock: the mappings of an object, and whether it is
 *   dead
 * - &vualink_table_pool.lock, as a flush under the former frees tables
 * - &vualink_pt.lock
 * - &vualink_vram.lock, &vualink_file.submit_lock
 * - &vualink_device.job_lock, &vualink_fault_log.lock: spinlocks
 *
 * Nothing under dma_resv waits for another node. Nothing from gpuva.lock down
 * allocates or waits, but for a flush of the accelerator's own TLBs.
 */

/**
 * struct vualink_device - an accelerator
 *
 * The hardware is there from creation until unplug; what reaches it does so
 * between drm_dev_enter() and drm_dev_exit(). Everything else stays until the
 * last user of the &drm_device is gone.
 */
struct vualink_device {
	/** @drm: base class */
	struct drm_device drm;

	/** @ttm: memory of objects */
	struct ttm_device ttm;

	/** @vram: VRAM manager of @ttm */
	struct vualink_vram vram;

	/** @hw: the hardware; only between drm_dev_enter() and drm_dev_exit() */
	struct vualink_hw *hw;

	/** @ualink: what it shares with others */
	struct vualink_ualink ualink;

	/** @faux: parent device, of the one who creates and destroys this */
	struct faux_device *faux;

	/** @id: accelerator id. Immutable */
	u32 id;

	/** @sched: feeds the copy engine */
	struct drm_gpu_scheduler sched;

	/** @job_seqno: of the last job given to the hardware; of the scheduler's worker */
	u64 job_seqno;

	/** @job_lock: protects @jobs; irq-safe, as the hardware's interrupt takes it */
	spinlock_t job_lock;

	/** @jobs: list of &vualink_job.link, what the hardware has, by seqno */
	struct list_head jobs;

	/** @vm_lock: protects @vms and @vmids, and what the hardware has as their roots */
	struct mutex vm_lock;

	/** @vms: list of &vualink_vm.link */
	struct list_head vms;

	/** @vmids: ids of @vms in the hardware */
	struct ida vmids;

	/** @vms_leaving: VMs without a user whose teardown is under way */
	atomic_t vms_leaving;

	/** @vm_wait: woken up when one of them is gone, or stuck */
	wait_queue_head_t vm_wait;

	/** @reset_lock: one reset, suspend or resume at a time */
	struct mutex reset_lock;

	/** @suspended: under @reset_lock */
	bool suspended;

	/** @wedged: a flush failed since the last reset; WRITE_ONCE() */
	bool wedged;

	/** @gone: unplug has begun, nothing is to be started; WRITE_ONCE() */
	bool gone;
};

static inline struct vualink_device *to_vualink(struct drm_device *drm)
{
	return container_of(drm, struct vualink_device, drm);
}

static inline struct vualink_device *ttm_to_vualink(struct ttm_device *ttm)
{
	return container_of(ttm, struct vualink_device, ttm);
}

struct vualink_device *vualink_device_create(struct vualink_config_accel *config);
void vualink_device_destroy(struct vualink_device *vdev);
int vualink_device_reset(struct vualink_device *vdev);
int vualink_device_suspend(struct vualink_device *vdev);
int vualink_device_resume(struct vualink_device *vdev);
void vualink_device_wedge(struct vualink_device *vdev);
bool vualink_device_wedged(struct vualink_device *vdev);
void vualink_device_wait_all(void);

extern atomic_t vualink_device_count;
extern const struct drm_driver vualink_driver;
extern struct workqueue_struct *vualink_wq;
extern struct workqueue_struct *vualink_sched_wq;

#endif /* _VUALINK_DEVICE_H_ */
