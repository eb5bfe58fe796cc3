// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Exports, imports, events and dma-bufs: two accelerators of a mock driver, with
 * the real core between them and a fabric of two rings.
 */

#include <kunit/device.h>
#include <kunit/test.h>

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/iosys-map.h>
#include <linux/mman.h>
#include <linux/path.h>
#include <linux/sizes.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include <drm/drm_drv.h>
#include <drm/drm_exec.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_kunit_helpers.h>
#include <drm/drm_prime.h>
#include <drm/drm_ualink.h>

MODULE_IMPORT_NS("DMA_BUF");

#define TEST_DEVICES	2
#define TEST_RING	64
#define TEST_PAGE	SZ_8K
#define TEST_SIZE	SZ_64K
#define TEST_FILE_CAP	(4 * TEST_SIZE)
#define TEST_SEGMENT	40

static const u32 test_ids[TEST_DEVICES] = { 3, UALINK_MAX_IDS - 1 };

struct test_ring {
	struct ualink_msg msgs[TEST_RING];
	u32 head, count;
};

struct test_device {
	struct drm_device drm;
	struct test_fabric *fabric;
	u32 index;
	/* What the next pin fails with, and how long it takes */
	int pin_error;
	u32 pin_ms;
	atomic_t pins, unpins, created, destroyed, imported, zaps, flushes, npa_maps, npa_unmaps;
};

struct test_fabric {
	/* Protects the rings and whether an accelerator is there */
	spinlock_t lock;
	struct test_ring rings[TEST_DEVICES][TEST_DEVICES];
	struct ualink_device *udevs[TEST_DEVICES];
	struct test_device *devices[TEST_DEVICES];
	/* One page of user memory */
	unsigned long user;
};

static struct test_device *to_test(struct drm_device *drm)
{
	return container_of(drm, struct test_device, drm);
}

static struct test_device *udev_to_test(struct ualink_device *udev)
{
	return to_test(ualink_device_priv(udev));
}

static int id_to_index(u32 id)
{
	int i;

	for (i = 0; i < TEST_DEVICES; i++)
		if (test_ids[i] == id)
			return i;
	return -1;
}

static int test_send(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg)
{
	struct test_device *from = udev_to_test(udev);
	struct test_fabric *fabric = from->fabric;
	int to = id_to_index(dst);
	struct test_ring *ring;

	if (to < 0)
		return -ENOLINK;

	guard(spinlock)(&fabric->lock);
	ring = &fabric->rings[from->index][to];
	if (!fabric->udevs[to])
		return -ENOLINK;
	if (ring->count == TEST_RING)
		return -ENOSPC;
	ring->msgs[(ring->head + ring->count++) % TEST_RING] = *msg;
	ualink_notify_rx(fabric->udevs[to], test_ids[from->index]);
	return 0;
}

static int test_recv(struct ualink_device *udev, u32 src, struct ualink_msg *msg)
{
	struct test_device *to = udev_to_test(udev);
	struct test_fabric *fabric = to->fabric;
	int from = id_to_index(src);
	struct test_ring *ring;

	if (from < 0)
		return -EAGAIN;

	guard(spinlock)(&fabric->lock);
	ring = &fabric->rings[from][to->index];
	if (!ring->count)
		return -EAGAIN;
	*msg = ring->msgs[ring->head];
	ring->head = (ring->head + 1) % TEST_RING;
	if (ring->count-- == TEST_RING && fabric->udevs[from])
		ualink_notify_tx(fabric->udevs[from], test_ids[to->index]);
	return 0;
}

static int test_source_gate(struct ualink_device *udev, u32 src, bool open)
{
	return 0;
}

static int test_npa_map(struct ualink_device *udev, u64 offset, u64 size, bool read_only,
			void *priv)
{
	atomic_inc(&udev_to_test(udev)->npa_maps);
	return 0;
}

static void test_npa_unmap(struct ualink_device *udev, u64 offset, u64 size)
{
	atomic_inc(&udev_to_test(udev)->npa_unmaps);
}

static int test_npa_flush(struct ualink_device *udev, u64 offset, u64 size)
{
	return 0;
}

static const struct ualink_ops test_ualink_ops = {
	.owner = THIS_MODULE,
	DRM_UALINK_OPS,
	.send = test_send,
	.recv = test_recv,
	.source_gate = test_source_gate,
	.npa_map = test_npa_map,
	.npa_unmap = test_npa_unmap,
	.npa_flush = test_npa_flush,
};

static void test_bo_destroy(struct drm_gem_object *obj)
{
	atomic_inc(&to_test(obj->dev)->destroyed);
	drm_ualink_gem_release(obj);
	drm_gem_object_release(obj);
	kfree(obj);
}

static void test_bo_free(struct drm_gem_object *obj)
{
	if (!drm_ualink_gem_free(obj))
		test_bo_destroy(obj);
}

static const struct drm_gem_object_funcs test_bo_funcs = {
	.free = test_bo_free,
};

static const struct drm_gem_object_funcs test_import_funcs = {
	.free = test_bo_free,
	.export = drm_ualink_gem_prime_export,
};

static struct drm_gem_object *test_bo_create(struct drm_device *drm, size_t size,
					     const struct drm_gem_object_funcs *funcs)
{
	struct drm_gem_object *obj = kzalloc_obj(*obj);

	if (!obj)
		return ERR_PTR(-ENOMEM);
	obj->funcs = funcs;
	drm_gem_private_object_init(drm, obj, size);
	atomic_inc(&to_test(drm)->created);
	return obj;
}

static int test_pin(struct drm_gem_object *obj)
{
	struct test_device *dev = to_test(obj->dev);
	int ret = dev->pin_error;

	dev->pin_error = 0;
	if (ret)
		return ret;
	msleep(dev->pin_ms);
	atomic_inc(&dev->pins);
	return 0;
}

static void test_unpin(struct drm_gem_object *obj)
{
	dma_resv_lock(obj->resv, NULL);
	atomic_inc(&to_test(obj->dev)->unpins);
	dma_resv_unlock(obj->resv);
}

static struct drm_gem_object *test_import_create(struct drm_device *drm,
						 struct ualink_import *imp, u64 size)
{
	struct drm_gem_object *obj = test_bo_create(drm, size, &test_import_funcs);
	int ret;

	if (IS_ERR(obj))
		return obj;
	ret = drm_ualink_gem_init_import(obj, imp);
	if (ret) {
		drm_gem_object_put(obj);
		return ERR_PTR(ret);
	}
	atomic_inc(&to_test(drm)->imported);
	return obj;
}

static int test_zap(struct drm_gem_object *obj, struct drm_exec *exec, bool force)
{
	dma_resv_assert_held(obj->resv);
	atomic_inc(&to_test(obj->dev)->zaps);
	return 0;
}

static int test_flush(struct drm_device *drm)
{
	atomic_inc(&to_test(drm)->flushes);
	return 0;
}

static bool test_has_route(struct drm_device *drm, u32 id)
{
	return id_to_index(id) >= 0;
}

static const struct drm_ualink_funcs test_funcs = {
	.pin = test_pin,
	.unpin = test_unpin,
	.destroy = test_bo_destroy,
	.import_create = test_import_create,
	.zap = test_zap,
	.flush = test_flush,
	.has_route = test_has_route,
};

static struct drm_gem_object *test_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	if (drm_ualink_is_dma_buf(dma_buf))
		return drm_ualink_gem_prime_import(drm, dma_buf);
	return drm_gem_prime_import(drm, dma_buf);
}

DEFINE_DRM_GEM_FOPS(test_fops);

static const struct drm_driver test_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	DRM_UALINK_DRIVER_OPS,
	.gem_prime_import = test_prime_import,
	.postclose = drm_ualink_postclose,
	.fops = &test_fops,
	.name = "ualink-kunit",
	.desc = "UALink KUnit mock",
};

static void pause_a_bit(void)
{
	flush_delayed_fput();
	fsleep(5000);
}

/* Whether something that the core's work items do happens within two seconds */
#define SOON(condition) ({ \
	int __tries = 400; \
	bool __done; \
	while (!(__done = (condition)) && __tries--) \
		pause_a_bit(); \
	__done; \
})

static struct test_device *device_of(struct kunit *test, int index)
{
	struct test_fabric *fabric = test->priv;

	return fabric->devices[index];
}

static struct file *open_file(struct kunit *test, int index)
{
	struct file *filp = mock_drm_getfile(device_of(test, index)->drm.primary, O_RDWR);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, filp);
	return filp;
}

static void close_file(struct file *filp)
{
	fput(filp);
	flush_delayed_fput();
}

static void close_fd_now(int fd)
{
	close_fd(fd);
	flush_delayed_fput();
}

/* Through the whole of DRM's ioctl code, with arguments in user memory. */
static int do_ioctl(struct kunit *test, struct file *filp, unsigned int cmd, void *args)
{
	struct test_fabric *fabric = test->priv;
	void __user *user = (void __user *)fabric->user;
	int ret;

	KUNIT_ASSERT_EQ(test, copy_to_user(user, args, _IOC_SIZE(cmd)), 0);
	ret = drm_ioctl(filp, cmd, fabric->user);
	KUNIT_ASSERT_EQ(test, copy_from_user(args, user, _IOC_SIZE(cmd)), 0);
	return ret;
}

/* A query of at most @count elements of @size bytes; the number that there are, or an errno. */
static int do_query(struct kunit *test, struct file *filp, u32 kind, u32 arg, void *elems,
		    u32 count, u32 size)
{
	struct test_fabric *fabric = test->priv;
	struct drm_gem_ualink_query query = {
		.kind = kind,
		.arg = arg,
		.data_ptr = fabric->user + SZ_1K,
		.count = count,
		.stride = size,
	};
	void __user *data = u64_to_user_ptr(query.data_ptr);
	int ret;

	KUNIT_ASSERT_LE(test, count * size, PAGE_SIZE - SZ_1K);
	ret = do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query);
	if (ret)
		return ret;
	KUNIT_ASSERT_EQ(test, copy_from_user(elems, data, count * size), 0);
	return query.count;
}

/* A GEM handle of a new object on @filp. */
static u32 new_object(struct kunit *test, struct file *filp, size_t size)
{
	struct drm_file *file = filp->private_data;
	struct drm_gem_object *obj;
	u32 handle;

	obj = test_bo_create(file->minor->dev, size, &test_bo_funcs);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_ASSERT_EQ(test, drm_gem_handle_create(file, obj, &handle), 0);
	drm_gem_object_put(obj);
	return handle;
}

static int do_export(struct kunit *test, struct file *filp, u32 handle, u32 flags,
		     struct drm_gem_ualink_export *args)
{
	*args = (struct drm_gem_ualink_export) { .gem_handle = handle, .flags = flags };
	return do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_EXPORT, args);
}

static int do_revoke(struct kunit *test, struct file *filp, u32 handle)
{
	struct drm_gem_ualink_revoke args = { .gem_handle = handle };

	return do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_REVOKE, &args);
}

static int do_import(struct kunit *test, struct file *filp, const u8 *handle, u64 user_data,
		     struct drm_gem_ualink_import *args)
{
	*args = (struct drm_gem_ualink_import) { .user_data = user_data };
	memcpy(args->handle, handle, sizeof(args->handle));
	return do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_IMPORT, args);
}

static u32 fd_to_handle(struct kunit *test, struct file *filp, int fd)
{
	struct drm_file *file = filp->private_data;
	u32 handle;

	KUNIT_ASSERT_EQ(test, drm_gem_prime_fd_to_handle(file->minor->dev, file, fd, &handle), 0);
	return handle;
}

static struct drm_gem_object *object_of_fd(struct kunit *test, int fd)
{
	struct dma_buf *dma_buf = dma_buf_get(fd);
	struct drm_gem_object *obj;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);
	KUNIT_EXPECT_TRUE(test, drm_ualink_is_dma_buf(dma_buf));
	obj = dma_buf->priv;
	dma_buf_put(dma_buf);
	return obj;
}

/* The number of our events in the queue; the last one's content goes to @deaths. */
static int count_events(struct file *filp, u64 *deaths)
{
	struct drm_file *file = filp->private_data;
	struct drm_device *drm = file->minor->dev;
	struct drm_pending_event *e;
	int count = 0;

	guard(spinlock_irq)(&drm->event_lock);
	list_for_each_entry(e, &file->event_list, link) {
		if (e->event->type != DRM_EVENT_UALINK_IMPORTS_DIED)
			continue;
		*deaths = container_of(e->event, struct drm_ualink_event, base)->deaths;
		count++;
	}
	return count;
}

/* As drm_read() does. */
static void read_event(struct file *filp)
{
	struct drm_file *file = filp->private_data;
	struct drm_device *drm = file->minor->dev;
	struct drm_pending_event *e;

	spin_lock_irq(&drm->event_lock);
	e = list_first_entry(&file->event_list, struct drm_pending_event, link);
	file->event_space += e->event->length;
	list_del(&e->link);
	spin_unlock_irq(&drm->event_lock);
	kfree(e);
}

static struct ualink_device_info info_of(struct test_device *dev)
{
	struct ualink_device_info info;

	ualink_device_info(drm_ualink_device(&dev->drm), &info);
	return info;
}

static void expect_idle(struct kunit *test, struct test_device *dev)
{
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == atomic_read(&dev->created)));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), atomic_read(&dev->unpins));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->npa_maps), atomic_read(&dev->npa_unmaps));
	/* The core counts an export out after it has given the memory back. */
	KUNIT_EXPECT_TRUE(test, SOON(!info_of(dev).exported_bytes));
	KUNIT_EXPECT_EQ(test, info_of(dev).exports, 0);
}

static void gem_export_again(struct kunit *test)
{
	struct test_device *dev = device_of(test, 0);
	struct file *a = open_file(test, 0), *b = open_file(test, 0);
	struct drm_gem_ualink_export first, second;
	struct drm_ualink_export_info infos[2];
	struct drm_gem_object *obj;
	u32 handle, other;

	handle = new_object(test, a, TEST_SIZE);
	new_object(test, a, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, 0, &first), 0);
	KUNIT_EXPECT_EQ(test, first.size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, first.granularity, TEST_PAGE);
	KUNIT_EXPECT_EQ(test, do_export(test, a, handle, 0, &second), 0);
	KUNIT_EXPECT_MEMEQ(test, first.handle, second.handle, sizeof(first.handle));

	/* The same object by another file */
	obj = drm_gem_object_lookup(a->private_data, handle);
	KUNIT_ASSERT_EQ(test, drm_gem_handle_create(b->private_data, obj, &other), 0);
	drm_gem_object_put(obj);
	KUNIT_EXPECT_EQ(test, do_export(test, b, other, 0, &second), 0);
	KUNIT_EXPECT_MEMEQ(test, first.handle, second.handle, sizeof(first.handle));

	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->npa_maps), 1);

	KUNIT_EXPECT_EQ(test, do_query(test, a, DRM_UALINK_QUERY_EXPORTS, 0, infos, 2,
				       sizeof(infos[0])), 1);
	KUNIT_EXPECT_MEMEQ(test, first.handle, infos[0].handle, sizeof(first.handle));
	KUNIT_EXPECT_EQ(test, infos[0].gem_handle, handle);
	KUNIT_EXPECT_EQ(test, infos[0].size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, infos[0].importers, 0);

	/* The one who exported it first goes, the object stays. */
	close_file(a);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->unpins), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, b, other, 0, &second), 0);
	KUNIT_EXPECT_MEMEQ(test, first.handle, second.handle, sizeof(first.handle));

	close_file(b);
	expect_idle(test, dev);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
}

static void gem_export_other_flags(struct kunit *test)
{
	struct file *filp = open_file(test, 0);
	struct drm_gem_ualink_export args, again;
	u32 handle = new_object(test, filp, TEST_SIZE);

	KUNIT_ASSERT_EQ(test, do_export(test, filp, handle, DRM_UALINK_EXPORT_READ_ONLY, &args),
			0);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, handle, DRM_UALINK_EXPORT_READ_ONLY, &again),
			0);
	KUNIT_EXPECT_MEMEQ(test, args.handle, again.handle, sizeof(args.handle));
	KUNIT_EXPECT_EQ(test, do_export(test, filp, handle, 0, &again), 0);
	KUNIT_EXPECT_MEMEQ(test, args.handle, again.handle, sizeof(args.handle));

	handle = new_object(test, filp, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, do_export(test, filp, handle, 0, &args), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, handle, DRM_UALINK_EXPORT_READ_ONLY, &again),
			-EEXIST);
	close_file(filp);
}

static int export_to(struct kunit *test, struct file *filp, u32 handle, const u32 *ids,
		     u32 count, struct drm_gem_ualink_export *args)
{
	struct test_fabric *fabric = test->priv;
	u64 list = fabric->user + SZ_1K;

	KUNIT_ASSERT_EQ(test, copy_to_user(u64_to_user_ptr(list), ids, sizeof(*ids)), 0);
	*args = (struct drm_gem_ualink_export) {
		.gem_handle = handle,
		.allow_ptr = list,
		.allow_count = count,
	};
	return do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_EXPORT, args);
}

static void gem_export_allow(struct kunit *test)
{
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	u32 handle = new_object(test, a, TEST_SIZE);
	struct drm_gem_ualink_export args;
	struct drm_gem_ualink_import import;
	u32 id = UALINK_MAX_IDS;

	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, 1, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, 0, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, UALINK_MAX_IDS + 1, &args),
			-EINVAL);

	/* Nobody else sees that it exists. */
	id = test_ids[0];
	KUNIT_ASSERT_EQ(test, export_to(test, a, handle, &id, 1, &args), 0);
	KUNIT_EXPECT_EQ(test, do_import(test, b, args.handle, 0, &import), -ENOENT);
	KUNIT_ASSERT_EQ(test, do_import(test, a, args.handle, 0, &import), 0);
	close_fd_now(import.fd);

	id = test_ids[1];
	KUNIT_EXPECT_EQ(test, export_to(test, a, handle, &id, 1, &args), -EEXIST);
	close_file(a);
	close_file(b);
}

static void gem_export_refused(struct kunit *test)
{
	struct test_device *dev = device_of(test, 0);
	struct file *filp = open_file(test, 0);
	u32 handle = new_object(test, filp, TEST_SIZE);
	u32 small = new_object(test, filp, SZ_4K);
	struct drm_gem_ualink_export args;

	KUNIT_EXPECT_EQ(test, do_export(test, filp, handle, 2, &args), -EINVAL);
	args = (struct drm_gem_ualink_export) { .gem_handle = handle, .pad = 1 };
	KUNIT_EXPECT_EQ(test, do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_EXPORT, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, 12345, 0, &args), -ENOENT);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, small, 0, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 0);

	dev->pin_error = -EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, do_export(test, filp, handle, 0, &args), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, handle, 0, &args), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), 1);
	close_file(filp);
	expect_idle(test, dev);
}

static void gem_export_file_cap(struct kunit *test)
{
	struct file *a = open_file(test, 0), *b = open_file(test, 0);
	struct drm_gem_ualink_export args;
	u32 handles[TEST_FILE_CAP / TEST_SIZE + 1];
	int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++)
		handles[i] = new_object(test, a, TEST_SIZE);
	for (i = 0; i < ARRAY_SIZE(handles) - 1; i++)
		KUNIT_EXPECT_EQ(test, do_export(test, a, handles[i], 0, &args), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, a, handles[i], 0, &args), -EDQUOT);
	/* What is exported already costs nothing; others are not concerned. */
	KUNIT_EXPECT_EQ(test, do_export(test, a, handles[0], 0, &args), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, b, new_object(test, b, TEST_SIZE), 0, &args), 0);

	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handles[0]), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, a, handles[i], 0, &args), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, a, handles[0], 0, &args), -EDQUOT);
	close_file(a);
	close_file(b);
	expect_idle(test, device_of(test, 0));
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
	struct test_device *dev = device_of(test, 0);
	struct file *filp = open_file(test, 0);
	u32 handle = new_object(test, filp, TEST_SIZE);
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
	close_file(filp);
	expect_idle(test, dev);
}

static void gem_revoke(struct kunit *test)
{
	struct test_device *dev = device_of(test, 0);
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	u32 handle = new_object(test, a, TEST_SIZE);
	struct drm_gem_ualink_export old, new;
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_revoke args = { .gem_handle = handle, .flags = 1 };

	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handle), -ENOENT);
	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, 0, &old), 0);
	KUNIT_EXPECT_EQ(test, do_ioctl(test, a, DRM_IOCTL_GEM_UALINK_REVOKE, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handle), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->unpins), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handle), -ENOENT);
	KUNIT_EXPECT_EQ(test, do_import(test, b, old.handle, 0, &import), -ENOENT);

	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, 0, &new), 0);
	KUNIT_EXPECT_MEMNEQ(test, old.handle, new.handle, sizeof(old.handle));
	KUNIT_EXPECT_EQ(test, do_import(test, b, old.handle, 0, &import), -ENOENT);
	KUNIT_ASSERT_EQ(test, do_import(test, b, new.handle, 0, &import), 0);
	close_fd_now(import.fd);
	close_file(a);
	close_file(b);
	expect_idle(test, dev);
}

static void gem_import_again(struct kunit *test)
{
	struct test_device *exporter = device_of(test, 0), *dev = device_of(test, 1);
	struct file *a = open_file(test, 0), *b = open_file(test, 1), *c = open_file(test, 1);
	u32 handle = new_object(test, a, TEST_SIZE), imported;
	struct drm_gem_ualink_import first, second, third;
	struct drm_gem_ualink_export args;
	struct drm_ualink_import_info infos[2];
	struct drm_gem_object *obj;
	u32 ids[2];

	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0x1111, &first), 0);
	KUNIT_EXPECT_EQ(test, first.size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, first.exporter_id, test_ids[0]);
	KUNIT_EXPECT_EQ(test, first.access, DRM_UALINK_ACCESS_READ | DRM_UALINK_ACCESS_WRITE);
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0x2222, &second), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, c, args.handle, 0x3333, &third), 0);

	obj = object_of_fd(test, first.fd);
	KUNIT_EXPECT_PTR_EQ(test, object_of_fd(test, second.fd), obj);
	KUNIT_EXPECT_PTR_EQ(test, object_of_fd(test, third.fd), obj);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_is_import(obj));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->imported), 1);

	/* One entry, with what was said last */
	KUNIT_EXPECT_EQ(test, do_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, infos, 2,
				       sizeof(infos[0])), 1);
	KUNIT_EXPECT_EQ(test, infos[0].user_data, 0x2222);
	KUNIT_EXPECT_EQ(test, infos[0].death, DRM_UALINK_ALIVE);
	KUNIT_EXPECT_EQ(test, do_query(test, c, DRM_UALINK_QUERY_IMPORTS, 0, infos, 2,
				       sizeof(infos[0])), 1);
	KUNIT_EXPECT_EQ(test, infos[0].user_data, 0x3333);
	KUNIT_EXPECT_EQ(test, do_query(test, a, DRM_UALINK_QUERY_IMPORTERS, handle, ids, 2,
				       sizeof(ids[0])), 1);
	KUNIT_EXPECT_EQ(test, ids[0], test_ids[1]);

	/* PRIME: one object, one handle for each file, and it cannot be exported. */
	imported = fd_to_handle(test, b, first.fd);
	KUNIT_EXPECT_EQ(test, fd_to_handle(test, b, second.fd), imported);
	KUNIT_EXPECT_EQ(test, do_export(test, b, imported, 0, &args), -EOPNOTSUPP);

	/* The handle alone keeps it, and the dma-buf stays the same. */
	close_fd_now(first.fd);
	close_fd_now(second.fd);
	close_fd_now(third.fd);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, c, first.handle, 0, &third), 0);
	KUNIT_EXPECT_PTR_EQ(test, object_of_fd(test, third.fd), obj);
	close_fd_now(third.fd);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->imported), 1);

	KUNIT_EXPECT_EQ(test, drm_gem_handle_delete(b->private_data, imported), 0);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == 1));
	KUNIT_EXPECT_EQ(test, do_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, infos, 2,
				       sizeof(infos[0])), 0);
	close_file(a);
	close_file(b);
	close_file(c);
	expect_idle(test, exporter);
	expect_idle(test, dev);
}

/*
 * Somebody holds on to the path of a dma-buf's file, so that the dma-buf is there
 * while its file has been freed. The next import may not touch that.
 */
static void gem_import_late_release(struct kunit *test)
{
	struct test_device *dev = device_of(test, 1);
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	struct drm_gem_ualink_import first, second;
	struct drm_gem_ualink_export args;
	struct file *others[16];
	struct dma_buf *dma_buf;
	struct path path;
	int i;

	KUNIT_ASSERT_EQ(test, do_export(test, a, new_object(test, a, TEST_SIZE), 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0, &first), 0);
	dma_buf = dma_buf_get(first.fd);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);
	path = dma_buf->file->f_path;
	path_get(&path);
	dma_buf_put(dma_buf);
	close_fd_now(first.fd);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	/* One of these may get the memory of the file. */
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = open_file(test, 1);

	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0, &second), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->imported), 1);
	object_of_fd(test, second.fd);
	path_put(&path);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);

	/* The new one is still the one. */
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0, &first), 0);
	KUNIT_EXPECT_PTR_EQ(test, object_of_fd(test, first.fd), object_of_fd(test, second.fd));
	close_fd_now(first.fd);
	close_fd_now(second.fd);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == 1));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		close_file(others[i]);
	close_file(a);
	close_file(b);
}

static void gem_import_refused(struct kunit *test)
{
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	u32 handle = new_object(test, a, TEST_SIZE);
	struct drm_gem_ualink_export args;
	struct drm_gem_ualink_import import;
	u8 stranger[DRM_UALINK_HANDLE_SIZE] = { 7 };
	int fd;

	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, DRM_UALINK_EXPORT_READ_ONLY, &args), 0);
	import = (struct drm_gem_ualink_import) { .flags = 4 };
	KUNIT_EXPECT_EQ(test, do_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import), -EINVAL);
	import = (struct drm_gem_ualink_import) { .pad = 1 };
	KUNIT_EXPECT_EQ(test, do_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import), -EINVAL);

	fd = get_unused_fd_flags(0);
	put_unused_fd(fd);
	KUNIT_EXPECT_EQ(test, do_import(test, b, stranger, 0, &import), -EXDEV);
	KUNIT_EXPECT_EQ(test, do_import(test, b, args.handle, 0, &import), -EACCES);
	args.handle[15] ^= 0x80;
	KUNIT_EXPECT_EQ(test, do_import(test, b, args.handle, 0, &import), -ENOENT);
	args.handle[15] ^= 0x80;

	import = (struct drm_gem_ualink_import) { .flags = DRM_UALINK_IMPORT_READ_ONLY };
	memcpy(import.handle, args.handle, sizeof(import.handle));
	KUNIT_ASSERT_EQ(test, do_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &import), 0);
	KUNIT_EXPECT_EQ(test, import.access, DRM_UALINK_ACCESS_READ);
	/* No descriptor was lost on the way. */
	KUNIT_EXPECT_EQ(test, import.fd, fd);
	close_fd_now(import.fd);
	close_file(a);
	close_file(b);
	expect_idle(test, device_of(test, 1));
}

static void gem_import_dies(struct kunit *test)
{
	struct test_device *dev = device_of(test, 1);
	struct file *a = open_file(test, 0), *b = open_file(test, 1), *c = open_file(test, 1);
	struct drm_gem_ualink_import imports[3];
	struct drm_gem_ualink_export args;
	struct drm_ualink_import_info infos[4];
	struct drm_gem_object *obj;
	u64 deaths = 0;
	u32 handles[3], handle;
	int i;

	for (i = 0; i < ARRAY_SIZE(handles); i++) {
		handles[i] = new_object(test, a, TEST_SIZE);
		KUNIT_ASSERT_EQ(test, do_export(test, a, handles[i], 0, &args), 0);
		KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, i, &imports[i]), 0);
	}
	obj = object_of_fd(test, imports[0].fd);
	KUNIT_EXPECT_EQ(test, count_events(b, &deaths), 0);

	/* Two deaths, one event */
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handles[0]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(count_events(b, &deaths) == 1));
	KUNIT_EXPECT_EQ(test, deaths, 1);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->zaps), 1);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->flushes), 1);
	dma_resv_lock(obj->resv, NULL);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_dead(obj));
	dma_resv_unlock(obj->resv);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handles[1]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(count_events(b, &deaths) == 1 && deaths == 2));

	/* The dead cannot be named, and are listed before the living. */
	KUNIT_EXPECT_EQ(test, drm_gem_prime_fd_to_handle(&dev->drm, b->private_data,
							 imports[0].fd, &handle), -ENODEV);
	close_fd_now(imports[0].fd);
	close_fd_now(imports[1].fd);
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == 2));
	KUNIT_EXPECT_EQ(test, do_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, infos, 4,
				       sizeof(infos[0])), 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, infos[i].user_data, i);
		KUNIT_EXPECT_EQ(test, infos[i].death,
				i < 2 ? DRM_UALINK_DEATH_REVOKED : DRM_UALINK_ALIVE);
		KUNIT_EXPECT_MEMEQ(test, infos[i].handle, imports[i].handle,
				   sizeof(imports[i].handle));
	}

	/* Once it was read there can be another; who did not import hears nothing. */
	read_event(b);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handles[2]), 0);
	KUNIT_EXPECT_TRUE(test, SOON(count_events(b, &deaths) == 1 && deaths == 3));
	KUNIT_EXPECT_EQ(test, count_events(c, &deaths), 0);

	close_fd_now(imports[2].fd);
	close_file(a);
	close_file(b);
	close_file(c);
	expect_idle(test, dev);
}

/* Deaths that come while nobody reads, and a file that is closed meanwhile */
static void gem_close_with_event(struct kunit *test)
{
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	u32 handle = new_object(test, a, TEST_SIZE);
	u64 deaths;

	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0, &import), 0);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handle), 0);
	KUNIT_EXPECT_TRUE(test, SOON(count_events(b, &deaths) == 1));
	close_file(b);
	close_fd_now(import.fd);

	/* And one that dies when its file is gone */
	b = open_file(test, 1);
	KUNIT_ASSERT_EQ(test, do_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0, &import), 0);
	close_file(b);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, handle), 0);
	close_fd_now(import.fd);
	close_file(a);
	expect_idle(test, device_of(test, 1));
}

static void gem_no_cpu_access(struct kunit *test)
{
	struct file *filp = open_file(test, 0);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	struct dma_buf_attachment *attach;
	struct dma_buf *dma_buf;
	struct iosys_map map;

	KUNIT_ASSERT_EQ(test, do_export(test, filp, new_object(test, filp, TEST_SIZE), 0, &args),
			0);
	KUNIT_ASSERT_EQ(test, do_import(test, filp, args.handle, 0, &import), 0);
	dma_buf = dma_buf_get(import.fd);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);

	KUNIT_EXPECT_EQ(test, dma_buf_begin_cpu_access(dma_buf, DMA_BIDIRECTIONAL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dma_buf_vmap_unlocked(dma_buf, &map), -EINVAL);
	KUNIT_EXPECT_EQ(test, (long)vm_mmap(dma_buf->file, 0, PAGE_SIZE, PROT_READ, MAP_SHARED, 0),
			-EOPNOTSUPP);
	attach = dma_buf_attach(dma_buf, device_of(test, 1)->drm.dev);
	KUNIT_EXPECT_PTR_EQ(test, attach, ERR_PTR(-EOPNOTSUPP));

	dma_buf_put(dma_buf);
	close_fd_now(import.fd);
	close_file(filp);
}

/* The dma-buf of one accelerator on another one: only with an import of its own. */
static void gem_prime_sibling(struct kunit *test)
{
	struct test_device *dev = device_of(test, 1);
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	struct drm_gem_ualink_import own, other;
	struct drm_gem_ualink_export args, refused;
	struct drm_gem_object *target, *alias;
	struct drm_ualink_window w[2];
	u32 exported = new_object(test, a, TEST_SIZE), handle;
	struct dma_buf *dma_buf;

	KUNIT_ASSERT_EQ(test, do_export(test, a, exported, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, a, args.handle, 0, &other), 0);
	KUNIT_EXPECT_EQ(test, drm_gem_prime_fd_to_handle(&dev->drm, b->private_data, other.fd,
							 &handle), -ENOENT);

	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 0, &own), 0);
	handle = fd_to_handle(test, b, other.fd);
	target = object_of_fd(test, own.fd);
	alias = drm_gem_object_lookup(b->private_data, handle);
	KUNIT_ASSERT_NOT_NULL(test, alias);
	KUNIT_EXPECT_PTR_NE(test, alias, target);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_is_import(alias));
	KUNIT_EXPECT_EQ(test, do_export(test, b, handle, 0, &refused), -EOPNOTSUPP);

	dma_resv_lock(target->resv, NULL);
	drm_ualink_gem_window(target, &w[0]);
	dma_resv_unlock(target->resv);
	dma_resv_lock(alias->resv, NULL);
	drm_ualink_gem_window(alias, &w[1]);
	KUNIT_EXPECT_FALSE(test, drm_ualink_gem_dead(alias));
	dma_resv_unlock(alias->resv);
	KUNIT_EXPECT_EQ(test, w[0].npa, w[1].npa);
	KUNIT_EXPECT_EQ(test, w[0].npa >> TEST_SEGMENT, test_ids[0]);
	KUNIT_EXPECT_EQ(test, w[1].size, TEST_SIZE);

	/* PRIME gives back the dma-buf that it came from. */
	dma_buf = drm_gem_prime_handle_to_dmabuf(&dev->drm, b->private_data, handle, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);
	KUNIT_EXPECT_PTR_EQ(test, (struct drm_gem_object *)dma_buf->priv,
			    object_of_fd(test, other.fd));
	dma_buf_put(dma_buf);

	/* The alias keeps the import; and dies with it. */
	close_fd_now(own.fd);
	close_fd_now(other.fd);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	KUNIT_EXPECT_EQ(test, do_revoke(test, a, exported), 0);
	dma_resv_lock(alias->resv, NULL);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_dead(alias));
	dma_resv_unlock(alias->resv);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->zaps), 2);

	drm_gem_object_put(alias);
	close_file(a);
	close_file(b);
	expect_idle(test, device_of(test, 0));
	expect_idle(test, dev);
}

static void gem_query(struct kunit *test)
{
	struct test_fabric *fabric = test->priv;
	struct file *filp = open_file(test, 0);
	struct drm_ualink_device_info info;
	struct drm_ualink_peer_info peer;
	struct drm_gem_ualink_query query = { .kind = DRM_UALINK_QUERY_DEVICE };
	u8 wide[sizeof(info) + 8];

	KUNIT_EXPECT_EQ(test, do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query), 0);
	KUNIT_EXPECT_EQ(test, query.count, 1);
	KUNIT_EXPECT_EQ(test, query.stride, sizeof(info));

	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
				       sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.flags, DRM_UALINK_DEVICE_SUPPORTED |
			DRM_UALINK_DEVICE_PROVISIONED | DRM_UALINK_DEVICE_ACTIVE);
	KUNIT_EXPECT_EQ(test, info.id, test_ids[0]);
	KUNIT_EXPECT_EQ(test, info.granularity, TEST_PAGE);
	KUNIT_EXPECT_EQ(test, info.segment_size, 1ULL << TEST_SEGMENT);
	KUNIT_EXPECT_EQ(test, info.max_file_export_bytes, TEST_FILE_CAP);

	/* A program from the future, and one from the past */
	memset(wide, 0xff, sizeof(wide));
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, wide, 1,
				       sizeof(wide)), 1);
	KUNIT_EXPECT_TRUE(test, mem_is_zero(wide + sizeof(info), 8));
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info.flags, 1,
				       sizeof(info.flags)), 1);

	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &peer, 1,
				       sizeof(peer)), TEST_DEVICES - 1);
	KUNIT_EXPECT_EQ(test, peer.id, test_ids[1]);
	KUNIT_EXPECT_EQ(test, peer.flags & (DRM_UALINK_PEER_HARDWARE | DRM_UALINK_PEER_PERMITTED),
			DRM_UALINK_PEER_HARDWARE | DRM_UALINK_PEER_PERMITTED);

	KUNIT_EXPECT_EQ(test, do_query(test, filp, 5, 0, &info, 1, 4), -EINVAL);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_PEERS, 1, &peer, 1, 4),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &peer, 1, 3),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &peer, 1, 0),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_IMPORTERS, 99, &peer, 1, 4),
			-ENOENT);
	query = (struct drm_gem_ualink_query) { .flags = 1 };
	KUNIT_EXPECT_EQ(test, do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query), -EINVAL);
	query = (struct drm_gem_ualink_query) { .pad = 1 };
	KUNIT_EXPECT_EQ(test, do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query), -EINVAL);
	query = (struct drm_gem_ualink_query) { .count = 1, .stride = 8192 };
	KUNIT_EXPECT_EQ(test, do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query), -EINVAL);
	query = (struct drm_gem_ualink_query) {
		.count = 1,
		.stride = sizeof(info),
		.data_ptr = fabric->user + PAGE_SIZE - 8,
	};
	KUNIT_EXPECT_EQ(test, do_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query), -EFAULT);
	close_file(filp);
}

/* A device without UALink says so first; one that is not provisioned knows its arguments. */
static void gem_without(struct kunit *test)
{
	struct device *parent = drm_kunit_helper_alloc_device(test);
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_export args;
	struct drm_gem_ualink_import import;
	struct test_device *dev;
	struct file *filp;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, parent);
	dev = drm_kunit_helper_alloc_drm_device_with_driver(test, parent, struct test_device, drm,
							    &test_driver);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	filp = mock_drm_getfile(dev->drm.primary, O_RDWR);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, filp);

	KUNIT_EXPECT_EQ(test, do_export(test, filp, 1, ~0, &args), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, do_revoke(test, filp, 1), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, do_import(test, filp, args.handle, 0, &import), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, 77, 0, &info, 1, 4), -EOPNOTSUPP);
	memset(&info, 0xff, sizeof(info));
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
				       sizeof(info)), 1);
	KUNIT_EXPECT_TRUE(test, mem_is_zero(&info, sizeof(info)));

	KUNIT_ASSERT_EQ(test, drm_ualink_init(&dev->drm, &test_funcs, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, 1, ~0, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, do_export(test, filp, 1, 0, &args), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, do_revoke(test, filp, 1), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, do_import(test, filp, args.handle, 0, &import), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_DEVICE, 0, &info, 1,
				       sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.flags, DRM_UALINK_DEVICE_SUPPORTED);
	KUNIT_EXPECT_EQ(test, do_query(test, filp, DRM_UALINK_QUERY_PEERS, 0, &info, 1, 4), 0);
	close_file(filp);
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
	struct file *a = open_file(test, 0), *b = open_file(test, 1), *c = open_file(test, 1);
	struct file *files[] = { a, b, c, a };
	struct storm_shared shared = { .end = jiffies + HZ / 2 };
	struct storm storms[ARRAY_SIZE(files)];
	struct drm_gem_ualink_export args;
	u32 object = new_object(test, a, TEST_SIZE);
	u32 imports = 0;
	int i;

	spin_lock_init(&shared.lock);
	KUNIT_ASSERT_EQ(test, do_export(test, a, object, 0, &args), 0);
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

	close_file(a);
	close_file(b);
	close_file(c);
	expect_idle(test, device_of(test, 0));
	expect_idle(test, device_of(test, 1));
}

/* What unplug leaves behind: nothing that is pinned, but objects that are still named. */
static void gem_unplug(struct kunit *test)
{
	struct test_device *exporter = device_of(test, 0), *dev = device_of(test, 1);
	struct file *a = open_file(test, 0), *b = open_file(test, 1);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	struct drm_ualink_import_info info;
	u32 freed = new_object(test, a, TEST_SIZE), kept = new_object(test, a, TEST_SIZE);
	u64 deaths;

	KUNIT_ASSERT_EQ(test, do_export(test, a, freed, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_export(test, a, kept, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, do_import(test, b, args.handle, 9, &import), 0);
	KUNIT_EXPECT_EQ(test, drm_gem_handle_delete(a->private_data, freed), 0);

	drm_ualink_unplug(&exporter->drm);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->pins), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->unpins), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->destroyed), 1);
	KUNIT_EXPECT_EQ(test, do_export(test, a, kept, 0, &args), -ENODEV);

	KUNIT_EXPECT_TRUE(test, SOON(count_events(b, &deaths) == 1));
	KUNIT_EXPECT_EQ(test, do_query(test, b, DRM_UALINK_QUERY_IMPORTS, 0, &info, 1,
				       sizeof(info)), 1);
	KUNIT_EXPECT_EQ(test, info.user_data, 9);
	KUNIT_EXPECT_EQ(test, info.death, DRM_UALINK_DEATH_PEER_LEFT);
	drm_ualink_unplug(&dev->drm);

	close_fd_now(import.fd);
	close_file(a);
	close_file(b);
	KUNIT_EXPECT_EQ(test, atomic_read(&exporter->destroyed), atomic_read(&exporter->created));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), atomic_read(&dev->created));
}

static const char * const test_names[TEST_DEVICES] = { "ualink-kunit-0", "ualink-kunit-1" };

static void init_device(struct kunit *test, struct test_fabric *fabric, int index)
{
	struct device *parent = kunit_device_register(test, test_names[index]);
	DECLARE_BITMAP(members, UALINK_MAX_IDS) = {};
	struct ualink_device_params params = {
		.ops = &test_ualink_ops,
		.id = test_ids[index],
		.vpod = UUID_INIT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
		.members = members,
		.block_sizes = TEST_PAGE | SZ_2M,
		.segment_shift = TEST_SEGMENT,
	};
	struct test_device *dev;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, parent);
	dev = drm_kunit_helper_alloc_drm_device_with_driver(test, parent, struct test_device, drm,
							    &test_driver);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	dev->fabric = fabric;
	dev->index = index;
	for (i = 0; i < TEST_DEVICES; i++)
		__set_bit(test_ids[i], members);

	KUNIT_ASSERT_EQ(test, drm_ualink_init(&dev->drm, &test_funcs, TEST_FILE_CAP), 0);
	KUNIT_ASSERT_EQ(test, drm_ualink_provision(&dev->drm, &params), 0);
	KUNIT_ASSERT_EQ(test, drm_ualink_provision(&dev->drm, &params), -EBUSY);
	fabric->devices[index] = dev;
	fabric->udevs[index] = drm_ualink_device(&dev->drm);
}

static int gem_test_init(struct kunit *test)
{
	struct test_fabric *fabric;
	int i;

	fabric = kunit_kzalloc(test, sizeof(*fabric), GFP_KERNEL);
	if (!fabric)
		return -ENOMEM;
	spin_lock_init(&fabric->lock);
	test->priv = fabric;

	fabric->user = kunit_vm_mmap(test, NULL, 0, PAGE_SIZE, PROT_READ | PROT_WRITE,
				     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, fabric->user, 0);
	KUNIT_ASSERT_LT(test, fabric->user, (unsigned long)TASK_SIZE);

	for (i = 0; i < TEST_DEVICES; i++)
		init_device(test, fabric, i);
	for (i = 0; i < TEST_DEVICES; i++)
		KUNIT_ASSERT_EQ(test, ualink_device_activate(fabric->udevs[i]), 0);
	return 0;
}

static void gem_test_exit(struct kunit *test)
{
	struct test_fabric *fabric = test->priv;
	int i;

	if (!fabric)
		return;
	for (i = 0; i < TEST_DEVICES; i++) {
		scoped_guard(spinlock, &fabric->lock)
			fabric->udevs[i] = NULL;
		if (fabric->devices[i])
			drm_ualink_unplug(&fabric->devices[i]->drm);
	}
}

static struct kunit_case gem_cases[] = {
	KUNIT_CASE(gem_export_again),
	KUNIT_CASE(gem_export_other_flags),
	KUNIT_CASE(gem_export_allow),
	KUNIT_CASE(gem_export_refused),
	KUNIT_CASE(gem_export_file_cap),
	KUNIT_CASE(gem_export_race),
	KUNIT_CASE(gem_revoke),
	KUNIT_CASE(gem_import_again),
	KUNIT_CASE(gem_import_late_release),
	KUNIT_CASE(gem_import_refused),
	KUNIT_CASE(gem_import_dies),
	KUNIT_CASE(gem_close_with_event),
	KUNIT_CASE(gem_no_cpu_access),
	KUNIT_CASE(gem_prime_sibling),
	KUNIT_CASE(gem_query),
	KUNIT_CASE(gem_without),
	KUNIT_CASE_SLOW(gem_storm),
	KUNIT_CASE(gem_unplug),
	{}
};

static struct kunit_suite gem_suite = {
	.name = "drm_ualink_gem",
	.init = gem_test_init,
	.exit = gem_test_exit,
	.test_cases = gem_cases,
};

kunit_test_suite(gem_suite);
