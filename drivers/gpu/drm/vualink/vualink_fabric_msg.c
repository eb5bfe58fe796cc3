// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "vualink_hw_internal.h"

/*
 * Messages. The ring of an ordered pair of accelerators stands at the receiver,
 * is made at the first message, and goes with the receiver. The sender puts its
 * messages in directly, unless a knob holds them back.
 */

/**
 * struct vualink_parcel - a message that a knob holds back
 * @link: in &vualink_fabric.held
 * @src: sender
 * @dst: receiver
 * @behind: it goes right behind the next message of the pair, or when it is
 *	due, whichever is first
 * @due: when it goes
 * @msg: the message
 */
struct vualink_parcel {
	struct list_head link;
	u32 src;
	u32 dst;
	bool behind;
	ktime_t due;
	u8 msg[VUALINK_HW_MSG_SIZE];
};

/* A message that waits for one to go behind waits no longer than this */
#define VUALINK_REORDER_MS	100

/* Rings */

static u32 vualink_ring_count(const struct vualink_ring *ring)
{
	return ring->head - ring->tail;
}

static bool vualink_ring_is_full(const struct vualink_ring *ring)
{
	return vualink_ring_count(ring) == VUALINK_HW_RING_MSGS;
}

static void vualink_ring_push(struct vualink_ring *ring, const void *msg)
{
	memcpy(ring->msgs[ring->head++ % VUALINK_HW_RING_MSGS], msg,
	       VUALINK_HW_MSG_SIZE);
}

static void vualink_ring_pop(struct vualink_ring *ring, void *msg)
{
	memcpy(msg, ring->msgs[ring->tail++ % VUALINK_HW_RING_MSGS],
	       VUALINK_HW_MSG_SIZE);
}

/* Return: the ring, or NULL if there is no memory for it. */
static struct vualink_ring *vualink_ring_get(struct vualink_hw *dst, u32 src)
{
	struct vualink_ring *ring;

	lockdep_assert_held(&dst->ring_lock);
	ring = xa_load(&dst->rings, src);
	if (ring)
		return ring;
	ring = kzalloc_obj(*ring, GFP_NOWAIT);
	if (ring && xa_is_err(xa_store(&dst->rings, src, ring, GFP_NOWAIT))) {
		kfree(ring);
		return NULL;
	}
	return ring;
}

/* Return: whether the message arrived. */
static bool vualink_ring_deliver(struct vualink_hw *dst, u32 src,
				 const void *msg)
{
	struct vualink_ring *ring = vualink_ring_get(dst, src);

	lockdep_assert_held(&dst->ring_lock);
	if (!ring || vualink_ring_is_full(ring)) {
		atomic64_inc(&dst->params.fabric->lost);
		return false;
	}
	vualink_ring_push(ring, msg);
	return true;
}

static void vualink_raise_rx(struct vualink_hw *dst, u32 src)
{
	dst->params.irq->rx(dst->params.data, src);
}

static void vualink_raise_tx(struct vualink_fabric *fabric, u32 src, u32 dst)
{
	struct vualink_hw *hw = vualink_fabric_hw_get(fabric, src);

	if (!hw)
		return;
	hw->params.irq->tx(hw->params.data, dst);
	vualink_fabric_hw_put(hw);
}

/* Messages that are held back */

static void vualink_held_arm(struct vualink_fabric *fabric)
{
	struct vualink_parcel *parcel;
	ktime_t due = KTIME_MAX;

	lockdep_assert_held(&fabric->lock);
	list_for_each_entry(parcel, &fabric->held, link)
		due = min(due, parcel->due);
	if (due != KTIME_MAX)
		hrtimer_start(&fabric->timer, due, HRTIMER_MODE_ABS_SOFT);
}

static void vualink_held_add(struct vualink_fabric *fabric, u32 src, u32 dst,
			     const void *msg, bool behind, u32 ms)
{
	struct vualink_parcel *parcel = kmalloc_obj(*parcel, GFP_NOWAIT);

	guard(spinlock_irqsave)(&fabric->lock);
	if (!parcel || fabric->held_count == VUALINK_HELD_MAX) {
		atomic64_inc(&fabric->lost);
		kfree(parcel);
		return;
	}
	parcel->src = src;
	parcel->dst = dst;
	parcel->behind = behind;
	parcel->due = ktime_add_ms(ktime_get(), ms);
	memcpy(parcel->msg, msg, VUALINK_HW_MSG_SIZE);
	list_add_tail(&parcel->link, &fabric->held);
	/* Pairs with READ_ONCE() in vualink_held_next_behind(). */
	WRITE_ONCE(fabric->held_count, fabric->held_count + 1);
	vualink_held_arm(fabric);
}

static bool vualink_held_goes(const struct vualink_parcel *parcel, u32 src,
			      u32 dst)
{
	return parcel->behind && parcel->src == src && parcel->dst == dst;
}

static void vualink_held_take(struct vualink_fabric *fabric,
			      struct vualink_parcel *parcel)
{
	lockdep_assert_held(&fabric->lock);
	list_del(&parcel->link);
	/* Pairs with READ_ONCE() in vualink_held_next_behind(). */
	WRITE_ONCE(fabric->held_count, fabric->held_count - 1);
}

/* Return: a message to go behind the one just delivered, or NULL. */
static struct vualink_parcel *
vualink_held_next_behind(struct vualink_fabric *fabric, u32 src, u32 dst)
{
	struct vualink_parcel *parcel;

	/* A message that is held at this moment may as well go later. */
	if (!READ_ONCE(fabric->held_count))
		return NULL;

	guard(spinlock_irqsave)(&fabric->lock);
	list_for_each_entry(parcel, &fabric->held, link) {
		if (vualink_held_goes(parcel, src, dst)) {
			vualink_held_take(fabric, parcel);
			return parcel;
		}
	}
	return NULL;
}

/* Return: a message that is due, or NULL when the timer is set for the next. */
static struct vualink_parcel *
vualink_held_next_due(struct vualink_fabric *fabric)
{
	struct vualink_parcel *parcel;
	ktime_t now = ktime_get();

	guard(spinlock_irqsave)(&fabric->lock);
	list_for_each_entry(parcel, &fabric->held, link) {
		if (!ktime_after(parcel->due, now)) {
			vualink_held_take(fabric, parcel);
			return parcel;
		}
	}
	vualink_held_arm(fabric);
	return NULL;
}

/* Delivers a message that was held back, if it still can be. */
static void vualink_held_deliver(struct vualink_fabric *fabric,
				 struct vualink_parcel *parcel)
{
	struct vualink_hw *dst = vualink_fabric_hw_get(fabric, parcel->dst);
	unsigned long flags;
	bool raise = false;

	if (!dst) {
		atomic64_inc(&fabric->lost);
		return;
	}
	spin_lock_irqsave(&dst->ring_lock, flags);
	if (vualink_fabric_wired(fabric, parcel->src, parcel->dst))
		raise = vualink_ring_deliver(dst, parcel->src, parcel->msg);
	else
		atomic64_inc(&fabric->lost);
	spin_unlock_irqrestore(&dst->ring_lock, flags);
	if (raise)
		vualink_raise_rx(dst, parcel->src);
	vualink_fabric_hw_put(dst);
}

static enum hrtimer_restart vualink_held_timer(struct hrtimer *timer)
{
	struct vualink_fabric *fabric = container_of(timer, typeof(*fabric),
						     timer);
	struct vualink_parcel *parcel;

	while ((parcel = vualink_held_next_due(fabric))) {
		vualink_held_deliver(fabric, parcel);
		kfree(parcel);
	}
	return HRTIMER_NORESTART;
}

/* Drops what is held from or to an accelerator, or all with U32_MAX. */
static void vualink_held_drop(struct vualink_fabric *fabric, u32 id)
{
	struct vualink_parcel *parcel, *next;

	guard(spinlock_irqsave)(&fabric->lock);
	list_for_each_entry_safe(parcel, next, &fabric->held, link) {
		if (id != U32_MAX && parcel->src != id && parcel->dst != id)
			continue;
		vualink_held_take(fabric, parcel);
		kfree(parcel);
	}
}

void vualink_fabric_msg_init(struct vualink_fabric *fabric)
{
	INIT_LIST_HEAD(&fabric->held);
	hrtimer_setup(&fabric->timer, vualink_held_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

void vualink_fabric_msg_fini(struct vualink_fabric *fabric)
{
	vualink_held_drop(fabric, U32_MAX);
	hrtimer_cancel(&fabric->timer);
}

/* Send and receive */

/* Delivers a message now, and what was held to go behind it. */
static bool vualink_send_now(struct vualink_hw *dst, u32 src, const void *msg)
{
	struct vualink_fabric *fabric = dst->params.fabric;
	bool raise = vualink_ring_deliver(dst, src, msg);
	struct vualink_parcel *parcel;

	while ((parcel = vualink_held_next_behind(fabric, src,
						  dst->params.id))) {
		raise |= vualink_ring_deliver(dst, src, parcel->msg);
		kfree(parcel);
	}
	return raise;
}

/* Does to a message what the knobs say. Return: whether an interrupt is due. */
static bool vualink_send_judged(struct vualink_hw *dst, u32 src,
				const void *msg)
{
	struct vualink_fabric *fabric = dst->params.fabric;
	struct vualink_verdict verdict = {};
	u32 copies, id = dst->params.id;
	u8 copy[VUALINK_HW_MSG_SIZE];
	bool raise = false;

	memcpy(copy, msg, sizeof(copy));
	vualink_fabric_knob_msg(fabric, src, id, copy, &verdict);
	if (verdict.drop)
		return false;
	for (copies = verdict.duplicate ? 2 : 1; copies; copies--) {
		if (verdict.delay_ms)
			vualink_held_add(fabric, src, id, copy, false,
					 verdict.delay_ms);
		else if (verdict.reorder)
			vualink_held_add(fabric, src, id, copy, true,
					 VUALINK_REORDER_MS);
		else
			raise |= vualink_send_now(dst, src, copy);
	}
	return raise;
}

/**
 * vualink_hw_send() - send a message to another accelerator
 * @hw: sender
 * @dst: id of the receiver; may be that of @hw
 * @msg: %VUALINK_HW_MSG_SIZE bytes
 *
 * Does not sleep. The interrupt at the receiver comes from within the call.
 *
 * Return: 0 if the fabric took the message, which it may still lose, repeat,
 * delay or reorder; -ENOSPC if the ring is full, in which case
 * &vualink_hw_irq_ops.tx follows; -ENOLINK if the fabric does not reach @dst.
 */
int vualink_hw_send(struct vualink_hw *hw, u32 dst, const void *msg)
{
	struct vualink_fabric *fabric = hw->params.fabric;
	u32 src = hw->params.id;
	struct vualink_ring *ring;
	struct vualink_hw *peer;
	unsigned long flags;
	bool raise = false;
	int ret = 0;

	if (!vualink_fabric_wired(fabric, src, dst))
		return -ENOLINK;
	peer = vualink_fabric_hw_get(fabric, dst);
	if (!peer)
		return -ENOLINK;

	spin_lock_irqsave(&peer->ring_lock, flags);
	ring = xa_load(&peer->rings, src);
	if (ring && vualink_ring_is_full(ring)) {
		ring->src_waits = true;
		ret = -ENOSPC;
	} else {
		raise = vualink_send_judged(peer, src, msg);
	}
	spin_unlock_irqrestore(&peer->ring_lock, flags);

	if (!ret)
		atomic64_inc(&hw->stats.tx_msgs);
	if (raise)
		vualink_raise_rx(peer, src);
	vualink_fabric_hw_put(peer);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_send);

/* Return: whether the sender, which waits, is to be told that there is room. */
static bool vualink_ring_wakes_src(struct vualink_ring *ring)
{
	if (!ring->src_waits ||
	    vualink_ring_count(ring) >= VUALINK_HW_RING_MSGS / 2)
		return false;
	ring->src_waits = false;
	return true;
}

/**
 * vualink_hw_recv() - take a message out of a ring
 * @hw: receiver
 * @src: id of the sender
 * @msg: where its %VUALINK_HW_MSG_SIZE bytes go
 *
 * Does not sleep. After &vualink_hw_irq_ops.rx, call it until the ring is
 * empty: messages that arrive at the same time may share an interrupt.
 *
 * Return: 0, or -EAGAIN if the ring is empty.
 */
int vualink_hw_recv(struct vualink_hw *hw, u32 src, void *msg)
{
	struct vualink_ring *ring;
	unsigned long flags;
	bool wake = false;
	int ret = -EAGAIN;

	spin_lock_irqsave(&hw->ring_lock, flags);
	ring = xa_load(&hw->rings, src);
	if (ring && vualink_ring_count(ring)) {
		vualink_ring_pop(ring, msg);
		wake = vualink_ring_wakes_src(ring);
		ret = 0;
	}
	spin_unlock_irqrestore(&hw->ring_lock, flags);

	if (!ret)
		atomic64_inc(&hw->stats.rx_msgs);
	if (wake)
		vualink_raise_tx(hw->params.fabric, src, hw->params.id);
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_recv);

/* Rings of an accelerator */

void vualink_hw_rings_init(struct vualink_hw *hw)
{
	spin_lock_init(&hw->ring_lock);
	xa_init(&hw->rings);
}

static void vualink_ring_wipe(struct vualink_hw *dst, u32 src)
{
	struct vualink_ring *ring;
	unsigned long flags;
	bool wake = false;

	spin_lock_irqsave(&dst->ring_lock, flags);
	ring = xa_load(&dst->rings, src);
	if (ring) {
		ring->tail = ring->head;
		wake = vualink_ring_wakes_src(ring);
	}
	spin_unlock_irqrestore(&dst->ring_lock, flags);
	if (wake)
		vualink_raise_tx(dst->params.fabric, src, dst->params.id);
}

/* Empties all rings from and to an accelerator. Those that wait are told. */
void vualink_hw_rings_wipe(struct vualink_hw *hw)
{
	struct vualink_fabric *fabric = hw->params.fabric;
	u32 id = hw->params.id;
	struct vualink_ring *ring;
	struct vualink_hw *other;
	unsigned long at;

	vualink_held_drop(fabric, id);
	xa_for_each(&hw->rings, at, ring)
		vualink_ring_wipe(hw, at);
	xa_for_each(&fabric->hws, at, other) {
		other = vualink_fabric_hw_get(fabric, at);
		if (!other)
			continue;
		vualink_ring_wipe(other, id);
		vualink_fabric_hw_put(other);
	}
}

void vualink_hw_rings_fini(struct vualink_hw *hw)
{
	struct vualink_ring *ring;
	unsigned long src;

	xa_for_each(&hw->rings, src, ring)
		kfree(ring);
	xa_destroy(&hw->rings);
}
