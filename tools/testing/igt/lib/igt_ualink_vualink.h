/* SPDX-License-Identifier: MIT */
/*
 * For tests of the virtual accelerator's own ioctls.
 */
#ifndef IGT_UALINK_VUALINK_H
#define IGT_UALINK_VUALINK_H

#include "igt_ualink.h"
#include "vualink_drm.h"

/*
 * For calls that must be refused: a file with a buffer that is filled with
 * pattern 1 and bound in its first VM, a second VM that is empty, and how things
 * stand.
 */
#define IGT_VUALINK_SCENE_SIZE	(64ull << 10)

struct igt_vualink_scene {
	struct igt_ualink *dev;
	struct igt_ualink_bo *bo;
	uint32_t bo_vm_id;
	uint32_t vm_id;
	struct igt_ualink_stats stats;
};

/* Skips if the device is another one. */
void igt_vualink_scene_init(struct igt_vualink_scene *scene,
			    const struct igt_ualink_pod *pod);
/* Asserts that no memory was taken or changed, and nothing bound. */
void igt_vualink_scene_fini(struct igt_vualink_scene *scene);

/* 0 or -errno */
int igt_vualink_call(struct igt_vualink_scene *scene, unsigned long request,
		     void *arg);
void igt_vualink_refuse(struct igt_vualink_scene *scene, unsigned long request,
			void *arg, int err);
uint64_t igt_vualink_param(struct igt_vualink_scene *scene, uint32_t which);

/* A counter of the driver, or UINT64_MAX when there is no debugfs */
uint64_t igt_vualink_counter(struct igt_ualink *dev, const char *file, const char *key);

/*
 * A pod of the test's own, for what must not hurt others: unplugging, and flushes
 * that fail. What an earlier test that failed has left of it is removed first.
 */
#define IGT_VUALINK_OWN_MAX	2

struct igt_vualink_own {
	/* igt_vualink_devices() without it */
	unsigned int before;
	unsigned int count;
	struct igt_ualink_node nodes[IGT_VUALINK_OWN_MAX];
};

/* Skips if the devices of @pod are others, or if they cannot be made. */
void igt_vualink_own_init(struct igt_vualink_own *own, const struct igt_ualink_pod *pod,
			  unsigned int count);
/* Takes them away from under whoever uses them. */
void igt_vualink_own_unplug(struct igt_vualink_own *own);
void igt_vualink_own_fini(struct igt_vualink_own *own);
/* Writes to a file of its fabric. */
void igt_vualink_own_knob(struct igt_vualink_own *own, const char *knob, const char *text);

/* Accelerators that are in the kernel's memory, those included that are unplugged. */
unsigned int igt_vualink_devices(void);
/* Waits until there are so many, for a while. */
bool igt_vualink_wait_devices(unsigned int count);

#endif /* IGT_UALINK_VUALINK_H */
