/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_TABLE_H_
#define _VUALINK_TABLE_H_

#include <linux/list.h>
#include <linux/mutex.h>

#include "vualink_pt.h"

struct vualink_device;

/**
 * struct vualink_table_pool - VRAM for the tables of one page table
 */
struct vualink_table_pool {
	/** @vdev: whose VRAM it is */
	struct vualink_device *vdev;

	/** @lock: protects all below */
	struct mutex lock;

	/** @chunks: list of &vualink_table_chunk.link, those with free tables first */
	struct list_head chunks;
};

void vualink_table_pool_init(struct vualink_table_pool *pool,
			     struct vualink_device *vdev);
void vualink_table_pool_fini(struct vualink_table_pool *pool);

extern const struct vualink_pt_ops vualink_table_ops;

#endif /* _VUALINK_TABLE_H_ */
