// SPDX-License-Identifier: GPL-2.0 OR MIT

#include <linux/bitfield.h>
#include <linux/iopoll.h>

#include "amdgpu.h"
#include "amdgpu_reset.h"
#include "amdgpu_ualink.h"
#include "soc15_common.h"
#include "ualink_v1_0_reg.h"
#include "vega10_enum.h"

/* Longest time that a command may take, and between two looks at it */
#define UALINK_V1_0_CMD_TIMEOUT_US	(2 * USEC_PER_SEC)
#define UALINK_V1_0_CMD_POLL_US		20

/*
 * struct ualink_v1_0_rings - the ring area, in system memory
 *
 * Pointers count messages. Each element is written by one side only; those of
 * the driver by who sends to, or receives from, that accelerator, of whom the core
 * has one at a time.
 */
struct ualink_v1_0_rings {
	__le32 *tx_wptr;
	__le32 *tx_rptr;
	__le32 *rx_wptr;
	__le32 *rx_rptr;
	struct ualink_msg *tx;
	struct ualink_msg *rx;
};

struct ualink_v1_0 {
	u32 num_ids;
	u32 ring_size;
	struct ualink_v1_0_rings rings;
	struct amdgpu_bo *bo;
	u64 gpu_addr;
	void *cpu_addr;
	/* One command at a time */
	struct mutex cmd_mutex;
	/* Of the last command; under @cmd_mutex */
	u16 tag;
};

static u32 ualink_v1_0_reg(struct amdgpu_device *adev, u32 reg)
{
	return adev->reg_offset[UALINK_HWIP][0][0] + reg;
}

static u32 ualink_v1_0_read(struct amdgpu_device *adev, u32 reg)
{
	return RREG32(ualink_v1_0_reg(adev, reg));
}

static void ualink_v1_0_write(struct amdgpu_device *adev, u32 reg, u32 value)
{
	WREG32(ualink_v1_0_reg(adev, reg), value);
}

static void ualink_v1_0_write64(struct amdgpu_device *adev, u32 reg, u64 value)
{
	ualink_v1_0_write(adev, reg, lower_32_bits(value));
	ualink_v1_0_write(adev, reg + 1, upper_32_bits(value));
}

/* Messages */

/* While a reset is under way nobody listens; the message is lost like others in the fabric. */
static void ualink_v1_0_tx_doorbell(struct amdgpu_device *adev, u32 dst)
{
	if (!down_read_trylock(&adev->reset_domain->sem))
		return;
	ualink_v1_0_write(adev, UALINK_REG_TX_DOORBELL, dst);
	up_read(&adev->reset_domain->sem);
}

static struct ualink_msg *ualink_v1_0_slot(struct ualink_v1_0 *v1, struct ualink_msg *ring,
					   u32 id, u32 ptr)
{
	return &ring[id * v1->ring_size + (ptr & (v1->ring_size - 1))];
}

static bool ualink_v1_0_tx_full(struct ualink_v1_0 *v1, u32 dst)
{
	struct ualink_v1_0_rings *rings = &v1->rings;

	return le32_to_cpu(rings->tx_wptr[dst]) - le32_to_cpu(READ_ONCE(rings->tx_rptr[dst])) >=
	       v1->ring_size;
}

static int ualink_v1_0_send(struct amdgpu_device *adev, u32 dst, const struct ualink_msg *msg)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;
	struct ualink_v1_0_rings *rings = &v1->rings;
	u32 wptr;

	if (dst >= v1->num_ids)
		return -ENOLINK;

	if (ualink_v1_0_tx_full(v1, dst)) {
		/* Either we see that there is room now, or the block that it was full. */
		mb();
		if (ualink_v1_0_tx_full(v1, dst))
			return -ENOSPC;
	}

	wptr = le32_to_cpu(rings->tx_wptr[dst]);
	*ualink_v1_0_slot(v1, rings->tx, dst, wptr) = *msg;
	/* The block reads the message once it sees the pointer. */
	dma_wmb();
	WRITE_ONCE(rings->tx_wptr[dst], cpu_to_le32(wptr + 1));
	ualink_v1_0_tx_doorbell(adev, dst);
	return 0;
}

static int ualink_v1_0_recv(struct amdgpu_device *adev, u32 src, struct ualink_msg *msg)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;
	struct ualink_v1_0_rings *rings = &v1->rings;
	u32 rptr, wptr;

	if (src >= v1->num_ids)
		return -EAGAIN;

	rptr = le32_to_cpu(rings->rx_rptr[src]);
	wptr = le32_to_cpu(READ_ONCE(rings->rx_wptr[src]));
	if (rptr == wptr)
		return -EAGAIN;
	/* More than there can be: the rings were emptied meanwhile. */
	if (wptr - rptr > v1->ring_size) {
		WRITE_ONCE(rings->rx_rptr[src], cpu_to_le32(wptr));
		return -EAGAIN;
	}

	/* The block wrote the message before the pointer. */
	dma_rmb();
	*msg = *ualink_v1_0_slot(v1, rings->rx, src, rptr);
	/* It may write the slot again once it sees the pointer. */
	smp_store_release(&rings->rx_rptr[src], cpu_to_le32(rptr + 1));
	/* Who waits for room may wait for this one, so that it must not get lost. */
	down_read(&adev->reset_domain->sem);
	ualink_v1_0_write(adev, UALINK_REG_RX_DOORBELL, src);
	up_read(&adev->reset_domain->sem);
	return 0;
}

/* Commands */

/*
 * Not the tag that the block shows, which would look like an answer: it is 0 after a
 * reset, and who drove the block before may have left another.
 */
static u16 ualink_v1_0_next_tag(struct amdgpu_device *adev, struct ualink_v1_0 *v1)
{
	u32 status = ualink_v1_0_read(adev, UALINK_REG_CMD_STATUS);

	if (++v1->tag == FIELD_GET(UALINK_CMD_STATUS__TAG, status))
		v1->tag++;
	return v1->tag;
}

static int ualink_v1_0_command(struct amdgpu_device *adev, u32 opcode, u64 arg0, u64 arg1)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;
	u32 status;
	int ret;

	/* Pulled out of its slot, it reaches nothing, nor is it reached. */
	if (pci_dev_is_disconnected(adev->pdev))
		return 0;
	mutex_lock(&v1->cmd_mutex);
	ualink_v1_0_write64(adev, UALINK_REG_CMD_ARG0_LO, arg0);
	ualink_v1_0_write64(adev, UALINK_REG_CMD_ARG1_LO, arg1);
	ualink_v1_0_write(adev, UALINK_REG_CMD, FIELD_PREP(UALINK_CMD__OPCODE, opcode) |
			  FIELD_PREP(UALINK_CMD__TAG, ualink_v1_0_next_tag(adev, v1)));
	ret = read_poll_timeout(ualink_v1_0_read, status,
				FIELD_GET(UALINK_CMD_STATUS__TAG, status) == v1->tag,
				UALINK_V1_0_CMD_POLL_US, UALINK_V1_0_CMD_TIMEOUT_US, false,
				adev, UALINK_REG_CMD_STATUS);
	mutex_unlock(&v1->cmd_mutex);

	if (ret || FIELD_GET(UALINK_CMD_STATUS__RESULT, status)) {
		dev_err(adev->dev, "UALink command %u failed (%d, status %#x)\n",
			opcode, ret, status);
		return -EIO;
	}
	return 0;
}

static int ualink_v1_0_source_gate(struct amdgpu_device *adev, u32 src, bool open)
{
	return ualink_v1_0_command(adev, open ? UALINK_OP_GATE_OPEN : UALINK_OP_GATE_CLOSE, src, 0);
}

static int ualink_v1_0_invalidate(struct amdgpu_device *adev, u64 offset, u64 size)
{
	return ualink_v1_0_command(adev, UALINK_OP_INVALIDATE, offset, size);
}

static int ualink_v1_0_drain(struct amdgpu_device *adev)
{
	return ualink_v1_0_command(adev, UALINK_OP_DRAIN, 0, 0);
}

/* Life */

static void ualink_v1_0_read_map(struct amdgpu_device *adev, u32 reg, unsigned long *map)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;
	u32 words[UALINK_MAX_IDS / 32] = {};
	unsigned int i;

	for (i = 0; i < DIV_ROUND_UP(v1->num_ids, 32); i++)
		words[i] = ualink_v1_0_read(adev, reg + i);
	bitmap_from_arr32(map, words, UALINK_MAX_IDS);
}

static bool ualink_v1_0_provision(struct amdgpu_device *adev, struct amdgpu_ualink_provision *p)
{
	u32 generation, i;
	__le32 vpod[4];

	/* Until nothing has changed meanwhile */
	do {
		generation = ualink_v1_0_read(adev, UALINK_REG_GENERATION);
		if (!(ualink_v1_0_read(adev, UALINK_REG_STATUS) & UALINK_STATUS__PROVISIONED))
			return false;
		p->id = ualink_v1_0_read(adev, UALINK_REG_ACCEL_ID);
		for (i = 0; i < ARRAY_SIZE(vpod); i++)
			vpod[i] = cpu_to_le32(ualink_v1_0_read(adev, UALINK_REG_VPOD + i));
		import_uuid(&p->vpod, (const u8 *)vpod);
		ualink_v1_0_read_map(adev, UALINK_REG_MEMBERS, p->members);
	} while (generation != ualink_v1_0_read(adev, UALINK_REG_GENERATION));
	return true;
}

static int ualink_v1_0_wait_enabled(struct amdgpu_device *adev, bool enabled)
{
	u32 status;

	return read_poll_timeout(ualink_v1_0_read, status,
				 !!(status & UALINK_STATUS__ENABLED) == enabled,
				 UALINK_V1_0_CMD_POLL_US, UALINK_V1_0_CMD_TIMEOUT_US, false,
				 adev, UALINK_REG_STATUS) ? -EIO : 0;
}

static int ualink_v1_0_disable(struct amdgpu_device *adev)
{
	int ret;

	ualink_v1_0_write(adev, UALINK_REG_CNTL, 0);
	ret = ualink_v1_0_wait_enabled(adev, false);
	if (ret)
		return ret;
	ualink_v1_0_write64(adev, UALINK_REG_NPA_ROOT_LO, 0);
	return 0;
}

static int ualink_v1_0_enable(struct amdgpu_device *adev)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;
	int ret;

	ret = ualink_v1_0_disable(adev);
	if (ret)
		return ret;
	memset(v1->cpu_addr, 0, 4 * v1->num_ids * sizeof(__le32));
	/* The block looks at the pointers as soon as it is enabled. */
	dma_wmb();
	ualink_v1_0_write64(adev, UALINK_REG_RING_BASE_LO, v1->gpu_addr);
	ualink_v1_0_write64(adev, UALINK_REG_NPA_ROOT_LO, amdgpu_ualink_npa_root(adev));
	ualink_v1_0_write(adev, UALINK_REG_CNTL, UALINK_CNTL__ENABLE);
	return ualink_v1_0_wait_enabled(adev, true);
}

static bool ualink_v1_0_has_route(struct amdgpu_device *adev, u32 id)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;
	bool up;

	if (id >= v1->num_ids || !down_read_trylock(&adev->reset_domain->sem))
		return false;
	up = ualink_v1_0_read(adev, UALINK_REG_ROUTES + id / 32) & BIT(id % 32);
	up_read(&adev->reset_domain->sem);
	return up;
}

static void ualink_v1_0_get_vm_pte(struct amdgpu_device *adev, u64 *flags)
{
	*flags &= ~(AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED | AMDGPU_PTE_EXECUTABLE);
	*flags = AMDGPU_PTE_MTYPE_VG10(*flags, MTYPE_UC) | UALINK_PTE_NPA;
}

static u64 ualink_v1_0_counter(struct amdgpu_device *adev, enum amdgpu_ualink_counter which)
{
	u32 lo, hi, reg = UALINK_REG_COUNTER + 2 * which;

	do {
		hi = ualink_v1_0_read(adev, reg + 1);
		lo = ualink_v1_0_read(adev, reg);
	} while (hi != ualink_v1_0_read(adev, reg + 1));
	return (u64)hi << 32 | lo;
}

static int ualink_v1_0_process(struct amdgpu_device *adev, struct amdgpu_irq_src *source,
			       struct amdgpu_iv_entry *entry)
{
	u32 id = entry->src_data[0];

	/* Some interrupts come whether the block is in use or not. */
	if (!adev->ualink)
		return 0;

	switch (entry->src_id) {
	case UALINK_IH_RX:
		amdgpu_ualink_notify(adev, id, ualink_notify_rx);
		break;
	case UALINK_IH_TX:
		amdgpu_ualink_notify(adev, id, ualink_notify_tx);
		break;
	case UALINK_IH_LINK:
		if (!entry->src_data[1])
			amdgpu_ualink_notify(adev, id, ualink_notify_link_down);
		break;
	case UALINK_IH_REFUSED:
		amdgpu_ualink_notify(adev, id, ualink_notify_fault);
		break;
	case UALINK_IH_MANAGED:
		queue_work(system_dfl_wq, &adev->ualink->work);
		break;
	default:
		break;
	}
	return 0;
}

static const struct amdgpu_irq_src_funcs ualink_v1_0_irq_funcs = {
	.process = ualink_v1_0_process,
};

static int ualink_v1_0_irq_init(struct amdgpu_device *adev)
{
	struct amdgpu_irq_src *irq = &adev->ualink->irq;
	unsigned int i;
	int ret;

	irq->num_types = 1;
	irq->funcs = &ualink_v1_0_irq_funcs;
	for (i = 0; i < UALINK_IH_SOURCES; i++) {
		ret = amdgpu_irq_add_id(adev, UALINK_IH_CLIENT, i, irq);
		if (ret)
			return ret;
	}
	return 0;
}

static void ualink_v1_0_layout(struct ualink_v1_0 *v1)
{
	struct ualink_v1_0_rings *rings = &v1->rings;

	rings->tx_wptr = v1->cpu_addr;
	rings->tx_rptr = rings->tx_wptr + v1->num_ids;
	rings->rx_wptr = rings->tx_rptr + v1->num_ids;
	rings->rx_rptr = rings->rx_wptr + v1->num_ids;
	rings->tx = (struct ualink_msg *)(rings->rx_rptr + v1->num_ids);
	rings->rx = rings->tx + (size_t)v1->num_ids * v1->ring_size;
}

/* What this code can drive: page tables of four levels are what the block walks, too. */
static bool ualink_v1_0_usable(struct amdgpu_device *adev, struct ualink_v1_0 *v1, u32 caps)
{
	return ualink_v1_0_read(adev, UALINK_REG_ID) == UALINK_ID__MAGIC &&
	       FIELD_GET(UALINK_VERSION__MAJOR, ualink_v1_0_read(adev, UALINK_REG_VERSION)) == 1 &&
	       v1->num_ids && v1->num_ids <= UALINK_MAX_IDS &&
	       FIELD_GET(UALINK_CAPS__SEGMENT_SHIFT, caps) >= AMDGPU_GPU_PAGE_SHIFT &&
	       FIELD_GET(UALINK_CAPS__SEGMENT_SHIFT, caps) <= 48 &&
	       adev->vm_manager.root_level == AMDGPU_VM_PDB2 && adev->vm_manager.block_size == 9;
}

static int ualink_v1_0_sw_init(struct amdgpu_device *adev)
{
	u32 caps = ualink_v1_0_read(adev, UALINK_REG_CAPS);
	struct ualink_v1_0 *v1;
	size_t size;
	int ret;

	v1 = kzalloc_obj(*v1);
	if (!v1)
		return -ENOMEM;
	mutex_init(&v1->cmd_mutex);
	v1->num_ids = FIELD_GET(UALINK_CAPS__NUM_IDS, caps);
	v1->ring_size = BIT(FIELD_GET(UALINK_CAPS__RING_SHIFT, caps));

	ret = -ENODEV;
	if (!ualink_v1_0_usable(adev, v1, caps))
		goto err_free;

	size = 4 * v1->num_ids * sizeof(__le32) +
	       2 * (size_t)v1->num_ids * v1->ring_size * sizeof(struct ualink_msg);
	ret = amdgpu_bo_create_kernel(adev, size, PAGE_SIZE, AMDGPU_GEM_DOMAIN_GTT,
				      &v1->bo, &v1->gpu_addr, &v1->cpu_addr);
	if (ret)
		goto err_free;
	ualink_v1_0_layout(v1);

	adev->ualink->priv = v1;
	adev->ualink->segment_shift = FIELD_GET(UALINK_CAPS__SEGMENT_SHIFT, caps);
	ret = ualink_v1_0_irq_init(adev);
	if (ret)
		goto err_bo;
	return 0;

err_bo:
	amdgpu_bo_free_kernel(&v1->bo, &v1->gpu_addr, &v1->cpu_addr);
err_free:
	kfree(v1);
	return ret;
}

static void ualink_v1_0_sw_fini(struct amdgpu_device *adev)
{
	struct ualink_v1_0 *v1 = adev->ualink->priv;

	amdgpu_bo_free_kernel(&v1->bo, &v1->gpu_addr, &v1->cpu_addr);
	kfree(v1);
}

const struct amdgpu_ualink_funcs ualink_v1_0_funcs = {
	.sw_init = ualink_v1_0_sw_init,
	.sw_fini = ualink_v1_0_sw_fini,
	.provision = ualink_v1_0_provision,
	.enable = ualink_v1_0_enable,
	.disable = ualink_v1_0_disable,
	.send = ualink_v1_0_send,
	.recv = ualink_v1_0_recv,
	.source_gate = ualink_v1_0_source_gate,
	.invalidate = ualink_v1_0_invalidate,
	.drain = ualink_v1_0_drain,
	.has_route = ualink_v1_0_has_route,
	.get_vm_pte = ualink_v1_0_get_vm_pte,
	.counter = ualink_v1_0_counter,
};

#if IS_ENABLED(CONFIG_DRM_AMDGPU_UALINK_KUNIT_TEST)
#include "tests/ualink_v1_0_test.c"
#endif
