// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sync_file.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "accel.h"

#define FIRST_VA	(1ull << 32)
#define VA_ALIGN	MIB(2)
#define JOB_TIMEOUT_NS	(60 * 1000000000ll)

void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "error: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

void die_errno(const char *what, int error)
{
	die("%s: %s", what, strerror(error));
}

double accel_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

void accel_print_failure(const char *where, const char *format, va_list args)
{
	char text[200];

	vsnprintf(text, sizeof(text), format, args);
	printf("fail: %s%s\n", where, text);
}

int accel_ioctl(int fd, unsigned long request, void *arg)
{
	while (ioctl(fd, request, arg))
		if (errno != EINTR && errno != EAGAIN)
			return errno;
	return 0;
}

/* -------------------------------------------------------------- discovery */

static int query_device(int fd, struct drm_ualink_device_info *info)
{
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)info,
		.count = 1,
		.stride = sizeof(*info),
	};

	return accel_ioctl(fd, DRM_IOCTL_GEM_UALINK_QUERY, &query);
}

static bool is_vualink(int fd)
{
	char name[16] = "";
	struct drm_version version = {
		.name = name,
		.name_len = sizeof(name) - 1,
	};

	return !accel_ioctl(fd, DRM_IOCTL_VERSION, &version) &&
	       !strcmp(name, "vualink");
}

static bool probe(struct accel *accel)
{
	int fd = open(accel->path, O_RDWR | O_CLOEXEC);
	bool found;

	if (fd < 0)
		return false;

	found = is_vualink(fd) && !query_device(fd, &accel->info) &&
		accel->info.flags & DRM_UALINK_DEVICE_ACTIVE;
	close(fd);
	return found;
}

bool accel_same_pod(const struct accel *a, const struct accel *b)
{
	return !memcmp(a->info.vpod_uuid, b->info.vpod_uuid,
		       sizeof(a->info.vpod_uuid));
}

static int compare(const void *a, const void *b)
{
	const struct accel *x = a, *y = b;
	int ret = memcmp(x->info.vpod_uuid, y->info.vpod_uuid,
			 sizeof(x->info.vpod_uuid));

	return ret ? ret : (int)x->info.id - (int)y->info.id;
}

struct accel *accel_scan(unsigned int *count)
{
	struct accel *accels = NULL;
	DIR *dir = opendir("/dev/dri");
	struct dirent *entry;
	unsigned int n = 0;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "renderD", strlen("renderD")))
			continue;

		accels = realloc(accels, (n + 1) * sizeof(*accels));
		if (!accels)
			die("out of memory");
		memset(&accels[n], 0, sizeof(*accels));
		accels[n].fd = -1;
		snprintf(accels[n].path, sizeof(accels[n].path), "/dev/dri/%.20s",
			 entry->d_name);
		if (probe(&accels[n]))
			n++;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(accels, n, sizeof(*accels), compare);
	*count = n;
	return accels;
}

/* ------------------------------------------------------ debugfs and sysfs */

static FILE *open_file(struct accel *accel, const char *format, const char *name,
		       const char *mode)
{
	char path[160];
	struct stat st;

	must(stat(accel->path, &st) ? errno : 0);
	snprintf(path, sizeof(path), format, major(st.st_rdev),
		 minor(st.st_rdev), name);
	return fopen(path, mode);
}

#define DEBUGFS	"/sys/kernel/debug/dri/%2$u/%3$s"
#define SYSFS	"/sys/dev/char/%1$u:%2$u/device/ualink/%3$s"

static int write_text(FILE *file, const char *text)
{
	bool ok;

	if (!file)
		return errno;

	ok = fputs(text, file) >= 0;
	return fclose(file) || !ok ? errno : 0;
}

int accel_debugfs_write(struct accel *accel, const char *name, const char *text)
{
	return write_text(open_file(accel, DEBUGFS, name, "w"), text);
}

void accel_debugfs_read(struct accel *accel, const char *name)
{
	FILE *file = open_file(accel, DEBUGFS, name, "r");
	char text[4096];

	if (!file)
		die_errno(name, errno);
	while (fread(text, 1, sizeof(text), file))
		;
	fclose(file);
}

uint64_t accel_counter(struct accel *accel, const char *name, const char *key)
{
	FILE *file = open_file(accel, DEBUGFS, name, "r");
	uint64_t number, value = 0;
	char line[256], word[64];
	bool found = false;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63[^: ]%*[: ]%" SCNu64, word, &number) == 2 &&
		    !strcmp(word, key)) {
			value = number;
			found = true;
		}
	fclose(file);
	if (!found)
		die("%s has no counter %s", name, key);
	return value;
}

bool accel_idle(struct accel *accel, struct drm_ualink_device_info *info)
{
	accel_info(accel, info);
	return !info->exports && !info->grants && !info->imports &&
	       !info->exported_bytes && !info->npa_used &&
	       !info->npa_quarantined && !accel_counter(accel, "state", "vram_pinned");
}

uint64_t accel_stale(struct accel *accel)
{
	return accel_counter(accel, "hw/hw_stats", "stale") -
	       accel_counter(accel, "hw/hw_stats", "stale_flushed");
}

void accel_pod_knob(const char *pod, const char *name, const char *rule)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/debug/vualink/%s/%s", pod, name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, rule, strlen(rule)) < 0)
		die_errno(path, errno);
	close(fd);
}

void accel_knob(const char *name, const char *rule)
{
	accel_pod_knob(DEFAULT_POD, name, rule);
}

void accel_mute(const char *pod, const struct accel *accel, bool on)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", accel->info.id);
	accel_pod_knob(pod, on ? "mute" : "unmute", text);
}

int accel_tunable_write(struct accel *accel, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	return write_text(open_file(accel, SYSFS, name, "w"), text);
}

int accel_tunable_read(struct accel *accel, const char *name, uint64_t *value)
{
	FILE *file = open_file(accel, SYSFS, name, "r");
	bool ok;

	if (!file)
		return errno;

	ok = fscanf(file, "%" SCNu64, value) == 1;
	fclose(file);
	return ok ? 0 : EINVAL;
}

/* ----------------------------------------------------------- open, memory */

static void make_window(struct accel *accel)
{
	struct drm_vualink_bo_mmap_offset arg = {
		.handle = accel_bo(accel, WINDOW_SIZE, DRM_VUALINK_BO_SYSTEM),
	};

	accel->window_va = accel_bind(accel, arg.handle, WINDOW_SIZE);
	must(accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &arg));
	accel->window = mmap(NULL, WINDOW_SIZE, PROT_READ | PROT_WRITE,
			     MAP_SHARED, accel->fd, arg.offset);
	if (accel->window == MAP_FAILED)
		die_errno("mmap", errno);
}

void accel_open(struct accel *accel)
{
	struct drm_vualink_vm_create vm = {};

	accel->fd = open(accel->path, O_RDWR | O_CLOEXEC);
	if (accel->fd < 0)
		die_errno(accel->path, errno);
	must(accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_VM_CREATE, &vm));
	accel->vm = vm.vm_id;
	accel->next_va = FIRST_VA;
	make_window(accel);
}

void accel_close(struct accel *accel)
{
	munmap(accel->window, WINDOW_SIZE);
	close(accel->fd);
	accel->fd = -1;
}

void accel_info(struct accel *accel, struct drm_ualink_device_info *info)
{
	must(query_device(accel->fd, info));
}

uint32_t accel_bo(struct accel *accel, uint64_t size, uint32_t flags)
{
	struct drm_vualink_bo_create arg = { .size = size, .flags = flags };

	must(accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_BO_CREATE, &arg));
	return arg.handle;
}

void accel_gem_close(struct accel *accel, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	must(accel_ioctl(accel->fd, DRM_IOCTL_GEM_CLOSE, &arg));
}

int accel_try_bind(struct accel *accel, uint32_t handle, uint64_t size, uint64_t *va)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = accel->vm,
		.op = DRM_VUALINK_VM_BIND_MAP,
		.handle = handle,
		.va = accel->next_va,
		.size = size,
	};

	accel->next_va += (size + 2 * VA_ALIGN - 1) / VA_ALIGN * VA_ALIGN;
	*va = arg.va;
	return accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg);
}

uint64_t accel_bind(struct accel *accel, uint32_t handle, uint64_t size)
{
	uint64_t va;

	must(accel_try_bind(accel, handle, size, &va));
	return va;
}

void accel_unbind(struct accel *accel, uint64_t va, uint64_t size)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = accel->vm,
		.op = DRM_VUALINK_VM_BIND_UNMAP,
		.va = va,
		.size = size,
	};

	must(accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg));
}

/* ------------------------------------------------------------------ jobs */

static void destroy_syncobj(struct accel *accel, uint32_t syncobj)
{
	struct drm_syncobj_destroy arg = { .handle = syncobj };

	must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg));
}

int accel_submit(struct accel *accel, const struct drm_vualink_cmd *cmds,
		 uint32_t count, uint32_t *syncobj)
{
	struct drm_syncobj_create create = {};
	struct drm_vualink_sync out = {};
	struct drm_vualink_exec arg = {
		.vm_id = accel->vm,
		.cmds = {
			.ptr = (uintptr_t)cmds,
			.count = count,
			.stride = sizeof(*cmds),
		},
		.out_syncs = {
			.ptr = (uintptr_t)&out,
			.count = 1,
			.stride = sizeof(out),
		},
	};
	int error = accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	if (error)
		return error;
	out.handle = create.handle;
	*syncobj = create.handle;
	error = accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_EXEC, &arg);
	if (error)
		destroy_syncobj(accel, create.handle);
	return error;
}

static void wait_for(struct accel *accel, uint32_t syncobj)
{
	struct drm_syncobj_wait arg = {
		.handles = (uintptr_t)&syncobj,
		.count_handles = 1,
	};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	arg.timeout_nsec = now.tv_sec * 1000000000ll + now.tv_nsec +
			   JOB_TIMEOUT_NS;
	must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_WAIT, &arg));
}

/* The errno that the fence carries, or 0. */
static int fence_error(struct accel *accel, uint32_t syncobj)
{
	struct drm_syncobj_handle arg = {
		.handle = syncobj,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	struct sync_file_info info = {};

	must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg));
	must(accel_ioctl(arg.fd, SYNC_IOC_FILE_INFO, &info));
	close(arg.fd);
	return info.status < 0 ? -info.status : 0;
}

int accel_wait(struct accel *accel, uint32_t syncobj)
{
	int error;

	wait_for(accel, syncobj);
	error = fence_error(accel, syncobj);
	destroy_syncobj(accel, syncobj);
	return error;
}

int accel_run(struct accel *accel, const struct drm_vualink_cmd *cmds,
	      uint32_t count)
{
	uint32_t syncobj;
	int error = accel_submit(accel, cmds, count, &syncobj);

	return error ? error : accel_wait(accel, syncobj);
}

int accel_load(struct accel *accel, uint64_t va, void *data, size_t size)
{
	int error = 0;

	for (size_t done = 0; done < size && !error; done += WINDOW_SIZE) {
		size_t n = size - done < WINDOW_SIZE ? size - done : WINDOW_SIZE;
		struct drm_vualink_cmd cmd = {
			.op = DRM_VUALINK_OP_COPY,
			.dst = accel->window_va,
			.src = va + done,
			.len = n,
		};

		error = accel_run(accel, &cmd, 1);
		memcpy((char *)data + done, accel->window, n);
	}
	return error;
}

int accel_store(struct accel *accel, uint64_t va, const void *data, size_t size)
{
	int error = 0;

	for (size_t done = 0; done < size && !error; done += WINDOW_SIZE) {
		size_t n = size - done < WINDOW_SIZE ? size - done : WINDOW_SIZE;
		struct drm_vualink_cmd cmd = {
			.op = DRM_VUALINK_OP_COPY,
			.dst = va + done,
			.src = accel->window_va,
			.len = n,
		};

		memcpy(accel->window, (const char *)data + done, n);
		error = accel_run(accel, &cmd, 1);
	}
	return error;
}

int accel_fault(struct accel *accel, struct drm_vualink_fault *fault)
{
	struct drm_vualink_get_faults arg = {
		.faults = {
			.ptr = (uintptr_t)fault,
			.count = 1,
			.stride = sizeof(*fault),
		},
	};

	must(accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_GET_FAULTS, &arg));
	return arg.faults.count ? 0 : EAGAIN;
}

/* --------------------------------------------------------------- sharing */

int accel_export(struct accel *accel, uint32_t bo, uint8_t *handle)
{
	struct drm_gem_ualink_export arg = { .gem_handle = bo };
	int error = accel_ioctl(accel->fd, DRM_IOCTL_GEM_UALINK_EXPORT, &arg);

	memcpy(handle, arg.handle, sizeof(arg.handle));
	return error;
}

int accel_import(struct accel *accel, const uint8_t *handle, uint64_t user_data,
		 int *fd)
{
	struct drm_gem_ualink_import arg = {
		.flags = DRM_UALINK_IMPORT_CLOEXEC,
		.user_data = user_data,
	};
	int error;

	memcpy(arg.handle, handle, sizeof(arg.handle));
	error = accel_ioctl(accel->fd, DRM_IOCTL_GEM_UALINK_IMPORT, &arg);
	*fd = arg.fd;
	return error;
}

int accel_revoke(struct accel *accel, uint32_t bo)
{
	struct drm_gem_ualink_revoke arg = { .gem_handle = bo };

	return accel_ioctl(accel->fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg);
}

int accel_handle_to_fd(struct accel *accel, uint32_t bo, int *fd)
{
	struct drm_prime_handle arg = {
		.handle = bo,
		.flags = DRM_CLOEXEC | DRM_RDWR,
	};
	int error = accel_ioctl(accel->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg);

	*fd = arg.fd;
	return error;
}

int accel_fd_to_handle(struct accel *accel, int fd, uint32_t *bo)
{
	struct drm_prime_handle arg = { .fd = fd };
	int error = accel_ioctl(accel->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);

	*bo = arg.handle;
	return error;
}
