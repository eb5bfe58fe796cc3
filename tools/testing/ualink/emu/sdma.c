// SPDX-License-Identifier: MIT
/*
 * The packets of the SDMA engine, as vega10_sdma_pkt_open.h describes them. Two accesses of an
 * engine are made in their order, which is more than the host interface promises.
 */
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "ivsrcid/sdma0/irqsrcs_sdma0_4_0.h"
#include "soc15_ih_clientid.h"
#include "vega10_enum.h"
#include "vega10_sdma_pkt_open.h"

#define DEPTH_MAX	4	/* of indirect buffers */
#define BITS(v, what)	(((v) >> SDMA_PKT_ ## what ## _shift) & SDMA_PKT_ ## what ## _mask)
#define PIECE		PAGE_SIZE

static uint64_t address(const uint32_t *dw)
{
	return dw[0] | (uint64_t)dw[1] << 32;
}

static bool store(struct cursor *c, uint64_t addr, const void *data, size_t len)
{
	return hub_write(c->hub, c->vmid, addr, data, len);
}

static bool load(struct cursor *c, uint64_t addr, void *data, size_t len)
{
	return hub_read(c->hub, c->vmid, addr, data, len);
}

/* Skips the rest of a packet that is longer than what was looked at. */
static bool skip(struct cursor *c, size_t dwords)
{
	uint64_t left = c->end - c->pos;

	c->pos += dwords * 4 < left ? dwords * 4 : left;
	return dwords * 4 <= left;
}

static bool do_nop(struct cursor *c, uint32_t header)
{
	return skip(c, (header >> 16) & 0x3fff);
}

/* The copy is cut where a page of either side ends. */
static bool copy_pieces(struct cursor *c, uint64_t to, uint64_t from, uint64_t len)
{
	uint8_t piece[PIECE];
	uint64_t now;

	while (len && !c->engine->stop) {
		now = PIECE - (from & (PIECE - 1));
		if (now > PIECE - (to & (PIECE - 1)))
			now = PIECE - (to & (PIECE - 1));
		if (now > len)
			now = len;
		load(c, from, piece, now);
		store(c, to, piece, now);
		from += now;
		to += now;
		len -= now;
	}
	return true;
}

static bool do_copy(struct cursor *c, uint32_t header)
{
	uint32_t dw[6];

	(void)header;
	/* count, parameters, source, destination */
	return cursor_take(c, dw, 6) &&
	       copy_pieces(c, address(dw + 4), address(dw + 2), (dw[0] & 0x3fffffff) + 1ull);
}

static bool do_write(struct cursor *c, uint32_t header)
{
	uint32_t dw[3], *data;
	size_t dwords;
	bool done;

	(void)header;
	if (!cursor_take(c, dw, 3))
		return false;
	dwords = BITS(dw[2], WRITE_UNTILED_DW_3_count) + 1;
	data = malloc(dwords * 4);
	done = data && cursor_take(c, data, dwords);
	if (done)
		store(c, address(dw), data, dwords * 4);
	free(data);
	return done;
}

static bool do_indirect(struct cursor *c, uint32_t header)
{
	uint32_t dw[5];
	struct cursor ib;

	if (!cursor_take(c, dw, 5))
		return false;
	if (c->depth == DEPTH_MAX) {
		count(&c->engine->gpu->unknown, "SDMA: indirect buffers too deep");
		return true;
	}
	ib = (struct cursor){
		.engine = c->engine, .hub = c->hub,
		.vmid = BITS(header, INDIRECT_HEADER_vmid),
		.base = address(dw), .end = (uint64_t)(dw[2] & 0xfffff) * 4,
		.depth = c->depth + 1,
	};
	while (ib.pos < ib.end && !c->engine->stop)
		sdma_packet(&ib);
	return true;
}

static bool do_fence(struct cursor *c, uint32_t header)
{
	uint32_t dw[3];

	(void)header;
	return cursor_take(c, dw, 3) && (store(c, address(dw), &dw[2], 4), true);
}

static bool do_trap(struct cursor *c, uint32_t header)
{
	struct irq irq = {
		.client = SOC15_IH_CLIENTID_SDMA0, .source = SDMA0_4_0__SRCID__SDMA_TRAP,
		.vmid = (uint8_t)c->vmid, .vmid_src = 1,
	};
	uint32_t context;

	(void)header;
	if (!cursor_take(c, &context, 1))
		return false;
	irq.data[0] = context;
	ih_raise(c->engine->gpu, &irq);
	return true;
}

/*
 * Polls until the comparison holds, or has failed as often as the packet says; 0xfff is for ever.
 * After that the job goes on.
 */
static void poll(struct cursor *c, uint32_t header, const uint32_t *dw)
{
	bool memory = BITS(header, POLL_REGMEM_HEADER_mem_poll);
	uint32_t retries = BITS(dw[4], POLL_REGMEM_DW5_retry_count);
	uint32_t interval = BITS(dw[4], POLL_REGMEM_DW5_interval);
	uint32_t value, tries;

	for (tries = 0; !c->engine->stop; tries++) {
		if (!memory)
			value = reg_read(c->engine->gpu, dw[0] >> 2);
		else if (!load(c, address(dw), &value, 4))
			return;
		if (compare(BITS(header, POLL_REGMEM_HEADER_func), value & dw[3], dw[2] & dw[3]))
			return;
		if (retries != 0xfff && tries >= retries) {
			count(&c->engine->gpu->stats, "SDMA: poll given up");
			return;
		}
		engine_pause(c->engine, 20 + interval / 16);
	}
}

static bool do_poll(struct cursor *c, uint32_t header)
{
	uint32_t dw[5];

	if (!cursor_take(c, dw, 5))
		return false;
	if (BITS(header, POLL_REGMEM_HEADER_hdp_flush))
		hdp_flush(c->engine->gpu);
	else
		poll(c, header, dw);
	return true;
}

/* Skips the packets that follow when the word is zero. */
static bool do_cond_exe(struct cursor *c, uint32_t header)
{
	uint32_t dw[4], value;

	(void)header;
	if (!cursor_take(c, dw, 4))
		return false;
	load(c, address(dw), &value, 4);
	if (value < dw[2])
		return skip(c, dw[3] & 0x3fff);
	return true;
}

static bool atomic_decode(unsigned int code, struct mem_op *op)
{
	static const struct {
		unsigned int code;
		enum atomic_fn fn;
		size_t len;
	} codes[] = {
		{ TC_OP_ATOMIC_ADD_RTN_32, ATOMIC_ADD, 4 },
		{ TC_OP_ATOMIC_ADD_32, ATOMIC_ADD, 4 },
		{ TC_OP_ATOMIC_ADD_RTN_64, ATOMIC_ADD, 8 },
		{ TC_OP_ATOMIC_ADD_64, ATOMIC_ADD, 8 },
		{ TC_OP_ATOMIC_SWAP_RTN_32, ATOMIC_SWAP, 4 },
		{ TC_OP_ATOMIC_SWAP_32, ATOMIC_SWAP, 4 },
		{ TC_OP_ATOMIC_SWAP_RTN_64, ATOMIC_SWAP, 8 },
		{ TC_OP_ATOMIC_SWAP_64, ATOMIC_SWAP, 8 },
		{ TC_OP_ATOMIC_CMPSWAP_RTN_32, ATOMIC_CMPSWAP, 4 },
		{ TC_OP_ATOMIC_CMPSWAP_32, ATOMIC_CMPSWAP, 4 },
		{ TC_OP_ATOMIC_CMPSWAP_RTN_64, ATOMIC_CMPSWAP, 8 },
		{ TC_OP_ATOMIC_CMPSWAP_64, ATOMIC_CMPSWAP, 8 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i].code != code)
			continue;
		op->kind = MEM_ATOMIC;
		op->fn = codes[i].fn;
		op->len = codes[i].len;
		return true;
	}
	return false;
}

/*
 * One atomic operation, given as in the packets of both kinds of engines. With @loop, a compare and
 * swap is repeated until it has swapped, or @tries times when that is not 0.
 */
bool atomic_packet(struct cursor *c, unsigned int code, const uint32_t *dw, bool loop)
{
	struct mem_op op = { .operand = address(dw + 2), .compare = address(dw + 4) };
	uint64_t compare_mask;

	if (!atomic_decode(code, &op))
		return false;
	compare_mask = op.len == 8 ? UINT64_MAX : UINT32_MAX;
	while (!c->engine->stop) {
		if (!hub_op(c->hub, c->vmid, address(dw), &op) || !loop ||
		    op.fn != ATOMIC_CMPSWAP || op.old == (op.compare & compare_mask))
			break;
		engine_pause(c->engine, 20 + (dw[6] & 0x1fff) / 16);
	}
	return true;
}

static bool do_atomic(struct cursor *c, uint32_t header)
{
	uint32_t dw[7];
	unsigned int code = BITS(header, ATOMIC_HEADER_atomic_op);

	if (!cursor_take(c, dw, 7))
		return false;
	if (!atomic_packet(c, code, dw, BITS(header, ATOMIC_HEADER_loop)))
		count(&c->engine->gpu->unknown, "SDMA: atomic 0x%x", code);
	return true;
}

static bool do_fill(struct cursor *c, uint32_t header)
{
	uint32_t dw[4], piece[PIECE / 4];
	uint64_t addr, len, now;
	size_t i;

	(void)header;
	if (!cursor_take(c, dw, 4))
		return false;
	addr = address(dw);
	len = (dw[3] & 0x3fffffff) + 1ull;
	for (i = 0; i < ARRAY_SIZE(piece); i++)
		piece[i] = dw[2];
	while (len && !c->engine->stop) {
		now = PIECE - (addr & (PIECE - 1));
		if (now > len)
			now = len;
		store(c, addr, piece, now);
		addr += now;
		len -= now;
	}
	return true;
}

/* Writes page table entries: a value that grows, under a mask. */
static bool do_pte_generate(struct cursor *c, uint32_t header)
{
	uint32_t dw[9];
	uint64_t addr, mask, value, entry, n;

	(void)header;
	if (!cursor_take(c, dw, 9))
		return false;
	addr = address(dw);
	mask = address(dw + 2);
	value = address(dw + 4);
	for (n = (dw[8] & 0x7ffff) + 1; n && !c->engine->stop; n--) {
		entry = value | mask;
		store(c, addr, &entry, 8);
		addr += 8;
		value += address(dw + 6);
	}
	return true;
}

static bool do_pte_copy(struct cursor *c, uint32_t header)
{
	uint32_t dw[7];

	(void)header;
	return cursor_take(c, dw, 7) &&
	       copy_pieces(c, address(dw + 2), address(dw),
			   (BITS(dw[6], PTEPDE_COPY_COUNT_count) + 1ull) * 8);
}

static bool do_timestamp(struct cursor *c, uint32_t header)
{
	uint64_t now = clock_us() * 100;
	uint32_t dw[2];

	(void)header;
	return cursor_take(c, dw, 2) && (store(c, address(dw), &now, 8), true);
}

static bool do_reg_write(struct cursor *c, uint32_t header)
{
	uint32_t dw[2];

	(void)header;
	if (!cursor_take(c, dw, 2))
		return false;
	reg_write(c->engine->gpu, dw[0] & 0x3ffff, dw[1]);
	return true;
}

static const struct {
	const char *name;
	uint8_t op, sub;
	bool (*run)(struct cursor *cursor, uint32_t header);
} packets[] = {
	{ "NOP", SDMA_OP_NOP, 0, do_nop },
	{ "COPY", SDMA_OP_COPY, SDMA_SUBOP_COPY_LINEAR, do_copy },
	{ "WRITE", SDMA_OP_WRITE, SDMA_SUBOP_WRITE_LINEAR, do_write },
	{ "INDIRECT", SDMA_OP_INDIRECT, 0, do_indirect },
	{ "FENCE", SDMA_OP_FENCE, 0, do_fence },
	{ "TRAP", SDMA_OP_TRAP, 0, do_trap },
	{ "POLL_REGMEM", SDMA_OP_POLL_REGMEM, 0, do_poll },
	{ "COND_EXE", SDMA_OP_COND_EXE, 0, do_cond_exe },
	{ "ATOMIC", SDMA_OP_ATOMIC, 0, do_atomic },
	{ "CONST_FILL", SDMA_OP_CONST_FILL, 0, do_fill },
	{ "PTEPDE", SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_GEN, do_pte_generate },
	{ "PTEPDE_COPY", SDMA_OP_PTEPDE, SDMA_SUBOP_PTEPDE_COPY, do_pte_copy },
	{ "TIMESTAMP_GET", SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET, do_timestamp },
	{ "TIMESTAMP_GLOBAL", SDMA_OP_TIMESTAMP, SDMA_SUBOP_TIMESTAMP_GET_GLOBAL, do_timestamp },
	{ "SRBM_WRITE", SDMA_OP_SRBM_WRITE, 0, do_reg_write },
};

/* Does one packet. Return: false after one that is unknown or cut off; the buffer ends there. */
bool sdma_packet(struct cursor *cursor)
{
	struct gpu *gpu = cursor->engine->gpu;
	uint32_t header;
	size_t i;

	if (!cursor_take(cursor, &header, 1))
		return false;
	for (i = 0; i < ARRAY_SIZE(packets); i++) {
		if (packets[i].op != (header & 0xff) || packets[i].sub != ((header >> 8) & 0xff))
			continue;
		count(&gpu->stats, "SDMA %s", packets[i].name);
		if (packets[i].run(cursor, header))
			return true;
		count(&gpu->unknown, "SDMA %s: cut off", packets[i].name);
		return false;
	}
	count(&gpu->unknown, "SDMA packet %u.%u", header & 0xff, (header >> 8) & 0xff);
	logmsg(gpu, "SDMA: unknown packet 0x%x, VMID %u", header, cursor->vmid);
	cursor->pos = cursor->end;
	return false;
}
