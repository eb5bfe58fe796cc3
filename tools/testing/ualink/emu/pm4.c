// SPDX-License-Identifier: MIT
/* Packets of the command processor (PM4), as soc15d.h describes them. */
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "ivsrcid/gfx/irqsrcs_gfx_9_0.h"
#include "regs_gen.h"
#include "soc15_ih_clientid.h"
#include "soc15d.h"

#define DEPTH_MAX	4	/* of indirect buffers */

struct packet {
	struct cursor *c;
	struct cp_queue *queue;
	struct gpu *gpu;
	const uint32_t *body;
	size_t size;		/* dwords in @body */
};

static uint64_t address(const uint32_t *dw)
{
	return dw[0] | (uint64_t)dw[1] << 32;
}

static void store(struct packet *p, uint64_t addr, const void *data, size_t len)
{
	hub_write(p->c->hub, p->c->vmid, addr, data, len);
}

static bool load(struct packet *p, uint64_t addr, void *data, size_t len)
{
	return hub_read(p->c->hub, p->c->vmid, addr, data, len);
}

static void do_nothing(struct packet *p)
{
	(void)p;
}

static void set_regs(struct packet *p, uint32_t base)
{
	size_t i;

	for (i = 1; i < p->size; i++)
		reg_write(p->gpu, base + (p->body[0] & 0xffff) + (uint32_t)i - 1, p->body[i]);
}

static void do_set_uconfig(struct packet *p)
{
	set_regs(p, PACKET3_SET_UCONFIG_REG_START);
}

static void do_set_sh(struct packet *p)
{
	set_regs(p, PACKET3_SET_SH_REG_START);
}

static void do_set_config(struct packet *p)
{
	set_regs(p, PACKET3_SET_CONFIG_REG_START);
}

static void do_write_data(struct packet *p)
{
	bool one_addr = p->body[0] & WR_ONE_ADDR;
	size_t i;

	if ((p->body[0] >> 8) & 0xf) {
		store(p, address(p->body + 1), p->body + 3, (p->size - 3) * 4);
		return;
	}
	for (i = 3; i < p->size; i++)
		reg_write(p->gpu, p->body[1] + (one_addr ? 0 : (uint32_t)i - 3), p->body[i]);
}

/* False if it cannot be read: who waits for what faults goes on, as with any other access. */
static bool wait_value(struct packet *p, bool memory, uint32_t reg, uint32_t *value)
{
	if (memory)
		return load(p, address(p->body + 1), value, 4);
	*value = reg_read(p->gpu, reg);
	return true;
}

/* Waits for memory or a register; or writes a register and waits for another one. */
static void do_wait_reg_mem(struct packet *p)
{
	const uint32_t *b = p->body;
	bool memory = (b[0] >> 4) & 3, write_wait = ((b[0] >> 6) & 3) == 1;
	uint32_t mask = b[4], reference = write_wait ? mask : b[3] & mask;
	uint32_t reg = write_wait ? b[2] : b[1], value;

	if (write_wait)
		reg_write(p->gpu, b[1], b[3]);
	while (!p->c->engine->stop && wait_value(p, memory, reg, &value) &&
	       !compare(b[0] & 7, value & mask, reference))
		engine_pause(p->c->engine, 20);
}

static uint64_t copy_source(struct packet *p)
{
	uint64_t value = 0;

	switch (p->body[0] & 0xf) {
	case 0:
		value = reg_read(p->gpu, p->body[1]);
		break;
	case 1:
	case 2:
		load(p, address(p->body + 1), &value, p->body[0] & 1 << 16 ? 8 : 4);
		break;
	case 5:
		value = address(p->body + 1);
		break;
	case 9:
		value = clock_us() * 100;
		break;
	default:
		count(&p->gpu->unknown, "PM4 COPY_DATA: source %u", p->body[0] & 0xf);
	}
	return value;
}

static void do_copy_data(struct packet *p)
{
	uint64_t value = copy_source(p);

	if ((p->body[0] >> 8) & 0xf)
		store(p, address(p->body + 3), &value, p->body[0] & 1 << 16 ? 8 : 4);
	else
		reg_write(p->gpu, p->body[3], (uint32_t)value);
}

static uint32_t dma_data_piece(uint8_t *piece, struct packet *p, uint64_t offset, uint32_t left)
{
	uint64_t from = address(p->body + 1) + offset, to = address(p->body + 3) + offset;
	uint32_t len = PAGE_SIZE - (uint32_t)(to & PAGE_MASK), i;

	if (len > left)
		len = left;
	if (((p->body[0] >> 29) & 3) == 2) {
		for (i = 0; i < len; i++)
			piece[i] = (uint8_t)(p->body[1] >> 8 * ((offset + i) & 3));
	} else {
		load(p, from, piece, len);
	}
	store(p, to, piece, len);
	return len;
}

/* Copies memory, or fills it with a word. */
static void do_dma_data(struct packet *p)
{
	uint32_t left = p->body[5] & 0x3ffffff, done;
	uint8_t piece[PAGE_SIZE];
	uint64_t offset = 0;

	while (left && !p->c->engine->stop) {
		done = dma_data_piece(piece, p, offset, left);
		offset += done;
		left -= done;
	}
}

static void do_atomic_mem(struct packet *p)
{
	uint32_t dw[7];

	memcpy(dw, p->body + 1, sizeof(dw));
	if (!atomic_packet(p->c, p->body[0] & 0x7f, dw, (p->body[0] >> 8) & 0xf))
		count(&p->gpu->unknown, "PM4 ATOMIC_MEM 0x%x", p->body[0] & 0x7f);
}

/* Skips what follows when the word is zero. */
static void do_cond_exec(struct packet *p)
{
	uint64_t bytes = (p->body[3] & 0x3fff) * 4ull, left = p->c->end - p->c->pos;
	uint32_t value;

	load(p, address(p->body), &value, 4);
	if (!value)
		p->c->pos += bytes < left ? bytes : left;
}

static void do_indirect_buffer(struct packet *p)
{
	struct cursor ib = {
		.engine = p->c->engine, .hub = p->c->hub,
		.vmid = (p->body[2] >> 24) & 0xf,
		.base = address(p->body) & ~3ull,
		.end = (uint64_t)(p->body[2] & 0xfffff) * 4,
		.depth = p->c->depth + 1,
	};

	if (ib.depth > DEPTH_MAX) {
		count(&p->gpu->unknown, "PM4: indirect buffers too deep");
		return;
	}
	while (ib.pos < ib.end && !ib.engine->stop)
		pm4_packet(&ib, p->queue);
}

static void do_release_mem(struct packet *p)
{
	unsigned int data = (p->body[1] >> 29) & 7, interrupt = (p->body[1] >> 24) & 7;
	struct irq irq = {
		.client = SOC15_IH_CLIENTID_GRBM_CP, .source = GFX_9_0__SRCID__CP_EOP_INTERRUPT,
		.node = 1,
		.ring = (uint8_t)(p->queue->pipe | p->queue->me << 2 | p->queue->queue << 4),
		.vmid = (uint8_t)p->c->vmid,
	};
	uint64_t value = address(p->body + 4);

	if (data == 3)
		value = clock_us() * 100;
	if (data)
		store(p, address(p->body + 2), &value, data == 1 ? 4 : 8);
	if (interrupt)
		ih_raise(p->gpu, &irq);
}

static void do_invalidate_tlbs(struct packet *p)
{
	bool all = p->body[0] & PACKET3_INVALIDATE_TLBS_ALL_HUB(1);
	uint32_t pasid = (p->body[0] >> 5) & 0xffff, delay_ms = p->gpu->pod->flush_delay_ms;
	unsigned int i;

	if (delay_ms && !engine_pause(p->c->engine, delay_ms * 1000ull))
		return;
	for (i = 0; i < HUBS; i++)
		if (all || i == HUB_GC)
			hub_flush(&p->gpu->hub[i], hub_pasid_vmids(&p->gpu->hub[i], pasid));
}

static void do_map_queues(struct packet *p)
{
	cp_map_queue(p->gpu, p->body);
}

static void do_unmap_queues(struct packet *p)
{
	uint64_t fence = p->body[4];

	cp_unmap_queue(p->gpu, (p->body[1] >> 2) & 0x3ffffff);
	if ((p->body[0] & 3) == 3)	/* preempt, but do not unmap */
		store(p, address(p->body + 2), &fence, 4);
}

static void do_query_status(struct packet *p)
{
	uint64_t fence = address(p->body + 4);

	store(p, address(p->body + 2), &fence, 8);
}

static const struct {
	const char *name;
	unsigned int op, least;		/* dwords of body */
	void (*run)(struct packet *packet);
} packets[] = {
	{ "NOP", PACKET3_NOP, 0, do_nothing },
	{ "CLEAR_STATE", PACKET3_CLEAR_STATE, 0, do_nothing },
	{ "CONTEXT_CONTROL", PACKET3_CONTEXT_CONTROL, 0, do_nothing },
	{ "EVENT_WRITE", PACKET3_EVENT_WRITE, 0, do_nothing },
	{ "ACQUIRE_MEM", PACKET3_ACQUIRE_MEM, 0, do_nothing },
	{ "SET_RESOURCES", PACKET3_SET_RESOURCES, 0, do_nothing },
	{ "SET_UCONFIG_REG", PACKET3_SET_UCONFIG_REG, 2, do_set_uconfig },
	{ "SET_SH_REG", PACKET3_SET_SH_REG, 2, do_set_sh },
	{ "SET_CONFIG_REG", PACKET3_SET_CONFIG_REG, 2, do_set_config },
	{ "WRITE_DATA", PACKET3_WRITE_DATA, 4, do_write_data },
	{ "WAIT_REG_MEM", PACKET3_WAIT_REG_MEM, 6, do_wait_reg_mem },
	{ "COPY_DATA", PACKET3_COPY_DATA, 5, do_copy_data },
	{ "DMA_DATA", PACKET3_DMA_DATA, 6, do_dma_data },
	{ "ATOMIC_MEM", PACKET3_ATOMIC_MEM, 8, do_atomic_mem },
	{ "COND_EXEC", PACKET3_COND_EXEC, 4, do_cond_exec },
	{ "INDIRECT_BUFFER", PACKET3_INDIRECT_BUFFER, 3, do_indirect_buffer },
	{ "RELEASE_MEM", PACKET3_RELEASE_MEM, 6, do_release_mem },
	{ "INVALIDATE_TLBS", PACKET3_INVALIDATE_TLBS, 1, do_invalidate_tlbs },
	{ "MAP_QUEUES", PACKET3_MAP_QUEUES, 6, do_map_queues },
	{ "UNMAP_QUEUES", PACKET3_UNMAP_QUEUES, 5, do_unmap_queues },
	{ "QUERY_STATUS", PACKET3_QUERY_STATUS, 6, do_query_status },
};

static bool packet_run(struct packet *p, unsigned int op)
{
	const char *kind = p->queue->kiq ? "KIQ" : "CP";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(packets); i++) {
		if (packets[i].op != op)
			continue;
		count(&p->gpu->stats, "%s %s", kind, packets[i].name);
		if (p->size < packets[i].least)
			count(&p->gpu->unknown, "%s %s: cut off", kind, packets[i].name);
		else
			packets[i].run(p);
		return true;
	}
	count(&p->gpu->unknown, "%s packet 0x%x", kind, op);
	return true;
}

/* Does one packet. Return: false after one that is cut off or malformed: the buffer ends there. */
bool pm4_packet(struct cursor *cursor, struct cp_queue *queue)
{
	struct packet p = { .c = cursor, .queue = queue, .gpu = cursor->engine->gpu };
	uint32_t header, *body;
	bool done;

	if (!cursor_take(cursor, &header, 1))
		return false;
	if (header >> 30 == PACKET_TYPE2)
		return true;
	if (header >> 30 != PACKET_TYPE3) {
		count(&p.gpu->unknown, "PM4: packet of type %u", header >> 30);
		cursor->pos = cursor->end;
		return false;
	}
	/* the largest count stands for a NOP without a body */
	if (((header >> 8) & 0xff) == PACKET3_NOP && ((header >> 16) & 0x3fff) == 0x3fff)
		return true;
	p.size = ((header >> 16) & 0x3fff) + 1;
	body = malloc(p.size * 4);
	p.body = body;
	done = body && cursor_take(cursor, body, p.size);
	if (done)
		done = packet_run(&p, (header >> 8) & 0xff);
	else
		count(&p.gpu->unknown, "PM4: a packet is cut off");
	free(body);
	return done;
}
