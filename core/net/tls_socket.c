/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A handshake of TLS on the kernel's socket, which then gets the keys (kTLS). */
#include "tls_socket.h"
#include "tls_conn.h"
#include "tls_creds.h"
#include <errno.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#ifndef SOL_TLS
#define SOL_TLS 282
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

struct tls_socket {
	struct loop *loop;
	struct loop_fd fd;
	struct loop_timer timer;
	struct loop_work start;
	struct tls_conn *tls;
	struct diag why;
	void (*done)(void *user, const struct diag *why);
	void *user;
};

static const char *peer_of(const struct tls_socket *ts)
{
	return ts->tls->creds->server ? "client" : "server";
}

/* Does not touch the struct afterwards: done() may free it. */
static void finish(struct tls_socket *ts)
{
	loop_fd_del(ts->loop, &ts->fd);
	loop_timer_del(ts->loop, &ts->timer);
	ts->done(ts->user, &ts->why);
}

/* --- keys */

/* struct tls12_crypto_info_aes_gcm_128 and _256: version and cipher, the last 8 bytes of the nonce,
 * the key, the first 4 bytes of the nonce, and the number of the next record: 0. */
#define IV   offsetof(struct tls12_crypto_info_aes_gcm_128, iv)
#define KEY  offsetof(struct tls12_crypto_info_aes_gcm_128, key)
#define SALT 4

static int set_key(int fd, int direction, const struct tls_key *key)
{
	const struct tls_crypto_info info = { .version = TLS_1_3_VERSION,
		.cipher_type =
			key->key_len == 16 ? TLS_CIPHER_AES_GCM_128 : TLS_CIPHER_AES_GCM_256 };
	uint8_t crypto[sizeof(struct tls12_crypto_info_aes_gcm_256)] = { 0 }, bytes[32];
	socklen_t len = key->key_len == 16 ? sizeof(struct tls12_crypto_info_aes_gcm_128)
					   : sizeof(struct tls12_crypto_info_aes_gcm_256);
	int err = tls_key_bytes(key, bytes);

	memcpy(crypto, &info, sizeof(info));
	memcpy(crypto + IV, key->nonce + SALT, sizeof(key->nonce) - SALT);
	memcpy(crypto + KEY, bytes, key->key_len);
	memcpy(crypto + KEY + key->key_len, key->nonce, SALT);
	if (!err && setsockopt(fd, SOL_TLS, direction, crypto, len))
		err = -errno;
	explicit_bzero(crypto, sizeof(crypto));
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

static int give_keys(struct tls_socket *ts)
{
	static const char ulp[] = "tls";
	int fd = ts->fd.fd, err = 0;

	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, sizeof(ulp)))
		err = -errno;
	if (err == -ENOENT) {
		diag_set(&ts->why, DIAG_NO_MODULE, ENOENT,
			"this kernel has no TLS for sockets (CONFIG_TLS)");
		return diag_hint(&ts->why, "load its module: modprobe tls");
	}
	if (!err)
		err = set_key(fd, TLS_TX, &ts->tls->tx);
	if (!err)
		err = set_key(fd, TLS_RX, &ts->tls->rx);
	return err ? diag_sys(&ts->why, -err, "give the keys of TLS to the kernel") : 0;
}

/* --- the handshake */

/* Returns whether all was sent. */
static bool flush(struct tls_socket *ts)
{
	struct iovec pending;
	ssize_t sent;

	while ((pending = tls_conn_pending(ts->tls)).iov_len) {
		sent = send(
			ts->fd.fd, pending.iov_base, pending.iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent >= 0) {
			tls_conn_sent(ts->tls, (size_t)sent);
			continue;
		}
		if (errno == EAGAIN)
			return false;
		if (errno != EINTR && !ts->why.err)
			diag_sys(&ts->why, errno, "TLS handshake with the %s", peer_of(ts));
		if (ts->why.err)
			return true;
	}
	return true;
}

/* Up to the end of a record: what follows the last one is the kernel's. Returns whether there was
 * something. */
static bool receive(struct tls_socket *ts)
{
	struct tls_conn *tls = ts->tls;
	const uint8_t *record = tls->in + tls->in_from;
	size_t have = tls->in_to - tls->in_from, whole = TLS_HEADER;
	struct iovec room;
	ssize_t got;

	if (have >= TLS_HEADER)
		whole += (size_t)record[3] << 8 | record[4];
	room = tls_conn_room(tls);
	do
		got = recv(ts->fd.fd, room.iov_base, whole - have, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		tls_conn_received(tls, (size_t)got);
	else if (!got)
		diag_set(&ts->why, DIAG_CLOSED, ECONNRESET,
			"the %s closed the connection during the TLS handshake", peer_of(ts));
	else if (errno != EAGAIN)
		diag_sys(&ts->why, errno, "TLS handshake with the %s", peer_of(ts));
	return got > 0;
}

static void step(struct tls_socket *ts)
{
	struct tls_conn *tls = ts->tls;

	if (tls->steps++ == TLS_STEPS)
		diag_set(&ts->why, DIAG_PROTOCOL, EPROTO, "the TLS handshake is too long");
	else
		tls_handshake_run(&tls->job);
	if (tls->why.err)
		ts->why = tls->why;
}

static void advance(struct tls_socket *ts)
{
	bool flushed = flush(ts), received = true;

	while (flushed && received && !ts->why.err && !ts->tls->handshake_done) {
		received = receive(ts);
		if (!ts->why.err && tls_conn_has_record(ts->tls))
			step(ts);
		flushed = flush(ts);
	}
	if (!flushed)
		loop_fd_change(ts->loop, &ts->fd, EPOLLOUT);
	else if (!ts->why.err && !ts->tls->handshake_done)
		loop_fd_change(ts->loop, &ts->fd, EPOLLIN);
	if (!flushed || (!ts->why.err && !ts->tls->handshake_done))
		return;
	if (!ts->why.err)
		give_keys(ts);
	finish(ts);
}

static void started(struct loop_work *work)
{
	struct tls_socket *ts = container_of(work, struct tls_socket, start);

	if (tls_conn_begins(ts->tls))
		step(ts);
	advance(ts);
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct tls_socket *ts = container_of(fd, struct tls_socket, fd);

	(void)events;
	if (!ts->start.on)
		advance(ts);
}

static void expired(struct loop_timer *timer)
{
	struct tls_socket *ts = container_of(timer, struct tls_socket, timer);

	diag_set(&ts->why, DIAG_TIMEOUT, ETIMEDOUT,
		"the %s did not finish the TLS handshake in time", peer_of(ts));
	finish(ts);
}

int tls_socket_new(struct tls_socket **out, struct loop *loop, int fd, struct tls_creds *creds,
	uint32_t timeout_ms, void (*done)(void *user, const struct diag *why), void *user,
	struct diag *diag)
{
	struct tls_socket *ts = calloc(1, sizeof(*ts));
	int err = ts ? 0 : diag_sys(diag, ENOMEM, "TLS");

	if (err)
		return err;
	*ts = (struct tls_socket){ .loop = loop,
		.fd = { .fd = fd, .events = EPOLLIN, .ready = ready },
		.timer.fire = expired,
		.start.run = started,
		.tls = tls_conn_new(creds, NULL, NULL, diag),
		.done = done,
		.user = user };
	err = ts->tls ? loop_fd_add(loop, &ts->fd, diag) : -diag->err;
	if (err) {
		tls_socket_free(ts);
		return err;
	}
	if (timeout_ms)
		loop_timer_set(loop, &ts->timer, loop_clock() + timeout_ms * MSEC);
	loop_work_add(loop, &ts->start);
	*out = ts;
	return 0;
}

void tls_socket_free(struct tls_socket *ts)
{
	if (!ts)
		return;
	loop_fd_del(ts->loop, &ts->fd);
	loop_timer_del(ts->loop, &ts->timer);
	loop_work_del(ts->loop, &ts->start);
	tls_conn_free(ts->tls);
	free(ts);
}
