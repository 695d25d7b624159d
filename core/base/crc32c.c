/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* CRC-32C: the CPU's own instruction where it has one (SSE4.2, Armv8 CRC), with carry-less
 * multiplication of long data where that is faster, a table of 16 entries per nibble otherwise. */
#include "crc32c.h"
#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

/* Remainders of the 16 nibbles for the reflected polynomial 0x82f63b78. */
static const uint32_t nibble[16] = {
	0x00000000,
	0x105ec76f,
	0x20bd8ede,
	0x30e349b1,
	0x417b1dbc,
	0x5125dad3,
	0x61c69362,
	0x7198540d,
	0x82f63b78,
	0x92a8fc17,
	0xa24bb5a6,
	0xb21572c9,
	0xc38d26c4,
	0xd3d3e1ab,
	0xe330a81a,
	0xf36e6f75,
};

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ nibble[crc & 15];
		crc = crc >> 4 ^ nibble[crc & 15];
	}
	return crc;
}

#if defined(__x86_64__)
static bool have_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

#define LANE 256u
/* x^(8 * LANE * lanes - 33), reflected */
#define BESIDE(lanes) ((lanes) == 1 ? 0xb9e02b86 : 0xdd7e3b0c)

/* Append that many lanes of zeroes to the remainder. */
__attribute__((target("sse4.2,pclmul"))) static uint64_t shift(uint64_t crc, uint32_t by)
{
	__m128i product = _mm_clmulepi64_si128(
		_mm_cvtsi64_si128((long long)crc), _mm_cvtsi32_si128((int)by), 0);
	return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* The instruction has a latency of three cycles and a throughput of one per cycle, so compute three
 * lanes in parallel. len is a multiple of 3 * LANE. */
__attribute__((target("sse4.2,pclmul"))) static uint64_t by_lanes(
	uint64_t first, const uint8_t *p, size_t len)
{
	uint64_t word;

	for (; len; p += 3 * LANE, len -= 3 * LANE) {
		uint64_t second = 0, third = 0;

		for (unsigned i = 0; i < LANE; i += 8) {
			memcpy(&word, p + i, 8);
			first = _mm_crc32_u64(first, word);
			memcpy(&word, p + LANE + i, 8);
			second = _mm_crc32_u64(second, word);
			memcpy(&word, p + 2 * LANE + i, 8);
			third = _mm_crc32_u64(third, word);
		}
		first = shift(first, BESIDE(2)) ^ shift(second, BESIDE(1)) ^ third;
	}
	return first;
}

#define FOLDER __attribute__((target("sse4.2,avx512f,vpclmulqdq")))
#define FOLD   128u

/* Advance the remainder by FOLD bytes and add those at `next`: in each 16 bytes, multiply the first
 * 8 by x^(8 * FOLD + 31) and the others by x^(8 * FOLD - 33), reflected. */
FOLDER static __m512i fold(__m512i sum, const uint8_t *next)
{
	const __m512i by = _mm512_set4_epi64(0xd3b6092, 0x6992cea2, 0xd3b6092, 0x6992cea2);

	return _mm512_clmulepi64_epi128(sum, by, 0x00) ^ _mm512_clmulepi64_epi128(sum, by, 0x11) ^
	       _mm512_loadu_si512(next);
}

/* Process 64 bytes with two multiplications; the CRC instruction takes 8 at a time. len is a
 * multiple of FOLD, not 0. */
FOLDER static uint64_t by_folding(uint64_t crc, const uint8_t *p, size_t len)
{
	__m512i even = _mm512_loadu_si512(p) ^
		       _mm512_zextsi128_si512(_mm_cvtsi64_si128((long long)crc)),
		odd = _mm512_loadu_si512(p + FOLD / 2);
	uint64_t word[FOLD / 8];

	while (len -= FOLD) {
		p += FOLD;
		even = fold(even, p);
		odd = fold(odd, p + FOLD / 2);
	}
	_mm512_storeu_si512(word, even);
	_mm512_storeu_si512(word + FOLD / 16, odd);
	crc = 0;
	for (unsigned i = 0; i < FOLD / 8; i++)
		crc = _mm_crc32_u64(crc, word[i]);
	return crc;
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(
	uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t wide = crc, word;
	size_t most = 0;

	if (len >= 2 * FOLD && __builtin_cpu_supports("avx512f") &&
		__builtin_cpu_supports("vpclmulqdq")) {
		most = len - len % FOLD;
		wide = by_folding(crc, p, most);
	} else if (len >= 3 * LANE && __builtin_cpu_supports("pclmul")) {
		most = len - len % (3 * LANE);
		wide = by_lanes(crc, p, most);
	}
	p += most;
	len -= most;
	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	while (len--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static bool have_instruction(void)
{
	return getauxval(AT_HWCAP) & 1 << 7; /* HWCAP_CRC32 */
}

__attribute__((target("+crc"))) static uint32_t by_instruction(
	uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		__asm__("crc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
	}
	while (len--)
		__asm__("crc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(*p++));
	return crc;
}
#else
static bool have_instruction(void)
{
	return false;
}

#define by_instruction by_table
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	return ~(have_instruction() ? by_instruction(~crc, data, len) : by_table(~crc, data, len));
}
