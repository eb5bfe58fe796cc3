// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: revoke
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: How access ends, and that nothing else does.
 * Test category: functionality test
 *
 * SUBTEST: ioctl
 * Description: When REVOKE returns, no importer reaches the memory, and each cost two messages.
 *
 * SUBTEST: free
 * Description: The last close of the object ends all imports of it, on every accelerator and file.
 *
 * SUBTEST: exit
 * Description: When the exporting process ends, its exports do.
 *
 * SUBTEST: sigkill
 * Description: When the exporting process is killed, importers live on and can import anew.
 *
 * SUBTEST: close-device
 * Description: Closing the device file ends the exports of its objects.
 *
 * SUBTEST: no-importer
 * Description: An export that nobody imported ends at once.
 *
 * SUBTEST: export-again
 * Description: A later export of the same object has a new handle and gives no life to old imports.
 *
 * SUBTEST: reuse
 * Description: What the owner writes after a revoke is neither seen nor changed by old importers.
 *
 * SUBTEST: busy
 * Description: A revoke of memory that a job waits on ends that job and nothing else.
 *
 * SUBTEST: signals
 * Description: Signals that come while a revoke waits for an importer do not make it fail.
 *
 * SUBTEST: queued
 * Description: Jobs that were queued behind the revoked one, and do not use the memory, run.
 *
 * SUBTEST: dead-is-refused
 * Description: What names a dead import fails, and what does not goes on in the same address space.
 *
 * SUBTEST: many
 * Description: All exports of a file end together.
 *
 * SUBTEST: three-nodes
 * Description: One revoke reaches the importers on all accelerators.
 *
 * SUBTEST: deaf-importer
 * Description: An importer that does not hear of the revoke is cut off by the exporter.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("How access ends, and that nothing else does.");

#define PAGE	4096ull
#define SIZE	(64ull << 10)

static void ioctl_(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before[2], after[2];
	struct igt_ualink_pair pair;
	struct igt_ualink *dev[2];

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 1);
	igt_ualink_check_pattern(pair.far, 1);
	dev[0] = pair.exporter;
	dev[1] = pair.importer;
	for (int i = 0; i < 2; i++)
		igt_ualink_device_info(dev[i], &before[i]);

	igt_ualink_revoke(pair.own);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	for (int i = 0; i < 2; i++) {
		igt_ualink_device_info(dev[i], &after[i]);
		igt_assert_eq_u64(after[i].msgs_sent, before[i].msgs_sent + 1);
		igt_assert_eq_u64(after[i].msgs_received,
				  before[i].msgs_received + 1);
	}
	igt_assert_eq_u64(after[0].exports, before[0].exports - 1);
	igt_assert_eq_u64(after[0].grants, before[0].grants - 1);
	igt_assert_eq_u64(after[0].npa_used, before[0].npa_used - SIZE);
	igt_assert_eq_u64(after[0].npa_quarantined, before[0].npa_quarantined);
	igt_assert_eq_u64(after[1].imports, before[1].imports - 1);

	igt_ualink_check_pattern(pair.own, 1);
	igt_ualink_pair_fini(&pair);
	igt_ualink_heartbeat_restore(pod);
}

static void free_(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink *self = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_bo *far, *loop;
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 2);
	far = igt_ualink_import_bo(second, pair.handle);
	loop = igt_ualink_import_bo(self, pair.handle);
	igt_ualink_check_pattern(far, 2);
	igt_ualink_check_pattern(loop, 2);

	igt_ualink_pair_free_own(&pair);
	igt_ualink_wait_death(pair.importer, pair.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_wait_death(second, pair.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_wait_death(self, pair.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_assert_no_access(second, far->va);
	igt_ualink_assert_no_access(self, loop->va);

	igt_ualink_bo_destroy(loop);
	igt_ualink_bo_destroy(far);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(self);
	igt_ualink_close(second);
}

/* The exporter is another process. @end is how its export ends. */
static void revoked_by_process(struct igt_ualink_pod *pod,
			       void (*end)(struct igt_ualink_exporter *exporter))
{
	struct igt_ualink_exporter exporter;
	struct igt_ualink_bo *far;
	struct igt_ualink *dev;

	igt_ualink_exporter_start(&exporter, &pod->nodes[0], SIZE, 3);
	dev = igt_ualink_open(&pod->nodes[1]);
	far = igt_ualink_import_bo(dev, exporter.handle);
	igt_ualink_check_pattern(far, 3);

	end(&exporter);
	igt_ualink_wait_death(dev, exporter.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_assert_no_access(dev, far->va);
	igt_assert_eq(igt_ualink_import_errno(dev, exporter.handle), -ENOENT);
	igt_ualink_bo_destroy(far);

	/* the same file imports from the next process as if nothing had been */
	igt_ualink_exporter_start(&exporter, &pod->nodes[0], SIZE, 4);
	far = igt_ualink_import_bo(dev, exporter.handle);
	igt_ualink_check_pattern(far, 4);
	igt_ualink_exporter_stop(&exporter);
	igt_ualink_wait_death(dev, exporter.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_bo_destroy(far);
	igt_ualink_close(dev);
}

static void exit_(struct igt_ualink_pod *pod)
{
	revoked_by_process(pod, igt_ualink_exporter_stop);
}

static void sigkill(struct igt_ualink_pod *pod)
{
	revoked_by_process(pod, igt_ualink_exporter_kill);
}

static void do_close_device(struct igt_ualink_exporter *exporter)
{
	igt_ualink_exporter_do(exporter, IGT_UALINK_DO_CLOSE);
	igt_ualink_exporter_stop(exporter);
}

static void close_device(struct igt_ualink_pod *pod)
{
	revoked_by_process(pod, do_close_device);
}

static void no_importer(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before, after;
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink_bo *bo = igt_ualink_bo_create(a, SIZE, 0);
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_fill_pattern(bo, 5);
	igt_ualink_export(bo, handle);
	igt_ualink_device_info(a, &before);
	igt_ualink_revoke(bo);
	igt_ualink_device_info(a, &after);
	igt_assert_eq_u64(after.msgs_sent, before.msgs_sent);
	igt_assert_eq_u64(after.exports, before.exports - 1);
	igt_assert_eq(igt_ualink_import_errno(b, handle), -ENOENT);
	igt_ualink_check_pattern(bo, 5);

	igt_ualink_bo_destroy(bo);
	igt_ualink_close(b);
	igt_ualink_close(a);
	igt_ualink_heartbeat_restore(pod);
}

static void export_again(struct igt_ualink_pod *pod)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *far;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 6);
	igt_ualink_revoke(pair.own);
	igt_ualink_export(pair.own, handle);
	igt_assert(memcmp(handle, pair.handle, sizeof(handle)));
	igt_assert_eq(igt_ualink_import_errno(pair.importer, pair.handle), -ENOENT);

	far = igt_ualink_import_bo(pair.importer, handle);
	igt_assert_neq_u32(far->handle, pair.far->handle);
	igt_ualink_check_pattern(far, 6);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_fill_pattern(far, 7);
	igt_ualink_check_pattern(pair.own, 7);

	igt_ualink_bo_destroy(far);
	igt_ualink_pair_fini(&pair);
}

static void reuse(struct igt_ualink_pod *pod)
{
	struct igt_ualink_exporter exporter;
	struct igt_ualink_bo *far;
	struct igt_ualink *dev;

	igt_ualink_exporter_start(&exporter, &pod->nodes[0], SIZE, 8);
	dev = igt_ualink_open(&pod->nodes[1]);
	far = igt_ualink_import_bo(dev, exporter.handle);
	igt_ualink_fill_pattern(far, 8);

	/* the same pages, with other content */
	igt_ualink_exporter_do(&exporter, IGT_UALINK_DO_REVOKE);
	igt_ualink_exporter_do(&exporter, IGT_UALINK_DO_STAMP);
	for (uint64_t at = 0; at < SIZE; at += PAGE)
		igt_ualink_assert_no_access(dev, far->va + at);
	igt_ualink_exporter_do(&exporter, IGT_UALINK_DO_CHECK);

	igt_ualink_bo_destroy(far);
	igt_ualink_close(dev);
	igt_ualink_exporter_stop(&exporter);
}

static void busy(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair, other;
	struct igt_ualink_bo *local;
	uint64_t job;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 9);
	igt_ualink_pair_init(&other, &pod->nodes[0], &pod->nodes[1], SIZE, 10);
	local = igt_ualink_bo_create(pair.importer, SIZE, 0);
	igt_ualink_fill_pattern(local, 11);
	igt_ualink_store(pair.exporter, pair.own->va, 0);

	job = igt_ualink_submit_wait(pair.far, 60000);
	igt_ualink_revoke(pair.own);
	igt_assert_eq(pair.importer->backend->wait(pair.importer, job, 10000),
		      -EFAULT);
	{
		struct igt_ualink_fault fault;

		igt_assert_eq(pair.importer->backend->read_fault(pair.importer,
								 &fault), 0);
		igt_assert_eq_u64(fault.va / PAGE, pair.far->va / PAGE);
	}

	/* the file, its other memory, and the other import go on */
	igt_ualink_check_pattern(local, 11);
	igt_ualink_check_pattern(other.far, 10);
	igt_ualink_fill_pattern(other.far, 12);
	igt_ualink_check_pattern(other.own, 12);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);

	igt_ualink_bo_destroy(local);
	igt_ualink_pair_fini(&other);
	igt_ualink_pair_fini(&pair);
}

static void revoke_with_signals(struct igt_ualink_pod *pod, bool restart)
{
	struct drm_gem_ualink_revoke arg = {};
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink_fault fault;
	struct timespec start, end;
	struct igt_ualink_pair pair;
	uint64_t job;
	long took;
	int ret;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 21);
	igt_ualink_store(pair.exporter, pair.own->va, 0);
	job = igt_ualink_submit_wait(pair.far, 60000);
	arg.gem_handle = pair.own->handle;

	/* the job has its time of grace, in which the signals come */
	igt_ualink_signals_start(10, restart);
	clock_gettime(CLOCK_MONOTONIC, &start);
	ret = ioctl(pair.exporter->fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg) ? errno : 0;
	clock_gettime(CLOCK_MONOTONIC, &end);
	igt_assert_lt(0, igt_ualink_signals_stop());
	igt_assert_eq(ret, 0);
	took = (end.tv_sec - start.tv_sec) * 1000 +
	       (end.tv_nsec - start.tv_nsec) / 1000000;
	igt_assert_f(took > 200, "it took %ld ms\n", took);

	/* it is over when the call returns */
	igt_assert_eq(__igt_ualink_revoke(pair.exporter->fd, pair.own->handle),
		      -ENOENT);
	igt_assert_eq(pair.importer->backend->wait(pair.importer, job, 10000),
		      -EFAULT);
	igt_assert_eq(pair.importer->backend->read_fault(pair.importer, &fault), 0);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_fill_pattern(pair.own, 22);
	igt_ualink_check_pattern(pair.own, 22);
	igt_ualink_export(pair.own, handle);
	igt_assert(memcmp(handle, pair.handle, sizeof(handle)));
	igt_ualink_pair_fini(&pair);
}

static void signals_(struct igt_ualink_pod *pod)
{
	revoke_with_signals(pod, false);
	revoke_with_signals(pod, true);
}

static void queued(struct igt_ualink_pod *pod)
{
	struct igt_ualink_bo *local;
	struct igt_ualink_pair pair;
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_FILL,
		.len = SIZE,
		.value = 0x600d600d,
	};
	uint64_t job, behind;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 13);
	local = igt_ualink_bo_create(pair.importer, SIZE, 0);
	igt_ualink_store(pair.exporter, pair.own->va, 0);

	job = igt_ualink_submit_wait(pair.far, 60000);
	cmd.dst = local->va;
	igt_assert_eq(pair.importer->backend->submit(pair.importer, &cmd, 1,
						     &behind), 0);
	igt_ualink_revoke(pair.own);
	igt_assert_eq(pair.importer->backend->wait(pair.importer, job, 10000),
		      -EFAULT);
	igt_assert_eq(pair.importer->backend->wait(pair.importer, behind, 10000),
		      0);
	igt_assert_eq_u64(igt_ualink_load(pair.importer, local->va + SIZE - 8),
			  0x600d600d600d600d);

	igt_ualink_bo_destroy(local);
	igt_ualink_pair_fini(&pair);
}

static void dead_is_refused(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export again = {};
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *local;
	struct igt_ualink *b;
	uint64_t va;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 14);
	b = pair.importer;
	igt_ualink_revoke(pair.own);

	va = igt_ualink_va_alloc(b, SIZE);
	igt_assert_eq(b->backend->bind(b, pair.far->handle, va, 0, SIZE, 0),
		      -ENODEV);
	igt_assert_eq(b->backend->bind(b, pair.far->handle, va, 0, SIZE,
				       IGT_UALINK_BIND_READ_ONLY), -ENODEV);
	igt_ualink_assert_no_access(b, va);
	again.gem_handle = pair.far->handle;
	igt_assert_eq(__igt_ualink_export(b->fd, &again), -EOPNOTSUPP);

	/* it is still bound where it was, and that hinders nobody */
	local = igt_ualink_bo_create(b, SIZE, 0);
	igt_ualink_fill_pattern(local, 15);
	igt_ualink_check_pattern(local, 15);
	igt_ualink_assert_no_access(b, pair.far->va);
	igt_ualink_bo_destroy(local);
	igt_ualink_pair_fini(&pair);
}

#define MANY	64

static void many(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	uint8_t handle[MANY][DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink_bo *far[MANY], *own;
	struct drm_ualink_event event = {};

	for (int i = 0; i < MANY; i++) {
		own = igt_ualink_bo_create(a, PAGE, 0);
		igt_ualink_fill_pattern(own, i);
		igt_ualink_export(own, handle[i]);
		far[i] = igt_ualink_import_bo(b, handle[i]);
		free(own);
	}
	for (int i = 0; i < MANY; i++)
		igt_ualink_check_pattern(far[i], i);

	/* with everything open */
	igt_ualink_close(a);
	while (event.deaths < MANY)
		igt_assert_eq(__igt_ualink_read_event(b->fd, &event, 10000), 0);
	igt_assert_eq_u64(event.deaths, MANY);
	for (int i = 0; i < MANY; i++) {
		igt_ualink_wait_death(b, handle[i], DRM_UALINK_DEATH_REVOKED);
		igt_ualink_assert_no_access(b, far[i]->va);
		igt_ualink_bo_destroy(far[i]);
	}
	igt_ualink_close(b);
}

static void three_nodes(struct igt_ualink_pod *pod)
{
	struct igt_ualink *c;
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *far;
	unsigned int count;
	uint32_t *ids;

	igt_require_f(pod->count > 2, "there are two accelerators only\n");
	c = igt_ualink_open(&pod->nodes[2]);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 16);
	far = igt_ualink_import_bo(c, pair.handle);
	igt_ualink_fill_pattern(far, 17);
	igt_ualink_check_pattern(pair.far, 17);

	ids = igt_ualink_query_array(pair.exporter, DRM_UALINK_QUERY_IMPORTERS,
				     pair.own->handle, sizeof(*ids), &count);
	igt_assert_eq(count, 2);
	igt_assert_eq_u32(ids[0] + ids[1],
			  pod->nodes[1].info.id + pod->nodes[2].info.id);
	free(ids);

	igt_ualink_revoke(pair.own);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_assert_no_access(c, far->va);
	igt_ualink_bo_destroy(far);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(c);
}

/* The owner of the memory refuses the access: the importer's page tables still have it. */
static void assert_refused_by_owner(struct igt_ualink *dev, uint64_t va)
{
	struct igt_ualink_cmd store = {
		.op = IGT_UALINK_STORE,
		.dst = va,
		.value = 0xdeadull,
	};
	struct igt_ualink_fault fault;
	uint64_t word;

	for (int write = 0; write < 2; write++) {
		igt_assert_eq(write ? __igt_ualink_run(dev, &store, 1) :
			      __igt_ualink_read(dev, va, &word, sizeof(word)),
			      -EFAULT);
		igt_assert_eq(dev->backend->read_fault(dev, &fault), 0);
		igt_assert_eq_u64(fault.va, va);
		igt_assert_eq(fault.write, write);
		igt_assert(fault.remote);
	}
}

static void deaf_importer(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before, now;
	struct igt_ualink_pair pair, other;
	struct drm_ualink_import_info info;

	igt_require(pod->nodes[1].backend->lose);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 18);
	igt_ualink_pair_init(&other, &pod->nodes[0], &pod->nodes[1], SIZE, 19);
	igt_ualink_check_pattern(pair.far, 18);
	igt_ualink_device_info(pair.exporter, &before);

	igt_assert_eq(pair.importer->backend->lose(pair.importer,
						   IGT_UALINK_LOSE_REVOKES), 0);
	igt_ualink_revoke(pair.own);

	/* the pages are free, and their place in the segment is not */
	igt_ualink_fill_pattern(pair.own, 20);
	for (uint64_t at = 0; at < SIZE; at += PAGE)
		assert_refused_by_owner(pair.importer, pair.far->va + at);
	igt_ualink_check_pattern(pair.own, 20);
	igt_ualink_device_info(pair.exporter, &now);
	igt_assert_eq_u64(now.exports, before.exports - 1);
	igt_assert_eq_u64(now.npa_quarantined, before.npa_quarantined + SIZE);
	igt_assert(igt_ualink_import_info(pair.importer, pair.handle, &info));
	igt_assert_eq_u32(info.death, DRM_UALINK_ALIVE);

	igt_assert_eq(pair.importer->backend->lose(pair.importer,
						   IGT_UALINK_LOSE_NOTHING), 0);
	igt_ualink_wait_death(pair.importer, pair.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_check_pattern(other.far, 19);
	igt_ualink_pair_fini(&other);
	igt_ualink_pair_fini(&pair);
}

static const struct igt_ualink_test tests[] = {
	{ "ioctl",
	  "When REVOKE returns, no importer reaches the memory, and each cost two messages.",
	  ioctl_ },
	{ "free",
	  "The last close of the object ends all imports of it, on every accelerator and file.",
	  free_ },
	{ "exit",
	  "When the exporting process ends, its exports do.",
	  exit_ },
	{ "sigkill",
	  "When the exporting process is killed, importers live on and can import anew.",
	  sigkill },
	{ "close-device",
	  "Closing the device file ends the exports of its objects.",
	  close_device },
	{ "no-importer",
	  "An export that nobody imported ends at once.",
	  no_importer },
	{ "export-again",
	  "A later export of the same object has a new handle and gives no life to old imports.",
	  export_again },
	{ "reuse",
	  "What the owner writes after a revoke is neither seen nor changed by old importers.",
	  reuse },
	{ "busy",
	  "A revoke of memory that a job waits on ends that job and nothing else.",
	  busy },
	{ "signals",
	  "Signals that come while a revoke waits for an importer do not make it fail.",
	  signals_ },
	{ "queued",
	  "Jobs that were queued behind the revoked one, and do not use the memory, run.",
	  queued },
	{ "dead-is-refused",
	  "What names a dead import fails, and what does not goes on in the same address space.",
	  dead_is_refused },
	{ "many",
	  "All exports of a file end together.",
	  many },
	{ "three-nodes",
	  "One revoke reaches the importers on all accelerators.",
	  three_nodes },
	{ "deaf-importer",
	  "An importer that does not hear of the revoke is cut off by the exporter.",
	  deaf_importer },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
