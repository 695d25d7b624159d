/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target as a whole: workers with their lanes and buffers, listeners, admission of connections
 * and their assignment to workers, and the orderly stop. All but the worker_ functions run on the
 * target's loop. */
#include "frame.h"
#include <errno.h>
#include <stdlib.h>

#define MSEC 1000000ull
/* stores of data buffers with full size; more stores share their memory, but each has at least
 * STORE_BUFFERS */
#define FULL_STORES   4
#define STORE_BUFFERS 16
/* Time for the disks to return what they held, and for RDMA connections, which wait 500 ms for the
 * peer to close. */
#define CANCEL_MS 1500
#define BUFFER    131072
#define BUFFERS   64

static void evict(struct target_place *place)
{
	struct target_conn *conn = container_of(place, struct target_conn, place);

	static const char *const why[] = {
		"no handshake yet, and another host needs the connection",
		"another host needs the connection",
		"its address has most connections, and another address needs one"
	};

	if (!conn->killed)
		conn->kill_now = true;
	target_conn_kill(conn, why[place->class]);
}

bool target_room(struct target *target, const struct addr *peer)
{
	return !target->stopping && target_places_room(target->places, peer);
}

bool target_admit(struct target_conn *conn, const char *host, bool leads)
{
	struct target *target = conn->target;
	bool ok = target_places_host(target->places, &conn->place, host, leads);

	loop_trace(
		target->loop, "%s: %s as %s", conn->name, ok ? "admitted" : "not admitted", host);
	return ok;
}

void target_admit_guest(struct target_conn *conn)
{
	target_places_guest(conn->target->places, &conn->place);
}

void target_conn_begin(struct target *target, struct target_conn *conn,
	const struct target_carrier *carrier, const struct addr *peer)
{
	struct target_worker *best = &target->worker[0];

	for (unsigned i = 1; i < target->workers; i++)
		if (target->worker[i].load < best->load)
			best = &target->worker[i];
	best->load++;
	target_places_enter(target->places, &conn->place, peer);
	target->idle = 0;
	conn->carrier = carrier;
	conn->target = target;
	conn->worker = best;
	conn->loop = best->loop;
	conn->peer = *peer;
	conn->peer_next = target->conns;
	conn->peer_link = &target->conns;
	if (conn->peer_next)
		conn->peer_next->peer_link = &conn->peer_next;
	target->conns = conn;
	conn->hop.run = target_conn_open;
	loop_post(best->loop, &conn->hop);
}

void target_conn_kill(struct target_conn *conn, const char *why)
{
	if (conn->killed)
		return;
	conn->killed = true;
	conn->kill_why = why;
	conn->kill_hop.run = target_conn_killed;
	loop_post(conn->loop, &conn->kill_hop);
}

void target_conn_end(struct target_conn *conn)
{
	if (conn->ended)
		return;
	conn->ended = true;
	conn->end_hop.run = target_conn_ended;
	loop_post(conn->loop, &conn->end_hop);
}

/* Last hop of a connection: from here once more to the worker, behind everything posted to it
 * before, and back to be freed. */
static void gone(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);
	struct target *target = conn->target;

	conn->worker->load--;
	target_places_leave(target->places, &conn->place);
	target->idle = !target->places->count;
	free(conn);
}

static void buried(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);

	msg->run = gone;
	loop_post(conn->target->loop, msg);
}

void target_conn_over(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);

	*conn->peer_link = conn->peer_next;
	if (conn->peer_next)
		conn->peer_next->peer_link = conn->peer_link;
	if (conn->target->proto->left)
		conn->target->proto->left(conn);
	conn->ended = conn->killed = true; /* from now on a post would be too late */
	msg->run = buried;
	loop_post(conn->loop, msg);
}

struct job { /* for a worker, by loop_call() */
	struct target_worker *worker;
	struct diag *diag;
	uint64_t deadline;
	bool kept; /* a disk still holds a flush of ours */
};

static struct pool *pool_of(const struct target_worker *worker, unsigned disk)
{
	return worker->store[worker->target->disk[disk].store].pool;
}

static int worker_close(struct loop *loop, void *arg)
{
	struct target_worker *worker = ((struct job *)arg)->worker;

	(void)loop;
	while (worker->lanes) {
		struct lane *lane = worker->lane[--worker->lanes];

		if (worker->mapped & 1u << worker->lanes)
			lane_unmap(lane, pool_of(worker, worker->lanes));
		lane_close(lane);
	}
	worker->mapped = 0;
	for (unsigned i = 0; worker->store && i < worker->target->stores; i++)
		target_buffers_fini(&worker->store[i]);
	free(worker->store);
	worker->store = NULL;
	return 0;
}

static uint64_t holder_moved(struct target_holder *holder)
{
	return holder->conn->carrier->moved(holder->conn);
}

static void holder_end(struct target_holder *holder)
{
	target_conn_evict(holder->conn);
}

static int make_stores(struct target_worker *worker, struct diag *diag)
{
	const struct target *target = worker->target;
	unsigned count = target->opt.buffers;
	int err = 0;

	worker->store = calloc(target->stores, sizeof(*worker->store));
	if (!worker->store)
		return diag_sys(diag, ENOMEM, "data buffers");
	if (target->stores > FULL_STORES && count > STORE_BUFFERS) {
		count = count * FULL_STORES / target->stores;
		count = count < STORE_BUFFERS ? STORE_BUFFERS : count;
	}
	for (unsigned i = 0; !err && i < target->stores; i++) {
		worker->store[i] = (struct target_buffers){
			.loop = worker->loop, .moved = holder_moved, .end = holder_end
		};
		err = target_buffers_init(
			&worker->store[i], target->opt.buffer, (uint16_t)count, diag);
	}
	return err;
}

static int worker_open(struct loop *loop, void *arg)
{
	struct job *job = arg;
	struct target_worker *worker = job->worker;
	const struct target *target = worker->target;
	int err = make_stores(worker, job->diag);

	while (!err && worker->lanes < target->opt.disks) {
		unsigned i = worker->lanes;

		err = lane_open(&worker->lane[i], target->disk[i].bdev, loop, job->diag);
		if (err)
			break;
		worker->lanes++;
		err = lane_map(worker->lane[i], pool_of(worker, i), job->diag);
		if (!err)
			worker->mapped |= 1u << i;
	}
	if (err)
		worker_close(loop, job);
	return err;
}

static int worker_flush(struct loop *loop, void *arg)
{
	struct job *job = arg;
	const struct target *target = job->worker->target;
	int result = 0;

	(void)loop;
	for (unsigned i = 0; i < target->opt.disks; i++) {
		int err;

		if (target->disk[i].ro || !target->disk[i].bdev->lim.max[IO_FLUSH])
			continue;
		err = bdev_flush(job->worker->lane[i], job->deadline, result ? NULL : job->diag);
		job->kept |= err == -EINPROGRESS;
		result = result ? result : err;
	}
	return result;
}

static int worker_hurry(struct loop *loop, void *arg)
{
	struct target_conn *conn = ((struct job *)arg)->worker->conns;

	(void)loop;
	for (; conn; conn = conn->next)
		target_conn_hurry(conn);
	return 0;
}

static int worker_quit(struct loop *loop, void *arg)
{
	struct target_conn *conn = ((struct job *)arg)->worker->conns;

	(void)loop;
	for (; conn; conn = conn->next)
		target_conn_quit(conn);
	return 0;
}

static void each_worker(struct target *target, int (*fn)(struct loop *, void *))
{
	for (unsigned i = 0; i < target->workers; i++) {
		struct job job = { .worker = &target->worker[i] };

		loop_call(target->loop, job.worker->loop, fn, &job);
	}
}

struct mark {
	struct loop_msg msg;
	volatile int passed;
};

static void mark_passed(struct loop_msg *msg)
{
	container_of(msg, struct mark, msg)->passed = 1;
}

/* A fence of another target may still be on its way to a worker. Closing waits for what was posted
 * to a thread before, so what was posted to this loop must run, too. */
static void end(struct target *target)
{
	struct mark mark = { .msg.run = mark_passed };

	ways_close(target->listen, target->opt.listens);
	target_forgotten(target);
	loop_post(target->loop, &mark.msg);
	loop_wait(target->loop, &mark.passed, 0);
	each_worker(target, worker_close);
	free(target->worker);
	target->worker = NULL;
	target->workers = 0;
	free(target->places);
	target->places = NULL;
	if (target->proto->free)
		target->proto->free(target);
}

static int start_workers(struct target *target, struct diag *diag)
{
	target->worker = calloc(target->opt.nloops, sizeof(*target->worker));
	if (!target->worker)
		return diag_sys(diag, ENOMEM, "%u workers", target->opt.nloops);
	for (; target->workers < target->opt.nloops; target->workers++) {
		struct target_worker *worker = &target->worker[target->workers];
		struct job job = { .worker = worker, .diag = diag };
		int err;

		worker->target = target;
		worker->loop = target->opt.loops[target->workers];
		err = loop_call(target->loop, worker->loop, worker_open, &job);
		if (err)
			return err;
	}
	return 0;
}

static void incoming_stream(int fd, const struct addr *peer, void *user)
{
	struct target *target = user;

	target->proto->stream(target, fd, peer);
}

static void incoming_rdma(struct ep_incoming *incoming, void *user)
{
	struct target *target = user;

	target->proto->rdma(target, incoming);
}

/* Out of descriptors for the next connection. true: one will be free soon. */
static bool starved(const struct diag *why, void *user)
{
	struct target *target = user;

	if (target->places->leaving || target_places_evict(target->places))
		return true;
	target_places_refuse(target->places, why);
	return false;
}

/* A connection was dropped before any data was read. Not reported, as a peer that sends nothing
 * must not flood the operator's screen. */
static void dropped(void *user)
{
	struct target *target = user;

	target->places->refused++;
}

static void ways_changed(struct ways *ways)
{
	struct target *target = ways->user;

	if (target->proto->ways)
		target->proto->ways(target);
}

static int start_listening(struct target *target, uint32_t timeout_ms, struct diag *diag)
{
	const struct target_options *opt = &target->opt;

	for (unsigned i = 0; i < opt->listens; i++)
		target->listen[i] = (struct ways){ .at = opt->listen[i].at,
			.want = opt->listen[i].ways,
			.stream = incoming_stream,
			.rdma = incoming_rdma,
			.starved = starved,
			.dropped = dropped,
			.changed = ways_changed,
			.user = target,
			.timeout_ms = opt->open_ms,
			.no_crc = opt->listen[i].no_crc,
			.freebind = opt->listen[i].freebind,
			.mode = opt->listen[i].mode };
	return opt->listens
		       ? ways_open(target->listen, opt->listens, target->loop, timeout_ms, diag)
		       : 0;
}

static void choose_stores(struct target *target)
{
	bool shared = false;

	for (unsigned i = 0; i < target->opt.disks; i++)
		shared |= !target->disk[i].exposed;
	target->stores = shared;
	for (unsigned i = 0; i < target->opt.disks; i++)
		if (target->disk[i].exposed)
			target->disk[i].store = (uint8_t)target->stores++;
	target->stores += !target->stores;
}

static int make_places(struct target *target, struct diag *diag)
{
	const struct target_options *opt = &target->opt;

	target->places = calloc(1, sizeof(*target->places));
	if (!target->places)
		return diag_sys(diag, ENOMEM, "target");
	*target->places = (struct target_places){ .limit = { .connections = opt->connections,
							  .announced = target->proto->announced,
							  .listed = opt->hosts },
		.shares = opt->nloops * target->stores,
		.evict = evict,
		.full = opt->full,
		.user = opt->full_user };
	return 0;
}

static void set_options(struct target *target, const struct target_options *opt)
{
	const struct target_proto *proto = target->proto;
	struct target_options *to = &target->opt;

	*to = *opt;
	to->buffer = opt->buffer ? opt->buffer : BUFFER;
	to->buffers = opt->buffers ? opt->buffers : BUFFERS;
	to->depth = opt->depth ? opt->depth : proto->depth;
	to->connections = opt->connections ? opt->connections : proto->connections;
	to->open_ms = opt->open_ms ? opt->open_ms : proto->open_ms;
	to->stall_ms = opt->stall_ms ? opt->stall_ms : proto->stall_ms;
}

int target_start(struct target *target, struct loop *loop, const struct target_proto *proto,
	const struct target_options *opt, uint32_t timeout_ms, struct diag *diag)
{
	int err;

	target->proto = proto;
	target->loop = loop;
	set_options(target, opt);
	target->idle = 1;
	for (unsigned i = 0; i < opt->disks; i++) {
		struct bdev *bdev = opt->disk[i].bdev;

		target->disk[i] = (struct target_disk){ .bdev = bdev,
			.index = i,
			.ro = opt->disk[i].ro || bdev->lim.ro,
			.exposed = bdev->lim.exposed,
			.size = bdev->lim.size };
		if (bdev->lim.io_size > target->io_size)
			target->io_size = bdev->lim.io_size;
	}
	choose_stores(target);
	err = make_places(target, diag);
	if (!err)
		err = start_workers(target, diag);
	if (!err)
		target_known(target);
	if (!err)
		err = start_listening(target, timeout_ms, diag);
	if (err)
		end(target);
	return err;
}

unsigned target_ways(const struct target *target, unsigned listen, struct addr *bound)
{
	*bound = target->listen[listen].bound;
	return __atomic_load_n(&target->listen[listen].up, __ATOMIC_ACQUIRE);
}

void target_get_status(const struct target *target, struct target_status *status)
{
	*status = (struct target_status){ .clients = target->places->count,
		.refused = target->places->refused };
	target_get_count(target, &status->count);
	if (target->proto->census)
		target->proto->census(target, status);
}

void target_get_count(const struct target *target, struct io_count *sum)
{
	*sum = (struct io_count){ 0 };
	for (unsigned i = 0; i < target->workers; i++) {
		const struct io_count *count = &target->worker[i].count;

		sum->reads += __atomic_load_n(&count->reads, __ATOMIC_RELAXED);
		sum->writes += __atomic_load_n(&count->writes, __ATOMIC_RELAXED);
		sum->read_bytes += __atomic_load_n(&count->read_bytes, __ATOMIC_RELAXED);
		sum->written_bytes += __atomic_load_n(&count->written_bytes, __ATOMIC_RELAXED);
		sum->errors += __atomic_load_n(&count->errors, __ATOMIC_RELAXED);
	}
}

void target_resized(struct target *target, struct bdev *bdev)
{
	for (unsigned i = 0; i < target->opt.disks; i++) {
		struct target_disk *disk = &target->disk[i];

		if (disk->bdev != bdev || disk->size == bdev->lim.size)
			continue;
		__atomic_store_n(&disk->size, bdev->lim.size, __ATOMIC_RELAXED);
		if (target->proto->resized)
			target->proto->resized(target, disk);
	}
}

/* Complete what is in flight, as long as peers take the replies and the disks answer; false = a
 * disk still holds a request. */
static bool drain(struct target *target, uint64_t deadline, bool *late)
{
	uint64_t polite = loop_clock() + target->proto->polite_ms * MSEC;

	for (struct target_conn *conn = target->conns; conn; conn = conn->peer_next)
		if (!target->proto->later || !target->proto->later(conn))
			target_conn_end(conn);
	if (target->proto->polite_ms && polite < deadline) {
		if (loop_wait(target->loop, &target->idle, polite))
			return true;
		each_worker(target, worker_hurry);
	}
	if (loop_wait(target->loop, &target->idle, deadline))
		return true;
	*late = true;
	each_worker(target, worker_quit);
	return loop_wait(target->loop, &target->idle, loop_clock() + CANCEL_MS * MSEC);
}

int target_stop(struct target *target, uint32_t timeout_ms, struct diag *diag)
{
	struct job job = { .diag = diag, .deadline = loop_clock() + timeout_ms * MSEC };
	bool late = false;
	int err;

	if (!target)
		return 0;
	__atomic_store_n(&target->stopping, true, __ATOMIC_RELAXED);
	ways_close(target->listen, target->opt.listens);
	if (!drain(target, job.deadline, &late)) /* the disk may still access memory of a
						    connection: nothing can be freed */
		return diag_set(diag, DIAG_TIMEOUT, EINPROGRESS,
			"data may not be on the disk: no answer within %g s", timeout_ms / 1000.);
	job.worker = &target->worker[0];
	err = loop_call(target->loop, job.worker->loop, worker_flush, &job);
	if (late && !err)
		err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"requests aborted: hosts or disks did not answer within %g s",
			timeout_ms / 1000.);
	if (job.kept)
		return -EINPROGRESS;
	end(target);
	return err;
}
