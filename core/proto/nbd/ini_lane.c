/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A lane: one connection with requests in flight. Requests of one turn are sent with one sendmsg(),
 * the payload straight from the io's buffer; requests without a free slot wait in order. ini_rx.c
 * handles replies. */
#include "ini.h"
#include <errno.h>
#include <stdlib.h>

static const struct {
	const char *what;
	uint16_t type;
} commands[IO_KINDS] = {
	[IO_READ] = { "a read", NBD_CMD_READ },
	[IO_WRITE] = { "a write", NBD_CMD_WRITE },
	[IO_FLUSH] = { "a flush", NBD_CMD_FLUSH },
	[IO_TRIM] = { "a trim", NBD_CMD_TRIM },
	[IO_ZERO] = { "a write of zeroes", NBD_CMD_WRITE_ZEROES },
	[IO_MAP] = { "a block status request", NBD_CMD_BLOCK_STATUS },
};

static struct nbd_ini_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct nbd_ini_lane, lane);
}

static uint16_t flags_of(const struct io *io)
{
	return (uint16_t)((io->flags & IO_FUA ? NBD_CMD_FLAG_FUA : 0) |
			  (io->flags & IO_FAST ? NBD_CMD_FLAG_FAST_ZERO : 0) |
			  (io->flags & IO_KEEP ? NBD_CMD_FLAG_NO_HOLE : 0));
}

/* False: no slot is free. */
static bool start_io(struct nbd_ini_lane *nl, struct io *io)
{
	uint64_t end = nl->dev->end;
	struct nbd_ini_slot *slot = inflight_take(
		&nl->inflight, io, loop_now(nl->lane.loop) + nl->link.conf->io_ms * MSEC);

	if (!slot)
		return false;
	slot->len = io->len > end - io->off ? (uint32_t)(end - io->off) : io->len;
	slot->cookie = ++nl->serial << 16 | slot->flight.tag;
	slot->mapped = slot->full = false;
	slot->error = slot->text = 0;
	slot->count = 0;
	slot->runs = slot->part = 0;
	slot->at = 0;
	slot->request = (struct nbd_request){ put_be32(NBD_REQUEST_MAGIC), put_be16(flags_of(io)),
		put_be16(commands[io->kind].type), { 0 }, put_be64(io->off), put_be32(slot->len) };
	memcpy(slot->request.cookie, &slot->cookie, sizeof(slot->request.cookie));
	slot->out.niov = 1;
	slot->out.iov[0] = (struct iovec){ &slot->request, sizeof(slot->request) };
	if (io->kind == IO_WRITE)
		slot->out.iov[slot->out.niov++] = (struct iovec){ io->buf->p, slot->len };
	slot->out.next = NULL;
	slot->flight.unsent = 1;
	stream_send(nl->link.stream, &slot->out);
	return true;
}

/* Whether the io is behind the end of an export with an odd length: reads return zeroes there, and
 * writes must be zeroes. */
static bool beyond(const struct nbd_ini_lane *nl, const struct io *io)
{
	uint64_t end = nl->dev->end;

	if (io->kind != IO_WRITE || io->len <= end - io->off)
		return false;
	for (uint32_t i = (uint32_t)(end - io->off); i < io->len; i++)
		if (io->buf->p[i])
			return true;
	return false;
}

static void lane_submit(struct lane *lane, struct io *io)
{
	struct nbd_ini_lane *nl = to_lane(lane);

	if (!nl->flowing)
		deferred_complete(&nl->deferred, io, -ENOTCONN);
	else if (io->flags & IO_FAST && !(nl->negotiated.terms.flags & NBD_FLAG_SEND_FAST_ZERO))
		deferred_complete(&nl->deferred, io, -ENOTSUP);
	else if (beyond(nl, io))
		deferred_complete(&nl->deferred, io, -ENOSPC);
	else if (nl->inflight.waiting || !start_io(nl, io))
		inflight_enqueue(&nl->inflight, io);
}

/* Length of the tail if the size of the export is not a multiple of the server's minimum block and
 * the server refused a request for it, else 0. */
static uint32_t refused_tail(const struct nbd_ini_lane *nl, const struct nbd_ini_slot *slot)
{
	uint32_t minimum = nl->dev->negotiated.terms.minimum;

	return minimum && slot->error == NBD_EINVAL ? slot->len & (minimum - 1) : 0;
}

static void finish_io(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	struct io *io = inflight_drop(&nl->inflight, &slot->flight);

	io->detail = 0;
	io->status = 0;
	if (slot->error) {
		uint32_t tail = refused_tail(nl, slot);

		io->detail = nbd_ini_detail(slot->error, slot->text, tail);
		io->status = tail ? -EIO : -nbd_errno_of(slot->error, io->flags & IO_FAST);
	} else if (io->kind == IO_MAP) {
		io->detail = slot->runs;
	}
	if (io->kind == IO_READ && !slot->error && slot->len < io->len)
		memset(io->buf->p + slot->len, 0, io->len - slot->len);
	io->done(io);
	if (nl->flowing && (io = inflight_next(&nl->inflight)))
		start_io(nl, io);
}

void nbd_ini_replied(struct nbd_ini_lane *nl, struct nbd_ini_slot *slot)
{
	if (inflight_replied(&slot->flight))
		finish_io(nl, slot);
}

static void link_sent(struct nbd_ini_link *link, struct stream_out *out)
{
	struct nbd_ini_lane *nl = container_of(link, struct nbd_ini_lane, link);
	struct nbd_ini_slot *slot = container_of(out, struct nbd_ini_slot, out);

	if (inflight_sent(&slot->flight))
		finish_io(nl, slot);
}

static void lane_abort(struct lane *lane, const struct diag *why)
{
	nbd_ini_link_end(&to_lane(lane)->link, why);
}

static void lane_free(struct lane *lane)
{
	struct nbd_ini_lane *nl = to_lane(lane);

	deferred_fini(&nl->deferred);
	loop_work_del(lane->loop, &nl->announce);
	nbd_ini_link_fini(&nl->link);
	inflight_fini(&nl->inflight);
	__atomic_fetch_sub(&nl->dev->links, 1, __ATOMIC_RELEASE);
	free(nl);
}

static const struct lane_ops ops = {
	.submit = lane_submit,
	.abort = lane_abort,
	.free = lane_free,
};

static void lane_changed(struct nbd_ini_lane *nl, enum lane_state state)
{
	nl->lane.state = state;
	if (nl->lane.changed)
		nl->lane.changed(&nl->lane);
}

static void request_timeout(struct inflight *inflight, struct inflight_slot *slot)
{
	struct nbd_ini_lane *nl = container_of(inflight, struct nbd_ini_lane, inflight);
	const struct io *io = slot->owner;
	char text[DIAG_SECONDS];
	struct diag why = { 0 };

	diag_set(&why, DIAG_TIMEOUT, ETIMEDOUT, "no answer to %s within %s",
		commands[io->kind].what, diag_seconds(nl->link.conf->io_ms, text));
	nbd_ini_link_end(&nl->link, &why);
}

static void flow(struct nbd_ini_lane *nl)
{
	struct diag why = { 0 };

	if (inflight_init(&nl->inflight, nl->lane.loop, nl->link.conf->depth,
		    sizeof(struct nbd_ini_slot), request_timeout, &why)) {
		nbd_ini_link_end(&nl->link, &why);
		return;
	}
	nl->flowing = true;
	lane_changed(nl, LANE_UP);
}

static bool same_negotiated(const struct nbd_ini_negotiated *a, const struct nbd_ini_negotiated *b)
{
	return a->terms.flags == b->terms.flags && a->terms.minimum == b->terms.minimum &&
	       a->terms.preferred == b->terms.preferred && a->terms.maximum == b->terms.maximum &&
	       a->structured == b->structured && a->meta == b->meta;
}

/* The limits set when the disk was opened must apply to every connection. */
static void link_up(struct nbd_ini_link *link)
{
	struct nbd_ini_lane *nl = container_of(link, struct nbd_ini_lane, link);
	uint64_t was = nl->dev->negotiated.terms.size, is = link->handshake.negotiated.terms.size;
	struct diag why = { 0 };

	nl->negotiated = link->handshake.negotiated;
	if (is != was)
		diag_set(&why, DIAG_MISMATCH, ESTALE,
			"the export now has %llu bytes instead of %llu", (unsigned long long)is,
			(unsigned long long)was);
	else if (!same_negotiated(&nl->negotiated, &nl->dev->negotiated))
		diag_set(&why, DIAG_MISMATCH, ESTALE,
			"the server changed the flags or limits of the export");
	if (why.err)
		nbd_ini_link_end(link, &why);
	else
		flow(nl);
}

static void io_lost(struct io *io)
{
	io->status = -ENOTCONN;
	io->detail = 0;
	io->done(io);
}

static void link_down(struct nbd_ini_link *link)
{
	struct nbd_ini_lane *nl = container_of(link, struct nbd_ini_lane, link);
	struct io *io;

	nl->lane.why = link->why;
	nl->flowing = false;
	for (uint16_t tag = 0; tag < nl->inflight.count; tag++) {
		struct nbd_ini_slot *slot = inflight_slot(&nl->inflight, tag);

		if (slot->flight.owner)
			io_lost(inflight_drop(&nl->inflight, &slot->flight));
	}
	while ((io = inflight_dequeue(&nl->inflight)))
		io_lost(io);
	deferred_run(&nl->deferred);
	lane_changed(nl, LANE_DOWN);
}

static const struct nbd_ini_link_events events = { link_up, &nbd_ini_replies, link_sent,
	link_down };

static void adopted(struct loop_work *work)
{
	struct nbd_ini_lane *nl = container_of(work, struct nbd_ini_lane, announce);

	if (!nl->link.closing)
		flow(nl);
}

/* The first lane gets the connection that opened the disk, as many servers accept only one. */
static int connect_lane(struct nbd_ini_lane *nl, struct diag *diag)
{
	struct stream_detached spare = { .fd = __atomic_exchange_n(
						 &nl->dev->spare.fd, -1, __ATOMIC_ACQ_REL) };
	const struct nbd_ini_conf *conf = &nl->dev->conf;

	if (spare.fd < 0)
		return nbd_ini_link_dial(&nl->link, nl->lane.loop, conf,
			loop_clock() + conf->timeout_ms * MSEC, &events, diag);
	spare.tls = nl->dev->spare.tls;
	nl->negotiated = nl->dev->negotiated;
	loop_work_add(nl->lane.loop, &nl->announce);
	return nbd_ini_link_adopt(&nl->link, nl->lane.loop, conf, &spare, &events, diag);
}

int nbd_ini_lane(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct nbd_ini_dev *dev = container_of(bdev, struct nbd_ini_dev, bdev);
	struct nbd_ini_lane *nl;
	int err;

	if (__atomic_fetch_add(&dev->links, 1, __ATOMIC_ACQUIRE) >= bdev->lim.lanes) {
		err = diag_set(
			diag, DIAG_BUSY, EBUSY, "all %u connections are in use", bdev->lim.lanes);
		goto fail;
	}
	nl = calloc(1, sizeof(*nl));
	if (!nl) {
		err = diag_sys(diag, ENOMEM, "lane");
		goto fail;
	}
	lane_init(&nl->lane, &ops, bdev, loop);
	nl->dev = dev;
	deferred_init(&nl->deferred, loop);
	nl->announce.run = adopted;
	err = connect_lane(nl, diag);
	if (!err) {
		*out = &nl->lane;
		return 0;
	}
	loop_work_del(loop, &nl->announce);
	free(nl);
fail:
	__atomic_fetch_sub(&dev->links, 1, __ATOMIC_RELEASE);
	return err;
}
