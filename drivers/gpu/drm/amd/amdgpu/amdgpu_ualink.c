// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/debugfs.h>
#include <linux/pm_runtime.h>
#include <linux/seq_file.h>

#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_ualink.h>

#include "amdgpu.h"
#include "amdgpu_reset.h"
#include "amdgpu_ualink.h"

/**
 * DOC: UALink
 *
 * GPUs whose discovery table names a UALink block can share VRAM with GPUs of other
 * machines; see Documentation/gpu/ualink. This is the client of that subsystem.
 *
 * - ualink_v1_0.c drives the block: messages, source gates, the link TLB.
 * - amdgpu_ualink_npa.c has the page tables through which others reach VRAM.
 * - amdgpu_ualink_gem.c has what concerns buffer objects: pinning of exports, and
 *   imports, which live in the TTM pool %AMDGPU_PL_NPA and which the VM code maps
 *   like local memory.
 *
 * Life: sw_init and sw_fini as part of the device; start after it is registered, stop
 * after it is unplugged and before anything of it is torn down. Suspend ends
 * everything that is shared. A reset loses what the block knows, so that after it
 * all exports and imports are ended, too, by a work item: the reset itself may not
 * wait for reservations.
 */

/* Exports are pinned: part of VRAM that one file may export, and part that nobody may */
#define AMDGPU_UALINK_FILE_SHARE	2
#define AMDGPU_UALINK_RESERVED_SHARE	4

static struct amdgpu_device *udev_to_adev(struct ualink_device *udev)
{
	return drm_to_adev(ualink_device_priv(udev));
}

static struct ualink_device *adev_to_udev(struct amdgpu_device *adev)
{
	return drm_ualink_device(adev_to_drm(adev));
}

/**
 * amdgpu_ualink_check - has the block answered?
 * @adev: amdgpu_device pointer
 * @ret: what an operation of the block returned
 *
 * If it has not, only a reset helps; it is done by a work item. Where nothing is shared, or
 * it is just being ended, also since there was a reset, none is needed: a block that fails
 * again after its reset must not take the GPU along.
 *
 * Return: @ret.
 */
int amdgpu_ualink_check(struct amdgpu_device *adev, int ret)
{
	/* Pairs with WRITE_ONCE() in amdgpu_ualink_set_state(). */
	if (ret == -EIO && READ_ONCE(adev->ualink->state) == AMDGPU_UALINK_ON &&
	    !atomic_read(&adev->ualink->restart))
		amdgpu_reset_domain_schedule(adev->reset_domain, &adev->ualink->recover_work);
	return ret;
}

static int amdgpu_ualink_send(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg)
{
	struct amdgpu_device *adev = udev_to_adev(udev);

	return adev->ualink->funcs->send(adev, dst, msg);
}

static int amdgpu_ualink_recv(struct ualink_device *udev, u32 src, struct ualink_msg *msg)
{
	struct amdgpu_device *adev = udev_to_adev(udev);

	return adev->ualink->funcs->recv(adev, src, msg);
}

static int amdgpu_ualink_gate(struct ualink_device *udev, u32 src, bool open)
{
	struct amdgpu_device *adev = udev_to_adev(udev);
	int ret;

	down_read(&adev->reset_domain->sem);
	ret = adev->ualink->funcs->source_gate(adev, src, open);
	up_read(&adev->reset_domain->sem);
	return amdgpu_ualink_check(adev, ret);
}

static int amdgpu_ualink_map(struct ualink_device *udev, u64 offset, u64 size,
			     bool read_only, void *priv)
{
	return amdgpu_ualink_npa_map(udev_to_adev(udev), offset, gem_to_amdgpu_bo(priv), read_only);
}

static void amdgpu_ualink_unmap(struct ualink_device *udev, u64 offset, u64 size)
{
	amdgpu_ualink_npa_unmap(udev_to_adev(udev), offset, size);
}

static int amdgpu_ualink_invalidate(struct ualink_device *udev, u64 offset, u64 size)
{
	struct amdgpu_device *adev = udev_to_adev(udev);
	int ret;

	down_read(&adev->reset_domain->sem);
	ret = adev->ualink->funcs->invalidate(adev, offset, size);
	up_read(&adev->reset_domain->sem);
	return amdgpu_ualink_check(adev, ret);
}

static const struct ualink_ops amdgpu_ualink_ops = {
	DRM_UALINK_OPS,
	.send = amdgpu_ualink_send,
	.recv = amdgpu_ualink_recv,
	.source_gate = amdgpu_ualink_gate,
	.npa_map = amdgpu_ualink_map,
	.npa_unmap = amdgpu_ualink_unmap,
	.npa_flush = amdgpu_ualink_invalidate,
};

static void amdgpu_ualink_set_irq(struct amdgpu_device *adev, bool on)
{
	struct amdgpu_ualink *ual = adev->ualink;

	spin_lock_irq(&ual->irq_lock);
	ual->irq_on = on;
	spin_unlock_irq(&ual->irq_lock);
}

/**
 * amdgpu_ualink_notify - tells the core of an interrupt
 * @adev: amdgpu_device pointer
 * @id: the accelerator that it is about
 * @notify: what to call
 *
 * The core must not hear of any before it is there and after it is told to go.
 */
void amdgpu_ualink_notify(struct amdgpu_device *adev, u32 id,
			  void (*notify)(struct ualink_device *udev, u32 id))
{
	struct amdgpu_ualink *ual = adev->ualink;
	unsigned long flags;

	spin_lock_irqsave(&ual->irq_lock, flags);
	if (ual->irq_on)
		notify(adev_to_udev(adev), id);
	spin_unlock_irqrestore(&ual->irq_lock, flags);
}

static int amdgpu_ualink_provision(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;
	struct amdgpu_ualink_provision *p;
	struct ualink_device_params params = {
		.ops = &amdgpu_ualink_ops,
		.block_sizes = SZ_4K | SZ_2M,
		.segment_shift = ual->segment_shift,
	};
	int ret = -ENOTCONN;
	bool provisioned;

	if (adev_to_udev(adev))
		return 0;

	p = kzalloc_obj(*p);
	if (!p)
		return -ENOMEM;
	down_read(&adev->reset_domain->sem);
	provisioned = ual->funcs->provision(adev, p);
	up_read(&adev->reset_domain->sem);
	if (provisioned && !uuid_is_null(&p->vpod)) {
		params.id = p->id;
		params.vpod = p->vpod;
		params.members = p->members;
		ret = drm_ualink_provision(adev_to_drm(adev), &params);
		if (!ret)
			ualink_device_debugfs_init(adev_to_udev(adev),
						   adev_to_drm(adev)->debugfs_root);
	}
	kfree(p);
	return ret;
}

/* Makes the block work, with nothing mapped for others. */
static int amdgpu_ualink_hw_enable(struct amdgpu_device *adev)
{
	int ret;

	amdgpu_ualink_npa_clear(adev);
	down_read(&adev->reset_domain->sem);
	ret = adev->ualink->funcs->enable(adev);
	up_read(&adev->reset_domain->sem);
	return ret;
}

static void amdgpu_ualink_hw_disable(struct amdgpu_device *adev)
{
	down_read(&adev->reset_domain->sem);
	if (adev->ualink->funcs->disable(adev))
		dev_err(adev->dev, "the UALink block does not stop\n");
	up_read(&adev->reset_domain->sem);
}

static void amdgpu_ualink_set_state(struct amdgpu_ualink *ual, enum amdgpu_ualink_state state)
{
	lockdep_assert_held(&ual->mutex);
	/* Pairs with READ_ONCE() of those who do not hold the mutex. */
	WRITE_ONCE(ual->state, state);
}

/* Joins the vPod, if there is one. */
static int amdgpu_ualink_join(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;
	int ret;

	lockdep_assert_held(&ual->mutex);
	ret = amdgpu_ualink_provision(adev);
	if (ret)
		return ret == -ENOTCONN ? 0 : ret;

	amdgpu_ualink_set_irq(adev, true);
	ret = amdgpu_ualink_hw_enable(adev);
	if (ret)
		return ret;
	ret = ualink_device_activate(adev_to_udev(adev));
	if (ret)
		amdgpu_ualink_hw_disable(adev);
	else
		amdgpu_ualink_set_state(ual, AMDGPU_UALINK_ON);
	return ret;
}

/* Ends all that is shared. The block works meanwhile, if it can. */
static void amdgpu_ualink_leave(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;

	lockdep_assert_held(&ual->mutex);
	if (ual->state == AMDGPU_UALINK_OFF)
		return;
	amdgpu_ualink_set_state(ual, AMDGPU_UALINK_LEAVING);
	ualink_device_deactivate(adev_to_udev(adev));
	amdgpu_ualink_hw_disable(adev);
	amdgpu_ualink_set_state(ual, AMDGPU_UALINK_OFF);
}

static void amdgpu_ualink_work(struct work_struct *work)
{
	struct amdgpu_ualink *ual = container_of(work, struct amdgpu_ualink, work);
	struct amdgpu_device *adev = ual->adev;
	int ret = 0;

	mutex_lock(&ual->mutex);
	if (atomic_read(&ual->restart) && ual->state == AMDGPU_UALINK_ON) {
		/* In this order: amdgpu_ualink_check() must see one or the other. */
		amdgpu_ualink_set_state(ual, AMDGPU_UALINK_LEAVING);
		atomic_set_release(&ual->restart, 0);
		/* So that the others are told. */
		amdgpu_ualink_hw_enable(adev);
		amdgpu_ualink_leave(adev);
		ret = amdgpu_ualink_join(adev);
		ual->restarts++;
	} else if (ual->state == AMDGPU_UALINK_OFF && !ual->stopped && !adev->in_suspend) {
		atomic_set(&ual->restart, 0);
		ret = amdgpu_ualink_join(adev);
	}
	mutex_unlock(&ual->mutex);
	if (ret)
		dev_warn(adev->dev, "UALink does not start (%d)\n", ret);
}

static void amdgpu_ualink_recover_work(struct work_struct *work)
{
	struct amdgpu_ualink *ual = container_of(work, struct amdgpu_ualink, recover_work);
	struct amdgpu_reset_context context = {
		.method = AMD_RESET_METHOD_NONE,
		.reset_req_dev = ual->adev,
		.src = AMDGPU_RESET_SRC_UNKNOWN,
	};

	/* Not any more, or not again? Pairs with WRITE_ONCE() in amdgpu_ualink_set_state(). */
	if (READ_ONCE(ual->state) != AMDGPU_UALINK_ON)
		return;
	dev_warn(ual->adev->dev, "UALink does not answer, resetting the GPU\n");
	amdgpu_device_gpu_recover(ual->adev, NULL, &context);
}

/**
 * amdgpu_ualink_start - joins the vPod
 * @adev: amdgpu_device pointer, registered
 *
 * The GPU works without it, so there is a warning when that fails, and no error.
 */
void amdgpu_ualink_start(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;

	if (!ual)
		return;
	queue_work(system_dfl_wq, &ual->work);
	flush_work(&ual->work);
}

/**
 * amdgpu_ualink_stop - leaves the vPod, for good
 * @adev: amdgpu_device pointer, about to be unplugged, whose hardware still works
 *
 * Page tables are cleared in ways that an unplugged device does not have any more.
 */
void amdgpu_ualink_stop(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;

	if (!ual)
		return;
	mutex_lock(&ual->mutex);
	ual->stopped = true;
	amdgpu_ualink_leave(adev);
	mutex_unlock(&ual->mutex);
	amdgpu_ualink_set_irq(adev, false);
	drm_ualink_unplug(adev_to_drm(adev));
	/* A reset in turn asks for a restart. */
	cancel_work_sync(&ual->recover_work);
	cancel_work_sync(&ual->work);
}

/**
 * amdgpu_ualink_suspend - ends all that is shared
 * @adev: amdgpu_device pointer, still working
 */
void amdgpu_ualink_suspend(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;

	if (!ual)
		return;
	mutex_lock(&ual->mutex);
	amdgpu_ualink_leave(adev);
	mutex_unlock(&ual->mutex);
}

/**
 * amdgpu_ualink_resume - joins the vPod again
 * @adev: amdgpu_device pointer, working again
 */
void amdgpu_ualink_resume(struct amdgpu_device *adev)
{
	/* Who waits for runtime PM is about to export or to import. */
	amdgpu_ualink_start(adev);
}

/**
 * amdgpu_ualink_stop_recovery - there is a reset already
 * @adev: amdgpu_device pointer
 */
void amdgpu_ualink_stop_recovery(struct amdgpu_device *adev)
{
	if (adev->ualink)
		cancel_work(&adev->ualink->recover_work);
}

/**
 * amdgpu_ualink_post_reset - the GPU was reset, and the block with it
 * @adev: amdgpu_device pointer, still locked for the reset
 *
 * What was shared is ended, and the vPod joined again, by a work item.
 */
void amdgpu_ualink_post_reset(struct amdgpu_device *adev)
{
	struct amdgpu_ualink *ual = adev->ualink;

	if (!ual)
		return;
	atomic_set(&ual->restart, 1);
	queue_work(system_dfl_wq, &ual->work);
}

void amdgpu_ualink_postclose(struct amdgpu_device *adev, struct drm_file *file)
{
	if (adev->ualink)
		drm_ualink_postclose(adev_to_drm(adev), file);
}

void amdgpu_ualink_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	drm_ualink_show_fdinfo(p, file);
}

static const struct amdgpu_ualink_funcs *amdgpu_ualink_funcs(struct amdgpu_device *adev)
{
	switch (amdgpu_ip_version(adev, UALINK_HWIP, 0)) {
	case IP_VERSION(1, 0, 0):
		return &ualink_v1_0_funcs;
	default:
		return NULL;
	}
}

static int amdgpu_ualink_init_parts(struct amdgpu_device *adev)
{
	u64 size = adev->gmc.real_vram_size;
	const struct drm_ualink_caps caps = {
		.device = size - size / AMDGPU_UALINK_RESERVED_SHARE,
		.file = size / AMDGPU_UALINK_FILE_SHARE,
	};
	int ret;

	ret = adev->ualink->funcs->sw_init(adev);
	if (ret)
		return ret;
	/* Whoever drove it before may have left it on. */
	ret = adev->ualink->funcs->disable(adev);
	if (ret)
		goto err_sw;
	ret = amdgpu_ualink_npa_init(adev);
	if (ret)
		goto err_sw;
	ret = amdgpu_ualink_man_init(adev);
	if (ret)
		goto err_npa;
	/* The last step: there is no way back from it. */
	ret = drm_ualink_init(adev_to_drm(adev), &amdgpu_ualink_gem_funcs, &caps);
	if (ret)
		goto err_man;
	return 0;

err_man:
	drm_ualink_npa_man_fini(&adev->mman.bdev, AMDGPU_PL_NPA);
err_npa:
	amdgpu_ualink_npa_fini(adev);
err_sw:
	adev->ualink->funcs->sw_fini(adev);
	return ret;
}

/**
 * amdgpu_ualink_sw_init - finds out whether the GPU has UALink
 * @adev: amdgpu_device pointer, whose memory management works
 *
 * The GPU works without it, so there is a warning when that fails, and no error.
 */
void amdgpu_ualink_sw_init(struct amdgpu_device *adev)
{
	const struct amdgpu_ualink_funcs *funcs = amdgpu_ualink_funcs(adev);
	struct amdgpu_ualink *ual;
	int ret;

	if (!funcs || amdgpu_sriov_vf(adev))
		return;

	/* &amdgpu_device.irq refers to it to the end. */
	ual = drmm_kzalloc(adev_to_drm(adev), sizeof(*ual), GFP_KERNEL);
	if (!ual)
		return;
	ual->adev = adev;
	ual->funcs = funcs;
	mutex_init(&ual->npa.populate_mutex);
	mutex_init(&ual->npa.mutex);
	mutex_init(&ual->mutex);
	spin_lock_init(&ual->irq_lock);
	INIT_WORK(&ual->work, amdgpu_ualink_work);
	INIT_WORK(&ual->recover_work, amdgpu_ualink_recover_work);

	adev->ualink = ual;
	ret = amdgpu_ualink_init_parts(adev);
	if (!ret)
		return;
	dev_warn(adev->dev, "no UALink (%d)\n", ret);
	adev->ualink = NULL;
}

/**
 * amdgpu_ualink_sw_fini - undoes amdgpu_ualink_sw_init()
 * @adev: amdgpu_device pointer, whose memory management still works
 *
 * The TTM pool goes later, with the others: amdgpu_ualink_man_fini().
 */
void amdgpu_ualink_sw_fini(struct amdgpu_device *adev)
{
	if (!adev->ualink)
		return;
	amdgpu_ualink_stop(adev);
	amdgpu_ualink_npa_fini(adev);
	adev->ualink->funcs->sw_fini(adev);
}

static int amdgpu_ualink_stats_show(struct seq_file *m, void *data)
{
	static const char * const names[AMDGPU_UALINK_COUNTERS] = {
		[AMDGPU_UALINK_SERVED] = "npa_in",
		[AMDGPU_UALINK_REFUSED] = "npa_refused",
		[AMDGPU_UALINK_ACCESSES] = "npa_out",
		[AMDGPU_UALINK_TX] = "tx_msgs",
		[AMDGPU_UALINK_RX] = "rx_msgs",
		[AMDGPU_UALINK_INVALIDATIONS] = "link_flushes",
		[AMDGPU_UALINK_WALKS] = "walks",
		[AMDGPU_UALINK_STALE] = "stale",
		[AMDGPU_UALINK_STALE_ANY] = "stale_any",
	};
	struct amdgpu_device *adev = m->private;
	struct amdgpu_ualink *ual = adev->ualink;
	unsigned int i;
	int ret;

	ret = pm_runtime_resume_and_get(adev->dev);
	if (ret)
		return ret;
	down_read(&adev->reset_domain->sem);
	for (i = 0; i < AMDGPU_UALINK_COUNTERS; i++)
		seq_printf(m, "%s: %llu\n", names[i], ual->funcs->counter(adev, i));
	up_read(&adev->reset_domain->sem);
	pm_runtime_put_autosuspend(adev->dev);

	mutex_lock(&ual->npa.mutex);
	seq_printf(m, "pte_writes: %llu\n", ual->npa.pte_writes);
	seq_printf(m, "table_bytes: %llu\n", ual->npa.table_bytes);
	mutex_unlock(&ual->npa.mutex);
	seq_printf(m, "ptes_zapped: %llu\n", atomic64_read(&ual->zapped));

	mutex_lock(&ual->mutex);
	seq_printf(m, "restarts: %u\n", ual->restarts);
	mutex_unlock(&ual->mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(amdgpu_ualink_stats);

/**
 * amdgpu_ualink_debugfs_init - counters of the hardware in debugfs
 * @adev: amdgpu_device pointer, registered
 */
void amdgpu_ualink_debugfs_init(struct amdgpu_device *adev)
{
	if (adev->ualink)
		debugfs_create_file("amdgpu_ualink_stats", 0400, adev_to_drm(adev)->debugfs_root,
				    adev, &amdgpu_ualink_stats_fops);
}
