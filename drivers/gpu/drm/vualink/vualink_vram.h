/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_VRAM_H_
#define _VUALINK_VRAM_H_

#include <linux/gpu_buddy.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/ttm/ttm_resource.h>

struct vualink_device;

/**
 * struct vualink_vram - manager of VRAM
 */
struct vualink_vram {
	/** @base: the TTM manager of %TTM_PL_VRAM */
	struct ttm_resource_manager base;

	/** @lock: protects @mm, @visible_used and the blocks of all resources */
	struct mutex lock;

	/** @mm: what is free */
	struct gpu_buddy mm;

	/** @visible_size: bytes that the CPU can reach. Immutable */
	u64 visible_size;

	/** @visible_used: bytes of them in use */
	u64 visible_used;

	/** @closed: it is being emptied, nothing new may be in it; WRITE_ONCE() */
	bool closed;

	/** @scatter: let no two pages of an object be neighbours, if possible */
	bool scatter;
};

/**
 * struct vualink_vram_cursor - a place in a resource of VRAM
 *
 * The caller keeps the resource from going away, by holding the dma_resv lock
 * of its object or by a pin.
 */
struct vualink_vram_cursor {
	/** @blocks: all blocks */
	const struct list_head *blocks;

	/** @block: the next one */
	struct gpu_buddy_block *block;

	/** @mm: where they are from */
	struct gpu_buddy *mm;

	/** @addr: VRAM offset */
	u64 addr;

	/** @size: bytes from there on that are in one piece */
	u64 size;

	/** @left: bytes from there on to the end */
	u64 left;
};

int vualink_vram_init(struct vualink_device *vdev, u64 size, u64 visible_size);
void vualink_vram_cursor_init(struct vualink_vram_cursor *cur,
			      struct ttm_resource *res, u64 offset, u64 size);
void vualink_vram_cursor_next(struct vualink_vram_cursor *cur, u64 size);
u64 vualink_vram_offset(struct ttm_resource *res, u64 offset);

#endif /* _VUALINK_VRAM_H_ */
