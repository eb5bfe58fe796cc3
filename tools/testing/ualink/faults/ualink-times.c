// SPDX-License-Identifier: MIT
/*
 * ualink-times: how long the troubles of others take, as lines "faults: KEY VALUE".
 * Uses all accelerators of the first pod, 65 of them if there are so many.
 *
 * revoke_63_of_64_rtt
 *	One of the importers is mute. When the last of the others knows of the
 *	revoke, in round trips of a fabric that takes DELAY_MS for a message.
 * revoke_one_mute_ms, revoke_deadline_ms
 *	When the REVOKE returns, and what the deadline is.
 * peer_crash_10k_imports_ms
 *	An accelerator that others hold 10 000 imports of is reset without a word,
 *	and greets. From before its HELLO until the importer has been told that
 *	all of them are dead.
 * import_other_mute_vs_quiet, import_other_crashing_vs_quiet
 *	An import from a healthy accelerator, while the importer also waits for one
 *	that is mute, or has imports of one that is reset again and again: median, as
 *	a multiple of what it takes when nothing else is going on.
 * sigkill_exit_ms
 *	From SIGKILL until a process is gone that has imports mapped and waits in
 *	IMPORT, while nobody answers: the longest of KILLS.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel.h"

#define PAGE		KIB(4)
#define DELAY_MS	10
#define MAX_IMPORTERS	64
#define MANY		10000u
#define KILLS		20
#define LATENCIES	301

static struct accel *accels;
static unsigned int importers;

static double now(void)
{
	return accel_now() * 1e3;
}

static void print(const char *key, double value)
{
	printf("faults: %s %.4g\n", key, value);
	fflush(stdout);
}

static void mute(const struct accel *accel, bool on)
{
	accel_mute(DEFAULT_POD, accel, on);
}

static void settle(void)
{
	struct drm_ualink_device_info info;

	do {
		usleep(1000);
		accel_info(&accels[0], &info);
	} while (info.grants || info.exports);
}

/* Waits for the event that imports have died, and forgets it: how many that are by now. */
static uint64_t wait_for_death(struct accel *accel)
{
	struct pollfd poll_fd = { .fd = accel->fd, .events = POLLIN };
	struct drm_ualink_event event;

	if (poll(&poll_fd, 1, 60000) != 1)
		die("no import of accelerator %u died", accel->info.id);
	if (read(accel->fd, &event, sizeof(event)) != sizeof(event) ||
	    event.base.type != DRM_EVENT_UALINK_IMPORTS_DIED)
		die_errno("event", errno);
	return event.deaths;
}

/* ------------------------------------------------- one mute among many */

static double round_trip(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(&accels[0], PAGE, 0);
	double start, first, second;
	int fd[2];

	must(accel_export(&accels[0], bo, handle));
	start = now();
	must(accel_import(&accels[1], handle, 0, &fd[0]));
	first = now();
	must(accel_import(&accels[1], handle, 0, &fd[1]));
	second = now();
	close(fd[0]);
	close(fd[1]);
	accel_gem_close(&accels[0], bo);
	settle();
	return (first - start) - (second - first);
}

/* The time at which all but the mute one, the last, have heard of it. */
static void revoke_with_mute(double *others, double *all)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(&accels[0], PAGE, 0);
	int fds[MAX_IMPORTERS];
	double start;
	pid_t child;
	int pipes[2];

	must(accel_export(&accels[0], bo, handle));
	for (unsigned int i = 0; i < importers; i++)
		must(accel_import(&accels[1 + i], handle, 0, &fds[i]));
	mute(&accels[importers], true);
	if (pipe(pipes))
		die_errno("pipe", errno);
	start = now();
	child = fork();
	if (!child) {
		must(accel_revoke(&accels[0], bo));
		start = now() - start;
		_exit(write(pipes[1], &start, sizeof(start)) != sizeof(start));
	}
	for (unsigned int i = 0; i + 1 < importers; i++)
		wait_for_death(&accels[1 + i]);
	*others = now() - start;
	if (child < 0 || read(pipes[0], all, sizeof(*all)) != sizeof(*all))
		die("the child that revokes: %s", strerror(errno));
	waitpid(child, NULL, 0);
	close(pipes[0]);
	close(pipes[1]);
	mute(&accels[importers], false);
	wait_for_death(&accels[importers]);
	for (unsigned int i = 0; i < importers; i++)
		close(fds[i]);
	accel_gem_close(&accels[0], bo);
	settle();
}

static void time_revoke(void)
{
	double rtt, others, all;
	uint64_t deadline;
	char rule[16];

	must(accel_tunable_read(&accels[0], "revoke_deadline_ms", &deadline));
	/* The first one makes the sessions. */
	revoke_with_mute(&others, &all);
	snprintf(rule, sizeof(rule), "ms=%u", DELAY_MS);
	accel_knob("delay", rule);
	rtt = round_trip();
	revoke_with_mute(&others, &all);
	accel_knob("delay", "off");
	print("revoke_importers", importers);
	print("revoke_63_of_64_rtt", others / rtt);
	print("revoke_one_mute_ms", all);
	print("revoke_deadline_ms", deadline);
}

/* -------------------------------------------------- a crash with many imports */

struct greeting {
	struct accel *accel;
	const uint8_t *handle;
	double start;
};

/* Greets, by an import. It returns when there is a session again, later than deaths are told. */
static void *greet(void *arg)
{
	struct greeting *greeting = arg;
	int fd;

	greeting->start = now();
	must(accel_import(greeting->accel, greeting->handle, 0, &fd));
	close(fd);
	return NULL;
}

static void time_crash(void)
{
	struct accel *exporter = &accels[0], *importer = &accels[1];
	static uint32_t far[MANY], near[MANY];
	uint8_t handle[DRM_UALINK_HANDLE_SIZE], back[DRM_UALINK_HANDLE_SIZE];
	struct greeting greeting = { .accel = exporter, .handle = back };
	uint32_t own = accel_bo(importer, PAGE, 0);
	pthread_t thread;
	double told;
	int fd;

	must(accel_export(importer, own, back));
	for (unsigned int i = 0; i < MANY; i++) {
		near[i] = accel_bo(exporter, PAGE, 0);
		must(accel_export(exporter, near[i], handle));
		must(accel_import(importer, handle, i, &fd));
		must(accel_fd_to_handle(importer, fd, &far[i]));
		close(fd);
	}
	/* Nobody hears of the end of the exporter's present life. */
	mute(exporter, true);
	must(accel_debugfs_write(exporter, "reset", "1"));
	mute(exporter, false);
	if (pthread_create(&thread, NULL, greet, &greeting))
		die("no thread");
	/* Nothing of its file has died before. */
	while (wait_for_death(importer) < MANY)
		;
	told = now();
	pthread_join(thread, NULL);
	print("peer_crash_10k_imports_ms", told - greeting.start);
	for (unsigned int i = 0; i < MANY; i++) {
		accel_gem_close(importer, far[i]);
		accel_gem_close(exporter, near[i]);
	}
	accel_gem_close(importer, own);
	settle();
}

/* ------------------------------------------------- others while one is in trouble */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Median time of a first import from accelerator 0 by 1. */
static double import_latency(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	static double times[LATENCIES];
	uint32_t bo;
	int fd;

	for (int i = 0; i < LATENCIES; i++) {
		bo = accel_bo(&accels[0], PAGE, 0);
		must(accel_export(&accels[0], bo, handle));
		times[i] = now();
		must(accel_import(&accels[1], handle, 0, &fd));
		times[i] = now() - times[i];
		close(fd);
		accel_gem_close(&accels[0], bo);
	}
	qsort(times, LATENCIES, sizeof(*times), compare);
	return times[LATENCIES / 2];
}

/* Accelerator 1 imports from 2 without end, and 2 is reset again and again if @crash. */
static void trouble(bool crash)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct accel importer = accels[1];
	uint32_t bo;
	int fd;

	accel_open(&importer);
	while (true) {
		bo = accel_bo(&accels[2], PAGE, 0);
		if (!accel_export(&accels[2], bo, handle) &&
		    !accel_import(&importer, handle, 0, &fd))
			close(fd);
		accel_gem_close(&accels[2], bo);
		if (crash)
			must(accel_debugfs_write(&accels[2], "reset", "1"));
	}
}

static double latency_beside(bool crash)
{
	double latency;
	pid_t child;

	if (!crash)
		mute(&accels[2], true);
	child = fork();
	if (!child)
		trouble(crash);
	if (child < 0)
		die_errno("fork", errno);
	usleep(100000);
	latency = import_latency();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (!crash)
		mute(&accels[2], false);
	return latency;
}

static void time_others(void)
{
	double quiet = import_latency();

	print("import_quiet_us", quiet * 1000);
	print("import_other_mute_vs_quiet", latency_beside(false) / quiet);
	print("import_other_crashing_vs_quiet", latency_beside(true) / quiet);
	settle();
}

/* ------------------------------------------------------------------ SIGKILL */

static void victim(const uint8_t *handle, int ready)
{
	struct accel accel = accels[1];
	uint8_t unknown[DRM_UALINK_HANDLE_SIZE];
	uint64_t va, value;
	uint32_t bo;
	int fd;

	accel_open(&accel);
	must(accel_import(&accel, handle, 0, &fd));
	must(accel_fd_to_handle(&accel, fd, &bo));
	va = accel_bind(&accel, bo, PAGE);
	must(accel_load(&accel, va, &value, sizeof(value)));
	if (write(ready, "x", 1) != 1)
		_exit(1);
	/* Nobody answers this one. */
	memcpy(unknown, handle, sizeof(unknown));
	unknown[9] ^= 1;
	usleep(20000);
	accel_import(&accel, unknown, 0, &fd);
	pause();
}

static double kill_one(const uint8_t *handle)
{
	int pipes[2], status;
	double start;
	pid_t child;
	char c;

	if (pipe(pipes))
		die_errno("pipe", errno);
	child = fork();
	if (!child) {
		victim(handle, pipes[1]);
		_exit(0);
	}
	if (child < 0 || read(pipes[0], &c, 1) != 1)
		die("the child did not start");
	mute(&accels[0], true);
	usleep(100000);
	start = now();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	start = now() - start;
	mute(&accels[0], false);
	if (!WIFSIGNALED(status))
		die("the child ended by itself");
	close(pipes[0]);
	close(pipes[1]);
	return start;
}

static void time_kill(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(&accels[0], PAGE, 0);
	double longest = 0, time;

	must(accel_export(&accels[0], bo, handle));
	for (int i = 0; i < KILLS; i++) {
		time = kill_one(handle);
		if (time > longest)
			longest = time;
	}
	print("sigkill_exit_ms", longest);
	accel_gem_close(&accels[0], bo);
	settle();
}

int main(void)
{
	struct rlimit limit = { 65536, 65536 };
	unsigned int count;

	if (setrlimit(RLIMIT_NOFILE, &limit))
		die_errno("setrlimit", errno);
	accels = accel_scan(&count);
	if (count < 3)
		die("there are only %u accelerators", count);
	importers = count - 1 < MAX_IMPORTERS ? count - 1 : MAX_IMPORTERS;
	for (unsigned int i = 0; i <= importers; i++) {
		accel_open(&accels[i]);
		must(accel_tunable_write(&accels[i], "cache_ms", 0));
		must(accel_tunable_write(&accels[i], "max_export_bytes", UINT64_MAX));
	}
	time_kill();
	time_others();
	time_crash();
	time_revoke();
	return 0;
}
