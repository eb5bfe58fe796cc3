// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * EXPORT and REVOKE.
 */

#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>

#include "drm_ualink_gem_test.h"

static void gem_export_again(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 0);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 0);
	struct drm_gem_ualink_export first, second;
	struct drm_ualink_export_info infos[2];
	struct drm_gem_object *obj;
	u32 handle, other;

	handle = gem_test_object(test, a, TEST_SIZE);
	gem_test_object(test, a, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first.size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, first.granularity, TEST_PAGE);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handle, 0, &second), 0);
	KUNIT_EXPECT_MEMEQ(test, first.handle, second.handle, sizeof(first.handle));

	/* The same object by another file */
	obj = drm_gem_object_lookup(a->private_data, handle);
	KUNIT_ASSERT_EQ(test, drm_gem_handle_create(b->private_data, obj, &other), 0);
	drm_gem_object_put(obj);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, other, 0, &second), 0);
	KUNIT_EXPECT_MEMEQ(test, first.handle, second.handle, sizeof(first.handle));

	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->npa_maps), 1);

	KUNIT_EXPECT_EQ(test, gem_test_query(test, a, DRM_UALINK_QUERY_EXPORTS, 0, infos, 2,
					     sizeof(infos[0])), 1);
	KUNIT_EXPECT_MEMEQ(test, first.handle, infos[0].handle, sizeof(first.handle));
	KUNIT_EXPECT_EQ(test, infos[0].gem_handle, handle);
	KUNIT_EXPECT_EQ(test, infos[0].size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, infos[0].importers, 0);

	/* The one who exported it first goes, the object stays. */
	gem_test_close(a);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->unpins), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, other, 0, &second), 0);
	KUNIT_EXPECT_MEMEQ(test, first.handle, second.handle, sizeof(first.handle));

	gem_test_close(b);
	gem_test_expect_idle(test, dev);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
}

static void gem_export_other_flags(struct kunit *test)
{
	struct file *filp = gem_test_open(test, 0);
	struct drm_gem_ualink_export args, again;
	u32 handle = gem_test_object(test, filp, TEST_SIZE);
	const u32 read_only = DRM_UALINK_EXPORT_READ_ONLY;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, filp, handle, read_only, &args), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, handle, read_only, &again), 0);
	KUNIT_EXPECT_MEMEQ(test, args.handle, again.handle, sizeof(args.handle));
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, handle, 0, &again), 0);
	KUNIT_EXPECT_MEMEQ(test, args.handle, again.handle, sizeof(args.handle));

	handle = gem_test_object(test, filp, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, filp, handle, 0, &args), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, handle, read_only, &again), -EEXIST);
	gem_test_close(filp);
}

static int export_to(struct kunit *test, struct file *filp, u32 handle, const u32 *ids,
		     u32 count, struct drm_gem_ualink_export *args)
{
	struct gem_test_fabric *fabric = test->priv;
	u64 list = fabric->user + SZ_1K;

	KUNIT_ASSERT_EQ(test, copy_to_user(u64_to_user_ptr(list), ids, sizeof(*ids)), 0);
	*args = (struct drm_gem_ualink_export) {
		.gem_handle = handle,
		.allow_ptr = list,
		.allow_count = count,
	};
	return gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_EXPORT, args);
}

static void gem_export_allow(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	u32 handle = gem_test_object(test, a, TEST_SIZE);
	struct drm_gem_ualink_export args;
	struct drm_gem_ualink_import import;
	u32 id = UALINK_MAX_IDS;

	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, 1, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, 0, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, UALINK_MAX_IDS + 1, &args),
			-EINVAL);

	/* Nobody else sees that it exists. */
	id = gem_test_ids[0];
	KUNIT_ASSERT_EQ(test, export_to(test, a, handle, &id, 1, &args), 0);
	KUNIT_EXPECT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), -ENOENT);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, a, args.handle, 0, &import), 0);
	gem_test_close_fd(import.fd);

	id = gem_test_ids[1];
	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, 1, &args), -EEXIST);
	gem_test_close(a);
	gem_test_close(b);
}

static void gem_export_refused(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 0);
	struct file *filp = gem_test_open(test, 0);
	u32 handle = gem_test_object(test, filp, TEST_SIZE);
	u32 small = gem_test_object(test, filp, SZ_4K);
	struct drm_gem_ualink_export args;

	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, handle, 2, &args), -EINVAL);
	args = (struct drm_gem_ualink_export) { .gem_handle = handle, .pad = 1 };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_EXPORT, &args),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, 12345, 0, &args), -ENOENT);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, small, 0, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 0);

	dev->pin_error = -EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, handle, 0, &args), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, handle, 0, &args), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
	gem_test_close(filp);
	gem_test_expect_idle(test, dev);
}

static void gem_export_file_cap(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 0);
	struct drm_gem_ualink_export args;
	u32 handles[TEST_FILE_CAP / TEST_SIZE + 1], other;
	int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++)
		handles[i] = gem_test_object(test, a, TEST_SIZE);
	for (i = 0; i < ARRAY_SIZE(handles) - 1; i++)
		KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handles[i], 0, &args), 0);
	KUNIT_EXPECT_EQ(test, gem_test_info(gem_test_dev(test, 0)).refused, 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handles[i], 0, &args), -EDQUOT);
	KUNIT_EXPECT_EQ(test, gem_test_info(gem_test_dev(test, 0)).refused, 1);
	/* What is exported already costs nothing; others are not concerned. */
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handles[0], 0, &args), 0);
	other = gem_test_object(test, b, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, other, 0, &args), 0);

	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handles[0]), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handles[i], 0, &args), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handles[0], 0, &args), -EDQUOT);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 0));
}

struct export_racer {
	struct work_struct work;
	struct drm_file *file;
	struct drm_gem_ualink_export args;
	int ret;
};

static void export_racer_work(struct work_struct *work)
{
	struct export_racer *racer = container_of(work, struct export_racer, work);

	racer->ret = drm_ualink_gem_export(racer->file->minor->dev, racer->file, &racer->args);
}

static void gem_export_race(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 0);
	struct file *filp = gem_test_open(test, 0);
	u32 handle = gem_test_object(test, filp, TEST_SIZE);
	struct export_racer racers[4];
	int i;

	dev->pin_ms = 50;
	for (i = 0; i < ARRAY_SIZE(racers); i++) {
		racers[i] = (struct export_racer) {
			.file = filp->private_data,
			.args.gem_handle = handle,
		};
		INIT_WORK_ONSTACK(&racers[i].work, export_racer_work);
		queue_work(system_dfl_wq, &racers[i].work);
	}
	for (i = 0; i < ARRAY_SIZE(racers); i++) {
		flush_work(&racers[i].work);
		destroy_work_on_stack(&racers[i].work);
		KUNIT_EXPECT_EQ(test, racers[i].ret, 0);
		KUNIT_EXPECT_MEMEQ(test, racers[i].args.handle, racers[0].args.handle,
				   sizeof(racers[0].args.handle));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
	gem_test_close(filp);
	gem_test_expect_idle(test, dev);
}

static void gem_revoke(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 0);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	u32 handle = gem_test_object(test, a, TEST_SIZE);
	struct drm_gem_ualink_export old, new;
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_revoke args = { .gem_handle = handle, .flags = 1 };

	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handle), -ENOENT);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &old), 0);
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, a, DRM_IOCTL_GEM_UALINK_REVOKE, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handle), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->unpins), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handle), -ENOENT);
	KUNIT_EXPECT_EQ(test, gem_test_import(test, b, old.handle, 0, &import), -ENOENT);

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &new), 0);
	KUNIT_EXPECT_MEMNEQ(test, old.handle, new.handle, sizeof(old.handle));
	KUNIT_EXPECT_EQ(test, gem_test_import(test, b, old.handle, 0, &import), -ENOENT);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, new.handle, 0, &import), 0);
	gem_test_close_fd(import.fd);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, dev);
}

/* All files together can have no more than the driver said; until somebody says otherwise. */
static void gem_export_device_cap(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 0);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 0);
	struct ualink_device *udev = drm_ualink_device(&dev->drm);
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_export args;
	u32 handle;
	int i;

	KUNIT_EXPECT_EQ(test, gem_test_info(dev).max_export_bytes, TEST_DEVICE_CAP);
	for (i = 0; i < TEST_DEVICE_CAP / TEST_SIZE; i++) {
		struct file *filp = i < TEST_FILE_CAP / TEST_SIZE ? a : b;

		handle = gem_test_object(test, filp, TEST_SIZE);
		KUNIT_ASSERT_EQ(test, gem_test_export(test, filp, handle, 0, &args), 0);
	}
	KUNIT_EXPECT_EQ(test, gem_test_info(dev).exported_bytes, TEST_DEVICE_CAP);

	handle = gem_test_object(test, b, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, handle, 0, &args), -EDQUOT);
	KUNIT_EXPECT_EQ(test, gem_test_info(dev).exported_bytes, TEST_DEVICE_CAP);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins) - atomic_read(&dev->unpins),
			TEST_DEVICE_CAP / TEST_SIZE);

	KUNIT_ASSERT_EQ(test, ualink_device_set_tunable(udev, UALINK_MAX_EXPORT_BYTES,
							2 * TEST_DEVICE_CAP), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, handle, 0, &args), 0);

	/* And a file has twice as much as well, no more. */
	for (i = 0; i < TEST_FILE_CAP / TEST_SIZE; i++) {
		handle = gem_test_object(test, a, TEST_SIZE);
		KUNIT_EXPECT_EQ(test, gem_test_export(test, a, handle, 0, &args), 0);
	}
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, gem_test_object(test, a, TEST_PAGE), 0,
					      &args), -EDQUOT);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, a, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
					     sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.max_export_bytes, 2 * TEST_DEVICE_CAP);
	KUNIT_EXPECT_EQ(test, info.max_file_export_bytes, 2 * TEST_FILE_CAP);

	/* No cap at all, and none that wraps */
	KUNIT_ASSERT_EQ(test, ualink_device_set_tunable(udev, UALINK_MAX_EXPORT_BYTES, U64_MAX),
			0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, gem_test_object(test, a, TEST_SIZE), 0,
					      &args), 0);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, dev);
}

static struct kunit_case export_cases[] = {
	KUNIT_CASE(gem_export_again),
	KUNIT_CASE(gem_export_other_flags),
	KUNIT_CASE(gem_export_allow),
	KUNIT_CASE(gem_export_refused),
	KUNIT_CASE(gem_export_file_cap),
	KUNIT_CASE(gem_export_device_cap),
	KUNIT_CASE(gem_export_race),
	KUNIT_CASE(gem_revoke),
	{}
};

static struct kunit_suite export_suite = {
	.name = "drm_ualink_export",
	.init = gem_test_init,
	.exit = gem_test_exit,
	.test_cases = export_cases,
};

kunit_test_suite(export_suite);
