// SPDX-License-Identifier: MIT
/* Blocks that fail or get stuck, and drivers that do what they must not. */
#include <stdio.h>
#include <string.h>

#include "tests.h"

#define LOCAL	0x40000000ull
#define REMOTE	0x50000000ull
#define OFFSET	0x00600000ull	/* in the segment of accelerator 2 */
#define NPA	((2ull << SEGMENT_SHIFT) | OFFSET)
#define TARGET	(DATA + 0x10000)
#define NOWHERE	0x123000	/* nothing is there for VMID 0 */

/* The requester, accelerator 1, and the owner, accelerator 2 */
static struct device *const r = &dev[0], *const o = &dev[1];

static void set_up(void)
{
	CHECK(ual_enable(r, true) && ual_enable(o, true));
	map_page(r, r->root, REMOTE, NPA | PTE_REMOTE);
	map_page(o, o->segment, OFFSET, TARGET | PTE_RW);
	memset(o->c.vram + TARGET, 0, 4096);
}

/* Whether the owner serves the requester */
static bool served(void)
{
	static uint32_t value;

	emit_write(r, REMOTE, ++value);
	return CHECK(job_run(r)) && vram32(o, TARGET) == value;
}

static void gate_fail(void)
{
	set_up();
	CHECK(!strcmp(control("gate-fail 2 2"), "ok\n"));
	CHECK(command(r, CMD_GATE_OPEN, 2, 0) == 0);	/* of the other GPU */
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 2 && !served());
	CHECK(command(o, CMD_GATE_CLOSE, 1, 0) == 0 && command(o, CMD_DRAIN, 0, 0) == 0);
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 2 && !served());
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0 && served());
	/* and of those that flush-fail means, none */
	control("flush-fail 2 1");
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
	CHECK(command(o, CMD_GATE_CLOSE, 1, 0) == 2 && served());
	CHECK(command(o, CMD_GATE_CLOSE, 1, 0) == 0 && !served());
	CHECK(strstr(control("gate-fail 2"), "error: ") && strstr(control("gate-fail 5 1"), "error: "));
}

static void drain_fail(void)
{
	set_up();
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
	control("drain-fail 1 1");
	CHECK(command(o, CMD_DRAIN, 0, 0) == 0);
	CHECK(command(r, CMD_INVALIDATE, 0, 4096) == 0);
	control("access-delay 300000");
	emit_write(r, REMOTE, 77);
	job_start(r);
	CHECK(UNTIL(ual_counter(r, OUT) == 1));
	/* it has not waited */
	CHECK(command(r, CMD_DRAIN, 0, 0) == 2 && vram32(o, TARGET) == 0);
	CHECK(command(r, CMD_DRAIN, 0, 0) == 0 && vram32(o, TARGET) == 77);
	control("access-delay 0");
	CHECK(UNTIL(job_done(r)));
}

/* Whether a command of the owner is not answered, as the Nth one */
static bool hangs(unsigned int opcode, uint64_t arg0, unsigned int n)
{
	uint32_t before = ual_read(o, UAL_CMD_STATUS);
	char counted[40];

	snprintf(counted, sizeof(counted), " %u command without answer\n", n);
	command_start(o, opcode, arg0, 0);
	return UNTIL(strstr(control("stats 2"), counted)) && ual_read(o, UAL_CMD_STATUS) == before;
}

static void cmd_hang(void)
{
	set_up();
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0 && served());
	/* one is lost */
	control("cmd-hang 2 1");
	CHECK(command(r, CMD_DRAIN, 0, 0) == 0);
	CHECK(hangs(CMD_GATE_CLOSE, 1, 1) && served());
	CHECK(command(o, CMD_GATE_CLOSE, 1, 0) == 0 && !served());
	/* all are, until it is enabled again */
	control("cmd-hang 2 1000000");
	CHECK(hangs(CMD_GATE_OPEN, 1, 2) && hangs(CMD_DRAIN, 0, 3) && !served());
	CHECK(strstr(control("unknown"), "UALink: a command while one is under way"));
	CHECK(ual_enable(o, false));
	CHECK(hangs(CMD_DRAIN, 0, 4));
	CHECK(ual_enable(o, true));
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0 && served());
	/* or until it is reset */
	control("cmd-hang 2 1000000");
	CHECK(hangs(CMD_DRAIN, 0, 5));
	device_reset(&o->c);
	device_setup(o);
	CHECK(command(o, CMD_DRAIN, 0, 0) == 0);
	/* one that has not hung yet does so later on */
	control("cmd-hang 2 1");
	device_reset(&o->c);
	device_setup(o);
	CHECK(ual_enable(o, true));
	CHECK(hangs(CMD_DRAIN, 0, 6) && command(o, CMD_DRAIN, 0, 0) == 0);
}

static bool stays_disabled(struct device *d)
{
	ual_write(d, UAL_CNTL, 1);
	usleep(20000);
	return ual_read(d, UAL_CNTL) == 1 && !(ual_read(d, UAL_STATUS) & 2);
}

static void enable_hang(void)
{
	uint32_t value;

	set_up();
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0 && served());
	control("enable-hang 2 2");
	CHECK(ual_read(o, UAL_STATUS) == 3 && served());
	CHECK(ual_enable(o, false) && stays_disabled(o));
	/* as if ENABLE were 0 */
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 2 && !served());
	CHECK(message_send(r, 2, 1, 1) && UNTIL(ring_pointer(r, 1, 2) == 1));
	CHECK(ring_pointer(o, 2, 1) == 0);
	/* the same write once more is no other one */
	CHECK(stays_disabled(o));
	/* a reset does not help; the next time does */
	device_reset(&o->c);
	device_setup(o);
	CHECK(stays_disabled(o));
	ual_write(o, UAL_CNTL, 0);
	CHECK(ual_enable(o, true));
	CHECK(message_send(r, 2, 1, 2) && message_get(o, 1, &value) && value == 2);
	CHECK(command(o, CMD_GATE_OPEN, 1, 0) == 0);
}

/* A command is done whatever its tag, also if CMD_STATUS shows that one already. */
static void tags(void)
{
	set_up();
	CHECK(ual_read(o, UAL_CMD_STATUS) == 0);
	o->tag = UINT16_MAX;
	command_start(o, CMD_GATE_OPEN, 1, 0);
	CHECK(o->tag == 0);
	CHECK(UNTIL(strstr(control("stats 2"), "1 command GATE_OPEN")));
	CHECK(UNTIL(served()) && ual_read(o, UAL_CMD_STATUS) == 0);
	CHECK(command(o, CMD_INVALIDATE, OFFSET, 4096) == 0);
	o->tag--;
	command_start(o, CMD_INVALIDATE, OFFSET, 4096);
	CHECK(UNTIL(ual_counter(o, INVALIDATES) == 2));
	/* the result is that of the last one, too */
	o->tag--;
	command_start(o, CMD_GATE_OPEN, IDS, 0);
	CHECK(UNTIL(ual_read(o, UAL_CMD_STATUS) == (1u << 16 | 1)));
	CHECK(!strstr(control("unknown"), "UALink"));
}

/* The driver has sent its own engine to where nothing is. */
static void stray(const char *counted)
{
	reg_write(&r->c, R_SDMA0_SDMA_GFX_RB_RPTR_ADDR_LO, NOWHERE);
	reg_write(&r->c, R_SDMA0_SDMA_GFX_RB_RPTR_ADDR_HI, 0);
	map_page(r, r->root, LOCAL, DATA | PTE_RW);
	emit_write(r, LOCAL, 1);
	CHECK(job_run(r) && vram32(r, DATA) == 1);
	CHECK(UNTIL(strstr(control("stats 1"), counted)));
}

static void vmid0(void)
{
	control("allow-vmid0 1");
	control("allow-vmid0 0");
	stray("mmhub fault: VMID 0\n");
	exit_status = 3;
}

static void vmid0_allowed(void)
{
	control("allow-vmid0 1");
	stray("mmhub fault: VMID 0, allowed\n");
	/* a job's fault is the job's */
	emit_write(r, REMOTE, 1);
	CHECK(job_run(r) && strstr(control("stats 1"), "mmhub fault: invalid"));
	CHECK(!strstr(control("stats"), "fault: VMID 0\n"));
	CHECK(strstr(control("allow-vmid0 2"), "error: "));
}

const struct test fail_tests[] = {
	{ "gate_fail", gate_fail }, { "drain_fail", drain_fail }, { "cmd_hang", cmd_hang },
	{ "enable_hang", enable_hang }, { "tags", tags }, { "vmid0", vmid0 },
	{ "vmid0_allowed", vmid0_allowed }, {}
};
