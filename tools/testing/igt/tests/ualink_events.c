// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: events
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: How a process learns that its imports died.
 * Test category: functionality test
 *
 * SUBTEST: one-for-many
 * Description: Deaths that nobody reads of are one event with their number.
 *
 * SUBTEST: armed-again
 * Description: After an event was read, the next death makes another one.
 *
 * SUBTEST: each-file
 * Description: Each file that imported gets its event, and no other.
 *
 * SUBTEST: not-on-release
 * Description: Nothing is told of an import that its user gave up.
 *
 * SUBTEST: not-after-close
 * Description: A file that is closed before the death is told nothing, and harms nobody.
 *
 * SUBTEST: wakes-reader
 * Description: A reader that sleeps is woken by the death, and poll says so.
 *
 * SUBTEST: small-buffer
 * Description: A read without room for the event leaves it there.
 *
 * SUBTEST: tells-which
 * Description: QUERY tells which imports died, by what the user said about them.
 *
 * SUBTEST: deaths-without-reader
 * Description: Many deaths fill neither the queue nor the memory of a file that does not read.
 *
 * SUBTEST: exporter-killed
 * Description: The death of the exporting process is told with the number of its exports.
 */
#include <string.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("How a process learns that its imports died.");

#define PAGE	4096ull

/* An export of @dev that is imported on @far's file; both end with revoke_one(). */
struct shared {
	struct igt_ualink_bo *own;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	int fd;
};

static void share_one(struct shared *shared, struct igt_ualink *exporter,
		      struct igt_ualink *importer, uint64_t user_data)
{
	struct drm_gem_ualink_import arg = { .user_data = user_data };

	shared->own = igt_ualink_bo_create(exporter, PAGE, 0);
	igt_ualink_export(shared->own, shared->handle);
	memcpy(arg.handle, shared->handle, sizeof(arg.handle));
	igt_assert_eq(__igt_ualink_import(importer->fd, &arg), 0);
	shared->fd = arg.fd;
}

static void revoke_one(struct shared *shared)
{
	igt_ualink_bo_destroy(shared->own);
	close(shared->fd);
}

static void assert_event(struct igt_ualink *dev, uint64_t deaths)
{
	struct drm_ualink_event event;

	igt_assert_eq(__igt_ualink_read_event(dev->fd, &event, 10000), 0);
	igt_assert_eq_u64(event.deaths, deaths);
}

static void assert_no_event(struct igt_ualink *dev)
{
	struct drm_ualink_event event;

	igt_assert_eq(__igt_ualink_read_event(dev->fd, &event, 0), -EAGAIN);
}

/* Ends it, and waits until that is known. */
static void revoke_and_wait(struct shared *shared, struct igt_ualink *importer)
{
	igt_ualink_revoke(shared->own);
	igt_ualink_wait_death(importer, shared->handle, DRM_UALINK_DEATH_REVOKED);
	revoke_one(shared);
}

static void one_for_many(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct shared shared[5];

	for (int i = 0; i < 5; i++)
		share_one(&shared[i], a, b, i);
	assert_no_event(b);
	for (int i = 0; i < 5; i++)
		revoke_and_wait(&shared[i], b);
	assert_event(b, 5);
	assert_no_event(b);
	igt_ualink_close(b);
	igt_ualink_close(a);
}

static void armed_again(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct shared shared[10];

	/* the number counts on from where the file was opened */
	for (int i = 0; i < 10; i++)
		share_one(&shared[i], a, b, i);
	for (int i = 0; i < 10; i++) {
		revoke_and_wait(&shared[i], b);
		assert_event(b, i + 1);
		assert_no_event(b);
	}
	igt_ualink_close(b);
	igt_ualink_close(a);
}

static void each_file(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *importer[2], *user = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink_bo *far;
	struct shared shared;

	for (int i = 0; i < 2; i++)
		importer[i] = igt_ualink_open(&pod->nodes[1]);
	share_one(&shared, a, importer[0], 1);
	close(igt_ualink_import(importer[1], shared.handle));
	close(igt_ualink_import(importer[1], shared.handle));
	far = igt_ualink_bo_from_fd(user, shared.fd, PAGE, 0);

	revoke_and_wait(&shared, importer[0]);
	assert_event(importer[0], 1);
	assert_event(importer[1], 1);
	assert_no_event(user);
	assert_no_event(a);

	igt_ualink_bo_destroy(far);
	for (int i = 0; i < 2; i++)
		igt_ualink_close(importer[i]);
	igt_ualink_close(user);
	igt_ualink_close(a);
}

static void not_on_release(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct shared given_up, other;

	share_one(&given_up, a, b, 1);
	share_one(&other, a, b, 2);
	close(given_up.fd);
	igt_ualink_revoke(given_up.own);
	assert_no_event(b);

	/* the next death is the first one that counts */
	revoke_and_wait(&other, b);
	assert_event(b, 1);
	igt_ualink_bo_destroy(given_up.own);
	igt_ualink_close(b);
	igt_ualink_close(a);
}

static void not_after_close(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b, *other = igt_ualink_open(&pod->nodes[1]);
	struct shared shared;

	for (int i = 0; i < 20; i++) {
		b = igt_ualink_open(&pod->nodes[1]);
		share_one(&shared, a, b, 1);
		close(igt_ualink_import(other, shared.handle));
		igt_ualink_close(b);
		revoke_and_wait(&shared, other);
		assert_event(other, i + 1);
	}
	igt_ualink_close(other);
	igt_ualink_close(a);
}

static void wakes_reader(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_bo *bo = igt_ualink_bo_create(a, PAGE, 0);
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	int ready[2];
	char c = 0;

	igt_ualink_export(bo, handle);
	igt_assert_eq(pipe(ready), 0);
	igt_fork(child, 2) {
		struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
		int fd = igt_ualink_import(b, handle);
		struct drm_ualink_event event;

		igt_assert_eq(write(ready[1], &c, 1), 1);
		if (child)
			igt_assert_eq(__igt_ualink_read_event(b->fd, &event,
							      20000), 0);
		else
			igt_assert_eq(read(b->fd, &event, sizeof(event)),
				      sizeof(event));
		igt_assert_eq_u32(event.base.type, DRM_EVENT_UALINK_IMPORTS_DIED);
		igt_assert_eq_u64(event.deaths, 1);
		close(fd);
		igt_ualink_close(b);
	}
	for (int i = 0; i < 2; i++)
		igt_assert_eq(read(ready[0], &c, 1), 1);
	usleep(50000);
	igt_ualink_bo_destroy(bo);
	igt_waitchildren_timeout(20, "nobody woke the reader");

	close(ready[0]);
	close(ready[1]);
	igt_ualink_close(a);
}

static void small_buffer(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	char small[sizeof(struct drm_ualink_event) - 1];
	struct shared shared;

	share_one(&shared, a, b, 1);
	revoke_and_wait(&shared, b);
	igt_assert_lte(read(b->fd, small, sizeof(small)), 0);
	assert_event(b, 1);
	igt_ualink_close(b);
	igt_ualink_close(a);
}

static void tells_which(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_import_info *list;
	struct shared shared[8];
	unsigned int count;
	uint64_t dead = 0, alive = 0;

	for (int i = 0; i < 8; i++)
		share_one(&shared[i], a, b, 1ull << i);
	for (int i = 0; i < 8; i += 2)
		revoke_and_wait(&shared[i], b);
	assert_event(b, 4);

	list = igt_ualink_query_array(b, DRM_UALINK_QUERY_IMPORTS, 0,
				      sizeof(*list), &count);
	for (unsigned int i = 0; i < count; i++) {
		if (list[i].death == DRM_UALINK_DEATH_REVOKED)
			dead |= list[i].user_data;
		else if (list[i].death == DRM_UALINK_ALIVE)
			alive |= list[i].user_data;
	}
	free(list);
	igt_assert_eq(count, 8);
	igt_assert_eq_u64(dead, 0x55);
	igt_assert_eq_u64(alive, 0xaa);

	for (int i = 1; i < 8; i += 2)
		revoke_one(&shared[i]);
	igt_ualink_close(b);
	igt_ualink_close(a);
}

/* More than the kernel remembers for a file. */
#define TOO_MANY	1200

static void deaths_without_reader(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_import_info *list;
	struct shared shared;
	unsigned int count;

	for (int i = 1; i <= TOO_MANY; i++) {
		share_one(&shared, a, b, i);
		igt_ualink_revoke(shared.own);
		if (i == TOO_MANY)
			igt_ualink_wait_death(b, shared.handle,
					      DRM_UALINK_DEATH_REVOKED);
		revoke_one(&shared);
	}
	assert_event(b, TOO_MANY);
	assert_no_event(b);

	/* of that many the last ones are still known */
	list = igt_ualink_query_array(b, DRM_UALINK_QUERY_IMPORTS, 0,
				      sizeof(*list), &count);
	igt_assert_lt(0, count);
	igt_assert_lt(count, TOO_MANY);
	igt_assert_eq_u64(list[count - 1].user_data, TOO_MANY);
	free(list);
	igt_ualink_close(b);
	igt_ualink_close(a);
}

static void exporter_killed(struct igt_ualink_pod *pod)
{
	struct igt_ualink_exporter exporter;
	struct igt_ualink *b;
	int fd;

	igt_ualink_exporter_start(&exporter, &pod->nodes[0], PAGE, 1);
	b = igt_ualink_open(&pod->nodes[1]);
	fd = igt_ualink_import(b, exporter.handle);
	assert_no_event(b);
	igt_ualink_exporter_kill(&exporter);
	assert_event(b, 1);
	close(fd);
	igt_ualink_close(b);
}

static const struct igt_ualink_test tests[] = {
	{ "one-for-many",
	  "Deaths that nobody reads of are one event with their number.",
	  one_for_many },
	{ "armed-again",
	  "After an event was read, the next death makes another one.",
	  armed_again },
	{ "each-file",
	  "Each file that imported gets its event, and no other.",
	  each_file },
	{ "not-on-release",
	  "Nothing is told of an import that its user gave up.",
	  not_on_release },
	{ "not-after-close",
	  "A file that is closed before the death is told nothing, and harms nobody.",
	  not_after_close },
	{ "wakes-reader",
	  "A reader that sleeps is woken by the death, and poll says so.",
	  wakes_reader },
	{ "small-buffer",
	  "A read without room for the event leaves it there.",
	  small_buffer },
	{ "tells-which",
	  "QUERY tells which imports died, by what the user said about them.",
	  tells_which },
	{ "deaths-without-reader",
	  "Many deaths fill neither the queue nor the memory of a file that does not read.",
	  deaths_without_reader },
	{ "exporter-killed",
	  "The death of the exporting process is told with the number of its exports.",
	  exporter_killed },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
