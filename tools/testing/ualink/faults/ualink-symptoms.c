// SPDX-License-Identifier: MIT
/*
 * ualink-symptoms: does Documentation/gpu/ualink/troubleshooting.rst tell the truth?
 * Brings about what each of its sections is about, with the knobs of vualink, and looks
 * where the section says for what it says. Uses the first three accelerators of the
 * first pod: one exports, one imports, one has nothing to do with it.
 *
 * Prints "symptom: NAME" for each, "fail: ..." for what is not as it is written, and
 * exits with 1 if there was any.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "accel.h"

#define SIZE		KIB(64)
#define TRACING		"/sys/kernel/tracing/"
#define LONG_MS		3600000
#define SHORT_MS	400

static struct accel *exporter, *importer;
static const char *symptom;
static unsigned int failures;

static void begin(const char *name)
{
	symptom = name;
	printf("symptom: %s\n", name);
	fflush(stdout);
}

static void expect(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void expect(bool good, const char *format, ...)
{
	char text[256];
	va_list args;

	if (good)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("fail: %s: %s\n", symptom, text);
	fflush(stdout);
	failures++;
}

/* ------------------------------------------------------------------ files */

static void path_of(struct accel *accel, const char *format, const char *name, char *path,
		    size_t size)
{
	struct stat st;

	must(stat(accel->path, &st) ? errno : 0);
	snprintf(path, size, format, minor(st.st_rdev), name);
}

/* Whether @path has a line with all of @words, which blanks separate. */
static bool has_line(const char *path, const char *words)
{
	char line[1024], copy[256], *word, *rest;
	FILE *file = fopen(path, "r");
	bool all = false;

	while (file && !all && fgets(line, sizeof(line), file)) {
		snprintf(copy, sizeof(copy), "%s", words);
		all = true;
		for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
			all = all && strstr(line, word);
	}
	if (file)
		fclose(file);
	return all;
}

static void expect_debugfs(struct accel *accel, const char *name, const char *words)
{
	char path[128];

	path_of(accel, "/sys/kernel/debug/dri/%u/ualink/%s", name, path, sizeof(path));
	expect(in_time(has_line(path, words)), "no line with \"%s\" in %s of %u", words, name,
	       accel->info.id);
}

static void expect_state(struct accel *accel, const char *state)
{
	char path[128];

	path_of(accel, "/sys/dev/char/226:%u/device/ualink/%s", "state", path, sizeof(path));
	expect(in_time(has_line(path, state)), "state of %u is not %s", accel->info.id, state);
}

static void expect_fdinfo(struct accel *accel, const char *words)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", accel->fd);
	expect(has_line(path, words), "no \"%s\" in fdinfo", words);
}

static void expect_trace(const char *words)
{
	expect(in_time(has_line(TRACING "trace", words)), "no line with \"%s\" in the trace",
	       words);
}

static void expect_log(const char *text)
{
	static char log[1 << 20];
	int n = klogctl(3, log, sizeof(log) - 1);

	log[n > 0 ? n : 0] = 0;
	expect(strstr(log, text), "no \"%s\" in the log", text);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		die_errno(path, errno);
}

static uint64_t counter(struct accel *accel, const char *key)
{
	return accel_counter(accel, "ualink/counters", key);
}

static void expect_counted(struct accel *accel, const char *key, uint64_t before)
{
	expect(in_time(counter(accel, key) > before), "%s of %u does not count", key,
	       accel->info.id);
}

static void tune(struct accel *accel, const char *name, uint64_t value)
{
	must(accel_tunable_write(accel, name, value));
}

static char *peer_line(struct accel *accel, const char *words)
{
	static char text[128];

	snprintf(text, sizeof(text), "peer=%u %s", accel->info.id, words);
	return text;
}

/* --------------------------------------------------------------- sharing */

struct shared {
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo, import;
	uint64_t va;
};

static void share(struct shared *s)
{
	int fd;

	s->bo = accel_bo(exporter, SIZE, 0);
	must(accel_export(exporter, s->bo, s->handle));
	must(accel_import(importer, s->handle, 0, &fd));
	must(accel_fd_to_handle(importer, fd, &s->import));
	close(fd);
	s->va = accel_bind(importer, s->import, SIZE);
}

static void drop(struct shared *s)
{
	accel_unbind(importer, s->va, SIZE);
	accel_gem_close(importer, s->import);
	accel_gem_close(exporter, s->bo);
}

static int import_only(const uint8_t *handle)
{
	int fd, ret = accel_import(importer, handle, 0, &fd);

	if (!ret)
		close(fd);
	return ret;
}

static void mute(struct accel *accel, bool on)
{
	accel_mute(DEFAULT_POD, accel, on);
}

/* All as before: no fault, no session with trouble, nothing shared. */
static void recover(void)
{
	static const char * const rules[] = { "drop", "corrupt", "delay", "flush_fail",
					      "flush_delay", "access_delay" };
	struct drm_ualink_event event;
	struct pollfd poll_fd = { .fd = importer->fd, .events = POLLIN };
	struct drm_ualink_device_info info;

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		accel_knob(rules[i], "off");
	mute(exporter, false);
	mute(importer, false);
	must(accel_debugfs_write(exporter, "reset", "1"));
	must(accel_debugfs_write(importer, "reset", "1"));
	expect(in_time(accel_idle(exporter, &info) && accel_idle(importer, &info)),
	       "something of it stays");
	while (poll(&poll_fd, 1, 0) == 1 && read(importer->fd, &event, sizeof(event)) > 0)
		;
	write_file(TRACING "trace", "");
}

/* -------------------------------------------------------------- symptoms */

static void import_times_out(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);
	uint64_t abandoned, retries;

	begin("IMPORT fails with ETIMEDOUT");
	must(accel_export(exporter, bo, handle));
	tune(importer, "request_ms", SHORT_MS);

	/* no session yet */
	abandoned = counter(importer, "imports_abandoned");
	mute(exporter, true);
	expect(import_only(handle) == ETIMEDOUT, "not ETIMEDOUT");
	expect_trace("ualink_timeout what=import");
	expect_trace("ualink_timeout what=greeting");
	expect_trace("ualink_msg_tx type=HELLO");
	expect(counter(importer, "sent_HELLO") > 1, "HELLO is not repeated");
	mute(exporter, false);
	must(accel_debugfs_write(importer, "reset", "1"));

	/* a session, and no answer */
	must(import_only(handle));
	must(accel_debugfs_write(importer, "ualink/drop_idle", "1"));
	expect_debugfs(exporter, "exports", "importers=0");
	retries = counter(importer, "retries");
	abandoned = counter(importer, "imports_abandoned");
	accel_knob("drop", "type=16");
	expect(import_only(handle) == ETIMEDOUT, "not ETIMEDOUT with a session");
	expect_counted(importer, "retries", retries);
	expect_counted(importer, "imports_abandoned", abandoned);
	expect_debugfs(importer, "peers", peer_line(exporter, "sessions=1"));

	tune(importer, "request_ms", 5000);
	accel_gem_close(exporter, bo);
	recover();
}

static void import_finds_nobody(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);
	char link[32];
	int ret;

	begin("IMPORT fails with ENODEV");
	must(accel_export(exporter, bo, handle));
	must(import_only(handle));
	snprintf(link, sizeof(link), "%u %u", exporter->info.id, importer->info.id);
	accel_knob("cut", link);
	expect_trace("ualink_peer_state new=DOWN reason=peer-lost");
	ret = import_only(handle);
	expect(ret == ENODEV, "%s when the link is cut", strerror(ret));
	expect_debugfs(importer, "peers", peer_line(exporter, "session_age_ms=0"));
	accel_knob("restore", link);

	/* the exporter sleeps */
	must(accel_debugfs_write(exporter, "suspend", "1"));
	expect(import_only(handle) == ENODEV, "not ENODEV from one that sleeps");
	expect_state(exporter, "inactive");
	must(accel_debugfs_write(exporter, "suspend", "0"));
	expect_state(exporter, "active");
	accel_gem_close(exporter, bo);
	recover();
}

static void import_refused(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);
	uint64_t local, peer;

	begin("IMPORT fails with EXDEV or ENOENT");
	must(accel_export(exporter, bo, handle));
	handle[0] ^= 0xff;
	local = counter(importer, "refused_local");
	expect(import_only(handle) == EXDEV, "not EXDEV");
	expect_counted(importer, "refused_local", local);
	handle[0] ^= 0xff;

	handle[15] ^= 1;
	local = counter(importer, "refused_local");
	peer = counter(exporter, "refused_peer");
	expect(import_only(handle) == ENOENT, "not ENOENT");
	expect_counted(importer, "refused_local", local);
	expect_counted(exporter, "refused_peer", peer);
	accel_gem_close(exporter, bo);
	recover();
}

static void device_unusable(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);
	uint64_t cap, local;

	begin("ENOTCONN, EDQUOT, ENOSPC");
	must(accel_export(exporter, bo, handle));
	must(accel_debugfs_write(importer, "suspend", "1"));
	expect(import_only(handle) == ENOTCONN, "not ENOTCONN");
	expect_state(importer, "inactive");
	must(accel_debugfs_write(importer, "suspend", "0"));
	must(accel_revoke(exporter, bo));

	must(accel_tunable_read(exporter, "max_export_bytes", &cap));
	tune(exporter, "max_export_bytes", SIZE - 1);
	local = counter(exporter, "refused_local");
	expect(accel_export(exporter, bo, handle) == EDQUOT, "not EDQUOT");
	expect_counted(exporter, "refused_local", local);
	tune(exporter, "max_export_bytes", cap);

	must(accel_export(exporter, bo, handle));
	expect_fdinfo(exporter, "drm-exported-ualink: 64");
	expect_debugfs(exporter, "npa", "used 65536");
	expect_debugfs(exporter, "npa", "largest_free");
	accel_gem_close(exporter, bo);
	recover();
}

static void quarantine(void)
{
	struct shared s;
	uint64_t timeouts = counter(exporter, "revoke_timeouts"), value;

	begin("Quarantine grows");
	tune(exporter, "revoke_deadline_ms", SHORT_MS);
	tune(exporter, "peer_timeout_ms", LONG_MS);
	tune(importer, "peer_timeout_ms", LONG_MS);
	share(&s);
	mute(importer, true);
	must(accel_revoke(exporter, s.bo));
	expect_debugfs(exporter, "npa", "quarantined 65536");
	expect_debugfs(exporter, "counters", "nr_quarantined 1");
	expect_debugfs(exporter, "exports", "state=QUARANTINED importers=1");
	expect_debugfs(exporter, "peers", peer_line(importer, "state=SUSPECT grants=1"));
	expect_counted(exporter, "revoke_timeouts", timeouts);
	expect_trace("ualink_timeout what=revoke");
	expect_trace("ualink_export_state new=QUARANTINED");

	/* The gate is open still, and the range is not mapped. */
	expect_debugfs(exporter, "peers", peer_line(importer, "gate=open"));
	mute(importer, false);
	expect_debugfs(exporter, "npa", "quarantined 0");
	expect_trace("ualink_export_state old=QUARANTINED new=DEAD");
	expect_debugfs(exporter, "peers", peer_line(importer, "state=UP"));
	expect(accel_load(importer, s.va, &value, sizeof(value)), "it can be read");
	drop(&s);
	tune(exporter, "revoke_deadline_ms", 2000);
	recover();
}

static void refused_accesses(void)
{
	struct shared s;
	uint64_t value, faults = counter(exporter, "faults");
	struct drm_vualink_fault fault;

	begin("Accesses are refused");
	tune(exporter, "revoke_deadline_ms", 1);
	share(&s);
	must(accel_load(importer, s.va, &value, sizeof(value)));
	while (!accel_fault(importer, &fault))
		;
	/* It does not hear of the revoke. */
	accel_knob("drop", "type=20");
	must(accel_revoke(exporter, s.bo));
	expect(accel_load(importer, s.va, &value, sizeof(value)) != 0, "it can be read");
	expect(!accel_fault(importer, &fault) && fault.reason == DRM_VUALINK_FAULT_REFUSED,
	       "no fault for the job");
	expect_counted(exporter, "faults", faults);
	expect_trace("ualink_fault peer=");
	expect_debugfs(exporter, "peers", peer_line(importer, "faults=1"));
	expect_log("was refused access");
	drop(&s);
	tune(exporter, "revoke_deadline_ms", 2000);
	recover();
}

static void slow_revoke(void)
{
	struct drm_vualink_cmd wait = {
		.op = DRM_VUALINK_OP_WAIT, .timeout_ms = 60000, .value = 1,
	};
	struct shared s;
	uint32_t syncobj;

	begin("REVOKE is slow");
	tune(exporter, "revoke_grace_ms", 3000);
	tune(exporter, "revoke_deadline_ms", 30000);
	tune(importer, "revoke_deadline_ms", 30000);
	share(&s);
	wait.dst = s.va;
	must(accel_submit(importer, &wait, 1, &syncobj));
	/* It ends with the object, so that nobody has to wait here. */
	accel_gem_close(exporter, s.bo);
	expect_debugfs(exporter, "exports", "state=REVOKING importers=1");
	expect_debugfs(exporter, "peers", peer_line(importer, "unanswered=1"));
	expect_debugfs(importer, "imports", "state=REVOKING");
	expect_trace("ualink_msg_tx type=REVOKE ");
	expect(accel_wait(importer, syncobj) != 0, "the job ended well");
	expect_trace("ualink_msg_rx type=REVOKE_ACK");
	expect_trace("ualink_export_state new=UNMAPPING");
	expect_trace("ualink_flush err=0");
	expect_trace("ualink_export_state new=DEAD");
	accel_unbind(importer, s.va, SIZE);
	accel_gem_close(importer, s.import);
	tune(exporter, "revoke_grace_ms", 1000);
	tune(exporter, "revoke_deadline_ms", 2000);
	tune(importer, "revoke_deadline_ms", 2000);
	recover();
}

static void silent_peer(void)
{
	struct shared s;
	uint64_t died = counter(importer, "imports_died");

	begin("A peer is SUSPECT, or goes DOWN");
	tune(importer, "heartbeat_ms", 100);
	tune(importer, "peer_timeout_ms", LONG_MS);
	share(&s);
	expect_debugfs(importer, "peers", peer_line(exporter, "state=UP gate=open imports=1"));
	mute(exporter, true);
	expect_debugfs(importer, "peers", peer_line(exporter, "state=SUSPECT imports=1"));
	expect_trace("ualink_timeout what=answer");
	tune(importer, "peer_timeout_ms", SHORT_MS);
	expect_debugfs(importer, "peers", peer_line(exporter, "state=DOWN imports=0"));
	expect_trace("ualink_timeout what=peer");
	expect_trace("ualink_peer_state new=DOWN reason=peer-lost");
	expect_trace("ualink_import_state new=REVOKING reason=peer-lost");
	expect_counted(importer, "imports_died", died);
	expect(in_time(!counter(importer, "nr_import_records")), "the record stays");
	expect_fdinfo(importer, "drm-ualink-imports: 0");
	expect_fdinfo(importer, "drm-ualink-deaths:");
	tune(importer, "heartbeat_ms", 500);
	tune(importer, "peer_timeout_ms", 5000);
	drop(&s);
	recover();
}

static void incompatible_peer(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);
	char rule[64];

	begin("A peer is INCOMPATIBLE");
	must(accel_export(exporter, bo, handle));
	/* Another vPod, by the bytes of the HELLO */
	snprintf(rule, sizeof(rule), "type=1 src=%u byte=40", importer->info.id);
	accel_knob("corrupt", rule);
	expect(import_only(handle) == ENODEV, "not ENODEV");
	expect_debugfs(importer, "peers", peer_line(exporter, "state=INCOMPATIBLE"));
	expect_trace("ualink_msg_rx type=HELLO_NAK");
	accel_gem_close(exporter, bo);
	recover();
}

static void malformed(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);
	uint64_t bad;

	begin("Messages are malformed or lost");
	must(accel_export(exporter, bo, handle));
	must(import_only(handle));
	must(accel_debugfs_write(importer, "ualink/drop_idle", "1"));
	expect_debugfs(exporter, "exports", "importers=0");
	bad = counter(exporter, "bad_msgs");
	accel_knob("corrupt", "type=16 byte=63 count=1");
	/* It is asked again. */
	must(import_only(handle));
	expect_counted(exporter, "bad_msgs", bad);
	expect_trace("ualink_msg_bad error=");
	expect(counter(importer, "retries"), "not asked again");
	expect_debugfs(exporter, "peers", peer_line(importer, "bad_msgs=1"));
	accel_gem_close(exporter, bo);
	recover();
}

static void wedged(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0), other = accel_bo(exporter, SIZE, 0);
	uint64_t failed;
	char rule[64];

	begin("EBUSY, EIO: the device is wedged");
	must(accel_export(exporter, bo, handle));
	failed = counter(exporter, "flushes_failed");
	snprintf(rule, sizeof(rule), "kind=npa id=%u", exporter->info.id);
	accel_knob("flush_fail", rule);
	expect(accel_revoke(exporter, bo) == EIO, "REVOKE does not say EIO");
	accel_knob("flush_fail", "off");
	expect_state(exporter, "wedged");
	expect_counted(exporter, "flushes_failed", failed);
	expect_trace("ualink_flush err=-5");
	expect_debugfs(exporter, "exports", "state=WEDGED");
	expect_log("a reset is needed");
	expect(accel_export(exporter, other, handle) == EBUSY, "EXPORT does not say EBUSY");
	must(accel_debugfs_write(exporter, "reset", "1"));
	expect_state(exporter, "active");
	expect_trace("ualink_export_state old=WEDGED new=DEAD");
	must(accel_export(exporter, other, handle));
	accel_gem_close(exporter, bo);
	accel_gem_close(exporter, other);
	recover();
}

static void lost_event(void)
{
	struct drm_ualink_event event = {};
	struct pollfd poll_fd = { .fd = importer->fd, .events = POLLIN };
	struct shared s[2];

	begin("An event seems to be missing");
	share(&s[0]);
	share(&s[1]);
	must(accel_revoke(exporter, s[0].bo));
	expect(poll(&poll_fd, 1, PATIENCE_MS) == 1, "no event");
	must(accel_revoke(exporter, s[1].bo));
	expect(in_time(!counter(importer, "nr_import_records")), "the records stay");
	expect(read(importer->fd, &event, sizeof(event)) == sizeof(event), "no event");
	expect(poll(&poll_fd, 1, 0) == 0, "more than one event");
	drop(&s[0]);
	drop(&s[1]);
	recover();
}

static void idle_imports(void)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint32_t bo = accel_bo(exporter, SIZE, 0);

	begin("An import stays that nobody uses");
	tune(importer, "cache_ms", LONG_MS);
	must(accel_export(exporter, bo, handle));
	must(import_only(handle));
	expect_debugfs(importer, "imports", "state=IDLE users=0");
	expect_debugfs(importer, "counters", "nr_idle_imports 1");
	must(import_only(handle));
	expect(counter(importer, "imports_reused"), "it was not used again");
	/* The dma-buf goes when its file does, which is a little later. */
	expect_debugfs(importer, "imports", "state=IDLE users=0");
	must(accel_debugfs_write(importer, "ualink/drop_idle", "1"));
	expect_debugfs(importer, "counters", "nr_import_records 0");
	expect_debugfs(exporter, "exports", "importers=0");
	tune(importer, "cache_ms", 2000);
	accel_gem_close(exporter, bo);
	recover();
}

static void stale_uses(void)
{
	struct shared s;
	uint64_t value, never = accel_stale(importer);
	uint64_t before = accel_counter(importer, "hw/hw_stats", "stale");
	char rule[64];

	begin("Stale uses");
	share(&s);
	must(accel_load(importer, s.va, &value, sizeof(value)));
	/* The entry is gone from the tables, and stays in the TLB until the flush. */
	snprintf(rule, sizeof(rule), "kind=vm id=%u ms=1000", importer->info.id);
	accel_knob("flush_delay", rule);
	accel_gem_close(exporter, s.bo);
	while (!accel_load(importer, s.va, &value, sizeof(value)))
		;
	expect(accel_counter(importer, "hw/hw_stats", "stale") > before, "stale does not count");
	expect(accel_stale(importer) == never, "a TLB entry was used after its flush");
	accel_unbind(importer, s.va, SIZE);
	accel_gem_close(importer, s.import);
	recover();
}

int main(void)
{
	unsigned int count;
	struct accel *accels = accel_scan(&count);

	if (count < 3)
		die("this needs three accelerators");
	exporter = &accels[0];
	importer = &accels[1];
	accel_open(exporter);
	accel_open(importer);
	accel_open(&accels[2]);
	write_file(TRACING "events/ualink/enable", "1");
	write_file(TRACING "tracing_on", "1");

	import_times_out();
	import_finds_nobody();
	import_refused();
	device_unusable();
	quarantine();
	refused_accesses();
	slow_revoke();
	silent_peer();
	incompatible_peer();
	malformed();
	wedged();
	lost_event();
	idle_imports();
	stale_uses();

	/* What had no part in it */
	expect(!counter(&accels[2], "nr_import_records") && !accel_stale(&accels[2]),
	       "the third accelerator has something");
	printf("%u failures\n", failures);
	return failures != 0;
}
