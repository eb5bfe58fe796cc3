/* SPDX-License-Identifier: GPL-2.0 OR MIT */

#undef TRACE_SYSTEM
#define TRACE_SYSTEM ualink

#if !defined(_UALINK_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _UALINK_TRACE_H_

#include <linux/device.h>
#include <linux/jhash.h>
#include <linux/tracepoint.h>

#include "ualink_internal.h"
#include "ualink_names.h"

/**
 * DOC: Trace events
 *
 * All messages and all changes of a state can be traced. None of the events is
 * stable uAPI.
 *
 * ``ualink_msg_tx``, ``ualink_msg_rx``
 *	A message was given to the transport, or queued since its ring is full; a
 *	well-formed one came.
 * ``ualink_msg_bad``
 *	A malformed message came; ``error`` is the part of it that is wrong.
 * ``ualink_peer_state``, ``ualink_export_state``, ``ualink_import_state``
 *	A change from ``old`` to ``new``, with a ``reason`` if it is a death.
 * ``ualink_greeting``
 *	A step of a greeting.
 * ``ualink_timeout``
 *	A wait came to its deadline. ``what`` is "import" (the IMPORT ioctl), "revoke"
 *	(the answer to a REVOKE), "answer" (to anything: the peer is SUSPECT now),
 *	"peer" (it is DOWN now) or "greeting"; ``id`` is the accelerator that was
 *	waited for.
 * ``ualink_flush``, ``ualink_gate``
 *	The link TLB was flushed, a source gate opened or closed; or not, if ``err``
 *	is not 0.
 * ``ualink_fault``
 *	The link MMU refused an access of ``peer``.
 *
 * Fields that mean the same in all of them:
 *
 * - ``dev``: the dev_name() of the local accelerator
 * - ``peer``: accelerator id of the remote one
 * - ``session``: a short hash of a session's number, the same on both nodes
 * - ``handle``: a short hash of a handle; its key is drawn at each boot, so that
 *   it helps only to follow an export or import through the traces of one node
 *
 * Handles, secrets, challenges and NPA addresses are in none of them. The begin
 * and the end of a quarantine are the changes of an export's state to and from
 * QUARANTINED.
 */

DECLARE_EVENT_CLASS(ualink_msg,
		    TP_PROTO(struct ualink_device *udev, const struct ualink_packet *pkt),
		    TP_ARGS(udev, pkt),

		    TP_STRUCT__entry(__string(dev, dev_name(udev->dev))
				     __field(u16, src)
				     __field(u16, dst)
				     __string(type, ualink_msg_type_name(pkt->type))
				     __field(u64, request)
				     __field(u32, session)),

		    TP_fast_assign(__assign_str(dev);
				   __entry->src = pkt->src;
				   __entry->dst = pkt->dst;
				   __assign_str(type);
				   __entry->request = pkt->request;
				   __entry->session = jhash(pkt->session,
							    sizeof(pkt->session), 0);),

		    TP_printk("dev=%s src=%u dst=%u type=%s request=%llu session=%08x",
			      __get_str(dev), __entry->src, __entry->dst, __get_str(type),
			      __entry->request, __entry->session)
);

/* A message was given to the transport, or queued because the ring is full. */
DEFINE_EVENT(ualink_msg, ualink_msg_tx,
	     TP_PROTO(struct ualink_device *udev, const struct ualink_packet *pkt),
	     TP_ARGS(udev, pkt)
);

/* A well-formed message came. */
DEFINE_EVENT(ualink_msg, ualink_msg_rx,
	     TP_PROTO(struct ualink_device *udev, const struct ualink_packet *pkt),
	     TP_ARGS(udev, pkt)
);

/* A malformed message came. */
TRACE_EVENT(ualink_msg_bad,
	    TP_PROTO(struct ualink_device *udev, u32 src, enum ualink_decode_error error),
	    TP_ARGS(udev, src, error),

	    TP_STRUCT__entry(__string(dev, dev_name(udev->dev))
			     __field(u32, src)
			     __string(error, ualink_decode_error_name(error))),

	    TP_fast_assign(__assign_str(dev);
			   __entry->src = src;
			   __assign_str(error);),

	    TP_printk("dev=%s src=%u error=%s",
		      __get_str(dev), __entry->src, __get_str(error))
);

/* The link MMU refused an access of @peer. */
TRACE_EVENT(ualink_fault,
	    TP_PROTO(struct ualink_device *udev, u32 peer),
	    TP_ARGS(udev, peer),

	    TP_STRUCT__entry(__string(dev, dev_name(udev->dev))
			     __field(u32, peer)),

	    TP_fast_assign(__assign_str(dev);
			   __entry->peer = peer;),

	    TP_printk("dev=%s peer=%u", __get_str(dev), __entry->peer)
);

TRACE_EVENT(ualink_peer_state,
	    TP_PROTO(struct ualink_peer *peer, u8 old_state, u8 new_state),
	    TP_ARGS(peer, old_state, new_state),

	    TP_STRUCT__entry(__string(dev, dev_name(peer->udev->dev))
			     __field(u32, peer)
			     __field(u32, session)
			     __string(old_state, ualink_peer_state_name(old_state))
			     __string(new_state, ualink_peer_state_name(new_state))
			     __string(reason, ualink_death_name(peer->down_reason))),

	    TP_fast_assign(__assign_str(dev);
			   __entry->peer = peer->id;
			   __entry->session = jhash(peer->session, sizeof(peer->session), 0);
			   __assign_str(old_state);
			   __assign_str(new_state);
			   __assign_str(reason);),

	    TP_printk("dev=%s peer=%u session=%08x old=%s new=%s reason=%s",
		      __get_str(dev), __entry->peer, __entry->session, __get_str(old_state),
		      __get_str(new_state), __get_str(reason))
);

TRACE_EVENT(ualink_greeting,
	    TP_PROTO(struct ualink_peer *peer, u8 old_step, u8 new_step),
	    TP_ARGS(peer, old_step, new_step),

	    TP_STRUCT__entry(__string(dev, dev_name(peer->udev->dev))
			     __field(u32, peer)
			     __field(u32, session)
			     __string(old_step, ualink_greeting_name(old_step))
			     __string(new_step, ualink_greeting_name(new_step))),

	    TP_fast_assign(__assign_str(dev);
			   __entry->peer = peer->id;
			   __entry->session = jhash(peer->pending, sizeof(peer->pending), 0);
			   __assign_str(old_step);
			   __assign_str(new_step);),

	    TP_printk("dev=%s peer=%u session=%08x old=%s new=%s",
		      __get_str(dev), __entry->peer, __entry->session, __get_str(old_step),
		      __get_str(new_step))
);

TRACE_EVENT(ualink_export_state,
	    TP_PROTO(struct ualink_export *exp, u8 old_state, u8 new_state),
	    TP_ARGS(exp, old_state, new_state),

	    TP_STRUCT__entry(__string(dev, dev_name(exp->udev->dev))
			     __field(u32, handle)
			     __field(u32, importers)
			     __string(old_state, ualink_export_state_name(old_state))
			     __string(new_state, ualink_export_state_name(new_state))),

	    TP_fast_assign(__assign_str(dev);
			   __entry->handle = ualink_handle_hash(&exp->handle);
			   __entry->importers = exp->nr_grants;
			   __assign_str(old_state);
			   __assign_str(new_state);),

	    TP_printk("dev=%s handle=%08x importers=%u old=%s new=%s",
		      __get_str(dev), __entry->handle, __entry->importers, __get_str(old_state),
		      __get_str(new_state))
);

TRACE_EVENT(ualink_import_state,
	    TP_PROTO(struct ualink_import *imp, u8 old_state, u8 new_state),
	    TP_ARGS(imp, old_state, new_state),

	    TP_STRUCT__entry(__string(dev, dev_name(imp->udev->dev))
			     __field(u32, peer)
			     __field(u32, handle)
			     __string(old_state, ualink_import_state_name(old_state))
			     __string(new_state, ualink_import_state_name(new_state))
			     __string(reason, ualink_death_name(imp->death))),

	    TP_fast_assign(__assign_str(dev);
			   __entry->peer = ualink_handle_id(&imp->handle);
			   __entry->handle = ualink_handle_hash(&imp->handle);
			   __assign_str(old_state);
			   __assign_str(new_state);
			   __assign_str(reason);),

	    TP_printk("dev=%s peer=%u handle=%08x old=%s new=%s reason=%s",
		      __get_str(dev), __entry->peer, __entry->handle, __get_str(old_state),
		      __get_str(new_state), __get_str(reason))
);

/* A wait came to its deadline. What @id means depends on @what. */
TRACE_EVENT(ualink_timeout,
	    TP_PROTO(struct ualink_device *udev, const char *what, u32 id),
	    TP_ARGS(udev, what, id),

	    TP_STRUCT__entry(__string(dev, dev_name(udev->dev))
			     __string(what, what)
			     __field(u32, id)),

	    TP_fast_assign(__assign_str(dev);
			   __assign_str(what);
			   __entry->id = id;),

	    TP_printk("dev=%s what=%s id=%u",
		      __get_str(dev), __get_str(what), __entry->id)
);

/* The link TLB was flushed, or with an error was not. */
TRACE_EVENT(ualink_flush,
	    TP_PROTO(struct ualink_device *udev, int err),
	    TP_ARGS(udev, err),

	    TP_STRUCT__entry(__string(dev, dev_name(udev->dev))
			     __field(int, err)),

	    TP_fast_assign(__assign_str(dev);
			   __entry->err = err;),

	    TP_printk("dev=%s err=%d",
		      __get_str(dev), __entry->err)
);

/* The source gate for a peer was opened or closed, or with an error was not. */
TRACE_EVENT(ualink_gate,
	    TP_PROTO(struct ualink_peer *peer, bool open, int err),
	    TP_ARGS(peer, open, err),

	    TP_STRUCT__entry(__string(dev, dev_name(peer->udev->dev))
			     __field(u32, peer)
			     __field(bool, open)
			     __field(int, err)),

	    TP_fast_assign(__assign_str(dev);
			   __entry->peer = peer->id;
			   __entry->open = open;
			   __entry->err = err;),

	    TP_printk("dev=%s peer=%u open=%d err=%d",
		      __get_str(dev), __entry->peer, __entry->open, __entry->err)
);

#endif /* _UALINK_TRACE_H_ */

/* This part must be outside protection */
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE ualink_trace
#include <trace/define_trace.h>
