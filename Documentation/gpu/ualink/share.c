// SPDX-License-Identifier: MIT
/*
 * Shares memory of one accelerator with another one:
 *
 *	share export /dev/dri/renderD128 > handle
 *	share import /dev/dri/renderD129 < handle
 *
 * The first allocates memory, says how to import it, and keeps it until its input
 * ends. The second imports it and waits until it is taken back. The calls are those of
 * all drivers but for the allocation, for which it has to be vualink here. Kernels of
 * two machines need no more than the accelerators in one pod, and a way for the handle.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/drm_ualink.h>
#include <drm/vualink_drm.h>

#define SIZE	0x100000

/* ioctl() until no signal interrupts it: 0 or an errno. */
static int call(int fd, unsigned long request, void *arg)
{
	while (ioctl(fd, request, arg)) {
		if (errno != EINTR && errno != EAGAIN)
			return errno;
	}
	return 0;
}

static int fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error));
	return 1;
}

static int export_memory(int fd)
{
	struct drm_vualink_bo_create create = { .size = SIZE };
	struct drm_gem_ualink_export export = {};
	int ret;

	ret = call(fd, DRM_IOCTL_VUALINK_BO_CREATE, &create);
	if (ret)
		return fail("allocate", ret);

	export.gem_handle = create.handle;
	ret = call(fd, DRM_IOCTL_GEM_UALINK_EXPORT, &export);
	if (ret)
		return fail("export", ret);

	/* Who has these bytes can import the memory. */
	fwrite(export.handle, sizeof(export.handle), 1, stdout);
	fclose(stdout);

	while (getchar() != EOF)
		;
	/* To close the GEM handle, or to exit, does the same without waiting. */
	ret = call(fd, DRM_IOCTL_GEM_UALINK_REVOKE,
		   &(struct drm_gem_ualink_revoke) { .gem_handle = create.handle });
	return ret ? fail("revoke", ret) : 0;
}

/* Which of the imports has died is asked with a query. */
static int wait_for_death(int fd)
{
	struct drm_ualink_import_info info = {};
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_IMPORTS,
		.data_ptr = (uintptr_t)&info,
		.count = 1,
		.stride = sizeof(info),
	};
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	struct drm_ualink_event event;
	int ret;

	if (poll(&pollfd, 1, -1) != 1 || read(fd, &event, sizeof(event)) != sizeof(event))
		return fail("event", errno);
	ret = call(fd, DRM_IOCTL_GEM_UALINK_QUERY, &query);
	if (ret)
		return fail("query", ret);
	printf("%llu died, the import %#llx: %s\n", (unsigned long long)event.deaths,
	       (unsigned long long)info.user_data,
	       info.death == DRM_UALINK_DEATH_REVOKED ? "taken back" : "lost");
	return 0;
}

static int import_memory(int fd)
{
	struct drm_gem_ualink_import import = {
		.user_data = 0xcafe,
		.flags = DRM_UALINK_IMPORT_CLOEXEC,
	};
	struct drm_prime_handle prime = {};
	int ret;

	if (fread(import.handle, sizeof(import.handle), 1, stdin) != 1)
		return fail("handle", EIO);
	ret = call(fd, DRM_IOCTL_GEM_UALINK_IMPORT, &import);
	if (ret)
		return fail("import", ret);

	/* From here on it is an object of this device, to be mapped as others are. */
	prime.fd = import.fd;
	ret = call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);
	if (ret)
		return fail("make a GEM handle", ret);
	close(import.fd);
	printf("%llu bytes of accelerator %u\n", (unsigned long long)import.size,
	       import.exporter_id);
	fflush(stdout);
	return wait_for_death(fd);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 3 || (strcmp(argv[1], "export") && strcmp(argv[1], "import")))
		return fail("usage: share export|import NODE", EINVAL);
	fd = open(argv[2], O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(argv[2], errno);
	return !strcmp(argv[1], "export") ? export_memory(fd) : import_memory(fd);
}
