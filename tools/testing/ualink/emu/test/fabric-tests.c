// SPDX-License-Identifier: MIT
/* Messages and links. */
#include <string.h>

#include "tests.h"

static struct device *const a = &dev[0], *const b = &dev[1];

static void enable_both(void)
{
	CHECK(ual_enable(a, true) && ual_enable(b, true));
}

static void messages(void)
{
	struct irq irq;
	uint32_t i, value;

	enable_both();
	for (i = 0; i < 20; i++) {
		CHECK(message_send(a, 2, 1, 100 + i));
		CHECK(irq_wait(b, CLIENT_UALINK, IRQ_RX, &irq) && irq.data[0] == 1);
		CHECK(message_get(b, 1, &value) && value == 100 + i);
		CHECK(message_send(b, 1, 2, 200 + i));
		CHECK(message_get(a, 2, &value) && value == 200 + i);
	}
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 20));
	CHECK(ual_counter(a, TAKEN) == 20 && ual_counter(a, GIVEN) == 20);
	/* to itself, and to nobody */
	CHECK(message_send(a, 1, 1, 7) && message_get(a, 1, &value) && value == 7);
	CHECK(message_send(a, 9, 1, 7) && UNTIL(ring_pointer(a, 1, 9) == 1));
}

static void full_ring(void)
{
	uint32_t i, sent = 0, value;
	struct irq irq;

	enable_both();
	/* the receiver's ring, and then the sender's */
	while (sent < 2 * DEPTH) {
		if (CHECK(UNTIL(message_send(a, 2, 1, sent))))
			sent++;
		if (sent == DEPTH)
			CHECK(UNTIL(ring_pointer(a, 1, 2) == DEPTH));
	}
	usleep(5000);
	CHECK(ring_pointer(a, 1, 2) == DEPTH && ring_pointer(b, 2, 1) == DEPTH);
	CHECK(!message_send(a, 2, 1, sent));
	/* another pair is not held up */
	CHECK(message_send(b, 1, 1, 5) && message_get(a, 2, &value) && value == 5);
	for (i = 0; i < 2 * DEPTH; i++)
		CHECK(message_get(b, 1, &value) && value == i);
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_TX, &irq) && irq.data[0] == 2);
	CHECK(message_send(a, 2, 1, 99) && message_get(b, 1, &value) && value == 99);
}

/* Pointers that the driver has written count when their doorbell is rung. */
static void doorbells(void)
{
	uint32_t i, value = 1;

	enable_both();
	for (i = 0; i < DEPTH; i++)
		CHECK(message_send(a, 2, 1, i));
	CHECK(UNTIL(ring_pointer(b, 2, 1) == DEPTH));
	for (i = 0; i < DEPTH; i++)
		CHECK(message_take(b, 1, &value) && value == i);
	/* nobody has said that there is room: neither another ring's doorbell, nor new messages */
	CHECK(message_send(a, 2, 1, 50));
	ual_write(b, UAL_RX_DOORBELL, 2);
	CHECK(message_send(b, 1, 1, 51) && message_get(a, 2, &value) && value == 51);
	usleep(10000);
	CHECK(ring_pointer(b, 2, 1) == DEPTH && ring_pointer(a, 1, 2) == DEPTH);
	ual_write(b, UAL_RX_DOORBELL, 1);
	CHECK(message_get(b, 1, &value) && value == 50);
	CHECK(ring_pointer(b, 2, 1) == DEPTH + 1);
	/* nor is what nobody has rung for sent along with what comes back from another one */
	value = a->tx_wptr[2] + 1;
	memcpy(a->c.vram + RING_AREA + 8, &value, 4);
	ual_write(b, UAL_RX_DOORBELL, 1);
	usleep(10000);
	CHECK(ring_pointer(a, 1, 2) == DEPTH + 1);
	ual_write(a, UAL_TX_DOORBELL, 2);
	CHECK(UNTIL(ring_pointer(a, 1, 2) == DEPTH + 2));
	ual_write(a, UAL_RX_DOORBELL, IDS);
	CHECK(strstr(control("unknown"), "1 UALink: a doorbell for no id"));
}

/* Messages that wait for room are taken, and lost, once nobody is there to take them. */
static void full_and_gone(void)
{
	uint32_t round, sent, value;

	for (round = 0; round < 4; round++) {
		enable_both();
		for (sent = 0; sent < 2 * DEPTH;)
			sent += CHECK(UNTIL(message_send(a, 2, 1, sent)));
		usleep(5000);
		CHECK(ring_pointer(b, 2, 1) == DEPTH && ring_pointer(a, 1, 2) == DEPTH);
		if (round < 2)
			control(round ? "cut 2 1" : "cut 1 2");
		else if (round == 2)
			CHECK(ual_enable(b, false));
		else
			control("crash 2");
		CHECK(UNTIL(ring_pointer(a, 1, 2) == 2 * DEPTH));
		control("join 1 2");
		device_reset(&a->c);
		device_reset(&b->c);
		device_setup(a);
		device_setup(b);
	}
	enable_both();
	CHECK(message_send(a, 2, 1, 7) && message_get(b, 1, &value) && value == 7);
}

static void drop(void)
{
	uint32_t value;

	enable_both();
	CHECK(!strcmp(control("drop 4 1 from 1 to 2"), "ok\n"));
	message_send(a, 2, 3, 1);
	message_send(a, 2, 4, 2);
	message_send(a, 2, 4, 3);
	CHECK(message_get(b, 1, &value) && value == 1);
	CHECK(message_get(b, 1, &value) && value == 3);
	CHECK(strstr(control("fabric"), "dropped 1 repeated 0"));
	control("drop any");
	message_send(b, 1, 1, 4);
	CHECK(UNTIL(ring_pointer(b, 1, 1) == 1));
	usleep(3000);
	CHECK(ring_pointer(a, 2, 2) == 0);
	control("drop any 0");
	message_send(b, 1, 1, 5);
	CHECK(message_get(a, 2, &value) && value == 5);
	CHECK(strstr(control("drop from"), "error: "));
}

static void dup_and_reorder(void)
{
	uint32_t value;

	enable_both();
	control("dup any 1");
	message_send(a, 2, 1, 1);
	CHECK(message_get(b, 1, &value) && value == 1);
	CHECK(message_get(b, 1, &value) && value == 1);
	control("reorder any 1");
	message_send(a, 2, 1, 2);
	message_send(a, 2, 1, 3);
	CHECK(message_get(b, 1, &value) && value == 3);
	CHECK(message_get(b, 1, &value) && value == 2);
	control("corrupt 9 1");
	message_send(a, 2, 9, 4);
	if (CHECK(UNTIL(ring_pointer(b, 2, 1) != b->rx_rptr[1]))) {
		CHECK(*message_last(b, 1) == (4 ^ 0xff));
		*message_last(b, 1) = 4;
		CHECK(message_get(b, 1, &value) && value == 4);
	}
	/* none comes to go behind */
	control("reorder any 1");
	message_send(a, 2, 1, 4);
	CHECK(message_get(b, 1, &value) && value == 4);
}

static void delay(void)
{
	uint64_t start = wait_us();
	uint32_t i, value;

	enable_both();
	control("delay 60");
	for (i = 0; i < 2 * DEPTH; i++)
		CHECK(UNTIL(message_send(a, 2, 1, i)));
	for (i = 0; i < 2 * DEPTH; i++)
		CHECK(message_get(b, 1, &value) && value == i);
	CHECK(wait_us() - start >= 60000);
	control("delay 300");
	message_send(a, 2, 1, 77);
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 2 * DEPTH + 1));
	/* what is under way is lost with the link */
	control("cut 1 2");
	control("join 1 2");
	control("delay 0");
	message_send(a, 2, 1, 78);
	CHECK(message_get(b, 1, &value) && value == 78);
	usleep(400000);
	CHECK(!message_take(b, 1, &value));
}

static void mute(void)
{
	uint32_t value;

	enable_both();
	control("mute 1");
	message_send(a, 2, 1, 1);
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 1));
	message_send(b, 1, 1, 2);
	CHECK(message_get(a, 2, &value) && value == 2);
	control("unmute 1");
	message_send(a, 2, 1, 3);
	CHECK(message_get(b, 1, &value) && value == 3);
}

static void disabled(void)
{
	uint32_t value;

	CHECK(ual_enable(a, true));
	message_send(a, 2, 1, 1);	/* nobody listens */
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 1));
	CHECK(ual_enable(b, true));
	message_send(a, 2, 1, 2);
	CHECK(message_get(b, 1, &value) && value == 2);
	/* after it is disabled, the area is left alone */
	CHECK(ual_enable(b, false));
	memset(b->c.vram + RING_AREA, 0, 16 * IDS);
	message_send(a, 2, 1, 3);
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 3));
	usleep(3000);
	CHECK(ring_pointer(b, 2, 1) == 0);
	memset(b->rx_rptr, 0, sizeof(b->rx_rptr));
	CHECK(ual_enable(b, true));
	message_send(a, 2, 1, 4);
	CHECK(message_get(b, 1, &value) && value == 4);
}

/* A block that is enabled starts with the pointers that it finds. */
static void start_pointers(void)
{
	const uint32_t start = UINT32_MAX - 1;
	uint32_t array, i, value;

	for (array = 0; array < 4; array++) {
		memcpy(a->c.vram + RING_AREA + 4 * (array * IDS + 2), &start, 4);
		memcpy(b->c.vram + RING_AREA + 4 * (array * IDS + 1), &start, 4);
	}
	a->tx_wptr[2] = start;
	a->rx_rptr[2] = start;
	b->tx_wptr[1] = start;
	b->rx_rptr[1] = start;
	enable_both();
	/* before the other one rings for what it sends */
	ual_write(a, UAL_RX_DOORBELL, 2);
	usleep(20000);
	CHECK(ual_counter(b, TAKEN) == 0);
	for (i = 0; i < DEPTH; i++) {
		CHECK(message_send(a, 2, 1, 100 + i));
		CHECK(message_send(b, 1, 1, 200 + i));
	}
	CHECK(UNTIL(ring_pointer(b, 2, 1) == DEPTH - 2 && ring_pointer(a, 2, 2) == DEPTH - 2));
	for (i = 0; i < DEPTH; i++) {
		CHECK(message_get(b, 1, &value) && value == 100 + i);
		CHECK(message_get(a, 2, &value) && value == 200 + i);
	}
	CHECK(!strstr(control("unknown"), "UALink"));
}

static void bad_area(void)
{
	control("allow-vmid0 1");
	ual_write64(a, UAL_RING_BASE, 0x123000);	/* nothing is there for VMID 0 */
	ual_write(a, UAL_CNTL, 1);
	CHECK(UNTIL((ual_read(a, UAL_STATUS) & 6) == 6));
	ual_write(a, UAL_CNTL, 0);
	CHECK(UNTIL(!(ual_read(a, UAL_STATUS) & 2)));
	CHECK(ual_enable(a, true) && ual_read(a, UAL_STATUS) == 3);
}

/* What the driver does wrong is counted. */
static void misuse(void)
{
	uint32_t value;

	CHECK(!strstr(control("unknown"), "UALink"));
	enable_both();
	ual_write(a, UAL_TX_DOORBELL, IDS);
	CHECK(strstr(control("unknown"), "1 UALink: a doorbell for no id"));
	a->tx_wptr[2] = DEPTH + 1;
	memcpy(a->c.vram + RING_AREA + 8, &a->tx_wptr[2], 4);
	ual_write(a, UAL_TX_DOORBELL, 2);
	CHECK(UNTIL(strstr(control("unknown"), "UALink: tx_wptr beyond the ring")));
	CHECK(ring_pointer(a, 1, 2) == 0);
	value = 1;
	memcpy(a->c.vram + RING_AREA + 4 * (3 * IDS + 2), &value, 4);
	ual_write(a, UAL_RX_DOORBELL, 2);
	CHECK(UNTIL(strstr(control("unknown"), "UALink: rx_rptr beyond rx_wptr")));
	message_send(b, 1, 1, 1);
	usleep(3000);
	CHECK(ring_pointer(a, 2, 2) == 0);
	ual_write64(a, UAL_RING_BASE, 0);
	CHECK(strstr(control("unknown"), "UALink: RING_BASE while enabled"));
	ual_write(a, UAL_STATUS, 0);
	CHECK(strstr(control("unknown"), "UALink: write to register 0x3"));
}

static void links(void)
{
	uint32_t value;
	struct irq irq;

	enable_both();
	CHECK(ual_read(a, UAL_ROUTES) == 6 && ual_read(b, UAL_ROUTES) == 6);
	control("cut 2 1");
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 2 && !irq.data[1]);
	CHECK(irq_wait(b, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 1 && !irq.data[1]);
	CHECK(ual_read(a, UAL_ROUTES) == 2 && ual_read(b, UAL_ROUTES) == 4);
	message_send(a, 2, 1, 1);
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 1));
	control("join 1 2");
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 2 && irq.data[1] == 1);
	message_send(a, 2, 1, 2);
	CHECK(message_get(b, 1, &value) && value == 2);
}

static void management(void)
{
	uint32_t generation = ual_read(a, UAL_GENERATION);
	struct irq irq;

	CHECK(ual_read(a, UAL_VPOD) != 0 && ual_read(a, UAL_MEMBERS) == 6);
	CHECK(ual_read(a, UAL_MEMBERS + 1) == 0);
	control("vpod 2 00112233-4455-6677-8899-aabbccddeeff");
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_MANAGED, &irq) && irq.data[0] == generation + 1);
	CHECK(ual_read(a, UAL_GENERATION) == generation + 1);
	CHECK(ual_read(a, UAL_MEMBERS) == 2 && ual_read(b, UAL_MEMBERS) == 4);
	CHECK(ual_read(b, UAL_VPOD) == 0x33221100 && ual_read(b, UAL_VPOD + 3) == 0xffeeddcc);
	control("vpod 2 none");
	CHECK(ual_read(b, UAL_MEMBERS) == 0 && ual_read(b, UAL_VPOD) == 0);
	control("provision 1 0");
	CHECK(ual_read(a, UAL_STATUS) == 0);
	/* survives a reset */
	control("vpod 2 00112233445566778899aabbccddeeff");
	device_reset(&b->c);
	CHECK(ual_read(b, UAL_MEMBERS) == 4 && ual_read(b, UAL_VPOD) == 0x33221100);
	CHECK(strstr(control("vpod 2 xyz"), "error: "));
	CHECK(strstr(control("vpod 5 none"), "error: "));
}

static void power(void)
{
	struct irq irq;
	uint32_t value;

	enable_both();
	memset(b->c.vram + DATA, 0x5a, 4096);
	client_close(&b->c);
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 2 && !irq.data[1]);
	CHECK(ual_read(a, UAL_ROUTES) == 2);
	message_send(a, 2, 1, 1);
	CHECK(UNTIL(ring_pointer(a, 1, 2) == 1));
	device_open(b, dir, 1);
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 2 && irq.data[1] == 1);
	CHECK(vram32(b, DATA) != 0x5a5a5a5a && vram32(b, DATA) != 0);
	CHECK(ual_enable(b, true));
	message_send(a, 2, 1, 2);
	CHECK(message_get(b, 1, &value) && value == 2);
}

static void crash(void)
{
	struct irq irq;
	uint32_t value;

	enable_both();
	memset(b->c.vram + DATA, 0x5a, 4096);
	control("crash 2");
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 2 && !irq.data[1]);
	CHECK(vram32(b, DATA) != 0x5a5a5a5a);
	CHECK(ual_read(b, UAL_STATUS) == 1 && ual_read(b, UAL_ROUTES) == 0);
	device_reset(&b->c);
	device_setup(b);
	CHECK(irq_wait(a, CLIENT_UALINK, IRQ_LINK, &irq) && irq.data[0] == 2 && irq.data[1] == 1);
	CHECK(ual_enable(b, true));
	message_send(b, 1, 1, 2);
	CHECK(message_get(a, 2, &value) && value == 2);
}

const struct test fabric_tests[] = {
	{ "messages", messages }, { "doorbells", doorbells }, { "full_ring", full_ring },
	{ "full_and_gone", full_and_gone }, { "drop", drop },
	{ "dup_and_reorder", dup_and_reorder }, { "delay", delay }, { "mute", mute },
	{ "disabled", disabled }, { "start_pointers", start_pointers },
	{ "bad_area", bad_area }, { "misuse", misuse },
	{ "links", links },
	{ "management", management }, { "power", power }, { "crash", crash }, {}
};
