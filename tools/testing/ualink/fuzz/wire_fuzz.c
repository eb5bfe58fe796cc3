// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * wire_fuzz: the decoder of messages, as it is in the kernel, in user space.
 *
 * With libFuzzer (clang -fsanitize=fuzzer) it is coverage-guided. Without,
 * "wire_fuzz COUNT [SEED]" makes COUNT inputs by itself, most of them messages with
 * a few faults. It aborts when
 *
 *  - something is read or written out of bounds (build it with -fsanitize=address);
 *  - a message is accepted that encodes to other bytes than it was decoded from;
 *  - a message is accepted with a value that the protocol does not have.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel.h"
#include <linux/ualink.h>
#include "ualink_wire.h"

/* An input: the message, and what the transport says. */
struct input {
	struct ualink_msg msg;
	u16 src;
	u16 dst;
};

static u64 results[UALINK_DECODE_ERRORS];

static void demand(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "wire_fuzz: %s\n", what);
	abort();
}

static void check_accepted(const struct ualink_packet *pkt, const struct input *input)
{
	struct ualink_msg again;

	demand(pkt->src == input->src && pkt->dst == input->dst, "ends");
	demand(pkt->src < UALINK_MAX_IDS, "source id");
	demand(ualink_msg_type_valid(pkt->type), "type");
	ualink_packet_encode(pkt, &again);
	demand(!memcmp(&again, &input->msg, sizeof(again)), "two encodings of one message");

	if (pkt->type == UALINK_MSG_IMPORT_RSP && pkt->import_rsp.status == UALINK_STATUS_OK &&
	    ualink_packet_window_valid(pkt, 36, 4096))
		demand(pkt->import_rsp.offset + pkt->import_rsp.size <= BIT_ULL(36) &&
		       pkt->import_rsp.offset >= 4096, "window");
}

static void one(const struct input *input)
{
	enum ualink_decode_error err;
	struct ualink_packet pkt;

	err = ualink_packet_decode(&pkt, &input->msg, input->src, input->dst);
	demand(err < UALINK_DECODE_ERRORS, "result");
	results[err]++;
	if (!err)
		check_accepted(&pkt, input);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input input = {};

	memcpy(&input, data, size < sizeof(input) ? size : sizeof(input));
	one(&input);
	return 0;
}

#ifndef LIBFUZZER
static u64 state;

static u64 rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static bool often(void)
{
	return rnd() % 8;
}

/* Values that mean something somewhere are more likely than others. */
static u64 interesting(void)
{
	switch (rnd() % 6) {
	case 0: return 0;
	case 1: return rnd() % 8;
	case 2: return BIT_ULL(rnd() % 64);
	case 3: return BIT_ULL(rnd() % 64) - 1;
	case 4: return ~(rnd() % 4096);
	default: return rnd();
	}
}

static void make(struct input *input)
{
	u8 *bytes = (u8 *)&input->msg;
	struct ualink_packet pkt = {
		.version = often() ? 1 : rnd(),
		.type = rnd() % 24,
		.src = input->src = often() ? rnd() % UALINK_MAX_IDS : rnd(),
		.dst = input->dst = often() ? rnd() % UALINK_MAX_IDS : rnd(),
		.request = often() ? 1 + rnd() % 1000 : interesting(),
		.session = { interesting(), interesting() },
	};
	u8 *payload = (u8 *)&pkt + offsetof(struct ualink_packet, hello);
	size_t room = sizeof(pkt) - offsetof(struct ualink_packet, hello);
	unsigned int i, flips;

	for (i = 0; i + sizeof(u64) <= room; i += sizeof(u64))
		memcpy(payload + i, &(u64){ interesting() }, sizeof(u64));
	ualink_packet_encode(&pkt, &input->msg);
	if (often() && (pkt.type % 2))
		return;
	for (flips = rnd() % 4; flips; flips--)
		bytes[rnd() % sizeof(input->msg)] = interesting();
}

int main(int argc, char **argv)
{
	u64 count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000, i;
	struct input input;
	bool all = true;

	state = argc > 2 ? strtoull(argv[2], NULL, 0) | 1 : 88172645463325252ull;
	for (i = 0; i < count; i++) {
		make(&input);
		one(&input);
	}
	for (i = 0; i < UALINK_DECODE_ERRORS; i++) {
		printf("result %" PRIu64 ": %" PRIu64 "\n", i, results[i]);
		all &= count < 100000 || results[i];
	}
	printf("fuzz_inputs %" PRIu64 "\n", count);
	if (!all)
		fprintf(stderr, "wire_fuzz: not every result was met\n");
	return !all;
}
#endif
