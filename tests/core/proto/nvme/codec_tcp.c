/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PDU headers of NVMe/TCP: golden bytes, round trips under every choice of digests and alignment,
 * truncation, damage. */
#include "codec.h"
#include <criterion/criterion.h>
#include <errno.h>

static const uint8_t types[] = { NVME_TCP_ICREQ, NVME_TCP_ICRESP, NVME_TCP_H2C_TERM,
	NVME_TCP_C2H_TERM, NVME_TCP_CMD, NVME_TCP_RSP, NVME_TCP_H2C_DATA, NVME_TCP_C2H_DATA,
	NVME_TCP_R2T };

static struct nvme_tcp_pdu sample(uint8_t type, uint32_t data)
{
	struct nvme_tcp_pdu pdu = { .type = type, .data = data };

	switch ((enum nvme_tcp_type)type) {
	case NVME_TCP_ICREQ:
	case NVME_TCP_ICRESP:
		pdu.ic.pda = 3;
		pdu.ic.dgst = 3;
		pdu.ic.max = 0x20000;
		break;
	case NVME_TCP_H2C_TERM:
	case NVME_TCP_C2H_TERM:
		pdu.term.fes = 4;
		pdu.term.fei = 0x10203;
		break;
	case NVME_TCP_CMD:
		pdu.sqe = (struct nvme_sqe){ .opcode = 2, .cid = put_le16(77) };
		break;
	case NVME_TCP_RSP:
		pdu.cqe = (struct nvme_cqe){ .cid = put_le16(77), .status = put_le16(2) };
		break;
	case NVME_TCP_H2C_DATA:
	case NVME_TCP_C2H_DATA:
	case NVME_TCP_R2T:
		pdu.xfer.cccid = 9;
		pdu.xfer.ttag = 10;
		pdu.xfer.off = 4096;
		pdu.xfer.len = data ? data : 512;
		pdu.flags = type == NVME_TCP_R2T ? 0 : NVME_TCP_LAST;
		break;
	}
	return pdu;
}

static uint32_t data_of(uint8_t type)
{
	return type == NVME_TCP_CMD || type == NVME_TCP_H2C_DATA || type == NVME_TCP_C2H_DATA ? 1000
											      : 0;
}

Test(nvme_tcp_codec, icreq_as_the_kernel_sends_it)
{
	static const uint8_t golden[16] = { 0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0 };
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_ICREQ, .ic.dgst = NVME_TCP_DGST_HDR };

	cr_assert_eq(nvme_tcp_put(out, &pdu, 0, 4), 128);
	cr_assert_arr_eq(out, golden, sizeof(golden));
}

Test(nvme_tcp_codec, command_with_data_and_both_digests)
{
	/* 72 + 4 + 4096 + 4 = 4176 */
	static const uint8_t golden[8] = { 4, 3, 72, 76, 0x50, 0x10, 0, 0 };
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct nvme_tcp_pdu pdu = { .type = NVME_TCP_CMD, .data = 4096 };

	cr_assert_eq(nvme_tcp_put(out, &pdu, 3, 4), 76);
	cr_assert_arr_eq(out, golden, sizeof(golden));
	cr_assert_eq(nvme_tcp_put(out, &pdu, 3, 128), 128, "CPDA 31");
	cr_assert_eq(out[3], 128);
}

Test(nvme_tcp_codec, round_trips)
{
	uint8_t out[NVME_TCP_HEAD_MAX];

	for (size_t i = 0; i < sizeof(types); i++) {
		for (unsigned dgst = 0; dgst < 4; dgst++) {
			for (unsigned align = 4; align <= 128; align += 4) {
				struct nvme_tcp_pdu got, pdu = sample(types[i], data_of(types[i]));

				unsigned before;

				memset(out, 0xa5, sizeof(out));
				before = nvme_tcp_put(out, &pdu, dgst, align);
				cr_assert_leq(before, sizeof(out));
				for (unsigned at = pdu.hlen; at < before; at++)
					cr_assert_eq(out[at], 0, "padding");
				cr_assert_eq(nvme_tcp_get(&got, out, pdu.hlen, dgst, NULL), 0,
					"type %02x digests %u alignment %u", types[i], dgst, align);
				cr_assert_arr_eq(&got, &pdu, sizeof(pdu));
			}
		}
	}
}

Test(nvme_tcp_codec, truncated_headers_are_refused)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct nvme_tcp_pdu got;

	for (size_t i = 0; i < sizeof(types); i++) {
		struct nvme_tcp_pdu pdu = sample(types[i], data_of(types[i]));

		nvme_tcp_put(out, &pdu, 0, 4);
		for (size_t len = 0; len < pdu.hlen; len++) {
			uint8_t *p = malloc(len ? len : 1);

			memcpy(p, out, len);
			cr_assert_eq(nvme_tcp_get(&got, p, len, 0, NULL), -EPROTO);
			free(p);
		}
	}
}

Test(nvme_tcp_codec, damaged_headers_are_refused_or_consistent)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct nvme_tcp_pdu got;

	for (size_t i = 0; i < sizeof(types); i++) {
		struct nvme_tcp_pdu pdu = sample(types[i], data_of(types[i]));

		nvme_tcp_put(out, &pdu, 0, 4);
		for (unsigned at = 0; at < 8; at++) {
			for (int value = 0; value < 256; value++) {
				uint8_t bad[NVME_TCP_HEAD_MAX];

				memcpy(bad, out, sizeof(bad));
				bad[at] = (uint8_t)value;
				if (nvme_tcp_get(&got, bad, sizeof(bad), 0, NULL))
					continue;
				cr_assert_eq(got.hlen, nvme_tcp_hlen(got.type));
				cr_assert_geq(got.plen, got.hlen);
				cr_assert_leq(got.data, got.plen - got.hlen);
				cr_assert(!got.pdo ||
					  (got.pdo >= got.hlen && got.pdo + got.data <= got.plen));
			}
		}
	}
}

Test(nvme_tcp_codec, digest_flags_must_be_as_agreed)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct nvme_tcp_pdu got, pdu = sample(NVME_TCP_C2H_DATA, 1000);

	nvme_tcp_put(out, &pdu, 3, 4);
	for (unsigned dgst = 0; dgst < 3; dgst++)
		cr_assert_eq(nvme_tcp_get(&got, out, pdu.hlen, dgst, NULL), -EPROTO);
	nvme_tcp_put(out, &pdu, 0, 4);
	for (unsigned dgst = 1; dgst < 4; dgst++)
		cr_assert_eq(nvme_tcp_get(&got, out, pdu.hlen, dgst, NULL), -EPROTO);
}

Test(nvme_tcp_codec, data_length_must_agree_with_the_pdu)
{
	uint8_t out[NVME_TCP_HEAD_MAX];
	struct nvme_tcp_pdu got, pdu = sample(NVME_TCP_C2H_DATA, 1000);

	pdu.xfer.len = 1001;
	nvme_tcp_put(out, &pdu, 0, 4);
	cr_assert_eq(nvme_tcp_get(&got, out, pdu.hlen, 0, NULL), -EPROTO);
	pdu = sample(NVME_TCP_C2H_DATA, 0);
	pdu.xfer.len = 0;
	nvme_tcp_put(out, &pdu, 0, 4);
	cr_assert_eq(nvme_tcp_get(&got, out, pdu.hlen, 0, NULL), -EPROTO, "data without data");
	cr_assert_eq(nvme_tcp_hlen(8), 0);
	cr_assert_eq(nvme_tcp_hlen(10), 0);
}
