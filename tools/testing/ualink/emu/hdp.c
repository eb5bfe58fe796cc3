// SPDX-License-Identifier: MIT
/*
 * The host data path: what the CPU writes to VRAM reaches it when the HDP is flushed. The CPU's
 * writes to BAR 0 are seen by nobody, so this is modelled for the page tables of the segment
 * only, which nothing but the CPU writes: each that was ever walked has a copy, of the last flush,
 * and that is what walks see. Before its first walk a table has none, and is taken as it is.
 */
#include <stdlib.h>

#include "emu.h"
#include "regs_gen.h"

#define ENTRIES	(PAGE_SIZE / 8)

struct hdp_page {
	struct hdp_page *next;
	uint64_t offset;	/* in VRAM */
	uint64_t entry[ENTRIES];
};

/* Called with the lock held. */
static struct hdp_page *page_at(struct gpu *gpu, uint64_t offset)
{
	struct hdp_page **place = &gpu->hdp.page[offset >> PAGE_SHIFT], *page = *place;

	if (page)
		return page;
	page = malloc(sizeof(*page));
	if (!page)
		abort();
	page->offset = offset & ~(uint64_t)PAGE_MASK;
	vram_read(gpu, page->offset, page->entry, PAGE_SIZE);
	page->next = gpu->hdp.pages;
	gpu->hdp.pages = page;
	*place = page;
	return page;
}

/* Reads an entry of a page table. Return: false when no VRAM is there. */
bool hdp_read_entry(struct gpu *gpu, uint64_t offset, uint64_t *entry)
{
	uint64_t now;

	if (!vram_read(gpu, offset, &now, sizeof(now)))
		return false;
	pthread_mutex_lock(&gpu->hdp.lock);
	*entry = page_at(gpu, offset)->entry[(offset & PAGE_MASK) / 8];
	pthread_mutex_unlock(&gpu->hdp.lock);
	if (*entry != now)
		count(&gpu->stats, "page table entry before an HDP flush");
	return true;
}

void hdp_flush(struct gpu *gpu)
{
	struct hdp_page *page;

	count(&gpu->stats, "HDP flush");
	pthread_mutex_lock(&gpu->hdp.lock);
	for (page = gpu->hdp.pages; page; page = page->next)
		vram_read(gpu, page->offset, page->entry, PAGE_SIZE);
	pthread_mutex_unlock(&gpu->hdp.lock);
}

/* Whether a write to a register is a flush; the driver chooses one itself. */
bool hdp_is_flush(struct gpu *gpu, uint32_t reg)
{
	uint32_t remapped = reg_get(gpu, R_NBIO_BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL);

	return reg == R_NBIO_BIF_BX_PF0_GPU_HDP_FLUSH_REQ || (remapped && reg == remapped >> 2);
}

/* A reset leaves nothing on the way. */
void hdp_reset(struct gpu *gpu)
{
	struct hdp_page *page;

	pthread_mutex_lock(&gpu->hdp.lock);
	while ((page = gpu->hdp.pages)) {
		gpu->hdp.pages = page->next;
		gpu->hdp.page[page->offset >> PAGE_SHIFT] = NULL;
		free(page);
	}
	pthread_mutex_unlock(&gpu->hdp.lock);
}

void hdp_quit(struct gpu *gpu)
{
	hdp_reset(gpu);
	free(gpu->hdp.page);
}

void hdp_init(struct gpu *gpu)
{
	pthread_mutex_init(&gpu->hdp.lock, NULL);
	gpu->hdp.page = calloc(gpu->pod->vram_size >> PAGE_SHIFT, sizeof(struct hdp_page *));
	if (!gpu->hdp.page)
		abort();
}
