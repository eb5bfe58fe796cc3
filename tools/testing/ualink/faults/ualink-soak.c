// SPDX-License-Identifier: MIT
/*
 * ualink-soak SECONDS [SEED] - many threads share, read, count in, revoke, free and
 * lose the memory of several accelerators at random, while links break, messages
 * are lost, accelerators are reset, memory is evicted, and somebody looks at all of
 * it. A reference model knows what each operation may yield; what differs from it is
 * a mismatch.
 *
 * The model: a shared object has an identity, which is written into it before it is
 * exported, and a history of four moments: published, revoke begun, revoke
 * complete, gone. An operation looks at the history before it begins and after it
 * ends. So
 *
 *  - what is read from an object is its identity, or the operation fails;
 *  - nothing is read once a revoke was complete before it began, also not after the
 *    owner has written something else there;
 *  - nothing is imported then either, unless the importer could not hear of it: while
 *    the exporter is reset, or their link is cut;
 *  - nothing fails that concerns an object whose revoke has not begun when it ends,
 *    unless one of the two accelerators or their link was disturbed meanwhile;
 *  - a counter in the object is, in the end, the sum of what was added, give or take
 *    what was added by jobs that failed.
 *
 * Prints "faults: KEY VALUE", and "fail: ..." for each mismatch.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "accel.h"

#define ACCELS		4
#define THREADS		10
#define OBJECTS		24
#define IMPORTS		6
#define SIZE		KIB(8)
#define VA_BASE		MIB(65536)

/* All before PUBLISHED have nothing that could be looked at. */
enum moment { FREE, MAKING, ENDED, PUBLISHED, REVOKING, REVOKED };

/* An object, shared by all threads; its owner is the thread that made it. */
struct object {
	_Atomic enum moment moment;
	_Atomic unsigned int life;
	unsigned int accel;
	/* Disturbances of its accelerator until it was published: a reset ends the export */
	unsigned int disturbances;
	uint64_t identity;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	/* Added for sure, and perhaps, in this life; under lock */
	pthread_mutex_t lock;
	uint64_t sure, perhaps;
};

/* What an operation saw of an object when it began. */
struct view {
	struct object *object;
	unsigned int life;
	enum moment moment;
	uint64_t identity;
	unsigned int accel;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	unsigned int disturbed;
};

/* An import that a thread has, mapped. */
struct import {
	bool used;
	struct view view;
	unsigned int accel;
	int fd;
	uint32_t bo;
	uint64_t va;
};

struct thread {
	pthread_t id;
	unsigned int index;
	uint64_t rnd;
	struct accel accels[ACCELS];
	struct import imports[IMPORTS];
	/* Its object, if it has one */
	struct object *own;
	uint32_t bo;
	uint64_t va;
	uint64_t operations;
};

static struct object objects[OBJECTS];
static struct thread threads[THREADS];
static struct accel *base;
/* Disturbances of accelerators that have begun, and that are going on */
static _Atomic unsigned int disturbances[ACCELS], disturbing[ACCELS];
static _Atomic uint64_t identities = 0x1000;
static _Atomic unsigned int mismatches;
static _Atomic bool stop;
static uint64_t events_read;
static double end_time;

static uint64_t rnd(struct thread *self)
{
	self->rnd ^= self->rnd << 13;
	self->rnd ^= self->rnd >> 7;
	self->rnd ^= self->rnd << 17;
	return self->rnd * 0x2545f4914f6cdd1dull >> 8;
}

static bool one_in(struct thread *self, unsigned int n)
{
	return !(rnd(self) % n);
}

__attribute__((format(printf, 2, 3)))
static void mismatch(struct thread *self, const char *format, ...)
{
	char where[32];
	va_list args;

	snprintf(where, sizeof(where), "thread %u: ", self->index);
	va_start(args, format);
	if (mismatches++ < 20)
		accel_print_failure(where, format, args);
	va_end(args);
}

/* ---------------------------------------------------------------- the model */

static unsigned int disturbance(unsigned int a, unsigned int b)
{
	return disturbances[a] + disturbances[b];
}

/* False if the object is not there, or changes just now. */
static bool look(struct object *object, struct view *view, unsigned int accel)
{
	view->object = object;
	view->life = object->life;
	view->moment = object->moment;
	if (view->moment < PUBLISHED)
		return false;
	view->identity = object->identity;
	view->accel = object->accel;
	memcpy(view->handle, object->handle, sizeof(view->handle));
	view->disturbed = disturbance(view->accel, accel) +
			  !!disturbing[view->accel] + !!disturbing[accel];
	return object->life == view->life;
}

/* Whether both accelerators and their link were well from the view until now. */
static bool connected(const struct view *view, unsigned int accel)
{
	return view->disturbed == disturbance(view->accel, accel) &&
	       !disturbing[view->accel] && !disturbing[accel];
}

/* Whether the object was alive and well from the view until now. */
static bool undisturbed(const struct view *view, unsigned int accel)
{
	return view->object->life == view->life && view->moment == PUBLISHED &&
	       view->object->moment == PUBLISHED && connected(view, accel) &&
	       view->object->disturbances == disturbances[view->accel];
}

/*
 * Whether it had been revoked for sure when an operation began. An object that was
 * freed without that may be read, as what it was, until the kernel has got round to it.
 */
static bool was_revoked(const struct view *begin)
{
	return begin->moment == REVOKED;
}

/* -------------------------------------------------------------------- jobs */

static int run(struct accel *accel, struct drm_vualink_cmd *cmd)
{
	struct drm_syncobj_create create = {};
	struct drm_syncobj_destroy destroy = {};
	struct drm_vualink_sync out = {};
	struct drm_vualink_exec exec = {
		.vm_id = accel->vm,
		.cmds = { .ptr = (uintptr_t)cmd, .count = 1, .stride = sizeof(*cmd) },
		.out_syncs = { .ptr = (uintptr_t)&out, .count = 1, .stride = sizeof(out) },
	};
	struct drm_syncobj_handle to_fd = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1,
	};
	struct drm_syncobj_wait wait = { .count_handles = 1, .timeout_nsec = INT64_MAX };
	struct sync_file_info info = {};
	int ret;

	must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create));
	out.handle = create.handle;
	destroy.handle = create.handle;
	to_fd.handle = create.handle;
	ret = accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_EXEC, &exec);
	if (!ret) {
		wait.handles = (uintptr_t)&create.handle;
		must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait));
		must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &to_fd));
		must(accel_ioctl(to_fd.fd, SYNC_IOC_FILE_INFO, &info));
		close(to_fd.fd);
		ret = info.status < 0 ? -info.status : 0;
	}
	must(accel_ioctl(accel->fd, DRM_IOCTL_SYNCOBJ_DESTROY, &destroy));
	return ret;
}

static int load(struct accel *accel, uint64_t va, uint64_t *value)
{
	struct drm_vualink_cmd cmd = {
		.op = DRM_VUALINK_OP_COPY, .dst = accel->window_va, .src = va, .len = 8,
	};
	int ret = run(accel, &cmd);

	memcpy(value, accel->window, sizeof(*value));
	return ret;
}

static int store(struct accel *accel, uint64_t va, uint64_t value)
{
	struct drm_vualink_cmd cmd = { .op = DRM_VUALINK_OP_STORE, .dst = va, .value = value };

	return run(accel, &cmd);
}

static int add(struct accel *accel, uint64_t va, uint64_t value)
{
	struct drm_vualink_cmd cmd = { .op = DRM_VUALINK_OP_ATOMIC_ADD, .dst = va, .value = value };

	return run(accel, &cmd);
}

static int bind(struct accel *accel, uint32_t op, uint32_t bo, uint64_t va)
{
	struct drm_vualink_vm_bind arg = {
		.vm_id = accel->vm, .op = op, .handle = bo, .va = va, .size = SIZE,
	};

	return accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_VM_BIND, &arg);
}

/* Again for as long as a reset, which is not the object's fault, ends it. */
static int own_store(struct accel *accel, uint64_t va, uint64_t value)
{
	int ret, tries = 50;

	do {
		ret = store(accel, va, value);
	} while (ret && tries-- && !usleep(2000));
	return ret;
}

static int own_load(struct accel *accel, uint64_t va, uint64_t *value)
{
	int ret, tries = 50;

	do {
		ret = load(accel, va, value);
	} while (ret && tries-- && !usleep(2000));
	return ret;
}

/* --------------------------------------------------------------- the owner */

static void publish(struct thread *self)
{
	struct object *object = &objects[rnd(self) % OBJECTS];
	struct drm_vualink_bo_create create = { .size = SIZE };
	enum moment expected = FREE;
	unsigned int a = rnd(self) % ACCELS;
	struct accel *accel = &self->accels[a];
	unsigned int disturbed = disturbance(a, a) + 2 * !!disturbing[a];
	int ret;

	if (!atomic_compare_exchange_strong(&object->moment, &expected, MAKING))
		return;
	ret = accel_ioctl(accel->fd, DRM_IOCTL_VUALINK_BO_CREATE, &create);
	if (ret)
		goto nothing;
	object->accel = a;
	object->identity = identities++;
	object->disturbances = disturbances[a];
	self->va = VA_BASE + self->index * MIB(64) + (rnd(self) % 64) * SIZE;
	ret = bind(accel, DRM_VUALINK_VM_BIND_MAP, create.handle, self->va);
	if (ret || own_store(accel, self->va, object->identity) ||
	    own_store(accel, self->va + 8, 0))
		goto close;
	ret = accel_export(accel, create.handle, object->handle);
	if (ret) {
		if (disturbed == disturbance(a, a) && !disturbing[a] && ret != ENOSPC)
			mismatch(self, "export failed without a reason: %d", ret);
		goto close;
	}
	self->own = object;
	self->bo = create.handle;
	object->moment = PUBLISHED;
	return;

close:
	bind(accel, DRM_VUALINK_VM_BIND_UNMAP, 0, self->va);
	accel_gem_close(accel, create.handle);
nothing:
	object->moment = FREE;
}

static void check_counter(struct thread *self, struct object *object)
{
	unsigned int a = object->accel;
	uint64_t value = 0, sure, perhaps;

	pthread_mutex_lock(&object->lock);
	sure = object->sure;
	perhaps = object->perhaps;
	pthread_mutex_unlock(&object->lock);
	if (own_load(&self->accels[a], self->va + 8, &value))
		return;
	if (value < sure || value > sure + perhaps)
		mismatch(self, "a counter is %" PRIu64 ", not %" PRIu64 "..%" PRIu64,
			 value, sure, sure + perhaps);
}

/* Takes the object back, and uses the memory for something else. */
static void retract(struct thread *self)
{
	struct object *object = self->own;
	struct accel *accel = &self->accels[object->accel];
	unsigned int a = object->accel;
	unsigned int disturbed = disturbance(a, a) + 2 * !!disturbing[a];
	int ret;

	object->moment = REVOKING;
	ret = accel_revoke(accel, self->bo);
	/* A reset has ended the export already: then it is complete as well. */
	if (ret && ret != ENOENT && ret != ENOTCONN && ret != EBUSY &&
	    disturbed == disturbance(a, a) && !disturbing[a])
		mismatch(self, "revoke failed: %d", ret);
	if (!ret) {
		object->moment = REVOKED;
		usleep(rnd(self) % 2000);
		check_counter(self, object);
		own_store(accel, self->va, identities++);
		usleep(rnd(self) % 2000);
	}
	bind(accel, DRM_VUALINK_VM_BIND_UNMAP, 0, self->va);
	accel_gem_close(accel, self->bo);
	/* Who looks must not see the next life with the moment of this one. */
	object->moment = ENDED;
	pthread_mutex_lock(&object->lock);
	object->life++;
	object->sure = 0;
	object->perhaps = 0;
	pthread_mutex_unlock(&object->lock);
	object->moment = FREE;
	self->own = NULL;
}

/* ------------------------------------------------------------ the importers */

/* A file has one handle for an object, however often it is imported. */
static void close_handle(struct thread *self, struct import *import)
{
	import->used = false;
	for (unsigned int i = 0; i < IMPORTS; i++)
		if (self->imports[i].used && self->imports[i].accel == import->accel &&
		    self->imports[i].bo == import->bo)
			return;
	accel_gem_close(&self->accels[import->accel], import->bo);
}

static void close_import(struct thread *self, struct import *import)
{
	bind(&self->accels[import->accel], DRM_VUALINK_VM_BIND_UNMAP, 0, import->va);
	close_handle(self, import);
	close(import->fd);
}

static void import_one(struct thread *self, struct import *import)
{
	struct object *object = &objects[rnd(self) % OBJECTS];
	unsigned int a = rnd(self) % ACCELS;
	struct accel *accel = &self->accels[a];
	struct view view;
	int ret;

	if (!look(object, &view, a))
		return;
	import->accel = a;
	import->view = view;
	ret = accel_import(accel, view.handle, view.identity, &import->fd);
	if (ret) {
		if (undisturbed(&view, a))
			mismatch(self, "import failed without a reason: %d", ret);
		return;
	}
	if (was_revoked(&view) && connected(&view, a))
		mismatch(self, "accelerator %u imported what %u had revoked (life %u, now %u)",
			 a, view.accel, view.life, object->life);
	ret = accel_fd_to_handle(accel, import->fd, &import->bo);
	if (ret) {
		if (undisturbed(&view, a))
			mismatch(self, "no object for an import: %d", ret);
		close(import->fd);
		return;
	}
	import->va = 2 * VA_BASE + self->index * MIB(64) + (import - self->imports) * MIB(1);
	ret = bind(accel, DRM_VUALINK_VM_BIND_MAP, import->bo, import->va);
	if (ret) {
		if (undisturbed(&view, a) && ret != ENOSPC)
			mismatch(self, "an import cannot be mapped: %d", ret);
		close_handle(self, import);
		close(import->fd);
		return;
	}
	import->used = true;
}

/* The object as it was imported, with its present history. */
static bool look_again(struct import *import, struct view *view)
{
	*view = import->view;
	view->moment = view->object->moment;
	view->disturbed = disturbance(view->accel, import->accel) +
			  !!disturbing[view->accel] + !!disturbing[import->accel];
	return view->object->life == view->life;
}

static void read_one(struct thread *self, struct import *import)
{
	struct view view;
	bool same = look_again(import, &view);
	uint64_t value = 0;
	int ret;

	ret = load(&self->accels[import->accel], import->va, &value);
	if (!ret && value != view.identity)
		mismatch(self, "read %" PRIx64 " instead of %" PRIx64, value, view.identity);
	if (!ret && same && was_revoked(&view))
		mismatch(self, "read what had been revoked");
	/* An import may have died by an earlier disturbance. */
	if (ret && same && undisturbed(&view, import->accel) &&
	    import->view.disturbed == view.disturbed)
		mismatch(self, "a read failed without a reason: %d", ret);
}

/* Something was added to the counter of the object, if it is still the same. */
static void account(const struct view *view, uint64_t sure, uint64_t perhaps)
{
	struct object *object = view->object;

	pthread_mutex_lock(&object->lock);
	if (object->life == view->life) {
		object->sure += sure;
		object->perhaps += perhaps;
	}
	pthread_mutex_unlock(&object->lock);
}

static void count_one(struct thread *self, struct import *import)
{
	uint64_t n = 1 + rnd(self) % 100;
	struct view view;
	int ret;

	if (!look_again(import, &view))
		return;
	/* In doubt until it is known; the owner asks after the revoke. */
	account(&view, 0, n);
	ret = add(&self->accels[import->accel], import->va + 8, n);
	if (ret)
		return;
	account(&view, n, -n);
	if (was_revoked(&view))
		mismatch(self, "counted in what had been revoked");
}

static void step(struct thread *self)
{
	struct import *import = &self->imports[rnd(self) % IMPORTS];

	self->operations++;
	if (!self->own && one_in(self, 3)) {
		publish(self);
	} else if (self->own && one_in(self, 12)) {
		retract(self);
	} else if (!import->used) {
		import_one(self, import);
	} else if (one_in(self, 6)) {
		close_import(self, import);
	} else if (one_in(self, 3)) {
		count_one(self, import);
	} else {
		read_one(self, import);
	}
}

static void *life(void *data)
{
	struct thread *self = data;

	while (!stop)
		step(self);
	for (unsigned int i = 0; i < IMPORTS; i++)
		if (self->imports[i].used)
			close_import(self, &self->imports[i]);
	if (self->own)
		retract(self);
	return NULL;
}

/* ---------------------------------------------------------------- the weather */

static void begin(unsigned int a)
{
	disturbing[a]++;
	disturbances[a]++;
}

/* What a disturbance has caused may come to light a little later. */
static void end(unsigned int a)
{
	usleep(300000);
	disturbances[a]++;
	disturbing[a]--;
}

static void reset_one(struct thread *self)
{
	unsigned int a = rnd(self) % ACCELS;

	begin(a);
	accel_debugfs_write(&base[a], "reset", "1");
	end(a);
}

static void cut_one(struct thread *self)
{
	unsigned int a = rnd(self) % ACCELS, b = (a + 1 + rnd(self) % (ACCELS - 1)) % ACCELS;
	char link[32];

	snprintf(link, sizeof(link), "%u %u", base[a].info.id, base[b].info.id);
	begin(a);
	begin(b);
	accel_knob("cut", link);
	usleep(1000 * (rnd(self) % 100));
	accel_knob("restore", link);
	end(b);
	end(a);
}

static void lose_messages(struct thread *self)
{
	static const char * const names[] = { "drop", "duplicate", "reorder", "corrupt" };
	const char *name = names[rnd(self) % 4];
	char rule[32];

	snprintf(rule, sizeof(rule), "every=%u", 2 + (unsigned int)(rnd(self) % 20));
	for (unsigned int a = 0; a < ACCELS; a++)
		begin(a);
	accel_knob(name, rule);
	usleep(1000 * (rnd(self) % 400));
	accel_knob(name, "off");
	for (unsigned int a = 0; a < ACCELS; a++)
		end(a);
}

static void evict_one(struct thread *self)
{
	accel_debugfs_write(&base[rnd(self) % ACCELS], "evict_vram", "1");
}

static void *weather(void *data)
{
	struct thread *self = data;

	while (!stop) {
		switch (rnd(self) % 8) {
		case 0: reset_one(self); break;
		case 1: cut_one(self); break;
		case 2: lose_messages(self); break;
		case 3: evict_one(self); break;
		default: usleep(200000); break;
		}
		self->operations++;
	}
	return NULL;
}

/* ----------------------------------------------------------- one who only looks */

static void read_text(const char *path)
{
	char text[4096];
	FILE *file = fopen(path, "r");

	if (!file)
		die_errno(path, errno);
	while (fread(text, 1, sizeof(text), file))
		;
	fclose(file);
}

/* What anybody may read of an accelerator and of a file, whatever others do there. */
static void look_at_files(struct accel *accel)
{
	static const char * const names[] = {
		"state", "gpuvas", "hw/hw_stats", "hw/hw_gate", "ualink/exports", "ualink/imports",
		"ualink/peers", "ualink/npa", "ualink/counters",
	};
	char path[32];

	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		accel_debugfs_read(accel, names[i]);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", accel->fd);
	read_text(path);
	read_text("/sys/kernel/debug/vualink/default0/state");
}

static void query(struct accel *accel, uint32_t kind)
{
	uint8_t data[32][128];
	struct drm_gem_ualink_query query = {
		.kind = kind, .data_ptr = (uintptr_t)data, .count = 32, .stride = 128,
	};

	must(accel_ioctl(accel->fd, DRM_IOCTL_GEM_UALINK_QUERY, &query));
}

/* Nobody else reads events; without that each file gets one. */
static void read_events(struct accel *accel)
{
	struct pollfd fd = { .fd = accel->fd, .events = POLLIN };
	char events[1024];

	while (poll(&fd, 1, 0) == 1 && read(accel->fd, events, sizeof(events)) > 0)
		events_read++;
}

static void *look_round(void *data)
{
	struct thread *self = data;

	while (!stop) {
		struct accel *accel = &threads[rnd(self) % THREADS].accels[rnd(self) % ACCELS];

		look_at_files(accel);
		for (uint32_t kind = 0; kind <= DRM_UALINK_QUERY_IMPORTS; kind++)
			query(accel, kind);
		read_events(accel);
		must(accel_tunable_write(accel, "cache_ms", 10 + rnd(self) % 20));
		if (one_in(self, 8))
			accel_debugfs_write(accel, "ualink/drop_idle", "1");
		usleep(rnd(self) % 20000);
	}
	return NULL;
}

/* --------------------------------------------------------------------- main */

static void expect_idle(struct thread *self)
{
	struct drm_ualink_device_info info;

	for (unsigned int a = 0; a < ACCELS; a++) {
		for (int tries = 0; tries < 1000 && !accel_idle(&base[a], &info); tries++)
			usleep(10000);
		if (!accel_idle(&base[a], &info))
			mismatch(self, "accelerator %u keeps %" PRIu64 " exports, %" PRIu64
				 " grants, %" PRIu64 " imports, %" PRIu64 " bytes of NPA", a,
				 (uint64_t)info.exports, (uint64_t)info.grants,
				 (uint64_t)info.imports, (uint64_t)info.npa_used);
	}
}

static uint64_t stale(void)
{
	uint64_t n = 0;

	for (unsigned int a = 0; a < ACCELS; a++)
		n += accel_stale(&base[a]);
	return n;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 60;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	struct thread sky = { .index = THREADS, .rnd = seed * 77 + 1 };
	struct thread watcher = { .index = THREADS + 1, .rnd = seed * 79 + 1 };
	uint64_t operations = 0, outdated;
	unsigned int count;

	setlinebuf(stdout);
	printf("  seed %" PRIu64 "\n", seed);
	base = accel_scan(&count);
	if (count < ACCELS)
		die("%u accelerators are needed, there are %u", ACCELS, count);
	for (unsigned int a = 0; a < ACCELS; a++) {
		accel_open(&base[a]);
		must(accel_tunable_write(&base[a], "cache_ms", 20));
		must(accel_tunable_write(&base[a], "request_ms", 10000));
		must(accel_tunable_write(&base[a], "revoke_grace_ms", 50));
		must(accel_tunable_write(&base[a], "revoke_deadline_ms", 5000));
		must(accel_tunable_write(&base[a], "peer_timeout_ms", 20000));
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		threads[i].index = i;
		threads[i].rnd = seed * (2 * i + 3) + 1;
		for (unsigned int a = 0; a < ACCELS; a++) {
			threads[i].accels[a] = base[a];
			accel_open(&threads[i].accels[a]);
		}
	}

	for (unsigned int i = 0; i < OBJECTS; i++)
		pthread_mutex_init(&objects[i].lock, NULL);
	end_time = accel_now() + seconds;
	for (unsigned int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i].id, NULL, life, &threads[i]));
	must(pthread_create(&sky.id, NULL, weather, &sky));
	must(pthread_create(&watcher.id, NULL, look_round, &watcher));
	while (accel_now() < end_time && mismatches < 100)
		usleep(100000);
	stop = true;
	pthread_join(sky.id, NULL);
	pthread_join(watcher.id, NULL);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		operations += threads[i].operations;
	}
	expect_idle(&sky);
	outdated = stale();
	if (outdated)
		mismatch(&sky, "%" PRIu64 " uses of outdated TLB entries", outdated);
	printf("faults: soak_operations %" PRIu64 "\n", operations);
	printf("faults: soak_disturbances %" PRIu64 "\n", sky.operations);
	printf("faults: soak_events %" PRIu64 "\n", events_read);
	printf("faults: stale_uses %" PRIu64 "\n", outdated);
	printf("faults: mismatches %u\n", mismatches);
	return mismatches != 0;
}
