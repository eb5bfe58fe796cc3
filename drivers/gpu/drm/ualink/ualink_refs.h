/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_REFS_H_
#define _UALINK_REFS_H_

#include <linux/ref_tracker.h>

/*
 * References that must have been given back when something is torn down. With
 * CONFIG_UALINK_DEBUG_REFS each is known by who took it, what is left in the end is
 * named in the log, and <debugfs>/ref_tracker shows what there is. Without, nothing
 * of this is left.
 */

#ifdef CONFIG_UALINK_DEBUG_REFS

struct ualink_refs {
	struct ref_tracker_dir dir;
};

struct ualink_ref {
	struct ref_tracker *tracker;
};

/* @what: a constant; what the references are to */
static inline void ualink_refs_init(struct ualink_refs *refs, const char *what)
{
	ref_tracker_dir_init(&refs->dir, 0, what);
}

/* The end: complains, with a stack each, of what was never given back. */
static inline void ualink_refs_exit(struct ualink_refs *refs)
{
	ref_tracker_dir_exit(&refs->dir);
}

static inline void ualink_ref_add(struct ualink_refs *refs, struct ualink_ref *ref)
{
	ref_tracker_alloc(&refs->dir, &ref->tracker, GFP_KERNEL);
}

static inline void ualink_ref_del(struct ualink_refs *refs, struct ualink_ref *ref)
{
	/* Too late: it has been complained of, and what was known of it is gone. */
	if (refs->dir.dead)
		return;
	ref_tracker_free(&refs->dir, &ref->tracker);
}

#else

struct ualink_refs {
};

struct ualink_ref {
};

static inline void ualink_refs_init(struct ualink_refs *refs, const char *what)
{
}

static inline void ualink_refs_exit(struct ualink_refs *refs)
{
}

static inline void ualink_ref_add(struct ualink_refs *refs, struct ualink_ref *ref)
{
}

static inline void ualink_ref_del(struct ualink_refs *refs, struct ualink_ref *ref)
{
}

#endif

#endif /* _UALINK_REFS_H_ */
