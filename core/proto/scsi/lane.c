/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A lane: one further session. Requests become commands; those without a slot wait. */
#include "deferred.h"
#include "disk.h"
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>

#define PARAM 32 /* bytes per tag in the scratch pool, after the block of zeros */
_Static_assert(PARAM >= SCSI_INI_PARAM, "room for the longest");
_Static_assert(SCSI_SESSIONS <= BDEV_SESSION_LANES, "each has its place in bdev.session");

struct scsi_lane {
	struct lane lane;
	struct scsi_disk *disk;
	const struct scsi_carrier *carrier;
	unsigned number; /* of the disk's lanes; that of its session is one more */
	struct pool *scratch;
	bool mapped;
	struct scsi_cache_view view;
	struct deferred deferred;                   /* done without a command */
	alignas(max_align_t) struct scsi_sess sess; /* last: the transport's begins with it */
};

static struct scsi_slot *take_slot(struct scsi_lane *sl, struct io *io)
{
	return inflight_take(
		&sl->sess.inflight, io, loop_now(sl->lane.loop) + sl->disk->conf->io_ms * MSEC);
}

static void start_io(struct scsi_lane *sl, struct scsi_slot *slot, struct io *io)
{
	const struct scsi_ini *scsi = &sl->disk->scsi;
	uint32_t block = 1u << scsi->shift;
	uint8_t cdb[SCSI_INI_CDB], *param = sl->scratch->base + block + slot->flight.tag * PARAM;
	struct scsi_ini_io *own = io->lower;
	struct scsi_data data = { 0 };

	scsi_cache_sending(&sl->disk->cache, &sl->view, scsi_ini_cache_use(scsi, io), &own->sent);
	switch (scsi_ini_encode(scsi, io, own->flush, cdb, param)) {
	case SCSI_IN:
	case SCSI_OUT:
		data = (struct scsi_data){ io->buf->p, io->len, io->kind == IO_WRITE,
			io->buf->pool };
		break;
	case SCSI_PARAM:
		data = (struct scsi_data){ param, SCSI_INI_PARAM, true, sl->scratch };
		break;
	case SCSI_ZEROS:
		data = (struct scsi_data){ sl->scratch->base, block, true, sl->scratch };
		break;
	case SCSI_NO_DATA:
		break;
	}
	sl->carrier->send(&sl->sess, slot, scsi->lun, cdb, &data);
}

static void send_io(struct scsi_lane *sl, struct io *io)
{
	struct scsi_slot *slot;

	if (sl->sess.inflight.waiting || !(slot = take_slot(sl, io)))
		inflight_enqueue(&sl->sess.inflight, io);
	else
		start_io(sl, slot, io);
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct scsi_lane *sl = (struct scsi_lane *)lane;
	int early = scsi_ini_status_now(&sl->disk->scsi, io);

	*(struct scsi_ini_io *)io->lower = (struct scsi_ini_io){ 0 };
	if (lane->state != LANE_UP || sl->sess.state != SCSI_SESS_UP)
		deferred_complete(&sl->deferred, io, -ENOTCONN);
	else if (early <= 0)
		deferred_complete(&sl->deferred, io, early);
	else
		send_io(sl, io);
}

/* A flush, or a request with one, fails once writes before it may have been lost. */
static void finish(struct scsi_lane *sl, struct io *io)
{
	if (!io->status && bdev_sync_status(&sl->disk->bdev, io, 0)) {
		io->status = -EIO;
		io->detail = __atomic_load_n(&sl->disk->lost_by, __ATOMIC_RELAXED);
	}
	io->done(io);
}

static void io_reply(struct scsi_sess *sess, struct scsi_slot *slot)
{
	struct scsi_lane *sl = sess->user;
	struct io *io = sl->carrier->end(sess, slot);
	uint8_t status = slot->status;
	uint32_t detail;

	if (!io)
		return;
	/* More data than requested: the block size has changed. */
	if (!status && slot->overflow)
		status = SCSI_CHECK_CONDITION;
	detail = scsi_ini_detail(status, slot->sense, slot->sense_len);
	if (detail && scsi_ini_proves_uncached(&sl->disk->scsi, io, detail)) {
		__atomic_store_n(&sl->disk->scsi.cached, false, __ATOMIC_RELAXED);
		detail = 0;
	}
	if (scsi_disk_note_status(
		    sl->disk, &sl->view, &((struct scsi_ini_io *)io->lower)->sent, detail))
		loop_post(sl->disk->bdev.loop, &sl->disk->lost);
	if (detail && scsi_ini_is_access(detail))
		access_notice_post(&sl->disk->notice);
	if (scsi_ini_finish(&sl->disk->scsi, io, detail, slot->moved))
		finish(sl, io);
	else
		send_io(sl, io);
}

static void lose(struct io *io)
{
	io->detail = 0;
	io->status = -ENOTCONN;
	io->done(io);
}

static void io_lost(struct scsi_sess *sess, void *owner)
{
	(void)sess;
	lose(owner);
}

/* Abort once; after a second timeout another path or a new session may help. */
static bool should_abort_io(struct scsi_sess *sess, void *owner)
{
	struct scsi_ini_io *own = ((struct io *)owner)->lower;
	bool first = !own->aborted;

	(void)sess;
	own->aborted = true;
	return first;
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
	struct scsi_lane *sl = (struct scsi_lane *)lane;

	return sl->carrier->map ? sl->carrier->map(&sl->sess, pool, diag) : 0;
}

static void unmap(struct lane *lane, struct pool *pool)
{
	struct scsi_lane *sl = (struct scsi_lane *)lane;

	if (sl->carrier->unmap)
		sl->carrier->unmap(&sl->sess, pool);
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	struct scsi_lane *sl = (struct scsi_lane *)lane;

	sl->carrier->fail(&sl->sess, why);
}

/* Return the first free number, so that lanes get the same ones after a reconnect; -1: none. */
static int acquire_number(struct scsi_disk *disk)
{
	uint64_t used = __atomic_load_n(&disk->lanes, __ATOMIC_RELAXED);
	int number;

	do {
		number = ~used ? __builtin_ctzll(~used) : SCSI_SESSIONS;
		if (number >= disk->conf->queues)
			return -1;
	} while (!__atomic_compare_exchange_n(&disk->lanes, &used, used | UINT64_C(1) << number,
		false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	return number;
}

static void release_number(struct scsi_disk *disk, unsigned number)
{
	__atomic_fetch_and(&disk->lanes, ~(UINT64_C(1) << number), __ATOMIC_RELEASE);
}

static void lane_free(struct lane *lane)
{
	struct scsi_lane *sl = (struct scsi_lane *)lane;

	deferred_fini(&sl->deferred);
	if (sl->sess.state == SCSI_SESS_UP && !sl->sess.inflight.used) /* nothing to be fenced */
		__atomic_store_n(&sl->disk->bdev.session.lane[sl->number], 0, __ATOMIC_RELAXED);
	if (sl->mapped)
		unmap(lane, sl->scratch);
	sl->carrier->fini(&sl->sess);
	pool_free(sl->scratch);
	release_number(sl->disk, sl->number);
	free(sl);
}

static const struct lane_ops ops = {
	.submit = lane_submit,
	.map = map,
	.unmap = unmap,
	.abort = lane_abort,
	.free = lane_free,
};

static void lane_changed(struct scsi_lane *sl, enum lane_state state)
{
	sl->lane.state = state;
	if (sl->lane.changed)
		sl->lane.changed(&sl->lane);
}

static void sess_up(struct scsi_sess *sess)
{
	struct scsi_lane *sl = sess->user;
	struct diag why = { 0 };

	if (map(&sl->lane, sl->scratch, &why)) {
		sl->carrier->fail(sess, &why);
		return;
	}
	sl->mapped = true;
	if (sl->carrier->identify)
		sl->carrier->identify(sess, sl->number + 1, &sl->disk->bdev.session);
	lane_changed(sl, LANE_UP);
}

static void sess_idle(struct scsi_sess *sess)
{
	struct scsi_lane *sl = sess->user;
	struct io *io;

	while ((io = inflight_next(&sess->inflight)))
		start_io(sl, take_slot(sl, io), io);
}

static void sess_down(struct scsi_sess *sess)
{
	struct scsi_lane *sl = sess->user;
	struct io *io;

	sl->lane.why = sess->why;
	while ((io = inflight_dequeue(&sess->inflight)))
		lose(io);
	deferred_run(&sl->deferred);
	lane_changed(sl, LANE_DOWN);
}

static const struct scsi_sess_events events = { .up = sess_up,
	.reply = io_reply,
	.lost = io_lost,
	.name = io_name,
	.should_abort = should_abort_io,
	.idle = sess_idle,
	.down = sess_down };

static int open_lane(struct scsi_lane *sl, struct diag *diag)
{
	const struct scsi_disk *disk = sl->disk;
	uint32_t size = (1u << disk->scsi.shift) + disk->conf->depth * PARAM;
	int err = pool_new(&sl->scratch, size, 1, diag);

	if (err)
		return err;
	sl->sess.ev = &events;
	sl->sess.loop = sl->lane.loop;
	sl->sess.user = sl;
	sl->sess.port = disk->port;
	err = sl->carrier->open(&sl->sess, disk->conf, sl->number + 1, diag);
	if (err)
		pool_free(sl->scratch);
	return err;
}

int scsi_disk_lane(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct scsi_disk *disk = (struct scsi_disk *)bdev;
	const struct scsi_carrier *carrier = disk->carrier;
	int err, number = acquire_number(disk);
	struct scsi_lane *sl;

	if (number < 0)
		return diag_set(diag, DIAG_BUSY, EBUSY, "all %u %s are in use", disk->conf->queues,
			carrier->sessions);
	sl = calloc(1, offsetof(struct scsi_lane, sess) + carrier->sess_size);
	if (!sl) {
		err = diag_sys(diag, ENOMEM, "lane");
		goto fail;
	}
	lane_init(&sl->lane, &ops, bdev, loop);
	sl->disk = disk;
	sl->number = (unsigned)number;
	sl->carrier = carrier;
	deferred_init(&sl->deferred, loop);
	err = open_lane(sl, diag);
	if (!err) {
		*out = &sl->lane;
		return 0;
	}
	free(sl);
fail:
	release_number(disk, (unsigned)number);
	return err;
}
