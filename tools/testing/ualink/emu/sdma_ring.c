// SPDX-License-Identifier: MIT
/* The SDMA engine: its ring, doorbell and registers. */
#include "emu.h"
#include "regs_gen.h"

static bool sdma_enabled(struct gpu *gpu)
{
	return reg_get(gpu, R_SDMA0_SDMA_GFX_RB_CNTL) & M_SDMA0_SDMA_GFX_RB_CNTL__RB_ENABLE &&
	       !(reg_get(gpu, R_SDMA0_SDMA_F32_CNTL) & M_SDMA0_SDMA_F32_CNTL__HALT);
}

static void sdma_publish(struct gpu *gpu)
{
	uint64_t addr = reg_get64(gpu, R_SDMA0_SDMA_GFX_RB_RPTR_ADDR_LO,
				  R_SDMA0_SDMA_GFX_RB_RPTR_ADDR_HI);
	uint64_t rptr = gpu->sdma.rptr;

	reg_set(gpu, R_SDMA0_SDMA_GFX_RB_RPTR, (uint32_t)rptr);
	reg_set(gpu, R_SDMA0_SDMA_GFX_RB_RPTR_HI, (uint32_t)(rptr >> 32));
	if (reg_get(gpu, R_SDMA0_SDMA_GFX_RB_CNTL) &
	    M_SDMA0_SDMA_GFX_RB_CNTL__RPTR_WRITEBACK_ENABLE)
		hub_write(&gpu->hub[HUB_MM], 0, addr & ~3ull, &rptr, sizeof(rptr));
}

static void sdma_run(struct engine *engine)
{
	struct gpu *gpu = engine->gpu;
	struct sdma *sdma = &gpu->sdma;
	uint32_t cntl = reg_get(gpu, R_SDMA0_SDMA_GFX_RB_CNTL);
	struct cursor cursor = {
		.engine = engine,
		.hub = &gpu->hub[HUB_MM],
		.base = (uint64_t)reg_get(gpu, R_SDMA0_SDMA_GFX_RB_BASE) << 8 |
			(uint64_t)reg_get(gpu, R_SDMA0_SDMA_GFX_RB_BASE_HI) << 40,
		.size = 4ull << FIELD(cntl, M_SDMA0_SDMA_GFX_RB_CNTL__RB_SIZE),
		.pos = sdma->rptr,
	};

	while (sdma_enabled(gpu) && !engine->stop) {
		cursor.end = sdma->wptr;
		if (cursor.pos == cursor.end)
			break;
		if (cursor.end - cursor.pos > cursor.size) {
			count(&gpu->unknown, "SDMA: write pointer beyond the ring");
			cursor.pos = cursor.end;
		} else {
			sdma_packet(&cursor);
		}
		/* what was interrupted is not done; whoever interrupts sets the pointers anew */
		if (engine->stop)
			break;
		sdma->rptr = cursor.pos;
		sdma_publish(gpu);
	}
}

bool sdma_doorbell(struct gpu *gpu, uint32_t index, uint64_t value)
{
	uint32_t offset = reg_get(gpu, R_SDMA0_SDMA_GFX_DOORBELL_OFFSET);

	if (!(reg_get(gpu, R_SDMA0_SDMA_GFX_DOORBELL) & M_SDMA0_SDMA_GFX_DOORBELL__ENABLE) ||
	    index != FIELD(offset, M_SDMA0_SDMA_GFX_DOORBELL_OFFSET__OFFSET))
		return false;
	gpu->sdma.wptr = value;
	engine_kick(&gpu->sdma.engine);
	return true;
}

/* Disabling or halting ends even a poll that would never come true. */
static void enable_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	reg_set(gpu, reg, value);
	if (sdma_enabled(gpu))
		engine_kick(&gpu->sdma.engine);
	else
		engine_interrupt(&gpu->sdma.engine);
}

static void pointer_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	struct sdma *sdma = &gpu->sdma;

	reg_set(gpu, reg, value);
	sdma->rptr = reg_get64(gpu, R_SDMA0_SDMA_GFX_RB_RPTR, R_SDMA0_SDMA_GFX_RB_RPTR_HI);
	if (reg == R_SDMA0_SDMA_GFX_RB_WPTR || reg == R_SDMA0_SDMA_GFX_RB_WPTR_HI)
		sdma->wptr = reg_get64(gpu, R_SDMA0_SDMA_GFX_RB_WPTR, R_SDMA0_SDMA_GFX_RB_WPTR_HI);
}

const struct reg_hook sdma_hooks[] = {
	{ R_SDMA0_SDMA_GFX_RB_CNTL, 1, NULL, enable_write },
	{ R_SDMA0_SDMA_F32_CNTL, 1, NULL, enable_write },
	{ R_SDMA0_SDMA_GFX_RB_RPTR, 1, NULL, pointer_write },
	{ R_SDMA0_SDMA_GFX_RB_RPTR_HI, 1, NULL, pointer_write },
	{ R_SDMA0_SDMA_GFX_RB_WPTR, 1, NULL, pointer_write },
	{ R_SDMA0_SDMA_GFX_RB_WPTR_HI, 1, NULL, pointer_write },
};
const size_t sdma_hooks_count = ARRAY_SIZE(sdma_hooks);

/* The engine has been stopped. */
void sdma_reset(struct gpu *gpu)
{
	gpu->sdma.rptr = 0;
	gpu->sdma.wptr = 0;
}

void sdma_init(struct gpu *gpu)
{
	engine_init(&gpu->sdma.engine, gpu, "SDMA", 0, true, sdma_run);
}
