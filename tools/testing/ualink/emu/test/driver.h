/* SPDX-License-Identifier: MIT */
/* A driver as small as can be, for the tests of the emulated GPU. */
#ifndef DRIVER_H
#define DRIVER_H

#include "client.h"
#include "regs_gen.h"

#define IDS		16	/* of the pod that the tests start */
#define DEPTH		4	/* messages in a ring */
#define SEGMENT_SHIFT	30
#define VMID		3	/* the one that jobs run in */
#define PASID		0x77

/* Where things lie in VRAM */
#define SDMA_RING	0x100000
#define SDMA_RING_BYTES	0x10000
#define WRITEBACK	0x120000
#define FENCE		0x121000
#define CP_RING		0x130000
#define CP_RING_BYTES	0x1000
#define MQD		0x134000
#define IB		0x140000
#define IB_BYTES	0x10000
#define RING_AREA	0x200000
#define TABLES		0x400000
#define DATA		0x1000000
#define IB_VA		0x10000000ull

#define PTE_VALID	(1ull << 0)
#define PTE_SYSTEM	(1ull << 1)
#define PTE_READ	(1ull << 5)
#define PTE_WRITE	(1ull << 6)
#define PTE_RW		(PTE_VALID | PTE_READ | PTE_WRITE)
#define PTE_NPA		(1ull << 50)
#define PTE_PRT		(1ull << 51)
#define PTE_UC		(3ull << 57)
#define PTE_REMOTE	(PTE_RW | PTE_NPA | PTE_UC)

/* The block's registers, commands and interrupts, as the page of the host interface has them */
enum {
	UAL_ID = 0x00, UAL_VERSION, UAL_CAPS, UAL_STATUS, UAL_CNTL, UAL_ACCEL_ID, UAL_GENERATION,
	UAL_VPOD = 0x08, UAL_RING_BASE = 0x10, UAL_TX_DOORBELL = 0x12, UAL_RX_DOORBELL,
	UAL_NPA_ROOT = 0x18, UAL_ARG0 = 0x20, UAL_ARG1 = 0x22, UAL_CMD = 0x24, UAL_CMD_STATUS,
	UAL_MEMBERS = 0x40, UAL_ROUTES = 0x60, UAL_COUNTER = 0x100,
};
enum { CMD_INVALIDATE = 1, CMD_GATE_OPEN, CMD_GATE_CLOSE, CMD_DRAIN };
enum { SERVED, REFUSED, OUT, TAKEN, GIVEN, INVALIDATES, WALKS, UNFLUSHED, STALE };
enum { IRQ_RX, IRQ_TX, IRQ_LINK, IRQ_REFUSED, IRQ_MANAGED };
enum { CLIENT_SDMA = 0x08, CLIENT_VMC = 0x12, CLIENT_CP = 0x14, CLIENT_UALINK = 0x1a,
       CLIENT_UTCL2 = 0x1b };

struct device {
	struct client c;
	uint64_t fb;		/* address of VRAM for VMID 0 */
	uint64_t tables;	/* first free byte for page tables */
	uint64_t root;		/* of the page tables of VMID */
	uint64_t segment;	/* of those of the segment */
	uint64_t sdma_wptr;	/* dwords */
	uint64_t cp_wptr;
	uint32_t fence;
	uint32_t ih_rptr;
	uint32_t ib_dwords;
	uint16_t tag;
	uint32_t tx_wptr[IDS], rx_rptr[IDS];
};

struct irq {
	uint8_t client, source, ring, vmid, vmid_src, node;
	uint16_t pasid;
	uint32_t data[4];
};

void device_open(struct device *d, const char *dir, unsigned int gpu);
void device_setup(struct device *d);
bool irq_wait(struct device *d, uint8_t client, uint8_t source, struct irq *irq);
void irq_forget(struct device *d);

uint32_t vram32(struct device *d, uint64_t offset);
uint64_t vram64(struct device *d, uint64_t offset);
void map_page(struct device *d, uint64_t root, uint64_t va, uint64_t pte);
void map_unflushed(struct device *d, uint64_t root, uint64_t va, uint64_t pte);
void hdp_flush(struct device *d);
void map_huge(struct device *d, uint64_t root, uint64_t va, uint64_t pte);
void flush_start(struct device *d, uint32_t vmids);
bool flush_done(struct device *d, uint32_t vmids);
void flush(struct device *d, uint32_t vmids);
uint64_t wait_us(void);

/* Jobs: emit packets, then run them in VMID. */
void emit(struct device *d, uint32_t dw);
void emit_addr(struct device *d, uint64_t addr);
void emit_copy(struct device *d, uint64_t to, uint64_t from, uint32_t bytes);
void emit_write(struct device *d, uint64_t to, uint32_t value);
void emit_fill(struct device *d, uint64_t to, uint32_t value, uint32_t bytes);
void emit_atomic(struct device *d, unsigned int op, uint64_t addr, uint64_t value,
		 uint64_t compare);
void job_start(struct device *d);
bool job_done(struct device *d);
bool job_run(struct device *d);

/* UALink */
uint32_t ual_read(struct device *d, uint32_t reg);
void ual_write(struct device *d, uint32_t reg, uint32_t value);
void ual_write64(struct device *d, uint32_t reg, uint64_t value);
uint64_t ual_counter(struct device *d, unsigned int index);
bool ual_enable(struct device *d, bool enable);
void command_start(struct device *d, unsigned int opcode, uint64_t arg0, uint64_t arg1);
bool command_done(struct device *d, unsigned int *result);
/* @d->tag is that of the last command, and the next one has the one behind it. */
int command(struct device *d, unsigned int opcode, uint64_t arg0, uint64_t arg1);
bool message_send(struct device *d, uint32_t to, uint8_t type, uint32_t value);
bool message_take(struct device *d, uint32_t from, uint32_t *value);
uint8_t *message_last(struct device *d, uint32_t from);
bool message_get(struct device *d, uint32_t from, uint32_t *value);
uint32_t ring_pointer(struct device *d, unsigned int array, uint32_t id);

/* Waits until something is true, for some seconds at most. */
#define UNTIL(condition) ({ \
	uint64_t until_end = wait_us() + 8000000; \
	bool until_true; \
	while (!(until_true = (condition)) && wait_us() < until_end) \
		usleep(200); \
	until_true; \
})

#endif
