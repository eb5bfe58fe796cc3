/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_INTERNAL_H_
#define _UALINK_INTERNAL_H_

#include <linux/bitops.h>
#include <linux/jiffies.h>

#include "ualink_types.h"

#if IS_ENABLED(CONFIG_KUNIT)
#include <kunit/visibility.h>
#else
#define EXPORT_SYMBOL_IF_KUNIT(symbol)
#endif

/* ualink_device.c */
void ualink_device_release_work(struct work_struct *work);
void ualink_device_release(struct kobject *kobj);
void ualink_device_set_wedged(struct ualink_device *udev);
int ualink_device_usable(struct ualink_device *udev);

/* ualink_sysfs.c */
extern const struct kobj_type ualink_device_ktype;

/* ualink_handle.c */
void ualink_handle_generate(struct ualink_handle *handle, u32 id);
u32 ualink_handle_hash(const struct ualink_handle *handle);

/* ualink_peer.c */
struct ualink_peer *ualink_peer_obtain(struct ualink_device *udev, u32 id);
void ualink_peer_stop_all(struct ualink_device *udev);
void ualink_peer_destroy_all(struct ualink_device *udev);
void ualink_peer_set_state(struct ualink_peer *peer, enum ualink_peer_state state);
void ualink_peer_end_session(struct ualink_peer *peer, enum ualink_death why);
void ualink_peer_down(struct ualink_peer *peer, enum ualink_death why, int error);
void ualink_peer_kick_slow(struct ualink_peer *peer, unsigned long delay);
void ualink_peer_slow_work(struct work_struct *work);
void ualink_peer_connect_self(struct ualink_peer *peer);
void ualink_fault_limit_init(struct ratelimit_state *limit);

/* ualink_timer.c */
void ualink_timer_work(struct work_struct *work);
void ualink_timer_arm(struct ualink_peer *peer);
void ualink_peer_heard(struct ualink_peer *peer);
void ualink_peer_revoke_answered(struct ualink_peer *peer);
void ualink_peer_suspect(struct ualink_peer *peer, bool revoke);

/* ualink_greeting.c */
void ualink_greeting_start(struct ualink_peer *peer);
void ualink_greeting_abort(struct ualink_peer *peer);
void ualink_greeting_cleaned(struct ualink_peer *peer);
void ualink_greeting_opened(struct ualink_peer *peer);
void ualink_greeting_timer(struct ualink_peer *peer);
void ualink_greeting_rx(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_greeting_rx_version(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_greeting_rx_inactive(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_greeting_implied(struct ualink_peer *peer);

/* ualink_tx.c */
void ualink_tx_request(struct ualink_peer *peer, struct ualink_req *req, u8 type);
void ualink_tx_cancel(struct ualink_peer *peer, struct ualink_req *req);
struct ualink_req *ualink_tx_find(struct ualink_peer *peer, u8 type, u64 id);
void ualink_tx_reply(struct ualink_peer *peer, struct ualink_packet *pkt);
void ualink_tx_answer(struct ualink_peer *peer, const struct ualink_packet *request, u8 type);
void ualink_tx_pump(struct ualink_peer *peer);
void ualink_tx_retry(struct ualink_peer *peer);
void ualink_tx_session_ended(struct ualink_peer *peer);
void ualink_tx_forget(struct ualink_peer *peer);
int ualink_tx_recv(struct ualink_peer *peer, struct ualink_msg *msg);

/* ualink_rx.c */
void ualink_rx_work(struct work_struct *work);

/* ualink_export.c */
int ualink_export_tables_init(struct ualink_device *udev);
void ualink_export_tables_fini(struct ualink_device *udev);
void ualink_export_set_state(struct ualink_export *exp, enum ualink_export_state state);
struct ualink_export *ualink_export_lookup(struct ualink_device *udev,
					   const struct ualink_handle *handle);
struct ualink_export *ualink_export_by_tag(struct ualink_device *udev, u64 tag);
void ualink_export_ungranted(struct ualink_export *exp);
void ualink_export_end_all(struct ualink_device *udev);
void ualink_export_release_wedged(struct ualink_device *udev);
void ualink_export_deadline_work(struct work_struct *work);
void ualink_export_reap_work(struct work_struct *work);
int ualink_export_caches_init(void);
void ualink_export_caches_fini(void);

/* ualink_grant.c */
int ualink_grant_table_init(struct ualink_device *udev);
void ualink_grant_table_fini(struct ualink_device *udev);
void ualink_grant_rx_import_req(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_grant_rx_release(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_grant_rx_revoke_ack(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_grant_drop_all(struct ualink_peer *peer);
int ualink_grant_cache_init(void);
void ualink_grant_cache_fini(void);

/* ualink_import.c */
int ualink_import_table_init(struct ualink_device *udev);
void ualink_import_table_fini(struct ualink_device *udev);
void ualink_import_set_state(struct ualink_import *imp, enum ualink_import_state state);
void ualink_import_release(struct ualink_import *imp);
void ualink_import_finish(struct ualink_import *imp);
void ualink_import_fail(struct ualink_import *imp, int error);
void ualink_import_rx_rsp(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_import_rx_release_ack(struct ualink_peer *peer, const struct ualink_packet *pkt);
bool ualink_import_revoke_tag(struct ualink_device *udev, const struct ualink_packet *revoke,
			      u32 grace_ms);
bool ualink_import_tag_dying(struct ualink_device *udev, u64 tag);

/* ualink_kill.c */
void ualink_kill_import(struct ualink_import *imp, enum ualink_death why, u32 grace_ms);
void ualink_kill_session(struct ualink_peer *peer, enum ualink_death why);
void ualink_kill_rx_revoke(struct ualink_peer *peer, const struct ualink_packet *pkt);
void ualink_kill_work(struct ualink_peer *peer);

/* ualink_cache.c */
int ualink_cache_init(struct ualink_device *udev);
void ualink_cache_fini(struct ualink_device *udev);
bool ualink_cache_add(struct ualink_import *imp);
void ualink_cache_remove(struct ualink_import *imp);
void ualink_cache_retune(struct ualink_device *udev);
void ualink_cache_drop(struct ualink_device *udev);

/* ualink_debugfs.c needs nothing but the public prototype. */

static inline void ualink_count(struct ualink_device *udev, enum ualink_counter which)
{
	atomic64_inc(&udev->counters[which]);
}

static inline u64 ualink_tunable(struct ualink_device *udev, enum ualink_tunable which)
{
	/* Pairs with WRITE_ONCE() in ualink_device_set_tunable(). */
	return READ_ONCE(udev->tunables[which]);
}

static inline unsigned long ualink_tunable_jiffies(struct ualink_device *udev,
						   enum ualink_tunable which)
{
	return msecs_to_jiffies(ualink_tunable(udev, which));
}

/* Something has changed that who stops the device may wait for; nobody else waits. */
static inline void ualink_device_changed(struct ualink_device *udev)
{
	lockdep_assert_held(&udev->lock);

	if (udev->state == UALINK_DEVICE_STOPPING)
		wake_up_all(&udev->wait);
}

/* Queues @work; a call without a delay overtakes one with. */
static inline void ualink_kick(struct workqueue_struct *wq, struct delayed_work *work,
			       unsigned long delay)
{
	if (delay)
		queue_delayed_work(wq, work, delay);
	else
		mod_delayed_work(wq, work, 0);
}

/* Age of an event whose time was kept as the low half of jiffies. */
static inline u32 ualink_age(u32 then)
{
	return (u32)jiffies - then;
}

/* Whether a bitmap of ids has @id; a number that is no id is in none. */
static inline bool ualink_has_id(const unsigned long *ids, u32 id)
{
	return id < UALINK_MAX_IDS && test_bit(id, ids);
}

static inline bool ualink_peer_is_self(const struct ualink_peer *peer)
{
	return peer->id == peer->udev->id;
}

static inline bool ualink_peer_has_session(const struct ualink_peer *peer)
{
	return peer->state == UALINK_PEER_UP || peer->state == UALINK_PEER_SUSPECT;
}

#endif /* _UALINK_INTERNAL_H_ */
