// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitmap.h>
#include <linux/kthread.h>
#include <linux/sched.h>

#include "vualink_hw_fixture.h"

#define VA	0x10000000ull

/* Two accelerators use each other's memory. */

static void pair_copies_both_ways(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *a = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *b = fix_gpu(test, fabric, 1023, FIX_VRAM);
	u64 mine = fix_map_pages(a, VA, 2), theirs = fix_pages(b, 2);

	fix_share(b, SZ_1M, theirs, a, VA + SZ_1M);
	fix_share(b, SZ_1M + SZ_4K, theirs + SZ_4K, a, VA + SZ_1M + SZ_4K);
	fix_pattern(a, mine + 100, SZ_4K);
	/* Push, to an address that is at another place in its page. */
	KUNIT_EXPECT_EQ(test, 0, fix_copy(a, 1, VA + SZ_1M + 33, VA + 100,
					  SZ_4K).error);
	KUNIT_EXPECT_TRUE(test, fix_is_pattern(b, theirs + 33, SZ_4K));
	/* Pull what the owner has changed. */
	memset(fix_vram(b, theirs), 0x99, SZ_4K);
	KUNIT_EXPECT_EQ(test, 0, fix_copy(a, 1, VA, VA + SZ_1M, SZ_4K).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(a, mine), 0x99, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(a, npa_out), fix_stat(b, npa_in));
	KUNIT_EXPECT_EQ(test, fix_stat(a, npa_in), 0);
	KUNIT_EXPECT_EQ(test, fix_stat(a, stale) + fix_stat(b, stale), 0);
}

#define ADDS		400
#define ADD_JOBS	50

static const struct vualink_hw_cmd *add_cmds(struct kunit *test, u64 olds)
{
	struct vualink_hw_cmd *cmds;
	u32 i;

	cmds = kunit_kcalloc(test, ADDS, sizeof(*cmds), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, cmds);
	for (i = 0; i < ADDS; i++)
		cmds[i] = (struct vualink_hw_cmd) {
			.op = VUALINK_HW_ATOMIC_ADD,
			.dst = VA,
			.src = olds ? olds + i * 8 : 0,
			.value = 1,
		};
	return cmds;
}

/* Two accelerators, and a word of the first that both can reach at VA */
static u64 add_setup(struct kunit *test, struct fix_gpu *gpus[2])
{
	struct vualink_fabric *fabric = fix_fabric(test);
	u64 sum;

	gpus[0] = fix_gpu(test, fabric, 0, FIX_VRAM);
	gpus[1] = fix_gpu(test, fabric, 1, FIX_VRAM);
	sum = fix_map_pages(gpus[0], VA, 1);
	fix_share(gpus[0], SZ_1M, sum, gpus[1], VA);
	return sum;
}

static void pair_adds_are_atomic(struct kunit *test)
{
	const struct vualink_hw_cmd *cmds = add_cmds(test, 0);
	struct fix_gpu *gpus[2];
	u64 sum = add_setup(test, gpus), last[2], own = 0;
	u32 i;

	for (i = 0; i < 2 * ADD_JOBS; i++)
		last[i % 2] = fix_submit(gpus[i % 2], 1, cmds, ADDS);
	/* The engines seldom meet, so that the CPU adds as fast as it can. */
	while (!fix_ended(gpus[0], last[0], NULL) ||
	       !fix_ended(gpus[1], last[1], NULL)) {
		for (i = 0; i < ADDS; i++)
			atomic64_inc((atomic64_t *)fix_word(gpus[0], sum));
		own += ADDS;
		cond_resched();
	}
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, 0, fix_wait(gpus[i], last[i]).error);
	KUNIT_EXPECT_EQ(test, *fix_word(gpus[0], sum), 2 * ADD_JOBS * ADDS + own);
}

static void pair_adds_tell_what_was(struct kunit *test)
{
	DECLARE_BITMAP(seen, 2 * ADDS) = {};
	struct fix_gpu *gpus[2];
	u64 sum = add_setup(test, gpus), seqno[2], olds[2], old;
	u32 i;

	for (i = 0; i < 2; i++) {
		olds[i] = fix_map_pages(gpus[i], VA + SZ_1M, 1);
		seqno[i] = fix_submit(gpus[i], 1, add_cmds(test, VA + SZ_1M),
				      ADDS);
	}
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, 0, fix_wait(gpus[i], seqno[i]).error);
	KUNIT_EXPECT_EQ(test, *fix_word(gpus[0], sum), 2 * ADDS);
	/* Each add saw a number that no other saw. */
	for (i = 0; i < 2 * ADDS; i++) {
		old = *fix_word(gpus[i % 2], olds[i % 2] + i / 2 * 8);
		KUNIT_ASSERT_LT(test, old, 2 * ADDS);
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(old, seen));
	}
}

/**
 * struct flusher - a thread that flushes all that an accelerator can
 * @gpu: the accelerator
 * @task: the thread
 * @count: flushes so far
 * @errors: those that failed
 */
struct flusher {
	struct fix_gpu *gpu;
	struct task_struct *task;
	u32 count;
	u32 errors;
};

static int flusher_thread(void *data)
{
	struct flusher *flusher = data;
	struct vualink_hw *hw = flusher->gpu->hw;

	while (!kthread_should_stop()) {
		flusher->errors += !!vualink_hw_vm_flush(hw, 1, 0, U64_MAX);
		flusher->errors += !!vualink_hw_npa_flush(hw, 0, U64_MAX);
		flusher->count++;
		cond_resched();
	}
	return 0;
}

static void flusher_stop(void *data)
{
	struct flusher *flusher = data;

	kthread_stop(flusher->task);
}

/* The thread ends with the test, if not before. */
static struct flusher *flusher_start(struct kunit *test, struct fix_gpu *gpu)
{
	struct flusher *flusher = kunit_kzalloc(test, sizeof(*flusher), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, flusher);
	flusher->gpu = gpu;
	flusher->task = kthread_run(flusher_thread, flusher, "flusher%u", gpu->id);
	KUNIT_ASSERT_FALSE(test, IS_ERR(flusher->task));
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, flusher_stop, flusher));
	return flusher;
}

#define CROSS_PAGES	8
#define CROSS_ROUNDS	60

/* Both copy from each other while both flush: nobody waits for ever. */
static void pair_crosses_flushes(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *gpus[2] = {
		fix_gpu(test, fabric, 0, FIX_VRAM),
		fix_gpu(test, fabric, 1, FIX_VRAM),
	};
	const struct vualink_hw_cmd copy = {
		.op = VUALINK_HW_COPY, .dst = VA, .src = VA + SZ_1M,
		.len = CROSS_PAGES * SZ_4K,
	};
	struct flusher *flushers[2];
	u64 own[2], shared[2], seqno[2];
	u32 i, j, round;

	for (i = 0; i < 2; i++) {
		own[i] = fix_map_pages(gpus[i], VA, CROSS_PAGES);
		shared[i] = fix_pages(gpus[i], CROSS_PAGES);
	}
	for (i = 0; i < 2; i++) {
		for (j = 0; j < CROSS_PAGES; j++)
			fix_share(gpus[i], SZ_1M + j * SZ_4K,
				  shared[i] + j * SZ_4K, gpus[!i],
				  VA + SZ_1M + j * SZ_4K);
		flushers[i] = flusher_start(test, gpus[i]);
	}
	for (round = 1; round <= CROSS_ROUNDS; round++) {
		for (i = 0; i < 2; i++)
			fix_pattern(gpus[i], shared[i] + round,
				    (CROSS_PAGES - 1) * SZ_4K);
		/* Not before both are there: each reads the other's. */
		for (i = 0; i < 2; i++)
			seqno[i] = fix_submit(gpus[i], 1, &copy, 1);
		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_EQ(test, 0,
					fix_wait(gpus[i], seqno[i]).error);
			KUNIT_EXPECT_EQ(test, 0,
					*(u8 *)fix_vram(gpus[i], own[i]));
		}
	}
	for (i = 0; i < 2; i++) {
		kunit_release_action(test, flusher_stop, flushers[i]);
		KUNIT_EXPECT_GT(test, flushers[i]->count, 0);
		KUNIT_EXPECT_EQ(test, flushers[i]->errors, 0);
		KUNIT_EXPECT_TRUE(test, fix_is_pattern(gpus[i],
						       own[i] + CROSS_ROUNDS,
						   (CROSS_PAGES - 1) * SZ_4K));
		KUNIT_EXPECT_EQ(test, fix_stat(gpus[i], stale), 0);
	}
}

/* The owner takes memory back again and again: nobody reads what it is next. */
static void pair_never_sees_reused_memory(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	u64 dst = fix_map_pages(gpu, VA, 1), pages = fix_pages(owner, 2), seqno;
	struct vualink_hw_cmd copy = {
		.op = VUALINK_HW_COPY, .dst = VA, .src = VA + SZ_1M,
		.len = SZ_4K,
	};
	u32 round;

	fix_share(owner, SZ_1M, pages, gpu, VA + SZ_1M);
	memset(fix_vram(owner, pages), 1, SZ_4K);
	for (round = 0; round < 500; round++) {
		u64 old = pages + round % 2 * SZ_4K;
		u64 new = pages + (round + 1) % 2 * SZ_4K;
		u8 *copied = fix_vram(gpu, dst);

		seqno = fix_submit(gpu, 1, &copy, 1);
		memset(fix_vram(owner, new), 2 + round % 2, SZ_4K);
		fix_map_npa(owner, SZ_1M, new | FIX_RW, 0);
		KUNIT_ASSERT_EQ(test, 0,
				vualink_hw_npa_flush(owner->hw, SZ_1M, SZ_4K));
		memset(fix_vram(owner, old), 0xee, SZ_4K);
		KUNIT_ASSERT_EQ(test, 0, fix_wait(gpu, seqno).error);
		KUNIT_ASSERT_NE(test, *copied, 0xee);
		KUNIT_ASSERT_TRUE(test, fix_all(copied, *copied, SZ_4K));
	}
	/* No use of an old entry but while it was being flushed */
	KUNIT_EXPECT_EQ(test, fix_stat(owner, stale),
			fix_stat(owner, stale_flushed));
}

/* The owner is told of what it refuses, with the name of who tried, and of nothing else. */
static void pair_owner_hears_of_faults(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *src = fix_gpu(test, fabric, 1023, FIX_VRAM);
	u64 page = fix_share(owner, SZ_1M, 0, src, VA), *word = fix_word(owner, page);
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, fix_fill(src, 1, VA, SZ_4K, 7).error);
	KUNIT_EXPECT_EQ(test, owner->refused, 0);

	fix_map_npa(owner, SZ_1M, page | VUALINK_PTE_VALID, 0);
	KUNIT_ASSERT_EQ(test, 0, vualink_hw_npa_flush(owner->hw, 0, U64_MAX));
	fix_expect_fault(fix_fill(src, 1, VA, SZ_4K, 8), VUALINK_HW_FAULT_NPA_WRITE, VA, true);
	KUNIT_EXPECT_EQ(test, owner->refused, 1);
	KUNIT_EXPECT_EQ(test, owner->last_reason, VUALINK_HW_FAULT_NPA_WRITE);

	fix_map_npa(owner, SZ_1M, 0, 0);
	KUNIT_ASSERT_EQ(test, 0, vualink_hw_npa_flush(owner->hw, 0, U64_MAX));
	for (i = 0; i < 100; i++)
		fix_expect_fault(fix_fill(src, 1, VA, SZ_4K, 9), VUALINK_HW_FAULT_NPA, VA, true);
	KUNIT_EXPECT_EQ(test, owner->refused, 101);
	KUNIT_EXPECT_EQ(test, owner->last_reason, VUALINK_HW_FAULT_NPA);

	KUNIT_ASSERT_EQ(test, 0, vualink_hw_source_gate(owner->hw, src->id, false));
	fix_expect_fault(fix_fill(src, 1, VA, SZ_4K, 10), VUALINK_HW_FAULT_GATE, VA, true);
	KUNIT_EXPECT_EQ(test, owner->refused, 102);
	KUNIT_EXPECT_EQ(test, owner->last_reason, VUALINK_HW_FAULT_GATE);
	KUNIT_EXPECT_EQ(test, owner->last, src->id);

	/* What does not get that far it does not know of. */
	KUNIT_ASSERT_EQ(test, 0, vualink_fabric_cut(fabric, owner->id, src->id));
	fix_expect_fault(fix_fill(src, 1, VA, SZ_4K, 11), VUALINK_HW_FAULT_LINK, VA, true);
	fix_expect_fault(fix_fill(src, 1, VA + SZ_2M, 8, 12), VUALINK_HW_FAULT_VA, VA + SZ_2M,
			 true);
	KUNIT_EXPECT_EQ(test, owner->refused, 102);
	KUNIT_EXPECT_EQ(test, fix_stat(owner, npa_refused), 102);
	KUNIT_EXPECT_EQ(test, fix_stat(src, npa_refused) + src->refused, 0);
	KUNIT_EXPECT_EQ(test, *word, 7 + (7ull << 32));
}

static struct kunit_case vualink_engine_pair_cases[] = {
	KUNIT_CASE(pair_copies_both_ways),
	KUNIT_CASE(pair_adds_are_atomic),
	KUNIT_CASE(pair_adds_tell_what_was),
	KUNIT_CASE(pair_crosses_flushes),
	KUNIT_CASE(pair_never_sees_reused_memory),
	KUNIT_CASE(pair_owner_hears_of_faults),
	{}
};

static struct kunit_suite vualink_engine_pair_suite = {
	.name = "vualink_engine_pair",
	.test_cases = vualink_engine_pair_cases,
};

kunit_test_suite(vualink_engine_pair_suite);
