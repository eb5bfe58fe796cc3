// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem_ualink.h>

#include <uapi/drm/drm_ualink.h>

#include "drm_internal.h"

/**
 * DOC: UALink ioctls, entry
 *
 * What is the same for all drivers is checked here, and in this order: a device
 * without UALink says %-EOPNOTSUPP whatever the arguments are, then unknown
 * flags, padding that is not zero and deadlines before zero get
 * %-EINVAL, and only then the driver is called. The exception is
 * %DRM_UALINK_QUERY_DEVICE, which works on every device and answers zeros where
 * there is no UALink.
 */

int drm_gem_ualink_export_ioctl(struct drm_device *dev, void *data,
				struct drm_file *file_priv)
{
	struct drm_gem_ualink_export *args = data;

	if (!dev->ualink || !dev->driver->gem_ualink_export)
		return -EOPNOTSUPP;
	if (args->flags & ~DRM_UALINK_EXPORT_READ_ONLY || args->pad)
		return -EINVAL;

	return dev->driver->gem_ualink_export(dev, file_priv, args);
}

int drm_gem_ualink_import_ioctl(struct drm_device *dev, void *data,
				struct drm_file *file_priv)
{
	struct drm_gem_ualink_import *args = data;

	if (!dev->ualink || !dev->driver->gem_ualink_import)
		return -EOPNOTSUPP;
	if (args->flags & ~(DRM_UALINK_IMPORT_CLOEXEC | DRM_UALINK_IMPORT_READ_ONLY) ||
	    args->timeout_ns < 0)
		return -EINVAL;

	return dev->driver->gem_ualink_import(dev, file_priv, args);
}

int drm_gem_ualink_revoke_ioctl(struct drm_device *dev, void *data,
				struct drm_file *file_priv)
{
	struct drm_gem_ualink_revoke *args = data;

	if (!dev->ualink || !dev->driver->gem_ualink_revoke)
		return -EOPNOTSUPP;
	if (args->flags)
		return -EINVAL;

	return dev->driver->gem_ualink_revoke(dev, file_priv, args);
}

/**
 * drm_gem_ualink_query_room - begin to answer a query
 * @args: argument of the ioctl
 * @size: bytes that the kernel has for each element
 *
 * Return: the number of elements that user space has room for. With 0, it only
 * wants to know how many there are.
 */
u32 drm_gem_ualink_query_room(struct drm_gem_ualink_query *args, size_t size)
{
	u32 room = args->count;

	if (!room)
		args->stride = size;
	return room;
}
EXPORT_SYMBOL_GPL(drm_gem_ualink_query_room);

/**
 * drm_gem_ualink_query_put - give an element of an answer to user space
 * @args: argument of the ioctl
 * @index: which element
 * @elem: its content
 * @size: bytes in @elem; as many as fit are copied, the rest of the stride is
 *	zeroed
 *
 * Return: %0 on success, %-EFAULT otherwise.
 */
int drm_gem_ualink_query_put(const struct drm_gem_ualink_query *args, u32 index,
			     const void *elem, size_t size)
{
	void __user *to = u64_to_user_ptr(args->data_ptr) + (u64)index * args->stride;
	size_t known = min_t(size_t, size, args->stride);

	if (copy_to_user(to, elem, known) ||
	    clear_user(to + known, args->stride - known))
		return -EFAULT;
	return 0;
}
EXPORT_SYMBOL_GPL(drm_gem_ualink_query_put);

static bool query_valid(const struct drm_gem_ualink_query *args)
{
	if (args->kind > DRM_UALINK_QUERY_IMPORTERS || args->flags || args->pad)
		return false;
	if (args->arg && args->kind != DRM_UALINK_QUERY_IMPORTERS)
		return false;
	if (!args->count)
		return true;
	return args->stride && args->stride <= SZ_4K &&
	       args->stride % sizeof(u32) == 0;
}

static int query_no_ualink(struct drm_gem_ualink_query *args)
{
	static const struct drm_ualink_device_info none;
	u32 room = drm_gem_ualink_query_room(args, sizeof(none));

	args->count = 1;
	return room ? drm_gem_ualink_query_put(args, 0, &none, sizeof(none)) : 0;
}

int drm_gem_ualink_query_ioctl(struct drm_device *dev, void *data,
			       struct drm_file *file_priv)
{
	struct drm_gem_ualink_query *args = data;
	bool supported = dev->ualink && dev->driver->gem_ualink_query;

	if (!supported && args->kind != DRM_UALINK_QUERY_DEVICE)
		return -EOPNOTSUPP;
	if (!query_valid(args))
		return -EINVAL;
	if (!supported)
		return query_no_ualink(args);

	return dev->driver->gem_ualink_query(dev, file_priv, args);
}
