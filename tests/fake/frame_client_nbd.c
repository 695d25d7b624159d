/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our NBD server and its clients: the short handshake, simple replies. */
#include "frame_client.h"
#include "nbd_server.h"
#include "wire/nbd.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH    16
#define GREETING (18 + 8 + 2) /* with what follows NBD_OPT_EXPORT_NAME */

static struct nbd_server *server;

static int start(const struct frame_server *with, struct diag *diag)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static struct nbd_options opt;

	opt = (struct nbd_options){ .exports = 1,
		.listens = 1,
		.clients = with->connections,
		.buffer = with->buffer,
		.slots = DEPTH,
		.loops = with->loops,
		.nloops = with->nloops };
	opt.export[0] = (struct nbd_export){ .name = "", .bdev = with->bdev };
	memcpy(&opt.listen[0].ss, &in, sizeof(in));
	opt.listen[0].len = sizeof(in);
	return nbd_server_start(&server, with->loop, &opt, diag);
}

static int stop(uint32_t timeout_ms, struct diag *diag)
{
	return nbd_server_stop(server, timeout_ms, diag);
}

static void count(struct io_count *sum)
{
	struct target_status status;

	nbd_server_get_status(server, &status);
	*sum = status.count;
}

static unsigned connections(void)
{
	struct target_status status;

	nbd_server_get_status(server, &status);
	return status.clients;
}

struct nbd_frame_client {
	struct frame_client client; /* first */
	struct frame_wire wire;
	bool greeted;
	const uint8_t *data;
	/* asked, by cookie; sent in order from `next` on */
	struct {
		struct nbd_request ask;
		uint32_t read, left; /* bytes of the reply; of the request, besides its header */
		bool begun, busy;
	} slot[DEPTH];
	unsigned order[DEPTH], waiting;
	uint32_t skip, read_data; /* bytes of a read to come; those that came */
};

static struct nbd_frame_client *nbd_of(struct frame_client *client)
{
	return (struct nbd_frame_client *)client;
}

static struct frame_client *dial(unsigned host)
{
	struct nbd_frame_client *nbd = calloc(1, sizeof(*nbd));

	(void)host;
	if (!nbd)
		abort();
	frame_wire_dial(&nbd->wire, nbd_server_addr(server, 0));
	return &nbd->client;
}

static void leave(struct frame_client *client)
{
	close(nbd_of(client)->wire.fd);
	free(client);
}

/* The oldest request that has not left as a whole; a stream, so others wait behind it. */
static bool say(struct nbd_frame_client *nbd)
{
	struct frame_client *client = &nbd->client;
	struct frame_wire *wire = &nbd->wire;
	size_t room = sizeof(wire->out) - wire->out_len;
	unsigned i = nbd->order[0];
	uint32_t len, all;

	if (!nbd->waiting || room <= sizeof(nbd->slot[i].ask))
		return false;
	if (!nbd->slot[i].begun) {
		frame_wire_put(wire, &nbd->slot[i].ask, sizeof(nbd->slot[i].ask));
		nbd->slot[i].begun = true;
		return true;
	}
	all = get_be32(nbd->slot[i].ask.len);
	len = nbd->slot[i].left < room ? nbd->slot[i].left : (uint32_t)room;
	len = len < client->give ? len : client->give;
	frame_wire_put(wire, nbd->data + all - nbd->slot[i].left, len);
	client->give -= client->give == FRAME_ALL ? 0 : len;
	nbd->slot[i].left -= len;
	if (nbd->slot[i].left)
		return len;
	memmove(nbd->order, nbd->order + 1, --nbd->waiting * sizeof(nbd->order[0]));
	return true;
}

static bool hear(struct nbd_frame_client *nbd)
{
	struct frame_client *client = &nbd->client;
	struct frame_wire *wire = &nbd->wire;
	struct nbd_simple_reply reply;

	if (!client->joined) {
		client->joined = wire->in_len >= GREETING;
		if (client->joined)
			frame_wire_drop(wire, GREETING);
		return client->joined;
	}
	if (nbd->skip) {
		uint32_t len = nbd->skip < wire->in_len ? nbd->skip : (uint32_t)wire->in_len;

		for (uint32_t i = 0; i < len && nbd->read_data + i < FRAME_READ_MAX; i++)
			client->read_data[nbd->read_data + i] = wire->in[i];
		frame_wire_drop(wire, len);
		nbd->read_data += len;
		nbd->skip -= len;
		client->answered += !nbd->skip;
		return len;
	}
	if (wire->in_len < sizeof(reply))
		return false;
	memcpy(&reply, wire->in, sizeof(reply));
	frame_wire_drop(wire, sizeof(reply));
	client->failed += get_be32(reply.error) != 0;
	nbd->slot[reply.cookie[0]].busy = false;
	nbd->skip = get_be32(reply.error) ? 0 : nbd->slot[reply.cookie[0]].read;
	nbd->read_data = 0;
	client->answered += !nbd->skip;
	return true;
}

static void poll_it(struct frame_client *client, bool join)
{
	struct nbd_frame_client *nbd = nbd_of(client);

	if (join && !nbd->greeted)
		nbd->greeted = frame_wire_put(&nbd->wire, "\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0", 20);
	client->over |= frame_wire_poll(&nbd->wire, client->deaf);
	while (hear(nbd))
		;
	while (say(nbd))
		;
	client->over |= frame_wire_poll(&nbd->wire, true);
}

static void ask(struct frame_client *client, uint16_t type, uint64_t off, uint32_t len)
{
	struct nbd_frame_client *nbd = nbd_of(client);
	unsigned i = 0;

	while (nbd->slot[i].busy)
		i++;
	nbd->slot[i].ask = (struct nbd_request){ .magic = put_be32(NBD_REQUEST_MAGIC),
		.type = put_be16(type),
		.cookie = { (uint8_t)i },
		.off = put_be64(off),
		.len = put_be32(len) };
	nbd->slot[i].read = type == NBD_CMD_READ ? len : 0;
	nbd->slot[i].left = type == NBD_CMD_WRITE ? len : 0;
	nbd->slot[i].begun = false;
	nbd->slot[i].busy = true;
	nbd->order[nbd->waiting++] = i;
	client->asked++;
}

static void ask_read(struct frame_client *client, uint64_t off, uint32_t len)
{
	ask(client, NBD_CMD_READ, off, len);
}

static void ask_write(struct frame_client *client, uint64_t off, uint32_t len, const void *data)
{
	nbd_of(client)->data = data;
	ask(client, NBD_CMD_WRITE, off, len);
}

const struct frame_kind frame_kind_nbd = {
	.name = "NBD",
	.depth = DEPTH,
	.most = 512 << 10,
	.open_limit = true,
	.give_limit = true,
	.take_limit = true,
	.nameless = true,
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
