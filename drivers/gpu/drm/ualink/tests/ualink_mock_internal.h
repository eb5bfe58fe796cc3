/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef _UALINK_MOCK_INTERNAL_H_
#define _UALINK_MOCK_INTERNAL_H_

#include "ualink_mock.h"

/* ualink_mock.c */
void ualink_mock_violation(struct ualink_mock *node, const char *what);

/* ualink_mock_fabric.c */
struct ualink_mock_ring *ualink_mock_ring(struct ualink_mock *from, struct ualink_mock *to);
int ualink_mock_op_send(struct ualink_device *udev, u32 dst, const struct ualink_msg *msg);
int ualink_mock_op_recv(struct ualink_device *udev, u32 src, struct ualink_msg *msg);
bool ualink_mock_traffic(struct ualink_mock_pod *pod);
void ualink_mock_drain(struct ualink_mock_pod *pod);

#endif /* _UALINK_MOCK_INTERNAL_H_ */
