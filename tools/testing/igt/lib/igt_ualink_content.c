// SPDX-License-Identifier: MIT
/*
 * Jobs on the accelerator, and the content of memory as it sees it. The CPU
 * never looks at the memory under test: the accelerator copies it to a staging
 * buffer first.
 */
#include <errno.h>
#include <linux/sync_file.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink.h"

#define STAGING_SIZE	(1ull << 20)
#define JOB_TIMEOUT_MS	20000
#define PAGE		4096ull

static uint64_t staging(struct igt_ualink *dev)
{
	if (!dev->staging) {
		dev->staging = igt_ualink_bo_create(dev, STAGING_SIZE,
						    IGT_UALINK_BO_SYSTEM |
						    IGT_UALINK_BO_VISIBLE);
		dev->staging_ptr = dev->backend->mmap(dev, dev->staging->handle,
						      STAGING_SIZE);
		igt_assert(dev->staging_ptr != MAP_FAILED);
	}
	return dev->staging->va;
}

/* The word at @offset of the pattern @seed: no two seeds or places share one. */
static uint64_t pattern(uint32_t seed, uint64_t offset)
{
	uint64_t x = (uint64_t)seed << 40 ^ offset / sizeof(uint64_t);

	/* invertible steps only */
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

/* What became of the fence in a syncobj that is signaled. */
static int fence_status(struct igt_ualink *dev, uint32_t syncobj)
{
	struct sync_file_info info = {};
	int fd, ret;

	if (drmSyncobjExportSyncFile(dev->fd, syncobj, &fd))
		return -errno;

	ret = ioctl(fd, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
	close(fd);
	return ret < 0 ? ret : 0;
}

static int64_t deadline(unsigned int timeout_ms)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec + timeout_ms * 1000000ll;
}

int __igt_ualink_syncobj_wait(struct igt_ualink *dev, uint32_t syncobj,
			      unsigned int timeout_ms)
{
	int ret;

	if (drmSyncobjWait(dev->fd, &syncobj, 1, deadline(timeout_ms), 0, NULL))
		return -EBUSY;

	ret = fence_status(dev, syncobj);
	drmSyncobjDestroy(dev->fd, syncobj);
	return ret;
}

int __igt_ualink_run(struct igt_ualink *dev, const struct igt_ualink_cmd *cmds,
		     unsigned int count)
{
	uint64_t job;
	int ret = dev->backend->submit(dev, cmds, count, &job);

	return ret ?: dev->backend->wait(dev, job, JOB_TIMEOUT_MS);
}

static int __igt_ualink_copy(struct igt_ualink *dev, uint64_t dst, uint64_t src,
			     uint64_t len)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_COPY,
		.dst = dst,
		.src = src,
		.len = len,
	};

	return __igt_ualink_run(dev, &cmd, 1);
}

void igt_ualink_copy(struct igt_ualink *dev, uint64_t dst, uint64_t src,
		     uint64_t len)
{
	igt_assert_eq(__igt_ualink_copy(dev, dst, src, len), 0);
}

static int __igt_ualink_store(struct igt_ualink *dev, uint64_t va, uint64_t value)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_STORE,
		.dst = va,
		.value = value,
	};

	return __igt_ualink_run(dev, &cmd, 1);
}

void igt_ualink_store(struct igt_ualink *dev, uint64_t va, uint64_t value)
{
	igt_assert_eq(__igt_ualink_store(dev, va, value), 0);
}

uint64_t igt_ualink_load(struct igt_ualink *dev, uint64_t va)
{
	uint64_t value;

	igt_assert_eq(__igt_ualink_read(dev, va, &value, sizeof(value)), 0);
	return value;
}

void igt_ualink_atomic_add(struct igt_ualink *dev, uint64_t va, uint64_t value)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_ATOMIC_ADD,
		.dst = va,
		.value = value,
	};

	igt_assert_eq(__igt_ualink_run(dev, &cmd, 1), 0);
}

void igt_ualink_wait_value(struct igt_ualink *dev, uint64_t va, uint64_t value,
			   uint32_t timeout_ms)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_WAIT,
		.timeout_ms = timeout_ms,
		.dst = va,
		.value = value,
	};

	igt_assert_eq(__igt_ualink_run(dev, &cmd, 1), 0);
}

/**
 * __igt_ualink_read:
 * @dev: the accelerator that reads
 * @va: address in its address space
 * @buf: where to
 * @len: bytes
 *
 * Returns: 0 or -errno; -EFAULT when the access failed.
 */
int __igt_ualink_read(struct igt_ualink *dev, uint64_t va, void *buf, size_t len)
{
	uint64_t window = staging(dev);
	int ret = 0;

	for (size_t done = 0; done < len && !ret; ) {
		size_t n = len - done < STAGING_SIZE ? len - done : STAGING_SIZE;

		ret = __igt_ualink_copy(dev, window, va + done, n);
		if (!ret)
			memcpy((char *)buf + done, dev->staging_ptr, n);
		done += n;
	}
	return ret;
}

/* Fills the buffer with the pattern; the accelerator does the writing. */
void igt_ualink_fill_pattern(const struct igt_ualink_bo *bo, uint32_t seed)
{
	uint64_t window = staging(bo->dev);

	for (uint64_t done = 0; done < bo->size; ) {
		uint64_t n = bo->size - done < STAGING_SIZE ? bo->size - done :
							      STAGING_SIZE;
		uint64_t *words = bo->dev->staging_ptr;

		for (uint64_t i = 0; i < n; i += sizeof(*words))
			words[i / sizeof(*words)] = pattern(seed, done + i);
		igt_ualink_copy(bo->dev, bo->va + done, window, n);
		done += n;
	}
}

/* What was read must be @size bytes of the pattern, from its byte @offset on. */
void igt_ualink_check_words(const uint64_t *words, uint64_t size,
			    uint64_t offset, uint32_t seed)
{
	for (uint64_t i = 0; i < size; i += sizeof(*words))
		igt_assert_f(words[i / sizeof(*words)] == pattern(seed, offset + i),
			     "wrong content at byte %llu, in %llu bytes from %llu\n",
			     (unsigned long long)(offset + i),
			     (unsigned long long)size,
			     (unsigned long long)offset);
}

/* The same for what @dev sees at @va. */
void igt_ualink_check_range(struct igt_ualink *dev, uint64_t va, uint64_t size,
			    uint64_t offset, uint32_t seed)
{
	uint64_t *words = malloc(size);

	igt_assert(words);
	igt_assert_eq(__igt_ualink_read(dev, va, words, size), 0);
	igt_ualink_check_words(words, size, offset, seed);
	free(words);
}

void igt_ualink_check_pattern(const struct igt_ualink_bo *bo, uint32_t seed)
{
	igt_ualink_check_range(bo->dev, bo->va, bo->size, 0, seed);
}

static void assert_one_fault(struct igt_ualink *dev, uint64_t va, bool write)
{
	struct igt_ualink_fault fault;

	igt_assert_eq(dev->backend->read_fault(dev, &fault), 0);
	igt_assert_eq_u64(fault.va / PAGE, va / PAGE);
	igt_assert_eq(fault.write, write);
	igt_assert(!fault.remote);
	igt_assert_eq(dev->backend->read_fault(dev, &fault), -EAGAIN);
}

void igt_ualink_assert_no_write(struct igt_ualink *dev, uint64_t va)
{
	igt_assert_eq(__igt_ualink_store(dev, va, 0xdeadull), -EFAULT);
	assert_one_fault(dev, va, true);
}

void igt_ualink_assert_no_access(struct igt_ualink *dev, uint64_t va)
{
	uint64_t value = 0;

	igt_assert_eq(__igt_ualink_read(dev, va, &value, sizeof(value)), -EFAULT);
	assert_one_fault(dev, va, false);
	igt_ualink_assert_no_write(dev, va);
}

void igt_ualink_stats(struct igt_ualink *dev, struct igt_ualink_stats *stats)
{
	dev->backend->stats(dev, stats);
}

/**
 * igt_ualink_fill_vram:
 * @dev: an accelerator
 * @seed: seed of the pattern
 * @count: set to the number of buffers
 *
 * Makes buffers until no page of VRAM is left that nobody owns, so that one of
 * them has whatever was freed before.
 *
 * Returns: the buffers; the caller destroys them and frees the array.
 */
struct igt_ualink_bo **igt_ualink_fill_vram(struct igt_ualink *dev, uint32_t seed,
					    unsigned int *count)
{
	struct igt_ualink_bo **bos = NULL;
	struct igt_ualink_stats stats;
	uint64_t size = 4ull << 20;
	unsigned int n = 0;

	igt_ualink_stats(dev, &stats);
	while (size >= PAGE) {
		if (stats.vram_size - stats.vram_used < size) {
			size /= 2;
			continue;
		}

		bos = realloc(bos, (n + 1) * sizeof(*bos));
		igt_assert(bos);
		bos[n] = igt_ualink_bo_create(dev, size, 0);
		igt_ualink_fill_pattern(bos[n++], seed);
		igt_ualink_stats(dev, &stats);
	}

	*count = n;
	return bos;
}

/**
 * igt_ualink_submit_wait:
 * @bo: mapped memory whose first word is not UINT64_MAX, nor becomes it
 * @timeout_ms: when the job gives up
 *
 * Submits a job that reads the word until then, and sees to it that it runs.
 *
 * Returns: the job.
 */
uint64_t igt_ualink_submit_wait(const struct igt_ualink_bo *bo, uint32_t timeout_ms)
{
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_WAIT,
		.timeout_ms = timeout_ms,
		.dst = bo->va,
		.value = UINT64_MAX,
	};
	uint64_t job;

	igt_assert_eq(bo->dev->backend->submit(bo->dev, &cmd, 1, &job), 0);
	igt_assert_eq(bo->dev->backend->wait(bo->dev, job, 50), -EBUSY);
	return job;
}
