// SPDX-License-Identifier: MIT
/* What the two kinds of engines share: taking packets from memory, and comparing. */
#include "emu.h"

/*
 * Takes the next dwords of a packet from a ring or an indirect buffer.
 * Return: false when the buffer ends before, or memory cannot be read; then it is at its end.
 */
bool cursor_take(struct cursor *cursor, uint32_t *dw, size_t count)
{
	size_t bytes = count * 4, chunk;
	uint64_t offset;

	if (cursor->end - cursor->pos < bytes) {
		cursor->pos = cursor->end;
		return false;
	}
	while (bytes) {
		offset = cursor->size ? cursor->pos % cursor->size : cursor->pos;
		chunk = bytes;
		if (cursor->size && chunk > cursor->size - offset)
			chunk = cursor->size - offset;
		if (!hub_read(cursor->hub, cursor->vmid, cursor->base + offset, dw, chunk)) {
			cursor->pos = cursor->end;
			return false;
		}
		cursor->pos += chunk;
		dw += chunk / 4;
		bytes -= chunk;
	}
	return true;
}

/* The functions of POLL_REGMEM and WAIT_REG_MEM */
bool compare(unsigned int function, uint64_t value, uint64_t reference)
{
	switch (function) {
	case 0:
		return true;
	case 1:
		return value < reference;
	case 2:
		return value <= reference;
	case 3:
		return value == reference;
	case 4:
		return value != reference;
	case 5:
		return value >= reference;
	case 6:
		return value > reference;
	default:
		return false;
	}
}
