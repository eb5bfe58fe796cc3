// SPDX-License-Identifier: MIT
/*
 * Queues of the command processor. The KIQ is set up by registers, which are banked by what
 * GRBM_GFX_CNTL selects; the others by MAP_QUEUES packets in the KIQ, from a descriptor in memory
 * (MQD). Each queue has a thread of its own.
 */
#include <string.h>

#include "emu.h"
#include "regs_gen.h"
#include "v9_structs.h"

#define HQD_FIRST	R_GC_CP_MQD_BASE_ADDR
#define HQD_COUNT	(R_GC_CP_HQD_AQL_DISPATCH_ID_HI - HQD_FIRST + 1)

_Static_assert(HQD_COUNT <= HQD_REGS, "HQD_REGS is too small");

static bool halted(struct gpu *gpu)
{
	return reg_get(gpu, R_GC_CP_MEC_CNTL) & M_GC_CP_MEC_CNTL__MEC_ME1_HALT;
}

/* ---- running ---- */

static void queue_publish(struct cp_queue *queue)
{
	struct gpu *gpu = queue->engine.gpu;
	uint32_t rptr = (uint32_t)(queue->rptr % (queue->size / 4));

	if (queue->rptr_addr)
		hub_write(&gpu->hub[HUB_GC], 0, queue->rptr_addr, &rptr, sizeof(rptr));
}

static void queue_run(struct engine *engine)
{
	struct cp_queue *queue = &engine->gpu->cp.queue[engine->index - 1];
	struct cursor cursor = {
		.engine = engine,
		.hub = &engine->gpu->hub[HUB_GC],
		.base = queue->base,
		.size = queue->size,
		.pos = queue->rptr * 4,
	};

	while (queue->active && !halted(engine->gpu) && !engine->stop) {
		cursor.end = queue->wptr * 4;
		if (cursor.pos == cursor.end)
			break;
		if (cursor.end - cursor.pos > cursor.size) {
			count(&engine->gpu->unknown, "CP: write pointer beyond the ring");
			cursor.pos = cursor.end;
		} else {
			pm4_packet(&cursor, queue);
		}
		if (engine->stop)
			break;
		queue->rptr = cursor.pos / 4;
		queue_publish(queue);
	}
}

/* ---- the table of queues ---- */

static struct cp_queue *find_doorbell(struct cp *cp, uint32_t doorbell)
{
	struct cp_queue *queue;

	for (queue = cp->queue; queue < cp->queue + CP_QUEUES; queue++)
		if (queue->active && queue->doorbell == doorbell)
			return queue;
	return NULL;
}

static struct cp_queue *find_place(struct cp *cp, unsigned int me, unsigned int pipe,
				   unsigned int number)
{
	struct cp_queue *queue;

	for (queue = cp->queue; queue < cp->queue + CP_QUEUES; queue++)
		if (queue->active && queue->me == me && queue->pipe == pipe &&
		    queue->queue == number)
			return queue;
	return NULL;
}

static struct cp_queue *find_free(struct gpu *gpu)
{
	struct cp_queue *queue;

	for (queue = gpu->cp.queue; queue < gpu->cp.queue + CP_QUEUES; queue++) {
		if (queue->active)
			continue;
		if (!queue->ready)
			engine_init(&queue->engine, gpu, "CP",
				    (unsigned int)(queue - gpu->cp.queue) + 1, true, queue_run);
		queue->ready = true;
		return queue;
	}
	return NULL;
}

/* Puts a queue into the table. */
static void queue_start(struct gpu *gpu, const struct cp_queue *setup, uint64_t rptr, uint64_t wptr)
{
	struct cp *cp = &gpu->cp;
	struct cp_queue *queue;

	pthread_mutex_lock(&cp->lock);
	queue = find_place(cp, setup->me, setup->pipe, setup->queue);
	if (!queue)
		queue = find_free(gpu);
	if (queue) {
		queue->kiq = setup->kiq;
		queue->me = setup->me;
		queue->pipe = setup->pipe;
		queue->queue = setup->queue;
		queue->doorbell = setup->doorbell;
		queue->base = setup->base;
		queue->size = setup->size;
		queue->rptr_addr = setup->rptr_addr;
		queue->rptr = rptr;
		queue->wptr = wptr;
		queue->active = true;
		if (rptr != wptr)
			engine_kick(&queue->engine);
	}
	pthread_mutex_unlock(&cp->lock);
	if (!queue)
		count(&gpu->unknown, "CP: more than %u queues", CP_QUEUES);
}

bool cp_doorbell(struct gpu *gpu, uint32_t index, uint64_t value)
{
	struct cp_queue *queue;

	pthread_mutex_lock(&gpu->cp.lock);
	queue = find_doorbell(&gpu->cp, index);
	if (queue) {
		queue->wptr = value;
		engine_kick(&queue->engine);
	}
	pthread_mutex_unlock(&gpu->cp.lock);
	return queue;
}

/* ---- by packets ---- */

/* MAP_QUEUES; only ever one queue */
void cp_map_queue(struct gpu *gpu, const uint32_t *body)
{
	struct hub *hub = &gpu->hub[HUB_GC];
	struct cp_queue setup = {
		.me = 1 + ((body[0] >> 18) & 1),
		.pipe = (body[0] >> 16) & 3,
		.queue = (body[0] >> 13) & 7,
		.doorbell = (body[1] >> 2) & 0x3ffffff,
	};
	struct v9_mqd mqd;
	uint64_t wptr = 0;

	if (!hub_read(hub, 0, body[2] | (uint64_t)body[3] << 32, &mqd, sizeof(mqd)) ||
	    !hub_read(hub, 0, body[4] | (uint64_t)body[5] << 32, &wptr, sizeof(wptr)))
		return;
	setup.base = (uint64_t)mqd.cp_hqd_pq_base_lo << 8 | (uint64_t)mqd.cp_hqd_pq_base_hi << 40;
	setup.size = 4ull << (FIELD(mqd.cp_hqd_pq_control, M_GC_CP_HQD_PQ_CONTROL__QUEUE_SIZE) + 1);
	setup.rptr_addr = mqd.cp_hqd_pq_rptr_report_addr_lo |
			  (uint64_t)mqd.cp_hqd_pq_rptr_report_addr_hi << 32;
	queue_start(gpu, &setup, mqd.cp_hqd_pq_rptr, wptr);
}

/* UNMAP_QUEUES: the queue's work ends, whether it is done or not. */
void cp_unmap_queue(struct gpu *gpu, uint32_t doorbell)
{
	struct cp_queue *queue;

	pthread_mutex_lock(&gpu->cp.lock);
	queue = find_doorbell(&gpu->cp, doorbell);
	pthread_mutex_unlock(&gpu->cp.lock);
	if (!queue || queue->kiq)
		return;
	engine_stop(&queue->engine);
	queue->active = false;
}

/* ---- by registers ---- */

static _Atomic uint32_t *bank(struct gpu *gpu)
{
	uint32_t select = reg_get(gpu, R_GC_GRBM_GFX_CNTL);

	return gpu->cp.hqd[FIELD(select, M_GC_GRBM_GFX_CNTL__MEID)]
			  [FIELD(select, M_GC_GRBM_GFX_CNTL__PIPEID)]
			  [FIELD(select, M_GC_GRBM_GFX_CNTL__QUEUEID)];
}

/* The queue whose registers are selected, if it runs. Called with the lock held. */
static struct cp_queue *selected(struct gpu *gpu)
{
	uint32_t select = reg_get(gpu, R_GC_GRBM_GFX_CNTL);

	return find_place(&gpu->cp, FIELD(select, M_GC_GRBM_GFX_CNTL__MEID),
			  FIELD(select, M_GC_GRBM_GFX_CNTL__PIPEID),
			  FIELD(select, M_GC_GRBM_GFX_CNTL__QUEUEID));
}

static uint64_t hqd64(const _Atomic uint32_t *hqd, uint32_t lo, uint32_t hi)
{
	return hqd[lo - HQD_FIRST] | (uint64_t)hqd[hi - HQD_FIRST] << 32;
}

static void hqd_activate(struct gpu *gpu)
{
	const _Atomic uint32_t *hqd = bank(gpu);
	uint32_t select = reg_get(gpu, R_GC_GRBM_GFX_CNTL);
	uint32_t doorbell = hqd[R_GC_CP_HQD_PQ_DOORBELL_CONTROL - HQD_FIRST];
	uint32_t control = hqd[R_GC_CP_HQD_PQ_CONTROL - HQD_FIRST];
	struct cp_queue setup = {
		.kiq = true,
		.me = FIELD(select, M_GC_GRBM_GFX_CNTL__MEID),
		.pipe = FIELD(select, M_GC_GRBM_GFX_CNTL__PIPEID),
		.queue = FIELD(select, M_GC_GRBM_GFX_CNTL__QUEUEID),
		.doorbell = FIELD(doorbell, M_GC_CP_HQD_PQ_DOORBELL_CONTROL__DOORBELL_OFFSET),
		.base = hqd64(hqd, R_GC_CP_HQD_PQ_BASE, R_GC_CP_HQD_PQ_BASE_HI) << 8,
		.size = 4ull << (FIELD(control, M_GC_CP_HQD_PQ_CONTROL__QUEUE_SIZE) + 1),
		.rptr_addr = hqd64(hqd, R_GC_CP_HQD_PQ_RPTR_REPORT_ADDR,
				   R_GC_CP_HQD_PQ_RPTR_REPORT_ADDR_HI),
	};

	queue_start(gpu, &setup, hqd[R_GC_CP_HQD_PQ_RPTR - HQD_FIRST],
		    hqd64(hqd, R_GC_CP_HQD_PQ_WPTR_LO, R_GC_CP_HQD_PQ_WPTR_HI));
}

static uint32_t hqd_read(struct gpu *gpu, uint32_t reg)
{
	struct cp_queue *queue;
	uint32_t active;

	if (reg != R_GC_CP_HQD_ACTIVE)
		return bank(gpu)[reg - HQD_FIRST];
	pthread_mutex_lock(&gpu->cp.lock);
	queue = selected(gpu);
	active = queue && queue->active;
	pthread_mutex_unlock(&gpu->cp.lock);
	return active;
}

static void hqd_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	struct cp_queue *queue;

	bank(gpu)[reg - HQD_FIRST] = value;
	if (reg == R_GC_CP_HQD_ACTIVE && value & 1) {
		hqd_activate(gpu);
		return;
	}
	if (reg != R_GC_CP_HQD_ACTIVE && !(reg == R_GC_CP_HQD_DEQUEUE_REQUEST && value))
		return;
	pthread_mutex_lock(&gpu->cp.lock);
	queue = selected(gpu);
	if (queue) {
		queue->dequeue = true;
		engine_interrupt(&queue->engine);
		engine_kick(&gpu->cp.reaper);
	}
	pthread_mutex_unlock(&gpu->cp.lock);
}

/* Ends the queues that are to be dequeued; CP_HQD_ACTIVE says when that is done. */
static void reap(struct engine *engine)
{
	struct cp_queue *queue;

	for (queue = engine->gpu->cp.queue; queue < engine->gpu->cp.queue + CP_QUEUES; queue++) {
		if (!queue->dequeue)
			continue;
		engine_stop(&queue->engine);
		queue->dequeue = false;
		queue->active = false;
	}
}

static void mec_cntl_write(struct gpu *gpu, uint32_t reg, uint32_t value)
{
	struct cp_queue *queue;

	reg_set(gpu, reg, value);
	pthread_mutex_lock(&gpu->cp.lock);
	for (queue = gpu->cp.queue; queue < gpu->cp.queue + CP_QUEUES; queue++) {
		if (queue->active && halted(gpu))
			engine_interrupt(&queue->engine);
		else if (queue->active)
			engine_kick(&queue->engine);
	}
	pthread_mutex_unlock(&gpu->cp.lock);
}

const struct reg_hook cp_hooks[] = {
	{ HQD_FIRST, HQD_COUNT, hqd_read, hqd_write },
	{ R_GC_CP_MEC_CNTL, 1, NULL, mec_cntl_write },
};
const size_t cp_hooks_count = ARRAY_SIZE(cp_hooks);

/* ---- as a whole ---- */

/* Stops all queues, and returns when none runs. */
void cp_stop(struct gpu *gpu)
{
	struct cp_queue *queue;
	bool ready;

	engine_stop(&gpu->cp.reaper);
	for (queue = gpu->cp.queue; queue < gpu->cp.queue + CP_QUEUES; queue++) {
		pthread_mutex_lock(&gpu->cp.lock);
		queue->active = false;
		queue->dequeue = false;
		ready = queue->ready;
		pthread_mutex_unlock(&gpu->cp.lock);
		if (ready)
			engine_stop(&queue->engine);
	}
}

void cp_reset(struct gpu *gpu)
{
	unsigned int me, pipe, queue, reg;

	for (me = 0; me < CP_MES; me++)
		for (pipe = 0; pipe < CP_PIPES; pipe++)
			for (queue = 0; queue < CP_PIPE_QUEUES; queue++)
				for (reg = 0; reg < HQD_REGS; reg++)
					gpu->cp.hqd[me][pipe][queue][reg] = 0;
}

void cp_quit(struct gpu *gpu)
{
	struct cp_queue *queue;

	engine_quit(&gpu->cp.reaper);
	for (queue = gpu->cp.queue; queue < gpu->cp.queue + CP_QUEUES; queue++)
		if (queue->ready)
			engine_quit(&queue->engine);
}

void cp_init(struct gpu *gpu)
{
	pthread_mutex_init(&gpu->cp.lock, NULL);
	engine_init(&gpu->cp.reaper, gpu, "CP reaper", 0, false, reap);
}
