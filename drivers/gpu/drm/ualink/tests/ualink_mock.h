/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_MOCK_H_
#define _UALINK_MOCK_H_

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../ualink_internal.h"

/**
 * DOC: The mock pod
 *
 * A pod of accelerators that live in one kernel: a client of the core whose hardware
 * is a few flags. What matters of real hardware is there. Messages go through one
 * bounded ring for each ordered pair and can be lost, held, repeated, damaged or
 * made by hand. An access of an importer goes through its own page table or TLB, the
 * owner's source gate, and the owner's NPA table or TLB; the TLBs forget nothing
 * before they are flushed. An access that reaches memory which was released since,
 * or an op of the core that comes too early, too late or too often, is a violation,
 * and fails the test in the end.
 *
 * A test says what its pod is, plays with it, and leaves what is left over to
 * ualink_mock_pod_destroy(), which also checks that nothing is left in the core.
 */

#define UALINK_MOCK_PAGE	SZ_4K
#define UALINK_MOCK_SEGMENT	24
#define UALINK_MOCK_LOG		4096
#define UALINK_MOCK_RULES	32
/* Any id, and a number of times without end. */
#define UALINK_MOCK_ANY		(-1)
#define UALINK_MOCK_RW		(UALINK_ACCESS_READ | UALINK_ACCESS_WRITE)

/* What can happen to a message on its way. */
enum ualink_mock_action {
	UALINK_MOCK_PASS,
	UALINK_MOCK_DROP,
	UALINK_MOCK_HOLD,	/* until ualink_mock_release_held() */
	UALINK_MOCK_DUPLICATE,
	UALINK_MOCK_CORRUPT,
	UALINK_MOCK_OVERTAKE,	/* by the next one in the ring, or ualink_mock_release_held() */
	UALINK_MOCK_NO_LINK,	/* the sender is told */
};

/* An action for messages of a type (0: all) from one id to another. */
struct ualink_mock_rule {
	enum ualink_mock_action action;
	u8 type;
	int src, dst;
	/* How many of them pass before that */
	unsigned int skip;
	/* How many messages more, or UALINK_MOCK_ANY */
	int times;
};

/* A message under way, held, or in the log. */
struct ualink_mock_msg {
	struct list_head link;
	struct ualink_msg msg;
	u32 src, dst;
};

/* The ring from one accelerator to another. */
struct ualink_mock_ring {
	struct list_head msgs;
	unsigned int count;
	/* The sender was told that there is no room */
	bool full;
	/* A message that lets the next one pass */
	struct ualink_mock_msg *overtaken;
	/* Session of the last READY or READY_ACK; and for which the gate was opened last */
	u64 ready[2];
	u64 opened[2];
};

/* The ops of the core that a test can watch, stop and let fail. */
enum ualink_mock_op {
	UALINK_MOCK_GATE,
	UALINK_MOCK_MAP,
	UALINK_MOCK_UNMAP,
	UALINK_MOCK_FLUSH,
	UALINK_MOCK_RELEASE,
	UALINK_MOCK_INVALIDATE,
	UALINK_MOCK_IMPORT_FLUSH,
	UALINK_MOCK_DEAD,
	UALINK_MOCK_DIED,
	UALINK_MOCK_OPS,
};

struct ualink_mock_op_state {
	/* Calls so far; failures to come, with their errno */
	unsigned int calls;
	unsigned int failures;
	int error;
	/* The next call waits between @reached and @go */
	bool stop;
	struct completion reached;
	struct completion go;
};

/* What makes an accelerator; zero means the default. */
struct ualink_mock_config {
	u64 block_sizes;
	u8 segment_shift;
	u8 vpod;
	bool flush_on_map;
	/* The others do not know that it is in the vPod */
	bool stranger;
};

/* An accelerator. All under &ualink_mock_pod.lock but what never changes. */
struct ualink_mock {
	struct ualink_mock_pod *pod;
	struct ualink_device *udev;
	struct device *dev;
	/* References to @dev but for those of the core */
	unsigned int dev_refs;
	u32 id;
	unsigned int index;
	u8 segment_shift;

	/* Its link MMU */
	DECLARE_BITMAP(gate, UALINK_MAX_IDS);
	struct list_head mems;
	/* What it imports */
	struct list_head objs;

	/* Sends nothing; receives nothing; gets no interrupt; must not be called any more */
	bool mute;
	bool deaf;
	bool quiet;
	bool gone;
	/* what the latest import_flush gave */
	bool import_flush_failed;
	struct ualink_mock_op_state ops[UALINK_MOCK_OPS];
};

struct ualink_mock_pod {
	struct kunit *test;
	unsigned int count;
	struct ualink_mock *nodes;
	int index_of[UALINK_MAX_IDS];
	DECLARE_BITMAP(members, UALINK_MAX_IDS);

	/* Taken inside of &ualink_device.lock */
	spinlock_t lock;
	struct ualink_mock_ring *rings;
	unsigned int ring_size;
	struct ualink_mock_rule rules[UALINK_MOCK_RULES];
	struct list_head held;
	unsigned int nr_held;
	/* Percent of all messages that are lost, doubled, or overtake another */
	unsigned int lossy, doubling, reordering;
	/* All messages that were sent, since ualink_mock_log_clear() */
	struct ualink_mock_msg *log;
	unsigned int nr_log;

	struct list_head asyncs;
	unsigned int violations;
	char violation[128];
};

enum ualink_mock_mem_state {
	UALINK_MOCK_IDLE,
	UALINK_MOCK_MAPPED,
	UALINK_MOCK_UNMAPPED,
	UALINK_MOCK_FLUSHED,
	UALINK_MOCK_RELEASED,
};

/* Memory, for one export of it. Lives as long as the pod. */
struct ualink_mock_mem {
	struct list_head link;
	struct ualink_mock *node;
	struct ualink_export *exp;
	struct ualink_handle handle;
	u64 offset, size;
	bool read_only;
	/* In the link TLB */
	bool cached;
	enum ualink_mock_mem_state state;
};

/* An import object, as a driver has it. */
struct ualink_mock_import {
	struct list_head link;
	struct ualink_mock *node;
	struct ualink_import *imp;
	struct ualink_handle handle;
	/* What it must reach, if anything */
	struct ualink_mock_mem *mem;
	u64 npa, size;
	refcount_t ref;
	bool bound;
	/* In the page table; in the TLB */
	bool mapped;
	bool cached;
	/* Not to be mapped again; out of the page table since; out of the TLB since */
	bool refused;
	bool invalidated;
	bool flushed;
	/* Running work: not to be invalidated without force */
	bool busy;
	/* Calls of import_invalidate(), and of those with force */
	unsigned int tries, forced;
	/* Noted as dead for that reason; and told so, which is 1 */
	enum ualink_death why;
	unsigned int deaths;
};

/* An import in another thread. */
struct ualink_mock_async {
	struct list_head link;
	struct work_struct work;
	struct ualink_mock *node;
	struct ualink_mock_mem *mem;
	u32 access;
	u32 timeout_ms;
	struct ualink_mock_import *obj;
};

/* Polls for ten seconds at most; the value of @cond in the end. */
#define ualink_mock_wait(cond) ({					\
	unsigned long __end = jiffies + 10 * HZ;			\
	bool __done;							\
									\
	for (;;) {							\
		__done = cond;						\
		if (__done || time_after(jiffies, __end))		\
			break;						\
		usleep_range(500, 1000);				\
	}								\
	__done;								\
})

#define UALINK_MOCK_EXPECT(test, cond) \
	KUNIT_EXPECT_TRUE(test, ualink_mock_wait(cond))

/* The pod */
struct ualink_mock_pod *ualink_mock_pod_create(struct kunit *test,
					       const struct ualink_mock_config *configs,
					       unsigned int count);
void ualink_mock_pod_destroy(struct ualink_mock_pod *pod);
void ualink_mock_exit(struct kunit *test);
void ualink_mock_settle(struct ualink_mock_pod *pod);
void ualink_mock_tune(struct ualink_mock_pod *pod, enum ualink_tunable which, u64 value);
void ualink_mock_expect_clean(struct ualink_mock *node);

/* One accelerator */
void ualink_mock_reset(struct ualink_mock *node);
void ualink_mock_restart(struct ualink_mock *node);
void ualink_mock_set_deaf(struct ualink_mock *node, bool deaf);
struct ualink_peer *ualink_mock_peer(struct ualink_mock *node, struct ualink_mock *other);
enum ualink_peer_state ualink_mock_peer_state(struct ualink_mock *node,
					      struct ualink_mock *other);
u64 ualink_mock_counter(struct ualink_mock *node, enum ualink_counter which);
bool ualink_mock_gate(struct ualink_mock *node, struct ualink_mock *source);
void ualink_mock_connect(struct ualink_mock *node, struct ualink_mock *other);

/* Ops */
void ualink_mock_fail(struct ualink_mock *node, enum ualink_mock_op op, int error,
		      unsigned int times);
void ualink_mock_stop(struct ualink_mock *node, enum ualink_mock_op op);
bool ualink_mock_stopped(struct ualink_mock *node, enum ualink_mock_op op);
void ualink_mock_go(struct ualink_mock *node, enum ualink_mock_op op);
unsigned int ualink_mock_calls(struct ualink_mock *node, enum ualink_mock_op op);

/* Messages */
void ualink_mock_rule(struct ualink_mock_pod *pod, enum ualink_mock_action action, u8 type,
		      int src, int dst, int times);
int ualink_mock_rule_nth(struct ualink_mock_pod *pod, enum ualink_mock_action action, u8 type,
			 u32 src, u32 dst, unsigned int nth);
bool ualink_mock_rule_used(struct ualink_mock_pod *pod, int rule);
void ualink_mock_rules_clear(struct ualink_mock_pod *pod);
void ualink_mock_release_held(struct ualink_mock_pod *pod, bool backwards);
unsigned int ualink_mock_held(struct ualink_mock_pod *pod);
void ualink_mock_inject(struct ualink_mock_pod *pod, u32 src, u32 dst,
			const struct ualink_msg *msg);
void ualink_mock_inject_packet(struct ualink_mock_pod *pod, const struct ualink_packet *pkt);
void ualink_mock_log_clear(struct ualink_mock_pod *pod);
unsigned int ualink_mock_sent(struct ualink_mock_pod *pod, u8 type);
unsigned int ualink_mock_count(struct ualink_mock_pod *pod, u8 type, u32 src, u32 dst);
bool ualink_mock_nth(struct ualink_mock_pod *pod, u8 type, u32 src, u32 dst, unsigned int nth,
		     struct ualink_msg *msg);
bool ualink_mock_last(struct ualink_mock_pod *pod, u8 type, struct ualink_packet *pkt);

/* Memory and imports of it */
struct ualink_mock_mem *ualink_mock_export_with(struct ualink_mock *node, u64 size,
						bool read_only, const unsigned long *allow);
struct ualink_mock_mem *ualink_mock_export(struct ualink_mock *node);
bool ualink_mock_released(struct ualink_mock_mem *mem);
struct ualink_mock_import *ualink_mock_import_with(struct ualink_mock *node,
						   struct ualink_mock_mem *mem, u32 access,
						   u32 timeout_ms);
struct ualink_mock_import *ualink_mock_import(struct ualink_mock *node,
					      struct ualink_mock_mem *mem);
struct ualink_mock_import *ualink_mock_get(struct ualink_mock *node,
					   struct ualink_mock_mem *mem);
void ualink_mock_close(struct ualink_mock_import *obj);
int ualink_mock_access(struct ualink_mock_import *obj, bool write);
struct ualink_mock_async *ualink_mock_import_begin_with(struct ualink_mock *node,
							struct ualink_mock_mem *mem, u32 access,
							u32 timeout_ms);
struct ualink_mock_async *ualink_mock_import_begin(struct ualink_mock *node,
						   struct ualink_mock_mem *mem, u32 timeout_ms);
struct ualink_mock_import *ualink_mock_import_end(struct ualink_mock_async *async);

#endif /* _UALINK_MOCK_H_ */
