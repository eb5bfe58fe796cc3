// SPDX-License-Identifier: MIT
/* The command processor: KIQ by registers, another queue by MAP_QUEUES. */
#include <string.h>

#include "soc15d.h"
#include "tests.h"
#include "v9_structs.h"
#include "vega10_enum.h"

/* PACKET3() of the kernel shifts a bit out of an int */
#define TYPE3(op, n)	(3u << 30 | (op) << 8 | (n) << 16)
#define KIQ_DOORBELL	0x10
#define KCQ_DOORBELL	0x12
#define KCQ_RING	(CP_RING + CP_RING_BYTES)
#define VA		0x40000000ull

static struct device *const d = &dev[0];
static uint64_t wptr[2];	/* of KIQ, and of the other queue */

static void put(unsigned int queue, uint32_t dw)
{
	uint64_t ring = queue ? KCQ_RING : CP_RING;

	memcpy(d->c.vram + ring + wptr[queue]++ * 4 % CP_RING_BYTES, &dw, 4);
}

static void put_addr(unsigned int queue, uint64_t addr)
{
	put(queue, (uint32_t)addr);
	put(queue, (uint32_t)(addr >> 32));
}

static void ring(unsigned int queue)
{
	doorbell(&d->c, queue ? KCQ_DOORBELL : KIQ_DOORBELL, wptr[queue]);
}

static void put_fence(unsigned int queue, uint32_t value)
{
	put(queue, TYPE3(PACKET3_RELEASE_MEM, 6));
	put(queue, 0);
	put(queue, 1u << 29 | 2u << 24);
	put_addr(queue, d->fb + FENCE + 64);
	put_addr(queue, value);
	put(queue, 0);
}

static bool fence(uint32_t value)
{
	return UNTIL(vram32(d, FENCE + 64) == value);
}

static void select_queue(uint32_t me, uint32_t pipe, uint32_t queue)
{
	reg_write(&d->c, R_GC_GRBM_GFX_CNTL, pipe | me << 2 | queue << 8);
}

static void kiq_start(void)
{
	wptr[0] = wptr[1] = 0;
	select_queue(2, 1, 0);
	reg_write(&d->c, R_GC_CP_HQD_PQ_BASE, (uint32_t)((d->fb + CP_RING) >> 8));
	reg_write(&d->c, R_GC_CP_HQD_PQ_BASE_HI, (uint32_t)((d->fb + CP_RING) >> 40));
	reg_write(&d->c, R_GC_CP_HQD_PQ_CONTROL, __builtin_ctz(CP_RING_BYTES / 4) - 1);
	reg_write(&d->c, R_GC_CP_HQD_PQ_DOORBELL_CONTROL, KIQ_DOORBELL << 2 | 1u << 30);
	reg_write(&d->c, R_GC_CP_HQD_ACTIVE, 1);
	CHECK(reg_read(&d->c, R_GC_CP_HQD_ACTIVE) == 1);
	select_queue(0, 0, 0);
	CHECK(reg_read(&d->c, R_GC_CP_HQD_ACTIVE) == 0);
}

static void kcq_start(void)
{
	struct v9_mqd mqd = {
		.cp_hqd_pq_base_lo = (uint32_t)((d->fb + KCQ_RING) >> 8),
		.cp_hqd_pq_base_hi = (uint32_t)((d->fb + KCQ_RING) >> 40),
		.cp_hqd_pq_control = (uint32_t)__builtin_ctz(CP_RING_BYTES / 4) - 1,
	};

	memcpy(d->c.vram + MQD, &mqd, sizeof(mqd));
	memset(d->c.vram + FENCE + 128, 0, 8);
	put(0, TYPE3(PACKET3_MAP_QUEUES, 5));
	put(0, 2 << 13 | 1 << 16 | 1 << 29);	/* queue 2, pipe 1 of ME 1 */
	put(0, KCQ_DOORBELL << 2);
	put_addr(0, d->fb + MQD);
	put_addr(0, d->fb + FENCE + 128);
	put_fence(0, 1);
	ring(0);
	CHECK(fence(1));
}

static void kiq(void)
{
	struct irq irq;

	kiq_start();
	put(0, TYPE3(PACKET3_WRITE_DATA, 4));
	put(0, 5 << 8);
	put_addr(0, d->fb + DATA);
	put(0, 0x11);
	put(0, 0x22);
	put(0, TYPE3(PACKET3_NOP, 0x3fff));
	/* a flush of the hub for graphics: write, and wait for another register */
	put(0, TYPE3(PACKET3_WAIT_REG_MEM, 5));
	put(0, 3 | 1 << 6);
	put(0, R_GC_VM_INVALIDATE_ENG0_REQ + 17);
	put(0, R_GC_VM_INVALIDATE_ENG0_ACK + 17);
	put(0, 1 << VMID);
	put(0, 1 << VMID);
	put(0, 0x20);
	put_fence(0, 0x33);
	ring(0);
	CHECK(fence(0x33));
	CHECK(vram32(d, DATA) == 0x11 && vram32(d, DATA + 4) == 0x22);
	CHECK(reg_read(&d->c, R_GC_VM_INVALIDATE_ENG0_ACK + 17) == 1 << VMID);
	CHECK(irq_wait(d, CLIENT_CP, 181, &irq) && irq.ring == (1 | 2 << 2) && irq.node == 1);
}

static void queue(void)
{
	uint32_t indirect[] = {
		TYPE3(PACKET3_DMA_DATA, 5), 0, (uint32_t)VA, (uint32_t)(VA >> 32),
		(uint32_t)VA + 4096, (uint32_t)(VA >> 32), 4096,
		TYPE3(PACKET3_ATOMIC_MEM, 7), TC_OP_ATOMIC_ADD_64,
		(uint32_t)VA + 4096, (uint32_t)(VA >> 32), 3, 0, 0, 0, 0,
	};

	kiq_start();
	kcq_start();
	map_page(d, d->root, VA, DATA | PTE_RW);
	map_page(d, d->root, VA + 4096, (DATA + 8192) | PTE_RW);
	memset(d->c.vram + DATA, 5, 4096);
	memcpy(d->c.vram + IB, indirect, sizeof(indirect));
	put(1, TYPE3(PACKET3_INDIRECT_BUFFER, 2));
	put_addr(1, IB_VA);
	put(1, sizeof(indirect) / 4 | VMID << 24);
	put_fence(1, 2);
	ring(1);
	CHECK(fence(2));
	CHECK(vram64(d, DATA + 8192) == 0x0505050505050508ull);
	CHECK(vram64(d, DATA + 8192 + 4088) == 0x0505050505050505ull);
}

/* Another accelerator's memory, by another hub than that of the SDMA */
static void queue_remote(void)
{
	const uint64_t far = 5 << 20, npa = 2ull << SEGMENT_SHIFT | far;
	uint32_t indirect[] = {
		TYPE3(PACKET3_WRITE_DATA, 4), 5 << 8, (uint32_t)VA + 64, (uint32_t)(VA >> 32), 7, 8,
	};
	struct irq irq;
	unsigned int i;

	kiq_start();
	kcq_start();
	CHECK(ual_enable(&dev[0], true) && ual_enable(&dev[1], true));
	map_page(d, d->root, VA, npa | PTE_REMOTE);
	map_page(&dev[1], dev[1].segment, far, DATA | PTE_RW);
	memset(dev[1].c.vram + DATA, 0, 4096);
	memcpy(d->c.vram + IB, indirect, sizeof(indirect));
	for (i = 0; i < 2; i++) {
		put(1, TYPE3(PACKET3_INDIRECT_BUFFER, 2));
		put_addr(1, IB_VA);
		put(1, sizeof(indirect) / 4 | VMID << 24);
		put_fence(1, 2 + i);
		ring(1);
		CHECK(fence(2 + i));
		CHECK(vram32(&dev[1], DATA + 68) == (i ? 8 : 0));
		CHECK(command(&dev[1], CMD_GATE_OPEN, 1, 0) == 0);
	}
	CHECK(irq_wait(d, CLIENT_UTCL2, 0, &irq) && irq.node == 1 && irq.vmid_src == 0);
	CHECK(irq.data[0] == VA >> 12 && irq.pasid == PASID);
	CHECK(reg_read(&d->c, R_GC_VM_L2_PROTECTION_FAULT_STATUS) &
	      M_GC_VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR);
	CHECK(reg_read(&d->c, R_MMHUB_VM_L2_PROTECTION_FAULT_STATUS) == 0);
}

/* A queue that waits in vain is ended by UNMAP_QUEUES, and by a dequeue request. */
static void hung_queue(void)
{
	kiq_start();
	kcq_start();
	memset(d->c.vram + DATA, 0, 8);
	put(1, TYPE3(PACKET3_WAIT_REG_MEM, 5));
	put(1, 3 | 1 << 4);
	put_addr(1, d->fb + DATA);
	put(1, 1);
	put(1, UINT32_MAX);
	put(1, 0x20);
	put_fence(1, 9);
	ring(1);
	select_queue(1, 1, 2);
	CHECK(reg_read(&d->c, R_GC_CP_HQD_ACTIVE) == 1);
	put(0, TYPE3(PACKET3_UNMAP_QUEUES, 4));
	put(0, 1 | 1 << 29);
	put(0, KCQ_DOORBELL << 2);
	put_addr(0, 0);
	put(0, 0);
	put_fence(0, 7);
	ring(0);
	CHECK(fence(7));
	CHECK(reg_read(&d->c, R_GC_CP_HQD_ACTIVE) == 0);
	select_queue(2, 1, 0);
	reg_write(&d->c, R_GC_CP_HQD_DEQUEUE_REQUEST, 1);
	CHECK(UNTIL(reg_read(&d->c, R_GC_CP_HQD_ACTIVE) == 0));
	put_fence(0, 8);
	ring(0);
	usleep(5000);
	CHECK(vram32(d, FENCE + 64) == 7);
}

const struct test cp_tests[] = {
	{ "kiq", kiq }, { "queue", queue }, { "queue_remote", queue_remote },
	{ "hung_queue", hung_queue }, {}
};
