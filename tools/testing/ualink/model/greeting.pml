// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Greeting and sessions: two accelerators greet at any time, cross, crash, and
 * take each other for dead. See README.md.
 *
 * S1  Who can reach a range of a peer (it has a translation, and the peer's gate is
 *     open for it) is counted by that peer as a holder: the range is not reused.
 * S2  Who is in a session holds nothing of another one.
 * S3  No gate is to be open without a session.
 *   with -DLIVE, once the faults (losses, duplicates, crashes) are used up:
 * L1  No execution is endless: no message loop, no retry that cannot succeed.
 * L2  At the end no waiter is stranded and no greeting stuck; what was imported
 *     is dead, or of the session that both sides are in.
 *
 * Left out: RELEASE, REVOKE and the steps of a kill, which share.pml has. BYE,
 * HELLO_NAK and a lost link are a ualink_peer_down() at any time. SUSPECT is a session
 * like UP. INCOMPATIBLE is for good. For S1 one side imports and the other has
 * the gate, and both greet at any time, which is what a NAK can make them do.
 */
#define NONE		0	/* enum ualink_greeting */
#define GREET		1
#define CLEANING	2
#define READY		3
#define OPENING		4

#define HELLO		1	/* messages */
#define HELLO_ACK	2
#define RDY		3
#define RDY_ACK		4
#define REQ		5	/* IMPORT_REQ */
#define RSP		6
#define PING		7
#define NAK		8

#define PENDING		1	/* an import */
#define ACTIVE		2
#define DYING		3

#define IDLE		0	/* how far slow_work is, that is in the op source_gate, without the lock: */
#define CLOSE		1
#define OPEN		2
#define KILL		3	/* -DLONG: what follows runs later */

/* one accelerator as the other sees it: struct ualink_peer, one import, one grant */
byte greeting[2], challenge[2] = 1, session[2], pending[2], import[2], slow[2];
bool peer_ready[2], owe[2], asked[2], kicked[2], stashed[2];
bool gate_open[2], gate_wanted[2], drop_grants[2], granted[2];

/*
 * The messages to each: a set of two, a message being type * 256 + session. What
 * is taken out may stay in (a duplicate), what comes in may be lost or push another out:
 * so each can be late, out of order, lost and repeated.
 */
short net[4];
int x; byte type, s, c, k;	/* local to a step */

/* Without LIVE, works may run at any time, and receiving need not wait: that is more than happens. */
#ifdef LIVE
#define KICK(i)		kicked[i] = true
#define KICKED(i)	kicked[i] -> kicked[i] = false
#define STASH(i, v)	stashed[i] = v
#define WAITING	PENDING
#define OWE(i, v)	owe[i] = v
#define OWED(i)	owe[i]
#else
#define KICK(i)		skip
#define KICKED(i)	true
#define STASH(i, v)	skip
#define WAITING	0	/* somebody always does */
#define OWE(i, v)	skip
#define OWED(i)	true
#endif

#define OTHER(i)	(1 - (i))
/* a session is two challenges, that of accelerator 0 first; 0 is none */
#define PART(i, s)	((i) -> (s) % 16 : (s) / 16)
#define SAME(a, b)	((a) && (a) == (b))

#ifdef LIVE
#define HAS_GATE(i)	true
#define FAULT(n)	(n > 0) -> n--
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
byte crashes = CRASHES, losses = LOSSES, dups = DUPS, wishes = WISHES, readies[2], patience[2];
#define QUIET		(!net[0] && !net[1] && !net[2] && !net[3] && !kicked[0] && !kicked[1] && !slow[0] && !slow[1])
#else
#define IMPORTS(i)	((i) == 0)
#define HAS_GATE(i)	((i) == 1)
#define FAULT(n)	true
#define QUIET		true
#endif

/* the number tells model.sh which property a seeded bug breaks */
#define MUST(number, what) assert(number && (what))
#define BOTH(p)		(p(0) && p(1))
#define COUNTED(i)	(!HAS_GATE(i) || granted[i] || import[1 - i] < ACTIVE || !(gate_open[i] || slow[i] == OPEN))
#define ONE_SESSION(i)	(!session[i] || import[i] != DYING)
#define WANTED(i)	(!gate_wanted[i] || session[i])
#define CHECK		MUST(101, BOTH(COUNTED)); MUST(102, BOTH(ONE_SESSION)); MUST(103, BOTH(WANTED))

inline sort(i) {
	if
	:: net[2 * i] < net[2 * i + 1] -> x = net[2 * i]; net[2 * i] = net[2 * i + 1]; net[2 * i + 1] = x
	:: else
	fi
}

/*
 * Whether a message can have an effect now or later. What it would have to match is
 * lost for ever otherwise. For a late HELLO, see the end.
 */
#define TYPE(m)		((m) / 256)
#define MINE(i, m)	(PART(i, (m) % 256) == challenge[i])
#ifdef ANY_SESSION
#define UNMATCHED(t)	((t) >= REQ)
#elif defined(ANY_READY_ACK)
#define UNMATCHED(t)	((t) == RDY_ACK)
#else
#define UNMATCHED(t)	false
#endif
#define ALIVE(i, m)	(UNMATCHED(TYPE(m)) || TYPE(m) == HELLO_ACK && greeting[i] == GREET && MINE(i, m) || \
			 TYPE(m) > HELLO_ACK && MINE(i, m) || \
			 (TYPE(m) == RDY || TYPE(m) == REQ || TYPE(m) == RSP && !import[i]) && SAME(session[i], (m) % 256))
inline purge(i) {
	if
	:: !ALIVE(i, net[2 * i]) -> net[2 * i] = net[2 * i + 1]; net[2 * i + 1] = 0
	:: else
	fi;
	if
	:: !ALIVE(i, net[2 * i + 1]) -> net[2 * i + 1] = 0
	:: else
	fi;
	if
	:: !ALIVE(i, net[2 * i]) -> net[2 * i] = net[2 * i + 1]; net[2 * i + 1] = 0
	:: else
	fi
}
#define FORGET		x = 0; type = 0; s = 0; c = 0; k = 0
#ifdef LIVE
#define DONE		d_step { CHECK; FORGET }
#else
#define DONE		d_step { CHECK; purge(0); purge(1); FORGET }
#endif

/*
 * need_challenge(), fresh_challenge(): the smallest that nobody knows any more. It is drawn when
 * the last one is given up, since nobody knows it before it is sent.
 */
inline fresh_challenge(i) {
	d_step {
	c = 1;
	do
	:: c == PART(i, session[0]) || c == PART(i, session[1]) || c == PART(i, pending[0]) ||
	   c == PART(i, pending[1]) || c == PART(i, net[0] % 256) || c == PART(i, net[1] % 256) ||
	   c == PART(i, net[2] % 256) || c == PART(i, net[3] % 256) -> c++
	:: else -> break
	od;
	assert(c < 16);
	challenge[i] = c
	}
}

/* ualink_tx_reply(), send_packet(): to @i */
inline send(i, t, v) {
	x = (t) * 256 + v;
	if
	:: net[2 * i] == x || net[2 * i + 1] == x
	:: else ->
		if
		:: FAULT(losses)
		:: net[2 * i + 1] == 0 -> net[2 * i + 1] = x
		:: net[2 * i + 1] -> net[2 * i + 1] = x
		:: net[2 * i + 1] -> net[2 * i] = x
		fi;
		sort(i)
	fi
}

inline receive(i) {
	if
	:: net[2 * i] -> k = 0
	:: net[2 * i + 1] -> k = 1
	fi;
	type = net[2 * i + k] / 256; s = net[2 * i + k] % 256;
	if
	:: FAULT(dups)
	:: true -> net[2 * i + k] = 0; sort(i)
	fi
}

/* send_hello() */
inline send_hello(i) {
#ifdef LIVE
	c = (i -> challenge[i] : challenge[i] * 16);
	send(OTHER(i), HELLO, c)
#else
	skip	/* see "late HELLO" below */
#endif
}

/* ualink_greeting_start() */
inline greeting_start(i) {
	if
	:: greeting[i] == NONE -> greeting[i] = GREET; send_hello(i);
#ifdef LIVE
		patience[i] = 1
#endif
	:: else
	fi
}

/* ualink_greeting_abort() */
inline greeting_abort(i) {
	greeting[i] = NONE; fresh_challenge(i); pending[i] = 0; peer_ready[i] = false; OWE(i, false)
}

/* ualink_tx_request(), ualink_tx_pump() */
inline pump(i) {
#ifdef LIVE
	if
	:: session[i] && import[i] == PENDING && !asked[i] -> asked[i] = true; send(OTHER(i), REQ, session[i])
	:: else
	fi
#else
	skip	/* it may be sent at any time, see below */
#endif
}

/* ualink_peer_end_session(), ualink_kill_session(), ualink_tx_session_ended() */
inline end_session(i) {
	if
	:: session[i] ->
		session[i] = 0; KICK(i);
		asked[i] = false;
#ifndef IMPORT_KEPT
		if
		:: import[i] == ACTIVE -> import[i] = DYING
		:: else
		fi
#endif
	:: else
	fi
}

/* ualink_peer_down(), fail_pending_imports() */
inline peer_down(i) {
	end_session(i);
	greeting_abort(i);
	if
	:: import[i] == PENDING -> import[i] = 0
	:: else
	fi;
	asked[i] = false;
	gate_wanted[i] = false; drop_grants[i] = HAS_GATE(i); KICK(i); STASH(i, false);
#ifdef DROPPED_WHEN_DOWN
	granted[i] = false
#endif
}

/* clean() */
inline clean(i, v) {
	pending[i] = v;
	end_session(i);
#ifdef DROPPED_WHEN_CLEANING
	granted[i] = false;
#endif
	gate_wanted[i] = false; drop_grants[i] = HAS_GATE(i);
	greeting[i] = CLEANING;
#ifndef NO_KICK
	KICK(i)
#endif
}

/* open_gate() of ualink_greeting.c */
inline want_open(i) {
	peer_ready[i] = true; greeting[i] = OPENING; KICK(i)
}

/* ualink_greeting_cleaned() */
inline greeting_cleaned(i) {
	if
	:: greeting[i] == CLEANING && peer_ready[i] -> want_open(i)
	:: greeting[i] == CLEANING && !peer_ready[i] ->
		greeting[i] = READY; send(OTHER(i), RDY, pending[i]);
#ifdef LIVE
		readies[i] = 1;
#ifdef PATIENCE_RENEWED
		patience[i] = 1;
#endif
#endif
#ifdef OPENED_WITH_READY
		want_open(i)
#endif
	:: else
	fi
}

/* ualink_greeting_opened() */
inline greeting_opened(i) {
	gate_wanted[i] = HAS_GATE(i);
	session[i] = pending[i]; k = OWED(i); x = challenge[i];
	greeting_abort(i);
#ifdef CHALLENGE_KEPT
	challenge[i] = x;
#endif
	if
	:: k -> send(OTHER(i), RDY_ACK, session[i])
	:: else
	fi;
#ifndef PENDING_FORGOTTEN
	pump(i);
#endif
#ifdef NOT_RECEIVED_AGAIN
	skip
#else
	STASH(i, false)
#endif
}

/* rx_hello() */
inline rx_hello(i) {
	s = s + (i -> challenge[i] : challenge[i] * 16);
	send(OTHER(i), HELLO_ACK, s);
#ifdef HELLO_BELIEVED
	clean(i, s); peer_ready[i] = true
#endif
}

/* answers_challenge() */
#define ANSWERS(i)	(PART(i, s) == challenge[i])

/* rx_hello_ack() */
inline rx_hello_ack(i) {
	if
	:: greeting[i] == GREET && ANSWERS(i) -> clean(i, s)
	:: else
	fi
}

/* rx_ready() */
inline rx_ready(i) {
	if
	:: SAME(session[i], s) -> send(OTHER(i), RDY_ACK, s)
	:: else ->
		if
		:: !ANSWERS(i)
		:: else ->
			OWE(i, true);
			if
			:: greeting[i] == OPENING && pending[i] == s
			:: greeting[i] == READY -> pending[i] = s; want_open(i)
			:: else -> peer_ready[i] = true; clean(i, s)
			fi
		fi
	fi
}

/* rx_ready_ack() */
inline rx_ready_ack(i) {
	if
#ifdef ANY_READY_ACK
	:: greeting[i] == READY -> want_open(i)
#else
	:: greeting[i] == READY && pending[i] == s -> want_open(i)
#endif
	:: else
	fi
}

/* rx_in_session(), ualink_grant_rx_import_req(), ualink_import_rx_rsp() */
inline rx_in_session(i) {
	if
	:: type == REQ -> granted[i] = true; send(OTHER(i), RSP, s)
	:: type == RSP && import[i] == WAITING -> import[i] = ACTIVE; asked[i] = false
	:: else
	fi
}

/* rx_nak(): all requests of a session are outstanding to it */
inline rx_nak(i) {
	if
#ifndef NAK_IGNORED
	:: SAME(session[i], s) -> greeting_start(i)
#endif
#ifdef ALL_REFUSED
	:: session[i] != s -> send(OTHER(i), NAK, s)
#endif
	:: else
	fi
}

/* rx_refuse(), send_nak() */
inline rx_refuse(i) {
#ifdef LIVE
	if
#ifdef ALL_REFUSED
	:: true -> send(OTHER(i), NAK, s)
#endif
	:: type == REQ || type == PING -> send(OTHER(i), NAK, s)
	:: else
	fi
#else
	skip
#endif
}

/* ualink_greeting_implied(); RX_LATER: rx_next() keeps the message */
inline greeting_implied(i) {
	if
	:: greeting[i] == READY -> want_open(i)
	:: else
	fi;
	STASH(i, true);
	send(i, type, s)
}

/* rx_dispatch(), ualink_greeting_rx() */
inline rx_dispatch(i) {
	if
	:: type == HELLO -> rx_hello(i)
	:: type == HELLO_ACK -> rx_hello_ack(i)
	:: type == RDY -> rx_ready(i)
	:: type == RDY_ACK -> rx_ready_ack(i)
	:: type == NAK -> rx_nak(i)
	:: type == REQ || type == RSP || type == PING ->
		if
#ifdef ANY_SESSION
		:: session[i] -> rx_in_session(i)
#else
		:: SAME(session[i], s) -> rx_in_session(i)
#endif
		:: !SAME(session[i], s) && SAME(pending[i], s) && (greeting[i] == READY || greeting[i] == OPENING) -> greeting_implied(i)
		:: else -> rx_refuse(i)
		fi
	fi
}

/* close_gate(); with DEAF, that of 1 cannot be closed, and it never answers a READY */
inline close_gate(i) {
#ifdef DEAF
	if
	:: i == 1 -> greeting_abort(i);
		if
		:: import[i] == PENDING -> import[i] = 0
		:: else
		fi
	:: else -> gate_open[i] = false; drop_grants[i] = false; granted[i] = false
	fi
#else
	gate_open[i] = false; drop_grants[i] = false; granted[i] = false
#endif
}

/* ualink_kill_work(); then the end of slow_work, and open_gate() */
inline kill_and_open(i) {
	if
	:: import[i] == DYING -> import[i] = 0
#ifndef LIVE
	:: import[i] == DYING	/* busy, tried again */
#endif
	:: else
	fi;
	slow[i] = IDLE;
	if
#ifdef READY_BEFORE_DEAD
	:: true -> greeting_cleaned(i)
#endif
	:: import[i] != DYING -> greeting_cleaned(i)
	:: else -> KICK(i)
	fi;
	if
	:: greeting[i] == OPENING && !HAS_GATE(i) -> greeting_opened(i)
	:: greeting[i] == OPENING && HAS_GATE(i) && !gate_open[i] && !drop_grants[i] -> slow[i] = OPEN
	:: greeting[i] == OPENING && (gate_open[i] || drop_grants[i]) -> KICK(i)
	:: else
	fi
}

#ifdef LONG
#define KILL_AND_OPEN(i) slow[i] = KILL
#else
#define KILL_AND_OPEN(i) kill_and_open(i)
#endif

/* ualink_device_deactivate() and ualink_device_activate(), or another kernel: forget_peers() */
inline crash(i) {
	greeting_abort(i);
	session[i] = 0; import[i] = 0; asked[i] = false; granted[i] = false; slow[i] = IDLE;
	gate_wanted[i] = false; drop_grants[i] = false; kicked[i] = false; STASH(i, false);
#ifndef OPEN_AFTER_RESET
	gate_open[i] = false
#endif
}

active [2] proctype Accelerator() {
	do
	/* ualink_rx_work(), rx_next(), rx_one(): one message, under the lock */
	:: atomic { !stashed[_pid] && (net[2 * _pid] || net[2 * _pid + 1]) ->
		receive(_pid); rx_dispatch(_pid); DONE }

	/* ualink_peer_slow_work(), move_gate(): what lies between unlocks */
	:: atomic { slow[_pid] == IDLE && KICKED(_pid) ->
		if
		:: !gate_wanted[_pid] && gate_open[_pid] -> slow[_pid] = CLOSE
		:: else ->
			if
			:: !gate_wanted[_pid] && drop_grants[_pid] -> close_gate(_pid)
			:: else
			fi;
			KILL_AND_OPEN(_pid)
		fi; DONE }
	:: atomic { slow[_pid] == CLOSE -> close_gate(_pid); KILL_AND_OPEN(_pid); DONE }
#ifdef LONG
	:: atomic { slow[_pid] == KILL -> kill_and_open(_pid); DONE }
#endif
	:: atomic { slow[_pid] == OPEN ->
		gate_open[_pid] = true; slow[_pid] = IDLE;
		if
#ifdef NOT_ASKED_AGAIN
		:: true -> greeting_opened(_pid)
#endif
		:: greeting[_pid] == OPENING -> greeting_opened(_pid)
		:: else -> KICK(_pid)
		fi; DONE }

#ifdef LIVE
	/* import_start(): somebody wants to import, and waits */
	:: atomic { import[_pid] == 0 && wishes > 0 ->
		wishes--; import[_pid] = PENDING; pump(_pid);
		if
		:: !session[_pid] -> greeting_start(_pid)
		:: else
		fi; DONE }
	/* ualink_timer_work(), not before all else is done: ualink_greeting_timer(), start_over() */
	:: atomic { QUIET && greeting[_pid] == GREET -> send_hello(_pid); DONE }
#ifndef READY_ONCE
	:: atomic { QUIET && greeting[_pid] == READY && readies[_pid] -> readies[_pid]--; send(OTHER(_pid), RDY, pending[_pid]); DONE }
	:: atomic { QUIET && greeting[_pid] == READY && !readies[_pid] ->
#ifdef NO_START_OVER
		send(OTHER(_pid), RDY, pending[_pid]); DONE }
#else
		/* start_over(), and greeting_expired() in the end */
		if
		:: patience[_pid] -> greeting_abort(_pid); greeting_start(_pid); patience[_pid] = 0
		:: else -> peer_down(_pid)
		fi; DONE }
#endif
#endif
	/* ualink_tx_retry(), heartbeat(); a PING matters only when it will be refused */
	:: atomic { QUIET && session[_pid] && greeting[_pid] == NONE && asked[_pid] -> send(OTHER(_pid), REQ, session[_pid]); DONE }
	:: atomic { QUIET && session[_pid] && greeting[_pid] == NONE && !asked[_pid] && (import[_pid] || granted[_pid]) && session[0] != session[1] ->
		send(OTHER(_pid), PING, session[_pid]); DONE }
	:: atomic { crashes > 0 -> crashes--; crash(_pid); DONE }
	:: atomic { crashes > 0 -> crashes--; peer_down(_pid); DONE }
#else
	/* ualink_timer_work(), be it too early: ualink_greeting_timer(), start_over(), check_answers() */
	/* rx_hello(): the HELLO of who still waits for an answer */
	:: atomic { greeting[OTHER(_pid)] == GREET ->
		s = (_pid -> challenge[0] * 16 : challenge[1]); rx_hello(_pid); DONE }
	:: atomic { greeting[_pid] == READY -> send(OTHER(_pid), RDY, pending[_pid]); DONE }
	:: atomic { greeting[_pid] == READY -> greeting_abort(_pid); greeting_start(_pid); DONE }
	:: atomic { greeting[_pid] == NONE -> fresh_challenge(_pid); DONE }
	:: atomic { session[_pid] || greeting[_pid] -> peer_down(_pid); DONE }
	/* ualink_tx_retry() */
	:: atomic { session[_pid] && import[_pid] == WAITING && IMPORTS(_pid) -> send(OTHER(_pid), REQ, session[_pid]); DONE }
	:: atomic { crash(_pid); DONE }
	/* a NAK; the PING of a heartbeat is no more than another READY_ACK */
	:: atomic { greeting[_pid] == NONE -> greeting_start(_pid); DONE }
#endif
	od
}

#ifdef LIVE
#define SETTLED(i)	(import[i] != PENDING && import[i] != DYING && greeting[i] == NONE && !stashed[i] && \
			 (!import[i] || session[0] == session[1]))
active proctype End() {
	timeout ->
	MUST(202, BOTH(SETTLED));
	do
	:: true ->
progress:	skip
	od
}
#endif
