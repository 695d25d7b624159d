/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our iSCSI target and its initiators over TCP. A host is an initiator port: a session of it that
 * begins ends the one before. */
#include "guest.h"
#include "iscsi_host.h"
#include "serve.h"
#include "target.h"
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IQN "iqn.t"

static struct target *server;
static struct addr server_at;

static int start(const struct guest_server *with, struct diag *diag)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static struct target_options opt;
	int err;

	opt = (struct target_options){ .disks = 1,
		.listens = 1,
		.loops = with->loops,
		.nloops = with->nloops,
		.buffer = with->buffer < 131072 ? 131072 : with->buffer, /* scsi.h */
		.buffers = with->buffers,
		.connections = (uint16_t)with->connections,
		.stall_ms = with->stall_ms };
	opt.disk[0] =
		(struct target_disk_options){ .bdev = with->bdev, .name = IQN, .serial = "S1" };
	memcpy(&opt.listen[0].at.ss, &in, sizeof(in));
	opt.listen[0].at.len = sizeof(in);
	opt.listen[0].ways = WAY_TCP;
	err = iscsi_serve(&server, with->loop, &opt, 1000, diag);
	if (!err)
		target_ways(server, 0, &server_at);
	return err;
}

static int stop(uint32_t timeout_ms, struct diag *diag)
{
	return target_stop(server, timeout_ms, diag);
}

static void count(struct io_count *sum)
{
	struct target_status status;

	target_get_status(server, &status);
	*sum = status.count;
}

static unsigned connections(void)
{
	unsigned count = 0;

	for (const struct target_conn *conn = server->conns; conn; conn = conn->peer_next)
		count++;
	return count;
}

struct iscsi_guest {
	struct guest guest; /* first */
	struct iscsi_host *host;
	bool asked; /* to log in */
	const uint8_t *data;
};

static struct iscsi_guest *iscsi_of(struct guest *guest)
{
	return (struct iscsi_guest *)guest;
}

static struct guest *dial(unsigned host)
{
	struct iscsi_guest *iscsi = calloc(1, sizeof(*iscsi));

	(void)host;
	if (!iscsi)
		abort();
	iscsi->host = iscsi_host_dial(&server_at);
	return &iscsi->guest;
}

static void leave(struct guest *guest)
{
	iscsi_host_leave(iscsi_of(guest)->host);
	free(guest);
}

/* TEST UNIT READY takes the unit attention of a new session. */
static void join_on(struct iscsi_guest *iscsi)
{
	struct iscsi_host *h = iscsi->host;
	char name[32];
	struct iscsi_host_login with = { .name = name, .target = IQN };

	snprintf(name, sizeof(name), "iqn.host%u", iscsi->guest.host);
	if (!iscsi->asked) {
		iscsi_host_login(h, &with);
		iscsi->asked = true;
	} else if (h->up && h->replies == h->asked) {
		struct iscsi_scsi_cmd cmd = iscsi_host_command(h, 0, 0);

		iscsi->guest.joined = h->replies && !h->status;
		if (!iscsi->guest.joined)
			iscsi_host_ask(h, &cmd, NULL, 0);
		else
			h->replies = h->asked = 0;
	}
}

/* The data of all writes is the same, so offsets are of any of them. */
static void give(struct iscsi_guest *iscsi)
{
	struct guest *guest = &iscsi->guest;
	struct iscsi_host *h = iscsi->host;

	while (h->wants && guest->give && sizeof(h->out) - h->out_len > 2 * ISCSI_HOST_RECV) {
		uint32_t left = h->want[0].len, len = left < guest->give ? left : guest->give;

		len = len < ISCSI_HOST_RECV ? len : ISCSI_HOST_RECV;
		iscsi_host_give(
			h, 0, len, len == left ? ISCSI_FINAL : 0, iscsi->data + h->want[0].offset);
		guest->give -= guest->give == GUEST_ALL ? 0 : len;
	}
}

static void poll_it(struct guest *guest, bool join)
{
	struct iscsi_guest *iscsi = iscsi_of(guest);
	struct iscsi_host *h = iscsi->host;

	h->deaf = guest->deaf;
	iscsi_host_poll(h);
	if (join && !guest->joined)
		join_on(iscsi);
	if (guest->joined) {
		if (h->replies > guest->answered) {
			guest->failed += h->status != 0;
			memcpy(guest->heard, h->data, sizeof(guest->heard));
		}
		guest->answered = h->replies;
		give(iscsi);
	}
	iscsi_host_poll(h);
	guest->over |= h->over;
}

static void ask(struct guest *guest, uint8_t opcode, uint8_t flags, uint64_t off, uint32_t len)
{
	struct iscsi_host *h = iscsi_of(guest)->host;
	struct iscsi_scsi_cmd cmd = iscsi_host_command(h, flags, len);

	iscsi_host_rw(&cmd, opcode, (uint32_t)(off / 512), (uint16_t)(len / 512));
	iscsi_host_ask(h, &cmd, NULL, 0);
	guest->asked++;
}

static void ask_read(struct guest *guest, uint64_t off, uint32_t len)
{
	ask(guest, 0x28, ISCSI_CMD_READ, off, len);
}

static void ask_write(struct guest *guest, uint64_t off, uint32_t len, const void *data)
{
	iscsi_of(guest)->data = data;
	ask(guest, 0x2a, ISCSI_CMD_WRITE, off, len);
}

const struct guest_kind guest_iscsi = {
	.name = "iSCSI",
	.depth = 16,
	.most = 512 << 10,
	.open_limit = true,
	.give_limit = true,
	.take_limit = true,
	.replaces = true,
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
