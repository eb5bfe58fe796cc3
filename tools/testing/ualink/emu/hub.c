// SPDX-License-Identifier: MIT
/*
 * A memory hub: translates the accesses of its engines, makes them, and reports faults. The SDMA
 * engines and the message rings are behind the MM hub, the command processor is behind that of GC.
 *
 * An access holds the drain of its hub from its translation to its end, and moves a page at most.
 */
#include <string.h>
#include <time.h>

#include "emu.h"
#include "ivsrcid/vmc/irqsrcs_vmc_1_0.h"
#include "regs_gen.h"
#include "soc15_ih_clientid.h"

#define FAULTS_IN_BURST	16
#define FAULT_BURST_US	10000

#define HUB(hub) \
	.fb_base = R_##hub##_MC_VM_FB_LOCATION_BASE, \
	.fb_top = R_##hub##_MC_VM_FB_LOCATION_TOP, \
	.ctx0_base_lo = R_##hub##_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32, \
	.ctx_distance = R_##hub##_VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32 - \
			R_##hub##_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32, \
	.start_lo = R_##hub##_VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32, \
	.start_hi = R_##hub##_VM_CONTEXT0_PAGE_TABLE_START_ADDR_HI32, \
	.end_lo = R_##hub##_VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32, \
	.end_hi = R_##hub##_VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32, \
	.inv_req = R_##hub##_VM_INVALIDATE_ENG0_REQ, \
	.inv_ack = R_##hub##_VM_INVALIDATE_ENG0_ACK, \
	.inv_sem = R_##hub##_VM_INVALIDATE_ENG0_SEM, \
	.fault_status = R_##hub##_VM_L2_PROTECTION_FAULT_STATUS, \
	.fault_cntl = R_##hub##_VM_L2_PROTECTION_FAULT_CNTL, \
	.fault_addr_lo = R_##hub##_VM_L2_PROTECTION_FAULT_ADDR_LO32, \
	.fault_addr_hi = R_##hub##_VM_L2_PROTECTION_FAULT_ADDR_HI32

static const struct hub_regs hub_regs[HUBS] = {
	[HUB_GC] = {
		.name = "gfxhub", HUB(GC), .pasid_lut = R_OSSSYS_IH_VMID_0_LUT,
		.client = SOC15_IH_CLIENTID_UTCL2, .node = 1, .vmid_src = 0,
	},
	[HUB_MM] = {
		.name = "mmhub", HUB(MMHUB), .pasid_lut = R_OSSSYS_IH_VMID_0_LUT_MM,
		.client = SOC15_IH_CLIENTID_VMC, .node = 0, .vmid_src = 1,
	},
};

/* Where an access ends: in the guest's memory, others' memory, VRAM, or nowhere. */
enum target { TO_VRAM, TO_SYSTEM, TO_NPA, TO_NOTHING };

/* ---- translation ---- */

static enum fault walk_gart(struct hub *hub, uint64_t addr, struct leaf *leaf)
{
	const struct hub_regs *r = hub->regs;
	struct gpu *gpu = hub->gpu;
	uint64_t start = reg_get64(gpu, r->start_lo, r->start_hi) << PAGE_SHIFT;
	uint64_t end = reg_get64(gpu, r->end_lo, r->end_hi) << PAGE_SHIFT | PAGE_MASK;
	uint64_t table = reg_get64(gpu, r->ctx0_base_lo, r->ctx0_base_lo + 1) & PTE_ADDR;

	if (addr < start || addr > end)
		return FAULT_INVALID;
	if (!vram_read(gpu, table + ((addr - start) >> PAGE_SHIFT) * 8, &leaf->pte, 8))
		return FAULT_MEMORY;
	leaf->shift = PAGE_SHIFT;
	return leaf->pte & PTE_VALID ? FAULT_NONE : FAULT_INVALID;
}

static enum fault hub_walk(void *mmu, unsigned int vmid, uint64_t addr, struct leaf *leaf)
{
	struct hub *hub = mmu;
	uint32_t reg = hub->regs->ctx0_base_lo + hub->regs->ctx_distance * vmid;

	if (!vmid)
		return walk_gart(hub, addr, leaf);
	return walk_tables(hub->gpu, reg_get64(hub->gpu, reg, reg + 1), addr & 0xffffffffffffull,
			   false, leaf);
}

/* Whether VMID 0 sees VRAM itself there; @offset: in VRAM. */
static bool in_frame_buffer(struct hub *hub, uint64_t addr, uint64_t *offset)
{
	uint64_t base = (uint64_t)reg_get(hub->gpu, hub->regs->fb_base) << 24;
	uint64_t top = (uint64_t)reg_get(hub->gpu, hub->regs->fb_top) << 24 | 0xffffff;

	*offset = addr - base;
	return addr >= base && addr <= top;
}

static enum fault check_rights(unsigned int vmid, const struct leaf *leaf, enum mem_kind kind)
{
	if (leaf->pte & PTE_NPA && (!vmid || leaf->pte & (PTE_SYSTEM | PTE_PRT) ||
				    (leaf->pte & PTE_MTYPE) != PTE_MTYPE_UC))
		return FAULT_MALFORMED;
	if (kind != MEM_WRITE && !(leaf->pte & PTE_READ))
		return FAULT_READ;
	if (kind != MEM_READ && !(leaf->pte & PTE_WRITE))
		return FAULT_WRITE;
	return FAULT_NONE;
}

static enum fault hub_translate(struct hub *hub, unsigned int vmid, uint64_t va,
				enum mem_kind kind, enum target *target, uint64_t *addr)
{
	struct leaf leaf;
	enum fault fault;

	*target = TO_VRAM;
	if (!vmid && in_frame_buffer(hub, va, addr))
		return FAULT_NONE;
	fault = tlb_translate(&hub->tlb, hub_walk, hub, vmid, va, &leaf);
	if (fault)
		return fault;
	*addr = leaf_address(&leaf, va);
	if (!(leaf.pte & PTE_VALID))
		*target = TO_NOTHING;
	else if (leaf.pte & PTE_NPA)
		*target = TO_NPA;
	else if (leaf.pte & PTE_SYSTEM)
		*target = TO_SYSTEM;
	return *target == TO_NOTHING ? FAULT_NONE : check_rights(vmid, &leaf, kind);
}

/* ---- faults ---- */

/* A hub reports so many in a short time only; the interrupt ring is for others, too. */
static bool fault_is_reported(struct hub *hub)
{
	uint64_t now = clock_us();

	if (now - hub->fault_time > FAULT_BURST_US) {
		hub->fault_time = now;
		hub->fault_burst = 0;
	}
	return hub->fault_burst++ < FAULTS_IN_BURST;
}

/* The status is that of the first fault since the driver has cleared it. */
static void fault_status(struct hub *hub, unsigned int vmid, uint64_t va, enum fault fault,
			 enum mem_kind kind)
{
	const struct hub_regs *r = hub->regs;
	uint32_t status = reg_get(hub->gpu, r->fault_status);

	if (status) {
		reg_set(hub->gpu, r->fault_status,
			status | M_GC_VM_L2_PROTECTION_FAULT_STATUS__MORE_FAULTS);
		return;
	}
	status = vmid << __builtin_ctz(M_GC_VM_L2_PROTECTION_FAULT_STATUS__VMID);
	if (fault == FAULT_REMOTE)
		status |= M_GC_VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR;
	else if (fault == FAULT_MALFORMED || fault == FAULT_MEMORY)
		status |= 1u << __builtin_ctz(M_GC_VM_L2_PROTECTION_FAULT_STATUS__WALKER_ERROR);
	else
		status |= (fault == FAULT_WRITE ? 2u : fault == FAULT_READ ? 4u : 1u)
			  << __builtin_ctz(M_GC_VM_L2_PROTECTION_FAULT_STATUS__PERMISSION_FAULTS);
	if (kind != MEM_READ)
		status |= M_GC_VM_L2_PROTECTION_FAULT_STATUS__RW;
	if (kind == MEM_ATOMIC)
		status |= M_GC_VM_L2_PROTECTION_FAULT_STATUS__ATOMIC;
	reg_set(hub->gpu, r->fault_addr_lo, (uint32_t)(va >> PAGE_SHIFT));
	reg_set(hub->gpu, r->fault_addr_hi, (uint32_t)(va >> 44) & 0xf);
	reg_set(hub->gpu, r->fault_status, status);
}

/* The driver itself has told the GPU to go where nothing is, unless a test wants that. */
static void vmid0_fault(struct hub *hub, uint64_t va, const char *why)
{
	/* what it has told one that has crashed is gone */
	bool allowed = hub->gpu->pod->allow_vmid0 || !hub->gpu->powered;

	count(&hub->gpu->stats, "%s fault: VMID 0%s", hub->regs->name, allowed ? ", allowed" : "");
	logmsg(hub->gpu, "%s: VMID 0, address 0x%llx: %s", hub->regs->name, (unsigned long long)va,
	       why);
	if (!allowed)
		hub->gpu->pod->vmid0_faults++;
}

static void hub_fault(struct hub *hub, unsigned int vmid, uint64_t va, enum fault fault,
		      enum mem_kind kind)
{
	static const char * const why[] = {
		[FAULT_INVALID] = "invalid", [FAULT_MALFORMED] = "malformed",
		[FAULT_READ] = "read", [FAULT_WRITE] = "write", [FAULT_MEMORY] = "memory",
		[FAULT_REMOTE] = "remote",
	};
	struct irq irq = {
		.client = hub->regs->client, .source = VMC_1_0__SRCID__VM_FAULT,
		.node = hub->regs->node, .vmid = (uint8_t)vmid,
		.vmid_src = hub->regs->vmid_src,
		.pasid = (uint16_t)reg_get(hub->gpu, hub->regs->pasid_lut + vmid),
		.data = { (uint32_t)(va >> PAGE_SHIFT),
			  ((uint32_t)(va >> 44) & 0xf) | (kind != MEM_READ ? 0x20 : 0) },
	};
	bool reported;

	count(&hub->gpu->stats, "%s fault: %s", hub->regs->name, why[fault]);
	if (!vmid)
		vmid0_fault(hub, va, why[fault]);
	pthread_mutex_lock(&hub->lock);
	fault_status(hub, vmid, va, fault, kind);
	reported = fault_is_reported(hub);
	pthread_mutex_unlock(&hub->lock);
	if (reported)
		ih_raise(hub->gpu, &irq);
}

/* ---- accesses ---- */

static enum fault hub_op_locked(struct hub *hub, unsigned int vmid, uint64_t va, struct mem_op *op)
{
	enum target target;
	uint64_t addr;
	enum fault fault = hub_translate(hub, vmid, va, op->kind, &target, &addr);

	if (fault)
		return fault;
	switch (target) {
	case TO_VRAM:
		return vram_op(hub->gpu, addr, op) ? FAULT_NONE : FAULT_MEMORY;
	case TO_SYSTEM:
		return dma_op(hub->gpu, addr, op) ? FAULT_NONE : FAULT_MEMORY;
	case TO_NPA:
		return link_access(hub->gpu, addr, op) ? FAULT_NONE : FAULT_REMOTE;
	case TO_NOTHING:
		break;
	}
	if (op->kind == MEM_READ)
		memset(op->buf, 0, op->len);
	op->old = 0;
	return FAULT_NONE;
}

/*
 * Makes one access, within one page.
 * Return: false after a fault, which has been reported; a read has got zeros then.
 */
bool hub_op(struct hub *hub, unsigned int vmid, uint64_t va, struct mem_op *op)
{
	enum fault fault;

	pthread_rwlock_rdlock(&hub->drain);
	fault = hub_op_locked(hub, vmid, va, op);
	pthread_rwlock_unlock(&hub->drain);
	if (!fault)
		return true;
	if (op->kind == MEM_READ)
		memset(op->buf, 0, op->len);
	op->old = 0;
	hub_fault(hub, vmid, va, fault, op->kind);
	return false;
}

static bool hub_move(struct hub *hub, unsigned int vmid, uint64_t va, enum mem_kind kind,
		     uint8_t *buf, size_t len)
{
	bool done = true;

	while (len) {
		struct mem_op op = { .kind = kind, .buf = buf };

		op.len = PAGE_SIZE - (va & PAGE_MASK);
		if (op.len > len)
			op.len = len;
		done &= hub_op(hub, vmid, va, &op);
		va += op.len;
		buf += op.len;
		len -= op.len;
	}
	return done;
}

bool hub_read(struct hub *hub, unsigned int vmid, uint64_t va, void *buf, size_t len)
{
	return hub_move(hub, vmid, va, MEM_READ, buf, len);
}

bool hub_write(struct hub *hub, unsigned int vmid, uint64_t va, const void *buf, size_t len)
{
	return hub_move(hub, vmid, va, MEM_WRITE, (void *)(uintptr_t)buf, len);
}

/* The VMIDs that have a PASID */
unsigned int hub_pasid_vmids(struct hub *hub, uint32_t pasid)
{
	unsigned int vmid, vmids = 0;

	for (vmid = 1; vmid < VMIDS; vmid++)
		if ((reg_get(hub->gpu, hub->regs->pasid_lut + vmid) & 0xffff) == pasid)
			vmids |= 1u << vmid;
	return vmids;
}

/* Waits until what is under way has completed. */
void hub_settle(struct hub *hub)
{
	pthread_rwlock_wrlock(&hub->drain);
	pthread_rwlock_unlock(&hub->drain);
}

void hub_reset(struct hub *hub)
{
	unsigned int i;

	pthread_rwlock_wrlock(&hub->drain);
	tlb_empty(&hub->tlb, UINT32_MAX, 0, UINT64_MAX);
	pthread_rwlock_unlock(&hub->drain);
	pthread_mutex_lock(&hub->lock);
	for (i = 0; i < INV_ENGINES; i++)
		hub->pending[i] = hub->ack[i] = 0;
	pthread_mutex_unlock(&hub->lock);
}

void hub_init(struct gpu *gpu, enum hub_id id)
{
	struct hub *hub = &gpu->hub[id];

	hub->gpu = gpu;
	hub->regs = &hub_regs[id];
	lock_init(&hub->drain);
	pthread_mutex_init(&hub->lock, NULL);
	tlb_init(&hub->tlb);
}
