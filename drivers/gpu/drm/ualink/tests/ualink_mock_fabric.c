// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The fabric of the mock pod: rings, what can happen to a message in them, a log of
 * all that was sent, and the rules about when a message may be sent.
 */

#include <linux/random.h>
#include <linux/slab.h>

#include "ualink_mock.h"
#include "ualink_mock_internal.h"

static struct ualink_mock *mock_by_id(struct ualink_mock_pod *pod, u32 id)
{
	int index = id < UALINK_MAX_IDS ? pod->index_of[id] : -1;

	return index < 0 ? NULL : &pod->nodes[index];
}

struct ualink_mock_ring *ualink_mock_ring(struct ualink_mock *from, struct ualink_mock *to)
{
	return &from->pod->rings[from->index * from->pod->count + to->index];
}

/* Something is in the ring; callable from any context, as in an interrupt. */
static void ring_bell(struct ualink_mock *to, u32 src)
{
	if (!to->quiet)
		ualink_notify_rx(to->udev, src);
}

static void enqueue(struct ualink_mock *from, struct ualink_mock *to,
		    const struct ualink_msg *msg)
{
	struct ualink_mock_ring *ring = ualink_mock_ring(from, to);
	struct ualink_mock_pod *pod = from->pod;
	struct ualink_mock_msg *entry;

	lockdep_assert_held(&pod->lock);

	/* Without memory, the fabric has lost it. */
	entry = kzalloc_obj(*entry, GFP_ATOMIC);
	if (!entry)
		return;
	entry->msg = *msg;
	if (get_random_u32_below(100) < pod->reordering)
		list_add(&entry->link, &ring->msgs);
	else
		list_add_tail(&entry->link, &ring->msgs);
	ring->count++;
	ring_bell(to, from->id);
}

static struct ualink_mock_msg *keep(struct ualink_mock *from, struct ualink_mock *to,
				    const struct ualink_msg *msg)
{
	struct ualink_mock_msg *entry;

	entry = kzalloc_obj(*entry, GFP_ATOMIC);
	if (!entry)
		return NULL;
	entry->msg = *msg;
	entry->src = from->id;
	entry->dst = to->id;
	return entry;
}

static void hold(struct ualink_mock *from, struct ualink_mock *to, const struct ualink_msg *msg)
{
	struct ualink_mock_msg *entry = keep(from, to, msg);

	if (!entry)
		return;
	list_add_tail(&entry->link, &from->pod->held);
	from->pod->nr_held++;
}

/* What let another message pass comes after it. */
static void follow(struct ualink_mock *from, struct ualink_mock *to)
{
	struct ualink_mock_ring *ring = ualink_mock_ring(from, to);
	struct ualink_mock_msg *entry = ring->overtaken;

	if (!entry)
		return;
	ring->overtaken = NULL;
	enqueue(from, to, &entry->msg);
	kfree(entry);
}

static bool id_matches(int wanted, u32 id)
{
	return wanted == UALINK_MOCK_ANY || wanted == id;
}

static enum ualink_mock_action find_action(struct ualink_mock_pod *pod,
					   const struct ualink_packet *pkt)
{
	int i;

	for (i = 0; i < UALINK_MOCK_RULES; i++) {
		struct ualink_mock_rule *rule = &pod->rules[i];

		if (!rule->times || (rule->type && rule->type != pkt->type) ||
		    !id_matches(rule->src, pkt->src) || !id_matches(rule->dst, pkt->dst))
			continue;
		if (rule->skip) {
			rule->skip--;
			continue;
		}
		if (rule->times > 0)
			rule->times--;
		return rule->action;
	}
	if (get_random_u32_below(100) < pod->lossy)
		return UALINK_MOCK_DROP;
	if (get_random_u32_below(100) < pod->doubling)
		return UALINK_MOCK_DUPLICATE;
	return UALINK_MOCK_PASS;
}

static void log_msg(struct ualink_mock_pod *pod, const struct ualink_packet *pkt,
		    const struct ualink_msg *msg)
{
	struct ualink_mock_msg *entry;

	if (pod->nr_log == UALINK_MOCK_LOG)
		return;
	entry = &pod->log[pod->nr_log++];
	entry->msg = *msg;
	entry->src = pkt->src;
	entry->dst = pkt->dst;
}

/* Whether something of @exporter's, or of one handle's tag, can still be reached by @node. */
static bool holds_translation(struct ualink_mock *node, u32 exporter, u64 tag, u64 grant)
{
	struct ualink_mock_import *obj;

	list_for_each_entry(obj, &node->objs, link) {
		if (!obj->mapped && !obj->cached)
			continue;
		if (ualink_handle_id(&obj->handle) != exporter)
			continue;
		if (tag && obj->handle.tag != tag)
			continue;
		if (grant && obj->imp->grant != grant)
			continue;
		return true;
	}
	return false;
}

/* The first READY or READY_ACK of a session promises that nothing is left of those before. */
static void check_ready(struct ualink_mock *from, struct ualink_mock *to,
			const struct ualink_packet *pkt)
{
	struct ualink_mock_ring *ring = ualink_mock_ring(from, to);

	if (ualink_session_equal(ring->ready, pkt->session))
		return;
	memcpy(ring->ready, pkt->session, sizeof(ring->ready));
	if (holds_translation(from, to->id, 0, 0))
		ualink_mock_violation(from, "READY with translations of an earlier session");
}

static void check_promise(struct ualink_mock *from, struct ualink_mock *to,
			  const struct ualink_packet *pkt)
{
	switch (pkt->type) {
	case UALINK_MSG_READY:
	case UALINK_MSG_READY_ACK:
		check_ready(from, to, pkt);
		break;
	case UALINK_MSG_RELEASE:
		if (holds_translation(from, to->id, pkt->grant.tag, pkt->grant.grant))
			ualink_mock_violation(from, "RELEASE before the flush");
		break;
	case UALINK_MSG_REVOKE_ACK:
		if (holds_translation(from, to->id, pkt->grant.tag, 0))
			ualink_mock_violation(from, "REVOKE_ACK before the flush");
		break;
	}
}

static void carry(struct ualink_mock *from, struct ualink_mock *to,
		  const struct ualink_packet *pkt, enum ualink_mock_action action,
		  const struct ualink_msg *msg)
{
	struct ualink_msg copy = *msg;

	switch (action) {
	case UALINK_MOCK_HOLD:
		hold(from, to, msg);
		break;
	case UALINK_MOCK_DUPLICATE:
		enqueue(from, to, msg);
		enqueue(from, to, msg);
		break;
	case UALINK_MOCK_CORRUPT:
		/* A byte of the header that must be zero. */
		copy.words[0] ^= cpu_to_le64(BIT_ULL(24));
		enqueue(from, to, &copy);
		break;
	case UALINK_MOCK_OVERTAKE:
		follow(from, to);
		ualink_mock_ring(from, to)->overtaken = keep(from, to, msg);
		return;
	case UALINK_MOCK_PASS:
		enqueue(from, to, msg);
		break;
	default:
		return;
	}
	follow(from, to);
}

int ualink_mock_op_send(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_pod *pod = node->pod;
	struct ualink_mock *to = mock_by_id(pod, dst);
	enum ualink_mock_action action;
	struct ualink_mock_ring *ring;
	struct ualink_packet pkt;

	lockdep_assert_held(&udev->lock);
	guard(spinlock)(&pod->lock);

	if (node->gone)
		ualink_mock_violation(node, "send after unregister");
	if (!to || to == node ||
	    ualink_packet_decode(&pkt, msg, node->id, dst) != UALINK_DECODE_OK) {
		ualink_mock_violation(node, "malformed message");
		return 0;
	}

	ring = ualink_mock_ring(node, to);
	if (ring->count >= pod->ring_size) {
		ring->full = true;
		return -ENOSPC;
	}
	/* What is never sent needs no accident. */
	action = node->mute ? UALINK_MOCK_DROP : find_action(pod, &pkt);
	if (action == UALINK_MOCK_NO_LINK)
		return -ENOLINK;
	log_msg(pod, &pkt, msg);
	check_promise(node, to, &pkt);
	carry(node, to, &pkt, action, msg);
	return 0;
}

int ualink_mock_op_recv(struct ualink_device *udev, u32 src, struct ualink_msg *msg)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_pod *pod = node->pod;
	struct ualink_mock *from = mock_by_id(pod, src);
	struct ualink_mock_ring *ring;
	struct ualink_mock_msg *entry;

	lockdep_assert_not_held(&udev->lock);
	guard(spinlock)(&pod->lock);

	if (node->gone)
		ualink_mock_violation(node, "recv after unregister");
	if (!from || node->deaf)
		return -EAGAIN;

	ring = ualink_mock_ring(from, node);
	entry = list_first_entry_or_null(&ring->msgs, struct ualink_mock_msg, link);
	if (!entry)
		return -EAGAIN;
	list_del(&entry->link);
	ring->count--;
	*msg = entry->msg;
	kfree(entry);

	if (ring->full && !from->quiet)
		ualink_notify_tx(from->udev, node->id);
	ring->full = false;
	return 0;
}

/* Something is under way, and will be received. */
bool ualink_mock_traffic(struct ualink_mock_pod *pod)
{
	struct ualink_mock *from, *to;
	unsigned int i, j;

	guard(spinlock)(&pod->lock);
	for (i = 0; i < pod->count; i++) {
		from = &pod->nodes[i];
		for (j = 0; j < pod->count; j++) {
			to = &pod->nodes[j];
			if (!to->quiet && !to->deaf && ualink_mock_ring(from, to)->count)
				return true;
		}
	}
	return false;
}

void ualink_mock_drain(struct ualink_mock_pod *pod)
{
	struct ualink_mock_msg *entry, *next;
	unsigned int i;

	for (i = 0; i < pod->count * pod->count; i++) {
		list_for_each_entry_safe(entry, next, &pod->rings[i].msgs, link)
			kfree(entry);
		INIT_LIST_HEAD(&pod->rings[i].msgs);
		kfree(pod->rings[i].overtaken);
	}
	list_for_each_entry_safe(entry, next, &pod->held, link)
		kfree(entry);
	INIT_LIST_HEAD(&pod->held);
}

/* A deaf accelerator leaves its messages in the rings. */
void ualink_mock_set_deaf(struct ualink_mock *node, bool deaf)
{
	struct ualink_mock_pod *pod = node->pod;
	unsigned int i;

	guard(spinlock)(&pod->lock);
	node->deaf = deaf;
	for (i = 0; !deaf && i < pod->count; i++)
		if (ualink_mock_ring(&pod->nodes[i], node)->count)
			ring_bell(node, pod->nodes[i].id);
}

/* Rules are tried in the order of their making. */
static int add_rule(struct ualink_mock_pod *pod, const struct ualink_mock_rule *rule)
{
	int i;

	spin_lock(&pod->lock);
	for (i = 0; i < UALINK_MOCK_RULES && pod->rules[i].times; i++)
		;
	if (i < UALINK_MOCK_RULES)
		pod->rules[i] = *rule;
	spin_unlock(&pod->lock);
	KUNIT_ASSERT_LT(pod->test, i, UALINK_MOCK_RULES);
	return i;
}

void ualink_mock_rule(struct ualink_mock_pod *pod, enum ualink_mock_action action, u8 type,
		      int src, int dst, int times)
{
	struct ualink_mock_rule rule = {
		.action = action,
		.type = type,
		.src = src,
		.dst = dst,
		.times = times,
	};

	add_rule(pod, &rule);
}

/* For the @nth message of that kind from now on, the first being 1; the number of the rule. */
int ualink_mock_rule_nth(struct ualink_mock_pod *pod, enum ualink_mock_action action, u8 type,
			 u32 src, u32 dst, unsigned int nth)
{
	struct ualink_mock_rule rule = {
		.action = action,
		.type = type,
		.src = src,
		.dst = dst,
		.skip = nth - 1,
		.times = 1,
	};

	return add_rule(pod, &rule);
}

/* Whether there was such a message. */
bool ualink_mock_rule_used(struct ualink_mock_pod *pod, int rule)
{
	guard(spinlock)(&pod->lock);
	return !pod->rules[rule].times;
}

void ualink_mock_rules_clear(struct ualink_mock_pod *pod)
{
	guard(spinlock)(&pod->lock);
	memset(pod->rules, 0, sizeof(pod->rules));
}

/* Lets go what is held, whatever the room in the rings; the last first if @backwards. */
void ualink_mock_release_held(struct ualink_mock_pod *pod, bool backwards)
{
	struct ualink_mock_msg *entry;
	unsigned int i;

	guard(spinlock)(&pod->lock);
	while (!list_empty(&pod->held)) {
		if (backwards)
			entry = list_last_entry(&pod->held, struct ualink_mock_msg, link);
		else
			entry = list_first_entry(&pod->held, struct ualink_mock_msg, link);
		list_del(&entry->link);
		pod->nr_held--;
		enqueue(mock_by_id(pod, entry->src), mock_by_id(pod, entry->dst), &entry->msg);
		kfree(entry);
	}
	for (i = 0; i < pod->count * pod->count; i++)
		follow(&pod->nodes[i / pod->count], &pod->nodes[i % pod->count]);
}

unsigned int ualink_mock_held(struct ualink_mock_pod *pod)
{
	guard(spinlock)(&pod->lock);
	return pod->nr_held;
}

/* A message that @src did not send, or not now; no rule applies to it. */
void ualink_mock_inject(struct ualink_mock_pod *pod, u32 src, u32 dst,
			const struct ualink_msg *msg)
{
	guard(spinlock)(&pod->lock);
	enqueue(mock_by_id(pod, src), mock_by_id(pod, dst), msg);
}

void ualink_mock_inject_packet(struct ualink_mock_pod *pod, const struct ualink_packet *pkt)
{
	struct ualink_msg msg;

	ualink_packet_encode(pkt, &msg);
	ualink_mock_inject(pod, pkt->src, pkt->dst, &msg);
}

void ualink_mock_log_clear(struct ualink_mock_pod *pod)
{
	guard(spinlock)(&pod->lock);
	pod->nr_log = 0;
}

/* Type, request id and session: what makes two messages from one to another the same. */
static bool same_msg(const struct ualink_mock_msg *a, const struct ualink_mock_msg *b)
{
	return a->src == b->src && a->dst == b->dst &&
	       !memcmp(&a->msg, &b->msg, UALINK_HEADER_SIZE);
}

static bool said_before(struct ualink_mock_pod *pod, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (same_msg(&pod->log[i], &pod->log[n]))
			return true;
	return false;
}

static u8 logged_type(const struct ualink_mock_msg *entry)
{
	return le64_to_cpu(entry->msg.words[0]) >> 8;
}

/* Messages of @type (0: all) in the log; how often one was repeated does not matter. */
unsigned int ualink_mock_sent(struct ualink_mock_pod *pod, u8 type)
{
	unsigned int i, n = 0;

	guard(spinlock)(&pod->lock);
	for (i = 0; i < pod->nr_log; i++)
		if ((!type || logged_type(&pod->log[i]) == type) && !said_before(pod, i))
			n++;
	return n;
}

static struct ualink_mock_msg *find_logged(struct ualink_mock_pod *pod, u8 type, u32 src,
					   u32 dst, unsigned int nth)
{
	unsigned int i;

	for (i = 0; i < pod->nr_log; i++) {
		struct ualink_mock_msg *entry = &pod->log[i];

		if (logged_type(entry) == type && entry->src == src && entry->dst == dst &&
		    !--nth)
			return entry;
	}
	return NULL;
}

/* Messages of @type from @src to @dst in the log, each repetition counted. */
unsigned int ualink_mock_count(struct ualink_mock_pod *pod, u8 type, u32 src, u32 dst)
{
	unsigned int n = 0;

	guard(spinlock)(&pod->lock);
	while (find_logged(pod, type, src, dst, n + 1))
		n++;
	return n;
}

/* The @nth of these, the first being 1. */
bool ualink_mock_nth(struct ualink_mock_pod *pod, u8 type, u32 src, u32 dst, unsigned int nth,
		     struct ualink_msg *msg)
{
	struct ualink_mock_msg *entry;

	guard(spinlock)(&pod->lock);
	entry = find_logged(pod, type, src, dst, nth);
	if (entry)
		*msg = entry->msg;
	return entry;
}

/* The last message of @type in the log, to be sent again or to make another of it. */
bool ualink_mock_last(struct ualink_mock_pod *pod, u8 type, struct ualink_packet *pkt)
{
	struct ualink_mock_msg *entry;
	unsigned int i;

	guard(spinlock)(&pod->lock);
	for (i = pod->nr_log; i--; ) {
		entry = &pod->log[i];
		if (logged_type(entry) == type)
			return ualink_packet_decode(pkt, &entry->msg, entry->src, entry->dst) ==
			       UALINK_DECODE_OK;
	}
	return false;
}
