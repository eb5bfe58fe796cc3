// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/kstrtox.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "vualink_hw_internal.h"

/**
 * DOC: Fabric knobs
 *
 * The directory of a fabric in debugfs has a file for each thing that can go
 * wrong. Most hold one *rule*. Writing ``off`` ends it; anything else replaces
 * it and sets its counters to zero: words of the form ``key=value``, in any
 * order, with blanks between them. A key that is left out, or whose value is
 * ``any``, restricts nothing. Reading gives the rule, then a line
 * ``seen N hits M``: how many events met the conditions, and on how many of
 * them the knob acted.
 *
 * =================  ========================================================
 * file               what happens to an event, and further keys
 * =================  ========================================================
 * ``drop``           the message is accepted and lost
 * ``duplicate``      the message is delivered twice
 * ``delay``          the message is delivered later; ``ms`` must be given
 * ``reorder``        the message goes behind the next one of the same pair, or
 *                    100 ms later if there is none
 * ``corrupt``        the byte with index ``byte`` is inverted, else the last
 * ``flush_delay``    a flush starts later; ``ms`` must be given
 * ``flush_fail``     a flush does nothing and returns -EIO
 * ``access_delay``   an access takes longer, between its translation and its
 *                    effect; ``us`` must be given, and the next rule ends it
 * ``walk_delay``     a page table walk takes longer, between its end and the
 *                    TLB; likewise
 * =================  ========================================================
 *
 * =================  ========================================================
 * key                meaning
 * =================  ========================================================
 * ``type``           messages: byte 1 of the message; 255 and -1 mean ``any``
 * ``src``, ``dst``   messages: id of the sender, of the receiver
 * ``id``             flushes: the accelerator that flushes; accesses: the one
 *                    whose copy engine it is; walks: the one whose MMU it is
 * ``kind``           flushes: ``vm``, ``npa``, or ``gate`` (closing one)
 * ``every``          act on every nth event only
 * ``once``           act on the nth event only
 * ``count``          act on this many events at most
 * =================  ========================================================
 *
 * For a message that several rules are for, the order is that of the table;
 * what was dropped is not delayed. The other files take ids:
 *
 * =================  ========================================================
 * file               what writing does
 * =================  ========================================================
 * ``cut``            ``A B``: cuts the link between the two; reading lists all
 * ``restore``        ``A B``: restores it
 * ``mute``           ``A``: messages from A are accepted and lost; reading
 *                    lists all who are muted
 * ``unmute``         ``A``: ends that
 * ``crash``          ``A``: resets the accelerator and tells nobody; its jobs
 *                    neither run nor end until they are cancelled
 * =================  ========================================================
 *
 * Reading ``state`` shows which ids are plugged in, how many messages are held
 * back, and how many were lost to no knob. For example, to lose the second
 * message of type 4 from accelerator 1, and to have each flush take 50 ms::
 *
 *	echo type=4 src=1 once=2 > drop
 *	echo ms=50 > flush_delay
 */

#define KEY(key)	BIT(VUALINK_KEY_ ## key)
#define KEYS_ALL	(KEY(EVERY) | KEY(ONCE) | KEY(COUNT))
#define KEYS_MSG	(KEYS_ALL | KEY(TYPE) | KEY(SRC) | KEY(DST))
#define KEYS_FLUSH	(KEYS_ALL | KEY(ID) | KEY(KIND))

static const struct {
	const char *name;
	u32 keys;
	u32 required;
} vualink_knob_infos[VUALINK_KNOBS] = {
	[VUALINK_KNOB_DROP] = { "drop", KEYS_MSG },
	[VUALINK_KNOB_DUPLICATE] = { "duplicate", KEYS_MSG },
	[VUALINK_KNOB_DELAY] = { "delay", KEYS_MSG | KEY(MS), KEY(MS) },
	[VUALINK_KNOB_REORDER] = { "reorder", KEYS_MSG },
	[VUALINK_KNOB_CORRUPT] = { "corrupt", KEYS_MSG | KEY(BYTE) },
	[VUALINK_KNOB_FLUSH_DELAY] = {
		"flush_delay", KEYS_FLUSH | KEY(MS), KEY(MS)
	},
	[VUALINK_KNOB_FLUSH_FAIL] = { "flush_fail", KEYS_FLUSH },
	[VUALINK_KNOB_ACCESS_DELAY] = {
		"access_delay", KEYS_ALL | KEY(ID) | KEY(US), KEY(US)
	},
	[VUALINK_KNOB_WALK_DELAY] = {
		"walk_delay", KEYS_ALL | KEY(ID) | KEY(US), KEY(US)
	},
};

static const struct {
	const char *name;
	s32 min;
	s32 max;
} vualink_key_infos[VUALINK_KEYS] = {
	[VUALINK_KEY_TYPE] = { "type", 0, U8_MAX - 1 },
	[VUALINK_KEY_SRC] = { "src", 0, VUALINK_HW_MAX_IDS - 1 },
	[VUALINK_KEY_DST] = { "dst", 0, VUALINK_HW_MAX_IDS - 1 },
	[VUALINK_KEY_ID] = { "id", 0, VUALINK_HW_MAX_IDS - 1 },
	[VUALINK_KEY_KIND] = { "kind", 0, 0 },
	[VUALINK_KEY_EVERY] = { "every", 1, S32_MAX },
	[VUALINK_KEY_ONCE] = { "once", 1, S32_MAX },
	[VUALINK_KEY_COUNT] = { "count", 1, S32_MAX },
	[VUALINK_KEY_MS] = { "ms", 1, 60 * MSEC_PER_SEC },
	[VUALINK_KEY_US] = { "us", 1, 60 * USEC_PER_SEC },
	[VUALINK_KEY_BYTE] = { "byte", 0, VUALINK_HW_MSG_SIZE - 1 },
};

static const char * const vualink_flush_kinds[] = {
	[VUALINK_FLUSH_VM] = "vm",
	[VUALINK_FLUSH_NPA] = "npa",
	[VUALINK_FLUSH_GATE] = "gate",
};

/* What the rules do */

static bool vualink_knob_takes(const struct vualink_knob *knob,
			       enum vualink_knob_key key, s32 value)
{
	return knob->val[key] == VUALINK_KEY_ANY || knob->val[key] == value;
}

static bool vualink_knob_fires(const struct vualink_knob *knob)
{
	s32 every = knob->val[VUALINK_KEY_EVERY];
	s32 once = knob->val[VUALINK_KEY_ONCE];
	s32 count = knob->val[VUALINK_KEY_COUNT];

	if (count != VUALINK_KEY_ANY && knob->hits >= count)
		return false;
	if (once != VUALINK_KEY_ANY)
		return knob->seen == once;
	return every == VUALINK_KEY_ANY || knob->seen % every == 0;
}

/* Counts an event that the rule is for. Return: whether to act on it. */
static bool vualink_knob_hit(struct vualink_knob *knob)
{
	bool fires;

	lockdep_assert_held(&knob->fabric->lock);
	knob->seen++;
	fires = vualink_knob_fires(knob);
	knob->hits += fires;
	return fires;
}

static bool vualink_knob_hit_msg(struct vualink_fabric *fabric,
				 enum vualink_knob_id id, u32 src, u32 dst,
				 const u8 *msg)
{
	struct vualink_knob *knob = &fabric->knobs[id];

	return knob->on &&
	       vualink_knob_takes(knob, VUALINK_KEY_TYPE, msg[1]) &&
	       vualink_knob_takes(knob, VUALINK_KEY_SRC, src) &&
	       vualink_knob_takes(knob, VUALINK_KEY_DST, dst) &&
	       vualink_knob_hit(knob);
}

static u32 vualink_knob_corrupt_byte(const struct vualink_knob *knob)
{
	s32 byte = knob->val[VUALINK_KEY_BYTE];

	return byte == VUALINK_KEY_ANY ? VUALINK_HW_MSG_SIZE - 1 : byte;
}

/* Decides what becomes of a message, and corrupts it. Any context. */
void vualink_fabric_knob_msg(struct vualink_fabric *fabric, u32 src, u32 dst,
			     u8 *msg, struct vualink_verdict *verdict)
{
	struct vualink_knob *knobs = fabric->knobs;
	u8 type[2] = { 0, msg[1] };

	guard(spinlock_irqsave)(&fabric->lock);
	verdict->drop = test_bit(src, fabric->muted) ||
			vualink_knob_hit_msg(fabric, VUALINK_KNOB_DROP, src,
					     dst, type);
	if (verdict->drop)
		return;
	verdict->duplicate = vualink_knob_hit_msg(fabric,
						  VUALINK_KNOB_DUPLICATE, src,
						  dst, type);
	if (vualink_knob_hit_msg(fabric, VUALINK_KNOB_DELAY, src, dst, type))
		verdict->delay_ms =
			knobs[VUALINK_KNOB_DELAY].val[VUALINK_KEY_MS];
	verdict->reorder = vualink_knob_hit_msg(fabric, VUALINK_KNOB_REORDER,
						src, dst, type);
	if (vualink_knob_hit_msg(fabric, VUALINK_KNOB_CORRUPT, src, dst, type))
		msg[vualink_knob_corrupt_byte(&knobs[VUALINK_KNOB_CORRUPT])] ^=
			0xff;
}

/* @ms: if it is hit, the time that the rule says, if it says any */
static bool vualink_knob_hit_flush(struct vualink_hw *hw,
				   enum vualink_knob_id id,
				   enum vualink_flush_kind kind, s32 *ms)
{
	struct vualink_knob *knob = &hw->params.fabric->knobs[id];

	/* Pairs with WRITE_ONCE() in vualink_fabric_knob_set(). */
	if (!READ_ONCE(knob->on))
		return false;

	guard(spinlock_irqsave)(&knob->fabric->lock);
	*ms = knob->val[VUALINK_KEY_MS];
	return knob->on &&
	       vualink_knob_takes(knob, VUALINK_KEY_ID, hw->params.id) &&
	       vualink_knob_takes(knob, VUALINK_KEY_KIND, kind) &&
	       vualink_knob_hit(knob);
}

/*
 * Runs at the start of each flush. May sleep.
 * Return: 0, or -EIO if the flush is to fail.
 */
int vualink_fabric_knob_flush(struct vualink_hw *hw,
			      enum vualink_flush_kind kind)
{
	s32 ms;

	if (vualink_knob_hit_flush(hw, VUALINK_KNOB_FLUSH_DELAY, kind, &ms))
		fsleep(ms * USEC_PER_MSEC);
	if (vualink_knob_hit_flush(hw, VUALINK_KNOB_FLUSH_FAIL, kind, &ms))
		return -EIO;
	return 0;
}

/*
 * Takes the time that ACCESS_DELAY or WALK_DELAY says, or until that is changed.
 * May sleep.
 */
void vualink_fabric_knob_delay(struct vualink_hw *hw, enum vualink_knob_id id)
{
	struct vualink_fabric *fabric = hw->params.fabric;
	struct vualink_knob *knob = &fabric->knobs[id];
	u32 rules;
	bool hit;
	s32 us;

	/* Pairs with WRITE_ONCE() in vualink_fabric_knob_set(). */
	if (!READ_ONCE(knob->on))
		return;
	scoped_guard(spinlock_irqsave, &fabric->lock) {
		hit = knob->on &&
		      vualink_knob_takes(knob, VUALINK_KEY_ID, hw->params.id) &&
		      vualink_knob_hit(knob);
		rules = knob->rules;
		us = knob->val[VUALINK_KEY_US];
	}
	if (hit)
		wait_event_hrtimeout(fabric->knob_wait,
				     READ_ONCE(knob->rules) != rules,
				     us_to_ktime(us));
}

/* Rules as text */

static int vualink_key_find(const char *name, u32 allowed)
{
	u32 key;

	for (key = 0; key < VUALINK_KEYS; key++)
		if (allowed & BIT(key) &&
		    !strcmp(name, vualink_key_infos[key].name))
			return key;
	return -EINVAL;
}

static int vualink_key_parse_value(enum vualink_knob_key key, const char *text,
				   s32 *value)
{
	int ret;

	*value = VUALINK_KEY_ANY;
	if (!strcmp(text, "any"))
		return 0;
	if (key == VUALINK_KEY_KIND) {
		ret = match_string(vualink_flush_kinds,
				   ARRAY_SIZE(vualink_flush_kinds), text);
		*value = ret;
		return min(ret, 0);
	}
	ret = kstrtos32(text, 0, value);
	if (ret)
		return ret;
	if (key == VUALINK_KEY_TYPE && (*value == U8_MAX || *value == -1)) {
		*value = VUALINK_KEY_ANY;
		return 0;
	}
	return *value >= vualink_key_infos[key].min &&
	       *value <= vualink_key_infos[key].max ? 0 : -ERANGE;
}

static int vualink_knob_parse_word(enum vualink_knob_id id, char *word,
				   s32 *val)
{
	char *name = strsep(&word, "=");
	int key = vualink_key_find(name, vualink_knob_infos[id].keys);

	if (key < 0 || !word)
		return -EINVAL;
	return vualink_key_parse_value(key, word, &val[key]);
}

static int vualink_knob_parse(enum vualink_knob_id id, char *text, s32 *val)
{
	u32 key, required = vualink_knob_infos[id].required;
	char *word;
	int ret;

	for (key = 0; key < VUALINK_KEYS; key++)
		val[key] = VUALINK_KEY_ANY;
	while ((word = strsep(&text, " \t\n"))) {
		if (!*word)
			continue;
		ret = vualink_knob_parse_word(id, word, val);
		if (ret)
			return ret;
	}
	for (key = 0; key < VUALINK_KEYS; key++)
		if (required & BIT(key) && val[key] == VUALINK_KEY_ANY)
			return -EINVAL;
	return 0;
}

/*
 * Gives a knob a rule, which is taken to pieces.
 * Return: 0, -EINVAL for an unknown or missing key, or -ERANGE.
 */
int vualink_fabric_knob_set(struct vualink_fabric *fabric,
			    enum vualink_knob_id id, char *text)
{
	struct vualink_knob *knob = &fabric->knobs[id];
	s32 val[VUALINK_KEYS];
	bool on;
	int ret;

	text = strim(text);
	on = strcmp(text, "off");
	if (on) {
		ret = vualink_knob_parse(id, text, val);
		if (ret)
			return ret;
	}

	guard(spinlock_irqsave)(&fabric->lock);
	/* Both pair with READ_ONCE() in those who look before they lock. */
	WRITE_ONCE(knob->on, on);
	WRITE_ONCE(knob->rules, knob->rules + 1);
	wake_up_all(&fabric->knob_wait);
	if (on) {
		memcpy(knob->val, val, sizeof(val));
		knob->seen = 0;
		knob->hits = 0;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_knob_set);

static void vualink_key_show(struct seq_file *m, enum vualink_knob_key key,
			     s32 value)
{
	seq_printf(m, "%s=", vualink_key_infos[key].name);
	if (value == VUALINK_KEY_ANY)
		seq_puts(m, "any");
	else if (key == VUALINK_KEY_KIND)
		seq_puts(m, vualink_flush_kinds[value]);
	else
		seq_printf(m, "%d", value);
}

static void vualink_rule_show(struct seq_file *m,
			      const struct vualink_knob *knob)
{
	u32 key, keys = vualink_knob_infos[knob->id].keys;

	if (!knob->on) {
		seq_puts(m, "off\n");
		return;
	}
	for (key = 0; key < VUALINK_KEYS; key++) {
		if (!(keys & BIT(key)))
			continue;
		vualink_key_show(m, key, knob->val[key]);
		keys &= ~BIT(key);
		seq_putc(m, keys ? ' ' : '\n');
	}
}

/* Shows the rule of a knob and its counters. */
void vualink_fabric_knob_show(struct vualink_fabric *fabric,
			      enum vualink_knob_id id, struct seq_file *m)
{
	struct vualink_knob knob;

	scoped_guard(spinlock_irqsave, &fabric->lock)
		knob = fabric->knobs[id];
	vualink_rule_show(m, &knob);
	seq_printf(m, "seen %llu hits %llu\n", knob.seen, knob.hits);
}
EXPORT_SYMBOL_IF_KUNIT(vualink_fabric_knob_show);

/* Return: the name of the file that holds the rule. */
const char *vualink_fabric_knob_name(enum vualink_knob_id id)
{
	return vualink_knob_infos[id].name;
}

void vualink_fabric_knobs_init(struct vualink_fabric *fabric)
{
	u32 i;

	init_waitqueue_head(&fabric->knob_wait);
	for (i = 0; i < VUALINK_KNOBS; i++) {
		fabric->knobs[i].fabric = fabric;
		fabric->knobs[i].id = i;
	}
}
