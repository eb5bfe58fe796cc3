/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_EXEC_H_
#define _VUALINK_EXEC_H_

struct drm_device;
struct drm_file;

/* Limits of one submission */
#define VUALINK_EXEC_MAX_CMDS	1024
#define VUALINK_EXEC_MAX_SYNCS	256

int vualink_exec_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _VUALINK_EXEC_H_ */
