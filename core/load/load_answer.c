/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server of `bench --rdma`: check a client's request, then answer each message in kind, or
 * count it. For rping's clients, read the data and write it back. */
#include "load_end.h"
#include "load_listen.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rdma_client {
	struct load_client client;    /* first member */
	struct ep_incoming *incoming; /* until it is accepted */
	struct load_end end;
	uint32_t owed;            /* answers to send, or messages without credit so far */
	struct rping_place place; /* of an rping client, once it is known */
	uint32_t fetched;         /* bytes fetched and to be written back; 0 = fetch next */
	bool place_pending;
	/* both directions: messages of our own; their number is to be reported. ending: the client
	 * has ended; stop once a message has moved since counted_from */
	bool started, sending, counted, count_due, ending, report_due;
	uint64_t counted_from;
	struct loop_timer idle;
	uint64_t
		active_ns; /* time when a message was received, or data of READs and WRITEs moved */
	uint64_t progress; /* bytes at that time */
};

static void is_active(struct rdma_client *an)
{
	an->active_ns = loop_now(an->client.loop);
}

/* A client that only moves data is slow to send its BENCH_KEEP_ALIVE behind much of it, or an older
 * one without: a message's worth of bytes counts, if the device has such a counter. */
static bool has_moved_data(struct rdma_client *an)
{
	const struct ep *ep = an->end.ep;
	uint64_t progress;

	if ((an->end.op != BENCH_READ && an->end.op != BENCH_WRITE) ||
		(an->end.both && !an->sending) || ep->state != EP_UP || !ep->ops->progress)
		return false;
	progress = ep->ops->progress(ep);
	if (progress - an->progress < an->end.size)
		return false;
	an->progress = progress;
	return true;
}

/* Disconnect a client that stays idle. The timer is moved only when it fires. */
static void idle_fired(struct loop_timer *timer)
{
	struct rdma_client *an = container_of(timer, struct rdma_client, idle);
	struct loop *loop = an->client.loop;

	if (has_moved_data(an))
		is_active(an);
	if (loop_now(loop) < an->active_ns + LOAD_IDLE_MS * MSEC) {
		loop_timer_set(loop, timer, an->active_ns + LOAD_IDLE_MS * MSEC);
	} else if (an->end.ep->state < EP_CLOSING) {
		diag_set(&an->end.ep->why, DIAG_TIMEOUT, ETIMEDOUT, "idle for 30 s");
		an->end.ep->ops->close(an->end.ep);
	}
}

static const char *check(struct load_end *end, const uint8_t *priv, uint8_t len)
{
	const struct bench_hello *hello = (const void *)priv;
	uint32_t size, depth, most;

	if (len < sizeof(*hello) || memcmp(hello->magic, BENCH_MAGIC, sizeof(hello->magic)))
		return "rdmastor bench listens here";
	if (hello->version != BENCH_VERSION)
		return "this is another version of rdmastor";
	size = get_le32(hello->size);
	depth = get_le32(hello->depth);
	if (hello->op >= BENCH_OPS || hello->bandwidth > 2 || !size || size > BENCH_SIZE_MAX ||
		!depth || depth > BENCH_DEPTH_MAX)
		return "invalid size or depth";
	most = hello->op == BENCH_SEND ? BENCH_MEMORY_MAX / size : BENCH_DEPTH_MAX;
	if (hello->op == BENCH_SEND && hello->bandwidth == 2)
		most = (most + 1) / 2; /* acknowledgements have receives of the same size */
	*end = (struct load_end){ .op = hello->op,
		.bandwidth = hello->bandwidth,
		.both = hello->bandwidth == 2,
		.size = size,
		.depth = depth < most ? depth : most,
		.peer_rkey = get_le32(hello->rkey),
		.peer_addr = get_le64(hello->raddr) };
	return NULL;
}

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct rdma_client *an = ep->user;
	struct load_end *end = &an->end;
	struct bench_welcome welcome = {
		.magic = BENCH_MAGIC, .version = BENCH_VERSION, .keep_alive = LOAD_IDLE_MS / 1000
	};
	int err = load_end_request(end, ep);

	if (err)
		return err;
	welcome.depth = put_le32(end->depth);
	welcome.rkey = put_le32(load_end_rkey(end));
	welcome.raddr = put_le64(load_end_raddr(end));
	memcpy(priv, &welcome, sizeof(welcome));
	return sizeof(welcome);
}

static void close_wrong(struct ep *ep, const char *text)
{
	diag_set(&ep->why, DIAG_PROTOCOL, EPROTO, "%s", text);
	ep->ops->close(ep);
}

static void up(struct ep *ep)
{
	struct load_end *end = &((struct rdma_client *)ep->user)->end;

	loop_trace(ep->loop, "bench client: %s", ep->route);
	if (!end->both || end->op != BENCH_READ || ep->caps.ord >= end->depth)
		return;
	end->depth = ep->caps.ord;
	if (!end->depth)
		close_wrong(ep, "no answer to a READ from the client");
}

static void flush_both(struct rdma_client *an)
{
	struct load_end *end = &an->end;

	if (an->owed && load_end_add_both(end, BENCH_TAKEN, an->owed))
		an->owed = 0;
	if (an->count_due && load_end_add_both(end, BENCH_COUNT, load_end_moved(end))) {
		an->count_due = false;
		an->counted_from = load_end_moved(end);
	}
	if (an->ending && !an->count_due && load_end_moved(end) > an->counted_from) {
		an->ending = an->sending = false;
		an->report_due = true;
	}
	while (an->sending && load_end_add_next(end))
		;
	if (an->report_due && load_end_add_both(end, BENCH_REPORT, load_end_moved(end)))
		an->report_due = false;
}

static void flush(struct rdma_client *an)
{
	struct load_end *end = &an->end;

	if (end->both) {
		flush_both(an);
	} else if (end->bandwidth) {
		if (an->owed && load_end_add_credit(end, an->owed))
			an->owed = 0;
	} else {
		while (an->owed && load_end_add(end))
			an->owed--;
	}
	ring_flush(&end->ring);
}

/* Both directions. False: not a message of this test, or not now. */
static bool act_on_both(struct rdma_client *an, const struct ep_rx *rx)
{
	struct load_end *end = &an->end;
	bool sends = end->op == BENCH_SEND;
	uint64_t messages = 0;
	int what = load_end_read_both(rx, &messages);

	if (what == BENCH_TAKEN)
		return sends && load_end_credited(end, messages);
	if (what < 0 && sends) {
		an->owed++;
	} else if (what == BENCH_START && !an->started) {
		an->started = an->sending = load_end_add_both(end, BENCH_START, 0);
	} else if (what == BENCH_COUNT && an->sending && !an->ending && !an->counted) {
		an->counted = an->count_due = true;
	} else if (what == BENCH_END && an->sending && !an->ending) {
		an->ending = true;
	} else {
		return false;
	}
	return true;
}

static void received_both(struct ep *ep, struct ep_rx *rx)
{
	struct rdma_client *an = ep->user;

	if (act_on_both(an, rx))
		ring_repost(&an->end.ring, rx);
	else
		close_wrong(ep, "unexpected message of a test in both directions");
}

static bool is_keep_alive(const struct load_end *end, const struct ep_rx *rx)
{
	struct bench_credit credit;

	if (end->op == BENCH_SEND || rx->len != sizeof(credit))
		return false;
	memcpy(&credit, rx->p, sizeof(credit));
	return get_le32(credit.messages) == BENCH_KEEP_ALIVE;
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct rdma_client *an = ep->user;

	is_active(an);
	if (is_keep_alive(&an->end, rx)) {
		ring_repost(&an->end.ring, rx);
		return;
	}
	if (an->end.both) {
		received_both(ep, rx);
		return;
	}
	/* An answer in kind would be a READ, and more READs than agreed would be in flight. */
	if (an->end.op == BENCH_READ) {
		close_wrong(ep, "unexpected message from a client that only reads");
		return;
	}
	an->owed++;
	if (!an->end.bandwidth) {
		load_end_answered(&an->end);
		flush(an);
	}
	ring_repost(&an->end.ring, rx); /* other receives are posted */
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct rdma_client *an = ep->user;

	an->end.completed += op->kind != EP_SEND;
	load_end_sent(&an->end, op);
}

static void idle(struct ep *ep)
{
	flush(ep->user);
}

static void down(struct ep *ep)
{
	struct rdma_client *an = ep->user;

	if (ep->why.err)
		loop_trace(ep->loop, "bench client: %s", ep->why.text);
	loop_timer_del(ep->loop, &an->idle);
	load_end_fini(&an->end);
	load_client_ended(&an->client);
}

static int rping_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	return load_end_request(&((struct rdma_client *)ep->user)->end, ep);
}

static void rping_up(struct ep *ep)
{
	up(ep);
	if (!ep->caps.ord)
		close_wrong(ep, "no answer to a READ from the client");
}

/* Fetch the client's data or write it back, once all previous ops are done. */
static void rping_continue(struct rdma_client *an)
{
	struct load_end *end = &an->end;
	uint32_t size = get_be32(an->place.size);

	if (!an->place_pending || end->inflight)
		return;
	an->place_pending = false;
	end->peer_addr = get_be64(an->place.addr);
	end->peer_rkey = get_be32(an->place.rkey);
	if (an->fetched) {
		load_end_add_move(end, EP_WRITE, size < an->fetched ? size : an->fetched);
		load_end_add_place(end, true);
		an->fetched = 0;
	} else {
		load_end_add_move(end, EP_READ, size);
	}
	ring_flush(&end->ring);
}

static void rping_received(struct ep *ep, struct ep_rx *rx)
{
	struct rdma_client *an = ep->user;
	uint32_t len = rx->len, size;

	is_active(an);
	memcpy(&an->place, rx->p, sizeof(an->place));
	ring_repost(&an->end.ring, rx);
	size = get_be32(an->place.size);
	if (len != sizeof(an->place))
		diag_set(&ep->why, DIAG_PROTOCOL, EPROTO,
			"message of %u bytes, expected %zu: the client is not rping", len,
			sizeof(an->place));
	else if (an->place_pending)
		diag_set(&ep->why, DIAG_PROTOCOL, EPROTO,
			"message before the last one was answered");
	else if (!size || size > an->end.size)
		diag_set(&ep->why, DIAG_PROTOCOL, EPROTO, "data of %u bytes: must be 1 to %u", size,
			an->end.size);
	if (ep->why.err) {
		ep->ops->close(ep);
		return;
	}
	an->place_pending = true;
	rping_continue(an);
}

static void rping_sent(struct ep *ep, struct ep_op *op)
{
	struct rdma_client *an = ep->user;
	bool fetched = op->kind == EP_READ;
	uint32_t len = op->sge[0].len;

	load_end_sent(&an->end, op);
	if (fetched) {
		an->fetched = len;
		load_end_add_place(&an->end, false);
		ring_flush(&an->end.ring);
	}
	rping_continue(an);
}

static void rping_idle(struct ep *ep)
{
	ring_flush(&((struct rdma_client *)ep->user)->end.ring);
}

static const struct ep_events rping_events = { rping_request, rping_up, rping_received, rping_sent,
	rping_idle, down };
static const struct ep_events events = { request, up, received, sent, idle, down };

static void begin(struct load_client *client)
{
	struct rdma_client *an = container_of(client, struct rdma_client, client);
	struct ep_incoming *incoming = an->incoming;
	struct ep_caps caps;
	struct diag why = { 0 };
	int err = load_end_init(&an->end, false, &why);

	an->incoming = NULL;
	caps = load_end_caps(&an->end);
	if (err)
		ep_reject(incoming, "no memory", 9);
	else
		err = ep_accept(&an->end.ep, client->loop, incoming, &caps,
			an->end.op == LOAD_OP_PING ? &rping_events : &events, an, &why);
	if (!err) {
		is_active(an);
		an->idle.fire = idle_fired;
		loop_timer_set(client->loop, &an->idle, an->active_ns + LOAD_IDLE_MS * MSEC);
		return;
	}
	loop_trace(client->loop, "bench client: %s", why.text);
	load_end_fini(&an->end);
	load_client_ended(client);
}

static void end_(struct load_client *client)
{
	struct rdma_client *an = container_of(client, struct rdma_client, client);

	if (an->incoming) {
		ep_reject(an->incoming, NULL, 0);
		load_client_ended(client);
	} else if (an->end.ep && an->end.ep->state < EP_CLOSING) {
		an->end.ep->ops->close(an->end.ep);
	}
}

void load_answer(struct load_server *server, struct ep_incoming *incoming)
{
	struct rdma_client *an = calloc(1, sizeof(*an));
	const char *wrong = an ? NULL : "no memory";

	if (an && server->ping)
		an->end =
			(struct load_end){ .op = LOAD_OP_PING, .size = RPING_SIZE_MAX, .depth = 1 };
	else if (an)
		wrong = check(&an->end, incoming->priv, incoming->priv_len);
	if (!wrong) {
		an->client.memory = load_end_memory(&an->end, false);
		an->incoming = incoming;
		wrong = load_client_add(server, &an->client, &incoming->peer, begin, end_);
	}
	if (!wrong)
		return;
	loop_trace(server->loop, "bench client refused: %s", wrong);
	ep_reject(incoming, wrong, (uint8_t)strlen(wrong));
	free(an);
}
