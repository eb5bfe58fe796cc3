// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/align.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "vualink_hw.h"
#include "vualink_pt.h"

/**
 * DOC: Page table writer
 *
 * Writes tables of the format that "Page table format" describes. For each
 * table in VRAM there is a &struct vualink_pt_table, so that nothing is ever
 * read back but to see whether an entry is in use.
 *
 * Unmapping never fails and never allocates: it clears entries. Tables that
 * get empty stay in place, and vualink_pt_trim() takes out the oldest of them.
 * A walk of the MMU may still be at them, so that they are garbage, to be freed
 * only after a flush of the TLB.
 *
 * What needs tables takes them from a reserve, since the lock is taken where
 * VRAM is made free. If the reserve is empty it fails with -EAGAIN, and the
 * caller fills it without the lock and tries again, from the start::
 *
 *	do {
 *		mutex_lock(&pt->lock);
 *		ret = vualink_pt_populate(pt, va, addr, size);
 *		mutex_unlock(&pt->lock);
 *	} while (ret == -EAGAIN && !(ret = vualink_pt_refill(pt)));
 *
 * Once a range is populated, mapping it cannot fail until it is unmapped and
 * trimmed.
 *
 * A range that is unmapped must not cut a block. Who maps something over a part
 * of an older mapping, or unmaps a part of it, first calls vualink_pt_split()
 * for both ends.
 */

/* Tables that are allocated at once */
#define VUALINK_PT_MAX_WANT	32

static u32 pt_shift(u32 level)
{
	return VUALINK_PAGE_SHIFT + level * VUALINK_PT_BITS;
}

static u64 pt_span(u32 level)
{
	return 1ULL << pt_shift(level);
}

static u32 pt_index(u64 va, u32 level)
{
	return (va >> pt_shift(level)) & (VUALINK_PT_ENTRIES - 1);
}

/* The highest level at which an entry can map the start of the range */
static u32 pt_leaf_level(u64 va, u64 addr, u64 size)
{
	u32 level;

	for (level = 2; level; level--)
		if (size >= pt_span(level) &&
		    IS_ALIGNED(va | addr, pt_span(level)))
			break;
	return level;
}

static u64 pt_leaf(u64 addr, u64 flags, u32 level)
{
	return addr | flags | VUALINK_PTE_VALID |
	       (level ? VUALINK_PTE_BLOCK : 0);
}

/* A single copy: the MMU may walk by. Pairs with READ_ONCE() there. */
static void pt_write(struct vualink_pt_table *table, u32 index, u64 entry)
{
	WRITE_ONCE(table->mem.pte[index], cpu_to_le64(entry));
}

static bool pt_in_use(const struct vualink_pt_table *table, u32 index)
{
	return table->mem.pte[index] != 0;
}

static void pt_count_writes(struct vualink_pt *pt, u64 count)
{
	atomic64_add(count, pt->writes);
}

/* Tables */

static struct vualink_pt_table *
pt_table_alloc(const struct vualink_pt *pt, bool dir)
{
	struct vualink_pt_table *table;
	int ret;

	table = kzalloc_flex(*table, child, dir ? VUALINK_PT_ENTRIES : 0,
			     GFP_KERNEL_ACCOUNT);
	if (!table)
		return ERR_PTR(-ENOMEM);
	ret = pt->ops->alloc(pt->priv, &table->mem);
	if (ret) {
		kfree(table);
		return ERR_PTR(ret);
	}
	return table;
}

static void pt_table_free(const struct vualink_pt *pt,
			  struct vualink_pt_table *table)
{
	pt->ops->free(pt->priv, &table->mem);
	kfree(table);
}

/* @table, which is not the root, has an entry more, or @count entries less. */
static void pt_add_used(struct vualink_pt *pt, struct vualink_pt_table *table,
			u32 count)
{
	if (!table->used && count && table->parent) {
		list_del(&table->link);
		pt->num_empty--;
	}
	table->used += count;
}

static void pt_sub_used(struct vualink_pt *pt, struct vualink_pt_table *table,
			u32 count)
{
	table->used -= count;
	if (!table->used && count && table->parent) {
		list_add_tail(&table->link, &pt->empty);
		pt->num_empty++;
	}
}

static struct vualink_pt_table *pt_take_spare(struct vualink_pt *pt, u32 level)
{
	struct vualink_pt_table *table;

	table = list_first_entry_or_null(&pt->spare[level > 0],
					 struct vualink_pt_table, link);
	if (!table) {
		pt->want[level > 0]++;
		return ERR_PTR(-EAGAIN);
	}
	table->level = level;
	return table;
}

/* Makes @child, all of whose entries are 0, map what the block @entry maps. */
static void pt_fill_split(struct vualink_pt *pt, struct vualink_pt_table *child,
			  u64 entry)
{
	u64 flags = entry & (VUALINK_PTE_WRITE | VUALINK_PTE_NPA |
			     VUALINK_PTE_SYSTEM);
	u64 addr = entry & VUALINK_PTE_ADDR;
	u32 i;

	for (i = 0; i < VUALINK_PT_ENTRIES; i++) {
		pt_write(child, i, pt_leaf(addr, flags, child->level));
		addr += pt_span(child->level);
	}
	child->used = VUALINK_PT_ENTRIES;
	pt_count_writes(pt, VUALINK_PT_ENTRIES);
}

/* Puts a table where there is an invalid entry or a block. */
static struct vualink_pt_table *
pt_insert_table(struct vualink_pt *pt, struct vualink_pt_table *parent, u32 index)
{
	u64 old = le64_to_cpu(parent->mem.pte[index]);
	struct vualink_pt_table *child;

	child = pt_take_spare(pt, parent->level - 1);
	if (IS_ERR(child))
		return child;
	child->parent = parent;
	child->index = index;
	if (old) {
		list_del(&child->link);
		pt_fill_split(pt, child, old);
	} else {
		list_move_tail(&child->link, &pt->empty);
		pt->num_empty++;
		pt_add_used(pt, parent, 1);
	}
	parent->child[index] = child;
	/* The MMU must not follow the pointer to entries of an earlier life. */
	smp_store_release(&parent->mem.pte[index],
			  cpu_to_le64(child->mem.addr | VUALINK_PTE_VALID));
	pt_count_writes(pt, 1);
	return child;
}

static void pt_unlink_table(struct vualink_pt *pt, struct vualink_pt_table *table)
{
	struct vualink_pt_table *parent = table->parent;

	list_move_tail(&table->link, &pt->unlinked);
	pt->num_empty--;
	pt_write(parent, table->index, 0);
	parent->child[table->index] = NULL;
	pt_sub_used(pt, parent, 1);
	pt_count_writes(pt, 1);
}

/*
 * Takes out a table and those below it.
 * Return: 0, or -EEXIST if one of them maps something.
 */
static int pt_discard_table(struct vualink_pt *pt, struct vualink_pt_table *table)
{
	u32 i;
	int ret;

	for (i = 0; table->used && table->level && i < VUALINK_PT_ENTRIES; i++) {
		if (!table->child[i])
			continue;
		ret = pt_discard_table(pt, table->child[i]);
		if (ret)
			return ret;
	}
	if (table->used)
		return -EEXIST;
	pt_unlink_table(pt, table);
	return 0;
}

/*
 * Finds the table of @level for @va, and makes what is missing on the way.
 * Return: the table, or an ERR_PTR: -EAGAIN, -EEXIST if there is a block on the
 * way and @split is not set.
 */
static struct vualink_pt_table *
pt_get_table(struct vualink_pt *pt, u64 va, u32 level, bool split)
{
	struct vualink_pt_table *table = pt->root, *child;
	u32 index;

	while (table->level > level) {
		index = pt_index(va, table->level);
		child = table->child[index];
		if (unlikely(!child)) {
			if (!split && pt_in_use(table, index))
				return ERR_PTR(-EEXIST);
			child = pt_insert_table(pt, table, index);
			if (IS_ERR(child))
				return child;
		}
		table = child;
	}
	return table;
}

/* Mapping */

/* If a table of pages was missing, more of them will be in what is left. */
static void pt_want_more(struct vualink_pt *pt, u64 va, u64 addr, u64 size)
{
	if (pt->want[0] && !IS_ALIGNED(va ^ addr, pt_span(1)))
		pt->want[0] = min_t(u64, size >> pt_shift(1),
				    VUALINK_PT_MAX_WANT) + 1;
}

/* Bytes, of at most @size, that entries of the table at @level can map */
static u64 pt_step(u64 va, u64 size, u32 level)
{
	u64 left = ((u64)VUALINK_PT_ENTRIES - pt_index(va, level)) <<
		   pt_shift(level);

	return min(left, ALIGN_DOWN(size, pt_span(level)));
}

/**
 * vualink_pt_populate() - make all tables that a mapping needs
 * @pt: page table
 * @va: start of the range
 * @addr: what it is to be mapped to
 * @size: size of the range
 *
 * Blocks that are in the way are split. Maps nothing, and unmaps nothing.
 *
 * Return: 0; %-EAGAIN after which the caller calls vualink_pt_refill() and
 * tries again.
 */
int vualink_pt_populate(struct vualink_pt *pt, u64 va, u64 addr, u64 size)
{
	struct vualink_pt_table *table;
	u64 step;
	u32 level;

	lockdep_assert_held(&pt->lock);

	for (; size; va += step, addr += step, size -= step) {
		level = pt_leaf_level(va, addr, size);
		table = pt_get_table(pt, va, level, true);
		if (IS_ERR(table)) {
			pt_want_more(pt, va, addr, size);
			return PTR_ERR(table);
		}
		step = pt_step(va, size, level);
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_populate);

/**
 * vualink_pt_split() - make sure that no block goes across an address
 * @pt: page table
 * @va: the address
 *
 * The mappings stay the same, but a TLB may still hold the block: the caller
 * flushes what it goes on to unmap.
 *
 * Return: 0, or %-EAGAIN as for vualink_pt_populate().
 */
int vualink_pt_split(struct vualink_pt *pt, u64 va)
{
	struct vualink_pt_table *table = pt->root, *child;
	u32 index;

	lockdep_assert_held(&pt->lock);

	while (table->level && !IS_ALIGNED(va, pt_span(table->level))) {
		index = pt_index(va, table->level);
		child = table->child[index];
		if (!child && !pt_in_use(table, index))
			break;
		if (!child)
			child = pt_insert_table(pt, table, index);
		if (IS_ERR(child))
			return PTR_ERR(child);
		table = child;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_split);

/* Makes room for blocks where there are tables. */
static int pt_discard_children(struct vualink_pt *pt,
			       struct vualink_pt_table *table, u32 index,
			       u32 count)
{
	int ret;

	for (; count; index++, count--) {
		if (!table->child[index])
			continue;
		ret = pt_discard_table(pt, table->child[index]);
		if (ret)
			return ret;
	}
	return 0;
}

static int pt_map_leaves(struct vualink_pt *pt, struct vualink_pt_table *table,
			 u32 index, u32 count, u64 entry)
{
	__le64 *pte = &table->mem.pte[index];
	u64 step = pt_span(table->level);
	u32 i;
	int ret;

	if (table->level) {
		ret = pt_discard_children(pt, table, index, count);
		if (ret)
			return ret;
	}
	for (i = 0; i < count; i++) {
		if (unlikely(pte[i]))
			break;
		WRITE_ONCE(pte[i], cpu_to_le64(entry));
		entry += step;
	}
	pt_add_used(pt, table, i);
	pt_count_writes(pt, i);
	return i == count ? 0 : -EEXIST;
}

/**
 * vualink_pt_map() - map a range to a run of addresses
 * @pt: page table
 * @va: start of the range
 * @addr: what it is to be mapped to
 * @size: size of the range
 * @flags: bits of all entries, besides those that the format demands
 *
 * Uses blocks wherever the addresses allow it. When it fails, a part of the
 * range may be mapped.
 *
 * Return: 0; %-EAGAIN when tables are missing, which vualink_pt_populate()
 * prevents; %-EEXIST when something in the range is mapped already.
 */
int vualink_pt_map(struct vualink_pt *pt, u64 va, u64 addr, u64 size, u64 flags)
{
	struct vualink_pt_table *table;
	u64 step;
	u32 level;
	int ret;

	lockdep_assert_held(&pt->lock);

	/* The memory's content comes before the entries that an MMU reads. */
	smp_wmb();
	for (; size; va += step, addr += step, size -= step) {
		level = pt_leaf_level(va, addr, size);
		table = pt_get_table(pt, va, level, false);
		if (IS_ERR(table)) {
			pt_want_more(pt, va, addr, size);
			return PTR_ERR(table);
		}
		step = pt_step(va, size, level);
		ret = pt_map_leaves(pt, table, pt_index(va, level),
				    step >> pt_shift(level),
				    pt_leaf(addr, flags, level));
		if (ret)
			return ret;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_map);

/* Unmapping */

/* The lowest table for @va that there is */
static struct vualink_pt_table *pt_find_table(struct vualink_pt *pt, u64 va)
{
	struct vualink_pt_table *table = pt->root, *child;

	while (table->level) {
		child = table->child[pt_index(va, table->level)];
		if (!child)
			break;
		table = child;
	}
	return table;
}

/*
 * Clears at most @count entries, up to the next one that points to a table.
 * Return: how many entries it went over.
 */
static u32 pt_unmap_leaves(struct vualink_pt *pt, struct vualink_pt_table *table,
			   u32 index, u32 count)
{
	__le64 *pte = &table->mem.pte[index];
	u32 i, cleared = 0;

	for (i = 0; i < count; i++) {
		if (table->level && table->child[index + i])
			break;
		if (!pte[i])
			continue;
		WRITE_ONCE(pte[i], 0);
		cleared++;
	}
	if (cleared) {
		pt_sub_used(pt, table, cleared);
		pt_count_writes(pt, cleared);
	}
	return i;
}

/**
 * vualink_pt_unmap() - unmap a range
 * @pt: page table
 * @va: start of the range
 * @size: size of the range
 *
 * All or a part of it may be unmapped already. A block that the range cuts is
 * unmapped as a whole; see vualink_pt_split().
 */
void vualink_pt_unmap(struct vualink_pt *pt, u64 va, u64 size)
{
	struct vualink_pt_table *table;
	u64 end = va + size;
	u32 index, count;

	lockdep_assert_held(&pt->lock);

	while (va < end) {
		table = pt_find_table(pt, va);
		index = pt_index(va, table->level);
		va = ALIGN_DOWN(va, pt_span(table->level));
		count = min_t(u64, VUALINK_PT_ENTRIES - index,
			      DIV_ROUND_UP(end - va, pt_span(table->level)));
		count = pt_unmap_leaves(pt, table, index, count);
		va += (u64)count << pt_shift(table->level);
	}
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_unmap);

/**
 * vualink_pt_trim() - take out empty tables
 * @pt: page table
 * @keep: how many may stay in place
 * @garbage: gets what may be freed after a flush of the whole range that was
 *	unmapped
 */
void vualink_pt_trim(struct vualink_pt *pt, u32 keep, struct list_head *garbage)
{
	lockdep_assert_held(&pt->lock);

	while (!pt->holds && pt->num_empty > keep)
		pt_unlink_table(pt, list_first_entry(&pt->empty,
						     struct vualink_pt_table,
						     link));
	list_splice_tail_init(&pt->unlinked, garbage);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_trim);

/**
 * vualink_pt_free_garbage() - free tables that are not in place any more
 * @pt: page table
 * @garbage: from vualink_pt_trim(); the TLB was flushed since
 */
void vualink_pt_free_garbage(struct vualink_pt *pt, struct list_head *garbage)
{
	struct vualink_pt_table *table, *next;

	list_for_each_entry_safe(table, next, garbage, link)
		pt_table_free(pt, table);
	INIT_LIST_HEAD(garbage);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_free_garbage);

/* Life */

/* Counts @count down. */
static int pt_refill(struct vualink_pt *pt, bool dir, u32 *count)
{
	struct vualink_pt_table *table;

	for (; *count; --*count) {
		table = pt_table_alloc(pt, dir);
		if (IS_ERR(table))
			return PTR_ERR(table);
		mutex_lock(&pt->lock);
		list_add_tail(&table->link, &pt->spare[dir]);
		mutex_unlock(&pt->lock);
	}
	return 0;
}

/**
 * vualink_pt_refill() - allocate the tables that were missing
 * @pt: page table
 *
 * When it fails, what is missing still counts, and the next call goes on.
 *
 * Return: 0, or the error of the allocator.
 */
int vualink_pt_refill(struct vualink_pt *pt)
{
	u32 leaves, dirs;
	int ret;

	mutex_lock(&pt->lock);
	leaves = pt->want[0];
	dirs = pt->want[1];
	memset(pt->want, 0, sizeof(pt->want));
	mutex_unlock(&pt->lock);

	ret = pt_refill(pt, true, &dirs);
	if (!ret)
		ret = pt_refill(pt, false, &leaves);
	if (ret) {
		mutex_lock(&pt->lock);
		pt->want[0] = max(pt->want[0], leaves);
		pt->want[1] = max(pt->want[1], dirs);
		mutex_unlock(&pt->lock);
	}
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_refill);

/**
 * vualink_pt_init() - make an empty page table
 * @pt: page table
 * @ops: allocator of tables
 * @priv: its first argument
 * @writes: counts entries written
 *
 * Return: 0, or an errno.
 */
int vualink_pt_init(struct vualink_pt *pt, const struct vualink_pt_ops *ops,
		    void *priv, atomic64_t *writes)
{
	struct vualink_pt_table *root;

	memset(pt, 0, sizeof(*pt));
	pt->ops = ops;
	pt->priv = priv;
	pt->writes = writes;
	INIT_LIST_HEAD(&pt->spare[0]);
	INIT_LIST_HEAD(&pt->spare[1]);
	INIT_LIST_HEAD(&pt->empty);
	INIT_LIST_HEAD(&pt->unlinked);

	root = pt_table_alloc(pt, true);
	if (IS_ERR(root))
		return PTR_ERR(root);
	root->level = VUALINK_PT_LEVELS - 1;
	pt->root = root;
	mutex_init(&pt->lock);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_init);

static void pt_free_tree(struct vualink_pt *pt, struct vualink_pt_table *table)
{
	u32 i;

	for (i = 0; table->level && i < VUALINK_PT_ENTRIES; i++)
		if (table->child[i])
			pt_free_tree(pt, table->child[i]);
	pt_table_free(pt, table);
}

/**
 * vualink_pt_fini() - free all tables
 * @pt: page table; the MMU does not use it any more
 *
 * Does not write to the tables.
 */
void vualink_pt_fini(struct vualink_pt *pt)
{
	vualink_pt_free_garbage(pt, &pt->spare[0]);
	vualink_pt_free_garbage(pt, &pt->spare[1]);
	vualink_pt_free_garbage(pt, &pt->unlinked);
	pt_free_tree(pt, pt->root);
	mutex_destroy(&pt->lock);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_pt_fini);
