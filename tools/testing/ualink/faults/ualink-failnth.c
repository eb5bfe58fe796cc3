// SPDX-License-Identifier: MIT
/*
 * ualink-failnth: every operation with every one of its allocations, and copies from
 * and to the user, failing once (/proc/self/fail-nth), then with those failing that
 * are made by the kernel's workers for it. Each operation either does what it
 * should, content included, or says so with an errno that it may have, and has then
 * done nothing; in the end nothing is left. And a revoke needs no memory at all.
 *
 * Needs CONFIG_FAULT_INJECTION with FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY
 * and FAULT_INJECTION_DEBUG_FS, three accelerators of a pod, and nobody else using
 * them. Prints "faults: KEY VALUE" and "fail: ..." for what is wrong.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "accel.h"

#define SIZE		KIB(64)
#define MAX_POINTS	2000
#define CONFIGFS	"/sys/kernel/config/vualink/failnth"
#define FAULTS		"/sys/kernel/debug/%s/%s"

/* What the operations are done with. */
static struct accel *accels, *exporter, *importer, *sibling;
static uint32_t bo, import_bo;
static uint8_t handle[DRM_UALINK_HANDLE_SIZE];
static int fd = -1, other_fd = -1;
static uint64_t va;
static uint64_t stamp;

static int fail_nth, fail_self;
static unsigned int failures;

static void complain(const char *op, unsigned int n, const char *what, long value)
{
	printf("fail: %s, point %u: %s (%ld)\n", op, n, what, value);
	failures++;
}

/* -------------------------------------------------------------- injection */

static void write_text(const char *path, const char *text, bool needed)
{
	int file = open(path, O_WRONLY);

	if ((file < 0 || write(file, text, strlen(text)) < 0) && needed)
		die_errno(path, errno);
	if (file >= 0)
		close(file);
}

static void tune(const char *which, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), FAULTS, which, name);
	write_text(path, value, true);
}

static void inject(unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	/* The copy of the text itself may be what fails, once. */
	if (pwrite(fail_nth, text, strlen(text), 0) < 0 &&
	    pwrite(fail_nth, text, strlen(text), 0) < 0)
		die_errno("/proc/self/fail-nth", errno);
}

/* Ends the injection; whether something has failed. */
static bool injected(void)
{
	char text[16] = "";
	bool done;

	/* If it is this copy that fails, then nothing did before. */
	done = pread(fail_nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
	inject(0);
	return done;
}

/* ------------------------------------------------------------- operations */

static void make_bo(void)
{
	bo = accel_bo(exporter, SIZE, 0);
	va = accel_bind(exporter, bo, SIZE);
	stamp++;
	must(accel_store(exporter, va, &stamp, sizeof(stamp)));
	accel_unbind(exporter, va, SIZE);
}

static void drop_bo(void)
{
	accel_gem_close(exporter, bo);
}

static void make_export(void)
{
	make_bo();
	must(accel_export(exporter, bo, handle));
}

static void make_import(void)
{
	make_export();
	must(accel_import(importer, handle, 1, &fd));
}

static void drop_import(void)
{
	close(fd);
	drop_bo();
}

static void make_import_bo(void)
{
	make_import();
	must(accel_fd_to_handle(importer, fd, &import_bo));
}

static void drop_import_bo(void)
{
	accel_gem_close(importer, import_bo);
	drop_import();
}

/* What the importer sees is what the exporter has written. */
static int look(void)
{
	uint64_t seen = 0, at = accel_bind(importer, import_bo, SIZE);

	must(accel_load(importer, at, &seen, sizeof(seen)));
	accel_unbind(importer, at, SIZE);
	return seen == stamp ? 0 : EBADMSG;
}

static int see_fd(void)
{
	int ret;

	must(accel_fd_to_handle(importer, fd, &import_bo));
	ret = look();
	accel_gem_close(importer, import_bo);
	return ret;
}

static int see_import(void)
{
	int ret;

	must(accel_import(importer, handle, 1, &fd));
	ret = see_fd();
	close(fd);
	return ret;
}

static int do_open(void)
{
	other_fd = open(importer->path, O_RDWR | O_CLOEXEC);
	return other_fd < 0 ? errno : 0;
}

static void undo_open(void)
{
	close(other_fd);
}

static int do_bo(void)
{
	struct drm_vualink_bo_create arg = { .size = SIZE };
	int ret = accel_ioctl(exporter->fd, DRM_IOCTL_VUALINK_BO_CREATE, &arg);

	bo = arg.handle;
	return ret;
}

static int do_export(void)
{
	return accel_export(exporter, bo, handle);
}

static int do_export_allow(void)
{
	const uint32_t allow[] = { importer->info.id, sibling->info.id };
	struct drm_gem_ualink_export arg = {
		.gem_handle = bo,
		.allow_ptr = (uintptr_t)allow,
		.allow_count = sizeof(allow) / sizeof(allow[0]),
	};
	int ret;

	ret = accel_ioctl(exporter->fd, DRM_IOCTL_GEM_UALINK_EXPORT, &arg);
	memcpy(handle, arg.handle, sizeof(handle));
	return ret;
}

static int do_import(void)
{
	return accel_import(importer, handle, 1, &fd);
}

static void close_fd(void)
{
	close(fd);
}

static int do_reimport(void)
{
	return accel_import(importer, handle, 1, &other_fd);
}

static void close_other_fd(void)
{
	close(other_fd);
}

static int do_to_handle(void)
{
	return accel_fd_to_handle(importer, fd, &import_bo);
}

static void close_import_bo(void)
{
	accel_gem_close(importer, import_bo);
}

/* A dma-buf of the importer in the hands of another accelerator of the node. */
static void make_sibling(void)
{
	make_import();
	must(accel_import(sibling, handle, 1, &other_fd));
}

static void drop_sibling(void)
{
	close(other_fd);
	drop_import();
}

static int do_sibling(void)
{
	return accel_fd_to_handle(sibling, fd, &import_bo);
}

static void undo_sibling(void)
{
	accel_gem_close(sibling, import_bo);
}

static int do_vm(void)
{
	struct drm_vualink_vm_create arg = {};
	int ret = accel_ioctl(importer->fd, DRM_IOCTL_VUALINK_VM_CREATE, &arg);

	import_bo = arg.vm_id;
	return ret;
}

static void undo_vm(void)
{
	struct drm_vualink_vm_destroy arg = { .vm_id = import_bo };

	must(accel_ioctl(importer->fd, DRM_IOCTL_VUALINK_VM_DESTROY, &arg));
}

static int bind(uint32_t op, uint64_t at)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = importer->vm,
		.op = op,
		.handle = op == DRM_VUALINK_VM_BIND_MAP ? import_bo : 0,
		.va = at,
		.size = SIZE,
	};

	return accel_ioctl(importer->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg);
}

/* Where no page table has been yet. */
static int do_bind(void)
{
	importer->next_va += MIB(1024);
	va = importer->next_va;
	return bind(DRM_VUALINK_VM_BIND_MAP, va);
}

static void undo_bind(void)
{
	accel_unbind(importer, va, SIZE);
}

static void make_bound(void)
{
	make_import_bo();
	va = accel_bind(importer, import_bo, SIZE);
}

static int do_unbind(void)
{
	return bind(DRM_VUALINK_VM_BIND_UNMAP, va);
}

static int do_exec(void)
{
	const struct drm_vualink_cmd cmd = {
		.op = DRM_VUALINK_OP_COPY,
		.dst = importer->window_va,
		.src = va,
		.len = sizeof(stamp),
	};
	struct drm_vualink_exec arg = {
		.vm_id = importer->vm,
		.cmds = { .ptr = (uintptr_t)&cmd, .count = 1, .stride = sizeof(cmd) },
	};

	return accel_ioctl(importer->fd, DRM_IOCTL_VUALINK_EXEC, &arg);
}

static void drop_bound(void)
{
	accel_unbind(importer, va, SIZE);
	drop_import_bo();
}

static int query(uint32_t what)
{
	static char room[KIB(64)];
	struct drm_gem_ualink_query arg = {
		.kind = what,
		.data_ptr = (uintptr_t)room,
		.count = 16,
		.stride = 256,
	};

	return accel_ioctl(importer->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg);
}

static int do_query_device(void)
{
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_query arg = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)&info,
		.count = 1,
		.stride = sizeof(info),
	};

	return accel_ioctl(importer->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg);
}

static int do_query_imports(void)
{
	return query(DRM_UALINK_QUERY_IMPORTS);
}

static int do_query_peers(void)
{
	return query(DRM_UALINK_QUERY_PEERS);
}

static int do_revoke(void)
{
	return accel_revoke(exporter, bo);
}

static void make_reset(void)
{
	char path[64];
	struct stat st;

	must(fstat(sibling->fd, &st) ? errno : 0);
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/reset", minor(st.st_rdev));
	other_fd = open(path, O_WRONLY);
	if (other_fd < 0)
		die_errno(path, errno);
}

static int do_reset(void)
{
	return write(other_fd, "1", 1) == 1 ? 0 : errno;
}

/* An accelerator more, from nothing to active. */
static void make_config(void)
{
	must(mkdir(CONFIGFS, 0700) ? errno : 0);
	must(mkdir(CONFIGFS "/accels/0", 0700) ? errno : 0);
	write_text(CONFIGFS "/accels/0/id", "0", true);
	write_text(CONFIGFS "/accels/0/vram_size", "4194304", true);
	write_text(CONFIGFS "/accels/0/visible_size", "1048576", true);
}

static int write_enabled(const char *value)
{
	int file = open(CONFIGFS "/enabled", O_WRONLY), ret = 0;

	if (file < 0)
		return errno;
	if (write(file, value, strlen(value)) < 0)
		ret = errno;
	close(file);
	return ret;
}

static int do_enable(void)
{
	return write_enabled("1");
}

static void undo_enable(void)
{
	must(write_enabled("0"));
}

static void drop_config(void)
{
	must(rmdir(CONFIGFS "/accels/0") ? errno : 0);
	must(rmdir(CONFIGFS) ? errno : 0);
}

static void nothing(void)
{
}

/* Prepared and undone without injection; @see: it has worked, or still does afterwards. */
static const struct op {
	const char *name;
	void (*prepare)(void);
	int (*run)(void);
	void (*undo)(void);
	int (*see)(void);
	void (*cleanup)(void);
	/* allowed besides ENOMEM and EFAULT */
	int error;
} ops[] = {
	{ "open", nothing, do_open, undo_open, NULL, nothing, ENODEV },
	{ "create object", nothing, do_bo, drop_bo, NULL, nothing, ENOSPC },
	{ "export", make_bo, do_export, nothing, see_import, drop_bo, ENOSPC },
	{ "export again", make_export, do_export, nothing, see_import, drop_bo, 0 },
	{ "export for some", make_bo, do_export_allow, nothing, see_import, drop_bo, ENOSPC },
	{ "import", make_export, do_import, close_fd, see_fd, drop_bo, 0 },
	{ "import again", make_import, do_reimport, close_other_fd, see_fd, drop_import, 0 },
	{ "dma-buf to object", make_import, do_to_handle, close_import_bo, look, drop_import, 0 },
	{ "dma-buf of a sibling", make_sibling, do_sibling, undo_sibling, NULL, drop_sibling, 0 },
	{ "create VM", nothing, do_vm, undo_vm, NULL, nothing, ENOSPC },
	{ "map", make_import_bo, do_bind, undo_bind, look, drop_import_bo, ENOSPC },
	{ "unmap", make_bound, do_unbind, nothing, look, drop_import_bo, 0 },
	{ "exec", make_bound, do_exec, nothing, look, drop_bound, 0 },
	{ "query device", nothing, do_query_device, nothing, NULL, nothing, 0 },
	{ "query imports", make_import, do_query_imports, nothing, see_fd, drop_import, 0 },
	{ "query peers", make_import, do_query_peers, nothing, see_fd, drop_import, 0 },
	{ "revoke", make_import_bo, do_revoke, nothing, NULL, drop_import_bo, 0 },
	{ "reset", make_reset, do_reset, nothing, NULL, close_other_fd, EIO },
	{ "enable a pod", make_config, do_enable, undo_enable, NULL, drop_config, ENODEV },
};

/* ---------------------------------------------------------------- balance */

static void expect_idle(const char *op)
{
	struct drm_ualink_device_info info;
	struct accel *all[] = { exporter, importer, sibling };

	for (unsigned int i = 0; i < 3; i++) {
		for (int tries = 0; tries < 500 && !accel_idle(all[i], &info); tries++)
			usleep(10000);
		if (!accel_idle(all[i], &info))
			complain(op, i, "something is left, exports and imports",
				 info.exports * 1000 + info.imports);
		if (accel_stale(all[i]))
			complain(op, i, "an outdated TLB entry was used", 0);
	}
}

/* ----------------------------------------------------------------- sweeps */

static void judge(const struct op *op, unsigned int n, int ret)
{
	int seen;

	if (ret && ret != ENOMEM && ret != EFAULT && ret != op->error)
		complain(op->name, n, "errno", ret);
	if (op->see && !ret) {
		seen = op->see();
		if (seen)
			complain(op->name, n, "it does not see what it should", seen);
	}
}

/* Once for each failure point; their number. */
static unsigned int sweep(const struct op *op)
{
	unsigned int n;
	bool hit = true;
	int ret;

	for (n = 1; n < MAX_POINTS && hit; n++) {
		op->prepare();
		inject(n);
		ret = op->run();
		hit = injected();
		if (!hit && ret)
			complain(op->name, n, "it fails without a reason", ret);
		judge(op, n, ret);
		/* What has failed can be done now. */
		if (ret)
			must(op->run());
		op->undo();
		op->cleanup();
	}
	if (n == MAX_POINTS)
		complain(op->name, n, "too many failure points", 0);
	expect_idle(op->name);
	return n - 2;
}

/* What the kernel's own workers allocate fails with a probability. */
static void fail_workers(const char *percent)
{
	char path[64], comm[32];
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	FILE *file;

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file) && !strncmp(comm, "kworker", 7)) {
			snprintf(path, sizeof(path), "/proc/%.20s/make-it-fail", entry->d_name);
			write_text(path, atoi(percent) ? "1" : "0", false);
		}
		fclose(file);
	}
	if (dir)
		closedir(dir);
	tune("failslab", "probability", percent);
}

static void without_workers(void)
{
	unsigned int good = 0, bad = 0;

	fail_workers("30");
	for (unsigned int i = 0; i < 200; i++) {
		int ret;

		make_export();
		ret = accel_import(importer, handle, 1, &fd);
		if (!ret) {
			good++;
			ret = see_fd();
			if (ret)
				complain("workers", i, "content", ret);
			ret = accel_revoke(exporter, bo);
			if (ret)
				complain("workers", i, "revoke", ret);
			close(fd);
		} else {
			bad++;
			if (ret != ENOMEM && ret != ETIMEDOUT)
				complain("workers", i, "import", ret);
		}
		drop_bo();
	}
	fail_workers("0");
	expect_idle("workers");
	printf("faults: workers_imports_failed %u\n", bad);
	if (!good || !bad)
		complain("workers", good, "some imports should fail, and some not", bad);
}

/* Neither the caller nor any worker gets memory, and the revoke completes all the same. */
static void revoke_without_memory(void)
{
	uint64_t value = 0, at;
	double start, took = 0;
	int ret;

	for (unsigned int i = 0; i < 20; i++) {
		make_import_bo();
		at = accel_bind(importer, import_bo, SIZE);
		must(accel_load(importer, at, &value, sizeof(value)));
		if (value != stamp)
			complain("revoke", i, "content", (long)value);
		fail_workers("100");
		must(pwrite(fail_self, "1", 1, 0) == 1 ? 0 : errno);
		start = accel_now();
		ret = accel_revoke(exporter, bo);
		start = (accel_now() - start) * 1e3;
		must(pwrite(fail_self, "0", 1, 0) == 1 ? 0 : errno);
		fail_workers("0");
		if (start > took)
			took = start;
		if (ret)
			complain("revoke without memory", i, "errno", ret);
		if (accel_load(importer, at, &value, sizeof(value)) != EFAULT)
			complain("revoke without memory", i, "the importer can still read", 0);
		accel_unbind(importer, at, SIZE);
		drop_import_bo();
	}
	expect_idle("revoke without memory");
	printf("faults: revoke_without_memory_ms %.1f\n", took);
}

int main(void)
{
	unsigned int count, points = 0, n;

	setlinebuf(stdout);
	accels = accel_scan(&count);
	if (count < 3)
		die("three accelerators are needed, there are %u", count);
	exporter = &accels[0];
	importer = &accels[1];
	sibling = &accels[2];
	for (unsigned int i = 0; i < 3; i++) {
		accel_open(&accels[i]);
		must(accel_tunable_write(&accels[i], "cache_ms", 0));
	}
	/* The sessions are there before anything fails. */
	make_sibling();
	drop_sibling();
	expect_idle("start");

	tune("failslab", "ignore-gfp-wait", "N");
	tune("failslab", "task-filter", "Y");
	tune("failslab", "times", "-1");
	tune("failslab", "verbose", "0");
	tune("fail_page_alloc", "ignore-gfp-wait", "N");
	tune("fail_page_alloc", "verbose", "0");
	fail_nth = open("/proc/self/fail-nth", O_RDWR);
	fail_self = open("/proc/self/make-it-fail", O_RDWR);
	if (fail_nth < 0 || fail_self < 0)
		die_errno("/proc/self/fail-nth", errno);

	for (unsigned int i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		n = sweep(&ops[i]);
		printf("  %-24s %u failure points\n", ops[i].name, n);
		points += n;
	}
	printf("faults: failure_points %u\n", points);
	without_workers();
	revoke_without_memory();
	printf("faults: failures %u\n", failures);
	return failures != 0;
}
