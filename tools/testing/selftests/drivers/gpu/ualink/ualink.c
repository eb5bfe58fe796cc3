// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "kselftest.h"
#include "ualink.h"

#define WINDOW_VA	0x100000000ull
#define OWN_VA		0x200000000ull
#define JOB_TIMEOUT_S	60

int ualink_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

int ualink_info(const struct ualink_dev *dev, struct drm_ualink_device_info *info)
{
	struct drm_gem_ualink_query arg = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)info,
		.count = 1,
		.stride = sizeof(*info),
	};

	return ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg);
}

bool ualink_unchanged(const struct ualink_dev *dev, const struct drm_ualink_device_info *before)
{
	struct drm_ualink_device_info now = {};

	return !ualink_info(dev, &now) && now.flags == before->flags &&
	       now.exports == before->exports && now.grants == before->grants &&
	       now.imports == before->imports && now.npa_used == before->npa_used &&
	       now.exported_bytes == before->exported_bytes &&
	       now.imports_died == before->imports_died &&
	       now.bad_msgs == before->bad_msgs;
}

int ualink_bo(const struct ualink_dev *dev, __u64 size, __u32 *handle)
{
	struct drm_vualink_bo_create arg = { .size = size };
	int ret = ualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_BO_CREATE, &arg);

	*handle = arg.handle;
	return ret;
}

int ualink_gem_close(const struct ualink_dev *dev, __u32 handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return ualink_ioctl(dev->fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

int ualink_bind(const struct ualink_dev *dev, __u32 handle, __u64 va, __u64 size, __u32 flags)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = dev->vm,
		.op = DRM_VUALINK_VM_BIND_MAP,
		.flags = flags,
		.handle = handle,
		.va = va,
		.size = size,
	};

	return ualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg);
}

int ualink_export(const struct ualink_dev *dev, __u32 bo, __u8 *handle)
{
	struct drm_gem_ualink_export arg = { .gem_handle = bo };
	int ret = ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_EXPORT, &arg);

	memcpy(handle, arg.handle, sizeof(arg.handle));
	return ret;
}

int ualink_import(const struct ualink_dev *dev, const __u8 *handle, __u64 user_data, int *fd)
{
	struct drm_gem_ualink_import arg = {
		.user_data = user_data,
		.flags = DRM_UALINK_IMPORT_CLOEXEC,
		.fd = -1,
	};
	int ret;

	memcpy(arg.handle, handle, sizeof(arg.handle));
	ret = ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_IMPORT, &arg);
	*fd = arg.fd;
	return ret;
}

int ualink_revoke(const struct ualink_dev *dev, __u32 bo)
{
	struct drm_gem_ualink_revoke arg = { .gem_handle = bo };

	return ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_REVOKE, &arg);
}

int ualink_from_fd(const struct ualink_dev *dev, int fd, __u32 *handle)
{
	struct drm_prime_handle arg = { .fd = fd };
	int ret = ualink_ioctl(dev->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);

	*handle = arg.handle;
	return ret;
}

/* What became of the job: the error that its fence carries. */
static int wait_for(const struct ualink_dev *dev, __u32 syncobj)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&syncobj,
		.count_handles = 1,
	};
	struct drm_syncobj_handle file = {
		.handle = syncobj,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	struct sync_file_info info = {};
	struct timespec now;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &now);
	wait.timeout_nsec = (now.tv_sec + JOB_TIMEOUT_S) * 1000000000ll;
	ret = ualink_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
	if (!ret)
		ret = ualink_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file);
	if (ret)
		return ret;

	ret = ualink_ioctl(file.fd, SYNC_IOC_FILE_INFO, &info);
	close(file.fd);
	return ret ? ret : info.status < 0 ? info.status : 0;
}

static int copy(const struct ualink_dev *dev, __u64 dst, __u64 src)
{
	struct drm_vualink_cmd cmd = {
		.op = DRM_VUALINK_OP_COPY,
		.dst = dst,
		.src = src,
		.len = UALINK_SIZE,
	};
	struct drm_syncobj_create create = {};
	struct drm_syncobj_destroy destroy = {};
	struct drm_vualink_sync out = {};
	struct drm_vualink_exec exec = {
		.vm_id = dev->vm,
		.cmds = { (uintptr_t)&cmd, 1, sizeof(cmd) },
		.out_syncs = { (uintptr_t)&out, 1, sizeof(out) },
	};
	int ret = ualink_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);

	if (ret)
		return ret;

	out.handle = create.handle;
	destroy.handle = create.handle;
	ret = ualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_EXEC, &exec);
	if (!ret)
		ret = wait_for(dev, create.handle);
	ualink_ioctl(dev->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy);
	return ret;
}

static __u32 word(__u32 seed, unsigned int i)
{
	return (seed + 1) * 0x9e3779b9u ^ i * 0x85ebca6bu;
}

int ualink_store(const struct ualink_dev *dev, __u64 va, __u32 seed)
{
	unsigned int i;

	for (i = 0; i < UALINK_SIZE / sizeof(__u32); i++)
		dev->window[i] = word(seed, i);
	return copy(dev, va, dev->window_va);
}

int ualink_check(const struct ualink_dev *dev, __u64 va, __u32 seed)
{
	unsigned int i;
	int ret;

	memset(dev->window, 0, UALINK_SIZE);
	ret = copy(dev, dev->window_va, va);
	for (i = 0; i < UALINK_SIZE / sizeof(__u32) && !ret; i++)
		if (dev->window[i] != word(seed, i))
			ret = -EILSEQ;
	return ret;
}

static int make_window(struct ualink_dev *dev)
{
	struct drm_vualink_bo_create create = {
		.size = UALINK_SIZE,
		.flags = DRM_VUALINK_BO_SYSTEM,
	};
	struct drm_vualink_bo_mmap_offset map = {};
	int ret = ualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_BO_CREATE, &create);

	map.handle = create.handle;
	dev->window_va = WINDOW_VA;
	if (!ret)
		ret = ualink_bind(dev, create.handle, WINDOW_VA, UALINK_SIZE, 0);
	if (!ret)
		ret = ualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &map);
	if (ret)
		return ret;

	dev->window = mmap(NULL, UALINK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
			   map.offset);
	return dev->window == MAP_FAILED ? -errno : 0;
}

static int dev_init(struct ualink_dev *dev)
{
	struct drm_vualink_vm_create vm = {};
	int ret = ualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_VM_CREATE, &vm);

	dev->vm = vm.vm_id;
	return ret ? ret : make_window(dev);
}

void ualink_close(struct ualink_dev *dev)
{
	if (dev->window && dev->window != MAP_FAILED)
		munmap(dev->window, UALINK_SIZE);
	close(dev->fd);
}

/* Opens the node if it is that of a virtual accelerator that is active. */
static bool open_node(struct ualink_dev *dev, const char *name)
{
	char path[300], driver[16] = "";
	struct drm_version version = {
		.name = driver,
		.name_len = sizeof(driver) - 1,
	};

	memset(dev, 0, sizeof(*dev));
	snprintf(path, sizeof(path), "/dev/dri/%s", name);
	dev->fd = open(path, O_RDWR | O_CLOEXEC);
	if (dev->fd < 0)
		return false;
	if (!ualink_ioctl(dev->fd, DRM_IOCTL_VERSION, &version) && !strcmp(driver, "vualink") &&
	    !ualink_info(dev, &dev->info) && dev->info.flags & DRM_UALINK_DEVICE_ACTIVE)
		return true;
	close(dev->fd);
	return false;
}

/* The next active accelerator of the folder, in the pod of @other if there is one. */
static int open_next(DIR *dir, struct ualink_dev *dev, const struct ualink_dev *other)
{
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "renderD", strlen("renderD")) ||
		    !open_node(dev, entry->d_name))
			continue;
		if (!other || !memcmp(dev->info.vpod_uuid, other->info.vpod_uuid,
				      sizeof(dev->info.vpod_uuid)))
			return 0;
		close(dev->fd);
	}
	return -ENODEV;
}

int ualink_open_pair(struct ualink_dev *exporter, struct ualink_dev *importer)
{
	DIR *dir = opendir("/dev/dri");
	int ret;

	if (!dir)
		return -ENODEV;

	ret = open_next(dir, exporter, NULL);
	if (!ret) {
		ret = open_next(dir, importer, exporter);
		if (ret)
			close(exporter->fd);
	}
	closedir(dir);
	if (ret)
		return ret;

	ret = dev_init(exporter);
	return ret ? ret : dev_init(importer);
}

void ualink_skip_without_pair(void)
{
	struct ualink_dev exporter, importer;
	int ret = ualink_open_pair(&exporter, &importer);

	if (ret == -ENODEV) {
		ksft_print_header();
		ksft_exit_skip("no two active virtual accelerators of a pod\n");
	}
	if (ret)
		ksft_exit_fail_msg("cannot open accelerators: %s\n", strerror(-ret));
	ualink_close(&importer);
	ualink_close(&exporter);
}

int ualink_pair_init(struct ualink_pair *pair)
{
	int ret = ualink_open_pair(&pair->exporter, &pair->importer);

	if (ret)
		return ret;

	pair->own_va = OWN_VA;
	pair->far_va = OWN_VA;
	ret = ualink_bo(&pair->exporter, UALINK_SIZE, &pair->own);
	if (!ret)
		ret = ualink_bind(&pair->exporter, pair->own, pair->own_va, UALINK_SIZE, 0);
	if (!ret)
		ret = ualink_export(&pair->exporter, pair->own, pair->handle);
	if (!ret)
		ret = ualink_import(&pair->importer, pair->handle, 0, &pair->fd);
	if (!ret)
		ret = ualink_from_fd(&pair->importer, pair->fd, &pair->far);
	if (!ret)
		ret = ualink_bind(&pair->importer, pair->far, pair->far_va, UALINK_SIZE, 0);
	if (!ret)
		ret = ualink_info(&pair->exporter, &pair->exporter.info);
	if (!ret)
		ret = ualink_info(&pair->importer, &pair->importer.info);
	return ret;
}

void ualink_pair_fini(struct ualink_pair *pair)
{
	close(pair->fd);
	ualink_close(&pair->importer);
	ualink_close(&pair->exporter);
}
