/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One NBD connection's life on its worker's thread: bytes in, the handshake's bytes out, one turn
 * of work at the end of the loop's, and the end, which waits for everything that flies. */
#include "nbd.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#define MSEC        1000000ull
#define BIG_PAYLOAD 32768 /* from here on payload is not worth copying through the stage */
#define UNREAD      64    /* stages of requests that will not be done */
#define STAGE_FEW   4096  /* what is then taken beyond it: the next headers */

void nbd_conn_wake(struct nbd_conn *c)
{
	loop_work_add(c->loop, &c->turn);
}

void nbd_conn_abort(struct nbd_conn *c, const char *why)
{
	if (c->gone)
		return;
	loop_trace(c->loop, "nbd: %s: closed: %s", c->peer, why);
	c->gone = true;
	nbd_serve_stop(c);
	loop_timer_del(c->loop, &c->deadline);
	loop_fd_del(c->loop, &c->fd);
	close(c->fd.fd);
	nbd_conn_wake(c);
}

static void over(struct loop_msg *msg)
{
	nbd_conn_over(container_of(msg, struct nbd_conn, msg));
}

static void finish(struct nbd_conn *c)
{
	loop_work_del(c->loop, &c->turn);
	nbd_serve_fini(c);
	free(c->fence);
	free(c->hello);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->msg.run = over;
	loop_post(nbd_server_loop(c->server), &c->msg);
}

static int enter(struct nbd_hello *hello, unsigned export, struct diag *diag)
{
	int err = nbd_serve_init(hello->user, export, diag);

	if (err)
		nbd_serve_fini(hello->user);
	return err;
}

static bool hello_send(struct nbd_conn *c)
{
	struct nbd_hello *h = c->hello;
	ssize_t n;

	while (c->hello_at < h->out_len) {
		n = send(c->fd.fd, h->out + c->hello_at, h->out_len - c->hello_at,
			MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			nbd_conn_abort(c, "client disconnected");
			return false;
		}
		if (n < 0) {
			c->blocked = true;
			return false;
		}
		c->hello_at += (size_t)n;
	}
	c->hello_at = h->out_len = 0;
	return true;
}

static void serve_export(struct nbd_conn *c)
{
	c->features = nbd_export_flags(c->export, c->structured);
	if (!nbd_server_fence(c)) {
		nbd_conn_abort(c, "out of memory");
		return;
	}
	loop_trace(c->loop, "nbd: %s: serving export '%s'%s%s", c->peer, c->export->name,
		c->structured ? ", structured replies" : "",
		c->meta ? ", " NBD_META_ALLOCATION : "");
}

static void hello_done(struct nbd_conn *c)
{
	struct nbd_hello *h = c->hello;

	loop_timer_del(c->loop, &c->deadline);
	c->structured = h->structured;
	c->meta = h->meta == h->chosen + 1;
	serve_export(c);
	free(h);
	c->hello = NULL;
}

static void hello_turn(struct nbd_conn *c)
{
	while (!c->blocked && hello_send(c)) {
		size_t used;

		if (c->hello->state == NBD_HELLO_END) {
			nbd_conn_abort(c, "handshake ended by the client");
			return;
		}
		if (c->hello->state == NBD_HELLO_DONE) {
			hello_done(c);
			return;
		}
		used = nbd_hello_feed(c->hello, c->stage + c->head, c->tail - c->head);
		c->head += used;
		if (!used && !c->hello->out_len && c->hello->state != NBD_HELLO_END)
			return;
	}
}

/* What a peer may still send has a place: the stage, or the slot that takes payload. */
static bool has_room(const struct nbd_conn *c)
{
	return c->fill || c->tail - c->head < sizeof(c->stage);
}

/* Closing a TCP socket that still has something to be read resets it, and the last answers could
 * get lost. */
static void hang_up(struct nbd_conn *c)
{
	shutdown(c->fd.fd, SHUT_WR);
	for (int i = 0; i < UNREAD && recv(c->fd.fd, c->stage, sizeof(c->stage), MSG_DONTWAIT) > 0;
		i++)
		;
	nbd_conn_abort(c, "done");
}

static void serve_turn(struct nbd_conn *c)
{
	do {
		nbd_flush(c);
		nbd_requests(c);
	} while (c->out && !c->blocked && !c->gone);
	/* nothing flies and nothing waits to be sent: what is left cannot go on without bytes that
	 * will not be read */
	if (c->ending && !c->flying && !c->out && !c->gone)
		hang_up(c);
}

/* Without room the end of the stream cannot be read. But requests that a client has left behind it
 * must not be executed once there is room again: another client may have written there since. */
static uint32_t watched(const struct nbd_conn *c)
{
	uint32_t in = c->ending ? 0 : has_room(c) ? EPOLLIN : EPOLLRDHUP;

	return in | (c->blocked ? EPOLLOUT : 0u);
}

static void turn(struct loop_work *work)
{
	struct nbd_conn *c = container_of(work, struct nbd_conn, turn);

	if (c->hello && !c->gone)
		hello_turn(c);
	if (!c->hello && !c->gone)
		serve_turn(c);
	if (c->gone) {
		if (!c->cancelled)
			nbd_serve_cancel(c);
		if (!c->flying && !c->fences)
			finish(c);
		return;
	}
	loop_fd_change(c->loop, &c->fd, watched(c));
}

static void receive(struct nbd_conn *c)
{
	struct iovec iov[2];
	size_t want = c->fill ? c->fill->bytes - c->got : 0, room;
	int count = 0;
	ssize_t n;

	if (c->head == c->tail) {
		c->head = c->tail = 0;
	} else if (c->head && c->tail > sizeof(c->stage) / 2) {
		memmove(c->stage, c->stage + c->head, c->tail - c->head);
		c->tail -= c->head;
		c->head = 0;
	}
	room = sizeof(c->stage) - c->tail;
	if (want >= BIG_PAYLOAD && room > STAGE_FEW)
		room = STAGE_FEW;
	if (want)
		iov[count++] = (struct iovec){ c->fill->base + c->got, want };
	iov[count++] = (struct iovec){ c->stage + c->tail, room };
	n = readv(c->fd.fd, iov, count);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		nbd_conn_abort(c, "client disconnected");
		return;
	}
	if ((size_t)n < want)
		want = (size_t)n;
	c->got += (uint32_t)want;
	c->tail += (size_t)n - want;
	if (!c->hello)
		nbd_requests(c);
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	struct nbd_conn *c = container_of(fd, struct nbd_conn, fd);

	if (events & EPOLLOUT)
		c->blocked = false;
	if (events & EPOLLIN && !c->ending && has_room(c))
		receive(c);
	else if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR))
		nbd_conn_abort(c, "client disconnected");
	nbd_conn_wake(c);
}

static void too_late(struct loop_timer *timer)
{
	nbd_conn_abort(container_of(timer, struct nbd_conn, deadline), "handshake timed out");
}

static struct nbd_conn *conn_new(struct nbd_server *server, int fd, const char *peer)
{
	struct nbd_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server = server;
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	c->fd = (struct loop_fd){ .fd = fd, .events = EPOLLIN, .ready = ready };
	c->turn.run = turn;
	c->deadline.fire = too_late;
	return c;
}

int nbd_conn_new(struct nbd_conn **out, struct nbd_server *server, int fd, const char *peer,
	struct diag *diag)
{
	const struct nbd_options *opt = nbd_server_options(server);
	struct nbd_conn *c = conn_new(server, fd, peer);

	if (c)
		c->hello = calloc(1, sizeof(*c->hello));
	if (!c || !c->hello) {
		free(c);
		return diag_sys(diag, ENOMEM, "another client");
	}
	c->hello->user = c;
	c->hello->export = opt->export;
	c->hello->exports = opt->exports;
	c->hello->enter = enter;
	nbd_hello_start(c->hello);
	*out = c;
	return 0;
}

int nbd_conn_adopt(struct nbd_conn **out, struct nbd_server *server, unsigned export, int fd,
	const char *peer, struct diag *diag)
{
	struct nbd_conn *c = conn_new(server, fd, peer);

	if (!c)
		return diag_sys(diag, ENOMEM, "another connection");
	c->adopted = true;
	c->export = &nbd_server_options(server)->export[export];
	*out = c;
	return 0;
}

/* What its handshake would have found out. */
static void adopted_start(struct nbd_conn *c)
{
	struct diag why = { 0 };

	if (nbd_serve_init(c, (unsigned)(c->export - nbd_server_options(c->server)->export), &why))
		nbd_conn_abort(c, why.text);
	else
		serve_export(c);
}

void nbd_conn_start(struct nbd_conn *c, struct nbd_worker *worker)
{
	c->worker = worker;
	c->loop = worker->loop;
	c->next = worker->conns;
	if (c->next)
		c->next->link = &c->next;
	c->link = &worker->conns;
	worker->conns = c;
	loop_trace(c->loop, "nbd: %s: connected", c->peer);
	if (loop_fd_add(c->loop, &c->fd, NULL)) {
		nbd_conn_abort(c, "can't add it to the event loop");
		return;
	}
	if (worker->ending) {
		nbd_conn_end(c);
		return;
	}
	if (c->adopted)
		adopted_start(c);
	else
		loop_timer_set(c->loop, &c->deadline,
			loop_now(c->loop) + nbd_server_options(c->server)->hello_ms * MSEC);
	nbd_conn_wake(c);
}

void nbd_conn_end(struct nbd_conn *c)
{
	if (c->hello)
		nbd_conn_abort(c, "server is stopping");
	c->ending = true;
	nbd_conn_wake(c);
}
