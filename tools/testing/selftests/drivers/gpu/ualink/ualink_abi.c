// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The layout of what user space and the kernel exchange. It needs no device, and
 * holds for 32 and 64 bit alike.
 */
#include <stddef.h>

#include <drm/drm_ualink.h>
#include <drm/vualink_drm.h>

#include "kselftest_harness.h"

struct member {
	const char *name;
	size_t at;
	size_t want;
};

#define M(type, member, want) { #member, offsetof(struct type, member), want }

/* Each member is where it was, and no more of them came. */
#define EXPECT_LAYOUT(type, total, ...) do {					\
	const struct member layout_members[] = { __VA_ARGS__ };			\
										\
	for (size_t i = 0; i < ARRAY_SIZE(layout_members); i++) {		\
		EXPECT_EQ(layout_members[i].want, layout_members[i].at)		\
			TH_LOG(#type ".%s", layout_members[i].name);		\
	}									\
	EXPECT_EQ(total, sizeof(struct type))					\
		TH_LOG(#type);							\
	EXPECT_EQ(0, sizeof(struct type) % 8)					\
		TH_LOG(#type);							\
} while (0)

TEST(export_layout)
{
#define E(member, want) M(drm_gem_ualink_export, member, want)
	EXPECT_LAYOUT(drm_gem_ualink_export, 56,
		      E(gem_handle, 0), E(flags, 4), E(allow_ptr, 8), E(allow_count, 16),
		      E(pad, 20), E(handle, 24), E(size, 40), E(granularity, 48));
#undef E
}

TEST(import_layout)
{
#define I(member, want) M(drm_gem_ualink_import, member, want)
	EXPECT_LAYOUT(drm_gem_ualink_import, 56,
		      I(handle, 0), I(timeout_ns, 16), I(user_data, 24), I(flags, 32),
		      I(fd, 36), I(size, 40), I(exporter_id, 48), I(access, 52));
#undef I
}

TEST(revoke_layout)
{
	EXPECT_LAYOUT(drm_gem_ualink_revoke, 8, M(drm_gem_ualink_revoke, gem_handle, 0),
		      M(drm_gem_ualink_revoke, flags, 4));
}

TEST(query_layout)
{
#define Q(member, want) M(drm_gem_ualink_query, member, want)
	EXPECT_LAYOUT(drm_gem_ualink_query, 32,
		      Q(kind, 0), Q(flags, 4), Q(data_ptr, 8), Q(count, 16), Q(stride, 20),
		      Q(arg, 24), Q(pad, 28));
#undef Q
}

TEST(device_info_layout)
{
#define D(member, want) M(drm_ualink_device_info, member, want)
	EXPECT_LAYOUT(drm_ualink_device_info, 152,
		      D(flags, 0), D(id, 4), D(vpod_uuid, 8), D(granularity, 24),
		      D(segment_size, 32), D(npa_used, 40), D(npa_largest_free, 48),
		      D(npa_quarantined, 56), D(max_export_bytes, 64),
		      D(max_file_export_bytes, 72), D(exported_bytes, 80), D(exports, 88),
		      D(grants, 96), D(imports, 104), D(imports_died, 112), D(msgs_sent, 120),
		      D(msgs_received, 128), D(bad_msgs, 136), D(refused, 144));
#undef D
}

TEST(peer_info_layout)
{
#define P(member, want) M(drm_ualink_peer_info, member, want)
	EXPECT_LAYOUT(drm_ualink_peer_info, 48,
		      P(id, 0), P(state, 4), P(flags, 8), P(pad, 12), P(imports, 16),
		      P(grants, 24), P(sessions, 32), P(bad_msgs, 40));
#undef P
}

TEST(export_info_layout)
{
#define E(member, want) M(drm_ualink_export_info, member, want)
	EXPECT_LAYOUT(drm_ualink_export_info, 40,
		      E(handle, 0), E(gem_handle, 16), E(flags, 20), E(size, 24),
		      E(importers, 32), E(pad, 36));
#undef E
}

TEST(import_info_layout)
{
#define I(member, want) M(drm_ualink_import_info, member, want)
	EXPECT_LAYOUT(drm_ualink_import_info, 48,
		      I(handle, 0), I(user_data, 16), I(size, 24), I(exporter_id, 32),
		      I(access, 36), I(death, 40), I(pad, 44));
#undef I
}

TEST(event_layout)
{
	EXPECT_LAYOUT(drm_ualink_event, 16, M(drm_ualink_event, base, 0),
		      M(drm_ualink_event, deaths, 8));
}

TEST(vualink_layout)
{
#define V(type, member, want) M(drm_vualink_##type, member, want)
	EXPECT_LAYOUT(drm_vualink_get_param, 16, V(get_param, param, 0), V(get_param, pad, 4),
		      V(get_param, value, 8));
	EXPECT_LAYOUT(drm_vualink_bo_create, 24, V(bo_create, size, 0), V(bo_create, flags, 8),
		      V(bo_create, vm_id, 12), V(bo_create, handle, 16), V(bo_create, pad, 20));
	EXPECT_LAYOUT(drm_vualink_bo_mmap_offset, 16, V(bo_mmap_offset, handle, 0),
		      V(bo_mmap_offset, pad, 4), V(bo_mmap_offset, offset, 8));
	EXPECT_LAYOUT(drm_vualink_vm_create, 8, V(vm_create, flags, 0), V(vm_create, vm_id, 4));
	EXPECT_LAYOUT(drm_vualink_vm_destroy, 8, V(vm_destroy, vm_id, 0),
		      V(vm_destroy, pad, 4));
	EXPECT_LAYOUT(drm_vualink_vm_bind, 40, V(vm_bind, vm_id, 0), V(vm_bind, op, 4),
		      V(vm_bind, flags, 8), V(vm_bind, handle, 12), V(vm_bind, va, 16),
		      V(vm_bind, size, 24), V(vm_bind, offset, 32));
	EXPECT_LAYOUT(drm_vualink_cmd, 40, V(cmd, op, 0), V(cmd, timeout_ms, 4), V(cmd, dst, 8),
		      V(cmd, src, 16), V(cmd, len, 24), V(cmd, value, 32));
	EXPECT_LAYOUT(drm_vualink_sync, 16, V(sync, handle, 0), V(sync, pad, 4),
		      V(sync, point, 8));
	EXPECT_LAYOUT(drm_vualink_array, 16, V(array, ptr, 0), V(array, count, 8),
		      V(array, stride, 12));
	EXPECT_LAYOUT(drm_vualink_exec, 56, V(exec, vm_id, 0), V(exec, flags, 4),
		      V(exec, cmds, 8), V(exec, in_syncs, 24), V(exec, out_syncs, 40));
	EXPECT_LAYOUT(drm_vualink_fault, 32, V(fault, va, 0), V(fault, time_ns, 8),
		      V(fault, vm_id, 16), V(fault, reason, 20), V(fault, flags, 24),
		      V(fault, pad, 28));
	EXPECT_LAYOUT(drm_vualink_get_faults, 24, V(get_faults, faults, 0),
		      V(get_faults, lost, 16));
#undef V
}

TEST(ioctl_numbers)
{
	EXPECT_EQ(0xc03864d3u, DRM_IOCTL_GEM_UALINK_EXPORT);
	EXPECT_EQ(0xc03864d4u, DRM_IOCTL_GEM_UALINK_IMPORT);
	EXPECT_EQ(0x400864d5u, DRM_IOCTL_GEM_UALINK_REVOKE);
	EXPECT_EQ(0xc02064d6u, DRM_IOCTL_GEM_UALINK_QUERY);
	EXPECT_EQ(0xc0106440u, DRM_IOCTL_VUALINK_GET_PARAM);
	EXPECT_EQ(0xc0186441u, DRM_IOCTL_VUALINK_BO_CREATE);
	EXPECT_EQ(0xc0106442u, DRM_IOCTL_VUALINK_BO_MMAP_OFFSET);
	EXPECT_EQ(0xc0086443u, DRM_IOCTL_VUALINK_VM_CREATE);
	EXPECT_EQ(0x40086444u, DRM_IOCTL_VUALINK_VM_DESTROY);
	EXPECT_EQ(0x40286445u, DRM_IOCTL_VUALINK_VM_BIND);
	EXPECT_EQ(0x40386446u, DRM_IOCTL_VUALINK_EXEC);
	EXPECT_EQ(0xc0186447u, DRM_IOCTL_VUALINK_GET_FAULTS);
}

TEST(values)
{
	EXPECT_EQ(16, DRM_UALINK_HANDLE_SIZE);
	EXPECT_EQ(1024, DRM_UALINK_MAX_IDS);
	EXPECT_EQ(1, DRM_UALINK_EXPORT_READ_ONLY);
	EXPECT_EQ(1, DRM_UALINK_IMPORT_CLOEXEC);
	EXPECT_EQ(2, DRM_UALINK_IMPORT_READ_ONLY);
	EXPECT_EQ(1, DRM_UALINK_ACCESS_READ);
	EXPECT_EQ(2, DRM_UALINK_ACCESS_WRITE);
	EXPECT_EQ(0, DRM_UALINK_QUERY_DEVICE);
	EXPECT_EQ(1, DRM_UALINK_QUERY_PEERS);
	EXPECT_EQ(2, DRM_UALINK_QUERY_EXPORTS);
	EXPECT_EQ(3, DRM_UALINK_QUERY_IMPORTS);
	EXPECT_EQ(4, DRM_UALINK_QUERY_IMPORTERS);
	EXPECT_EQ(1, DRM_UALINK_DEVICE_SUPPORTED);
	EXPECT_EQ(2, DRM_UALINK_DEVICE_PROVISIONED);
	EXPECT_EQ(4, DRM_UALINK_DEVICE_ACTIVE);
	EXPECT_EQ(8, DRM_UALINK_DEVICE_WEDGED);
	EXPECT_EQ(0, DRM_UALINK_PEER_DOWN);
	EXPECT_EQ(4, DRM_UALINK_PEER_INCOMPATIBLE);
	EXPECT_EQ(1, DRM_UALINK_PEER_HARDWARE);
	EXPECT_EQ(2, DRM_UALINK_PEER_PERMITTED);
	EXPECT_EQ(4, DRM_UALINK_PEER_REACHABLE);
	EXPECT_EQ(0, DRM_UALINK_ALIVE);
	EXPECT_EQ(1, DRM_UALINK_DEATH_REVOKED);
	EXPECT_EQ(2, DRM_UALINK_DEATH_PEER_LOST);
	EXPECT_EQ(3, DRM_UALINK_DEATH_PEER_RESET);
	EXPECT_EQ(4, DRM_UALINK_DEATH_PEER_LEFT);
	EXPECT_EQ(5, DRM_UALINK_DEATH_LOCAL_RESET);
	EXPECT_EQ(4, DRM_EVENT_UALINK_IMPORTS_DIED);
}

TEST_HARNESS_MAIN
