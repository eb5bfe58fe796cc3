// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Grants: who has imported what of ours. A peer has at most one for each export; it
 * ends when the peer releases it or acknowledges its revocation, or when the source
 * gate is closed for the peer.
 */

#include <linux/slab.h>

#include "ualink_internal.h"
#include "ualink_trace.h"

static struct kmem_cache *grant_cache;

int ualink_grant_cache_init(void)
{
	grant_cache = KMEM_CACHE(ualink_grant, 0);
	return grant_cache ? 0 : -ENOMEM;
}

void ualink_grant_cache_fini(void)
{
	kmem_cache_destroy(grant_cache);
}

struct grant_key {
	struct ualink_export *exp;
	struct ualink_peer *peer;
};

static_assert(offsetof(struct ualink_grant, peer) - offsetof(struct ualink_grant, exp) ==
	      offsetof(struct grant_key, peer));

static const struct rhashtable_params grant_params = {
	.head_offset = offsetof(struct ualink_grant, node),
	.key_offset = offsetof(struct ualink_grant, exp),
	.key_len = sizeof(struct grant_key),
	.automatic_shrinking = true,
};

int ualink_grant_table_init(struct ualink_device *udev)
{
	return rhashtable_init(&udev->grants, &grant_params);
}

void ualink_grant_table_fini(struct ualink_device *udev)
{
	rhashtable_destroy(&udev->grants);
}

static struct ualink_grant *grant_find(struct ualink_export *exp, struct ualink_peer *peer)
{
	struct grant_key key = { .exp = exp, .peer = peer };

	return rhashtable_lookup_fast(&exp->udev->grants, &key, grant_params);
}

/* Allocates in the receiving work, which must not wait for memory. */
static struct ualink_grant *grant_create(struct ualink_export *exp, struct ualink_peer *peer)
{
	struct ualink_device *udev = exp->udev;
	struct ualink_grant *grant;

	lockdep_assert_held(&udev->lock);

	grant = kmem_cache_zalloc(grant_cache, GFP_NOWAIT);
	if (!grant)
		return NULL;
	grant->exp = exp;
	grant->peer = peer;
	INIT_LIST_HEAD(&grant->req.link);
	if (rhashtable_insert_fast(&udev->grants, &grant->node, grant_params)) {
		kmem_cache_free(grant_cache, grant);
		return NULL;
	}

	list_add_tail(&grant->export_link, &exp->grants);
	list_add_tail(&grant->peer_link, &peer->grants);
	exp->nr_grants++;
	peer->nr_grants++;
	udev->nr_grants++;
	ualink_timer_arm(peer);
	return grant;
}

static void grant_end(struct ualink_grant *grant)
{
	struct ualink_export *exp = grant->exp;
	struct ualink_peer *peer = grant->peer;
	struct ualink_device *udev = exp->udev;

	lockdep_assert_held(&udev->lock);

	ualink_tx_cancel(peer, &grant->req);
	rhashtable_remove_fast(&udev->grants, &grant->node, grant_params);
	list_del(&grant->export_link);
	list_del(&grant->peer_link);
	exp->nr_grants--;
	peer->nr_grants--;
	udev->nr_grants--;
	/* Readers of the table hold the lock: nobody can still see it. */
	kmem_cache_free(grant_cache, grant);
	if (!exp->nr_grants)
		ualink_export_ungranted(exp);
}

/* @peer cannot reach anything any more that was granted to it. May drop the lock meanwhile. */
void ualink_grant_drop_all(struct ualink_peer *peer)
{
	lockdep_assert_held(&peer->udev->lock);

	while (!list_empty(&peer->grants)) {
		grant_end(list_first_entry(&peer->grants, struct ualink_grant, peer_link));
		cond_resched_lock(&peer->udev->lock);
	}
}

static bool export_allows(const struct ualink_export *exp, u32 id)
{
	return !exp->allow || ualink_has_id(exp->allow, id);
}

/* Makes, renews or refuses a grant; a status for the answer, or -1 for none. */
static int grant_decide(struct ualink_export *exp, struct ualink_peer *peer,
			const struct ualink_packet *pkt)
{
	struct ualink_grant *grant;

	if (!exp || !export_allows(exp, peer->id))
		return UALINK_STATUS_NOENT;
	if (exp->read_only && (pkt->import_req.access & UALINK_ACCESS_WRITE))
		return UALINK_STATUS_ACCESS;

	grant = grant_find(exp, peer) ?: grant_create(exp, peer);
	if (!grant)
		return UALINK_STATUS_NOMEM;
	/* Older than what the peer has asked for since: it does not wait for it any more. */
	if (pkt->request < grant->number)
		return -1;
	grant->number = pkt->request;
	return UALINK_STATUS_OK;
}

static u32 export_access(const struct ualink_export *exp)
{
	return exp->read_only ? UALINK_ACCESS_READ : UALINK_ACCESS_READ | UALINK_ACCESS_WRITE;
}

void ualink_grant_rx_import_req(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_device *udev = peer->udev;
	struct ualink_handle handle = {
		.tag = pkt->import_req.tag,
		.secret = pkt->import_req.secret,
	};
	struct ualink_packet rsp = {
		.type = UALINK_MSG_IMPORT_RSP,
		.request = pkt->request,
		.session = { pkt->session[0], pkt->session[1] },
		.import_rsp = { .tag = handle.tag },
	};
	struct ualink_export *exp = ualink_export_lookup(udev, &handle);
	int status = grant_decide(exp, peer, pkt);

	if (status < 0) {
		peer->ignored++;
		ualink_count(udev, UALINK_COUNT_IGNORED);
		return;
	}

	rsp.import_rsp.status = status;
	if (status == UALINK_STATUS_OK) {
		rsp.import_rsp.offset = exp->npa.start;
		rsp.import_rsp.size = exp->npa.size;
		rsp.import_rsp.access = export_access(exp);
	} else {
		ualink_count(udev, UALINK_COUNT_REFUSED_PEER);
	}
	ualink_tx_reply(peer, &rsp);
}

static struct ualink_grant *grant_by_tag(struct ualink_peer *peer, u64 tag)
{
	struct ualink_export *exp = ualink_export_by_tag(peer->udev, tag);

	return exp ? grant_find(exp, peer) : NULL;
}

/* Of an export that is ending, nothing is found here; its REVOKE is answered as well. */
void ualink_grant_rx_release(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_grant *grant = grant_by_tag(peer, pkt->grant.tag);

	if (grant && grant->number == pkt->grant.grant) {
		grant_end(grant);
	} else {
		peer->ignored++;
		ualink_count(peer->udev, UALINK_COUNT_IGNORED);
	}
	ualink_tx_answer(peer, pkt, UALINK_MSG_RELEASE_ACK);
}

void ualink_grant_rx_revoke_ack(struct ualink_peer *peer, const struct ualink_packet *pkt)
{
	struct ualink_req *req = ualink_tx_find(peer, UALINK_MSG_REVOKE, pkt->request);
	struct ualink_grant *grant = req ? container_of(req, struct ualink_grant, req) : NULL;

	if (!grant || grant->exp->handle.tag != pkt->grant.tag ||
	    grant->number != pkt->grant.grant) {
		peer->ignored++;
		ualink_count(peer->udev, UALINK_COUNT_IGNORED);
		return;
	}
	grant_end(grant);
	ualink_peer_revoke_answered(peer);
}
