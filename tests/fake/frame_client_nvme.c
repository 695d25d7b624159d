/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our NVMe target and its hosts over TCP and software iWARP: an admin queue and one I/O queue. */
#include "../../core/proto/nvme/codec.h"
#include "frame_target.h"
#include "raw_host.h"
#include "tune.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NQN   "nqn.2024-01.test:disk"
#define DEPTH 32

extern const struct frame_kind frame_kind_nvme_rdma;

static bool iwarp(void)
{
	return frame_kind == &frame_kind_nvme_rdma;
}

static int start(const struct frame_server *with, struct diag *diag)
{
	const struct target_options own = {
		.disk[0] = { .name = NQN, .uuid = { 1 }, .nguid = { 2 }, .serial = "S1" },
		.listen[0] = { .transports = iwarp() ? TRANSPORT_IWARP : TRANSPORT_TCP,
			.no_crc = iwarp() },
		.depth = DEPTH
	};

	return frame_target_start(nvme_serve, &own, with, diag);
}

struct nvme_frame_client {
	struct frame_client client; /* first */
	struct raw_host *admin, *io;
	unsigned step;
	uint16_t cid, cntlid;
	const uint8_t *data;
};

static struct nvme_frame_client *nvme_of(struct frame_client *client)
{
	return (struct nvme_frame_client *)client;
}

static struct frame_client *dial(unsigned host)
{
	struct nvme_frame_client *nvme = calloc(1, sizeof(*nvme));

	(void)host;
	if (!nvme)
		abort();
	nvme->admin = raw_dial(frame_target_addr(), iwarp());
	tune_tcp(nvme->admin->fd);
	return &nvme->client;
}

static void leave(struct frame_client *client)
{
	raw_close(nvme_of(client)->admin);
	raw_close(nvme_of(client)->io);
	free(client);
}

static void ask_connect(struct nvme_frame_client *nvme, uint16_t qid)
{
	struct nvmf_connect ask = { .qid = qid, .depth = DEPTH };

	strcpy(ask.subnqn, NQN);
	snprintf(ask.hostnqn, sizeof(ask.hostnqn), "nqn.host%u", nvme->client.host);
	ask.hostid[0] = (uint8_t)(nvme->client.host + 1);
	ask.cntlid = qid ? nvme->cntlid : NVMF_CNTLID_ANY;
	raw_connect(qid ? nvme->io : nvme->admin, &ask);
}

static void good(const struct raw_host *raw)
{
	if (get_le16(raw->reply.status))
		abort();
}

/* A step each time. */
static void join_on(struct nvme_frame_client *nvme)
{
	struct nvme_sqe enable =
		raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);

	if (nvme->step == 0) {
		raw_hello(nvme->admin, 0, DEPTH);
	} else if (nvme->step == 1 && nvme->admin->up) {
		ask_connect(nvme, 0);
	} else if (nvme->step == 2 && nvme->admin->replies == 1) {
		good(nvme->admin);
		nvme->cntlid = (uint16_t)get_le64(nvme->admin->reply.result);
		raw_command(nvme->admin, &enable, NULL, 0);
	} else if (nvme->step == 3 && nvme->admin->replies == 2) {
		good(nvme->admin);
		nvme->io = raw_dial(frame_target_addr(), iwarp());
		tune_tcp(nvme->io->fd);
		raw_hello(nvme->io, 1, DEPTH);
	} else if (nvme->step == 4 && nvme->io->up) {
		ask_connect(nvme, 1);
	} else if (nvme->step == 5 && nvme->io->replies == 1) {
		good(nvme->io);
		nvme->io->replies = 0;
		nvme->client.joined = true;
	} else {
		return;
	}
	nvme->step++;
}

static void give(struct nvme_frame_client *nvme)
{
	struct frame_client *client = &nvme->client;
	struct raw_host *io = nvme->io;

	while (io->transfers && client->give && sizeof(io->out) - io->out_len > 2 * 65536) {
		uint32_t len =
			io->transfer[0].len < client->give ? io->transfer[0].len : client->give;

		if (len > 65536)
			len = 65536;
		raw_give(io, 0, nvme->data + io->transfer[0].at, len, false);
		client->give -= client->give == FRAME_ALL ? 0 : len;
	}
}

static void poll_it(struct frame_client *client, bool join)
{
	struct nvme_frame_client *nvme = nvme_of(client);
	struct raw_host *io;

	raw_poll(nvme->admin);
	if (join && !client->joined)
		join_on(nvme);
	raw_poll(nvme->admin);
	io = nvme->io;
	if (io) {
		io->deaf = client->deaf;
		raw_poll(io);
		if (client->joined && io->replies) {
			client->answered += io->replies;
			client->failed += get_le16(io->reply.status) != 0;
			memcpy(client->read_data, io->data, sizeof(client->read_data));
			io->replies = 0;
		}
		give(nvme);
		raw_poll(io);
	}
	client->over |= nvme->admin->over || (io && io->over);
}

static void ask(struct frame_client *client, uint8_t opcode, uint64_t off, uint32_t len)
{
	struct nvme_frame_client *nvme = nvme_of(client);
	struct nvme_sqe sqe = raw_rw(nvme->io, opcode, nvme->cid++, off / 512, len / 512);

	raw_command(nvme->io, &sqe, NULL, 0);
	client->asked++;
}

static void ask_read(struct frame_client *client, uint64_t off, uint32_t len)
{
	ask(client, NVME_IO_READ, off, len);
}

static void ask_write(struct frame_client *client, uint64_t off, uint32_t len, const void *data)
{
	nvme_of(client)->data = data;
	ask(client, NVME_IO_WRITE, off, len);
}

#define ROW                                                                                        \
	.depth = 16, .most = 512 << 10, .open_limit = true, .give_limit = true,                    \
	.take_limit = true, .start = start, .stop = frame_target_stop,                             \
	.count = frame_target_count, .connections = frame_target_connections, .dial = dial,        \
	.leave = leave, .poll = poll_it, .read = ask_read, .write = ask_write

const struct frame_kind frame_kind_nvme_tcp = { ROW, .name = "NVMe/TCP" };
const struct frame_kind frame_kind_nvme_rdma = { ROW, .name = "NVMe/RDMA" };
