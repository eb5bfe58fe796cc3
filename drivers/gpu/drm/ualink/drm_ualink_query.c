// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/export.h>
#include <linux/idr.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "drm_ualink_internal.h"

/* Imports that are copied at a time */
#define IMPORTS_CHUNK	8

static int query_device(struct drm_ualink *ual, struct drm_gem_ualink_query *args)
{
	u32 room = drm_gem_ualink_query_room(args, sizeof(struct drm_ualink_device_info));
	struct ualink_device *udev = drm_ualink_device(ual->drm);
	struct drm_ualink_device_info info = {
		.flags = DRM_UALINK_DEVICE_SUPPORTED,
		.max_file_export_bytes = drm_ualink_file_cap(ual),
	};
	struct ualink_device_info core = {};

	args->count = 1;
	if (!room)
		return 0;

	if (udev) {
		ualink_device_get_info(udev, &core);
		info.flags |= DRM_UALINK_DEVICE_PROVISIONED;
	}
	if (core.active)
		info.flags |= DRM_UALINK_DEVICE_ACTIVE;
	if (core.wedged)
		info.flags |= DRM_UALINK_DEVICE_WEDGED;
	info.id = core.id;
	export_uuid(info.vpod_uuid, &core.vpod);
	info.granularity = core.page_size;
	info.segment_size = core.segment_size;
	info.npa_used = core.npa_used;
	info.npa_largest_free = core.npa_largest_free;
	info.npa_quarantined = core.npa_quarantined;
	info.max_export_bytes = core.max_export_bytes;
	info.exported_bytes = core.exported_bytes;
	info.exports = core.exports;
	info.grants = core.grants;
	info.imports = core.imports;
	info.imports_died = core.imports_died;
	info.msgs_sent = core.msgs_sent;
	info.msgs_received = core.msgs_received;
	info.bad_msgs = core.bad_msgs;
	info.refused = core.refused;
	return drm_gem_ualink_query_put(args, 0, &info, sizeof(info));
}

static void fill_peer(struct drm_ualink *ual, u32 id, struct drm_ualink_peer_info *info)
{
	struct ualink_peer_info core = {};

	ualink_peer_get_info(ual->udev, id, &core);
	*info = (struct drm_ualink_peer_info) {
		.id = id,
		.state = core.state,
		.flags = DRM_UALINK_PEER_PERMITTED,
		.imports = core.imports,
		.grants = core.grants,
		.sessions = core.sessions,
		.bad_msgs = core.bad_msgs,
	};
	if (!ual->funcs->has_route || ual->funcs->has_route(ual->drm, id))
		info->flags |= DRM_UALINK_PEER_HARDWARE;
	if (core.confirmed && core.state == UALINK_PEER_UP)
		info->flags |= DRM_UALINK_PEER_REACHABLE;
}

static int query_peers(struct drm_ualink *ual, struct drm_gem_ualink_query *args)
{
	u32 room = drm_gem_ualink_query_room(args, sizeof(struct drm_ualink_peer_info));
	struct ualink_device *udev = drm_ualink_device(ual->drm);
	struct drm_ualink_peer_info info;
	u32 id, count = 0;
	int ret;

	for (id = 0; udev && id < UALINK_MAX_IDS; id++) {
		if (id == ualink_device_id(udev) || !ualink_device_is_member(udev, id))
			continue;
		if (count++ >= room)
			continue;
		fill_peer(ual, id, &info);
		ret = drm_gem_ualink_query_put(args, count - 1, &info, sizeof(info));
		if (ret)
			return ret;
	}
	args->count = count;
	return 0;
}

/* A reference to the first object of the file with a handle of at least *@handle, or NULL. */
static struct drm_gem_object *next_object(struct drm_file *file, u32 *handle)
{
	struct drm_gem_object *obj;
	unsigned long id = *handle;

	spin_lock(&file->table_lock);
	obj = idr_get_next_ul(&file->object_idr, &id);
	if (obj)
		drm_gem_object_get(obj);
	spin_unlock(&file->table_lock);

	*handle = id;
	return obj;
}

static bool fill_export(struct drm_gem_object *obj, u32 gem_handle,
			struct drm_ualink_export_info *info)
{
	struct ualink_export *exp = drm_ualink_exported_get(obj);
	struct ualink_handle handle;

	if (!exp)
		return false;

	ualink_export_handle(exp, &handle);
	*info = (struct drm_ualink_export_info) {
		.gem_handle = gem_handle,
		.flags = ualink_export_read_only(exp) ? DRM_UALINK_EXPORT_READ_ONLY : 0,
		.size = ualink_export_size(exp),
		.importers = ualink_export_importers(exp, NULL, 0),
	};
	ualink_handle_to_bytes(&handle, info->handle);
	ualink_export_put(exp);
	return true;
}

static int query_exports(struct drm_file *file, struct drm_gem_ualink_query *args)
{
	u32 room = drm_gem_ualink_query_room(args, sizeof(struct drm_ualink_export_info));
	struct drm_ualink_export_info info;
	struct drm_gem_object *obj;
	u32 handle = 0, count = 0;
	int ret = 0;

	while (!ret && (obj = next_object(file, &handle))) {
		if (fill_export(obj, handle, &info) && count++ < room)
			ret = drm_gem_ualink_query_put(args, count - 1, &info, sizeof(info));
		drm_gem_object_put(obj);
		handle++;
		cond_resched();
	}
	if (!ret)
		args->count = count;
	return ret;
}

/* Gives the next imports of the file to user space: how many, or an errno. */
static int put_some_imports(struct drm_ualink_file *ufile, u64 *cursor,
			    struct drm_gem_ualink_query *args, u32 done, u32 room)
{
	struct drm_ualink_import_info infos[IMPORTS_CHUNK];
	u32 i, count;
	int ret;

	count = drm_ualink_records_copy(ufile, cursor, infos, min(room - done, IMPORTS_CHUNK));
	for (i = 0; i < count; i++) {
		ret = drm_gem_ualink_query_put(args, done + i, &infos[i], sizeof(infos[i]));
		if (ret)
			return ret;
	}
	return count;
}

static int put_imports(struct drm_ualink_file *ufile, struct drm_gem_ualink_query *args, u32 room)
{
	u32 done = 0;
	u64 cursor = 0;
	int ret;

	do {
		ret = put_some_imports(ufile, &cursor, args, done, room);
		if (ret < 0)
			return ret;
		done += ret;
		cond_resched();
	} while (ret);

	/* Who has room left got all; else some of them may be gone meanwhile. */
	args->count = done;
	if (done == room)
		args->count = max(done, drm_ualink_records_count(ufile));
	return 0;
}

static int query_imports(struct drm_file *file, struct drm_gem_ualink_query *args)
{
	u32 room = drm_gem_ualink_query_room(args, sizeof(struct drm_ualink_import_info));
	struct drm_ualink_file *ufile = drm_ualink_file_find(file);

	args->count = 0;
	if (!ufile)
		return 0;

	/* Should it fail, the death that comes next tries again. */
	drm_ualink_event_arm(ufile);

	if (room)
		return put_imports(ufile, args, room);
	args->count = drm_ualink_records_count(ufile);
	return 0;
}

static int put_importers(struct ualink_export *exp, struct drm_gem_ualink_query *args, u32 room)
{
	u32 i, count = min_t(u32, room, UALINK_MAX_IDS);
	u32 *ids;
	int ret = 0;

	ids = kmalloc_objs(*ids, count);
	if (!ids)
		return -ENOMEM;

	args->count = ualink_export_importers(exp, ids, count);
	count = min(count, args->count);
	for (i = 0; i < count && !ret; i++)
		ret = drm_gem_ualink_query_put(args, i, &ids[i], sizeof(ids[i]));
	kfree(ids);
	return ret;
}

static int query_importers(struct drm_file *file, struct drm_gem_ualink_query *args)
{
	u32 room = drm_gem_ualink_query_room(args, sizeof(u32));
	struct drm_gem_object *obj;
	struct ualink_export *exp;
	int ret = 0;

	obj = drm_gem_object_lookup(file, args->arg);
	if (!obj)
		return -ENOENT;
	exp = drm_ualink_exported_get(obj);
	drm_gem_object_put(obj);
	if (!exp)
		return -ENOENT;

	if (room)
		ret = put_importers(exp, args, room);
	else
		args->count = ualink_export_importers(exp, NULL, 0);
	ualink_export_put(exp);
	return ret;
}

/**
 * drm_ualink_gem_query - implementation of &drm_driver.gem_ualink_query
 * @drm: the device
 * @file: the file
 * @args: argument of the ioctl
 *
 * Return: %0 on success, else an errno as &struct drm_gem_ualink_query says.
 */
int drm_ualink_gem_query(struct drm_device *drm, struct drm_file *file,
			 struct drm_gem_ualink_query *args)
{
	switch (args->kind) {
	case DRM_UALINK_QUERY_DEVICE:
		return query_device(drm->ualink, args);
	case DRM_UALINK_QUERY_PEERS:
		return query_peers(drm->ualink, args);
	case DRM_UALINK_QUERY_EXPORTS:
		return query_exports(file, args);
	case DRM_UALINK_QUERY_IMPORTS:
		return query_imports(file, args);
	case DRM_UALINK_QUERY_IMPORTERS:
		return query_importers(file, args);
	default:
		return -EINVAL;
	}
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_query);
