// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bug.h>
#include <linux/dma-resv.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>

#include "drm_ualink_internal.h"

/**
 * DOC: TTM pool
 *
 * Import objects live in a pool of their own, "NPA". Its manager allocates
 * nothing: a resource is the record of the window that the exporter named, and
 * it does not matter whether another resource, that of an object which is just
 * being destroyed or of one that came by PRIME, covers the same window.
 *
 * An import object is never anywhere else. It cannot be moved or copied by the
 * CPU, and to evict it would free nothing. So a driver's &struct
 * ttm_device_funcs does this for resources of the pool:
 *
 * - &ttm_device_funcs.eviction_valuable returns false;
 * - &ttm_device_funcs.evict_flags sets the placement that
 *   drm_ualink_npa_place() describes, never an empty one: for TTM that means to
 *   take the resource away, and to call it a success;
 * - &ttm_device_funcs.move calls ttm_bo_move_null() if the object had no
 *   resource or one of the pool before, and fails with %-EOPNOTSUPP for any
 *   other move from or to the pool;
 * - &ttm_device_funcs.io_mem_reserve fails with %-EOPNOTSUPP. TTM takes it for
 *   success if there is no such function;
 * - &ttm_device_funcs.access_memory fails with %-EOPNOTSUPP.
 *
 * A dead import gets no resource, and one that it has fits no placement any
 * more, so that to validate it fails with %-ENODEV.
 */

static struct drm_ualink_imported *bo_to_imported(struct ttm_buffer_object *bo)
{
	return gem_to_imported(&bo->base);
}

static int npa_man_alloc(struct ttm_resource_manager *man, struct ttm_buffer_object *bo,
			 const struct ttm_place *place, struct ttm_resource **res)
{
	struct drm_ualink_imported *imported = bo_to_imported(bo);
	struct drm_ualink_npa_resource *npa;

	dma_resv_assert_held(bo->base.resv);
	if (!imported || imported->size != bo->base.size)
		return -EINVAL;
	if (imported->dead)
		return -ENODEV;

	npa = kzalloc_obj(*npa);
	if (!npa)
		return -ENOMEM;

	/* The start stays 0: where it is not used, it is not shown. */
	ttm_resource_init(bo, place, &npa->base);
	npa->npa = imported->npa;
	npa->size = imported->size;
	*res = &npa->base;
	return 0;
}

static void npa_man_free(struct ttm_resource_manager *man, struct ttm_resource *res)
{
	ttm_resource_fini(man, res);
	kfree(to_drm_ualink_npa_resource(res));
}

/* There is always room: nothing has to go for a new resource. */
static bool npa_man_intersects(struct ttm_resource_manager *man, struct ttm_resource *res,
			       const struct ttm_place *place, size_t size)
{
	return false;
}

static bool npa_man_compatible(struct ttm_resource_manager *man, struct ttm_resource *res,
			       const struct ttm_place *place, size_t size)
{
	struct drm_ualink_imported *imported = bo_to_imported(res->bo);

	return imported && !imported->dead;
}

static void npa_man_debug(struct ttm_resource_manager *man, struct drm_printer *p)
{
	drm_printf(p, "  remote memory: %llu bytes\n", ttm_resource_manager_usage(man));
}

static const struct ttm_resource_manager_func npa_man_func = {
	.alloc = npa_man_alloc,
	.free = npa_man_free,
	.intersects = npa_man_intersects,
	.compatible = npa_man_compatible,
	.debug = npa_man_debug,
};

/**
 * drm_ualink_npa_man_init - add the pool NPA to a TTM device
 * @bdev: the TTM device
 * @mem_type: the driver's number for the pool, from %TTM_PL_PRIV on
 *
 * Return: %0 on success, %-ENOMEM otherwise.
 */
int drm_ualink_npa_man_init(struct ttm_device *bdev, u32 mem_type)
{
	struct ttm_resource_manager *man;

	man = kzalloc_obj(*man);
	if (!man)
		return -ENOMEM;

	man->func = &npa_man_func;
	ttm_resource_manager_init(man, bdev, 0);
	ttm_set_driver_manager(bdev, mem_type, man);
	ttm_resource_manager_set_used(man, true);
	return 0;
}
EXPORT_SYMBOL_GPL(drm_ualink_npa_man_init);

/**
 * drm_ualink_npa_man_fini - remove the pool NPA from a TTM device
 * @bdev: the TTM device
 * @mem_type: the driver's number for the pool
 *
 * All objects of the pool have been freed, at least by their users. If one has
 * not, which is a bug of the driver, the pool stays, and is leaked.
 */
void drm_ualink_npa_man_fini(struct ttm_device *bdev, u32 mem_type)
{
	struct ttm_resource_manager *man = ttm_manager_type(bdev, mem_type);
	u64 usage;

	if (!man)
		return;

	/* Waits for those that TTM has not destroyed yet. None can be evicted. */
	flush_workqueue(bdev->wq);
	usage = ttm_resource_manager_usage(man);
	if (WARN(usage, "%llu bytes of remote memory are still in use\n", usage))
		return;

	ttm_resource_manager_set_used(man, false);
	ttm_resource_manager_cleanup(man);
	ttm_set_driver_manager(bdev, mem_type, NULL);
	kfree(man);
}
EXPORT_SYMBOL_GPL(drm_ualink_npa_man_fini);

/**
 * drm_ualink_npa_place - describe the only place where an import object can be
 * @place: filled in
 * @mem_type: the driver's number for the pool
 */
void drm_ualink_npa_place(struct ttm_place *place, u32 mem_type)
{
	*place = (struct ttm_place) { .mem_type = mem_type };
}
EXPORT_SYMBOL_GPL(drm_ualink_npa_place);

/**
 * drm_ualink_npa_validate - validate an import object
 * @bo: its TTM object, with its dma_resv held
 * @mem_type: the driver's number for the pool
 * @ctx: how to wait
 *
 * Return: %0 on success, %-ENODEV if the import is dead, else what
 * ttm_bo_validate() says.
 */
int drm_ualink_npa_validate(struct ttm_buffer_object *bo, u32 mem_type,
			    struct ttm_operation_ctx *ctx)
{
	struct ttm_place place;
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };

	if (drm_ualink_gem_dead(&bo->base))
		return -ENODEV;

	drm_ualink_npa_place(&place, mem_type);
	return ttm_bo_validate(bo, &placement, ctx);
}
EXPORT_SYMBOL_GPL(drm_ualink_npa_validate);
