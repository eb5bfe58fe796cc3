// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "vualink_config.h"
#include "vualink_hw.h"

/**
 * vualink_config_pod_create() - make a pod without accelerators
 * @name: its name
 *
 * Return: the pod, or an ERR_PTR: %-ENAMETOOLONG, %-ENOMEM.
 */
struct vualink_config_pod *vualink_config_pod_create(const char *name)
{
	struct vualink_config_pod *pod;

	pod = kzalloc_obj(*pod);
	if (!pod)
		return ERR_PTR(-ENOMEM);
	if (strscpy(pod->name, name) < 0) {
		kfree(pod);
		return ERR_PTR(-ENAMETOOLONG);
	}
	uuid_gen(&pod->uuid);
	pod->segment_shift = VUALINK_CONFIG_SEGMENT_SHIFT;
	INIT_LIST_HEAD(&pod->accels);
	return pod;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_pod_create);

/**
 * vualink_config_pod_destroy() - free a pod and its accelerators
 * @pod: the pod; not enabled
 */
void vualink_config_pod_destroy(struct vualink_config_pod *pod)
{
	struct vualink_config_accel *accel, *next;

	list_for_each_entry_safe(accel, next, &pod->accels, link)
		vualink_config_accel_destroy(accel);
	kfree(pod);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_pod_destroy);

static bool vualink_config_name_used(const struct vualink_config_pod *pod,
				     const char *name)
{
	const struct vualink_config_accel *accel;

	vualink_config_for_each_accel(accel, pod)
		if (!strcmp(accel->name, name))
			return true;
	return false;
}

static u32 vualink_config_free_id(const struct vualink_config_pod *pod)
{
	DECLARE_BITMAP(ids, VUALINK_HW_MAX_IDS) = {};
	const struct vualink_config_accel *accel;

	vualink_config_for_each_accel(accel, pod)
		if (accel->id < VUALINK_HW_MAX_IDS)
			__set_bit(accel->id, ids);
	return find_first_zero_bit(ids, VUALINK_HW_MAX_IDS);
}

/**
 * vualink_config_accel_create() - add an accelerator to a pod
 * @pod: the pod
 * @name: its name
 *
 * It gets the lowest free id, and else the defaults.
 *
 * Return: the accelerator, or an ERR_PTR: %-ENAMETOOLONG, %-EEXIST for a name
 * that the pod has already, %-ENOSPC when it is full, %-ENOMEM.
 */
struct vualink_config_accel *
vualink_config_accel_create(struct vualink_config_pod *pod, const char *name)
{
	struct vualink_config_accel *accel;

	if (vualink_config_name_used(pod, name))
		return ERR_PTR(-EEXIST);
	if (pod->num_accels == VUALINK_HW_MAX_IDS)
		return ERR_PTR(-ENOSPC);

	accel = kzalloc_obj(*accel);
	if (!accel)
		return ERR_PTR(-ENOMEM);
	if (strscpy(accel->name, name) < 0) {
		kfree(accel);
		return ERR_PTR(-ENAMETOOLONG);
	}
	accel->pod = pod;
	accel->id = vualink_config_free_id(pod);
	accel->vram_size = VUALINK_CONFIG_VRAM_SIZE;
	accel->visible_size = VUALINK_CONFIG_VISIBLE_SIZE;
	accel->plugged = true;
	list_add_tail(&accel->link, &pod->accels);
	pod->num_accels++;
	return accel;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_accel_create);

/**
 * vualink_config_accel_destroy() - take an accelerator out of its pod
 * @accel: the accelerator; not plugged in
 */
void vualink_config_accel_destroy(struct vualink_config_accel *accel)
{
	list_del(&accel->link);
	accel->pod->num_accels--;
	kfree(accel);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_accel_destroy);

/**
 * vualink_config_accel_vpod() - get the vPod of an accelerator
 * @accel: the accelerator
 *
 * Return: its uuid; all zeros if it is in none.
 */
const uuid_t *vualink_config_accel_vpod(const struct vualink_config_accel *accel)
{
	return accel->own_vpod ? &accel->vpod : &accel->pod->uuid;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_accel_vpod);

static bool vualink_config_size_valid(u64 size, u64 min, u64 max)
{
	return size >= min && size <= max && IS_ALIGNED(size, PAGE_SIZE);
}

static bool
vualink_config_accel_valid(const struct vualink_config_accel *accel)
{
	return accel->id < VUALINK_HW_MAX_IDS &&
	       vualink_config_size_valid(accel->vram_size,
					 VUALINK_CONFIG_MIN_VRAM_SIZE,
					 VUALINK_CONFIG_MAX_VRAM_SIZE) &&
	       vualink_config_size_valid(accel->visible_size, PAGE_SIZE,
					 accel->vram_size);
}

/**
 * vualink_config_pod_validate() - check that a pod can be made
 * @pod: the pod
 *
 * Return: 0; %-EINVAL when a value is out of its range; %-EEXIST when two
 * accelerators have the same id.
 */
int vualink_config_pod_validate(const struct vualink_config_pod *pod)
{
	DECLARE_BITMAP(ids, VUALINK_HW_MAX_IDS) = {};
	const struct vualink_config_accel *accel;

	if (uuid_is_null(&pod->uuid) ||
	    pod->segment_shift < VUALINK_CONFIG_MIN_SEGMENT_SHIFT ||
	    pod->segment_shift > VUALINK_HW_MAX_SEGMENT_SHIFT)
		return -EINVAL;

	vualink_config_for_each_accel(accel, pod) {
		if (!vualink_config_accel_valid(accel))
			return -EINVAL;
		if (__test_and_set_bit(accel->id, ids))
			return -EEXIST;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_pod_validate);

/**
 * vualink_config_default_create() - make a pod with accelerators 0, 1, ...
 * @name: its name
 * @accels: number of accelerators
 *
 * Return: the pod, or an ERR_PTR.
 */
struct vualink_config_pod *
vualink_config_default_create(const char *name, u32 accels)
{
	char accel_name[VUALINK_CONFIG_NAME_LEN];
	struct vualink_config_accel *accel;
	struct vualink_config_pod *pod;
	u32 i;

	pod = vualink_config_pod_create(name);
	if (IS_ERR(pod))
		return pod;
	for (i = 0; i < accels; i++) {
		snprintf(accel_name, sizeof(accel_name), "%u", i);
		accel = vualink_config_accel_create(pod, accel_name);
		if (IS_ERR(accel)) {
			vualink_config_pod_destroy(pod);
			return ERR_CAST(accel);
		}
	}
	return pod;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_config_default_create);
