// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_prime.h>
#include <drm/drm_ualink.h>
#include <drm/vualink_drm.h>

#include "vualink_bo.h"
#include "vualink_config.h"
#include "vualink_configfs.h"
#include "vualink_debugfs.h"
#include "vualink_device.h"
#include "vualink_exec.h"
#include "vualink_file.h"
#include "vualink_hw.h"
#include "vualink_pod.h"
#include "vualink_vm.h"

/**
 * DOC: Overview
 *
 * A driver of accelerators made of software, which share memory through a fabric
 * made of software, so that UALink memory sharing can be seen to work on any
 * machine.
 *
 * Driver and hardware are separate: ``vualink_hw.h`` is all that the driver
 * knows of its hardware, and the hardware reaches memory only through page
 * tables and TLBs, as real hardware does.
 *
 * The module makes pods of accelerators by itself when it is loaded, as many as
 * the parameters "pods" and "accels" say; others are made with configfs.
 */

#define VUALINK_MAX_PODS	64

static unsigned int vualink_pods = 1;
module_param_named(pods, vualink_pods, uint, 0444);
MODULE_PARM_DESC(pods, "Pods to be made at load (default 1, at most 64)");

static unsigned int vualink_accels = 2;
module_param_named(accels, vualink_accels, uint, 0444);
MODULE_PARM_DESC(accels, "Accelerators in each of them (default 2, at most 1024)");

/* For work that takes dma_resv locks or allocates */
struct workqueue_struct *vualink_wq;

/* For what a fence may wait for; one for all schedulers */
struct workqueue_struct *vualink_sched_wq;

static struct vualink_config_pod **vualink_default_pods;

static int vualink_get_param_ioctl(struct drm_device *drm, void *data,
				   struct drm_file *file)
{
	struct vualink_device *vdev = to_vualink(drm);
	struct drm_vualink_get_param *args = data;

	if (args->pad)
		return -EINVAL;
	switch (args->param) {
	case DRM_VUALINK_PARAM_ID:
		args->value = vdev->id;
		return 0;
	case DRM_VUALINK_PARAM_VRAM_SIZE:
		args->value = vdev->vram.base.size;
		return 0;
	case DRM_VUALINK_PARAM_VRAM_VISIBLE_SIZE:
		args->value = vdev->vram.visible_size;
		return 0;
	case DRM_VUALINK_PARAM_BO_ALIGN:
		args->value = PAGE_SIZE;
		return 0;
	case DRM_VUALINK_PARAM_BIND_ALIGN:
		args->value = VUALINK_PAGE_SIZE;
		return 0;
	case DRM_VUALINK_PARAM_VA_START:
		args->value = VUALINK_VA_START;
		return 0;
	case DRM_VUALINK_PARAM_VA_END:
		args->value = VUALINK_VA_END;
		return 0;
	case DRM_VUALINK_PARAM_MAX_VMS:
		args->value = VUALINK_HW_VMIDS - 1;
		return 0;
	case DRM_VUALINK_PARAM_MAX_CMDS:
		args->value = VUALINK_EXEC_MAX_CMDS;
		return 0;
	case DRM_VUALINK_PARAM_MAX_SYNCS:
		args->value = VUALINK_EXEC_MAX_SYNCS;
		return 0;
	case DRM_VUALINK_PARAM_MAX_FILE_JOBS:
		args->value = VUALINK_FILE_MAX_JOBS;
		return 0;
	case DRM_VUALINK_PARAM_MAX_FILE_VMS:
		args->value = VUALINK_FILE_MAX_VMS;
		return 0;
	default:
		return -EINVAL;
	}
}

static const struct drm_ioctl_desc vualink_ioctls[] = {
	DRM_IOCTL_DEF_DRV(VUALINK_GET_PARAM, vualink_get_param_ioctl,
			  DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_BO_CREATE, vualink_bo_create_ioctl,
			  DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_BO_MMAP_OFFSET, vualink_bo_mmap_offset_ioctl,
			  DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_VM_CREATE, vualink_vm_create_ioctl,
			  DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_VM_DESTROY, vualink_vm_destroy_ioctl,
			  DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_VM_BIND, vualink_vm_bind_ioctl,
			  DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_EXEC, vualink_exec_ioctl, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VUALINK_GET_FAULTS, vualink_get_faults_ioctl,
			  DRM_RENDER_ALLOW),
};

static void vualink_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	drm_show_memory_stats(p, file);
	drm_ualink_show_fdinfo(p, file);
}

static struct drm_gem_object *
vualink_gem_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	if (drm_ualink_is_dma_buf(dma_buf))
		return drm_ualink_gem_prime_import(drm, dma_buf);
	return drm_gem_prime_import(drm, dma_buf);
}

static const struct file_operations vualink_fops = {
	.owner = THIS_MODULE,
	DRM_GEM_FOPS,
	.show_fdinfo = drm_show_fdinfo,
};

const struct drm_driver vualink_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER | DRIVER_SYNCOBJ |
			   DRIVER_SYNCOBJ_TIMELINE,
	.open = vualink_file_open,
	.postclose = vualink_file_close,
	.show_fdinfo = vualink_show_fdinfo,
	.gem_prime_import = vualink_gem_prime_import,
	DRM_UALINK_DRIVER_OPS,
#ifdef CONFIG_DEBUG_FS
	.debugfs_init = vualink_debugfs_init_minor,
#endif
	.ioctls = vualink_ioctls,
	.num_ioctls = ARRAY_SIZE(vualink_ioctls),
	.fops = &vualink_fops,
	.name = "vualink",
	.desc = "Virtual UALink accelerator",
	.major = 1,
	.minor = 0,
};

static int vualink_make_default_pod(u32 index)
{
	char name[sizeof(VUALINK_DEFAULT_POD "63")];
	struct vualink_config_pod *pod;
	int ret;

	snprintf(name, sizeof(name), VUALINK_DEFAULT_POD "%u", index);
	pod = vualink_config_default_create(name, vualink_accels);
	if (IS_ERR(pod))
		return PTR_ERR(pod);
	ret = vualink_pod_enable(pod);
	if (ret) {
		vualink_config_pod_destroy(pod);
		return ret;
	}
	vualink_default_pods[index] = pod;
	return 0;
}

static void vualink_remove_default_pods(void)
{
	u32 i;

	for (i = 0; i < vualink_pods; i++) {
		if (!vualink_default_pods[i])
			continue;
		vualink_pod_disable(vualink_default_pods[i]);
		vualink_config_pod_destroy(vualink_default_pods[i]);
	}
	kfree(vualink_default_pods);
}

static int vualink_make_default_pods(void)
{
	u32 i;
	int ret;

	if (vualink_pods > VUALINK_MAX_PODS ||
	    vualink_accels > VUALINK_HW_MAX_IDS)
		return -EINVAL;
	vualink_default_pods = kzalloc_objs(*vualink_default_pods, vualink_pods);
	if (!vualink_default_pods)
		return -ENOMEM;
	for (i = 0; i < vualink_pods; i++) {
		ret = vualink_make_default_pod(i);
		if (ret) {
			vualink_remove_default_pods();
			return ret;
		}
	}
	return 0;
}

static int __init vualink_init(void)
{
	int ret = -ENOMEM;

	vualink_wq = alloc_workqueue("vualink", WQ_UNBOUND, 0);
	if (!vualink_wq)
		return ret;
	vualink_sched_wq = alloc_workqueue("vualink-sched",
					   WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!vualink_sched_wq)
		goto err_wq;
	vualink_debugfs_init();
	ret = vualink_make_default_pods();
	if (ret)
		goto err_debugfs;
	ret = vualink_configfs_register();
	if (ret)
		goto err_pods;
	return 0;

err_pods:
	vualink_remove_default_pods();
err_debugfs:
	vualink_device_wait_all();
	vualink_debugfs_exit();
	destroy_workqueue(vualink_sched_wq);
err_wq:
	destroy_workqueue(vualink_wq);
	return ret;
}

static void __exit vualink_exit(void)
{
	vualink_configfs_unregister();
	vualink_remove_default_pods();
	vualink_device_wait_all();
	vualink_debugfs_exit();
	destroy_workqueue(vualink_wq);
	destroy_workqueue(vualink_sched_wq);
}

module_init(vualink_init);
module_exit(vualink_exit);

MODULE_DESCRIPTION("Virtual UALink accelerator");
MODULE_LICENSE("Dual MIT/GPL");
