/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server's request engine: headers out of the stage, pieces into slots, slots to the disk.
 * A request that finds no slot stays where it is, so that the number of slots is all the
 * back-pressure there is. Replies are srv_reply.c's. */
#include "srv.h"
#include <errno.h>
#include <stdlib.h>

/* What a command may be, by section "Request types". */
static const struct {
	uint16_t flags; /* beside FUA, which any command may carry */
	uint16_t needs; /* transmission flags */
	bool known, writes;
	uint8_t kind;
} commands[NBD_CMDS] = {
	[NBD_CMD_READ] = { .known = true, .flags = NBD_CMD_FLAG_DF, .kind = IO_READ },
	[NBD_CMD_WRITE] = { .known = true, .writes = true, .kind = IO_WRITE },
	[NBD_CMD_FLUSH] = { .known = true, .needs = NBD_FLAG_SEND_FLUSH, .kind = IO_FLUSH },
	[NBD_CMD_TRIM] = { .known = true,
		.needs = NBD_FLAG_SEND_TRIM,
		.writes = true,
		.kind = IO_TRIM },
	[NBD_CMD_WRITE_ZEROES] = { .known = true,
		.needs = NBD_FLAG_SEND_WRITE_ZEROES,
		.writes = true,
		.kind = IO_ZERO,
		.flags = NBD_CMD_FLAG_NO_HOLE | NBD_CMD_FLAG_FAST_ZERO },
	[NBD_CMD_BLOCK_STATUS] = { .known = true, .flags = NBD_CMD_FLAG_REQ_ONE, .kind = IO_MAP },
};

/* The buffers of one client. "DF": 64 KiB must do without a cut. */
static int pool_of(
	struct pool **pool, const struct nbd_options *opt, uint32_t block, struct diag *diag)
{
	uint32_t each = opt->buffer > 65536 + 2 * block ? opt->buffer : 65536 + 2 * block;

	return pool_new(pool, (each + block - 1) & ~(block - 1), opt->slots, diag);
}

int nbd_srv_try(const struct nbd_options *opt, struct lane *lane, uint32_t block, struct diag *diag)
{
	struct pool *pool;
	int err = pool_of(&pool, opt, block, diag);

	if (err)
		return err;
	err = lane_map(lane, pool, diag);
	if (!err)
		lane_unmap(lane, pool);
	pool_free(pool);
	return err;
}

int nbd_srv_init(struct nbd_srv_conn *c, unsigned i, struct diag *diag)
{
	const struct nbd_options *opt = nbd_server_options(c->server);
	uint32_t block;
	size_t lower;
	int err;

	c->export = &opt->export[i];
	c->lane = c->worker->lane[i];
	c->lim = &c->export->bdev->lim;
	block = c->lim->block;
	if (c->lane->state != LANE_UP)
		return diag_set(diag, DIAG_CLOSED, ENOTCONN, "the disk is gone");
	c->count = opt->slots;
	lower = (c->lim->io_size + 7u) & ~7u;
	c->slots = calloc(c->count, sizeof(*c->slots));
	c->reqs = calloc(c->count + 1, sizeof(*c->reqs));
	c->lower = calloc(c->count, lower + 1);
	if (!c->slots || !c->reqs || !c->lower)
		return diag_sys(diag, ENOMEM, "%u requests", c->count);
	err = pool_of(&c->pool, opt, block, diag);
	if (err)
		return err;
	err = lane_map(c->lane, c->pool, diag);
	if (err)
		return err;
	c->mapped = true;
	for (unsigned n = 0; n < c->count; n++) {
		struct nbd_srv_slot *slot = &c->slots[c->count - 1 - n];
		slot->conn = c;
		slot->base = pool_buf(c->pool, c->count - 1 - n).p;
		slot->split.io.own = &slot->orphan;
		slot->split.io.lower = c->lower + (c->count - 1 - n) * lower;
		slot->next = c->free;
		c->free = slot;
	}
	for (unsigned n = 0; n <= c->count; n++)
		nbd_srv_req_free(c, &c->reqs[n]);
	c->held_end = &c->held;
	return 0;
}

void nbd_srv_fini(struct nbd_srv_conn *c)
{
	if (c->mapped)
		lane_unmap(c->lane, c->pool);
	pool_free(c->pool);
	free(c->lower);
	free(c->reqs);
	free(c->slots);
	c->mapped = false;
	c->pool = NULL;
	c->lower = NULL;
	c->reqs = c->free_req = NULL;
	c->slots = c->free = NULL;
}

void nbd_srv_fence(struct nbd_srv_conn *c)
{
	for (unsigned i = 0; i < c->count && c->flying; i++) {
		struct nbd_srv_slot *slot = &c->slots[i];

		if (slot->flying && !slot->orphan.bdev && commands[slot->req->cmd].writes)
			bdev_orphan(c->lane->bdev, &slot->orphan, slot->off, slot->len);
	}
}

void nbd_srv_stop(struct nbd_srv_conn *c)
{
	for (unsigned i = 0; i < c->count && c->flying; i++)
		split_stop(&c->slots[i].split);
}

void nbd_srv_cancel(struct nbd_srv_conn *c)
{
	c->cancelled = true;
	nbd_srv_fence(c);
	for (unsigned i = 0; i < c->count && c->flying; i++)
		if (c->slots[i].flying)
			bdev_cancel(c->lane, &c->slots[i].split.io);
}

static struct nbd_srv_slot *slot_take(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_slot *slot = c->free;

	c->free = slot->next;
	c->used++;
	slot->req = req;
	slot->error = 0;
	slot->off = slot->len = 0;
	slot->skip = slot->bytes = 0;
	slot->send = slot->head_len = 0;
	req->pieces++;
	return slot;
}

void nbd_srv_slot_free(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;

	slot->next = c->free;
	c->free = slot;
	c->used--;
}

void nbd_srv_req_free(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	req->next = c->free_req;
	c->free_req = req;
}

bool nbd_srv_req_over(const struct nbd_srv_req *req)
{
	return !req->pieces && !req->left;
}

static void count(uint64_t *what, uint64_t more)
{
	__atomic_store_n(what, *what + more, __ATOMIC_RELAXED);
}

/* A piece that is done. Its request counts with the last. */
static void count_piece(const struct nbd_srv_slot *slot)
{
	const struct nbd_srv_req *req = slot->req;
	struct io_count *all = &slot->conn->worker->count;
	bool last = !req->left && req->pieces == 1;

	if (slot->error)
		count(&all->errors, 1);
	else if (req->cmd == NBD_CMD_READ)
		count(&all->read_bytes, slot->bytes);
	else if (req->cmd == NBD_CMD_WRITE)
		count(&all->written_bytes, slot->bytes);
	if (last && req->cmd == NBD_CMD_READ)
		count(&all->reads, 1);
	if (last && req->cmd == NBD_CMD_WRITE)
		count(&all->writes, 1);
}

static void slot_done(struct split *split)
{
	struct nbd_srv_slot *slot = container_of(split, struct nbd_srv_slot, split);
	struct nbd_srv_conn *c = slot->conn;

	slot->flying = false;
	c->flying--;
	nbd_srv_conn_moved(c);
	bdev_orphan_end(&slot->orphan);
	if (c->gone)
		return;
	if (split->io.status)
		slot->error = nbd_error_of(-split->io.status, split->flags & IO_FAST);
	count_piece(slot);
	nbd_srv_reply(slot);
}

static void slot_fly(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;
	const struct nbd_srv_req *req = slot->req;
	struct split *split = &slot->split;

	split->lane = c->lane;
	split->kind = commands[req->cmd].kind;
	split->flags = 0;
	if (req->flags & NBD_CMD_FLAG_FUA && commands[req->cmd].writes)
		split->flags |= IO_FUA;
	if (req->flags & NBD_CMD_FLAG_FAST_ZERO)
		split->flags |= IO_FAST;
	if (req->flags & NBD_CMD_FLAG_NO_HOLE)
		split->flags |= IO_KEEP;
	split->off = slot->off;
	split->len = slot->len;
	split->buf = (struct buf){ slot->base, c->pool->each, c->pool };
	split->done = slot_done;
	slot->flying = true;
	c->flying++;
	split_start(split);
}

/* A disk without IO_MAP is all data. */
static void slot_map(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;

	if (c->lim->max[IO_MAP]) {
		slot_fly(slot);
		return;
	}
	*(struct map_run *)(void *)slot->base = (struct map_run){ .len = slot->len };
	slot->split.io.detail = 1;
	nbd_srv_reply(slot);
}

/* Gives the request's next piece a slot. Reads and writes are cut at the buffer, with the blocks
 * around unaligned ends; what has no payload goes as a whole. */
static void give_piece(struct nbd_srv_conn *c)
{
	struct nbd_srv_req *req = c->cur;
	struct nbd_srv_slot *slot = slot_take(c, req);
	uint64_t mask = c->lim->block - 1;
	bool payload = req->cmd == NBD_CMD_READ || req->cmd == NBD_CMD_WRITE;

	slot->from = req->off + (req->len - req->left);
	slot->skip = (uint32_t)(slot->from & mask);
	slot->bytes = payload && req->left > c->pool->each - slot->skip ? c->pool->each - slot->skip
									: req->left;
	slot->off = slot->from - slot->skip;
	slot->len = (slot->skip + (uint64_t)slot->bytes + mask) & ~mask;
	req->left -= slot->bytes;
	if (!req->left)
		c->cur = NULL;
	if (req->cmd == NBD_CMD_WRITE) {
		c->fill = slot;
		c->got = 0;
	} else if (req->cmd == NBD_CMD_BLOCK_STATUS) {
		slot_map(slot);
	} else {
		slot_fly(slot);
	}
}

/* Payload that came along with headers; false = more is needed. */
static bool fill_piece(struct nbd_srv_conn *c)
{
	struct nbd_srv_slot *slot = c->fill;
	size_t have = c->tail - c->head, want = slot->bytes - c->got;

	if (have > want)
		have = want;
	if (have)
		memcpy(slot->base + c->got, c->stage + c->head, have);
	c->head += have;
	c->got += (uint32_t)have;
	if (have < want)
		return false;
	c->fill = NULL;
	slot_fly(slot);
	return true;
}

/* Why this request cannot be: 0 = it can. */
static uint32_t check(const struct nbd_srv_conn *c, const struct nbd_srv_req *req, uint16_t type,
	const char **why)
{
	uint16_t allowed = type < NBD_CMDS ? commands[type].flags : 0;
	uint64_t mask = c->lim->block - 1;

	if (type >= NBD_CMDS || !commands[type].known) {
		*why = "unknown command";
		return NBD_EINVAL;
	}
	if (commands[type].writes && c->features & NBD_FLAG_READ_ONLY) {
		*why = "the export is read-only";
		return NBD_EPERM;
	}
	if (commands[type].needs & ~c->features || (type == NBD_CMD_BLOCK_STATUS && !c->meta)) {
		*why = "command not negotiated";
		return NBD_EINVAL;
	}
	if (c->features & NBD_FLAG_SEND_FUA)
		allowed |= NBD_CMD_FLAG_FUA;
	if (!c->structured)
		allowed &= (uint16_t)~NBD_CMD_FLAG_DF;
	if (req->flags & ~allowed) {
		*why = "invalid flag for this command";
		return NBD_EINVAL;
	}
	if (type == NBD_CMD_FLUSH) {
		*why = "offset and length of a flush must be zero";
		return req->off || req->len ? NBD_EINVAL : 0;
	}
	if (!bdev_range_ok(c->lim, req->off, req->len)) {
		*why = "beyond the end of the disk";
		return type == NBD_CMD_WRITE || type == NBD_CMD_WRITE_ZEROES ? NBD_ENOSPC
									     : NBD_EINVAL;
	}
	if (commands[type].writes && (req->off | req->len) & mask) {
		*why = "not aligned to the disk's blocks";
		return NBD_EINVAL;
	}
	if (type == NBD_CMD_READ && req->len > NBD_PAYLOAD_MAX) {
		*why = "read exceeds 32 MiB";
		return NBD_EINVAL;
	}
	if (req->flags & NBD_CMD_FLAG_DF && req->len > c->pool->each - (req->off & mask)) {
		*why = "too long for a single chunk";
		return NBD_EOVERFLOW;
	}
	if (type == NBD_CMD_BLOCK_STATUS && !req->len) {
		*why = "block status with length 0";
		return NBD_EINVAL;
	}
	return 0;
}

/* Answers without the disk; a write once its payload has been dropped: libnbd 1.14 takes no reply
 * while it still sends. */
static void answer(struct nbd_srv_conn *c, struct nbd_srv_req *req, uint32_t error, const char *why)
{
	struct nbd_srv_slot *slot = slot_take(c, req);

	slot->from = req->off;
	slot->error = error;
	req->why = why;
	req->left = 0;
	if (req->cmd == NBD_CMD_WRITE && req->len) {
		c->refused = slot;
		c->drop = req->len;
	} else {
		nbd_srv_reply(slot);
	}
}

/* Payload nobody wants; false = more of it is to come. */
static bool drop_piece(struct nbd_srv_conn *c)
{
	size_t have = c->tail - c->head;

	if (have > c->drop)
		have = c->drop;
	c->head += have;
	c->drop -= (uint32_t)have;
	if (c->drop)
		return false;
	nbd_srv_reply(c->refused);
	c->refused = NULL;
	return true;
}

static void begin(struct nbd_srv_conn *c, const struct nbd_request *wire)
{
	uint16_t type = get_be16(wire->type);
	struct nbd_srv_req *req = c->free_req;
	const char *why = NULL;
	uint32_t error;

	if (type == NBD_CMD_DISC) {
		c->ending = c->goodbye = true;
		c->head = c->tail;
		return;
	}
	c->free_req = req->next;
	*req = (struct nbd_srv_req){ .off = get_be64(wire->off),
		.len = get_be32(wire->len),
		.flags = get_be16(wire->flags) };
	memcpy(req->cookie, wire->cookie, sizeof(req->cookie));
	req->left = req->len;
	req->cmd = type < NBD_CMDS ? (uint8_t)type : NBD_CMDS;
	if (type == NBD_CMD_WRITE && req->len > NBD_PAYLOAD_MAX) {
		nbd_srv_conn_abort(c, "write exceeds 32 MiB");
		return;
	}
	error = check(c, req, type, &why);
	if (error || (!req->len && type != NBD_CMD_FLUSH)) {
		answer(c, req, error, why);
		return;
	}
	if (type == NBD_CMD_READ && !c->structured &&
		req->len > c->pool->each - (req->off & (c->lim->block - 1)))
		nbd_srv_ordered_add(c, req);
	c->cur = req;
	give_piece(c);
}

/* One step on; false = needs bytes or a slot. */
static bool step(struct nbd_srv_conn *c)
{
	const struct nbd_request *wire;
	size_t have = c->tail - c->head;

	if (c->refused)
		return drop_piece(c);
	if (c->fill)
		return fill_piece(c);
	if (!c->free)
		return false;
	if (c->cur) {
		give_piece(c);
		return true;
	}
	if (have < sizeof(*wire))
		return false;
	wire = (const struct nbd_request *)(const void *)(c->stage + c->head);
	if (get_be32(wire->magic) != NBD_REQUEST_MAGIC) {
		nbd_srv_conn_abort(c, "request without magic number");
		return false;
	}
	c->head += sizeof(*wire);
	begin(c, wire);
	return true;
}

void nbd_srv_requests(struct nbd_srv_conn *c)
{
	while (!c->gone && !c->fences && step(c))
		;
}
