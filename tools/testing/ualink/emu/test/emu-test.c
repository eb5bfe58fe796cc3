// SPDX-License-Identifier: MIT
/*
 * emu-test EMULATOR [NAME...]: tests of the emulated GPU, without QEMU and a kernel. Each test has
 * a pod of two GPUs of its own. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests.h"

static const struct test *const all[] = {
	gpu_tests, cp_tests, fabric_tests, link_tests, fail_tests,
};

struct device dev[2];
const char *dir;
int exit_status;
static unsigned int failures;

void failed(const char *file, int line, const char *what)
{
	printf("# %s:%d: not true: %s\n", file, line, what);
	failures++;
}

static void run(const char *program, const struct test *test, unsigned int number)
{
	char *args[] = { (char *)(uintptr_t)program, "--gpus", "2", "--vram", "64", "--ids", "16",
			 "--ring-shift", "2", "--segment-shift", "30", (char *)(uintptr_t)dir,
			 NULL };
	pid_t pid = emu_start(program, dir, args);
	int status;

	failures = 0;
	exit_status = 0;
	device_open(&dev[0], dir, 0);
	device_open(&dev[1], dir, 1);
	/* that the second one has joined the fabric */
	irq_forget(&dev[0]);
	test->run();
	client_close(&dev[0].c);
	client_close(&dev[1].c);
	status = emu_stop(pid);
	if (status != exit_status) {
		printf("# the emulator ended with %d, not %d\n", status, exit_status);
		failures++;
	}
	printf("%s %u - %s\n", failures ? "not ok" : "ok", number, test->name);
	fflush(stdout);
}

static bool wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc == 2;
}

/* The emulator removes its sockets, but for that of a test that it did not survive. */
static void clean_up(void)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/control.sock", dir);
	unlink(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	char path[128];
	unsigned int number = 0, bad = 0;
	const struct test *test;
	size_t i;

	if (argc < 2) {
		fprintf(stderr, "usage: emu-test EMULATOR [NAME...]\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/emu-test.XXXXXX", tmp ? tmp : P_tmpdir);
	dir = mkdtemp(path);
	if (!dir)
		die("no folder");
	puts("TAP version 14");
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (test = all[i]; test->name; test++) {
			if (!wanted(argc, argv, test->name))
				continue;
			run(argv[1], test, ++number);
			bad += failures > 0;
		}
	}
	printf("1..%u\n", number);
	clean_up();
	return bad || !number;
}
