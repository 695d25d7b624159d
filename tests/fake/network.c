/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that can be cut. */
#include "network.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROOM (1 << 20) /* more than a host and a target have in flight */

static struct sockaddr_in here(unsigned port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
}

static void hang_up(struct wire *wire, bool reset)
{
	const struct linger now = { .l_onoff = reset };

	for (unsigned i = 0; i < 2; i++) {
		if (wire->end[i].fd < 0)
			continue;
		loop_fd_del(wire->network->loop, &wire->end[i]);
		setsockopt(wire->end[i].fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
		close(wire->end[i].fd);
		wire->end[i].fd = -1;
	}
}

static void forward(struct wire *wire, unsigned from)
{
	uint8_t bytes[65536];
	ssize_t got = recv(wire->end[from].fd, bytes, sizeof(bytes), MSG_DONTWAIT), sent;

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		hang_up(wire, got < 0);
		return;
	}
	sent = send(wire->end[!from].fd, bytes, (size_t)got, MSG_NOSIGNAL | MSG_DONTWAIT);
	cr_assert(sent == got || errno != EAGAIN, "the socket takes %zd of %zd bytes", sent, got);
	if (sent < 0)
		hang_up(wire, true);
}

static void host_sends(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	forward(container_of(fd, struct wire, end[0]), 0);
}

static void target_sends(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	forward(container_of(fd, struct wire, end[1]), 1);
}

static void set_up(int fd)
{
	const int on = 1, room = ROOM;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
}

static void connected(struct loop_fd *fd, uint32_t events)
{
	struct network *net = container_of(fd, struct network, listener);
	struct wire *wire = &net->wire[net->wires];
	struct sockaddr_in from, to = here(net->to);
	socklen_t len = sizeof(from);

	(void)events;
	cr_assert_lt(net->wires++, NETWORK_WIRES);
	*wire = (struct wire){ .network = net };
	wire->end[0] = (struct loop_fd){ .fd = accept(fd->fd, (struct sockaddr *)&from, &len),
		.events = EPOLLIN,
		.ready = host_sends };
	wire->end[1] = (struct loop_fd){
		.fd = socket(AF_INET, SOCK_STREAM, 0), .events = EPOLLIN, .ready = target_sends
	};
	if (wire->end[0].fd < 0 || net->refuses || !net->to ||
		connect(wire->end[1].fd, (struct sockaddr *)&to, sizeof(to))) {
		hang_up(wire, true);
		return;
	}
	wire->host_port = ntohs(from.sin_port);
	for (unsigned i = 0; i < 2; i++) {
		set_up(wire->end[i].fd);
		cr_assert_eq(loop_fd_add(net->loop, &wire->end[i], NULL), 0);
	}
}

void network_begin(struct network *net, struct loop *loop)
{
	struct sockaddr_in at = here(0);
	socklen_t len = sizeof(at);

	net->loop = loop;
	net->to = net->wires = net->silent = 0;
	net->refuses = false;
	net->listener = (struct loop_fd){
		.fd = socket(AF_INET, SOCK_STREAM, 0), .events = EPOLLIN, .ready = connected
	};
	cr_assert_eq(bind(net->listener.fd, (struct sockaddr *)&at, len), 0);
	cr_assert_eq(listen(net->listener.fd, NETWORK_WIRES), 0);
	cr_assert_eq(getsockname(net->listener.fd, (struct sockaddr *)&at, &len), 0);
	net->port = ntohs(at.sin_port);
	cr_assert_eq(loop_fd_add(loop, &net->listener, NULL), 0);
}

void network_end(struct network *net)
{
	network_reset(net);
	loop_fd_del(net->loop, &net->listener);
	close(net->listener.fd);
}

void network_reset(struct network *net)
{
	for (unsigned i = 0; i < net->wires; i++)
		hang_up(&net->wire[i], true);
}

void network_reset_one(struct network *net, unsigned pick)
{
	for (unsigned i = 0; i < net->wires; i++) {
		struct wire *wire = &net->wire[(pick + i) % net->wires];

		if (wire->end[0].fd < 0)
			continue;
		hang_up(wire, true);
		return;
	}
}

void network_silence(struct network *net, unsigned sides)
{
	loop_fd_change(net->loop, &net->listener, 0);
	net->silent = sides;
	net->silent_ns = loop_clock();
	for (unsigned i = 0; i < net->wires; i++)
		for (unsigned from = 0; from < 2; from++)
			if (sides & (from ? NETWORK_TARGET : NETWORK_HOST))
				loop_fd_del(net->loop, &net->wire[i].end[from]);
}

void network_heal(struct network *net, bool delivers)
{
	net->silent = 0;
	loop_fd_change(net->loop, &net->listener, EPOLLIN);
	if (!delivers)
		network_reset(net);
	for (unsigned i = 0; i < net->wires; i++)
		for (unsigned from = 0; from < 2; from++)
			if (net->wire[i].end[from].fd >= 0 && !net->wire[i].end[from].on)
				cr_assert_eq(
					loop_fd_add(net->loop, &net->wire[i].end[from], NULL), 0);
}

const struct wire *network_find(const struct network *net, int host_fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	if (getsockname(host_fd, (struct sockaddr *)&at, &len))
		return NULL;
	for (unsigned i = net->wires; i--;)
		if (net->wire[i].end[0].fd >= 0 && net->wire[i].host_port == ntohs(at.sin_port))
			return &net->wire[i];
	return NULL;
}
