/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A byte stream over TCP or a unix socket. Data queued during a turn of the loop is sent with one
 * sendmsg() at its end; EPOLLOUT is armed only while the send buffer is full. */
#include "tcp_stream.h"
#include "tls.h"
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define UNREAD 256 /* recv() calls to drain unread data of the peer, 4 MiB */

void tcp_end(struct tcp *tcp)
{
	tcp->socket_closed = true;
	tcp->stream.state = STREAM_CLOSING;
	tcp_connect_cancel(tcp->connect);
	tcp->connect = NULL;
	loop_timer_del(tcp->stream.loop, &tcp->again);
	tls_conn_free(tcp->tls);
	tcp->tls = NULL;
	tcp->stream.chain_len = 0;
	loop_fd_del(tcp->stream.loop, &tcp->fd);
	if (tcp->fd.fd >= 0)
		close(tcp->fd.fd);
	tcp->fd.fd = -1;
	loop_work_add(tcp->stream.loop, &tcp->work);
}

struct diag *tcp_why(struct tcp *tcp)
{
	return tcp->stream.why.err ? NULL : &tcp->stream.why;
}

void tcp_broken(struct tcp *tcp, int err)
{
	tcp_failed(tcp_why(tcp), err, &tcp->dst, true);
	tcp_end(tcp);
}

void tcp_closed(struct tcp *tcp)
{
	diag_set(tcp_why(tcp), DIAG_CLOSED, ECONNRESET, "connection closed by the peer%s",
		tcp->tls && !tcp->tls->secured ? " during the TLS handshake" : "");
	tcp_end(tcp);
}

uint32_t tcp_events(const struct tcp *tcp)
{
	return tcp->tls && !tcp->tls->secured ? EPOLLIN : tcp->in;
}

static void write_route(struct tcp *tcp)
{
	struct addr from = { .len = sizeof(from.ss) };
	char text[ADDR_TEXT], to[ADDR_TEXT], iface[IFNAMSIZ] = "";
	socklen_t len = sizeof(iface);

	getsockname(tcp->fd.fd, (struct sockaddr *)&from.ss, &from.len);
	getsockopt(tcp->fd.fd, SOL_SOCKET, SO_BINDTODEVICE, iface, &len);
	addr_text(&from, text); /* empty: a unix socket without a name */
	snprintf(tcp->stream.route, sizeof(tcp->stream.route), "%s%sto %s%s%s", text,
		text[0] ? " " : "", addr_text(&tcp->dst, to), iface[0] ? " on " : "", iface);
}

unsigned tcp_gather(const struct tcp *tcp, struct iovec iov[IOV_MAX_TURN], size_t *sum)
{
	size_t skip = tcp->sent;
	unsigned count = 0;

	*sum = 0;

	for (const struct stream_out *out = tcp->out; out; out = out->next)
		for (unsigned i = 0; i < out->niov; i++) {
			size_t len = out->iov[i].iov_len;
			if (skip >= len) {
				skip -= len;
				continue;
			}
			if (count == IOV_MAX_TURN)
				return count;
			iov[count++] =
				(struct iovec){ (char *)out->iov[i].iov_base + skip, len - skip };
			*sum += len - skip;
			skip = 0;
		}
	return count;
}

static size_t out_len(const struct stream_out *out)
{
	size_t len = 0;
	for (unsigned i = 0; i < out->niov; i++)
		len += out->iov[i].iov_len;
	return len;
}

void tcp_retire(struct tcp *tcp, size_t bytes)
{
	tcp->sent += bytes;
	while (!tcp->socket_closed && tcp->out && tcp->sent >= out_len(tcp->out)) {
		struct stream_out *out = tcp->out;
		tcp->sent -= out_len(out);
		tcp->out = out->next;
		if (!tcp->out)
			tcp->out_end = &tcp->out;
		if (!out->unsignaled)
			tcp->stream.ev->sent(&tcp->stream, out);
	}
}

static void flush(struct tcp *tcp)
{
	struct iovec iov[IOV_MAX_TURN];
	size_t len;

	if (tcp->tls) {
		tcp_tls_flush(tcp);
		return;
	}
	while (!tcp->socket_closed && tcp->out) {
		unsigned count = tcp_gather(tcp, iov, &len);
		ssize_t bytes = count ? tcp_send(tcp->fd.fd, iov, count, 0) : 0;
		bool full = bytes < 0 ? errno == EAGAIN : (size_t)bytes < len;

		if (bytes >= 0) {
			tcp->moved += (size_t)bytes;
			tcp_retire(tcp, (size_t)bytes);
		}
		if (full && !tcp->socket_closed) {
			loop_fd_change(tcp->stream.loop, &tcp->fd, tcp_events(tcp) | EPOLLOUT);
			return;
		}
		if (bytes < 0 && errno != EINTR) {
			tcp_broken(tcp, errno);
			return;
		}
	}
	if (!tcp->socket_closed)
		loop_fd_change(tcp->stream.loop, &tcp->fd, tcp_events(tcp));
}

static void end_of_turn(struct loop_work *work)
{
	struct tcp *tcp = container_of(work, struct tcp, work);

	if (!tcp->socket_closed) {
		if (!(tcp->fd.events & EPOLLOUT))
			flush(tcp);
		return;
	}
	tcp->stream.state = STREAM_DOWN;
	loop_trace(tcp->stream.loop, "%s: down%s%s", tcp->stream.route,
		tcp->stream.why.err ? ": " : "", tcp->stream.why.text);
	tcp->stream.ev->down(&tcp->stream);
}

static void connected(void *user, int fd, const struct addr *at, const struct diag *failed)
{
	struct tcp *tcp = user;

	tcp->connect = NULL;
	tcp->fd.fd = fd;
	tcp->fd.events = tcp->in;
	if (fd < 0)
		tcp->stream.why = *failed;
	if (fd < 0 || loop_fd_add(tcp->stream.loop, &tcp->fd, &tcp->stream.why)) {
		tcp_end(tcp);
		return;
	}
	tcp->dst = tcp->stream.peer = *at;
	write_route(tcp);
	loop_trace(tcp->stream.loop, "%s: up", tcp->stream.route);
	tcp->stream.state = STREAM_UP;
	tcp->stream.ev->up(&tcp->stream);
	if (tcp->out)
		loop_work_add(tcp->stream.loop, &tcp->work);
}

void tcp_readable(struct tcp *tcp)
{
	tcp->stream.ev->readable(&tcp->stream);
	if (!tcp->socket_closed && tcp->tls)
		tcp_tls_read_again(tcp);
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct tcp *tcp = container_of(fd, struct tcp, fd);

	if (events & EPOLLOUT)
		flush(tcp);
	if (tcp->socket_closed || !(events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)))
		return;
	/* Unread requests of a reset connection may be older than those that the client has sent
	 * elsewhere since. */
	if (tcp->accepted && events & EPOLLERR) {
		tcp_broken(tcp, tcp_error(fd->fd));
		return;
	}
	/* Reading also reports errors and the peer's close. Data that the owner has no room for
	 * stays in the socket. */
	if (tcp->tls && !tcp->tls->secured)
		tcp_tls_receive(tcp);
	else if (tcp->in & EPOLLIN)
		tcp_readable(tcp);
	else if (events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP))
		tcp_closed(tcp);
}

static bool poll_socket(struct loop_fd *fd)
{
	struct tcp *tcp = container_of(fd, struct tcp, fd);

	if (tcp->stream.state != STREAM_UP || !(tcp->in & EPOLLIN))
		return false;
	tcp->had_data = false;
	if (tcp->tls && !tcp->tls->secured)
		tcp_tls_receive(tcp);
	else
		tcp_readable(tcp);
	return tcp->had_data;
}

static void read_again(struct loop_timer *timer)
{
	struct tcp *tcp = container_of(timer, struct tcp, again);

	if (tcp->in & EPOLLIN)
		tcp_readable(tcp);
}

static struct tcp *tcp_new(struct loop *loop, const struct addr *peer, uint32_t events,
	const struct stream_events *ev, void *user)
{
	struct tcp *tcp = calloc(1, sizeof(*tcp));

	if (!tcp)
		return NULL;
	tcp->stream = (struct stream){ .ev = ev, .loop = loop, .user = user };
	tcp->fd =
		(struct loop_fd){ .fd = -1, .events = events, .ready = ready, .poll = poll_socket };
	tcp->work.run = end_of_turn;
	tcp->again.fire = read_again;
	tcp->out_end = &tcp->out;
	tcp->in = EPOLLIN;
	tcp->dst = *peer;
	return tcp;
}

int stream_dial(struct stream **out, struct loop *loop, const struct stream_dial *dial,
	const struct stream_events *events, void *user, struct diag *diag)
{
	struct tcp *tcp = tcp_new(loop, &dial->dst, EPOLLIN, events, user);
	char to[ADDR_TEXT];
	int err;

	if (!tcp)
		return diag_sys(diag, ENOMEM, "TCP connection");
	err = tcp_connect(&tcp->connect, loop, dial, connected, tcp, diag);
	if (err) {
		free(tcp);
		return err;
	}
	*out = &tcp->stream;
	snprintf(tcp->stream.route, sizeof(tcp->stream.route), "to %s", addr_text(&tcp->dst, to));
	return 0;
}

int stream_attach(struct stream **out, struct loop *loop, const struct stream_detached *from,
	const struct addr *peer, const struct stream_events *events, void *user, struct diag *diag)
{
	int err = stream_accept(out, loop, from->fd, peer, events, user, diag);
	struct tcp *tcp;

	if (err || !from->tls) {
		tls_conn_free(from->tls);
		return err;
	}
	tcp = tcp_of(*out);
	tcp->tls = from->tls;
	tcp->tls->user = tcp;
	tcp_tls_read_again(tcp);
	return 0;
}

int stream_accept(struct stream **out, struct loop *loop, int fd, const struct addr *peer,
	const struct stream_events *events, void *user, struct diag *diag)
{
	struct tcp *tcp = tcp_new(loop, peer, EPOLLIN, events, user);
	int err = tcp ? 0 : diag_sys(diag, ENOMEM, "TCP connection");

	if (!err) {
		tcp->fd.fd = fd;
		err = loop_fd_add(loop, &tcp->fd, diag);
	}
	if (err) {
		close(fd);
		free(tcp);
		return err;
	}
	if (peer->ss.ss_family == AF_UNIX)
		tcp_tune(fd, peer);
	tcp->accepted = true;
	tcp->stream.state = STREAM_UP;
	write_route(tcp);
	loop_trace(loop, "%s: accepted", tcp->stream.route);
	*out = &tcp->stream;
	return 0;
}

ssize_t stream_recv(struct stream *stream, const struct iovec *iov, int count)
{
	struct tcp *tcp = tcp_of(stream);
	ssize_t bytes;

	if (tcp->socket_closed)
		return -ENOTCONN;
	if (tcp->tls)
		return tcp_tls_recv(tcp, iov, count);
	do
		bytes = tcp_recv(tcp->fd.fd, iov, count);
	while (bytes < 0 && errno == EINTR);
	tcp->had_data |= bytes >= 0 || errno != EAGAIN;
	if (bytes > 0) {
		tcp->moved += (uint64_t)bytes;
		return bytes;
	}
	if (bytes < 0 && errno == EAGAIN)
		return 0;
	if (bytes < 0)
		tcp_broken(tcp, errno);
	else
		tcp_closed(tcp);
	return -stream->why.err;
}

int stream_peek(struct stream *stream)
{
	struct tcp *tcp = tcp_of(stream);
	ssize_t bytes;
	uint8_t first;

	if (tcp->socket_closed)
		return -ENOTCONN;
	do
		bytes = recv(tcp->fd.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	while (bytes < 0 && errno == EINTR);
	if (bytes > 0)
		return first;
	if (bytes < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (bytes < 0)
		tcp_broken(tcp, errno);
	else
		tcp_closed(tcp);
	return -stream->why.err;
}

uint64_t stream_progress(struct stream *stream)
{
	const struct tcp *tcp = tcp_of(stream);

	return tcp->socket_closed ? tcp->moved : tcp_progress(tcp->fd.fd, tcp->moved);
}

void stream_probe(struct stream *stream, uint32_t idle_ms)
{
	const struct tcp *tcp = tcp_of(stream);

	if (!tcp->socket_closed)
		tcp_probe(tcp->fd.fd, idle_ms);
}

bool stream_is_unacknowledged(struct stream *stream, uint32_t ms)
{
	const struct tcp *tcp = tcp_of(stream);

	return !tcp->socket_closed && tcp_is_unacknowledged(tcp->fd.fd, ms);
}

bool stream_peer_closed(struct stream *stream)
{
	const struct tcp *tcp = tcp_of(stream);

	return tcp->socket_closed || tcp_peer_closed(tcp->fd.fd);
}

void stream_send(struct stream *stream, struct stream_out *chain)
{
	struct tcp *tcp = tcp_of(stream);

	if (tcp->socket_closed || !chain)
		return;
	*tcp->out_end = chain;
	while (*tcp->out_end)
		tcp->out_end = &(*tcp->out_end)->next;
	if (stream->state == STREAM_UP)
		loop_work_add(stream->loop, &tcp->work);
}

void stream_set_interest(struct stream *stream, enum stream_interest interest)
{
	static const uint32_t events[] = { EPOLLIN, EPOLLRDHUP, 0 };
	struct tcp *tcp = tcp_of(stream);

	tcp->in = events[interest];
	if (!tcp->socket_closed && stream->state == STREAM_UP)
		loop_fd_change(
			stream->loop, &tcp->fd, tcp_events(tcp) | (tcp->fd.events & EPOLLOUT));
	if (!tcp->socket_closed && tcp->tls)
		tcp_tls_read_again(tcp);
}

struct stream_detached stream_detach(struct stream *stream)
{
	struct tcp *tcp = tcp_of(stream);
	const struct stream_detached detached = { tcp->fd.fd, tcp->tls };

	loop_timer_del(stream->loop, &tcp->again);
	loop_fd_del(stream->loop, &tcp->fd);
	loop_work_del(stream->loop, &tcp->work);
	free(tcp);
	return detached;
}

/* Send what was queued in this turn, as far as the socket takes it. */
void stream_close(struct stream *stream)
{
	struct tcp *tcp = tcp_of(stream);
	struct iovec iov[IOV_MAX_TURN];
	size_t sum;
	unsigned count = tcp_gather(tcp, iov, &sum);

	if (tcp->socket_closed)
		return;
	if (stream->state == STREAM_UP && tcp->tls)
		tcp_tls_last(tcp);
	else if (stream->state == STREAM_UP && count)
		tcp_send(tcp->fd.fd, iov, count, 0);
	tcp_end(tcp);
}

void tcp_shutdown(struct tcp *tcp)
{
	uint8_t unread[16384];

	shutdown(tcp->fd.fd, SHUT_WR);
	for (int i = 0; i < UNREAD && recv(tcp->fd.fd, unread, sizeof(unread), MSG_DONTWAIT) > 0;
		i++)
		;
	tcp_end(tcp);
}

void stream_shutdown(struct stream *stream)
{
	struct tcp *tcp = tcp_of(stream);

	if (tcp->socket_closed)
		return;
	if (tcp->tls)
		tcp_tls_last(tcp);
	tcp_shutdown(tcp);
}

void stream_reset(struct stream *stream)
{
	struct tcp *tcp = tcp_of(stream);

	if (tcp->socket_closed)
		return;
	tcp_reset_on_close(tcp->fd.fd);
	tcp_end(tcp);
}

void stream_free(struct stream *stream)
{
	struct tcp *tcp = tcp_of(stream);

	if (!tcp->socket_closed)
		tcp_end(tcp);
	loop_work_del(stream->loop, &tcp->work);
	free(tcp);
}
