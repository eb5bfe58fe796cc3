/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _DRM_UALINK_INTERNAL_H_
#define _DRM_UALINK_INTERNAL_H_

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ualink.h>

#include "ualink_refs.h"

/* Dead imports that a file can ask about; older ones are forgotten. */
#define DRM_UALINK_MAX_DEAD	1024

/*
 * struct drm_ualink - the helpers' state of a device, &drm_device.ualink
 */
struct drm_ualink {
	/* One for the device, one for each drm_ualink_object and drm_ualink_file */
	struct kref ref;
	/* Of objects and files; all of them should be gone before the device */
	struct ualink_refs refs;
	/* Immutable; not to be followed by what can outlive the device */
	struct drm_device *drm;
	/* Immutable */
	const struct drm_ualink_funcs *funcs;
	/* Immutable */
	struct drm_ualink_caps caps;
	/* Granularity of exports; immutable once @udev is there */
	u64 page_size;
	/* NULL until drm_ualink_provision(), then constant; holds a reference */
	struct ualink_device *udev;
	/* drm_ualink_unplug() was called */
	bool unplugged;
	/* Makes the look-up and the creation of an import object one step */
	struct mutex import_mutex;
	/* Objects that were unbound from their import, and who waits for the next one */
	atomic_t unbinds;
	wait_queue_head_t unbind_wait;
	/*
	 * &drm_ualink_file.tell_link of those with deaths to tell, each a reference: of
	 * those that have none from before the latest flush, and of the others; under @lock
	 */
	struct list_head tell;
	struct list_head flushed;
	/* Protects what says so; see DOC: Locking */
	spinlock_t lock;
};

/*
 * struct drm_ualink_object - the helpers' state of a GEM object, &drm_gem_object.ualink
 *
 * Either a drm_ualink_exported or a drm_ualink_imported, for all its life.
 */
struct drm_ualink_object {
	struct ualink_ref ual_ref;
	/* Makes the look-up and the creation of an export, or of a dma-buf, one step */
	struct mutex mutex;
	/* Immutable; holds a reference */
	struct drm_ualink *ual;
	/* Immutable: the object that this belongs to */
	struct drm_gem_object *obj;
	/* Immutable */
	bool imported;
};

/*
 * struct drm_ualink_exported - state of an object that is, or was, exported
 */
struct drm_ualink_exported {
	struct drm_ualink_object base;
	/* The export, alive or being ended; holds a reference; under &drm_ualink.lock */
	struct ualink_export *exp;
	/* The file that pays for it; holds a reference; under &drm_ualink.lock */
	struct drm_ualink_file *payer;
	/* &drm_ualink_funcs.pin was called, and unpin was not; under &drm_ualink.lock */
	bool pinned;
	/* The object has no reference left and waits for the unpin; under &drm_ualink.lock */
	bool freed;
};

/*
 * struct drm_ualink_imported - state of an object that is remote memory
 *
 * An object that a sibling accelerator made of the dma-buf, by PRIME, is an
 * alias: it has the window of the sibling's own import, whose object is @target.
 */
struct drm_ualink_imported {
	struct drm_ualink_object base;
	/* No new mapping or use; set under dma_resv and &drm_ualink.lock, read under either */
	bool dead;
	/* An &enum ualink_death that was told to the files; under &drm_ualink.lock */
	u8 death;
	/* &drm_ualink_record.object_node, by the file; under &drm_ualink.lock */
	struct rb_root records;
	/* &drm_ualink_imported.alias_link of its aliases; under &drm_ualink.lock */
	struct list_head aliases;
	/* Immutable; holds a reference if @owner */
	struct ualink_import *imp;
	/* Immutable once the object is published */
	bool owner;
	bool bound;
	/* Immutable */
	struct ualink_handle handle;
	u64 npa;
	u64 size;
	u32 exporter;
	/*
	 * UALINK_ACCESS_* asked for up to now; WRITE_ONCE() by IMPORT, only grows;
	 * of an alias, that of @target counts
	 */
	u32 access;
	/* The dma-buf, without a reference; NULL after its release; under @base.mutex */
	struct dma_buf *dma_buf;
	/* Of an alias; immutable once the object is published; holds a reference */
	struct drm_gem_object *target;
	struct list_head alias_link;
};

/*
 * struct drm_ualink_file - the helpers' state of a file, &drm_file.ualink
 */
struct drm_ualink_file {
	/* One for the drm_file, one for each export that it pays for, one for @tell_link */
	struct kref ref;
	/* Immutable; holds a reference */
	struct drm_ualink *ual;
	struct ualink_ref ual_ref;
	/* NULL once it is closed; under &drm_device.event_lock */
	struct drm_file *file;
	/* Bytes that it pays for; under &drm_ualink.lock */
	u64 exported;
	/* &drm_ualink_record.file_node, by their order; under &drm_ualink.lock */
	struct rb_root_cached records;
	u32 nr_live;
	u32 nr_dead;
	/* What the last &drm_ualink_record.order was made from; under &drm_ualink.lock */
	u64 last_order;
	/* The reserved event, or NULL; under &drm_device.event_lock */
	struct drm_ualink_pending *armed;
	/* Imports that died; and those before the latest flush; under &drm_ualink.lock */
	u64 deaths;
	u64 flushed;
	/* In &drm_ualink.tell or .flushed */
	struct list_head tell_link;
	/* What events have said of them, or will; under &drm_device.event_lock */
	u64 told;
	/* There was no event for the last of them; under &drm_device.event_lock */
	bool owed;
};

/*
 * struct drm_ualink_record - an import of a file
 */
struct drm_ualink_record {
	/* In &drm_ualink_file.records; under &drm_ualink.lock */
	struct rb_node file_node;
	/* In &drm_ualink_imported.records while it lives; under &drm_ualink.lock */
	struct rb_node object_node;
	/* The object while it lives, then NULL; under &drm_ualink.lock */
	struct drm_ualink_imported *imported;
	/* Its place in the file: never used twice there; under &drm_ualink.lock */
	u64 order;
	/* Immutable; the file frees its records */
	struct drm_ualink_file *ufile;
	/* What a query says; under &drm_ualink.lock */
	struct drm_ualink_import_info info;
};

/* drm_ualink_device.c */
void drm_ualink_put(struct drm_ualink *ual);
void drm_ualink_object_init(struct drm_ualink_object *uobj, struct drm_ualink *ual,
			    struct drm_gem_object *obj, bool imported);
void drm_ualink_object_fini(struct drm_ualink_object *uobj);

/* drm_ualink_export.c */
struct ualink_export *drm_ualink_exported_get(struct drm_gem_object *obj);
void drm_ualink_exported_release(struct drm_ualink_exported *exported);

/* drm_ualink_import.c */
void drm_ualink_imported_release(struct drm_ualink_imported *imported);
bool drm_ualink_imported_add_alias(struct drm_gem_object *target, struct drm_gem_object *alias);

/* drm_ualink_dmabuf.c */
struct dma_buf *drm_ualink_dma_buf_get(struct drm_ualink_imported *imported);

/* drm_ualink_file.c */
struct drm_ualink_file *drm_ualink_file_obtain(struct drm_ualink *ual, struct drm_file *file);
struct drm_ualink_file *drm_ualink_file_find(struct drm_file *file);
struct drm_ualink_file *drm_ualink_file_get(struct drm_ualink_file *ufile);
void drm_ualink_file_put(struct drm_ualink_file *ufile);
u64 drm_ualink_file_cap(struct drm_ualink *ual);
int drm_ualink_file_charge(struct drm_ualink_file *ufile, u64 bytes);
void drm_ualink_file_uncharge(struct drm_ualink_file *ufile, u64 bytes);

/* drm_ualink_record.c */
int drm_ualink_record_import(struct drm_ualink_file *ufile, struct drm_ualink_imported *imported,
			     u64 user_data);
u32 drm_ualink_records_count(struct drm_ualink_file *ufile);
u32 drm_ualink_records_copy(struct drm_ualink_file *ufile, u64 *cursor,
			    struct drm_ualink_import_info *infos, u32 count);
void drm_ualink_records_free(struct drm_ualink_file *ufile);
void drm_ualink_records_died(struct drm_ualink_imported *imported, enum ualink_death why);
void drm_ualink_records_released(struct drm_ualink_imported *imported);

/* drm_ualink_event.c */
int drm_ualink_event_arm(struct drm_ualink_file *ufile);
void drm_ualink_event_owe(struct drm_ualink_file *ufile);
void drm_ualink_events_flush(struct drm_ualink *ual);
void drm_ualink_events_send(struct drm_ualink *ual);
void drm_ualink_event_close(struct drm_ualink_file *ufile);

static inline struct drm_ualink_exported *to_exported(struct drm_ualink_object *uobj)
{
	return container_of(uobj, struct drm_ualink_exported, base);
}

static inline struct drm_ualink_imported *to_imported(struct drm_ualink_object *uobj)
{
	return container_of(uobj, struct drm_ualink_imported, base);
}

/* The state of an import object, or NULL for any other object. */
static inline struct drm_ualink_imported *gem_to_imported(const struct drm_gem_object *obj)
{
	/* Pairs with cmpxchg() in EXPORT; imports have it from the beginning. */
	struct drm_ualink_object *uobj = smp_load_acquire(&obj->ualink);

	return uobj && uobj->imported ? to_imported(uobj) : NULL;
}

/* The state of an object that was exported, or NULL for any other object. */
static inline struct drm_ualink_exported *gem_to_exported(const struct drm_gem_object *obj)
{
	/* Pairs with cmpxchg() in EXPORT. */
	struct drm_ualink_object *uobj = smp_load_acquire(&obj->ualink);

	return uobj && !uobj->imported ? to_exported(uobj) : NULL;
}

#endif /* _DRM_UALINK_INTERNAL_H_ */
