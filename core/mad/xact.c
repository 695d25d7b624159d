/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests and their answers: many in flight, few per destination, each with its own deadline.
 * Every try has its own transaction ID, and all of them are valid until the deadline, so that a
 * late answer counts. receive.c receives; scan.c and watch.c send the requests. */
#include "xact.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#define TRIES_MAX 7 /* three bits above those of the slot */
/* the kernel counts milliseconds in 32 bits; enough for a table, too */
#define ANSWER_MAX_MS (60 * 60 * 1000)
#define WAIT_MS       250
#define WAIT_LEAST    50
#define TABLE_TIMES   4 /* a table gets this many times the time of other answers */
/* the kernel's timeout is later than ours, so that only ours is reported */
#define KERNEL_MORE_MS 2000

enum { IDLE, QUEUED, FRESH, WAITED };

static struct xact_queue *queue_of(struct mad *mad, const struct mad_req *req)
{
	return req->mgmt_class == MAD_CLASS_SA ? &mad->sa : &mad->others;
}

static bool counted(const struct mad_req *req)
{
	return req->mgmt_class == MAD_CLASS_DM;
}

static void alloc_slot(struct mad *mad, struct mad_req *req)
{
	struct xact_slot *slot = &mad->slot[mad->free];

	req->slot = mad->free;
	mad->free = slot->next_free;
	slot->req = req;
	if (!++slot->round)
		slot->round = 1;
}

/* Remove the request from those in flight, so that answers no longer match it. */
void mad_xact_release(struct mad *mad, struct mad_req *req)
{
	loop_timer_del(mad->loop, &req->timer);
	if (req->state == FRESH)
		queue_of(mad, req)->fresh--;
	if (counted(req))
		mad->busy[req->to.lid]--;
	mad->slot[req->slot].req = NULL;
	mad->slot[req->slot].next_free = mad->free;
	mad->free = req->slot;
	req->state = IDLE;
	loop_work_add(mad->loop, &mad->work);
}

void mad_xact_finish(struct mad *mad, struct mad_req *req, const struct mad_answer *answer)
{
	mad_xact_release(mad, req);
	req->done(req, answer);
}

size_t mad_xact_data_at(uint8_t mgmt_class)
{
	return mgmt_class == MAD_CLASS_SA ? sizeof(struct sa_hdr) : sizeof(struct dm_hdr);
}

static size_t length(const struct mad_req *req)
{
	size_t len = mad_xact_data_at(req->mgmt_class) + req->len;

	return len > MAD_LEN ? len : MAD_LEN;
}

static void build_sa(const struct mad_req *req, struct sa_hdr *sa, size_t len)
{
	bool many = len > MAD_LEN;

	sa->mask = put_be64(req->mask);
	sa->rmpp.version = sa->rmpp.type = many || req->method == MAD_GET_TABLE;
	sa->rmpp.rtime_flags = many ? MAD_RMPP_ACTIVE : 0; /* the kernel splits it into segments */
}

static void build(const struct mad *mad, const struct mad_req *req, uint8_t *out, size_t len)
{
	const struct xact_slot *slot = &mad->slot[req->slot];
	struct mad_hdr *hdr = (void *)out;

	memset(out, 0, len);
	hdr->base_version = 1;
	hdr->mgmt_class = req->mgmt_class;
	hdr->class_version = req->mgmt_class == MAD_CLASS_SA ? SA_CLASS_VERSION : 1;
	hdr->method = req->method;
	hdr->tid = put_be64((uint32_t)slot->round << 16 | (uint32_t)req->tries << 13 | req->slot);
	hdr->attr = put_be16(req->attr);
	hdr->mod = put_be32(req->mod);
	if (req->mgmt_class == MAD_CLASS_SA) {
		build_sa(req, (void *)out, len);
	} else if (req->mgmt_class == MAD_CLASS_SMP_DR) {
		struct smp_dr *smp = (void *)out;

		hdr->class_specific = put_be16(req->hops);
		smp->dr_slid = smp->dr_dlid = put_be16(0xffff);
		memcpy(smp->out + 1, req->hop, req->hops);
	}
	if (req->len)
		memcpy(out + mad_xact_data_at(req->mgmt_class), req->data, req->len);
}

static int put_on_wire(struct mad *mad, const struct mad_req *req, uint32_t timeout_ms)
{
	size_t len = length(req);
	uint8_t one[MAD_LEN], *out = len > sizeof(one) ? malloc(len) : one;
	int err;

	if (!out)
		return -ENOMEM;
	build(mad, req, out, len);
	err = mad_dev_send(mad->dev, &req->to, out, len, timeout_ms);
	if (out != one)
		free(out);
	return err;
}

static uint32_t own_wait(const struct mad_req *req)
{
	return req->first_ms ? req->first_ms : WAIT_MS;
}

/* After the last try, wait for a silent node only for its advertised response time, but at least
 * 2/5 of the limit. */
static void shorten(const struct mad *mad, struct mad_req *req, uint64_t now)
{
	uint64_t least = req->end_ns - mad->limits.answer_ms * 1000000ull / 5 * 3,
		 end = now + own_wait(req) * 1000000ull;

	if (end < least)
		end = least;
	if (counted(req) && !req->last_status && end < req->end_ns)
		req->end_ns = end;
}

/* Send another try, and set the time until the next. */
static int try(struct mad *mad, struct mad_req *req)
{
	uint64_t now = loop_now(mad->loop), left_ms = (req->end_ns - now) / 1000000, next;
	int err = put_on_wire(mad, req, (uint32_t)left_ms + KERNEL_MORE_MS);

	req->tries++;
	if (err && err != -EAGAIN && err != -ENOMEM && err != -ENOBUFS)
		return err; /* other errors count as a lost try */
	mad->counters.sent++;
	next = now + req->wait_ms * 1000000ull;
	req->wait_ms *= 2;
	if (req->tries == mad->limits.tries)
		shorten(mad, req, now);
	loop_timer_set(mad->loop, &req->timer,
		req->tries < mad->limits.tries && next < req->end_ns ? next : req->end_ns);
	return 0;
}

static void time_up(struct loop_timer *timer)
{
	struct mad_req *req = container_of(timer, struct mad_req, timer);
	struct mad *mad = req->owner;
	struct mad_answer answer = { .err = req->last_status ? -EBUSY : -ETIMEDOUT,
		.status = req->last_status };

	if (loop_now(mad->loop) < req->end_ns) {
		if (req->state == FRESH) {
			req->state = WAITED; /* the next request may be sent */
			queue_of(mad, req)->fresh--;
			loop_work_add(mad->loop, &mad->work);
		}
		mad->counters.retries++;
		answer.err = try(mad, req);
		if (!answer.err)
			return;
	} else {
		mad->counters.timeouts++;
	}
	mad_xact_finish(mad, req, &answer);
}

/* The first wait is what the owner asked for, but short enough for all tries, each wait twice the
 * previous, to fit into the time. */
static uint32_t first_wait(const struct mad *mad, const struct mad_req *req)
{
	uint32_t most = mad->limits.answer_ms / ((1u << mad->limits.tries) - 1),
		 wait = own_wait(req);

	if (wait > most)
		wait = most;
	return wait < WAIT_LEAST ? WAIT_LEAST : wait;
}

/* The administrator takes long for a table, and computes it again for each retry. */
static void set_times(struct mad *mad, struct mad_req *req)
{
	uint64_t all_ms = mad->limits.answer_ms;

	if (req->method == MAD_GET_TABLE)
		all_ms *= TABLE_TIMES;
	req->wait_ms = req->method == MAD_GET_TABLE ? (uint32_t)(all_ms / 2) : first_wait(mad, req);
	req->end_ns = loop_now(mad->loop) + all_ms * 1000000;
}

static void launch(struct mad *mad, struct mad_req *req)
{
	struct mad_answer answer = { .err = mad->removed_err };

	alloc_slot(mad, req);
	req->state = FRESH;
	queue_of(mad, req)->fresh++;
	if (counted(req))
		mad->busy[req->to.lid]++;
	req->tries = 0;
	req->last_status = 0;
	set_times(mad, req);
	req->timer = (struct loop_timer){ .fire = time_up };
	if (!answer.err)
		answer.err = try(mad, req);
	if (answer.err)
		mad_xact_finish(mad, req, &answer);
}

static void unlink_req(struct xact_queue *queue, struct mad_req **at)
{
	struct mad_req *req = *at;

	*at = req->next;
	if (queue->last == &req->next)
		queue->last = at;
}

/* Find the first request whose destination is not busy. */
static struct mad_req *pick(struct mad *mad, struct xact_queue *queue)
{
	if (queue->fresh >= queue->window || mad->free == XACT_SLOTS)
		return NULL;
	for (struct mad_req **at = &queue->head; *at; at = &(*at)->next) {
		struct mad_req *req = *at;

		if (counted(req) && mad->busy[req->to.lid] >= mad->limits.each)
			continue;
		unlink_req(queue, at);
		return req;
	}
	return NULL;
}

static void pump(struct loop_work *work)
{
	struct mad *mad = container_of(work, struct mad, work);
	struct mad_req *req;

	while ((req = pick(mad, &mad->sa)))
		launch(mad, req);
	while ((req = pick(mad, &mad->others)))
		launch(mad, req);
}

void mad_xact_enqueue(struct mad *mad, struct mad_req *req)
{
	struct xact_queue *queue = queue_of(mad, req);

	req->state = QUEUED;
	if (req->urgent) {
		req->next = queue->head;
		queue->head = req;
		if (!req->next)
			queue->last = &req->next;
	} else {
		req->next = NULL;
		*queue->last = req;
		queue->last = &req->next;
	}
	loop_work_add(mad->loop, &mad->work);
}

void mad_send(struct mad *mad, struct mad_req *req)
{
	req->owner = mad;
	req->redirected = false;
	mad_xact_enqueue(mad, req);
}

void mad_cancel(struct mad *mad, struct mad_req *req)
{
	struct xact_queue *queue = queue_of(mad, req);

	if (req->state == QUEUED) {
		for (struct mad_req **at = &queue->head; *at; at = &(*at)->next) {
			if (*at != req)
				continue;
			unlink_req(queue, at);
			break;
		}
		req->state = IDLE;
	} else if (req->state != IDLE) {
		mad_xact_release(mad, req);
	}
}

/* The device is gone. */
void mad_xact_gone(struct mad *mad, int err)
{
	struct mad_answer answer = { .err = err };

	if (mad->removed_err)
		return;
	loop_fd_del(mad->loop, &mad->fd);
	mad->removed_err = err;
	for (unsigned i = 0; i < XACT_SLOTS; i++)
		if (mad->slot[i].req)
			mad_xact_finish(mad, mad->slot[i].req, &answer);
	if (mad->watch.owner)
		mad_watch_gone(&mad->watch);
}

static void settle(struct mad_limits *limits)
{
	if (!limits->window)
		limits->window = 128;
	if (!limits->each)
		limits->each = 1;
	if (limits->each > UINT8_MAX)
		limits->each = UINT8_MAX;
	if (!limits->sa)
		limits->sa = 8;
	if (!limits->answer_ms)
		limits->answer_ms = 5000;
	if (limits->answer_ms > ANSWER_MAX_MS)
		limits->answer_ms = ANSWER_MAX_MS;
	if (!limits->tries)
		limits->tries = 3;
	if (limits->tries > TRIES_MAX)
		limits->tries = TRIES_MAX;
}

static int start(struct mad *mad, struct diag *diag)
{
	int err = mad_dev_open(&mad->dev, mad->port.dev, mad->port.port, diag);

	if (err)
		return err;
	mad->fd = (struct loop_fd){
		.fd = mad_dev_fd(mad->dev), .events = EPOLLIN, .ready = mad_xact_readable
	};
	err = mad_dev_register_class(mad->dev, MAD_CLASS_SA, diag);
	if (!err)
		err = mad_dev_register_class(mad->dev, MAD_CLASS_DM, diag);
	if (!err)
		err = loop_fd_add(mad->loop, &mad->fd, diag);
	if (err)
		mad_dev_close(mad->dev);
	return err;
}

int mad_open(struct mad **out, struct loop *loop, const struct mad_port_info *port,
	const struct mad_limits *limits, struct diag *diag)
{
	struct mad *mad = calloc(1, sizeof(*mad));
	uint16_t round = 0;
	int err;

	if (!mad)
		return diag_sys(diag, ENOMEM, "MAD transactions");
	/* so that answers to an earlier run match no request */
	(void)!getrandom(&round, sizeof(round), GRND_NONBLOCK);
	mad->loop = loop;
	mad->port = *port;
	mad->limits = limits ? *limits : (struct mad_limits){ 0 };
	settle(&mad->limits);
	mad->sa.last = &mad->sa.head;
	mad->sa.window = mad->limits.sa;
	mad->others.last = &mad->others.head;
	mad->others.window = mad->limits.window;
	mad->work.run = pump;
	mad->room = XACT_ROOM;
	for (unsigned i = 0; i < XACT_SLOTS; i++)
		mad->slot[i] = (struct xact_slot){ .round = round, .next_free = (uint16_t)(i + 1) };
	err = start(mad, diag);
	if (err) {
		free(mad);
		return diag_ctx(diag, "%s port %u", port->dev, port->port);
	}
	*out = mad;
	return 0;
}

int mad_register_class(struct mad *mad, uint8_t mgmt_class, struct diag *diag)
{
	if (!mad_dev_register_class(mad->dev, mgmt_class, diag))
		return 0;
	return diag_ctx(diag, "%s port %u", mad->port.dev, mad->port.port);
}

void mad_close(struct mad *mad)
{
	for (unsigned i = 0; i < XACT_SLOTS; i++)
		if (mad->slot[i].req)
			mad_xact_release(mad, mad->slot[i].req);
	loop_work_del(mad->loop, &mad->work);
	loop_fd_del(mad->loop, &mad->fd);
	mad_dev_close(mad->dev);
	free(mad);
}

const struct mad_port_info *mad_port(const struct mad *mad)
{
	return &mad->port;
}

struct loop *mad_loop(const struct mad *mad)
{
	return mad->loop;
}

const struct mad_counters *mad_counters(const struct mad *mad)
{
	return &mad->counters;
}
