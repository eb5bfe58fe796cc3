/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_UALINK_H_
#define _VUALINK_UALINK_H_

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "vualink_hw.h"
#include "vualink_pt.h"
#include "vualink_table.h"

struct vualink_config_accel;
struct vualink_device;

/**
 * struct vualink_ualink - what an accelerator shares with others
 */
struct vualink_ualink {
	/** @pool: memory of @pt */
	struct vualink_table_pool pool;

	/** @pt: page table of the NPA segment; its lock protects @limbo too */
	struct vualink_pt pt;

	/** @limbo: tables out of place, but not flushed */
	struct list_head limbo;

	/** @irq_lock: an interrupt is being handled; irq-safe */
	spinlock_t irq_lock;

	/** @irq_on: interrupts go to the UALink core. Under @irq_lock */
	bool irq_on;

	/** @rx_seen: ids from which messages came, ever. Atomic bit operations */
	DECLARE_BITMAP(rx_seen, VUALINK_HW_MAX_IDS);
};

int vualink_ualink_init(struct vualink_device *vdev);
int vualink_ualink_start(struct vualink_device *vdev,
			 const struct vualink_config_accel *config);
void vualink_ualink_pause(struct vualink_device *vdev);
int vualink_ualink_resume(struct vualink_device *vdev);
void vualink_ualink_stop(struct vualink_device *vdev);

void vualink_ualink_rx(void *data, u32 src);
void vualink_ualink_tx(void *data, u32 dst);
void vualink_ualink_link(void *data, u32 id, bool up);
void vualink_ualink_refused(void *data, u32 src, enum vualink_hw_fault_reason reason);

#endif /* _VUALINK_UALINK_H_ */
