/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Replies of the NBD server: framing, and the order of simple replies to long reads. Replies of one
 * turn are sent with one sendmsg(). */
#include "srv.h"
#include <errno.h>

/* Only the first reply in the stream has a deadline for its peer. Those behind it, or held here, do
 * not wait for the peer. */
static void send_reply(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);

	if (!c->sending)
		target_cmd_arm_timeout(&nc->cmd);
	nc->next = NULL;
	*c->sending_end = nc;
	c->sending_end = &nc->next;
	nc->out.iov[0] = (struct iovec){ nc->head, nc->head_len };
	nc->out.niov = 1;
	if (nc->send)
		nc->out.iov[nc->out.niov++] = (struct iovec){ nc->cmd.p + nc->skip, nc->send };
	nc->out.next = NULL;
	stream_send(c->conn.stream, &nc->out);
}

void nbd_srv_replied(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);

	c->sending = nc->next;
	if (!c->sending)
		c->sending_end = &c->sending;
	target_cmd_replied(&nc->cmd);
	if (c->sending)
		target_cmd_arm_timeout(&c->sending->cmd);
}

static void push(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);

	if (!c->exclusive || nc->req == c->exclusive) {
		send_reply(nc);
		return;
	}
	nc->next = NULL;
	*c->held_end = nc;
	c->held_end = &nc->next;
}

/* End a command without a reply, in a later turn, as the frame still uses it. */
static void silence(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);

	nc->next = c->silent;
	c->silent = nc;
	target_conn_wake(&c->conn);
}

void nbd_srv_silence(struct nbd_srv_conn *c)
{
	while (c->silent) {
		struct nbd_srv_cmd *nc = c->silent;

		c->silent = nc->next;
		target_cmd_arm_timeout(&nc->cmd);
		target_cmd_replied(&nc->cmd);
	}
}

static void frame_simple(struct nbd_srv_cmd *nc, uint32_t error)
{
	nbd_simple_put((struct nbd_simple_reply *)(void *)nc->head, error, nc->req->cookie);
	nc->head_len = sizeof(struct nbd_simple_reply);
}

/* Write the head of a chunk. Its payload has `inside` bytes in the head, then nc->send bytes in the
 * buffer. */
static struct wr frame_chunk(struct nbd_srv_cmd *nc, uint16_t type, bool done, uint32_t inside)
{
	struct wr wr = wr_init(nc->head, sizeof(nc->head));

	nbd_chunk_put(wr_room(&wr, sizeof(struct nbd_chunk)), type, done, nc->req->cookie,
		inside + nc->send);
	nc->head_len = sizeof(struct nbd_chunk) + inside;
	return wr;
}

static void frame_error(struct nbd_srv_cmd *nc, uint32_t error, bool with_offset, bool done)
{
	size_t text_len = nc->req->why ? strnlen(nc->req->why, NBD_TEXT) : 0;
	be32 code = put_be32(error);
	be16 len = put_be16((uint16_t)text_len);
	be64 off = put_be64(nc->from);
	struct wr wr;

	nc->send = 0;
	wr = frame_chunk(nc, with_offset ? NBD_REPLY_TYPE_ERROR_OFFSET : NBD_REPLY_TYPE_ERROR, done,
		(uint32_t)(sizeof(code) + sizeof(len) + text_len +
			   (with_offset ? sizeof(off) : 0)));
	wr_bytes(&wr, &code, sizeof(code));
	wr_bytes(&wr, &len, sizeof(len));
	wr_bytes(&wr, nc->req->why, text_len);
	if (with_offset)
		wr_bytes(&wr, &off, sizeof(off));
}

/* Each piece of a read is a chunk; the last one has the flag DONE. */
static void reply_read(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_req *req = nc->req;
	bool done = nbd_srv_req_done(req);
	be64 off = put_be64(nc->from);
	struct wr wr;

	if (nc->error) {
		frame_error(nc, nc->error, nc->bytes && nc->bytes < req->len, done);
	} else if (!nc->bytes) {
		frame_chunk(nc, NBD_REPLY_TYPE_NONE, done, 0);
	} else {
		nc->send = nc->bytes;
		wr = frame_chunk(nc, NBD_REPLY_TYPE_OFFSET_DATA, done, sizeof(off));
		wr_bytes(&wr, &off, sizeof(off));
	}
	push(nc);
	if (done)
		nbd_srv_req_free(nbd_srv_conn_of(nc), req);
}

/* Convert the disk's runs to extents in place: 16 bytes become 8, so a run is read before it is
 * overwritten. */
static uint32_t make_extents(struct nbd_srv_cmd *nc)
{
	const struct map_run *run = (const struct map_run *)(const void *)nc->cmd.p;
	uint32_t left = nc->req->len, count = 0, last = 0, sum = 0;
	uint64_t skip = nc->skip;

	for (uint32_t i = 0; i < nc->cmd.split.io.detail && left; i++) {
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
			if (count && nc->req->flags & NBD_CMD_FLAG_REQ_ONE)
				break;
			count++;
			sum = (uint32_t)len;
		}
		last = flags;
		extent = (struct nbd_extent){ put_be32(sum), put_be32(flags) };
		memcpy(nc->cmd.p + (count - 1) * sizeof(extent), &extent, sizeof(extent));
	}
	return count * (uint32_t)sizeof(struct nbd_extent);
}

static void reply_status(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);
	be32 id = put_be32(1);
	struct wr wr;

	nc->skip = nc->error ? 0 : nc->skip;
	nc->send = nc->error ? 0 : make_extents(nc);
	if (nc->send) {
		wr = frame_chunk(nc, NBD_REPLY_TYPE_BLOCK_STATUS, true, sizeof(id));
		wr_bytes(&wr, &id, sizeof(id));
	} else if (c->structured) {
		frame_error(nc, nc->error ? nc->error : NBD_EIO, false, true);
	} else {
		frame_simple(nc, nc->error);
	}
	nc->skip = 0;
	push(nc);
	nbd_srv_req_free(c, nc->req);
}

/* Send the only reply of a request without payload in it, with the first error of its pieces. */
static void reply_plain(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);
	struct nbd_srv_req *req = nc->req;

	if (!nbd_srv_req_done(req)) {
		silence(nc);
		return;
	}
	if (req->error && c->structured)
		frame_error(nc, req->error, false, true);
	else
		frame_simple(nc, req->error);
	push(nc);
	nbd_srv_req_free(c, req);
}

static void reply_simple_read(struct nbd_srv_cmd *nc)
{
	nc->send = nc->error ? 0 : nc->bytes;
	frame_simple(nc, nc->error);
	push(nc);
	nbd_srv_req_free(nbd_srv_conn_of(nc), nc->req);
}

/* Long reads with simple replies: the pieces are sent in order, and after the first one no other
 * reply may come in between. */
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

/* The first piece failed, so the reply can still be an error. The other pieces are discarded. */
static void ordered_refuse(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_cmd *nc = req->waiting, *other = nc->next;

	ordered_del(c, req);
	frame_simple(nc, nc->error);
	push(nc);
	for (; other; other = nc) {
		nc = other->next;
		silence(other);
	}
	req->refused = true;
	req->left = 0;
	if (c->cur == req)
		c->cur = NULL;
	if (nbd_srv_req_done(req))
		nbd_srv_req_free(c, req);
}

static void ordered_end(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	ordered_del(c, req);
	nbd_srv_req_free(c, req);
	c->exclusive = NULL;
	while (c->held) {
		struct nbd_srv_cmd *nc = c->held;

		c->held = nc->next;
		send_reply(nc);
	}
	c->held_end = &c->held;
}

static void ordered_send(struct nbd_srv_req *req)
{
	struct nbd_srv_cmd *nc = req->waiting;

	req->waiting = nc->next;
	nc->send = nc->bytes;
	if (!req->out)
		frame_simple(nc, 0);
	req->out += nc->bytes;
	push(nc);
}

/* Replies held behind an exclusive read keep their buffers. So such a read starts only if it has
 * all its buffers, or is the oldest request; then no newer request of this connection got a buffer
 * before it. Otherwise connections could wait for buffers of each other forever. */
static bool may_begin(const struct nbd_srv_conn *c, const struct nbd_srv_req *req)
{
	if (req->granted == req->len)
		return true;
	for (unsigned i = 0; i <= c->conn.slots; i++)
		if (c->reqs[i].serial && c->reqs[i].serial < req->serial)
			return false;
	return true;
}

static struct nbd_srv_req *ordered_next(const struct nbd_srv_conn *c)
{
	struct nbd_srv_req *req = c->ordered;

	if (c->exclusive)
		return next_is_there(c->exclusive) ? c->exclusive : NULL;
	while (req && !(next_is_there(req) && (req->waiting->error || may_begin(c, req))))
		req = req->next;
	return req;
}

void nbd_srv_ordered_run(struct nbd_srv_conn *c)
{
	struct nbd_srv_req *req;

	while ((req = ordered_next(c))) {
		if (!req->waiting->error) {
			c->exclusive = req;
			ordered_send(req);
			if (req->out == req->len)
				ordered_end(c, req);
		} else if (req->out) {
			target_conn_fail(&c->conn, DIAG_IO, EIO, "disk failed during a long read");
			return;
		} else {
			ordered_refuse(c, req);
		}
	}
}

static void reply_ordered(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);
	struct nbd_srv_req *req = nc->req;
	struct nbd_srv_cmd **at = &req->waiting;

	if (req->refused) {
		silence(nc);
		if (nbd_srv_req_done(req))
			nbd_srv_req_free(c, req);
		return;
	}
	while (*at && (*at)->from < nc->from)
		at = &(*at)->next;
	nc->next = *at;
	*at = nc;
	nbd_srv_ordered_run(c);
}

void nbd_srv_reply(struct nbd_srv_cmd *nc)
{
	struct nbd_srv_req *req = nc->req;

	target_cmd_disarm_timeout(&nc->cmd); /* no deadline until it is sent */
	req->pieces--;
	if (!req->error)
		req->error = nc->error;
	if (req->ordered)
		reply_ordered(nc);
	else if (req->cmd == NBD_CMD_READ && nbd_srv_conn_of(nc)->structured)
		reply_read(nc);
	else if (req->cmd == NBD_CMD_READ)
		reply_simple_read(nc);
	else if (req->cmd == NBD_CMD_BLOCK_STATUS)
		reply_status(nc);
	else
		reply_plain(nc);
}
