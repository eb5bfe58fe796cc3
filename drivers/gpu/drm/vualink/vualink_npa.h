/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_NPA_H_
#define _VUALINK_NPA_H_

#include <linux/types.h>

struct ualink_device;
struct vualink_device;

int vualink_npa_init(struct vualink_device *vdev);
void vualink_npa_enable(struct vualink_device *vdev);
void vualink_npa_fini(struct vualink_device *vdev);

int vualink_npa_map(struct ualink_device *udev, u64 offset, u64 size,
		    bool read_only, void *priv);
void vualink_npa_unmap(struct ualink_device *udev, u64 offset, u64 size);
int vualink_npa_flush(struct ualink_device *udev, u64 offset, u64 size);

#endif /* _VUALINK_NPA_H_ */
