// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: memory that is used again
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: Whatever ends an export, who had imported it does not reach the next owner.
 * Test category: functionality test
 *
 * SUBTEST: revoke
 * Description: Owner calls REVOKE and writes to the memory that it still has.
 *
 * SUBTEST: free
 * Description: Owner closes the object, and another gets the memory.
 *
 * SUBTEST: close
 * Description: Owner closes the device file.
 *
 * SUBTEST: exit
 * Description: Owner exits.
 *
 * SUBTEST: sigkill
 * Description: Owner is killed.
 *
 * SUBTEST: reset
 * Description: Owner's accelerator is reset.
 *
 * SUBTEST: suspend
 * Description: Owner's accelerator sleeps, and its memory has been saved when it wakes up.
 *
 * SUBTEST: crash
 * Description: Owner's accelerator forgets everything, and nobody is told.
 *
 * SUBTEST: importer-reset
 * Description: The importers' accelerator is reset, and the object is freed.
 *
 * SUBTEST: importer-suspend
 * Description: The importers' accelerator sleeps while the object is freed.
 *
 * SUBTEST: link-cut
 * Description: The link breaks, and the object is freed.
 *
 * SUBTEST: mute
 * Description: The importers' accelerator answers nothing while the object is freed.
 *
 * SUBTEST: revokes-lost
 * Description: The importers' accelerator hears nothing of it before it is cut off.
 *
 * SUBTEST: flush-slow
 * Description: Both accelerators need long for each flush.
 *
 * SUBTEST: export-flush-fails
 * Description: The owner's flush fails: nobody gets the memory before a reset.
 *
 * SUBTEST: import-flush-fails
 * Description: The importers' flush fails: the owner cuts them off.
 *
 * SUBTEST: access-slow
 * Description: Accesses are still in the fabric when the export ends.
 */
#include <string.h>

#include "igt.h"
#include "igt_ualink.h"
#include "igt_ualink_vualink.h"

IGT_TEST_DESCRIPTION("Whatever ends an export, who had imported it does not reach the next owner.");

#define PAGE		4096ull
#define SIZE		(64ull << 10)
#define SEED		1
/* IGT_UALINK_DO_STAMP writes SEED + 1 */
#define SEED_NEXT	3
#define SEED_OTHER	4
/* The stores of a job; each file may have some jobs waiting. */
#define JOB_CMDS	64
#define JOBS		8

/*
 * Three who hold the import: one does nothing with it but be mapped, with all of it
 * in its TLB; one has jobs that store to it; and one has nothing but a dma-buf.
 */
struct holders {
	struct igt_ualink *idle, *busy, *third;
	struct igt_ualink_bo *idle_far, *busy_far;
	uint64_t jobs[JOBS];
	int fd;
};

struct stage {
	struct igt_vualink_own own;
	struct igt_ualink_exporter exporter;
	/* Of the exporter's accelerator, to see and to do things */
	struct igt_ualink *owner;
	struct holders holders;
};

/* ------------------------------------------------------------ the importers */

static void submit_stores(struct holders *holders)
{
	struct igt_ualink_cmd cmds[JOB_CMDS];
	struct igt_ualink *dev = holders->busy;

	for (int i = 0; i < JOB_CMDS; i++)
		cmds[i] = (struct igt_ualink_cmd) {
			.op = IGT_UALINK_STORE,
			.dst = holders->busy_far->va + i * SIZE / JOB_CMDS,
			.value = 0xbadull << 32 | i,
		};
	for (int i = 0; i < JOBS; i++)
		igt_assert_eq(dev->backend->submit(dev, cmds, JOB_CMDS, &holders->jobs[i]), 0);
}

static void holders_init(struct holders *holders, const struct igt_ualink_node *node,
			 const uint8_t *handle)
{
	holders->idle = igt_ualink_open(node);
	holders->busy = igt_ualink_open(node);
	holders->third = igt_ualink_open(node);
	holders->idle_far = igt_ualink_import_bo(holders->idle, handle);
	igt_ualink_check_pattern(holders->idle_far, SEED);
	holders->busy_far = igt_ualink_import_bo(holders->busy, handle);
	holders->fd = igt_ualink_import(holders->third, handle);
	submit_stores(holders);
}

static void holders_fini(struct holders *holders)
{
	close(holders->fd);
	igt_ualink_bo_destroy(holders->idle_far);
	igt_ualink_bo_destroy(holders->busy_far);
	igt_ualink_close(holders->idle);
	igt_ualink_close(holders->busy);
	igt_ualink_close(holders->third);
}

/* What was submitted ends, somehow. */
static void finish_jobs(struct holders *holders)
{
	struct igt_ualink *dev = holders->busy;

	for (int i = 0; i < JOBS; i++)
		igt_assert_neq(dev->backend->wait(dev, holders->jobs[i], 20000), -EBUSY);
}

static int try_load(struct igt_ualink *dev, uint64_t va)
{
	uint64_t value;

	return __igt_ualink_read(dev, va, &value, sizeof(value));
}

static int try_store(struct igt_ualink *dev, uint64_t va)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_STORE,
		.dst = va,
		.value = 0xbadbadbadull,
	};

	return __igt_ualink_run(dev, &cmd, 1);
}

/* No way that was there leads anywhere. */
static void assert_cut_off(struct holders *holders)
{
	uint32_t handle;
	int ret;

	for (uint64_t at = 0; at < SIZE; at += PAGE) {
		igt_assert_neq(try_load(holders->idle, holders->idle_far->va + at), 0);
		igt_assert_neq(try_store(holders->idle, holders->idle_far->va + at), 0);
		igt_assert_neq(try_store(holders->busy, holders->busy_far->va + at), 0);
	}
	ret = __igt_ualink_fd_to_handle(holders->third->fd, holders->fd, &handle);
	if (!ret) {
		ret = holders->third->backend->bind(holders->third, handle, 1ull << 40, 0, SIZE, 0);
		if (!ret)
			ret = try_store(holders->third, 1ull << 40);
		igt_ualink_gem_close(holders->third->fd, handle);
	}
	igt_assert_neq(ret, 0);
}

/* ----------------------------------------------------------------- the proof */

static void tune(const struct igt_ualink_node *node)
{
	igt_assert(igt_ualink_tunable_set(node, "revoke_deadline_ms", 1000));
	igt_assert(igt_ualink_tunable_set(node, "revoke_grace_ms", 100));
	igt_assert(igt_ualink_tunable_set(node, "peer_timeout_ms", 2000));
	igt_assert(igt_ualink_tunable_set(node, "heartbeat_ms", 100));
}

/* Nobody can have memory of the owner any more: all of it is free or private. */
static void wait_released(struct igt_ualink *owner)
{
	struct drm_ualink_device_info info;
	struct igt_ualink_stats stats;

	for (int i = 0; i < 2000; i++) {
		igt_ualink_device_info(owner, &info);
		igt_ualink_stats(owner, &stats);
		if (!info.exports && !stats.pinned)
			return;
		usleep(10000);
	}
	igt_assert_f(false, "%llu exports, %llu bytes pinned\n",
		     (unsigned long long)info.exports, (unsigned long long)stats.pinned);
}

static void assert_not_stale(struct igt_ualink *dev)
{
	struct igt_ualink_stats stats;

	igt_ualink_stats(dev, &stats);
	igt_assert_eq_u64(stats.stale, 0);
}

/* All memory that the owner's accelerator has is written by us, and stays so. */
static void prove_reuse(struct stage *stage)
{
	struct igt_ualink_bo **bos;
	unsigned int count;

	bos = igt_ualink_fill_vram(stage->owner, SEED_NEXT, &count);
	assert_cut_off(&stage->holders);
	finish_jobs(&stage->holders);
	for (unsigned int i = 0; i < count; i++) {
		igt_ualink_check_pattern(bos[i], SEED_NEXT);
		igt_ualink_bo_destroy(bos[i]);
	}
	free(bos);
}

/* The exporter writes to the memory that it still has, and gives it back then. */
static void prove_kept(struct stage *stage)
{
	igt_ualink_exporter_do(&stage->exporter, IGT_UALINK_DO_STAMP);
	assert_cut_off(&stage->holders);
	igt_ualink_exporter_do(&stage->exporter, IGT_UALINK_DO_CHECK);
	igt_ualink_exporter_do(&stage->exporter, IGT_UALINK_DO_FREE);
}

/* Once more over the same accelerators: what was broken is whole again. */
static void assert_works(struct stage *stage)
{
	struct igt_ualink_pair pair;

	for (int i = 0; i < 2; i++) {
		igt_ualink_pair_init(&pair, &stage->own.nodes[i], &stage->own.nodes[!i], SIZE, 5);
		igt_ualink_check_pattern(pair.far, 5);
		igt_ualink_pair_fini(&pair);
	}
}

/*
 * @restore comes after @end, before the memory is used again, or is NULL. With @kept
 * the exporter still has the memory then.
 */
static void prove(struct igt_ualink_pod *pod, void (*end)(struct stage *stage),
		  void (*restore)(struct stage *stage), bool kept)
{
	struct stage stage;

	igt_vualink_own_init(&stage.own, pod, 2);
	for (int i = 0; i < 2; i++)
		tune(&stage.own.nodes[i]);
	igt_ualink_exporter_start(&stage.exporter, &stage.own.nodes[0], SIZE, SEED);
	stage.owner = igt_ualink_open(&stage.own.nodes[0]);
	holders_init(&stage.holders, &stage.own.nodes[1], stage.exporter.handle);

	end(&stage);
	if (restore)
		restore(&stage);
	wait_released(stage.owner);
	if (kept)
		prove_kept(&stage);
	prove_reuse(&stage);
	assert_not_stale(stage.owner);
	assert_not_stale(stage.holders.idle);

	holders_fini(&stage.holders);
	igt_ualink_close(stage.owner);
	if (stage.exporter.pid)
		igt_ualink_exporter_stop(&stage.exporter);
	assert_works(&stage);
	igt_vualink_own_fini(&stage.own);
	igt_assert(igt_vualink_wait_devices(stage.own.before));
}

/* --------------------------------------------------------------- the endings */

static void end_revoke(struct stage *stage)
{
	igt_ualink_exporter_do(&stage->exporter, IGT_UALINK_DO_REVOKE);
}

static void end_free(struct stage *stage)
{
	igt_ualink_exporter_do(&stage->exporter, IGT_UALINK_DO_FREE);
}

static void end_close(struct stage *stage)
{
	igt_ualink_exporter_do(&stage->exporter, IGT_UALINK_DO_CLOSE);
}

static void end_exit(struct stage *stage)
{
	igt_ualink_exporter_stop(&stage->exporter);
	stage->exporter.pid = 0;
}

static void end_sigkill(struct stage *stage)
{
	igt_ualink_exporter_kill(&stage->exporter);
	stage->exporter.pid = 0;
}

static void reset_owner(struct stage *stage)
{
	igt_assert_eq(stage->owner->backend->reset(stage->owner), 0);
}

static void reset_importer(struct stage *stage)
{
	igt_assert_eq(stage->owner->backend->reset(stage->holders.idle), 0);
}

static void end_suspend(struct stage *stage)
{
	struct igt_ualink_bo *bo = igt_ualink_bo_create(stage->owner, SIZE, 0);
	struct igt_ualink_stats was, is;

	igt_ualink_fill_pattern(bo, SEED_OTHER);
	igt_ualink_stats(stage->owner, &was);
	igt_assert_eq(stage->owner->backend->suspend(stage->owner, true), 0);
	igt_assert_eq(stage->owner->backend->suspend(stage->owner, true), -EBUSY);
	igt_assert_eq(stage->owner->backend->reset(stage->owner), -EBUSY);
	igt_ualink_stats(stage->owner, &is);
	igt_assert_eq_u64(is.pinned, 0);
	igt_assert_lte_u64(is.vram_used + 2 * SIZE, was.vram_used);
	assert_cut_off(&stage->holders);
	igt_assert_eq(stage->owner->backend->suspend(stage->owner, false), 0);
	igt_assert_eq(stage->owner->backend->suspend(stage->owner, false), -EBUSY);
	igt_ualink_check_pattern(bo, SEED_OTHER);
	igt_ualink_bo_destroy(bo);
}

static void end_crash(struct stage *stage)
{
	igt_vualink_own_knob(&stage->own, "crash", "0");
	reset_owner(stage);
}

static void end_importer_reset(struct stage *stage)
{
	reset_importer(stage);
	end_free(stage);
}

static void end_importer_suspend(struct stage *stage)
{
	struct igt_ualink *importer = stage->holders.idle;

	igt_assert_eq(importer->backend->suspend(importer, true), 0);
	end_free(stage);
	wait_released(stage->owner);
	igt_assert_eq(importer->backend->suspend(importer, false), 0);
}

static void end_link_cut(struct stage *stage)
{
	igt_vualink_own_knob(&stage->own, "cut", "0 1");
	end_free(stage);
}

static void mend_link(struct stage *stage)
{
	wait_released(stage->owner);
	igt_vualink_own_knob(&stage->own, "restore", "0 1");
}

static void end_mute(struct stage *stage)
{
	igt_vualink_own_knob(&stage->own, "mute", "1");
	end_free(stage);
}

static void unmute(struct stage *stage)
{
	wait_released(stage->owner);
	assert_cut_off(&stage->holders);
	igt_vualink_own_knob(&stage->own, "unmute", "1");
}

static void end_revokes_lost(struct stage *stage)
{
	/* REVOKE, as it is on the wire */
	igt_vualink_own_knob(&stage->own, "drop", "type=20 dst=1");
	end_free(stage);
}

static void find_revokes(struct stage *stage)
{
	wait_released(stage->owner);
	assert_cut_off(&stage->holders);
	igt_vualink_own_knob(&stage->own, "drop", "off");
}

static void end_flush_slow(struct stage *stage)
{
	igt_vualink_own_knob(&stage->own, "flush_delay", "ms=200");
	end_free(stage);
	wait_released(stage->owner);
	igt_vualink_own_knob(&stage->own, "flush_delay", "off");
}

static void end_export_flush_fails(struct stage *stage)
{
	struct igt_ualink_stats stats;

	igt_vualink_own_knob(&stage->own, "flush_fail", "kind=npa id=0");
	end_free(stage);
	for (int i = 0; i < 2000; i++) {
		if (igt_vualink_counter(stage->owner, "ualink/counters", "flushes_failed"))
			break;
		usleep(10000);
	}
	igt_assert_lt_u64(0, igt_vualink_counter(stage->owner, "ualink/counters",
						 "flushes_failed"));
	/* Nobody waits for anything any more. */
	usleep(100000);
	igt_ualink_stats(stage->owner, &stats);
	igt_assert_lte_u64(SIZE, stats.pinned);
	igt_vualink_own_knob(&stage->own, "flush_fail", "off");
	reset_owner(stage);
}

static void end_import_flush_fails(struct stage *stage)
{
	igt_vualink_own_knob(&stage->own, "flush_fail", "kind=vm id=1");
	end_free(stage);
}

static void mend_import_flush(struct stage *stage)
{
	wait_released(stage->owner);
	assert_cut_off(&stage->holders);
	igt_vualink_own_knob(&stage->own, "flush_fail", "off");
	reset_importer(stage);
}

static void end_access_slow(struct stage *stage)
{
	igt_vualink_own_knob(&stage->own, "access_delay", "us=3000");
	submit_stores(&stage->holders);
	end_free(stage);
	wait_released(stage->owner);
	igt_vualink_own_knob(&stage->own, "access_delay", "off");
}

static void prove_after_revoke(struct igt_ualink_pod *pod)
{
	prove(pod, end_revoke, NULL, true);
}

static void prove_after_free(struct igt_ualink_pod *pod)
{
	prove(pod, end_free, NULL, false);
}

static void prove_after_close(struct igt_ualink_pod *pod)
{
	prove(pod, end_close, NULL, false);
}

static void prove_after_exit(struct igt_ualink_pod *pod)
{
	prove(pod, end_exit, NULL, false);
}

static void prove_after_sigkill(struct igt_ualink_pod *pod)
{
	prove(pod, end_sigkill, NULL, false);
}

static void prove_after_reset(struct igt_ualink_pod *pod)
{
	prove(pod, reset_owner, NULL, true);
}

static void prove_after_suspend(struct igt_ualink_pod *pod)
{
	prove(pod, end_suspend, NULL, true);
}

static void prove_after_crash(struct igt_ualink_pod *pod)
{
	prove(pod, end_crash, NULL, true);
}

static void prove_after_importer_reset(struct igt_ualink_pod *pod)
{
	prove(pod, end_importer_reset, NULL, false);
}

static void prove_after_importer_suspend(struct igt_ualink_pod *pod)
{
	prove(pod, end_importer_suspend, NULL, false);
}

static void prove_after_link_cut(struct igt_ualink_pod *pod)
{
	prove(pod, end_link_cut, mend_link, false);
}

static void prove_after_mute(struct igt_ualink_pod *pod)
{
	prove(pod, end_mute, unmute, false);
}

static void prove_after_revokes_lost(struct igt_ualink_pod *pod)
{
	prove(pod, end_revokes_lost, find_revokes, false);
}

static void prove_after_flush_slow(struct igt_ualink_pod *pod)
{
	prove(pod, end_flush_slow, NULL, false);
}

static void prove_after_export_flush_fails(struct igt_ualink_pod *pod)
{
	prove(pod, end_export_flush_fails, NULL, false);
}

static void prove_after_import_flush_fails(struct igt_ualink_pod *pod)
{
	prove(pod, end_import_flush_fails, mend_import_flush, false);
}

static void prove_after_access_slow(struct igt_ualink_pod *pod)
{
	prove(pod, end_access_slow, NULL, false);
}

static const struct igt_ualink_test tests[] = {
	{ "revoke",
	  "Owner calls REVOKE and writes to the memory that it still has.",
	  prove_after_revoke },
	{ "free",
	  "Owner closes the object, and another gets the memory.",
	  prove_after_free },
	{ "close",
	  "Owner closes the device file.",
	  prove_after_close },
	{ "exit",
	  "Owner exits.",
	  prove_after_exit },
	{ "sigkill",
	  "Owner is killed.",
	  prove_after_sigkill },
	{ "reset",
	  "Owner's accelerator is reset.",
	  prove_after_reset },
	{ "suspend",
	  "Owner's accelerator sleeps, and its memory has been saved when it wakes up.",
	  prove_after_suspend },
	{ "crash",
	  "Owner's accelerator forgets everything, and nobody is told.",
	  prove_after_crash },
	{ "importer-reset",
	  "The importers' accelerator is reset, and the object is freed.",
	  prove_after_importer_reset },
	{ "importer-suspend",
	  "The importers' accelerator sleeps while the object is freed.",
	  prove_after_importer_suspend },
	{ "link-cut",
	  "The link breaks, and the object is freed.",
	  prove_after_link_cut },
	{ "mute",
	  "The importers' accelerator answers nothing while the object is freed.",
	  prove_after_mute },
	{ "revokes-lost",
	  "The importers' accelerator hears nothing of it before it is cut off.",
	  prove_after_revokes_lost },
	{ "flush-slow",
	  "Both accelerators need long for each flush.",
	  prove_after_flush_slow },
	{ "export-flush-fails",
	  "The owner's flush fails: nobody gets the memory before a reset.",
	  prove_after_export_flush_fails },
	{ "import-flush-fails",
	  "The importers' flush fails: the owner cuts them off.",
	  prove_after_import_flush_fails },
	{ "access-slow",
	  "Accesses are still in the fabric when the export ends.",
	  prove_after_access_slow },
};

int igt_main()
{
	igt_ualink_tests_run(tests, sizeof(tests) / sizeof(tests[0]));
}
