/* SPDX-License-Identifier: MIT */
/*
 * What only tests of amdgpu need: packets of their own.
 */
#ifndef IGT_UALINK_AMDGPU_H
#define IGT_UALINK_AMDGPU_H

#include <stdint.h>

#include "igt_ualink.h"

/* Packets for an engine, AMDGPU_HW_IP_*; the result is for __igt_amdgpu_wait(). */
uint32_t igt_amdgpu_submit(struct igt_ualink *dev, uint32_t ip_type,
			   const uint32_t *packets, unsigned int dwords);
/* 0, or -EBUSY if it is not done in time. */
int __igt_amdgpu_wait(struct igt_ualink *dev, uint32_t job, unsigned int timeout_ms);
void igt_amdgpu_run(struct igt_ualink *dev, uint32_t ip_type,
		    const uint32_t *packets, unsigned int dwords);

/* A job that does nothing, and names the buffers of a list: 0 or -errno. */
int igt_amdgpu_submit_list(struct igt_ualink *dev, uint32_t list);

/* Runs nothing, and has its end written to a buffer; an errno. */
int igt_amdgpu_submit_fence(struct igt_ualink *dev, uint32_t handle, uint32_t offset);

/* SDMA: a copy, and a 64-bit atomic addition. Return: dwords. */
unsigned int igt_amdgpu_sdma_copy(uint32_t *packets, uint64_t dst, uint64_t src, uint32_t len);
unsigned int igt_amdgpu_sdma_add(uint32_t *packets, uint64_t dst, uint64_t value);

#endif /* IGT_UALINK_AMDGPU_H */
