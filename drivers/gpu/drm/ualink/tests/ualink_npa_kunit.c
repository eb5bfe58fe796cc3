// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "../ualink_internal.h"

#define BLOCKS		(SZ_4K | SZ_2M | SZ_1G)
#define SEED		0x75616c6e

static struct ualink_npa *npa_make(struct kunit *test, u8 segment_shift, u64 block_sizes)
{
	struct ualink_npa *npa = kunit_kzalloc(test, sizeof(*npa), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, npa);
	KUNIT_ASSERT_EQ(test, ualink_npa_init(npa, segment_shift, block_sizes), 0);
	return npa;
}

KUNIT_DEFINE_ACTION_WRAPPER(kvfree_action, kvfree, const void *);

static struct drm_mm_node *nodes_make(struct kunit *test, unsigned int count)
{
	struct drm_mm_node *nodes = kvzalloc_objs(*nodes, count);

	KUNIT_ASSERT_NOT_NULL(test, nodes);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kvfree_action, nodes), 0);
	return nodes;
}

/* A range that is what it has to be, whatever else is in the segment. */
static void expect_sane(struct kunit *test, struct ualink_npa *npa,
			const struct drm_mm_node *node, u64 size, u64 alignment)
{
	KUNIT_EXPECT_EQ(test, node->size, size);
	KUNIT_EXPECT_NE(test, node->start, 0);
	KUNIT_EXPECT_EQ(test, node->start % alignment, 0);
	KUNIT_EXPECT_LT(test, node->start, npa->size);
	KUNIT_EXPECT_LE(test, node->start + node->size, npa->size);
}

static void expect_empty(struct kunit *test, struct ualink_npa *npa)
{
	KUNIT_EXPECT_EQ(test, npa->used, 0);
	KUNIT_EXPECT_EQ(test, npa->quarantined, 0);
	KUNIT_EXPECT_EQ(test, ualink_npa_largest_free(npa),
			npa->size - ualink_npa_page_size(npa));
}

struct geometry {
	const char *name;
	u64 block_sizes;
	u8 segment_shift;
	int ret;
};

static const struct geometry geometries[] = {
	{ "smallest", SZ_4K, 13, 0 },
	{ "largest", BLOCKS, 53, 0 },
	{ "large pages only", SZ_2M, 40, 0 },
	{ "segment too large", BLOCKS, 54, -EINVAL },
	{ "segment far too large", BLOCKS, 64, -EINVAL },
	{ "no page size", 0, 40, -EINVAL },
	{ "page too small", SZ_2K | SZ_2M, 40, -EINVAL },
	{ "page is segment", SZ_2M, 21, -EINVAL },
	{ "page larger than segment", SZ_1G, 21, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(geometries, geometries, name);

static void npa_checks_geometry(struct kunit *test)
{
	const struct geometry *geometry = test->param_value;
	struct ualink_npa *npa = kunit_kzalloc(test, sizeof(*npa), GFP_KERNEL);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, npa);
	ret = ualink_npa_init(npa, geometry->segment_shift, geometry->block_sizes);
	KUNIT_ASSERT_EQ(test, ret, geometry->ret);
	if (ret)
		return;
	KUNIT_EXPECT_EQ(test, npa->size, BIT_ULL(geometry->segment_shift));
	expect_empty(test, npa);
	ualink_npa_fini(npa);
}

struct request {
	const char *name;
	u64 size;
	/* Alignment that the range must have, or the error */
	u64 alignment;
	int ret;
};

static const struct request requests[] = {
	{ "page", SZ_4K, SZ_4K, 0 },
	{ "2M minus page", SZ_2M - SZ_4K, SZ_4K, 0 },
	{ "2M", SZ_2M, SZ_2M, 0 },
	{ "2M plus page", 513 * SZ_4K, SZ_2M, 0 },
	{ "1G minus page", SZ_1G - SZ_4K, SZ_2M, 0 },
	{ "1G", SZ_1G, SZ_1G, 0 },
	{ "2^31 minus page", BIT_ULL(31) - SZ_4K, SZ_1G, 0 },
	{ "2^31", BIT_ULL(31), SZ_1G, 0 },
	{ "2^31 plus page", BIT_ULL(31) + SZ_4K, SZ_1G, 0 },
	{ "2^32 minus page", BIT_ULL(32) - SZ_4K, SZ_1G, 0 },
	{ "2^32", BIT_ULL(32), SZ_1G, 0 },
	{ "2^32 plus page", BIT_ULL(32) + SZ_4K, SZ_1G, 0 },
	{ "2^45", BIT_ULL(45), SZ_1G, 0 },
	{ "half", BIT_ULL(52), SZ_1G, 0 },
	{ "all but the first block", BIT_ULL(53) - SZ_1G, SZ_1G, 0 },
	{ "nothing", 0, 0, -EINVAL },
	{ "byte", 1, 0, -EINVAL },
	{ "page minus byte", SZ_4K - 1, 0, -EINVAL },
	{ "page plus byte", SZ_4K + 1, 0, -EINVAL },
	{ "2^32 plus half a page", BIT_ULL(32) + SZ_2K, 0, -EINVAL },
	{ "all ones", U64_MAX, 0, -EINVAL },
	{ "all", BIT_ULL(53), 0, -ENOSPC },
	{ "unaligned rest", BIT_ULL(53) - SZ_4K, 0, -ENOSPC },
	{ "2^63", BIT_ULL(63), 0, -ENOSPC },
	{ "all page numbers", U64_MAX - SZ_4K + 1, 0, -ENOSPC },
};

KUNIT_ARRAY_PARAM_DESC(requests, requests, name);

/* In the largest segment there is; a refused request leaves no trace. */
static void npa_serves_size(struct kunit *test)
{
	struct ualink_npa *npa = npa_make(test, 53, BLOCKS);
	const struct request *request = test->param_value;
	struct drm_mm_node node = {};
	int ret;

	ret = ualink_npa_alloc(npa, &node, request->size);
	KUNIT_EXPECT_EQ(test, ret, request->ret);
	if (!ret) {
		expect_sane(test, npa, &node, request->size, request->alignment);
		KUNIT_EXPECT_EQ(test, npa->used, request->size);
		ualink_npa_free(npa, &node, false);
	}
	expect_empty(test, npa);
	ualink_npa_fini(npa);
}

/* All but the first page of a segment can be one range, the last page included. */
static void npa_gives_last_page(struct kunit *test)
{
	struct ualink_npa *npa = npa_make(test, 53, SZ_4K);
	struct drm_mm_node node = {};

	KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &node, npa->size - SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, node.start, SZ_4K);
	KUNIT_EXPECT_EQ(test, node.start + node.size, npa->size);
	KUNIT_EXPECT_EQ(test, ualink_npa_largest_free(npa), 0);

	ualink_npa_free(npa, &node, false);
	expect_empty(test, npa);
	ualink_npa_fini(npa);
}

#define SMALL_SHIFT	20
#define SMALL_PAGES	(BIT(SMALL_SHIFT) / SZ_4K)

/* Takes each page but the first of a segment of 1 MiB. */
static struct drm_mm_node *fill(struct kunit *test, struct ualink_npa *npa)
{
	struct drm_mm_node *nodes = nodes_make(test, SMALL_PAGES);
	DECLARE_BITMAP(seen, SMALL_PAGES) = {};
	struct drm_mm_node extra = {};
	unsigned int i;

	for (i = 1; i < SMALL_PAGES; i++) {
		KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &nodes[i], SZ_4K), 0);
		expect_sane(test, npa, &nodes[i], SZ_4K, SZ_4K);
		KUNIT_EXPECT_FALSE(test, test_and_set_bit(nodes[i].start / SZ_4K, seen));
	}
	KUNIT_EXPECT_FALSE(test, test_bit(0, seen));
	KUNIT_EXPECT_TRUE(test, test_bit(SMALL_PAGES - 1, seen));
	KUNIT_EXPECT_EQ(test, ualink_npa_alloc(npa, &extra, SZ_4K), -ENOSPC);
	KUNIT_EXPECT_EQ(test, npa->used, npa->size - SZ_4K);
	KUNIT_EXPECT_EQ(test, ualink_npa_largest_free(npa), 0);
	return nodes;
}

static void unfill(struct kunit *test, struct ualink_npa *npa, struct drm_mm_node *nodes)
{
	unsigned int i;

	for (i = 1; i < SMALL_PAGES; i++)
		ualink_npa_free(npa, &nodes[i], false);
	expect_empty(test, npa);
	ualink_npa_fini(npa);
}

static void npa_full(struct kunit *test)
{
	struct ualink_npa *npa = npa_make(test, SMALL_SHIFT, SZ_4K);
	struct drm_mm_node *nodes = fill(test, npa);
	u64 start = nodes[17].start;

	ualink_npa_free(npa, &nodes[17], false);
	KUNIT_EXPECT_EQ(test, ualink_npa_largest_free(npa), SZ_4K);
	KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &nodes[17], SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, nodes[17].start, start);
	unfill(test, npa, nodes);
}

/* A range in quarantine is not given to anyone else, and counted until it is free. */
static void npa_quarantine(struct kunit *test)
{
	struct ualink_npa *npa = npa_make(test, SMALL_SHIFT, SZ_4K);
	struct drm_mm_node *nodes = fill(test, npa);
	struct drm_mm_node extra = {};
	u64 start = nodes[40].start;
	u64 full = npa->used;

	ualink_npa_quarantine(npa, &nodes[40]);
	ualink_npa_quarantine(npa, &nodes[41]);
	KUNIT_EXPECT_EQ(test, npa->quarantined, 2 * SZ_4K);
	KUNIT_EXPECT_EQ(test, npa->used, full);
	KUNIT_EXPECT_EQ(test, ualink_npa_alloc(npa, &extra, SZ_4K), -ENOSPC);

	ualink_npa_free(npa, &nodes[40], true);
	KUNIT_EXPECT_EQ(test, npa->quarantined, SZ_4K);
	KUNIT_EXPECT_EQ(test, npa->used, full - SZ_4K);
	KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &nodes[40], SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, nodes[40].start, start);

	ualink_npa_free(npa, &nodes[41], true);
	KUNIT_EXPECT_EQ(test, npa->quarantined, 0);
	KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &nodes[41], SZ_4K), 0);
	unfill(test, npa, nodes);
}

#define PAIRS	1000

/*
 * Pages grow from the low end and blocks from the high end, so that what is free in
 * between stays in one piece.
 */
static void npa_keeps_small_from_large(struct kunit *test)
{
	struct ualink_npa *npa = npa_make(test, 40, BLOCKS);
	struct drm_mm_node *nodes = nodes_make(test, 2 * PAIRS);
	u64 lowest_large = npa->size, highest_small = 0;
	unsigned int i;

	for (i = 0; i < PAIRS; i++) {
		struct drm_mm_node *small = &nodes[2 * i], *large = &nodes[2 * i + 1];

		KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, small, SZ_8K), 0);
		KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, large, SZ_4M), 0);
		highest_small = max(highest_small, small->start + small->size);
		lowest_large = min(lowest_large, large->start);
	}
	KUNIT_EXPECT_EQ(test, highest_small, SZ_4K + (u64)PAIRS * SZ_8K);
	KUNIT_EXPECT_EQ(test, lowest_large, npa->size - (u64)PAIRS * SZ_4M);
	KUNIT_EXPECT_EQ(test, ualink_npa_largest_free(npa), lowest_large - highest_small);

	for (i = 0; i < 2 * PAIRS; i++)
		ualink_npa_free(npa, &nodes[i], false);
	expect_empty(test, npa);
	ualink_npa_fini(npa);
}

/* The random walk: what is taken, and the truth about it, page by page. */
#define WALK_SHIFT	24
#define WALK_PAGES	(BIT(WALK_SHIFT) / SZ_4K)
#define WALK_BLOCKS	(SZ_4K | SZ_64K | SZ_2M)
#define WALK_SLOTS	256
#define WALK_STEPS	100000

struct walk {
	struct ualink_npa *npa;
	struct rnd_state rnd;
	struct drm_mm_node nodes[WALK_SLOTS];
	bool taken[WALK_SLOTS];
	bool quarantined[WALK_SLOTS];
	DECLARE_BITMAP(pages, WALK_PAGES);
	u64 quarantined_bytes;
	unsigned int served, refused;
};

/* Few pages, some blocks of 64 KiB, or one block of 2 MiB and more. */
static unsigned int walk_pages(struct walk *walk)
{
	u32 random = prandom_u32_state(&walk->rnd);

	switch (random % 8) {
	case 0:
		return 512 + (random >> 8) % 600;
	case 1:
	case 2:
		return 16 + (random >> 8) % 64;
	default:
		return 1 + (random >> 8) % 15;
	}
}

static unsigned int walk_alignment(unsigned int pages)
{
	return pages >= 512 ? 512 : pages >= 16 ? 16 : 1;
}

static bool walk_fits(struct walk *walk, unsigned int pages)
{
	return bitmap_find_next_zero_area(walk->pages, WALK_PAGES, 1, pages,
					  walk_alignment(pages) - 1) + pages <= WALK_PAGES;
}

static void walk_alloc(struct kunit *test, struct walk *walk, unsigned int slot)
{
	struct drm_mm_node *node = &walk->nodes[slot];
	unsigned int pages = walk_pages(walk);
	bool fits = walk_fits(walk, pages);
	unsigned int start;
	int ret;

	ret = ualink_npa_alloc(walk->npa, node, (u64)pages * SZ_4K);
	KUNIT_ASSERT_EQ(test, ret, fits ? 0 : -ENOSPC);
	if (ret) {
		walk->refused++;
		return;
	}

	start = node->start / SZ_4K;
	expect_sane(test, walk->npa, node, (u64)pages * SZ_4K, walk_alignment(pages) * SZ_4K);
	KUNIT_ASSERT_GE(test, find_next_bit(walk->pages, start + pages, start), start + pages);
	bitmap_set(walk->pages, start, pages);
	walk->taken[slot] = true;
	walk->served++;
}

static void walk_free(struct walk *walk, unsigned int slot)
{
	struct drm_mm_node *node = &walk->nodes[slot];

	bitmap_clear(walk->pages, node->start / SZ_4K, node->size / SZ_4K);
	if (walk->quarantined[slot])
		walk->quarantined_bytes -= node->size;
	ualink_npa_free(walk->npa, node, walk->quarantined[slot]);
	walk->taken[slot] = false;
	walk->quarantined[slot] = false;
}

static void walk_quarantine(struct walk *walk, unsigned int slot)
{
	ualink_npa_quarantine(walk->npa, &walk->nodes[slot]);
	walk->quarantined[slot] = true;
	walk->quarantined_bytes += walk->nodes[slot].size;
}

static u64 walk_largest_free(struct walk *walk)
{
	unsigned int start = 0, end, largest = 0;

	for_each_clear_bitrange_from(start, end, walk->pages, WALK_PAGES)
		largest = max(largest, end - start);
	return (u64)largest * SZ_4K;
}

static void walk_check(struct kunit *test, struct walk *walk)
{
	/* The first page is set in the bitmap, but not used. */
	KUNIT_ASSERT_EQ(test, walk->npa->used,
			(bitmap_weight(walk->pages, WALK_PAGES) - 1) * SZ_4K);
	KUNIT_ASSERT_EQ(test, walk->npa->quarantined, walk->quarantined_bytes);
	KUNIT_ASSERT_EQ(test, ualink_npa_largest_free(walk->npa), walk_largest_free(walk));
}

static void walk_step(struct kunit *test, struct walk *walk)
{
	unsigned int slot = prandom_u32_state(&walk->rnd) % WALK_SLOTS;

	if (!walk->taken[slot])
		walk_alloc(test, walk, slot);
	else if (!walk->quarantined[slot] && prandom_u32_state(&walk->rnd) % 4 == 0)
		walk_quarantine(walk, slot);
	else
		walk_free(walk, slot);
}

/* A request is served exactly when there is an aligned hole, and never twice from one place. */
static void npa_random_walk(struct kunit *test)
{
	struct walk *walk = kunit_kzalloc(test, sizeof(*walk), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, walk);
	walk->npa = npa_make(test, WALK_SHIFT, WALK_BLOCKS);
	prandom_seed_state(&walk->rnd, SEED);
	__set_bit(0, walk->pages);

	for (i = 0; i < WALK_STEPS; i++) {
		walk_step(test, walk);
		if (i % 64 == 0)
			walk_check(test, walk);
	}
	/* A walk that is never refused, or hardly served, shows little. */
	KUNIT_EXPECT_GT(test, walk->served, WALK_STEPS / 8);
	KUNIT_EXPECT_GT(test, walk->refused, WALK_STEPS / 100);

	for (i = 0; i < WALK_SLOTS; i++)
		if (walk->taken[i])
			walk_free(walk, i);
	walk_check(test, walk);
	expect_empty(test, walk->npa);
	ualink_npa_fini(walk->npa);
}

#define MANY	100000

/* Sizes whose ranges all need an alignment, but are no multiple of it. */
static u64 many_size(unsigned int i)
{
	return i % 3 ? SZ_2M + (i % 7) * SZ_4K : SZ_4K * (1 + i % 5);
}

/* Walks all ranges by their places; none may reach into the next. */
static unsigned int count_in_order(struct kunit *test, struct ualink_npa *npa)
{
	struct drm_mm_node *node;
	unsigned int count = 0;
	u64 end = SZ_4K;

	spin_lock(&npa->lock);
	while ((node = ualink_npa_next(npa, end)) && node->start >= end) {
		end = node->start + node->size;
		count++;
	}
	spin_unlock(&npa->lock);
	KUNIT_EXPECT_NULL(test, node);
	return count;
}

/* With 100000 ranges, freed ones are used again before new space is. */
static void npa_many_ranges(struct kunit *test)
{
	struct ualink_npa *npa = npa_make(test, 50, BLOCKS);
	struct drm_mm_node *nodes = nodes_make(test, MANY);
	unsigned int i;
	u64 used, largest_free;

	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &nodes[i], many_size(i)), 0);
		expect_sane(test, npa, &nodes[i], many_size(i), i % 3 ? SZ_2M : SZ_4K);
	}
	KUNIT_EXPECT_EQ(test, count_in_order(test, npa), MANY);
	largest_free = ualink_npa_largest_free(npa);
	used = npa->used;

	for (i = 0; i < MANY; i += 2)
		ualink_npa_free(npa, &nodes[i], false);
	KUNIT_EXPECT_EQ(test, count_in_order(test, npa), MANY / 2);
	for (i = 0; i < MANY; i += 2)
		KUNIT_ASSERT_EQ(test, ualink_npa_alloc(npa, &nodes[i], many_size(i)), 0);
	KUNIT_EXPECT_EQ(test, count_in_order(test, npa), MANY);
	KUNIT_EXPECT_EQ(test, npa->used, used);
	KUNIT_EXPECT_EQ(test, ualink_npa_largest_free(npa), largest_free);

	for (i = 0; i < MANY; i++)
		ualink_npa_free(npa, &nodes[i], false);
	expect_empty(test, npa);
	ualink_npa_fini(npa);
}

static struct kunit_case ualink_npa_cases[] = {
	KUNIT_CASE_PARAM(npa_checks_geometry, geometries_gen_params),
	KUNIT_CASE_PARAM(npa_serves_size, requests_gen_params),
	KUNIT_CASE(npa_gives_last_page),
	KUNIT_CASE(npa_full),
	KUNIT_CASE(npa_quarantine),
	KUNIT_CASE(npa_keeps_small_from_large),
	KUNIT_CASE_SLOW(npa_random_walk),
	KUNIT_CASE_SLOW(npa_many_ranges),
	{}
};

static struct kunit_suite ualink_npa_suite = {
	.name = "ualink_npa",
	.test_cases = ualink_npa_cases,
};

kunit_test_suite(ualink_npa_suite);
