/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Execute requests on a file: every io is a sequence of steps, each a single operation. Operations
 * use the lane's own io_uring. Threads run those it lacks, or all if io_uring is unavailable. */
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

#define BATCH   32
#define POOLS   8
#define PARKED  (-EINPROGRESS) /* not finished: another step follows */
#define TURN_NS 1000000ull     /* between looks for a turn that another lane may end */

enum file_step {
	STEP_READ,
	STEP_WRITE,
	STEP_FILL,
	STEP_SYNC,
	STEP_PUNCH,
	STEP_ZERO,
	STEP_DISCARD,
	STEP_MAP
};

struct queue {
	struct io *head, **tail;
};

struct file_lane {
	struct lane lane;
	struct file *file;
	struct io_uring ring;
	bool ring_on, watched;
	bool no_punch, no_zero;             /* the file rejected it once */
	unsigned inflight, prepared, holds; /* in the ring; not submitted yet; in `held` */
	uint64_t end;                       /* file_end() in this kick; 0: not read yet */
	struct queue waiting;               /* for a slot in the ring */
	struct queue held;                  /* for the turn of a step */
	struct queue refused;               /* io->status is set; complete them in the next turn */
	struct io_threads io_threads;
	struct loop_fd fd;
	struct loop_poller poller;
	struct loop_timer turn_timer, retry;
	struct file_pace pace;
	struct loop_work announce;
	const struct pool *pool[POOLS]; /* registered with the ring, by index */
	bool no_more_pools;             /* the last one could not be registered */
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

/* To zero a block device without deallocating, the kernel may write all blocks and does not tell:
 * never fast. */
static uint8_t zero_step(const struct file_lane *fl, uint8_t flags)
{
	if (!(flags & IO_KEEP) && !fl->no_punch)
		return STEP_PUNCH;
	return fl->no_zero || (fl->file->device && (flags & IO_FAST)) ? STEP_FILL : STEP_ZERO;
}

/* Choose the first step. Returns 0, or why the io can't begin. */
static int first_step(struct file_lane *fl, struct io *io)
{
	struct file_io *fio = progress(io);

	fio->at = 0;
	fio->no_space = 0;
	fio->op.step = STEP_READ; /* of one that is refused: nothing was written */
	fio->turn = (struct file_turn){ 0 };
	if (io->off + io->len > __atomic_load_n(&fl->file->end, __ATOMIC_RELAXED))
		return -ENXIO;
	switch ((enum io_kind)io->kind) {
	case IO_READ:
		fio->op.step = STEP_READ;
		return 0;
	case IO_WRITE:
		fio->op.step = STEP_WRITE;
		return 0;
	case IO_FLUSH:
		fio->op.step = STEP_SYNC;
		return 0;
	case IO_TRIM:
		fio->op.step = STEP_PUNCH;
		return 0;
	case IO_ZERO:
		fio->op.step = zero_step(fl, io->flags);
		return fio->op.step == STEP_FILL && (io->flags & IO_FAST) ? -ENOTSUP : 0;
	case IO_MAP:
		fio->op.step = STEP_MAP;
		return 0;
	case IO_COMPARE_WRITE:
	case IO_KINDS:
		break;
	}
	return -EINVAL;
}

static bool can_bypass(const struct file *file, const struct file_op *op)
{
	return file->direct >= 0 && !__atomic_load_n(&file->no_direct, __ATOMIC_RELAXED) &&
	       !(((uintptr_t)op->p | op->off | op->len) & (file->align - 1));
}

/* Fix the details of a step before it starts, as flags learned while it is in flight apply to later
 * steps. */
static void next_op(const struct file_lane *fl, struct io *io)
{
	struct file_io *fio = progress(io);
	struct file_op *op = &fio->op;

	*op = (struct file_op){
		.step = op->step,
		.bypass = op->step == STEP_SYNC && fio->no_space && !op->bypass,
		.fua = io->flags & IO_FUA,
		.off = io->off + fio->at,
		.len = io->len - fio->at,
	};
	switch ((enum file_step)op->step) {
	case STEP_READ:
	case STEP_WRITE:
		op->p = io->buf->p + fio->at;
		op->bypass = can_bypass(fl->file, op);
		break;
	case STEP_FILL:
		op->p = fl->file->zeroes;
		op->len = op->len < FILE_ZEROES ? op->len : FILE_ZEROES;
		op->bypass = can_bypass(fl->file, op);
		break;
	case STEP_PUNCH:
		op->mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
		break;
	case STEP_ZERO:
		op->mode = FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE;
		break;
	case STEP_SYNC:
	case STEP_DISCARD:
	case STEP_MAP:
		break;
	}
}

static int64_t no_error(int64_t rc)
{
	return rc < 0 ? -errno : rc;
}

static bool changes(const struct file_op *op)
{
	return op->step != STEP_READ && op->step != STEP_SYNC && op->step != STEP_MAP;
}

static int64_t do_op(const struct file *file, const struct file_op *op, struct io *io)
{
	int fd = op->bypass ? file->direct : file->fd;
	uint64_t range[2] = { op->off, op->len };
	int64_t rc;

	if (changes(op) && op->off + op->len > file_end(file))
		return -ENXIO;
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

/* No space for a forced write: either for its own blocks, which only its submitter has to know, or
 * for data that was written before. The kernel reports the latter once for each descriptor, so ask
 * the one that was not used. */
static bool is_unclear(const struct file_lane *fl, const struct file_op *op, int64_t res)
{
	return op->fua && fl->file->direct >= 0 &&
	       (res == -ENOSPC || res == -EDQUOT || res == -EFBIG);
}

/* Handle the result of READ, WRITE or FILL: another step continues a short transfer. */
static int moved(struct file_lane *fl, struct io *io, const struct file_op *op, int64_t res)
{
	struct file_io *fio = progress(io);

	if (res == -EINVAL && op->bypass) {
		if (!__atomic_exchange_n(&fl->file->no_direct, true, __ATOMIC_RELAXED) &&
			fl->file->turns)
			file_turns_direct(fl->file->turns, false);
		return PARKED;
	}
	if (is_unclear(fl, op, res)) {
		fio->no_space = (int)res;
		fio->op.step = STEP_SYNC;
		return PARKED;
	}
	if (res < 0)
		return res == -EINTR || res == -EAGAIN ? PARKED : (int)res;
	if (res == 0) {
		if (op->step != STEP_READ ||
			op->off < __atomic_load_n(&fl->file->eof, __ATOMIC_RELAXED) ||
			fl->file->device)
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

static int cleared(struct file_lane *fl, struct io *io, const struct file_op *op, int64_t res)
{
	struct file_io *fio = progress(io);

	if (unknown(res)) {
		if (op->step == STEP_DISCARD)
			return -ENOTSUP;
		if (op->step == STEP_PUNCH)
			fl->no_punch = true;
		else
			fl->no_zero = true;
		fio->op.step = io->kind == IO_ZERO ? zero_step(fl, io->flags) : STEP_DISCARD;
		if (fio->op.step == STEP_DISCARD && !fl->file->device)
			return -ENOTSUP;
		return fio->op.step == STEP_FILL && (io->flags & IO_FAST) ? -ENOTSUP : PARKED;
	}
	if (res < 0)
		return res == -EINTR ? PARKED : (int)res;
	if (!(io->flags & IO_FUA))
		return 0;
	fio->op.step = STEP_SYNC;
	return PARKED;
}

/* Handle a step's result. Returns the status of the io, or PARKED if another step follows. */
static int step_done(struct file_lane *fl, struct io *io, const struct file_op *op, int64_t res)
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
		if (res < 0)
			progress(io)->no_space = 0;
		return res < 0 ? (int)res : progress(io)->no_space;
	case STEP_MAP:
		break;
	}
	return res < 0 ? (int)res : 0;
}

/* Whether the last step wrote earlier data back, so that its error may be that of others. */
static bool wrote_back(const struct file_io *fio)
{
	uint8_t step = fio->op.step;

	return step == STEP_WRITE || step == STEP_FILL || (step == STEP_SYNC && !fio->no_space);
}

static void finish_io(struct file_lane *fl, struct io *io, int status)
{
	if (!status || wrote_back(progress(io)))
		status = bdev_sync_status(&fl->file->bdev, io, status);
	io->status = status;
	if (io->kind != IO_MAP || io->status)
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

static void prepare_move(const struct file_lane *fl, struct io_uring_sqe *sqe,
	const struct file_op *op, const struct io *io)
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

/* Registered files: 0 is file->fd, 1 is file->direct. */
static void prepare(struct file_lane *fl, struct io *io)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&fl->ring);
	const struct file_op *op = &progress(io)->op;

	switch ((enum file_step)op->step) {
	case STEP_READ:
	case STEP_WRITE:
	case STEP_FILL:
		prepare_move(fl, sqe, op, io);
		break;
	case STEP_SYNC:
		io_uring_prep_fsync(sqe, op->bypass, IORING_FSYNC_DATASYNC);
		break;
	case STEP_PUNCH:
	case STEP_ZERO:
		io_uring_prep_fallocate(sqe, 0, op->mode, op->off, op->len);
		break;
	case STEP_DISCARD:
	case STEP_MAP:
		break;
	}
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data(sqe, io);
	fl->prepared++;
	fl->inflight++;
}

static void on_thread(struct io_thread_job *job);
static void from_thread(struct io_thread_job *job);

static void end_turn(struct file_lane *fl, struct io *io)
{
	file_turn_end(fl->file->turns, &fl->pace, &progress(io)->turn);
}

static void refuse(struct file_lane *fl, struct io *io, int status)
{
	end_turn(fl, io);
	io->status = status;
	queue_add(&fl->refused, io);
}

static void to_thread(struct file_lane *fl, struct io *io)
{
	struct file_io *fio = progress(io);
	int err;

	fio->lane = fl;
	fio->io = io;
	fio->job.run = on_thread;
	fio->job.done = from_thread;
	err = io_threads_add(&fl->io_threads, &fio->job);
	if (err)
		refuse(fl, io, err);
}

/* Whether a step has to wait for its turn. A file system zeroes the ends of a range that are not
 * whole blocks in the page cache. */
static bool waits_for_turn(struct file_lane *fl, struct io *io)
{
	const struct file *file = fl->file;
	struct file_io *fio = progress(io);
	const struct file_op *op = &fio->op;
	bool moves = op->step == STEP_WRITE || op->step == STEP_FILL;

	if (!changes(op))
		return false;
	if (!moves && (file->device || !((op->off | op->len) & (file->bdev.lim.best - 1))))
		return false;
	return !file_turn_take(file->turns, &fl->pace, &fio->turn, !op->bypass, op->off, op->len);
}

static bool uses_ring(const struct file_lane *fl, uint8_t step)
{
	return fl->ring_on && step != STEP_MAP && step != STEP_DISCARD;
}

static void hold(struct file_lane *fl, struct io *io)
{
	queue_add(&fl->held, io);
	fl->holds++;
	if (!fl->retry.on)
		loop_timer_set(fl->lane.loop, &fl->retry, loop_now(fl->lane.loop) + TURN_NS);
}

static void next_step(struct file_lane *fl, struct io *io)
{
	if (uses_ring(fl, progress(io)->op.step) || fl->holds >= FILE_DEPTH) {
		queue_add(&fl->waiting, io);
		return;
	}
	next_op(fl, io);
	if (waits_for_turn(fl, io))
		hold(fl, io);
	else
		to_thread(fl, io);
}

static void stepped(struct file_lane *fl, struct io *io, int64_t res)
{
	int status;

	end_turn(fl, io);
	status = step_done(fl, io, &progress(io)->op, res);
	if (status == PARKED)
		next_step(fl, io);
	else
		finish_io(fl, io, status);
}

static void on_thread(struct io_thread_job *job)
{
	struct file_io *fio = container_of(job, struct file_io, job);

	fio->res = do_op(fio->lane->file, &fio->op, fio->io);
}

static void from_thread(struct io_thread_job *job)
{
	struct file_io *fio = container_of(job, struct file_io, job);
	struct file_lane *fl = fio->lane;

	stepped(fl, fio->io, fio->res);
	loop_work_add(fl->lane.loop, &fl->lane.kick);
}

static void submit(struct lane *lane, struct io *io)
{
	struct file_lane *fl = to_lane(lane);
	int err = first_step(fl, io);

	if (err)
		refuse(fl, io, err);
	else
		next_step(fl, io);
}

/* Read the size once per kick, after its requests were submitted, so that no earlier truncation is
 * missed. */
static bool beyond_end(struct file_lane *fl, const struct file_op *op)
{
	if (!changes(op))
		return false;
	if (!fl->end)
		fl->end = file_end(fl->file);
	return op->off + op->len > fl->end;
}

static void start_step(struct file_lane *fl, struct io *io)
{
	const struct file_op *op = &progress(io)->op;

	if (!uses_ring(fl, op->step))
		to_thread(fl, io);
	else if (beyond_end(fl, op))
		refuse(fl, io, -ENXIO);
	else
		prepare(fl, io);
}

static void start_held(struct file_lane *fl)
{
	struct queue held = fl->held;
	struct io *io;

	if (!held.head)
		return;
	fl->held.head = NULL;
	fl->held.tail = &fl->held.head;
	fl->holds = 0;
	while ((io = queue_take(&held)))
		if (fl->inflight < FILE_DEPTH &&
			file_turn_has(fl->file->turns, &progress(io)->turn))
			start_step(fl, io);
		else
			hold(fl, io);
}

static void retry(struct loop_timer *timer)
{
	struct file_lane *fl = container_of(timer, struct file_lane, retry);

	loop_work_add(fl->lane.loop, &fl->lane.kick);
}

/* Submit all operations of this turn with one system call. What the kernel can't take now is
 * retried in the next turn. */
static void kick(struct lane *lane)
{
	struct file_lane *fl = to_lane(lane);
	struct io *io;

	fl->end = 0;
	start_held(fl);
	/* what is held counts, too: each of them is looked at whenever the turns are */
	while (fl->inflight + fl->holds < FILE_DEPTH && (io = queue_take(&fl->waiting))) {
		next_op(fl, io);
		if (waits_for_turn(fl, io))
			hold(fl, io);
		else
			start_step(fl, io);
	}
	if (fl->prepared) {
		int rc = io_uring_submit(&fl->ring);

		fl->prepared -= rc > 0 ? rc : 0;
	}
	if (fl->prepared || fl->refused.head)
		loop_timer_set(lane->loop, &fl->turn_timer, loop_now(lane->loop));
}

/* Complete the requests refused so far. Later ones wait for the next turn, so that other events get
 * handled. */
static void next_turn(struct loop_timer *timer)
{
	struct file_lane *fl = container_of(timer, struct file_lane, turn_timer);
	struct queue now = fl->refused;
	struct io *io;

	if (now.head)
		*now.tail = NULL;
	else
		now.tail = &now.head;
	fl->refused.head = NULL;
	fl->refused.tail = &fl->refused.head;
	while ((io = queue_take(&now)))
		finish_io(fl, io, io->status);
	loop_work_add(fl->lane.loop, &fl->lane.kick);
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
		fl->inflight -= count;
		for (unsigned i = 0; i < count; i++)
			stepped(fl, io[i], res[i]);
		any = true;
	}
	if (fl->waiting.head || fl->held.head || fl->refused.head)
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

/* Registering memory saves pinning pages per request. If it fails (locked-memory limit, old
 * kernel), requests work without; but the kernel has then made all pages resident, so it is not
 * tried again until memory is given back. */
static int map_pool(struct lane *lane, struct pool *pool, struct diag *diag)
{
	struct file_lane *fl = to_lane(lane);
	struct iovec memory = { pool->base, pool->len };
	__u64 tag = 0;

	(void)diag;
	if (!fl->ring_on || fl->no_more_pools || pool_index(fl, pool) >= 0)
		return 0;
	for (int i = 0; i < POOLS; i++) {
		if (fl->pool[i])
			continue;
		fl->no_more_pools =
			io_uring_register_buffers_update_tag(&fl->ring, i, &memory, &tag, 1) != 1;
		if (!fl->no_more_pools)
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
	fl->no_more_pools = false;
	io_uring_register_buffers_update_tag(&fl->ring, i, &none, &tag, 1);
}

static void lane_free(struct lane *lane)
{
	struct file_lane *fl = to_lane(lane);

	io_threads_fini(&fl->io_threads);
	loop_work_del(lane->loop, &lane->kick);
	loop_work_del(lane->loop, &fl->announce);
	loop_timer_del(lane->loop, &fl->turn_timer);
	loop_timer_del(lane->loop, &fl->retry);
	if (fl->file->turns)
		file_pace_del(fl->file->turns, &fl->pace);
	if (fl->watched) {
		loop_poller_del(lane->loop, &fl->poller);
		loop_fd_del(lane->loop, &fl->fd);
	}
	if (fl->ring_on) {
		/*
		 * The kernel tears down the ring asynchronously; release the device now. Buffers
		 * come first: Linux 6.1 puts off for 1 s what unmap_pool() released, unless
		 * buffers are being unregistered, and files wait for it (io_rsrc_node_ref_zero()).
		 */
		io_uring_unregister_buffers(&fl->ring);
		io_uring_unregister_files(&fl->ring);
		io_uring_queue_exit(&fl->ring);
	}
	free(fl);
}

static void announce(struct loop_work *work)
{
	struct lane *lane = &container_of(work, struct file_lane, announce)->lane;

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

/* A seccomp profile may permit io_uring_setup(), but not io_uring_enter(). */
static int try_enter(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int rc;

	io_uring_prep_nop(io_uring_get_sqe(ring));
	rc = io_uring_submit_and_wait(ring, 1);
	if (rc < 0)
		return rc;
	rc = io_uring_peek_cqe(ring, &cqe);
	if (!rc)
		io_uring_cqe_seen(ring, cqe);
	return rc;
}

/* Create a ring that supports all operations, or return -errno. FALLOCATE is the newest (Linux
 * 5.6). */
static int ring_open(struct io_uring *ring)
{
	struct io_uring_probe *probe;
	int rc = io_uring_queue_init(FILE_DEPTH, ring, IORING_SETUP_COOP_TASKRUN);

	if (rc == -EINVAL)
		rc = io_uring_queue_init(FILE_DEPTH, ring, 0);
	if (rc < 0)
		return rc;
	/* a child that outlives this process would keep the file open */
	io_uring_ring_dontfork(ring);
	probe = io_uring_get_probe_ring(ring);
	rc = probe && io_uring_opcode_supported(probe, IORING_OP_FALLOCATE) ? 0 : -ENOSYS;
	io_uring_free_probe(probe);
	if (!rc)
		rc = try_enter(ring);
	if (rc < 0)
		io_uring_queue_exit(ring);
	return rc;
}

int file_ring_try(void)
{
	struct io_uring ring;
	int rc = ring_open(&ring);

	if (rc == 0)
		io_uring_queue_exit(&ring);
	return rc;
}

static int ring_start(struct file_lane *fl)
{
	int fds[2] = { fl->file->fd, fl->file->direct };
	int rc = fl->file->no_ring ? fl->file->no_ring : ring_open(&fl->ring);

	if (rc < 0)
		return rc;
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
		return diag_sys(diag, ENOMEM, "open %s", bdev->uri);
	fl->file = container_of(bdev, struct file, bdev);
	fl->waiting.tail = &fl->waiting.head;
	fl->held.tail = &fl->held.head;
	fl->refused.tail = &fl->refused.head;
	fl->turn_timer.fire = next_turn;
	fl->retry.fire = retry;
	fl->announce.run = announce;
	lane_init(&fl->lane, &lane_ops, bdev, loop);
	io_threads_init(&fl->io_threads, loop);
	if (fl->file->turns)
		file_pace_add(fl->file->turns, &fl->pace);
	rc = ring_start(fl);
	if (rc < 0)
		loop_trace(loop, "%s: io_uring is not available (%s): I/O uses threads", bdev->uri,
			diag_errno_text(-rc));
	rc = fl->ring_on ? ring_watch(fl, diag) : io_threads_start(&fl->io_threads, diag);
	if (rc < 0) {
		lane_free(&fl->lane);
		return rc;
	}
	loop_work_add(loop, &fl->announce);
	*out = &fl->lane;
	return 0;
}
