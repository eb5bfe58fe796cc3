// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: the virtual accelerator is taken away
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: hotplug
 * Functionality: ualink
 * Feature: ualink
 * Description: Unplugging virtual accelerators that are in use or out of order.
 * Test category: functionality test
 *
 * SUBTEST: waiting-job
 * Description: A job that waits for a fence of others keeps its accelerator until that signals.
 *
 * SUBTEST: stuck-vm
 * Description: An address space that could not be flushed goes when its accelerator does.
 *
 * SUBTEST: stuck-vm-reset
 * Description: It goes with a reset as well, and the next one finds nothing of it.
 *
 * SUBTEST: fence-order
 * Description: Fences of the jobs of one file signal in order, whatever ends them.
 *
 * SUBTEST: wedged-memory-stays
 * Description: What an outdated TLB entry leads to stays where it is, and no job gets there.
 *
 * SUBTEST: concurrent-tables
 * Description: Page tables that many exporters make at the same time all go.
 */
#include <errno.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink.h"
#include "igt_ualink_vualink.h"

IGT_TEST_DESCRIPTION("Unplugging virtual accelerators that are in use or out of order.");

#define SIZE	(64ull << 10)

/* ----------------------------------------------------------------- jobs */

static uint64_t submit(struct igt_ualink *dev, struct igt_ualink_cmd cmd)
{
	uint64_t job;

	igt_assert_eq(dev->backend->submit(dev, &cmd, 1, &job), 0);
	return job;
}

/* Waits for what does not come. */
static uint64_t submit_wait(struct igt_ualink *dev, uint64_t va, uint32_t timeout_ms)
{
	return submit(dev, (struct igt_ualink_cmd) {
		.op = IGT_UALINK_WAIT,
		.dst = va,
		.value = UINT64_MAX,
		.timeout_ms = timeout_ms,
	});
}

static uint64_t submit_store(struct igt_ualink *dev, uint64_t va, uint64_t value)
{
	return submit(dev, (struct igt_ualink_cmd) {
		.op = IGT_UALINK_STORE,
		.dst = va,
		.value = value,
	});
}

static int job_to_sync_file(struct igt_ualink *dev, uint64_t job)
{
	int fd;

	igt_assert_eq(drmSyncobjExportSyncFile(dev->fd, job, &fd), 0);
	return fd;
}

/* Status of the fence in a sync file, and when it signaled. */
static int sync_file_status(int fd, uint64_t *time_ns)
{
	struct sync_fence_info fence = {};
	struct sync_file_info info = {
		.num_fences = 1,
		.sync_fence_info = (uintptr_t)&fence,
	};
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	igt_assert_eq(poll(&poll_fd, 1, 5000), 1);
	igt_assert_eq(ioctl(fd, SYNC_IOC_FILE_INFO, &info), 0);
	*time_ns = fence.timestamp_ns;
	return fence.status;
}

/* ------------------------------------------------------- what stays, goes */

/* Closes a file as if the process had died: nothing is given back before. */
static void drop(struct igt_ualink *dev)
{
	igt_assert(!dev->staging);
	close(dev->fd);
	free(dev->priv);
	free(dev);
}

/* A job of @dev that starts after the fence in a sync file. */
static void submit_after(struct igt_ualink *dev, uint32_t vm_id, uint64_t va, int sync_file)
{
	struct drm_vualink_cmd cmd = {
		.op = DRM_VUALINK_OP_STORE,
		.dst = va,
		.value = 1,
	};
	struct drm_vualink_sync in = {};
	struct drm_vualink_exec arg = {
		.vm_id = vm_id,
		.cmds = { .ptr = (uintptr_t)&cmd, .count = 1, .stride = sizeof(cmd) },
		.in_syncs = { .ptr = (uintptr_t)&in, .count = 1, .stride = sizeof(in) },
	};

	igt_assert_eq(drmSyncobjCreate(dev->fd, 0, &in.handle), 0);
	igt_assert_eq(drmSyncobjImportSyncFile(dev->fd, in.handle, sync_file), 0);
	igt_assert_eq(drmIoctl(dev->fd, DRM_IOCTL_VUALINK_EXEC, &arg), 0);
	drmSyncobjDestroy(dev->fd, in.handle);
}

static void waiting_job(struct igt_ualink_pod *pod)
{
	struct igt_ualink *dev, *other;
	struct igt_ualink_bo *bo, *far;
	struct igt_vualink_own own;
	uint64_t job, when;
	int fence;

	igt_vualink_own_init(&own, pod, 1);
	igt_assert_eq(igt_vualink_devices(), own.before + 1);
	other = igt_ualink_open(&pod->nodes[0]);
	far = igt_ualink_bo_create(other, SIZE, 0);
	dev = igt_ualink_open(&own.nodes[0]);
	bo = igt_ualink_bo_create(dev, SIZE, 0);

	job = submit_wait(other, far->va, 2000);
	fence = job_to_sync_file(other, job);
	/* the first address space of a file is number 1 */
	submit_after(dev, 1, bo->va, fence);
	drop(dev);
	igt_vualink_own_fini(&own);

	igt_assert_eq(other->backend->wait(other, job, 0), -EBUSY);
	igt_assert_eq(igt_vualink_devices(), own.before + 1);
	igt_assert_eq(sync_file_status(fence, &when), -ETIME);
	igt_assert(igt_vualink_wait_devices(own.before));
	igt_assert_eq(other->backend->wait(other, job, 0), -ETIME);

	close(fence);
	free(bo);
	igt_ualink_bo_destroy(far);
	igt_ualink_close(other);
}

/* Leaves an address space with a mapping that cannot be flushed. */
static void make_stuck(struct igt_vualink_own *own, struct igt_ualink *witness)
{
	struct igt_ualink *dev = igt_ualink_open(&own->nodes[0]);
	struct igt_ualink_bo *bo = igt_ualink_bo_create(dev, SIZE, 0);

	igt_ualink_store(dev, bo->va, 1);
	igt_vualink_own_knob(own, "flush_fail", "kind=vm once=1");
	drop(dev);
	free(bo);
	for (int i = 0; i < 500 && !igt_vualink_counter(witness, "state", "wedged"); i++)
		usleep(10 * 1000);
	igt_assert_eq_u64(igt_vualink_counter(witness, "state", "wedged"), 1);
	igt_assert_eq_u64(igt_vualink_counter(witness, "state", "vms"), 2);
}

static void stuck_vm(struct igt_ualink_pod *pod)
{
	struct igt_vualink_own own;
	struct igt_ualink *witness;

	igt_vualink_own_init(&own, pod, 1);
	witness = igt_ualink_open(&own.nodes[0]);
	make_stuck(&own, witness);
	igt_vualink_own_unplug(&own);
	drop(witness);
	igt_vualink_own_fini(&own);
	igt_assert(igt_vualink_wait_devices(own.before));
}

static void stuck_vm_reset(struct igt_ualink_pod *pod)
{
	struct igt_ualink_stats was, is;
	struct igt_vualink_own own;
	struct igt_ualink *witness;

	igt_vualink_own_init(&own, pod, 1);
	witness = igt_ualink_open(&own.nodes[0]);
	igt_ualink_stats(witness, &was);
	make_stuck(&own, witness);
	/* the second comes while the teardown that the first began may be under way */
	igt_assert_eq(witness->backend->reset(witness), 0);
	igt_assert_eq(witness->backend->reset(witness), 0);
	for (int i = 0; i < 500; i++) {
		igt_ualink_stats(witness, &is);
		if (is.vram_used == was.vram_used)
			break;
		usleep(10 * 1000);
	}
	igt_assert_eq_u64(is.vram_used, was.vram_used);
	igt_assert_eq_u64(is.stale, 0);
	igt_assert_eq_u64(igt_vualink_counter(witness, "state", "vms"), 1);
	igt_assert_eq_u64(igt_vualink_counter(witness, "state", "wedged"), 0);
	igt_ualink_close(witness);
	igt_vualink_own_fini(&own);
	igt_assert(igt_vualink_wait_devices(own.before));
}

/* ----------------------------------------------------------------- order */

/* More than the hardware has at a time */
#define JOBS	80

static void unplug_with_jobs(const struct igt_ualink_pod *pod)
{
	struct igt_vualink_own own;
	uint64_t last = 0, when;
	struct igt_ualink_bo *bo;
	struct igt_ualink *dev;
	int fences[JOBS];

	igt_vualink_own_init(&own, pod, 1);
	dev = igt_ualink_open(&own.nodes[0]);
	bo = igt_ualink_bo_create(dev, SIZE, 0);
	fences[0] = job_to_sync_file(dev, submit_wait(dev, bo->va, 9000));
	for (int i = 1; i < JOBS; i++)
		fences[i] = job_to_sync_file(dev, submit_store(dev, bo->va + 8 * i, i));
	igt_vualink_own_unplug(&own);

	for (int i = 0; i < JOBS; i++) {
		igt_assert_eq(sync_file_status(fences[i], &when), -ENODEV);
		igt_assert_lte_u64(last, when);
		last = when;
		close(fences[i]);
	}
	free(bo);
	drop(dev);
	igt_vualink_own_fini(&own);
	igt_assert(igt_vualink_wait_devices(own.before));
}

static void fence_order(struct igt_ualink_pod *pod)
{
	for (int i = 0; i < 5; i++)
		unplug_with_jobs(pod);
}

/* ---------------------------------------------------------------- wedged */

static int try_store(struct igt_ualink *dev, uint64_t va)
{
	struct igt_ualink_cmd cmd = { .op = IGT_UALINK_STORE, .dst = va, .value = 0xbad };
	uint64_t job;

	return dev->backend->submit(dev, &cmd, 1, &job);
}

/* Neither who asks for it nor who needs the room makes it move. */
static void assert_nothing_moves(struct igt_ualink *dev)
{
	struct igt_ualink_stats was, is;
	uint32_t handle;

	igt_ualink_stats(dev, &was);
	igt_assert_eq(dev->backend->evict_all(dev), -EIO);
	igt_assert_eq(dev->backend->alloc(dev, was.vram_size, 0, &handle), 0);
	igt_ualink_stats(dev, &is);
	igt_assert_eq_u64(is.vram_used, was.vram_used);
	igt_ualink_gem_close(dev->fd, handle);
}

static void wedged_memory_stays(struct igt_ualink_pod *pod)
{
	struct igt_ualink_bo *bo, *mapped;
	struct igt_ualink_stats was, is;
	struct igt_vualink_own own;
	struct igt_ualink *dev;

	igt_vualink_own_init(&own, pod, 1);
	dev = igt_ualink_open(&own.nodes[0]);
	bo = igt_ualink_bo_create(dev, SIZE, 0);
	mapped = igt_ualink_bo_create(dev, SIZE, 0);
	igt_ualink_fill_pattern(bo, 1);
	igt_ualink_fill_pattern(mapped, 2);
	/* the translation is in the TLB from now on */
	igt_ualink_check_pattern(bo, 1);

	igt_vualink_own_knob(&own, "flush_fail", "kind=vm once=1");
	igt_assert_eq(dev->backend->unbind(dev, bo->va, SIZE), -EIO);
	igt_assert_eq_u64(igt_vualink_counter(dev, "state", "wedged"), 1);
	assert_nothing_moves(dev);
	igt_assert_eq(try_store(dev, bo->va), -EIO);
	igt_assert_eq(try_store(dev, mapped->va), -EIO);
	assert_nothing_moves(dev);

	igt_assert_eq(dev->backend->reset(dev), 0);
	igt_assert_eq_u64(igt_vualink_counter(dev, "state", "wedged"), 0);
	igt_ualink_assert_no_access(dev, bo->va);
	igt_assert_eq(dev->backend->bind(dev, bo->handle, bo->va, 0, SIZE, 0), 0);
	igt_ualink_stats(dev, &was);
	igt_assert_eq(dev->backend->evict_all(dev), 0);
	igt_ualink_stats(dev, &is);
	igt_assert_lte_u64(is.vram_used + 2 * SIZE, was.vram_used);
	igt_ualink_check_pattern(bo, 1);
	igt_ualink_check_pattern(mapped, 2);
	igt_ualink_stats(dev, &is);
	igt_assert_eq_u64(is.stale, 0);

	igt_ualink_bo_destroy(bo);
	igt_ualink_bo_destroy(mapped);
	igt_ualink_close(dev);
	igt_vualink_own_fini(&own);
	igt_assert(igt_vualink_wait_devices(own.before));
}

/* ---------------------------------------------------------------- tables */

#define EXPORTERS	12
#define EXPORT_SIZE	(4ull << 20)

struct exporter {
	struct igt_ualink *dev;
	struct drm_gem_ualink_export arg;
	pthread_barrier_t *start;
	pthread_t thread;
	int ret;
};

static void *exporter_thread(void *data)
{
	struct exporter *exporter = data;

	pthread_barrier_wait(exporter->start);
	exporter->ret = __igt_ualink_export(exporter->dev->fd, &exporter->arg);
	return NULL;
}

/* Each object takes many tables, as no two of its pages are neighbours. */
static void exporter_start(struct exporter *exporter, const struct igt_ualink_node *node,
			   pthread_barrier_t *start)
{
	exporter->dev = igt_ualink_open(node);
	exporter->start = start;
	igt_assert_eq(exporter->dev->backend->alloc(exporter->dev, EXPORT_SIZE,
						    IGT_UALINK_BO_SCATTERED,
						    &exporter->arg.gem_handle), 0);
	igt_assert_eq(pthread_create(&exporter->thread, NULL, exporter_thread, exporter), 0);
}

static void export_at_once(const struct igt_ualink_node *node)
{
	struct exporter exporters[EXPORTERS] = {};
	pthread_barrier_t start;

	igt_assert_eq(pthread_barrier_init(&start, NULL, EXPORTERS), 0);
	for (int i = 0; i < EXPORTERS; i++)
		exporter_start(&exporters[i], node, &start);
	for (int i = 0; i < EXPORTERS; i++) {
		pthread_join(exporters[i].thread, NULL);
		igt_assert_eq(exporters[i].ret, 0);
	}
	for (int i = 0; i < EXPORTERS; i++)
		igt_ualink_close(exporters[i].dev);
	pthread_barrier_destroy(&start);
}

static void concurrent_tables(struct igt_ualink_pod *pod)
{
	struct igt_vualink_own own;

	/* each time from an empty table on */
	for (int i = 0; i < 3; i++) {
		igt_vualink_own_init(&own, pod, 1);
		export_at_once(&own.nodes[0]);
		igt_vualink_own_fini(&own);
		igt_assert(igt_vualink_wait_devices(own.before));
	}
}

static const struct igt_ualink_test tests[] = {
	{ "waiting-job",
	  "A job that waits for a fence of others keeps its accelerator until that signals.",
	  waiting_job },
	{ "stuck-vm",
	  "An address space that could not be flushed goes when its accelerator does.",
	  stuck_vm },
	{ "stuck-vm-reset",
	  "It goes with a reset as well, and the next one finds nothing of it.",
	  stuck_vm_reset },
	{ "fence-order",
	  "Fences of the jobs of one file signal in order, whatever ends them.",
	  fence_order },
	{ "wedged-memory-stays",
	  "What an outdated TLB entry leads to stays where it is, and no job gets there.",
	  wedged_memory_stays },
	{ "concurrent-tables",
	  "Page tables that many exporters make at the same time all go.",
	  concurrent_tables },
};

int igt_main()
{
	igt_ualink_tests_run(tests, sizeof(tests) / sizeof(tests[0]));
}
