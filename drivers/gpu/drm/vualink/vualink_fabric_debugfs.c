// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "vualink_hw_internal.h"

/* The files that vualink_fabric_knobs.c describes */

#define VUALINK_TEXT_MAX	160

static int vualink_text_get(char *text, const char __user *ubuf, size_t len)
{
	if (len >= VUALINK_TEXT_MAX)
		return -EINVAL;
	if (copy_from_user(text, ubuf, len))
		return -EFAULT;
	text[len] = '\0';
	return 0;
}

/* Files with a rule */

static int vualink_knob_show(struct seq_file *m, void *unused)
{
	struct vualink_knob *knob = m->private;

	vualink_fabric_knob_show(knob->fabric, knob->id, m);
	return 0;
}

static ssize_t vualink_knob_write(struct file *file, const char __user *ubuf,
				  size_t len, loff_t *ppos)
{
	struct seq_file *m = file->private_data;
	struct vualink_knob *knob = m->private;
	char text[VUALINK_TEXT_MAX];
	int ret;

	ret = vualink_text_get(text, ubuf, len);
	if (!ret)
		ret = vualink_fabric_knob_set(knob->fabric, knob->id, text);
	return ret ?: len;
}
DEFINE_SHOW_STORE_ATTRIBUTE(vualink_knob);

/* Files that take ids */

static void vualink_cut_show(struct vualink_fabric *fabric, struct seq_file *m)
{
	unsigned long pair;
	void *value;

	xa_for_each(&fabric->cuts, pair, value)
		seq_printf(m, "%lu %lu\n", pair / VUALINK_HW_MAX_IDS,
			   pair % VUALINK_HW_MAX_IDS);
}

static void vualink_mute_show(struct vualink_fabric *fabric, struct seq_file *m)
{
	seq_printf(m, "%*pbl\n", VUALINK_HW_MAX_IDS, fabric->muted);
}

static int vualink_mute(struct vualink_fabric *fabric, u32 id, u32 unused)
{
	vualink_fabric_mute(fabric, id, true);
	return 0;
}

static int vualink_unmute(struct vualink_fabric *fabric, u32 id, u32 unused)
{
	vualink_fabric_mute(fabric, id, false);
	return 0;
}

static int vualink_crash(struct vualink_fabric *fabric, u32 id, u32 unused)
{
	return vualink_fabric_crash(fabric, id);
}

static const struct {
	const char *name;
	int ids;
	int (*act)(struct vualink_fabric *fabric, u32 a, u32 b);
	void (*show)(struct vualink_fabric *fabric, struct seq_file *m);
} vualink_action_infos[VUALINK_ACTIONS] = {
	{ "cut", 2, vualink_fabric_cut, vualink_cut_show },
	{ "restore", 2, vualink_fabric_restore },
	{ "mute", 1, vualink_mute, vualink_mute_show },
	{ "unmute", 1, vualink_unmute },
	{ "crash", 1, vualink_crash },
};

static int vualink_action_show(struct seq_file *m, void *unused)
{
	struct vualink_action *action = m->private;

	if (vualink_action_infos[action->index].show)
		vualink_action_infos[action->index].show(action->fabric, m);
	return 0;
}

static ssize_t vualink_action_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *ppos)
{
	struct seq_file *m = file->private_data;
	struct vualink_action *action = m->private;
	char text[VUALINK_TEXT_MAX];
	u32 ids[2] = {};
	int ret;

	ret = vualink_text_get(text, ubuf, len);
	if (ret)
		return ret;
	if (sscanf(text, "%u %u", &ids[0], &ids[1]) !=
	    vualink_action_infos[action->index].ids)
		return -EINVAL;
	if (max(ids[0], ids[1]) >= VUALINK_HW_MAX_IDS)
		return -ERANGE;
	ret = vualink_action_infos[action->index].act(action->fabric, ids[0],
						      ids[1]);
	return ret ?: len;
}
DEFINE_SHOW_STORE_ATTRIBUTE(vualink_action);

/* The state of the fabric */

static int vualink_state_show(struct seq_file *m, void *unused)
{
	struct vualink_fabric *fabric = m->private;
	struct vualink_hw *hw;
	unsigned long id;

	seq_puts(m, "plugged");
	xa_for_each(&fabric->hws, id, hw)
		seq_printf(m, " %lu", id);
	seq_printf(m, "\nheld %u\nlost %lld\n", READ_ONCE(fabric->held_count),
		   atomic64_read(&fabric->lost));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(vualink_state);

void vualink_fabric_debugfs_init(struct vualink_fabric *fabric,
				 const char *name, struct dentry *parent)
{
	struct dentry *dir;
	u32 i;

	if (!parent)
		return;
	dir = debugfs_create_dir(name, parent);
	fabric->dir = dir;
	for (i = 0; i < VUALINK_KNOBS; i++)
		debugfs_create_file(vualink_fabric_knob_name(i), 0600, dir,
				    &fabric->knobs[i], &vualink_knob_fops);
	for (i = 0; i < VUALINK_ACTIONS; i++) {
		fabric->actions[i].fabric = fabric;
		fabric->actions[i].index = i;
		debugfs_create_file(vualink_action_infos[i].name,
				    vualink_action_infos[i].show ? 0600 : 0200,
				    dir, &fabric->actions[i],
				    &vualink_action_fops);
	}
	debugfs_create_file("state", 0400, dir, fabric, &vualink_state_fops);
}
