// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A member of the vPod whose kernel says what it likes: whatever that is, others keep
 * what they have, and nobody gets what is not meant for it.
 */

#include <linux/bitmap.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sort.h>

#include "ualink_mock.h"

#define ROUNDS		200000
/* Messages between two looks at the victim. */
#define BATCH		500
#define SEED		20261129

struct scene {
	struct ualink_mock_pod *pod;
	struct ualink_mock *victim, *friend, *enemy;
	/* Of the victim: for all, and for the friend only */
	struct ualink_mock_mem *open, *closed;
	/* What the friend has of these, and what the victim has of both */
	struct ualink_mock_import *open_by_friend, *closed_by_friend;
	struct ualink_mock_import *from_friend;
	u64 tags[6];
	/* The session of victim and enemy, as the enemy knows it */
	u64 session[2];
	struct rnd_state rnd;
};

static u32 below(struct scene *scene, u32 n)
{
	return prandom_u32_state(&scene->rnd) % n;
}

static u64 any64(struct scene *scene)
{
	return ((u64)prandom_u32_state(&scene->rnd) << 32) | prandom_u32_state(&scene->rnd);
}

/* Numbers that mean something somewhere, more often than not. */
static u64 number(struct scene *scene)
{
	switch (below(scene, 4)) {
	case 0:
		return below(scene, 8);
	case 1:
		return UALINK_MOCK_PAGE * below(scene, 8);
	case 2:
		return BIT_ULL(below(scene, 64)) - below(scene, 2);
	default:
		return any64(scene);
	}
}

static u64 tag(struct scene *scene)
{
	u32 n = below(scene, ARRAY_SIZE(scene->tags) + 1);

	return n == ARRAY_SIZE(scene->tags) ? any64(scene) : scene->tags[n];
}

static void make_payload(struct scene *scene, struct ualink_packet *pkt)
{
	switch (pkt->type) {
	case UALINK_MSG_HELLO:
	case UALINK_MSG_HELLO_ACK:
		pkt->hello.version_min = 1;
		pkt->hello.version_max = 1 + below(scene, 2);
		pkt->hello.segment_shift = UALINK_MOCK_SEGMENT;
		pkt->hello.page_shift = 12;
		break;
	case UALINK_MSG_HELLO_NAK:
		pkt->hello_nak.reason = 1 + below(scene, 5);
		break;
	case UALINK_MSG_BYE:
		pkt->bye.reason = 1 + below(scene, 3);
		break;
	case UALINK_MSG_IMPORT_REQ:
		pkt->import_req.tag = tag(scene);
		pkt->import_req.secret = below(scene, 2) ? scene->open->handle.secret :
							   any64(scene);
		pkt->import_req.access = 1 + below(scene, 3);
		break;
	case UALINK_MSG_IMPORT_RSP:
		pkt->import_rsp.tag = tag(scene);
		pkt->import_rsp.status = below(scene, 2) ? UALINK_STATUS_OK : below(scene, 4);
		pkt->import_rsp.offset = number(scene);
		pkt->import_rsp.size = number(scene);
		pkt->import_rsp.access = below(scene, 4);
		break;
	case UALINK_MSG_NAK:
		pkt->nak.version = 1;
		pkt->nak.type = below(scene, 20);
		pkt->nak.reason = 1 + below(scene, 4);
		pkt->nak.request = pkt->request;
		memcpy(pkt->nak.session, pkt->session, sizeof(pkt->session));
		break;
	default:
		pkt->grant.tag = tag(scene);
		pkt->grant.grant = number(scene);
		pkt->grant.grace_ms = below(scene, 100);
		break;
	}
}

static u8 any_type(struct scene *scene)
{
	u8 type;

	do {
		type = below(scene, UALINK_MSG_TYPES);
		/* A goodbye ends most of the fun. */
	} while (type == UALINK_MSG_BYE && below(scene, 200));
	return type;
}

static void lie(struct scene *scene)
{
	struct ualink_packet pkt = {
		.version = 1,
		.type = any_type(scene),
		.src = scene->enemy->id,
		.dst = scene->victim->id,
		.request = 1 + below(scene, 16),
		.session = { scene->session[0], scene->session[1] },
	};
	struct ualink_msg msg;
	u8 *bytes = (u8 *)&msg;

	if (!below(scene, 4))
		pkt.session[below(scene, 2)] = number(scene);
	if (!below(scene, 8))
		pkt.request = number(scene);
	make_payload(scene, &pkt);
	ualink_packet_encode(&pkt, &msg);
	if (!below(scene, 16))
		bytes[below(scene, sizeof(msg))] ^= BIT(below(scene, 8));
	ualink_mock_inject(scene->pod, scene->enemy->id, scene->victim->id, &msg);
}

/* What the enemy says in a session, it must know the number of. */
static void learn(struct scene *scene)
{
	struct ualink_peer *peer = ualink_mock_peer(scene->enemy, scene->victim);

	guard(spinlock)(&scene->enemy->udev->lock);
	memcpy(scene->session, peer->session, sizeof(scene->session));
}

/* The enemy is what it seems to be until now, and again. */
static void behave(struct scene *scene)
{
	struct kunit *test = scene->pod->test;

	ualink_mock_set_deaf(scene->enemy, false);
	ualink_mock_restart(scene->enemy);
	ualink_mock_settle(scene->pod);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import(scene->enemy, scene->open));
	learn(scene);
}

static void misbehave(struct scene *scene)
{
	struct ualink_mock_pod *pod = scene->pod;

	scoped_guard(spinlock, &pod->lock)
		scene->enemy->mute = true;
	ualink_mock_set_deaf(scene->enemy, true);
}

static void make_scene(struct kunit *test, struct scene *scene)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock_import *from_enemy;
	struct ualink_mock_mem *mem;
	unsigned long *allow;

	memset(scene, 0, sizeof(*scene));
	prandom_seed_state(&scene->rnd, SEED);
	scene->pod = pod;
	scene->victim = &pod->nodes[0];
	scene->friend = &pod->nodes[1];
	scene->enemy = &pod->nodes[2];

	allow = kunit_kzalloc(test, BITS_TO_LONGS(UALINK_MAX_IDS) * sizeof(long), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, allow);
	__set_bit(scene->friend->id, allow);
	scene->open = ualink_mock_export(scene->victim);
	scene->closed = ualink_mock_export_with(scene->victim, UALINK_MOCK_PAGE, false, allow);
	scene->open_by_friend = ualink_mock_get(scene->friend, scene->open);
	scene->closed_by_friend = ualink_mock_get(scene->friend, scene->closed);
	mem = ualink_mock_export(scene->friend);
	scene->from_friend = ualink_mock_get(scene->victim, mem);
	scene->tags[0] = scene->open->handle.tag;
	scene->tags[1] = scene->closed->handle.tag;
	scene->tags[2] = mem->handle.tag;
	mem = ualink_mock_export(scene->enemy);
	from_enemy = ualink_mock_get(scene->victim, mem);
	scene->tags[3] = mem->handle.tag;
	scene->tags[4] = scene->enemy->id;
	scene->tags[5] = scene->victim->id;
	KUNIT_EXPECT_EQ(test, from_enemy->deaths, 0);
	ualink_mock_get(scene->enemy, scene->open);
	learn(scene);
}

/* Nobody but the enemy has noticed anything. */
static void expect_peace(struct scene *scene)
{
	struct kunit *test = scene->pod->test;
	u32 ids[4];

	KUNIT_EXPECT_EQ(test, ualink_mock_access(scene->open_by_friend, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(scene->closed_by_friend, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(scene->from_friend, true), 0);
	KUNIT_EXPECT_EQ(test, scene->from_friend->deaths, 0);
	KUNIT_EXPECT_EQ(test, scene->open_by_friend->deaths, 0);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(scene->closed->exp, ids, 4), 1);
	KUNIT_EXPECT_EQ(test, ids[0], scene->friend->id);
	KUNIT_EXPECT_LE(test, ualink_export_importers(scene->open->exp, ids, 4), 2);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer_state(scene->victim, scene->friend),
			UALINK_PEER_UP);
}

static u64 counter(struct scene *scene, enum ualink_counter which)
{
	return ualink_mock_counter(scene->victim, which);
}

static void hostile_messages(struct kunit *test)
{
	struct scene *scene = kunit_kzalloc(test, sizeof(*scene), GFP_KERNEL);
	struct ualink_mock_mem *mem;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, scene);
	make_scene(test, scene);
	misbehave(scene);
	for (i = 1; i <= ROUNDS; i++) {
		lie(scene);
		if (i % BATCH)
			continue;
		ualink_mock_settle(scene->pod);
		expect_peace(scene);
		/* The friend is served at any time. */
		mem = ualink_mock_export(scene->victim);
		ualink_mock_close(ualink_mock_get(scene->friend, mem));
		ualink_export_end(mem->exp);
		KUNIT_EXPECT_EQ(test, ualink_export_wait(mem->exp), 0);
		if (i % (20 * BATCH))
			continue;
		behave(scene);
		misbehave(scene);
	}
	KUNIT_EXPECT_GT(test, counter(scene, UALINK_COUNT_BAD_MSGS), ROUNDS / 100);
	KUNIT_EXPECT_GT(test, counter(scene, UALINK_COUNT_IGNORED), ROUNDS / 100);
	KUNIT_EXPECT_GT(test, counter(scene, UALINK_COUNT_REFUSED_PEER), 0);
	behave(scene);
	ualink_mock_get(scene->enemy, scene->open);
	ualink_mock_get(scene->victim, ualink_mock_export(scene->enemy));
	kunit_info(test, "fuzz_inputs %d\n", ROUNDS);
}

/* A thread that sends as fast as it can. */
static int flood(void *data)
{
	struct scene *scene = data;
	struct ualink_packet ping = {
		.version = 1,
		.type = UALINK_MSG_PING,
		.src = scene->enemy->id,
		.dst = scene->victim->id,
		.session = { scene->session[0], scene->session[1] },
	};
	int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < 64; i++) {
			ping.request++;
			ualink_mock_inject_packet(scene->pod, &ping);
		}
		usleep_range(50, 100);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

#define LATENCIES	200

/* Median time of a first import by the friend, ns. */
static u64 latency(struct scene *scene, u64 *times)
{
	struct ualink_mock_import *obj;
	struct ualink_mock_mem *mem;
	u64 start;
	int i;

	for (i = 0; i < LATENCIES; i++) {
		mem = ualink_mock_export(scene->victim);
		start = ktime_get_ns();
		obj = ualink_mock_get(scene->friend, mem);
		times[i] = ktime_get_ns() - start;
		ualink_mock_close(obj);
		ualink_export_end(mem->exp);
		KUNIT_EXPECT_EQ(scene->pod->test, ualink_export_wait(mem->exp), 0);
	}
	sort(times, LATENCIES, sizeof(*times), compare, NULL);
	return times[LATENCIES / 2];
}

/* One that floods delays another by what its messages take to be handled, and no more. */
static void hostile_flood(struct kunit *test)
{
	struct scene *scene = kunit_kzalloc(test, sizeof(*scene), GFP_KERNEL);
	u64 *times = kunit_kcalloc(test, LATENCIES, sizeof(*times), GFP_KERNEL);
	struct task_struct *task;
	u64 before, during;

	KUNIT_ASSERT_NOT_NULL(test, scene);
	KUNIT_ASSERT_NOT_NULL(test, times);
	make_scene(test, scene);
	before = latency(scene, times);
	misbehave(scene);
	task = kthread_run(flood, scene, "ualink-flood");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	during = latency(scene, times);
	kthread_stop(task);
	expect_peace(scene);
	kunit_info(test, "import_flooded_vs_quiet %llu/100\n", div64_u64(100 * during, before));
}

static struct kunit_case ualink_hostile_cases[] = {
	KUNIT_CASE_SLOW(hostile_messages),
	KUNIT_CASE_SLOW(hostile_flood),
	{}
};

static struct kunit_suite ualink_hostile_suite = {
	.name = "ualink_hostile",
	.exit = ualink_mock_exit,
	.test_cases = ualink_hostile_cases,
};

kunit_test_suite(ualink_hostile_suite);
