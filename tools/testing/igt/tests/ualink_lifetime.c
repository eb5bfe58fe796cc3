// SPDX-License-Identifier: MIT
/**
 * TEST: UALink memory sharing: lifetime
 * Category: Core
 * Mega feature: General Core features
 * Sub-category: Memory management tests
 * Functionality: ualink
 * Feature: ualink
 * Description: That shared memory lives as long as it is used, and no longer.
 * Test category: functionality test
 *
 * SUBTEST: export-only
 * Description: Memory that was exported and never imported is given back.
 *
 * SUBTEST: orders
 * Description: An import works while any one reference to it is left, in whatever order they go.
 *
 * SUBTEST: exits
 * Description: Everything is given back however exporter and importer end, and whoever ends first.
 *
 * SUBTEST: imports-on-one-file
 * Description: Imports of one handle on one file are references to one object.
 *
 * SUBTEST: imports-on-two-files
 * Description: Each file has its own, and the last one counts.
 *
 * SUBTEST: imports-in-two-processes
 * Description: Each process has its own, and the last one counts.
 *
 * SUBTEST: fork
 * Description: A child goes on with the files that it inherited when its parent has closed them.
 *
 * SUBTEST: pass-dma-buf
 * Description: The dma-buf of an import works in a process that got it over a socket.
 *
 * SUBTEST: reimport
 * Description: After the last reference the same handle can be imported anew, at once.
 *
 * SUBTEST: kept-for-reuse
 * Description: An import that nobody uses is kept for a while, to be used again without a message.
 *
 * SUBTEST: close-while-running
 * Description: A device file is closed while a job uses an import.
 *
 * SUBTEST: importer-killed
 * Description: When an importer is killed, its grants come back and others go on.
 *
 * SUBTEST: namespaces
 * Description: A process in namespaces of its own imports like any other.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "igt.h"
#include "igt_ualink.h"

IGT_TEST_DESCRIPTION("That shared memory lives as long as it is used, and no longer.");

#define SIZE	(64ull << 10)

static void export_only(struct igt_ualink_pod *pod)
{
	struct igt_ualink *dev;
	struct igt_ualink_bo *bo;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];

	/* by a close of the handle, and by a close of the file */
	for (int with_file = 0; with_file < 2; with_file++) {
		dev = igt_ualink_open(&pod->nodes[0]);
		for (int i = 0; i < 32; i++) {
			bo = igt_ualink_bo_create(dev, SIZE, 0);
			igt_ualink_export(bo, handle);
			if (with_file)
				free(bo);
			else
				igt_ualink_bo_destroy(bo);
		}
		igt_ualink_close(dev);
	}
}

enum reference { FD, HANDLE, MAPPING, REFERENCES };

static void drop(struct igt_ualink_bo *bo, int fd, enum reference which)
{
	if (which == FD)
		close(fd);
	else if (which == HANDLE)
		igt_ualink_gem_close(bo->dev->fd, bo->handle);
	else
		igt_assert_eq(bo->dev->backend->unbind(bo->dev, bo->va, bo->size),
			      0);
}

/* Whether the import can be used without the references in @gone. */
static void assert_in_use(struct igt_ualink_bo *bo, int fd, unsigned int gone)
{
	struct igt_ualink_bo *other;

	if (!(gone & 1 << MAPPING)) {
		igt_ualink_check_pattern(bo, 1);
		return;
	}
	igt_ualink_assert_no_access(bo->dev, bo->va);
	if (gone & 1 << HANDLE && gone & 1 << FD)
		return;
	if (!(gone & 1 << HANDLE)) {
		igt_assert_eq(bo->dev->backend->bind(bo->dev, bo->handle, bo->va,
						     0, bo->size, 0), 0);
		igt_ualink_check_pattern(bo, 1);
		drop(bo, fd, MAPPING);
		return;
	}
	other = igt_ualink_bo_from_fd(bo->dev, fd, bo->size, 0);
	igt_ualink_check_pattern(other, 1);
	igt_ualink_bo_destroy(other);
}

static void drop_in_order(const struct igt_ualink_pair *pair,
			  const enum reference *order)
{
	struct igt_ualink *dev = igt_ualink_open(pair->importer->node);
	struct drm_ualink_device_info before, now;
	int fd = igt_ualink_import(dev, pair->handle);
	struct igt_ualink_bo *bo = igt_ualink_bo_from_fd(dev, fd, SIZE, 0);
	unsigned int gone = 0;

	igt_ualink_device_info(dev, &before);
	for (int i = 0; i < REFERENCES; i++) {
		igt_ualink_device_info(dev, &now);
		igt_assert_eq_u64(now.imports, before.imports);
		/* or the handle takes it along */
		if (order[i] == HANDLE && !(gone & 1 << MAPPING) && dev->backend->close_unbinds) {
			drop(bo, fd, MAPPING);
			gone |= 1 << MAPPING;
		}
		if (gone & 1 << order[i])
			continue;
		drop(bo, fd, order[i]);
		gone |= 1 << order[i];
		assert_in_use(bo, fd, gone);
	}
	free(bo);
	igt_ualink_close(dev);
}

static void orders(struct igt_ualink_pod *pod)
{
	static const enum reference permutations[][REFERENCES] = {
		{ FD, HANDLE, MAPPING }, { FD, MAPPING, HANDLE },
		{ HANDLE, FD, MAPPING }, { HANDLE, MAPPING, FD },
		{ MAPPING, FD, HANDLE }, { MAPPING, HANDLE, FD },
	};
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 1);
	/* first beside another import of the handle, then alone */
	for (int i = 0; i < 6; i++)
		drop_in_order(&pair, permutations[i]);
	igt_ualink_pair_free_far(&pair);
	for (int i = 0; i < 6; i++)
		drop_in_order(&pair, permutations[i]);
	igt_ualink_check_pattern(pair.own, 1);
	igt_ualink_pair_fini(&pair);
}

static void importer_child(const struct igt_ualink_node *node,
			   const uint8_t *handle, bool killed, int ready, int go)
{
	struct igt_ualink *dev = igt_ualink_open(node);
	struct igt_ualink_bo *far = igt_ualink_import_bo(dev, handle);
	char c = 0;

	igt_ualink_check_pattern(far, 2);
	igt_assert_eq(write(ready, &c, 1), 1);
	igt_assert_eq(read(go, &c, 1), 1);
	if (killed)
		raise(SIGKILL);
	/* and else exit with everything open */
}

static void exit_order(struct igt_ualink_pod *pod, bool killed,
		       bool exporter_first)
{
	struct igt_ualink_pair pair;
	int ready[2], go[2];
	char c = 0;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 2);
	igt_ualink_pair_free_far(&pair);
	igt_assert_eq(pipe(ready), 0);
	igt_assert_eq(pipe(go), 0);
	igt_fork(child, 1)
		importer_child(&pod->nodes[1], pair.handle, killed, ready[1],
			       go[0]);
	igt_assert_eq(read(ready[0], &c, 1), 1);

	if (exporter_first)
		igt_ualink_pair_free_own(&pair);
	igt_assert_eq(write(go[1], &c, 1), 1);
	igt_assert_eq(!__igt_waitchildren(), !killed);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	igt_ualink_pair_fini(&pair);
}

static void exits(struct igt_ualink_pod *pod)
{
	struct igt_ualink_balance balance;

	for (int i = 0; i < 4; i++) {
		igt_ualink_balance_start(&balance, pod);
		exit_order(pod, i & 1, i & 2);
		igt_ualink_balance_end(&balance, pod);
	}
}

static void imports_on_one_file(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *bo;
	int fd[8];

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 3);
	for (int i = 0; i < 8; i++)
		fd[i] = igt_ualink_import(pair.importer, pair.handle);
	igt_ualink_pair_free_far(&pair);

	for (int i = 0; i < 8; i++) {
		bo = igt_ualink_bo_from_fd(pair.importer, fd[i], SIZE, 0);
		igt_ualink_check_pattern(bo, 3);
		igt_ualink_bo_destroy(bo);
		close(fd[i]);
	}
	igt_ualink_pair_fini(&pair);
}

static void imports_on_two_files(struct igt_ualink_pod *pod)
{
	struct igt_ualink *second = igt_ualink_open(&pod->nodes[1]);
	struct drm_ualink_device_info info;
	struct igt_ualink_pair pair;
	struct igt_ualink_bo *bo;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 4);
	bo = igt_ualink_import_bo(second, pair.handle);
	igt_ualink_pair_free_far(&pair);
	igt_ualink_fill_pattern(bo, 5);
	igt_ualink_check_pattern(pair.own, 5);
	igt_ualink_device_info(pair.exporter, &info);
	igt_assert_lt_u64(0, info.grants);

	igt_ualink_bo_destroy(bo);
	igt_ualink_pair_fini(&pair);
	igt_ualink_close(second);
}

static void imports_in_two_processes(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 6);
	igt_fork(child, 2) {
		struct igt_ualink *dev = igt_ualink_open(&pod->nodes[1]);
		struct igt_ualink_bo *far;

		for (int i = 0; i < 20; i++) {
			far = igt_ualink_import_bo(dev, pair.handle);
			igt_ualink_check_pattern(far, 6);
			igt_ualink_bo_destroy(far);
		}
		igt_ualink_close(dev);
	}
	igt_waitchildren();
	igt_ualink_check_pattern(pair.far, 6);

	/* now with nobody else who keeps the import */
	igt_ualink_pair_free_far(&pair);
	igt_fork(child, 2) {
		struct igt_ualink *dev = igt_ualink_open(&pod->nodes[1]);
		struct igt_ualink_bo *far;

		for (int i = 0; i < 20; i++) {
			far = igt_ualink_import_bo(dev, pair.handle);
			igt_ualink_check_pattern(far, 6);
			igt_ualink_bo_destroy(far);
		}
		igt_ualink_close(dev);
	}
	igt_waitchildren();
	igt_ualink_pair_fini(&pair);
}

static void fork_(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	int go[2];
	char c = 0;

	igt_assert_eq(pipe(go), 0);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 8);
	igt_fork(child, 1) {
		igt_assert_eq(read(go[0], &c, 1), 1);
		/* the parent has closed both device files by now */
		igt_ualink_check_pattern(pair.far, 8);
		igt_ualink_fill_pattern(pair.far, 9);
		igt_ualink_check_pattern(pair.own, 9);
		igt_ualink_revoke(pair.own);
		igt_ualink_assert_no_access(pair.importer, pair.far->va);
		igt_ualink_pair_fini(&pair);
	}

	close(pair.exporter->fd);
	close(pair.importer->fd);
	igt_assert_eq(write(go[1], &c, 1), 1);
	igt_waitchildren();
	close(go[0]);
	close(go[1]);
}

static void send_fd(int sock, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	char c = 0;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	igt_assert_eq(sendmsg(sock, &msg, 0), 1);
}

static int receive_fd(int sock)
{
	char space[CMSG_SPACE(sizeof(int))], c;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space,
		.msg_controllen = sizeof(space),
	};
	int fd;

	igt_assert_eq(recvmsg(sock, &msg, 0), 1);
	igt_assert(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void pass_dma_buf(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;
	int sock[2], fd;
	char c;

	igt_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	igt_fork(child, 1) {
		struct drm_ualink_import_info info;
		struct drm_ualink_event event;
		struct igt_ualink *dev;
		struct igt_ualink_bo *far;
		uint8_t handle[DRM_UALINK_HANDLE_SIZE];

		fd = receive_fd(sock[1]);
		igt_assert_eq(read(sock[1], handle, sizeof(handle)),
			      sizeof(handle));
		dev = igt_ualink_open(&pod->nodes[1]);
		far = igt_ualink_bo_from_fd(dev, fd, SIZE, 0);
		close(fd);
		/* the sender has given up its own reference */
		igt_ualink_check_pattern(far, 10);
		/* who did not import learns of the end by what fails */
		igt_assert(!igt_ualink_import_info(dev, handle, &info));
		igt_assert_eq(write(sock[1], &c, 1), 1);
		igt_assert_eq(read(sock[1], &c, 1), 1);
		igt_ualink_assert_no_access(dev, far->va);
		igt_assert_eq(dev->backend->bind(dev, far->handle, far->va, 0,
						 SIZE, 0), -ENODEV);
		igt_assert_eq(__igt_ualink_read_event(dev->fd, &event, 0),
			      -EAGAIN);
		igt_ualink_bo_destroy(far);
		igt_ualink_close(dev);
	}

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 10);
	fd = igt_ualink_import(pair.importer, pair.handle);
	send_fd(sock[0], fd);
	close(fd);
	igt_ualink_pair_free_far(&pair);
	igt_assert_eq(write(sock[0], pair.handle, sizeof(pair.handle)),
		      sizeof(pair.handle));
	igt_assert_eq(read(sock[0], &c, 1), 1);
	igt_ualink_revoke(pair.own);
	igt_assert_eq(write(sock[0], &c, 1), 1);
	igt_waitchildren();
	igt_ualink_pair_fini(&pair);
	close(sock[0]);
	close(sock[1]);
}

static void reimport(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 11);
	for (int i = 0; i < 50; i++) {
		igt_ualink_pair_free_far(&pair);
		pair.far = igt_ualink_import_bo(pair.importer, pair.handle);
		igt_ualink_check_pattern(pair.far, 11);
	}
	igt_ualink_pair_fini(&pair);
}

static void kept_for_reuse(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before, after;
	struct igt_ualink_pair pair;

	igt_require(igt_ualink_tunable_set(&pod->nodes[1], "cache_ms", 60000));
	igt_ualink_heartbeat_stop(pod);
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 13);
	igt_ualink_device_info(pair.importer, &before);
	for (int i = 0; i < 10; i++) {
		igt_ualink_pair_free_far(&pair);
		pair.far = igt_ualink_import_bo(pair.importer, pair.handle);
		igt_ualink_check_pattern(pair.far, 13);
	}
	igt_ualink_device_info(pair.importer, &after);
	igt_assert_eq_u64(after.msgs_sent, before.msgs_sent);

	/* what is kept can be revoked, too, and does not come back */
	igt_ualink_pair_free_far(&pair);
	igt_ualink_revoke(pair.own);
	igt_assert_eq(igt_ualink_import_errno(pair.importer, pair.handle), -ENOENT);
	igt_ualink_pair_fini(&pair);
	igt_ualink_heartbeat_restore(pod);
	igt_assert(igt_ualink_tunable_set(&pod->nodes[1], "cache_ms", 0));
}

static void close_while_running(struct igt_ualink_pod *pod)
{
	struct igt_ualink_pair pair;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 12);
	igt_ualink_store(pair.exporter, pair.own->va, 0);
	igt_ualink_submit_wait(pair.far, 60000);
	close(pair.importer->fd);

	/* the accelerator is free for others, and so is the memory */
	pair.importer = igt_ualink_open(&pod->nodes[1]);
	pair.far = igt_ualink_import_bo(pair.importer, pair.handle);
	igt_assert_eq_u64(igt_ualink_load(pair.importer, pair.far->va), 0);
	igt_ualink_pair_fini(&pair);
}

static void importer_killed(struct igt_ualink_pod *pod)
{
	struct drm_ualink_device_info before, now;
	struct igt_ualink_pair pair;
	int ready[2], go[2];
	char c = 0;

	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 2);
	igt_ualink_pair_free_far(&pair);
	igt_assert_eq(pipe(ready), 0);
	igt_assert_eq(pipe(go), 0);
	igt_fork(child, 1)
		importer_child(&pod->nodes[1], pair.handle, true, ready[1], go[0]);
	igt_assert_eq(read(ready[0], &c, 1), 1);
	igt_ualink_device_info(pair.exporter, &before);
	igt_assert_lt_u64(0, before.grants);
	igt_assert_eq(write(go[1], &c, 1), 1);
	igt_assert_neq(__igt_waitchildren(), 0);

	for (int i = 0; i < 5000; i++) {
		igt_ualink_device_info(pair.exporter, &now);
		if (now.grants < before.grants)
			break;
		usleep(1000);
	}
	igt_assert_eq_u64(now.grants, before.grants - 1);
	igt_assert_eq_u64(now.exports, before.exports);
	pair.far = igt_ualink_import_bo(pair.importer, pair.handle);
	igt_ualink_check_pattern(pair.far, 2);

	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go[i]);
	}
	igt_ualink_pair_fini(&pair);
}

static void import_and_write(const struct igt_ualink_node *node,
			     const uint8_t *handle)
{
	struct igt_ualink *dev = igt_ualink_open(node);
	struct igt_ualink_bo *far = igt_ualink_import_bo(dev, handle);

	igt_ualink_check_pattern(far, 14);
	igt_ualink_fill_pattern(far, 15);
	igt_ualink_bo_destroy(far);
	igt_ualink_close(dev);
}

static void namespaces(struct igt_ualink_pod *pod)
{
	static const int others[] = {
		CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWNS,
	};
	struct igt_ualink_pair pair;

	igt_require(!access("/proc/self/ns/pid", F_OK));
	igt_ualink_pair_init(&pair, &pod->nodes[0], &pod->nodes[1], SIZE, 14);
	igt_fork(child, 1) {
		int status;

		igt_assert_eq(unshare(CLONE_NEWPID), 0);
		for (int i = 0; i < 4; i++)
			igt_assert(!unshare(others[i]) || errno == EINVAL);
		/* the child of this one is the first in its pid namespace */
		if (!fork()) {
			igt_assert_eq(getpid(), 1);
			import_and_write(&pod->nodes[1], pair.handle);
			exit(0);
		}
		igt_assert(wait(&status) > 0);
		igt_assert_eq(status, 0);
	}
	igt_waitchildren();
	igt_ualink_check_pattern(pair.own, 15);
	igt_ualink_pair_fini(&pair);
}

static const struct igt_ualink_test tests[] = {
	{ "export-only",
	  "Memory that was exported and never imported is given back.",
	  export_only },
	{ "orders",
	  "An import works while any one reference to it is left, in whatever order they go.",
	  orders },
	{ "exits",
	  "Everything is given back however exporter and importer end, and whoever ends first.",
	  exits },
	{ "imports-on-one-file",
	  "Imports of one handle on one file are references to one object.",
	  imports_on_one_file },
	{ "imports-on-two-files",
	  "Each file has its own, and the last one counts.",
	  imports_on_two_files },
	{ "imports-in-two-processes",
	  "Each process has its own, and the last one counts.",
	  imports_in_two_processes },
	{ "fork",
	  "A child goes on with the files that it inherited when its parent has closed them.",
	  fork_ },
	{ "pass-dma-buf",
	  "The dma-buf of an import works in a process that got it over a socket.",
	  pass_dma_buf },
	{ "reimport",
	  "After the last reference the same handle can be imported anew, at once.",
	  reimport },
	{ "kept-for-reuse",
	  "An import that nobody uses is kept for a while, to be used again without a message.",
	  kept_for_reuse },
	{ "close-while-running",
	  "A device file is closed while a job uses an import.",
	  close_while_running },
	{ "importer-killed",
	  "When an importer is killed, its grants come back and others go on.",
	  importer_killed },
	{ "namespaces",
	  "A process in namespaces of its own imports like any other.",
	  namespaces },
};

int igt_main()
{
	igt_ualink_tests_run(tests, ARRAY_SIZE(tests));
}
