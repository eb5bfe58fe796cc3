// SPDX-License-Identifier: MIT
/*
 * ualink-limits [GRANTS [STEPS]]: each limit of sharing is reached: the NPA segment, what
 * is in quarantine there, VRAM, the caps of a file and of an accelerator, a cgroup's part
 * of VRAM (dmem), file descriptors. It has the errno that drm_ualink.h says, and is
 * counted; what was shared before stays as it is; when one thing is given back, the next
 * one can be shared.
 *
 * Then STEPS (100 000) random operations with a model of the segment; GRANTS (100 000)
 * imports of one peer, while another one goes on importing; and accesses by a peer that
 * does not know of a revoke, which are counted for it, and hurt and annoy nobody.
 *
 * Makes pods of its own. Prints "faults: KEY VALUE" and "fail: ..." for what is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pod.h"

#define POD		"limits"
#define CGROUP		"/sys/fs/cgroup"
#define PAGE		KIB(4)
#define CHUNK		KIB(64)
#define SEGMENT_SHIFT	22
#define SEGMENT		(1ull << SEGMENT_SHIFT)
#define ACCELS		3
#define FIRST_ID	5
#define FAULTS		10000

static struct accel *accels, *exporter, *importer, *other;
static unsigned int failures;

__attribute__((format(printf, 1, 2)))
static void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (failures++ < 50)
		accel_print_failure("", format, args);
	va_end(args);
}

/* ------------------------------------------------------------------------- pod */

static void tune(struct accel *accel, const char *name, uint64_t value)
{
	must(accel_tunable_write(accel, name, value));
}

static void begin(unsigned int segment_shift, uint64_t vram, bool capped)
{
	unsigned int count;

	pod_make(POD, segment_shift);
	for (unsigned int i = 0; i < ACCELS; i++)
		pod_add(POD, FIRST_ID + i, i ? MIB(16) : vram);
	pod_enable(POD, true);
	accels = pod_scan(POD, &count);
	if (count != ACCELS)
		die("%u accelerators are active, not %u", count, ACCELS);
	exporter = &accels[0];
	importer = &accels[1];
	other = &accels[2];
	for (unsigned int i = 0; i < ACCELS; i++) {
		accel_open(&accels[i]);
		tune(&accels[i], "cache_ms", 0);
		tune(&accels[i], "revoke_grace_ms", 0);
		tune(&accels[i], "request_ms", 60000);
		if (!capped)
			tune(&accels[i], "max_export_bytes", UINT64_MAX);
	}
}

static bool all_idle(void)
{
	struct drm_ualink_device_info info;

	for (unsigned int i = 0; i < ACCELS; i++)
		if (!accel_idle(&accels[i], &info))
			return false;
	return true;
}

static void end(const char *what)
{
	if (!in_time(all_idle()))
		complain("%s: something is left", what);
	for (unsigned int i = 0; i < ACCELS; i++) {
		if (accel_stale(&accels[i]))
			complain("%s: outdated TLB entries were used", what);
		accel_close(&accels[i]);
	}
	pod_remove(POD);
	printf("  %s: done\n", what);
}

static void mute(const struct accel *accel, bool on)
{
	accel_mute(POD, accel, on);
}

/* Nothing that is said to an accelerator gets there. */
static void deafen(const struct accel *accel)
{
	char rule[16];

	snprintf(rule, sizeof(rule), "dst=%u", accel->info.id);
	accel_pod_knob(POD, "drop", rule);
}

static struct drm_ualink_device_info info_of(struct accel *accel)
{
	struct drm_ualink_device_info info;

	accel_info(accel, &info);
	return info;
}

static uint64_t refused(struct accel *accel)
{
	return info_of(accel).refused;
}

/* --------------------------------------------------------------------- sharing */

/* An object of the exporter, with its number in it */
struct shared {
	struct accel *accel;
	uint64_t size;
	uint64_t number;
	uint32_t bo;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	int fd;
};

static void fill(struct shared *shared, struct accel *accel, uint64_t size)
{
	static uint64_t numbers = 0x1000;
	uint64_t va;
	int ret;

	*shared = (struct shared) { .accel = accel, .size = size, .fd = -1 };
	shared->bo = accel_bo(accel, size, 0);
	/* Full VRAM has no room to map it either: it stays zero. */
	ret = accel_try_bind(accel, shared->bo, size, &va);
	if (ret == ENOSPC)
		return;
	must(ret);
	shared->number = ++numbers;
	must(accel_store(accel, va, &shared->number, sizeof(shared->number)));
	accel_unbind(accel, va, size);
}

static int share(struct shared *shared)
{
	return accel_export(shared->accel, shared->bo, shared->handle);
}

static void drop(struct shared *shared)
{
	if (shared->fd >= 0)
		close(shared->fd);
	accel_gem_close(shared->accel, shared->bo);
}

static int import(struct shared *shared, struct accel *accel)
{
	return accel_import(accel, shared->handle, 0, &shared->fd);
}

/* That an import, by its fd or else anew, shows what is in the object. */
static void expect_content(const char *what, struct shared *shared, struct accel *accel)
{
	uint64_t value = 0, va;
	int fd = shared->fd, ret = 0;
	uint32_t bo;

	if (fd < 0)
		ret = accel_import(accel, shared->handle, 0, &fd);
	if (!ret) {
		must(accel_fd_to_handle(accel, fd, &bo));
		va = accel_bind(accel, bo, shared->size);
		ret = accel_load(accel, va, &value, sizeof(value));
		accel_unbind(accel, va, shared->size);
		accel_gem_close(accel, bo);
	}
	if (ret || value != shared->number)
		complain("%s: read %" PRIx64 ", not %" PRIx64 ": %s", what, value,
			 shared->number, strerror(ret));
	if (shared->fd < 0 && !ret)
		close(fd);
}

/*
 * Shares objects of a size until it fails, which must be by @error and counted; what
 * was shared before is as it was. Returns how many there are; the one that failed
 * comes after them.
 */
static unsigned int share_until(const char *what, struct shared *all, unsigned int max,
				struct accel *accel, uint64_t size, int error)
{
	uint64_t before = refused(accel);
	unsigned int n;
	int ret = 0;

	for (n = 0; n < max; n++) {
		fill(&all[n], accel, size);
		ret = share(&all[n]);
		if (ret)
			break;
	}
	if (ret != error)
		complain("%s: %u, then %s instead of %s", what, n, strerror(ret),
			 strerror(error));
	if (refused(accel) != before + 1)
		complain("%s: %" PRIu64 " refusals are counted", what, refused(accel) - before);
	for (unsigned int i = 0; i < n; i += n / 4 + 1)
		expect_content(what, &all[i], importer);
	return n;
}

/* The one that was refused succeeds, as soon as another one is given back. */
static void expect_next(const char *what, struct shared *all, unsigned int n)
{
	int ret = share(&all[n]);

	if (!ret)
		complain("%s: it is not full any more", what);
	must(accel_revoke(all[0].accel, all[0].bo));
	ret = share(&all[n]);
	if (ret)
		complain("%s: full when one is given back: %s", what, strerror(ret));
	else
		expect_content(what, &all[n], importer);
}

static void drop_all(struct shared *all, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		drop(&all[i]);
}

static void expect_npa(const char *what, uint64_t used, uint64_t quarantined, uint64_t largest)
{
	struct drm_ualink_device_info info = info_of(exporter);

	if (info.npa_used != used || info.npa_quarantined != quarantined ||
	    info.npa_largest_free != largest)
		complain("%s: %" PRIu64 " used, %" PRIu64 " quarantined, %" PRIu64 " free, not %"
			 PRIu64 ", %" PRIu64 ", %" PRIu64, what, (uint64_t)info.npa_used,
			 (uint64_t)info.npa_quarantined, (uint64_t)info.npa_largest_free,
			 used, quarantined, largest);
}

/* ---------------------------------------------------------------------- limits */

static struct shared objects[1024];

static void npa_full(void)
{
	/* The first page of the segment is never used. */
	unsigned int fit = (SEGMENT - PAGE) / CHUNK, n;

	begin(SEGMENT_SHIFT, MIB(16), false);
	expect_npa("NPA", 0, 0, SEGMENT - PAGE);
	n = share_until("NPA", objects, 1024, exporter, CHUNK, ENOSPC);
	if (n != fit)
		complain("NPA: %u exports of %u fit", n, fit);
	expect_npa("NPA", fit * CHUNK, 0, SEGMENT - PAGE - fit * CHUNK);
	expect_next("NPA", objects, n);
	drop_all(objects, n + 1);
	end("NPA");
}

static void vram_full(void)
{
	unsigned int n;

	begin(0, MIB(8), false);
	n = share_until("VRAM", objects, 1024, exporter, CHUNK, ENOSPC);
	if (n < MIB(7) / CHUNK || n > MIB(8) / CHUNK)
		complain("VRAM: %u exports of it fit", n);
	expect_next("VRAM", objects, n);
	drop_all(objects, n + 1);
	end("VRAM");
}

/* Half of VRAM for a file, three quarters for all. */
static void caps(void)
{
	static struct shared others[64];
	struct accel second;
	unsigned int n, m;

	begin(0, MIB(16), true);
	second = *exporter;
	accel_open(&second);
	n = share_until("file cap", objects, 1024, exporter, MIB(1), EDQUOT);
	m = share_until("device cap", others, 64, &second, MIB(1), EDQUOT);
	if (n != 8 || m != 4)
		complain("caps: %u and %u exports of 1 MiB are allowed", n, m);
	expect_next("device cap", others, m);
	expect_next("file cap", objects, n);
	drop_all(objects, n + 1);
	drop_all(others, m + 1);
	if (!in_time(all_idle()))
		complain("caps: something is left");
	accel_close(&second);
	end("caps");
}

/* Exports one half for each of two importers, which become mute; and ends all. */
static void fill_quarantine(unsigned int fit)
{
	for (unsigned int i = 0; i < fit; i++) {
		fill(&objects[i], exporter, CHUNK);
		must(share(&objects[i]));
		must(import(&objects[i], i % 2 ? importer : other));
	}
	mute(importer, true);
	mute(other, true);
	for (unsigned int i = 0; i < fit; i++)
		must(accel_revoke(exporter, objects[i].bo));
}

static void quarantine_full(void)
{
	unsigned int fit = (SEGMENT - PAGE) / CHUNK, half = fit / 2;
	uint64_t rest = SEGMENT - PAGE - fit * CHUNK, before;
	struct shared next, third;
	int ret;

	begin(SEGMENT_SHIFT, MIB(16), false);
	tune(exporter, "revoke_deadline_ms", 1);
	tune(exporter, "peer_timeout_ms", 3600 * 1000);
	fill_quarantine(fit);
	expect_npa("quarantine", fit * CHUNK, fit * CHUNK, rest);
	if (info_of(exporter).exported_bytes || accel_counter(exporter, "state", "vram_pinned"))
		complain("quarantine: memory is still pinned");

	fill(&next, exporter, CHUNK);
	before = refused(exporter);
	ret = share(&next);
	if (ret != ENOSPC || refused(exporter) != before + 1)
		complain("quarantine: full: %s", strerror(ret));
	/* Late answers of one peer free what is quarantined for it, and no more. */
	mute(other, false);
	if (!in_time(info_of(exporter).npa_quarantined == half * CHUNK))
		complain("quarantine: %" PRIu64 " bytes stay",
			 (uint64_t)info_of(exporter).npa_quarantined);
	ret = share(&next);
	if (ret)
		complain("quarantine: not full: %s", strerror(ret));
	fill(&third, exporter, PAGE);
	ret = share(&third);
	if (!ret)
		expect_content("quarantine", &third, other);
	mute(importer, false);
	if (!in_time(!info_of(exporter).npa_quarantined))
		complain("quarantine: it does not end");
	expect_content("quarantine", &next, importer);
	drop_all(objects, fit);
	drop(&next);
	drop(&third);
	end("quarantine");
}

/* Uses up all file descriptors but @spare; returns the limit that was. */
static struct rlimit limit_files(unsigned int spare)
{
	struct rlimit old, new;
	int fd = dup(0);

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &old))
		die_errno("RLIMIT_NOFILE", errno);
	close(fd);
	new = old;
	new.rlim_cur = fd + spare;
	if (setrlimit(RLIMIT_NOFILE, &new))
		die_errno("RLIMIT_NOFILE", errno);
	return old;
}

#define FILES	8

static void files_full(void)
{
	struct rlimit old;
	uint64_t before, sent;
	int ret = 0;

	begin(0, MIB(16), false);
	for (unsigned int i = 0; i <= FILES; i++) {
		fill(&objects[i], exporter, CHUNK);
		must(share(&objects[i]));
	}
	tune(importer, "heartbeat_ms", 3600 * 1000);
	tune(exporter, "heartbeat_ms", 3600 * 1000);
	old = limit_files(FILES);
	for (unsigned int i = 0; i < FILES && !ret; i++)
		ret = import(&objects[i], importer);
	if (ret)
		complain("files: %s before the limit", strerror(ret));
	before = refused(importer);
	sent = info_of(importer).msgs_sent;
	ret = import(&objects[FILES], importer);
	if (ret != EMFILE || refused(importer) != before + 1)
		complain("files: full: %s", strerror(ret));
	if (info_of(importer).msgs_sent != sent || info_of(exporter).grants != FILES)
		complain("files: the exporter was asked all the same");
	close(objects[0].fd);
	objects[0].fd = -1;
	ret = import(&objects[FILES], importer);
	if (ret)
		complain("files: full when one is closed: %s", strerror(ret));
	if (setrlimit(RLIMIT_NOFILE, &old))
		die_errno("RLIMIT_NOFILE", errno);
	for (unsigned int i = 1; i <= FILES; i++)
		expect_content("files", &objects[i], importer);
	drop_all(objects, FILES + 1);
	end("files");
}

/* ------------------------------------------------------------------------ dmem */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die_errno(path, errno);
	close(fd);
}

/* The name that the controller has for the memory of the exporter */
static void find_region(char *region, size_t size)
{
	FILE *file = fopen(CGROUP "/dmem.capacity", "r");
	char id[16], line[128];
	uint64_t bytes;

	if (!file)
		die_errno(CGROUP "/dmem.capacity", errno);
	snprintf(id, sizeof(id), POD ".%u/", exporter->info.id);
	region[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (strstr(line, id) && sscanf(line, "%127s %" SCNu64, region, &bytes) != 2)
			region[0] = '\0';
	fclose(file);
	if (!region[0] || strlen(region) >= size)
		die("dmem does not know the accelerator");
}

/* In a cgroup that may have 2 MiB; others may have more. */
static void use_dmem(void)
{
	struct accel base = *exporter;
	unsigned int n;

	accel_open(&base);
	write_text(CGROUP "/" POD "/cgroup.procs", "0");
	n = share_until("dmem", objects, 1024, &base, CHUNK, ENOSPC);
	if (n > MIB(2) / CHUNK || n < MIB(1) / CHUNK)
		complain("dmem: %u exports of it fit", n);
	expect_next("dmem", objects, n);
	write_text(CGROUP "/cgroup.procs", "0");
	fill(&objects[n + 1], exporter, MIB(4));
	must(share(&objects[n + 1]));
	expect_content("dmem", &objects[n + 1], importer);
	drop(&objects[n + 1]);
	drop_all(objects, n + 1);
	accel_close(&base);
}

static void dmem(void)
{
	char region[128], limit[160];

	begin(0, MIB(16), false);
	write_text(CGROUP "/cgroup.subtree_control", "+dmem");
	find_region(region, sizeof(region));
	if (mkdir(CGROUP "/" POD, 0700))
		die_errno(CGROUP "/" POD, errno);
	snprintf(limit, sizeof(limit), "%s %" PRIu64, region, (uint64_t)MIB(2));
	write_text(CGROUP "/" POD "/dmem.max", limit);
	use_dmem();
	if (!in_time(all_idle()) || rmdir(CGROUP "/" POD))
		complain("dmem: the cgroup stays: %s", strerror(errno));
	end("dmem");
}

/* ----------------------------------------------------------------- random walk */

#define SLOTS		64
#define MAX_PAGES	60u

enum slot_state { FREE, LIVE, QUARANTINED };

/* What the segment should have, and who of its importers is mute now */
static struct walk {
	struct {
		enum slot_state state;
		bool imported;
		uint64_t size;
	} slots[SLOTS];
	uint64_t live, quarantined, served, full, quarantines;
	uint64_t rnd;
	bool mute;
} walk;

static uint64_t rnd(void)
{
	walk.rnd ^= walk.rnd << 13;
	walk.rnd ^= walk.rnd >> 7;
	walk.rnd ^= walk.rnd << 17;
	return walk.rnd * 0x2545f4914f6cdd1dull >> 16;
}

/* The segment is as the model says. */
static bool walk_agrees(void)
{
	struct drm_ualink_device_info info = info_of(exporter);

	return info.npa_used == walk.live + walk.quarantined &&
	       info.npa_quarantined == walk.quarantined && info.exported_bytes == walk.live;
}

/* An object of less than a block fits if and only if it is not larger than the largest hole. */
static void walk_share(unsigned int slot)
{
	uint64_t size = (1 + rnd() % MAX_PAGES) * PAGE;
	bool fits = size <= info_of(exporter).npa_largest_free;
	int ret;

	fill(&objects[slot], exporter, size);
	ret = share(&objects[slot]);
	if (ret != (fits ? 0 : ENOSPC))
		complain("walk: export of %" PRIu64 " bytes: %s", size, strerror(ret));
	if (ret) {
		drop(&objects[slot]);
		walk.full++;
		return;
	}
	walk.slots[slot].state = LIVE;
	walk.slots[slot].size = size;
	walk.slots[slot].imported = false;
	walk.live += size;
	walk.served++;
}

static void walk_import(unsigned int slot)
{
	must(import(&objects[slot], importer));
	walk.slots[slot].imported = true;
	if (rnd() % 16 == 0)
		expect_content("walk", &objects[slot], importer);
}

/* What its importer does not give back is quarantined. */
static void walk_end(unsigned int slot)
{
	uint64_t size = walk.slots[slot].size;

	if (walk.slots[slot].imported && !walk.mute && rnd() % 2) {
		close(objects[slot].fd);
		objects[slot].fd = -1;
	}
	must(accel_revoke(exporter, objects[slot].bo));
	drop(&objects[slot]);
	walk.live -= size;
	walk.slots[slot].state = FREE;
	if (walk.slots[slot].imported && walk.mute) {
		walk.slots[slot].state = QUARANTINED;
		walk.quarantined += size;
		walk.quarantines++;
	}
}

/* All that was quarantined is free again. */
static void walk_unmute(void)
{
	mute(importer, false);
	walk.mute = false;
	walk.quarantined = 0;
	for (unsigned int i = 0; i < SLOTS; i++)
		if (walk.slots[i].state == QUARANTINED)
			walk.slots[i].state = FREE;
	if (!in_time(walk_agrees()))
		complain("walk: the quarantine does not end");
}

static void walk_step(void)
{
	unsigned int slot = rnd() % SLOTS;

	if (rnd() % 200 == 0) {
		if (walk.mute)
			walk_unmute();
		else
			mute(importer, walk.mute = true);
	} else if (walk.slots[slot].state == FREE) {
		walk_share(slot);
	} else if (walk.slots[slot].state == LIVE) {
		if (!walk.slots[slot].imported && !walk.mute && rnd() % 2)
			walk_import(slot);
		else
			walk_end(slot);
	}
}

static void random_walk(unsigned int steps)
{
	begin(SEGMENT_SHIFT, MIB(16), false);
	tune(exporter, "revoke_deadline_ms", 1);
	tune(exporter, "peer_timeout_ms", 3600 * 1000);
	tune(importer, "peer_timeout_ms", 3600 * 1000);
	walk.rnd = 20261130;
	for (unsigned int i = 0; i < steps && failures < 20; i++) {
		walk_step();
		/* A deadline of a tick can be over before an answer comes that is under way. */
		if (!in_time(walk_agrees()))
			complain("walk: step %u: %" PRIu64 " bytes are used and %" PRIu64
				 " quarantined, not %" PRIu64 " and %" PRIu64, i,
				 (uint64_t)info_of(exporter).npa_used,
				 (uint64_t)info_of(exporter).npa_quarantined,
				 walk.live + walk.quarantined, walk.quarantined);
	}
	if (walk.mute)
		walk_unmute();
	for (unsigned int i = 0; i < SLOTS; i++)
		if (walk.slots[i].state == LIVE)
			walk_end(i);
	expect_npa("walk", 0, 0, SEGMENT - PAGE);
	/* One that is never full, or has no quarantine, shows little. */
	if (walk.full < steps / 200 || walk.quarantines < steps / 200)
		complain("walk: %" PRIu64 " served, %" PRIu64 " refused, %" PRIu64
			 " quarantined", walk.served, walk.full, walk.quarantines);
	printf("faults: limits_walk_exports %" PRIu64 "\n", walk.served);
	printf("faults: limits_walk_refused %" PRIu64 "\n", walk.full);
	printf("faults: limits_walk_quarantined %" PRIu64 "\n", walk.quarantines);
	end("walk");
}

/* ---------------------------------------------------------------------- grants */

/* Imports and lets go again, until it is killed; tells each time by a byte. */
static void import_all_the_time(struct shared *shared, int pipe)
{
	struct accel accel = *other;
	uint64_t before = 0;

	accel_open(&accel);
	do {
		expect_content("the other peer", shared, &accel);
	} while (!failures && write(pipe, &before, 1) == 1);
	_exit(1);
}

static unsigned int count_bytes(int pipe)
{
	char room[4096];
	unsigned int n = 0;
	ssize_t got;

	while ((got = read(pipe, room, sizeof(room))) > 0)
		n += got;
	return n;
}

/* One peer's imports of all that is exported; its GEM handles keep them. */
static double import_many(struct shared *many, uint32_t *bos, unsigned int count)
{
	double start = accel_now();
	int ret;

	for (unsigned int i = 0; i < count; i++) {
		ret = import(&many[i], importer);
		if (ret) {
			complain("grants: import %u: %s", i, strerror(ret));
			break;
		}
		must(accel_fd_to_handle(importer, many[i].fd, &bos[i]));
		close(many[i].fd);
		many[i].fd = -1;
	}
	return accel_now() - start;
}

static void expect_some(struct shared *many, const uint32_t *bos, unsigned int count)
{
	uint64_t value, va;

	for (unsigned int i = 0; i < count; i += count / 64 + 1) {
		va = accel_bind(importer, bos[i], PAGE);
		must(accel_load(importer, va, &value, sizeof(value)));
		if (value != many[i].number)
			complain("grants: import %u reads %" PRIx64, i, value);
		accel_unbind(importer, va, PAGE);
	}
}

static void many_grants(unsigned int count)
{
	struct shared *many = calloc(count + 1, sizeof(*many));
	uint32_t *bos = calloc(count, sizeof(*bos));
	unsigned int others;
	int pipes[2], status;
	double took;
	pid_t child;

	if (!many || !bos || pipe(pipes))
		die("out of memory");
	begin(0, MIB(16) + (uint64_t)count * (PAGE + PAGE / 64) / MIB(1) * MIB(1), false);
	for (unsigned int i = 0; i <= count; i++) {
		fill(&many[i], exporter, PAGE);
		must(share(&many[i]));
	}
	child = fork();
	if (!child)
		import_all_the_time(&many[count], pipes[1]);
	close(pipes[1]);
	took = import_many(many, bos, count);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	others = count_bytes(pipes[0]);
	close(pipes[0]);
	if (!WIFSIGNALED(status) || !others)
		complain("grants: another peer did not get on, after %u imports", others);
	if (!in_time(info_of(exporter).grants == count))
		complain("grants: %" PRIu64 " are counted", (uint64_t)info_of(exporter).grants);
	expect_some(many, bos, count);
	printf("faults: limits_grants %u\n", count);
	printf("  %.0f us for an import, %u by another peer meanwhile\n", took / count * 1e6, others);
	/* All go at once, with the file. */
	accel_close(importer);
	if (!in_time(!info_of(exporter).grants))
		complain("grants: %" PRIu64 " are left", (uint64_t)info_of(exporter).grants);
	accel_open(importer);
	drop_all(many, count + 1);
	end("grants");
	free(many);
	free(bos);
}

/* ---------------------------------------------------------------------- faults */

/* Of a peer, as the exporter counts them */
static uint64_t faults_of(struct accel *peer)
{
	char path[64], line[512], want[16];
	struct stat st;
	uint64_t n = 0;
	FILE *file;
	char *at;

	must(fstat(exporter->fd, &st) ? errno : 0);
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/ualink/peers",
		 (unsigned int)(st.st_rdev & 0xff));
	snprintf(want, sizeof(want), "peer=%u ", peer->info.id);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, " faults=");
		if (at && !strncmp(line, want, strlen(want)))
			n = strtoull(at + strlen(" faults="), NULL, 10);
	}
	if (file)
		fclose(file);
	return n;
}

/* Faults that a file has, read or overwritten; all must be refused reads from @va on. */
static uint64_t read_faults(struct accel *accel, uint64_t va, uint64_t *lost)
{
	struct drm_vualink_fault faults[128];
	struct drm_vualink_get_faults arg = {
		.faults = {
			.ptr = (uintptr_t)faults, .count = 128, .stride = sizeof(faults[0]),
		},
	};

	must(accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_GET_FAULTS, &arg));
	for (unsigned int i = 0; i < arg.faults.count; i++)
		if (faults[i].va != va || faults[i].reason != DRM_VUALINK_FAULT_REFUSED)
			complain("faults: one is at %" PRIx64 ", for reason %u",
				 (uint64_t)faults[i].va, faults[i].reason);
	*lost = arg.lost;
	return arg.faults.count;
}

static int open_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		die_errno("/dev/kmsg", errno);
	return fd;
}

/* Half of a handle, as somebody who prints it would */
static bool shows_half(const char *line, const uint8_t *half)
{
	char text[2][17];
	uint64_t value;

	memcpy(&value, half, sizeof(value));
	snprintf(text[0], sizeof(text[0]), "%" PRIx64, value);
	for (unsigned int i = 0; i < 8; i++)
		sprintf(text[1] + 2 * i, "%02x", half[i]);
	return strstr(line, text[0]) || strstr(line, text[1]);
}

/* Lines of the log about who was refused; none shows a handle, or an address. */
static unsigned int read_log(int log, const uint8_t *handle)
{
	char line[1024], who[64];
	unsigned int n = 0;
	ssize_t got;

	snprintf(who, sizeof(who), "accelerator %u was refused", importer->info.id);
	while ((got = read(log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		if (got <= 0)
			continue;
		line[got] = '\0';
		if (!strstr(line, "ualink"))
			continue;
		n += !!strstr(line, who);
		if (shows_half(line, handle) || shows_half(line, handle + 8) ||
		    strstr(line, "0x") || strstr(line, "npa"))
			complain("faults: the log says too much: %.120s", line);
	}
	return n;
}

static void provoke(uint64_t va, unsigned int count)
{
	uint64_t value;
	int ret;

	for (unsigned int i = 0; i < count; i++) {
		ret = accel_load(importer, va, &value, sizeof(value));
		if (ret != EFAULT)
			complain("faults: a revoked import is read: %s, %" PRIx64, strerror(ret),
				 value);
	}
}

static void expect_counted(uint64_t device, uint64_t hardware)
{
	device = accel_counter(exporter, "ualink/counters", "faults") - device;
	hardware = accel_counter(exporter, "hw/hw_stats", "npa_refused") - hardware;
	if (device != FAULTS || hardware != FAULTS || faults_of(importer) != FAULTS)
		complain("faults: %" PRIu64 " by the hardware, %" PRIu64 " counted, %" PRIu64
			 " for the peer", hardware, device, faults_of(importer));
	if (faults_of(other) || accel_counter(importer, "ualink/counters", "faults"))
		complain("faults: counted for others");
}

static void expect_reported(struct accel *bystander, uint64_t va)
{
	uint64_t lost, n = read_faults(importer, va, &lost);

	if (n + lost != FAULTS || n > 128)
		complain("faults: the file has %" PRIu64 " and lost %" PRIu64, n, lost);
	n = read_faults(bystander, va, &lost) + lost;
	n += read_faults(exporter, va, &lost) + lost;
	n += read_faults(other, va, &lost) + lost;
	if (n)
		complain("faults: others have %" PRIu64, n);
}

/* A peer that hears of nothing goes on reading what was revoked. */
static void remote_faults(void)
{
	struct shared shared, kept;
	struct accel bystander;
	uint64_t value, va, device, hardware;
	unsigned int lines;
	double start;
	uint32_t bo;
	int log;

	begin(SEGMENT_SHIFT, MIB(16), false);
	tune(exporter, "revoke_deadline_ms", 1);
	tune(exporter, "peer_timeout_ms", 3600 * 1000);
	tune(importer, "peer_timeout_ms", 3600 * 1000);
	bystander = *importer;
	accel_open(&bystander);
	fill(&shared, exporter, PAGE);
	fill(&kept, exporter, PAGE);
	must(share(&shared));
	must(share(&kept));
	expect_content("faults", &shared, other);
	must(import(&shared, importer));
	must(accel_fd_to_handle(importer, shared.fd, &bo));
	va = accel_bind(importer, bo, PAGE);
	must(accel_load(importer, va, &value, sizeof(value)));
	must(import(&kept, other));
	device = accel_counter(exporter, "ualink/counters", "faults");
	hardware = accel_counter(exporter, "hw/hw_stats", "npa_refused");
	log = open_log();

	deafen(importer);
	must(accel_revoke(exporter, shared.bo));
	start = accel_now();
	provoke(va, FAULTS);
	start = accel_now() - start;
	expect_counted(device, hardware);
	expect_reported(&bystander, va);
	/* One line in five seconds at most, and two that are about to come */
	lines = read_log(log, shared.handle);
	if (!lines || lines > start / 5 + 2)
		complain("faults: %u lines in the log in %.1f s", lines, start);
	expect_content("faults", &kept, other);
	accel_pod_knob(POD, "drop", "off");
	printf("faults: limits_faults %u\n", FAULTS);
	printf("faults: limits_fault_lines %u\n", lines);

	close(log);
	accel_gem_close(importer, bo);
	accel_unbind(importer, va, PAGE);
	drop(&shared);
	drop(&kept);
	accel_close(&bystander);
	end("faults");
}

int main(int argc, char **argv)
{
	unsigned int grants = argc > 1 ? atoi(argv[1]) : 100000;
	unsigned int steps = argc > 2 ? atoi(argv[2]) : 100000;

	setlinebuf(stdout);
	npa_full();
	vram_full();
	caps();
	quarantine_full();
	files_full();
	dmem();
	remote_faults();
	random_walk(steps);
	many_grants(grants);
	printf("faults: limits_failed %u\n", failures);
	return failures != 0;
}
