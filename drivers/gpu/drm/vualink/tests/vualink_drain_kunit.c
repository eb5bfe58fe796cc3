// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/workqueue.h>

#include "vualink_hw_fixture.h"

#define VA		0x40000000ull

/* Flushes return when no access from before is under way. */

/*
 * A fill of @pages pages. Returns when its first access was translated, has not
 * touched memory yet, and is held there.
 */
static u64 held_fill_by(struct fix_gpu *gpu, u32 pages, enum vualink_knob_id knob)
{
	struct vualink_fabric *fabric = vualink_hw_params(gpu->hw)->fabric;
	struct vualink_hw_cmd cmd = {
		.op = VUALINK_HW_FILL,
		.dst = VA,
		.len = pages * SZ_4K,
		.value = 0x66666666,
	};
	u64 seqno;

	fix_knob(gpu->test, fabric, knob, FIX_HOLD);
	seqno = fix_submit(gpu, 1, &cmd, 1);
	fix_poll(gpu->test, fix_knob_hits(fabric, knob));
	return seqno;
}

static u64 held_fill(struct fix_gpu *gpu, u32 pages)
{
	return held_fill_by(gpu, pages, VUALINK_KNOB_ACCESS_DELAY);
}

/**
 * struct flush - a flush that another thread makes
 * @work: the thread
 * @gpu: whose it is
 * @kind: what is flushed: VA and the page after it, or the gate of id 1
 * @begun: it runs
 * @ret: what came out, or 1
 */
struct flush {
	struct work_struct work;
	struct fix_gpu *gpu;
	enum vualink_flush_kind kind;
	bool begun;
	int ret;
};

static int flush_run(const struct flush *flush)
{
	struct vualink_hw *hw = flush->gpu->hw;

	switch (flush->kind) {
	case VUALINK_FLUSH_VM:
		return vualink_hw_vm_flush(hw, 1, VA, SZ_8K);
	case VUALINK_FLUSH_NPA:
		return vualink_hw_npa_flush(hw, VA, SZ_8K);
	default:
		return vualink_hw_source_gate(hw, 1, false);
	}
}

static void flush_work_run(struct work_struct *work)
{
	struct flush *flush = container_of(work, struct flush, work);

	WRITE_ONCE(flush->begun, true);
	WRITE_ONCE(flush->ret, flush_run(flush));
}

static void flush_cancel(void *data)
{
	struct flush *flush = data;

	fix_release_holds(vualink_hw_params(flush->gpu->hw)->fabric);
	cancel_work_sync(&flush->work);
}

/* Flushes while an access is held, which the flush outlasts; then lets it go. */
static void flush_drains(struct fix_gpu *gpu, enum vualink_flush_kind kind)
{
	struct kunit *test = gpu->test;
	struct flush *flush = kunit_kzalloc(test, sizeof(*flush), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, flush);
	flush->gpu = gpu;
	flush->kind = kind;
	flush->ret = 1;
	INIT_WORK(&flush->work, flush_work_run);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action(test, flush_cancel, flush));
	queue_work(system_dfl_wq, &flush->work);
	fix_poll(test, READ_ONCE(flush->begun));
	/* Only a flush that does not wait for the access gets anywhere now. */
	msleep(20);
	KUNIT_EXPECT_EQ(test, 1, READ_ONCE(flush->ret));
	fix_release_holds(vualink_hw_params(gpu->hw)->fabric);
	flush_work(&flush->work);
	KUNIT_EXPECT_EQ(test, 0, flush->ret);
}

/* The write to @page that was held is done, and the next one of the job faults. */
static void expect_drained(struct fix_gpu *owner, u64 page, struct fix_gpu *gpu, u64 seqno,
			   enum vualink_hw_fault_reason reason)
{
	struct kunit *test = owner->test;

	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, page), 0x66, SZ_4K));
	memset(fix_vram(owner, page), 0x77, SZ_4K);
	fix_expect_fault(fix_wait(gpu, seqno), reason, VA + SZ_4K, true);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(owner, page), 0x77, SZ_4K));
}

static void drain_vm_flush(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 page = fix_page(gpu), seqno;

	fix_map(gpu, 1, VA, page | FIX_RW, 0);
	fix_map(gpu, 1, VA + SZ_4K, page | FIX_RW, 0);
	seqno = held_fill(gpu, 2);
	fix_map(gpu, 1, VA, 0, 0);
	fix_map(gpu, 1, VA + SZ_4K, 0, 0);
	flush_drains(gpu, VUALINK_FLUSH_VM);
	expect_drained(gpu, page, gpu, seqno, VUALINK_HW_FAULT_VA);
}

static void drain_vm_flush_remote(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	u64 page = fix_share(owner, VA, 0, gpu, VA), seqno;

	fix_share(owner, VA + SZ_4K, page, gpu, VA + SZ_4K);
	seqno = held_fill(gpu, 2);
	fix_map(gpu, 1, VA, 0, 0);
	fix_map(gpu, 1, VA + SZ_4K, 0, 0);
	flush_drains(gpu, VUALINK_FLUSH_VM);
	expect_drained(owner, page, gpu, seqno, VUALINK_HW_FAULT_VA);
}

static void drain_npa_flush(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	u64 page = fix_share(owner, VA, 0, gpu, VA), seqno;

	fix_share(owner, VA + SZ_4K, page, gpu, VA + SZ_4K);
	seqno = held_fill(gpu, 2);
	fix_map_npa(owner, VA, 0, 0);
	fix_map_npa(owner, VA + SZ_4K, 0, 0);
	flush_drains(owner, VUALINK_FLUSH_NPA);
	expect_drained(owner, page, gpu, seqno, VUALINK_HW_FAULT_NPA);
}

/* A walk that began before the flush leaves nothing in the TLB. */
static void drain_outlasts_walk(struct kunit *test)
{
	struct fix_gpu *gpu = fix_gpu(test, fix_fabric(test), 0, FIX_VRAM);
	u64 old = fix_page(gpu), new = fix_page(gpu), seqno;

	fix_map(gpu, 1, VA, old | FIX_RW, 0);
	seqno = held_fill_by(gpu, 1, VUALINK_KNOB_WALK_DELAY);
	fix_map(gpu, 1, VA, new | FIX_RW, 0);
	flush_drains(gpu, VUALINK_FLUSH_VM);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, old), 0x66, SZ_4K));
	KUNIT_EXPECT_EQ(test, 0, fix_wait(gpu, seqno).error);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(gpu, 1, VA, SZ_4K, 0x07070707).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, old), 0x66, SZ_4K));
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(gpu, new), 7, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, stale), 0);
}

static void drain_gate(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *owner = fix_gpu(test, fabric, 0, FIX_VRAM);
	struct fix_gpu *gpu = fix_gpu(test, fabric, 1, FIX_VRAM);
	u64 page = fix_share(owner, VA, 0, gpu, VA), seqno;

	fix_share(owner, VA + SZ_4K, page, gpu, VA + SZ_4K);
	seqno = held_fill(gpu, 2);
	flush_drains(owner, VUALINK_FLUSH_GATE);
	expect_drained(owner, page, gpu, seqno, VUALINK_HW_FAULT_GATE);
}

static struct kunit_case vualink_drain_cases[] = {
	KUNIT_CASE(drain_vm_flush),
	KUNIT_CASE(drain_vm_flush_remote),
	KUNIT_CASE(drain_npa_flush),
	KUNIT_CASE(drain_outlasts_walk),
	KUNIT_CASE(drain_gate),
	{}
};

static struct kunit_suite vualink_drain_suite = {
	.name = "vualink_drain",
	.test_cases = vualink_drain_cases,
};

kunit_test_suite(vualink_drain_suite);
