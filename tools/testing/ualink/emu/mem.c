// SPDX-License-Identifier: MIT
/*
 * Memory: the VRAM of a GPU, and what its VM lets it reach of the guest's memory. Guests race with
 * us on both, as software does with hardware, so bytes move by
 * atomics, which keep the order of accesses as well.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu.h"

#define LOST_PATTERN	0xdeadca11u

static void copy_words(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += 8)
		__atomic_store_n((uint64_t *)(to + i),
				 __atomic_load_n((const uint64_t *)(from + i), __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

static void copy_dwords(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t i;

	for (i = 0; i < len; i += 4)
		__atomic_store_n((uint32_t *)(to + i),
				 __atomic_load_n((const uint32_t *)(from + i), __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

static void copy_bytes(uint8_t *to, const uint8_t *from, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		__atomic_store_n(to + i, __atomic_load_n(from + i, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

/* An aligned word is never torn: a fence must not be seen by half. */
static void copy(void *to, const void *from, size_t len)
{
	uintptr_t bits = (uintptr_t)to | (uintptr_t)from | len;

	if (!(bits & 7))
		copy_words(to, from, len);
	else if (!(bits & 3))
		copy_dwords(to, from, len);
	else
		copy_bytes(to, from, len);
}

static uint64_t atomic32(uint32_t *mem, const struct mem_op *op)
{
	uint32_t expected = (uint32_t)op->compare;

	switch (op->fn) {
	case ATOMIC_ADD:
		return __atomic_fetch_add(mem, (uint32_t)op->operand, __ATOMIC_SEQ_CST);
	case ATOMIC_SWAP:
		return __atomic_exchange_n(mem, (uint32_t)op->operand, __ATOMIC_SEQ_CST);
	case ATOMIC_CMPSWAP:
		__atomic_compare_exchange_n(mem, &expected, (uint32_t)op->operand, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return expected;
	}
	return 0;
}

static uint64_t atomic64(uint64_t *mem, const struct mem_op *op)
{
	uint64_t expected = op->compare;

	switch (op->fn) {
	case ATOMIC_ADD:
		return __atomic_fetch_add(mem, op->operand, __ATOMIC_SEQ_CST);
	case ATOMIC_SWAP:
		return __atomic_exchange_n(mem, op->operand, __ATOMIC_SEQ_CST);
	case ATOMIC_CMPSWAP:
		__atomic_compare_exchange_n(mem, &expected, op->operand, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
		return expected;
	}
	return 0;
}

static bool mem_do(uint8_t *mem, struct mem_op *op)
{
	switch (op->kind) {
	case MEM_READ:
		copy(op->buf, mem, op->len);
		return true;
	case MEM_WRITE:
		copy(mem, op->buf, op->len);
		return true;
	case MEM_ATOMIC:
		if ((uintptr_t)mem & (op->len - 1))
			return false;
		op->old = op->len == 8 ? atomic64((uint64_t *)mem, op) :
					 atomic32((uint32_t *)mem, op);
		return true;
	}
	return false;
}

/* What is written before is seen by others before what is read after is read. */
void mem_barrier(void)
{
	static uint32_t word;

	/* a fence would do, but the thread sanitizer does not know fences */
	__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
}

/* ---- VRAM ---- */

bool vram_init(struct gpu *gpu)
{
	void *mem;

	gpu->vram_fd = memfd_create("vram", MFD_CLOEXEC);
	if (gpu->vram_fd < 0 || ftruncate(gpu->vram_fd, (off_t)gpu->pod->vram_size))
		return false;
	mem = mmap(NULL, gpu->pod->vram_size, PROT_READ | PROT_WRITE, MAP_SHARED, gpu->vram_fd, 0);
	gpu->vram = mem;
	return mem != MAP_FAILED;
}

/* Only what was ever written has memory behind it; the rest may stay zero. */
static void vram_scramble(struct gpu *gpu, off_t first, off_t end)
{
	uint32_t *word;

	for (word = (uint32_t *)(gpu->vram + first); word < (uint32_t *)(gpu->vram + end); word++)
		__atomic_store_n(word, LOST_PATTERN, __ATOMIC_RELAXED);
}

/* The content goes, as when power does, and firmware puts the discovery table back. */
void vram_lose(struct gpu *gpu)
{
	static uint8_t tables[GPUS_MAX][PAGE_SIZE];
	uint8_t *table = tables[gpu->index];
	off_t first = 0, end;
	size_t size;

	while ((first = lseek(gpu->vram_fd, first, SEEK_DATA)) >= 0) {
		end = lseek(gpu->vram_fd, first, SEEK_HOLE);
		if (end < 0)
			break;
		vram_scramble(gpu, first, end);
		first = end;
	}
	size = discovery_table(gpu->pod, table, PAGE_SIZE);
	/* at the top, minus DISCOVERY_TMR_OFFSET */
	vram_write(gpu, gpu->pod->vram_size - (64 << 10), table, size);
}

bool vram_op(struct gpu *gpu, uint64_t offset, struct mem_op *op)
{
	if (offset >= gpu->pod->vram_size || op->len > gpu->pod->vram_size - offset)
		return false;
	return mem_do(gpu->vram + offset, op);
}

bool vram_read(struct gpu *gpu, uint64_t offset, void *buf, size_t len)
{
	struct mem_op op = { .kind = MEM_READ, .buf = buf, .len = len };

	return vram_op(gpu, offset, &op);
}

bool vram_write(struct gpu *gpu, uint64_t offset, const void *buf, size_t len)
{
	struct mem_op op = { .kind = MEM_WRITE, .buf = (void *)(uintptr_t)buf, .len = len };

	return vram_op(gpu, offset, &op);
}

/* ---- the guest's memory ---- */

static struct dma_map *dma_find(struct dma *dma, uint64_t addr, size_t len)
{
	struct dma_map *map;

	for (map = dma->map; map < dma->map + dma->count; map++)
		if (addr >= map->addr && addr - map->addr < map->size &&
		    len <= map->size - (addr - map->addr))
			return map;
	return NULL;
}

/* Another GPU of the same VM whose BAR 0 the guest has put at @addr */
static struct gpu *dma_peer(struct gpu *gpu, uint64_t addr, size_t len)
{
	struct pod *pod = gpu->pod;
	uint64_t bar;
	unsigned int i;

	for (i = 0; i < pod->gpus; i++) {
		bar = pod->gpu[i].pci.bar0;
		if (bar && pod->gpu[i].vfio.pid == gpu->vfio.pid && addr >= bar &&
		    addr - bar < pod->vram_size && len <= pod->vram_size - (addr - bar))
			return &pod->gpu[i];
	}
	return NULL;
}

bool dma_op(struct gpu *gpu, uint64_t addr, struct mem_op *op)
{
	struct dma_map *map;
	struct gpu *peer;
	bool done = false;

	if (!gpu->pci.master) {
		count(&gpu->stats, "DMA without bus mastering");
		return false;
	}
	pthread_rwlock_rdlock(&gpu->dma.lock);
	map = dma_find(&gpu->dma, addr, op->len);
	if (map)
		done = mem_do(map->mem + (addr - map->addr), op);
	pthread_rwlock_unlock(&gpu->dma.lock);
	if (map)
		return done;
	peer = dma_peer(gpu, addr, op->len);
	if (peer) {
		count(&gpu->stats, "DMA to BAR 0 of GPU %u", peer->index);
		return vram_op(peer, addr - peer->pci.bar0, op);
	}
	count(&gpu->stats, "DMA to no memory");
	logmsg(gpu, "DMA to 0x%llx: no memory", (unsigned long long)addr);
	return false;
}

bool dma_read(struct gpu *gpu, uint64_t addr, void *buf, size_t len)
{
	struct mem_op op = { .kind = MEM_READ, .buf = buf, .len = len };

	return dma_op(gpu, addr, &op);
}

bool dma_write(struct gpu *gpu, uint64_t addr, const void *buf, size_t len)
{
	struct mem_op op = { .kind = MEM_WRITE, .buf = (void *)(uintptr_t)buf, .len = len };

	return dma_op(gpu, addr, &op);
}

bool dma_map_add(struct gpu *gpu, uint64_t addr, uint64_t size, int fd, uint64_t offset, bool write)
{
	struct dma *dma = &gpu->dma;
	void *mem = mmap(NULL, size, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, fd,
			 (off_t)offset);
	bool room;

	/* a ROM's file may not be writable, and nobody writes to it */
	if (mem == MAP_FAILED) {
		logmsg(gpu, "cannot map 0x%llx", (unsigned long long)addr);
		return true;
	}
	pthread_rwlock_wrlock(&dma->lock);
	room = dma->count < DMA_MAPS;
	if (room)
		dma->map[dma->count++] = (struct dma_map){ addr, size, mem };
	pthread_rwlock_unlock(&dma->lock);
	if (!room)
		munmap(mem, size);
	return room;
}

void dma_map_remove(struct gpu *gpu, uint64_t addr, uint64_t size, bool all)
{
	struct dma *dma = &gpu->dma;
	unsigned int i = 0;

	pthread_rwlock_wrlock(&dma->lock);
	while (i < dma->count) {
		struct dma_map *map = &dma->map[i];

		if (all || (map->addr >= addr && map->addr - addr < size)) {
			munmap(map->mem, map->size);
			*map = dma->map[--dma->count];
		} else {
			i++;
		}
	}
	pthread_rwlock_unlock(&dma->lock);
}
