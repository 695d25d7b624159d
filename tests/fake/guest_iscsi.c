/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our iSCSI target and its initiators over TCP. A host is an initiator port: a session of it that
 * begins ends the one before. */
#include "guest_target.h"
#include "iscsi_host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IQN "iqn.t"

static int start(const struct guest_server *with, struct diag *diag)
{
	static const struct target_options own = { .disk[0] = { .name = IQN, .serial = "S1" },
		.listen[0].transports = TRANSPORT_TCP,
		.buffer = 131072 }; /* scsi.h */

	return guest_target_start(iscsi_serve, &own, with, diag);
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
	iscsi->host = iscsi_host_dial(guest_target_addr());
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

	while (h->r2ts && guest->give && sizeof(h->out) - h->out_len > 2 * ISCSI_HOST_RECV) {
		uint32_t left = h->r2t[0].len, len = left < guest->give ? left : guest->give;

		len = len < ISCSI_HOST_RECV ? len : ISCSI_HOST_RECV;
		iscsi_host_give(
			h, 0, len, len == left ? ISCSI_FINAL : 0, iscsi->data + h->r2t[0].offset);
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
	.stop = guest_target_stop,
	.count = guest_target_count,
	.connections = guest_target_connections,
	.dial = dial,
	.leave = leave,
	.poll = poll_it,
	.read = ask_read,
	.write = ask_write,
};
