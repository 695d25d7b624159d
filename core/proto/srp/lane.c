/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A lane: one further channel. Requests become commands, and responses end them; what finds no
 * slot, or is to be sent once more soon, waits. */
#include "later.h"
#include "srp.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC  1000000ull
#define PARAM 32 /* of each tag in the scratch pool, behind the block of zeros */

struct srp_lane {
	struct lane lane;
	struct srp_dev *dev;
	struct srp_chan chan;
	struct pool *scratch;
	bool mapped;
	struct later later; /* done without a command */
	struct io *soon, **soon_end;
	struct loop_timer timer;
};

static struct srp_lane *lane_of(struct srp_chan *chan)
{
	return container_of(chan, struct srp_lane, chan);
}

static struct srp_slot *take_slot(struct srp_lane *sl, struct io *io)
{
	return inflight_take(
		&sl->chan.inflight, io, loop_now(sl->lane.loop) + sl->dev->conf.io_ms * MSEC);
}

static void start_io(struct srp_lane *sl, struct srp_slot *slot, struct io *io)
{
	const struct scsi_ini *scsi = &sl->dev->scsi;
	uint32_t block = 1u << scsi->shift;
	uint8_t cdb[SCSI_INI_CDB], *param = sl->scratch->base + block + slot->flight.tag * PARAM;
	struct srp_data data = { 0 };

	switch (scsi_ini_put(scsi, io, ((struct scsi_ini_io *)io->lower)->flush, cdb, param)) {
	case SCSI_IN:
	case SCSI_OUT:
		data = (struct srp_data){ io->buf->p, io->len, io->kind == IO_WRITE,
			io->buf->pool };
		break;
	case SCSI_PARAM:
		data = (struct srp_data){ param, SCSI_INI_PARAM, true, sl->scratch };
		break;
	case SCSI_ZEROS:
		data = (struct srp_data){ sl->scratch->base, block, true, sl->scratch };
		break;
	case SCSI_NO_DATA:
		break;
	}
	srp_chan_send(&sl->chan, slot, scsi->lun, cdb, &data);
}

static void send_io(struct srp_lane *sl, struct io *io)
{
	struct srp_slot *slot;

	if (sl->chan.inflight.waiting || !(slot = take_slot(sl, io)))
		inflight_wait(&sl->chan.inflight, io);
	else
		start_io(sl, slot, io);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct srp_lane *sl = (struct srp_lane *)lane;
	int early = scsi_ini_early(&sl->dev->scsi, io);

	*(struct scsi_ini_io *)io->lower = (struct scsi_ini_io){ 0 };
	if (lane->state != LANE_UP || sl->chan.state != SRP_UP)
		later_done(&sl->later, io, -ENOTCONN);
	else if (early <= 0)
		later_done(&sl->later, io, early);
	else
		send_io(sl, io);
}

static void wait_soon(struct srp_lane *sl, struct io *io)
{
	if (!sl->soon)
		loop_timer_set(
			sl->lane.loop, &sl->timer, loop_now(sl->lane.loop) + SCSI_SOON_MS * MSEC);
	io->next = NULL;
	*sl->soon_end = io;
	sl->soon_end = &io->next;
}

static void soon_fired(struct loop_timer *timer)
{
	struct srp_lane *sl = container_of(timer, struct srp_lane, timer);
	struct io *io = sl->soon, *next;

	sl->soon = NULL;
	sl->soon_end = &sl->soon;
	for (; io; io = next) {
		next = io->next;
		if (sl->chan.state == SRP_UP)
			send_io(sl, io);
		else
			wait_soon(sl, io);
	}
}

static void lane_reply(struct srp_chan *chan, struct srp_slot *slot)
{
	struct srp_lane *sl = lane_of(chan);
	struct io *io = srp_chan_end(chan, slot);

	if (!io)
		return;
	switch (scsi_ini_took(&sl->dev->scsi, io,
		scsi_ini_detail(slot->status, slot->sense, slot->sense_len), slot->moved)) {
	case SCSI_DONE:
		io->done(io);
		break;
	case SCSI_SEND:
		send_io(sl, io);
		break;
	case SCSI_SEND_SOON:
		wait_soon(sl, io);
		break;
	}
}

static void lose(struct io *io)
{
	io->detail = 0;
	io->status = -ENOTCONN;
	io->done(io);
}

static void io_lost(struct srp_chan *chan, void *owner)
{
	(void)chan;
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

static int map(struct lane *lane, struct pool *pool, struct diag *diag)
{
	return srp_chan_map(&((struct srp_lane *)lane)->chan, pool, diag);
}

static void unmap(struct lane *lane, struct pool *pool)
{
	srp_chan_unmap(&((struct srp_lane *)lane)->chan, pool);
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	srp_chan_fail(&((struct srp_lane *)lane)->chan, why);
}

static void lane_free(struct lane *lane)
{
	struct srp_lane *sl = (struct srp_lane *)lane;

	later_fini(&sl->later);
	loop_timer_del(lane->loop, &sl->timer);
	if (sl->mapped)
		srp_chan_unmap(&sl->chan, sl->scratch);
	srp_chan_fini(&sl->chan);
	pool_free(sl->scratch);
	__atomic_fetch_sub(&sl->dev->lanes, 1, __ATOMIC_RELEASE);
	free(sl);
}

static const struct lane_ops ops = {
	.submit = lane_submit,
	.map = map,
	.unmap = unmap,
	.abort = lane_abort,
	.free = lane_free,
};

static void lane_changed(struct srp_lane *sl, enum lane_state state)
{
	sl->lane.state = state;
	if (sl->lane.changed)
		sl->lane.changed(&sl->lane);
}

static void chan_up(struct srp_chan *chan)
{
	struct srp_lane *sl = lane_of(chan);
	struct diag why = { 0 };

	if (srp_chan_map(chan, sl->scratch, &why)) {
		srp_chan_fail(chan, &why);
		return;
	}
	sl->mapped = true;
	lane_changed(sl, LANE_UP);
}

static void chan_idle(struct srp_chan *chan)
{
	struct srp_lane *sl = lane_of(chan);
	struct io *io;

	while ((io = inflight_next(&chan->inflight)))
		start_io(sl, take_slot(sl, io), io);
}

static void chan_down(struct srp_chan *chan)
{
	struct srp_lane *sl = lane_of(chan);
	struct io *io = sl->soon, *next;

	sl->lane.why = chan->why;
	loop_timer_del(sl->lane.loop, &sl->timer);
	sl->soon = NULL;
	sl->soon_end = &sl->soon;
	for (; io; io = next) {
		next = io->next;
		lose(io);
	}
	while ((io = inflight_unwait(&chan->inflight)))
		lose(io);
	later_run(&sl->later);
	lane_changed(sl, LANE_DOWN);
}

static const struct srp_chan_events events = { .up = chan_up,
	.reply = lane_reply,
	.lost = io_lost,
	.name = io_name,
	.idle = chan_idle,
	.down = chan_down };

int srp_lane(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct srp_dev *dev = (struct srp_dev *)bdev;
	struct srp_lane *sl;
	int err;

	if (__atomic_fetch_add(&dev->lanes, 1, __ATOMIC_ACQUIRE) >= dev->conf.queues) {
		err = diag_set(
			diag, DIAG_BUSY, EBUSY, "all %u channels are in use", dev->conf.queues);
		goto fail;
	}
	sl = calloc(1, sizeof(*sl));
	if (!sl) {
		err = diag_sys(diag, ENOMEM, "lane");
		goto fail;
	}
	lane_init(&sl->lane, &ops, bdev, loop);
	sl->dev = dev;
	sl->soon_end = &sl->soon;
	sl->timer.fire = soon_fired;
	later_init(&sl->later, loop);
	err = pool_new(&sl->scratch, (1u << dev->scsi.shift) + dev->conf.depth * PARAM, 1, diag);
	if (!err) {
		err = srp_chan_open(&sl->chan, loop, &dev->conf, false, &events, diag);
		if (!err) {
			*out = &sl->lane;
			return 0;
		}
		pool_free(sl->scratch);
	}
	free(sl);
fail:
	__atomic_fetch_sub(&dev->lanes, 1, __ATOMIC_RELEASE);
	return err;
}
