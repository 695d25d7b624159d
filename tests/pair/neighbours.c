/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One honest client next to many bad ones, at our target and at our NBD server. Whatever the others
 * do, its data is right, no request of it fails, each is answered within the row's bound, and the
 * server stops clean. The clock is fake: it moves on only while nothing has anything to do. Some
 * rows run once more on several threads and the real clock, for ThreadSanitizer. */
/* Link: leap */
#include "../fake/raw_host.h"
#include "honest.h"
#include "leap.h"
#include "says.h"
#include "serving.h"
#include "tls_ends.h"
#include "wire/nbd.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MSEC     1000000ull
#define SIZE     (4u << 20)
#define WRITES   200
#define MOST     48 /* bad clients */
#define DEPTH    32
#define STALL_MS 30000 /* of the target */
#define WORKERS  3
#define SOON_MS  100 /* for honest requests next to clients that leave enough of all resources */

enum carrier { TCP, IWARP, NBD, NBDS };

struct bad;
struct row {
	enum carrier carrier;
	unsigned bad;  /* clients */
	unsigned each; /* what each does of it, where that is a number */
	/* Called again and again: makes one of them do something, and counts that in ->struck. */
	void (*turn)(struct bad *);
	unsigned honest_ms;          /* longest time for one request of the honest client */
	enum { ANY_END, ENDED } end; /* ENDED: the server has a time limit for what they do */
};

struct bad {
	const struct row *row;
	struct raw_host *raw; /* admin queue, or NBD client; NULL: is about to dial */
	struct raw_host *io;  /* I/O queue */
	unsigned step, struck, seed;
	uint16_t cntlid;
};

static struct bad bad[MOST];
static const struct row *row;
static struct addr server;
static struct workers *workers; /* NULL: all on one loop, with the fake clock */
static struct bdev *ram;        /* for several threads */

/* --- bad hosts */

static uint8_t noise[65536];

static void freezes_with_discards(struct bad *);

static bool is_nbd(void)
{
	return row->carrier == NBD || row->carrier == NBDS;
}

static struct raw_host *dial(void)
{
	struct raw_host *raw = raw_dial(&server, row->carrier == IWARP);

	raw->deaf = is_nbd();
	return raw;
}

static void leave(struct bad *b)
{
	if (b->io)
		raw_close(b->io);
	raw_close(b->raw);
	b->raw = b->io = NULL;
	b->step = 0;
}

static struct nvmf_connect asking(const struct bad *b, uint16_t qid)
{
	struct nvmf_connect ask = { .qid = qid, .depth = DEPTH, .no_sqfc = true };

	strcpy(ask.subnqn, SERVING_NQN);
	ask.cntlid = qid ? b->cntlid : NVMF_CNTLID_ANY;
	snprintf(ask.hostnqn, sizeof(ask.hostnqn), "nqn.bad%u",
		row->turn == freezes_with_discards ? 0 : (unsigned)(b - bad));
	return ask;
}

/* What all of them do first, a step each time; true: both queues are live. */
static bool joined(struct bad *b)
{
	const struct nvmf_connect admin = asking(b, 0), io = asking(b, 1);
	struct nvme_sqe enable =
		raw_property(true, NVME_CC, NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES);

	if (!b->raw) {
		b->raw = dial();
		raw_hello(b->raw, 0, DEPTH);
	} else if (b->step == 0 && b->raw->up) {
		raw_connect(b->raw, &admin);
		b->step++;
	} else if (b->step == 1 && b->raw->replies == 1) {
		cr_assert_eq(get_le16(b->raw->reply.status), 0);
		b->cntlid = (uint16_t)get_le64(b->raw->reply.result);
		raw_command(b->raw, &enable, NULL, 0);
		b->step++;
	} else if (b->step == 2 && b->raw->replies == 2) {
		b->io = dial();
		raw_hello(b->io, 1, DEPTH);
		b->step++;
	} else if (b->step == 3 && b->io->up) {
		raw_connect(b->io, &io);
		b->step++;
	} else if (b->step == 4 && b->io->replies == 1) {
		cr_assert_eq(get_le16(b->io->reply.status), 0);
		b->step++;
	}
	return b->step >= 5;
}

/* Each has a part of the disk, behind the honest client's. */
static uint64_t own_part(const struct bad *b)
{
	return HONEST_SIZE + (SIZE - HONEST_SIZE) / row->bad / 512 * 512 * (uint64_t)(b - bad);
}

static struct nvme_sqe somewhere(struct bad *b, uint8_t opcode, unsigned cid, uint32_t blocks)
{
	uint64_t lba = own_part(b) / 512, last = SIZE / 512 - blocks;

	return raw_rw(b->io, opcode, (uint16_t)cid, lba < last ? lba : last, blocks);
}

static void silent(struct bad *b)
{
	if (!b->raw) {
		b->raw = dial();
		b->struck++;
	}
}

static void greets_and_is_silent(struct bad *b)
{
	if (!b->raw) {
		b->raw = dial();
		raw_hello(b->raw, 0, DEPTH);
	}
	b->struck += b->raw->up;
}

static void joins_and_is_silent(struct bad *b)
{
	b->struck += joined(b);
}

/* Writes whose data never comes. */
static void freezes(struct bad *b)
{
	if (!joined(b))
		return;
	if (b->step == 5) {
		for (unsigned i = 0; i < row->each; i++) {
			struct nvme_sqe sqe = somewhere(b, NVME_IO_WRITE, i, 256);

			raw_command(b->io, &sqe, NULL, 0);
		}
		b->step++;
	}
	b->struck += b->io->transfers == row->each;
}

/* With discards whose ranges never come, which may be anywhere on the disk; and the next of the
 * same host connects only then. */
static void freezes_with_discards(struct bad *b)
{
	if ((b > bad && !b[-1].struck) || !joined(b))
		return;
	if (b->step == 5) {
		for (unsigned i = 0; i < row->each; i++) {
			struct nvme_sqe sqe = somewhere(b, NVME_IO_DSM, i, 8);

			sqe.cdw10 = put_le32(0);
			sqe.cdw11 = put_le32(NVME_DSM_DEALLOCATE);
			sqe.sgl = raw_sgl(b->io, sizeof(struct nvme_dsm_range));
			raw_command(b->io, &sqe, NULL, 0);
		}
		b->step++;
	}
	b->struck += b->io->transfers == row->each;
}

/* In the middle of the data; then it comes back. */
static void leaves_with_writes(struct bad *b)
{
	struct nvme_sqe sqe;

	if (!joined(b))
		return;
	if (b->step == 5) {
		for (unsigned i = 0; i < row->each; i++) {
			sqe = somewhere(b, NVME_IO_WRITE, i, 256);
			raw_command(b->io, &sqe, NULL, 0);
		}
		sqe = somewhere(b, NVME_IO_WRITE, row->each, 8);
		if (row->carrier == TCP)
			sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET,
				.block.len = put_le32(4096) };
		raw_command(b->io, &sqe, noise, row->carrier == TCP ? 4096 : 0);
		b->step++;
	} else if (b->io->transfers >= row->each) {
		raw_give(b->io, 0, noise, 1 + rand_r(&b->seed) % 8192, false);
		raw_poll(b->io);
		if (rand_r(&b->seed) % 2) {
			raw_reset(b->io);
			b->io = NULL;
		}
		b->struck++;
		leave(b);
	}
}

/* Lengths and offsets that do not match: in commands, descriptors, capsules and data. */
static void lies(struct bad *b)
{
	struct nvme_sqe sqe;
	uint32_t wrong[] = { 0, 1, 511, 513, 1 << 20, 0xffffff };

	if (!joined(b))
		return;
	if (b->io->over) {
		b->struck++;
		leave(b);
		return;
	}
	switch (b->step++ % 4) {
	case 0:
		sqe = somewhere(b, NVME_IO_WRITE, b->step, 1);
		sqe.sgl = raw_sgl(b->io, wrong[rand_r(&b->seed) % 6]);
		raw_command(b->io, &sqe, NULL, 0);
		break;
	case 1:
		sqe = somewhere(b, NVME_IO_WRITE, b->step, 8);
		sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(4096) };
		raw_command(b->io, &sqe, noise, 512);
		break;
	case 2:
		sqe = raw_rw(b->io, NVME_IO_READ, (uint16_t)b->step,
			UINT64_MAX - rand_r(&b->seed) % 4, 8);
		raw_command(b->io, &sqe, NULL, 0);
		sqe = somewhere(b, NVME_IO_WRITE, b->step, 16);
		raw_command(b->io, &sqe, NULL, 0);
		break;
	case 3:
		if (b->io->transfers) {
			b->io->transfer[0].off += rand_r(&b->seed) % 2 ? 512 : 0;
			raw_give(b->io, 0, noise, 4096, true);
		}
		break;
	}
}

/* Reads, and takes nothing. */
static void never_reads(struct bad *b)
{
	int small = 4096;

	if (!joined(b))
		return;
	if (b->step == 5) {
		setsockopt(b->io->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		b->io->deaf = true;
		for (unsigned i = 0; i < row->each; i++) {
			struct nvme_sqe sqe = somewhere(b, NVME_IO_READ, i, 2048);

			raw_command(b->io, &sqe, NULL, 0);
		}
		b->step++;
	}
	b->struck += !b->io->out_len;
}

/* From the first byte, after the greeting, on the admin queue, on the I/O queue. */
static void sends_garbage(struct bad *b)
{
	unsigned far = b->seed % 4;

	if (far < 2 && !b->raw) {
		b->raw = dial();
		if (far)
			raw_hello(b->raw, 0, DEPTH);
	} else if (far >= 2 && !joined(b)) {
		return;
	}
	if ((b->raw && b->raw->over) || (b->io && b->io->over)) {
		b->struck++;
		leave(b);
		b->seed++;
	} else if (far != 1 || b->raw->up) {
		raw_bytes(far == 3 ? b->io : b->raw, noise + rand_r(&b->seed) % 32768 / 4 * 4 + far,
			4096);
		b->seed = b->seed / 4 * 4 + far;
	}
}

/* --- bad NBD clients: raw_host only for its bytes */

/* The whole handshake in one go: the server's side of it is never looked at. */
static void nbd_join(struct bad *b)
{
	b->raw = dial();
	raw_bytes(b->raw, "\0\0\0\3IHAVEOPT\0\0\0\1\0\0\0\0", 20); /* NBD_OPT_EXPORT_NAME */
}

static void nbd_ask(struct bad *b, uint16_t type, uint64_t off, uint32_t len)
{
	struct nbd_request req = { put_be32(NBD_REQUEST_MAGIC), put_be16(0), put_be16(type),
		{ (uint8_t)b->step }, put_be64(off), put_be32(len) };

	raw_bytes(b->raw, &req, sizeof(req));
}

/* The other end has closed, whatever lies unread before that. */
static bool nbd_over(struct bad *b)
{
	char bytes[65536];
	ssize_t got;

	while ((got = recv(b->raw->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		;
	return !got || errno != EAGAIN;
}

static void nbd_silent_in_handshake(struct bad *b)
{
	if (!b->raw) {
		b->raw = dial();
		raw_bytes(b->raw, "\0\0\0\3IHAVE", 9);
	}
	b->struck += !b->raw->out_len;
}

static void nbd_joins_and_is_silent(struct bad *b)
{
	if (!b->raw)
		nbd_join(b);
	b->struck += !b->raw->out_len;
}

static void nbd_freezes(struct bad *b)
{
	if (!b->raw) {
		nbd_join(b);
		for (unsigned i = 0; i < row->each; i++) {
			nbd_ask(b, NBD_CMD_WRITE, own_part(b), 65536);
			raw_bytes(b->raw, noise, i + 1 < row->each ? 65536 : 1000);
		}
	}
	b->struck += !b->raw->out_len;
}

static void nbd_leaves_with_writes(struct bad *b)
{
	if (!b->raw) {
		nbd_freezes(b);
	} else if (!b->raw->out_len) {
		b->struck++;
		leave(b);
	}
}

static void nbd_lies(struct bad *b)
{
	static const uint32_t len[] = { 0, 1, 0x7fffffff, UINT32_MAX, 513 };

	if (!b->raw) {
		nbd_join(b);
	} else if (nbd_over(b)) {
		b->struck++;
		leave(b);
	} else if (b->step < 40) {
		nbd_ask(b, (uint16_t)(b->step % 9), b->step % 3 ? own_part(b) : UINT64_MAX - 511,
			len[b->step % 5]);
		b->step++;
	} else {
		raw_bytes(b->raw, noise, 100); /* a write's data, or no magic */
	}
}

static void nbd_never_reads(struct bad *b)
{
	if (!b->raw) {
		nbd_join(b);
		for (unsigned i = 0; i < row->each; i++)
			nbd_ask(b, NBD_CMD_READ, HONEST_SIZE, 1 << 20);
	}
	b->struck += !b->raw->out_len;
}

static void nbd_sends_garbage(struct bad *b)
{
	if (!b->raw) {
		if (++b->seed % 2)
			nbd_join(b);
		else
			b->raw = dial();
	} else if (nbd_over(b)) {
		b->struck++;
		leave(b);
	} else {
		raw_bytes(b->raw, noise + rand_r(&b->seed) % 32768, 1000);
	}
}

/* --- bad NBD clients that begin TLS */

static uint8_t client_hello[1024];
static size_t client_hello_len;
static char key_file[] = "/tmp/rdmastor-neighbours-XXXXXX";

/* The first message of a client with a wrong key. */
static void make_client_hello(void)
{
	const struct tls_texts wrong = { .psk_file = "alice:ff0102030405060708090a0b0c0d0e0f\n",
		.user = "alice" };
	struct tls_creds *creds = tls_creds_of(false, &wrong, &why);
	struct tls_conn *tls = tls_conn_new(creds, NULL, NULL, &why);
	struct iovec out;

	tls_handshake_run(&tls->job);
	out = tls_conn_pending(tls);
	client_hello_len = out.iov_len;
	cr_assert_leq(client_hello_len, sizeof(client_hello));
	memcpy(client_hello, out.iov_base, client_hello_len);
	tls_conn_free(tls);
	tls_creds_free(creds);
}

static void begin_tls(void)
{
	const struct tls_texts keys = { .psk_file = TLS_ALICE };
	const char key[] = TLS_ALICE;
	int fd;

	make_client_hello();
	serving_tls = tls_creds_of(true, &keys, &why);
	strcpy(key_file, "/tmp/rdmastor-neighbours-XXXXXX");
	fd = mkstemp(key_file);
	cr_assert_eq(write(fd, key, sizeof(key) - 1), sizeof(key) - 1);
	close(fd);
}

static void end_tls(void)
{
	unlink(key_file);
	tls_creds_free(serving_tls);
	serving_tls = NULL;
}

/* Once the server has agreed to TLS, send so much of the first message. */
static void nbds_start(struct bad *b, size_t len)
{
	char replies[38]; /* the greeting, the answer */

	if (!b->raw) {
		b->raw = dial();
		raw_bytes(b->raw, "\0\0\0\3IHAVEOPT\0\0\0\5\0\0\0\0", 20);
	}
	if (b->step || recv(b->raw->fd, replies, 38, MSG_DONTWAIT | MSG_PEEK) != 38)
		return;
	recv(b->raw->fd, replies, 38, MSG_DONTWAIT);
	raw_bytes(b->raw, client_hello, len);
	b->step = 1;
}

static void nbds_silent_in_handshake(struct bad *b)
{
	nbds_start(b, client_hello_len / 2);
	b->struck += b->step && !b->raw->out_len;
}

/* Each makes the server calculate, and starts again: some with a wrong proof of the key. */
static void nbds_floods(struct bad *b)
{
	uint8_t bytes[4096];

	nbds_start(b, client_hello_len);
	if (b->step == 1 && recv(b->raw->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
		b->struck++;
		if (b->struck % 2) {
			leave(b);
			return;
		}
		raw_bytes(b->raw, "\24\3\3\0\1\1\27\3\3\0\65", 11);
		raw_bytes(b->raw, noise, 0x35);
		b->step = 2;
	} else if (b->step == 2 && nbd_over(b)) {
		leave(b);
	}
}

/* --- the frame */

/* True once each has done what it is here for. */
static bool all_struck(void)
{
	bool all = true;

	for (unsigned i = 0; i < row->bad; i++) {
		struct bad *b = &bad[i];

		row->turn(b);
		if (b->raw)
			raw_poll(b->raw);
		if (b->io)
			raw_poll(b->io);
		all &= b->struck > 0;
	}
	return all;
}

static void find_server(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	if (!is_nbd()) {
		target_transports(target, 0, &server);
		return;
	}
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", serving_socket());
	memcpy(&server.ss, &un, sizeof(un));
	server.len = sizeof(un);
}

static void attach(void)
{
	struct bdev_env env = { .hostnqn = "nqn.honest",
		.hostid = { 9 },
		.write = true,
		.timeout_ms = leap_limit_ms(5000) };
	char text[200];

	if (row->carrier == NBD)
		snprintf(text, sizeof(text), "nbd+unix:///?socket=%s", serving_socket());
	else if (row->carrier == NBDS)
		snprintf(text, sizeof(text), "nbds+unix://alice@/?socket=%s&tls-psk-file=%s",
			serving_socket(), key_file);
	else
		snprintf(text, sizeof(text), "nvme+%s://127.0.0.1:%u/" SERVING_NQN "/1%s",
			row->carrier == TCP ? "tcp" : "rdma", serving_port(),
			row->carrier == TCP ? "" : "?rdma=iwarp");
	cr_assert_eq(host_attach(text, &env), 0, "%s", why.text);
	host_open_lane();
}

static void honest_works(bool (*others)(void))
{
	uint64_t longest = honest_run(WRITES, others);

	if (workers) /* on the real clock */
		return;
	honest_check(backing->bytes);
	cr_assert_leq(longest, row->honest_ms * MSEC,
		"an honest request took %g ms, expected at most %u", (double)longest / MSEC,
		row->honest_ms);
}

static void pass(unsigned ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * MSEC);
}

/* The server has ended its connection; of those with an I/O queue it has ended all. */
static bool is_ended(struct bad *b)
{
	struct target_status seen;

	if (is_nbd())
		return nbd_over(b);
	raw_poll(b->raw);
	target_get_status(target, &seen);
	return b->io ? seen.queues == 1 : b->raw->over;
}

static void begin_threads(void)
{
	const struct bdev_env env = { .write = true };
	static struct loop *loops[WORKERS];

	cr_assert_eq(
		workers_start(&workers, WORKERS, &(struct loop_options){ .name = "workers" }, &why),
		0);
	for (unsigned i = 0; i < WORKERS; i++)
		loops[i] = workers_loop(workers, i);
	cr_assert_eq(bdev_open(&ram, loop, "ram:4M?block=512", &env, &why), 0);
	opt.loops = loops;
	opt.nloops = WORKERS;
	opt.disk[0].bdev = ram;
}

static void begin(const struct row *r, bool threads)
{
	unsigned seed = 7;

	row = r;
	for (unsigned i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand_r(&seed);
	if (threads)
		leap_now = 0;
	serving_begin(SIZE, TRANSPORT_TCP | TRANSPORT_IWARP, 0);
	opt.depth = DEPTH;
	opt.stall_ms = leap_limit_ms(STALL_MS);
	opt.listen[0].no_crc = true;
	if (threads)
		begin_threads();
	if (row->carrier == NBDS)
		begin_tls();
	if (is_nbd())
		serving_start_nbd(16);
	else
		serving_start();
	find_server();
	attach();
	for (unsigned i = 0; i < row->bad; i++)
		bad[i] = (struct bad){ .row = row, .seed = i };
	honest_works(all_struck);
}

static void end(void)
{
	for (unsigned i = 0; i < row->bad; i++)
		leave(&bad[i]);
	pass(10);
	host_hang_up();
	serving_stop();
	workers_stop(workers);
	bdev_close(ram);
	serving_end();
	if (row->carrier == NBDS)
		end_tls();
}

static void run(struct row r)
{
	begin(&r, false);
	/* The time limits of those that owe something expire; the honest client stays connected. */
	pass(2 * STALL_MS);
	honest_works(NULL);
	for (unsigned i = 0; i < r.bad; i++)
		cr_assert(r.end != ENDED || is_ended(&bad[i]), "client %u is still connected", i);
	end();
}

static void run_threads(struct row r)
{
	begin(&r, true);
	end();
}

/* Hosts that neither finish their writes nor close their end delay the stop, but the disk is
 * flushed. */
static void stops_under(enum carrier carrier)
{
	struct row r = { carrier, 8, 4, freezes, SOON_MS, ANY_END };
	uint64_t flushes;

	begin(&r, false);
	host_hang_up();
	flushes = backing->flushes;
	cr_assert_eq(target_stop(target, 1000, &why), -ETIMEDOUT, "%s", why.text);
	diag_says(&why, DIAG_TIMEOUT, NULL, "requests 1_s");
	cr_assert_gt(backing->flushes, flushes);
	target = NULL;
	end();
}

Test(neighbours, tcp_stop_under_frozen)
{
	stops_under(TCP);
}
Test(neighbours, iwarp_stop_under_frozen)
{
	stops_under(IWARP);
}

#define NEIGHBOURS(name, ...)                                                                      \
	Test(neighbours, name)                                                                     \
	{                                                                                          \
		run((struct row){ __VA_ARGS__ });                                                  \
	}

NEIGHBOURS(tcp_silent, TCP, 48, 0, silent, SOON_MS, ENDED)
NEIGHBOURS(tcp_greet_and_are_silent, TCP, 48, 0, greets_and_is_silent, SOON_MS, ENDED)
NEIGHBOURS(tcp_join_and_are_silent, TCP, 24, 0, joins_and_is_silent, SOON_MS, ANY_END)
NEIGHBOURS(tcp_freeze_with_writes, TCP, 8, 4, freezes, SOON_MS, ENDED)
NEIGHBOURS(tcp_freeze_with_discards, TCP, 8, 2, freezes_with_discards, SOON_MS, ENDED)
NEIGHBOURS(tcp_leave_with_writes, TCP, 8, 4, leaves_with_writes, SOON_MS, ANY_END)
NEIGHBOURS(tcp_lie, TCP, 8, 0, lies, SOON_MS, ANY_END)
NEIGHBOURS(tcp_never_read, TCP, 6, 7, never_reads, SOON_MS, ENDED)
NEIGHBOURS(tcp_garbage, TCP, 16, 0, sends_garbage, SOON_MS, ANY_END)

NEIGHBOURS(iwarp_silent, IWARP, 48, 0, silent, SOON_MS, ENDED)
NEIGHBOURS(iwarp_greet_and_are_silent, IWARP, 48, 0, greets_and_is_silent, SOON_MS, ENDED)
NEIGHBOURS(iwarp_join_and_are_silent, IWARP, 24, 0, joins_and_is_silent, SOON_MS, ANY_END)
NEIGHBOURS(iwarp_freeze_with_writes, IWARP, 8, 4, freezes, SOON_MS, ENDED)
NEIGHBOURS(iwarp_leave_with_writes, IWARP, 8, 4, leaves_with_writes, SOON_MS, ANY_END)
NEIGHBOURS(iwarp_lie, IWARP, 8, 0, lies, SOON_MS, ANY_END)
NEIGHBOURS(iwarp_never_read, IWARP, 6, 7, never_reads, SOON_MS, ENDED)
NEIGHBOURS(iwarp_garbage, IWARP, 16, 0, sends_garbage, SOON_MS, ANY_END)

NEIGHBOURS(nbd_silent, NBD, 48, 0, silent, SOON_MS, ENDED)
NEIGHBOURS(nbd_silent_in_handshake, NBD, 48, 0, nbd_silent_in_handshake, SOON_MS, ENDED)
NEIGHBOURS(nbd_join_and_are_silent, NBD, 48, 0, nbd_joins_and_is_silent, SOON_MS, ANY_END)
NEIGHBOURS(nbd_freeze_with_writes, NBD, 16, 4, nbd_freezes, SOON_MS, ANY_END)
NEIGHBOURS(nbd_leave_with_writes, NBD, 16, 4, nbd_leaves_with_writes, SOON_MS, ANY_END)
NEIGHBOURS(nbd_lie, NBD, 16, 0, nbd_lies, SOON_MS, ANY_END)
NEIGHBOURS(nbd_never_read, NBD, 16, 8, nbd_never_reads, SOON_MS, ANY_END)
NEIGHBOURS(nbd_garbage, NBD, 16, 0, nbd_sends_garbage, SOON_MS, ANY_END)

NEIGHBOURS(nbds_silent_in_handshake, NBDS, 48, 0, nbds_silent_in_handshake, SOON_MS, ENDED)
NEIGHBOURS(nbds_flood, NBDS, 48, 0, nbds_floods, SOON_MS, ANY_END)

#define THREADS(name, ...)                                                                         \
	Test(neighbours, threads_##name)                                                           \
	{                                                                                          \
		run_threads((struct row){ __VA_ARGS__ });                                          \
	}

THREADS(tcp_join, TCP, 8, 0, joins_and_is_silent, 0, ANY_END)
THREADS(tcp_leave_with_writes, TCP, 8, 4, leaves_with_writes, 0, ANY_END)
THREADS(tcp_lie, TCP, 8, 0, lies, 0, ANY_END)
THREADS(iwarp_leave_with_writes, IWARP, 8, 4, leaves_with_writes, 0, ANY_END)
THREADS(iwarp_lie, IWARP, 8, 0, lies, 0, ANY_END)
THREADS(iwarp_garbage, IWARP, 8, 0, sends_garbage, 0, ANY_END)
THREADS(nbd_leave_with_writes, NBD, 8, 4, nbd_leaves_with_writes, 0, ANY_END)
THREADS(nbd_lie, NBD, 8, 0, nbd_lies, 0, ANY_END)
THREADS(nbds_flood, NBDS, 8, 0, nbds_floods, 0, ANY_END)
