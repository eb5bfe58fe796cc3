/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * As much of the kernel as ualink_wire.c needs, in user space. The headers in the
 * folder linux beside it are empty but for an include of this one.
 */
#ifndef _FUZZ_KERNEL_H_
#define _FUZZ_KERNEL_H_

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;
typedef uint64_t __le64;
typedef s64 ktime_t;

typedef struct {
	u8 b[16];
} uuid_t;

#define U8_MAX			UINT8_MAX
#define BIT(n)			(1ul << (n))
#define BIT_ULL(n)		(1ull << (n))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define sizeof_field(t, f)	sizeof(((t *)0)->f)
#define is_power_of_2(n)	((n) && !((n) & ((n) - 1)))
#define check_add_overflow(a, b, sum)	__builtin_add_overflow(a, b, sum)
#define EXPORT_SYMBOL_GPL(s)	static_assert(1, "")
#define EXPORT_SYMBOL_IF_KUNIT(s)	static_assert(1, "")

#define ACCESSORS(bits)							\
static inline u##bits get_unaligned_le##bits(const void *from)		\
{									\
	u##bits value;							\
									\
	memcpy(&value, from, sizeof(value));				\
	return le##bits##toh(value);					\
}									\
									\
static inline void put_unaligned_le##bits(u##bits value, void *to)	\
{									\
	value = htole##bits(value);					\
	memcpy(to, &value, sizeof(value));				\
}

ACCESSORS(16)
ACCESSORS(32)
ACCESSORS(64)

static inline const void *memchr_inv(const void *from, int byte, size_t size)
{
	const u8 *bytes = from;

	for (; size; size--, bytes++)
		if (*bytes != byte)
			return bytes;
	return NULL;
}

#endif /* _FUZZ_KERNEL_H_ */
