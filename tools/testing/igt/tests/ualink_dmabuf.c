// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: dma-buf
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: What the dma-buf of an import is good for, and what not.
 * Test category: functionality test
 *
 * SUBTEST: one-dma-buf
 * Description: Every way to a dma-buf of an import gives the same one.
 *
 * SUBTEST: same-handle
 * Description: The dma-buf of an import becomes the same GEM handle each time on a file.
 *
 * SUBTEST: size
 * Description: A dma-buf tells the size of the import.
 *
 * SUBTEST: no-cpu-access
 * Description: The CPU can neither map the dma-buf nor prepare an access.
 *
 * SUBTEST: no-import-no-attach
 * Description: An accelerator without an import of the handle is refused, and nobody is asked.
 *
 * SUBTEST: attach-with-own-import
 * Description: An accelerator that has imported the handle takes part, until the revoke.
 *
 * SUBTEST: exporter-device
 * Description: The exporter has no way around an import of its own.
 *
 * SUBTEST: other-driver
 * Description: Drivers without UALink are refused.
 *
 * SUBTEST: dead
 * Description: The dma-buf of a dead import is refused.
 *
 * SUBTEST: plain-dma-buf-of-export
 * Description: An exported object can still be shared by PRIME on its own node.
 *
 * SUBTEST: export-of-prime-import
 * Description: What came from another driver by PRIME is not exported.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("What the dma-buf of an import is good for, and what not.");

#define SIZE	(64ull << 10)

static ino_t inode(int fd)
{
	struct stat st;

	igt_assert_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static void one_dma_buf(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	int fd[3];

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 1);
	fd[0] = igt_ualink_import(pair.importer, pair.handle);
	fd[1] = igt_ualink_import(pair.importer, pair.handle);
	igt_assert_eq(__igt_ualink_handle_to_fd(pair.importer->fd,
						pair.far->handle, &fd[2]), 0);
	for (int i = 1; i < 3; i++)
		igt_assert_eq_u64(inode(fd[i]), inode(fd[0]));
	for (int i = 0; i < 3; i++)
		close(fd[i]);

	/* also when none of them was open for a while */
	fd[0] = igt_ualink_import(pair.importer, pair.handle);
	igt_assert_eq(__igt_ualink_handle_to_fd(pair.importer->fd,
						pair.far->handle, &fd[1]), 0);
	igt_assert_eq_u64(inode(fd[1]), inode(fd[0]));
	close(fd[0]);
	close(fd[1]);
	igt_ualink_check_pattern(pair.far, 1);
	igt_ualink_pair_fini(&pair);
}

static void same_handle(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink *second;
	struct igt_ualink_bo *far;
	uint32_t handle;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 2);
	second = igt_ualink_open(&pod->nodes[1]);
	fd = igt_ualink_import(pair.importer, pair.handle);
	for (int i = 0; i < 3; i++) {
		igt_assert_eq(__igt_ualink_fd_to_handle(pair.importer->fd, fd,
							&handle), 0);
		igt_assert_eq_u32(handle, pair.far->handle);
	}

	/* on another file it is another name of the same object */
	far = igt_ualink_bo_from_fd(second, fd, SIZE, 0);
	igt_ualink_fill_pattern(far, 3);
	igt_ualink_check_pattern(pair.far, 3);
	igt_ualink_check_pattern(pair.own, 3);

	close(fd);
	igt_ualink_bo_destroy(far);
	igt_ualink_close(second);
	igt_ualink_pair_fini(&pair);
}

static void size(struct igt_ualink_pod *pod)
{
	static const uint64_t sizes[] = { 4096, SIZE, 3 * SIZE + 4096 };
	struct igt_ualink_pair pair;
	int fd;

	for (int i = 0; i < 3; i++) {
		igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1],
				     sizes[i], 4);
		fd = igt_ualink_import(pair.importer, pair.handle);
		igt_assert_eq_u64(lseek(fd, 0, SEEK_END), sizes[i]);
		close(fd);
		igt_ualink_pair_fini(&pair);
	}
}

static void no_cpu_access(struct igt_ualink_pod *pod)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct igt_ualink_pair pair;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 5);
	fd = igt_ualink_import(pair.importer, pair.handle);
	igt_assert(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
		   MAP_FAILED);
	igt_assert_eq(errno, EOPNOTSUPP);
	igt_assert_eq(ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync), -1);
	igt_assert_eq(errno, EOPNOTSUPP);
	close(fd);
	igt_ualink_check_pattern(pair.far, 5);
	igt_ualink_pair_fini(&pair);
}

/* Asserts that @dev does not get an object for the import of the scene. */
static void assert_refused(struct igt_ualink_scene *scene, int dev, int err)
{
	int fd = igt_ualink_import(scene->pair.importer, scene->pair.handle);
	uint32_t handle;

	igt_assert_eq(__igt_ualink_fd_to_handle(dev, fd, &handle), -err);
	close(fd);
	igt_ualink_assert_unchanged(scene);
}

static void no_import_no_attach(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;
	struct igt_ualink_node node;
	struct igt_ualink *dev;
	bool stranger;

	stranger = igt_ualink_find_stranger(pod, &node);
	igt_require_f(pod->count > 2 || stranger,
		      "there are two accelerators only\n");
	igt_ualink_scene_init(&scene, pod);
	if (pod->count > 2) {
		dev = igt_ualink_open(&pod->nodes[2]);
		assert_refused(&scene, dev->fd, ENOENT);
		igt_ualink_close(dev);
	}
	if (stranger) {
		dev = igt_ualink_open(&node);
		assert_refused(&scene, dev->fd, ENOENT);
		igt_ualink_close(dev);
	}
	igt_ualink_scene_fini(&scene);
}

static void attach_with_own_import(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *own, *attached;
	struct igt_ualink *dev;
	int fd;

	igt_require_f(pod->count > 2, "there are two accelerators only\n");
	dev = igt_ualink_open(&pod->nodes[2]);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 6);
	fd = igt_ualink_import(pair.importer, pair.handle);

	own = igt_ualink_import_bo(dev, pair.handle);
	attached = igt_ualink_bo_from_fd(dev, fd, SIZE, 0);
	close(fd);
	igt_ualink_check_pattern(attached, 6);

	/* it stays when the import that it came with is closed */
	igt_ualink_bo_destroy(own);
	igt_ualink_pair_free_far(&pair);
	igt_ualink_fill_pattern(attached, 7);
	igt_ualink_check_pattern(pair.own, 7);

	igt_ualink_revoke(pair.own);
	igt_ualink_assert_no_access(dev, attached->va);
	igt_assert_eq(dev->backend->bind(dev, attached->handle, attached->va, 0,
					 SIZE, 0), -ENODEV);
	igt_ualink_bo_destroy(attached);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(dev);
}

static void exporter_device(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	assert_refused(&scene, scene.pair.exporter->fd, ENOENT);
	igt_ualink_scene_fini(&scene);
}

/* A device whose driver is not one of UALink and takes dma-bufs, or -1. */
static int open_other_driver(void)
{
	struct drm_gem_ualink_revoke arg = {};
	uint64_t prime;
	char path[32];
	int fd;

	for (int i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (drmIoctl(fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg) &&
		    errno == EOPNOTSUPP &&
		    !drmGetCap(fd, DRM_CAP_PRIME, &prime) &&
		    prime & DRM_PRIME_CAP_IMPORT)
			return fd;
		close(fd);
	}
	return -1;
}

static void other_driver(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;
	int other = open_other_driver();

	igt_require_f(other >= 0, "all devices have UALink\n");
	igt_ualink_scene_init(&scene, pod);
	assert_refused(&scene, other, EOPNOTSUPP);
	igt_ualink_scene_fini(&scene);
	close(other);
}

static void dead(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink_pair pair;
	uint32_t handle;
	int fd, ret;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 8);
	fd = igt_ualink_import(pair.importer, pair.handle);
	igt_ualink_revoke(pair.own);

	/* on its own device it is a name still, which is good for nothing */
	ret = __igt_ualink_fd_to_handle(second->fd, fd, &handle);
	if (!ret)
		ret = second->backend->bind(second, handle, 1ull << 40, 0, SIZE, 0);
	igt_assert_eq(ret, -ENODEV);
	igt_assert(__igt_ualink_fd_to_handle(pair.exporter->fd, fd, &handle) < 0);
	igt_assert(mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);

	close(fd);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
}

static void plain_dma_buf_of_export(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *same;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 9);
	igt_assert_eq(__igt_ualink_handle_to_fd(pair.exporter->fd,
						pair.own->handle, &fd), 0);
	same = igt_ualink_bo_from_fd(second, fd, SIZE, 0);
	close(fd);
	igt_ualink_fill_pattern(same, 10);
	igt_ualink_check_pattern(pair.far, 10);

	/* the end of the export does not end that */
	igt_ualink_revoke(pair.own);
	igt_ualink_fill_pattern(same, 11);
	igt_ualink_check_pattern(pair.own, 11);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_bo_destroy(same);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
}

static void export_of_prime_import(struct igt_ualink_pod *pod)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	struct drm_gem_ualink_export arg = {};
	struct igt_ualink_scene scene;
	int other = open_other_driver(), fd, ret;

	igt_require_f(other >= 0, "all devices have UALink\n");
	igt_require(!drmIoctl(other, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	igt_assert_eq(__igt_ualink_handle_to_fd(other, dumb.handle, &fd), 0);
	igt_ualink_scene_init(&scene, pod);
	ret = __igt_ualink_fd_to_handle(scene.pair.exporter->fd, fd,
					&arg.gem_handle);
	if (!ret) {
		igt_assert_eq(__igt_ualink_export(scene.pair.exporter->fd, &arg),
			      -EOPNOTSUPP);
		igt_ualink_gem_close(scene.pair.exporter->fd, arg.gem_handle);
	}
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
	close(fd);
	close(other);
	igt_require_f(!ret, "the device takes no memory of others\n");
}

static const struct igt_ualink_test tests[] = {
	{ "one-dma-buf",
	  "Every way to a dma-buf of an import gives the same one.",
	  one_dma_buf },
	{ "same-handle",
	  "The dma-buf of an import becomes the same GEM handle each time on a file.",
	  same_handle },
	{ "size",
	  "A dma-buf tells the size of the import.",
	  size },
	{ "no-cpu-access",
	  "The CPU can neither map the dma-buf nor prepare an access.",
	  no_cpu_access },
	{ "no-import-no-attach",
	  "An accelerator without an import of the handle is refused, and nobody is asked.",
	  no_import_no_attach },
	{ "attach-with-own-import",
	  "An accelerator that has imported the handle takes part, until the revoke.",
	  attach_with_own_import },
	{ "exporter-device",
	  "The exporter has no way around an import of its own.",
	  exporter_device },
	{ "other-driver",
	  "Drivers without UALink are refused.",
	  other_driver },
	{ "dead",
	  "The dma-buf of a dead import is refused.",
	  dead },
	{ "plain-dma-buf-of-export",
	  "An exported object can still be shared by PRIME on its own node.",
	  plain_dma_buf_of_export },
	{ "export-of-prime-import",
	  "What came from another driver by PRIME is not exported.",
	  export_of_prime_import },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
