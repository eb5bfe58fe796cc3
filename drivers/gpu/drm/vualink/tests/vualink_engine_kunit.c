// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/delay.h>
#include <linux/mm.h>

#include "vualink_hw_fixture.h"

#define VA	0x10000000ull

/* Commands */

struct copy_case {
	const char *description;
	u32 src;
	u32 dst;
	u32 len;
};

static const struct copy_case copy_cases[] = {
	{ "nothing", 0, 0, 0 },
	{ "a byte", 4095, 1, 1 },
	{ "a page", 0, 0, SZ_4K },
	{ "pages", 0, 0, 3 * SZ_4K },
	{ "across one boundary of the source", 4000, 0, 200 },
	{ "across one boundary of the destination", 0, 4000, 200 },
	{ "across many boundaries", 123, 3456, 3 * SZ_4K + 77 },
};

KUNIT_ARRAY_PARAM_DESC(copy, copy_cases, description);

static void engine_copies(struct kunit *test)
{
	const struct copy_case *c = test->param_value;
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 src = fix_map_pages(gpu, VA, 5), dst = fix_map_pages(gpu, VA + SZ_1M, 5);

	fix_pattern(gpu, src + c->src, c->len);
	KUNIT_EXPECT_EQ(test, 0, fix_copy(gpu, 1, VA + SZ_1M + c->dst,
					  VA + c->src, c->len).error);
	KUNIT_EXPECT_TRUE(test, fix_is_pattern(gpu, dst + c->dst, c->len));
	KUNIT_EXPECT_TRUE(test, fix_is_pattern(gpu, src + c->src, c->len));
	KUNIT_EXPECT_EQ(test, 0, *(u8 *)fix_vram(gpu, dst + c->dst + c->len));
	if (c->dst)
		KUNIT_EXPECT_EQ(test, 0,
				*(u8 *)fix_vram(gpu, dst + c->dst - 1));
}

static void engine_fills(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_map_pages(gpu, VA, 3);
	u32 i, value = 0x12345678;

	KUNIT_EXPECT_EQ(test, 0,
			fix_fill(gpu, 1, VA + 16, SZ_8K, value).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 0, 16));
	for (i = 16; i < SZ_8K + 16; i += sizeof(value))
		KUNIT_ASSERT_EQ(test, *(u32 *)fix_vram(gpu, page + i), value);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page + i), 0,
					SZ_4K - 16));
}

static void engine_stores_and_adds(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	const struct vualink_hw_cmd cmds[] = {
		{ .op = VUALINK_HW_STORE, .dst = VA + 8, .value = 1ull << 40 },
		{ .op = VUALINK_HW_ATOMIC_ADD, .dst = VA + 8, .value = 5 },
		{ .op = VUALINK_HW_ATOMIC_ADD, .dst = VA + 8, .src = VA + 16,
		  .value = -1ull },
	};
	u64 page = fix_map_pages(gpu, VA, 1);

	KUNIT_EXPECT_EQ(test, 0,
			fix_run(gpu, 1, cmds, ARRAY_SIZE(cmds)).error);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page), 0);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + 8), (1ull << 40) + 4);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + 16), (1ull << 40) + 5);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + 24), 0);
}

struct align_case {
	const char *description;
	struct vualink_hw_cmd cmd;
	u64 va;
	bool write;
};

static const struct align_case align_cases[] = {
	{ "store", { .op = VUALINK_HW_STORE, .dst = VA + 4 }, VA + 4, true },
	{ "add", { .op = VUALINK_HW_ATOMIC_ADD, .dst = VA + 1 }, VA + 1, true },
	{ "what it was", { .op = VUALINK_HW_ATOMIC_ADD, .dst = VA,
			   .src = VA + 12 }, VA + 12, true },
	{ "wait", { .op = VUALINK_HW_WAIT, .dst = VA + 2 }, VA + 2, false },
	{ "fill", { .op = VUALINK_HW_FILL, .dst = VA + 2, .len = 4 }, VA + 2,
	  true },
	{ "length of fill", { .op = VUALINK_HW_FILL, .dst = VA, .len = 6 }, VA,
	  true },
};

KUNIT_ARRAY_PARAM_DESC(align, align_cases, description);

static void engine_checks_alignment(struct kunit *test)
{
	const struct align_case *c = test->param_value;
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_map_pages(gpu, VA, 1);
	struct fix_job job;

	job = fix_run(gpu, 1, &c->cmd, 1);
	KUNIT_EXPECT_EQ(test, job.error, -EFAULT);
	KUNIT_EXPECT_EQ(test, job.fault.reason, VUALINK_HW_FAULT_ALIGN);
	KUNIT_EXPECT_EQ(test, job.fault.va, c->va);
	KUNIT_EXPECT_EQ(test, job.fault.write, c->write);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, faults), 1);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 0, SZ_4K));
}

static void engine_refuses_bad_jobs(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	const struct vualink_hw_cmd cmds[] = {
		{ .op = VUALINK_HW_STORE, .dst = VA, .value = 1 },
		{ .op = VUALINK_HW_STORE + 1 },
	};
	u64 page = fix_map_pages(gpu, VA, 1);

	KUNIT_EXPECT_EQ(test, -EINVAL,
			vualink_hw_submit(gpu->hw, 1, 1, cmds, 2));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			vualink_hw_submit(gpu->hw, 0, 2, cmds, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			vualink_hw_submit(gpu->hw, VUALINK_HW_VMIDS, 3, cmds,
					  1));
	gpu->seqno = 10;
	KUNIT_EXPECT_EQ(test, 0, fix_run(gpu, 1, NULL, 0).error);
	KUNIT_EXPECT_EQ(test, gpu->ended, 1);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page), 0);
}

/* Faults */

static void engine_fault_ends_only_its_job(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	const struct vualink_hw_cmd cmds[] = {
		{ .op = VUALINK_HW_COPY, .dst = VA + SZ_1M, .src = VA,
		  .len = SZ_8K },
		{ .op = VUALINK_HW_STORE, .dst = VA, .value = 1 },
	};
	u64 src = fix_map_pages(gpu, VA, 2), dst = fix_map_pages(gpu, VA + SZ_1M, 1);
	struct fix_job job;

	memset(fix_vram(gpu, src), 0x11, SZ_4K);
	job = fix_run(gpu, 1, cmds, 2);
	KUNIT_EXPECT_EQ(test, job.error, -EFAULT);
	KUNIT_EXPECT_EQ(test, job.fault.reason, VUALINK_HW_FAULT_VA);
	KUNIT_EXPECT_EQ(test, job.fault.va, VA + SZ_1M + SZ_4K);
	KUNIT_EXPECT_EQ(test, job.fault.vmid, 1);
	KUNIT_EXPECT_TRUE(test, job.fault.write);
	/* What came before happened, what came after did not. */
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, dst), 0x11, SZ_4K));
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, src), 0x11, SZ_4K));

	KUNIT_EXPECT_EQ(test, 0, fix_run(gpu, 1, &cmds[1], 1).error);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, src), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, faults), 1);

	job = fix_copy(gpu, 1, VA, VA + SZ_2M, 8);
	KUNIT_EXPECT_EQ(test, job.fault.va, VA + SZ_2M);
	KUNIT_EXPECT_FALSE(test, job.fault.write);
}

/* Waits */

static void engine_wait_sees_other_accelerator(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *a = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *b = fix_gpu(test, fabric, 1, FIX_VRAM);
	const struct vualink_hw_cmd wait[] = {
		{ .op = VUALINK_HW_WAIT, .dst = VA, .value = 7,
		  .timeout_ms = 10000 },
		{ .op = VUALINK_HW_COPY, .dst = VA + 64, .src = VA + 8,
		  .len = 8 },
	};
	const struct vualink_hw_cmd post[] = {
		{ .op = VUALINK_HW_STORE, .dst = VA + 8, .value = 0x1234 },
		{ .op = VUALINK_HW_STORE, .dst = VA, .value = 8 },
	};
	u64 page = fix_map_pages(a, VA, 1), seqno;

	fix_share(a, SZ_1M, page, b, VA);
	*fix_word(a, page) = 6;
	seqno = fix_submit(a, 1, wait, 2);
	msleep(30);
	KUNIT_EXPECT_FALSE(test, fix_ended(a, seqno, NULL));
	KUNIT_EXPECT_EQ(test, 0, fix_run(b, 1, post, 2).error);
	KUNIT_EXPECT_EQ(test, 0, fix_wait(a, seqno).error);
	KUNIT_EXPECT_EQ(test, *fix_word(a, page + 64), 0x1234);
}

static void engine_wait_times_out(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	struct vualink_hw_cmd wait = {
		.op = VUALINK_HW_WAIT, .dst = VA, .value = 1, .timeout_ms = 50,
	};
	u64 page = fix_map_pages(gpu, VA, 1);
	ktime_t start = ktime_get();

	KUNIT_EXPECT_EQ(test, -ETIME, fix_run(gpu, 1, &wait, 1).error);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 50);
	/* Without a timeout it looks once. */
	wait.timeout_ms = 0;
	KUNIT_EXPECT_EQ(test, -ETIME, fix_run(gpu, 1, &wait, 1).error);
	*fix_word(gpu, page) = 1;
	KUNIT_EXPECT_EQ(test, 0, fix_run(gpu, 1, &wait, 1).error);
}

static void engine_wait_holds_up_no_flush(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	struct vualink_hw_cmd wait = {
		.op = VUALINK_HW_WAIT, .dst = VA, .value = 1,
		.timeout_ms = 60000,
	};
	u64 page = fix_share(owner, SZ_1M, 0, gpu, VA), seqno;
	ktime_t start;

	seqno = fix_submit(gpu, 1, &wait, 1);
	fix_poll(test, fix_stat(owner, npa_in) > 1);
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(gpu->hw, 1, 0, U64_MAX));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_npa_flush(owner->hw, 0, U64_MAX));
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 2000);
	KUNIT_EXPECT_FALSE(test, fix_ended(gpu, seqno, NULL));
	*fix_word(owner, page) = 1;
	KUNIT_EXPECT_EQ(test, 0, fix_wait(gpu, seqno).error);
}

static void engine_wait_faults_when_unmapped(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	struct vualink_hw_cmd wait = {
		.op = VUALINK_HW_WAIT, .dst = VA, .value = 1,
		.timeout_ms = 60000,
	};
	struct fix_job job;
	u64 seqno;

	fix_share(owner, SZ_1M, 0, gpu, VA);
	seqno = fix_submit(gpu, 1, &wait, 1);
	fix_poll(test, fix_stat(owner, npa_in));
	fix_map_npa(owner, SZ_1M, 0, 0);
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_npa_flush(owner->hw, 0, U64_MAX));
	job = fix_wait(gpu, seqno);
	KUNIT_EXPECT_EQ(test, job.error, -EFAULT);
	KUNIT_EXPECT_EQ(test, job.fault.reason, VUALINK_HW_FAULT_NPA);
	KUNIT_EXPECT_FALSE(test, job.fault.write);
}

/* Queue, cancel, reset, crash */

static const struct vualink_hw_cmd wait_long = {
	.op = VUALINK_HW_WAIT, .dst = VA, .value = 1, .timeout_ms = 60000,
};

static void engine_runs_in_order_and_fills_up(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_map_pages(gpu, VA, 1), last = 0;
	struct vualink_hw_cmd *add;
	u32 i;

	add = kunit_kcalloc(test, VUALINK_HW_JOBS, sizeof(*add), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, add);
	fix_submit(gpu, 1, &wait_long, 1);
	for (i = 1; i < VUALINK_HW_JOBS; i++) {
		add[i].op = VUALINK_HW_ATOMIC_ADD;
		add[i].dst = VA + 8;
		add[i].src = VA + i * 16;
		add[i].value = 1;
		last = fix_submit(gpu, 1, &add[i], 1);
	}
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			vualink_hw_submit(gpu->hw, 1, 99, NULL, 0));
	KUNIT_EXPECT_EQ(test, gpu->ended, 0);
	*fix_word(gpu, page) = 1;
	KUNIT_EXPECT_EQ(test, 0, fix_wait(gpu, last).error);
	for (i = 0; i < VUALINK_HW_JOBS; i++)
		KUNIT_EXPECT_EQ(test, gpu->jobs[i].seqno, i + 1);
	for (i = 1; i < VUALINK_HW_JOBS; i++)
		KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + i * 16), i - 1);
	KUNIT_EXPECT_EQ(test, 0, fix_run(gpu, 1, NULL, 0).error);
}

static void engine_cancels_one(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	const struct vualink_hw_cmd store[] = {
		{ .op = VUALINK_HW_STORE, .dst = VA + 8, .value = 8 },
		{ .op = VUALINK_HW_STORE, .dst = VA + 16, .value = 16 },
	};
	u64 page = fix_map_pages(gpu, VA, 1), waits, queued, last;

	waits = fix_submit(gpu, 1, &wait_long, 1);
	queued = fix_submit(gpu, 1, &store[0], 1);
	last = fix_submit(gpu, 1, &store[1], 1);
	vualink_hw_cancel(gpu->hw, queued);
	KUNIT_EXPECT_EQ(test, -ECANCELED, fix_wait(gpu, queued).error);
	KUNIT_EXPECT_EQ(test, gpu->ended, 1);
	vualink_hw_cancel(gpu->hw, queued);
	vualink_hw_cancel(gpu->hw, 12345);
	vualink_hw_cancel(gpu->hw, waits);
	KUNIT_EXPECT_EQ(test, -ECANCELED, fix_wait(gpu, waits).error);
	KUNIT_EXPECT_EQ(test, 0, fix_wait(gpu, last).error);
	KUNIT_EXPECT_EQ(test, gpu->ended, 3);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + 8), 0);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + 16), 16);
}

static void engine_cancels_at_work(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 0, FIX_VRAM);
	const struct vualink_hw_cmd fill = {
		.op = VUALINK_HW_FILL, .dst = VA, .len = 16 * SZ_4K,
		.value = ~0u,
	};
	u64 page = fix_map_pages(gpu, VA, 16), seqno;

	fix_knob(test, fabric, VUALINK_KNOB_ACCESS_DELAY, FIX_HOLD);
	seqno = fix_submit(gpu, 1, &fill, 1);
	fix_poll(test, fix_knob_hits(fabric, VUALINK_KNOB_ACCESS_DELAY));
	vualink_hw_cancel(gpu->hw, seqno);
	/* Not before the access is over */
	KUNIT_EXPECT_FALSE(test, fix_ended(gpu, seqno, NULL));
	fix_release_holds(fabric);
	KUNIT_EXPECT_EQ(test, -ECANCELED, fix_wait(gpu, seqno).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page), 0xff, SZ_4K));
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, page + SZ_4K), 0, SZ_4K));
}

/* What is not cancelled is not waited for. */
static void engine_drains_what_was_cancelled(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 seqno[3];
	u32 i;

	fix_map_pages(gpu, VA, 1);
	for (i = 0; i < 3; i++)
		seqno[i] = fix_submit(gpu, 1, &wait_long, 1);
	vualink_hw_cancel(gpu->hw, seqno[0]);
	vualink_hw_cancel(gpu->hw, seqno[2]);
	vualink_hw_drain(gpu->hw);
	KUNIT_EXPECT_EQ(test, gpu->ended, 2);
	/* In the order of submission */
	KUNIT_EXPECT_EQ(test, gpu->jobs[0].seqno, seqno[0]);
	KUNIT_EXPECT_EQ(test, gpu->jobs[1].seqno, seqno[2]);
	vualink_hw_cancel(gpu->hw, seqno[1]);
	vualink_hw_drain(gpu->hw);
	KUNIT_EXPECT_EQ(test, gpu->ended, 3);
	KUNIT_EXPECT_EQ(test, gpu->jobs[2].error, -ECANCELED);
}

static void engine_reset_cancels_all(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	struct fix_job job;
	u64 page, i;

	page = fix_map_pages(gpu, VA, 1);
	*fix_word(gpu, page + 8) = 77;
	for (i = 0; i < 5; i++)
		fix_submit(gpu, 1, &wait_long, 1);
	vualink_hw_reset(gpu->hw);
	/* Without a wait: the interrupts have come. */
	KUNIT_EXPECT_EQ(test, gpu->ended, 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, gpu->jobs[i].error, -ECANCELED);
	/* Roots and TLB are gone, VRAM is not. */
	job = fix_fill(gpu, 1, VA, 4, 1);
	KUNIT_EXPECT_EQ(test, job.fault.reason, VUALINK_HW_FAULT_VA);
	KUNIT_EXPECT_EQ(test, *fix_word(gpu, page + 8), 77);
	vualink_hw_vm_set_root(gpu->hw, 1, gpu->vm_root[1]);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, 4, 1).error);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 0);
}

static void engine_destroy_cancels_all(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u32 i;

	fix_map_pages(gpu, VA, 1);
	for (i = 0; i < 5; i++)
		fix_submit(gpu, 1, &wait_long, 1);
	fix_gpu_destroy(gpu);
	KUNIT_EXPECT_EQ(test, gpu->ended, 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, gpu->jobs[i].error, -ECANCELED);
	msleep(20);
	KUNIT_EXPECT_EQ(test, gpu->late, 0);
}

static void engine_crash_loses_jobs(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 3, FIX_VRAM);
	struct fix_gpu *peer = fix_gpu(test, fabric, 4, FIX_VRAM);
	u64 lost[2], page = fix_map_pages(gpu, VA, 1);
	struct fix_job job;

	fix_share(gpu, SZ_1M, page, peer, VA);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(peer, 1, VA + 32, 4, 1).error);
	lost[0] = fix_submit(gpu, 1, &wait_long, 1);
	lost[1] = fix_submit(gpu, 1, &wait_long, 1);
	KUNIT_EXPECT_EQ(test, -ENODEV, vualink_fabric_crash(fabric, 5));
	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_crash(fabric, 3));
	*fix_word(gpu, page) = 1; /* What they waited for */

	/* The engine runs, with nothing to translate; the gate is closed. */
	job = fix_fill(gpu, 1, VA, 4, 1);
	KUNIT_EXPECT_EQ(test, job.fault.reason, VUALINK_HW_FAULT_VA);
	job = fix_fill(peer, 1, VA, 4, 1);
	KUNIT_EXPECT_EQ(test, job.fault.reason, VUALINK_HW_FAULT_GATE);
	KUNIT_EXPECT_EQ(test, gpu->ended, 1);

	vualink_hw_cancel(gpu->hw, lost[1]);
	KUNIT_EXPECT_EQ(test, -ECANCELED, fix_wait(gpu, lost[1]).error);
	KUNIT_EXPECT_FALSE(test, fix_ended(gpu, lost[0], NULL));
	vualink_hw_reset(gpu->hw);
	KUNIT_EXPECT_EQ(test, -ECANCELED, fix_wait(gpu, lost[0]).error);
	KUNIT_EXPECT_EQ(test, gpu->ended, 3);
}

static struct kunit_case vualink_engine_cases[] = {
	KUNIT_CASE_PARAM(engine_copies, copy_gen_params),
	KUNIT_CASE(engine_fills),
	KUNIT_CASE(engine_stores_and_adds),
	KUNIT_CASE_PARAM(engine_checks_alignment, align_gen_params),
	KUNIT_CASE(engine_refuses_bad_jobs),
	KUNIT_CASE(engine_fault_ends_only_its_job),
	KUNIT_CASE(engine_wait_sees_other_accelerator),
	KUNIT_CASE(engine_wait_times_out),
	KUNIT_CASE(engine_wait_holds_up_no_flush),
	KUNIT_CASE(engine_wait_faults_when_unmapped),
	KUNIT_CASE(engine_runs_in_order_and_fills_up),
	KUNIT_CASE(engine_cancels_one),
	KUNIT_CASE(engine_cancels_at_work),
	KUNIT_CASE(engine_drains_what_was_cancelled),
	KUNIT_CASE(engine_reset_cancels_all),
	KUNIT_CASE(engine_destroy_cancels_all),
	KUNIT_CASE(engine_crash_loses_jobs),
	{}
};

static struct kunit_suite vualink_engine_suite = {
	.name = "vualink_engine",
	.test_cases = vualink_engine_cases,
};

kunit_test_suite(vualink_engine_suite);
