/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_CONFIGFS_H_
#define _VUALINK_CONFIGFS_H_

int vualink_configfs_register(void);
void vualink_configfs_unregister(void);

#endif /* _VUALINK_CONFIGFS_H_ */
