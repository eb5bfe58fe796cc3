/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_TYPES_H_
#define _UALINK_TYPES_H_

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/ratelimit_types.h>
#include <linux/rhashtable.h>
#include <linux/shrinker.h>
#include <linux/spinlock.h>
#include <linux/ualink.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "ualink_npa.h"
#include "ualink_refs.h"
#include "ualink_wire.h"

/**
 * DOC: Locking
 *
 * One spinlock for each accelerator, &ualink_device.lock, protects its protocol
 * state: exports, grants, imports, peers and the queues of what is to be sent.
 * It is held for a few list operations at a time, but when a session ends for a
 * few on each import of it; never while the client is called, but for
 * &ualink_ops.send and &ualink_ops.import_tryget, which do not sleep. Order::
 *
 *     dma_resv locks, ualink_device.flush_mutex
 *       ualink_device.lock
 *         ualink_npa.lock
 *         locks of the transport, taken in ualink_ops.send
 *
 * The locks of two accelerators are never held together.
 *
 * Everything that sleeps runs in one of three kinds of work. A peer's
 * &ualink_peer.rx_work receives; it and &ualink_peer.timer run on a queue that
 * may be flushed in memory reclaim, since they only send, acknowledge and
 * account. A peer's &ualink_peer.slow_work takes imports out of page tables and
 * moves the source gate, and &ualink_device.reap_work takes exports out of
 * the NPA tables; what they call may allocate and take dma_resv locks, so they
 * run on a queue of their own. None of them waits for another node.
 */

/* REVOKEs, and other requests, that may be without an answer at the same time, for each peer. */
#define UALINK_WINDOW		64
/*
 * Answers that may wait for room in the ring, for each peer; as many as a peer that
 * keeps to its windows can ask for.
 */
#define UALINK_REPLIES		(2 * UALINK_WINDOW)
/* Time after which a request is sent again. */
#define UALINK_RETRY_MS		100

/*
 * struct ualink_req - a request of ours, from when it is wanted until answered
 *
 * Lives in what it is about (an import, a grant, a peer), so that nothing has to
 * be allocated to send it. All members under &ualink_device.lock.
 */
struct ualink_req {
	/* In a queue of &ualink_peer, or empty */
	struct list_head link;
	/* Request id, in the session; 0 before the first sending */
	u64 id;
	/* Low half of jiffies at the first and at the last sending */
	u32 first_sent;
	u32 last_sent;
	/* Message type: IMPORT_REQ, RELEASE, REVOKE or PING; 0 when idle */
	u8 type;
};

/*
 * enum ualink_export_state
 * @UALINK_EXPORT_NEW: being mapped, no handle yet
 * @UALINK_EXPORT_ACTIVE: has a handle that can be imported
 * @UALINK_EXPORT_REVOKING: the handle is gone, importers have been told
 * @UALINK_EXPORT_UNMAPPING: all answered, or the deadline is over; leaving the NPA tables
 * @UALINK_EXPORT_QUARANTINED: the memory is released, but a peer may still hold the NPA range
 * @UALINK_EXPORT_WEDGED: the flush failed; range and memory stay until the next reset
 * @UALINK_EXPORT_DEAD: nothing is left but the structure
 */
enum ualink_export_state {
	UALINK_EXPORT_NEW,
	UALINK_EXPORT_ACTIVE,
	UALINK_EXPORT_REVOKING,
	UALINK_EXPORT_UNMAPPING,
	UALINK_EXPORT_QUARANTINED,
	UALINK_EXPORT_WEDGED,
	UALINK_EXPORT_DEAD,
};

/*
 * struct ualink_export - memory of ours that others may import
 */
struct ualink_export {
	/* In &ualink_device.exports by @handle.tag while ACTIVE; under lock */
	struct rhash_head node;
	/* Immutable once ACTIVE */
	struct ualink_handle handle;
	/* Immutable; holds a reference */
	struct ualink_device *udev;
	/* Immutable: the client's memory */
	void *priv;
	/* Immutable but for its place in &ualink_device.npa */
	struct drm_mm_node npa;
	/* In the list of its state in &ualink_device; under lock */
	struct list_head link;
	/* &ualink_grant.export_link; under lock */
	struct list_head grants;
	/* jiffies at which REVOKING ends; under lock */
	unsigned long deadline;
	/* Immutable: bitmap of the ids that may import, or NULL */
	unsigned long *allow;
	/* One for the core until DEAD, one for the maker, one for each ualink_export_get() */
	struct kref ref;
	/* To @udev */
	struct ualink_ref udev_ref;
	/* Length of @grants; under lock */
	u32 nr_grants;
	/* Immutable */
	bool read_only;
	/* An &enum ualink_export_state; under lock, set by ualink_export_set_state() only */
	u8 state;
};

/*
 * struct ualink_grant - the right of one peer to one export, in one session
 *
 * All members under &ualink_device.lock.
 */
struct ualink_grant {
	/* In &ualink_device.grants by (@exp, @peer) */
	struct rhash_head node;
	struct ualink_export *exp;
	struct ualink_peer *peer;
	/* In &ualink_export.grants */
	struct list_head export_link;
	/* In &ualink_peer.grants */
	struct list_head peer_link;
	/* The request id of the IMPORT_REQ that made it */
	u64 number;
	/* The REVOKE */
	struct ualink_req req;
};

/*
 * enum ualink_import_state
 * @UALINK_IMPORT_PENDING: the exporter has been asked
 * @UALINK_IMPORT_ACTIVE: granted and in use
 * @UALINK_IMPORT_IDLE: granted, not in use, kept for the next user
 * @UALINK_IMPORT_REVOKING: dying; may still be in page tables
 * @UALINK_IMPORT_RELEASING: given up; the exporter has not acknowledged it yet
 * @UALINK_IMPORT_DEAD: no page table and no TLB holds it, and the exporter knows
 */
enum ualink_import_state {
	UALINK_IMPORT_PENDING,
	UALINK_IMPORT_ACTIVE,
	UALINK_IMPORT_IDLE,
	UALINK_IMPORT_REVOKING,
	UALINK_IMPORT_RELEASING,
	UALINK_IMPORT_DEAD,
};

/*
 * struct ualink_import - memory of a peer
 *
 * What is needed to end it comes first, in one cache line: very many may die at once.
 */
struct ualink_import {
	/* In &ualink_peer.imports, .dying or .flushing; under lock */
	struct list_head peer_link;
	/* Immutable; holds a reference */
	struct ualink_device *udev;
	/* Immutable while not DEAD */
	struct ualink_peer *peer;
	/* What the client bound to it, or NULL; under lock */
	void *priv;
	/* jiffies when it became IDLE, or when grace ends while REVOKING; under lock */
	unsigned long when;
	/* Request id of the REVOKE to acknowledge, or 0; under lock */
	u64 revoke_request;
	/* Users: each ualink_import_get() but for its put; under lock */
	u32 users;
	/* UALINK_ACCESS_* that the exporter grants at most; immutable once ACTIVE */
	u8 granted;
	/* UALINK_ACCESS_* that has been asked for here; only grows; under lock */
	u8 access;
	/* An &enum ualink_import_state; under lock, set by ualink_import_set_state() only */
	u8 state;
	/* An &enum ualink_death; under lock, set once */
	u8 death;

	/* In &ualink_device.imports by @handle.tag until DEAD; under lock */
	struct rhlist_head node;
	/* Immutable */
	struct ualink_handle handle;
	/* The grant that the REVOKE named; under lock */
	u64 revoke_grant;
	/* Frees the structure at 0; the core holds one until DEAD, each user one */
	struct kref ref;
	/* Errno for those who wait while PENDING; under lock */
	int error;
	/* In &ualink_device.idle, oldest first, while IDLE; under lock */
	struct list_head idle_link;
	/* Immutable once ACTIVE */
	u64 npa;
	u64 size;
	/* Request id of the IMPORT_REQ that was granted; under lock */
	u64 grant;
	/* IMPORT_REQ while PENDING, RELEASE while RELEASING */
	struct ualink_req req;
	/* Completed when it is PENDING no more */
	struct completion answered;
	/* The table is walked under RCU */
	struct rcu_head rcu;
	/* To @udev */
	struct ualink_ref udev_ref;
};

/*
 * enum ualink_greeting - how far a greeting has come
 * @UALINK_GREETING_NONE: there is none
 * @UALINK_GREETING_HELLO: we sent HELLO and wait for HELLO_ACK
 * @UALINK_GREETING_CLEANING: the peer lives; what we hold of earlier sessions is being ended
 * @UALINK_GREETING_READY: we sent READY and wait for READY_ACK
 * @UALINK_GREETING_OPENING: the peer is ready and so are we; the gate is being opened
 */
enum ualink_greeting {
	UALINK_GREETING_NONE,
	UALINK_GREETING_HELLO,
	UALINK_GREETING_CLEANING,
	UALINK_GREETING_READY,
	UALINK_GREETING_OPENING,
};

/*
 * struct ualink_peer - a remote accelerator as one local accelerator sees it
 *
 * Made when it is first needed, and kept until the local accelerator is
 * unregistered. All members under &ualink_device.lock unless said otherwise.
 */
struct ualink_peer {
	/* Immutable */
	struct ualink_device *udev;
	u32 id;
	/* Index of our own challenge in a session: the lower id's comes first. Immutable. */
	u8 own_slot;
	/* An &enum ualink_peer_state, set by ualink_peer_set_state() only */
	u8 state;
	/* An &enum ualink_greeting, set by greeting_set() only */
	u8 greeting;
	/* The peer's READY of the pending session has come */
	bool peer_ready;
	/* We owe the peer a READY_ACK for the pending session */
	bool owe_ready_ack;
	/* The present session; zero when there is none */
	u64 session[2];
	/* The session that the greeting makes */
	u64 pending[2];
	/* Our outstanding challenge, or 0 */
	u64 challenge;
	/* Last request id used in the session */
	u64 last_request;
	/* Why the last session ended: an &enum ualink_death */
	u8 down_reason;

	/*
	 * Source gate: what it is (changed by slow_work only), what it should
	 * be, and whether grants end when it is closed
	 */
	bool gate_open;
	bool gate_wanted;
	bool drop_grants;
	/* The transport said that there is no route; the timer takes the peer down. Atomic. */
	bool link_lost;
	/* The timer runs at the pace of retries, not of heartbeats */
	bool timer_fast;

	/*
	 * Requests not sent yet, with a queue of their own for REVOKEs, so that no
	 * other answer that the peer owes us can keep those from it; and those sent
	 * but not answered, oldest first, with the numbers of both kinds
	 */
	struct list_head unsent;
	struct list_head unsent_revokes;
	struct list_head sent;
	u32 nr_sent;
	u32 nr_sent_revokes;
	/* Answers that found the ring full: a ring buffer of UALINK_REPLIES messages */
	struct ualink_msg *replies;
	u32 reply_head, reply_count;
	/* The ring was full; wait for ualink_notify_tx() */
	bool tx_blocked;

	/*
	 * Imports from it: those that are not REVOKING, those that still may be in
	 * page tables, and those that still may be in TLBs, or are just being ended
	 * by slow_work; and exports it holds
	 */
	struct list_head imports;
	struct list_head dying;
	struct list_head flushing;
	struct list_head grants;
	u32 nr_imports;
	u32 nr_dying;
	u32 nr_grants;

	/*
	 * jiffies: last message of the present session; beginning and last
	 * sending of the greeting (or birth of a challenge that no greeting of
	 * ours waits for), to which cleaning does not count; first READY; beginning of the session
	 */
	unsigned long last_heard;
	unsigned long greeting_start;
	unsigned long greeting_sent;
	unsigned long cleaning_since;
	unsigned long ready_since;
	unsigned long session_start;
	/* SUSPECT because of a REVOKE: only its acknowledgment ends that */
	bool suspect_revoke;
	struct ualink_req ping;

	/* A message that had to wait for the gate; rx_work's, once there is a session */
	struct ualink_msg stash;
	bool stashed;
	struct work_struct rx_work;
	struct delayed_work timer;
	struct delayed_work slow_work;

	/* Counters */
	u64 sessions;
	u64 bad_msgs;
	u64 naks;
	u64 ignored;
	u64 replies_lost;
	/* Its accesses that the link MMU refused, and how often the log says so. Without lock. */
	atomic64_t faults;
	struct ratelimit_state fault_limit;
	/* Smallest round trip seen, ns; 0 for none */
	u64 rtt_min_ns;
	/* Request that is being timed, 0 for none, and when it was sent */
	u64 rtt_request;
	u64 rtt_begin_ns;
};

/*
 * enum ualink_device_state
 * @UALINK_DEVICE_INACTIVE: nothing is exported or imported; who greets is told so
 * @UALINK_DEVICE_ACTIVATING: tables are being made clean
 * @UALINK_DEVICE_ACTIVE: works
 * @UALINK_DEVICE_STOPPING: all that is exported or imported is being ended
 * @UALINK_DEVICE_GONE: unregistered; the client is not called any more
 */
enum ualink_device_state {
	UALINK_DEVICE_INACTIVE,
	UALINK_DEVICE_ACTIVATING,
	UALINK_DEVICE_ACTIVE,
	UALINK_DEVICE_STOPPING,
	UALINK_DEVICE_GONE,
};

/* Counters that only grow, from activation on. */
enum ualink_counter {
	UALINK_COUNT_EXPORTS,		/* exports made */
	UALINK_COUNT_EXPORTS_ENDED,
	UALINK_COUNT_IMPORTS,		/* imports made */
	UALINK_COUNT_IMPORTS_REUSED,	/* found, no message sent */
	UALINK_COUNT_IMPORTS_DIED,
	UALINK_COUNT_IMPORTS_ABANDONED,	/* by signal or deadline */
	UALINK_COUNT_REFUSED_LOCAL,	/* exports and imports refused to users */
	UALINK_COUNT_REFUSED_PEER,	/* IMPORT_REQs refused to peers */
	UALINK_COUNT_BAD_MSGS,		/* malformed messages */
	UALINK_COUNT_NAKS_SENT,
	UALINK_COUNT_IGNORED,		/* late, duplicate or unknown messages */
	UALINK_COUNT_RETRIES,		/* requests sent again */
	UALINK_COUNT_REPLIES_LOST,	/* answers dropped: the peer does not empty its ring */
	UALINK_COUNT_REVOKE_TIMEOUTS,	/* importers that did not answer in time */
	UALINK_COUNT_FLUSHES,		/* of the link TLB */
	UALINK_COUNT_FLUSHES_FAILED,	/* of the link TLB, and of the TLBs for imports */
	UALINK_COUNT_FAULTS,		/* accesses of others that the link MMU refused */
	UALINK_COUNTERS,
};

/*
 * struct ualink_device - a local accelerator
 */
struct ualink_device {
	/* sysfs folder, and the reference count of the structure */
	struct kobject kobj;
	/* Frees the structure, where one can sleep */
	struct work_struct release_work;
	/* Of exports and imports to this structure */
	struct ualink_refs refs;
	/* Immutable */
	const struct ualink_ops *ops;
	struct device *dev;
	void *priv;
	u32 id;
	u8 segment_shift;
	bool flush_on_map;
	uuid_t vpod;
	DECLARE_BITMAP(members, UALINK_MAX_IDS);

	/* See DOC: Locking */
	spinlock_t lock;
	/* Serializes activation, deactivation and removal. Outer to all else. */
	struct mutex state_mutex;
	/* From a flush of the imports to the report of what it ends; inner to state_mutex only */
	struct mutex flush_mutex;
	/* An &enum ualink_device_state; under lock, set by device_set_state() only */
	u8 state;
	/* A flush or a gate failed; under lock, until the next activation */
	bool wedged;

	struct ualink_npa npa;

	/* ACTIVE exports by tag, grants by (export, peer), imports by tag; under lock */
	struct rhashtable exports;
	struct rhashtable grants;
	struct rhltable imports;
	/* Peers by id, which stay; by itself it is safe to load and store */
	struct xarray peers;
	/* Ids whose messages wait for a peer to be made */
	DECLARE_BITMAP(unknown, UALINK_MAX_IDS);
	struct delayed_work unknown_work;

	/* Exports by state, REVOKING ones in the order of their deadlines; under lock */
	struct list_head active;
	struct list_head revoking;
	struct list_head unmapping;
	struct list_head quarantined;
	struct list_head wedged_exports;
	struct delayed_work deadline_work;
	struct work_struct reap_work;
	/* Unused imports, oldest first; under lock */
	struct list_head idle;
	u64 idle_bytes;
	/* Length of @idle; read without lock by the shrinker */
	unsigned long nr_idle;
	struct delayed_work idle_work;
	struct shrinker *shrinker;

	/* Numbers of things that exist; under lock */
	u64 nr_exports;		/* NEW to UNMAPPING */
	u64 nr_active_exports;
	u64 nr_quarantined;
	u64 nr_grants;
	u64 nr_imports;		/* ACTIVE and IDLE */
	u64 nr_import_records;	/* not DEAD */
	u64 exported_bytes;

	/* Who stops the device; woken by ualink_device_changed() */
	wait_queue_head_t wait;
	/* Sending, receiving, timers: WQ_MEM_RECLAIM */
	struct workqueue_struct *wq;
	/* What may allocate or take dma_resv */
	struct workqueue_struct *slow_wq;

	/* Under READ_ONCE() and WRITE_ONCE(): each is used once */
	u64 tunables[UALINK_TUNABLES];
	atomic64_t counters[UALINK_COUNTERS];
	/* Of lines about faults of those that are no peers yet */
	struct ratelimit_state fault_limit;
	atomic64_t sent[UALINK_MSG_TYPES];
	atomic64_t received[UALINK_MSG_TYPES];
};

#endif /* _UALINK_TYPES_H_ */
