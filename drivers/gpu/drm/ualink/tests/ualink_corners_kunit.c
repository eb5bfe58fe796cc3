// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Corners: what can happen, but seldom does, and what only a peer that does not keep
 * to the protocol can make happen.
 */

#include <kunit/static_stub.h>
#include <linux/module.h>

#include "ualink_mock.h"

/* An importer a of memory of b. */
struct pair {
	struct ualink_mock_pod *pod;
	struct ualink_mock *a, *b;
	struct ualink_mock_mem *mem;
	struct ualink_mock_import *obj;
};

static struct pair make_pair(struct kunit *test, bool import)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct pair p = { .pod = pod, .a = &pod->nodes[0], .b = &pod->nodes[1] };

	p.mem = ualink_mock_export(p.b);
	if (import)
		p.obj = ualink_mock_get(p.a, p.mem);
	ualink_mock_settle(pod);
	ualink_mock_log_clear(pod);
	return p;
}

/* A message of the session of a with b, or of the one that is being made. */
static struct ualink_packet packet_to_a(struct pair *p, u8 type, bool pending)
{
	struct ualink_peer *peer = ualink_mock_peer(p->a, p->b);
	const u64 *session = pending ? peer->pending : peer->session;

	return (struct ualink_packet){
		.version = UALINK_VERSION_MAX,
		.type = type,
		.src = p->b->id,
		.dst = p->a->id,
		.request = ualink_msg_is_greeting(type) ? 0 : 1000,
		.session = { session[0], session[1] },
	};
}

static void inject(struct pair *p, const struct ualink_packet *pkt)
{
	ualink_mock_inject_packet(p->pod, pkt);
	ualink_mock_settle(p->pod);
}

static u64 ignored(struct pair *p)
{
	return ualink_mock_counter(p->a, UALINK_COUNT_IGNORED);
}

/* Interrupts of accelerators that are none, or of which nothing is known. */
static void corners_notify(struct kunit *test)
{
	struct pair p = make_pair(test, true);

	ualink_notify_rx(p.a->udev, UALINK_MAX_IDS);
	ualink_notify_rx(p.a->udev, U32_MAX);
	ualink_notify_tx(p.a->udev, 500);
	ualink_notify_tx(p.a->udev, U32_MAX);
	ualink_notify_link_down(p.a->udev, 500);
	ualink_notify_link_down(p.a->udev, U32_MAX);
	ualink_notify_link_down(p.a->udev, p.a->id);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_FALSE(test, ualink_device_is_member(p.a->udev, UALINK_MAX_IDS));
	KUNIT_EXPECT_FALSE(test, ualink_device_is_member(p.a->udev, 500));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.a), UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), 0);
	ualink_mock_get(p.a, ualink_mock_export(p.a));
}

/* Geometries and ids that there cannot be. */
static void corners_create(struct kunit *test)
{
	static const struct {
		u32 id;
		u8 segment_shift;
		u64 block_sizes;
	} wrong[] = {
		{ UALINK_MAX_IDS, 24, SZ_4K },
		{ U32_MAX, 24, SZ_4K },
		{ 7, 54, SZ_4K },
		{ 7, 24, 0 },
		{ 7, 24, SZ_2K },
		{ 7, 24, SZ_16M },
	};
	struct pair p = make_pair(test, false);
	struct ualink_device_params params = {
		.ops = p.a->udev->ops,
		.dev = p.a->dev,
		.members = p.pod->members,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		params.id = wrong[i].id;
		params.segment_shift = wrong[i].segment_shift;
		params.block_sizes = wrong[i].block_sizes;
		KUNIT_EXPECT_PTR_EQ(test, ualink_device_create(&params), ERR_PTR(-EINVAL));
	}
}

static struct ualink_handle taken;
static int draws;

static void draw_taken(struct ualink_handle *handle, u32 id)
{
	*handle = taken;
	if (draws++)
		handle->tag += UALINK_MAX_IDS;
}

/* The generator draws a tag that is in use. */
static void corners_same_tag(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_import *obj;
	struct ualink_mock_mem *mem;

	taken = p.mem->handle;
	draws = 0;
	kunit_activate_static_stub(test, ualink_handle_generate, draw_taken);
	mem = ualink_mock_export(p.b);
	kunit_deactivate_static_stub(test, ualink_handle_generate);
	KUNIT_EXPECT_EQ(test, draws, 2);
	KUNIT_EXPECT_NE(test, mem->handle.tag, p.mem->handle.tag);
	obj = ualink_mock_get(p.a, mem);
	KUNIT_EXPECT_PTR_NE(test, obj, p.obj);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), 0);
}

/* The tag is right, and that handle is even imported; the secret is not. */
static void corners_wrong_secret(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_mem guess = { .handle = p.mem->handle };

	guess.handle.secret ^= BIT_ULL(63);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, &guess), ERR_PTR(-ENOENT));
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), 0);
}

static void corners_bind_twice(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_import *imp = ualink_import_find(p.a->udev, &p.mem->handle);

	KUNIT_ASSERT_PTR_EQ(test, imp, p.obj->imp);
	KUNIT_EXPECT_EQ(test, ualink_import_bind(imp, p.pod), -EEXIST);
	KUNIT_EXPECT_PTR_EQ(test, imp->priv, p.obj);
	ualink_import_put(imp);
}

/* Two exports end one after the other, and nobody answers. */
static void corners_two_deadlines(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_mem *second = ualink_mock_export(p.b);

	ualink_mock_get(p.a, second);
	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, 0, p.a->id, p.b->id, UALINK_MOCK_ANY);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	ualink_export_end(p.mem->exp);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 3000);
	ualink_export_end(second->exp);
	UALINK_MOCK_EXPECT(test, ualink_mock_released(p.mem));
	KUNIT_EXPECT_FALSE(test, ualink_mock_released(second));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.b, UALINK_COUNT_REVOKE_TIMEOUTS), 1);
	UALINK_MOCK_EXPECT(test, ualink_mock_released(second));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.b, UALINK_COUNT_REVOKE_TIMEOUTS), 2);
	ualink_mock_rules_clear(p.pod);
	UALINK_MOCK_EXPECT(test, !READ_ONCE(p.b->udev->nr_quarantined));
}

/* Work that finds that another has done it. */
static void corners_nothing_to_reap(struct kunit *test)
{
	struct pair p = make_pair(test, false);
	unsigned int flushes = ualink_mock_calls(p.b, UALINK_MOCK_FLUSH);

	queue_work(p.b->udev->slow_wq, &p.b->udev->reap_work);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(p.b, UALINK_MOCK_FLUSH), flushes);
}

/* Begins an import that the exporter does not hear of; @rsp: an answer to it, to be completed. */
static struct ualink_mock_async *import_unheard(struct pair *p, struct ualink_mock_mem *mem,
						struct ualink_packet *rsp)
{
	struct ualink_mock_async *async;
	struct ualink_packet req;

	ualink_mock_rule(p->pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_REQ, p->a->id, p->b->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p->a, mem, 0);
	UALINK_MOCK_EXPECT(p->pod->test, ualink_mock_last(p->pod, UALINK_MSG_IMPORT_REQ, &req));
	*rsp = packet_to_a(p, UALINK_MSG_IMPORT_RSP, false);
	rsp->request = req.request;
	rsp->import_rsp.tag = mem->handle.tag;
	return async;
}

/* An answer to the right request, but about another export. */
static void corners_wrong_tag(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);
	struct ualink_packet pkt, req;
	struct ualink_mock_async *async = import_unheard(&p, mem, &pkt);

	pkt.import_rsp.tag += UALINK_MAX_IDS;
	pkt.import_rsp.offset = UALINK_MOCK_PAGE;
	pkt.import_rsp.size = UALINK_MOCK_PAGE;
	pkt.import_rsp.access = UALINK_ACCESS_READ;
	inject(&p, &pkt);
	/* It is given back, as one that nobody has asked for; the answer to that is ignored too. */
	KUNIT_EXPECT_EQ(test, ignored(&p), 2);
	KUNIT_EXPECT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_RELEASE, &req));
	KUNIT_EXPECT_EQ(test, req.grant.tag, pkt.import_rsp.tag);
	ualink_mock_rules_clear(p.pod);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
}

static void corners_wrong_tag_revoked(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_packet pkt, revoke;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_REVOKE, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	ualink_export_end(p.mem->exp);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_REVOKE, &revoke));
	pkt = revoke;
	pkt.type = UALINK_MSG_REVOKE_ACK;
	swap(pkt.src, pkt.dst);
	pkt.grant.tag += UALINK_MAX_IDS;
	pkt.grant.grace_ms = 0;
	inject(&p, &pkt);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.b, UALINK_COUNT_IGNORED), 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	KUNIT_EXPECT_FALSE(test, ualink_mock_released(p.mem));
	ualink_mock_rules_clear(p.pod);
	UALINK_MOCK_EXPECT(test, ualink_mock_released(p.mem));
}

/* The exporter has no memory for the grant. */
static void corners_no_memory_there(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);
	struct ualink_packet pkt;
	struct ualink_mock_async *async = import_unheard(&p, mem, &pkt);

	pkt.import_rsp.status = UALINK_STATUS_NOMEM;
	inject(&p, &pkt);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(async), ERR_PTR(-ENOMEM));
	ualink_mock_rules_clear(p.pod);
	ualink_mock_get(p.a, mem);
}

/* The exporter revokes, grants again and revokes again: one answer, when both are dead. */
static void corners_two_dying(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_packet revoke = packet_to_a(&p, UALINK_MSG_REVOKE, false);
	struct ualink_mock_import *second;

	revoke.grant.tag = p.mem->handle.tag;
	revoke.grant.grant = p.obj->imp->grant;
	revoke.grant.grace_ms = 10000;
	WRITE_ONCE(p.obj->busy, true);
	inject(&p, &revoke);
	UALINK_MOCK_EXPECT(test, READ_ONCE(p.obj->tries) >= 1);
	second = ualink_mock_get(p.a, p.mem);
	KUNIT_ASSERT_PTR_NE(test, second, p.obj);

	revoke.request++;
	inject(&p, &revoke);
	UALINK_MOCK_EXPECT(test, READ_ONCE(second->deaths) == 1);
	KUNIT_EXPECT_EQ(test, p.obj->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK), 0);
	WRITE_ONCE(p.obj->busy, false);
	UALINK_MOCK_EXPECT(test, READ_ONCE(p.obj->deaths) == 1);
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK) == 1);
}

/* The gate for a peer that is gone does not close yet: nobody is there to be suspected. */
static void corners_revoke_without_session(struct kunit *test)
{
	struct pair p = make_pair(test, true);

	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 20);
	ualink_mock_stop(p.b, UALINK_MOCK_GATE);
	ualink_notify_link_down(p.b->udev, p.a->id);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.b, UALINK_MOCK_GATE));
	ualink_export_end(p.mem->exp);
	UALINK_MOCK_EXPECT(test, ualink_mock_counter(p.b, UALINK_COUNT_REVOKE_TIMEOUTS) == 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_DOWN);
	ualink_mock_go(p.b, UALINK_MOCK_GATE);
	UALINK_MOCK_EXPECT(test, READ_ONCE(p.mem->exp->state) == UALINK_EXPORT_DEAD);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_DOWN);
}

/* A gate that does not open: no session, and only a reset helps. */
static void corners_gate_stays_closed(struct kunit *test)
{
	struct pair p = make_pair(test, false);

	ualink_mock_fail(p.a, UALINK_MOCK_GATE, -EIO, 1);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, p.mem), ERR_PTR(-ENODEV));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_DOWN);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.a, p.b));
	KUNIT_EXPECT_TRUE(test, p.a->udev->wedged);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, p.mem), ERR_PTR(-EBUSY));
	ualink_mock_restart(p.a);
	ualink_mock_get(p.a, p.mem);
}

/* Answers to a challenge that is not the one that is outstanding. */
static void corners_wrong_challenge(struct kunit *test)
{
	static const u8 types[] = {
		UALINK_MSG_HELLO_ACK, UALINK_MSG_HELLO_NAK, UALINK_MSG_READY,
	};
	struct pair p = make_pair(test, false);
	struct ualink_mock_async *async;
	struct ualink_packet hello, pkt;
	int i, own = ualink_challenge_slot(p.a->id, p.b->id);

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_HELLO, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p.a, p.mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO, &hello));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		pkt = hello;
		swap(pkt.src, pkt.dst);
		pkt.type = types[i];
		pkt.session[own] ^= BIT_ULL(17);
		pkt.session[!own] = types[i] == UALINK_MSG_HELLO_NAK ? 0 : 77;
		if (types[i] == UALINK_MSG_HELLO_NAK)
			pkt.hello_nak.reason = UALINK_NAK_VPOD;
		inject(&p, &pkt);
		KUNIT_EXPECT_EQ(test, ignored(&p), i + 1);
		KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_GREETING);
	}
	ualink_mock_rules_clear(p.pod);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
}

/* The peer is ready for another session while the gate is being opened for this one. */
static void corners_other_ready(struct kunit *test)
{
	struct pair p = make_pair(test, false);
	int own = ualink_challenge_slot(p.a->id, p.b->id);
	struct ualink_mock_async *async;
	struct ualink_packet ready;

	ualink_mock_stop(p.a, UALINK_MOCK_GATE);
	async = ualink_mock_import_begin(p.a, p.mem, 0);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_GATE));
	ready = packet_to_a(&p, UALINK_MSG_READY, true);
	ready.session[!own] ^= BIT_ULL(17);
	ualink_mock_inject_packet(p.pod, &ready);
	UALINK_MOCK_EXPECT(test, ualink_session_equal(ualink_mock_peer(p.a, p.b)->pending,
						      ready.session));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p.a, p.b)->greeting, UALINK_GREETING_CLEANING);

	/* It was nobody, and the gate that is open by now closes again. */
	ualink_notify_link_down(p.a->udev, p.b->id);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(async), ERR_PTR(-ENODEV));
	ualink_mock_go(p.a, UALINK_MOCK_GATE);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.a, p.b));
	ualink_mock_get(p.a, p.mem);
}

/* A message of the session that is being made, from one who cannot be in it yet. */
static void corners_too_early(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_async *async;
	struct ualink_packet ping;

	ualink_mock_restart(p.b);
	ualink_mock_stop(p.a, UALINK_MOCK_INVALIDATE);
	async = ualink_mock_import_begin(p.a, ualink_mock_export(p.b), 0);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_INVALIDATE));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p.a, p.b)->greeting, UALINK_GREETING_CLEANING);
	ualink_mock_log_clear(p.pod);
	ping = packet_to_a(&p, UALINK_MSG_PING, true);
	ualink_mock_inject_packet(p.pod, &ping);
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_NAK) == 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_PONG), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p.a, p.b)->greeting, UALINK_GREETING_CLEANING);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.a, p.b));
	ualink_mock_go(p.a, UALINK_MOCK_INVALIDATE);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
	KUNIT_EXPECT_EQ(test, p.obj->deaths, 1);
}

/* Somebody greets and is never heard of again. */
static void corners_only_hello(struct kunit *test)
{
	struct pair p = make_pair(test, false);
	struct ualink_mock_async *async;
	struct ualink_peer *peer;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_HELLO_ACK, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p.a, p.mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO_ACK) >= 1);
	peer = ualink_mock_peer(p.b, p.a);
	KUNIT_EXPECT_NE(test, READ_ONCE(peer->challenge), 0);
	/* Once while it is young, and once when it is old. */
	ualink_device_set_tunable(p.b->udev, UALINK_HEARTBEAT_MS, 20);
	ualink_device_set_tunable(p.a->udev, UALINK_REQUEST_MS, 100);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(async), ERR_PTR(-ETIMEDOUT));
	KUNIT_EXPECT_NE(test, READ_ONCE(peer->challenge), 0);
	ualink_device_set_tunable(p.b->udev, UALINK_REQUEST_MS, 100);
	UALINK_MOCK_EXPECT(test, !READ_ONCE(peer->challenge));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_DOWN);
}

/* There is no room for the greeting. */
static void corners_greeting_waits(struct kunit *test)
{
	struct pair p = make_pair(test, false);
	struct ualink_mock_async *async;
	struct ualink_peer *peer;

	p.pod->ring_size = 1;
	ualink_mock_set_deaf(p.b, true);
	async = ualink_mock_import_begin(p.a, p.mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO) == 1);
	peer = ualink_mock_peer(p.a, p.b);
	UALINK_MOCK_EXPECT(test, READ_ONCE(peer->reply_count) == 1);
	/* However long it takes, no more of them are queued. */
	msleep(5 * UALINK_RETRY_MS);
	KUNIT_EXPECT_EQ(test, READ_ONCE(peer->reply_count), 1);
	ualink_mock_set_deaf(p.b, false);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
	KUNIT_EXPECT_EQ(test, peer->sessions, 1);
}

/* A version of the future, to one that is not active. */
static void corners_version_when_inactive(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_packet pkt = packet_to_a(&p, UALINK_MSG_HELLO, false);

	pkt.version = UALINK_VERSION_MAX + 1;
	ualink_device_deactivate(p.a->udev);
	ualink_mock_settle(p.pod);
	ualink_mock_log_clear(p.pod);
	inject(&p, &pkt);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_BAD_MSGS), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);
}

/* Many requests to oneself wait at the same time. */
static void corners_many_of_own(struct kunit *test)
{
	struct pair p = make_pair(test, false);
	struct ualink_peer *self = ualink_mock_peer(p.a, p.a);
	struct ualink_mock_async *asyncs[20];
	int i;

	disable_work_sync(&self->rx_work);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		asyncs[i] = ualink_mock_import_begin(p.a, ualink_mock_export(p.a), 0);
	UALINK_MOCK_EXPECT(test, READ_ONCE(self->reply_count) >= ARRAY_SIZE(asyncs));
	enable_and_queue_work(p.a->udev->wq, &self->rx_work);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(asyncs[i]));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_REPLIES_LOST), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);
}

/* The answer to a READY of another session. */
static void corners_other_ready_ack(struct kunit *test)
{
	struct pair p = make_pair(test, false);
	int own = ualink_challenge_slot(p.a->id, p.b->id);
	struct ualink_mock_async *async;
	struct ualink_packet ack;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_READY, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p.a, p.mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_READY));
	ack = packet_to_a(&p, UALINK_MSG_READY_ACK, true);
	ack.session[!own] ^= BIT_ULL(17);
	inject(&p, &ack);
	KUNIT_EXPECT_EQ(test, ignored(&p), 1);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.a, p.b));
	ualink_mock_rules_clear(p.pod);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
}

/* The last reference to the object goes between the page tables and the flush. */
static void corners_dies_while_going(struct kunit *test)
{
	struct pair p = make_pair(test, true);

	ualink_mock_stop(p.a, UALINK_MOCK_IMPORT_FLUSH);
	ualink_export_end(p.mem->exp);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_IMPORT_FLUSH));
	KUNIT_EXPECT_TRUE(test, refcount_dec_and_test(&p.obj->ref));
	ualink_mock_go(p.a, UALINK_MOCK_IMPORT_FLUSH);
	UALINK_MOCK_EXPECT(test, ualink_mock_released(p.mem));
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(p.a, UALINK_MOCK_DEAD), 1);
	KUNIT_EXPECT_EQ(test, p.obj->why, UALINK_DEATH_REVOKED);
	KUNIT_EXPECT_EQ(test, ualink_import_death(p.obj->imp), UALINK_DEATH_REVOKED);
	refcount_set(&p.obj->ref, 1);
	ualink_mock_close(p.obj);
}

/* The peer, which knows nothing, greets while what was imported from it still dies. */
static void corners_greeted_while_dying(struct kunit *test)
{
	struct pair p = make_pair(test, true);
	struct ualink_mock_mem *of_a = ualink_mock_export(p.a);
	struct ualink_mock_async *async;

	ualink_mock_stop(p.a, UALINK_MOCK_INVALIDATE);
	ualink_notify_link_down(p.a->udev, p.b->id);
	ualink_notify_link_down(p.b->udev, p.a->id);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_INVALIDATE));
	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(p.b, p.a) == UALINK_PEER_DOWN);
	async = ualink_mock_import_begin(p.b, of_a, 0);
	UALINK_MOCK_EXPECT(test, READ_ONCE(ualink_mock_peer(p.a, p.b)->peer_ready));
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.a, p.b));
	ualink_mock_go(p.a, UALINK_MOCK_INVALIDATE);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
	KUNIT_EXPECT_TRUE(test, ualink_mock_gate(p.a, p.b));
	KUNIT_EXPECT_EQ(test, p.obj->deaths, 1);
	KUNIT_EXPECT_EQ(test, p.obj->why, UALINK_DEATH_PEER_LOST);
}

static struct kunit_case ualink_corners_cases[] = {
	KUNIT_CASE(corners_notify),
	KUNIT_CASE(corners_create),
	KUNIT_CASE(corners_same_tag),
	KUNIT_CASE(corners_wrong_secret),
	KUNIT_CASE(corners_bind_twice),
	KUNIT_CASE_SLOW(corners_two_deadlines),
	KUNIT_CASE(corners_nothing_to_reap),
	KUNIT_CASE(corners_wrong_tag),
	KUNIT_CASE(corners_wrong_tag_revoked),
	KUNIT_CASE(corners_no_memory_there),
	KUNIT_CASE(corners_two_dying),
	KUNIT_CASE(corners_revoke_without_session),
	KUNIT_CASE(corners_gate_stays_closed),
	KUNIT_CASE(corners_wrong_challenge),
	KUNIT_CASE(corners_other_ready),
	KUNIT_CASE(corners_too_early),
	KUNIT_CASE(corners_only_hello),
	KUNIT_CASE(corners_greeting_waits),
	KUNIT_CASE(corners_version_when_inactive),
	KUNIT_CASE(corners_many_of_own),
	KUNIT_CASE(corners_other_ready_ack),
	KUNIT_CASE(corners_dies_while_going),
	KUNIT_CASE(corners_greeted_while_dying),
	{}
};

static struct kunit_suite ualink_corners_suite = {
	.name = "ualink_corners",
	.exit = ualink_mock_exit,
	.test_cases = ualink_corners_cases,
};

kunit_test_suite(ualink_corners_suite);

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
