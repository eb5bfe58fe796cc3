// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Included by amdgpu_ualink_npa.c. Tables are plain memory here, and all of those
 * that a test needs are there before it begins.
 */

#include <kunit/test.h>

#define TEST_TABLES	8

struct npa_fake {
	struct amdgpu_device *adev;
	struct amdgpu_ualink_table *tables[TEST_TABLES];
	unsigned int count;
};

static void npa_test_get_pde(struct amdgpu_device *adev, int level, u64 *addr, u64 *flags)
{
	if (level == AMDGPU_VM_PDB0 && !(*flags & AMDGPU_PDE_PTE))
		*flags |= AMDGPU_PTE_TF;
	*flags &= ~AMDGPU_PDE_PTE;
}

static const struct amdgpu_gmc_funcs npa_test_gmc_funcs = {
	.get_vm_pde = npa_test_get_pde,
};

static struct amdgpu_ualink_table *npa_test_table(struct kunit *test)
{
	struct npa_fake *fake = test->priv;
	struct amdgpu_ualink_table *table;

	table = kunit_kzalloc(test, struct_size(table, below, NPA_ENTRIES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table);
	table->cpu_addr = kunit_kzalloc(test, AMDGPU_GPU_PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table->cpu_addr);
	table->gpu_addr = (u64)(fake->count + 1) << 20;
	fake->tables[fake->count++] = table;
	return table;
}

/* Tables for [0, 4 MiB) of the segment. */
static int npa_test_init(struct kunit *test)
{
	struct npa_fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct amdgpu_device *adev = kunit_kzalloc(test, sizeof(*adev), GFP_KERNEL);
	struct amdgpu_ualink_table *pdb2, *pdb1, *pdb0;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_ASSERT_NOT_NULL(test, adev);
	adev->ualink = kunit_kzalloc(test, sizeof(*adev->ualink), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, adev->ualink);
	adev->gmc.gmc_funcs = &npa_test_gmc_funcs;
	adev->gmc.pte_addr_mask = GENMASK_ULL(47, 12);
	mutex_init(&adev->ualink->npa.populate_mutex);
	mutex_init(&adev->ualink->npa.mutex);
	fake->adev = adev;
	test->priv = fake;

	pdb2 = npa_test_table(test);
	pdb1 = npa_test_table(test);
	pdb0 = npa_test_table(test);
	pdb2->below[0] = pdb1;
	pdb1->below[0] = pdb0;
	pdb0->below[0] = npa_test_table(test);
	pdb0->below[1] = npa_test_table(test);
	adev->ualink->npa.root = pdb2;
	return 0;
}

/* Address and flags that the tables have for an offset; 0 if it is not mapped. */
static u64 npa_test_walk(struct npa_fake *fake, u64 offset)
{
	struct amdgpu_ualink_table *table = fake->adev->ualink->npa.root;
	unsigned int level, i;
	u64 entry;

	for (level = AMDGPU_VM_PDB2; ; level++) {
		entry = ((u64 *)table->cpu_addr)[npa_index(offset, level)];
		if (!(entry & AMDGPU_PTE_VALID))
			return 0;
		if (level == AMDGPU_VM_PTB)
			return entry;
		if (level == AMDGPU_VM_PDB0 && !(entry & AMDGPU_PTE_TF))
			return entry + (offset & (SZ_2M - 1) & PAGE_MASK);
		for (i = 0; i < fake->count; i++)
			if (fake->tables[i]->gpu_addr == (entry & GENMASK_ULL(47, 12)))
				break;
		table = fake->tables[i];
	}
}

/* What amdgpu_ualink_npa_map() does, but for the memory behind it. */
static void npa_test_map(struct kunit *test, u64 offset, u64 addr, u64 size, u64 flags)
{
	struct npa_fake *fake = test->priv;
	struct amdgpu_ualink_npa *npa = &fake->adev->ualink->npa;
	s64 done, populated;
	u64 writes;

	for (; size; size -= done, offset += done, addr += done) {
		writes = npa->pte_writes;
		mutex_lock(&npa->populate_mutex);
		populated = npa_populate_some(fake->adev, offset, addr, size, 0);
		mutex_unlock(&npa->populate_mutex);
		KUNIT_EXPECT_EQ(test, npa->pte_writes, writes);
		done = npa_map_some(fake->adev, offset, addr, size, AMDGPU_PTE_VALID | flags);
		KUNIT_ASSERT_GT(test, done, 0);
		KUNIT_EXPECT_EQ(test, populated, done);
		KUNIT_ASSERT_LE(test, done, size);
	}
}

static void npa_test_expect(struct kunit *test, u64 offset, u64 addr, u64 size, u64 flags)
{
	u64 at;

	for (at = 0; at < size; at += AMDGPU_GPU_PAGE_SIZE)
		KUNIT_EXPECT_EQ(test, npa_test_walk(test->priv, offset + at),
				(addr + at) | AMDGPU_PTE_VALID | flags);
}

static void npa_test_clear(struct kunit *test, u64 offset, u64 size)
{
	struct npa_fake *fake = test->priv;
	u64 at;

	mutex_lock(&fake->adev->ualink->npa.mutex);
	npa_clear(fake->adev, offset, offset + size);
	mutex_unlock(&fake->adev->ualink->npa.mutex);
	for (at = 0; at < size; at += AMDGPU_GPU_PAGE_SIZE)
		KUNIT_EXPECT_EQ(test, npa_test_walk(fake, offset + at), 0);
}

static void npa_test_levels(struct kunit *test)
{
	const u64 last = BIT_ULL(48) - AMDGPU_GPU_PAGE_SIZE;
	unsigned int level;

	KUNIT_EXPECT_EQ(test, npa_shift(AMDGPU_VM_PTB), 12);
	KUNIT_EXPECT_EQ(test, npa_shift(AMDGPU_VM_PDB0), 21);
	KUNIT_EXPECT_EQ(test, npa_shift(AMDGPU_VM_PDB2), 39);
	for (level = AMDGPU_VM_PDB2; level <= AMDGPU_VM_PTB; level++) {
		KUNIT_EXPECT_EQ(test, npa_index(last, level), NPA_ENTRIES - 1);
		KUNIT_EXPECT_EQ(test, npa_index(BIT_ULL(npa_shift(level)), level), 1);
		KUNIT_EXPECT_EQ(test, npa_index(BIT_ULL(npa_shift(level)) - 1, level), 0);
	}

	KUNIT_EXPECT_EQ(test, npa_leaf_level(SZ_4M, SZ_2M, SZ_2M), AMDGPU_VM_PDB0);
	KUNIT_EXPECT_EQ(test, npa_leaf_level(SZ_4M + SZ_4K, SZ_2M, SZ_4M), AMDGPU_VM_PTB);
	KUNIT_EXPECT_EQ(test, npa_leaf_level(SZ_4M, SZ_1M, SZ_4M), AMDGPU_VM_PTB);
	KUNIT_EXPECT_EQ(test, npa_leaf_level(SZ_4M, SZ_2M, SZ_2M - SZ_4K), AMDGPU_VM_PTB);
}

/* Pages across the end of a table, and neighbours that are not touched. */
static void npa_test_pages(struct kunit *test)
{
	const u64 rw = AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE;

	npa_test_map(test, SZ_2M - 3 * SZ_4K, 0x40003000, 6 * SZ_4K, rw);
	npa_test_expect(test, SZ_2M - 3 * SZ_4K, 0x40003000, 6 * SZ_4K, rw);
	KUNIT_EXPECT_EQ(test, npa_test_walk(test->priv, SZ_2M - 4 * SZ_4K), 0);
	KUNIT_EXPECT_EQ(test, npa_test_walk(test->priv, SZ_2M + 3 * SZ_4K), 0);

	/* A neighbour at each side stays. */
	npa_test_clear(test, SZ_2M - 2 * SZ_4K, 4 * SZ_4K);
	npa_test_expect(test, SZ_2M - 3 * SZ_4K, 0x40003000, SZ_4K, rw);
	npa_test_expect(test, SZ_2M + 2 * SZ_4K, 0x40008000, SZ_4K, rw);
	npa_test_clear(test, 0, SZ_4M);
}

/* A block where pages were, and the other way round. */
static void npa_test_block(struct kunit *test)
{
	struct npa_fake *fake = test->priv;
	u64 writes;

	npa_test_map(test, SZ_2M, 0x40001000, SZ_2M, AMDGPU_PTE_READABLE);
	npa_test_expect(test, SZ_2M, 0x40001000, SZ_2M, AMDGPU_PTE_READABLE);
	npa_test_clear(test, SZ_2M, SZ_2M);

	writes = fake->adev->ualink->npa.pte_writes;
	npa_test_map(test, SZ_2M, 0x80000000, SZ_2M, AMDGPU_PTE_READABLE);
	/* The way down, and the block */
	KUNIT_EXPECT_EQ(test, fake->adev->ualink->npa.pte_writes, writes + 3);
	npa_test_expect(test, SZ_2M, 0x80000000, SZ_2M, AMDGPU_PTE_READABLE);
	npa_test_clear(test, SZ_2M, SZ_2M);

	npa_test_map(test, SZ_2M + SZ_4K, 0x90000000, SZ_4K, AMDGPU_PTE_READABLE);
	npa_test_expect(test, SZ_2M + SZ_4K, 0x90000000, SZ_4K, AMDGPU_PTE_READABLE);
	/* Nothing of the former pages comes back. */
	KUNIT_EXPECT_EQ(test, npa_test_walk(fake, SZ_2M), 0);
	KUNIT_EXPECT_EQ(test, npa_test_walk(fake, SZ_2M + 2 * SZ_4K), 0);
}

/* Where no table is there is nothing to clear. */
static void npa_test_clear_nothing(struct kunit *test)
{
	npa_test_clear(test, SZ_4M, SZ_64M);
	npa_test_clear(test, BIT_ULL(47), SZ_2M);
}

static struct kunit_case npa_test_cases[] = {
	KUNIT_CASE(npa_test_levels),
	KUNIT_CASE(npa_test_pages),
	KUNIT_CASE(npa_test_block),
	KUNIT_CASE(npa_test_clear_nothing),
	{}
};

static struct kunit_suite npa_test_suite = {
	.name = "amdgpu_ualink_npa",
	.init = npa_test_init,
	.test_cases = npa_test_cases,
};

kunit_test_suite(npa_test_suite);
