// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Handles: what an export is called in the whole vPod.
 */

#include <kunit/static_stub.h>
#include <linux/export.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/unaligned.h>

#include "ualink_internal.h"

/**
 * ualink_handle_to_bytes() - writes a handle in the order in which users see it
 * @handle: handle
 * @bytes: becomes the handle: the tag, then the secret, both little-endian
 */
void ualink_handle_to_bytes(const struct ualink_handle *handle, u8 bytes[16])
{
	put_unaligned_le64(handle->tag, bytes);
	put_unaligned_le64(handle->secret, bytes + sizeof(u64));
}
EXPORT_SYMBOL_GPL(ualink_handle_to_bytes);

/**
 * ualink_handle_from_bytes() - reads what ualink_handle_to_bytes() wrote
 * @handle: becomes the handle
 * @bytes: handle as users see it; any content will do
 */
void ualink_handle_from_bytes(struct ualink_handle *handle, const u8 bytes[16])
{
	handle->tag = get_unaligned_le64(bytes);
	handle->secret = get_unaligned_le64(bytes + sizeof(u64));
}
EXPORT_SYMBOL_GPL(ualink_handle_from_bytes);

/*
 * Draws a handle for an export of accelerator @id. It cannot be guessed, and no other
 * handle is like it; that its tag is not in use, the caller must see to.
 */
void ualink_handle_generate(struct ualink_handle *handle, u32 id)
{
	KUNIT_STATIC_STUB_REDIRECT(ualink_handle_generate, handle, id);

	get_random_bytes(handle, sizeof(*handle));
	handle->tag &= ~(u64)(UALINK_MAX_IDS - 1);
	handle->tag |= id;
}
EXPORT_SYMBOL_IF_KUNIT(ualink_handle_generate);

/*
 * A short name for a handle, for logs and traces. It is keyed, so that it cannot be
 * used to check a guess, and differs from boot to boot and from node to node.
 */
u32 ualink_handle_hash(const struct ualink_handle *handle)
{
	static siphash_aligned_key_t key __read_mostly;

	get_random_once(&key, sizeof(key));
	return siphash_2u64(handle->tag, handle->secret, &key);
}
EXPORT_SYMBOL_IF_KUNIT(ualink_handle_hash);
