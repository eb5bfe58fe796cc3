/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * UALink memory sharing: the interface between the subsystem and its clients,
 * which are the drivers of accelerators and the helpers of their subsystem.
 */

#ifndef _LINUX_UALINK_H_
#define _LINUX_UALINK_H_

#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/types.h>
#include <linux/uuid.h>

struct dentry;
struct device;
struct seq_file;
struct ualink_device;
struct ualink_export;
struct ualink_import;

/** define UALINK_MAX_IDS - accelerator ids of a pod are 0 .. this - 1 */
#define UALINK_MAX_IDS		1024

/** define UALINK_MSG_SIZE - bytes in a fabric message */
#define UALINK_MSG_SIZE		64

/**
 * struct ualink_msg - a fabric message, as the transport carries it
 * @words: content; the transport looks at none of it
 */
struct ualink_msg {
	__le64 words[UALINK_MSG_SIZE / sizeof(__le64)];
};

/**
 * struct ualink_handle - name of an export in the whole vPod
 *
 * Both halves come from the kernel's CSPRNG but for the low ten bits of @tag.
 * To know a handle is to be allowed to ask for the memory, so that handles are
 * neither logged nor traced.
 */
struct ualink_handle {
	/** @tag: exporter's id in bits 9..0, then 54 random bits; names the export in messages */
	u64 tag;
	/** @secret: 64 random bits */
	u64 secret;
};

/* Accelerator whose memory the handle names. */
static inline u32 ualink_handle_id(const struct ualink_handle *handle)
{
	return handle->tag & (UALINK_MAX_IDS - 1);
}

void ualink_handle_to_bytes(const struct ualink_handle *handle, u8 bytes[16]);
void ualink_handle_from_bytes(struct ualink_handle *handle, const u8 bytes[16]);

/**
 * enum ualink_peer_state - connection of a local accelerator to a remote one
 * @UALINK_PEER_DOWN: no session
 * @UALINK_PEER_GREETING: a session is being made
 * @UALINK_PEER_UP: there is a session
 * @UALINK_PEER_SUSPECT: there is a session, but an answer is overdue
 * @UALINK_PEER_INCOMPATIBLE: no session can be made: other version, geometry or vPod
 */
enum ualink_peer_state {
	UALINK_PEER_DOWN,
	UALINK_PEER_GREETING,
	UALINK_PEER_UP,
	UALINK_PEER_SUSPECT,
	UALINK_PEER_INCOMPATIBLE,
};

/**
 * enum ualink_death - why an import or a session ended
 * @UALINK_ALIVE: it did not
 * @UALINK_DEATH_REVOKED: the exporter freed or revoked the memory
 * @UALINK_DEATH_PEER_LOST: the peer stopped answering, or the link to it went down
 * @UALINK_DEATH_PEER_RESET: the peer started a new session
 * @UALINK_DEATH_PEER_LEFT: the peer said goodbye, or is no member of the vPod any more
 * @UALINK_DEATH_LOCAL_RESET: the local accelerator was reset, suspended or removed
 */
enum ualink_death {
	UALINK_ALIVE,
	UALINK_DEATH_REVOKED,
	UALINK_DEATH_PEER_LOST,
	UALINK_DEATH_PEER_RESET,
	UALINK_DEATH_PEER_LEFT,
	UALINK_DEATH_LOCAL_RESET,
};

/** define UALINK_ACCESS_READ - importers may read */
#define UALINK_ACCESS_READ	BIT(0)
/** define UALINK_ACCESS_WRITE - importers may write */
#define UALINK_ACCESS_WRITE	BIT(1)

/**
 * struct ualink_ops - what a client does for the subsystem
 *
 * All are mandatory. "Process context" below means: no lock of the subsystem is
 * held, sleeping for the accelerator's own hardware is fine, waiting for
 * another node is not. Calls for different peers, exports and imports may come
 * at the same time, as may npa_flush() and import_flush(), several of each.
 */
struct ualink_ops {
	/**
	 * @send: puts @msg into the ring to accelerator @dst
	 *
	 * Called with a spinlock held, never for the accelerator's own id. While
	 * the device is not active, only in answer to what @recv gave.
	 *
	 * Return: 0; %-ENOSPC when the ring is full, ualink_notify_tx() must
	 * follow once it is not; %-ENOLINK when the fabric does not reach @dst.
	 */
	int (*send)(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg);

	/**
	 * @recv: takes the next message out of the ring from accelerator @src
	 *
	 * Called from a work item of that peer, one at a time for each @src.
	 * The ring a message lies in is the proof of who sent it.
	 *
	 * Return: 0; %-EAGAIN when the ring is empty, ualink_notify_rx() must
	 * follow once it is not.
	 */
	int (*recv)(struct ualink_device *udev, u32 src, struct ualink_msg *msg);

	/**
	 * @source_gate: lets the link MMU serve accelerator @src, or not
	 *
	 * Process context; may not allocate. When it has closed the gate it
	 * returns only after the last access of @src has completed. Before it
	 * opens it again, nothing may be under way in the fabric any more that
	 * @src sent while it was open before: @src may have been reset since. The
	 * gate is closed for everyone after a reset.
	 *
	 * Return: 0, or %-EIO: the accelerator is then marked wedged.
	 */
	int (*source_gate)(struct ualink_device *udev, u32 src, bool open);

	/**
	 * @npa_map: makes an export's memory visible in the NPA segment
	 *
	 * Process context. @offset and @size are multiples of the page size.
	 * The pages behind @priv are pinned and idle.
	 *
	 * Return: 0, or an errno that goes to the user, and then nothing is
	 * mapped: %-ENOMEM, or %-ENOSPC when there is no room for page tables.
	 */
	int (*npa_map)(struct ualink_device *udev, u64 offset, u64 size,
		       bool read_only, void *priv);

	/**
	 * @npa_unmap: clears the entries of a range that npa_map() filled
	 *
	 * Process context; may not allocate and cannot fail.
	 */
	void (*npa_unmap)(struct ualink_device *udev, u64 offset, u64 size);

	/**
	 * @npa_flush: empties the link TLB for a range of the segment
	 *
	 * Process context; may not allocate. Returns only after every access
	 * that was translated before has completed.
	 *
	 * Return: 0, or %-EIO: the accelerator is then marked wedged, and the
	 * memory is not released before the next reset.
	 */
	int (*npa_flush)(struct ualink_device *udev, u64 offset, u64 size);

	/**
	 * @export_release: nobody can reach the memory any more
	 *
	 * Process context. The last call for an export: unpin it now.
	 */
	void (*export_release)(struct ualink_device *udev, void *priv);

	/**
	 * @import_tryget: takes a reference to what is bound to an import
	 *
	 * Called with a spinlock held.
	 *
	 * Return: false when the last reference is already gone.
	 */
	bool (*import_tryget)(void *priv);

	/** @import_put: gives that reference back. Process context. */
	void (*import_put)(void *priv);

	/**
	 * @import_invalidate: takes an import out of the page tables
	 *
	 * Process context, from a work item that may allocate and take dma_resv
	 * locks. From the first call on, new mappings and submissions must be
	 * refused. With @force false, the entries stay if work that uses them
	 * is running; with @force true they go at once.
	 *
	 * Return: 0 when no page table holds an entry of the import any more;
	 * %-EBUSY when work is still running (only with @force false), what
	 * holds an entry is just being freed, or an update of before the first
	 * call may still bring one back; %-ENOMEM when it could not be done now.
	 * It is then called again.
	 */
	int (*import_invalidate)(struct ualink_device *udev, void *priv, bool force);

	/**
	 * @import_flush: empties the TLBs that may hold entries of imports
	 *
	 * Process context; may not allocate. One call serves all imports that
	 * were invalidated before it. Returns only after every access that was
	 * translated before has completed.
	 *
	 * Return: 0, or %-EIO: the accelerator is then marked wedged, it is
	 * called again, and the exporter is not answered before it succeeds.
	 * When the device is being deactivated there is no other try.
	 */
	int (*import_flush)(struct ualink_device *udev);

	/**
	 * @import_dead: an import has died; note it for those who use it
	 *
	 * Process context, once for each import that dies while bound, after
	 * @import_invalidate. TLBs may still hold entries of it.
	 */
	void (*import_dead)(struct ualink_device *udev, void *priv, enum ualink_death why);

	/**
	 * @imports_died: tell those who use them of the imports that have died
	 *
	 * Process context, after each @import_flush that succeeded or will not be
	 * tried again, with no other in between: of those that were dead before it.
	 * What costs as much for one as for many, to wake somebody, belongs here.
	 */
	void (*imports_died)(struct ualink_device *udev);
};

/**
 * struct ualink_device_params - what the subsystem must know of an accelerator
 */
struct ualink_device_params {
	/** @ops: the client */
	const struct ualink_ops *ops;
	/** @dev: the accelerator; gets a folder "ualink" in sysfs */
	struct device *dev;
	/** @priv: for ualink_device_priv() */
	void *priv;
	/** @id: accelerator id, given by the pod's management */
	u32 id;
	/** @vpod: the virtual pod that the accelerator is a member of */
	uuid_t vpod;
	/** @members: bitmap of the %UALINK_MAX_IDS ids in the vPod; copied */
	const unsigned long *members;
	/** @block_sizes: sizes that an entry of the NPA tables can map, or-ed; lowest: page size */
	u64 block_sizes;
	/** @segment_shift: log2 of the NPA segment's size in bytes, at most 53 */
	u8 segment_shift;
	/** @flush_on_map: the link TLB caches entries that were invalid */
	bool flush_on_map;
};

/**
 * enum ualink_tunable - times and limits that an administrator can set
 * @UALINK_HEARTBEAT_MS: time between two PINGs to a peer that is silent
 * @UALINK_REQUEST_MS: longest wait for the answer to a request
 * @UALINK_REVOKE_GRACE_MS: time that running work gets when an import is revoked
 * @UALINK_REVOKE_DEADLINE_MS: time after which a revoke goes on without answers
 * @UALINK_PEER_TIMEOUT_MS: silence after which a peer is down
 * @UALINK_CACHE_BYTES: most bytes of unused imports that are kept
 * @UALINK_CACHE_MS: longest time that an unused import is kept; 0 for not at all
 * @UALINK_MAX_EXPORT_BYTES: cap on what the accelerator exports
 * @UALINK_TUNABLES: number of them
 */
enum ualink_tunable {
	UALINK_HEARTBEAT_MS,
	UALINK_REQUEST_MS,
	UALINK_REVOKE_GRACE_MS,
	UALINK_REVOKE_DEADLINE_MS,
	UALINK_PEER_TIMEOUT_MS,
	UALINK_CACHE_BYTES,
	UALINK_CACHE_MS,
	UALINK_MAX_EXPORT_BYTES,
	UALINK_TUNABLES,
};

/**
 * struct ualink_device_info - state of an accelerator, for users
 */
struct ualink_device_info {
	/** @vpod: the virtual pod */
	uuid_t vpod;
	/** @id: accelerator id */
	u32 id;
	/** @active: exports and imports are possible */
	bool active;
	/** @wedged: a flush failed; a reset is needed */
	bool wedged;
	/** @page_size: granularity of exports, bytes */
	u64 page_size;
	/** @segment_size: bytes of the NPA segment */
	u64 segment_size;
	/** @npa_used: bytes of it in use */
	u64 npa_used;
	/** @npa_quarantined: bytes of it that some peer may still hold */
	u64 npa_quarantined;
	/** @npa_largest_free: size of the largest hole in it */
	u64 npa_largest_free;
	/** @max_export_bytes: cap on @exported_bytes */
	u64 max_export_bytes;
	/** @exported_bytes: bytes in live exports */
	u64 exported_bytes;
	/** @exports: live exports */
	u64 exports;
	/** @grants: importers of them, summed up */
	u64 grants;
	/** @imports: imports that are alive */
	u64 imports;
	/** @imports_died: imports that died, since activation */
	u64 imports_died;
	/** @msgs_sent: messages, since activation */
	u64 msgs_sent;
	/** @msgs_received: messages, since activation */
	u64 msgs_received;
	/** @bad_msgs: malformed ones among them */
	u64 bad_msgs;
	/** @refused: exports and imports that were refused, to users and to peers */
	u64 refused;
};

/**
 * struct ualink_peer_info - state of the connection to a peer, for users
 */
struct ualink_peer_info {
	/** @id: accelerator id of the peer */
	u32 id;
	/** @state: state of the connection */
	enum ualink_peer_state state;
	/** @confirmed: a round trip was completed in the present session */
	bool confirmed;
	/** @imports: imports from the peer that are alive */
	u64 imports;
	/** @grants: exports that the peer has imported */
	u64 grants;
	/** @sessions: sessions made, since activation */
	u64 sessions;
	/** @bad_msgs: malformed messages from the peer */
	u64 bad_msgs;
};

/* The accelerator */
struct ualink_device *ualink_device_create(const struct ualink_device_params *params);
void ualink_device_put(struct ualink_device *udev);
int ualink_device_activate(struct ualink_device *udev);
void ualink_device_deactivate(struct ualink_device *udev);
void ualink_device_unregister(struct ualink_device *udev);
void *ualink_device_priv(struct ualink_device *udev);
u32 ualink_device_id(struct ualink_device *udev);
bool ualink_device_active(struct ualink_device *udev);
void ualink_device_get_info(struct ualink_device *udev, struct ualink_device_info *info);
void ualink_device_count_refused(struct ualink_device *udev);
u64 ualink_device_tunable(struct ualink_device *udev, enum ualink_tunable which);
int ualink_device_set_tunable(struct ualink_device *udev, enum ualink_tunable which, u64 value);
void ualink_device_debugfs_init(struct ualink_device *udev, struct dentry *dir);

/* Interrupts; callable from any context */
void ualink_notify_rx(struct ualink_device *udev, u32 src);
void ualink_notify_tx(struct ualink_device *udev, u32 dst);
void ualink_notify_link_down(struct ualink_device *udev, u32 id);
void ualink_notify_fault(struct ualink_device *udev, u32 src);

/* Peers */
bool ualink_device_is_member(struct ualink_device *udev, u32 id);
void ualink_peer_get_info(struct ualink_device *udev, u32 id, struct ualink_peer_info *info);

/**
 * struct ualink_export_params - what is to be exported
 */
struct ualink_export_params {
	/** @size: bytes, a multiple of the page size */
	u64 size;
	/** @allow: bitmap of the %UALINK_MAX_IDS ids that may import, or NULL for all; copied */
	const unsigned long *allow;
	/** @priv: the memory, for &ualink_ops.npa_map and &ualink_ops.export_release */
	void *priv;
	/** @read_only: importers may not write */
	bool read_only;
};

/* Exports */
struct ualink_export *ualink_export_create(struct ualink_device *udev,
					   const struct ualink_export_params *params);
struct ualink_export *ualink_export_get(struct ualink_export *exp);
void ualink_export_put(struct ualink_export *exp);
void ualink_export_end(struct ualink_export *exp);
int ualink_export_wait(struct ualink_export *exp);
void ualink_export_handle(struct ualink_export *exp, struct ualink_handle *handle);
bool ualink_export_matches(struct ualink_export *exp, bool read_only, const unsigned long *allow);
bool ualink_export_live(struct ualink_export *exp);
bool ualink_export_read_only(struct ualink_export *exp);
u64 ualink_export_size(struct ualink_export *exp);
u32 ualink_export_importers(struct ualink_export *exp, u32 *ids, u32 count);

/* Imports */
struct ualink_import *ualink_import_get(struct ualink_device *udev,
					const struct ualink_handle *handle,
					u32 access, ktime_t deadline);
struct ualink_import *ualink_import_find(struct ualink_device *udev,
					 const struct ualink_handle *handle);
void ualink_import_put(struct ualink_import *imp);
int ualink_import_bind(struct ualink_import *imp, void *priv);
void ualink_import_unbind(struct ualink_import *imp);
void *ualink_import_tryget_bound(struct ualink_import *imp);
void ualink_import_handle(struct ualink_import *imp, struct ualink_handle *handle);
enum ualink_death ualink_import_death(struct ualink_import *imp);
u64 ualink_import_npa(struct ualink_import *imp);
u64 ualink_import_size(struct ualink_import *imp);
u32 ualink_import_exporter(struct ualink_import *imp);
u32 ualink_import_access(struct ualink_import *imp);

#endif /* _LINUX_UALINK_H_ */
