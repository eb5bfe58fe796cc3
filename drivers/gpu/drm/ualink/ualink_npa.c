// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The allocator of offsets in the NPA segment of one accelerator.
 *
 * Ranges are contiguous and aligned to the largest page-table block that fits into
 * them. Ranges of less than a block come from the low end and all others from the
 * high end, so that the small ones do not break the room for the large ones up.
 * How many pages a range has makes no difference, and how many ranges there are only
 * a logarithmic one.
 */

#include <linux/log2.h>

#include "ualink_internal.h"

/* Makes the allocator of a segment of 2^@segment_shift bytes: 0, or -EINVAL. */
int ualink_npa_init(struct ualink_npa *npa, u8 segment_shift, u64 block_sizes)
{
	u64 page_size = block_sizes & -block_sizes;

	if (segment_shift > UALINK_SEGMENT_SHIFT_MAX)
		return -EINVAL;
	if (page_size < BIT_ULL(UALINK_PAGE_SHIFT_MIN) || page_size >= BIT_ULL(segment_shift))
		return -EINVAL;

	spin_lock_init(&npa->lock);
	npa->block_sizes = block_sizes;
	npa->size = BIT_ULL(segment_shift);
	npa->used = 0;
	npa->quarantined = 0;
	/* Without the first page: no export has offset 0. */
	drm_mm_init(&npa->mm, page_size, npa->size - page_size);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_init);

/* All ranges must be free. */
void ualink_npa_fini(struct ualink_npa *npa)
{
	drm_mm_takedown(&npa->mm);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_fini);

/* The largest page-table block that fits into @size bytes. */
static u64 largest_block(const struct ualink_npa *npa, u64 size)
{
	u64 fitting = npa->block_sizes & (2 * rounddown_pow_of_two(size) - 1);

	return rounddown_pow_of_two(fitting);
}

/* Without alignment, the lowest hole that is large enough will do. */
static int insert_pages(struct ualink_npa *npa, struct drm_mm_node *node, u64 size)
{
	return drm_mm_insert_node_generic(&npa->mm, node, size, 0, 0, DRM_MM_INSERT_LOW);
}

/* Makes @node, for which room was found, the highest aligned range in that room. */
static int slide_up(struct ualink_npa *npa, struct drm_mm_node *node, u64 size, u64 block)
{
	u64 end = drm_mm_hole_follows(node) ? drm_mm_hole_node_end(node) :
					      node->start + node->size;

	drm_mm_remove_node(node);
	memset(node, 0, sizeof(*node));
	node->start = round_down(end - size, block);
	node->size = size;
	return drm_mm_reserve_node(&npa->mm, node);
}

/*
 * The smallest hole that is large enough may or may not hold an aligned range, and to
 * try one after the other may take long. So only one is tried, and then the smallest
 * one that is sure to do.
 */
static int insert_best(struct ualink_npa *npa, struct drm_mm_node *node, u64 size, u64 block)
{
	u64 padded = size + block - ualink_npa_page_size(npa);
	int ret;

	ret = drm_mm_insert_node_generic(&npa->mm, node, size, block, 0,
					 DRM_MM_INSERT_BEST | DRM_MM_INSERT_ONCE);
	if (ret)
		ret = drm_mm_insert_node_generic(&npa->mm, node, padded, 0, 0,
						 DRM_MM_INSERT_BEST);
	return ret ?: slide_up(npa, node, size, block);
}

/* A search through all holes is left for when the segment is nearly full. */
static int insert_blocks(struct ualink_npa *npa, struct drm_mm_node *node, u64 size, u64 block)
{
	int ret;

	ret = insert_best(npa, node, size, block);
	if (ret)
		ret = drm_mm_insert_node_generic(&npa->mm, node, size, block, 0,
						 DRM_MM_INSERT_HIGH);
	return ret;
}

/*
 * Allocates a range of @size bytes; &drm_mm_node.start of @node becomes its offset.
 * Returns: 0; -EINVAL when @size is not a number of pages; -ENOSPC.
 */
int ualink_npa_alloc(struct ualink_npa *npa, struct drm_mm_node *node, u64 size)
{
	u64 page_size = ualink_npa_page_size(npa);
	u64 block;
	int ret;

	if (!size || size & (page_size - 1))
		return -EINVAL;
	if (size >= npa->size)
		return -ENOSPC;

	memset(node, 0, sizeof(*node));
	block = largest_block(npa, size);

	spin_lock(&npa->lock);
	if (block == page_size)
		ret = insert_pages(npa, node, size);
	else
		ret = insert_blocks(npa, node, size, block);
	if (!ret)
		npa->used += size;
	spin_unlock(&npa->lock);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_alloc);

/* The export of a range is gone, but some peer may still hold it. */
void ualink_npa_quarantine(struct ualink_npa *npa, struct drm_mm_node *node)
{
	spin_lock(&npa->lock);
	npa->quarantined += node->size;
	spin_unlock(&npa->lock);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_quarantine);

/* Makes a range free that nobody can hold any more, and that may have been in quarantine. */
void ualink_npa_free(struct ualink_npa *npa, struct drm_mm_node *node, bool quarantined)
{
	spin_lock(&npa->lock);
	npa->used -= node->size;
	if (quarantined)
		npa->quarantined -= node->size;
	drm_mm_remove_node(node);
	spin_unlock(&npa->lock);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_free);

/* Bytes in use, and those of them that are in quarantine. */
void ualink_npa_usage(struct ualink_npa *npa, u64 *used, u64 *quarantined)
{
	spin_lock(&npa->lock);
	*used = npa->used;
	*quarantined = npa->quarantined;
	spin_unlock(&npa->lock);
}

/* Bytes in the largest hole. drm_mm has no function for it, but keeps the largest first. */
u64 ualink_npa_largest_free(struct ualink_npa *npa)
{
	struct rb_node *rb;
	u64 size = 0;

	spin_lock(&npa->lock);
	rb = rb_first_cached(&npa->mm.holes_size);
	if (rb)
		size = rb_entry(rb, struct drm_mm_node, rb_hole_size)->hole_size;
	spin_unlock(&npa->lock);
	return size;
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_largest_free);

/* The first range that ends after @offset, used or in quarantine, or NULL. */
struct drm_mm_node *ualink_npa_next(struct ualink_npa *npa, u64 offset)
{
	struct drm_mm_node *node;

	lockdep_assert_held(&npa->lock);

	drm_mm_for_each_node_in_range(node, &npa->mm, offset, npa->size)
		return node;
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(ualink_npa_next);
