// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A course of events in which every type of message is sent, and what happens to it
 * when one or two messages are lost, damaged, doubled, late or overtaken: nothing that
 * a user could see. Several courses run at the same time, in lanes, each with faults
 * of its own.
 */

#include <linux/module.h>
#include <linux/prandom.h>

#include "../ualink_names.h"
#include "ualink_mock.h"

#define LANES		12
#define MAX_FAULTS	2
#define MAX_MEMS	10
/* Of the messages of one type from one end, so many get their faults. */
#define MAX_NTH		3
#define PAIRS_EACH	2
#define SEED		20261130
/* An initiator waits half a second for the answer to its READY. */
#define SLOW_MS		400

enum fault_action {
	LOST,
	DAMAGED,
	DOUBLED,
	LATE,		/* until the step is over, which has repeated it then */
	LAST,		/* until the course is over */
	OVERTAKEN,
	FAULT_ACTIONS,
};

static const char * const action_names[] = {
	[LOST] = "lost",
	[DAMAGED] = "damaged",
	[DOUBLED] = "doubled",
	[LATE] = "late",
	[LAST] = "last",
	[OVERTAKEN] = "overtaken",
};

/* The @nth message of a type from a to b, or @back. */
struct fault {
	u8 type;
	bool back;
	unsigned int nth;
	enum fault_action action;
	/* The number of the rule; the step in which it happened, or -1 */
	int rule, step;
};

enum step {
	STEP_GREET,
	STEP_BEAT,
	STEP_RELEASE,
	STEP_IMPORT,
	STEP_REVOKE,
	STEP_LEAVE,
	STEP_REFUSE,
	STEP_DIAL,
	STEP_CROSS,
	STEP_CLEAR,
	STEP_RESTART,
	STEP_END,
	STEP_LAST,
	STEPS,
};

/*
 * What three accelerators do. Only messages between @a and @b are in danger; what @a
 * and @c have of each other outlives each course.
 */
struct lane {
	struct ualink_mock_pod *pod;
	struct ualink_mock *a, *b, *c;
	struct ualink_mock_import *a_from_c, *c_from_a;

	/* In one course */
	char name[80];
	const char *failed;
	struct fault faults[MAX_FAULTS];
	unsigned int nr_faults;
	struct ualink_mock_mem *mems[MAX_MEMS];
	unsigned int nr_mems;
	struct ualink_mock_async *waiting[3];
	struct ualink_mock_import *of_b[2], *of_a, *c_from_b;
	/* Messages sent and not received; repeated by a, by b; ignored in each step */
	s64 missing[UALINK_MSG_TYPES];
	u64 retries[2];
	u64 ignored[STEPS];
	u64 sessions[2], bad[2];
};

/* Notes the first thing that is not as it must be. */
#define EXPECT_LANE(lane, cond) do {						\
	if (!(cond) && !(lane)->failed)						\
		(lane)->failed = #cond;						\
} while (0)

static struct ualink_mock_mem *lend(struct lane *lane, struct ualink_mock *node)
{
	struct ualink_mock_mem *mem = ualink_mock_export(node);

	KUNIT_ASSERT_LT(lane->pod->test, lane->nr_mems, MAX_MEMS);
	lane->mems[lane->nr_mems++] = mem;
	return mem;
}

static void ask(struct lane *lane, int i, struct ualink_mock *node, struct ualink_mock_mem *mem)
{
	lane->waiting[i] = ualink_mock_import_begin_with(node, mem, UALINK_MOCK_RW, 0);
}

static struct ualink_mock_import *receive(struct lane *lane, int i)
{
	struct ualink_mock_import *obj = ualink_mock_import_end(lane->waiting[i]);

	KUNIT_ASSERT_NOT_ERR_OR_NULL_MSG(lane->pod->test, obj, "%s", lane->name);
	EXPECT_LANE(lane, !ualink_mock_access(obj, true));
	return obj;
}

static void bury(struct lane *lane, struct ualink_mock_import *obj, enum ualink_death why)
{
	EXPECT_LANE(lane, ualink_mock_wait(READ_ONCE(obj->deaths) == 1));
	EXPECT_LANE(lane, obj->why == why);
	EXPECT_LANE(lane, ualink_mock_access(obj, false) == -EFAULT);
	ualink_mock_close(obj);
}

static bool happened(struct lane *lane, u8 type, enum fault_action action)
{
	unsigned int i;

	for (i = 0; i < lane->nr_faults; i++)
		if (lane->faults[i].step >= 0 && lane->faults[i].type == type &&
		    lane->faults[i].action == action)
			return true;
	return false;
}

static unsigned int sent(struct lane *lane, u8 type, bool back)
{
	struct ualink_mock *src = back ? lane->b : lane->a, *dst = back ? lane->a : lane->b;

	return ualink_mock_count(lane->pod, type, src->id, dst->id);
}

/* The first import from somebody. */
static void greet_begin(struct lane *lane)
{
	ask(lane, 0, lane->a, lend(lane, lane->b));
	lane->c_from_b = ualink_mock_get(lane->c, lend(lane, lane->b));
}

static void greet_end(struct lane *lane)
{
	lane->of_b[0] = receive(lane, 0);
}

static void beat_begin(struct lane *lane)
{
	ualink_device_set_tunable(lane->a->udev, UALINK_HEARTBEAT_MS, 10);
}

static void beat_end(struct lane *lane)
{
	struct ualink_peer *peer = ualink_mock_peer(lane->a, lane->b);

	EXPECT_LANE(lane, ualink_mock_wait(sent(lane, UALINK_MSG_PING, false)));
	ualink_device_set_tunable(lane->a->udev, UALINK_HEARTBEAT_MS, 60000);
	EXPECT_LANE(lane, ualink_mock_wait(!READ_ONCE(peer->ping.type)));
	EXPECT_LANE(lane, sent(lane, UALINK_MSG_PONG, true));
}

static void release_begin(struct lane *lane)
{
	ualink_mock_close(lane->of_b[0]);
}

/* All that is left of a at b, and what a knows of others: an import from c. */
static bool given_back(struct lane *lane)
{
	struct ualink_peer_info info;

	ualink_peer_info(lane->b->udev, lane->a->id, &info);
	return !info.grants && READ_ONCE(lane->a->udev->nr_import_records) == 1;
}

static void release_end(struct lane *lane)
{
	EXPECT_LANE(lane, ualink_mock_wait(given_back(lane)));
}

static void import_begin(struct lane *lane)
{
	ask(lane, 0, lane->a, lend(lane, lane->b));
	ask(lane, 1, lane->b, lend(lane, lane->a));
	ask(lane, 2, lane->a, lend(lane, lane->b));
}

static void import_end(struct lane *lane)
{
	lane->of_b[0] = receive(lane, 0);
	lane->of_a = receive(lane, 1);
	lane->of_b[1] = receive(lane, 2);
}

static void revoke_begin(struct lane *lane)
{
	ualink_export_end(lane->of_b[0]->mem->exp);
}

/* Nothing is left in quarantine, so it was acknowledged. */
static void revoke_end(struct lane *lane)
{
	struct ualink_mock_mem *mem = lane->of_b[0]->mem;

	bury(lane, lane->of_b[0], UALINK_DEATH_REVOKED);
	EXPECT_LANE(lane, ualink_mock_wait(READ_ONCE(mem->exp->state) == UALINK_EXPORT_DEAD));
	EXPECT_LANE(lane, ualink_mock_released(mem));
	EXPECT_LANE(lane, !ualink_mock_access(lane->of_b[1], true));
	EXPECT_LANE(lane, !ualink_mock_access(lane->c_from_b, true));
	EXPECT_LANE(lane, !READ_ONCE(lane->c_from_b->deaths));
	ualink_mock_close(lane->c_from_b);
}

static void leave_begin(struct lane *lane)
{
	ualink_mock_settle(lane->pod);
	ualink_device_deactivate(lane->b->udev);
}

static void leave_end(struct lane *lane)
{
	bury(lane, lane->of_a, UALINK_DEATH_LOCAL_RESET);
	EXPECT_LANE(lane, ualink_mock_access(lane->of_b[1], false));
}

static void refuse_begin(struct lane *lane)
{
	/* Any memory of b's that a does not hold any more. */
	ask(lane, 0, lane->a, lane->mems[0]);
}

static s64 not_received(struct ualink_mock *node, u8 type)
{
	return atomic64_read(&node->udev->sent[type]) - atomic64_read(&node->udev->received[type]);
}

/* Counters end with an activation. */
static void tally(struct lane *lane, struct ualink_mock *node, s64 sign)
{
	unsigned int type;

	for (type = 0; type < UALINK_MSG_TYPES; type++)
		lane->missing[type] += sign * not_received(node, type);
	if (node != lane->c)
		lane->retries[node == lane->b] += sign *
			ualink_mock_counter(node, UALINK_COUNT_RETRIES);
}

/* b says that it is not active, or, if its BYE was lost, nothing. */
static void refuse_end(struct lane *lane)
{
	struct ualink_mock_import *obj = ualink_mock_import_end(lane->waiting[0]);
	bool no_bye = happened(lane, UALINK_MSG_BYE, LOST) ||
		      happened(lane, UALINK_MSG_BYE, DAMAGED) ||
		      happened(lane, UALINK_MSG_BYE, LAST);

	EXPECT_LANE(lane, obj == ERR_PTR(-ENODEV));
	bury(lane, lane->of_b[1], no_bye ? UALINK_DEATH_PEER_LOST : UALINK_DEATH_PEER_LEFT);
	ualink_mock_settle(lane->pod);
	tally(lane, lane->b, 1);
	EXPECT_LANE(lane, !ualink_device_activate(lane->b->udev));
}

/* Both begin a greeting before they hear each other. */
static void dial_begin(struct lane *lane)
{
	ualink_mock_set_deaf(lane->a, true);
	ualink_mock_set_deaf(lane->b, true);
	ask(lane, 0, lane->a, lend(lane, lane->b));
	ask(lane, 1, lane->b, lend(lane, lane->a));
	ask(lane, 2, lane->a, lend(lane, lane->b));
}

static void dial_end(struct lane *lane)
{
	EXPECT_LANE(lane, ualink_mock_wait(sent(lane, UALINK_MSG_HELLO, true)));
	EXPECT_LANE(lane, ualink_mock_wait(
		    READ_ONCE(ualink_mock_peer(lane->a, lane->b)->greeting) !=
		    UALINK_GREETING_NONE));
	ualink_mock_set_deaf(lane->a, false);
	ualink_mock_set_deaf(lane->b, false);
}

static void cross_begin(struct lane *lane)
{
}

/* A request of both, at the same time. */
static void clear_begin(struct lane *lane)
{
	ualink_export_end(lane->of_b[0]->mem->exp);
	ualink_export_end(lane->of_a->mem->exp);
}

static void clear_end(struct lane *lane)
{
	struct ualink_mock_mem *of_a = lane->of_a->mem, *of_b = lane->of_b[0]->mem;

	bury(lane, lane->of_b[0], UALINK_DEATH_REVOKED);
	bury(lane, lane->of_a, UALINK_DEATH_REVOKED);
	EXPECT_LANE(lane, ualink_mock_wait(READ_ONCE(of_a->exp->state) == UALINK_EXPORT_DEAD));
	EXPECT_LANE(lane, ualink_mock_wait(READ_ONCE(of_b->exp->state) == UALINK_EXPORT_DEAD));
}

/* Of which a hears by a NAK. */
static void restart_begin(struct lane *lane)
{
	ualink_mock_settle(lane->pod);
	tally(lane, lane->b, 1);
	ualink_mock_restart(lane->b);
	ask(lane, 0, lane->a, lend(lane, lane->b));
}

static void restart_end(struct lane *lane)
{
	lane->of_b[0] = receive(lane, 0);
	EXPECT_LANE(lane, sent(lane, UALINK_MSG_NAK, true));
	bury(lane, lane->of_b[1], UALINK_DEATH_PEER_RESET);
}

static void end_begin(struct lane *lane)
{
	unsigned int i;

	ualink_mock_close(lane->of_b[0]);
	for (i = 0; i < lane->nr_mems; i++)
		ualink_export_end(lane->mems[i]->exp);
}

static void end_end(struct lane *lane)
{
	unsigned int i;

	release_end(lane);
	for (i = 0; i < lane->nr_mems; i++)
		EXPECT_LANE(lane, ualink_mock_wait(READ_ONCE(lane->mems[i]->exp->state) ==
						   UALINK_EXPORT_DEAD));
}

/* What comes now has lost its meaning long ago. */
static void last_begin(struct lane *lane)
{
	struct ualink_msg msg;
	unsigned int i;

	for (i = 0; i < lane->nr_faults; i++) {
		struct fault *fault = &lane->faults[i];
		u32 src = fault->back ? lane->b->id : lane->a->id;
		u32 dst = fault->back ? lane->a->id : lane->b->id;

		if (fault->step < 0 || fault->action != LAST)
			continue;
		EXPECT_LANE(lane, ualink_mock_nth(lane->pod, fault->type, src, dst, fault->nth,
						  &msg));
		ualink_mock_inject(lane->pod, src, dst, &msg);
	}
}

static void last_end(struct lane *lane)
{
}

/* All lanes begin a step, and then end it. */
static const struct {
	void (*begin)(struct lane *lane);
	void (*end)(struct lane *lane);
} steps[STEPS] = {
	[STEP_GREET] = { greet_begin, greet_end },
	[STEP_BEAT] = { beat_begin, beat_end },
	[STEP_RELEASE] = { release_begin, release_end },
	[STEP_IMPORT] = { import_begin, import_end },
	[STEP_REVOKE] = { revoke_begin, revoke_end },
	[STEP_LEAVE] = { leave_begin, leave_end },
	[STEP_REFUSE] = { refuse_begin, refuse_end },
	[STEP_DIAL] = { dial_begin, dial_end },
	[STEP_CROSS] = { cross_begin, import_end },
	[STEP_CLEAR] = { clear_begin, clear_end },
	[STEP_RESTART] = { restart_begin, restart_end },
	[STEP_END] = { end_begin, end_end },
	[STEP_LAST] = { last_begin, last_end },
};

static void fault_arm(struct lane *lane, struct fault *fault)
{
	static const enum ualink_mock_action actions[] = {
		[LOST] = UALINK_MOCK_DROP,
		[DAMAGED] = UALINK_MOCK_CORRUPT,
		[DOUBLED] = UALINK_MOCK_DUPLICATE,
		[LATE] = UALINK_MOCK_HOLD,
		[LAST] = UALINK_MOCK_DROP,
		[OVERTAKEN] = UALINK_MOCK_OVERTAKE,
	};
	struct ualink_mock *src = fault->back ? lane->b : lane->a;
	struct ualink_mock *dst = fault->back ? lane->a : lane->b;
	int len = strlen(lane->name);

	fault->step = -1;
	fault->rule = ualink_mock_rule_nth(lane->pod, actions[fault->action], fault->type,
					   src->id, dst->id, fault->nth);
	snprintf(lane->name + len, sizeof(lane->name) - len, "%s%s %u %s %s", len ? ", " : "",
		 fault->back ? "b" : "a", fault->nth, ualink_msg_type_name(fault->type),
		 action_names[fault->action]);
}

static u64 between(struct lane *lane, size_t counter)
{
	struct ualink_peer *a = ualink_mock_peer(lane->a, lane->b);
	struct ualink_peer *b = ualink_mock_peer(lane->b, lane->a);

	return (a ? *(u64 *)((u8 *)a + counter) : 0) + (b ? *(u64 *)((u8 *)b + counter) : 0);
}

static u64 ignored(struct lane *lane)
{
	return between(lane, offsetof(struct ualink_peer, ignored));
}

/* In which step a fault happened. */
static void lane_step(struct lane *lane, enum step step)
{
	unsigned int i;

	for (i = 0; i < lane->nr_faults; i++)
		if (lane->faults[i].step < 0 &&
		    ualink_mock_rule_used(lane->pod, lane->faults[i].rule))
			lane->faults[i].step = step;
}

static void run_step(struct lane *lanes, enum step step)
{
	struct ualink_mock_pod *pod = lanes->pod;
	int i;

	for (i = 0; i < LANES; i++)
		lanes[i].ignored[step] = -ignored(&lanes[i]);
	for (i = 0; i < LANES; i++)
		steps[step].begin(&lanes[i]);
	for (i = 0; i < LANES; i++)
		steps[step].end(&lanes[i]);
	if (step == STEP_DIAL)
		return;
	ualink_mock_settle(pod);
	ualink_mock_release_held(pod, false);
	ualink_mock_settle(pod);
	for (i = 0; i < LANES; i++) {
		lane_step(&lanes[i], step);
		lanes[i].ignored[step] += ignored(&lanes[i]);
	}
}

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
		fault_arm(lane, &lane->faults[i]);
	}
	tally(lane, lane->a, -1);
	tally(lane, lane->b, -1);
	tally(lane, lane->c, -1);
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

	tally(lane, lane->a, 1);
	tally(lane, lane->b, 1);
	tally(lane, lane->c, 1);
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

		run_step(lanes, step);
		/* This one has no READY, but waits for the peer timeout at times. */
		if (step != STEP_REFUSE)
			slow |= time_after(jiffies, start + msecs_to_jiffies(SLOW_MS));
	}
	for (i = 0; i < LANES; i++) {
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

	for (i = 0; i < LANES; i++)
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
	int i, tries = 5;
	bool slow;

	do {
		ualink_mock_log_clear(lanes->pod);
		for (i = 0; i < LANES; i++)
			lane_start(&lanes[i], faults + i * each, i < count ? each : 0);
		slow = run_course(lanes);
	} while (slow && any_failed(lanes) && --tries);
	for (i = 0; i < LANES; i++)
		KUNIT_EXPECT_NULL_MSG(test, lanes[i].failed, "%s: %s", lanes[i].name,
				      lanes[i].failed);
}

static struct lane *make_lanes(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3 * LANES);
	struct lane *lanes = kunit_kcalloc(test, LANES, sizeof(*lanes), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, lanes);
	ualink_mock_tune(pod, UALINK_PEER_TIMEOUT_MS, 3000);
	for (i = 0; i < LANES; i++) {
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
			for (i = 0; i < LANES; i++)
				counts[type][back] = min(counts[type][back],
							 sent(&lanes[i], type, back));
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

	for (done = 0; done < count; done += LANES) {
		run_courses(lanes, faults + done * each, count - done, each);
		for (i = 0; i < LANES; i++)
			for (k = 0; k < lanes[i].nr_faults; k++)
				if (lanes[i].faults[k].step >= 0)
					hits[lanes[i].faults[k].type][lanes[i].faults[k].action]++;
	}
}

static unsigned int sum_hits(unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS])
{
	unsigned int type, action, sum = 0;

	for (type = 0; type < UALINK_MSG_TYPES; type++)
		for (action = 0; action < FAULT_ACTIONS; action++)
			sum += hits[type][action];
	return sum;
}

static void check_hits(struct kunit *test, unsigned int hits[UALINK_MSG_TYPES][FAULT_ACTIONS])
{
	unsigned int type, action;

	for (type = 0; type < UALINK_MSG_TYPES; type++)
		for (action = 0; action < FAULT_ACTIONS; action++)
			if (ualink_msg_type_valid(type))
				KUNIT_EXPECT_GT_MSG(test, hits[type][action], 0, "%s %s",
						    ualink_msg_type_name(type),
						    action_names[action]);
}

/* Each of the first messages of each type, with each fault. */
static unsigned int all_singles(struct fault *faults, unsigned int counts[UALINK_MSG_TYPES][2])
{
	unsigned int back, nth, action, n = 0;
	u8 type;

	for (type = 0; type < UALINK_MSG_TYPES; type++)
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
	count = all_singles(faults, counts);
	run_faults(lanes, faults, count, 1, hits);
	kunit_info(test, "%u courses with a fault, %u of which happened\n", count,
		   sum_hits(hits));
	check_hits(test, hits);
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
static unsigned int some_pairs(struct fault *faults, unsigned int counts[UALINK_MSG_TYPES][2])
{
	struct rnd_state rnd;
	unsigned int i, n = 0;
	int one, two;

	prandom_seed_state(&rnd, SEED);
	for (one = UALINK_MSG_TYPES - 1; one >= 0; one--) {
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
	count = some_pairs(faults, counts);
	run_faults(lanes, faults, count, 2, hits);
	kunit_info(test, "%u courses with two faults, %u of which happened, seed %u\n", count,
		   sum_hits(hits), SEED);
	/* Of a few messages it depends on others whether they are sent. */
	KUNIT_EXPECT_GT(test, sum_hits(hits), 2 * count * 8 / 10);
}

static struct kunit_case ualink_faults_cases[] = {
	KUNIT_CASE_SLOW(faults_none),
	KUNIT_CASE_SLOW(faults_single),
	KUNIT_CASE_SLOW(faults_pairs),
	{}
};

static struct kunit_suite ualink_faults_suite = {
	.name = "ualink_faults",
	.exit = ualink_mock_exit,
	.test_cases = ualink_faults_cases,
};

kunit_test_suite(ualink_faults_suite);
