/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Listen on one TCP port for plain streams and software iWARP, or on a unix socket for streams. The
 * first bytes are only peeked at to tell the two apart, so that the owner of a stream reads it from
 * the start. */
#include "iwarp.h"
#include "tcp.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG INT_MAX /* the kernel cuts it to net.core.somaxconn; musl's SOMAXCONN is 128 */
#define ACCEPTS 16      /* per turn */
/* connections of unknown kind; the oldest is closed to make room for one more */
#define PENDING_MAX 256
#define PAUSE_MS    100 /* out of descriptors: time until the next try */
#define SOON_MS     5   /* the same if some are being closed */

struct pending {
	struct pending *next;
	struct tcp_listener *listener;
	struct loop_fd fd;
	struct loop_timer timer;
	struct addr peer;
	uint32_t got;
	bool iwarp;
	uint8_t frame[MPA_FRAME_MAX];
};

struct tcp_listener {
	struct loop *loop;
	struct tcp_listen conf;
	struct addr at;
	struct loop_fd fd;
	struct unix_file file;
	struct loop_timer pause;
	/* reserve descriptor: closed in order to accept and close a connection when there are no
	 * others */
	int spare;
	struct pending *pending;
	unsigned pendings;
};

/* Free the state and return the descriptor, which the caller owns then. */
static int pending_free(struct pending *pending)
{
	struct pending **at = &pending->listener->pending;
	int fd = pending->fd.fd;

	while (*at != pending)
		at = &(*at)->next;
	*at = pending->next;
	pending->listener->pendings--;
	loop_fd_del(pending->listener->loop, &pending->fd);
	loop_timer_del(pending->listener->loop, &pending->timer);
	free(pending);
	return fd;
}

static void give_up(struct pending *pending, const char *why)
{
	char text[ADDR_TEXT];

	loop_trace(pending->listener->loop, "%s: %s", addr_text(&pending->peer, text), why);
	close(pending_free(pending));
}

static void timed_out(struct loop_timer *timer)
{
	give_up(container_of(timer, struct pending, timer),
		"sent nothing in time after connecting");
}

static void dropped(const struct tcp_listener *listener)
{
	if (listener->conf.dropped)
		listener->conf.dropped(listener->conf.user);
}

static void make_room(struct tcp_listener *listener)
{
	struct pending *oldest = listener->pending;

	while (oldest->next)
		oldest = oldest->next;
	give_up(oldest, "sent nothing, and others are waiting");
	dropped(listener);
}

static void hand_over_stream(struct pending *pending)
{
	struct tcp_listener *listener = pending->listener;
	struct addr peer = pending->peer;

	if (!listener->conf.stream)
		give_up(pending, "is not an iWARP peer");
	else
		listener->conf.stream(pending_free(pending), &peer, listener->conf.user);
}

static void hand_over_iwarp(struct pending *pending)
{
	struct tcp_listener *listener = pending->listener;
	struct addr peer = pending->peer;
	uint8_t frame[MPA_FRAME_MAX];
	uint32_t len = pending->got;
	struct ep_incoming *incoming;
	struct diag why = { 0 };
	char text[ADDR_TEXT];

	memcpy(frame, pending->frame, len);
	incoming = iwarp_incoming(
		pending_free(pending), &peer, frame, len, !listener->conf.no_crc, &why);
	if (incoming)
		listener->conf.iwarp(incoming, listener->conf.user);
	else
		loop_trace(listener->loop, "%s: %s", addr_text(&peer, text), why.text);
}

/* Peek at the first bytes. last: no more will come. True: it is iWARP. */
static bool classify(struct pending *pending, bool last)
{
	ssize_t got = recv(pending->fd.fd, pending->frame, MPA_KEY_LEN, MSG_PEEK | MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		give_up(pending, "closed the connection without sending anything");
		return false;
	}
	if (memcmp(pending->frame, MPA_KEY_REQ, (size_t)got)) {
		hand_over_stream(pending);
		return false;
	}
	if (got < MPA_KEY_LEN) {
		if (last)
			give_up(pending, "closed the connection before its protocol was known");
		return false;
	}
	pending->iwarp = true;
	loop_fd_change(pending->listener->loop, &pending->fd, EPOLLIN);
	return true;
}

static void readable(struct loop_fd *fd, uint32_t events)
{
	struct pending *pending = container_of(fd, struct pending, fd);
	struct diag why = { 0 };

	if (!pending->iwarp && !classify(pending, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	for (;;) {
		int len = pending->got < sizeof(struct mpa_frame)
				  ? (int)sizeof(struct mpa_frame)
				  : mpa_len(pending->frame, pending->got, false, &why);
		ssize_t got;
		if (len < 0) {
			give_up(pending, why.text);
			return;
		}
		if (pending->got == (uint32_t)len) {
			hand_over_iwarp(pending);
			return;
		}
		got = recv(fd->fd, pending->frame + pending->got, (uint32_t)len - pending->got,
			MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			give_up(pending, "closed the connection in its MPA request");
			return;
		}
		pending->got += (uint32_t)got;
	}
}

static void add_pending(struct tcp_listener *listener, int fd, const struct addr *peer)
{
	struct pending *pending;

	if (!listener->conf.iwarp) {
		listener->conf.stream(fd, peer, listener->conf.user);
		return;
	}
	if (listener->pendings == PENDING_MAX)
		make_room(listener);
	pending = calloc(1, sizeof(*pending));
	if (!pending) {
		close(fd);
		dropped(listener);
		return;
	}
	pending->listener = listener;
	pending->peer = *peer;
	pending->timer.fire = timed_out;
	/* Edge-triggered, as the peeked-at bytes stay readable. */
	pending->fd = (struct loop_fd){
		.fd = fd, .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .ready = readable
	};
	pending->next = listener->pending;
	listener->pending = pending;
	listener->pendings++;
	if (loop_fd_add(listener->loop, &pending->fd, NULL)) {
		give_up(pending, "out of memory for its descriptor");
		dropped(listener);
		return;
	}
	loop_timer_set(
		listener->loop, &pending->timer, loop_clock() + listener->conf.timeout_ms * MSEC);
}

static void keep_spare(struct tcp_listener *listener)
{
	listener->spare = fcntl(listener->fd.fd, F_DUPFD_CLOEXEC, 0);
}

static void pause_accepting(struct tcp_listener *listener, unsigned ms)
{
	loop_fd_del(listener->loop, &listener->fd);
	loop_timer_set(listener->loop, &listener->pause, loop_clock() + ms * MSEC);
}

/* Accept and close one connection from the backlog, so that the peer fails at once and does not
 * wait for its timeout. */
static bool reject_connection(struct tcp_listener *listener)
{
	int got;

	if (listener->spare >= 0)
		close(listener->spare);
	got = accept4(listener->fd.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (got >= 0)
		close(got);
	keep_spare(listener);
	return got >= 0;
}

static void starved(struct tcp_listener *listener, int err)
{
	struct diag why = { 0 };

	if (listener->pending) {
		make_room(listener); /* accept in the next turn, with the freed descriptor */
		return;
	}
	diag_sys(&why, err, "accept a connection");
	if (err == EMFILE)
		diag_hint(&why, "raise the limit on open files: ulimit -n");
	loop_trace(listener->loop, "%s", why.text);
	if (listener->conf.starved && listener->conf.starved(&why, listener->conf.user))
		pause_accepting(listener, SOON_MS);
	else if (!reject_connection(listener))
		pause_accepting(listener, PAUSE_MS);
}

static void acceptable(struct loop_fd *fd, uint32_t events)
{
	struct tcp_listener *listener = container_of(fd, struct tcp_listener, fd);

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		struct addr peer = { .len = sizeof(peer.ss) };
		int got = accept4(fd->fd, (struct sockaddr *)&peer.ss, &peer.len,
			SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (got >= 0) {
			add_pending(listener, got, &peer);
			continue;
		}
		/* Connections accepted in this turn may still show their kind before one is
		 * closed. */
		if (!i &&
			(errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
			starved(listener, errno);
		return;
	}
}

static void resume_accepting(struct loop_timer *timer)
{
	struct tcp_listener *listener = container_of(timer, struct tcp_listener, pause);

	if (loop_fd_add(listener->loop, &listener->fd, NULL))
		loop_timer_set(listener->loop, timer, loop_clock() + PAUSE_MS * MSEC);
}

/* ":4420" is [::], which fails on a kernel without IPv6. */
static int new_socket(struct addr *at)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)&at->ss;
	int fd = socket(at->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 && errno == EAFNOSUPPORT && at->ss.ss_family == AF_INET6 &&
		IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = in6->sin6_port };

		memcpy(&at->ss, &in, sizeof(in));
		at->len = sizeof(in);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	return fd;
}

static int bind_ip(int fd, const struct addr *at, bool freebind)
{
	bool v6 = at->ss.ss_family == AF_INET6;
	int on = 1, off = 0;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (v6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	/* old kernels without the option fail in bind() */
	if (freebind)
		setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_FREEBIND : IP_FREEBIND,
			&on, sizeof(on));
	return bind(fd, (const struct sockaddr *)&at->ss, at->len);
}

static int open_socket(struct tcp_listener *listener, struct diag *diag)
{
	struct addr *at = &listener->at;
	int err, fd = inherited_take(at);

	if (fd >= 0) {
		listener->fd.fd = fd;
		if (at->ss.ss_family != AF_UNIX)
			tcp_tune(fd, at);
		return 0;
	}
	fd = new_socket(at);
	if (fd < 0)
		return diag_sys(diag, errno, "socket");
	listener->fd.fd = fd;
	if (at->ss.ss_family == AF_UNIX) {
		err = unix_bind(fd, at, listener->conf.mode, &listener->file, diag);
		if (err)
			return err;
	} else if (bind_ip(fd, at, listener->conf.freebind)) {
		return diag_sys(diag, errno, "bind");
	} else {
		tcp_tune(fd, at);
	}
	if (listen(fd, BACKLOG))
		return diag_sys(diag, errno, "listen");
	/* without a path the kernel chooses a name */
	if (at->ss.ss_family == AF_UNIX && at->len > sizeof(at->ss.ss_family))
		return 0;
	at->len = sizeof(at->ss);
	if (getsockname(fd, (struct sockaddr *)&at->ss, &at->len))
		return diag_sys(diag, errno, "bind");
	return 0;
}

int tcp_listen(struct tcp_listener **out, struct loop *loop, const struct tcp_listen *conf,
	struct diag *diag)
{
	struct tcp_listener *listener = calloc(1, sizeof(*listener));
	char text[ADDR_TEXT];
	int err;

	if (!listener)
		return diag_sys(diag, ENOMEM, "listener");
	listener->loop = loop;
	listener->conf = *conf;
	listener->at = conf->at;
	listener->pause.fire = resume_accepting;
	listener->fd = (struct loop_fd){ .fd = -1, .events = EPOLLIN, .ready = acceptable };
	listener->spare = -1;
	err = open_socket(listener, diag);
	if (!err) {
		keep_spare(listener);
		err = loop_fd_add(loop, &listener->fd, diag);
	}
	if (err) {
		tcp_listener_free(listener);
		return diag_ctx(diag, "%s", addr_text(&conf->at, text)), err;
	}
	*out = listener;
	return 0;
}

const struct addr *tcp_listener_addr(const struct tcp_listener *listener)
{
	return &listener->at;
}

void tcp_listener_free(struct tcp_listener *listener)
{
	while (listener->pending)
		close(pending_free(listener->pending));
	loop_timer_del(listener->loop, &listener->pause);
	loop_fd_del(listener->loop, &listener->fd);
	unix_remove(&listener->at, &listener->file);
	if (listener->spare >= 0)
		close(listener->spare);
	if (listener->fd.fd >= 0)
		close(listener->fd.fd);
	free(listener);
}
