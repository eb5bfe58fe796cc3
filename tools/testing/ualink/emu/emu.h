/* SPDX-License-Identifier: MIT */
/*
 * What the files of the emulated GPU share. Each block below belongs to the file that it names.
 *
 * Threads: one for the vfio-user socket of each GPU (all register accesses of a VM's CPUs), one
 * for each engine of a GPU, one for the messages that the fabric holds back, and one for each
 * connection of the control socket. The socket's thread never waits for an engine, but in a reset.
 *
 * Locks, outermost first: control; hub.drain of a requester; link.drain of an owner; the leaves
 * (TLB, HDP, DMA maps, IH, ring, fabric, counters), of which nobody holds two but as said there.
 */
#ifndef EMU_H
#define EMU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUS_MAX	16
#define VMIDS		16
#define PAGE_SHIFT	12
#define PAGE_SIZE	4096u
#define PAGE_MASK	(PAGE_SIZE - 1)
#define TLB_ENTRIES	512
#define INV_ENGINES	18
#define MMIO_BYTES	(512u << 10)
#define MMIO_DWORDS	(MMIO_BYTES / 4)
#define DOORBELL_BYTES	(2u << 20)
#define SMN_SLOTS	4096
#define CP_QUEUES	32
#define CP_MES		4
#define CP_PIPES	4
#define CP_PIPE_QUEUES	8
#define HQD_REGS	64
#define DMA_MAPS	256
#define IDS_MAX		1024
#define MSG_BYTES	64
#define COUNTERS	192

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
/* The field of a register whose mask is @mask */
#define FIELD(value, mask)	(((value) & (mask)) >> __builtin_ctz(mask))

struct gpu;
struct pod;

/* ---- stat.c: counters by name, and the log ---- */

struct counter {
	char name[48];
	uint64_t count;
};

struct counters {
	pthread_mutex_t lock;
	unsigned int used;
	struct counter counter[COUNTERS];
};

void logmsg(const struct gpu *gpu, const char *format, ...) __attribute__((format(printf, 2, 3)));
void count(struct counters *counters, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void count_print(struct counters *counters, char *text, size_t size);
void print(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void stat_gpu(struct gpu *gpu, char *text, size_t size);
void stat_stale(struct pod *pod, char *text, size_t size);
void stat_unknown(struct pod *pod, char *text, size_t size);

/* ---- mem.c: VRAM, the guest's memory, and what is done to a piece of either ---- */

enum mem_kind { MEM_READ, MEM_WRITE, MEM_ATOMIC };
enum atomic_fn { ATOMIC_ADD, ATOMIC_SWAP, ATOMIC_CMPSWAP };

/* @buf: for reads and writes. @operand, @compare, @old: for atomics; @len is 4 or 8 then */
struct mem_op {
	enum mem_kind kind;
	enum atomic_fn fn;
	void *buf;
	size_t len;
	uint64_t operand;
	uint64_t compare;
	uint64_t old;
};

struct dma_map {
	uint64_t addr;
	uint64_t size;
	uint8_t *mem;
};

struct dma {
	pthread_rwlock_t lock;	/* held for reading while memory is touched */
	unsigned int count;
	struct dma_map map[DMA_MAPS];
};

void mem_barrier(void);
bool vram_init(struct gpu *gpu);
void vram_lose(struct gpu *gpu);
bool vram_op(struct gpu *gpu, uint64_t offset, struct mem_op *op);
bool vram_read(struct gpu *gpu, uint64_t offset, void *buf, size_t len);
bool vram_write(struct gpu *gpu, uint64_t offset, const void *buf, size_t len);
bool dma_op(struct gpu *gpu, uint64_t addr, struct mem_op *op);
bool dma_read(struct gpu *gpu, uint64_t addr, void *buf, size_t len);
bool dma_write(struct gpu *gpu, uint64_t addr, const void *buf, size_t len);
bool dma_map_add(struct gpu *gpu, uint64_t addr, uint64_t size, int fd, uint64_t offset,
		 bool write);
void dma_map_remove(struct gpu *gpu, uint64_t addr, uint64_t size, bool all);

/* ---- hdp.c: what the CPU writes to page tables of the segment ---- */

struct hdp_page;

struct hdp {
	pthread_mutex_t lock;
	struct hdp_page **page;		/* by number, or NULL */
	struct hdp_page *pages;		/* all of them */
};

bool hdp_read_entry(struct gpu *gpu, uint64_t offset, uint64_t *entry);
void hdp_flush(struct gpu *gpu);
bool hdp_is_flush(struct gpu *gpu, uint32_t reg);
void hdp_reset(struct gpu *gpu);
void hdp_quit(struct gpu *gpu);
void hdp_init(struct gpu *gpu);

/* ---- engine.c: a thread that works when it is kicked ---- */

struct engine {
	struct gpu *gpu;
	const char *name;
	void (*run)(struct engine *engine);
	unsigned int index;		/* among those of its kind */
	bool delayed;			/* a random time passes between kick and work */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool kicked;
	bool running;
	bool quit;
	atomic_bool stop;		/* what runs is to end at once */
	uint64_t random;
};

void engine_init(struct engine *engine, struct gpu *gpu, const char *name, unsigned int index,
		 bool delayed, void (*run)(struct engine *engine));
void engine_kick(struct engine *engine);
void engine_interrupt(struct engine *engine);
void engine_stop(struct engine *engine);
bool engine_pause(struct engine *engine, uint64_t us);
void engine_quit(struct engine *engine);
void engine_seed(struct engine *engine);
uint32_t engine_random(struct engine *engine);
uint64_t clock_us(void);
void lock_init(pthread_rwlock_t *lock);

/* ---- regs.c: the register file ---- */

struct smn_reg {
	uint32_t index;
	uint32_t value;
	uint32_t unknown;
	bool used;
	bool written;
};

struct regs {
	_Atomic uint32_t bar[MMIO_DWORDS];
	atomic_uchar written[MMIO_DWORDS];
	_Atomic uint32_t unknown[MMIO_DWORDS];	/* reads of what nobody wrote */
	pthread_mutex_t lock;			/* of @smn */
	struct smn_reg smn[SMN_SLOTS];
	uint32_t smn_index;			/* these are of the socket's thread */
	uint32_t mm_index;
	uint32_t mm_index_hi;
};

/* What is more than memory. A NULL hook leaves the register as memory. */
struct reg_hook {
	uint32_t first;
	uint32_t count;
	uint32_t (*read)(struct gpu *gpu, uint32_t reg);
	void (*write)(struct gpu *gpu, uint32_t reg, uint32_t value);
};

void regs_init(struct gpu *gpu);
void regs_reset(struct gpu *gpu);
uint32_t reg_get(struct gpu *gpu, uint32_t reg);
uint64_t reg_get64(struct gpu *gpu, uint32_t lo, uint32_t hi);
void reg_set(struct gpu *gpu, uint32_t reg, uint32_t value);
uint32_t reg_read(struct gpu *gpu, uint32_t reg);
void reg_write(struct gpu *gpu, uint32_t reg, uint32_t value);
const char *reg_name(uint32_t reg);
void regs_unknown(struct gpu *gpu, char *text, size_t size);

/* ---- mmu.c: page tables and TLBs ---- */

enum fault {
	FAULT_NONE,
	FAULT_INVALID,		/* no valid entry */
	FAULT_MALFORMED,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_MEMORY,		/* no memory at that address */
	FAULT_REMOTE,		/* refused by the owner, or not reached */
};

struct leaf {
	uint64_t pte;
	unsigned int shift;	/* log2 of the bytes that it maps */
};

struct tlb_entry {
	uint64_t base;
	struct leaf leaf;	/* not in use if the PTE is 0 */
	uint32_t stale;		/* uses while the page table said something else */
	uint16_t vmid;
};

struct tlb {
	pthread_mutex_t lock;
	unsigned int next;
	struct tlb_entry entry[TLB_ENTRIES];
	_Atomic uint64_t walks;
	_Atomic uint64_t hits;
	uint64_t stale;		/* uses of an entry that differed */
	uint64_t flushed;	/* of these, those whose entry was emptied later */
};

#define PTE_VALID	(1ull << 0)
#define PTE_SYSTEM	(1ull << 1)
#define PTE_READ	(1ull << 5)
#define PTE_WRITE	(1ull << 6)
#define PTE_NPA		(1ull << 50)
#define PTE_PRT		(1ull << 51)
#define PDE_PTE		(1ull << 54)
#define PTE_TF		(1ull << 56)
#define PTE_MTYPE	(3ull << 57)
#define PTE_MTYPE_UC	(3ull << 57)
#define PTE_ADDR	0x0000fffffffff000ull

/* Walks the page table: finds the leaf for an address. */
typedef enum fault (*walk_fn)(void *mmu, unsigned int vmid, uint64_t addr, struct leaf *leaf);

void tlb_init(struct tlb *tlb);
void tlb_empty(struct tlb *tlb, uint32_t vmids, uint64_t first, uint64_t last);
enum fault tlb_translate(struct tlb *tlb, walk_fn walk, void *mmu, unsigned int vmid,
			 uint64_t addr, struct leaf *leaf);
void tlb_stale(struct tlb *tlb, uint64_t *used, uint64_t *unflushed);
enum fault walk_tables(struct gpu *gpu, uint64_t root, uint64_t addr, bool segment,
		       struct leaf *leaf);
uint64_t leaf_address(const struct leaf *leaf, uint64_t addr);

/* ---- hub.c: a memory hub: accesses of engines, faults. flush.c: invalidation ---- */

enum hub_id { HUB_GC, HUB_MM, HUBS };

/* First registers of groups; the distance of two VMIDs is ctx_distance */
struct hub_regs {
	const char *name;
	uint32_t fb_base, fb_top;
	uint32_t ctx0_base_lo, ctx_distance;
	uint32_t start_lo, start_hi, end_lo, end_hi;
	uint32_t inv_req, inv_ack, inv_sem;
	uint32_t fault_status, fault_cntl, fault_addr_lo, fault_addr_hi;
	uint32_t pasid_lut;
	uint8_t client, node, vmid_src;
};

struct hub {
	struct gpu *gpu;
	const struct hub_regs *regs;
	pthread_rwlock_t drain;	/* read: an access is under way; write: a flush waits */
	struct tlb tlb;
	pthread_mutex_t lock;		/* of what follows */
	uint32_t pending[INV_ENGINES];	/* VMIDs to be flushed */
	uint32_t ack[INV_ENGINES];
	uint64_t fault_time;		/* since when @fault_burst counts */
	unsigned int fault_burst;
};

void hub_init(struct gpu *gpu, enum hub_id id);
void hub_reset(struct hub *hub);
void hub_settle(struct hub *hub);
bool hub_op(struct hub *hub, unsigned int vmid, uint64_t va, struct mem_op *op);
bool hub_read(struct hub *hub, unsigned int vmid, uint64_t va, void *buf, size_t len);
bool hub_write(struct hub *hub, unsigned int vmid, uint64_t va, const void *buf, size_t len);
unsigned int hub_pasid_vmids(struct hub *hub, uint32_t pasid);
void hub_flush(struct hub *hub, uint32_t vmids);
void flush_run(struct engine *engine);
extern const struct reg_hook hub_hooks[];
extern const size_t hub_hooks_count;

/* ---- ih.c: the interrupt ring ---- */

struct irq {
	uint8_t client, source, ring, vmid, vmid_src, node;
	uint16_t pasid;
	uint32_t data[4];
};

struct ih {
	pthread_mutex_t lock;
	int eventfd;
	uint32_t wptr;
	bool overflow;
	_Atomic uint64_t raised, lost;
};

void ih_init(struct gpu *gpu);
void ih_reset(struct gpu *gpu);
void ih_eventfd(struct gpu *gpu, int fd);
void ih_raise(struct gpu *gpu, const struct irq *irq);
bool ih_doorbell(struct gpu *gpu, uint32_t index, uint64_t value);
extern const struct reg_hook ih_hooks[];
extern const size_t ih_hooks_count;

/* ---- ring.c: reading packets from a ring or an indirect buffer ---- */

struct cursor {
	struct engine *engine;
	struct hub *hub;
	unsigned int vmid;
	uint64_t base;
	uint64_t size;		/* bytes of a ring, which goes on at @base; 0: none */
	uint64_t pos, end;	/* bytes */
	unsigned int depth;	/* of indirect buffers */
};

bool cursor_take(struct cursor *cursor, uint32_t *dw, size_t count);
bool compare(unsigned int function, uint64_t value, uint64_t reference);

/* ---- sdma.c, sdma_ring.c ---- */

struct sdma {
	struct engine engine;
	_Atomic uint64_t rptr, wptr;	/* bytes */
};

void sdma_init(struct gpu *gpu);
void sdma_reset(struct gpu *gpu);
bool sdma_doorbell(struct gpu *gpu, uint32_t index, uint64_t value);
bool sdma_packet(struct cursor *cursor);
bool atomic_packet(struct cursor *c, unsigned int code, const uint32_t *dw, bool loop);
extern const struct reg_hook sdma_hooks[];
extern const size_t sdma_hooks_count;

/* ---- cp.c: queues of the command processor; pm4.c: their packets ---- */

struct cp_queue {
	struct engine engine;
	bool ready;			/* the engine has a thread */
	atomic_bool active;
	atomic_bool dequeue;		/* is to end */
	bool kiq;
	unsigned int me, pipe, queue;
	uint32_t doorbell;
	uint64_t base, size, rptr_addr;
	_Atomic uint64_t rptr, wptr;	/* dwords */
};

struct cp {
	pthread_mutex_t lock;		/* of the table of queues */
	struct cp_queue queue[CP_QUEUES];
	_Atomic uint32_t hqd[CP_MES][CP_PIPES][CP_PIPE_QUEUES][HQD_REGS];
	struct engine reaper;		/* ends queues by CP_HQD_DEQUEUE_REQUEST */
};

void cp_init(struct gpu *gpu);
void cp_reset(struct gpu *gpu);
void cp_stop(struct gpu *gpu);
void cp_quit(struct gpu *gpu);
bool cp_doorbell(struct gpu *gpu, uint32_t index, uint64_t value);
void cp_map_queue(struct gpu *gpu, const uint32_t *body);
void cp_unmap_queue(struct gpu *gpu, uint32_t doorbell);
bool pm4_packet(struct cursor *cursor, struct cp_queue *queue);
extern const struct reg_hook cp_hooks[];
extern const size_t cp_hooks_count;

/* ---- link.c: what others may do to this accelerator's memory ---- */

enum refusal { SERVED, REFUSED_LINK, REFUSED_GATE, REFUSED_ENTRY, REFUSED_ACCESS };

struct link {
	pthread_rwlock_t drain;	/* read: an access is served; write: something waits */
	struct tlb tlb;
	_Atomic uint64_t root;
	atomic_bool gate[IDS_MAX];
	_Atomic uint64_t refused_time;	/* of the last interrupt REFUSED */
	_Atomic uint64_t served, refused, out, invalidates;
};

void link_init(struct gpu *gpu);
void link_reset(struct gpu *gpu);
bool link_access(struct gpu *requester, uint64_t npa, struct mem_op *op);
void link_settle(struct gpu *gpu);
void link_close_gates(struct gpu *gpu);
void link_invalidate(struct gpu *gpu, uint64_t offset, uint64_t size);

/* ---- ualink.c: registers and commands of the block; msg.c: its rings ---- */

struct ualink {
	_Atomic uint32_t cntl;
	atomic_bool enabled;
	atomic_bool error;
	_Atomic uint32_t generation;
	_Atomic uint64_t ring_base;
	_Atomic uint32_t cmd, cmd_status;
	atomic_bool busy;		/* with a command */
	atomic_bool hung;		/* a command was not answered */
	atomic_bool dead;		/* does not follow ENABLE */
	struct engine commander;
	struct engine sender;
	pthread_mutex_t rx_lock;	/* one message at a time into rings from others */
	uint32_t rx_wptr[IDS_MAX];
	uint32_t rx_rptr[IDS_MAX];	/* as the last doorbell has it; under @rx_lock */
	uint32_t tx_wptr[IDS_MAX];	/* likewise; of the sender */
	uint32_t tx_rptr[IDS_MAX];	/* of the sender */
	atomic_bool tx_rung[IDS_MAX];	/* doorbells */
	atomic_bool rx_rung[IDS_MAX];
	atomic_bool tx_due[IDS_MAX];	/* rings to look at */
	_Atomic uint32_t in_flight[IDS_MAX];	/* messages from an id that the fabric holds */
	_Atomic uint64_t taken, given;
};

void ualink_init(struct gpu *gpu);
void ualink_reset(struct gpu *gpu);
void ualink_irq(struct gpu *gpu, unsigned int source, uint32_t data0, uint32_t data1);
void ualink_managed(struct gpu *gpu);
void msg_sender_run(struct engine *engine);
void msg_stop(struct gpu *gpu);
void msg_poke(struct gpu *gpu, uint32_t id);
void msg_tx_doorbell(struct gpu *gpu, uint32_t id);
void msg_rx_doorbell(struct gpu *gpu, uint32_t id);
void msg_poke_senders(struct gpu *gpu);
bool msg_put(struct gpu *gpu, uint32_t from, const void *msg);
bool msg_room(struct gpu *gpu, uint32_t from);
extern const struct reg_hook ualink_hooks[];
extern const size_t ualink_hooks_count;

enum { IRQ_RX, IRQ_TX, IRQ_LINK, IRQ_REFUSED, IRQ_MANAGED };

/* ---- fabric.c ---- */

enum rule_kind { RULE_DROP, RULE_DUP, RULE_REORDER, RULE_CORRUPT, RULES };

struct rule {
	int type, from, to;	/* -1: any */
	uint64_t left;		/* messages it is still for */
};

struct parcel {
	struct parcel *next;
	uint32_t from, to;
	uint64_t due;		/* us */
	bool behind;		/* goes behind the next message of the pair */
	uint8_t msg[MSG_BYTES];
};

struct fabric {
	pthread_mutex_t lock;	/* of all but the atomics */
	pthread_cond_t cond;
	pthread_t thread;
	bool quit;
	atomic_bool cut[GPUS_MAX][GPUS_MAX];
	atomic_bool muted[GPUS_MAX];
	struct rule rule[RULES];
	uint64_t delay_us;
	struct parcel *parcels;
	uint64_t lost, dropped, repeated, reordered, corrupted;
};

void fabric_init(struct pod *pod);
void fabric_quit(struct pod *pod);
bool fabric_reaches(struct gpu *from, struct gpu *to);
void fabric_send(struct gpu *from, struct gpu *to, uint8_t *msg);
void fabric_forget(struct gpu *gpu);
void fabric_tell(struct gpu *gpu, struct gpu *peer, bool up);
void fabric_set_cut(struct gpu *a, struct gpu *b, bool cut);
struct gpu *pod_by_id(struct pod *pod, uint32_t id);

/* ---- pci.c ---- */

struct pci {
	uint8_t config[4096];
	_Atomic uint64_t bar0;		/* where the guest has put it; 0: nowhere */
	uint64_t bar0_size;
	atomic_bool master;
};

void pci_init(struct gpu *gpu);
void pci_read(struct gpu *gpu, uint32_t offset, uint8_t *data, uint32_t len);
void pci_write(struct gpu *gpu, uint32_t offset, const uint8_t *data, uint32_t len);

/* ---- vfio.c ---- */

struct vfio {
	char path[108];
	int listener;
	pthread_mutex_t lock;		/* of @sock, against vfio_stop() */
	int sock;
	pthread_t thread;
	_Atomic int pid;		/* of the VM, to tell VMs apart */
};

bool vfio_start(struct gpu *gpu, const char *path);
void vfio_stop(struct gpu *gpu);
int listen_at(const char *path);

/* ---- discovery.c ---- */

size_t discovery_table(struct pod *pod, uint8_t *table, size_t size);
bool firmware_write(struct pod *pod, const char *dir);

/* ---- control.c ---- */

bool control_start(struct pod *pod, const char *path);
bool parse_uuid(const char *text, uint8_t *uuid);

/* ---- gpu.c: one accelerator as a whole; main.c: options ---- */

enum reset_kind {
	RESET_KEEP,		/* function level, or from D3: VRAM is kept */
	RESET_LOSE,		/* mode 1, or the machine's: VRAM is lost */
};

/* What the control socket wants to go wrong; ualink.c */
enum fail_kind { FAIL_FLUSH, FAIL_GATE, FAIL_DRAIN, HANG_COMMAND, HANG_ENABLE, FAILS };

struct gpu {
	struct pod *pod;
	unsigned int index;
	uint32_t id;			/* accelerator id */
	atomic_bool connected;		/* a VM is there */
	atomic_bool powered;		/* on the fabric */
	pthread_mutex_t reset_lock;
	pthread_mutex_t management;	/* of @vpod, @provisioned */
	uint8_t vpod[16];
	bool provisioned;
	int vram_fd;
	uint8_t *vram;
	_Atomic uint32_t fail[FAILS];	/* how many times yet */
	struct counters stats;
	struct counters unknown;	/* packets */
	struct hdp hdp;
	struct dma dma;
	struct pci pci;
	struct vfio vfio;
	struct regs regs;
	struct hub hub[HUBS];
	struct engine flusher;
	struct ih ih;
	struct sdma sdma;
	struct cp cp;
	struct link link;
	struct ualink ualink;
};

struct pod {
	unsigned int gpus;
	uint64_t vram_size;
	uint32_t ids;			/* NUM_IDS */
	unsigned int segment_shift, ring_shift;
	bool ualink;			/* the GPUs have the block */
	_Atomic uint64_t seed;
	_Atomic uint32_t engine_delay_us;
	_Atomic uint32_t flush_delay_ms;
	_Atomic uint32_t access_delay_us;
	atomic_bool allow_vmid0;	/* faults of VMID 0 are meant to be */
	_Atomic uint64_t vmid0_faults;	/* those that are not */
	atomic_bool quit;
	struct fabric fabric;
	struct gpu gpu[GPUS_MAX];
};

void gpu_init(struct gpu *gpu);
void gpu_quit(struct gpu *gpu);
void gpu_power(struct gpu *gpu, bool on);
void gpu_crash(struct gpu *gpu);
void gpu_reset(struct gpu *gpu, enum reset_kind kind);
bool gpu_doorbell(struct gpu *gpu, uint64_t offset, uint64_t value);

/* main.c */
void pod_quit(struct pod *pod);

#endif
