// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: what EXPORT and REVOKE refuse
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: uapi
 * Functionality: ualink
 * Feature: ualink
 * Description: What EXPORT and REVOKE refuse, and that it changes nothing.
 * Test category: uapi
 *
 * SUBTEST: export-bad-flags
 * Description: Each undefined flag is refused.
 *
 * SUBTEST: export-bad-pad
 * Description: Padding that is not zero is refused.
 *
 * SUBTEST: export-bad-handle
 * Description: Handles that name no object are refused.
 *
 * SUBTEST: export-list-without-count
 * Description: A list of no ids, and ids without a list, are refused.
 *
 * SUBTEST: export-list-too-long
 * Description: A list of more ids than there can be is refused.
 *
 * SUBTEST: export-list-bad-id
 * Description: A list with an id that cannot be is refused.
 *
 * SUBTEST: export-list-bad-pointer
 * Description: A list that cannot be read is refused.
 *
 * SUBTEST: export-other-terms
 * Description: An exported object is not exported again on other terms.
 *
 * SUBTEST: export-system-memory
 * Description: Memory outside of VRAM is refused.
 *
 * SUBTEST: export-private
 * Description: An object that belongs to one address space is refused.
 *
 * SUBTEST: export-import
 * Description: An import is not exported again.
 *
 * SUBTEST: export-odd-size
 * Description: A size that is not a multiple of the granularity is refused.
 *
 * SUBTEST: export-over-cap
 * Description: What exceeds the cap of the accelerator is refused.
 *
 * SUBTEST: export-over-file-cap
 * Description: What exceeds the cap of a file is refused, and does not concern others.
 *
 * SUBTEST: revoke-bad-flags
 * Description: Each flag is refused.
 *
 * SUBTEST: revoke-bad-handle
 * Description: Handles that name no object are refused.
 *
 * SUBTEST: revoke-not-exported
 * Description: What is not exported, or not any more, is refused.
 *
 * SUBTEST: revoke-import
 * Description: An importer cannot end the export.
 *
 * SUBTEST: short-argument
 * Description: An argument that ends early counts as one with zeros there.
 *
 * SUBTEST: device-without-ualink
 * Description: Devices without UALink say so.
 */
#include <fcntl.h>
#include <string.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("What EXPORT and REVOKE refuse, and that it changes nothing.");

#define SIZE		IGT_UALINK_SCENE_SIZE
#define NO_ADDRESS	8ull
#define NO_HANDLE	0xfffffff0u

/* EXPORT ------------------------------------------------------------------ */

static void refuse_export(struct igt_ualink_scene *scene,
			  const struct drm_gem_ualink_export *arg, int err)
{
	static const uint8_t zeros[DRM_UALINK_HANDLE_SIZE];
	struct drm_gem_ualink_export copy = *arg;

	igt_assert_eq(__igt_ualink_export(scene->pair.exporter->fd, &copy), -err);
	igt_assert(!memcmp(copy.handle, zeros, sizeof(zeros)));
	igt_assert_eq_u64(copy.size, 0);
	igt_ualink_assert_unchanged(scene);
}

static void export_bad_flags(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	for (uint32_t flag = DRM_UALINK_EXPORT_READ_ONLY << 1; flag; flag <<= 1) {
		struct drm_gem_ualink_export arg = {
			.gem_handle = scene.plain->handle,
			.flags = flag,
		};

		refuse_export(&scene, &arg, EINVAL);
	}
	igt_ualink_scene_fini(&scene);
}

static void export_bad_pad(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export arg = { .pad = 1 };
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.gem_handle = scene.plain->handle;
	refuse_export(&scene, &arg, EINVAL);
	igt_ualink_scene_fini(&scene);
}

static void export_bad_handle(struct igt_ualink_pod *pod)
{
	static const uint32_t handles[] = { 0, NO_HANDLE, UINT32_MAX };
	struct drm_gem_ualink_export arg = {};
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	for (int i = 0; i < 3; i++) {
		arg.gem_handle = handles[i];
		refuse_export(&scene, &arg, ENOENT);
	}
	igt_ualink_scene_fini(&scene);
}

static void refuse_list(struct igt_ualink_pod *pod, uint64_t ptr,
			uint32_t count, int err)
{
	struct drm_gem_ualink_export arg = {
		.allow_ptr = ptr,
		.allow_count = count,
	};
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.gem_handle = scene.plain->handle;
	refuse_export(&scene, &arg, err);
	igt_ualink_scene_fini(&scene);
}

static void export_list_without_count(struct igt_ualink_pod *pod)
{
	uint32_t id = pod->nodes[1].info.id;

	refuse_list(pod, (uintptr_t)&id, 0, EINVAL);
	refuse_list(pod, 0, 1, EINVAL);
}

static void export_list_too_long(struct igt_ualink_pod *pod)
{
	uint32_t ids[DRM_UALINK_MAX_IDS + 1] = {};

	refuse_list(pod, (uintptr_t)ids, DRM_UALINK_MAX_IDS + 1, EINVAL);
	refuse_list(pod, (uintptr_t)ids, UINT32_MAX, EINVAL);
}

static void export_list_bad_id(struct igt_ualink_pod *pod)
{
	uint32_t ids[3] = { pod->nodes[0].info.id, pod->nodes[1].info.id };

	ids[2] = DRM_UALINK_MAX_IDS;
	refuse_list(pod, (uintptr_t)ids, 3, EINVAL);
	ids[2] = UINT32_MAX;
	refuse_list(pod, (uintptr_t)ids, 3, EINVAL);
}

static void export_list_bad_pointer(struct igt_ualink_pod *pod)
{
	refuse_list(pod, NO_ADDRESS, 1, EFAULT);
	refuse_list(pod, 0, 1, EINVAL);
	refuse_list(pod, UINT64_MAX - 3, 1, EFAULT);
}

static void export_other_terms(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export arg = {
		.flags = DRM_UALINK_EXPORT_READ_ONLY,
	};
	uint32_t id = pod->nodes[1].info.id;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.gem_handle = scene.pair.own->handle;
	refuse_export(&scene, &arg, EEXIST);
	arg.flags = 0;
	arg.allow_ptr = (uintptr_t)&id;
	arg.allow_count = 1;
	refuse_export(&scene, &arg, EEXIST);

	/* while the same terms give the same handle */
	igt_ualink_export(scene.pair.own, handle);
	igt_assert(!memcmp(handle, scene.pair.handle, sizeof(handle)));
	igt_ualink_scene_fini(&scene);
}

static void refuse_bo(struct igt_ualink_pod *pod, uint64_t size, uint32_t flags,
		      int err)
{
	struct drm_gem_ualink_export arg = {};
	struct igt_ualink_scene scene;
	int ret;

	igt_ualink_scene_init(&scene, pod);
	ret = scene.pair.exporter->backend->alloc(scene.pair.exporter, size,
						  flags, &arg.gem_handle);
	if (!ret) {
		refuse_export(&scene, &arg, err);
		igt_ualink_gem_close(scene.pair.exporter->fd, arg.gem_handle);
	}
	igt_ualink_scene_fini(&scene);
	igt_require_f(!ret, "the device has no such objects\n");
}

static void export_system_memory(struct igt_ualink_pod *pod)
{
	refuse_bo(pod, SIZE, IGT_UALINK_BO_SYSTEM, EOPNOTSUPP);
}

static void export_private(struct igt_ualink_pod *pod)
{
	refuse_bo(pod, SIZE, IGT_UALINK_BO_PRIVATE, EOPNOTSUPP);
}

static void export_odd_size(struct igt_ualink_pod *pod)
{
	uint64_t granularity = pod->nodes[0].info.granularity;

	/* fine only where objects are not as coarse as exports */
	refuse_bo(pod, granularity + granularity / 2, 0, EINVAL);
}

static void export_import(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export arg = {};
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.gem_handle = scene.pair.far->handle;
	igt_assert_eq(__igt_ualink_export(scene.pair.importer->fd, &arg),
		      -EOPNOTSUPP);
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

static void export_over_cap(struct igt_ualink_pod *pod)
{
	const struct igt_ualink_node *node = &pod->nodes[0];
	struct drm_gem_ualink_export arg = {};
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink_scene scene;
	uint64_t cap;

	igt_require(igt_ualink_tunable_get(node, "max_export_bytes", &cap));
	igt_ualink_scene_init(&scene, pod);
	arg.gem_handle = scene.plain->handle;
	igt_assert(igt_ualink_tunable_set(node, "max_export_bytes",
					  scene.info[0].exported_bytes + SIZE - 1));
	refuse_export(&scene, &arg, EDQUOT);
	igt_assert(igt_ualink_tunable_set(node, "max_export_bytes",
					  scene.info[0].exported_bytes + SIZE));
	igt_ualink_export(scene.plain, handle);
	igt_assert(igt_ualink_tunable_set(node, "max_export_bytes", cap));
	igt_ualink_scene_fini(&scene);
}

#define PARTS	4

static void export_over_file_cap(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *other = igt_ualink_open(&pod->nodes[0]);
	struct drm_gem_ualink_export arg = {};
	struct drm_ualink_device_info before, now;
	struct igt_ualink_bo *bo[PARTS], *extra[2];
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint64_t part;

	/* the device, too, leaves something for those who do not share */
	igt_ualink_device_info(a, &before);
	igt_assert_lt_u64(before.max_file_export_bytes, before.max_export_bytes);
	part = before.max_file_export_bytes / PARTS;
	part -= part % before.granularity;
	for (int i = 0; i < PARTS; i++) {
		bo[i] = igt_ualink_bo_create(a, part, 0);
		igt_ualink_export(bo[i], handle);
	}

	extra[0] = igt_ualink_bo_create(a, part, 0);
	arg.gem_handle = extra[0]->handle;
	igt_assert_eq(__igt_ualink_export(a->fd, &arg), -EDQUOT);
	igt_ualink_device_info(a, &now);
	igt_assert_eq_u64(now.exported_bytes, before.exported_bytes + PARTS * part);
	igt_assert_eq_u64(now.exports, before.exports + PARTS);

	extra[1] = igt_ualink_bo_create(other, part, 0);
	igt_ualink_export(extra[1], handle);
	igt_ualink_revoke(bo[0]);
	igt_ualink_export(extra[0], handle);

	for (int i = 0; i < 2; i++)
		igt_ualink_bo_destroy(extra[i]);
	for (int i = 0; i < PARTS; i++)
		igt_ualink_bo_destroy(bo[i]);
	igt_ualink_close(other);
	igt_ualink_close(a);
}

/* REVOKE ------------------------------------------------------------------ */

static int revoke_flags(int fd, uint32_t handle, uint32_t flags)
{
	struct drm_gem_ualink_revoke arg = {
		.gem_handle = handle,
		.flags = flags,
	};

	return drmIoctl(fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg) ? -errno : 0;
}

static void revoke_bad_flags(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	for (uint32_t flag = 1; flag; flag <<= 1)
		igt_assert_eq(revoke_flags(scene.pair.exporter->fd,
					   scene.pair.own->handle, flag), -EINVAL);
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

static void revoke_bad_handle(struct igt_ualink_pod *pod)
{
	static const uint32_t handles[] = { 0, NO_HANDLE, UINT32_MAX };
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	for (int i = 0; i < 3; i++)
		igt_assert_eq(__igt_ualink_revoke(scene.pair.exporter->fd,
						  handles[i]), -ENOENT);
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

static void revoke_not_exported(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;
	int fd;

	igt_ualink_scene_init(&scene, pod);
	fd = scene.pair.exporter->fd;
	igt_assert_eq(__igt_ualink_revoke(fd, scene.plain->handle), -ENOENT);
	igt_ualink_assert_unchanged(&scene);

	igt_ualink_revoke(scene.pair.own);
	igt_assert_eq(__igt_ualink_revoke(fd, scene.pair.own->handle), -ENOENT);
	igt_ualink_scene_fini(&scene);
}

static void revoke_import(struct igt_ualink_pod *pod)
{
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	igt_assert_eq(__igt_ualink_revoke(scene.pair.importer->fd,
					  scene.pair.far->handle), -ENOENT);
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

/* ------------------------------------------------------------------ both */

static void short_argument(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export arg = {};
	struct igt_ualink_scene scene;
	unsigned long request;

	/* what the caller does not know of counts as zero, and is not written */
	request = DRM_IOWR(0xD3, char[offsetof(struct drm_gem_ualink_export,
					       size)]);
	igt_ualink_scene_init(&scene, pod);
	arg.gem_handle = scene.pair.own->handle;
	arg.size = 1234;
	igt_assert_eq(drmIoctl(scene.pair.exporter->fd, request, &arg), 0);
	igt_assert(!memcmp(arg.handle, scene.pair.handle, sizeof(arg.handle)));
	igt_assert_eq_u64(arg.size, 1234);
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

/* A node of the primary kind whose driver knows nothing of UALink, or -1. */
static int open_other_driver(void)
{
	char path[32];

	for (int i = 0; i < 64; i++) {
		struct drm_gem_ualink_revoke arg = {};
		int fd;

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (drmIoctl(fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg) &&
		    errno == EOPNOTSUPP)
			return fd;
		close(fd);
	}
	return -1;
}

static void device_without_ualink(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_export export = { .gem_handle = 1 };
	struct drm_gem_ualink_import import = { .fd = -1 };
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)&info,
		.count = 1,
		.stride = sizeof(info),
	};
	int fd = open_other_driver();

	(void)pod;
	igt_require_f(fd >= 0, "all devices have UALink\n");
	igt_assert_eq(__igt_ualink_export(fd, &export), -EOPNOTSUPP);
	igt_assert_eq(__igt_ualink_import(fd, &import), -EOPNOTSUPP);
	igt_assert_eq(import.fd, -1);
	memset(&info, 0xff, sizeof(info));
	igt_assert_eq(__igt_ualink_query(fd, &query), 0);
	igt_assert_eq_u32(info.flags, 0);
	igt_assert_eq_u64(info.exports, 0);
	close(fd);
}

static const struct igt_ualink_test tests[] = {
	{ "export-bad-flags",
	  "Each undefined flag is refused.",
	  export_bad_flags },
	{ "export-bad-pad",
	  "Padding that is not zero is refused.",
	  export_bad_pad },
	{ "export-bad-handle",
	  "Handles that name no object are refused.",
	  export_bad_handle },
	{ "export-list-without-count",
	  "A list of no ids, and ids without a list, are refused.",
	  export_list_without_count },
	{ "export-list-too-long",
	  "A list of more ids than there can be is refused.",
	  export_list_too_long },
	{ "export-list-bad-id",
	  "A list with an id that cannot be is refused.",
	  export_list_bad_id },
	{ "export-list-bad-pointer",
	  "A list that cannot be read is refused.",
	  export_list_bad_pointer },
	{ "export-other-terms",
	  "An exported object is not exported again on other terms.",
	  export_other_terms },
	{ "export-system-memory",
	  "Memory outside of VRAM is refused.",
	  export_system_memory },
	{ "export-private",
	  "An object that belongs to one address space is refused.",
	  export_private },
	{ "export-import",
	  "An import is not exported again.",
	  export_import },
	{ "export-odd-size",
	  "A size that is not a multiple of the granularity is refused.",
	  export_odd_size },
	{ "export-over-cap",
	  "What exceeds the cap of the accelerator is refused.",
	  export_over_cap },
	{ "export-over-file-cap",
	  "What exceeds the cap of a file is refused, and does not concern others.",
	  export_over_file_cap },
	{ "revoke-bad-flags",
	  "Each flag is refused.",
	  revoke_bad_flags },
	{ "revoke-bad-handle",
	  "Handles that name no object are refused.",
	  revoke_bad_handle },
	{ "revoke-not-exported",
	  "What is not exported, or not any more, is refused.",
	  revoke_not_exported },
	{ "revoke-import",
	  "An importer cannot end the export.",
	  revoke_import },
	{ "short-argument",
	  "An argument that ends early counts as one with zeros there.",
	  short_argument },
	{ "device-without-ualink",
	  "Devices without UALink say so.",
	  device_without_ualink },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
