/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client of `bench --rdma`: one kind of message, one size, one connection or several at once.
 * Latency is measured by ping-pong, bandwidth with a window of messages in flight on each. Also an
 * rping client. */
#include "load_end.h"
#include "stats.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define STOP_CHECK  (50 * MSEC)
#define DRAIN_MS    2000 /* time for outstanding answers at the end */
#define SILENT_MS   8000 /* more than that without any progress: longer than retries of a device */
#define DRAIN_LEAST 16384u /* bytes per millisecond of what is in flight then */
#define PEAK_LEAST  256    /* messages per interval when looking for the peak */

struct run {
	const struct load_rdma *conf;
	struct load_rdma_result *result;
	struct diag *diag;
	struct loop *loop;
	struct loop_timer timer;
	uint64_t begun, start, until, completed; /* begun: both directions, the server's start */
	uint64_t peak_at, peak_from;             /* start of the interval: time, messages */
	struct client *client;                   /* one per queue pair */
	unsigned clients, busy;                  /* busy: not yet done */
	unsigned starting; /* both directions: waiting for the server to begin */
	uint32_t drain_ms;
	uint64_t progress, progress_at; /* progress(), and since when */
	int started, done, err;
};

struct client {
	struct load_end end; /* first member */
	struct run *run;
	uint64_t at_ns, received; /* received: SENDs of the other direction */
	uint32_t owed;            /* of them, not yet acknowledged */
	uint64_t reverse_from;    /* messages of the server before the measured time */
	bool started, counted;    /* the server sends; reverse_from is known */
	uint64_t *posted_ns;      /* of the READs in flight, by number % depth; NULL: untimed */
	bool stalled;             /* a ping waits for a free op */
	bool back;     /* rping: the server has the data, and gets the address to return it to */
	bool flushing; /* the last message of a sequence of WRITEs was sent */
	bool done;
	uint64_t keep_alive_ns, alive_at; /* 0: no BENCH_KEEP_ALIVE; time of the last one */
	int up, down;
};

_Static_assert((int)LOAD_OP_SEND == BENCH_SEND && (int)LOAD_OP_WRITE == BENCH_WRITE &&
		       (int)LOAD_OP_READ == BENCH_READ,
	"the same order");
_Static_assert(LOAD_PING_PORT == RPING_PORT, "its own");
_Static_assert(
	(int)LOAD_AUTO == EP_AUTO && (int)LOAD_VERBS == EP_VERBS && (int)LOAD_IWARP == EP_IWARP,
	"the same order");

static bool enough(const struct client *client, uint64_t now)
{
	const struct load_rdma *conf = client->run->conf;

	return (conf->iterations && client->end.posted >= conf->iterations) ||
	       now >= client->run->until || (conf->stop && *conf->stop);
}

static bool ended(const struct client *client)
{
	return client->done || client->run->done;
}

static void finish_load(struct client *client, uint64_t now)
{
	struct run *run = client->run;

	if (ended(client))
		return;
	client->done = true;
	/* the answer to the message after the last WRITE may overtake that WRITE's completion */
	run->result->iterations += client->flushing ? client->end.posted : client->end.completed;
	run->result->seconds = (double)(now - run->start) / 1e9;
	run->done = !--run->busy;
}

/* Returns err, after it has ended the run. */
static int fail(struct run *run, int err)
{
	run->err = err;
	run->started = run->done = 1;
	return err;
}

static void ping(struct client *client, uint64_t now)
{
	if (enough(client, now)) {
		finish_load(client, now);
		return;
	}
	client->at_ns = now;
	client->stalled = !load_end_add(&client->end);
	client->end.posted += !client->stalled;
	ring_flush(&client->end.ring);
}

static void pong(struct client *client)
{
	uint64_t now = loop_clock(), elapsed = now - client->at_ns;

	client->end.completed++;
	ping(client, now); /* do the rest while the message travels */
	stats_add(&client->run->result->latency,
		client->end.op == BENCH_READ ? elapsed : elapsed / 2);
}

/* Use different text in every round: a server may treat a zero as the end of the data. */
static void fill(const struct client *client)
{
	const struct load_end *end = &client->end;
	char *text = (char *)end->data->base;
	int len = snprintf(text, end->size, "rdmastor ping %" PRIu64 ": ", client->end.posted);

	for (uint32_t i = (uint32_t)len; i < end->size; i++)
		text[i] = (char)('a' + (i + client->end.posted) % 26);
	text[end->size - 1] = 0;
	memset(load_end_back(end), 0xff, end->size);
}

static void send_place(struct client *client)
{
	client->stalled = !load_end_add_place(&client->end, client->back);
	ring_flush(&client->end.ring);
}

static void rping(struct client *client)
{
	if (enough(client, loop_clock())) {
		finish_load(client, loop_clock());
		return;
	}
	fill(client);
	client->end.posted++;
	client->back = false;
	client->at_ns = loop_clock();
	send_place(client);
}

/* Check that every byte is unchanged. */
static int compare(const struct client *client, struct diag *why)
{
	const struct load_end *end = &client->end;
	const uint8_t *sent = end->data->base, *back = load_end_back(end);
	uint32_t at = 0;

	while (at < end->size && sent[at] == back[at])
		at++;
	if (at == end->size)
		return 0;
	return diag_set(why, DIAG_MISMATCH, EIO,
		"byte %u of ping %" PRIu64 " is 0x%02x, but was sent as 0x%02x", at,
		client->end.posted, back[at], sent[at]);
}

/* Record the fastest interval. It has at least four windows, so that answers which arrive together
 * do not distort it. */
static void completed(struct client *client, uint64_t messages, uint64_t now)
{
	struct run *run = client->run;
	uint64_t window = 4ull * client->end.depth * run->clients;
	uint64_t least = window > PEAK_LEAST ? window : PEAK_LEAST;
	double rate;

	client->end.completed += messages;
	run->completed += messages;
	if (run->completed - run->peak_from < least || now == run->peak_at)
		return;
	rate = (double)(run->completed - run->peak_from) * client->end.size * 1e9 /
	       (double)(now - run->peak_at);
	if (rate > run->result->peak)
		run->result->peak = rate;
	run->peak_at = now;
	run->peak_from = run->completed;
}

/* READs complete in the order in which they were posted. */
static void time_read(struct client *client, uint64_t now)
{
	if (client->posted_ns)
		stats_add(&client->run->result->latency,
			now - client->posted_ns[client->end.completed % client->run->conf->depth]);
}

/* Post what the window allows as one chain. When there is nothing more to post, wait for what is in
 * flight. */
static void pump(struct client *client)
{
	struct load_end *end = &client->end;
	uint64_t now = loop_clock();

	if (ended(client) || client->flushing)
		return;
	while (!enough(client, now) && load_end_add_next(end))
		if (client->posted_ns)
			client->posted_ns[(end->posted - 1) % client->run->conf->depth] = now;
	if (enough(client, now)) {
		if (end->both)
			client->flushing = (end->op != BENCH_READ || !end->inflight) &&
					   load_end_add_both(end, BENCH_END, 0);
		else if (end->op == BENCH_WRITE)
			client->flushing = load_end_add_credit(end, 0);
		else if (!end->uncredited && !end->inflight)
			finish_load(client, now);
	}
	ring_flush(&end->ring);
}

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct client *client = ep->user;
	struct load_end *end = &client->end;
	struct bench_hello hello = { .magic = BENCH_MAGIC,
		.version = BENCH_VERSION,
		.op = end->op,
		.bandwidth = (uint8_t)(end->both ? 2 : end->bandwidth),
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
	struct client *client = ep->user;
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
	if (depth && depth < client->end.depth)
		client->end.depth = depth;
	if (client->end.op == BENCH_READ && ep->caps.ord < client->end.depth)
		client->end.depth = ep->caps.ord ? ep->caps.ord : 1;
	client->end.peer_rkey = get_le32(welcome->rkey);
	client->end.peer_addr = get_le64(welcome->raddr);
	client->keep_alive_ns = welcome->keep_alive * (1000 * MSEC) / 3;
	client->alive_at = loop_clock();
	client->up = 1;
}

static void fail_unexpected(struct client *client)
{
	fail(client->run, diag_set(client->run->diag, DIAG_PROTOCOL, EPROTO,
				  "unexpected answer from the peer"));
}

/* Send the next message before reposting the receive: other receives are posted. */
static void received_pong(struct client *client, struct ep_rx *rx)
{
	if (!ended(client) &&
		(client->end.op == BENCH_READ || client->end.completed == client->end.posted)) {
		fail_unexpected(client);
	} else if (!ended(client)) {
		load_end_answered(&client->end);
		pong(client);
	}
	ring_repost(&client->end.ring, rx);
}

static void received_credit(struct client *client, struct ep_rx *rx)
{
	struct bench_credit credit = { 0 };
	uint32_t messages;

	memcpy(&credit, rx->p, rx->len < sizeof(credit) ? rx->len : sizeof(credit));
	messages = get_le32(credit.messages);
	ring_repost(&client->end.ring, rx);
	if (ended(client))
		return;
	if (client->flushing) {
		finish_load(client, loop_clock());
	} else if (client->end.op != BENCH_SEND || !load_end_credited(&client->end, messages)) {
		fail_unexpected(client);
	} else {
		completed(client, messages, loop_clock());
	}
}

/* Whether the server can have sent so many messages since then: SENDs have arrived, and no device
 * moves more than one message per nanosecond. */
static bool is_plausible(const struct client *client, uint64_t messages)
{
	if (client->end.op == BENCH_SEND)
		return messages == client->received;
	return messages <= loop_clock() - client->run->begun + client->end.depth;
}

/* Both directions: data of the server's SENDs, how many of ours it has, or how many it has sent. */
static void received_both(struct client *client, struct ep_rx *rx)
{
	struct load_end *end = &client->end;
	bool sends = end->op == BENCH_SEND;
	uint64_t messages = 0;
	int what = load_end_read_both(rx, &messages);

	ring_repost(&end->ring, rx);
	if (ended(client))
		return;
	if (what == BENCH_START && !client->started) {
		client->started = true;
		client->run->started = !--client->run->starting;
	} else if (what == BENCH_COUNT && client->run->start && !client->counted &&
		   is_plausible(client, messages)) {
		client->counted = true;
		client->reverse_from = messages;
	} else if (what < 0 && sends) {
		client->owed++;
		client->received++;
	} else if (what == BENCH_TAKEN && sends && load_end_credited(end, messages)) {
		completed(client, messages, loop_clock());
	} else if (what == BENCH_REPORT && client->flushing && client->counted &&
		   messages >= client->reverse_from && is_plausible(client, messages)) {
		client->run->result->reverse += messages - client->reverse_from;
		finish_load(client, loop_clock());
	} else {
		fail_unexpected(client);
	}
}

static void acknowledge(struct client *client)
{
	if (client->owed && load_end_add_both(&client->end, BENCH_TAKEN, client->owed))
		client->owed = 0;
}

static void received(struct ep *ep, struct ep_rx *rx)
{
	struct client *client = ep->user;

	if (client->end.both)
		received_both(client, rx);
	else if (client->end.bandwidth)
		received_credit(client, rx);
	else
		received_pong(client, rx);
}

static int rping_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	(void)priv;
	return load_end_request(&((struct client *)ep->user)->end, ep);
}

static void rping_up(struct ep *ep)
{
	((struct client *)ep->user)->up = 1;
}

static void rping_received(struct ep *ep, struct ep_rx *rx)
{
	struct client *client = ep->user;
	uint32_t len = rx->len;

	ring_repost(&client->end.ring, rx);
	if (ended(client))
		return;
	if (client->end.completed == client->end.posted) {
		fail_unexpected(client);
	} else if (len != sizeof(struct rping_place)) {
		diag_set(&ep->why, DIAG_PROTOCOL, EPROTO,
			"answer of %u bytes, expected %zu: the peer is not an rping server", len,
			sizeof(struct rping_place));
		ep->ops->close(ep);
	} else if (!client->back) {
		client->back = true;
		send_place(client);
	} else {
		uint64_t elapsed = loop_clock() - client->at_ns;
		if (compare(client, &ep->why)) {
			ep->ops->close(ep);
			return;
		}
		client->end.completed++;
		stats_add(&client->run->result->latency, elapsed);
		rping(client);
	}
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct client *client = ep->user;
	uint8_t kind = op->kind;

	load_end_sent(&client->end, op);
	if (client->stalled && client->run->conf->op == LOAD_OP_PING)
		send_place(client);
	else if (client->stalled)
		ping(client, loop_clock());
	if (ended(client) || kind == EP_SEND)
		return;
	if (client->end.bandwidth) {
		uint64_t now = loop_clock();

		time_read(client, now);
		completed(client, 1, now);
	} else if (kind == EP_READ)
		pong(client);
}

static void idle(struct ep *ep)
{
	struct client *client = ep->user;

	acknowledge(client);
	if (client->end.bandwidth && client->run->start)
		pump(client);
	ring_flush(&client->end.ring);
}

static void down(struct ep *ep)
{
	static const char old[] = "invalid size or depth"; /* for an unknown kind of test, too */
	struct client *client = ep->user;
	struct diag *diag = client->run->diag;

	client->down = client->up = 1;
	if (ended(client))
		return;
	if (client->end.both && ep->rejected && ep->priv_len == strlen(old) &&
		!memcmp(ep->priv, old, strlen(old))) {
		diag_set(diag, DIAG_REFUSED, ECONNREFUSED,
			"the peer is an older rdmastor, which does not support -b: update it");
	} else if (ep->rejected && ep->priv_len)
		diag_set(diag, DIAG_REFUSED, ECONNREFUSED, "the peer refused: %.*s", ep->priv_len,
			(const char *)ep->priv);
	else if (ep->why.err)
		*diag = ep->why;
	else
		diag_set(diag, DIAG_CLOSED, ECONNRESET, "connection closed by the peer");
	fail(client->run, -diag->err);
}

static const struct ep_events events = { request, up, received, sent, idle, down };
static const struct ep_events rping_events = { rping_request, rping_up, rping_received, sent, idle,
	down };

/* Send the message that the server needs of a client whose test has none. */
static void keep_alive(struct client *client, uint64_t now)
{
	struct load_end *end = &client->end;

	if (ended(client) || !client->keep_alive_ns ||
		now - client->alive_at < client->keep_alive_ns ||
		(end->op != BENCH_READ && (end->op != BENCH_WRITE || !end->bandwidth)))
		return;
	if (load_end_add_credit(end, BENCH_KEEP_ALIVE))
		client->alive_at = now;
	ring_flush(&end->ring);
}

/* Counts all that a client posts and completes. */
static uint64_t progress(const struct run *run)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < run->clients; i++)
		sum += run->client[i].end.posted + run->client[i].end.completed +
		       run->client[i].received + run->client[i].done;
	return sum;
}

/* Check for the end, also if no more answers arrive. */
static void check_end(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, timer);
	uint64_t now = loop_clock();
	char text[DIAG_SECONDS];
	uint32_t silent_ms = 0;

	if (now > run->until && now - run->until > run->drain_ms * MSEC)
		silent_ms = run->drain_ms;
	else if (progress(run) != run->progress)
		run->progress_at = now;
	else if (now - run->progress_at > (run->drain_ms + SILENT_MS) * MSEC)
		silent_ms = run->drain_ms + SILENT_MS;
	if (silent_ms) {
		fail(run, diag_set(run->diag, DIAG_TIMEOUT, ETIMEDOUT, "no answer within %s",
				  diag_seconds(silent_ms, text)));
		return;
	}
	run->progress = progress(run);
	for (unsigned i = 0; i < run->clients; i++)
		keep_alive(&run->client[i], now);
	/* from here on `until` is the time when it should have ended */
	if (run->conf->stop && *run->conf->stop && run->until > now)
		run->until = now;
	loop_timer_set(run->loop, timer, now + STOP_CHECK);
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* RDMA/CM has chosen the path: its MTU can't be set. */
static int check_mtu(const struct run *run, const struct ep *ep)
{
	uint32_t mtu = run->conf->mtu;

	if (!mtu || mtu == ep->mtu)
		return 0;
	return ep->mtu ? diag_set(run->diag, DIAG_USAGE, EINVAL,
				 "-m %u: the path has an MTU of %u bytes, which RDMA/CM chooses",
				 mtu, ep->mtu)
		       : diag_set(run->diag, DIAG_USAGE, EINVAL, "-m %u: iWARP has no path MTU",
				 mtu);
}

static void begin(struct client *client, uint64_t now)
{
	if (client->end.both)
		load_end_add_both(&client->end, BENCH_COUNT, 0);
	if (client->end.bandwidth)
		pump(client);
	else if (client->run->conf->op == LOAD_OP_PING)
		rping(client);
	else
		ping(client, now);
}

/* At the end, all that is in flight may take this long. */
static uint32_t drain_ms(const struct run *run)
{
	const struct load_rdma *conf = run->conf;
	uint64_t bytes = (uint64_t)run->client[0].end.depth * run->clients * conf->size;

	return DRAIN_MS + (uint32_t)((conf->both ? 2 : 1) * bytes / DRAIN_LEAST);
}

/* Returns once the server sends on all connections, or after a failure. */
static void start_both(struct run *run)
{
	run->starting = run->clients;
	run->begun = loop_clock();
	for (unsigned i = 0; i < run->clients; i++) {
		load_end_add_both(&run->client[i].end, BENCH_START, 0);
		ring_flush(&run->client[i].end.ring);
	}
	loop_wait(run->loop, &run->started, 0);
}

static void measure(struct run *run)
{
	const struct load_end *first = &run->client[0].end;
	struct load_rdma_result *result = run->result;
	struct rusage before, after;
	uint64_t now;

	snprintf(result->route, sizeof(result->route), "%s", first->ep->route);
	result->backend = first->ep->ops->name;
	result->depth = first->bandwidth ? first->depth : 1;
	run->busy = run->clients;
	run->drain_ms = drain_ms(run);
	run->timer.fire = check_end;
	run->until = run->progress_at = loop_clock();
	loop_timer_set(run->loop, &run->timer, run->until + STOP_CHECK);
	if (first->both)
		start_both(run);
	now = loop_clock();
	run->start = run->peak_at = now;
	run->until = run->conf->runtime_ms ? now + run->conf->runtime_ms * MSEC : UINT64_MAX;
	getrusage(RUSAGE_SELF, &before);
	for (unsigned i = 0; i < run->clients && !run->done; i++)
		begin(&run->client[i], now);
	loop_wait(run->loop, &run->done, 0);
	loop_timer_del(run->loop, &run->timer);
	getrusage(RUSAGE_SELF, &after);
	result->user = seconds_of(after.ru_utime) - seconds_of(before.ru_utime);
	result->system = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
}

static int connect_client(struct run *run, struct client *client)
{
	const struct load_rdma *conf = run->conf;
	struct ep_dial dial = { .dst = conf->dst,
		.src = conf->src,
		.dev = conf->dev,
		.backend = (uint8_t)conf->backend,
		.timeout_ms = conf->timeout_ms,
		.no_crc = conf->no_crc,
		.caps = load_end_caps(&client->end) };
	int err = ep_dial(&client->end.ep, run->loop, &dial,
		conf->op == LOAD_OP_PING ? &rping_events : &events, client, run->diag);

	if (err) {
		client->end.ep = NULL;
		client->down = 1;
		return fail(run, err);
	}
	if (!loop_wait_until(run->loop, &client->up, conf->stop))
		return fail(run, -EINTR);
	if (run->done)
		return run->err;
	err = check_mtu(run, client->end.ep);
	return err ? fail(run, err) : 0;
}

/* One after the other, as the server limits connections that are not yet up. */
static int connect_and_measure(struct run *run)
{
	unsigned dialled = 0;
	int err = 0;

	while (!err && dialled < run->clients)
		err = connect_client(run, &run->client[dialled++]);
	if (!err)
		measure(run);
	for (unsigned i = 0; i < dialled; i++)
		if (!run->client[i].down)
			run->client[i].end.ep->ops->close(run->client[i].end.ep);
	for (unsigned i = 0; i < dialled; i++)
		loop_wait(run->loop, &run->client[i].down, 0);
	return run->err;
}

static unsigned connections(const struct load_rdma *conf)
{
	return conf->qps ? conf->qps : 1;
}

static struct load_end plan_end(const struct load_rdma *conf, uint32_t depth)
{
	return (struct load_end){ .op = (uint8_t)conf->op,
		.bandwidth = conf->bandwidth,
		.both = conf->bandwidth && conf->both,
		.size = conf->size,
		.depth = depth };
}

/* Whether the server has the memory for all connections of one address. */
static bool fits(const struct load_rdma *conf, uint32_t depth)
{
	struct load_end end = plan_end(conf, depth);

	return load_end_memory(&end, false) * connections(conf) <= BENCH_MEMORY_ALL / 2;
}

/* What is in flight delays the end, so it is limited. */
static uint32_t depth_of_each(const struct load_rdma *conf)
{
	uint64_t most = BENCH_MEMORY_ALL / (conf->both ? 8 : 4) / connections(conf) / conf->size;
	uint32_t depth = conf->depth;

	if (connections(conf) > 1 || conf->both)
		depth = most < 1 ? 1 : most < depth ? (uint32_t)most : depth;
	while (depth > 1 && !fits(conf, depth))
		depth--;
	return depth;
}

static int init_client(struct run *run, struct client *client)
{
	const struct load_rdma *conf = run->conf;

	client->run = run;
	client->end = plan_end(conf, depth_of_each(conf));
	if (conf->timed && conf->bandwidth) {
		client->posted_ns = calloc(conf->depth, sizeof(*client->posted_ns));
		if (!client->posted_ns)
			return diag_sys(run->diag, ENOMEM, "requests");
	}
	return load_end_init(&client->end, true, run->diag);
}

int load_rdma_check(const struct load_rdma *conf, struct diag *diag)
{
	uint32_t most = conf->op == LOAD_OP_PING ? RPING_SIZE_MAX : BENCH_SIZE_MAX;

	if (!conf->size || conf->size > most)
		return diag_set(diag, DIAG_USAGE, ERANGE, "%s: must be 1 to %u",
			conf->size_option ? conf->size_option : "--bs", most);
	if (!conf->depth || conf->depth > BENCH_DEPTH_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE, "%s: must be 1 to %u",
			conf->depth_option ? conf->depth_option : "--iodepth", BENCH_DEPTH_MAX);
	if (conf->qps > LOAD_QPS_MAX)
		return diag_set(diag, DIAG_USAGE, ERANGE, "--qp: must be 1 to %u", LOAD_QPS_MAX);
	if (fits(conf, 1))
		return 0;
	diag_set(diag, DIAG_USAGE, ERANGE,
		"--qp %u: messages of %u bytes exceed the server's memory for one address",
		connections(conf), conf->size);
	diag_hint(diag, "use a smaller --qp or smaller messages%s",
		conf->op == LOAD_OP_SEND ? ", or --op write or read, which need less" : "");
	return -ERANGE;
}

int load_rdma(struct loop *loop, const struct load_rdma *conf, struct load_rdma_result *result,
	struct diag *diag)
{
	struct run run = { .conf = conf,
		.result = result,
		.diag = diag,
		.loop = loop,
		.clients = connections(conf) };
	char to[ADDR_TEXT];
	int err = load_rdma_check(conf, diag);

	*result = (struct load_rdma_result){ 0 };
	if (err)
		return err;
	run.client = calloc(run.clients, sizeof(*run.client));
	if (!run.client)
		return diag_sys(diag, ENOMEM, "queue pairs");
	for (unsigned i = 0; !err && i < run.clients; i++)
		err = init_client(&run, &run.client[i]);
	if (!err)
		err = connect_and_measure(&run);
	for (unsigned i = 0; i < run.clients; i++) {
		load_end_fini(&run.client[i].end);
		free(run.client[i].posted_ns);
	}
	free(run.client);
	return err ? diag_ctx(diag, "%s", addr_text(&conf->dst, to)), err : 0;
}

int load_rdma_reads(struct loop *loop, const struct load_rdma *to, const struct load_options *opt,
	struct load_result *result, struct diag *diag)
{
	struct load_rdma conf = *to;
	struct load_rdma_result read;
	int err;

	conf.op = LOAD_OP_READ;
	conf.bandwidth = conf.timed = opt->depth > 1;
	conf.size = opt->bs;
	conf.depth = opt->depth;
	conf.runtime_ms = opt->runtime_ms;
	conf.timeout_ms = opt->timeout_ms;
	conf.stop = opt->stop;
	err = load_rdma(loop, &conf, &read, diag);
	*result = (struct load_result){ .run_delay = -1,
		.steal = -1,
		.seconds = read.seconds,
		.user = read.user,
		.system = read.system,
		.stopped = opt->stop && *opt->stop };
	result->kind[LOAD_READ].latency = read.latency;
	result->kind[LOAD_READ].requests = read.iterations;
	result->kind[LOAD_READ].bytes = read.iterations * opt->bs;
	return err;
}
