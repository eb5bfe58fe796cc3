// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Imports: what they cost, who shares them, and what becomes of one that is given up.
 */

#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/signal.h>

#include "ualink_mock.h"

struct pair {
	struct ualink_mock_pod *pod;
	/* The importer and the exporter, in a session */
	struct ualink_mock *a, *b;
	struct ualink_mock_mem *mem;
};

static struct pair make_pair(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct pair p = { .pod = pod, .a = &pod->nodes[0], .b = &pod->nodes[1] };

	p.mem = ualink_mock_export(p.b);
	ualink_mock_connect(p.a, p.b);
	ualink_mock_log_clear(pod);
	return p;
}

/* Nothing is between the two any more, on either side. */
static void expect_nothing_left(struct pair *p)
{
	struct kunit *test = p->pod->test;

	UALINK_MOCK_EXPECT(test, !p->a->udev->nr_import_records);
	UALINK_MOCK_EXPECT(test, !p->b->udev->nr_grants);
	KUNIT_EXPECT_EQ(test, p->a->udev->nr_imports, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p->a, p->b)->nr_sent, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p->a, p->b)->nr_imports, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p->b, p->a)->nr_grants, 0);
}

static void import_costs_two(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_import *obj = ualink_mock_get(p.a, p.mem);
	struct ualink_handle handle;
	int i;

	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_IMPORT_REQ), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_IMPORT_RSP), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 2);
	KUNIT_EXPECT_EQ(test, ualink_import_size(obj->imp), UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, ualink_import_exporter(obj->imp), p.b->id);
	KUNIT_EXPECT_EQ(test, ualink_import_death(obj->imp), UALINK_ALIVE);
	KUNIT_EXPECT_EQ(test, ualink_import_npa(obj->imp),
			((u64)p.b->id << UALINK_MOCK_SEGMENT) | p.mem->offset);
	ualink_import_handle(obj->imp, &handle);
	KUNIT_EXPECT_MEMEQ(test, &handle, &p.mem->handle, sizeof(handle));

	/* Every other import of it is a reference, and costs nothing. */
	ualink_mock_log_clear(p.pod);
	for (i = 0; i < 10000; i++)
		KUNIT_ASSERT_PTR_EQ(test, ualink_mock_import(p.a, p.mem), obj);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_IMPORTS), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_IMPORTS_REUSED), 10000);
	for (i = 0; i < 10000; i++)
		ualink_mock_close(obj);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);

	/* Only the last close gives it back, once. */
	ualink_mock_close(obj);
	expect_nothing_left(&p);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_RELEASE), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_RELEASE_ACK), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 2);
}

static void import_is_kept(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_mem *mems[4];
	struct ualink_mock_import *obj;
	int i;

	ualink_mock_tune(p.pod, UALINK_CACHE_MS, 60000);
	ualink_mock_close(ualink_mock_get(p.a, p.mem));
	KUNIT_EXPECT_EQ(test, p.a->udev->idle_bytes, UALINK_MOCK_PAGE);
	ualink_mock_log_clear(p.pod);
	for (i = 0; i < 3; i++)
		ualink_mock_close(ualink_mock_get(p.a, p.mem));
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	KUNIT_EXPECT_NULL(test, ualink_import_find(p.a->udev, &p.mem->handle));

	/* The oldest goes when there are too many bytes. */
	ualink_mock_tune(p.pod, UALINK_CACHE_BYTES, 3 * UALINK_MOCK_PAGE);
	for (i = 0; i < ARRAY_SIZE(mems); i++) {
		mems[i] = ualink_mock_export(p.b);
		ualink_mock_close(ualink_mock_get(p.a, mems[i]));
	}
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_idle, 3);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 3);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(p.mem->exp, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(mems[0]->exp, NULL, 0), 0);

	/* One that is too large on its own is not kept, and drives out nobody. */
	obj = ualink_mock_get(p.a, ualink_mock_export_with(p.b, SZ_64K, false, NULL));
	ualink_mock_close(obj);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 3);

	/* Fewer bytes, and less time, are so at once. */
	ualink_mock_tune(p.pod, UALINK_CACHE_BYTES, 2 * UALINK_MOCK_PAGE);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 2);
	ualink_mock_get(p.a, mems[3]);
	ualink_mock_tune(p.pod, UALINK_CACHE_MS, 1);
	UALINK_MOCK_EXPECT(test, p.b->udev->nr_grants == 1);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(mems[3]->exp, NULL, 0), 1);
}

static void import_is_kept_for_a_while(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_tune(p.pod, UALINK_CACHE_MS, 100);
	ualink_mock_close(ualink_mock_get(p.a, p.mem));
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_idle, 1);
	expect_nothing_left(&p);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_RELEASE), 1);
}

static void import_is_kept_until_pressure(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct shrinker *shrinker = p.a->udev->shrinker;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 2 };
	int i;

	ualink_mock_tune(p.pod, UALINK_CACHE_MS, 60000);
	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), SHRINK_EMPTY);
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), SHRINK_STOP);
	for (i = 0; i < 3; i++)
		ualink_mock_close(ualink_mock_get(p.a, ualink_mock_export(p.b)));
	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), 3);
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), 2);
	KUNIT_EXPECT_EQ(test, shrinker->count_objects(shrinker, &sc), 1);
	UALINK_MOCK_EXPECT(test, p.b->udev->nr_grants == 1);
	KUNIT_EXPECT_EQ(test, shrinker->scan_objects(shrinker, &sc), 1);
	expect_nothing_left(&p);
}

/* What is kept is given up without anybody being asked. */
static void import_that_is_kept_is_revoked(struct kunit *test)
{
	struct pair p = make_pair(test);

	ualink_mock_tune(p.pod, UALINK_CACHE_MS, 60000);
	ualink_mock_close(ualink_mock_get(p.a, p.mem));
	ualink_mock_log_clear(p.pod);
	ualink_export_end(p.mem->exp);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	expect_nothing_left(&p);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_idle, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 2);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(p.a, UALINK_MOCK_INVALIDATE), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(p.a, UALINK_MOCK_DEAD), 0);
}

static void import_respects_access(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_mem *fixed;
	struct ualink_mock_import *obj;

	fixed = ualink_mock_export_with(p.b, UALINK_MOCK_PAGE, true, NULL);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EACCES),
			    ualink_mock_import_with(p.a, fixed, UALINK_MOCK_RW, 0));
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 0);
	obj = ualink_mock_get(p.a, fixed);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), -EPERM);

	/* Now it is known here. */
	ualink_mock_log_clear(p.pod);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EACCES),
			    ualink_mock_import_with(p.a, fixed, UALINK_MOCK_RW, 0));
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);
	KUNIT_EXPECT_EQ(test, ualink_import_access(obj->imp), UALINK_ACCESS_READ);

	obj = ualink_mock_get(p.a, p.mem);
	KUNIT_EXPECT_EQ(test, ualink_import_access(obj->imp), UALINK_ACCESS_READ);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_with(p.a, p.mem, UALINK_MOCK_RW, 0), obj);
	KUNIT_EXPECT_EQ(test, ualink_import_access(obj->imp), UALINK_MOCK_RW);
}

/* Many at once ask once; each of them gets what it asked for. */
static void import_is_shared_while_pending(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_async *asyncs[8];
	struct ualink_mock_import *obj;
	int i;

	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_IMPORT_RSP, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		asyncs[i] = ualink_mock_import_begin(p.a, p.mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_held(p.pod));
	UALINK_MOCK_EXPECT(test, p.a->udev->nr_import_records == 1);
	ualink_mock_rules_clear(p.pod);
	ualink_mock_release_held(p.pod, false);
	obj = ualink_mock_import_end(asyncs[0]);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	for (i = 1; i < ARRAY_SIZE(asyncs); i++)
		KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(asyncs[i]), obj);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_IMPORT_REQ), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_IMPORT_RSP), 1);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		ualink_mock_close(obj);
	expect_nothing_left(&p);
}

/* Refused because of what another wanted, who asked first: ask again for oneself. */
static void import_does_not_share_refusal(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_async *greedy, *modest;
	struct ualink_mock_mem *fixed;

	fixed = ualink_mock_export_with(p.b, UALINK_MOCK_PAGE, true, NULL);
	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_IMPORT_RSP, p.b->id, p.a->id, 1);
	greedy = ualink_mock_import_begin_with(p.a, fixed, UALINK_MOCK_RW, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_held(p.pod));
	modest = ualink_mock_import_begin(p.a, fixed, 0);
	ualink_mock_release_held(p.pod, false);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(greedy), ERR_PTR(-EACCES));
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(modest));
}

/* More than the window: all are answered, and never more than that are under way. */
static void import_many_at_once(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_async *asyncs[UALINK_WINDOW + 36];
	struct ualink_peer *peer = ualink_mock_peer(p.a, p.b);
	int i;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++)
		asyncs[i] = ualink_mock_import_begin(p.a, ualink_mock_export(p.b), 0);
	UALINK_MOCK_EXPECT(test, p.a->udev->nr_import_records == ARRAY_SIZE(asyncs));
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, peer->nr_sent, UALINK_WINDOW);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, UALINK_WINDOW);

	ualink_mock_rules_clear(p.pod);
	for (i = 0; i < ARRAY_SIZE(asyncs); i++) {
		struct ualink_mock_import *obj = ualink_mock_import_end(asyncs[i]);

		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
		KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
		ualink_mock_close(obj);
	}
	expect_nothing_left(&p);
}

/* Which message of an import is late, when the importer waits no longer. */
static const u8 late_types[] = { UALINK_MSG_IMPORT_REQ, UALINK_MSG_IMPORT_RSP };

static void late_name(const u8 *type, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s",
		 *type == UALINK_MSG_IMPORT_REQ ? "request" : "answer");
}

KUNIT_ARRAY_PARAM(late, late_types, late_name);

static void import_is_abandoned(struct kunit *test)
{
	const u8 *type = test->param_value;
	struct pair p = make_pair(test);
	struct ualink_packet req, release;
	struct ualink_mock_import *obj;

	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, *type, UALINK_MOCK_ANY, UALINK_MOCK_ANY,
			 UALINK_MOCK_ANY);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-ETIMEDOUT),
			    ualink_mock_import_with(p.a, p.mem, UALINK_ACCESS_READ, 50));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_IMPORTS_ABANDONED), 1);
	/* The RELEASE names the request that is given up. */
	expect_nothing_left(&p);
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_IMPORT_REQ, &req));
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_RELEASE, &release));
	KUNIT_EXPECT_EQ(test, release.grant.grant, req.request);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, UALINK_MSG_RELEASE), 1);

	/* A late request makes a grant that nobody knows; it is given back at once. */
	ualink_mock_rules_clear(p.pod);
	ualink_mock_release_held(p.pod, false);
	ualink_mock_settle(p.pod);
	expect_nothing_left(&p);

	obj = ualink_mock_get(p.a, p.mem);
	ualink_mock_close(obj);
	expect_nothing_left(&p);
	KUNIT_EXPECT_EQ(test, ualink_mock_peer(p.a, p.b)->sessions, 1);
}

/* The retry comes while the request that was given up is still being given up. */
static void import_is_tried_again(struct kunit *test)
{
	const u8 *type = test->param_value;
	struct pair p = make_pair(test);
	struct ualink_mock_import *obj;

	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, UALINK_MSG_RELEASE, p.a->id, p.b->id,
			 UALINK_MOCK_ANY);
	ualink_mock_rule(p.pod, UALINK_MOCK_HOLD, *type, UALINK_MOCK_ANY, UALINK_MOCK_ANY, 1);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-ETIMEDOUT),
			    ualink_mock_import_with(p.a, p.mem, UALINK_ACCESS_READ, 50));
	obj = ualink_mock_get(p.a, p.mem);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_import_records, 2);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);

	ualink_mock_rules_clear(p.pod);
	ualink_mock_release_held(p.pod, true);
	UALINK_MOCK_EXPECT(test, p.a->udev->nr_import_records == 1);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, p.b->udev->nr_grants, 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);
	/* That grant is one that a REVOKE still finds. */
	ualink_export_end(p.mem->exp);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(p.mem->exp), 0);
	UALINK_MOCK_EXPECT(test, obj->deaths == 1);
	expect_nothing_left(&p);
}

static int interrupted_thread(void *data)
{
	struct ualink_mock_async *async = data;

	allow_signal(SIGUSR1);
	async->obj = ualink_mock_import(async->node, async->mem);
	while (!kthread_should_stop())
		usleep_range(500, 1000);
	return 0;
}

static void import_is_interrupted(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_async async = { .node = p.a, .mem = p.mem };
	struct task_struct *task;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	task = kthread_run(interrupted_thread, &async, "ualink-mock");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	UALINK_MOCK_EXPECT(test, p.b->udev->nr_grants == 1);
	send_sig(SIGUSR1, task, 1);
	UALINK_MOCK_EXPECT(test, READ_ONCE(async.obj));
	kthread_stop(task);
	KUNIT_EXPECT_PTR_EQ(test, async.obj, ERR_PTR(-ERESTARTSYS));
	expect_nothing_left(&p);
	ualink_mock_rules_clear(p.pod);
	ualink_mock_get(p.a, p.mem);
}

/* Memory of one's own goes the same way, but over no wire. */
static void import_of_own(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_mem *mem = ualink_mock_export(p.a), *fixed, guess;
	struct ualink_mock_import *obj, *copy;

	fixed = ualink_mock_export_with(p.a, UALINK_MOCK_PAGE, true, NULL);
	guess = *mem;
	guess.handle.secret++;
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, &guess), ERR_PTR(-ENOENT));
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EACCES),
			    ualink_mock_import_with(p.a, fixed, UALINK_MOCK_RW, 0));
	copy = ualink_mock_get(p.a, fixed);
	obj = ualink_mock_get(p.a, mem);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, mem), obj);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_grants, 2);

	ualink_mock_close(copy);
	UALINK_MOCK_EXPECT(test, p.a->udev->nr_grants == 1);
	ualink_export_end(mem->exp);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(mem->exp), 0);
	UALINK_MOCK_EXPECT(test, obj->deaths == 1);
	KUNIT_EXPECT_EQ(test, obj->why, UALINK_DEATH_REVOKED);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, false), -EFAULT);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_grants, 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);

	obj = ualink_mock_get(p.a, fixed);
	ualink_device_deactivate(p.a->udev);
	UALINK_MOCK_EXPECT(test, obj->deaths == 1);
	KUNIT_EXPECT_EQ(test, obj->why, UALINK_DEATH_LOCAL_RESET);
	ualink_mock_expect_clean(p.a);
	KUNIT_EXPECT_EQ(test, ualink_device_activate(p.a->udev), 0);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, fixed), ERR_PTR(-ENOENT));
	ualink_mock_get(p.a, ualink_mock_export(p.a));
}

/* Windows that no export can have. */
static const struct {
	const char *name;
	u64 offset, size;
} windows[] = {
	{ "at zero", 0, UALINK_MOCK_PAGE },
	{ "no offset of a page", 0x1800, UALINK_MOCK_PAGE },
	{ "no size of a page", UALINK_MOCK_PAGE, 0x800 },
	{ "past the end", BIT_ULL(UALINK_MOCK_SEGMENT) - UALINK_MOCK_PAGE, 2 * UALINK_MOCK_PAGE },
	{ "outside", BIT_ULL(UALINK_MOCK_SEGMENT), UALINK_MOCK_PAGE },
	{ "around", UALINK_MOCK_PAGE, -(u64)UALINK_MOCK_PAGE },
};

KUNIT_ARRAY_PARAM_DESC(window, windows, name);

static void import_refuses_window(struct kunit *test)
{
	const typeof(windows[0]) *window = test->param_value;
	struct pair p = make_pair(test);
	struct ualink_mock_async *async;
	struct ualink_packet rsp;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin(p.a, p.mem, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_IMPORT_RSP, &rsp));
	rsp.import_rsp.offset = window->offset;
	rsp.import_rsp.size = window->size;
	ualink_mock_inject_packet(p.pod, &rsp);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_BAD_MSGS), 1);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_imports, 0);

	/* Nor does an answer that names another export. */
	KUNIT_ASSERT_TRUE(test, ualink_mock_last(p.pod, UALINK_MSG_IMPORT_RSP, &rsp));
	rsp.import_rsp.tag ^= BIT_ULL(20);
	ualink_mock_inject_packet(p.pod, &rsp);
	ualink_mock_settle(p.pod);
	KUNIT_EXPECT_EQ(test, p.a->udev->nr_imports, 0);

	ualink_mock_rules_clear(p.pod);
	KUNIT_EXPECT_NOT_ERR_OR_NULL(test, ualink_mock_import_end(async));
}

/* Less is granted than was asked for, although the answer says that all is well. */
static void import_refuses_less(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_async *async;
	struct ualink_packet rsp;

	ualink_mock_rule(p.pod, UALINK_MOCK_DROP, UALINK_MSG_IMPORT_RSP, p.b->id, p.a->id,
			 UALINK_MOCK_ANY);
	async = ualink_mock_import_begin_with(p.a, p.mem, UALINK_MOCK_RW, 0);
	UALINK_MOCK_EXPECT(test, ualink_mock_last(p.pod, UALINK_MSG_IMPORT_RSP, &rsp));
	rsp.import_rsp.access = UALINK_ACCESS_READ;
	ualink_mock_inject_packet(p.pod, &rsp);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import_end(async), ERR_PTR(-EACCES));
	expect_nothing_left(&p);
}

static void import_needs_member(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_mem guess = *p.mem;

	guess.handle.tag ^= 1 << 5;
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(p.a, &guess), ERR_PTR(-EXDEV));
	KUNIT_EXPECT_EQ(test, ualink_mock_sent(p.pod, 0), 0);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(p.a, UALINK_COUNT_REFUSED_LOCAL), 2);
}

#ifdef CONFIG_UALINK_DEBUG_REFS
static bool is_held_by(struct kunit *test, struct ualink_mock *node, const char *function)
{
	char *text = kunit_kzalloc(test, SZ_8K, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	ref_tracker_dir_snprint(&node->udev->refs.dir, text, SZ_8K);
	return strstr(text, function);
}

/* Who holds a reference is known, and named as long as it is held. */
static void import_is_named(struct kunit *test)
{
	struct pair p = make_pair(test);
	struct ualink_mock_import *obj = ualink_mock_get(p.a, p.mem);

	KUNIT_EXPECT_TRUE(test, is_held_by(test, p.a, "ualink_import_get"));
	KUNIT_EXPECT_TRUE(test, is_held_by(test, p.b, "ualink_export_create"));
	ualink_mock_tune(p.pod, UALINK_CACHE_MS, 0);
	ualink_mock_close(obj);
	expect_nothing_left(&p);
	UALINK_MOCK_EXPECT(test, !is_held_by(test, p.a, "ualink_import_get"));
	KUNIT_EXPECT_TRUE(test, is_held_by(test, p.b, "ualink_export_create"));
}
#else
static void import_is_named(struct kunit *test)
{
	kunit_skip(test, "CONFIG_UALINK_DEBUG_REFS is off");
}
#endif

static struct kunit_case ualink_import_cases[] = {
	KUNIT_CASE_SLOW(import_costs_two),
	KUNIT_CASE(import_is_kept),
	KUNIT_CASE(import_is_kept_for_a_while),
	KUNIT_CASE(import_is_kept_until_pressure),
	KUNIT_CASE(import_that_is_kept_is_revoked),
	KUNIT_CASE(import_respects_access),
	KUNIT_CASE(import_is_shared_while_pending),
	KUNIT_CASE(import_does_not_share_refusal),
	KUNIT_CASE_SLOW(import_many_at_once),
	KUNIT_CASE_PARAM(import_is_abandoned, late_gen_params),
	KUNIT_CASE_PARAM(import_is_tried_again, late_gen_params),
	KUNIT_CASE(import_is_interrupted),
	KUNIT_CASE(import_of_own),
	KUNIT_CASE_PARAM(import_refuses_window, window_gen_params),
	KUNIT_CASE(import_refuses_less),
	KUNIT_CASE(import_needs_member),
	KUNIT_CASE(import_is_named),
	{}
};

static struct kunit_suite ualink_import_suite = {
	.name = "ualink_import",
	.exit = ualink_mock_exit,
	.test_cases = ualink_import_cases,
};

kunit_test_suite(ualink_import_suite);
