/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the model share. The driver does not include this.
 */

#ifndef _VUALINK_HW_INTERNAL_H_
#define _VUALINK_HW_INTERNAL_H_

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vualink_hw.h"

struct seq_file;

/* Translations that one TLB holds */
#define VUALINK_TLB_ENTRIES	64

/* Messages that the knobs of one fabric may hold back at a time */
#define VUALINK_HELD_MAX	4096

/**
 * struct vualink_leaf - where a page table walk ended
 * @pte: the leaf entry
 * @level: level of the table it stands in
 */
struct vualink_leaf {
	u64 pte;
	u32 level;
};

/**
 * struct vualink_tlb_entry - a cached translation
 * @base: first input address that it covers
 * @leaf: what it translates to; not in use if @leaf.pte is 0
 * @stale: times it was used while the page table said something else
 * @vmid: address space; 0 in a link TLB
 */
struct vualink_tlb_entry {
	u64 base;
	struct vualink_leaf leaf;
	u32 stale;
	u16 vmid;
};

/**
 * struct vualink_mmu - an MMU: that for GPU virtual addresses, whose TLB is
 * tagged by address space, or the link MMU for incoming NPA accesses
 */
struct vualink_mmu {
	/** @hw: accelerator it belongs to, whose VRAM has the page tables */
	struct vualink_hw *hw;

	/**
	 * @roots: VRAM offset of the top table of each address space, or
	 * U64_MAX; only index 0 in a link MMU. Single words, WRITE_ONCE()
	 */
	u64 *roots;

	/** @link: it is a link MMU. Immutable */
	bool link;

	/**
	 * @drain: held for reading by one access at a time, from the start of
	 * its translation until its last byte is moved; for writing by a flush.
	 * So the flush is the point that no access crosses.
	 */
	struct rw_semaphore drain;

	/** @lock: protects @tlb and @next, between the readers of @drain */
	spinlock_t lock;

	/** @next: entry to be replaced next */
	u32 next;

	/** @tlb: the cached translations */
	struct vualink_tlb_entry tlb[VUALINK_TLB_ENTRIES];
};

/**
 * enum vualink_hw_job_state - what is to become of a job of the copy engine
 * @VUALINK_HW_JOB_RUN: it runs when it is first in the queue
 * @VUALINK_HW_JOB_CANCEL: it ends with -ECANCELED
 * @VUALINK_HW_JOB_LOSE: the accelerator crashed: it neither runs nor ends,
 *	until it is cancelled
 */
enum vualink_hw_job_state {
	VUALINK_HW_JOB_RUN,
	VUALINK_HW_JOB_CANCEL,
	VUALINK_HW_JOB_LOSE,
};

/**
 * struct vualink_hw_job - a job of the copy engine
 * @link: in one of the lists of the engine
 * @state: under the lock of the engine
 * @vmid: address space. This and all below belongs to whoever has the job:
 *	submit while it is not queued, then the worker
 * @error: how it ended
 * @fault: why, if @error is -EFAULT
 * @seqno: names the job
 * @cmds: what it does
 * @count: number of @cmds
 * @cmd: index of the command at work
 * @done: bytes of it that are done
 * @polls: times that it waited in vain, if it waits
 * @deadline: when it gives up, if it waits
 */
struct vualink_hw_job {
	struct list_head link;
	enum vualink_hw_job_state state;
	u32 vmid;
	int error;
	struct vualink_hw_fault fault;
	u64 seqno;
	const struct vualink_hw_cmd *cmds;
	u32 count;
	u32 cmd;
	u64 done;
	u32 polls;
	ktime_t deadline;
};

/**
 * struct vualink_engine - the copy engine of an accelerator
 */
struct vualink_engine {
	/** @work: runs the jobs, and alone raises their interrupts */
	struct work_struct work;

	/** @poll: wakes @work to look again at what a job waits for */
	struct hrtimer poll;

	/** @lock: protects the lists, @attention and &vualink_hw_job.state */
	spinlock_t lock;

	/** @attention: a job in @queue or @lost is not to run */
	bool attention;

	/** @free: slots without a job */
	struct list_head free;

	/** @queue: jobs to do; the first one is at work */
	struct list_head queue;

	/** @lost: jobs that a crash took */
	struct list_head lost;

	/** @ended: jobs whose interrupt is to be raised */
	struct list_head ended;

	/** @buf: a page that a copy passes through. Of the worker */
	u32 *buf;

	/** @jobs: the slots */
	struct vualink_hw_job jobs[VUALINK_HW_JOBS];
};

/**
 * struct vualink_ring - messages from one accelerator to another
 * @head: counts the messages put in
 * @tail: counts the messages taken out
 * @src_waits: the sender was told that there is no room
 * @msgs: the slots
 *
 * It belongs to the receiver, whose &vualink_hw.ring_lock protects it.
 */
struct vualink_ring {
	u32 head;
	u32 tail;
	bool src_waits;
	u8 msgs[VUALINK_HW_RING_MSGS][VUALINK_HW_MSG_SIZE];
};

/**
 * struct vualink_hw - an accelerator
 */
struct vualink_hw {
	/** @params: as created. Immutable, with a reference to the fabric */
	struct vualink_hw_params params;

	/** @stats: counters, each atomic */
	struct vualink_hw_stats stats;

	/**
	 * @users: one for being plugged in, and one for each access or
	 * interrupt from the fabric that is under way in this accelerator
	 */
	refcount_t users;

	/** @unplugged: @users went to 0 */
	struct completion unplugged;

	/** @rcu: for those that look it up in &vualink_fabric.hws */
	struct rcu_head rcu;

	/** @wipe_lock: one reset or crash at a time */
	struct mutex wipe_lock;

	/** @vram: the pages of VRAM. The array is immutable */
	struct page **vram;

	/** @vram_pages: number of @vram. Immutable */
	unsigned long vram_pages;

	/** @ring_lock: protects @rings and what is in them. irq-safe */
	spinlock_t ring_lock;

	/** @rings: &struct vualink_ring by source id, made at first use */
	struct xarray rings;

	/**
	 * @gate: sources that @link serves. Atomic bit operations; accesses
	 * look at it with the drain of @link held
	 */
	DECLARE_BITMAP(gate, VUALINK_HW_MAX_IDS);

	/** @vm_roots: root tables of @vm */
	u64 vm_roots[VUALINK_HW_VMIDS];

	/** @npa_root: root table of @link */
	u64 npa_root;

	/** @vm: MMU for GPU virtual addresses. Its drain is the outer one */
	struct vualink_mmu vm;

	/** @link: MMU for NPA accesses of others. Its drain is innermost */
	struct vualink_mmu link;

	/** @engine: the copy engine */
	struct vualink_engine engine;
};

/**
 * enum vualink_knob_id - the knobs that have a rule
 * @VUALINK_KNOB_DROP: messages get lost
 * @VUALINK_KNOB_DUPLICATE: messages come twice
 * @VUALINK_KNOB_DELAY: messages come later
 * @VUALINK_KNOB_REORDER: messages come after the one that follows
 * @VUALINK_KNOB_CORRUPT: messages come with a byte inverted
 * @VUALINK_KNOB_FLUSH_DELAY: flushes take time
 * @VUALINK_KNOB_FLUSH_FAIL: flushes do nothing and fail
 * @VUALINK_KNOB_ACCESS_DELAY: accesses take time
 * @VUALINK_KNOB_WALK_DELAY: page table walks take time
 * @VUALINK_KNOBS: number of knobs
 */
enum vualink_knob_id {
	VUALINK_KNOB_DROP,
	VUALINK_KNOB_DUPLICATE,
	VUALINK_KNOB_DELAY,
	VUALINK_KNOB_REORDER,
	VUALINK_KNOB_CORRUPT,
	VUALINK_KNOB_FLUSH_DELAY,
	VUALINK_KNOB_FLUSH_FAIL,
	VUALINK_KNOB_ACCESS_DELAY,
	VUALINK_KNOB_WALK_DELAY,
	VUALINK_KNOBS,
};

/**
 * enum vualink_knob_key - what a rule is made of; see "Fabric knobs"
 * @VUALINK_KEY_TYPE: type of message
 * @VUALINK_KEY_SRC: its sender
 * @VUALINK_KEY_DST: its receiver
 * @VUALINK_KEY_ID: accelerator
 * @VUALINK_KEY_KIND: an &enum vualink_flush_kind
 * @VUALINK_KEY_EVERY: every nth that matches
 * @VUALINK_KEY_ONCE: only the nth that matches
 * @VUALINK_KEY_COUNT: the first n that match
 * @VUALINK_KEY_MS: time in milliseconds
 * @VUALINK_KEY_US: time in microseconds
 * @VUALINK_KEY_BYTE: index of a byte
 * @VUALINK_KEYS: number of keys
 */
enum vualink_knob_key {
	VUALINK_KEY_TYPE,
	VUALINK_KEY_SRC,
	VUALINK_KEY_DST,
	VUALINK_KEY_ID,
	VUALINK_KEY_KIND,
	VUALINK_KEY_EVERY,
	VUALINK_KEY_ONCE,
	VUALINK_KEY_COUNT,
	VUALINK_KEY_MS,
	VUALINK_KEY_US,
	VUALINK_KEY_BYTE,
	VUALINK_KEYS,
};

/* What a key that was not given, or given as "any", is in a rule */
#define VUALINK_KEY_ANY		(-1)

/**
 * enum vualink_flush_kind - the operations that empty or close, and drain
 * @VUALINK_FLUSH_VM: vualink_hw_vm_flush()
 * @VUALINK_FLUSH_NPA: vualink_hw_npa_flush()
 * @VUALINK_FLUSH_GATE: vualink_hw_source_gate(), when it closes
 */
enum vualink_flush_kind {
	VUALINK_FLUSH_VM,
	VUALINK_FLUSH_NPA,
	VUALINK_FLUSH_GATE,
};

/**
 * struct vualink_knob - a knob and its rule
 * @fabric: whose knob it is
 * @id: which one
 * @on: it has a rule
 * @val: the rule, by &enum vualink_knob_key
 * @seen: events that the rule was for
 * @hits: events that it acted on
 * @rules: counts the rules that it had
 *
 * All but the first two members are protected by &vualink_fabric.lock; @on and
 * @rules may be read without.
 */
struct vualink_knob {
	struct vualink_fabric *fabric;
	enum vualink_knob_id id;
	bool on;
	s32 val[VUALINK_KEYS];
	u64 seen;
	u64 hits;
	u32 rules;
};

/**
 * struct vualink_action - a file of the fabric that takes ids
 * @fabric: whose it is
 * @index: which one, in the table of vualink_fabric_debugfs.c
 *
 * Immutable.
 */
struct vualink_action {
	struct vualink_fabric *fabric;
	u32 index;
};

/* cut, restore, mute, unmute, crash */
#define VUALINK_ACTIONS		5

/**
 * struct vualink_verdict - what the knobs do to a message
 * @drop: it is lost
 * @duplicate: it comes twice
 * @reorder: it comes after the one that follows
 * @delay_ms: it comes later
 */
struct vualink_verdict {
	bool drop;
	bool duplicate;
	bool reorder;
	u32 delay_ms;
};

/**
 * struct vualink_fabric - the fabric of a pod
 */
struct vualink_fabric {
	/** @ref: references */
	struct kref ref;

	/** @wq: where the copy engines run, one for all of them */
	struct workqueue_struct *wq;

	/** @hws: &struct vualink_hw by id. Looked up under RCU */
	struct xarray hws;

	/** @cuts: links that are cut, by vualink_fabric_pair(). */
	struct xarray cuts;

	/** @lock: protects @knobs, @held, @held_count. Innermost, irq-safe */
	spinlock_t lock;

	/** @knobs: what goes wrong */
	struct vualink_knob knobs[VUALINK_KNOBS];

	/** @knob_wait: woken up when a knob gets another rule */
	wait_queue_head_t knob_wait;

	/** @actions: private data of files */
	struct vualink_action actions[VUALINK_ACTIONS];

	/** @muted: accelerators whose messages vanish. Atomic bit operations */
	DECLARE_BITMAP(muted, VUALINK_HW_MAX_IDS);

	/** @held: &struct vualink_parcel that @timer delivers */
	struct list_head held;

	/** @held_count: number of them; may be read without @lock */
	u32 held_count;

	/** @lost: messages lost for want of memory or room, not by a knob */
	atomic64_t lost;

	/** @timer: the next time that something in @held is due */
	struct hrtimer timer;

	/** @dir: the knobs in debugfs */
	struct dentry *dir;
};

/* vualink_fabric.c */
struct vualink_hw *vualink_fabric_hw_get(struct vualink_fabric *fabric, u32 id);
void vualink_fabric_hw_put(struct vualink_hw *hw);
int vualink_fabric_plug(struct vualink_hw *hw);
void vualink_fabric_unplug(struct vualink_hw *hw);
int vualink_fabric_cut(struct vualink_fabric *fabric, u32 a, u32 b);
int vualink_fabric_restore(struct vualink_fabric *fabric, u32 a, u32 b);
int vualink_fabric_crash(struct vualink_fabric *fabric, u32 id);
bool vualink_fabric_wired(struct vualink_fabric *fabric, u32 a, u32 b);
void vualink_fabric_mute(struct vualink_fabric *fabric, u32 id, bool mute);

/* vualink_fabric_msg.c */
void vualink_fabric_msg_init(struct vualink_fabric *fabric);
void vualink_fabric_msg_fini(struct vualink_fabric *fabric);
void vualink_hw_rings_init(struct vualink_hw *hw);
void vualink_hw_rings_wipe(struct vualink_hw *hw);
void vualink_hw_rings_fini(struct vualink_hw *hw);

/* vualink_fabric_debugfs.c */
void vualink_fabric_debugfs_init(struct vualink_fabric *fabric,
				 const char *name, struct dentry *parent);

/* vualink_fabric_knobs.c */
void vualink_fabric_knobs_init(struct vualink_fabric *fabric);
const char *vualink_fabric_knob_name(enum vualink_knob_id id);
int vualink_fabric_knob_set(struct vualink_fabric *fabric,
			    enum vualink_knob_id id, char *text);
void vualink_fabric_knob_show(struct vualink_fabric *fabric,
			      enum vualink_knob_id id, struct seq_file *m);
void vualink_fabric_knob_msg(struct vualink_fabric *fabric, u32 src, u32 dst,
			     u8 *msg, struct vualink_verdict *verdict);
int vualink_fabric_knob_flush(struct vualink_hw *hw,
			      enum vualink_flush_kind kind);
void vualink_fabric_knob_delay(struct vualink_hw *hw, enum vualink_knob_id id);

/* vualink_hw.c */
void vualink_hw_crash(struct vualink_hw *hw);

/* vualink_hw_mmu.c */
void vualink_mmu_init(struct vualink_mmu *mmu, struct vualink_hw *hw,
		      u64 *roots, bool link);
void vualink_mmu_wipe(struct vualink_mmu *mmu);
enum vualink_hw_fault_reason
vualink_mmu_translate(struct vualink_mmu *mmu, u32 vmid, u64 addr, bool write,
		      struct vualink_leaf *leaf);

/* log2 of the bytes that an entry in a table of a level covers */
static inline u32 vualink_level_shift(u32 level)
{
	return VUALINK_PAGE_SHIFT + level * VUALINK_PT_BITS;
}

/* vualink_hw_access.c */

/**
 * enum vualink_access_op - what an access does
 * @VUALINK_READ: memory to buffer
 * @VUALINK_WRITE: buffer to memory
 * @VUALINK_LOAD: read an aligned 64-bit word at once
 * @VUALINK_STORE: write an aligned 64-bit word at once
 * @VUALINK_ADD: add to an aligned 64-bit word, and return what it was
 */
enum vualink_access_op {
	VUALINK_READ,
	VUALINK_WRITE,
	VUALINK_LOAD,
	VUALINK_STORE,
	VUALINK_ADD,
};

/**
 * struct vualink_access - an access to memory
 * @op: what it does
 * @vmid: address space
 * @va: where
 * @len: bytes, none beyond the 4 KiB page of @va
 * @buf: source or destination of READ and WRITE
 * @value: operand of STORE and ADD, result of LOAD and ADD
 * @refuser: out: who did not serve it, if it got that far, with a reference
 */
struct vualink_access {
	enum vualink_access_op op;
	u32 vmid;
	u64 va;
	u32 len;
	void *buf;
	u64 value;
	struct vualink_hw *refuser;
};

enum vualink_hw_fault_reason
vualink_hw_access(struct vualink_hw *hw, struct vualink_access *access);

/* vualink_hw_engine.c */
int vualink_engine_init(struct vualink_engine *engine);
void vualink_engine_reset(struct vualink_engine *engine);
void vualink_engine_crash(struct vualink_engine *engine);
void vualink_engine_fini(struct vualink_engine *engine);

#endif /* _VUALINK_HW_INTERNAL_H_ */
