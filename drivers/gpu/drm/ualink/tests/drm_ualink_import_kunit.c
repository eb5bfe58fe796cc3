// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * IMPORT, deaths, and events.
 */

#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/path.h>
#include <linux/workqueue.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "drm_ualink_gem_test.h"

static void gem_import_again(struct kunit *test)
{
	struct gem_test_device *exporter = gem_test_dev(test, 0), *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct file *c = gem_test_open(test, 1);
	u32 handle = gem_test_object(test, a, TEST_SIZE), imported;
	struct drm_gem_ualink_import first, second, third;
	struct drm_gem_ualink_export args;
	struct drm_ualink_import_info infos[2];
	struct drm_gem_object *obj;
	u32 ids[2];

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0x1111, &first), 0);
	KUNIT_EXPECT_EQ(test, first.size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, first.exporter_id, gem_test_ids[0]);
	KUNIT_EXPECT_EQ(test, first.access, DRM_UALINK_ACCESS_READ | DRM_UALINK_ACCESS_WRITE);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0x2222, &second), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, c, args.handle, 0x3333, &third), 0);

	obj = gem_test_object_of_fd(test, first.fd);
	KUNIT_EXPECT_PTR_EQ(test, gem_test_object_of_fd(test, second.fd), obj);
	KUNIT_EXPECT_PTR_EQ(test, gem_test_object_of_fd(test, third.fd), obj);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_is_import(obj));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->imported), 1);

	/* One entry, with what was said last */
	KUNIT_EXPECT_EQ(test, gem_test_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, infos, 2,
					     sizeof(infos[0])), 1);
	KUNIT_EXPECT_EQ(test, infos[0].user_data, 0x2222);
	KUNIT_EXPECT_EQ(test, infos[0].death, DRM_UALINK_ALIVE);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, c, DRM_UALINK_QUERY_IMPORTS, 0, infos, 2,
					     sizeof(infos[0])), 1);
	KUNIT_EXPECT_EQ(test, infos[0].user_data, 0x3333);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, a, DRM_UALINK_QUERY_IMPORTERS, handle, ids, 2,
					     sizeof(ids[0])), 1);
	KUNIT_EXPECT_EQ(test, ids[0], gem_test_ids[1]);

	/* PRIME: one object, one handle for each file, and it cannot be exported. */
	imported = gem_test_fd_to_handle(test, b, first.fd);
	KUNIT_EXPECT_EQ(test, gem_test_fd_to_handle(test, b, second.fd), imported);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, imported, 0, &args), -EOPNOTSUPP);

	/* The handle alone keeps it, and the dma-buf stays the same. */
	gem_test_close_fd(first.fd);
	gem_test_close_fd(second.fd);
	gem_test_close_fd(third.fd);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, c, first.handle, 0, &third), 0);
	KUNIT_EXPECT_PTR_EQ(test, gem_test_object_of_fd(test, third.fd), obj);
	gem_test_close_fd(third.fd);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->imported), 1);

	KUNIT_EXPECT_EQ(test, drm_gem_handle_delete(b->private_data, imported), 0);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == 1));
	KUNIT_EXPECT_EQ(test, gem_test_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, infos, 2,
					     sizeof(infos[0])), 0);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_close(c);
	gem_test_expect_idle(test, exporter);
	gem_test_expect_idle(test, dev);
}

/*
 * Somebody holds on to the path of a dma-buf's file, so that the dma-buf is there
 * while its file has been freed. The next import may not touch that.
 */
static void gem_import_late_release(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_import first, second;
	struct drm_gem_ualink_export args;
	struct file *others[16];
	struct dma_buf *dma_buf;
	struct path path;
	u32 handle;
	int i;

	handle = gem_test_object(test, a, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &first), 0);
	dma_buf = dma_buf_get(first.fd);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);
	path = dma_buf->file->f_path;
	path_get(&path);
	dma_buf_put(dma_buf);
	gem_test_close_fd(first.fd);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	/* One of these may get the memory of the file. */
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = gem_test_open(test, 1);

	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &second), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->imported), 1);
	gem_test_object_of_fd(test, second.fd);
	path_put(&path);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);

	/* The new one is still the one. */
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &first), 0);
	KUNIT_EXPECT_PTR_EQ(test, gem_test_object_of_fd(test, first.fd),
			    gem_test_object_of_fd(test, second.fd));
	gem_test_close_fd(first.fd);
	gem_test_close_fd(second.fd);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == 1));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		gem_test_close(others[i]);
	gem_test_close(a);
	gem_test_close(b);
}

static void gem_import_refused(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	u32 handle = gem_test_object(test, a, TEST_SIZE);
	struct drm_gem_ualink_export args;
	struct drm_gem_ualink_import import;
	u8 stranger[DRM_UALINK_HANDLE_SIZE] = { 7 };
	int fd;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, DRM_UALINK_EXPORT_READ_ONLY, &args),
			0);
	import = (struct drm_gem_ualink_import) { .flags = 4 };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import),
			-EINVAL);
	import = (struct drm_gem_ualink_import) { .timeout_ns = -1 };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import),
			-EINVAL);
	import = (struct drm_gem_ualink_import) { .timeout_ns = S64_MIN };
	KUNIT_EXPECT_EQ(test, gem_test_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import),
			-EINVAL);

	fd = get_unused_fd_flags(0);
	put_unused_fd(fd);
	KUNIT_EXPECT_EQ(test, gem_test_import(test, b, stranger, 0, &import), -EXDEV);
	KUNIT_EXPECT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), -EACCES);
	args.handle[15] ^= 0x80;
	KUNIT_EXPECT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), -ENOENT);
	args.handle[15] ^= 0x80;

	import = (struct drm_gem_ualink_import) { .flags = DRM_UALINK_IMPORT_READ_ONLY };
	memcpy(import.handle, args.handle, sizeof(import.handle));
	KUNIT_ASSERT_EQ(test, gem_test_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import), 0);
	KUNIT_EXPECT_EQ(test, import.access, DRM_UALINK_ACCESS_READ);
	/* No descriptor was lost on the way. */
	KUNIT_EXPECT_EQ(test, import.fd, fd);
	gem_test_close_fd(import.fd);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

static void gem_import_dies(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct file *c = gem_test_open(test, 1);
	struct drm_gem_ualink_import imports[3];
	struct drm_gem_ualink_export args;
	struct drm_ualink_import_info infos[4];
	struct drm_gem_object *obj;
	u64 deaths = 0;
	u32 handles[3], handle;
	int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		handles[i] = gem_test_object(test, a, TEST_SIZE);
		KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handles[i], 0, &args), 0);
		KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, i, &imports[i]), 0);
	}
	obj = gem_test_object_of_fd(test, imports[0].fd);
	KUNIT_EXPECT_EQ(test, gem_test_count_events(b, &deaths), 0);

	/* Two deaths, one event */
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handles[0]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(b, &deaths) == 1));
	KUNIT_EXPECT_EQ(test, deaths, 1);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->zaps), 1);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->flushes), 1);
	dma_resv_lock(obj->resv, NULL);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_dead(obj));
	dma_resv_unlock(obj->resv);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handles[1]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(b, &deaths) == 1 && deaths == 2));

	/* The dead cannot be named, and are listed before the living. */
	KUNIT_EXPECT_EQ(test, drm_gem_prime_fd_to_handle(&dev->drm, b->private_data,
							 imports[0].fd, &handle), -ENODEV);
	gem_test_close_fd(imports[0].fd);
	gem_test_close_fd(imports[1].fd);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == 2));
	KUNIT_EXPECT_EQ(test, gem_test_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, infos, 4,
					     sizeof(infos[0])), 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, infos[i].user_data, i);
		KUNIT_EXPECT_EQ(test, infos[i].death,
				i < 2 ? DRM_UALINK_DEATH_REVOKED : DRM_UALINK_ALIVE);
		KUNIT_EXPECT_MEMEQ(test, infos[i].handle, imports[i].handle,
				   sizeof(imports[i].handle));
	}

	/* Once it was read there can be another; who did not import hears nothing. */
	gem_test_read_event(b);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handles[2]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(b, &deaths) == 1 && deaths == 3));
	KUNIT_EXPECT_EQ(test, gem_test_count_events(c, &deaths), 0);

	gem_test_close_fd(imports[2].fd);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_close(c);
	gem_test_expect_idle(test, dev);
}

/* The core notes many deaths, and lets them be told: those from before the latest flush. */
static void gem_told_after_flush(struct kunit *test)
{
	struct ualink_device *udev = drm_ualink_device(&gem_test_dev(test, 1)->drm);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_import imports[2];
	struct drm_gem_ualink_export args;
	struct drm_gem_object *objs[2];
	u64 deaths = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(objs); i++) {
		KUNIT_ASSERT_EQ(test, gem_test_export(test, a, gem_test_object(test, a, TEST_SIZE),
						      0, &args), 0);
		KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, i, &imports[i]), 0);
		objs[i] = gem_test_object_of_fd(test, imports[i].fd);
	}
	drm_ualink_import_dead(udev, objs[0], UALINK_DEATH_PEER_LOST);
	drm_ualink_imports_died(udev);
	KUNIT_EXPECT_EQ(test, gem_test_count_events(b, &deaths), 0);

	KUNIT_EXPECT_EQ(test, drm_ualink_import_flush(udev), 0);
	drm_ualink_import_dead(udev, objs[1], UALINK_DEATH_PEER_LOST);
	drm_ualink_imports_died(udev);
	KUNIT_EXPECT_EQ(test, gem_test_count_events(b, &deaths), 1);
	KUNIT_EXPECT_EQ(test, deaths, 1);
	gem_test_read_event(b);

	KUNIT_EXPECT_EQ(test, drm_ualink_import_flush(udev), 0);
	drm_ualink_imports_died(udev);
	KUNIT_EXPECT_EQ(test, gem_test_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, NULL, 0, 0), 2);
	KUNIT_EXPECT_EQ(test, gem_test_count_events(b, &deaths), 1);
	KUNIT_EXPECT_EQ(test, deaths, 2);

	gem_test_close_fd(imports[0].fd);
	gem_test_close_fd(imports[1].fd);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

/* Deaths that come while nobody reads, and a file that is closed meanwhile */
static void gem_close_with_event(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	u32 handle = gem_test_object(test, a, TEST_SIZE);
	u64 deaths;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), 0);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handle), 0);
	KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(b, &deaths) == 1));
	gem_test_close(b);
	gem_test_close_fd(import.fd);

	/* And one that dies when its file is gone */
	b = gem_test_open(test, 1);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), 0);
	gem_test_close(b);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handle), 0);
	gem_test_close_fd(import.fd);
	gem_test_close(a);
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

static int import_until(struct kunit *test, struct file *filp, const u8 *handle,
			ktime_t deadline, struct drm_gem_ualink_import *args)
{
	*args = (struct drm_gem_ualink_import) { .timeout_ns = ktime_to_ns(deadline) };
	memcpy(args->handle, handle, sizeof(args->handle));
	return gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_IMPORT, args);
}

static void gem_import_deadline(struct kunit *test)
{
	struct gem_test_fabric *fabric = test->priv;
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_export known, unknown;
	struct drm_gem_ualink_import first, again;
	ktime_t start;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, gem_test_object(test, a, TEST_SIZE), 0,
					      &known), 0);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, gem_test_object(test, a, TEST_SIZE), 0,
					      &unknown), 0);
	KUNIT_ASSERT_EQ(test, import_until(test, b, known.handle, KTIME_MAX, &first), 0);

	WRITE_ONCE(fabric->mute, true);
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, import_until(test, b, unknown.handle, ktime_add_ms(start, 100),
					   &again), -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 100 - jiffies_to_msecs(1));
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 2000);

	/* What has passed is enough for what is there, and for nothing else. */
	start = ktime_get();
	KUNIT_EXPECT_EQ(test, import_until(test, b, unknown.handle, ns_to_ktime(1), &again),
			-ETIMEDOUT);
	KUNIT_EXPECT_LT(test, ktime_ms_delta(ktime_get(), start), 1000);
	KUNIT_ASSERT_EQ(test, import_until(test, b, known.handle, ns_to_ktime(1), &again), 0);
	KUNIT_EXPECT_PTR_EQ(test, gem_test_object_of_fd(test, first.fd),
			    gem_test_object_of_fd(test, again.fd));
	gem_test_close_fd(again.fd);

	WRITE_ONCE(fabric->mute, false);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, unknown.handle, 0, &again), 0);
	gem_test_close_fd(again.fd);
	gem_test_close_fd(first.fd);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 0));
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

struct late_import {
	struct work_struct work;
	struct drm_file *file;
	struct drm_gem_ualink_import args;
	int ret;
};

static void late_import_work(struct work_struct *work)
{
	struct late_import *late = container_of(work, struct late_import, work);

	late->ret = drm_ualink_gem_import(late->file->minor->dev, late->file, &late->args);
	if (!late->ret)
		close_fd(late->args.fd);
}

/* The last reference to the object is gone, and its destruction takes its time. */
static void gem_import_while_going(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct late_import late = { .file = b->private_data };
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, gem_test_object(test, a, TEST_SIZE), 0,
					      &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), 0);
	dev->hold = true;
	gem_test_close_fd(import.fd);
	KUNIT_ASSERT_TRUE(test, SOON(READ_ONCE(dev->held)));

	/* It is waited for, and nothing is made meanwhile. */
	KUNIT_EXPECT_EQ(test, import_until(test, b, args.handle, ktime_add_ms(ktime_get(), 100),
					   &import), -EBUSY);
	memcpy(late.args.handle, args.handle, sizeof(args.handle));
	INIT_WORK_ONSTACK(&late.work, late_import_work);
	queue_work(system_dfl_wq, &late.work);
	msleep(100);
	KUNIT_EXPECT_TRUE(test, work_busy(&late.work));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->created), 1);

	gem_test_let_go(dev);
	flush_work(&late.work);
	destroy_work_on_stack(&late.work);
	KUNIT_EXPECT_EQ(test, late.ret, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->created), 2);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 0));
	gem_test_expect_idle(test, dev);
}

struct storm {
	struct work_struct work;
	struct drm_file *file;
	struct storm_shared *shared;
	u32 object, rounds, imports;
};

struct storm_shared {
	/* Protects @handle */
	spinlock_t lock;
	u8 handle[DRM_UALINK_HANDLE_SIZE];
	unsigned long end;
	/* The first errno that nobody expects */
	int error;
};

static void storm_exporter(struct work_struct *work)
{
	struct storm *storm = container_of(work, struct storm, work);
	struct drm_device *drm = storm->file->minor->dev;
	int ret = 0;

	for (; !ret && time_before(jiffies, storm->shared->end); storm->rounds++) {
		struct drm_gem_ualink_export args = { .gem_handle = storm->object };
		struct drm_gem_ualink_revoke revoke = { .gem_handle = storm->object };

		ret = drm_ualink_gem_export(drm, storm->file, &args);
		if (ret)
			break;
		scoped_guard(spinlock, &storm->shared->lock)
			memcpy(storm->shared->handle, args.handle, sizeof(args.handle));
		usleep_range(500, 3000);
		ret = drm_ualink_gem_revoke(drm, storm->file, &revoke);
	}
	if (ret)
		storm->shared->error = ret;
}

static void storm_importer(struct work_struct *work)
{
	struct storm *storm = container_of(work, struct storm, work);
	struct drm_device *drm = storm->file->minor->dev;
	u32 handle;
	int ret;

	for (; time_before(jiffies, storm->shared->end); storm->rounds++) {
		struct drm_gem_ualink_import args = {};

		scoped_guard(spinlock, &storm->shared->lock)
			memcpy(args.handle, storm->shared->handle, sizeof(args.handle));
		ret = drm_ualink_gem_import(drm, storm->file, &args);
		if (!ret) {
			storm->imports++;
			ret = drm_gem_prime_fd_to_handle(drm, storm->file, args.fd, &handle);
			close_fd(args.fd);
			if (!ret)
				drm_gem_handle_delete(storm->file, handle);
		}
		if (ret && ret != -ENOENT && ret != -ENODEV)
			storm->shared->error = ret;
	}
}

/* Memory that comes and goes under its importers, with many names for it */
static void gem_storm(struct kunit *test)
{
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct file *c = gem_test_open(test, 1);
	struct file *files[] = { a, b, c, a };
	struct storm_shared shared = { .end = jiffies + HZ / 2 };
	struct storm storms[ARRAY_SIZE(files)];
	struct drm_gem_ualink_export args;
	u32 object = gem_test_object(test, a, TEST_SIZE);
	u32 imports = 0;
	int i;

	spin_lock_init(&shared.lock);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, object, 0, &args), 0);
	memcpy(shared.handle, args.handle, sizeof(args.handle));

	for (i = 0; i < ARRAY_SIZE(storms); i++) {
		storms[i] = (struct storm) {
			.file = files[i]->private_data,
			.shared = &shared,
			.object = object,
		};
		INIT_WORK_ONSTACK(&storms[i].work, i ? storm_importer : storm_exporter);
		queue_work(system_dfl_wq, &storms[i].work);
	}
	for (i = 0; i < ARRAY_SIZE(storms); i++) {
		flush_work(&storms[i].work);
		destroy_work_on_stack(&storms[i].work);
		KUNIT_EXPECT_GT(test, storms[i].rounds, 0);
		imports += storms[i].imports;
	}
	KUNIT_EXPECT_EQ(test, shared.error, 0);
	KUNIT_EXPECT_GT(test, imports, 0);
	kunit_info(test, "%u exports, %u imports\n", storms[0].rounds, imports);

	gem_test_close(a);
	gem_test_close(b);
	gem_test_close(c);
	gem_test_expect_idle(test, gem_test_dev(test, 0));
	gem_test_expect_idle(test, gem_test_dev(test, 1));
}

/* What unplug leaves behind: nothing that is pinned, but objects that are still named. */
static void gem_unplug(struct kunit *test)
{
	struct gem_test_device *exporter = gem_test_dev(test, 0), *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	struct drm_ualink_import_info info;
	u32 freed = gem_test_object(test, a, TEST_SIZE), kept = gem_test_object(test, a, TEST_SIZE);
	u64 deaths;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, freed, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, kept, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 9, &import), 0);
	KUNIT_EXPECT_EQ(test, drm_gem_handle_delete(a->private_data, freed), 0);

	drm_ualink_unplug(&exporter->drm);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->pins), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->unpins), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->destroyed), 1);
	KUNIT_EXPECT_EQ(test, gem_test_export(test, a, kept, 0, &args), -ENODEV);

	KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(b, &deaths) == 1));
	KUNIT_EXPECT_EQ(test, gem_test_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, &info, 1,
					     sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.user_data, 9);
	KUNIT_EXPECT_EQ(test, info.death, DRM_UALINK_DEATH_PEER_LEFT);
	drm_ualink_unplug(&dev->drm);

	gem_test_close_fd(import.fd);
	gem_test_close(a);
	gem_test_close(b);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->destroyed), atomic_read(&exporter->created));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), atomic_read(&dev->created));
}

static struct kunit_case import_cases[] = {
	KUNIT_CASE(gem_import_again),
	KUNIT_CASE(gem_import_late_release),
	KUNIT_CASE(gem_import_refused),
	KUNIT_CASE(gem_import_deadline),
	KUNIT_CASE(gem_import_while_going),
	KUNIT_CASE(gem_import_dies),
	KUNIT_CASE(gem_told_after_flush),
	KUNIT_CASE(gem_close_with_event),
	KUNIT_CASE_SLOW(gem_storm),
	KUNIT_CASE(gem_unplug),
	{}
};

static struct kunit_suite import_suite = {
	.name = "drm_ualink_import",
	.init = gem_test_init,
	.exit = gem_test_exit,
	.test_cases = import_cases,
};

kunit_test_suite(import_suite);
