/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The toy's row for the frame's tests: its server, and its hosts. */
#include "../fake/frame_client.h"
#include "toy.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct toy_target server;
static struct addr server_at;

static int start(const struct frame_server *with, struct diag *diag)
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

struct toy_frame_client {
	struct frame_client client; /* first */
	struct frame_wire wire;
	bool greeted;
	uint16_t tag;
	const uint8_t *data;
	struct {
		uint16_t tag;
		uint32_t at, left;
	} grant[TOY_DEPTH];
	unsigned grants;
	uint32_t skip, read_data; /* of a DATA frame: bytes to come; those that came */
};

static struct toy_frame_client *toy_of(struct frame_client *client)
{
	return (struct toy_frame_client *)client;
}

static struct frame_client *dial(unsigned host)
{
	struct toy_frame_client *toy = calloc(1, sizeof(*toy));

	(void)host;
	if (!toy)
		abort();
	frame_wire_dial(&toy->wire, &server_at);
	return &toy->client;
}

static void leave(struct frame_client *client)
{
	close(toy_of(client)->wire.fd);
	free(client);
}

static void put(struct toy_frame_client *toy, struct toy_frame frame, const void *p, size_t len)
{
	if (!frame_wire_put(&toy->wire, &frame, sizeof(frame)) ||
		!frame_wire_put(&toy->wire, p, len))
		abort();
}

static void say_hello(struct toy_frame_client *toy)
{
	char name[TOY_NAME];
	int len = snprintf(name, sizeof(name), "host %u", toy->client.host);

	put(toy, (struct toy_frame){ .what = TOY_HELLO, .len = put_be32((uint32_t)len) }, name,
		(size_t)len);
	toy->greeted = true;
}

/* The first grant's next bytes, as far as the client gives them. */
static bool give(struct toy_frame_client *toy)
{
	struct frame_client *client = &toy->client;
	size_t room = sizeof(toy->wire.out) - toy->wire.out_len;
	uint32_t len;

	if (!toy->grants || room <= sizeof(struct toy_frame))
		return false;
	len = toy->grant[0].left;
	if (len > client->give)
		len = client->give;
	if (len > room - sizeof(struct toy_frame))
		len = (uint32_t)(room - sizeof(struct toy_frame));
	if (!len)
		return false;
	put(toy,
		(struct toy_frame){ .what = TOY_DATA,
			.tag = put_be16(toy->grant[0].tag),
			.len = put_be32(len) },
		toy->data + toy->grant[0].at, len);
	client->give -= client->give == FRAME_ALL ? 0 : len;
	toy->grant[0].at += len;
	toy->grant[0].left -= len;
	if (!toy->grant[0].left)
		memmove(toy->grant, toy->grant + 1, --toy->grants * sizeof(toy->grant[0]));
	return true;
}

static void act_on(struct toy_frame_client *toy, const struct toy_frame *frame)
{
	struct frame_client *client = &toy->client;

	switch (frame->what) {
	case TOY_WELCOME:
		client->joined = true;
		break;
	case TOY_GRANT:
		toy->grant[toy->grants].tag = get_be16(frame->tag);
		toy->grant[toy->grants].at = (uint32_t)get_be64(frame->off);
		toy->grant[toy->grants++].left = get_be32(frame->len);
		break;
	case TOY_DATA:
		toy->skip = get_be32(frame->len);
		toy->read_data = (uint32_t)get_be64(frame->off);
		break;
	case TOY_DONE:
		client->answered++;
		client->failed += get_be32(frame->len) != 0;
		break;
	default:
		abort();
	}
}

static bool hear(struct toy_frame_client *toy)
{
	struct frame_wire *wire = &toy->wire;
	struct toy_frame frame;

	if (toy->skip) {
		uint32_t len = toy->skip < wire->in_len ? toy->skip : (uint32_t)wire->in_len;

		for (uint32_t i = 0; i < len && toy->read_data + i < FRAME_READ_MAX; i++)
			toy->client.read_data[toy->read_data + i] = wire->in[i];
		frame_wire_drop(wire, len);
		toy->read_data += len;
		toy->skip -= len;
		return len;
	}
	if (wire->in_len < sizeof(frame))
		return false;
	memcpy(&frame, wire->in, sizeof(frame));
	frame_wire_drop(wire, sizeof(frame));
	act_on(toy, &frame);
	return true;
}

static void poll_it(struct frame_client *client, bool join)
{
	struct toy_frame_client *toy = toy_of(client);

	if (join && !toy->greeted)
		say_hello(toy);
	client->over |= frame_wire_poll(&toy->wire, client->deaf);
	while (hear(toy))
		;
	while (give(toy))
		;
	client->over |= frame_wire_poll(&toy->wire, true);
}

static void ask(struct frame_client *client, uint8_t what, uint64_t off, uint32_t len)
{
	struct toy_frame_client *toy = toy_of(client);

	put(toy,
		(struct toy_frame){ .what = what,
			.tag = put_be16(toy->tag++),
			.len = put_be32(len),
			.off = put_be64(off) },
		NULL, 0);
	client->asked++;
}

static void ask_read(struct frame_client *client, uint64_t off, uint32_t len)
{
	ask(client, TOY_READ, off, len);
}

static void ask_write(struct frame_client *client, uint64_t off, uint32_t len, const void *data)
{
	toy_of(client)->data = data;
	ask(client, TOY_WRITE, off, len);
}

const struct frame_kind frame_kind_toy = {
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
