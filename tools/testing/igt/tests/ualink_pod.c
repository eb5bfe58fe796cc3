// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: how the pod works
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: What holds between the accelerators of a pod.
 * Test category: functionality test
 *
 * SUBTEST: m3-segment-of-each
 * Description: Two accelerators export at once; each serves its own memory from its own segment.
 *
 * SUBTEST: m4-page-tables-of-its-own
 * Description: Exports of many sizes are mapped and unmapped one by one.
 *
 * SUBTEST: m10-no-npa-in-user-space
 * Description: No answer of the kernel contains an address of the segment.
 *
 * SUBTEST: m11-reset-cleans-up
 * Description: Peers of a node that resets drop its memory, and only that, and share again.
 *
 * SUBTEST: m12-scattered-pages-one-range
 * Description: Pages that lie apart appear in the right order as one range.
 *
 * SUBTEST: m13-pool-of-its-own
 * Description: An import uses no local memory and is never moved.
 *
 * SUBTEST: m16-kernel-to-kernel
 * Description: An import takes one message each way, and none of the exporter's processes.
 */
#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("What holds between the accelerators of a pod.");

#define KIB(n)	((uint64_t)(n) << 10)
#define MIB(n)	((uint64_t)(n) << 20)

static void segment_of_each(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair[2];
	struct drm_ualink_device_info before[2], now[2];
	struct igt_ualink *dev[2];
	struct igt_ualink_bo *loop;

	for (int i = 0; i < 2; i++) {
		dev[i] = igt_ualink_open(&pod->nodes[i]);
		igt_ualink_device_info(dev[i], &before[i]);
	}
	igt_assert_neq_u32(before[0].id, before[1].id);

	for (int i = 0; i < 2; i++) {
		igt_ualink_pair_init(&pair[i], &pod->nodes[i], &pod->nodes[!i],
				     MIB(2), 20 + i);
		for (int k = 0; k < 2; k++) {
			igt_ualink_device_info(dev[k], &now[k]);
			igt_assert_eq_u64(now[k].npa_used, before[k].npa_used +
					  (k <= i ? MIB(2) : 0));
		}
	}

	for (int i = 0; i < 2; i++) {
		igt_ualink_check_pattern(pair[i].far, 20 + i);
		/* one's own export takes the same path */
		loop = igt_ualink_import_bo(pair[i].exporter, pair[i].handle);
		igt_ualink_check_pattern(loop, 20 + i);
		igt_ualink_fill_pattern(loop, 30 + i);
		igt_ualink_check_pattern(pair[i].far, 30 + i);
		igt_ualink_bo_destroy(loop);
	}

	for (int i = 0; i < 2; i++) {
		igt_ualink_pair_fini(&pair[i]);
		igt_ualink_close(dev[i]);
	}
}

static void page_tables_of_its_own(struct igt_ualink_pod *pod)
{
	static const uint64_t sizes[] = {
		KIB(4), KIB(64), MIB(2), MIB(2) + KIB(4), KIB(12), MIB(4) - KIB(4),
	};
	struct igt_ualink_pair pair[ARRAY_SIZE(sizes)];
	const int n = ARRAY_SIZE(sizes);
	struct igt_ualink_bo *own;

	for (int i = 0; i < n; i++) {
		igt_ualink_pair_init(&pair[i], &pod->nodes[0], &pod->nodes[1],
				     sizes[i], i);
		/* the address spaces of the exporter's processes have no part in it */
		own = pair[i].own;
		igt_assert_eq(own->dev->backend->unbind(own->dev, own->va,
							own->size), 0);
	}

	for (int gone = 0; gone < n; gone++) {
		for (int i = gone; i < n; i++)
			igt_ualink_check_pattern(pair[i].far, i);
		igt_ualink_revoke(pair[gone].own);
		igt_ualink_assert_no_access(pair[gone].importer,
					    pair[gone].far->va);
		igt_ualink_assert_no_access(pair[gone].importer,
					    pair[gone].far->va + sizes[gone] - 8);
	}

	for (int i = 0; i < n; i++)
		igt_ualink_pair_fini(&pair[i]);
}

/* Whether @word could be an address in the segment of the exporter. */
static bool is_npa(uint64_t word, const struct drm_ualink_device_info *exporter)
{
	return word / exporter->segment_size == exporter->id;
}

static void assert_no_npa(const void *data, size_t len,
			  const struct drm_ualink_device_info *exporter)
{
	const char *bytes = data;
	uint64_t word;

	for (size_t i = 0; i + sizeof(word) <= len; i += 4) {
		memcpy(&word, bytes + i, sizeof(word));
		igt_assert_f(!is_npa(word, exporter),
			     "an address of the segment at byte %zu\n", i);
	}
}

/* The same for the numbers in a text file. */
static void assert_no_npa_in_text(const char *path,
				  const struct drm_ualink_device_info *exporter)
{
	FILE *file = fopen(path, "r");
	char line[1024], *at, *end;

	igt_assert(file);
	while (fgets(line, sizeof(line), file)) {
		for (at = line; *at; at = *end ? end + 1 : end) {
			igt_assert_f(!is_npa(strtoull(at, &end, 16), exporter) &&
				     !is_npa(strtoull(at, NULL, 0), exporter),
				     "an address of the segment in %s\n", path);
			while (isxdigit(*end))
				end++;
		}
	}
	fclose(file);
}

static void no_npa_in_user_space(struct igt_ualink_pod *pod)
{
	/* not from id 0, where each small number could be an address */
	unsigned int from = !pod->nodes[0].info.id;
	const struct drm_ualink_device_info *info = &pod->nodes[from].info;
	struct drm_gem_ualink_import import = { .fd = -1 };
	struct drm_ualink_export_info *exports;
	struct drm_ualink_import_info *imports;
	struct igt_ualink_pair pair;
	unsigned int count;
	char path[64];

	igt_ualink_pair_init(&pair, &pod->nodes[from], &pod->nodes[!from],
			     KIB(64), 15);
	memcpy(import.handle, pair.handle, sizeof(import.handle));
	igt_assert_eq(__igt_ualink_import(pair.importer->fd, &import), 0);
	assert_no_npa(&import.flags, sizeof(import) - sizeof(import.handle), info);

	exports = igt_ualink_query_array(pair.exporter, DRM_UALINK_QUERY_EXPORTS,
					 0, sizeof(*exports), &count);
	igt_assert_eq(count, 1);
	assert_no_npa(&exports->gem_handle,
		      sizeof(*exports) - sizeof(exports->handle), info);
	free(exports);
	imports = igt_ualink_query_array(pair.importer, DRM_UALINK_QUERY_IMPORTS,
					 0, sizeof(*imports), &count);
	igt_assert_eq(count, 1);
	assert_no_npa(&imports->user_data,
		      sizeof(*imports) - sizeof(imports->handle), info);
	free(imports);

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", import.fd);
	assert_no_npa_in_text(path, info);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pair.importer->fd);
	assert_no_npa_in_text(path, info);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pair.exporter->fd);
	assert_no_npa_in_text(path, info);

	close(import.fd);
	igt_ualink_pair_fini(&pair);
}

static void reset_cleans_up(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair, other;
	struct drm_ualink_event event;

	igt_require(pod->nodes[0].backend->reset);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], KIB(64), 16);
	/* what does not come from the node that resets stays */
	igt_ualink_pair_init(&other, &pod->nodes[1], &pod->nodes[pod->count - 1],
			     KIB(64), 17);

	igt_assert_eq(pair.exporter->backend->reset(pair.exporter), 0);
	igt_assert_eq(__igt_ualink_read_event(pair.importer->fd, &event, 20000), 0);
	igt_assert_eq_u64(event.deaths, 1);
	igt_ualink_assert_no_access(pair.importer, pair.far->va);
	igt_ualink_check_pattern(other.far, 17);
	igt_ualink_pair_fini(&other);
	igt_ualink_pair_fini(&pair);

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], KIB(64), 18);
	igt_ualink_check_pattern(pair.far, 18);
	igt_ualink_pair_fini(&pair);
}

static void scattered_pages_one_range(struct igt_ualink_pod *pod)
{
	static const uint64_t sizes[] = { KIB(8), KIB(12), MIB(2), MIB(3) + KIB(4) };
	struct igt_ualink_bo *plain;
	struct igt_ualink_pair pair;
	struct igt_ualink *a;

	igt_require(pod->nodes[0].backend->entries);
	for (int i = 0; i < 4; i++) {
		igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1],
				     sizes[i], 19 + i);
		a = pair.exporter;
		if (sizes[i] >= MIB(2)) {
			/* that they lie apart is what makes it a test */
			plain = igt_ualink_bo_create(a, MIB(2), 0);
			igt_assert_lt(10 * a->backend->entries(a, plain->handle,
							       MIB(2)),
				      a->backend->entries(a, pair.own->handle,
							  MIB(2)));
			igt_ualink_bo_destroy(plain);
		}
		igt_ualink_check_pattern(pair.far, 19 + i);
		igt_ualink_pair_fini(&pair);
	}
}

static void pool_of_its_own(struct igt_ualink_pod *pod)
{
	struct igt_ualink *b = igt_ualink_open(&pod->nodes[1]);
	struct igt_ualink_stats before, after;
	struct igt_ualink_pair pair;

	igt_ualink_stats(b, &before);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], MIB(4), 23);
	igt_ualink_stats(b, &after);
	/* page tables, at most */
	igt_assert_lt_u64(after.vram_used, before.vram_used + MIB(1));
	igt_assert_eq_u64(after.pinned, before.pinned);

	if (b->backend->evict_all)
		igt_assert_eq(b->backend->evict_all(b), 0);
	igt_ualink_check_pattern(pair.far, 23);
	igt_ualink_store(pair.importer, pair.far->va, 1);
	igt_assert_eq_u64(igt_ualink_load(pair.exporter, pair.own->va), 1);

	igt_ualink_pair_fini(&pair);
	igt_ualink_close(b);
}

static void kernel_to_kernel(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before[2], after[2];
	struct igt_ualink_exporter exporter;
	struct igt_ualink_bo *far;
	struct igt_ualink *dev[2];

	igt_ualink_heartbeat_stop(pod);
	igt_ualink_warm_up(&pod->nodes[0], &pod->nodes[1]);
	igt_ualink_exporter_start(&exporter, &pod->nodes[0], KIB(64), 26);
	igt_assert_eq(kill(exporter.pid, SIGSTOP), 0);

	for (int i = 0; i < 2; i++) {
		dev[i] = igt_ualink_open(&pod->nodes[i]);
		igt_ualink_device_info(dev[i], &before[i]);
	}
	far = igt_ualink_import_bo(dev[1], exporter.handle);
	igt_ualink_check_pattern(far, 26);
	for (int i = 0; i < 2; i++) {
		igt_ualink_device_info(dev[i], &after[i]);
		igt_assert_eq_u64(after[i].msgs_sent, before[i].msgs_sent + 1);
		igt_assert_eq_u64(after[i].msgs_received,
				  before[i].msgs_received + 1);
	}

	igt_ualink_bo_destroy(far);
	for (int i = 0; i < 2; i++)
		igt_ualink_close(dev[i]);
	igt_assert_eq(kill(exporter.pid, SIGCONT), 0);
	igt_ualink_exporter_stop(&exporter);
	igt_ualink_heartbeat_restore(pod);
}

static const struct igt_ualink_test tests[] = {
	{ "m3-segment-of-each",
	  "Each accelerator serves its own memory from its own segment.",
	  segment_of_each },
	{ "m4-page-tables-of-its-own",
	  "Exports of many sizes are mapped and unmapped one by one.",
	  page_tables_of_its_own },
	{ "m10-no-npa-in-user-space",
	  "What the kernel answers contains no address of the segment.",
	  no_npa_in_user_space },
	{ "m11-reset-cleans-up",
	  "Peers of a node that resets drop its memory and share again afterwards.",
	  reset_cleans_up },
	{ "m12-scattered-pages-one-range",
	  "Pages that lie apart appear as one range in the right order.",
	  scattered_pages_one_range },
	{ "m13-pool-of-its-own",
	  "An import uses no local memory and is never moved.",
	  pool_of_its_own },
	{ "m16-kernel-to-kernel",
	  "An import takes a message each way and no process of the exporter.",
	  kernel_to_kernel },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
