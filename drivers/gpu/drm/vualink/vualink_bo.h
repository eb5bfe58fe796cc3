/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#ifndef _VUALINK_BO_H_
#define _VUALINK_BO_H_

#include <linux/types.h>

#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>

#include "vualink_vram.h"

struct drm_device;
struct drm_file;
struct ualink_import;
struct vualink_device;
struct vualink_vm;

/**
 * enum vualink_bo_kind - where an object may be
 * @VUALINK_BO_VRAM: in VRAM when it is used, in system memory when it is not
 * @VUALINK_BO_SYSTEM: in system memory
 * @VUALINK_BO_TABLE: in VRAM, pinned; made by the driver for page tables
 * @VUALINK_BO_NPA: in the VRAM of another accelerator
 */
enum vualink_bo_kind {
	VUALINK_BO_VRAM,
	VUALINK_BO_SYSTEM,
	VUALINK_BO_TABLE,
	VUALINK_BO_NPA,
};

/**
 * struct vualink_bo - a buffer object
 */
struct vualink_bo {
	/** @tbo: base class */
	struct ttm_buffer_object tbo;

	/** @kind: where it may be. Immutable */
	enum vualink_bo_kind kind;

	/** @cpu_visible: the CPU may map it. Immutable */
	bool cpu_visible;

	/**
	 * @dead: it is memory of another accelerator that is not to be had any
	 * more. Set once, under its gpuva.lock
	 */
	bool dead;

	/**
	 * @vm_obj: what has the dma_resv of the only VM that it can be mapped
	 * in, or NULL. A reference. Immutable
	 */
	struct drm_gem_object *vm_obj;
};

/**
 * struct vualink_bo_cursor - a walk over the pieces of an object
 *
 * It starts before the first piece. The caller holds the dma_resv lock of the
 * object, or has it pinned.
 */
struct vualink_bo_cursor {
	/** @bo: the object */
	struct vualink_bo *bo;

	/** @vram: where in VRAM, if it is there */
	struct vualink_vram_cursor vram;

	/** @offset: of the present piece, in the object */
	u64 offset;

	/** @left: bytes from there on to the end */
	u64 left;

	/** @addr: where it is, for a page table entry */
	u64 addr;

	/** @size: bytes of the present piece */
	u64 size;

	/** @pte_flags: bits for a page table entry that say what @addr is */
	u64 pte_flags;
};

static inline struct vualink_bo *gem_to_vualink_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct vualink_bo, tbo.base);
}

static inline struct vualink_bo *ttm_to_vualink_bo(struct ttm_buffer_object *tbo)
{
	return container_of(tbo, struct vualink_bo, tbo);
}

struct vualink_bo *
vualink_bo_create(struct vualink_device *vdev, enum vualink_bo_kind kind,
		  u64 size, bool cpu_visible, struct vualink_vm *vm);
struct vualink_bo *
vualink_bo_create_import(struct vualink_device *vdev, struct ualink_import *imp,
			 u64 size);
struct vualink_bo *vualink_bo_lookup(struct drm_file *file, u32 handle);
void vualink_bo_put(struct vualink_bo *bo);
void vualink_bo_place(const struct vualink_bo *bo, struct ttm_place *place);
int vualink_bo_validate(struct vualink_bo *bo, bool interruptible);

void vualink_bo_cursor_init(struct vualink_bo_cursor *cur, struct vualink_bo *bo,
			    u64 offset, u64 size);
bool vualink_bo_cursor_next(struct vualink_bo_cursor *cur);

int vualink_bo_create_ioctl(struct drm_device *drm, void *data,
			    struct drm_file *file);
int vualink_bo_mmap_offset_ioctl(struct drm_device *drm, void *data,
				 struct drm_file *file);

extern const struct ttm_device_funcs vualink_ttm_funcs;

#endif /* _VUALINK_BO_H_ */
