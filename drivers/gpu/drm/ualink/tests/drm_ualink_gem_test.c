// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <kunit/device.h>

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/mman.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/uuid.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_kunit_helpers.h>
#include <drm/drm_prime.h>

#include "drm_ualink_gem_test.h"

MODULE_IMPORT_NS("DMA_BUF");

const u32 gem_test_ids[TEST_DEVICES] = { 3, UALINK_MAX_IDS - 1 };

static struct gem_test_device *to_gem_test(struct drm_device *drm)
{
	return container_of(drm, struct gem_test_device, drm);
}

static struct gem_test_device *udev_to_test(struct ualink_device *udev)
{
	return to_gem_test(ualink_device_priv(udev));
}

static int id_to_index(u32 id)
{
	int i;

	for (i = 0; i < TEST_DEVICES; i++)
		if (gem_test_ids[i] == id)
			return i;
	return -1;
}

static int test_send(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg)
{
	struct gem_test_device *from = udev_to_test(udev);
	struct gem_test_fabric *fabric = from->fabric;
	int to = id_to_index(dst);
	struct gem_test_ring *ring;

	if (to < 0)
		return -ENOLINK;

	guard(spinlock)(&fabric->lock);
	ring = &fabric->rings[from->index][to];
	if (!fabric->udevs[to])
		return -ENOLINK;
	if (ring->count == TEST_RING)
		return -ENOSPC;
	if (READ_ONCE(fabric->mute))
		return 0;
	ring->msgs[(ring->head + ring->count++) % TEST_RING] = *msg;
	ualink_notify_rx(fabric->udevs[to], gem_test_ids[from->index]);
	return 0;
}

static int test_recv(struct ualink_device *udev, u32 src, struct ualink_msg *msg)
{
	struct gem_test_device *to = udev_to_test(udev);
	struct gem_test_fabric *fabric = to->fabric;
	int from = id_to_index(src);
	struct gem_test_ring *ring;

	if (from < 0)
		return -EAGAIN;

	guard(spinlock)(&fabric->lock);
	ring = &fabric->rings[from][to->index];
	if (!ring->count)
		return -EAGAIN;
	*msg = ring->msgs[ring->head];
	ring->head = (ring->head + 1) % TEST_RING;
	if (ring->count-- == TEST_RING && fabric->udevs[from])
		ualink_notify_tx(fabric->udevs[from], gem_test_ids[to->index]);
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
	atomic_inc(&to_gem_test(obj->dev)->destroyed);
	drm_ualink_gem_release(obj);
	drm_gem_object_release(obj);
	kfree(obj);
}

static void test_bo_free(struct drm_gem_object *obj)
{
	if (!drm_ualink_gem_free(obj))
		test_bo_destroy(obj);
}

static void test_import_free(struct drm_gem_object *obj)
{
	struct gem_test_device *dev = to_gem_test(obj->dev);

	if (!dev->hold) {
		test_bo_free(obj);
		return;
	}
	dev->hold = false;
	WRITE_ONCE(dev->held, obj);
}

/* Frees the import that was held, after all. */
void gem_test_let_go(struct gem_test_device *dev)
{
	struct drm_gem_object *obj = dev->held;

	dev->held = NULL;
	test_bo_free(obj);
}

static const struct drm_gem_object_funcs test_bo_funcs = {
	.free = test_bo_free,
};

static const struct drm_gem_object_funcs test_import_funcs = {
	.free = test_import_free,
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
	atomic_inc(&to_gem_test(drm)->created);
	return obj;
}

static int test_pin(struct drm_gem_object *obj)
{
	struct gem_test_device *dev = to_gem_test(obj->dev);
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
	atomic_inc(&to_gem_test(obj->dev)->unpins);
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
	atomic_inc(&to_gem_test(drm)->imported);
	return obj;
}

static int test_zap(struct drm_gem_object *obj, struct drm_exec *exec, bool force)
{
	dma_resv_assert_held(obj->resv);
	atomic_inc(&to_gem_test(obj->dev)->zaps);
	return 0;
}

static int test_flush(struct drm_device *drm)
{
	atomic_inc(&to_gem_test(drm)->flushes);
	return 0;
}

static bool test_has_route(struct drm_device *drm, u32 id)
{
	return id_to_index(id) >= 0;
}

const struct drm_ualink_funcs gem_test_funcs = {
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

static const struct drm_driver gem_test_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	DRM_UALINK_DRIVER_OPS,
	.gem_prime_import = test_prime_import,
	.postclose = drm_ualink_postclose,
	.fops = &test_fops,
	.name = "ualink-kunit",
	.desc = "UALink KUnit mock",
};

void gem_test_pause(void)
{
	flush_delayed_fput();
	fsleep(5000);
}

struct gem_test_device *gem_test_dev(struct kunit *test, int index)
{
	struct gem_test_fabric *fabric = test->priv;

	return fabric->devices[index];
}

struct file *gem_test_open(struct kunit *test, int index)
{
	struct file *filp = mock_drm_getfile(gem_test_dev(test, index)->drm.primary, O_RDWR);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, filp);
	return filp;
}

void gem_test_close(struct file *filp)
{
	fput(filp);
	flush_delayed_fput();
}

void gem_test_close_fd(int fd)
{
	close_fd(fd);
	flush_delayed_fput();
}

/* Through the whole of DRM's ioctl code, with arguments in user memory. */
int gem_test_ioctl(struct kunit *test, struct file *filp, unsigned int cmd, void *args)
{
	struct gem_test_fabric *fabric = test->priv;
	void __user *user = (void __user *)fabric->user;
	int ret;

	KUNIT_ASSERT_EQ(test, copy_to_user(user, args, _IOC_SIZE(cmd)), 0);
	ret = drm_ioctl(filp, cmd, fabric->user);
	KUNIT_ASSERT_EQ(test, copy_from_user(args, user, _IOC_SIZE(cmd)), 0);
	return ret;
}

/* A query of at most @count elements of @size bytes; the number that there are, or an errno. */
int gem_test_query(struct kunit *test, struct file *filp, u32 kind, u32 arg, void *elems,
		   u32 count, u32 size)
{
	struct gem_test_fabric *fabric = test->priv;
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
	ret = gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_QUERY, &query);
	if (ret)
		return ret;
	KUNIT_ASSERT_EQ(test, copy_from_user(elems, data, count * size), 0);
	return query.count;
}

/* A GEM handle of a new object on @filp. */
u32 gem_test_object(struct kunit *test, struct file *filp, size_t size)
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

int gem_test_export(struct kunit *test, struct file *filp, u32 handle, u32 flags,
		    struct drm_gem_ualink_export *args)
{
	*args = (struct drm_gem_ualink_export) { .gem_handle = handle, .flags = flags };
	return gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_EXPORT, args);
}

int gem_test_revoke(struct kunit *test, struct file *filp, u32 handle)
{
	struct drm_gem_ualink_revoke args = { .gem_handle = handle };

	return gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_REVOKE, &args);
}

int gem_test_import(struct kunit *test, struct file *filp, const u8 *handle, u64 user_data,
		    struct drm_gem_ualink_import *args)
{
	*args = (struct drm_gem_ualink_import) { .user_data = user_data };
	memcpy(args->handle, handle, sizeof(args->handle));
	return gem_test_ioctl(test, filp, DRM_IOCTL_GEM_UALINK_IMPORT, args);
}

u32 gem_test_fd_to_handle(struct kunit *test, struct file *filp, int fd)
{
	struct drm_file *file = filp->private_data;
	u32 handle;

	KUNIT_ASSERT_EQ(test, drm_gem_prime_fd_to_handle(file->minor->dev, file, fd, &handle), 0);
	return handle;
}

struct drm_gem_object *gem_test_object_of_fd(struct kunit *test, int fd)
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
int gem_test_count_events(struct file *filp, u64 *deaths)
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
void gem_test_read_event(struct file *filp)
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

struct ualink_device_info gem_test_info(struct gem_test_device *dev)
{
	struct ualink_device_info info;

	ualink_device_get_info(drm_ualink_device(&dev->drm), &info);
	return info;
}

void gem_test_expect_idle(struct kunit *test, struct gem_test_device *dev)
{
	KUNIT_EXPECT_TRUE(test, SOON(atomic_read(&dev->destroyed) == atomic_read(&dev->created)));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->pins), atomic_read(&dev->unpins));
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->npa_maps), atomic_read(&dev->npa_unmaps));
	/* The core counts an export out after it has given the memory back. */
	KUNIT_EXPECT_TRUE(test, SOON(!gem_test_info(dev).exported_bytes));
	KUNIT_EXPECT_EQ(test, gem_test_info(dev).exports, 0);
}

/* A device of the mock driver that has no UALink yet. */
struct gem_test_device *gem_test_alloc(struct kunit *test, struct device *parent)
{
	struct gem_test_device *dev;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, parent);
	dev = drm_kunit_helper_alloc_drm_device_with_driver(test, parent, struct gem_test_device,
							    drm,
							    &gem_test_driver);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	return dev;
}

static const char * const test_names[TEST_DEVICES] = { "ualink-kunit-0", "ualink-kunit-1" };

static void init_device(struct kunit *test, struct gem_test_fabric *fabric, int index)
{
	struct device *parent = kunit_device_register(test, test_names[index]);
	DECLARE_BITMAP(members, UALINK_MAX_IDS) = {};
	struct ualink_device_params params = {
		.ops = &test_ualink_ops,
		.id = gem_test_ids[index],
		.vpod = UUID_INIT(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
		.members = members,
		.block_sizes = TEST_PAGE | SZ_2M,
		.segment_shift = TEST_SEGMENT,
	};
	static const struct drm_ualink_caps caps = {
		.device = TEST_DEVICE_CAP,
		.file = TEST_FILE_CAP,
	};
	struct gem_test_device *dev;
	int i;

	dev = gem_test_alloc(test, parent);
	dev->fabric = fabric;
	dev->index = index;
	for (i = 0; i < TEST_DEVICES; i++)
		__set_bit(gem_test_ids[i], members);

	KUNIT_ASSERT_EQ(test, drm_ualink_init(&dev->drm, &gem_test_funcs, &caps), 0);
	KUNIT_ASSERT_EQ(test, drm_ualink_provision(&dev->drm, &params), 0);
	KUNIT_ASSERT_EQ(test, drm_ualink_provision(&dev->drm, &params), -EBUSY);
	fabric->devices[index] = dev;
	fabric->udevs[index] = drm_ualink_device(&dev->drm);
}

int gem_test_init(struct kunit *test)
{
	struct gem_test_fabric *fabric;
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

void gem_test_exit(struct kunit *test)
{
	struct gem_test_fabric *fabric = test->priv;
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
