/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How requests reach a file: every io is worked off in steps, a step is one operation. Operations go through an io_uring
 * of the lane's own; where that is forbidden, and for what it cannot do, the same steps are taken synchronously. */
#include "file.h"
#include "file_map.h"
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BATCH 32
#define POOLS 8
#define PARKED (-EINPROGRESS) /* not done: another step follows */

enum file_step { STEP_READ, STEP_WRITE, STEP_FILL, STEP_SYNC, STEP_PUNCH, STEP_ZERO, STEP_DISCARD, STEP_MAP };

struct queue {
	struct io *head, **tail;
};

struct file_lane {
	struct lane lane;
	struct file *file;
	struct io_uring ring;
	bool ring_on, watched;
	bool no_direct, no_punch, no_zero; /* learned: this file does not take it */
	unsigned inflight, prepared;
	struct queue waiting; /* for a place in the ring */
	struct queue direct; /* to be done synchronously, in the next turn */
	struct loop_fd fd;
	struct loop_poller poller;
	struct loop_timer later;
	struct loop_work tell;
	struct file_mapper *mapper; /* from the first IO_MAP on, of a file that is elsewhere */
	const struct pool *pool[POOLS]; /* registered with the ring, by index */
};

struct op { /* one step as the kernel sees it */
	uint8_t step;
	bool bypass; /* the page cache */
	int mode;
	uint8_t *p;
	uint32_t len;
	uint64_t off;
	bool fua;
};

static struct file_lane *to_lane(struct lane *lane)
{
	return container_of(lane, struct file_lane, lane);
}

static void queue_add(struct queue *queue, struct io *io)
{
	io->next = NULL;
	*queue->tail = io;
	queue->tail = &io->next;
}

static struct io *queue_take(struct queue *queue)
{
	struct io *io = queue->head;

	if (io) {
		queue->head = io->next;
		if (!queue->head)
			queue->tail = &queue->head;
	}
	return io;
}

static struct file_io *progress(struct io *io)
{
	return io->lower;
}

/* A block device that must keep its blocks may write them all without saying so: that is never fast. */
static uint8_t zero_step(const struct file_lane *fl, uint8_t flags)
{
	if (!(flags & IO_KEEP) && !fl->no_punch)
		return STEP_PUNCH;
	return fl->no_zero || (fl->file->device && (flags & IO_FAST)) ? STEP_FILL : STEP_ZERO;
}

/* 0, or the failure of an io that cannot even begin. */
static int first_step(struct file_lane *fl, struct io *io)
{
	struct file_io *fio = progress(io);

	fio->at = 0;
	if (io->off + io->len > __atomic_load_n(&fl->file->end, __ATOMIC_RELAXED))
		return -ENXIO;
	switch ((enum io_kind)io->kind) {
	case IO_READ:
		fio->step = STEP_READ;
		return 0;
	case IO_WRITE:
		fio->step = STEP_WRITE;
		return 0;
	case IO_FLUSH:
		fio->step = STEP_SYNC;
		return 0;
	case IO_TRIM:
		fio->step = STEP_PUNCH;
		return 0;
	case IO_ZERO:
		fio->step = zero_step(fl, io->flags);
		return fio->step == STEP_FILL && (io->flags & IO_FAST) ? -ENOTSUP : 0;
	case IO_MAP:
		fio->step = STEP_MAP;
		return 0;
	case IO_KINDS:
		break;
	}
	return -EINVAL;
}

static struct op op_of(const struct file_lane *fl, struct io *io)
{
	const struct file_io *fio = progress(io);
	struct op op = { .step = fio->step, .bypass = fio->bypass, .fua = io->flags & IO_FUA };

	op.off = io->off + fio->at;
	op.len = io->len - fio->at;

	switch ((enum file_step)op.step) {
	case STEP_READ:
	case STEP_WRITE:
		op.p = io->buf->p + fio->at;
		break;
	case STEP_FILL:
		op.p = fl->file->zeroes;
		op.len = op.len < FILE_ZEROES ? op.len : FILE_ZEROES;
		break;
	case STEP_PUNCH:
		op.mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
		break;
	case STEP_ZERO:
		op.mode = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
		break;
	case STEP_SYNC:
	case STEP_DISCARD:
	case STEP_MAP:
		break;
	}
	return op;
}

/* Decided once a step: what is learned while it is with the kernel is for later ones. */
static struct op next_op(const struct file_lane *fl, struct io *io)
{
	struct op op = op_of(fl, io);

	op.bypass = (op.step == STEP_READ || op.step == STEP_WRITE) && fl->file->direct >= 0 && !fl->no_direct &&
		    !(((uintptr_t)op.p | op.off | op.len) & (fl->file->align - 1));
	progress(io)->bypass = op.bypass;
	return op;
}

static int64_t no_error(int64_t rc)
{
	return rc < 0 ? -errno : rc;
}

static int64_t do_op(const struct file *file, const struct op *op, struct io *io)
{
	int fd = op->bypass ? file->direct : file->fd;
	uint64_t range[2] = { op->off, op->len };
	int64_t rc;

	switch ((enum file_step)op->step) {
	case STEP_READ:
		return no_error(pread(fd, op->p, op->len, op->off));
	case STEP_WRITE:
	case STEP_FILL:
		rc = no_error(pwrite(fd, op->p, op->len, op->off));
		if (rc >= 0 && op->fua && fdatasync(fd) < 0)
			return -errno;
		return rc;
	case STEP_SYNC:
		return no_error(fdatasync(fd));
	case STEP_PUNCH:
	case STEP_ZERO:
		return no_error(fallocate(fd, op->mode, op->off, op->len));
	case STEP_DISCARD:
		return no_error(ioctl(fd, BLKDISCARD, range));
	case STEP_MAP:
		return file_map(file, io);
	}
	return -EINVAL;
}

/* A result of READ, WRITE or FILL: what is left to do goes on from there. */
static int moved(struct file_lane *fl, struct io *io, const struct op *op, int64_t res)
{
	struct file_io *fio = progress(io);

	if (res == -EINVAL && op->bypass) {
		fl->no_direct = true;
		return PARKED;
	}
	if (res < 0)
		return res == -EINTR || res == -EAGAIN ? PARKED : (int)res;
	if (res == 0) {
		if (op->step != STEP_READ || op->off < __atomic_load_n(&fl->file->eof, __ATOMIC_RELAXED) || fl->file->device)
			return -EIO;
		memset(op->p, 0, op->len);
		return 0;
	}
	fio->at += res;
	return fio->at < io->len ? PARKED : 0;
}

static bool unknown(int64_t res)
{
	return res == -EOPNOTSUPP || res == -ENOSYS;
}

static int cleared(struct file_lane *fl, struct io *io, const struct op *op, int64_t res)
{
	struct file_io *fio = progress(io);

	if (unknown(res)) {
		if (op->step == STEP_DISCARD)
			return -ENOTSUP;
		if (op->step == STEP_PUNCH)
			fl->no_punch = true;
		else
			fl->no_zero = true;
		fio->step = io->kind == IO_ZERO ? zero_step(fl, io->flags) : STEP_DISCARD;
		if (fio->step == STEP_DISCARD && !fl->file->device)
			return -ENOTSUP;
		return fio->step == STEP_FILL && (io->flags & IO_FAST) ? -ENOTSUP : PARKED;
	}
	if (res < 0)
		return res == -EINTR ? PARKED : (int)res;
	if (!(io->flags & IO_FUA))
		return 0;
	fio->step = STEP_SYNC;
	return PARKED;
}

/* Takes a step's result: the status of the io, or PARKED when another step follows. */
static int step_done(struct file_lane *fl, struct io *io, const struct op *op, int64_t res)
{
	switch ((enum file_step)op->step) {
	case STEP_READ:
	case STEP_WRITE:
	case STEP_FILL:
		return moved(fl, io, op, res);
	case STEP_PUNCH:
	case STEP_ZERO:
	case STEP_DISCARD:
		return cleared(fl, io, op, res);
	case STEP_SYNC:
	case STEP_MAP:
		break;
	}
	return res < 0 ? (int)res : 0;
}

static void finish(struct io *io, int status)
{
	io->status = status;
	if (io->kind != IO_MAP || status)
		io->detail = 0;
	io->done(io);
}

static int pool_index(const struct file_lane *fl, const struct pool *pool)
{
	for (int i = 0; pool && i < POOLS; i++)
		if (fl->pool[i] == pool)
			return i;
	return -1;
}

static void prepare_move(const struct file_lane *fl, struct io_uring_sqe *sqe, const struct op *op, const struct io *io)
{
	int fixed = op->step != STEP_FILL ? pool_index(fl, io->buf->pool) : -1;
	bool read = op->step == STEP_READ;

	if (fixed >= 0 && read)
		io_uring_prep_read_fixed(sqe, op->bypass, op->p, op->len, op->off, fixed);
	else if (fixed >= 0)
		io_uring_prep_write_fixed(sqe, op->bypass, op->p, op->len, op->off, fixed);
	else if (read)
		io_uring_prep_read(sqe, op->bypass, op->p, op->len, op->off);
	else
		io_uring_prep_write(sqe, op->bypass, op->p, op->len, op->off);
	if (!read && op->fua)
		sqe->rw_flags = RWF_DSYNC;
}

/* The registered files: 0 is file->fd, 1 is file->direct. */
static void prepare(struct file_lane *fl, struct io *io)
{
	struct op op = next_op(fl, io);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&fl->ring);

	switch ((enum file_step)op.step) {
	case STEP_READ:
	case STEP_WRITE:
	case STEP_FILL:
		prepare_move(fl, sqe, &op, io);
		break;
	case STEP_SYNC:
		io_uring_prep_fsync(sqe, 0, IORING_FSYNC_DATASYNC);
		break;
	case STEP_PUNCH:
	case STEP_ZERO:
		io_uring_prep_fallocate(sqe, 0, op.mode, op.off, op.len);
		break;
	case STEP_DISCARD:
	case STEP_MAP:
		break;
	}
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data(sqe, io);
	fl->prepared++;
}

static bool for_ring(const struct file_lane *fl, struct io *io)
{
	uint8_t step = progress(io)->step;

	return fl->ring_on && step != STEP_MAP && step != STEP_DISCARD;
}

/* False: it is done like everything that the ring cannot do. */
static bool map_aside(struct file_lane *fl, struct io *io)
{
	if (io->kind != IO_MAP || !fl->file->remote)
		return false;
	if (!fl->mapper)
		fl->mapper = file_mapper_new(fl->file, fl->lane.loop, finish);
	if (fl->mapper)
		file_mapper_add(fl->mapper, io);
	return fl->mapper;
}

static void submit(struct lane *lane, struct io *io)
{
	struct file_lane *fl = to_lane(lane);

	io->status = first_step(fl, io);
	if (!io->status && map_aside(fl, io))
		return;
	if (io->status < 0 || !for_ring(fl, io)) {
		queue_add(&fl->direct, io);
	} else if (fl->inflight < FILE_DEPTH) {
		fl->inflight++;
		prepare(fl, io);
	} else {
		queue_add(&fl->waiting, io);
	}
}

/* One system call for all that was prepared in this turn. What the kernel cannot take now is offered again in the next. */
static void kick(struct lane *lane)
{
	struct file_lane *fl = to_lane(lane);

	if (fl->prepared) {
		int rc = io_uring_submit(&fl->ring);

		fl->prepared -= rc > 0 ? rc : 0;
	}
	if (fl->prepared || fl->direct.head)
		loop_timer_set(lane->loop, &fl->later, loop_now(lane->loop));
}

/* Requests that came by now; those that follow wait for the next turn, so that a slow disk does not own the loop. */
static void later(struct loop_timer *timer)
{
	struct file_lane *fl = container_of(timer, struct file_lane, later);
	struct queue now = fl->direct;
	struct io *io;

	if (now.head)
		*now.tail = NULL;
	else
		now.tail = &now.head;
	fl->direct.head = NULL;
	fl->direct.tail = &fl->direct.head;
	while ((io = queue_take(&now))) {
		int status = io->status ? io->status : PARKED;

		while (status == PARKED) {
			struct op op = next_op(fl, io);

			status = step_done(fl, io, &op, do_op(fl->file, &op, io));
		}
		finish(io, status);
	}
	loop_work_add(fl->lane.loop, &fl->lane.kick);
}

static void completed(struct file_lane *fl, struct io *io, int res)
{
	struct op op = op_of(fl, io);
	int status = step_done(fl, io, &op, res);

	if (status == PARKED && for_ring(fl, io)) {
		prepare(fl, io);
		return;
	}
	fl->inflight--;
	if (status == PARKED) {
		io->status = 0;
		queue_add(&fl->direct, io);
	} else {
		finish(io, status);
	}
}

static bool drain(struct file_lane *fl)
{
	struct io_uring_cqe *cqe[BATCH];
	bool any = false;
	unsigned count;

	while ((count = io_uring_peek_batch_cqe(&fl->ring, cqe, BATCH)) > 0) {
		struct io *io[BATCH];
		int res[BATCH];

		for (unsigned i = 0; i < count; i++) {
			io[i] = io_uring_cqe_get_data(cqe[i]);
			res[i] = cqe[i]->res;
		}
		io_uring_cq_advance(&fl->ring, count);
		for (unsigned i = 0; i < count; i++)
			completed(fl, io[i], res[i]);
		any = true;
	}
	while (fl->waiting.head && fl->inflight < FILE_DEPTH) {
		fl->inflight++;
		prepare(fl, queue_take(&fl->waiting));
	}
	if (fl->prepared || fl->direct.head)
		loop_work_add(fl->lane.loop, &fl->lane.kick);
	return any;
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	drain(container_of(fd, struct file_lane, fd));
}

static bool poll_ring(struct loop_poller *poller)
{
	struct file_lane *fl = container_of(poller, struct file_lane, poller);

	return fl->inflight && io_uring_cq_ready(&fl->ring) && drain(fl);
}

static bool poll_arm(struct loop_poller *poller)
{
	return !io_uring_cq_ready(&container_of(poller, struct file_lane, poller)->ring);
}

/* Registered memory spares pinning the pages at every request. Without it (the locked-memory limit, an old kernel) all works the same. */
static int map_pool(struct lane *lane, struct pool *pool, struct diag *diag)
{
	struct file_lane *fl = to_lane(lane);
	struct iovec memory = { pool->base, pool->len };
	__u64 tag = 0;

	(void)diag;
	if (!fl->ring_on || pool_index(fl, pool) >= 0)
		return 0;
	for (int i = 0; i < POOLS; i++) {
		if (fl->pool[i])
			continue;
		if (io_uring_register_buffers_update_tag(&fl->ring, i, &memory, &tag, 1) == 1)
			fl->pool[i] = pool;
		return 0;
	}
	return 0;
}

static void unmap_pool(struct lane *lane, struct pool *pool)
{
	struct file_lane *fl = to_lane(lane);
	struct iovec none = { NULL, 0 };
	int i = pool_index(fl, pool);
	__u64 tag = 0;

	if (i < 0)
		return;
	fl->pool[i] = NULL;
	io_uring_register_buffers_update_tag(&fl->ring, i, &none, &tag, 1);
}

static void lane_free(struct lane *lane)
{
	struct file_lane *fl = to_lane(lane);

	file_mapper_free(fl->mapper);
	loop_work_del(lane->loop, &lane->kick);
	loop_work_del(lane->loop, &fl->tell);
	loop_timer_del(lane->loop, &fl->later);
	if (fl->watched) {
		loop_poller_del(lane->loop, &fl->poller);
		loop_fd_del(lane->loop, &fl->fd);
	}
	if (fl->ring_on) {
		/* the kernel ends a ring in its own time: the device must not stay in use until then */
		io_uring_unregister_files(&fl->ring);
		io_uring_queue_exit(&fl->ring);
	}
	free(fl);
}

static void tell(struct loop_work *work)
{
	struct lane *lane = &container_of(work, struct file_lane, tell)->lane;

	lane->state = LANE_UP;
	if (lane->changed)
		lane->changed(lane);
}

static const struct lane_ops lane_ops = {
	.submit = submit,
	.kick = kick,
	.map = map_pool,
	.unmap = unmap_pool,
	.free = lane_free,
};

/* A ring with everything the steps need, or -errno. FALLOCATE is the youngest of the operations (Linux 5.6). */
static int ring_start(struct file_lane *fl)
{
	int fds[2] = { fl->file->fd, fl->file->direct };
	struct io_uring_probe *probe;
	int rc = io_uring_queue_init(FILE_DEPTH, &fl->ring, IORING_SETUP_COOP_TASKRUN);

	if (rc == -EINVAL)
		rc = io_uring_queue_init(FILE_DEPTH, &fl->ring, 0);
	if (rc < 0)
		return rc;
	io_uring_ring_dontfork(&fl->ring); /* a child that outlives this process would keep the file open by it */
	probe = io_uring_get_probe_ring(&fl->ring);
	rc = probe && io_uring_opcode_supported(probe, IORING_OP_FALLOCATE) ? 0 : -ENOSYS;
	io_uring_free_probe(probe);
	if (rc == 0)
		rc = io_uring_register_files(&fl->ring, fds, 2);
	if (rc < 0) {
		io_uring_queue_exit(&fl->ring);
		return rc;
	}
	io_uring_register_buffers_sparse(&fl->ring, POOLS);
	fl->ring_on = true;
	return 0;
}

static int ring_watch(struct file_lane *fl, struct diag *diag)
{
	struct loop *loop = fl->lane.loop;
	int rc;

	fl->fd = (struct loop_fd){ .fd = fl->ring.ring_fd, .events = EPOLLIN, .ready = ready };
	rc = loop_fd_add(loop, &fl->fd, diag);
	if (rc < 0)
		return rc;
	fl->poller = (struct loop_poller){ .poll = poll_ring, .arm = poll_arm };
	loop_poller_add(loop, &fl->poller);
	fl->watched = true;
	return 0;
}

int file_lane_open(struct lane **out, struct bdev *bdev, struct loop *loop, struct diag *diag)
{
	struct file_lane *fl = calloc(1, sizeof(*fl));
	int rc;

	if (!fl)
		return diag_sys(diag, ENOMEM, "open a lane to %s", bdev->uri);
	fl->file = container_of(bdev, struct file, bdev);
	fl->waiting.tail = &fl->waiting.head;
	fl->direct.tail = &fl->direct.head;
	fl->later.fire = later;
	fl->tell.run = tell;
	lane_init(&fl->lane, &lane_ops, bdev, loop);
	rc = ring_start(fl);
	if (rc < 0)
		loop_trace(loop, "%s: io_uring cannot be used (%s): synchronous I/O", bdev->uri, diag_errno_text(-rc));
	else if ((rc = ring_watch(fl, diag)) < 0) {
		lane_free(&fl->lane);
		return rc;
	}
	loop_work_add(loop, &fl->tell);
	*out = &fl->lane;
	return 0;
}
