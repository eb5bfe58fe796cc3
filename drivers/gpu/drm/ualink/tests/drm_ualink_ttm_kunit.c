// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The TTM pool of remote memory, with objects that no core stands behind.
 */

#include <kunit/test.h>

#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/sizes.h>

#include <drm/drm_drv.h>
#include <drm/drm_kunit_helpers.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_tt.h>

#include "../drm_ualink_internal.h"

#define TEST_PL_NPA	(TTM_PL_PRIV + 1)
#define TEST_SIZE	SZ_64K
#define TEST_NPA	((1023ULL << 46) | SZ_2M)

struct ttm_test {
	struct drm_device *drm;
	struct ttm_device bdev;
	struct drm_ualink ual;
	struct ttm_resource_manager *man;
};

static struct ttm_tt *test_tt_create(struct ttm_buffer_object *bo, u32 page_flags)
{
	struct ttm_tt *tt = kzalloc_obj(*tt);

	if (tt)
		ttm_tt_init(tt, bo, page_flags, ttm_cached, 0);
	return tt;
}

static void test_tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	ttm_tt_fini(tt);
	kfree(tt);
}

static bool test_eviction_valuable(struct ttm_buffer_object *bo, const struct ttm_place *place)
{
	return bo->resource->mem_type != TEST_PL_NPA && ttm_bo_eviction_valuable(bo, place);
}

static void test_evict_flags(struct ttm_buffer_object *bo, struct ttm_placement *placement)
{
	static struct ttm_place place;

	drm_ualink_npa_place(&place, TEST_PL_NPA);
	placement->num_placement = 1;
	placement->placement = &place;
}

static int test_move(struct ttm_buffer_object *bo, bool evict, struct ttm_operation_ctx *ctx,
		     struct ttm_resource *new_mem, struct ttm_place *hop)
{
	if (new_mem->mem_type != TEST_PL_NPA)
		return -EOPNOTSUPP;
	if (bo->resource && bo->resource->mem_type != TEST_PL_NPA)
		return -EOPNOTSUPP;
	ttm_bo_move_null(bo, new_mem);
	return 0;
}

static int test_io_mem_reserve(struct ttm_device *bdev, struct ttm_resource *mem)
{
	return mem->mem_type == TEST_PL_NPA ? -EOPNOTSUPP : 0;
}

static const struct ttm_device_funcs test_funcs = {
	.ttm_tt_create = test_tt_create,
	.ttm_tt_destroy = test_tt_destroy,
	.eviction_valuable = test_eviction_valuable,
	.evict_flags = test_evict_flags,
	.move = test_move,
	.io_mem_reserve = test_io_mem_reserve,
};

static void test_bo_destroy(struct ttm_buffer_object *bo)
{
	drm_ualink_gem_release(&bo->base);
	drm_gem_object_release(&bo->base);
	kfree(bo);
}

static struct ttm_buffer_object *bo_alloc(struct kunit *test, size_t size)
{
	struct ttm_test *t = test->priv;
	struct ttm_buffer_object *bo = kzalloc_obj(*bo);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	drm_gem_private_object_init(t->drm, &bo->base, size);
	return bo;
}

static void make_import(struct kunit *test, struct ttm_buffer_object *bo, u64 npa, u64 size)
{
	struct ttm_test *t = test->priv;
	struct drm_ualink_imported *imported = kzalloc_obj(*imported);

	KUNIT_ASSERT_NOT_NULL(test, imported);
	kref_get(&t->ual.ref);
	imported->base.ual = &t->ual;
	ualink_ref_add(&t->ual.refs, &imported->base.ual_ref);
	imported->base.obj = &bo->base;
	imported->base.imported = true;
	mutex_init(&imported->base.mutex);
	INIT_LIST_HEAD(&imported->aliases);
	imported->npa = npa;
	imported->size = size;
	imported->access = UALINK_ACCESS_READ;
	bo->base.ualink = &imported->base;
}

/* Frees @bo if it fails. */
static int bo_place(struct ttm_test *t, struct ttm_buffer_object *bo)
{
	struct ttm_operation_ctx ctx = {};
	struct ttm_place place;
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	int ret;

	drm_ualink_npa_place(&place, TEST_PL_NPA);
	ret = ttm_bo_init_reserved(&t->bdev, bo, ttm_bo_type_sg, &placement, 0, &ctx,
				   NULL, NULL, test_bo_destroy);
	if (!ret)
		dma_resv_unlock(bo->base.resv);
	return ret;
}

static struct ttm_buffer_object *import_create(struct kunit *test, u64 npa)
{
	struct ttm_buffer_object *bo = bo_alloc(test, TEST_SIZE);

	make_import(test, bo, npa, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, bo_place(test->priv, bo), 0);
	return bo;
}

static void mark_dead(struct ttm_buffer_object *bo)
{
	dma_resv_lock(bo->base.resv, NULL);
	gem_to_imported(&bo->base)->dead = true;
	dma_resv_unlock(bo->base.resv);
}

static void ttm_exact_window(struct kunit *test)
{
	struct ttm_test *t = test->priv;
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct drm_ualink_npa_resource *npa = to_drm_ualink_npa_resource(bo->resource);
	struct drm_ualink_window window;

	KUNIT_EXPECT_EQ(test, bo->resource->mem_type, TEST_PL_NPA);
	KUNIT_EXPECT_EQ(test, npa->npa, TEST_NPA);
	KUNIT_EXPECT_EQ(test, npa->size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), TEST_SIZE);
	/* Not where somebody could print it */
	KUNIT_EXPECT_EQ(test, bo->resource->start, 0);
	KUNIT_EXPECT_NULL(test, bo->ttm);

	dma_resv_lock(bo->base.resv, NULL);
	drm_ualink_gem_window(&bo->base, &window);
	dma_resv_unlock(bo->base.resv);
	KUNIT_EXPECT_EQ(test, window.npa, TEST_NPA);
	KUNIT_EXPECT_EQ(test, window.size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, window.access, UALINK_ACCESS_READ);

	ttm_bo_fini(bo);
	flush_workqueue(t->bdev.wq);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), 0);
}

static void ttm_overlap(struct kunit *test)
{
	struct ttm_test *t = test->priv;
	struct ttm_buffer_object *a = import_create(test, TEST_NPA);
	struct ttm_buffer_object *b = import_create(test, TEST_NPA);
	struct ttm_buffer_object *c = import_create(test, TEST_NPA + PAGE_SIZE);

	KUNIT_EXPECT_EQ(test, to_drm_ualink_npa_resource(a->resource)->npa,
			to_drm_ualink_npa_resource(b->resource)->npa);
	KUNIT_EXPECT_EQ(test, to_drm_ualink_npa_resource(c->resource)->npa,
			TEST_NPA + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), 3 * TEST_SIZE);

	/* One of them goes, the others stay where they are. */
	ttm_bo_fini(a);
	flush_workqueue(t->bdev.wq);
	KUNIT_EXPECT_EQ(test, to_drm_ualink_npa_resource(b->resource)->npa, TEST_NPA);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), 2 * TEST_SIZE);

	ttm_bo_fini(b);
	ttm_bo_fini(c);
	flush_workqueue(t->bdev.wq);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), 0);
}

static void ttm_validate_stays(struct kunit *test)
{
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct ttm_resource *before = bo->resource;
	struct ttm_operation_ctx ctx = {};

	dma_resv_lock(bo->base.resv, NULL);
	KUNIT_EXPECT_EQ(test, drm_ualink_npa_validate(bo, TEST_PL_NPA, &ctx), 0);
	dma_resv_unlock(bo->base.resv);
	KUNIT_EXPECT_PTR_EQ(test, bo->resource, before);
	KUNIT_EXPECT_EQ(test, ctx.bytes_moved, 0);

	ttm_bo_fini(bo);
}

/* Whether a driver asks us or TTM: it is an error, and not an object without memory. */
static void ttm_validate_dead(struct kunit *test)
{
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct ttm_resource *before = bo->resource;
	struct ttm_operation_ctx ctx = {};
	struct ttm_place place;
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };

	drm_ualink_npa_place(&place, TEST_PL_NPA);
	mark_dead(bo);

	dma_resv_lock(bo->base.resv, NULL);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_dead(&bo->base));
	KUNIT_EXPECT_EQ(test, drm_ualink_npa_validate(bo, TEST_PL_NPA, &ctx), -ENODEV);
	KUNIT_EXPECT_EQ(test, ttm_bo_validate(bo, &placement, &ctx), -ENODEV);
	dma_resv_unlock(bo->base.resv);
	KUNIT_EXPECT_PTR_EQ(test, bo->resource, before);

	ttm_bo_fini(bo);
}

static void ttm_create_dead(struct kunit *test)
{
	struct ttm_test *t = test->priv;
	struct ttm_buffer_object *bo = bo_alloc(test, TEST_SIZE);

	make_import(test, bo, TEST_NPA, TEST_SIZE);
	mark_dead(bo);
	KUNIT_EXPECT_EQ(test, bo_place(t, bo), -ENODEV);
	flush_workqueue(t->bdev.wq);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), 0);
}

static void ttm_not_an_import(struct kunit *test)
{
	struct ttm_test *t = test->priv;
	struct ttm_buffer_object *bo = bo_alloc(test, TEST_SIZE);

	KUNIT_EXPECT_EQ(test, bo_place(t, bo), -EINVAL);

	bo = bo_alloc(test, TEST_SIZE);
	make_import(test, bo, TEST_NPA, 2 * TEST_SIZE);
	KUNIT_EXPECT_EQ(test, bo_place(t, bo), -EINVAL);

	flush_workqueue(t->bdev.wq);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), 0);
}

static void ttm_no_move(struct kunit *test)
{
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct ttm_resource *before = bo->resource;
	struct ttm_place place = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct ttm_operation_ctx ctx = {};

	dma_resv_lock(bo->base.resv, NULL);
	KUNIT_EXPECT_EQ(test, ttm_bo_validate(bo, &placement, &ctx), -EOPNOTSUPP);
	dma_resv_unlock(bo->base.resv);
	KUNIT_EXPECT_PTR_EQ(test, bo->resource, before);

	ttm_bo_fini(bo);
}

static void ttm_no_evict(struct kunit *test)
{
	struct ttm_test *t = test->priv;
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct ttm_place place;

	drm_ualink_npa_place(&place, TEST_PL_NPA);
	KUNIT_EXPECT_FALSE(test, t->man->func->intersects(t->man, bo->resource, &place,
							  TEST_SIZE));
	dma_resv_lock(bo->base.resv, NULL);
	KUNIT_EXPECT_FALSE(test, test_funcs.eviction_valuable(bo, &place));
	KUNIT_EXPECT_FALSE(test, test_funcs.eviction_valuable(bo, NULL));
	dma_resv_unlock(bo->base.resv);

	ttm_bo_fini(bo);
}

static void ttm_no_cpu_map(struct kunit *test)
{
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct ttm_bo_kmap_obj kmap;
	struct iosys_map map;

	dma_resv_lock(bo->base.resv, NULL);
	KUNIT_EXPECT_EQ(test, ttm_bo_kmap(bo, 0, 1, &kmap), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ttm_bo_vmap(bo, &map), -EOPNOTSUPP);
	dma_resv_unlock(bo->base.resv);

	ttm_bo_fini(bo);
}

/* A driver that forgot one learns it, and nothing is freed under the object. */
static void ttm_fini_in_use(struct kunit *test)
{
	struct ttm_buffer_object *bo = import_create(test, TEST_NPA);
	struct ttm_test *t = test->priv;

	kunit_warning_suppress(test) {
		drm_ualink_npa_man_fini(&t->bdev, TEST_PL_NPA);
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
	}
	KUNIT_EXPECT_PTR_EQ(test, ttm_manager_type(&t->bdev, TEST_PL_NPA), t->man);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(t->man), TEST_SIZE);

	ttm_bo_fini(bo);
}

static int ttm_test_init(struct kunit *test)
{
	struct ttm_test *t;
	struct device *dev;
	int ret;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	test->priv = t;

	dev = drm_kunit_helper_alloc_device(test);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	t->drm = __drm_kunit_helper_alloc_drm_device(test, dev, sizeof(*t->drm), 0, DRIVER_GEM);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->drm);

	kref_init(&t->ual.ref);
	ualink_refs_init(&t->ual.refs, "ttm_test");
	spin_lock_init(&t->ual.lock);
	t->ual.drm = t->drm;

	ret = ttm_device_init(&t->bdev, &test_funcs, dev, t->drm->anon_inode->i_mapping,
			      t->drm->vma_offset_manager, 0);
	if (ret)
		return ret;
	ret = drm_ualink_npa_man_init(&t->bdev, TEST_PL_NPA);
	if (ret) {
		ttm_device_fini(&t->bdev);
		return ret;
	}
	t->man = ttm_manager_type(&t->bdev, TEST_PL_NPA);
	return 0;
}

static void ttm_test_exit(struct kunit *test)
{
	struct ttm_test *t = test->priv;

	if (!t->man)
		return;
	drm_ualink_npa_man_fini(&t->bdev, TEST_PL_NPA);
	KUNIT_EXPECT_NULL(test, ttm_manager_type(&t->bdev, TEST_PL_NPA));
	ttm_device_fini(&t->bdev);
	/* Each object gave back its reference. */
	KUNIT_EXPECT_EQ(test, kref_read(&t->ual.ref), 1);
	ualink_refs_exit(&t->ual.refs);
}

static struct kunit_case ttm_cases[] = {
	KUNIT_CASE(ttm_exact_window),
	KUNIT_CASE(ttm_overlap),
	KUNIT_CASE(ttm_validate_stays),
	KUNIT_CASE(ttm_validate_dead),
	KUNIT_CASE(ttm_create_dead),
	KUNIT_CASE(ttm_not_an_import),
	KUNIT_CASE(ttm_no_move),
	KUNIT_CASE(ttm_no_evict),
	KUNIT_CASE(ttm_no_cpu_map),
	KUNIT_CASE(ttm_fini_in_use),
	{}
};

static struct kunit_suite ttm_suite = {
	.name = "drm_ualink_ttm",
	.init = ttm_test_init,
	.exit = ttm_test_exit,
	.test_cases = ttm_cases,
};

kunit_test_suite(ttm_suite);
