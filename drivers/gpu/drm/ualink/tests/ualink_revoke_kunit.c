// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Revoke: that the memory is released when nobody can reach it any more, and not
 * before; that nobody who is mute can delay that; and what becomes of the range then.
 */

#include <linux/module.h>

#include "ualink_mock.h"

/* An exporter b and an importer a of one export. */
struct pair {
	struct ualink_mock_pod *pod;
	struct ualink_mock *a, *b;
	struct ualink_mock_mem *mem;
	struct ualink_mock_import *obj;
};

static struct pair make_pair(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct pair p = { .pod = pod, .a = &pod->nodes[0], .b = &pod->nodes[1] };

	p.mem = ualink_mock_export(p.b);
	p.obj = ualink_mock_get(p.a, p.mem);
	ualink_mock_settle(pod);
	ualink_mock_log_clear(pod);
	return p;
}

static void expect_revoked(struct ualink_mock_import *obj)
{
	struct kunit *test = obj->node->pod->test;

	UALINK_MOCK_EXPECT(test, obj->deaths == 1);
	KUNIT_EXPECT_EQ(test, obj->why, UALINK_DEATH_REVOKED);
	KUNIT_EXPECT_EQ(test, ualink_import_death(obj->imp), UALINK_DEATH_REVOKED);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, false), -EFAULT);
}

static void revoke(struct ualink_mock_mem *mem)
{
	struct kunit *test = mem->node->pod->test;

	ualink_export_end(mem->exp);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(mem->exp), 0);
	KUNIT_EXPECT_TRUE(test, ualink_mock_released(mem));
}

/* The export is over, its range is free, and so is all that it needed. */
static void expect_freed(struct ualink_mock *node)
{
	struct kunit *test = node->pod->test;

	UALINK_MOCK_EXPECT(test, !node->udev->nr_quarantined);
	KUNIT_EXPECT_EQ(test, node->udev->npa.quarantined, 0);
	KUNIT_EXPECT_EQ(test, node->udev->npa.used, 0);
	KUNIT_EXPECT_EQ(test, node->udev->nr_grants, 0);
}

static const unsigned int importers[] = { 1, 2, 64 };

KUNIT_ARRAY_PARAM(importers, importers, NULL);

static void revoke_costs_two_each(struct kunit *test)
{
	unsigned int i, count = *(const unsigned int *)test->param_value;
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, count + 1);
	struct ualink_mock *owner = &pod->nodes[0];
	struct ualink_mock_mem *mem = ualink_mock_export(owner);
	struct ualink_mock_import *objs[64];

	for (i = 0; i < count; i++)
		objs[i] = ualink_mock_get(&pod->nodes[i + 1], mem);
	ualink_mock_settle(pod);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(mem->exp, NULL, 0), count);

	ualink_mock_log_clear(pod);
	revoke(mem);
	for (i = 0; i < count; i++)
		expect_revoked(objs[i]);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_REVOKE), count);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_REVOKE_ACK), count);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, 0), 2 * count);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(owner, UALINK_COUNT_REVOKE_TIMEOUTS), 0);
	expect_freed(owner);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(&pod->nodes[1], mem), ERR_PTR(-ENOENT));
}

/* Work that runs is given the grace, and not more. */
static void revoke_has_grace(struct kunit *test)
{
	struct pair p = make_pair(test);
	unsigned long start;

	ualink_mock_tune(p.pod, UALINK_REVOKE_GRACE_MS, 200);
	p.obj->busy = true;
	start = jiffies;
	revoke(p.mem);
	KUNIT_EXPECT_GE(test, jiffies - start, msecs_to_jiffies(200));
	KUNIT_EXPECT_GT(test, p.obj->tries, 1);
	KUNIT_EXPECT_EQ(test, p.obj->forced, 1);
	expect_revoked(p.obj);
	expect_freed(p.b);
}

static void revoke_waits_for_work(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_tune(p.pod, UALINK_REVOKE_GRACE_MS, 15000);
	p.obj->busy = true;
	ualink_export_end(p.mem->exp);
	UALINK_MOCK_EXPECT(test, READ_ONCE(p.obj->tries) > 3);
	KUNIT_EXPECT_FALSE(test, ualink_mock_released(p.mem));
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), 0);
	p.obj->busy = false;
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	KUNIT_EXPECT_EQ(test, p.obj->forced, 0);
	expect_revoked(p.obj);
	expect_freed(p.b);
}

/* The importer's own troubles delay its answer, and nothing more. */
static const struct {
	const char *name;
	enum ualink_mock_op op;
	int error;
} troubles[] = {
	{ "no memory", UALINK_MOCK_INVALIDATE, -ENOMEM },
	{ "flush fails", UALINK_MOCK_IMPORT_FLUSH, -EIO },
};

KUNIT_ARRAY_PARAM_DESC(trouble, troubles, name);

static void revoke_survives_trouble(struct kunit *test)
{
	const typeof(troubles[0]) *trouble = test->param_value;
	struct pair p = make_pair(test);

	ualink_mock_fail(p.a, trouble->op, trouble->error, 3);
	revoke(p.mem);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(p.a, trouble->op), 4);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK), 1);
	expect_revoked(p.obj);
	expect_freed(p.b);
}

/* What frees the range that a mute importer might still reach. */
enum freedom {
	FREE_BY_ACK,
	FREE_BY_SESSION,
	FREE_BY_GATE,
	FREE_BY_LEAVING,
	FREE_BY_RESET,
};

static const struct {
	const char *name;
	enum freedom freedom;
} freedoms[] = {
	{ "late answer", FREE_BY_ACK },
	{ "new session", FREE_BY_SESSION },
	{ "closed gate", FREE_BY_GATE },
	{ "goodbye", FREE_BY_LEAVING },
	{ "own reset", FREE_BY_RESET },
};

KUNIT_ARRAY_PARAM_DESC(freedom, freedoms, name);

static void set_free(struct pair *p, enum freedom freedom)
{
	switch (freedom) {
	case FREE_BY_ACK:
		ualink_mock_set_deaf(p->a, false);
		break;
	case FREE_BY_SESSION:
		ualink_mock_restart(p->a);
		ualink_mock_set_deaf(p->a, false);
		break;
	case FREE_BY_GATE:
		ualink_notify_link_down(p->b->udev, p->a->id);
		break;
	case FREE_BY_LEAVING:
		ualink_device_deactivate(p->a->udev);
		break;
	case FREE_BY_RESET:
		ualink_device_deactivate(p->b->udev);
		break;
	}
}

static void revoke_leaves_quarantine(struct kunit *test)
{
	const typeof(freedoms[0]) *param = test->param_value;
	struct pair p = make_pair(test);
	struct ualink_device_info info;
	struct ualink_mock_mem *next;
	u64 offset = p.mem->offset;

	ualink_mock_set_deaf(p.a, true);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	revoke(p.mem);
	/* It does not know yet, but reaches nothing, not even what is exported next. */
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), -ENXIO);
	next = ualink_mock_export(p.b);
	KUNIT_EXPECT_NE(test, next->offset, offset);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), -ENXIO);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_SUSPECT);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.b, UALINK_COUNT_REVOKE_TIMEOUTS), 1);

	/* Time frees nothing. */
	msleep(200);
	ualink_device_get_info(p.b->udev, &info);
	KUNIT_EXPECT_EQ(test, info.npa_quarantined, UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, info.npa_used, 2 * UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, info.exported_bytes, UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, info.grants, 1);

	revoke(next);
	set_free(&p, param->freedom);
	expect_freed(p.b);
	KUNIT_EXPECT_NE(test, ualink_mock_access(p.obj, true), 0);
	if (param->freedom == FREE_BY_RESET)
		KUNIT_ASSERT_EQ(test, ualink_device_activate(p.b->udev), 0);
	next = ualink_mock_export(p.b);
	KUNIT_EXPECT_EQ(test, next->offset, offset);
	KUNIT_EXPECT_NE(test, ualink_mock_access(p.obj, true), 0);
	ualink_mock_set_deaf(p.a, false);
}

/* Only the answer to the REVOKE ends the suspicion; nothing else that is heard does. */
static void revoke_ends_suspicion(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	ualink_mock_stop(p.a, UALINK_MOCK_INVALIDATE);
	revoke(p.mem);
	KUNIT_EXPECT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_INVALIDATE));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_SUSPECT);
	ualink_mock_get(p.a, ualink_mock_export(p.b));
	ualink_mock_get(p.b, ualink_mock_export(p.a));
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(p.b, p.a), UALINK_PEER_SUSPECT);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_quarantined, 1);

	ualink_mock_go(p.a, UALINK_MOCK_INVALIDATE);
	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(p.b, p.a) == UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_quarantined, 0);
	expect_revoked(p.obj);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p.b, p.a)->sessions, 1);
}

/* One that answers all but a REVOKE is cut off at the peer timeout. */
static void revoke_cuts_off(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_import *other = ualink_mock_get(p.a, ualink_mock_export(p.b));

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_REVOKE_ACK, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	/* It would come again, and at once. */
	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_HELLO, UALINK_MOCK_ANY,
			 UALINK_MOCK_ANY, UALINK_MOCK_ANY);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	ualink_mock_tune(p.pod, UALINK_HEARTBEAT_MS, 50);
	ualink_mock_tune(p.pod, UALINK_PEER_TIMEOUT_MS, 1500);
	revoke(p.mem);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_quarantined, 1);
	UALINK_MOCK_EXPECT(test, !ualink_mock_gate(p.b, p.a));
	UALINK_MOCK_EXPECT(test, !p.b->udev->nr_quarantined);
	KUNIT_EXPECT_GT(test, ualink_mock_sent(p.pod, UALINK_MSG_PONG), 2);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(other, false), -EACCES);

	/* What follows is a new session, and the old is over for the other as well. */
	ualink_mock_rules_clear(p.pod);
	ualink_mock_get(p.a, ualink_mock_export(p.b));
	KUNIT_EXPECT_EQ(test, other->why, UALINK_DEATH_PEER_RESET);
}

static struct ualink_packet revoke_packet(struct pair *p, u64 tag, u64 grant, u64 request)
{
	struct ualink_peer *peer = ualink_mock_peer(p->b, p->a);

	return (struct ualink_packet){
		.version = UALINK_VERSION_MAX,
		.type = UALINK_MSG_REVOKE,
		.src = p->b->id,
		.dst = p->a->id,
		.request = request,
		.session = { peer->session[0], peer->session[1] },
		.grant = { .tag = tag, .grant = grant },
	};
}

/* Of what it does not know, an importer holds nothing, and says so. */
static void revoke_of_unknown(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_packet pkt, ack;

	pkt = revoke_packet(&p, p.mem->handle.tag ^ BIT_ULL(33), 1234, 77);
	ualink_mock_inject_packet(p.pod, &pkt);
	ualink_mock_settle(p.pod);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_REVOKE_ACK, &ack));
	KUNIT_EXPECT_EQ(test, ack.request, 77);
	KUNIT_EXPECT_EQ(test, ack.grant.tag, pkt.grant.tag);
	KUNIT_EXPECT_EQ(test, ack.grant.grant, 1234);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 1);
	KUNIT_EXPECT_EQ(test, p.obj->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, true), 0);
}

/* Answers that are none change nothing; the right one counts once. */
static void revoke_ignores_answers(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_packet ack, other;
	u64 ignored;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_REVOKE_ACK, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	ualink_export_end(p.mem->exp);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_REVOKE_ACK, &ack));
	ignored = ualink_mock_counter(p.b, UALINK_COUNT_IGNORED);

	other = ack;
	other.request++;
	ualink_mock_inject_packet(p.pod, &other);
	other = ack;
	other.grant.grant++;
	ualink_mock_inject_packet(p.pod, &other);
	other = ack;
	other.grant.tag ^= BIT_ULL(40);
	ualink_mock_inject_packet(p.pod, &other);
	/* A RELEASE of an export that is being revoked is answered, and nothing more. */
	other = ack;
	other.type = UALINK_MSG_RELEASE;
	ualink_mock_inject_packet(p.pod, &other);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.b, UALINK_COUNT_IGNORED), ignored + 4);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_RELEASE_ACK), 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	KUNIT_EXPECT_FALSE(test, ualink_mock_released(p.mem));

	ualink_mock_inject_packet(p.pod, &ack);
	ualink_mock_inject_packet(p.pod, &ack);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.b, UALINK_COUNT_IGNORED), ignored + 5);
	expect_freed(p.b);
}

/* The REVOKE overtakes the answer to the request. */
static void revoke_of_pending(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem = ualink_mock_export(b);
	struct ualink_mock_async *async;

	ualink_mock_rule(pod, UALINK_MOCK_HOLD, UALINK_MSG_IMPORT_RSP, b->id, a->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(a, mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_held(pod));
	revoke(mem);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(async), ERR_PTR(-ENOENT));
	ualink_mock_release_held(pod, false);
	ualink_mock_settle(pod);
	KUNIT_EXPECT_EQ(test, a->udev->nr_import_records, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(a, UALINK_MOCK_INVALIDATE), 0);
	expect_freed(b);
}

/* A record that is being given up, and a newer one of the same export, end as one. */
static void revoke_of_zombie(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_import *obj;

	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_RELEASE, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	ualink_mock_close(p.obj);
	obj = ualink_mock_get(p.a, p.mem);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_import_records, 2);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);

	ualink_mock_stop(p.a, UALINK_MOCK_INVALIDATE);
	ualink_export_end(p.mem->exp);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_INVALIDATE));
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK), 0);
	/* The old RELEASE ends nothing of the new. */
	ualink_mock_rules_clear(p.pod);
	ualink_mock_release_held(p.pod, false);
	UALINK_MOCK_EXPECT(test, p.a->udev->nr_import_records == 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	ualink_mock_go(p.a, UALINK_MOCK_INVALIDATE);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK), 1);
	expect_revoked(obj);
	expect_freed(p.b);
}

/* Only a record that is given up is left: it answers, and its RELEASE is answered too. */
static void revoke_of_zombie_only(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_RELEASE, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	ualink_mock_close(p.obj);
	revoke(p.mem);
	expect_freed(p.b);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_import_records, 1);
	ualink_mock_rules_clear(p.pod);
	ualink_mock_release_held(p.pod, false);
	UALINK_MOCK_EXPECT(test, !p.a->udev->nr_import_records);
}

/* The last user leaves while the import is being revoked. */
static void revoke_meets_close(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_stop(p.a, UALINK_MOCK_INVALIDATE);
	ualink_export_end(p.mem->exp);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(p.a, UALINK_MOCK_INVALIDATE));
	ualink_mock_close(p.obj);
	ualink_mock_go(p.a, UALINK_MOCK_INVALIDATE);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	UALINK_MOCK_EXPECT(test, !p.a->udev->nr_import_records);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_RELEASE), 0);
	expect_freed(p.b);
}

/* More than the window, both ways, through rings that are always full. */
#define MANY	(3 * UALINK_WINDOW)

static void export_many(struct ualink_mock *owner, struct ualink_mock *importer,
			struct ualink_mock_mem **mems, struct ualink_mock_import **objs)
{
	int i;

	for (i = 0; i < MANY; i++) {
		mems[i] = ualink_mock_export(owner);
		objs[i] = ualink_mock_get(importer, mems[i]);
	}
}

static void revoke_many(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_import **objs;
	struct ualink_mock_mem **mems;
	int i;

	mems = kunit_kcalloc(test, 2 * MANY, sizeof(*mems), GFP_KERNEL);
	objs = kunit_kcalloc(test, 2 * MANY, sizeof(*objs), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, mems && objs);
	export_many(a, b, mems, objs);
	export_many(b, a, mems + MANY, objs + MANY);
	ualink_mock_settle(pod);
	ualink_mock_log_clear(pod);

	pod->ring_size = 3;
	for (i = 0; i < MANY; i++) {
		ualink_export_end(mems[i]->exp);
		ualink_export_end(mems[MANY + i]->exp);
	}
	for (i = 0; i < 2 * MANY; i++) {
		KUNIT_EXPECT_EQ(test, ualink_export_wait(mems[i]->exp), 0);
		expect_revoked(objs[i]);
	}
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_REVOKE), 2 * MANY);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(pod, UALINK_MSG_REVOKE_ACK), 2 * MANY);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_REPLIES_LOST), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(b, UALINK_COUNT_REPLIES_LOST), 0);
	/* Many die together: one flush serves those that are there. */
	KUNIT_EXPECT_LT(test, ualink_mock_calls(a, UALINK_MOCK_IMPORT_FLUSH), MANY);
	expect_freed(a);
	expect_freed(b);
}

/* Answers that a peer owes us to other requests do not keep a REVOKE from it. */
static void revoke_overtakes(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_async *asyncs[UALINK_WINDOW + 1];
	int i;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		asyncs[i] = ualink_mock_import_begin(p.b, ualink_mock_export(p.a), 0);
	UALINK_MOCK_EXPECT(test, p.a->udev->nr_grants == UALINK_WINDOW);
	UALINK_MOCK_EXPECT(test, p.b->udev->nr_import_records == ARRAY_SIZE(asyncs));
	revoke(p.mem);
	expect_revoked(p.obj);
	ualink_mock_rules_clear(p.pod);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(asyncs[i]));
}

/* Deadlines that were set under other tunables are kept in their order. */
static void revoke_keeps_deadlines(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_mem *mem = ualink_mock_export(p.b);

	ualink_mock_get(p.a, mem);
	ualink_mock_set_deaf(p.a, true);
	ualink_export_end(p.mem->exp);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	revoke(mem);
	KUNIT_EXPECT_FALSE(test, ualink_mock_released(p.mem));
	ualink_mock_set_deaf(p.a, false);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	expect_freed(p.b);
}

/* The gate does not close: then what the peer holds stays in quarantine until a reset. */
static void revoke_without_gate(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_set_deaf(p.a, true);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	revoke(p.mem);
	ualink_mock_fail(p.b, UALINK_MOCK_GATE, -EIO, 1000);
	ualink_notify_link_down(p.b->udev, p.a->id);
	UALINK_MOCK_EXPECT(test, p.b->udev->wedged);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_quarantined, 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	ualink_device_deactivate(p.b->udev);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_quarantined, 1);

	ualink_mock_fail(p.b, UALINK_MOCK_GATE, 0, 0);
	ualink_mock_reset(p.b);
	ualink_mock_set_deaf(p.a, false);
	KUNIT_ASSERT_EQ(test, ualink_device_activate(p.b->udev), 0);
	ualink_mock_settle(p.pod);
	expect_freed(p.b);
	ualink_mock_get(p.a, ualink_mock_export(p.b));
}

/* TLBs that cannot be emptied: no answer to the exporter, but a way out for the driver. */
static void revoke_without_flush(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_mem *other;

	ualink_mock_fail(p.a, UALINK_MOCK_IMPORT_FLUSH, -EIO, UINT_MAX);
	ualink_mock_tune(p.pod, UALINK_REVOKE_DEADLINE_MS, 50);
	revoke(p.mem);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK), 0);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_quarantined, 1);
	KUNIT_EXPECT_EQ(test, p.obj->deaths, 0);
	KUNIT_EXPECT_TRUE(test, p.a->udev->wedged);
	other = ualink_mock_export(p.b);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, other), ERR_PTR(-EBUSY));
	revoke(other);

	ualink_device_deactivate(p.a->udev);
	KUNIT_EXPECT_EQ(test, p.obj->deaths, 1);
	KUNIT_EXPECT_GT(test, ualink_mock_counter(p.a, UALINK_COUNT_FLUSHES_FAILED), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_REVOKE_ACK), 0);
	/* The exporter has closed its gate by itself. */
	expect_freed(p.b);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(p.obj, false), -EACCES);

	ualink_mock_fail(p.a, UALINK_MOCK_IMPORT_FLUSH, 0, 0);
	ualink_mock_reset(p.a);
	KUNIT_ASSERT_EQ(test, ualink_device_activate(p.a->udev), 0);
	KUNIT_EXPECT_FALSE(test, p.a->udev->wedged);
	ualink_mock_get(p.a, ualink_mock_export(p.b));
}

static struct kunit_case ualink_revoke_cases[] = {
	KUNIT_CASE_PARAM_ATTR(revoke_costs_two_each, importers_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE(revoke_has_grace),
	KUNIT_CASE(revoke_waits_for_work),
	KUNIT_CASE_PARAM(revoke_survives_trouble, trouble_gen_params),
	KUNIT_CASE_PARAM(revoke_leaves_quarantine, freedom_gen_params),
	KUNIT_CASE(revoke_ends_suspicion),
	KUNIT_CASE(revoke_cuts_off),
	KUNIT_CASE(revoke_of_unknown),
	KUNIT_CASE(revoke_ignores_answers),
	KUNIT_CASE(revoke_of_pending),
	KUNIT_CASE(revoke_of_zombie),
	KUNIT_CASE(revoke_of_zombie_only),
	KUNIT_CASE(revoke_meets_close),
	KUNIT_CASE_SLOW(revoke_many),
	KUNIT_CASE(revoke_overtakes),
	KUNIT_CASE(revoke_keeps_deadlines),
	KUNIT_CASE(revoke_without_gate),
	KUNIT_CASE(revoke_without_flush),
	{}
};

static struct kunit_suite ualink_revoke_suite = {
	.name = "ualink_revoke",
	.exit = ualink_mock_exit,
	.test_cases = ualink_revoke_cases,
};

kunit_test_suite(ualink_revoke_suite);
