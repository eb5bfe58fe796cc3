/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_NAMES_H_
#define _UALINK_NAMES_H_

#include <linux/types.h>

const char *ualink_msg_type_name(u8 type);
const char *ualink_decode_error_name(u8 error);
const char *ualink_peer_state_name(u8 state);
const char *ualink_greeting_name(u8 greeting);
const char *ualink_export_state_name(u8 state);
const char *ualink_import_state_name(u8 state);
const char *ualink_death_name(u8 death);

#endif /* _UALINK_NAMES_H_ */
