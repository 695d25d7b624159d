/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common to all carriers over a stream (conn->stream): start, progress, end. */
#include "stream.h"
#include "target.h"
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void *target_stream_new(struct target *target, size_t size, int fd, const struct addr *peer)
{
	struct target_conn *conn = target_make_room(target, peer) ? calloc(1, size) : NULL;

	if (conn)
		conn->fd = fd;
	else
		close(fd);
	return conn;
}

int target_stream_open(
	struct target_conn *conn, const struct stream_events *events, struct diag *diag)
{
	int err;

	conn->local.len = sizeof(conn->local.ss);
	if (getsockname(conn->fd, (struct sockaddr *)&conn->local.ss, &conn->local.len))
		conn->local = (struct addr){ 0 };
	err = stream_accept(&conn->stream, conn->loop, conn->fd, &conn->peer, events, conn, diag);
	if (err)
		conn->stream = NULL;
	return err;
}

uint64_t target_stream_moved(struct target_conn *conn)
{
	return stream_progress(conn->stream);
}

bool target_stream_hung_up(struct target_conn *conn)
{
	return stream_peer_closed(conn->stream);
}

void target_stream_close(struct target_conn *conn)
{
	stream_close(conn->stream);
}

void target_stream_reset(struct target_conn *conn)
{
	stream_reset(conn->stream);
}

void target_stream_ended(struct target_conn *conn)
{
	const struct diag *why = &conn->stream->why;

	if (!target_conn_is_closing(conn))
		target_conn_fail(conn, why->code, why->err, why->text);
}

void target_stream_down(struct stream *stream)
{
	struct target_conn *conn = stream->user;

	if (!conn->why.err)
		conn->why = stream->why;
	target_conn_down(conn);
}
