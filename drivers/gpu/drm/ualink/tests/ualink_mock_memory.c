// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What a user of the mock pod does: exports, imports, and accesses to memory.
 */

#include <linux/slab.h>

#include "ualink_mock.h"
#include "ualink_mock_internal.h"

/* New memory, exported, or an errno. */
struct ualink_mock_mem *ualink_mock_export_with(struct ualink_mock *node, u64 size,
						bool read_only, const unsigned long *allow)
{
	struct ualink_mock_mem *mem = kzalloc_obj(*mem);
	struct ualink_export_params params = {
		.size = size,
		.allow = allow,
		.priv = mem,
		.read_only = read_only,
	};
	struct ualink_export *exp;

	KUNIT_ASSERT_NOT_NULL(node->pod->test, mem);
	mem->node = node;
	mem->size = size;
	mem->read_only = read_only;
	spin_lock(&node->pod->lock);
	list_add_tail(&mem->link, &node->mems);
	spin_unlock(&node->pod->lock);

	exp = ualink_export_create(node->udev, &params);
	if (IS_ERR(exp))
		return ERR_CAST(exp);
	ualink_export_handle(exp, &mem->handle);
	mem->exp = exp;
	return mem;
}

struct ualink_mock_mem *ualink_mock_export(struct ualink_mock *node)
{
	struct ualink_mock_mem *mem;

	mem = ualink_mock_export_with(node, UALINK_MOCK_PAGE, false, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(node->pod->test, mem);
	return mem;
}

bool ualink_mock_released(struct ualink_mock_mem *mem)
{
	guard(spinlock)(&mem->node->pod->lock);
	return mem->state == UALINK_MOCK_RELEASED;
}

/* The last reference to an object is gone: the order of a driver that does it right. */
static void obj_free(struct ualink_mock_import *obj)
{
	struct ualink_mock *node = obj->node;

	spin_lock(&node->pod->lock);
	obj->mapped = false;
	obj->cached = false;
	list_del(&obj->link);
	spin_unlock(&node->pod->lock);

	if (obj->bound)
		ualink_import_unbind(obj->imp);
	ualink_import_put(obj->imp);
	kfree(obj);
}

void ualink_mock_close(struct ualink_mock_import *obj)
{
	if (refcount_dec_and_test(&obj->ref))
		obj_free(obj);
}

/* An object for @imp, or -EEXIST while there is another. Consumes the reference in any case. */
static struct ualink_mock_import *obj_create(struct ualink_mock *node, struct ualink_import *imp,
					     struct ualink_mock_mem *mem)
{
	struct ualink_mock_import *obj = kzalloc_obj(*obj);
	int ret;

	if (!obj) {
		ualink_import_put(imp);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&obj->ref, 1);
	obj->node = node;
	obj->imp = imp;
	obj->mem = mem;
	obj->npa = ualink_import_npa(imp);
	obj->size = ualink_import_size(imp);
	ualink_import_handle(imp, &obj->handle);
	spin_lock(&node->pod->lock);
	list_add_tail(&obj->link, &node->objs);
	spin_unlock(&node->pod->lock);

	ret = ualink_import_bind(imp, obj);
	if (ret) {
		ualink_mock_close(obj);
		return ERR_PTR(ret);
	}
	obj->bound = true;
	return obj;
}

static int obj_map(struct ualink_mock_import *obj)
{
	guard(spinlock)(&obj->node->pod->lock);
	if (obj->refused)
		return -ENODEV;
	obj->mapped = true;
	return 0;
}

/* The object of an import of @mem's handle, mapped, with a reference, or an errno. */
struct ualink_mock_import *ualink_mock_import_with(struct ualink_mock *node,
						   struct ualink_mock_mem *mem, u32 access,
						   u32 timeout_ms)
{
	u64 patience = timeout_ms ?: ualink_device_tunable(node->udev, UALINK_REQUEST_MS);
	ktime_t deadline = ktime_add_ms(ktime_get(), patience);
	struct ualink_mock_import *obj;
	struct ualink_import *imp;
	int ret;

	do {
		cond_resched();
		imp = ualink_import_get(node->udev, &mem->handle, access, deadline);
		if (IS_ERR(imp))
			return ERR_CAST(imp);
		obj = ualink_import_tryget_bound(imp);
		if (obj)
			ualink_import_put(imp);
		else
			obj = obj_create(node, imp, mem);
	} while (obj == ERR_PTR(-EEXIST));
	if (IS_ERR(obj))
		return obj;

	ret = obj_map(obj);
	if (!ret)
		return obj;
	ualink_mock_close(obj);
	return ERR_PTR(ret);
}

struct ualink_mock_import *ualink_mock_import(struct ualink_mock *node,
					      struct ualink_mock_mem *mem)
{
	return ualink_mock_import_with(node, mem, UALINK_ACCESS_READ, 0);
}

/* The memory that the link MMU of @node finds at @offset, by its TLB or its table. */
static struct ualink_mock_mem *translate(struct ualink_mock *node, u64 offset)
{
	struct ualink_mock_mem *mem;

	list_for_each_entry(mem, &node->mems, link)
		if (mem->cached && offset - mem->offset < mem->size)
			return mem;
	list_for_each_entry(mem, &node->mems, link) {
		if (mem->state == UALINK_MOCK_MAPPED && offset - mem->offset < mem->size) {
			mem->cached = true;
			return mem;
		}
	}
	return NULL;
}

/*
 * An access to the first byte. Returns: 0; -EFAULT: the importer has no translation;
 * -EACCES: the owner's gate is closed; -ENXIO: the owner has no translation; -EPERM:
 * the entry is read-only. To reach the wrong memory is a violation.
 */
int ualink_mock_access(struct ualink_mock_import *obj, bool write)
{
	struct ualink_mock *node = obj->node;
	struct ualink_mock_pod *pod = node->pod;
	struct ualink_mock *owner = &pod->nodes[pod->index_of[ualink_handle_id(&obj->handle)]];
	struct ualink_mock_mem *mem;

	guard(spinlock)(&pod->lock);
	if (!obj->mapped && !obj->cached)
		return -EFAULT;
	obj->cached = true;

	if (obj->npa >> owner->segment_shift != owner->id)
		ualink_mock_violation(node, "address of another accelerator");
	if (!test_bit(node->id, owner->gate))
		return -EACCES;
	mem = translate(owner, obj->npa & (BIT_ULL(owner->segment_shift) - 1));
	if (!mem)
		return -ENXIO;
	if (mem != obj->mem || mem->state == UALINK_MOCK_RELEASED)
		ualink_mock_violation(node, "access to memory of another life");
	return write && mem->read_only ? -EPERM : 0;
}

static void async_work(struct work_struct *work)
{
	struct ualink_mock_async *async = container_of(work, struct ualink_mock_async, work);

	async->obj = ualink_mock_import_with(async->node, async->mem, async->access,
					     async->timeout_ms);
}

/* Imports in another thread. */
struct ualink_mock_async *ualink_mock_import_begin_with(struct ualink_mock *node,
							struct ualink_mock_mem *mem, u32 access,
							u32 timeout_ms)
{
	struct ualink_mock_async *async = kzalloc_obj(*async);

	KUNIT_ASSERT_NOT_NULL(node->pod->test, async);
	async->node = node;
	async->mem = mem;
	async->access = access;
	async->timeout_ms = timeout_ms;
	INIT_WORK(&async->work, async_work);
	list_add_tail(&async->link, &node->pod->asyncs);
	queue_work(system_dfl_wq, &async->work);
	return async;
}

struct ualink_mock_async *ualink_mock_import_begin(struct ualink_mock *node,
						   struct ualink_mock_mem *mem, u32 timeout_ms)
{
	return ualink_mock_import_begin_with(node, mem, UALINK_ACCESS_READ, timeout_ms);
}

/* Waits for that thread; what it got. */
struct ualink_mock_import *ualink_mock_import_end(struct ualink_mock_async *async)
{
	struct ualink_mock_import *obj;

	flush_work(&async->work);
	obj = async->obj;
	list_del(&async->link);
	kfree(async);
	return obj;
}

/* An import that must succeed and reach its memory. */
struct ualink_mock_import *ualink_mock_get(struct ualink_mock *node,
					   struct ualink_mock_mem *mem)
{
	struct ualink_mock_import *obj = ualink_mock_import(node, mem);
	struct kunit *test = node->pod->test;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, obj);
	KUNIT_EXPECT_EQ(test, ualink_mock_access(obj, !mem->read_only), 0);
	return obj;
}
