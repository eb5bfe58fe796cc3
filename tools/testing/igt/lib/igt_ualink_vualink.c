// SPDX-License-Identifier: MIT
/*
 * What the UALink tests need of the virtual accelerator.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sync_file.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink_vualink.h"

#define MAX_CMDS	64

struct vualink {
	uint32_t vm_id;
};

static int vualink_ioctl(int fd, unsigned long request, void *arg)
{
	return drmIoctl(fd, request, arg) ? -errno : 0;
}

static struct vualink *to_vualink(struct igt_ualink *dev)
{
	return dev->priv;
}

static int vualink_open(struct igt_ualink *dev)
{
	struct drm_vualink_vm_create arg = {};
	int ret = vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_VM_CREATE, &arg);

	if (ret)
		return ret;

	dev->priv = calloc(1, sizeof(struct vualink));
	igt_assert(dev->priv);
	to_vualink(dev)->vm_id = arg.vm_id;
	return 0;
}

static void vualink_close(struct igt_ualink *dev)
{
	struct drm_vualink_vm_destroy arg = { .vm_id = to_vualink(dev)->vm_id };

	igt_assert_eq(vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_VM_DESTROY, &arg),
		      0);
	free(dev->priv);
}

/* -------------------------------------------------------------- debugfs */

static int debugfs_open(struct igt_ualink *dev, const char *name, int mode)
{
	char path[128];
	struct stat st;

	if (fstat(dev->fd, &st))
		return -1;

	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/%s",
		 minor(st.st_rdev), name);
	return open(path, mode);
}

static int debugfs_write(struct igt_ualink *dev, const char *name,
			 const char *text)
{
	int fd = debugfs_open(dev, name, O_WRONLY);
	int ret;

	if (fd < 0)
		return -errno;

	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/*
 * The number behind @key in a file of lines "key number" or "key: number", or
 * UINT64_MAX if there is no such file.
 */
static uint64_t debugfs_counter(struct igt_ualink *dev, const char *name,
				const char *key)
{
	int fd = debugfs_open(dev, name, O_RDONLY);
	uint64_t value = UINT64_MAX, number;
	char line[256], word[64];
	FILE *file;

	if (fd < 0)
		return UINT64_MAX;

	file = fdopen(fd, "r");
	igt_assert(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%63[^: ]%*[: ]%" SCNu64, word, &number) == 2 &&
		    !strcmp(word, key))
			value = number;
	fclose(file);
	igt_assert_f(value != UINT64_MAX, "%s has no counter %s\n", name, key);
	return value;
}

uint64_t igt_vualink_counter(struct igt_ualink *dev, const char *file, const char *key)
{
	return debugfs_counter(dev, file, key);
}

static void vualink_stats(struct igt_ualink *dev, struct igt_ualink_stats *stats)
{
	/* what is flushed later was used between the clearing and the flush, as it may */
	stats->stale = debugfs_counter(dev, "hw/hw_stats", "stale") -
		       debugfs_counter(dev, "hw/hw_stats", "stale_flushed");
	stats->pte_writes = debugfs_counter(dev, "hw/hw_stats", "pte_writes");
	stats->npa_in = debugfs_counter(dev, "hw/hw_stats", "npa_in");
	stats->npa_out = debugfs_counter(dev, "hw/hw_stats", "npa_out");
	stats->pinned = debugfs_counter(dev, "state", "vram_pinned");
	stats->vram_size = debugfs_counter(dev, "state", "vram_size");
	stats->vram_used = debugfs_counter(dev, "state", "vram_used");
}

static int vualink_evict_all(struct igt_ualink *dev)
{
	return debugfs_write(dev, "evict_vram", "1");
}

static int vualink_reset(struct igt_ualink *dev)
{
	return debugfs_write(dev, "reset", "1");
}

static int vualink_suspend(struct igt_ualink *dev, bool asleep)
{
	return debugfs_write(dev, "suspend", asleep ? "1" : "0");
}

/* --------------------------------------------------------------- memory */

static int create_bo(struct igt_ualink *dev, uint64_t size, uint32_t flags,
		     uint32_t *handle)
{
	struct drm_vualink_bo_create arg = { .size = size };
	int ret;

	if (flags & IGT_UALINK_BO_VISIBLE)
		arg.flags |= DRM_VUALINK_BO_CPU_VISIBLE;
	if (flags & IGT_UALINK_BO_SYSTEM)
		arg.flags |= DRM_VUALINK_BO_SYSTEM;
	if (flags & IGT_UALINK_BO_PRIVATE)
		arg.vm_id = to_vualink(dev)->vm_id;

	ret = vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_BO_CREATE, &arg);
	*handle = arg.handle;
	return ret;
}

/* The device scatters what is allocated from now on, or not any more. */
static int set_scatter(struct igt_ualink *dev, bool scatter)
{
	return debugfs_write(dev, "vram_scatter", scatter ? "Y" : "N");
}

static int create_scattered(struct igt_ualink *dev, uint64_t size,
			    uint32_t flags, uint32_t *handle)
{
	int ret = set_scatter(dev, true);

	if (ret)
		return ret;

	ret = create_bo(dev, size, flags, handle);
	set_scatter(dev, false);
	return ret;
}

static int vualink_alloc(struct igt_ualink *dev, uint64_t size, uint32_t flags,
			 uint32_t *handle)
{
	if (flags & IGT_UALINK_BO_SCATTERED)
		return create_scattered(dev, size, flags, handle);

	return create_bo(dev, size, flags, handle);
}

static void *vualink_mmap(struct igt_ualink *dev, uint32_t handle, uint64_t size)
{
	struct drm_vualink_bo_mmap_offset arg = { .handle = handle };

	if (vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET, &arg))
		return MAP_FAILED;

	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
		    arg.offset);
}

static int vualink_bind(struct igt_ualink *dev, uint32_t handle, uint64_t va,
			uint64_t offset, uint64_t size, uint32_t flags)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = to_vualink(dev)->vm_id,
		.op = DRM_VUALINK_VM_BIND_MAP,
		.handle = handle,
		.va = va,
		.size = size,
		.offset = offset,
	};

	if (flags & IGT_UALINK_BIND_READ_ONLY)
		arg.flags |= DRM_VUALINK_VM_BIND_READ_ONLY;

	return vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg);
}

static int vualink_unbind(struct igt_ualink *dev, uint64_t va, uint64_t size)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = to_vualink(dev)->vm_id,
		.op = DRM_VUALINK_VM_BIND_UNMAP,
		.va = va,
		.size = size,
	};

	return vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg);
}

/* ----------------------------------------------------------------- jobs */

static const uint32_t ops[] = {
	[IGT_UALINK_COPY] = DRM_VUALINK_OP_COPY,
	[IGT_UALINK_FILL] = DRM_VUALINK_OP_FILL,
	[IGT_UALINK_STORE] = DRM_VUALINK_OP_STORE,
	[IGT_UALINK_ATOMIC_ADD] = DRM_VUALINK_OP_ATOMIC_ADD,
	[IGT_UALINK_WAIT] = DRM_VUALINK_OP_WAIT,
};

static int exec(struct igt_ualink *dev, const struct drm_vualink_cmd *cmds,
		unsigned int count, uint32_t syncobj)
{
	struct drm_vualink_sync out = { .handle = syncobj };
	struct drm_vualink_exec arg = {
		.vm_id = to_vualink(dev)->vm_id,
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

	return vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_EXEC, &arg);
}

/* A job is the syncobj that it signals. */
static int vualink_submit(struct igt_ualink *dev,
			  const struct igt_ualink_cmd *cmds, unsigned int count,
			  uint64_t *job)
{
	struct drm_vualink_cmd raw[MAX_CMDS] = {};
	uint32_t syncobj;
	int ret;

	igt_assert_lte(count, MAX_CMDS);
	for (unsigned int i = 0; i < count; i++) {
		raw[i].op = ops[cmds[i].op];
		raw[i].timeout_ms = cmds[i].timeout_ms;
		raw[i].dst = cmds[i].dst;
		raw[i].src = cmds[i].src;
		raw[i].len = cmds[i].len;
		raw[i].value = cmds[i].value;
	}

	if (drmSyncobjCreate(dev->fd, 0, &syncobj))
		return -errno;

	ret = exec(dev, raw, count, syncobj);
	if (ret)
		drmSyncobjDestroy(dev->fd, syncobj);
	*job = syncobj;
	return ret;
}

static int vualink_wait(struct igt_ualink *dev, uint64_t job,
			unsigned int timeout_ms)
{
	return __igt_ualink_syncobj_wait(dev, job, timeout_ms);
}

static int vualink_read_fault(struct igt_ualink *dev,
			      struct igt_ualink_fault *fault)
{
	struct drm_vualink_fault raw = {};
	struct drm_vualink_get_faults arg = {
		.faults = {
			.ptr = (uintptr_t)&raw,
			.count = 1,
			.stride = sizeof(raw),
		},
	};
	int ret = vualink_ioctl(dev->fd, DRM_IOCTL_VUALINK_GET_FAULTS, &arg);

	if (ret)
		return ret;
	if (!arg.faults.count)
		return -EAGAIN;

	igt_assert_eq_u64(arg.lost, 0);
	igt_assert_eq_u32(raw.vm_id, to_vualink(dev)->vm_id);
	igt_assert_neq_u32(raw.reason, DRM_VUALINK_FAULT_INTERNAL);
	fault->va = raw.va;
	fault->write = raw.flags & DRM_VUALINK_FAULT_WRITE;
	fault->remote = raw.reason == DRM_VUALINK_FAULT_REFUSED ||
			raw.reason == DRM_VUALINK_FAULT_LINK;
	return 0;
}

/* Writes to a knob of the fabric of the accelerator's pod. */
static int fabric_write(struct igt_ualink *dev, const char *knob,
			const char *text)
{
	char path[128], link[256], *pod, *end;
	struct stat st;
	ssize_t len;
	FILE *file;
	bool ok;

	if (fstat(dev->fd, &st))
		return -errno;

	/* the parent device is called vualink.POD.ID */
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/device",
		 major(st.st_rdev), minor(st.st_rdev));
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return -errno;
	link[len] = 0;
	pod = strstr(link, "vualink.");
	end = strrchr(link, '.');
	igt_assert(pod && end > pod + strlen("vualink."));
	*end = 0;

	snprintf(path, sizeof(path), "/sys/kernel/debug/vualink/%.64s/%.16s",
		 pod + strlen("vualink."), knob);
	file = fopen(path, "w");
	if (!file)
		return -errno;

	ok = fputs(text, file) >= 0;
	return fclose(file) || !ok ? -errno : 0;
}

static int vualink_lose(struct igt_ualink *dev, enum igt_ualink_loss what)
{
	/* types of messages, as they are on the wire */
	static const unsigned int types[] = {
		[IGT_UALINK_LOSE_REVOKES] = 0x14,
		[IGT_UALINK_LOSE_ANSWERS] = 0x11,
	};
	char rule[64] = "off";

	if (what != IGT_UALINK_LOSE_NOTHING)
		snprintf(rule, sizeof(rule), "type=%u dst=%u", types[what],
			 dev->node->info.id);
	return fabric_write(dev, "drop", rule);
}

static int vualink_entries(struct igt_ualink *dev, uint32_t handle, uint64_t size)
{
	uint64_t va = igt_ualink_va_alloc(dev, size);
	struct igt_ualink_stats before, after;
	int ret;

	vualink_stats(dev, &before);
	ret = vualink_bind(dev, handle, va, 0, size, 0);
	vualink_stats(dev, &after);
	return ret ?: vualink_unbind(dev, va, size) ?:
	       (int)(after.pte_writes - before.pte_writes);
}

const struct igt_ualink_backend igt_ualink_vualink = {
	.driver = "vualink",
	.open = vualink_open,
	.close = vualink_close,
	.alloc = vualink_alloc,
	.mmap = vualink_mmap,
	.bind = vualink_bind,
	.unbind = vualink_unbind,
	.submit = vualink_submit,
	.wait = vualink_wait,
	.read_fault = vualink_read_fault,
	.stats = vualink_stats,
	.evict_all = vualink_evict_all,
	.reset = vualink_reset,
	.suspend = vualink_suspend,
	.lose = vualink_lose,
	.entries = vualink_entries,
};

/* --------------------------------------------------- calls to be refused */

int igt_vualink_call(struct igt_vualink_scene *scene, unsigned long request,
		     void *arg)
{
	return vualink_ioctl(scene->dev->fd, request, arg);
}

void igt_vualink_refuse(struct igt_vualink_scene *scene, unsigned long request,
			void *arg, int err)
{
	igt_assert_eq(igt_vualink_call(scene, request, arg), -err);
}

uint64_t igt_vualink_param(struct igt_vualink_scene *scene, uint32_t which)
{
	struct drm_vualink_get_param arg = { .param = which };

	igt_assert_eq(igt_vualink_call(scene, DRM_IOCTL_VUALINK_GET_PARAM, &arg),
		      0);
	return arg.value;
}

void igt_vualink_scene_init(struct igt_vualink_scene *scene,
			    const struct igt_ualink_pod *pod)
{
	struct drm_vualink_vm_create vm = {};

	igt_require(pod->nodes[0].backend == &igt_ualink_vualink);
	scene->dev = igt_ualink_open(&pod->nodes[0]);
	scene->bo = igt_ualink_bo_create(scene->dev, IGT_VUALINK_SCENE_SIZE, 0);
	igt_ualink_fill_pattern(scene->bo, 1);
	scene->bo_vm_id = to_vualink(scene->dev)->vm_id;
	igt_assert_eq(igt_vualink_call(scene, DRM_IOCTL_VUALINK_VM_CREATE, &vm),
		      0);
	scene->vm_id = vm.vm_id;
	vualink_stats(scene->dev, &scene->stats);
}

void igt_vualink_scene_fini(struct igt_vualink_scene *scene)
{
	struct igt_ualink_stats stats;

	vualink_stats(scene->dev, &stats);
	igt_assert_eq_u64(stats.vram_used, scene->stats.vram_used);
	igt_assert_eq_u64(stats.pte_writes, scene->stats.pte_writes);
	igt_ualink_check_pattern(scene->bo, 1);
	igt_ualink_bo_destroy(scene->bo);
	igt_ualink_close(scene->dev);
}
