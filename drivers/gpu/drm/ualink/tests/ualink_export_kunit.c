// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Exports: from the memory to the handle, why there is none, and how all is taken back.
 */

#include <linux/bitmap.h>
#include <linux/module.h>

#include "ualink_mock.h"

static struct ualink_mock *make_one(struct kunit *test, const struct ualink_mock_config *config)
{
	return &ualink_mock_pod_create(test, config, 1)->nodes[0];
}

static struct ualink_mock_mem *export_size(struct ualink_mock *node, u64 size)
{
	return ualink_mock_export_with(node, size, false, NULL);
}

static void end_and_wait(struct ualink_mock_mem *mem)
{
	ualink_export_end(mem->exp);
	KUNIT_EXPECT_EQ(mem->node->pod->test, ualink_export_wait(mem->exp), 0);
	KUNIT_EXPECT_TRUE(mem->node->pod->test, ualink_mock_released(mem));
}

static void export_lives_and_ends(struct kunit *test)
{
	struct ualink_mock *node = make_one(test, NULL);
	struct ualink_mock_mem *mem = ualink_mock_export(node), *next;
	struct ualink_device_info info;

	KUNIT_EXPECT_EQ(test, ualink_handle_id(&mem->handle), node->id);
	KUNIT_EXPECT_TRUE(test, ualink_export_live(mem->exp));
	KUNIT_EXPECT_EQ(test, ualink_export_size(mem->exp), UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_MAP), 1);
	/* That of the activation, and none for the export. */
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_FLUSH), 1);
	ualink_device_get_info(node->udev, &info);
	KUNIT_EXPECT_EQ(test, info.exports, 1);
	KUNIT_EXPECT_EQ(test, info.exported_bytes, UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, info.npa_used, UALINK_MOCK_PAGE);
	KUNIT_EXPECT_EQ(test, info.npa_quarantined, 0);

	end_and_wait(mem);
	KUNIT_EXPECT_FALSE(test, ualink_export_live(mem->exp));
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_UNMAP), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_FLUSH), 2);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_RELEASE), 1);
	ualink_mock_settle(node->pod);
	ualink_mock_expect_clean(node);

	/* Twice is once. */
	end_and_wait(mem);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_RELEASE), 1);
	next = ualink_mock_export(node);
	KUNIT_EXPECT_NE(test, next->handle.tag, mem->handle.tag);
	KUNIT_EXPECT_NE(test, next->handle.secret, mem->handle.secret);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(node, UALINK_COUNT_EXPORTS), 2);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(node, UALINK_COUNT_EXPORTS_ENDED), 1);
}

static void export_flushes_invalid_entries(struct kunit *test)
{
	static const struct ualink_mock_config config = { .flush_on_map = true };
	struct ualink_mock *node = make_one(test, &config);

	ualink_mock_export(node);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_FLUSH), 2);
}

static const struct {
	const char *name;
	u64 size;
	int error;
} sizes[] = {
	{ "nothing", 0, -EINVAL },
	{ "a byte", 1, -EINVAL },
	{ "less than a page", UALINK_MOCK_PAGE - 1, -EINVAL },
	{ "more than a page", UALINK_MOCK_PAGE + 1, -EINVAL },
	{ "4 GiB and a byte", SZ_4G + 1, -EINVAL },
	{ "all bits", U64_MAX, -EINVAL },
	{ "the segment", BIT_ULL(UALINK_MOCK_SEGMENT), -ENOSPC },
	{ "4 GiB", SZ_4G, -ENOSPC },
	{ "the last page", -(u64)UALINK_MOCK_PAGE, -ENOSPC },
};

KUNIT_ARRAY_PARAM_DESC(size, sizes, name);

static void export_refuses_size(struct kunit *test)
{
	const typeof(sizes[0]) *param = test->param_value;
	struct ualink_mock *node = make_one(test, NULL);

	KUNIT_EXPECT_PTR_EQ(test, export_size(node, param->size), ERR_PTR(param->error));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(node, UALINK_COUNT_REFUSED_LOCAL), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_MAP), 0);
	ualink_mock_expect_clean(node);
}

static void export_refused_when_inactive(struct kunit *test)
{
	struct ualink_mock *node = make_one(test, NULL);

	ualink_device_deactivate(node->udev);
	KUNIT_EXPECT_PTR_EQ(test, export_size(node, UALINK_MOCK_PAGE), ERR_PTR(-ENOTCONN));
	KUNIT_ASSERT_EQ(test, ualink_device_activate(node->udev), 0);
	ualink_mock_export(node);
}

static void export_refused_by_cap(struct kunit *test)
{
	struct ualink_mock *node = make_one(test, NULL);
	struct ualink_mock_mem *mem;

	ualink_mock_tune(node->pod, UALINK_MAX_EXPORT_BYTES, 2 * UALINK_MOCK_PAGE);
	KUNIT_EXPECT_PTR_EQ(test, export_size(node, 3 * UALINK_MOCK_PAGE), ERR_PTR(-EDQUOT));
	mem = ualink_mock_export(node);
	ualink_mock_export(node);
	KUNIT_EXPECT_PTR_EQ(test, export_size(node, UALINK_MOCK_PAGE), ERR_PTR(-EDQUOT));
	ualink_mock_tune(node->pod, UALINK_MAX_EXPORT_BYTES, UALINK_MOCK_PAGE);
	KUNIT_EXPECT_PTR_EQ(test, export_size(node, UALINK_MOCK_PAGE), ERR_PTR(-EDQUOT));
	ualink_mock_tune(node->pod, UALINK_MAX_EXPORT_BYTES, 2 * UALINK_MOCK_PAGE);
	end_and_wait(mem);
	ualink_mock_export(node);
	KUNIT_EXPECT_EQ(test, node->udev->exported_bytes, 2 * UALINK_MOCK_PAGE);
}

/* The segment fills up; who has a place keeps it, and a place that is left is taken again. */
static void export_exhausts_segment(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem, *first = export_size(b, SZ_1M);
	struct ualink_mock_import *obj;
	unsigned int n = 1;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, first);
	obj = ualink_mock_get(a, first);
	while (!IS_ERR(mem = export_size(b, SZ_1M)))
		n++;
	KUNIT_EXPECT_PTR_EQ(test, mem, ERR_PTR(-ENOSPC));
	KUNIT_EXPECT_EQ(test, n, BIT_ULL(UALINK_MOCK_SEGMENT) / SZ_1M - 1);
	KUNIT_EXPECT_EQ(test, b->udev->nr_exports, n);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, true), 0);

	end_and_wait(first);
	ualink_mock_settle(pod);
	mem = export_size(b, SZ_1M);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, mem);
	ualink_mock_get(a, mem);
}

static const int map_errors[] = { -ENOMEM, -ENOSPC, -EIO };

KUNIT_ARRAY_PARAM(map_error, map_errors, NULL);

static void export_unwinds_map(struct kunit *test)
{
	int error = *(const int *)test->param_value;
	struct ualink_mock *node = make_one(test, NULL);

	ualink_mock_fail(node, UALINK_MOCK_MAP, error, 1);
	KUNIT_EXPECT_PTR_EQ(test, export_size(node, UALINK_MOCK_PAGE), ERR_PTR(error));
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_UNMAP), 0);
	KUNIT_EXPECT_FALSE(test, node->udev->wedged);
	ualink_mock_expect_clean(node);
	ualink_mock_export(node);
}

/* A reset, as a driver does it. */
static void recover(struct ualink_mock *node)
{
	ualink_device_deactivate(node->udev);
	ualink_mock_reset(node);
	KUNIT_ASSERT_EQ(node->pod->test, ualink_device_activate(node->udev), 0);
	/* An import that meets the BYE is refused. */
	ualink_mock_settle(node->pod);
}

/* The flush fails: the memory stays, nothing new is exported, and the old goes on. */
static void export_wedges(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem = ualink_mock_export(b);
	struct ualink_mock_import *obj = ualink_mock_get(a, mem);
	struct ualink_mock_import *other = ualink_mock_get(a, ualink_mock_export(b));
	struct ualink_device_info info;

	ualink_mock_fail(b, UALINK_MOCK_FLUSH, -EIO, 1);
	ualink_export_end(mem->exp);
	KUNIT_EXPECT_EQ(test, ualink_export_wait(mem->exp), -EIO);
	KUNIT_EXPECT_FALSE(test, ualink_mock_released(mem));
	ualink_device_get_info(b->udev, &info);
	KUNIT_EXPECT_TRUE(test, info.wedged);
	KUNIT_EXPECT_EQ(test, info.npa_used, 2 * UALINK_MOCK_PAGE);
	UALINK_MOCK_EXPECT(test, obj->deaths == 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(other, true), 0);
	KUNIT_EXPECT_PTR_EQ(test, export_size(b, UALINK_MOCK_PAGE), ERR_PTR(-EBUSY));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(b, UALINK_COUNT_FLUSHES_FAILED), 1);

	recover(b);
	KUNIT_EXPECT_TRUE(test, ualink_mock_released(mem));
	ualink_device_get_info(b->udev, &info);
	KUNIT_EXPECT_FALSE(test, info.wedged);
	ualink_mock_expect_clean(b);
	ualink_mock_get(a, ualink_mock_export(b));
}

static void export_wedges_when_mapped(struct kunit *test)
{
	static const struct ualink_mock_config config = { .flush_on_map = true };
	struct ualink_mock *node = make_one(test, &config);

	ualink_mock_fail(node, UALINK_MOCK_FLUSH, -EIO, 1);
	KUNIT_EXPECT_PTR_EQ(test, export_size(node, UALINK_MOCK_PAGE), ERR_PTR(-EIO));
	KUNIT_EXPECT_TRUE(test, node->udev->wedged);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_RELEASE), 0);
	recover(node);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_RELEASE), 1);
	ualink_mock_expect_clean(node);
}

/* Something that runs in another thread, while this one goes on. */
struct errand {
	struct work_struct work;
	struct ualink_mock *node;
	struct ualink_mock_mem *mem;
	bool done;
};

static void export_errand(struct work_struct *work)
{
	struct errand *errand = container_of(work, struct errand, work);

	errand->mem = export_size(errand->node, UALINK_MOCK_PAGE);
}

static void deactivate_errand(struct work_struct *work)
{
	struct errand *errand = container_of(work, struct errand, work);

	ualink_device_deactivate(errand->node->udev);
	WRITE_ONCE(errand->done, true);
}

static const bool flush_results[] = { false, true };

KUNIT_ARRAY_PARAM(flush_result, flush_results, NULL);

/* The device stops after the memory is mapped and before it has a handle. */
static void export_meets_deactivation(struct kunit *test)
{
	bool fails = *(const bool *)test->param_value;
	struct ualink_mock *node = make_one(test, NULL);
	struct errand export = { .node = node }, stop = { .node = node };

	INIT_WORK_ONSTACK(&export.work, export_errand);
	INIT_WORK_ONSTACK(&stop.work, deactivate_errand);
	ualink_mock_stop(node, UALINK_MOCK_MAP);
	queue_work(system_dfl_wq, &export.work);
	KUNIT_EXPECT_TRUE(test, ualink_mock_stopped(node, UALINK_MOCK_MAP));
	ualink_mock_fail(node, UALINK_MOCK_FLUSH, -EIO, fails);
	queue_work(system_dfl_wq, &stop.work);
	UALINK_MOCK_EXPECT(test, node->udev->state == UALINK_DEVICE_STOPPING);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(stop.done));

	ualink_mock_go(node, UALINK_MOCK_MAP);
	flush_work(&export.work);
	flush_work(&stop.work);
	destroy_work_on_stack(&export.work);
	destroy_work_on_stack(&stop.work);
	KUNIT_EXPECT_PTR_EQ(test, export.mem, ERR_PTR(fails ? -EIO : -EBUSY));
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_UNMAP), 1);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_RELEASE), 0);
	recover(node);
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_RELEASE), fails);
	ualink_mock_expect_clean(node);
}

/* What ends together costs one flush. */
static void export_flushes_once_for_many(struct kunit *test)
{
	struct ualink_mock *node = make_one(test, NULL);
	struct ualink_mock_mem *mems[100];
	int i;

	for (i = 0; i < ARRAY_SIZE(mems); i++)
		mems[i] = ualink_mock_export(node);
	ualink_mock_stop(node, UALINK_MOCK_UNMAP);
	ualink_export_end(mems[0]->exp);
	KUNIT_ASSERT_TRUE(test, ualink_mock_stopped(node, UALINK_MOCK_UNMAP));
	for (i = 1; i < ARRAY_SIZE(mems); i++)
		ualink_export_end(mems[i]->exp);
	ualink_mock_go(node, UALINK_MOCK_UNMAP);
	for (i = 0; i < ARRAY_SIZE(mems); i++)
		end_and_wait(mems[i]);
	/* One at activation, one for the first, one for all others. */
	KUNIT_EXPECT_EQ(test, ualink_mock_calls(node, UALINK_MOCK_FLUSH), 3);
	ualink_mock_settle(node->pod);
	ualink_mock_expect_clean(node);
}

static void export_knows_importers(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	struct ualink_mock_mem *mem = ualink_mock_export(c);
	struct ualink_mock_import *obj;
	u32 ids[2] = {};

	KUNIT_EXPECT_EQ(test, ualink_export_importers(mem->exp, NULL, 0), 0);
	obj = ualink_mock_get(a, mem);
	ualink_mock_get(b, mem);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(mem->exp, NULL, 0), 2);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(mem->exp, ids, 1), 2);
	KUNIT_EXPECT_EQ(test, ids[0], a->id);
	KUNIT_EXPECT_EQ(test, ids[1], 0);
	ualink_mock_close(obj);
	UALINK_MOCK_EXPECT(test, ualink_export_importers(mem->exp, ids, 2) == 1);
	KUNIT_EXPECT_EQ(test, ids[0], b->id);
}

static void export_allows_some(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 3);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1], *c = &pod->nodes[2];
	unsigned long *allow = bitmap_zalloc(UALINK_MAX_IDS, GFP_KERNEL);
	struct ualink_mock_mem *mem, *open;

	KUNIT_ASSERT_NOT_NULL(test, allow);
	__set_bit(a->id, allow);
	mem = ualink_mock_export_with(c, UALINK_MOCK_PAGE, false, allow);
	open = ualink_mock_export(c);
	ualink_mock_get(a, mem);
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(b, mem), ERR_PTR(-ENOENT));
	KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(c, mem), ERR_PTR(-ENOENT));
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(c, UALINK_COUNT_REFUSED_PEER), 2);
	KUNIT_EXPECT_EQ(test, ualink_export_importers(mem->exp, NULL, 0), 1);

	KUNIT_EXPECT_TRUE(test, ualink_export_matches(mem->exp, false, allow));
	KUNIT_EXPECT_FALSE(test, ualink_export_matches(mem->exp, true, allow));
	KUNIT_EXPECT_FALSE(test, ualink_export_matches(mem->exp, false, NULL));
	KUNIT_EXPECT_FALSE(test, ualink_export_matches(open->exp, false, allow));
	KUNIT_EXPECT_TRUE(test, ualink_export_matches(open->exp, false, NULL));
	__set_bit(b->id, allow);
	KUNIT_EXPECT_FALSE(test, ualink_export_matches(mem->exp, false, allow));
	bitmap_free(allow);
}

/* Unknown, ended and not allowed: a stranger cannot tell one from another. */
static void export_hides(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	DECLARE_BITMAP(nobody, UALINK_MAX_IDS) = {};
	struct ualink_mock_mem guess, *mems[3] = { &guess };
	struct ualink_packet answers[3];
	int i;

	mems[1] = ualink_mock_export(b);
	mems[2] = ualink_mock_export_with(b, UALINK_MOCK_PAGE, false, nobody);
	guess = *mems[1];
	guess.handle.secret ^= 1;
	end_and_wait(mems[1]);
	for (i = 0; i < ARRAY_SIZE(mems); i++) {
		KUNIT_EXPECT_PTR_EQ(test, ualink_mock_import(a, mems[i]), ERR_PTR(-ENOENT));
		KUNIT_ASSERT_TRUE(test, ualink_mock_last(pod, UALINK_MSG_IMPORT_RSP,
							 &answers[i]));
		KUNIT_EXPECT_EQ(test, answers[i].import_rsp.tag, mems[i]->handle.tag);
		answers[i].request = answers[0].request;
		answers[i].import_rsp.tag = answers[0].import_rsp.tag;
		KUNIT_EXPECT_MEMEQ(test, &answers[i], &answers[0], sizeof(answers[0]));
	}
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(b, UALINK_COUNT_REFUSED_PEER), 3);
}

/* Each bit of a handle counts. */
static void export_hides_from_guesses(struct kunit *test)
{
	struct ualink_mock_pod *pod = ualink_mock_pod_create(test, NULL, 2);
	struct ualink_mock *a = &pod->nodes[0], *b = &pod->nodes[1];
	struct ualink_mock_mem *mem = ualink_mock_export(b), guess;
	struct ualink_mock_import *obj;
	int bit, expected;

	for (bit = 0; bit < 128; bit++) {
		guess = *mem;
		if (bit < 64)
			guess.handle.tag ^= BIT_ULL(bit);
		else
			guess.handle.secret ^= BIT_ULL(bit - 64);
		expected = bit < 10 ? -EXDEV : -ENOENT;
		obj = ualink_mock_import(a, &guess);
		KUNIT_EXPECT_PTR_EQ_MSG(test, obj, ERR_PTR(expected), "bit %d", bit);
	}
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(b, UALINK_COUNT_REFUSED_PEER), 118);
	KUNIT_EXPECT_EQ(test, ualink_mock_counter(a, UALINK_COUNT_REFUSED_LOCAL), 128);
	KUNIT_EXPECT_EQ(test, b->udev->nr_grants, 0);
}

/* A device that cannot be made clean does not come up, and can be tried again. */
static void export_needs_clean_device(struct kunit *test)
{
	static const enum ualink_mock_op ops[] = { UALINK_MOCK_FLUSH, UALINK_MOCK_GATE };
	struct ualink_mock *node = make_one(test, NULL);
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		ualink_device_deactivate(node->udev);
		ualink_mock_fail(node, ops[i], -EIO, 1);
		KUNIT_EXPECT_EQ(test, ualink_device_activate(node->udev), -EIO);
		KUNIT_EXPECT_FALSE(test, ualink_device_active(node->udev));
		KUNIT_EXPECT_PTR_EQ(test, export_size(node, UALINK_MOCK_PAGE),
				    ERR_PTR(-ENOTCONN));
		KUNIT_EXPECT_EQ(test, ualink_device_activate(node->udev), 0);
		ualink_mock_get(node, ualink_mock_export(node));
	}
}

static struct kunit_case ualink_export_cases[] = {
	KUNIT_CASE(export_lives_and_ends),
	KUNIT_CASE(export_flushes_invalid_entries),
	KUNIT_CASE_PARAM(export_refuses_size, size_gen_params),
	KUNIT_CASE(export_refused_when_inactive),
	KUNIT_CASE(export_refused_by_cap),
	KUNIT_CASE(export_exhausts_segment),
	KUNIT_CASE_PARAM(export_unwinds_map, map_error_gen_params),
	KUNIT_CASE(export_wedges),
	KUNIT_CASE(export_wedges_when_mapped),
	KUNIT_CASE_PARAM(export_meets_deactivation, flush_result_gen_params),
	KUNIT_CASE(export_flushes_once_for_many),
	KUNIT_CASE(export_knows_importers),
	KUNIT_CASE(export_allows_some),
	KUNIT_CASE(export_hides),
	KUNIT_CASE(export_hides_from_guesses),
	KUNIT_CASE(export_needs_clean_device),
	{}
};

static struct kunit_suite ualink_export_suite = {
	.name = "ualink_export",
	.exit = ualink_mock_exit,
	.test_cases = ualink_export_cases,
};

kunit_test_suite(ualink_export_suite);
