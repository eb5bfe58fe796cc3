// SPDX-License-Identifier: MIT
/*
 * The frame of a subtest: counters that must be in balance, and processes that
 * export for it.
 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "igt.h"
#include "igt_ualink.h"

/* Longer than any time-out of the devices under test. */
#define BALANCE_TRIES	1000
#define BALANCE_PAUSE	(20 * 1000 * 1000)

static void read_counters(const struct igt_ualink_node *node,
			  struct drm_ualink_device_info *info,
			  struct igt_ualink_stats *stats)
{
	struct igt_ualink *dev = igt_ualink_open(node);

	igt_ualink_device_info(dev, info);
	igt_ualink_stats(dev, stats);
	igt_ualink_close(dev);
}

void igt_ualink_balance_start(struct igt_ualink_balance *balance,
			      const struct igt_ualink_pod *pod)
{
	struct igt_ualink_stats stats;

	balance->before = calloc(pod->count, sizeof(*balance->before));
	balance->pinned = calloc(pod->count, sizeof(*balance->pinned));
	igt_assert(balance->before && balance->pinned);

	for (unsigned int i = 0; i < pod->count; i++) {
		read_counters(&pod->nodes[i], &balance->before[i], &stats);
		balance->pinned[i] = stats.pinned;
	}
}

static bool in_balance(const struct drm_ualink_device_info *a,
		       const struct drm_ualink_device_info *b)
{
	return a->exports == b->exports && a->grants == b->grants &&
	       a->imports == b->imports && a->npa_used == b->npa_used &&
	       a->npa_quarantined == b->npa_quarantined &&
	       a->exported_bytes == b->exported_bytes;
}

static void balance_end_one(const struct drm_ualink_device_info *before,
			    uint64_t pinned, const struct igt_ualink_node *node)
{
	const struct timespec pause = { .tv_nsec = BALANCE_PAUSE };
	struct drm_ualink_device_info now;
	struct igt_ualink_stats stats;

	for (int i = 0; i < BALANCE_TRIES; i++) {
		read_counters(node, &now, &stats);
		if (in_balance(before, &now) && stats.pinned == pinned)
			break;
		nanosleep(&pause, NULL);
	}

	igt_debug("accelerator %u: %" PRIu64 " sent, %" PRIu64 " received, "
		  "%" PRIu64 " bytes pinned\n", now.id,
		  (uint64_t)(now.msgs_sent - before->msgs_sent),
		  (uint64_t)(now.msgs_received - before->msgs_received),
		  stats.pinned);
	igt_assert_eq_u64(now.exports, before->exports);
	igt_assert_eq_u64(now.grants, before->grants);
	igt_assert_eq_u64(now.imports, before->imports);
	igt_assert_eq_u64(now.exported_bytes, before->exported_bytes);
	igt_assert_eq_u64(now.npa_used, before->npa_used);
	igt_assert_eq_u64(now.npa_quarantined, before->npa_quarantined);
	igt_assert_eq_u64(now.bad_msgs, before->bad_msgs);
	igt_assert_eq_u64(stats.pinned, pinned);
	igt_assert(stats.stale == 0 || stats.stale == UINT64_MAX);
}

void igt_ualink_balance_end(struct igt_ualink_balance *balance,
			    const struct igt_ualink_pod *pod)
{
	for (unsigned int i = 0; i < pod->count; i++)
		balance_end_one(&balance->before[i], balance->pinned[i],
				&pod->nodes[i]);

	free(balance->before);
	free(balance->pinned);
}

static void run_one(const struct igt_ualink_test *test,
		    struct igt_ualink_pod *pod)
{
	struct igt_ualink_balance balance;

	igt_ualink_balance_start(&balance, pod);
	test->fn(pod);
	igt_ualink_balance_end(&balance, pod);
}

/* A test that failed may have left the fabric in disorder. */
static void make_order(const struct igt_ualink_pod *pod)
{
	struct igt_ualink *dev;

	for (unsigned int i = 0; i < pod->count; i++) {
		if (!pod->nodes[i].backend->lose)
			continue;
		dev = igt_ualink_open(&pod->nodes[i]);
		igt_assert_eq(dev->backend->lose(dev, IGT_UALINK_LOSE_NOTHING), 0);
		igt_ualink_close(dev);
	}
}

void igt_ualink_tests_run(const struct igt_ualink_test *tests, size_t count)
{
	static struct igt_ualink_pod pod;

	igt_fixture() {
		igt_ualink_pod_require(&pod, 2);
		make_order(&pod);
	}

	for (size_t i = 0; i < count; i++) {
		igt_describe(tests[i].describe);
		igt_subtest(tests[i].name)
			run_one(&tests[i], &pod);
	}

	igt_fixture()
		igt_ualink_pod_fini(&pod);
}

/* ----------------------------------------------------------- two nodes */

void igt_ualink_pair_init(struct igt_ualink_pair *pair,
			  const struct igt_ualink_node *exporter,
			  const struct igt_ualink_node *importer,
			  uint64_t size, uint32_t seed)
{
	pair->exporter = igt_ualink_open(exporter);
	pair->importer = igt_ualink_open(importer);
	pair->own = igt_ualink_bo_create(pair->exporter, size,
					 IGT_UALINK_BO_SCATTERED);
	igt_ualink_fill_pattern(pair->own, seed);
	igt_ualink_export(pair->own, pair->handle);
	pair->far = igt_ualink_import_bo(pair->importer, pair->handle);
	igt_assert_eq_u64(pair->far->size, size);
}

void igt_ualink_pair_free_own(struct igt_ualink_pair *pair)
{
	igt_ualink_bo_destroy(pair->own);
	pair->own = NULL;
}

void igt_ualink_pair_free_far(struct igt_ualink_pair *pair)
{
	igt_ualink_bo_destroy(pair->far);
	pair->far = NULL;
}

void igt_ualink_pair_fini(struct igt_ualink_pair *pair)
{
	if (pair->far)
		igt_ualink_pair_free_far(pair);
	if (pair->own)
		igt_ualink_pair_free_own(pair);
	igt_ualink_close(pair->importer);
	igt_ualink_close(pair->exporter);
}

static void wait_no_importers(struct igt_ualink_bo *bo)
{
	const struct timespec pause = { .tv_nsec = BALANCE_PAUSE };
	unsigned int count;

	for (int i = 0; i < BALANCE_TRIES; i++) {
		free(igt_ualink_query_array(bo->dev, DRM_UALINK_QUERY_IMPORTERS, bo->handle,
					    sizeof(uint32_t), &count));
		if (!count)
			break;
		nanosleep(&pause, NULL);
	}
	igt_assert_eq(count, 0);
}

/* Shares something once, and waits until the last message about it is over. */
void igt_ualink_warm_up(const struct igt_ualink_node *exporter,
			const struct igt_ualink_node *importer)
{
	struct drm_ualink_device_info info, before;
	struct igt_ualink *far = igt_ualink_open(importer);
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, exporter, importer,
			     exporter->info.granularity, 0);
	igt_ualink_device_info(far, &before);
	igt_ualink_pair_free_far(&pair);
	wait_no_importers(pair.own);
	/* the acknowledgement of the release */
	for (int i = 0; i < BALANCE_TRIES; i++) {
		igt_ualink_device_info(far, &info);
		if (info.msgs_received > before.msgs_received)
			break;
		usleep(1000);
	}
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(far);
}

/* --------------------------------------------------- calls to be refused */

void igt_ualink_scene_look(struct igt_ualink_scene *scene,
			   struct drm_ualink_device_info *info)
{
	igt_ualink_device_info(scene->pair.exporter, &info[0]);
	igt_ualink_device_info(scene->pair.importer, &info[1]);
}

void igt_ualink_scene_init(struct igt_ualink_scene *scene,
			   const struct igt_ualink_pod *pod)
{
	scene->pod = pod;
	igt_ualink_heartbeat_stop(pod);
	igt_ualink_pair_init(&scene->pair, &pod->nodes[0], &pod->nodes[1],
			     IGT_UALINK_SCENE_SIZE, 1);
	scene->plain = igt_ualink_bo_create(scene->pair.exporter,
					    IGT_UALINK_SCENE_SIZE, 0);
	igt_ualink_scene_look(scene, scene->info);
}

void igt_ualink_assert_unchanged(struct igt_ualink_scene *scene)
{
	struct drm_ualink_device_info now[2], *then = scene->info;

	igt_ualink_scene_look(scene, now);
	for (int i = 0; i < 2; i++) {
		igt_assert(in_balance(&then[i], &now[i]));
		igt_assert_eq_u64(now[i].imports_died, then[i].imports_died);
		igt_assert_eq_u64(now[i].msgs_sent, then[i].msgs_sent);
	}
	igt_ualink_check_pattern(scene->pair.far, 1);
}

void igt_ualink_scene_fini(struct igt_ualink_scene *scene)
{
	igt_ualink_bo_destroy(scene->plain);
	igt_ualink_pair_fini(&scene->pair);
	igt_ualink_heartbeat_restore(scene->pod);
}

/* ------------------------------------------------------ another process */

struct exporter {
	const struct igt_ualink_node *node;
	uint64_t size;
	uint32_t seed;
	struct igt_ualink *dev;
	struct igt_ualink_bo *bo;
};

static void exporter_handle(struct exporter *self, char request)
{
	switch (request) {
	case IGT_UALINK_DO_FREE:
		igt_ualink_bo_destroy(self->bo);
		break;
	case IGT_UALINK_DO_REVOKE:
		igt_ualink_revoke(self->bo);
		break;
	case IGT_UALINK_DO_CLOSE:
		igt_ualink_close(self->dev);
		break;
	case IGT_UALINK_DO_STAMP:
		igt_ualink_fill_pattern(self->bo, self->seed + 1);
		break;
	case IGT_UALINK_DO_CHECK:
		igt_ualink_check_pattern(self->bo, self->seed + 1);
		break;
	case IGT_UALINK_DO_EXIT:
		exit(0);
	}
}

static void exporter_main(struct exporter *self, int request, int reply)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	char c;

	self->dev = igt_ualink_open(self->node);
	self->bo = igt_ualink_bo_create(self->dev, self->size,
					IGT_UALINK_BO_SCATTERED);
	igt_ualink_fill_pattern(self->bo, self->seed);
	igt_ualink_export(self->bo, handle);
	igt_assert_eq(write(reply, handle, sizeof(handle)), sizeof(handle));

	while (read(request, &c, 1) == 1) {
		exporter_handle(self, c);
		igt_assert_eq(write(reply, &c, 1), 1);
	}
}

void igt_ualink_exporter_start(struct igt_ualink_exporter *exporter,
			       const struct igt_ualink_node *node,
			       uint64_t size, uint32_t seed)
{
	struct exporter self = { .node = node, .size = size, .seed = seed };
	int request[2], reply[2];
	pid_t pid;

	igt_assert_eq(pipe(request), 0);
	igt_assert_eq(pipe(reply), 0);

	igt_fork(child, 1) {
		close(request[1]);
		close(reply[0]);
		pid = getpid();
		igt_assert_eq(write(reply[1], &pid, sizeof(pid)), sizeof(pid));
		exporter_main(&self, request[0], reply[1]);
	}

	close(request[0]);
	close(reply[1]);
	exporter->request = request[1];
	exporter->reply = reply[0];
	igt_assert_eq(read(reply[0], &exporter->pid, sizeof(pid)), sizeof(pid));
	igt_assert_eq(read(reply[0], exporter->handle, sizeof(exporter->handle)),
		      sizeof(exporter->handle));
}

void igt_ualink_exporter_do(struct igt_ualink_exporter *exporter,
			    enum igt_ualink_request request)
{
	char c = request;

	igt_assert_eq(write(exporter->request, &c, 1), 1);
	igt_assert_eq(read(exporter->reply, &c, 1), 1);
	igt_assert_eq(c, request);
}

static void exporter_close(struct igt_ualink_exporter *exporter)
{
	close(exporter->request);
	close(exporter->reply);
}

void igt_ualink_exporter_kill(struct igt_ualink_exporter *exporter)
{
	igt_assert_eq(kill(exporter->pid, SIGKILL), 0);
	igt_assert_neq(__igt_waitchildren(), 0);
	exporter_close(exporter);
}

void igt_ualink_exporter_stop(struct igt_ualink_exporter *exporter)
{
	char c = IGT_UALINK_DO_EXIT;

	igt_assert_eq(write(exporter->request, &c, 1), 1);
	igt_waitchildren();
	exporter_close(exporter);
}
