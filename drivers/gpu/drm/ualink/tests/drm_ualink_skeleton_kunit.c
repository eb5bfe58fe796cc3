// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The skeleton of a driver at work: two devices of it, and a model of what they drive.
 * What is asserted is what an access of the hardware reads, through tables and TLBs.
 */

#include <kunit/device.h>
#include <kunit/test.h>

#include <linux/bitmap.h>
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_kunit_helpers.h>
#include <drm/drm_prime.h>
#include <drm/drm_ualink.h>

#include "drm_ualink_gem_test.h"
#include "drm_ualink_skeleton.h"

#define SKEL_DEVICES	2
#define SKEL_RING	32
#define SKEL_PAGES	64		/* of each table that the tests use */
#define SKEL_SIZE	(4 * PAGE_SIZE)
#define SKEL_VA		(8 * PAGE_SIZE)
#define SKEL_GRACE_MS	100
#define SKEL_VALUE	0x1122334455667788ULL

/* An entry of a page table or of a TLB */
struct skel_pte {
	u64 addr;
	bool valid, remote, write;
};

struct skel_mmu {
	struct skel_pte table[SKEL_PAGES];
	struct skel_pte tlb[SKEL_PAGES];
};

struct skel_hw {
	struct skel_test *pod;
	u32 index;
	struct skel_device *skel;
	/* VRAM has one word in each page */
	u64 vram[SKEL_VRAM_SIZE >> PAGE_SHIFT];
	/* The address space, and the segment */
	struct skel_mmu vm, npa;
	/* For whom the gate is open */
	bool gate[SKEL_DEVICES];
	struct ualink_msg ring[SKEL_DEVICES][SKEL_RING];
	u32 head[SKEL_DEVICES], count[SKEL_DEVICES];
};

struct skel_test {
	/* Protects all of the hardware */
	spinlock_t lock;
	struct skel_hw hw[SKEL_DEVICES];
	struct skel_device *skel[SKEL_DEVICES];
	struct file *file[SKEL_DEVICES];
};

static const u32 skel_ids[SKEL_DEVICES] = { 5, 700 };

static int skel_index(u32 id)
{
	int i;

	for (i = 0; i < SKEL_DEVICES; i++)
		if (skel_ids[i] == id)
			return i;
	return -1;
}

/* The hardware, as the driver sees it */

void skel_hw_attach(struct skel_hw *hw, struct skel_device *skel)
{
	guard(spinlock)(&hw->pod->lock);
	hw->skel = skel;
}

void skel_hw_reset(struct skel_hw *hw)
{
	guard(spinlock)(&hw->pod->lock);
	memset(&hw->vm, 0, sizeof(hw->vm));
	memset(&hw->npa, 0, sizeof(hw->npa));
	memset(hw->gate, 0, sizeof(hw->gate));
}

u32 skel_hw_id(struct skel_hw *hw)
{
	return skel_ids[hw->index];
}

void skel_hw_members(struct skel_hw *hw, unsigned long *members)
{
	int i;

	bitmap_zero(members, UALINK_MAX_IDS);
	for (i = 0; i < SKEL_DEVICES; i++)
		__set_bit(skel_ids[i], members);
}

bool skel_hw_has_route(struct skel_hw *hw, u32 id)
{
	return skel_index(id) >= 0;
}

bool skel_hw_rx_pending(struct skel_hw *hw, u32 src)
{
	int from = skel_index(src);

	guard(spinlock)(&hw->pod->lock);
	return from >= 0 && hw->count[from];
}

int skel_hw_send(struct skel_hw *hw, u32 dst, const struct ualink_msg *msg)
{
	int to = skel_index(dst), from = hw->index;
	struct skel_hw *peer;

	if (to < 0)
		return -ENOLINK;

	guard(spinlock)(&hw->pod->lock);
	peer = &hw->pod->hw[to];
	if (!peer->skel)
		return -ENOLINK;
	if (peer->count[from] == SKEL_RING)
		return -ENOSPC;
	peer->ring[from][(peer->head[from] + peer->count[from]++) % SKEL_RING] = *msg;
	skel_irq_rx(peer->skel, skel_ids[from]);
	return 0;
}

int skel_hw_recv(struct skel_hw *hw, u32 src, struct ualink_msg *msg)
{
	int from = skel_index(src);
	struct skel_hw *peer;

	if (from < 0)
		return -EAGAIN;

	guard(spinlock)(&hw->pod->lock);
	if (!hw->count[from])
		return -EAGAIN;
	*msg = hw->ring[from][hw->head[from]];
	hw->head[from] = (hw->head[from] + 1) % SKEL_RING;
	peer = &hw->pod->hw[from];
	if (hw->count[from]-- == SKEL_RING && peer->skel)
		skel_irq_tx(peer->skel, skel_ids[hw->index]);
	return 0;
}

int skel_hw_gate(struct skel_hw *hw, u32 src, bool open)
{
	int from = skel_index(src);

	guard(spinlock)(&hw->pod->lock);
	if (from >= 0)
		hw->gate[from] = open;
	return 0;
}

static void skel_mmu_set(struct skel_hw *hw, struct skel_mmu *mmu, u64 at, struct skel_pte pte)
{
	guard(spinlock)(&hw->pod->lock);
	if (!WARN_ON(at >> PAGE_SHIFT >= SKEL_PAGES))
		mmu->table[at >> PAGE_SHIFT] = pte;
}

static int skel_mmu_flush(struct skel_hw *hw, struct skel_mmu *mmu)
{
	guard(spinlock)(&hw->pod->lock);
	memset(mmu->tlb, 0, sizeof(mmu->tlb));
	return 0;
}

void skel_hw_npa_set(struct skel_hw *hw, u64 offset, u64 vram, bool write)
{
	struct skel_pte pte = { .addr = vram, .valid = true, .write = write };

	skel_mmu_set(hw, &hw->npa, offset, pte);
}

void skel_hw_npa_clear(struct skel_hw *hw, u64 offset)
{
	skel_mmu_set(hw, &hw->npa, offset, (struct skel_pte) {});
}

int skel_hw_npa_flush(struct skel_hw *hw)
{
	return skel_mmu_flush(hw, &hw->npa);
}

void skel_hw_pte_set(struct skel_hw *hw, u64 va, u64 addr, bool remote, bool write)
{
	struct skel_pte pte = { .addr = addr, .valid = true, .remote = remote, .write = write };

	skel_mmu_set(hw, &hw->vm, va, pte);
}

void skel_hw_pte_clear(struct skel_hw *hw, u64 va)
{
	skel_mmu_set(hw, &hw->vm, va, (struct skel_pte) {});
}

int skel_hw_vm_flush(struct skel_hw *hw)
{
	return skel_mmu_flush(hw, &hw->vm);
}

/* Accesses of the hardware */

static struct skel_pte *skel_translate(struct skel_mmu *mmu, u64 at, bool write)
{
	struct skel_pte *pte;

	if (at >> PAGE_SHIFT >= SKEL_PAGES)
		return NULL;
	pte = &mmu->tlb[at >> PAGE_SHIFT];
	if (!pte->valid)
		*pte = mmu->table[at >> PAGE_SHIFT];
	return pte->valid && (pte->write || !write) ? pte : NULL;
}

/* The word of VRAM behind the page at @va, or NULL: a fault. */
static u64 *skel_word(struct skel_hw *hw, u64 va, bool write)
{
	struct skel_pte *pte = skel_translate(&hw->vm, va, write);
	struct skel_hw *owner = hw;
	int index;

	if (pte && pte->remote) {
		index = skel_index(pte->addr >> SKEL_SEGMENT);
		if (index < 0 || !hw->pod->hw[index].gate[hw->index])
			return NULL;
		owner = &hw->pod->hw[index];
		pte = skel_translate(&owner->npa, pte->addr & (BIT_ULL(SKEL_SEGMENT) - 1), write);
	}
	return pte ? &owner->vram[pte->addr >> PAGE_SHIFT] : NULL;
}

static int skel_store(struct skel_hw *hw, u64 va, u64 value)
{
	u64 *word;

	guard(spinlock)(&hw->pod->lock);
	word = skel_word(hw, va, true);
	if (!word)
		return -EFAULT;
	*word = value;
	return 0;
}

static int skel_load(struct skel_hw *hw, u64 va, u64 *value)
{
	u64 *word;

	guard(spinlock)(&hw->pod->lock);
	word = skel_word(hw, va, false);
	if (!word)
		return -EFAULT;
	*value = *word;
	return 0;
}

/* Whether neither table nor TLB has anything. */
static bool skel_mmu_empty(struct skel_hw *hw, struct skel_mmu *mmu)
{
	guard(spinlock)(&hw->pod->lock);
	return !memchr_inv(mmu, 0, sizeof(*mmu));
}

/* What users do */

static struct drm_file *skel_file(struct skel_test *t, int index)
{
	return t->file[index]->private_data;
}

static u32 skel_user_bo(struct kunit *test, int index)
{
	struct skel_test *t = test->priv;
	struct drm_gem_object *obj = skel_bo_create(t->skel[index], SKEL_SIZE);
	u32 handle;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_ASSERT_EQ(test, drm_gem_handle_create(skel_file(t, index), obj, &handle), 0);
	drm_gem_object_put(obj);
	return handle;
}

static int skel_user_bind(struct kunit *test, int index, u32 handle, bool write)
{
	struct skel_test *t = test->priv;
	struct drm_gem_object *obj = drm_gem_object_lookup(skel_file(t, index), handle);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, obj);
	ret = skel_bind(t->skel[index], obj, SKEL_VA, write);
	drm_gem_object_put(obj);
	return ret;
}

static void skel_user_unbind(struct kunit *test, int index, u32 handle)
{
	struct skel_test *t = test->priv;
	struct drm_gem_object *obj = drm_gem_object_lookup(skel_file(t, index), handle);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	skel_unbind(t->skel[index], obj);
	drm_gem_object_put(obj);
}

static int skel_user_export(struct kunit *test, int index, u32 bo, u32 flags, u8 *handle)
{
	struct skel_test *t = test->priv;
	struct drm_gem_ualink_export args = { .gem_handle = bo, .flags = flags };
	int ret;

	ret = drm_ualink_gem_export(&t->skel[index]->drm, skel_file(t, index), &args);
	memcpy(handle, args.handle, sizeof(args.handle));
	return ret;
}

static int skel_user_revoke(struct kunit *test, int index, u32 bo)
{
	struct skel_test *t = test->priv;
	struct drm_gem_ualink_revoke args = { .gem_handle = bo };

	return drm_ualink_gem_revoke(&t->skel[index]->drm, skel_file(t, index), &args);
}

/* Imports, and makes a GEM handle of it. */
static int skel_user_import(struct kunit *test, int index, const u8 *handle, u32 flags, u32 *bo)
{
	struct skel_test *t = test->priv;
	struct drm_gem_ualink_import args = { .flags = flags };
	struct drm_device *drm = &t->skel[index]->drm;
	int ret;

	memcpy(args.handle, handle, sizeof(args.handle));
	ret = drm_ualink_gem_import(drm, skel_file(t, index), &args);
	if (ret)
		return ret;
	KUNIT_ASSERT_EQ(test, drm_gem_prime_fd_to_handle(drm, skel_file(t, index), args.fd, bo),
			0);
	gem_test_close_fd(args.fd);
	return 0;
}

static struct ualink_device_info skel_info(struct skel_device *skel)
{
	struct ualink_device_info info;

	ualink_device_get_info(drm_ualink_device(&skel->drm), &info);
	return info;
}

/* Memory of the first device that both have mapped at SKEL_VA. */
struct skel_shared {
	u8 handle[DRM_UALINK_HANDLE_SIZE];
	u32 exported, imported;
};

static void skel_share(struct kunit *test, struct skel_shared *s)
{
	struct skel_test *t = test->priv;
	u64 value = 0;

	s->exported = skel_user_bo(test, 0);
	KUNIT_ASSERT_EQ(test, skel_user_bind(test, 0, s->exported, true), 0);
	KUNIT_ASSERT_EQ(test, skel_user_export(test, 0, s->exported, 0, s->handle), 0);
	KUNIT_ASSERT_EQ(test, skel_user_import(test, 1, s->handle, 0, &s->imported), 0);
	KUNIT_ASSERT_EQ(test, skel_user_bind(test, 1, s->imported, true), 0);

	KUNIT_EXPECT_EQ(test, skel_store(&t->hw[0], SKEL_VA, SKEL_VALUE), 0);
	KUNIT_EXPECT_EQ(test, skel_load(&t->hw[1], SKEL_VA, &value), 0);
	KUNIT_EXPECT_EQ(test, value, SKEL_VALUE);
	KUNIT_EXPECT_EQ(test, skel_store(&t->hw[1], SKEL_VA + PAGE_SIZE, ~SKEL_VALUE), 0);
	KUNIT_EXPECT_EQ(test, skel_load(&t->hw[0], SKEL_VA + PAGE_SIZE, &value), 0);
	KUNIT_EXPECT_EQ(test, value, ~SKEL_VALUE);
}

/* Nothing is left of what was shared, and what names it says so. */
static void skel_expect_dead(struct kunit *test, struct skel_shared *s)
{
	struct skel_test *t = test->priv;
	u64 deaths = 0, value;

	KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(t->file[1], &deaths)));
	KUNIT_EXPECT_EQ(test, deaths, 1);
	KUNIT_EXPECT_TRUE(test, SOON(!skel_info(t->skel[0]).exported_bytes));
	KUNIT_EXPECT_TRUE(test, skel_mmu_empty(&t->hw[1], &t->hw[1].vm));
	KUNIT_EXPECT_TRUE(test, skel_mmu_empty(&t->hw[0], &t->hw[0].npa));
	KUNIT_EXPECT_EQ(test, skel_load(&t->hw[1], SKEL_VA, &value), -EFAULT);
	skel_user_unbind(test, 1, s->imported);
	KUNIT_EXPECT_EQ(test, skel_user_bind(test, 1, s->imported, false), -ENODEV);
}

/* Tests */

static void skeleton_revoke(struct kunit *test)
{
	struct skel_test *t = test->priv;
	struct skel_shared s;
	u64 value;

	skel_share(test, &s);
	KUNIT_EXPECT_EQ(test, skel_user_revoke(test, 0, s.exported), 0);
	skel_expect_dead(test, &s);
	/* The exporter keeps it. */
	KUNIT_EXPECT_EQ(test, skel_load(&t->hw[0], SKEL_VA, &value), 0);
	KUNIT_EXPECT_EQ(test, value, SKEL_VALUE);
	KUNIT_EXPECT_EQ(test, skel_user_import(test, 1, s.handle, 0, &s.imported), -ENOENT);
	skel_user_unbind(test, 0, s.exported);
}

static void skeleton_free(struct kunit *test)
{
	struct skel_test *t = test->priv;
	struct skel_shared s;

	skel_share(test, &s);
	skel_user_unbind(test, 0, s.exported);
	/* The last reference, by a process that does not wait */
	KUNIT_EXPECT_EQ(test, drm_gem_handle_delete(skel_file(t, 0), s.exported), 0);
	skel_expect_dead(test, &s);
}

static void skeleton_read_only(struct kunit *test)
{
	struct skel_test *t = test->priv;
	u8 handle[DRM_UALINK_HANDLE_SIZE];
	u32 bo = skel_user_bo(test, 0), imported;
	u64 value;

	KUNIT_ASSERT_EQ(test, skel_user_export(test, 0, bo, DRM_UALINK_EXPORT_READ_ONLY, handle),
			0);
	KUNIT_EXPECT_EQ(test, skel_user_import(test, 1, handle, 0, &imported), -EACCES);
	KUNIT_ASSERT_EQ(test, skel_user_import(test, 1, handle, DRM_UALINK_IMPORT_READ_ONLY,
					       &imported), 0);
	KUNIT_EXPECT_EQ(test, skel_user_bind(test, 1, imported, true), -EACCES);
	KUNIT_ASSERT_EQ(test, skel_user_bind(test, 1, imported, false), 0);
	KUNIT_EXPECT_EQ(test, skel_load(&t->hw[1], SKEL_VA, &value), 0);
	KUNIT_EXPECT_EQ(test, skel_store(&t->hw[1], SKEL_VA, 1), -EFAULT);
	skel_user_unbind(test, 1, imported);
}

static const char *skel_fence_name(struct dma_fence *fence)
{
	return "ualink-skeleton";
}

static const struct dma_fence_ops skel_fence_ops = {
	.get_driver_name = skel_fence_name,
	.get_timeline_name = skel_fence_name,
};

/* Puts a fence that has not signaled into an object, as a job does. */
static struct dma_fence *skel_user_job(struct kunit *test, int index, u32 bo)
{
	struct skel_test *t = test->priv;
	struct drm_gem_object *obj = drm_gem_object_lookup(skel_file(t, index), bo);
	struct dma_fence *fence = kzalloc_obj(*fence);

	KUNIT_ASSERT_NOT_NULL(test, obj);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	dma_fence_init(fence, &skel_fence_ops, NULL, dma_fence_context_alloc(1), 1);
	dma_resv_lock(obj->resv, NULL);
	KUNIT_ASSERT_EQ(test, dma_resv_reserve_fences(obj->resv, 1), 0);
	dma_resv_add_fence(obj->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_unlock(obj->resv);
	drm_gem_object_put(obj);
	return fence;
}

/* Work that runs gets the grace period, and not more. */
static void skeleton_busy(struct kunit *test)
{
	struct skel_test *t = test->priv;
	struct dma_fence *fence;
	struct skel_shared s;
	ktime_t begin;

	skel_share(test, &s);
	fence = skel_user_job(test, 1, s.imported);
	ualink_device_set_tunable(drm_ualink_device(&t->skel[0]->drm), UALINK_REVOKE_GRACE_MS,
				  SKEL_GRACE_MS);
	begin = ktime_get();
	KUNIT_EXPECT_EQ(test, skel_user_revoke(test, 0, s.exported), 0);
	/* Counted in jiffies, of which the first has begun */
	KUNIT_EXPECT_GE(test, ktime_ms_delta(ktime_get(), begin), SKEL_GRACE_MS / 2);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	skel_expect_dead(test, &s);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	skel_user_unbind(test, 0, s.exported);
}

/* Of the device that exports, and of the one that imports */
static void skeleton_reset(struct kunit *test)
{
	struct skel_test *t = test->priv;
	struct skel_shared s;
	u64 deaths;
	int i;

	for (i = 0; i < SKEL_DEVICES; i++) {
		skel_share(test, &s);
		KUNIT_EXPECT_EQ(test, skel_reset(t->skel[i]), 0);
		KUNIT_EXPECT_EQ(test, skel_info(t->skel[i]).exported_bytes, 0);
		KUNIT_EXPECT_TRUE(test, SOON(gem_test_count_events(t->file[1], &deaths)));
		KUNIT_EXPECT_EQ(test, deaths, i + 1);
		gem_test_read_event(t->file[1]);
		skel_user_unbind(test, 1, s.imported);
		KUNIT_EXPECT_EQ(test, skel_user_bind(test, 1, s.imported, false), -ENODEV);
		skel_user_unbind(test, 0, s.exported);
		drm_gem_handle_delete(skel_file(t, 1), s.imported);
		drm_gem_handle_delete(skel_file(t, 0), s.exported);
	}
}

static void skeleton_suspend(struct kunit *test)
{
	struct skel_test *t = test->priv;
	struct skel_shared s;
	u8 handle[DRM_UALINK_HANDLE_SIZE];

	skel_share(test, &s);
	skel_suspend(t->skel[0]);
	skel_expect_dead(test, &s);
	KUNIT_EXPECT_EQ(test, skel_user_export(test, 0, s.exported, 0, handle), -ENOTCONN);
	skel_user_unbind(test, 0, s.exported);

	KUNIT_EXPECT_EQ(test, skel_resume(t->skel[0]), 0);
	drm_gem_handle_delete(skel_file(t, 1), s.imported);
	gem_test_read_event(t->file[1]);
	skel_share(test, &s);
	skel_user_unbind(test, 0, s.exported);
	skel_user_unbind(test, 1, s.imported);
}

/* With files open, and objects in them */
static void skeleton_remove(struct kunit *test)
{
	struct skel_test *t = test->priv;
	struct skel_shared s;

	skel_share(test, &s);
	skel_remove(t->skel[0]);
	KUNIT_EXPECT_EQ(test, skel_info(t->skel[0]).exported_bytes, 0);
	skel_expect_dead(test, &s);
	skel_user_unbind(test, 0, s.exported);
	t->skel[0] = NULL;
}

static int skeleton_init(struct kunit *test)
{
	static const char * const names[SKEL_DEVICES] = { "ualink-skel-0", "ualink-skel-1" };
	struct skel_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct device *dev;
	int i;

	if (!t)
		return -ENOMEM;
	test->priv = t;
	spin_lock_init(&t->lock);
	for (i = 0; i < SKEL_DEVICES; i++) {
		t->hw[i].pod = t;
		t->hw[i].index = i;
	}
	for (i = 0; i < SKEL_DEVICES; i++) {
		dev = kunit_device_register(test, names[i]);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
		t->skel[i] = skel_probe(dev, &t->hw[i]);
		if (IS_ERR(t->skel[i]))
			return PTR_ERR(t->skel[i]);
		t->file[i] = mock_drm_getfile(t->skel[i]->drm.render, O_RDWR);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->file[i]);
	}
	return 0;
}

static void skeleton_exit(struct kunit *test)
{
	struct skel_test *t = test->priv;
	int i;

	for (i = 0; t && i < SKEL_DEVICES; i++) {
		if (!IS_ERR_OR_NULL(t->skel[i]))
			skel_remove(t->skel[i]);
		if (!IS_ERR_OR_NULL(t->file[i]))
			gem_test_close(t->file[i]);
	}
}

static struct kunit_case skeleton_cases[] = {
	KUNIT_CASE(skeleton_revoke),
	KUNIT_CASE(skeleton_free),
	KUNIT_CASE(skeleton_read_only),
	KUNIT_CASE(skeleton_busy),
	KUNIT_CASE(skeleton_reset),
	KUNIT_CASE(skeleton_suspend),
	KUNIT_CASE(skeleton_remove),
	{}
};

static struct kunit_suite skeleton_suite = {
	.name = "drm_ualink_skeleton",
	.init = skeleton_init,
	.exit = skeleton_exit,
	.test_cases = skeleton_cases,
};

kunit_test_suite(skeleton_suite);
