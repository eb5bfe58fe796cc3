/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_VM_H_
#define _VUALINK_VM_H_

#include <linux/bits.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/drm_gpuvm.h>

#include "vualink_hw.h"
#include "vualink_pt.h"
#include "vualink_table.h"

struct drm_device;
struct drm_file;
struct vualink_bo;
struct vualink_device;
struct vualink_file;

/* The first page stays unmapped, so that 0 is no address. */
#define VUALINK_VA_START	((u64)VUALINK_PAGE_SIZE)
#define VUALINK_VA_END		BIT_ULL(VUALINK_VA_BITS)

/**
 * struct vualink_vm - a GPU virtual address space
 *
 * The dma_resv of @base protects the tree of mappings.
 */
struct vualink_vm {
	/** @base: base class; its references count what is in the tree */
	struct drm_gpuvm base;

	/** @vfile: whose limit it counts for. A reference, until it is torn down */
	struct vualink_file *vfile;

	/** @users: the handle, and the jobs; with the last one it is torn down */
	struct kref users;

	/**
	 * @teardown: takes it apart; queued by the last user, and if it is
	 * @stuck then, once more by a reset or by unplug
	 */
	struct work_struct teardown;

	/** @link: entry in &vualink_device.vms */
	struct list_head link;

	/** @vmid: id in the hardware. Immutable */
	u32 vmid;

	/** @disabled: the hardware does not use it any more. Under &vualink_device.vm_lock */
	bool disabled;

	/** @stuck: it could not be flushed, and waits for what queues @teardown. Likewise */
	bool stuck;

	/** @bind_lock: one change of the mappings by the user at a time */
	struct mutex bind_lock;

	/**
	 * @unflushed: mappings were taken away, the flush after that failed, and
	 * their objects are still held. Under @bind_lock
	 */
	bool unflushed;

	/** @pool: memory of @pt */
	struct vualink_table_pool pool;

	/** @pt: the page table */
	struct vualink_pt pt;

	/** @limbo: tables out of place, but not flushed. Under the lock of @pt */
	struct list_head limbo;
};

/**
 * struct vualink_vma - a mapping
 * @base: base class
 * @pte_flags: bits of its page table entries that the user has chosen
 */
struct vualink_vma {
	struct drm_gpuva base;
	u64 pte_flags;
};

static inline struct vualink_vm *to_vualink_vm(struct drm_gpuvm *gpuvm)
{
	return container_of(gpuvm, struct vualink_vm, base);
}

static inline struct vualink_vma *to_vualink_vma(struct drm_gpuva *va)
{
	return container_of(va, struct vualink_vma, base);
}

struct vualink_vm *vualink_vm_create(struct vualink_file *vfile);
struct vualink_vm *vualink_vm_get(struct vualink_vm *vm);
void vualink_vm_put(struct vualink_vm *vm);
void vualink_vm_reset_done(struct vualink_vm *vm);
void vualink_vm_unwedge(struct vualink_vm *vm);

bool vualink_vm_try_again(struct vualink_vm *vm, int *ret, u32 *tries);
int vualink_vm_evict(struct vualink_bo *bo);
void vualink_vm_kill_bo(struct vualink_bo *bo);
int vualink_vm_flush_all(struct vualink_device *vdev);

int vualink_vm_flush(struct vualink_vm *vm, u64 va, u64 size,
		     struct list_head *garbage);
bool vualink_vm_pt_lock(struct vualink_vm *vm, int *idx);
void vualink_vm_pt_unlock(struct vualink_vm *vm, int idx);
int vualink_vm_populate(struct vualink_vm *vm, u64 va, struct vualink_bo *bo,
			u64 offset, u64 size);
int vualink_vm_map_vma(struct vualink_vm *vm, struct vualink_vma *vma);

/* vualink_bind.c */
int vualink_bind_step_map(struct drm_gpuva_op *op, void *priv);
int vualink_bind_step_remap(struct drm_gpuva_op *op, void *priv);
int vualink_bind_step_unmap(struct drm_gpuva_op *op, void *priv);
int vualink_vm_bind_ioctl(struct drm_device *drm, void *data,
			  struct drm_file *file);

#endif /* _VUALINK_VM_H_ */
