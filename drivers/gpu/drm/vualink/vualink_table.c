// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitops.h>
#include <linux/dma-resv.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>

#include "vualink_bo.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_table.h"

/*
 * Memory of page tables: pinned objects in VRAM of some tables each, so that
 * TTM makes room for them as for all others, and the cgroup of who needs them
 * is charged.
 */

#define VUALINK_TABLE_CHUNK	16

/**
 * struct vualink_table_chunk - an object full of tables
 * @link: entry in &vualink_table_pool.chunks
 * @bo: the memory. A reference
 * @addr: VRAM offset of it
 * @free: bitmap of tables that are not in use
 * @destroy: ends it, if that has to wait
 */
struct vualink_table_chunk {
	struct list_head link;
	struct vualink_bo *bo;
	u64 addr;
	unsigned long free;
	struct work_struct destroy;
};

static void vualink_table_chunk_destroy_work(struct work_struct *work);

static struct vualink_table_chunk *
vualink_table_chunk_create(struct vualink_device *vdev)
{
	u64 size = ALIGN(VUALINK_TABLE_CHUNK * VUALINK_PAGE_SIZE, PAGE_SIZE);
	struct vualink_table_chunk *chunk;
	struct vualink_bo *bo;

	chunk = kzalloc_obj(*chunk, GFP_KERNEL_ACCOUNT);
	if (!chunk)
		return ERR_PTR(-ENOMEM);
	bo = vualink_bo_create(vdev, VUALINK_BO_TABLE, size, false, NULL);
	if (IS_ERR(bo)) {
		kfree(chunk);
		return ERR_CAST(bo);
	}
	chunk->bo = bo;
	chunk->addr = vualink_vram_offset(bo->tbo.resource, 0);
	chunk->free = GENMASK(VUALINK_TABLE_CHUNK - 1, 0);
	INIT_WORK(&chunk->destroy, vualink_table_chunk_destroy_work);
	return chunk;
}

static void vualink_table_chunk_destroy_locked(struct vualink_table_chunk *chunk)
{
	ttm_bo_unpin(&chunk->bo->tbo);
	dma_resv_unlock(chunk->bo->tbo.base.resv);
	vualink_bo_put(chunk->bo);
	kfree(chunk);
}

static void vualink_table_chunk_destroy_work(struct work_struct *work)
{
	struct vualink_table_chunk *chunk = container_of(work, typeof(*chunk),
							 destroy);
	struct drm_device *drm = chunk->bo->tbo.base.dev;

	dma_resv_lock(chunk->bo->tbo.base.resv, NULL);
	vualink_table_chunk_destroy_locked(chunk);
	drm_dev_put(drm);
}

/*
 * Others' dma_resv locks may be held, so that this one is only tried. Who has it
 * but for us is TTM, on its way along a list of objects.
 */
static void vualink_table_chunk_destroy(struct vualink_table_chunk *chunk)
{
	if (dma_resv_trylock(chunk->bo->tbo.base.resv)) {
		vualink_table_chunk_destroy_locked(chunk);
		return;
	}
	/* Pairs with the put in vualink_table_chunk_destroy_work(). */
	drm_dev_get(chunk->bo->tbo.base.dev);
	queue_work(vualink_wq, &chunk->destroy);
}

static bool vualink_table_chunk_unused(const struct vualink_table_chunk *chunk)
{
	return chunk->free == GENMASK(VUALINK_TABLE_CHUNK - 1, 0);
}

static struct vualink_table_chunk *
vualink_table_pool_first(struct vualink_table_pool *pool)
{
	struct vualink_table_chunk *chunk;

	lockdep_assert_held(&pool->lock);
	chunk = list_first_entry_or_null(&pool->chunks,
					 struct vualink_table_chunk, link);
	return chunk && chunk->free ? chunk : NULL;
}

/* Takes a table of a chunk that has one; false if there is none. */
static bool vualink_table_pool_take_locked(struct vualink_table_pool *pool,
					   struct vualink_pt_mem *mem)
{
	struct vualink_table_chunk *chunk;
	unsigned long index;

	chunk = vualink_table_pool_first(pool);
	if (!chunk)
		return false;

	index = __ffs(chunk->free);
	chunk->free &= ~BIT(index);
	if (!chunk->free)
		list_move_tail(&chunk->link, &pool->chunks);
	mem->addr = chunk->addr + index * VUALINK_PAGE_SIZE;
	mem->priv = chunk;
	return true;
}

static bool vualink_table_pool_take(struct vualink_table_pool *pool,
				    struct vualink_pt_mem *mem)
{
	guard(mutex)(&pool->lock);
	return vualink_table_pool_take_locked(pool, mem);
}

/*
 * The chunk is made without the lock, as TTM may evict what our tables map. It
 * comes with its first table taken: one that nobody has a table of would never
 * be destroyed.
 */
static int vualink_table_pool_grow(struct vualink_table_pool *pool,
				   struct vualink_pt_mem *mem)
{
	struct vualink_table_chunk *chunk;

	chunk = vualink_table_chunk_create(pool->vdev);
	if (IS_ERR(chunk))
		return PTR_ERR(chunk);

	guard(mutex)(&pool->lock);
	list_add(&chunk->link, &pool->chunks);
	vualink_table_pool_take_locked(pool, mem);
	return 0;
}

static int vualink_table_alloc(void *priv, struct vualink_pt_mem *mem)
{
	struct vualink_table_pool *pool = priv;
	struct page *page;
	int idx, ret;

	if (!vualink_table_pool_take(pool, mem)) {
		ret = vualink_table_pool_grow(pool, mem);
		if (ret)
			return ret;
	}

	if (!drm_dev_enter(&pool->vdev->drm, &idx)) {
		vualink_table_ops.free(pool, mem);
		return -ENODEV;
	}
	page = vualink_hw_vram_page(pool->vdev->hw, mem->addr);
	mem->pte = page_address(page) + offset_in_page(mem->addr);
	memset(mem->pte, 0, VUALINK_PAGE_SIZE);
	drm_dev_exit(idx);
	return 0;
}

static void vualink_table_free(void *priv, struct vualink_pt_mem *mem)
{
	struct vualink_table_chunk *chunk = mem->priv;
	struct vualink_table_pool *pool = priv;
	bool unused;

	mutex_lock(&pool->lock);
	chunk->free |= BIT((mem->addr - chunk->addr) >> VUALINK_PAGE_SHIFT);
	unused = vualink_table_chunk_unused(chunk);
	if (unused)
		list_del(&chunk->link);
	else
		list_move(&chunk->link, &pool->chunks);
	mutex_unlock(&pool->lock);
	if (unused)
		vualink_table_chunk_destroy(chunk);
}

const struct vualink_pt_ops vualink_table_ops = {
	.alloc = vualink_table_alloc,
	.free = vualink_table_free,
};

void vualink_table_pool_init(struct vualink_table_pool *pool,
			     struct vualink_device *vdev)
{
	pool->vdev = vdev;
	mutex_init(&pool->lock);
	INIT_LIST_HEAD(&pool->chunks);
}

/* All tables have been freed. */
void vualink_table_pool_fini(struct vualink_table_pool *pool)
{
	WARN_ON(!list_empty(&pool->chunks));
	mutex_destroy(&pool->lock);
}
