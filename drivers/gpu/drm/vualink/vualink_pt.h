/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_PT_H_
#define _VUALINK_PT_H_

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

/* Empty tables that stay in place for the next mapping */
#define VUALINK_PT_KEEP		16

/**
 * struct vualink_pt_mem - memory of one table
 */
struct vualink_pt_mem {
	/** @pte: the entries, as the CPU reaches them */
	__le64 *pte;

	/** @addr: their offset in VRAM */
	u64 addr;

	/** @priv: for the allocator */
	void *priv;
};

/**
 * struct vualink_pt_ops - where tables come from
 *
 * Neither is called with &vualink_pt.lock held.
 */
struct vualink_pt_ops {
	/** @alloc: get memory for a table, filled with zeros. May sleep. Returns 0 or an errno */
	int (*alloc)(void *priv, struct vualink_pt_mem *mem);

	/** @free: give it back; no walk can come by it any more */
	void (*free)(void *priv, struct vualink_pt_mem *mem);
};

/**
 * struct vualink_pt_table - the driver's view of a table
 *
 * All members are protected by &vualink_pt.lock.
 */
struct vualink_pt_table {
	/** @mem: the table itself */
	struct vualink_pt_mem mem;

	/** @parent: table that points to it; NULL for the root */
	struct vualink_pt_table *parent;

	/** @link: entry in one of the lists of &vualink_pt, or in the caller's garbage */
	struct list_head link;

	/** @index: where in @parent */
	u16 index;

	/** @used: entries that are not zero */
	u16 used;

	/** @level: 0 for a table of pages */
	u8 level;

	/** @child: the tables that @mem points to; none if @level is 0 */
	struct vualink_pt_table *child[];
};

/**
 * struct vualink_pt - a page table
 */
struct vualink_pt {
	/**
	 * @lock: protects the tables and all below. Innermost but for the
	 * model's: nothing is allocated, and nobody is waited for, under it
	 */
	struct mutex lock;

	/** @ops: allocator of tables. Immutable */
	const struct vualink_pt_ops *ops;

	/** @priv: its first argument. Immutable */
	void *priv;

	/** @writes: counts entries written. Immutable */
	atomic64_t *writes;

	/** @root: top table. Immutable */
	struct vualink_pt_table *root;

	/** @spare: tables to be used next: [0] for level 0, [1] for the others */
	struct list_head spare[2];

	/** @want: how many were missing at the last try */
	u32 want[2];

	/** @empty: tables in place without an entry, the oldest first */
	struct list_head empty;

	/** @num_empty: number of them */
	u32 num_empty;

	/** @unlinked: tables that are not in place any more */
	struct list_head unlinked;

	/** @holds: while not 0, empty tables stay in place */
	u32 holds;
};

int vualink_pt_init(struct vualink_pt *pt, const struct vualink_pt_ops *ops,
		    void *priv, atomic64_t *writes);
void vualink_pt_fini(struct vualink_pt *pt);

int vualink_pt_refill(struct vualink_pt *pt);
void vualink_pt_free_garbage(struct vualink_pt *pt, struct list_head *garbage);

int vualink_pt_populate(struct vualink_pt *pt, u64 va, u64 addr, u64 size);
int vualink_pt_split(struct vualink_pt *pt, u64 va);
int vualink_pt_map(struct vualink_pt *pt, u64 va, u64 addr, u64 size, u64 flags);
void vualink_pt_unmap(struct vualink_pt *pt, u64 va, u64 size);
void vualink_pt_trim(struct vualink_pt *pt, u32 keep, struct list_head *garbage);

/* VRAM offset of the top table */
static inline u64 vualink_pt_root(const struct vualink_pt *pt)
{
	return pt->root->mem.addr;
}

/* Between hold and release, what vualink_pt_populate() made stays in place. */
static inline void vualink_pt_hold(struct vualink_pt *pt)
{
	lockdep_assert_held(&pt->lock);
	pt->holds++;
}

static inline void vualink_pt_release(struct vualink_pt *pt)
{
	lockdep_assert_held(&pt->lock);
	pt->holds--;
}

#endif /* _VUALINK_PT_H_ */
