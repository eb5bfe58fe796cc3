// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * ualink-top - watch the UALink accelerators of this machine: what they share, with
 * whom, and what waits until no peer can hold it any more.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "top.h"

static void usage(FILE *file)
{
	fprintf(file,
		"Usage: %s [OPTION]...\n"
		"  -1, --once         print one time; sizes are in bytes\n"
		"  -j, --json         the same as JSON, each time a document\n"
		"  -d, --delay=SECS   time from one to the next (2)\n"
		"  -n, --number=N     end after so many\n"
		"  -b, --bytes        sizes in bytes\n"
		"  -a, --all          also peers with which there was no session\n"
		"  -h, --help\n"
		"Who may open the nodes in /dev/dri sees more than what is in sysfs, and who\n"
		"may read debugfs sees round trips and what waits for an answer.\n",
		program_invocation_short_name);
}

struct options {
	double delay;
	unsigned long number;
	bool json;
	bool bytes;
	bool all;
};

static double parse_delay(const char *text)
{
	char *end;
	double delay = strtod(text, &end);

	if (*end || end == text || !(delay >= 0.01 && delay <= 86400))
		errx(2, "%s is not a delay", text);
	return delay;
}

static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*end || !number || *text == '-')
		errx(2, "%s is not a number of times", text);
	return number;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "once", no_argument, NULL, '1' },
		{ "json", no_argument, NULL, 'j' },
		{ "delay", required_argument, NULL, 'd' },
		{ "number", required_argument, NULL, 'n' },
		{ "bytes", no_argument, NULL, 'b' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	struct options options = { .delay = 2 };
	int c;

	while ((c = getopt_long(argc, argv, "1jd:n:bah", names, NULL)) != -1) {
		switch (c) {
		case '1':
			options.number = 1;
			options.bytes = true;
			break;
		case 'j':
			options.json = true;
			break;
		case 'd':
			options.delay = parse_delay(optarg);
			break;
		case 'n':
			options.number = parse_number(optarg);
			break;
		case 'b':
			options.bytes = true;
			break;
		case 'a':
			options.all = true;
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(2);
	}
	return options;
}

static void print(const struct sample *sample, const struct options *options)
{
	if (options->json) {
		print_json(sample);
	} else {
		/* a screen is written anew, a file goes on */
		if (options->number != 1 && isatty(STDOUT_FILENO))
			printf("\033[H\033[2J");
		print_table(sample, options->all, options->bytes);
		if (!sample->count)
			fprintf(stderr, "no accelerator with UALink\n");
	}
	if (fflush(stdout))
		err(1, "cannot write");
}

static void pause_for(double seconds)
{
	struct timespec t = { .tv_sec = seconds };

	t.tv_nsec = (seconds - t.tv_sec) * 1e9;
	nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	const struct options options = parse(argc, argv);
	struct sample before = {}, now;
	unsigned long times = 0;

	for (;;) {
		sample_take(&now, &before);
		print(&now, &options);
		sample_free(&before);
		before = now;
		if (options.number && ++times >= options.number)
			break;
		pause_for(options.delay);
	}
	sample_free(&before);
	return 0;
}
