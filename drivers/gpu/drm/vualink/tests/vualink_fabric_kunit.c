// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/kthread.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "vualink_hw_fixture.h"

#define VA	0x10000000ull

/* Byte 0 and byte 2 have the number of the message, byte 1 its type. */
static void msg_make(u8 *msg, u8 type, u8 n)
{
	memset(msg, n, VUALINK_HW_MSG_SIZE);
	msg[1] = type;
}

static int msg_send(struct fix_gpu *gpu, u32 dst, u8 type, u8 n)
{
	u8 msg[VUALINK_HW_MSG_SIZE];

	msg_make(msg, type, n);
	return vualink_hw_send(gpu->hw, dst, msg);
}

/* Return: the number of the next message, which must be whole, or -EAGAIN. */
static int msg_recv(struct fix_gpu *gpu, u32 src)
{
	u8 msg[VUALINK_HW_MSG_SIZE];
	int ret = vualink_hw_recv(gpu->hw, src, msg);

	if (ret)
		return ret;
	KUNIT_EXPECT_TRUE(gpu->test, fix_all(msg + 2, msg[0], sizeof(msg) - 2));
	return msg[0];
}

/**
 * struct pair - two accelerators, the first of which sends
 * @fabric: their fabric
 * @a: sender, id 1
 * @b: receiver, id 2
 */
struct pair {
	struct vualink_fabric *fabric;
	struct fix_gpu *a;
	struct fix_gpu *b;
};

static struct pair pair_make(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);

	return (struct pair) {
		.fabric = fabric,
		.a = fix_gpu(test, fabric, 1, SZ_64K),
		.b = fix_gpu(test, fabric, 2, SZ_64K),
	};
}

/* Rings */

static void fabric_moves_messages(struct kunit *test)
{
	struct pair p = pair_make(test);
	struct fix_gpu *c = fix_gpu(test, p.fabric, 1023, SZ_64K);
	u32 i;

	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 9, i));
		KUNIT_EXPECT_EQ(test, 0, msg_send(c, 2, 9, 100 + i));
	}
	KUNIT_EXPECT_EQ(test, p.b->rx, 10);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), i);
		KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1023), 100 + i);
	}
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 5), -EAGAIN);
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 2), -EAGAIN);
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 9, 6));
	KUNIT_EXPECT_EQ(test, p.b->rx, 11);
	KUNIT_EXPECT_EQ(test, p.b->last, 1);
	KUNIT_EXPECT_EQ(test, fix_stat(p.a, tx_msgs), 6);
	KUNIT_EXPECT_EQ(test, fix_stat(p.b, rx_msgs), 10);
	KUNIT_EXPECT_EQ(test, p.a->rx + c->rx, 0);
}

static void fabric_sends_to_itself(struct kunit *test)
{
	struct pair p = pair_make(test);

	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 1, 9, 42));
	KUNIT_EXPECT_EQ(test, p.a->rx, 1);
	KUNIT_EXPECT_EQ(test, p.a->last, 1);
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 1), 42);
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 1), -EAGAIN);
}

static void fabric_ring_is_bounded(struct kunit *test)
{
	struct pair p = pair_make(test);
	u32 i;

	for (i = 0; i < VUALINK_HW_RING_MSGS; i++)
		KUNIT_ASSERT_EQ(test, 0, msg_send(p.a, 2, 9, i));
	KUNIT_EXPECT_EQ(test, -ENOSPC, msg_send(p.a, 2, 9, i));
	KUNIT_EXPECT_EQ(test, -ENOSPC, msg_send(p.a, 2, 9, i));
	/* The rings of others are not concerned. */
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.b, 2, 9, 1));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 1, 9, 1));

	for (i = 0; i < VUALINK_HW_RING_MSGS / 2; i++)
		KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), i);
	KUNIT_EXPECT_EQ(test, p.a->tx, 0);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), i++);
	KUNIT_EXPECT_EQ(test, p.a->tx, 1);
	KUNIT_EXPECT_EQ(test, p.a->last, 2);
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 9, VUALINK_HW_RING_MSGS));
	for (; i <= VUALINK_HW_RING_MSGS; i++)
		KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), i);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	/* Nobody was refused since. */
	KUNIT_EXPECT_EQ(test, p.a->tx, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&p.fabric->lost), 0);
}

static void fabric_sends_without_sleeping(struct kunit *test)
{
	struct pair p = pair_make(test);
	static DEFINE_SPINLOCK(lock);
	unsigned long flags;
	int ret[2];

	spin_lock_irqsave(&lock, flags);
	ret[0] = msg_send(p.a, 2, 9, 3);
	ret[1] = msg_recv(p.b, 1);
	spin_unlock_irqrestore(&lock, flags);
	KUNIT_EXPECT_EQ(test, ret[0], 0);
	KUNIT_EXPECT_EQ(test, ret[1], 3);
}

/* Links */

static void fabric_cut_and_restore(struct kunit *test)
{
	struct pair p = pair_make(test);
	struct fix_gpu *c = fix_gpu(test, p.fabric, 3, SZ_64K);

	p.a->link_up = 0;
	p.b->link_up = 0;
	KUNIT_EXPECT_TRUE(test, vualink_fabric_link_up(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_cut(p.fabric, 2, 1));
	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_cut(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, p.a->link_down, 1);
	KUNIT_EXPECT_EQ(test, p.a->last, 2);
	KUNIT_EXPECT_EQ(test, p.b->link_down, 1);
	KUNIT_EXPECT_EQ(test, p.b->last, 1);
	KUNIT_EXPECT_FALSE(test, vualink_fabric_link_up(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, -ENOLINK, msg_send(p.a, 2, 9, 1));
	KUNIT_EXPECT_EQ(test, -ENOLINK, msg_send(p.b, 1, 9, 1));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 3, 9, 1));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 1, 9, 1));

	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_restore(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_restore(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, p.a->link_up, 1);
	KUNIT_EXPECT_EQ(test, p.b->link_up, 1);
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 9, 1));
	KUNIT_EXPECT_EQ(test, c->link_up + c->link_down, 0);
	KUNIT_EXPECT_EQ(test, -EINVAL, vualink_fabric_cut(p.fabric, 1, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, vualink_fabric_cut(p.fabric, 1, 1024));
}

static void fabric_announces_plugs(struct kunit *test)
{
	struct pair p = pair_make(test);
	struct fix_gpu *c;

	KUNIT_EXPECT_EQ(test, p.a->link_up, 1); /* for b */
	KUNIT_EXPECT_EQ(test, p.b->link_up, 0);
	KUNIT_ASSERT_EQ(test, 0, vualink_fabric_cut(p.fabric, 2, 3));
	KUNIT_EXPECT_EQ(test, -ENOLINK, msg_send(p.a, 3, 9, 1));
	KUNIT_EXPECT_FALSE(test, vualink_fabric_link_up(p.fabric, 1, 3));

	c = fix_gpu(test, p.fabric, 3, SZ_64K);
	KUNIT_EXPECT_EQ(test, p.a->link_up, 2);
	KUNIT_EXPECT_EQ(test, p.a->last, 3);
	KUNIT_EXPECT_EQ(test, p.b->link_up, 0);
	KUNIT_EXPECT_EQ(test, c->link_up, 0);
	KUNIT_EXPECT_EQ(test, 0, msg_send(c, 1, 9, 77));

	fix_gpu_destroy(c);
	KUNIT_EXPECT_EQ(test, p.a->link_down, 1);
	KUNIT_EXPECT_EQ(test, p.b->link_down, 0);
	KUNIT_EXPECT_EQ(test, -ENOLINK, msg_send(p.a, 3, 9, 1));
	KUNIT_EXPECT_EQ(test, c->late, 0);
	/* What it sent before it went is not lost. */
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 3), 77);
}

static void fabric_access_needs_link(struct kunit *test)
{
	struct pair p = pair_make(test);
	u64 page = fix_share(p.b, SZ_1M, 0, p.a, VA);

	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, SZ_4K, 0x01010101).error);
	KUNIT_ASSERT_EQ(test, 0, vualink_fabric_cut(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, VUALINK_HW_FAULT_LINK,
			fix_fill(p.a, 1, VA, SZ_4K, 2).fault.reason);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(p.b, page), 1, SZ_4K));
	KUNIT_ASSERT_EQ(test, 0, vualink_fabric_restore(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, SZ_4K, 0x03030303).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(p.b, page), 3, SZ_4K));
	fix_gpu_destroy(p.b);
	KUNIT_EXPECT_EQ(test, VUALINK_HW_FAULT_LINK,
			fix_fill(p.a, 1, VA, SZ_4K, 4).fault.reason);
}

/* Knobs for messages */

/* Sends messages 1 to @count of a type, and checks which come, and when. */
static void expect_come(struct kunit *test, struct pair *p, u8 type, u32 count,
			const char *expected)
{
	char come[32] = "";
	u32 i, len = 0;
	int n;

	for (i = 1; i <= count; i++)
		KUNIT_EXPECT_EQ(test, 0, msg_send(p->a, 2, type, i));
	while ((n = msg_recv(p->b, 1)) >= 0 && len < sizeof(come) - 1)
		come[len++] = '0' + n;
	KUNIT_EXPECT_STREQ(test, come, expected);
}

struct rule_case {
	const char *description;
	enum vualink_knob_id id;
	const char *rule;
	const char *type_4;	/* what comes of messages 1 to 7 of type 4 */
	const char *type_5;	/* and then of type 5 */
	u32 hits;
};

static const struct rule_case rule_cases[] = {
	{ "drop all", VUALINK_KNOB_DROP, "type=any", "", "", 14 },
	{ "drop all, by number", VUALINK_KNOB_DROP, "type=-1", "", "", 14 },
	{ "drop all, by 0xff", VUALINK_KNOB_DROP, "type=0xff", "", "", 14 },
	{ "drop nothing said", VUALINK_KNOB_DROP, "", "", "", 14 },
	{ "drop a type", VUALINK_KNOB_DROP, "type=4", "", "1234567", 7 },
	{ "drop every third", VUALINK_KNOB_DROP, "every=3", "12457", "13467",
	  4 },
	{ "drop one", VUALINK_KNOB_DROP, "type=5\tonce=2\n", "1234567",
	  "134567", 1 },
	{ "drop the first two", VUALINK_KNOB_DROP, "count=2", "34567",
	  "1234567", 2 },
	{ "drop every second, twice", VUALINK_KNOB_DROP, "every=2 count=2",
	  "13567", "1234567", 2 },
	{ "drop from sender", VUALINK_KNOB_DROP, "src=1 dst=2", "", "", 14 },
	{ "drop from other", VUALINK_KNOB_DROP, "src=2", "1234567", "1234567",
	  0 },
	{ "drop to other", VUALINK_KNOB_DROP, "dst=1", "1234567", "1234567",
	  0 },
	{ "duplicate a type", VUALINK_KNOB_DUPLICATE, "type=5", "1234567",
	  "11223344556677", 7 },
	{ "duplicate one", VUALINK_KNOB_DUPLICATE, "once=3", "12334567",
	  "1234567", 1 },
	{ "reorder one", VUALINK_KNOB_REORDER, "type=4 once=3", "1243567",
	  "1234567", 1 },
	{ "reorder every second", VUALINK_KNOB_REORDER, "type=4 every=2",
	  "1325476", "1234567", 3 },
};

KUNIT_ARRAY_PARAM_DESC(rule, rule_cases, description);

static void fabric_knob_follows_rule(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct pair p = pair_make(test);

	fix_knob(test, p.fabric, c->id, c->rule);
	expect_come(test, &p, 4, 7, c->type_4);
	expect_come(test, &p, 5, 7, c->type_5);
	KUNIT_EXPECT_EQ(test, fix_knob_hits(p.fabric, c->id), c->hits);

	fix_knob(test, p.fabric, c->id, "off\n");
	expect_come(test, &p, 4, 7, "1234567");
	KUNIT_EXPECT_EQ(test, fix_knob_hits(p.fabric, c->id), c->hits);
	KUNIT_EXPECT_EQ(test, p.fabric->held_count, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&p.fabric->lost), 0);
	KUNIT_EXPECT_EQ(test, fix_stat(p.a, tx_msgs), 21);
}

static void fabric_delays(struct kunit *test)
{
	struct pair p = pair_make(test);
	ktime_t start = ktime_get();
	int n;

	fix_knob(test, p.fabric, VUALINK_KNOB_DELAY, "type=4 ms=1000");
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 2));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 5, 3));
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), 3);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, p.b->rx, 1);
	fix_wait_for(p.b, READ_ONCE(p.b->rx) >= 2);
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 1000);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), 1);
	fix_poll(test, (n = msg_recv(p.b, 1)) != -EAGAIN);
	KUNIT_EXPECT_EQ(test, n, 2);
	KUNIT_EXPECT_EQ(test, fix_knob_hits(p.fabric, VUALINK_KNOB_DELAY), 2);
}

static void fabric_reorders_only_so_long(struct kunit *test)
{
	struct pair p = pair_make(test);

	fix_knob(test, p.fabric, VUALINK_KNOB_REORDER, "once=1");
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	/* Those of other pairs do not count. */
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.b, 2, 4, 2));
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	fix_wait_for(p.b, READ_ONCE(p.b->rx) == 2);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), 1);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 2), 2);
}

static void fabric_corrupts(struct kunit *test)
{
	struct pair p = pair_make(test);
	u8 msg[VUALINK_HW_MSG_SIZE];

	fix_knob(test, p.fabric, VUALINK_KNOB_CORRUPT, "once=1");
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_recv(p.b->hw, 1, msg));
	KUNIT_EXPECT_EQ(test, msg[VUALINK_HW_MSG_SIZE - 1], 0xfe);
	KUNIT_EXPECT_TRUE(test, fix_all(msg + 2, 1, sizeof(msg) - 3));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), 1);

	fix_knob(test, p.fabric, VUALINK_KNOB_CORRUPT, "byte=1");
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_recv(p.b->hw, 1, msg));
	KUNIT_EXPECT_EQ(test, msg[1], 0xfb);
	KUNIT_EXPECT_EQ(test, msg[0], 1);
	KUNIT_EXPECT_TRUE(test, fix_all(msg + 2, 1, sizeof(msg) - 2));
}

static void fabric_mutes(struct kunit *test)
{
	struct pair p = pair_make(test);

	vualink_fabric_mute(p.fabric, 1, true);
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.b, 1, 4, 2));
	KUNIT_EXPECT_EQ(test, p.b->rx, 0);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 2), 2);
	vualink_fabric_mute(p.fabric, 1, false);
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 3));
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), 3);
}

static void fabric_held_messages_can_be_lost(struct kunit *test)
{
	struct pair p = pair_make(test);

	/* Long enough for what happens meanwhile, however slow that is */
	fix_knob(test, p.fabric, VUALINK_KNOB_DELAY, "ms=1000");
	/* The link goes */
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 1));
	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_cut(p.fabric, 1, 2));
	fix_poll(test, atomic64_read(&p.fabric->lost) == 1);
	/* the sender is reset */
	KUNIT_EXPECT_EQ(test, 0, vualink_fabric_restore(p.fabric, 1, 2));
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 2));
	vualink_hw_reset(p.a->hw);
	KUNIT_EXPECT_EQ(test, p.fabric->held_count, 0);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	/* the receiver goes. */
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 4, 3));
	fix_gpu_destroy(p.b);
	fix_poll(test, atomic64_read(&p.fabric->lost) == 2);
	KUNIT_EXPECT_EQ(test, p.b->late, 0);
}

/* Rules as text */

struct text_case {
	const char *description;
	enum vualink_knob_id id;
	const char *text;
	int ret;
};

static const struct text_case text_cases[] = {
	{ "unknown key", VUALINK_KNOB_DROP, "kinds=1", -EINVAL },
	{ "key of another knob", VUALINK_KNOB_DROP, "ms=1", -EINVAL },
	{ "no value", VUALINK_KNOB_DROP, "every", -EINVAL },
	{ "empty value", VUALINK_KNOB_DROP, "every=", -EINVAL },
	{ "not a number", VUALINK_KNOB_DROP, "every=3x", -EINVAL },
	{ "off and more", VUALINK_KNOB_DROP, "off every=3", -EINVAL },
	{ "every zeroth", VUALINK_KNOB_DROP, "every=0", -ERANGE },
	{ "negative", VUALINK_KNOB_DROP, "count=-1", -ERANGE },
	{ "type too large", VUALINK_KNOB_DROP, "type=256", -ERANGE },
	{ "id too large", VUALINK_KNOB_DROP, "src=1024", -ERANGE },
	{ "number too large", VUALINK_KNOB_DROP, "every=4294967296", -ERANGE },
	{ "byte too large", VUALINK_KNOB_CORRUPT, "byte=64", -ERANGE },
	{ "no ms", VUALINK_KNOB_DELAY, "type=1", -EINVAL },
	{ "any ms", VUALINK_KNOB_DELAY, "ms=any", -EINVAL },
	{ "zero ms", VUALINK_KNOB_DELAY, "ms=0", -ERANGE },
	{ "no ms for flush", VUALINK_KNOB_FLUSH_DELAY, "", -EINVAL },
	{ "no us", VUALINK_KNOB_ACCESS_DELAY, "id=1", -EINVAL },
	{ "us too large", VUALINK_KNOB_ACCESS_DELAY, "us=60000001", -ERANGE },
	{ "unknown kind", VUALINK_KNOB_FLUSH_FAIL, "kind=link", -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(text, text_cases, description);

static void fabric_refuses_rule(struct kunit *test)
{
	const struct text_case *c = test->param_value;
	struct pair p = pair_make(test);
	char text[64];

	fix_knob(test, p.fabric, c->id,
		 c->id == VUALINK_KNOB_ACCESS_DELAY ? "us=77" :
		 c->id == VUALINK_KNOB_DELAY ||
		 c->id == VUALINK_KNOB_FLUSH_DELAY ? "ms=77" : "count=77");
	strscpy(text, c->text);
	KUNIT_EXPECT_EQ(test, c->ret,
			vualink_fabric_knob_set(p.fabric, c->id, text));
	/* The rule before is still there. */
	KUNIT_EXPECT_TRUE(test, p.fabric->knobs[c->id].on);
}

static void expect_show(struct kunit *test, struct vualink_fabric *fabric,
			enum vualink_knob_id id, const char *expected)
{
	struct seq_file m = {
		.buf = kunit_kzalloc(test, SZ_1K, GFP_KERNEL),
		.size = SZ_1K,
	};

	KUNIT_ASSERT_NOT_NULL(test, m.buf);
	vualink_fabric_knob_show(fabric, id, &m);
	KUNIT_EXPECT_STREQ(test, m.buf, expected);
}

static void fabric_shows_rule(struct kunit *test)
{
	struct pair p = pair_make(test);

	expect_show(test, p.fabric, VUALINK_KNOB_DROP, "off\nseen 0 hits 0\n");
	fix_knob(test, p.fabric, VUALINK_KNOB_DROP, "type=0x10 every=2 src=1");
	expect_come(test, &p, 16, 3, "13");
	expect_come(test, &p, 17, 1, "1");
	expect_show(test, p.fabric, VUALINK_KNOB_DROP,
		    "type=16 src=1 dst=any every=2 once=any count=any\n"
		    "seen 3 hits 1\n");
	fix_knob(test, p.fabric, VUALINK_KNOB_DROP, "off");
	expect_show(test, p.fabric, VUALINK_KNOB_DROP, "off\nseen 3 hits 1\n");
	fix_knob(test, p.fabric, VUALINK_KNOB_FLUSH_DELAY, "ms=5 kind=npa");
	expect_show(test, p.fabric, VUALINK_KNOB_FLUSH_DELAY,
		    "id=any kind=npa every=any once=any count=any ms=5\n"
		    "seen 0 hits 0\n");
}

/* Knobs for flushes and accesses */

static void fabric_fails_flush(struct kunit *test)
{
	struct pair p = pair_make(test);
	u64 page = fix_share(p.b, SZ_1M, 0, p.a, VA);

	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, SZ_4K, 0x01010101).error);
	fix_knob(test, p.fabric, VUALINK_KNOB_FLUSH_FAIL, "kind=npa count=2");
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(p.b->hw, 1, 0, U64_MAX));
	fix_map_npa(p.b, SZ_1M, 0, 0);
	KUNIT_EXPECT_EQ(test, -EIO, vualink_hw_npa_flush(p.b->hw, 0, U64_MAX));
	/* It really did nothing. */
	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, SZ_4K, 0x02020202).error);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(p.b, page), 2, SZ_4K));
	KUNIT_EXPECT_EQ(test, fix_stat(p.b, stale), 1);
	KUNIT_EXPECT_EQ(test, fix_stat(p.b, stale_flushed), 0);
	KUNIT_EXPECT_EQ(test, -EIO, vualink_hw_npa_flush(p.b->hw, 0, U64_MAX));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_npa_flush(p.b->hw, 0, U64_MAX));
	KUNIT_EXPECT_EQ(test, VUALINK_HW_FAULT_NPA,
			fix_fill(p.a, 1, VA, SZ_4K, 3).fault.reason);

	fix_map_npa(p.b, SZ_1M, page | FIX_RW, 0);
	fix_knob(test, p.fabric, VUALINK_KNOB_FLUSH_FAIL, "kind=gate id=2");
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(p.a->hw, 2, false));
	KUNIT_EXPECT_EQ(test, -EIO, vualink_hw_source_gate(p.b->hw, 1, false));
	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, SZ_4K, 0x04040404).error);
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(p.b->hw, 1, true));

	fix_knob(test, p.fabric, VUALINK_KNOB_FLUSH_FAIL, "kind=vm");
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(p.b->hw, 1, false));
	KUNIT_EXPECT_EQ(test, -EIO, vualink_hw_vm_flush(p.a->hw, 1, 0, 1));
}

static void fabric_delays_flush(struct kunit *test)
{
	struct pair p = pair_make(test);
	ktime_t start = ktime_get();

	fix_knob(test, p.fabric, VUALINK_KNOB_FLUSH_DELAY,
		 "ms=40 kind=vm id=1 once=2");
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(p.b->hw, 1, 0, 1));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_npa_flush(p.a->hw, 0, 1));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(p.a->hw, 1, 0, 1));
	KUNIT_EXPECT_EQ(test, 0,
			fix_knob_hits(p.fabric, VUALINK_KNOB_FLUSH_DELAY));
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_vm_flush(p.a->hw, 1, 0, 1));
	KUNIT_EXPECT_EQ(test, 1,
			fix_knob_hits(p.fabric, VUALINK_KNOB_FLUSH_DELAY));
	/* Not 40: ticks are coarse, and come in bursts in UML. */
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 20);
}

static void fabric_delays_access(struct kunit *test)
{
	struct pair p = pair_make(test);
	ktime_t start = ktime_get();

	fix_share(p.b, SZ_1M, 0, p.a, VA);
	fix_share(p.a, SZ_1M, 0, p.b, VA);
	fix_knob(test, p.fabric, VUALINK_KNOB_ACCESS_DELAY, "us=40000 id=1");
	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.b, 1, VA, 4, 1).error);
	KUNIT_EXPECT_EQ(test, 0,
			fix_knob_hits(p.fabric, VUALINK_KNOB_ACCESS_DELAY));
	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, 4, 1).error);
	KUNIT_EXPECT_EQ(test, 1,
			fix_knob_hits(p.fabric, VUALINK_KNOB_ACCESS_DELAY));
	/* Not 40: ticks are coarse, and come in bursts in UML. */
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), start), 20);
}

/* Reset */

static void fabric_reset_empties_rings(struct kunit *test)
{
	struct pair p = pair_make(test);
	struct fix_gpu *c = fix_gpu(test, p.fabric, 3, SZ_64K);
	u32 i;

	for (i = 0; i < VUALINK_HW_RING_MSGS; i++) {
		KUNIT_ASSERT_EQ(test, 0, msg_send(p.a, 2, 9, i));
		KUNIT_ASSERT_EQ(test, 0, msg_send(p.b, 1, 9, i));
	}
	KUNIT_EXPECT_EQ(test, -ENOSPC, msg_send(p.a, 2, 9, i));
	KUNIT_EXPECT_EQ(test, 0, msg_send(c, 1, 9, 5));
	vualink_hw_reset(p.b->hw);
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), -EAGAIN);
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 2), -EAGAIN);
	KUNIT_EXPECT_EQ(test, msg_recv(p.a, 3), 5);
	/* Who waits for room is told that there is some. */
	KUNIT_EXPECT_EQ(test, p.a->tx, 1);
	KUNIT_EXPECT_EQ(test, p.b->tx, 0);
	KUNIT_EXPECT_EQ(test, 0, msg_send(p.a, 2, 9, 1));
	KUNIT_EXPECT_EQ(test, msg_recv(p.b, 1), 1);
}

static void fabric_reset_closes_gate(struct kunit *test)
{
	struct pair p = pair_make(test);
	u64 page = fix_share(p.b, SZ_1M, 0, p.a, VA);

	KUNIT_EXPECT_EQ(test, 0, fix_fill(p.a, 1, VA, SZ_4K, 0x01010101).error);
	vualink_hw_reset(p.b->hw);
	KUNIT_EXPECT_EQ(test, VUALINK_HW_FAULT_GATE,
			fix_fill(p.a, 1, VA, SZ_4K, 2).fault.reason);
	KUNIT_EXPECT_EQ(test, 0, vualink_hw_source_gate(p.b->hw, 1, true));
	/* The root is gone, and the TLB that knew the page. */
	KUNIT_EXPECT_EQ(test, VUALINK_HW_FAULT_NPA,
			fix_fill(p.a, 1, VA, SZ_4K, 2).fault.reason);
	KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(p.b, page), 1, SZ_4K));
}

/* Life */

static void fabric_refuses_bad_params(struct kunit *test)
{
	struct pair p = pair_make(test);
	const struct vualink_hw_params good = *vualink_hw_params(p.a->hw);
	struct vualink_hw_params bad;

	bad = good;
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-EEXIST));
	bad.id = VUALINK_HW_MAX_IDS;
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-EINVAL));
	bad = good;
	bad.id = 3;
	bad.segment_shift = VUALINK_HW_MAX_SEGMENT_SHIFT + 1;
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-EINVAL));
	bad.segment_shift = VUALINK_PAGE_SHIFT - 1;
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-EINVAL));
	bad.segment_shift = good.segment_shift;
	bad.vram_size = 0;
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-EINVAL));
	bad.vram_size = SZ_4K + SZ_2K;
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-EINVAL));
	bad.vram_size = 1ull << 51; /* More than any machine has */
	KUNIT_EXPECT_PTR_EQ(test, vualink_hw_create(&bad), ERR_PTR(-ENOMEM));
	/* Nobody was plugged in for that. */
	KUNIT_EXPECT_FALSE(test, vualink_fabric_link_up(p.fabric, 3, 3));
	KUNIT_EXPECT_NULL(test, vualink_hw_vram_page(p.a->hw, SZ_64K));
}

static void fabric_vram_starts_zero(struct kunit *test)
{
	struct pair p = pair_make(test);
	u64 i;

	for (i = 0; i < SZ_64K; i += PAGE_SIZE)
		KUNIT_EXPECT_TRUE(test, fix_all(fix_vram(p.a, i), 0,
						PAGE_SIZE));
}

static void fabric_takes_a_full_pod(struct kunit *test)
{
	struct vualink_fabric *fabric = fix_fabric(test);
	struct fix_gpu *gpu, *first = NULL;
	u32 id;

	for (id = 0; id < VUALINK_HW_MAX_IDS; id++) {
		gpu = fix_gpu(test, fabric, id, SZ_32K);
		first = first ?: gpu;
		KUNIT_ASSERT_EQ(test, 0, msg_send(gpu, 0, 9, id));
	}
	KUNIT_EXPECT_EQ(test, first->rx, VUALINK_HW_MAX_IDS);
	KUNIT_EXPECT_EQ(test, first->link_up, VUALINK_HW_MAX_IDS - 1);
	for (id = 0; id < VUALINK_HW_MAX_IDS; id++)
		KUNIT_ASSERT_EQ(test, msg_recv(first, id), id % 256);
	KUNIT_EXPECT_EQ(test, 0, msg_send(first, 1023, 9, 7));
	KUNIT_EXPECT_EQ(test, gpu->rx, 1);
	fix_share(gpu, BIT_ULL(FIX_SHIFT) - SZ_4K, 0, first, VA);
	KUNIT_EXPECT_EQ(test, 0, fix_fill(first, 1, VA, SZ_4K, 1).error);
	KUNIT_EXPECT_EQ(test, fix_stat(gpu, npa_in), 1);
}

/**
 * struct sender - a thread that sends and accesses while the other end goes
 * @gpu: from where
 * @task: the thread
 * @jobs: jobs that it ran
 */
struct sender {
	struct fix_gpu *gpu;
	struct task_struct *task;
	u32 jobs;
};

static int sender_thread(void *data)
{
	static const struct vualink_hw_cmd fill = {
		.op = VUALINK_HW_FILL, .dst = VA, .len = SZ_4K,
	};
	struct sender *sender = data;
	struct fix_gpu *gpu = sender->gpu;

	while (!kthread_should_stop()) {
		msg_send(gpu, 2, 9, 1);
		if (!vualink_hw_submit(gpu->hw, 1, ++gpu->seqno, &fill, 1))
			sender->jobs++;
		usleep_range(10, 20);
	}
	return 0;
}

static void sender_stop(void *data)
{
	struct sender *sender = data;

	kthread_stop(sender->task);
}

static struct sender *sender_start(struct kunit *test, struct fix_gpu *gpu)
{
	struct sender *sender = kunit_kzalloc(test, sizeof(*sender), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sender);
	sender->gpu = gpu;
	sender->task = kthread_run(sender_thread, sender, "sender");
	KUNIT_ASSERT_FALSE(test, IS_ERR(sender->task));
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, sender_stop, sender));
	return sender;
}

#define UNPLUG_ROUNDS	30

static void fabric_unplug_ends_interrupts(struct kunit *test)
{
	struct pair p = pair_make(test);
	struct fix_gpu *old[UNPLUG_ROUNDS];
	struct sender *sender;
	u64 rx = 0, in = 0;
	u32 i, late = 0;

	fix_share(p.b, SZ_1M, 0, p.a, VA);
	sender = sender_start(test, p.a);
	for (i = 0; i < UNPLUG_ROUNDS; i++) {
		usleep_range(500, 3000);
		while (msg_recv(p.b, 1) >= 0)
			;
		usleep_range(500, 1000);
		in += fix_stat(p.b, npa_in);
		fix_gpu_destroy(p.b);
		old[i] = p.b;
		p.b = fix_gpu(test, p.fabric, 2, SZ_64K);
		fix_share(p.b, SZ_1M, 0, p.a, VA);
	}
	kunit_release_action(test, sender_stop, sender);
	/* Now that what was late has had all the time to come */
	for (i = 0; i < UNPLUG_ROUNDS; i++) {
		rx += old[i]->rx;
		late += old[i]->late;
	}
	KUNIT_EXPECT_EQ(test, late, 0);
	KUNIT_EXPECT_GT(test, rx, 0);
	KUNIT_EXPECT_GT(test, in, 0);
	KUNIT_EXPECT_GT(test, sender->jobs, 0);
}

static struct kunit_case vualink_fabric_cases[] = {
	KUNIT_CASE(fabric_moves_messages),
	KUNIT_CASE(fabric_sends_to_itself),
	KUNIT_CASE(fabric_ring_is_bounded),
	KUNIT_CASE(fabric_sends_without_sleeping),
	KUNIT_CASE(fabric_cut_and_restore),
	KUNIT_CASE(fabric_announces_plugs),
	KUNIT_CASE(fabric_access_needs_link),
	KUNIT_CASE_PARAM(fabric_knob_follows_rule, rule_gen_params),
	KUNIT_CASE(fabric_delays),
	KUNIT_CASE(fabric_reorders_only_so_long),
	KUNIT_CASE(fabric_corrupts),
	KUNIT_CASE(fabric_mutes),
	KUNIT_CASE(fabric_held_messages_can_be_lost),
	KUNIT_CASE_PARAM(fabric_refuses_rule, text_gen_params),
	KUNIT_CASE(fabric_shows_rule),
	KUNIT_CASE(fabric_fails_flush),
	KUNIT_CASE(fabric_delays_flush),
	KUNIT_CASE(fabric_delays_access),
	KUNIT_CASE(fabric_reset_empties_rings),
	KUNIT_CASE(fabric_reset_closes_gate),
	KUNIT_CASE(fabric_refuses_bad_params),
	KUNIT_CASE(fabric_vram_starts_zero),
	KUNIT_CASE(fabric_takes_a_full_pod),
	KUNIT_CASE(fabric_unplug_ends_interrupts),
	{}
};

static struct kunit_suite vualink_fabric_suite = {
	.name = "vualink_fabric",
	.test_cases = vualink_fabric_cases,
};

kunit_test_suite(vualink_fabric_suite);
