/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBD server's replies: framing, and the order that simple replies to long reads need. What is
 * queued in one turn of the loop leaves as one sendmsg. */
#include "srv.h"

static void send_reply(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;

	slot->out.iov[0] = (struct iovec){ slot->head, slot->head_len };
	slot->out.iov[1] = (struct iovec){ slot->base + slot->skip, slot->send };
	slot->out.niov = slot->send ? 2 : 1;
	slot->out.next = NULL;
	c->sending++;
	stream_send(c->stream, &slot->out);
}

void nbd_srv_replied(struct nbd_srv_slot *slot)
{
	slot->conn->sending--;
	nbd_srv_slot_free(slot);
	nbd_srv_conn_moved(slot->conn);
}

static void push(struct nbd_srv_conn *c, struct nbd_srv_slot *slot)
{
	if (!c->exclusive || slot->req == c->exclusive) {
		send_reply(slot);
		return;
	}
	slot->next = NULL;
	*c->held_end = slot;
	c->held_end = &slot->next;
}

static void frame_simple(struct nbd_srv_slot *slot, uint32_t error)
{
	nbd_simple_put((struct nbd_simple_reply *)(void *)slot->head, error, slot->req->cookie);
	slot->head_len = sizeof(struct nbd_simple_reply);
}

/* Head of a chunk; `inside` bytes of its payload follow in the slot's head, slot->send in its
 * buffer. */
static struct wr frame_chunk(struct nbd_srv_slot *slot, uint16_t type, bool done, uint32_t inside)
{
	struct wr wr = wr_init(slot->head, sizeof(slot->head));

	nbd_chunk_put(wr_room(&wr, sizeof(struct nbd_chunk)), type, done, slot->req->cookie,
		inside + slot->send);
	slot->head_len = sizeof(struct nbd_chunk) + inside;
	return wr;
}

static void frame_error(struct nbd_srv_slot *slot, uint32_t error, bool with_offset, bool done)
{
	size_t text_len = slot->req->why ? strnlen(slot->req->why, NBD_TEXT) : 0;
	be32 code = put_be32(error);
	be16 len = put_be16((uint16_t)text_len);
	be64 off = put_be64(slot->from);
	struct wr wr;

	slot->send = 0;
	wr = frame_chunk(slot, with_offset ? NBD_REPLY_TYPE_ERROR_OFFSET : NBD_REPLY_TYPE_ERROR,
		done,
		(uint32_t)(sizeof(code) + sizeof(len) + text_len +
			   (with_offset ? sizeof(off) : 0)));
	wr_bytes(&wr, &code, sizeof(code));
	wr_bytes(&wr, &len, sizeof(len));
	wr_bytes(&wr, slot->req->why, text_len);
	if (with_offset)
		wr_bytes(&wr, &off, sizeof(off));
}

/* Each piece of a read is a chunk of its own, the last to come says DONE. */
static void reply_read(struct nbd_srv_slot *slot)
{
	struct nbd_srv_req *req = slot->req;
	bool done = nbd_srv_req_over(req);
	be64 off = put_be64(slot->from);
	struct wr wr;

	if (slot->error) {
		frame_error(slot, slot->error, slot->bytes && slot->bytes < req->len, done);
	} else if (!slot->bytes) {
		frame_chunk(slot, NBD_REPLY_TYPE_NONE, done, 0);
	} else {
		slot->send = slot->bytes;
		wr = frame_chunk(slot, NBD_REPLY_TYPE_OFFSET_DATA, done, sizeof(off));
		wr_bytes(&wr, &off, sizeof(off));
	}
	push(slot->conn, slot);
	if (done)
		nbd_srv_req_free(slot->conn, req);
}

/* The disk's runs become extents in the same memory: 16 bytes each become 8, so a run is read
 * before it is overwritten. */
static uint32_t make_extents(struct nbd_srv_slot *slot)
{
	const struct map_run *run = (const struct map_run *)(const void *)slot->base;
	uint32_t left = slot->req->len, count = 0, last = 0, sum = 0;
	uint64_t skip = slot->skip;

	for (uint32_t i = 0; i < slot->split.io.detail && left; i++) {
		uint64_t len = run[i].len - skip;
		uint32_t flags = (run[i].flags & MAP_HOLE ? NBD_STATE_HOLE : 0) |
				 (run[i].flags & MAP_ZERO ? NBD_STATE_ZERO : 0);
		struct nbd_extent extent;

		skip = 0;
		len = len < left ? len : left;
		left -= (uint32_t)len;
		if (count && flags == last) {
			sum += (uint32_t)len;
		} else {
			if (count && slot->req->flags & NBD_CMD_FLAG_REQ_ONE)
				break;
			count++;
			sum = (uint32_t)len;
		}
		last = flags;
		extent = (struct nbd_extent){ put_be32(sum), put_be32(flags) };
		memcpy(slot->base + (count - 1) * sizeof(extent), &extent, sizeof(extent));
	}
	return count * (uint32_t)sizeof(struct nbd_extent);
}

static void reply_status(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;
	be32 id = put_be32(1);
	struct wr wr;

	slot->skip = slot->error ? 0 : slot->skip;
	slot->send = slot->error ? 0 : make_extents(slot);
	if (slot->send) {
		wr = frame_chunk(slot, NBD_REPLY_TYPE_BLOCK_STATUS, true, sizeof(id));
		wr_bytes(&wr, &id, sizeof(id));
	} else if (c->structured) {
		frame_error(slot, slot->error ? slot->error : NBD_EIO, false, true);
	} else {
		frame_simple(slot, slot->error);
	}
	slot->skip = 0;
	push(c, slot);
	nbd_srv_req_free(c, slot->req);
}

/* All that has no payload in its reply: answered once, with the first error of its pieces. */
static void reply_plain(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;
	struct nbd_srv_req *req = slot->req;

	if (!nbd_srv_req_over(req)) {
		nbd_srv_slot_free(slot);
		return;
	}
	if (req->error && c->structured)
		frame_error(slot, req->error, false, true);
	else
		frame_simple(slot, req->error);
	push(c, slot);
	nbd_srv_req_free(c, req);
}

static void reply_simple_read(struct nbd_srv_slot *slot)
{
	slot->send = slot->error ? 0 : slot->bytes;
	frame_simple(slot, slot->error);
	push(slot->conn, slot);
	nbd_srv_req_free(slot->conn, slot->req);
}

/* Long reads in simple replies. Their pieces go in order, and once the first has gone nothing else
 * may come between. */
void nbd_srv_ordered_add(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_req **at = &c->ordered;

	while (*at)
		at = &(*at)->next;
	req->ordered = true;
	req->next = NULL;
	*at = req;
}

static void ordered_del(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_req **at = &c->ordered;

	while (*at != req)
		at = &(*at)->next;
	*at = req->next;
}

static bool next_is_there(const struct nbd_srv_req *req)
{
	return req->waiting && req->waiting->from == req->off + req->out;
}

/* Its first piece failed: an error is still possible. The other pieces are for nobody. */
static void ordered_refuse(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_slot *slot = req->waiting, *other = slot->next;

	ordered_del(c, req);
	frame_simple(slot, slot->error);
	push(c, slot);
	for (; other; other = slot) {
		slot = other->next;
		nbd_srv_slot_free(other);
	}
	req->refused = true;
	req->left = 0;
	if (c->cur == req)
		c->cur = NULL;
	if (nbd_srv_req_over(req))
		nbd_srv_req_free(c, req);
}

static void ordered_end(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	ordered_del(c, req);
	nbd_srv_req_free(c, req);
	c->exclusive = NULL;
	while (c->held) {
		struct nbd_srv_slot *slot = c->held;

		c->held = slot->next;
		send_reply(slot);
	}
	c->held_end = &c->held;
}

static void ordered_send(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_slot *slot = req->waiting;

	req->waiting = slot->next;
	slot->send = slot->bytes;
	if (!req->out)
		frame_simple(slot, 0);
	req->out += slot->bytes;
	push(c, slot);
}

static void ordered_run(struct nbd_srv_conn *c)
{
	for (;;) {
		struct nbd_srv_req *req = c->exclusive ? c->exclusive : c->ordered;

		while (req && !c->exclusive && !next_is_there(req))
			req = req->next;
		if (!req || !next_is_there(req))
			return;
		if (!req->waiting->error) {
			c->exclusive = req;
			ordered_send(c, req);
			if (req->out == req->len)
				ordered_end(c, req);
		} else if (req->out) {
			nbd_srv_conn_abort(c, "disk failed during a long read");
			return;
		} else {
			ordered_refuse(c, req);
		}
	}
}

static void reply_ordered(struct nbd_srv_slot *slot)
{
	struct nbd_srv_conn *c = slot->conn;
	struct nbd_srv_req *req = slot->req;
	struct nbd_srv_slot **at = &req->waiting;

	if (req->refused) {
		nbd_srv_slot_free(slot);
		if (nbd_srv_req_over(req))
			nbd_srv_req_free(c, req);
		return;
	}
	while (*at && (*at)->from < slot->from)
		at = &(*at)->next;
	slot->next = *at;
	*at = slot;
	ordered_run(c);
}

void nbd_srv_reply(struct nbd_srv_slot *slot)
{
	struct nbd_srv_req *req = slot->req;

	req->pieces--;
	if (!req->error)
		req->error = slot->error;
	if (req->ordered)
		reply_ordered(slot);
	else if (req->cmd == NBD_CMD_READ && slot->conn->structured)
		reply_read(slot);
	else if (req->cmd == NBD_CMD_READ)
		reply_simple_read(slot);
	else if (req->cmd == NBD_CMD_BLOCK_STATUS)
		reply_status(slot);
	else
		reply_plain(slot);
}
