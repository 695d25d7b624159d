/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One disk over two paths, by seeded schedules: reads, flushes and overlapping writes while paths
 * are cut, silent in one or both directions, and restored, targets are killed and stopped, their
 * disk is slow or grows. One target with two listeners, two over one disk, or two as in processes
 * of their own, which know nothing of each other; NBD has one path. Each request completes once,
 * none fails, no write is lost, and none lands after a newer one (fake/history.h). SCHEDULES=n in
 * the environment runs n/30 of each protocol, SEED=n others than the default. */
/* Link: leap epoll_create1 tcp_is_unacknowledged */
#include "../../core/block/paths.h"
#include "history.h"
#include "leap.h"
#include "nbd_server.h"
#include "network.h"
#include "serve.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define NQN       "nqn.2024-01.test:disk"
#define IQN       "iqn.2024-01.test:disk"
#define SLOTS     12
#define LANES     3
#define REQUESTS  256
#define LEN_MAX   (8 * HISTORY_BLOCK)
#define SIZE      (1u << 20)
#define LOSS_MS   60000 /* the disk's time limit: longer than any outage */
#define SHORT_MS  1500  /* the same in some schedules, where requests may fail */
#define DELAY_MS  2300  /* of late writes; less than any protocol's quiet time, 3 s at detect=1 */
#define STOP_MS   9000  /* of a server whose connections the host can reset */
#define QUIET_MS  6000  /* between two delays, which could add up */
#define SETTLE_MS 8000  /* all late writes have landed */
#define TICK_MS   20

enum protocol { NVME_TCP, NVME_IWARP, ISCSI, ISER, SRP, NBD };

/* --- seeds */

static unsigned dice, seed_now;

static unsigned roll(unsigned sides)
{
	return (unsigned)rand_r(&dice) % sides;
}

static uint64_t soon(unsigned ms)
{
	return loop_clock() + roll(ms * 1000 + 1) * 1000ull;
}

static char story[4000]; /* the faults of the schedule */
static uint64_t begun_ns;

static void tell(const char *what, unsigned number, unsigned ms)
{
	size_t len = strlen(story);

	snprintf(story + len, sizeof(story) - len, "\n%6.3f s: %s %u for %u ms",
		(double)(loop_clock() - begun_ns) / 1e9, what, number, ms);
}

/* --- the disk, as its servers see it. It is a device of its own: it executes a request also while
 * the server is stopped, and perhaps after the server was killed. */

struct server;
struct device_lane {
	struct lane lane;
	struct server *server;
	bool slow, used;
	struct request *done, **done_end;
	struct loop_timer deliver;
	struct loop_work tell;
};
struct request {
	struct device_lane *lane; /* NULL: its server was killed */
	struct io *io;            /* NULL: unused, or its server was killed */
	struct request *next;
	struct loop_timer land;
	bool over; /* executed, or given up */
	uint8_t kind;
	_Alignas(8) uint8_t data[LEN_MAX];
	uint64_t off;
	uint32_t len;
};
static struct request requests[REQUESTS];
static _Alignas(8) uint8_t bytes[SIZE], stable[SIZE];

/* --- a process that serves the disk, with an event loop of its own, which runs in hooks of the
 * main one, unless it is stopped */

struct server {
	struct bdev *bdev;
	struct loop *loop, *loops[2]; /* loops: of its workers, the same one */
	struct loop_fd ready;         /* on the main loop */
	struct loop_poller poller;    /* of its loop: one turn, without waiting */
	volatile int turned;
	bool stopped, ending;
	struct target *target;
	struct nbd_server *nbd;
	unsigned number;
	struct loop_timer event; /* it continues, or is started again */
	struct device_lane lane[8];
};
static struct loop *loop; /* the main one, of the host and the network */
static struct diag why;
static struct server servers[2];
static struct bdev devices[2];
static unsigned npaths, nservers, nworkers;
static enum protocol protocol;
static struct network network[2];
static struct loop_timer tick;
static int last_epoll;

int __real_epoll_create1(int);
int __wrap_epoll_create1(int);
bool __wrap_tcp_is_unacknowledged(int, uint32_t);

int __wrap_epoll_create1(int flags)
{
	return last_epoll = __real_epoll_create1(flags);
}

/* The kernel of the network in between acknowledges everything. */
bool __wrap_tcp_is_unacknowledged(int fd, uint32_t ms)
{
	for (unsigned i = 0; i < 2; i++)
		if (network[i].silent && network_find(&network[i], fd))
			return loop_clock() - network[i].silent_ns >= ms * MSEC;
	return false;
}

static void run_server(struct server *server)
{
	if (server->stopped || server->ending)
		return;
	server->turned = 0;
	loop_wait(server->loop, &server->turned, 0);
}

static bool server_turned(struct loop_poller *poller)
{
	container_of(poller, struct server, poller)->turned = 1;
	return false;
}

static bool server_never_waits(struct loop_poller *poller)
{
	(void)poller;
	return false;
}

static void server_ready(struct loop_fd *fd, uint32_t events)
{
	(void)events;
	run_server(container_of(fd, struct server, ready));
}

static void ticks(struct loop_timer *timer)
{
	for (unsigned i = 0; i < nservers; i++)
		run_server(&servers[i]);
	loop_timer_set(loop, timer, loop_clock() + TICK_MS * MSEC);
}

/* --- the device */

static void complete(struct request *request, int status)
{
	struct device_lane *lane = request->lane;

	request->over = true;
	request->io->status = status;
	request->next = NULL;
	*lane->done_end = request;
	lane->done_end = &request->next;
	loop_timer_set(lane->lane.loop, &lane->deliver, loop_clock());
}

static void execute(struct request *request)
{
	const char *wrong = NULL;

	if (request->kind == IO_WRITE && request->off < HISTORY_BLOCKS * HISTORY_BLOCK)
		wrong = history_landed((unsigned)(request->off / HISTORY_BLOCK),
			request->len / HISTORY_BLOCK, request->data);
	cr_assert_null(wrong, "seed %u: %s%s", seed_now, wrong, story);
	if (request->kind == IO_WRITE)
		memcpy(bytes + request->off, request->data, request->len);
	else if (request->kind == IO_READ)
		memcpy(request->data, bytes + request->off, request->len);
	else
		memcpy(stable, bytes, sizeof(stable));
}

static void land(struct loop_timer *timer)
{
	struct request *request = container_of(timer, struct request, land);

	execute(request);
	if (request->lane) {
		complete(request, 0);
		run_server(request->lane->server);
	}
}

static void deliver(struct loop_timer *timer)
{
	struct device_lane *lane = container_of(timer, struct device_lane, deliver);
	struct request *request = lane->done, *next;

	lane->done = NULL;
	lane->done_end = &lane->done;
	for (; request; request = next) {
		struct io *io = request->io;

		next = request->next;
		request->io = NULL;
		if (!io->status && request->kind == IO_READ)
			memcpy(io->buf->p, request->data, request->len);
		io->done(io);
	}
}

static struct request *find_request(void)
{
	struct request *request = requests;

	while (request->io || request->land.on)
		cr_assert_lt(++request - requests, REQUESTS);
	return request;
}

static void device_submit(struct lane *base, struct io *io)
{
	struct device_lane *lane = container_of(base, struct device_lane, lane);
	struct request *request = find_request();

	*request = (struct request){ .lane = lane,
		.io = io,
		.land.fire = land,
		.kind = io->kind,
		.off = io->off,
		.len = io->len };
	cr_assert_leq(io->len, LEN_MAX);
	io->detail = 0;
	if (io->kind == IO_WRITE)
		memcpy(request->data, io->buf->p, io->len);
	if (lane->server->ending) {
		execute(request);
		complete(request, 0);
	} else if (!lane->slow) {
		loop_timer_set(loop, &request->land, soon(3));
	}
}

/* Its server ends, and what is in flight is executed soon, or never. */
static void device_lose(struct device_lane *lane)
{
	for (struct request *request = requests; request < requests + REQUESTS; request++) {
		struct request *copy;

		if (request->lane != lane || !request->io || request->over)
			continue;
		loop_timer_del(loop, &request->land);
		if (request->kind == IO_WRITE && roll(2)) {
			copy = find_request();
			*copy = *request;
			copy->lane = NULL;
			copy->io = NULL;
			loop_timer_set(loop, &copy->land, soon(400));
		}
		complete(request, -EIO);
	}
}

static void device_free(struct lane *base)
{
	struct device_lane *lane = container_of(base, struct device_lane, lane);

	loop_work_del(base->loop, &base->kick);
	loop_work_del(base->loop, &lane->tell);
	loop_timer_del(base->loop, &lane->deliver);
	for (struct request *request = requests; request < requests + REQUESTS; request++)
		cr_assert(request->lane != lane || !request->io);
	lane->used = false;
}

static const struct lane_ops device_lane_ops = { .submit = device_submit, .free = device_free };

static void lane_up(struct loop_work *work)
{
	struct lane *lane = &container_of(work, struct device_lane, tell)->lane;

	lane->state = LANE_UP;
	if (lane->changed)
		lane->changed(lane);
}

static int device_lane_open(
	struct lane **out, struct bdev *bdev, struct loop *on, struct diag *diag)
{
	struct server *server = on == servers[0].loop ? &servers[0] : &servers[1];
	struct device_lane *lane = server->lane;

	(void)diag;
	while (lane->used)
		lane++;
	*lane = (struct device_lane){
		.server = server, .used = true, .deliver.fire = deliver, .tell.run = lane_up
	};
	lane->done_end = &lane->done;
	lane_init(&lane->lane, &device_lane_ops, bdev, on);
	loop_work_add(on, &lane->tell);
	*out = &lane->lane;
	return 0;
}

static const struct bdev_ops device_ops = { .name = "device", .lane = device_lane_open };

static void device_begin(struct bdev *bdev)
{
	*bdev = (struct bdev){ .ops = &device_ops,
		.loop = loop,
		.state = BDEV_UP,
		.lim = { .size = SIZE / 2,
			.block = HISTORY_BLOCK,
			.best = HISTORY_BLOCK,
			.lanes = 8,
			.depth = 64,
			.io_size = 8 } };
	bdev->lim.max[IO_READ] = bdev->lim.max[IO_WRITE] = LEN_MAX;
	bdev->lim.max[IO_FLUSH] = 1;
	snprintf(bdev->uri, sizeof(bdev->uri), "device:");
}

static void slow_down(struct device_lane *lane)
{
	lane->slow = true;
	for (struct request *request = requests; request < requests + REQUESTS; request++)
		if (request->lane == lane && request->land.on)
			loop_timer_del(loop, &request->land);
}

static void speed_up(struct device_lane *lane)
{
	lane->slow = false;
	for (struct request *request = requests; request < requests + REQUESTS; request++)
		if (request->lane == lane && request->io && !request->over)
			loop_timer_set(loop, &request->land, soon(3));
}

/* --- servers */

static struct device_lane *slow;
static struct loop_timer normal; /* the end of the slow time */

static struct listen_addr address(unsigned transports)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct listen_addr listen = { .at.len = sizeof(in), .transports = transports };

	memcpy(&listen.at.ss, &in, sizeof(in));
	return listen;
}

static void start_nbd(struct server *server)
{
	static struct nbd_options options[2];
	struct nbd_options *nbd = &options[server->number];

	*nbd = (struct nbd_options){ .exports = 1,
		.listens = nservers == 1 ? 2 : 1,
		.loops = server->loops,
		.nloops = nworkers };
	nbd->export[0] = (struct nbd_export){ .name = "", .bdev = server->bdev };
	nbd->listen[0] = nbd->listen[1] = address(TRANSPORT_TCP).at;
	cr_assert_eq(nbd_server_start(&server->nbd, server->loop, nbd, &why), 0, "%s", why.text);
}

static void start_target(struct server *server)
{
	static target_serve *const serve[] = { nvme_serve, nvme_serve, iscsi_serve, iscsi_serve,
		srp_serve };
	struct target_options opt = { .disks = 1,
		.listens = nservers == 1 ? 2 : 1,
		.loops = server->loops,
		.nloops = nworkers };
	const unsigned transport =
		protocol == NVME_TCP || protocol == ISCSI ? TRANSPORT_TCP : TRANSPORT_IWARP;

	opt.disk[0] = (struct target_disk_options){ .bdev = server->bdev,
		.name = protocol == NVME_TCP || protocol == NVME_IWARP ? NQN : IQN,
		.uuid = { [7] = 9 },
		.nguid = { 9 },
		.serial = "S1" };
	for (unsigned i = 0; i < opt.listens; i++)
		opt.listen[i] = address(transport);
	cr_assert_eq(serve[protocol](&server->target, server->loop, &opt, 1000, &why), 0, "%s",
		why.text);
}

static unsigned port_of(const struct server *server, unsigned listen)
{
	struct addr bound;

	if (server->nbd)
		bound = *nbd_server_addr(server->nbd, listen);
	else
		cr_assert(target_transports(server->target, listen, &bound));
	return ntohs(((struct sockaddr_in *)(void *)&bound.ss)->sin_port);
}

static void server_start(struct server *server)
{
	server->loops[0] = server->loops[1] = server->loop;
	if (protocol == NBD)
		start_nbd(server);
	else
		start_target(server);
	server->ending = false;
	loop_poller_add(server->loop, &server->poller);
	cr_assert_eq(loop_fd_add(loop, &server->ready, NULL), 0);
	for (unsigned i = 0; i < 2; i++)
		if (i % nservers == server->number)
			network[i].to = port_of(server, nservers == 1 ? i : 0);
}

/* limit_ms 1: its process is killed */
static void server_end(struct server *server, uint32_t limit_ms)
{
	int err;

	if (server->ending)
		return;
	server->ending = true;
	server->stopped = false;
	if (slow && slow->server == server) {
		loop_timer_del(loop, &normal);
		slow = NULL;
	}
	for (unsigned i = 0; i < 2; i++)
		if (i % nservers == server->number) {
			network[i].to = 0;
			network_reset(&network[i]);
		}
	for (unsigned i = 0; i < nworkers; i++)
		device_lose(&server->lane[i]);
	loop_poller_del(server->loop, &server->poller);
	loop_fd_del(loop, &server->ready);
	err = server->nbd ? nbd_server_stop(server->nbd, limit_ms, &why)
			  : target_stop(server->target, limit_ms, &why);
	cr_assert(
		!err || (limit_ms == 1 && err != -EINPROGRESS), "seed %u: %s", seed_now, why.text);
	server->nbd = NULL;
	server->target = NULL;
}

static void server_event(struct loop_timer *timer)
{
	struct server *server = container_of(timer, struct server, event);

	server->stopped = false;
	if (server->ending)
		server_start(server);
	else
		cr_assert_eq(loop_fd_add(loop, &server->ready, NULL), 0);
	run_server(server);
}

static void server_begin(unsigned number, struct bdev *bdev)
{
	const struct loop_options options = { .name = "server" };
	struct server *server = &servers[number];

	*server = (struct server){ .number = number,
		.bdev = bdev,
		.event.fire = server_event,
		.poller = { .poll = server_turned, .arm = server_never_waits } };
	cr_assert_eq(loop_new(&server->loop, &options, NULL), 0);
	server->ready =
		(struct loop_fd){ .fd = last_epoll, .events = EPOLLIN, .ready = server_ready };
	server_start(server);
}

/* --- faults. Each ends by itself. Delays are few, so that no write is later than a quiet
 * time allows. */

static struct heal {
	struct loop_timer timer;
	bool delivers;
} heal[2];
static struct loop_timer next_fault;
static uint64_t next_delay_ns;

static unsigned take_delay(unsigned most_ms)
{
	unsigned ms = 50 + roll(most_ms - 50);

	next_delay_ns = loop_clock() + (ms + QUIET_MS) * MSEC;
	return ms;
}

static void restore(struct loop_timer *timer)
{
	struct heal *end = container_of(timer, struct heal, timer);
	struct network *net = &network[end - heal];

	net->refuses = false;
	if (net->silent)
		network_heal(net, end->delivers);
}

static void cut(unsigned number, bool may_delay)
{
	struct network *net = &network[number];
	unsigned ms = 50 + roll(roll(2) ? 800 : 5000);

	heal[number].delivers = false;
	/* What reaches a stopped server is lost only if the host can reset its connections. */
	switch (roll(servers[number % nservers].stopped ? 3 : 6)) {
	case 0:
		tell("reset path", number, 0);
		network_reset(net);
		return;
	case 1:
		tell("reset a connection of path", number, 0);
		if (net->wires)
			network_reset_one(net, roll(net->wires));
		return;
	case 2:
		tell("cut path", number, ms);
		net->refuses = true;
		network_reset(net);
		break;
	case 3:
		heal[number].delivers = may_delay;
		if (may_delay)
			ms = take_delay(DELAY_MS);
		tell(may_delay ? "delay all of path" : "silence path", number, ms);
		network_silence(net, NETWORK_HOST | NETWORK_TARGET);
		break;
	case 4:
		tell("silence the host of path", number, ms);
		network_silence(net, NETWORK_HOST);
		break;
	case 5:
		heal[number].delivers = roll(2);
		tell("silence the target of path", number, ms);
		network_silence(net, NETWORK_TARGET);
		break;
	}
	loop_timer_set(loop, &heal[number].timer, loop_clock() + ms * MSEC);
}

static void kill_server(struct server *server)
{
	unsigned ms = 50 + roll(3000);

	tell("kill server", server->number, ms);
	server_end(server, 1);
	loop_timer_set(loop, &server->event, loop_clock() + ms * MSEC);
}

static void stop_server(struct server *server)
{
	bool silent = network[0].silent || network[1].silent;
	unsigned ms = take_delay(silent ? DELAY_MS : STOP_MS);

	tell("stop server", server->number, ms);
	server->stopped = true;
	loop_fd_del(loop, &server->ready);
	loop_timer_set(loop, &server->event, loop_clock() + ms * MSEC);
}

static void slow_down_server(struct server *server)
{
	unsigned ms = take_delay(DELAY_MS);

	slow = &server->lane[roll(nworkers)];
	tell("slow disk of server", server->number, ms);
	slow_down(slow);
	loop_timer_set(loop, &normal, loop_clock() + ms * MSEC);
}

static void back_to_normal(struct loop_timer *timer)
{
	(void)timer;
	speed_up(slow);
	slow = NULL;
}

static void grow(void)
{
	tell("grow", 0, 0);
	for (unsigned i = 0; i < 2; i++)
		if (devices[i].lim.size < SIZE)
			devices[i].lim.size += 65536;
	for (unsigned i = 0; i < nservers; i++)
		if (servers[i].target)
			target_resized(servers[i].target, servers[i].bdev);
}

static void inject(struct loop_timer *timer)
{
	unsigned number = roll(npaths);
	struct server *server = &servers[roll(nservers)];
	bool may_delay = loop_clock() >= next_delay_ns, busy = server->stopped || server->ending;

	loop_timer_set(loop, timer, soon(loop_clock() < next_delay_ns ? 700 : 1500));
	switch (roll(8)) {
	case 0:
		grow();
		break;
	case 1:
		if (!busy)
			kill_server(server);
		break;
	case 2:
		if (!busy && may_delay)
			stop_server(server);
		break;
	case 3:
		if (!busy && may_delay)
			slow_down_server(server);
		break;
	default:
		if (!heal[number].timer.on)
			cut(number, may_delay);
	}
}

static void end_faults(void)
{
	loop_timer_del(loop, &next_fault);
	if (slow) {
		loop_timer_del(loop, &normal);
		back_to_normal(&normal);
	}
	for (unsigned i = 0; i < 2; i++) {
		if (heal[i].timer.on) {
			loop_timer_del(loop, &heal[i].timer);
			restore(&heal[i].timer);
		}
		if (servers[i].event.on) {
			loop_timer_del(loop, &servers[i].event);
			server_event(&servers[i].event);
		}
	}
}

/* --- the host's requests */

static struct slot {
	struct io io;
	struct buf buf;
	struct lane *lane;
	struct loop_timer pause;
	uint8_t *lower;
	unsigned first, count, write;
	uint32_t begun;
	bool busy;
} slot[SLOTS];
static struct bdev *disk;
static struct lane *lanes[LANES];
static unsigned nlanes, flying, failures, todo;
static bool may_fail;
static volatile int over;

static void again(struct slot *s)
{
	if (todo)
		loop_timer_set(loop, &s->pause, roll(3) ? loop_clock() + 1 : soon(400));
}

static void done(struct io *io)
{
	struct slot *s = container_of(io, struct slot, io);
	const char *wrong = NULL;

	cr_assert(s->busy, "seed %u: done twice%s", seed_now, story);
	s->busy = false;
	flying--;
	cr_assert(!io->status || (may_fail && io->status == -EHOSTUNREACH), "seed %u: status %d%s",
		seed_now, io->status, story);
	failures += io->status != 0;
	if (io->kind == IO_WRITE)
		history_write_done(s->write, !io->status);
	else if (!io->status && io->kind == IO_READ)
		wrong = history_read_done(s->begun, s->first, s->count, s->buf.p);
	else if (!io->status)
		wrong = history_flush_done(s->begun, stable);
	cr_assert_null(wrong, "seed %u: %s%s", seed_now, wrong, story);
	again(s);
	over = !flying && !todo;
}

static void send_next(struct loop_timer *timer)
{
	struct slot *s = container_of(timer, struct slot, pause);
	unsigned dice_of_kind = roll(16);

	if (!todo)
		return;
	todo--;
	if (!s->count || roll(3)) { /* else the same blocks again */
		s->count = 1 + roll(LEN_MAX / HISTORY_BLOCK);
		s->first = roll(HISTORY_BLOCKS - s->count + 1);
	}
	s->io = (struct io){ .kind = dice_of_kind < 8    ? IO_WRITE
				     : dice_of_kind < 15 ? IO_READ
							 : IO_FLUSH,
		.lower = s->lower,
		.done = done };
	s->begun = history_now();
	if (s->io.kind != IO_FLUSH) {
		s->io.off = s->first * HISTORY_BLOCK;
		s->io.len = s->count * HISTORY_BLOCK;
		s->io.buf = &s->buf;
	}
	if (s->io.kind == IO_WRITE) {
		s->write = history_write(s->first, s->count);
		history_fill(s->write, s->first, s->count, s->buf.p);
	}
	s->busy = true;
	flying++;
	bdev_submit(s->lane, &s->io);
}

/* --- a schedule */

static void open_disk(void)
{
	static const char *const format[] = {
		"nvme+tcp://127.0.0.1:%u/" NQN "/1?path=127.0.0.1:%u&queues=4",
		"nvme+rdma://127.0.0.1:%u/" NQN "/1?path=127.0.0.1:%u&queues=4&rdma=iwarp",
		"iscsi://127.0.0.1:%u/" IQN "/0?path=127.0.0.1:%u&queues=4",
		"iser://127.0.0.1:%u/" IQN "/0?path=127.0.0.1:%u&queues=4&rdma=iwarp",
		"srp+cm://127.0.0.1:%u/9/9/0?path=127.0.0.1:%u&queues=4&rdma=iwarp",
		"nbd://127.0.0.1:%u/?queues=4&detect=1",
	};
	static const char *const policy[] = { "failover", "round-robin", "queue-depth" };
	const struct bdev_env env = { .hostnqn = "nqn.2024-01.test:host",
		.hostid = { 9 },
		.initiator = "iqn.2024-01.test:host",
		.write = true,
		.timeout_ms = 3000,
		.on_loss_ms = may_fail ? SHORT_MS : LOSS_MS };
	char uri[300];
	int len = snprintf(uri, sizeof(uri), format[protocol], network[0].port, network[1].port);

	snprintf(uri + len, sizeof(uri) - (size_t)len, "&policy=%s", policy[roll(3)]);
	cr_assert_eq(bdev_open(&disk, loop, uri, &env, &why), 0, "seed %u: %s", seed_now, why.text);
	for (unsigned i = 0; i < nlanes; i++)
		cr_assert_eq(lane_open(&lanes[i], disk, loop, &why), 0, "seed %u: %s", seed_now,
			why.text);
}

static void wait_ms(unsigned ms)
{
	loop_wait(loop, &(volatile int){ 0 }, loop_clock() + ms * MSEC);
}

static void work(void)
{
	struct pool *pool;

	cr_assert_eq(pool_new(&pool, LEN_MAX, SLOTS, NULL), 0);
	for (unsigned i = 0; i < nlanes; i++)
		cr_assert_eq(lane_map(lanes[i], pool, &why), 0, "%s", why.text);
	todo = 500 + roll(500);
	over = 0;
	for (unsigned i = 0; i < SLOTS; i++) {
		slot[i] = (struct slot){ .buf = pool_buf(pool, i),
			.lane = lanes[i % nlanes],
			.lower = calloc(1, disk->lim.io_size),
			.pause.fire = send_next };
		cr_assert_not_null(slot[i].lower);
		again(&slot[i]);
	}
	next_fault.fire = inject;
	loop_timer_set(loop, &next_fault, soon(1000));
	loop_wait(loop, &over, loop_clock() + 30 * SEC);
	todo = 0;
	end_faults();
	over = !flying;
	cr_assert(loop_wait(loop, &over, loop_clock() + 2 * LOSS_MS * MSEC),
		"seed %u: %u requests are not answered%s", seed_now, flying, story);
	for (unsigned i = 0; i < nlanes; i++)
		lane_unmap(lanes[i], pool);
	for (unsigned i = 0; i < SLOTS; i++) {
		loop_timer_del(loop, &slot[i].pause);
		free(slot[i].lower);
	}
	pool_free(pool);
}

/* All paths are back, and the disk has the last writes, and its size. */
static void check_end(void)
{
	const struct paths *paths = container_of(disk, struct paths, bdev);
	const char *wrong;
	struct bdev_path path;

	wait_ms(SETTLE_MS);
	wrong = history_read_done(history_now(), 0, HISTORY_BLOCKS, bytes);
	cr_assert_null(wrong, "seed %u: at the end: %s%s", seed_now, wrong, story);
	for (unsigned i = 0; i <= npaths; i++) {
		cr_assert(bdev_path(disk, i, &path));
		cr_assert_eq(path.state, BDEV_PATH_UP, "seed %u: path %u is not back: %s%s",
			seed_now, i, i ? paths->path[i - 1].why.text : disk->why.text, story);
	}
	cr_assert(protocol == NBD || disk->lim.size == devices[0].lim.size, "seed %u: size %llu%s",
		seed_now, (unsigned long long)disk->lim.size, story);
}

static void schedule(unsigned seed)
{
	seed_now = dice = seed;
	*story = 0;
	memset(requests, 0, sizeof(requests));
	memset(heal, 0, sizeof(heal));
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "host" }, NULL), 0);
	begun_ns = loop_clock();
	next_delay_ns = 0;
	history_begin();
	history_fill(0, 0, HISTORY_BLOCKS, bytes);
	memcpy(stable, bytes, sizeof(stable));
	npaths = protocol == NBD ? 1 : 2; /* an NBD disk has no identity */
	nservers = npaths == 2 && seed % 3 ? 2 : 1;
	nworkers = 1 + roll(2);
	nlanes = 1 + roll(LANES);
	may_fail = !roll(8);
	for (unsigned i = 0; i < 2; i++) {
		heal[i].timer.fire = restore;
		device_begin(&devices[i]);
		network_begin(&network[i], loop);
	}
	normal.fire = back_to_normal;
	for (unsigned i = 0; i < nservers; i++)
		server_begin(i, &devices[seed % 3 == 2 ? i : 0]);
	tick.fire = ticks;
	loop_timer_set(loop, &tick, loop_clock());
	open_disk();
	work();
	check_end();
	for (unsigned i = 0; i < nlanes; i++)
		lane_close(lanes[i]);
	bdev_close(disk);
	loop_timer_del(loop, &tick);
	for (unsigned i = 0; i < nservers; i++) {
		server_end(&servers[i], 5000);
		loop_free(servers[i].loop);
	}
	for (unsigned i = 0; i < 2; i++)
		network_end(&network[i]);
	loop_free(loop);
}

static unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* A schedule takes as long as thirty of tests/pair/faults.c. */
static void schedules(enum protocol which)
{
	unsigned from = number("SEED", 1), count = number("SCHEDULES", 90) / 30;

	protocol = which;
	for (unsigned seed = from; seed - from < count + !count; seed++)
		schedule(seed);
}

/* Two writes of the same blocks, one after the other or, if `together`, at the same time. */
static void write_twice(bool together, unsigned number[2], uint8_t data[2][2 * HISTORY_BLOCK])
{
	history_begin();
	number[0] = history_write(4, 2);
	if (!together)
		history_write_done(number[0], true);
	number[1] = history_write(4, 2);
	if (together)
		history_write_done(number[0], true);
	for (unsigned i = 0; i < 2; i++)
		history_fill(number[i], 4, 2, data[i]);
	cr_assert_null(history_landed(4, 2, data[0]));
	history_write_done(number[1], true);
}

Test(paths_faults, what_the_checker_finds)
{
	static _Alignas(8) uint8_t data[2][2 * HISTORY_BLOCK], all[HISTORY_BLOCKS * HISTORY_BLOCK];
	uint32_t begun;
	unsigned number[2];

	write_twice(true, number, data);
	cr_assert_null(history_read_done(history_now(), 4, 2, data[0]), "either order is right");
	cr_assert_not_null(
		history_read_done(history_now(), 4, 2, data[1]), "not one, then the other");
	write_twice(false, number, data);
	cr_assert_not_null(history_landed(4, 2, data[0]), "a late write");
	cr_assert_not_null(history_read_done(history_now(), 4, 2, data[0]), "a lost write");
	begun = history_now();
	history_fill(0, 0, HISTORY_BLOCKS, all);
	cr_assert_not_null(history_flush_done(begun, all), "a flush without the write");
	memcpy(all + 4 * HISTORY_BLOCK, data[1], sizeof(data[1]));
	cr_assert_null(history_flush_done(begun, all));
	memcpy(data[1] + HISTORY_BLOCK + 8, data[0], 8);
	cr_assert_not_null(history_read_done(history_now(), 4, 2, data[1]), "a torn block");
}

Test(paths_faults, nvme_tcp)
{
	schedules(NVME_TCP);
}
Test(paths_faults, nvme_over_iwarp)
{
	schedules(NVME_IWARP);
}
Test(paths_faults, iscsi)
{
	schedules(ISCSI);
}
Test(paths_faults, iser)
{
	schedules(ISER);
}
Test(paths_faults, srp)
{
	schedules(SRP);
}
Test(paths_faults, nbd)
{
	schedules(NBD);
}
