/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A queue of a ublk device on its loop: ring, buffers of its tags, lane. All answers of a turn and
 * the next fetches are submitted in one call. The kernel copies between the request's pages and the
 * tag's buffer, which the lane has mapped; UBLK_F_USER_COPY would only add calls. */
#include "ublk.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define BATCH 32

void ublk_queue_encode(
	struct io_uring_sqe *sqe, const struct ublk_queue *q, unsigned tag, uint32_t op, int result)
{
	struct ublk_io_cmd cmd = { .queue = (uint16_t)q->index,
		.tag = (uint16_t)tag,
		.result = result,
		.addr = (uintptr_t)q->tag[tag].base };

	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->flags = IOSQE_FIXED_FILE; /* index 0: /dev/ublkcN */
	sqe->cmd_op = op;
	sqe->user_data = tag;
	memcpy(sqe->cmd, &cmd, sizeof(cmd));
}

static void offer(struct ublk_queue *q, unsigned tag, uint32_t op, int result)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&q->ring);

	/* there is an entry per tag, and a tag needs no second one before the kernel has taken the
	 * first */
	assert(sqe);
	ublk_queue_encode(sqe, q, tag, op, result);
	q->prepared++;
	loop_work_add(q->loop, &q->enter);
}

void ublk_queue_commit(struct ublk_queue *q, unsigned tag, int result)
{
	offer(q, tag, UBLK_IO_COMMIT_AND_FETCH, result);
}

static void tell(struct ublk_queue *q)
{
	if (q->refused && !q->failed_posted) {
		q->failed_posted = true;
		loop_post(q->home, &q->failed);
	}
	if (q->lost == q->depth && !q->ours && !q->drained_posted) {
		q->drained_posted = true;
		loop_post(q->home, &q->drained);
	}
}

/* What the kernel can't take now is submitted again in the next turn. */
static void enter(struct loop_work *work)
{
	struct ublk_queue *q = container_of(work, struct ublk_queue, enter);
	int rc = io_uring_submit(&q->ring);

	q->prepared -= rc > 0 ? (unsigned)rc : 0;
	if (q->prepared)
		loop_timer_set(q->loop, &q->again, loop_now(q->loop));
	tell(q);
}

static void again(struct loop_timer *timer)
{
	struct ublk_queue *q = container_of(timer, struct ublk_queue, again);

	loop_work_add(q->loop, &q->enter);
}

static bool has_answers(const struct ublk_queue *q)
{
	return io_uring_cq_ready(&q->ring) ||
	       __atomic_load_n(q->ring.sq.kflags, __ATOMIC_RELAXED) & IORING_SQ_TASKRUN;
}

static bool drain(struct ublk_queue *q)
{
	struct io_uring_cqe *cqe[BATCH];
	bool any = false;
	unsigned count;

	while ((count = io_uring_peek_batch_cqe(&q->ring, cqe, BATCH)) > 0) {
		for (unsigned i = 0; i < count; i++)
			ublk_io_result(q, cqe[i]->user_data, cqe[i]->res);
		io_uring_cq_advance(&q->ring, count);
		any = true;
	}
	if (any)
		tell(q);
	return any;
}

static void ready(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	drain(container_of(fd, struct ublk_queue, fd));
}

static bool poll_ring(struct loop_poller *poller)
{
	struct ublk_queue *q = container_of(poller, struct ublk_queue, poller);

	return has_answers(q) && drain(q);
}

static bool poll_arm(struct loop_poller *poller)
{
	return !has_answers(container_of(poller, struct ublk_queue, poller));
}

/* SINGLE_ISSUER exists since Linux 6.0, like ublk, but ublk may have been backported. */
static int ring_start(struct ublk_queue *q, int cdev, struct diag *diag)
{
	int rc = io_uring_queue_init(q->depth, &q->ring,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER);

	if (rc == -EINVAL)
		rc = io_uring_queue_init(q->depth, &q->ring, 0);
	if (rc < 0)
		return diag_sys(diag, -rc, "create an io_uring of %u entries", q->depth);
	q->ring_on = true;
	io_uring_ring_dontfork(&q->ring);
	rc = io_uring_register_files(&q->ring, &cdev, 1);
	if (rc < 0)
		return diag_sys(diag, -rc, "register /dev/ublkc with an io_uring");
	q->fd = (struct loop_fd){ .fd = q->ring.ring_fd, .events = EPOLLIN, .ready = ready };
	rc = loop_fd_add(q->loop, &q->fd, diag);
	if (rc)
		return rc;
	q->poller = (struct loop_poller){ .poll = poll_ring, .arm = poll_arm };
	loop_poller_add(q->loop, &q->poller);
	q->watched = true;
	return 0;
}

static int map_descriptors(struct ublk_queue *q, int cdev, struct diag *diag)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE),
	       most = (UBLK_MAX_DEPTH * sizeof(struct ublk_desc) + page - 1) & ~(page - 1);
	void *p;

	q->desc_len = (q->depth * sizeof(struct ublk_desc) + page - 1) & ~(page - 1);
	p = mmap(NULL, q->desc_len, PROT_READ, MAP_SHARED | MAP_POPULATE, cdev,
		(off_t)(q->index * most));
	if (p == MAP_FAILED)
		return diag_sys(diag, errno, "map the requests of queue %u", q->index);
	/* a child that waits for this device (ublk_sync.c) must not keep it from the next run; nor
	 * may the rings, which have it open */
	madvise(p, q->desc_len, MADV_DONTFORK);
	q->desc = p;
	return 0;
}

static int make_tags(struct ublk_queue *q, uint32_t bytes, struct diag *diag)
{
	int rc = pool_new(&q->pool, bytes, q->depth, diag);

	if (rc)
		return rc;
	q->cap = q->pool->each;
	q->tag = calloc(q->depth, sizeof(*q->tag));
	q->lower = calloc(q->depth, q->lim->io_size + 1);
	if (!q->tag || !q->lower)
		return diag_sys(diag, ENOMEM, "%u requests", q->depth);
	for (unsigned i = 0; i < q->depth; i++) {
		struct ublk_tag *tag = &q->tag[i];

		tag->queue = q;
		tag->base = pool_buf(q->pool, i).p;
		tag->split.lane = q->lane;
		tag->split.io.lower = q->lower + (size_t)i * q->lim->io_size;
	}
	rc = lane_map(q->lane, q->pool, diag);
	q->mapped = !rc;
	return rc;
}

/* Run on the CPUs whose requests come here, as far as this process may use them. */
static void run_on(const cpu_set_t *cpus)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	CPU_AND(&allowed, &allowed, cpus);
	if (CPU_COUNT(&allowed))
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

int ublk_queue_open(struct loop *loop, void *arg)
{
	struct ublk_place *place = arg;
	struct ublk_queue *q = place->queue;
	int rc;

	q->lim = &place->bdev->lim;
	q->depth = place->info->depth;
	q->enter.run = enter;
	q->again.fire = again;
	ublk_io_init(q);
	if (place->cpus)
		run_on(place->cpus);
	rc = lane_open(&q->lane, place->bdev, loop, place->diag);
	if (!rc)
		rc = make_tags(q, place->info->max_bytes, place->diag);
	if (!rc)
		rc = map_descriptors(q, place->cdev, place->diag);
	if (!rc)
		rc = ring_start(q, place->cdev, place->diag);
	if (rc) {
		ublk_queue_close(loop, q);
		return rc;
	}
	for (unsigned i = 0; i < q->depth; i++)
		offer(q, i, UBLK_IO_FETCH, 0);
	return 0;
}

int ublk_queue_fail(struct loop *loop, void *arg)
{
	struct ublk_queue *q = arg;

	(void)loop;
	q->failing = true;
	for (unsigned i = 0; i < q->depth; i++)
		if (q->tag[i].ours)
			bdev_cancel(q->lane, &q->tag[i].split.io);
	return 0;
}

int ublk_queue_close(struct loop *loop, void *arg)
{
	struct ublk_queue *q = arg;

	loop_work_del(loop, &q->enter);
	loop_timer_del(loop, &q->again);
	loop_timer_del(loop, &q->quiet);
	if (q->watched) {
		loop_poller_del(loop, &q->poller);
		loop_fd_del(loop, &q->fd);
	}
	if (q->ring_on) {
		/* the kernel tears down the ring asynchronously; release the device now */
		io_uring_unregister_files(&q->ring);
		io_uring_queue_exit(&q->ring);
	}
	if (q->desc)
		munmap((void *)q->desc, q->desc_len);
	if (q->mapped)
		lane_unmap(q->lane, q->pool);
	lane_close(q->lane);
	pool_free(q->pool);
	free(q->tag);
	free(q->lower);
	return 0;
}
