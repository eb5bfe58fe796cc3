// SPDX-License-Identifier: MIT
/*
 * ualink-demo: two processes, each with an accelerator of its own, share memory
 * over the fabric, until one of them takes its memory back.
 *
 * The processes do what they are told over a pipe, one step after the other, so
 * that what each step costs can be read off the counters of both accelerators:
 * messages between them, and page table entries that they wrote. Each step
 * checks what it has to; the exit status is 0 if all of it held.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel.h"

#define SIZE		MIB(4)
#define WORDS		(SIZE / sizeof(uint64_t))
#define ADDS		1000
#define TEXT		160

/* A process with an accelerator: the buffer it owns, and the one it imported. */
struct node {
	char name;			/* A or B */
	struct accel accel;
	uint32_t own, plain, far;
	uint64_t own_va, plain_va, far_va;
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	uint64_t *words;
	/* the other side's handle comes in, the own one goes out */
	int handle_in, handle_out;
};

/* What a process answers to a step. */
struct answer {
	bool good;
	char text[TEXT];
};

/* A process as the one that directs it sees it. */
struct actor {
	struct accel accel;
	pid_t pid;
	int request, reply;
};

static void say(struct answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct answer *answer, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(answer->text, sizeof(answer->text), format, args);
	va_end(args);
}

static void refute(struct answer *answer, const char *what)
{
	answer->good = false;
	say(answer, "WRONG: %s", what);
}

/* ---------------------------------------------------------------- content */

/* Each word of a pattern tells who wrote it, when, and where. */
static uint64_t word(char author, unsigned int round, uint64_t index)
{
	return ((uint64_t)author << 56 | (uint64_t)round << 48 | index) *
	       0x9e3779b97f4a7c15ull;
}

static void write_pattern(struct node *node, uint64_t va, unsigned int round)
{
	for (uint64_t i = 0; i < WORDS; i++)
		node->words[i] = word(node->name, round, i);
	must(accel_store(&node->accel, va, node->words, SIZE));
}

static bool read_pattern(struct node *node, uint64_t va, char author,
			 unsigned int round)
{
	memset(node->words, 0, SIZE);
	must(accel_load(&node->accel, va, node->words, SIZE));
	for (uint64_t i = 0; i < WORDS; i++)
		if (node->words[i] != word(author, round, i))
			return false;
	return true;
}

static char other(const struct node *node)
{
	return node->name == 'A' ? 'B' : 'A';
}

/* ------------------------------------------------------------------ steps */

static void step_allocate(struct node *node, struct answer *answer)
{
	struct accel *accel = &node->accel;

	must(accel_debugfs_write(accel, "vram_scatter", "Y"));
	node->own = accel_bo(accel, SIZE, 0);
	node->plain = accel_bo(accel, SIZE, 0);
	must(accel_debugfs_write(accel, "vram_scatter", "N"));
	node->own_va = accel_bind(accel, node->own, SIZE);
	node->plain_va = accel_bind(accel, node->plain, SIZE);
	write_pattern(node, node->own_va, 1);
	write_pattern(node, node->plain_va, 9);
	say(answer, "allocates 2 x 4 MiB of VRAM in scattered pages, and fills them");
}

static void step_export(struct node *node, struct answer *answer)
{
	uint8_t again[DRM_UALINK_HANDLE_SIZE];

	must(accel_export(&node->accel, node->own, node->handle));
	must(accel_export(&node->accel, node->own, again));
	say(answer, "exports one: pinned, one NPA range, a handle of 128 bits");
	if (memcmp(node->handle, again, sizeof(again)))
		refute(answer, "the same object has two handles");
}

static void step_send(struct node *node, struct answer *answer)
{
	if (write(node->handle_out, node->handle, sizeof(node->handle)) != 16)
		die_errno("write", errno);
	say(answer, "sends the handle, 16 bytes, through a pipe");
}

static void step_import(struct node *node, struct answer *answer)
{
	uint8_t handle[DRM_UALINK_HANDLE_SIZE];
	struct accel *accel = &node->accel;
	int fd;

	if (read(node->handle_in, handle, sizeof(handle)) != 16)
		die_errno("read", errno);
	must(accel_import(accel, handle, 4711, &fd));
	must(accel_fd_to_handle(accel, fd, &node->far));
	close(fd);
	node->far_va = accel_bind(accel, node->far, SIZE);
	say(answer, "imports %c's handle and maps the memory in its page tables",
	    other(node));
}

static void step_load(struct node *node, struct answer *answer)
{
	say(answer, "loads 4 MiB of %c's memory: what %c wrote", other(node),
	    other(node));
	if (!read_pattern(node, node->far_va, other(node), 1))
		refute(answer, "the content is not what the owner wrote");
}

static void step_store(struct node *node, struct answer *answer)
{
	write_pattern(node, node->far_va, 2);
	say(answer, "stores 4 MiB to %c's memory", other(node));
}

static void step_see(struct node *node, struct answer *answer)
{
	say(answer, "finds in its own VRAM what %c stored", other(node));
	if (!read_pattern(node, node->own_va, other(node), 2))
		refute(answer, "the content is not what the other one stored");
}

static void step_zero(struct node *node, struct answer *answer)
{
	uint64_t zero = 0;

	must(accel_store(&node->accel, node->own_va, &zero, sizeof(zero)));
	say(answer, "sets a word of its memory to 0");
}

/* Both work on A's memory at the same time. */
static void step_add(struct node *node, struct answer *answer)
{
	struct drm_vualink_cmd cmds[10] = {};

	for (int i = 0; i < 10; i++) {
		cmds[i].op = DRM_VUALINK_OP_ATOMIC_ADD;
		cmds[i].dst = node->name == 'A' ? node->own_va : node->far_va;
		cmds[i].value = 1;
	}
	for (int i = 0; i < ADDS; i += 10)
		must(accel_run(&node->accel, cmds, 10));
	say(answer, "adds 1 to that word %d times, while the other does too",
	    ADDS);
}

static void step_sum(struct node *node, struct answer *answer)
{
	uint64_t sum = 0;

	must(accel_load(&node->accel, node->own_va, &sum, sizeof(sum)));
	say(answer, "reads the sum: %" PRIu64, sum);
	if (sum != 2 * ADDS)
		refute(answer, "additions were lost");
}

static uint64_t vram_used(struct accel *accel)
{
	return accel_counter(accel, "state", "vram_used");
}

static void step_evict(struct node *node, struct answer *answer)
{
	uint64_t before = vram_used(&node->accel), after;

	must(accel_debugfs_write(&node->accel, "evict_vram", "1"));
	after = vram_used(&node->accel);
	say(answer, "evicts its VRAM: %" PRIu64 " MiB go, the exported %" PRIu64
	    " MiB stay", (before - after) >> 20, SIZE >> 20);
	if (before - after < SIZE)
		refute(answer, "nothing was evicted");
	else if (after < SIZE)
		refute(answer, "the export was evicted");
	else if (!read_pattern(node, node->plain_va, node->name, 9))
		refute(answer, "what was evicted has lost its content");
}

static void step_see_again(struct node *node, struct answer *answer)
{
	write_pattern(node, node->far_va, 3);
	say(answer, "stores to %c's memory once more, and reads it back", other(node));
	if (!read_pattern(node, node->far_va, node->name, 3))
		refute(answer, "the content is wrong");
}

static void step_see_last(struct node *node, struct answer *answer)
{
	say(answer, "finds it in its own VRAM");
	if (!read_pattern(node, node->own_va, other(node), 3))
		refute(answer, "the content is not what the other one stored");
}

/* The free returns at once; what it sets going is over when the export is gone. */
static void step_free(struct node *node, struct answer *answer)
{
	struct drm_ualink_device_info before, now;
	int wait;

	accel_info(&node->accel, &before);
	accel_unbind(&node->accel, node->own_va, SIZE);
	accel_gem_close(&node->accel, node->own);
	for (wait = 0; wait < 5000; wait++) {
		accel_info(&node->accel, &now);
		if (now.exports < before.exports)
			break;
		usleep(1000);
	}
	say(answer, "frees the exported memory, and so revokes it from %c",
	    other(node));
	if (now.exports >= before.exports)
		refute(answer, "the export does not end");
}

static void step_event(struct node *node, struct answer *answer)
{
	struct pollfd pfd = { .fd = node->accel.fd, .events = POLLIN };
	struct drm_ualink_event event = {};

	say(answer, "reads the event: 1 import has died");
	if (poll(&pfd, 1, 10000) != 1)
		refute(answer, "no event came");
	else if (read(node->accel.fd, &event, sizeof(event)) != sizeof(event) ||
		 event.base.type != DRM_EVENT_UALINK_IMPORTS_DIED ||
		 event.deaths != 1)
		refute(answer, "another event came");
}

static void step_query(struct node *node, struct answer *answer)
{
	struct drm_ualink_import_info info = {};
	struct drm_gem_ualink_query query = {
		.kind = DRM_UALINK_QUERY_IMPORTS,
		.data_ptr = (uintptr_t)&info,
		.count = 1,
		.stride = sizeof(info),
	};

	must(accel_ioctl(node->accel.fd, DRM_IOCTL_GEM_UALINK_QUERY, &query));
	say(answer, "asks which: the one it called %" PRIu64 ", revoked by its owner",
	    (uint64_t)info.user_data);
	if (query.count != 1 || info.user_data != 4711 ||
	    info.death != DRM_UALINK_DEATH_REVOKED)
		refute(answer, "the query tells something else");
}

static void step_fault(struct node *node, struct answer *answer)
{
	struct drm_vualink_fault fault = {};
	uint64_t value;
	int error;

	error = accel_load(&node->accel, node->far_va, &value, sizeof(value));
	say(answer, "loads from it: \"%s\", and a fault record", strerror(error));
	if (error != EFAULT)
		refute(answer, "the access did not fail");
	else if (accel_fault(&node->accel, &fault) || fault.va != node->far_va)
		refute(answer, "no fault was recorded at this address");
	else if (fault.reason != DRM_VUALINK_FAULT_UNMAPPED)
		refute(answer, "its own page tables still have the memory");
}

static void step_live(struct node *node, struct answer *answer)
{
	say(answer, "lives, and still shares its own memory");
	if (!read_pattern(node, node->plain_va, node->name, 9))
		refute(answer, "its own memory has lost its content");
	else if (!read_pattern(node, node->own_va, other(node), 3))
		refute(answer, "its export has lost its content");
}

static void step_end(struct node *node, struct answer *answer)
{
	accel_close(&node->accel);
	say(answer, "closes its device, with all that is still open");
}

#define STEP_QUIT	'Q'

static void (*const steps[])(struct node *node, struct answer *answer) = {
	['a'] = step_allocate,
	['x'] = step_export,
	['s'] = step_send,
	['i'] = step_import,
	['l'] = step_load,
	['w'] = step_store,
	['v'] = step_see,
	['0'] = step_zero,
	['+'] = step_add,
	['='] = step_sum,
	['e'] = step_evict,
	['W'] = step_see_again,
	['V'] = step_see_last,
	['f'] = step_free,
	['E'] = step_event,
	['q'] = step_query,
	['F'] = step_fault,
	['L'] = step_live,
	['.'] = step_end,
};

static void node_main(struct node *node, int request, int reply)
{
	struct answer answer;
	char step;

	node->words = malloc(SIZE);
	if (!node->words)
		die("out of memory");
	accel_open(&node->accel);

	while (read(request, &step, 1) == 1 && step != STEP_QUIT) {
		memset(&answer, 0, sizeof(answer));
		answer.good = true;
		steps[(int)step](node, &answer);
		if (write(reply, &answer, sizeof(answer)) != sizeof(answer))
			die_errno("write", errno);
	}
	exit(0);
}

/* --------------------------------------------------------------- director */

static bool all_good = true;
static unsigned int step_number;

static void start(struct actor *actor, char name, const struct accel *accel,
		  int handle_in, int handle_out)
{
	struct node node = {
		.name = name,
		.accel = *accel,
		.handle_in = handle_in,
		.handle_out = handle_out,
	};
	int request[2], reply[2];

	if (pipe(request) || pipe(reply))
		die_errno("pipe", errno);
	fflush(stdout);
	actor->pid = fork();
	if (actor->pid < 0)
		die_errno("fork", errno);
	if (!actor->pid) {
		close(request[1]);
		close(reply[0]);
		node_main(&node, request[0], reply[1]);
	}

	close(request[0]);
	close(reply[1]);
	actor->request = request[1];
	actor->reply = reply[0];
	actor->accel = *accel;
	accel_open(&actor->accel);
}

/* Since the device was made. */
struct counters {
	uint64_t messages;
	uint64_t greeting;	/* those of them that make a session */
	uint64_t accesses;	/* of one accelerator to memory of another */
	uint64_t entries;	/* of page tables, written */
};

static void add_counters(struct actor *actor, struct counters *sum)
{
	static const char * const greeting[] = {
		"sent_HELLO", "sent_HELLO_ACK", "sent_READY", "sent_READY_ACK",
	};
	struct drm_ualink_device_info info;

	accel_info(&actor->accel, &info);
	sum->messages += info.msgs_sent;
	for (int i = 0; i < 4; i++)
		sum->greeting += accel_counter(&actor->accel, "ualink/counters",
					       greeting[i]);
	sum->accesses += accel_counter(&actor->accel, "hw/hw_stats", "npa_in");
	sum->entries += accel_counter(&actor->accel, "hw/hw_stats", "pte_writes");
}

/* Of both accelerators. */
static struct counters read_counters(struct actor *actors)
{
	struct counters sum = {};

	for (int i = 0; i < 2; i++)
		add_counters(&actors[i], &sum);
	return sum;
}

static void send_step(struct actor *actor, char step)
{
	/* should the process be gone, its answer will be missing */
	if (write(actor->request, &step, 1) != 1)
		all_good = false;
}

static void receive_answer(struct actor *actor, struct answer *answer)
{
	if (read(actor->reply, answer, sizeof(*answer)) != sizeof(*answer)) {
		answer->good = false;
		say(answer, "WRONG: the process is gone");
	}
	all_good &= answer->good;
}

static void print_count(uint64_t value)
{
	if (value)
		printf(" %8" PRIu64, value);
	else
		printf("        -");
}

static void print_line(char who, const char *text)
{
	printf("%4u  %c  %-62s", ++step_number, who, text);
}

static void print_cost(const struct counters *before, const struct counters *after)
{
	uint64_t greeting = after->greeting - before->greeting;

	print_count(after->messages - before->messages - greeting);
	print_count(after->accesses - before->accesses);
	print_count(after->entries - before->entries);
	printf("\n");
	if (greeting)
		printf("         (and, since they never met before, %" PRIu64
		       " messages to greet each other)\n", greeting);
	fflush(stdout);
}

/* One actor does one step. */
static void play(struct actor *actors, int who, char step)
{
	struct counters before = read_counters(actors), after;
	struct answer answer;

	send_step(&actors[who], step);
	receive_answer(&actors[who], &answer);
	after = read_counters(actors);
	print_line('A' + who, answer.text);
	print_cost(&before, &after);
}

/* Both do the same step at the same time. */
static void play_both(struct actor *actors, char step)
{
	struct counters before = read_counters(actors), after;
	struct answer answer[2];

	for (int i = 0; i < 2; i++)
		send_step(&actors[i], step);
	for (int i = 0; i < 2; i++)
		receive_answer(&actors[i], &answer[i]);
	after = read_counters(actors);
	printf("%4u  A  %s\n", ++step_number, answer[0].text);
	print_line('B', answer[1].text);
	print_cost(&before, &after);
}

static void print_header(const struct actor *actors)
{
	for (int i = 0; i < 2; i++)
		printf("  %c is process %d, with accelerator %u (%s)\n", 'A' + i,
		       actors[i].pid, actors[i].accel.info.id,
		       actors[i].accel.path);
	printf("\n%71s %8s %8s %8s\n", "", "fabric", "fabric", "PTEs");
	printf("%71s %8s %8s %8s\n", "", "messages", "accesses", "written");
}

/* Nothing may be left, and no outdated translation may have been used. */
static void print_end(struct actor *actors)
{
	struct drm_ualink_device_info info;
	bool clean = true;
	uint64_t stale = 0;

	for (int i = 0; i < 2; i++) {
		struct drm_ualink_device_info *was = &actors[i].accel.info;

		for (int wait = 0; wait < 500; wait++) {
			accel_info(&actors[i].accel, &info);
			if (info.exports == was->exports &&
			    info.grants == was->grants &&
			    info.imports == was->imports &&
			    info.npa_used == was->npa_used &&
			    info.npa_quarantined == was->npa_quarantined)
				break;
			usleep(20000);
			clean &= wait < 499;
		}
		stale += accel_counter(&actors[i].accel, "hw/hw_stats", "stale");
	}
	printf("\n  exports, grants, imports, NPA and quarantine of both are %s\n",
	       clean ? "what they were before" : "WRONG: not what they were before");
	printf("  uses of an outdated TLB entry: %" PRIu64 "%s\n", stale,
	       stale ? ", WRONG" : "");
	all_good &= clean && !stale;
}

static void join(struct actor *actor)
{
	int status = 0;

	send_step(actor, STEP_QUIT);
	close(actor->request);
	close(actor->reply);
	waitpid(actor->pid, &status, 0);
	accel_close(&actor->accel);
	all_good &= WIFEXITED(status) && !WEXITSTATUS(status);
}

/*
 * Who does what: A, B, or * for both at the same time. A text is the heading of
 * what follows.
 */
static const char * const script[] = {
	"Share", "Aa", "Ba", "Ax", "Bx", "As", "Bs", "Ai", "Bi",
	"Load and store", "Al", "Aw", "Bv", "Bl", "Bw", "Av",
	"Atomics", "A0", "*+", "A=",
	"Memory pressure", "Ae", "AW", "BV", "Be", "BW", "AV",
	"Take back", "Af", "BE", "Bq", "BF", "BL",
	"End", "A.", "B.",
};

static void play_script(struct actor *actors)
{
	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]) && all_good; i++) {
		const char *line = script[i];

		if (strlen(line) > 2)
			printf("%s\n", line);
		else if (line[0] == '*')
			play_both(actors, line[1]);
		else
			play(actors, line[0] - 'A', line[1]);
	}
}

/* Heartbeats would be counted as if they were part of a step. */
static void set_heartbeat(struct actor *actor, uint64_t ms)
{
	must(accel_tunable_write(&actor->accel, "heartbeat_ms", ms));
}

static void demonstrate(const struct accel *accels)
{
	struct actor actors[2];
	uint64_t heartbeat[2];
	int pipes[2][2];

	if (pipe(pipes[0]) || pipe(pipes[1]))
		die_errno("pipe", errno);
	step_number = 0;
	start(&actors[0], 'A', &accels[0], pipes[1][0], pipes[0][1]);
	start(&actors[1], 'B', &accels[1], pipes[0][0], pipes[1][1]);
	for (int i = 0; i < 2; i++) {
		must(accel_tunable_read(&actors[i].accel, "heartbeat_ms",
					&heartbeat[i]));
		set_heartbeat(&actors[i], 3600 * 1000);
	}

	print_header(actors);
	play_script(actors);
	print_end(actors);

	for (int i = 0; i < 2; i++) {
		set_heartbeat(&actors[i], heartbeat[i]);
		join(&actors[i]);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

/* The accelerators of the vPod that begins at @accels. */
static unsigned int pod_size(const struct accel *accels, unsigned int count)
{
	unsigned int n = 1;

	while (n < count && accel_same_pod(&accels[0], &accels[n]))
		n++;
	return n;
}

int main(void)
{
	unsigned int count, n, pods = 0;
	struct accel *accels = accel_scan(&count);

	signal(SIGPIPE, SIG_IGN);
	for (unsigned int i = 0; i < count && all_good; i += n) {
		n = pod_size(&accels[i], count - i);
		printf("%sPod %u has %u accelerators%s\n", pods ? "\n" : "", pods, n,
		       n > 2 ? ", of which two play" : "");
		pods++;
		if (n < 2) {
			printf("  which is too few to share anything\n");
			continue;
		}
		demonstrate(&accels[i]);
	}
	free(accels);
	if (!pods)
		die("there is no active accelerator");

	printf("\n%s\n", all_good ? "All of it held." : "NOT all of it held.");
	return !all_good;
}
