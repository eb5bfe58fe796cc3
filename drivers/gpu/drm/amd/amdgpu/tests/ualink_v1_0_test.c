// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Included by ualink_v1_0.c. The registers are plain memory here: what the driver
 * writes stays, and what it reads is what a test put there.
 */

#include <kunit/test.h>
#include <linux/pci.h>

#define TEST_IDS	1024
#define TEST_RING_SHIFT	4
#define TEST_RING	BIT(TEST_RING_SHIFT)
#define TEST_REGS	0x1000

struct ualink_v1_0_fake {
	struct amdgpu_device *adev;
	struct ualink_v1_0 *v1;
	u32 *regs;
	/* Answers the next command with this result */
	struct work_struct answer;
	u32 result;
};

static void ualink_v1_0_test_answer(struct work_struct *work)
{
	struct ualink_v1_0_fake *fake = container_of(work, struct ualink_v1_0_fake, answer);
	u32 command;
	int tries = 10000;

	while (!(command = READ_ONCE(fake->regs[UALINK_REG_CMD])) && tries--)
		usleep_range(50, 100);
	command = FIELD_GET(UALINK_CMD__TAG, command);
	WRITE_ONCE(fake->regs[UALINK_REG_CMD_STATUS],
		   FIELD_PREP(UALINK_CMD_STATUS__TAG, command) |
		   FIELD_PREP(UALINK_CMD_STATUS__RESULT, fake->result));
}

/* The next command gets an answer. */
static void ualink_v1_0_test_expect(struct ualink_v1_0_fake *fake, u32 result)
{
	flush_work(&fake->answer);
	fake->regs[UALINK_REG_CMD] = 0;
	fake->result = result;
	queue_work(system_dfl_wq, &fake->answer);
}

static int ualink_v1_0_test_init(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);
	struct amdgpu_device *adev = kunit_kzalloc(test, sizeof(*adev), GFP_KERNEL);
	struct amdgpu_reset_domain *domain = kunit_kzalloc(test, sizeof(*domain), GFP_KERNEL);
	struct ualink_v1_0 *v1 = kunit_kzalloc(test, sizeof(*v1), GFP_KERNEL);
	u32 *base = kunit_kzalloc(test, sizeof(*base), GFP_KERNEL);
	size_t area = 16 * TEST_IDS + 2 * 64 * TEST_IDS * TEST_RING;

	KUNIT_ASSERT_NOT_NULL(test, fake);
	KUNIT_ASSERT_NOT_NULL(test, adev);
	KUNIT_ASSERT_NOT_NULL(test, domain);
	KUNIT_ASSERT_NOT_NULL(test, v1);
	KUNIT_ASSERT_NOT_NULL(test, base);

	fake->adev = adev;
	fake->v1 = v1;
	fake->regs = kunit_kcalloc(test, TEST_REGS, sizeof(u32), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fake->regs);

	init_rwsem(&domain->sem);
	adev->reset_domain = domain;
	adev->pdev = kunit_kzalloc(test, sizeof(*adev->pdev), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, adev->pdev);
	adev->rmmio = (void __iomem *)fake->regs;
	adev->rmmio_size = TEST_REGS * sizeof(u32);
	adev->reg_offset[UALINK_HWIP][0] = base;
	adev->ualink = kunit_kzalloc(test, sizeof(*adev->ualink), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, adev->ualink);
	adev->ualink->adev = adev;
	adev->ualink->priv = v1;

	v1->num_ids = TEST_IDS;
	v1->ring_size = TEST_RING;
	mutex_init(&v1->cmd_mutex);
	v1->cpu_addr = kvzalloc(area, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, v1->cpu_addr);
	ualink_v1_0_layout(v1);
	INIT_WORK(&fake->answer, ualink_v1_0_test_answer);
	test->priv = fake;
	return 0;
}

static void ualink_v1_0_test_exit(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;

	flush_work(&fake->answer);
	kvfree(fake->v1->cpu_addr);
}

static void ualink_v1_0_test_layout(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;
	struct ualink_v1_0_rings *rings = &fake->v1->rings;
	void *area = fake->v1->cpu_addr;

	KUNIT_EXPECT_PTR_EQ(test, (void *)rings->tx_wptr, area);
	KUNIT_EXPECT_PTR_EQ(test, (void *)rings->tx_rptr, area + 4 * TEST_IDS);
	KUNIT_EXPECT_PTR_EQ(test, (void *)rings->rx_wptr, area + 8 * TEST_IDS);
	KUNIT_EXPECT_PTR_EQ(test, (void *)rings->rx_rptr, area + 12 * TEST_IDS);
	KUNIT_EXPECT_PTR_EQ(test, (void *)rings->tx, area + 16 * TEST_IDS);
	KUNIT_EXPECT_PTR_EQ(test, (void *)rings->rx,
			    area + 16 * TEST_IDS + 64 * TEST_IDS * TEST_RING);
	KUNIT_EXPECT_PTR_EQ(test, (void *)ualink_v1_0_slot(fake->v1, rings->rx, TEST_IDS - 1, ~0),
			    area + 16 * TEST_IDS + 2 * 64 * TEST_IDS * TEST_RING - 64);
}

/* Fills the ring to @dst from @wptr on, across the wrap of the pointer if it is near it. */
static void ualink_v1_0_test_fill(struct kunit *test, u32 dst, u32 wptr)
{
	struct ualink_v1_0_fake *fake = test->priv;
	struct ualink_v1_0_rings *rings = &fake->v1->rings;
	struct ualink_msg msg = {}, *slot;
	u32 i;

	rings->tx_wptr[dst] = cpu_to_le32(wptr);
	rings->tx_rptr[dst] = cpu_to_le32(wptr);
	for (i = 0; i < TEST_RING; i++) {
		msg.words[7] = cpu_to_le64(0x1000 + i);
		KUNIT_ASSERT_EQ(test, ualink_v1_0_send(fake->adev, dst, &msg), 0);
		KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_TX_DOORBELL], dst);
	}
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rings->tx_wptr[dst]), wptr + (u32)TEST_RING);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_send(fake->adev, dst, &msg), -ENOSPC);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rings->tx_wptr[dst]), wptr + (u32)TEST_RING);
	for (i = 0; i < TEST_RING; i++) {
		slot = ualink_v1_0_slot(fake->v1, rings->tx, dst, wptr + i);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(slot->words[7]), 0x1000 + i);
	}

	/* The block takes one. */
	rings->tx_rptr[dst] = cpu_to_le32(wptr + 1);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_send(fake->adev, dst, &msg), 0);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_send(fake->adev, dst, &msg), -ENOSPC);
}

static void ualink_v1_0_test_send(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;
	struct ualink_msg msg = {};

	ualink_v1_0_test_fill(test, 3, 0);
	ualink_v1_0_test_fill(test, TEST_IDS - 1, U32_MAX - 5);
	/* Each ring has its own room. */
	KUNIT_EXPECT_EQ(test, ualink_v1_0_send(fake->adev, 2, &msg), 0);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_send(fake->adev, TEST_IDS, &msg), -ENOLINK);
}

static void ualink_v1_0_test_recv(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;
	struct ualink_v1_0_rings *rings = &fake->v1->rings;
	const u32 src = 700, start = U32_MAX - 2;
	struct ualink_msg msg;
	u32 i;

	rings->rx_rptr[src] = cpu_to_le32(start);
	rings->rx_wptr[src] = cpu_to_le32(start);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_recv(fake->adev, src, &msg), -EAGAIN);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_recv(fake->adev, TEST_IDS, &msg), -EAGAIN);

	for (i = 0; i < TEST_RING; i++)
		ualink_v1_0_slot(fake->v1, rings->rx, src, start + i)->words[0] = cpu_to_le64(i);
	rings->rx_wptr[src] = cpu_to_le32(start + TEST_RING);
	for (i = 0; i < TEST_RING; i++) {
		fake->regs[UALINK_REG_RX_DOORBELL] = 0;
		KUNIT_ASSERT_EQ(test, ualink_v1_0_recv(fake->adev, src, &msg), 0);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(msg.words[0]), i);
		KUNIT_EXPECT_EQ(test, le32_to_cpu(rings->rx_rptr[src]), start + i + 1);
		KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_RX_DOORBELL], src);
	}
	KUNIT_EXPECT_EQ(test, ualink_v1_0_recv(fake->adev, src, &msg), -EAGAIN);
}

static void ualink_v1_0_test_provision(struct kunit *test)
{
	const u8 vpod[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	struct ualink_v1_0_fake *fake = test->priv;
	struct amdgpu_ualink_provision *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_FALSE(test, ualink_v1_0_provision(fake->adev, p));

	fake->regs[UALINK_REG_STATUS] = UALINK_STATUS__PROVISIONED;
	fake->regs[UALINK_REG_ACCEL_ID] = 1023;
	memcpy(&fake->regs[UALINK_REG_VPOD], vpod, sizeof(vpod));
	fake->regs[UALINK_REG_MEMBERS] = BIT(0) | BIT(5);
	fake->regs[UALINK_REG_MEMBERS + 31] = BIT(31);
	KUNIT_ASSERT_TRUE(test, ualink_v1_0_provision(fake->adev, p));
	KUNIT_EXPECT_EQ(test, p->id, 1023);
	KUNIT_EXPECT_MEMEQ(test, &p->vpod, vpod, sizeof(vpod));
	KUNIT_EXPECT_EQ(test, bitmap_weight(p->members, UALINK_MAX_IDS), 3);
	KUNIT_EXPECT_TRUE(test, test_bit(0, p->members));
	KUNIT_EXPECT_TRUE(test, test_bit(5, p->members));
	KUNIT_EXPECT_TRUE(test, test_bit(1023, p->members));
}

static void ualink_v1_0_test_command(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;

	ualink_v1_0_test_expect(fake, 0);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_invalidate(fake->adev, 0x123456789000, 0x200000), 0);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD_ARG0_LO], 0x56789000);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD_ARG0_HI], 0x1234);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD_ARG1_LO], 0x200000);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD_ARG1_HI], 0);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD], 1 << 16 | UALINK_OP_INVALIDATE);

	ualink_v1_0_test_expect(fake, 2);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_source_gate(fake->adev, 9, true), -EIO);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD], 2 << 16 | UALINK_OP_GATE_OPEN);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD_ARG0_LO], 9);

	/* What the block shows after a reset, or left behind, is no answer. */
	fake->v1->tag = U16_MAX;
	fake->regs[UALINK_REG_CMD_STATUS] = 0;
	ualink_v1_0_test_expect(fake, 0);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_drain(fake->adev), 0);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD], 1 << 16 | UALINK_OP_DRAIN);
	fake->v1->tag = 41;
	fake->regs[UALINK_REG_CMD_STATUS] = FIELD_PREP(UALINK_CMD_STATUS__TAG, 42);
	ualink_v1_0_test_expect(fake, 0);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_drain(fake->adev), 0);
	KUNIT_EXPECT_EQ(test, fake->regs[UALINK_REG_CMD], 43 << 16 | UALINK_OP_DRAIN);

	/* Nobody answers, or nobody is there who could. */
	KUNIT_EXPECT_EQ(test, ualink_v1_0_drain(fake->adev), -EIO);
	fake->adev->pdev->error_state = pci_channel_io_perm_failure;
	KUNIT_EXPECT_EQ(test, ualink_v1_0_drain(fake->adev), 0);
}

/* A pointer from before the rings were emptied. */
static void ualink_v1_0_test_emptied(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;
	struct ualink_v1_0_rings *rings = &fake->v1->rings;
	struct ualink_msg msg;

	rings->rx_rptr[3] = cpu_to_le32(8);
	rings->rx_wptr[3] = cpu_to_le32(2);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_recv(fake->adev, 3, &msg), -EAGAIN);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rings->rx_rptr[3]), 2);
	rings->rx_wptr[3] = cpu_to_le32(2 + TEST_RING);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_recv(fake->adev, 3, &msg), 0);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(rings->rx_rptr[3]), 3);
}

static void ualink_v1_0_test_pte(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;
	u64 flags = AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE | AMDGPU_PTE_WRITEABLE |
		    AMDGPU_PTE_SYSTEM | AMDGPU_PTE_SNOOPED | AMDGPU_PTE_EXECUTABLE;

	flags = AMDGPU_PTE_MTYPE_VG10(flags, MTYPE_RW);
	ualink_v1_0_get_vm_pte(fake->adev, &flags);
	KUNIT_EXPECT_EQ(test, flags,
			AMDGPU_PTE_MTYPE_VG10(AMDGPU_PTE_VALID | AMDGPU_PTE_READABLE |
					      AMDGPU_PTE_WRITEABLE | BIT_ULL(50), MTYPE_UC));
}

static void ualink_v1_0_test_counter(struct kunit *test)
{
	struct ualink_v1_0_fake *fake = test->priv;

	fake->regs[UALINK_REG_COUNTER + 2 * AMDGPU_UALINK_STALE] = 0x89abcdef;
	fake->regs[UALINK_REG_COUNTER + 2 * AMDGPU_UALINK_STALE + 1] = 0x1234567;
	KUNIT_EXPECT_EQ(test, ualink_v1_0_counter(fake->adev, AMDGPU_UALINK_STALE),
			0x123456789abcdefull);
	KUNIT_EXPECT_EQ(test, ualink_v1_0_counter(fake->adev, AMDGPU_UALINK_WALKS), 0);
}

static struct kunit_case ualink_v1_0_test_cases[] = {
	KUNIT_CASE(ualink_v1_0_test_layout),
	KUNIT_CASE(ualink_v1_0_test_send),
	KUNIT_CASE(ualink_v1_0_test_recv),
	KUNIT_CASE(ualink_v1_0_test_provision),
	KUNIT_CASE_SLOW(ualink_v1_0_test_command),
	KUNIT_CASE(ualink_v1_0_test_emptied),
	KUNIT_CASE(ualink_v1_0_test_pte),
	KUNIT_CASE(ualink_v1_0_test_counter),
	{}
};

static struct kunit_suite ualink_v1_0_test_suite = {
	.name = "amdgpu_ualink_v1_0",
	.init = ualink_v1_0_test_init,
	.exit = ualink_v1_0_test_exit,
	.test_cases = ualink_v1_0_test_cases,
};

kunit_test_suite(ualink_v1_0_test_suite);
