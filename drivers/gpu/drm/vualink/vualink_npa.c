// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/ualink.h>

#include "vualink_bo.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_npa.h"

/*
 * The page table of the accelerator's NPA segment: what others reach of its VRAM.
 * It is written like that of a VM, but belongs to the device.
 *
 * These functions are called by the UALink core, which has stopped to do so
 * before the hardware goes.
 */

static struct vualink_device *udev_to_vualink(struct ualink_device *udev)
{
	return to_vualink(ualink_device_priv(udev));
}

static int npa_try_populate(struct vualink_pt *pt, u64 offset, u64 size,
			    struct vualink_bo *bo)
{
	struct vualink_bo_cursor cur;
	int ret = 0;

	mutex_lock(&pt->lock);
	vualink_bo_cursor_init(&cur, bo, 0, size);
	while (!ret && vualink_bo_cursor_next(&cur))
		ret = vualink_pt_populate(pt, offset + cur.offset, cur.addr, cur.size);
	mutex_unlock(&pt->lock);
	return ret;
}

static int npa_populate(struct vualink_pt *pt, u64 offset, u64 size,
			struct vualink_bo *bo)
{
	int ret;

	do {
		ret = npa_try_populate(pt, offset, size, bo);
		if (ret != -EAGAIN)
			break;
		ret = vualink_pt_refill(pt);
	} while (!ret);
	return ret;
}

/* The range is populated. The lock is held while it is written, piece by piece. */
static int npa_write(struct vualink_pt *pt, u64 offset, u64 size, u64 flags,
		     struct vualink_bo *bo)
{
	struct vualink_bo_cursor cur;
	int ret = 0;

	mutex_lock(&pt->lock);
	vualink_bo_cursor_init(&cur, bo, 0, size);
	while (!ret && vualink_bo_cursor_next(&cur))
		ret = vualink_pt_map(pt, offset + cur.offset, cur.addr, cur.size, flags);
	if (ret)
		vualink_pt_unmap(pt, offset, size);
	mutex_unlock(&pt->lock);
	return ret;
}

static void npa_hold(struct vualink_pt *pt, bool hold)
{
	mutex_lock(&pt->lock);
	if (hold)
		vualink_pt_hold(pt);
	else
		vualink_pt_release(pt);
	mutex_unlock(&pt->lock);
}

/* &ualink_ops.npa_map. The object is pinned, its pieces stay where they are. */
int vualink_npa_map(struct ualink_device *udev, u64 offset, u64 size,
		    bool read_only, void *priv)
{
	struct vualink_pt *pt = &udev_to_vualink(udev)->ualink.pt;
	struct vualink_bo *bo = gem_to_vualink_bo(priv);
	int ret;

	npa_hold(pt, true);
	ret = npa_populate(pt, offset, size, bo);
	if (!ret)
		ret = npa_write(pt, offset, size, read_only ? 0 : VUALINK_PTE_WRITE, bo);
	npa_hold(pt, false);
	return ret;
}

/* &ualink_ops.npa_unmap. A range is one that was mapped as a whole, so no block is cut. */
void vualink_npa_unmap(struct ualink_device *udev, u64 offset, u64 size)
{
	struct vualink_pt *pt = &udev_to_vualink(udev)->ualink.pt;

	mutex_lock(&pt->lock);
	vualink_pt_unmap(pt, offset, size);
	mutex_unlock(&pt->lock);
}

/* &ualink_ops.npa_flush. Tables that have become empty are freed after it. */
int vualink_npa_flush(struct ualink_device *udev, u64 offset, u64 size)
{
	struct vualink_device *vdev = udev_to_vualink(udev);
	struct vualink_ualink *ual = &vdev->ualink;
	LIST_HEAD(garbage);
	int ret;

	mutex_lock(&ual->pt.lock);
	vualink_pt_trim(&ual->pt, VUALINK_PT_KEEP, &ual->limbo);
	list_splice_init(&ual->limbo, &garbage);
	mutex_unlock(&ual->pt.lock);

	ret = vualink_hw_npa_flush(vdev->hw, offset, size);
	if (!ret) {
		vualink_pt_free_garbage(&ual->pt, &garbage);
		return 0;
	}

	mutex_lock(&ual->pt.lock);
	list_splice(&garbage, &ual->limbo);
	mutex_unlock(&ual->pt.lock);
	vualink_device_wedge(vdev);
	return ret;
}

/* Tells the hardware where the table is; a reset makes it forget that. */
void vualink_npa_enable(struct vualink_device *vdev)
{
	vualink_hw_npa_set_root(vdev->hw, vualink_pt_root(&vdev->ualink.pt));
}

int vualink_npa_init(struct vualink_device *vdev)
{
	struct vualink_ualink *ual = &vdev->ualink;
	int ret;

	INIT_LIST_HEAD(&ual->limbo);
	vualink_table_pool_init(&ual->pool, vdev);
	ret = vualink_pt_init(&ual->pt, &vualink_table_ops, &ual->pool,
			      &vualink_hw_stats(vdev->hw)->pte_writes);
	if (ret) {
		vualink_table_pool_fini(&ual->pool);
		return ret;
	}
	vualink_npa_enable(vdev);
	return 0;
}

void vualink_npa_fini(struct vualink_device *vdev)
{
	struct vualink_ualink *ual = &vdev->ualink;

	vualink_hw_npa_set_root(vdev->hw, U64_MAX);
	vualink_pt_free_garbage(&ual->pt, &ual->limbo);
	vualink_pt_fini(&ual->pt);
	vualink_table_pool_fini(&ual->pool);
}
