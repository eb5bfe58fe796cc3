// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: QUERY
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: uapi
 * Functionality: ualink
 * Feature: ualink
 * Description: What QUERY answers and what it refuses.
 * Test category: uapi
 *
 * SUBTEST: bad-kind
 * Description: Unknown kinds are refused.
 *
 * SUBTEST: bad-flags
 * Description: Each flag is refused.
 *
 * SUBTEST: bad-pad
 * Description: Padding that is not zero is refused.
 *
 * SUBTEST: bad-arg
 * Description: An argument to a kind that has none is refused.
 *
 * SUBTEST: bad-stride
 * Description: Strides that are zero or no multiple of four are refused.
 *
 * SUBTEST: bad-pointer
 * Description: An array that cannot be written is refused.
 *
 * SUBTEST: bad-handle
 * Description: Importers of an object that does not exist are refused.
 *
 * SUBTEST: two-calls
 * Description: The first call tells how much room is needed; less or more room is used as it is.
 *
 * SUBTEST: device
 * Description: The device describes itself and its limits.
 *
 * SUBTEST: device-counters
 * Description: The counters of the device follow what is shared.
 *
 * SUBTEST: peers
 * Description: Every other member of the vPod is listed, with what is shared with it.
 *
 * SUBTEST: exports-of-the-file
 * Description: A file sees its own exports and who has imported them.
 *
 * SUBTEST: imports-of-the-file
 * Description: A file sees its own imports, with what the user said about them.
 *
 * SUBTEST: dead-imports
 * Description: Dead imports are listed with the reason, and only where they were imported.
 *
 * SUBTEST: fdinfo
 * Description: What a file exports and imports is in its fdinfo, as drm-usage-stats.rst says.
 *
 * SUBTEST: changes-nothing
 * Description: No query sends a message or changes a counter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("What QUERY answers and what it refuses.");

#define SIZE	(64ull << 10)

/* One array of a kind, with the arguments as they are. */
static int query(struct igt_ualink *dev, struct drm_gem_ualink_query arg)
{
	return __igt_ualink_query(dev->fd, &arg);
}

static struct drm_gem_ualink_query device_query(void *data)
{
	return (struct drm_gem_ualink_query) {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)data,
		.count = 1,
		.stride = sizeof(struct drm_ualink_device_info),
	};
}

/* A call that is refused has not written anything. */
static void refuse(struct igt_ualink_scene *scene,
		   struct drm_gem_ualink_query arg, int err)
{
	unsigned char data[1024], untouched[1024];

	memset(data, 0xa5, sizeof(data));
	memset(untouched, 0xa5, sizeof(untouched));
	if (!arg.data_ptr)
		arg.data_ptr = (uintptr_t)data;

	igt_assert_eq(query(scene->pair.exporter, arg), -err);
	igt_assert(!memcmp(data, untouched, sizeof(data)));
	igt_ualink_assert_unchanged(scene);
}

static void bad_kind(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_query arg = device_query(NULL);
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.kind = DRM_UALINK_QUERY_IMPORTERS + 1;
	refuse(&scene, arg, EINVAL);
	arg.kind = UINT32_MAX;
	refuse(&scene, arg, EINVAL);
	igt_ualink_scene_fini(&scene);
}

static void bad_flags(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_query arg = device_query(NULL);
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	for (arg.flags = 1; arg.flags; arg.flags <<= 1)
		refuse(&scene, arg, EINVAL);
	igt_ualink_scene_fini(&scene);
}

static void bad_pad(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_query arg = device_query(NULL);
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.pad = 1;
	refuse(&scene, arg, EINVAL);
	igt_ualink_scene_fini(&scene);
}

static void bad_arg(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_query arg = device_query(NULL);
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.arg = 1;
	for (arg.kind = 0; arg.kind < DRM_UALINK_QUERY_IMPORTERS; arg.kind++)
		refuse(&scene, arg, EINVAL);
	igt_ualink_scene_fini(&scene);
}

static void bad_stride(struct igt_ualink_pod *pod)
{
	static const uint32_t strides[] = { 0, 1, 2, 3, 5, 127, UINT32_MAX };
	struct drm_gem_ualink_query arg = device_query(NULL);
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	for (size_t i = 0; i < ARRAY_SIZE(strides); i++) {
		arg.stride = strides[i];
		refuse(&scene, arg, EINVAL);
	}
	igt_ualink_scene_fini(&scene);
}

static void bad_pointer(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_query arg = device_query(NULL);
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	arg.data_ptr = 8;
	refuse(&scene, arg, EFAULT);
	arg.data_ptr = UINT64_MAX - 7;
	refuse(&scene, arg, EFAULT);
	igt_ualink_scene_fini(&scene);
}

static void bad_handle(struct igt_ualink_pod *pod)
{
	struct drm_gem_ualink_query arg = {
		.kind = DRM_UALINK_QUERY_IMPORTERS,
		.count = 1,
		.stride = sizeof(uint32_t),
	};
	struct igt_ualink_scene scene;

	igt_ualink_scene_init(&scene, pod);
	refuse(&scene, arg, ENOENT);
	arg.arg = UINT32_MAX;
	refuse(&scene, arg, ENOENT);
	igt_ualink_scene_fini(&scene);
}

static void two_calls(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_query arg = { .kind = DRM_UALINK_QUERY_DEVICE };
	struct igt_ualink *dev = igt_ualink_open(&pod->nodes[0]);
	unsigned char big[2 * sizeof(info)], half[sizeof(info)];

	/* what there is, without any room */
	igt_assert_eq(__igt_ualink_query(dev->fd, &arg), 0);
	igt_assert_eq_u32(arg.count, 1);
	igt_assert_eq_u32(arg.stride, sizeof(info));
	igt_ualink_device_info(dev, &info);

	/* a caller that knows more members than the kernel */
	memset(big, 0xa5, sizeof(big));
	arg = device_query(big);
	arg.stride = sizeof(big);
	igt_assert_eq(__igt_ualink_query(dev->fd, &arg), 0);
	igt_assert(!memcmp(big, &info, sizeof(info)));
	for (size_t i = sizeof(info); i < sizeof(big); i++)
		igt_assert_eq(big[i], 0);

	/* a caller that knows fewer */
	memset(half, 0xa5, sizeof(half));
	arg = device_query(half);
	arg.stride = 24;
	igt_assert_eq(__igt_ualink_query(dev->fd, &arg), 0);
	igt_assert(!memcmp(half, &info, 24));
	igt_assert_eq(half[24], 0xa5);

	/* more elements than there are: only those are written */
	memset(big, 0xa5, sizeof(big));
	arg = device_query(big);
	arg.count = UINT32_MAX;
	igt_assert_eq(__igt_ualink_query(dev->fd, &arg), 0);
	igt_assert_eq_u32(arg.count, 1);
	igt_assert_eq(big[sizeof(info)], 0xa5);
	igt_ualink_close(dev);
}

static void device(struct igt_ualink_pod *pod)
{
	const uint32_t all = DRM_UALINK_DEVICE_SUPPORTED |
			     DRM_UALINK_DEVICE_PROVISIONED |
			     DRM_UALINK_DEVICE_ACTIVE;
	struct drm_ualink_device_info info;
	struct igt_ualink_stats stats;
	struct igt_ualink *dev;

	for (unsigned int i = 0; i < pod->count; i++) {
		dev = igt_ualink_open(&pod->nodes[i]);
		igt_ualink_device_info(dev, &info);
		igt_assert_eq_u32(info.flags, all);
		igt_assert_lt_u64(info.id, DRM_UALINK_MAX_IDS);
		igt_assert(!i || info.id > pod->nodes[i - 1].info.id);
		igt_assert(!memcmp(info.vpod_uuid, pod->nodes[0].info.vpod_uuid,
				   sizeof(info.vpod_uuid)));
		igt_assert_lt_u64(0, info.granularity);
		igt_assert_eq_u64(info.granularity & (info.granularity - 1), 0);
		igt_assert_eq_u64(info.segment_size & (info.segment_size - 1), 0);
		igt_assert_lte_u64(info.npa_used + info.npa_quarantined +
				   info.npa_largest_free, info.segment_size);
		igt_ualink_stats(dev, &stats);
		igt_assert_lt_u64(0, info.max_file_export_bytes);
		igt_assert_lt_u64(info.max_file_export_bytes, info.max_export_bytes);
		igt_assert_lt_u64(info.max_export_bytes, stats.vram_size);
		igt_ualink_close(dev);
	}
}

static void device_counters(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before[2], now[2];
	struct igt_ualink *dev[2];
	struct igt_ualink_pair pair[3];

	for (int i = 0; i < 2; i++) {
		dev[i] = igt_ualink_open(&pod->nodes[i]);
		igt_ualink_device_info(dev[i], &before[i]);
	}
	for (int n = 0; n < 3; n++) {
		igt_ualink_pair_init(&pair[n], &pod->nodes[0], &pod->nodes[1],
				     SIZE, n);
		for (int i = 0; i < 2; i++)
			igt_ualink_device_info(dev[i], &now[i]);
		igt_assert_eq_u64(now[0].exports, before[0].exports + n + 1);
		igt_assert_eq_u64(now[0].grants, before[0].grants + n + 1);
		igt_assert_eq_u64(now[0].imports, before[0].imports);
		igt_assert_eq_u64(now[0].exported_bytes,
				  before[0].exported_bytes + (n + 1) * SIZE);
		igt_assert_eq_u64(now[0].npa_used,
				  before[0].npa_used + (n + 1) * SIZE);
		igt_assert_eq_u64(now[1].imports, before[1].imports + n + 1);
		igt_assert_eq_u64(now[1].exports, before[1].exports);
		igt_assert_eq_u64(now[1].npa_used, before[1].npa_used);
	}
	for (int n = 0; n < 3; n++) {
		igt_ualink_revoke(pair[n].own);
		for (int i = 0; i < 2; i++)
			igt_ualink_device_info(dev[i], &now[i]);
		igt_assert_eq_u64(now[0].exports, before[0].exports + 2 - n);
		igt_assert_eq_u64(now[0].grants, before[0].grants + 2 - n);
		igt_assert_eq_u64(now[1].imports, before[1].imports + 2 - n);
		igt_assert_eq_u64(now[1].imports_died,
				  before[1].imports_died + n + 1);
	}
	for (int n = 0; n < 3; n++)
		igt_ualink_pair_fini(&pair[n]);
	for (int i = 0; i < 2; i++)
		igt_ualink_close(dev[i]);
}

/* What @dev says of accelerator @id; asserts that it says it once. */
static struct drm_ualink_peer_info peer_info(struct igt_ualink *dev, uint32_t id)
{
	struct drm_ualink_peer_info *peers, found = {};
	unsigned int count, times = 0;

	peers = igt_ualink_query_array(dev, DRM_UALINK_QUERY_PEERS, 0,
				       sizeof(*peers), &count);
	for (unsigned int i = 0; i < count; i++) {
		igt_assert_neq_u32(peers[i].id, dev->node->info.id);
		igt_assert_eq_u32(peers[i].pad, 0);
		if (peers[i].id == id) {
			found = peers[i];
			times++;
		}
	}
	free(peers);
	igt_assert_eq(times, 1);
	return found;
}

static void peers(struct igt_ualink_pod *pod)
{
	const uint32_t all = DRM_UALINK_PEER_HARDWARE |
			     DRM_UALINK_PEER_PERMITTED |
			     DRM_UALINK_PEER_REACHABLE;
	struct drm_ualink_peer_info peer;
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 0);
	for (unsigned int i = 1; i < pod->count; i++) {
		peer = peer_info(pair.exporter, pod->nodes[i].info.id);
		igt_assert(peer.flags & DRM_UALINK_PEER_PERMITTED);
		igt_assert(peer.flags & DRM_UALINK_PEER_HARDWARE);
		igt_assert_eq_u64(peer.grants, i == 1);
		igt_assert_eq_u64(peer.imports, 0);
	}

	peer = peer_info(pair.importer, pod->nodes[0].info.id);
	igt_assert_eq_u32(peer.state, DRM_UALINK_PEER_UP);
	igt_assert_eq_u32(peer.flags, all);
	igt_assert_eq_u64(peer.imports, 1);
	igt_assert_eq_u64(peer.grants, 0);
	igt_assert_lt_u64(0, peer.sessions);
	igt_ualink_pair_fini(&pair);
}

static void exports_of_the_file(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[0]);
	struct drm_ualink_export_info *list;
	struct igt_ualink_pair pair;
	unsigned int count;
	uint32_t *ids;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 0);
	list = igt_ualink_query_array(pair.exporter, DRM_UALINK_QUERY_EXPORTS, 0,
				      sizeof(*list), &count);
	igt_assert_eq(count, 1);
	igt_assert(!memcmp(list->handle, pair.handle, sizeof(pair.handle)));
	igt_assert_eq_u32(list->gem_handle, pair.own->handle);
	igt_assert_eq_u32(list->flags, 0);
	igt_assert_eq_u64(list->size, SIZE);
	igt_assert_eq_u32(list->importers, 1);
	free(list);
	free(igt_ualink_query_array(second, DRM_UALINK_QUERY_EXPORTS, 0,
				    sizeof(*list), &count));
	igt_assert_eq(count, 0);
	free(igt_ualink_query_array(pair.importer, DRM_UALINK_QUERY_EXPORTS, 0,
				    sizeof(*list), &count));
	igt_assert_eq(count, 0);

	ids = igt_ualink_query_array(pair.exporter, DRM_UALINK_QUERY_IMPORTERS,
				     pair.own->handle, sizeof(*ids), &count);
	igt_assert_eq(count, 1);
	igt_assert_eq_u32(*ids, pod->nodes[1].info.id);
	free(ids);

	igt_ualink_revoke(pair.own);
	free(igt_ualink_query_array(pair.exporter, DRM_UALINK_QUERY_EXPORTS, 0,
				    sizeof(*list), &count));
	igt_assert_eq(count, 0);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
}

static int import_with(struct igt_ualink *dev, const uint8_t *handle,
		       uint64_t user_data)
{
	struct drm_gem_ualink_import arg = { .user_data = user_data };

	memcpy(arg.handle, handle, sizeof(arg.handle));
	igt_assert_eq(__igt_ualink_import(dev->fd, &arg), 0);
	return arg.fd;
}

static void imports_of_the_file(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_import_info info;
	struct igt_ualink_pair pair;
	int fd[2];

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 0);
	igt_assert(!igt_ualink_import_info(second, pair.handle, &info));
	igt_assert(!igt_ualink_import_info(pair.exporter, pair.handle, &info));

	/* the last import of a handle on a file sets what belongs to it there */
	fd[0] = import_with(pair.importer, pair.handle, 0x1122334455667788);
	fd[1] = import_with(second, pair.handle, 99);
	igt_assert(igt_ualink_import_info(pair.importer, pair.handle, &info));
	igt_assert_eq_u64(info.user_data, 0x1122334455667788);
	igt_assert_eq_u64(info.size, SIZE);
	igt_assert_eq_u32(info.exporter_id, pod->nodes[0].info.id);
	igt_assert_eq_u32(info.access,
			  DRM_UALINK_ACCESS_READ | DRM_UALINK_ACCESS_WRITE);
	igt_assert_eq_u32(info.death, DRM_UALINK_ALIVE);
	igt_assert_eq_u32(info.pad, 0);
	igt_assert(igt_ualink_import_info(second, pair.handle, &info));
	igt_assert_eq_u64(info.user_data, 99);
	close(import_with(second, pair.handle, 100));
	igt_assert(igt_ualink_import_info(second, pair.handle, &info));
	igt_assert_eq_u64(info.user_data, 100);
	igt_assert(igt_ualink_import_info(pair.importer, pair.handle, &info));
	igt_assert_eq_u64(info.user_data, 0x1122334455667788);

	close(fd[0]);
	close(fd[1]);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
}

static void dead_imports(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_import_info info;
	struct igt_ualink_pair pair[2];
	int fd;

	for (int n = 0; n < 2; n++)
		igt_ualink_pair_init(&pair[n], &pod->nodes[0], &pod->nodes[1],
				     SIZE, n);
	fd = import_with(second, pair[0].handle, 7);
	igt_ualink_revoke(pair[0].own);

	igt_assert(igt_ualink_import_info(pair[0].importer, pair[0].handle, &info));
	igt_assert_eq_u32(info.death, DRM_UALINK_DEATH_REVOKED);
	igt_assert(igt_ualink_import_info(second, pair[0].handle, &info));
	igt_assert_eq_u32(info.death, DRM_UALINK_DEATH_REVOKED);
	igt_assert_eq_u64(info.user_data, 7);
	igt_assert(!igt_ualink_import_info(pair[1].importer, pair[0].handle, &info));

	/* the other import of the same node lives */
	igt_assert(igt_ualink_import_info(pair[1].importer, pair[1].handle, &info));
	igt_assert_eq_u32(info.death, DRM_UALINK_ALIVE);
	igt_ualink_check_pattern(pair[1].far, 1);

	close(fd);
	for (int n = 0; n < 2; n++)
		igt_ualink_pair_fini(&pair[n]);
	igt_ualink_close(second);
}

/* The value of a key, in bytes if it has a unit; UINT64_MAX if there is none. */
static uint64_t fdinfo_value(int fd, const char *key)
{
	char line[256], path[64], unit[8] = "";
	uint64_t value = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	igt_assert(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) || line[strlen(key)] != ':')
			continue;
		igt_assert_lte(1, sscanf(line + strlen(key) + 1, "%" SCNu64 " %7s",
					 &value, unit));
		value <<= !strcmp(unit, "KiB") ? 10 : !strcmp(unit, "MiB") ? 20 : 0;
	}
	fclose(file);
	return value;
}

static void assert_fdinfo(struct igt_ualink *dev, uint64_t exported,
			  uint64_t imports, uint64_t deaths)
{
	igt_assert_eq_u64(fdinfo_value(dev->fd, "drm-exported-ualink"), exported);
	igt_assert_eq_u64(fdinfo_value(dev->fd, "drm-ualink-imports"), imports);
	igt_assert_eq_u64(fdinfo_value(dev->fd, "drm-ualink-deaths"), deaths);
}

static void fdinfo(struct igt_ualink_pod *pod)
{
	struct igt_ualink *idle = igt_ualink_open(&pod->nodes[0]);
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 1);
	assert_fdinfo(idle, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	assert_fdinfo(pair.exporter, SIZE, 0, 0);
	assert_fdinfo(pair.importer, 0, 1, 0);
	igt_ualink_revoke(pair.own);
	igt_ualink_wait_death(pair.importer, pair.handle, DRM_UALINK_DEATH_REVOKED);
	assert_fdinfo(pair.exporter, 0, 0, 0);
	assert_fdinfo(pair.importer, 0, 0, 1);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(idle);
}

static void changes_nothing(struct igt_ualink_pod *pod)
{
	static const size_t sizes[] = {
		[DRM_UALINK_QUERY_DEVICE] = sizeof(struct drm_ualink_device_info),
		[DRM_UALINK_QUERY_PEERS] = sizeof(struct drm_ualink_peer_info),
		[DRM_UALINK_QUERY_EXPORTS] = sizeof(struct drm_ualink_export_info),
		[DRM_UALINK_QUERY_IMPORTS] = sizeof(struct drm_ualink_import_info),
		[DRM_UALINK_QUERY_IMPORTERS] = sizeof(uint32_t),
	};
	struct igt_ualink_scene scene;
	unsigned int count;

	igt_ualink_scene_init(&scene, pod);
	for (int round = 0; round < 100; round++)
		for (uint32_t kind = 0; kind <= DRM_UALINK_QUERY_IMPORTERS; kind++) {
			uint32_t arg = kind == DRM_UALINK_QUERY_IMPORTERS ?
				       scene.pair.own->handle : 0;

			free(igt_ualink_query_array(scene.pair.exporter, kind, arg,
						    sizes[kind], &count));
		}
	igt_ualink_assert_unchanged(&scene);
	igt_ualink_scene_fini(&scene);
}

static const struct igt_ualink_test tests[] = {
	{ "bad-kind",
	  "Unknown kinds are refused.",
	  bad_kind },
	{ "bad-flags",
	  "Each flag is refused.",
	  bad_flags },
	{ "bad-pad",
	  "Padding that is not zero is refused.",
	  bad_pad },
	{ "bad-arg",
	  "An argument to a kind that has none is refused.",
	  bad_arg },
	{ "bad-stride",
	  "Strides that are zero or no multiple of four are refused.",
	  bad_stride },
	{ "bad-pointer",
	  "An array that cannot be written is refused.",
	  bad_pointer },
	{ "bad-handle",
	  "Importers of an object that does not exist are refused.",
	  bad_handle },
	{ "two-calls",
	  "The first call tells how much room is needed; less or more room is used as it is.",
	  two_calls },
	{ "device",
	  "The device describes itself and its limits.",
	  device },
	{ "device-counters",
	  "The counters of the device follow what is shared.",
	  device_counters },
	{ "peers",
	  "Every other member of the vPod is listed, with what is shared with it.",
	  peers },
	{ "exports-of-the-file",
	  "A file sees its own exports and who has imported them.",
	  exports_of_the_file },
	{ "imports-of-the-file",
	  "A file sees its own imports, with what the user said about them.",
	  imports_of_the_file },
	{ "dead-imports",
	  "Dead imports are listed with the reason, and only where they were imported.",
	  dead_imports },
	{ "fdinfo",
	  "What a file exports and imports is in its fdinfo, as drm-usage-stats.rst says.",
	  fdinfo },
	{ "changes-nothing",
	  "No query sends a message or changes a counter.",
	  changes_nothing },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
