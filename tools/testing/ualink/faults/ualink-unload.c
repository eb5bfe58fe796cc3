// SPDX-License-Identifier: MIT
/*
 * ualink-unload: the modules of UALink memory sharing, with users and without. While
 * anything of a user is left, be it the last file, mapping or dma-buf, the driver stays,
 * and what was shared works; as soon as nothing is, all modules go, and nothing of them
 * stays. ROUNDS times.
 *
 * Runs in a folder with the modules, *.ko, in a kernel that has none of them built in.
 * Prints "faults: KEY VALUE" and "fail: ..." for what is wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "accel.h"

#define SIZE		KIB(64)
#define ROUNDS		12
#define MAX_MODULES	32
#define PARAMETERS	"pods=1 accels=3"

static char modules[MAX_MODULES][64];
static bool loaded[MAX_MODULES];
static unsigned int count, failures, refusals;

static void complain(const char *what, int error)
{
	printf("fail: %s: %s\n", what, strerror(error));
	failures++;
}

/* --------------------------------------------------------------------- modules */

static void find_modules(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;
	size_t len;

	while (dir && (entry = readdir(dir))) {
		len = strlen(entry->d_name);
		if (len > 3 && len < sizeof(modules[0]) && count < MAX_MODULES &&
		    !strcmp(entry->d_name + len - 3, ".ko"))
			memcpy(modules[count++], entry->d_name, len - 3);
	}
	if (dir)
		closedir(dir);
	if (!count)
		die("there are no modules");
}

static int load(const char *module)
{
	char path[80];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s.ko", module);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die_errno(path, errno);
	if (syscall(SYS_finit_module, fd, strcmp(module, "vualink") ? "" : PARAMETERS, 0))
		ret = errno;
	close(fd);
	return ret;
}

/* The kernel knows "a-b" by the name of "a_b". */
static int unload(const char *module)
{
	char name[64], *at = name;

	snprintf(name, sizeof(name), "%s", module);
	while ((at = strchr(at, '-')))
		*at = '_';
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* Again and again, as one needs what another one has. */
static void load_all(void)
{
	unsigned int left = count, before;

	do {
		before = left;
		for (unsigned int i = 0; i < count; i++)
			if (!loaded[i] && !load(modules[i])) {
				loaded[i] = true;
				left--;
			}
	} while (left && left < before);
	for (unsigned int i = 0; i < count; i++)
		if (!loaded[i])
			die_errno(modules[i], load(modules[i]));
}

static const char * const ours[] = { "vualink", "drm_ualink", "ualink" };

static bool is_ours(const char *module)
{
	return !strcmp(module, ours[0]) || !strcmp(module, ours[1]) || !strcmp(module, ours[2]);
}

/* Those that are loaded and, with @all false, ours; how many stay. */
static unsigned int try_unload(bool all)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < count; i++) {
		if (!loaded[i] || (!all && !is_ours(modules[i])))
			continue;
		if (unload(modules[i]))
			left++;
		else
			loaded[i] = false;
	}
	return left;
}

/* What was used a moment ago may take another to go. */
static void unload_all(bool all)
{
	for (int tries = 0; try_unload(all) && tries < PATIENCE_MS / 2; tries++)
		usleep(2000);
	for (unsigned int i = 0; i < count; i++)
		if (loaded[i] && (all || is_ours(modules[i])))
			complain(modules[i], unload(modules[i]));
}

static void expect_refused(const char *why)
{
	int ret;

	for (unsigned int i = 0; i < 3; i++) {
		ret = unload(ours[i]);
		refusals++;
		if (ret != EAGAIN && ret != EBUSY)
			complain(why, ret);
	}
}

/* ------------------------------------------------------------------------ uses */

/* What two accelerators share, and what is left of it */
struct scene {
	struct accel *accels;
	uint32_t bo, far;
	uint64_t own_va, va;
	int prime, import;
};

static void expect_content(struct scene *scene)
{
	uint64_t value = 0;
	int ret = accel_load(&scene->accels[1], scene->va, &value, sizeof(value));

	if (ret || value != 0x11fe)
		complain("the import", ret ? ret : EBADMSG);
}

static void begin(struct scene *scene)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint64_t value = 0x11fe;
	unsigned int n;

	scene->accels = accel_scan(&n);
	if (n < 2)
		die("there are %u accelerators", n);
	accel_open(&scene->accels[0]);
	accel_open(&scene->accels[1]);
	scene->bo = accel_bo(&scene->accels[0], SIZE, 0);
	scene->own_va = accel_bind(&scene->accels[0], scene->bo, SIZE);
	must(accel_store(&scene->accels[0], scene->own_va, &value, sizeof(value)));
	must(accel_export(&scene->accels[0], scene->bo, handle));
	must(accel_handle_to_fd(&scene->accels[0], scene->bo, &scene->prime));
	must(accel_import(&scene->accels[1], handle, 0, &scene->import));
	must(accel_fd_to_handle(&scene->accels[1], scene->import, &scene->far));
	scene->va = accel_bind(&scene->accels[1], scene->far, SIZE);
	expect_content(scene);
}

/* A job that never ends by itself, and its fence */
static int begin_job(struct scene *scene)
{
	const struct drm_vualink_cmd cmd = {
		.op = DRM_VUALINK_OP_WAIT, .timeout_ms = 60000,
		.dst = scene->va, .value = UINT64_MAX,
	};
	struct drm_syncobj_handle arg = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1,
	};

	must(accel_submit(&scene->accels[1], &cmd, 1, &arg.handle));
	must(accel_ioctl(scene->accels[1].fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg));
	return arg.fd;
}

enum last { FILES, MAPPING, IMPORT, PRIME, LASTS };

static const char * const last_names[] = {
	"a file is open", "a mapping is left", "an import's dma-buf is left",
	"a dma-buf of PRIME is left",
};

static void close_one(struct scene *scene, enum last what)
{
	switch (what) {
	case FILES:
		close(scene->accels[0].fd);
		close(scene->accels[1].fd);
		break;
	case MAPPING:
		munmap(scene->accels[0].window, WINDOW_SIZE);
		munmap(scene->accels[1].window, WINDOW_SIZE);
		break;
	case IMPORT:
		close(scene->import);
		break;
	default:
		close(scene->prime);
		break;
	}
}

/*
 * One kind of thing after another goes; each that is left keeps the driver, @last
 * alone, too. But not the fence of a job, which is returned.
 */
static int use_and_close(enum last last)
{
	struct scene scene;
	int fence;

	begin(&scene);
	expect_refused("all is left");
	expect_content(&scene);
	fence = begin_job(&scene);
	for (enum last what = 0; what < LASTS; what++) {
		if (what == last)
			continue;
		close_one(&scene, what);
		expect_refused(last_names[last]);
	}
	close_one(&scene, last);
	free(scene.accels);
	return fence;
}

static void expect_gone(void)
{
	static const char * const paths[] = {
		"/sys/kernel/debug/vualink", "/sys/kernel/config/vualink",
		"/sys/kernel/slab/ualink_grant", "/sys/kernel/slab/ualink_export",
		"/sys/module/vualink", "/sys/module/drm_ualink", "/sys/module/ualink",
	};
	unsigned int n;

	for (unsigned int i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!access(paths[i], F_OK))
			complain(paths[i], EEXIST);
	free(accel_scan(&n));
	if (n)
		complain("accelerators", EEXIST);
}

int main(void)
{
	int fence;

	setlinebuf(stdout);
	find_modules();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		load_all();
		fence = use_and_close(i % LASTS);
		/* The fence is the scheduler's, whose module must outlive it. */
		unload_all(false);
		expect_gone();
		close(fence);
		unload_all(true);
		if (failures)
			break;
	}
	printf("faults: unloads %u\n", ROUNDS);
	printf("faults: unloads_refused %u\n", refusals);
	printf("faults: unloads_failed %u\n", failures);
	return failures != 0;
}
