/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The asking side of `bench --rdma`: one connection, one kind of message, one size. Latency is
 * measured by ping-pong, bandwidth with a window of messages in flight. Also an rping client. */
#include "load_end.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MSEC       1000000ull
#define STOP_LOOK  (50 * MSEC)
#define QUIET_MS   2000 /* time for outstanding answers at the end */
#define PEAK_LEAST 256  /* messages per interval when looking for the peak */

struct asker {
	struct load_end end; /* first member */
	const struct load_rdma *conf;
	struct load_rdma_result *result;
	struct diag *diag;
	struct loop *loop;
	struct loop_timer timer;
	uint64_t start, until, posted, completed, at_ns;
	uint64_t peak_at, peak_from; /* start of the interval: time, messages */
	uint32_t unpaid;             /* SENDs that the peer has not acknowledged */
	bool stalled;                /* a ping waits for a free op */
	bool back;     /* rping: the server has the data, and gets the address to return it to */
	bool flushing; /* the last message of a sequence of WRITEs was sent */
	int up, down, done, err;
};

_Static_assert((int)LOAD_OP_SEND == BENCH_SEND && (int)LOAD_OP_WRITE == BENCH_WRITE &&
		       (int)LOAD_OP_READ == BENCH_READ,
	"the same order");
_Static_assert(LOAD_PING_PORT == RPING_PORT, "its own");
_Static_assert(
	(int)LOAD_AUTO == EP_AUTO && (int)LOAD_VERBS == EP_VERBS && (int)LOAD_IWARP == EP_IWARP,
	"the same order");

static bool enough(const struct asker *asker, uint64_t now)
{
	const struct load_rdma *conf = asker->conf;

	return (conf->iterations && asker->posted >= conf->iterations) || now >= asker->until ||
	       (conf->stop && *conf->stop);
}

static void finish_load(struct asker *asker, uint64_t now)
{
	if (asker->done)
		return;
	asker->done = 1;
	/* the answer to the message after the last WRITE may overtake that WRITE's completion */
	asker->result->iterations = asker->flushing ? asker->posted : asker->completed;
	asker->result->seconds = (double)(now - asker->start) / 1e9;
}

static void ping(struct asker *asker, uint64_t now)
{
	if (enough(asker, now)) {
		finish_load(asker, now);
		return;
	}
	asker->at_ns = now;
	asker->stalled = !load_end_add(&asker->end);
	asker->posted += !asker->stalled;
	ring_flush(&asker->end.ring);
}

static void pong(struct asker *asker)
{
	uint64_t now = loop_clock(), took = now - asker->at_ns;

	asker->completed++;
	ping(asker, now); /* do the rest while the message travels */
	stats_add(&asker->result->latency, asker->end.op == BENCH_READ ? took : took / 2);
}

/* Use different text in every round: a server may treat a zero as the end of the data. */
static void fill(const struct asker *asker)
{
	const struct load_end *end = &asker->end;
	char *text = (char *)end->data->base;
	int len = snprintf(text, end->size, "rdmastor ping %" PRIu64 ": ", asker->posted);

	for (uint32_t i = (uint32_t)len; i < end->size; i++)
		text[i] = (char)('a' + (i + asker->posted) % 26);
	text[end->size - 1] = 0;
	memset(load_end_back(end), 0xff, end->size);
}

static void tell_place(struct asker *asker)
{
	asker->stalled = !load_end_add_place(&asker->end, asker->back);
	ring_flush(&asker->end.ring);
}

static void rping(struct asker *asker)
{
	if (enough(asker, loop_clock())) {
		finish_load(asker, loop_clock());
		return;
	}
	fill(asker);
	asker->posted++;
	asker->back = false;
	asker->at_ns = loop_clock();
	tell_place(asker);
}

/* Check that every byte is unchanged. */
static int compare(const struct asker *asker, struct diag *why)
{
	const struct load_end *end = &asker->end;
	const uint8_t *sent = end->data->base, *back = load_end_back(end);
	uint32_t at = 0;

	while (at < end->size && sent[at] == back[at])
		at++;
	if (at == end->size)
		return 0;
	return diag_set(why, DIAG_MISMATCH, EIO,
		"byte %u of ping %" PRIu64 " is 0x%02x, but was sent as 0x%02x", at, asker->posted,
		back[at], sent[at]);
}

/* Record the fastest interval. It has at least four windows, so that answers which arrive together
 * do not distort it. */
static void completed(struct asker *asker, uint64_t messages, uint64_t now)
{
	uint64_t least =
		4ull * asker->end.depth > PEAK_LEAST ? 4ull * asker->end.depth : PEAK_LEAST;
	double rate;

	asker->completed += messages;
	if (asker->completed - asker->peak_from < least || now == asker->peak_at)
		return;
	rate = (double)(asker->completed - asker->peak_from) * asker->end.size * 1e9 /
	       (double)(now - asker->peak_at);
	if (rate > asker->result->peak)
		asker->result->peak = rate;
	asker->peak_at = now;
	asker->peak_from = asker->completed;
}

static bool window_open(const struct asker *asker)
{
	const struct load_end *end = &asker->end;

	return (end->op == BENCH_SEND ? asker->unpaid : end->inflight) < end->depth;
}

/* Post what the window allows as one chain. When there is nothing more to post, wait for what is in
 * flight. */
static void pump(struct asker *asker)
{
	struct load_end *end = &asker->end;
	uint64_t now = loop_clock();

	if (asker->done || asker->flushing)
		return;
	while (!enough(asker, now) && window_open(asker) && load_end_add(end)) {
		asker->posted++;
		if (end->op == BENCH_SEND)
			asker->unpaid++;
	}
	if (enough(asker, now)) {
		if (end->op == BENCH_WRITE)
			asker->flushing = load_end_add_credit(end, 0);
		else if (!asker->unpaid && !end->inflight)
			finish_load(asker, now);
	}
	ring_flush(&end->ring);
}

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct asker *asker = ep->user;
	struct load_end *end = &asker->end;
	struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = end->op,
		.bandwidth = end->bandwidth,
		.size = put_le32(end->size),
		.depth = put_le32(end->depth) };
	int err = load_end_request(end, ep);

	if (err)
		return err;
	hello.rkey = put_le32(load_end_rkey(end));
	hello.raddr = put_le64(load_end_raddr(end));
	memcpy(priv, &hello, sizeof(hello));
	return sizeof(hello);
}

static void up(struct ep *ep)
{
	struct asker *asker = ep->user;
	const struct bench_welcome *welcome = (const void *)ep->priv;
	uint32_t depth;

	if (ep->priv_len < sizeof(*welcome) ||
		memcmp(welcome->magic, BENCH_MAGIC, sizeof(welcome->magic)) ||
		welcome->version != BENCH_VERSION) {
		diag_set(&ep->why, DIAG_PROTOCOL, EPROTO,
			"the peer is not rdmastor bench, or another version of it");
		ep->ops->close(ep);
		return;
	}
	depth = get_le32(welcome->depth);
	if (depth && depth < asker->end.depth)
		asker->end.depth = depth;
	if (asker->end.op == BENCH_READ && ep->caps.ord < asker->end.depth)
		asker->end.depth = ep->caps.ord ? ep->caps.ord : 1;
	asker->end.peer_rkey = get_le32(welcome->rkey);
	asker->end.peer_addr = get_le64(welcome->raddr);
	asker->up = 1;
}

static void unasked(struct asker *asker)
{
	asker->err =
		diag_set(asker->diag, DIAG_PROTOCOL, EPROTO, "unexpected answer from the peer");
	asker->done = 1;
}

/* Send the next message before reposting the receive: other receives are posted. */
static void received_pong(struct asker *asker, struct ep_rx *rx)
{
	if (!asker->done && (asker->end.op == BENCH_READ || asker->completed == asker->posted)) {
		unasked(asker);
	} else if (!asker->done) {
		load_end_answered(&asker->end);
		pong(asker);
	}
	ring_back(&asker->end.ring, rx);
}

static void received_credit(struct asker *asker, struct ep_rx *rx)
{
	struct bench_credit credit = { 0 };
	uint32_t messages;

	memcpy(&credit, rx->p, rx->len < sizeof(credit) ? rx->len : sizeof(credit));
	messages = get_le32(credit.messages);
	ring_back(&asker->end.ring, rx);
	if (asker->done)
		return;
	if (asker->flushing) {
		finish_load(asker, loop_clock());
	} else if (asker->end.op != BENCH_SEND || messages > asker->unpaid) {
		unasked(asker);
	} else {
		asker->unpaid -= messages;
		completed(asker, messages, loop_clock());
	}
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct asker *asker = ep->user;

	if (asker->end.bandwidth)
		received_credit(asker, rx);
	else
		received_pong(asker, rx);
}

static int rping_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	return load_end_request(&((struct asker *)ep->user)->end, ep);
}

static void rping_up(struct ep *ep)
{
	((struct asker *)ep->user)->up = 1;
}

static void rping_received(struct ep *ep, struct ep_rx *rx)
{
	struct asker *asker = ep->user;
	uint32_t len = rx->len;

	ring_back(&asker->end.ring, rx);
	if (asker->done)
		return;
	if (asker->completed == asker->posted) {
		unasked(asker);
	} else if (len != sizeof(struct rping_place)) {
		diag_set(&ep->why, DIAG_PROTOCOL, EPROTO,
			"answer of %u bytes, expected %zu: the peer is not an rping server", len,
			sizeof(struct rping_place));
		ep->ops->close(ep);
	} else if (!asker->back) {
		asker->back = true;
		tell_place(asker);
	} else {
		uint64_t took = loop_clock() - asker->at_ns;
		if (compare(asker, &ep->why)) {
			ep->ops->close(ep);
			return;
		}
		asker->completed++;
		stats_add(&asker->result->latency, took);
		rping(asker);
	}
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct asker *asker = ep->user;
	uint8_t kind = op->kind;

	load_end_sent(&asker->end, op);
	if (asker->stalled && asker->conf->op == LOAD_OP_PING)
		tell_place(asker);
	else if (asker->stalled)
		ping(asker, loop_clock());
	if (asker->done || kind == EP_SEND)
		return;
	if (asker->end.bandwidth)
		completed(asker, 1, loop_clock());
	else if (kind == EP_READ)
		pong(asker);
}

static void idle(struct ep *ep)
{
	struct asker *asker = ep->user;

	if (asker->end.bandwidth && asker->start)
		pump(asker);
	ring_flush(&asker->end.ring);
}

static void down(struct ep *ep)
{
	struct asker *asker = ep->user;

	if (ep->rejected && ep->priv_len && !asker->done)
		diag_set(asker->diag, DIAG_REFUSED, ECONNREFUSED, "the peer refused: %.*s",
			ep->priv_len, (const char *)ep->priv);
	else if (!asker->done && ep->why.err)
		*asker->diag = ep->why;
	else if (!asker->done)
		diag_set(asker->diag, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
	if (!asker->done)
		asker->err = -asker->diag->err;
	asker->down = asker->done = asker->up = 1;
}

static const struct ep_events events = { request, up, received, sent, idle, down };
static const struct ep_events rping_events = { rping_request, rping_up, rping_received, sent, idle,
	down };

/* Check for the end, also if no more answers arrive. */
static void check_end(struct loop_timer *timer)
{
	struct asker *asker = container_of(timer, struct asker, timer);
	uint64_t now = loop_clock();
	char text[DIAG_SECONDS];

	if (enough(asker, now) && now > asker->until + QUIET_MS * MSEC) {
		diag_set(asker->diag, DIAG_TIMEOUT, ETIMEDOUT, "no answer within %s",
			diag_seconds(QUIET_MS, text));
		asker->err = -ETIMEDOUT;
		finish_load(asker, now);
		return;
	}
	/* from here on `until` is the time when it should have ended */
	if (asker->conf->stop && *asker->conf->stop && asker->until > now)
		asker->until = now;
	loop_timer_set(asker->loop, timer, now + STOP_LOOK);
}

static void measure(struct asker *asker)
{
	uint64_t now = loop_clock();

	snprintf(asker->result->way, sizeof(asker->result->way), "%s", asker->end.ep->way);
	asker->result->backend = asker->end.ep->ops->name;
	asker->result->depth = asker->end.bandwidth ? asker->end.depth : 1;
	asker->start = asker->peak_at = now;
	asker->until = asker->conf->runtime_ms ? now + asker->conf->runtime_ms * MSEC
					       : UINT64_MAX - QUIET_MS * MSEC;
	asker->timer.fire = check_end;
	loop_timer_set(asker->loop, &asker->timer, now + STOP_LOOK);
	if (asker->end.bandwidth)
		pump(asker);
	else if (asker->conf->op == LOAD_OP_PING)
		rping(asker);
	else
		ping(asker, now);
	loop_wait(asker->loop, &asker->done, 0);
	loop_timer_del(asker->loop, &asker->timer);
}

static int connect_and_measure(struct asker *asker)
{
	const struct load_rdma *conf = asker->conf;
	struct ep_dial dial = { .dst = conf->dst,
		.src = conf->src,
		.dev = conf->dev,
		.backend = (uint8_t)conf->way,
		.timeout_ms = conf->timeout_ms,
		.no_crc = conf->no_crc,
		.want = load_end_caps(&asker->end) };
	int err = ep_dial(&asker->end.ep, asker->loop, &dial,
		conf->op == LOAD_OP_PING ? &rping_events : &events, asker, asker->diag);

	if (err) {
		asker->end.ep = NULL;
		return err;
	}
	loop_wait(asker->loop, &asker->up, 0);
	if (!asker->done)
		measure(asker);
	err = asker->err;
	if (!asker->down) {
		asker->end.ep->ops->close(asker->end.ep);
		loop_wait(asker->loop, &asker->down, 0);
	}
	return err;
}

int load_rdma(struct loop *loop, const struct load_rdma *conf, struct load_rdma_result *result,
	struct diag *diag)
{
	struct asker asker = { .conf = conf, .result = result, .diag = diag, .loop = loop };
	uint32_t most = conf->op == LOAD_OP_PING ? RPING_SIZE_MAX : BENCH_SIZE_MAX;
	char to[ADDR_TEXT];
	int err;

	*result = (struct load_rdma_result){ 0 };
	if (!conf->size || conf->size > most)
		return diag_set(diag, DIAG_USAGE, ERANGE, "--bs: must be 1 to %u", most);
	if (!conf->depth || conf->depth > BENCH_DEPTH_MAX)
		return diag_set(
			diag, DIAG_USAGE, ERANGE, "--iodepth: must be 1 to %u", BENCH_DEPTH_MAX);
	asker.end = (struct load_end){ .op = (uint8_t)conf->op,
		.bandwidth = conf->bandwidth,
		.size = conf->size,
		.depth = conf->depth };
	err = load_end_init(&asker.end, true, diag);
	if (!err)
		err = connect_and_measure(&asker);
	load_end_fini(&asker.end);
	return err ? diag_ctx(diag, "%s", addr_text(&conf->dst, to)), err : 0;
}
