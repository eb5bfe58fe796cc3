// SPDX-License-Identifier: MIT
/*
 * Message rings. One thread of each accelerator takes messages from its driver and hands them to
 * the fabric; whoever delivers one puts it into the receiver's ring under the receiver's lock.
 *
 * What the driver writes, tx_wptr and rx_rptr, is read when its doorbell is rung, and never
 * else: a driver that forgets a doorbell waits for ever.
 */
#include "emu.h"

/* The ring area: four arrays of pointers, then the messages */
enum { TX_WPTR, TX_RPTR, RX_WPTR, RX_RPTR };

static uint32_t depth(struct gpu *gpu)
{
	return 1u << gpu->pod->ring_shift;
}

static uint64_t pointer_addr(struct gpu *gpu, unsigned int array, uint32_t id)
{
	return gpu->ualink.ring_base + 4ull * (array * gpu->pod->ids + id);
}

static uint64_t slot_addr(struct gpu *gpu, bool rx, uint32_t id, uint32_t pointer)
{
	uint64_t n = gpu->pod->ids, d = depth(gpu);
	uint64_t first = gpu->ualink.ring_base + 16 * n + (rx ? MSG_BYTES * n * d : 0);

	return first + MSG_BYTES * (id * d + pointer % d);
}

/* Whoever waits for room in a ring here is to look again. */
void msg_poke_senders(struct gpu *gpu)
{
	struct pod *pod = gpu->pod;
	unsigned int i;

	for (i = 0; i < pod->gpus; i++)
		msg_poke(&pod->gpu[i], gpu->id);
}

/* A ring area that cannot be accessed stops the rings. */
static bool ring_ok(struct gpu *gpu, bool done)
{
	if (!done && !atomic_exchange(&gpu->ualink.error, true))
		msg_poke_senders(gpu);
	return done;
}

static bool pointer_read(struct gpu *gpu, unsigned int array, uint32_t id, uint32_t *value)
{
	return ring_ok(gpu, hub_read(&gpu->hub[HUB_MM], 0, pointer_addr(gpu, array, id), value, 4));
}

static bool pointer_write(struct gpu *gpu, unsigned int array, uint32_t id, uint32_t value)
{
	if (!ring_ok(gpu, hub_write(&gpu->hub[HUB_MM], 0, pointer_addr(gpu, array, id), &value, 4)))
		return false;
	mem_barrier();
	return true;
}

/* ---- receiving ---- */

/* How many more messages the ring from an accelerator takes. Called with the lock held. */
static uint32_t rx_room(struct gpu *gpu, uint32_t from)
{
	uint32_t used = gpu->ualink.rx_wptr[from] - gpu->ualink.rx_rptr[from];

	if (!gpu->ualink.enabled || gpu->ualink.error || used > depth(gpu))
		return 0;
	return depth(gpu) - used;
}

/* The driver has taken messages from an accelerator: that may send more. */
static void rx_look(struct gpu *gpu, uint32_t from)
{
	struct ualink *ualink = &gpu->ualink;
	struct gpu *sender = pod_by_id(gpu->pod, from);

	pthread_mutex_lock(&ualink->rx_lock);
	if (pointer_read(gpu, RX_RPTR, from, &ualink->rx_rptr[from]) &&
	    ualink->rx_wptr[from] - ualink->rx_rptr[from] > depth(gpu))
		count(&gpu->unknown, "UALink: rx_rptr beyond rx_wptr");
	pthread_mutex_unlock(&ualink->rx_lock);
	if (sender)
		msg_poke(sender, gpu->id);
}

/* Whether the ring takes one more message, besides those that the fabric holds for it */
bool msg_room(struct gpu *gpu, uint32_t from)
{
	bool room;

	pthread_mutex_lock(&gpu->ualink.rx_lock);
	/* who does not listen loses what is sent to him */
	room = !gpu->ualink.enabled || gpu->ualink.error ||
	       rx_room(gpu, from) > gpu->ualink.in_flight[from];
	pthread_mutex_unlock(&gpu->ualink.rx_lock);
	return room;
}

/* Puts a message into the ring from an accelerator. Return: false if it is lost. */
bool msg_put(struct gpu *gpu, uint32_t from, const void *msg)
{
	struct ualink *ualink = &gpu->ualink;
	bool done;

	pthread_mutex_lock(&ualink->rx_lock);
	done = rx_room(gpu, from) > 0 &&
	       ring_ok(gpu, hub_write(&gpu->hub[HUB_MM], 0,
				      slot_addr(gpu, true, from, ualink->rx_wptr[from]), msg,
				      MSG_BYTES)) &&
	       pointer_write(gpu, RX_WPTR, from, ualink->rx_wptr[from] + 1);
	if (done) {
		ualink->rx_wptr[from]++;
		ualink->given++;
	}
	pthread_mutex_unlock(&ualink->rx_lock);
	if (done)
		ualink_irq(gpu, IRQ_RX, from, 0);
	return done;
}

/* ---- sending ---- */

/* Hands one message to the fabric. Return: false when that must wait, or cannot be. */
static bool send_one(struct gpu *gpu, uint32_t to, uint32_t pointer)
{
	struct gpu *peer = pod_by_id(gpu->pod, to);
	uint8_t msg[MSG_BYTES];

	if (peer && fabric_reaches(gpu, peer) && !msg_room(peer, gpu->id))
		return false;
	if (!ring_ok(gpu, hub_read(&gpu->hub[HUB_MM], 0, slot_addr(gpu, false, to, pointer), msg,
				   MSG_BYTES)))
		return false;
	gpu->ualink.taken++;
	if (peer)
		fabric_send(gpu, peer, msg);
	return true;
}

static void send_ring(struct engine *engine, uint32_t to)
{
	struct gpu *gpu = engine->gpu;
	uint32_t *rptr = &gpu->ualink.tx_rptr[to], *end = &gpu->ualink.tx_wptr[to], wptr;

	if (atomic_exchange(&gpu->ualink.tx_rung[to], false) &&
	    !pointer_read(gpu, TX_WPTR, to, end))
		return;
	if (*end - *rptr > depth(gpu)) {
		count(&gpu->unknown, "UALink: tx_wptr beyond the ring");
		return;
	}
	while (!engine->stop && !gpu->ualink.error && *rptr != *end) {
		if (!send_one(gpu, to, *rptr) || !pointer_write(gpu, TX_RPTR, to, *rptr + 1))
			return;
		++*rptr;
		/* the driver may have filled it while the message was taken */
		if (pointer_read(gpu, TX_WPTR, to, &wptr) && wptr - (*rptr - 1) >= depth(gpu))
			ualink_irq(gpu, IRQ_TX, to, 0);
	}
}

/* Starts with the pointers that the ring area has. */
static void msg_start(struct gpu *gpu)
{
	struct ualink *ualink = &gpu->ualink;
	uint32_t id;

	pthread_mutex_lock(&ualink->rx_lock);
	/* no such address is in the area */
	ualink->error = ualink->ring_base & PAGE_MASK;
	for (id = 0; id < gpu->pod->ids; id++)
		if (!pointer_read(gpu, TX_WPTR, id, &ualink->tx_wptr[id]) ||
		    !pointer_read(gpu, TX_RPTR, id, &ualink->tx_rptr[id]) ||
		    !pointer_read(gpu, RX_WPTR, id, &ualink->rx_wptr[id]) ||
		    !pointer_read(gpu, RX_RPTR, id, &ualink->rx_rptr[id]))
			break;
	ualink->enabled = true;
	pthread_mutex_unlock(&ualink->rx_lock);
}

/* When it returns, the ring area is not touched any more, if ENABLE is 0. */
void msg_stop(struct gpu *gpu)
{
	uint32_t id;

	pthread_mutex_lock(&gpu->ualink.rx_lock);
	gpu->ualink.enabled = false;
	pthread_mutex_unlock(&gpu->ualink.rx_lock);
	link_close_gates(gpu);
	msg_poke_senders(gpu);
	for (id = 0; id < IDS_MAX; id++) {
		gpu->ualink.tx_rung[id] = false;
		gpu->ualink.rx_rung[id] = false;
		gpu->ualink.tx_due[id] = false;
	}
}

void msg_sender_run(struct engine *engine)
{
	struct gpu *gpu = engine->gpu;
	uint32_t id;

	if (gpu->ualink.cntl && !gpu->ualink.enabled && !gpu->ualink.dead)
		msg_start(gpu);
	else if (!gpu->ualink.cntl && gpu->ualink.enabled)
		msg_stop(gpu);
	for (id = 0; id < gpu->pod->ids && gpu->ualink.enabled; id++) {
		if (atomic_exchange(&gpu->ualink.rx_rung[id], false))
			rx_look(gpu, id);
		if (atomic_exchange(&gpu->ualink.tx_due[id], false))
			send_ring(engine, id);
	}
}

/* The ring to an accelerator is worth a look. */
void msg_poke(struct gpu *gpu, uint32_t id)
{
	gpu->ualink.tx_due[id] = true;
	engine_kick(&gpu->ualink.sender);
}

static bool doorbell_ok(struct gpu *gpu, uint32_t id)
{
	if (id < gpu->pod->ids)
		return true;
	count(&gpu->unknown, "UALink: a doorbell for no id");
	return false;
}

void msg_tx_doorbell(struct gpu *gpu, uint32_t id)
{
	if (!doorbell_ok(gpu, id))
		return;
	gpu->ualink.tx_rung[id] = true;
	msg_poke(gpu, id);
}

void msg_rx_doorbell(struct gpu *gpu, uint32_t id)
{
	if (!doorbell_ok(gpu, id))
		return;
	gpu->ualink.rx_rung[id] = true;
	engine_kick(&gpu->ualink.sender);
}
