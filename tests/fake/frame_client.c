/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What clients of all protocols have in common. */
#include "frame_client.h"
#include "tune.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const struct frame_kind *frame_kind;

struct frame_client *frame_client_dial(unsigned host)
{
	struct frame_client *client = frame_kind->dial(host);

	client->kind = frame_kind;
	client->host = host;
	client->give = FRAME_ALL;
	return client;
}

void frame_client_poll(struct frame_client *client, bool join)
{
	client->kind->poll(client, join);
}

void frame_client_leave(struct frame_client *client)
{
	if (client)
		client->kind->leave(client);
}

void frame_wire_dial(struct frame_wire *wire, const struct addr *to)
{
	wire->fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	tune_tcp(wire->fd);
	if (wire->fd < 0 || (connect(wire->fd, (const struct sockaddr *)&to->ss, to->len) &&
				    errno != EINPROGRESS))
		abort();
}

bool frame_wire_put(struct frame_wire *wire, const void *p, size_t len)
{
	if (len > sizeof(wire->out) - wire->out_len)
		return false;
	if (len)
		memcpy(wire->out + wire->out_len, p, len);
	wire->out_len += len;
	return true;
}

bool frame_wire_poll(struct frame_wire *wire, bool deaf)
{
	ssize_t n = send(wire->fd, wire->out, wire->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (wire->out_len && n > 0)
		memmove(wire->out, wire->out + n, wire->out_len -= (size_t)n);
	if (deaf)
		return false;
	n = recv(wire->fd, wire->in + wire->in_len, sizeof(wire->in) - wire->in_len, MSG_DONTWAIT);
	if (n > 0)
		wire->in_len += (size_t)n;
	return wire->in_len < sizeof(wire->in) && (!n || (n < 0 && errno != EAGAIN));
}

void frame_wire_drop(struct frame_wire *wire, size_t len)
{
	memmove(wire->in, wire->in + len, wire->in_len -= len);
}
