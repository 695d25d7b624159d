/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two ends of software iWARP in one process over 127.0.0.1: mixed operations with seeded sizes,
 * every byte checked; set-up, refusal, faults of a peer and their messages. */
/* Link: leap */
#include "iwarp.h"
#include "crc32c.h"
#include "leap.h"
#include "says.h"
#include "tcp.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND   1000000000ull
#define SLOTS    16
#define SLOT     0x20000
#define DEPTH    24
#define RECEIVES 32
#define MSG_MAX  4096

struct note {                               /* begins every message */
	uint32_t len, sum;                  /* of what follows */
	uint32_t slot, off, bytes, written; /* of the WRITE before it */
};

struct job {
	struct ep_op op, tell;
	uint32_t slot, tells; /* `sent` that are to come */
	/* watched: the peer has to look at the slot before it is used again */
	bool busy, read, watched;
	uint32_t sum;
};

struct side {
	struct side *other;
	struct ep *ep;
	struct ep_caps local_caps;
	struct pool *window, *source, *sink, *msgs, *inbox;
	struct ep_rx rx[RECEIVES];
	struct job job[DEPTH];
	volatile int up, down, finished;
	unsigned started, done, sent_msgs, received_msgs, total, seed;
	uint32_t reads;
	int refuse;
	char priv[EP_PRIV_MAX];
	struct ep_rx *last; /* what was received, for tests that look at it themselves */
	unsigned received, sents;
	bool watch;
};

static struct loop *loop;
static struct tcp_listener *listener;
static struct side client, server;
static bool server_rejects;
static struct ep_incoming *asked;

static unsigned dice(struct side *s, unsigned sides)
{
	s->seed = s->seed * 1103515245 + 12345;
	return (s->seed >> 8) % sides;
}

static void fill(uint8_t *p, uint32_t len, unsigned seed)
{
	for (uint32_t i = 0; i < len; i++) {
		seed = seed * 69069 + 1;
		p[i] = (uint8_t)(seed >> 16);
	}
}

static int request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	struct side *s = ep->user;
	struct diag *why = &ep->why;

	if (s->refuse)
		return diag_set(why, DIAG_USAGE, EINVAL, "not like this");
	cr_assert_eq(ep->ops->reg(ep, s->window, EP_REMOTE_READ | EP_REMOTE_WRITE, why), 0);
	cr_assert_eq(ep->ops->reg(ep, s->source, EP_LOCAL, why), 0);
	cr_assert_eq(ep->ops->reg(ep, s->sink, EP_READ_SINK, why), 0);
	cr_assert_eq(ep->ops->reg(ep, s->msgs, EP_LOCAL, why), 0);
	cr_assert_eq(ep->ops->reg(ep, s->inbox, EP_LOCAL, why), 0);
	for (unsigned i = 0; i < RECEIVES; i++) {
		s->rx[i] = (struct ep_rx){ .p = pool_buf(s->inbox, i).p,
			.cap = MSG_MAX,
			.lkey = s->inbox->key[ep->dom].lkey };
		ep->ops->repost(ep, &s->rx[i]);
	}
	memcpy(priv, s->priv, strlen(s->priv));
	return (int)strlen(s->priv);
}

static void up(struct ep *ep)
{
	((struct side *)ep->user)->up = 1;
}

static void down(struct ep *ep)
{
	struct side *s = ep->user;
	cr_assert_eq(ep->state, EP_DOWN);
	s->down++;
}

static uint32_t lkey(struct side *s, struct pool *pool)
{
	return pool->key[s->ep->dom].lkey;
}

/* A message that says what lies where; its own tail is random. */
static void tell(struct side *s, struct job *j, uint32_t off, uint32_t bytes, uint32_t written)
{
	unsigned i = (unsigned)(j - s->job);
	uint8_t *p = pool_buf(s->msgs, i).p;
	uint32_t len = dice(s, 4) ? dice(s, 200) : dice(s, MSG_MAX - sizeof(struct note));
	struct note note = {
		.len = len, .slot = j->slot, .off = off, .bytes = bytes, .written = written
	};
	uint32_t all = sizeof(note) + len;
	bool in_line = all <= s->ep->caps.inline_max && dice(s, 2), quiet;

	fill(p + sizeof(note), len, s->seed);
	note.sum = crc32c(0, p + sizeof(note), len);
	memcpy(p, &note, sizeof(note));
	/* Quiet: there is no `sent`; the peer has it when it has looked. */
	quiet = in_line && dice(s, 2);
	j->tells += !quiet;
	j->tell = (struct ep_op){ .kind = EP_SEND,
		.flags = (in_line ? EP_INLINE : 0) | (quiet ? EP_UNSIGNALED : 0),
		.nsge = 1,
		.sge = { { p, all, lkey(s, s->msgs) } } };
	if (all > 8 && dice(s, 2)) {
		j->tell.nsge = 2;
		j->tell.sge[0].len = 5;
		j->tell.sge[1] = (struct ep_sge){ p + 5, all - 5, lkey(s, s->msgs) };
	}
}

static void start_write(struct side *s, struct job *j)
{
	uint8_t *p = pool_buf(s->source, j->slot).p;
	uint32_t off = dice(s, SLOT / 2), len = dice(s, 3) ? dice(s, 5000) : dice(s, SLOT / 2),
		 cut = len ? dice(s, len) : 0;
	struct pool *to = s->other->window;

	fill(p, len, s->seed);
	tell(s, j, off, len, crc32c(0, p, len));
	j->op = (struct ep_op){ .kind = EP_WRITE,
		.next = &j->tell,
		.nsge = 2,
		.rkey = to->key[s->other->ep->dom].rkey,
		.raddr = pool_raddr(to, s->other->ep->dom, pool_buf(to, j->slot).p) + off,
		.sge = { { p, cut, lkey(s, s->source) },
			{ p + cut, len - cut, lkey(s, s->source) } } };
	s->sent_msgs++;
	j->tells++;
	s->ep->ops->post(s->ep, &j->op);
}

static void start_read(struct side *s, struct job *j)
{
	uint8_t *p = pool_buf(s->sink, j->slot).p;
	struct pool *from = s->other->window;
	uint32_t off = dice(s, SLOT / 2), len = dice(s, 3) ? dice(s, 5000) : dice(s, SLOT / 2);
	uint8_t *there;

	there = pool_buf(from, SLOTS + j->slot).p + off;
	j->read = true;
	j->sum = crc32c(0, there, len);
	memset(p, 0, len);
	j->op = (struct ep_op){ .kind = EP_READ,
		.nsge = 1,
		.rkey = from->key[s->other->ep->dom].rkey,
		.raddr = pool_raddr(from, s->other->ep->dom, there),
		.sge = { { p, len, lkey(s, s->sink) } } };
	s->reads++;
	j->tells = 1;
	s->ep->ops->post(s->ep, &j->op);
}

static bool slot_free(struct side *s, uint32_t slot)
{
	for (unsigned i = 0; i < DEPTH; i++)
		if (s->job[i].busy && s->job[i].slot == slot)
			return false;
	return true;
}

static void start(struct side *s)
{
	for (unsigned i = 0; i < DEPTH && s->started < s->total; i++) {
		struct job *j = &s->job[i];
		unsigned kind = dice(s, 3);
		uint32_t slot = dice(s, SLOTS);
		if (j->busy || !slot_free(s, slot))
			continue;
		if (kind == 2 && s->reads >= s->ep->caps.ord)
			kind = 0;
		*j = (struct job){ .busy = true, .slot = slot, .watched = kind < 2 };
		s->started++;
		if (kind == 0) {
			tell(s, j, 0, 0, 0);
			s->sent_msgs++;
			s->ep->ops->post(s->ep, &j->tell);
		} else if (kind == 1) {
			start_write(s, j);
		} else {
			start_read(s, j);
		}
	}
}

static void release(struct side *s, struct job *j)
{
	if (j->tells || j->watched)
		return;
	j->busy = false;
	s->done++;
}

static void check_finished(struct side *s)
{
	struct side *o = s->other;
	if (s->done == s->total && o->done == o->total && s->received_msgs == o->sent_msgs &&
		o->received_msgs == s->sent_msgs)
		s->finished = o->finished = 1;
}

static void recv_(struct ep *ep, struct ep_rx *rx)
{
	struct side *s = ep->user;
	struct note note;

	s->received++;
	s->last = rx;
	if (!s->watch) {
		cr_assert_geq(rx->len, sizeof(note));
		memcpy(&note, rx->p, sizeof(note));
		cr_assert_eq(rx->len, sizeof(note) + note.len);
		cr_assert_eq(crc32c(0, rx->p + sizeof(note), note.len), note.sum);
		cr_assert_eq(crc32c(0, pool_buf(s->window, note.slot).p + note.off, note.bytes),
			note.written);
		s->received_msgs++;
		for (unsigned i = 0; i < DEPTH; i++)
			if (s->other->job[i].busy && s->other->job[i].slot == note.slot) {
				s->other->job[i].watched = false;
				release(s->other, &s->other->job[i]);
			}
		start(s->other);
	}
	rx->next = NULL;
	ep->ops->repost(ep, rx);
	check_finished(s);
}

static void sent(struct ep *ep, struct ep_op *op)
{
	struct side *s = ep->user;
	struct job *j = NULL;

	s->sents++;
	if (s->watch)
		return;
	for (unsigned i = 0; i < DEPTH && !j; i++)
		if (op == &s->job[i].op || op == &s->job[i].tell)
			j = &s->job[i];
	cr_assert(j && j->busy && j->tells);
	if (--j->tells)
		return;
	if (j->read) {
		cr_assert_eq(crc32c(0, j->op.sge[0].p, j->op.sge[0].len), j->sum,
			"a read of %u bytes", j->op.sge[0].len);
		s->reads--;
	}
	release(s, j);
	check_finished(s);
}

static void idle(struct ep *ep)
{
	struct side *s = ep->user;
	if (!s->watch)
		start(s);
}

static const struct ep_events events = { request, up, recv_, sent, idle, down };

static void incoming(struct ep_incoming *in, void *user)
{
	struct diag diag;

	(void)user;
	if (server_rejects)
		ep_reject(in, "no", 2);
	else if (asked == (void *)&asked)
		asked = in;
	else
		cr_assert_eq(ep_accept(&server.ep, loop, in, &server.local_caps, &events, &server,
				     &diag),
			0, "%s", diag.text);
}

static void side_init(struct side *s, struct side *other, unsigned seed)
{
	struct diag diag;

	s->other = other;
	s->seed = seed;
	if (!s->local_caps.send)
		s->local_caps = (struct ep_caps){ .send = 2 * DEPTH,
			.recv = RECEIVES,
			.sge = 2,
			.inline_max = 128,
			.ord = 4,
			.ird = 4 };
	cr_assert_eq(pool_new(&s->window, SLOT, 2 * SLOTS, &diag), 0);
	cr_assert_eq(pool_new(&s->source, SLOT, SLOTS, &diag), 0);
	cr_assert_eq(pool_new(&s->sink, SLOT, SLOTS, &diag), 0);
	cr_assert_eq(pool_new(&s->msgs, MSG_MAX, DEPTH, &diag), 0);
	cr_assert_eq(pool_new(&s->inbox, MSG_MAX, RECEIVES, &diag), 0);
	fill(s->window->base, (uint32_t)s->window->len, seed);
}

static void set_up(bool client_crc, bool server_crc)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct tcp_listen listen = {
		.iwarp = incoming, .timeout_ms = leap_limit_ms(1000), .no_crc = !server_crc
	};
	struct ep_dial dial = { .timeout_ms = leap_limit_ms(1000), .no_crc = !client_crc };
	struct diag diag;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0, "%s",
		diag.text);
	side_init(&client, &server, 1);
	side_init(&server, &client, 2);
	memcpy(&listen.at.ss, &in, sizeof(in));
	listen.at.len = sizeof(in);
	cr_assert_eq(tcp_listen(&listener, loop, &listen, &diag), 0, "%s", diag.text);
	dial.dst = *tcp_listener_addr(listener);
	dial.caps = client.local_caps;
	cr_assert_eq(
		iwarp_dial(&client.ep, loop, &dial, &events, &client, &diag), 0, "%s", diag.text);
}

static void turn(volatile int *flag)
{
	cr_assert(loop_wait(loop, flag, leap_limit(20 * SECOND)), "timed out");
}

static void connect_both(bool client_crc, bool server_crc)
{
	set_up(client_crc, server_crc);
	turn(&client.up);
	turn(&server.up);
}

static void side_fini(struct side *s)
{
	struct pool *pools[] = { s->window, s->source, s->sink, s->msgs, s->inbox };

	for (unsigned i = 0; i < 5; i++) {
		if (s->ep && pools[i]->refs[s->ep->dom < POOL_DOMS ? s->ep->dom : 0])
			s->ep->ops->unreg(s->ep, pools[i]);
	}
	if (s->ep)
		s->ep->ops->free(s->ep);
	for (unsigned i = 0; i < 5; i++)
		pool_free(pools[i]);
}

static void tear_down(void)
{
	side_fini(&client);
	side_fini(&server);
	tcp_listener_free(listener);
	loop_free(loop);
}

static void run(unsigned total)
{
	client.total = server.total = total;
	start(&client);
	turn(&client.finished);
	cr_assert_eq(client.done, total);
	cr_assert_eq(server.done, total);
	cr_assert_not(client.down || server.down);
}

/* The server may send before its first message from the client: it is held back until the client's
 * first FPDU. */
static void mixed(
	bool client_crc, bool server_crc, uint32_t ulpdu, int socket_buffer, unsigned total)
{
	leap_now = 0;
	connect_both(client_crc, server_crc);
	cr_assert_eq(iwarp_of(client.ep)->crc, client_crc || server_crc);
	cr_assert_eq(iwarp_of(server.ep)->crc, client_crc || server_crc);
	cr_assert_eq(client.ep->caps.ord, 4);
	if (ulpdu)
		iwarp_of(client.ep)->tx.ulpdu = iwarp_of(server.ep)->tx.ulpdu = ulpdu;
	if (socket_buffer) {
		setsockopt(iwarp_of(client.ep)->fd.fd, SOL_SOCKET, SO_SNDBUF, &socket_buffer,
			sizeof(int));
		setsockopt(iwarp_of(server.ep)->fd.fd, SOL_SOCKET, SO_SNDBUF, &socket_buffer,
			sizeof(int));
	}
	server.total = total;
	start(&server);
	run(total);
	tear_down();
}

Test(iwarp, mixed_operations_with_crc)
{
	mixed(true, true, 0, 0, 3000);
}

Test(iwarp, mixed_operations_without_crc)
{
	mixed(false, false, 0, 0, 3000);
}

Test(iwarp, one_side_wanting_crcs_suffices)
{
	mixed(false, true, 0, 0, 200);
}

Test(iwarp, segments_as_of_ethernet)
{
	mixed(true, true, mpa_ulpdu(1448, false), 0, 1500);
}

Test(iwarp, the_smallest_segments)
{
	mixed(true, false, MPA_ULPDU_MIN, 0, 300);
}

Test(iwarp, sockets_that_take_little)
{
	mixed(true, true, 9001, 4096, 600);
}

static int request_of_size(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	memset(priv, 'x', EP_PRIV_MAX);
	request(ep, priv);
	return EP_PRIV_MAX;
}

static int request_too_long(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	cr_assert_eq(ep->caps.priv_max, EP_PRIV_MAX);
	request(ep, priv);
	return EP_PRIV_MAX + 1;
}

Test(iwarp, private_data_in_both_directions)
{
	static const struct ep_events big = { request_of_size, up, recv_, sent, idle, down };
	struct diag diag;

	asked = (void *)&asked;
	memcpy(client.priv, "may I", 5);
	set_up(true, true);
	while (asked == (void *)&asked)
		loop_wait(loop, &client.up, loop_clock() + 1000000);
	cr_assert_eq(asked->priv_len, 5);
	cr_assert_arr_eq(asked->priv, "may I", 5);
	cr_assert(asked->ord == 4 && asked->ird == 4);
	cr_assert_eq(
		ep_accept(&server.ep, loop, asked, &server.local_caps, &big, &server, &diag), 0);
	cr_assert_eq(server.up, 0, "not inside");
	turn(&client.up);
	cr_assert_eq(client.ep->priv_len, EP_PRIV_MAX);
	cr_assert_eq(client.ep->priv[EP_PRIV_MAX - 1], 'x');
	text_says(client.ep->route, "software_iWARP 127.0.0.1:");
	tear_down();
}

Test(iwarp, private_data_longer_than_there_is_room_for)
{
	static const struct ep_events big = { request_too_long, up, recv_, sent, idle, down };
	struct diag diag;

	asked = (void *)&asked;
	set_up(true, true);
	while (asked == (void *)&asked)
		loop_wait(loop, &client.up, loop_clock() + 1000000);
	cr_assert_eq(
		ep_accept(&server.ep, loop, asked, &server.local_caps, &big, &server, &diag), 0);
	turn(&server.down);
	diag_says(&server.ep->why, DIAG_UNSUPPORTED, "", "private 197_bytes 196");
	tear_down();
}

Test(iwarp, a_reject_carries_the_peers_reason)
{
	server_rejects = true;
	set_up(true, true);
	turn(&client.down);
	cr_assert(client.ep->rejected);
	cr_assert_eq(client.ep->priv_len, 2);
	cr_assert_arr_eq(client.ep->priv, "no", 2);
	cr_assert_eq(client.ep->why.code, DIAG_REFUSED);
	cr_assert_not(client.up);
	tear_down();
}

Test(iwarp, an_owner_may_refuse_its_own_request)
{
	client.refuse = 1;
	set_up(true, true);
	turn(&client.down);
	cr_assert_str_eq(client.ep->why.text, "not like this");
	tear_down();
}

Test(iwarp, an_owner_may_refuse_what_it_accepted)
{
	server.refuse = 1;
	set_up(true, true);
	turn(&client.down);
	turn(&server.down);
	cr_assert_str_eq(server.ep->why.text, "not like this");
	cr_assert_not(client.ep->rejected);
	cr_assert_eq(client.ep->why.code, DIAG_REFUSED);
	tear_down();
}

Test(iwarp, the_lesser_depth_counts)
{
	client.local_caps = (struct ep_caps){ .send = 4, .recv = 4, .sge = 1, .ord = 9, .ird = 3 };
	server.local_caps = (struct ep_caps){ .send = 4, .recv = 4, .sge = 1, .ord = 7, .ird = 5 };
	connect_both(true, true);
	cr_assert(client.ep->caps.ord == 5 && server.ep->caps.ird == 5);
	cr_assert(client.ep->caps.ird == 3 && server.ep->caps.ord == 3);
	cr_assert(client.ep->caps.read_sge == 1 && client.ep->caps.inline_max == 0 &&
		  client.ep->caps.software);
	tear_down();
}

/* What each side hears when the other closes. */
Test(iwarp, closing_is_noticed)
{
	connect_both(true, true);
	client.ep->ops->close(client.ep);
	turn(&server.down);
	turn(&client.down);
	diag_says(&server.ep->why, DIAG_CLOSED, "", "closed peer");
	cr_assert_eq(client.ep->why.err, 0);
	cr_assert(client.down == 1 && server.down == 1);
	tear_down();
}

/* Before anything is read of what the peer left behind. */
Test(iwarp, a_peer_that_left_has_hung_up)
{
	connect_both(true, true);
	cr_assert_not(server.ep->ops->peer_closed(server.ep));
	client.ep->ops->reset(client.ep);
	cr_assert(server.ep->ops->peer_closed(server.ep));
	cr_assert_eq(server.down, 0);
	turn(&server.down);
	cr_assert(server.ep->ops->peer_closed(server.ep));
	turn(&client.down);
	tear_down();
}

static void reset_client(struct loop_work *work)
{
	(void)work;
	client.ep->ops->reset(client.ep);
}

Test(iwarp, what_a_reset_client_had_sent_is_not_read)
{
	struct ep_op op = { .kind = EP_SEND, .nsge = 1 };
	struct loop_work work = { .run = reset_client };

	connect_both(true, true);
	client.watch = server.watch = true;
	op.sge[0] = (struct ep_sge){ client.msgs->base, 10, lkey(&client, client.msgs) };
	client.ep->ops->post(client.ep, &op);
	loop_work_add(loop, &work);
	turn(&server.down);
	cr_assert_eq(server.received, 0);
	diag_says(&server.ep->why, DIAG_CLOSED, "", "reset peer");
	turn(&client.down);
	tear_down();
}

Test(iwarp, freeing_in_the_middle)
{
	connect_both(true, true);
	client.total = server.total = 1000;
	start(&client);
	while (client.done < 100)
		loop_wait(loop, &client.finished, loop_clock() + 100000);
	client.watch = server.watch = true;
	server.ep->ops->close(server.ep);
	turn(&server.down);
	tear_down();
}

Test(iwarp, a_fault_is_reported_on_both_sides)
{
	struct ep_op op = { .kind = EP_WRITE, .nsge = 1, .rkey = 0xbad00 };

	connect_both(true, true);
	client.watch = server.watch = true;
	op.sge[0] = (struct ep_sge){ client.source->base, 10, lkey(&client, client.source) };
	client.ep->ops->post(client.ep, &op);
	turn(&server.down);
	turn(&client.down);
	diag_says(&server.ep->why, DIAG_PROTOCOL, "", "10_byte STag_0xbad00");
	diag_says(&client.ep->why, DIAG_PROTOCOL, "", "peer DDP invalid_STag");
	tear_down();
}

Test(iwarp, a_key_is_invalidated_by_a_send)
{
	struct ep_op op = { .kind = EP_SEND_INVAL, .nsge = 1 };

	connect_both(true, true);
	client.watch = server.watch = true;
	op.rkey = server.window->key[server.ep->dom].rkey;
	op.sge[0] = (struct ep_sge){ client.msgs->base, 10, lkey(&client, client.msgs) };
	client.ep->ops->post(client.ep, &op);
	while (!server.received)
		loop_wait(loop, &client.down, loop_clock() + 1000000);
	cr_assert_eq(server.last->len, 10);
	cr_assert(server.last->invalidated);
	cr_assert_eq(server.last->inval_rkey, op.rkey);
	tear_down();
}

Test(iwarp, posting_more_than_agreed_on_ends_it)
{
	static struct ep_op op[400];

	connect_both(true, true);
	client.watch = server.watch = true;
	iwarp_of(client.ep)->tx.hold = true;
	for (unsigned i = 0; i < 400; i++) {
		op[i] = (struct ep_op){ .kind = EP_SEND,
			.nsge = 1,
			.sge = { { client.msgs->base, 8, lkey(&client, client.msgs) } } };
		client.ep->ops->post(client.ep, &op[i]);
	}
	turn(&client.down);
	diag_says(&client.ep->why, DIAG_PROTOCOL, "", "posted");
	cr_assert_eq(client.ep->why.err, ENOSPC);
	tear_down();
}

/* A bare listener that a test answers from by hand. */
static int bare_listener(struct ep_dial *dial, bool deaf)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct diag diag;

	cr_assert_eq(bind(fd, (struct sockaddr *)&in, len), 0);
	cr_assert_eq(deaf ? 0 : listen(fd, 5), 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	memcpy(&dial->dst.ss, &in, sizeof(in));
	dial->dst.len = sizeof(in);
	side_init(&client, &server, 1);
	dial->caps = client.local_caps;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(iwarp_dial(&client.ep, loop, dial, &events, &client, &diag), 0);
	return fd;
}

static int bare_accept(int fd, uint8_t *frame)
{
	int one;

	loop_wait(loop, &client.down, loop_clock() + 5000000);
	one = accept(fd, NULL, NULL);
	loop_wait(loop, &client.down, loop_clock() + 5000000);
	cr_assert_geq(recv(one, frame, MPA_FRAME_MAX, 0), 20);
	return one;
}

Test(iwarp, a_peer_of_revision_1_is_asked_again)
{
	struct ep_dial dial = { .timeout_ms = 1000 };
	int fd = bare_listener(&dial, false), one;
	uint8_t frame[MPA_FRAME_MAX], reply[MPA_FRAME_MAX];

	one = bare_accept(fd, frame);
	cr_assert_eq(frame[17], 2);
	close(one);
	one = bare_accept(fd, frame);
	cr_assert_eq(frame[17], 1);
	cr_assert_eq(frame[19], 0, "no private data");
	cr_assert_eq(send(one, reply,
			     mpa_put(reply, &(struct mpa){ .revision = 1, .crc = true }, true), 0),
		20);
	turn(&client.up);
	cr_assert_eq(client.ep->caps.ord, 4);
	close(one);
	turn(&client.down);
	side_fini(&client);
	close(fd);
	loop_free(loop);
}

Test(iwarp, a_peer_that_may_have_missed_the_first_message_is_nudged)
{
	static const uint8_t empty_write[] = { 0, 14, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		0 };
	struct ep_dial dial = { .timeout_ms = 1000, .no_crc = true };
	int fd = bare_listener(&dial, false), one;
	uint8_t frame[MPA_FRAME_MAX], got[8 * 20];
	ssize_t len;

	one = bare_accept(fd, frame);
	len = (ssize_t)mpa_put(frame,
		&(struct mpa){
			.revision = 2, .enhanced = true, .peer = true, .rtr = MPA_RTR_WRITE },
		true);
	cr_assert_eq(send(one, frame, (size_t)len, 0), len);
	turn(&client.up);
	loop_wait(loop, &client.down, loop_clock() + SECOND);
	len = recv(one, got, sizeof(got), MSG_DONTWAIT);
	cr_assert_eq(len, 6 * 20, "one to be ready to receive, and five more: %zd", len);
	for (unsigned i = 0; i < 6; i++)
		cr_assert_arr_eq(got + i * 20, empty_write, sizeof(empty_write));
	close(one);
	turn(&client.down);
	side_fini(&client);
	close(fd);
	loop_free(loop);
}

/* A peer that does not close its side: what it was sent last can still be read for a while, unless
 * the owner does not want to wait for that. */
static void left_open(bool at_once)
{
	const struct mpa answer = {
		.revision = 2, .enhanced = true, .peer = true, .rtr = MPA_RTR_WRITE
	};
	struct ep_dial dial = { .timeout_ms = 1000, .no_crc = true };
	int fd = bare_listener(&dial, false), one, error = 0;
	uint8_t frame[MPA_FRAME_MAX];
	socklen_t len = sizeof(error);
	uint64_t begun;
	ssize_t n;

	one = bare_accept(fd, frame);
	n = (ssize_t)mpa_put(frame, &answer, true);
	cr_assert_eq(send(one, frame, (size_t)n, 0), n);
	turn(&client.up);
	begun = loop_clock();
	if (at_once)
		client.ep->ops->reset(client.ep);
	else
		client.ep->ops->close(client.ep);
	cr_assert_not(client.down);
	turn(&client.down);
	if (at_once)
		cr_assert_lt(loop_clock(), begun + SECOND / 2);
	else
		cr_assert_geq(loop_clock(), begun + SECOND / 2);
	cr_assert_eq(getsockopt(one, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	/* EPIPE: what a reset after the end means */
	cr_assert_eq(error, at_once ? ECONNRESET : EPIPE, "%d", error);
	close(one);
	side_fini(&client);
	close(fd);
	loop_free(loop);
}

Test(iwarp, a_peer_that_does_not_close_its_side_is_reset)
{
	left_open(false);
}

Test(iwarp, a_reset_does_not_wait_for_the_peer)
{
	left_open(true);
}

/* Received parts of a message already count as progress of a slow peer. */
Test(iwarp, parts_of_messages_count_as_moved)
{
	const struct mpa answer = {
		.revision = 2, .enhanced = true, .peer = true, .rtr = MPA_RTR_WRITE
	};
	/* of an FPDU with a Send of 768 bytes, the first */
	static const uint8_t part[500] = { 3, 0, 0x41, 0x43, [15] = 1 };
	struct ep_dial dial = { .timeout_ms = 1000, .no_crc = true };
	int fd = bare_listener(&dial, false), one;
	uint8_t frame[MPA_FRAME_MAX];
	uint64_t before;
	ssize_t n;

	one = bare_accept(fd, frame);
	n = (ssize_t)mpa_put(frame, &answer, true);
	cr_assert_eq(send(one, frame, (size_t)n, 0), n);
	turn(&client.up);
	leap_now = 0; /* the kernel takes its time for acknowledgements, which count */
	before = client.ep->ops->progress(client.ep);
	for (unsigned i = 1; i <= 5; i++) {
		cr_assert_eq(send(one, part + (i - 1) * 100, 100, 0), 100);
		do {
			loop_wait(loop, &client.down, loop_clock() + SECOND / 1000);
			cr_assert_not(client.down, "%s", client.ep->why.text);
		} while (client.ep->ops->progress(client.ep) < before + i * 100ull);
	}
	close(one);
	turn(&client.down);
	cr_assert_geq(client.ep->ops->progress(client.ep), before + 500);
	side_fini(&client);
	close(fd);
	loop_free(loop);
}

/* The timeout is short only if it is to expire. */
static void hand_answered(const void *bytes, size_t len, const char *words, enum diag_code code)
{
	struct ep_dial dial = { .timeout_ms = code == DIAG_TIMEOUT ? 200 : 10000 };
	int fd = bare_listener(&dial, false), one;
	uint8_t frame[MPA_FRAME_MAX];

	one = bare_accept(fd, frame);
	if (len)
		cr_assert_eq(send(one, bytes, len, 0), (ssize_t)len);
	turn(&client.down);
	diag_says(&client.ep->why, code, "", words);
	cr_assert_not(client.up);
	close(one);
	close(fd);
	side_fini(&client);
	loop_free(loop);
}

Test(iwarp, a_peer_that_speaks_something_else)
{
	hand_answered("HTTP/1.0 400 Bad Request", 24, "MPA iWARP", DIAG_PROTOCOL);
}

Test(iwarp, a_peer_that_says_nothing)
{
	hand_answered("", 0, "TCP_connected iWARP 200_ms", DIAG_TIMEOUT);
}

Test(iwarp, a_peer_without_crcs)
{
	uint8_t reply[MPA_FRAME_MAX];
	size_t len = mpa_put(reply,
		&(struct mpa){ .revision = 2,
			.enhanced = true,
			.ird = 4,
			.ord = 4,
			.peer = true,
			.rtr = MPA_RTR_WRITE },
		true);

	hand_answered(reply, len, "peer CRC", DIAG_PROTOCOL);
}

Test(iwarp, a_peer_that_wants_to_read_too_deep)
{
	uint8_t reply[MPA_FRAME_MAX];
	size_t len = mpa_put(reply,
		&(struct mpa){ .revision = 2,
			.enhanced = true,
			.crc = true,
			.ird = 4,
			.ord = 5,
			.peer = true,
			.rtr = MPA_RTR_WRITE },
		true);

	hand_answered(reply, len, "read depth 5 4", DIAG_PROTOCOL);
}

Test(iwarp, nobody_listens)
{
	struct ep_dial dial = { .timeout_ms = 1000 };
	int fd = bare_listener(&dial, true);

	turn(&client.down);
	close(fd);
	diag_says(&client.ep->why, DIAG_REFUSED, "", "connection_refused firewall");
	side_fini(&client);
	loop_free(loop);
}
