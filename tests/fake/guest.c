/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What guests of all protocols have in common. */
#include "guest.h"
#include "tune.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const struct guest_kind *guest_kind;

struct guest *guest_dial(unsigned host)
{
	struct guest *guest = guest_kind->dial(host);

	guest->kind = guest_kind;
	guest->host = host;
	guest->give = GUEST_ALL;
	return guest;
}

void guest_poll(struct guest *guest, bool join)
{
	guest->kind->poll(guest, join);
}

void guest_leave(struct guest *guest)
{
	if (guest)
		guest->kind->leave(guest);
}

void guest_wire_dial(struct guest_wire *wire, const struct addr *to)
{
	wire->fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	tune_tcp(wire->fd);
	if (wire->fd < 0 || (connect(wire->fd, (const struct sockaddr *)&to->ss, to->len) &&
				    errno != EINPROGRESS))
		abort();
}

bool guest_wire_put(struct guest_wire *wire, const void *p, size_t len)
{
	if (len > sizeof(wire->out) - wire->out_len)
		return false;
	if (len)
		memcpy(wire->out + wire->out_len, p, len);
	wire->out_len += len;
	return true;
}

bool guest_wire_poll(struct guest_wire *wire, bool deaf)
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

void guest_wire_drop(struct guest_wire *wire, size_t len)
{
	memmove(wire->in, wire->in + len, wire->in_len -= len);
}
