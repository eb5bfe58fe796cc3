/* SPDX-License-Identifier: MIT */
/*
 * Virtual accelerators as a program without any library uses them. Whatever
 * fails ends the program with a message; what may fail returns an errno.
 */
#ifndef ACCEL_H
#define ACCEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "drm_ualink.h"
#include "vualink_drm.h"

#define KIB(n)	((uint64_t)(n) << 10)
#define MIB(n)	((uint64_t)(n) << 20)

void die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));
#define must(call)						\
	do {							\
		int must_ret = (call);				\
								\
		if (must_ret)					\
			die_errno(#call, must_ret);		\
	} while (0)
void die_errno(const char *what, int error) __attribute__((noreturn));

/* CLOCK_MONOTONIC, in seconds */
double accel_now(void);
/* Prints "fail: WHERE" and the text, in one piece. */
void accel_print_failure(const char *where, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Whether @test comes true in time. */
#define PATIENCE_MS	20000
#define in_time(test) ({							\
	int in_time_tries = PATIENCE_MS / 2;					\
										\
	while (!(test) && --in_time_tries)					\
		usleep(2000);							\
	in_time_tries > 0;							\
})

/* An accelerator: a device node, and a VM once it is open. */
struct accel {
	char path[32];
	int fd;
	uint32_t vm;
	uint64_t next_va;
	struct drm_ualink_device_info info;
	/* memory in which the CPU sees what the accelerator copies there */
	uint64_t window_va;
	void *window;
};

#define WINDOW_SIZE	MIB(1)

/* All active accelerators, by vPod and id. */
struct accel *accel_scan(unsigned int *count);
bool accel_same_pod(const struct accel *a, const struct accel *b);
void accel_open(struct accel *accel);
void accel_close(struct accel *accel);
void accel_info(struct accel *accel, struct drm_ualink_device_info *info);

/* debugfs, relative to the folder of the device, and sysfs */
int accel_debugfs_write(struct accel *accel, const char *name, const char *text);
/* Reads it to its end. */
void accel_debugfs_read(struct accel *accel, const char *name);
/* 0 if there is no such file */
uint64_t accel_counter(struct accel *accel, const char *name, const char *key);
/* Whether nothing of sharing is left, pinned memory included. */
bool accel_idle(struct accel *accel, struct drm_ualink_device_info *info);
/* Uses of TLB entries that were outdated, but for those before their flush. */
uint64_t accel_stale(struct accel *accel);
/* The first pod that the module makes */
#define DEFAULT_POD	"default0"
/* A knob of the fabric of a pod, and of that one. */
void accel_pod_knob(const char *pod, const char *name, const char *rule);
void accel_knob(const char *name, const char *rule);
/* Lets an accelerator of a pod send nothing, or send again. */
void accel_mute(const char *pod, const struct accel *accel, bool on);
int accel_tunable_write(struct accel *accel, const char *name, uint64_t value);
int accel_tunable_read(struct accel *accel, const char *name, uint64_t *value);

/* ioctl(), again when a signal came: 0 or an errno. */
int accel_ioctl(int fd, unsigned long request, void *arg);

/* Memory */
uint32_t accel_bo(struct accel *accel, uint64_t size, uint32_t flags);
void accel_gem_close(struct accel *accel, uint32_t handle);
uint64_t accel_bind(struct accel *accel, uint32_t handle, uint64_t size);
/* 0 or an errno. */
int accel_try_bind(struct accel *accel, uint32_t handle, uint64_t size, uint64_t *va);
void accel_unbind(struct accel *accel, uint64_t va, uint64_t size);

/* Jobs: 0, or the errno of the ioctl or of the fence. What was submitted is waited for. */
int accel_submit(struct accel *accel, const struct drm_vualink_cmd *cmds,
		 uint32_t count, uint32_t *syncobj);
int accel_wait(struct accel *accel, uint32_t syncobj);
int accel_run(struct accel *accel, const struct drm_vualink_cmd *cmds,
	      uint32_t count);
int accel_load(struct accel *accel, uint64_t va, void *data, size_t size);
int accel_store(struct accel *accel, uint64_t va, const void *data, size_t size);
/* The oldest fault that was not read: 0 or EAGAIN. */
int accel_fault(struct accel *accel, struct drm_vualink_fault *fault);

/* Sharing: 0 or an errno. */
int accel_export(struct accel *accel, uint32_t bo, uint8_t *handle);
int accel_import(struct accel *accel, const uint8_t *handle, uint64_t user_data,
		 int *fd);
int accel_revoke(struct accel *accel, uint32_t bo);
int accel_handle_to_fd(struct accel *accel, uint32_t bo, int *fd);
int accel_fd_to_handle(struct accel *accel, int fd, uint32_t *bo);

#endif /* ACCEL_H */
