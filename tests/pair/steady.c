/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The steady state allocates nothing: reads and writes through `paths` and the TCP initiator, an
 * NBD client on top of them, both our initiators against our target, and the loads of `bench`, with
 * every allocation that the core asks for counted (the Makefile wraps the allocator's names). */
/* Link: malloc calloc realloc mmap */
#include "../fake/nvme_target.h"
#include "bdev.h"
#include "disk.h"
#include "load.h"
#include "nbd_server.h"
#include "serve.h"
#include "wait.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BATCH 8
#define WARM  20
#define TIMES 200

static atomic_uint allocations;
static __thread bool counting;
static atomic_bool everywhere; /* in all threads */

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);

void *__wrap_malloc(size_t len)
{
	allocations += counting || everywhere;
	return __real_malloc(len);
}

void *__wrap_calloc(size_t count, size_t len)
{
	allocations += counting || everywhere;
	return __real_calloc(count, len);
}

void *__wrap_realloc(void *p, size_t len)
{
	allocations += counting || everywhere;
	return __real_realloc(p, len);
}

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	allocations += counting || everywhere;
	return __real_mmap(at, len, prot, flags, fd, off);
}

static struct tcp_target tt;
static struct loop *loop;
static struct bdev *disk;
static struct diag why;

static void begin(const char *keys)
{
	static const struct bdev_env env = {
		.hostnqn = "nqn.me", .write = true, .timeout_ms = NO_LIMIT_MS
	};
	char uri[200];

	counting = true;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_geq(allocations, 1, "the core's allocations are counted");
	target_init(&tt.target);
	tcp_target_start(&tt);
	snprintf(uri, sizeof(uri), "nvme+tcp://127.0.0.1:%u/t1/1%s", tt.port, keys);
	cr_assert_eq(bdev_open(&disk, loop, uri, &env, &why), 0, "%s", why.text);
}

static void end(void)
{
	bdev_close(disk);
	loop_free(loop);
	tcp_target_stop(&tt);
	target_fini(&tt.target);
}

static struct request {
	struct io io;
	struct buf buf;
	void *lower;
} request[BATCH];
static volatile int finished;
static int left;

static void done(struct io *io)
{
	cr_assert_eq(io->status, 0);
	finished = !--left;
}

static void batch(struct lane *lane, const struct pool *pool, uint8_t kind, uint32_t len, int count)
{
	finished = 0;
	left = count;
	for (int i = 0; i < count; i++) {
		struct request *r = &request[i];

		r->buf = pool_buf(pool, (uint32_t)i);
		r->io = (struct io){ .kind = kind,
			.off = (uint64_t)i * len,
			.len = len,
			.buf = &r->buf,
			.done = done,
			.lower = r->lower };
		bdev_submit(lane, &r->io);
	}
	loop_wait(loop, &finished, 0);
}

static void lane_allocates_nothing(void)
{
	struct lane *lane;
	struct pool *pool;
	unsigned before = 0;

	cr_assert_eq(lane_open(&lane, disk, loop, &why), 0, "%s", why.text);
	cr_assert_eq(pool_new(&pool, 65536, BATCH, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	for (int i = 0; i < BATCH; i++)
		cr_assert_not_null(request[i].lower = malloc(disk->lim.io_size));
	for (int i = 0; i < WARM + TIMES; i++) {
		if (i == WARM)
			before = allocations;
		batch(lane, pool, IO_READ, 4096, BATCH);
		batch(lane, pool, IO_READ, 65536, BATCH);
		batch(lane, pool, IO_WRITE, 4096, BATCH);
		batch(lane, pool, IO_WRITE, 65536, 1); /* in answer to R2T */
	}
	cr_assert_eq(allocations, before, "%u allocations in %u requests", allocations - before,
		TIMES * (3 * BATCH + 1));
	for (int i = 0; i < BATCH; i++)
		free(request[i].lower);
	lane_unmap(lane, pool);
	pool_free(pool);
	lane_close(lane);
}

Test(steady, a_lane_over_tcp)
{
	begin("");
	lane_allocates_nothing();
	end();
}

Test(steady, a_lane_over_tcp_with_digests_and_few_tags)
{
	tt.dgst = 3;
	tt.max_h2c = 4096;
	tt.c2h_piece = 1000;
	tt.success = true;
	begin("?hdr_digest=1&data_digest=1&depth=4");
	lane_allocates_nothing();
	end();
}

static struct fake_disk *backing;
static struct target *target;

/* Our target on this loop, and our initiator's disk. */
static void begin_both(const char *way, const char *keys)
{
	static const struct bdev_env env = {
		.hostnqn = "nqn.me", .write = true, .timeout_ms = NO_LIMIT_MS
	};
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct target_options opt = {
		.disks = 1, .listens = 1, .nloops = 1, .loops = &loop, .buffers = 4
	};
	struct addr bound;
	char uri[200];

	counting = true;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_geq(allocations, 1, "the core's allocations are counted");
	backing = fake_disk_new(loop, BATCH * 65536, 512);
	opt.disk[0] = (struct target_disk_options){
		.bdev = &backing->bdev, .name = "nqn.t1", .serial = "S1"
	};
	memcpy(&opt.listen[0].at.ss, &in, sizeof(in));
	opt.listen[0].at.len = sizeof(in);
	opt.listen[0].transports = TRANSPORT_TCP | TRANSPORT_IWARP;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, &why), 0, "%s", why.text);
	cr_assert(target_transports(target, 0, &bound));
	snprintf(uri, sizeof(uri), "nvme+%s://127.0.0.1:%u/nqn.t1/1%s", way,
		ntohs(((struct sockaddr_in *)&bound.ss)->sin_port), keys);
	cr_assert_eq(bdev_open(&disk, loop, uri, &env, &why), 0, "%s", why.text);
}

static void end_both(void)
{
	bdev_close(disk);
	cr_assert_eq(target_stop(target, NO_LIMIT_MS, &why), 0, "%s", why.text);
	fake_disk_free(backing);
	loop_free(loop);
}

/* In this thread: neither allocates. */
static void both_allocate_nothing(const char *way, const char *keys)
{
	begin_both(way, keys);
	lane_allocates_nothing();
	end_both();
}

Test(steady, both_ends_over_tcp)
{
	both_allocate_nothing("tcp", "");
}

Test(steady, both_ends_over_tcp_with_digests)
{
	both_allocate_nothing("tcp", "?hdr_digest=1&data_digest=1");
}

Test(steady, both_ends_over_software_iwarp)
{
	both_allocate_nothing("rdma", "?rdma=iwarp");
}

static struct sockaddr_un *where;

static void listen_here(struct nbd_options *opt)
{
	where = (struct sockaddr_un *)(void *)&opt->listen[0].ss;
	where->sun_family = AF_UNIX;
	snprintf(where->sun_path, sizeof(where->sun_path), "/tmp/nbd-steady-%d", (int)getpid());
	opt->listen[0].len = sizeof(*where);
}

Test(steady, both_ends_over_nbd)
{
	static const struct bdev_env env = { .write = true, .timeout_ms = NO_LIMIT_MS };
	struct nbd_options opt = { .exports = 1, .listens = 1, .nloops = 1, .loops = &loop };
	struct nbd_server *server;
	char uri[200];

	counting = true;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_geq(allocations, 1, "the core's allocations are counted");
	backing = fake_disk_new(loop, BATCH * 65536, 512);
	opt.export[0] = (struct nbd_export){ .name = "", .bdev = &backing->bdev };
	listen_here(&opt);
	cr_assert_eq(nbd_server_start(&server, loop, &opt, &why), 0, "%s", why.text);
	snprintf(uri, sizeof(uri), "nbd+unix:///?socket=%s&depth=5", where->sun_path);
	cr_assert_eq(bdev_open(&disk, loop, uri, &env, &why), 0, "%s", why.text);
	lane_allocates_nothing();
	bdev_close(disk);
	cr_assert_eq(nbd_server_stop(server, NO_LIMIT_MS, &why), 0, "%s", why.text);
	fake_disk_free(backing);
	loop_free(loop);
}

/* A client that is not ours: a thread of its own with a blocking socket. */
static unsigned before, after;
static volatile int client_over;

static void say(int fd, const void *p, size_t len)
{
	cr_assert_eq(send(fd, p, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void hear(int fd, void *p, size_t len)
{
	cr_assert_eq(recv(fd, p, len, MSG_WAITALL), (ssize_t)len);
}

static void ask(int fd, uint16_t type, uint32_t len, int count)
{
	static uint8_t data[65536];
	struct nbd_simple_reply reply;

	for (int i = 0; i < count; i++) {
		struct nbd_request req = { .magic = put_be32(NBD_REQUEST_MAGIC),
			.type = put_be16(type),
			.cookie = { (uint8_t)i },
			.off = put_be64((uint64_t)i * len),
			.len = put_be32(len) };

		say(fd, &req, sizeof(req));
		if (type == NBD_CMD_WRITE)
			say(fd, data, len);
	}
	for (int i = 0; i < count; i++) {
		hear(fd, &reply, sizeof(reply));
		cr_assert_eq(get_be32(reply.magic), NBD_SIMPLE_REPLY_MAGIC);
		cr_assert_eq(get_be32(reply.error), 0);
		if (type == NBD_CMD_READ)
			hear(fd, data, len);
	}
}

static void *client(void *arg)
{
	const struct nbd_request bye = { .magic = put_be32(NBD_REQUEST_MAGIC),
		.type = put_be16(NBD_CMD_DISC) };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	uint8_t hello[18 + 10];

	cr_assert_eq(connect(fd, (struct sockaddr *)where, sizeof(*where)), 0);
	hear(fd, hello, 18);
	say(fd, "\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0", 20); /* EXPORT_NAME of the first export */
	hear(fd, hello, 10);
	for (int i = 0; i < WARM + TIMES; i++) {
		if (i == WARM)
			before = allocations;
		ask(fd, NBD_CMD_READ, 4096, BATCH);
		ask(fd, NBD_CMD_READ, 65536, BATCH);
		ask(fd, NBD_CMD_WRITE, 4096, BATCH);
		ask(fd, NBD_CMD_WRITE, 65536, 1);
		ask(fd, NBD_CMD_FLUSH, 0, 1);
	}
	after = allocations;
	say(fd, &bye, sizeof(bye));
	close(fd);
	loop_post(loop, arg);
	return arg;
}

static void client_ended(struct loop_msg *msg)
{
	(void)msg;
	client_over = 1;
}

Test(steady, an_nbd_client_over_tcp)
{
	struct loop_msg ended = { .run = client_ended };
	struct nbd_options opt = { .exports = 1, .listens = 1, .nloops = 1, .loops = &loop };
	struct nbd_server *server;
	pthread_t thread;

	begin("");
	opt.export[0] = (struct nbd_export){ .name = "", .bdev = disk };
	listen_here(&opt);
	cr_assert_eq(nbd_server_start(&server, loop, &opt, &why), 0, "%s", why.text);
	cr_assert_eq(pthread_create(&thread, NULL, client, &ended), 0);
	loop_wait(loop, &client_over, 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(after, before, "%u allocations in %u requests", after - before,
		TIMES * (3 * BATCH + 2));
	cr_assert_eq(nbd_server_stop(server, NO_LIMIT_MS, &why), 0, "%s", why.text);
	end();
}

/* The loads of `bench`: jobs on threads of their own, looked at while they run. */
static struct watcher {
	volatile int stop;
	uint64_t from; /* requests when the counting began, 0 = not yet */
	unsigned before, after;
} watcher;

static void progress(const struct load_progress *now, void *arg)
{
	uint64_t ios = now->ios[LOAD_READ] + now->ios[LOAD_WRITE];

	(void)arg;
	if (!watcher.from && ios > WARM * BATCH) {
		watcher.from = ios;
		watcher.before = allocations;
	} else if (watcher.from && !watcher.stop && ios > watcher.from + TIMES) {
		watcher.after = allocations;
		watcher.stop = 1;
	}
}

static struct load_options watched(uint32_t bs, uint32_t jobs)
{
	watcher = (struct watcher){ 0 };
	everywhere = true;
	return (struct load_options){ .read_percent = 100,
		.random = true,
		.bs = bs,
		.depth = BATCH,
		.jobs = jobs,
		.ramp_ms = 1,
		.drain_ms = NO_LIMIT_MS,
		.stop = &watcher.stop,
		.progress = progress };
}

static void load_allocates_nothing(struct load_options opt, uint8_t read_percent, bool verify)
{
	static struct load_result result;

	opt.read_percent = read_percent;
	opt.verify = verify;
	cr_assert_eq(load_disk(loop, disk, &opt, &result, &why), 0, "%s: %s", why.object, why.text);
	cr_assert_eq(
		watcher.after, watcher.before, "%u allocations", watcher.after - watcher.before);
	cr_assert(watcher.from && result.stopped);
}

Test(steady, the_load_on_a_disk)
{
	begin_both("tcp", "?queues=2");
	load_allocates_nothing(watched(4096, 2), 100, false);
	load_allocates_nothing(watched(512, 2), 50, true);
	end_both();
}

Test(steady, the_load_on_a_disk_over_software_iwarp)
{
	begin_both("rdma", "?rdma=iwarp");
	load_allocates_nothing(watched(8192, 1), 30, false);
	end_both();
}

static struct workers *workers;
static struct load_server *server;

static void serve_load(struct loop **answering)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct load_listen conf = { .tcp = true, .iwarp = true, .loops = answering, .nloops = 1 };

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	cr_assert_eq(workers_start(&workers, 1, loop_options(loop), NULL), 0);
	*answering = workers_loop(workers, 0);
	memcpy(&conf.at.ss, &in, sizeof(in));
	conf.at.len = sizeof(in);
	cr_assert_eq(load_listen(&server, loop, &conf, 5000, &why), 0, "%s", why.text);
}

static void end_load(void)
{
	load_server_stop(server);
	workers_stop(workers);
	loop_free(loop);
}

Test(steady, the_load_on_a_socket)
{
	static struct load_result result;
	struct load_options opt;
	struct loop *answering;

	serve_load(&answering);
	opt = watched(4096, 2);
	cr_assert_eq(
		load_tcp(loop, load_server_addr(server), &opt, &result, &why), 0, "%s", why.text);
	cr_assert_eq(
		watcher.after, watcher.before, "%u allocations", watcher.after - watcher.before);
	cr_assert(watcher.from && result.stopped);
	end_load();
}

/* All allocations of a connection, its making and its end included. */
static unsigned count_row(enum load_op op, bool bandwidth, uint64_t iterations)
{
	static struct load_rdma_result result;
	struct load_rdma conf = { .dst = *load_server_addr(server),
		.backend = LOAD_IWARP,
		.op = op,
		.bandwidth = bandwidth,
		.size = 4096,
		.depth = BATCH,
		.iterations = iterations,
		.timeout_ms = NO_LIMIT_MS };
	unsigned at = allocations;

	cr_assert_eq(load_rdma(loop, &conf, &result, &why), 0, "%s", why.text);
	cr_assert_eq(result.iterations, iterations);
	return allocations - at;
}

/* More than the server allocates for an address, which it may not have forgotten since the last
 * connection. */
#define ADDRESS 10

Test(steady, the_load_on_an_rdma_connection)
{
	struct loop *answering;

	everywhere = true;
	serve_load(&answering);
	for (unsigned row = 0; row < 6; row++) {
		unsigned few, many;

		count_row(row / 2, row % 2, 10);
		few = count_row(row / 2, row % 2, 10);
		many = count_row(row / 2, row % 2, 2000);
		cr_assert_gt(few, 0);
		cr_assert_lt(abs((int)many - (int)few), ADDRESS,
			"row %u: %u allocations for 2000 messages, %u for 10", row, many, few);
	}
	end_load();
}
