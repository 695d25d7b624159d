/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One NBD connection's life on its worker's thread: bytes in, the handshake's bytes out, one turn
 * of work at the end of the loop's, and the end, which waits for everything that flies. */
#include "srv.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MSEC        1000000ull
#define BIG_PAYLOAD 32768 /* from here on payload is not worth copying through the stage */
#define STAGE_FEW   4096  /* what is then taken beyond it: the next headers */

void nbd_srv_conn_wake(struct nbd_srv_conn *c)
{
	loop_work_add(c->loop, &c->turn);
}

/* A free slot, or the end of what flies, matters only to those. */
void nbd_srv_conn_moved(struct nbd_srv_conn *c)
{
	if (c->cur || c->head != c->tail || c->ending || c->gone)
		nbd_srv_conn_wake(c);
}

void nbd_srv_conn_abort(struct nbd_srv_conn *c, const char *why)
{
	if (c->gone)
		return;
	loop_trace(c->loop, "nbd: %s: closed: %s", c->peer, why);
	c->gone = true;
	nbd_srv_stop(c);
	loop_timer_del(c->loop, &c->deadline);
	if (c->stream)
		stream_close(c->stream);
	nbd_srv_conn_wake(c);
}

static void over(struct loop_msg *msg)
{
	nbd_srv_conn_over(container_of(msg, struct nbd_srv_conn, msg));
}

static void finish(struct nbd_srv_conn *c)
{
	loop_work_del(c->loop, &c->turn);
	if (c->stream)
		stream_free(c->stream);
	nbd_srv_fini(c);
	free(c->fence);
	free(c->hello);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->msg.run = over;
	loop_post(nbd_server_loop(c->server), &c->msg);
}

static int enter(struct nbd_srv_hello *hello, unsigned export, struct diag *diag)
{
	int err = nbd_srv_init(hello->user, export, diag);

	if (err)
		nbd_srv_fini(hello->user);
	return err;
}

static void hello_send(struct nbd_srv_conn *c)
{
	struct nbd_srv_hello *h = c->hello;

	h->sending = true;
	h->reply = (struct stream_out){ .iov = { { h->out, h->out_len } }, .niov = 1 };
	stream_send(c->stream, &h->reply);
}

static void serve_export(struct nbd_srv_conn *c)
{
	c->features = nbd_srv_flags(c->export, c->structured);
	if (!nbd_server_fence(c)) {
		nbd_srv_conn_abort(c, "out of memory");
		return;
	}
	loop_trace(c->loop, "nbd: %s: serving export '%s'%s%s", c->peer, c->export->name,
		c->structured ? ", structured replies" : "",
		c->meta ? ", " NBD_META_ALLOCATION : "");
}

static void hello_done(struct nbd_srv_conn *c)
{
	struct nbd_srv_hello *h = c->hello;

	loop_timer_del(c->loop, &c->deadline);
	c->structured = h->structured;
	c->meta = h->meta == h->chosen + 1;
	serve_export(c);
	free(h);
	c->hello = NULL;
}

static void hello_turn(struct nbd_srv_conn *c)
{
	struct nbd_srv_hello *h = c->hello;

	while (!h->sending) {
		size_t used;

		if (h->out_len) {
			hello_send(c);
			return;
		}
		if (h->state == NBD_HELLO_END) {
			nbd_srv_conn_abort(c, "handshake ended by the client");
			return;
		}
		if (h->state == NBD_HELLO_DONE) {
			hello_done(c);
			return;
		}
		used = nbd_srv_hello_feed(h, c->stage + c->head, c->tail - c->head);
		c->head += used;
		if (!used && !h->out_len && h->state != NBD_HELLO_END)
			return;
	}
}

/* What a peer may still send has a place: the stage, or the slot that takes payload. */
static bool has_room(const struct nbd_srv_conn *c)
{
	return c->fill || c->tail - c->head < sizeof(c->stage);
}

static void serve_turn(struct nbd_srv_conn *c)
{
	nbd_srv_requests(c);
	/* nothing flies and nothing waits to be sent: what is left needs bytes that will not be
	 * read */
	if (c->ending && !c->flying && !c->sending && !c->gone) {
		stream_hang_up(c->stream);
		nbd_srv_conn_abort(c, "done");
	}
}

static void turn(struct loop_work *work)
{
	struct nbd_srv_conn *c = container_of(work, struct nbd_srv_conn, turn);

	if (c->hello && !c->gone)
		hello_turn(c);
	if (!c->hello && !c->gone)
		serve_turn(c);
	if (c->gone) {
		if (!c->cancelled)
			nbd_srv_cancel(c);
		if (!c->flying && !c->fences)
			finish(c);
		return;
	}
	/* Without room the end of the stream cannot be read. But requests that a client has left
	 * behind it must not be executed once there is room again: another client may have written
	 * there since. */
	stream_hear(c->stream, c->ending ? STREAM_DEAF : has_room(c) ? STREAM_READ : STREAM_WATCH);
}

static void readable(struct stream *stream)
{
	struct nbd_srv_conn *c = stream->user;
	size_t want = c->fill && c->head == c->tail ? c->fill->bytes - c->got : 0, room;
	struct iovec iov[2];
	int count = 0;
	ssize_t n;

	if (c->ending || !has_room(c))
		return;
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
	if (room)
		iov[count++] = (struct iovec){ c->stage + c->tail, room };
	n = stream_recv(stream, iov, count);
	if (n < 0)
		nbd_srv_conn_abort(c, stream->why.text);
	if (n <= 0)
		return;
	if ((size_t)n < want)
		want = (size_t)n;
	c->got += (uint32_t)want;
	c->tail += (size_t)n - want;
	nbd_srv_conn_wake(c);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct nbd_srv_conn *c = stream->user;

	if (!c->hello || out != &c->hello->reply) {
		nbd_srv_replied(container_of(out, struct nbd_srv_slot, out));
		return;
	}
	c->hello->sending = false;
	c->hello->out_len = 0;
	nbd_srv_conn_wake(c);
}

static void down(struct stream *stream)
{
	nbd_srv_conn_abort(stream->user, stream->why.text);
}

static const struct stream_events events = { .readable = readable, .sent = sent, .down = down };

static void too_late(struct loop_timer *timer)
{
	nbd_srv_conn_abort(
		container_of(timer, struct nbd_srv_conn, deadline), "handshake timed out");
}

static struct nbd_srv_conn *conn_new(
	struct nbd_server *server, int fd, const struct addr *addr, const char *peer)
{
	struct nbd_srv_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server = server;
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	c->fd = fd;
	c->addr = *addr;
	c->turn.run = turn;
	c->deadline.fire = too_late;
	return c;
}

int nbd_srv_conn_new(struct nbd_srv_conn **out, struct nbd_server *server, int fd,
	const struct addr *addr, const char *peer, struct diag *diag)
{
	const struct nbd_options *opt = nbd_server_options(server);
	struct nbd_srv_conn *c = conn_new(server, fd, addr, peer);

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
	nbd_srv_hello_start(c->hello);
	*out = c;
	return 0;
}

int nbd_srv_conn_adopt(struct nbd_srv_conn **out, struct nbd_server *server, unsigned export,
	int fd, const char *peer, struct diag *diag)
{
	const struct addr addr = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };
	struct nbd_srv_conn *c = conn_new(server, fd, &addr, peer);

	if (!c)
		return diag_sys(diag, ENOMEM, "another connection");
	c->adopted = true;
	c->export = &nbd_server_options(server)->export[export];
	*out = c;
	return 0;
}

/* What its handshake would have found out. */
static void adopted_start(struct nbd_srv_conn *c)
{
	struct diag why = { 0 };

	if (nbd_srv_init(c, (unsigned)(c->export - nbd_server_options(c->server)->export), &why))
		nbd_srv_conn_abort(c, why.text);
	else
		serve_export(c);
}

void nbd_srv_conn_start(struct nbd_srv_conn *c, struct nbd_srv_worker *worker)
{
	struct diag why = { 0 };
	int err;

	c->worker = worker;
	c->loop = worker->loop;
	c->next = worker->conns;
	if (c->next)
		c->next->link = &c->next;
	c->link = &worker->conns;
	worker->conns = c;
	loop_trace(c->loop, "nbd: %s: connected", c->peer);
	err = stream_accept(&c->stream, c->loop, c->fd, &c->addr, &events, c, &why);
	if (err) {
		nbd_srv_conn_abort(c, why.text);
		return;
	}
	if (worker->ending) {
		nbd_srv_conn_end(c);
		return;
	}
	if (c->adopted)
		adopted_start(c);
	else
		loop_timer_set(c->loop, &c->deadline,
			loop_now(c->loop) + nbd_server_options(c->server)->hello_ms * MSEC);
	nbd_srv_conn_wake(c);
}

void nbd_srv_conn_end(struct nbd_srv_conn *c)
{
	if (c->hello)
		nbd_srv_conn_abort(c, "server is stopping");
	c->ending = true;
	nbd_srv_conn_wake(c);
}
