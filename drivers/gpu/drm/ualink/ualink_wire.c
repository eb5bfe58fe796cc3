// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Messages: from the CPU's order to 64 bytes, and back with all checks that do not
 * need to know more than the message and its two ends.
 *
 * One table says which field of which message lies where. Both directions use it,
 * so that a message that decodes is, byte for byte, what encoding it would give.
 */

#include <linux/overflow.h>
#include <linux/string.h>
#include <linux/ualink.h>
#include <linux/unaligned.h>

#include "ualink_internal.h"
#include "ualink_names.h"
#include "ualink_wire.h"

static_assert(sizeof(struct ualink_packet) <= U8_MAX);
static_assert(sizeof(struct ualink_msg) == UALINK_HEADER_SIZE + UALINK_PAYLOAD_SIZE);

#define UALINK_ACCESS_ALL	(UALINK_ACCESS_READ | UALINK_ACCESS_WRITE)

/* Where the fields of the header are. */
enum {
	AT_VERSION	= 0,
	AT_TYPE		= 1,
	AT_LENGTH	= 2,
	AT_RESERVED	= 3,
	AT_SRC		= 4,
	AT_DST		= 6,
	AT_REQUEST	= 8,
	AT_SESSION	= 16,
};

/* A field of a payload: its place there, its bytes, its place in struct ualink_packet. */
struct field {
	u8 at;
	u8 size;
	u8 member;
};

#define FIELD(_at, _size, _member)	\
	{ (_at), (_size), offsetof(struct ualink_packet, _member) }

/* All lists end with a field of no bytes. */
static const struct field no_fields[] = {
	{}
};

static const struct field hello_fields[] = {
	FIELD(0, 1, hello.version_min),
	FIELD(1, 1, hello.version_max),
	FIELD(2, 1, hello.segment_shift),
	FIELD(3, 1, hello.page_shift),
	FIELD(4, 4, hello.features),
	FIELD(8, 16, hello.vpod),
	{}
};

static const struct field hello_nak_fields[] = {
	FIELD(0, 4, hello_nak.reason),
	{}
};

static const struct field bye_fields[] = {
	FIELD(0, 4, bye.reason),
	{}
};

static const struct field import_req_fields[] = {
	FIELD(0, 8, import_req.tag),
	FIELD(8, 8, import_req.secret),
	FIELD(16, 4, import_req.access),
	{}
};

static const struct field import_rsp_fields[] = {
	FIELD(0, 8, import_rsp.tag),
	FIELD(8, 8, import_rsp.offset),
	FIELD(16, 8, import_rsp.size),
	FIELD(24, 4, import_rsp.status),
	FIELD(28, 4, import_rsp.access),
	{}
};

static const struct field grant_fields[] = {
	FIELD(0, 8, grant.tag),
	FIELD(8, 8, grant.grant),
	{}
};

static const struct field revoke_fields[] = {
	FIELD(0, 8, grant.tag),
	FIELD(8, 8, grant.grant),
	FIELD(16, 4, grant.grace_ms),
	{}
};

static const struct field nak_fields[] = {
	FIELD(0, 1, nak.version),
	FIELD(1, 1, nak.type),
	FIELD(2, 2, nak.reason),
	FIELD(8, 8, nak.request),
	FIELD(16, 8, nak.session[0]),
	FIELD(24, 8, nak.session[1]),
	{}
};

static bool tag_of(u64 tag, u16 id)
{
	return (tag & (UALINK_MAX_IDS - 1)) == id;
}

static bool access_valid(u32 access)
{
	return access && !(access & ~UALINK_ACCESS_ALL);
}

static bool nak_reason_valid(u32 reason)
{
	return reason >= UALINK_NAK_SESSION && reason <= UALINK_NAK_MALFORMED;
}

static bool hello_valid(const struct ualink_packet *pkt)
{
	return pkt->hello.version_min && pkt->hello.version_min <= pkt->hello.version_max &&
	       pkt->hello.page_shift >= UALINK_PAGE_SHIFT_MIN &&
	       pkt->hello.page_shift < pkt->hello.segment_shift &&
	       pkt->hello.segment_shift <= UALINK_SEGMENT_SHIFT_MAX;
}

static bool hello_nak_valid(const struct ualink_packet *pkt)
{
	return nak_reason_valid(pkt->hello_nak.reason);
}

static bool nak_valid(const struct ualink_packet *pkt)
{
	return nak_reason_valid(pkt->nak.reason) &&
	       ualink_msg_is_request(pkt->nak.type) && !ualink_msg_is_greeting(pkt->nak.type) &&
	       pkt->nak.request == pkt->request &&
	       ualink_session_equal(pkt->nak.session, pkt->session);
}

static bool bye_valid(const struct ualink_packet *pkt)
{
	return pkt->bye.reason >= UALINK_BYE_INACTIVE && pkt->bye.reason <= UALINK_BYE_VPOD;
}

static bool import_req_valid(const struct ualink_packet *pkt)
{
	return tag_of(pkt->import_req.tag, pkt->dst) && access_valid(pkt->import_req.access);
}

static bool window_granted(const struct ualink_packet *pkt)
{
	u64 end;

	return pkt->import_rsp.size && access_valid(pkt->import_rsp.access) &&
	       !check_add_overflow(pkt->import_rsp.offset, pkt->import_rsp.size, &end);
}

static bool window_refused(const struct ualink_packet *pkt)
{
	return pkt->import_rsp.status <= UALINK_STATUS_NOMEM &&
	       !pkt->import_rsp.offset && !pkt->import_rsp.size && !pkt->import_rsp.access;
}

static bool import_rsp_valid(const struct ualink_packet *pkt)
{
	if (!tag_of(pkt->import_rsp.tag, pkt->src))
		return false;
	if (pkt->import_rsp.status == UALINK_STATUS_OK)
		return window_granted(pkt);
	return window_refused(pkt);
}

/* RELEASE and REVOKE_ACK come from the importer. */
static bool grant_from_importer_valid(const struct ualink_packet *pkt)
{
	return tag_of(pkt->grant.tag, pkt->dst) && pkt->grant.grant;
}

/* REVOKE and RELEASE_ACK come from the exporter. */
static bool grant_from_exporter_valid(const struct ualink_packet *pkt)
{
	return tag_of(pkt->grant.tag, pkt->src) && pkt->grant.grant;
}

/* What the session field holds, see DOC: Message format. */
enum session_rule {
	SESSION_BOTH,
	SESSION_SENDER,
	SESSION_RECEIVER,
};

struct layout {
	const char *name;
	const struct field *fields;
	bool (*valid)(const struct ualink_packet *pkt);
	u8 length;
	/* An &enum session_rule */
	u8 session;
};

static const struct layout layouts[UALINK_MSG_TYPES] = {
	[UALINK_MSG_HELLO] = {
		.name = "HELLO",
		.fields = hello_fields,
		.length = 24,
		.valid = hello_valid,
		.session = SESSION_SENDER,
	},
	[UALINK_MSG_HELLO_ACK] = {
		.name = "HELLO_ACK",
		.fields = hello_fields,
		.length = 24,
		.valid = hello_valid,
	},
	[UALINK_MSG_HELLO_NAK] = {
		.name = "HELLO_NAK",
		.fields = hello_nak_fields,
		.length = 4,
		.valid = hello_nak_valid,
		.session = SESSION_RECEIVER,
	},
	[UALINK_MSG_READY] = {
		.name = "READY",
		.fields = no_fields,
	},
	[UALINK_MSG_READY_ACK] = {
		.name = "READY_ACK",
		.fields = no_fields,
	},
	[UALINK_MSG_IMPORT_REQ] = {
		.name = "IMPORT_REQ",
		.fields = import_req_fields,
		.length = 20,
		.valid = import_req_valid,
	},
	[UALINK_MSG_IMPORT_RSP] = {
		.name = "IMPORT_RSP",
		.fields = import_rsp_fields,
		.length = 32,
		.valid = import_rsp_valid,
	},
	[UALINK_MSG_RELEASE] = {
		.name = "RELEASE",
		.fields = grant_fields,
		.length = 16,
		.valid = grant_from_importer_valid,
	},
	[UALINK_MSG_RELEASE_ACK] = {
		.name = "RELEASE_ACK",
		.fields = grant_fields,
		.length = 16,
		.valid = grant_from_exporter_valid,
	},
	[UALINK_MSG_REVOKE] = {
		.name = "REVOKE",
		.fields = revoke_fields,
		.length = 20,
		.valid = grant_from_exporter_valid,
	},
	[UALINK_MSG_REVOKE_ACK] = {
		.name = "REVOKE_ACK",
		.fields = grant_fields,
		.length = 16,
		.valid = grant_from_importer_valid,
	},
	[UALINK_MSG_PING] = {
		.name = "PING",
		.fields = no_fields,
	},
	[UALINK_MSG_PONG] = {
		.name = "PONG",
		.fields = no_fields,
	},
	[UALINK_MSG_BYE] = {
		.name = "BYE",
		.fields = bye_fields,
		.length = 4,
		.valid = bye_valid,
	},
	[UALINK_MSG_NAK] = {
		.name = "NAK",
		.fields = nak_fields,
		.length = 32,
		.valid = nak_valid,
	},
};

static const struct layout *layout_of(u8 type)
{
	return type < UALINK_MSG_TYPES && layouts[type].name ? &layouts[type] : NULL;
}

bool ualink_msg_type_valid(u8 type)
{
	return layout_of(type);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_msg_type_valid);

/* Name of a message type, for people. */
const char *ualink_msg_type_name(u8 type)
{
	const struct layout *layout = layout_of(type);

	return layout ? layout->name : "?";
}
EXPORT_SYMBOL_IF_KUNIT(ualink_msg_type_name);

static void encode_field(u8 *to, const void *from, u8 size)
{
	switch (size) {
	case sizeof(u16):
		put_unaligned_le16(*(const u16 *)from, to);
		break;
	case sizeof(u32):
		put_unaligned_le32(*(const u32 *)from, to);
		break;
	case sizeof(u64):
		put_unaligned_le64(*(const u64 *)from, to);
		break;
	default:
		memcpy(to, from, size);
		break;
	}
}

static void decode_field(void *to, const u8 *from, u8 size)
{
	switch (size) {
	case sizeof(u16):
		*(u16 *)to = get_unaligned_le16(from);
		break;
	case sizeof(u32):
		*(u32 *)to = get_unaligned_le32(from);
		break;
	case sizeof(u64):
		*(u64 *)to = get_unaligned_le64(from);
		break;
	default:
		memcpy(to, from, size);
		break;
	}
}

/* Puts @pkt, whose members must be in their ranges, into words. */
void ualink_packet_encode(const struct ualink_packet *pkt, struct ualink_msg *msg)
{
	const struct layout *layout = layout_of(pkt->type);
	u8 *bytes = (u8 *)msg->words;
	const struct field *field;

	memset(msg, 0, sizeof(*msg));
	bytes[AT_VERSION] = pkt->version;
	bytes[AT_TYPE] = pkt->type;
	put_unaligned_le16(pkt->src, bytes + AT_SRC);
	put_unaligned_le16(pkt->dst, bytes + AT_DST);
	put_unaligned_le64(pkt->request, bytes + AT_REQUEST);
	put_unaligned_le64(pkt->session[0], bytes + AT_SESSION);
	put_unaligned_le64(pkt->session[1], bytes + AT_SESSION + sizeof(u64));
	if (!layout)
		return;

	bytes[AT_LENGTH] = layout->length;
	for (field = layout->fields; field->size; field++)
		encode_field(bytes + UALINK_HEADER_SIZE + field->at,
			     (const u8 *)pkt + field->member, field->size);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_packet_encode);

static void decode_header(struct ualink_packet *pkt, const u8 *bytes)
{
	pkt->version = bytes[AT_VERSION];
	pkt->type = bytes[AT_TYPE];
	pkt->src = get_unaligned_le16(bytes + AT_SRC);
	pkt->dst = get_unaligned_le16(bytes + AT_DST);
	pkt->request = get_unaligned_le64(bytes + AT_REQUEST);
	pkt->session[0] = get_unaligned_le64(bytes + AT_SESSION);
	pkt->session[1] = get_unaligned_le64(bytes + AT_SESSION + sizeof(u64));
}

/*
 * Takes the fields of a payload out of it.
 * Returns: whether nothing but the fields was there.
 */
static bool decode_payload(struct ualink_packet *pkt, const u8 *bytes,
			   const struct layout *layout)
{
	u8 rest[UALINK_PAYLOAD_SIZE];
	const struct field *field;

	memcpy(rest, bytes, sizeof(rest));
	for (field = layout->fields; field->size; field++) {
		decode_field((u8 *)pkt + field->member, bytes + field->at, field->size);
		memset(rest + field->at, 0, field->size);
	}
	return !memchr_inv(rest, 0, sizeof(rest));
}

static bool has_request(u8 type)
{
	return type != UALINK_MSG_BYE && !ualink_msg_is_greeting(type);
}

static bool session_valid(const struct ualink_packet *pkt, enum session_rule rule)
{
	unsigned int sender = ualink_challenge_slot(pkt->src, pkt->dst);
	bool has_sender = pkt->session[sender];
	bool has_receiver = pkt->session[!sender];

	switch (rule) {
	case SESSION_SENDER:
		return has_sender && !has_receiver;
	case SESSION_RECEIVER:
		return !has_sender && has_receiver;
	default:
		return has_sender && has_receiver;
	}
}

/*
 * Takes @msg, which the transport says is from @src, apart for accelerator @dst.
 *
 * The header of @pkt is what the message says, even when that is wrong; only the
 * payload of a message without errors may be used.
 */
enum ualink_decode_error ualink_packet_decode(struct ualink_packet *pkt,
					      const struct ualink_msg *msg, u32 src, u32 dst)
{
	const u8 *bytes = (const u8 *)msg->words;
	const struct layout *layout;

	memset(pkt, 0, sizeof(*pkt));
	decode_header(pkt, bytes);
	if (pkt->src != src || pkt->src >= UALINK_MAX_IDS)
		return UALINK_DECODE_SOURCE;
	if (pkt->dst != dst)
		return UALINK_DECODE_DESTINATION;
	if (pkt->version < UALINK_VERSION_MIN || pkt->version > UALINK_VERSION_MAX)
		return UALINK_DECODE_VERSION;

	layout = layout_of(pkt->type);
	if (!layout)
		return UALINK_DECODE_TYPE;
	if (bytes[AT_LENGTH] != layout->length)
		return UALINK_DECODE_LENGTH;
	if (bytes[AT_RESERVED] || !decode_payload(pkt, bytes + UALINK_HEADER_SIZE, layout))
		return UALINK_DECODE_RESERVED;
	if (!pkt->request == has_request(pkt->type))
		return UALINK_DECODE_REQUEST;
	if (!session_valid(pkt, layout->session))
		return UALINK_DECODE_SESSION;
	if (layout->valid && !layout->valid(pkt))
		return UALINK_DECODE_VALUE;
	return UALINK_DECODE_OK;
}
EXPORT_SYMBOL_IF_KUNIT(ualink_packet_decode);

/*
 * Whether the window of a granted IMPORT_RSP is one that can exist in a segment of the
 * exporter: whole pages, inside of it, and not the first page, which is never used.
 */
bool ualink_packet_window_valid(const struct ualink_packet *pkt, u8 segment_shift, u64 page_size)
{
	u64 offset = pkt->import_rsp.offset;
	u64 size = pkt->import_rsp.size;
	u64 end;

	if (!offset || !size || (offset | size) & (page_size - 1))
		return false;
	return !check_add_overflow(offset, size, &end) && end <= BIT_ULL(segment_shift);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_packet_window_valid);
