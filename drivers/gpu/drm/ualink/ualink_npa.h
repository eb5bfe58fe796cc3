/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_NPA_H_
#define _UALINK_NPA_H_

#include <linux/spinlock.h>
#include <drm/drm_mm.h>

/*
 * struct ualink_npa - allocator of the offsets in one accelerator's segment
 *
 * A range is free, used, or quarantined: no longer used by an export, but
 * perhaps still held by a peer. It never goes from used to free while a peer
 * may hold it.
 */
struct ualink_npa {
	/* Protects all that follows. Innermost: nothing is taken inside. */
	spinlock_t lock;
	/* Ranges in use or in quarantine; offset 0 is outside of it. */
	struct drm_mm mm;
	/* Immutable: sizes of page-table blocks, or-ed; the lowest is the page size. */
	u64 block_sizes;
	/* Immutable: bytes in the segment */
	u64 size;
	/* Bytes in @mm, quarantined ones included */
	u64 used;
	/* Bytes in quarantine */
	u64 quarantined;
};

int ualink_npa_init(struct ualink_npa *npa, u8 segment_shift, u64 block_sizes);
void ualink_npa_fini(struct ualink_npa *npa);
int ualink_npa_alloc(struct ualink_npa *npa, struct drm_mm_node *node, u64 size);
void ualink_npa_quarantine(struct ualink_npa *npa, struct drm_mm_node *node);
void ualink_npa_free(struct ualink_npa *npa, struct drm_mm_node *node, bool quarantined);
void ualink_npa_usage(struct ualink_npa *npa, u64 *used, u64 *quarantined);
u64 ualink_npa_largest_free(struct ualink_npa *npa);
struct drm_mm_node *ualink_npa_next(struct ualink_npa *npa, u64 offset);

/* Granularity of exports, in bytes. */
static inline u64 ualink_npa_page_size(const struct ualink_npa *npa)
{
	return npa->block_sizes & -npa->block_sizes;
}

#endif /* _UALINK_NPA_H_ */
