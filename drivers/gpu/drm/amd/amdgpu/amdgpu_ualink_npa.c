// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/sizes.h>

#include "amdgpu.h"
#include "amdgpu_res_cursor.h"
#include "amdgpu_reset.h"
#include "amdgpu_ualink.h"

/*
 * The page tables through which other accelerators reach VRAM: offset in the segment to
 * address in VRAM, in the format of the GPU's process page tables. They are not an
 * amdgpu_vm, since those may be evicted, and since to clear entries of theirs takes
 * memory and a working engine. These are pinned, written by the CPU, and once made they
 * stay: what clears entries before memory is given back allocates nothing and cannot
 * fail. A range that was unmapped is given out again, and finds its tables.
 *
 * An entry in use is either a leaf or points to the table below; that one may also be
 * there when the entry is a leaf now, with all its own entries invalid.
 */

#define NPA_ENTRIES	512
#define NPA_LEVELS	4

/* A table, and where those below it are */
struct amdgpu_ualink_table {
	struct amdgpu_bo *bo;
	/* As VMID 0 sees it */
	u64 gpu_addr;
	void *cpu_addr;
	/* Nothing at the lowest level */
	struct amdgpu_ualink_table *below[];
};

static unsigned int npa_shift(unsigned int level)
{
	return AMDGPU_GPU_PAGE_SHIFT + 9 * (AMDGPU_VM_PTB - level);
}

static unsigned int npa_index(u64 offset, unsigned int level)
{
	return (offset >> npa_shift(level)) & (NPA_ENTRIES - 1);
}

static void npa_write(struct amdgpu_device *adev, struct amdgpu_ualink_table *table,
		      unsigned int index, u64 addr, u64 flags)
{
	amdgpu_gmc_set_pte_pde(adev, table->cpu_addr, index, addr, flags);
	adev->ualink->npa.pte_writes++;
}

static void npa_table_free(struct amdgpu_ualink_table *table, unsigned int level)
{
	unsigned int i;

	if (!table)
		return;
	for (i = 0; level != AMDGPU_VM_PTB && i < NPA_ENTRIES; i++)
		npa_table_free(table->below[i], level + 1);
	amdgpu_bo_free_kernel(&table->bo, &table->gpu_addr, &table->cpu_addr);
	kvfree(table);
}

static void npa_table_clear(struct amdgpu_ualink_table *table, unsigned int level)
{
	unsigned int i;

	if (!table)
		return;
	memset_io((void __iomem *)table->cpu_addr, 0, AMDGPU_GPU_PAGE_SIZE);
	for (i = 0; level != AMDGPU_VM_PTB && i < NPA_ENTRIES; i++)
		npa_table_clear(table->below[i], level + 1);
}

static struct amdgpu_ualink_table *npa_table_create(struct amdgpu_device *adev,
						    unsigned int level)
{
	unsigned int below = level == AMDGPU_VM_PTB ? 0 : NPA_ENTRIES;
	struct amdgpu_ualink_table *table;
	int ret;

	table = kvzalloc_flex(*table, below, below);
	if (!table)
		return ERR_PTR(-ENOMEM);

	ret = amdgpu_bo_create_kernel(adev, AMDGPU_GPU_PAGE_SIZE, AMDGPU_GPU_PAGE_SIZE,
				      AMDGPU_GEM_DOMAIN_VRAM, &table->bo,
				      &table->gpu_addr, &table->cpu_addr);
	if (ret) {
		kvfree(table);
		return ERR_PTR(ret);
	}
	memset_io((void __iomem *)table->cpu_addr, 0, AMDGPU_GPU_PAGE_SIZE);
	return table;
}

static void npa_get_pde(struct amdgpu_device *adev, struct amdgpu_ualink_table *table,
			unsigned int level, u64 *addr, u64 *flags)
{
	*addr = table->gpu_addr;
	*flags = AMDGPU_PTE_VALID;
	amdgpu_gmc_get_vm_pde(adev, level, addr, flags);
}

/* Makes the entry point to the table below it, also if it has done so before it was cleared. */
static void npa_link(struct amdgpu_device *adev, struct amdgpu_ualink_table *table,
		     unsigned int level, unsigned int index, struct amdgpu_ualink_table *below)
{
	u64 addr, flags;

	npa_get_pde(adev, below, level, &addr, &flags);
	npa_write(adev, table, index, addr, flags);
}

/*
 * Makes the table below an entry, unless it is there. To find memory for it may take
 * long, while others clear entries: that is why the caller does not hold @mutex.
 */
static int npa_make_below(struct amdgpu_device *adev, struct amdgpu_ualink_table *table,
			  unsigned int level, unsigned int index)
{
	struct amdgpu_ualink_npa *npa = &adev->ualink->npa;
	struct amdgpu_ualink_table *below;

	lockdep_assert_held(&npa->populate_mutex);
	if (table->below[index])
		return 0;
	below = npa_table_create(adev, level + 1);
	if (IS_ERR(below))
		return PTR_ERR(below);

	mutex_lock(&npa->mutex);
	npa->table_bytes += AMDGPU_GPU_PAGE_SIZE;
	table->below[index] = below;
	mutex_unlock(&npa->mutex);
	return 0;
}

/* Level of the leaf for what begins at @offset and @addr and has @size bytes. */
static unsigned int npa_leaf_level(u64 offset, u64 addr, u64 size)
{
	return IS_ALIGNED(offset | addr, SZ_2M) && size >= SZ_2M ? AMDGPU_VM_PDB0 : AMDGPU_VM_PTB;
}

/* One block. */
static void npa_map_block(struct amdgpu_device *adev, struct amdgpu_ualink_table *table,
			  u64 offset, u64 addr, u64 flags)
{
	flags |= AMDGPU_PDE_PTE_FLAG(adev);
	amdgpu_gmc_get_vm_pde(adev, AMDGPU_VM_PDB0, &addr, &flags);
	npa_write(adev, table, npa_index(offset, AMDGPU_VM_PDB0), addr, flags);
}

/* Pages, up to the end of the table. */
static void npa_map_pages(struct amdgpu_device *adev, struct amdgpu_ualink_table *table,
			  u64 offset, u64 addr, u64 size, u64 flags)
{
	unsigned int i, first = npa_index(offset, AMDGPU_VM_PTB);
	unsigned int count = min_t(u64, size >> AMDGPU_GPU_PAGE_SHIFT, NPA_ENTRIES - first);

	for (i = 0; i < count; i++, addr += AMDGPU_GPU_PAGE_SIZE)
		npa_write(adev, table, first + i, addr, flags);
}

/* Bytes from @offset on that are in one leaf, or in the leaves of one table. */
static u64 npa_extent(u64 offset, u64 size, unsigned int leaf)
{
	return leaf == AMDGPU_VM_PTB ? min(size, ALIGN(offset + 1, SZ_2M) - offset) : SZ_2M;
}

/* Makes the tables for contiguous memory. Return: for how many bytes, or an errno. */
static s64 npa_populate_some(struct amdgpu_device *adev, u64 offset, u64 addr, u64 size, u64 flags)
{
	unsigned int level, index, leaf = npa_leaf_level(offset, addr, size);
	struct amdgpu_ualink_table *table = adev->ualink->npa.root;
	int ret;

	for (level = AMDGPU_VM_PDB2; level < leaf; level++) {
		index = npa_index(offset, level);
		ret = npa_make_below(adev, table, level, index);
		if (ret)
			return ret;
		table = table->below[index];
	}
	return npa_extent(offset, size, leaf);
}

/* Leaves of one table for contiguous memory. Return: how many bytes. */
static s64 npa_map_some(struct amdgpu_device *adev, u64 offset, u64 addr, u64 size, u64 flags)
{
	unsigned int level, index, leaf = npa_leaf_level(offset, addr, size);
	struct amdgpu_ualink_table *table = adev->ualink->npa.root;

	for (level = AMDGPU_VM_PDB2; level < leaf; level++) {
		index = npa_index(offset, level);
		npa_link(adev, table, level, index, table->below[index]);
		table = table->below[index];
	}
	if (leaf == AMDGPU_VM_PTB)
		npa_map_pages(adev, table, offset, addr, size, flags);
	else
		npa_map_block(adev, table, offset, addr, flags);
	return npa_extent(offset, size, leaf);
}

/* The table with the leaves for @offset, and the level of it. */
static struct amdgpu_ualink_table *npa_find(struct amdgpu_device *adev, u64 offset,
					    unsigned int *level)
{
	struct amdgpu_ualink_table *below, *table = adev->ualink->npa.root;

	for (*level = AMDGPU_VM_PDB2; *level < AMDGPU_VM_PTB; ++*level) {
		below = table->below[npa_index(offset, *level)];
		if (!below)
			break;
		table = below;
	}
	return table;
}

/*
 * A block has been a leaf in the table that points to tables of pages: as long as it
 * is one, what is below it has only invalid entries, so to clear both is right.
 */
static u64 npa_clear_leaf(struct amdgpu_device *adev, u64 offset, u64 end)
{
	struct amdgpu_ualink_table *table, *up;
	unsigned int level, i;

	table = npa_find(adev, offset, &level);
	if (level != AMDGPU_VM_PTB) {
		npa_write(adev, table, npa_index(offset, level), 0, 0);
		return ALIGN(offset + 1, BIT_ULL(npa_shift(level)));
	}

	if (IS_ALIGNED(offset, SZ_2M) && end - offset >= SZ_2M) {
		up = adev->ualink->npa.root;
		for (i = AMDGPU_VM_PDB2; i < AMDGPU_VM_PDB0; i++)
			up = up->below[npa_index(offset, i)];
		npa_write(adev, up, npa_index(offset, AMDGPU_VM_PDB0), 0, 0);
	}
	for (; offset < end; offset += AMDGPU_GPU_PAGE_SIZE) {
		npa_write(adev, table, npa_index(offset, AMDGPU_VM_PTB), 0, 0);
		if (npa_index(offset, AMDGPU_VM_PTB) == NPA_ENTRIES - 1)
			return offset + AMDGPU_GPU_PAGE_SIZE;
	}
	return end;
}

static void npa_clear(struct amdgpu_device *adev, u64 offset, u64 end)
{
	lockdep_assert_held(&adev->ualink->npa.mutex);
	while (offset < end)
		offset = npa_clear_leaf(adev, offset, end);
}

/* What the CPU wrote must be in VRAM before the block looks. */
static void npa_commit(struct amdgpu_device *adev)
{
	/* Orders the writes before that of the flush. */
	mb();
	down_read(&adev->reset_domain->sem);
	amdgpu_device_flush_hdp(adev, NULL);
	up_read(&adev->reset_domain->sem);
}

/* Does something for each contiguous piece of a buffer. */
static int npa_walk(struct amdgpu_device *adev, u64 offset, struct amdgpu_bo *bo, u64 flags,
		    s64 (*some)(struct amdgpu_device *adev, u64 offset, u64 addr, u64 size,
				u64 flags))
{
	struct amdgpu_res_cursor cursor;
	s64 done;

	amdgpu_res_first(bo->tbo.resource, 0, amdgpu_bo_size(bo), &cursor);
	while (cursor.remaining) {
		done = some(adev, offset, adev->vm_manager.vram_base_offset + cursor.start,
			    cursor.size, flags);
		if (done < 0)
			return done;
		offset += done;
		amdgpu_res_next(&cursor, done);
	}
	return 0;
}

/**
 * amdgpu_ualink_npa_map - makes a buffer reachable for others
 * @adev: amdgpu_device pointer
 * @offset: where in the segment
 * @bo: the buffer, pinned in VRAM
 * @read_only: others may not write
 *
 * Return: 0, or an errno and nothing was mapped at any time.
 */
int amdgpu_ualink_npa_map(struct amdgpu_device *adev, u64 offset, struct amdgpu_bo *bo,
			  bool read_only)
{
	struct amdgpu_ualink_npa *npa = &adev->ualink->npa;
	u64 flags = AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE;
	int ret;

	if (!read_only)
		flags |= AMDGPU_PTE_WRITEABLE;

	mutex_lock(&npa->populate_mutex);
	ret = npa_walk(adev, offset, bo, flags, npa_populate_some);
	mutex_unlock(&npa->populate_mutex);
	if (ret)
		return ret;

	mutex_lock(&npa->mutex);
	npa_walk(adev, offset, bo, flags, npa_map_some);
	npa_commit(adev);
	mutex_unlock(&npa->mutex);
	return 0;
}

/**
 * amdgpu_ualink_npa_unmap - clears entries of the segment's page tables
 * @adev: amdgpu_device pointer
 * @offset: first byte
 * @size: bytes
 */
void amdgpu_ualink_npa_unmap(struct amdgpu_device *adev, u64 offset, u64 size)
{
	struct amdgpu_ualink_npa *npa = &adev->ualink->npa;

	mutex_lock(&npa->mutex);
	npa_clear(adev, offset, offset + size);
	npa_commit(adev);
	mutex_unlock(&npa->mutex);
}

/**
 * amdgpu_ualink_npa_root - what the root register is set to
 * @adev: amdgpu_device pointer
 *
 * Return: address and flags of the top level, as in an entry of a table above.
 */
u64 amdgpu_ualink_npa_root(struct amdgpu_device *adev)
{
	u64 addr, flags;

	npa_get_pde(adev, adev->ualink->npa.root, -1, &addr, &flags);
	return addr | flags;
}

/**
 * amdgpu_ualink_npa_clear - makes all tables empty, whatever is in them
 * @adev: amdgpu_device pointer
 *
 * VRAM may have lost its content.
 */
void amdgpu_ualink_npa_clear(struct amdgpu_device *adev)
{
	struct amdgpu_ualink_npa *npa = &adev->ualink->npa;

	mutex_lock(&npa->mutex);
	npa_table_clear(npa->root, AMDGPU_VM_PDB2);
	npa_commit(adev);
	mutex_unlock(&npa->mutex);
}

/**
 * amdgpu_ualink_npa_init - makes the page tables of the segment
 * @adev: amdgpu_device pointer
 *
 * Return: 0 or an errno.
 */
int amdgpu_ualink_npa_init(struct amdgpu_device *adev)
{
	struct amdgpu_ualink_npa *npa = &adev->ualink->npa;

	npa->root = npa_table_create(adev, AMDGPU_VM_PDB2);
	if (IS_ERR(npa->root))
		return PTR_ERR(npa->root);
	npa->table_bytes = AMDGPU_GPU_PAGE_SIZE;
	return 0;
}

/**
 * amdgpu_ualink_npa_fini - frees the page tables of the segment
 * @adev: amdgpu_device pointer
 */
void amdgpu_ualink_npa_fini(struct amdgpu_device *adev)
{
	npa_table_free(adev->ualink->npa.root, AMDGPU_VM_PDB2);
	adev->ualink->npa.root = NULL;
}

#if IS_ENABLED(CONFIG_DRM_AMDGPU_UALINK_KUNIT_TEST)
#include "tests/amdgpu_ualink_npa_test.c"
#endif
