/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _DRM_UALINK_SKELETON_H_
#define _DRM_UALINK_SKELETON_H_

#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/ualink.h>

#include <drm/drm_device.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>

struct drm_gem_object;
struct skel_hw;

/* The pool of remote memory; the driver's own number for it. */
#define SKEL_PL_NPA	TTM_PL_PRIV

#define SKEL_VRAM_SIZE	(256 * PAGE_SIZE)
#define SKEL_SEGMENT	24

struct skel_device {
	struct drm_device drm;
	struct ttm_device ttm;
	struct skel_hw *hw;
	/* Protects @irq_on against interrupts */
	spinlock_t irq_lock;
	bool irq_on;
};

struct skel_bo {
	struct ttm_buffer_object tbo;
	/* Where it is mapped, or 0; under its dma_resv */
	u64 va;
};

/* The driver, drm_ualink_skeleton.c */
struct skel_device *skel_probe(struct device *dev, struct skel_hw *hw);
void skel_remove(struct skel_device *skel);
int skel_reset(struct skel_device *skel);
void skel_suspend(struct skel_device *skel);
int skel_resume(struct skel_device *skel);
struct drm_gem_object *skel_bo_create(struct skel_device *skel, u64 size);
int skel_bind(struct skel_device *skel, struct drm_gem_object *obj, u64 va, bool write);
int skel_unbind(struct skel_device *skel, struct drm_gem_object *obj);
void skel_irq_rx(struct skel_device *skel, u32 src);
void skel_irq_tx(struct skel_device *skel, u32 dst);
void skel_irq_link_down(struct skel_device *skel, u32 id);

/*
 * The hardware, a model in drm_ualink_skeleton_kunit.c. It maps page by page; that TLBs
 * hold on to what page tables said is the one thing in which it is like others.
 */
void skel_hw_attach(struct skel_hw *hw, struct skel_device *skel);
void skel_hw_reset(struct skel_hw *hw);
u32 skel_hw_id(struct skel_hw *hw);
void skel_hw_members(struct skel_hw *hw, unsigned long *members);
bool skel_hw_has_route(struct skel_hw *hw, u32 id);
bool skel_hw_rx_pending(struct skel_hw *hw, u32 src);
int skel_hw_send(struct skel_hw *hw, u32 dst, const struct ualink_msg *msg);
int skel_hw_recv(struct skel_hw *hw, u32 src, struct ualink_msg *msg);
int skel_hw_gate(struct skel_hw *hw, u32 src, bool open);
void skel_hw_npa_set(struct skel_hw *hw, u64 offset, u64 vram, bool write);
void skel_hw_npa_clear(struct skel_hw *hw, u64 offset);
int skel_hw_npa_flush(struct skel_hw *hw);
void skel_hw_pte_set(struct skel_hw *hw, u64 va, u64 addr, bool remote, bool write);
void skel_hw_pte_clear(struct skel_hw *hw, u64 va);
int skel_hw_vm_flush(struct skel_hw *hw);

#endif /* _DRM_UALINK_SKELETON_H_ */
