// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Peers: what ends a session and what does not, and what becomes of imports, grants
 * and the source gate then.
 */

#include <linux/module.h>

#include "../ualink_names.h"
#include "ualink_mock.h"

static u64 sessions(struct ualink_mock *node, struct ualink_mock *other)
{
	return ualink_mock_peer(node, other)->sessions;
}

/* A message of another session about an import of @obj that is alive. */
static void inject_stale(struct ualink_mock_import *obj, u8 type)
{
	struct ualink_mock *importer = obj->node, *exporter = obj->mem->node;
	struct ualink_packet pkt = {
		.version = UALINK_VERSION_MAX,
		.type = type,
		.src = importer->id,
		.dst = exporter->id,
		.request = obj->imp->grant,
		.session = { 0x1111, 0x2222 },
	};

	switch (type) {
	case UALINK_MSG_BYE:
		pkt.request = 0;
		pkt.bye.reason = UALINK_BYE_INACTIVE;
		break;
	case UALINK_MSG_IMPORT_REQ:
		pkt.import_req.tag = obj->handle.tag;
		pkt.import_req.secret = obj->handle.secret;
		pkt.import_req.access = UALINK_ACCESS_READ;
		break;
	case UALINK_MSG_IMPORT_RSP:
		pkt.import_rsp.tag = obj->handle.tag;
		pkt.import_rsp.offset = UALINK_MOCK_PAGE;
		pkt.import_rsp.size = UALINK_MOCK_PAGE;
		pkt.import_rsp.access = UALINK_ACCESS_READ;
		break;
	case UALINK_MSG_RELEASE:
	case UALINK_MSG_RELEASE_ACK:
	case UALINK_MSG_REVOKE:
	case UALINK_MSG_REVOKE_ACK:
		pkt.grant.tag = obj->handle.tag;
		pkt.grant.grant = obj->imp->grant;
		break;
	}
	/* Those that come from the exporter. */
	if (type == UALINK_MSG_IMPORT_RSP || type == UALINK_MSG_RELEASE_ACK ||
	    type == UALINK_MSG_REVOKE)
		swap(pkt.src, pkt.dst);
	ualink_mock_inject_packet(importer->pod, &pkt);
}

static const u8 stale_types[] = {
	UALINK_MSG_IMPORT_REQ, UALINK_MSG_IMPORT_RSP, UALINK_MSG_RELEASE,
	UALINK_MSG_RELEASE_ACK, UALINK_MSG_REVOKE, UALINK_MSG_REVOKE_ACK, UALINK_MSG_PING,
	UALINK_MSG_PONG, UALINK_MSG_BYE,
};

static void stale_name(const u8 *type, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", ualink_msg_type_name(*type));
}

KUNIT_ARRAY_PARAM(stale, stale_types, stale_name);

/* A message of another session is refused aloud if it is a request, and changes nothing. */
static void peer_refuses_other_session(struct kunit *test)
{
	const u8 *type = test->param_value;
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_import *obj = ualink_mock_get(a, ualink_mock_export(b));
	unsigned int naks = ualink_msg_is_request(*type);

	ualink_mock_settle(pod);
	ualink_mock_log_clear(pod);
	inject_stale(obj, *type);
	ualink_mock_settle(pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_NAK), naks);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, 0), naks);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(a, b), UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(b, a), UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, sessions(a, b), 1);
	KUNIT_EXPECT_EQ(test, b->udev->nr_grants, 1);
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
}

static void inject_nak(struct ualink_mock_pod *pod, const struct ualink_packet *request)
{
	struct ualink_packet nak = {
		.version = UALINK_VERSION_MAX,
		.type = UALINK_MSG_NAK,
		.src = request->dst,
		.dst = request->src,
		.request = request->request,
		.session = { request->session[0], request->session[1] },
		.nak = {
			.version = UALINK_VERSION_MAX,
			.type = request->type,
			.reason = UALINK_NAK_SESSION,
			.request = request->request,
			.session = { request->session[0], request->session[1] },
		},
	};

	ualink_mock_inject_packet(pod, &nak);
	ualink_mock_settle(pod);
}

/* Only a NAK that echoes a request without an answer leads to a greeting. */
static void peer_believes_echo_only(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem = ualink_mock_export(b);
	struct ualink_mock_import *obj = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_mock_async *async;
	struct ualink_packet request, other;

	ualink_mock_rule(pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_REQ, a->id, b->id,
			 UALINK_MOCK_ANY);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(pod, UALINK_MSG_IMPORT_REQ, &other));
	async = ualink_mock_import_begin(a, mem, 0);
	KUNIT_ASSERT_TRUE(test, ualink_mock_wait(ualink_mock_sent(pod, UALINK_MSG_IMPORT_REQ) ==
						 2));
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(pod, UALINK_MSG_IMPORT_REQ, &request));

	ualink_mock_log_clear(pod);
	inject_nak(pod, &other);
	other = request;
	other.type = UALINK_MSG_RELEASE;
	inject_nak(pod, &other);
	other = request;
	other.session[0]++;
	inject_nak(pod, &other);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_HELLO), 0);
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);

	ualink_mock_rules_clear(pod);
	inject_nak(pod, &request);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_HELLO), 1);
	KUNIT_EXPECT_EQ(test, sessions(a, b), 2);
	KUNIT_EXPECT_EQ(test, obj->deaths, 1);
	KUNIT_EXPECT_EQ(test, obj->why, UALINK_DEATH_PEER_RESET);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, false), -EFAULT);
}

/*
 * A peer restarts without a word. The gate that is open for it closes, and with that
 * what it held is given up; it opens when the peer has said that it holds nothing.
 */
static void peer_restarts(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *of_a = ualink_mock_export(a), *of_b = ualink_mock_export(b);
	struct ualink_mock_import *by_a = ualink_mock_get(a, of_b);
	struct ualink_mock_import *by_b = ualink_mock_get(b, of_a);
	struct ualink_mock_async *async;

	ualink_mock_restart(b);
	KUNIT_EXPECT_EQ(test, by_b->deaths, 1);
	KUNIT_EXPECT_EQ(test, by_b->why, UALINK_DEATH_LOCAL_RESET);
	KUNIT_EXPECT_TRUE(test, ualink_mock_released(of_b));
	KUNIT_EXPECT_EQ(test, by_a->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(by_a, false), -EACCES);

	ualink_mock_fail(a, UALINK_MOCK_IMPORT_FLUSH, -EIO, 5);
	ualink_mock_rule(pod, UALINK_MOCK_HOLD, UALINK_MSG_READY, a->id, b->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(a, ualink_mock_export(b), 0);
	KUNIT_ASSERT_TRUE(test, ualink_mock_wait(ualink_mock_held(pod)));
	KUNIT_EXPECT_EQ(test, by_a->deaths, 1);
	KUNIT_EXPECT_EQ(test, by_a->why, UALINK_DEATH_PEER_RESET);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(by_a, false), -EFAULT);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(b, a));
	KUNIT_EXPECT_NE(test, ualink_mock_peer_state(b, a), UALINK_PEER_UP);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(a, b));
	KUNIT_EXPECT_EQ(test, a->udev->nr_grants, 0);

	ualink_mock_rules_clear(pod);
	ualink_mock_rule(pod, UALINK_MOCK_HOLD, UALINK_MSG_READY_ACK, b->id, a->id,
			 UALINK_MOCK_ANY);
	ualink_mock_release_held(pod, false);
	KUNIT_ASSERT_TRUE(test, ualink_mock_wait(ualink_mock_held(pod)));
	KUNIT_EXPECT_TRUE(test, ualink_mock_gate(b, a));
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(a, b));

	ualink_mock_rules_clear(pod);
	ualink_mock_release_held(pod, false);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
	KUNIT_EXPECT_TRUE(test, ualink_mock_gate(a, b));
	KUNIT_EXPECT_EQ(test, a->udev->nr_grants, 0);
	KUNIT_EXPECT_EQ(test, b->udev->nr_grants, 1);
	KUNIT_EXPECT_EQ(test, by_a->deaths, 1);
	KUNIT_EXPECT_EQ(test, by_b->deaths, 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_IMPORTS_DIED), 1);
}

/* The ways in which a peer goes. */
enum loss {
	LOSS_BYE,
	LOSS_LINK_DOWN,
	LOSS_NO_ROUTE,
	LOSS_SILENCE,
};

static const struct {
	const char *name;
	enum loss loss;
	enum ualink_death why;
} losses[] = {
	{ "bye", LOSS_BYE, UALINK_DEATH_PEER_LEFT },
	{ "link down", LOSS_LINK_DOWN, UALINK_DEATH_PEER_LOST },
	{ "no route", LOSS_NO_ROUTE, UALINK_DEATH_PEER_LOST },
	{ "silence", LOSS_SILENCE, UALINK_DEATH_PEER_LOST },
};

KUNIT_ARRAY_PARAM_DESC(loss, losses, name);

static void lose(struct ualink_mock *node, struct ualink_mock *peer, enum loss loss)
{
	switch (loss) {
	case LOSS_BYE:
		ualink_device_deactivate(peer->udev);
		break;
	case LOSS_LINK_DOWN:
		ualink_notify_link_down(node->udev, peer->id);
		break;
	case LOSS_NO_ROUTE:
		ualink_mock_rule(node->pod, UALINK_MOCK_NO_LINK, 0, node->id, peer->id,
				 UALINK_MOCK_ANY);
		break;
	case LOSS_SILENCE:
		peer->mute = true;
		ualink_device_set_tunable(node->udev, UALINK_PEER_TIMEOUT_MS, 1500);
		break;
	}
}

/* All that was between the two ends, at once; what is between others goes on. */
static void peer_is_lost(struct kunit *test)
{
	const typeof(losses[0]) *param = test->param_value;
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	struct ualink_mock_mem *of_a = ualink_mock_export(a), *of_b = ualink_mock_export(b);
	struct ualink_mock_import *from_b, *from_c, *by_b, *by_c;
	struct ualink_mock_async *waiting;

	from_b = ualink_mock_get(a, of_b);
	from_c = ualink_mock_get(a, ualink_mock_export(c));
	by_b = ualink_mock_get(b, of_a);
	by_c = ualink_mock_get(c, of_a);
	KUNIT_EXPECT_EQ(test, a->udev->nr_grants, 2);
	ualink_mock_rule(pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, b->id, a->id,
			 UALINK_MOCK_ANY);
	waiting = ualink_mock_import_begin(a, ualink_mock_export(b), 0);
	UALINK_MOCK_EXPECT(test, b->udev->nr_grants == 2);

	lose(a, b, param->loss);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(waiting), ERR_PTR(-ENODEV));
	UALINK_MOCK_EXPECT(test, from_b->deaths == 1);
	KUNIT_EXPECT_EQ(test, from_b->why, param->why);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(from_b, false), -EFAULT);
	UALINK_MOCK_EXPECT(test, !ualink_mock_gate(a, b) && a->udev->nr_grants == 1);
	KUNIT_EXPECT_NE(test, ualink_mock_access(by_b, false), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(a, b), UALINK_PEER_DOWN);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_IMPORTS_DIED), 1);

	KUNIT_EXPECT_EQ(test, from_c->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(from_c, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(by_c, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(a, c), UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, sessions(a, c), 1);
	b->mute = false;
}

/* The client is told of all before the records end, and may let go of some in between. */
static void peer_loss_is_told_first(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem = ualink_mock_export(b);
	struct ualink_mock_import *kept = ualink_mock_get(a, mem);
	struct ualink_mock_import *closed = ualink_mock_get(a, ualink_mock_export(b)), *again;
	struct ualink_mock_async *waiting;

	ualink_mock_stop(a, UALINK_MOCK_DIED);
	ualink_notify_link_down(a->udev, b->id);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(a, UALINK_MOCK_DIED));
	KUNIT_EXPECT_EQ(test, kept->why, UALINK_DEATH_PEER_LOST);
	KUNIT_EXPECT_EQ(test, closed->why, UALINK_DEATH_PEER_LOST);
	KUNIT_EXPECT_EQ(test, a->udev->nr_import_records, 2);
	KUNIT_EXPECT_EQ(test, a->udev->nr_imports, 0);

	ualink_mock_close(closed);
	waiting = ualink_mock_import_begin(a, mem, 0);
	UALINK_MOCK_EXPECT(test, a->udev->nr_import_records == 3);
	/* No session before what was imported in the last one is gone. */
	UALINK_MOCK_EXPECT(test, ualink_mock_peer(a, b)->greeting == UALINK_GREETING_CLEANING);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(kept, false), -EFAULT);

	ualink_mock_go(a, UALINK_MOCK_DIED);
	again = ualink_mock_import_end(waiting);
	KUNIT_ASSERT_FALSE(test, IS_ERR(again));
	KUNIT_EXPECT_EQ(test, ualink_mock_access(again, true), 0);
	KUNIT_EXPECT_EQ(test, a->udev->nr_import_records, 1);
	KUNIT_EXPECT_EQ(test, kept->deaths, 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(a, UALINK_MOCK_DEAD), 2);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_IMPORTS_DIED), 2);
}

/* Silence that is not too long costs nothing. */
static void peer_is_suspect(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_import *obj = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_peer_info info;

	ualink_mock_settle(pod);
	ualink_mock_log_clear(pod);
	ualink_mock_set_deaf(b, true);
	/* That also a timer which waits for the old value sees the new one, is a part of it. */
	ualink_device_set_tunable(a->udev, UALINK_HEARTBEAT_MS, 50);
	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(a, b) == UALINK_PEER_SUSPECT);
	ualink_peer_get_info(a->udev, b->id, &info);
	KUNIT_EXPECT_FALSE(test, info.confirmed);
	KUNIT_EXPECT_EQ(test, info.imports, 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);

	ualink_mock_set_deaf(b, false);
	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(a, b) == UALINK_PEER_UP);
	ualink_peer_get_info(a->udev, b->id, &info);
	KUNIT_EXPECT_TRUE(test, info.confirmed);
	KUNIT_EXPECT_EQ(test, info.sessions, 1);
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_HELLO), 0);
}

/* Heartbeats only where there is something to lose. */
static void peer_is_left_alone(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_import *obj;

	ualink_mock_connect(a, b);
	ualink_mock_tune(pod, UALINK_HEARTBEAT_MS, 20);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_PING), 0);

	obj = ualink_mock_get(a, ualink_mock_export(b));
	UALINK_MOCK_EXPECT(test, ualink_mock_sent(pod, UALINK_MSG_PING) >= 2);
	ualink_mock_close(obj);
	UALINK_MOCK_EXPECT(test, !b->udev->nr_grants && !a->udev->nr_import_records);
	msleep(100);
	ualink_mock_settle(pod);
	ualink_mock_log_clear(pod);
	msleep(100);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_PING), 0);
}

/* One that answers all but a single request keeps the session for a while, not for ever. */
static void peer_is_deaf_to_one(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_import *kept = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_mock_import *closed = ualink_mock_get(a, ualink_mock_export(b));
	unsigned long start = jiffies;

	ualink_mock_tune(pod, UALINK_HEARTBEAT_MS, 50);
	ualink_mock_tune(pod, UALINK_PEER_TIMEOUT_MS, 1000);
	ualink_mock_rule(pod, UALINK_MOCK_DROP, UALINK_MSG_RELEASE, a->id, b->id,
			 UALINK_MOCK_ANY);
	ualink_mock_close(closed);
	/* The peer, which knows of no trouble, may greet again at once. */
	UALINK_MOCK_EXPECT(test, kept->deaths == 1);
	KUNIT_EXPECT_GE(test, jiffies - start, secs_to_jiffies(4));
	KUNIT_EXPECT_GT(test, ualink_mock_sent(pod, UALINK_MSG_PONG), 1);
	KUNIT_EXPECT_EQ(test, kept->why, UALINK_DEATH_PEER_LOST);

	ualink_mock_rules_clear(pod);
	ualink_mock_get(a, ualink_mock_export(b));
	KUNIT_EXPECT_EQ(test, sessions(a, b), 2);
}

/* One that asks and does not take its answers loses answers, and nobody else anything. */
static void peer_does_not_read(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	struct ualink_mock_import *obj = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_packet ping;
	int i;

	ualink_mock_settle(pod);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(pod, UALINK_MSG_IMPORT_REQ, &ping));
	ping.type = UALINK_MSG_PING;
	ualink_mock_set_deaf(a, true);
	for (i = 0; i < 1000; i++) {
		ping.request++;
		ualink_mock_inject_packet(pod, &ping);
	}
	ualink_mock_get(c, ualink_mock_export(b));
	ualink_mock_settle(pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(b, UALINK_COUNT_REPLIES_LOST),
			1000 - pod->ring_size - UALINK_REPLIES);

	ualink_mock_set_deaf(a, false);
	ualink_mock_settle(pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_IGNORED),
			pod->ring_size + UALINK_REPLIES);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
	ualink_mock_get(a, ualink_mock_export(b));
	KUNIT_EXPECT_EQ(test, sessions(a, b), 1);
}

/* A pod in which all import from all, and somebody is waiting for each. */
static void make_everything(struct ualink_mock_pod *pod)
{
	unsigned int i, j;

	for (i = 0; i < pod->count; i++)
		for (j = 0; j < pod->count; j++)
			ualink_mock_get(&pod->nodes[i], ualink_mock_export(&pod->nodes[j]));
	/* Some have been given up, and some have been asked for. */
	ualink_mock_rule(pod, UALINK_MOCK_HOLD, UALINK_MSG_RELEASE, UALINK_MOCK_ANY,
			 UALINK_MOCK_ANY, UALINK_MOCK_ANY);
	for (i = 1; i < pod->count; i++)
		ualink_mock_close(ualink_mock_get(&pod->nodes[0],
						  ualink_mock_export(&pod->nodes[i])));
	ualink_mock_rule(pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, UALINK_MOCK_ANY,
			 UALINK_MOCK_ANY, UALINK_MOCK_ANY);
	for (i = 1; i < pod->count; i++)
		ualink_mock_import_begin(&pod->nodes[i], ualink_mock_export(&pod->nodes[0]), 0);
	UALINK_MOCK_EXPECT(pod->test,
			   pod->nodes[0].udev->nr_grants == 2 * pod->count - 1);
}

static void peer_deactivates_with_all(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 4);
	struct ualink_mock *a = &pod->nodes[0];
	unsigned int i;

	make_everything(pod);
	ualink_device_deactivate(a->udev);
	ualink_mock_expect_clean(a);
	for (i = 0; i < pod->count; i++)
		KUNIT_EXPECT_FALSE(test, ualink_mock_gate(a, &pod->nodes[i]));
	ualink_mock_settle(pod);
	for (i = 1; i < pod->count; i++) {
		KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(&pod->nodes[i], a),
				UALINK_PEER_DOWN);
		KUNIT_EXPECT_EQ(test, ualink_mock_counter(&pod->nodes[i],
							  UALINK_COUNT_IMPORTS_DIED), 1);
	}

	ualink_mock_rules_clear(pod);
	ualink_mock_release_held(pod, false);
	KUNIT_ASSERT_EQ(test, ualink_device_activate(a->udev), 0);
	KUNIT_EXPECT_EQ(test, ualink_device_activate(a->udev), 0);
	for (i = 0; i < pod->count; i++)
		ualink_mock_get(&pod->nodes[i], ualink_mock_export(a));
}

/* Without deactivation before, and with objects that are put only later. */
static void peer_unregisters_with_all(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 4);
	struct ualink_mock *a = &pod->nodes[0];

	make_everything(pod);
	spin_lock(&pod->lock);
	a->quiet = true;
	spin_unlock(&pod->lock);
	ualink_device_unregister(a->udev);
	ualink_device_unregister(a->udev);
	spin_lock(&pod->lock);
	a->gone = true;
	spin_unlock(&pod->lock);
	ualink_mock_expect_clean(a);
	KUNIT_EXPECT_EQ(test, ualink_device_activate(a->udev), -ENODEV);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_export_with(a, UALINK_MOCK_PAGE, false, NULL),
			    ERR_PTR(-ENODEV));
}

/* Accesses that were refused are counted for who made them; nothing else changes. */
static void peer_faults_are_counted(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	struct ualink_mock_import *obj = ualink_mock_get(b, ualink_mock_export(a));
	atomic64_t *faults = &a->udev->counters[UALINK_COUNT_FAULTS];
	unsigned int i;

	for (i = 0; i < 10000; i++)
		ualink_notify_fault(a->udev, b->id);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ualink_mock_peer(a, b)->faults), 10000);
	ualink_notify_fault(a->udev, a->id);
	KUNIT_EXPECT_EQ(test, atomic64_read(&ualink_mock_peer(a, a)->faults), 1);
	/* Who has never greeted has no counter of its own; what is no id is nobody. */
	ualink_notify_fault(a->udev, c->id);
	ualink_notify_fault(a->udev, UALINK_MAX_IDS);
	KUNIT_EXPECT_NULL(test, xa_load(&a->udev->peers, c->id));
	KUNIT_EXPECT_EQ(test, atomic64_read(faults), 10002);
	KUNIT_EXPECT_EQ(test, atomic64_read(&b->udev->counters[UALINK_COUNT_FAULTS]), 0);

	KUNIT_EXPECT_EQ(test, ualink_mock_peer(a, b)->state, UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, obj->deaths, 0);
}

static struct kunit_case ualink_peer_cases[] = {
	KUNIT_CASE_PARAM(peer_refuses_other_session, stale_gen_params),
	KUNIT_CASE(peer_believes_echo_only),
	KUNIT_CASE(peer_restarts),
	KUNIT_CASE_PARAM(peer_is_lost, loss_gen_params),
	KUNIT_CASE(peer_loss_is_told_first),
	KUNIT_CASE(peer_is_suspect),
	KUNIT_CASE(peer_faults_are_counted),
	KUNIT_CASE(peer_is_left_alone),
	KUNIT_CASE_SLOW(peer_is_deaf_to_one),
	KUNIT_CASE_SLOW(peer_does_not_read),
	KUNIT_CASE(peer_deactivates_with_all),
	KUNIT_CASE(peer_unregisters_with_all),
	{}
};

static struct kunit_suite ualink_peer_suite = {
	.name = "ualink_peer",
	.exit = ualink_mock_exit,
	.test_cases = ualink_peer_cases,
};

kunit_test_suite(ualink_peer_suite);
