/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _DRM_UALINK_GEM_TEST_H_
#define _DRM_UALINK_GEM_TEST_H_

#include <kunit/test.h>

#include <linux/atomic.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/ualink.h>

#include <drm/drm_device.h>
#include <drm/drm_ualink.h>

/*
 * Two accelerators of a mock driver, with the real core between them and a fabric
 * of two rings, and the ioctls as user space calls them. For each test they are
 * made by gem_test_init(), active, and gem_test_exit() removes them.
 */

#define TEST_DEVICES	2
#define TEST_RING	64
#define TEST_PAGE	SZ_8K
#define TEST_SIZE	SZ_64K
#define TEST_FILE_CAP	(4 * TEST_SIZE)
#define TEST_DEVICE_CAP	(6 * TEST_SIZE)
#define TEST_SEGMENT	40

struct gem_test_ring {
	struct ualink_msg msgs[TEST_RING];
	u32 head, count;
};

struct gem_test_device {
	struct drm_device drm;
	struct gem_test_fabric *fabric;
	u32 index;
	/* What the next pin fails with, and how long it takes */
	int pin_error;
	u32 pin_ms;
	/* The next import that is freed stays, as if it had fences; it is @held then */
	bool hold;
	struct drm_gem_object *held;
	atomic_t pins, unpins, created, destroyed, imported, zaps, flushes, npa_maps, npa_unmaps;
};

struct gem_test_fabric {
	/* Protects the rings and whether an accelerator is there */
	spinlock_t lock;
	struct gem_test_ring rings[TEST_DEVICES][TEST_DEVICES];
	struct ualink_device *udevs[TEST_DEVICES];
	struct gem_test_device *devices[TEST_DEVICES];
	/* Messages get lost */
	bool mute;
	/* One page of user memory */
	unsigned long user;
};

extern const u32 gem_test_ids[TEST_DEVICES];
extern const struct drm_ualink_funcs gem_test_funcs;
struct gem_test_device *gem_test_alloc(struct kunit *test, struct device *parent);

int gem_test_init(struct kunit *test);
void gem_test_exit(struct kunit *test);
struct gem_test_device *gem_test_dev(struct kunit *test, int index);
struct ualink_device_info gem_test_info(struct gem_test_device *dev);
void gem_test_expect_idle(struct kunit *test, struct gem_test_device *dev);
void gem_test_let_go(struct gem_test_device *dev);

struct file *gem_test_open(struct kunit *test, int index);
void gem_test_close(struct file *filp);
void gem_test_close_fd(int fd);
u32 gem_test_object(struct kunit *test, struct file *filp, size_t size);
u32 gem_test_fd_to_handle(struct kunit *test, struct file *filp, int fd);
struct drm_gem_object *gem_test_object_of_fd(struct kunit *test, int fd);

int gem_test_ioctl(struct kunit *test, struct file *filp, unsigned int cmd, void *args);
int gem_test_query(struct kunit *test, struct file *filp, u32 kind, u32 arg, void *elems,
		   u32 count, u32 size);
int gem_test_export(struct kunit *test, struct file *filp, u32 handle, u32 flags,
		    struct drm_gem_ualink_export *args);
int gem_test_revoke(struct kunit *test, struct file *filp, u32 handle);
int gem_test_import(struct kunit *test, struct file *filp, const u8 *handle, u64 user_data,
		    struct drm_gem_ualink_import *args);

int gem_test_count_events(struct file *filp, u64 *deaths);
void gem_test_read_event(struct file *filp);

void gem_test_pause(void);

/* Whether something that the core's work items do happens within two seconds */
#define SOON(condition) ({ \
	int __tries = 400; \
	bool __done; \
	while (!(__done = (condition)) && __tries--) \
		gem_test_pause(); \
	__done; \
})

#endif /* _DRM_UALINK_GEM_TEST_H_ */
