/* SPDX-License-Identifier: MIT */
/*
 * UALink memory sharing: PRIME across the nodes of a pod.
 */

#ifndef _UAPI_DRM_UALINK_H_
#define _UAPI_DRM_UALINK_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: UALink ioctls
 *
 * Rules of this file:
 *
 * - All structures are naturally aligned, with named padding, and a multiple
 *   of eight bytes long. There are no unions and no pointers but __u64.
 * - Every flag that is not defined and every padding that is not zero is
 *   refused with %-EINVAL, and nothing has been changed then.
 * - Flags and query kinds are only ever added.
 *
 * Errors that all of the ioctls share:
 *
 * %-EOPNOTSUPP
 *	This device or this object cannot do it: no UALink, memory that is not
 *	in VRAM, an object that was itself imported. Trying again is pointless.
 *	A device without UALink says so whatever the arguments are.
 * %-ENOTCONN
 *	The device has UALink, but is not provisioned or not active now.
 * %-EINVAL
 *	Unknown flags, padding that is not zero, or a bad size.
 * %-ENOMEM
 *	Out of memory.
 * %-ENODEV
 *	The device is gone.
 */

/** define DRM_UALINK_HANDLE_SIZE - bytes in the handle of an export */
#define DRM_UALINK_HANDLE_SIZE		16

/** define DRM_UALINK_MAX_IDS - accelerator ids of a pod are 0 .. this - 1 */
#define DRM_UALINK_MAX_IDS		1024

/** define DRM_UALINK_EXPORT_READ_ONLY - importers may only read */
#define DRM_UALINK_EXPORT_READ_ONLY	(1 << 0)

/**
 * struct drm_gem_ualink_export - argument of %DRM_IOCTL_GEM_UALINK_EXPORT
 *
 * Makes a GEM object reachable by other accelerators of the vPod, and returns
 * the handle that names it there. The object is pinned until the export ends:
 * with the last reference to the object, with %DRM_IOCTL_GEM_UALINK_REVOKE, or
 * with a reset or removal of the device. To export the same object again
 * without flags and without a list returns the same handle, on any file, and
 * so does to export it again with the same flags and the same list.
 *
 * Who knows the handle, on an accelerator that is allowed, can import it:
 * keep it as you would keep a key.
 *
 * The bytes count against the cap of the file that exported the object first,
 * until the export ends or the file is closed.
 *
 * Errors beyond the common ones:
 *
 * %-ENOENT
 *	No such GEM object.
 * %-EINVAL
 *	Also: the object's size is no multiple of the granularity; the list is
 *	longer than %DRM_UALINK_MAX_IDS or has an id that is no accelerator's.
 * %-EFAULT
 *	The list cannot be read.
 * %-EEXIST
 *	The object is already exported with other flags or another list.
 * %-ENOSPC
 *	The NPA segment of the accelerator is full, or its VRAM is, or what the
 *	caller's cgroup may have of that (dmem). What peers that do not answer may
 *	still hold of the segment counts as in use.
 * %-EDQUOT
 *	The cap on exported bytes, of the file or of the accelerator, is reached.
 * %-EBUSY
 *	A reset is in progress or needed, or an earlier export of the object is
 *	still being taken down. Try again.
 * %-EINTR
 *	Interrupted by a signal while waiting for the object to be in its place.
 * %-EIO
 *	The device could not be made to take up the new translations. It is
 *	wedged until it is reset.
 */
struct drm_gem_ualink_export {
	/** @gem_handle: in: the object */
	__u32 gem_handle;
	/** @flags: in: DRM_UALINK_EXPORT_* */
	__u32 flags;
	/**
	 * @allow_ptr: in: array of __u32 accelerator ids that may import; who
	 * is not among them sees no export. 0 for all of the vPod.
	 */
	__u64 allow_ptr;
	/**
	 * @allow_count: in: number of ids, at most %DRM_UALINK_MAX_IDS; 0 if
	 * and only if @allow_ptr is
	 */
	__u32 allow_count;
	/** @pad: must be zero */
	__u32 pad;
	/** @handle: out: the handle; opaque, never used again for anything else */
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	/** @size: out: bytes that an importer will see */
	__u64 size;
	/** @granularity: out: the multiple that sizes must be of */
	__u64 granularity;
};

/** define DRM_UALINK_IMPORT_CLOEXEC - the returned file descriptor is closed on exec() */
#define DRM_UALINK_IMPORT_CLOEXEC	(1 << 0)
/**
 * define DRM_UALINK_IMPORT_READ_ONLY - to read is enough
 *
 * Needed for an export that is read-only.
 */
#define DRM_UALINK_IMPORT_READ_ONLY	(1 << 1)

/** define DRM_UALINK_ACCESS_READ - the memory can be read */
#define DRM_UALINK_ACCESS_READ		(1 << 0)
/** define DRM_UALINK_ACCESS_WRITE - the memory can be written */
#define DRM_UALINK_ACCESS_WRITE		(1 << 1)

/**
 * struct drm_gem_ualink_import - argument of %DRM_IOCTL_GEM_UALINK_IMPORT
 *
 * Returns a dma-buf for the remote memory. All imports of a handle on a device
 * yield the same dma-buf while one of them is in use; only the first asks the
 * exporter. The dma-buf becomes a GEM handle of this device with
 * %DRM_IOCTL_PRIME_FD_TO_HANDLE. It cannot be mapped by the CPU. On another
 * device of this host it becomes a GEM handle only if that device has imported
 * the same handle as well.
 *
 * To import what the same device, or another one of this host, exported works
 * in the same way.
 *
 * The call waits for the exporter until @timeout_ns. That is a point in time
 * and no duration, so that a call which signals interrupt does not wait longer
 * for being restarted. What is waited for by default begins anew with each
 * restart: who takes signals often should say a time. One that has passed is
 * enough for an import that the device has already; else the exporter is asked,
 * but its answer is hardly waited for.
 *
 * When the exporter takes the memory back, or is lost, the object is dead from
 * then on: what names it fails with %-ENODEV, accesses of running jobs fault,
 * and each file that imported it gets one &struct drm_ualink_event.
 *
 * Errors beyond the common ones:
 *
 * %-ENOENT
 *	No such export: it never existed, was freed, or is not for this
 *	accelerator. These are not told apart.
 * %-EXDEV
 *	The handle names an accelerator outside of this vPod.
 * %-EACCES
 *	The export is read-only and %DRM_UALINK_IMPORT_READ_ONLY is not set.
 * %-ENODEV
 *	Also: the exporter is down, or the import has just died.
 * %-EINVAL
 *	Also: @timeout_ns is negative.
 * %-ETIMEDOUT
 *	No answer in time. The request is abandoned; trying again is fine.
 * %-EINTR
 *	Interrupted by a signal while waiting (as for a time-out).
 * %-EBUSY
 *	A reset is in progress, or an earlier import was still being released at
 *	@timeout_ns. Try again.
 * %-EMFILE
 *	No free file descriptor.
 * %-ENOMEM
 *	Also: the file's queue is full of events that were not read.
 */
struct drm_gem_ualink_import {
	/** @handle: in: handle of the export */
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	/**
	 * @timeout_ns: in: when to stop waiting for the exporter, in nanoseconds
	 * of CLOCK_MONOTONIC; 0 for the device's default, which is a duration
	 */
	__s64 timeout_ns;
	/**
	 * @user_data: in: given back when the import dies; the last import of a
	 * handle on a file sets it
	 */
	__u64 user_data;
	/** @flags: in: DRM_UALINK_IMPORT_* */
	__u32 flags;
	/** @fd: out: dma-buf */
	__s32 fd;
	/** @size: out: bytes */
	__u64 size;
	/** @exporter_id: out: accelerator whose memory it is */
	__u32 exporter_id;
	/** @access: out: DRM_UALINK_ACCESS_*: what all imports of it asked for */
	__u32 access;
};

/**
 * struct drm_gem_ualink_revoke - argument of %DRM_IOCTL_GEM_UALINK_REVOKE
 *
 * Ends the export of an object that the caller keeps. Returns when no other
 * accelerator can reach the memory any more; signals do not interrupt that wait,
 * which is bounded. A later export of the object has a new handle. Every file
 * that has a handle to the object can do this.
 *
 * Errors beyond the common ones:
 *
 * %-ENOENT
 *	No such GEM object, or it is not exported.
 * %-EINTR
 *	Interrupted by a signal before anything was done, while another thread
 *	was exporting the object. (Who is killed while waiting does not see it:
 *	the export ends all the same.)
 * %-EIO
 *	The device could not be made to give up its translations. The memory
 *	stays pinned, and the device is wedged until it is reset.
 */
struct drm_gem_ualink_revoke {
	/** @gem_handle: in: the object */
	__u32 gem_handle;
	/** @flags: must be zero */
	__u32 flags;
};

/**
 * enum drm_ualink_query_kind - what %DRM_IOCTL_GEM_UALINK_QUERY answers
 *
 * A query allocates nothing that outlives it, but for the file's next event,
 * and sends no message.
 */
enum drm_ualink_query_kind {
	/**
	 * @DRM_UALINK_QUERY_DEVICE: one &struct drm_ualink_device_info. Works
	 * on every device, also on one without UALink: all zeros then
	 */
	DRM_UALINK_QUERY_DEVICE = 0,
	/**
	 * @DRM_UALINK_QUERY_PEERS: a &struct drm_ualink_peer_info for each
	 * other member of the vPod
	 */
	DRM_UALINK_QUERY_PEERS = 1,
	/**
	 * @DRM_UALINK_QUERY_EXPORTS: a &struct drm_ualink_export_info for each
	 * exported object that this file has a GEM handle to
	 */
	DRM_UALINK_QUERY_EXPORTS = 2,
	/**
	 * @DRM_UALINK_QUERY_IMPORTS: a &struct drm_ualink_import_info for each
	 * import of this file. First come those that died, in the order of
	 * their deaths: they stay listed until the file is closed, at least the
	 * last 1024 of them. Then come the others, which stay listed while
	 * anybody uses the memory. One that dies during the query may be left
	 * out; then its event is still to be read
	 */
	DRM_UALINK_QUERY_IMPORTS = 3,
	/**
	 * @DRM_UALINK_QUERY_IMPORTERS: a __u32 id for each accelerator that has
	 * imported the object whose GEM handle is @arg
	 */
	DRM_UALINK_QUERY_IMPORTERS = 4,
};

/**
 * struct drm_gem_ualink_query - argument of %DRM_IOCTL_GEM_UALINK_QUERY
 *
 * With @count 0, sets @count and @stride to what there is. Else fills at most
 * @count elements of @stride bytes each: what the kernel does not know of an
 * element is set to zero, what the caller has no room for is left out. @count
 * is set to the number that there is, which may be more than was filled.
 *
 * Errors beyond the common ones, of which %-ENOTCONN does not occur:
 *
 * %-ENOENT
 *	No such GEM object, or it is not exported
 *	(%DRM_UALINK_QUERY_IMPORTERS).
 * %-EFAULT
 *	The array cannot be written.
 */
struct drm_gem_ualink_query {
	/** @kind: in: an &enum drm_ualink_query_kind */
	__u32 kind;
	/** @flags: must be zero */
	__u32 flags;
	/** @data_ptr: in: where to write the array */
	__u64 data_ptr;
	/** @count: in: elements that fit; out: elements that there are */
	__u32 count;
	/**
	 * @stride: in: bytes from one element to the next, a multiple of 4 and
	 * at most 4096; out, with @count 0 in: what the kernel knows
	 */
	__u32 stride;
	/** @arg: in: GEM handle for %DRM_UALINK_QUERY_IMPORTERS, else zero */
	__u32 arg;
	/** @pad: must be zero */
	__u32 pad;
};

/** define DRM_UALINK_DEVICE_SUPPORTED - the hardware has UALink */
#define DRM_UALINK_DEVICE_SUPPORTED	(1 << 0)
/** define DRM_UALINK_DEVICE_PROVISIONED - it is a member of a vPod */
#define DRM_UALINK_DEVICE_PROVISIONED	(1 << 1)
/** define DRM_UALINK_DEVICE_ACTIVE - it can export and import now */
#define DRM_UALINK_DEVICE_ACTIVE	(1 << 2)
/** define DRM_UALINK_DEVICE_WEDGED - a flush failed; it needs a reset */
#define DRM_UALINK_DEVICE_WEDGED	(1 << 3)

/**
 * struct drm_ualink_device_info - the device, its limits and its counters
 */
struct drm_ualink_device_info {
	/** @flags: DRM_UALINK_DEVICE_* */
	__u32 flags;
	/** @id: own accelerator id */
	__u32 id;
	/** @vpod_uuid: the vPod; all zeros when not provisioned */
	__u8 vpod_uuid[16];
	/** @granularity: sizes of exports are multiples of this many bytes */
	__u64 granularity;
	/** @segment_size: bytes of the accelerator's NPA segment */
	__u64 segment_size;
	/** @npa_used: bytes of it that exports use */
	__u64 npa_used;
	/** @npa_largest_free: largest export that would fit */
	__u64 npa_largest_free;
	/** @npa_quarantined: bytes of it that wait until no peer can hold them */
	__u64 npa_quarantined;
	/** @max_export_bytes: cap of the accelerator, as set by its administrator */
	__u64 max_export_bytes;
	/** @max_file_export_bytes: cap of each file, which grows with that of the accelerator */
	__u64 max_file_export_bytes;
	/** @exported_bytes: bytes exported now */
	__u64 exported_bytes;
	/** @exports: live exports */
	__u64 exports;
	/** @grants: importers of them, summed up */
	__u64 grants;
	/** @imports: live imports */
	__u64 imports;
	/** @imports_died: imports that ended by the exporter's doing or loss, since activation */
	__u64 imports_died;
	/** @msgs_sent: messages sent since activation */
	__u64 msgs_sent;
	/** @msgs_received: messages received since activation */
	__u64 msgs_received;
	/** @bad_msgs: received messages that were refused as malformed */
	__u64 bad_msgs;
	/**
	 * @refused: exports and imports that users or peers did not get: for a limit,
	 * for want of a right or of memory, or because the exporter is not there
	 */
	__u64 refused;
};

/**
 * enum drm_ualink_peer_state - connection to another accelerator
 */
enum drm_ualink_peer_state {
	/** @DRM_UALINK_PEER_DOWN: no session */
	DRM_UALINK_PEER_DOWN = 0,
	/** @DRM_UALINK_PEER_GREETING: a session is being made */
	DRM_UALINK_PEER_GREETING = 1,
	/** @DRM_UALINK_PEER_UP: there is a session */
	DRM_UALINK_PEER_UP = 2,
	/**
	 * @DRM_UALINK_PEER_SUSPECT: there is a session, but the peer has not
	 * answered in time
	 */
	DRM_UALINK_PEER_SUSPECT = 3,
	/**
	 * @DRM_UALINK_PEER_INCOMPATIBLE: the peer speaks another version or has
	 * another geometry
	 */
	DRM_UALINK_PEER_INCOMPATIBLE = 4,
};

/** define DRM_UALINK_PEER_HARDWARE - the fabric has a route to it */
#define DRM_UALINK_PEER_HARDWARE	(1 << 0)
/** define DRM_UALINK_PEER_PERMITTED - it is a member of this vPod */
#define DRM_UALINK_PEER_PERMITTED	(1 << 1)
/** define DRM_UALINK_PEER_REACHABLE - it answered a round trip in the present session */
#define DRM_UALINK_PEER_REACHABLE	(1 << 2)

/**
 * struct drm_ualink_peer_info - another accelerator of the vPod
 */
struct drm_ualink_peer_info {
	/** @id: accelerator id */
	__u32 id;
	/** @state: an &enum drm_ualink_peer_state */
	__u32 state;
	/** @flags: DRM_UALINK_PEER_* */
	__u32 flags;
	/** @pad: zero */
	__u32 pad;
	/** @imports: live imports from it */
	__u64 imports;
	/** @grants: exports of this device that it has imported */
	__u64 grants;
	/** @sessions: sessions made with it since activation */
	__u64 sessions;
	/** @bad_msgs: malformed messages received from it */
	__u64 bad_msgs;
};

/**
 * struct drm_ualink_export_info - an exported object
 */
struct drm_ualink_export_info {
	/** @handle: handle of the export */
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	/** @gem_handle: the object */
	__u32 gem_handle;
	/** @flags: DRM_UALINK_EXPORT_* */
	__u32 flags;
	/** @size: bytes */
	__u64 size;
	/** @importers: accelerators that have it imported */
	__u32 importers;
	/** @pad: zero */
	__u32 pad;
};

/**
 * enum drm_ualink_death - why an import died
 */
enum drm_ualink_death {
	/** @DRM_UALINK_ALIVE: it did not */
	DRM_UALINK_ALIVE = 0,
	/** @DRM_UALINK_DEATH_REVOKED: the exporter freed or revoked the memory */
	DRM_UALINK_DEATH_REVOKED = 1,
	/**
	 * @DRM_UALINK_DEATH_PEER_LOST: the exporter stopped answering, or the
	 * link went down
	 */
	DRM_UALINK_DEATH_PEER_LOST = 2,
	/** @DRM_UALINK_DEATH_PEER_RESET: the exporter started a new session */
	DRM_UALINK_DEATH_PEER_RESET = 3,
	/** @DRM_UALINK_DEATH_PEER_LEFT: the exporter said goodbye or left the vPod */
	DRM_UALINK_DEATH_PEER_LEFT = 4,
	/**
	 * @DRM_UALINK_DEATH_LOCAL_RESET: this device was reset, suspended or
	 * removed
	 */
	DRM_UALINK_DEATH_LOCAL_RESET = 5,
};

/**
 * struct drm_ualink_import_info - an import of the calling file
 */
struct drm_ualink_import_info {
	/** @handle: handle of the export */
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	/** @user_data: as given to the last import of the handle on this file */
	__u64 user_data;
	/** @size: bytes */
	__u64 size;
	/** @exporter_id: accelerator whose memory it is */
	__u32 exporter_id;
	/** @access: DRM_UALINK_ACCESS_* */
	__u32 access;
	/** @death: an &enum drm_ualink_death */
	__u32 death;
	/** @pad: zero */
	__u32 pad;
};

/** define DRM_EVENT_UALINK_IMPORTS_DIED - type of a &struct drm_ualink_event */
#define DRM_EVENT_UALINK_IMPORTS_DIED	0x04

/**
 * struct drm_ualink_event - imports of this file died
 *
 * Normally one such event waits in a file's queue at most: deaths that come
 * before it is read are added to it. %DRM_UALINK_QUERY_IMPORTS then tells which
 * they are.
 */
struct drm_ualink_event {
	/** @base: type %DRM_EVENT_UALINK_IMPORTS_DIED */
	struct drm_event base;
	/** @deaths: number of imports of this file that have died since it was opened */
	__u64 deaths;
};

/**
 * DRM_IOCTL_GEM_UALINK_EXPORT - Make a GEM object reachable by other accelerators.
 *
 * The argument is a &struct drm_gem_ualink_export.
 */
#define DRM_IOCTL_GEM_UALINK_EXPORT	DRM_IOWR(0xD3, struct drm_gem_ualink_export)
/**
 * DRM_IOCTL_GEM_UALINK_IMPORT - Get a dma-buf for memory of another accelerator.
 *
 * The argument is a &struct drm_gem_ualink_import.
 */
#define DRM_IOCTL_GEM_UALINK_IMPORT	DRM_IOWR(0xD4, struct drm_gem_ualink_import)
/**
 * DRM_IOCTL_GEM_UALINK_REVOKE - End an export.
 *
 * The argument is a &struct drm_gem_ualink_revoke.
 */
#define DRM_IOCTL_GEM_UALINK_REVOKE	DRM_IOW(0xD5, struct drm_gem_ualink_revoke)
/**
 * DRM_IOCTL_GEM_UALINK_QUERY - Ask about the device, peers, exports and imports.
 *
 * The argument is a &struct drm_gem_ualink_query.
 */
#define DRM_IOCTL_GEM_UALINK_QUERY	DRM_IOWR(0xD6, struct drm_gem_ualink_query)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_DRM_UALINK_H_ */
