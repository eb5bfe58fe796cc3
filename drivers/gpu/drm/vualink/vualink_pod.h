/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_POD_H_
#define _VUALINK_POD_H_

/* Prefix of the names of the pods that are made at load */
#define VUALINK_DEFAULT_POD	"default"

struct vualink_config_accel;
struct vualink_config_pod;

int vualink_pod_enable(struct vualink_config_pod *pod);
void vualink_pod_disable(struct vualink_config_pod *pod);
int vualink_pod_plug(struct vualink_config_accel *accel);
void vualink_pod_unplug(struct vualink_config_accel *accel);

#endif /* _VUALINK_POD_H_ */
