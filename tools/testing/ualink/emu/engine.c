// SPDX-License-Identifier: MIT
/*
 * Engines: threads that run when they are kicked. A doorbell only kicks, and the work comes a
 * random time later, so that a driver which forgets to wait for it does not get away with that.
 */
#include <time.h>

#include "emu.h"

uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A lock whose readers, which are accesses, cannot starve who waits for their end */
void lock_init(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

/* xorshift64* */
uint32_t engine_random(struct engine *engine)
{
	uint64_t x = engine->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	engine->random = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dull) >> 32);
}

void engine_seed(struct engine *engine)
{
	uint64_t seed = engine->gpu->pod->seed;

	pthread_mutex_lock(&engine->lock);
	engine->random = (seed + 1) * 0x9e3779b97f4a7c15ull ^
			 (uint64_t)(engine->gpu->index * 64 + engine->index + 1) << 20;
	pthread_mutex_unlock(&engine->lock);
}

/* Sleeps. Return: false when the engine is to stop. */
bool engine_pause(struct engine *engine, uint64_t us)
{
	uint64_t due = clock_us() + us;
	struct timespec until = { (time_t)(due / 1000000), (long)(due % 1000000) * 1000 };
	bool go;

	pthread_mutex_lock(&engine->lock);
	while (!engine->stop && !engine->quit && clock_us() < due)
		pthread_cond_timedwait(&engine->cond, &engine->lock, &until);
	go = !engine->stop && !engine->quit;
	pthread_mutex_unlock(&engine->lock);
	return go;
}

static void engine_delay(struct engine *engine)
{
	uint32_t limit = engine->gpu->pod->engine_delay_us;

	if (engine->delayed && limit)
		engine_pause(engine, engine_random(engine) % limit);
}

static void *engine_thread(void *arg)
{
	struct engine *engine = arg;

	pthread_mutex_lock(&engine->lock);
	while (!engine->quit) {
		if (!engine->kicked) {
			pthread_cond_wait(&engine->cond, &engine->lock);
			continue;
		}
		engine->kicked = false;
		engine->running = true;
		pthread_mutex_unlock(&engine->lock);
		engine_delay(engine);
		if (!engine->stop)
			engine->run(engine);
		pthread_mutex_lock(&engine->lock);
		engine->running = false;
		engine->stop = false;
		pthread_cond_broadcast(&engine->cond);
	}
	pthread_mutex_unlock(&engine->lock);
	return NULL;
}

void engine_init(struct engine *engine, struct gpu *gpu, const char *name, unsigned int index,
		 bool delayed, void (*run)(struct engine *engine))
{
	pthread_condattr_t attr;

	engine->gpu = gpu;
	engine->name = name;
	engine->index = index;
	engine->delayed = delayed;
	engine->run = run;
	pthread_mutex_init(&engine->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&engine->cond, &attr);
	pthread_condattr_destroy(&attr);
	engine_seed(engine);
	pthread_create(&engine->thread, NULL, engine_thread, engine);
}

void engine_kick(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	engine->kicked = true;
	pthread_cond_broadcast(&engine->cond);
	pthread_mutex_unlock(&engine->lock);
}

/* Ends the work that an engine does, without waiting for that. */
void engine_interrupt(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	if (engine->running)
		engine->stop = true;
	pthread_cond_broadcast(&engine->cond);
	pthread_mutex_unlock(&engine->lock);
}

/* Ends the work that an engine does, and forgets kicks. Not for the engine itself. */
void engine_stop(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	engine->kicked = false;
	while (engine->running) {
		engine->stop = true;
		pthread_cond_broadcast(&engine->cond);
		pthread_cond_wait(&engine->cond, &engine->lock);
		engine->kicked = false;
	}
	pthread_mutex_unlock(&engine->lock);
}

void engine_quit(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	engine->quit = true;
	engine->stop = true;
	pthread_cond_broadcast(&engine->cond);
	pthread_mutex_unlock(&engine->lock);
	pthread_join(engine->thread, NULL);
}
