// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/mm.h>

#include "vualink_hw_fixture.h"

/* 1 GiB: the start of a block of any level */
#define VA		0x40000000ull
#define VA_END		BIT_ULL(VUALINK_VA_BITS)
#define SEGMENT		BIT_ULL(FIX_SHIFT)

static u64 npa_of(struct fix_gpu *owner, u64 offset)
{
	return (u64)owner->id << FIX_SHIFT | offset;
}

/* Walks that end well */

struct leaf_case {
	const char *description;
	u32 level;
	u64 va;
	u64 offset;
};

static const struct leaf_case leaf_cases[] = {
	{ "page", 0, VA, 0 },
	{ "page, not its start", 0, VA + SZ_1M, 0x678 },
	{ "first page of all", 0, 0, 8 },
	{ "last page of all", 0, VA_END - SZ_4K, SZ_4K - 64 },
	{ "2 MiB block", 1, VA, SZ_64K + 0x120 },
	{ "last 2 MiB block", 1, VA_END - SZ_2M, SZ_64K },
	{ "1 GiB block", 2, VA, SZ_64K + 0x340 },
	{ "last 1 GiB block", 2, VA_END - SZ_1G, SZ_128K },
};

KUNIT_ARRAY_PARAM_DESC(leaf, leaf_cases, description);

/* VRAM that a leaf of a level can point at without hitting the page tables */
static u64 leaf_target(struct fix_gpu *gpu, u32 level)
{
	return level ? 0 : fix_page(gpu);
}

static void mmu_walks_to_leaf(struct kunit *test)
{
	const struct leaf_case *c = test->param_value;
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 target = leaf_target(gpu, c->level);
	u64 pte = target | FIX_RW | (c->level ? VUALINK_PTE_BLOCK : 0);

	fix_map(gpu, 1, c->va, pte, c->level);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, c->va + c->offset, 64,
					  0xa5a5a5a5).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, target + c->offset), 0xa5,
					64));
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, walks), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 0);
}

static void mmu_walks_to_npa_leaf(struct kunit *test)
{
	const struct leaf_case *c = test->param_value;
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, VUALINK_HW_MAX_IDS - 1,
					FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 5, FIX_VRAM);
	u64 block = c->level ? VUALINK_PTE_BLOCK : 0;
	u64 target = leaf_target(owner, c->level);
	/* The last of the 48-bit space is the last of the segment here. */
	u64 offset = c->va % SEGMENT;

	fix_map_npa(owner, offset, target | FIX_RW | block, c->level);
	fix_map(gpu, 1, c->va,
		npa_of(owner, offset) | FIX_RW | VUALINK_PTE_NPA | block,
		c->level);
	KUNIT_ASSERT_EQ(test, 0, vualink_hw_source_gate(owner->hw, 5, true));

	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, c->va + c->offset, 64,
					  0x5a5a5a5a).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, target + c->offset),
					0x5a, 64));
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, npa_out), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(owner, npa_in), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(owner, walks), 1);
}

static void mmu_reaches_system_memory(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u8 *buf = (u8 *)__get_free_page(GFP_KERNEL | __GFP_ZERO);
	u64 page = fix_page(gpu), phys;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	phys = PFN_PHYS(page_to_pfn(virt_to_page(buf)));
	fix_map(gpu, 1, VA, phys | FIX_RW | VUALINK_PTE_SYSTEM, 0);
	fix_map(gpu, 1, VA + SZ_4K, page | FIX_RW, 0);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_2K, 0x11111111).error);
	KUNIT_EXPECT_TRUE(test, fix_all(buf, 0x11, SZ_2K));
	KUNIT_EXPECT_TRUE(test, fix_all(buf + SZ_2K, 0, SZ_2K));

	memset(buf, 0x22, SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, fix_copy(gpu, 1, VA + SZ_4K, VA, SZ_4K).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 0x22, SZ_4K));
	free_page((unsigned long)buf);
}

/* Walks that fail */

#define V	VUALINK_PTE_VALID
#define W	VUALINK_PTE_WRITE
#define BLK	VUALINK_PTE_BLOCK
#define NPA	VUALINK_PTE_NPA
#define SYS	VUALINK_PTE_SYSTEM

struct bad_case {
	const char *description;
	u32 level;
	u64 pte;
	u32 reason;
	u32 npa_reason;		/* in the link MMU, if it is another one */
};

static const struct bad_case bad_cases[] = {
	{ "invalid at 0", 0, W, VUALINK_HW_FAULT_VA, VUALINK_HW_FAULT_NPA },
	{ "invalid at 1", 1, W | BLK, VUALINK_HW_FAULT_VA,
	  VUALINK_HW_FAULT_NPA },
	{ "invalid at 2", 2, 0, VUALINK_HW_FAULT_VA, VUALINK_HW_FAULT_NPA },
	{ "invalid at 3", 3, BIT_ULL(60), VUALINK_HW_FAULT_VA,
	  VUALINK_HW_FAULT_NPA },
	{ "reserved bit 5", 0, V | W | BIT_ULL(5), VUALINK_HW_FAULT_ENTRY },
	{ "reserved bit 11", 0, V | W | BIT_ULL(11), VUALINK_HW_FAULT_ENTRY },
	{ "reserved bit 52", 0, V | W | BIT_ULL(52), VUALINK_HW_FAULT_ENTRY },
	{ "reserved bit 63", 2, V | BIT_ULL(63), VUALINK_HW_FAULT_ENTRY },
	{ "block at 0", 0, V | W | BLK, VUALINK_HW_FAULT_ENTRY },
	{ "block at 3", 3, V | W | BLK, VUALINK_HW_FAULT_ENTRY },
	{ "block at 1, not aligned", 1, V | W | BLK | SZ_1M,
	  VUALINK_HW_FAULT_ENTRY },
	{ "block at 2, not aligned", 2, V | W | BLK | SZ_2M,
	  VUALINK_HW_FAULT_ENTRY },
	{ "both NPA and system", 0, V | W | NPA | SYS, VUALINK_HW_FAULT_ENTRY },
	{ "pointer with NPA", 1, V | NPA, VUALINK_HW_FAULT_ENTRY },
	{ "pointer with system", 2, V | SYS, VUALINK_HW_FAULT_ENTRY },
	{ "pointer beyond VRAM", 1, V | FIX_VRAM, VUALINK_HW_FAULT_RANGE },
	{ "pointer far beyond VRAM", 3, V | VUALINK_PTE_ADDR,
	  VUALINK_HW_FAULT_RANGE },
	{ "page beyond VRAM", 0, V | W | FIX_VRAM, VUALINK_HW_FAULT_RANGE },
	{ "block beyond VRAM", 2, V | W | BLK | SZ_1G, VUALINK_HW_FAULT_RANGE },
	{ "no such system page", 0, V | W | SYS | VUALINK_PTE_ADDR,
	  VUALINK_HW_FAULT_RANGE, VUALINK_HW_FAULT_ENTRY },
	{ "no such id", 0, V | W | NPA | VUALINK_PTE_ADDR,
	  VUALINK_HW_FAULT_LINK, VUALINK_HW_FAULT_ENTRY },
};

KUNIT_ARRAY_PARAM_DESC(bad, bad_cases, description);

static void mmu_bad_entry_faults(struct kunit *test)
{
	const struct bad_case *c = test->param_value;
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);

	fix_map(gpu, 7, VA, c->pte, c->level);
	fix_expect_fault(fix_fill(gpu, 7, VA + 64, 64, ~0), c->reason,
			 VA + 64, true);
	KUNIT_EXPECT_EQ(test, fix_wait(gpu, 1).fault.vmid, 7);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, faults), 1);
}

static void mmu_bad_npa_entry_faults(struct kunit *test)
{
	const struct bad_case *c = test->param_value;
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);

	fix_map(gpu, 1, VA, npa_of(owner, VA) | FIX_RW | NPA, 0);
	fix_map_npa(owner, VA, c->pte, c->level);
	KUNIT_ASSERT_EQ(test, 0, vualink_hw_source_gate(owner->hw, 1, true));
	fix_expect_fault(fix_fill(gpu, 1, VA, 64, ~0),
			 c->npa_reason ?: c->reason, VA, true);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, faults), 1);
}

struct root_case {
	const char *description;
	u64 root;
	u64 va;
	u32 reason;
};

static const struct root_case root_cases[] = {
	{ "no root", U64_MAX, VA, VUALINK_HW_FAULT_VA },
	{ "root not aligned", SZ_4K + 8, VA, VUALINK_HW_FAULT_ENTRY },
	{ "root beyond VRAM", FIX_VRAM, VA, VUALINK_HW_FAULT_RANGE },
	{ "address too large", SZ_4K, VA_END, VUALINK_HW_FAULT_VA },
	{ "address far too large", SZ_4K, U64_MAX - 63, VUALINK_HW_FAULT_VA },
};

KUNIT_ARRAY_PARAM_DESC(root, root_cases, description);

static void mmu_bad_root_faults(struct kunit *test)
{
	const struct root_case *c = test->param_value;
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	/* What the low 48 bits of the address would lead to */
	u64 page = fix_page(gpu);

	fix_map(gpu, 1, 0, page | FIX_RW, 0);
	fix_map(gpu, 1, VA_END - SZ_4K, page | FIX_RW, 0);
	if (c->root != SZ_4K)
		vualink_hw_vm_set_root(gpu->hw, 1, c->root);
	else
		KUNIT_ASSERT_EQ(test, 0, fix_fill(gpu, 1, 0, 4, 0).error);
	fix_expect_fault(fix_fill(gpu, 1, c->va, 64, ~0), c->reason, c->va,
			 true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 0, SZ_4K));
}

static void mmu_offset_beyond_segment_faults(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu_shift(test, fabric, 1, FIX_VRAM, 21);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 0, FIX_VRAM);

	fix_share(owner, SZ_2M - SZ_4K, 0, gpu, VA);
	fix_share(owner, SZ_2M, 0, gpu, VA + SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 1).error);
	fix_expect_fault(fix_fill(gpu, 1, VA + SZ_4K, 4, 1),
			 VUALINK_HW_FAULT_NPA, VA + SZ_4K, true);
}

/* An NPA may name an id that does not exist, and does not fit in 32 bits. */
static void mmu_id_beyond_pod_faults(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu_shift(test, fabric, 5, FIX_VRAM, 12);
	struct fix_gpu *gpu = fix_gpu_shift(test, fabric, 0, FIX_VRAM, 12);
	u64 page = fix_page(owner);

	fix_map_npa(owner, 0, page | FIX_RW, 0);
	KUNIT_ASSERT_EQ(test, 0, vualink_hw_source_gate(owner->hw, 0, true));
	fix_map(gpu, 1, VA, 5 << 12 | FIX_RW | NPA, 0);
	fix_map(gpu, 1, VA + SZ_4K, (5 + BIT_ULL(32)) << 12 | FIX_RW | NPA, 0);
	fix_map(gpu, 1, VA + SZ_8K, 1024 << 12 | FIX_RW | NPA, 0);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 0x01010101).error);
	fix_expect_fault(fix_fill(gpu, 1, VA + SZ_4K, 4, 2),
			 VUALINK_HW_FAULT_LINK, VA + SZ_4K, true);
	fix_expect_fault(fix_fill(gpu, 1, VA + SZ_8K, 4, 2),
			 VUALINK_HW_FAULT_LINK, VA + SZ_8K, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, page), 1, SZ_4K));
}

/* Permissions */

static void mmu_read_only_is_read_only(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 from = fix_page(gpu), to = fix_page(gpu);

	memset(fix_vram(gpu, from), 0x33, SZ_4K);
	fix_map(gpu, 1, VA, from | V, 0);
	fix_map(gpu, 1, VA + SZ_4K, to | FIX_RW, 0);
	KUNIT_EXPECT_EQ(test, 0, fix_copy(gpu, 1, VA + SZ_4K, VA, SZ_4K).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, to), 0x33, SZ_4K));
	/* The entry is in the TLB now; that makes no difference. */
	fix_expect_fault(fix_fill(gpu, 1, VA, SZ_4K, 0),
			 VUALINK_HW_FAULT_WRITE, VA, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, from), 0x33, SZ_4K));
}

static void mmu_read_only_npa_is_read_only(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	u64 to = fix_page(gpu), from;

	from = fix_share(owner, VA, 0, gpu, VA);
	fix_map_npa(owner, VA, from | V, 0);
	memset(fix_vram(owner, from), 0x44, SZ_4K);
	fix_map(gpu, 1, VA + SZ_4K, to | FIX_RW, 0);
	KUNIT_EXPECT_EQ(test, 0, fix_copy(gpu, 1, VA + SZ_4K, VA, SZ_4K).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, to), 0x44, SZ_4K));
	fix_expect_fault(fix_fill(gpu, 1, VA, SZ_4K, 0),
			 VUALINK_HW_FAULT_NPA_WRITE, VA, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, from), 0x44, SZ_4K));
}

static void mmu_address_spaces_are_apart(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 a = fix_page(gpu), b = fix_page(gpu);

	fix_map(gpu, 1, VA, a | FIX_RW, 0);
	fix_map(gpu, VUALINK_HW_VMIDS - 1, VA, b | FIX_RW, 0);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 0x01010101).error);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, VUALINK_HW_VMIDS - 1, VA, SZ_4K,
					  0x02020202).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, a), 1, SZ_4K));
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, b), 2, SZ_4K));
	fix_expect_fault(fix_fill(gpu, 2, VA, SZ_4K, 0), VUALINK_HW_FAULT_VA,
			 VA, true);
}

/* TLBs */

static void mmu_tlb_keeps_until_flush(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 old = fix_page(gpu), new = fix_page(gpu);

	fix_map(gpu, 1, VA, old | FIX_RW, 0);
	fix_fill(gpu, 1, VA, SZ_4K, 0x01010101);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 0);

	fix_map(gpu, 1, VA, new | FIX_RW, 0);
	fix_fill(gpu, 1, VA, SZ_4K, 0x02020202);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale_flushed), 0);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, old), 2, SZ_4K));
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, new), 0, SZ_4K));

	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(gpu->hw, 1, VA, SZ_4K));
	fix_fill(gpu, 1, VA, SZ_4K, 0x03030303);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale_flushed), 1);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, old), 2, SZ_4K));
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, new), 3, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, walks), 2);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, tlb_hits), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, vm_flushes), 1);
}

static void mmu_link_tlb_keeps_until_flush(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	u64 old = fix_share(owner, VA, 0, gpu, VA);

	fix_fill(gpu, 1, VA, SZ_4K, 0x01010101);
	fix_map_npa(owner, VA, 0, 0);
	/* An entry that became invalid still leads to the old memory. */
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 0x02020202).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, old), 2, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(owner, stale), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 0);

	KUNIT_EXPECT_EQ(test, 0, vualink_hw_npa_flush(owner->hw, VA, SZ_4K));
	fix_expect_fault(fix_fill(gpu, 1, VA, SZ_4K, 0x03030303),
			 VUALINK_HW_FAULT_NPA, VA, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, old), 2, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(owner, stale), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(owner, stale_flushed), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(owner, link_flushes), 1);
}

static void mmu_tlb_survives_root_change(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_page(gpu);

	fix_map(gpu, 1, VA, page | FIX_RW, 0);
	fix_fill(gpu, 1, VA, SZ_4K, 1);
	vualink_hw_vm_set_root(gpu->hw, 1, U64_MAX);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 0x02020202).error);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 1);
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(gpu->hw, 1, 0, U64_MAX));
	fix_expect_fault(fix_fill(gpu, 1, VA, SZ_4K, 3), VUALINK_HW_FAULT_VA,
			 VA, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 2, SZ_4K));
}

static void mmu_invalid_is_not_cached(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_page(gpu);

	fix_map(gpu, 1, VA, 0, 0);
	fix_expect_fault(fix_fill(gpu, 1, VA, 4, 1), VUALINK_HW_FAULT_VA, VA,
			 true);
	fix_map(gpu, 1, VA, page | FIX_RW, 0);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, 4, 1).error);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 0);
}

/* Walks that filling a page costs: 0 if the TLB has it */
static u64 walks_of(struct fix_gpu *gpu, u32 vmid, u64 va)
{
	u64 before = fix_stat(gpu, walks);

	KUNIT_EXPECT_EQ(gpu->test, 0, fix_fill(gpu, vmid, va, 4, 1).error);
	return fix_stat(gpu, walks) - before;
}

static void mmu_flush_is_of_range_and_space(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_page(gpu);
	u32 vmid, i;

	for (vmid = 1; vmid <= 2; vmid++) {
		for (i = 0; i < 4; i++) {
			fix_map(gpu, vmid, VA + i * SZ_4K, page | FIX_RW, 0);
			KUNIT_EXPECT_EQ(test, 1,
					walks_of(gpu, vmid, VA + i * SZ_4K));
		}
	}
	vualink_hw_vm_flush(gpu->hw, 1, VA + SZ_4K, SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA));
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA + SZ_4K));
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA + SZ_8K));
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA + SZ_8K + SZ_4K));
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 2, VA + SZ_4K));

	vualink_hw_vm_flush(gpu->hw, 1, VA, 0);
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA));
	vualink_hw_vm_flush(gpu->hw, 1, VA, U64_MAX);
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA));
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 2, VA));
}

static void mmu_tlb_block_covers_block(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, SZ_4M);

	gpu->page = SZ_2M; /* The page tables are not in the block. */
	fix_map(gpu, 1, VA, FIX_RW | VUALINK_PTE_BLOCK, 1);
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA + SZ_1M));
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA));
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA + SZ_2M - 4));
	/* A flush of any page of it empties all of it. */
	vualink_hw_vm_flush(gpu->hw, 1, VA + SZ_64K, SZ_4K);
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA + SZ_1M));
	vualink_hw_vm_flush(gpu->hw, 1, VA + SZ_2M, SZ_2M);
	vualink_hw_vm_flush(gpu->hw, 1, 0, VA);
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA + SZ_1M));
}

static void mmu_tlb_has_a_size(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_page(gpu);
	u32 i;

	for (i = 0; i <= VUALINK_TLB_ENTRIES; i++)
		fix_map(gpu, 1, VA + i * SZ_4K, page | FIX_RW, 0);
	for (i = 0; i < VUALINK_TLB_ENTRIES; i++)
		KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA + i * SZ_4K));
	for (i = 0; i < VUALINK_TLB_ENTRIES; i++)
		KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA + i * SZ_4K));
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA + i * SZ_4K));
	KUNIT_EXPECT_EQ(test, 0, walks_of(gpu, 1, VA + SZ_4K));
	KUNIT_EXPECT_EQ(test, 1, walks_of(gpu, 1, VA));
}

/* Source gate */

static void mmu_gate_is_per_source(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *a = fix_gpu(test, fabric, 1, FIX_VRAM);
	struct fix_gpu *b = fix_gpu(test, fabric, 1023, FIX_VRAM);
	u64 page = fix_share(owner, VA, 0, a, VA);

	fix_share(owner, VA, page, b, VA);
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(owner->hw, 1, false));
	fix_expect_fault(fix_fill(a, 1, VA, SZ_4K, 0x01010101),
			 VUALINK_HW_FAULT_GATE, VA, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, page), 0, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(owner, npa_in), 0);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(b, 1, VA, SZ_4K, 0x02020202).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, page), 2, SZ_4K));

	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(owner->hw, 1, true));
	KUNIT_EXPECT_EQ(test, 0, fix_fill(a, 1, VA, SZ_4K, 0x03030303).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, page), 3, SZ_4K));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			vualink_hw_source_gate(owner->hw, VUALINK_HW_MAX_IDS,
					       true));
}

static void mmu_own_npa_takes_the_same_way(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 3, FIX_VRAM);
	u64 page = fix_share(gpu, VA, 0, gpu, VA);

	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 0x01010101).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 1, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, npa_in), 1);
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(gpu->hw, 3, false));
	fix_expect_fault(fix_fill(gpu, 1, VA, SZ_4K, 2),
			 VUALINK_HW_FAULT_GATE, VA, true);
}

static struct kunit_case vualink_mmu_cases[] = {
	KUNIT_CASE_PARAM(mmu_walks_to_leaf, leaf_gen_params),
	KUNIT_CASE_PARAM(mmu_walks_to_npa_leaf, leaf_gen_params),
	KUNIT_CASE(mmu_reaches_system_memory),
	KUNIT_CASE_PARAM(mmu_bad_entry_faults, bad_gen_params),
	KUNIT_CASE_PARAM(mmu_bad_npa_entry_faults, bad_gen_params),
	KUNIT_CASE_PARAM(mmu_bad_root_faults, root_gen_params),
	KUNIT_CASE(mmu_offset_beyond_segment_faults),
	KUNIT_CASE(mmu_id_beyond_pod_faults),
	KUNIT_CASE(mmu_read_only_is_read_only),
	KUNIT_CASE(mmu_read_only_npa_is_read_only),
	KUNIT_CASE(mmu_address_spaces_are_apart),
	KUNIT_CASE(mmu_tlb_keeps_until_flush),
	KUNIT_CASE(mmu_link_tlb_keeps_until_flush),
	KUNIT_CASE(mmu_tlb_survives_root_change),
	KUNIT_CASE(mmu_invalid_is_not_cached),
	KUNIT_CASE(mmu_flush_is_of_range_and_space),
	KUNIT_CASE(mmu_tlb_block_covers_block),
	KUNIT_CASE(mmu_tlb_has_a_size),
	KUNIT_CASE(mmu_gate_is_per_source),
	KUNIT_CASE(mmu_own_npa_takes_the_same_way),
	{}
};

static struct kunit_suite vualink_mmu_suite = {
	.name = "vualink_mmu",
	.test_cases = vualink_mmu_cases,
};

kunit_test_suite(vualink_mmu_suite);
