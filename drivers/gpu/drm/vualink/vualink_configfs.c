// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/cleanup.h>
#include <linux/configfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include "vualink_config.h"
#include "vualink_configfs.h"
#include "vualink_device.h"
#include "vualink_pod.h"

/**
 * DOC: Making pods with configfs
 *
 * A folder in ``/sys/kernel/config/vualink`` is a pod, a folder in its
 * ``accels`` is an accelerator::
 *
 *	cd /sys/kernel/config/vualink
 *	mkdir pod
 *	mkdir pod/accels/a pod/accels/b
 *	echo 7 > pod/accels/b/id
 *	echo 0x2000000 > pod/accels/b/vram_size
 *	echo 1 > pod/enabled
 *	cat pod/accels/b/device
 *
 * The files are described in Documentation/ABI/testing/configfs-vualink. Only
 * ``plugged`` can be written while the pod is enabled: it plugs an accelerator in or out.
 */

/**
 * struct vualink_configfs_pod - /sys/kernel/config/vualink/<pod>
 */
struct vualink_configfs_pod {
	/** @group: the folder */
	struct config_group group;

	/** @accels: the folder "accels" in it */
	struct config_group accels;

	/** @lock: protects @config and all accelerators of the pod */
	struct mutex lock;

	/** @config: the pod */
	struct vualink_config_pod *config;
};

/**
 * struct vualink_configfs_accel - /sys/kernel/config/vualink/<pod>/accels/<accel>
 * @item: the folder
 * @pod: the pod it is in; outlives it
 * @config: the accelerator, protected by the lock of @pod
 */
struct vualink_configfs_accel {
	struct config_item item;
	struct vualink_configfs_pod *pod;
	struct vualink_config_accel *config;
};

static struct vualink_configfs_pod *item_to_pod(struct config_item *item)
{
	return container_of(to_config_group(item), struct vualink_configfs_pod,
			    group);
}

static struct vualink_configfs_pod *accels_to_pod(struct config_group *group)
{
	return container_of(group, struct vualink_configfs_pod, accels);
}

static struct vualink_configfs_accel *item_to_accel(struct config_item *item)
{
	return container_of(item, struct vualink_configfs_accel, item);
}

static bool pod_enabled(struct vualink_configfs_pod *pod)
{
	lockdep_assert_held(&pod->lock);
	return pod->config->fabric;
}

/* Return: 0, or -EINVAL if @page is not a uuid and perhaps a newline */
static int parse_uuid(const char *page, uuid_t *uuid)
{
	size_t len = strcspn(page, "\n");

	if (len != UUID_STRING_LEN)
		return -EINVAL;
	return uuid_parse(page, uuid);
}

/* Accelerators */

/* Stores bytes in a member of the accelerator's configuration. */
static ssize_t accel_store_size(struct vualink_configfs_accel *accel,
				const char *page, size_t count, u64 *member)
{
	u64 value;
	int ret;

	ret = kstrtou64(page, 0, &value);
	if (ret)
		return ret;
	guard(mutex)(&accel->pod->lock);
	if (pod_enabled(accel->pod))
		return -EBUSY;
	*member = value;
	return count;
}

static ssize_t accel_id_show(struct config_item *item, char *page)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	guard(mutex)(&accel->pod->lock);
	return sysfs_emit(page, "%u\n", accel->config->id);
}

static ssize_t accel_id_store(struct config_item *item, const char *page,
			      size_t count)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);
	u32 id;
	int ret;

	ret = kstrtou32(page, 0, &id);
	if (ret)
		return ret;
	guard(mutex)(&accel->pod->lock);
	if (pod_enabled(accel->pod))
		return -EBUSY;
	accel->config->id = id;
	return count;
}

static ssize_t accel_vram_size_show(struct config_item *item, char *page)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	guard(mutex)(&accel->pod->lock);
	return sysfs_emit(page, "%llu\n", accel->config->vram_size);
}

static ssize_t accel_vram_size_store(struct config_item *item, const char *page,
				     size_t count)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	return accel_store_size(accel, page, count, &accel->config->vram_size);
}

static ssize_t accel_visible_size_show(struct config_item *item, char *page)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	guard(mutex)(&accel->pod->lock);
	return sysfs_emit(page, "%llu\n", accel->config->visible_size);
}

static ssize_t accel_visible_size_store(struct config_item *item,
					const char *page, size_t count)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	return accel_store_size(accel, page, count,
				&accel->config->visible_size);
}

static ssize_t accel_vpod_show(struct config_item *item, char *page)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	guard(mutex)(&accel->pod->lock);
	if (!accel->config->own_vpod)
		return sysfs_emit(page, "pod\n");
	if (uuid_is_null(&accel->config->vpod))
		return sysfs_emit(page, "none\n");
	return sysfs_emit(page, "%pUb\n", &accel->config->vpod);
}

static ssize_t accel_vpod_store(struct config_item *item, const char *page,
				size_t count)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);
	bool own_vpod = !sysfs_streq(page, "pod");
	uuid_t vpod = uuid_null;
	int ret;

	if (own_vpod && !sysfs_streq(page, "none")) {
		ret = parse_uuid(page, &vpod);
		if (ret)
			return ret;
	}
	guard(mutex)(&accel->pod->lock);
	if (pod_enabled(accel->pod))
		return -EBUSY;
	accel->config->own_vpod = own_vpod;
	uuid_copy(&accel->config->vpod, &vpod);
	return count;
}

static ssize_t accel_plugged_show(struct config_item *item, char *page)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	guard(mutex)(&accel->pod->lock);
	return sysfs_emit(page, "%d\n", accel->config->plugged);
}

static ssize_t accel_plugged_store(struct config_item *item, const char *page,
				   size_t count)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);
	bool plugged;
	int ret;

	ret = kstrtobool(page, &plugged);
	if (ret)
		return ret;
	guard(mutex)(&accel->pod->lock);
	if (pod_enabled(accel->pod) && plugged && !accel->config->vdev) {
		ret = vualink_pod_plug(accel->config);
		if (ret)
			return ret;
	}
	if (!plugged)
		vualink_pod_unplug(accel->config);
	accel->config->plugged = plugged;
	return count;
}

static ssize_t accel_device_show(struct config_item *item, char *page)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	guard(mutex)(&accel->pod->lock);
	if (!accel->config->vdev)
		return 0;
	return sysfs_emit(page, "%s\n", dev_name(accel->config->vdev->drm.dev));
}

CONFIGFS_ATTR(accel_, id);
CONFIGFS_ATTR(accel_, vram_size);
CONFIGFS_ATTR(accel_, visible_size);
CONFIGFS_ATTR(accel_, vpod);
CONFIGFS_ATTR(accel_, plugged);
CONFIGFS_ATTR_RO(accel_, device);

static struct configfs_attribute *accel_attrs[] = {
	&accel_attr_id,
	&accel_attr_vram_size,
	&accel_attr_visible_size,
	&accel_attr_vpod,
	&accel_attr_plugged,
	&accel_attr_device,
	NULL,
};

static void accel_release(struct config_item *item)
{
	kfree(item_to_accel(item));
}

static struct configfs_item_operations accel_item_ops = {
	.release = accel_release,
};

static const struct config_item_type accel_type = {
	.ct_item_ops = &accel_item_ops,
	.ct_attrs = accel_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *accels_make_item(struct config_group *group,
					    const char *name)
{
	struct vualink_configfs_pod *pod = accels_to_pod(group);
	struct vualink_config_accel *config;
	struct vualink_configfs_accel *accel;

	guard(mutex)(&pod->lock);
	if (pod_enabled(pod))
		return ERR_PTR(-EBUSY);
	accel = kzalloc_obj(*accel);
	if (!accel)
		return ERR_PTR(-ENOMEM);
	config = vualink_config_accel_create(pod->config, name);
	if (IS_ERR(config)) {
		kfree(accel);
		return ERR_CAST(config);
	}
	accel->pod = pod;
	accel->config = config;
	config_item_init_type_name(&accel->item, name, &accel_type);
	return &accel->item;
}

static void accels_drop_item(struct config_group *group,
			     struct config_item *item)
{
	struct vualink_configfs_accel *accel = item_to_accel(item);

	scoped_guard(mutex, &accel->pod->lock) {
		vualink_pod_unplug(accel->config);
		vualink_config_accel_destroy(accel->config);
		accel->config = NULL;
	}
	config_item_put(item);
}

static struct configfs_group_operations accels_group_ops = {
	.make_item = accels_make_item,
	.drop_item = accels_drop_item,
};

static const struct config_item_type accels_type = {
	.ct_group_ops = &accels_group_ops,
	.ct_owner = THIS_MODULE,
};

/* Pods */

static ssize_t pod_uuid_show(struct config_item *item, char *page)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);

	guard(mutex)(&pod->lock);
	return sysfs_emit(page, "%pUb\n", &pod->config->uuid);
}

static ssize_t pod_uuid_store(struct config_item *item, const char *page,
			      size_t count)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);
	uuid_t uuid;
	int ret;

	ret = parse_uuid(page, &uuid);
	if (ret)
		return ret;
	guard(mutex)(&pod->lock);
	if (pod_enabled(pod))
		return -EBUSY;
	uuid_copy(&pod->config->uuid, &uuid);
	return count;
}

static ssize_t pod_segment_shift_show(struct config_item *item, char *page)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);

	guard(mutex)(&pod->lock);
	return sysfs_emit(page, "%u\n", pod->config->segment_shift);
}

static ssize_t pod_segment_shift_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);
	u32 shift;
	int ret;

	ret = kstrtou32(page, 0, &shift);
	if (ret)
		return ret;
	guard(mutex)(&pod->lock);
	if (pod_enabled(pod))
		return -EBUSY;
	pod->config->segment_shift = shift;
	return count;
}

static ssize_t pod_enabled_show(struct config_item *item, char *page)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);

	guard(mutex)(&pod->lock);
	return sysfs_emit(page, "%d\n", pod_enabled(pod));
}

static ssize_t pod_enabled_store(struct config_item *item, const char *page,
				 size_t count)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);
	bool enabled;
	int ret;

	ret = kstrtobool(page, &enabled);
	if (ret)
		return ret;
	guard(mutex)(&pod->lock);
	if (!enabled) {
		vualink_pod_disable(pod->config);
	} else if (!pod_enabled(pod)) {
		ret = vualink_pod_enable(pod->config);
		if (ret)
			return ret;
	}
	return count;
}

CONFIGFS_ATTR(pod_, uuid);
CONFIGFS_ATTR(pod_, segment_shift);
CONFIGFS_ATTR(pod_, enabled);

static struct configfs_attribute *pod_attrs[] = {
	&pod_attr_uuid,
	&pod_attr_segment_shift,
	&pod_attr_enabled,
	NULL,
};

static void pod_release(struct config_item *item)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);

	vualink_pod_disable(pod->config);
	vualink_config_pod_destroy(pod->config);
	mutex_destroy(&pod->lock);
	kfree(pod);
}

static struct configfs_item_operations pod_item_ops = {
	.release = pod_release,
};

static const struct config_item_type pod_type = {
	.ct_item_ops = &pod_item_ops,
	.ct_attrs = pod_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_group *root_make_group(struct config_group *group,
					    const char *name)
{
	struct vualink_config_pod *config;
	struct vualink_configfs_pod *pod;

	if (str_has_prefix(name, VUALINK_DEFAULT_POD))
		return ERR_PTR(-EINVAL);
	pod = kzalloc_obj(*pod);
	if (!pod)
		return ERR_PTR(-ENOMEM);
	config = vualink_config_pod_create(name);
	if (IS_ERR(config)) {
		kfree(pod);
		return ERR_CAST(config);
	}
	pod->config = config;
	mutex_init(&pod->lock);
	config_group_init_type_name(&pod->group, name, &pod_type);
	config_group_init_type_name(&pod->accels, "accels", &accels_type);
	configfs_add_default_group(&pod->accels, &pod->group);
	return &pod->group;
}

static void root_drop_item(struct config_group *group, struct config_item *item)
{
	struct vualink_configfs_pod *pod = item_to_pod(item);

	scoped_guard(mutex, &pod->lock)
		vualink_pod_disable(pod->config);
	config_item_put(item);
}

static struct configfs_group_operations root_group_ops = {
	.make_group = root_make_group,
	.drop_item = root_drop_item,
};

static const struct config_item_type root_type = {
	.ct_group_ops = &root_group_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem vualink_configfs = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "vualink",
			.ci_type = &root_type,
		},
	},
	.su_mutex = __MUTEX_INITIALIZER(vualink_configfs.su_mutex),
};

int vualink_configfs_register(void)
{
	config_group_init(&vualink_configfs.su_group);
	return configfs_register_subsystem(&vualink_configfs);
}

void vualink_configfs_unregister(void)
{
	configfs_unregister_subsystem(&vualink_configfs);
}
