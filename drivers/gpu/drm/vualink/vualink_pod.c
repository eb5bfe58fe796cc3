// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/err.h>

#include "vualink_config.h"
#include "vualink_debugfs.h"
#include "vualink_device.h"
#include "vualink_hw.h"
#include "vualink_pod.h"

/*
 * From configuration to devices. The caller serializes the use of a pod.
 */

int vualink_pod_plug(struct vualink_config_accel *accel)
{
	struct vualink_device *vdev;

	vdev = vualink_device_create(accel);
	if (IS_ERR(vdev))
		return PTR_ERR(vdev);
	accel->vdev = vdev;
	return 0;
}

void vualink_pod_unplug(struct vualink_config_accel *accel)
{
	if (!accel->vdev)
		return;
	vualink_device_destroy(accel->vdev);
	accel->vdev = NULL;
}

static void vualink_pod_unplug_all(struct vualink_config_pod *pod)
{
	struct vualink_config_accel *accel;

	vualink_config_for_each_accel(accel, pod)
		vualink_pod_unplug(accel);
}

static int vualink_pod_plug_all(struct vualink_config_pod *pod)
{
	struct vualink_config_accel *accel;
	int ret;

	vualink_config_for_each_accel(accel, pod) {
		if (!accel->plugged)
			continue;
		ret = vualink_pod_plug(accel);
		if (ret)
			return ret;
	}
	return 0;
}

/* Return: 0, or what is wrong with the configuration, or what failed. */
int vualink_pod_enable(struct vualink_config_pod *pod)
{
	struct vualink_fabric *fabric;
	int ret;

	ret = vualink_config_pod_validate(pod);
	if (ret)
		return ret;
	fabric = vualink_fabric_create(pod->name, vualink_debugfs_root());
	if (IS_ERR(fabric))
		return PTR_ERR(fabric);
	pod->fabric = fabric;
	ret = vualink_pod_plug_all(pod);
	if (ret)
		vualink_pod_disable(pod);
	return ret;
}

void vualink_pod_disable(struct vualink_config_pod *pod)
{
	if (!pod->fabric)
		return;
	vualink_pod_unplug_all(pod);
	vualink_fabric_put(pod->fabric);
	pod->fabric = NULL;
}
