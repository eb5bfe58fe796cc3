// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/ktime.h>
#include <linux/slab.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

/**
 * DOC: Import state machine
 *
 * .. kernel-render:: DOT
 *    :alt: the states of an import
 *    :caption: States of an import
 *
 *    digraph "import" {
 *       rankdir = LR; node [shape = box, fontsize = 10]; edge [fontsize = 9];
 *       PENDING -> ACTIVE [label = "granted"];
 *       PENDING -> RELEASING [label = "given up"];
 *       PENDING -> DEAD [label = "refused,\nor revoked"];
 *       ACTIVE -> IDLE [label = "last user leaves"];
 *       IDLE -> ACTIVE [label = "used again"];
 *       ACTIVE -> RELEASING [label = "last user leaves,\nno cache"];
 *       IDLE -> RELEASING [label = "too old, too many"];
 *       ACTIVE -> REVOKING [label = "revoked,\nor session ends"];
 *       IDLE -> DEAD [label = "revoked,\nor session ends"];
 *       RELEASING -> DEAD [label = "acknowledged,\nor session ends"];
 *       REVOKING -> DEAD [label = "out of page tables,\nflushed"];
 *    }
 *
 * One record for each handle is alive (PENDING, ACTIVE or IDLE) at a time. A
 * record that is RELEASING holds no translation any more, but still answers a
 * REVOKE; whoever imports the handle again meanwhile gets a record of its own,
 * with a grant of its own.
 */

/*
 * Does not shrink: when very many die at once, each of them would ask for it. What stays
 * is ten bytes or so for each import of the time when there were most of them.
 */
static const struct rhashtable_params import_params = {
	.head_offset = offsetof(struct ualink_import, node),
	.key_offset = offsetof(struct ualink_import, handle.tag),
	.key_len = sizeof(u64),
};

int ualink_import_table_init(struct ualink_device *udev)
{
	return rhltable_init(&udev->imports, &import_params);
}

void ualink_import_table_fini(struct ualink_device *udev)
{
	rhltable_destroy(&udev->imports);
}

static bool import_alive(const struct ualink_import *imp)
{
	return imp->state <= UALINK_IMPORT_IDLE;
}

static bool import_counted(enum ualink_import_state state)
{
	return state == UALINK_IMPORT_ACTIVE || state == UALINK_IMPORT_IDLE;
}

/* The only place where the state of an import changes. */
void ualink_import_set_state(struct ualink_import *imp, enum ualink_import_state state)
{
	int delta = import_counted(state) - import_counted(imp->state);

	lockdep_assert_held(&imp->udev->lock);

	trace_ualink_import_state(imp, imp->state, state);
	imp->udev->nr_imports += delta;
	imp->peer->nr_imports += delta;
	if (imp->state == UALINK_IMPORT_PENDING)
		complete_all(&imp->answered);
	imp->state = state;
}

static void import_free(struct kref *ref)
{
	struct ualink_import *imp = container_of(ref, struct ualink_import, ref);

	ualink_ref_del(&imp->udev->refs, &imp->udev_ref);
	kobject_put(&imp->udev->kobj);
	kfree_rcu(imp, rcu);
}

/* The end of a record: nothing of it is left here or at the exporter. */
void ualink_import_finish(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;

	lockdep_assert_held(&udev->lock);

	ualink_tx_cancel(imp->peer, &imp->req);
	ualink_import_set_state(imp, UALINK_IMPORT_DEAD);
	rhltable_remove(&udev->imports, &imp->node, import_params);
	list_del_init(&imp->peer_link);
	udev->nr_import_records--;
	ualink_device_changed(udev);
	kref_put(&imp->ref, import_free);
}

/* A record that never became ACTIVE; those who wait get @error. */
void ualink_import_fail(struct ualink_import *imp, int error)
{
	imp->error = error;
	ualink_import_finish(imp);
}

/* Gives a grant back. The caller has made sure that no translation is left. */
void ualink_import_release(struct ualink_import *imp)
{
	ualink_import_set_state(imp, UALINK_IMPORT_RELEASING);
	ualink_tx_request(imp->peer, &imp->req, UALINK_MSG_RELEASE);
}

/* Nobody waits for the answer any more. */
static void import_abandon(struct ualink_import *imp, int error)
{
	ualink_count(imp->udev, UALINK_COUNT_IMPORTS_ABANDONED);
	if (!imp->req.id) {
		ualink_import_fail(imp, error);
		return;
	}
	/* It may have been granted already: name the request, that is the grant. */
	imp->error = error;
	imp->grant = imp->req.id;
	ualink_import_release(imp);
}

static struct ualink_import *import_create(struct ualink_device *udev,
					   struct ualink_peer *peer,
					   const struct ualink_handle *handle)
{
	struct ualink_import *imp;

	imp = kzalloc_obj(*imp, GFP_KERNEL_ACCOUNT);
	if (!imp)
		return NULL;
	kobject_get(&udev->kobj);
	ualink_ref_add(&udev->refs, &imp->udev_ref);
	imp->udev = udev;
	imp->peer = peer;
	imp->handle = *handle;
	INIT_LIST_HEAD(&imp->peer_link);
	INIT_LIST_HEAD(&imp->idle_link);
	INIT_LIST_HEAD(&imp->req.link);
	init_completion(&imp->answered);
	kref_init(&imp->ref);
	return imp;
}

static struct ualink_import *import_lookup(struct ualink_device *udev,
					   const struct ualink_handle *handle)
{
	struct rhlist_head *list, *pos;
	struct ualink_import *imp;

	lockdep_assert_held(&udev->lock);

	guard(rcu)();
	list = rhltable_lookup(&udev->imports, &handle->tag, import_params);
	rhl_for_each_entry_rcu(imp, pos, list, node)
		if (import_alive(imp) && imp->handle.secret == handle->secret)
			return imp;
	return NULL;
}

/* Whether a record with @tag is on its way out of the page tables. */
bool ualink_import_tag_dying(struct ualink_device *udev, u64 tag)
{
	struct rhlist_head *list, *pos;
	struct ualink_import *imp;

	lockdep_assert_held(&udev->lock);

	guard(rcu)();
	list = rhltable_lookup(&udev->imports, &tag, import_params);
	rhl_for_each_entry_rcu(imp, pos, list, node)
		if (imp->state == UALINK_IMPORT_REVOKING)
			return true;
	return false;
}

/* Ends every record that a REVOKE names; true if some may still be in page tables. */
bool ualink_import_revoke_tag(struct ualink_device *udev, const struct ualink_packet *revoke,
			      u32 grace_ms)
{
	struct rhlist_head *list, *pos;
	struct ualink_import *imp;
	bool dying = false;

	lockdep_assert_held(&udev->lock);

	guard(rcu)();
	list = rhltable_lookup(&udev->imports, &revoke->grant.tag, import_params);
	rhl_for_each_entry_rcu(imp, pos, list, node) {
		ualink_kill_import(imp, UALINK_DEATH_REVOKED, grace_ms);
		if (imp->state != UALINK_IMPORT_REVOKING)
			continue;
		imp->revoke_request = revoke->request;
		imp->revoke_grant = revoke->grant.grant;
		dying = true;
	}
	return dying;
}

/* One more user of a record that is alive. */
static void import_use(struct ualink_import *imp)
{
	kref_get(&imp->ref);
	imp->users++;
	if (imp->state == UALINK_IMPORT_IDLE) {
		ualink_cache_remove(imp);
		/* What earlier users were allowed is theirs. Pairs with READ_ONCE(). */
		WRITE_ONCE(imp->access, 0);
		ualink_import_set_state(imp, UALINK_IMPORT_ACTIVE);
	}
}

/* Publishes a new record and asks the exporter. Consumes @imp on success only. */
static int import_start(struct ualink_import *imp, u32 access)
{
	struct ualink_device *udev = imp->udev;
	struct ualink_peer *peer = imp->peer;
	int ret;

	ret = rhltable_insert(&udev->imports, &imp->node, import_params);
	if (ret)
		return -ENOMEM;

	imp->access = access;
	udev->nr_import_records++;
	list_add_tail(&imp->peer_link, &peer->imports);
	kref_get(&imp->ref);
	imp->users++;
	trace_ualink_import_state(imp, UALINK_IMPORT_DEAD, UALINK_IMPORT_PENDING);
	ualink_tx_request(peer, &imp->req, UALINK_MSG_IMPORT_REQ);
	if (!ualink_peer_has_session(peer))
		ualink_greeting_start(peer);
	return 0;
}

static void import_unuse(struct ualink_import *imp)
{
	lockdep_assert_held(&imp->udev->lock);

	if (--imp->users)
		return;

	switch (imp->state) {
	case UALINK_IMPORT_PENDING:
		import_abandon(imp, -ETIMEDOUT);
		break;
	case UALINK_IMPORT_ACTIVE:
		if (!ualink_cache_add(imp))
			ualink_import_release(imp);
		break;
	case UALINK_IMPORT_REVOKING:
		/* What was bound is gone, nothing has to be waited for. */
		ualink_peer_kick_slow(imp->peer, 0);
		break;
	}
}

/* The record of @handle with one more user, made and requested if there is none. */
static struct ualink_import *import_obtain(struct ualink_device *udev,
					   const struct ualink_handle *handle, u32 access)
{
	struct ualink_import *imp, *new = NULL;
	struct ualink_peer *peer;
	int ret;

	peer = ualink_peer_obtain(udev, ualink_handle_id(handle));
	if (!peer)
		return ERR_PTR(-ENOMEM);
retry:
	spin_lock(&udev->lock);
	ret = ualink_device_usable(udev);
	imp = ret ? NULL : import_lookup(udev, handle);
	if (imp) {
		import_use(imp);
	} else if (!ret && udev->wedged) {
		ret = -EBUSY;
	} else if (new) {
		ret = ret ?: import_start(new, access);
		if (!ret) {
			imp = new;
			new = NULL;
		}
	}
	spin_unlock(&udev->lock);

	if (!ret && !imp) {
		new = import_create(udev, peer, handle);
		if (new)
			goto retry;
		ret = -ENOMEM;
	}
	if (new)
		kref_put(&new->ref, import_free);
	return ret ? ERR_PTR(ret) : imp;
}

/* More than a peer can be silent; it fits in jiffies. */
#define WAIT_MAX_MS	(24 * 3600 * MSEC_PER_SEC)

/* Waits for the answer; the reason why there is none, or 0. */
static int import_wait(struct ualink_import *imp, ktime_t deadline)
{
	long left;
	s64 ms;

	/* A busy machine makes up for lost ticks, and jiffies are too fast then. */
	do {
		ms = clamp(ktime_ms_delta(deadline, ktime_get()), 0, WAIT_MAX_MS) + 1;
		left = wait_for_completion_interruptible_timeout(&imp->answered,
								 msecs_to_jiffies(ms) + 1);
	} while (!left && ms < WAIT_MAX_MS && ktime_before(ktime_get(), deadline));
	/* Who is interrupted all the time would otherwise never come to its end. */
	if (left < 0)
		return ktime_before(ktime_get(), deadline) ? -ERESTARTSYS : -ETIMEDOUT;
	return left ? 0 : -ETIMEDOUT;
}

/* After the wait: 0 if the caller may go on with the import. */
static int import_check(struct ualink_import *imp, u32 access, int waited)
{
	lockdep_assert_held(&imp->udev->lock);

	if (imp->state == UALINK_IMPORT_PENDING)
		return waited;
	if (imp->error)
		return imp->error;
	if (imp->death)
		return -ENODEV;
	if (access & ~imp->granted)
		return -EACCES;
	/* Pairs with READ_ONCE() in ualink_import_access(). */
	WRITE_ONCE(imp->access, imp->access | access);
	return 0;
}

static struct ualink_import *import_get(struct ualink_device *udev,
					const struct ualink_handle *handle,
					u32 access, ktime_t deadline)
{
	struct ualink_import *imp;
	int ret = 0;

	imp = import_obtain(udev, handle, access);
	if (IS_ERR(imp))
		return imp;

	if (completion_done(&imp->answered))
		ualink_count(udev, UALINK_COUNT_IMPORTS_REUSED);
	else
		ret = import_wait(imp, deadline);

	spin_lock(&udev->lock);
	ret = import_check(imp, access, ret);
	if (ret)
		import_unuse(imp);
	spin_unlock(&udev->lock);
	if (!ret)
		return imp;

	if (ret == -ETIMEDOUT)
		trace_ualink_timeout(udev, "import", ualink_handle_id(handle));
	kref_put(&imp->ref, import_free);
	return ERR_PTR(ret);
}

/**
 * ualink_import_get - the import of a handle
 * @udev: the importing accelerator, active
 * @handle: handle of the export
 * @access: UALINK_ACCESS_* that is needed
 * @deadline: when to give up, in the time of ktime_get(); a day away at most
 *
 * Finds the import of @handle, or makes it, which costs two messages. The caller
 * becomes a user of it and must call ualink_import_put() in the end.
 *
 * Return: the import, or
 *
 * - %-ENOTCONN: the accelerator is not active
 * - %-EBUSY: it is being activated or stopped, or is wedged until a reset; try
 *   again
 * - %-EXDEV: the handle names an accelerator outside of the vPod
 * - %-ENOENT: no such export, or not for this accelerator
 * - %-EACCES: less access is granted than needed
 * - %-ENODEV: the exporter is down, or the import has just died
 * - %-ETIMEDOUT: no answer in time; the request is abandoned
 * - %-ERESTARTSYS: a signal came; the request is abandoned
 * - %-ENOMEM: out of memory, here or at the exporter
 */
struct ualink_import *ualink_import_get(struct ualink_device *udev,
					const struct ualink_handle *handle,
					u32 access, ktime_t deadline)
{
	struct ualink_import *imp;
	int tries = 3;

	might_sleep();
	if (!ualink_device_is_member(udev, ualink_handle_id(handle))) {
		ualink_count(udev, UALINK_COUNT_REFUSED_LOCAL);
		return ERR_PTR(-EXDEV);
	}
	do {
		imp = import_get(udev, handle, access, deadline);
		/* Refused because of what another wanted, who asked first: ask for oneself. */
	} while (imp == ERR_PTR(-EACCES) && !(access & UALINK_ACCESS_WRITE) && --tries);
	if (IS_ERR(imp))
		ualink_count(udev, UALINK_COUNT_REFUSED_LOCAL);
	return imp;
}
EXPORT_SYMBOL_GPL(ualink_import_get);

/**
 * ualink_import_find - the import of a handle, if it is in use
 * @udev: the importing accelerator
 * @handle: handle of the export
 *
 * Sends nothing and waits for nothing.
 *
 * Return: the import with one more user, or NULL.
 */
struct ualink_import *ualink_import_find(struct ualink_device *udev,
					 const struct ualink_handle *handle)
{
	struct ualink_import *imp;

	spin_lock(&udev->lock);
	imp = import_lookup(udev, handle);
	if (imp && imp->state == UALINK_IMPORT_ACTIVE)
		import_use(imp);
	else
		imp = NULL;
	spin_unlock(&udev->lock);
	return imp;
}
EXPORT_SYMBOL_GPL(ualink_import_find);

/**
 * ualink_import_put - one user less
 * @imp: the import
 *
 * With the last user the import is given back to the exporter, or kept for a while
 * for the next one. No page table and no TLB may hold an entry of it then,
 * and no access through one may be under way. Does not sleep.
 */
void ualink_import_put(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;

	spin_lock(&udev->lock);
	import_unuse(imp);
	spin_unlock(&udev->lock);
	kref_put(&imp->ref, import_free);
}
EXPORT_SYMBOL_GPL(ualink_import_put);

/**
 * ualink_import_bind - ties the client's object to an import
 * @imp: the import; the caller is a user of it
 * @priv: for &ualink_ops.import_tryget and those that follow it
 *
 * Return: 0, %-ENODEV if the import has died, or %-EEXIST.
 */
int ualink_import_bind(struct ualink_import *imp, void *priv)
{
	struct ualink_device *udev = imp->udev;
	int ret = 0;

	spin_lock(&udev->lock);
	if (imp->state != UALINK_IMPORT_ACTIVE)
		ret = -ENODEV;
	else if (imp->priv)
		ret = -EEXIST;
	else
		imp->priv = priv;
	spin_unlock(&udev->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(ualink_import_bind);

/**
 * ualink_import_unbind - the client's object goes
 * @imp: the import; the caller is a user of it
 *
 * &ualink_ops.import_tryget is not called with the object after this. Does
 * not sleep.
 */
void ualink_import_unbind(struct ualink_import *imp)
{
	spin_lock(&imp->udev->lock);
	imp->priv = NULL;
	spin_unlock(&imp->udev->lock);
}
EXPORT_SYMBOL_GPL(ualink_import_unbind);

/**
 * ualink_import_tryget_bound - a reference to what is bound to an import
 * @imp: the import; the caller is a user of it
 *
 * Return: the object, with a reference from &ualink_ops.import_tryget; NULL when
 * nothing is bound; %-EEXIST when the last reference of what is bound is gone, and
 * ualink_import_unbind() is still to come.
 */
void *ualink_import_tryget_bound(struct ualink_import *imp)
{
	struct ualink_device *udev = imp->udev;
	void *priv;

	spin_lock(&udev->lock);
	priv = imp->priv;
	if (priv && !udev->ops->import_tryget(priv))
		priv = ERR_PTR(-EEXIST);
	spin_unlock(&udev->lock);
	return priv;
}
EXPORT_SYMBOL_GPL(ualink_import_tryget_bound);

static int status_to_errno(u32 status)
{
	switch (status) {
	case UALINK_STATUS_NOENT:
		return -ENOENT;
	case UALINK_STATUS_ACCESS:
		return -EACCES;
	default:
		return -ENOMEM;
	}
}

/* A grant that we do not want: give it back, once; a REVOKE will settle what is lost. */
static void release_unwanted(struct ualink_peer *peer, const struct ualink_packet *rsp)
{
	struct ualink_packet pkt = {
		.type = UALINK_MSG_RELEASE,
		.request = rsp->request,
		.session = { rsp->session[0], rsp->session[1] },
		.grant = { .tag = rsp->import_rsp.tag, .grant = rsp->request },
	};

	ualink_tx_reply(peer, &pkt);
}

/* Whether a record of ours is or will be responsible for the grant that came late. */
static bool grant_known(struct ualink_device *udev, u64 tag, u64 grant)
{
	struct rhlist_head *list, *pos;
	struct ualink_import *imp;

	guard(rcu)();
	list = rhltable_lookup(&udev->imports, &tag, import_params);
	rhl_for_each_entry_rcu(imp, pos, list, node)
		if (imp->grant == grant)
			return true;
	return false;
}

static void rsp_unexpected(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_device *udev = peer->udev;

	peer->ignored++;
	ualink_count(udev, UALINK_COUNT_IGNORED);
	if (pkt->import_rsp.status == UALINK_STATUS_OK &&
	    !grant_known(udev, pkt->import_rsp.tag, pkt->request))
		release_unwanted(peer, pkt);
}

static void import_granted(struct ualink_import *imp, const struct ualink_packet *pkt)
{
	struct ualink_device *udev = imp->udev;

	imp->npa = ((u64)imp->peer->id << udev->segment_shift) | pkt->import_rsp.offset;
	imp->size = pkt->import_rsp.size;
	imp->granted = pkt->import_rsp.access;
	imp->grant = pkt->request;
	ualink_tx_cancel(imp->peer, &imp->req);
	ualink_import_set_state(imp, UALINK_IMPORT_ACTIVE);
	ualink_count(udev, UALINK_COUNT_IMPORTS);
}

void ualink_import_rx_rsp(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_device *udev = peer->udev;
	struct ualink_import *imp;
	struct ualink_req *req;

	req = ualink_tx_find(peer, UALINK_MSG_IMPORT_REQ, pkt->request);
	imp = req ? container_of(req, struct ualink_import, req) : NULL;
	if (!imp || imp->handle.tag != pkt->import_rsp.tag) {
		rsp_unexpected(peer, pkt);
		return;
	}

	if (pkt->import_rsp.status != UALINK_STATUS_OK) {
		ualink_import_fail(imp, status_to_errno(pkt->import_rsp.status));
	} else if (ualink_packet_window_valid(pkt, udev->segment_shift,
					      ualink_npa_page_size(&udev->npa))) {
		import_granted(imp, pkt);
	} else {
		/* The request stays unanswered, and times out. */
		peer->bad_msgs++;
		ualink_count(udev, UALINK_COUNT_BAD_MSGS);
		trace_ualink_msg_bad(udev, peer->id, UALINK_DECODE_VALUE);
	}
}

void ualink_import_rx_release_ack(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_req *req = ualink_tx_find(peer, UALINK_MSG_RELEASE, pkt->request);

	if (req) {
		ualink_import_finish(container_of(req, struct ualink_import, req));
	} else {
		peer->ignored++;
		ualink_count(peer->udev, UALINK_COUNT_IGNORED);
	}
}

/**
 * ualink_import_handle - the handle that an import was made from
 * @imp: the import
 * @handle: filled in
 */
void ualink_import_handle(struct ualink_import *imp, struct ualink_handle *handle)
{
	*handle = imp->handle;
}
EXPORT_SYMBOL_GPL(ualink_import_handle);

/**
 * ualink_import_death - whether an import has died, and why
 * @imp: the import
 *
 * May change to a reason at any time, never back.
 *
 * Return: the reason, or %UALINK_ALIVE.
 */
enum ualink_death ualink_import_death(struct ualink_import *imp)
{
	/* Pairs with WRITE_ONCE() in ualink_kill_import(). */
	return READ_ONCE(imp->death);
}
EXPORT_SYMBOL_GPL(ualink_import_death);

/**
 * ualink_import_npa - where the memory is in the pod
 * @imp: the import; the caller is a user of it
 *
 * Return: the network physical address. It is for page tables, not for users,
 * logs or traces.
 */
u64 ualink_import_npa(struct ualink_import *imp)
{
	return imp->npa;
}
EXPORT_SYMBOL_GPL(ualink_import_npa);

/**
 * ualink_import_size - size of the memory
 * @imp: the import; the caller is a user of it
 *
 * Return: bytes.
 */
u64 ualink_import_size(struct ualink_import *imp)
{
	return imp->size;
}
EXPORT_SYMBOL_GPL(ualink_import_size);

/**
 * ualink_import_exporter - whose memory it is
 * @imp: the import
 *
 * Return: accelerator id.
 */
u32 ualink_import_exporter(struct ualink_import *imp)
{
	return imp->peer->id;
}
EXPORT_SYMBOL_GPL(ualink_import_exporter);

/**
 * ualink_import_access - what the memory has been imported for
 * @imp: the import; the caller is a user of it
 *
 * Return: UALINK_ACCESS_* that all users together have asked for.
 */
u32 ualink_import_access(struct ualink_import *imp)
{
	/* Only grows, and a user sees at least what it asked for. */
	return READ_ONCE(imp->access);
}
EXPORT_SYMBOL_GPL(ualink_import_access);
