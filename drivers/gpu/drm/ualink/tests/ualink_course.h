/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_COURSE_H_
#define _UALINK_COURSE_H_

#include "ualink_mock.h"

/**
 * DOC: The course
 *
 * A course of events in which every type of message is sent. Several courses run at
 * the same time, in lanes, each with faults of its own. Nothing that a user of one
 * could see depends on the faults.
 */

#define UALINK_COURSE_LANES	12
#define UALINK_COURSE_FAULTS	2
#define UALINK_COURSE_MEMS	10

enum fault_action {
	LOST,
	DAMAGED,
	DOUBLED,
	LATE,		/* until the step is over, which has repeated it then */
	LAST,		/* until the course is over */
	OVERTAKEN,
	FAULT_ACTIONS,
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
	struct fault faults[UALINK_COURSE_FAULTS];
	unsigned int nr_faults;
	struct ualink_mock_mem *mems[UALINK_COURSE_MEMS];
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
static inline void lane_expect(struct lane *lane, bool ok, const char *what)
{
	if (!ok && !lane->failed)
		lane->failed = what;
}

#define EXPECT_LANE(lane, cond) lane_expect(lane, cond, #cond)

extern const char * const ualink_course_actions[];

unsigned int ualink_course_sent(struct lane *lane, u8 type, bool back);
void ualink_course_tally(struct lane *lane, struct ualink_mock *node, s64 sign);
void ualink_course_arm(struct lane *lane, struct fault *fault);
void ualink_course_step(struct lane *lanes, enum step step);

#endif /* _UALINK_COURSE_H_ */
