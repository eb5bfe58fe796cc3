// SPDX-License-Identifier: MIT
/* Accesses to another accelerator's memory. */
#include <string.h>

#include "tests.h"
#include "vega10_enum.h"
#include "vega10_sdma_pkt_open.h"

#define LOCAL		0x40000000ull
#define REMOTE		0x50000000ull
#define OFFSET		0x00600000ull	/* in the owner's segment */
#define NPA(id, offset)	((uint64_t)(id) << SEGMENT_SHIFT | (offset))
#define TARGET		(DATA + 0x10000)	/* in the owner's VRAM */
#define PAGES		4

/* The requester, accelerator 1, and the owner, accelerator 2 */
static struct device *const r = &dev[0], *const o = &dev[1];

static void map_both(uint64_t leaf)
{
	uint64_t at;

	for (at = 0; at < PAGES * 4096; at += 4096) {
		map_page(r, r->root, LOCAL + at, (DATA + at) | PTE_RW);
		map_page(r, r->root, REMOTE + at, NPA(2, OFFSET + at) | PTE_REMOTE);
		map_page(o, o->segment, OFFSET + at, (TARGET + 2 * at) | leaf);
	}
	memset(o->c.vram + TARGET, 0, 2 * PAGES * 4096);
}

static void open_up(void)
{
	CHECK(ual_enable(r, true) && ual_enable(o, true));
	map_both(PTE_RW);
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
}

/* The last job has met a refusal at an address. */
static void refused(uint64_t va, bool write, unsigned int why)
{
	uint32_t status;
	struct irq irq;

	if (CHECK(irq_wait(r, CLIENT_VMC, 0, &irq))) {
		CHECK(irq.vmid == VMID && irq.pasid == PASID && irq.data[0] == va >> 12);
		status = reg_read(&r->c, R_MMHUB_VM_L2_PROTECTION_FAULT_STATUS);
		CHECK(status & M_GC_VM_L2_PROTECTION_FAULT_STATUS__MAPPING_ERROR);
		CHECK(!!(status & M_GC_VM_L2_PROTECTION_FAULT_STATUS__RW) == write);
		reg_write(&r->c, R_MMHUB_VM_L2_PROTECTION_FAULT_CNTL, 1);
	}
	if (why > 1)
		CHECK(irq_wait(o, CLIENT_UALINK, IRQ_REFUSED, &irq) && irq.data[0] == 1 &&
		      irq.data[1] == why);
	usleep(11000);	/* they come no more often */
}

static void remote(void)
{
	unsigned int i, bad = 0;

	open_up();
	emit_fill(r, LOCAL, 0x01020304, PAGES * 4096);
	emit_copy(r, REMOTE + 0x100, LOCAL, PAGES * 4096 - 0x100);
	emit_copy(r, LOCAL, REMOTE, 0x200);
	CHECK(job_run(r));
	for (i = 0x100; i < PAGES * 4096; i += 4)
		bad += vram32(o, TARGET + 2 * (i & ~4095u) + (i & 4095)) != 0x01020304;
	CHECK(!bad);
	CHECK(vram32(o, TARGET + 4096) == 0 && vram32(o, TARGET) == 0);
	CHECK(vram32(r, DATA) == 0 && vram32(r, DATA + 0x100) == 0x01020304);
	CHECK(ual_counter(r, OUT) == ual_counter(o, SERVED) && ual_counter(o, SERVED) > PAGES);
	CHECK(ual_counter(o, REFUSED) == 0 && ual_counter(o, WALKS) == PAGES);
	CHECK(ual_counter(o, STALE) == 0 && !strstr(control("stats"), "fault"));
}

static void gates(void)
{
	CHECK(ual_enable(r, true) && ual_enable(o, true));
	map_both(PTE_RW);
	memset(r->c.vram + DATA, 0xff, 64);
	emit_copy(r, LOCAL, REMOTE, 64);
	CHECK(job_run(r));
	CHECK(vram32(r, DATA) == 0);
	refused(REMOTE, false, 2);
	CHECK(command(o, CMD_GATE_OPEN, 2, 0) == 0);	/* of another one */
	emit_write(r, REMOTE, 1);
	CHECK(job_run(r) && vram32(o, TARGET) == 0);
	refused(REMOTE, true, 2);
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
	emit_write(r, REMOTE, 2);
	CHECK(job_run(r) && vram32(o, TARGET) == 2);
	CHECK(command(o, CMD_GATE_CLOSE, 1, 0) == 0);
	emit_write(r, REMOTE, 3);
	CHECK(job_run(r) && vram32(o, TARGET) == 2);
	refused(REMOTE, true, 2);
	CHECK(ual_counter(o, REFUSED) == 3 && ual_counter(o, SERVED) == 1);
	CHECK(command(o, CMD_GATE_OPEN, IDS, 0) == 1 && command(o, 9, 0, 0) == 1);
	/* disabling closes gates */
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
	CHECK(ual_enable(o, false) && ual_enable(o, true));
	emit_write(r, REMOTE, 4);
	CHECK(job_run(r) && vram32(o, TARGET) == 2);
	refused(REMOTE, true, 2);
}

static void entries(void)
{
	open_up();
	map_page(o, o->segment, OFFSET + 4096, TARGET | PTE_VALID | PTE_READ);
	map_page(o, o->segment, OFFSET + 8192, 0x100000 | PTE_RW | PTE_SYSTEM);
	map_page(o, o->segment, OFFSET + 12288, 0xff00000000ull | PTE_RW);
	emit_write(r, REMOTE + 4096, 1);
	CHECK(job_run(r) && vram32(o, TARGET) == 0);
	refused(REMOTE + 4096, true, 4);
	emit_write(r, REMOTE + 8192, 1);
	CHECK(job_run(r));
	refused(REMOTE + 8192, true, 3);
	emit_write(r, REMOTE + 12288, 1);
	CHECK(job_run(r));
	refused(REMOTE + 12288, true, 3);
	map_page(r, r->root, REMOTE + (1 << 20), NPA(2, OFFSET + (1 << 20)) | PTE_REMOTE);
	emit_copy(r, LOCAL, REMOTE + (1 << 20), 64);
	CHECK(job_run(r));
	refused(REMOTE + (1 << 20), false, 3);
	/* to nobody */
	map_page(r, r->root, REMOTE + (1 << 20) + 4096, NPA(7, OFFSET) | PTE_REMOTE);
	emit_write(r, REMOTE + (1 << 20) + 4096, 1);
	CHECK(job_run(r));
	refused(REMOTE + (1 << 20) + 4096, true, 1);
	/* not uncached: a fault of the requester alone */
	map_page(r, r->root, REMOTE + (1 << 20) + 8192, NPA(2, OFFSET) | PTE_RW | PTE_NPA);
	emit_write(r, REMOTE + (1 << 20) + 8192, 1);
	CHECK(job_run(r) && vram32(o, TARGET) == 0);
	CHECK(strstr(control("stats 1"), "1 mmhub fault: malformed"));
}

static void huge(void)
{
	open_up();
	map_huge(r, r->root, REMOTE + (2 << 20), NPA(2, 4 << 20) | PTE_REMOTE);
	map_huge(o, o->segment, 4 << 20, (DATA + (2 << 20)) | PTE_RW);
	emit_fill(r, REMOTE + (2 << 20) + 0x1ff000, 0xabcd, 4096);
	CHECK(job_run(r));
	CHECK(vram32(o, DATA + (2 << 20) + 0x1ff000) == 0xabcd);
	CHECK(vram32(o, DATA + (4 << 20) - 4) == 0xabcd);
	CHECK(ual_counter(o, WALKS) == 1);
}

static void link_tlb(void)
{
	open_up();
	emit_write(r, REMOTE, 1);
	CHECK(job_run(r) && vram32(o, TARGET) == 1);
	map_page(o, o->segment, OFFSET, (TARGET + 4096) | PTE_RW);
	emit_write(r, REMOTE, 2);
	CHECK(job_run(r) && vram32(o, TARGET) == 2 && vram32(o, TARGET + 4096) == 0);
	CHECK(ual_counter(o, STALE) == 1 && ual_counter(o, UNFLUSHED) == 1);
	CHECK(command(o, CMD_INVALIDATE, OFFSET + 4096, 4096) == 0);
	CHECK(ual_counter(o, UNFLUSHED) == 1);
	control("flush-fail 2 1");
	CHECK(command(o, CMD_INVALIDATE, OFFSET, 1) == 2);
	CHECK(ual_counter(o, UNFLUSHED) == 1);
	CHECK(command(o, CMD_INVALIDATE, OFFSET, 1) == 0);
	CHECK(ual_counter(o, UNFLUSHED) == 0 && ual_counter(o, STALE) == 1);
	emit_write(r, REMOTE, 3);
	CHECK(job_run(r) && vram32(o, TARGET) == 2 && vram32(o, TARGET + 4096) == 3);
	CHECK(ual_counter(o, INVALIDATES) == 2);
	/* all of it; the size goes beyond the end */
	CHECK(command(o, CMD_INVALIDATE, 0, UINT64_MAX) == 0);
}

/* Where a write ends after the link TLB was emptied: 1, the old page, or 2, the new one */
static unsigned int page_of_write(uint64_t page)
{
	static uint32_t value = 100;

	CHECK(command(o, CMD_INVALIDATE, OFFSET, 4096) == 0);
	emit_write(r, REMOTE, ++value);
	CHECK(job_run(r));
	return (vram32(o, TARGET) == value) | (vram32(o, page) == value) << 1;
}

/* The block sees what the CPU wrote to page tables after a flush of the HDP. */
static void hdp(void)
{
	const uint64_t page = TARGET + 4096;

	open_up();
	CHECK(page_of_write(page) == 1);
	map_unflushed(o, o->segment, OFFSET, page | PTE_RW);
	CHECK(page_of_write(page) == 1);
	hdp_flush(r);	/* of another GPU */
	CHECK(page_of_write(page) == 1);
	CHECK(strstr(control("stats 2"), "page table entry before an HDP flush"));
	hdp_flush(o);
	CHECK(page_of_write(page) == 2);
	/* the CPU's other ways: this register, and a packet */
	map_unflushed(o, o->segment, OFFSET, TARGET | PTE_RW);
	CHECK(page_of_write(page) == 2);
	reg_write(&o->c, R_NBIO_BIF_BX_PF0_GPU_HDP_FLUSH_REQ, 1);
	CHECK(page_of_write(page) == 1);
	map_unflushed(o, o->segment, OFFSET, page | PTE_RW);
	emit(o, SDMA_OP_POLL_REGMEM | 1u << 26);
	emit_addr(o, 0);
	emit_addr(o, 0);
	emit(o, 0);
	CHECK(page_of_write(page) == 1);
	CHECK(job_run(o) && page_of_write(page) == 2);
	/* what was cleared is served until then, too */
	map_unflushed(o, o->segment, OFFSET, 0);
	CHECK(page_of_write(page) == 2);
	hdp_flush(o);
	CHECK(page_of_write(page) == 0);
	refused(REMOTE, true, 3);
	CHECK(ual_counter(o, UNFLUSHED) == 0);
	/* nothing is on the way after a reset, at function level */
	map_unflushed(o, o->segment, OFFSET, page | PTE_RW);
	config_write(&o->c, 0x64 + 8, 0x8000);
	CHECK(ual_enable(o, true) && command(o, CMD_GATE_OPEN, 1, 0) == 0);
	CHECK(page_of_write(page) == 2);
}

/* Commands wait for accesses that are under way; registers can be read meanwhile. */
static void waiting(void)
{
	uint64_t start;
	unsigned int result;

	open_up();
	control("access-delay 300000");
	emit_write(r, REMOTE, 1);
	job_start(r);
	CHECK(UNTIL(ual_counter(r, OUT) == 1));
	start = wait_us();
	command_start(r, CMD_DRAIN, 0, 0);
	CHECK(!command_done(r, &result) && wait_us() - start < 200000);
	CHECK(vram32(o, TARGET) == 0);
	CHECK(UNTIL(command_done(r, &result)) && result == 0);
	CHECK(vram32(o, TARGET) == 1);
	CHECK(UNTIL(job_done(r)));
	/* an access that was sent while the gate was open before is not served by a new page */
	emit_write(r, REMOTE, 2);
	job_start(r);
	CHECK(UNTIL(ual_counter(r, OUT) == 2));
	CHECK(command(o, CMD_GATE_CLOSE, 1, 0) == 0);
	map_page(o, o->segment, OFFSET, (TARGET + 4096) | PTE_RW);
	CHECK(command(o, CMD_INVALIDATE, OFFSET, 4096) == 0);
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
	CHECK(job_done(r) || UNTIL(job_done(r)));
	CHECK(vram32(o, TARGET) == 1 && vram32(o, TARGET + 4096) == 0);
	control("access-delay 0");
}

/* A flush of the requester's hub waits for its accesses to others, too. */
static void flush_waits(void)
{
	open_up();
	control("access-delay 200000");
	emit_write(r, REMOTE, 1);
	job_start(r);
	CHECK(UNTIL(ual_counter(r, OUT) == 1));
	flush_start(r, 1 << VMID);
	CHECK(!flush_done(r, 1 << VMID));
	CHECK(UNTIL(flush_done(r, 1 << VMID)) && vram32(o, TARGET) == 1);
	control("access-delay 0");
}

static void atomics(void)
{
	unsigned int i, round;

	open_up();
	map_page(o, o->root, LOCAL, TARGET | PTE_RW);
	control("engine-delay 0");
	for (round = 0; round < 8; round++) {
		for (i = 0; i < 2000; i++) {
			emit_atomic(r, TC_OP_ATOMIC_ADD_64, REMOTE, 1, 0);
			emit_atomic(o, TC_OP_ATOMIC_ADD_64, LOCAL, 1, 0);
		}
		job_start(r);
		job_start(o);
		CHECK(UNTIL(job_done(r)) && UNTIL(job_done(o)));
	}
	CHECK(vram64(o, TARGET) == 32000);
	CHECK(ual_counter(o, SERVED) == 16000);
}

static void cut_off(void)
{
	open_up();
	emit_write(r, REMOTE, 1);
	CHECK(job_run(r) && vram32(o, TARGET) == 1);
	control("cut 1 2");
	emit_write(r, REMOTE, 2);
	CHECK(job_run(r) && vram32(o, TARGET) == 1);
	refused(REMOTE, true, 1);
	CHECK(ual_counter(o, REFUSED) == 0);
	control("join 1 2");
	emit_write(r, REMOTE, 3);
	CHECK(job_run(r) && vram32(o, TARGET) == 3);
	/* the owner is reset: gates are closed */
	device_reset(&o->c);
	emit_write(r, REMOTE, 4);
	CHECK(job_run(r) && vram32(o, TARGET) != 4);
	refused(REMOTE, true, 0);
	/* and the root is gone */
	device_setup(o);
	map_both(PTE_RW);
	ual_write64(o, UAL_RING_BASE, o->fb + RING_AREA);
	ual_write(o, UAL_CNTL, 1);
	CHECK(UNTIL(ual_read(o, UAL_STATUS) & 2));
	emit_write(r, REMOTE, 4);
	CHECK(job_run(r));
	refused(REMOTE, true, 2);
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
	emit_write(r, REMOTE, 4);
	CHECK(job_run(r));
	refused(REMOTE, true, 3);
	/* and gone */
	control("crash 2");
	emit_write(r, REMOTE, 4);
	CHECK(job_run(r));
	refused(REMOTE, true, 1);
}

/* Accesses all the time while the owner comes and goes: nothing hangs, nothing gets mixed up. */
static void storm(void)
{
	unsigned int i, j;

	open_up();
	for (i = 0; i < 12; i++) {
		for (j = 0; j < 100; j++) {
			emit_copy(r, REMOTE, LOCAL, PAGES * 4096);
			emit_copy(r, LOCAL, REMOTE, PAGES * 4096);
		}
		job_start(r);
		switch (i % 4) {
		case 0:
			client_close(&o->c);
			device_open(o, dir, 1);
			break;
		case 1:
			control("crash 2");
			device_reset(&o->c);
			device_setup(o);
			break;
		case 2:
			control("cut 1 2");
			control("join 2 1");
			break;
		default:
			CHECK(command(o, CMD_INVALIDATE, 0, UINT64_MAX) == 0);
		}
		CHECK(UNTIL(job_done(r)));
		flush(r, 1 << VMID);
		open_up();
	}
	emit_write(r, REMOTE, 0x99);
	CHECK(job_run(r) && vram32(o, TARGET) == 0x99);
	CHECK(ual_counter(r, UNFLUSHED) == 0 && ual_counter(o, UNFLUSHED) == 0);
}

const struct test link_tests[] = {
	{ "remote", remote }, { "gates", gates }, { "entries", entries }, { "huge", huge },
	{ "link_tlb", link_tlb }, { "hdp", hdp }, { "waiting", waiting }, { "flush_waits", flush_waits },
	{ "atomics", atomics }, { "cut_off", cut_off }, { "storm", storm }, {}
};
