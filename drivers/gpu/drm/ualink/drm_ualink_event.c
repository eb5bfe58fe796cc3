// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/slab.h>

#include "drm_ualink_internal.h"

/*
 * One event for each file is reserved when it imports for the first time, since
 * a death must not fail to be told for want of memory. While the event waits in
 * the file's queue, deaths are added to it. Once it was read, the next death,
 * IMPORT or QUERY reserves another one.
 */

struct drm_ualink_pending {
	/* Must be first: who reads the event frees it */
	struct drm_pending_event base;
	struct drm_ualink_event event;
};

/* Our event in the queue of @file, if it is there. What is in it may be freed without the lock. */
static struct drm_ualink_pending *find_unread(struct drm_file *file)
{
	struct drm_pending_event *e;

	list_for_each_entry(e, &file->event_list, link)
		if (e->event->type == DRM_EVENT_UALINK_IMPORTS_DIED)
			return container_of(e, struct drm_ualink_pending, base);
	return NULL;
}

static void send_armed(struct drm_ualink_file *ufile)
{
	struct drm_ualink_pending *armed = ufile->armed;

	ufile->armed = NULL;
	ufile->owed = false;
	armed->event.deaths = ufile->told;
	drm_send_event_locked(ufile->ual->drm, &armed->base);
}

/* Reserves @spare if there should be an event, and there is none. */
static int arm_locked(struct drm_ualink_file *ufile, struct drm_ualink_pending *spare)
{
	int ret;

	lockdep_assert_held(&ufile->ual->drm->event_lock);

	if (!ufile->file || ufile->armed || find_unread(ufile->file)) {
		kfree(spare);
		return 0;
	}

	ret = drm_event_reserve_init_locked(ufile->ual->drm, ufile->file, &spare->base,
					    &spare->event.base);
	if (ret) {
		kfree(spare);
		return ret;
	}

	ufile->armed = spare;
	if (ufile->owed)
		send_armed(ufile);
	return 0;
}

/* Sees to it that the next death can be told, and tells the last ones if they were not. */
int drm_ualink_event_arm(struct drm_ualink_file *ufile)
{
	struct drm_device *drm = ufile->ual->drm;
	struct drm_ualink_pending *spare;
	int ret;

	/* Only deaths clear it, and they see to it that there is another one. */
	if (data_race(ufile->armed))
		return 0;

	spare = kzalloc_obj(*spare, GFP_KERNEL_ACCOUNT);
	if (!spare)
		return -ENOMEM;
	spare->event.base.type = DRM_EVENT_UALINK_IMPORTS_DIED;
	spare->event.base.length = sizeof(spare->event);

	spin_lock_irq(&drm->event_lock);
	ret = arm_locked(ufile, spare);
	spin_unlock_irq(&drm->event_lock);
	return ret;
}

/* Tells that @deaths imports of the file have died up to now. */
static void send_deaths(struct drm_ualink_file *ufile, u64 deaths)
{
	struct drm_device *drm = ufile->ual->drm;
	struct drm_ualink_pending *unread;
	bool owed;

	spin_lock_irq(&drm->event_lock);
	/* Another came first, with a later count. */
	if (deaths <= ufile->told) {
		spin_unlock_irq(&drm->event_lock);
		return;
	}
	ufile->told = deaths;
	unread = ufile->file ? find_unread(ufile->file) : NULL;
	if (unread)
		unread->event.deaths = ufile->told;
	else if (ufile->armed)
		send_armed(ufile);
	else
		ufile->owed = true;
	owed = ufile->owed;
	spin_unlock_irq(&drm->event_lock);

	/* Should it fail, the file's next query tries again. */
	if (owed)
		drm_ualink_event_arm(ufile);
}

/* The file has deaths to tell, after the next flush. */
void drm_ualink_event_owe(struct drm_ualink_file *ufile)
{
	lockdep_assert_held(&ufile->ual->lock);

	drm_ualink_file_get(ufile);
	list_add_tail(&ufile->tell_link, &ufile->ual->tell);
}

/* TLBs are about to be flushed: what died before may be told after it. */
void drm_ualink_events_flush(struct drm_ualink *ual)
{
	struct drm_ualink_file *ufile;

	spin_lock(&ual->lock);
	list_splice_tail_init(&ual->tell, &ual->flushed);
	list_for_each_entry(ufile, &ual->flushed, tell_link)
		ufile->flushed = ufile->deaths;
	spin_unlock(&ual->lock);
}

/* The next file that has deaths to tell, with a reference, and their number; or NULL. */
static struct drm_ualink_file *next_to_tell(struct drm_ualink *ual, u64 *deaths)
{
	struct drm_ualink_file *ufile;

	spin_lock(&ual->lock);
	ufile = list_first_entry_or_null(&ual->flushed, struct drm_ualink_file, tell_link);
	if (ufile) {
		list_del_init(&ufile->tell_link);
		*deaths = ufile->flushed;
		/* Some have come since, and their flush will. */
		if (ufile->deaths != *deaths)
			drm_ualink_event_owe(ufile);
	}
	spin_unlock(&ual->lock);
	return ufile;
}

/* Tells all files what had died before the latest flush, which is over. */
void drm_ualink_events_send(struct drm_ualink *ual)
{
	struct drm_ualink_file *ufile;
	u64 deaths;

	while ((ufile = next_to_tell(ual, &deaths))) {
		send_deaths(ufile, deaths);
		drm_ualink_file_put(ufile);
	}
}

/*
 * The file is being closed, and DRM has emptied its queue; but what died since
 * may have filled it again.
 */
void drm_ualink_event_close(struct drm_ualink_file *ufile)
{
	struct drm_device *drm = ufile->ual->drm;
	struct drm_ualink_pending *unread, *armed;

	spin_lock_irq(&drm->event_lock);
	unread = find_unread(ufile->file);
	if (unread)
		list_del(&unread->base.link);
	armed = ufile->armed;
	ufile->armed = NULL;
	ufile->file = NULL;
	spin_unlock_irq(&drm->event_lock);

	kfree(unread);
	if (armed)
		drm_event_cancel_free(drm, &armed->base);
}
