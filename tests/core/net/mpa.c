/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MPA's set-up frames: golden bytes as RFC 5044 section 7.1.1 and RFC 6581 section 9 draw them,
 * every truncation, every damaged byte, and what the two sides make of each other. */
#include "mpa.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>

static const uint8_t golden[] = { 'M', 'P', 'A', ' ', 'I', 'D', ' ', 'R', 'e', 'q', ' ', 'F', 'r',
	'a', 'm', 'e', 0x50, 2, 0, 7, /* CRC, enhanced; revision 2; 7 bytes */
	0x80, 16, 0xc0, 4, /* peer-to-peer, IRD 16; Write or Read as ready-to-receive, ORD 4 */
	'a', 'b', 'c' };

static struct mpa sample(void)
{
	return (struct mpa){ .revision = 2,
		.crc = true,
		.enhanced = true,
		.peer = true,
		.rtr = MPA_RTR_WRITE | MPA_RTR_READ,
		.ird = 16,
		.ord = 4,
		.priv = (const uint8_t *)"abc",
		.priv_len = 3 };
}

Test(mpa, a_request_has_the_bytes_of_the_standard)
{
	uint8_t out[MPA_FRAME_MAX];
	struct mpa mpa = sample();

	cr_assert_eq(mpa_put(out, &mpa, false), sizeof(golden));
	cr_assert_arr_eq(out, golden, sizeof(golden));
}

Test(mpa, what_is_put_is_got)
{
	uint8_t out[MPA_FRAME_MAX];

	for (unsigned flags = 0; flags < 0x400; flags++) {
		struct mpa in = { .revision = flags & 1 ? 2 : 1,
			.markers = flags & 2,
			.crc = flags & 4,
			.large = flags & 8 },
			   back;
		bool reply = flags & 16;
		size_t len;
		in.reject = reply && flags & 32;
		in.enhanced = in.revision == 2 && flags & 64;
		in.ird = in.ord = MPA_LIMIT_ANY;
		if (in.enhanced) {
			in.rtr = flags >> 7 & 7;
			in.peer = in.rtr;
			in.ird = (uint16_t)(flags * 7 & MPA_LIMIT_MASK);
			in.ord = (uint16_t)(flags * 13 & MPA_LIMIT_MASK);
		}
		len = mpa_put(out, &in, reply);
		cr_assert_eq(mpa_len(out, len, reply, NULL), (int)len);
		cr_assert_eq(mpa_get(&back, out, len, reply, NULL), 0);
		back.priv = in.priv;
		cr_assert_eq(memcmp(&in, &back, sizeof(in)), 0);
	}
}

Test(mpa, every_truncation_is_refused_or_wants_more)
{
	struct mpa mpa;

	for (size_t len = 0; len < sizeof(golden); len++) {
		cr_assert_eq(mpa_get(&mpa, golden, len, false, NULL), -EPROTO, "%zu", len);
		cr_assert_eq(mpa_len(golden, len, false, NULL), len < 20 ? 0 : (int)sizeof(golden));
	}
}

Test(mpa, every_damaged_byte_is_refused_or_harmless)
{
	for (size_t at = 0; at < sizeof(golden); at++)
		for (unsigned value = 0; value < 256; value++) {
			uint8_t damaged[sizeof(golden)];
			struct mpa mpa;
			int err;
			memcpy(damaged, golden, sizeof(golden));
			damaged[at] = (uint8_t)value;
			err = mpa_get(&mpa, damaged, sizeof(damaged), false, NULL);
			cr_assert(!err || err == -EPROTO);
			if (at < MPA_KEY_LEN || at == 18 || at == 19)
				cr_assert_eq(!err, damaged[at] == golden[at], "byte %zu", at);
			if (!err)
				cr_assert_leq(mpa.priv_len, 7);
		}
}

Test(mpa, errors_name_what_is_wrong)
{
	struct diag diag = { 0 };
	uint8_t bad[sizeof(golden)];
	struct mpa mpa;

	cr_assert_lt(mpa_len((const uint8_t *)"GET / HTTP/1.0\r\n\r\n", 10, true, &diag), 0);
	diag_says(&diag, DIAG_PROTOCOL, "", "MPA iWARP");
	memcpy(bad, golden, sizeof(bad));
	bad[17] = 3;
	mpa_len(bad, sizeof(bad), false, &diag);
	diag_says(&diag, DIAG_PROTOCOL, "", "MPA_revision_3");
	bad[17] = 2;
	bad[18] = 2;
	bad[19] = 1;
	mpa_len(bad, sizeof(bad), false, &diag);
	diag_says(&diag, DIAG_PROTOCOL, "", "513 private_data MPA 512");
	bad[18] = 0;
	bad[19] = 3;
	cr_assert_lt(mpa_get(&mpa, bad, 23, false, &diag), 0);
	diag_says(&diag, DIAG_PROTOCOL, "", "enhanced_MPA read");
}

Test(mpa, the_longest_private_data_fit)
{
	uint8_t priv[MPA_PRIV_MAX] = { 1, 2 }, out[MPA_FRAME_MAX];
	struct mpa mpa = { .revision = 1, .priv = priv, .priv_len = MPA_PRIV_MAX }, back;

	cr_assert_eq(mpa_put(out, &mpa, false), MPA_FRAME_MAX);
	cr_assert_eq(mpa_get(&back, out, MPA_FRAME_MAX, false, NULL), 0);
	cr_assert_eq(back.priv_len, MPA_PRIV_MAX);
	mpa.enhanced = true;
	cr_assert_eq(mpa_put(out, &mpa, false), 0, "the limits need 4 bytes of it");
}

Test(mpa, an_answer_keeps_within_what_was_asked)
{
	struct mpa req = sample(), local = { .ird = 2, .ord = 64, .large = true },
		   rep = mpa_make_reply(&req, &local);

	cr_assert(rep.crc, "the asker wanted it");
	cr_assert_not(rep.large);
	cr_assert_eq(rep.ird, 2);
	cr_assert_eq(rep.ord, 16);
	cr_assert_eq(rep.rtr, MPA_RTR_WRITE);
	req.rtr = MPA_RTR_READ | MPA_RTR_EMPTY;
	local.ird = 0;
	rep = mpa_make_reply(&req, &local);
	cr_assert_eq(rep.rtr, MPA_RTR_READ);
	cr_assert_eq(rep.ird, 1, "that read must be possible");
	req.rtr = MPA_RTR_EMPTY;
	cr_assert_eq(mpa_make_reply(&req, &local).rtr, MPA_RTR_EMPTY);
	req = (struct mpa){ .revision = 1, .ird = MPA_LIMIT_ANY, .ord = MPA_LIMIT_ANY };
	local.crc = true;
	rep = mpa_make_reply(&req, &local);
	cr_assert(rep.crc && rep.revision == 1 && !rep.enhanced && rep.ord == 64);
}

Test(mpa, markers_are_refused)
{
	struct mpa req = sample(), rep = sample();
	struct diag diag = { 0 };
	uint32_t ird, ord;
	unsigned term;

	cr_assert_eq(mpa_acceptable(&req, &diag), 0);
	req.markers = true;
	cr_assert_eq(mpa_acceptable(&req, &diag), -EOPNOTSUPP);
	diag_says(&diag, DIAG_UNSUPPORTED, "", "MPA_marker");
	req.markers = false;
	rep.markers = true;
	cr_assert_eq(mpa_apply_reply(&req, &rep, &ird, &ord, &term, &diag), -EOPNOTSUPP);
}

Test(mpa, the_initiator_settles_for_the_lesser_read_depth)
{
	struct mpa req = sample(), rep = sample();
	uint32_t ird, ord;
	struct diag diag;
	unsigned term;

	rep.rtr = MPA_RTR_WRITE;
	rep.ird = 3;
	rep.ord = 16;
	cr_assert_eq(mpa_apply_reply(&req, &rep, &ird, &ord, &term, &diag), 0);
	cr_assert_eq(ord, 3);
	cr_assert_eq(ird, 16);
	rep.ird = rep.ord = MPA_LIMIT_ANY;
	cr_assert_eq(mpa_apply_reply(&req, &rep, &ird, &ord, &term, &diag), 0);
	cr_assert_eq(ord, 4);
	rep.ord = 17;
	cr_assert_eq(mpa_apply_reply(&req, &rep, &ird, &ord, &term, &diag), -EPROTO);
	cr_assert_eq(term, TERM_MPA_IRD);
	diag_says(&diag, DIAG_PROTOCOL, "", "read depth 17 16");
	rep.ord = 1;
	rep.rtr = MPA_RTR_EMPTY;
	cr_assert_eq(mpa_apply_reply(&req, &rep, &ird, &ord, &term, &diag), -EPROTO);
	cr_assert_eq(term, TERM_MPA_RTR);
	rep.rtr = MPA_RTR_READ;
	rep.crc = false;
	cr_assert_eq(mpa_apply_reply(&req, &rep, &ird, &ord, &term, &diag), -EPROTO);
	diag_says(&diag, DIAG_PROTOCOL, "", "peer CRC");
}

Test(mpa, segments_fill_a_tcp_segment)
{
	for (uint32_t mss = 0; mss < 0x20000; mss++) {
		uint32_t ulpdu = mpa_ulpdu(mss, false),
			 fpdu = (MPA_LEN_SIZE + ulpdu + 3) / 4 * 4 + MPA_CRC_SIZE;
		cr_assert(ulpdu >= MPA_ULPDU_MIN && ulpdu <= MPA_ULPDU_MAX);
		if (mss > 200)
			cr_assert_leq(fpdu, mss);
		if (mss > 200 && mss < 64000)
			cr_assert_gt(fpdu + 4, mss);
	}
	cr_assert_eq(mpa_ulpdu(1448, true), MPA_ULPDU_MAX);
}
