// SPDX-License-Identifier: MIT
/*
 * The server of the vfio-user protocol: one socket and one thread for each GPU. A client that goes
 * away takes the power with it; the next one is welcome.
 */
#include <errno.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu.h"

#define MESSAGE_MAX	(1u << 21)
#define FDS_MAX		8

enum {
	VERSION = 1, DMA_MAP, DMA_UNMAP, GET_INFO, GET_REGION_INFO, GET_REGION_IO_FDS,
	GET_IRQ_INFO, SET_IRQS, REGION_READ, REGION_WRITE, DEVICE_RESET = 13,
};

enum { FLAG_REPLY = 1, FLAG_NO_REPLY = 0x10, FLAG_ERROR = 0x20 };
enum { DMA_WRITE = 2, UNMAP_ALL = 2 };

struct header {
	uint16_t id;
	uint16_t command;
	uint32_t size;
	uint32_t flags;
	uint32_t error;
};

struct region_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count;
	uint8_t data[];
};

struct message {
	struct header header;
	uint8_t *data;		/* what follows the header */
	uint32_t size;
	int fd[FDS_MAX];
	unsigned int fds;
};

/* ---- receiving and answering ---- */

static bool read_all(int sock, void *buf, size_t len)
{
	uint8_t *at = buf;
	ssize_t got;

	while (len) {
		got = recv(sock, at, len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

static void take_fds(struct msghdr *msg, struct message *m)
{
	struct cmsghdr *c;
	size_t bytes;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		bytes = c->cmsg_len - CMSG_LEN(0);
		if (bytes > sizeof(m->fd))
			bytes = sizeof(m->fd);
		memcpy(m->fd, CMSG_DATA(c), bytes);
		m->fds = (unsigned int)(bytes / sizeof(int));
	}
}

static bool receive(int sock, struct message *m)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	struct iovec iov = { &m->header, sizeof(m->header) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.space, .msg_controllen = sizeof(control.space),
	};
	ssize_t got;

	m->fds = 0;
	do
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return false;
	take_fds(&msg, m);
	if (!read_all(sock, (uint8_t *)&m->header + got, sizeof(m->header) - (size_t)got))
		return false;
	if (m->header.size < sizeof(m->header) || m->header.size > MESSAGE_MAX)
		return false;
	m->size = m->header.size - (uint32_t)sizeof(m->header);
	return read_all(sock, m->data, m->size);
}

static bool answer(struct gpu *gpu, struct message *m, const void *data, size_t size, int fd)
{
	struct header header = {
		.id = m->header.id, .command = m->header.command, .flags = FLAG_REPLY,
		.size = (uint32_t)(sizeof(header) + size),
	};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct iovec iov[2] = { { &header, sizeof(header) }, { (void *)(uintptr_t)data, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (m->header.flags & FLAG_NO_REPLY)
		return true;
	if (fd >= 0) {
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof(control.space);
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	return sendmsg(gpu->vfio.sock, &msg, MSG_NOSIGNAL) == (ssize_t)header.size;
}

static bool answer_error(struct gpu *gpu, struct message *m, uint32_t error)
{
	struct header header = {
		.id = m->header.id, .command = m->header.command, .size = sizeof(header),
		.flags = FLAG_REPLY | FLAG_ERROR, .error = error,
	};

	if (m->header.flags & FLAG_NO_REPLY)
		return true;
	return send(gpu->vfio.sock, &header, sizeof(header), MSG_NOSIGNAL) == sizeof(header);
}

/* ---- accesses to regions ---- */

static void mmio_read(struct gpu *gpu, struct region_access *a)
{
	uint32_t at, value, first = (uint32_t)a->offset & ~3u, len;

	for (at = first; at < a->offset + a->count; at += 4) {
		uint32_t skip = at < a->offset ? (uint32_t)a->offset - at : 0;

		value = reg_read(gpu, at >> 2);
		len = 4 - skip;
		if (len > a->offset + a->count - at - skip)
			len = (uint32_t)(a->offset + a->count - at - skip);
		memcpy(a->data + at + skip - a->offset, (uint8_t *)&value + skip, len);
	}
}

static void mmio_write(struct gpu *gpu, const struct region_access *a)
{
	uint32_t at, value;

	for (at = 0; at + 4 <= a->count; at += 4) {
		memcpy(&value, a->data + at, 4);
		reg_write(gpu, (uint32_t)(a->offset + at) >> 2, value);
	}
}

static uint64_t region_size(struct gpu *gpu, uint32_t region)
{
	switch (region) {
	case VFIO_PCI_BAR0_REGION_INDEX:
		return gpu->pod->vram_size;
	case VFIO_PCI_BAR2_REGION_INDEX:
		return DOORBELL_BYTES;
	case VFIO_PCI_BAR5_REGION_INDEX:
		return MMIO_BYTES;
	case VFIO_PCI_CONFIG_REGION_INDEX:
		return sizeof(gpu->pci.config);
	default:
		return 0;
	}
}

static bool access_valid(struct gpu *gpu, const struct message *m, bool write)
{
	const struct region_access *a = (const void *)m->data;
	uint64_t size;

	if (m->size < sizeof(*a) || (write && m->size - sizeof(*a) < a->count) ||
	    a->count > MESSAGE_MAX - 4096)
		return false;
	size = region_size(gpu, a->region);
	return a->offset <= size && a->count <= size - a->offset;
}

static bool region_read(struct gpu *gpu, struct message *m)
{
	struct region_access *a = (void *)m->data;

	if (!access_valid(gpu, m, false))
		return answer_error(gpu, m, EINVAL);
	memset(a->data, 0, a->count);
	if (a->region == VFIO_PCI_CONFIG_REGION_INDEX)
		pci_read(gpu, (uint32_t)a->offset, a->data, a->count);
	else if (a->region == VFIO_PCI_BAR5_REGION_INDEX)
		mmio_read(gpu, a);
	else if (a->region == VFIO_PCI_BAR0_REGION_INDEX)
		vram_read(gpu, a->offset, a->data, a->count);
	return answer(gpu, m, a, sizeof(*a) + a->count, -1);
}

static bool region_write(struct gpu *gpu, struct message *m)
{
	struct region_access *a = (void *)m->data;
	uint64_t value = 0;

	if (!access_valid(gpu, m, true))
		return answer_error(gpu, m, EINVAL);
	if (a->region == VFIO_PCI_CONFIG_REGION_INDEX) {
		pci_write(gpu, (uint32_t)a->offset, a->data, a->count);
	} else if (a->region == VFIO_PCI_BAR5_REGION_INDEX) {
		mmio_write(gpu, a);
	} else if (a->region == VFIO_PCI_BAR0_REGION_INDEX) {
		vram_write(gpu, a->offset, a->data, a->count);
	} else if (a->region == VFIO_PCI_BAR2_REGION_INDEX) {
		memcpy(&value, a->data, a->count < 8 ? a->count : 8);
		gpu_doorbell(gpu, a->offset, value);
	}
	return answer(gpu, m, a, sizeof(*a), -1);
}

/* ---- the other commands ---- */

static bool version(struct gpu *gpu, struct message *m)
{
	static const char caps[] = "{\"capabilities\":{\"max_msg_fds\":8,"
				   "\"max_data_xfer_size\":1048576,\"pgsizes\":4096}}";
	uint8_t reply[4 + sizeof(caps)];

	if (m->size < 4)
		return false;
	memcpy(reply, m->data, 4);
	memcpy(reply + 4, caps, sizeof(caps));
	return answer(gpu, m, reply, sizeof(reply), -1);
}

struct dma_map_message {
	uint32_t argsz, flags;
	uint64_t offset, addr, size;
};

/* ROM and the BARs of others come without a file: nothing is to be done for them. */
static bool do_dma_map(struct gpu *gpu, struct message *m)
{
	struct dma_map_message *map = (void *)m->data;

	if (m->size < sizeof(*map))
		return answer_error(gpu, m, EINVAL);
	if (m->fds && !dma_map_add(gpu, map->addr, map->size, m->fd[0], map->offset,
				   map->flags & DMA_WRITE))
		return answer_error(gpu, m, ENOSPC);
	return answer(gpu, m, NULL, 0, -1);
}

static bool do_dma_unmap(struct gpu *gpu, struct message *m)
{
	struct {
		uint32_t argsz, flags;
		uint64_t addr, size;
	} unmap;

	if (m->size < sizeof(unmap))
		return answer_error(gpu, m, EINVAL);
	memcpy(&unmap, m->data, sizeof(unmap));
	dma_map_remove(gpu, unmap.addr, unmap.size, unmap.flags & UNMAP_ALL);
	return answer(gpu, m, &unmap, sizeof(unmap), -1);
}

static bool device_info(struct gpu *gpu, struct message *m)
{
	uint32_t info[4] = {
		sizeof(info), VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI,
		VFIO_PCI_NUM_REGIONS, VFIO_PCI_NUM_IRQS,
	};

	return answer(gpu, m, info, sizeof(info), -1);
}

static bool region_info(struct gpu *gpu, struct message *m)
{
	struct {
		uint32_t argsz, flags, index, cap_offset;
		uint64_t size, offset;
	} info = {};

	if (m->size < 12)
		return answer_error(gpu, m, EINVAL);
	memcpy(&info, m->data, 12);
	info.argsz = sizeof(info);
	info.size = region_size(gpu, info.index);
	info.flags = info.size ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
	if (info.index == VFIO_PCI_BAR0_REGION_INDEX)
		info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
	return answer(gpu, m, &info, sizeof(info),
		      info.index == VFIO_PCI_BAR0_REGION_INDEX ? gpu->vram_fd : -1);
}

static bool irq_info(struct gpu *gpu, struct message *m)
{
	uint32_t info[4];

	if (m->size < sizeof(info))
		return answer_error(gpu, m, EINVAL);
	memcpy(info, m->data, sizeof(info));
	info[0] = sizeof(info);
	/* INTx, which is never raised, and MSI */
	info[1] = info[3] = info[2] <= VFIO_PCI_MSI_IRQ_INDEX;
	return answer(gpu, m, info, sizeof(info), -1);
}

static bool set_irqs(struct gpu *gpu, struct message *m)
{
	uint32_t set[5];

	if (m->size < sizeof(set))
		return answer_error(gpu, m, EINVAL);
	memcpy(set, m->data, sizeof(set));
	if (set[2] == VFIO_PCI_MSI_IRQ_INDEX && set[1] & VFIO_IRQ_SET_DATA_EVENTFD)
		ih_eventfd(gpu, m->fds ? dup(m->fd[0]) : -1);
	else if (set[2] == VFIO_PCI_MSI_IRQ_INDEX && !set[4])
		ih_eventfd(gpu, -1);
	return answer(gpu, m, NULL, 0, -1);
}

static bool device_reset(struct gpu *gpu, struct message *m)
{
	logmsg(gpu, "device reset");
	gpu_reset(gpu, RESET_LOSE);
	return answer(gpu, m, NULL, 0, -1);
}

static bool handle(struct gpu *gpu, struct message *m)
{
	switch (m->header.command) {
	case VERSION:
		return version(gpu, m);
	case DMA_MAP:
		return do_dma_map(gpu, m);
	case DMA_UNMAP:
		return do_dma_unmap(gpu, m);
	case GET_INFO:
		return device_info(gpu, m);
	case GET_REGION_INFO:
		return region_info(gpu, m);
	case GET_IRQ_INFO:
		return irq_info(gpu, m);
	case SET_IRQS:
		return set_irqs(gpu, m);
	case REGION_READ:
		return region_read(gpu, m);
	case REGION_WRITE:
		return region_write(gpu, m);
	case DEVICE_RESET:
		return device_reset(gpu, m);
	default:
		return answer_error(gpu, m, EOPNOTSUPP);
	}
}

/* ---- connections ---- */

static void serve(struct gpu *gpu)
{
	struct message m = { .data = malloc(MESSAGE_MAX) };
	unsigned int i;
	bool going = m.data;

	gpu_power(gpu, true);
	while (going && receive(gpu->vfio.sock, &m)) {
		going = handle(gpu, &m);
		for (i = 0; i < m.fds; i++)
			close(m.fd[i]);
	}
	gpu_power(gpu, false);
	free(m.data);
}

/* The lock is for vfio_stop(), which must not shut down another file of the same number. */
static void set_sock(struct gpu *gpu, int sock)
{
	pthread_mutex_lock(&gpu->vfio.lock);
	if (gpu->vfio.sock >= 0)
		close(gpu->vfio.sock);
	gpu->vfio.sock = sock;
	pthread_mutex_unlock(&gpu->vfio.lock);
}

static void *vfio_thread(void *arg)
{
	struct gpu *gpu = arg;
	struct ucred peer = {};
	socklen_t len = sizeof(peer);
	int sock;

	while (!gpu->pod->quit) {
		sock = accept4(gpu->vfio.listener, NULL, NULL, SOCK_CLOEXEC);
		if (sock < 0)
			break;
		getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len);
		gpu->vfio.pid = peer.pid;
		set_sock(gpu, sock);
		serve(gpu);
		set_sock(gpu, -1);
	}
	return NULL;
}

int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0 || strlen(path) >= sizeof(addr.sun_path))
		return -1;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	unlink(path);
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) || listen(sock, 16)) {
		close(sock);
		return -1;
	}
	return sock;
}

bool vfio_start(struct gpu *gpu, const char *dir)
{
	gpu->vfio.sock = -1;
	pthread_mutex_init(&gpu->vfio.lock, NULL);
	snprintf(gpu->vfio.path, sizeof(gpu->vfio.path), "%s/gpu%u.sock", dir, gpu->index);
	gpu->vfio.listener = listen_at(gpu->vfio.path);
	return gpu->vfio.listener >= 0 &&
	       !pthread_create(&gpu->vfio.thread, NULL, vfio_thread, gpu);
}

/* Ends the thread; the pod's quit is set. */
void vfio_stop(struct gpu *gpu)
{
	pthread_mutex_lock(&gpu->vfio.lock);
	if (gpu->vfio.sock >= 0)
		shutdown(gpu->vfio.sock, SHUT_RDWR);
	pthread_mutex_unlock(&gpu->vfio.lock);
	shutdown(gpu->vfio.listener, SHUT_RDWR);
	pthread_join(gpu->vfio.thread, NULL);
	close(gpu->vfio.listener);
	unlink(gpu->vfio.path);
}
