// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bits.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "drm_ualink_internal.h"

/*
 * What a file imported. A record is in two trees: in that of the object, by the
 * file, since the next import of the same memory by the same file has to find it;
 * and in that of the file, by an order in which the dead come before the living.
 * An order is never used twice, so that who goes through the records of a file
 * can let go of the lock and go on where he was.
 *
 * The lock is the device's. No more than a few records are looked at while it is
 * held, however many there are.
 */

/* In the order of a record that lives */
#define ORDER_LIVE	BIT_ULL(63)

static struct drm_ualink_record *file_to_record(const struct rb_node *node)
{
	return rb_entry_safe(node, struct drm_ualink_record, file_node);
}

static struct drm_ualink_record *object_to_record(const struct rb_node *node)
{
	return rb_entry_safe(node, struct drm_ualink_record, object_node);
}

static bool file_less(struct rb_node *a, const struct rb_node *b)
{
	return file_to_record(a)->order < file_to_record(b)->order;
}

static bool object_less(struct rb_node *a, const struct rb_node *b)
{
	return object_to_record(a)->ufile < object_to_record(b)->ufile;
}

static int object_cmp(const void *key, const struct rb_node *node)
{
	const struct drm_ualink_file *ufile = key, *other = object_to_record(node)->ufile;

	return ufile < other ? -1 : ufile > other;
}

static struct drm_ualink_record *find_record(struct drm_ualink_file *ufile,
					     struct drm_ualink_imported *imported)
{
	return object_to_record(rb_find(ufile, &imported->records, object_cmp));
}

/* The first record of the file after a place in its order. */
static struct drm_ualink_record *record_after(struct drm_ualink_file *ufile, u64 order)
{
	struct drm_ualink_record *record, *found = NULL;
	struct rb_node *node = ufile->records.rb_root.rb_node;

	while (node) {
		record = file_to_record(node);
		if (record->order > order) {
			found = record;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

static void add_record(struct drm_ualink_file *ufile, struct drm_ualink_imported *imported,
		       struct drm_ualink_record *record)
{
	lockdep_assert_held(&ufile->ual->lock);

	ualink_handle_to_bytes(&imported->handle, record->info.handle);
	record->info.size = imported->size;
	record->info.exporter_id = imported->exporter;
	record->ufile = ufile;
	record->imported = imported;
	record->order = ++ufile->last_order | ORDER_LIVE;
	rb_add(&record->object_node, &imported->records, object_less);
	rb_add_cached(&record->file_node, &ufile->records, file_less);
	ufile->nr_live++;
}

/* Out of both trees; the caller frees it. */
static void remove_record(struct drm_ualink_record *record)
{
	struct drm_ualink_file *ufile = record->ufile;

	lockdep_assert_held(&ufile->ual->lock);

	rb_erase_cached(&record->file_node, &ufile->records);
	if (record->imported) {
		rb_erase(&record->object_node, &record->imported->records);
		ufile->nr_live--;
	} else {
		ufile->nr_dead--;
	}
}

static void note_death(struct drm_ualink_file *ufile)
{
	ufile->deaths++;
	if (list_empty(&ufile->tell_link))
		drm_ualink_event_owe(ufile);
}

static bool is_live(const struct drm_ualink_record *record)
{
	return record && (record->order & ORDER_LIVE);
}

/* To the end of the dead, which is just where the oldest of the living is already. */
static void move_to_dead(struct drm_ualink_record *record)
{
	struct drm_ualink_file *ufile = record->ufile;
	bool moves = is_live(file_to_record(rb_prev(&record->file_node)));

	if (moves)
		rb_erase_cached(&record->file_node, &ufile->records);
	record->order = ++ufile->last_order;
	if (moves)
		rb_add_cached(&record->file_node, &ufile->records, file_less);
}

static void bury_record(struct drm_ualink_record *record, enum ualink_death why)
{
	struct drm_ualink_file *ufile = record->ufile;

	move_to_dead(record);
	rb_erase(&record->object_node, &record->imported->records);
	record->imported = NULL;
	record->info.death = why;
	ufile->nr_live--;
	ufile->nr_dead++;
	note_death(ufile);
}

/* Takes the oldest dead one out if there are too many. */
static struct drm_ualink_record *trim_dead(struct drm_ualink_file *ufile)
{
	struct drm_ualink_record *oldest;

	if (ufile->nr_dead <= DRM_UALINK_MAX_DEAD)
		return NULL;

	oldest = file_to_record(rb_first_cached(&ufile->records));
	remove_record(oldest);
	return oldest;
}

/* Notes that the file imported an object: 0, -ENOMEM, or -ENODEV if it has died already. */
int drm_ualink_record_import(struct drm_ualink_file *ufile, struct drm_ualink_imported *imported,
			     u64 user_data)
{
	struct drm_ualink *ual = ufile->ual;
	struct drm_ualink_record *spare, *record;
	int ret = 0;

	spare = kzalloc_obj(*spare, GFP_KERNEL_ACCOUNT);
	if (!spare)
		return -ENOMEM;

	spin_lock(&ual->lock);
	if (imported->death != UALINK_ALIVE) {
		ret = -ENODEV;
		goto out_unlock;
	}
	record = find_record(ufile, imported);
	if (!record) {
		record = spare;
		spare = NULL;
		add_record(ufile, imported, record);
	}
	record->info.user_data = user_data;
	record->info.access = READ_ONCE(imported->access);
out_unlock:
	spin_unlock(&ual->lock);
	kfree(spare);
	return ret;
}

/* How many imports the file can ask about. */
u32 drm_ualink_records_count(struct drm_ualink_file *ufile)
{
	u32 count;

	spin_lock(&ufile->ual->lock);
	count = ufile->nr_dead + ufile->nr_live;
	spin_unlock(&ufile->ual->lock);
	return count;
}

/*
 * Copies the next @count imports of the file to @infos, or what is left of them,
 * and returns how many that were. *@cursor is 0 at first; @count should be small.
 */
u32 drm_ualink_records_copy(struct drm_ualink_file *ufile, u64 *cursor,
			    struct drm_ualink_import_info *infos, u32 count)
{
	struct drm_ualink_record *record;
	u32 i = 0;

	spin_lock(&ufile->ual->lock);
	record = record_after(ufile, *cursor);
	while (record && i < count) {
		infos[i++] = record->info;
		*cursor = record->order;
		record = file_to_record(rb_next(&record->file_node));
	}
	spin_unlock(&ufile->ual->lock);
	return i;
}

/* Moves a record of the object to the dead of its file, if there is one; true if more are. */
static bool bury_one(struct drm_ualink_imported *imported, enum ualink_death why)
{
	struct drm_ualink *ual = imported->base.ual;
	struct drm_ualink_record *record, *old = NULL;
	bool more;

	spin_lock(&ual->lock);
	imported->death = why;
	record = object_to_record(rb_first(&imported->records));
	if (record) {
		bury_record(record, why);
		old = trim_dead(record->ufile);
	}
	more = !RB_EMPTY_ROOT(&imported->records);
	spin_unlock(&ual->lock);

	kfree(old);
	return more;
}

/* All files that imported the object have lost it. */
void drm_ualink_records_died(struct drm_ualink_imported *imported, enum ualink_death why)
{
	while (bury_one(imported, why))
		;
}

static struct drm_ualink_record *pop_of_object(struct drm_ualink_imported *imported)
{
	struct drm_ualink *ual = imported->base.ual;
	struct drm_ualink_record *record;

	spin_lock(&ual->lock);
	record = object_to_record(rb_first(&imported->records));
	if (record)
		remove_record(record);
	spin_unlock(&ual->lock);
	return record;
}

/* The object ends alive, and with it the records of it. */
void drm_ualink_records_released(struct drm_ualink_imported *imported)
{
	struct drm_ualink_record *record;

	while ((record = pop_of_object(imported)))
		kfree(record);
}

static struct drm_ualink_record *pop_of_file(struct drm_ualink_file *ufile)
{
	struct drm_ualink_record *record;

	spin_lock(&ufile->ual->lock);
	record = record_after(ufile, 0);
	if (record)
		remove_record(record);
	spin_unlock(&ufile->ual->lock);
	return record;
}

/* The file is being closed, and adds no record any more. */
void drm_ualink_records_free(struct drm_ualink_file *ufile)
{
	struct drm_ualink_record *record;

	while ((record = pop_of_file(ufile))) {
		kfree(record);
		cond_resched();
	}
}
