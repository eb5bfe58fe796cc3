// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/highmem.h>
#include <linux/mm.h>

#include "vualink_hw_internal.h"

/*
 * One access: translate, find the memory, move the bytes. vualink_hw_mmu.c says
 * what is locked, and why.
 */

/*
 * Jobs may access the same bytes at the same time, and CPUs may as well, as far as their
 * users let them. That is a race of the users: hardware moves bytes all the same.
 */
static void vualink_access_memory(struct vualink_access *access, void *vaddr)
{
	switch (access->op) {
	case VUALINK_READ:
		/* See above. */
		data_race(memcpy(access->buf, vaddr, access->len));
		break;
	case VUALINK_WRITE:
		/* See above. */
		data_race(memcpy(vaddr, access->buf, access->len));
		break;
	case VUALINK_LOAD:
		access->value = atomic64_read_acquire(vaddr);
		break;
	case VUALINK_STORE:
		atomic64_set_release(vaddr, access->value);
		break;
	case VUALINK_ADD:
		access->value = atomic64_fetch_add(access->value, vaddr);
		break;
	}
}

static enum vualink_hw_fault_reason
vualink_access_page(struct vualink_access *access, struct page *page,
		    u64 address)
{
	void *vaddr;

	if (!page)
		return VUALINK_HW_FAULT_RANGE;
	vaddr = kmap_local_page(page);
	vualink_access_memory(access, vaddr + offset_in_page(address));
	kunmap_local(vaddr);
	return VUALINK_HW_FAULT_NONE;
}

static bool vualink_access_is_write(const struct vualink_access *access)
{
	return access->op == VUALINK_WRITE || access->op == VUALINK_STORE ||
	       access->op == VUALINK_ADD;
}

static u64 vualink_leaf_address(const struct vualink_leaf *leaf, u64 addr)
{
	u64 mask = BIT_ULL(vualink_level_shift(leaf->level)) - 1;

	return (leaf->pte & VUALINK_PTE_ADDR) + (addr & mask);
}

static struct page *vualink_system_page(u64 address)
{
	unsigned long pfn = PHYS_PFN(address);

	return pfn_valid(pfn) ? pfn_to_page(pfn) : NULL;
}

/* The owner's side of an access through the fabric */
static enum vualink_hw_fault_reason
vualink_access_serve(struct vualink_hw *owner, struct vualink_hw *src,
		     struct vualink_access *access, u64 offset)
{
	enum vualink_hw_fault_reason reason;
	struct vualink_leaf leaf;
	u64 address;

	lockdep_assert_held_read(&owner->link.drain);

	if (!test_bit(src->params.id, owner->gate))
		return VUALINK_HW_FAULT_GATE;
	if (offset >> owner->params.segment_shift)
		return VUALINK_HW_FAULT_NPA;
	reason = vualink_mmu_translate(&owner->link, 0, offset,
				       vualink_access_is_write(access), &leaf);
	if (reason)
		return reason;
	atomic64_inc(&owner->stats.npa_in);
	vualink_fabric_knob_delay(src, VUALINK_KNOB_ACCESS_DELAY);
	address = vualink_leaf_address(&leaf, offset);
	return vualink_access_page(access, vualink_hw_vram_page(owner, address),
				   address);
}

static enum vualink_hw_fault_reason
vualink_access_remote(struct vualink_hw *hw, struct vualink_access *access,
		      u64 npa)
{
	struct vualink_fabric *fabric = hw->params.fabric;
	u32 shift = hw->params.segment_shift;
	enum vualink_hw_fault_reason reason;
	struct vualink_hw *owner = NULL;

	atomic64_inc(&hw->stats.npa_out);
	if (npa >> shift < VUALINK_HW_MAX_IDS)
		owner = vualink_fabric_hw_get(fabric, npa >> shift);
	if (!owner)
		return VUALINK_HW_FAULT_LINK;

	down_read(&owner->link.drain);
	if (vualink_fabric_wired(fabric, hw->params.id, owner->params.id))
		reason = vualink_access_serve(owner, hw, access,
					      npa & (BIT_ULL(shift) - 1));
	else
		reason = VUALINK_HW_FAULT_LINK;
	up_read(&owner->link.drain);

	if (reason && reason != VUALINK_HW_FAULT_LINK)
		access->refuser = owner;	/* Put in vualink_access_report() */
	else
		vualink_fabric_hw_put(owner);
	return reason;
}

/* Tells the owner of the memory what it has refused, now that no lock is held. */
static void vualink_access_report(struct vualink_hw *hw, struct vualink_hw *owner,
				  enum vualink_hw_fault_reason reason)
{
	atomic64_inc(&owner->stats.npa_refused);
	owner->params.irq->refused(owner->params.data, hw->params.id, reason);
	vualink_fabric_hw_put(owner);
}

static enum vualink_hw_fault_reason
vualink_access_local(struct vualink_hw *hw, struct vualink_access *access,
		     const struct vualink_leaf *leaf, u64 address)
{
	struct page *page;

	vualink_fabric_knob_delay(hw, VUALINK_KNOB_ACCESS_DELAY);
	if (leaf->pte & VUALINK_PTE_SYSTEM)
		page = vualink_system_page(address);
	else
		page = vualink_hw_vram_page(hw, address);
	return vualink_access_page(access, page, address);
}

static enum vualink_hw_fault_reason
vualink_access_locked(struct vualink_hw *hw, struct vualink_access *access)
{
	enum vualink_hw_fault_reason reason;
	struct vualink_leaf leaf;
	u64 address;

	reason = vualink_mmu_translate(&hw->vm, access->vmid, access->va,
				       vualink_access_is_write(access), &leaf);
	if (reason)
		return reason;
	address = vualink_leaf_address(&leaf, access->va);
	if (leaf.pte & VUALINK_PTE_NPA)
		return vualink_access_remote(hw, access, address);
	return vualink_access_local(hw, access, &leaf, address);
}

/*
 * Makes one access of the copy engine. May sleep.
 * Return: why it faults, if it does.
 */
enum vualink_hw_fault_reason
vualink_hw_access(struct vualink_hw *hw, struct vualink_access *access)
{
	enum vualink_hw_fault_reason reason;

	access->refuser = NULL;
	down_read(&hw->vm.drain);
	reason = vualink_access_locked(hw, access);
	up_read(&hw->vm.drain);
	if (access->refuser)
		vualink_access_report(hw, access->refuser, reason);
	return reason;
}
