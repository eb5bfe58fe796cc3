// SPDX-License-Identifier: MIT
/*
 * Virtual accelerators that a test makes for itself.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "igt.h"
#include "igt_ualink_vualink.h"

#define CONFIGFS	"/sys/kernel/config/vualink/igt-own"
#define DEBUGFS		"/sys/kernel/debug/vualink"
#define DEVICES		"/sys/devices/faux/vualink.igt-own."
#define VRAM_SIZE	(64ull << 20)

static bool write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	bool ok;

	if (!file)
		return false;

	ok = fputs(text, file) >= 0;
	return !fclose(file) && ok;
}

static bool write_number(const char *dir, const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	return write_file(path, text);
}

static void remove_pod(void)
{
	char path[64];

	write_file(CONFIGFS "/enabled", "0\n");
	for (unsigned int i = 0; i < IGT_VUALINK_OWN_MAX; i++) {
		snprintf(path, sizeof(path), CONFIGFS "/accels/%u", i);
		rmdir(path);
	}
	rmdir(CONFIGFS);
}

static bool make_accel(unsigned int id)
{
	char dir[64];

	snprintf(dir, sizeof(dir), CONFIGFS "/accels/%u", id);
	return !mkdir(dir, 0755) && write_number(dir, "id", id) &&
	       write_number(dir, "vram_size", VRAM_SIZE) &&
	       write_number(dir, "visible_size", VRAM_SIZE / 4);
}

static bool make_pod(unsigned int count)
{
	if (mkdir(CONFIGFS, 0755))
		return false;
	for (unsigned int i = 0; i < count; i++)
		if (!make_accel(i))
			return false;
	return write_number(CONFIGFS, "enabled", 1);
}

static bool find_node(struct igt_ualink_node *node, unsigned int id)
{
	struct dirent *entry;
	char dir[64];
	DIR *files;

	snprintf(dir, sizeof(dir), DEVICES "%u/drm", id);
	files = opendir(dir);
	if (!files)
		return false;

	while ((entry = readdir(files)))
		if (!strncmp(entry->d_name, "renderD", strlen("renderD")))
			snprintf(node->path, sizeof(node->path),
				 "/dev/dri/%.48s", entry->d_name);
	closedir(files);
	node->backend = &igt_ualink_vualink;
	node->info.id = id;
	return node->path[0];
}

void igt_vualink_own_init(struct igt_vualink_own *own, const struct igt_ualink_pod *pod,
			  unsigned int count)
{
	igt_require(pod->nodes[0].backend == &igt_ualink_vualink);
	igt_assert_lte(count, IGT_VUALINK_OWN_MAX);
	memset(own, 0, sizeof(*own));
	remove_pod();
	own->before = igt_vualink_devices();
	igt_require_f(make_pod(count), "virtual accelerators cannot be made\n");
	own->count = count;
	for (unsigned int i = 0; i < count; i++)
		igt_assert(find_node(&own->nodes[i], i));
}

void igt_vualink_own_unplug(struct igt_vualink_own *own)
{
	igt_assert(write_number(CONFIGFS, "enabled", 0));
	own->count = 0;
}

void igt_vualink_own_fini(struct igt_vualink_own *own)
{
	remove_pod();
	igt_assert(access(CONFIGFS, F_OK));
	own->count = 0;
}

void igt_vualink_own_knob(struct igt_vualink_own *own, const char *knob, const char *text)
{
	char path[128];

	igt_assert_lt(0, own->count);
	snprintf(path, sizeof(path), DEBUGFS "/igt-own/%s", knob);
	igt_assert(write_file(path, text));
}

unsigned int igt_vualink_devices(void)
{
	FILE *file = fopen(DEBUGFS "/devices", "r");
	unsigned int count;

	igt_require_f(file, "devices are not counted\n");
	igt_assert_eq(fscanf(file, "%u", &count), 1);
	fclose(file);
	return count;
}

bool igt_vualink_wait_devices(unsigned int count)
{
	for (int i = 0; i < 500 && igt_vualink_devices() != count; i++)
		usleep(10 * 1000);
	return igt_vualink_devices() == count;
}
