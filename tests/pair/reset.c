/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An initiator that gives up a connection with writes on their way resets it. Quiet time of NBD. */
/* Link: leap */
#include "../fake/nvme_target.h"
#include "host.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define MSEC 1000000ull
#define LEN  4096

static const struct bdev_env env = {
	.hostnqn = "nqn.2014-08.org.nvmexpress:uuid:abff48c0-ecbe-4d8c-a64a-54f12797e8c2",
	.write = true,
	.timeout_ms = 5000
};
static sem_t go, over;
static bool spoil; /* the peer breaks the protocol instead of being given up */
static int end;    /* of what the peer reads */

static void drain(int fd)
{
	char bytes[LEN];
	ssize_t got;

	sem_wait(&go);
	do
		got = recv(fd, bytes, sizeof(bytes), 0);
	while (got > 0);
	end = got < 0 ? -errno : 0;
	sem_post(&over);
}

struct write {
	struct io io;
	struct buf buf;
	volatile int done;
	uint64_t lower[128];
};

static void done(struct io *io)
{
	container_of(io, struct write, io)->done = 1;
}

/* Until both writes have failed, the peer reads at most the first one. */
static void give_up(void)
{
	struct write write[2];
	struct pool *pool;

	host_open_lane();
	cr_assert_leq(disk->lim.io_size, sizeof(write->lower));
	cr_assert_eq(pool_new(&pool, LEN, 2, NULL), 0);
	cr_assert_eq(lane_map(lane, pool, NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct write *w = &write[i];

		*w = (struct write){ .buf = pool_buf(pool, i) };
		w->io = (struct io){ .kind = IO_WRITE,
			.off = i * LEN,
			.len = LEN,
			.buf = &w->buf,
			.done = done,
			.lower = w->lower,
			.status = 1 };
		bdev_submit(lane, &w->io);
	}
	if (!spoil) {
		loop_wait(loop, &write[0].done, loop_clock() + 50 * MSEC);
		diag_set(&why, DIAG_CLOSED, ECONNABORTED, "test");
		lane->ops->abort(lane, &why);
	}
	for (unsigned i = 0; i < 2; i++) {
		cr_assert(loop_wait(loop, &write[i].done, loop_clock() + 5000 * MSEC));
		cr_assert_lt(write[i].io.status, 0);
	}
	sem_post(&go);
	sem_wait(&over);
	cr_assert_eq(end, -ECONNRESET, "%d", end);
	lane_unmap(lane, pool);
	pool_free(pool);
}

static void begin(bool bad)
{
	spoil = bad;
	sem_init(&go, 0, 0);
	sem_init(&over, 0, 0);
	host_begin(0);
}

static bool nvme_peer(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	static const uint8_t unknown[24] = { NVME_TCP_RSP, 0, 24, 0, 24, [20] = 0xff, 0xff };

	(void)cid;
	(void)len;
	if (qid == 0xffff)
		return false;
	if (spoil)
		cr_assert_eq(send(fd, unknown, sizeof(unknown), 0), (ssize_t)sizeof(unknown));
	drain(fd);
	return true;
}

static void nvme(bool bad)
{
	static struct tcp_target tt = { .script = nvme_peer };
	char text[100];

	begin(bad);
	target_init(&tt.target);
	tcp_target_start(&tt);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/t1/1", tt.port);
	cr_assert_eq(host_attach(text, &env), 0, "%s", why.text);
	give_up();
	host_end();
	tcp_target_stop(&tt);
	target_fini(&tt.target);
}

Test(reset, an_nvme_tcp_queue_that_is_given_up)
{
	nvme(false);
}
Test(reset, an_nvme_tcp_queue_with_a_protocol_error)
{
	nvme(true);
}

/* A server without options: "Newstyle negotiation" that is not fixed. */
static void *nbd_peer(void *listener)
{
	const struct nbd_greeting greeting = { put_be64(NBD_GREETING_MAGIC),
		put_be64(NBD_OPT_MAGIC), put_be16(NBD_FLAG_NO_ZEROES) };
	const struct nbd_export_name_rep export = { .size = put_be64(1 << 20),
		.flags = put_be16(NBD_FLAG_HAS_FLAGS) };
	const struct nbd_simple_reply unknown = { .magic = put_be32(NBD_SIMPLE_REPLY_MAGIC),
		.cookie = { 0xff, 0xff, 0xff, 0xff } };
	uint8_t asked[4 + sizeof(struct nbd_opt) + 1];
	int fd = accept(*(int *)listener, NULL, NULL);

	cr_assert_eq(send(fd, &greeting, sizeof(greeting), 0), (ssize_t)sizeof(greeting));
	cr_assert_eq(recv(fd, asked, sizeof(asked), MSG_WAITALL), (ssize_t)sizeof(asked));
	cr_assert_eq(send(fd, &export, 10, 0), 10);
	if (spoil) {
		cr_assert_eq(recv(fd, asked, 1, MSG_WAITALL), 1);
		cr_assert_eq(send(fd, &unknown, sizeof(unknown), 0), (ssize_t)sizeof(unknown));
	}
	drain(fd);
	close(fd);
	return NULL;
}

static void nbd(bool bad)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(in);
	pthread_t thread;
	char text[100];

	begin(bad);
	cr_assert_eq(bind(listener, (struct sockaddr *)&in, len), 0);
	cr_assert_eq(listen(listener, 1), 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&in, &len), 0);
	cr_assert_eq(pthread_create(&thread, NULL, nbd_peer, &listener), 0);
	snprintf(text, sizeof(text), "nbd://127.0.0.1:%u/x", ntohs(in.sin_port));
	cr_assert_eq(host_attach(text, &env), 0, "%s", why.text);
	cr_assert_eq(disk->lim.quiesce_ms, 5000, "the quiet time of NBD");
	give_up();
	host_end();
	pthread_join(thread, NULL);
	close(listener);
}

Test(reset, an_nbd_connection_that_is_given_up)
{
	nbd(false);
}
Test(reset, an_nbd_connection_with_a_protocol_error)
{
	nbd(true);
}
