// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/ktime.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <drm/drm_exec.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

#include "drm_ualink_internal.h"

MODULE_IMPORT_NS("DMA_BUF");

/**
 * drm_ualink_gem_init_import - make a GEM object the object of an import
 * @obj: the object, after drm_gem_private_object_init()
 * @imp: the import, as &drm_ualink_funcs.import_create got it
 *
 * Whatever becomes of @obj, drm_ualink_gem_release() is called when it is freed.
 *
 * Return: %0 on success, %-ENOMEM otherwise.
 */
int drm_ualink_gem_init_import(struct drm_gem_object *obj, struct ualink_import *imp)
{
	struct drm_ualink_imported *imported;

	imported = kzalloc_obj(*imported, GFP_KERNEL_ACCOUNT);
	if (!imported)
		return -ENOMEM;

	drm_ualink_object_init(&imported->base, obj->dev->ualink, obj, true);
	INIT_LIST_HEAD(&imported->aliases);
	INIT_LIST_HEAD(&imported->alias_link);
	imported->imp = imp;
	imported->npa = ualink_import_npa(imp);
	imported->size = ualink_import_size(imp);
	imported->exporter = ualink_import_exporter(imp);
	imported->access = ualink_import_access(imp);
	ualink_import_handle(imp, &imported->handle);

	obj->ualink = &imported->base;
	return 0;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_init_import);

/**
 * drm_ualink_gem_is_import - is a GEM object remote memory?
 * @obj: the object; any
 *
 * Return: true if it is. It cannot be mapped by the CPU, moved, copied by the
 * CPU, or exported then.
 */
bool drm_ualink_gem_is_import(const struct drm_gem_object *obj)
{
	return gem_to_imported(obj);
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_is_import);

/**
 * drm_ualink_gem_dead - has the remote memory behind a GEM object been lost?
 * @obj: the object; any, with its dma_resv held if it is an import
 *
 * It is lost for ever then. Drivers refuse with %-ENODEV whatever names such an
 * object, and leave it out where it is merely mapped.
 *
 * Return: true if it has.
 */
bool drm_ualink_gem_dead(struct drm_gem_object *obj)
{
	struct drm_ualink_imported *imported = gem_to_imported(obj);

	if (!imported)
		return false;

	dma_resv_assert_held(obj->resv);
	return imported->dead;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_dead);

/**
 * drm_ualink_gem_window - where is the remote memory behind a GEM object?
 * @obj: an import object, with its dma_resv held and not dead
 * @window: set to what goes into page tables
 */
void drm_ualink_gem_window(struct drm_gem_object *obj, struct drm_ualink_window *window)
{
	struct drm_ualink_imported *imported = gem_to_imported(obj);
	struct drm_ualink_imported *own = imported;

	dma_resv_assert_held(obj->resv);
	if (imported->target)
		own = gem_to_imported(imported->target);

	window->npa = imported->npa;
	window->size = imported->size;
	/* Pairs with WRITE_ONCE() in import_bind_locked(): it only grows. */
	window->access = READ_ONCE(own->access);
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_window);

static void alias_release(struct drm_ualink_imported *alias)
{
	struct drm_gem_object *obj = alias->base.obj;
	struct drm_ualink *ual = alias->base.ual;

	spin_lock(&ual->lock);
	list_del(&alias->alias_link);
	spin_unlock(&ual->lock);

	drm_prime_gem_destroy(obj, NULL);
	obj->import_attach = NULL;
	/* Pairs with ualink_import_tryget_bound() in alias_create() */
	drm_gem_object_put(alias->target);
}

void drm_ualink_imported_release(struct drm_ualink_imported *imported)
{
	struct drm_ualink *ual = imported->base.ual;

	drm_ualink_records_released(imported);
	if (imported->target)
		alias_release(imported);
	if (imported->bound) {
		ualink_import_unbind(imported->imp);
		/* Pairs with atomic_read() in import_get(). */
		atomic_inc(&ual->unbinds);
		wake_up_all(&ual->unbind_wait);
	}
	if (imported->owner)
		ualink_import_put(imported->imp);
	drm_ualink_object_fini(&imported->base);
	kfree(imported);
}

/* Makes @alias share the fate of @target, with a reference to it, unless that has died. */
bool drm_ualink_imported_add_alias(struct drm_gem_object *target, struct drm_gem_object *alias)
{
	struct drm_ualink_imported *to = gem_to_imported(target);
	struct drm_ualink_imported *imported = gem_to_imported(alias);
	struct drm_ualink *ual = to->base.ual;

	spin_lock(&ual->lock);
	if (!to->dead) {
		imported->target = target;
		list_add_tail(&imported->alias_link, &to->aliases);
	}
	spin_unlock(&ual->lock);
	return imported->target;
}

/* Makes the object of @imp, and takes over the caller's reference to @imp on success. */
static struct drm_gem_object *import_create(struct drm_ualink *ual, struct ualink_import *imp)
{
	u64 size = ualink_import_size(imp);
	struct drm_ualink_imported *imported;
	struct drm_gem_object *obj;
	int ret;

	/* The CPU's pages may be larger than the exporter's. */
	obj = ERR_PTR(-EOPNOTSUPP);
	if (size && PAGE_ALIGNED(size))
		obj = ual->funcs->import_create(ual->drm, imp, size);
	if (IS_ERR(obj))
		return obj;

	ret = ualink_import_bind(imp, obj);
	if (ret) {
		drm_gem_object_put(obj);
		return ERR_PTR(ret);
	}
	imported = gem_to_imported(obj);
	imported->owner = true;
	imported->bound = true;
	return obj;
}

static struct drm_gem_object *import_bind_locked(struct drm_ualink *ual,
						 struct ualink_import *imp)
{
	struct drm_ualink_imported *imported;
	struct drm_gem_object *obj;

	lockdep_assert_held(&ual->import_mutex);

	obj = ualink_import_tryget_bound(imp);
	if (!obj)
		return import_create(ual, imp);
	if (IS_ERR(obj))
		return obj;

	imported = gem_to_imported(obj);
	/* Pairs with READ_ONCE() of what only has to be valid, not recent. */
	WRITE_ONCE(imported->access, ualink_import_access(imp));
	ualink_import_put(imp);
	return obj;
}

/*
 * The object of @imp, new or not. Takes over the caller's reference to @imp on
 * success. -EEXIST: an object is there that nobody can get hold of any more.
 */
static struct drm_gem_object *import_bind(struct drm_ualink *ual, struct ualink_import *imp)
{
	struct drm_gem_object *obj;

	if (mutex_lock_interruptible(&ual->import_mutex))
		return ERR_PTR(-ERESTARTSYS);

	obj = import_bind_locked(ual, imp);
	mutex_unlock(&ual->import_mutex);
	return obj;
}

/* Waits until there were other than @seen unbinds: 0, -EBUSY or -ERESTARTSYS. */
static int unbind_wait(struct drm_ualink *ual, int seen, ktime_t deadline)
{
	int ret;

	ret = wait_event_interruptible_hrtimeout(ual->unbind_wait,
						 atomic_read(&ual->unbinds) != seen,
						 ktime_sub(deadline, ktime_get()));
	return ret == -ETIME ? -EBUSY : ret;
}

/* Asks the exporter if need be. Waits, without a lock. */
static struct drm_gem_object *import_get(struct drm_ualink *ual,
					 const struct ualink_handle *handle,
					 u32 access, ktime_t deadline)
{
	struct drm_gem_object *obj;
	struct ualink_import *imp;
	int seen, ret;

	imp = ualink_import_get(ual->udev, handle, access, deadline);
	if (IS_ERR(imp))
		return ERR_CAST(imp);

	do {
		/* Before the look at it. Pairs with atomic_inc() of who unbinds. */
		seen = atomic_read(&ual->unbinds);
		obj = import_bind(ual, imp);
		if (obj != ERR_PTR(-EEXIST))
			break;
		ret = unbind_wait(ual, seen, deadline);
		obj = ERR_PTR(ret);
	} while (!ret);

	if (IS_ERR(obj))
		ualink_import_put(imp);
	return obj;
}

static struct drm_gem_object *import_args(struct drm_ualink *ual,
					  const struct drm_gem_ualink_import *args)
{
	u32 access = UALINK_ACCESS_READ;
	struct ualink_handle handle;
	ktime_t deadline;

	ualink_handle_from_bytes(&handle, args->handle);
	if (!(args->flags & DRM_UALINK_IMPORT_READ_ONLY))
		access |= UALINK_ACCESS_WRITE;
	if (args->timeout_ns)
		deadline = ns_to_ktime(args->timeout_ns);
	else
		deadline = ktime_add_ms(ktime_get(),
					ualink_device_tunable(ual->udev, UALINK_REQUEST_MS));

	return import_get(ual, &handle, access, deadline);
}

static struct dma_buf *import_dma_buf(struct drm_ualink *ual, struct drm_file *file,
				      struct drm_gem_ualink_import *args)
{
	struct drm_ualink_imported *imported;
	struct drm_ualink_file *ufile;
	struct drm_gem_object *obj;
	struct dma_buf *dma_buf;
	int ret;

	ufile = drm_ualink_file_obtain(ual, file);
	if (!ufile)
		return ERR_PTR(-ENOMEM);
	ret = drm_ualink_event_arm(ufile);
	if (ret) {
		ualink_device_count_refused(ual->udev);
		return ERR_PTR(ret);
	}

	obj = import_args(ual, args);
	if (IS_ERR(obj))
		return ERR_CAST(obj);

	imported = gem_to_imported(obj);
	dma_buf = drm_ualink_dma_buf_get(imported);
	if (IS_ERR(dma_buf))
		goto out_put;

	ret = drm_ualink_record_import(ufile, imported, args->user_data);
	if (ret) {
		dma_buf_put(dma_buf);
		dma_buf = ERR_PTR(ret);
		goto out_put;
	}

	args->exporter_id = imported->exporter;
	args->size = imported->size;
	args->access = READ_ONCE(imported->access);
out_put:
	drm_gem_object_put(obj);
	return dma_buf;
}

/**
 * drm_ualink_gem_import - implementation of &drm_driver.gem_ualink_import
 * @drm: the device
 * @file: the file
 * @args: argument of the ioctl
 *
 * Return: %0 on success, else an errno as &struct drm_gem_ualink_import says.
 */
int drm_ualink_gem_import(struct drm_device *drm, struct drm_file *file,
			  struct drm_gem_ualink_import *args)
{
	struct dma_buf *dma_buf;
	int fd;

	if (!drm_ualink_device(drm))
		return -ENOTCONN;

	fd = get_unused_fd_flags(args->flags & DRM_UALINK_IMPORT_CLOEXEC ? O_CLOEXEC : 0);
	if (fd < 0) {
		ualink_device_count_refused(drm_ualink_device(drm));
		return fd;
	}

	dma_buf = import_dma_buf(drm->ualink, file, args);
	if (IS_ERR(dma_buf)) {
		put_unused_fd(fd);
		return PTR_ERR(dma_buf);
	}

	args->fd = fd;
	dma_buf_fd_install(dma_buf, fd);
	return 0;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_import);

/**
 * drm_ualink_import_tryget - implementation of &ualink_ops.import_tryget
 * @priv: an import object
 *
 * Return: true with a reference to it, false if it is being freed.
 */
bool drm_ualink_import_tryget(void *priv)
{
	struct drm_gem_object *obj = priv;

	/* What comes next needs them, and when very many die, no cache has them. */
	prefetch(&obj->ualink);
	prefetchw(&obj->_resv);
	prefetchw(&obj->gpuva.lock);
	return kref_get_unless_zero(&obj->refcount);
}
EXPORT_SYMBOL_GPL(drm_ualink_import_tryget);

/**
 * drm_ualink_import_put - implementation of &ualink_ops.import_put
 * @priv: an import object
 */
void drm_ualink_import_put(void *priv)
{
	drm_gem_object_put(priv);
}
EXPORT_SYMBOL_GPL(drm_ualink_import_put);

static void mark_dead(struct drm_ualink_imported *imported)
{
	struct drm_ualink *ual = imported->base.ual;

	dma_resv_assert_held(imported->base.obj->resv);
	spin_lock(&ual->lock);
	imported->dead = true;
	spin_unlock(&ual->lock);
	/* For drm_ualink_import_dead(); see drm_ualink_import_tryget(). */
	prefetchw(imported->records.rb_node);
}

static int zap_locked(struct drm_gem_object *obj, struct drm_exec *exec, bool force)
{
	struct drm_ualink_imported *imported = gem_to_imported(obj);
	int ret;

	ret = drm_exec_lock_obj(exec, obj);
	if (ret)
		return ret;
	mark_dead(imported);
	return imported->base.ual->funcs->zap(obj, exec, force);
}

/* Room for the object and some address spaces of a driver that locks those; it grows. */
#define ZAP_OBJECTS	8

/*
 * Takes one object, an alias or not, out of the page tables of its device. That
 * is all: nobody got an address of it but through drm_ualink_gem_window(), so that
 * there is nobody to be told by dma_buf_invalidate_mappings(). See DOC: PRIME.
 */
static int zap_object(struct drm_gem_object *obj, bool force)
{
	struct drm_exec exec;
	int ret;

	/* An address space may well have the object mapped more than once. */
	drm_exec_init(&exec, DRM_EXEC_IGNORE_DUPLICATES, ZAP_OBJECTS);
	drm_exec_until_all_locked(&exec) {
		ret = zap_locked(obj, &exec, force);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/*
 * A reference to the alias after @prev, whose reference is given back, or to the
 * first one. NULL at the end, ERR_PTR(-EBUSY) at one that is being freed and may
 * still be in page tables.
 */
static struct drm_gem_object *next_alias(struct drm_ualink_imported *target,
					 struct drm_gem_object *prev)
{
	struct drm_ualink_imported *alias = prev ? gem_to_imported(prev) : NULL;
	struct drm_ualink *ual = target->base.ual;
	struct drm_gem_object *next = NULL;

	spin_lock(&ual->lock);
	alias = list_prepare_entry(alias, &target->aliases, alias_link);
	list_for_each_entry_continue(alias, &target->aliases, alias_link) {
		next = alias->base.obj;
		if (!kref_get_unless_zero(&next->refcount))
			next = ERR_PTR(-EBUSY);
		break;
	}
	spin_unlock(&ual->lock);

	drm_gem_object_put(prev);
	return next;
}

/**
 * drm_ualink_import_invalidate - implementation of &ualink_ops.import_invalidate
 * @udev: the accelerator
 * @priv: an import object
 * @force: do not wait for work that is running
 *
 * Return: %0 when no page table holds an entry of the import any more, %-EBUSY
 * when work is still running or, even with @force, an object is just being
 * freed, %-ENOMEM; then it is to be called again.
 */
int drm_ualink_import_invalidate(struct ualink_device *udev, void *priv, bool force)
{
	struct drm_gem_object *obj = priv, *alias = NULL;
	struct drm_ualink_imported *imported = gem_to_imported(obj);
	int ret;

	prefetchw(&imported->dead);
	ret = zap_object(obj, force);
	/* Now that it is marked as dead, there are no new aliases. */
	if (list_empty(&imported->aliases))
		return ret;

	while (!ret) {
		alias = next_alias(imported, alias);
		if (IS_ERR_OR_NULL(alias))
			return PTR_ERR_OR_ZERO(alias);
		ret = zap_object(alias, force);
	}
	drm_gem_object_put(alias);
	return ret;
}
EXPORT_SYMBOL_GPL(drm_ualink_import_invalidate);

/**
 * drm_ualink_import_flush - implementation of &ualink_ops.import_flush
 * @udev: the accelerator
 *
 * Return: %0 on success, %-EIO otherwise.
 */
int drm_ualink_import_flush(struct ualink_device *udev)
{
	struct drm_device *drm = ualink_device_priv(udev);

	drm_ualink_events_flush(drm->ualink);
	return drm->ualink->funcs->flush(drm);
}
EXPORT_SYMBOL_GPL(drm_ualink_import_flush);

/**
 * drm_ualink_import_dead - implementation of &ualink_ops.import_dead
 * @udev: the accelerator
 * @priv: an import object
 * @why: the reason
 */
void drm_ualink_import_dead(struct ualink_device *udev, void *priv, enum ualink_death why)
{
	drm_ualink_records_died(gem_to_imported(priv), why);
}
EXPORT_SYMBOL_GPL(drm_ualink_import_dead);

/**
 * drm_ualink_imports_died - implementation of &ualink_ops.imports_died
 * @udev: the accelerator
 */
void drm_ualink_imports_died(struct ualink_device *udev)
{
	struct drm_device *drm = ualink_device_priv(udev);

	drm_ualink_events_send(drm->ualink);
}
EXPORT_SYMBOL_GPL(drm_ualink_imports_died);
