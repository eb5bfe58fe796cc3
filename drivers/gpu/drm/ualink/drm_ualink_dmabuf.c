// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/dma-buf.h>
#include <linux/export.h>
#include <linux/fcntl.h>

#include <drm/drm_drv.h>
#include <drm/drm_prime.h>

#include "drm_ualink_internal.h"

MODULE_IMPORT_NS("DMA_BUF");

/**
 * DOC: PRIME
 *
 * The dma-buf of an import is a name for remote memory, no way to it: it cannot
 * be mapped by the CPU, and &dma_buf_ops.map_dma_buf always fails, since what a
 * network physical address means depends on the accelerator that uses it.
 *
 * On the device that imported it, the dma-buf becomes the one GEM object of the
 * import. Another accelerator of the same host can take part only if it has an
 * import of the same handle of its own, with a grant of its own: then its
 * driver gets a GEM object with the window of that import, which lives and dies
 * with it. Everybody else is refused by the attach, which sends no message and
 * waits for nothing.
 *
 * So the dma-buf has attachments, but no mappings, and its end is no business of
 * dma_buf_invalidate_mappings(): each accelerator takes the memory out of its page
 * tables when the grant of its own import ends, which is told by the core, in
 * &drm_ualink_funcs.zap. An importer for which that is not enough, since it maps
 * what it attaches to, cannot attach.
 */

static void attach_invalidate(struct dma_buf_attachment *attach)
{
	/*
	 * The attached device has an import of its own, whose end it is told by
	 * its own exporter. There is no mapping of this attachment.
	 */
}

static const struct dma_buf_attach_ops drm_ualink_attach_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = attach_invalidate,
};

static int dma_buf_op_attach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	struct drm_gem_object *obj = dma_buf->priv;
	struct ualink_device *udev;
	struct ualink_import *imp;

	/* What others call private may be anything, and they could not map it. */
	if (attach->importer_ops != &drm_ualink_attach_ops)
		return -EOPNOTSUPP;

	udev = drm_ualink_device(attach->importer_priv);
	if (!udev)
		return -ENOTCONN;

	imp = ualink_import_find(udev, &gem_to_imported(obj)->handle);
	if (!imp)
		return -ENOENT;

	attach->priv = imp;	/* Put in dma_buf_op_detach() */
	return 0;
}

static void dma_buf_op_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	ualink_import_put(attach->priv);
}

static int dma_buf_op_pin(struct dma_buf_attachment *attach)
{
	return -EOPNOTSUPP;
}

static void dma_buf_op_unpin(struct dma_buf_attachment *attach)
{
}

static struct sg_table *dma_buf_op_map(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void dma_buf_op_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			     enum dma_data_direction dir)
{
}

static int dma_buf_op_begin_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	return -EOPNOTSUPP;
}

static int dma_buf_op_mmap(struct dma_buf *dma_buf, struct vm_area_struct *vma)
{
	return -EOPNOTSUPP;
}

static void dma_buf_op_release(struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = dma_buf->priv;
	struct drm_ualink_imported *imported = gem_to_imported(obj);

	/* A successor may have its place already. */
	mutex_lock(&imported->base.mutex);
	if (imported->dma_buf == dma_buf)
		imported->dma_buf = NULL;
	mutex_unlock(&imported->base.mutex);

	drm_gem_dmabuf_release(dma_buf);
}

static const struct dma_buf_ops drm_ualink_dma_buf_ops = {
	.attach = dma_buf_op_attach,
	.detach = dma_buf_op_detach,
	.pin = dma_buf_op_pin,
	.unpin = dma_buf_op_unpin,
	.map_dma_buf = dma_buf_op_map,
	.unmap_dma_buf = dma_buf_op_unmap,
	.release = dma_buf_op_release,
	.begin_cpu_access = dma_buf_op_begin_cpu_access,
	.mmap = dma_buf_op_mmap,
	/* No vmap: dma_buf_vmap() warns if there is one that fails. */
};

static struct dma_buf *dma_buf_create(struct drm_ualink_imported *imported)
{
	struct drm_gem_object *obj = imported->base.obj;
	struct dma_buf_export_info info = {
		.exp_name = "ualink",
		.owner = obj->dev->driver->fops->owner,
		.ops = &drm_ualink_dma_buf_ops,
		.size = obj->size,
		.flags = O_RDWR,
		.priv = obj,
		.resv = obj->resv,
	};

	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* A reference to the dma-buf of an import, made if it is not there. */
struct dma_buf *drm_ualink_dma_buf_get(struct drm_ualink_imported *imported)
{
	struct dma_buf *dma_buf;

	mutex_lock(&imported->base.mutex);
	dma_buf = imported->dma_buf;
	/* It cannot be freed before dma_buf_op_release() has had the mutex. */
	if (!dma_buf || !dma_buf_tryget(dma_buf)) {
		dma_buf = dma_buf_create(imported);
		if (!IS_ERR(dma_buf))
			imported->dma_buf = dma_buf;
	}
	mutex_unlock(&imported->base.mutex);
	return dma_buf;
}

/**
 * drm_ualink_is_dma_buf - is a dma-buf remote memory?
 * @dma_buf: the dma-buf; any
 *
 * Return: true if it is. It must be given to drm_ualink_gem_prime_import() then.
 */
bool drm_ualink_is_dma_buf(const struct dma_buf *dma_buf)
{
	return dma_buf->ops == &drm_ualink_dma_buf_ops;
}
EXPORT_SYMBOL_GPL(drm_ualink_is_dma_buf);

/**
 * drm_ualink_gem_prime_export - implementation of &drm_gem_object_funcs.export
 * @obj: an import object
 * @flags: ignored
 *
 * Return: the dma-buf that IMPORT yields, too, or an ERR_PTR().
 */
struct dma_buf *drm_ualink_gem_prime_export(struct drm_gem_object *obj, int flags)
{
	return drm_ualink_dma_buf_get(gem_to_imported(obj));
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_prime_export);

/* An object of the attached device, with the window of the device's own import. */
static struct drm_gem_object *alias_create(struct drm_device *drm,
					   struct dma_buf_attachment *attach)
{
	struct ualink_import *imp = attach->priv;
	struct drm_gem_object *target, *alias;

	/* It may die at any time; drm_ualink_imported_add_alias() says for sure. */
	if (ualink_import_death(imp) != UALINK_ALIVE)
		return ERR_PTR(-ENODEV);

	target = ualink_import_tryget_bound(imp);
	if (IS_ERR_OR_NULL(target))
		return ERR_PTR(-ENOENT);

	alias = drm->ualink->funcs->import_create(drm, imp, ualink_import_size(imp));
	if (IS_ERR(alias))
		goto err_put;

	alias->import_attach = attach;
	if (drm_ualink_imported_add_alias(target, alias))
		return alias;	/* Puts the target in alias_release() */

	alias->import_attach = NULL;
	drm_gem_object_put(alias);
	alias = ERR_PTR(-ENODEV);
err_put:
	drm_gem_object_put(target);
	return alias;
}

static struct drm_gem_object *alias_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct dma_buf_attachment *attach;
	struct drm_gem_object *obj;

	attach = dma_buf_dynamic_attach(dma_buf, drm->dev, &drm_ualink_attach_ops, drm);
	if (IS_ERR(attach))
		return ERR_CAST(attach);

	obj = alias_create(drm, attach);
	if (IS_ERR(obj))
		dma_buf_detach(dma_buf, attach);
	else
		get_dma_buf(dma_buf);	/* Put in alias_release() */
	return obj;
}

/**
 * drm_ualink_gem_prime_import - implementation of &drm_driver.gem_prime_import
 * @drm: the device
 * @dma_buf: a dma-buf for which drm_ualink_is_dma_buf() is true
 *
 * Return: an object with a reference for the caller; or an ERR_PTR():
 * %-EOPNOTSUPP if @drm has no UALink, %-ENOENT if it has no import of the same
 * handle, %-ENODEV if the import is dead, %-ENOTCONN, %-ENOMEM.
 */
struct drm_gem_object *drm_ualink_gem_prime_import(struct drm_device *drm,
						   struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = dma_buf->priv;

	if (!drm->ualink)
		return ERR_PTR(-EOPNOTSUPP);
	if (obj->dev != drm)
		return alias_import(drm, dma_buf);

	/* Who names the object later learns it for sure. */
	if (data_race(gem_to_imported(obj)->dead))
		return ERR_PTR(-ENODEV);

	drm_gem_object_get(obj);
	return obj;
}
EXPORT_SYMBOL_GPL(drm_ualink_gem_prime_import);
