// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The folder "ualink" of an accelerator in sysfs. What the files mean is in
 * Documentation/ABI/testing/sysfs-class-drm-ualink.
 */

#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "ualink_internal.h"

static struct ualink_device *kobj_to_udev(struct kobject *kobj)
{
	return container_of(kobj, struct ualink_device, kobj);
}

static ssize_t id_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", kobj_to_udev(kobj)->id);
}

static ssize_t vpod_id_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pUb\n", &kobj_to_udev(kobj)->vpod);
}

static const char *state_name(struct ualink_device *udev)
{
	static const char * const names[] = {
		[UALINK_DEVICE_INACTIVE] = "inactive",
		[UALINK_DEVICE_ACTIVATING] = "activating",
		[UALINK_DEVICE_ACTIVE] = "active",
		[UALINK_DEVICE_STOPPING] = "stopping",
		[UALINK_DEVICE_GONE] = "gone",
	};

	lockdep_assert_held(&udev->lock);

	return udev->wedged ? "wedged" : names[udev->state];
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct ualink_device *udev = kobj_to_udev(kobj);
	const char *name;

	spin_lock(&udev->lock);
	name = state_name(udev);
	spin_unlock(&udev->lock);
	return sysfs_emit(buf, "%s\n", name);
}

static ssize_t page_size_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", ualink_npa_page_size(&kobj_to_udev(kobj)->npa));
}

static ssize_t segment_size_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", kobj_to_udev(kobj)->npa.size);
}

static struct kobj_attribute id_attr = __ATTR_RO(id);
static struct kobj_attribute vpod_id_attr = __ATTR_RO(vpod_id);
static struct kobj_attribute state_attr = __ATTR_RO(state);
static struct kobj_attribute page_size_attr = __ATTR_RO(page_size);
static struct kobj_attribute segment_size_attr = __ATTR_RO(segment_size);

/* The file of a tunable. */
struct tunable_attribute {
	struct kobj_attribute attr;
	enum ualink_tunable which;
};

static enum ualink_tunable attr_to_tunable(struct kobj_attribute *attr)
{
	return container_of(attr, struct tunable_attribute, attr)->which;
}

static ssize_t tunable_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct ualink_device *udev = kobj_to_udev(kobj);

	return sysfs_emit(buf, "%llu\n", ualink_device_tunable(udev, attr_to_tunable(attr)));
}

static ssize_t tunable_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	struct ualink_device *udev = kobj_to_udev(kobj);
	u64 value;
	int ret;

	ret = kstrtou64(buf, 0, &value);
	if (ret)
		return ret;

	ret = ualink_device_set_tunable(udev, attr_to_tunable(attr), value);
	return ret ?: count;
}

static struct tunable_attribute heartbeat_ms_attr = {
	__ATTR(heartbeat_ms, 0644, tunable_show, tunable_store), UALINK_HEARTBEAT_MS,
};

static struct tunable_attribute request_ms_attr = {
	__ATTR(request_ms, 0644, tunable_show, tunable_store), UALINK_REQUEST_MS,
};

static struct tunable_attribute revoke_grace_ms_attr = {
	__ATTR(revoke_grace_ms, 0644, tunable_show, tunable_store), UALINK_REVOKE_GRACE_MS,
};

static struct tunable_attribute revoke_deadline_ms_attr = {
	__ATTR(revoke_deadline_ms, 0644, tunable_show, tunable_store), UALINK_REVOKE_DEADLINE_MS,
};

static struct tunable_attribute peer_timeout_ms_attr = {
	__ATTR(peer_timeout_ms, 0644, tunable_show, tunable_store), UALINK_PEER_TIMEOUT_MS,
};

static struct tunable_attribute cache_bytes_attr = {
	__ATTR(cache_bytes, 0644, tunable_show, tunable_store), UALINK_CACHE_BYTES,
};

static struct tunable_attribute cache_ms_attr = {
	__ATTR(cache_ms, 0644, tunable_show, tunable_store), UALINK_CACHE_MS,
};

static struct tunable_attribute max_export_bytes_attr = {
	__ATTR(max_export_bytes, 0644, tunable_show, tunable_store), UALINK_MAX_EXPORT_BYTES,
};

static struct attribute *ualink_device_attrs[] = {
	&id_attr.attr,
	&vpod_id_attr.attr,
	&state_attr.attr,
	&page_size_attr.attr,
	&segment_size_attr.attr,
	&heartbeat_ms_attr.attr.attr,
	&request_ms_attr.attr.attr,
	&revoke_grace_ms_attr.attr.attr,
	&revoke_deadline_ms_attr.attr.attr,
	&peer_timeout_ms_attr.attr.attr,
	&cache_bytes_attr.attr.attr,
	&cache_ms_attr.attr.attr,
	&max_export_bytes_attr.attr.attr,
	NULL
};
ATTRIBUTE_GROUPS(ualink_device);

const struct kobj_type ualink_device_ktype = {
	.release = ualink_device_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = ualink_device_groups,
};
