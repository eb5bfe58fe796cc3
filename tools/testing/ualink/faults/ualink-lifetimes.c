// SPDX-License-Identifier: MIT
/*
 * ualink-lifetimes [EVERY]: everything that can be the last of shared memory, in all
 * combinations (or every EVERYth of them): how the owner lets go of it, how the importer
 * does, who is first, and what there is of the import meanwhile, in other processes and
 * on other accelerators too. Then the same with an accelerator that is taken away.
 *
 * In each: who has the memory sees its content, until the owner's end; who survives
 * that is told, once, why; and each end gives back at once what it held, also while the
 * process that caused it lives on. After each nothing is left: exports, grants, imports,
 * NPA, pinned memory, address spaces. In the end no dma-buf and no object in the slabs
 * is left either.
 *
 * Needs four accelerators of a pod, nobody else using them. Prints "faults: KEY VALUE"
 * and "fail: ..." for what is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pod.h"

#define SIZE		KIB(64)
#define ACCELS		4
#define POD		"lifetimes"
#define SLABS		"/sys/kernel/slab"

/* What there is of the import while it is used; from FORKED on, another process has it. */
enum hold { UNMAPPED, MAPPED, RUNNING, ONLY_FD, ONLY_HANDLE, FORKED, PASSED, SIBLING, HOLDS };
/* How one lets go. The owner has a GEM handle, and a dma-buf of PRIME, as well. */
enum end {
	HANDLE_LAST, FD_LAST, DEVICE_FIRST, DEVICE_LAST, EXIT, KILL, KILL_WAITING, IMPORTER_ENDS,
	REVOKE = IMPORTER_ENDS, OWNER_ENDS,
};
enum order { OWNER_FIRST, IMPORTER_FIRST, TOGETHER, ORDERS };

static const char * const hold_names[] = {
	"unmapped", "mapped", "running", "only fd", "only handle", "forked", "passed", "sibling",
};
static const char * const end_names[] = {
	"handle last", "fd last", "device first", "device last", "exit", "kill",
	"kill while waiting", "revoke",
};
static const char * const order_names[] = { "owner first", "importer first", "together" };

static struct scene {
	enum hold hold;
	enum end owner, importer;
	enum order order;
	/* The accelerator that is taken away is the owner's, the importer's, or none */
	int unplugged;
} scene;

enum { OWNER_ACCEL, IMPORTER_ACCEL, SIBLING_ACCEL, MUTE_ACCEL };

/* The accelerators, as the director of the scenes has them open. */
static struct accel *base;
/* Bytes of their VRAM that were in use before */
static uint64_t vram_used[ACCELS];

/* What all processes see. */
static struct shared {
	atomic_uint failures;
	atomic_uint_fast64_t stamp;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	/* Of an accelerator that may be mute; nobody knows it */
	uint8_t unknown[DRM_UALINK_HANDLE_SIZE];
	struct drm_ualink_device_info info;
} *shared;

/* What a process has of the memory. */
struct ref {
	struct accel accel;
	uint32_t bo;
	int fd;
	uint64_t va;
	uint32_t job;
	/* The file gets a record when the import dies */
	bool record;
};

/* A process that the director tells what to do, one letter at a time. */
struct role {
	pid_t pid;
	int sock;
};

static struct role owner, importer, holder;
/* From the importer to the holder; and the holder's end of its own socket */
static int pass[2] = { -1, -1 }, holder_sock = -1;

__attribute__((format(printf, 1, 2)))
static void complain(const char *format, ...)
{
	char where[200];
	va_list args;

	if (atomic_fetch_add(&shared->failures, 1) >= 50)
		return;
	snprintf(where, sizeof(where), "import %s; owner: %s, importer: %s, %s; unplugged %d: ",
		 hold_names[scene.hold], end_names[scene.owner], end_names[scene.importer],
		 order_names[scene.order], scene.unplugged);
	va_start(args, format);
	accel_print_failure(where, format, args);
	va_end(args);
}

/* ------------------------------------------------------------ using the memory */

static int load_at(struct ref *ref, uint64_t va, uint64_t *value)
{
	*value = 0;
	return accel_load(&ref->accel, va, value, sizeof(*value));
}

static void unmap(struct ref *ref)
{
	if (ref->va)
		accel_unbind(&ref->accel, ref->va, SIZE);
	ref->va = 0;
}

static void close_handle(struct ref *ref)
{
	if (ref->bo)
		accel_gem_close(&ref->accel, ref->bo);
	ref->bo = 0;
}

static void close_fd(struct ref *ref)
{
	if (ref->fd >= 0)
		close(ref->fd);
	ref->fd = -1;
}

static void close_device(struct ref *ref)
{
	accel_close(&ref->accel);
	ref->bo = 0;
	ref->va = 0;
	ref->job = 0;
}

/* A handle to the memory, made from the fd if there is none; 0 or an errno. */
static int borrow_handle(struct ref *ref, uint32_t *bo)
{
	*bo = ref->bo;
	return *bo ? 0 : accel_fd_to_handle(&ref->accel, ref->fd, bo);
}

static void return_handle(struct ref *ref, uint32_t bo)
{
	if (!ref->bo)
		accel_gem_close(&ref->accel, bo);
}

/* That the memory can be used, by whatever there is of it, and is what it should be. */
static void expect_content(struct ref *ref)
{
	uint64_t value, va, want = shared->stamp;
	uint32_t bo;
	int ret;

	ret = borrow_handle(ref, &bo);
	if (ret) {
		complain("no handle: %s", strerror(ret));
		return;
	}
	ret = accel_try_bind(&ref->accel, bo, SIZE, &va);
	if (!ret) {
		ret = load_at(ref, va, &value);
		accel_unbind(&ref->accel, va, SIZE);
	}
	if (ret || value != want)
		complain("read %" PRIx64 ", not %" PRIx64 ": %s", value, want, strerror(ret));
	return_handle(ref, bo);
	if (ref->va && (load_at(ref, ref->va, &value) || value != want))
		complain("the mapping reads %" PRIx64 ", not %" PRIx64, value, want);
}

/* Whether the import can still be mapped. */
static int try_map(struct ref *ref)
{
	uint64_t va;
	uint32_t bo;
	int ret = borrow_handle(ref, &bo);

	if (ret)
		return ret;
	ret = accel_try_bind(&ref->accel, bo, SIZE, &va);
	if (!ret)
		accel_unbind(&ref->accel, va, SIZE);
	return_handle(ref, bo);
	return ret;
}

/* Why the import died, as the file's record says. */
static uint32_t death_of(struct ref *ref)
{
	struct drm_ualink_import_info infos[8] = {};
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_IMPORTS,
		.data_ptr = (uintptr_t)infos,
		.count = 8,
		.stride = sizeof(infos[0]),
	};

	if (accel_ioctl(ref->accel.fd, DRM_IOCTL_GEM_UALINK_QUERY, &query))
		return DRM_UALINK_ALIVE;
	for (unsigned int i = 0; i < query.count && i < 8; i++)
		if (infos[i].user_data == shared->stamp)
			return infos[i].death;
	return DRM_UALINK_ALIVE;
}

/* The event that tells of one death; more than one is a fault. */
static void expect_event(struct ref *ref)
{
	struct pollfd poll_fd = { .fd = ref->accel.fd, .events = POLLIN };
	struct drm_ualink_event event;
	char room[256];

	if (poll(&poll_fd, 1, PATIENCE_MS) != 1 ||
	    read(ref->accel.fd, room, sizeof(room)) != sizeof(event)) {
		complain("there is no event");
		return;
	}
	memcpy(&event, room, sizeof(event));
	if (event.base.type != DRM_EVENT_UALINK_IMPORTS_DIED || event.deaths != 1)
		complain("an event tells of %" PRIu64 " deaths", (uint64_t)event.deaths);
	if (poll(&poll_fd, 1, 0))
		complain("there is a second event");
}

/*
 * Who is told of the death cannot read any more. Who is not may have seen no more than
 * that the memory is not to be mapped again, which comes before the TLBs are flushed.
 */
static bool unreadable(struct ref *ref, bool told)
{
	uint64_t value;

	return told ? load_at(ref, ref->va, &value) == EFAULT :
		      in_time(load_at(ref, ref->va, &value) == EFAULT);
}

/* That the memory is gone, for whatever there is of it, and @ref's file was told. */
static void expect_dead(struct ref *ref, bool event)
{
	uint32_t want = scene.unplugged == OWNER_ACCEL ? DRM_UALINK_DEATH_PEER_LEFT :
							 DRM_UALINK_DEATH_REVOKED;

	if (event)
		expect_event(ref);
	if (ref->record && !in_time(death_of(ref)))
		complain("no record of the death");
	if (ref->record && death_of(ref) != want)
		complain("it died of %u, not %u", death_of(ref), want);
	if (!in_time(try_map(ref)))
		complain("it can still be mapped");
	if (try_map(ref) != ENODEV)
		complain("mapping fails with %s", strerror(try_map(ref)));
	if (ref->job && accel_wait(&ref->accel, ref->job) == 0)
		complain("a job that waits in it has succeeded");
	ref->job = 0;
	if (ref->va && !unreadable(ref, event || ref->record))
		complain("it can still be read");
}

static int query_device(struct ref *ref)
{
	struct drm_ualink_device_info info;
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_DEVICE,
		.data_ptr = (uintptr_t)&info,
		.count = 1,
		.stride = sizeof(info),
	};

	return accel_ioctl(ref->accel.fd, DRM_IOCTL_GEM_UALINK_QUERY, &query);
}

/* That the accelerator itself is gone. */
static void expect_unplugged(struct ref *ref)
{
	uint64_t value;

	if (query_device(ref) != ENODEV)
		complain("the device answers");
	if (ref->va && load_at(ref, ref->va, &value) != ENODEV)
		complain("the device does jobs");
}

/* ------------------------------------------------------------------------ ends */

static void let_go(struct ref *ref, enum end end)
{
	switch (end) {
	case HANDLE_LAST:
		unmap(ref);
		close_fd(ref);
		close_handle(ref);
		break;
	case FD_LAST:
		close_handle(ref);
		unmap(ref);
		close_fd(ref);
		break;
	case DEVICE_FIRST:
		close_device(ref);
		close_fd(ref);
		break;
	case DEVICE_LAST:
		close_fd(ref);
		close_device(ref);
		break;
	case REVOKE:
		must(accel_revoke(&ref->accel, ref->bo));
		break;
	default:
		_exit(0);
	}
}

static void say(int sock, char c)
{
	if (write(sock, &c, 1) != 1)
		_exit(1);
}

static void wait_in_ioctl(struct ref *ref)
{
	int fd;

	accel_import(&ref->accel, shared->unknown, 0, &fd);
	pause();
}

/* Does what it is told: end, see content, death (with an event) or unplug, wait, leave. */
static void obey(struct ref *ref, int sock, enum end end) __attribute__((noreturn));
static void obey(struct ref *ref, int sock, enum end end)
{
	char c;

	say(sock, 'r');
	while (read(sock, &c, 1) == 1 && c != 'x') {
		switch (c) {
		case 'e':
			let_go(ref, end);
			break;
		case 'l':
			expect_content(ref);
			break;
		case 'd':
		case 'D':
			expect_dead(ref, c == 'D');
			break;
		case 'u':
			expect_unplugged(ref);
			break;
		case 'w':
			say(sock, c);
			wait_in_ioctl(ref);
			break;
		}
		say(sock, c);
	}
	_exit(0);
}

/* ----------------------------------------------------------------------- roles */

static void open_ref(struct ref *ref, unsigned int which)
{
	memset(ref, 0, sizeof(*ref));
	ref->fd = -1;
	ref->accel = base[which];
	accel_open(&ref->accel);
}

static void play_owner(int sock)
{
	uint64_t stamp = shared->stamp, va;
	struct ref ref;

	open_ref(&ref, OWNER_ACCEL);
	ref.bo = accel_bo(&ref.accel, SIZE, 0);
	va = accel_bind(&ref.accel, ref.bo, SIZE);
	must(accel_store(&ref.accel, va, &stamp, sizeof(stamp)));
	accel_unbind(&ref.accel, va, SIZE);
	must(accel_export(&ref.accel, ref.bo, shared->handle));
	must(accel_handle_to_fd(&ref.accel, ref.bo, &ref.fd));
	obey(&ref, sock, scene.owner);
}

/* A job that uses the import until somebody ends it. */
static void run_job(struct ref *ref)
{
	struct drm_vualink_cmd cmd = {
		.op = DRM_VUALINK_OP_WAIT,
		.timeout_ms = 60000,
		.dst = ref->va + 64,
		.value = UINT64_MAX,
	};

	must(accel_submit(&ref->accel, &cmd, 1, &ref->job));
}

static void send_fd(int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {
		.header = {
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		},
	};
	struct iovec iov = { .iov_base = "f", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(pass[0], &msg, 0) != 1)
		die_errno("sendmsg", errno);
}

static int receive_fd(void)
{
	char space[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))), c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = space, .msg_controllen = sizeof(space),
	};
	int fd;

	if (recvmsg(pass[1], &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		die_errno("recvmsg", errno);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* The holder is a child of the importer that has all that it has. */
static void fork_holder(struct ref *ref, int sock)
{
	pid_t pid = fork();

	if (pid < 0)
		die_errno("fork", errno);
	if (pid) {
		close(holder_sock);
		return;
	}
	close(sock);
	/* What the importer takes from the file that both have, before the holder looks */
	if (scene.importer <= FD_LAST && scene.order != OWNER_FIRST) {
		ref->bo = 0;
		ref->va = 0;
	}
	obey(ref, holder_sock, EXIT);
}

static void play_importer(int sock)
{
	struct ref ref;

	open_ref(&ref, IMPORTER_ACCEL);
	ref.record = true;
	must(accel_import(&ref.accel, shared->handle, shared->stamp, &ref.fd));
	expect_content(&ref);
	if (scene.hold != ONLY_FD)
		must(accel_fd_to_handle(&ref.accel, ref.fd, &ref.bo));
	if (scene.hold == ONLY_HANDLE)
		close_fd(&ref);
	if (scene.hold == MAPPED || scene.hold == RUNNING || scene.hold == FORKED) {
		ref.va = accel_bind(&ref.accel, ref.bo, SIZE);
		expect_content(&ref);
	}
	if (scene.hold == RUNNING)
		run_job(&ref);
	if (scene.hold == FORKED)
		fork_holder(&ref, sock);
	if (scene.hold == PASSED || scene.hold == SIBLING)
		send_fd(ref.fd);
	obey(&ref, sock, scene.importer);
}

/* Another process, on the same accelerator or on a sibling, that was given the dma-buf. */
static void play_holder(int sock)
{
	struct ref ref;
	int own;

	open_ref(&ref, scene.hold == SIBLING ? SIBLING_ACCEL : IMPORTER_ACCEL);
	ref.fd = receive_fd();
	if (scene.hold == SIBLING) {
		ref.record = true;
		must(accel_import(&ref.accel, shared->handle, shared->stamp, &own));
		must(accel_fd_to_handle(&ref.accel, ref.fd, &ref.bo));
		close(own);
		close_fd(&ref);
	} else {
		must(accel_fd_to_handle(&ref.accel, ref.fd, &ref.bo));
	}
	ref.va = accel_bind(&ref.accel, ref.bo, SIZE);
	expect_content(&ref);
	obey(&ref, sock, EXIT);
}

/* -------------------------------------------------------------------- director */

static void close_all(void)
{
	int fds[] = { owner.sock, importer.sock, holder.sock };

	for (unsigned int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void make_pair(int *pair)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die_errno("socketpair", errno);
}

static struct role start(void (*play)(int sock))
{
	struct role role;
	int pair[2];

	make_pair(pair);
	role.pid = fork();
	if (role.pid < 0)
		die_errno("fork", errno);
	if (!role.pid) {
		close_all();
		close(pair[0]);
		play(pair[1]);
	}
	close(pair[1]);
	role.sock = pair[0];
	return role;
}

/* What a process answers; it may take a while, but not for ever. */
static void expect_answer(struct role *role, char want)
{
	struct pollfd poll_fd = { .fd = role->sock, .events = POLLIN };
	char c = 0;

	if (poll(&poll_fd, 1, 3 * PATIENCE_MS) != 1 || read(role->sock, &c, 1) != 1 || c != want)
		complain("a process does not answer %c", want);
}

static void tell(struct role *role, char c)
{
	say(role->sock, c);
}

static void ask(struct role *role, char c)
{
	tell(role, c);
	expect_answer(role, c);
}

static void reap(struct role *role)
{
	int status;

	if (role->pid > 0)
		waitpid(role->pid, &status, 0);
	role->pid = 0;
}

static bool dies(enum end end)
{
	return end == EXIT || end == KILL || end == KILL_WAITING;
}

static void mute(bool on)
{
	accel_mute(DEFAULT_POD, &base[MUTE_ACCEL], on);
}

/* Begins an end; only a wait for somebody who is mute is there already. */
static void begin_end(struct role *role, enum end end)
{
	if (end == KILL || end == KILL_WAITING)
		kill(role->pid, SIGKILL);
	else
		tell(role, 'e');
}

static void finish_end(struct role *role, enum end end)
{
	if (dies(end))
		reap(role);
	else
		expect_answer(role, 'e');
}

static uint64_t import_records(void)
{
	uint64_t sum = 0;

	/* One may be unplugged. */
	for (unsigned int i = 0; i <= MUTE_ACCEL; i++)
		if (!access(base[i].path, F_OK))
			sum += accel_counter(&base[i], "ualink/counters", "nr_import_records");
	return sum;
}

/* Lets a process wait in IMPORT, if that is where it is to be killed. */
static void prepare_end(struct role *role, enum end end)
{
	uint64_t records;

	if (end != KILL_WAITING)
		return;
	records = import_records();
	mute(true);
	ask(role, 'w');
	if (!in_time(import_records() > records))
		complain("nobody waits in IMPORT");
}

static void end_one(struct role *role, enum end end)
{
	prepare_end(role, end);
	begin_end(role, end);
	finish_end(role, end);
	if (end == KILL_WAITING)
		mute(false);
}

static const struct drm_ualink_device_info *info_of(unsigned int which)
{
	accel_info(&base[which], &shared->info);
	return &shared->info;
}

/*
 * Grants of the owner when the importer has ended, and only the holder has the memory;
 * a sibling holds the dma-buf, too, that it was made from.
 */
static unsigned int grants_left(void)
{
	return scene.hold == SIBLING ? 2 : scene.hold >= FORKED;
}

static bool owner_idle(void)
{
	return accel_idle(&base[OWNER_ACCEL], &shared->info);
}

static void owner_ends_first(void)
{
	end_one(&owner, scene.owner);
	if (!in_time(owner_idle()))
		complain("the owner's accelerator keeps something");
	ask(&importer, 'D');
	if (holder.sock >= 0)
		ask(&holder, 'd');
	end_one(&importer, scene.importer);
}

static void importer_ends_first(void)
{
	end_one(&importer, scene.importer);
	if (!in_time(info_of(OWNER_ACCEL)->grants == grants_left()))
		complain("%u grants are left, not %u", (unsigned int)shared->info.grants,
			 grants_left());
	if (scene.hold < FORKED && !in_time(!info_of(IMPORTER_ACCEL)->imports))
		complain("the importer's accelerator keeps the import");
	if (info_of(OWNER_ACCEL)->exports != 1)
		complain("the export has ended with the import");
	ask(&owner, 'l');
	if (holder.sock >= 0)
		ask(&holder, 'l');
	end_one(&owner, scene.owner);
	if (holder.sock >= 0)
		ask(&holder, 'd');
}

static void end_together(void)
{
	prepare_end(&owner, scene.owner);
	prepare_end(&importer, scene.importer);
	begin_end(&owner, scene.owner);
	begin_end(&importer, scene.importer);
	finish_end(&owner, scene.owner);
	finish_end(&importer, scene.importer);
	if (scene.owner == KILL_WAITING || scene.importer == KILL_WAITING)
		mute(false);
	if (holder.sock >= 0)
		ask(&holder, 'd');
}

static void leave(struct role *role)
{
	char c = 'x';

	if (role->sock < 0)
		return;
	/* It may be gone already. */
	if (send(role->sock, &c, 1, MSG_NOSIGNAL) == 1)
		reap(role);
	close(role->sock);
	role->sock = -1;
}

static bool left_nothing(unsigned int which)
{
	struct accel *accel = &base[which];

	return accel_idle(accel, &shared->info) &&
	       !accel_counter(accel, "ualink/counters", "nr_exports") &&
	       !accel_counter(accel, "ualink/counters", "nr_import_records") &&
	       !accel_counter(accel, "ualink/counters", "nr_quarantined") &&
	       accel_counter(accel, "state", "vms") == 1;
}

static void expect_nothing_left(void)
{
	for (unsigned int i = 0; i < ACCELS; i++) {
		if (!in_time(left_nothing(i)))
			complain("accelerator %u keeps something: %u exports, %u grants, "
				 "%u imports, %u bytes of NPA", i,
				 (unsigned int)shared->info.exports,
				 (unsigned int)shared->info.grants,
				 (unsigned int)shared->info.imports,
				 (unsigned int)shared->info.npa_used);
		if (accel_stale(&base[i]))
			complain("outdated TLB entries of accelerator %u were used", i);
	}
}

static void begin_scene(void)
{
	int pair[2];

	shared->stamp++;
	owner.sock = importer.sock = holder.sock = -1;
	owner = start(play_owner);
	expect_answer(&owner, 'r');
	if (scene.hold == PASSED || scene.hold == SIBLING) {
		make_pair(pass);
		holder = start(play_holder);
	} else if (scene.hold == FORKED) {
		make_pair(pair);
		holder = (struct role) { .sock = pair[0] };
		holder_sock = pair[1];
	}
	importer = start(play_importer);
	expect_answer(&importer, 'r');
	if (scene.hold == FORKED) {
		close(holder_sock);
	} else if (scene.hold >= PASSED) {
		close(pass[0]);
		close(pass[1]);
	}
	if (holder.sock >= 0)
		expect_answer(&holder, 'r');
	if (info_of(OWNER_ACCEL)->grants != 1 + (scene.hold == SIBLING))
		complain("there are %u grants", (unsigned int)shared->info.grants);
}

static bool all_idle(void)
{
	for (unsigned int i = 0; i < ACCELS; i++)
		if (!accel_idle(&base[i], &shared->info))
			return false;
	return true;
}

static void leave_all(void)
{
	leave(&holder);
	leave(&importer);
	leave(&owner);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void end_scene(void)
{
	/* What they let go of is gone while those who did it are still there. */
	if (holder.sock < 0 && !in_time(all_idle()))
		complain("something is left before its processes are gone");
	leave_all();
	expect_nothing_left();
}

static void play_scene(void)
{
	begin_scene();
	if (scene.order == OWNER_FIRST)
		owner_ends_first();
	else if (scene.order == IMPORTER_FIRST)
		importer_ends_first();
	else
		end_together();
	end_scene();
}

static void next_scene(void)
{
	if (++scene.order < ORDERS)
		return;
	scene.order = 0;
	if (++scene.importer < IMPORTER_ENDS)
		return;
	scene.importer = 0;
	if (++scene.owner < OWNER_ENDS)
		return;
	scene.owner = 0;
	scene.hold++;
}

static unsigned int play_all(unsigned int every)
{
	unsigned int played = 0;

	memset(&scene, 0, sizeof(scene));
	scene.unplugged = -1;
	for (unsigned int n = 0; scene.hold < HOLDS; n++, next_scene()) {
		if (n % every)
			continue;
		play_scene();
		played++;
	}
	return played;
}

/* ---------------------------------------------------------------------- unplug */

static void open_base(unsigned int which)
{
	static const char * const tunables[] = { "cache_ms", "revoke_grace_ms" };
	static const unsigned int values[] = { 0, 20 };

	accel_open(&base[which]);
	for (unsigned int i = 0; i < 2; i++)
		must(accel_tunable_write(&base[which], tunables[i], values[i]));
}

static void unplug(void)
{
	accel_close(&base[scene.unplugged]);
	pod_plug(POD, base[scene.unplugged].info.id, false);
}

/* What comes back is another device. */
static void plug(void)
{
	struct accel *now;
	unsigned int count;

	pod_plug(POD, base[scene.unplugged].info.id, true);
	now = pod_scan(POD, &count);
	if (count != ACCELS)
		die("%u accelerators of the pod are there", count);
	base[scene.unplugged] = now[scene.unplugged];
	open_base(scene.unplugged);
}

static void expect_owner_gone(void)
{
	ask(&importer, 'D');
	if (holder.sock >= 0)
		ask(&holder, 'd');
	ask(&owner, 'u');
}

/* A sibling keeps what it has: it has a grant of its own. */
static void expect_importer_gone(void)
{
	unsigned int left = scene.hold == SIBLING;

	ask(&importer, 'u');
	if (!in_time(info_of(OWNER_ACCEL)->grants == left))
		complain("%u grants are left, not %u", (unsigned int)shared->info.grants, left);
	if (info_of(OWNER_ACCEL)->exports != 1)
		complain("the export has ended with the importer's accelerator");
	ask(&owner, 'l');
	if (holder.sock >= 0)
		ask(&holder, left ? 'l' : 'u');
}

static void play_unplugged(void)
{
	begin_scene();
	unplug();
	if (scene.unplugged == OWNER_ACCEL)
		expect_owner_gone();
	else
		expect_importer_gone();
	end_one(scene.order == OWNER_FIRST ? &owner : &importer, scene.owner);
	end_one(scene.order == OWNER_FIRST ? &importer : &owner, scene.owner);
	leave_all();
	plug();
	expect_nothing_left();
}

static unsigned int play_all_unplugged(unsigned int every)
{
	static const enum end ends[] = { DEVICE_FIRST, DEVICE_LAST, EXIT, KILL };
	unsigned int played = 0;

	for (unsigned int n = 0; n < HOLDS * 4 * 2 * 2; n++) {
		if (n % every)
			continue;
		scene.hold = n / 16;
		scene.owner = ends[n / 4 % 4];
		scene.importer = scene.owner;
		scene.order = n / 2 % 2;
		scene.unplugged = n % 2 ? IMPORTER_ACCEL : OWNER_ACCEL;
		play_unplugged();
		played++;
	}
	return played;
}

/* ------------------------------------------------------------------------ main */

/* Objects of a cache, without those that are only waiting for reuse; -1: no such cache */
static long slab_objects(const char *name)
{
	char path[128];
	long objects = -1;
	FILE *file;

	snprintf(path, sizeof(path), SLABS "/%s/shrink", name);
	file = fopen(path, "w");
	if (!file || fputs("1", file) < 0 || fclose(file))
		return -1;
	snprintf(path, sizeof(path), SLABS "/%s/objects", name);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%ld", &objects) != 1)
		die_errno(path, errno);
	fclose(file);
	return objects;
}

static long dma_bufs(void)
{
	FILE *file = fopen("/sys/kernel/debug/dma_buf/bufinfo", "r");
	long count = -1, n;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Total %ld objects", &n) == 1)
			count = n;
	if (file)
		fclose(file);
	return count;
}

static void expect_no_objects(void)
{
	static const char * const slabs[] = { "ualink_grant", "ualink_export" };

	for (unsigned int i = 0; i < 2; i++) {
		if (!in_time(slab_objects(slabs[i]) <= 0))
			complain("%ld objects are left in the slab %s", slab_objects(slabs[i]),
				 slabs[i]);
		printf("  %s: %ld objects\n", slabs[i], slab_objects(slabs[i]));
	}
	if (!in_time(dma_bufs() <= 0))
		complain("%ld dma-bufs are left", dma_bufs());
	printf("  dma-bufs: %ld\n", dma_bufs());
}

/* A handle that can be asked for, and is not answered while its accelerator is mute. */
static void learn_unknown(void)
{
	uint32_t bo = accel_bo(&base[MUTE_ACCEL], SIZE, 0);

	must(accel_export(&base[MUTE_ACCEL], bo, shared->unknown));
	accel_gem_close(&base[MUTE_ACCEL], bo);
}

static void open_all(struct accel *accels, unsigned int count)
{
	base = accels;
	if (count < ACCELS)
		die("%u accelerators are needed, there are %u", ACCELS, count);
	for (unsigned int i = 0; i < ACCELS; i++) {
		vram_used[i] = accel_counter(&base[i], "state", "vram_used");
		open_base(i);
	}
	learn_unknown();
}

/* Of VRAM there is in use what there was before, page tables included. */
static void close_all_base(void)
{
	for (unsigned int i = 0; i < ACCELS; i++) {
		accel_close(&base[i]);
		if (!in_time(accel_counter(&base[i], "state", "vram_used") == vram_used[i]))
			complain("accelerator %u keeps VRAM", i);
	}
}

static void make_pod(void)
{
	pod_make(POD, 0);
	for (unsigned int i = 0; i < ACCELS; i++)
		pod_add(POD, i, MIB(8));
	pod_enable(POD, true);
}

int main(int argc, char **argv)
{
	unsigned int every = argc > 1 ? atoi(argv[1]) : 1, played, count;
	struct accel *accels;

	setlinebuf(stdout);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) || !every)
		die("no shared memory");
	shared->stamp = 0x11fe000000;

	accels = accel_scan(&count);
	open_all(accels, count);
	played = play_all(every);
	close_all_base();

	make_pod();
	accels = pod_scan(POD, &count);
	open_all(accels, count);
	played += play_all_unplugged(every);
	close_all_base();
	pod_remove(POD);

	expect_no_objects();
	printf("faults: lifetimes %u\n", played);
	printf("faults: lifetimes_failed %u\n", (unsigned int)shared->failures);
	return shared->failures != 0;
}
