// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <kunit/test.h>

#include <linux/bits.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../vualink_hw.h"
#include "../vualink_pt.h"

/* Offset in "VRAM" of the first table, so that no pointer is 0 */
#define PT_TEST_TABLES		SZ_1M
#define PT_TEST_MAX_TABLES	2048

/**
 * struct pt_test - a page table, and the memory that it lives in
 * @pt: the page table
 * @tables: the pages of tables, by their address
 * @left: allocations until one fails
 * @writes: entries written
 */
struct pt_test {
	struct vualink_pt pt;
	__le64 *tables[PT_TEST_MAX_TABLES];
	u32 left;
	atomic64_t writes;
};

static int pt_test_alloc(void *priv, struct vualink_pt_mem *mem)
{
	struct pt_test *t = priv;
	u32 i;

	if (!t->left)
		return -ENOSPC;
	t->left--;
	for (i = 0; i < PT_TEST_MAX_TABLES && t->tables[i]; i++)
		;
	if (i == PT_TEST_MAX_TABLES)
		return -ENOMEM;
	t->tables[i] = kzalloc(VUALINK_PAGE_SIZE, GFP_KERNEL);
	if (!t->tables[i])
		return -ENOMEM;
	mem->pte = t->tables[i];
	mem->addr = PT_TEST_TABLES + i * VUALINK_PAGE_SIZE;
	return 0;
}

static u32 pt_test_table_index(u64 addr)
{
	return (addr - PT_TEST_TABLES) >> VUALINK_PAGE_SHIFT;
}

static void pt_test_free(void *priv, struct vualink_pt_mem *mem)
{
	struct pt_test *t = priv;
	u32 i = pt_test_table_index(mem->addr);

	kfree(t->tables[i]);
	t->tables[i] = NULL;
}

static const struct vualink_pt_ops pt_test_ops = {
	.alloc = pt_test_alloc,
	.free = pt_test_free,
};

static u32 pt_test_count_tables(const struct pt_test *t)
{
	u32 i, count = 0;

	for (i = 0; i < PT_TEST_MAX_TABLES; i++)
		count += !!t->tables[i];
	return count;
}

/* Tables but for those that wait for use */
static u32 pt_test_count_used(struct pt_test *t)
{
	return pt_test_count_tables(t) - list_count_nodes(&t->pt.spare[0]) -
	       list_count_nodes(&t->pt.spare[1]);
}

static int pt_test_init(struct kunit *test)
{
	struct pt_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->left = U32_MAX;
	KUNIT_ASSERT_EQ(test, vualink_pt_init(&t->pt, &pt_test_ops, t,
					      &t->writes), 0);
	test->priv = t;
	return 0;
}

static void pt_test_exit(struct kunit *test)
{
	struct pt_test *t = test->priv;

	if (!t)
		return;
	vualink_pt_fini(&t->pt);
	KUNIT_EXPECT_EQ(test, pt_test_count_tables(t), 0);
}

/* As the MMU does it: from the root, by what is in memory. 0 where it faults. */
static u64 pt_test_walk(struct kunit *test, u64 va, u32 *level)
{
	struct pt_test *t = test->priv;
	u64 table = vualink_pt_root(&t->pt);
	u64 pte = 0;
	u32 i;

	for (i = VUALINK_PT_LEVELS; i--;) {
		u32 shift = VUALINK_PAGE_SHIFT + i * VUALINK_PT_BITS;
		u32 index = pt_test_table_index(table);

		KUNIT_ASSERT_LT(test, index, PT_TEST_MAX_TABLES);
		KUNIT_ASSERT_NOT_NULL(test, t->tables[index]);
		pte = le64_to_cpu(t->tables[index][(va >> shift) & 511]);
		*level = i;
		if (!(pte & VUALINK_PTE_VALID) || !i || pte & VUALINK_PTE_BLOCK)
			break;
		table = pte & VUALINK_PTE_ADDR;
	}
	return pte & VUALINK_PTE_VALID ? pte : 0;
}

/* Where an address is mapped to, or U64_MAX */
static u64 pt_test_translate(struct kunit *test, u64 va)
{
	u32 level;
	u64 pte = pt_test_walk(test, va, &level);
	u64 mask = BIT_ULL(VUALINK_PAGE_SHIFT + level * VUALINK_PT_BITS) - 1;

	if (!pte)
		return U64_MAX;
	KUNIT_EXPECT_EQ(test, pte & VUALINK_PTE_ADDR & mask, 0);
	KUNIT_EXPECT_EQ(test, !!(pte & VUALINK_PTE_BLOCK), level > 0);
	return (pte & VUALINK_PTE_ADDR) | (va & mask);
}

static int pt_test_populate(struct kunit *test, u64 va, u64 addr, u64 size)
{
	struct pt_test *t = test->priv;
	int ret;

	do {
		mutex_lock(&t->pt.lock);
		ret = vualink_pt_populate(&t->pt, va, addr, size);
		mutex_unlock(&t->pt.lock);
	} while (ret == -EAGAIN && !(ret = vualink_pt_refill(&t->pt)));
	return ret;
}

static void pt_test_map(struct kunit *test, u64 va, u64 addr, u64 size)
{
	struct pt_test *t = test->priv;

	KUNIT_ASSERT_EQ(test, pt_test_populate(test, va, addr, size), 0);
	mutex_lock(&t->pt.lock);
	KUNIT_EXPECT_EQ(test, vualink_pt_map(&t->pt, va, addr, size,
					     VUALINK_PTE_WRITE), 0);
	mutex_unlock(&t->pt.lock);
}

static void pt_test_unmap(struct kunit *test, u64 va, u64 size, u32 keep)
{
	struct pt_test *t = test->priv;
	LIST_HEAD(garbage);

	mutex_lock(&t->pt.lock);
	vualink_pt_unmap(&t->pt, va, size);
	vualink_pt_trim(&t->pt, keep, &garbage);
	mutex_unlock(&t->pt.lock);
	vualink_pt_free_garbage(&t->pt, &garbage);
}

static void pt_test_split(struct kunit *test, u64 va)
{
	struct pt_test *t = test->priv;
	int ret;

	do {
		mutex_lock(&t->pt.lock);
		ret = vualink_pt_split(&t->pt, va);
		mutex_unlock(&t->pt.lock);
	} while (ret == -EAGAIN && !(ret = vualink_pt_refill(&t->pt)));
	KUNIT_ASSERT_EQ(test, ret, 0);
}

static u64 pt_test_writes(struct kunit *test)
{
	struct pt_test *t = test->priv;

	return atomic64_xchg(&t->writes, 0);
}

static void pt_maps_one_page(struct kunit *test)
{
	u64 va = 0x123456789000, addr = 0xabcdef000;
	u32 level;

	pt_test_map(test, va, addr, SZ_4K);
	KUNIT_EXPECT_EQ(test, pt_test_walk(test, va, &level),
			addr | VUALINK_PTE_VALID | VUALINK_PTE_WRITE);
	KUNIT_EXPECT_EQ(test, level, 0);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, va - SZ_4K), U64_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, va + SZ_4K), U64_MAX);

	pt_test_unmap(test, va, SZ_4K, 0);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, va), U64_MAX);
}

static void pt_maps_first_and_last_page(struct kunit *test)
{
	u64 last = BIT_ULL(VUALINK_VA_BITS) - SZ_4K;
	u64 addr = VUALINK_PTE_ADDR;

	pt_test_map(test, 0, addr, SZ_4K);
	pt_test_map(test, last, 0, SZ_4K);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, 0), addr);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, last), 0);
	pt_test_unmap(test, 0, BIT_ULL(VUALINK_VA_BITS), 0);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, 0), U64_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, last), U64_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_count_used(test->priv), 1);
}

/**
 * struct pt_block_case - a mapping and the entries that it must take
 * @description: what is special
 * @va: start
 * @addr: where to
 * @size: size
 * @leaves: entries at each level
 */
struct pt_block_case {
	const char *description;
	u64 va;
	u64 addr;
	u64 size;
	u32 leaves[3];
};

static const struct pt_block_case pt_block_cases[] = {
	{ "one 2 MiB block", SZ_1G, SZ_2M, SZ_2M, { 0, 1, 0 } },
	{ "one 1 GiB block", SZ_1G, SZ_1G, SZ_1G, { 0, 0, 1 } },
	{ "a page less", SZ_1G, SZ_2M, SZ_2M - SZ_4K, { 511, 0, 0 } },
	{ "a page more", SZ_1G, SZ_2M, SZ_2M + SZ_4K, { 1, 1, 0 } },
	{ "a page before", SZ_1G - SZ_4K, SZ_2M - SZ_4K, SZ_2M + SZ_4K,
	  { 1, 1, 0 } },
	{ "address not aligned", SZ_1G, SZ_4K, SZ_2M, { 512, 0, 0 } },
	{ "aligned for 2 MiB only", SZ_1G, SZ_2M, SZ_1G, { 0, 512, 0 } },
	{ "all sizes", SZ_1G - SZ_2M - SZ_4K, SZ_2G - SZ_2M - SZ_4K,
	  2 * (SZ_2M + SZ_4K) + SZ_1G, { 2, 2, 1 } },
	{ "two tables of pages", SZ_1G + SZ_1M, 0, SZ_2M, { 512, 0, 0 } },
};

KUNIT_ARRAY_PARAM_DESC(pt_block, pt_block_cases, description);

static void pt_counts_leaves(struct kunit *test, const struct pt_block_case *c,
			     u32 leaves[3])
{
	u64 va = c->va, end = c->va + c->size;
	u32 level;

	while (va < end) {
		KUNIT_ASSERT_NE(test, pt_test_walk(test, va, &level), 0);
		KUNIT_ASSERT_LE(test, level, 2);
		KUNIT_ASSERT_EQ(test, pt_test_translate(test, va),
				c->addr + va - c->va);
		leaves[level]++;
		va += BIT_ULL(VUALINK_PAGE_SHIFT + level * VUALINK_PT_BITS);
	}
	KUNIT_EXPECT_EQ(test, va, end);
}

static void pt_uses_largest_blocks(struct kunit *test)
{
	const struct pt_block_case *c = test->param_value;
	u32 leaves[3] = {};
	u64 count;

	KUNIT_ASSERT_EQ(test, pt_test_populate(test, c->va, c->addr, c->size), 0);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, c->va), U64_MAX);
	pt_test_writes(test);
	pt_test_map(test, c->va, c->addr, c->size);
	count = pt_test_writes(test);

	pt_counts_leaves(test, c, leaves);
	KUNIT_EXPECT_EQ(test, leaves[0], c->leaves[0]);
	KUNIT_EXPECT_EQ(test, leaves[1], c->leaves[1]);
	KUNIT_EXPECT_EQ(test, leaves[2], c->leaves[2]);
	KUNIT_EXPECT_EQ(test, count, leaves[0] + leaves[1] + leaves[2]);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, c->va - SZ_4K), U64_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, c->va + c->size), U64_MAX);

	pt_test_unmap(test, c->va, c->size, U32_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_writes(test), count);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, c->va), U64_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, c->va + c->size - SZ_4K),
			U64_MAX);
}

static void pt_refuses_to_map_twice(struct kunit *test)
{
	struct pt_test *t = test->priv;

	pt_test_map(test, SZ_2M, SZ_4K, SZ_8K);
	mutex_lock(&t->pt.lock);
	KUNIT_EXPECT_EQ(test, vualink_pt_map(&t->pt, SZ_2M + SZ_4K, 0, SZ_4K, 0),
			-EEXIST);
	/* A block where there is a table with pages */
	KUNIT_EXPECT_EQ(test, vualink_pt_map(&t->pt, SZ_2M, 0, SZ_2M, 0),
			-EEXIST);
	mutex_unlock(&t->pt.lock);

	pt_test_map(test, SZ_4M, 0, SZ_2M);
	mutex_lock(&t->pt.lock);
	/* A page where there is a block */
	KUNIT_EXPECT_EQ(test, vualink_pt_map(&t->pt, SZ_4M + SZ_4K, 0, SZ_4K, 0),
			-EEXIST);
	mutex_unlock(&t->pt.lock);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M), SZ_4K);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M + SZ_4K), SZ_8K);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_4M + SZ_4K), SZ_4K);
}

static void pt_splits_blocks(struct kunit *test)
{
	u64 va = SZ_1G, cut = va + SZ_512M + SZ_4K;
	u32 level;

	pt_test_map(test, va, SZ_2G, SZ_1G);
	pt_test_walk(test, cut, &level);
	KUNIT_ASSERT_EQ(test, level, 2);

	/* Where nothing has to be split */
	pt_test_writes(test);
	pt_test_split(test, va);
	pt_test_split(test, va + SZ_1G);
	pt_test_split(test, SZ_4K);
	KUNIT_EXPECT_EQ(test, pt_test_writes(test), 0);

	pt_test_split(test, cut);
	KUNIT_EXPECT_EQ(test, pt_test_writes(test), 2 * 512 + 2);
	pt_test_walk(test, cut, &level);
	KUNIT_EXPECT_EQ(test, level, 0);
	pt_test_walk(test, cut + SZ_2M, &level);
	KUNIT_EXPECT_EQ(test, level, 1);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, va), SZ_2G);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, cut), SZ_2G + cut - va);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, va + SZ_1G - SZ_4K),
			SZ_2G + SZ_1G - SZ_4K);

	pt_test_unmap(test, cut, SZ_4K, U32_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, cut), U64_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, cut - SZ_4K),
			SZ_2G + cut - SZ_4K - va);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, cut + SZ_4K),
			SZ_2G + cut + SZ_4K - va);
}

/* What is in the way of a new mapping is split, but not changed, beforehand. */
static void pt_populate_changes_no_mapping(struct kunit *test)
{
	struct pt_test *t = test->priv;

	pt_test_map(test, SZ_2M, SZ_2M, SZ_2M);
	KUNIT_ASSERT_EQ(test, pt_test_populate(test, SZ_2M + SZ_4K, 0, SZ_8K), 0);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M), SZ_2M);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M + SZ_8K),
			SZ_2M + SZ_8K);

	/* From here on nothing can be allocated. */
	t->left = 0;
	pt_test_unmap(test, SZ_2M + SZ_4K, SZ_8K, U32_MAX);
	pt_test_map(test, SZ_2M + SZ_4K, 0, SZ_8K);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M), SZ_2M);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M + SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M + SZ_8K), SZ_4K);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_2M + SZ_8K + SZ_4K),
			SZ_2M + SZ_8K + SZ_4K);
}

static void pt_puts_blocks_in_place_of_tables(struct kunit *test)
{
	struct pt_test *t = test->priv;
	LIST_HEAD(garbage);
	u32 level;

	/* 512 tables of pages, all emptied but left in place */
	pt_test_map(test, SZ_1G, SZ_4K, SZ_1G);
	pt_test_unmap(test, SZ_1G, SZ_1G, U32_MAX);
	KUNIT_EXPECT_EQ(test, pt_test_count_used(t), 3 + 512);

	t->left = 0;
	pt_test_map(test, SZ_1G, SZ_2G, SZ_1G);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_1G + SZ_4K),
			SZ_2G + SZ_4K);
	pt_test_walk(test, SZ_1G, &level);
	KUNIT_EXPECT_EQ(test, level, 2);

	/* They are still there for walks that are under way. */
	KUNIT_EXPECT_EQ(test, pt_test_count_used(t), 3 + 512);
	mutex_lock(&t->pt.lock);
	vualink_pt_trim(&t->pt, U32_MAX, &garbage);
	mutex_unlock(&t->pt.lock);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&garbage), 1 + 512);
	vualink_pt_free_garbage(&t->pt, &garbage);
	KUNIT_EXPECT_EQ(test, pt_test_count_used(t), 2);
}

static void pt_trims_oldest_first(struct kunit *test)
{
	struct pt_test *t = test->priv;
	LIST_HEAD(garbage);
	u32 i;

	for (i = 0; i < 8; i++)
		pt_test_map(test, i * SZ_2M, SZ_4K, SZ_4K);
	for (i = 0; i < 8; i++)
		pt_test_unmap(test, i * SZ_2M, SZ_4K, U32_MAX);
	KUNIT_EXPECT_EQ(test, t->pt.num_empty, 8);

	mutex_lock(&t->pt.lock);
	vualink_pt_hold(&t->pt);
	vualink_pt_trim(&t->pt, 0, &garbage);
	vualink_pt_release(&t->pt);
	mutex_unlock(&t->pt.lock);
	KUNIT_EXPECT_TRUE(test, list_empty(&garbage));

	pt_test_unmap(test, 0, SZ_4K, 3);
	KUNIT_EXPECT_EQ(test, t->pt.num_empty, 3);
	/* The last ones that were used need no table. */
	t->left = 0;
	for (i = 5; i < 8; i++)
		pt_test_map(test, i * SZ_2M, SZ_4K, SZ_4K);
	KUNIT_EXPECT_EQ(test, t->pt.num_empty, 0);
	KUNIT_EXPECT_EQ(test, pt_test_populate(test, 0, SZ_4K, SZ_4K), -ENOSPC);
}

static void pt_fails_without_tables(struct kunit *test)
{
	struct pt_test *t = test->priv;
	u32 left;
	int ret;

	/* Two directories and some tables of pages: each of them may fail. */
	for (left = 0; left < 64; left++) {
		t->left = left;
		ret = pt_test_populate(test, SZ_1G, SZ_4K, SZ_8M);
		if (!ret)
			break;
		KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
		KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_1G), U64_MAX);
	}
	KUNIT_EXPECT_GE(test, left, 1);
	KUNIT_EXPECT_EQ(test, ret, 0);
	t->left = 0;
	pt_test_map(test, SZ_1G, SZ_4K, SZ_8M);
	KUNIT_EXPECT_EQ(test, pt_test_translate(test, SZ_1G + SZ_4M),
			SZ_4M + SZ_4K);
}

/*
 * Random changes of a window, compared page by page with an array. It covers
 * the end of one 1 GiB region and the start of the next.
 */
#define PT_RANDOM_PAGES		8192
#define PT_RANDOM_VA		((u64)SZ_1G - PT_RANDOM_PAGES / 2 * SZ_4K)
#define PT_RANDOM_OPS		400

static void pt_random_check(struct kunit *test, const u64 *model)
{
	u32 i;

	for (i = 0; i < PT_RANDOM_PAGES; i++)
		KUNIT_ASSERT_EQ(test, model[i],
				pt_test_translate(test, PT_RANDOM_VA +
						  (u64)i * SZ_4K));
}

/* As VM_BIND does it: split, unmap, map. */
static void pt_random_op(struct kunit *test, u64 *model, struct rnd_state *rnd)
{
	u32 first = prandom_u32_state(rnd) % PT_RANDOM_PAGES;
	u32 count = 1 + prandom_u32_state(rnd) % (PT_RANDOM_PAGES - first);
	u64 va, size, addr;
	u32 i;

	/* Often at a 2 MiB boundary, and then to an address that is, too */
	if (prandom_u32_state(rnd) % 2)
		first = ALIGN_DOWN(first, 512);
	va = PT_RANDOM_VA + (u64)first * SZ_4K;
	size = (u64)count * SZ_4K;
	addr = (u64)(prandom_u32_state(rnd) % SZ_64K) * SZ_4K;
	if (prandom_u32_state(rnd) % 2)
		addr = ALIGN_DOWN(addr, SZ_2M) + va % SZ_2M;

	pt_test_split(test, va);
	pt_test_split(test, va + size);
	pt_test_unmap(test, va, size, 4);
	for (i = 0; i < count; i++)
		model[first + i] = U64_MAX;
	if (prandom_u32_state(rnd) % 3 == 0)
		return;
	pt_test_map(test, va, addr, size);
	for (i = 0; i < count; i++)
		model[first + i] = addr + (u64)i * SZ_4K;
}

static void pt_random_matches_model(struct kunit *test)
{
	struct pt_test *t = test->priv;
	struct rnd_state rnd;
	u64 *model;
	u32 i;

	model = kunit_kmalloc_array(test, PT_RANDOM_PAGES, sizeof(*model),
				    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, model);
	memset(model, 0xff, PT_RANDOM_PAGES * sizeof(*model));
	prandom_seed_state(&rnd, 4711);

	for (i = 0; i < PT_RANDOM_OPS; i++) {
		pt_random_op(test, model, &rnd);
		if (i % 20 == 0)
			pt_random_check(test, model);
	}
	pt_random_check(test, model);

	pt_test_unmap(test, PT_RANDOM_VA, (u64)PT_RANDOM_PAGES * SZ_4K, 0);
	KUNIT_EXPECT_EQ(test, t->pt.num_empty, 0);
	KUNIT_EXPECT_EQ(test, t->pt.root->used, 0);
}

static struct kunit_case pt_test_cases[] = {
	KUNIT_CASE(pt_maps_one_page),
	KUNIT_CASE(pt_maps_first_and_last_page),
	KUNIT_CASE_PARAM(pt_uses_largest_blocks, pt_block_gen_params),
	KUNIT_CASE(pt_refuses_to_map_twice),
	KUNIT_CASE(pt_splits_blocks),
	KUNIT_CASE(pt_populate_changes_no_mapping),
	KUNIT_CASE(pt_puts_blocks_in_place_of_tables),
	KUNIT_CASE(pt_trims_oldest_first),
	KUNIT_CASE(pt_fails_without_tables),
	KUNIT_CASE_SLOW(pt_random_matches_model),
	{}
};

static struct kunit_suite pt_test_suite = {
	.name = "vualink_pt",
	.init = pt_test_init,
	.exit = pt_test_exit,
	.test_cases = pt_test_cases,
};

kunit_test_suite(pt_test_suite);

MODULE_DESCRIPTION("KUnit tests of the page table writer");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("Dual MIT/GPL");
