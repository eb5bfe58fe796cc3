// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <string.h>

#include "top.h"

static const char * const peer_states[] = {
	[DRM_UALINK_PEER_DOWN] = "down",
	[DRM_UALINK_PEER_GREETING] = "greeting",
	[DRM_UALINK_PEER_UP] = "up",
	[DRM_UALINK_PEER_SUSPECT] = "suspect",
	[DRM_UALINK_PEER_INCOMPATIBLE] = "incompatible",
};

static const char *peer_state(const struct peer *peer)
{
	if (peer->info.state < sizeof(peer_states) / sizeof(*peer_states))
		return peer_states[peer->info.state];
	return "unknown";
}

/* A column: what is not known is a dash. */
static void column(int width, unsigned long long value)
{
	if (value == UNKNOWN)
		printf(" %*s", width, "-");
	else
		printf(" %*llu", width, value);
}

static void size_column(int width, unsigned long long value, bool bytes)
{
	static const char units[] = " KMGTPE";
	double scaled = value;
	int unit = 0;

	if (bytes || value == UNKNOWN || value < 1024) {
		column(width, value);
		return;
	}
	for (; scaled >= 1024; scaled /= 1024)
		unit++;
	printf(" %*.*f%c", width - 1, scaled < 10 ? 1 : 0, scaled, units[unit]);
}

static void rate_column(int width, double rate)
{
	if (rate < 0)
		printf(" %*s", width, "-");
	else
		printf(" %*.1f", width, rate);
}

static unsigned long long known(const struct accel *accel, unsigned long long value)
{
	return accel->queried ? value : UNKNOWN;
}

#define DEVICE_HEAD "%-10s %-8s %4s %-10s %7s %10s %7s %7s %6s %10s %10s %16s %9s %9s %7s %7s %7s %7s\n"

static void print_device(const struct accel *accel, bool bytes)
{
	const struct drm_ualink_device_info *info = &accel->info;

	printf("%-10s %-8.8s %4u %-10s", accel->node, accel->vpod, accel->id, accel->state);
	column(7, known(accel, info->exports));
	size_column(10, known(accel, info->exported_bytes), bytes);
	column(7, known(accel, info->grants));
	column(7, known(accel, info->imports));
	column(6, known(accel, info->imports_died));
	size_column(10, known(accel, info->npa_used), bytes);
	size_column(10, known(accel, info->npa_quarantined), bytes);
	size_column(16, accel->segment_size, bytes);
	column(9, known(accel, info->msgs_sent));
	column(9, known(accel, info->msgs_received));
	rate_column(7, accel->sent_rate);
	rate_column(7, accel->received_rate);
	column(7, known(accel, info->refused));
	column(7, known(accel, info->bad_msgs));
	printf("\n");
}

#define PEER_HEAD "%-10s %4s %4s %-12s %-5s %7s %7s %8s %7s %9s %10s\n"

/* Letters as in the names of the flags */
static void print_peer(const struct accel *accel, const struct peer *peer)
{
	const struct drm_ualink_peer_info *info = &peer->info;

	printf("%-10s %4u %4u %-12s %c%c%c  ", accel->node, accel->id, info->id, peer_state(peer),
	       info->flags & DRM_UALINK_PEER_HARDWARE ? 'h' : '-',
	       info->flags & DRM_UALINK_PEER_PERMITTED ? 'p' : '-',
	       info->flags & DRM_UALINK_PEER_REACHABLE ? 'r' : '-');
	column(7, info->imports);
	column(7, info->grants);
	column(8, info->sessions);
	column(7, info->bad_msgs);
	column(9, peer->unanswered);
	column(10, peer->rtt_ns);
	printf("\n");
}

/* Of a pod of many, most have nothing to do with each other. */
static bool is_idle(const struct peer *peer)
{
	return peer->info.state == DRM_UALINK_PEER_DOWN && !peer->info.imports &&
	       !peer->info.grants && !peer->info.sessions;
}

void print_table(const struct sample *sample, bool all, bool bytes)
{
	unsigned int i;
	uint32_t j;

	printf(DEVICE_HEAD, "DEVICE", "VPOD", "ID", "STATE", "EXPORTS", "EXPORTED", "GRANTS",
	       "IMPORTS", "DIED", "USED", "QUARANTINE", "SEGMENT", "SENT", "RECEIVED", "SENT/S",
	       "RECV/S", "REFUSED", "BAD");
	for (i = 0; i < sample->count; i++)
		print_device(&sample->accels[i], bytes);

	printf("\n" PEER_HEAD, "PEER_OF", "ID", "PEER", "STATE", "FLAGS", "IMPORTS", "GRANTS",
	       "SESSIONS", "BAD", "WAITING", "RTT_NS");
	for (i = 0; i < sample->count; i++) {
		const struct accel *accel = &sample->accels[i];

		for (j = 0; j < accel->nr_peers; j++)
			if (all || !is_idle(&accel->peers[j]))
				print_peer(accel, &accel->peers[j]);
	}
}

static void member(const char *name, unsigned long long value)
{
	if (value == UNKNOWN)
		printf(", \"%s\": null", name);
	else
		printf(", \"%s\": %llu", name, value);
}

static void rate_member(const char *name, double rate)
{
	if (rate < 0)
		printf(", \"%s\": null", name);
	else
		printf(", \"%s\": %.3f", name, rate);
}

static void json_peer(const struct peer *peer)
{
	const struct drm_ualink_peer_info *info = &peer->info;

	printf("{\"id\": %u, \"state\": \"%s\"", info->id, peer_state(peer));
	printf(", \"hardware\": %s", info->flags & DRM_UALINK_PEER_HARDWARE ? "true" : "false");
	printf(", \"permitted\": %s", info->flags & DRM_UALINK_PEER_PERMITTED ? "true" : "false");
	printf(", \"reachable\": %s", info->flags & DRM_UALINK_PEER_REACHABLE ? "true" : "false");
	member("imports", info->imports);
	member("grants", info->grants);
	member("sessions", info->sessions);
	member("bad_msgs", info->bad_msgs);
	member("unanswered", peer->unanswered);
	member("rtt_min_ns", peer->rtt_ns);
	printf("}");
}

static void json_device(const struct accel *accel)
{
	const struct drm_ualink_device_info *info = &accel->info;
	uint32_t i;

	printf("{\"node\": \"%s\", \"vpod\": \"%s\", \"id\": %u, \"state\": \"%s\"", accel->node,
	       accel->vpod, accel->id, accel->state);
	member("segment_size", accel->segment_size);
	member("granularity", known(accel, info->granularity));
	member("exports", known(accel, info->exports));
	member("exported_bytes", known(accel, info->exported_bytes));
	member("max_export_bytes", known(accel, info->max_export_bytes));
	member("grants", known(accel, info->grants));
	member("imports", known(accel, info->imports));
	member("imports_died", known(accel, info->imports_died));
	member("npa_used", known(accel, info->npa_used));
	member("npa_largest_free", known(accel, info->npa_largest_free));
	member("npa_quarantined", known(accel, info->npa_quarantined));
	member("msgs_sent", known(accel, info->msgs_sent));
	member("msgs_received", known(accel, info->msgs_received));
	rate_member("msgs_sent_per_s", accel->sent_rate);
	rate_member("msgs_received_per_s", accel->received_rate);
	member("bad_msgs", known(accel, info->bad_msgs));
	member("refused", known(accel, info->refused));
	printf(",\n   \"peers\": [");
	for (i = 0; i < accel->nr_peers; i++) {
		printf("%s\n    ", i ? "," : "");
		json_peer(&accel->peers[i]);
	}
	printf("]}");
}

void print_json(const struct sample *sample)
{
	unsigned int i;

	printf("{\"devices\": [");
	for (i = 0; i < sample->count; i++) {
		printf("%s\n  ", i ? "," : "");
		json_device(&sample->accels[i]);
	}
	printf("]}\n");
}
