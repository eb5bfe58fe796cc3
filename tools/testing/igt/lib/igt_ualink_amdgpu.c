// SPDX-License-Identifier: MIT
/*
 * What the UALink tests need of amdgpu.
 *
 * Jobs are packets for a compute queue, so that one that waits stops neither the
 * others nor the kernel's own copies. They name the buffers that have to be in place;
 * imports, which are as long as they live, are bound and not named.
 *
 * The driver keeps only the last page fault of a file. So that the next one can be
 * told from it, a known one is provoked after each that a test has seen.
 */
#include <amdgpu_drm.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <xf86drm.h>

#include "igt.h"
#include "igt_ualink_amdgpu.h"

#ifndef AMDGPU_INFO_GPUVM_FAULT
#define AMDGPU_INFO_GPUVM_FAULT		0x23
struct drm_amdgpu_info_gpuvm_fault {
	__u64 addr;
	__u32 status;
	__u32 vmhub;
};
#endif

#define PAGE		4096ull
#define SLOT_SIZE	4096u
#define SLOT_DWORDS	(SLOT_SIZE / 4)
#define SLOTS		256u
/* Where the packets are, and where nothing ever is */
#define PACKETS_VA	(1ull << 44)
#define NOTHING_VA	(2ull << 44)
/* In the fault status: not the own page tables refused, but the owner of the memory */
#define STATUS_MAPPING_ERROR	(1u << 8)
#define STATUS_WRITE		(1u << 18)

#define FAULT_LATE_US	5000
#define VRAM_FOR_TABLES	(8ull << 20)

#define PACKET3(op, count)	(3u << 30 | (count) << 16 | (op) << 8)
#define PACKET3_ATOMIC_MEM	0x1e
#define PACKET3_WRITE_DATA	0x37
#define PACKET3_WAIT_REG_MEM	0x3c
#define PACKET3_DMA_DATA	0x50
#define COMPUTE_NOP		0xffff1000u
#define DMA_MAX_BYTES		(1u << 24)
#define SDMA_OP_COPY		1u
#define SDMA_OP_ATOMIC		10u
#define ATOMIC_ADD_64		0x6f

struct amdgpu_job {
	uint32_t syncobj;
	unsigned int count;
	struct igt_ualink_cmd cmds[];
};

struct amdgpu_bound {
	uint64_t va;
	uint32_t handle;
	bool import;
};

struct amdgpu {
	uint32_t ctx;
	uint32_t packets;
	uint32_t *packets_ptr;
	unsigned int next_slot;
	struct amdgpu_bound *bound;
	unsigned int bound_count;
	/* the last fault that was seen, and whether the tests have read it */
	struct drm_amdgpu_info_gpuvm_fault last;
	bool unread;
	uint64_t next_nothing;
};

static struct amdgpu *to_amdgpu(struct igt_ualink *dev)
{
	return dev->priv;
}

static int amdgpu_ioctl(int fd, unsigned long request, void *arg)
{
	return drmIoctl(fd, request, arg) ? -errno : 0;
}

/* --------------------------------------------------------------- memory */

static int create_bo(struct igt_ualink *dev, uint64_t size, uint64_t domain,
		     uint64_t flags, uint32_t *handle)
{
	union drm_amdgpu_gem_create arg = {
		.in = {
			.bo_size = size,
			.alignment = PAGE,
			.domains = domain,
			.domain_flags = flags,
		},
	};
	int ret = amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_GEM_CREATE, &arg);

	*handle = arg.out.handle;
	return ret;
}

static int amdgpu_alloc(struct igt_ualink *dev, uint64_t size, uint32_t flags,
			uint32_t *handle)
{
	uint64_t domain = AMDGPU_GEM_DOMAIN_VRAM, create = AMDGPU_GEM_CREATE_VRAM_CLEARED;

	/* it would be rounded up */
	if (size % PAGE)
		return -EINVAL;
	if (flags & IGT_UALINK_BO_SYSTEM)
		domain = AMDGPU_GEM_DOMAIN_GTT;
	if (flags & IGT_UALINK_BO_VISIBLE)
		create |= AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
	if (flags & IGT_UALINK_BO_PRIVATE)
		create |= AMDGPU_GEM_CREATE_VM_ALWAYS_VALID;

	return create_bo(dev, size, domain, create, handle);
}

static void *amdgpu_mmap(struct igt_ualink *dev, uint32_t handle, uint64_t size)
{
	union drm_amdgpu_gem_mmap arg = { .in.handle = handle };

	if (amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_GEM_MMAP, &arg))
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd,
		    arg.out.addr_ptr);
}

static int gem_va(struct igt_ualink *dev, uint32_t op, uint32_t handle, uint64_t va,
		  uint64_t offset, uint64_t size, uint32_t flags)
{
	struct drm_amdgpu_gem_va arg = {
		.handle = handle,
		.operation = op,
		.flags = flags,
		.va_address = va,
		.offset_in_bo = offset,
		.map_size = size,
	};

	return amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_GEM_VA, &arg);
}

/* Remote memory has no domain. */
static int is_import(struct igt_ualink *dev, uint32_t handle, bool *import)
{
	struct drm_amdgpu_gem_create_in info = {};
	struct drm_amdgpu_gem_op arg = {
		.handle = handle,
		.op = AMDGPU_GEM_OP_GET_GEM_CREATE_INFO,
		.value = (uintptr_t)&info,
	};
	int ret = amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_GEM_OP, &arg);

	*import = !info.domains;
	return ret;
}

static void note_bound(struct amdgpu *amdgpu, const struct amdgpu_bound *bound)
{
	amdgpu->bound = realloc(amdgpu->bound,
				(amdgpu->bound_count + 1) * sizeof(*amdgpu->bound));
	igt_assert(amdgpu->bound);
	amdgpu->bound[amdgpu->bound_count++] = *bound;
}

static int amdgpu_bind(struct igt_ualink *dev, uint32_t handle, uint64_t va,
		       uint64_t offset, uint64_t size, uint32_t flags)
{
	uint32_t access = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
	struct amdgpu_bound bound = { .va = va, .handle = handle };
	int ret;

	if (flags & IGT_UALINK_BIND_READ_ONLY)
		access = AMDGPU_VM_PAGE_READABLE;
	ret = is_import(dev, handle, &bound.import) ?:
	      gem_va(dev, AMDGPU_VA_OP_MAP, handle, va, offset, size, access);
	if (!ret)
		note_bound(to_amdgpu(dev), &bound);
	return ret;
}

static int amdgpu_unbind(struct igt_ualink *dev, uint64_t va, uint64_t size)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);
	unsigned int left = 0;
	int ret = gem_va(dev, AMDGPU_VA_OP_CLEAR, 0, va, 0, size, 0);

	for (unsigned int i = 0; !ret && i < amdgpu->bound_count; i++)
		if (amdgpu->bound[i].va < va || amdgpu->bound[i].va >= va + size)
			amdgpu->bound[left++] = amdgpu->bound[i];
	if (!ret)
		amdgpu->bound_count = left;
	return ret;
}

/* ----------------------------------------------------------------- jobs */

static uint32_t *emit_dma(uint32_t *p, uint64_t dst, uint64_t src, uint64_t len, bool fill)
{
	while (len) {
		uint32_t bytes = len < DMA_MAX_BYTES ? len : DMA_MAX_BYTES;

		*p++ = PACKET3(PACKET3_DMA_DATA, 5);
		*p++ = 1u << 31 | (fill ? 2u << 29 : 0);
		*p++ = src;
		*p++ = src >> 32;
		*p++ = dst;
		*p++ = dst >> 32;
		*p++ = bytes;
		dst += bytes;
		src += fill ? 0 : bytes;
		len -= bytes;
	}
	return p;
}

static uint32_t *emit_store(uint32_t *p, uint64_t dst, uint64_t value)
{
	*p++ = PACKET3(PACKET3_WRITE_DATA, 4);
	*p++ = 5 << 8 | 1 << 20;
	*p++ = dst;
	*p++ = dst >> 32;
	*p++ = value;
	*p++ = value >> 32;
	return p;
}

static uint32_t *emit_add(uint32_t *p, uint64_t dst, uint64_t value)
{
	*p++ = PACKET3(PACKET3_ATOMIC_MEM, 7);
	*p++ = ATOMIC_ADD_64;
	*p++ = dst;
	*p++ = dst >> 32;
	*p++ = value;
	*p++ = value >> 32;
	*p++ = 0;
	*p++ = 0;
	*p++ = 10;
	return p;
}

/* Only the lower half is looked at; the tests wait for small values, or for none. */
static uint32_t *emit_wait(uint32_t *p, uint64_t dst, uint64_t value)
{
	*p++ = PACKET3(PACKET3_WAIT_REG_MEM, 5);
	*p++ = 5 | 1 << 4;
	*p++ = dst;
	*p++ = dst >> 32;
	*p++ = value > UINT32_MAX ? UINT32_MAX : value;
	*p++ = UINT32_MAX;
	*p++ = 100;
	return p;
}

static uint32_t *emit(uint32_t *p, const struct igt_ualink_cmd *cmd)
{
	switch (cmd->op) {
	case IGT_UALINK_COPY:
		return emit_dma(p, cmd->dst, cmd->src, cmd->len, false);
	case IGT_UALINK_FILL:
		return emit_dma(p, cmd->dst, (uint32_t)cmd->value, cmd->len, true);
	case IGT_UALINK_STORE:
		return emit_store(p, cmd->dst, cmd->value);
	case IGT_UALINK_ATOMIC_ADD:
		/* no packet gives the old value back */
		igt_assert_eq_u64(cmd->src, 0);
		return emit_add(p, cmd->dst, cmd->value);
	case IGT_UALINK_WAIT:
		return emit_wait(p, cmd->dst, cmd->value);
	}
	igt_assert(!"a command that amdgpu does not know");
	return p;
}

/* The buffers that have to be in place, the packets among them. */
static unsigned int list_buffers(struct amdgpu *amdgpu,
				 struct drm_amdgpu_bo_list_entry *entries)
{
	unsigned int count = 0;

	entries[count++].bo_handle = amdgpu->packets;
	for (unsigned int i = 0; i < amdgpu->bound_count; i++) {
		bool there = amdgpu->bound[i].import;

		for (unsigned int j = 0; j < count && !there; j++)
			there = entries[j].bo_handle == amdgpu->bound[i].handle;
		if (!there)
			entries[count++].bo_handle = amdgpu->bound[i].handle;
	}
	return count;
}

static int alloc_context(struct igt_ualink *dev)
{
	union drm_amdgpu_ctx arg = { .in.op = AMDGPU_CTX_OP_ALLOC_CTX };
	int ret = amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_CTX, &arg);

	if (!ret)
		to_amdgpu(dev)->ctx = arg.out.alloc.ctx_id;
	return ret;
}

/* A reset in which VRAM was lost ends a context. */
static int renew_context(struct igt_ualink *dev)
{
	union drm_amdgpu_ctx arg = {
		.in = { .op = AMDGPU_CTX_OP_FREE_CTX, .ctx_id = to_amdgpu(dev)->ctx },
	};

	return amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_CTX, &arg) ?: alloc_context(dev);
}

/* What to submit, with the chunk that names buffers, unless there is a list. */
static int submit_chunks(struct igt_ualink *dev, struct drm_amdgpu_cs_chunk *chunks,
			 unsigned int count, uint32_t list)
{
	uint64_t pointers[8];
	union drm_amdgpu_cs arg;
	int ret;

	for (unsigned int i = 0; i < count; i++)
		pointers[i] = (uintptr_t)&chunks[i];
	for (int tries = 0; tries < 2; tries++) {
		memset(&arg, 0, sizeof(arg));
		arg.in.ctx_id = to_amdgpu(dev)->ctx;
		arg.in.bo_list_handle = list;
		arg.in.num_chunks = count;
		arg.in.chunks = (uintptr_t)pointers;
		ret = amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_CS, &arg);
		if (ret != -ECANCELED || renew_context(dev))
			break;
	}
	return ret;
}

static struct drm_amdgpu_cs_chunk_ib packets_ib(uint32_t ip_type, unsigned int slot,
						unsigned int dwords)
{
	return (struct drm_amdgpu_cs_chunk_ib) {
		.va_start = PACKETS_VA + (uint64_t)slot * SLOT_SIZE,
		.ib_bytes = dwords * 4,
		.ip_type = ip_type,
	};
}

static int submit_slot(struct igt_ualink *dev, uint32_t ip_type, unsigned int slot,
		       unsigned int dwords, uint32_t syncobj)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);
	struct drm_amdgpu_bo_list_entry *entries = calloc(amdgpu->bound_count + 1,
							  sizeof(*entries));
	struct drm_amdgpu_bo_list_in list = {
		.operation = ~0,
		.list_handle = ~0,
		.bo_info_size = sizeof(*entries),
		.bo_info_ptr = (uintptr_t)entries,
	};
	struct drm_amdgpu_cs_chunk_ib ib = packets_ib(ip_type, slot, dwords);
	struct drm_amdgpu_cs_chunk_sem out = { .handle = syncobj };
	struct drm_amdgpu_cs_chunk chunks[] = {
		{ AMDGPU_CHUNK_ID_BO_HANDLES, sizeof(list) / 4, (uintptr_t)&list },
		{ AMDGPU_CHUNK_ID_IB, sizeof(ib) / 4, (uintptr_t)&ib },
		{ AMDGPU_CHUNK_ID_SYNCOBJ_OUT, sizeof(out) / 4, (uintptr_t)&out },
	};
	int ret;

	igt_assert(entries);
	list.bo_number = list_buffers(amdgpu, entries);
	ret = submit_chunks(dev, chunks, ARRAY_SIZE(chunks), 0);
	free(entries);
	return ret;
}

static int submit_packets(struct igt_ualink *dev, uint32_t ip_type,
			  const uint32_t *packets, unsigned int dwords, uint32_t *syncobj)
{
	/* one dword that does nothing */
	const uint32_t nop = ip_type == AMDGPU_HW_IP_COMPUTE ? COMPUTE_NOP : 0;
	struct amdgpu *amdgpu = to_amdgpu(dev);
	unsigned int slot = amdgpu->next_slot++ % SLOTS;
	uint32_t *p = amdgpu->packets_ptr + slot * SLOT_DWORDS;
	int ret;

	igt_assert_lte(dwords, SLOT_DWORDS - 8);
	memcpy(p, packets, dwords * sizeof(*p));
	while (dwords % 8)
		p[dwords++] = nop;

	if (drmSyncobjCreate(dev->fd, 0, syncobj))
		return -errno;
	ret = submit_slot(dev, ip_type, slot, dwords, *syncobj);
	if (ret)
		drmSyncobjDestroy(dev->fd, *syncobj);
	return ret;
}

static int submit_cmds(struct igt_ualink *dev, const struct igt_ualink_cmd *cmds,
		       unsigned int count, uint32_t *syncobj)
{
	uint32_t packets[2 * SLOT_DWORDS], *p = packets;

	for (unsigned int i = 0; i < count && p - packets < SLOT_DWORDS; i++)
		p = emit(p, &cmds[i]);
	return submit_packets(dev, AMDGPU_HW_IP_COMPUTE, packets, p - packets, syncobj);
}

/* --------------------------------------------------------------- faults */

static void query_fault(struct igt_ualink *dev, struct drm_amdgpu_info_gpuvm_fault *fault)
{
	struct drm_amdgpu_info arg = {
		.return_pointer = (uintptr_t)fault,
		.return_size = sizeof(*fault),
		.query = AMDGPU_INFO_GPUVM_FAULT,
	};

	memset(fault, 0, sizeof(*fault));
	igt_assert_eq(amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_INFO, &arg), 0);
}

/* Makes the last fault one that no test can mean. */
static void forget_fault(struct igt_ualink *dev)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);
	struct igt_ualink_cmd cmd = {
		.op = IGT_UALINK_STORE,
		.dst = NOTHING_VA + PAGE * amdgpu->next_nothing++,
	};
	uint32_t syncobj;

	igt_assert_eq(submit_cmds(dev, &cmd, 1, &syncobj), 0);
	igt_assert_eq(__igt_ualink_syncobj_wait(dev, syncobj, 10000), 0);
	for (int i = 0; i < 200 && amdgpu->last.addr != cmd.dst; i++) {
		usleep(FAULT_LATE_US);
		query_fault(dev, &amdgpu->last);
	}
	igt_assert_eq_u64(amdgpu->last.addr, cmd.dst);
}

static bool touches(const struct igt_ualink_cmd *cmd, uint64_t addr)
{
	uint64_t len = cmd->op == IGT_UALINK_COPY || cmd->op == IGT_UALINK_FILL ? cmd->len : 8;

	return (addr + PAGE > cmd->dst && addr < cmd->dst + len) ||
	       (cmd->op == IGT_UALINK_COPY && addr + PAGE > cmd->src && addr < cmd->src + len);
}

/* Did an access of the job fail? */
static bool job_faulted(struct igt_ualink *dev, const struct amdgpu_job *job)
{
	struct drm_amdgpu_info_gpuvm_fault fault;
	struct amdgpu *amdgpu = to_amdgpu(dev);

	query_fault(dev, &fault);
	if (fault.addr == amdgpu->last.addr && fault.status == amdgpu->last.status)
		return false;
	for (unsigned int i = 0; i < job->count; i++) {
		if (touches(&job->cmds[i], fault.addr)) {
			amdgpu->last = fault;
			amdgpu->unread = true;
			return true;
		}
	}
	return false;
}

/*
 * Who handles an earlier interrupt may see the fence before the fault is told. A job of a
 * single command may be there to see a fault, and is waited for longer.
 */
static bool faulted_sooner_or_later(struct igt_ualink *dev, const struct amdgpu_job *job)
{
	int tries = job->count == 1 ? 3 : 1;

	while (!job_faulted(dev, job)) {
		if (!tries--)
			return false;
		usleep(FAULT_LATE_US);
	}
	return true;
}

static int amdgpu_submit(struct igt_ualink *dev, const struct igt_ualink_cmd *cmds,
			 unsigned int count, uint64_t *handle)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);
	struct amdgpu_job *job;
	int ret;

	if (amdgpu->last.addr && amdgpu->last.addr < NOTHING_VA)
		forget_fault(dev);

	job = malloc(sizeof(*job) + count * sizeof(*cmds));
	igt_assert(job);
	job->count = count;
	memcpy(job->cmds, cmds, count * sizeof(*cmds));
	ret = submit_cmds(dev, cmds, count, &job->syncobj);
	if (ret)
		free(job);
	*handle = (uintptr_t)job;
	return ret;
}

static int amdgpu_wait(struct igt_ualink *dev, uint64_t handle, unsigned int timeout_ms)
{
	struct amdgpu_job *job = (struct amdgpu_job *)(uintptr_t)handle;
	int ret = __igt_ualink_syncobj_wait(dev, job->syncobj, timeout_ms);

	if (ret == -EBUSY)
		return ret;
	if (!ret && faulted_sooner_or_later(dev, job))
		ret = -EFAULT;
	free(job);
	return ret;
}

static int amdgpu_read_fault(struct igt_ualink *dev, struct igt_ualink_fault *fault)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);

	if (!amdgpu->unread)
		return -EAGAIN;
	amdgpu->unread = false;
	fault->va = amdgpu->last.addr;
	fault->write = amdgpu->last.status & STATUS_WRITE;
	fault->remote = amdgpu->last.status & STATUS_MAPPING_ERROR;
	return 0;
}

/* ------------------------------------------------------- life, counters */

static int create_packets(struct igt_ualink *dev)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);
	uint64_t size = (uint64_t)SLOTS * SLOT_SIZE;
	int ret = create_bo(dev, size, AMDGPU_GEM_DOMAIN_GTT, 0, &amdgpu->packets);

	if (ret)
		return ret;
	amdgpu->packets_ptr = amdgpu_mmap(dev, amdgpu->packets, size);
	if (amdgpu->packets_ptr == MAP_FAILED)
		return -errno;
	return gem_va(dev, AMDGPU_VA_OP_MAP, amdgpu->packets, PACKETS_VA, 0, size,
		      AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_EXECUTABLE);
}

static int amdgpu_open(struct igt_ualink *dev)
{
	dev->priv = calloc(1, sizeof(struct amdgpu));
	igt_assert(dev->priv);
	return alloc_context(dev) ?: create_packets(dev);
}

static void amdgpu_close(struct igt_ualink *dev)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);

	munmap(amdgpu->packets_ptr, (size_t)SLOTS * SLOT_SIZE);
	free(amdgpu->bound);
	free(amdgpu);
}

static FILE *open_debugfs(struct igt_ualink *dev, const char *name, const char *mode)
{
	char path[128];
	struct stat st;

	if (fstat(dev->fd, &st))
		return NULL;
	snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%u/%s", minor(st.st_rdev), name);
	return fopen(path, mode);
}

/* The number in the line "key: number", or UINT64_MAX. */
static uint64_t counter(struct igt_ualink *dev, const char *key)
{
	FILE *file = open_debugfs(dev, "amdgpu_ualink_stats", "r");
	uint64_t value = UINT64_MAX, number;
	char word[64];

	if (!file)
		return UINT64_MAX;
	while (fscanf(file, "%63[^:]: %" SCNu64 "\n", word, &number) == 2)
		if (!strcmp(word, key))
			value = number;
	fclose(file);
	igt_assert_f(value != UINT64_MAX, "there is no counter %s\n", key);
	return value;
}

static void amdgpu_stats(struct igt_ualink *dev, struct igt_ualink_stats *stats)
{
	struct drm_amdgpu_memory_info memory = {};
	struct drm_amdgpu_info arg = {
		.return_pointer = (uintptr_t)&memory,
		.return_size = sizeof(memory),
		.query = AMDGPU_INFO_MEMORY,
	};
	uint64_t tables = counter(dev, "table_bytes");

	igt_assert_eq(amdgpu_ioctl(dev->fd, DRM_IOCTL_AMDGPU_INFO, &arg), 0);
	stats->stale = counter(dev, "stale");
	stats->pte_writes = counter(dev, "pte_writes");
	stats->npa_in = counter(dev, "npa_in");
	stats->npa_out = counter(dev, "npa_out");
	/* the tables of the segment stay once they are made */
	stats->pinned = memory.vram.total_heap_size - memory.vram.usable_heap_size - tables;
	stats->vram_used = memory.vram.heap_usage - tables;
	/* the rest is for page tables; who takes it gets system memory */
	stats->vram_size = memory.vram.total_heap_size - VRAM_FOR_TABLES;
}

/* Some files of amdgpu do what they do when they are read. */
static int read_debugfs(struct igt_ualink *dev, const char *name)
{
	FILE *file = open_debugfs(dev, name, "r");
	char line[64];
	bool ok;

	if (!file)
		return -errno;
	ok = fgets(line, sizeof(line), file);
	fclose(file);
	return ok ? 0 : -EIO;
}

static int amdgpu_evict_all(struct igt_ualink *dev)
{
	return read_debugfs(dev, "amdgpu_evict_vram");
}

/* What was shared is ended after the reset, in the background. */
static int amdgpu_reset(struct igt_ualink *dev)
{
	uint64_t restarts = counter(dev, "restarts");
	struct drm_ualink_device_info info = {};
	int ret = read_debugfs(dev, "amdgpu_gpu_recover");

	for (int i = 0; i < 1000 && !ret; i++) {
		igt_ualink_device_info(dev, &info);
		if (counter(dev, "restarts") > restarts &&
		    info.flags & DRM_UALINK_DEVICE_ACTIVE)
			return 0;
		usleep(10000);
	}
	return ret ?: -ETIME;
}

const struct igt_ualink_backend igt_ualink_amdgpu = {
	.driver = "amdgpu",
	.close_unbinds = true,
	.open = amdgpu_open,
	.close = amdgpu_close,
	.alloc = amdgpu_alloc,
	.mmap = amdgpu_mmap,
	.bind = amdgpu_bind,
	.unbind = amdgpu_unbind,
	.submit = amdgpu_submit,
	.wait = amdgpu_wait,
	.read_fault = amdgpu_read_fault,
	.stats = amdgpu_stats,
	.evict_all = amdgpu_evict_all,
	.reset = amdgpu_reset,
};

/* ------------------------------------------------- packets of the tests */

uint32_t igt_amdgpu_submit(struct igt_ualink *dev, uint32_t ip_type,
			   const uint32_t *packets, unsigned int dwords)
{
	uint32_t syncobj;

	igt_assert_eq(submit_packets(dev, ip_type, packets, dwords, &syncobj), 0);
	return syncobj;
}

int __igt_amdgpu_wait(struct igt_ualink *dev, uint32_t job, unsigned int timeout_ms)
{
	return __igt_ualink_syncobj_wait(dev, job, timeout_ms);
}

void igt_amdgpu_run(struct igt_ualink *dev, uint32_t ip_type,
		    const uint32_t *packets, unsigned int dwords)
{
	uint32_t job = igt_amdgpu_submit(dev, ip_type, packets, dwords);

	igt_assert_eq(__igt_amdgpu_wait(dev, job, 10000), 0);
}

unsigned int igt_amdgpu_sdma_copy(uint32_t *packets, uint64_t dst, uint64_t src, uint32_t len)
{
	uint32_t *p = packets;

	*p++ = SDMA_OP_COPY;
	*p++ = len - 1;
	*p++ = 0;
	*p++ = src;
	*p++ = src >> 32;
	*p++ = dst;
	*p++ = dst >> 32;
	return p - packets;
}

unsigned int igt_amdgpu_sdma_add(uint32_t *packets, uint64_t dst, uint64_t value)
{
	uint32_t *p = packets;

	*p++ = SDMA_OP_ATOMIC | ATOMIC_ADD_64 << 25;
	*p++ = dst;
	*p++ = dst >> 32;
	*p++ = value;
	*p++ = value >> 32;
	*p++ = 0;
	*p++ = 0;
	*p++ = 0;
	return p - packets;
}

/* Does nothing, with a list of buffers, or with a chunk of the caller's. */
static int submit_nothing(struct igt_ualink *dev, uint32_t list,
			  const struct drm_amdgpu_cs_chunk *more)
{
	struct amdgpu *amdgpu = to_amdgpu(dev);
	unsigned int slot = amdgpu->next_slot++ % SLOTS;
	struct drm_amdgpu_cs_chunk_ib ib = packets_ib(AMDGPU_HW_IP_COMPUTE, slot, 8);
	struct drm_amdgpu_cs_chunk_sem out = {};
	struct drm_amdgpu_cs_chunk chunks[3] = {
		{ AMDGPU_CHUNK_ID_IB, sizeof(ib) / 4, (uintptr_t)&ib },
		{ AMDGPU_CHUNK_ID_SYNCOBJ_OUT, sizeof(out) / 4, (uintptr_t)&out },
	};
	int ret;

	if (more)
		chunks[2] = *more;

	for (unsigned int i = 0; i < 8; i++)
		amdgpu->packets_ptr[slot * SLOT_DWORDS + i] = COMPUTE_NOP;
	if (drmSyncobjCreate(dev->fd, 0, &out.handle))
		return -errno;
	ret = submit_chunks(dev, chunks, more ? 3 : 2, list);
	if (!ret)
		return __igt_ualink_syncobj_wait(dev, out.handle, 10000);
	drmSyncobjDestroy(dev->fd, out.handle);
	return ret;
}

int igt_amdgpu_submit_list(struct igt_ualink *dev, uint32_t list)
{
	return submit_nothing(dev, list, NULL);
}

int igt_amdgpu_submit_fence(struct igt_ualink *dev, uint32_t handle, uint32_t offset)
{
	struct drm_amdgpu_cs_chunk_fence fence = { .handle = handle, .offset = offset };
	const struct drm_amdgpu_cs_chunk chunk = {
		AMDGPU_CHUNK_ID_FENCE, sizeof(fence) / 4, (uintptr_t)&fence,
	};

	return submit_nothing(dev, 0, &chunk);
}
