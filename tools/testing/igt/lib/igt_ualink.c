// SPDX-License-Identifier: MIT
/*
 * Devices, buffers and the core ioctls of UALink memory sharing.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink.h"

static const struct igt_ualink_backend * const backends[] = {
	&igt_ualink_amdgpu,
	&igt_ualink_vualink,
};

/* Far above 0, so that a wild address is not taken for one of a test. */
#define FIRST_VA	(1ull << 32)
#define VA_ALIGN	(2ull << 20)

static int drm_ioctl_errno(int fd, unsigned long request, void *arg)
{
	return drmIoctl(fd, request, arg) ? -errno : 0;
}

/* ------------------------------------------------------------- discovery */

static const struct igt_ualink_backend *find_backend(int fd)
{
	drmVersionPtr version = drmGetVersion(fd);
	const struct igt_ualink_backend *found = NULL;

	if (!version)
		return NULL;

	for (size_t i = 0; i < ARRAY_SIZE(backends); i++)
		if (!strcmp(backends[i]->driver, version->name))
			found = backends[i];

	drmFreeVersion(version);
	return found;
}

static int query_device(int fd, struct drm_ualink_device_info *info)
{
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)info,
		.count = 1,
		.stride = sizeof(*info),
	};

	return __igt_ualink_query(fd, &query);
}

static bool probe_node(struct igt_ualink_node *node)
{
	int fd = open(node->path, O_RDWR | O_CLOEXEC);
	bool found = false;

	if (fd < 0)
		return false;

	node->backend = find_backend(fd);
	if (node->backend && !query_device(fd, &node->info))
		found = node->info.flags & DRM_UALINK_DEVICE_SUPPORTED;

	close(fd);
	return found;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct igt_ualink_node *x = a, *y = b;
	int ret = memcmp(x->info.vpod_uuid, y->info.vpod_uuid,
			 sizeof(x->info.vpod_uuid));

	return ret ?: (int)x->info.id - (int)y->info.id;
}

/* All devices with UALink, sorted by vPod and accelerator id. */
static struct igt_ualink_node *scan_nodes(unsigned int *count)
{
	struct igt_ualink_node *nodes = NULL;
	struct dirent *entry;
	unsigned int n = 0;
	DIR *dir = opendir("/dev/dri");

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "renderD", strlen("renderD")))
			continue;

		nodes = realloc(nodes, (n + 1) * sizeof(*nodes));
		igt_assert(nodes);
		snprintf(nodes[n].path, sizeof(nodes[n].path), "/dev/dri/%.48s",
			 entry->d_name);
		if (probe_node(&nodes[n]))
			n++;
	}
	if (dir)
		closedir(dir);

	if (n)
		qsort(nodes, n, sizeof(*nodes), compare_nodes);
	*count = n;
	return nodes;
}

static bool same_vpod(const struct igt_ualink_node *a,
		      const struct igt_ualink_node *b)
{
	return !memcmp(a->info.vpod_uuid, b->info.vpod_uuid,
		       sizeof(a->info.vpod_uuid));
}

static bool is_active(const struct igt_ualink_node *node)
{
	return node->info.flags & DRM_UALINK_DEVICE_ACTIVE;
}

/* Start and length of the largest run of active members of one vPod. */
static unsigned int largest_pod(const struct igt_ualink_node *nodes,
				unsigned int count, unsigned int *start)
{
	unsigned int best = 0, run = 0;

	*start = 0;
	for (unsigned int i = 0; i < count; i++) {
		if (!is_active(&nodes[i]))
			run = 0;
		else if (run && same_vpod(&nodes[i], &nodes[i - 1]))
			run++;
		else
			run = 1;

		if (run > best) {
			best = run;
			*start = i + 1 - run;
		}
	}
	return best;
}

static void save_times(struct igt_ualink_pod *pod)
{
	pod->times = calloc(pod->count, sizeof(*pod->times));
	igt_assert(pod->times);
	for (unsigned int i = 0; i < pod->count; i++) {
		igt_ualink_tunable_get(&pod->nodes[i], "heartbeat_ms",
				       &pod->times[i].heartbeat_ms);
		igt_ualink_tunable_get(&pod->nodes[i], "cache_ms",
				       &pod->times[i].cache_ms);
	}
}

/*
 * Unused imports are kept for a while. The tests count, so that they want them
 * to go at once.
 */
static void disable_cache(const struct igt_ualink_pod *pod)
{
	for (unsigned int i = 0; i < pod->count; i++)
		igt_ualink_tunable_set(&pod->nodes[i], "cache_ms", 0);
}

/**
 * igt_ualink_pod_require:
 * @pod: filled with the devices of the largest vPod
 * @count: how many there must be
 *
 * Skips when there are fewer active accelerators in one vPod.
 */
void igt_ualink_pod_require(struct igt_ualink_pod *pod, unsigned int count)
{
	unsigned int total, start;
	struct igt_ualink_node *nodes = scan_nodes(&total);
	unsigned int best = largest_pod(nodes, total, &start);

	igt_require_f(best >= count,
		      "%u active accelerators in one vPod, %u are needed\n",
		      best, count);

	memmove(nodes, nodes + start, best * sizeof(*nodes));
	pod->nodes = nodes;
	pod->count = best;
	save_times(pod);
	disable_cache(pod);
}

bool igt_ualink_find_stranger(const struct igt_ualink_pod *pod,
			      struct igt_ualink_node *node)
{
	unsigned int total;
	struct igt_ualink_node *nodes = scan_nodes(&total);
	bool found = false;

	for (unsigned int i = 0; i < total && !found; i++) {
		found = is_active(&nodes[i]) &&
			!same_vpod(&nodes[i], &pod->nodes[0]);
		if (found)
			*node = nodes[i];
	}

	free(nodes);
	return found;
}

static bool has_small_segment(const struct igt_ualink_node *node)
{
	struct igt_ualink *dev = igt_ualink_open(node);
	struct igt_ualink_stats stats;

	dev->backend->stats(dev, &stats);
	igt_ualink_close(dev);
	return node->info.segment_size <= stats.vram_size / 2;
}

bool igt_ualink_find_small_segment(struct igt_ualink_node *node)
{
	unsigned int total;
	struct igt_ualink_node *nodes = scan_nodes(&total);
	bool found = false;

	for (unsigned int i = 0; i < total && !found; i++) {
		found = is_active(&nodes[i]) && has_small_segment(&nodes[i]);
		if (found)
			*node = nodes[i];
	}

	free(nodes);
	return found;
}

void igt_ualink_pod_fini(struct igt_ualink_pod *pod)
{
	igt_ualink_heartbeat_restore(pod);
	for (unsigned int i = 0; i < pod->count; i++)
		igt_ualink_tunable_set(&pod->nodes[i], "cache_ms",
				       pod->times[i].cache_ms);
	free(pod->times);
	free(pod->nodes);
}

void igt_ualink_heartbeat_stop(const struct igt_ualink_pod *pod)
{
	for (unsigned int i = 0; i < pod->count; i++)
		igt_require(igt_ualink_tunable_set(&pod->nodes[i], "heartbeat_ms",
						   3600 * 1000));
}

void igt_ualink_heartbeat_restore(const struct igt_ualink_pod *pod)
{
	for (unsigned int i = 0; i < pod->count; i++)
		igt_ualink_tunable_set(&pod->nodes[i], "heartbeat_ms",
				       pod->times[i].heartbeat_ms);
}

static FILE *open_tunable(const struct igt_ualink_node *node, const char *name,
			  const char *mode)
{
	char path[160];
	struct stat st;

	if (stat(node->path, &st))
		return NULL;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device/ualink/%s",
		 major(st.st_rdev), minor(st.st_rdev), name);
	return fopen(path, mode);
}

bool igt_ualink_tunable_get(const struct igt_ualink_node *node, const char *name,
			    uint64_t *value)
{
	FILE *file = open_tunable(node, name, "r");
	bool ok;

	if (!file)
		return false;

	ok = fscanf(file, "%" SCNu64, value) == 1;
	fclose(file);
	return ok;
}

bool igt_ualink_tunable_set(const struct igt_ualink_node *node, const char *name,
			    uint64_t value)
{
	FILE *file = open_tunable(node, name, "w");
	bool ok;

	if (!file)
		return false;

	ok = fprintf(file, "%" PRIu64 "\n", value) > 0;
	return !fclose(file) && ok;
}

/* --------------------------------------------------- devices and buffers */

struct igt_ualink *igt_ualink_open(const struct igt_ualink_node *node)
{
	struct igt_ualink *dev = calloc(1, sizeof(*dev));

	igt_assert(dev);
	dev->fd = open(node->path, O_RDWR | O_CLOEXEC);
	igt_assert_fd(dev->fd);
	dev->node = node;
	dev->backend = node->backend;
	dev->next_va = FIRST_VA;
	igt_assert_eq(dev->backend->open(dev), 0);
	return dev;
}

void igt_ualink_close(struct igt_ualink *dev)
{
	if (dev->staging) {
		munmap(dev->staging_ptr, dev->staging->size);
		igt_ualink_bo_destroy(dev->staging);
	}
	dev->backend->close(dev);
	close(dev->fd);
	free(dev);
}

/* Never gives an address twice, and leaves a hole behind each buffer. */
uint64_t igt_ualink_va_alloc(struct igt_ualink *dev, uint64_t size)
{
	uint64_t va = dev->next_va;

	dev->next_va += (size + 2 * VA_ALIGN - 1) / VA_ALIGN * VA_ALIGN;
	return va;
}

struct igt_ualink_bo *igt_ualink_bo_from_handle(struct igt_ualink *dev,
						uint32_t handle, uint64_t size,
						uint32_t bind_flags)
{
	struct igt_ualink_bo *bo = calloc(1, sizeof(*bo));

	igt_assert(bo);
	bo->dev = dev;
	bo->handle = handle;
	bo->size = size;
	bo->va = igt_ualink_va_alloc(dev, size);
	igt_assert_eq(dev->backend->bind(dev, handle, bo->va, 0, size,
					 bind_flags), 0);
	return bo;
}

struct igt_ualink_bo *igt_ualink_bo_create(struct igt_ualink *dev,
					   uint64_t size, uint32_t flags)
{
	uint32_t handle;

	igt_assert_eq(dev->backend->alloc(dev, size, flags, &handle), 0);
	return igt_ualink_bo_from_handle(dev, handle, size, 0);
}

/* Does not close @fd. */
struct igt_ualink_bo *igt_ualink_bo_from_fd(struct igt_ualink *dev, int fd,
					    uint64_t size, uint32_t bind_flags)
{
	uint32_t handle;

	igt_assert_eq(__igt_ualink_fd_to_handle(dev->fd, fd, &handle), 0);
	return igt_ualink_bo_from_handle(dev, handle, size, bind_flags);
}

void igt_ualink_bo_destroy(struct igt_ualink_bo *bo)
{
	igt_assert_eq(bo->dev->backend->unbind(bo->dev, bo->va, bo->size), 0);
	igt_ualink_gem_close(bo->dev->fd, bo->handle);
	free(bo);
}

void igt_ualink_gem_close(int fd, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	igt_assert_eq(drm_ioctl_errno(fd, DRM_IOCTL_GEM_CLOSE, &arg), 0);
}

int __igt_ualink_handle_to_fd(int fd, uint32_t handle, int *dmabuf)
{
	return drmPrimeHandleToFD(fd, handle, DRM_CLOEXEC | DRM_RDWR, dmabuf) ?
		-errno : 0;
}

int __igt_ualink_fd_to_handle(int fd, int dmabuf, uint32_t *handle)
{
	return drmPrimeFDToHandle(fd, dmabuf, handle) ? -errno : 0;
}

/* ---------------------------------------------------------- core ioctls */

int __igt_ualink_export(int fd, struct drm_gem_ualink_export *arg)
{
	return drm_ioctl_errno(fd, DRM_IOCTL_GEM_UALINK_EXPORT, arg);
}

int __igt_ualink_import(int fd, struct drm_gem_ualink_import *arg)
{
	return drm_ioctl_errno(fd, DRM_IOCTL_GEM_UALINK_IMPORT, arg);
}

int __igt_ualink_revoke(int fd, uint32_t handle)
{
	struct drm_gem_ualink_revoke arg = { .gem_handle = handle };

	return drm_ioctl_errno(fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg);
}

int __igt_ualink_query(int fd, struct drm_gem_ualink_query *arg)
{
	return drm_ioctl_errno(fd, DRM_IOCTL_GEM_UALINK_QUERY, arg);
}

void igt_ualink_export(const struct igt_ualink_bo *bo, uint8_t *handle)
{
	struct drm_gem_ualink_export arg = { .gem_handle = bo->handle };

	igt_assert_eq(__igt_ualink_export(bo->dev->fd, &arg), 0);
	igt_assert_eq_u64(arg.size, bo->size);
	memcpy(handle, arg.handle, sizeof(arg.handle));
}

int igt_ualink_import(struct igt_ualink *dev, const uint8_t *handle)
{
	struct drm_gem_ualink_import arg = {
		.flags = DRM_UALINK_IMPORT_CLOEXEC,
		.fd = -1,
	};

	memcpy(arg.handle, handle, sizeof(arg.handle));
	igt_assert_eq(__igt_ualink_import(dev->fd, &arg), 0);
	igt_assert_fd(arg.fd);
	igt_assert_eq_u32(arg.access,
			  DRM_UALINK_ACCESS_READ | DRM_UALINK_ACCESS_WRITE);
	return arg.fd;
}

/* For imports that must fail: the errno, and no file descriptor was made. */
int igt_ualink_import_errno(struct igt_ualink *dev, const uint8_t *handle)
{
	struct drm_gem_ualink_import arg = { .fd = -1 };
	int ret;

	memcpy(arg.handle, handle, sizeof(arg.handle));
	ret = __igt_ualink_import(dev->fd, &arg);
	if (ret)
		igt_assert_eq(arg.fd, -1);
	else
		close(arg.fd);
	return ret;
}

struct igt_ualink_bo *igt_ualink_import_bo(struct igt_ualink *dev,
					   const uint8_t *handle)
{
	struct drm_gem_ualink_import arg = {
		.flags = DRM_UALINK_IMPORT_CLOEXEC,
	};
	struct igt_ualink_bo *bo;

	memcpy(arg.handle, handle, sizeof(arg.handle));
	igt_assert_eq(__igt_ualink_import(dev->fd, &arg), 0);
	bo = igt_ualink_bo_from_fd(dev, arg.fd, arg.size, 0);
	close(arg.fd);
	return bo;
}

void igt_ualink_revoke(const struct igt_ualink_bo *bo)
{
	igt_assert_eq(__igt_ualink_revoke(bo->dev->fd, bo->handle), 0);
}

void igt_ualink_device_info(struct igt_ualink *dev,
			    struct drm_ualink_device_info *info)
{
	igt_assert_eq(query_device(dev->fd, info), 0);
}

void *igt_ualink_query_array(struct igt_ualink *dev, uint32_t kind, uint32_t arg,
			     size_t stride, unsigned int *count)
{
	struct drm_gem_ualink_query query = { .kind = kind, .arg = arg };
	void *data;

	igt_assert_eq(__igt_ualink_query(dev->fd, &query), 0);
	igt_assert_eq_u32(query.stride, stride);

	/* room for one that comes between the two calls */
	query.count++;
	data = calloc(query.count, stride);
	igt_assert(data);
	*count = query.count;
	query.data_ptr = (uintptr_t)data;
	igt_assert_eq(__igt_ualink_query(dev->fd, &query), 0);
	igt_assert_lte_u64(query.count, *count);
	*count = query.count;
	return data;
}

bool igt_ualink_import_info(struct igt_ualink *dev, const uint8_t *handle,
			    struct drm_ualink_import_info *info)
{
	struct drm_ualink_import_info *imports;
	unsigned int count;
	bool found = false;

	imports = igt_ualink_query_array(dev, DRM_UALINK_QUERY_IMPORTS, 0,
					 sizeof(*imports), &count);
	for (unsigned int i = 0; i < count && !found; i++) {
		found = !memcmp(imports[i].handle, handle,
				sizeof(imports[i].handle));
		if (found)
			*info = imports[i];
	}

	free(imports);
	return found;
}

void igt_ualink_wait_death(struct igt_ualink *dev, const uint8_t *handle,
			   uint32_t death)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct drm_ualink_import_info info = {};

	for (int i = 0; i < 5000; i++) {
		igt_assert(igt_ualink_import_info(dev, handle, &info));
		if (info.death != DRM_UALINK_ALIVE)
			break;
		nanosleep(&pause, NULL);
	}
	igt_assert_eq_u32(info.death, death);
}

int __igt_ualink_read_event(int fd, struct drm_ualink_event *event,
			    int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret;

	do {
		ret = poll(&pfd, 1, timeout_ms);
	} while (ret < 0 && errno == EINTR);
	if (ret <= 0)
		return -EAGAIN;

	ret = read(fd, event, sizeof(*event));
	if (ret < 0)
		return -errno;

	igt_assert_eq(ret, sizeof(*event));
	igt_assert_eq_u32(event->base.type, DRM_EVENT_UALINK_IMPORTS_DIED);
	igt_assert_eq_u32(event->base.length, sizeof(*event));
	return 0;
}

/* ---------------------------------------------------------------- signals */

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

void igt_ualink_signals_start(unsigned int ms, bool restart)
{
	const struct itimerval often = {
		.it_interval.tv_usec = 1000 * ms,
		.it_value.tv_usec = 1000 * ms,
	};
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = restart ? SA_RESTART : 0,
	};

	signals = 0;
	igt_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
	igt_assert_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
}

unsigned int igt_ualink_signals_stop(void)
{
	const struct itimerval never = {};

	igt_assert_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	return signals;
}
