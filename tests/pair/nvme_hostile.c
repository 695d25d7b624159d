/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator against a TCP target that lies: PDUs that do not add up, answers to what was not
 * asked, limits that leave nothing, silence at every step. It always ends, in time, with a reason.
 */
/* Link: leap */
#include "../fake/nvme_target.h"
#include "host.h"
#include "protocol.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#define SEC 1000000000ull
#define LEN 16384

static struct tcp_target tt;
static uint32_t timeout_ms = 3000;

static void begin(void)
{
	host_begin(0);
	target_init(&tt.target);
}

static void close_all(void)
{
	host_end();
	tcp_target_stop(&tt);
	target_fini(&tt.target);
	tt.conns = 0;
}

static int attach(void)
{
	struct bdev_env env = { .hostnqn = "nqn.me", .write = true, .timeout_ms = timeout_ms };
	char text[200];

	tcp_target_start(&tt);
	snprintf(text, sizeof(text), "nvme+tcp://127.0.0.1:%u/t1/1", tt.port);
	return host_attach(text, &env);
}

static void refused(int err, enum diag_code code, const char *words)
{
	int got = attach();

	cr_assert_eq(got, -err, "%d: %s", got, why.text);
	diag_says(&why, code, NULL, words);
	close_all();
}

/* PDUs of the scripts. */
static size_t put(uint8_t *out, uint8_t type, uint16_t cid, uint32_t off, uint32_t len)
{
	struct nvme_tcp_pdu pdu = { .type = type,
		.xfer = { .cccid = cid, .off = off, .len = len } };

	if (type == NVME_TCP_C2H_DATA)
		pdu.data = len;
	if (type == NVME_TCP_RSP)
		pdu.cqe =
			(struct nvme_cqe){ .cid = put_le16(cid), .sqhd = put_le16(NVME_SQHD_NONE) };
	nvme_tcp_put(out, &pdu, 0, 4);
	return pdu.hlen;
}

static bool say(int fd, const void *p, size_t len)
{
	return send(fd, p, len, MSG_NOSIGNAL) >= 0;
}

/* The header of one PDU with some of its bytes set. */
static uint8_t bad_type, bad_at, bad_len;
static uint32_t bad_value;

static bool say_bad(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	size_t hlen = put(out, bad_type, cid, 0, len);
	le32 value = put_le32(bad_value);

	if (qid == 0xffff)
		return false;
	memcpy(out + bad_at, &value, bad_len);
	return say(fd, out, hlen);
}

static void breach(uint8_t kind, uint32_t len, const char *words)
{
	struct pool *pool;
	struct buf buf;

	begin();
	cr_assert_eq(attach(), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 65536, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(kind, 0, 0, len, &buf), -ENOTCONN);
	for (int turns = 0; lane->state != LANE_DOWN && turns < 1000; turns++) {
		volatile int never = 0;

		loop_wait(loop, &never, loop_clock() + 1000000);
	}
	cr_assert_eq(lane->state, LANE_DOWN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, words);
	cr_assert_eq(lane_map(lane, pool, &why), -ENOTCONN);
	diag_says(&why, DIAG_CLOSED, NULL, "queue_1");
	pool_free(pool);
	close_all();
}

static void bad_pdu(uint8_t type, uint8_t at, uint8_t len, uint32_t value, const char *words)
{
	bad_type = type;
	bad_at = at;
	bad_len = len;
	bad_value = value;
	tt.script = say_bad;
	breach(IO_READ, LEN, words);
}

Test(nvme_hostile, header_length)
{
	bad_pdu(NVME_TCP_RSP, 2, 1, 25, "queue_1 NVMe/TCP PDU");
}

Test(nvme_hostile, reserved_type)
{
	bad_pdu(NVME_TCP_RSP, 0, 1, 8, "queue_1 NVMe/TCP PDU");
}

Test(nvme_hostile, length_of_a_reply)
{
	bad_pdu(NVME_TCP_RSP, 4, 4, 25, "queue_1 05h length_( 00h length_25");
}

Test(nvme_hostile, length_less_than_the_header)
{
	bad_pdu(NVME_TCP_C2H_DATA, 4, 4, 23, "queue_1 07h length_( 00h length_23");
}

Test(nvme_hostile, data_inside_the_header)
{
	bad_pdu(NVME_TCP_C2H_DATA, 3, 1, 20, "queue_1 07h data_offset_( 00h length_16408");
}

Test(nvme_hostile, data_that_begins_behind_the_end)
{
	bad_pdu(NVME_TCP_C2H_DATA, 4, 4, 24, "queue_1 07h length_( 00h length_24");
}

Test(nvme_hostile, digests_not_agreed_on)
{
	bad_pdu(NVME_TCP_RSP, 1, 1, NVME_TCP_HDGST, "queue_1 05h digest_flag_( 01h length_24");
}

Test(nvme_hostile, data_digest_not_agreed_on)
{
	bad_pdu(NVME_TCP_C2H_DATA, 1, 1, NVME_TCP_DDGST,
		"queue_1 07h digest_flag_( 02h length_16408");
}

Test(nvme_hostile, two_lengths_that_differ)
{
	bad_pdu(NVME_TCP_C2H_DATA, 16, 4, LEN - 4, "queue_1 07h data_length_( 00h length_16408");
}

Test(nvme_hostile, data_of_4_gib)
{
	bad_pdu(NVME_TCP_C2H_DATA, 4, 4, UINT32_MAX,
		"queue_1 07h data_length_( 00h length_4294967295");
}

Test(nvme_hostile, a_command_beyond_the_queue)
{
	bad_pdu(NVME_TCP_R2T, 8, 2, 0xffff, "queue_1 in_flight");
}

static bool no_data_and_more_bits(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	size_t hlen = put(out, NVME_TCP_RSP, cid, 0, len);

	out[8 + 15] = 0x80; /* do not retry */
	return qid != 0xffff && say(fd, out, hlen);
}

Test(nvme_hostile, success_in_other_words_needs_data_too)
{
	tt.script = no_data_and_more_bits;
	breach(IO_READ, LEN, "queue_1 success read data");
}

static bool data_and_two_replies(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	static uint8_t out[NVME_TCP_HEAD_MAX + LEN + 48];
	size_t at = put(out, NVME_TCP_C2H_DATA, cid, 0, len) + len;

	at += put(out + at, NVME_TCP_RSP, cid, 0, 0);
	memcpy(out + at, out + at - 24, 24);
	return qid != 0xffff && say(fd, out, at + 24);
}

/* The read is good; its second end is not. */
Test(nvme_hostile, a_reply_twice)
{
	struct pool *pool;
	struct buf buf;

	tt.script = data_and_two_replies;
	begin();
	cr_assert_eq(attach(), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 65536, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(IO_READ, 0, 0, LEN, &buf), 0);
	cr_assert_eq(host_io(IO_READ, 0, 0, LEN, &buf), -ENOTCONN);
	diag_says(&lane->why, DIAG_PROTOCOL, NULL, "queue_1 in_flight");
	pool_free(pool);
	close_all();
}

static uint32_t again_off, again_len;

static bool two_r2ts(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	uint8_t out[2 * NVME_TCP_HEAD_MAX];
	size_t at = put(out, NVME_TCP_R2T, cid, 0, len / 2);

	at += put(out + at, NVME_TCP_R2T, cid, again_off, again_len);
	return qid != 0xffff && say(fd, out, at);
}

Test(nvme_hostile, a_second_r2t_before_the_first_is_served)
{
	tt.script = two_r2ts;
	again_off = LEN / 2;
	again_len = LEN / 2;
	breach(IO_WRITE, LEN, "queue_1 R2T unexpected");
}

static bool served_then_again(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	static uint8_t out[NVME_TCP_HEAD_MAX], in[24 + LEN / 2];
	size_t hlen;

	(void)len;
	if (qid == 0xffff)
		return false;
	hlen = put(out, NVME_TCP_R2T, cid, 0, LEN / 2);
	if (!say(fd, out, hlen) || recv(fd, in, sizeof(in), MSG_WAITALL) != sizeof(in))
		return true;
	hlen = put(out, NVME_TCP_R2T, cid, again_off, again_len);
	return say(fd, out, hlen);
}

static void again(uint32_t off, uint32_t len, const char *words)
{
	tt.script = served_then_again;
	again_off = off;
	again_len = len;
	breach(IO_WRITE, LEN, words);
}

Test(nvme_hostile, a_range_asked_for_twice)
{
	again(0, LEN / 2, "queue_1 data buffer");
}

Test(nvme_hostile, ranges_that_overlap)
{
	again(LEN / 2 - 512, LEN / 2, "queue_1 data buffer");
}

Test(nvme_hostile, a_range_past_the_end)
{
	again(LEN / 2, LEN / 2 + 1, "queue_1 data buffer");
}

Test(nvme_hostile, a_range_with_an_overflow)
{
	again(LEN / 2, UINT32_MAX - 100, "queue_1 data buffer");
}

Test(nvme_hostile, an_empty_range)
{
	again(LEN / 2, 0, "queue_1 data buffer");
}

static bool half_then_success(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	static uint8_t out[NVME_TCP_HEAD_MAX], in[24 + LEN / 2];

	(void)len;
	if (qid == 0xffff)
		return false;
	if (!say(fd, out, put(out, NVME_TCP_R2T, cid, 0, LEN / 2)) ||
		recv(fd, in, sizeof(in), MSG_WAITALL) != sizeof(in))
		return true;
	return say(fd, out, put(out, NVME_TCP_RSP, cid, 0, 0));
}

Test(nvme_hostile, success_of_half_a_write)
{
	tt.script = half_then_success;
	breach(IO_WRITE, LEN, "queue_1 success write data");
}

static bool asks_for(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	uint8_t out[NVME_TCP_HEAD_MAX];

	return qid != 0xffff && say(fd, out, put(out, NVME_TCP_R2T, cid, 0, len));
}

Test(nvme_hostile, an_r2t_for_data_in_the_capsule)
{
	tt.script = asks_for;
	breach(IO_WRITE, 4096, "queue_1 R2T unexpected");
}

/* ---- Invalid answers while a host attaches. */
static bool half_a_greeting(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	uint8_t out[NVME_TCP_HEAD_MAX];

	(void)qid;
	put(out, NVME_TCP_ICRESP, cid, 0, len);
	return say(fd, out, 127);
}

Test(nvme_hostile, half_a_greeting_and_silence)
{
	begin();
	timeout_ms = 300;
	tt.script = half_a_greeting;
	refused(ETIMEDOUT, DIAG_TIMEOUT, "queue_0 ICReq");
}

static bool terminates(int fd, uint16_t qid, uint16_t cid, uint32_t len)
{
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_C2H_TERM,
		.term = { .fes = NVME_TCP_FES_PARAM, .fei = 9 } };
	uint8_t out[NVME_TCP_HEAD_MAX];

	(void)qid, (void)cid, (void)len;
	nvme_tcp_put(out, &pdu, 0, 4);
	return say(fd, out, pdu.plen);
}

Test(nvme_hostile, termination_in_place_of_a_greeting)
{
	begin();
	tt.script = terminates;
	refused(EPROTO, DIAG_PROTOCOL, "queue_0 6, field_9");
}

Test(nvme_hostile, a_huge_h2c_limit_is_no_limit)
{
	struct pool *pool;
	struct buf buf;

	begin();
	tt.max_h2c = UINT32_MAX;
	cr_assert_eq(attach(), 0, "%s", why.text);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 131072, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 131072, &buf), 0);
	pool_free(pool);
	close_all();
}

/* Connect, CAP, CC, CSTS, Identify, queues, events, AER, namespace, descriptors, limits. */
Test(nvme_hostile, silence_at_every_step_ends_in_time)
{
	unsigned steps = 0;

	for (unsigned at = 1;; at++) {
		uint64_t from = loop_clock();
		int err;

		begin();
		timeout_ms = 200;
		tt.target.silent_at = at;
		err = attach();
		cr_assert_lt(loop_clock() - from, SEC, "step %u: %s", at, why.text);
		close_all();
		if (!err)
			break;
		cr_assert_eq(err, -ETIMEDOUT, "step %u: %s", at, why.text);
		cr_assert_eq(why.code, DIAG_TIMEOUT);
		steps++;
	}
	cr_assert_eq(steps, 10);
}

static void capable(uint64_t cap, int err, enum diag_code code, const char *words)
{
	begin();
	tt.target.cap = cap;
	refused(err, code, words);
}

Test(nvme_hostile, no_nvm_command_set)
{
	capable(127 | 2ull << 24 | 1ull << 44, ENOTSUP, DIAG_UNSUPPORTED, "NVM_command_set");
}

Test(nvme_hostile, pages_of_128_mib)
{
	capable(127 | 2ull << 24 | 1ull << 37 | 15ull << 48, ENOTSUP, DIAG_UNSUPPORTED,
		"page 2^27");
}

Test(nvme_hostile, queues_of_one_entry)
{
	capable(0 | 2ull << 24 | 1ull << 37, EPROTO, DIAG_PROTOCOL, "queues 1_entry 2");
}

Test(nvme_hostile, no_time_to_get_ready_is_half_a_second)
{
	uint64_t from = loop_clock();

	begin();
	tt.target.never_ready = true;
	tt.target.cap = 127 | 1ull << 37;
	refused(ETIMEDOUT, DIAG_TIMEOUT, "ready 0_s");
	cr_assert_geq(loop_clock() - from, SEC / 2);
}

Test(nvme_hostile, one_command_at_once)
{
	struct pool *pool;
	struct buf buf;

	begin();
	tt.target.id.maxcmd = 1;
	cr_assert_eq(attach(), 0, "%s", why.text);
	cr_assert_eq(disk->lim.depth, 1);
	host_open_lane();
	cr_assert_eq(pool_new(&pool, 4096, 1, NULL), 0);
	buf = pool_buf(pool, 0);
	cr_assert_eq(host_io(IO_WRITE, 0, 0, 4096, &buf), 0);
	pool_free(pool);
	close_all();
}

Test(nvme_hostile, a_block_longer_than_a_transfer)
{
	begin();
	tt.target.shift = 16;
	tt.target.blocks = 64;
	tt.target.id.mdts = 1;
	refused(ENOTSUP, DIAG_UNSUPPORTED, "8192 65536");
}

static uint8_t spoil_cns;
static uint16_t spoil_at;
static uint8_t spoil_byte[8];
static uint8_t spoil_len;

static void spoil(uint8_t cns, uint8_t *page)
{
	if (cns == spoil_cns)
		memcpy(page + spoil_at, spoil_byte, spoil_len);
}

static void refuses_identify(uint8_t cns, uint16_t at, uint64_t value, uint8_t len, int err,
	enum diag_code code, const char *words)
{
	le64 bytes = put_le64(value);

	begin();
	spoil_cns = cns;
	spoil_at = at;
	spoil_len = len;
	memcpy(spoil_byte, &bytes, sizeof(spoil_byte));
	tt.target.spoil = spoil;
	refused(err, code, words);
}

#define AT_CTRL(field) NVME_CNS_CTRL, offsetof(struct nvme_id_ctrl, field)
#define AT_NS(field)   NVME_CNS_NS, offsetof(struct nvme_id_ns, field)

Test(nvme_hostile, capsules_too_small_for_a_command)
{
	refuses_identify(AT_CTRL(ioccsz), 3, 4, EPROTO, DIAG_PROTOCOL, "capsule 3 1_ 16");
}

Test(nvme_hostile, capsules_of_no_size)
{
	refuses_identify(AT_CTRL(ioccsz), 0, 4, EPROTO, DIAG_PROTOCOL, "capsule _0_bytes 16");
}

Test(nvme_hostile, replies_of_no_size)
{
	refuses_identify(AT_CTRL(iorcsz), 0, 4, EPROTO, DIAG_PROTOCOL, "capsule 8256");
}

Test(nvme_hostile, no_data_descriptors)
{
	refuses_identify(AT_CTRL(sgls), 0, 4, EPROTO, DIAG_PROTOCOL, "descriptor SGLS 00000000h");
}

Test(nvme_hostile, an_administrative_controller)
{
	refuses_identify(AT_CTRL(cntrltype), NVME_CTRL_ADMIN, 1, EINVAL, DIAG_MISMATCH,
		"t1 administrative_controller");
}

Test(nvme_hostile, blocks_of_1_byte)
{
	refuses_identify(
		AT_NS(lbaf[0].lbads), 0, 1, ENOTSUP, DIAG_UNSUPPORTED, "block 2^0_ 512 65536");
}

Test(nvme_hostile, blocks_of_2_to_the_255)
{
	refuses_identify(
		AT_NS(lbaf[0].lbads), 255, 1, ENOTSUP, DIAG_UNSUPPORTED, "block 2^255_ 512 65536");
}

Test(nvme_hostile, a_format_not_described)
{
	refuses_identify(AT_NS(flbas), 0x6f, 1, ENOTSUP, DIAG_UNSUPPORTED, "block 2^0_ 512 65536");
}

Test(nvme_hostile, metadata)
{
	refuses_identify(AT_NS(lbaf[0].ms), 8, 2, ENOTSUP, DIAG_UNSUPPORTED, "8 metadata");
}

Test(nvme_hostile, more_bytes_than_63_bits_hold)
{
	refuses_identify(
		AT_NS(nsze), 1ull << 55, 8, EPROTO, DIAG_PROTOCOL, "36028797018963968 512");
}

Test(nvme_hostile, a_key_value_namespace)
{
	/* behind the UUID's descriptor of 20 bytes comes the command set's */
	refuses_identify(NVME_CNS_NS_DESC, 20 + 4, 1, 1, ENOTSUP, DIAG_UNSUPPORTED,
		"namespace_1 command_set NVM");
}
