// SPDX-License-Identifier: MIT
/* The GPU itself: discovery, SDMA, page tables, TLBs, faults, resets. */
#include <string.h>

#include "tests.h"
#include "vega10_enum.h"
#include "vega10_sdma_pkt_open.h"

#define VA	0x40000000ull

static struct device *const d = &dev[0];

static void discovery(void)
{
	const uint8_t *table = d->c.vram + d->c.vram_size - 65536;
	uint32_t words[3];
	uint16_t sum = 0;
	unsigned int i;

	memcpy(words, table, sizeof(words));
	CHECK(words[0] == 0x28211407);
	for (i = 10; i < words[2] >> 16; i++)
		sum = (uint16_t)(sum + table[i]);
	CHECK(sum == (words[2] & 0xffff));
	CHECK(config_read(&d->c, 0) == 0x75a01002);
	CHECK(ual_read(d, UAL_ID) == 0x4b4c4155);
	CHECK(ual_read(d, UAL_VERSION) == 1 << 16);
	CHECK(ual_read(d, UAL_CAPS) == (SEGMENT_SHIFT | 2 << 8 | IDS << 16));
	CHECK(ual_read(d, UAL_ACCEL_ID) == 1 && ual_read(&dev[1], UAL_ACCEL_ID) == 2);
	CHECK(ual_read(d, UAL_STATUS) == 1);
	CHECK(ual_read(d, 0x007) == 0);
}

static void sdma(void)
{
	unsigned int i, bad = 0;
	struct irq irq;

	for (i = 0; i < 4; i++)
		map_page(d, d->root, VA + 4096 * i, (DATA + 8192 * i) | PTE_RW);
	map_huge(d, d->root, VA + (2 << 20), (DATA + (2 << 20)) | PTE_RW);
	map_page(d, d->root, VA + (4 << 20), 0x100000 | PTE_RW | PTE_SYSTEM);
	emit_fill(d, VA, 0x12345678, 4 * 4096);
	emit_copy(d, VA + (2 << 20) + 0x123004, VA + 0x804, 2 * 4096);
	emit_copy(d, VA + (4 << 20), VA, 4096);
	emit_write(d, VA + (4 << 20) + 8, 77);
	CHECK(job_run(d));
	CHECK(irq_wait(d, CLIENT_SDMA, 224, &irq) && irq.vmid == 0);
	for (i = 0; i < 4 * 1024; i++)
		bad += vram32(d, DATA + 8192 * (i / 1024) + i % 1024 * 4) != 0x12345678;
	for (i = 0; i < 2 * 1024; i++)
		bad += vram32(d, DATA + (2 << 20) + 0x123004 + 4 * i) != 0x12345678;
	CHECK(!bad);
	CHECK(vram32(d, DATA + 4096) == 0 && vram32(d, DATA + (2 << 20) + 0x123000) == 0);
	CHECK(((uint32_t *)(d->c.guest + 0x100000))[0] == 0x12345678);
	CHECK(((uint32_t *)(d->c.guest + 0x100000))[2] == 77);
	CHECK(UNTIL(vram64(d, WRITEBACK) == d->sdma_wptr * 4));
}

static void poll(uint64_t addr, uint32_t function, uint32_t reference, uint32_t retries)
{
	emit(d, SDMA_OP_POLL_REGMEM | function << 28 | 1u << 31);
	emit_addr(d, addr);
	emit(d, reference);
	emit(d, UINT32_MAX);
	emit(d, retries << 16 | 16);
}

static void sdma_packets(void)
{
	map_page(d, d->root, VA, DATA | PTE_RW);
	memset(d->c.vram + DATA, 0, 4096);
	emit_atomic(d, TC_OP_ATOMIC_ADD_64, VA, 5, 0);
	emit_atomic(d, TC_OP_ATOMIC_ADD_RTN_64, VA, 0x100000000ull, 0);
	emit_atomic(d, TC_OP_ATOMIC_CMPSWAP_64, VA + 8, 9, 1);
	emit_atomic(d, TC_OP_ATOMIC_CMPSWAP_64, VA + 16, 9, 0);
	emit(d, SDMA_OP_TIMESTAMP | SDMA_SUBOP_TIMESTAMP_GET_GLOBAL << 8);
	emit_addr(d, VA + 24);
	emit(d, SDMA_OP_COND_EXE);
	emit_addr(d, VA + 32);
	emit(d, 1);
	emit(d, 5);
	emit_write(d, VA + 40, 1);	/* is not done */
	poll(VA + 48, 3, 1, 3);		/* gives up */
	emit_write(d, VA + 56, 2);
	emit(d, SDMA_OP_PTEPDE);
	emit_addr(d, VA + 64);
	emit_addr(d, 1);
	emit_addr(d, 0x1000);
	emit_addr(d, 0x2000);
	emit(d, 2);
	CHECK(job_run(d));
	CHECK(vram64(d, DATA) == 0x100000005ull);
	CHECK(vram64(d, DATA + 8) == 0 && vram64(d, DATA + 16) == 9);
	CHECK(vram64(d, DATA + 24) != 0);
	CHECK(vram32(d, DATA + 40) == 0 && vram32(d, DATA + 56) == 2);
	CHECK(vram64(d, DATA + 64) == 0x1001 && vram64(d, DATA + 80) == 0x5001);
	CHECK(strstr(control("stats 1"), "1 SDMA: poll given up"));
}

static void poll_waits(void)
{
	map_page(d, d->root, VA, DATA | PTE_RW);
	memset(d->c.vram + DATA, 0, 4096);
	poll(VA, 5, 7, 0xfff);
	emit_write(d, VA + 8, 1);
	job_start(d);
	usleep(20000);
	CHECK(!job_done(d) && vram32(d, DATA + 8) == 0);
	__atomic_store_n((uint32_t *)(d->c.vram + DATA), 8, __ATOMIC_RELEASE);
	CHECK(UNTIL(job_done(d)) && vram32(d, DATA + 8) == 1);
	/* and one that never comes true ends when the ring is disabled */
	poll(VA, 5, 9, 0xfff);
	job_start(d);
	usleep(5000);
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_CNTL, 0);
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_RPTR, (uint32_t)d->sdma_wptr * 4);
	reg_write(&d->c, R_SDMA0_SDMA_GFX_RB_CNTL,
		  M_SDMA0_SDMA_GFX_RB_CNTL__RB_ENABLE |
			  (uint32_t)__builtin_ctz(SDMA_RING_BYTES / 4) << 1);
	emit_write(d, VA + 16, 3);
	CHECK(job_run(d) && vram32(d, DATA + 16) == 3);
}

static void fault_is(uint64_t va, bool write, uint32_t bits)
{
	uint32_t status;
	struct irq irq;

	if (!CHECK(irq_wait(d, CLIENT_VMC, 0, &irq)))
		return;
	CHECK(irq.vmid == VMID && irq.pasid == PASID && irq.vmid_src == 1);
	CHECK(irq.data[0] == va >> 12 && !!(irq.data[1] & 0x20) == write);
	status = reg_read(&d->c, R_MMHUB_VM_L2_PROTECTION_FAULT_STATUS);
	CHECK((status & bits) == bits && (status >> 20 & 0xf) == VMID);
	CHECK(!!(status & M_GC_VM_L2_PROTECTION_FAULT_STATUS__RW) == write);
	CHECK(!(status & M_GC_VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR));
	reg_write(&d->c, R_MMHUB_VM_L2_PROTECTION_FAULT_CNTL, 1);
	CHECK(reg_read(&d->c, R_MMHUB_VM_L2_PROTECTION_FAULT_STATUS) == 0);
}

static void faults(void)
{
	map_page(d, d->root, VA, DATA | PTE_RW);
	map_page(d, d->root, VA + 4096, DATA | PTE_VALID | PTE_READ);
	map_page(d, d->root, VA + 8192, PTE_PRT);
	map_page(d, d->root, VA + 12288, 0xfff0000000ull | PTE_RW);
	emit_copy(d, VA, VA + (1 << 20), 64);
	emit_write(d, VA + 64, 1);
	CHECK(job_run(d));
	fault_is(VA + (1 << 20), false, 1 << 4);
	CHECK(vram32(d, DATA) == 0 && vram32(d, DATA + 64) == 1);
	emit_write(d, VA + 4096, 0xbad);
	CHECK(job_run(d));
	fault_is(VA + 4096, true, 2 << 4);
	CHECK(vram32(d, DATA) != 0xbad);
	emit_write(d, VA + 12288, 1);
	CHECK(job_run(d));
	fault_is(VA + 12288, true, 1 << 1);
	/* not backed, but no fault */
	memset(d->c.vram + DATA, 0xff, 64);
	emit_write(d, VA + 8192, 1);
	emit_copy(d, VA, VA + 8192, 64);
	CHECK(job_run(d));
	CHECK(vram32(d, DATA) == 0);
	CHECK(reg_read(&d->c, R_MMHUB_VM_L2_PROTECTION_FAULT_STATUS) == 0);
}

static void tlb(void)
{
	map_page(d, d->root, VA, DATA | PTE_RW);
	emit_write(d, VA, 1);
	CHECK(job_run(d) && vram32(d, DATA) == 1);
	map_page(d, d->root, VA, (DATA + 8192) | PTE_RW);
	CHECK(ual_counter(d, STALE) == 0);
	emit_write(d, VA, 2);
	CHECK(job_run(d));
	/* nobody has flushed */
	CHECK(vram32(d, DATA) == 2 && vram32(d, DATA + 8192) == 0);
	CHECK(ual_counter(d, STALE) == 1 && ual_counter(d, UNFLUSHED) == 1);
	CHECK(strstr(control("stale"), "mmhub: hits"));
	/* of another VMID, which does not help */
	flush(d, 1 << (VMID + 1));
	emit_write(d, VA, 3);
	CHECK(job_run(d) && vram32(d, DATA) == 3);
	CHECK(ual_counter(d, STALE) == 2 && ual_counter(d, UNFLUSHED) == 2);
	flush(d, 1 << VMID);
	CHECK(ual_counter(d, STALE) == 2 && ual_counter(d, UNFLUSHED) == 0);
	emit_write(d, VA, 4);
	CHECK(job_run(d) && vram32(d, DATA) == 3 && vram32(d, DATA + 8192) == 4);
	CHECK(ual_counter(d, STALE) == 2);
}

static void flush_ack(void)
{
	control("flush-delay 100");
	flush(d, 1 << VMID);
	flush_start(d, 1 << VMID);
	CHECK(!flush_done(d, 1 << VMID));
	CHECK(flush_done(d, 0));
	CHECK(UNTIL(flush_done(d, 1 << VMID)));
	control("flush-delay 0");
}

static void resets(void)
{
	map_page(d, d->root, VA, DATA | PTE_RW);
	emit_write(d, VA, 0x55);
	CHECK(job_run(d));
	CHECK(ual_enable(d, true));
	/* function level */
	config_write(&d->c, 0x64 + 8, 0x8000);
	CHECK(vram32(d, DATA) == 0x55);
	CHECK(reg_read(&d->c, R_SDMA0_SDMA_GFX_RB_CNTL) == 0);
	CHECK(ual_read(d, UAL_STATUS) == 1 && ual_read(d, UAL_CNTL) == 0);
	CHECK(ual_read(d, UAL_NPA_ROOT) == 0);
	device_setup(d);
	map_page(d, d->root, VA, (DATA + 4096) | PTE_RW);
	emit_write(d, VA, 0x66);
	CHECK(job_run(d) && vram32(d, DATA + 4096) == 0x66 && vram32(d, DATA) == 0x55);
	/* bus mastering off */
	config_write(&d->c, 4, 2);
	CHECK(vram32(d, DATA) != 0x55);
	CHECK(vram32(d, d->c.vram_size - 65536) == 0x28211407);
	device_setup(d);
	/* in the middle of a job that would not end */
	map_page(d, d->root, VA, DATA | PTE_RW);
	memset(d->c.vram + DATA, 0, 64);
	poll(VA, 3, 1, 0xfff);
	job_start(d);
	usleep(3000);
	device_reset(&d->c);
	device_setup(d);
	map_page(d, d->root, VA, DATA | PTE_RW);
	emit_write(d, VA, 0x77);
	CHECK(job_run(d) && vram32(d, DATA) == 0x77);
	CHECK(ual_counter(d, UNFLUSHED) == 0);
}

static void no_master(void)
{
	map_page(d, d->root, VA, 0x100000 | PTE_RW | PTE_SYSTEM);
	config_write(&d->c, 4, 0);
	emit_write(d, VA, 5);
	CHECK(job_run(d));
	CHECK(((uint32_t *)(d->c.guest + 0x100000))[0] == 0);
	CHECK(strstr(control("stats 1"), "DMA without bus mastering"));
}

static void unknown(void)
{
	CHECK(!strstr(control("unknown"), "SDMA"));
	emit(d, 0xee);
	CHECK(job_run(d));
	CHECK(strstr(control("unknown"), "1 SDMA packet 238.0"));
	emit(d, SDMA_OP_COPY);
	emit(d, 1);
	CHECK(job_run(d));
	CHECK(strstr(control("unknown"), "1 SDMA COPY: cut off"));
	reg_read(&d->c, R_GC_GRBM_STATUS);
	CHECK(strstr(control("unknown"), "1 GC.GRBM_STATUS"));
}

const struct test gpu_tests[] = {
	{ "discovery", discovery }, { "sdma", sdma }, { "sdma_packets", sdma_packets },
	{ "poll_waits", poll_waits }, { "faults", faults }, { "tlb", tlb },
	{ "flush_ack", flush_ack }, { "resets", resets }, { "no_master", no_master },
	{ "unknown", unknown }, {}
};
