/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connect a socket to the first address of a host that answers (RFC 8305): the next one is tried as
 * soon as one has failed, or has not answered for a while, and the others are not given up. */
#include "tcp.h"
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define STAGGER_MS 250

struct attempt {
	struct tcp_connect *all;
	struct loop_fd fd;
	struct addr at;
};

struct tcp_connect {
	struct loop *loop;
	void (*done)(void *user, int fd, const struct addr *at, const struct diag *why);
	void *user;
	struct stream_dial dial; /* dst: the next address */
	char iface[IFNAMSIZ];
	struct loop_timer deadline, stagger;
	struct loop_work failed;
	struct addr_failures failures;
	unsigned count, started, live;
	bool sent; /* a connection was requested */
	struct attempt attempt[];
};

static void stop(struct attempt *attempt)
{
	loop_fd_del(attempt->all->loop, &attempt->fd);
	if (attempt->fd.fd >= 0)
		close(attempt->fd.fd);
	attempt->fd.fd = -1;
}

void tcp_connect_cancel(struct tcp_connect *c)
{
	if (!c)
		return;
	loop_timer_del(c->loop, &c->deadline);
	loop_timer_del(c->loop, &c->stagger);
	loop_work_del(c->loop, &c->failed);
	for (unsigned i = 0; i < c->started; i++)
		stop(&c->attempt[i]);
	free(c);
}

bool tcp_connect_peer_closed(const struct tcp_connect *c)
{
	for (unsigned i = 0; i < c->started; i++)
		if (c->attempt[i].fd.fd >= 0 && tcp_peer_closed(c->attempt[i].fd.fd))
			return true;
	return false;
}

static void finish(struct tcp_connect *c, int fd, const struct addr *at)
{
	void (*done)(void *, int, const struct addr *, const struct diag *) = c->done;
	struct diag why = c->failures.why;
	struct addr addr = *at;
	void *user = c->user;

	tcp_connect_cancel(c);
	done(user, fd, &addr, &why);
}

static void all_failed(struct loop_work *work)
{
	struct tcp_connect *c = container_of(work, struct tcp_connect, failed);

	addr_failures_end(&c->failures);
	finish(c, -1, &c->attempt[0].at);
}

/* A source that is only a port is one in each family, and can't be bound twice. */
static void set_source(const struct tcp_connect *c, struct stream_dial *dial)
{
	sa_family_t family = dial->dst.ss.ss_family;
	uint16_t port = c->live ? 0 : addr_port(&dial->src);

	if (!dial->src.ss.ss_family || !addr_is_any(&dial->src))
		return;
	dial->src = (struct addr){ .ss.ss_family = family,
		.len = family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6) };
	addr_set_port(&dial->src, port);
}

static int begin_connect(int fd, const struct addr *at)
{
	if (at->ss.ss_family == AF_UNIX)
		return unix_connect(fd, at);
	return connect(fd, (const struct sockaddr *)&at->ss, at->len) ? -errno : 0;
}

/* Begin with the next address. Errors: no attempt is left. */
static int start(struct tcp_connect *c)
{
	loop_timer_del(c->loop, &c->stagger);
	while (c->started < c->count) {
		struct attempt *attempt = &c->attempt[c->started++];
		const struct addr *at = &attempt->at;
		struct stream_dial dial = c->dial;
		struct diag why = { 0 };

		attempt->at = c->dial.dst;
		attempt->at.others = 0;
		set_source(c, &dial);
		if (!tcp_socket(&attempt->fd.fd, &dial, &why)) {
			int err = begin_connect(attempt->fd.fd, at);

			c->sent = true;
			if (err && err != -EINPROGRESS)
				tcp_failed(&why, -err, at, false);
			else
				loop_fd_add(c->loop, &attempt->fd, &why);
		}
		addr_next(&c->dial.dst);
		if (!why.err) {
			c->live++;
			if (c->started < c->count)
				loop_timer_set(
					c->loop, &c->stagger, loop_clock() + STAGGER_MS * MSEC);
			return 0;
		}
		stop(attempt);
		addr_failures_add(&c->failures, at, &why);
	}
	return -c->failures.why.err;
}

static void next(struct loop_timer *timer)
{
	start(container_of(timer, struct tcp_connect, stagger));
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct attempt *attempt = container_of(fd, struct attempt, fd);
	struct tcp_connect *c = attempt->all;
	socklen_t len = sizeof(int);
	struct diag why = { 0 };
	int err = 0, won = fd->fd;

	(void)events;
	getsockopt(fd->fd, SOL_SOCKET, SO_ERROR, &err, &len);
	if (!err) {
		loop_fd_del(c->loop, fd);
		fd->fd = -1;
		finish(c, won, &attempt->at);
		return;
	}
	tcp_failed(&why, err, &attempt->at, false);
	stop(attempt);
	c->live--;
	addr_failures_add(&c->failures, &attempt->at, &why);
	if (start(c) && !c->live)
		loop_work_add(c->loop, &c->failed);
}

static void expired(struct loop_timer *timer)
{
	struct tcp_connect *c = container_of(timer, struct tcp_connect, deadline);

	for (unsigned i = 0; i < c->started; i++) {
		struct diag why = { 0 };
		char text[DIAG_SECONDS];

		if (c->attempt[i].fd.fd < 0)
			continue;
		diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "connect: no answer within %s",
			diag_seconds(c->dial.timeout_ms, text));
		addr_failures_add(&c->failures, &c->attempt[i].at, &why);
	}
	all_failed(&c->failed);
}

int tcp_connect(struct tcp_connect **out, struct loop *loop, const struct stream_dial *dial,
	void (*done)(void *user, int fd, const struct addr *at, const struct diag *why), void *user,
	struct diag *diag)
{
	unsigned count = 1u + dial->dst.others;
	struct tcp_connect *c = calloc(1, sizeof(*c) + count * sizeof(c->attempt[0]));

	if (!c)
		return diag_sys(diag, ENOMEM, "TCP connection");
	c->loop = loop;
	c->done = done;
	c->user = user;
	c->dial = *dial;
	if (dial->iface) {
		snprintf(c->iface, sizeof(c->iface), "%s", dial->iface);
		c->dial.iface = c->iface;
	}
	c->count = count;
	c->deadline.fire = expired;
	c->stagger.fire = next;
	c->failed.run = all_failed;
	for (unsigned i = 0; i < count; i++) {
		c->attempt[i].all = c;
		c->attempt[i].fd = (struct loop_fd){ .fd = -1, .events = EPOLLOUT, .ready = ready };
	}
	if (start(c) && !c->sent) {
		int err = -c->failures.why.err;

		addr_failures_end(&c->failures);
		if (diag)
			*diag = c->failures.why;
		tcp_connect_cancel(c);
		return err;
	}
	if (!c->live)
		loop_work_add(loop, &c->failed);
	else if (dial->timeout_ms)
		loop_timer_set(loop, &c->deadline, loop_clock() + dial->timeout_ms * MSEC);
	*out = c;
	return 0;
}
