// SPDX-License-Identifier: MIT
/*
 * Invalidation of the hubs' TLBs: a request clears the bits of its VMIDs in the acknowledge
 * register of its engine, and a thread sets them when the TLB is empty and each access that it had
 * translated before has completed.
 */
#include "emu.h"
#include "regs_gen.h"

#define VMIDS_OF_REQ	0xffffu		/* PER_VMID_INVALIDATE_REQ */

/* Empties the TLB for a set of VMIDs, and waits for the accesses that it had translated. */
void hub_flush(struct hub *hub, uint32_t vmids)
{
	tlb_empty(&hub->tlb, vmids, 0, UINT64_MAX);
	pthread_rwlock_wrlock(&hub->drain);
	/* and again, for those that had walked the old page table before */
	tlb_empty(&hub->tlb, vmids, 0, UINT64_MAX);
	pthread_rwlock_unlock(&hub->drain);
}

static struct hub *hub_of(struct gpu *gpu, uint32_t reg, uint32_t gc_first)
{
	bool gc = reg - gc_first < INV_ENGINES;

	return &gpu->hub[gc ? HUB_GC : HUB_MM];
}

static void req_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	struct hub *hub = hub_of(gpu, reg, R_GC_VM_INVALIDATE_ENG0_REQ);
	uint32_t eng = reg - hub->regs->inv_req;

	reg_set(gpu, reg, value);
	pthread_mutex_lock(&hub->lock);
	hub->pending[eng] |= value & VMIDS_OF_REQ;
	hub->ack[eng] &= ~(value & VMIDS_OF_REQ);
	pthread_mutex_unlock(&hub->lock);
	count(&gpu->stats, "%s invalidation", hub->regs->name);
	engine_kick(&gpu->flusher);
}

static uint32_t ack_read(struct gpu *gpu, uint32_t reg)
{
	struct hub *hub = hub_of(gpu, reg, R_GC_VM_INVALIDATE_ENG0_ACK);
	uint32_t ack;

	pthread_mutex_lock(&hub->lock);
	ack = hub->ack[reg - hub->regs->inv_ack];
	pthread_mutex_unlock(&hub->lock);
	return ack;
}

/* Nobody else takes the semaphores. */
static uint32_t sem_read(struct gpu *gpu, uint32_t reg)
{
	(void)gpu;
	(void)reg;
	return 1;
}

static void fault_cntl_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	struct hub *hub = &gpu->hub[reg == R_GC_VM_L2_PROTECTION_FAULT_CNTL ? HUB_GC : HUB_MM];

	reg_set(gpu, reg, value);
	if (!(value & M_GC_VM_L2_PROTECTION_FAULT_CNTL__CLEAR_PROTECTION_FAULT_STATUS_ADDR))
		return;
	pthread_mutex_lock(&hub->lock);
	reg_set(gpu, hub->regs->fault_status, 0);
	pthread_mutex_unlock(&hub->lock);
}

const struct reg_hook hub_hooks[] = {
	{ R_GC_VM_INVALIDATE_ENG0_REQ, INV_ENGINES, NULL, req_write },
	{ R_MMHUB_VM_INVALIDATE_ENG0_REQ, INV_ENGINES, NULL, req_write },
	{ R_GC_VM_INVALIDATE_ENG0_ACK, INV_ENGINES, ack_read, NULL },
	{ R_MMHUB_VM_INVALIDATE_ENG0_ACK, INV_ENGINES, ack_read, NULL },
	{ R_GC_VM_INVALIDATE_ENG0_SEM, INV_ENGINES, sem_read, NULL },
	{ R_MMHUB_VM_INVALIDATE_ENG0_SEM, INV_ENGINES, sem_read, NULL },
	{ R_GC_VM_L2_PROTECTION_FAULT_CNTL, 1, NULL, fault_cntl_write },
	{ R_MMHUB_VM_L2_PROTECTION_FAULT_CNTL, 1, NULL, fault_cntl_write },
};
const size_t hub_hooks_count = ARRAY_SIZE(hub_hooks);

/* Does one flush that is pending. Return: whether there was one. */
static bool flush_one(struct engine *engine, struct hub *hub, unsigned int eng)
{
	uint32_t delay_ms = engine->gpu->pod->flush_delay_ms, vmids;

	pthread_mutex_lock(&hub->lock);
	vmids = hub->pending[eng];
	hub->pending[eng] = 0;
	pthread_mutex_unlock(&hub->lock);
	if (!vmids)
		return false;
	if (delay_ms && !engine_pause(engine, delay_ms * 1000ull))
		return false;
	hub_flush(hub, vmids);
	pthread_mutex_lock(&hub->lock);
	/* a request that came meanwhile waits for a flush of its own */
	hub->ack[eng] |= vmids & ~hub->pending[eng];
	pthread_mutex_unlock(&hub->lock);
	return true;
}

void flush_run(struct engine *engine)
{
	unsigned int hub, eng;
	bool any = true;

	while (any && !engine->stop) {
		any = false;
		for (hub = 0; hub < HUBS; hub++)
			for (eng = 0; eng < INV_ENGINES; eng++)
				any |= flush_one(engine, &engine->gpu->hub[hub], eng);
	}
}
