/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Registers, rings and interrupts of version 1.0 of the UALink block:
 * Documentation/gpu/amdgpu/ualink-hostif.rst
 */
#ifndef __UALINK_V1_0_REG_H__
#define __UALINK_V1_0_REG_H__

#include <linux/bits.h>

/* In dwords from the base of the block */
#define UALINK_REG_ID			0x000
#define UALINK_REG_VERSION		0x001
#define UALINK_REG_CAPS			0x002
#define UALINK_REG_STATUS		0x003
#define UALINK_REG_CNTL			0x004
#define UALINK_REG_ACCEL_ID		0x005
#define UALINK_REG_GENERATION		0x006
#define UALINK_REG_VPOD			0x008
#define UALINK_REG_RING_BASE_LO		0x010
#define UALINK_REG_RING_BASE_HI		0x011
#define UALINK_REG_TX_DOORBELL		0x012
#define UALINK_REG_RX_DOORBELL		0x013
#define UALINK_REG_NPA_ROOT_LO		0x018
#define UALINK_REG_NPA_ROOT_HI		0x019
#define UALINK_REG_CMD_ARG0_LO		0x020
#define UALINK_REG_CMD_ARG0_HI		0x021
#define UALINK_REG_CMD_ARG1_LO		0x022
#define UALINK_REG_CMD_ARG1_HI		0x023
#define UALINK_REG_CMD			0x024
#define UALINK_REG_CMD_STATUS		0x025
#define UALINK_REG_MEMBERS		0x040
#define UALINK_REG_ROUTES		0x060
#define UALINK_REG_COUNTER		0x100

#define UALINK_ID__MAGIC		0x4b4c4155
#define UALINK_VERSION__MAJOR		GENMASK(31, 16)
#define UALINK_CAPS__SEGMENT_SHIFT	GENMASK(5, 0)
#define UALINK_CAPS__RING_SHIFT		GENMASK(11, 8)
#define UALINK_CAPS__NUM_IDS		GENMASK(31, 16)
#define UALINK_STATUS__PROVISIONED	BIT(0)
#define UALINK_STATUS__ENABLED		BIT(1)
#define UALINK_STATUS__ERROR		BIT(2)
#define UALINK_CNTL__ENABLE		BIT(0)
#define UALINK_CMD__OPCODE		GENMASK(7, 0)
#define UALINK_CMD__TAG			GENMASK(31, 16)
#define UALINK_CMD_STATUS__RESULT	GENMASK(7, 0)
#define UALINK_CMD_STATUS__TAG		GENMASK(31, 16)

#define UALINK_OP_INVALIDATE		1
#define UALINK_OP_GATE_OPEN		2
#define UALINK_OP_GATE_CLOSE		3
#define UALINK_OP_DRAIN			4

/* Interrupts: client, and sources from 0 */
#define UALINK_IH_CLIENT		0x1a
#define UALINK_IH_RX			0
#define UALINK_IH_TX			1
#define UALINK_IH_LINK			2
#define UALINK_IH_REFUSED		3
#define UALINK_IH_MANAGED		4
#define UALINK_IH_SOURCES		5

/* In the entries of the GPU's page tables */
#define UALINK_PTE_NPA			BIT_ULL(50)

#endif /* __UALINK_V1_0_REG_H__ */
