/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CRC-32C against the values of RFC 3720, appendix B.4, whole and in pieces. The source is included
 * to test what this CPU would not choose, too. */
#include "../../../core/base/crc32c.c"
#include <criterion/criterion.h>

Test(crc32c, values_of_rfc_3720)
{
	uint8_t p[32];

	cr_assert_eq(crc32c(0, "123456789", 9), 0xe3069283);
	memset(p, 0, sizeof(p));
	cr_assert_eq(crc32c(0, p, 32), 0x8a9136aa);
	memset(p, 0xff, sizeof(p));
	cr_assert_eq(crc32c(0, p, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		p[i] = (uint8_t)i;
	cr_assert_eq(crc32c(0, p, 32), 0x46dd794e);
	cr_assert_eq(crc32c(0, p, 0), 0);
}

Test(crc32c, pieces_of_any_length_and_alignment_give_the_whole)
{
	uint8_t p[64];
	uint32_t whole;

	for (int i = 0; i < 64; i++)
		p[i] = (uint8_t)(i * 37 + 11);
	whole = crc32c(0, p, sizeof(p));
	for (size_t cut = 0; cut <= sizeof(p); cut++)
		cr_assert_eq(crc32c(crc32c(0, p, cut), p + cut, sizeof(p) - cut), whole,
			"cut at %zu", cut);
}

static uint32_t bit_by_bit(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

Test(crc32c, every_length_is_as_computed_bit_by_bit)
{
	static uint8_t p[5000];
	uint32_t seed = 1;

	for (size_t i = 0; i < sizeof(p); i++) {
		seed = seed * 69069 + 1;
		p[i] = (uint8_t)(seed >> 16);
	}
	for (size_t len = 0; len < sizeof(p) - 8; len += len < 1700 ? 1 : 97)
		cr_assert_eq(crc32c(0, p + len % 8, len), bit_by_bit(p + len % 8, len), "%zu bytes",
			len);
}

Test(crc32c, slower_implementations_agree)
{
	static uint8_t p[6000];

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * i >> 3);
	for (size_t len = 0; len < 600; len++)
		cr_assert_eq(~by_table(~0u, p, len), bit_by_bit(p, len), "%zu bytes", len);
#if defined(__x86_64__)
	if (!have_instruction() || !__builtin_cpu_supports("pclmul"))
		return;
	for (size_t len = 3 * LANE; len <= sizeof(p); len += 3 * LANE)
		cr_assert_eq(
			~(uint32_t)by_lanes(~0u, p, len), bit_by_bit(p, len), "%zu bytes", len);
#endif
}
