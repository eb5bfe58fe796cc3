// SPDX-License-Identifier: MIT
/* Counters by name, the log, and reports. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu.h"

void logmsg(const struct gpu *gpu, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "gpu%u: %s\n", gpu->index, text);
}

void count(struct counters *counters, const char *format, ...)
{
	char name[sizeof(counters->counter[0].name)];
	struct counter *counter;
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	pthread_mutex_lock(&counters->lock);
	for (counter = counters->counter; counter < counters->counter + counters->used; counter++)
		if (!strcmp(counter->name, name))
			break;
	/* the last one takes what there is no room for */
	if (counter == counters->counter + counters->used && counters->used < COUNTERS) {
		memcpy(counter->name, name, sizeof(name));
		counters->used++;
	} else if (counter == counters->counter + COUNTERS) {
		counter--;
	}
	counter->count++;
	pthread_mutex_unlock(&counters->lock);
}

/* Appends to a text, as far as there is room. */
void print(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, size - used, format, args);
	va_end(args);
}

void count_print(struct counters *counters, char *text, size_t size)
{
	unsigned int i;

	pthread_mutex_lock(&counters->lock);
	for (i = 0; i < counters->used; i++)
		print(text, size, "%8llu %s\n", (unsigned long long)counters->counter[i].count,
		      counters->counter[i].name);
	pthread_mutex_unlock(&counters->lock);
}

void stat_gpu(struct gpu *gpu, char *text, size_t size)
{
	print(text, size, "gpu %u id %u %s\n", gpu->index, gpu->id,
	      gpu->powered ? "powered" : "off");
	print(text, size, "%8llu served\n%8llu refused\n%8llu out\n",
	      (unsigned long long)gpu->link.served, (unsigned long long)gpu->link.refused,
	      (unsigned long long)gpu->link.out);
	print(text, size, "%8llu messages taken\n%8llu messages given\n",
	      (unsigned long long)gpu->ualink.taken, (unsigned long long)gpu->ualink.given);
	print(text, size, "%8llu interrupts\n%8llu interrupts overwritten\n",
	      (unsigned long long)gpu->ih.raised, (unsigned long long)gpu->ih.lost);
	count_print(&gpu->stats, text, size);
}

static void stale_line(char *text, size_t size, struct gpu *gpu, const char *name, struct tlb *tlb)
{
	uint64_t used = 0, unflushed = 0;

	tlb_stale(tlb, &used, &unflushed);
	print(text, size, "gpu %u %s: hits %llu walks %llu stale %llu unflushed %llu\n",
	      gpu->index, name, (unsigned long long)tlb->hits, (unsigned long long)tlb->walks,
	      (unsigned long long)used, (unsigned long long)unflushed);
}

void stat_stale(struct pod *pod, char *text, size_t size)
{
	unsigned int i, hub;

	for (i = 0; i < pod->gpus; i++) {
		for (hub = 0; hub < HUBS; hub++)
			stale_line(text, size, &pod->gpu[i], pod->gpu[i].hub[hub].regs->name,
				   &pod->gpu[i].hub[hub].tlb);
		stale_line(text, size, &pod->gpu[i], "link", &pod->gpu[i].link.tlb);
	}
}

void stat_unknown(struct pod *pod, char *text, size_t size)
{
	unsigned int i;

	for (i = 0; i < pod->gpus; i++) {
		print(text, size, "gpu %u\n", i);
		count_print(&pod->gpu[i].unknown, text, size);
		regs_unknown(&pod->gpu[i], text, size);
	}
}
