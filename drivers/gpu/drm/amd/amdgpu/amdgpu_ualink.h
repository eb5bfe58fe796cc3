/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef __AMDGPU_UALINK_H__
#define __AMDGPU_UALINK_H__

#include <linux/bitmap.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/ualink.h>
#include <linux/uuid.h>
#include <linux/workqueue.h>

#include "amdgpu_irq.h"

struct amdgpu_bo;
struct amdgpu_bo_va;
struct amdgpu_device;
struct amdgpu_ualink_table;
struct amdgpu_vm;
struct dma_buf;
struct drm_exec;
struct drm_file;
struct drm_gem_object;
struct drm_printer;

/**
 * struct amdgpu_ualink_provision - what the management of the pod gave
 */
struct amdgpu_ualink_provision {
	/** @id: accelerator id */
	u32 id;
	/** @vpod: the virtual pod; null: none */
	uuid_t vpod;
	/** @members: accelerator ids in it */
	DECLARE_BITMAP(members, UALINK_MAX_IDS);
};

/**
 * enum amdgpu_ualink_counter - counters of the hardware
 * @AMDGPU_UALINK_SERVED: accesses of others that were served
 * @AMDGPU_UALINK_REFUSED: accesses of others that were refused
 * @AMDGPU_UALINK_ACCESSES: accesses to others
 * @AMDGPU_UALINK_TX: messages sent
 * @AMDGPU_UALINK_RX: messages received
 * @AMDGPU_UALINK_INVALIDATIONS: invalidations of the link TLB
 * @AMDGPU_UALINK_WALKS: walks of the segment's page tables
 * @AMDGPU_UALINK_STALE: uses of TLB entries that were outdated and not flushed
 * @AMDGPU_UALINK_STALE_ANY: uses of TLB entries that were outdated
 * @AMDGPU_UALINK_COUNTERS: number of them
 */
enum amdgpu_ualink_counter {
	AMDGPU_UALINK_SERVED,
	AMDGPU_UALINK_REFUSED,
	AMDGPU_UALINK_ACCESSES,
	AMDGPU_UALINK_TX,
	AMDGPU_UALINK_RX,
	AMDGPU_UALINK_INVALIDATIONS,
	AMDGPU_UALINK_WALKS,
	AMDGPU_UALINK_STALE,
	AMDGPU_UALINK_STALE_ANY,
	AMDGPU_UALINK_COUNTERS,
};

/**
 * struct amdgpu_ualink_funcs - what depends on the version of the UALink block
 *
 * Those that touch registers are called with the read side of &amdgpu_reset_domain.sem
 * held, but for @sw_init, @send, @recv and @has_route.
 */
struct amdgpu_ualink_funcs {
	/**
	 * @sw_init: finds out what the block can do, and allocates what it needs
	 *
	 * Return: 0 or an errno; then @sw_fini is not called.
	 */
	int (*sw_init)(struct amdgpu_device *adev);

	/** @sw_fini: undoes @sw_init */
	void (*sw_fini)(struct amdgpu_device *adev);

	/** @provision: reads what the management gave; false if nothing did yet */
	bool (*provision)(struct amdgpu_device *adev, struct amdgpu_ualink_provision *p);

	/**
	 * @enable: begins to carry messages and to use &amdgpu_ualink_npa.root
	 *
	 * All rings are empty then, and all source gates closed.
	 *
	 * Return: 0 or %-EIO.
	 */
	int (*enable)(struct amdgpu_device *adev);

	/**
	 * @disable: ends that
	 *
	 * Return: 0, or %-EIO: the block may still use rings and page tables.
	 */
	int (*disable)(struct amdgpu_device *adev);

	/** @send: &ualink_ops.send */
	int (*send)(struct amdgpu_device *adev, u32 dst, const struct ualink_msg *msg);

	/** @recv: &ualink_ops.recv */
	int (*recv)(struct amdgpu_device *adev, u32 src, struct ualink_msg *msg);

	/** @source_gate: &ualink_ops.source_gate */
	int (*source_gate)(struct amdgpu_device *adev, u32 src, bool open);

	/** @invalidate: empties the link TLB for a range, as &ualink_ops.npa_flush */
	int (*invalidate)(struct amdgpu_device *adev, u64 offset, u64 size);

	/**
	 * @drain: waits until the GPU's accesses to others have completed
	 *
	 * Those that were translated before it was called.
	 *
	 * Return: 0 or %-EIO.
	 */
	int (*drain)(struct amdgpu_device *adev);

	/** @has_route: has the fabric a way to the accelerator? */
	bool (*has_route)(struct amdgpu_device *adev, u32 id);

	/** @get_vm_pte: makes the flags of an entry for VRAM those of one for remote memory */
	void (*get_vm_pte)(struct amdgpu_device *adev, u64 *flags);

	/** @counter: value of a counter since power-on */
	u64 (*counter)(struct amdgpu_device *adev, enum amdgpu_ualink_counter which);
};

/**
 * struct amdgpu_ualink_npa - page tables of the segment
 */
struct amdgpu_ualink_npa {
	/**
	 * @populate_mutex: serializes the making of tables, which may wait for the engine;
	 * outer to @mutex
	 */
	struct mutex populate_mutex;
	/** @mutex: protects the tables */
	struct mutex mutex;
	/** @root: top level; immutable */
	struct amdgpu_ualink_table *root;
	/** @pte_writes: entries that were written; under @mutex */
	u64 pte_writes;
	/** @table_bytes: VRAM that the tables take; under @mutex */
	u64 table_bytes;
};

/**
 * enum amdgpu_ualink_state - is the GPU in its vPod?
 * @AMDGPU_UALINK_OFF: no; nothing is shared
 * @AMDGPU_UALINK_ON: yes
 * @AMDGPU_UALINK_LEAVING: all that is shared is being ended
 */
enum amdgpu_ualink_state {
	AMDGPU_UALINK_OFF,
	AMDGPU_UALINK_ON,
	AMDGPU_UALINK_LEAVING,
};

/**
 * struct amdgpu_ualink - UALink of a GPU, &amdgpu_device.ualink; NULL if it has none
 */
struct amdgpu_ualink {
	/** @adev: the GPU */
	struct amdgpu_device *adev;
	/** @funcs: what depends on the version of the block */
	const struct amdgpu_ualink_funcs *funcs;
	/** @priv: of @funcs */
	void *priv;
	/** @segment_shift: log2 of the segment's bytes; set by &amdgpu_ualink_funcs.sw_init */
	u32 segment_shift;
	/** @npa: page tables of the segment */
	struct amdgpu_ualink_npa npa;
	/** @irq: interrupts of the block */
	struct amdgpu_irq_src irq;
	/** @irq_lock: protects @irq_on, and makes its change a barrier for interrupts */
	spinlock_t irq_lock;
	/** @irq_on: the core may be told of interrupts */
	bool irq_on;
	/** @mutex: start, stop, suspend, resume and @work, one at a time */
	struct mutex mutex;
	/** @state: an &enum amdgpu_ualink_state; written under @mutex */
	u8 state;
	/** @stopped: for good; under @mutex */
	bool stopped;
	/** @work: starts again after a reset, or starts at last when there is a vPod */
	struct work_struct work;
	/** @restart: there was a reset */
	atomic_t restart;
	/** @restarts: how often it was started again after one; under @mutex */
	u32 restarts;
	/** @recover_work: resets the GPU since the block does not answer */
	struct work_struct recover_work;
	/** @zapped: page table entries that were cleared since imports died */
	atomic64_t zapped;
};

#if IS_ENABLED(CONFIG_DRM_AMDGPU_UALINK)

extern const struct amdgpu_ualink_funcs ualink_v1_0_funcs;

/* amdgpu_ualink.c */
void amdgpu_ualink_sw_init(struct amdgpu_device *adev);
void amdgpu_ualink_sw_fini(struct amdgpu_device *adev);
void amdgpu_ualink_start(struct amdgpu_device *adev);
void amdgpu_ualink_stop(struct amdgpu_device *adev);
void amdgpu_ualink_suspend(struct amdgpu_device *adev);
void amdgpu_ualink_resume(struct amdgpu_device *adev);
void amdgpu_ualink_stop_recovery(struct amdgpu_device *adev);
void amdgpu_ualink_post_reset(struct amdgpu_device *adev);
void amdgpu_ualink_postclose(struct amdgpu_device *adev, struct drm_file *file);
void amdgpu_ualink_show_fdinfo(struct drm_printer *p, struct drm_file *file);
void amdgpu_ualink_debugfs_init(struct amdgpu_device *adev);
int amdgpu_ualink_check(struct amdgpu_device *adev, int ret);
void amdgpu_ualink_notify(struct amdgpu_device *adev, u32 id,
			  void (*notify)(struct ualink_device *udev, u32 id));

/* amdgpu_ualink_gem.c */
extern const struct drm_ualink_funcs amdgpu_ualink_gem_funcs;

int amdgpu_ualink_bo_init(struct amdgpu_bo *bo, struct ualink_import *imp);
bool amdgpu_ualink_bo_free(struct amdgpu_bo *bo);
void amdgpu_ualink_bo_release(struct amdgpu_bo *bo);
bool amdgpu_ualink_bo_is_import(struct amdgpu_bo *bo);
bool amdgpu_ualink_bo_dead(struct amdgpu_bo *bo);
void amdgpu_ualink_bo_place(struct amdgpu_bo *bo);
void amdgpu_ualink_bo_close(struct amdgpu_bo *bo, struct amdgpu_vm *vm);
int amdgpu_ualink_bo_may_map(struct amdgpu_bo *bo, u32 vm_flags);
struct dma_buf *amdgpu_ualink_prime_export(struct drm_gem_object *obj, int flags);
bool amdgpu_ualink_is_dma_buf(const struct dma_buf *dma_buf);
struct drm_gem_object *amdgpu_ualink_prime_import(struct drm_device *drm,
						  struct dma_buf *dma_buf);
void amdgpu_ualink_get_vm_pte(struct amdgpu_device *adev, struct amdgpu_bo *bo,
			      u64 *base, u64 *flags);
int amdgpu_ualink_man_init(struct amdgpu_device *adev);
void amdgpu_ualink_man_fini(struct amdgpu_device *adev);

/* amdgpu_ualink_npa.c */
int amdgpu_ualink_npa_init(struct amdgpu_device *adev);
void amdgpu_ualink_npa_fini(struct amdgpu_device *adev);
void amdgpu_ualink_npa_clear(struct amdgpu_device *adev);
u64 amdgpu_ualink_npa_root(struct amdgpu_device *adev);
int amdgpu_ualink_npa_map(struct amdgpu_device *adev, u64 offset, struct amdgpu_bo *bo,
			  bool read_only);
void amdgpu_ualink_npa_unmap(struct amdgpu_device *adev, u64 offset, u64 size);

#else

static inline void amdgpu_ualink_sw_init(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_sw_fini(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_start(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_stop(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_suspend(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_resume(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_stop_recovery(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_post_reset(struct amdgpu_device *adev) { }
static inline void amdgpu_ualink_postclose(struct amdgpu_device *adev,
					   struct drm_file *file) { }
static inline void amdgpu_ualink_show_fdinfo(struct drm_printer *p,
					     struct drm_file *file) { }
static inline void amdgpu_ualink_debugfs_init(struct amdgpu_device *adev) { }
static inline int amdgpu_ualink_bo_init(struct amdgpu_bo *bo, struct ualink_import *imp)
{
	return -EOPNOTSUPP;
}

static inline bool amdgpu_ualink_bo_free(struct amdgpu_bo *bo) { return false; }
static inline void amdgpu_ualink_bo_release(struct amdgpu_bo *bo) { }
static inline bool amdgpu_ualink_bo_is_import(struct amdgpu_bo *bo) { return false; }
static inline bool amdgpu_ualink_bo_dead(struct amdgpu_bo *bo) { return false; }
static inline void amdgpu_ualink_bo_place(struct amdgpu_bo *bo) { }
static inline void amdgpu_ualink_bo_close(struct amdgpu_bo *bo, struct amdgpu_vm *vm) { }
static inline int amdgpu_ualink_bo_may_map(struct amdgpu_bo *bo, u32 vm_flags) { return 0; }
static inline struct dma_buf *
amdgpu_ualink_prime_export(struct drm_gem_object *obj, int flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline bool amdgpu_ualink_is_dma_buf(const struct dma_buf *dma_buf) { return false; }
static inline struct drm_gem_object *
amdgpu_ualink_prime_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void amdgpu_ualink_get_vm_pte(struct amdgpu_device *adev, struct amdgpu_bo *bo,
					    u64 *base, u64 *flags) { }
static inline int amdgpu_ualink_man_init(struct amdgpu_device *adev) { return 0; }
static inline void amdgpu_ualink_man_fini(struct amdgpu_device *adev) { }

#endif /* CONFIG_DRM_AMDGPU_UALINK */

#endif /* __AMDGPU_UALINK_H__ */
