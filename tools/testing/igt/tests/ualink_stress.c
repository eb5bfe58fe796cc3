// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: much at once
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: Many imports, many threads, a full segment, and races.
 * Test category: stress test
 *
 * SUBTEST: 10k-imports
 * Description: Ten thousand imports of a handle take one request and one piece of NPA.
 *
 * SUBTEST: threads
 * Description: Threads that export one object, or import one handle, at the same time get the same.
 *
 * SUBTEST: npa-exhausted
 * Description: In a full segment exports fail, old ones work, and one that ends makes room.
 *
 * SUBTEST: race-with-revoke
 * Description: Imports that race with revokes get the right content or an error.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("Many imports, many threads, a full segment, and races.");

#define PAGE	4096ull
#define SIZE	(64ull << 10)

static void ten_thousand_imports(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before, after;
	struct igt_ualink_pair pair;

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 7);
	igt_ualink_device_info(pair.importer, &before);
	for (int i = 0; i < 10000; i++)
		close(igt_ualink_import(pair.importer, pair.handle));
	igt_ualink_device_info(pair.importer, &after);
	igt_assert_eq_u64(after.msgs_sent, before.msgs_sent);
	igt_assert_eq_u64(after.msgs_received, before.msgs_received);
	igt_assert_eq_u64(after.imports, before.imports);

	igt_ualink_device_info(pair.exporter, &after);
	igt_assert_eq_u64(after.exported_bytes, after.npa_used);
	igt_ualink_check_pattern(pair.far, 7);
	igt_ualink_pair_fini(&pair);
	igt_ualink_heartbeat_restore(pod);
}

#define THREADS	8

struct thread {
	pthread_t id;
	pthread_barrier_t *barrier;
	struct drm_gem_ualink_export export;
	struct drm_gem_ualink_import import;
	int fd;
	int ret;
};

static void *export_thread(void *arg)
{
	struct thread *t = arg;

	pthread_barrier_wait(t->barrier);
	t->ret = __igt_ualink_export(t->fd, &t->export);
	return NULL;
}

static void *import_thread(void *arg)
{
	struct thread *t = arg;

	pthread_barrier_wait(t->barrier);
	t->ret = __igt_ualink_import(t->fd, &t->import);
	return NULL;
}

static void run_threads(struct thread *t, void *(*fn)(void *))
{
	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		t[i].barrier = &barrier;
		igt_assert_eq(pthread_create(&t[i].id, NULL, fn, &t[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i].id, NULL);
	for (int i = 0; i < THREADS; i++)
		igt_assert_eq(t[i].ret, 0);
	pthread_barrier_destroy(&barrier);
}

static void threads(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_device_info before, after;
	struct thread t[THREADS] = {};
	struct igt_ualink_bo *bo, *far;
	uint32_t handle[2];

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_warm_up(&pod->nodes[0], &pod->nodes[1]);
	for (int round = 0; round < 20; round++) {
		bo = igt_ualink_bo_create(a, SIZE, 0);
		igt_ualink_fill_pattern(bo, round);
		igt_ualink_device_info(a, &before);
		for (int i = 0; i < THREADS; i++) {
			t[i].fd = a->fd;
			t[i].export.gem_handle = bo->handle;
		}
		run_threads(t, export_thread);
		igt_ualink_device_info(a, &after);
		igt_assert_eq_u64(after.exports, before.exports + 1);
		for (int i = 0; i < THREADS; i++)
			igt_assert(!memcmp(t[i].export.handle, t[0].export.handle,
					   DRM_UALINK_HANDLE_SIZE));

		igt_ualink_device_info(b, &before);
		for (int i = 0; i < THREADS; i++) {
			t[i].fd = b->fd;
			memcpy(t[i].import.handle, t[0].export.handle,
			       DRM_UALINK_HANDLE_SIZE);
		}
		run_threads(t, import_thread);
		igt_ualink_device_info(b, &after);
		igt_assert_eq_u64(after.imports, before.imports + 1);
		igt_assert_eq_u64(after.msgs_sent, before.msgs_sent + 1);

		far = igt_ualink_bo_from_fd(b, t[0].import.fd, SIZE, 0);
		igt_ualink_check_pattern(far, round);
		handle[0] = far->handle;
		for (int i = 0; i < THREADS; i++) {
			igt_assert_eq(__igt_ualink_fd_to_handle(b->fd,
								t[i].import.fd,
								&handle[1]), 0);
			igt_assert_eq_u32(handle[1], handle[0]);
			close(t[i].import.fd);
		}
		igt_ualink_revoke(bo);
		igt_ualink_bo_destroy(far);
		igt_ualink_bo_destroy(bo);
	}
	igt_ualink_close(b);
	igt_ualink_close(a);
	igt_ualink_heartbeat_restore(pod);
}

/* Exports until there is no room; returns how many there are. */
static unsigned int fill_segment(struct igt_ualink *dev, uint64_t size,
				 struct igt_ualink_bo **bos, unsigned int max)
{
	struct drm_gem_ualink_export arg;
	unsigned int n;
	int ret;

	for (n = 0; n < max; n++) {
		bos[n] = igt_ualink_bo_create(dev, size, 0);
		igt_ualink_fill_pattern(bos[n], n);
		memset(&arg, 0, sizeof(arg));
		arg.gem_handle = bos[n]->handle;
		ret = __igt_ualink_export(dev->fd, &arg);
		if (ret)
			break;
	}
	igt_assert_lt(n, max);
	igt_assert_eq(ret, -ENOSPC);
	return n;
}

static void npa_exhausted(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info info;
	struct igt_ualink_bo **bos, *far;
	struct igt_ualink_node node;
	struct igt_ualink *a, *b;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	unsigned int n, max;
	uint64_t size;

	(void)pod;
	igt_require_f(igt_ualink_find_small_segment(&node),
		      "all segments are as large as VRAM\n");
	a = igt_ualink_open(&node);
	b = igt_ualink_open(&node);
	size = node.info.segment_size / 16;
	max = 32;
	bos = calloc(max, sizeof(*bos));
	n = fill_segment(a, size, bos, max);
	igt_assert_lt(8, n);
	igt_ualink_device_info(a, &info);
	igt_assert_lt_u64(info.npa_largest_free, size);

	for (unsigned int i = 0; i < n; i++) {
		igt_ualink_export(bos[i], handle);
		far = igt_ualink_import_bo(b, handle);
		igt_ualink_check_pattern(far, i);
		igt_ualink_bo_destroy(far);
	}
	igt_ualink_revoke(bos[n / 2]);
	igt_ualink_export(bos[n], handle);
	far = igt_ualink_import_bo(b, handle);
	igt_ualink_check_pattern(far, n);
	igt_ualink_bo_destroy(far);

	for (unsigned int i = 0; i <= n; i++)
		igt_ualink_bo_destroy(bos[i]);
	free(bos);
	igt_ualink_close(b);
	igt_ualink_close(a);
}
#define ROUNDS	100

/* What the exporter publishes, over and over. */
struct shared {
	atomic_uint generation;	/* odd while the rest is being written; 0 at the end */
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
};

static void export_in_rounds(struct igt_ualink_bo *bo, struct shared *shared)
{
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		igt_ualink_fill_pattern(bo, round);
		atomic_fetch_add(&shared->generation, 1);
		igt_ualink_export(bo, shared->handle);
		atomic_fetch_add(&shared->generation, 1);
		usleep(rand() % 2000);
		igt_ualink_revoke(bo);
	}
	atomic_store(&shared->generation, 0);
}

/* Imports once: whether that was possible at all. */
static bool import_once(struct igt_ualink *dev, struct shared *shared)
{
	unsigned int generation = atomic_load(&shared->generation);
	struct drm_gem_ualink_import arg = {};
	uint64_t va = 1ull << 40, words[PAGE / 8];
	uint32_t handle;
	int ret;

	memcpy(arg.handle, shared->handle, sizeof(arg.handle));
	if (generation & 1 || generation != atomic_load(&shared->generation))
		return false;

	ret = __igt_ualink_import(dev->fd, &arg);
	igt_assert(!ret || ret == -ENOENT || ret == -ENODEV);
	if (ret)
		return false;

	ret = __igt_ualink_fd_to_handle(dev->fd, arg.fd, &handle);
	close(arg.fd);
	igt_assert(!ret || ret == -ENODEV);
	if (ret)
		return false;

	ret = dev->backend->bind(dev, handle, va, 0, SIZE, 0);
	igt_assert(!ret || ret == -ENODEV);
	if (!ret) {
		struct igt_ualink_fault fault;

		ret = __igt_ualink_read(dev, va + SIZE - PAGE, words, PAGE);
		igt_assert(!ret || ret == -EFAULT);
		if (!ret)
			igt_ualink_check_words(words, PAGE, SIZE - PAGE,
					       generation / 2);
		else
			igt_assert_eq(dev->backend->read_fault(dev, &fault), 0);
		igt_assert_eq(dev->backend->unbind(dev, va, SIZE), 0);
	}
	igt_ualink_gem_close(dev->fd, handle);
	return !ret;
}

static void race_with_revoke(struct igt_ualink_pod *pod)
{
	struct igt_ualink *dev;
	struct igt_ualink_bo *bo;
	struct shared *shared;
	int good = 0;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	igt_assert(shared != MAP_FAILED);

	igt_fork(child, 1) {
		dev = igt_ualink_open(&pod->nodes[0]);
		bo = igt_ualink_bo_create(dev, SIZE, 0);
		export_in_rounds(bo, shared);
		igt_ualink_bo_destroy(bo);
		igt_ualink_close(dev);
	}

	dev = igt_ualink_open(&pod->nodes[1]);
	while (!atomic_load(&shared->generation))
		usleep(100);
	while (atomic_load(&shared->generation))
		good += import_once(dev, shared);
	igt_waitchildren();

	igt_info("%d of %d exports were imported in time\n", good, ROUNDS);
	igt_assert_lt(0, good);
	igt_ualink_close(dev);
	munmap(shared, sizeof(*shared));
}

static const struct igt_ualink_test tests[] = {
	{ "10k-imports",
	  "Ten thousand imports of a handle take one request and one piece of NPA.",
	  ten_thousand_imports },
	{ "threads",
	  "Threads that export one object, or import one handle, at the same time get the same.",
	  threads },
	{ "npa-exhausted",
	  "In a full segment exports fail, old ones work, and one that ends makes room.",
	  npa_exhausted },
	{ "race-with-revoke",
	  "Imports that race with revokes get the right content or an error.",
	  race_with_revoke },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
