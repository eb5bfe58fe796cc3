/* SPDX-License-Identifier: MIT */
/*
 * The virtual accelerator: memory, GPU virtual addresses, and a copy engine.
 */

#ifndef _UAPI_VUALINK_DRM_H_
#define _UAPI_VUALINK_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: vualink ioctls
 *
 * Rules of this file:
 *
 * - All structures are naturally aligned, with named padding, and a multiple
 *   of eight bytes long. There are no unions and no pointers but __u64.
 * - Arrays come with a stride, so that their elements can grow.
 * - Every flag that is not defined and every padding that is not zero is
 *   refused with %-EINVAL, and nothing has been changed then.
 * - Flags, parameters and operations are only ever added; the minor version of
 *   the driver grows with each.
 *
 * Errors that all of the ioctls share:
 *
 * %-EINVAL
 *	Unknown flags, padding that is not zero, a size, address or alignment
 *	that makes no sense.
 * %-ENOENT
 *	No such object: a GEM handle, a VM or a syncobj.
 * %-ENODEV
 *	The accelerator is gone.
 * %-ENOMEM
 *	Out of memory.
 * %-EFAULT
 *	A pointer to user memory that is not the caller's.
 * %-EINTR
 *	A signal came while the ioctl waited. Nothing has been changed; call it
 *	again.
 *
 * What the core ioctls for PRIME refuse here:
 *
 * %-EPERM
 *	To share an object that was made for one VM.
 * %-ENOSYS
 *	To import an object in local memory on another device. What other
 *	accelerators are to reach is shared by %DRM_IOCTL_GEM_UALINK_EXPORT.
 *
 * An access of the copy engine that fails ends its job: the fence carries
 * %-EFAULT, and %DRM_IOCTL_VUALINK_GET_FAULTS tells more. Nothing else is hurt.
 */

/**
 * enum drm_vualink_ioctl_id - numbers of the ioctls
 *
 * New ones are added at the end.
 */
enum drm_vualink_ioctl_id {
	/** @DRM_VUALINK_GET_PARAM: ask about the accelerator */
	DRM_VUALINK_GET_PARAM = 0,
	/** @DRM_VUALINK_BO_CREATE: allocate memory */
	DRM_VUALINK_BO_CREATE,
	/** @DRM_VUALINK_BO_MMAP_OFFSET: get what mmap() takes to map it */
	DRM_VUALINK_BO_MMAP_OFFSET,
	/** @DRM_VUALINK_VM_CREATE: make a GPU virtual address space */
	DRM_VUALINK_VM_CREATE,
	/** @DRM_VUALINK_VM_DESTROY: give it up */
	DRM_VUALINK_VM_DESTROY,
	/** @DRM_VUALINK_VM_BIND: map memory into it, or unmap it */
	DRM_VUALINK_VM_BIND,
	/** @DRM_VUALINK_EXEC: run commands */
	DRM_VUALINK_EXEC,
	/** @DRM_VUALINK_GET_FAULTS: ask about accesses that failed */
	DRM_VUALINK_GET_FAULTS,
};

/**
 * enum drm_vualink_param - what %DRM_IOCTL_VUALINK_GET_PARAM answers
 */
enum drm_vualink_param {
	/** @DRM_VUALINK_PARAM_ID: accelerator id in its pod */
	DRM_VUALINK_PARAM_ID = 0,
	/** @DRM_VUALINK_PARAM_VRAM_SIZE: bytes of VRAM */
	DRM_VUALINK_PARAM_VRAM_SIZE = 1,
	/** @DRM_VUALINK_PARAM_VRAM_VISIBLE_SIZE: bytes of it that the CPU can reach */
	DRM_VUALINK_PARAM_VRAM_VISIBLE_SIZE = 2,
	/** @DRM_VUALINK_PARAM_BO_ALIGN: sizes of objects are multiples of this */
	DRM_VUALINK_PARAM_BO_ALIGN = 3,
	/** @DRM_VUALINK_PARAM_BIND_ALIGN: mappings are multiples of this */
	DRM_VUALINK_PARAM_BIND_ALIGN = 4,
	/** @DRM_VUALINK_PARAM_VA_START: first GPU virtual address that can be mapped */
	DRM_VUALINK_PARAM_VA_START = 5,
	/** @DRM_VUALINK_PARAM_VA_END: end of GPU virtual addresses, exclusive */
	DRM_VUALINK_PARAM_VA_END = 6,
	/** @DRM_VUALINK_PARAM_MAX_VMS: VMs that can exist at once, on all files */
	DRM_VUALINK_PARAM_MAX_VMS = 7,
	/** @DRM_VUALINK_PARAM_MAX_CMDS: commands that one %DRM_IOCTL_VUALINK_EXEC takes */
	DRM_VUALINK_PARAM_MAX_CMDS = 8,
	/** @DRM_VUALINK_PARAM_MAX_SYNCS: syncobjs in each array of %DRM_IOCTL_VUALINK_EXEC */
	DRM_VUALINK_PARAM_MAX_SYNCS = 9,
	/** @DRM_VUALINK_PARAM_MAX_FILE_JOBS: jobs that one file can have at once */
	DRM_VUALINK_PARAM_MAX_FILE_JOBS = 10,
	/** @DRM_VUALINK_PARAM_MAX_FILE_VMS: VMs that one file can have at once */
	DRM_VUALINK_PARAM_MAX_FILE_VMS = 11,
};

/**
 * struct drm_vualink_get_param - argument of %DRM_IOCTL_VUALINK_GET_PARAM
 */
struct drm_vualink_get_param {
	/** @param: in: an &enum drm_vualink_param */
	__u32 param;
	/** @pad: must be zero */
	__u32 pad;
	/** @value: out */
	__u64 value;
};

/** define DRM_VUALINK_BO_CPU_VISIBLE - the CPU can map it; what is in VRAM is in visible VRAM */
#define DRM_VUALINK_BO_CPU_VISIBLE	(1 << 0)
/** define DRM_VUALINK_BO_SYSTEM - is in system memory, not in VRAM; implies CPU_VISIBLE */
#define DRM_VUALINK_BO_SYSTEM		(1 << 1)

/**
 * struct drm_vualink_bo_create - argument of %DRM_IOCTL_VUALINK_BO_CREATE
 *
 * The object is filled with zeros. Objects in VRAM are moved to system memory
 * and back as others need the space. One that finds no room now begins in system
 * memory.
 *
 * Errors beyond the common ones:
 *
 * %-ENOSPC
 *	It is larger than VRAM, or than what the CPU can reach of it.
 * %-EIO
 *	Others would have to make room, and the accelerator is wedged; see
 *	&struct drm_vualink_vm_bind.
 */
struct drm_vualink_bo_create {
	/** @size: in: bytes, a multiple of %DRM_VUALINK_PARAM_BO_ALIGN */
	__u64 size;
	/** @flags: in: DRM_VUALINK_BO_* */
	__u32 flags;
	/**
	 * @vm_id: in: the only VM that it will ever be mapped in, or 0 for any.
	 * Such an object cannot be shared in any way
	 */
	__u32 vm_id;
	/** @handle: out: GEM handle */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * struct drm_vualink_bo_mmap_offset - argument of %DRM_IOCTL_VUALINK_BO_MMAP_OFFSET
 *
 * Errors beyond the common ones:
 *
 * %-EOPNOTSUPP
 *	The object was not made with %DRM_VUALINK_BO_CPU_VISIBLE.
 */
struct drm_vualink_bo_mmap_offset {
	/** @handle: in: GEM handle */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @offset: out: offset for mmap() */
	__u64 offset;
};

/**
 * struct drm_vualink_vm_create - argument of %DRM_IOCTL_VUALINK_VM_CREATE
 *
 * Errors beyond the common ones:
 *
 * %-ENOSPC
 *	There are %DRM_VUALINK_PARAM_MAX_VMS already, or VRAM has no room for
 *	page tables.
 * %-EDQUOT
 *	The file has %DRM_VUALINK_PARAM_MAX_FILE_VMS already. A VM that was
 *	given up counts until its last job is done.
 */
struct drm_vualink_vm_create {
	/** @flags: must be zero */
	__u32 flags;
	/** @vm_id: out: the VM, never 0 */
	__u32 vm_id;
};

/**
 * struct drm_vualink_vm_destroy - argument of %DRM_IOCTL_VUALINK_VM_DESTROY
 *
 * Jobs that were submitted before still run in it.
 */
struct drm_vualink_vm_destroy {
	/** @vm_id: in: the VM */
	__u32 vm_id;
	/** @pad: must be zero */
	__u32 pad;
};

/**
 * enum drm_vualink_vm_bind_op - operations of %DRM_IOCTL_VUALINK_VM_BIND
 */
enum drm_vualink_vm_bind_op {
	/** @DRM_VUALINK_VM_BIND_MAP: map an object, in place of what was mapped in the range */
	DRM_VUALINK_VM_BIND_MAP = 0,
	/** @DRM_VUALINK_VM_BIND_UNMAP: unmap all in the range; it may be empty */
	DRM_VUALINK_VM_BIND_UNMAP = 1,
};

/** define DRM_VUALINK_VM_BIND_READ_ONLY - writes through this mapping fault */
#define DRM_VUALINK_VM_BIND_READ_ONLY	(1 << 0)

/**
 * struct drm_vualink_vm_bind - argument of %DRM_IOCTL_VUALINK_VM_BIND
 *
 * Done when it returns, also in the TLBs. A mapping holds a reference to its
 * object. Jobs that run see either the old or the new mapping.
 *
 * Errors beyond the common ones:
 *
 * %-ENODEV
 *	The object is remote memory that is dead, or the accelerator is gone.
 * %-EACCES
 *	The object may only be read, and %DRM_VUALINK_VM_BIND_READ_ONLY is not
 *	set.
 * %-ENOSPC
 *	VRAM has no room for the object or for page tables.
 * %-EBUSY
 *	The object cannot be brought to VRAM now. Try again.
 * %-EIO
 *	The accelerator could not be made to give up old translations: what was
 *	unmapped may still be reached. It is wedged: until it is reset nothing
 *	moves out of its reach, and no job is accepted.
 */
struct drm_vualink_vm_bind {
	/** @vm_id: in: the VM */
	__u32 vm_id;
	/** @op: in: an &enum drm_vualink_vm_bind_op */
	__u32 op;
	/** @flags: in: DRM_VUALINK_VM_BIND_*, none of them for an unmap */
	__u32 flags;
	/** @handle: in: GEM handle, zero for an unmap */
	__u32 handle;
	/** @va: in: GPU virtual address, a multiple of %DRM_VUALINK_PARAM_BIND_ALIGN */
	__u64 va;
	/** @size: in: bytes, likewise */
	__u64 size;
	/** @offset: in: offset in the object, likewise; zero for an unmap */
	__u64 offset;
};

/**
 * enum drm_vualink_op - commands of the copy engine
 *
 * Members of &struct drm_vualink_cmd that a command does not use must be zero.
 */
enum drm_vualink_op {
	/** @DRM_VUALINK_OP_COPY: copy len bytes from src to dst, which may not overlap */
	DRM_VUALINK_OP_COPY = 0,
	/** @DRM_VUALINK_OP_FILL: write the 32-bit value to len bytes at dst, multiples of 4 */
	DRM_VUALINK_OP_FILL = 1,
	/**
	 * @DRM_VUALINK_OP_ATOMIC_ADD: add value to the 64-bit word at dst, atomically for the whole
	 * pod, and write what it was before to src unless that is zero
	 */
	DRM_VUALINK_OP_ATOMIC_ADD = 2,
	/**
	 * @DRM_VUALINK_OP_WAIT: wait until the 64-bit word at dst is at least value, for timeout_ms
	 * at most; then the fence gets %-ETIME. The engine does nothing else meanwhile
	 */
	DRM_VUALINK_OP_WAIT = 3,
	/** @DRM_VUALINK_OP_STORE: write the 64-bit value to dst */
	DRM_VUALINK_OP_STORE = 4,
};

/**
 * struct drm_vualink_cmd - a command of the copy engine
 */
struct drm_vualink_cmd {
	/** @op: an &enum drm_vualink_op */
	__u32 op;
	/** @timeout_ms: longest wait */
	__u32 timeout_ms;
	/** @dst: GPU virtual address */
	__u64 dst;
	/** @src: GPU virtual address */
	__u64 src;
	/** @len: bytes */
	__u64 len;
	/** @value: operand */
	__u64 value;
};

/**
 * struct drm_vualink_sync - a syncobj to wait for or to signal
 */
struct drm_vualink_sync {
	/** @handle: the syncobj */
	__u32 handle;
	/** @pad: must be zero */
	__u32 pad;
	/** @point: point of a timeline syncobj; zero for a binary one */
	__u64 point;
};

/**
 * struct drm_vualink_array - an array in user memory
 */
struct drm_vualink_array {
	/** @ptr: where it is */
	__u64 ptr;
	/** @count: number of elements */
	__u32 count;
	/** @stride: bytes from one to the next, at least the first size that the structure had */
	__u32 stride;
};

/**
 * struct drm_vualink_exec - argument of %DRM_IOCTL_VUALINK_EXEC
 *
 * Queues a job. Jobs of one file start in the order of their submission. All
 * that is mapped in the VM when the job is submitted is in its place until it is
 * done; what is mapped later may be gone when the job gets there, which faults.
 *
 * The fence of the job signals in bounded time after those that it waits for, if
 * need be with %-ETIMEDOUT. A reset ends jobs that the accelerator has, with
 * %-ECANCELED. Closing the file ends the jobs that are not done, with
 * %-ECANCELED or %-ESRCH; unplug does with %-ENODEV.
 *
 * Errors beyond the common ones:
 *
 * %-EDQUOT
 *	The file has %DRM_VUALINK_PARAM_MAX_FILE_JOBS jobs. Wait for one, and
 *	try again.
 * %-EIO
 *	The accelerator is wedged; see &struct drm_vualink_vm_bind.
 * %-ENOSPC
 *	VRAM has no room for all that is mapped in the VM.
 * %-EBUSY
 *	What is mapped cannot be brought to VRAM now. Try again.
 */
struct drm_vualink_exec {
	/** @vm_id: in: where the addresses are */
	__u32 vm_id;
	/** @flags: must be zero */
	__u32 flags;
	/** @cmds: in: &struct drm_vualink_cmd, run one after another; at least one */
	struct drm_vualink_array cmds;
	/** @in_syncs: in: &struct drm_vualink_sync that the job waits for */
	struct drm_vualink_array in_syncs;
	/** @out_syncs: in: &struct drm_vualink_sync that it signals */
	struct drm_vualink_array out_syncs;
};

/**
 * enum drm_vualink_fault_reason - why an access failed
 */
enum drm_vualink_fault_reason {
	/** @DRM_VUALINK_FAULT_UNMAPPED: nothing is mapped there, or not any more */
	DRM_VUALINK_FAULT_UNMAPPED = 1,
	/** @DRM_VUALINK_FAULT_READ_ONLY: a write where reads only are allowed */
	DRM_VUALINK_FAULT_READ_ONLY = 2,
	/** @DRM_VUALINK_FAULT_LINK: the fabric does not reach the owner of the memory */
	DRM_VUALINK_FAULT_LINK = 3,
	/** @DRM_VUALINK_FAULT_REFUSED: the owner of the memory refused the access */
	DRM_VUALINK_FAULT_REFUSED = 4,
	/** @DRM_VUALINK_FAULT_INTERNAL: a mistake of the driver */
	DRM_VUALINK_FAULT_INTERNAL = 5,
};

/** define DRM_VUALINK_FAULT_WRITE - the access was a write */
#define DRM_VUALINK_FAULT_WRITE		(1 << 0)

/**
 * struct drm_vualink_fault - an access that failed
 */
struct drm_vualink_fault {
	/** @va: GPU virtual address */
	__u64 va;
	/** @time_ns: when, on CLOCK_MONOTONIC */
	__u64 time_ns;
	/** @vm_id: the VM */
	__u32 vm_id;
	/** @reason: an &enum drm_vualink_fault_reason */
	__u32 reason;
	/** @flags: DRM_VUALINK_FAULT_WRITE */
	__u32 flags;
	/** @pad: zero */
	__u32 pad;
};

/**
 * struct drm_vualink_get_faults - argument of %DRM_IOCTL_VUALINK_GET_FAULTS
 *
 * Reads and forgets the oldest faults of this file's jobs. If not all that there
 * is can be written, what was written counts; with %-EFAULT it is nothing, and
 * nothing is forgotten.
 */
struct drm_vualink_get_faults {
	/**
	 * @faults: in: room for &struct drm_vualink_fault; out, in its count:
	 * how many were written, or with a count of zero, how many there are
	 */
	struct drm_vualink_array faults;
	/**
	 * @lost: out: faults that were overwritten by later ones before they
	 * were read. Starts anew with each call that reads
	 */
	__u64 lost;
};

/**
 * DRM_IOCTL_VUALINK() - build a vualink ioctl number
 * @__access: access type: R, W or RW
 * @__id: one of the DRM_VUALINK_xxx numbers
 * @__type: suffix of the type being passed to the ioctl
 */
#define DRM_IOCTL_VUALINK(__access, __id, __type) \
	DRM_IO ## __access(DRM_COMMAND_BASE + DRM_VUALINK_ ## __id, \
			   struct drm_vualink_ ## __type)

enum {
	DRM_IOCTL_VUALINK_GET_PARAM =
		DRM_IOCTL_VUALINK(WR, GET_PARAM, get_param),
	DRM_IOCTL_VUALINK_BO_CREATE =
		DRM_IOCTL_VUALINK(WR, BO_CREATE, bo_create),
	DRM_IOCTL_VUALINK_BO_MMAP_OFFSET =
		DRM_IOCTL_VUALINK(WR, BO_MMAP_OFFSET, bo_mmap_offset),
	DRM_IOCTL_VUALINK_VM_CREATE =
		DRM_IOCTL_VUALINK(WR, VM_CREATE, vm_create),
	DRM_IOCTL_VUALINK_VM_DESTROY =
		DRM_IOCTL_VUALINK(W, VM_DESTROY, vm_destroy),
	DRM_IOCTL_VUALINK_VM_BIND =
		DRM_IOCTL_VUALINK(W, VM_BIND, vm_bind),
	DRM_IOCTL_VUALINK_EXEC =
		DRM_IOCTL_VUALINK(W, EXEC, exec),
	DRM_IOCTL_VUALINK_GET_FAULTS =
		DRM_IOCTL_VUALINK(WR, GET_FAULTS, get_faults),
};

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_VUALINK_DRM_H_ */
