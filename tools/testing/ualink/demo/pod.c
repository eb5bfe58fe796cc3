// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pod.h"

#define CONFIGFS	"/sys/kernel/config/vualink"
#define VISIBLE_SIZE	MIB(1)

static void put(uint64_t value, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a number to a file below the folder of all pods. */
static void put(uint64_t value, const char *format, ...)
{
	char path[128] = CONFIGFS "/";
	va_list args;
	FILE *file;

	va_start(args, format);
	vsnprintf(path + strlen(path), sizeof(path) - strlen(path), format, args);
	va_end(args);
	file = fopen(path, "w");
	if (!file || fprintf(file, "%" PRIu64 "\n", value) < 0 || fclose(file))
		die_errno(path, errno);
}

void pod_make(const char *pod, unsigned int segment_shift)
{
	char path[128];

	snprintf(path, sizeof(path), CONFIGFS "/%s", pod);
	if (mkdir(path, 0700))
		die_errno(path, errno);
	if (segment_shift)
		put(segment_shift, "%s/segment_shift", pod);
}

void pod_add(const char *pod, unsigned int id, uint64_t vram)
{
	char path[128];

	snprintf(path, sizeof(path), CONFIGFS "/%s/accels/%u", pod, id);
	if (mkdir(path, 0700))
		die_errno(path, errno);
	put(id, "%s/accels/%u/id", pod, id);
	put(vram, "%s/accels/%u/vram_size", pod, id);
	put(VISIBLE_SIZE, "%s/accels/%u/visible_size", pod, id);
}

void pod_enable(const char *pod, bool on)
{
	put(on, "%s/enabled", pod);
}

void pod_plug(const char *pod, unsigned int id, bool in)
{
	put(in, "%s/accels/%u/plugged", pod, id);
}

void pod_remove(const char *pod)
{
	char path[512];
	struct dirent *entry;
	DIR *dir;

	pod_enable(pod, false);
	snprintf(path, sizeof(path), CONFIGFS "/%s/accels", pod);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), CONFIGFS "/%s/accels/%s", pod, entry->d_name);
		if (entry->d_name[0] != '.' && rmdir(path))
			die_errno(path, errno);
	}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), CONFIGFS "/%s", pod);
	if (rmdir(path))
		die_errno(path, errno);
}

static bool has_uuid(const struct accel *accel, const char *uuid)
{
	const uint8_t *u = accel->info.vpod_uuid;
	char text[37] = "";

	for (int i = 0, at = 0; i < 16; i++)
		at += snprintf(text + at, sizeof(text) - at, "%02x%s", u[i],
			       i == 3 || i == 5 || i == 7 || i == 9 ? "-" : "");
	return !strncmp(text, uuid, 36);
}

struct accel *pod_scan(const char *pod, unsigned int *count)
{
	unsigned int all, first = 0, n = 0;
	struct accel *accels = accel_scan(&all);
	char path[128], uuid[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), CONFIGFS "/%s/uuid", pod);
	file = fopen(path, "r");
	if (!file || !fgets(uuid, sizeof(uuid), file))
		die_errno(path, errno);
	fclose(file);
	while (first < all && !has_uuid(&accels[first], uuid))
		first++;
	while (first + n < all && has_uuid(&accels[first + n], uuid))
		n++;
	*count = n;
	return accels + first;
}
