/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* RPC calls and replies and RPC-over-RDMA headers: bytes by hand from the RFCs, cut short and
 * damaged. */
#include "codec.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct diag why;
static struct rpc_mismatch_info mismatch;

/* Words in network order. */
static size_t words(uint8_t *to, unsigned count, const uint32_t *from)
{
	for (unsigned i = 0; i < count; i++)
		wire_put_be(to + 4 * i, 4, from[i]);
	return 4 * count;
}
#define WORDS(to, ...)                                                                             \
	words(to, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

static int reply(unsigned count, const uint32_t *from, uint32_t xid)
{
	uint8_t bytes[64];
	struct rd r = rd_init(bytes, words(bytes, count, from));
	int err = rpc_reply_get(&r, xid, &mismatch, &why);

	if (!err)
		cr_assert_eq(rd_left(&r), 4, "results follow");
	return err;
}
#define REPLY(xid, ...)                                                                            \
	reply(sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ }, xid)

Test(rpc, a_call)
{
	uint8_t bytes[256], expected[256];
	struct wr w = wr_init(bytes, sizeof(bytes));
	/* RFC 5531, 9 and appendix A: xid CALL 2 prog vers proc, AUTH_SYS of 28 bytes: stamp
	 * "rdmastor" 0 0 no gids, AUTH_NONE */
	size_t len = WORDS(expected, 7, 0, 2, 100003, 4, 1, 1, 28, 0, 8, 0x72646d61, 0x73746f72, 0,
		0, 0, 0, 0);

	rpc_call_put(&w, 7, 100003, 4, 1);
	cr_assert_not(w.bad);
	cr_assert_eq((size_t)(w.p - bytes), len);
	cr_assert_eq(memcmp(bytes, expected, len), 0);
	w = wr_init(bytes, len - 1);
	rpc_call_put(&w, 7, 100003, 4, 1);
	cr_assert(w.bad);
}

Test(rpc, replies)
{
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 0, 99), 0);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 5, 0x61626364, 0x65000000, 0, 99), 0,
		"a verifier of five bytes");
	cr_assert_eq(REPLY(7, 8, 1, 0, 0, 0, 0, 99), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "reply transaction");
	cr_assert_eq(REPLY(7, 7, 0, 0, 0, 0, 0, 99), -EPROTO, "a call");
	cr_assert_eq(REPLY(7, 7, 1, 2, 0, 0, 0, 99), -EPROTO);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 1), -ENOENT);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 2, 2, 3), -EPROTONOSUPPORT);
	cr_assert_eq(mismatch.low, 2);
	cr_assert_eq(mismatch.high, 3);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "version 2_to_3");
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 2, 2), -EPROTO);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 3), -ENOSYS);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 4), -EPROTO);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 5), -EREMOTEIO);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 0, 6), -EPROTO);
	cr_assert_eq(REPLY(7, 7, 1, 1, 0, 3, 4), -EPROTO);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "RPC version 2 3_to_4");
	cr_assert_eq(REPLY(7, 7, 1, 1, 1, 5), -EACCES);
	diag_says(&why, DIAG_AUTH, NULL, "AUTH_SYS 5");
	cr_assert_eq(REPLY(7, 7, 1, 1, 2, 5), -EPROTO);
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, 401, 0, 0), -EPROTO, "a verifier of more than 400 bytes");
	cr_assert_eq(REPLY(7, 7, 1, 0, 0, UINT32_MAX, 0, 0), -EPROTO);
}

Test(rpc, replies_cut_short)
{
	uint8_t bytes[64];
	size_t len = WORDS(bytes, 7, 1, 0, 0, 0, 0);

	for (size_t cut = 0; cut < len; cut++) {
		struct rd r = rd_init(bytes, cut);

		cr_assert_eq(rpc_reply_get(&r, 7, &mismatch, &why), -EPROTO, "%zu bytes", cut);
	}
}

static int header(unsigned count, const uint32_t *from)
{
	uint8_t bytes[64];
	struct rd r = rd_init(bytes, words(bytes, count, from));

	return rpcrdma_hdr_get(&r, 7, &why);
}
#define HEADER(...) header(sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (uint32_t[]){ __VA_ARGS__ })

Test(rpcrdma, headers)
{
	struct rpcrdma_hdr hdr;
	uint8_t expected[28];

	rpcrdma_hdr_put(&hdr, 7, 32);
	WORDS(expected, 7, 1, 32, 0, 0, 0, 0);
	cr_assert_eq(memcmp(&hdr, expected, sizeof(expected)), 0, "RFC 8166, 4.2");
	cr_assert_eq(HEADER(7, 1, 32, 0, 0, 0, 0), 0);
	cr_assert_eq(HEADER(8, 1, 32, 0, 0, 0, 0), -EPROTO);
	cr_assert_eq(HEADER(7, 2, 32, 0, 0, 0, 0), -EPROTO);
	cr_assert_eq(HEADER(7, 1, 0, 0, 0, 0, 0), -EPROTO, "no credits");
	cr_assert_eq(HEADER(7, 1, 32, 1, 0, 0, 0), -EPROTO, "a message elsewhere");
	cr_assert_eq(HEADER(7, 1, 32, 0, 1, 0, 0), -EPROTO, "a read chunk");
	cr_assert_eq(HEADER(7, 1, 32, 0, 0, 1, 0), -EPROTO, "a write chunk");
	cr_assert_eq(HEADER(7, 1, 32, 0, 0, 0, 1), -EPROTO, "a reply chunk");
	cr_assert_eq(HEADER(7, 1, 32, 4, 2), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "RPC-over-RDMA header");
	cr_assert_eq(HEADER(7, 2, 32, 4, 1, 2, 2), -EPROTO);
	diag_says(&why, DIAG_UNSUPPORTED, NULL, "RPC-over-RDMA version 1 2_to_2");
	cr_assert_eq(HEADER(7, 1, 32, 4, 1, 2), -EPROTO);
	cr_assert_eq(HEADER(7, 1, 32, 4, 3), -EPROTO);
	for (unsigned count = 0; count < 7; count++)
		cr_assert_eq(header(count, (uint32_t[]){ 7, 1, 32, 0, 0, 0, 0 }), -EPROTO,
			"%u words", count);
}

Test(rpcrdma, private_data)
{
	/* RFC 8797, 4: magic, version 1, flags, sizes of 4096 */
	static const uint8_t expected[] = { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3 };
	struct rpcrdma_private priv;
	uint8_t bytes[8];
	uint32_t send, recv;

	rpcrdma_private_put(&priv, 4096, 4096);
	cr_assert_eq(memcmp(&priv, expected, sizeof(expected)), 0);
	rpcrdma_private_get(expected, sizeof(expected), &send, &recv);
	cr_assert(send == 4096 && recv == 4096);
	rpcrdma_private_get(expected, sizeof(expected) - 1, &send, &recv);
	cr_assert(send == RPCRDMA_INLINE && recv == RPCRDMA_INLINE);
	memcpy(bytes, expected, sizeof(expected));
	bytes[4] = 2;
	bytes[6] = bytes[7] = 255;
	rpcrdma_private_get(bytes, sizeof(bytes), &send, &recv);
	cr_assert(send == RPCRDMA_INLINE && recv == RPCRDMA_INLINE, "another version");
	bytes[4] = 1;
	rpcrdma_private_get(bytes, sizeof(bytes), &send, &recv);
	cr_assert(send == 262144 && recv == 262144);
}
