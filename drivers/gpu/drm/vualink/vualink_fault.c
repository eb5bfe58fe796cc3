// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/stddef.h>
#include <linux/uaccess.h>

#include <drm/drm_file.h>

#include "vualink_fault.h"
#include "vualink_file.h"
#include "vualink_hw.h"

/* Why the hardware refused an access, in words for users */
static u32 vualink_fault_reason(u32 reason)
{
	switch (reason) {
	case VUALINK_HW_FAULT_VA:
		return DRM_VUALINK_FAULT_UNMAPPED;
	case VUALINK_HW_FAULT_WRITE:
	case VUALINK_HW_FAULT_NPA_WRITE:
		return DRM_VUALINK_FAULT_READ_ONLY;
	case VUALINK_HW_FAULT_LINK:
		return DRM_VUALINK_FAULT_LINK;
	case VUALINK_HW_FAULT_GATE:
	case VUALINK_HW_FAULT_NPA:
		return DRM_VUALINK_FAULT_REFUSED;
	default:
		return DRM_VUALINK_FAULT_INTERNAL;
	}
}

void vualink_fault_log_init(struct vualink_fault_log *log)
{
	mutex_init(&log->read_lock);
	spin_lock_init(&log->lock);
}

void vualink_fault_log_fini(struct vualink_fault_log *log)
{
	mutex_destroy(&log->read_lock);
}

static struct drm_vualink_fault *
vualink_fault_log_slot(struct vualink_fault_log *log, u32 count)
{
	return &log->faults[count % VUALINK_FAULT_LOG_SIZE];
}

/* Keeps a fault, in place of the oldest one if there is no room. */
void vualink_fault_log_add(struct vualink_fault_log *log, u32 vm_id,
			   const struct vualink_hw_fault *hw_fault)
{
	struct drm_vualink_fault fault = {
		.va = hw_fault->va,
		.time_ns = ktime_get_ns(),
		.vm_id = vm_id,
		.reason = vualink_fault_reason(hw_fault->reason),
		.flags = hw_fault->write ? DRM_VUALINK_FAULT_WRITE : 0,
	};
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	if (log->head - log->tail == VUALINK_FAULT_LOG_SIZE) {
		log->tail++;
		log->lost++;
	}
	*vualink_fault_log_slot(log, log->head++) = fault;
	spin_unlock_irqrestore(&log->lock, flags);
}

static u32 vualink_fault_log_count(struct vualink_fault_log *log)
{
	u32 count;

	spin_lock_irq(&log->lock);
	count = log->head - log->tail;
	spin_unlock_irq(&log->lock);
	return count;
}

/* Return: whether there is a fault; then @tail says which, for the drop. */
static bool vualink_fault_log_peek(struct vualink_fault_log *log,
				   struct drm_vualink_fault *fault, u32 *tail)
{
	bool any;

	lockdep_assert_held(&log->read_lock);

	spin_lock_irq(&log->lock);
	*tail = log->tail;
	any = log->head != log->tail;
	if (any)
		*fault = *vualink_fault_log_slot(log, log->tail);
	spin_unlock_irq(&log->lock);
	return any;
}

/* Forgets what was peeked at. If it has been overwritten since, it is not lost. */
static void vualink_fault_log_drop(struct vualink_fault_log *log, u32 tail)
{
	lockdep_assert_held(&log->read_lock);

	spin_lock_irq(&log->lock);
	if (log->tail == tail)
		log->tail++;
	else
		log->lost--;
	spin_unlock_irq(&log->lock);
}

/* Return: how many were lost, and forgets it if it is told to. */
static u64 vualink_fault_log_lost(struct vualink_fault_log *log, bool forget)
{
	u64 lost;

	lockdep_assert_held(&log->read_lock);

	spin_lock_irq(&log->lock);
	lost = log->lost;
	if (forget)
		log->lost = 0;
	spin_unlock_irq(&log->lock);
	return lost;
}

/* What user space has room for and the kernel does not know is zero. */
static int vualink_fault_put_user(const struct drm_vualink_array *array, u32 index,
				  const struct drm_vualink_fault *fault)
{
	void __user *to = u64_to_user_ptr(array->ptr) + (u64)index * array->stride;

	return copy_struct_to_user(to, array->stride, fault, sizeof(*fault), NULL);
}

/* Return: 0, or why nothing was written although there was something. */
static int vualink_fault_log_read(struct vualink_fault_log *log,
				  struct drm_vualink_array *to)
{
	struct drm_vualink_fault fault;
	u32 room = to->count, tail;
	int ret;

	to->count = 0;
	while (to->count < room && vualink_fault_log_peek(log, &fault, &tail)) {
		ret = vualink_fault_put_user(to, to->count, &fault);
		if (ret)
			return to->count ? 0 : ret;
		vualink_fault_log_drop(log, tail);
		to->count++;
	}
	return 0;
}

static bool vualink_fault_array_valid(const struct drm_vualink_array *array)
{
	return !array->count ||
	       (array->stride >= offsetofend(struct drm_vualink_fault, pad) &&
		array->stride <= PAGE_SIZE);
}

int vualink_get_faults_ioctl(struct drm_device *drm, void *data,
			     struct drm_file *file)
{
	struct vualink_file *vfile = file->driver_priv;
	struct drm_vualink_get_faults *args = data;
	struct vualink_fault_log *log = &vfile->faults;
	bool ask = !args->faults.count;
	int ret;

	if (!vualink_fault_array_valid(&args->faults))
		return -EINVAL;
	ret = mutex_lock_interruptible(&log->read_lock);
	if (ret)
		return ret;
	if (ask)
		args->faults.count = vualink_fault_log_count(log);
	else
		ret = vualink_fault_log_read(log, &args->faults);
	args->lost = vualink_fault_log_lost(log, !ask && !ret);
	mutex_unlock(&log->read_lock);
	return ret;
}
