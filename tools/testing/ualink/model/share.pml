// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Grant, release, revoke, quarantine: one exporter with one NPA range, IMPORTERS
 * importers of it, all of which crash and take each other for dead. See README.md.
 *
 * S1  Who can reach the range (it has a translation in a page table or a TLB, and the
 *     gate is open for it) is counted as a holder of just the export that it imported:
 *     so the range is not free, quarantined only, and not another export's.
 * S2  Memory that was released is reached by nobody.
 * S3  Nor does an access reach another export that was under way when its importer
 *     crashed.
 *   with -DLIVE, once the faults (losses, duplicates, crashes) are used up:
 * L1  No execution is endless: no message loop, no retry that cannot succeed.
 * L2  At the end nobody waits for an import, no import is half dead, no export
 *     half ended, and no range in quarantine.
 *
 * Left out: the greeting, which greeting.pml has: here it is one step, from READY of
 * an importer that holds nothing, to a new session. Whether the importer has it as well
 * is open. Failing flushes, which only delay (WEDGED). Access rights. Several exports
 * and ranges, since no step concerns two. PING, SUSPECT and BYE: a ualink_peer_down() comes
 * at any time. MAXREQ: imports of one importer in one session. FAST_FABRIC: without S3,
 * ONE_MESSAGE, NO_CACHE: fewer states.
 */
#ifndef IMPORTERS
#define IMPORTERS	1
#endif
#ifndef MAXREQ
#define MAXREQ		2
#endif

#define NONE		0
#define ACTIVE		1	/* enum ualink_export_state; NONE is DEAD, the range is free */
#define REVOKING	2
#define UNMAPPING	3
#define QUARANTINED	4
#define PENDING		2	/* enum ualink_import_state, with ACTIVE; RELEASING: zombie[] */
#define IDLE		3
#define DYING		4	/* REVOKING */

#define REQ		1	/* IMPORT_REQ, IMPORT_RSP */
#define RSP		2
#define REFUSED		3	/* IMPORT_RSP: no such export */
#define RELEASE		4
#define RELEASE_ACK	5
#define REVOKE		6
#define REVOKE_ACK	7

/* the exporter: the export, its entries in the NPA tables (1) or still in the link TLB (2) */
byte export, etag, npa;
/* each importer as it sees it */
byte es[IMPORTERS], grant[IMPORTERS];
bool gate[IMPORTERS], drop_grants[IMPORTERS];

/* the importers: the record of the handle, its entry in page tables (1) or still in a TLB (2) */
byte is[IMPORTERS], import[IMPORTERS], itag[IMPORTERS], number[IMPORTERS], last_request[IMPORTERS];
byte pte[IMPORTERS], revoke_grant[IMPORTERS];
/* the record that is RELEASING: its tag * 8 + grant */
byte zombie[IMPORTERS];
/* what of a crashed importer the fabric still carries: the tag */
byte under_way[IMPORTERS];

/*
 * The messages to the exporter from, and to, each importer: sets of two as in greeting.pml. A message
 * is (type * 8 + tag) * 8 + number.
 */
short net[4 * IMPORTERS];
#define TO_E(i)		(i)
#define TO_I(i)		(IMPORTERS + (i))
#define TYPE(m)		((m) / 64)
#define TAG(m)		((m) / 8 % 8)
#define NUMBER(m)	((m) % 8)
int x; byte type, s, t, n, k, j;	/* local to a step */

#ifdef LIVE
#ifndef CRASHES
#define CRASHES		1
#endif
#ifndef LOSSES
#define LOSSES		1
#endif
#ifndef DUPS
#define DUPS		1
#endif
#ifndef WISHES
#define WISHES		2
#endif
#ifndef EXPORTS
#define EXPORTS		2
#endif
byte crashes = CRASHES, losses = LOSSES, dups = DUPS, wishes = WISHES, exports = EXPORTS;
#define FAULT(f)	(f > 0) -> f--
#define EMPTY(i)	(!net[2 * TO_E(i)] && !net[2 * TO_I(i)] && !drop_grants[i] && import[i] != DYING)
#define QUIET		(ALL(EMPTY) && export != UNMAPPING)
#define WISH(w)		(w > 0) -> w--
#else
#define FAULT(f)	true
#define WISH(w)		true
#endif

#if IMPORTERS == 2
#define ALL(p)		(p(0) && p(1))
#else
#define ALL(p)		p(0)
#endif

/* of two importers only one does what it likes, for the number of states */
#define FAULTY(i)	(i == 0)

/* the number tells model.sh which property a seeded bug breaks */
#define MUST(number, what) assert(number && (what))
#define REACHES(i)	(pte[i] && gate[i])
#define COUNTED(i)	(!REACHES(i) || export && etag == itag[i] && grant[i])
#define HIDDEN(i)	(!npa || !REACHES(i))
#define GONE(i)		(!under_way[i] || !gate[i] || export && etag == under_way[i] && grant[i])
#define RELEASED	(export == NONE || export == QUARANTINED)
#define UNGRANTED(i)	(grant[i] == 0)

inline sort(q) {
	if
	:: net[2 * (q)] < net[2 * (q) + 1] -> x = net[2 * (q)]; net[2 * (q)] = net[2 * (q) + 1]; net[2 * (q) + 1] = x
	:: else
	fi
}
/*
 * rx_dispatch(): a message of another session than the receiver's is refused, now and, since sessions
 * do not come again, later. So it need not be kept, nor its session written into it.
 */
#ifdef ANY_SESSION
#define HEARD(q, se)	true
#define forget(q)	skip
#else
#define HEARD(q, se)	((se) && (se) == ((q) < IMPORTERS -> es[q] : is[(q) - IMPORTERS]))
inline forget(q) {
	net[2 * (q)] = 0; net[2 * (q) + 1] = 0
}
#endif
#define DONE d_step { \
	MUST(101, ALL(COUNTED)); MUST(102, !RELEASED || ALL(HIDDEN)); MUST(103, ALL(GONE)); \
	x = 0; type = 0; s = 0; t = 0; n = 0; k = 0 }

/* ualink_tx_reply(), send_packet() */
inline send(q, ty, se, ta, nu) {
	x = (ty) * 64 + ta * 8 + nu;
	if
	:: !HEARD(q, se) || net[2 * (q)] == x || net[2 * (q) + 1] == x
	:: else ->
		if
		:: FAULT(losses)
#ifdef ONE_MESSAGE
		:: net[2 * (q)] = x
#else
		:: net[2 * (q) + 1] == 0 -> net[2 * (q) + 1] = x
		:: net[2 * (q) + 1] -> net[2 * (q) + 1] = x
		:: net[2 * (q) + 1] -> net[2 * (q)] = x
#endif
		fi;
		sort(q)
	fi
}
inline receive(q) {
	if
	:: net[2 * (q)] -> k = 0
	:: net[2 * (q) + 1] -> k = 1
	fi;
	x = net[2 * (q) + k];
	type = TYPE(x); t = TAG(x); n = NUMBER(x);
	if
	:: FAULT(dups)
	:: true -> net[2 * (q) + k] = 0; sort(q)
	fi
}

/* --- the exporter */

/* ualink_export_ungranted(), start_unmapping() */
inline ungranted() {
	if
	:: export == REVOKING && ALL(UNGRANTED) -> export = UNMAPPING
	:: export == QUARANTINED && ALL(UNGRANTED) -> export = NONE; etag = 0
	:: else
	fi
}
/* grant_end(); ualink_grant_drop_all() for the only one */
inline grant_end(i) {
	grant[i] = 0; ungranted()
}

/* ualink_grant_rx_import_req(), grant_decide() */
inline rx_import_req(i) {
	if
	:: export == ACTIVE && t == etag ->
		if
#ifdef GRANT_KEPT
		:: grant[i] -> send(TO_I(i), RSP, es[i], t, n)
		:: !grant[i] -> grant[i] = n; send(TO_I(i), RSP, es[i], t, n)
#else
		:: n >= grant[i] -> grant[i] = n; send(TO_I(i), RSP, es[i], t, n)
		:: else
#endif
		fi
	:: else -> send(TO_I(i), REFUSED, es[i], t, n)
	fi
}

/* ualink_grant_rx_release(), grant_by_tag() */
inline rx_release(i) {
	if
#ifdef ANY_GRANT_RELEASED
	:: export == ACTIVE && t == etag -> grant_end(i)
#else
	:: export == ACTIVE && t == etag && n == grant[i] -> grant_end(i)
#endif
	:: else
	fi;
	send(TO_I(i), RELEASE_ACK, es[i], t, n)
}

/* ualink_grant_rx_revoke_ack() */
inline rx_revoke_ack(i) {
	if
#ifdef ANY_GRANT_REVOKED
	:: grant[i] -> grant_end(i)
#else
	:: export > ACTIVE && t == etag && n == grant[i] -> grant_end(i)
#endif
	:: else
	fi
}

/* rx_in_session() */
inline exporter_rx(i) {
	if
	:: type == REQ -> rx_import_req(i)
	:: type == RELEASE -> rx_release(i)
	:: type == REVOKE_ACK -> rx_revoke_ack(i)
	:: else
	fi
}

/* ualink_tx_request(), ualink_tx_retry(): the REVOKE of a grant */
inline revoke(i) {
	if
	:: grant[i] && es[i] && !drop_grants[i] -> send(TO_I(i), REVOKE, es[i], etag, grant[i])
	:: else
	fi
}

/* ualink_export_end(), export_revoke() */
inline end_export() {
	export = REVOKING;
	ungranted();
	j = 0;
	do
	:: j < IMPORTERS -> revoke(j); j++
	:: else -> j = 0; break
	od
}

/* ualink_peer_down(), or clean() and ualink_peer_end_session(): close_gate() follows */
inline exporter_down(i) {
	es[i] = 0; forget(TO_E(i));
	drop_grants[i] = true;
#ifdef DROPPED_WHEN_DOWN
	grant_end(i)
#endif
}

/* a reset: ualink_device_deactivate(), ualink_device_activate(), forget_peers() */
inline exporter_crash() {
	export = NONE; etag = 0; npa = 0;
	do
	:: j < IMPORTERS ->
		es[j] = 0; grant[j] = 0; drop_grants[j] = false; forget(TO_E(j));
		if
		:: gate[j] -> under_way[j] = 0
		:: else
		fi;
#ifndef OPEN_AFTER_RESET
		gate[j] = false;
#endif
		j++
	:: else -> j = 0; break
	od
}

/* a tag that nobody knows any more: ualink_handle_generate() */
#define FREE(i)		(itag[i] != t && zombie[i] / 8 != t && under_way[i] != t && \
			 TAG(net[2 * TO_E(i)]) != t && TAG(net[2 * TO_E(i) + 1]) != t && TAG(net[2 * TO_I(i)]) != t && TAG(net[2 * TO_I(i) + 1]) != t)
inline export_create() {
	d_step {
	t = 1;
	do
	:: !ALL(FREE) -> t++
	:: else -> break
	od;
	assert(t < 8);
	etag = t
	}
	export = ACTIVE; npa = 1
}

active proctype Exporter() {
	do
	:: atomic { export == NONE && npa == 0 && WISH(exports) -> export_create(); DONE }
	:: atomic { export == ACTIVE -> end_export(); DONE }
	/* ualink_export_deadline_work(), export_overdue() */
	:: atomic { export == REVOKING ->
#ifdef FREED_AT_DEADLINE
		export = QUARANTINED; ungranted();
#else
		export = UNMAPPING;
#endif
		DONE }
	/* ualink_export_reap_work(): unmap_all(), npa_flush(), export_release() */
	:: atomic { export == UNMAPPING && npa == 1 -> npa = 2;
#ifdef RELEASED_BEFORE_FLUSH
		export = QUARANTINED; ungranted();
#endif
		DONE }
	:: atomic { export == UNMAPPING && npa == 2 -> npa = 0; export = QUARANTINED;
#ifdef NO_QUARANTINE
		export = NONE; etag = 0;
#endif
		ungranted(); DONE }
	:: atomic { RELEASED && npa -> npa = 0; DONE }	/* not before the seeded bug */
#ifdef LIVE
	:: atomic { crashes > 0 -> crashes--; exporter_crash(); DONE }
#else
	:: atomic { exporter_crash(); DONE }
#endif
	od
}

/* its works for each importer */
#define P		(_pid - 1)
active [IMPORTERS] proctype Peer() {
	do
	/* ualink_rx_work() */
	:: atomic { net[2 * TO_E(P)] -> receive(TO_E(P)); exporter_rx(P); DONE }
	/* ualink_peer_slow_work(), close_gate() */
	:: atomic { drop_grants[P] ->
		gate[P] = false; drop_grants[P] = false; grant_end(P);
		under_way[P] = 0;
		DONE }
	/* ualink_timer_work(): ualink_tx_retry(), check_answers() */
#ifdef LIVE
	:: atomic { es[P] && crashes > 0 -> crashes--; exporter_down(P); DONE }
#ifndef REVOKE_ONCE
	:: atomic { QUIET && grant[P] && es[P] && is[P] == es[P] && export > ACTIVE -> revoke(P); DONE }
#endif
	:: atomic { QUIET && grant[P] && es[P] && is[P] != es[P] -> exporter_down(P); DONE }
#else
	:: atomic { export > ACTIVE && grant[P] -> revoke(P); DONE }
	:: atomic { (es[P] || gate[P]) && (FAULTY(P) || is[P] != es[P]) -> exporter_down(P); DONE }
#endif
	od
}

/* --- an importer */

/* ualink_import_finish(), ualink_import_fail() */
inline finish(i) {
	import[i] = NONE; itag[i] = 0; number[i] = 0; revoke_grant[i] = 0
}

/* ualink_import_release(): the translation is gone */
inline release(i) {
	zombie[i] = itag[i] * 8 + number[i];
	send(TO_E(i), RELEASE, is[i], itag[i], number[i]);
	finish(i)
}
/* ualink_tx_request(), send_new_request(): the IMPORT_REQ, when there is a session */
inline request(i) {
	if
	:: is[i] && last_request[i] < MAXREQ ->
		last_request[i]++; number[i] = last_request[i];
		send(TO_E(i), REQ, is[i], itag[i], number[i])
	:: else
	fi
}

/* ualink_import_rx_rsp(), import_granted(), ualink_import_fail(), rsp_unexpected(), grant_known() */
inline rx_import_rsp(i) {
	if
	:: import[i] == PENDING && number[i] == n && itag[i] == t ->
		if
		:: type == RSP -> import[i] = ACTIVE
		:: else -> finish(i)
		fi
	:: type == RSP && !(import[i] == PENDING && number[i] == n) && !(number[i] == n && itag[i] == t) && zombie[i] != t * 8 + n ->
		send(TO_E(i), RELEASE, is[i], t, n)		/* release_unwanted() */
	:: else
	fi
}

/* ualink_kill_rx_revoke(), ualink_import_revoke_tag(), ualink_kill_import(), ack_revoke() */
inline rx_revoke(i) {
	if
	:: import[i] && itag[i] == t ->
		if
#ifdef PENDING_NOT_REVOKED
		:: import[i] == PENDING
#else
		:: import[i] == PENDING -> finish(i)
#endif
#ifdef IDLE_NOT_REVOKED
		:: import[i] == IDLE
#else
		:: import[i] == IDLE -> finish(i)
#endif
		:: import[i] == ACTIVE -> import[i] = DYING
		:: import[i] == DYING
		fi
	:: else
	fi;
	if
#ifdef ACKED_AT_ONCE
	:: import[i] == DYING && itag[i] == t -> send(TO_E(i), REVOKE_ACK, is[i], t, n)
#else
	:: import[i] == DYING && itag[i] == t -> revoke_grant[i] = n
#endif
	:: else -> send(TO_E(i), REVOKE_ACK, is[i], t, n)
	fi
}

/* ualink_import_rx_release_ack() */
inline rx_release_ack(i) {
	if
	:: zombie[i] == t * 8 + n -> zombie[i] = 0
	:: else
	fi
}

/* rx_in_session() */
inline importer_rx(i) {
	if
	:: type == RSP || type == REFUSED -> rx_import_rsp(i)
	:: type == REVOKE -> rx_revoke(i)
	:: type == RELEASE_ACK -> rx_release_ack(i)
	:: else
	fi
}

/* ualink_peer_end_session(), ualink_kill_session(), ualink_tx_session_ended() */
inline importer_end_session(i) {
	is[i] = 0; last_request[i] = 0; zombie[i] = 0; forget(TO_I(i));
	if
	:: import[i] == PENDING -> number[i] = 0
	:: import[i] == IDLE -> finish(i)
#ifndef IMPORT_KEPT
	:: import[i] == ACTIVE || import[i] == DYING -> import[i] = DYING; revoke_grant[i] = 0
#endif
	:: else
	fi
}

/* another kernel, or ualink_device_deactivate() and ualink_device_activate() */
inline importer_crash(i) {
#ifndef FAST_FABRIC
	if
	:: pte[i] && gate[i] -> under_way[i] = itag[i]
	:: else
	fi;
#endif
	is[i] = 0; last_request[i] = 0; zombie[i] = 0; forget(TO_I(i));
	finish(i); pte[i] = 0
}

/*
 * ualink_greeting_cleaned() here, then open_gate() and ualink_greeting_opened() there: the importer
 * says READY, and the exporter, which has closed the gate since the last session, gets it. The
 * READY_ACK may not come.
 */
#ifdef NOT_CLOSED_FIRST
#define CLOSED(i)	true
#else
#define CLOSED(i)	(!gate[i] && !drop_grants[i])
#endif
#ifdef READY_BEFORE_DEAD
#define CLEAN(i)	true
#else
#define CLEAN(i)	(import[i] != DYING && pte[i] == 0)
#endif
inline greet(i) {
	s = (es[i] == 1 -> 2 : 1);
	es[i] = s; forget(TO_E(i)); forget(TO_I(i));
#ifdef NOT_CLOSED_FIRST
	drop_grants[i] = false; grant_end(i);
#endif
	gate[i] = true;
	if
	:: true -> is[i] = s;
		if
		:: import[i] == PENDING -> request(i)
		:: else
		fi
#ifndef LIVE
	:: true
#endif
	fi
}

#define I		(_pid - 1 - IMPORTERS)

active [IMPORTERS] proctype Importer() {
	do
	/* import_obtain(), import_start() */
	:: atomic { import[I] == NONE && export == ACTIVE && last_request[I] < MAXREQ && WISH(wishes) ->
		import[I] = PENDING; itag[I] = etag; request(I); DONE }
	/* import_unuse(), import_abandon() */
	:: atomic { import[I] == PENDING && zombie[I] == 0 && FAULT(crashes) ->
		if
		:: number[I] -> release(I)
		:: else -> finish(I)
		fi; DONE }
	/* the client: drm_ualink maps under dma_resv, after it has seen that the import is alive */
	:: atomic { import[I] == ACTIVE && pte[I] == 0 -> pte[I] = 1; DONE }
#ifdef MAPPED_WHEN_DYING
	:: atomic { import[I] == DYING && pte[I] == 2 -> pte[I] = 3; DONE }
#endif
	/* import_unuse() by the last user, who has unmapped and flushed; ualink_cache_add() or not */
	:: atomic { import[I] == ACTIVE ->
#ifdef RELEASED_BEFORE_UNMAPPED
		skip;
#else
		pte[I] = 0;
#endif
		if
#ifndef NO_CACHE
		:: import[I] = IDLE
#endif
		:: zombie[I] == 0 -> release(I)
		fi; DONE }
#ifndef NO_CACHE
	/* import_use(); idle_release() */
	:: atomic { import[I] == IDLE && WISH(wishes) -> import[I] = ACTIVE; DONE }
	:: atomic { import[I] == IDLE && zombie[I] == 0 -> release(I); DONE }
#endif

	/* ualink_kill_work(): invalidate(); then flush_imports(), bury() */
	:: atomic { import[I] == DYING && pte[I] == 1 -> pte[I] = 2;
#ifdef ACKED_BEFORE_FLUSH
		send(TO_E(I), REVOKE_ACK, is[I], itag[I], revoke_grant[I]);
#endif
		DONE }
	:: atomic { import[I] == DYING && pte[I] != 1 -> pte[I] = (pte[I] == 3 -> 3 : 0);
		if
		:: revoke_grant[I] -> send(TO_E(I), REVOKE_ACK, is[I], itag[I], revoke_grant[I])
		:: else
		fi;
		finish(I); DONE }

	:: atomic { net[2 * TO_I(I)] -> receive(TO_I(I)); importer_rx(I); DONE }
#ifdef LIVE
	:: atomic { crashes > 0 -> crashes--; importer_crash(I); DONE }
#else
	:: atomic { FAULTY(I) -> importer_crash(I); DONE }
#endif
	:: atomic { under_way[I] -> under_way[I] = 0; DONE }
#ifndef LIVE
	:: atomic { is[I] == 0 && CLEAN(I) && CLOSED(I) -> greet(I); DONE }
	/* ualink_peer_down(), clean() */
	:: atomic { is[I] && (FAULTY(I) || is[I] != es[I]) -> importer_end_session(I); DONE }
	:: atomic { import[I] == PENDING && is[I] == 0 -> finish(I); DONE }
	/* ualink_tx_retry() */
	:: atomic { import[I] == PENDING && number[I] -> send(TO_E(I), REQ, is[I], itag[I], number[I]); DONE }
	:: atomic { zombie[I] -> k = zombie[I]; send(TO_E(I), RELEASE, is[I], k / 8, k % 8); DONE }
#else
	:: atomic { FAULT(crashes); importer_end_session(I); DONE }
	/* the same, when there is nothing else to be done; who is not in the same session is told so by a NAK */
#ifndef RELEASE_ONCE
	:: atomic { QUIET && zombie[I] && is[I] == es[I] -> k = zombie[I]; send(TO_E(I), RELEASE, is[I], k / 8, k % 8); DONE }
#endif
	:: atomic { QUIET && import[I] == PENDING && is[I] && is[I] == es[I] -> send(TO_E(I), REQ, is[I], itag[I], number[I]); DONE }
	:: atomic { QUIET && import[I] && is[I] && is[I] != es[I] || QUIET && zombie[I] && is[I] != es[I] -> importer_end_session(I); DONE }
	:: atomic { QUIET && import[I] == PENDING && is[I] == 0 && CLOSED(I) -> greet(I); DONE }
	:: atomic { QUIET && import[I] == PENDING && is[I] == 0 && !CLOSED(I) -> exporter_down(I); DONE }
#endif
	od
}

#ifdef LIVE
#define SETTLED(i)	(import[i] != PENDING && import[i] != DYING && !zombie[i] && (!import[i] || is[i] && is[i] == es[i]))
active proctype End() {
	timeout ->
	MUST(202, ALL(SETTLED) && (export == NONE || export == ACTIVE));
	do
	:: true ->
progress:	skip
	od
}
#endif
