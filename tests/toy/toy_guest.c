/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The toy's row for the frame's tests: its server, and its hosts. */
#include "../fake/guest.h"
#include "toy.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct toy_target server;
static struct addr server_at;

static int start(const struct guest_server *with, struct diag *diag)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct target_options opt = { .disks = 1,
		.listens = 1,
		.loops = with->loops,
		.nloops = with->nloops,
		.buffer = with->buffer,
		.buffers = with->buffers,
		.connections = with->connections,
		.open_ms = 10000,
		.stall_ms = with->stall_ms };
	int err;

	opt.disk[0].bdev = with->bdev;
	memcpy(&opt.listen[0].at.ss, &in, sizeof(in));
	opt.listen[0].at.len = sizeof(in);
	opt.listen[0].transports = TRANSPORT_TCP;
	server = (struct toy_target){ 0 };
	err = target_start(&server.target, with->loop, &toy_proto, &opt, 1000, diag);
	if (!err)
		target_transports(&server.target, 0, &server_at);
	return err;
}

static int stop(uint32_t timeout_ms, struct diag *diag)
{
	return target_stop(&server.target, timeout_ms, diag);
}

static void count(struct io_count *sum)
{
	target_get_count(&server.target, sum);
}

static unsigned connections(void)
{
	unsigned count = 0;

	for (const struct target_conn *conn = server.target.conns; conn; conn = conn->peer_next)
		count++;
	return count;
}

struct toy_guest {
	struct guest guest; /* first */
	struct guest_wire wire;
	bool greeted;
	uint16_t tag;
	const uint8_t *data;
	struct {
		uint16_t tag;
		uint32_t at, left;
	} grant[TOY_DEPTH];
	unsigned grants;
	uint32_t skip, heard; /* of a DATA frame: bytes to come; those that came */
};

static struct toy_guest *toy_of(struct guest *guest)
{
	return (struct toy_guest *)guest;
}

static struct guest *dial(unsigned host)
{
	struct toy_guest *toy = calloc(1, sizeof(*toy));

	(void)host;
	if (!toy)
		abort();
	guest_wire_dial(&toy->wire, &server_at);
	return &toy->guest;
}

static void leave(struct guest *guest)
{
	close(toy_of(guest)->wire.fd);
	free(guest);
}

static void put(struct toy_guest *toy, struct toy_frame frame, const void *p, size_t len)
{
	if (!guest_wire_put(&toy->wire, &frame, sizeof(frame)) ||
		!guest_wire_put(&toy->wire, p, len))
		abort();
}

static void say_hello(struct toy_guest *toy)
{
	char name[TOY_NAME];
	int len = snprintf(name, sizeof(name), "host %u", toy->guest.host);

	put(toy, (struct toy_frame){ .what = TOY_HELLO, .len = put_be32((uint32_t)len) }, name,
		(size_t)len);
	toy->greeted = true;
}

/* The first grant's next bytes, as far as the guest gives them. */
static bool give(struct toy_guest *toy)
{
	struct guest *guest = &toy->guest;
	size_t room = sizeof(toy->wire.out) - toy->wire.out_len;
	uint32_t len;

	if (!toy->grants || room <= sizeof(struct toy_frame))
		return false;
	len = toy->grant[0].left;
	if (len > guest->give)
		len = guest->give;
	if (len > room - sizeof(struct toy_frame))
		len = (uint32_t)(room - sizeof(struct toy_frame));
	if (!len)
		return false;
	put(toy,
		(struct toy_frame){ .what = TOY_DATA,
			.tag = put_be16(toy->grant[0].tag),
			.len = put_be32(len) },
		toy->data + toy->grant[0].at, len);
	guest->give -= guest->give == GUEST_ALL ? 0 : len;
	toy->grant[0].at += len;
	toy->grant[0].left -= len;
	if (!toy->grant[0].left)
		memmove(toy->grant, toy->grant + 1, --toy->grants * sizeof(toy->grant[0]));
	return true;
}

static void act_on(struct toy_guest *toy, const struct toy_frame *frame)
{
	struct guest *guest = &toy->guest;

	switch (frame->what) {
	case TOY_WELCOME:
		guest->joined = true;
		break;
	case TOY_GRANT:
		toy->grant[toy->grants].tag = get_be16(frame->tag);
		toy->grant[toy->grants].at = (uint32_t)get_be64(frame->off);
		toy->grant[toy->grants++].left = get_be32(frame->len);
		break;
	case TOY_DATA:
		toy->skip = get_be32(frame->len);
		toy->heard = (uint32_t)get_be64(frame->off);
		break;
	case TOY_DONE:
		guest->answered++;
		guest->failed += get_be32(frame->len) != 0;
		break;
	default:
		abort();
	}
}

static bool hear(struct toy_guest *toy)
{
	struct guest_wire *wire = &toy->wire;
	struct toy_frame frame;

	if (toy->skip) {
		uint32_t len = toy->skip < wire->in_len ? toy->skip : (uint32_t)wire->in_len;

		for (uint32_t i = 0; i < len && toy->heard + i < GUEST_HEARD; i++)
			toy->guest.heard[toy->heard + i] = wire->in[i];
		guest_wire_drop(wire, len);
		toy->heard += len;
		toy->skip -= len;
		return len;
	}
	if (wire->in_len < sizeof(frame))
		return false;
	memcpy(&frame, wire->in, sizeof(frame));
	guest_wire_drop(wire, sizeof(frame));
	act_on(toy, &frame);
	return true;
}

static void poll_it(struct guest *guest, bool join)
{
	struct toy_guest *toy = toy_of(guest);

	if (join && !toy->greeted)
		say_hello(toy);
	guest->over |= guest_wire_poll(&toy->wire, guest->deaf);
	while (hear(toy))
		;
	while (give(toy))
		;
	guest->over |= guest_wire_poll(&toy->wire, true);
}

static void ask(struct guest *guest, uint8_t what, uint64_t off, uint32_t len)
{
	struct toy_guest *toy = toy_of(guest);

	put(toy,
		(struct toy_frame){ .what = what,
			.tag = put_be16(toy->tag++),
			.len = put_be32(len),
			.off = put_be64(off) },
		NULL, 0);
	guest->asked++;
}

static void ask_read(struct guest *guest, uint64_t off, uint32_t len)
{
	ask(guest, TOY_READ, off, len);
}

static void ask_write(struct guest *guest, uint64_t off, uint32_t len, const void *data)
{
	toy_of(guest)->data = data;
	ask(guest, TOY_WRITE, off, len);
}

const struct guest_kind guest_toy = {
	.name = "toy",
	.depth = TOY_DEPTH,
	.most = TOY_MOST,
	.open_limit = true,
	.give_limit = true,
	.take_limit = true,
	.start = start,
	.stop = stop,
	.count = count,
	.connections = connections,
	.dial = dial,
	.leave = leave,
	.poll = poll_it,
	.read = ask_read,
	.write = ask_write,
};
