// SPDX-License-Identifier: MIT
/*
 * The control socket: one command in a line; the answer ends with "ok" or "error: ...". Any
 * number of connections, commands one at a time. Accelerators are named by their ids.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu.h"

#define WORDS_MAX	10
#define ANSWER_MAX	(256u << 10)

struct command {
	struct pod *pod;
	int sock;
	char *word[WORDS_MAX + 1];
	unsigned int words;
	char *answer;
};

/* ---- parsing ---- */

static bool number(const char *text, uint64_t *value)
{
	char *end;

	if (!text || !*text)
		return false;
	*value = strtoull(text, &end, 0);
	return !*end;
}

static struct gpu *accelerator(struct command *c, unsigned int word)
{
	uint64_t id;

	if (word >= c->words || !number(c->word[word], &id) || id >= c->pod->ids)
		return NULL;
	return pod_by_id(c->pod, (uint32_t)id);
}

/* 32 hexadecimal digits, with dashes anywhere; or "none" */
bool parse_uuid(const char *text, uint8_t *uuid)
{
	unsigned int digits = 0, value;

	memset(uuid, 0, 16);
	if (!strcmp(text, "none"))
		return true;
	for (; *text; text++) {
		if (*text == '-')
			continue;
		if (digits == 32 || sscanf((char[]){ *text, 0 }, "%1x", &value) != 1)
			return false;
		uuid[digits / 2] = (uint8_t)(uuid[digits / 2] << 4 | value);
		digits++;
	}
	return digits == 32;
}

/* ---- the fabric ---- */

static const char *set_cut(struct command *c, bool cut)
{
	struct gpu *a = accelerator(c, 1), *b = accelerator(c, 2);

	if (!a || !b)
		return "no such accelerator";
	fabric_set_cut(a, b, cut);
	return NULL;
}

static const char *do_cut(struct command *c)
{
	return set_cut(c, true);
}

static const char *do_join(struct command *c)
{
	return set_cut(c, false);
}

static const char *set_muted(struct command *c, bool muted)
{
	struct gpu *gpu = accelerator(c, 1);

	if (!gpu)
		return "no such accelerator";
	c->pod->fabric.muted[gpu->index] = muted;
	return NULL;
}

static const char *do_mute(struct command *c)
{
	return set_muted(c, true);
}

static const char *do_unmute(struct command *c)
{
	return set_muted(c, false);
}

/* KIND [TYPE|any [N]] [from A] [to B]; without N: all from now on; N = 0: none any more */
static const char *set_rule(struct command *c, enum rule_kind kind)
{
	struct rule rule = { .type = -1, .from = -1, .to = -1, .left = UINT64_MAX };
	unsigned int i = 1;
	uint64_t value;

	if (i < c->words && number(c->word[i], &value) && value < 256) {
		rule.type = (int)value;
		i++;
	} else if (i < c->words && !strcmp(c->word[i], "any")) {
		i++;
	}
	if (i < c->words && number(c->word[i], &rule.left))
		i++;
	for (; i + 1 < c->words && number(c->word[i + 1], &value) && value < IDS_MAX; i += 2) {
		if (!strcmp(c->word[i], "from"))
			rule.from = (int)value;
		else if (!strcmp(c->word[i], "to"))
			rule.to = (int)value;
		else
			break;
	}
	if (i != c->words)
		return "usage: drop|dup|reorder|corrupt [TYPE|any [N]] [from A] [to B]";
	pthread_mutex_lock(&c->pod->fabric.lock);
	c->pod->fabric.rule[kind] = rule;
	pthread_mutex_unlock(&c->pod->fabric.lock);
	return NULL;
}

static const char *do_drop(struct command *c)
{
	return set_rule(c, RULE_DROP);
}

static const char *do_dup(struct command *c)
{
	return set_rule(c, RULE_DUP);
}

static const char *do_reorder(struct command *c)
{
	return set_rule(c, RULE_REORDER);
}

static const char *do_corrupt(struct command *c)
{
	return set_rule(c, RULE_CORRUPT);
}

static const char *do_delay(struct command *c)
{
	uint64_t ms;

	if (!number(c->word[1], &ms) || ms > 60000)
		return "usage: delay MS";
	pthread_mutex_lock(&c->pod->fabric.lock);
	c->pod->fabric.delay_us = ms * 1000;
	pthread_mutex_unlock(&c->pod->fabric.lock);
	return NULL;
}

static const char *do_fabric(struct command *c)
{
	struct fabric *fabric = &c->pod->fabric;

	pthread_mutex_lock(&fabric->lock);
	print(c->answer, ANSWER_MAX, "dropped %llu repeated %llu reordered %llu "
	      "corrupted %llu lost %llu\n",
	      (unsigned long long)fabric->dropped, (unsigned long long)fabric->repeated,
	      (unsigned long long)fabric->reordered, (unsigned long long)fabric->corrupted,
	      (unsigned long long)fabric->lost);
	pthread_mutex_unlock(&fabric->lock);
	return NULL;
}

/* ---- accelerators ---- */

static const char *do_crash(struct command *c)
{
	struct gpu *gpu = accelerator(c, 1);

	if (!gpu)
		return "no such accelerator";
	gpu_crash(gpu);
	return NULL;
}

/* Each accelerator whose view of the pod may have changed is told. */
static void management_changed(struct pod *pod)
{
	unsigned int i;

	for (i = 0; i < pod->gpus; i++)
		ualink_managed(&pod->gpu[i]);
}

static const char *do_vpod(struct command *c)
{
	struct gpu *gpu = accelerator(c, 1);
	uint8_t uuid[16];

	if (!gpu || c->words != 3 || !parse_uuid(c->word[2], uuid))
		return "usage: vpod A UUID|none";
	pthread_mutex_lock(&gpu->management);
	memcpy(gpu->vpod, uuid, sizeof(uuid));
	pthread_mutex_unlock(&gpu->management);
	management_changed(c->pod);
	return NULL;
}

static const char *do_provision(struct command *c)
{
	struct gpu *gpu = accelerator(c, 1);
	uint64_t value;

	if (!gpu || !number(c->word[2], &value) || value > 1)
		return "usage: provision A 0|1";
	pthread_mutex_lock(&gpu->management);
	gpu->provisioned = value;
	pthread_mutex_unlock(&gpu->management);
	management_changed(c->pod);
	return NULL;
}

static const char *set_time(struct command *c, _Atomic uint32_t *time, uint64_t max)
{
	uint64_t value;

	if (!number(c->word[1], &value) || value > max)
		return "a number is missing, or too large";
	*time = (uint32_t)value;
	return NULL;
}

static const char *do_allow_vmid0(struct command *c)
{
	uint64_t value;

	if (!number(c->word[1], &value) || value > 1)
		return "usage: allow-vmid0 0|1";
	c->pod->allow_vmid0 = value;
	return NULL;
}

static const char *do_flush_delay(struct command *c)
{
	return set_time(c, &c->pod->flush_delay_ms, 60000);
}

static const char *do_engine_delay(struct command *c)
{
	return set_time(c, &c->pod->engine_delay_us, 10000000);
}

static const char *do_access_delay(struct command *c)
{
	return set_time(c, &c->pod->access_delay_us, 1000000);
}

static const char *set_fail(struct command *c, enum fail_kind kind)
{
	struct gpu *gpu = accelerator(c, 1);
	uint64_t times;

	if (!gpu || !number(c->word[2], &times) || times > UINT32_MAX)
		return "an accelerator and a number are missing";
	gpu->fail[kind] = (uint32_t)times;
	return NULL;
}

static const char *do_flush_fail(struct command *c)
{
	return set_fail(c, FAIL_FLUSH);
}

static const char *do_gate_fail(struct command *c)
{
	return set_fail(c, FAIL_GATE);
}

static const char *do_drain_fail(struct command *c)
{
	return set_fail(c, FAIL_DRAIN);
}

static const char *do_cmd_hang(struct command *c)
{
	return set_fail(c, HANG_COMMAND);
}

static const char *do_enable_hang(struct command *c)
{
	return set_fail(c, HANG_ENABLE);
}

static void engines_seed(struct gpu *gpu)
{
	struct cp_queue *queue;

	engine_seed(&gpu->sdma.engine);
	engine_seed(&gpu->ualink.commander);
	engine_seed(&gpu->ualink.sender);
	pthread_mutex_lock(&gpu->cp.lock);
	for (queue = gpu->cp.queue; queue < gpu->cp.queue + CP_QUEUES; queue++)
		if (queue->ready)
			engine_seed(&queue->engine);
	pthread_mutex_unlock(&gpu->cp.lock);
}

static const char *do_seed(struct command *c)
{
	uint64_t seed;
	unsigned int i;

	if (!number(c->word[1], &seed))
		return "usage: seed N";
	c->pod->seed = seed;
	for (i = 0; i < c->pod->gpus; i++)
		engines_seed(&c->pod->gpu[i]);
	return NULL;
}

/* ---- reports ---- */

static const char *do_stats(struct command *c)
{
	struct gpu *gpu = accelerator(c, 1);
	unsigned int i;

	if (c->words > 1 && !gpu)
		return "no such accelerator";
	for (i = 0; i < c->pod->gpus; i++)
		if (!gpu || gpu == &c->pod->gpu[i])
			stat_gpu(&c->pod->gpu[i], c->answer, ANSWER_MAX);
	return NULL;
}

static const char *do_stale(struct command *c)
{
	stat_stale(c->pod, c->answer, ANSWER_MAX);
	return NULL;
}

static const char *do_unknown(struct command *c)
{
	stat_unknown(c->pod, c->answer, ANSWER_MAX);
	return NULL;
}

static const char *do_quit(struct command *c)
{
	pod_quit(c->pod);
	return NULL;
}

static const char *do_help(struct command *c);

static const struct {
	const char *name, *usage;
	const char *(*run)(struct command *command);
} commands[] = {
	{ "access-delay", "US: accesses to others take so long", do_access_delay },
	{ "allow-vmid0", "0|1: whether faults of VMID 0 are fine, or make the emulator fail",
	  do_allow_vmid0 },
	{ "cmd-hang", "A N: its next N commands get no answer, until it is reset or enabled",
	  do_cmd_hang },
	{ "corrupt", "like drop: their last byte is inverted", do_corrupt },
	{ "crash", "A: it leaves the fabric and loses all, until it is reset", do_crash },
	{ "cut", "A B: cuts their link", do_cut },
	{ "delay", "MS: each message takes so long", do_delay },
	{ "drain-fail", "A N: its next N commands DRAIN fail", do_drain_fail },
	{ "drop", "[TYPE|any [N]] [from A] [to B]: the next N such messages get lost", do_drop },
	{ "dup", "likewise: they come twice", do_dup },
	{ "enable-hang", "A N: it does not follow the next N times that ENABLE becomes 1",
	  do_enable_hang },
	{ "engine-delay", "US: work starts at a random time below that", do_engine_delay },
	{ "fabric", "what happened to messages", do_fabric },
	{ "flush-delay", "MS: each flush takes so long", do_flush_delay },
	{ "flush-fail", "A N: its next N commands INVALIDATE or GATE_CLOSE fail", do_flush_fail },
	{ "gate-fail", "A N: its next N commands GATE_OPEN fail", do_gate_fail },
	{ "help", "this", do_help },
	{ "join", "A B: joins their link again", do_join },
	{ "mute", "A: messages from A get lost", do_mute },
	{ "provision", "A 0|1: whether the management has set it up", do_provision },
	{ "quit", "ends the emulator", do_quit },
	{ "reorder", "like drop: they go behind the next message of the pair", do_reorder },
	{ "seed", "N: of the random times", do_seed },
	{ "stale", "uses of translations that differed from the page table", do_stale },
	{ "stats", "[A]: counters", do_stats },
	{ "unknown", "packets and registers that nobody knows", do_unknown },
	{ "unmute", "A: ends mute", do_unmute },
	{ "vpod", "A UUID|none: its virtual pod", do_vpod },
};

static const char *do_help(struct command *c)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		print(c->answer, ANSWER_MAX, "%s %s\n", commands[i].name, commands[i].usage);
	return NULL;
}

/* ---- connections ---- */

static const char *run_line(struct command *c, char *line)
{
	char *save, *word;
	size_t i;

	c->words = 0;
	memset(c->word, 0, sizeof(c->word));
	for (word = strtok_r(line, " \t\r\n", &save); word && c->words < WORDS_MAX;
	     word = strtok_r(NULL, " \t\r\n", &save))
		c->word[c->words++] = word;
	if (!c->words)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(c->word[0], commands[i].name))
			return commands[i].run(c);
	return "no such command; try help";
}

static void *connection_thread(void *arg)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct command *c = arg;
	FILE *in = fdopen(c->sock, "r"), *out = fdopen(dup(c->sock), "w");
	const char *error;
	char line[512];

	c->answer = malloc(ANSWER_MAX);
	while (in && out && c->answer && fgets(line, sizeof(line), in)) {
		c->answer[0] = 0;
		pthread_mutex_lock(&one_at_a_time);
		error = run_line(c, line);
		pthread_mutex_unlock(&one_at_a_time);
		fputs(c->answer, out);
		fprintf(out, error ? "error: %s\n" : "ok\n", error);
		if (fflush(out))
			break;
	}
	if (in)
		fclose(in);
	if (out)
		fclose(out);
	free(c->answer);
	free(c);
	return NULL;
}

struct listener {
	struct pod *pod;
	int sock;
};

static void *accept_thread(void *arg)
{
	struct listener *listener = arg;
	struct command *command;
	pthread_t thread;
	int sock;

	while ((sock = accept4(listener->sock, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		command = calloc(1, sizeof(*command));
		if (!command)
			break;
		command->pod = listener->pod;
		command->sock = sock;
		if (!pthread_create(&thread, NULL, connection_thread, command))
			pthread_detach(thread);
	}
	free(listener);
	return NULL;
}

bool control_start(struct pod *pod, const char *path)
{
	struct listener *listener = malloc(sizeof(*listener));
	pthread_t thread;

	if (!listener)
		return false;
	listener->pod = pod;
	listener->sock = listen_at(path);
	if (listener->sock < 0 || pthread_create(&thread, NULL, accept_thread, listener))
		return false;
	pthread_detach(thread);
	return true;
}
