// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: what users get
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: What holds for users of shared memory.
 * Test category: functionality test
 *
 * SUBTEST: m1-load-store-both-directions
 * Description: Two accelerators load and store each other's memory; nothing is copied.
 *
 * SUBTEST: m1-atomic-from-both
 * Description: Two processes add to one word over the fabric and lose nothing.
 *
 * SUBTEST: m2-only-exported-and-authorised
 * Description: Who may not import gets nothing, and nobody gets more than was exported.
 *
 * SUBTEST: m5-no-cpu-access
 * Description: There is no way for the CPU to map or read an import.
 *
 * SUBTEST: m6-exported-memory-stays
 * Description: Exported memory is pinned once and survives an eviction of everything else.
 *
 * SUBTEST: m7-free-takes-access-away
 * Description: After a free no importer reaches the memory, and its next owner is safe.
 *
 * SUBTEST: m8-mapped-like-local-memory
 * Description: A job uses local and remote memory, in parts and in several address spaces.
 *
 * SUBTEST: m9-opaque-handles
 * Description: Sixteen bytes are all that another process needs.
 *
 * SUBTEST: m14-one-object-one-handle
 * Description: An object has one handle, on whichever file, until its last reference goes.
 *
 * SUBTEST: m15-one-handle-one-object
 * Description: Importing again gives the same object without a message, and it can be revoked.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("What holds for users of shared memory.");

#define KIB(n)	((uint64_t)(n) << 10)
#define MIB(n)	((uint64_t)(n) << 20)

static void load_store_both_directions(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair, back;
	struct igt_ualink_stats before, after;
	struct igt_ualink_bo *own, *far;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], MIB(1), 1);
	igt_ualink_pair_init(&back, &pod->nodes[1], &pod->nodes[0], MIB(1), 2);

	for (int i = 0; i < 2; i++) {
		own = i ? back.own : pair.own;
		far = i ? back.far : pair.far;
		igt_ualink_stats(own->dev, &before);

		/* loads, then stores, which the owner sees */
		igt_ualink_check_pattern(far, 1 + i);
		igt_ualink_fill_pattern(far, 10 + i);
		igt_ualink_check_pattern(own, 10 + i);
		igt_ualink_stats(own->dev, &after);
		igt_assert_lt_u64(before.npa_in, after.npa_in);

		/* there is no second copy: what the owner stores now counts */
		igt_ualink_store(own->dev, own->va + KIB(4) - 8, 77 + i);
		igt_assert_eq_u64(igt_ualink_load(far->dev,
						  far->va + KIB(4) - 8), 77 + i);
	}

	igt_ualink_pair_fini(&back);
	igt_ualink_pair_fini(&pair);
}

#define ADDS	200

static void atomic_from_both(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], KIB(64), 0);
	igt_ualink_store(pair.exporter, pair.own->va, 0);

	igt_fork(child, 2) {
		struct igt_ualink *dev = igt_ualink_open(&pod->nodes[child]);
		struct igt_ualink_bo *bo = igt_ualink_import_bo(dev, pair.handle);

		for (int i = 0; i < ADDS; i++)
			igt_ualink_atomic_add(dev, bo->va, 1 + child * 1000);
		igt_ualink_bo_destroy(bo);
		igt_ualink_close(dev);
	}
	igt_waitchildren();

	igt_assert_eq_u64(igt_ualink_load(pair.exporter, pair.own->va),
			  ADDS * 1002);
	igt_ualink_pair_fini(&pair);
}

static void export_to(struct igt_ualink_bo *bo, uint32_t id, uint8_t *handle)
{
	struct drm_gem_ualink_export arg = {
		.gem_handle = bo->handle,
		.allow_ptr = (uintptr_t)&id,
		.allow_count = 1,
	};

	igt_assert_eq(__igt_ualink_export(bo->dev->fd, &arg), 0);
	memcpy(handle, arg.handle, sizeof(arg.handle));
}

/* Whether the vPod of @dev has an accelerator @id. */
static bool has_member(struct igt_ualink *dev, uint32_t id)
{
	struct drm_ualink_peer_info *peers;
	bool found = dev->node->info.id == id;
	unsigned int count;

	peers = igt_ualink_query_array(dev, DRM_UALINK_QUERY_PEERS, 0,
				       sizeof(*peers), &count);
	for (unsigned int i = 0; i < count; i++)
		found |= peers[i].id == id;
	free(peers);
	return found;
}

/* In another vPod: refused, and if there is no such accelerator, nobody is asked. */
static void assert_stranger_refused(const struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before, after;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink *owner, *dev;
	struct igt_ualink_node node;
	struct igt_ualink_bo *bo;

	if (!igt_ualink_find_stranger(pod, &node))
		return;

	dev = igt_ualink_open(&node);
	owner = igt_ualink_open(&pod->nodes[pod->count - 1]);
	bo = igt_ualink_bo_create(owner, KIB(64), 0);
	igt_ualink_export(bo, handle);

	igt_ualink_device_info(dev, &before);
	if (has_member(dev, owner->node->info.id)) {
		igt_assert_eq(igt_ualink_import_errno(dev, handle), -ENOENT);
	} else {
		igt_assert_eq(igt_ualink_import_errno(dev, handle), -EXDEV);
		igt_ualink_device_info(dev, &after);
		igt_assert_eq_u64(after.msgs_sent, before.msgs_sent);
		igt_assert_eq_u64(after.refused, before.refused + 1);
	}

	igt_ualink_bo_destroy(bo);
	igt_ualink_close(owner);
	igt_ualink_close(dev);
}

static void only_authorised(struct igt_ualink_pod *pod)
{
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]), *c;
	struct igt_ualink_bo *bo = igt_ualink_bo_create(a, KIB(64), 0), *far;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];

	igt_ualink_fill_pattern(bo, 1);
	export_to(bo, a->node->info.id, handle);
	igt_assert_eq(igt_ualink_import_errno(b, handle), -ENOENT);
	igt_ualink_revoke(bo);

	export_to(bo, b->node->info.id, handle);
	far = igt_ualink_import_bo(b, handle);
	igt_ualink_check_pattern(far, 1);
	/* what lies behind the end was not exported */
	igt_ualink_assert_no_access(b, far->va + far->size);
	igt_assert_eq(b->backend->bind(b, far->handle, 1ull << 40, 0, 2 * far->size,
				       0), -EINVAL);
	igt_assert_eq(b->backend->bind(b, far->handle, 1ull << 40,
				       b->node->info.granularity, far->size, 0),
		      -EINVAL);
	if (pod->count > 2) {
		c = igt_ualink_open(&pod->nodes[2]);
		igt_assert_eq(igt_ualink_import_errno(c, handle), -ENOENT);
		igt_ualink_close(c);
	}
	assert_stranger_refused(pod);

	igt_ualink_check_pattern(bo, 1);
	igt_ualink_bo_destroy(far);
	igt_ualink_bo_destroy(bo);
	igt_ualink_close(b);
	igt_ualink_close(a);
}

static void assert_no_mmap(void *ptr)
{
	igt_assert(ptr == MAP_FAILED);
	igt_assert_eq(errno, EOPNOTSUPP);
}

static void no_cpu_access(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *far;
	char byte;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], KIB(64), 5);
	far = pair.far;
	fd = igt_ualink_import(pair.importer, pair.handle);

	assert_no_mmap(mmap(NULL, far->size, PROT_READ, MAP_SHARED, fd, 0));
	assert_no_mmap(mmap(NULL, far->size, PROT_WRITE, MAP_SHARED, fd, 0));
	assert_no_mmap(mmap(NULL, far->size, PROT_READ, MAP_PRIVATE, fd, 0));
	assert_no_mmap(far->dev->backend->mmap(far->dev, far->handle, far->size));
	igt_assert_eq(read(fd, &byte, 1), -1);
	igt_assert_eq(pread(fd, &byte, 1, 0), -1);
	igt_assert_eq(write(fd, &byte, 1), -1);

	/* which took nothing away from the accelerator */
	igt_ualink_check_pattern(far, 5);
	close(fd);
	igt_ualink_pair_fini(&pair);
}

static uint64_t evict(struct igt_ualink *dev)
{
	struct igt_ualink_stats stats;

	igt_assert_eq(dev->backend->evict_all(dev), 0);
	igt_ualink_stats(dev, &stats);
	return stats.vram_used;
}

static void exported_memory_stays(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *plain, *loop;
	uint64_t nothing, exported;
	struct igt_ualink *a;

	igt_require(pod->nodes[0].backend->evict_all);
	a = igt_ualink_open(&pod->nodes[0]);
	plain = igt_ualink_bo_create(a, MIB(2), 0);
	igt_ualink_fill_pattern(plain, 7);
	nothing = evict(a);

	igt_ualink_check_pattern(plain, 7);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], MIB(2), 6);
	loop = igt_ualink_import_bo(a, pair.handle);
	exported = evict(a);
	/* what is exported stays; page tables may, too */
	igt_assert_lte_u64(nothing + MIB(2), exported);
	igt_assert_lt_u64(exported, nothing + MIB(4));

	/* both importers still see the memory that the owner writes */
	igt_ualink_check_pattern(pair.far, 6);
	igt_ualink_fill_pattern(pair.own, 8);
	igt_ualink_check_pattern(pair.far, 8);
	igt_ualink_check_pattern(loop, 8);
	igt_ualink_check_pattern(plain, 7);

	/* it is pinned once: with the export goes what holds it */
	igt_ualink_revoke(pair.own);
	igt_assert_lte_u64(evict(a) + MIB(2), exported);
	igt_ualink_check_pattern(pair.own, 8);

	igt_ualink_bo_destroy(loop);
	igt_ualink_pair_fini(&pair);
	igt_ualink_bo_destroy(plain);
	igt_ualink_close(a);
}

static void free_takes_access_away(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo **owners;
	struct drm_ualink_event event;
	unsigned int count;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], MIB(1), 9);
	/* so that the TLBs on both sides are warm */
	igt_ualink_check_pattern(pair.far, 9);

	igt_ualink_pair_free_own(&pair);
	igt_assert_eq(__igt_ualink_read_event(pair.importer->fd, &event, 10000), 0);
	igt_assert_eq_u64(event.deaths, 1);
	igt_ualink_wait_death(pair.importer, pair.handle,
			      DRM_UALINK_DEATH_REVOKED);

	owners = igt_ualink_fill_vram(pair.exporter, 10, &count);
	for (uint64_t at = 0; at < MIB(1); at += KIB(4))
		igt_ualink_assert_no_access(pair.importer, pair.far->va + at);
	for (unsigned int i = 0; i < count; i++) {
		igt_ualink_check_pattern(owners[i], 10);
		igt_ualink_bo_destroy(owners[i]);
	}
	free(owners);

	igt_assert_eq(igt_ualink_import_errno(pair.importer, pair.handle), -ENOENT);
	igt_ualink_pair_fini(&pair);
}

static void mapped_like_local_memory(struct igt_ualink_pod *pod)
{
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink_bo *local = igt_ualink_bo_create(b, MIB(2), 0), *far;
	struct igt_ualink_pair pair;
	uint64_t part;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], MIB(2), 11);
	far = igt_ualink_import_bo(b, pair.handle);

	/* remote to local, local to remote and remote to remote in one job */
	{
		struct igt_ualink_cmd cmds[] = {
			{ .op = IGT_UALINK_COPY, .dst = local->va,
			  .src = far->va, .len = MIB(2) },
			{ .op = IGT_UALINK_FILL, .dst = far->va,
			  .len = MIB(1), .value = 0x5a5a5a5a },
			{ .op = IGT_UALINK_COPY, .dst = far->va,
			  .src = local->va + MIB(1), .len = KIB(512) },
			{ .op = IGT_UALINK_COPY, .dst = far->va + KIB(512),
			  .src = far->va + MIB(1), .len = KIB(512) },
		};

		igt_assert_eq(__igt_ualink_run(b, cmds, 4), 0);
	}
	igt_ualink_check_pattern(local, 11);
	for (uint64_t at = 0; at < MIB(1); at += KIB(512))
		igt_ualink_check_range(pair.exporter, pair.own->va + at,
				       KIB(512), MIB(1), 11);

	/* a part of it at another place, beside the whole */
	part = igt_ualink_va_alloc(b, KIB(8));
	igt_assert_eq(b->backend->bind(b, far->handle, part, MIB(1) + KIB(4),
				       KIB(8), 0), 0);
	igt_ualink_check_range(b, part, KIB(8), MIB(1) + KIB(4), 11);
	igt_ualink_assert_no_access(b, part + KIB(8));
	igt_assert_eq(b->backend->unbind(b, part, KIB(8)), 0);
	igt_ualink_assert_no_access(b, part);
	igt_ualink_check_range(b, far->va + MIB(1), MIB(1), MIB(1), 11);

	/* the other address space goes on when this one is gone */
	igt_ualink_bo_destroy(local);
	igt_ualink_bo_destroy(far);
	igt_ualink_close(b);
	igt_ualink_fill_pattern(pair.far, 12);
	igt_ualink_check_pattern(pair.own, 12);
	igt_ualink_pair_fini(&pair);
}

static void opaque_handles(struct igt_ualink_pod *pod)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE], again[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink *a = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_bo *bo = igt_ualink_bo_create(a, KIB(64), 0);
	int to_child[2];

	igt_assert_eq(pipe(to_child), 0);
	igt_fork(child, 1) {
		struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
		struct igt_ualink_bo *far;

		igt_assert_eq(read(to_child[0], handle, 16), 16);
		far = igt_ualink_import_bo(b, handle);
		igt_ualink_check_pattern(far, 13);
		igt_ualink_fill_pattern(far, 14);
		igt_ualink_bo_destroy(far);
		igt_ualink_close(b);
	}

	igt_ualink_fill_pattern(bo, 13);
	igt_ualink_export(bo, handle);
	igt_assert_eq(write(to_child[1], handle, 16), 16);
	igt_waitchildren();
	igt_ualink_check_pattern(bo, 14);

	/* no handle tells anything about the next one of the same object */
	for (int i = 0; i < 16; i++) {
		int equal = 0;

		igt_ualink_revoke(bo);
		igt_ualink_export(bo, again);
		for (int k = 0; k < DRM_UALINK_HANDLE_SIZE; k++)
			equal += handle[k] == again[k];
		igt_assert_lt(equal, 8);
		memcpy(handle, again, sizeof(handle));
	}

	igt_ualink_bo_destroy(bo);
	igt_ualink_close(a);
	close(to_child[0]);
	close(to_child[1]);
}

static void one_object_one_handle(struct igt_ualink_pod *pod)
{
	uint8_t again[DRM_UALINK_HANDLE_SIZE];
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_bo *same, *different;
	struct igt_ualink_pair pair;
	int fd;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], KIB(64), 24);
	igt_ualink_export(pair.own, again);
	igt_assert(!memcmp(again, pair.handle, sizeof(again)));

	igt_assert_eq(__igt_ualink_handle_to_fd(pair.exporter->fd,
						pair.own->handle, &fd), 0);
	same = igt_ualink_bo_from_fd(second, fd, KIB(64), 0);
	close(fd);
	igt_ualink_export(same, again);
	igt_assert(!memcmp(again, pair.handle, sizeof(again)));

	different = igt_ualink_bo_create(second, KIB(64), 0);
	igt_ualink_export(different, again);
	igt_assert(memcmp(again, pair.handle, sizeof(again)));

	/* one of two references is left: nothing has ended */
	igt_ualink_pair_free_own(&pair);
	igt_ualink_check_pattern(pair.far, 24);
	igt_ualink_export(same, again);
	igt_assert(!memcmp(again, pair.handle, sizeof(again)));

	igt_ualink_bo_destroy(same);
	igt_ualink_wait_death(pair.importer, pair.handle,
			      DRM_UALINK_DEATH_REVOKED);
	igt_assert_eq(igt_ualink_import_errno(pair.importer, pair.handle), -ENOENT);

	igt_ualink_bo_destroy(different);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
}

static void one_handle_one_object(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_device_info before, after;
	struct igt_ualink_pair pair;
	struct stat st[2];
	uint32_t handle;
	int fd[2];

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], KIB(64), 25);
	igt_ualink_device_info(second, &before);
	fd[0] = igt_ualink_import(pair.importer, pair.handle);
	fd[1] = igt_ualink_import(second, pair.handle);
	igt_ualink_device_info(second, &after);
	igt_assert_eq_u64(after.msgs_sent, before.msgs_sent);
	igt_assert_eq_u64(after.msgs_received, before.msgs_received);
	igt_assert_eq_u64(after.imports, before.imports);

	/* the same dma-buf, the same GEM object */
	for (int i = 0; i < 2; i++)
		igt_assert_eq(fstat(fd[i], &st[i]), 0);
	igt_assert(st[0].st_ino == st[1].st_ino && st[0].st_dev == st[1].st_dev);
	igt_assert_eq(__igt_ualink_fd_to_handle(pair.importer->fd, fd[0], &handle),
		      0);
	igt_assert_eq_u32(handle, pair.far->handle);

	/* and it can be revoked while all of them are open */
	igt_assert_eq(__igt_ualink_fd_to_handle(second->fd, fd[1], &handle), 0);
	igt_ualink_revoke(pair.own);
	igt_assert_eq(second->backend->bind(second, handle, 1ull << 40, 0,
					    KIB(64), 0), -ENODEV);

	close(fd[0]);
	close(fd[1]);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
	igt_ualink_heartbeat_restore(pod);
}

static const struct igt_ualink_test tests[] = {
	{ "m1-load-store-both-directions",
	  "Loads and stores in both directions reach the one copy there is.",
	  load_store_both_directions },
	{ "m1-atomic-from-both",
	  "Atomic additions of two accelerators to one word lose nothing.",
	  atomic_from_both },
	{ "m2-only-exported-and-authorised",
	  "Those who may not import get nothing, and nobody gets more than was exported.",
	  only_authorised },
	{ "m5-no-cpu-access",
	  "The CPU finds no way to an import.",
	  no_cpu_access },
	{ "m6-exported-memory-stays",
	  "Exported memory is pinned once and survives an eviction.",
	  exported_memory_stays },
	{ "m7-free-takes-access-away",
	  "After a free no importer reaches the memory or its next owner.",
	  free_takes_access_away },
	{ "m8-mapped-like-local-memory",
	  "Remote memory is bound in parts, in many places, beside local memory.",
	  mapped_like_local_memory },
	{ "m9-opaque-handles",
	  "Another process needs sixteen bytes, which tell nothing of the next.",
	  opaque_handles },
	{ "m14-one-object-one-handle",
	  "An object has one handle until its last reference goes.",
	  one_object_one_handle },
	{ "m15-one-handle-one-object",
	  "Importing again gives the same object, without a message.",
	  one_handle_one_object },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
