// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: IMPORT
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: uapi
 * Functionality: ualink
 * Feature: ualink
 * Description: What IMPORT refuses, that it changes nothing, and how long it waits.
 * Test category: uapi
 *
 * SUBTEST: import-bad-flags
 * Description: Each undefined flag is refused.
 *
 * SUBTEST: import-bad-timeout
 * Description: A time before zero is refused.
 *
 * SUBTEST: import-zero-handle
 * Description: A handle of zeros names nothing.
 *
 * SUBTEST: import-flipped-bits
 * Description: A handle with any one bit changed names nothing.
 *
 * SUBTEST: import-write-of-read-only
 * Description: Write access to an export that is read-only is refused, read access is not.
 *
 * SUBTEST: import-without-descriptor
 * Description: An import fails cleanly when no file descriptor is free.
 *
 * SUBTEST: timeout
 * Description: Without an answer an import fails in the time given, and then works at once.
 *
 * SUBTEST: timeout-passed
 * Description: With a time that has passed, what is there is imported, and nothing is waited for.
 *
 * SUBTEST: timeout-with-signals
 * Description: A process that gets signals all the time waits no longer than it said.
 *
 * SUBTEST: signal
 * Description: A signal ends the wait for an answer, and then the import works at once.
 *
 * SUBTEST: killed-while-waiting
 * Description: A process that waits for an answer can be killed, and nothing is left of it.
 */
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("What IMPORT refuses, that it changes nothing, and how long it waits.");

#define SIZE		IGT_UALINK_SCENE_SIZE

/* IMPORT ------------------------------------------------------------------ */

static void refuse_import(struct igt_ualink_scene *scene,
			  const struct drm_gem_ualink_import *arg, int err)
{
	struct drm_gem_ualink_import copy = *arg;

	copy.fd = -1;
	igt_assert_eq(__igt_ualink_import(scene->pair.importer->fd, &copy), -err);
	igt_assert_eq(copy.fd, -1);
	igt_assert_eq_u64(copy.size, 0);
}

static void import_bad_flags(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_import arg = {};
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	memcpy(arg.handle, scene.pair.handle, sizeof(arg.handle));
	for (uint32_t flag = DRM_UALINK_IMPORT_READ_ONLY << 1; flag; flag <<= 1) {
		arg.flags = flag;
		refuse_import(&scene, &arg, EINVAL);
	}
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

static void import_bad_timeout(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_import arg = { .timeout_ns = -1 };
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	memcpy(arg.handle, scene.pair.handle, sizeof(arg.handle));
	refuse_import(&scene, &arg, EINVAL);
	arg.timeout_ns = INT64_MIN;
	refuse_import(&scene, &arg, EINVAL);
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

/* No such export, or no such accelerator in this vPod, or none that is there. */
static int assert_names_nothing(struct igt_ualink *dev, const uint8_t *handle)
{
	int ret = igt_ualink_import_errno(dev, handle);

	igt_assert_f(ret == -ENOENT || ret == -EXDEV || ret == -ENODEV,
		     "the errno is %d\n", -ret);
	return ret;
}

static void import_zero_handle(struct igt_ualink_pod *pod)
{
	static const uint8_t zeros[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	assert_names_nothing(scene.pair.importer, zeros);
	assert_names_nothing(scene.pair.exporter, zeros);
	igt_ualink_scene_fini(&scene);
}

static void import_flipped_bits(struct igt_ualink_pod *pod)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct drm_ualink_device_info now[2];
	struct igt_ualink_scene scene;
	int unknown = 0;

	igt_ualink_scene_init(&scene, pod);
	for (int bit = 0; bit < 8 * DRM_UALINK_HANDLE_SIZE; bit++) {
		memcpy(handle, scene.pair.handle, sizeof(handle));
		handle[bit / 8] ^= 1 << bit % 8;
		unknown += assert_names_nothing(scene.pair.importer, handle) ==
			   -ENOENT;
	}

	/* all bits that do not say who exports are as good as a secret */
	igt_assert_lte(118, unknown);
	igt_ualink_scene_look(&scene, now);
	igt_assert_lte_u64(scene.info[0].refused + 118, now[0].refused);
	igt_assert_eq_u64(now[0].grants, scene.info[0].grants);
	igt_assert_eq_u64(now[0].bad_msgs, scene.info[0].bad_msgs);
	igt_assert_eq_u64(now[1].imports, scene.info[1].imports);
	igt_ualink_scene_fini(&scene);
}

static void import_write_of_read_only(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export exported = {
		.flags = DRM_UALINK_EXPORT_READ_ONLY,
	};
	struct drm_gem_ualink_import arg = {};
	struct igt_ualink_bo *far;
	struct igt_ualink *b;
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	b = scene.pair.importer;
	igt_ualink_fill_pattern(scene.plain, 2);
	exported.gem_handle = scene.plain->handle;
	igt_assert_eq(__igt_ualink_export(scene.pair.exporter->fd, &exported), 0);
	memcpy(arg.handle, exported.handle, sizeof(arg.handle));
	refuse_import(&scene, &arg, EACCES);

	arg.flags = DRM_UALINK_IMPORT_READ_ONLY;
	igt_assert_eq(__igt_ualink_import(b->fd, &arg), 0);
	igt_assert_eq_u32(arg.access, DRM_UALINK_ACCESS_READ);
	far = igt_ualink_bo_from_fd(b, arg.fd, SIZE, IGT_UALINK_BIND_READ_ONLY);
	close(arg.fd);
	igt_ualink_check_pattern(far, 2);
	igt_ualink_assert_no_write(b, far->va);
	igt_assert_eq(b->backend->bind(b, far->handle, far->va, 0, SIZE, 0),
		      -EACCES);

	/* that a reader is there does not open it for writers */
	arg.flags = 0;
	arg.access = 0;
	arg.size = 0;
	refuse_import(&scene, &arg, EACCES);
	igt_ualink_check_pattern(scene.plain, 2);
	igt_ualink_bo_destroy(far);
	igt_ualink_scene_fini(&scene);
}

static void import_without_descriptor(struct igt_ualink_pod *pod)
{
	struct igt_ualink_bo *other, *far;
	struct drm_gem_ualink_import arg = {};
	struct rlimit limit, none;
	struct igt_ualink_scene scene;
	int ret;

	igt_ualink_scene_init(&scene, pod);
	other = scene.plain;
	igt_ualink_fill_pattern(other, 3);
	igt_ualink_export(other, arg.handle);
	igt_ualink_scene_look(&scene, scene.info);

	arg.fd = -1;
	igt_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = __igt_ualink_import(scene.pair.importer->fd, &arg);
	igt_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	igt_assert_eq(ret, -EMFILE);
	igt_assert_eq(arg.fd, -1);

	far = igt_ualink_import_bo(scene.pair.importer, arg.handle);
	igt_ualink_check_pattern(far, 3);
	igt_ualink_bo_destroy(far);
	igt_ualink_scene_fini(&scene);
}

/* ------------------------------------------------------ without an answer */

/* Shares @own, which is not imported yet, with @dev, who does not get answers. */
struct silence {
	struct igt_ualink_pair pair;
	struct igt_ualink *dev;
};

static void silence_begin(struct silence *silence, struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info info;
	uint64_t imports;

	igt_require(pod->nodes[1].backend->lose);
	igt_ualink_warm_up(&pod->nodes[0], &pod->nodes[1]);
	igt_ualink_pair_init(&silence->pair, &pod->nodes[0], &pod->nodes[1],
			     SIZE, 4);
	silence->dev = silence->pair.importer;
	igt_ualink_device_info(silence->dev, &info);
	imports = info.imports;
	igt_ualink_pair_free_far(&silence->pair);
	/* while it is still going, it could be had again without a message */
	for (int i = 0; i < 5000 && info.imports == imports; i++) {
		usleep(1000);
		igt_ualink_device_info(silence->dev, &info);
	}
	igt_assert_eq_u64(info.imports, imports - 1);
	igt_assert_eq(silence->dev->backend->lose(silence->dev,
						  IGT_UALINK_LOSE_ANSWERS), 0);
}

/* With answers again, the same import works. */
static void silence_end(struct silence *silence)
{
	igt_assert_eq(silence->dev->backend->lose(silence->dev,
						  IGT_UALINK_LOSE_NOTHING), 0);
	silence->pair.far = igt_ualink_import_bo(silence->dev,
						 silence->pair.handle);
	igt_ualink_check_pattern(silence->pair.far, 4);
	igt_ualink_pair_fini(&silence->pair);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int64_t in_ms(unsigned int ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec + ms * 1000000ll;
}

static void timeout(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_import arg = { .fd = -1 };
	struct silence silence;
	double start, took;

	silence_begin(&silence, pod);
	memcpy(arg.handle, silence.pair.handle, sizeof(arg.handle));
	start = seconds();
	arg.timeout_ns = in_ms(300);
	igt_assert_eq(__igt_ualink_import(silence.dev->fd, &arg), -ETIMEDOUT);
	took = seconds() - start;
	igt_assert_eq(arg.fd, -1);
	igt_assert_f(took > 0.25 && took < 5, "it took %g s\n", took);
	silence_end(&silence);
}

static void timeout_passed(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_import arg = { .timeout_ns = 1, .fd = -1 };
	struct drm_ualink_device_info before, after;
	struct igt_ualink_pair pair;
	struct silence silence;
	struct igt_ualink_bo *far;
	double start;

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 5);
	memcpy(arg.handle, pair.handle, sizeof(arg.handle));
	igt_ualink_device_info(pair.importer, &before);
	igt_assert_eq(__igt_ualink_import(pair.importer->fd, &arg), 0);
	igt_ualink_device_info(pair.importer, &after);
	igt_assert_eq_u64(after.msgs_sent, before.msgs_sent);
	far = igt_ualink_bo_from_handle(pair.importer, pair.far->handle, SIZE, 0);
	igt_ualink_check_pattern(far, 5);
	igt_assert_eq(pair.importer->backend->unbind(pair.importer, far->va, SIZE), 0);
	free(far);
	close(arg.fd);
	igt_ualink_pair_fini(&pair);
	igt_ualink_heartbeat_restore(pod);

	silence_begin(&silence, pod);
	memcpy(arg.handle, silence.pair.handle, sizeof(arg.handle));
	arg.timeout_ns = in_ms(0) - 1;
	arg.fd = -1;
	start = seconds();
	igt_assert_eq(__igt_ualink_import(silence.dev->fd, &arg), -ETIMEDOUT);
	igt_assert_eq(arg.fd, -1);
	igt_assert(seconds() - start < 1);
	silence_end(&silence);
}

/* Signals every @ms, that is more and less often than a tick of the kernel's clock. */
static void import_with_signals(struct silence *silence, unsigned int ms)
{
	struct drm_gem_ualink_import arg = { .fd = -1 };
	unsigned int signals;
	double start, took;

	memcpy(arg.handle, silence->pair.handle, sizeof(arg.handle));
	igt_ualink_signals_start(ms, true);
	start = seconds();
	arg.timeout_ns = in_ms(500);
	igt_assert_eq(ioctl(silence->dev->fd, DRM_IOCTL_GEM_UALINK_IMPORT, &arg), -1);
	igt_assert_eq(errno, ETIMEDOUT);
	took = seconds() - start;
	signals = igt_ualink_signals_stop();
	igt_assert_eq(arg.fd, -1);
	igt_assert_f(took > 0.45 && took < 5, "it took %g s\n", took);
	igt_assert_f(signals >= 10, "there were %u signals only\n", signals);
}

static void timeout_with_signals(struct igt_ualink_pod *pod)
{
	struct silence silence;

	silence_begin(&silence, pod);
	import_with_signals(&silence, 10);
	import_with_signals(&silence, 2);
	silence_end(&silence);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void signal_(struct igt_ualink_pod *pod)
{
	const struct itimerval in_a_while = { .it_value.tv_usec = 200000 };
	struct drm_gem_ualink_import arg = { .timeout_ns = in_ms(20000), .fd = -1 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct silence silence;
	double start;

	silence_begin(&silence, pod);
	memcpy(arg.handle, silence.pair.handle, sizeof(arg.handle));
	igt_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	start = seconds();
	igt_assert_eq(setitimer(ITIMER_REAL, &in_a_while, NULL), 0);
	igt_assert_eq(ioctl(silence.dev->fd, DRM_IOCTL_GEM_UALINK_IMPORT, &arg), -1);
	igt_assert_eq(errno, EINTR);
	igt_assert_eq(arg.fd, -1);
	igt_assert(seconds() - start < 5);
	silence_end(&silence);
}

static void killed_while_waiting(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_import arg = { .timeout_ns = in_ms(60000) };
	struct silence silence;
	double start;

	silence_begin(&silence, pod);
	memcpy(arg.handle, silence.pair.handle, sizeof(arg.handle));
	igt_fork(child, 1) {
		struct igt_ualink *dev = igt_ualink_open(&pod->nodes[1]);

		__igt_ualink_import(dev->fd, &arg);
	}
	usleep(300000);
	start = seconds();
	igt_kill_children(SIGKILL);
	igt_assert_neq(__igt_waitchildren(), 0);
	igt_assert(seconds() - start < 5);
	silence_end(&silence);
}

static const struct igt_ualink_test tests[] = {
	{ "import-bad-flags",
	  "Each undefined flag is refused.",
	  import_bad_flags },
	{ "import-bad-timeout",
	  "A time before zero is refused.",
	  import_bad_timeout },
	{ "import-zero-handle",
	  "A handle of zeros names nothing.",
	  import_zero_handle },
	{ "import-flipped-bits",
	  "A handle with any one bit changed names nothing.",
	  import_flipped_bits },
	{ "import-write-of-read-only",
	  "Write access to an export that is read-only is refused, read access is not.",
	  import_write_of_read_only },
	{ "import-without-descriptor",
	  "An import fails cleanly when no file descriptor is free.",
	  import_without_descriptor },
	{ "timeout",
	  "Without an answer an import fails in the time given, and then works at once.",
	  timeout },
	{ "timeout-passed",
	  "With a time that has passed, what is there is imported, and nothing is waited for.",
	  timeout_passed },
	{ "timeout-with-signals",
	  "A process that gets signals all the time waits no longer than it said.",
	  timeout_with_signals },
	{ "signal",
	  "A signal ends the wait for an answer, and then the import works at once.",
	  signal_ },
	{ "killed-while-waiting",
	  "A process that waits for an answer can be killed, and nothing is left of it.",
	  killed_while_waiting },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
