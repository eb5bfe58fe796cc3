/* SPDX-License-Identifier: MIT */
/*
 * Helpers for tests of UALink memory sharing. The tests use the core ioctls
 * directly, and what only a driver can do through a small backend, so that they
 * run on every device whose QUERY says that it supports UALink.
 */
#ifndef IGT_UALINK_H
#define IGT_UALINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "drm_ualink.h"

struct igt_ualink;

/* Where a buffer lies: in VRAM, unless one of these says otherwise. */
#define IGT_UALINK_BO_SCATTERED	(1 << 0)	/* no two pages next to each other */
#define IGT_UALINK_BO_VISIBLE	(1 << 1)	/* the CPU can map it */
#define IGT_UALINK_BO_SYSTEM	(1 << 2)	/* in system memory */
#define IGT_UALINK_BO_PRIVATE	(1 << 3)	/* can be used in one address space only */

/* How a buffer is bound. */
#define IGT_UALINK_BIND_READ_ONLY	(1 << 0)

enum igt_ualink_op {
	IGT_UALINK_COPY,	/* @len bytes from @src to @dst */
	IGT_UALINK_FILL,	/* the 32-bit @value to @len bytes at @dst */
	IGT_UALINK_STORE,	/* the 64-bit @value to @dst */
	IGT_UALINK_ATOMIC_ADD,	/* @value to the 64-bit word at @dst, old value to @src if not 0 */
	IGT_UALINK_WAIT,	/* until the 64-bit word at @dst is >= @value */
};

struct igt_ualink_cmd {
	enum igt_ualink_op op;
	uint32_t timeout_ms;
	uint64_t dst;
	uint64_t src;
	uint64_t len;
	uint64_t value;
};

struct igt_ualink_fault {
	uint64_t va;
	bool write;
	bool remote;	/* the owner of the memory refused, not the own page tables */
};

enum igt_ualink_loss {
	IGT_UALINK_LOSE_NOTHING,
	IGT_UALINK_LOSE_REVOKES,	/* it is not told that exports end */
	IGT_UALINK_LOSE_ANSWERS,	/* nobody answers its imports */
};

/* Counters that only the driver has; what it does not count is UINT64_MAX. */
struct igt_ualink_stats {
	uint64_t stale;		/* uses of an outdated TLB entry that was not flushed, must be 0 */
	uint64_t pte_writes;
	uint64_t pinned;	/* bytes of pinned buffers */
	uint64_t vram_size;
	uint64_t vram_used;
	uint64_t npa_in;	/* accesses of others that were served */
	uint64_t npa_out;	/* accesses that went to others */
};

/*
 * What a driver does for the tests. Returns 0 or -errno. The optional ones may
 * be NULL; tests that need them are then skipped.
 */
struct igt_ualink_backend {
	const char *driver;
	/* what is bound does not outlive its handle in the file */
	bool close_unbinds;

	/* An address space and whatever else a file needs. */
	int (*open)(struct igt_ualink *dev);
	void (*close)(struct igt_ualink *dev);

	int (*alloc)(struct igt_ualink *dev, uint64_t size, uint32_t flags,
		     uint32_t *handle);
	/* MAP_FAILED when it cannot be; errno says why */
	void *(*mmap)(struct igt_ualink *dev, uint32_t handle, uint64_t size);

	int (*bind)(struct igt_ualink *dev, uint32_t handle, uint64_t va,
		    uint64_t offset, uint64_t size, uint32_t flags);
	int (*unbind)(struct igt_ualink *dev, uint64_t va, uint64_t size);

	/* The job runs on its own; wait() gives its result and forgets it. */
	int (*submit)(struct igt_ualink *dev, const struct igt_ualink_cmd *cmds,
		      unsigned int count, uint64_t *job);
	/* 0; -EFAULT: an access failed; -ETIME: a WAIT gave up; -EBUSY: it still runs */
	int (*wait)(struct igt_ualink *dev, uint64_t job, unsigned int timeout_ms);

	/* The oldest fault that was not read yet, or -EAGAIN. */
	int (*read_fault)(struct igt_ualink *dev, struct igt_ualink_fault *fault);

	void (*stats)(struct igt_ualink *dev, struct igt_ualink_stats *stats);

	/* optional: moves out of VRAM what may move */
	int (*evict_all)(struct igt_ualink *dev);
	/* optional: as if the accelerator had hung and was reset */
	int (*reset)(struct igt_ualink *dev);
	/* optional: puts the accelerator to sleep, or wakes it up */
	int (*suspend)(struct igt_ualink *dev, bool asleep);
	/* optional: messages to the accelerator that get lost from now on */
	int (*lose)(struct igt_ualink *dev, enum igt_ualink_loss what);
	/* optional: number of page table entries that it takes to bind a buffer */
	int (*entries)(struct igt_ualink *dev, uint32_t handle, uint64_t size);
};

extern const struct igt_ualink_backend igt_ualink_amdgpu;
extern const struct igt_ualink_backend igt_ualink_vualink;

/* A device node. */
struct igt_ualink_node {
	char path[64];
	const struct igt_ualink_backend *backend;
	struct drm_ualink_device_info info;
};

/* The devices of one vPod that this machine has, by rising accelerator id. */
struct igt_ualink_pod {
	struct igt_ualink_node *nodes;
	unsigned int count;
	/* what igt_ualink_pod_fini() restores */
	struct igt_ualink_times {
		uint64_t heartbeat_ms;
		uint64_t cache_ms;
	} *times;
};

void igt_ualink_pod_require(struct igt_ualink_pod *pod, unsigned int count);
/* An active device of another vPod. */
bool igt_ualink_find_stranger(const struct igt_ualink_pod *pod,
			      struct igt_ualink_node *node);
/* An active device whose segment is at most half as large as its VRAM. */
bool igt_ualink_find_small_segment(struct igt_ualink_node *node);
void igt_ualink_pod_fini(struct igt_ualink_pod *pod);

/* An open device with one address space. */
struct igt_ualink {
	int fd;
	const struct igt_ualink_node *node;
	const struct igt_ualink_backend *backend;
	void *priv;
	uint64_t next_va;
	struct igt_ualink_bo *staging;
	void *staging_ptr;
};

struct igt_ualink *igt_ualink_open(const struct igt_ualink_node *node);
void igt_ualink_close(struct igt_ualink *dev);

/* A GEM object, bound at @va unless that is 0. */
struct igt_ualink_bo {
	struct igt_ualink *dev;
	uint32_t handle;
	uint64_t size;
	uint64_t va;
};

struct igt_ualink_bo *igt_ualink_bo_create(struct igt_ualink *dev,
					   uint64_t size, uint32_t flags);
struct igt_ualink_bo *igt_ualink_bo_from_handle(struct igt_ualink *dev,
						uint32_t handle, uint64_t size,
						uint32_t bind_flags);
struct igt_ualink_bo *igt_ualink_bo_from_fd(struct igt_ualink *dev, int fd,
					    uint64_t size, uint32_t bind_flags);
void igt_ualink_bo_destroy(struct igt_ualink_bo *bo);
uint64_t igt_ualink_va_alloc(struct igt_ualink *dev, uint64_t size);
void igt_ualink_gem_close(int fd, uint32_t handle);
int __igt_ualink_handle_to_fd(int fd, uint32_t handle, int *dmabuf);
int __igt_ualink_fd_to_handle(int fd, int dmabuf, uint32_t *handle);

/* The core ioctls: 0 or -errno, and the argument as the kernel left it. */
int __igt_ualink_export(int fd, struct drm_gem_ualink_export *arg);
int __igt_ualink_import(int fd, struct drm_gem_ualink_import *arg);
int __igt_ualink_revoke(int fd, uint32_t handle);
int __igt_ualink_query(int fd, struct drm_gem_ualink_query *arg);

/* The same, asserting success, for the common cases. */
void igt_ualink_export(const struct igt_ualink_bo *bo, uint8_t *handle);
int igt_ualink_import(struct igt_ualink *dev, const uint8_t *handle);
int igt_ualink_import_errno(struct igt_ualink *dev, const uint8_t *handle);
struct igt_ualink_bo *igt_ualink_import_bo(struct igt_ualink *dev,
					   const uint8_t *handle);
void igt_ualink_revoke(const struct igt_ualink_bo *bo);
void igt_ualink_device_info(struct igt_ualink *dev,
			    struct drm_ualink_device_info *info);
/* All elements, to be freed by the caller. */
void *igt_ualink_query_array(struct igt_ualink *dev, uint32_t kind, uint32_t arg,
			     size_t stride, unsigned int *count);

/* The import of @handle, as the file sees it; false when there is none. */
bool igt_ualink_import_info(struct igt_ualink *dev, const uint8_t *handle,
			    struct drm_ualink_import_info *info);
/* Waits until it is dead, and asserts why. */
void igt_ualink_wait_death(struct igt_ualink *dev, const uint8_t *handle,
			   uint32_t death);
/* Reads an event: 0, or -EAGAIN when none came in time. */
int __igt_ualink_read_event(int fd, struct drm_ualink_event *event,
			    int timeout_ms);

/* For backends: 0 or what the fence ended with, and it is gone; -EBUSY: it still runs. */
int __igt_ualink_syncobj_wait(struct igt_ualink *dev, uint32_t syncobj,
			      unsigned int timeout_ms);

/* Jobs. __run() is submit and wait. */
int __igt_ualink_run(struct igt_ualink *dev, const struct igt_ualink_cmd *cmds,
		     unsigned int count);
void igt_ualink_copy(struct igt_ualink *dev, uint64_t dst, uint64_t src,
		     uint64_t len);
void igt_ualink_store(struct igt_ualink *dev, uint64_t va, uint64_t value);
uint64_t igt_ualink_load(struct igt_ualink *dev, uint64_t va);
void igt_ualink_atomic_add(struct igt_ualink *dev, uint64_t va, uint64_t value);
void igt_ualink_wait_value(struct igt_ualink *dev, uint64_t va, uint64_t value,
			   uint32_t timeout_ms);

/* Content. Each 64-bit word of a pattern tells its seed and its place. */
int __igt_ualink_read(struct igt_ualink *dev, uint64_t va, void *buf, size_t len);
void igt_ualink_fill_pattern(const struct igt_ualink_bo *bo, uint32_t seed);
void igt_ualink_check_pattern(const struct igt_ualink_bo *bo, uint32_t seed);
void igt_ualink_check_words(const uint64_t *words, uint64_t size,
			    uint64_t offset, uint32_t seed);
void igt_ualink_check_range(struct igt_ualink *dev, uint64_t va, uint64_t size,
			    uint64_t offset, uint32_t seed);

/*
 * Asserts that a load and a store fault in the page tables of @dev itself, that
 * both are recorded, and no more.
 */
void igt_ualink_assert_no_access(struct igt_ualink *dev, uint64_t va);
/* The same for a store alone. */
void igt_ualink_assert_no_write(struct igt_ualink *dev, uint64_t va);
void igt_ualink_stats(struct igt_ualink *dev, struct igt_ualink_stats *stats);
/* Buffers in all of the VRAM that is free, each filled with @seed. */
struct igt_ualink_bo **igt_ualink_fill_vram(struct igt_ualink *dev, uint32_t seed,
					    unsigned int *count);
uint64_t igt_ualink_submit_wait(const struct igt_ualink_bo *bo, uint32_t timeout_ms);

/*
 * Snapshot of the counters of all devices of the pod. The end of it waits until
 * all are back where they were, and asserts that no outdated TLB entry was used.
 */
struct igt_ualink_balance {
	struct drm_ualink_device_info *before;
	uint64_t *pinned;
};

void igt_ualink_balance_start(struct igt_ualink_balance *balance,
			      const struct igt_ualink_pod *pod);
void igt_ualink_balance_end(struct igt_ualink_balance *balance,
			    const struct igt_ualink_pod *pod);

/*
 * Two nodes that share a buffer: one exports it, filled with a pattern, and the
 * other has it imported. Either half may be gone when it comes to the end.
 */
struct igt_ualink_pair {
	struct igt_ualink *exporter;
	struct igt_ualink *importer;
	struct igt_ualink_bo *own;
	struct igt_ualink_bo *far;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
};

void igt_ualink_pair_init(struct igt_ualink_pair *pair,
			  const struct igt_ualink_node *exporter,
			  const struct igt_ualink_node *importer,
			  uint64_t size, uint32_t seed);
void igt_ualink_pair_free_own(struct igt_ualink_pair *pair);
void igt_ualink_pair_free_far(struct igt_ualink_pair *pair);
void igt_ualink_pair_fini(struct igt_ualink_pair *pair);

/*
 * For calls that must be refused: two nodes that share a buffer filled with
 * pattern 1, another buffer of the exporter that nobody shares, and how things
 * stand.
 */
#define IGT_UALINK_SCENE_SIZE	(64ull << 10)

struct igt_ualink_scene {
	const struct igt_ualink_pod *pod;
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *plain;
	struct drm_ualink_device_info info[2];
};

void igt_ualink_scene_init(struct igt_ualink_scene *scene,
			   const struct igt_ualink_pod *pod);
/* How things stand now, at the exporter and at the importer. */
void igt_ualink_scene_look(struct igt_ualink_scene *scene,
			   struct drm_ualink_device_info *info);
/* No message was sent, nothing is shared or not any more. */
void igt_ualink_assert_unchanged(struct igt_ualink_scene *scene);
void igt_ualink_scene_fini(struct igt_ualink_scene *scene);

/*
 * For those who count messages: no heartbeats, and a session that is there.
 * Heartbeats run only where something is shared, so that none is under way when
 * a subtest begins.
 */
void igt_ualink_heartbeat_stop(const struct igt_ualink_pod *pod);
void igt_ualink_heartbeat_restore(const struct igt_ualink_pod *pod);
void igt_ualink_warm_up(const struct igt_ualink_node *exporter,
			const struct igt_ualink_node *importer);

/* Another process, which exports a buffer filled with a pattern. */
struct igt_ualink_exporter {
	pid_t pid;
	int request;
	int reply;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
};

enum igt_ualink_request {
	IGT_UALINK_DO_FREE = 'f',	/* closes the GEM handle */
	IGT_UALINK_DO_REVOKE = 'r',	/* ends the export, keeps the object */
	IGT_UALINK_DO_CLOSE = 'c',	/* closes the device file */
	IGT_UALINK_DO_STAMP = 's',	/* fills the object with seed + 1 */
	IGT_UALINK_DO_CHECK = 'k',	/* checks that it is still so */
	IGT_UALINK_DO_EXIT = 'x',	/* exits, with everything open */
};

void igt_ualink_exporter_start(struct igt_ualink_exporter *exporter,
			       const struct igt_ualink_node *node,
			       uint64_t size, uint32_t seed);
void igt_ualink_exporter_do(struct igt_ualink_exporter *exporter,
			    enum igt_ualink_request request);
/* SIGKILL. No other child of the test may be running. */
void igt_ualink_exporter_kill(struct igt_ualink_exporter *exporter);
/* IGT_UALINK_DO_EXIT, and waits for all children. */
void igt_ualink_exporter_stop(struct igt_ualink_exporter *exporter);

/*
 * Signals every @ms from now on; with @restart, system calls go on after them.
 * stop() returns how many there were. Only ioctl() itself does not repeat what a
 * signal interrupts.
 */
void igt_ualink_signals_start(unsigned int ms, bool restart);
unsigned int igt_ualink_signals_stop(void);

/* Times and limits in sysfs: false when there is no such one. */
bool igt_ualink_tunable_get(const struct igt_ualink_node *node, const char *name,
			    uint64_t *value);
bool igt_ualink_tunable_set(const struct igt_ualink_node *node, const char *name,
			    uint64_t value);

/* A subtest of a table: name, its description, and the function. */
struct igt_ualink_test {
	const char *name;
	const char *describe;
	void (*fn)(struct igt_ualink_pod *pod);
};

/* The whole of a test program: each subtest runs with the counters in balance. */
void igt_ualink_tests_run(const struct igt_ualink_test *tests, size_t count);

#endif /* IGT_UALINK_H */
