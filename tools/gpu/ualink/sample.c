// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What there is to know of the accelerators of this machine: from sysfs, from their
 * nodes, and from debugfs. Each of them can go away while it is looked at.
 */
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

#define CLASS	"/sys/class/drm"

static void *grow(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p)
		err(1, "out of memory");
	return p;
}

/* A word of a file in the folder "ualink" of the accelerator. */
static bool read_word(const char *node, const char *name, char *word, size_t size)
{
	char path[128];
	size_t length;
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), CLASS "/%s/device/ualink/%s", node, name);
	file = fopen(path, "r");
	if (!file)
		return false;
	ok = fgets(word, size, file);
	fclose(file);
	if (!ok)
		return false;

	length = 0;
	while (isalnum((unsigned char)word[length]) || word[length] == '-')
		length++;
	word[length] = '\0';
	return length;
}

static bool read_number(const char *node, const char *name, unsigned long long *value)
{
	char word[32];

	if (!read_word(node, name, word, sizeof(word)))
		return false;
	*value = strtoull(word, NULL, 10);
	return true;
}

static bool read_sysfs(struct accel *accel)
{
	unsigned long long id;

	if (!read_number(accel->node, "id", &id) ||
	    !read_word(accel->node, "vpod_id", accel->vpod, sizeof(accel->vpod)) ||
	    !read_word(accel->node, "state", accel->state, sizeof(accel->state)) ||
	    !read_number(accel->node, "segment_size", &accel->segment_size))
		return false;
	accel->id = id;
	return true;
}

static int query(int fd, struct drm_gem_ualink_query *arg)
{
	int ret;

	do {
		ret = ioctl(fd, DRM_IOCTL_GEM_UALINK_QUERY, arg);
	} while (ret && (errno == EINTR || errno == EAGAIN));
	return ret;
}

static bool query_device(int fd, struct drm_ualink_device_info *info)
{
	struct drm_gem_ualink_query arg = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)info,
		.count = 1,
		.stride = sizeof(*info),
	};

	return !query(fd, &arg);
}

static void query_peers(int fd, struct accel *accel)
{
	struct drm_gem_ualink_query arg = { .kind = DRM_UALINK_QUERY_PEERS };
	uint32_t i, room;

	if (query(fd, &arg) || !arg.count)
		return;

	/* those that come in the meantime are in the next sample */
	room = arg.count;
	accel->peers = grow(NULL, room * sizeof(*accel->peers));
	memset(accel->peers, 0, room * sizeof(*accel->peers));
	arg.data_ptr = (uintptr_t)accel->peers;
	arg.stride = sizeof(*accel->peers);
	if (query(fd, &arg))
		return;
	accel->nr_peers = arg.count < room ? arg.count : room;
	for (i = 0; i < accel->nr_peers; i++) {
		accel->peers[i].rtt_ns = UNKNOWN;
		accel->peers[i].unanswered = UNKNOWN;
	}
}

static bool field(const char *line, const char *key, unsigned long long *value)
{
	const char *at = strstr(line, key);

	return at && sscanf(at + strlen(key), "%llu", value) == 1;
}

/* What only debugfs tells of the peers. */
static void read_debugfs(int fd, struct accel *accel)
{
	char path[64], line[512];
	unsigned long long id;
	struct stat st;
	FILE *file;
	uint32_t i;

	if (fstat(fd, &st))
		return;
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/ualink/peers", minor(st.st_rdev));
	file = fopen(path, "r");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (!field(line, "peer=", &id))
			continue;
		for (i = 0; i < accel->nr_peers && accel->peers[i].info.id != id; i++)
			;
		if (i == accel->nr_peers)
			continue;
		field(line, " rtt_min_ns=", &accel->peers[i].rtt_ns);
		field(line, " unanswered=", &accel->peers[i].unanswered);
	}
	fclose(file);
}

/* The node is open no longer than that, so that nobody has to wait for us. */
static void read_node(struct accel *accel)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/dev/dri/%s", accel->node);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	accel->queried = query_device(fd, &accel->info);
	if (accel->queried) {
		query_peers(fd, accel);
		read_debugfs(fd, accel);
	}
	close(fd);
}

static void add_rates(struct accel *accel, double time, const struct sample *before)
{
	const struct accel *old = NULL;
	double seconds = time - before->time;
	unsigned int i;

	for (i = 0; i < before->count && !old; i++)
		if (!strcmp(before->accels[i].node, accel->node))
			old = &before->accels[i];

	accel->sent_rate = -1;
	accel->received_rate = -1;
	/* the counters begin anew with each activation */
	if (!old || !old->queried || !accel->queried || seconds <= 0 ||
	    accel->info.msgs_sent < old->info.msgs_sent ||
	    accel->info.msgs_received < old->info.msgs_received)
		return;
	accel->sent_rate = (accel->info.msgs_sent - old->info.msgs_sent) / seconds;
	accel->received_rate = (accel->info.msgs_received - old->info.msgs_received) / seconds;
}

static int compare(const void *a, const void *b)
{
	const struct accel *x = a, *y = b;
	int ret = strcmp(x->vpod, y->vpod);

	if (ret)
		return ret;
	return x->id != y->id ? (x->id < y->id ? -1 : 1) : strcmp(x->node, y->node);
}

void sample_take(struct sample *sample, const struct sample *before)
{
	DIR *dir = opendir(CLASS);
	struct dirent *entry;
	struct timespec now;

	memset(sample, 0, sizeof(*sample));
	clock_gettime(CLOCK_MONOTONIC, &now);
	sample->time = now.tv_sec + now.tv_nsec / 1e9;
	while (dir && (entry = readdir(dir))) {
		struct accel accel = {};

		if (strncmp(entry->d_name, "renderD", strlen("renderD")))
			continue;
		snprintf(accel.node, sizeof(accel.node), "%.31s", entry->d_name);
		if (!read_sysfs(&accel))
			continue;
		read_node(&accel);
		add_rates(&accel, sample->time, before);
		sample->accels = grow(sample->accels, (sample->count + 1) * sizeof(accel));
		sample->accels[sample->count++] = accel;
	}
	if (dir)
		closedir(dir);
	if (sample->count)
		qsort(sample->accels, sample->count, sizeof(*sample->accels), compare);
}

void sample_free(struct sample *sample)
{
	unsigned int i;

	for (i = 0; i < sample->count; i++)
		free(sample->accels[i].peers);
	free(sample->accels);
	memset(sample, 0, sizeof(*sample));
}
