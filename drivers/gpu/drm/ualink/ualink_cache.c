// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/device.h>

#include "ualink_internal.h"

/**
 * DOC: Lazy release
 *
 * To import and to give back costs two messages each, and whoever did it once
 * is likely to do it again. So an import that has lost its last user is kept
 * for a while, with its grant but in no page table, and the next user finds it
 * without a message. The oldest goes first when there are too many bytes
 * (%UALINK_CACHE_BYTES), when it is too old (%UALINK_CACHE_MS), or when memory
 * is short; all that concern an export go when it is revoked.
 */

static struct ualink_import *oldest_idle(struct ualink_device *udev)
{
	return list_first_entry_or_null(&udev->idle, struct ualink_import, idle_link);
}

static void idle_release(struct ualink_import *imp)
{
	ualink_cache_remove(imp);
	ualink_import_release(imp);
}

/* jiffies at which an import has been idle for too long. */
static unsigned long idle_until(struct ualink_import *imp)
{
	return imp->when + ualink_tunable_jiffies(imp->udev, UALINK_CACHE_MS);
}

static void arm_idle_work(struct ualink_device *udev)
{
	struct ualink_import *imp = oldest_idle(udev);
	long left;

	if (!imp)
		return;
	left = idle_until(imp) - jiffies;
	queue_delayed_work(udev->wq, &udev->idle_work, max(left, 0L));
}

/* Keeps an import that has no user any more; false when it is not to be kept. */
bool ualink_cache_add(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;
	u64 limit = ualink_tunable(udev, UALINK_CACHE_BYTES);
	bool keep = ualink_tunable(udev, UALINK_CACHE_MS);

	lockdep_assert_held(&udev->lock);

	if (!keep || imp->size > limit || udev->state != UALINK_DEVICE_ACTIVE)
		return false;

	ualink_import_set_state(imp, UALINK_IMPORT_IDLE);
	imp->when = jiffies;
	list_add_tail(&imp->idle_link, &udev->idle);
	udev->idle_bytes += imp->size;
	/* Pairs with READ_ONCE() in cache_count(). */
	WRITE_ONCE(udev->nr_idle, udev->nr_idle + 1);
	/* A large one may push out any number of small ones; not here, under the lock. */
	if (udev->idle_bytes > limit)
		mod_delayed_work(udev->wq, &udev->idle_work, 0);
	else
		arm_idle_work(udev);
	return true;
}

/* Takes an import off the list; the caller changes its state. */
void ualink_cache_remove(struct ualink_import *imp)
{
	lockdep_assert_held(&imp->udev->lock);

	list_del_init(&imp->idle_link);
	imp->udev->idle_bytes -= imp->size;
	/* Pairs with READ_ONCE() in cache_count(). */
	WRITE_ONCE(imp->udev->nr_idle, imp->udev->nr_idle - 1);
}

/* Whether the oldest one has to go. */
static bool idle_too_long(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;

	return udev->idle_bytes > ualink_tunable(udev, UALINK_CACHE_BYTES) ||
	       time_after_eq(jiffies, idle_until(imp));
}

static void idle_work(struct work_struct *work)
{
	struct ualink_device *udev = container_of(to_delayed_work(work),
						  struct ualink_device, idle_work);
	struct ualink_import *imp;

	spin_lock(&udev->lock);
	while ((imp = oldest_idle(udev)) && idle_too_long(imp)) {
		idle_release(imp);
		cond_resched_lock(&udev->lock);
	}
	arm_idle_work(udev);
	spin_unlock(&udev->lock);
}

/* The tunables have changed: what is kept may be too old or too much now. */
void ualink_cache_retune(struct ualink_device *udev)
{
	lockdep_assert_held(&udev->lock);

	mod_delayed_work(udev->wq, &udev->idle_work, 0);
}

/* Gives back every import that is not in use. */
void ualink_cache_drop(struct ualink_device *udev)
{
	struct ualink_import *imp;

	spin_lock(&udev->lock);
	while ((imp = oldest_idle(udev))) {
		idle_release(imp);
		cond_resched_lock(&udev->lock);
	}
	spin_unlock(&udev->lock);
}

static unsigned long cache_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ualink_device *udev = shrinker->private_data;

	/* Pairs with WRITE_ONCE() in ualink_cache_add() and ualink_cache_remove(). */
	return READ_ONCE(udev->nr_idle) ?: SHRINK_EMPTY;
}

static unsigned long cache_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ualink_device *udev = shrinker->private_data;
	unsigned long freed = 0;
	struct ualink_import *imp;

	spin_lock(&udev->lock);
	while (freed < sc->nr_to_scan && (imp = oldest_idle(udev))) {
		idle_release(imp);
		freed++;
	}
	spin_unlock(&udev->lock);
	return freed ?: SHRINK_STOP;
}

int ualink_cache_init(struct ualink_device *udev)
{
	INIT_LIST_HEAD(&udev->idle);
	INIT_DELAYED_WORK(&udev->idle_work, idle_work);
	udev->shrinker = shrinker_alloc(0, "ualink-imports:%s", dev_name(udev->dev));
	if (!udev->shrinker)
		return -ENOMEM;

	udev->shrinker->count_objects = cache_count;
	udev->shrinker->scan_objects = cache_scan;
	udev->shrinker->private_data = udev;
	shrinker_register(udev->shrinker);
	return 0;
}

void ualink_cache_fini(struct ualink_device *udev)
{
	shrinker_free(udev->shrinker);
	cancel_delayed_work_sync(&udev->idle_work);
}
