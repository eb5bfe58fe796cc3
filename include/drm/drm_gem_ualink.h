/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * UALink ioctls: what implementations of the hooks in struct drm_driver use.
 */

#ifndef _DRM_GEM_UALINK_H_
#define _DRM_GEM_UALINK_H_

#include <linux/types.h>

struct drm_gem_ualink_query;

u32 drm_gem_ualink_query_room(struct drm_gem_ualink_query *args, size_t size);
int drm_gem_ualink_query_put(const struct drm_gem_ualink_query *args, u32 index,
			     const void *elem, size_t size);

#endif /* _DRM_GEM_UALINK_H_ */
