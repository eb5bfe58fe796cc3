// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/export.h>
#include <linux/highmem.h>
#include <linux/overflow.h>

#include <kunit/visibility.h>

#include "vualink_hw_internal.h"

/**
 * DOC: MMU model
 *
 * An accelerator has two MMUs of the same make: one for the GPU virtual
 * addresses of its copy engine, and the link MMU for the NPA accesses of
 * others. Each has one TLB, tagged by address space in the former, which a page
 * table walk fills and only a flush, or a reset, empties; writing a page table
 * entry or a root does neither. Invalid entries are not cached.
 *
 * An access holds &vualink_mmu.drain for reading while it is translated and
 * moves its bytes, at most one page. A flush empties the TLB, takes the lock
 * for writing, and empties the TLB again. So when the flush returns, no access
 * that an old entry translated is under way, and no walk that read an old page
 * table entry can put it back into the TLB.
 *
 * A remote access holds the drain of its own VM MMU, and inside of that the one
 * of the owner's link MMU. Nothing waits for anything else while it holds the
 * latter, and a flush takes only one, so accelerators that access each other
 * while both flush cannot lock each other up.
 *
 * Each use of a TLB entry is compared with the page table. If they differ the
 * entry is used all the same, as hardware would, and counted as stale.
 */

void vualink_mmu_init(struct vualink_mmu *mmu, struct vualink_hw *hw,
		      u64 *roots, bool link)
{
	mmu->hw = hw;
	mmu->roots = roots;
	mmu->link = link;
	spin_lock_init(&mmu->lock);
	vualink_mmu_wipe(mmu);
}

/* Page table walks */

static bool vualink_mmu_read_entry(struct vualink_mmu *mmu, u64 offset,
				   u64 *entry)
{
	struct page *page = vualink_hw_vram_page(mmu->hw, offset);
	void *vaddr;

	if (!page)
		return false;
	vaddr = kmap_local_page(page);
	/* Once, as the driver may write it at the same time. */
	*entry = le64_to_cpu(READ_ONCE(*(__le64 *)(vaddr +
						   offset_in_page(offset))));
	kunmap_local(vaddr);
	return true;
}

static bool vualink_pte_is_leaf(u64 pte, u32 level)
{
	return !level || pte & VUALINK_PTE_BLOCK;
}

static bool vualink_block_is_valid(u64 pte, u32 level)
{
	u64 addr = pte & VUALINK_PTE_ADDR;

	return level >= 1 && level <= 2 &&
	       IS_ALIGNED(addr, BIT_ULL(vualink_level_shift(level)));
}

/* Whether an entry with V = 1 is one that "Page table format" allows */
static bool vualink_pte_is_valid(struct vualink_mmu *mmu, u64 pte, u32 level)
{
	u64 where = pte & (VUALINK_PTE_NPA | VUALINK_PTE_SYSTEM);

	if (pte & ~(VUALINK_PTE_VALID | VUALINK_PTE_WRITE | VUALINK_PTE_NPA |
		    VUALINK_PTE_BLOCK | VUALINK_PTE_SYSTEM | VUALINK_PTE_ADDR))
		return false;
	if (pte & VUALINK_PTE_BLOCK && !vualink_block_is_valid(pte, level))
		return false;
	if (!where)
		return true;
	return !mmu->link && vualink_pte_is_leaf(pte, level) &&
	       (where == VUALINK_PTE_NPA || where == VUALINK_PTE_SYSTEM);
}

static enum vualink_hw_fault_reason
vualink_mmu_invalid(struct vualink_mmu *mmu)
{
	return mmu->link ? VUALINK_HW_FAULT_NPA : VUALINK_HW_FAULT_VA;
}

static enum vualink_hw_fault_reason
vualink_mmu_walk(struct vualink_mmu *mmu, u32 vmid, u64 addr,
		 struct vualink_leaf *leaf)
{
	/* Pairs with WRITE_ONCE() in vualink_mmu_set_root(). */
	u64 table = READ_ONCE(mmu->roots[vmid]);
	u32 level = VUALINK_PT_LEVELS;
	u64 index, pte;

	if (table == U64_MAX || addr >> VUALINK_VA_BITS)
		return vualink_mmu_invalid(mmu);
	if (!IS_ALIGNED(table, VUALINK_PAGE_SIZE))
		return VUALINK_HW_FAULT_ENTRY;
	while (level--) {
		index = addr >> vualink_level_shift(level) &
			(VUALINK_PT_ENTRIES - 1);
		if (!vualink_mmu_read_entry(mmu, table + index * sizeof(pte),
					    &pte))
			return VUALINK_HW_FAULT_RANGE;
		if (!(pte & VUALINK_PTE_VALID))
			return vualink_mmu_invalid(mmu);
		if (!vualink_pte_is_valid(mmu, pte, level))
			return VUALINK_HW_FAULT_ENTRY;
		if (vualink_pte_is_leaf(pte, level))
			break;
		table = pte & VUALINK_PTE_ADDR;
	}
	leaf->pte = pte;
	leaf->level = level;
	return VUALINK_HW_FAULT_NONE;
}

/* TLB */

static u64 vualink_tlb_size(const struct vualink_tlb_entry *entry)
{
	return BIT_ULL(vualink_level_shift(entry->leaf.level));
}

static struct vualink_tlb_entry *
vualink_tlb_find(struct vualink_mmu *mmu, u32 vmid, u64 addr)
{
	struct vualink_tlb_entry *entry;

	lockdep_assert_held(&mmu->lock);
	for (entry = mmu->tlb; entry < mmu->tlb + VUALINK_TLB_ENTRIES; entry++)
		if (entry->leaf.pte && entry->vmid == vmid &&
		    addr - entry->base < vualink_tlb_size(entry))
			return entry;
	return NULL;
}

static bool vualink_leaf_is_stale(struct vualink_mmu *mmu, u32 vmid, u64 addr,
				  const struct vualink_leaf *leaf)
{
	struct vualink_leaf now;

	if (vualink_mmu_walk(mmu, vmid, addr, &now))
		return true;
	return now.pte != leaf->pte || now.level != leaf->level;
}

static bool vualink_tlb_lookup(struct vualink_mmu *mmu, u32 vmid, u64 addr,
			       struct vualink_leaf *leaf)
{
	struct vualink_hw_stats *stats = &mmu->hw->stats;
	struct vualink_tlb_entry *entry;

	spin_lock(&mmu->lock);
	entry = vualink_tlb_find(mmu, vmid, addr);
	if (entry) {
		*leaf = entry->leaf;
		if (vualink_leaf_is_stale(mmu, vmid, addr, leaf)) {
			entry->stale++;
			atomic64_inc(&stats->stale);
		}
		atomic64_inc(&stats->tlb_hits);
	}
	spin_unlock(&mmu->lock);
	return entry;
}

static void vualink_tlb_fill(struct vualink_mmu *mmu, u32 vmid, u64 addr,
			     const struct vualink_leaf *leaf)
{
	u64 size = BIT_ULL(vualink_level_shift(leaf->level));
	struct vualink_tlb_entry *entry;

	spin_lock(&mmu->lock);
	entry = vualink_tlb_find(mmu, vmid, addr);
	if (!entry) {
		entry = &mmu->tlb[mmu->next];
		mmu->next = (mmu->next + 1) % VUALINK_TLB_ENTRIES;
	}
	*entry = (struct vualink_tlb_entry) {
		.base = addr & ~(size - 1),
		.leaf = *leaf,
		.vmid = vmid,
	};
	spin_unlock(&mmu->lock);
}

static void vualink_tlb_drop(struct vualink_mmu *mmu,
			     struct vualink_tlb_entry *entry)
{
	lockdep_assert_held(&mmu->lock);
	atomic64_add(entry->stale, &mmu->hw->stats.stale_flushed);
	*entry = (struct vualink_tlb_entry) {};
}

static void vualink_tlb_empty(struct vualink_mmu *mmu, u32 vmid, u64 addr,
			      u64 last)
{
	struct vualink_tlb_entry *entry;

	spin_lock(&mmu->lock);
	for (entry = mmu->tlb; entry < mmu->tlb + VUALINK_TLB_ENTRIES; entry++)
		if (entry->leaf.pte && entry->vmid == vmid &&
		    entry->base <= last &&
		    entry->base + vualink_tlb_size(entry) > addr)
			vualink_tlb_drop(mmu, entry);
	spin_unlock(&mmu->lock);
}

static void vualink_tlb_empty_all(struct vualink_mmu *mmu)
{
	u32 i;

	spin_lock(&mmu->lock);
	for (i = 0; i < VUALINK_TLB_ENTRIES; i++)
		vualink_tlb_drop(mmu, &mmu->tlb[i]);
	spin_unlock(&mmu->lock);
}

/*
 * Translates an address for one access.
 * Return: why it faults, if it does.
 */
enum vualink_hw_fault_reason
vualink_mmu_translate(struct vualink_mmu *mmu, u32 vmid, u64 addr, bool write,
		      struct vualink_leaf *leaf)
{
	enum vualink_hw_fault_reason reason;

	lockdep_assert_held_read(&mmu->drain);

	if (!vualink_tlb_lookup(mmu, vmid, addr, leaf)) {
		atomic64_inc(&mmu->hw->stats.walks);
		reason = vualink_mmu_walk(mmu, vmid, addr, leaf);
		if (reason)
			return reason;
		vualink_fabric_knob_delay(mmu->hw, VUALINK_KNOB_WALK_DELAY);
		vualink_tlb_fill(mmu, vmid, addr, leaf);
	}
	if (write && !(leaf->pte & VUALINK_PTE_WRITE))
		return mmu->link ? VUALINK_HW_FAULT_NPA_WRITE :
				   VUALINK_HW_FAULT_WRITE;
	return VUALINK_HW_FAULT_NONE;
}

/* Roots and flushes */

static void vualink_mmu_set_root(struct vualink_mmu *mmu, u32 vmid, u64 root)
{
	/* Pairs with READ_ONCE() in vualink_mmu_walk(). */
	WRITE_ONCE(mmu->roots[vmid], root);
}

static int vualink_mmu_flush(struct vualink_mmu *mmu,
			     enum vualink_flush_kind kind, u32 vmid,
			     u64 addr, u64 size)
{
	u64 last;
	int ret;

	might_sleep();
	if (!size)
		return 0;
	if (check_add_overflow(addr, size - 1, &last))
		last = U64_MAX;
	ret = vualink_fabric_knob_flush(mmu->hw, kind);
	if (ret)
		return ret;

	/* Now, for accesses that overtake us on the way to the lock; */
	vualink_tlb_empty(mmu, vmid, addr, last);
	down_write(&mmu->drain);
	/* and again, for those that had walked the old page table before. */
	vualink_tlb_empty(mmu, vmid, addr, last);
	up_write(&mmu->drain);
	return 0;
}

/* Forgets all roots and translations, as a reset does. */
void vualink_mmu_wipe(struct vualink_mmu *mmu)
{
	u32 i, count = mmu->link ? 1 : VUALINK_HW_VMIDS;

	down_write(&mmu->drain);
	for (i = 0; i < count; i++)
		vualink_mmu_set_root(mmu, i, U64_MAX);
	vualink_tlb_empty_all(mmu);
	if (mmu->link)
		bitmap_zero(mmu->hw->gate, VUALINK_HW_MAX_IDS);
	up_write(&mmu->drain);
}

/**
 * vualink_hw_vm_set_root() - set the top page table of an address space
 * @hw: accelerator
 * @vmid: address space, 1 to %VUALINK_HW_VMIDS - 1
 * @root: VRAM offset of the table, or U64_MAX to disable the address space
 *
 * Does not sleep, and does not flush.
 */
void vualink_hw_vm_set_root(struct vualink_hw *hw, u32 vmid, u64 root)
{
	if (vmid && vmid < VUALINK_HW_VMIDS)
		vualink_mmu_set_root(&hw->vm, vmid, root);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_vm_set_root);

/**
 * vualink_hw_vm_flush() - empty the TLB of an address space
 * @hw: accelerator
 * @vmid: address space
 * @va: start of the range
 * @size: its size, or U64_MAX for the whole address space
 *
 * Returns when every access that was translated by the old entries, remote ones
 * included, has completed. May sleep; allocates nothing.
 *
 * Return: 0, or -EIO if the flush was made to fail; then nothing was emptied.
 */
int vualink_hw_vm_flush(struct vualink_hw *hw, u32 vmid, u64 va, u64 size)
{
	atomic64_inc(&hw->stats.vm_flushes);
	return vualink_mmu_flush(&hw->vm, VUALINK_FLUSH_VM, vmid, va, size);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_vm_flush);

/**
 * vualink_hw_npa_set_root() - set the top page table of the NPA segment
 * @hw: accelerator
 * @root: VRAM offset of the table, or U64_MAX to disable it
 *
 * Does not sleep, and does not flush.
 */
void vualink_hw_npa_set_root(struct vualink_hw *hw, u64 root)
{
	vualink_mmu_set_root(&hw->link, 0, root);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_npa_set_root);

/**
 * vualink_hw_npa_flush() - empty the link TLB
 * @hw: accelerator
 * @offset: start of the range, an offset in the NPA segment
 * @size: its size, or U64_MAX for the whole segment
 *
 * Returns when every access of others that was translated by the old entries
 * has completed. May sleep; allocates nothing.
 *
 * Return: 0, or -EIO if the flush was made to fail; then nothing was emptied.
 */
int vualink_hw_npa_flush(struct vualink_hw *hw, u64 offset, u64 size)
{
	atomic64_inc(&hw->stats.link_flushes);
	return vualink_mmu_flush(&hw->link, VUALINK_FLUSH_NPA, 0, offset, size);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_npa_flush);

/**
 * vualink_hw_source_gate() - admit or refuse the NPA accesses of a source
 * @hw: accelerator
 * @src: id of the source; may be that of @hw
 * @open: whether to admit it
 *
 * Closing returns when no access of @src is under way. May sleep; allocates
 * nothing.
 *
 * Return: 0, -EINVAL if there is no such id, or -EIO if closing was made to
 * fail; then the gate is still open.
 */
int vualink_hw_source_gate(struct vualink_hw *hw, u32 src, bool open)
{
	int ret;

	might_sleep();
	if (src >= VUALINK_HW_MAX_IDS)
		return -EINVAL;
	if (open) {
		set_bit(src, hw->gate);
		return 0;
	}
	ret = vualink_fabric_knob_flush(hw, VUALINK_FLUSH_GATE);
	if (ret)
		return ret;

	clear_bit(src, hw->gate);
	down_write(&hw->link.drain);
	up_write(&hw->link.drain);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_source_gate);
