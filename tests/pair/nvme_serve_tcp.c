/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The target over TCP, PDU by PDU: it reports which rule a host broke and ends only that host's
 * connection. The host is the test, with a plain socket. */
/* Link: leap */
#include "../../core/proto/nvme/codec.h"
#include "crc32c.h"
#include "says.h"
#include "serving.h"
#include "tune.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE (4u << 20)
#define NQN  SERVING_NQN

static void begin(void)
{
	serving_begin(SIZE, TRANSPORT_TCP, 0);
	opt.depth = 8;
	serving_start();
}

/* More than one, even if the machine is busy. */
static void turns(void)
{
	volatile int never = 0;

	for (unsigned i = 0; i < 4; i++)
		loop_wait(loop, &never, loop_clock() + 1000000);
}

static int dial(void)
{
	struct addr bound;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	target_transports(target, 0, &bound);
	tune_tcp(fd);
	cr_assert_eq(connect(fd, (struct sockaddr *)&bound.ss, bound.len), 0);
	turns();
	return fd;
}

static void put_bytes(int fd, const void *p, size_t len)
{
	cr_assert_eq(send(fd, p, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* A PDU without digests; data may be NULL. */
static void put_pdu(int fd, struct nvme_tcp_pdu *pdu, const void *data)
{
	uint8_t head[NVME_TCP_HEAD_MAX];
	unsigned len = nvme_tcp_put(head, pdu, 0, 4);

	put_bytes(fd, head, len);
	if (pdu->data)
		put_bytes(fd, data, pdu->data);
}

/* The next len bytes; false: the connection is over. */
static bool get_bytes(int fd, void *p, size_t len)
{
	for (size_t got = 0; got < len;) {
		ssize_t n = recv(fd, (uint8_t *)p + got, len - got, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN))
			return false;
		if (n > 0)
			got += (size_t)n;
		else
			turns();
	}
	return true;
}

static bool get_pdu(int fd, struct nvme_tcp_pdu *pdu, void *data)
{
	uint8_t head[NVME_TCP_HEAD_MAX];
	unsigned hlen;

	if (!get_bytes(fd, head, 8))
		return false;
	hlen = nvme_tcp_hlen(head[0]);
	cr_assert(get_bytes(fd, head + 8, hlen - 8));
	cr_assert_eq(nvme_tcp_get(pdu, head, hlen, 0, NULL), 0);
	if (pdu->data) {
		cr_assert(data);
		cr_assert(get_bytes(fd, data, pdu->data));
	}
	return true;
}

static int greet(void)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ };
	int fd = dial();

	put_pdu(fd, &pdu, NULL);
	cr_assert(get_pdu(fd, &pdu, NULL));
	cr_assert_eq(pdu.type, NVME_TCP_ICRESP);
	cr_assert_geq(pdu.ic.max, NVME_TCP_MIN_H2C);
	return fd;
}

static uint32_t status(int fd)
{
	struct nvme_tcp_pdu pdu;

	cr_assert(get_pdu(fd, &pdu, NULL));
	cr_assert_eq(pdu.type, NVME_TCP_RSP);
	return get_le16(pdu.cqe.status) >> 1;
}

/* R2T by R2T, with the data in H2CData PDUs of at most that size. */
static void give(int fd, const uint8_t *data, uint32_t len, uint32_t most)
{
	struct nvme_tcp_pdu r2t;
	uint32_t at = 0;

	while (at < len) {
		cr_assert(get_pdu(fd, &r2t, NULL));
		cr_assert_eq(r2t.type, NVME_TCP_R2T);
		cr_assert_eq(r2t.xfer.off, at);
		for (uint32_t left = r2t.xfer.len; left;) {
			uint32_t part = left < most ? left : most;
			struct nvme_tcp_pdu pdu = { .type = NVME_TCP_H2C_DATA,
				.flags = part == left ? NVME_TCP_LAST : 0,
				.data = part,
				.xfer = { r2t.xfer.cccid, r2t.xfer.ttag, at, part } };

			put_pdu(fd, &pdu, data + at);
			turns();
			at += part;
			left -= part;
		}
	}
}

/* The Connect command of a queue; its data comes in the capsule, or when it is asked for. */
static uint32_t connect_to(int fd, const struct nvmf_connect *ask, bool inside)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD,
		.data = inside ? sizeof(struct nvmf_connect_data) : 0 };
	struct nvmf_connect_data data;
	struct nvmf_connect_sqe sqe;

	nvmf_connect_put(&sqe, &data, ask);
	sqe.sgl = (struct nvme_sgl){ .type = inside ? NVME_SGL_OFFSET : NVME_SGL_TRANSPORT,
		.block.len = put_le32(sizeof(data)) };
	memcpy(&pdu.sqe, &sqe, sizeof(sqe));
	put_pdu(fd, &pdu, &data);
	if (!inside)
		give(fd, (const uint8_t *)&data, sizeof(data), 300);
	return status(fd);
}

static uint32_t connect_with(int fd, uint16_t qid, bool no_sqfc, bool inside)
{
	const struct nvmf_connect ask = { .qid = qid,
		.depth = 8,
		.kato_ms = 0,
		.cntlid = qid ? 1 : 0xffff,
		.no_sqfc = no_sqfc,
		.subnqn = NQN,
		.hostnqn = "nqn.host" };

	return connect_to(fd, &ask, inside);
}

static uint32_t connect_as(int fd, uint16_t qid, bool no_sqfc)
{
	return connect_with(fd, qid, no_sqfc, true);
}

static bool is_over(int fd)
{
	char c;
	ssize_t got;

	turns();
	got = recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK);
	return got == 0 || (got < 0 && errno != EAGAIN);
}

static unsigned refused;
static struct diag refused_why;

static void full(const struct diag *cause, void *user)
{
	cr_assert_eq(user, &refused);
	refused++;
	refused_why = *cause;
}

static void enable(int fd)
{
	struct nvmf_property_sqe set = { .opcode = NVME_FABRICS,
		.fctype = NVMF_PROPERTY_SET,
		.offset = put_le32(NVME_CC),
		.value = put_le64(NVME_CC_EN | NVME_CC_IOSQES | NVME_CC_IOCQES) };
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD };

	memcpy(&pdu.sqe, &set, sizeof(set));
	put_pdu(fd, &pdu, NULL);
	cr_assert_eq(status(fd), 0);
}

static int connect_admin(void)
{
	int fd = greet();

	cr_assert_eq(connect_as(fd, 0, false), 0);
	enable(fd);
	return fd;
}

static struct nvme_tcp_pdu rw(uint8_t opcode, uint16_t cid, uint32_t lba, uint32_t blocks)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD };

	pdu.sqe = (struct nvme_sqe){ .opcode = opcode,
		.flags = NVME_PSDT_SGL,
		.cid = put_le16(cid),
		.nsid = put_le32(1),
		.cdw10 = put_le32(lba),
		.cdw12 = put_le32(blocks - 1),
		.sgl = { .type = NVME_SGL_TRANSPORT, .block.len = put_le32(blocks * 512) } };
	return pdu;
}

/* Expect the connection to end, with this FES in a C2HTermReq (0: without one). */
static void ends(int fd, unsigned fes)
{
	struct nvme_tcp_pdu pdu;
	bool has_pdu = get_pdu(fd, &pdu, NULL);

	cr_assert_eq(has_pdu, fes != 0);
	if (has_pdu) {
		cr_assert_eq(pdu.type, NVME_TCP_C2H_TERM);
		cr_assert_eq(pdu.term.fes, fes);
		cr_assert(!get_pdu(fd, &pdu, NULL));
	}
	close(fd);
}

Test(nvme_serve_tcp, reads_and_writes)
{
	static uint8_t data[1 << 20], back[1 << 20];
	struct nvme_tcp_pdu pdu;
	int admin, io;

	begin();
	admin = connect_admin();
	io = greet();
	cr_assert_eq(connect_as(io, 1, false), 0);
	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 3 + i / 1021);
	pdu = rw(NVME_IO_WRITE, 1, 64, 2048);
	put_pdu(io, &pdu, NULL);
	give(io, data, sizeof(data), 20000);
	cr_assert_eq(status(io), 0);
	cr_assert_arr_eq(backing->bytes + 64 * 512, data, sizeof(data));
	pdu = rw(NVME_IO_READ, 2, 64, 2048);
	put_pdu(io, &pdu, NULL);
	for (uint32_t at = 0; at < sizeof(data); at += pdu.data) {
		cr_assert(get_pdu(io, &pdu, back + at));
		cr_assert_eq(pdu.type, NVME_TCP_C2H_DATA);
		cr_assert_eq(pdu.xfer.off, at);
		cr_assert_eq(pdu.flags, at + pdu.data == sizeof(data) ? NVME_TCP_LAST : 0);
	}
	cr_assert_eq(status(io), 0);
	cr_assert_arr_eq(back, data, sizeof(data));
	close(io);
	close(admin);
	serving_end();
}

/* Without SQ flow control the last data is the reply. */
Test(nvme_serve_tcp, success_without_a_reply)
{
	struct nvme_tcp_pdu pdu;
	uint8_t block[512];
	int admin, io;

	begin();
	admin = connect_admin();
	io = greet();
	cr_assert_eq(connect_as(io, 1, true), 0);
	for (unsigned i = 0; i < 3; i++) {
		pdu = rw(NVME_IO_READ, 2, i, 1);
		put_pdu(io, &pdu, NULL);
		cr_assert(get_pdu(io, &pdu, block));
		cr_assert_eq(pdu.type, NVME_TCP_C2H_DATA);
		cr_assert_eq(pdu.flags, NVME_TCP_LAST | NVME_TCP_SUCCESS);
	}
	pdu = rw(NVME_IO_READ, 2, SIZE / 512, 1);
	put_pdu(io, &pdu, NULL);
	cr_assert_eq(status(io), NVME_LBA_RANGE);
	close(io);
	close(admin);
	serving_end();
}

/* A discovery controller takes no larger queue than it works off. */
Test(nvme_serve_tcp, discovery_queue)
{
	struct nvmf_connect ask = {
		.depth = 33, .cntlid = 0xffff, .subnqn = NVMF_DISCOVERY_NQN, .hostnqn = "nqn.host"
	};
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD, .sqe.opcode = NVME_ADMIN_KEEP_ALIVE };
	struct nvme_tcp_pdu rsp;
	int fd;

	serving_begin(SIZE, TRANSPORT_TCP, 0);
	opt.depth = 128;
	serving_start();
	fd = greet();
	pdu.sqe.flags = 0x40;
	cr_assert_eq(connect_to(fd, &ask, true), NVMF_PARAM);
	close(fd);
	ask.depth = 32;
	fd = greet();
	cr_assert_eq(connect_to(fd, &ask, true), 0);
	enable(fd);
	for (uint16_t cid = 0; cid < 32; cid++) {
		pdu.sqe.cid = put_le16(cid);
		put_pdu(fd, &pdu, NULL);
	}
	for (unsigned i = 0; i < 32; i++) {
		cr_assert(get_pdu(fd, &rsp, NULL));
		cr_assert_eq(rsp.type, NVME_TCP_RSP);
		cr_assert_eq(get_le16(rsp.cqe.status) >> 1, 0);
	}
	close(fd);
	serving_end();
}

/* One command beyond the queue's entries. */
static void too_many(int fd)
{
	for (unsigned i = 0; i < 9; i++) {
		struct nvme_tcp_pdu pdu = rw(NVME_IO_WRITE, (uint16_t)i, 0, 64);

		put_pdu(fd, &pdu, NULL);
	}
	for (unsigned i = 0; i < 8; i++) {
		struct nvme_tcp_pdu pdu;

		cr_assert(get_pdu(fd, &pdu, NULL));
		if (pdu.type == NVME_TCP_C2H_TERM) { /* before the R2Ts had left */
			cr_assert_eq(pdu.term.fes, NVME_TCP_FES_SEQUENCE);
			close(fd);
			return;
		}
		cr_assert_eq(pdu.type, NVME_TCP_R2T);
	}
	ends(fd, NVME_TCP_FES_SEQUENCE);
}

Test(nvme_serve_tcp, hosts_that_break_rules)
{
	static const uint8_t zeroes[16384];
	struct nvme_tcp_pdu pdu, good;
	int admin, other, fd;

	begin();
	fd = dial();
	put_bytes(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	ends(fd, NVME_TCP_FES_HEADER);
	fd = dial();
	pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_ICREQ, .ic.pfv = 1 };
	put_pdu(fd, &pdu, NULL);
	ends(fd, NVME_TCP_FES_PARAM);
	fd = dial();
	pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_ICREQ, .ic.pda = 32 };
	put_pdu(fd, &pdu, NULL);
	ends(fd, NVME_TCP_FES_HEADER);
	fd = dial();
	pdu = rw(NVME_IO_READ, 0, 0, 1);
	put_pdu(fd, &pdu, NULL);
	ends(fd, NVME_TCP_FES_SEQUENCE);
	fd = greet();
	pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_ICREQ };
	put_pdu(fd, &pdu, NULL);
	ends(fd, NVME_TCP_FES_SEQUENCE);
	fd = greet();
	pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_RSP };
	put_pdu(fd, &pdu, NULL);
	ends(fd, NVME_TCP_FES_SEQUENCE);
	fd = greet();
	pdu = rw(NVME_IO_WRITE, 0, 0, 1);
	pdu.data = NVME_TCP_ADMIN_INCAP + 512;
	put_pdu(fd, &pdu, zeroes);
	ends(fd, NVME_TCP_FES_LIMIT);
	fd = greet();
	pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_H2C_TERM, .term.fes = 1 };
	put_pdu(fd, &pdu, NULL);
	ends(fd, 0);
	fd = greet(); /* commands before connect are answered */
	pdu = rw(NVME_IO_READ, 0, 0, 1);
	put_pdu(fd, &pdu, NULL);
	cr_assert_eq(status(fd), NVME_SEQUENCE);
	close(fd);

	admin = connect_admin();
	other = greet();
	cr_assert_eq(connect_as(other, 2, false), 0);
	for (unsigned wrong = 0; wrong < 7; wrong++) {
		static const unsigned fes[] = { NVME_TCP_FES_HEADER, NVME_TCP_FES_HEADER,
			NVME_TCP_FES_RANGE, NVME_TCP_FES_RANGE, NVME_TCP_FES_HEADER,
			NVME_TCP_FES_HEADER, NVME_TCP_FES_HEADER };

		fd = greet();
		cr_assert_eq(connect_as(fd, 1, false), 0);
		pdu = rw(NVME_IO_WRITE, 3, 0, 16);
		put_pdu(fd, &pdu, NULL);
		cr_assert(get_pdu(fd, &pdu, NULL));
		cr_assert_eq(pdu.type, NVME_TCP_R2T);
		good = (struct nvme_tcp_pdu){ .type = NVME_TCP_H2C_DATA,
			.flags = NVME_TCP_LAST,
			.data = 8192,
			.xfer = { 3, pdu.xfer.ttag, 0, 8192 } };
		switch (wrong) {
		case 0:
			good.xfer.ttag += 1; /* of no transfer */
			break;
		case 1:
			good.xfer.cccid = 4;
			break;
		case 2:
			good.xfer.off = 512;
			break;
		case 3:
			good.data = good.xfer.len = 8704;
			break;
		case 4:
			good.flags = 0; /* all of it, but not the last */
			break;
		case 5:
			good.xfer.ttag = 9999;
			break;
		case 6:
			good.data = good.xfer.len = 512; /* the last, but not all */
		}
		put_pdu(fd, &good, zeroes);
		ends(fd, fes[wrong]);
	}
	fd = greet();
	cr_assert_eq(connect_as(fd, 1, false), 0);
	too_many(fd);
	pdu = rw(NVME_IO_FLUSH, 1, 0, 1);
	put_pdu(other, &pdu, NULL);
	cr_assert_eq(status(other), 0);
	close(other);
	close(admin);
	serving_end();
}

static void begin_impatient(void)
{
	begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.stall_ms = 200;
	opt.buffer = 131072;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
}

static void pass(unsigned ms)
{
	volatile int never = 0;

	loop_wait(loop, &never, loop_clock() + ms * 1000000ull);
}

/* How many of the pieces of a write of 1 MiB the target takes, if they arrive one by one, each
 * followed by a read. */
static unsigned trickle(int io, uint32_t piece, unsigned ms)
{
	static uint8_t data[131072];
	struct nvme_tcp_pdu pdu = rw(NVME_IO_WRITE, 1, 0, 2048), read = rw(NVME_IO_READ, 2, 0, 1),
			    r2t = { 0 };
	unsigned taken = 0;

	put_pdu(io, &pdu, NULL);
	for (uint32_t at = 0; at < 1 << 20; at += piece, taken++) {
		if (at == r2t.xfer.off + r2t.xfer.len && !get_pdu(io, &r2t, NULL))
			return taken;
		cr_assert_eq(r2t.type, NVME_TCP_R2T);
		pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_H2C_DATA,
			.data = piece,
			.xfer = { 1, r2t.xfer.ttag, at, piece },
			.flags = at + piece == r2t.xfer.off + r2t.xfer.len ? NVME_TCP_LAST : 0 };
		if (is_over(io))
			return taken;
		put_pdu(io, &read, NULL);
		if (!get_pdu(io, &read, data))
			return taken;
		if (read.type == NVME_TCP_R2T) {
			r2t = read;
			cr_assert(get_pdu(io, &read, data));
		}
		cr_assert_eq(read.type, NVME_TCP_C2H_DATA);
		pass(ms);
		read = rw(NVME_IO_READ, 2, 0, 1);
		if (is_over(io))
			return taken;
		put_pdu(io, &pdu, data);
		turns();
	}
	return taken;
}

/* However busy a host is otherwise: each command has its time, piece by piece and all together. */
Test(nvme_serve_tcp, hosts_that_trickle)
{
	int admin, io, other;

	begin_impatient();
	admin = connect_admin();
	other = greet();
	cr_assert_eq(connect_as(other, 2, false), 0);
	io = greet();
	cr_assert_eq(connect_as(io, 1, true), 0);
	cr_assert_lt(trickle(io, 512, 20), 256);
	cr_assert(is_over(io));
	close(io);
	io = greet();
	cr_assert_eq(connect_as(io, 1, true), 0);
	cr_assert_lt(trickle(io, 131072, 100), 8);
	cr_assert(is_over(io));
	close(io);
	cr_assert(!is_over(other));
	cr_assert(!is_over(admin));
	close(other);
	close(admin);
	serving_end();
}

/* Connecting and administration need no data buffer, so a host that keeps all of them to itself
 * does not hold them up. */
Test(nvme_serve_tcp, connects_and_administers_without_buffers)
{
	struct nvme_tcp_pdu write = rw(NVME_IO_WRITE, 1, 0, 2048), pdu;
	static uint8_t page[NVME_IDENTIFY_LEN];
	int admin, io, other;

	begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.buffers = 1;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	admin = connect_admin();
	io = greet();
	cr_assert_eq(connect_as(io, 1, false), 0);
	put_pdu(io, &write, NULL);
	cr_assert(get_pdu(io, &pdu, NULL));
	cr_assert_eq(pdu.type, NVME_TCP_R2T); /* which is not answered */
	other = greet();
	cr_assert_eq(connect_with(other, 0, false, false), 0);
	enable(other);
	pdu = rw(NVME_ADMIN_IDENTIFY, 1, NVME_CNS_CTRL, 1);
	pdu.sqe.sgl.block.len = put_le32(NVME_IDENTIFY_LEN);
	put_pdu(other, &pdu, NULL);
	cr_assert(get_pdu(other, &pdu, page));
	cr_assert_eq(pdu.type, NVME_TCP_C2H_DATA);
	cr_assert_eq(status(other), 0);
	cr_assert(!memcmp(((struct nvme_id_ctrl *)page)->mn, "rdmastor", 8));
	/* longer than the memory that a connection has for it */
	pdu = rw(NVME_ADMIN_GET_LOG, 2, NVME_LOG_SMART | (16384 / 4 - 1) << 16, 1);
	pdu.sqe.cdw12 = put_le32(0);
	pdu.sqe.sgl.block.len = put_le32(16384);
	put_pdu(other, &pdu, NULL);
	for (uint32_t at = 0; at < 16384; at += pdu.data) {
		static uint8_t log[16384];

		cr_assert(get_pdu(other, &pdu, log + at));
		cr_assert_eq(pdu.type, NVME_TCP_C2H_DATA);
		cr_assert_eq(pdu.xfer.off, at);
	}
	cr_assert_eq(status(other), 0);
	cr_assert(!is_over(io));
	close(other);
	close(io);
	close(admin);
	serving_end();
}

/* A host that does not take what it has read. */
Test(nvme_serve_tcp, hosts_that_do_not_read)
{
	struct target_status seen;
	struct nvme_tcp_pdu pdu;
	int admin, io, small = 4096;
	unsigned i;

	begin_impatient();
	admin = connect_admin();
	io = greet();
	cr_assert_eq(connect_as(io, 1, true), 0);
	setsockopt(io, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	for (i = 0; i < 7; i++) {
		pdu = rw(NVME_IO_READ, (uint16_t)i, 0, 2048);
		put_pdu(io, &pdu, NULL);
	}
	turns();
	target_get_status(target, &seen);
	cr_assert_eq(seen.queues, 1);
	for (i = 0; i < 1000 && seen.queues; i++) {
		char byte;

		pass(20); /* one byte each time, so that the host counts as alive */
		recv(io, &byte, 1, MSG_DONTWAIT);
		target_get_status(target, &seen);
	}
	cr_assert_lt(i, 1000);
	close(io);
	close(admin);
	serving_end();
}

/* A host that leaves half-way, at each byte of a write. */
Test(nvme_serve_tcp, hosts_that_leave_half_way)
{
	static uint8_t stream[128 + 72 + 1024 + 8];
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ };
	int fd;

	begin();
	nvme_tcp_put(stream, &pdu, 0, 4);
	pdu = rw(NVME_IO_WRITE, 3, 0, 2);
	pdu.data = 1024;
	nvme_tcp_put(stream + 128, &pdu, 0, 4);
	for (size_t len = 0; len < 128 + 72 + 1024; len += len < 220 ? 3 : 97) {
		fd = dial();
		if (len)
			put_bytes(fd, stream, len);
		turns();
		close(fd);
	}
	serving_end();
}

/* Data digests: a wrong one fails the command and not the session (TCP 1.1, 3.3.1.1.1); a wrong
 * header digest ends it. */
Test(nvme_serve_tcp, digests)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ, .ic.dgst = NVME_TCP_DGST_DATA };
	uint8_t head[NVME_TCP_HEAD_MAX], data[1024] = { 1 };
	struct nvmf_connect ask = {
		.depth = 8, .cntlid = 0xffff, .subnqn = NQN, .hostnqn = "nqn.host"
	};
	struct nvmf_connect_sqe sqe;
	unsigned len;
	le32 crc;
	int fd;

	begin();
	fd = dial();
	put_pdu(fd, &pdu, NULL);
	cr_assert(get_pdu(fd, &pdu, NULL));
	cr_assert_eq(pdu.ic.dgst, NVME_TCP_DGST_DATA);
	nvmf_connect_put(&sqe, (void *)data, &ask);
	sqe.sgl = (struct nvme_sgl){ .type = NVME_SGL_OFFSET, .block.len = put_le32(sizeof(data)) };
	for (int good = 0; good < 2; good++) {
		pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_CMD, .data = sizeof(data) };
		memcpy(&pdu.sqe, &sqe, sizeof(sqe));
		len = nvme_tcp_put(head, &pdu, NVME_TCP_DGST_DATA, 4);
		put_bytes(fd, head, len);
		put_bytes(fd, data, sizeof(data));
		crc = put_le32(crc32c(0, data, sizeof(data)) ^ !good);
		put_bytes(fd, &crc, sizeof(crc));
		cr_assert_eq(status(fd), good ? 0u : NVME_STATUS(0, 0x22));
	}
	close(fd);
	fd = dial();
	pdu = (struct nvme_tcp_pdu){ .type = NVME_TCP_ICREQ, .ic.dgst = NVME_TCP_DGST_HDR };
	put_pdu(fd, &pdu, NULL);
	cr_assert(get_pdu(fd, &pdu, NULL));
	pdu = rw(NVME_IO_READ, 0, 0, 1);
	len = nvme_tcp_put(head, &pdu, NVME_TCP_DGST_HDR, 4);
	*(le32 *)(void *)(head + 72) = put_le32(crc32c(0, head, 72) ^ 1);
	put_bytes(fd, head, len);
	ends(fd, NVME_TCP_FES_HDGST);
	serving_end();
}

/* Peers that only hold places make room, the oldest first; hosts do not. */
Test(nvme_serve_tcp, all_places_are_taken)
{
	struct target_status seen;
	int idle[4], host[4];

	begin();
	cr_assert_eq(target_stop(target, 1000, NULL), 0);
	opt.connections = 4;
	opt.full = full;
	opt.full_user = &refused;
	cr_assert_eq(nvme_serve(&target, loop, &opt, 1000, NULL), 0);
	idle[0] = dial();
	for (unsigned i = 1; i < 4; i++)
		idle[i] = greet();
	cr_assert(!is_over(idle[0]));
	for (unsigned i = 0; i < 4; i++) {
		host[i] = connect_admin();
		for (unsigned k = 0; k < 4; k++)
			cr_assert_eq(is_over(idle[k]), k <= i, "after host %u: %u", i, k);
	}
	cr_assert_eq(refused, 0);
	for (unsigned i = 0; i < 3; i++)
		cr_assert(is_over(dial()));
	cr_assert_eq(refused, 1); /* reported once, counted each time */
	diag_says(&refused_why, DIAG_BUSY, NULL, "4_connections");
	target_get_status(target, &seen);
	cr_assert_eq(seen.refused, 3);
	close(host[2]);
	do {
		turns();
		target_get_status(target, &seen);
	} while (seen.clients > 3);
	turns(); /* its place is free once the connection has gone, too */
	host[2] = connect_admin();
	for (unsigned i = 0; i < 4; i++) {
		cr_assert(!is_over(host[i]));
		close(host[i]);
	}
	serving_end();
}
