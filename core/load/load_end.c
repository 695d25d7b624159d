/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory, ops and receives of one end of a benchmark connection over RDMA. */
#include "load_end.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST          64 /* bytes per receive */
#define SPARE          8 /* ops beyond those in flight: for credits, and for ops not yet reported */
#define PAGE           4096u
#define UNSIGNALED_MAX (sizeof((struct load_end){ 0 }.unsignaled) / sizeof(struct ep_op *))

static uint32_t pages(uint64_t bytes)
{
	return (uint32_t)((bytes + PAGE - 1) / PAGE * PAGE);
}

static void plan(struct load_end *end, bool client)
{
	/* received messages have the full size */
	bool whole = end->op == BENCH_SEND && (!client || !end->bandwidth || end->both);

	end->client = client;
	/* Each credit covers at least one message, so there are never more credits than messages in
	 * flight. */
	end->receives = end->bandwidth && (client ? end->op != BENCH_READ : end->op == BENCH_SEND)
				? (1u + end->both) * end->depth + 2
				: 4;
	end->stride = whole && end->size > LEAST ? (end->size + LEAST - 1) / LEAST * LEAST : LEAST;
	end->ops = (2u + end->both) * (end->bandwidth ? end->depth : 2) + SPARE;
}

static uint32_t buffers(const struct load_end *end)
{
	return end->op == LOAD_OP_PING && end->client ? 2 : 1;
}

static uint64_t inbox(const struct load_end *end)
{
	return (uint64_t)end->stride * end->receives + (uint64_t)end->ops * LEAST;
}

/* The server of SENDs in one direction sends no data. */
static uint32_t data(const struct load_end *end)
{
	bool only_receives = !end->client && end->op == BENCH_SEND && end->bandwidth && !end->both;

	return only_receives ? PAGE : pages(end->size);
}

uint64_t load_end_memory(struct load_end *end, bool client)
{
	plan(end, client);
	return (uint64_t)data(end) * buffers(end) + pages(inbox(end)) +
	       end->receives * sizeof(*end->ring.rx) + end->ops * sizeof(*end->op_mem);
}

int load_end_init(struct load_end *end, bool client, struct diag *diag)
{
	int err;

	plan(end, client);
	end->op_mem = calloc(end->ops, sizeof(*end->op_mem));
	err = end->op_mem ? ring_init(&end->ring, end->receives, diag)
			  : diag_sys(diag, ENOMEM, "requests");
	if (!err)
		err = pool_new(&end->data, data(end), buffers(end), diag);
	if (!err)
		err = pool_new(&end->inbox, pages(inbox(end)), 1, diag);
	for (uint32_t i = 0; !err && i < end->ops; i++) {
		end->op_mem[i].next = end->free;
		end->free = &end->op_mem[i];
	}
	return err;
}

void load_end_fini(struct load_end *end)
{
	if (end->registered) {
		end->ep->ops->unreg(end->ep, end->data);
		end->ep->ops->unreg(end->ep, end->inbox);
	}
	if (end->ep)
		end->ep->ops->free(end->ep);
	if (end->data)
		pool_free(end->data);
	if (end->inbox)
		pool_free(end->inbox);
	ring_fini(&end->ring);
	free(end->op_mem);
	*end = (struct load_end){ 0 };
}

struct ep_caps load_end_caps(const struct load_end *end)
{
	uint32_t reads = end->op == BENCH_READ ? end->depth : end->op == LOAD_OP_PING;

	return (struct ep_caps){ .send = end->ops,
		.recv = end->receives,
		.sge = 1,
		.inline_max = end->bandwidth ? LEAST : 220,
		.ord = reads,
		.ird = reads };
}

int load_end_request(struct load_end *end, struct ep *ep)
{
	static const unsigned access[] = { [BENCH_SEND] = EP_LOCAL,
		[BENCH_WRITE] = EP_REMOTE_WRITE,
		[BENCH_READ] = EP_REMOTE_READ | EP_READ_SINK,
		[LOAD_OP_PING] = EP_REMOTE_READ | EP_REMOTE_WRITE };
	bool reader = end->op == LOAD_OP_PING && !end->client;
	int err;

	end->ep = ep;
	end->registered = false;
	if (ep->caps.recv < end->receives || ep->caps.send < end->ops)
		return diag_set(&ep->why, DIAG_NO_DEVICE, ENOSPC,
			"the RDMA device allows only %u requests per connection%s",
			ep->caps.send < ep->caps.recv ? ep->caps.send : ep->caps.recv,
			end->client && end->bandwidth ? ": use a smaller --iodepth" : "");
	err = ep->ops->reg(ep, end->data, reader ? EP_READ_SINK : access[end->op], &ep->why);
	if (err)
		return err;
	err = ep->ops->reg(ep, end->inbox, EP_LOCAL, &ep->why);
	if (err) {
		ep->ops->unreg(ep, end->data);
		return err;
	}
	end->registered = true;
	ring_start(&end->ring, ep, end->inbox, end->inbox->base, end->stride, end->stride,
		end->receives);
	return 0;
}

uint32_t load_end_rkey(const struct load_end *end)
{
	return end->data->key[end->ep->dom].rkey;
}

uint64_t load_end_raddr(const struct load_end *end)
{
	return pool_raddr(end->data, end->ep->dom, end->data->base);
}

static struct ep_op *alloc_op(struct load_end *end)
{
	struct ep_op *op = end->free;

	end->free = op->next;
	end->inflight++;
	*op = (struct ep_op){ .nsge = 1 };
	ring_add(&end->ring, op);
	return op;
}

/* If the next message acknowledges this op, the device need not report it, which costs time. If the
 * client does not wait for answers, some ops are reported. */
static void expect_answer(struct load_end *end, struct ep_op *op)
{
	if (end->bandwidth || end->op == BENCH_READ || end->op == LOAD_OP_PING ||
		!(op->flags & EP_INLINE) || end->unsignaled_count == UNSIGNALED_MAX)
		return;
	op->flags |= EP_UNSIGNALED;
	end->unsignaled[end->unsignaled_count++] = op;
}

static bool add_small(struct load_end *end, const void *bytes, uint32_t len)
{
	struct ep_op *op;
	uint8_t *p;

	if (!end->free)
		return false;
	op = alloc_op(end);
	p = end->inbox->base + (size_t)end->stride * end->receives +
	    (size_t)(op - end->op_mem) * LEAST;
	memcpy(p, bytes, len);
	op->kind = EP_SEND;
	op->flags = end->ep->caps.inline_max >= len ? EP_INLINE : 0;
	op->sge[0] = (struct ep_sge){ p, len, end->inbox->key[end->ep->dom].lkey };
	expect_answer(end, op);
	return true;
}

bool load_end_add_credit(struct load_end *end, uint32_t messages)
{
	const struct bench_credit credit = { put_le32(messages) };

	return add_small(end, &credit, sizeof(credit));
}

bool load_end_add_both(struct load_end *end, enum bench_what what, uint64_t messages)
{
	const struct bench_both both = {
		.magic = BENCH_MAGIC, .what = put_le32(what), .messages = put_le64(messages)
	};

	return add_small(end, &both, sizeof(both));
}

int load_end_read_both(const struct ep_rx *rx, uint64_t *messages)
{
	struct bench_both both;

	if (rx->len != sizeof(both))
		return -1;
	memcpy(&both, rx->p, sizeof(both));
	if (memcmp(both.magic, BENCH_MAGIC, sizeof(both.magic)))
		return -1;
	*messages = get_le64(both.messages);
	return get_le32(both.what) <= BENCH_COUNT ? (int)get_le32(both.what) : BENCH_COUNT + 1;
}

bool load_end_window_open(const struct load_end *end)
{
	return (end->op == BENCH_SEND ? end->uncredited : end->inflight) < end->depth;
}

bool load_end_add_next(struct load_end *end)
{
	if (!load_end_window_open(end) || !load_end_add(end))
		return false;
	end->posted++;
	if (end->op == BENCH_SEND)
		end->uncredited++;
	return true;
}

bool load_end_credited(struct load_end *end, uint64_t messages)
{
	if (messages > end->uncredited)
		return false;
	end->uncredited -= (uint32_t)messages;
	return true;
}

uint64_t load_end_moved(const struct load_end *end)
{
	return end->op == BENCH_READ ? end->completed : end->posted;
}

uint8_t *load_end_back(const struct load_end *end)
{
	return pool_buf(end->data, 1).p;
}

bool load_end_add_place(struct load_end *end, bool back)
{
	struct rping_place place = { 0 };

	if (end->client)
		place = (struct rping_place){ put_be64(pool_raddr(end->data, end->ep->dom,
						      back ? load_end_back(end) : end->data->base)),
			put_be32(load_end_rkey(end)), put_be32(end->size) };
	return add_small(end, &place, sizeof(place));
}

static void move(struct load_end *end, struct ep_op *op, enum ep_kind kind, uint32_t len)
{
	op->kind = kind;
	op->sge[0] = (struct ep_sge){ end->data->base, len, end->data->key[end->ep->dom].lkey };
	op->rkey = end->peer_rkey;
	op->raddr = end->peer_addr;
}

bool load_end_add_move(struct load_end *end, enum ep_kind kind, uint32_t len)
{
	if (!end->free)
		return false;
	move(end, alloc_op(end), kind, len);
	return true;
}

bool load_end_add(struct load_end *end)
{
	static const uint8_t kind[] = {
		[BENCH_SEND] = EP_SEND, [BENCH_WRITE] = EP_WRITE, [BENCH_READ] = EP_READ
	};
	bool with_credit = end->op == BENCH_WRITE && !end->bandwidth;
	struct ep_op *op;

	if (!end->free || (with_credit && !end->free->next))
		return false;
	op = alloc_op(end);
	move(end, op, kind[end->op], end->size);
	op->flags =
		!end->bandwidth && end->op != BENCH_READ && end->size <= end->ep->caps.inline_max
			? EP_INLINE
			: 0;
	expect_answer(end, op);
	return !with_credit || load_end_add_credit(end, 1);
}

void load_end_sent(struct load_end *end, struct ep_op *op)
{
	end->inflight--;
	op->next = end->free;
	end->free = op;
}

void load_end_answered(struct load_end *end)
{
	while (end->unsignaled_count)
		load_end_sent(end, end->unsignaled[--end->unsignaled_count]);
}
