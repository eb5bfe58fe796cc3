// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitmap.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm_print.h>

#include "drm_ualink_internal.h"

static struct drm_ualink_exported *exported_obtain(struct drm_ualink *ual,
						   struct drm_gem_object *obj)
{
	struct drm_ualink_exported *exported = gem_to_exported(obj);
	struct drm_ualink_object *old;

	if (exported)
		return exported;

	exported = kzalloc_obj(*exported, GFP_KERNEL_ACCOUNT);
	if (!exported)
		return NULL;
	drm_ualink_object_init(&exported->base, ual, obj, false);

	/* Pairs with smp_load_acquire() in gem_to_exported(). */
	old = cmpxchg(&obj->ualink, NULL, &exported->base);
	if (!old)
		return exported;

	drm_ualink_exported_release(exported);
	return to_exported(old);
}

void drm_ualink_exported_release(struct drm_ualink_exported *exported)
{
	drm_ualink_object_fini(&exported->base);
	kfree(exported);
}

static struct ualink_export *exported_get(struct drm_ualink_exported *exported)
{
	struct drm_ualink *ual = exported->base.ual;
	struct ualink_export *exp;

	spin_lock(&ual->lock);
	exp = exported->exp ? ualink_export_get(exported->exp) : NULL;
	spin_unlock(&ual->lock);
	return exp;
}

/* A reference to the live export of an object, or NULL. */
struct ualink_export *drm_ualink_exported_get(struct drm_gem_object *obj)
{
	struct drm_ualink_exported *exported = gem_to_exported(obj);
	struct ualink_export *exp = exported ? exported_get(exported) : NULL;

	if (exp && !ualink_export_live(exp)) {
		ualink_export_put(exp);
		exp = NULL;
	}
	return exp;
}

/* Whom the user allows: sets *@allow to @bits, or to NULL for everybody. */
static int copy_allow(const struct drm_gem_ualink_export *args, unsigned long *bits,
		      const unsigned long **allow)
{
	u32 *ids, i;

	*allow = NULL;
	if (!args->allow_ptr != !args->allow_count || args->allow_count > UALINK_MAX_IDS)
		return -EINVAL;
	if (!args->allow_count)
		return 0;

	ids = memdup_array_user(u64_to_user_ptr(args->allow_ptr), args->allow_count,
				sizeof(*ids));
	if (IS_ERR(ids))
		return PTR_ERR(ids);

	bitmap_zero(bits, UALINK_MAX_IDS);
	for (i = 0; i < args->allow_count && ids[i] < UALINK_MAX_IDS; i++)
		__set_bit(ids[i], bits);
	*allow = bits;
	kfree(ids);
	return i == args->allow_count ? 0 : -EINVAL;
}

static void fill_args(struct drm_ualink *ual, struct ualink_export *exp,
		      struct drm_gem_ualink_export *args)
{
	struct ualink_handle handle;

	ualink_export_handle(exp, &handle);
	ualink_handle_to_bytes(&handle, args->handle);
	args->size = ualink_export_size(exp);
	args->granularity = ual->page_size;
}

/* Answers with the export that is there, if it is what is asked for. */
static int export_again(struct drm_ualink *ual, struct ualink_export *exp,
			const unsigned long *allow, struct drm_gem_ualink_export *args)
{
	bool read_only = args->flags & DRM_UALINK_EXPORT_READ_ONLY;

	if (!ualink_export_live(exp))
		return -EBUSY;
	if ((read_only || allow) && !ualink_export_matches(exp, read_only, allow))
		return -EEXIST;

	fill_args(ual, exp, args);
	return 0;
}

/* Takes back what export_pin() did, if it still has to be done. */
static void export_unpin(struct drm_ualink_exported *exported)
{
	struct drm_gem_object *obj = exported->base.obj;
	struct drm_ualink *ual = exported->base.ual;
	struct drm_ualink_file *payer;
	struct ualink_export *exp;
	u64 size = obj->size;
	bool freed;

	ual->funcs->unpin(obj);

	spin_lock(&ual->lock);
	exp = exported->exp;
	payer = exported->payer;
	freed = exported->freed;
	exported->exp = NULL;
	exported->payer = NULL;
	exported->pinned = false;
	spin_unlock(&ual->lock);

	/* Unless it waits for its destruction, the object may be gone by now. */
	drm_ualink_file_uncharge(payer, size);
	drm_ualink_file_put(payer);
	if (exp)
		ualink_export_put(exp);
	if (freed)
		ual->funcs->destroy(obj);
}

static int export_try_pin(struct drm_ualink_exported *exported, struct drm_ualink_file *ufile)
{
	struct drm_gem_object *obj = exported->base.obj;
	struct drm_ualink *ual = exported->base.ual;
	int ret;

	ret = drm_ualink_file_charge(ufile, obj->size);
	if (ret)
		return ret;

	ret = ual->funcs->pin(obj);
	if (ret) {
		drm_ualink_file_uncharge(ufile, obj->size);
		return ret;
	}

	spin_lock(&ual->lock);
	exported->payer = drm_ualink_file_get(ufile);	/* Put in export_unpin() */
	exported->pinned = true;
	spin_unlock(&ual->lock);
	return 0;
}

static int export_pin(struct drm_ualink_exported *exported, struct drm_ualink_file *ufile)
{
	int ret = export_try_pin(exported, ufile);

	if (ret && ret != -ERESTARTSYS)
		ualink_device_count_refused(exported->base.ual->udev);
	return ret;
}

static int export_create(struct drm_ualink_exported *exported, struct drm_ualink_file *ufile,
			 const unsigned long *allow, struct drm_gem_ualink_export *args)
{
	struct drm_ualink *ual = exported->base.ual;
	struct ualink_export_params params = {
		.size = exported->base.obj->size,
		.allow = allow,
		.priv = exported->base.obj,
		.read_only = args->flags & DRM_UALINK_EXPORT_READ_ONLY,
	};
	struct ualink_export *exp;
	int ret;

	ret = export_pin(exported, ufile);
	if (ret)
		return ret;

	exp = ualink_export_create(ual->udev, &params);
	if (IS_ERR(exp)) {
		/* After -EIO, drm_ualink_export_release() does it, after the next reset. */
		if (exp != ERR_PTR(-EIO))
			export_unpin(exported);
		return PTR_ERR(exp);
	}
	fill_args(ual, exp, args);

	/* A reset may have ended and released it already. */
	spin_lock(&ual->lock);
	if (exported->pinned)
		swap(exported->exp, exp);
	spin_unlock(&ual->lock);
	if (!exp)
		return 0;

	ualink_export_put(exp);
	return -EBUSY;
}

static bool export_pinned(struct drm_ualink_exported *exported)
{
	struct drm_ualink *ual = exported->base.ual;
	bool pinned;

	spin_lock(&ual->lock);
	pinned = exported->pinned;
	spin_unlock(&ual->lock);
	return pinned;
}

static int export_locked(struct drm_ualink_exported *exported, struct drm_ualink_file *ufile,
			 const unsigned long *allow, struct drm_gem_ualink_export *args)
{
	struct ualink_export *exp = exported_get(exported);
	int ret;

	lockdep_assert_held(&exported->base.mutex);

	if (!exp) {
		/* Memory that a failed export left behind waits for a reset. */
		if (export_pinned(exported))
			return -EBUSY;
		return export_create(exported, ufile, allow, args);
	}

	ret = export_again(exported->base.ual, exp, allow, args);
	ualink_export_put(exp);
	return ret;
}

static int export_object(struct drm_ualink *ual, struct drm_file *file,
			 struct drm_gem_object *obj, struct drm_gem_ualink_export *args)
{
	DECLARE_BITMAP(bits, UALINK_MAX_IDS);
	struct drm_ualink_exported *exported;
	struct drm_ualink_file *ufile;
	const unsigned long *allow;
	struct ualink_export *exp;
	int ret;

	if (drm_gem_is_imported(obj) || drm_ualink_gem_is_import(obj))
		return -EOPNOTSUPP;
	ret = copy_allow(args, bits, &allow);
	if (ret)
		return ret;

	exp = drm_ualink_exported_get(obj);
	if (exp) {
		ret = export_again(ual, exp, allow, args);
		ualink_export_put(exp);
		return ret;
	}

	if (!IS_ALIGNED(obj->size, ual->page_size))
		return -EINVAL;
	ufile = drm_ualink_file_obtain(ual, file);
	exported = exported_obtain(ual, obj);
	if (!ufile || !exported)
		return -ENOMEM;

	if (mutex_lock_interruptible(&exported->base.mutex))
		return -ERESTARTSYS;
	ret = export_locked(exported, ufile, allow, args);
	mutex_unlock(&exported->base.mutex);
	return ret;
}

/**
 * drm_ualink_gem_export - implementation of &drm_driver.gem_ualink_export
 * @drm: the device
 * @file: the file
 * @args: argument of the ioctl
 *
 * Return: %0 on success, else an errno as &struct drm_gem_ualink_export says.
 */
int drm_ualink_gem_export(struct drm_device *drm, struct drm_file *file,
			  struct drm_gem_ualink_export *args)
{
	struct drm_gem_object *obj;
	int ret;

	if (!drm_ualink_device(drm))
		return -ENOTCONN;

	obj = drm_gem_object_lookup(file, args->gem_handle);
	if (!obj)
		return -ENOENT;

	ret = export_object(drm->ualink, file, obj, args);
	drm_gem_object_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_export);

/* The export of an object, even if another thread is only making it, or NULL. */
static struct ualink_export *revoke_get(struct drm_gem_object *obj)
{
	struct drm_ualink_exported *exported = gem_to_exported(obj);
	struct ualink_export *exp;

	if (!exported)
		return NULL;

	/* Nothing has been done yet: it can be restarted. */
	if (mutex_lock_interruptible(&exported->base.mutex))
		return ERR_PTR(-ERESTARTSYS);
	exp = exported_get(exported);
	mutex_unlock(&exported->base.mutex);
	return exp;
}

/**
 * drm_ualink_gem_revoke - implementation of &drm_driver.gem_ualink_revoke
 * @drm: the device
 * @file: the file
 * @args: argument of the ioctl
 *
 * Return: %0 on success, else an errno as &struct drm_gem_ualink_revoke says.
 */
int drm_ualink_gem_revoke(struct drm_device *drm, struct drm_file *file,
			  struct drm_gem_ualink_revoke *args)
{
	struct drm_gem_object *obj;
	struct ualink_export *exp;
	int ret;

	if (!drm_ualink_device(drm))
		return -ENOTCONN;

	obj = drm_gem_object_lookup(file, args->gem_handle);
	if (!obj)
		return -ENOENT;

	exp = revoke_get(obj);
	if (IS_ERR_OR_NULL(exp)) {
		ret = exp ? PTR_ERR(exp) : -ENOENT;
		goto out_put;
	}

	ualink_export_end(exp);
	ret = ualink_export_wait(exp);
	ualink_export_put(exp);
out_put:
	drm_gem_object_put(obj);
	return ret;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_revoke);

/**
 * drm_ualink_gem_free - begin to free a GEM object
 * @obj: the object; any
 *
 * The first thing that &drm_gem_object_funcs.free does. Ends the export of the
 * object, without waiting. Takes spinlocks only, so that it can be called
 * wherever GEM objects are freed.
 *
 * Return: true when the memory must stay where it is for now: then the driver
 * returns from free at once, and goes on when &drm_ualink_funcs.destroy is
 * called. False when there is nothing to wait for.
 */
bool drm_ualink_gem_free(struct drm_gem_object *obj)
{
	struct drm_ualink_exported *exported = gem_to_exported(obj);
	struct ualink_export *exp = NULL;
	struct drm_ualink *ual;
	bool later;

	if (!exported)
		return false;

	ual = exported->base.ual;
	spin_lock(&ual->lock);
	later = exported->pinned;
	exported->freed = later;
	if (exported->exp)
		exp = ualink_export_get(exported->exp);
	spin_unlock(&ual->lock);

	if (exp) {
		ualink_export_end(exp);
		ualink_export_put(exp);
	}
	return later;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_free);

/**
 * drm_ualink_export_release - implementation of &ualink_ops.export_release
 * @udev: the accelerator
 * @priv: the exported &struct drm_gem_object
 */
void drm_ualink_export_release(struct ualink_device *udev, void *priv)
{
	export_unpin(gem_to_exported(priv));
}
EXPORT_SYMBOL_GPL(drm_ualink_export_release);
