// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The dma-buf of an import, and who can do what with it.
 */

#include <linux/completion.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/mman.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "../drm_ualink_internal.h"
#include "drm_ualink_gem_test.h"

MODULE_IMPORT_NS("DMA_BUF");

static void gem_no_cpu_access(struct kunit *test)
{
	struct file *filp = gem_test_open(test, 0);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	struct dma_buf_attachment *attach;
	struct dma_buf *dma_buf;
	struct iosys_map map;
	u32 handle;

	handle = gem_test_object(test, filp, TEST_SIZE);
	KUNIT_ASSERT_EQ(test, gem_test_export(test, filp, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, filp, args.handle, 0, &import), 0);
	dma_buf = dma_buf_get(import.fd);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);

	KUNIT_EXPECT_EQ(test, dma_buf_begin_cpu_access(dma_buf, DMA_BIDIRECTIONAL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dma_buf_vmap_unlocked(dma_buf, &map), -EINVAL);
	KUNIT_EXPECT_EQ(test, (long)vm_mmap(dma_buf->file, 0, PAGE_SIZE, PROT_READ, MAP_SHARED, 0),
			-EOPNOTSUPP);
	attach = dma_buf_attach(dma_buf, gem_test_dev(test, 1)->drm.dev);
	KUNIT_EXPECT_PTR_EQ(test, attach, ERR_PTR(-EOPNOTSUPP));

	dma_buf_put(dma_buf);
	gem_test_close_fd(import.fd);
	gem_test_close(filp);
}

/* The dma-buf of one accelerator on another one: only with an import of its own. */
static void gem_prime_sibling(struct kunit *test)
{
	struct gem_test_device *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_import own, other;
	struct drm_gem_ualink_export args, refused;
	struct drm_gem_object *target, *alias;
	struct drm_ualink_window w[2];
	u32 exported = gem_test_object(test, a, TEST_SIZE), handle;
	struct dma_buf *dma_buf;

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, exported, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, a, args.handle, 0, &other), 0);
	KUNIT_EXPECT_EQ(test, drm_gem_prime_fd_to_handle(&dev->drm, b->private_data, other.fd,
							 &handle), -ENOENT);

	own = (struct drm_gem_ualink_import) { .flags = DRM_UALINK_IMPORT_READ_ONLY };
	memcpy(own.handle, args.handle, sizeof(own.handle));
	KUNIT_ASSERT_EQ(test, gem_test_ioctl(test, b, DRM_IOCTL_GEM_UALINK_IMPORT, &own), 0);
	handle = gem_test_fd_to_handle(test, b, other.fd);
	target = gem_test_object_of_fd(test, own.fd);
	alias = drm_gem_object_lookup(b->private_data, handle);
	KUNIT_ASSERT_NOT_NULL(test, alias);
	KUNIT_EXPECT_PTR_NE(test, alias, target);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_is_import(alias));
	KUNIT_EXPECT_EQ(test, gem_test_export(test, b, handle, 0, &refused), -EOPNOTSUPP);

	dma_resv_lock(target->resv, NULL);
	drm_ualink_gem_window(target, &w[0]);
	dma_resv_unlock(target->resv);
	dma_resv_lock(alias->resv, NULL);
	drm_ualink_gem_window(alias, &w[1]);
	KUNIT_EXPECT_FALSE(test, drm_ualink_gem_dead(alias));
	dma_resv_unlock(alias->resv);
	KUNIT_EXPECT_EQ(test, w[0].npa, w[1].npa);
	KUNIT_EXPECT_EQ(test, w[0].npa >> TEST_SEGMENT, gem_test_ids[0]);
	KUNIT_EXPECT_EQ(test, w[1].size, TEST_SIZE);
	KUNIT_EXPECT_EQ(test, w[0].access, UALINK_ACCESS_READ);
	KUNIT_EXPECT_EQ(test, w[1].access, UALINK_ACCESS_READ);

	/* What the device imports for from now on is good for the alias, too. */
	gem_test_close_fd(own.fd);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &own), 0);
	dma_resv_lock(alias->resv, NULL);
	drm_ualink_gem_window(alias, &w[1]);
	dma_resv_unlock(alias->resv);
	KUNIT_EXPECT_EQ(test, w[1].access, UALINK_ACCESS_READ | UALINK_ACCESS_WRITE);

	/* PRIME gives back the dma-buf that it came from. */
	dma_buf = drm_gem_prime_handle_to_dmabuf(&dev->drm, b->private_data, handle, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dma_buf);
	KUNIT_EXPECT_PTR_EQ(test, (struct drm_gem_object *)dma_buf->priv,
			    gem_test_object_of_fd(test, other.fd));
	dma_buf_put(dma_buf);

	/* The alias keeps the import; and dies with it. */
	gem_test_close_fd(own.fd);
	gem_test_close_fd(other.fd);
	KUNIT_EXPECT_EQ(test, atomic_read(&dev->destroyed), 0);
	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, exported), 0);
	dma_resv_lock(alias->resv, NULL);
	KUNIT_EXPECT_TRUE(test, drm_ualink_gem_dead(alias));
	dma_resv_unlock(alias->resv);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->zaps), 2);

	drm_gem_object_put(alias);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, gem_test_dev(test, 0));
	gem_test_expect_idle(test, dev);
}

struct maker {
	struct work_struct work;
	/* That of the import object: its dma-buf is being made */
	struct mutex *mutex;
	struct completion begun, end;
};

/* As one who makes a dma-buf, and needs long for it. */
static void maker_work(struct work_struct *work)
{
	struct maker *maker = container_of(work, struct maker, work);

	mutex_lock(maker->mutex);
	complete(&maker->begun);
	wait_for_completion(&maker->end);
	mutex_unlock(maker->mutex);
}

/* An import dies without a look at its dma-buf, which somebody may be making just now. */
static void gem_dies_in_time(struct kunit *test)
{
	struct gem_test_device *exporter = gem_test_dev(test, 0), *dev = gem_test_dev(test, 1);
	struct file *a = gem_test_open(test, 0), *b = gem_test_open(test, 1);
	struct drm_gem_ualink_import import;
	struct drm_gem_ualink_export args;
	struct maker maker = {};
	u32 handle = gem_test_object(test, a, TEST_SIZE);

	KUNIT_ASSERT_EQ(test, gem_test_export(test, a, handle, 0, &args), 0);
	KUNIT_ASSERT_EQ(test, gem_test_import(test, b, args.handle, 0, &import), 0);
	maker.mutex = &gem_test_object_of_fd(test, import.fd)->ualink->mutex;
	init_completion(&maker.begun);
	init_completion(&maker.end);
	INIT_WORK_ONSTACK(&maker.work, maker_work);
	queue_work(system_dfl_wq, &maker.work);
	wait_for_completion(&maker.begun);

	KUNIT_EXPECT_EQ(test, gem_test_revoke(test, a, handle), 0);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->zaps), 1);
	KUNIT_EXPECT_GE(test, atomic_read(&dev->flushes), 1);
	KUNIT_EXPECT_EQ(test, gem_test_info(exporter).npa_used, 0);
	KUNIT_EXPECT_EQ(test, gem_test_info(exporter).npa_quarantined, 0);
	complete(&maker.end);
	flush_work(&maker.work);
	destroy_work_on_stack(&maker.work);

	gem_test_close_fd(import.fd);
	gem_test_close(a);
	gem_test_close(b);
	gem_test_expect_idle(test, exporter);
	gem_test_expect_idle(test, dev);
}

static struct kunit_case prime_cases[] = {
	KUNIT_CASE(gem_no_cpu_access),
	KUNIT_CASE(gem_prime_sibling),
	KUNIT_CASE(gem_dies_in_time),
	{}
};

static struct kunit_suite prime_suite = {
	.name = "drm_ualink_prime",
	.init = gem_test_init,
	.exit = gem_test_exit,
	.test_cases = prime_cases,
};

kunit_test_suite(prime_suite);
