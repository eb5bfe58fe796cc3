// SPDX-License-Identifier: MIT
/*
 * The register file. Most of amdgpu's registers are memory as far as it can tell; those that are
 * more have hooks. A read of a register that was never written is counted by its name: the
 * values that the driver needs are set below, by name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu.h"
#include "regs_gen.h"

static const struct {
	uint32_t reg;
	const char *name;
} names[] = {
#include "regnames_gen.h"
};

const char *reg_name(uint32_t reg)
{
	static _Thread_local char text[24];
	size_t low = 0, high = ARRAY_SIZE(names), middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (names[middle].reg == reg)
			return names[middle].name;
		if (names[middle].reg < reg)
			low = middle + 1;
		else
			high = middle;
	}
	snprintf(text, sizeof(text), "0x%x", reg);
	return text;
}

/* ---- registers as memory ---- */

/* Those beyond BAR 5. Called with the lock held. */
static struct smn_reg *smn_find(struct regs *regs, uint32_t index)
{
	uint32_t slot = (index * 2654435761u) % SMN_SLOTS;
	unsigned int tries;

	for (tries = 0; tries < SMN_SLOTS; tries++, slot = (slot + 1) % SMN_SLOTS) {
		struct smn_reg *reg = &regs->smn[slot];

		if (!reg->used) {
			reg->used = true;
			reg->index = index;
		}
		if (reg->index == index)
			return reg;
	}
	fprintf(stderr, "SMN_SLOTS is too small\n");
	abort();
}

static uint32_t smn_get(struct gpu *gpu, uint32_t index, bool counted)
{
	struct smn_reg *reg;
	uint32_t value;

	pthread_mutex_lock(&gpu->regs.lock);
	reg = smn_find(&gpu->regs, index);
	reg->unknown += counted && !reg->written;
	value = reg->value;
	pthread_mutex_unlock(&gpu->regs.lock);
	return value;
}

static void smn_set(struct gpu *gpu, uint32_t index, uint32_t value)
{
	struct smn_reg *reg;

	pthread_mutex_lock(&gpu->regs.lock);
	reg = smn_find(&gpu->regs, index);
	if (!reg->written)
		reg->unknown = 0;
	reg->written = true;
	reg->value = value;
	pthread_mutex_unlock(&gpu->regs.lock);
}

uint32_t reg_get(struct gpu *gpu, uint32_t reg)
{
	return reg < MMIO_DWORDS ? gpu->regs.bar[reg] : smn_get(gpu, reg, false);
}

uint64_t reg_get64(struct gpu *gpu, uint32_t lo, uint32_t hi)
{
	return reg_get(gpu, lo) | (uint64_t)reg_get(gpu, hi) << 32;
}

void reg_set(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	if (reg >= MMIO_DWORDS) {
		smn_set(gpu, reg, value);
		return;
	}
	gpu->regs.bar[reg] = value;
	/* reading before writing is how single bits are changed */
	if (!gpu->regs.written[reg])
		gpu->regs.unknown[reg] = 0;
	gpu->regs.written[reg] = 1;
}

/* ---- windows: VRAM by MM_INDEX, what is beyond BAR 5 by PCIE_INDEX2 ---- */

static uint64_t mm_offset(struct gpu *gpu)
{
	return (uint64_t)gpu->regs.mm_index_hi << 31 | (gpu->regs.mm_index & 0x7fffffff);
}

static uint32_t mm_data_read(struct gpu *gpu, uint32_t reg)
{
	uint32_t value = 0;

	(void)reg;
	if (!(gpu->regs.mm_index & 0x80000000))
		return reg_read(gpu, gpu->regs.mm_index >> 2);
	vram_read(gpu, mm_offset(gpu), &value, sizeof(value));
	return value;
}

static void mm_data_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	(void)reg;
	if (gpu->regs.mm_index & 0x80000000)
		vram_write(gpu, mm_offset(gpu), &value, sizeof(value));
	else if (gpu->regs.mm_index >> 2 != R_MM_DATA)
		reg_write(gpu, gpu->regs.mm_index >> 2, value);
}

static void mm_index_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	if (reg == R_MM_INDEX)
		gpu->regs.mm_index = value;
	else
		gpu->regs.mm_index_hi = value;
	reg_set(gpu, reg, value);
}

static uint32_t smn_data_read(struct gpu *gpu, uint32_t reg)
{
	(void)reg;
	return smn_get(gpu, gpu->regs.smn_index >> 2, true);
}

static void smn_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	if (reg == R_NBIO_BIF_BX0_PCIE_INDEX2)
		gpu->regs.smn_index = value;
	else
		smn_set(gpu, gpu->regs.smn_index >> 2, value);
	reg_set(gpu, reg, value);
}

/* ---- small things of several blocks ---- */

static uint32_t all_ones_read(struct gpu *gpu, uint32_t reg)
{
	(void)gpu;
	(void)reg;
	return UINT32_MAX;
}

/* 100 MHz, as the driver has it from the clock of the reference crystal */
static uint32_t clock_read(struct gpu *gpu, uint32_t reg)
{
	uint64_t now = clock_us() * 100;

	(void)gpu;
	return reg == R_GC_RLC_GPU_CLOCK_COUNT_LSB ? (uint32_t)now : (uint32_t)(now >> 32);
}

/* The RLC takes the command at once. */
static void safe_mode_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	reg_set(gpu, reg, value & ~M_GC_RLC_SAFE_MODE__CMD);
}

static const struct reg_hook own_hooks[] = {
	{ R_MM_DATA, 1, mm_data_read, mm_data_write },
	{ R_MM_INDEX, 1, NULL, mm_index_write },
	{ R_MM_INDEX_HI, 1, NULL, mm_index_write },
	{ R_NBIO_BIF_BX0_PCIE_INDEX2, 1, NULL, smn_write },
	{ R_NBIO_BIF_BX0_PCIE_DATA2, 1, smn_data_read, smn_write },
	{ R_NBIO_BIF_BX_PF0_GPU_HDP_FLUSH_DONE, 1, all_ones_read, NULL },
	{ R_GC_RLC_GPU_CLOCK_COUNT_LSB, 2, clock_read, NULL },
	{ R_GC_RLC_SAFE_MODE, 1, NULL, safe_mode_write },
};

static const struct reg_hook *find_in(const struct reg_hook *hooks, size_t count, uint32_t reg)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (reg - hooks[i].first < hooks[i].count)
			return &hooks[i];
	return NULL;
}

static const struct reg_hook *hook_find(struct gpu *gpu, uint32_t reg)
{
	const struct reg_hook *hook = find_in(own_hooks, ARRAY_SIZE(own_hooks), reg);

	if (!hook)
		hook = find_in(hub_hooks, hub_hooks_count, reg);
	if (!hook)
		hook = find_in(ih_hooks, ih_hooks_count, reg);
	if (!hook)
		hook = find_in(sdma_hooks, sdma_hooks_count, reg);
	if (!hook)
		hook = find_in(cp_hooks, cp_hooks_count, reg);
	if (!hook && gpu->pod->ualink)
		hook = find_in(ualink_hooks, ualink_hooks_count, reg);
	return hook;
}

uint32_t reg_read(struct gpu *gpu, uint32_t reg)
{
	const struct reg_hook *hook = hook_find(gpu, reg);

	if (hook && hook->read)
		return hook->read(gpu, reg);
	if (reg >= MMIO_DWORDS)
		return smn_get(gpu, reg, true);
	if (!gpu->regs.written[reg])
		gpu->regs.unknown[reg]++;
	return gpu->regs.bar[reg];
}

void reg_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	const struct reg_hook *hook = hook_find(gpu, reg);

	if (hdp_is_flush(gpu, reg))
		hdp_flush(gpu);
	if (hook && hook->write)
		hook->write(gpu, reg, value);
	else
		reg_set(gpu, reg, value);
}

/* ---- power-on values: what the driver must find ---- */

/* Read by the driver though it writes nothing there, or only later; zero is a good answer. */
static const uint32_t zeros[] = {
	R_NBIO_BIF_BX0_BIOS_SCRATCH_4, R_NBIO_BIF_BX0_BACO_CNTL,
	R_NBIO_BIF_BX_PF0_PARTITION_MEM_CAP, R_OSSSYS_IH_CLK_CTRL,
	R_GC_CC_GC_SHADER_ARRAY_CONFIG, R_GC_GC_USER_SHADER_ARRAY_CONFIG, R_GC_DB_DEBUG2,
	R_GC_MC_VM_XGMI_LFB_CNTL, R_GC_MC_VM_XGMI_LFB_SIZE, R_GC_CP_MEM_SLP_CNTL,
	R_GC_RLC_MEM_SLP_CNTL, R_GC_RLC_CGTT_MGCG_OVERRIDE, R_GC_RLC_SERDES_CU_MASTER_BUSY,
	R_GC_RLC_SERDES_NONCU_MASTER_BUSY, R_SMUIO_SMUIO_MCM_CONFIG,
};

static void regs_constants(struct gpu *gpu)
{
	uint32_t mib = (uint32_t)(gpu->pod->vram_size >> 20);
	uint64_t fb = 0x8000000000ull, top = fb + gpu->pod->vram_size - 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(zeros); i++)
		reg_set(gpu, zeros[i], 0);

	reg_set(gpu, R_MP0_SMN_C2PMSG_33, 0x80000000);
	reg_set(gpu, R_RCC_CONFIG_MEMSIZE, mib);
	/* no virtual function */
	reg_set(gpu, R_NBIO_RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER, 0);
	reg_set(gpu, R_IP_DISCOVERY_VERSION, 0);
	reg_set(gpu, R_MP0_MP0_SMN_C2PMSG_81, 0);			/* no firmware runs yet */
	reg_set(gpu, R_GC_MC_VM_FB_LOCATION_BASE, (uint32_t)(fb >> 24));
	reg_set(gpu, R_GC_MC_VM_FB_LOCATION_TOP, (uint32_t)(top >> 24));
	reg_set(gpu, R_GC_MC_VM_FB_OFFSET, 0);
	reg_set(gpu, R_MMHUB_MC_VM_FB_LOCATION_BASE, (uint32_t)(fb >> 24));
	reg_set(gpu, R_MMHUB_MC_VM_FB_LOCATION_TOP, (uint32_t)(top >> 24));
	reg_set(gpu, R_MMHUB_MC_VM_FB_OFFSET, 0);
	reg_set(gpu, R_NBIO_BIF_BX_PF0_PARTITION_MEM_STATUS, 1 << 4);	/* NPS1 */
	/* revision 1: the driver refuses the first one */
	reg_set(gpu, R_NBIO_RCC_STRAP0_RCC_DEV0_EPF0_STRAP0, 1 << 24);
}

void regs_reset(struct gpu *gpu)
{
	struct regs *regs = &gpu->regs;
	unsigned int i;

	for (i = 0; i < MMIO_DWORDS; i++) {
		regs->bar[i] = 0;
		regs->written[i] = 0;
	}
	pthread_mutex_lock(&regs->lock);
	for (i = 0; i < SMN_SLOTS; i++) {
		regs->smn[i].value = 0;
		regs->smn[i].written = false;
	}
	pthread_mutex_unlock(&regs->lock);
	regs_constants(gpu);
}

void regs_init(struct gpu *gpu)
{
	pthread_mutex_init(&gpu->regs.lock, NULL);
	regs_reset(gpu);
}

void regs_unknown(struct gpu *gpu, char *text, size_t size)
{
	struct regs *regs = &gpu->regs;
	unsigned int i;

	for (i = 0; i < MMIO_DWORDS; i++)
		if (regs->unknown[i])
			print(text, size, "%8u %s\n", regs->unknown[i], reg_name(i));
	pthread_mutex_lock(&regs->lock);
	for (i = 0; i < SMN_SLOTS; i++)
		if (regs->smn[i].unknown)
			print(text, size, "%8u %s\n", regs->smn[i].unknown,
			      reg_name(regs->smn[i].index));
	pthread_mutex_unlock(&regs->lock);
}
