// SPDX-License-Identifier: MIT
/*
 * ualink-emu: GPUs for the real amdgpu driver, and the UALink fabric between them. Each is a
 * vfio-user server at DIR/gpuN.sock; DIR/control.sock takes commands (control.c).
 * Exit status: 0; 1 when it cannot work; 2 for bad usage; 3 after faults of VMID 0, which is
 * the driver's own.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu.h"

#define REPORT_MAX	(1u << 20)
#define EXIT_VMID0	3

static struct pod pod;
static int quit_pipe[2];

static const char usage[] =
	"usage: ualink-emu [OPTIONS] DIR\n"
	"  --gpus N            GPUs in the pod (1)\n"
	"  --vram MIB          VRAM of each (1024)\n"
	"  --ids N             accelerator ids that rings exist for (64)\n"
	"  --segment-shift N   log2 of the bytes of a segment (36)\n"
	"  --ring-shift N      log2 of the messages of a ring (6)\n"
	"  --id I=ID           accelerator id of GPU I (I + 1)\n"
	"  --vpod I=UUID|none  its virtual pod (the same for all)\n"
	"  --no-ualink         GPUs without the UALink block\n"
	"  --engine-delay US   work starts at a random time below that (200)\n"
	"  --seed N            of the random times (1)\n"
	"  --firmware FWDIR    write firmware files for guests, and end\n";

enum {
	OPT_GPUS = 256, OPT_VRAM, OPT_IDS, OPT_SEGMENT, OPT_RING, OPT_ID, OPT_VPOD, OPT_NO_UALINK,
	OPT_DELAY, OPT_SEED, OPT_FIRMWARE,
};

static const struct option options[] = {
	{ "gpus", required_argument, NULL, OPT_GPUS },
	{ "vram", required_argument, NULL, OPT_VRAM },
	{ "ids", required_argument, NULL, OPT_IDS },
	{ "segment-shift", required_argument, NULL, OPT_SEGMENT },
	{ "ring-shift", required_argument, NULL, OPT_RING },
	{ "id", required_argument, NULL, OPT_ID },
	{ "vpod", required_argument, NULL, OPT_VPOD },
	{ "no-ualink", no_argument, NULL, OPT_NO_UALINK },
	{ "engine-delay", required_argument, NULL, OPT_DELAY },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "firmware", required_argument, NULL, OPT_FIRMWARE },
	{}
};

static void __attribute__((noreturn)) bad_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static unsigned long number(const char *text, unsigned long min, unsigned long max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (!*text || *end || value < min || value > max)
		bad_usage();
	return value;
}

/* The GPU that "I=..." names; @value: what is behind it */
static struct gpu *indexed(char *text, char **value)
{
	*value = strchr(text, '=');
	if (!*value)
		bad_usage();
	*(*value)++ = 0;
	return &pod.gpu[number(text, 0, GPUS_MAX - 1)];
}

static void defaults(void)
{
	unsigned int i;

	pod.gpus = 1;
	pod.vram_size = 1ull << 30;
	pod.ids = 64;
	pod.segment_shift = 36;
	pod.ring_shift = 6;
	pod.ualink = true;
	pod.seed = 1;
	pod.engine_delay_us = 200;
	for (i = 0; i < GPUS_MAX; i++) {
		pod.gpu[i].pod = &pod;
		pod.gpu[i].index = i;
		pod.gpu[i].id = i + 1;
		pod.gpu[i].provisioned = true;
		parse_uuid("9c5a2f6e-7b41-4d0e-8a37-1e64d2c0b5f3", pod.gpu[i].vpod);
	}
}

static void option(int which, char *arg, const char **firmware)
{
	struct gpu *gpu;
	char *value;

	switch (which) {
	case OPT_GPUS:
		pod.gpus = (unsigned int)number(arg, 1, GPUS_MAX);
		break;
	case OPT_VRAM:
		pod.vram_size = (uint64_t)number(arg, 16, 65536) << 20;
		break;
	case OPT_IDS:
		pod.ids = (uint32_t)number(arg, 2, IDS_MAX);
		break;
	case OPT_SEGMENT:
		pod.segment_shift = (unsigned int)number(arg, 21, 46);
		break;
	case OPT_RING:
		pod.ring_shift = (unsigned int)number(arg, 0, 15);
		break;
	case OPT_ID:
		gpu = indexed(arg, &value);
		gpu->id = (uint32_t)number(value, 0, IDS_MAX - 1);
		break;
	case OPT_VPOD:
		gpu = indexed(arg, &value);
		if (!parse_uuid(value, gpu->vpod))
			bad_usage();
		break;
	case OPT_NO_UALINK:
		pod.ualink = false;
		break;
	case OPT_DELAY:
		pod.engine_delay_us = (uint32_t)number(arg, 0, 10000000);
		break;
	case OPT_SEED:
		pod.seed = number(arg, 0, UINT32_MAX);
		break;
	case OPT_FIRMWARE:
		*firmware = arg;
		break;
	default:
		bad_usage();
	}
}

/* Ids must be different, and their segments end below 2^48. */
static void check_ids(void)
{
	unsigned int i, j;

	if (pod.vram_size & (pod.vram_size - 1) ||
	    (uint64_t)pod.ids << pod.segment_shift > 1ull << 48)
		bad_usage();
	for (i = 0; i < pod.gpus; i++) {
		if (pod.gpu[i].id >= pod.ids)
			bad_usage();
		for (j = 0; j < i; j++)
			if (pod.gpu[i].id == pod.gpu[j].id)
				bad_usage();
	}
}

/* From a signal handler or any thread */
void pod_quit(struct pod *p)
{
	char byte = 0;

	p->quit = true;
	if (write(quit_pipe[1], &byte, 1) < 0)
		_exit(1);
}

static void on_signal(int number)
{
	(void)number;
	pod_quit(&pod);
}

static void report(void)
{
	char *text = calloc(1, REPORT_MAX);
	unsigned int i;

	if (!text)
		return;
	for (i = 0; i < pod.gpus; i++)
		stat_gpu(&pod.gpu[i], text, REPORT_MAX);
	print(text, REPORT_MAX, "unknown\n");
	stat_unknown(&pod, text, REPORT_MAX);
	print(text, REPORT_MAX, "stale\n");
	stat_stale(&pod, text, REPORT_MAX);
	if (pod.vmid0_faults)
		print(text, REPORT_MAX, "%llu faults of VMID 0\n",
		      (unsigned long long)pod.vmid0_faults);
	fputs(text, stdout);
	free(text);
}

static bool start(const char *dir)
{
	char path[4096];
	unsigned int i;

	fabric_init(&pod);
	for (i = 0; i < pod.gpus; i++) {
		if (!vram_init(&pod.gpu[i]))
			return false;
		gpu_init(&pod.gpu[i]);
	}
	for (i = 0; i < pod.gpus; i++)
		if (!vfio_start(&pod.gpu[i], dir))
			return false;
	snprintf(path, sizeof(path), "%s/control.sock", dir);
	return control_start(&pod, path);
}

static void stop(void)
{
	unsigned int i;

	for (i = 0; i < pod.gpus; i++)
		vfio_stop(&pod.gpu[i]);
	for (i = 0; i < pod.gpus; i++)
		gpu_quit(&pod.gpu[i]);
	fabric_quit(&pod);
}

static void wait_for_quit(void)
{
	char byte;

	while (read(quit_pipe[0], &byte, 1) < 0)
		;
}

int main(int argc, char **argv)
{
	const char *firmware = NULL;
	int which;

	defaults();
	while ((which = getopt_long(argc, argv, "", options, NULL)) >= 0)
		option(which, optarg, &firmware);
	if (firmware)
		return firmware_write(&pod, firmware) ? 0 : 1;
	if (optind + 1 != argc)
		bad_usage();
	check_ids();
	if (pipe(quit_pipe))
		return 1;
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGPIPE, SIG_IGN);
	if (!start(argv[optind])) {
		perror("ualink-emu: cannot start");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	wait_for_quit();
	stop();
	report();
	return pod.vmid0_faults ? EXIT_VMID0 : 0;
}
