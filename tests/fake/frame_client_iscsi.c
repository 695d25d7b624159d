/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our iSCSI target and its initiators over TCP. A host is an initiator port: a session of it that
 * begins ends the one before. */
#include "frame_target.h"
#include "iscsi_host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IQN "iqn.t"

static int start(const struct frame_server *with, struct diag *diag)
{
	static const struct target_options own = { .disk[0] = { .name = IQN, .serial = "S1" },
		.listen[0].transports = TRANSPORT_TCP,
		.buffer = 131072 }; /* scsi.h */

	return frame_target_start(iscsi_serve, &own, with, diag);
}

struct iscsi_frame_client {
	struct frame_client client; /* first */
	struct iscsi_host *host;
	bool asked; /* to log in */
	const uint8_t *data;
};

static struct iscsi_frame_client *iscsi_of(struct frame_client *client)
{
	return (struct iscsi_frame_client *)client;
}

static struct frame_client *dial(unsigned host)
{
	struct iscsi_frame_client *iscsi = calloc(1, sizeof(*iscsi));

	(void)host;
	if (!iscsi)
		abort();
	iscsi->host = iscsi_host_dial(frame_target_addr());
	return &iscsi->client;
}

static void leave(struct frame_client *client)
{
	iscsi_host_leave(iscsi_of(client)->host);
	free(client);
}

/* TEST UNIT READY takes the unit attention of a new session. */
static void join_on(struct iscsi_frame_client *iscsi)
{
	struct iscsi_host *h = iscsi->host;
	char name[32];
	struct iscsi_host_login with = { .name = name, .target = IQN };

	snprintf(name, sizeof(name), "iqn.host%u", iscsi->client.host);
	if (!iscsi->asked) {
		iscsi_host_login(h, &with);
		iscsi->asked = true;
	} else if (h->up && h->replies == h->asked) {
		struct iscsi_scsi_cmd cmd = iscsi_host_command(h, 0, 0);

		iscsi->client.joined = h->replies && !h->status;
		if (!iscsi->client.joined)
			iscsi_host_ask(h, &cmd, NULL, 0);
		else
			h->replies = h->asked = 0;
	}
}

/* The data of all writes is the same, so offsets are of any of them. */
static void give(struct iscsi_frame_client *iscsi)
{
	struct frame_client *client = &iscsi->client;
	struct iscsi_host *h = iscsi->host;

	while (h->r2ts && client->give && sizeof(h->out) - h->out_len > 2 * ISCSI_HOST_RECV) {
		uint32_t left = h->r2t[0].len, len = left < client->give ? left : client->give;

		len = len < ISCSI_HOST_RECV ? len : ISCSI_HOST_RECV;
		iscsi_host_give(
			h, 0, len, len == left ? ISCSI_FINAL : 0, iscsi->data + h->r2t[0].offset);
		client->give -= client->give == FRAME_ALL ? 0 : len;
	}
}

static void poll_it(struct frame_client *client, bool join)
{
	struct iscsi_frame_client *iscsi = iscsi_of(client);
	struct iscsi_host *h = iscsi->host;

	h->deaf = client->deaf;
	iscsi_host_poll(h);
	if (join && !client->joined)
		join_on(iscsi);
	if (client->joined) {
		if (h->replies > client->answered) {
			client->failed += h->status != 0;
			memcpy(client->read_data, h->data, sizeof(client->read_data));
		}
		client->answered = h->replies;
		give(iscsi);
	}
	iscsi_host_poll(h);
	client->over |= h->over;
}

static void ask(
	struct frame_client *client, uint8_t opcode, uint8_t flags, uint64_t off, uint32_t len)
{
	struct iscsi_host *h = iscsi_of(client)->host;
	struct iscsi_scsi_cmd cmd = iscsi_host_command(h, flags, len);

	iscsi_host_rw(&cmd, opcode, (uint32_t)(off / 512), (uint16_t)(len / 512));
	iscsi_host_ask(h, &cmd, NULL, 0);
	client->asked++;
}

static void ask_read(struct frame_client *client, uint64_t off, uint32_t len)
{
	ask(client, 0x28, ISCSI_CMD_READ, off, len);
}

static void ask_write(struct frame_client *client, uint64_t off, uint32_t len, const void *data)
{
	iscsi_of(client)->data = data;
	ask(client, 0x2a, ISCSI_CMD_WRITE, off, len);
}

const struct frame_kind frame_kind_iscsi = {
	.name = "iSCSI",
	.depth = 16,
	.most = 512 << 10,
	.open_limit = true,
	.give_limit = true,
	.take_limit = true,
	.replaces = true,
	.start = start,
	.stop = frame_target_stop,
	.count = frame_target_count,
	.connections = frame_target_connections,
	.dial = dial,
	.leave = leave,
	.poll = poll_it,
	.read = ask_read,
	.write = ask_write,
};
