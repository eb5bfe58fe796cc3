// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/ualink.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include <drm/drm_ualink.h>

#include "vualink_bo.h"
#include "vualink_config.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_npa.h"
#include "vualink_ualink.h"
#include "vualink_vm.h"

/*
 * The accelerator as a client of the UALink core and of the DRM helpers.
 *
 * Order of life: init, start, then pause and resume around each reset, stop,
 * and fini. Between stop and fini nothing is shared any more, but objects may
 * still be destroyed.
 */

/* Exports are pinned: part of VRAM that one file may export, and part that nobody may */
#define VUALINK_FILE_EXPORT_SHARE	2
#define VUALINK_RESERVED_SHARE		4

static struct vualink_device *udev_to_vualink(struct ualink_device *udev)
{
	return to_vualink(ualink_device_priv(udev));
}

/* Messages */

static int vualink_ualink_send(struct ualink_device *udev, u32 dst,
			       const struct ualink_msg *msg)
{
	static_assert(sizeof(*msg) == VUALINK_HW_MSG_SIZE);
	return vualink_hw_send(udev_to_vualink(udev)->hw, dst, msg);
}

static int vualink_ualink_recv(struct ualink_device *udev, u32 src,
			       struct ualink_msg *msg)
{
	return vualink_hw_recv(udev_to_vualink(udev)->hw, src, msg);
}

static int vualink_ualink_gate(struct ualink_device *udev, u32 src, bool open)
{
	struct vualink_device *vdev = udev_to_vualink(udev);
	int ret;

	ret = vualink_hw_source_gate(vdev->hw, src, open);
	if (ret)
		vualink_device_wedge(vdev);
	return ret;
}

static const struct ualink_ops vualink_ualink_ops = {
	DRM_UALINK_OPS,
	.send = vualink_ualink_send,
	.recv = vualink_ualink_recv,
	.source_gate = vualink_ualink_gate,
	.npa_map = vualink_npa_map,
	.npa_unmap = vualink_npa_unmap,
	.npa_flush = vualink_npa_flush,
};

/* Interrupts. The core must not hear of them before it is there and after it is told to go. */

static void vualink_ualink_irq(struct vualink_device *vdev, u32 id,
			       void (*notify)(struct ualink_device *udev, u32 id))
{
	struct vualink_ualink *ual = &vdev->ualink;
	unsigned long flags;

	spin_lock_irqsave(&ual->irq_lock, flags);
	if (ual->irq_on)
		notify(drm_ualink_device(&vdev->drm), id);
	spin_unlock_irqrestore(&ual->irq_lock, flags);
}

/* What comes before the core is there is told to it by vualink_ualink_catch_up(). */
void vualink_ualink_rx(void *data, u32 src)
{
	struct vualink_device *vdev = data;

	set_bit(src, vdev->ualink.rx_seen);
	vualink_ualink_irq(vdev, src, ualink_notify_rx);
}

void vualink_ualink_tx(void *data, u32 dst)
{
	vualink_ualink_irq(data, dst, ualink_notify_tx);
}

void vualink_ualink_link(void *data, u32 id, bool up)
{
	if (!up)
		vualink_ualink_irq(data, id, ualink_notify_link_down);
}

void vualink_ualink_refused(void *data, u32 src, enum vualink_hw_fault_reason reason)
{
	vualink_ualink_irq(data, src, ualink_notify_fault);
}

static void vualink_ualink_set_irq(struct vualink_device *vdev, bool on)
{
	struct vualink_ualink *ual = &vdev->ualink;

	spin_lock_irq(&ual->irq_lock);
	ual->irq_on = on;
	spin_unlock_irq(&ual->irq_lock);
}

/* Tells the core of the messages that came before it was there. */
static void vualink_ualink_catch_up(struct vualink_device *vdev)
{
	unsigned int id;

	for_each_set_bit(id, vdev->ualink.rx_seen, UALINK_MAX_IDS)
		ualink_notify_rx(drm_ualink_device(&vdev->drm), id);
}

/* Exports */

static int vualink_ualink_pin_locked(struct vualink_bo *bo)
{
	long ret;

	ret = vualink_bo_validate(bo, true);
	if (ret)
		return ret;
	ret = dma_resv_wait_timeout(bo->tbo.base.resv, DMA_RESV_USAGE_KERNEL,
				    true, MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		return ret;
	ttm_bo_pin(&bo->tbo);
	return 0;
}

static int vualink_ualink_pin(struct drm_gem_object *obj)
{
	struct vualink_bo *bo = gem_to_vualink_bo(obj);
	int ret;

	if (bo->kind != VUALINK_BO_VRAM || bo->vm_obj)
		return -EOPNOTSUPP;

	ret = dma_resv_lock_interruptible(obj->resv, NULL);
	if (ret)
		return ret;
	ret = vualink_ualink_pin_locked(bo);
	dma_resv_unlock(obj->resv);
	return ret;
}

static void vualink_ualink_unpin(struct drm_gem_object *obj)
{
	dma_resv_lock(obj->resv, NULL);
	ttm_bo_unpin(&gem_to_vualink_bo(obj)->tbo);
	dma_resv_unlock(obj->resv);
}

static void vualink_ualink_destroy(struct drm_gem_object *obj)
{
	ttm_bo_fini(&gem_to_vualink_bo(obj)->tbo);
}

/* Imports */

static struct drm_gem_object *
vualink_ualink_import_create(struct drm_device *drm, struct ualink_import *imp,
			     u64 size)
{
	struct vualink_bo *bo = vualink_bo_create_import(to_vualink(drm), imp, size);

	return IS_ERR(bo) ? ERR_CAST(bo) : &bo->tbo.base;
}

/*
 * The entries go without the locks of the VMs: what writes them looks first,
 * under gpuva.lock, whether the object is dead. What runs is what has a fence in
 * the object's dma_resv, since each job adds its own to all that its VM maps.
 */
static int vualink_ualink_zap(struct drm_gem_object *obj, struct drm_exec *exec,
			      bool force)
{
	dma_resv_assert_held(obj->resv);

	if (!force && !dma_resv_test_signaled(obj->resv, DMA_RESV_USAGE_BOOKKEEP))
		return -EBUSY;
	vualink_vm_kill_bo(gem_to_vualink_bo(obj));
	return 0;
}

static int vualink_ualink_flush(struct drm_device *drm)
{
	return vualink_vm_flush_all(to_vualink(drm));
}

static bool vualink_ualink_has_route(struct drm_device *drm, u32 id)
{
	struct vualink_device *vdev = to_vualink(drm);
	bool up;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return false;
	up = vualink_fabric_link_up(vualink_hw_params(vdev->hw)->fabric, vdev->id, id);
	drm_dev_exit(idx);
	return up;
}

static const struct drm_ualink_funcs vualink_ualink_funcs = {
	.pin = vualink_ualink_pin,
	.unpin = vualink_ualink_unpin,
	.destroy = vualink_ualink_destroy,
	.import_create = vualink_ualink_import_create,
	.zap = vualink_ualink_zap,
	.flush = vualink_ualink_flush,
	.has_route = vualink_ualink_has_route,
};

/* Life */

static void vualink_ualink_man_fini(struct drm_device *drm, void *data)
{
	drm_ualink_npa_man_fini(&to_vualink(drm)->ttm, TTM_PL_PRIV);
}

/* What the software needs, before there is hardware. */
int vualink_ualink_init(struct vualink_device *vdev)
{
	u64 size = vdev->vram.base.size;
	const struct drm_ualink_caps caps = {
		.device = size - size / VUALINK_RESERVED_SHARE,
		.file = size / VUALINK_FILE_EXPORT_SHARE,
	};
	int ret;

	spin_lock_init(&vdev->ualink.irq_lock);
	ret = drm_ualink_init(&vdev->drm, &vualink_ualink_funcs, &caps);
	if (ret)
		return ret;
	/* After the former, so that it goes before: it waits for the last objects. */
	ret = drm_ualink_npa_man_init(&vdev->ttm, TTM_PL_PRIV);
	if (ret)
		return ret;
	return drmm_add_action_or_reset(&vdev->drm, vualink_ualink_man_fini, NULL);
}

static void vualink_ualink_members(const struct vualink_config_accel *config,
				   unsigned long *members)
{
	const uuid_t *vpod = vualink_config_accel_vpod(config);
	const struct vualink_config_accel *accel;

	bitmap_zero(members, UALINK_MAX_IDS);
	vualink_config_for_each_accel(accel, config->pod)
		if (uuid_equal(vualink_config_accel_vpod(accel), vpod))
			__set_bit(accel->id, members);
}

static int vualink_ualink_provision(struct vualink_device *vdev,
				    const struct vualink_config_accel *config)
{
	DECLARE_BITMAP(members, UALINK_MAX_IDS);
	struct ualink_device_params params = {
		.ops = &vualink_ualink_ops,
		.id = config->id,
		.vpod = *vualink_config_accel_vpod(config),
		.members = members,
		.block_sizes = SZ_4K | SZ_2M | SZ_1G,
		.segment_shift = config->pod->segment_shift,
	};

	vualink_ualink_members(config, members);
	return drm_ualink_provision(&vdev->drm, &params);
}

/*
 * Joins the vPod, unless the accelerator is in none.
 * Return: 0 or what failed; vualink_ualink_stop() then undoes it.
 */
int vualink_ualink_start(struct vualink_device *vdev,
			 const struct vualink_config_accel *config)
{
	int ret;

	if (uuid_is_null(vualink_config_accel_vpod(config)))
		return 0;
	ret = vualink_ualink_provision(vdev, config);
	if (ret)
		return ret;
	vualink_ualink_set_irq(vdev, true);
	ret = ualink_device_activate(drm_ualink_device(&vdev->drm));
	if (!ret)
		vualink_ualink_catch_up(vdev);
	return ret;
}

/* Before a reset: nothing of others is mapped here any more, and nothing of ours there. */
void vualink_ualink_pause(struct vualink_device *vdev)
{
	struct ualink_device *udev = drm_ualink_device(&vdev->drm);

	if (udev)
		ualink_device_deactivate(udev);
}

/* After a reset. */
int vualink_ualink_resume(struct vualink_device *vdev)
{
	struct ualink_device *udev = drm_ualink_device(&vdev->drm);

	vualink_npa_enable(vdev);
	return udev ? ualink_device_activate(udev) : 0;
}

/* For good, while the hardware still works. The core does not call back after it. */
void vualink_ualink_stop(struct vualink_device *vdev)
{
	vualink_ualink_pause(vdev);
	/* What could not be flushed does not survive this. */
	if (vualink_device_wedged(vdev))
		vualink_hw_reset(vdev->hw);
	vualink_ualink_set_irq(vdev, false);
	drm_ualink_unplug(&vdev->drm);
}
