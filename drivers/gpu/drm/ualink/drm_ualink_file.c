// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/export.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "drm_ualink_internal.h"

static void file_free(struct kref *ref)
{
	struct drm_ualink_file *ufile = container_of(ref, struct drm_ualink_file, ref);

	drm_ualink_put(ufile->ual);
	kfree(ufile);
}

struct drm_ualink_file *drm_ualink_file_get(struct drm_ualink_file *ufile)
{
	kref_get(&ufile->ref);
	return ufile;
}

void drm_ualink_file_put(struct drm_ualink_file *ufile)
{
	kref_put(&ufile->ref, file_free);
}

/* The state of a file, or NULL if it neither exported nor imported. */
struct drm_ualink_file *drm_ualink_file_find(struct drm_file *file)
{
	/* Pairs with cmpxchg() in drm_ualink_file_obtain(). */
	return smp_load_acquire(&file->ualink);
}

/* The state of a file, made if it is not there; stays until the file is closed. */
struct drm_ualink_file *drm_ualink_file_obtain(struct drm_ualink *ual, struct drm_file *file)
{
	struct drm_ualink_file *ufile = drm_ualink_file_find(file);
	struct drm_ualink_file *old;

	if (ufile)
		return ufile;

	ufile = kzalloc_obj(*ufile, GFP_KERNEL_ACCOUNT);
	if (!ufile)
		return NULL;

	kref_get(&ual->ref);	/* Put in file_free() */
	kref_init(&ufile->ref);
	ufile->ual = ual;
	ufile->file = file;
	INIT_LIST_HEAD(&ufile->live);
	INIT_LIST_HEAD(&ufile->dead);

	/* Pairs with smp_load_acquire() in drm_ualink_file_find(). */
	old = cmpxchg(&file->ualink, NULL, ufile);
	if (!old)
		return ufile;

	drm_ualink_file_put(ufile);
	return old;
}

/* Makes the file pay for @bytes of an export: 0 or -EDQUOT. */
int drm_ualink_file_charge(struct drm_ualink_file *ufile, u64 bytes)
{
	struct drm_ualink *ual = ufile->ual;
	int ret = 0;
	u64 sum;

	spin_lock(&ual->lock);
	if (check_add_overflow(ufile->exported, bytes, &sum) ||
	    sum > ual->max_file_export_bytes)
		ret = -EDQUOT;
	else
		ufile->exported = sum;
	spin_unlock(&ual->lock);
	return ret;
}

void drm_ualink_file_uncharge(struct drm_ualink_file *ufile, u64 bytes)
{
	spin_lock(&ufile->ual->lock);
	ufile->exported -= bytes;
	spin_unlock(&ufile->ual->lock);
}

static struct drm_ualink_record *find_record(struct drm_ualink_file *ufile,
					     struct drm_ualink_imported *imported)
{
	struct drm_ualink_record *record;

	/* As many as there are files that imported the same memory. */
	list_for_each_entry(record, &imported->records, object_link)
		if (record->ufile == ufile)
			return record;
	return NULL;
}

static void add_record(struct drm_ualink_file *ufile, struct drm_ualink_imported *imported,
		       struct drm_ualink_record *record)
{
	ualink_handle_to_bytes(&imported->handle, record->info.handle);
	record->info.size = imported->size;
	record->info.exporter_id = imported->exporter;
	record->ufile = ufile;
	list_add_tail(&record->object_link, &imported->records);
	list_add_tail(&record->file_link, &ufile->live);
	ufile->nr_live++;
}

/* Notes that the file imported an object: 0, -ENOMEM, or -ENODEV if it has died already. */
int drm_ualink_file_record(struct drm_ualink_file *ufile, struct drm_ualink_imported *imported,
			   u64 user_data)
{
	struct drm_ualink *ual = ufile->ual;
	struct drm_ualink_record *spare, *record;
	int ret = 0;

	spare = kzalloc_obj(*spare, GFP_KERNEL_ACCOUNT);
	if (!spare)
		return -ENOMEM;

	spin_lock(&ual->lock);
	if (imported->death != UALINK_ALIVE) {
		ret = -ENODEV;
		goto out_unlock;
	}
	record = find_record(ufile, imported);
	if (!record) {
		record = spare;
		spare = NULL;
		add_record(ufile, imported, record);
	}
	record->info.user_data = user_data;
	record->info.access = READ_ONCE(imported->access);
out_unlock:
	spin_unlock(&ual->lock);
	kfree(spare);
	return ret;
}

/* Takes the oldest dead one out if there are too many. */
static struct drm_ualink_record *trim_dead(struct drm_ualink_file *ufile)
{
	struct drm_ualink_record *oldest;

	if (ufile->nr_dead <= DRM_UALINK_MAX_DEAD)
		return NULL;

	oldest = list_first_entry(&ufile->dead, struct drm_ualink_record, file_link);
	list_del(&oldest->file_link);
	ufile->nr_dead--;
	return oldest;
}

/* Moves a record of the object to the dead of its file; returns that with a reference, or NULL. */
static struct drm_ualink_file *bury_one(struct drm_ualink_imported *imported,
					enum ualink_death why)
{
	struct drm_ualink *ual = imported->base.ual;
	struct drm_ualink_record *record, *old = NULL;
	struct drm_ualink_file *ufile = NULL;

	spin_lock(&ual->lock);
	imported->death = why;
	record = list_first_entry_or_null(&imported->records, struct drm_ualink_record,
					  object_link);
	if (record) {
		list_del_init(&record->object_link);
		record->info.death = why;
		ufile = drm_ualink_file_get(record->ufile);
		list_move_tail(&record->file_link, &ufile->dead);
		ufile->nr_live--;
		ufile->nr_dead++;
		old = trim_dead(ufile);
	}
	spin_unlock(&ual->lock);

	kfree(old);
	return ufile;
}

/* Tells all files that imported the object. */
void drm_ualink_records_died(struct drm_ualink_imported *imported, enum ualink_death why)
{
	struct drm_ualink_file *ufile;

	while ((ufile = bury_one(imported, why))) {
		drm_ualink_event_death(ufile);
		drm_ualink_file_put(ufile);
	}
}

/* The object ends alive, and with it the records of it. */
void drm_ualink_records_released(struct drm_ualink_imported *imported)
{
	struct drm_ualink *ual = imported->base.ual;
	struct drm_ualink_record *record, *next;
	LIST_HEAD(released);

	spin_lock(&ual->lock);
	list_for_each_entry(record, &imported->records, object_link) {
		list_move(&record->file_link, &released);
		record->ufile->nr_live--;
	}
	INIT_LIST_HEAD(&imported->records);
	spin_unlock(&ual->lock);

	list_for_each_entry_safe(record, next, &released, file_link)
		kfree(record);
}

static void free_records(struct drm_ualink_file *ufile)
{
	struct drm_ualink *ual = ufile->ual;
	struct drm_ualink_record *record, *next;
	LIST_HEAD(records);

	spin_lock(&ual->lock);
	list_for_each_entry(record, &ufile->live, file_link)
		list_del(&record->object_link);
	list_splice_init(&ufile->live, &records);
	list_splice_init(&ufile->dead, &records);
	ufile->nr_live = 0;
	ufile->nr_dead = 0;
	spin_unlock(&ual->lock);

	list_for_each_entry_safe(record, next, &records, file_link)
		kfree(record);
}

/**
 * drm_ualink_postclose - a file is being closed
 * @drm: the device
 * @file: the file; any
 *
 * Drivers call it in &drm_driver.postclose. Exports live on while their objects
 * do.
 */
void drm_ualink_postclose(struct drm_device *drm, struct drm_file *file)
{
	struct drm_ualink_file *ufile = drm_ualink_file_find(file);

	if (!ufile)
		return;

	file->ualink = NULL;
	free_records(ufile);
	drm_ualink_event_close(ufile);
	drm_ualink_file_put(ufile);
}
EXPORT_SYMBOL_GPL(drm_ualink_postclose);

/**
 * drm_ualink_show_fdinfo - print what a file exports and imports
 * @p: where to
 * @file: the file; any
 *
 * Drivers call it in &drm_driver.show_fdinfo.
 */
void drm_ualink_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct drm_ualink_file *ufile = drm_ualink_file_find(file);
	u64 exported, deaths;
	u32 live;

	if (!ufile)
		return;

	spin_lock(&ufile->ual->lock);
	exported = ufile->exported;
	live = ufile->nr_live;
	spin_unlock(&ufile->ual->lock);
	/* A count that only grows: any value it had meanwhile will do. */
	deaths = data_race(ufile->deaths);

	drm_fdinfo_print_size(p, "drm", "exported", "ualink", exported);
	drm_printf(p, "drm-ualink-imports:\t%u\n", live);
	drm_printf(p, "drm-ualink-deaths:\t%llu\n", deaths);
}
EXPORT_SYMBOL_GPL(drm_ualink_show_fdinfo);
