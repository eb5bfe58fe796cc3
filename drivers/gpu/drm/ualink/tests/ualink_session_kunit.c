// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sessions: how they are made, what does not make or end them, and what ends with them.
 */

#include <linux/module.h>

#include "../ualink_names.h"
#include "ualink_mock.h"

struct pair {
	struct ualink_mock_pod *pod;
	struct ualink_mock *a, *b;
};

static struct pair make_pair(struct kunit *test, const struct ualink_mock_config *configs)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, configs, 2);

	return (struct pair){ .pod = pod, .a = &pod->nodes[0], .b = &pod->nodes[1] };
}

static u64 sessions(struct ualink_mock *node, struct ualink_mock *other)
{
	struct ualink_peer *peer = ualink_mock_peer(node, other);

	return peer ? peer->sessions : 0;
}

/* The number of the session that both ends are in. */
static void get_session(struct pair *p, u64 session[2])
{
	struct ualink_peer *peer = ualink_mock_peer(p->a, p->b);
	struct ualink_peer *back = ualink_mock_peer(p->b, p->a);
	struct kunit *test = p->pod->test;

	KUNIT_EXPECT_EQ(test, peer->state, UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, back->state, UALINK_PEER_UP);
	KUNIT_EXPECT_TRUE(test, ualink_session_equal(peer->session, back->session));
	memcpy(session, peer->session, sizeof(peer->session));
}

/* Four messages make the session, two the import. */
static void session_is_made(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);

	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.b, p.a));
	ualink_mock_get(p.a, mem);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO_ACK), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_READY), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_READY_ACK), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_IMPORT_REQ), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_IMPORT_RSP), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 6);
	KUNIT_EXPECT_EQ(test, sessions(p.a, p.b), 1);
	KUNIT_EXPECT_EQ(test, sessions(p.b, p.a), 1);
	KUNIT_EXPECT_TRUE(test, ualink_mock_gate(p.a, p.b));
	KUNIT_EXPECT_TRUE(test, ualink_mock_gate(p.b, p.a));
}

/* What happens to the first message of a type. */
struct accident {
	u8 type;
	enum ualink_mock_action action;
};

static const struct accident accidents[] = {
	{ UALINK_MSG_HELLO, UALINK_MOCK_DROP },
	{ UALINK_MSG_HELLO, UALINK_MOCK_CORRUPT },
	{ UALINK_MSG_HELLO, UALINK_MOCK_DUPLICATE },
	{ UALINK_MSG_HELLO, UALINK_MOCK_HOLD },
	{ UALINK_MSG_HELLO_ACK, UALINK_MOCK_DROP },
	{ UALINK_MSG_HELLO_ACK, UALINK_MOCK_CORRUPT },
	{ UALINK_MSG_HELLO_ACK, UALINK_MOCK_DUPLICATE },
	{ UALINK_MSG_HELLO_ACK, UALINK_MOCK_HOLD },
	{ UALINK_MSG_READY, UALINK_MOCK_DROP },
	{ UALINK_MSG_READY, UALINK_MOCK_CORRUPT },
	{ UALINK_MSG_READY, UALINK_MOCK_DUPLICATE },
	{ UALINK_MSG_READY, UALINK_MOCK_HOLD },
	{ UALINK_MSG_READY_ACK, UALINK_MOCK_DROP },
	{ UALINK_MSG_READY_ACK, UALINK_MOCK_CORRUPT },
	{ UALINK_MSG_READY_ACK, UALINK_MOCK_DUPLICATE },
	{ UALINK_MSG_READY_ACK, UALINK_MOCK_HOLD },
	{ UALINK_MSG_IMPORT_REQ, UALINK_MOCK_DROP },
	{ UALINK_MSG_IMPORT_REQ, UALINK_MOCK_CORRUPT },
	{ UALINK_MSG_IMPORT_REQ, UALINK_MOCK_DUPLICATE },
	{ UALINK_MSG_IMPORT_REQ, UALINK_MOCK_HOLD },
	{ UALINK_MSG_IMPORT_RSP, UALINK_MOCK_DROP },
	{ UALINK_MSG_IMPORT_RSP, UALINK_MOCK_CORRUPT },
	{ UALINK_MSG_IMPORT_RSP, UALINK_MOCK_DUPLICATE },
	{ UALINK_MSG_IMPORT_RSP, UALINK_MOCK_HOLD },
};

static void accident_name(const struct accident *accident, char *name)
{
	static const char * const actions[] = {
		[UALINK_MOCK_DROP] = "lost",
		[UALINK_MOCK_CORRUPT] = "damaged",
		[UALINK_MOCK_DUPLICATE] = "doubled",
		[UALINK_MOCK_HOLD] = "late",
	};

	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s %s", ualink_msg_type_name(accident->type),
		 actions[accident->action]);
}

KUNIT_ARRAY_PARAM(accident, accidents, accident_name);

static void session_survives_accident(struct kunit *test)
{
	const struct accident *accident = test->param_value;
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);
	struct ualink_mock_import *obj;
	u64 before[2], after[2];

	ualink_mock_rule(p.pod, accident->action, accident->type, UALINK_MOCK_ANY,
			 UALINK_MOCK_ANY, 1);
	obj = ualink_mock_get(p.a, mem);
	ualink_mock_settle(p.pod);
	get_session(&p, before);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);

	/* What comes late changes nothing. */
	KUNIT_EXPECT_EQ(test, ualink_mock_held(p.pod), accident->action == UALINK_MOCK_HOLD);
	ualink_mock_release_held(p.pod, false);
	ualink_mock_settle(p.pod);
	get_session(&p, after);
	KUNIT_EXPECT_TRUE(test, ualink_session_equal(before, after));
	KUNIT_EXPECT_EQ(test, sessions(p.a, p.b), 1);
	KUNIT_EXPECT_EQ(test, sessions(p.b, p.a), 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_BAD_MSGS) +
			      ualink_mock_counter(p.b, UALINK_COUNT_BAD_MSGS),
			accident->action == UALINK_MOCK_CORRUPT);
}

static const u8 crossings[] = {
	UALINK_MSG_HELLO, UALINK_MSG_HELLO_ACK, UALINK_MSG_READY,
};

static void crossing_name(const u8 *type, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", ualink_msg_type_name(*type));
}

KUNIT_ARRAY_PARAM(crossing, crossings, crossing_name);

/* Greetings that cross, up to some message of both, end in one session. */
static void session_from_crossing(struct kunit *test)
{
	const u8 *type = test->param_value;
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *of_a = ualink_mock_export(p.a), *of_b = ualink_mock_export(p.b);
	struct ualink_mock_async *by_a, *by_b;
	u64 session[2];

	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_HELLO, p.a->id, p.b->id, 1);
	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_HELLO, p.b->id, p.a->id, 1);
	by_a = ualink_mock_import_begin(p.a, of_b, 0);
	by_b = ualink_mock_import_begin(p.b, of_a, 0);
	KUNIT_ASSERT_TRUE(test, ualink_mock_wait(ualink_mock_held(p.pod) == 2));
	if (*type != UALINK_MSG_HELLO) {
		ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, *type, p.a->id, p.b->id, 1);
		ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, *type, p.b->id, p.a->id, 1);
		ualink_mock_release_held(p.pod, false);
		KUNIT_ASSERT_TRUE(test, ualink_mock_wait(ualink_mock_held(p.pod) == 2));
	}
	ualink_mock_release_held(p.pod, false);

	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(by_a));
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(by_b));
	ualink_mock_settle(p.pod);
	get_session(&p, session);
	KUNIT_EXPECT_EQ(test, sessions(p.a, p.b), 1);
	KUNIT_EXPECT_EQ(test, sessions(p.b, p.a), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_NAK), 0);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_grants, 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
}

/* Messages of a greeting that is over: sent again, they are answered at most. */
static void session_ignores_replay(struct kunit *test)
{
	static const struct {
		u8 type, answer;
	} replays[] = {
		{ UALINK_MSG_HELLO, UALINK_MSG_HELLO_ACK },
		{ UALINK_MSG_HELLO_ACK, 0 },
		{ UALINK_MSG_READY, UALINK_MSG_READY_ACK },
		{ UALINK_MSG_READY_ACK, 0 },
	};
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_import *obj = ualink_mock_get(p.a, ualink_mock_export(p.b));
	struct ualink_packet pkts[ARRAY_SIZE(replays)];
	u64 before[2], after[2];
	int i;

	ualink_mock_settle(p.pod);
	get_session(&p, before);
	for (i = 0; i < ARRAY_SIZE(replays); i++)
		KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, replays[i].type, &pkts[i]));
	for (i = 0; i < ARRAY_SIZE(replays); i++) {
		ualink_mock_log_clear(p.pod);
		ualink_mock_inject_packet(p.pod, &pkts[i]);
		ualink_mock_settle(p.pod);
		KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), !!replays[i].answer);
		if (replays[i].answer)
			KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, replays[i].answer), 1);
		get_session(&p, after);
		KUNIT_EXPECT_TRUE(test, ualink_session_equal(before, after));
	}
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
}

static struct ualink_packet packet(struct ualink_mock *src, struct ualink_mock *dst, u8 type)
{
	return (struct ualink_packet){
		.version = UALINK_VERSION_MAX,
		.type = type,
		.src = src->id,
		.dst = dst->id,
		.request = ualink_msg_is_greeting(type) || type == UALINK_MSG_BYE ? 0 : 77,
		.session = { 0x1111, 0x2222 },
	};
}

static struct ualink_packet hello_packet(struct ualink_mock *src, struct ualink_mock *dst,
					 u8 type)
{
	struct ualink_packet pkt = packet(src, dst, type);

	pkt.hello.version_min = UALINK_VERSION_MIN;
	pkt.hello.version_max = UALINK_VERSION_MAX;
	pkt.hello.segment_shift = src->segment_shift;
	pkt.hello.page_shift = 12;
	export_uuid(pkt.hello.vpod, &src->udev->vpod);
	return pkt;
}

/* Answers that nobody has asked for. */
static void inject_unsolicited(struct pair *p)
{
	struct ualink_packet ack = hello_packet(p->a, p->b, UALINK_MSG_HELLO_ACK);
	struct ualink_packet ready = packet(p->a, p->b, UALINK_MSG_READY);
	struct ualink_packet ready_ack = packet(p->a, p->b, UALINK_MSG_READY_ACK);
	struct ualink_packet nak = packet(p->a, p->b, UALINK_MSG_HELLO_NAK);
	struct kunit *test = p->pod->test;
	u64 ignored = ualink_mock_counter(p->b, UALINK_COUNT_IGNORED);

	nak.session[ualink_challenge_slot(p->a->id, p->b->id)] = 0;
	nak.hello_nak.reason = UALINK_NAK_VPOD;
	ualink_mock_log_clear(p->pod);
	ualink_mock_inject_packet(p->pod, &nak);
	ualink_mock_inject_packet(p->pod, &ack);
	ualink_mock_inject_packet(p->pod, &ready);
	ualink_mock_inject_packet(p->pod, &ready_ack);
	ualink_mock_settle(p->pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p->pod, 0), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p->b, UALINK_COUNT_IGNORED), ignored + 4);
}

static void session_ignores_unsolicited(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_import *obj;
	u64 before[2], after[2];

	inject_unsolicited(&p);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_DOWN);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.b, p.a));

	obj = ualink_mock_get(p.b, ualink_mock_export(p.a));
	ualink_mock_settle(p.pod);
	get_session(&p, before);
	inject_unsolicited(&p);
	get_session(&p, after);
	KUNIT_EXPECT_TRUE(test, ualink_session_equal(before, after));
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);
}

/* The initiator never hears READY_ACK; that the other uses the session says the same. */
static void session_is_implied(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *of_a = ualink_mock_export(p.a), *of_b = ualink_mock_export(p.b);
	struct ualink_mock_async *by_a;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_READY_ACK, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	by_a = ualink_mock_import_begin(p.a, of_b, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(p.b, p.a) == UALINK_PEER_UP);
	KUNIT_EXPECT_NE(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_UP);
	ualink_mock_get(p.b, of_a);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(by_a));
	KUNIT_EXPECT_TRUE(test, ualink_mock_gate(p.a, p.b));
}

/* The message that shows it comes while the gate is only opening, and then all fails. */
static void session_fails_while_opening(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *of_a = ualink_mock_export(p.a), *of_b = ualink_mock_export(p.b);
	struct ualink_mock_async *by_a, *by_b;
	struct ualink_peer *peer;

	ualink_mock_stop(p.a, UALINK_MOCK_GATE);
	by_a = ualink_mock_import_begin(p.a, of_b, 0);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_GATE));
	by_b = ualink_mock_import_begin(p.b, of_a, 0);
	peer = ualink_mock_peer(p.a, p.b);
	UALINK_MOCK_EXPECT(test, READ_ONCE(peer->stashed));
	/* From here on, no interrupt tells that there is something to receive. */
	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, 0, p.b->id, p.a->id, UALINK_MOCK_ANY);

	ualink_notify_link_down(p.a->udev, p.b->id);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(by_a), ERR_PTR(-ENODEV));
	ualink_mock_go(p.a, UALINK_MOCK_GATE);
	/* The other is told that there is no such session, and makes a new one. */
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_NAK) == 1);
	ualink_mock_rules_clear(p.pod);
	ualink_mock_release_held(p.pod, false);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(by_b));
	KUNIT_EXPECT_EQ(test, sessions(p.b, p.a), 2);
	KUNIT_EXPECT_EQ(test, sessions(p.a, p.b), 1);
}

static u64 own_challenge(struct ualink_mock *node, struct ualink_mock *other,
			 const struct ualink_packet *hello)
{
	return hello->session[ualink_challenge_slot(node->id, other->id)];
}

/* Nobody answers in time; who answers later does not get the session any more. */
static void session_is_abandoned(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);
	struct ualink_packet first, second;

	ualink_mock_tune(p.pod, UALINK_REQUEST_MS, 250);
	ualink_mock_set_deaf(p.b, true);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-ETIMEDOUT),
			    ualink_mock_import_with(p.a, mem, UALINK_ACCESS_READ, 10000));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_DOWN);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO, &first));

	ualink_mock_log_clear(p.pod);
	ualink_mock_set_deaf(p.b, false);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO_ACK), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_READY), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_DOWN);

	ualink_mock_tune(p.pod, UALINK_REQUEST_MS, 10000);
	ualink_mock_get(p.a, mem);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO, &second));
	KUNIT_EXPECT_NE(test, own_challenge(p.a, p.b, &first), own_challenge(p.a, p.b, &second));
}

/* READY is never answered: the initiator begins anew, with another challenge. */
static void session_starts_over(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);
	struct ualink_mock_async *async;
	struct ualink_packet first, second;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_READY, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p.a, mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO, &first));
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO) == 2);
	ualink_mock_rules_clear(p.pod);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO, &second));
	KUNIT_EXPECT_NE(test, own_challenge(p.a, p.b, &first), own_challenge(p.a, p.b, &second));
}

/* Two that cannot understand each other. */
static const struct ualink_mock_config misfits[] = {
	{ .vpod = 1 },
	{ .segment_shift = 30 },
	{ .block_sizes = SZ_64K },
};

static void misfit_name(const struct ualink_mock_config *config, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", config->vpod ? "vPod" :
		 config->segment_shift ? "segment size" : "page size");
}

KUNIT_ARRAY_PARAM(misfit, misfits, misfit_name);

static void session_refused_for_misfit(struct kunit *test)
{
	const struct ualink_mock_config configs[2] = {
		{}, *(const struct ualink_mock_config *)test->param_value,
	};
	struct pair p = make_pair(test, configs);
	struct ualink_mock_mem *mem = ualink_mock_export_with(p.b, SZ_64K, false, NULL);
	int i;

	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, mem), ERR_PTR(-ENODEV));
		KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b),
				UALINK_PEER_INCOMPATIBLE);
		KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO_NAK), i);
	}
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_HELLO_ACK), 0);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(p.b, p.a));
}

/* A version from the future: in the HELLO, in the header, and in an answer. */
static void session_refused_for_version(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);
	struct ualink_packet hello = hello_packet(p.a, p.b, UALINK_MSG_HELLO);
	struct ualink_mock_async *async;
	struct ualink_packet nak, ack;

	hello.session[ualink_challenge_slot(p.b->id, p.a->id)] = 0;
	hello.hello.version_min = UALINK_VERSION_MAX + 1;
	hello.hello.version_max = UALINK_VERSION_MAX + 2;
	ualink_mock_inject_packet(p.pod, &hello);
	ualink_mock_settle(p.pod);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO_NAK, &nak));
	KUNIT_EXPECT_EQ(test, nak.hello_nak.reason, UALINK_NAK_VERSION);

	ualink_mock_log_clear(p.pod);
	hello.version = UALINK_VERSION_MAX + 1;
	ualink_mock_inject_packet(p.pod, &hello);
	ualink_mock_settle(p.pod);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO_NAK, &nak));
	KUNIT_EXPECT_EQ(test, nak.hello_nak.reason, UALINK_NAK_VERSION);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 1);

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, 0, p.a->id, p.b->id, UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p.a, mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_HELLO, &hello));
	ack = hello_packet(p.b, p.a, UALINK_MSG_HELLO_ACK);
	ack.session[ualink_challenge_slot(p.a->id, p.b->id)] = own_challenge(p.a, p.b, &hello);
	ack.hello.version_min = UALINK_VERSION_MAX + 1;
	ack.hello.version_max = UALINK_VERSION_MAX + 1;
	ualink_mock_inject_packet(p.pod, &ack);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(async), ERR_PTR(-ENODEV));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_INCOMPATIBLE);
}

static void session_refused_by_inactive(struct kunit *test)
{
	struct pair p = make_pair(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);

	ualink_device_deactivate(p.b->udev);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, mem), ERR_PTR(-ENODEV));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.a, p.b), UALINK_PEER_DOWN);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.b, mem), ERR_PTR(-ENOTCONN));

	KUNIT_ASSERT_EQ(test, ualink_device_activate(p.b->udev), 0);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, mem), ERR_PTR(-ENOENT));
	ualink_mock_get(p.a, ualink_mock_export(p.b));
}

/* One that is no member floods; nobody answers, and a neighbor is served all the same. */
static void session_refused_to_stranger(struct kunit *test)
{
	static const struct ualink_mock_config configs[3] = { [2] = { .stranger = true } };
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, configs, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	struct ualink_packet hello = hello_packet(c, b, UALINK_MSG_HELLO);
	struct ualink_mock_mem *mem = ualink_mock_export(c);
	int i;

	hello.session[ualink_challenge_slot(b->id, c->id)] = 0;
	for (i = 0; i < 1000; i++)
		ualink_mock_inject_packet(pod, &hello);
	ualink_mock_get(a, ualink_mock_export(b));
	ualink_mock_settle(pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(b, UALINK_COUNT_BAD_MSGS), 1000);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_HELLO_ACK), 1);
	KUNIT_EXPECT_NULL(test, ualink_mock_peer(b, c));

	ualink_mock_log_clear(pod);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(a, mem), ERR_PTR(-EXDEV));
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, 0), 0);
	KUNIT_EXPECT_NULL(test, ualink_mock_peer(a, c));
}

/* One that answers HELLO for ever, but cannot be ready since its gate does not close. */
static void session_gives_up(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem = ualink_mock_export(b);
	unsigned int sent;

	ualink_mock_get(a, mem);
	ualink_mock_fail(b, UALINK_MOCK_GATE, -EIO, UINT_MAX);
	ualink_mock_restart(a);
	ualink_mock_tune(pod, UALINK_REQUEST_MS, 2000);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_with(a, mem, UALINK_ACCESS_READ, 100),
			    ERR_PTR(-ETIMEDOUT));
	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(a, b) == UALINK_PEER_DOWN);
	KUNIT_EXPECT_TRUE(test, b->udev->wedged);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(a, b));

	/* And that was the last word. */
	ualink_mock_settle(pod);
	sent = ualink_mock_sent(pod, 0);
	msleep(500);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, 0), sent);
	ualink_mock_fail(b, UALINK_MOCK_GATE, 0, 0);
}

static struct kunit_case ualink_session_cases[] = {
	KUNIT_CASE(session_is_made),
	KUNIT_CASE_PARAM(session_survives_accident, accident_gen_params),
	KUNIT_CASE_PARAM(session_from_crossing, crossing_gen_params),
	KUNIT_CASE(session_ignores_replay),
	KUNIT_CASE(session_ignores_unsolicited),
	KUNIT_CASE(session_is_implied),
	KUNIT_CASE(session_fails_while_opening),
	KUNIT_CASE(session_is_abandoned),
	KUNIT_CASE(session_starts_over),
	KUNIT_CASE_PARAM(session_refused_for_misfit, misfit_gen_params),
	KUNIT_CASE(session_refused_for_version),
	KUNIT_CASE(session_refused_by_inactive),
	KUNIT_CASE(session_refused_to_stranger),
	KUNIT_CASE_SLOW(session_gives_up),
	{}
};

static struct kunit_suite ualink_session_suite = {
	.name = "ualink_session",
	.exit = ualink_mock_exit,
	.test_cases = ualink_session_cases,
};

kunit_test_suite(ualink_session_suite);
