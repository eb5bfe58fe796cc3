// SPDX-License-Identifier: MIT
/*
 * The interrupt ring: entries of 32 bytes in the guest's memory, the write pointer beside it, and
 * an MSI by eventfd. When it is full the oldest entries are overwritten, as hardware does.
 */
#include <unistd.h>

#include "emu.h"
#include "regs_gen.h"

#define ENTRY_BYTES	32

static uint32_t ih_size(uint32_t cntl)
{
	return 4u << FIELD(cntl, M_OSSSYS_IH_RB_CNTL__RB_SIZE);
}

static void ih_publish(struct gpu *gpu)
{
	uint64_t addr = reg_get64(gpu, R_OSSSYS_IH_RB_WPTR_ADDR_LO, R_OSSSYS_IH_RB_WPTR_ADDR_HI);
	uint32_t value = gpu->ih.wptr;

	if (gpu->ih.overflow)
		value |= M_OSSSYS_IH_RB_WPTR__RB_OVERFLOW;
	dma_write(gpu, addr, &value, sizeof(value));
	reg_set(gpu, R_OSSSYS_IH_RB_WPTR, value);
}

static void ih_put(struct gpu *gpu, const uint32_t *entry, uint32_t cntl)
{
	uint64_t base = (uint64_t)reg_get(gpu, R_OSSSYS_IH_RB_BASE) << 8 |
			(uint64_t)(reg_get(gpu, R_OSSSYS_IH_RB_BASE_HI) & 0xff) << 40;
	uint32_t size = ih_size(cntl), next = (gpu->ih.wptr + ENTRY_BYTES) % size;

	dma_write(gpu, base + gpu->ih.wptr % size, entry, ENTRY_BYTES);
	if (next == reg_get(gpu, R_OSSSYS_IH_RB_RPTR) % size) {
		gpu->ih.overflow = true;
		gpu->ih.lost++;
	}
	gpu->ih.wptr = next;
	gpu->ih.raised++;
	ih_publish(gpu);
}

/* Raises an interrupt, if the driver has set up the ring. From any thread, with no lock held. */
void ih_raise(struct gpu *gpu, const struct irq *irq)
{
	uint64_t time = clock_us() * 100, one = 1;
	uint32_t entry[ENTRY_BYTES / 4] = {
		irq->client | (uint32_t)irq->source << 8 | (uint32_t)irq->ring << 16 |
			(uint32_t)irq->vmid << 24 | (uint32_t)irq->vmid_src << 31,
		(uint32_t)time, (uint32_t)(time >> 32) & 0xffff,
		irq->pasid | (uint32_t)irq->node << 16,
		irq->data[0], irq->data[1], irq->data[2], irq->data[3],
	};
	uint32_t cntl;

	pthread_mutex_lock(&gpu->ih.lock);
	cntl = reg_get(gpu, R_OSSSYS_IH_RB_CNTL);
	if (cntl & M_OSSSYS_IH_RB_CNTL__RB_ENABLE) {
		ih_put(gpu, entry, cntl);
		if (gpu->ih.eventfd >= 0 && cntl & M_OSSSYS_IH_RB_CNTL__ENABLE_INTR &&
		    write(gpu->ih.eventfd, &one, sizeof(one)) < 0)
			logmsg(gpu, "cannot signal an interrupt");
	}
	pthread_mutex_unlock(&gpu->ih.lock);
}

void ih_eventfd(struct gpu *gpu, int fd)
{
	pthread_mutex_lock(&gpu->ih.lock);
	if (gpu->ih.eventfd >= 0)
		close(gpu->ih.eventfd);
	gpu->ih.eventfd = fd;
	pthread_mutex_unlock(&gpu->ih.lock);
}

bool ih_doorbell(struct gpu *gpu, uint32_t index, uint64_t value)
{
	if (index != FIELD(reg_get(gpu, R_OSSSYS_IH_DOORBELL_RPTR),
			   M_OSSSYS_IH_DOORBELL_RPTR__OFFSET))
		return false;
	reg_set(gpu, R_OSSSYS_IH_RB_RPTR, (uint32_t)value);
	return true;
}

static void cntl_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	pthread_mutex_lock(&gpu->ih.lock);
	if (value & M_OSSSYS_IH_RB_CNTL__WPTR_OVERFLOW_CLEAR) {
		gpu->ih.overflow = false;
		reg_set(gpu, R_OSSSYS_IH_RB_WPTR, gpu->ih.wptr);
	}
	reg_set(gpu, reg, value);
	pthread_mutex_unlock(&gpu->ih.lock);
}

static void wptr_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	pthread_mutex_lock(&gpu->ih.lock);
	gpu->ih.wptr = value & ~(ENTRY_BYTES - 1u);
	gpu->ih.overflow = false;
	reg_set(gpu, reg, value);
	pthread_mutex_unlock(&gpu->ih.lock);
}

const struct reg_hook ih_hooks[] = {
	{ R_OSSSYS_IH_RB_CNTL, 1, NULL, cntl_write },
	{ R_OSSSYS_IH_RB_WPTR, 1, NULL, wptr_write },
};
const size_t ih_hooks_count = ARRAY_SIZE(ih_hooks);

void ih_reset(struct gpu *gpu)
{
	pthread_mutex_lock(&gpu->ih.lock);
	gpu->ih.wptr = 0;
	gpu->ih.overflow = false;
	pthread_mutex_unlock(&gpu->ih.lock);
}

void ih_init(struct gpu *gpu)
{
	pthread_mutex_init(&gpu->ih.lock, NULL);
	gpu->ih.eventfd = -1;
}
