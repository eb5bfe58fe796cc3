// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "vualink_hw_internal.h"

/*
 * The fabric of a pod: who is plugged in, and which links are up. Messages are
 * in vualink_fabric_msg.c.
 *
 * Accelerators are looked up under RCU and used with a reference in
 * &vualink_hw.users; vualink_fabric_unplug() waits for the last of them, not
 * for a grace period. No lock is held while an interrupt is raised.
 */

/* Links */

/* A link has no direction: one key for both. */
static unsigned long vualink_fabric_pair(u32 a, u32 b)
{
	return (unsigned long)min(a, b) * VUALINK_HW_MAX_IDS + max(a, b);
}

/* Whether there is a link, whatever is plugged in. Any context. */
bool vualink_fabric_wired(struct vualink_fabric *fabric, u32 a, u32 b)
{
	return a == b || !xa_load(&fabric->cuts, vualink_fabric_pair(a, b));
}

/**
 * vualink_fabric_link_up() - whether two accelerators can reach each other
 * @fabric: the pod
 * @a: id of one
 * @b: id of the other; may be the same
 *
 * May be called from any context.
 *
 * Return: true if both are plugged in and the link between them is not cut.
 */
bool vualink_fabric_link_up(struct vualink_fabric *fabric, u32 a, u32 b)
{
	return xa_load(&fabric->hws, a) && xa_load(&fabric->hws, b) &&
	       vualink_fabric_wired(fabric, a, b);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_link_up);

static void vualink_fabric_raise_link(struct vualink_fabric *fabric, u32 at,
				      u32 id, bool up)
{
	struct vualink_hw *hw = vualink_fabric_hw_get(fabric, at);

	if (!hw)
		return;
	hw->params.irq->link(hw->params.data, id, up);
	vualink_fabric_hw_put(hw);
}

static void vualink_fabric_raise_links(struct vualink_fabric *fabric, u32 a,
				       u32 b, bool up)
{
	if (!xa_load(&fabric->hws, a) || !xa_load(&fabric->hws, b))
		return;
	vualink_fabric_raise_link(fabric, a, b, up);
	vualink_fabric_raise_link(fabric, b, a, up);
}

static bool vualink_fabric_is_pair(u32 a, u32 b)
{
	return a < VUALINK_HW_MAX_IDS && b < VUALINK_HW_MAX_IDS && a != b;
}

/*
 * Cuts the link between two accelerators. What is under way arrives.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int vualink_fabric_cut(struct vualink_fabric *fabric, u32 a, u32 b)
{
	void *old;

	if (!vualink_fabric_is_pair(a, b))
		return -EINVAL;
	old = xa_store(&fabric->cuts, vualink_fabric_pair(a, b),
		       xa_mk_value(0), GFP_KERNEL);
	if (xa_is_err(old))
		return xa_err(old);
	if (!old)
		vualink_fabric_raise_links(fabric, a, b, false);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_cut);

/* Undoes vualink_fabric_cut(). Return: 0 or -EINVAL. */
int vualink_fabric_restore(struct vualink_fabric *fabric, u32 a, u32 b)
{
	if (!vualink_fabric_is_pair(a, b))
		return -EINVAL;
	if (xa_erase(&fabric->cuts, vualink_fabric_pair(a, b)))
		vualink_fabric_raise_links(fabric, a, b, true);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_restore);

/* Lets the messages that an accelerator sends vanish, or no longer. */
void vualink_fabric_mute(struct vualink_fabric *fabric, u32 id, bool mute)
{
	assign_bit(id, fabric->muted, mute);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_mute);

/* Crashes an accelerator. Return: 0, or -ENODEV if it is not plugged in. */
int vualink_fabric_crash(struct vualink_fabric *fabric, u32 id)
{
	struct vualink_hw *hw = vualink_fabric_hw_get(fabric, id);

	if (!hw)
		return -ENODEV;
	vualink_hw_crash(hw);
	vualink_fabric_hw_put(hw);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_crash);

/* Accelerators */

/*
 * Finds an accelerator, for one access or interrupt. Any context.
 * Return: it, for vualink_fabric_hw_put(), or NULL.
 */
struct vualink_hw *vualink_fabric_hw_get(struct vualink_fabric *fabric, u32 id)
{
	struct vualink_hw *hw;

	rcu_read_lock();
	hw = xa_load(&fabric->hws, id);
	if (hw && !refcount_inc_not_zero(&hw->users))
		hw = NULL;
	rcu_read_unlock();
	return hw;
}

void vualink_fabric_hw_put(struct vualink_hw *hw)
{
	if (refcount_dec_and_test(&hw->users))
		complete(&hw->unplugged);
}

/* Tells the others that an accelerator came or went. */
static void vualink_fabric_announce(struct vualink_fabric *fabric, u32 id,
				    bool up)
{
	struct vualink_hw *other;
	unsigned long at;

	/* @other may be gone already: it is looked up again. */
	xa_for_each(&fabric->hws, at, other)
		if (at != id && vualink_fabric_wired(fabric, at, id))
			vualink_fabric_raise_link(fabric, at, id, up);
}

/* Plugs an accelerator in. Return: 0, -EEXIST if the id is taken, -ENOMEM. */
int vualink_fabric_plug(struct vualink_hw *hw)
{
	struct vualink_fabric *fabric = hw->params.fabric;
	int ret;

	refcount_set(&hw->users, 1);
	init_completion(&hw->unplugged);
	ret = xa_insert(&fabric->hws, hw->params.id, hw, GFP_KERNEL);
	if (ret)
		return ret == -EBUSY ? -EEXIST : ret;
	vualink_fabric_announce(fabric, hw->params.id, true);
	return 0;
}

/* Returns when nobody else uses the accelerator, or will. */
void vualink_fabric_unplug(struct vualink_hw *hw)
{
	struct vualink_fabric *fabric = hw->params.fabric;

	xa_erase(&fabric->hws, hw->params.id);
	vualink_fabric_hw_put(hw); /* Pairs with vualink_fabric_plug(). */
	wait_for_completion(&hw->unplugged);
	vualink_fabric_announce(fabric, hw->params.id, false);
}

/* Life of a fabric */

/**
 * vualink_fabric_create() - make the fabric of a pod
 * @name: its name in debugfs
 * @parent: where its knobs appear; with %NULL they do not
 *
 * Return: the fabric, with one reference, or an ERR_PTR().
 */
struct vualink_fabric *
vualink_fabric_create(const char *name, struct dentry *parent)
{
	struct vualink_fabric *fabric = kzalloc_obj(*fabric);

	if (!fabric)
		return ERR_PTR(-ENOMEM);
	/* Fences are signaled from here: it must run when memory is short. */
	fabric->wq = alloc_workqueue("vualink-%s", WQ_UNBOUND | WQ_MEM_RECLAIM,
				     WQ_UNBOUND_MAX_ACTIVE, name);
	if (!fabric->wq) {
		kfree(fabric);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&fabric->ref);
	xa_init(&fabric->hws);
	xa_init(&fabric->cuts);
	spin_lock_init(&fabric->lock);
	vualink_fabric_msg_init(fabric);
	vualink_fabric_knobs_init(fabric);
	vualink_fabric_debugfs_init(fabric, name, parent);
	return fabric;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_create);

/**
 * vualink_fabric_get() - take a reference
 * @fabric: the fabric
 *
 * Return: @fabric.
 */
struct vualink_fabric *vualink_fabric_get(struct vualink_fabric *fabric)
{
	kref_get(&fabric->ref);
	return fabric;
}

static void vualink_fabric_release(struct kref *ref)
{
	struct vualink_fabric *fabric = container_of(ref, typeof(*fabric), ref);

	debugfs_remove(fabric->dir);
	vualink_fabric_msg_fini(fabric);
	destroy_workqueue(fabric->wq);
	xa_destroy(&fabric->cuts);
	xa_destroy(&fabric->hws);
	kfree(fabric);
}

/**
 * vualink_fabric_put() - give up a reference
 * @fabric: the fabric; the last reference to it frees it
 *
 * May sleep.
 */
void vualink_fabric_put(struct vualink_fabric *fabric)
{
	kref_put(&fabric->ref, vualink_fabric_release);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_put);
