// SPDX-License-Identifier: MIT
/*
 * Page tables and TLBs.
 *
 * A TLB is filled by walks, and emptied by nothing but flushes and resets. Each use of an entry is
 * compared with the page table of that moment. One that differs is used all the same, and counted;
 * a flush of the entry later on makes it one that hardware would have seen too.
 */
#include "emu.h"

#define LEVELS	4

/* ---- walks ---- */

static bool read_entry(struct gpu *gpu, uint64_t parent, uint64_t offset, bool segment,
		       uint64_t *entry)
{
	if (segment)
		return hdp_read_entry(gpu, offset, entry);
	if (parent & PTE_SYSTEM)
		return dma_read(gpu, offset, entry, sizeof(*entry));
	return vram_read(gpu, offset, entry, sizeof(*entry));
}

/*
 * Level 0 holds the PTEs. An entry of level 1 points to such a table when TF is set, and maps
 * 2 MiB itself when not, as the driver sets up this generation ("translate further").
 */
static bool is_leaf(uint64_t entry, unsigned int level)
{
	switch (level) {
	case 0:
		return true;
	case 1:
		return !(entry & PTE_TF);
	default:
		return entry & PDE_PTE;
	}
}

/*
 * Finds the leaf below a root; @segment: of the tables of the segment. They lie in VRAM, and those
 * of others in the guest's memory, too.
 */
enum fault walk_tables(struct gpu *gpu, uint64_t root, uint64_t addr, bool segment,
		       struct leaf *leaf)
{
	uint64_t entry = root, table;
	unsigned int level = LEVELS, shift;

	while (level--) {
		if (!(entry & PTE_VALID))
			return FAULT_INVALID;
		if (entry & PTE_SYSTEM && segment)
			return FAULT_MALFORMED;
		shift = PAGE_SHIFT + 9 * level;
		table = entry & 0x0000ffffffffffc0ull;
		if (!read_entry(gpu, entry, table + ((addr >> shift) & 511) * 8, segment, &entry))
			return FAULT_MEMORY;
		if (is_leaf(entry, level))
			break;
	}
	leaf->pte = entry;
	leaf->shift = PAGE_SHIFT + 9 * level;
	/* an entry for memory that is there, but not backed, is not valid */
	return entry & (PTE_VALID | PTE_PRT) ? FAULT_NONE : FAULT_INVALID;
}

uint64_t leaf_address(const struct leaf *leaf, uint64_t addr)
{
	uint64_t mask = (1ull << leaf->shift) - 1;

	return (leaf->pte & PTE_ADDR & ~mask) | (addr & mask);
}

/* ---- TLB ---- */

void tlb_init(struct tlb *tlb)
{
	pthread_mutex_init(&tlb->lock, NULL);
}

static struct tlb_entry *tlb_find(struct tlb *tlb, unsigned int vmid, uint64_t addr)
{
	struct tlb_entry *entry;

	for (entry = tlb->entry; entry < tlb->entry + TLB_ENTRIES; entry++)
		if (entry->leaf.pte && entry->vmid == vmid &&
		    (addr - entry->base) >> entry->leaf.shift == 0)
			return entry;
	return NULL;
}

/* The entry to be replaced: not one that a flush is still to be seen for, if there is another. */
static struct tlb_entry *tlb_victim(struct tlb *tlb)
{
	struct tlb_entry *entry = NULL;
	unsigned int tries;

	for (tries = 0; tries < TLB_ENTRIES; tries++) {
		entry = &tlb->entry[tlb->next];
		tlb->next = (tlb->next + 1) % TLB_ENTRIES;
		if (!entry->stale)
			break;
	}
	return entry;
}

static void tlb_fill(struct tlb *tlb, unsigned int vmid, uint64_t addr, const struct leaf *leaf)
{
	struct tlb_entry *entry;

	pthread_mutex_lock(&tlb->lock);
	entry = tlb_find(tlb, vmid, addr);
	if (!entry)
		entry = tlb_victim(tlb);
	*entry = (struct tlb_entry){
		.base = addr & ~((1ull << leaf->shift) - 1),
		.leaf = *leaf,
		.vmid = (uint16_t)vmid,
	};
	pthread_mutex_unlock(&tlb->lock);
}

static void tlb_check(struct tlb *tlb, struct tlb_entry *entry, walk_fn walk, void *mmu,
		      uint64_t addr)
{
	struct leaf now;

	tlb->hits++;
	if (walk(mmu, entry->vmid, addr, &now) == FAULT_NONE && now.pte == entry->leaf.pte &&
	    now.shift == entry->leaf.shift)
		return;
	entry->stale++;
	tlb->stale++;
}

static bool tlb_lookup(struct tlb *tlb, walk_fn walk, void *mmu, unsigned int vmid, uint64_t addr,
		       struct leaf *leaf)
{
	struct tlb_entry *entry;

	pthread_mutex_lock(&tlb->lock);
	entry = tlb_find(tlb, vmid, addr);
	if (entry) {
		*leaf = entry->leaf;
		tlb_check(tlb, entry, walk, mmu, addr);
	} else {
		tlb->walks++;
	}
	pthread_mutex_unlock(&tlb->lock);
	return entry;
}

/* Translates an address; the caller holds the drain of the MMU for reading. */
enum fault tlb_translate(struct tlb *tlb, walk_fn walk, void *mmu, unsigned int vmid,
			 uint64_t addr, struct leaf *leaf)
{
	enum fault fault;

	if (tlb_lookup(tlb, walk, mmu, vmid, addr, leaf))
		return FAULT_NONE;
	fault = walk(mmu, vmid, addr, leaf);
	if (fault == FAULT_NONE)
		tlb_fill(tlb, vmid, addr, leaf);
	return fault;
}

/* Empties the entries of a set of VMIDs that overlap a range. */
void tlb_empty(struct tlb *tlb, uint32_t vmids, uint64_t first, uint64_t last)
{
	struct tlb_entry *entry;

	pthread_mutex_lock(&tlb->lock);
	for (entry = tlb->entry; entry < tlb->entry + TLB_ENTRIES; entry++) {
		if (!entry->leaf.pte || !(vmids & 1u << entry->vmid) || entry->base > last ||
		    entry->base + ((1ull << entry->leaf.shift) - 1) < first)
			continue;
		tlb->flushed += entry->stale;
		*entry = (struct tlb_entry){};
	}
	pthread_mutex_unlock(&tlb->lock);
}

/* Adds the uses that differed to @used, and those that no flush followed to @unflushed. */
void tlb_stale(struct tlb *tlb, uint64_t *used, uint64_t *unflushed)
{
	pthread_mutex_lock(&tlb->lock);
	*used += tlb->stale;
	*unflushed += tlb->stale - tlb->flushed;
	pthread_mutex_unlock(&tlb->lock);
}
