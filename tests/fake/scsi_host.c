/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rows of that transport on the frame. A pull or push is done at the end of the turn. */
#include "scsi_host.h"
#include "leap.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define INSIDE 8192 /* bytes of data that may come along */

struct host_cmd {
	struct scsi_cmd scsi; /* first */
	struct scsi_ask *ask;
	uint32_t len; /* of the transfer that is due */
	bool due, last;
};

struct host_conn {
	struct target_conn conn; /* first */
	struct scsi_rig *rig;
	struct scsi_host *host; /* NULL once it has left */
	struct scsi_nexus *nexus;
	struct loop_work turn;
	struct loop_msg down; /* before that: to join */
	uint64_t moved;
	unsigned port, order;
	bool give;
};

/* What the test holds of a connection. */
struct scsi_host {
	struct host_conn *conn;
	struct scsi_rig *rig;
	struct loop *loop;
	volatile int over;
	struct loop_msg hop;
};

static struct host_conn *conn_of(const struct target_conn *conn)
{
	return (struct host_conn *)(uintptr_t)conn;
}

static struct host_cmd *cmd_of(const struct target_cmd *cmd)
{
	return (struct host_cmd *)(uintptr_t)cmd;
}

/* --- answers */

static void answered(struct loop_msg *msg)
{
	container_of(msg, struct scsi_ask, hop)->done = 1;
}

static void answer(struct host_cmd *cmd)
{
	struct scsi_ask *ask = cmd->ask;
	const struct scsi_cmd *scsi = &cmd->scsi;
	struct host_conn *c = conn_of(scsi->base.conn);

	ask->status = scsi->status;
	if (scsi->sense_len) {
		ask->key = scsi->sense[2];
		ask->asc = scsi->sense[12];
		ask->ascq = scsi->sense[13];
		ask->info_valid = scsi->sense[0] & 0x80;
		ask->info = (uint32_t)scsi->sense[3] << 24 | (uint32_t)scsi->sense[4] << 16 |
			    (uint32_t)scsi->sense[5] << 8 | scsi->sense[6];
	}
	ask->over = scsi->overflow;
	ask->residual = scsi->residual;
	ask->order = ++c->order;
	ask->hop.run = answered;
	cmd->ask = NULL;
	loop_post(c->rig->loop, &ask->hop);
}

static void move(struct host_cmd *cmd)
{
	struct target_cmd *base = &cmd->scsi.base;
	struct scsi_ask *ask = cmd->ask;

	cmd->due = false;
	switch (base->state) {
	case TARGET_CMD_PULL:
		if (base->at + cmd->len > ask->expected_out)
			abort(); /* more than was to be sent */
		memcpy(base->p, ask->out + base->at, cmd->len);
		ask->moved = base->at + cmd->len;
		target_cmd_pulled(base, 0);
		break;
	case TARGET_CMD_PUSH:
	case TARGET_CMD_REPLY:
		if (cmd->len) {
			if (base->at + cmd->len > ask->expected_in)
				abort(); /* more than there is room for */
			memcpy(ask->in + base->at, base->p, cmd->len);
			ask->moved = base->at + cmd->len;
		}
		if (base->state == TARGET_CMD_PUSH) {
			target_cmd_pushed(base);
		} else {
			answer(cmd);
			target_cmd_replied(base);
		}
		break;
	default:
		abort();
	}
}

static void turn(struct loop_work *work)
{
	struct host_conn *c = container_of(work, struct host_conn, turn);

	for (unsigned i = 0; i < c->conn.prepared && !target_conn_is_closing(&c->conn); i++) {
		struct host_cmd *cmd = cmd_of(target_cmd_at(&c->conn, i));

		c->moved++;
		if (cmd->due &&
			(cmd->scsi.base.state != TARGET_CMD_PULL || !cmd->ask->slow || c->give))
			move(cmd);
	}
}

static void transfer(struct target_cmd *base, uint32_t len)
{
	struct host_conn *c = conn_of(base->conn);

	cmd_of(base)->len = len;
	cmd_of(base)->due = true;
	loop_work_add(c->conn.loop, &c->turn);
}

static void pull(struct target_cmd *base, uint32_t len)
{
	transfer(base, len);
}

static void push(struct target_cmd *base, uint32_t len, bool last)
{
	(void)last;
	transfer(base, len);
}

static void reply(struct target_cmd *base)
{
	transfer(base, 0);
}

static bool recall(struct scsi_cmd *scsi)
{
	cmd_of(&scsi->base)->due = false;
	return true;
}

/* Dropped without a reply: it looks as if it had ended so. */
static void forget(struct target_cmd *base)
{
	struct host_cmd *cmd = cmd_of(base);

	cmd->scsi.status = 0xff;
	cmd->scsi.sense_len = 0;
	cmd->scsi.residual = 0;
	answer(cmd);
}

/* --- the connection */

static int open_conn(struct target_conn *conn, struct diag *diag)
{
	struct host_conn *c = conn_of(conn);
	struct scsi_nexus_conf conf = { .target = c->rig->scsi,
		.conn = conn,
		.id_len = c->rig->id_len ? c->rig->id_len : 24,
		.name_at = 22,
		.name_len = 1,
		.recall = recall };
	int err = target_conn_alloc_cmds(conn, SCSI_HOST_DEPTH, diag);

	if (!err)
		err = pool_new(&conn->pool, INSIDE, SCSI_HOST_DEPTH, diag);
	conf.id[0] = SCSI_SRP;
	conf.id[22] = (uint8_t)(c->port >> 8);
	conf.id[23] = (uint8_t)c->port;
	if (!err)
		err = scsi_nexus_new(&c->nexus, &conf, diag);
	if (err)
		abort();
	c->turn.run = turn;
	return 0;
}

/* Behind target_admit(). */
static void join(struct loop_msg *msg)
{
	struct host_conn *c = container_of(msg, struct host_conn, down);

	for (unsigned i = 0; i < c->rig->disks; i++)
		if (target_conn_map(&c->conn, i, NULL))
			abort();
	target_conn_live(&c->conn, SCSI_HOST_DEPTH);
}

static uint64_t moved(struct target_conn *conn)
{
	return conn_of(conn)->moved << 20;
}

static void is_down(struct loop_msg *msg)
{
	struct host_conn *c = container_of(msg, struct host_conn, down);

	loop_work_del(c->conn.loop, &c->turn);
	target_conn_down(&c->conn);
}

static void close_conn(struct target_conn *conn)
{
	conn_of(conn)->down.run = is_down;
	loop_post(conn->loop, &conn_of(conn)->down);
}

static void free_conn(struct target_conn *conn)
{
	scsi_nexus_free(conn_of(conn)->nexus);
	pool_free(conn->pool);
}

static const struct target_carrier carrier = { .name = "memory",
	.cmd_size = sizeof(struct host_cmd),
	.open = open_conn,
	.pull = pull,
	.push = push,
	.reply = reply,
	.forget = forget,
	.moved = moved,
	.close = close_conn,
	.free = free_conn };

static uint32_t decode(struct target_cmd *base)
{
	struct host_cmd *cmd = cmd_of(base);
	uint32_t status = scsi_decode(base);

	if (!status && base->flags & TARGET_OUT && base->data_len && cmd->ask->immediate) {
		uint8_t *at = base->conn->pool->base + (size_t)target_cmd_index(base) * INSIDE;

		if (base->data_len > INSIDE)
			abort();
		memcpy(at, cmd->ask->out, base->data_len);
		cmd->ask->moved = base->data_len;
		base->p = at;
		base->pool = base->conn->pool;
		base->immediate = true;
	}
	return status;
}

static void complete(struct target_cmd *base, uint32_t status)
{
	scsi_complete(&cmd_of(base)->scsi, status);
}

static bool busy(const struct target_conn *conn)
{
	return scsi_nexus_busy(conn_of(conn)->nexus);
}

static bool preempted(const struct target_conn *conn, const struct bdev *bdev)
{
	return scsi_preempted(conn_of(conn)->nexus, bdev);
}

static void left(struct target_conn *conn)
{
	if (conn_of(conn)->host)
		conn_of(conn)->host->over = 1;
}

static void resized(struct target *target, struct target_disk *disk)
{
	scsi_target_resized(container_of(target, struct scsi_rig, target)->scsi, disk);
}

static void access_changed(struct target *target, unsigned group)
{
	(void)group;
	scsi_target_access_changed(container_of(target, struct scsi_rig, target)->scsi);
}

static const struct target_proto proto = { .name = "scsi",
	.handshake_name = "nothing",
	.decode = decode,
	.work = scsi_work,
	.complete = complete,
	.status = scsi_io_status,
	.busy = busy,
	.closed = left,
	.resized = resized,
	.access_changed = access_changed,
	.preempted = preempted };

/* --- the test's side */

int scsi_rig_start(struct scsi_rig *rig, struct diag *diag)
{
	struct target_options opt = { .disks = rig->disks,
		.loops = rig->loops,
		.nloops = rig->nloops,
		.buffer = rig->buffer ? rig->buffer : 131072,
		.buffers = 16,
		.connections = 64,
		.open_ms = leap_limit_ms(10000),
		.stall_ms = leap_limit_ms(30000) };
	struct scsi_target_conf conf = { .luns = rig->disks,
		.protocol = rig->protocol ? rig->protocol : SCSI_SRP,
		.device_name = "iqn.test" };
	int err;

	for (unsigned i = 0; i < rig->disks; i++) {
		opt.disk[i].bdev = rig->disk[i];
		opt.disk[i].ro = rig->ro;
		conf.lun[i].disk = &rig->target.disk[i];
		conf.lun[i].opt = &opt.disk[i];
		opt.disk[i].nguid[0] = 0x42;
		opt.disk[i].nguid[15] = (uint8_t)i;
		snprintf(opt.disk[i].serial, sizeof(opt.disk[i].serial), "serial%u", i);
	}
	err = scsi_target_new(&rig->scsi, &conf, diag);
	if (!err)
		err = target_start(&rig->target, rig->loop, &proto, &opt, 1000, diag);
	rig->target.opt.listens = rig->listens;
	for (unsigned i = 0; i < rig->listens; i++) {
		rig->target.opt.listen[i].group = rig->group[i];
		rig->target.port[i].index = i;
	}
	return err;
}

int scsi_rig_stop(struct scsi_rig *rig, struct diag *diag)
{
	int err;

	rig->target.opt.listens = 0; /* none is open */
	err = target_stop(&rig->target, 5000, diag);

	if (err != -EINPROGRESS)
		scsi_target_free(rig->scsi);
	return err;
}

struct scsi_host *scsi_host_dial(struct scsi_rig *rig, unsigned port)
{
	return scsi_host_dial_at(rig, port, 0);
}

struct scsi_host *scsi_host_dial_at(struct scsi_rig *rig, unsigned port, unsigned listener)
{
	struct scsi_host *host = calloc(1, sizeof(*host));
	struct host_conn *c = calloc(1, sizeof(*c));
	struct addr peer = { .ss.ss_family = AF_UNIX, .len = sizeof(sa_family_t) };
	char name[32];

	if (!host || !c || !target_make_room(&rig->target, &peer))
		abort();
	snprintf(name, sizeof(name), "port %u", port);
	host->conn = c;
	host->rig = rig;
	c->rig = rig;
	c->host = host;
	c->port = port;
	rig->target.incoming = &rig->target.port[listener];
	target_conn_begin(&rig->target, &c->conn, &carrier, &peer);
	rig->target.incoming = NULL;
	host->loop = c->conn.loop;
	if (!target_admit(&c->conn, name, false))
		abort();
	c->down.run = join;
	loop_post(host->loop, &c->down);
	return host;
}

void scsi_host_drop(struct scsi_host *host)
{
	target_conn_kill(&host->conn->conn, "the test leaves");
}

void scsi_host_leave(struct scsi_host *host)
{
	if (!host->over)
		scsi_host_drop(host);
	if (!loop_wait(host->rig->loop, &host->over, leap_limit(5000000000)))
		abort();
	free(host);
}

static void arrive(struct loop_msg *msg)
{
	struct scsi_ask *ask = container_of(msg, struct scsi_ask, hop);
	struct host_conn *c = ask->host->conn;
	struct target_cmd *base = target_cmd_alloc(&c->conn);
	struct scsi_cmd *scsi = &cmd_of(base)->scsi;

	if (!base)
		abort();
	cmd_of(base)->ask = ask;
	cmd_of(base)->due = false;
	scsi->nexus = c->nexus;
	memset(scsi->lun, 0, sizeof(scsi->lun));
	scsi->lun[1] = ask->lun;
	memcpy(scsi->cdb, ask->cdb, sizeof(scsi->cdb));
	scsi->cdb_len = ask->cdb_len ? ask->cdb_len : 16;
	scsi->attr = ask->attr;
	scsi->tag = ask->tag;
	scsi->expected_out = ask->expected_out;
	scsi->expected_in = ask->expected_in;
	scsi_run(scsi);
}

void scsi_host_send(struct scsi_host *host, struct scsi_ask *ask)
{
	ask->host = host;
	ask->done = 0;
	ask->moved = 0;
	ask->key = ask->asc = ask->ascq = 0;
	ask->info_valid = false;
	ask->hop.run = arrive;
	loop_post(host->loop, &ask->hop);
}

static void given(struct loop_msg *msg)
{
	struct scsi_host *host = container_of(msg, struct scsi_host, hop);

	host->conn->give = true;
	loop_work_add(host->loop, &host->conn->turn);
}

void scsi_host_give(struct scsi_host *host)
{
	host->hop.run = given;
	loop_post(host->loop, &host->hop);
}

void scsi_host_ask(struct scsi_host *host, struct scsi_ask *ask)
{
	scsi_host_send(host, ask);
	if (!loop_wait(host->rig->loop, &ask->done, leap_limit(20000000000)))
		abort();
}

struct manage {
	struct scsi_tmf tmf; /* first */
	struct scsi_host *host;
	struct loop_msg hop;
	volatile int done;
};

static void manage_over(struct loop_msg *msg)
{
	container_of(msg, struct manage, hop)->done = 1;
}

static void managed(struct scsi_tmf *tmf)
{
	struct manage *manage = (struct manage *)tmf;

	manage->hop.run = manage_over;
	loop_post(manage->host->rig->loop, &manage->hop);
}

static void manage_arrives(struct loop_msg *msg)
{
	struct manage *manage = container_of(msg, struct manage, hop);

	scsi_tmf(manage->host->conn->nexus, &manage->tmf);
}

int scsi_host_manage(struct scsi_host *host, uint8_t function, uint8_t lun, uint64_t tag)
{
	struct manage manage = { .tmf = { .function = function, .tag = tag, .done = managed },
		.host = host,
		.hop.run = manage_arrives };

	manage.tmf.lun[1] = lun;
	loop_post(host->loop, &manage.hop);
	if (!loop_wait(host->rig->loop, &manage.done, leap_limit(20000000000)))
		abort();
	return manage.tmf.answer;
}
