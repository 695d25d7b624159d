/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target as a whole: workers with their lanes and buffers, listeners, admission of connections
 * and their assignment to workers, and the orderly stop. All but the worker_ functions run on the
 * target's loop. */
#include "frame.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* stores of data buffers with full size; more stores share that memory, but each has at least
 * STORE_BUFFERS */
#define FULL_STORES   4
#define STORE_BUFFERS 16
/* for disks to return cancelled requests, and for RDMA connections, which wait 500 ms for the peer
 * to close */
#define CANCEL_MS 1500
#define BUFFER    131072
#define BUFFERS   64

static void evict(struct target_admission_entry *admission)
{
	struct target_conn *conn = container_of(admission, struct target_conn, admission);

	static const char *const why[] = {
		"no handshake yet, and another host needs the connection",
		"another host needs the connection",
		"its address has most connections, and another address needs one"
	};

	target_conn_cut(conn, why[admission->class]);
}

bool target_make_room(struct target *target, const struct addr *peer)
{
	return !target->stopping && target_admission_make_room(target->admission, peer);
}

bool target_admit(struct target_conn *conn, const char *host, bool opens_more)
{
	struct target *target = conn->target;
	bool ok = target_admission_admit(target->admission, &conn->admission, host, opens_more);

	loop_trace(
		target->loop, "%s: %s as %s", conn->name, ok ? "admitted" : "not admitted", host);
	return ok;
}

void target_admit_discovery(struct target_conn *conn)
{
	target_admission_set_discovery(conn->target->admission, &conn->admission);
}

void target_conn_begin(struct target *target, struct target_conn *conn,
	const struct target_carrier *carrier, const struct addr *peer)
{
	struct target_worker *best = &target->worker[0];

	for (unsigned i = 1; i < target->workers; i++)
		if (target->worker[i].load < best->load)
			best = &target->worker[i];
	best->load++;
	target_admission_add(target->admission, &conn->admission, peer);
	target->idle = 0;
	conn->carrier = carrier;
	conn->target = target;
	conn->worker = best;
	conn->loop = best->loop;
	conn->port = target->incoming ? target->incoming->index : 0;
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
	if (conn->kill_posted)
		return;
	conn->kill_posted = true;
	conn->kill_why = why;
	conn->kill_hop.run = target_conn_killed;
	loop_post(conn->loop, &conn->kill_hop);
}

void target_conn_cut(struct target_conn *conn, const char *why)
{
	if (!conn->kill_posted)
		conn->kill_now = true;
	target_conn_kill(conn, why);
}

void target_conn_end(struct target_conn *conn)
{
	if (conn->end_posted)
		return;
	conn->end_posted = true;
	conn->end_hop.run = target_conn_ended;
	loop_post(conn->loop, &conn->end_hop);
}

/* The last hops of a connection: once more to the worker, behind everything posted to it before,
 * and back here to be freed. */
static void free_conn(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);
	struct target *target = conn->target;

	conn->worker->load--;
	target_admission_remove(target->admission, &conn->admission);
	target->idle = !target->admission->count;
	free(conn);
}

static void pass_worker(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);

	msg->run = free_conn;
	loop_post(conn->target->loop, msg);
}

void target_conn_begin_free(struct loop_msg *msg)
{
	struct target_conn *conn = container_of(msg, struct target_conn, hop);

	*conn->peer_link = conn->peer_next;
	if (conn->peer_next)
		conn->peer_next->peer_link = conn->peer_link;
	if (conn->target->proto->closed)
		conn->target->proto->closed(conn);
	conn->end_posted = conn->kill_posted = true; /* post no more */
	msg->run = pass_worker;
	loop_post(conn->loop, msg);
}

struct job { /* for a worker, by loop_call() */
	struct target_worker *worker;
	struct diag *diag;
	uint64_t deadline;
	bool io_held; /* a disk still holds our flush */
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

static uint64_t moved_bytes(struct target_conn_quota *conn_quota)
{
	return conn_quota->conn->carrier->moved(conn_quota->conn);
}

static void evict_conn(struct target_conn_quota *conn_quota)
{
	target_conn_evict(conn_quota->conn);
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
			.loop = worker->loop, .moved = moved_bytes, .end = evict_conn
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
		job->io_held |= err == -EINPROGRESS;
		result = result ? result : err;
	}
	return result;
}

static int worker_abort_replies(struct loop *loop, void *arg)
{
	struct target_conn *conn = ((struct job *)arg)->worker->conns;

	(void)loop;
	for (; conn; conn = conn->next)
		target_conn_abort_replies(conn);
	return 0;
}

static int worker_abort(struct loop *loop, void *arg)
{
	struct target_conn *conn = ((struct job *)arg)->worker->conns;

	(void)loop;
	for (; conn; conn = conn->next)
		target_conn_abort(conn);
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

/* A fence of another target may still be posted to a worker. Closing waits for all that was posted
 * to a worker before; run what was posted to this loop, too. */
static void free_target(struct target *target)
{
	struct mark mark = { .msg.run = mark_passed };

	listeners_close(target->listen, target->opt.listens);
	target_unregister(target);
	loop_post(target->loop, &mark.msg);
	loop_wait(target->loop, &mark.passed, 0);
	each_worker(target, worker_close);
	free(target->worker);
	target->worker = NULL;
	target->workers = 0;
	free(target->admission);
	target->admission = NULL;
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

static bool refuses(struct target *target, const struct addr *peer)
{
	char text[ADDR_TEXT];

	if (target_allows_peer(&target->opt.allows, peer))
		return false;
	target->admission->refused++;
	loop_trace(target->loop, "%s: refused: not an allowed address", addr_text(peer, text));
	return true;
}

static void incoming_stream(int fd, const struct addr *peer, void *user)
{
	const struct target_port *port = user;

	if (refuses(port->target, peer)) {
		close(fd);
		return;
	}
	port->target->incoming = port;
	port->target->proto->stream(port->target, fd, peer);
	port->target->incoming = NULL;
}

static void incoming_rdma(struct ep_incoming *incoming, void *user)
{
	const struct target_port *port = user;

	if (refuses(port->target, &incoming->peer)) {
		ep_reject(incoming, NULL, 0);
		return;
	}
	port->target->incoming = port;
	port->target->proto->rdma(port->target, incoming);
	port->target->incoming = NULL;
}

/* Out of file descriptors. True: one will be free soon. */
static bool starved(const struct diag *why, void *user)
{
	struct target *target = ((const struct target_port *)user)->target;

	if (target->admission->evicted || target_admission_evict(target->admission))
		return true;
	target_admission_report_refusal(target->admission, why);
	return false;
}

/* A connection was dropped before it sent any data. Not reported, as a peer must not be able to
 * flood the log. */
static void dropped(void *user)
{
	struct target *target = ((const struct target_port *)user)->target;

	target->admission->refused++;
}

static void listener_changed(struct listener *listener)
{
	struct target *target = ((const struct target_port *)listener->user)->target;

	if (target->proto->transports_changed)
		target->proto->transports_changed(target);
}

static int start_listening(struct target *target, uint32_t timeout_ms, struct diag *diag)
{
	const struct target_options *opt = &target->opt;

	for (unsigned i = 0; i < opt->listens; i++) {
		target->port[i] = (struct target_port){ target, i };
		target->listen[i] = (struct listener){ .at = opt->listen[i].at,
			.transports = opt->listen[i].transports,
			.stream = incoming_stream,
			.rdma = incoming_rdma,
			.starved = starved,
			.dropped = dropped,
			.changed = listener_changed,
			.user = &target->port[i],
			.timeout_ms = opt->open_ms,
			.no_crc = opt->listen[i].no_crc,
			.freebind = opt->listen[i].freebind,
			.mode = opt->listen[i].mode };
	}
	return opt->listens ? listeners_open(
				      target->listen, opt->listens, target->loop, timeout_ms, diag)
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

static int make_admission(struct target *target, struct diag *diag)
{
	const struct target_options *opt = &target->opt;

	target->admission = calloc(1, sizeof(*target->admission));
	if (!target->admission)
		return diag_sys(diag, ENOMEM, "target");
	*target->admission = (struct target_admission){
		.limit = { .connections = opt->connections,
			.announced = target->proto->announced,
			.listed = opt->hosts || opt->chap.hosts || opt->initiators },
		.quotas = opt->nloops * target->stores,
		.evict = evict,
		.full = opt->full,
		.user = opt->full_user
	};
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
	err = make_admission(target, diag);
	if (!err)
		err = start_workers(target, diag);
	if (!err)
		target_register(target);
	if (!err)
		err = start_listening(target, timeout_ms, diag);
	if (err)
		free_target(target);
	return err;
}

unsigned target_transports(const struct target *target, unsigned listen, struct addr *bound)
{
	*bound = target->listen[listen].bound;
	return __atomic_load_n(&target->listen[listen].up, __ATOMIC_ACQUIRE);
}

void target_get_status(const struct target *target, struct target_status *status)
{
	*status = (struct target_status){ .clients = target->admission->count,
		.refused = target->admission->refused };
	target_get_count(target, &status->count);
	if (target->proto->count_clients)
		target->proto->count_clients(target, status);
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

/* Complete the outstanding commands, as long as peers receive the replies and disks respond.
 * False: a disk still holds a request. */
static bool drain(struct target *target, uint64_t deadline, bool *timed_out)
{
	uint64_t replies_until = loop_clock() + target->proto->drain_ms * MSEC;

	for (struct target_conn *conn = target->conns; conn; conn = conn->peer_next)
		if (!target->proto->stop_last || !target->proto->stop_last(conn))
			target_conn_end(conn);
	if (target->proto->drain_ms && replies_until < deadline) {
		if (loop_wait(target->loop, &target->idle, replies_until))
			return true;
		each_worker(target, worker_abort_replies);
	}
	if (loop_wait(target->loop, &target->idle, deadline))
		return true;
	*timed_out = true;
	each_worker(target, worker_abort);
	return loop_wait(target->loop, &target->idle, loop_clock() + CANCEL_MS * MSEC);
}

int target_stop(struct target *target, uint32_t timeout_ms, struct diag *diag)
{
	struct job job = { .diag = diag, .deadline = loop_clock() + timeout_ms * MSEC };
	bool timed_out = false;
	int err;

	if (!target)
		return 0;
	__atomic_store_n(&target->stopping, true, __ATOMIC_RELAXED);
	listeners_close(target->listen, target->opt.listens);
	/* A disk may still access memory of a connection: nothing can be freed. */
	if (!drain(target, job.deadline, &timed_out))
		return diag_set(diag, DIAG_TIMEOUT, EINPROGRESS,
			"data may not be on the disk: no answer within %g s", timeout_ms / 1000.);
	job.worker = &target->worker[0];
	err = loop_call(target->loop, job.worker->loop, worker_flush, &job);
	if (timed_out && !err)
		err = diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"requests aborted: hosts or disks did not answer within %g s",
			timeout_ms / 1000.);
	if (job.io_held)
		return -EINPROGRESS;
	free_target(target);
	return err;
}
