// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/highmem.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/ttm/ttm_tt.h>

#include "vualink_bo.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_vm.h"

/*
 * What TTM asks of the driver. Moves are made by the CPU, and are complete when
 * they return.
 *
 * Nothing moves away from where the hardware can reach it while the accelerator
 * is wedged: a TLB that could not be flushed may have it, even if no VM has it
 * mapped any more, and the next owner of its place would be exposed.
 */

static struct ttm_tt *vualink_ttm_tt_create(struct ttm_buffer_object *tbo,
					    u32 page_flags)
{
	struct ttm_tt *tt;

	tt = kzalloc_obj(*tt, GFP_KERNEL_ACCOUNT);
	if (!tt)
		return NULL;
	if (ttm_tt_init(tt, tbo, page_flags, ttm_cached, 0)) {
		kfree(tt);
		return NULL;
	}
	return tt;
}

static void vualink_ttm_tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	ttm_tt_fini(tt);
	kfree(tt);
}

static void vualink_ttm_evict_flags(struct ttm_buffer_object *tbo,
				    struct ttm_placement *placement)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	static const struct ttm_place npa = { .mem_type = TTM_PL_PRIV };

	placement->placement = tbo->resource->mem_type == TTM_PL_PRIV ?
			       &npa : &system;
	placement->num_placement = 1;
}

static bool vualink_ttm_stays(struct ttm_buffer_object *tbo)
{
	return tbo->resource->mem_type != TTM_PL_SYSTEM &&
	       vualink_device_wedged(ttm_to_vualink(tbo->bdev));
}

static bool vualink_ttm_eviction_valuable(struct ttm_buffer_object *tbo,
					  const struct ttm_place *place)
{
	if (tbo->resource->mem_type == TTM_PL_PRIV || vualink_ttm_stays(tbo))
		return false;
	return ttm_bo_eviction_valuable(tbo, place);
}

/**
 * struct vualink_pages - the pages of a resource, one after another
 * @hw: whose VRAM it is, if @page is NULL
 * @page: the next page in system memory
 * @vram: the next page in VRAM
 */
struct vualink_pages {
	struct vualink_hw *hw;
	struct page **page;
	struct vualink_vram_cursor vram;
};

static void vualink_pages_init(struct vualink_pages *pages,
			       struct ttm_buffer_object *tbo,
			       struct ttm_resource *res)
{
	memset(pages, 0, sizeof(*pages));
	if (res->mem_type == TTM_PL_VRAM) {
		pages->hw = ttm_to_vualink(tbo->bdev)->hw;
		vualink_vram_cursor_init(&pages->vram, res, 0, res->size);
	} else {
		pages->page = tbo->ttm->pages;
	}
}

static struct page *vualink_pages_next(struct vualink_pages *pages)
{
	struct page *page;

	if (pages->page)
		return *pages->page++;
	page = vualink_hw_vram_page(pages->hw, pages->vram.addr);
	vualink_vram_cursor_next(&pages->vram, PAGE_SIZE);
	return page;
}

static void vualink_ttm_copy(struct ttm_buffer_object *tbo,
			     struct ttm_resource *from, struct ttm_resource *to)
{
	struct vualink_pages src, dst;
	u64 left;

	vualink_pages_init(&src, tbo, from);
	vualink_pages_init(&dst, tbo, to);
	for (left = to->size; left; left -= PAGE_SIZE) {
		copy_highpage(vualink_pages_next(&dst), vualink_pages_next(&src));
		cond_resched();
	}
}

static void vualink_ttm_clear(struct ttm_buffer_object *tbo,
			      struct ttm_resource *to)
{
	struct vualink_pages dst;
	u64 left;

	vualink_pages_init(&dst, tbo, to);
	for (left = to->size; left; left -= PAGE_SIZE) {
		clear_highpage(vualink_pages_next(&dst));
		cond_resched();
	}
}

/* Fills VRAM with what is in the other place, or with zeros. */
static void vualink_ttm_fill_vram(struct ttm_buffer_object *tbo,
				  struct ttm_resource *to)
{
	struct ttm_resource *from = tbo->resource;

	if (from && (from->mem_type == TTM_PL_VRAM ||
		     (tbo->ttm && ttm_tt_is_populated(tbo->ttm))))
		vualink_ttm_copy(tbo, from, to);
	else
		vualink_ttm_clear(tbo, to);
}

static int vualink_ttm_move_to_vram(struct ttm_buffer_object *tbo,
				    struct ttm_operation_ctx *ctx,
				    struct ttm_resource *to)
{
	int idx, ret;

	if (tbo->ttm && ttm_tt_is_swapped(tbo->ttm)) {
		ret = ttm_bo_populate(tbo, ctx);
		if (ret)
			return ret;
	}
	if (!drm_dev_enter(tbo->base.dev, &idx))
		return -ENODEV;
	vualink_ttm_fill_vram(tbo, to);
	drm_dev_exit(idx);
	if (tbo->resource)
		ttm_bo_move_sync_cleanup(tbo, to);
	else
		ttm_bo_assign_mem(tbo, to);
	return 0;
}

static int vualink_ttm_move_from_vram(struct ttm_buffer_object *tbo,
				      struct ttm_operation_ctx *ctx,
				      struct ttm_resource *to)
{
	int idx, ret;

	ret = ttm_bo_populate(tbo, ctx);
	if (ret)
		return ret;
	/* After unplug the content is lost. */
	if (drm_dev_enter(tbo->base.dev, &idx)) {
		vualink_ttm_copy(tbo, tbo->resource, to);
		drm_dev_exit(idx);
	} else {
		vualink_ttm_clear(tbo, to);
	}
	ttm_bo_move_sync_cleanup(tbo, to);
	return 0;
}

/* Remote memory comes from nowhere, and goes nowhere. */
static int vualink_ttm_move_npa(struct ttm_buffer_object *tbo,
				struct ttm_resource *to)
{
	if (to->mem_type != TTM_PL_PRIV ||
	    (tbo->resource && tbo->resource->mem_type != TTM_PL_PRIV))
		return -EOPNOTSUPP;
	ttm_bo_move_null(tbo, to);
	return 0;
}

static int vualink_ttm_move(struct ttm_buffer_object *tbo, bool evict,
			    struct ttm_operation_ctx *ctx,
			    struct ttm_resource *to, struct ttm_place *hop)
{
	struct ttm_resource *from = tbo->resource;
	int ret;

	if (to->mem_type == TTM_PL_PRIV ||
	    (from && from->mem_type == TTM_PL_PRIV))
		return vualink_ttm_move_npa(tbo, to);
	if (from) {
		if (vualink_ttm_stays(tbo))
			return -EIO;
		ret = ttm_bo_wait_ctx(tbo, ctx);
		if (ret)
			return ret;
		ret = vualink_vm_evict(ttm_to_vualink_bo(tbo));
		if (ret)
			return ret;
	}
	if (to->mem_type == TTM_PL_VRAM)
		return vualink_ttm_move_to_vram(tbo, ctx, to);
	if (from && from->mem_type == TTM_PL_VRAM)
		return vualink_ttm_move_from_vram(tbo, ctx, to);
	/* Between places that have the pages in system memory, or first of all. */
	ttm_bo_move_null(tbo, to);
	return 0;
}

/* Only what TTM has pages for can be mapped by TTM itself. */
static int vualink_ttm_io_mem_reserve(struct ttm_device *bdev,
				      struct ttm_resource *res)
{
	return ttm_manager_type(bdev, res->mem_type)->use_tt ? 0 : -EOPNOTSUPP;
}

static int vualink_ttm_access_vram(struct ttm_buffer_object *tbo, u64 offset,
				   void *buf, int len, bool write)
{
	struct vualink_device *vdev = ttm_to_vualink(tbo->bdev);
	u64 addr = vualink_vram_offset(tbo->resource, offset);
	struct page *page = vualink_hw_vram_page(vdev->hw, addr);

	len = min_t(int, len, PAGE_SIZE - offset_in_page(addr));
	if (write)
		memcpy_to_page(page, offset_in_page(addr), buf, len);
	else
		memcpy_from_page(buf, page, offset_in_page(addr), len);
	return len;
}

static int vualink_ttm_access_memory(struct ttm_buffer_object *tbo,
				     unsigned long offset, void *buf, int len,
				     int write)
{
	int idx, done;

	if (tbo->resource->mem_type != TTM_PL_VRAM)
		return -EOPNOTSUPP;
	if (!drm_dev_enter(tbo->base.dev, &idx))
		return -EIO;
	for (done = 0; done < len;)
		done += vualink_ttm_access_vram(tbo, offset + done, buf + done,
						len - done, write);
	drm_dev_exit(idx);
	return done;
}

const struct ttm_device_funcs vualink_ttm_funcs = {
	.ttm_tt_create = vualink_ttm_tt_create,
	.ttm_tt_destroy = vualink_ttm_tt_destroy,
	.eviction_valuable = vualink_ttm_eviction_valuable,
	.evict_flags = vualink_ttm_evict_flags,
	.move = vualink_ttm_move,
	.io_mem_reserve = vualink_ttm_io_mem_reserve,
	.access_memory = vualink_ttm_access_memory,
};
