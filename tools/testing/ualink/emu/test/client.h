/* SPDX-License-Identifier: MIT */
/* A client of the emulator: vfio-user as QEMU speaks it, and the control socket. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define GUEST_BYTES	(4u << 20)	/* the guest's memory, from address 0 */

struct client {
	int sock;
	uint16_t id;
	int eventfd;
	uint8_t *guest;
	int guest_fd;
	uint8_t *vram;
	uint64_t vram_size;
};

/* ends the test program: what it stands on is broken */
void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...);

void client_open(struct client *c, const char *dir, unsigned int gpu);
void client_close(struct client *c);
uint32_t reg_read(struct client *c, uint32_t reg);
void reg_write(struct client *c, uint32_t reg, uint32_t value);
void doorbell(struct client *c, uint32_t index, uint64_t value);
uint32_t config_read(struct client *c, uint32_t offset);
void config_write(struct client *c, uint32_t offset, uint32_t value);
void device_reset(struct client *c);

pid_t emu_start(const char *program, const char *dir, char *const *args);
int emu_stop(pid_t pid);
/* Return: the answer, whose last line is "ok" or "error: ..."; valid until the next call */
const char *control(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
