// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/debugfs.h>
#include <linux/dma-resv.h>
#include <linux/jiffies.h>
#include <linux/seq_file.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_ualink.h>

#include "vualink_bo.h"
#include "vualink_debugfs.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_vm.h"

/**
 * DOC: Files of an accelerator
 *
 * For tests, in the debugfs folder of each device; none of it is ABI. Pods have their
 * knobs in a folder "vualink" of their own, where ``devices`` counts the accelerators
 * that are in memory, unplugged ones included.
 *
 * ``state``
 *	Whether a TLB could not be flushed (``wedged``), address spaces, VRAM, and how
 *	many bytes of users' objects are pinned.
 * ``gpuvas``
 *	What is mapped in all address spaces.
 * ``evict_vram``
 *	Writing moves out of VRAM all that can move.
 * ``reset``
 *	Writing resets the accelerator, as if it had hung.
 * ``suspend``
 *	1 does what a driver does before the system sleeps: nothing is shared any more,
 *	VRAM is saved, and no job begins; 0 undoes it. Meanwhile a reset fails with
 *	%-EBUSY, and what needs VRAM with %-ENOSPC.
 * ``job_timeout_ms``
 *	How long a job may take.
 * ``vram_scatter``
 *	Whether no two pages of a new object may be neighbours.
 * ``ttm_vram_mgr``
 *	Use of VRAM, as TTM and the allocator see it.
 * ``hw/hw_stats``, ``hw/hw_gate``
 *	What the hardware has counted; ids whose accesses it serves.
 * ``ualink/``
 *	What all drivers with UALink have: counters, peers, exports, imports, NPA use.
 */

static struct dentry *vualink_root;

void vualink_debugfs_init(void)
{
	vualink_root = debugfs_create_dir("vualink", NULL);
	debugfs_create_atomic_t("devices", 0400, vualink_root,
				&vualink_device_count);
}

void vualink_debugfs_exit(void)
{
	debugfs_remove(vualink_root);
}

struct dentry *vualink_debugfs_root(void)
{
	return vualink_root;
}

static u32 vualink_debugfs_count_vms(struct vualink_device *vdev)
{
	u32 count;

	mutex_lock(&vdev->vm_lock);
	count = list_count_nodes(&vdev->vms);
	mutex_unlock(&vdev->vm_lock);
	return count;
}

/* Bytes of users' objects that are pinned, as TTM knows it */
static u64 vualink_debugfs_pinned(struct vualink_device *vdev)
{
	struct ttm_buffer_object *tbo;
	struct ttm_lru_item *item;
	u64 pinned = 0;

	spin_lock(&vdev->ttm.lru_lock);
	list_for_each_entry(item, &vdev->ttm.unevictable, link) {
		if (!ttm_lru_item_is_res(item))
			continue;
		tbo = ttm_lru_item_to_res(item)->bo;
		if (tbo->pin_count && ttm_to_vualink_bo(tbo)->kind != VUALINK_BO_TABLE)
			pinned += tbo->base.size;
	}
	spin_unlock(&vdev->ttm.lru_lock);
	return pinned;
}

static int vualink_debugfs_state_show(struct seq_file *m, void *unused)
{
	struct vualink_device *vdev = m->private;
	struct vualink_vram *vram = &vdev->vram;

	seq_printf(m, "id: %u\n", vdev->id);
	seq_printf(m, "wedged: %d\n", vualink_device_wedged(vdev));
	seq_printf(m, "vms: %u\n", vualink_debugfs_count_vms(vdev));
	mutex_lock(&vram->lock);
	seq_printf(m, "vram_size: %llu\n", vram->mm.size);
	seq_printf(m, "vram_used: %llu\n", vram->mm.size - vram->mm.avail);
	seq_printf(m, "visible_size: %llu\n", vram->visible_size);
	seq_printf(m, "visible_used: %llu\n", vram->visible_used);
	mutex_unlock(&vram->lock);
	seq_printf(m, "vram_pinned: %llu\n", vualink_debugfs_pinned(vdev));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vualink_debugfs_state);

static int vualink_debugfs_show_vm(struct seq_file *m, struct vualink_vm *vm)
{
	struct dma_resv *resv = drm_gpuvm_resv(&vm->base);
	int ret;

	ret = dma_resv_lock_interruptible(resv, NULL);
	if (ret)
		return ret;
	seq_printf(m, "vmid: %u\n", vm->vmid);
	ret = drm_debugfs_gpuva_info(m, &vm->base);
	dma_resv_unlock(resv);
	return ret;
}

/* Return: the first VM with a vmid above @vmid, and a reference, or NULL */
static struct vualink_vm *vualink_debugfs_next_vm(struct vualink_device *vdev,
						  u32 vmid)
{
	struct vualink_vm *vm, *next = NULL;

	mutex_lock(&vdev->vm_lock);
	list_for_each_entry(vm, &vdev->vms, link)
		if (vm->vmid > vmid && (!next || vm->vmid < next->vmid))
			next = vm;
	if (next)
		drm_gpuvm_get(&next->base);
	mutex_unlock(&vdev->vm_lock);
	return next;
}

static int vualink_debugfs_gpuvas_show(struct seq_file *m, void *unused)
{
	struct vualink_device *vdev = m->private;
	struct vualink_vm *vm;
	u32 vmid = 0;
	int ret = 0;

	while (!ret && (vm = vualink_debugfs_next_vm(vdev, vmid))) {
		vmid = vm->vmid;
		ret = vualink_debugfs_show_vm(m, vm);
		drm_gpuvm_put(&vm->base);
	}
	return ret;
}
DEFINE_SHOW_ATTRIBUTE(vualink_debugfs_gpuvas);

static int vualink_debugfs_evict_set(void *data, u64 val)
{
	struct vualink_device *vdev = data;

	return ttm_resource_manager_evict_all(&vdev->ttm, &vdev->vram.base);
}
DEFINE_DEBUGFS_ATTRIBUTE(vualink_debugfs_evict_fops, NULL,
			 vualink_debugfs_evict_set, "%llu\n");

static int vualink_debugfs_reset_set(void *data, u64 val)
{
	return vualink_device_reset(data);
}
DEFINE_DEBUGFS_ATTRIBUTE(vualink_debugfs_reset_fops, NULL,
			 vualink_debugfs_reset_set, "%llu\n");

static int vualink_debugfs_suspend_set(void *data, u64 val)
{
	return val ? vualink_device_suspend(data) : vualink_device_resume(data);
}
DEFINE_DEBUGFS_ATTRIBUTE(vualink_debugfs_suspend_fops, NULL,
			 vualink_debugfs_suspend_set, "%llu\n");

static int vualink_debugfs_timeout_get(void *data, u64 *val)
{
	struct vualink_device *vdev = data;

	*val = jiffies_to_msecs(READ_ONCE(vdev->sched.timeout));
	return 0;
}

static int vualink_debugfs_timeout_set(void *data, u64 val)
{
	struct vualink_device *vdev = data;

	if (!val || val > 3600 * MSEC_PER_SEC)
		return -EINVAL;
	WRITE_ONCE(vdev->sched.timeout, msecs_to_jiffies(val));
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(vualink_debugfs_timeout_fops,
			 vualink_debugfs_timeout_get,
			 vualink_debugfs_timeout_set, "%llu\n");

/* Unplug removes all of it before it takes the hardware away. */
void vualink_debugfs_init_minor(struct drm_minor *minor)
{
	struct vualink_device *vdev = to_vualink(minor->dev);
	struct dentry *root = minor->debugfs_root;

	debugfs_create_file("state", 0400, root, vdev,
			    &vualink_debugfs_state_fops);
	debugfs_create_file("gpuvas", 0400, root, vdev,
			    &vualink_debugfs_gpuvas_fops);
	debugfs_create_file("evict_vram", 0200, root, vdev,
			    &vualink_debugfs_evict_fops);
	debugfs_create_file("reset", 0200, root, vdev,
			    &vualink_debugfs_reset_fops);
	debugfs_create_file("suspend", 0200, root, vdev,
			    &vualink_debugfs_suspend_fops);
	debugfs_create_file("job_timeout_ms", 0600, root, vdev,
			    &vualink_debugfs_timeout_fops);
	debugfs_create_bool("vram_scatter", 0600, root, &vdev->vram.scatter);
	ttm_resource_manager_create_debugfs(&vdev->vram.base, root,
					    "ttm_vram_mgr");
	if (drm_ualink_device(&vdev->drm))
		ualink_device_debugfs_init(drm_ualink_device(&vdev->drm), root);
	vualink_hw_debugfs_init(vdev->hw, debugfs_create_dir("hw", root));
}
