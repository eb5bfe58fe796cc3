// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that is shared between two virtual accelerators: its content, its end,
 * and what is told of it.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "ualink.h"

#define PATIENCE_MS	20000

FIXTURE(share)
{
	struct ualink_pair pair;
};

FIXTURE_SETUP(share)
{
	ASSERT_EQ(0, ualink_pair_init(&self->pair));
}

FIXTURE_TEARDOWN(share)
{
	ualink_pair_fini(&self->pair);
}

/* The state of an import of the file; -1 if it is not listed. */
static int death_of(const struct ualink_dev *dev, const __u8 *handle, __u64 *user_data)
{
	struct drm_ualink_import_info list[16] = {};
	struct drm_gem_ualink_query arg = {
		.kind = DRM_UALINK_QUERY_IMPORTS,
		.data_ptr = (uintptr_t)list,
		.count = ARRAY_SIZE(list),
		.stride = sizeof(*list),
	};

	if (ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg))
		return -1;
	for (__u32 i = 0; i < arg.count && i < ARRAY_SIZE(list); i++)
		if (!memcmp(list[i].handle, handle, sizeof(list[i].handle))) {
			*user_data = list[i].user_data;
			return list[i].death;
		}
	return -1;
}

static bool has_event(const struct ualink_dev *dev, int timeout_ms)
{
	struct pollfd pollfd = { .fd = dev->fd, .events = POLLIN };

	return poll(&pollfd, 1, timeout_ms) == 1 && pollfd.revents & POLLIN;
}

static int set_nonblock(const struct ualink_dev *dev)
{
	return fcntl(dev->fd, F_SETFL, O_RDWR | O_NONBLOCK);
}

/* What another file of the same accelerator gets for a dma-buf. */
static int from_fd_elsewhere(const struct ualink_dev *dev, int fd)
{
	struct ualink_dev other = {};
	char path[32];
	__u32 handle;
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dev->fd);
	other.fd = open(path, O_RDWR | O_CLOEXEC);
	if (other.fd < 0)
		return -errno;
	ret = ualink_from_fd(&other, fd, &handle);
	close(other.fd);
	return ret;
}

TEST_F(share, content)
{
	struct ualink_pair *p = &self->pair;

	EXPECT_EQ(0, ualink_store(&p->exporter, p->own_va, 1));
	EXPECT_EQ(0, ualink_check(&p->importer, p->far_va, 1));
	EXPECT_EQ(0, ualink_store(&p->importer, p->far_va, 2));
	EXPECT_EQ(0, ualink_check(&p->exporter, p->own_va, 2));
	EXPECT_EQ(-EILSEQ, ualink_check(&p->exporter, p->own_va, 1));
}

TEST_F(share, same_handle_again)
{
	struct ualink_pair *p = &self->pair;
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	__u32 far;
	int fd;

	ASSERT_EQ(0, ualink_export(&p->exporter, p->own, handle));
	EXPECT_EQ(0, memcmp(handle, p->handle, sizeof(handle)));
	ASSERT_EQ(0, ualink_import(&p->importer, handle, 0, &fd));
	ASSERT_EQ(0, ualink_from_fd(&p->importer, fd, &far));
	EXPECT_EQ(p->far, far);
	close(fd);
}

TEST_F(share, read_only)
{
	struct ualink_pair *p = &self->pair;
	struct drm_gem_ualink_export export = { .flags = DRM_UALINK_EXPORT_READ_ONLY };
	struct drm_gem_ualink_import import = { .fd = -1 };
	const __u64 va = p->far_va + UALINK_SIZE;
	__u32 far;

	ASSERT_EQ(0, ualink_bo(&p->exporter, UALINK_SIZE, &export.gem_handle));
	ASSERT_EQ(0, ualink_bind(&p->exporter, export.gem_handle, va, UALINK_SIZE, 0));
	ASSERT_EQ(0, ualink_store(&p->exporter, va, 3));
	ASSERT_EQ(0, ualink_ioctl(p->exporter.fd, DRM_IOCTL_GEM_UALINK_EXPORT, &export));

	memcpy(import.handle, export.handle, sizeof(import.handle));
	EXPECT_EQ(-EACCES, ualink_ioctl(p->importer.fd, DRM_IOCTL_GEM_UALINK_IMPORT, &import));
	EXPECT_EQ(-1, import.fd);
	import.flags = DRM_UALINK_IMPORT_READ_ONLY;
	ASSERT_EQ(0, ualink_ioctl(p->importer.fd, DRM_IOCTL_GEM_UALINK_IMPORT, &import));
	EXPECT_EQ(DRM_UALINK_ACCESS_READ, import.access);
	EXPECT_EQ(UALINK_SIZE, import.size);
	EXPECT_EQ(p->exporter.info.id, import.exporter_id);

	ASSERT_EQ(0, ualink_from_fd(&p->importer, import.fd, &far));
	close(import.fd);
	EXPECT_EQ(-EACCES, ualink_bind(&p->importer, far, va, UALINK_SIZE, 0));
	ASSERT_EQ(0, ualink_bind(&p->importer, far, va, UALINK_SIZE,
				 DRM_VUALINK_VM_BIND_READ_ONLY));
	EXPECT_EQ(0, ualink_check(&p->importer, va, 3));
	EXPECT_EQ(-EFAULT, ualink_store(&p->importer, va, 4));
	EXPECT_EQ(0, ualink_check(&p->exporter, va, 3));
}

TEST_F(share, list)
{
	struct ualink_pair *p = &self->pair;
	struct drm_gem_ualink_export arg = { .allow_count = 1 };
	__u32 id = p->exporter.info.id;
	int fd;

	/* who is not on the list sees no export */
	arg.allow_ptr = (uintptr_t)&id;
	ASSERT_EQ(0, ualink_bo(&p->exporter, UALINK_SIZE, &arg.gem_handle));
	ASSERT_EQ(0, ualink_ioctl(p->exporter.fd, DRM_IOCTL_GEM_UALINK_EXPORT, &arg));
	EXPECT_EQ(-ENOENT, ualink_import(&p->importer, arg.handle, 0, &fd));
	ASSERT_EQ(0, ualink_revoke(&p->exporter, arg.gem_handle));

	id = p->importer.info.id;
	ASSERT_EQ(0, ualink_ioctl(p->exporter.fd, DRM_IOCTL_GEM_UALINK_EXPORT, &arg));
	EXPECT_EQ(0, ualink_import(&p->importer, arg.handle, 0, &fd));
	close(fd);
}

TEST_F(share, revoke)
{
	struct ualink_pair *p = &self->pair;
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	__u64 user_data = 0;
	__u32 far;
	int fd;

	ASSERT_EQ(0, ualink_import(&p->importer, p->handle, 0x1122334455667788ull, &fd));
	close(fd);
	ASSERT_EQ(0, ualink_store(&p->exporter, p->own_va, 5));
	ASSERT_EQ(0, ualink_check(&p->importer, p->far_va, 5));
	EXPECT_EQ(DRM_UALINK_ALIVE, death_of(&p->importer, p->handle, &user_data));
	EXPECT_FALSE(has_event(&p->importer, 0));
	EXPECT_EQ(0, from_fd_elsewhere(&p->importer, p->fd));

	ASSERT_EQ(0, ualink_revoke(&p->exporter, p->own));
	EXPECT_EQ(-EFAULT, ualink_check(&p->importer, p->far_va, 5));
	EXPECT_EQ(-EFAULT, ualink_store(&p->importer, p->far_va, 6));
	ASSERT_TRUE(has_event(&p->importer, PATIENCE_MS));
	EXPECT_EQ(DRM_UALINK_DEATH_REVOKED, death_of(&p->importer, p->handle, &user_data));
	EXPECT_EQ(0x1122334455667788ull, user_data);
	EXPECT_EQ(-ENODEV, ualink_bind(&p->importer, p->far, p->far_va, UALINK_SIZE, 0));
	/* a name that the file had stays the name of a dead object; nobody gets a new one */
	EXPECT_EQ(0, ualink_from_fd(&p->importer, p->fd, &far));
	EXPECT_EQ(p->far, far);
	EXPECT_EQ(-ENODEV, from_fd_elsewhere(&p->importer, p->fd));
	EXPECT_EQ(-ENOENT, ualink_import(&p->importer, p->handle, 0, &fd));
	EXPECT_EQ(-ENOENT, ualink_revoke(&p->exporter, p->own));

	/* the exporter keeps the memory, and what is in it */
	EXPECT_EQ(0, ualink_check(&p->exporter, p->own_va, 5));
	ASSERT_EQ(0, ualink_export(&p->exporter, p->own, handle));
	EXPECT_NE(0, memcmp(handle, p->handle, sizeof(handle)));
	ASSERT_EQ(0, ualink_import(&p->importer, handle, 0, &fd));
	ASSERT_EQ(0, ualink_from_fd(&p->importer, fd, &far));
	close(fd);
	ASSERT_EQ(0, ualink_bind(&p->importer, far, p->far_va, UALINK_SIZE, 0));
	EXPECT_EQ(0, ualink_check(&p->importer, p->far_va, 5));
}

/* An export ends with the last reference to its object. */
TEST_F(share, free)
{
	struct ualink_pair *p = &self->pair;
	__u8 handle[DRM_UALINK_HANDLE_SIZE];
	__u64 user_data = 0;
	__u32 bo;
	int fd;

	ASSERT_EQ(0, ualink_bo(&p->exporter, UALINK_SIZE, &bo));
	ASSERT_EQ(0, ualink_export(&p->exporter, bo, handle));
	ASSERT_EQ(0, ualink_import(&p->importer, handle, 9, &fd));
	ASSERT_EQ(0, ualink_gem_close(&p->exporter, bo));
	ASSERT_TRUE(has_event(&p->importer, PATIENCE_MS));
	EXPECT_EQ(DRM_UALINK_DEATH_REVOKED, death_of(&p->importer, handle, &user_data));
	EXPECT_EQ(9u, user_data);
	/* and nobody else's */
	EXPECT_EQ(DRM_UALINK_ALIVE, death_of(&p->importer, p->handle, &user_data));
	EXPECT_EQ(0, ualink_store(&p->importer, p->far_va, 7));
	EXPECT_EQ(0, ualink_check(&p->exporter, p->own_va, 7));
	close(fd);
}

TEST_F(share, event)
{
	struct ualink_pair *p = &self->pair;
	struct drm_ualink_event event[4] = {};
	void *nowhere = mmap(NULL, sizeof(event), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(nowhere != MAP_FAILED);
	ASSERT_EQ(0, set_nonblock(&p->importer));
	EXPECT_EQ(-1, read(p->importer.fd, event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);

	ASSERT_EQ(0, ualink_revoke(&p->exporter, p->own));
	ASSERT_TRUE(has_event(&p->importer, PATIENCE_MS));

	/* a read that has no room leaves it there */
	for (size_t size = 0; size < sizeof(*event); size++) {
		EXPECT_EQ(0, read(p->importer.fd, event, size))
			TH_LOG("%zu bytes", size);
	}
	EXPECT_EQ(-1, read(p->importer.fd, nowhere, sizeof(event)));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0u, event[0].base.type);

	EXPECT_EQ(sizeof(*event), read(p->importer.fd, event, sizeof(event)));
	EXPECT_EQ(DRM_EVENT_UALINK_IMPORTS_DIED, event[0].base.type);
	EXPECT_EQ(sizeof(*event), event[0].base.length);
	EXPECT_EQ(1u, event[0].deaths);
	EXPECT_EQ(0u, event[1].base.type);
	EXPECT_EQ(-1, read(p->importer.fd, event, sizeof(event)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_FALSE(has_event(&p->exporter, 0));
}

#define COUNT	5

/* Exports COUNT objects, which the importer imports. */
static int share_more(struct ualink_pair *p, __u32 *bo, __u8 (*handle)[DRM_UALINK_HANDLE_SIZE],
		      int *fd)
{
	int ret = 0;

	for (int i = 0; i < COUNT && !ret; i++) {
		ret = ualink_bo(&p->exporter, UALINK_SIZE, &bo[i]);
		if (!ret)
			ret = ualink_export(&p->exporter, bo[i], handle[i]);
		if (!ret)
			ret = ualink_import(&p->importer, handle[i], i, &fd[i]);
	}
	return ret;
}

/* Deaths that nobody reads of are one event. */
TEST_F(share, event_of_many)
{
	struct ualink_pair *p = &self->pair;
	__u8 handle[COUNT][DRM_UALINK_HANDLE_SIZE];
	struct drm_ualink_event event[2] = {};
	__u64 user_data = 0;
	__u32 bo[COUNT];
	int fd[COUNT], ret = 0;

	ASSERT_EQ(0, set_nonblock(&p->importer));
	ASSERT_EQ(0, share_more(p, bo, handle, fd));
	for (int i = 0; i < COUNT && !ret; i++)
		ret = ualink_revoke(&p->exporter, bo[i]);
	ASSERT_EQ(0, ret);
	/* the accelerators talk to each other in the order of the calls */
	for (int i = 0; i < PATIENCE_MS / 10 &&
	     death_of(&p->importer, handle[COUNT - 1], &user_data) != DRM_UALINK_DEATH_REVOKED; i++)
		usleep(10000);

	EXPECT_EQ(sizeof(*event), read(p->importer.fd, event, sizeof(event)));
	EXPECT_EQ((__u64)COUNT, event[0].deaths);
	EXPECT_EQ(-1, read(p->importer.fd, event, sizeof(event)));
	for (int i = 0; i < COUNT; i++) {
		EXPECT_EQ(DRM_UALINK_DEATH_REVOKED, death_of(&p->importer, handle[i], &user_data));
		EXPECT_EQ((__u64)i, user_data);
		close(fd[i]);
	}
}

FIXTURE(paging)
{
	struct ualink_pair pair;
	__u8 handle[COUNT][DRM_UALINK_HANDLE_SIZE];
	__u32 bo[COUNT];
	int fd[COUNT];
};

FIXTURE_SETUP(paging)
{
	ASSERT_EQ(0, ualink_pair_init(&self->pair));
	ASSERT_EQ(0, share_more(&self->pair, self->bo, self->handle, self->fd));
}

FIXTURE_TEARDOWN(paging)
{
	for (int i = 0; i < COUNT; i++)
		close(self->fd[i]);
	ualink_pair_fini(&self->pair);
}

FIXTURE_VARIANT(paging)
{
	__u32 kind;
	bool on_importer;
	/* elements and bytes of each */
	__u32 count;
	__u32 size;
};

FIXTURE_VARIANT_ADD(paging, device) {
	DRM_UALINK_QUERY_DEVICE, false, 1, sizeof(struct drm_ualink_device_info)
};

FIXTURE_VARIANT_ADD(paging, exports) {
	DRM_UALINK_QUERY_EXPORTS, false, COUNT + 1, sizeof(struct drm_ualink_export_info)
};

FIXTURE_VARIANT_ADD(paging, imports) {
	DRM_UALINK_QUERY_IMPORTS, true, COUNT + 1, sizeof(struct drm_ualink_import_info)
};

FIXTURE_VARIANT_ADD(paging, importers) {
	DRM_UALINK_QUERY_IMPORTERS, false, 1, sizeof(__u32)
};

#define LARGE	4096u
static unsigned char all[COUNT + 2][LARGE], some[COUNT + 2][LARGE];

/* Each number of elements and each stride gives as much of the same as it has room for. */
TEST_F(paging, query)
{
	static const __u32 strides[] = { 4, 8, 24, 40, 48, 152, 256, LARGE };
	const struct ualink_dev *dev = variant->on_importer ? &self->pair.importer :
							      &self->pair.exporter;
	const struct drm_gem_ualink_query first = {
		.kind = variant->kind,
		.arg = variant->kind == DRM_UALINK_QUERY_IMPORTERS ? self->pair.own : 0,
	};
	struct drm_gem_ualink_query arg = first;
	unsigned char rest = 0;

	ASSERT_EQ(0, ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	EXPECT_EQ(variant->count, arg.count);
	EXPECT_EQ(variant->size, arg.stride);

	arg.data_ptr = (uintptr_t)all;
	arg.stride = LARGE;
	memset(all, 0xa5, sizeof(all));
	ASSERT_EQ(0, ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	EXPECT_EQ(variant->count, arg.count);
	for (__u32 i = 0; i < variant->count; i++) {
		for (__u32 at = variant->size; at < LARGE; at++)
			rest |= all[i][at];
	}
	EXPECT_EQ(0, rest);
	EXPECT_EQ(0xa5, all[variant->count][0]);

	for (size_t s = 0; s < ARRAY_SIZE(strides); s++) {
		const __u32 known = strides[s] < variant->size ? strides[s] : variant->size;

		for (__u32 room = 1; room <= variant->count + 1; room++) {
			__u32 filled = room < variant->count ? room : variant->count;
			unsigned char *p = (unsigned char *)some;

			arg = first;
			arg.data_ptr = (uintptr_t)some;
			arg.stride = strides[s];
			arg.count = room;
			memset(some, 0xa5, sizeof(some));
			ASSERT_EQ(0, ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
			EXPECT_EQ(variant->count, arg.count);
			EXPECT_EQ(strides[s], arg.stride);
			for (__u32 i = 0; i < filled; i++) {
				EXPECT_EQ(0, memcmp(p + i * strides[s], all[i], known))
					TH_LOG("stride %u, %u of %u", strides[s], i, room);
			}
			EXPECT_EQ(0xa5, p[filled * strides[s]])
				TH_LOG("stride %u, more than %u", strides[s], room);
		}
	}
}

TEST_F(paging, content)
{
	const struct ualink_dev *dev = variant->on_importer ? &self->pair.importer :
							      &self->pair.exporter;
	struct drm_gem_ualink_query arg = {
		.kind = variant->kind,
		.data_ptr = (uintptr_t)all,
		.count = COUNT + 2,
		.stride = variant->size,
		.arg = variant->kind == DRM_UALINK_QUERY_IMPORTERS ? self->pair.own : 0,
	};
	const struct drm_ualink_device_info *info = (void *)all;
	const struct drm_ualink_export_info *export = (void *)all;
	const struct drm_ualink_import_info *import = (void *)all;
	const bool exports = variant->kind == DRM_UALINK_QUERY_EXPORTS;
	int found = 0;

	ASSERT_EQ(0, ualink_ioctl(dev->fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	switch (variant->kind) {
	case DRM_UALINK_QUERY_DEVICE:
		EXPECT_EQ(COUNT, info->exports - self->pair.exporter.info.exports);
		EXPECT_EQ(COUNT, info->grants - self->pair.exporter.info.grants);
		EXPECT_EQ((__u64)COUNT * UALINK_SIZE,
			  info->exported_bytes - self->pair.exporter.info.exported_bytes);
		return;
	case DRM_UALINK_QUERY_IMPORTERS:
		EXPECT_EQ(self->pair.importer.info.id, *(__u32 *)all);
		return;
	}
	for (int n = 0; n < (COUNT + 1) * COUNT; n++) {
		int i = n / COUNT, j = n % COUNT;
		const __u8 *handle = exports ? export[i].handle : import[i].handle;

		if (memcmp(handle, self->handle[j], DRM_UALINK_HANDLE_SIZE))
			continue;
		found++;
		EXPECT_EQ(UALINK_SIZE, exports ? export[i].size : import[i].size);
		if (exports) {
			EXPECT_EQ(self->bo[j], export[i].gem_handle);
			EXPECT_EQ(1u, export[i].importers);
		} else {
			EXPECT_EQ((__u64)j, import[i].user_data);
			EXPECT_EQ(self->pair.exporter.info.id, import[i].exporter_id);
		}
	}
	EXPECT_EQ(COUNT, found);
}

/* Each other member of the pod, in pages of one. */
TEST_F(share, peers)
{
	struct drm_ualink_peer_info list[DRM_UALINK_MAX_IDS] = {};
	struct drm_gem_ualink_query arg = { .kind = DRM_UALINK_QUERY_PEERS };
	struct ualink_pair *p = &self->pair;
	int found = 0;

	ASSERT_EQ(0, ualink_ioctl(p->importer.fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	EXPECT_EQ(sizeof(*list), arg.stride);
	ASSERT_LE(1u, arg.count);
	arg.data_ptr = (uintptr_t)list;
	ASSERT_EQ(0, ualink_ioctl(p->importer.fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	for (__u32 i = 0; i < arg.count; i++) {
		EXPECT_NE(p->importer.info.id, list[i].id);
		EXPECT_EQ(0u, list[i].pad);
		if (list[i].id != p->exporter.info.id)
			continue;
		EXPECT_EQ(DRM_UALINK_PEER_UP, list[i].state);
		EXPECT_EQ(1u, list[i].imports);
		found++;
	}
	EXPECT_EQ(1, found);
}

int main(int argc, char **argv)
{
	ualink_skip_without_pair();
	return test_harness_run(argc, argv);
}
