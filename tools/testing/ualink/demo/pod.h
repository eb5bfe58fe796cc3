/* SPDX-License-Identifier: MIT */
/*
 * Pods of virtual accelerators, made with configfs. Whatever fails ends the program.
 */
#ifndef POD_H
#define POD_H

#include "accel.h"

/* An empty pod; a @segment_shift of 0 is the default. */
void pod_make(const char *pod, unsigned int segment_shift);
void pod_add(const char *pod, unsigned int id, uint64_t vram);
void pod_enable(const char *pod, bool on);
/* Takes an accelerator away, whoever uses it, or brings it back. */
void pod_plug(const char *pod, unsigned int id, bool in);
/* Disables it and removes it. */
void pod_remove(const char *pod);
/* The accelerators of a pod that is enabled, by id; sets how many are active. */
struct accel *pod_scan(const char *pod, unsigned int *count);

#endif /* POD_H */
