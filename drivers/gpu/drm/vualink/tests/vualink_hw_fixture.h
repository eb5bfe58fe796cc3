/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Accelerators for the tests of the model: a driver that is as small as can be.
 */

#ifndef _VUALINK_HW_FIXTURE_H_
#define _VUALINK_HW_FIXTURE_H_

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <kunit/test-bug.h>
#include <kunit/test.h>

#include "../vualink_hw_internal.h"

/* The largest segment, so that the NPA of id 1023 uses all bits of an entry */
#define FIX_SHIFT	VUALINK_HW_MAX_SEGMENT_SHIFT
#define FIX_VRAM	SZ_256K
#define FIX_JOBS	256
#define FIX_TIMEOUT	(20 * HZ)

/**
 * struct fix_job - a job that ended
 * @seqno: its number
 * @error: how it ended
 * @fault: why, if @error is -EFAULT
 */
struct fix_job {
	u64 seqno;
	int error;
	struct vualink_hw_fault fault;
};

/**
 * struct fix_gpu - an accelerator under test
 * @test: the test
 * @hw: the accelerator, NULL when it is destroyed
 * @id: its id
 * @page: next VRAM page to give out
 * @vm_root: root table of each address space that has one
 * @npa_root: root table of the segment, or 0
 * @seqno: number of the job that was submitted last
 * @cmds: list of &struct fix_cmds, which the engine may read as long as @hw is
 * @lock: protects all below
 * @wq: woken by each interrupt
 * @jobs: the jobs that ended, in order
 * @ended: number of them
 * @rx: rx interrupts
 * @tx: tx interrupts
 * @link_up: link interrupts, with up
 * @link_down: link interrupts, with down
 * @refused: refused interrupts
 * @last_reason: what the last of them said
 * @last: id in the last rx, tx, link or refused interrupt
 * @dead: no interrupt may come any more
 * @late: interrupts that came all the same
 */
struct fix_gpu {
	struct kunit *test;
	struct vualink_hw *hw;
	u32 id;
	u64 page;
	u64 vm_root[VUALINK_HW_VMIDS];
	u64 npa_root;
	u64 seqno;
	struct list_head cmds;
	spinlock_t lock; /* protects all below */
	wait_queue_head_t wq;
	struct fix_job jobs[FIX_JOBS];
	u32 ended;
	u32 rx;
	u32 tx;
	u32 link_up;
	u32 link_down;
	u32 refused;
	enum vualink_hw_fault_reason last_reason;
	u32 last;
	bool dead;
	u32 late;
};

/**
 * struct fix_cmds - commands of a job
 * @link: entry in &fix_gpu.cmds
 * @cmds: what the test asked for. Not its own, as a test that fails is left
 *	while the job runs
 */
struct fix_cmds {
	struct list_head link;
	struct vualink_hw_cmd cmds[];
};

/* As long as a test likes, with a delay that ends when the knob is turned off */
#define FIX_HOLD	"us=60000000"

struct vualink_fabric *fix_fabric(struct kunit *test);
struct fix_gpu *fix_gpu_shift(struct kunit *test, struct vualink_fabric *fabric,
			      u32 id, u64 vram, u32 shift);
struct fix_gpu *fix_gpu(struct kunit *test, struct vualink_fabric *fabric,
			u32 id, u64 vram);
void fix_gpu_destroy(struct fix_gpu *gpu);
void fix_release_holds(struct vualink_fabric *fabric);
void fix_knob(struct kunit *test, struct vualink_fabric *fabric,
	      enum vualink_knob_id id, const char *rule);
u64 fix_knob_hits(struct vualink_fabric *fabric, enum vualink_knob_id id);

u64 fix_page(struct fix_gpu *gpu);
u64 fix_pages(struct fix_gpu *gpu, u32 count);
void *fix_vram(struct fix_gpu *gpu, u64 offset);
__le64 *fix_entry(struct fix_gpu *gpu, u64 root, u64 addr, u32 level);
void fix_map(struct fix_gpu *gpu, u32 vmid, u64 va, u64 pte, u32 level);
void fix_map_npa(struct fix_gpu *gpu, u64 offset, u64 pte, u32 level);
u64 fix_share(struct fix_gpu *owner, u64 offset, u64 page, struct fix_gpu *src,
	      u64 va);
u64 fix_map_pages(struct fix_gpu *gpu, u64 va, u32 count);
u64 *fix_word(struct fix_gpu *gpu, u64 offset);
void fix_pattern(struct fix_gpu *gpu, u64 offset, u32 len);
bool fix_is_pattern(struct fix_gpu *gpu, u64 offset, u32 len);

u64 fix_submit(struct fix_gpu *gpu, u32 vmid, const struct vualink_hw_cmd *cmds,
	       u32 count);
bool fix_ended(struct fix_gpu *gpu, u64 seqno, struct fix_job *job);
struct fix_job fix_wait(struct fix_gpu *gpu, u64 seqno);
struct fix_job fix_run(struct fix_gpu *gpu, u32 vmid,
		       const struct vualink_hw_cmd *cmds, u32 count);
struct fix_job fix_fill(struct fix_gpu *gpu, u32 vmid, u64 va, u64 len,
			u32 value);
struct fix_job fix_copy(struct fix_gpu *gpu, u32 vmid, u64 dst, u64 src,
			u64 len);
void fix_expect_fault(struct fix_job job, enum vualink_hw_fault_reason reason,
		      u64 va, bool write);
s64 fix_counter(struct fix_gpu *gpu, size_t offset);
bool fix_all(const void *buf, u8 byte, size_t len);

#define fix_stat(gpu, name)						\
	fix_counter(gpu, offsetof(struct vualink_hw_stats, name))

/* For what an interrupt tells */
#define fix_wait_for(gpu, cond)						\
do {									\
	struct fix_gpu *__gpu = (gpu);					\
									\
	KUNIT_ASSERT_TRUE(__gpu->test,					\
			  wait_event_timeout(__gpu->wq, cond,		\
					     FIX_TIMEOUT));		\
} while (0)

/* For what comes without an interrupt */
#define fix_poll(test, cond)						\
do {									\
	unsigned long __end = jiffies + FIX_TIMEOUT;			\
	bool __ok;							\
									\
	while (!(__ok = (cond)) && time_before(jiffies, __end))		\
		usleep_range(50, 100);					\
	KUNIT_ASSERT_TRUE(test, __ok);					\
} while (0)

#define FIX_RW		(VUALINK_PTE_VALID | VUALINK_PTE_WRITE)

#endif /* _VUALINK_HW_FIXTURE_H_ */
