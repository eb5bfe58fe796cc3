// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: jobs of the virtual accelerator
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: uapi
 * Functionality: ualink
 * Feature: ualink
 * Description: What the ioctls for jobs of the virtual accelerator refuse.
 * Test category: uapi
 *
 * SUBTEST: exec-bad-flags
 * Description: Each flag is refused.
 *
 * SUBTEST: exec-bad-vm
 * Description: An address space that does not exist is refused.
 *
 * SUBTEST: exec-bad-array
 * Description: Arrays that are empty, too long, too narrow or not readable are refused.
 *
 * SUBTEST: exec-bad-command
 * Description: Unknown commands, and members that a command does not use, are refused.
 *
 * SUBTEST: exec-bad-address
 * Description: Addresses that are odd, overlap or are out of the address space are refused.
 *
 * SUBTEST: exec-bad-sync
 * Description: Unknown syncobjs and padding are refused, and nothing runs.
 *
 * SUBTEST: exec-limit
 * Description: One file gets so many jobs and no more, until some are done.
 *
 * SUBTEST: get-faults-bad
 * Description: Arrays that are too narrow, too wide or not writable are refused.
 *
 * SUBTEST: get-faults
 * Description: Faults are kept in their order until they are read.
 */
#include <string.h>
#include <sys/mman.h>

#include "igt.h"
#include "igt_ualink.h"
#include "igt_ualink_vualink.h"

IGT_TEST_DESCRIPTION("What the ioctls for jobs of the virtual accelerator refuse.");

#define SIZE	IGT_VUALINK_SCENE_SIZE
#define FREE_VA	(1ull << 40)

/* A command that would change the buffer, in a job that the caller spoils. */
struct job {
	struct drm_vualink_exec exec;
	struct drm_vualink_cmd cmd;
	struct drm_vualink_sync sync;
};

static void good_job(struct igt_vualink_scene *scene, struct job *job)
{
	memset(job, 0, sizeof(*job));
	job->cmd.op = DRM_VUALINK_OP_FILL;
	job->cmd.dst = scene->bo->va;
	job->cmd.len = SIZE;
	job->cmd.value = 0xbadbad;
	job->exec.vm_id = scene->bo_vm_id;
	job->exec.cmds.ptr = (uintptr_t)&job->cmd;
	job->exec.cmds.count = 1;
	job->exec.cmds.stride = sizeof(job->cmd);
}

static void refuse_job(struct igt_vualink_scene *scene, struct job *job, int err)
{
	igt_vualink_refuse(scene, DRM_IOCTL_VUALINK_EXEC, &job->exec, err);
}

static void exec_bad_flags(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	struct job job;

	igt_vualink_scene_init(&scene, pod);
	good_job(&scene, &job);
	for (job.exec.flags = 1; job.exec.flags; job.exec.flags <<= 1)
		refuse_job(&scene, &job, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void exec_bad_vm(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	struct job job;

	igt_vualink_scene_init(&scene, pod);
	good_job(&scene, &job);
	job.exec.vm_id = 0;
	refuse_job(&scene, &job, ENOENT);
	job.exec.vm_id = scene.vm_id + 1;
	refuse_job(&scene, &job, ENOENT);
	igt_vualink_scene_fini(&scene);
}

static void exec_bad_array(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	struct job job;

	igt_vualink_scene_init(&scene, pod);
	good_job(&scene, &job);
	job.exec.cmds.count = 0;
	refuse_job(&scene, &job, EINVAL);
	job.exec.cmds.count = igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_CMDS) + 1;
	refuse_job(&scene, &job, EINVAL);
	job.exec.cmds.count = UINT32_MAX;
	refuse_job(&scene, &job, EINVAL);

	good_job(&scene, &job);
	job.exec.cmds.stride = sizeof(job.cmd) - 8;
	refuse_job(&scene, &job, EINVAL);
	job.exec.cmds.stride = 0;
	refuse_job(&scene, &job, EINVAL);

	good_job(&scene, &job);
	job.exec.cmds.ptr = 8;
	refuse_job(&scene, &job, EFAULT);
	igt_vualink_scene_fini(&scene);
}

static void exec_bad_command(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	struct job job;

	igt_vualink_scene_init(&scene, pod);
	good_job(&scene, &job);
	job.cmd.op = DRM_VUALINK_OP_STORE + 1;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.op = UINT32_MAX;
	refuse_job(&scene, &job, EINVAL);

	good_job(&scene, &job);
	job.cmd.timeout_ms = 1;
	refuse_job(&scene, &job, EINVAL);
	good_job(&scene, &job);
	job.cmd.src = scene.bo->va;
	refuse_job(&scene, &job, EINVAL);
	good_job(&scene, &job);
	job.cmd.value = 1ull << 32;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.op = DRM_VUALINK_OP_STORE;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.op = DRM_VUALINK_OP_ATOMIC_ADD;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.op = DRM_VUALINK_OP_WAIT;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.op = DRM_VUALINK_OP_COPY;
	refuse_job(&scene, &job, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void exec_bad_address(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	struct job job;

	igt_vualink_scene_init(&scene, pod);
	good_job(&scene, &job);
	job.cmd.dst += 2;
	refuse_job(&scene, &job, EINVAL);
	good_job(&scene, &job);
	job.cmd.len -= 2;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.len = 0;
	refuse_job(&scene, &job, EINVAL);
	job.cmd.len = UINT64_MAX - 3;
	refuse_job(&scene, &job, EINVAL);
	good_job(&scene, &job);
	job.cmd.dst = igt_vualink_param(&scene, DRM_VUALINK_PARAM_VA_END) - 4;
	refuse_job(&scene, &job, EINVAL);

	good_job(&scene, &job);
	job.cmd.op = DRM_VUALINK_OP_STORE;
	job.cmd.len = 0;
	job.cmd.dst += 4;
	refuse_job(&scene, &job, EINVAL);

	/* source and destination overlap by a byte */
	good_job(&scene, &job);
	job.cmd.op = DRM_VUALINK_OP_COPY;
	job.cmd.value = 0;
	job.cmd.len = 64;
	job.cmd.src = job.cmd.dst + 63;
	refuse_job(&scene, &job, EINVAL);
	igt_vualink_scene_fini(&scene);
}

static void exec_bad_sync(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	struct job job;

	igt_vualink_scene_init(&scene, pod);
	for (int in = 0; in < 2; in++) {
		struct drm_vualink_array *syncs = in ? &job.exec.in_syncs :
						       &job.exec.out_syncs;

		good_job(&scene, &job);
		syncs->ptr = (uintptr_t)&job.sync;
		syncs->count = 1;
		syncs->stride = sizeof(job.sync);
		job.sync.handle = UINT32_MAX;
		refuse_job(&scene, &job, ENOENT);
		job.sync.pad = 1;
		refuse_job(&scene, &job, EINVAL);
		syncs->stride = 8;
		refuse_job(&scene, &job, EINVAL);
		syncs->stride = sizeof(job.sync);
		syncs->ptr = 8;
		refuse_job(&scene, &job, EFAULT);
		syncs->count = igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_SYNCS) + 1;
		refuse_job(&scene, &job, EINVAL);
	}
	igt_vualink_scene_fini(&scene);
}

static int submit(struct igt_vualink_scene *scene, enum igt_ualink_op op, uint64_t va,
		  uint64_t value, uint64_t *job)
{
	struct igt_ualink_cmd cmd = {
		.op = op,
		.dst = va,
		.value = value,
		.timeout_ms = op == IGT_UALINK_WAIT ? 9000 : 0,
	};

	return scene->dev->backend->submit(scene->dev, &cmd, 1, job);
}

static void exec_limit(struct igt_ualink_pod *pod)
{
	struct igt_vualink_scene scene;
	uint64_t limit, count, *jobs;
	struct igt_ualink_bo *bo;
	uint64_t *words;

	igt_vualink_scene_init(&scene, pod);
	bo = igt_ualink_bo_create(scene.dev, SIZE, IGT_UALINK_BO_VISIBLE);
	words = scene.dev->backend->mmap(scene.dev, bo->handle, SIZE);
	igt_assert(words != MAP_FAILED);
	limit = igt_vualink_param(&scene, DRM_VUALINK_PARAM_MAX_FILE_JOBS);
	jobs = calloc(limit + 1, sizeof(*jobs));
	igt_assert(jobs);

	/* the first one waits for us, and all others for it */
	igt_assert_eq(submit(&scene, IGT_UALINK_WAIT, bo->va, 1, &jobs[0]), 0);
	for (count = 1; count < limit; count++)
		igt_assert_eq(submit(&scene, IGT_UALINK_STORE, bo->va + 8, count, &jobs[count]), 0);
	igt_assert_eq(submit(&scene, IGT_UALINK_STORE, bo->va + 8, 0xbad, &jobs[count]), -EDQUOT);
	igt_assert_eq_u64(words[1], 0);
	*(volatile uint64_t *)words = 1;
	for (uint64_t i = 0; i < count; i++)
		igt_assert_eq(scene.dev->backend->wait(scene.dev, jobs[i], 10000), 0);
	igt_assert_eq_u64(words[1], limit - 1);
	for (int i = 0; i < 500 && submit(&scene, IGT_UALINK_STORE, bo->va + 8, 77, &jobs[0]); i++)
		usleep(10 * 1000);
	igt_assert_eq(scene.dev->backend->wait(scene.dev, jobs[0], 10000), 0);
	igt_assert_eq_u64(words[1], 77);

	free(jobs);
	munmap(words, SIZE);
	igt_ualink_bo_destroy(bo);
	igt_ualink_bo_destroy(scene.bo);
	igt_ualink_close(scene.dev);
}

/* What cannot be written is kept, and what was lost is told in any case. */
static void refuse_faults(struct igt_vualink_scene *scene)
{
	struct drm_vualink_fault faults[2] = {};
	struct drm_vualink_get_faults arg = {
		.faults = { .ptr = 8, .count = 2, .stride = sizeof(*faults) },
		.lost = 77,
	};

	igt_vualink_refuse(scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg, EFAULT);
	igt_assert_eq_u32(arg.faults.count, 0);
	igt_assert_eq_u64(arg.lost, 0);
	arg.lost = 77;
	igt_assert_eq(igt_vualink_call(scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg), 0);
	igt_assert_eq_u32(arg.faults.count, 1);
	igt_assert_eq_u64(arg.lost, 0);
	arg.faults.ptr = (uintptr_t)faults;
	arg.faults.count = 2;
	igt_assert_eq(igt_vualink_call(scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg), 0);
	igt_assert_eq_u32(arg.faults.count, 1);
	igt_assert_eq_u64(faults[0].va, FREE_VA);
}

static void get_faults_bad(struct igt_ualink_pod *pod)
{
	struct drm_vualink_fault fault;
	struct drm_vualink_get_faults arg = {
		.faults = { .ptr = (uintptr_t)&fault, .count = 1 },
	};
	struct igt_vualink_scene scene;
	uint64_t job;

	igt_vualink_scene_init(&scene, pod);
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg, EINVAL);
	arg.faults.stride = sizeof(fault) - 8;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg, EINVAL);
	arg.faults.stride = getpagesize() + 8;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg, EINVAL);
	arg.faults.stride = UINT32_MAX;
	igt_vualink_refuse(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg, EINVAL);

	igt_assert_eq(submit(&scene, IGT_UALINK_STORE, FREE_VA, 1, &job), 0);
	igt_assert_eq(scene.dev->backend->wait(scene.dev, job, 10000), -EFAULT);
	refuse_faults(&scene);
	igt_ualink_assert_no_access(scene.dev, scene.bo->va + SIZE);
	igt_vualink_scene_fini(&scene);
}

static void get_faults(struct igt_ualink_pod *pod)
{
	struct drm_vualink_fault faults[8] = {};
	struct drm_vualink_get_faults arg = {};
	struct igt_ualink_cmd cmd = { .op = IGT_UALINK_STORE };
	struct igt_vualink_scene scene;

	igt_vualink_scene_init(&scene, pod);
	for (int i = 0; i < 5; i++) {
		cmd.dst = FREE_VA + 4096 * i;
		igt_assert_eq(__igt_ualink_run(scene.dev, &cmd, 1), -EFAULT);
	}
	igt_assert_eq(igt_vualink_call(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg), 0);
	igt_assert_eq_u32(arg.faults.count, 5);

	arg.faults.ptr = (uintptr_t)faults;
	arg.faults.count = 3;
	arg.faults.stride = sizeof(faults[0]);
	igt_assert_eq(igt_vualink_call(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg), 0);
	igt_assert_eq_u32(arg.faults.count, 3);
	arg.faults.ptr = (uintptr_t)&faults[3];
	arg.faults.count = 5;
	igt_assert_eq(igt_vualink_call(&scene, DRM_IOCTL_VUALINK_GET_FAULTS, &arg), 0);
	igt_assert_eq_u32(arg.faults.count, 2);
	igt_assert_eq_u64(arg.lost, 0);

	for (int i = 0; i < 5; i++) {
		igt_assert_eq_u64(faults[i].va, FREE_VA + 4096 * i);
		igt_assert_eq_u32(faults[i].reason, DRM_VUALINK_FAULT_UNMAPPED);
		igt_assert_eq_u32(faults[i].flags, DRM_VUALINK_FAULT_WRITE);
		igt_assert(!i || faults[i].time_ns >= faults[i - 1].time_ns);
	}
	igt_vualink_scene_fini(&scene);
}

static const struct igt_ualink_test tests[] = {
	{ "exec-bad-flags",
	  "Each flag is refused.",
	  exec_bad_flags },
	{ "exec-bad-vm",
	  "An address space that does not exist is refused.",
	  exec_bad_vm },
	{ "exec-bad-array",
	  "Arrays that are empty, too long, too narrow or not readable are refused.",
	  exec_bad_array },
	{ "exec-bad-command",
	  "Unknown commands, and members that a command does not use, are refused.",
	  exec_bad_command },
	{ "exec-bad-address",
	  "Addresses that are odd, overlap or are out of the address space are refused.",
	  exec_bad_address },
	{ "exec-bad-sync",
	  "Unknown syncobjs and padding are refused, and nothing runs.",
	  exec_bad_sync },
	{ "exec-limit",
	  "One file gets so many jobs and no more, until some are done.",
	  exec_limit },
	{ "get-faults-bad",
	  "Arrays that are too narrow, too wide or not writable are refused.",
	  get_faults_bad },
	{ "get-faults",
	  "Faults are kept in their order until they are read.",
	  get_faults },
};

int igt_main()
{
	igt_ualink_tests_run(tests, sizeof(tests) / sizeof(tests[0]));
}
