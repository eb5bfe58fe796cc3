// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/export.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <drm/drm_print.h>

#include "drm_ualink_internal.h"

static void file_free(struct kref *ref)
{
	struct drm_ualink_file *ufile = container_of(ref, struct drm_ualink_file, ref);

	ualink_ref_del(&ufile->ual->refs, &ufile->ual_ref);
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
	ualink_ref_add(&ual->refs, &ufile->ual_ref);
	kref_init(&ufile->ref);
	ufile->ual = ual;
	ufile->file = file;
	ufile->records = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&ufile->tell_link);

	/* Pairs with smp_load_acquire() in drm_ualink_file_find(). */
	old = cmpxchg(&file->ualink, NULL, ufile);
	if (!old)
		return ufile;

	drm_ualink_file_put(ufile);
	return old;
}

/* What one file may export: a raised cap of the device raises it by as much. */
u64 drm_ualink_file_cap(struct drm_ualink *ual)
{
	struct ualink_device *udev = drm_ualink_device(ual->drm);
	u64 device;

	device = udev ? ualink_device_tunable(udev, UALINK_MAX_EXPORT_BYTES) : 0;
	if (device <= ual->caps.device)
		return ual->caps.file;
	return mul_u64_u64_div_u64(device, ual->caps.file, ual->caps.device);
}

/* Makes the file pay for @bytes of an export: 0 or -EDQUOT. */
int drm_ualink_file_charge(struct drm_ualink_file *ufile, u64 bytes)
{
	struct drm_ualink *ual = ufile->ual;
	u64 cap = drm_ualink_file_cap(ual);
	int ret = 0;
	u64 sum;

	spin_lock(&ual->lock);
	if (check_add_overflow(ufile->exported, bytes, &sum) ||
	    sum > cap)
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
	drm_ualink_records_free(ufile);
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
	deaths = ufile->deaths;
	spin_unlock(&ufile->ual->lock);

	drm_fdinfo_print_size(p, "drm", "exported", "ualink", exported);
	drm_printf(p, "drm-ualink-imports:\t%u\n", live);
	drm_printf(p, "drm-ualink-deaths:\t%llu\n", deaths);
}
EXPORT_SYMBOL_GPL(drm_ualink_show_fdinfo);
