// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: the virtual accelerator
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: uapi
 * Functionality: ualink
 * Feature: ualink
 * Description: What the ioctls for memory of the virtual accelerator refuse.
 * Test category: uapi
 *
 * SUBTEST: get-param
 * Description: All parameters have a value that makes sense.
 *
 * SUBTEST: get-param-bad
 * Description: Unknown parameters and padding are refused.
 *
 * SUBTEST: bo-create-bad-flags
 * Description: Each undefined flag is refused.
 *
 * SUBTEST: bo-create-bad-pad
 * Description: Padding that is not zero is refused.
 *
 * SUBTEST: bo-create-bad-size
 * Description: Sizes that are zero, odd, or larger than the memory are refused.
 *
 * SUBTEST: bo-create-bad-vm
 * Description: An object for an address space that does not exist is refused.
 *
 * SUBTEST: bo-create-zeroed
 * Description: New memory is full of zeros, whatever it was before.
 *
 * SUBTEST: mmap-offset-bad
 * Description: Padding, unknown objects, and objects that the CPU cannot see are refused.
 *
 * SUBTEST: vm-create-bad-flags
 * Description: Each flag is refused.
 *
 * SUBTEST: vm-create-limit
 * Description: One file gets so many address spaces and no more, and others still get theirs.
 *
 * SUBTEST: vm-destroy-bad
 * Description: Padding and unknown address spaces are refused.
 *
 * SUBTEST: vm-bind-bad-op
 * Description: Unknown operations are refused.
 *
 * SUBTEST: vm-bind-bad-flags
 * Description: Each undefined flag is refused, and all of them for an unmap.
 *
 * SUBTEST: vm-bind-bad-unmap
 * Description: An unmap that names an object is refused.
 *
 * SUBTEST: vm-bind-bad-handle
 * Description: Unknown objects and address spaces are refused.
 *
 * SUBTEST: vm-bind-bad-range
 * Description: Ranges that are empty, odd, or out of object or address space are refused.
 *
 * SUBTEST: export-limits
 * Description: A file exports half of the memory at most, and all files together not all of it.
 *
 * SUBTEST: vm-bind-private
 * Description: An object of one address space is not bound in another.
 */
#include <string.h>

#include "igt.h"
#include "igt_ualink.h"
#include "igt_ualink_vualink.h"

IGT_TEST_DESCRIPTION("What the ioctls for memory of the virtual accelerator refuse.");

#define SIZE	IGT_VUALINK_SCENE_SIZE
#define FREE_VA	(1ull << 40)

static void get_param(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	uint64_t vram;

	igt_vualink_scene_init(&scene, pod);
	vram = igt_vualink_param(&scene, DRM_VUALINK_PARAM_VRAM_SIZE);
	igt_assert_eq_u64(igt_vualink_param(&scene, DRM_VUALINK_PARAM_ID),
			  pod->nodes[0].info.id);
	igt_assert_eq_u64(vram, scene.stats.vram_size);
	igt_assert_lte_u64(igt_vualink_param(&scene, DRM_VUALINK_PARAM_VRAM_VISIBLE_SIZE), vram);
	igt_assert_eq_u64(igt_vualink_param(&scene, DRM_VUALINK_PARAM_BO_ALIGN) % 4096, 0);
	igt_assert_eq_u64(igt_vualink_param(&scene, DRM_VUALINK_PARAM_BIND_ALIGN) % 4096, 0);
	igt_assert_lt_u64(igt_vualink_param(&scene, DRM_VUALINK_PARAM_VA_START),
			  igt_vualink_param(&scene, DRM_VUALINK_PARAM_VA_END));
	igt_assert_lt_u64(2, igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_VMS));
	igt_assert_lt_u64(2, igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_CMDS));
	igt_assert_lt_u64(0, igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_SYNCS));
	igt_vualink_scene_fini(&scene);
}

static void get_param_bad(struct igt_ualink_pod *pod)
{
	struct drm_vualink_get_param arg = {
		.param = DRM_VUALINK_PARAM_MAX_FILE_VMS + 1,
	};
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_PARAM, &arg, EINVAL);
	arg.param = UINT32_MAX;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_PARAM, &arg, EINVAL);
	arg.param = DRM_VUALINK_PARAM_ID;
	arg.pad = 1;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_PARAM, &arg, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void refuse_bo(struct igt_vualink_scene *scene, struct drm_vualink_bo_create arg, int err)
{
	arg.handle = 0;
	igt_vualink_refuse(scene, DRM_IOCTL_VUALINK_BO_CREATE, &arg, err);
	igt_assert_eq_u32(arg.handle, 0);
}

static void bo_create_bad_flags(struct igt_ualink_pod *pod)
{
	struct drm_vualink_bo_create arg = { .size = SIZE };
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	for (arg.flags = DRM_VUALINK_BO_SYSTEM << 1; arg.flags; arg.flags <<= 1)
		refuse_bo(&scene, arg, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void bo_create_bad_pad(struct igt_ualink_pod *pod)
{
	struct drm_vualink_bo_create arg = { .size = SIZE, .pad = 1 };
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	refuse_bo(&scene, arg, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void bo_create_bad_size(struct igt_ualink_pod *pod)
{
	static const uint64_t odd[] = {
		0, 1, 4095, 4097, SIZE + 1, SIZE - 1, UINT64_MAX,
		(1ull << 31) + 1, (1ull << 32) + 1,
	};
	static const uint64_t large[] = {
		FREE_VA, 1ull << 62, 1ull << 63, UINT64_MAX - 4095,
	};
	struct drm_vualink_bo_create arg = {};
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		arg.size = odd[i];
		refuse_bo(&scene, arg, EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
		arg.size = large[i];
		refuse_bo(&scene, arg, ENOSPC);
	}
	arg.size = scene.stats.vram_size + 4096;
	refuse_bo(&scene, arg, ENOSPC);
	arg.size = igt_vualink_param(&scene, DRM_VUALINK_PARAM_VRAM_VISIBLE_SIZE) + 4096;
	arg.flags = DRM_VUALINK_BO_CPU_VISIBLE;
	refuse_bo(&scene, arg, ENOSPC);
	igt_vualink_scene_fini(&scene);
}

static void bo_create_bad_vm(struct igt_ualink_pod *pod)
{
	struct drm_vualink_bo_create arg = { .size = SIZE };
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	arg.vm_id = scene.vm_id + 1;
	refuse_bo(&scene, arg, ENOENT);
	arg.vm_id = UINT32_MAX;
	refuse_bo(&scene, arg, ENOENT);
	igt_vualink_scene_fini(&scene);
}

static void bo_create_zeroed(struct igt_ualink_pod *pod)
{
	struct igt_ualink *dev;
	struct igt_ualink_bo **bos, *bo;
	unsigned int count;
	uint64_t *words;

	igt_require(pod->nodes[0].backend == &igt_ualink_vualink);
	dev = igt_ualink_open(&pod->nodes[0]);
	words = malloc(SIZE);
	igt_assert(words);
	bos = igt_ualink_fill_vram(dev, 3, &count);
	for (unsigned int i = 0; i < count; i++)
		igt_ualink_bo_destroy(bos[i]);
	free(bos);

	for (int n = 0; n < 8; n++) {
		bo = igt_ualink_bo_create(dev, SIZE, IGT_UALINK_BO_SCATTERED);
		igt_assert_eq(__igt_ualink_read(dev, bo->va, words, SIZE), 0);
		for (uint64_t i = 0; i < SIZE / sizeof(*words); i++)
			igt_assert_eq_u64(words[i], 0);
		igt_ualink_bo_destroy(bo);
	}
	free(words);
	igt_ualink_close(dev);
}

static void mmap_offset_bad(struct igt_ualink_pod *pod)
{
	struct drm_vualink_bo_mmap_offset arg = {};
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &arg, ENOENT);
	arg.handle = UINT32_MAX;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &arg, ENOENT);
	arg.handle = scene.bo->handle;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &arg, EOPNOTSUPP);
	arg.pad = 1;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &arg, EINVAL);
	igt_assert_eq_u64(arg.offset, 0);
	igt_vualink_scene_fini(&scene);
}

static void vm_create_bad_flags(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_create arg = {};
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	for (arg.flags = 1; arg.flags; arg.flags <<= 1) {
		igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_VM_CREATE, &arg, EINVAL);
		igt_assert_eq_u32(arg.vm_id, 0);
	}
	igt_vualink_scene_fini(&scene);
}

static void vm_create_limit(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_destroy destroy = {};
	struct drm_vualink_vm_create arg = {};
	struct igt_vualink_scene scene;
	struct igt_ualink *other;
	unsigned int limit, vms = 0;
	uint32_t *ids;

	igt_vualink_scene_init(&scene, pod);
	limit = igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_FILE_VMS);
	ids = calloc(limit, sizeof(*ids));
	igt_assert(ids);
	/* the scene has two of them */
	for (; vms < limit - 2; vms++) {
		igt_assert_eq(igt_vualink_call(&scene, DRM_IOCTL_VUALINK_VM_CREATE, &arg), 0);
		ids[vms] = arg.vm_id;
	}
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_VM_CREATE, &arg, EDQUOT);
	other = igt_ualink_open(&pod->nodes[0]);
	igt_ualink_close(other);

	/* one that is given up makes room, as soon as it is gone */
	destroy.vm_id = ids[--vms];
	igt_assert_eq(igt_vualink_call(&scene, DRM_IOCTL_VUALINK_VM_DESTROY, &destroy), 0);
	for (int i = 0; i < 500; i++) {
		if (!igt_vualink_call(&scene, DRM_IOCTL_VUALINK_VM_CREATE, &arg))
			break;
		usleep(10 * 1000);
	}
	igt_assert_neq_u32(arg.vm_id, 0);
	ids[vms++] = arg.vm_id;
	while (vms) {
		destroy.vm_id = ids[--vms];
		igt_assert_eq(igt_vualink_call(&scene, DRM_IOCTL_VUALINK_VM_DESTROY, &destroy), 0);
	}
	free(ids);
	for (int i = 0; i < 500 && igt_vualink_counter(scene.dev, "state", "vms") > 2; i++)
		usleep(10 * 1000);
	igt_assert_eq_u64(igt_vualink_counter(scene.dev, "state", "vms"), 2);
	igt_vualink_scene_fini(&scene);
}

static void vm_destroy_bad(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_destroy arg = {};
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_VM_DESTROY, &arg, ENOENT);
	arg.vm_id = UINT32_MAX;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_VM_DESTROY, &arg, ENOENT);
	arg.vm_id = scene.vm_id;
	arg.pad = 1;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_VM_DESTROY, &arg, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static struct drm_vualink_vm_bind good_bind(struct igt_vualink_scene *scene)
{
	return (struct drm_vualink_vm_bind) {
		.vm_id = scene->vm_id,
		.op = DRM_VUALINK_VM_BIND_MAP,
		.handle = scene->bo->handle,
		.va = FREE_VA,
		.size = SIZE,
	};
}

static struct drm_vualink_vm_bind good_unmap(struct igt_vualink_scene *scene)
{
	return (struct drm_vualink_vm_bind) {
		.vm_id = scene->vm_id,
		.op = DRM_VUALINK_VM_BIND_UNMAP,
		.va = FREE_VA,
		.size = SIZE,
	};
}

static void refuse_bind(struct igt_vualink_scene *scene, struct drm_vualink_vm_bind arg, int err)
{
	igt_vualink_refuse(scene, DRM_IOCTL_VUALINK_VM_BIND, &arg, err);
}

static void vm_bind_bad_op(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_bind arg;
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	arg = good_bind(&scene);
	arg.op = DRM_VUALINK_VM_BIND_UNMAP + 1;
	refuse_bind(&scene, arg, EINVAL);
	arg.op = UINT32_MAX;
	refuse_bind(&scene, arg, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void vm_bind_bad_flags(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_bind map, unmap;
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	map = good_bind(&scene);
	unmap = good_unmap(&scene);
	for (uint32_t flag = 1; flag; flag <<= 1) {
		map.flags = flag;
		if (flag != DRM_VUALINK_VM_BIND_READ_ONLY)
			refuse_bind(&scene, map, EINVAL);
		unmap.flags = flag;
		refuse_bind(&scene, unmap, EINVAL);
	}
	igt_vualink_scene_fini(&scene);
}

static void vm_bind_bad_unmap(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_bind arg;
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	arg = good_unmap(&scene);
	arg.handle = scene.bo->handle;
	refuse_bind(&scene, arg, EINVAL);
	arg.handle = 0;
	arg.offset = 4096;
	refuse_bind(&scene, arg, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void vm_bind_bad_handle(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_bind arg;
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	arg = good_bind(&scene);
	arg.handle = 0;
	refuse_bind(&scene, arg, ENOENT);
	arg.handle = UINT32_MAX;
	refuse_bind(&scene, arg, ENOENT);
	arg = good_bind(&scene);
	arg.vm_id = 0;
	refuse_bind(&scene, arg, ENOENT);
	arg.vm_id = scene.vm_id + 1;
	refuse_bind(&scene, arg, ENOENT);
	igt_vualink_scene_fini(&scene);
}

static void vm_bind_bad_range(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	uint64_t va_end;

	igt_vualink_scene_init(&scene, pod);
	va_end = igt_vualink_param(&scene, DRM_VUALINK_PARAM_VA_END);
	{
		const struct { uint64_t va, size, offset; } bad[] = {
			{ FREE_VA, 0, 0 },
			{ FREE_VA, SIZE - 1, 0 },
			{ FREE_VA + 1, SIZE, 0 },
			{ FREE_VA, 4096, 1 },
			{ FREE_VA, SIZE + 4096, 0 },
			{ FREE_VA, SIZE, 4096 },
			{ FREE_VA, 4096, SIZE },
			{ FREE_VA, 4096, UINT64_MAX - 4095 },
			{ FREE_VA, UINT64_MAX - 4095, 4096 },
			{ va_end, SIZE, 0 },
			{ va_end - 4096, SIZE, 0 },
			{ UINT64_MAX - 4095, SIZE, 0 },
			{ 0, SIZE, 0 },
		};

		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			struct drm_vualink_vm_bind arg = good_bind(&scene);

			if (!bad[i].va && !igt_vualink_param(&scene, DRM_VUALINK_PARAM_VA_START))
				continue;
			arg.va = bad[i].va;
			arg.size = bad[i].size;
			arg.offset = bad[i].offset;
			refuse_bind(&scene, arg, EINVAL);
		}
	}
	igt_vualink_scene_fini(&scene);
}

/* Exports new objects of 1 MiB until it is refused. Returns how many. */
static unsigned int export_all(struct igt_ualink *dev, unsigned int max, uint32_t *handles)
{
	struct drm_gem_ualink_export arg;
	unsigned int n;
	int ret = 0;

	for (n = 0; n < max; n++) {
		memset(&arg, 0, sizeof(arg));
		igt_assert_eq(dev->backend->alloc(dev, 1 << 20, 0, &handles[n]), 0);
		arg.gem_handle = handles[n];
		ret = __igt_ualink_export(dev->fd, &arg);
		if (ret)
			break;
	}
	igt_assert_eq(ret, -EDQUOT);
	return n;
}

static void export_limits(struct igt_ualink_pod *pod)
{
	struct igt_ualink_stats stats;
	struct igt_vualink_own own;
	struct igt_ualink *dev[2];
	unsigned int size;
	uint32_t *handles;
	uint64_t cap;

	igt_vualink_own_init(&own, pod, 1);
	for (int i = 0; i < 2; i++)
		dev[i] = igt_ualink_open(&own.nodes[0]);
	igt_ualink_stats(dev[0], &stats);
	size = stats.vram_size >> 20;
	handles = calloc(size, sizeof(*handles));
	igt_assert(handles);
	igt_assert(igt_ualink_tunable_get(&own.nodes[0], "max_export_bytes", &cap));
	igt_assert_eq_u64(cap, stats.vram_size / 4 * 3);

	igt_assert_eq(export_all(dev[0], size, handles), size / 2);
	igt_assert_eq(export_all(dev[1], size, handles), size / 4);
	/* what is not exported any more makes room for something else */
	igt_assert_eq(__igt_ualink_revoke(dev[1]->fd, handles[0]), 0);
	igt_assert_eq(export_all(dev[1], size, handles), 1);

	free(handles);
	for (int i = 0; i < 2; i++)
		igt_ualink_close(dev[i]);
	igt_vualink_own_fini(&own);
	igt_assert(igt_vualink_wait_devices(own.before));
}

static void vm_bind_private(struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_bind arg;
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	arg = good_bind(&scene);
	igt_assert_eq(scene.dev->backend->alloc(scene.dev, SIZE,
						IGT_UALINK_BO_PRIVATE,
						&arg.handle), 0);
	refuse_bind(&scene, arg, EINVAL);
	igt_ualink_gem_close(scene.dev->fd, arg.handle);
	igt_vualink_scene_fini(&scene);
}

static const struct igt_ualink_test tests[] = {
	{ "get-param",
	  "All parameters have a value that makes sense.",
	  get_param },
	{ "get-param-bad",
	  "Unknown parameters and padding are refused.",
	  get_param_bad },
	{ "bo-create-bad-flags",
	  "Each undefined flag is refused.",
	  bo_create_bad_flags },
	{ "bo-create-bad-pad",
	  "Padding that is not zero is refused.",
	  bo_create_bad_pad },
	{ "bo-create-bad-size",
	  "Sizes that are zero, odd, or larger than the memory are refused.",
	  bo_create_bad_size },
	{ "bo-create-bad-vm",
	  "An object for an address space that does not exist is refused.",
	  bo_create_bad_vm },
	{ "bo-create-zeroed",
	  "New memory is full of zeros, whatever it was before.",
	  bo_create_zeroed },
	{ "mmap-offset-bad",
	  "Padding, unknown objects, and objects that the CPU cannot see are refused.",
	  mmap_offset_bad },
	{ "vm-create-bad-flags",
	  "Each flag is refused.",
	  vm_create_bad_flags },
	{ "vm-create-limit",
	  "One file gets so many address spaces and no more, and others still get theirs.",
	  vm_create_limit },
	{ "vm-destroy-bad",
	  "Padding and unknown address spaces are refused.",
	  vm_destroy_bad },
	{ "vm-bind-bad-op",
	  "Unknown operations are refused.",
	  vm_bind_bad_op },
	{ "vm-bind-bad-flags",
	  "Each undefined flag is refused, and all of them for an unmap.",
	  vm_bind_bad_flags },
	{ "vm-bind-bad-unmap",
	  "An unmap that names an object is refused.",
	  vm_bind_bad_unmap },
	{ "vm-bind-bad-handle",
	  "Unknown objects and address spaces are refused.",
	  vm_bind_bad_handle },
	{ "vm-bind-bad-range",
	  "Ranges that are empty, odd, or out of object or address space are refused.",
	  vm_bind_bad_range },
	{ "export-limits",
	  "A file exports half of the memory at most, and all files together not all of it.",
	  export_limits },
	{ "vm-bind-private",
	  "An object of one address space is not bound in another.",
	  vm_bind_private },
};

int igt_main()
{
	igt_ualink_tests_run(tests, sizeof(tests) / sizeof(tests[0]));
}
