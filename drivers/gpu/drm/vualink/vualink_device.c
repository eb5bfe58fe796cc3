// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/device.h>
#include <linux/device/faux.h>
#include <linux/err.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_allocation.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_range_manager.h>
#include <drm/ttm/ttm_tt.h>

#include "vualink_bo.h"
#include "vualink_config.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_job.h"
#include "vualink_npa.h"
#include "vualink_ualink.h"
#include "vualink_vm.h"

/*
 * Those whose &drm_device is there, unplugged ones included. Objects, address
 * spaces and jobs hold it, and a job of a file that is closed stays as long as
 * a fence of somebody else that it waits for. Such a job holds no reference to
 * the module, although it is ours to free.
 */
atomic_t vualink_device_count = ATOMIC_INIT(0);

static void vualink_device_uncount(struct drm_device *drm, void *data)
{
	atomic_dec_and_wake_up(&vualink_device_count);
}

/* Waits for the last of all devices. All have been destroyed. */
void vualink_device_wait_all(void)
{
	wait_var_event(&vualink_device_count, !atomic_read(&vualink_device_count));
}

/* Interrupts */

static const struct vualink_hw_irq_ops vualink_irq_ops = {
	.rx = vualink_ualink_rx,
	.tx = vualink_ualink_tx,
	.done = vualink_job_done,
	.link = vualink_ualink_link,
	.refused = vualink_ualink_refused,
};

/* Memory */

static void vualink_device_ttm_fini(struct drm_device *drm, void *data)
{
	ttm_device_fini(&to_vualink(drm)->ttm);
}

static void vualink_device_tt_fini(struct drm_device *drm, void *data)
{
	ttm_range_man_fini(&to_vualink(drm)->ttm, TTM_PL_TT);
}

static int vualink_device_init_ttm(struct vualink_device *vdev)
{
	struct drm_device *drm = &vdev->drm;
	int ret;

	ret = ttm_device_init(&vdev->ttm, &vualink_ttm_funcs, drm->dev,
			      drm->anon_inode->i_mapping,
			      drm->vma_offset_manager,
			      TTM_ALLOCATION_PROPAGATE_ENOSPC);
	if (ret)
		return ret;
	ret = drmm_add_action_or_reset(drm, vualink_device_ttm_fini, NULL);
	if (ret)
		return ret;
	ret = ttm_range_man_init(&vdev->ttm, TTM_PL_TT, true,
				 ttm_tt_pages_limit());
	if (ret)
		return ret;
	return drmm_add_action_or_reset(drm, vualink_device_tt_fini, NULL);
}

static void vualink_device_ida_fini(struct drm_device *drm, void *data)
{
	ida_destroy(&to_vualink(drm)->vmids);
}

static int vualink_device_init_vms(struct vualink_device *vdev)
{
	int ret;

	INIT_LIST_HEAD(&vdev->vms);
	init_waitqueue_head(&vdev->vm_wait);
	ida_init(&vdev->vmids);
	ret = drmm_add_action_or_reset(&vdev->drm, vualink_device_ida_fini, NULL);
	return ret ?: drmm_mutex_init(&vdev->drm, &vdev->vm_lock);
}

/* What stays until the last user is gone */
static int vualink_device_init_sw(struct vualink_device *vdev,
				  const struct vualink_config_accel *config)
{
	int ret;

	/* The first action, so that it runs after all others. */
	atomic_inc(&vualink_device_count);
	ret = drmm_add_action_or_reset(&vdev->drm, vualink_device_uncount, NULL);
	if (ret)
		return ret;
	vdev->id = config->id;
	ret = drmm_mutex_init(&vdev->drm, &vdev->reset_lock);
	if (ret)
		return ret;
	ret = vualink_device_init_vms(vdev);
	if (ret)
		return ret;
	ret = vualink_device_init_ttm(vdev);
	if (ret)
		return ret;
	ret = vualink_vram_init(vdev, config->vram_size, config->visible_size);
	if (ret)
		return ret;
	ret = vualink_ualink_init(vdev);
	return ret ?: vualink_jobs_init(vdev);
}

/* What goes with unplug */
static int vualink_device_init_hw(struct vualink_device *vdev,
				  const struct vualink_config_accel *config)
{
	const struct vualink_hw_params params = {
		.fabric = config->pod->fabric,
		.irq = &vualink_irq_ops,
		.data = vdev,
		.id = config->id,
		.segment_shift = config->pod->segment_shift,
		.vram_size = config->vram_size,
	};
	struct vualink_hw *hw;
	int ret;

	hw = vualink_hw_create(&params);
	if (IS_ERR(hw))
		return PTR_ERR(hw);
	vdev->hw = hw;
	ret = vualink_npa_init(vdev);
	if (ret)
		vualink_hw_destroy(hw);
	return ret;
}

/* Ends what vualink_device_init_hw() began. */
static void vualink_device_fini_hw(struct vualink_device *vdev)
{
	vualink_npa_fini(vdev);
	vualink_hw_destroy(vdev->hw);
}

/* Nobody knows the device before it is registered, so the vPod comes first. */
static int vualink_device_go_live(struct vualink_device *vdev,
				  const struct vualink_config_accel *config)
{
	int ret;

	ret = vualink_ualink_start(vdev, config);
	if (!ret)
		ret = drm_dev_register(&vdev->drm, 0);
	if (ret)
		vualink_ualink_stop(vdev);
	return ret;
}

static struct vualink_device *
vualink_device_init(struct faux_device *faux,
		    const struct vualink_config_accel *config)
{
	struct vualink_device *vdev;
	int ret;

	vdev = devm_drm_dev_alloc(&faux->dev, &vualink_driver,
				  struct vualink_device, drm);
	if (IS_ERR(vdev))
		return vdev;
	vdev->faux = faux;
	ret = vualink_device_init_sw(vdev, config);
	if (ret)
		return ERR_PTR(ret);
	ret = vualink_device_init_hw(vdev, config);
	if (ret)
		return ERR_PTR(ret);
	ret = vualink_device_go_live(vdev, config);
	if (ret) {
		vualink_device_fini_hw(vdev);
		return ERR_PTR(ret);
	}
	return vdev;
}

/*
 * Makes an accelerator. The name ends with the id, so that it is unique however
 * pods are called.
 * Return: the accelerator, or an ERR_PTR
 */
struct vualink_device *
vualink_device_create(struct vualink_config_accel *config)
{
	char name[sizeof("vualink..1023") + VUALINK_CONFIG_NAME_LEN];
	struct vualink_device *vdev;
	struct faux_device *faux;

	snprintf(name, sizeof(name), "vualink.%s.%u", config->pod->name,
		 config->id);
	faux = faux_device_create(name, NULL, NULL);
	if (!faux)
		return ERR_PTR(-ENODEV);
	if (!devres_open_group(&faux->dev, NULL, GFP_KERNEL)) {
		faux_device_destroy(faux);
		return ERR_PTR(-ENOMEM);
	}
	vdev = vualink_device_init(faux, config);
	if (IS_ERR(vdev)) {
		devres_release_group(&faux->dev, NULL);
		faux_device_destroy(faux);
	}
	return vdev;
}

/*
 * From here on jobs end with -ENODEV, those that run and those to come. The ones
 * that the hardware has are done when the others follow, so that fences signal in
 * order; and it does nothing any more when page tables and TLBs are left alone.
 */
static void vualink_device_stop(struct vualink_device *vdev)
{
	mutex_lock(&vdev->reset_lock);
	/* Pairs with READ_ONCE() in vualink_job_start(). */
	WRITE_ONCE(vdev->gone, true);
	drm_sched_wqueue_stop(&vdev->sched);
	vualink_jobs_cancel(vdev, NULL);
	vualink_hw_drain(vdev->hw);
	drm_sched_wqueue_start(&vdev->sched);
	mutex_unlock(&vdev->reset_lock);
}

/* What could not be flushed has no TLB to be in any more. */
static void vualink_device_unwedge(struct vualink_device *vdev)
{
	struct vualink_vm *vm;

	lockdep_assert_held(&vdev->vm_lock);

	/* Pairs with READ_ONCE() in vualink_device_wedged(). */
	WRITE_ONCE(vdev->wedged, false);
	list_for_each_entry(vm, &vdev->vms, link)
		vualink_vm_unwedge(vm);
}

/* Unplugs an accelerator, whoever uses it. */
void vualink_device_destroy(struct vualink_device *vdev)
{
	struct faux_device *faux = vdev->faux;

	vualink_device_stop(vdev);
	/* While the page tables can still be written. */
	vualink_ualink_pause(vdev);
	drm_dev_unplug(&vdev->drm);
	vualink_ualink_stop(vdev);
	vualink_device_fini_hw(vdev);
	mutex_lock(&vdev->vm_lock);
	vualink_device_unwedge(vdev);
	mutex_unlock(&vdev->vm_lock);
	flush_workqueue(vualink_wq);
	devres_release_group(&faux->dev, NULL);
	faux_device_destroy(faux);
}

/*
 * Notes that a flush failed, so that a TLB may still lead to memory that is not
 * mapped any more. Until a reset no memory moves, and no job is accepted.
 */
void vualink_device_wedge(struct vualink_device *vdev)
{
	/* Pairs with READ_ONCE() in vualink_device_wedged(). */
	WRITE_ONCE(vdev->wedged, true);
}

bool vualink_device_wedged(struct vualink_device *vdev)
{
	/* Pairs with WRITE_ONCE() in vualink_device_wedge() and _unwedge(). */
	return READ_ONCE(vdev->wedged);
}

/* The hardware forgets what it has, the jobs too. None is started meanwhile. */
static void vualink_device_wipe_hw(struct vualink_device *vdev)
{
	mutex_lock(&vdev->vm_lock);
	vualink_hw_reset(vdev->hw);
	vualink_device_unwedge(vdev);
	mutex_unlock(&vdev->vm_lock);
}

static void vualink_device_start_jobs(struct vualink_device *vdev)
{
	struct vualink_vm *vm;

	mutex_lock(&vdev->vm_lock);
	list_for_each_entry(vm, &vdev->vms, link)
		vualink_vm_reset_done(vm);
	mutex_unlock(&vdev->vm_lock);
	drm_sched_wqueue_start(&vdev->sched);
}

static int vualink_device_start_hw(struct vualink_device *vdev)
{
	vualink_device_start_jobs(vdev);
	return vualink_ualink_resume(vdev);
}

static int vualink_device_reset_hw(struct vualink_device *vdev)
{
	vualink_ualink_pause(vdev);
	drm_sched_wqueue_stop(&vdev->sched);
	vualink_device_wipe_hw(vdev);
	return vualink_device_start_hw(vdev);
}

/*
 * Calls @fn for a device that is there and, as @suspended says, asleep or not.
 * Return: what @fn says, -ENODEV, or -EBUSY
 */
static int vualink_device_locked(struct vualink_device *vdev, bool suspended,
				 int (*fn)(struct vualink_device *vdev))
{
	int idx, ret;

	mutex_lock(&vdev->reset_lock);
	if (vdev->gone || !drm_dev_enter(&vdev->drm, &idx)) {
		mutex_unlock(&vdev->reset_lock);
		return -ENODEV;
	}
	ret = vdev->suspended == suspended ? fn(vdev) : -EBUSY;
	drm_dev_exit(idx);
	mutex_unlock(&vdev->reset_lock);
	return ret;
}

/*
 * Resets the accelerator. Jobs in the hardware end with -ECANCELED, exports and
 * imports end; memory and VMs stay.
 * Return: 0, -EBUSY when it is suspended, -ENODEV, or why it could not join the vPod
 * again
 */
int vualink_device_reset(struct vualink_device *vdev)
{
	return vualink_device_locked(vdev, false, vualink_device_reset_hw);
}

/*
 * What is pinned for others cannot be saved, so first of all nothing is shared any
 * more. What was in VRAM waits in system memory then, and comes back when it is
 * used. The hardware's own tables are taken to be saved with its other state.
 */
static int vualink_device_suspend_hw(struct vualink_device *vdev)
{
	int ret;

	vualink_ualink_pause(vdev);
	/* Where nothing can be flushed, nothing can move before a reset. */
	if (vualink_device_wedged(vdev)) {
		drm_sched_wqueue_stop(&vdev->sched);
		vualink_device_wipe_hw(vdev);
		vualink_device_start_jobs(vdev);
	}
	/* Pairs with READ_ONCE() in vualink_vram_alloc_blocks(). */
	WRITE_ONCE(vdev->vram.closed, true);
	ret = ttm_resource_manager_evict_all(&vdev->ttm, &vdev->vram.base);
	if (ret) {
		WRITE_ONCE(vdev->vram.closed, false);
		return vualink_ualink_resume(vdev) ?: ret;
	}
	/* What has begun ends before the hardware forgets it. */
	drm_sched_wqueue_stop(&vdev->sched);
	vualink_hw_drain(vdev->hw);
	vualink_device_wipe_hw(vdev);
	vdev->suspended = true;
	return 0;
}

static int vualink_device_resume_hw(struct vualink_device *vdev)
{
	vdev->suspended = false;
	WRITE_ONCE(vdev->vram.closed, false);
	return vualink_device_start_hw(vdev);
}

/*
 * What &dev_pm_ops.suspend of a driver does, for tests of what others see of it.
 * Exports and imports end, and jobs that have begun are waited for. Until it is
 * resumed, other jobs wait, and what needs VRAM fails with -ENOSPC: real users sleep
 * as well.
 * Return: 0, -EBUSY when it is suspended, -ENODEV, or why memory could not be saved
 */
int vualink_device_suspend(struct vualink_device *vdev)
{
	return vualink_device_locked(vdev, false, vualink_device_suspend_hw);
}

/* Return: 0, -EBUSY when it is awake, -ENODEV, or why it could not join the vPod again */
int vualink_device_resume(struct vualink_device *vdev)
{
	return vualink_device_locked(vdev, true, vualink_device_resume_hw);
}
