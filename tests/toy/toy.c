/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The toy's target: its row on the frame, and its only carrier. */
#include "toy.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct toy_cmd {
	struct target_cmd cmd; /* first */
	struct toy_frame ask;
	struct toy_frame head, done; /* to the host: GRANT or DATA; DONE */
	struct stream_out out;
	uint32_t expected, got; /* of a grant */
	bool granting;          /* it has not left yet */
};

struct toy_conn {
	struct target_conn conn; /* first */
	struct toy_frame frame;  /* being received, then the bytes behind it */
	uint32_t got, data_got;
	struct toy_cmd *filling; /* takes those bytes; NULL: they are the host's name */
	char host[TOY_NAME + 1];
	struct toy_frame welcome;
	struct stream_out hello;
	struct loop_msg ask; /* to the target's loop and back */
	struct target_fence fence;
	bool asking, refused;
};

static struct toy_conn *toy_of(const struct target_conn *conn)
{
	return (struct toy_conn *)(uintptr_t)conn;
}

static struct toy_cmd *toy_cmd_of(const struct target_cmd *cmd)
{
	return (struct toy_cmd *)(uintptr_t)cmd;
}

static void fail(struct toy_conn *toy, const char *text)
{
	target_conn_fail(&toy->conn, DIAG_PROTOCOL, EPROTO, text);
}

/* --- who the host is */

static bool same_host(const struct target_fence *fence, const struct target_conn *conn)
{
	const struct toy_conn *toy = container_of(fence, struct toy_conn, fence);

	return conn != &toy->conn && !strcmp(toy_of(conn)->host, toy->host);
}

static void fenced(struct target_fence *fence)
{
	struct toy_conn *toy = container_of(fence, struct toy_conn, fence);
	const struct target_disk *disk = &toy->conn.target->disk[0];
	struct diag why = { 0 };

	toy->asking = false;
	target_conn_wake(&toy->conn);
	if (toy->conn.state != TARGET_OPENING)
		return;
	if (target_conn_map(&toy->conn, disk->index, &why)) {
		target_conn_fail(&toy->conn, why.code, why.err, why.text);
		return;
	}
	target_conn_live(&toy->conn, TOY_DEPTH);
	toy->welcome = (struct toy_frame){ .what = TOY_WELCOME,
		.len = put_be32(disk->bdev->lim.block),
		.off = put_be64(target_disk_size(disk)) };
	toy->hello = (struct stream_out){
		.iov = { { &toy->welcome, sizeof(toy->welcome) } }, .niov = 1, .unsignaled = true
	};
	stream_send(toy->conn.stream, &toy->hello);
}

static void refuse(struct loop_msg *msg)
{
	struct toy_conn *toy = container_of(msg, struct toy_conn, ask);

	toy->asking = false;
	target_conn_wake(&toy->conn);
	target_conn_fail(&toy->conn, DIAG_BUSY, EBUSY, "too many connections of this host");
}

/* On the target's loop. */
static void authorize(struct loop_msg *msg)
{
	struct toy_conn *toy = container_of(msg, struct toy_conn, ask);

	if (target_admit(&toy->conn, toy->host, false)) {
		toy->fence = (struct target_fence){
			.match = same_host, .done = fenced, .home = toy->conn.loop
		};
		target_fence(toy->conn.target, &toy->fence);
	} else {
		toy->ask.run = refuse;
		loop_post(toy->conn.loop, &toy->ask);
	}
}

static bool busy(const struct target_conn *conn)
{
	return toy_of(conn)->asking;
}

/* --- commands */

static uint32_t decode(struct target_cmd *cmd)
{
	const struct toy_frame *ask = &toy_cmd_of(cmd)->ask;
	const struct target_disk *disk = &cmd->conn->target->disk[0];
	uint32_t len = get_be32(ask->len), mask = disk->bdev->lim.block - 1;
	uint64_t off = get_be64(ask->off), size = target_disk_size(disk);

	if (cmd->conn->state != TARGET_LIVE)
		return EACCES;
	cmd->disk = disk;
	if (ask->what == TOY_FLUSH)
		return len || off ? EINVAL : 0;
	if (!len || len > TOY_MOST || (len | off) & mask || len > size || off > size - len)
		return EINVAL;
	if (ask->what == TOY_WRITE && disk->ro)
		return EROFS;
	cmd->flags = ask->what == TOY_WRITE ? TARGET_OUT : TARGET_IN;
	cmd->data_len = len;
	if (ask->what == TOY_WRITE) {
		cmd->changes_off = off;
		cmd->changes_len = len;
	}
	return 0;
}

static void work(struct target_cmd *cmd)
{
	const struct toy_frame *ask = &toy_cmd_of(cmd)->ask;

	if (ask->what == TOY_READ)
		target_cmd_read(cmd, get_be64(ask->off));
	else if (ask->what == TOY_WRITE)
		target_cmd_write(cmd, get_be64(ask->off), ask->flags & TOY_FUA);
	else if (cmd->disk->bdev->lim.max[IO_FLUSH])
		target_cmd_io(cmd, IO_FLUSH, 0, 0, 0, (struct buf){ 0 }, NULL);
	else
		target_cmd_worked(cmd, 0);
}

static void complete(struct target_cmd *cmd, uint32_t status)
{
	struct toy_cmd *tcmd = toy_cmd_of(cmd);

	tcmd->done = (struct toy_frame){
		.what = TOY_DONE, .tag = tcmd->ask.tag, .len = put_be32(status)
	};
}

static uint32_t status_of(const struct io *io)
{
	return (uint32_t)-io->status;
}

/* --- the way to the host */

static void send_data(struct toy_cmd *tcmd, uint8_t what, uint32_t len)
{
	tcmd->head = (struct toy_frame){ .what = what,
		.tag = tcmd->ask.tag,
		.len = put_be32(len),
		.off = put_be64(tcmd->cmd.at) };
	tcmd->out = (struct stream_out){ .iov = { { &tcmd->head, sizeof(tcmd->head) },
						 { tcmd->cmd.p, len } },
		.niov = what == TOY_DATA ? 2 : 1 };
}

static void pull(struct target_cmd *cmd, uint32_t len)
{
	struct toy_cmd *tcmd = toy_cmd_of(cmd);

	tcmd->expected = len;
	tcmd->got = 0;
	tcmd->granting = true;
	send_data(tcmd, TOY_GRANT, len);
	stream_send(cmd->conn->stream, &tcmd->out);
}

static void push(struct target_cmd *cmd, uint32_t len, bool last)
{
	struct toy_cmd *tcmd = toy_cmd_of(cmd);

	send_data(tcmd, TOY_DATA, len);
	if (last)
		tcmd->out.iov[tcmd->out.niov++] = (struct iovec){ &tcmd->done, sizeof(tcmd->done) };
	stream_send(cmd->conn->stream, &tcmd->out);
}

static void reply(struct target_cmd *cmd)
{
	struct toy_cmd *tcmd = toy_cmd_of(cmd);

	tcmd->out =
		(struct stream_out){ .iov = { { &tcmd->done, sizeof(tcmd->done) } }, .niov = 1 };
	stream_send(cmd->conn->stream, &tcmd->out);
}

static void sent(struct stream *stream, struct stream_out *out)
{
	struct toy_cmd *tcmd = container_of(out, struct toy_cmd, out);

	(void)stream;
	if (tcmd->granting)
		tcmd->granting = false;
	else if (tcmd->cmd.state == TARGET_CMD_PUSH)
		target_cmd_pushed(&tcmd->cmd);
	else
		target_cmd_replied(&tcmd->cmd);
}

/* --- the way from the host */

static void command_begins(struct toy_conn *toy)
{
	struct target_cmd *cmd = target_cmd_alloc(&toy->conn);

	if (!cmd) {
		fail(toy, "too many commands");
		return;
	}
	toy_cmd_of(cmd)->ask = toy->frame;
	toy_cmd_of(cmd)->granting = false;
	target_cmd_run(cmd);
}

static void hello_begins(struct toy_conn *toy)
{
	uint32_t len = get_be32(toy->frame.len);

	if (toy->asking || toy->conn.state != TARGET_OPENING || !len || len > TOY_NAME)
		fail(toy, "unexpected HELLO");
}

static void data_begins(struct toy_conn *toy)
{
	unsigned tag = get_be16(toy->frame.tag);

	for (unsigned i = 0; i < toy->conn.prepared && !toy->filling; i++) {
		struct toy_cmd *tcmd = toy_cmd_of(target_cmd_at(&toy->conn, i));

		if (tcmd->cmd.state == TARGET_CMD_PULL && !tcmd->granting &&
			get_be16(tcmd->ask.tag) == tag)
			toy->filling = tcmd;
	}
	if (!toy->filling || !get_be32(toy->frame.len) ||
		get_be32(toy->frame.len) > toy->filling->expected - toy->filling->got)
		fail(toy, "data that was not granted");
}

static void act_on_frame(struct toy_conn *toy)
{
	switch ((enum toy_what)toy->frame.what) {
	case TOY_READ:
	case TOY_WRITE:
	case TOY_FLUSH:
		toy->got = 0;
		command_begins(toy);
		return;
	case TOY_HELLO:
		hello_begins(toy);
		return;
	case TOY_DATA:
		data_begins(toy);
		return;
	case TOY_WELCOME:
	case TOY_GRANT:
	case TOY_DONE:
		break;
	}
	fail(toy, "unknown frame");
}

static void act_on_data(struct toy_conn *toy)
{
	struct toy_cmd *tcmd = toy->filling;

	toy->filling = NULL;
	if (!tcmd) {
		toy->asking = true;
		toy->ask.run = authorize;
		loop_post(toy->conn.target->loop, &toy->ask);
		return;
	}
	tcmd->got += toy->data_got;
	if (tcmd->got == tcmd->expected)
		target_cmd_pulled(&tcmd->cmd, 0);
}

/* Where the next byte goes. */
static struct iovec room(struct toy_conn *toy)
{
	uint32_t left = get_be32(toy->frame.len) - toy->data_got;

	if (toy->got < sizeof(toy->frame))
		return (struct iovec){ (uint8_t *)&toy->frame + toy->got,
			sizeof(toy->frame) - toy->got };
	if (toy->filling)
		return (struct iovec){ toy->filling->cmd.p + toy->filling->got + toy->data_got,
			left };
	return (struct iovec){ toy->host + toy->data_got, left };
}

static void readable(struct stream *stream)
{
	struct toy_conn *toy = stream->user;

	while (!target_conn_is_closing(&toy->conn)) {
		struct iovec iov = room(toy);
		ssize_t n = stream_recv(stream, &iov, 1);

		if (n < 0)
			target_stream_ended(&toy->conn);
		if (n <= 0)
			return;
		if (toy->got < sizeof(toy->frame)) {
			toy->got += (uint32_t)n;
			toy->data_got = 0;
			if (toy->got == sizeof(toy->frame))
				act_on_frame(toy);
		} else {
			toy->data_got += (uint32_t)n;
			if (toy->data_got == get_be32(toy->frame.len)) {
				toy->got = 0;
				act_on_data(toy);
			}
		}
	}
}

static const struct stream_events events = {
	.readable = readable, .sent = sent, .down = target_stream_down
};

static int toy_open(struct target_conn *conn, struct diag *diag)
{
	int err = target_conn_alloc_cmds(conn, TOY_DEPTH, diag);

	if (err) {
		close(conn->fd);
		return err;
	}
	return target_stream_open(conn, &events, diag);
}

static void toy_free(struct target_conn *conn)
{
	stream_free(conn->stream);
}

static const struct target_carrier carrier = {
	.name = "toy",
	.cmd_size = sizeof(struct toy_cmd),
	.open = toy_open,
	.pull = pull,
	.push = push,
	.reply = reply,
	.moved = target_stream_moved,
	.hung_up = target_stream_hung_up,
	.close = target_stream_close,
	.free = toy_free,
};

static void incoming(struct target *target, int fd, const struct addr *peer)
{
	struct toy_conn *toy = target_stream_new(target, sizeof(*toy), fd, peer);

	if (!toy)
		return;
	addr_text(peer, toy->conn.name);
	target_conn_begin(target, &toy->conn, &carrier, peer);
}

const struct target_proto toy_proto = {
	.name = "toy",
	.handshake_name = "HELLO",
	.stream = incoming,
	.decode = decode,
	.work = work,
	.complete = complete,
	.status = status_of,
	.busy = busy,
};
