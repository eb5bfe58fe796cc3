// SPDX-License-Identifier: MIT
/*
 * The UALink block: registers, commands and interrupts of version 1 of the host interface that
 * Documentation/gpu/amdgpu/ualink-hostif.rst specifies.
 */
#include <string.h>

#include "emu.h"
#include "regs_gen.h"

#define BLOCK_ID	0x4b4c4155
#define BLOCK_VERSION	(1u << 16)
#define CLIENT_UALINK	0x1a	/* SOC15_IH_CLIENTID_RESERVED of the kernel's header */

enum {
	REG_ID = 0x00, REG_VERSION, REG_CAPS, REG_STATUS, REG_CNTL, REG_ACCEL_ID, REG_GENERATION,
	REG_VPOD = 0x08, REG_VPOD_LAST = 0x0b,
	REG_RING_BASE_LO = 0x10, REG_RING_BASE_HI, REG_TX_DOORBELL, REG_RX_DOORBELL,
	REG_NPA_ROOT_LO = 0x18, REG_NPA_ROOT_HI,
	REG_ARG0_LO = 0x20, REG_ARG0_HI, REG_ARG1_LO, REG_ARG1_HI, REG_CMD, REG_CMD_STATUS,
	REG_MEMBERS = 0x40, REG_MEMBERS_LAST = 0x5f,
	REG_ROUTES = 0x60, REG_ROUTES_LAST = 0x7f,
	REG_COUNTER = 0x100, REG_COUNTER_LAST = 0x11f,
	REG_COUNT,
};

enum { STATUS_PROVISIONED = 1, STATUS_ENABLED = 2, STATUS_ERROR = 4 };
enum { CMD_INVALIDATE = 1, CMD_GATE_OPEN, CMD_GATE_CLOSE, CMD_DRAIN };
enum { RESULT_DONE, RESULT_BAD, RESULT_FAILED };

/* ---- what the management gives ---- */

static bool same_vpod(struct gpu *gpu, struct gpu *other)
{
	static const uint8_t none[16];
	uint8_t own[16];
	bool same;

	pthread_mutex_lock(&gpu->management);
	memcpy(own, gpu->vpod, sizeof(own));
	pthread_mutex_unlock(&gpu->management);
	if (!memcmp(own, none, sizeof(own)))
		return false;
	pthread_mutex_lock(&other->management);
	same = other->provisioned && !memcmp(own, other->vpod, sizeof(own));
	pthread_mutex_unlock(&other->management);
	return same;
}

/* One word of MEMBERS or ROUTES */
static uint32_t id_word(struct gpu *gpu, uint32_t word, bool members)
{
	struct pod *pod = gpu->pod;
	uint32_t bits = 0;
	unsigned int i;

	for (i = 0; i < pod->gpus; i++) {
		struct gpu *other = &pod->gpu[i];

		if (other->id / 32 == word &&
		    (members ? same_vpod(gpu, other) : fabric_reaches(gpu, other)))
			bits |= 1u << (other->id & 31);
	}
	return bits;
}

static uint32_t vpod_word(struct gpu *gpu, uint32_t word)
{
	uint32_t value;

	pthread_mutex_lock(&gpu->management);
	memcpy(&value, gpu->vpod + word * 4, sizeof(value));
	pthread_mutex_unlock(&gpu->management);
	return value;
}

/* Something that the management gives has changed. */
void ualink_managed(struct gpu *gpu)
{
	uint32_t generation = ++gpu->ualink.generation;

	ualink_irq(gpu, IRQ_MANAGED, generation, 0);
}

/* Raises an interrupt of the block. */
void ualink_irq(struct gpu *gpu, unsigned int source, uint32_t data0, uint32_t data1)
{
	struct irq irq = {
		.client = CLIENT_UALINK, .source = (uint8_t)source, .data = { data0, data1 },
	};

	if (gpu->pod->ualink)
		ih_raise(gpu, &irq);
}

/* Whether the control socket wants this to go wrong */
static bool fails(struct gpu *gpu, enum fail_kind kind)
{
	uint32_t left = gpu->fail[kind];

	while (left)
		if (atomic_compare_exchange_weak(&gpu->fail[kind], &left, left - 1))
			return true;
	return false;
}

/* ---- registers ---- */

static uint64_t counter(struct gpu *gpu, unsigned int index)
{
	uint64_t used = 0, unflushed = 0;
	unsigned int i;

	switch (index) {
	case 0:
		return gpu->link.served;
	case 1:
		return gpu->link.refused;
	case 2:
		return gpu->link.out;
	case 3:
		return gpu->ualink.taken;
	case 4:
		return gpu->ualink.given;
	case 5:
		return gpu->link.invalidates;
	case 6:
		return gpu->link.tlb.walks;
	case 7:
	case 8:
		tlb_stale(&gpu->link.tlb, &used, &unflushed);
		for (i = 0; i < HUBS; i++)
			tlb_stale(&gpu->hub[i].tlb, &used, &unflushed);
		return index == 7 ? unflushed : used;
	default:
		return 0;
	}
}

static uint32_t status(struct gpu *gpu)
{
	uint32_t value = 0;

	pthread_mutex_lock(&gpu->management);
	if (gpu->provisioned)
		value |= STATUS_PROVISIONED;
	pthread_mutex_unlock(&gpu->management);
	if (gpu->ualink.enabled)
		value |= STATUS_ENABLED;
	if (gpu->ualink.error)
		value |= STATUS_ERROR;
	return value;
}

static uint32_t block_read(struct gpu *gpu, uint32_t reg)
{
	struct pod *pod = gpu->pod;
	uint32_t offset = reg - R_UALINK;

	if (offset >= REG_VPOD && offset <= REG_VPOD_LAST)
		return vpod_word(gpu, offset - REG_VPOD);
	if (offset >= REG_MEMBERS && offset <= REG_MEMBERS_LAST)
		return id_word(gpu, offset - REG_MEMBERS, true);
	if (offset >= REG_ROUTES && offset <= REG_ROUTES_LAST)
		return id_word(gpu, offset - REG_ROUTES, false);
	if (offset >= REG_COUNTER && offset <= REG_COUNTER_LAST)
		return (uint32_t)(counter(gpu, (offset - REG_COUNTER) / 2) >> 32 * (offset & 1));
	switch (offset) {
	case REG_ID:
		return BLOCK_ID;
	case REG_VERSION:
		return BLOCK_VERSION;
	case REG_CAPS:
		return pod->segment_shift | pod->ring_shift << 8 | pod->ids << 16;
	case REG_STATUS:
		return status(gpu);
	case REG_ACCEL_ID:
		return gpu->id;
	case REG_GENERATION:
		return gpu->ualink.generation;
	case REG_CMD_STATUS:
		return gpu->ualink.cmd_status;
	case REG_CNTL:
	case REG_RING_BASE_LO:
	case REG_RING_BASE_HI:
	case REG_NPA_ROOT_LO:
	case REG_NPA_ROOT_HI:
	case REG_ARG0_LO:
	case REG_ARG0_HI:
	case REG_ARG1_LO:
	case REG_ARG1_HI:
		return reg_get(gpu, reg);
	default:
		return 0;
	}
}

static void command_write(struct gpu *gpu, uint32_t value)
{
	if (atomic_exchange(&gpu->ualink.busy, true))
		count(&gpu->unknown, "UALink: a command while one is under way");
	gpu->ualink.cmd = value;
	engine_kick(&gpu->ualink.commander);
}

/* A block that got stuck in a command works again. */
static void command_forget(struct gpu *gpu)
{
	if (!atomic_exchange(&gpu->ualink.hung, false))
		return;
	gpu->fail[HANG_COMMAND] = 0;
	gpu->ualink.busy = false;
}

static void cntl_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	struct ualink *ualink = &gpu->ualink;

	if (!value) {
		ualink->dead = false;
	} else if (!ualink->cntl) {
		command_forget(gpu);
		ualink->dead = fails(gpu, HANG_ENABLE);
	}
	reg_set(gpu, reg, value);
	ualink->cntl = value;
	engine_kick(&ualink->sender);
}

static void block_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	switch (reg - R_UALINK) {
	case REG_CNTL:
		cntl_write(gpu, reg, value & 1);
		break;
	case REG_TX_DOORBELL:
		msg_tx_doorbell(gpu, value);
		break;
	case REG_RX_DOORBELL:
		msg_rx_doorbell(gpu, value);
		break;
	case REG_CMD:
		command_write(gpu, value);
		break;
	case REG_NPA_ROOT_LO:
	case REG_NPA_ROOT_HI:
		reg_set(gpu, reg, value);
		gpu->link.root = reg_get64(gpu, R_UALINK + REG_NPA_ROOT_LO,
					   R_UALINK + REG_NPA_ROOT_HI);
		if (gpu->link.root & PAGE_MASK & ~PTE_VALID)
			count(&gpu->unknown, "UALink: NPA_ROOT is not aligned");
		break;
	case REG_RING_BASE_LO:
	case REG_RING_BASE_HI:
		if (gpu->ualink.enabled)
			count(&gpu->unknown, "UALink: RING_BASE while enabled");
		reg_set(gpu, reg, value);
		gpu->ualink.ring_base = reg_get64(gpu, R_UALINK + REG_RING_BASE_LO,
						  R_UALINK + REG_RING_BASE_HI);
		break;
	case REG_ARG0_LO:
	case REG_ARG0_HI:
	case REG_ARG1_LO:
	case REG_ARG1_HI:
		reg_set(gpu, reg, value);
		break;
	default:
		count(&gpu->unknown, "UALink: write to register 0x%x", reg - R_UALINK);
	}
}

const struct reg_hook ualink_hooks[] = {
	{ R_UALINK, REG_COUNT, block_read, block_write },
};
const size_t ualink_hooks_count = ARRAY_SIZE(ualink_hooks);

/* ---- commands ---- */

static uint32_t invalidate(struct engine *engine, uint64_t offset, uint64_t size)
{
	struct gpu *gpu = engine->gpu;
	uint32_t delay_ms = gpu->pod->flush_delay_ms;

	if (delay_ms && !engine_pause(engine, delay_ms * 1000ull))
		return RESULT_FAILED;
	if (fails(gpu, FAIL_FLUSH))
		return RESULT_FAILED;
	link_invalidate(gpu, offset, size);
	return RESULT_DONE;
}

static void settle_accesses(struct gpu *gpu)
{
	unsigned int i;

	for (i = 0; i < HUBS; i++)
		hub_settle(&gpu->hub[i]);
}

static uint32_t gate_open(struct gpu *gpu, uint64_t id)
{
	struct gpu *source;

	if (id >= gpu->pod->ids)
		return RESULT_BAD;
	if (!gpu->ualink.enabled || fails(gpu, FAIL_GATE))
		return RESULT_FAILED;
	source = pod_by_id(gpu->pod, (uint32_t)id);
	if (source)
		settle_accesses(source);
	gpu->link.gate[id] = true;
	return RESULT_DONE;
}

static uint32_t gate_close(struct gpu *gpu, uint64_t id)
{
	if (id >= gpu->pod->ids)
		return RESULT_BAD;
	if (fails(gpu, FAIL_FLUSH))
		return RESULT_FAILED;
	gpu->link.gate[id] = false;
	link_settle(gpu);
	return RESULT_DONE;
}

static uint32_t drain(struct gpu *gpu)
{
	if (fails(gpu, FAIL_DRAIN))
		return RESULT_FAILED;
	settle_accesses(gpu);
	return RESULT_DONE;
}

static uint32_t command(struct engine *engine, unsigned int opcode)
{
	struct gpu *gpu = engine->gpu;
	uint64_t arg0 = reg_get64(gpu, R_UALINK + REG_ARG0_LO, R_UALINK + REG_ARG0_HI);
	uint64_t arg1 = reg_get64(gpu, R_UALINK + REG_ARG1_LO, R_UALINK + REG_ARG1_HI);

	switch (opcode) {
	case CMD_INVALIDATE:
		return invalidate(engine, arg0, arg1);
	case CMD_GATE_OPEN:
		return gate_open(gpu, arg0);
	case CMD_GATE_CLOSE:
		return gate_close(gpu, arg0);
	case CMD_DRAIN:
		return drain(gpu);
	default:
		return RESULT_BAD;
	}
}

static void commander_run(struct engine *engine)
{
	static const char * const names[] = {
		"?", "INVALIDATE", "GATE_OPEN", "GATE_CLOSE", "DRAIN"
	};
	struct ualink *ualink = &engine->gpu->ualink;
	uint32_t cmd = ualink->cmd, result;
	unsigned int opcode = cmd & 0xff;

	count(&engine->gpu->stats, "command %s", names[opcode < ARRAY_SIZE(names) ? opcode : 0]);
	if (fails(engine->gpu, HANG_COMMAND)) {
		ualink->hung = true;
		count(&engine->gpu->stats, "command without answer");
		return;
	}
	result = command(engine, opcode);
	if (engine->stop)
		return;
	ualink->busy = false;
	ualink->cmd_status = (cmd & 0xffff0000) | result;
}

/* ---- as a whole ---- */

/* The engines have been stopped. What the management gave stays, and so do counters. */
void ualink_reset(struct gpu *gpu)
{
	struct ualink *ualink = &gpu->ualink;

	/* others may have kicked the sender since, and may do so again */
	ualink->cntl = 0;
	engine_stop(&ualink->sender);
	msg_stop(gpu);
	ualink->error = false;
	ualink->ring_base = 0;
	ualink->cmd = 0;
	ualink->cmd_status = 0;
	ualink->busy = false;
	ualink->dead = false;
	command_forget(gpu);
}

void ualink_init(struct gpu *gpu)
{
	pthread_mutex_init(&gpu->ualink.rx_lock, NULL);
	engine_init(&gpu->ualink.commander, gpu, "UALink commands", 41, true, commander_run);
	engine_init(&gpu->ualink.sender, gpu, "UALink messages", 42, true, msg_sender_run);
}
