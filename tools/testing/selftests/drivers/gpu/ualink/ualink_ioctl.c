// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What the ioctls refuse, that it changes nothing then, and what they do with
 * arguments of another size than the kernel knows.
 */
#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "ualink.h"

#define UNMAPPED	8ull
#define TOP		(~0ull - 3)
/* The highest size that an ioctl number has room for */
#define BIG		_IOC_SIZEMASK

FIXTURE(refused)
{
	struct ualink_pair pair;
	/* a second object, which is not exported */
	__u32 plain;
	size_t page;
	/* a page that can be used, and behind it one that cannot */
	char *edge;
};

FIXTURE_SETUP(refused)
{
	ASSERT_EQ(0, ualink_pair_init(&self->pair));
	ASSERT_EQ(0, ualink_bo(&self->pair.exporter, UALINK_SIZE, &self->plain));
	self->page = sysconf(_SC_PAGESIZE);
	self->edge = mmap(NULL, 2 * self->page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_TRUE(self->edge != MAP_FAILED);
	ASSERT_EQ(0, mprotect(self->edge + self->page, self->page, PROT_NONE));
}

FIXTURE_TEARDOWN(refused)
{
	munmap(self->edge, 2 * self->page);
	ualink_pair_fini(&self->pair);
}

#define EXPECT_UNCHANGED() do {							\
	struct ualink_pair *p = &self->pair;					\
										\
	EXPECT_TRUE(ualink_unchanged(&p->exporter, &p->exporter.info));		\
	EXPECT_TRUE(ualink_unchanged(&p->importer, &p->importer.info));		\
} while (0)

/* EXPORT */

/* Placeholders in the tables for what is known at run time only */
#define PLAIN	0x50000001u
#define OWN	0x50000002u
#define IDS	0x50000003ull
#define CUT	0x50000004ull

static const struct export_case {
	const char *name;
	int want;
	struct drm_gem_ualink_export arg;
} export_cases[] = {
	{ "padding", -EINVAL, { .gem_handle = PLAIN, .pad = 1 } },
	{ "all padding", -EINVAL, { .gem_handle = PLAIN, .pad = UINT_MAX } },
	{ "handle zero", -ENOENT, { .gem_handle = 0 } },
	{ "unknown handle", -ENOENT, { .gem_handle = NO_HANDLE } },
	{ "highest handle", -ENOENT, { .gem_handle = UINT_MAX } },
	{ "list without count", -EINVAL, { .gem_handle = PLAIN, .allow_ptr = IDS } },
	{ "count without list", -EINVAL, { .gem_handle = PLAIN, .allow_count = 1 } },
	{ "one id too many", -EINVAL, { .gem_handle = PLAIN, .allow_ptr = IDS,
					.allow_count = DRM_UALINK_MAX_IDS + 1 } },
	{ "huge count", -EINVAL, { .gem_handle = PLAIN, .allow_ptr = IDS,
				   .allow_count = UINT_MAX } },
	{ "count that wraps to 4 bytes", -EINVAL, { .gem_handle = PLAIN, .allow_ptr = IDS,
						    .allow_count = (1u << 30) + 1 } },
	{ "id that cannot be", -EINVAL, { .gem_handle = PLAIN, .allow_ptr = IDS,
					  .allow_count = 2 } },
	{ "unmapped list", -EFAULT, { .gem_handle = PLAIN, .allow_ptr = UNMAPPED,
				      .allow_count = 1 } },
	{ "list beyond user space", -EFAULT, { .gem_handle = PLAIN, .allow_ptr = TOP,
					       .allow_count = 1 } },
	{ "list of the kernel", -EFAULT, { .gem_handle = PLAIN, .allow_ptr = 1ull << 63,
					   .allow_count = 1 } },
	{ "list that ends early", -EFAULT, { .gem_handle = PLAIN, .allow_ptr = CUT,
					     .allow_count = 2 } },
	{ "other flags", -EEXIST, { .gem_handle = OWN, .flags = DRM_UALINK_EXPORT_READ_ONLY } },
	{ "other list", -EEXIST, { .gem_handle = OWN, .allow_ptr = IDS, .allow_count = 1 } },
};

TEST_F(refused, export)
{
	static const __u8 zeros[DRM_UALINK_HANDLE_SIZE];
	__u32 ids[] = { self->pair.importer.info.id, DRM_UALINK_MAX_IDS };
	__u32 *cut = (__u32 *)(self->edge + self->page) - 1;

	*cut = ids[0];
	for (size_t i = 0; i < ARRAY_SIZE(export_cases); i++) {
		const struct export_case *c = &export_cases[i];
		struct drm_gem_ualink_export arg = c->arg;

		if (arg.gem_handle == PLAIN || arg.gem_handle == OWN)
			arg.gem_handle = arg.gem_handle == OWN ? self->pair.own : self->plain;
		if (arg.allow_ptr == IDS || arg.allow_ptr == CUT)
			arg.allow_ptr = (uintptr_t)(arg.allow_ptr == IDS ? ids : cut);
		EXPECT_EQ(c->want, ualink_ioctl(self->pair.exporter.fd,
						DRM_IOCTL_GEM_UALINK_EXPORT, &arg))
			TH_LOG("%s", c->name);
		EXPECT_EQ(0, memcmp(zeros, arg.handle, sizeof(zeros)))
			TH_LOG("%s: there is a handle", c->name);
		EXPECT_UNCHANGED();
	}
}

TEST_F(refused, export_flags)
{
	for (__u32 flag = 1; flag; flag <<= 1) {
		struct drm_gem_ualink_export arg = { .gem_handle = self->plain, .flags = flag };

		if (flag == DRM_UALINK_EXPORT_READ_ONLY)
			continue;
		EXPECT_EQ(-EINVAL, ualink_ioctl(self->pair.exporter.fd,
						DRM_IOCTL_GEM_UALINK_EXPORT, &arg))
			TH_LOG("flag %#x", flag);
	}
	EXPECT_UNCHANGED();
}

/* An import is not exported again, by whoever has it. */
TEST_F(refused, export_of_import)
{
	__u8 handle[DRM_UALINK_HANDLE_SIZE];

	EXPECT_EQ(-EOPNOTSUPP, ualink_export(&self->pair.importer, self->pair.far, handle));
	EXPECT_UNCHANGED();
}

/* IMPORT */

TEST_F(refused, import_flags)
{
	const __u32 known = DRM_UALINK_IMPORT_CLOEXEC | DRM_UALINK_IMPORT_READ_ONLY;
	struct drm_gem_ualink_import arg;

	for (__u32 flag = 1; flag; flag <<= 1) {
		if (flag & known)
			continue;
		arg = (struct drm_gem_ualink_import) { .flags = flag, .fd = -1 };
		memcpy(arg.handle, self->pair.handle, sizeof(arg.handle));
		EXPECT_EQ(-EINVAL, ualink_ioctl(self->pair.importer.fd,
						DRM_IOCTL_GEM_UALINK_IMPORT, &arg))
			TH_LOG("flag %#x", flag);
		EXPECT_EQ(-1, arg.fd);
	}
	EXPECT_UNCHANGED();
}

TEST_F(refused, import_timeout)
{
	static const __s64 times[] = { -1, LLONG_MIN, INT_MIN };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		struct drm_gem_ualink_import arg = { .timeout_ns = times[i], .fd = -1 };

		memcpy(arg.handle, self->pair.handle, sizeof(arg.handle));
		EXPECT_EQ(-EINVAL, ualink_ioctl(self->pair.importer.fd,
						DRM_IOCTL_GEM_UALINK_IMPORT, &arg));
		EXPECT_EQ(-1, arg.fd);
	}
	EXPECT_UNCHANGED();
}

/* No bit of a handle is without a meaning. */
TEST_F(refused, import_handle)
{
	__u8 handle[DRM_UALINK_HANDLE_SIZE] = {};
	int fd, ret;

	ret = ualink_import(&self->pair.importer, handle, 0, &fd);
	EXPECT_TRUE(ret == -ENOENT || ret == -EXDEV || ret == -ENODEV)
		TH_LOG("zeros: %d", ret);
	EXPECT_EQ(-1, fd);
	for (int bit = 0; bit < 8 * DRM_UALINK_HANDLE_SIZE; bit++) {
		memcpy(handle, self->pair.handle, sizeof(handle));
		handle[bit / 8] ^= 1 << bit % 8;
		ret = ualink_import(&self->pair.importer, handle, 0, &fd);
		EXPECT_TRUE(ret == -ENOENT || ret == -EXDEV || ret == -ENODEV)
			TH_LOG("bit %d: %d", bit, ret);
		EXPECT_EQ(-1, fd);
	}
	EXPECT_UNCHANGED();
}

/* REVOKE */

TEST_F(refused, revoke)
{
	struct drm_gem_ualink_revoke arg = { .gem_handle = self->pair.own };

	for (arg.flags = 1; arg.flags; arg.flags <<= 1) {
		EXPECT_EQ(-EINVAL, ualink_ioctl(self->pair.exporter.fd,
						DRM_IOCTL_GEM_UALINK_REVOKE, &arg))
			TH_LOG("flag %#x", arg.flags);
	}
	EXPECT_EQ(-ENOENT, ualink_revoke(&self->pair.exporter, 0));
	EXPECT_EQ(-ENOENT, ualink_revoke(&self->pair.exporter, NO_HANDLE));
	EXPECT_EQ(-ENOENT, ualink_revoke(&self->pair.exporter, UINT_MAX));
	EXPECT_EQ(-ENOENT, ualink_revoke(&self->pair.exporter, self->plain));
	EXPECT_EQ(-ENOENT, ualink_revoke(&self->pair.importer, self->pair.far));
	EXPECT_UNCHANGED();
	EXPECT_EQ(0, ualink_store(&self->pair.importer, self->pair.far_va, 1));
	EXPECT_EQ(0, ualink_check(&self->pair.exporter, self->pair.own_va, 1));
}

/* QUERY */

#define ROOM	sizeof(struct drm_ualink_device_info)
#define DATA	0x50000005ull

static const struct query_case {
	const char *name;
	int want;
	struct drm_gem_ualink_query arg;
} query_cases[] = {
	{ "kind after the last", -EINVAL, { DRM_UALINK_QUERY_IMPORTERS + 1, 0, DATA, 1, ROOM } },
	{ "highest kind", -EINVAL, { UINT_MAX, 0, DATA, 1, ROOM } },
	{ "padding", -EINVAL, { 0, 0, DATA, 1, ROOM, .pad = 1 } },
	{ "argument to device", -EINVAL, { DRM_UALINK_QUERY_DEVICE, 0, DATA, 1, ROOM, .arg = 1 } },
	{ "argument to peers", -EINVAL, { DRM_UALINK_QUERY_PEERS, 0, DATA, 1, ROOM, .arg = 1 } },
	{ "argument to exports", -EINVAL,
	  { DRM_UALINK_QUERY_EXPORTS, 0, DATA, 1, ROOM, .arg = 1 } },
	{ "argument to imports", -EINVAL,
	  { DRM_UALINK_QUERY_IMPORTS, 0, DATA, 1, ROOM, .arg = 1 } },
	{ "no stride", -EINVAL, { 0, 0, DATA, 1, 0 } },
	{ "odd stride", -EINVAL, { 0, 0, DATA, 1, 7 } },
	{ "stride of a half word", -EINVAL, { 0, 0, DATA, 1, 6 } },
	{ "stride above the limit", -EINVAL, { 0, 0, DATA, 1, 4100 } },
	{ "highest stride", -EINVAL, { 0, 0, DATA, 1, UINT_MAX } },
	{ "unmapped array", -EFAULT, { 0, 0, UNMAPPED, 1, ROOM } },
	{ "array at the end of memory", -EFAULT, { 0, 0, TOP, 1, ROOM } },
	{ "array of the kernel", -EFAULT, { 0, 0, 1ull << 63, 1, ROOM } },
	{ "array that ends early", -EFAULT, { 0, 0, CUT, 1, ROOM } },
	{ "unmapped peers", -EFAULT, { DRM_UALINK_QUERY_PEERS, 0, UNMAPPED, 1, ROOM } },
	{ "unmapped exports", -EFAULT, { DRM_UALINK_QUERY_EXPORTS, 0, UNMAPPED, 1, ROOM } },
	{ "importers of nothing", -ENOENT, { DRM_UALINK_QUERY_IMPORTERS, 0, DATA, 1, 4 } },
	{ "importers of an unknown handle", -ENOENT,
	  { DRM_UALINK_QUERY_IMPORTERS, 0, DATA, 1, 4, .arg = NO_HANDLE } },
	{ "importers of what is not exported", -ENOENT,
	  { DRM_UALINK_QUERY_IMPORTERS, 0, DATA, 1, 4, .arg = PLAIN } },
};

TEST_F(refused, query)
{
	unsigned char data[2 * ROOM], before[2 * ROOM];

	memset(data, 0xa5, sizeof(data));
	memset(before, 0xa5, sizeof(before));
	for (size_t i = 0; i < ARRAY_SIZE(query_cases); i++) {
		const struct query_case *c = &query_cases[i];
		struct drm_gem_ualink_query arg = c->arg;

		if (arg.data_ptr == DATA)
			arg.data_ptr = (uintptr_t)data;
		if (arg.data_ptr == CUT)
			arg.data_ptr = (uintptr_t)(self->edge + self->page - 8);
		if (arg.arg == PLAIN)
			arg.arg = self->plain;
		EXPECT_EQ(c->want, ualink_ioctl(self->pair.exporter.fd,
						DRM_IOCTL_GEM_UALINK_QUERY, &arg))
			TH_LOG("%s", c->name);
		EXPECT_EQ(0, memcmp(before, data, sizeof(data)))
			TH_LOG("%s: something was written", c->name);
	}
	EXPECT_UNCHANGED();
}

TEST_F(refused, query_flags)
{
	struct drm_gem_ualink_query arg = {};

	for (arg.flags = 1; arg.flags; arg.flags <<= 1) {
		EXPECT_EQ(-EINVAL, ualink_ioctl(self->pair.exporter.fd,
						DRM_IOCTL_GEM_UALINK_QUERY, &arg))
			TH_LOG("flag %#x", arg.flags);
	}
}

/* A count that no memory has room for is fine: what does not exist is not written. */
TEST_F(refused, query_huge_count)
{
	struct drm_ualink_device_info info[2];
	struct drm_gem_ualink_query arg = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)info,
		.count = UINT_MAX,
		.stride = sizeof(*info),
	};
	struct drm_ualink_device_info untouched;

	memset(info, 0xa5, sizeof(info));
	memset(&untouched, 0xa5, sizeof(untouched));
	ASSERT_EQ(0, ualink_ioctl(self->pair.exporter.fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	EXPECT_EQ(1u, arg.count);
	EXPECT_EQ(self->pair.exporter.info.id, info[0].id);
	EXPECT_EQ(0, memcmp(&untouched, &info[1], sizeof(untouched)));

	arg.kind = DRM_UALINK_QUERY_IMPORTERS;
	arg.arg = self->pair.own;
	arg.count = UINT_MAX;
	arg.stride = sizeof(__u32);
	memset(info, 0xa5, sizeof(info));
	ASSERT_EQ(0, ualink_ioctl(self->pair.exporter.fd, DRM_IOCTL_GEM_UALINK_QUERY, &arg));
	EXPECT_EQ(1u, arg.count);
	EXPECT_EQ(self->pair.importer.info.id, info[0].flags);
	EXPECT_EQ(untouched.id, info[0].id);
}

/* All of them */

static const struct {
	const char *name;
	unsigned long request;
} requests[] = {
	{ "EXPORT", DRM_IOCTL_GEM_UALINK_EXPORT },
	{ "IMPORT", DRM_IOCTL_GEM_UALINK_IMPORT },
	{ "REVOKE", DRM_IOCTL_GEM_UALINK_REVOKE },
	{ "QUERY", DRM_IOCTL_GEM_UALINK_QUERY },
};

static const unsigned long bad_args[] = { 0, UNMAPPED, ULONG_MAX - 3, 1ul << (__LONG_WIDTH__ - 1) };

TEST_F(refused, argument)
{
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(bad_args); j++) {
			EXPECT_EQ(-EFAULT, ualink_ioctl(self->pair.exporter.fd,
							requests[i].request,
							(void *)bad_args[j]))
				TH_LOG("%s, %#lx", requests[i].name, bad_args[j]);
		}
		EXPECT_EQ(-EFAULT, ualink_ioctl(self->pair.exporter.fd, requests[i].request,
						self->edge + self->page - 4))
			TH_LOG("%s, an argument that ends early", requests[i].name);
	}
	EXPECT_UNCHANGED();
}

/* Numbers besides, of types that are not DRM's, and files that are no device */
TEST_F(refused, number)
{
	char arg[BIG] = {};

	EXPECT_EQ(-ENOTTY, ualink_ioctl(self->pair.exporter.fd, _IOWR('e', 0xd3, arg), arg));
	EXPECT_EQ(-EINVAL, ualink_ioctl(self->pair.exporter.fd, DRM_IOWR(0xff, arg), arg));
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		EXPECT_EQ(-EBADF, ualink_ioctl(-1, requests[i].request, arg));
}

/* A number with the size of another time, and the argument as it looks then. */
static unsigned long resized(unsigned long request, unsigned int size)
{
	return _IOC(_IOC_DIR(request), _IOC_TYPE(request), _IOC_NR(request), size);
}

/* What the kernel does not know of an argument is left as it is. */
TEST_F(refused, larger)
{
	static const unsigned int extra[] = { 1, 4, 8, 64, 1000, 4096, 16000 };
	unsigned char arg[BIG], rest[BIG];

	memset(rest, 0xff, sizeof(rest));
	for (size_t i = 0; i < ARRAY_SIZE(extra); i++) {
		struct drm_gem_ualink_export *export = (void *)arg;
		struct drm_gem_ualink_query *query = (void *)arg;
		struct drm_gem_ualink_import *import = (void *)arg;

		memset(arg, 0xff, sizeof(arg));
		memset(export, 0, sizeof(*export));
		export->gem_handle = self->pair.own;
		EXPECT_EQ(0, ualink_ioctl(self->pair.exporter.fd,
					  resized(DRM_IOCTL_GEM_UALINK_EXPORT,
						  sizeof(*export) + extra[i]), arg));
		EXPECT_EQ(0, memcmp(export->handle, self->pair.handle, sizeof(export->handle)));
		EXPECT_EQ(UALINK_SIZE, export->size);
		EXPECT_EQ(0, memcmp(export + 1, rest, extra[i]));

		memset(arg, 0xff, sizeof(arg));
		memset(import, 0, sizeof(*import));
		memcpy(import->handle, self->pair.handle, sizeof(import->handle));
		import->fd = -1;
		EXPECT_EQ(0, ualink_ioctl(self->pair.importer.fd,
					  resized(DRM_IOCTL_GEM_UALINK_IMPORT,
						  sizeof(*import) + extra[i]), arg));
		EXPECT_LE(0, import->fd);
		close(import->fd);
		EXPECT_EQ(0, memcmp(import + 1, rest, extra[i]));

		memset(arg, 0xff, sizeof(arg));
		memset(query, 0, sizeof(*query));
		EXPECT_EQ(0, ualink_ioctl(self->pair.exporter.fd,
					  resized(DRM_IOCTL_GEM_UALINK_QUERY,
						  sizeof(*query) + extra[i]), arg));
		EXPECT_EQ(ROOM, query->stride);
		EXPECT_EQ(0, memcmp(query + 1, rest, extra[i]));
	}
	EXPECT_UNCHANGED();
}

/* What the caller does not know of counts as zero, and is not written. */
TEST_F(refused, smaller)
{
	struct drm_gem_ualink_export arg, unwritten;
	int ret;

	memset(&unwritten, 0xff, sizeof(unwritten));
	for (unsigned int size = 0; size < sizeof(arg); size++) {
		memset(&arg, 0xff, sizeof(arg));
		memset(&arg, 0, size);
		if (size >= sizeof(arg.gem_handle))
			arg.gem_handle = self->pair.own;
		ret = ualink_ioctl(self->pair.exporter.fd,
				   resized(DRM_IOCTL_GEM_UALINK_EXPORT, size), &arg);
		EXPECT_EQ(size < sizeof(arg.gem_handle) ? -ENOENT : 0, ret)
			TH_LOG("%u bytes", size);
		EXPECT_EQ(0, memcmp((char *)&arg + size, (char *)&unwritten + size,
				    sizeof(arg) - size))
			TH_LOG("%u bytes: more was written", size);
		if (size < offsetof(struct drm_gem_ualink_export, size))
			continue;
		EXPECT_EQ(0, memcmp(arg.handle, self->pair.handle, sizeof(arg.handle)))
			TH_LOG("%u bytes: another handle", size);
	}
	EXPECT_UNCHANGED();
}

/* The direction in the number is what the caller wants copied. */
TEST_F(refused, direction)
{
	struct drm_gem_ualink_export arg = { .gem_handle = self->pair.own };
	static const __u8 zeros[DRM_UALINK_HANDLE_SIZE];

	EXPECT_EQ(0, ualink_ioctl(self->pair.exporter.fd,
				  DRM_IOW(0xd3, struct drm_gem_ualink_export), &arg));
	EXPECT_EQ(0, memcmp(arg.handle, zeros, sizeof(zeros)));
	EXPECT_EQ(-ENOENT, ualink_ioctl(self->pair.exporter.fd,
					DRM_IOR(0xd3, struct drm_gem_ualink_export), &arg));
	EXPECT_UNCHANGED();
}

#if __LONG_WIDTH__ > 32
/* The number is of 32 bits; what is above them is not looked at. */
TEST_F(refused, number_is_32_bit)
{
	struct drm_gem_ualink_query arg = {};

	EXPECT_EQ(0, syscall(SYS_ioctl, self->pair.exporter.fd,
			     (unsigned long)DRM_IOCTL_GEM_UALINK_QUERY | 1ull << 40, &arg));
	EXPECT_EQ(ROOM, arg.stride);
}
#endif

int main(int argc, char **argv)
{
	ualink_skip_without_pair();
	return test_harness_run(argc, argv);
}
