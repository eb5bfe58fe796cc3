// SPDX-License-Identifier: MIT
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "vega10_sdma_pkt_open.h"

#define IH_RING		0x10000		/* in the guest's memory */
#define IH_RING_SHIFT	14		/* log2 of its dwords */
#define IH_WPTR		0x8000
#define SDMA_DOORBELL	0x1e0
#define IH_DOORBELL	0x1f0
#define HDP_FLUSH	0x6800		/* the register for it; none else is there */

uint64_t wait_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint32_t vram32(struct device *d, uint64_t offset)
{
	return __atomic_load_n((uint32_t *)(d->c.vram + offset), __ATOMIC_ACQUIRE);
}

uint64_t vram64(struct device *d, uint64_t offset)
{
	return __atomic_load_n((uint64_t *)(d->c.vram + offset), __ATOMIC_ACQUIRE);
}

static void vram_set64(struct device *d, uint64_t offset, uint64_t value)
{
	__atomic_store_n((uint64_t *)(d->c.vram + offset), value, __ATOMIC_RELEASE);
}

static void reg_write64(struct device *d, uint32_t lo, uint64_t value)
{
	reg_write(&d->c, lo, (uint32_t)value);
	reg_write(&d->c, lo + 1, (uint32_t)(value >> 32));
}

/* ---- set-up ---- */

static uint64_t new_table(struct device *d)
{
	uint64_t table = d->tables;

	d->tables += 4096;
	memset(d->c.vram + table, 0, 4096);
	return table;
}

static void ih_setup(struct device *d)
{
	memset(d->c.guest + IH_RING, 0, 4u << IH_RING_SHIFT);
	memset(d->c.guest + IH_WPTR, 0, 4);
	reg_write(&d->c, R_OSSSYS_IH_RB_BASE, IH_RING >> 8);
	reg_write(&d->c, R_OSSSYS_IH_RB_BASE_HI, 0);
	reg_write(&d->c, R_OSSSYS_IH_RB_WPTR_ADDR_LO, IH_WPTR);
	reg_write(&d->c, R_OSSSYS_IH_RB_WPTR_ADDR_HI, 0);
	reg_write(&d->c, R_OSSSYS_IH_DOORBELL_RPTR, IH_DOORBELL);
	reg_write(&d->c, R_OSSSYS_IH_RB_CNTL,
		  M_OSSSYS_IH_RB_CNTL__RB_ENABLE | M_OSSSYS_IH_RB_CNTL__ENABLE_INTR |
			  IH_RING_SHIFT << 1);
	reg_write(&d->c, R_OSSSYS_IH_VMID_0_LUT_MM + VMID, PASID);
	reg_write(&d->c, R_OSSSYS_IH_VMID_0_LUT + VMID, PASID);
	d->ih_rptr = 0;
}

static void sdma_setup(struct device *d)
{
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_BASE, (uint32_t)((d->fb + SDMA_RING) >> 8));
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_BASE_HI, (uint32_t)((d->fb + SDMA_RING) >> 40));
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_RPTR_ADDR_LO, (uint32_t)(d->fb + WRITEBACK));
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_RPTR_ADDR_HI, (uint32_t)((d->fb + WRITEBACK) >> 32));
	reg_write(&d->c, R_SDMA0_SDMA_GFX_DOORBELL_OFFSET, SDMA_DOORBELL << 2);
	reg_write(&d->c, R_SDMA0_SDMA_GFX_DOORBELL, M_SDMA0_SDMA_GFX_DOORBELL__ENABLE);
	reg_write(&d->c, R_SDMA0_SDMA_F32_CNTL, 0);
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_CNTL,
		  M_SDMA0_SDMA_GFX_RB_CNTL__RB_ENABLE |
			  M_SDMA0_SDMA_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE |
			  (uint32_t)__builtin_ctz(SDMA_RING_BYTES / 4) << 1);
	d->sdma_wptr = 0;
}

static void vm_setup(struct device *d)
{
	uint32_t distance = R_GC_VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32 -
			    R_GC_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32;
	uint64_t at;

	reg_write(&d->c, R_NBIO_BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL, HDP_FLUSH * 4);
	d->tables = TABLES;
	d->root = new_table(d);
	d->segment = new_table(d);
	reg_write64(d, R_MMHUB_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + VMID * distance,
		    d->root | PTE_VALID);
	reg_write64(d, R_GC_VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + VMID * distance,
		    d->root | PTE_VALID);
	for (at = 0; at < IB_BYTES; at += 4096)
		map_page(d, d->root, IB_VA + at, (IB + at) | PTE_VALID | PTE_READ);
}

/* Sets up a GPU after it has got power, or was reset. */
void device_setup(struct device *d)
{
	config_write(&d->c, 4, 6);	/* memory, bus master */
	d->fb = (uint64_t)reg_read(&d->c, R_MMHUB_MC_VM_FB_LOCATION_BASE) << 24;
	d->fence = 0;
	d->ib_dwords = 0;
	d->tag = 0;
	memset(d->tx_wptr, 0, sizeof(d->tx_wptr));
	memset(d->rx_rptr, 0, sizeof(d->rx_rptr));
	memset(d->c.vram + RING_AREA, 0, 16 * IDS + 128 * IDS * DEPTH);
	memset(d->c.vram + FENCE, 0, 4096);
	ih_setup(d);
	sdma_setup(d);
	vm_setup(d);
}

void device_open(struct device *d, const char *dir, unsigned int gpu)
{
	memset(d, 0, sizeof(*d));
	client_open(&d->c, dir, gpu);
	device_setup(d);
}

/* ---- interrupts ---- */

static uint32_t ih_wptr(struct device *d)
{
	return __atomic_load_n((uint32_t *)(d->c.guest + IH_WPTR), __ATOMIC_ACQUIRE) & ~31u;
}

static bool irq_pending(struct device *d)
{
	return ih_wptr(d) != d->ih_rptr;
}

static void irq_take(struct device *d, struct irq *irq)
{
	uint32_t entry[8];

	memcpy(entry, d->c.guest + IH_RING + d->ih_rptr, sizeof(entry));
	d->ih_rptr = (d->ih_rptr + 32) % (4u << IH_RING_SHIFT);
	doorbell(&d->c, IH_DOORBELL, d->ih_rptr);
	irq->client = (uint8_t)entry[0];
	irq->source = (uint8_t)(entry[0] >> 8);
	irq->ring = (uint8_t)(entry[0] >> 16);
	irq->vmid = (entry[0] >> 24) & 0xf;
	irq->vmid_src = entry[0] >> 31;
	irq->pasid = (uint16_t)entry[3];
	irq->node = (uint8_t)(entry[3] >> 16);
	memcpy(irq->data, entry + 4, sizeof(irq->data));
}

/* All that have come so far */
void irq_forget(struct device *d)
{
	struct irq irq;

	while (irq_pending(d))
		irq_take(d, &irq);
}

/* Waits for an interrupt; those before it are forgotten. */
bool irq_wait(struct device *d, uint8_t client, uint8_t source, struct irq *irq)
{
	do {
		if (!UNTIL(irq_pending(d)))
			return false;
		irq_take(d, irq);
	} while (irq->client != client || irq->source != source);
	return true;
}

/* ---- page tables ---- */

/* The entry of one level for an address; makes the tables above it. */
static uint64_t entry_at(struct device *d, uint64_t root, uint64_t va, unsigned int level)
{
	uint64_t table = root, at, entry;
	unsigned int l;

	for (l = 3;; l--) {
		at = table + ((va >> (12 + 9 * l)) & 511) * 8;
		if (l == level)
			return at;
		entry = vram64(d, at);
		if (!(entry & PTE_VALID)) {
			entry = new_table(d) | PTE_VALID | (l == 1 ? 1ull << 56 : 0);
			vram_set64(d, at, entry);
		}
		table = entry & 0xfffffffff000ull;
	}
}

void hdp_flush(struct device *d)
{
	reg_write(&d->c, HDP_FLUSH, 0);
}

void map_unflushed(struct device *d, uint64_t root, uint64_t va, uint64_t pte)
{
	vram_set64(d, entry_at(d, root, va, 0), pte);
}

void map_page(struct device *d, uint64_t root, uint64_t va, uint64_t pte)
{
	map_unflushed(d, root, va, pte);
	hdp_flush(d);
}

/* 2 MiB */
void map_huge(struct device *d, uint64_t root, uint64_t va, uint64_t pte)
{
	vram_set64(d, entry_at(d, root, va, 1), pte);
	hdp_flush(d);
}

/* ---- flushes of the MM hub, by engine 17 ---- */

void flush_start(struct device *d, uint32_t vmids)
{
	reg_write(&d->c, R_MMHUB_VM_INVALIDATE_ENG0_REQ + 17, vmids | 0xf80000);
}

bool flush_done(struct device *d, uint32_t vmids)
{
	return (reg_read(&d->c, R_MMHUB_VM_INVALIDATE_ENG0_ACK + 17) & vmids) == vmids;
}

void flush(struct device *d, uint32_t vmids)
{
	flush_start(d, vmids);
	if (!UNTIL(flush_done(d, vmids)))
		die("no acknowledge of a flush");
}

/* ---- jobs ---- */

void emit(struct device *d, uint32_t dw)
{
	memcpy(d->c.vram + IB + 4 * d->ib_dwords++, &dw, 4);
}

void emit_addr(struct device *d, uint64_t addr)
{
	emit(d, (uint32_t)addr);
	emit(d, (uint32_t)(addr >> 32));
}

void emit_copy(struct device *d, uint64_t to, uint64_t from, uint32_t bytes)
{
	emit(d, SDMA_OP_COPY);
	emit(d, bytes - 1);
	emit(d, 0);
	emit_addr(d, from);
	emit_addr(d, to);
}

void emit_write(struct device *d, uint64_t to, uint32_t value)
{
	emit(d, SDMA_OP_WRITE);
	emit_addr(d, to);
	emit(d, 0);
	emit(d, value);
}

void emit_fill(struct device *d, uint64_t to, uint32_t value, uint32_t bytes)
{
	emit(d, SDMA_OP_CONST_FILL | 2u << 30);
	emit_addr(d, to);
	emit(d, value);
	emit(d, bytes - 1);
}

void emit_atomic(struct device *d, unsigned int op, uint64_t addr, uint64_t value, uint64_t compare)
{
	emit(d, SDMA_OP_ATOMIC | op << 25);
	emit_addr(d, addr);
	emit_addr(d, value);
	emit_addr(d, compare);
	emit(d, 0);
}

static void ring_put(struct device *d, uint32_t dw)
{
	memcpy(d->c.vram + SDMA_RING + (d->sdma_wptr++ * 4) % SDMA_RING_BYTES, &dw, 4);
}

/* Runs what was emitted; job_done() says when it has ended. */
void job_start(struct device *d)
{
	uint64_t fence = d->fb + FENCE;

	ring_put(d, SDMA_OP_INDIRECT | VMID << 16);
	ring_put(d, (uint32_t)IB_VA);
	ring_put(d, (uint32_t)(IB_VA >> 32));
	ring_put(d, d->ib_dwords);
	ring_put(d, 0);
	ring_put(d, 0);
	ring_put(d, SDMA_OP_FENCE);
	ring_put(d, (uint32_t)fence);
	ring_put(d, (uint32_t)(fence >> 32));
	ring_put(d, ++d->fence);
	ring_put(d, SDMA_OP_TRAP);
	ring_put(d, 0);
	d->ib_dwords = 0;
	doorbell(&d->c, SDMA_DOORBELL, d->sdma_wptr * 4);
}

bool job_done(struct device *d)
{
	return vram32(d, FENCE) == d->fence;
}

bool job_run(struct device *d)
{
	job_start(d);
	return UNTIL(job_done(d));
}

/* ---- UALink ---- */

uint32_t ual_read(struct device *d, uint32_t reg)
{
	return reg_read(&d->c, R_UALINK + reg);
}

void ual_write(struct device *d, uint32_t reg, uint32_t value)
{
	reg_write(&d->c, R_UALINK + reg, value);
}

void ual_write64(struct device *d, uint32_t reg, uint64_t value)
{
	reg_write64(d, R_UALINK + reg, value);
}

uint64_t ual_counter(struct device *d, unsigned int index)
{
	uint64_t low = ual_read(d, UAL_COUNTER + 2 * index);

	return low | (uint64_t)ual_read(d, UAL_COUNTER + 2 * index + 1) << 32;
}

bool ual_enable(struct device *d, bool enable)
{
	if (enable) {
		ual_write64(d, UAL_RING_BASE, d->fb + RING_AREA);
		ual_write64(d, UAL_NPA_ROOT, d->segment | PTE_VALID);
	}
	ual_write(d, UAL_CNTL, enable);
	return UNTIL(!!(ual_read(d, UAL_STATUS) & 2) == enable);
}

void command_start(struct device *d, unsigned int opcode, uint64_t arg0, uint64_t arg1)
{
	ual_write64(d, UAL_ARG0, arg0);
	ual_write64(d, UAL_ARG1, arg1);
	ual_write(d, UAL_CMD, opcode | (uint32_t)++d->tag << 16);
}

bool command_done(struct device *d, unsigned int *result)
{
	uint32_t status = ual_read(d, UAL_CMD_STATUS);

	*result = status & 0xff;
	return status >> 16 == d->tag;
}

/* Return: the result, or -1 when none came */
int command(struct device *d, unsigned int opcode, uint64_t arg0, uint64_t arg1)
{
	unsigned int result;

	command_start(d, opcode, arg0, arg1);
	return UNTIL(command_done(d, &result)) ? (int)result : -1;
}

static uint32_t *pointer(struct device *d, unsigned int array, uint32_t id)
{
	return (uint32_t *)(d->c.vram + RING_AREA + 4 * (array * IDS + id));
}

/* @array: 0 tx_wptr, 1 tx_rptr, 2 rx_wptr, 3 rx_rptr */
uint32_t ring_pointer(struct device *d, unsigned int array, uint32_t id)
{
	return __atomic_load_n(pointer(d, array, id), __ATOMIC_SEQ_CST);
}

static uint8_t *slot(struct device *d, bool rx, uint32_t id, uint32_t pointer)
{
	return d->c.vram + RING_AREA + 16 * IDS + (rx ? 64 * IDS * DEPTH : 0) +
	       64 * (id * DEPTH + pointer % DEPTH);
}

/* Return: false when the ring is full */
bool message_send(struct device *d, uint32_t to, uint8_t type, uint32_t value)
{
	uint8_t msg[64];

	if (d->tx_wptr[to] - ring_pointer(d, 1, to) == DEPTH)
		return false;
	memset(msg, (uint8_t)value, sizeof(msg));
	msg[1] = type;
	memcpy(msg + 4, &value, 4);
	memcpy(slot(d, false, to, d->tx_wptr[to]++), msg, sizeof(msg));
	__atomic_store_n(pointer(d, 0, to), d->tx_wptr[to], __ATOMIC_SEQ_CST);
	ual_write(d, UAL_TX_DOORBELL, to);
	return true;
}

/* The last byte of the message that is to be taken next */
uint8_t *message_last(struct device *d, uint32_t from)
{
	return slot(d, true, from, d->rx_rptr[from]) + 63;
}

/* Takes a message, if there is one, without telling the block. */
bool message_take(struct device *d, uint32_t from, uint32_t *value)
{
	uint8_t *msg = slot(d, true, from, d->rx_rptr[from]);

	if (ring_pointer(d, 2, from) == d->rx_rptr[from])
		return false;
	memcpy(value, msg + 4, 4);
	if (msg[63] != (uint8_t)*value)
		die("a message is not whole");
	__atomic_store_n(pointer(d, 3, from), ++d->rx_rptr[from], __ATOMIC_SEQ_CST);
	return true;
}

/* Waits for a message. */
bool message_get(struct device *d, uint32_t from, uint32_t *value)
{
	if (!UNTIL(ring_pointer(d, 2, from) != d->rx_rptr[from]) || !message_take(d, from, value))
		return false;
	ual_write(d, UAL_RX_DOORBELL, from);
	return true;
}
