// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/cgroup_dmem.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include <drm/drm_buddy.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>

#include "vualink_device.h"
#include "vualink_vram.h"

/*
 * VRAM comes from a buddy allocator. The lock is taken with dma_resv locks and
 * with nothing of the page tables held, and nothing is taken under it.
 */

/**
 * struct vualink_vram_resource - an allocation of VRAM
 * @base: as TTM sees it
 * @blocks: list of &gpu_buddy_block.link, in the order of the object's bytes
 * @visible: bytes that the CPU can reach
 */
struct vualink_vram_resource {
	struct ttm_resource base;
	struct list_head blocks;
	u64 visible;
};

static struct vualink_vram *to_vram(struct ttm_resource_manager *man)
{
	return container_of(man, struct vualink_vram, base);
}

static struct vualink_vram_resource *to_vram_resource(struct ttm_resource *res)
{
	return container_of(res, struct vualink_vram_resource, base);
}

/* Allocation */

static u64 vualink_vram_limit(const struct vualink_vram *vram,
			      const struct ttm_place *place)
{
	u64 size = vram->base.size;

	return place->lpfn ? min(size, place->lpfn << PAGE_SHIFT) : size;
}

/* A page from one half of a part of VRAM, or from the other if that is full */
static int vualink_vram_alloc_half(struct vualink_vram *vram, u64 start, u64 end,
				   bool upper, struct list_head *blocks)
{
	u64 half = round_down(start + (end - start) / 2, PAGE_SIZE);
	int ret = -ENOSPC;
	int i;

	for (i = 0; ret && i < 2; i++, upper = !upper) {
		if (!upper && half == start)
			continue;
		ret = gpu_buddy_alloc_blocks(&vram->mm, upper ? half : start,
					     upper ? end : half, PAGE_SIZE,
					     PAGE_SIZE, blocks,
					     GPU_BUDDY_RANGE_ALLOCATION);
	}
	return ret;
}

/* A page from one end of VRAM */
static int vualink_vram_alloc_end(struct vualink_vram *vram, bool upper,
				  struct list_head *blocks)
{
	return gpu_buddy_alloc_blocks(&vram->mm, 0, vram->base.size, PAGE_SIZE,
				      PAGE_SIZE, blocks,
				      upper ? GPU_BUDDY_TOPDOWN_ALLOCATION : 0);
}

/* Takes pages from below and from above by turns. */
static int vualink_vram_alloc_scattered(struct vualink_vram *vram, u64 start,
					u64 end, u64 size,
					struct list_head *blocks)
{
	bool all = !start && end == vram->base.size;
	bool upper = false;
	int ret;

	for (; size; size -= PAGE_SIZE, upper = !upper) {
		if (all)
			ret = vualink_vram_alloc_end(vram, upper, blocks);
		else
			ret = vualink_vram_alloc_half(vram, start, end, upper,
						      blocks);
		if (ret) {
			gpu_buddy_free_list(&vram->mm, blocks, 0);
			return ret;
		}
	}
	return 0;
}

static int vualink_vram_alloc_blocks(struct vualink_vram *vram,
				     const struct ttm_place *place, u64 size,
				     u64 align, struct list_head *blocks)
{
	u64 start = place->fpfn << PAGE_SHIFT;
	u64 end = vualink_vram_limit(vram, place);
	unsigned long flags = 0;

	/* Pairs with WRITE_ONCE() in vualink_device_suspend_hw() and _resume_hw(). */
	if (READ_ONCE(vram->closed))
		return -ENOSPC;
	/* A file in debugfs writes it at any time. */
	if (READ_ONCE(vram->scatter) && !(place->flags & TTM_PL_FLAG_CONTIGUOUS))
		return vualink_vram_alloc_scattered(vram, start, end, size,
						    blocks);
	if (place->flags & TTM_PL_FLAG_TOPDOWN)
		flags |= GPU_BUDDY_TOPDOWN_ALLOCATION;
	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		flags |= GPU_BUDDY_CONTIGUOUS_ALLOCATION;
	if (start || end != vram->base.size)
		flags |= GPU_BUDDY_RANGE_ALLOCATION;
	return gpu_buddy_alloc_blocks(&vram->mm, start, end, size, align, blocks,
				      flags);
}

static u64 vualink_vram_count_visible(struct vualink_vram *vram,
				      const struct list_head *blocks)
{
	struct gpu_buddy_block *block;
	u64 start, end, visible = 0;

	list_for_each_entry(block, blocks, link) {
		start = gpu_buddy_block_offset(block);
		end = start + gpu_buddy_block_size(&vram->mm, block);
		if (start < vram->visible_size)
			visible += min(end, vram->visible_size) - start;
	}
	return visible;
}

static int vualink_vram_alloc(struct ttm_resource_manager *man,
			      struct ttm_buffer_object *tbo,
			      const struct ttm_place *place,
			      struct ttm_resource **res)
{
	u64 align = (u64)max(tbo->page_alignment, 1U) << PAGE_SHIFT;
	struct vualink_vram *vram = to_vram(man);
	struct vualink_vram_resource *vres;
	int ret;

	if (tbo->base.size > vualink_vram_limit(vram, place))
		return -E2BIG; /* No eviction would help. */

	vres = kzalloc_obj(*vres, GFP_KERNEL_ACCOUNT);
	if (!vres)
		return -ENOMEM;
	INIT_LIST_HEAD(&vres->blocks);
	ttm_resource_init(tbo, place, &vres->base);
	vres->base.start = LONG_MAX; /* There is no single start. */

	mutex_lock(&vram->lock);
	ret = vualink_vram_alloc_blocks(vram, place, tbo->base.size, align,
					&vres->blocks);
	if (!ret) {
		vres->visible = vualink_vram_count_visible(vram, &vres->blocks);
		vram->visible_used += vres->visible;
	}
	mutex_unlock(&vram->lock);
	if (ret) {
		ttm_resource_fini(man, &vres->base);
		kfree(vres);
		return ret;
	}
	*res = &vres->base;
	return 0;
}

static void vualink_vram_free(struct ttm_resource_manager *man,
			      struct ttm_resource *res)
{
	struct vualink_vram_resource *vres = to_vram_resource(res);
	struct vualink_vram *vram = to_vram(man);

	mutex_lock(&vram->lock);
	vram->visible_used -= vres->visible;
	gpu_buddy_free_list(&vram->mm, &vres->blocks, 0);
	mutex_unlock(&vram->lock);

	ttm_resource_fini(man, res);
	kfree(vres);
}

/* Placement */

static bool vualink_vram_anywhere(const struct ttm_place *place)
{
	return !place->fpfn && !place->lpfn;
}

/* Whether to free the resource would make room for a placement */
static bool vualink_vram_intersects(struct ttm_resource_manager *man,
				    struct ttm_resource *res,
				    const struct ttm_place *place, size_t size)
{
	struct vualink_vram *vram = to_vram(man);
	u64 start = place->fpfn << PAGE_SHIFT;
	u64 end = vualink_vram_limit(vram, place);
	struct gpu_buddy_block *block;
	u64 offset;

	if (vualink_vram_anywhere(place))
		return true;
	list_for_each_entry(block, &to_vram_resource(res)->blocks, link) {
		offset = gpu_buddy_block_offset(block);
		if (offset < end &&
		    offset + gpu_buddy_block_size(&vram->mm, block) > start)
			return true;
	}
	return false;
}

/* Whether the resource is where a placement wants it */
static bool vualink_vram_compatible(struct ttm_resource_manager *man,
				    struct ttm_resource *res,
				    const struct ttm_place *place, size_t size)
{
	struct vualink_vram *vram = to_vram(man);
	u64 start = place->fpfn << PAGE_SHIFT;
	u64 end = vualink_vram_limit(vram, place);
	struct gpu_buddy_block *block;
	u64 offset;

	if (vualink_vram_anywhere(place))
		return true;
	list_for_each_entry(block, &to_vram_resource(res)->blocks, link) {
		offset = gpu_buddy_block_offset(block);
		if (offset < start ||
		    offset + gpu_buddy_block_size(&vram->mm, block) > end)
			return false;
	}
	return true;
}

static void vualink_vram_debug(struct ttm_resource_manager *man,
			       struct drm_printer *p)
{
	struct vualink_vram *vram = to_vram(man);

	mutex_lock(&vram->lock);
	drm_printf(p, "visible_size: %llu\n", vram->visible_size);
	drm_printf(p, "visible_used: %llu\n", vram->visible_used);
	drm_buddy_print(&vram->mm, p);
	mutex_unlock(&vram->lock);
}

static const struct ttm_resource_manager_func vualink_vram_func = {
	.alloc = vualink_vram_alloc,
	.free = vualink_vram_free,
	.intersects = vualink_vram_intersects,
	.compatible = vualink_vram_compatible,
	.debug = vualink_vram_debug,
};

/* Walking a resource */

/* Adds the blocks that continue the present piece. */
static void vualink_vram_cursor_extend(struct vualink_vram_cursor *cur)
{
	while (!list_entry_is_head(cur->block, cur->blocks, link) &&
	       gpu_buddy_block_offset(cur->block) == cur->addr + cur->size) {
		cur->size += gpu_buddy_block_size(cur->mm, cur->block);
		cur->block = list_next_entry(cur->block, link);
	}
	cur->size = min(cur->size, cur->left);
}

static void vualink_vram_cursor_load(struct vualink_vram_cursor *cur)
{
	cur->addr = gpu_buddy_block_offset(cur->block);
	cur->size = 0;
	vualink_vram_cursor_extend(cur);
}

/* Starts at byte @offset of a resource, for @size bytes. */
void vualink_vram_cursor_init(struct vualink_vram_cursor *cur,
			      struct ttm_resource *res, u64 offset, u64 size)
{
	struct vualink_vram_resource *vres = to_vram_resource(res);

	cur->mm = &to_vram(ttm_manager_type(res->bo->bdev, TTM_PL_VRAM))->mm;
	cur->blocks = &vres->blocks;
	cur->block = list_first_entry(&vres->blocks, struct gpu_buddy_block,
				      link);
	cur->left = offset + size;
	vualink_vram_cursor_load(cur);
	vualink_vram_cursor_next(cur, offset);
}

/* Goes on by @size bytes. */
void vualink_vram_cursor_next(struct vualink_vram_cursor *cur, u64 size)
{
	u64 step;

	while (size) {
		step = min(size, cur->size);
		cur->addr += step;
		cur->size -= step;
		cur->left -= step;
		size -= step;
		if (!cur->size && cur->left)
			vualink_vram_cursor_load(cur);
	}
}

/* VRAM offset of byte @offset of a resource */
u64 vualink_vram_offset(struct ttm_resource *res, u64 offset)
{
	struct vualink_vram_cursor cur;

	vualink_vram_cursor_init(&cur, res, offset, 1);
	return cur.addr;
}

/* Life */

static const struct dmem_cgroup_ops vualink_vram_dmem_ops = {
	.reclaim = ttm_resource_manager_dmem_reclaim,
};

static int vualink_vram_register_cgroup(struct vualink_device *vdev)
{
	struct ttm_resource_manager *man = &vdev->vram.base;
	struct dmem_cgroup_init init = {
		.size = man->size,
		.ops = &vualink_vram_dmem_ops,
		.reclaim_priv = man,
	};
	struct dmem_cgroup_region *region;

	region = drmm_cgroup_register_region(&vdev->drm, "vram", &init);
	if (IS_ERR(region))
		return PTR_ERR(region);
	ttm_resource_manager_set_dmem_region(man, region);
	return 0;
}

static void vualink_vram_fini(struct drm_device *drm, void *data)
{
	struct vualink_device *vdev = to_vualink(drm);
	struct vualink_vram *vram = data;

	/* All objects are gone, but TTM may not have freed all of them yet. */
	if (ttm_resource_manager_evict_all(&vdev->ttm, &vram->base))
		return;
	ttm_resource_manager_set_used(&vram->base, false);
	ttm_resource_manager_cleanup(&vram->base);
	ttm_set_driver_manager(&vdev->ttm, TTM_PL_VRAM, NULL);
	gpu_buddy_fini(&vram->mm);
}

int vualink_vram_init(struct vualink_device *vdev, u64 size, u64 visible_size)
{
	struct vualink_vram *vram = &vdev->vram;
	int ret;

	ret = drmm_mutex_init(&vdev->drm, &vram->lock);
	if (ret)
		return ret;
	ret = gpu_buddy_init(&vram->mm, size, PAGE_SIZE);
	if (ret)
		return ret;
	gpu_buddy_driver_set_lock(&vram->mm, &vram->lock);

	vram->visible_size = visible_size;
	vram->base.func = &vualink_vram_func;
	ttm_resource_manager_init(&vram->base, &vdev->ttm, size);
	ttm_set_driver_manager(&vdev->ttm, TTM_PL_VRAM, &vram->base);
	ttm_resource_manager_set_used(&vram->base, true);
	ret = drmm_add_action_or_reset(&vdev->drm, vualink_vram_fini, vram);
	return ret ?: vualink_vram_register_cgroup(vdev);
}
