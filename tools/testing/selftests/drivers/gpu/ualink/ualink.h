/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Two virtual accelerators, and what the tests do with them. What can fail
 * returns 0 or a negative errno.
 */
#ifndef UALINK_H
#define UALINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drm/drm_ualink.h>
#include <drm/vualink_drm.h>

#define UALINK_SIZE	(64u << 10)
#define NO_HANDLE	0xfffffff0u

struct ualink_dev {
	int fd;
	__u32 vm;
	struct drm_ualink_device_info info;
	/* memory of the system, and where the accelerator sees it */
	__u32 *window;
	__u64 window_va;
};

/* An object that one exports and the other has imported and mapped. */
struct ualink_pair {
	struct ualink_dev exporter;
	struct ualink_dev importer;
	__u32 own;
	__u64 own_va;
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	int fd;
	__u32 far;
	__u64 far_va;
};

int ualink_ioctl(int fd, unsigned long request, void *arg);

/* The first two active accelerators of a pod, or -ENODEV. */
int ualink_open_pair(struct ualink_dev *exporter, struct ualink_dev *importer);
/* Ends the program, as skipped, if there are none. */
void ualink_skip_without_pair(void);
void ualink_close(struct ualink_dev *dev);
/* The same, and an object of UALINK_SIZE that they share. */
int ualink_pair_init(struct ualink_pair *pair);
void ualink_pair_fini(struct ualink_pair *pair);

int ualink_info(const struct ualink_dev *dev, struct drm_ualink_device_info *info);
/* Whether the same is shared as when @before was asked for. */
bool ualink_unchanged(const struct ualink_dev *dev, const struct drm_ualink_device_info *before);

int ualink_bo(const struct ualink_dev *dev, __u64 size, __u32 *handle);
int ualink_gem_close(const struct ualink_dev *dev, __u32 handle);
int ualink_bind(const struct ualink_dev *dev, __u32 handle, __u64 va, __u64 size, __u32 flags);

int ualink_export(const struct ualink_dev *dev, __u32 bo, __u8 *handle);
int ualink_import(const struct ualink_dev *dev, const __u8 *handle, __u64 user_data, int *fd);
int ualink_revoke(const struct ualink_dev *dev, __u32 bo);
int ualink_from_fd(const struct ualink_dev *dev, int fd, __u32 *handle);

/* Words that depend on @seed, to or from an address of the accelerator. */
int ualink_store(const struct ualink_dev *dev, __u64 va, __u32 seed);
/* -EILSEQ if they are others */
int ualink_check(const struct ualink_dev *dev, __u64 va, __u32 seed);

#endif /* UALINK_H */
