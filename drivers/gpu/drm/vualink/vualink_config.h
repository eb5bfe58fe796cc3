/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_CONFIG_H_
#define _VUALINK_CONFIG_H_

#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uuid.h>

struct vualink_device;
struct vualink_fabric;

#define VUALINK_CONFIG_NAME_LEN		32

#define VUALINK_CONFIG_SEGMENT_SHIFT	36
#define VUALINK_CONFIG_VRAM_SIZE	SZ_64M
#define VUALINK_CONFIG_VISIBLE_SIZE	SZ_16M

#define VUALINK_CONFIG_MIN_SEGMENT_SHIFT	22
#define VUALINK_CONFIG_MIN_VRAM_SIZE		SZ_1M
#define VUALINK_CONFIG_MAX_VRAM_SIZE		(64ULL * SZ_1G)

/**
 * struct vualink_config_pod - what a pod is made of
 *
 * Pure data, with no lock of its own: whoever made it serializes its use.
 */
struct vualink_config_pod {
	/** @name: unique name */
	char name[VUALINK_CONFIG_NAME_LEN];

	/** @uuid: vPod of all accelerators that have no other */
	uuid_t uuid;

	/** @segment_shift: log2 of the bytes of each NPA segment */
	u32 segment_shift;

	/** @accels: list of &vualink_config_accel.link */
	struct list_head accels;

	/** @num_accels: length of @accels */
	u32 num_accels;

	/** @fabric: only while the pod is enabled */
	struct vualink_fabric *fabric;
};

/**
 * struct vualink_config_accel - what an accelerator is made of
 */
struct vualink_config_accel {
	/** @link: entry in &vualink_config_pod.accels */
	struct list_head link;

	/** @pod: the pod it belongs to */
	struct vualink_config_pod *pod;

	/** @name: name, unique in the pod */
	char name[VUALINK_CONFIG_NAME_LEN];

	/** @id: accelerator id, unique in the pod */
	u32 id;

	/** @vram_size: bytes of VRAM */
	u64 vram_size;

	/** @visible_size: bytes of VRAM that the CPU can reach */
	u64 visible_size;

	/** @vpod: the vPod it is a member of, if @own_vpod; all zeros for none */
	uuid_t vpod;

	/** @own_vpod: @vpod is not that of the pod */
	bool own_vpod;

	/** @plugged: to be plugged in while the pod is enabled */
	bool plugged;

	/** @vdev: only while it is plugged in */
	struct vualink_device *vdev;
};

/**
 * vualink_config_for_each_accel() - iterate over the accelerators of a pod
 * @accel: cursor
 * @pod: the pod
 */
#define vualink_config_for_each_accel(accel, pod) \
	list_for_each_entry(accel, &(pod)->accels, link)

struct vualink_config_pod *vualink_config_pod_create(const char *name);
void vualink_config_pod_destroy(struct vualink_config_pod *pod);
int vualink_config_pod_validate(const struct vualink_config_pod *pod);

struct vualink_config_accel *
vualink_config_accel_create(struct vualink_config_pod *pod, const char *name);
void vualink_config_accel_destroy(struct vualink_config_accel *accel);
const uuid_t *vualink_config_accel_vpod(const struct vualink_config_accel *accel);

struct vualink_config_pod *
vualink_config_default_create(const char *name, u32 accels);

#endif /* _VUALINK_CONFIG_H_ */
