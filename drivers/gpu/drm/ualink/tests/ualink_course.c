// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The steps of the course. A function of a step returns when the step is over, however
 * often something had to be repeated for it.
 */

#include "../ualink_names.h"
#include "ualink_course.h"

const char * const ualink_course_actions[] = {
	[LOST] = "lost",
	[DAMAGED] = "damaged",
	[DOUBLED] = "doubled",
	[LATE] = "late",
	[LAST] = "last",
	[OVERTAKEN] = "overtaken",
};

static struct ualink_mock_mem *lend(struct lane *lane, struct ualink_mock *node)
{
	struct ualink_mock_mem *mem = ualink_mock_export(node);

	KUNIT_ASSERT_LT(lane->pod->test, lane->nr_mems, UALINK_COURSE_MEMS);
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

unsigned int ualink_course_sent(struct lane *lane, u8 type, bool back)
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

	EXPECT_LANE(lane, ualink_mock_wait(ualink_course_sent(lane, UALINK_MSG_PING, false)));
	ualink_device_set_tunable(lane->a->udev, UALINK_HEARTBEAT_MS, 60000);
	EXPECT_LANE(lane, ualink_mock_wait(!READ_ONCE(peer->ping.type)));
	EXPECT_LANE(lane, ualink_course_sent(lane, UALINK_MSG_PONG, true));
}

static void release_begin(struct lane *lane)
{
	ualink_mock_close(lane->of_b[0]);
}

/* All that is left of a at b, and what a knows of others: an import from c. */
static bool given_back(struct lane *lane)
{
	struct ualink_peer_info info;

	ualink_peer_get_info(lane->b->udev, lane->a->id, &info);
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
void ualink_course_tally(struct lane *lane, struct ualink_mock *node, s64 sign)
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
	ualink_course_tally(lane, lane->b, 1);
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
	struct ualink_peer *peer = ualink_mock_peer(lane->a, lane->b);

	EXPECT_LANE(lane, ualink_mock_wait(ualink_course_sent(lane, UALINK_MSG_HELLO, true)));
	EXPECT_LANE(lane, ualink_mock_wait(READ_ONCE(peer->greeting) != UALINK_GREETING_NONE));
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
	ualink_course_tally(lane, lane->b, 1);
	ualink_mock_restart(lane->b);
	ask(lane, 0, lane->a, lend(lane, lane->b));
}

static void restart_end(struct lane *lane)
{
	lane->of_b[0] = receive(lane, 0);
	EXPECT_LANE(lane, ualink_course_sent(lane, UALINK_MSG_NAK, true));
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

void ualink_course_arm(struct lane *lane, struct fault *fault)
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
		 ualink_course_actions[fault->action]);
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

void ualink_course_step(struct lane *lanes, enum step step)
{
	struct ualink_mock_pod *pod = lanes->pod;
	int i;

	for (i = 0; i < UALINK_COURSE_LANES; i++)
		lanes[i].ignored[step] = -ignored(&lanes[i]);
	for (i = 0; i < UALINK_COURSE_LANES; i++)
		steps[step].begin(&lanes[i]);
	for (i = 0; i < UALINK_COURSE_LANES; i++)
		steps[step].end(&lanes[i]);
	if (step == STEP_DIAL)
		return;
	ualink_mock_settle(pod);
	ualink_mock_release_held(pod, false);
	ualink_mock_settle(pod);
	for (i = 0; i < UALINK_COURSE_LANES; i++) {
		lane_step(&lanes[i], step);
		lanes[i].ignored[step] += ignored(&lanes[i]);
	}
}
