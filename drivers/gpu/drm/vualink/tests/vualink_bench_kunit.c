// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What it costs to map and unmap a range of the NPA segment, against the generic
 * radix page table of the IOMMU subsystem doing the same: the same pages, the same
 * sizes, tables allocated and freed. Prints ratios, medians of several runs on one
 * kernel, in lines that begin with "bench:".
 */

#include <kunit/device.h>
#include <kunit/test.h>

#include <linux/generic_pt/iommu.h>
#include <linux/iommu.h>
#include <linux/ktime.h>
#include <linux/sort.h>

#include "iommu-pages.h"

#include "../vualink_hw.h"
#include "../vualink_pt.h"

#define BENCH_VA	(4ull * SZ_1G)
#define BENCH_RUNS	9
/* Runs that warm caches, and are not counted */
#define BENCH_WARM	2

struct bench_case {
	const char *key;
	u64 page;
	u64 size;
};

static const struct bench_case bench_cases[] = {
	{ "npa_map_4k_vs_generic_pt", SZ_4K, SZ_64M },
	{ "npa_map_2m_vs_generic_pt", SZ_2M, 16ull * SZ_1G },
};

/* Not aligned to what the case does not use, so that no larger block is possible. */
static u64 bench_addr(const struct bench_case *c)
{
	return 32ull * SZ_1G + c->page;
}

static int compare_u64(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 bench_median(struct kunit *test, u64 (*run)(struct kunit *, const struct bench_case *),
			const struct bench_case *c)
{
	u64 ns[BENCH_RUNS];
	int i;

	for (i = 0; i < BENCH_WARM; i++)
		run(test, c);
	for (i = 0; i < BENCH_RUNS; i++)
		ns[i] = run(test, c);
	sort(ns, BENCH_RUNS, sizeof(*ns), compare_u64, NULL);
	return ns[BENCH_RUNS / 2];
}

/* Ours */

static int table_alloc(void *priv, struct vualink_pt_mem *mem)
{
	mem->pte = (__le64 *)get_zeroed_page(GFP_KERNEL);
	if (!mem->pte)
		return -ENOMEM;
	mem->addr = virt_to_phys(mem->pte);
	return 0;
}

static void table_free(void *priv, struct vualink_pt_mem *mem)
{
	free_page((unsigned long)mem->pte);
}

static const struct vualink_pt_ops table_ops = {
	.alloc = table_alloc,
	.free = table_free,
};

static int ours_map(struct vualink_pt *pt, u64 addr, u64 size)
{
	int ret;

	do {
		mutex_lock(&pt->lock);
		ret = vualink_pt_populate(pt, BENCH_VA, addr, size);
		if (!ret)
			ret = vualink_pt_map(pt, BENCH_VA, addr, size, VUALINK_PTE_WRITE);
		mutex_unlock(&pt->lock);
	} while (ret == -EAGAIN && !(ret = vualink_pt_refill(pt)));
	return ret;
}

static void ours_unmap(struct vualink_pt *pt, u64 size)
{
	LIST_HEAD(garbage);

	mutex_lock(&pt->lock);
	vualink_pt_unmap(pt, BENCH_VA, size);
	vualink_pt_trim(pt, 0, &garbage);
	mutex_unlock(&pt->lock);
	vualink_pt_free_garbage(pt, &garbage);
}

static u64 run_ours(struct kunit *test, const struct bench_case *c)
{
	atomic64_t writes = ATOMIC64_INIT(0);
	struct vualink_pt pt;
	u64 start, ns;

	KUNIT_ASSERT_EQ(test, vualink_pt_init(&pt, &table_ops, NULL, &writes), 0);
	start = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, ours_map(&pt, bench_addr(c), c->size), 0);
	ours_unmap(&pt, c->size);
	ns = ktime_get_ns() - start;
	/* Each page was written once and cleared once; tables come on top. */
	KUNIT_EXPECT_GE(test, (u64)atomic64_read(&writes), 2 * c->size / c->page);
	KUNIT_EXPECT_LE(test, (u64)atomic64_read(&writes), 3 * c->size / c->page + 64);
	vualink_pt_fini(&pt);
	return ns;
}

/* Theirs */

struct bench_iommu {
	union {
		struct iommu_domain domain;
		struct pt_iommu_amdv1 amdv1;
	};
	/* The table wants one; nobody else is there */
	spinlock_t top_lock;
};

PT_IOMMU_CHECK_DOMAIN(struct bench_iommu, amdv1.iommu, domain);

static void iotlb_sync(struct iommu_domain *domain, struct iommu_iotlb_gather *gather)
{
	iommu_put_pages_list(&gather->freelist);
}

static const struct iommu_domain_ops domain_ops = {
	IOMMU_PT_DOMAIN_OPS(amdv1),
	.iotlb_sync = iotlb_sync,
};

static void change_top(struct pt_iommu *table, phys_addr_t top, unsigned int level)
{
}

static spinlock_t *get_top_lock(struct pt_iommu *table)
{
	return &container_of(table, struct bench_iommu, amdv1.iommu)->top_lock;
}

static const struct pt_iommu_driver_ops driver_ops = {
	.change_top = change_top,
	.get_top_lock = get_top_lock,
};

static u64 run_generic(struct kunit *test, const struct bench_case *c)
{
	struct pt_iommu_amdv1_cfg cfg = {
		.starting_level = 3,
		.common.hw_max_vasz_lg2 = 48,
		.common.hw_max_oasz_lg2 = 52,
		.common.features = BIT(PT_FEAT_DYNAMIC_TOP) |
				   BIT(PT_FEAT_AMDV1_ENCRYPT_TABLES) |
				   BIT(PT_FEAT_AMDV1_FORCE_COHERENCE),
	};
	struct bench_iommu *bench = test->priv;
	u64 start, ns;

	bench->domain.ops = &domain_ops;
	KUNIT_ASSERT_EQ(test, pt_iommu_amdv1_init(&bench->amdv1, &cfg, GFP_KERNEL), 0);
	bench->domain.pgsize_bitmap = c->page;

	start = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, iommu_map(&bench->domain, BENCH_VA, bench_addr(c), c->size,
					IOMMU_READ | IOMMU_WRITE, GFP_KERNEL), 0);
	KUNIT_EXPECT_EQ(test, (u64)iommu_unmap(&bench->domain, BENCH_VA, c->size), c->size);
	ns = ktime_get_ns() - start;
	pt_iommu_deinit(&bench->amdv1.iommu);
	return ns;
}

static void npa_map_vs_generic_pt(struct kunit *test)
{
	const struct bench_case *c = test->param_value;
	u64 ours = bench_median(test, run_ours, c);
	u64 generic = bench_median(test, run_generic, c);

	kunit_info(test, "bench: %s %llu.%03llu\n", c->key, ours / generic,
		   ours * 1000 / generic % 1000);
	kunit_info(test, "bench: %s_ns_per_page %llu\n", c->key, ours * c->page / c->size);
	KUNIT_EXPECT_GT(test, ours, 0ull);
}

static int bench_init(struct kunit *test)
{
	struct bench_iommu *bench = kunit_kzalloc(test, sizeof(*bench), GFP_KERNEL);
	struct device *dev = kunit_device_register(test, "vualink-bench");

	KUNIT_ASSERT_NOT_NULL(test, bench);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	set_dev_node(dev, NUMA_NO_NODE);
	spin_lock_init(&bench->top_lock);
	bench->amdv1.iommu.nid = NUMA_NO_NODE;
	bench->amdv1.iommu.driver_ops = &driver_ops;
	bench->amdv1.iommu.iommu_device = dev;
	test->priv = bench;
	return 0;
}

KUNIT_ARRAY_PARAM_DESC(bench, bench_cases, key);

static struct kunit_case bench_kunit_cases[] = {
	KUNIT_CASE_PARAM_ATTR(npa_map_vs_generic_pt, bench_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite bench_suite = {
	.name = "vualink_bench",
	.init = bench_init,
	.test_cases = bench_kunit_cases,
};

kunit_test_suite(bench_suite);

MODULE_DESCRIPTION("Benchmark of the NPA page tables");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_IMPORT_NS("GENERIC_PT_IOMMU");
