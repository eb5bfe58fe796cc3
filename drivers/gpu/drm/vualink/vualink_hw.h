/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The model behind the virtual accelerator: what silicon, firmware and cables
 * are for a real one. The driver sees only what this header declares. The model
 * never calls the driver but through &struct vualink_hw_irq_ops, and it reaches
 * memory only through page tables in VRAM and through TLBs, which nothing
 * but the flushes below ever empties.
 */

#ifndef _VUALINK_HW_H_
#define _VUALINK_HW_H_

#include <linux/bits.h>
#include <linux/types.h>

struct dentry;
struct page;
struct vualink_fabric;
struct vualink_hw;

/**
 * DOC: Page table format
 *
 * One format serves the page tables of a GPU virtual address space and those
 * of the incoming NPA segment: %VUALINK_PT_LEVELS levels of 512 little-endian
 * 64-bit entries, each table one 4 KiB page of VRAM. Level 0 is the leaf.
 *
 * ::
 *
 *      63       52 51                        12 11       5  4   3   2   1   0
 *     +-----------+----------------------------+----------+---+---+---+---+---+
 *     |     0     |  address bits 51..12       |    0     |SYS|BLK|NPA| W | V |
 *     +-----------+----------------------------+----------+---+---+---+---+---+
 *
 * An entry with V = 0 faults, whatever its other bits. In a table above
 * level 0, BLK = 1 makes the entry a leaf that covers all addresses below it
 * (2 MiB at level 1, 1 GiB at level 2); BLK = 0 makes it a pointer to the next
 * table. The address of a pointer is an offset in VRAM. The address of a leaf
 * is an offset in VRAM; with NPA = 1 a network physical address; with SYS = 1
 * the physical address of a page of system memory. NPA and SYS are invalid in
 * the tables of an NPA segment and raise a fault there.
 *
 * These are malformed, and fault as such: a bit that is drawn as 0 and is 1;
 * BLK at level 0 or 3; a block whose address is not a multiple of its size; NPA
 * together with SYS; NPA or SYS in a pointer. W means nothing in a pointer.
 *
 * Page tables are little-endian; the words that the copy engine reads and
 * writes have the byte order of the host.
 */

#define VUALINK_PT_LEVELS	4
#define VUALINK_PT_BITS		9
#define VUALINK_PT_ENTRIES	BIT(VUALINK_PT_BITS)
#define VUALINK_PAGE_SHIFT	12
#define VUALINK_PAGE_SIZE	BIT(VUALINK_PAGE_SHIFT)
#define VUALINK_VA_BITS		(VUALINK_PAGE_SHIFT + \
				 VUALINK_PT_LEVELS * VUALINK_PT_BITS)

#define VUALINK_PTE_VALID	BIT_ULL(0)
#define VUALINK_PTE_WRITE	BIT_ULL(1)
#define VUALINK_PTE_NPA		BIT_ULL(2)
#define VUALINK_PTE_BLOCK	BIT_ULL(3)
#define VUALINK_PTE_SYSTEM	BIT_ULL(4)
#define VUALINK_PTE_ADDR	GENMASK_ULL(51, 12)

/* GPU virtual address spaces that the MMU can hold at once; id 0 is invalid */
#define VUALINK_HW_VMIDS		256

/* Accelerator ids in a pod */
#define VUALINK_HW_MAX_IDS		1024

/* The NPA of the last id must fit in the address bits of an entry */
#define VUALINK_HW_MAX_SEGMENT_SHIFT	42

/* Bytes in a fabric message; byte 1 is its type, as far as the knobs care */
#define VUALINK_HW_MSG_SIZE		64

/* Messages that the ring of one ordered pair of accelerators holds */
#define VUALINK_HW_RING_MSGS		64

/* Jobs that the copy engine holds, those included that did not end yet */
#define VUALINK_HW_JOBS			64

/**
 * enum vualink_hw_opcode - what the copy engine can do
 * @VUALINK_HW_COPY: copy @len bytes from @src to @dst, which must not overlap
 * @VUALINK_HW_FILL: write the 32-bit @value to @len bytes at @dst; both must be
 *	multiples of 4
 * @VUALINK_HW_ATOMIC_ADD: add @value to the 64-bit word at @dst, atomically
 *	for the whole pod, and write what it was before to @src unless that is 0
 * @VUALINK_HW_WAIT: read the 64-bit word at @dst until it is >= @value, or
 *	give up with -ETIME after @timeout_ms
 * @VUALINK_HW_STORE: write the 64-bit @value to @dst
 */
enum vualink_hw_opcode {
	VUALINK_HW_COPY,
	VUALINK_HW_FILL,
	VUALINK_HW_ATOMIC_ADD,
	VUALINK_HW_WAIT,
	VUALINK_HW_STORE,
};

/**
 * struct vualink_hw_cmd - one command of the copy engine
 * @op: an &enum vualink_hw_opcode
 * @timeout_ms: bound of %VUALINK_HW_WAIT
 * @dst: GPU virtual address written to (or waited on)
 * @src: GPU virtual address read from
 * @len: bytes
 * @value: operand
 */
struct vualink_hw_cmd {
	u32 op;
	u32 timeout_ms;
	u64 dst;
	u64 src;
	u64 len;
	u64 value;
};

/**
 * enum vualink_hw_fault_reason - why an access failed
 * @VUALINK_HW_FAULT_NONE: it did not
 * @VUALINK_HW_FAULT_VA: no valid entry in the page tables of the address space
 * @VUALINK_HW_FAULT_WRITE: a write through an entry without W
 * @VUALINK_HW_FAULT_ENTRY: a malformed entry
 * @VUALINK_HW_FAULT_LINK: the fabric does not reach the owner of the NPA
 * @VUALINK_HW_FAULT_GATE: the owner's source gate is closed for this source
 * @VUALINK_HW_FAULT_NPA: no valid entry in the owner's NPA tables
 * @VUALINK_HW_FAULT_NPA_WRITE: a write through a read-only NPA entry
 * @VUALINK_HW_FAULT_RANGE: an address outside of VRAM or of system memory
 * @VUALINK_HW_FAULT_ALIGN: an atomic, store or wait that is not 8-byte aligned,
 *	or a fill that is not 4-byte aligned
 */
enum vualink_hw_fault_reason {
	VUALINK_HW_FAULT_NONE,
	VUALINK_HW_FAULT_VA,
	VUALINK_HW_FAULT_WRITE,
	VUALINK_HW_FAULT_ENTRY,
	VUALINK_HW_FAULT_LINK,
	VUALINK_HW_FAULT_GATE,
	VUALINK_HW_FAULT_NPA,
	VUALINK_HW_FAULT_NPA_WRITE,
	VUALINK_HW_FAULT_RANGE,
	VUALINK_HW_FAULT_ALIGN,
};

/**
 * struct vualink_hw_fault - report of an access that failed
 * @va: GPU virtual address
 * @reason: an &enum vualink_hw_fault_reason
 * @vmid: address space
 * @write: it was a write
 */
struct vualink_hw_fault {
	u64 va;
	u32 reason;
	u16 vmid;
	bool write;
};

/**
 * struct vualink_hw_irq_ops - interrupts that an accelerator raises
 *
 * Each may be called from any context, and several at once; none may sleep or
 * call back into the model. They can come before vualink_hw_create() returns,
 * and from within a call of the driver into the model (a message to itself
 * raises @rx inside of vualink_hw_send()). The model holds no lock of its own
 * across them.
 */
struct vualink_hw_irq_ops {
	/** @rx: one message or more from accelerator @src arrived */
	void (*rx)(void *data, u32 src);
	/** @tx: the ring to accelerator @dst, which was full, has room again */
	void (*tx)(void *data, u32 dst);
	/**
	 * @done: the job with @seqno is complete: 0, -EFAULT with @fault,
	 * -ETIME, or -ECANCELED. Comes from the engine's worker only, in the
	 * order of completion; @fault is %NULL but for -EFAULT and is valid
	 * only during the call. Nothing in it may allocate.
	 */
	void (*done)(void *data, u64 seqno, int error,
		     const struct vualink_hw_fault *fault);
	/**
	 * @link: the fabric to accelerator @id went up or down, because a link
	 * was cut or restored, or because @id was plugged in or out. Those that
	 * were there before are not reported to an accelerator that is
	 * plugged in: it asks vualink_fabric_link_up().
	 */
	void (*link)(void *data, u32 id, bool up);
	/**
	 * @refused: an access of accelerator @src came through the fabric and
	 * was not served, for @reason. @src is told as well, by the end of its job
	 */
	void (*refused)(void *data, u32 src, enum vualink_hw_fault_reason reason);
};

/**
 * struct vualink_hw_params - what an accelerator is made of
 * @fabric: the pod that it is plugged into
 * @irq: interrupt handlers
 * @data: their first argument
 * @id: accelerator id, 0..1023, unique in the fabric
 * @segment_shift: log2 of the NPA segment's size, %VUALINK_PAGE_SHIFT to
 *	%VUALINK_HW_MAX_SEGMENT_SHIFT
 * @vram_size: bytes, a multiple of 4 KiB
 */
struct vualink_hw_params {
	struct vualink_fabric *fabric;
	const struct vualink_hw_irq_ops *irq;
	void *data;
	u32 id;
	u32 segment_shift;
	u64 vram_size;
};

/**
 * struct vualink_hw_stats - counters of one accelerator since it was made
 * @walks: page table walks
 * @tlb_hits: translations that a TLB answered
 * @stale: uses of a TLB entry that differed from the page table at that moment
 * @stale_flushed: of these, the uses of entries that a flush or a reset emptied
 *	later. They fall between the write of a page table entry and the end of
 *	its flush, where hardware has them too. What @stale has more was never
 *	flushed.
 * @faults: accesses that failed
 * @vm_flushes: flushes of a VM's TLB
 * @link_flushes: flushes of the link TLB
 * @npa_in: accesses through the fabric that this accelerator served, counted
 *	when they are translated and before they touch memory
 * @npa_refused: accesses through the fabric that it did not serve
 * @npa_out: accesses that went out to the fabric
 * @tx_msgs: messages taken from the driver
 * @rx_msgs: messages given to the driver
 * @pte_writes: not the model's: the driver counts the entries it writes here
 */
struct vualink_hw_stats {
	atomic64_t walks;
	atomic64_t tlb_hits;
	atomic64_t stale;
	atomic64_t stale_flushed;
	atomic64_t faults;
	atomic64_t vm_flushes;
	atomic64_t link_flushes;
	atomic64_t npa_in;
	atomic64_t npa_refused;
	atomic64_t npa_out;
	atomic64_t tx_msgs;
	atomic64_t rx_msgs;
	atomic64_t pte_writes;
};

/* The fabric of a pod */
struct vualink_fabric *
vualink_fabric_create(const char *name, struct dentry *parent);
struct vualink_fabric *vualink_fabric_get(struct vualink_fabric *fabric);
void vualink_fabric_put(struct vualink_fabric *fabric);
bool vualink_fabric_link_up(struct vualink_fabric *fabric, u32 a, u32 b);

/* One accelerator */
struct vualink_hw *vualink_hw_create(const struct vualink_hw_params *params);
void vualink_hw_destroy(struct vualink_hw *hw);
void vualink_hw_reset(struct vualink_hw *hw);
const struct vualink_hw_params *vualink_hw_params(struct vualink_hw *hw);
struct vualink_hw_stats *vualink_hw_stats(struct vualink_hw *hw);
void vualink_hw_debugfs_init(struct vualink_hw *hw, struct dentry *dir);
struct page *vualink_hw_vram_page(struct vualink_hw *hw, u64 offset);

/* GPU virtual address spaces */
void vualink_hw_vm_set_root(struct vualink_hw *hw, u32 vmid, u64 root);
int vualink_hw_vm_flush(struct vualink_hw *hw, u32 vmid, u64 va, u64 size);

/* Incoming NPA accesses */
void vualink_hw_npa_set_root(struct vualink_hw *hw, u64 root);
int vualink_hw_npa_flush(struct vualink_hw *hw, u64 offset, u64 size);
int vualink_hw_source_gate(struct vualink_hw *hw, u32 src, bool open);

/* Copy engine */
int vualink_hw_submit(struct vualink_hw *hw, u32 vmid, u64 seqno,
		      const struct vualink_hw_cmd *cmds, u32 count);
void vualink_hw_cancel(struct vualink_hw *hw, u64 seqno);
void vualink_hw_drain(struct vualink_hw *hw);

/* Message rings, one for each ordered pair */
int vualink_hw_send(struct vualink_hw *hw, u32 dst, const void *msg);
int vualink_hw_recv(struct vualink_hw *hw, u32 src, void *msg);

#endif /* _VUALINK_HW_H_ */
