/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_WIRE_H_
#define _UALINK_WIRE_H_

#include <linux/types.h>

struct ualink_msg;

/**
 * DOC: Message format
 *
 * Every message is 64 bytes, little-endian: a header of 32 bytes and a payload
 * of 32 bytes. Bytes that a message type does not use are zero, and a message
 * in which they are not is malformed.
 *
 * ::
 *
 *      0        1        2        3        4                 6
 *     +--------+--------+--------+--------+-----------------+-----------------+
 *   0 |version | type   | length |   0    | source id       | destination id  |
 *     +--------+--------+--------+--------+-----------------+-----------------+
 *   8 | request id                                                            |
 *     +-----------------------------------------------------------------------+
 *  16 | session: challenge of the lower of the two ids                        |
 *     +-----------------------------------------------------------------------+
 *  24 | session: challenge of the higher of the two ids                       |
 *     +-----------------------------------------------------------------------+
 *  32 | payload of "length" bytes, zeros up to 64                             |
 *     +-----------------------------------------------------------------------+
 *
 * The header is the same in all versions. A request carries a request id that is
 * new in its session and not 0, and what answers it, be it a NAK, carries the same
 * id and session. Messages of the greeting are told apart by their challenges, and
 * a BYE has no answer: their request id is 0. The session field holds
 *
 * - in a HELLO the sender's challenge, and 0 for the other;
 * - in a HELLO_NAK what the refused HELLO held: the receiver's challenge, and 0;
 * - in all other messages both challenges, and neither is 0.
 *
 * NAK refuses a request that is not of the greeting, and nothing else.
 *
 * ==== ============ ============ ====================================================
 * type message      answer       payload: offset and name of each field
 * ==== ============ ============ ====================================================
 * 0x01 HELLO        HELLO_ACK,   0 lowest version (u8), 1 highest version (u8),
 *                   HELLO_NAK    2 segment shift (u8), 3 page shift (u8),
 *                                4 features (u32), 8 vPod (16 bytes)
 * 0x02 HELLO_ACK                 as HELLO
 * 0x03 HELLO_NAK                 0 reason (u32)
 * 0x04 READY        READY_ACK
 * 0x05 READY_ACK
 * 0x10 IMPORT_REQ   IMPORT_RSP   0 tag, 8 secret, 16 access (u32)
 * 0x11 IMPORT_RSP                0 tag, 8 offset, 16 size, 24 status (u32),
 *                                28 access (u32)
 * 0x12 RELEASE      RELEASE_ACK  0 tag, 8 grant
 * 0x13 RELEASE_ACK               0 tag, 8 grant
 * 0x14 REVOKE       REVOKE_ACK   0 tag, 8 grant, 16 grace in ms (u32)
 * 0x15 REVOKE_ACK                0 tag, 8 grant
 * 0x16 PING         PONG
 * 0x17 PONG
 * 0x20 BYE                       0 reason (u32)
 * 0x21 NAK                       0 version (u8), 1 type (u8), 2 reason (u16),
 *                                8 request id, 16 and 24 session
 * ==== ============ ============ ====================================================
 *
 * Fields without a width have eight bytes. The low bits of a tag hold the id of the
 * exporter, so that each message about an export can come from one side only.
 * What a NAK says in its payload of the header that it refuses is what its own
 * header says.
 */

/* The range of versions that this implementation speaks. */
#define UALINK_VERSION_MIN	1
#define UALINK_VERSION_MAX	1

#define UALINK_HEADER_SIZE	32
#define UALINK_PAYLOAD_SIZE	32

/* Limits of what a HELLO can say of a segment. */
#define UALINK_PAGE_SHIFT_MIN		12
#define UALINK_SEGMENT_SHIFT_MAX	53

/*
 * enum ualink_msg_type - types of messages; an answer is its request plus one
 */
enum ualink_msg_type {
	UALINK_MSG_HELLO	= 0x01,	/* make a session with me */
	UALINK_MSG_HELLO_ACK	= 0x02,	/* agreed, and here is my challenge */
	UALINK_MSG_HELLO_NAK	= 0x03,	/* no, for this reason */
	UALINK_MSG_READY	= 0x04,	/* I hold nothing of an earlier session; you? */
	UALINK_MSG_READY_ACK	= 0x05,	/* neither do I */
	UALINK_MSG_IMPORT_REQ	= 0x10,	/* where is this export? */
	UALINK_MSG_IMPORT_RSP	= 0x11,	/* there, or an error */
	UALINK_MSG_RELEASE	= 0x12,	/* I do not use this grant any more */
	UALINK_MSG_RELEASE_ACK	= 0x13,
	UALINK_MSG_REVOKE	= 0x14,	/* stop using this export */
	UALINK_MSG_REVOKE_ACK	= 0x15,	/* nothing of it is in use, or under way */
	UALINK_MSG_PING		= 0x16,	/* are you there? */
	UALINK_MSG_PONG		= 0x17,
	UALINK_MSG_BYE		= 0x20,	/* this session is over */
	UALINK_MSG_NAK		= 0x21,	/* your message was refused */
	UALINK_MSG_TYPES	= 0x22,
};

/*
 * enum ualink_nak_reason - why a message or a greeting was refused
 */
enum ualink_nak_reason {
	UALINK_NAK_SESSION	= 1,	/* the message is not of our present session */
	UALINK_NAK_VERSION	= 2,	/* no version in common */
	UALINK_NAK_GEOMETRY	= 3,	/* segment or page sizes differ */
	UALINK_NAK_VPOD		= 4,	/* not in the same vPod */
	UALINK_NAK_INACTIVE	= 5,	/* not active (yet); try later */
	UALINK_NAK_MALFORMED	= 6,	/* the message breaks the format */
};

/*
 * enum ualink_bye_reason - why a session is over
 */
enum ualink_bye_reason {
	UALINK_BYE_INACTIVE	= 1,	/* the sender is being reset, suspended or removed */
	UALINK_BYE_VPOD		= 2,	/* one of the two has left the vPod */
};

/*
 * enum ualink_status - outcome of an IMPORT_REQ
 */
enum ualink_status {
	UALINK_STATUS_OK	= 0,
	UALINK_STATUS_NOENT	= 1,	/* unknown, ended, or not for you */
	UALINK_STATUS_ACCESS	= 2,	/* more access wanted than is granted */
	UALINK_STATUS_NOMEM	= 3,	/* the exporter has no memory for the grant */
};

/* A message in the CPU's order, checked: what the rest of the core works with. */
struct ualink_packet {
	u8 version;
	u8 type;
	u16 src;
	u16 dst;
	u64 request;
	u64 session[2];
	union {
		struct {
			u8 version_min, version_max;
			u8 segment_shift, page_shift;
			u32 features;
			u8 vpod[16];
		} hello;			/* HELLO, HELLO_ACK */
		struct {
			u32 reason;
		} hello_nak, bye;
		struct {
			u64 tag, secret;
			u32 access;
		} import_req;
		struct {
			u64 tag, offset, size;
			u32 status, access;
		} import_rsp;
		struct {
			u64 tag, grant;
			u32 grace_ms;		/* REVOKE only */
		} grant;			/* RELEASE, REVOKE and their answers */
		struct {
			u8 version, type;	/* of the message that was refused */
			u16 reason;
			u64 request;
			u64 session[2];
		} nak;
	};
};

/* Where and why a message failed to decode, in the order of the checks. */
enum ualink_decode_error {
	UALINK_DECODE_OK,
	UALINK_DECODE_SOURCE,		/* not the sender that the transport stamped, or no id */
	UALINK_DECODE_DESTINATION,	/* not us */
	UALINK_DECODE_VERSION,		/* not in our range; header fields are valid all the same */
	UALINK_DECODE_TYPE,
	UALINK_DECODE_LENGTH,
	UALINK_DECODE_RESERVED,		/* a byte that must be zero is not */
	UALINK_DECODE_REQUEST,		/* the request id is zero and must not be, or the reverse */
	UALINK_DECODE_SESSION,		/* a challenge is zero that must not be, or the reverse */
	UALINK_DECODE_VALUE,		/* a payload field is out of its range */
	UALINK_DECODE_ERRORS,
};

void ualink_packet_encode(const struct ualink_packet *pkt, struct ualink_msg *msg);
enum ualink_decode_error ualink_packet_decode(struct ualink_packet *pkt,
					      const struct ualink_msg *msg, u32 src, u32 dst);
bool ualink_packet_window_valid(const struct ualink_packet *pkt, u8 segment_shift, u64 page_size);
bool ualink_msg_type_valid(u8 type);

static inline bool ualink_session_equal(const u64 a[2], const u64 b[2])
{
	return a[0] == b[0] && a[1] == b[1];
}

/* Index of the challenge of @id in the number of a session with @other. */
static inline unsigned int ualink_challenge_slot(u32 id, u32 other)
{
	return id > other;
}

/* Messages that are answered, and their answers. */
static inline bool ualink_msg_is_request(u8 type)
{
	switch (type) {
	case UALINK_MSG_HELLO:
	case UALINK_MSG_READY:
	case UALINK_MSG_IMPORT_REQ:
	case UALINK_MSG_RELEASE:
	case UALINK_MSG_REVOKE:
	case UALINK_MSG_PING:
		return true;
	default:
		return false;
	}
}

/* Messages that make a session; all others belong to one. */
static inline bool ualink_msg_is_greeting(u8 type)
{
	return type >= UALINK_MSG_HELLO && type <= UALINK_MSG_READY_ACK;
}

#endif /* _UALINK_WIRE_H_ */
