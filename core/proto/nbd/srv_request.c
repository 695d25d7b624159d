/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of the NBD server: parse headers in the stage, assign pieces to commands, and commands
 * to the disk. A request without a free command stays in the stage, which limits the client.
 * srv_reply.c sends replies. */
#include "srv.h"
#include <errno.h>
#include <stdlib.h>

/* Valid flags per command, from section "Request types". */
static const struct {
	uint16_t flags; /* in addition to FUA, which any command may have */
	uint16_t needs; /* required transmission flags */
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

int nbd_srv_room(struct nbd_srv_conn *c, struct diag *diag)
{
	unsigned slots = nbd_server_of(c)->opt.slots;
	int err;

	if (c->reqs)
		return 0;
	if (c->conn.cmds) /* an earlier attempt allocated only a part */
		return diag_sys(diag, ENOMEM, "%u requests", slots);
	err = target_conn_alloc_cmds(&c->conn, slots, diag);
	if (err)
		return err;
	c->reqs = calloc(slots + 1, sizeof(*c->reqs));
	if (!c->reqs)
		return diag_sys(diag, ENOMEM, "%u requests", slots);
	for (unsigned n = 0; n <= slots; n++)
		nbd_srv_req_free(c, &c->reqs[n]);
	return 0;
}

void nbd_srv_req_free(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	req->serial = 0;
	req->next = c->free_req;
	c->free_req = req;
}

bool nbd_srv_req_done(const struct nbd_srv_req *req)
{
	return !req->pieces && !req->left;
}

static struct nbd_srv_cmd *alloc_cmd(struct nbd_srv_conn *c, struct nbd_srv_req *req)
{
	struct nbd_srv_cmd *nc = (struct nbd_srv_cmd *)target_cmd_alloc(&c->conn);

	nc->req = req;
	nc->error = 0;
	nc->off = nc->len = 0;
	nc->skip = nc->bytes = 0;
	nc->send = nc->head_len = 0;
	req->pieces++;
	return nc;
}

uint32_t nbd_srv_decode(struct target_cmd *cmd)
{
	struct nbd_srv_cmd *nc = (struct nbd_srv_cmd *)cmd;
	struct nbd_srv_conn *c = nbd_srv_conn_of(nc);
	const struct nbd_srv_req *req = nc->req;

	if (nc->error || (!req->len && req->cmd != NBD_CMD_FLUSH))
		return nc->error;
	cmd->disk = &c->conn.target->disk[c->export - nbd_server_of(c)->opt.export];
	if (commands[req->cmd].writes) {
		cmd->changes_off = nc->off;
		cmd->changes_len = nc->len;
	}
	switch (req->cmd) {
	case NBD_CMD_READ:
		cmd->flags = TARGET_IN;
		cmd->data_len = (uint32_t)nc->len;
		break;
	case NBD_CMD_WRITE:
		cmd->flags = TARGET_OUT;
		cmd->data_len = nc->bytes;
		break;
	case NBD_CMD_BLOCK_STATUS: /* needs a buffer for the disk's runs, however many there are */
		cmd->flags = TARGET_IN;
		cmd->data_len = 1;
		break;
	}
	return 0;
}

uint32_t nbd_srv_status(const struct io *io)
{
	return io->status ? nbd_error_of(-io->status, io->flags & IO_FAST) : 0;
}

/* A request is counted when its last piece is done. */
static void piece_done(struct target_cmd *cmd)
{
	const struct nbd_srv_cmd *nc = (struct nbd_srv_cmd *)cmd;
	const struct nbd_srv_req *req = nc->req;
	struct io_count *count = &cmd->conn->worker->count;
	bool last = !req->left && req->pieces == 1;

	if (req->cmd == NBD_CMD_READ) {
		target_count(&count->read_bytes, nc->bytes);
		target_count(&count->reads, last);
	} else if (req->cmd == NBD_CMD_WRITE) {
		target_count(&count->written_bytes, nc->bytes);
		target_count(&count->writes, last);
	}
	target_cmd_worked(cmd, 0);
}

/* A disk without IO_MAP is reported as data. */
static void map_work(struct nbd_srv_cmd *nc)
{
	uint32_t most = nbd_srv_conn_of(nc)->lim->max[IO_MAP];
	struct target_cmd *cmd = &nc->cmd;

	if (!most) {
		*(struct map_run *)(void *)cmd->p = (struct map_run){ .len = nc->len };
		cmd->split.io.detail = 1;
		target_cmd_worked(cmd, 0);
		return;
	}
	most &= ~(nbd_srv_conn_of(nc)->lim->block - 1);
	target_cmd_io(cmd, IO_MAP, 0, nc->off, nc->len < most ? nc->len : most,
		cmd->buf_request.buf, piece_done);
}

void nbd_srv_work(struct target_cmd *cmd)
{
	struct nbd_srv_cmd *nc = (struct nbd_srv_cmd *)cmd;
	struct nbd_srv_req *req = nc->req;
	uint8_t flags = 0;

	if (!req->len && req->cmd != NBD_CMD_FLUSH) {
		target_cmd_worked(cmd, 0);
		return;
	}
	if (req->cmd == NBD_CMD_BLOCK_STATUS) {
		map_work(nc);
		return;
	}
	req->granted += nc->bytes;
	if (req->flags & NBD_CMD_FLAG_FUA && commands[req->cmd].writes)
		flags |= IO_FUA;
	if (req->flags & NBD_CMD_FLAG_FAST_ZERO)
		flags |= IO_FAST;
	if (req->flags & NBD_CMD_FLAG_NO_HOLE)
		flags |= IO_KEEP;
	target_cmd_io(cmd, commands[req->cmd].kind, flags, nc->off, nc->len, cmd->buf_request.buf,
		piece_done);
}

/* Keep the disk's error text for the client, except for a lost connection, whose text may contain
 * addresses. */
static void explain(struct nbd_srv_cmd *nc)
{
	const struct io *io = &nc->cmd.split.io;
	const char *text = bdev_status_text(nbd_srv_conn_of(nc)->export->bdev, io);
	struct nbd_srv_req *req = nc->req;

	if (!text)
		text = io->status == -EHOSTUNREACH ? "the connection to the disk is lost"
						   : diag_errno_text(-io->status);
	nbd_text_put(req->disk_why, sizeof(req->disk_why), text);
	req->why = req->disk_why;
}

void nbd_srv_complete(struct target_cmd *cmd, uint32_t status)
{
	struct nbd_srv_cmd *nc = (struct nbd_srv_cmd *)cmd;
	bool at_disk = status && cmd->split.lane;

	nc->error = status;
	if (at_disk && nbd_srv_conn_of(nc)->structured &&
		(!nc->req->error || nc->req->cmd == NBD_CMD_READ))
		explain(nc);
}

/* Assign the request's next piece to a command. Reads and writes are split by the buffer size,
 * including the blocks around unaligned ends; a request without payload is one piece. */
static void give_piece(struct nbd_srv_conn *c)
{
	struct nbd_srv_req *req = c->cur;
	struct nbd_srv_cmd *nc = alloc_cmd(c, req);
	uint64_t mask = c->lim->block - 1;
	bool payload = req->cmd == NBD_CMD_READ || req->cmd == NBD_CMD_WRITE;

	nc->from = req->off + (req->len - req->left);
	nc->skip = (uint32_t)(nc->from & mask);
	nc->bytes = payload && req->left > c->buffer - nc->skip ? c->buffer - nc->skip : req->left;
	nc->off = nc->from - nc->skip;
	nc->len = (nc->skip + (uint64_t)nc->bytes + mask) & ~mask;
	req->left -= nc->bytes;
	if (!req->left)
		c->cur = NULL;
	if (req->cmd == NBD_CMD_WRITE)
		c->writing = nc;
	target_cmd_run(&nc->cmd);
}

/* Check the request: 0, or the error to reply. */
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
	if (req->flags & NBD_CMD_FLAG_DF && req->len > c->buffer - (req->off & mask)) {
		*why = "too long for a single chunk";
		return NBD_EOVERFLOW;
	}
	if (type == NBD_CMD_BLOCK_STATUS && !req->len) {
		*why = "block status with length 0";
		return NBD_EINVAL;
	}
	return 0;
}

/* Reply without the disk. For a write, only after its payload was dropped: libnbd 1.14 reads no
 * replies while it sends. */
static void answer(struct nbd_srv_conn *c, struct nbd_srv_req *req, uint32_t error)
{
	struct nbd_srv_cmd *nc = alloc_cmd(c, req);

	nc->from = req->off;
	nc->error = error;
	req->left = 0;
	if (req->cmd == NBD_CMD_WRITE && req->len) {
		c->writing = nc;
		cutter_payload(&c->cutter, NULL, req->len);
	} else {
		target_cmd_run(&nc->cmd);
	}
}

static void begin(struct nbd_srv_conn *c, const struct nbd_request *wire)
{
	uint16_t type = get_be16(wire->type);
	struct nbd_srv_req *req = c->free_req;
	const char *why = NULL;
	uint32_t error;

	if (type == NBD_CMD_DISC) {
		c->goodbye = true;
		target_conn_finish(&c->conn);
		return;
	}
	c->free_req = req->next;
	memset(req, 0, offsetof(struct nbd_srv_req, disk_why));
	req->off = get_be64(wire->off);
	req->len = get_be32(wire->len);
	req->flags = get_be16(wire->flags);
	req->serial = ++c->serial;
	memcpy(req->cookie, wire->cookie, sizeof(req->cookie));
	req->left = req->len;
	req->cmd = type < NBD_CMDS ? (uint8_t)type : NBD_CMDS;
	if (type == NBD_CMD_WRITE && req->len > NBD_PAYLOAD_MAX) {
		target_conn_fail(&c->conn, DIAG_PROTOCOL, EPROTO, "write exceeds 32 MiB");
		return;
	}
	error = check(c, req, type, &why);
	if (error || (!req->len && type != NBD_CMD_FLUSH)) {
		req->why = why;
		answer(c, req, error);
		return;
	}
	if (type == NBD_CMD_READ && !c->structured &&
		req->len > c->buffer - (req->off & (c->lim->block - 1)))
		nbd_srv_ordered_add(c, req);
	c->cur = req;
}

/* Assign the current request to commands; true: continue with the stream. */
static bool give_pieces(struct nbd_srv_conn *c)
{
	while (c->cur && !c->writing && target_conn_can_alloc(&c->conn) &&
		!target_conn_is_closing(&c->conn))
		give_piece(c);
	return c->writing ? c->cutter.rest : !c->cur;
}

static int part(struct cutter *cutter, const uint8_t *p, uint32_t have)
{
	struct nbd_srv_conn *c = container_of(cutter, struct nbd_srv_conn, cutter);
	const struct nbd_request *wire = (const struct nbd_request *)(const void *)p;

	if (!c->ready || c->cur || c->writing || !target_conn_can_alloc(&c->conn) ||
		target_conn_is_closing(&c->conn))
		return CUTTER_STOP;
	if (have < sizeof(*wire))
		return 0;
	if (get_be32(wire->magic) != NBD_REQUEST_MAGIC) {
		target_conn_fail(&c->conn, DIAG_PROTOCOL, EPROTO, "request without magic number");
		return CUTTER_STOP;
	}
	begin(c, wire);
	if (!give_pieces(c))
		cutter_stop(cutter);
	return c->goodbye ? (int)have : (int)sizeof(*wire);
}

static bool payload(struct cutter *cutter)
{
	struct nbd_srv_conn *c = container_of(cutter, struct nbd_srv_conn, cutter);
	struct nbd_srv_cmd *nc = c->writing;

	c->writing = NULL;
	if (nc->error)
		target_cmd_run(&nc->cmd);
	else
		target_cmd_pulled(&nc->cmd, 0);
	return give_pieces(c);
}

const struct cutter_events nbd_srv_stream = { .part = part, .payload = payload };

/* The rest of a write's payload will not be read. */
static void give_up_write(struct nbd_srv_conn *c)
{
	struct target_cmd *cmd = &c->writing->cmd;

	c->writing = NULL;
	c->cur = NULL;
	target_cmd_disarm_timeout(cmd);
	target_cmd_drop(cmd);
}

void nbd_srv_requests(struct nbd_srv_conn *c)
{
	if (give_pieces(c))
		cutter_resume(&c->cutter);
	if (c->conn.state == TARGET_ENDING && c->writing &&
		c->writing->cmd.state == TARGET_CMD_PULL)
		give_up_write(c);
}
