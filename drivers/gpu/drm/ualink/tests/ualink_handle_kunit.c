// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../ualink_internal.h"

/* Handles that are drawn for the statistics. */
#define SAMPLES		1000000
/* How far a count of fair coins may be from the half of them: ten standard deviations. */
#define TOLERANCE	5000

KUNIT_DEFINE_ACTION_WRAPPER(kvfree_action, kvfree, const void *);

static struct ualink_handle *draw(struct kunit *test, u32 id)
{
	struct ualink_handle *handles = kvmalloc_objs(*handles, SAMPLES);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, handles);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kvfree_action, handles), 0);
	for (i = 0; i < SAMPLES; i++)
		ualink_handle_generate(&handles[i], id);
	return handles;
}

static int compare(const void *a, const void *b)
{
	const struct ualink_handle *x = a, *y = b;

	return cmp_int(x->tag, y->tag) ?: cmp_int(x->secret, y->secret);
}

static unsigned int count_repeats(struct ualink_handle *handles)
{
	unsigned int i, repeats = 0;

	sort(handles, SAMPLES, sizeof(*handles), compare, NULL);
	for (i = 1; i < SAMPLES; i++)
		repeats += !compare(&handles[i - 1], &handles[i]);
	return repeats;
}

static void handle_never_repeats(struct kunit *test)
{
	struct ualink_handle *handles = draw(test, 77);

	KUNIT_EXPECT_EQ(test, count_repeats(handles), 0);
}

static const u32 ids[] = { 0, 1, 512, UALINK_MAX_IDS - 1 };

KUNIT_ARRAY_PARAM(ids, ids, NULL);

static void handle_holds_id(struct kunit *test)
{
	u32 id = *(const u32 *)test->param_value;
	struct ualink_handle handle;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		ualink_handle_generate(&handle, id);
		KUNIT_ASSERT_EQ(test, handle.tag & 0x3ff, id);
		KUNIT_ASSERT_EQ(test, ualink_handle_id(&handle), id);
	}
}

/* Counts, for each of 128 bits, the handles in which it is set. */
static void count_bits(const struct ualink_handle *handle, u32 counts[128])
{
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		counts[bit] += (handle->tag >> bit) & 1;
		counts[64 + bit] += (handle->secret >> bit) & 1;
	}
}

static void expect_fair(struct kunit *test, const u32 counts[128], u32 total)
{
	unsigned int bit;

	for (bit = 10; bit < 128; bit++) {
		KUNIT_EXPECT_GT_MSG(test, counts[bit], total / 2 - TOLERANCE, "bit %u", bit);
		KUNIT_EXPECT_LT_MSG(test, counts[bit], total / 2 + TOLERANCE, "bit %u", bit);
	}
}

/* Each bit is set in about half of all handles, and differs from one handle to the next. */
static void handle_bits_are_fair(struct kunit *test)
{
	struct ualink_handle *handles = draw(test, UALINK_MAX_IDS - 1);
	u32 *set = kunit_kcalloc(test, 128, sizeof(*set), GFP_KERNEL);
	u32 *changed = kunit_kcalloc(test, 128, sizeof(*changed), GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, set);
	KUNIT_ASSERT_NOT_NULL(test, changed);
	for (i = 1; i < SAMPLES; i++) {
		struct ualink_handle diff = {
			.tag = handles[i].tag ^ handles[i - 1].tag,
			.secret = handles[i].secret ^ handles[i - 1].secret,
		};

		count_bits(&handles[i], set);
		count_bits(&diff, changed);
	}
	expect_fair(test, set, SAMPLES - 1);
	expect_fair(test, changed, SAMPLES - 1);
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, set[i], SAMPLES - 1);
		KUNIT_EXPECT_EQ(test, changed[i], 0);
	}
}

static void handle_has_no_order(struct kunit *test)
{
	struct ualink_handle *handles = draw(test, 3);
	u32 tags_up = 0, secrets_up = 0, tag_less = 0;
	unsigned int i;

	for (i = 1; i < SAMPLES; i++) {
		tags_up += handles[i].tag > handles[i - 1].tag;
		secrets_up += handles[i].secret > handles[i - 1].secret;
		tag_less += handles[i].tag < handles[i].secret;
	}
	KUNIT_EXPECT_LT(test, abs((int)tags_up - SAMPLES / 2), TOLERANCE);
	KUNIT_EXPECT_LT(test, abs((int)secrets_up - SAMPLES / 2), TOLERANCE);
	KUNIT_EXPECT_LT(test, abs((int)tag_less - SAMPLES / 2), TOLERANCE);
}

static void handle_bytes_have_order(struct kunit *test)
{
	const struct ualink_handle handle = {
		.tag = 0x1122334455667788,
		.secret = 0x99aabbccddeeff00,
	};
	static const u8 expected[16] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x00, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99,
	};
	u8 bytes[16];

	ualink_handle_to_bytes(&handle, bytes);
	KUNIT_EXPECT_MEMEQ(test, bytes, expected, sizeof(expected));
}

/* Users' buffers have no alignment. */
static void handle_bytes_round_trip(struct kunit *test)
{
	struct ualink_handle handle, back;
	u8 buffer[16 + 8];
	unsigned int i;

	for (i = 0; i < 8; i++) {
		ualink_handle_generate(&handle, i);
		ualink_handle_to_bytes(&handle, buffer + i);
		ualink_handle_from_bytes(&back, buffer + i);
		KUNIT_EXPECT_EQ(test, back.tag, handle.tag);
		KUNIT_EXPECT_EQ(test, back.secret, handle.secret);
	}
}

static void handle_hash_is_stable(struct kunit *test)
{
	struct ualink_handle handle, copy;

	ualink_handle_generate(&handle, 9);
	copy = handle;
	KUNIT_EXPECT_EQ(test, ualink_handle_hash(&copy), ualink_handle_hash(&handle));
}

/* The hash depends on each bit, and shows no part of the handle. */
static void handle_hash_depends_on_all(struct kunit *test)
{
	struct ualink_handle handle, other;
	unsigned int bit;
	u32 hash;

	ualink_handle_generate(&handle, 9);
	hash = ualink_handle_hash(&handle);
	KUNIT_EXPECT_NE(test, hash, lower_32_bits(handle.tag));
	KUNIT_EXPECT_NE(test, hash, upper_32_bits(handle.tag));
	KUNIT_EXPECT_NE(test, hash, lower_32_bits(handle.secret));
	KUNIT_EXPECT_NE(test, hash, upper_32_bits(handle.secret));

	for (bit = 0; bit < 64; bit++) {
		other = handle;
		other.tag ^= BIT_ULL(bit);
		KUNIT_EXPECT_NE_MSG(test, ualink_handle_hash(&other), hash, "tag bit %u", bit);
		other = handle;
		other.secret ^= BIT_ULL(bit);
		KUNIT_EXPECT_NE_MSG(test, ualink_handle_hash(&other), hash, "secret bit %u", bit);
	}
}

static struct kunit_case ualink_handle_cases[] = {
	KUNIT_CASE_SLOW(handle_never_repeats),
	KUNIT_CASE_PARAM(handle_holds_id, ids_gen_params),
	KUNIT_CASE_SLOW(handle_bits_are_fair),
	KUNIT_CASE_SLOW(handle_has_no_order),
	KUNIT_CASE(handle_bytes_have_order),
	KUNIT_CASE(handle_bytes_round_trip),
	KUNIT_CASE(handle_hash_is_stable),
	KUNIT_CASE(handle_hash_depends_on_all),
	{}
};

static struct kunit_suite ualink_handle_suite = {
	.name = "ualink_handle",
	.test_cases = ualink_handle_cases,
};

kunit_test_suite(ualink_handle_suite);

MODULE_DESCRIPTION("KUnit tests for UALink memory sharing");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("Dual MIT/GPL");
