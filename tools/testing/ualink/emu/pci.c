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
#include <linux/pci_regs.h>
#include <string.h>

#include "emu.h"

#define VENDOR		0x1002
#define DEVICE		0x75a0
#define CAP_PM		0x50
#define CAP_EXP		0x64
#define CAP_MSI		0xa0
#define PM_CSR		(CAP_PM + PCI_PM_CTRL)
#define BAR_FLAGS	(PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH)
#define EXP_DEVCTL	(CAP_EXP + PCI_EXP_DEVCTL)

static void put(struct gpu *gpu, unsigned int offset, uint32_t value, unsigned int bytes)
{
	memcpy(gpu->pci.config + offset, &value, bytes);
}

static void pci_capabilities(struct gpu *gpu)
{
	put(gpu, PCI_CAPABILITY_LIST, CAP_PM, 1);
	put(gpu, CAP_PM, 3 << 16 | CAP_EXP << 8 | PCI_CAP_ID_PM, 4);
	put(gpu, PM_CSR, 0, 4);			/* to leave D3hot resets */
	put(gpu, CAP_EXP, 2 << 16 | CAP_MSI << 8 | PCI_CAP_ID_EXP, 4);	/* endpoint */
	put(gpu, CAP_EXP + PCI_EXP_DEVCAP, PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER, 4);
	put(gpu, CAP_EXP + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_8_0GB | 16 << 4, 4);
	put(gpu, CAP_EXP + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_8_0GB | 16 << 4, 2);
	put(gpu, CAP_MSI, PCI_MSI_FLAGS_64BIT << 16 | PCI_CAP_ID_MSI, 4);	/* one vector */
}

void pci_init(struct gpu *gpu)
{
	memset(gpu->pci.config, 0, sizeof(gpu->pci.config));
	put(gpu, PCI_VENDOR_ID, (uint32_t)DEVICE << 16 | VENDOR, 4);
	put(gpu, PCI_STATUS, PCI_STATUS_CAP_LIST, 2);
	put(gpu, PCI_CLASS_REVISION, 0x12u << 24 | 1, 4);	/* processing accelerator */
	put(gpu, PCI_BASE_ADDRESS_0, BAR_FLAGS, 4);
	put(gpu, PCI_BASE_ADDRESS_2, BAR_FLAGS, 4);
	put(gpu, PCI_SUBSYSTEM_VENDOR_ID, (uint32_t)DEVICE << 16 | VENDOR, 4);
	put(gpu, PCI_INTERRUPT_PIN, 1, 1);
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
		{ PCI_COMMAND, PCI_COMMAND + 2 }, { PCI_CACHE_LINE_SIZE, PCI_CACHE_LINE_SIZE + 1 },
		{ PCI_BASE_ADDRESS_0, PCI_CARDBUS_CIS }, { PCI_INTERRUPT_LINE, PCI_INTERRUPT_PIN },
		{ PM_CSR, PM_CSR + 2 }, { EXP_DEVCTL, EXP_DEVCTL + 2 },
		{ CAP_EXP + PCI_EXP_LNKCTL, CAP_EXP + PCI_EXP_LNKCTL + 2 },
		{ CAP_EXP + PCI_EXP_DEVCTL2, CAP_EXP + PCI_EXP_DEVCTL2 + 2 },
		{ CAP_MSI + PCI_MSI_FLAGS, CAP_MSI + PCI_MSI_MASK_64 + 4 },
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

	memcpy(&bar0, gpu->pci.config + PCI_BASE_ADDRESS_0, sizeof(bar0));
	bar0 &= ~(gpu->pci.bar0_size - 1);
	gpu->pci.bar0 = gpu->pci.config[PCI_COMMAND] & PCI_COMMAND_MEMORY ? bar0 : 0;
	gpu->pci.master = gpu->pci.config[PCI_COMMAND] & PCI_COMMAND_MASTER;
}

static void pci_effects(struct gpu *gpu, const uint8_t *old)
{
	uint8_t *config = gpu->pci.config, was = old[PCI_COMMAND], is = config[PCI_COMMAND];
	uint8_t flr = PCI_EXP_DEVCTL_BCR_FLR >> 8;

	if (config[EXP_DEVCTL + 1] & flr) {
		config[EXP_DEVCTL + 1] &= (uint8_t)~flr;
		logmsg(gpu, "function level reset");
		gpu_reset(gpu, RESET_KEEP);
	} else if ((old[PM_CSR] & PCI_PM_CTRL_STATE_MASK) == 3 &&
		   !(config[PM_CSR] & PCI_PM_CTRL_STATE_MASK)) {
		logmsg(gpu, "reset from D3hot");
		gpu_reset(gpu, RESET_KEEP);
	} else if (was & PCI_COMMAND_MASTER && !(is & PCI_COMMAND_MASTER) &&
		   is & PCI_COMMAND_MEMORY) {
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
