// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/debugfs.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <kunit/visibility.h>

#include "vualink_hw_internal.h"

/**
 * DOC: Overview
 *
 * The model of the virtual accelerator plays the part of silicon, firmware and
 * cables, so that a driver, and UALink memory sharing above it, can be tested
 * on any machine::
 *
 *          driver of accelerator 0            driver of accelerator 1
 *      -----+---------+-------+-- vualink_hw.h --+-------+---------+-----
 *           |         |       |                  |       |         |
 *      copy engine    |       |                  |       |    copy engine
 *           |         |       |   fabric, rings  |       |         |
 *         VM MMU      |       +---- and knobs ---+       |       VM MMU
 *         |  |  |     |                                  |     |  |  |
 *         |  |  +-----|- NPA --> source gate of the owner|     |  |  |
 *         |  |        |          link MMU of the owner   |     |  |  |
 *         |  |        |               |                  |     |  |  |
 *         |  +----+   |   +-----------+----------+       |   +----+  |
 *         |       |   |   |                      |       |   |       |
 *      system     VRAM, page                     VRAM, page      system
 *      memory      tables                         tables         memory
 *
 * A job of the copy engine names GPU virtual addresses. Each access, of at most
 * one 4 KiB page, is translated by the VM MMU, through a TLB or the page tables
 * in VRAM. The result is a place in VRAM, a page of system memory, or a network
 * physical address (NPA). The latter goes through the fabric to the accelerator
 * that owns it, passes its source gate and its link MMU, and ends in its VRAM.
 * An access that fails ends its job with a fault record, and nothing else.
 *
 * Where the driver relies on the hardware, the model does not help: TLBs keep
 * what they hold until they are flushed, messages may be lost, and an
 * accelerator whose knob is turned crashes without a word.
 */

/**
 * DOC: Locking
 *
 * From outer to inner: &vualink_hw.wipe_lock, &vualink_mmu.drain of a VM MMU,
 * &vualink_mmu.drain of a link MMU, &vualink_mmu.lock. These are not taken in
 * an interrupt. &vualink_fabric.lock is inside of &vualink_hw.ring_lock, and
 * both, like &vualink_engine.lock, are irq-safe. No lock is held across an
 * interrupt to the driver; instead, those that do not come from the copy engine
 * hold a reference in &vualink_hw.users, for which an unplug waits. Flushes and
 * everything between the submission of a job and its interrupt allocate
 * nothing.
 */

/* VRAM */

/**
 * vualink_hw_vram_page() - find a page of VRAM
 * @hw: accelerator
 * @offset: offset in VRAM
 *
 * This is how the CPU sees VRAM: through a window without a limit.
 *
 * Return: the page that has @offset, or %NULL if that is beyond VRAM.
 */
struct page *vualink_hw_vram_page(struct vualink_hw *hw, u64 offset)
{
	if (offset >= hw->params.vram_size)
		return NULL;
	return hw->vram[offset >> PAGE_SHIFT];
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_vram_page);

static void vualink_hw_vram_fini(struct vualink_hw *hw)
{
	unsigned long i;

	for (i = 0; i < hw->vram_pages && hw->vram[i]; i++)
		__free_page(hw->vram[i]);
	kvfree(hw->vram);
}

static int vualink_hw_vram_init(struct vualink_hw *hw)
{
	/* Who asks for more than there is shall not wake the OOM killer. */
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
		    __GFP_NOWARN;
	unsigned long i;

	hw->vram_pages = DIV_ROUND_UP_ULL(hw->params.vram_size, PAGE_SIZE);
	hw->vram = kvzalloc_objs(*hw->vram, hw->vram_pages,
				 GFP_KERNEL | __GFP_NOWARN);
	if (!hw->vram)
		return -ENOMEM;
	for (i = 0; i < hw->vram_pages; i++) {
		hw->vram[i] = alloc_page(gfp);
		if (!hw->vram[i]) {
			vualink_hw_vram_fini(hw);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

/* Life of an accelerator */

static bool vualink_hw_params_are_valid(const struct vualink_hw_params *params)
{
	return params->id < VUALINK_HW_MAX_IDS &&
	       params->segment_shift >= VUALINK_PAGE_SHIFT &&
	       params->segment_shift <= VUALINK_HW_MAX_SEGMENT_SHIFT &&
	       params->vram_size && params->vram_size <= VUALINK_PTE_ADDR &&
	       IS_ALIGNED(params->vram_size, VUALINK_PAGE_SIZE);
}

/*
 * A fence that reclaim waits for may be signaled only after an access or a
 * flush, so neither lock may be held where memory is allocated.
 */
static void vualink_hw_prime_lockdep(struct vualink_hw *hw)
{
	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;

	fs_reclaim_acquire(GFP_KERNEL);
	down_read(&hw->vm.drain);
	might_lock_read(&hw->link.drain);
	up_read(&hw->vm.drain);
	fs_reclaim_release(GFP_KERNEL);
}

/* Ends what vualink_hw_init() began. Not the memory, which others may look at. */
static void vualink_hw_fini(struct vualink_hw *hw)
{
	mutex_destroy(&hw->wipe_lock);
	vualink_fabric_put(hw->params.fabric);
}

static void vualink_hw_init(struct vualink_hw *hw)
{
	mutex_init(&hw->wipe_lock);
	vualink_hw_rings_init(hw);
	/* Not in a common function: they are two classes for lockdep. */
	init_rwsem(&hw->vm.drain);
	init_rwsem(&hw->link.drain);
	vualink_hw_prime_lockdep(hw);
	vualink_mmu_init(&hw->vm, hw, hw->vm_roots, false);
	vualink_mmu_init(&hw->link, hw, &hw->npa_root, true);
}

/**
 * vualink_hw_create() - make an accelerator and plug it in
 * @params: what it is made of; copied
 *
 * Interrupts can come before this returns. The source gate is closed for all,
 * no address space has a root, and VRAM is zero.
 *
 * Return: the accelerator, or an ERR_PTR(): -EINVAL for a parameter out of
 * range, -EEXIST if the id is taken in the fabric, -ENOMEM.
 */
struct vualink_hw *vualink_hw_create(const struct vualink_hw_params *params)
{
	struct vualink_hw *hw;
	int ret;

	if (!vualink_hw_params_are_valid(params))
		return ERR_PTR(-EINVAL);
	hw = kvzalloc_obj(*hw);
	if (!hw)
		return ERR_PTR(-ENOMEM);
	hw->params = *params;
	/* Pairs with the put in vualink_hw_destroy(). */
	vualink_fabric_get(hw->params.fabric);
	vualink_hw_init(hw);

	ret = vualink_hw_vram_init(hw);
	if (ret)
		goto err_fabric;
	ret = vualink_engine_init(&hw->engine);
	if (ret)
		goto err_vram;
	ret = vualink_fabric_plug(hw);
	if (ret)
		goto err_engine;
	return hw;

err_engine:
	vualink_engine_fini(&hw->engine);
err_vram:
	vualink_hw_vram_fini(hw);
err_fabric:
	vualink_hw_fini(hw);
	kvfree(hw);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_create);

/**
 * vualink_hw_destroy() - unplug an accelerator and free it
 * @hw: accelerator
 *
 * Jobs that have not ended do so with -ECANCELED. When this returns, nothing of
 * the accelerator runs any more, and no interrupt comes. Messages that it sent
 * stay in the rings of others. The directory of vualink_hw_debugfs_init() must
 * be gone. May sleep.
 */
void vualink_hw_destroy(struct vualink_hw *hw)
{
	vualink_fabric_unplug(hw);
	vualink_engine_fini(&hw->engine);
	vualink_hw_rings_fini(hw);
	vualink_hw_vram_fini(hw);
	vualink_hw_fini(hw);
	/* Those who looked it up too late still see that @users is 0. */
	kvfree_rcu(hw, rcu);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_destroy);

/* What a reset and a crash have in common: all state but VRAM and the jobs */
static void vualink_hw_wipe(struct vualink_hw *hw)
{
	lockdep_assert_held(&hw->wipe_lock);
	vualink_mmu_wipe(&hw->link);
	vualink_mmu_wipe(&hw->vm);
	vualink_hw_rings_wipe(hw);
}

/**
 * vualink_hw_reset() - reset an accelerator
 * @hw: accelerator
 *
 * Jobs end with -ECANCELED, rings from and to the accelerator and all TLBs are
 * emptied, the source gate closes for all, and roots are cleared. VRAM keeps
 * its content. When this returns, the interrupts of the jobs have come and no
 * access from before is under way. May sleep; allocates nothing.
 */
void vualink_hw_reset(struct vualink_hw *hw)
{
	mutex_lock(&hw->wipe_lock);
	vualink_engine_reset(&hw->engine);
	vualink_hw_wipe(hw);
	mutex_unlock(&hw->wipe_lock);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_reset);

/*
 * Resets an accelerator behind the back of its driver: jobs neither run nor end
 * until they are cancelled.
 */
void vualink_hw_crash(struct vualink_hw *hw)
{
	mutex_lock(&hw->wipe_lock);
	vualink_engine_crash(&hw->engine);
	vualink_hw_wipe(hw);
	mutex_unlock(&hw->wipe_lock);
}

/**
 * vualink_hw_params() - what an accelerator is made of
 * @hw: accelerator
 *
 * Return: the parameters of vualink_hw_create().
 */
const struct vualink_hw_params *vualink_hw_params(struct vualink_hw *hw)
{
	return &hw->params;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_params);

/**
 * vualink_hw_stats() - the counters of an accelerator
 * @hw: accelerator
 *
 * Return: the counters, as long as @hw is there.
 */
struct vualink_hw_stats *vualink_hw_stats(struct vualink_hw *hw)
{
	return &hw->stats;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_hw_stats);

/* debugfs */

static int vualink_hw_stats_show(struct seq_file *m, void *unused)
{
	struct vualink_hw *hw = m->private;
	const struct {
		const char *name;
		const atomic64_t *value;
	} counters[] = {
		{ "walks", &hw->stats.walks },
		{ "tlb_hits", &hw->stats.tlb_hits },
		{ "stale", &hw->stats.stale },
		{ "stale_flushed", &hw->stats.stale_flushed },
		{ "faults", &hw->stats.faults },
		{ "vm_flushes", &hw->stats.vm_flushes },
		{ "link_flushes", &hw->stats.link_flushes },
		{ "npa_in", &hw->stats.npa_in },
		{ "npa_refused", &hw->stats.npa_refused },
		{ "npa_out", &hw->stats.npa_out },
		{ "tx_msgs", &hw->stats.tx_msgs },
		{ "rx_msgs", &hw->stats.rx_msgs },
		{ "pte_writes", &hw->stats.pte_writes },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counters); i++)
		seq_printf(m, "%s %lld\n", counters[i].name,
			   atomic64_read(counters[i].value));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vualink_hw_stats);

static int vualink_hw_gate_show(struct seq_file *m, void *unused)
{
	struct vualink_hw *hw = m->private;

	seq_printf(m, "%*pbl\n", VUALINK_HW_MAX_IDS, hw->gate);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vualink_hw_gate);

/**
 * vualink_hw_debugfs_init() - show the model in debugfs
 * @hw: accelerator
 * @dir: where; must be gone before vualink_hw_destroy()
 *
 * ``hw_stats`` has a line with name and value for each counter of
 * &struct vualink_hw_stats. ``hw_gate`` lists the ids that the source gate is
 * open for.
 */
void vualink_hw_debugfs_init(struct vualink_hw *hw, struct dentry *dir)
{
	debugfs_create_file("hw_stats", 0444, dir, hw, &vualink_hw_stats_fops);
	debugfs_create_file("hw_gate", 0444, dir, hw, &vualink_hw_gate_fops);
}
