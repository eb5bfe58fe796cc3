// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "vualink_hw_fixture.h"

/* Interrupts */

/* Return: whether the interrupt may come. Drop the lock in any case. */
static bool fix_irq_begin(struct fix_gpu *gpu, unsigned long *flags)
{
	spin_lock_irqsave(&gpu->lock, *flags);
	if (gpu->dead)
		gpu->late++;
	return !gpu->dead;
}

static void fix_irq_end(struct fix_gpu *gpu, unsigned long flags)
{
	spin_unlock_irqrestore(&gpu->lock, flags);
	wake_up(&gpu->wq);
}

static void fix_irq_rx(void *data, u32 src)
{
	struct fix_gpu *gpu = data;
	unsigned long flags;

	if (fix_irq_begin(gpu, &flags)) {
		gpu->rx++;
		gpu->last = src;
	}
	fix_irq_end(gpu, flags);
}

static void fix_irq_tx(void *data, u32 dst)
{
	struct fix_gpu *gpu = data;
	unsigned long flags;

	if (fix_irq_begin(gpu, &flags)) {
		gpu->tx++;
		gpu->last = dst;
	}
	fix_irq_end(gpu, flags);
}

static void fix_irq_done(void *data, u64 seqno, int error,
			 const struct vualink_hw_fault *fault)
{
	struct fix_gpu *gpu = data;
	struct fix_job *job;
	unsigned long flags;

	if (fix_irq_begin(gpu, &flags)) {
		job = &gpu->jobs[gpu->ended++ % FIX_JOBS];
		job->seqno = seqno;
		job->error = error;
		job->fault = fault ? *fault : (struct vualink_hw_fault) {};
	}
	fix_irq_end(gpu, flags);
}

static void fix_irq_link(void *data, u32 id, bool up)
{
	struct fix_gpu *gpu = data;
	unsigned long flags;

	if (fix_irq_begin(gpu, &flags)) {
		gpu->link_up += up;
		gpu->link_down += !up;
		gpu->last = id;
	}
	fix_irq_end(gpu, flags);
}

static void fix_irq_refused(void *data, u32 src, enum vualink_hw_fault_reason reason)
{
	struct fix_gpu *gpu = data;
	unsigned long flags;

	if (fix_irq_begin(gpu, &flags)) {
		gpu->refused++;
		gpu->last = src;
		gpu->last_reason = reason;
	}
	fix_irq_end(gpu, flags);
}

static const struct vualink_hw_irq_ops fix_irq = {
	.rx = fix_irq_rx,
	.tx = fix_irq_tx,
	.done = fix_irq_done,
	.link = fix_irq_link,
	.refused = fix_irq_refused,
};

/* Fabric and accelerators */

KUNIT_DEFINE_ACTION_WRAPPER(fix_fabric_put, vualink_fabric_put,
			    struct vualink_fabric *);

struct vualink_fabric *fix_fabric(struct kunit *test)
{
	struct vualink_fabric *fabric = vualink_fabric_create("kunit", NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fabric);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, fix_fabric_put,
						  fabric));
	return fabric;
}

/* Lets go of what a test that failed has held. */
void fix_release_holds(struct vualink_fabric *fabric)
{
	char off[] = "off";

	vualink_fabric_knob_set(fabric, VUALINK_KNOB_ACCESS_DELAY, off);
	vualink_fabric_knob_set(fabric, VUALINK_KNOB_WALK_DELAY, off);
}

static void fix_gpu_release(void *data)
{
	struct fix_gpu *gpu = data;
	struct fix_cmds *cmds, *next;
	unsigned long flags;

	fix_release_holds(vualink_hw_params(gpu->hw)->fabric);
	vualink_hw_destroy(gpu->hw);
	gpu->hw = NULL;
	list_for_each_entry_safe(cmds, next, &gpu->cmds, link)
		kfree(cmds);
	spin_lock_irqsave(&gpu->lock, flags);
	gpu->dead = true;
	spin_unlock_irqrestore(&gpu->lock, flags);
}

struct fix_gpu *fix_gpu_shift(struct kunit *test, struct vualink_fabric *fabric,
			      u32 id, u64 vram, u32 shift)
{
	struct vualink_hw_params params = {
		.fabric = fabric,
		.irq = &fix_irq,
		.id = id,
		.segment_shift = shift,
		.vram_size = vram,
	};
	struct fix_gpu *gpu = kunit_kzalloc(test, sizeof(*gpu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, gpu);
	gpu->test = test;
	gpu->id = id;
	gpu->page = VUALINK_PAGE_SIZE;
	INIT_LIST_HEAD(&gpu->cmds);
	spin_lock_init(&gpu->lock);
	init_waitqueue_head(&gpu->wq);
	params.data = gpu;
	gpu->hw = vualink_hw_create(&params);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, gpu->hw);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, fix_gpu_release, gpu));
	return gpu;
}

struct fix_gpu *fix_gpu(struct kunit *test, struct vualink_fabric *fabric,
			u32 id, u64 vram)
{
	return fix_gpu_shift(test, fabric, id, vram, FIX_SHIFT);
}

void fix_gpu_destroy(struct fix_gpu *gpu)
{
	kunit_release_action(gpu->test, fix_gpu_release, gpu);
}

void fix_knob(struct kunit *test, struct vualink_fabric *fabric,
	      enum vualink_knob_id id, const char *rule)
{
	char *text = kunit_kstrdup(test, rule, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	KUNIT_ASSERT_EQ_MSG(test, 0, vualink_fabric_knob_set(fabric, id, text),
			    "%s", rule);
}

u64 fix_knob_hits(struct vualink_fabric *fabric, enum vualink_knob_id id)
{
	guard(spinlock_irqsave)(&fabric->lock);
	return fabric->knobs[id].hits;
}

/* VRAM and page tables */

u64 fix_pages(struct fix_gpu *gpu, u32 count)
{
	u64 offset = gpu->page;

	gpu->page += (u64)count * VUALINK_PAGE_SIZE;
	KUNIT_ASSERT_LE(gpu->test, gpu->page,
			vualink_hw_params(gpu->hw)->vram_size);
	return offset;
}

u64 fix_page(struct fix_gpu *gpu)
{
	return fix_pages(gpu, 1);
}

void *fix_vram(struct fix_gpu *gpu, u64 offset)
{
	struct page *page = vualink_hw_vram_page(gpu->hw, offset);

	KUNIT_ASSERT_NOT_NULL(gpu->test, page);
	return page_address(page) + offset_in_page(offset);
}

/* The entry for an address in a table of a level; makes the tables above */
__le64 *fix_entry(struct fix_gpu *gpu, u64 root, u64 addr, u32 level)
{
	u64 table = root;
	u32 at = VUALINK_PT_LEVELS;
	__le64 *entry;

	for (;;) {
		at--;
		entry = fix_vram(gpu, table);
		entry += addr >> vualink_level_shift(at) &
			 (VUALINK_PT_ENTRIES - 1);
		if (at == level)
			return entry;
		if (!*entry)
			*entry = cpu_to_le64(fix_page(gpu) |
					     VUALINK_PTE_VALID);
		table = le64_to_cpu(*entry) & VUALINK_PTE_ADDR;
	}
}

void fix_map(struct fix_gpu *gpu, u32 vmid, u64 va, u64 pte, u32 level)
{
	if (!gpu->vm_root[vmid]) {
		gpu->vm_root[vmid] = fix_page(gpu);
		vualink_hw_vm_set_root(gpu->hw, vmid, gpu->vm_root[vmid]);
	}
	*fix_entry(gpu, gpu->vm_root[vmid], va, level) = cpu_to_le64(pte);
}

void fix_map_npa(struct fix_gpu *gpu, u64 offset, u64 pte, u32 level)
{
	if (!gpu->npa_root) {
		gpu->npa_root = fix_page(gpu);
		vualink_hw_npa_set_root(gpu->hw, gpu->npa_root);
	}
	*fix_entry(gpu, gpu->npa_root, offset, level) = cpu_to_le64(pte);
}

/*
 * Maps a page of one accelerator in its segment, and that in an address space 1
 * of another, for which it opens the gate. Return: the page, given or new.
 */
u64 fix_share(struct fix_gpu *owner, u64 offset, u64 page, struct fix_gpu *src,
	      u64 va)
{
	page = page ?: fix_page(owner);
	fix_map_npa(owner, offset, page | FIX_RW, 0);
	fix_map(src, 1, va,
		(u64)owner->id << FIX_SHIFT | offset | FIX_RW | VUALINK_PTE_NPA,
		0);
	KUNIT_ASSERT_EQ(owner->test, 0,
			vualink_hw_source_gate(owner->hw, src->id, true));
	return page;
}

/* Maps new pages of VRAM one after the other. Return: the first. */
u64 fix_map_pages(struct fix_gpu *gpu, u64 va, u32 count)
{
	u64 page = fix_pages(gpu, count);
	u32 i;

	for (i = 0; i < count; i++)
		fix_map(gpu, 1, va + i * SZ_4K, page + i * SZ_4K + FIX_RW, 0);
	return page;
}

u64 *fix_word(struct fix_gpu *gpu, u64 offset)
{
	return fix_vram(gpu, offset);
}

void fix_pattern(struct fix_gpu *gpu, u64 offset, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		*(u8 *)fix_vram(gpu, offset + i) = i * 7 + i / 256;
}

bool fix_is_pattern(struct fix_gpu *gpu, u64 offset, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (*(u8 *)fix_vram(gpu, offset + i) != (u8)(i * 7 + i / 256))
			return false;
	return true;
}

/* Jobs */

u64 fix_submit(struct fix_gpu *gpu, u32 vmid, const struct vualink_hw_cmd *cmds,
	       u32 count)
{
	u64 seqno = ++gpu->seqno;
	struct fix_cmds *copy;

	copy = kmalloc_flex(*copy, cmds, count);
	KUNIT_ASSERT_NOT_NULL(gpu->test, copy);
	memcpy(copy->cmds, cmds, count * sizeof(*cmds));
	/* Pairs with kfree() in fix_gpu_release(). */
	list_add(&copy->link, &gpu->cmds);
	KUNIT_ASSERT_EQ(gpu->test, 0,
			vualink_hw_submit(gpu->hw, vmid, seqno, copy->cmds,
					  count));
	return seqno;
}

bool fix_ended(struct fix_gpu *gpu, u64 seqno, struct fix_job *job)
{
	u32 i;

	guard(spinlock_irqsave)(&gpu->lock);
	for (i = 0; i < min(gpu->ended, FIX_JOBS); i++) {
		if (gpu->jobs[i].seqno != seqno)
			continue;
		if (job)
			*job = gpu->jobs[i];
		return true;
	}
	return false;
}

struct fix_job fix_wait(struct fix_gpu *gpu, u64 seqno)
{
	struct fix_job job;

	fix_wait_for(gpu, fix_ended(gpu, seqno, &job));
	return job;
}

struct fix_job fix_run(struct fix_gpu *gpu, u32 vmid,
		       const struct vualink_hw_cmd *cmds, u32 count)
{
	return fix_wait(gpu, fix_submit(gpu, vmid, cmds, count));
}

struct fix_job fix_fill(struct fix_gpu *gpu, u32 vmid, u64 va, u64 len,
			u32 value)
{
	struct vualink_hw_cmd cmd = {
		.op = VUALINK_HW_FILL,
		.dst = va,
		.len = len,
		.value = value,
	};

	return fix_run(gpu, vmid, &cmd, 1);
}

struct fix_job fix_copy(struct fix_gpu *gpu, u32 vmid, u64 dst, u64 src,
			u64 len)
{
	struct vualink_hw_cmd cmd = {
		.op = VUALINK_HW_COPY,
		.dst = dst,
		.src = src,
		.len = len,
	};

	return fix_run(gpu, vmid, &cmd, 1);
}

void fix_expect_fault(struct fix_job job, enum vualink_hw_fault_reason reason,
		      u64 va, bool write)
{
	struct kunit *test = kunit_get_current_test();

	KUNIT_EXPECT_EQ(test, job.error, -EFAULT);
	KUNIT_EXPECT_EQ(test, job.fault.reason, reason);
	KUNIT_EXPECT_EQ(test, job.fault.va, va);
	KUNIT_EXPECT_EQ(test, job.fault.write, write);
}

s64 fix_counter(struct fix_gpu *gpu, size_t offset)
{
	return atomic64_read((void *)vualink_hw_stats(gpu->hw) + offset);
}

bool fix_all(const void *buf, u8 byte, size_t len)
{
	return !memchr_inv(buf, byte, len);
}

MODULE_DESCRIPTION("KUnit tests for the model of the virtual accelerator");
MODULE_LICENSE("Dual MIT/GPL");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
