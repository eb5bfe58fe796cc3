// SPDX-License-Identifier: MIT
/* One accelerator as a whole: how it comes up, is reset, and loses power. */
#include "emu.h"

bool gpu_doorbell(struct gpu *gpu, uint64_t offset, uint64_t value)
{
	uint32_t index = (uint32_t)(offset >> 2);

	if (sdma_doorbell(gpu, index, value) || cp_doorbell(gpu, index, value) ||
	    ih_doorbell(gpu, index, value))
		return true;
	count(&gpu->stats, "doorbell of nobody");
	return false;
}

static void engines_stop(struct gpu *gpu)
{
	engine_stop(&gpu->sdma.engine);
	cp_stop(gpu);
	engine_stop(&gpu->flusher);
	engine_stop(&gpu->ualink.commander);
	engine_stop(&gpu->ualink.sender);
}

/* Resets what each kind of reset does; when it returns nothing of before is under way. */
static void reset_blocks(struct gpu *gpu, enum reset_kind kind)
{
	unsigned int i;

	engines_stop(gpu);
	link_reset(gpu);
	ualink_reset(gpu);
	for (i = 0; i < HUBS; i++)
		hub_reset(&gpu->hub[i]);
	ih_reset(gpu);
	regs_reset(gpu);
	hdp_reset(gpu);
	sdma_reset(gpu);
	cp_reset(gpu);
	if (kind == RESET_LOSE)
		vram_lose(gpu);
}

/* Tells the others that the fabric reaches an accelerator, or does not any more. */
static void gpu_announce(struct gpu *gpu, bool up)
{
	struct pod *pod = gpu->pod;
	unsigned int i;

	for (i = 0; i < pod->gpus; i++)
		if (i != gpu->index && pod->gpu[i].powered && !pod->fabric.cut[gpu->index][i])
			fabric_tell(&pod->gpu[i], gpu, up);
}

/* It leaves the fabric: others' accesses that are under way complete first. */
static void gpu_leave(struct gpu *gpu)
{
	if (!atomic_exchange(&gpu->powered, false))
		return;
	link_settle(gpu);
	fabric_forget(gpu);
	gpu_announce(gpu, false);
}

static void gpu_enter(struct gpu *gpu)
{
	if (!atomic_exchange(&gpu->powered, true))
		gpu_announce(gpu, true);
}

/* Also what brings one that has crashed back to the fabric */
void gpu_reset(struct gpu *gpu, enum reset_kind kind)
{
	pthread_mutex_lock(&gpu->reset_lock);
	count(&gpu->stats, "reset");
	reset_blocks(gpu, kind);
	if (gpu->connected)
		gpu_enter(gpu);
	pthread_mutex_unlock(&gpu->reset_lock);
}

/*
 * A VM has been connected to, or is gone. Without power nothing is left in VRAM, and the others
 * do not reach it.
 */
void gpu_power(struct gpu *gpu, bool on)
{
	logmsg(gpu, on ? "power on" : "power off");
	gpu->connected = on;
	if (on) {
		gpu_enter(gpu);
		return;
	}
	gpu_leave(gpu);
	gpu_reset(gpu, RESET_LOSE);
	dma_map_remove(gpu, 0, 0, true);
	ih_eventfd(gpu, -1);
	pci_init(gpu);
}

/* It drops off the fabric and loses all it had, as by a fatal error, until it is reset. */
void gpu_crash(struct gpu *gpu)
{
	gpu_leave(gpu);
	pthread_mutex_lock(&gpu->reset_lock);
	reset_blocks(gpu, RESET_LOSE);
	pthread_mutex_unlock(&gpu->reset_lock);
}

void gpu_quit(struct gpu *gpu)
{
	engines_stop(gpu);
	engine_quit(&gpu->sdma.engine);
	engine_quit(&gpu->flusher);
	engine_quit(&gpu->ualink.commander);
	engine_quit(&gpu->ualink.sender);
	cp_quit(gpu);
	hdp_quit(gpu);
}

void gpu_init(struct gpu *gpu)
{
	pthread_mutex_init(&gpu->reset_lock, NULL);
	pthread_mutex_init(&gpu->management, NULL);
	pthread_mutex_init(&gpu->stats.lock, NULL);
	pthread_mutex_init(&gpu->unknown.lock, NULL);
	lock_init(&gpu->dma.lock);
	hdp_init(gpu);
	pci_init(gpu);
	hub_init(gpu, HUB_GC);
	hub_init(gpu, HUB_MM);
	engine_init(&gpu->flusher, gpu, "flush", 40, false, flush_run);
	ih_init(gpu);
	regs_init(gpu);
	sdma_init(gpu);
	cp_init(gpu);
	link_init(gpu);
	ualink_init(gpu);
	vram_lose(gpu);
}
