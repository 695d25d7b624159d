/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See frame_target.h. */
#include "frame_target.h"
#include "target.h"
#include <netinet/in.h>
#include <string.h>

static struct target *server;
static struct addr server_at;

int frame_target_start(target_serve *serve, const struct target_options *own,
	const struct frame_server *with, struct diag *diag)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static struct target_options opt;
	int err;

	opt = *own;
	opt.disks = opt.listens = 1;
	opt.disk[0].bdev = with->bdev;
	memcpy(&opt.listen[0].at.ss, &in, sizeof(in));
	opt.listen[0].at.len = sizeof(in);
	opt.loops = with->loops;
	opt.nloops = with->nloops;
	opt.buffer = with->buffer < own->buffer ? own->buffer : with->buffer;
	opt.buffers = with->buffers;
	opt.connections = with->connections;
	opt.stall_ms = with->stall_ms;
	err = serve(&server, with->loop, &opt, 1000, diag);
	if (!err)
		target_transports(server, 0, &server_at);
	return err;
}

int frame_target_stop(uint32_t timeout_ms, struct diag *diag)
{
	return target_stop(server, timeout_ms, diag);
}

void frame_target_count(struct io_count *sum)
{
	struct target_status status;

	target_get_status(server, &status);
	*sum = status.count;
}

unsigned frame_target_connections(void)
{
	unsigned count = 0;

	for (const struct target_conn *conn = server->conns; conn; conn = conn->peer_next)
		count++;
	return count;
}

const struct addr *frame_target_addr(void)
{
	return &server_at;
}
