// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Everything at the same time, on a fabric that loses, doubles and reorders messages,
 * with accelerators that restart. Whatever the outcome of an operation, no access
 * may reach memory of another life, and nothing may be left in the end.
 */

#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>

#include "ualink_mock.h"

#define NODES		3
#define SLOTS		4
#define DURATION_MS	2000

struct weather {
	const char *name;
	/* Percent of the messages */
	unsigned int lossy, doubling, reordering;
	bool restarts;
	bool links;
	bool troubles;
};

static const struct weather weathers[] = {
	{ "fair" },
	{ "lossy", .lossy = 5, .doubling = 5, .reordering = 10 },
	{ "restarts", .restarts = true },
	{ "links", .lossy = 2, .links = true },
	{ "troubles", .troubles = true },
	{ "storm", 5, 5, 10, true, true, true },
};

KUNIT_ARRAY_PARAM_DESC(weather, weathers, name);

struct sea {
	struct ualink_mock_pod *pod;
	struct ualink_mock_mem *slots[NODES][SLOTS];
	atomic_t exports, imports;
};

/* A thread of one accelerator. */
struct sailor {
	struct sea *sea;
	struct ualink_mock *node;
	struct task_struct *task;
};

static bool one_in(u32 n)
{
	return !get_random_u32_below(n);
}

static void pause(u32 us)
{
	usleep_range(us / 2, us);
}

static void export_one(struct sailor *self, struct ualink_mock_mem **slot)
{
	struct ualink_mock_mem *mem;
	u64 size = UALINK_MOCK_PAGE << get_random_u32_below(3);

	mem = ualink_mock_export_with(self->node, size, one_in(4), NULL);
	if (IS_ERR(mem))
		return;
	atomic_inc(&self->sea->exports);
	/* Pairs with smp_load_acquire() in import_one(). */
	smp_store_release(slot, mem);
	pause(20000);
	ualink_export_end(mem->exp);
	if (one_in(2))
		ualink_export_wait(mem->exp);
}

static int export_thread(void *data)
{
	struct sailor *self = data;

	while (!kthread_should_stop()) {
		export_one(self, &self->sea->slots[self->node->index][get_random_u32_below(SLOTS)]);
		pause(1000);
	}
	return 0;
}

static void import_one(struct sailor *self)
{
	struct ualink_mock_mem **slots = self->sea->slots[get_random_u32_below(NODES)];
	u32 access = one_in(2) ? UALINK_ACCESS_READ : UALINK_MOCK_RW;
	int i, n = get_random_u32_below(8);
	struct ualink_mock_import *obj;
	struct ualink_mock_mem *mem;

	/* Pairs with smp_store_release() in export_one(). */
	mem = smp_load_acquire(&slots[get_random_u32_below(SLOTS)]);
	if (!mem)
		return;
	obj = ualink_mock_import_with(self->node, mem, access, 1 + get_random_u32_below(100));
	if (IS_ERR(obj))
		return;
	atomic_inc(&self->sea->imports);
	WRITE_ONCE(obj->busy, one_in(4));
	for (i = 0; i < n; i++) {
		ualink_mock_access(obj, access & UALINK_ACCESS_WRITE);
		pause(500);
	}
	WRITE_ONCE(obj->busy, false);
	ualink_mock_close(obj);
}

static int import_thread(void *data)
{
	struct sailor *self = data;

	while (!kthread_should_stop()) {
		import_one(self);
		pause(200);
	}
	return 0;
}

static void restart(struct ualink_mock *node)
{
	ualink_mock_fail(node, UALINK_MOCK_FLUSH, 0, 0);
	if (one_in(2)) {
		ualink_mock_restart(node);
		return;
	}
	/* With a goodbye. */
	ualink_device_deactivate(node->udev);
	ualink_mock_reset(node);
	KUNIT_EXPECT_EQ(node->pod->test, ualink_device_activate(node->udev), 0);
}

static void do_damage(struct sea *sea, const struct weather *weather)
{
	struct ualink_mock *node = &sea->pod->nodes[get_random_u32_below(NODES)];
	struct ualink_mock *other = &sea->pod->nodes[get_random_u32_below(NODES)];

	if (weather->restarts && one_in(4))
		restart(node);
	if (weather->links && node != other && one_in(4))
		ualink_notify_link_down(node->udev, other->id);
	if (weather->links && one_in(8)) {
		ualink_mock_set_deaf(node, true);
		pause(100000);
		ualink_mock_set_deaf(node, false);
	}
	if (weather->troubles) {
		ualink_mock_fail(node, UALINK_MOCK_INVALIDATE, -ENOMEM, get_random_u32_below(4));
		ualink_mock_fail(other, UALINK_MOCK_IMPORT_FLUSH, -EIO, get_random_u32_below(4));
		if (one_in(4))
			ualink_mock_fail(node, UALINK_MOCK_MAP, -ENOMEM, 1);
	}
	/* Only a restart ends that. */
	if (weather->troubles && weather->restarts && one_in(8))
		ualink_mock_fail(node, UALINK_MOCK_FLUSH, -EIO, 1);
}

static void sail(struct sea *sea, const struct weather *weather)
{
	unsigned long end = jiffies + msecs_to_jiffies(DURATION_MS);

	sea->pod->lossy = weather->lossy;
	sea->pod->doubling = weather->doubling;
	sea->pod->reordering = weather->reordering;
	while (time_before(jiffies, end)) {
		do_damage(sea, weather);
		pause(40000);
	}
	sea->pod->lossy = 0;
	sea->pod->doubling = 0;
	sea->pod->reordering = 0;
}

static bool node_is_empty(struct ualink_mock *node)
{
	struct ualink_device *udev = node->udev;

	guard(spinlock)(&udev->lock);
	return !udev->nr_exports && !udev->nr_quarantined && !udev->nr_grants &&
	       !udev->nr_import_records && !udev->npa.used;
}

/* Without a deactivation: what was lost must have been repeated, or found out. */
static void expect_all_settled(struct sea *sea)
{
	struct kunit *test = sea->pod->test;
	int i, j;

	for (i = 0; i < NODES; i++) {
		struct ualink_mock *node = &sea->pod->nodes[i];

		for (j = 0; j < UALINK_MOCK_OPS; j++)
			ualink_mock_fail(node, j, 0, 0);
		if (node->udev->wedged)
			restart(node);
	}
	for (i = 0; i < NODES; i++) {
		UALINK_MOCK_EXPECT(test, node_is_empty(&sea->pod->nodes[i]));
		ualink_mock_expect_clean(&sea->pod->nodes[i]);
	}
}

static void start(struct sailor *sailor, struct sea *sea, int index, int (*job)(void *))
{
	struct kunit *test = sea->pod->test;

	sailor->sea = sea;
	sailor->node = &sea->pod->nodes[index];
	sailor->task = kthread_run(job, sailor, "ualink-stress");
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, sailor->task);
}

static void stress(struct kunit *test)
{
	const struct weather *weather = test->param_value;
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, NODES);
	struct sailor sailors[3 * NODES];
	struct sea *sea;
	int i;

	sea = kunit_kzalloc(test, sizeof(*sea), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sea);
	sea->pod = pod;
	pod->ring_size = 8;
	ualink_mock_tune(pod, UALINK_HEARTBEAT_MS, 20);
	ualink_mock_tune(pod, UALINK_REQUEST_MS, 300);
	ualink_mock_tune(pod, UALINK_REVOKE_GRACE_MS, 20);
	ualink_mock_tune(pod, UALINK_REVOKE_DEADLINE_MS, 60);
	ualink_mock_tune(pod, UALINK_PEER_TIMEOUT_MS, 400);
	ualink_mock_tune(pod, UALINK_CACHE_MS, 20);
	ualink_mock_tune(pod, UALINK_CACHE_BYTES, 4 * UALINK_MOCK_PAGE);

	for (i = 0; i < NODES; i++) {
		start(&sailors[3 * i], sea, i, export_thread);
		start(&sailors[3 * i + 1], sea, i, import_thread);
		start(&sailors[3 * i + 2], sea, i, import_thread);
	}
	sail(sea, weather);
	for (i = 0; i < ARRAY_SIZE(sailors); i++)
		if (!IS_ERR(sailors[i].task))
			kthread_stop(sailors[i].task);
	expect_all_settled(sea);
	KUNIT_EXPECT_GT(test, atomic_read(&sea->exports), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&sea->imports), 0);
	kunit_info(test, "%s: %d exports, %d imports\n", weather->name,
		   atomic_read(&sea->exports), atomic_read(&sea->imports));
}

static struct kunit_case ualink_stress_cases[] = {
	KUNIT_CASE_PARAM_ATTR(stress, weather_gen_params, { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite ualink_stress_suite = {
	.name = "ualink_stress",
	.exit = ualink_mock_exit,
	.test_cases = ualink_stress_cases,
};

kunit_test_suite(ualink_stress_suite);
