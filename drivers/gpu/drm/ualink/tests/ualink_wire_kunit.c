// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>

#include "../ualink_internal.h"
#include "../ualink_names.h"

/* The ends of most messages here; the lower one sends, so that its challenge comes first. */
#define SRC		5
#define DST		900
#define SEED		0x77697265
#define FUZZ_ROUNDS	100000

#define TAG(_id, _upper)	((u64)(_upper) << 10 | (_id))

static const u8 types[] = {
	UALINK_MSG_HELLO,
	UALINK_MSG_HELLO_ACK,
	UALINK_MSG_HELLO_NAK,
	UALINK_MSG_READY,
	UALINK_MSG_READY_ACK,
	UALINK_MSG_IMPORT_REQ,
	UALINK_MSG_IMPORT_RSP,
	UALINK_MSG_RELEASE,
	UALINK_MSG_RELEASE_ACK,
	UALINK_MSG_REVOKE,
	UALINK_MSG_REVOKE_ACK,
	UALINK_MSG_PING,
	UALINK_MSG_PONG,
	UALINK_MSG_BYE,
	UALINK_MSG_NAK,
};

static void type_desc(const u8 *type, char *desc)
{
	strscpy(desc, ualink_msg_type_name(*type), KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(types, types, type_desc);

static u64 random_u64(struct rnd_state *rnd)
{
	u64 high = prandom_u32_state(rnd);

	return high << 32 | prandom_u32_state(rnd);
}

static u64 random_non_zero(struct rnd_state *rnd)
{
	return random_u64(rnd) ?: 1;
}

static u32 random_below(struct rnd_state *rnd, u32 limit)
{
	return prandom_u32_state(rnd) % limit;
}

static u32 random_access(struct rnd_state *rnd)
{
	return 1 + random_below(rnd, 3);
}

static u64 random_tag(struct rnd_state *rnd, u16 id)
{
	return TAG(id, random_u64(rnd) >> 10);
}

static void random_hello(struct rnd_state *rnd, struct ualink_packet *pkt)
{
	pkt->hello.version_min = 1 + random_below(rnd, U8_MAX);
	pkt->hello.version_max = pkt->hello.version_min +
				 random_below(rnd, U8_MAX + 1 - pkt->hello.version_min);
	pkt->hello.page_shift = 12 + random_below(rnd, 41);
	pkt->hello.segment_shift = pkt->hello.page_shift + 1 +
				   random_below(rnd, 53 - pkt->hello.page_shift);
	pkt->hello.features = prandom_u32_state(rnd);
	prandom_bytes_state(rnd, pkt->hello.vpod, sizeof(pkt->hello.vpod));
}

static void random_import_rsp(struct rnd_state *rnd, struct ualink_packet *pkt)
{
	pkt->import_rsp.tag = random_tag(rnd, pkt->src);
	pkt->import_rsp.status = random_below(rnd, UALINK_STATUS_NOMEM + 1);
	if (pkt->import_rsp.status)
		return;
	pkt->import_rsp.offset = random_u64(rnd) >> 1;
	pkt->import_rsp.size = (random_u64(rnd) >> 1) + 1;
	pkt->import_rsp.access = random_access(rnd);
}

static void random_nak(struct rnd_state *rnd, struct ualink_packet *pkt)
{
	static const u8 refused[] = {
		UALINK_MSG_IMPORT_REQ, UALINK_MSG_RELEASE, UALINK_MSG_REVOKE, UALINK_MSG_PING,
	};

	pkt->nak.version = prandom_u32_state(rnd);
	pkt->nak.type = refused[random_below(rnd, ARRAY_SIZE(refused))];
	pkt->nak.reason = 1 + random_below(rnd, UALINK_NAK_MALFORMED);
	pkt->nak.request = pkt->request;
	memcpy(pkt->nak.session, pkt->session, sizeof(pkt->session));
}

static void random_grant(struct rnd_state *rnd, struct ualink_packet *pkt, u16 exporter)
{
	pkt->grant.tag = random_tag(rnd, exporter);
	pkt->grant.grant = random_non_zero(rnd);
	if (pkt->type == UALINK_MSG_REVOKE)
		pkt->grant.grace_ms = prandom_u32_state(rnd);
}

static void random_payload(struct rnd_state *rnd, struct ualink_packet *pkt)
{
	switch (pkt->type) {
	case UALINK_MSG_HELLO:
	case UALINK_MSG_HELLO_ACK:
		random_hello(rnd, pkt);
		break;
	case UALINK_MSG_HELLO_NAK:
		pkt->hello_nak.reason = 1 + random_below(rnd, UALINK_NAK_MALFORMED);
		break;
	case UALINK_MSG_IMPORT_REQ:
		pkt->import_req.tag = random_tag(rnd, pkt->dst);
		pkt->import_req.secret = random_u64(rnd);
		pkt->import_req.access = random_access(rnd);
		break;
	case UALINK_MSG_IMPORT_RSP:
		random_import_rsp(rnd, pkt);
		break;
	case UALINK_MSG_RELEASE:
	case UALINK_MSG_REVOKE_ACK:
		random_grant(rnd, pkt, pkt->dst);
		break;
	case UALINK_MSG_REVOKE:
	case UALINK_MSG_RELEASE_ACK:
		random_grant(rnd, pkt, pkt->src);
		break;
	case UALINK_MSG_BYE:
		pkt->bye.reason = 1 + random_below(rnd, UALINK_BYE_VPOD);
		break;
	case UALINK_MSG_NAK:
		random_nak(rnd, pkt);
		break;
	}
}

/* A message of @type that has no fault. */
static void random_packet(struct rnd_state *rnd, struct ualink_packet *pkt,
			  u8 type, u16 src, u16 dst)
{
	unsigned int sender = src > dst;

	memset(pkt, 0, sizeof(*pkt));
	pkt->version = UALINK_VERSION_MAX;
	pkt->type = type;
	pkt->src = src;
	pkt->dst = dst;
	if (!ualink_msg_is_greeting(type) && type != UALINK_MSG_BYE)
		pkt->request = random_non_zero(rnd);
	if (type != UALINK_MSG_HELLO_NAK)
		pkt->session[sender] = random_non_zero(rnd);
	if (type != UALINK_MSG_HELLO)
		pkt->session[!sender] = random_non_zero(rnd);
	random_payload(rnd, pkt);
}

/* What is said is what is understood, for any content and in both directions. */
static void wire_round_trip(struct kunit *test)
{
	static const u16 ends[][2] = {
		{ SRC, DST }, { DST, SRC }, { 0, 1023 }, { 1023, 0 }, { 1022, 1023 },
	};
	u8 type = *(const u8 *)test->param_value;
	struct ualink_packet pkt, back;
	struct ualink_msg msg;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, SEED + type);
	for (i = 0; i < 1000; i++) {
		const u16 *end = ends[i % ARRAY_SIZE(ends)];

		random_packet(&rnd, &pkt, type, end[0], end[1]);
		memset(&msg, 0xff, sizeof(msg));
		memset(&back, 0xff, sizeof(back));
		ualink_packet_encode(&pkt, &msg);
		KUNIT_ASSERT_EQ(test, ualink_packet_decode(&back, &msg, end[0], end[1]),
				UALINK_DECODE_OK);
		KUNIT_ASSERT_MEMEQ(test, &back, &pkt, sizeof(pkt));
	}
}

/* The connection of an accelerator to itself has sessions, but no greeting. */
static void wire_round_trip_to_self(struct kunit *test)
{
	u8 type = *(const u8 *)test->param_value;
	struct ualink_packet pkt, back;
	struct ualink_msg msg;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, SEED + type);
	random_packet(&rnd, &pkt, type, SRC, SRC);
	ualink_packet_encode(&pkt, &msg);
	KUNIT_EXPECT_EQ(test, ualink_packet_decode(&back, &msg, SRC, SRC), UALINK_DECODE_OK);
	KUNIT_EXPECT_MEMEQ(test, &back, &pkt, sizeof(pkt));
}

/* The bytes themselves, written down by hand from DOC: Message format. */
struct golden {
	const char *name;
	struct ualink_packet pkt;
	u8 bytes[UALINK_MSG_SIZE];
};

#define GOLDEN_HEADER(_type)						\
	.version = 1, .type = (_type), .src = 0x102, .dst = 0x304

#define GOLDEN_SESSION							\
	.session = { 0x2827262524232221, 0x3837363534333231 }

static const struct golden goldens[] = {
	{
		.name = "HELLO",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_HELLO),
			.session = { 0x2827262524232221, 0 },
			.hello = {
				.version_min = 1,
				.version_max = 0xa2,
				.segment_shift = 53,
				.page_shift = 12,
				.features = 0xb4b3b2b1,
				.vpod = {
					0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
					0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xc0,
				},
			},
		},
		.bytes = {
			1, 0x01, 24, 0, 0x02, 0x01, 0x04, 0x03, 0, 0, 0, 0, 0, 0, 0, 0,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0, 0, 0, 0, 0, 0, 0, 0,
			1, 0xa2, 53, 12, 0xb1, 0xb2, 0xb3, 0xb4,
			0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8,
			0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xc0,
		},
	}, {
		.name = "IMPORT_REQ",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_IMPORT_REQ),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
			.import_req = {
				.tag = 0xe8e7e6e5e4e3e304,
				.secret = 0xf8f7f6f5f4f3f2f1,
				.access = 3,
			},
		},
		.bytes = {
			1, 0x10, 20, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x04, 0xe3, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
			0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8,
			3, 0, 0, 0,
		},
	}, {
		.name = "IMPORT_RSP",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_IMPORT_RSP),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
			.import_rsp = {
				.tag = 0xe8e7e6e5e4e3e102,
				.offset = 0x0807060504030000,
				.size = 0x0a0b0c0d0e0f0000,
				.status = UALINK_STATUS_OK,
				.access = 1,
			},
		},
		.bytes = {
			1, 0x11, 32, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x02, 0xe1, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
			0x00, 0x00, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
			0x00, 0x00, 0x0f, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a,
			0, 0, 0, 0, 1, 0, 0, 0,
		},
	}, {
		.name = "IMPORT_RSP refused",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_IMPORT_RSP),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
			.import_rsp = {
				.tag = 0xe8e7e6e5e4e3e102,
				.status = UALINK_STATUS_ACCESS,
			},
		},
		.bytes = {
			1, 0x11, 32, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x02, 0xe1, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
			2, 0, 0, 0, 0, 0, 0, 0,
		},
	}, {
		.name = "REVOKE",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_REVOKE),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
			.grant = {
				.tag = 0xe8e7e6e5e4e3e102,
				.grant = 0xd8d7d6d5d4d3d2d1,
				.grace_ms = 0xb4b3b2b1,
			},
		},
		.bytes = {
			1, 0x14, 20, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x02, 0xe1, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
			0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8,
			0xb1, 0xb2, 0xb3, 0xb4,
		},
	}, {
		.name = "REVOKE_ACK",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_REVOKE_ACK),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
			.grant = {
				.tag = 0xe8e7e6e5e4e3e304,
				.grant = 0xd8d7d6d5d4d3d2d1,
			},
		},
		.bytes = {
			1, 0x15, 16, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x04, 0xe3, 0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8,
			0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8,
		},
	}, {
		.name = "PING",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_PING),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
		},
		.bytes = {
			1, 0x16, 0, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
		},
	}, {
		.name = "BYE",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_BYE),
			GOLDEN_SESSION,
			.bye = { .reason = UALINK_BYE_VPOD },
		},
		.bytes = {
			1, 0x20, 4, 0, 0x02, 0x01, 0x04, 0x03, 0, 0, 0, 0, 0, 0, 0, 0,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			2, 0, 0, 0,
		},
	}, {
		.name = "NAK",
		.pkt = {
			GOLDEN_HEADER(UALINK_MSG_NAK),
			.request = 0x1817161514131211,
			GOLDEN_SESSION,
			.nak = {
				.version = 0x9a,
				.type = UALINK_MSG_IMPORT_REQ,
				.reason = UALINK_NAK_SESSION,
				.request = 0x1817161514131211,
				GOLDEN_SESSION,
			},
		},
		.bytes = {
			1, 0x21, 32, 0, 0x02, 0x01, 0x04, 0x03,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
			0x9a, 0x10, 1, 0, 0, 0, 0, 0,
			0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
			0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
			0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
		},
	},
};

KUNIT_ARRAY_PARAM_DESC(goldens, goldens, name);

static void wire_golden(struct kunit *test)
{
	const struct golden *golden = test->param_value;
	struct ualink_packet pkt;
	struct ualink_msg msg;

	ualink_packet_encode(&golden->pkt, &msg);
	KUNIT_EXPECT_MEMEQ(test, &msg, golden->bytes, sizeof(msg));

	memcpy(&msg, golden->bytes, sizeof(msg));
	KUNIT_EXPECT_EQ(test, ualink_packet_decode(&pkt, &msg, 0x102, 0x304), UALINK_DECODE_OK);
	KUNIT_EXPECT_MEMEQ(test, &pkt, &golden->pkt, sizeof(pkt));
}

/* Numbers put at some place of a message, little-endian. */
struct poke {
	u8 at;
	u8 size;
	u64 value;
};

/* A message with one fault, made from one without. */
struct fault {
	const char *name;
	enum ualink_decode_error error;
	u8 type;
	/* The base is an IMPORT_RSP that refuses */
	bool refused;
	/* The sender in the transport's view, if not SRC */
	u16 stamp;
	struct poke poke;
};

#define P(_at, _size, _value)	{ .at = (_at), .size = (_size), .value = (_value) }

static const struct fault faults[] = {
	/* Header */
	{ "source is another", UALINK_DECODE_SOURCE, UALINK_MSG_PING, .poke = P(4, 2, SRC + 1) },
	{ "source is destination", UALINK_DECODE_SOURCE, UALINK_MSG_PING, .poke = P(4, 2, DST) },
	{ "source is no id", UALINK_DECODE_SOURCE, UALINK_MSG_PING,
	  .stamp = 1024, .poke = P(4, 2, 1024) },
	{ "source is far from an id", UALINK_DECODE_SOURCE, UALINK_MSG_PING,
	  .stamp = U16_MAX, .poke = P(4, 2, U16_MAX) },
	{ "stamp is another", UALINK_DECODE_SOURCE, UALINK_MSG_PING, .stamp = SRC + 1 },
	{ "destination is another", UALINK_DECODE_DESTINATION, UALINK_MSG_PING,
	  .poke = P(6, 2, DST - 1) },
	{ "destination is source", UALINK_DECODE_DESTINATION, UALINK_MSG_PING,
	  .poke = P(6, 2, SRC) },
	{ "destination has high bits", UALINK_DECODE_DESTINATION, UALINK_MSG_PING,
	  .poke = P(6, 2, DST | 0x8000) },
	{ "version 0", UALINK_DECODE_VERSION, UALINK_MSG_PING, .poke = P(0, 1, 0) },
	{ "next version", UALINK_DECODE_VERSION, UALINK_MSG_PING,
	  .poke = P(0, 1, UALINK_VERSION_MAX + 1) },
	{ "last version", UALINK_DECODE_VERSION, UALINK_MSG_PING, .poke = P(0, 1, U8_MAX) },
	{ "type 0", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, 0) },
	{ "type after greeting", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, 0x06) },
	{ "type before requests", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, 0x0f) },
	{ "type after requests", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, 0x18) },
	{ "type before BYE", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, 0x1f) },
	{ "type after NAK", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, 0x22) },
	{ "last type", UALINK_DECODE_TYPE, UALINK_MSG_PING, .poke = P(1, 1, U8_MAX) },
	{ "payload of none", UALINK_DECODE_LENGTH, UALINK_MSG_PING, .poke = P(2, 1, 1) },
	{ "too short", UALINK_DECODE_LENGTH, UALINK_MSG_REVOKE, .poke = P(2, 1, 19) },
	{ "too long", UALINK_DECODE_LENGTH, UALINK_MSG_REVOKE, .poke = P(2, 1, 21) },
	{ "empty", UALINK_DECODE_LENGTH, UALINK_MSG_IMPORT_RSP, .poke = P(2, 1, 0) },
	{ "longer than a message", UALINK_DECODE_LENGTH, UALINK_MSG_IMPORT_RSP,
	  .poke = P(2, 1, 33) },
	{ "longest", UALINK_DECODE_LENGTH, UALINK_MSG_IMPORT_RSP, .poke = P(2, 1, U8_MAX) },
	{ "other type's length", UALINK_DECODE_LENGTH, UALINK_MSG_REVOKE,
	  .poke = P(1, 1, UALINK_MSG_REVOKE_ACK) },

	/* Bytes that must be zero */
	{ "header", UALINK_DECODE_RESERVED, UALINK_MSG_PING, .poke = P(3, 1, 1) },
	{ "after HELLO", UALINK_DECODE_RESERVED, UALINK_MSG_HELLO, .poke = P(56, 1, 1) },
	{ "after HELLO_ACK", UALINK_DECODE_RESERVED, UALINK_MSG_HELLO_ACK, .poke = P(56, 1, 1) },
	{ "after HELLO_NAK", UALINK_DECODE_RESERVED, UALINK_MSG_HELLO_NAK, .poke = P(36, 1, 1) },
	{ "after READY", UALINK_DECODE_RESERVED, UALINK_MSG_READY, .poke = P(32, 1, 1) },
	{ "after READY_ACK", UALINK_DECODE_RESERVED, UALINK_MSG_READY_ACK, .poke = P(32, 1, 1) },
	{ "after IMPORT_REQ", UALINK_DECODE_RESERVED, UALINK_MSG_IMPORT_REQ,
	  .poke = P(52, 1, 0x80) },
	{ "after RELEASE", UALINK_DECODE_RESERVED, UALINK_MSG_RELEASE, .poke = P(48, 1, 1) },
	{ "after RELEASE_ACK", UALINK_DECODE_RESERVED, UALINK_MSG_RELEASE_ACK,
	  .poke = P(48, 1, 1) },
	{ "after REVOKE", UALINK_DECODE_RESERVED, UALINK_MSG_REVOKE, .poke = P(52, 1, 1) },
	{ "after REVOKE_ACK", UALINK_DECODE_RESERVED, UALINK_MSG_REVOKE_ACK,
	  .poke = P(48, 1, 1) },
	{ "after PING", UALINK_DECODE_RESERVED, UALINK_MSG_PING, .poke = P(32, 1, 1) },
	{ "after PONG", UALINK_DECODE_RESERVED, UALINK_MSG_PONG, .poke = P(32, 1, 1) },
	{ "after BYE", UALINK_DECODE_RESERVED, UALINK_MSG_BYE, .poke = P(36, 1, 1) },
	{ "first byte of gap in NAK", UALINK_DECODE_RESERVED, UALINK_MSG_NAK,
	  .poke = P(36, 1, 1) },
	{ "last byte of gap in NAK", UALINK_DECODE_RESERVED, UALINK_MSG_NAK,
	  .poke = P(39, 1, 1) },
	{ "last byte of PING", UALINK_DECODE_RESERVED, UALINK_MSG_PING, .poke = P(63, 1, 0x80) },
	{ "last byte of HELLO", UALINK_DECODE_RESERVED, UALINK_MSG_HELLO,
	  .poke = P(63, 1, 0x80) },
	{ "last byte of BYE", UALINK_DECODE_RESERVED, UALINK_MSG_BYE, .poke = P(63, 1, 0x80) },

	/* Request ids */
	{ "HELLO with request", UALINK_DECODE_REQUEST, UALINK_MSG_HELLO, .poke = P(8, 8, 1) },
	{ "HELLO_ACK with request", UALINK_DECODE_REQUEST, UALINK_MSG_HELLO_ACK,
	  .poke = P(8, 8, 1) },
	{ "HELLO_NAK with request", UALINK_DECODE_REQUEST, UALINK_MSG_HELLO_NAK,
	  .poke = P(8, 8, 1) },
	{ "READY with request", UALINK_DECODE_REQUEST, UALINK_MSG_READY, .poke = P(8, 8, 1) },
	{ "READY_ACK with request", UALINK_DECODE_REQUEST, UALINK_MSG_READY_ACK,
	  .poke = P(8, 8, BIT_ULL(63)) },
	{ "BYE with request", UALINK_DECODE_REQUEST, UALINK_MSG_BYE, .poke = P(8, 8, 1) },
	{ "IMPORT_REQ without", UALINK_DECODE_REQUEST, UALINK_MSG_IMPORT_REQ,
	  .poke = P(8, 8, 0) },
	{ "IMPORT_RSP without", UALINK_DECODE_REQUEST, UALINK_MSG_IMPORT_RSP,
	  .poke = P(8, 8, 0) },
	{ "RELEASE without", UALINK_DECODE_REQUEST, UALINK_MSG_RELEASE, .poke = P(8, 8, 0) },
	{ "RELEASE_ACK without", UALINK_DECODE_REQUEST, UALINK_MSG_RELEASE_ACK,
	  .poke = P(8, 8, 0) },
	{ "REVOKE without", UALINK_DECODE_REQUEST, UALINK_MSG_REVOKE, .poke = P(8, 8, 0) },
	{ "REVOKE_ACK without", UALINK_DECODE_REQUEST, UALINK_MSG_REVOKE_ACK,
	  .poke = P(8, 8, 0) },
	{ "PING without", UALINK_DECODE_REQUEST, UALINK_MSG_PING, .poke = P(8, 8, 0) },
	{ "PONG without", UALINK_DECODE_REQUEST, UALINK_MSG_PONG, .poke = P(8, 8, 0) },
	{ "NAK without", UALINK_DECODE_REQUEST, UALINK_MSG_NAK, .poke = P(8, 8, 0) },

	/* Sessions: byte 16 is where the sender's challenge is, byte 24 the receiver's. */
	{ "HELLO without challenge", UALINK_DECODE_SESSION, UALINK_MSG_HELLO,
	  .poke = P(16, 8, 0) },
	{ "HELLO with both", UALINK_DECODE_SESSION, UALINK_MSG_HELLO, .poke = P(24, 8, 1) },
	{ "HELLO_NAK without challenge", UALINK_DECODE_SESSION, UALINK_MSG_HELLO_NAK,
	  .poke = P(24, 8, 0) },
	{ "HELLO_NAK with both", UALINK_DECODE_SESSION, UALINK_MSG_HELLO_NAK,
	  .poke = P(16, 8, 1) },
	{ "HELLO_ACK without sender's", UALINK_DECODE_SESSION, UALINK_MSG_HELLO_ACK,
	  .poke = P(16, 8, 0) },
	{ "HELLO_ACK without receiver's", UALINK_DECODE_SESSION, UALINK_MSG_HELLO_ACK,
	  .poke = P(24, 8, 0) },
	{ "READY without sender's", UALINK_DECODE_SESSION, UALINK_MSG_READY,
	  .poke = P(16, 8, 0) },
	{ "READY without receiver's", UALINK_DECODE_SESSION, UALINK_MSG_READY,
	  .poke = P(24, 8, 0) },
	{ "READY_ACK without receiver's", UALINK_DECODE_SESSION, UALINK_MSG_READY_ACK,
	  .poke = P(24, 8, 0) },
	{ "IMPORT_REQ without sender's", UALINK_DECODE_SESSION, UALINK_MSG_IMPORT_REQ,
	  .poke = P(16, 8, 0) },
	{ "IMPORT_REQ without receiver's", UALINK_DECODE_SESSION, UALINK_MSG_IMPORT_REQ,
	  .poke = P(24, 8, 0) },
	{ "REVOKE without sender's", UALINK_DECODE_SESSION, UALINK_MSG_REVOKE,
	  .poke = P(16, 8, 0) },
	{ "BYE without receiver's", UALINK_DECODE_SESSION, UALINK_MSG_BYE, .poke = P(24, 8, 0) },
	{ "NAK without sender's", UALINK_DECODE_SESSION, UALINK_MSG_NAK, .poke = P(16, 8, 0) },
	{ "NAK without receiver's", UALINK_DECODE_SESSION, UALINK_MSG_NAK, .poke = P(24, 8, 0) },

	/* Greeting: page shift is 16, segment shift 40 */
	{ "HELLO lowest version 0", UALINK_DECODE_VALUE, UALINK_MSG_HELLO, .poke = P(32, 1, 0) },
	{ "HELLO versions reversed", UALINK_DECODE_VALUE, UALINK_MSG_HELLO,
	  .poke = P(32, 1, 4) },
	{ "HELLO segment is a page", UALINK_DECODE_VALUE, UALINK_MSG_HELLO,
	  .poke = P(34, 1, 16) },
	{ "HELLO segment too large", UALINK_DECODE_VALUE, UALINK_MSG_HELLO,
	  .poke = P(34, 1, 54) },
	{ "HELLO segment far too large", UALINK_DECODE_VALUE, UALINK_MSG_HELLO,
	  .poke = P(34, 1, 255) },
	{ "HELLO page too small", UALINK_DECODE_VALUE, UALINK_MSG_HELLO, .poke = P(35, 1, 11) },
	{ "HELLO page is segment", UALINK_DECODE_VALUE, UALINK_MSG_HELLO, .poke = P(35, 1, 40) },
	{ "HELLO_ACK lowest version 0", UALINK_DECODE_VALUE, UALINK_MSG_HELLO_ACK,
	  .poke = P(32, 1, 0) },
	{ "HELLO_ACK versions reversed", UALINK_DECODE_VALUE, UALINK_MSG_HELLO_ACK,
	  .poke = P(32, 1, 4) },
	{ "HELLO_ACK page too small", UALINK_DECODE_VALUE, UALINK_MSG_HELLO_ACK,
	  .poke = P(35, 1, 11) },
	{ "HELLO_NAK without reason", UALINK_DECODE_VALUE, UALINK_MSG_HELLO_NAK,
	  .poke = P(32, 4, 0) },
	{ "HELLO_NAK unknown reason", UALINK_DECODE_VALUE, UALINK_MSG_HELLO_NAK,
	  .poke = P(32, 4, UALINK_NAK_MALFORMED + 1) },
	{ "HELLO_NAK reason with high bits", UALINK_DECODE_VALUE, UALINK_MSG_HELLO_NAK,
	  .poke = P(32, 4, 0x10001) },

	/* Imports */
	{ "IMPORT_REQ for sender's export", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_REQ,
	  .poke = P(32, 8, TAG(SRC, 7)) },
	{ "IMPORT_REQ for other's export", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_REQ,
	  .poke = P(32, 8, TAG(DST + 1, 7)) },
	{ "IMPORT_REQ for no access", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_REQ,
	  .poke = P(48, 4, 0) },
	{ "IMPORT_REQ for unknown access", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_REQ,
	  .poke = P(48, 4, 5) },
	{ "IMPORT_REQ with high access", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_REQ,
	  .poke = P(48, 4, BIT(31) | 1) },
	{ "IMPORT_RSP on receiver's export", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(32, 8, TAG(DST, 7)) },
	{ "IMPORT_RSP on other's export", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(32, 8, TAG(SRC + 1, 7)) },
	{ "IMPORT_RSP unknown status", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .refused = true, .poke = P(56, 4, UALINK_STATUS_NOMEM + 1) },
	{ "IMPORT_RSP without size", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(48, 8, 0) },
	{ "IMPORT_RSP past the end", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(48, 8, U64_MAX - SZ_64K + 1) },
	{ "IMPORT_RSP begins past the end", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(40, 8, U64_MAX) },
	{ "IMPORT_RSP no access", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(60, 4, 0) },
	{ "IMPORT_RSP unknown access", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .poke = P(60, 4, 4) },
	{ "IMPORT_RSP refused on other's", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .refused = true, .poke = P(32, 8, TAG(DST, 7)) },
	{ "IMPORT_RSP refused with offset", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .refused = true, .poke = P(40, 8, SZ_64K) },
	{ "IMPORT_RSP refused with size", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .refused = true, .poke = P(48, 8, SZ_64K) },
	{ "IMPORT_RSP refused with access", UALINK_DECODE_VALUE, UALINK_MSG_IMPORT_RSP,
	  .refused = true, .poke = P(60, 4, 1) },

	/* Grants */
	{ "RELEASE of sender's export", UALINK_DECODE_VALUE, UALINK_MSG_RELEASE,
	  .poke = P(32, 8, TAG(SRC, 7)) },
	{ "RELEASE without grant", UALINK_DECODE_VALUE, UALINK_MSG_RELEASE,
	  .poke = P(40, 8, 0) },
	{ "RELEASE_ACK on receiver's export", UALINK_DECODE_VALUE, UALINK_MSG_RELEASE_ACK,
	  .poke = P(32, 8, TAG(DST, 7)) },
	{ "RELEASE_ACK without grant", UALINK_DECODE_VALUE, UALINK_MSG_RELEASE_ACK,
	  .poke = P(40, 8, 0) },
	{ "REVOKE of receiver's export", UALINK_DECODE_VALUE, UALINK_MSG_REVOKE,
	  .poke = P(32, 8, TAG(DST, 7)) },
	{ "REVOKE of other's export", UALINK_DECODE_VALUE, UALINK_MSG_REVOKE,
	  .poke = P(32, 8, TAG(SRC + 1, 7)) },
	{ "REVOKE without grant", UALINK_DECODE_VALUE, UALINK_MSG_REVOKE, .poke = P(40, 8, 0) },
	{ "REVOKE_ACK on sender's export", UALINK_DECODE_VALUE, UALINK_MSG_REVOKE_ACK,
	  .poke = P(32, 8, TAG(SRC, 7)) },
	{ "REVOKE_ACK without grant", UALINK_DECODE_VALUE, UALINK_MSG_REVOKE_ACK,
	  .poke = P(40, 8, 0) },

	/* Ends and refusals */
	{ "BYE without reason", UALINK_DECODE_VALUE, UALINK_MSG_BYE, .poke = P(32, 4, 0) },
	{ "BYE unknown reason", UALINK_DECODE_VALUE, UALINK_MSG_BYE,
	  .poke = P(32, 4, UALINK_BYE_VPOD + 1) },
	{ "NAK without reason", UALINK_DECODE_VALUE, UALINK_MSG_NAK, .poke = P(34, 2, 0) },
	{ "NAK unknown reason", UALINK_DECODE_VALUE, UALINK_MSG_NAK,
	  .poke = P(34, 2, UALINK_NAK_MALFORMED + 1) },
	{ "NAK to NAK", UALINK_DECODE_VALUE, UALINK_MSG_NAK, .poke = P(33, 1, UALINK_MSG_NAK) },
	{ "NAK to BYE", UALINK_DECODE_VALUE, UALINK_MSG_NAK, .poke = P(33, 1, UALINK_MSG_BYE) },
	{ "NAK to answer", UALINK_DECODE_VALUE, UALINK_MSG_NAK,
	  .poke = P(33, 1, UALINK_MSG_PONG) },
	{ "NAK to greeting", UALINK_DECODE_VALUE, UALINK_MSG_NAK,
	  .poke = P(33, 1, UALINK_MSG_READY) },
	{ "NAK to unknown type", UALINK_DECODE_VALUE, UALINK_MSG_NAK, .poke = P(33, 1, 0x18) },
	{ "NAK to other request", UALINK_DECODE_VALUE, UALINK_MSG_NAK, .poke = P(40, 8, 1) },
	{ "NAK to other session, sender's", UALINK_DECODE_VALUE, UALINK_MSG_NAK,
	  .poke = P(48, 8, 1) },
	{ "NAK to other session, receiver's", UALINK_DECODE_VALUE, UALINK_MSG_NAK,
	  .poke = P(56, 8, 1) },
};

KUNIT_ARRAY_PARAM_DESC(faults, faults, name);

/* What faults are put into; the pokes count on its numbers. */
static void base_packet(struct ualink_packet *pkt, u8 type)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, SEED);
	random_packet(&rnd, pkt, type, SRC, DST);
	switch (type) {
	case UALINK_MSG_HELLO:
	case UALINK_MSG_HELLO_ACK:
		pkt->hello.version_min = 1;
		pkt->hello.version_max = 3;
		pkt->hello.segment_shift = 40;
		pkt->hello.page_shift = 16;
		break;
	case UALINK_MSG_IMPORT_RSP:
		pkt->import_rsp.offset = SZ_64K;
		pkt->import_rsp.size = SZ_1M;
		pkt->import_rsp.access = UALINK_ACCESS_READ;
		pkt->import_rsp.status = UALINK_STATUS_OK;
		break;
	}
}

static void refuse_import(struct ualink_packet *pkt)
{
	u64 tag = pkt->import_rsp.tag;

	memset(&pkt->import_rsp, 0, sizeof(pkt->import_rsp));
	pkt->import_rsp.tag = tag;
	pkt->import_rsp.status = UALINK_STATUS_NOENT;
}

static void apply(struct ualink_msg *msg, const struct poke *poke)
{
	u8 bytes[sizeof(u64)];

	put_unaligned_le64(poke->value, bytes);
	memcpy((u8 *)msg->words + poke->at, bytes, poke->size);
}

static void wire_refuses(struct kunit *test)
{
	const struct fault *fault = test->param_value;
	u32 stamp = fault->stamp ?: SRC;
	struct ualink_packet pkt;
	struct ualink_msg msg;

	base_packet(&pkt, fault->type);
	if (fault->refused)
		refuse_import(&pkt);
	ualink_packet_encode(&pkt, &msg);
	KUNIT_ASSERT_EQ(test, ualink_packet_decode(&pkt, &msg, SRC, DST), UALINK_DECODE_OK);

	apply(&msg, &fault->poke);
	KUNIT_EXPECT_EQ(test, ualink_packet_decode(&pkt, &msg, stamp, DST), fault->error);
}

/* Of a version that nobody knows yet, the header can be used, and nothing else is judged. */
static void wire_header_of_other_version(struct kunit *test)
{
	struct ualink_packet pkt, back;
	struct ualink_msg msg;

	base_packet(&pkt, UALINK_MSG_HELLO);
	ualink_packet_encode(&pkt, &msg);
	apply(&msg, &(struct poke)P(0, 1, 2));
	apply(&msg, &(struct poke)P(1, 1, 0x77));
	apply(&msg, &(struct poke)P(2, 1, 0xff));
	apply(&msg, &(struct poke)P(3, 1, 0xff));
	apply(&msg, &(struct poke)P(8, 8, 42));
	apply(&msg, &(struct poke)P(63, 1, 0xff));

	KUNIT_EXPECT_EQ(test, ualink_packet_decode(&back, &msg, SRC, DST),
			UALINK_DECODE_VERSION);
	KUNIT_EXPECT_EQ(test, back.version, 2);
	KUNIT_EXPECT_EQ(test, back.type, 0x77);
	KUNIT_EXPECT_EQ(test, back.src, SRC);
	KUNIT_EXPECT_EQ(test, back.dst, DST);
	KUNIT_EXPECT_EQ(test, back.request, 42);
	KUNIT_EXPECT_EQ(test, back.session[0], pkt.session[0]);
	KUNIT_EXPECT_EQ(test, back.session[1], pkt.session[1]);

	/* But not when the sender lies about itself. */
	KUNIT_EXPECT_EQ(test, ualink_packet_decode(&back, &msg, SRC + 1, DST),
			UALINK_DECODE_SOURCE);
}

struct window {
	const char *name;
	u64 offset;
	u64 size;
	u64 page_size;
	u8 segment_shift;
	bool valid;
};

static const struct window windows[] = {
	{ "second page", SZ_4K, SZ_4K, SZ_4K, 40, true },
	{ "last page", BIT_ULL(40) - SZ_4K, SZ_4K, SZ_4K, 40, true },
	{ "all but the first page", SZ_4K, BIT_ULL(40) - SZ_4K, SZ_4K, 40, true },
	{ "all of the largest segment", SZ_2M, BIT_ULL(53) - SZ_2M, SZ_2M, 53, true },
	{ "over 4 GiB", BIT_ULL(32) - SZ_4K, SZ_8K, SZ_4K, 40, true },
	{ "first page", 0, SZ_4K, SZ_4K, 40, false },
	{ "nothing", SZ_4K, 0, SZ_4K, 40, false },
	{ "past the end", BIT_ULL(40) - SZ_4K, SZ_8K, SZ_4K, 40, false },
	{ "page past the end", BIT_ULL(40), SZ_4K, SZ_4K, 40, false },
	{ "far past the end", BIT_ULL(63), SZ_4K, SZ_4K, 53, false },
	{ "around", U64_MAX - SZ_4K + 1, SZ_8K, SZ_4K, 53, false },
	{ "around to 0", U64_MAX - SZ_4K + 1, SZ_4K, SZ_4K, 53, false },
	{ "offset unaligned", 3 * SZ_2K, SZ_4K, SZ_4K, 40, false },
	{ "size unaligned", SZ_4K, SZ_4K + 1, SZ_4K, 40, false },
	{ "offset of smaller pages", SZ_4K, SZ_64K, SZ_64K, 40, false },
	{ "size of smaller pages", SZ_64K, SZ_4K, SZ_64K, 40, false },
};

KUNIT_ARRAY_PARAM_DESC(windows, windows, name);

static void wire_window(struct kunit *test)
{
	const struct window *window = test->param_value;
	struct ualink_packet pkt = {
		.import_rsp = {
			.offset = window->offset,
			.size = window->size,
		},
	};

	KUNIT_EXPECT_EQ(test, window->valid,
			ualink_packet_window_valid(&pkt, window->segment_shift,
						   window->page_size));
}

static void wire_names(struct kunit *test)
{
	unsigned int i, type, named = 0;

	for (type = 0; type <= U8_MAX; type++) {
		if (ualink_msg_type_valid(type))
			named++;
		else
			KUNIT_EXPECT_STREQ(test, ualink_msg_type_name(type), "?");
	}
	KUNIT_EXPECT_EQ(test, named, ARRAY_SIZE(types));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		KUNIT_EXPECT_TRUE(test, ualink_msg_type_valid(types[i]));
		KUNIT_EXPECT_STRNEQ(test, ualink_msg_type_name(types[i]), "?");
	}
}

static void flip_bits(struct rnd_state *rnd, struct ualink_msg *msg)
{
	unsigned int flips = 1 + random_below(rnd, 4);

	while (flips--) {
		unsigned int bit = random_below(rnd, BITS_PER_BYTE * sizeof(*msg));

		msg->words[bit / 64] ^= cpu_to_le64(BIT_ULL(bit % 64));
	}
}

/*
 * Whatever comes, there is only one way to say it: a message that is accepted is,
 * byte for byte, what encoding its content gives.
 */
static void wire_fuzz(struct kunit *test)
{
	u32 results[UALINK_DECODE_ERRORS] = {};
	enum ualink_decode_error err;
	struct ualink_packet pkt;
	struct ualink_msg msg, again;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < FUZZ_ROUNDS; i++) {
		random_packet(&rnd, &pkt, types[i % ARRAY_SIZE(types)], SRC, DST);
		ualink_packet_encode(&pkt, &msg);
		flip_bits(&rnd, &msg);
		err = ualink_packet_decode(&pkt, &msg, SRC, DST);
		KUNIT_ASSERT_LT(test, err, UALINK_DECODE_ERRORS);
		results[err]++;
		if (err)
			continue;
		ualink_packet_encode(&pkt, &again);
		KUNIT_ASSERT_MEMEQ(test, &again, &msg, sizeof(msg));
	}
	/* All ends were met, and neither acceptance nor refusal is an exception. */
	for (i = 0; i < UALINK_DECODE_ERRORS; i++)
		KUNIT_EXPECT_GT_MSG(test, results[i], 0, "no result %u", i);
	KUNIT_EXPECT_GT(test, results[UALINK_DECODE_OK], FUZZ_ROUNDS / 20);
	KUNIT_EXPECT_LT(test, results[UALINK_DECODE_OK], FUZZ_ROUNDS / 2);
}

/* Noise behind a header that is right as far as it can be known. */
static void wire_fuzz_noise(struct kunit *test)
{
	struct ualink_packet pkt;
	struct ualink_msg msg, again;
	struct rnd_state rnd;
	u32 accepted = 0;
	unsigned int i;

	prandom_seed_state(&rnd, SEED);
	for (i = 0; i < FUZZ_ROUNDS; i++) {
		u8 type = types[i % ARRAY_SIZE(types)];

		prandom_bytes_state(&rnd, &msg, sizeof(msg));
		apply(&msg, &(struct poke)P(0, 1, 1));
		apply(&msg, &(struct poke)P(1, 1, type));
		apply(&msg, &(struct poke)P(3, 1, 0));
		apply(&msg, &(struct poke)P(4, 2, SRC));
		apply(&msg, &(struct poke)P(6, 2, DST));
		if (ualink_packet_decode(&pkt, &msg, SRC, DST))
			continue;
		accepted++;
		ualink_packet_encode(&pkt, &again);
		KUNIT_ASSERT_MEMEQ(test, &again, &msg, sizeof(msg));
	}
	KUNIT_EXPECT_EQ(test, accepted, 0);
}

static struct kunit_case ualink_wire_cases[] = {
	KUNIT_CASE_PARAM(wire_round_trip, types_gen_params),
	KUNIT_CASE_PARAM(wire_round_trip_to_self, types_gen_params),
	KUNIT_CASE_PARAM(wire_golden, goldens_gen_params),
	KUNIT_CASE_PARAM(wire_refuses, faults_gen_params),
	KUNIT_CASE(wire_header_of_other_version),
	KUNIT_CASE_PARAM(wire_window, windows_gen_params),
	KUNIT_CASE(wire_names),
	KUNIT_CASE_SLOW(wire_fuzz),
	KUNIT_CASE_SLOW(wire_fuzz_noise),
	{}
};

static struct kunit_suite ualink_wire_suite = {
	.name = "ualink_wire",
	.test_cases = ualink_wire_cases,
};

kunit_test_suite(ualink_wire_suite);
