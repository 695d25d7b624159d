/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS between a stream and its socket. */
#include "tcp_stream.h"
#include "tls.h"
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#define RECEIVES 16 /* in one call, which must not keep the loop from its other work */

/* What a client has sent must not arrive after it gave up the connection, as stream_reset() says;
 * then there is no alert. */
static void fail(struct tcp *tcp, const struct diag *why)
{
	struct iovec alert = tls_conn_pending(tcp->tls);

	if (!tcp->stream.why.err)
		tcp->stream.why = *why;
	if (tcp->tls->secured && tls_conn_begins(tcp->tls)) {
		tcp_reset_on_close(tcp->fd.fd);
		tcp_end(tcp);
		return;
	}
	if (alert.iov_len)
		tcp_send(tcp->fd.fd, &alert, 1, 0);
	tcp_shutdown(tcp);
}

/* Returns the number of bytes, 0 if nothing can be read now, -errno if the connection has ended. */
static ssize_t receive(struct tcp *tcp)
{
	struct iovec room = tls_conn_room(tcp->tls);
	ssize_t bytes;

	do
		bytes = tcp_recv(tcp->fd.fd, &room, 1);
	while (bytes < 0 && errno == EINTR);
	tcp->had_data |= bytes >= 0 || errno != EAGAIN;
	if (bytes > 0) {
		tcp->moved += (uint64_t)bytes;
		tls_conn_received(tcp->tls, (size_t)bytes);
		return bytes;
	}
	return !bytes ? -ENODATA : errno == EAGAIN ? 0 : -errno;
}

static void ended(struct tcp *tcp, ssize_t err)
{
	if (err == -ENODATA)
		tcp_closed(tcp);
	else
		tcp_broken(tcp, (int)-err);
}

/* --- the handshake */

/* The socket is not watched while a step runs: the peer may close it, but its last record counts.
 */
static void step(struct tcp *tcp)
{
	struct diag why = { 0 };

	loop_fd_del(tcp->stream.loop, &tcp->fd);
	if (tls_conn_step(tcp->tls, tcp->stream.loop, &why))
		fail(tcp, &why);
}

static void secure(struct tcp *tcp)
{
	const struct tls_conn *tls = tcp->tls;
	struct stream *stream = &tcp->stream;

	snprintf(stream->security, sizeof(stream->security), "TLS 1.3, %s%s%s", tls->suite,
		tls->peer[0] ? ", " : "", tls->peer);
	stream->chain = tls->chain;
	stream->chain_len = tls->chain_len;
	loop_trace(stream->loop, "%s: %s", stream->route, stream->security);
	stream->ev->secured(stream);
	if (tcp->socket_closed)
		return;
	tcp_tls_flush(tcp);
	if (!tcp->socket_closed)
		tcp_tls_read_again(tcp);
}

static void stepped(void *user)
{
	struct tcp *tcp = user;
	struct tls_conn *tls = tcp->tls;

	tcp->fd.events = tcp_events(tcp);
	if (!tls->why.err)
		loop_fd_add(tcp->stream.loop, &tcp->fd, &tls->why);
	if (tls->why.err) {
		fail(tcp, &tls->why);
		return;
	}
	if (tls->secured) {
		secure(tcp);
		return;
	}
	tcp_tls_flush(tcp);
	if (!tcp->socket_closed && tls_conn_has_record(tls))
		step(tcp);
}

int stream_start_tls(struct stream *stream, const struct stream_tls *with, struct diag *diag)
{
	struct tcp *tcp = tcp_of(stream);

	if (tcp->socket_closed)
		return -ENOTCONN;
	tcp->tls = tls_conn_new(with->creds, with->hostname, with->client, diag);
	if (!tcp->tls)
		return -diag->err;
	tcp->tls->stepped = stepped;
	tcp->tls->user = tcp;
	if (tls_conn_begins(tcp->tls))
		step(tcp);
	else
		loop_fd_change(stream->loop, &tcp->fd, tcp_events(tcp));
	return 0;
}

const char *stream_tls_peer(const struct stream *stream)
{
	const struct tcp *tcp = container_of(stream, const struct tcp, stream);

	return tcp->tls ? tcp->tls->peer : "";
}

const char *stream_tls_cipher(const struct stream *stream)
{
	const struct tcp *tcp = container_of(stream, const struct tcp, stream);

	return tcp->tls->secret_len == 48 ? "TLS_AES_256_GCM_SHA384" : "TLS_AES_128_GCM_SHA256";
}

bool stream_tls_is_psk(const struct stream *stream)
{
	return container_of(stream, const struct tcp, stream)->tls->psk;
}

void tcp_tls_receive(struct tcp *tcp)
{
	ssize_t bytes;

	bytes = receive(tcp);
	if (bytes < 0)
		ended(tcp, bytes);
	else if (tls_conn_has_record(tcp->tls))
		step(tcp);
}

/* --- records */

ssize_t tcp_tls_recv(struct tcp *tcp, const struct iovec *iov, int count)
{
	struct tls_conn *tls = tcp->tls;
	struct diag why = { 0 };
	struct tls_cursor to = { iov, count, 0 };
	size_t room = tls_cursor_room(&to), sum = 0;
	ssize_t got;

	for (int i = 0; i < RECEIVES; i++) {
		got = tls_conn_take(tls, &to, &why);
		if (got < 0) {
			fail(tcp, &why);
			return -tcp->stream.why.err;
		}
		sum += (size_t)got;
		tcp->had_data |= got;
		if (sum == room)
			return (ssize_t)sum;
		got = tls->closed ? -ENODATA : receive(tcp);
		if (got == 0 || (got < 0 && sum))
			return (ssize_t)sum;
		if (got < 0) {
			ended(tcp, got);
			return -tcp->stream.why.err;
		}
	}
	return (ssize_t)sum;
}

void tcp_tls_flush(struct tcp *tcp)
{
	struct iovec iov[IOV_MAX_TURN], pending;
	struct diag why = { 0 };
	ssize_t bytes;
	size_t sum;

	if (tcp->tls->running)
		return;
	for (;;) {
		pending = tls_conn_pending(tcp->tls);
		if (!pending.iov_len) {
			unsigned count = tcp->tls->secured ? tcp_gather(tcp, iov, &sum) : 0;

			bytes = count ? tls_conn_put(tcp->tls, iov, (int)count, &why) : 0;
			if (bytes < 0) {
				fail(tcp, &why);
				return;
			}
			pending = tls_conn_pending(tcp->tls);
			if (!pending.iov_len)
				break;
		}
		bytes = tcp_send(tcp->fd.fd, &pending, 1, 0);
		if (bytes < 0 && errno == EAGAIN) {
			loop_fd_change(tcp->stream.loop, &tcp->fd, tcp_events(tcp) | EPOLLOUT);
			return;
		}
		if (bytes < 0 && errno != EINTR) {
			tcp_broken(tcp, errno);
			return;
		}
		if (bytes < 0)
			continue;
		tcp->moved += (uint64_t)bytes;
		tcp_retire(tcp, tls_conn_sent(tcp->tls, (size_t)bytes));
		if (tcp->socket_closed)
			return;
	}
	loop_fd_change(tcp->stream.loop, &tcp->fd, tcp_events(tcp));
}

/* One nanosecond later, which is another turn. */
void tcp_tls_read_again(struct tcp *tcp)
{
	if (tcp->tls->secured && tcp->in & EPOLLIN && tls_conn_has_data(tcp->tls))
		loop_timer_set(tcp->stream.loop, &tcp->again, loop_now(tcp->stream.loop) + 1);
}

/* False: the socket is full, or the connection has failed. */
static bool send_pending(struct tcp *tcp)
{
	struct iovec pending = tls_conn_pending(tcp->tls);
	ssize_t bytes = pending.iov_len ? tcp_send(tcp->fd.fd, &pending, 1, 0) : 0;

	if (bytes < 0 || (size_t)bytes < pending.iov_len)
		return false;
	tcp->sent += tls_conn_sent(tcp->tls, (size_t)bytes);
	return true;
}

void tcp_tls_last(struct tcp *tcp)
{
	struct tls_conn *tls = tcp->tls;
	struct iovec iov[IOV_MAX_TURN];
	unsigned count;
	size_t sum;

	if (!tls->secured)
		return;
	while (send_pending(tcp)) {
		count = tcp_gather(tcp, iov, &sum);
		if (!count || tls_conn_put(tls, iov, (int)count, NULL) <= 0) {
			tls_conn_put_close(tls);
			send_pending(tcp);
			return;
		}
	}
}
