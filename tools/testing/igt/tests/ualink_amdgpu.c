// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: amdgpu
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: Remote memory and the engines, the memory management and the resets of amdgpu.
 * Test category: functionality test
 *
 * SUBTEST: sdma-copy
 * Description: The SDMA engine copies to remote memory and back.
 *
 * SUBTEST: sdma-atomic
 * Description: Atomics of SDMA engines and compute queues of two GPUs do not lose one another.
 *
 * SUBTEST: eviction
 * Description: What is exported stays when VRAM is evicted, and so do mappings of imports.
 *
 * SUBTEST: eviction-and-revoke
 * Description: A revoke while the page tables are evicted leaves nothing behind in them.
 *
 * SUBTEST: unmap-and-revoke
 * Description: A revoke finds what was unmapped, but not yet cleared, too.
 *
 * SUBTEST: domains
 * Description: Remote memory has no domain, cannot be given one, and cannot be mapped by the CPU.
 *
 * SUBTEST: user-fence
 * Description: The kernel's own address space has no remote memory: it takes no user fence.
 *
 * SUBTEST: named-when-dead
 * Description: A submission that names lost memory fails; one that does not goes on.
 *
 * SUBTEST: reset-importer
 * Description: A GPU is reset while it works with remote memory: that is lost, and can be had again.
 *
 * SUBTEST: reset-exporter
 * Description: A GPU is reset while others work with its memory: they lose it, and nothing else.
 *
 * SUBTEST: unbind-importer
 * Description: A GPU goes away with imports alive, and the exporter gets its memory back.
 *
 * SUBTEST: unbind-exporter
 * Description: A GPU goes away with exports alive, and its importers lose them, and nothing else.
 */
#include <amdgpu_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink_amdgpu.h"

IGT_TEST_DESCRIPTION("Remote memory and the engines, memory management and resets of amdgpu.");

#define PAGE	4096ull
#define SIZE	(256ull << 10)
#define LARGE	(4ull << 20)

static void sdma_copy(struct igt_ualink *dev, uint64_t dst, uint64_t src, uint32_t len)
{
	uint32_t packets[16];

	igt_amdgpu_run(dev, AMDGPU_HW_IP_DMA, packets,
		       igt_amdgpu_sdma_copy(packets, dst, src, len));
}

static void test_sdma_copy(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *local;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], LARGE, 1);
	local = igt_ualink_bo_create(pair.importer, LARGE, 0);

	sdma_copy(pair.importer, local->va, pair.far->va, LARGE);
	igt_ualink_check_pattern(local, 1);

	igt_ualink_fill_pattern(local, 2);
	/* neither aligned to a page nor a multiple of one */
	sdma_copy(pair.importer, pair.far->va + 8, local->va + 8, LARGE - 16);
	igt_ualink_check_range(pair.exporter, pair.own->va, 8, 0, 1);
	igt_ualink_check_range(pair.exporter, pair.own->va + 8, LARGE - 16, 8, 2);
	igt_ualink_check_range(pair.exporter, pair.own->va + LARGE - 8, 8, LARGE - 8, 1);

	igt_ualink_bo_destroy(local);
	igt_ualink_pair_fini(&pair);
}

/* @count additions of @value, half of them by each kind of engine. */
static void add(struct igt_ualink *dev, uint64_t va, uint64_t value, unsigned int count)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_ATOMIC_ADD,
		.dst = va,
		.value = value,
	};
	uint32_t packets[8], sdma;
	uint64_t job;

	while (count) {
		sdma = igt_amdgpu_submit(dev, AMDGPU_HW_IP_DMA, packets,
					 igt_amdgpu_sdma_add(packets, va, value));
		igt_assert_eq(dev->backend->submit(dev, &cmd, 1, &job), 0);
		igt_assert_eq(__igt_amdgpu_wait(dev, sdma, 10000), 0);
		igt_assert_eq(dev->backend->wait(dev, job, 10000), 0);
		count -= 2;
	}
}

static void test_sdma_atomic(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 3);
	igt_ualink_store(pair.exporter, pair.own->va, 0);
	igt_fork(child, 2) {
		struct igt_ualink *dev = igt_ualink_open(&pod->nodes[1]);
		struct igt_ualink_bo *far = igt_ualink_import_bo(dev, pair.handle);

		add(dev, far->va, 1ull << (32 * child), 40);
		igt_ualink_bo_destroy(far);
		igt_ualink_close(dev);
	}
	add(pair.exporter, pair.own->va, 1ull << 16, 40);
	igt_waitchildren();
	igt_assert_eq_u64(igt_ualink_load(pair.exporter, pair.own->va),
			  40 | 40ull << 16 | 40ull << 32);
	igt_ualink_pair_fini(&pair);
}

static void test_eviction(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *local;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], LARGE, 4);
	local = igt_ualink_bo_create(pair.importer, SIZE, 0);
	igt_ualink_fill_pattern(local, 5);

	for (int i = 0; i < 3; i++) {
		igt_assert_eq(pair.exporter->backend->evict_all(pair.exporter), 0);
		igt_ualink_check_pattern(pair.far, 4 + i);
		igt_assert_eq(pair.importer->backend->evict_all(pair.importer), 0);
		igt_ualink_check_pattern(pair.far, 4 + i);
		igt_ualink_check_pattern(local, 5);
		igt_ualink_fill_pattern(pair.far, 5 + i);
		igt_ualink_check_pattern(pair.own, 5 + i);
	}
	igt_ualink_bo_destroy(local);
	igt_ualink_pair_fini(&pair);
}

static void test_eviction_and_revoke(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], LARGE, 7);
	igt_ualink_check_pattern(pair.far, 7);
	igt_assert_eq(pair.importer->backend->evict_all(pair.importer), 0);
	igt_ualink_revoke(pair.own);
	igt_ualink_wait_death(pair.importer, pair.handle, DRM_UALINK_DEATH_REVOKED);
	igt_ualink_fill_pattern(pair.own, 8);
	for (uint64_t at = 0; at < LARGE; at += LARGE / 8)
		igt_ualink_assert_no_access(pair.importer, pair.far->va + at);
	igt_ualink_check_pattern(pair.own, 8);
	igt_ualink_pair_fini(&pair);
}

/* Without an update of the page tables: that comes with the next submission. */
static void unmap_later(struct igt_ualink *dev, const struct igt_ualink_bo *bo)
{
	struct drm_amdgpu_gem_va arg = {
		.handle = bo->handle,
		.operation = AMDGPU_VA_OP_UNMAP,
		.flags = AMDGPU_VM_DELAY_UPDATE,
		.va_address = bo->va,
		.map_size = bo->size,
	};

	igt_assert_eq(drmIoctl(dev->fd, DRM_IOCTL_AMDGPU_GEM_VA, &arg), 0);
}

static void test_unmap_and_revoke(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	uint64_t job;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 9);
	igt_ualink_store(pair.exporter, pair.own->va, 0);
	job = igt_ualink_submit_wait(pair.far, 60000);

	/* the job still reads it */
	unmap_later(pair.importer, pair.far);
	igt_ualink_revoke(pair.own);
	igt_ualink_fill_pattern(pair.own, 10);
	igt_ualink_store(pair.exporter, pair.own->va, UINT64_MAX);
	igt_assert_eq(pair.importer->backend->wait(pair.importer, job, 10000), -EFAULT);
	igt_ualink_wait_death(pair.importer, pair.handle, DRM_UALINK_DEATH_REVOKED);

	igt_ualink_gem_close(pair.importer->fd, pair.far->handle);
	free(pair.far);
	pair.far = NULL;
	igt_ualink_pair_fini(&pair);
}

static void test_domains(struct igt_ualink_pod *pod)
{
	struct drm_amdgpu_gem_create_in info = { .domains = UINT64_MAX };
	struct drm_amdgpu_gem_op op = {
		.op = AMDGPU_GEM_OP_GET_GEM_CREATE_INFO,
		.value = (uintptr_t)&info,
	};
	struct igt_ualink_pair pair;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 11);
	fd = pair.importer->fd;
	op.handle = pair.far->handle;
	igt_assert_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_OP, &op), 0);
	igt_assert_eq_u64(info.domains, 0);
	igt_assert_eq_u64(info.bo_size, SIZE);

	op.op = AMDGPU_GEM_OP_SET_PLACEMENT;
	op.value = AMDGPU_GEM_DOMAIN_GTT;
	igt_assert(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_OP, &op));
	igt_assert_eq(errno, EOPNOTSUPP);
	errno = 0;
	igt_assert(pair.importer->backend->mmap(pair.importer, pair.far->handle, SIZE) ==
		   MAP_FAILED);
	igt_assert(errno == EOPNOTSUPP || errno == EPERM);

	igt_ualink_check_pattern(pair.far, 11);
	igt_ualink_pair_fini(&pair);
}

/* Submits a copy of nothing that names a buffer: 0 or -errno. */
static int name_buffer(struct igt_ualink *dev, uint32_t handle)
{
	union drm_amdgpu_bo_list list = {
		.in = {
			.operation = AMDGPU_BO_LIST_OP_CREATE,
			.bo_number = 1,
			.bo_info_size = sizeof(struct drm_amdgpu_bo_list_entry),
			.bo_info_ptr = (uintptr_t)&(struct drm_amdgpu_bo_list_entry) {
				.bo_handle = handle,
			},
		},
	};
	int ret;

	igt_assert_eq(drmIoctl(dev->fd, DRM_IOCTL_AMDGPU_BO_LIST, &list), 0);
	ret = igt_amdgpu_submit_list(dev, list.out.list_handle);
	list = (union drm_amdgpu_bo_list) {
		.in = {
			.operation = AMDGPU_BO_LIST_OP_DESTROY,
			.list_handle = list.out.list_handle,
		},
	};
	igt_assert_eq(drmIoctl(dev->fd, DRM_IOCTL_AMDGPU_BO_LIST, &list), 0);
	return ret;
}

static void test_user_fence(struct igt_ualink_pod *pod)
{
	union drm_amdgpu_gem_create local = {
		.in = { .bo_size = PAGE, .domains = AMDGPU_GEM_DOMAIN_GTT },
	};
	union drm_amdgpu_gem_mmap map = {};
	struct igt_ualink_pair pair;
	uint64_t *fence;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], PAGE, 21);
	fd = pair.importer->fd;
	igt_assert_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &local), 0);
	map.in.handle = local.out.handle;
	igt_assert_eq(drmIoctl(fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &map), 0);
	fence = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, map.out.addr_ptr);
	igt_assert(fence != MAP_FAILED);
	fence[1] = 0;
	igt_assert_eq(igt_amdgpu_submit_fence(pair.importer, local.out.handle, 8), 0);
	igt_assert_neq_u64(fence[1], 0);
	munmap(fence, PAGE);
	igt_ualink_gem_close(fd, local.out.handle);

	igt_assert_eq(igt_amdgpu_submit_fence(pair.importer, pair.far->handle, 8), -EOPNOTSUPP);
	igt_ualink_check_pattern(pair.far, 21);
	igt_ualink_check_pattern(pair.own, 21);
	igt_ualink_pair_fini(&pair);
}

static void test_named_when_dead(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair, other;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 12);
	igt_ualink_pair_init(&other, &pod->nodes[0], &pod->nodes[1], SIZE, 13);
	igt_assert_eq(name_buffer(pair.importer, pair.far->handle), 0);
	igt_ualink_revoke(pair.own);
	igt_ualink_wait_death(pair.importer, pair.handle, DRM_UALINK_DEATH_REVOKED);
	igt_assert_eq(name_buffer(pair.importer, pair.far->handle), -ENODEV);
	/* bound, but not named */
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_check_pattern(other.far, 13);
	igt_ualink_pair_fini(&other);
	igt_ualink_pair_fini(&pair);
}

/* Jobs that use remote memory until the test kills them. */
static void start_traffic(const struct igt_ualink_node *node, const uint8_t *handle)
{
	igt_fork(child, 2) {
		struct igt_ualink *dev = igt_ualink_open(node);
		struct igt_ualink_bo *far = igt_ualink_import_bo(dev, handle);
		struct igt_ualink_bo *local = igt_ualink_bo_create(dev, SIZE, 0);
		struct igt_ualink_cmd cmd = {
			.op = IGT_UALINK_COPY,
			.dst = local->va,
			.src = far->va,
			.len = SIZE,
		};

		/* they fail when it is lost, and the process lives */
		while (!__igt_ualink_run(dev, &cmd, 1))
			;
		pause();
	}
	usleep(200000);
}

static void wait_active(const struct igt_ualink_node *node)
{
	struct drm_ualink_device_info info = {};

	for (int i = 0; i < 300; i++) {
		struct igt_ualink *dev = igt_ualink_open(node);

		igt_ualink_device_info(dev, &info);
		igt_ualink_close(dev);
		if (info.flags & DRM_UALINK_DEVICE_ACTIVE && !info.imports && !info.exports)
			return;
		usleep(100000);
	}
	igt_assert_f(false, "accelerator %u: flags %#x, %llu imports, %llu exports\n", info.id,
		     info.flags, (unsigned long long)info.imports,
		     (unsigned long long)info.exports);
}

static void reset(struct igt_ualink_pod *pod, unsigned int victim)
{
	const uint32_t why[] = { DRM_UALINK_DEATH_PEER_LEFT, DRM_UALINK_DEATH_LOCAL_RESET };
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 14);
	start_traffic(&pod->nodes[1], pair.handle);
	if (victim)
		igt_assert_eq(pair.importer->backend->reset(pair.importer), 0);
	else
		igt_assert_eq(pair.exporter->backend->reset(pair.exporter), 0);
	igt_ualink_wait_death(pair.importer, pair.handle, why[victim]);
	igt_kill_children(SIGKILL);
	igt_ualink_pair_fini(&pair);

	wait_active(&pod->nodes[victim]);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 15);
	igt_ualink_check_pattern(pair.far, 15);
	igt_ualink_pair_fini(&pair);
}

/* --------------------------------------------------------------- unbind */

/* The device's address and the driver's folder in sysfs. */
static void find_device(const struct igt_ualink_node *node, char *address, char *driver)
{
	char path[128], link[PATH_MAX];
	struct stat st;

	igt_assert_eq(stat(node->path, &st), 0);
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	igt_assert(realpath(path, link));
	snprintf(address, 32, "%.31s", strrchr(link, '/') + 1);
	strncat(path, "/driver", sizeof(path) - strlen(path) - 1);
	igt_assert(realpath(path, driver));
}

static void write_sysfs(const char *folder, const char *file, const char *text)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY);
	igt_assert_fd(fd);
	igt_assert_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* The GPU is bound again, maybe as another DRM device, and has joined the pod. */
static void wait_bound(const char *address)
{
	char path[PATH_MAX], state[16] = "";

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/ualink/state", address);
	for (int i = 0; i < 300 && strncmp(state, "active", 6); i++) {
		int fd = open(path, O_RDONLY);

		if (fd >= 0) {
			igt_assert(read(fd, state, sizeof(state)) > 0);
			close(fd);
		}
		usleep(100000);
	}
	igt_assert_f(!strncmp(state, "active", 6), "%s: %s\n", path, state);
}

/* No file of the GPU that goes is open here: it could not come back. */
static void unbind_importer(struct igt_ualink_pod *pod)
{
	struct igt_ualink *exporter = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_bo *own = igt_ualink_bo_create(exporter, SIZE, 0);
	struct drm_ualink_device_info info;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	char address[32], driver[PATH_MAX];

	igt_ualink_fill_pattern(own, 16);
	igt_ualink_export(own, handle);
	start_traffic(&pod->nodes[1], handle);
	igt_ualink_device_info(exporter, &info);
	igt_assert_eq_u64(info.grants, 1);

	find_device(&pod->nodes[1], address, driver);
	write_sysfs(driver, "unbind", address);
	do {
		usleep(10000);
		igt_ualink_device_info(exporter, &info);
	} while (info.grants);
	igt_ualink_check_pattern(own, 16);
	igt_kill_children(SIGKILL);
	write_sysfs(driver, "bind", address);

	igt_ualink_bo_destroy(own);
	igt_ualink_close(exporter);
	wait_bound(address);
}

static void unbind_exporter(struct igt_ualink_pod *pod)
{
	struct igt_ualink *importer = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink_exporter exporter;
	char address[32], driver[PATH_MAX];
	struct igt_ualink_bo *far;

	igt_ualink_exporter_start(&exporter, &pod->nodes[0], SIZE, 17);
	far = igt_ualink_import_bo(importer, exporter.handle);
	igt_ualink_check_pattern(far, 17);

	find_device(&pod->nodes[0], address, driver);
	write_sysfs(driver, "unbind", address);
	igt_ualink_wait_death(importer, exporter.handle, DRM_UALINK_DEATH_PEER_LEFT);
	igt_ualink_assert_no_access(importer, far->va);
	igt_ualink_exporter_kill(&exporter);
	write_sysfs(driver, "bind", address);

	igt_ualink_bo_destroy(far);
	igt_ualink_close(importer);
	wait_bound(address);
}

static void reset_importer(struct igt_ualink_pod *pod)
{
	reset(pod, 1);
}

static void reset_exporter(struct igt_ualink_pod *pod)
{
	reset(pod, 0);
}

/* --------------------------------------------------------------- subtests */

static const struct {
	const char *name;
	const char *description;
	void (*run)(struct igt_ualink_pod *pod);
	/* the pod is not as before afterwards */
	bool disturbs;
} subtests[] = {
	{ "sdma-copy", "The SDMA engine copies to remote memory and back.", test_sdma_copy, false },
	{ "sdma-atomic", "Atomics of all engines of two GPUs do not lose one another.",
	  test_sdma_atomic, false },
	{ "eviction", "What is exported stays when VRAM is evicted, and so do imports.",
	  test_eviction, false },
	{ "eviction-and-revoke", "A revoke while page tables are evicted leaves nothing in them.",
	  test_eviction_and_revoke, false },
	{ "unmap-and-revoke", "A revoke finds what was unmapped, but not yet cleared, too.",
	  test_unmap_and_revoke, false },
	{ "domains", "Remote memory has no domain, and cannot be given one.", test_domains, false },
	{ "user-fence", "The kernel's own address space has no remote memory.",
	  test_user_fence, false },
	{ "named-when-dead", "A submission that names lost memory fails; others go on.",
	  test_named_when_dead, false },
	{ "reset-importer", "A GPU that works with remote memory is reset.", reset_importer, true },
	{ "reset-exporter", "A GPU whose memory others work with is reset.", reset_exporter, true },
	{ "unbind-importer", "A GPU goes away with imports alive.", unbind_importer, true },
	{ "unbind-exporter", "A GPU goes away with exports alive.", unbind_exporter, true },
};

int igt_main()
{
	struct igt_ualink_balance balance;
	struct igt_ualink_pod pod;

	igt_fixture() {
		igt_ualink_pod_require(&pod, 2);
		igt_require(pod.nodes[0].backend == &igt_ualink_amdgpu);
	}

	for (size_t i = 0; i < ARRAY_SIZE(subtests); i++) {
		igt_describe(subtests[i].description);
		igt_subtest_f("%s", subtests[i].name) {
			if (!subtests[i].disturbs)
				igt_ualink_balance_start(&balance, &pod);
			subtests[i].run(&pod);
			if (!subtests[i].disturbs)
				igt_ualink_balance_end(&balance, &pod);
		}
	}

	igt_fixture()
		igt_ualink_pod_fini(&pod);
}
