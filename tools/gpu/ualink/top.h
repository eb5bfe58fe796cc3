/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <drm/drm_ualink.h>

/* What is not known of a number */
#define UNKNOWN	(~0ull)

struct peer {
	struct drm_ualink_peer_info info;
	/* from debugfs */
	unsigned long long rtt_ns;
	unsigned long long unanswered;
};

struct accel {
	char node[32];
	/* from sysfs, for everybody */
	uint32_t id;
	char vpod[40];
	char state[16];
	unsigned long long segment_size;
	/* from the node, for those who may open it */
	bool queried;
	struct drm_ualink_device_info info;
	struct peer *peers;
	uint32_t nr_peers;
	/* messages per second since the sample before */
	double sent_rate;
	double received_rate;
};

/* All accelerators at one time, by pod and id. */
struct sample {
	double time;
	struct accel *accels;
	unsigned int count;
};

/* The rates are those since @before, which may be empty. */
void sample_take(struct sample *sample, const struct sample *before);
void sample_free(struct sample *sample);

void print_table(const struct sample *sample, bool all, bool bytes);
void print_json(const struct sample *sample);

#endif /* TOP_H */
