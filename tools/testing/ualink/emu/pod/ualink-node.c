// SPDX-License-Identifier: MIT
/*
 * ualink-node COMMANDS ANSWERS: does with the first accelerator of this machine what the
 * lines that others append to the file COMMANDS say, one after the other, and appends a
 * line to ANSWERS for each: the number of the command, and what it gave.
 *
 *   export NAME BYTES SEED	a buffer with a pattern; gives the handle
 *   import NAME HANDLE		gives "ok" or -errno
 *   fill NAME SEED		writes the pattern
 *   check NAME SEED		reads it, and ends the program if it is another one
 *   add NAME COUNT		atomic additions of 1 to the first word
 *   zero NAME, load NAME	the first word
 *   gone NAME			asserts that nobody reaches it here any more
 *   death NAME			waits until the import is dead; gives the reason
 *   revoke NAME, free NAME
 *   traffic NAME		a process that reads and writes it until the end, or its own
 *   info			exports grants imports npa_used npa_quarantined stale
 *   exit
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "igt.h"
#include "igt_ualink.h"

#define MAX_BUFFERS	32

struct buffer {
	char name[16];
	struct igt_ualink_bo *bo;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
};

static struct igt_ualink *dev;
static struct buffer buffers[MAX_BUFFERS];

static struct buffer *find(const char *name)
{
	for (int i = 0; i < MAX_BUFFERS; i++)
		if (buffers[i].bo && !strcmp(buffers[i].name, name))
			return &buffers[i];
	fprintf(stderr, "there is no buffer %s\n", name);
	exit(2);
}

static struct buffer *add_buffer(const char *name, struct igt_ualink_bo *bo)
{
	for (int i = 0; i < MAX_BUFFERS; i++) {
		if (buffers[i].bo)
			continue;
		snprintf(buffers[i].name, sizeof(buffers[i].name), "%s", name);
		buffers[i].bo = bo;
		return &buffers[i];
	}
	fprintf(stderr, "too many buffers\n");
	exit(2);
}

static void do_export(const char *name, const char *arg, char *answer)
{
	struct igt_ualink_bo *bo;
	struct buffer *buffer;
	unsigned int size, seed;

	igt_assert_eq(sscanf(arg, "%u %u", &size, &seed), 2);
	bo = igt_ualink_bo_create(dev, size, 0);
	igt_ualink_fill_pattern(bo, seed);
	buffer = add_buffer(name, bo);
	igt_ualink_export(bo, buffer->handle);
	for (int i = 0; i < DRM_UALINK_HANDLE_SIZE; i++)
		sprintf(answer + 2 * i, "%02x", buffer->handle[i]);
}

static void do_import(const char *name, const char *arg, char *answer)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	int ret;

	for (int i = 0; i < DRM_UALINK_HANDLE_SIZE; i++)
		igt_assert_eq(sscanf(arg + 2 * i, "%2hhx", &handle[i]), 1);
	ret = igt_ualink_import_errno(dev, handle);
	if (ret) {
		sprintf(answer, "%d", ret);
		return;
	}
	memcpy(add_buffer(name, igt_ualink_import_bo(dev, handle))->handle, handle, sizeof(handle));
}

static void do_death(const char *name, const char *arg, char *answer)
{
	struct drm_ualink_import_info info = {};

	(void)arg;
	for (int i = 0; i < 1500 && !info.death; i++) {
		igt_assert(igt_ualink_import_info(dev, find(name)->handle, &info));
		if (!info.death)
			usleep(20000);
	}
	sprintf(answer, "%u", info.death);
}

static void do_fill(const char *name, const char *arg, char *answer)
{
	(void)answer;
	igt_ualink_fill_pattern(find(name)->bo, atoi(arg));
}

static void do_check(const char *name, const char *arg, char *answer)
{
	(void)answer;
	igt_ualink_check_pattern(find(name)->bo, atoi(arg));
}

static void do_add(const char *name, const char *arg, char *answer)
{
	(void)answer;
	for (int i = atoi(arg); i > 0; i--)
		igt_ualink_atomic_add(dev, find(name)->bo->va, 1);
}

static void do_zero(const char *name, const char *arg, char *answer)
{
	(void)arg;
	(void)answer;
	igt_ualink_store(dev, find(name)->bo->va, 0);
}

static void do_load(const char *name, const char *arg, char *answer)
{
	(void)arg;
	sprintf(answer, "%" PRIu64, igt_ualink_load(dev, find(name)->bo->va));
}

static void do_gone(const char *name, const char *arg, char *answer)
{
	(void)arg;
	(void)answer;
	igt_ualink_assert_no_access(dev, find(name)->bo->va);
}

static void do_revoke(const char *name, const char *arg, char *answer)
{
	(void)arg;
	(void)answer;
	igt_ualink_revoke(find(name)->bo);
}

static void do_free(const char *name, const char *arg, char *answer)
{
	struct buffer *buffer = find(name);

	(void)arg;
	(void)answer;
	igt_ualink_bo_destroy(buffer->bo);
	buffer->bo = NULL;
}

/* An address space of its own, which is closed as the process ends. */
static void do_traffic(const char *name, const char *arg, char *answer)
{
	struct buffer *buffer = find(name);
	pid_t child = fork();

	(void)arg;
	(void)answer;
	igt_assert(child >= 0);
	if (!child) {
		struct igt_ualink *own = igt_ualink_open(dev->node);
		struct igt_ualink_bo *far = igt_ualink_import_bo(own, buffer->handle);
		struct igt_ualink_bo *local = igt_ualink_bo_create(own, far->size, 0);
		struct igt_ualink_cmd cmds[] = {
			{ .op = IGT_UALINK_COPY, .dst = local->va, .src = far->va, .len = far->size },
			{ .op = IGT_UALINK_COPY, .dst = far->va, .src = local->va, .len = far->size },
		};

		while (!__igt_ualink_run(own, cmds, ARRAY_SIZE(cmds)) && getppid() != 1)
			;
		_exit(0);
	}
}

static void do_info(const char *name, const char *arg, char *answer)
{
	struct drm_ualink_device_info info;
	struct igt_ualink_stats stats;

	(void)name;
	(void)arg;
	igt_ualink_device_info(dev, &info);
	igt_ualink_stats(dev, &stats);
	sprintf(answer, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		(uint64_t)info.exports, (uint64_t)info.grants, (uint64_t)info.imports,
		(uint64_t)info.npa_used, (uint64_t)info.npa_quarantined, stats.stale);
}

static const struct {
	const char *word;
	void (*run)(const char *name, const char *arg, char *answer);
} commands[] = {
	{ "export", do_export }, { "import", do_import }, { "fill", do_fill },
	{ "check", do_check }, { "add", do_add }, { "zero", do_zero }, { "load", do_load }, { "gone", do_gone },
	{ "death", do_death }, { "revoke", do_revoke }, { "free", do_free },
	{ "traffic", do_traffic }, { "info", do_info },
};

static void run(const char *line, char *answer)
{
	char word[16] = "", name[16] = "", arg[64] = "";

	sscanf(line, "%15s %15s %63[^\n]", word, name, arg);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(commands[i].word, word)) {
			commands[i].run(name, arg, answer);
			return;
		}
	}
	fprintf(stderr, "what is %s?\n", line);
	exit(2);
}

/* The line with this number, which may come later; others write the file meanwhile. */
static void read_line(const char *path, unsigned int number, char *line, int size)
{
	for (;;) {
		FILE *file = fopen(path, "r");
		unsigned int at = 0;

		while (file && fgets(line, size, file)) {
			if (strchr(line, '\n') && at++ == number) {
				fclose(file);
				return;
			}
		}
		if (file)
			fclose(file);
		usleep(50000);
	}
}

int main(int argc, char **argv)
{
	char line[256], answer[256];
	struct igt_ualink_pod pod;

	if (argc != 3)
		return 2;
	igt_ualink_pod_require(&pod, 1);
	dev = igt_ualink_open(&pod.nodes[0]);
	for (unsigned int number = 0; ; number++) {
		FILE *answers;

		read_line(argv[1], number, line, sizeof(line));
		if (!strncmp(line, "exit", 4))
			return 0;
		strcpy(answer, "ok");
		run(line, answer);
		answers = fopen(argv[2], "a");
		if (!answers || fprintf(answers, "%u %s\n", number, answer) < 0 || fclose(answers))
			return 1;
	}
}
