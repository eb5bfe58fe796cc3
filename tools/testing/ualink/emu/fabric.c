// SPDX-License-Identifier: MIT
/*
 * The fabric: who reaches whom, and what happens to messages on the way. One thread delivers those
 * that are held back.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu.h"

#define HELD_BEHIND_US	100000

struct gpu *pod_by_id(struct pod *pod, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < pod->gpus; i++)
		if (pod->gpu[i].id == id)
			return &pod->gpu[i];
	return NULL;
}

bool fabric_reaches(struct gpu *from, struct gpu *to)
{
	return from->powered && to->powered && !from->pod->fabric.cut[from->index][to->index];
}

/* ---- delivery ---- */

static void deliver(struct gpu *to, uint32_t from, const void *msg)
{
	struct fabric *fabric = &to->pod->fabric;
	struct gpu *sender = pod_by_id(to->pod, from);

	if (sender && fabric_reaches(sender, to) && msg_put(to, from, msg))
		return;
	pthread_mutex_lock(&fabric->lock);
	fabric->lost++;
	pthread_mutex_unlock(&fabric->lock);
}

static void parcel_deliver(struct pod *pod, struct parcel *parcel)
{
	struct gpu *to = pod_by_id(pod, parcel->to), *from = pod_by_id(pod, parcel->from);

	if (to) {
		to->ualink.in_flight[parcel->from]--;
		deliver(to, parcel->from, parcel->msg);
	}
	/* when it got lost there is room for another one */
	if (from)
		msg_poke(from, parcel->to);
	free(parcel);
}

/* Takes a parcel out of the list. Called with the lock held. */
static struct parcel *parcel_take(struct parcel **place)
{
	struct parcel *parcel = *place;

	*place = parcel->next;
	return parcel;
}

static void parcel_hold(struct gpu *from, struct gpu *to, const void *msg, uint64_t us, bool behind)
{
	struct fabric *fabric = &from->pod->fabric;
	struct parcel *parcel = malloc(sizeof(*parcel)), **place;

	if (!parcel)
		return;
	*parcel = (struct parcel){
		.from = from->id, .to = to->id, .due = clock_us() + us, .behind = behind,
	};
	memcpy(parcel->msg, msg, MSG_BYTES);
	to->ualink.in_flight[from->id]++;
	pthread_mutex_lock(&fabric->lock);
	for (place = &fabric->parcels; *place; place = &(*place)->next)
		;
	*place = parcel;
	pthread_cond_signal(&fabric->cond);
	pthread_mutex_unlock(&fabric->lock);
}

static bool goes_behind(const struct parcel *parcel, struct gpu *from, struct gpu *to)
{
	return parcel->behind && parcel->from == from->id && parcel->to == to->id;
}

/* Delivers a message now, and then those that wait to go behind it. */
static void send_now(struct gpu *from, struct gpu *to, const void *msg)
{
	struct fabric *fabric = &from->pod->fabric;
	struct parcel *parcel, **place;

	deliver(to, from->id, msg);
	do {
		parcel = NULL;
		pthread_mutex_lock(&fabric->lock);
		for (place = &fabric->parcels; *place && !parcel;)
			if (goes_behind(*place, from, to))
				parcel = parcel_take(place);
			else
				place = &(*place)->next;
		pthread_mutex_unlock(&fabric->lock);
		if (parcel)
			parcel_deliver(from->pod, parcel);
	} while (parcel);
}

/* ---- rules ---- */

static bool rule_hits(struct rule *rule, struct gpu *from, struct gpu *to, const uint8_t *msg)
{
	if (!rule->left || (rule->type >= 0 && rule->type != msg[1]) ||
	    (rule->from >= 0 && (uint32_t)rule->from != from->id) ||
	    (rule->to >= 0 && (uint32_t)rule->to != to->id))
		return false;
	rule->left--;
	return true;
}

struct verdict {
	bool drop, dup, behind, corrupt;
	uint64_t delay_us;
};

static struct verdict judge(struct gpu *from, struct gpu *to, const uint8_t *msg)
{
	struct fabric *fabric = &from->pod->fabric;
	struct verdict verdict = {};

	pthread_mutex_lock(&fabric->lock);
	verdict.drop = fabric->muted[from->index] ||
		       rule_hits(&fabric->rule[RULE_DROP], from, to, msg);
	if (!verdict.drop) {
		verdict.dup = rule_hits(&fabric->rule[RULE_DUP], from, to, msg);
		verdict.behind = rule_hits(&fabric->rule[RULE_REORDER], from, to, msg);
		verdict.corrupt = rule_hits(&fabric->rule[RULE_CORRUPT], from, to, msg);
		verdict.delay_us = fabric->delay_us;
	}
	fabric->dropped += verdict.drop;
	fabric->repeated += verdict.dup;
	fabric->reordered += verdict.behind;
	fabric->corrupted += verdict.corrupt;
	pthread_mutex_unlock(&fabric->lock);
	return verdict;
}

/* Takes a message from an accelerator; it may get lost. */
void fabric_send(struct gpu *from, struct gpu *to, uint8_t *msg)
{
	struct verdict verdict = judge(from, to, msg);
	unsigned int copies;

	if (verdict.drop)
		return;
	if (verdict.corrupt)
		msg[MSG_BYTES - 1] ^= 0xff;
	for (copies = verdict.dup ? 2 : 1; copies; copies--) {
		if (verdict.delay_us)
			parcel_hold(from, to, msg, verdict.delay_us, false);
		else if (verdict.behind)
			parcel_hold(from, to, msg, HELD_BEHIND_US, true);
		else
			send_now(from, to, msg);
	}
}

/* ---- what is held back ---- */

static struct parcel *next_due(struct fabric *fabric, uint64_t now, uint64_t *due)
{
	struct parcel **place;

	*due = UINT64_MAX;
	for (place = &fabric->parcels; *place; place = &(*place)->next) {
		if ((*place)->due <= now)
			return parcel_take(place);
		if ((*place)->due < *due)
			*due = (*place)->due;
	}
	return NULL;
}

static void fabric_wait(struct fabric *fabric, uint64_t due)
{
	struct timespec until = { (time_t)(due / 1000000), (long)(due % 1000000) * 1000 };

	if (due == UINT64_MAX)
		pthread_cond_wait(&fabric->cond, &fabric->lock);
	else
		pthread_cond_timedwait(&fabric->cond, &fabric->lock, &until);
}

static void *fabric_thread(void *arg)
{
	struct pod *pod = arg;
	struct fabric *fabric = &pod->fabric;
	struct parcel *parcel;
	uint64_t due;

	pthread_mutex_lock(&fabric->lock);
	while (!fabric->quit) {
		parcel = next_due(fabric, clock_us(), &due);
		if (!parcel) {
			fabric_wait(fabric, due);
			continue;
		}
		pthread_mutex_unlock(&fabric->lock);
		parcel_deliver(pod, parcel);
		pthread_mutex_lock(&fabric->lock);
	}
	pthread_mutex_unlock(&fabric->lock);
	return NULL;
}

/* Loses what is under way between two accelerators, or from and to one if @b is NULL. */
static void fabric_drop(struct gpu *a, struct gpu *b)
{
	struct pod *pod = a->pod;
	struct parcel **place, *parcel;

	pthread_mutex_lock(&pod->fabric.lock);
	for (place = &pod->fabric.parcels; *place;) {
		parcel = *place;
		if ((parcel->from != a->id && parcel->to != a->id) ||
		    (b && parcel->from != b->id && parcel->to != b->id)) {
			place = &parcel->next;
			continue;
		}
		parcel_take(place);
		pod_by_id(pod, parcel->to)->ualink.in_flight[parcel->from]--;
		pod->fabric.lost++;
		free(parcel);
	}
	pthread_mutex_unlock(&pod->fabric.lock);
}

void fabric_forget(struct gpu *gpu)
{
	fabric_drop(gpu, NULL);
}

/* ---- links ---- */

void fabric_tell(struct gpu *gpu, struct gpu *peer, bool up)
{
	ualink_irq(gpu, IRQ_LINK, peer->id, up);
}

/* Cuts the link of two accelerators, or joins it. No access is under way on a link that is cut. */
void fabric_set_cut(struct gpu *a, struct gpu *b, bool cut)
{
	struct fabric *fabric = &a->pod->fabric;
	bool was = atomic_exchange(&fabric->cut[a->index][b->index], cut);

	fabric->cut[b->index][a->index] = cut;
	if (was == cut)
		return;
	link_settle(a);
	link_settle(b);
	if (cut) {
		fabric_drop(a, b);
		msg_poke(a, b->id);
		msg_poke(b, a->id);
	}
	if (!a->powered || !b->powered || a == b)
		return;
	fabric_tell(a, b, !cut);
	fabric_tell(b, a, !cut);
}

void fabric_init(struct pod *pod)
{
	struct fabric *fabric = &pod->fabric;
	pthread_condattr_t attr;

	pthread_mutex_init(&fabric->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&fabric->cond, &attr);
	pthread_condattr_destroy(&attr);
	pthread_create(&fabric->thread, NULL, fabric_thread, pod);
}

void fabric_quit(struct pod *pod)
{
	struct fabric *fabric = &pod->fabric;

	pthread_mutex_lock(&fabric->lock);
	fabric->quit = true;
	pthread_cond_signal(&fabric->cond);
	pthread_mutex_unlock(&fabric->lock);
	pthread_join(fabric->thread, NULL);
	while (fabric->parcels)
		free(parcel_take(&fabric->parcels));
}
