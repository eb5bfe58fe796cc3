// SPDX-License-Identifier: MIT
/*
 * ualink-bench: what the ioctls of UALink memory sharing cost, as lines
 * "bench: KEY VALUE". Ratios are of times that were taken in turns on the same
 * kernel, and the median of RUNS of them. It makes a pod of its own, in which
 * accelerator 0 exports and up to 64 others import.
 *
 * reexport_vs_prime
 *	EXPORT of an object that is exported, against PRIME_HANDLE_TO_FD of an
 *	ordinary object that has a dma-buf. Both name an object for others. The
 *	close() that only the file descriptor of PRIME needs is not counted.
 * reimport_vs_prime
 *	From the name of an object that is known here to its GEM handle: IMPORT,
 *	PRIME_FD_TO_HANDLE and close(), against PRIME_HANDLE_TO_FD,
 *	PRIME_FD_TO_HANDLE and close() for an ordinary object. In both cases a
 *	file descriptor is made and used up. The pairs of single ioctls are there
 *	too: reimport_vs_fd_to_handle (which makes none) and
 *	reimport_vs_handle_to_fd (which does).
 * cold_import_messages
 *	Messages sent and received by the importer for its first import.
 * export_100k_vs_1k
 *	One EXPORT among 100 000 live ones against one among 1 000.
 * revoke_N_rtt
 *	REVOKE with N importers, which have the memory mapped, in round trips of
 *	a fabric that takes DELAY_MS for a message (a knob of the model); a round
 *	trip is what a first import takes longer than the next one. Without such
 *	a delay the CPU that plays all of the accelerators is what is measured:
 *	revoke_N_us.
 * import_p999_vs_median, export_p999_vs_median
 *	The slowest one in a thousand, of first imports and of exports, against
 *	the median. On a busy machine this is mostly the machine's.
 * bytes_per_export
 *	Growth of slab and vmalloc memory by 100 000 EXPORTs of objects that were
 *	there before.
 * bytes_per_grant
 *	Growth of the slab of grants, by 10 000 of them. Needs slab_nomerge. (The
 *	hash table that finds them, 8 to 16 bytes each, is in no slab.)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "pod.h"

#define RUNS		7
#define DELAY_MS	10
#define PAGE		KIB(4)
#define MANY		100000u
#define FEW		1000u
#define WINDOW		200u
#define GRANTS		10000u
#define MAX_IMPORTERS	64

#define POD		"bench"

static struct accel *accels;
static unsigned int importers;

/* ------------------------------------------------------------------ tools */

static void print(const char *key, double value)
{
	printf("bench: %s %.4g\n", key, value);
	fflush(stdout);
}

static double now(void)
{
	return accel_now() * 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @values. */
static double quantile(double *values, size_t n, double q)
{
	qsort(values, n, sizeof(*values), compare);
	return values[(size_t)(q * (n - 1))];
}

static double median(double *values, size_t n)
{
	return quantile(values, n, 0.5);
}

static void make_pod(void)
{
	unsigned int count;

	pod_make(POD, 0);
	pod_add(POD, 0, MIB(480));
	for (unsigned int id = 1; id <= MAX_IMPORTERS; id++)
		pod_add(POD, id, id == 1 ? MIB(16) : MIB(4));
	pod_enable(POD, true);
	accels = pod_scan(POD, &count);
	importers = MAX_IMPORTERS;
	if (count < importers + 1)
		die("%u accelerators of the pod are active", count);
	for (unsigned int i = 0; i <= importers; i++) {
		accel_open(&accels[i]);
		must(accel_tunable_write(&accels[i], "heartbeat_ms", 3600 * 1000));
		must(accel_tunable_write(&accels[i], "cache_ms", 0));
		must(accel_tunable_write(&accels[i], "max_export_bytes", UINT64_MAX));
	}
}

static uint64_t messages(struct accel *accel)
{
	struct drm_ualink_device_info info;

	accel_info(accel, &info);
	return info.msgs_sent + info.msgs_received;
}

/* Returns when accelerator 0 has no grants, or no exports, any more. */
static void settle(bool exports)
{
	struct drm_ualink_device_info info;

	do {
		usleep(1000);
		accel_info(&accels[0], &info);
	} while (info.grants || (exports && info.exports));
}

struct shared {
	uint32_t bo;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
};

static void share(struct shared *shared)
{
	shared->bo = accel_bo(&accels[0], PAGE, 0);
	must(accel_export(&accels[0], shared->bo, shared->handle));
}

static int import(struct accel *accel, const struct shared *shared)
{
	int fd;

	must(accel_import(accel, shared->handle, 0, &fd));
	return fd;
}

/* ------------------------------------------------- re-export and re-import */

#define OPS	400

static double time_export(const struct shared *shared)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	double start = now();

	for (int i = 0; i < OPS; i++)
		must(accel_export(&accels[0], shared->bo, handle));
	return now() - start;
}

static void close_all(const int *fds)
{
	for (int i = 0; i < OPS; i++)
		close(fds[i]);
}

static double time_handle_to_fd(struct accel *accel, uint32_t bo)
{
	int fds[OPS];
	double start = now(), end;

	for (int i = 0; i < OPS; i++)
		must(accel_handle_to_fd(accel, bo, &fds[i]));
	end = now();
	close_all(fds);
	return end - start;
}

static double time_import(struct accel *accel, const struct shared *shared)
{
	int fds[OPS];
	double start = now(), end;

	for (int i = 0; i < OPS; i++)
		must(accel_import(accel, shared->handle, 0, &fds[i]));
	end = now();
	close_all(fds);
	return end - start;
}

static double time_fd_to_handle(struct accel *accel, int fd)
{
	double start = now();
	uint32_t bo;

	for (int i = 0; i < OPS; i++)
		must(accel_fd_to_handle(accel, fd, &bo));
	return now() - start;
}

/* From a name to a GEM handle that is there already. */
static double time_import_path(struct accel *accel, const struct shared *shared)
{
	double start = now();
	uint32_t bo;
	int fd;

	for (int i = 0; i < OPS; i++) {
		must(accel_import(accel, shared->handle, 0, &fd));
		must(accel_fd_to_handle(accel, fd, &bo));
		close(fd);
	}
	return now() - start;
}

static double time_prime_path(struct accel *accel, uint32_t own)
{
	double start = now();
	uint32_t bo;
	int fd;

	for (int i = 0; i < OPS; i++) {
		must(accel_handle_to_fd(accel, own, &fd));
		must(accel_fd_to_handle(accel, fd, &bo));
		close(fd);
	}
	return now() - start;
}

static void bench_again(void)
{
	double export[RUNS], path[RUNS], to_handle[RUNS], to_fd[RUNS];
	struct accel *exporter = &accels[0], *importer = &accels[1];
	uint32_t plain = accel_bo(importer, PAGE, 0), far;
	struct shared shared;
	int plain_fd, fd;

	share(&shared);
	fd = import(importer, &shared);
	must(accel_fd_to_handle(importer, fd, &far));
	must(accel_handle_to_fd(importer, plain, &plain_fd));

	for (int i = -1; i < RUNS; i++) {
		/* the first run only warms up */
		int n = i < 0 ? 0 : i;
		uint32_t other = accel_bo(exporter, PAGE, 0);

		export[n] = time_export(&shared) /
			    time_handle_to_fd(exporter, other);
		to_fd[n] = time_import(importer, &shared) /
			   time_handle_to_fd(importer, plain);
		to_handle[n] = time_import(importer, &shared) /
			       time_fd_to_handle(importer, plain_fd);
		path[n] = time_import_path(importer, &shared) /
			  time_prime_path(importer, plain);
		accel_gem_close(exporter, other);
	}
	print("reexport_vs_prime", median(export, RUNS));
	print("reimport_vs_prime", median(path, RUNS));
	print("reimport_vs_handle_to_fd", median(to_fd, RUNS));
	print("reimport_vs_fd_to_handle", median(to_handle, RUNS));

	accel_gem_close(importer, far);
	accel_gem_close(importer, plain);
	close(fd);
	close(plain_fd);
	accel_gem_close(exporter, shared.bo);
	settle(true);
}

/* ------------------------------------------------------------ first import */

#define COLD	5000

static void bench_cold_import(void)
{
	static double cold[COLD], again[COLD], count[COLD], ratio[RUNS];
	struct accel *importer = &accels[1];
	struct shared shared;
	double start;

	share(&shared);
	for (int i = 0; i < COLD; i++) {
		uint64_t before = messages(importer);
		int fd, second;

		start = now();
		must(accel_import(importer, shared.handle, 0, &fd));
		cold[i] = now() - start;
		count[i] = messages(importer) - before;

		start = now();
		must(accel_import(importer, shared.handle, 0, &second));
		again[i] = now() - start;
		close(second);
		close(fd);
		/* the release and its acknowledgement are no part of the next one */
		settle(false);
	}

	for (int i = 0; i < RUNS; i++)
		ratio[i] = median(cold + COLD / RUNS * i, COLD / RUNS) /
			   median(again + COLD / RUNS * i, COLD / RUNS);
	print("cold_import_messages", quantile(count, COLD, 1.0));
	print("cold_vs_reimport", median(ratio, RUNS));
	print("cold_import_us", median(cold, COLD) / 1e3);
	print("import_p999_vs_median", quantile(cold, COLD, 0.999) /
	      median(cold, COLD));
	accel_gem_close(&accels[0], shared.bo);
	settle(true);
}

/* ------------------------------------------------------------ many exports */

/* Bytes of slab and vmalloc memory. */
static uint64_t kernel_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	uint64_t value, sum = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %" SCNu64, &value) == 1 ||
		    sscanf(line, "VmallocUsed: %" SCNu64, &value) == 1)
			sum += value << 10;
	if (file)
		fclose(file);
	return sum;
}

static double time_one_export(uint32_t bo)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	double start = now();

	must(accel_export(&accels[0], bo, handle));
	return now() - start;
}

/* Median time of an export beside those of the objects in @bos. */
static double time_window(const uint32_t *bos)
{
	double times[WINDOW];

	for (unsigned int i = 0; i < WINDOW; i++)
		times[i] = time_one_export(bos[i]);
	for (unsigned int i = 0; i < WINDOW; i++)
		must(accel_revoke(&accels[0], bos[i]));
	return median(times, WINDOW);
}

static void bench_many_exports(void)
{
	static uint32_t bos[MANY + WINDOW];
	static double times[MANY];
	double few[RUNS], many[RUNS], ratio[RUNS];
	uint64_t before;

	for (unsigned int i = 0; i < MANY + WINDOW; i++)
		bos[i] = accel_bo(&accels[0], PAGE, 0);

	before = kernel_memory();
	for (unsigned int i = 0; i < MANY; i++) {
		if (i == FEW)
			for (int k = 0; k < RUNS; k++)
				few[k] = time_window(bos + MANY);
		times[i] = time_one_export(bos[i]);
	}
	print("bytes_per_export", (double)(kernel_memory() - before) / MANY);
	for (int k = 0; k < RUNS; k++) {
		many[k] = time_window(bos + MANY);
		ratio[k] = many[k] / median(few, RUNS);
	}
	print("export_100k_vs_1k", median(ratio, RUNS));
	print("export_us", median(times, MANY) / 1e3);
	print("export_p999_vs_median",
	      quantile(times, MANY, 0.999) / median(times, MANY));

	for (unsigned int i = 0; i < MANY + WINDOW; i++)
		accel_gem_close(&accels[0], bos[i]);
	settle(true);
}

/* ------------------------------------------------------------------ grants */

/* Bytes in the slabs of a cache, or 0. */
static uint64_t slab_bytes(const char *cache)
{
	FILE *file = fopen("/proc/slabinfo", "r");
	unsigned int pages;
	uint64_t slabs, bytes = 0;
	char line[256], name[64];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %*u %*u %*u %*u %u : tunables %*u %*u %*u : slabdata %*u %"
			   SCNu64, name, &pages, &slabs) == 3 &&
		    !strcmp(name, cache))
			bytes = slabs * pages * PAGE;
	if (file)
		fclose(file);
	return bytes;
}

static void bench_grants(void)
{
	static struct shared shared[GRANTS];
	static uint32_t far[GRANTS];
	struct accel *importer = &accels[1];
	uint64_t before, after;
	int fd;

	for (unsigned int i = 0; i < GRANTS; i++)
		share(&shared[i]);
	before = slab_bytes("ualink_grant");
	for (unsigned int i = 0; i < GRANTS; i++) {
		fd = import(importer, &shared[i]);
		must(accel_fd_to_handle(importer, fd, &far[i]));
		close(fd);
	}
	after = slab_bytes("ualink_grant");
	if (after > before)
		print("bytes_per_grant", (double)(after - before) / GRANTS);
	else
		printf("# bytes_per_grant: no slab of its own, boot with slab_nomerge\n");

	for (unsigned int i = 0; i < GRANTS; i++) {
		accel_gem_close(importer, far[i]);
		accel_gem_close(&accels[0], shared[i].bo);
	}
	settle(true);
}

/* ------------------------------------------------------------------ revoke */

/* What a first import takes longer than the next one. */
static double round_trip(void)
{
	double times[RUNS], start;
	struct shared shared;
	int fd[2];

	share(&shared);
	for (int i = 0; i < RUNS; i++) {
		start = now();
		fd[0] = import(&accels[1], &shared);
		times[i] = now() - start;
		start = now();
		fd[1] = import(&accels[1], &shared);
		times[i] -= now() - start;
		close(fd[0]);
		close(fd[1]);
		settle(false);
	}
	accel_gem_close(&accels[0], shared.bo);
	settle(true);
	return median(times, RUNS);
}

/* Takes @messages of all importers, and returns the time. */
static double time_revoke(unsigned int n, double *per_importer)
{
	uint32_t far[MAX_IMPORTERS];
	uint64_t va[MAX_IMPORTERS], value, before;
	struct shared shared;
	double start, end;
	int fd;

	share(&shared);
	for (unsigned int i = 0; i < n; i++) {
		fd = import(&accels[1 + i], &shared);
		must(accel_fd_to_handle(&accels[1 + i], fd, &far[i]));
		close(fd);
		va[i] = accel_bind(&accels[1 + i], far[i], PAGE);
		must(accel_load(&accels[1 + i], va[i], &value, sizeof(value)));
	}
	before = messages(&accels[0]);
	start = now();
	must(accel_revoke(&accels[0], shared.bo));
	end = now();
	*per_importer = (double)(messages(&accels[0]) - before) / n;

	for (unsigned int i = 0; i < n; i++) {
		accel_unbind(&accels[1 + i], va[i], PAGE);
		accel_gem_close(&accels[1 + i], far[i]);
	}
	accel_gem_close(&accels[0], shared.bo);
	settle(true);
	return end - start;
}

static double median_revoke(unsigned int n, double *per_importer)
{
	double times[RUNS], counts[RUNS];

	for (int i = 0; i < RUNS; i++)
		times[i] = time_revoke(n, &counts[i]);
	*per_importer = quantile(counts, RUNS, 1.0);
	return median(times, RUNS);
}

static void bench_revoke(void)
{
	static const unsigned int numbers[] = { 1, 16, 64 };
	double rtt, per_importer, most = 0;
	char key[32], text[16];

	for (int i = 0; i < 3; i++) {
		/* the first ones make the sessions */
		median_revoke(numbers[i], &per_importer);
		snprintf(key, sizeof(key), "revoke_%u_us", numbers[i]);
		print(key, median_revoke(numbers[i], &per_importer) / 1e3);
	}

	snprintf(text, sizeof(text), "ms=%u\n", DELAY_MS);
	accel_pod_knob(POD, "delay", text);
	rtt = round_trip();
	print("round_trip_ms", rtt / 1e6);
	for (int i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "revoke_%u_rtt", numbers[i]);
		print(key, median_revoke(numbers[i], &per_importer) / rtt);
		if (per_importer > most)
			most = per_importer;
	}
	print("revoke_messages_per_importer", most);
	accel_pod_knob(POD, "delay", "off");
}

int main(void)
{
	struct rlimit limit = { 65536, 65536 };

	if (setrlimit(RLIMIT_NOFILE, &limit))
		die_errno("setrlimit", errno);
	make_pod();
	bench_again();
	bench_cold_import();
	bench_revoke();
	bench_grants();
	bench_many_exports();
	return 0;
}
