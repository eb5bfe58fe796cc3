/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_DEBUGFS_H_
#define _VUALINK_DEBUGFS_H_

struct dentry;
struct drm_minor;

void vualink_debugfs_init(void);
void vualink_debugfs_exit(void);
struct dentry *vualink_debugfs_root(void);
void vualink_debugfs_init_minor(struct drm_minor *minor);

#endif /* _VUALINK_DEBUGFS_H_ */
