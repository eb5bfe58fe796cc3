// SPDX-License-Identifier: MIT
/*
 * Accesses through the fabric: those to others, and those of others to the VRAM of an accelerator,
 * behind source gates and the page tables of its segment.
 *
 * An access holds the owner's drain for reading from the look at the gate to its end.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu.h"

#define REFUSED_EVERY_US	10000

static enum fault link_walk(void *mmu, unsigned int vmid, uint64_t addr, struct leaf *leaf)
{
	struct gpu *gpu = mmu;

	(void)vmid;
	return walk_tables(gpu, gpu->link.root, addr, true, leaf);
}

static enum refusal serve(struct gpu *owner, uint32_t requester, uint64_t offset,
			  struct mem_op *op)
{
	struct leaf leaf;
	uint64_t addr;

	if (!owner->ualink.enabled || !owner->link.gate[requester])
		return REFUSED_GATE;
	if (tlb_translate(&owner->link.tlb, link_walk, owner, 0, offset, &leaf) != FAULT_NONE)
		return REFUSED_ENTRY;
	if (!(leaf.pte & PTE_VALID) || leaf.pte & (PTE_SYSTEM | PTE_NPA))
		return REFUSED_ENTRY;
	addr = leaf_address(&leaf, offset);
	if (addr >= owner->pod->vram_size)
		return REFUSED_ENTRY;
	if ((op->kind != MEM_WRITE && !(leaf.pte & PTE_READ)) ||
	    (op->kind != MEM_READ && !(leaf.pte & PTE_WRITE)))
		return REFUSED_ACCESS;
	owner->link.served++;
	return vram_op(owner, addr, op) ? SERVED : REFUSED_ENTRY;
}

static void tell_refused(struct gpu *owner, uint32_t requester, enum refusal why)
{
	uint64_t now = clock_us(), before = owner->link.refused_time;

	owner->link.refused++;
	if (now - before >= REFUSED_EVERY_US &&
	    atomic_compare_exchange_strong(&owner->link.refused_time, &before, now))
		ualink_irq(owner, IRQ_REFUSED, requester, why);
}

/* For tests that want accesses to be under way for long */
static void access_delay(struct pod *pod)
{
	uint32_t us = pod->access_delay_us;

	if (us)
		usleep(us);
}

/* Makes an access to another accelerator. Return: false if it was refused, or not reached. */
bool link_access(struct gpu *requester, uint64_t npa, struct mem_op *op)
{
	struct pod *pod = requester->pod;
	struct gpu *owner = pod_by_id(pod, (uint32_t)(npa >> pod->segment_shift));
	uint64_t offset = npa & ((1ull << pod->segment_shift) - 1);
	enum refusal why = REFUSED_LINK;

	requester->link.out++;
	access_delay(pod);
	if (!requester->ualink.enabled || !owner)
		return false;
	pthread_rwlock_rdlock(&owner->link.drain);
	if (fabric_reaches(requester, owner))
		why = serve(owner, requester->id, offset, op);
	pthread_rwlock_unlock(&owner->link.drain);
	if (why != SERVED && why != REFUSED_LINK)
		tell_refused(owner, requester->id, why);
	return why == SERVED;
}

/* Waits until no access of others is under way. */
void link_settle(struct gpu *gpu)
{
	pthread_rwlock_wrlock(&gpu->link.drain);
	pthread_rwlock_unlock(&gpu->link.drain);
}

void link_invalidate(struct gpu *gpu, uint64_t offset, uint64_t size)
{
	uint64_t last = size > UINT64_MAX - offset ? UINT64_MAX : offset + size - 1;

	gpu->link.invalidates++;
	if (!size)
		return;
	/* now, for accesses that overtake us on the way to the lock; */
	tlb_empty(&gpu->link.tlb, 1, offset, last);
	pthread_rwlock_wrlock(&gpu->link.drain);
	/* and again, for those that had walked the old page table before */
	tlb_empty(&gpu->link.tlb, 1, offset, last);
	pthread_rwlock_unlock(&gpu->link.drain);
}

void link_close_gates(struct gpu *gpu)
{
	unsigned int i;

	for (i = 0; i < IDS_MAX; i++)
		gpu->link.gate[i] = false;
	link_settle(gpu);
}

void link_reset(struct gpu *gpu)
{
	gpu->link.root = 0;
	link_close_gates(gpu);
	link_invalidate(gpu, 0, UINT64_MAX);
	gpu->link.invalidates--;
}

void link_init(struct gpu *gpu)
{
	lock_init(&gpu->link.drain);
	tlb_init(&gpu->link.tlb);
}
