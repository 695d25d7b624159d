/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Our initiator against our target on wires that misbehave, by seeded schedules: NVMe-oF and SRP
 * over the endpoint in memory, which pauses, delays completions, shrinks what the device gives,
 * cuts, drops and truncates; over TCP, software iWARP, iSCSI and NBD with sockets that take
 * and give little. Each request is done once, data is equal, all of it ends. SCHEDULES=n in the
 * environment runs more than the default, SEED=n others. */
/* Link: sendmsg send readv recv */
#include "ep_pair.h"
#include "serving.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define SEC     1000000000ull
#define NQN     SERVING_NQN
#define SLOTS   12
#define REGION  (256u << 10) /* each slot's own part of the disk */
#define PIECES  16
#define LANES   4
#define THREADS 3

enum serve_way { PAIR, TCP, IWARP, NBD, ISCSI, SRP_PAIR, SRP_IWARP };

static unsigned dice;
static bool harm;
static struct ep_peer peer;
static struct lane *lanes[LANES];
static unsigned queues; /* lanes in use */
static bool stop_early; /* the target, with everything in flight */
static volatile int over;
static uint8_t *model;            /* what the disk holds, as far as answers tell */
static uint8_t noise[2 * REGION]; /* what is written, from anywhere in it */
/* whole, broken: schedules */
static unsigned todo, flying, failures, cut_when, seed_now, whole, broken;
static struct slot {
	struct io io;
	struct buf buf;
	struct lane *lane;
	uint8_t *lower;
	bool busy, torn; /* torn: a change failed, so that either is right */
} slot[SLOTS];

static bool in_memory(enum serve_way way)
{
	return way == PAIR || way == SRP_PAIR;
}

static unsigned roll(unsigned sides)
{
	return (unsigned)rand_r(&dice) % sides;
}

/* Sockets that take and give little, or nothing this time. */
ssize_t __real_sendmsg(int, const struct msghdr *, int);
ssize_t __real_send(int, const void *, size_t, int);
ssize_t __real_readv(int, const struct iovec *, int);
ssize_t __real_recv(int, void *, size_t, int);
ssize_t __wrap_sendmsg(int, const struct msghdr *, int);
ssize_t __wrap_send(int, const void *, size_t, int);
ssize_t __wrap_readv(int, const struct iovec *, int);
ssize_t __wrap_recv(int, void *, size_t, int);

/* Some of the bytes only; 0: none. */
static int some(const struct iovec *iov, size_t count, struct iovec out[PIECES])
{
	size_t most = roll(3) ? 1 + roll(70000) : 1 + roll(40);
	int n = 0;

	if (!roll(6))
		return 0;
	for (size_t i = 0; i < count && n < PIECES && most; i++) {
		out[n] = iov[i];
		if (out[n].iov_len > most)
			out[n].iov_len = most;
		most -= out[n++].iov_len;
	}
	return n;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec iov[PIECES];
	struct msghdr less = *msg;

	if (!harm || roll(2))
		return __real_sendmsg(fd, msg, flags);
	less.msg_iov = iov;
	less.msg_iovlen = (size_t)some(msg->msg_iov, msg->msg_iovlen, iov);
	errno = EAGAIN;
	return less.msg_iovlen ? __real_sendmsg(fd, &less, flags) : -1;
}

ssize_t __wrap_readv(int fd, const struct iovec *all, int count)
{
	struct iovec iov[PIECES];
	int n;

	if (!harm || roll(2))
		return __real_readv(fd, all, count);
	n = some(all, (size_t)count, iov);
	errno = EAGAIN;
	return n ? __real_readv(fd, iov, n) : -1;
}

ssize_t __wrap_send(int fd, const void *p, size_t len, int flags)
{
	struct iovec all = { (void *)(uintptr_t)p, len }, iov[PIECES];

	/* Nothing was sent before MPA's frames, so a socket takes them whole. */
	if (!harm || (len > 4 && !memcmp(p, "MPA ", 4)) || roll(2))
		return __real_send(fd, p, len, flags);
	errno = EAGAIN;
	return some(&all, 1, iov) ? __real_send(fd, p, iov[0].iov_len, flags) : -1;
}

ssize_t __wrap_recv(int fd, void *p, size_t len, int flags)
{
	struct iovec all = { p, len }, iov[PIECES];

	if (!harm || flags & (MSG_PEEK | MSG_TRUNC) || roll(2))
		return __real_recv(fd, p, len, flags);
	errno = EAGAIN;
	return some(&all, 1, iov) ? __real_recv(fd, p, iov[0].iov_len, flags) : -1;
}

static void next(struct slot *);

static void done(struct io *io)
{
	struct slot *s = container_of(io, struct slot, io);

	cr_assert(s->busy, "seed %u: done twice", seed_now);
	s->busy = false;
	flying--;
	if (io->status) {
		failures++;
		s->torn |= io->kind != IO_READ && io->kind != IO_FLUSH;
	} else if (io->kind == IO_READ) {
		cr_assert_arr_eq(s->buf.p, model + io->off, io->len, "seed %u: read of %u at %#llx",
			seed_now, io->len, (unsigned long long)io->off);
	} else if (io->kind == IO_WRITE) {
		memcpy(model + io->off, s->buf.p, io->len);
	} else if (io->kind == IO_ZERO) {
		memset(model + io->off, 0, io->len);
	}
	if (todo && !failures)
		next(s);
	over = !flying;
}

static void next(struct slot *s)
{
	static const uint8_t kinds[] = { IO_READ, IO_READ, IO_READ, IO_WRITE, IO_WRITE, IO_WRITE,
		IO_ZERO, IO_FLUSH };
	uint8_t kind = kinds[roll(sizeof(kinds))];
	uint32_t blocks = 1 + (roll(3) ? roll(16) : roll(REGION / 512)),
		 at = roll(REGION / 512 - blocks + 1);
	unsigned salt = roll(REGION);

	s->io = (struct io){ .kind = kind, .lower = s->lower, .done = done };
	if (kind != IO_FLUSH) {
		s->io.off = (uint64_t)(s - slot) * REGION + at * 512;
		s->io.len = blocks * 512;
	}
	if (kind == IO_READ || kind == IO_WRITE)
		s->io.buf = &s->buf;
	if (kind == IO_WRITE)
		memcpy(s->buf.p, noise + salt, s->io.len);
	else if (kind == IO_READ)
		memset(s->buf.p, 0xee, s->io.len);
	s->busy = true;
	flying++;
	if (todo-- == cut_when) {
		diag_set(&why, DIAG_CLOSED, ECONNRESET, "test");
		s->lane->ops->abort(s->lane, &why);
	}
	bdev_submit(s->lane, &s->io);
}

static void serve(enum serve_way way)
{
	/* the disk's timers are due within less than it spins */
	serving_begin(SLOTS * REGION,
		in_memory(way)     ? TRANSPORT_VERBS
		: way == SRP_IWARP ? TRANSPORT_IWARP
				   : TRANSPORT_TCP | TRANSPORT_IWARP,
		1000);
	for (unsigned i = 0; i < SLOTS; i++)
		memcpy(backing->bytes + i * REGION, noise + roll(REGION), REGION);
	memcpy(model, backing->bytes, SLOTS * REGION);
	backing->seed = 1 + roll(1000);
	opt.depth = (uint16_t)(32 + roll(33));
	opt.buffers = (uint16_t)(1 + roll(6));
	if (in_memory(way)) {
		peer = (struct ep_peer){ .linked = true };
		ep_pair_peer(loop, &peer);
	}
}

static void start(enum serve_way way)
{
	if (way == NBD)
		serving_start_nbd(1 + roll(16));
	else if (way == ISCSI)
		serving_start_iscsi();
	else if (way >= SRP_PAIR)
		serving_start_srp();
	else
		serving_start();
}

static void do_harm(enum serve_way way)
{
	harm = !in_memory(way);
	cut_when = harm && !roll(2) ? 1 + roll(60) : 0;
	peer.fault.seed = 1 + roll(100000);
	peer.fault.pause = roll(3) ? 1 + roll(6) + 1 : 0;
	peer.fault.delayed = roll(3) ? 2 + roll(5) : 0;
	peer.fault.cut = roll(3) ? 0 : 20 + roll(300);
	peer.fault.drop = roll(6) ? 0 : 20 + roll(300);
	peer.fault.truncate = roll(6) ? 0 : 20 + roll(300);
	peer.limit.send = roll(2) ? 0 : (way == PAIR ? 6 : 7) + roll(40);
	peer.limit.sge = roll(2);
	peer.limit.inline_max = roll(2) ? 0 : 16 + roll(80);
	peer.limit.ord = roll(2) ? 0 : 1 + roll(4);
}

/* Something that a request need not survive. */
static bool harmed(void)
{
	return peer.fault.cuts || peer.fault.drops || peer.fault.truncated;
}

static bool attach(enum serve_way way, bool *may_fail)
{
	const struct bdev_env env = { .hostnqn = "nqn.host",
		.hostid = { 9 },
		.initiator = "iqn.2024-01.test:me",
		.write = true,
		.timeout_ms = harmed() ? 5000 : NO_LIMIT_MS };
	char text[200];
	bool up;

	if (way == NBD)
		snprintf(text, sizeof(text), "nbd+unix:///?socket=%s&queues=4&depth=%u",
			serving_socket(), 1 + roll(SLOTS));
	else if (way == ISCSI)
		snprintf(text, sizeof(text), "iscsi://127.0.0.1:%u/" SERVING_IQN "/0?queues=4%s",
			serving_port(), roll(2) ? "&hdr_digest=1&data_digest=1" : "");
	else if (way >= SRP_PAIR)
		snprintf(text, sizeof(text), "srp+cm://127.0.0.1:%u/9/9/0?queues=4&immediate=%s%s",
			serving_port(), roll(3) ? "yes" : "no",
			way == SRP_IWARP ? "&rdma=iwarp" : "");
	else
		snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" NQN "/1%s",
			way == TCP ? "tcp" : "rdma", serving_port(),
			way == IWARP            ? "?rdma=iwarp&queues=4"
			: way == TCP && roll(2) ? "?hdr_digest=1&data_digest=1&queues=4"
						: "?queues=4");
	up = !host_attach(text, &env) && host_try_lane(&lane);
	*may_fail = harmed();
	return up;
}

static void work(void)
{
	struct pool *pool;

	cr_assert_eq(pool_new(&pool, REGION, SLOTS, NULL), 0);
	lanes[0] = lane;
	for (unsigned i = 0; i < queues; i++)
		cr_assert_eq(lane_map(lanes[i], pool, &why), 0, "%s", why.text);
	failures = 0;
	todo = 60 + roll(60);
	for (unsigned i = 0; i < SLOTS; i++) {
		slot[i] = (struct slot){ .buf = pool_buf(pool, i),
			.lane = lanes[i % queues],
			.lower = calloc(1, disk->lim.io_size) };
		cr_assert_not_null(slot[i].lower);
	}
	over = 0;
	for (unsigned i = 0; i < SLOTS; i++)
		next(&slot[i]);
	if (stop_early) {
		loop_wait(loop, &over, loop_clock() + roll(3000) * 1000);
		serving_stop();
	}
	cr_assert(!flying || loop_wait(loop, &over, wait_limit()),
		"seed %u: %u requests are not answered", seed_now, flying);
	cr_assert(!failures || harmed() || cut_when || stop_early,
		"seed %u: %u failures without a cause: %s", seed_now, failures, lane->why.text);
	*(failures ? &broken : &whole) += 1;
	for (unsigned i = 0; i < queues; i++)
		lane_unmap(lanes[i], pool);
	for (unsigned i = 0; i < SLOTS; i++)
		free(slot[i].lower);
	pool_free(pool);
}

static void schedule(enum serve_way way, unsigned seed)
{
	bool may_fail = false;

	seed_now = dice = seed;
	memset(slot, 0, sizeof(slot));
	queues = 1;
	serve(way);
	start(way);
	do_harm(way);
	if (attach(way, &may_fail))
		work();
	else
		cr_assert(may_fail, "seed %u: %s", seed, why.text);
	if (lane)
		lane->ops->free(lane);
	disk->ops->free(disk);
	lane = NULL;
	serving_stop();
	cr_assert_eq(peer.fault.starved, 0, "seed %u", seed);
	for (unsigned i = 0; i < SLOTS; i++)
		if (!slot[i].torn)
			cr_assert_arr_eq(backing->bytes + i * REGION, model + i * REGION, REGION,
				"seed %u: region %u", seed, i);
	harm = false;
	fake_disk_free(backing);
	loop_free(loop);
}

/* Queues on several threads: connections that go, and a target that stops, with everything in
 * flight. */
static void threads_schedule(enum serve_way way, unsigned seed)
{
	const struct loop_options options = { .name = "workers", .poll_us = seed & 1 ? 100 : 0 };
	static const struct bdev_env env = { .write = true };
	struct loop *loops[THREADS];
	struct workers *workers;
	struct bdev *ram;
	bool may_fail;

	seed_now = dice = seed;
	serve(way);
	memset(model, 0, SLOTS * REGION);
	cr_assert_eq(bdev_open(&ram, loop, "ram:16M", &env, &why), 0, "%s", why.text);
	cr_assert_eq(workers_start(&workers, THREADS, &options, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		loops[i] = workers_loop(workers, i);
	opt.loops = loops;
	opt.nloops = THREADS;
	opt.disk[0].bdev = ram;
	start(way);
	cr_assert(attach(way, &may_fail), "%s", why.text);
	for (queues = 1; queues < LANES; queues++)
		cr_assert(host_try_lane(&lanes[queues]), "%s", why.text);
	stop_early = seed % 3 == 0;
	cut_when = seed % 3 == 1 ? 1 + roll(60) : 0;
	work();
	for (unsigned i = 0; i < queues; i++)
		lanes[i]->ops->free(lanes[i]);
	disk->ops->free(disk);
	lane = NULL;
	serving_stop();
	stop_early = false;
	workers_stop(workers);
	bdev_close(ram);
	fake_disk_free(backing);
	loop_free(loop);
}

static unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void schedules(enum serve_way way, unsigned count, void (*run)(enum serve_way, unsigned))
{
	unsigned from = number("SEED", 1);

	model = malloc(SLOTS * REGION);
	cr_assert_not_null(model);
	dice = 1;
	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)roll(256);
	count = number("SCHEDULES", count);
	if (run == threads_schedule)
		count = count / 4 + 9;
	for (unsigned seed = from; seed - from < count; seed++)
		run(way, seed);
	cr_assert(whole && broken, "%u schedules without and %u with a loss", whole, broken);
	free(model);
}

Test(faults, in_memory)
{
	schedules(PAIR, 40, schedule);
}
Test(faults, tcp)
{
	schedules(TCP, 20, schedule);
}
Test(faults, iwarp)
{
	schedules(IWARP, 20, schedule);
}
Test(faults, nbd)
{
	schedules(NBD, 20, schedule);
}
Test(faults, iscsi)
{
	schedules(ISCSI, 20, schedule);
}
Test(faults, srp_in_memory)
{
	schedules(SRP_PAIR, 40, schedule);
}
Test(faults, srp_iwarp)
{
	schedules(SRP_IWARP, 20, schedule);
}
Test(faults, tcp_on_several_threads)
{
	schedules(TCP, 0, threads_schedule);
}
Test(faults, iwarp_on_several_threads)
{
	schedules(IWARP, 0, threads_schedule);
}
Test(faults, nbd_on_several_threads)
{
	schedules(NBD, 0, threads_schedule);
}
Test(faults, iscsi_on_several_threads)
{
	schedules(ISCSI, 0, threads_schedule);
}
Test(faults, srp_on_several_threads)
{
	schedules(SRP_IWARP, 0, threads_schedule);
}
