/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our NVMe target and its hosts over TCP and software iWARP: an admin queue and one I/O queue. */
#include "../../core/proto/nvme/codec.h"
#include "guest_target.h"
#include "raw_host.h"
#include "tune.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NQN   "nqn.2024-01.test:disk"
#define DEPTH 32

extern const struct guest_kind guest_nvme_rdma;

static bool iwarp(void)
{
	return guest_kind == &guest_nvme_rdma;
}

static int start(const struct guest_server *with, struct diag *diag)
{
	const struct target_options own = {
		.disk[0] = { .name = NQN, .uuid = { 1 }, .nguid = { 2 }, .serial = "S1" },
		.listen[0] = { .transports = iwarp() ? TRANSPORT_IWARP : TRANSPORT_TCP,
			.no_crc = iwarp() },
		.depth = DEPTH
	};

	return guest_target_start(nvme_serve, &own, with, diag);
}

struct nvme_guest {
	struct guest guest; /* first */
	struct raw_host *admin, *io;
	unsigned step;
	uint16_t cid, cntlid;
	const uint8_t *data;
};

static struct nvme_guest *nvme_of(struct guest *guest)
{
	return (struct nvme_guest *)guest;
}

static struct guest *dial(unsigned host)
{
	struct nvme_guest *nvme = calloc(1, sizeof(*nvme));

	(void)host;
	if (!nvme)
		abort();
	nvme->admin = raw_dial(guest_target_addr(), iwarp());
	tune_tcp(nvme->admin->fd);
	return &nvme->guest;
}

static void leave(struct guest *guest)
{
	raw_close(nvme_of(guest)->admin);
	raw_close(nvme_of(guest)->io);
	free(guest);
}

static void ask_connect(struct nvme_guest *nvme, uint16_t qid)
{
	struct nvmf_connect ask = { .qid = qid, .depth = DEPTH };

	strcpy(ask.subnqn, NQN);
	snprintf(ask.hostnqn, sizeof(ask.hostnqn), "nqn.host%u", nvme->guest.host);
	ask.hostid[0] = (uint8_t)(nvme->guest.host + 1);
	ask.cntlid = qid ? nvme->cntlid : NVMF_CNTLID_ANY;
	raw_connect(qid ? nvme->io : nvme->admin, &ask);
}

static void good(const struct raw_host *raw)
{
	if (get_le16(raw->reply.status))
		abort();
}

/* A step each time. */
static void join_on(struct nvme_guest *nvme)
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
		nvme->io = raw_dial(guest_target_addr(), iwarp());
		tune_tcp(nvme->io->fd);
		raw_hello(nvme->io, 1, DEPTH);
	} else if (nvme->step == 4 && nvme->io->up) {
		ask_connect(nvme, 1);
	} else if (nvme->step == 5 && nvme->io->replies == 1) {
		good(nvme->io);
		nvme->io->replies = 0;
		nvme->guest.joined = true;
	} else {
		return;
	}
	nvme->step++;
}

static void give(struct nvme_guest *nvme)
{
	struct guest *guest = &nvme->guest;
	struct raw_host *io = nvme->io;

	while (io->transfers && guest->give && sizeof(io->out) - io->out_len > 2 * 65536) {
		uint32_t len =
			io->transfer[0].len < guest->give ? io->transfer[0].len : guest->give;

		if (len > 65536)
			len = 65536;
		raw_give(io, 0, nvme->data + io->transfer[0].at, len, false);
		guest->give -= guest->give == GUEST_ALL ? 0 : len;
	}
}

static void poll_it(struct guest *guest, bool join)
{
	struct nvme_guest *nvme = nvme_of(guest);
	struct raw_host *io;

	raw_poll(nvme->admin);
	if (join && !guest->joined)
		join_on(nvme);
	raw_poll(nvme->admin);
	io = nvme->io;
	if (io) {
		io->deaf = guest->deaf;
		raw_poll(io);
		if (guest->joined && io->replies) {
			guest->answered += io->replies;
			guest->failed += get_le16(io->reply.status) != 0;
			memcpy(guest->heard, io->data, sizeof(guest->heard));
			io->replies = 0;
		}
		give(nvme);
		raw_poll(io);
	}
	guest->over |= nvme->admin->over || (io && io->over);
}

static void ask(struct guest *guest, uint8_t opcode, uint64_t off, uint32_t len)
{
	struct nvme_guest *nvme = nvme_of(guest);
	struct nvme_sqe sqe = raw_rw(nvme->io, opcode, nvme->cid++, off / 512, len / 512);

	raw_command(nvme->io, &sqe, NULL, 0);
	guest->asked++;
}

static void ask_read(struct guest *guest, uint64_t off, uint32_t len)
{
	ask(guest, NVME_IO_READ, off, len);
}

static void ask_write(struct guest *guest, uint64_t off, uint32_t len, const void *data)
{
	nvme_of(guest)->data = data;
	ask(guest, NVME_IO_WRITE, off, len);
}

#define ROW                                                                                        \
	.depth = 16, .most = 512 << 10, .open_limit = true, .give_limit = true,                    \
	.take_limit = true, .start = start, .stop = guest_target_stop,                             \
	.count = guest_target_count, .connections = guest_target_connections, .dial = dial,        \
	.leave = leave, .poll = poll_it, .read = ask_read, .write = ask_write

const struct guest_kind guest_nvme_tcp = { ROW, .name = "NVMe/TCP" };
const struct guest_kind guest_nvme_rdma = { ROW, .name = "NVMe/RDMA" };
