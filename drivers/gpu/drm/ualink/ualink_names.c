// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Names of states and the like, for traces, debugfs and logs.
 */

#include <linux/array_size.h>

#include "ualink_names.h"
#include "ualink_types.h"

static const char *name_of(const char * const names[], unsigned int count, u8 index)
{
	return index < count && names[index] ? names[index] : "?";
}

const char *ualink_decode_error_name(u8 error)
{
	static const char * const names[] = {
		[UALINK_DECODE_OK] = "ok",
		[UALINK_DECODE_SOURCE] = "source",
		[UALINK_DECODE_DESTINATION] = "destination",
		[UALINK_DECODE_VERSION] = "version",
		[UALINK_DECODE_TYPE] = "type",
		[UALINK_DECODE_LENGTH] = "length",
		[UALINK_DECODE_RESERVED] = "reserved",
		[UALINK_DECODE_REQUEST] = "request",
		[UALINK_DECODE_SESSION] = "session",
		[UALINK_DECODE_VALUE] = "value",
	};

	return name_of(names, ARRAY_SIZE(names), error);
}

const char *ualink_peer_state_name(u8 state)
{
	static const char * const names[] = {
		[UALINK_PEER_DOWN] = "DOWN",
		[UALINK_PEER_GREETING] = "GREETING",
		[UALINK_PEER_UP] = "UP",
		[UALINK_PEER_SUSPECT] = "SUSPECT",
		[UALINK_PEER_INCOMPATIBLE] = "INCOMPATIBLE",
	};

	return name_of(names, ARRAY_SIZE(names), state);
}

const char *ualink_greeting_name(u8 greeting)
{
	static const char * const names[] = {
		[UALINK_GREETING_NONE] = "NONE",
		[UALINK_GREETING_HELLO] = "HELLO",
		[UALINK_GREETING_CLEANING] = "CLEANING",
		[UALINK_GREETING_READY] = "READY",
		[UALINK_GREETING_OPENING] = "OPENING",
	};

	return name_of(names, ARRAY_SIZE(names), greeting);
}

const char *ualink_export_state_name(u8 state)
{
	static const char * const names[] = {
		[UALINK_EXPORT_NEW] = "NEW",
		[UALINK_EXPORT_ACTIVE] = "ACTIVE",
		[UALINK_EXPORT_REVOKING] = "REVOKING",
		[UALINK_EXPORT_UNMAPPING] = "UNMAPPING",
		[UALINK_EXPORT_QUARANTINED] = "QUARANTINED",
		[UALINK_EXPORT_WEDGED] = "WEDGED",
		[UALINK_EXPORT_DEAD] = "DEAD",
	};

	return name_of(names, ARRAY_SIZE(names), state);
}

const char *ualink_import_state_name(u8 state)
{
	static const char * const names[] = {
		[UALINK_IMPORT_PENDING] = "PENDING",
		[UALINK_IMPORT_ACTIVE] = "ACTIVE",
		[UALINK_IMPORT_IDLE] = "IDLE",
		[UALINK_IMPORT_REVOKING] = "REVOKING",
		[UALINK_IMPORT_RELEASING] = "RELEASING",
		[UALINK_IMPORT_DEAD] = "DEAD",
	};

	return name_of(names, ARRAY_SIZE(names), state);
}

const char *ualink_death_name(u8 death)
{
	static const char * const names[] = {
		[UALINK_ALIVE] = "alive",
		[UALINK_DEATH_REVOKED] = "revoked",
		[UALINK_DEATH_PEER_LOST] = "peer-lost",
		[UALINK_DEATH_PEER_RESET] = "peer-reset",
		[UALINK_DEATH_PEER_LEFT] = "peer-left",
		[UALINK_DEATH_LOCAL_RESET] = "local-reset",
	};

	return name_of(names, ARRAY_SIZE(names), death);
}
