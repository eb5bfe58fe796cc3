// SPDX-License-Identifier: MIT
/*
 * Configuration space: power management, PCI Express and MSI; BARs 0 (VRAM), 2 (doorbells) and
 * 5 (registers). What a guest writes may reset the GPU:
 *
 * - function level reset by the PCI Express capability: VRAM is kept;
 * - from D3hot to D0: likewise;
 * - bus mastering off while memory space stays on: that is all that the driver does for a mode 1
 *   reset when neither PSP nor SMU are there, and so the mode 1 reset here: VRAM is lost.
 */
#include <string.h>

#include "emu.h"

#define VENDOR		0x1002
#define DEVICE		0x75a0
#define CLASS		0x12	/* processing accelerator */
#define COMMAND		0x04
#define CMD_MEMORY	0x02
#define CMD_MASTER	0x04
#define BAR0		0x10
#define BAR2		0x18
#define BAR5		0x24
#define CAP_PM		0x50
#define PM_CSR		(CAP_PM + 4)
#define CAP_EXP		0x64
#define EXP_DEVCAP	(CAP_EXP + 4)
#define EXP_DEVCTL	(CAP_EXP + 8)
#define DEVCAP_FLR	(1u << 28)
#define DEVCTL_FLR	0x80	/* in its second byte */
#define CAP_MSI		0xa0

static void put(struct gpu *gpu, unsigned int offset, uint32_t value, unsigned int bytes)
{
	memcpy(gpu->pci.config + offset, &value, bytes);
}

static void pci_capabilities(struct gpu *gpu)
{
	put(gpu, 0x34, CAP_PM, 1);
	put(gpu, CAP_PM, 0x0003 << 16 | CAP_EXP << 8 | 0x01, 4);
	put(gpu, PM_CSR, 0, 4);					/* D3hot resets */
	put(gpu, CAP_EXP, 0x0002 << 16 | CAP_MSI << 8 | 0x10, 4);	/* endpoint */
	put(gpu, EXP_DEVCAP, DEVCAP_FLR | 0x8000, 4);
	put(gpu, CAP_EXP + 12, 0x103, 4);			/* link: x16, 8 GT/s */
	put(gpu, CAP_EXP + 18, 0x103, 2);
	put(gpu, CAP_MSI, 0x0080 << 16 | 0x05, 4);		/* 64 bit, one vector */
}

void pci_init(struct gpu *gpu)
{
	memset(gpu->pci.config, 0, sizeof(gpu->pci.config));
	put(gpu, 0x00, (uint32_t)DEVICE << 16 | VENDOR, 4);
	put(gpu, 0x06, 0x10, 2);				/* has capabilities */
	put(gpu, 0x08, (uint32_t)CLASS << 24 | 1, 4);
	put(gpu, BAR0, 0xc, 4);					/* 64 bit, prefetchable */
	put(gpu, BAR2, 0xc, 4);
	put(gpu, 0x2c, (uint32_t)DEVICE << 16 | VENDOR, 4);
	put(gpu, 0x3d, 1, 1);
	pci_capabilities(gpu);
	gpu->pci.bar0_size = gpu->pod->vram_size;
	gpu->pci.bar0 = 0;
	gpu->pci.master = false;
}

/* Whether a guest may write a byte */
static bool writable(uint32_t offset)
{
	static const struct {
		uint32_t first, end;
	} ranges[] = {
		{ COMMAND, COMMAND + 2 }, { 0x0c, 0x0d }, { BAR0, 0x28 }, { 0x3c, 0x3d },
		{ PM_CSR, PM_CSR + 2 }, { EXP_DEVCTL, EXP_DEVCTL + 2 },
		{ CAP_EXP + 16, CAP_EXP + 18 }, { CAP_EXP + 0x28, CAP_EXP + 0x2a },
		{ CAP_MSI + 2, CAP_MSI + 20 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++)
		if (offset >= ranges[i].first && offset < ranges[i].end)
			return true;
	return false;
}

void pci_read(struct gpu *gpu, uint32_t offset, uint8_t *data, uint32_t len)
{
	memset(data, 0, len);
	if (offset < sizeof(gpu->pci.config) && len <= sizeof(gpu->pci.config) - offset)
		memcpy(data, gpu->pci.config + offset, len);
}

/* What BARs and enable bits say now */
static void pci_update(struct gpu *gpu)
{
	uint64_t bar0;

	memcpy(&bar0, gpu->pci.config + BAR0, sizeof(bar0));
	bar0 &= ~(gpu->pci.bar0_size - 1);
	gpu->pci.bar0 = gpu->pci.config[COMMAND] & CMD_MEMORY ? bar0 : 0;
	gpu->pci.master = gpu->pci.config[COMMAND] & CMD_MASTER;
}

static void pci_effects(struct gpu *gpu, const uint8_t *old)
{
	uint8_t *config = gpu->pci.config, command = config[COMMAND];

	if (config[EXP_DEVCTL + 1] & DEVCTL_FLR) {
		config[EXP_DEVCTL + 1] &= (uint8_t)~DEVCTL_FLR;
		logmsg(gpu, "function level reset");
		gpu_reset(gpu, RESET_KEEP);
	} else if ((old[PM_CSR] & 3) == 3 && !(config[PM_CSR] & 3)) {
		logmsg(gpu, "reset from D3hot");
		gpu_reset(gpu, RESET_KEEP);
	} else if (old[COMMAND] & CMD_MASTER && !(command & CMD_MASTER) && command & CMD_MEMORY) {
		logmsg(gpu, "bus mastering off: mode 1 reset");
		gpu_reset(gpu, RESET_LOSE);
	}
}

void pci_write(struct gpu *gpu, uint32_t offset, const uint8_t *data, uint32_t len)
{
	uint8_t old[256];
	uint32_t i;

	memcpy(old, gpu->pci.config, sizeof(old));
	for (i = 0; i < len; i++)
		if (writable(offset + i))
			gpu->pci.config[offset + i] = data[i];
	pci_update(gpu);
	pci_effects(gpu, old);
}
