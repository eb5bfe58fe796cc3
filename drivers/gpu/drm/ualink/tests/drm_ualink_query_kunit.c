// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * QUERY, and devices that cannot answer much.
 */

#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <drm/drm_file.h>
#include <drm/drm_kunit_helpers.h>

#include "drm_ualink_gem_test.h"

static void gem_query(struct kunit *test)
{
	struct gem_test_fabric *fabric = test->priv;
	struct file *filp = gem_test_open(test, 0);
	struct drm_ualink_device_info info;
	struct drm_ualink_peer_info peer;
	struct drm_gem_ualink_query query = { .kind = DRM_UALINK_QUERY_DEVICE };
	u8 wide[sizeof(info) + 8];

	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query), 0);
	KUNIT_EXPECT_EQ(test, query.count, 1);
	KUNIT_EXPECT_EQ(test, query.stride, sizeof(info));

	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
					     sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.flags, DRM_UALINK_DEVICE_SUPPORTED |
			DRM_UALINK_DEVICE_PROVISIONED | DRM_UALINK_DEVICE_ACTIVE);
	KUNIT_EXPECT_EQ(test, info.id, gem_test_ids[0]);
	KUNIT_EXPECT_EQ(test, info.granularity, TEST_PAGE);
	KUNIT_EXPECT_EQ(test, info.segment_size, 1ULL << TEST_SEGMENT);
	KUNIT_EXPECT_EQ(test, info.max_export_bytes, TEST_DEVICE_CAP);
	KUNIT_EXPECT_EQ(test, info.max_file_export_bytes, TEST_FILE_CAP);

	/* A program from the future, and one from the past */
	memset(wide, 0xff, sizeof(wide));
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, wide, 1,
					     sizeof(wide)), 1);
	KUNIT_EXPECT_TRUE(test, mem_is_zero(wide + sizeof(info), 8));
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info.flags, 1,
					     sizeof(info.flags)), 1);

	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &peer, 1,
					     sizeof(peer)), TEST_DEVICES - 1);
	KUNIT_EXPECT_EQ(test, peer.id, gem_test_ids[1]);
	KUNIT_EXPECT_EQ(test, peer.flags & (DRM_UALINK_PEER_HARDWARE | DRM_UALINK_PEER_PERMITTED),
			DRM_UALINK_PEER_HARDWARE | DRM_UALINK_PEER_PERMITTED);

	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, 5, 0, &info, 1, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_PEERS, 1, &peer, 1, 4),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &peer, 1, 3),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &peer, 1, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_IMPORTERS, 99, &peer, 1,
					     4),
			-ENOENT);
	query = (struct drm_gem_ualink_query) { .flags = 1 };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query),
			-EINVAL);
	query = (struct drm_gem_ualink_query) { .pad = 1 };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query),
			-EINVAL);
	query = (struct drm_gem_ualink_query) { .count = 1, .stride = 8192 };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query),
			-EINVAL);
	query = (struct drm_gem_ualink_query) {
		.count = 1,
		.stride = sizeof(info),
		.data_ptr = fabric->user + PAGE_SIZE - 8,
	};
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query),
			-EFAULT);
	gem_test_close(filp);
}

/* A device without UALink says so first; one that is not provisioned knows its arguments. */
static void gem_without(struct kunit *test)
{
	struct device *parent = drm_kunit_helper_alloc_device(test);
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_export args;
	struct drm_gem_ualink_import import;
	static const struct drm_ualink_caps caps = { .device = SZ_1G, .file = SZ_1M }, bad[] = {
		{ .device = U64_MAX, .file = U64_MAX },
		{ .device = SZ_1G, .file = SZ_2G },
		{ .device = SZ_1G },
		{},
	};
	struct gem_test_device *dev;
	struct file *filp;
	int i;

	dev = gem_test_alloc(test, parent);
	filp = mock_drm_getfile(dev->drm.primary, O_RDWR);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, filp);

	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, 1, ~0, &args), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, filp, 1), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, gem_test_import(test, filp, args.handle, 0, &import), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, 77, 0, &info, 1, 4), -EOPNOTSUPP);
	memset(&info, 0xff, sizeof(info));
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
					     sizeof(info)), 1);
	KUNIT_EXPECT_TRUE(test, mem_is_zero(&info, sizeof(info)));

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, drm_ualink_init(&dev->drm, &gem_test_funcs, &bad[i]),
				-EINVAL);
	KUNIT_EXPECT_NULL(test, dev->drm.ualink);
	KUNIT_ASSERT_EQ(test, drm_ualink_init(&dev->drm, &gem_test_funcs, &caps), 0);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, 1, ~0, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, filp, 1, 0, &args), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, filp, 1), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, gem_test_import(test, filp, args.handle, 0, &import), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
					     sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.flags, DRM_UALINK_DEVICE_SUPPORTED);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &info, 1, 4),
			0);
	gem_test_close(filp);
}

#define MANY		30
#define MANY_DEAD	10

/* More imports than are copied at a time; returns the GEM handles of the exported objects. */
static void import_many(struct kunit *test, struct file *exporter, struct file *importer,
			u32 *handles, int *fds)
{
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	int i;

	for (i = 0; i < MANY; i++) {
		handles[i] = gem_test_object(test, exporter, TEST_PAGE);
		KUNIT_ASSERT_EQ(test, gem_test_export(test, exporter, handles[i], 0, &args), 0);
		KUNIT_ASSERT_EQ(test, gem_test_import(test, importer, args.handle, i, &import),
				0);
		fds[i] = import.fd;
	}
}

static int query_imports(struct kunit *test, struct file *filp,
			 struct drm_ualink_import_info *infos, u32 count)
{
	return gem_test_query(test, filp, DRM_UALINK_QUERY_IMPORTS, 0, infos, count,
			      sizeof(*infos));
}

static void gem_query_many(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_ualink_import_info *infos;
	u32 handles[MANY];
	int fds[MANY], i;
	u64 deaths = 0;

	infos = kunit_kcalloc(test, MANY + 1, sizeof(*infos), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, infos);
	import_many(test, a, b, handles, fds);
	for (i = 0; i < MANY_DEAD; i++) {
		KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handles[2 * (MANY_DEAD - i)]), 0);
		KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(b, &deaths) && deaths == i + 1));
	}

	/* The dead by their deaths, then the others by their first import */
	KUNIT_EXPECT_EQ(test, query_imports(test, b, infos, MANY + 1), MANY);
	for (i = 0; i < MANY_DEAD; i++) {
		KUNIT_EXPECT_EQ(test, infos[i].user_data, 2 * (MANY_DEAD - i));
		KUNIT_EXPECT_EQ(test, infos[i].death, DRM_UALINK_DEATH_REVOKED);
	}
	for (; i < MANY; i++) {
		KUNIT_EXPECT_LT(test, infos[i].user_data, MANY);
		KUNIT_EXPECT_EQ(test, infos[i].death, DRM_UALINK_ALIVE);
		if (i > MANY_DEAD)
			KUNIT_EXPECT_LT(test, infos[i - 1].user_data, infos[i].user_data);
	}

	/* As many as there is room for, in the same order */
	infos[3].user_data = U64_MAX;
	infos[17].user_data = U64_MAX;
	KUNIT_EXPECT_EQ(test, query_imports(test, b, infos, 17), MANY);
	KUNIT_EXPECT_EQ(test, infos[3].user_data, 2 * (MANY_DEAD - 3));
	KUNIT_EXPECT_EQ(test, infos[17].user_data, U64_MAX);

	/* Those that end alive are listed no more. */
	for (i = 0; i < MANY; i++)
		gem_test_close_fd(fds[i]);
	KUNIT_EXPECT_TRUE(test, SOON(query_imports(test, b, infos, MANY) == MANY_DEAD));
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 0));
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

struct revoker {
	struct work_struct work;
	struct drm_file *file;
	const u32 *handles;
	int error;
};

/* Every second one, slowly. */
static void revoker_work(struct work_struct *work)
{
	struct revoker *revoker = container_of(work, struct revoker, work);
	struct drm_device *drm = revoker->file->minor->dev;
	int i;

	for (i = 0; i < MANY; i += 2) {
		struct drm_gem_ualink_revoke args = { .gem_handle = revoker->handles[i] };

		revoker->error = drm_ualink_gem_revoke(drm, revoker->file, &args) ?:
				 revoker->error;
		usleep_range(500, 1000);
	}
}

/* While others die, each import that lives is listed exactly once, and none twice. */
static void gem_query_while_dying(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct revoker revoker = { .file = a->private_data };
	struct drm_ualink_import_info *infos;
	int fds[MANY], i, count, queries = 0;
	u32 handles[MANY];

	infos = kunit_kcalloc(test, MANY, sizeof(*infos), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, infos);
	import_many(test, a, b, handles, fds);
	revoker.handles = handles;
	INIT_WORK_ONSTACK(&revoker.work, revoker_work);
	queue_work(system_dfl_wq, &revoker.work);
	do {
		u32 living = 0, seen[MANY] = {};

		count = query_imports(test, b, infos, MANY);
		for (i = 0; i < min(count, MANY); i++) {
			KUNIT_ASSERT_LT(test, infos[i].user_data, MANY);
			KUNIT_EXPECT_EQ(test, seen[infos[i].user_data]++, 0);
			living += infos[i].user_data % 2;
		}
		KUNIT_EXPECT_EQ(test, living, MANY / 2);
		queries++;
	} while (work_busy(&revoker.work));
	flush_work(&revoker.work);
	destroy_work_on_stack(&revoker.work);
	KUNIT_EXPECT_EQ(test, revoker.error, 0);
	KUNIT_EXPECT_EQ(test, query_imports(test, b, infos, MANY), MANY);
	kunit_info(test, "%d queries\n", queries);

	for (i = 0; i < MANY; i++)
		gem_test_close_fd(fds[i]);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

static struct kunit_case query_cases[] = {
	KUNIT_CASE(gem_query),
	KUNIT_CASE(gem_query_many),
	KUNIT_CASE(gem_query_while_dying),
	KUNIT_CASE(gem_without),
	{}
};

static struct kunit_suite query_suite = {
	.name = "drm_ualink_query",
	.init = gem_test_init,
	.exit = gem_test_exit,
	.test_cases = query_cases,
};

kunit_test_suite(query_suite);
