/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A lane: one further session. Requests become commands, and responses end them; what finds no
 * slot, or is to be sent once more soon, waits. */
#include "ini.h"
#include "later.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC 1000000ull

struct iscsi_lane {
	struct lane lane;
	struct iscsi_dev *dev;
	struct iscsi_sess sess;
	uint8_t *zeros;     /* a block of them */
	struct later later; /* done without a command */
	struct io *soon, **soon_end;
	struct loop_timer timer;
};

static struct iscsi_lane *lane_of(struct iscsi_sess *sess)
{
	return container_of(sess, struct iscsi_lane, sess);
}

static struct iscsi_slot *take_slot(struct iscsi_lane *il, struct io *io)
{
	return inflight_take(
		&il->sess.inflight, io, loop_now(il->lane.loop) + il->dev->conf.io_ms * MSEC);
}

static void start_io(struct iscsi_lane *il, struct iscsi_slot *slot, struct io *io)
{
	const struct scsi_ini *scsi = &il->dev->scsi;
	uint8_t cdb[SCSI_INI_CDB];
	struct iscsi_data data = { 0 };

	switch (scsi_ini_put(
		scsi, io, ((struct scsi_ini_io *)io->lower)->flush, cdb, slot->param)) {
	case SCSI_IN:
	case SCSI_OUT:
		data = (struct iscsi_data){ io->buf->p, io->len, io->kind == IO_WRITE };
		break;
	case SCSI_PARAM:
		data = (struct iscsi_data){ slot->param, SCSI_INI_PARAM, true };
		break;
	case SCSI_ZEROS:
		data = (struct iscsi_data){ il->zeros, 1u << scsi->shift, true };
		break;
	case SCSI_NO_DATA:
		break;
	}
	iscsi_sess_send(&il->sess, slot, scsi->lun, cdb, &data);
}

static void send_io(struct iscsi_lane *il, struct io *io)
{
	struct iscsi_slot *slot;

	if (il->sess.inflight.waiting || !(slot = take_slot(il, io)))
		inflight_wait(&il->sess.inflight, io);
	else
		start_io(il, slot, io);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct iscsi_lane *il = (struct iscsi_lane *)lane;
	int early = scsi_ini_early(&il->dev->scsi, io);

	*(struct scsi_ini_io *)io->lower = (struct scsi_ini_io){ 0 };
	if (lane->state != LANE_UP || il->sess.state != ISCSI_SESS_UP)
		later_done(&il->later, io, -ENOTCONN);
	else if (early <= 0)
		later_done(&il->later, io, early);
	else
		send_io(il, io);
}

static void wait_soon(struct iscsi_lane *il, struct io *io)
{
	if (!il->soon)
		loop_timer_set(
			il->lane.loop, &il->timer, loop_now(il->lane.loop) + SCSI_SOON_MS * MSEC);
	io->next = NULL;
	*il->soon_end = io;
	il->soon_end = &io->next;
}

static void soon_fired(struct loop_timer *timer)
{
	struct iscsi_lane *il = container_of(timer, struct iscsi_lane, timer);
	struct io *io = il->soon, *next;

	il->soon = NULL;
	il->soon_end = &il->soon;
	for (; io; io = next) {
		next = io->next;
		if (il->sess.state == ISCSI_SESS_UP)
			send_io(il, io);
		else
			wait_soon(il, io);
	}
}

static void lane_reply(struct iscsi_sess *sess, struct iscsi_slot *slot)
{
	struct iscsi_lane *il = lane_of(sess);
	struct io *io = iscsi_sess_end(sess, slot);

	if (!io)
		return;
	switch (scsi_ini_took(&il->dev->scsi, io,
		scsi_ini_detail(slot->status, slot->sense, slot->sense_len), slot->moved)) {
	case SCSI_DONE:
		io->done(io);
		break;
	case SCSI_SEND:
		send_io(il, io);
		break;
	case SCSI_SEND_SOON:
		wait_soon(il, io);
		break;
	}
}

static void lose(struct io *io)
{
	io->detail = 0;
	io->status = -ENOTCONN;
	io->done(io);
}

static void io_lost(struct iscsi_sess *sess, void *owner)
{
	(void)sess;
	lose(owner);
}

static const char *io_name(const void *owner)
{
	static const char *const names[IO_KINDS] = { [IO_READ] = "read",
		[IO_WRITE] = "write",
		[IO_FLUSH] = "flush",
		[IO_TRIM] = "trim",
		[IO_ZERO] = "write zeroes" };

	return names[((const struct io *)owner)->kind];
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	iscsi_sess_fail(&((struct iscsi_lane *)lane)->sess, why);
}

static void lane_free(struct lane *lane)
{
	struct iscsi_lane *il = (struct iscsi_lane *)lane;

	later_fini(&il->later);
	loop_timer_del(lane->loop, &il->timer);
	iscsi_sess_fini(&il->sess);
	free(il->zeros);
	__atomic_fetch_sub(&il->dev->lanes, 1, __ATOMIC_RELEASE);
	free(il);
}

static const struct lane_ops ops = {
	.submit = lane_submit,
	.abort = lane_abort,
	.free = lane_free,
};

static void lane_changed(struct iscsi_lane *il, enum lane_state state)
{
	il->lane.state = state;
	if (il->lane.changed)
		il->lane.changed(&il->lane);
}

static void sess_up(struct iscsi_sess *sess)
{
	lane_changed(lane_of(sess), LANE_UP);
}

static void sess_idle(struct iscsi_sess *sess)
{
	struct iscsi_lane *il = lane_of(sess);
	struct io *io;

	while ((io = inflight_next(&sess->inflight)))
		start_io(il, take_slot(il, io), io);
}

static void sess_down(struct iscsi_sess *sess)
{
	struct iscsi_lane *il = lane_of(sess);
	struct io *io = il->soon, *next;

	il->lane.why = sess->why;
	loop_timer_del(il->lane.loop, &il->timer);
	il->soon = NULL;
	il->soon_end = &il->soon;
	for (; io; io = next) {
		next = io->next;
		lose(io);
	}
	while ((io = inflight_unwait(&sess->inflight)))
		lose(io);
	later_run(&il->later);
	lane_changed(il, LANE_DOWN);
}

static const struct iscsi_sess_events events = { .up = sess_up,
	.reply = lane_reply,
	.lost = io_lost,
	.name = io_name,
	.idle = sess_idle,
	.down = sess_down };

int iscsi_lane(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct iscsi_dev *dev = (struct iscsi_dev *)bdev;
	struct iscsi_lane *il;
	int err;

	if (__atomic_fetch_add(&dev->lanes, 1, __ATOMIC_ACQUIRE) >= dev->conf.queues) {
		err = diag_set(
			diag, DIAG_BUSY, EBUSY, "all %u sessions are in use", dev->conf.queues);
		goto fail;
	}
	il = calloc(1, sizeof(*il));
	if (!il) {
		err = diag_sys(diag, ENOMEM, "lane");
		goto fail;
	}
	lane_init(&il->lane, &ops, bdev, loop);
	il->dev = dev;
	il->soon_end = &il->soon;
	il->timer.fire = soon_fired;
	later_init(&il->later, loop);
	il->zeros = calloc(1, 1u << dev->scsi.shift);
	err = il->zeros ? iscsi_sess_open(&il->sess, loop, &dev->conf, &events, diag)
			: diag_sys(diag, ENOMEM, "lane");
	if (!err) {
		*out = &il->lane;
		return 0;
	}
	free(il->zeros);
	free(il);
fail:
	__atomic_fetch_sub(&dev->lanes, 1, __ATOMIC_RELEASE);
	return err;
}
