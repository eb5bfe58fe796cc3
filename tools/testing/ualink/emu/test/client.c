// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client.h"

enum { VERSION = 1, DMA_MAP = 2, REGION_INFO = 5, SET_IRQS = 8, READ = 9, WRITE = 10, RESET = 13 };
enum { BAR0 = 0, BAR2 = 2, BAR5 = 5, CONFIG = 7 };

static int control_sock = -1;
static int report_pipe = -1;

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf(" (%s)\n", strerror(errno));
	exit(1);
}

static int connect_to(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		die("cannot connect to %s", path);
	return sock;
}

/* ---- vfio-user ---- */

static void read_all(int sock, void *buf, size_t len)
{
	uint8_t *at = buf;
	ssize_t got;

	while (len) {
		got = read(sock, at, len);
		if (got <= 0)
			die("the emulator has hung up");
		at += got;
		len -= (size_t)got;
	}
}

static void send_message(struct client *c, uint16_t command, const void *data, size_t size, int fd)
{
	struct {
		uint16_t id, command;
		uint32_t size, flags, error;
	} header = { ++c->id, command, (uint32_t)(16 + size), 0, 0 };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov[2] = { { &header, 16 }, { (void *)(uintptr_t)data, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (fd >= 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	if (sendmsg(c->sock, &msg, MSG_NOSIGNAL) < 0)
		die("cannot send");
}

/* Return: a file that came with the answer, or -1 */
static int receive(struct client *c, void *data, size_t size)
{
	struct {
		uint16_t id, command;
		uint32_t size, flags, error;
	} header;
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov = { &header, sizeof(header) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.space, .msg_controllen = sizeof(control.space),
	};
	uint8_t rest[256];
	int fd = -1;

	if (recvmsg(c->sock, &msg, MSG_WAITALL) != sizeof(header) || header.id != c->id ||
	    header.flags != 1 || header.size - 16 > sizeof(rest))
		die("a bad answer to command %u", header.command);
	read_all(c->sock, rest, header.size - 16);
	if (data)
		memcpy(data, rest, size);
	if (CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void region(struct client *c, uint16_t command, uint32_t region, uint64_t offset, void *data,
		   uint32_t len)
{
	struct {
		uint64_t offset;
		uint32_t region, count;
		uint8_t data[8];
	} access = { .offset = offset, .region = region, .count = len };

	if (command == WRITE)
		memcpy(access.data, data, len);
	send_message(c, command, &access, 16 + (command == WRITE ? len : 0), -1);
	receive(c, &access, 16 + (command == READ ? len : 0));
	if (command == READ)
		memcpy(data, access.data, len);
}

uint32_t reg_read(struct client *c, uint32_t reg)
{
	uint32_t value;

	region(c, READ, BAR5, reg * 4ull, &value, 4);
	return value;
}

void reg_write(struct client *c, uint32_t reg, uint32_t value)
{
	region(c, WRITE, BAR5, reg * 4ull, &value, 4);
}

void doorbell(struct client *c, uint32_t index, uint64_t value)
{
	region(c, WRITE, BAR2, index * 4ull, &value, 8);
}

uint32_t config_read(struct client *c, uint32_t offset)
{
	uint32_t value;

	region(c, READ, CONFIG, offset, &value, 4);
	return value;
}

void config_write(struct client *c, uint32_t offset, uint32_t value)
{
	region(c, WRITE, CONFIG, offset, &value, 4);
}

void device_reset(struct client *c)
{
	send_message(c, RESET, NULL, 0, -1);
	receive(c, NULL, 0);
}

static void map_guest(struct client *c)
{
	struct {
		uint32_t argsz, flags;
		uint64_t offset, addr, size;
	} map = { sizeof(map), 3, 0, 0, GUEST_BYTES };

	c->guest_fd = memfd_create("guest", MFD_CLOEXEC);
	if (ftruncate(c->guest_fd, GUEST_BYTES))
		die("no memory");
	c->guest = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c->guest_fd, 0);
	send_message(c, DMA_MAP, &map, sizeof(map), c->guest_fd);
	receive(c, NULL, 0);
}

static void map_vram(struct client *c)
{
	struct {
		uint32_t argsz, flags, index, cap_offset;
		uint64_t size, offset;
	} info = { .argsz = sizeof(info), .index = BAR0 };
	int fd;

	send_message(c, REGION_INFO, &info, sizeof(info), -1);
	fd = receive(c, &info, sizeof(info));
	c->vram_size = info.size;
	c->vram = mmap(NULL, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
}

static void set_irq(struct client *c)
{
	uint32_t set[5] = { sizeof(set), 0x24, 1, 0, 1 };

	c->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	send_message(c, SET_IRQS, set, sizeof(set), c->eventfd);
	receive(c, NULL, 0);
}

/* Connects to a GPU, as a VM that starts does. */
void client_open(struct client *c, const char *dir, unsigned int gpu)
{
	uint16_t version[2] = { 0, 1 };
	char path[256];

	memset(c, 0, sizeof(*c));
	snprintf(path, sizeof(path), "%s/gpu%u.sock", dir, gpu);
	c->sock = connect_to(path);
	send_message(c, VERSION, version, sizeof(version), -1);
	receive(c, NULL, 0);
	map_guest(c);
	map_vram(c);
	set_irq(c);
}

/* As a VM that is killed */
void client_close(struct client *c)
{
	close(c->sock);
	close(c->eventfd);
	close(c->guest_fd);
	munmap(c->guest, GUEST_BYTES);
	munmap(c->vram, c->vram_size);
}

/* ---- the emulator ---- */

pid_t emu_start(const char *program, const char *dir, char *const *args)
{
	char path[256], line[64] = "";
	int out[2];
	pid_t pid;

	if (pipe(out))
		die("no pipe");
	pid = fork();
	if (!pid) {
		/* when a test dies, so does it */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execv(program, args);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], line, 6) != 6 || memcmp(line, "ready\n", 6))
		die("%s does not start", program);
	report_pipe = out[0];
	snprintf(path, sizeof(path), "%s/control.sock", dir);
	control_sock = connect_to(path);
	return pid;
}

/* Return: its exit status; -1 when a signal ended it */
int emu_stop(pid_t pid)
{
	char report[4096];
	int status;

	close(control_sock);
	control_sock = -1;
	kill(pid, SIGTERM);
	while (read(report_pipe, report, sizeof(report)) > 0)
		;
	close(report_pipe);
	if (waitpid(pid, &status, 0) != pid)
		die("where is the emulator?");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool answered(const char *text)
{
	const char *line = text + strlen(text);

	if (line == text || line[-1] != '\n')
		return false;
	for (line--; line > text && line[-1] != '\n'; line--)
		;
	return !strcmp(line, "ok\n") || !strncmp(line, "error: ", 7);
}

const char *control(const char *format, ...)
{
	static char answer[65536];
	char line[256];
	size_t used = 0;
	va_list args;
	ssize_t got;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	line[len++] = '\n';
	if (write(control_sock, line, (size_t)len) != len)
		die("the control socket is gone");
	answer[0] = 0;
	while (!answered(answer)) {
		got = read(control_sock, answer + used, sizeof(answer) - used - 1);
		if (got <= 0)
			die("no answer to %s", line);
		used += (size_t)got;
		answer[used] = 0;
	}
	return answer;
}
