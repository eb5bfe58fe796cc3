// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The binary interface: what is written here may never change.
 */

#include <kunit/test.h>

#include <linux/ualink.h>

#include <uapi/drm/drm_ualink.h>

struct abi_field {
	const char *name;
	size_t offset;
	size_t size;
};

struct abi_struct {
	const char *name;
	size_t size;
	size_t expected;
	const struct abi_field *fields;
	size_t count;
};

#define FIELD(type, ...) \
	{ #__VA_ARGS__, offsetof(struct type, __VA_ARGS__), sizeof_field(struct type, __VA_ARGS__) }

#define STRUCT(type, bytes) \
	{ #type, sizeof(struct type), bytes, type##_fields, ARRAY_SIZE(type##_fields) }

static const struct abi_field drm_gem_ualink_export_fields[] = {
	FIELD(drm_gem_ualink_export, gem_handle),
	FIELD(drm_gem_ualink_export, flags),
	FIELD(drm_gem_ualink_export, allow_ptr),
	FIELD(drm_gem_ualink_export, allow_count),
	FIELD(drm_gem_ualink_export, pad),
	FIELD(drm_gem_ualink_export, handle),
	FIELD(drm_gem_ualink_export, size),
	FIELD(drm_gem_ualink_export, granularity),
};

static const struct abi_field drm_gem_ualink_import_fields[] = {
	FIELD(drm_gem_ualink_import, handle),
	FIELD(drm_gem_ualink_import, timeout_ns),
	FIELD(drm_gem_ualink_import, user_data),
	FIELD(drm_gem_ualink_import, flags),
	FIELD(drm_gem_ualink_import, fd),
	FIELD(drm_gem_ualink_import, size),
	FIELD(drm_gem_ualink_import, exporter_id),
	FIELD(drm_gem_ualink_import, access),
};

static const struct abi_field drm_gem_ualink_revoke_fields[] = {
	FIELD(drm_gem_ualink_revoke, gem_handle),
	FIELD(drm_gem_ualink_revoke, flags),
};

static const struct abi_field drm_gem_ualink_query_fields[] = {
	FIELD(drm_gem_ualink_query, kind),
	FIELD(drm_gem_ualink_query, flags),
	FIELD(drm_gem_ualink_query, data_ptr),
	FIELD(drm_gem_ualink_query, count),
	FIELD(drm_gem_ualink_query, stride),
	FIELD(drm_gem_ualink_query, arg),
	FIELD(drm_gem_ualink_query, pad),
};

static const struct abi_field drm_ualink_device_info_fields[] = {
	FIELD(drm_ualink_device_info, flags),
	FIELD(drm_ualink_device_info, id),
	FIELD(drm_ualink_device_info, vpod_uuid),
	FIELD(drm_ualink_device_info, granularity),
	FIELD(drm_ualink_device_info, segment_size),
	FIELD(drm_ualink_device_info, npa_used),
	FIELD(drm_ualink_device_info, npa_largest_free),
	FIELD(drm_ualink_device_info, npa_quarantined),
	FIELD(drm_ualink_device_info, max_export_bytes),
	FIELD(drm_ualink_device_info, max_file_export_bytes),
	FIELD(drm_ualink_device_info, exported_bytes),
	FIELD(drm_ualink_device_info, exports),
	FIELD(drm_ualink_device_info, grants),
	FIELD(drm_ualink_device_info, imports),
	FIELD(drm_ualink_device_info, imports_died),
	FIELD(drm_ualink_device_info, msgs_sent),
	FIELD(drm_ualink_device_info, msgs_received),
	FIELD(drm_ualink_device_info, bad_msgs),
	FIELD(drm_ualink_device_info, refused),
};

static const struct abi_field drm_ualink_peer_info_fields[] = {
	FIELD(drm_ualink_peer_info, id),
	FIELD(drm_ualink_peer_info, state),
	FIELD(drm_ualink_peer_info, flags),
	FIELD(drm_ualink_peer_info, pad),
	FIELD(drm_ualink_peer_info, imports),
	FIELD(drm_ualink_peer_info, grants),
	FIELD(drm_ualink_peer_info, sessions),
	FIELD(drm_ualink_peer_info, bad_msgs),
};

static const struct abi_field drm_ualink_export_info_fields[] = {
	FIELD(drm_ualink_export_info, handle),
	FIELD(drm_ualink_export_info, gem_handle),
	FIELD(drm_ualink_export_info, flags),
	FIELD(drm_ualink_export_info, size),
	FIELD(drm_ualink_export_info, importers),
	FIELD(drm_ualink_export_info, pad),
};

static const struct abi_field drm_ualink_import_info_fields[] = {
	FIELD(drm_ualink_import_info, handle),
	FIELD(drm_ualink_import_info, user_data),
	FIELD(drm_ualink_import_info, size),
	FIELD(drm_ualink_import_info, exporter_id),
	FIELD(drm_ualink_import_info, access),
	FIELD(drm_ualink_import_info, death),
	FIELD(drm_ualink_import_info, pad),
};

static const struct abi_field drm_ualink_event_fields[] = {
	FIELD(drm_ualink_event, base),
	FIELD(drm_ualink_event, deaths),
};

static const struct abi_struct abi_structs[] = {
	STRUCT(drm_gem_ualink_export, 56),
	STRUCT(drm_gem_ualink_import, 56),
	STRUCT(drm_gem_ualink_revoke, 8),
	STRUCT(drm_gem_ualink_query, 32),
	STRUCT(drm_ualink_device_info, 152),
	STRUCT(drm_ualink_peer_info, 48),
	STRUCT(drm_ualink_export_info, 40),
	STRUCT(drm_ualink_import_info, 48),
	STRUCT(drm_ualink_event, 16),
};

static void abi_struct_desc(const struct abi_struct *s, char *desc)
{
	strscpy(desc, s->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(abi_structs, abi_structs, abi_struct_desc);

/* No holes, so that nothing of the kernel's stack leaks and 32-bit programs see the same. */
static void abi_layout(struct kunit *test)
{
	const struct abi_struct *s = test->param_value;
	size_t i, end = 0;

	for (i = 0; i < s->count; i++) {
		KUNIT_EXPECT_EQ_MSG(test, s->fields[i].offset, end, "%s", s->fields[i].name);
		KUNIT_EXPECT_EQ_MSG(test, s->fields[i].offset % min(s->fields[i].size, 8), 0,
				    "%s", s->fields[i].name);
		end += s->fields[i].size;
	}
	KUNIT_EXPECT_EQ(test, s->size, end);
	KUNIT_EXPECT_EQ(test, s->size, s->expected);
	KUNIT_EXPECT_EQ(test, s->size % 8, 0);
}

static void abi_ioctl_numbers(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_GEM_UALINK_EXPORT, 0xc03864d3);
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_GEM_UALINK_IMPORT, 0xc03864d4);
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_GEM_UALINK_REVOKE, 0x400864d5);
	KUNIT_EXPECT_EQ(test, DRM_IOCTL_GEM_UALINK_QUERY, 0xc02064d6);
	KUNIT_EXPECT_EQ(test, DRM_EVENT_UALINK_IMPORTS_DIED, 4);
}

/* The helpers hand numbers of the core through. */
static void abi_same_as_core(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_ALIVE, (int)UALINK_ALIVE);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_DEATH_REVOKED, (int)UALINK_DEATH_REVOKED);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_DEATH_PEER_LOST, (int)UALINK_DEATH_PEER_LOST);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_DEATH_PEER_RESET, (int)UALINK_DEATH_PEER_RESET);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_DEATH_PEER_LEFT, (int)UALINK_DEATH_PEER_LEFT);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_DEATH_LOCAL_RESET,
			(int)UALINK_DEATH_LOCAL_RESET);

	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_PEER_DOWN, (int)UALINK_PEER_DOWN);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_PEER_GREETING, (int)UALINK_PEER_GREETING);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_PEER_UP, (int)UALINK_PEER_UP);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_PEER_SUSPECT, (int)UALINK_PEER_SUSPECT);
	KUNIT_EXPECT_EQ(test, (int)DRM_UALINK_PEER_INCOMPATIBLE,
			(int)UALINK_PEER_INCOMPATIBLE);

	KUNIT_EXPECT_EQ(test, DRM_UALINK_ACCESS_READ, UALINK_ACCESS_READ);
	KUNIT_EXPECT_EQ(test, DRM_UALINK_ACCESS_WRITE, UALINK_ACCESS_WRITE);
	KUNIT_EXPECT_EQ(test, DRM_UALINK_MAX_IDS, UALINK_MAX_IDS);
	KUNIT_EXPECT_EQ(test, DRM_UALINK_HANDLE_SIZE, sizeof(struct ualink_handle));
}

static struct kunit_case abi_cases[] = {
	KUNIT_CASE_PARAM(abi_layout, abi_structs_gen_params),
	KUNIT_CASE(abi_ioctl_numbers),
	KUNIT_CASE(abi_same_as_core),
	{}
};

static struct kunit_suite abi_suite = {
	.name = "drm_ualink_abi",
	.test_cases = abi_cases,
};

kunit_test_suite(abi_suite);

MODULE_DESCRIPTION("KUnit tests of the UALink helpers for DRM drivers");
MODULE_LICENSE("Dual MIT/GPL");
