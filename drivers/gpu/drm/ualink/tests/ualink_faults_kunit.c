// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What one or two messages that are lost, damaged, doubled, late or overtaken do to a
 * course of events in which every type of message is sent: nothing but to move the
 * counters that are there for it.
 */

#include <linux/module.h>
#include <linux/prandom.h>

#include "../ualink_names.h"
#include "ualink_course.h"

/* Of the messages of one type from one end, so many get their faults. */
#define MAX_NTH		2
#define PAIRS_EACH	1
#define SEED		20261130
/* An initiator waits half a second for the answer to its READY. */
#define SLOW_MS		400

static u64 sessions(struct ualink_mock *node, struct ualink_mock *other)
{
	struct ualink_peer *peer = ualink_mock_peer(node, other);

	return peer ? peer->sessions : 0;
}

static u64 bad_msgs(struct ualink_mock *node, struct ualink_mock *other)
{
	struct ualink_peer *peer = ualink_mock_peer(node, other);

	return peer ? peer->bad_msgs : 0;
}

static void lane_start(struct lane *lane, const struct fault *faults, unsigned int count)
{
	unsigned int i;

	lane->name[0] = 0;
	lane->failed = NULL;
	lane->nr_mems = 0;
	lane->nr_faults = count;
	memset(lane->missing, 0, sizeof(lane->missing));
	memset(lane->retries, 0, sizeof(lane->retries));
	for (i = 0; i < count; i++) {
		lane->faults[i] = faults[i];
		ualink_course_arm(lane, &lane->faults[i]);
	}
	ualink_course_tally(lane, lane->a, -1);
	ualink_course_tally(lane, lane->b, -1);
	ualink_course_tally(lane, lane->c, -1);
	lane->sessions[0] = sessions(lane->a, lane->b);
	lane->sessions[1] = sessions(lane->b, lane->a);
	lane->bad[0] = bad_msgs(lane->a, lane->b);
	lane->bad[1] = bad_msgs(lane->b, lane->a);
}

static bool is_answer(u8 type)
{
	return ualink_msg_type_valid(type - 1) && ualink_msg_is_request(type - 1);
}

static bool any_action(struct lane *lane, enum fault_action action)
{
	unsigned int i;

	for (i = 0; i < lane->nr_faults; i++)
		if (lane->faults[i].action == action)
			return true;
	return false;
}

/* The request that it is, or that it answers, is repeated, and that is counted. */
static void check_retried(struct lane *lane, const struct fault *fault)
{
	bool answer = is_answer(fault->type) || fault->type == UALINK_MSG_NAK;
	bool requester = answer ? !fault->back : fault->back;

	if (any_action(lane, DOUBLED) || fault->action == OVERTAKEN ||
	    fault->type == UALINK_MSG_BYE || ualink_msg_is_greeting(fault->type))
		return;
	EXPECT_LANE(lane, lane->retries[requester]);
}

/* What comes once more, or too late, is counted by who gets it or by who gets the answer. */
static void check_ignored(struct lane *lane, const struct fault *fault)
{
	bool doubled = fault->action == DOUBLED && fault->type != UALINK_MSG_READY &&
		       fault->type != UALINK_MSG_REVOKE;
	bool late = fault->action == LATE && fault->type != UALINK_MSG_BYE;

	if (fault->action == LAST)
		EXPECT_LANE(lane, lane->ignored[STEP_LAST]);
	else if ((doubled || late) && fault->step != STEP_CROSS)
		EXPECT_LANE(lane, lane->ignored[fault->step]);
}

/* How many messages of a type were sent but not received. */
static s64 expected_missing(struct lane *lane, u8 type)
{
	unsigned int i;
	s64 n = 0;

	for (i = 0; i < lane->nr_faults; i++) {
		struct fault *fault = &lane->faults[i];

		if (fault->step < 0 || fault->type != type)
			continue;
		n += fault->action == LOST || fault->action == DAMAGED;
		n -= fault->action == DOUBLED;
	}
	return n;
}

static void check_counters(struct lane *lane)
{
	u64 bad[2] = {};
	unsigned int i;
	u8 type;

	ualink_course_tally(lane, lane->a, 1);
	ualink_course_tally(lane, lane->b, 1);
	ualink_course_tally(lane, lane->c, 1);
	for (type = 0; type < UALINK_MSG_TYPES; type++)
		EXPECT_LANE(lane, lane->missing[type] == expected_missing(lane, type));
	for (i = 0; i < lane->nr_faults; i++) {
		struct fault *fault = &lane->faults[i];

		if (fault->step < 0)
			continue;
		check_retried(lane, fault);
		check_ignored(lane, fault);
		/* Only who got it, of who sent it. */
		bad[!fault->back] += fault->action == DAMAGED;
	}
	EXPECT_LANE(lane, bad_msgs(lane->a, lane->b) == lane->bad[0] + bad[0]);
	EXPECT_LANE(lane, bad_msgs(lane->b, lane->a) == lane->bad[1] + bad[1]);
}

/* Nothing is left, and no session was lost but those of a that b has ended itself. */
static void check_end(struct lane *lane)
{
	ualink_mock_expect_clean(lane->b);
	EXPECT_LANE(lane, lane->a->udev->nr_grants == 1);
	EXPECT_LANE(lane, lane->a->udev->nr_import_records == 1);
	EXPECT_LANE(lane, lane->a->udev->npa.used == UALINK_MOCK_PAGE);
	EXPECT_LANE(lane, !lane->a->udev->npa.quarantined);
	EXPECT_LANE(lane, ualink_mock_peer_state(lane->a, lane->b) == UALINK_PEER_UP);
	EXPECT_LANE(lane, ualink_mock_peer_state(lane->b, lane->a) == UALINK_PEER_UP);
	EXPECT_LANE(lane, sessions(lane->a, lane->b) == lane->sessions[0] + 3);
	EXPECT_LANE(lane, sessions(lane->b, lane->a) == lane->sessions[1] + 3);
	EXPECT_LANE(lane, !ualink_mock_counter(lane->a, UALINK_COUNT_REVOKE_TIMEOUTS));
	EXPECT_LANE(lane, !ualink_mock_counter(lane->a, UALINK_COUNT_IMPORTS_ABANDONED));
	EXPECT_LANE(lane, !ualink_mock_counter(lane->a, UALINK_COUNT_REPLIES_LOST));
}

static void check_pair_untouched(struct lane *lane, struct ualink_mock *x, struct ualink_mock *y)
{
	EXPECT_LANE(lane, !ualink_mock_peer(x, y)->bad_msgs);
	EXPECT_LANE(lane, !ualink_mock_peer(x, y)->naks);
	EXPECT_LANE(lane, !ualink_mock_peer(y, x)->bad_msgs);
	EXPECT_LANE(lane, !ualink_mock_peer(y, x)->naks);
}

/* What c has with a is as on the first day, and c has no blame for anything. */
static void check_third(struct lane *lane)
{
	check_pair_untouched(lane, lane->a, lane->c);
	check_pair_untouched(lane, lane->b, lane->c);
	EXPECT_LANE(lane, sessions(lane->a, lane->c) == 1);
	EXPECT_LANE(lane, sessions(lane->c, lane->a) == 1);
	EXPECT_LANE(lane, !lane->a_from_c->deaths);
	EXPECT_LANE(lane, !lane->c_from_a->deaths);
	EXPECT_LANE(lane, !ualink_mock_access(lane->a_from_c, true));
	EXPECT_LANE(lane, !ualink_mock_access(lane->c_from_a, true));
}

/* The next course begins where this one did. */
static void part(struct lane *lane)
{
	ualink_notify_link_down(lane->a->udev, lane->b->id);
	ualink_notify_link_down(lane->b->udev, lane->a->id);
}

/* True if a step took so long that a READY may have been without an answer for too long. */
static bool run_course(struct lane *lanes)
{
	bool slow = false;
	enum step step;
	int i;

	for (step = 0; step < STEPS; step++) {
		unsigned long start = jiffies;

		ualink_course_step(lanes, step);
		/* This one has no READY, but waits for the peer timeout at times. */
		if (step != STEP_REFUSE)
			slow |= time_after(jiffies, start + msecs_to_jiffies(SLOW_MS));
	}
	for (i = 0; i < UALINK_COURSE_LANES; i++) {
		check_counters(&lanes[i]);
		check_end(&lanes[i]);
		check_third(&lanes[i]);
		part(&lanes[i]);
	}
	ualink_mock_settle(lanes->pod);
	ualink_mock_rules_clear(lanes->pod);
	return slow;
}

static bool any_failed(struct lane *lanes)
{
	int i;

	for (i = 0; i < UALINK_COURSE_LANES; i++)
		if (lanes[i].failed)
			return true;
	return false;
}

/*
 * Runs @count courses, at most one in each lane, with @each faults; all of them again
 * when something was wrong, but the machine was too busy for it to mean anything.
 */
static void run_courses(struct lane *lanes, const struct fault *faults, unsigned int count,
			unsigned int each)
{
	struct kunit *test = lanes->pod->test;
	int i, tries = 3;
	bool slow, again;

	do {
		ualink_mock_log_clear(lanes->pod);
		for (i = 0; i < UALINK_COURSE_LANES; i++)
			lane_start(&lanes[i], faults + i * each, i < count ? each : 0);
		slow = run_course(lanes);
		again = slow && any_failed(lanes) && --tries;
		for (i = 0; again && i < UALINK_COURSE_LANES; i++)
			if (lanes[i].failed)
				kunit_info(test, "too slow, tried again: %s: %s", lanes[i].name,
					   lanes[i].failed);
	} while (again);
	for (i = 0; i < UALINK_COURSE_LANES; i++)
		KUNIT_EXPECT_NULL_MSG(test, lanes[i].failed, "%s: %s", lanes[i].name,
				      lanes[i].failed);
}

static struct lane *make_lanes(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3 * UALINK_COURSE_LANES);
	struct lane *lanes = kunit_kcalloc(test, UALINK_COURSE_LANES, sizeof(*lanes), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, lanes);
	ualink_mock_tune(pod, UALINK_PEER_TIMEOUT_MS, 5000);
	for (i = 0; i < UALINK_COURSE_LANES; i++) {
		struct lane *lane = &lanes[i];

		lane->pod = pod;
		lane->a = &pod->nodes[3 * i];
		lane->b = &pod->nodes[3 * i + 1];
		lane->c = &pod->nodes[3 * i + 2];
		lane->a_from_c = ualink_mock_get(lane->a, ualink_mock_export(lane->c));
		lane->c_from_a = ualink_mock_get(lane->c, ualink_mock_export(lane->a));
	}
	ualink_mock_settle(pod);
	return lanes;
}

/* The course as such; what is sent in it. */
static void run_without_faults(struct lane *lanes, unsigned int counts[UALINK_MSG_TYPES][2])
{
	unsigned int type, back;
	int i;

	run_courses(lanes, NULL, 0, 0);
	for (type = 0; type < UALINK_MSG_TYPES; type++) {
		for (back = 0; back < 2; back++) {
			counts[type][back] = UINT_MAX;
			for (i = 0; i < UALINK_COURSE_LANES; i++)
				counts[type][back] = min(counts[type][back],
							 ualink_course_sent(&lanes[i], type, back));
		}
		KUNIT_ASSERT_TRUE(lanes->pod->test, !ualink_msg_type_valid(type) ||
				  counts[type][0] || counts[type][1]);
	}
}

/* All types are sent, and without faults nothing is bad or refused but what must be. */
static void faults_none(struct kunit *test)
{
	struct lane *lanes = make_lanes(test);
	unsigned int counts[UALINK_MSG_TYPES][2];
	u8 type;

	run_without_faults(lanes, counts);
	for (type = 0; type < UALINK_MSG_TYPES; type++) {
		if (!ualink_msg_type_valid(type))
			continue;
		kunit_info(test, "%s: %u, back %u\n", ualink_msg_type_name(type),
			   counts[type][0], counts[type][1]);
		KUNIT_EXPECT_GT_MSG(test, counts[type][0] + counts[type][1], 0, "%s",
				    ualink_msg_type_name(type));
	}
}

/* Runs @count courses with @each faults, as many at the same time as there are lanes. */
static void run_faults(struct lane *lanes, const struct fault *faults, unsigned int count,
		       unsigned int each, unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS])
{
	unsigned int done, i, k;

	for (done = 0; done < count; done += UALINK_COURSE_LANES) {
		run_courses(lanes, faults + done * each, count - done, each);
		for (i = 0; i < UALINK_COURSE_LANES; i++)
			for (k = 0; k < lanes[i].nr_faults; k++)
				if (lanes[i].faults[k].step >= 0)
					hits[lanes[i].faults[k].type][lanes[i].faults[k].action]++;
	}
}

/* Types by what they are for: a case for each, so that none takes long. */
struct group {
	const char *name;
	u8 first, last;
};

static const struct group groups[] = {
	{ "greeting", UALINK_MSG_HELLO, UALINK_MSG_READY_ACK },
	{ "import and release", UALINK_MSG_IMPORT_REQ, UALINK_MSG_RELEASE_ACK },
	{ "revoke and ping", UALINK_MSG_REVOKE, UALINK_MSG_PONG },
	{ "bye and nak", UALINK_MSG_BYE, UALINK_MSG_NAK },
};

KUNIT_ARRAY_PARAM_DESC(group, groups, name);

static unsigned int sum_hits(unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS])
{
	unsigned int type, action, sum = 0;

	for (type = 0; type < UALINK_MSG_TYPES; type++)
		for (action = 0; action < FAULT_ACTIONS; action++)
			sum += hits[type][action];
	return sum;
}

static void check_hits(struct kunit *test, const struct group *group,
		       unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS])
{
	unsigned int type, action;

	for (type = group->first; type <= group->last; type++)
		for (action = 0; action < FAULT_ACTIONS; action++)
			if (ualink_msg_type_valid(type))
				KUNIT_EXPECT_GT_MSG(test, hits[type][action], 0, "%s %s",
						    ualink_msg_type_name(type),
						    ualink_course_actions[action]);
}

/* Each of the first messages of each type, with each fault. */
static unsigned int all_singles(struct fault *faults, const struct group *group,
				unsigned int counts[UALINK_MSG_TYPES][2])
{
	unsigned int back, nth, action, n = 0;
	u8 type;

	for (type = group->first; type <= group->last; type++)
		for (back = 0; back < 2; back++)
			for (nth = 1; nth <= min(counts[type][back], MAX_NTH); nth++)
				for (action = 0; action < FAULT_ACTIONS; action++)
					faults[n++] = (struct fault){
						.type = type,
						.back = back,
						.nth = nth,
						.action = action,
					};
	return n;
}

static void faults_single(struct kunit *test)
{
	unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS] = {};
	unsigned int counts[UALINK_MSG_TYPES][2], count;
	struct lane *lanes = make_lanes(test);
	struct fault *faults;

	run_without_faults(lanes, counts);
	faults = kunit_kcalloc(test, UALINK_MSG_TYPES * 2 * MAX_NTH * FAULT_ACTIONS,
			       sizeof(*faults), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, faults);
	count = all_singles(faults, test->param_value, counts);
	run_faults(lanes, faults, count, 1, hits);
	kunit_info(test, "%u courses with a fault, %u of which happened\n", count,
		   sum_hits(hits));
	check_hits(test, test->param_value, hits);
}

static struct fault random_fault(struct rnd_state *rnd, u8 type,
				 unsigned int counts[UALINK_MSG_TYPES][2])
{
	bool back = counts[type][1] && (!counts[type][0] || prandom_u32_state(rnd) & 1);

	return (struct fault){
		.type = type,
		.back = back,
		.nth = 1 + prandom_u32_state(rnd) % min(counts[type][back], MAX_NTH),
		.action = prandom_u32_state(rnd) % FAULT_ACTIONS,
	};
}

/* For each two types some, those with a BYE together, since only silence tells of its loss. */
static unsigned int some_pairs(struct fault *faults, const struct group *group,
			       unsigned int counts[UALINK_MSG_TYPES][2])
{
	struct rnd_state rnd;
	unsigned int i, n = 0;
	int one, two;

	prandom_seed_state(&rnd, SEED);
	for (one = group->last; one >= group->first; one--) {
		for (two = one; two >= 0; two--) {
			if (!ualink_msg_type_valid(one) || !ualink_msg_type_valid(two))
				continue;
			for (i = 0; i < PAIRS_EACH; i++, n++) {
				faults[2 * n] = random_fault(&rnd, one, counts);
				faults[2 * n + 1] = random_fault(&rnd, two, counts);
			}
		}
	}
	return n;
}

static void faults_pairs(struct kunit *test)
{
	unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS] = {};
	unsigned int counts[UALINK_MSG_TYPES][2], count;
	struct lane *lanes = make_lanes(test);
	struct fault *faults;

	run_without_faults(lanes, counts);
	faults = kunit_kcalloc(test, UALINK_MSG_TYPES * UALINK_MSG_TYPES * PAIRS_EACH,
			       sizeof(*faults), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, faults);
	count = some_pairs(faults, test->param_value, counts);
	run_faults(lanes, faults, count, 2, hits);
	kunit_info(test, "%u courses with two faults, %u of which happened, seed %u\n", count,
		   sum_hits(hits), SEED);
	/* Of a few messages it depends on others whether they are sent. */
	KUNIT_EXPECT_GT(test, sum_hits(hits), 2 * count * 8 / 10);
}

/* Rings with so little room that most of what is sent has to wait. */
static void faults_narrow(struct kunit *test)
{
	struct lane *lanes = make_lanes(test);

	for (lanes->pod->ring_size = 1; lanes->pod->ring_size < 4; lanes->pod->ring_size++)
		run_courses(lanes, NULL, 0, 0);
}

/* The only answer that a peer still gives. */
static const u8 answers[] = {
	UALINK_MSG_IMPORT_RSP, UALINK_MSG_RELEASE_ACK, UALINK_MSG_REVOKE_ACK, UALINK_MSG_PONG,
	/* none */
	UALINK_MSG_BYE,
};

static void answer_name(const u8 *type, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s",
		 *type == UALINK_MSG_BYE ? "none" : ualink_msg_type_name(*type));
}

KUNIT_ARRAY_PARAM(answer, answers, answer_name);

/* Short times, but none for what is answered. */
static void tune_short(struct ualink_mock *node, bool acks)
{
	ualink_device_set_tunable(node->udev, UALINK_HEARTBEAT_MS, 50);
	ualink_device_set_tunable(node->udev, UALINK_REVOKE_DEADLINE_MS, acks ? 60000 : 200);
	ualink_device_set_tunable(node->udev, UALINK_PEER_TIMEOUT_MS, 1500);
}

/*
 * All requests at once, to a peer that answers those of one type. What it answers is
 * done; with the rest it is lost in the end, and nobody else is.
 */
static void faults_one_answer(struct kunit *test)
{
	const u8 *type = test->param_value;
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	struct ualink_mock_mem *lent = ualink_mock_export(a), *of_b = ualink_mock_export(b);
	struct ualink_mock_import *kept = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_mock_import *closed = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_mock_import *of_c = ualink_mock_get(a, ualink_mock_export(c));
	struct ualink_mock_import *by_c = ualink_mock_get(c, ualink_mock_export(a));
	struct ualink_mock_import *obj;

	ualink_mock_get(b, lent);
	ualink_mock_settle(pod);
	ualink_mock_rule(pod, UALINK_MOCK_PASS, *type, b->id, a->id, UALINK_MOCK_ANY);
	ualink_mock_rule(pod, UALINK_MOCK_DROP, 0, b->id, a->id, UALINK_MOCK_ANY);
	tune_short(a, *type == UALINK_MSG_REVOKE_ACK);
	ualink_mock_close(closed);
	ualink_export_end(lent->exp);
	obj = ualink_mock_import(a, of_b);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(obj),
			*type == UALINK_MSG_IMPORT_RSP ? 0 : -ENODEV);

	UALINK_MOCK_EXPECT(test, ualink_mock_peer_state(a, b) == UALINK_PEER_DOWN);
	UALINK_MOCK_EXPECT(test, READ_ONCE(kept->deaths) == 1);
	KUNIT_EXPECT_EQ(test, kept->why, UALINK_DEATH_PEER_LOST);
	UALINK_MOCK_EXPECT(test, READ_ONCE(lent->exp->state) == UALINK_EXPORT_DEAD);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_REVOKE_TIMEOUTS),
			*type != UALINK_MSG_REVOKE_ACK);
	KUNIT_EXPECT_GE(test, ualink_mock_counter(a, UALINK_COUNT_RETRIES), 1);
	KUNIT_EXPECT_FALSE(test, ualink_mock_gate(a, b));
	KUNIT_EXPECT_EQ(test, of_c->deaths, 0);
	KUNIT_EXPECT_EQ(test, sessions(a, c), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(of_c, true), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(by_c, true), 0);

	ualink_mock_rules_clear(pod);
	ualink_mock_get(a, of_b);
	KUNIT_EXPECT_EQ(test, sessions(a, b), 2);
}

static struct kunit_case ualink_faults_cases[] = {
	KUNIT_CASE_SLOW(faults_none),
	KUNIT_CASE_PARAM_ATTR(faults_single, group_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_PARAM_ATTR(faults_pairs, group_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	KUNIT_CASE_SLOW(faults_narrow),
	KUNIT_CASE_PARAM_ATTR(faults_one_answer, answer_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite ualink_faults_suite = {
	.name = "ualink_faults",
	.exit = ualink_mock_exit,
	.test_cases = ualink_faults_cases,
};

kunit_test_suite(ualink_faults_suite);
