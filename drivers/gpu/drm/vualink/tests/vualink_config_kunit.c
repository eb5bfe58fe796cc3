// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <kunit/test.h>

#include <linux/err.h>
#include <linux/sizes.h>

#include "../vualink_config.h"
#include "../vualink_hw.h"

static int config_test_init(struct kunit *test)
{
	struct vualink_config_pod *pod = vualink_config_pod_create("pod");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pod);
	test->priv = pod;
	return 0;
}

static void config_test_exit(struct kunit *test)
{
	if (test->priv)
		vualink_config_pod_destroy(test->priv);
}

static struct vualink_config_accel *
config_test_add(struct kunit *test, const char *name)
{
	struct vualink_config_accel *accel;

	accel = vualink_config_accel_create(test->priv, name);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, accel);
	return accel;
}

static void config_has_valid_defaults(struct kunit *test)
{
	struct vualink_config_pod *pod = test->priv;
	struct vualink_config_accel *a = config_test_add(test, "a");

	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(pod), 0);
	KUNIT_EXPECT_FALSE(test, uuid_is_null(&pod->uuid));
	KUNIT_EXPECT_EQ(test, a->id, 0);
	KUNIT_EXPECT_TRUE(test, a->plugged);
	KUNIT_EXPECT_NULL(test, a->vdev);
	KUNIT_EXPECT_TRUE(test, uuid_equal(vualink_config_accel_vpod(a),
					   &pod->uuid));
}

static void config_pods_differ(struct kunit *test)
{
	struct vualink_config_pod *pod = test->priv;
	struct vualink_config_pod *other = vualink_config_pod_create("pod");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	KUNIT_EXPECT_FALSE(test, uuid_equal(&pod->uuid, &other->uuid));
	vualink_config_pod_destroy(other);
}

static void config_gives_lowest_free_id(struct kunit *test)
{
	struct vualink_config_accel *b;

	config_test_add(test, "a");
	b = config_test_add(test, "b");
	KUNIT_EXPECT_EQ(test, b->id, 1);
	KUNIT_EXPECT_EQ(test, config_test_add(test, "c")->id, 2);

	vualink_config_accel_destroy(b);
	KUNIT_EXPECT_EQ(test, config_test_add(test, "d")->id, 1);
	KUNIT_EXPECT_EQ(test, config_test_add(test, "e")->id, 3);
}

static void config_refuses_same_name(struct kunit *test)
{
	struct vualink_config_pod *pod = test->priv;

	config_test_add(test, "a");
	KUNIT_EXPECT_EQ(test, PTR_ERR(vualink_config_accel_create(pod, "a")),
			-EEXIST);
	KUNIT_EXPECT_EQ(test, pod->num_accels, 1);
}

static void config_refuses_long_names(struct kunit *test)
{
	char name[VUALINK_CONFIG_NAME_LEN + 1];

	memset(name, 'x', sizeof(name));
	name[VUALINK_CONFIG_NAME_LEN] = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR(vualink_config_pod_create(name)),
			-ENAMETOOLONG);
	KUNIT_EXPECT_EQ(test, PTR_ERR(vualink_config_accel_create(test->priv,
								  name)),
			-ENAMETOOLONG);
	name[VUALINK_CONFIG_NAME_LEN - 1] = 0;
	config_test_add(test, name);
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(test->priv), 0);
}

static void config_refuses_same_id(struct kunit *test)
{
	struct vualink_config_accel *b;

	config_test_add(test, "a");
	b = config_test_add(test, "b");
	b->id = 0;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(test->priv), -EEXIST);
	b->id = 7;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(test->priv), 0);
}

static void config_ids_end_at_1023(struct kunit *test)
{
	struct vualink_config_accel *a = config_test_add(test, "a");

	a->id = 1023;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(test->priv), 0);
	a->id = 1024;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(test->priv), -EINVAL);
	a->id = U32_MAX;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(test->priv), -EINVAL);
	/* That one does not count for the next. */
	KUNIT_EXPECT_EQ(test, config_test_add(test, "b")->id, 0);
}

static void config_takes_1024_accelerators(struct kunit *test)
{
	struct vualink_config_pod *pod;
	struct vualink_config_accel *accel;
	u32 id = 0;

	pod = vualink_config_default_create("full", VUALINK_HW_MAX_IDS);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pod);
	KUNIT_EXPECT_EQ(test, pod->num_accels, 1024);
	vualink_config_for_each_accel(accel, pod)
		KUNIT_EXPECT_EQ(test, accel->id, id++);
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(pod), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(vualink_config_accel_create(pod, "more")),
			-ENOSPC);
	vualink_config_pod_destroy(pod);

	KUNIT_EXPECT_EQ(test, PTR_ERR(vualink_config_default_create("over", 1025)),
			-ENOSPC);
}

/**
 * struct config_case - values of a pod and an accelerator
 * @description: what is special
 * @segment_shift: log2 of the segment
 * @vram_size: VRAM
 * @visible_size: what the CPU reaches
 * @ret: what validation says
 */
struct config_case {
	const char *description;
	u32 segment_shift;
	u64 vram_size;
	u64 visible_size;
	int ret;
};

static const struct config_case config_cases[] = {
	{ "least segment", 22, SZ_4M, SZ_4M, 0 },
	{ "segment too small", 21, SZ_4M, SZ_4M, -EINVAL },
	{ "largest segment", VUALINK_HW_MAX_SEGMENT_SHIFT, SZ_4M, SZ_4M, 0 },
	{ "segment too large", VUALINK_HW_MAX_SEGMENT_SHIFT + 1, SZ_4M, SZ_4M,
	  -EINVAL },
	{ "segment 0", 0, SZ_4M, SZ_4M, -EINVAL },
	{ "least VRAM", 36, SZ_1M, SZ_1M, 0 },
	{ "VRAM too small", 36, SZ_1M - PAGE_SIZE, SZ_64K, -EINVAL },
	{ "largest VRAM", 42, VUALINK_CONFIG_MAX_VRAM_SIZE, SZ_4M, 0 },
	{ "VRAM too large", 42, VUALINK_CONFIG_MAX_VRAM_SIZE + PAGE_SIZE, SZ_4M,
	  -EINVAL },
	{ "half a page of VRAM", 36, SZ_4M + PAGE_SIZE / 2, SZ_4M, -EINVAL },
	{ "VRAM of U64_MAX", 36, U64_MAX, SZ_4M, -EINVAL },
	{ "VRAM larger than the segment", 22, SZ_8M, SZ_4M, 0 },
	{ "all visible", 36, SZ_4M, SZ_4M, 0 },
	{ "a page visible", 36, SZ_4M, PAGE_SIZE, 0 },
	{ "more than all visible", 36, SZ_4M, SZ_4M + PAGE_SIZE, -EINVAL },
	{ "nothing visible", 36, SZ_4M, 0, -EINVAL },
	{ "half a page visible", 36, SZ_4M, PAGE_SIZE / 2, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(config, config_cases, description);

static void config_checks_limits(struct kunit *test)
{
	const struct config_case *c = test->param_value;
	struct vualink_config_accel *a = config_test_add(test, "a");
	struct vualink_config_pod *pod = test->priv;

	pod->segment_shift = c->segment_shift;
	a->vram_size = c->vram_size;
	a->visible_size = c->visible_size;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(pod), c->ret);
}

static void config_needs_a_uuid(struct kunit *test)
{
	struct vualink_config_pod *pod = test->priv;

	pod->uuid = uuid_null;
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(pod), -EINVAL);
}

static void config_vpod_can_differ(struct kunit *test)
{
	struct vualink_config_accel *a = config_test_add(test, "a");
	struct vualink_config_accel *b = config_test_add(test, "b");
	struct vualink_config_pod *pod = test->priv;

	uuid_gen(&a->vpod);
	KUNIT_EXPECT_PTR_EQ(test, vualink_config_accel_vpod(a),
			    (const uuid_t *)&pod->uuid);
	a->own_vpod = true;
	KUNIT_EXPECT_PTR_EQ(test, vualink_config_accel_vpod(a),
			    (const uuid_t *)&a->vpod);
	b->own_vpod = true;
	KUNIT_EXPECT_TRUE(test, uuid_is_null(vualink_config_accel_vpod(b)));
	KUNIT_EXPECT_EQ(test, vualink_config_pod_validate(pod), 0);
}

static struct kunit_case config_test_cases[] = {
	KUNIT_CASE(config_has_valid_defaults),
	KUNIT_CASE(config_pods_differ),
	KUNIT_CASE(config_gives_lowest_free_id),
	KUNIT_CASE(config_refuses_same_name),
	KUNIT_CASE(config_refuses_long_names),
	KUNIT_CASE(config_refuses_same_id),
	KUNIT_CASE(config_ids_end_at_1023),
	KUNIT_CASE(config_takes_1024_accelerators),
	KUNIT_CASE_PARAM(config_checks_limits, config_gen_params),
	KUNIT_CASE(config_needs_a_uuid),
	KUNIT_CASE(config_vpod_can_differ),
	{}
};

static struct kunit_suite config_test_suite = {
	.name = "vualink_config",
	.init = config_test_init,
	.exit = config_test_exit,
	.test_cases = config_test_cases,
};

kunit_test_suite(config_test_suite);

MODULE_DESCRIPTION("KUnit tests of the configuration of pods");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("Dual MIT/GPL");
