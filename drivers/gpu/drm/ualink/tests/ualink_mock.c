// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The mock pod: accelerators, their memory, their link MMUs, and what they import.
 */

#include <kunit/device.h>
#include <linux/device.h>
#include <linux/slab.h>

#include "ualink_mock.h"
#include "ualink_mock_internal.h"

/* The core did what it must not do. Callable from any context. */
void ualink_mock_violation(struct ualink_mock *node, const char *what)
{
	struct ualink_mock_pod *pod = node->pod;

	lockdep_assert_held(&pod->lock);

	if (!pod->violations++)
		snprintf(pod->violation, sizeof(pod->violation), "%u: %s", node->id, what);
	dev_err(node->dev, "violation: %s\n", what);
}

/* Common to all ops that may sleep: 0, or the errno that a test wants. */
static int op_enter(struct ualink_mock *node, enum ualink_mock_op op)
{
	struct ualink_mock_op_state *state = &node->ops[op];
	struct ualink_mock_pod *pod = node->pod;
	bool stop;

	might_sleep();
	lockdep_assert_not_held(&node->udev->lock);

	spin_lock(&pod->lock);
	if (node->gone)
		ualink_mock_violation(node, "op after unregister");
	state->calls++;
	stop = state->stop;
	state->stop = false;
	spin_unlock(&pod->lock);

	if (stop) {
		complete(&state->reached);
		wait_for_completion(&state->go);
	}

	guard(spinlock)(&pod->lock);
	if (!state->failures)
		return 0;
	state->failures--;
	return state->error;
}

static bool overlaps(u64 start, u64 size, u64 other, u64 other_size)
{
	return start < other + other_size && other < start + size;
}

/* Whether anybody but who imports @mem could reach a range of @owner's segment. */
static bool range_reachable(struct ualink_mock *owner, struct ualink_mock_mem *mem,
			    u64 offset, u64 size)
{
	struct ualink_mock_pod *pod = owner->pod;
	u64 npa = ((u64)owner->id << owner->segment_shift) | offset;
	struct ualink_mock_import *obj;
	unsigned int i;

	for (i = 0; i < pod->count; i++) {
		if (!test_bit(pod->nodes[i].id, owner->gate))
			continue;
		list_for_each_entry(obj, &pod->nodes[i].objs, link)
			if ((obj->mapped || obj->cached) && obj->mem != mem &&
			    overlaps(obj->npa, obj->size, npa, size))
				return true;
	}
	return false;
}

static void check_gate_open(struct ualink_mock *node, struct ualink_mock *from)
{
	struct ualink_mock_ring *ring = ualink_mock_ring(from, node);
	struct ualink_mock_import *obj;

	guard(spinlock)(&node->pod->lock);
	if (ualink_session_equal(ring->ready, ring->opened))
		ualink_mock_violation(node, "gate opened before the peer was ready");
	memcpy(ring->opened, ring->ready, sizeof(ring->opened));
	list_for_each_entry(obj, &from->objs, link)
		if ((obj->mapped || obj->cached) && ualink_handle_id(&obj->handle) == node->id)
			ualink_mock_violation(node, "gate opened for old translations");
}

static int op_source_gate(struct ualink_device *udev, u32 src, bool open)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_pod *pod = node->pod;
	int ret;

	/* What was known when it was called, however long it takes. */
	if (open && src != node->id)
		check_gate_open(node, &pod->nodes[pod->index_of[src]]);
	ret = op_enter(node, UALINK_MOCK_GATE);
	if (ret)
		return ret;

	guard(spinlock)(&pod->lock);
	if (open && test_bit(src, node->gate))
		ualink_mock_violation(node, "gate opened while it was open");
	__assign_bit(src, node->gate, open);
	return 0;
}

static int op_npa_map(struct ualink_device *udev, u64 offset, u64 size, bool read_only,
		      void *priv)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_mem *mem = priv, *other;
	int ret = op_enter(node, UALINK_MOCK_MAP);

	if (ret)
		return ret;

	guard(spinlock)(&node->pod->lock);
	if (mem->state != UALINK_MOCK_IDLE || mem->size != size || mem->read_only != read_only)
		ualink_mock_violation(node, "npa_map of something else");
	if (!offset || (offset | size) & (UALINK_MOCK_PAGE - 1) ||
	    offset + size > BIT_ULL(node->segment_shift))
		ualink_mock_violation(node, "npa_map outside of the segment");
	list_for_each_entry(other, &node->mems, link)
		if (other->state == UALINK_MOCK_MAPPED &&
		    overlaps(offset, size, other->offset, other->size))
			ualink_mock_violation(node, "npa_map over another export");
	if (range_reachable(node, mem, offset, size))
		ualink_mock_violation(node, "npa_map where an importer still is");
	mem->offset = offset;
	mem->state = UALINK_MOCK_MAPPED;
	return 0;
}

static void op_npa_unmap(struct ualink_device *udev, u64 offset, u64 size)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_mem *mem;

	op_enter(node, UALINK_MOCK_UNMAP);

	guard(spinlock)(&node->pod->lock);
	list_for_each_entry(mem, &node->mems, link) {
		if (mem->state == UALINK_MOCK_MAPPED && mem->offset == offset &&
		    mem->size == size) {
			mem->state = UALINK_MOCK_UNMAPPED;
			return;
		}
	}
	ualink_mock_violation(node, "npa_unmap of what is not mapped");
}

static int op_npa_flush(struct ualink_device *udev, u64 offset, u64 size)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_mem *mem;
	int ret = op_enter(node, UALINK_MOCK_FLUSH);

	if (ret)
		return ret;

	guard(spinlock)(&node->pod->lock);
	list_for_each_entry(mem, &node->mems, link) {
		if (!overlaps(offset, size, mem->offset, mem->size))
			continue;
		mem->cached = false;
		if (mem->state == UALINK_MOCK_UNMAPPED && offset <= mem->offset &&
		    mem->offset + mem->size <= offset + size)
			mem->state = UALINK_MOCK_FLUSHED;
	}
	return 0;
}

static void op_export_release(struct ualink_device *udev, void *priv)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_mem *mem = priv;

	op_enter(node, UALINK_MOCK_RELEASE);

	guard(spinlock)(&node->pod->lock);
	if (mem->state != UALINK_MOCK_FLUSHED)
		ualink_mock_violation(node, "export_release before unmap and flush");
	mem->state = UALINK_MOCK_RELEASED;
}

static bool op_import_tryget(void *priv)
{
	struct ualink_mock_import *obj = priv;

	lockdep_assert_held(&obj->node->udev->lock);

	return refcount_inc_not_zero(&obj->ref);
}

static void op_import_put(void *priv)
{
	might_sleep();
	ualink_mock_close(priv);
}

static int op_import_invalidate(struct ualink_device *udev, void *priv, bool force)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_import *obj = priv;
	int ret = op_enter(node, UALINK_MOCK_INVALIDATE);

	guard(spinlock)(&node->pod->lock);
	if (obj->invalidated)
		ualink_mock_violation(node, "import_invalidate once too often");
	obj->refused = true;
	obj->tries++;
	obj->forced += force;
	if (ret)
		return ret;
	if (obj->busy && !force)
		return -EBUSY;
	obj->mapped = false;
	obj->invalidated = true;
	return 0;
}

static int op_import_flush(struct ualink_device *udev)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_import *obj;
	int ret = op_enter(node, UALINK_MOCK_IMPORT_FLUSH);

	guard(spinlock)(&node->pod->lock);
	node->import_flush_failed = ret;
	if (ret)
		return ret;
	list_for_each_entry(obj, &node->objs, link) {
		obj->cached = false;
		obj->flushed = obj->invalidated;
	}
	return 0;
}

/* The device is being stopped, and only a reset empties the TLBs. */
static bool flush_given_up(struct ualink_mock *node)
{
	return node->udev->state == UALINK_DEVICE_STOPPING && node->udev->wedged &&
	       node->import_flush_failed;
}

static void op_import_dead(struct ualink_device *udev, void *priv, enum ualink_death why)
{
	struct ualink_mock *node = ualink_device_priv(udev);
	struct ualink_mock_import *obj = priv;

	op_enter(node, UALINK_MOCK_DEAD);

	guard(spinlock)(&node->pod->lock);
	if (obj->mapped || !obj->invalidated)
		ualink_mock_violation(node, "import_dead while it is mapped");
	if (obj->why != UALINK_ALIVE)
		ualink_mock_violation(node, "import_dead twice");
	obj->why = why;
}

static void op_imports_died(struct ualink_device *udev)
{
	struct ualink_mock *node = ualink_device_priv(udev);

	struct ualink_mock_import *obj;

	op_enter(node, UALINK_MOCK_DIED);

	/* Those that have come since the flush are told after their own. */
	guard(spinlock)(&node->pod->lock);
	list_for_each_entry(obj, &node->objs, link)
		if (obj->why != UALINK_ALIVE && (obj->flushed || flush_given_up(node)))
			obj->deaths = 1;
}

static const struct ualink_ops mock_ops = {
	.send = ualink_mock_op_send,
	.recv = ualink_mock_op_recv,
	.source_gate = op_source_gate,
	.npa_map = op_npa_map,
	.npa_unmap = op_npa_unmap,
	.npa_flush = op_npa_flush,
	.export_release = op_export_release,
	.import_tryget = op_import_tryget,
	.import_put = op_import_put,
	.import_invalidate = op_import_invalidate,
	.import_flush = op_import_flush,
	.import_dead = op_import_dead,
	.imports_died = op_imports_died,
};

/* Both ends of the range of ids, so that any two neighbors are in different order. */
static u32 nth_id(unsigned int n)
{
	return n & 1 ? UALINK_MAX_IDS - 1 - n : n;
}

static void node_create(struct ualink_mock_pod *pod, unsigned int index,
			const struct ualink_mock_config *config)
{
	struct ualink_mock *node = &pod->nodes[index];
	struct ualink_device_params params = {
		.ops = &mock_ops,
		.priv = node,
		.id = node->id,
		.vpod = UUID_INIT(0x5ac3e10d, 0x7f41, 0x4c1e, 0x93, 0x5d, 0x20, 0xb8, 0x6e,
				  0x04, 0xd7, config->vpod),
		.members = pod->members,
		.block_sizes = config->block_sizes ?: SZ_4K | SZ_64K,
		.segment_shift = node->segment_shift,
		.flush_on_map = config->flush_on_map,
	};
	struct kunit *test = pod->test;
	char name[24];

	snprintf(name, sizeof(name), "ualink-mock%u", node->id);
	node->dev = kunit_device_register(test, name);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, node->dev);
	node->dev_refs = kref_read(&node->dev->kobj.kref);

	params.dev = node->dev;
	node->udev = ualink_device_create(&params);
	if (IS_ERR(node->udev)) {
		node->udev = NULL;
		KUNIT_FAIL_AND_ABORT(test, "no device");
	}
}

static void tune(struct ualink_mock *node)
{
	static const u64 values[UALINK_TUNABLES] = {
		/* Long, so that nothing happens by time in a test that is not about time. */
		[UALINK_HEARTBEAT_MS] = 60000,
		[UALINK_REQUEST_MS] = 20000,
		[UALINK_REVOKE_GRACE_MS] = 0,
		[UALINK_REVOKE_DEADLINE_MS] = 20000,
		[UALINK_PEER_TIMEOUT_MS] = 60000,
		[UALINK_CACHE_BYTES] = SZ_1M,
		/* What is released is released; tests of the cache turn it on. */
		[UALINK_CACHE_MS] = 0,
		[UALINK_MAX_EXPORT_BYTES] = U64_MAX,
	};
	int i;

	for (i = 0; i < UALINK_TUNABLES; i++)
		ualink_device_set_tunable(node->udev, i, values[i]);
}

static void node_prepare(struct ualink_mock_pod *pod, unsigned int index,
			 const struct ualink_mock_config *config)
{
	struct ualink_mock *node = &pod->nodes[index];
	int i;

	node->pod = pod;
	node->index = index;
	node->id = nth_id(index);
	node->segment_shift = config->segment_shift ?: UALINK_MOCK_SEGMENT;
	INIT_LIST_HEAD(&node->mems);
	INIT_LIST_HEAD(&node->objs);
	for (i = 0; i < UALINK_MOCK_OPS; i++) {
		init_completion(&node->ops[i].reached);
		init_completion(&node->ops[i].go);
	}
	pod->index_of[node->id] = index;
	if (!config->stranger)
		__set_bit(node->id, pod->members);
}

/* A pod of @count active accelerators; @configs is NULL when all are alike. */
struct ualink_mock_pod *ualink_mock_pod_create(struct kunit *test,
					       const struct ualink_mock_config *configs,
					       unsigned int count)
{
	static const struct ualink_mock_config defaults;
	struct ualink_mock_pod *pod;
	unsigned int i;

	pod = kunit_kzalloc(test, sizeof(*pod), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pod);
	pod->nodes = kunit_kcalloc(test, count, sizeof(*pod->nodes), GFP_KERNEL);
	pod->rings = kunit_kcalloc(test, count * count, sizeof(*pod->rings), GFP_KERNEL);
	pod->log = kunit_kcalloc(test, UALINK_MOCK_LOG, sizeof(*pod->log), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, pod->nodes && pod->rings && pod->log);

	pod->test = test;
	pod->count = count;
	pod->ring_size = 256;
	spin_lock_init(&pod->lock);
	INIT_LIST_HEAD(&pod->held);
	INIT_LIST_HEAD(&pod->asyncs);
	memset(pod->index_of, -1, sizeof(pod->index_of));
	for (i = 0; i < count * count; i++)
		INIT_LIST_HEAD(&pod->rings[i].msgs);
	for (i = 0; i < count; i++)
		node_prepare(pod, i, configs ? &configs[i] : &defaults);

	/* From here on, ualink_mock_exit() takes down what there is. */
	test->priv = pod;
	for (i = 0; i < count; i++) {
		node_create(pod, i, configs ? &configs[i] : &defaults);
		tune(&pod->nodes[i]);
		KUNIT_ASSERT_EQ(test, ualink_device_activate(pod->nodes[i].udev), 0);
	}
	return pod;
}

/* Nothing is exported or imported, counted or kept any more. */
void ualink_mock_expect_clean(struct ualink_mock *node)
{
	struct ualink_device *udev = node->udev;
	struct kunit *test = node->pod->test;

	KUNIT_EXPECT_EQ(test, udev->nr_exports, 0);
	KUNIT_EXPECT_EQ(test, udev->nr_active_exports, 0);
	KUNIT_EXPECT_EQ(test, udev->nr_quarantined, 0);
	KUNIT_EXPECT_EQ(test, udev->nr_grants, 0);
	KUNIT_EXPECT_EQ(test, udev->nr_imports, 0);
	KUNIT_EXPECT_EQ(test, udev->nr_import_records, 0);
	KUNIT_EXPECT_EQ(test, udev->exported_bytes, 0);
	KUNIT_EXPECT_EQ(test, udev->idle_bytes, 0);
	KUNIT_EXPECT_EQ(test, udev->nr_idle, 0);
	KUNIT_EXPECT_EQ(test, udev->npa.used, 0);
	KUNIT_EXPECT_EQ(test, udev->npa.quarantined, 0);
}

static void node_unregister(struct ualink_mock *node)
{
	struct ualink_mock_pod *pod = node->pod;
	struct ualink_mock_import *obj;
	struct ualink_mock_mem *mem;
	int i;

	if (!node->udev)
		return;
	for (i = 0; i < UALINK_MOCK_OPS; i++)
		complete_all(&node->ops[i].go);
	ualink_device_deactivate(node->udev);
	if (node->udev->wedged)
		ualink_mock_reset(node);
	spin_lock(&pod->lock);
	node->quiet = true;
	spin_unlock(&pod->lock);
	ualink_device_unregister(node->udev);
	spin_lock(&pod->lock);
	node->gone = true;
	list_for_each_entry(mem, &node->mems, link)
		if (mem->exp && mem->state != UALINK_MOCK_RELEASED)
			ualink_mock_violation(node, "memory was never released");
	list_for_each_entry(obj, &node->objs, link)
		if (obj->why != UALINK_ALIVE && !obj->deaths)
			ualink_mock_violation(node, "a death was never told");
	spin_unlock(&pod->lock);
	ualink_mock_expect_clean(node);
}

/* What the test still has outlives the device. */
static void node_free(struct ualink_mock *node)
{
	struct ualink_mock_import *obj;
	struct ualink_mock_mem *mem, *next;

	if (!node->udev)
		return;
	while (!list_empty(&node->objs)) {
		obj = list_first_entry(&node->objs, struct ualink_mock_import, link);
		ualink_mock_close(obj);
	}
	list_for_each_entry_safe(mem, next, &node->mems, link) {
		if (mem->exp)
			ualink_export_put(mem->exp);
		kfree(mem);
	}
	ualink_device_put(node->udev);
	/* Its last reference to the device shows that the core has freed all. */
	UALINK_MOCK_EXPECT(node->pod->test, kref_read(&node->dev->kobj.kref) == node->dev_refs);
}

void ualink_mock_pod_destroy(struct ualink_mock_pod *pod)
{
	struct ualink_mock_async *async, *next;
	unsigned int i;

	for (i = 0; i < pod->count; i++)
		node_unregister(&pod->nodes[i]);
	list_for_each_entry_safe(async, next, &pod->asyncs, link)
		ualink_mock_import_end(async);
	for (i = 0; i < pod->count; i++)
		node_free(&pod->nodes[i]);
	ualink_mock_drain(pod);
	KUNIT_EXPECT_EQ_MSG(pod->test, pod->violations, 0, "%s", pod->violation);
}

/* For &kunit_suite.exit: also after a test that was aborted. */
void ualink_mock_exit(struct kunit *test)
{
	if (test->priv)
		ualink_mock_pod_destroy(test->priv);
	test->priv = NULL;
}

/* Until nothing is under way and no work is queued, except for what waits for its time. */
void ualink_mock_settle(struct ualink_mock_pod *pod)
{
	unsigned int i, quiet = 0;

	while (quiet < 2) {
		for (i = 0; i < pod->count; i++) {
			if (pod->nodes[i].gone)
				continue;
			flush_workqueue(pod->nodes[i].udev->wq);
			flush_workqueue(pod->nodes[i].udev->slow_wq);
		}
		quiet = ualink_mock_traffic(pod) ? 0 : quiet + 1;
	}
}

/* Sets a tunable of all accelerators. */
void ualink_mock_tune(struct ualink_mock_pod *pod, enum ualink_tunable which, u64 value)
{
	unsigned int i;

	for (i = 0; i < pod->count; i++)
		KUNIT_EXPECT_EQ(pod->test, 0,
				ualink_device_set_tunable(pod->nodes[i].udev, which, value));
}

/* What a reset does to the hardware: tables and TLBs are empty, the gate is closed. */
void ualink_mock_reset(struct ualink_mock *node)
{
	struct ualink_mock_pod *pod = node->pod;
	struct ualink_mock_import *obj;
	struct ualink_mock_mem *mem;
	unsigned int i;

	guard(spinlock)(&pod->lock);
	list_for_each_entry(mem, &node->mems, link) {
		mem->cached = false;
		if (mem->state == UALINK_MOCK_MAPPED || mem->state == UALINK_MOCK_UNMAPPED)
			mem->state = UALINK_MOCK_FLUSHED;
	}
	list_for_each_entry(obj, &node->objs, link)
		obj->cached = false;
	bitmap_zero(node->gate, UALINK_MAX_IDS);
	for (i = 0; i < pod->count; i++) {
		struct ualink_mock_ring *ring = ualink_mock_ring(&pod->nodes[i], node);

		memcpy(ring->opened, ring->ready, sizeof(ring->opened));
	}
}

/* A restart of which the others hear nothing. */
void ualink_mock_restart(struct ualink_mock *node)
{
	struct ualink_mock_pod *pod = node->pod;

	spin_lock(&pod->lock);
	node->mute = true;
	spin_unlock(&pod->lock);
	ualink_device_deactivate(node->udev);
	ualink_mock_reset(node);
	spin_lock(&pod->lock);
	node->mute = false;
	spin_unlock(&pod->lock);
	KUNIT_ASSERT_EQ(pod->test, ualink_device_activate(node->udev), 0);
}

struct ualink_peer *ualink_mock_peer(struct ualink_mock *node, struct ualink_mock *other)
{
	return xa_load(&node->udev->peers, other->id);
}

enum ualink_peer_state ualink_mock_peer_state(struct ualink_mock *node,
					      struct ualink_mock *other)
{
	struct ualink_peer_info info;

	ualink_peer_get_info(node->udev, other->id, &info);
	return info.state;
}

u64 ualink_mock_counter(struct ualink_mock *node, enum ualink_counter which)
{
	return atomic64_read(&node->udev->counters[which]);
}

bool ualink_mock_gate(struct ualink_mock *node, struct ualink_mock *source)
{
	guard(spinlock)(&node->pod->lock);
	return test_bit(source->id, node->gate);
}

/* Makes a session, in the only way there is: by asking for something. */
void ualink_mock_connect(struct ualink_mock *node, struct ualink_mock *other)
{
	struct ualink_mock_mem unknown = {
		.handle = { .tag = BIT_ULL(40) | other->id },
	};
	struct kunit *test = node->pod->test;

	KUNIT_ASSERT_PTR_EQ(test, ualink_mock_import(node, &unknown), ERR_PTR(-ENOENT));
	ualink_mock_settle(node->pod);
	KUNIT_ASSERT_EQ(test, ualink_mock_peer_state(node, other), UALINK_PEER_UP);
	KUNIT_ASSERT_EQ(test, ualink_mock_peer_state(other, node), UALINK_PEER_UP);
}

/* The next @times calls give @error. */
void ualink_mock_fail(struct ualink_mock *node, enum ualink_mock_op op, int error,
		      unsigned int times)
{
	guard(spinlock)(&node->pod->lock);
	node->ops[op].error = error;
	node->ops[op].failures = times;
}

/* The next call waits for ualink_mock_go(). */
void ualink_mock_stop(struct ualink_mock *node, enum ualink_mock_op op)
{
	guard(spinlock)(&node->pod->lock);
	node->ops[op].stop = true;
}

bool ualink_mock_stopped(struct ualink_mock *node, enum ualink_mock_op op)
{
	return wait_for_completion_timeout(&node->ops[op].reached, 10 * HZ);
}

void ualink_mock_go(struct ualink_mock *node, enum ualink_mock_op op)
{
	complete(&node->ops[op].go);
}

unsigned int ualink_mock_calls(struct ualink_mock *node, enum ualink_mock_op op)
{
	guard(spinlock)(&node->pod->lock);
	return node->ops[op].calls;
}
