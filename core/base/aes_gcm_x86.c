/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AES-GCM with AES-NI and PCLMULQDQ, 8 blocks at a time, or with their forms for two blocks per
 * instruction (VAES, VPCLMULQDQ), 16 at a time.
 *
 * GHASH works on byte-reversed blocks. The powers of H are multiplied by x beforehand, so that the
 * product of two reversed polynomials needs no shift (Gueron, Kounavis: "Intel Carry-Less
 * Multiplication Instruction and its Usage for Computing the GCM Mode"). */
#ifdef __x86_64__
#include "aes_gcm_engine.h"
#include <cpuid.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>

#define AESNI  __attribute__((target("aes,pclmul,avx")))
#define VAES   __attribute__((target("aes,pclmul,avx2,vaes,vpclmulqdq")))
#define INLINE static inline __attribute__((always_inline))
#define POWERS 16
#define UNROLL _Pragma("GCC unroll 16")

struct x86 {
	struct aes_gcm base; /* first member */
	unsigned rounds;
	__m128i round[15];
	__m128i power[POWERS]; /* H^16 to H, times x */
	/* the message */
	__m128i hash, counter; /* byte-reversed */
	__m128i mask;          /* of the tag */
	uint64_t ad_len, len;
	bool seal;
	uint8_t used; /* bytes of the last block that were processed */
	uint8_t stream[16], block[16];
};

AESNI INLINE __m128i reverse(__m128i block)
{
	return _mm_shuffle_epi8(
		block, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

/* The sum of products of 128 bits, not yet reduced. */
struct product {
	__m128i low, middle, high;
};

AESNI INLINE void multiply(struct product *sum, __m128i a, __m128i b)
{
	sum->low = _mm_xor_si128(sum->low, _mm_clmulepi64_si128(a, b, 0x00));
	sum->middle = _mm_xor_si128(sum->middle, _mm_clmulepi64_si128(a, b, 0x01));
	sum->middle = _mm_xor_si128(sum->middle, _mm_clmulepi64_si128(a, b, 0x10));
	sum->high = _mm_xor_si128(sum->high, _mm_clmulepi64_si128(a, b, 0x11));
}

AESNI INLINE __m128i polynomial(void)
{
	return _mm_set_epi64x((long long)0xc200000000000000, 1);
}

/* Fold 64 bits of `from` into the next part of the product. */
AESNI INLINE __m128i fold(__m128i from, __m128i into)
{
	__m128i product = _mm_clmulepi64_si128(polynomial(), from, 0x01);

	return _mm_xor_si128(into, _mm_xor_si128(product, _mm_shuffle_epi32(from, 0x4e)));
}

AESNI INLINE __m128i reduce(const struct product *sum)
{
	return fold(fold(sum->low, sum->middle), sum->high);
}

AESNI INLINE __m128i encrypt(const struct x86 *x, __m128i block)
{
	block = _mm_xor_si128(block, x->round[0]);
	for (unsigned i = 1; i < x->rounds; i++)
		block = _mm_aesenc_si128(block, x->round[i]);
	return _mm_aesenclast_si128(block, x->round[x->rounds]);
}

AESNI INLINE __m128i next_stream(struct x86 *x)
{
	x->counter = _mm_add_epi32(x->counter, _mm_set_epi32(0, 0, 0, 1));
	return encrypt(x, reverse(x->counter));
}

AESNI INLINE void hash_block(struct x86 *x, __m128i block)
{
	struct product sum = { _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128() };

	multiply(&sum, _mm_xor_si128(x->hash, reverse(block)), x->power[POWERS - 1]);
	x->hash = reduce(&sum);
}

/* FIPS 197, section 5.2. `assist` is what AESKEYGENASSIST made of the previous round key. */
AESNI INLINE __m128i expand(__m128i key, __m128i assist)
{
	key = _mm_xor_si128(key, _mm_slli_si128(key, 4));
	key = _mm_xor_si128(key, _mm_slli_si128(key, 8));
	return _mm_xor_si128(key, assist);
}

#define ASSIST(key, constant) _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, constant), 0xff)
#define ASSIST_SECOND(key)    _mm_shuffle_epi32(_mm_aeskeygenassist_si128(key, 0), 0xaa)

AESNI static void expand_128(__m128i *round, const uint8_t *key)
{
	round[0] = _mm_loadu_si128((const void *)key);
	round[1] = expand(round[0], ASSIST(round[0], 0x01));
	round[2] = expand(round[1], ASSIST(round[1], 0x02));
	round[3] = expand(round[2], ASSIST(round[2], 0x04));
	round[4] = expand(round[3], ASSIST(round[3], 0x08));
	round[5] = expand(round[4], ASSIST(round[4], 0x10));
	round[6] = expand(round[5], ASSIST(round[5], 0x20));
	round[7] = expand(round[6], ASSIST(round[6], 0x40));
	round[8] = expand(round[7], ASSIST(round[7], 0x80));
	round[9] = expand(round[8], ASSIST(round[8], 0x1b));
	round[10] = expand(round[9], ASSIST(round[9], 0x36));
}

AESNI static void expand_256(__m128i *round, const uint8_t *key)
{
	round[0] = _mm_loadu_si128((const void *)key);
	round[1] = _mm_loadu_si128((const void *)(key + 16));
	round[2] = expand(round[0], ASSIST(round[1], 0x01));
	round[3] = expand(round[1], ASSIST_SECOND(round[2]));
	round[4] = expand(round[2], ASSIST(round[3], 0x02));
	round[5] = expand(round[3], ASSIST_SECOND(round[4]));
	round[6] = expand(round[4], ASSIST(round[5], 0x04));
	round[7] = expand(round[5], ASSIST_SECOND(round[6]));
	round[8] = expand(round[6], ASSIST(round[7], 0x08));
	round[9] = expand(round[7], ASSIST_SECOND(round[8]));
	round[10] = expand(round[8], ASSIST(round[9], 0x10));
	round[11] = expand(round[9], ASSIST_SECOND(round[10]));
	round[12] = expand(round[10], ASSIST(round[11], 0x20));
	round[13] = expand(round[11], ASSIST_SECOND(round[12]));
	round[14] = expand(round[12], ASSIST(round[13], 0x40));
}

/* H times x: shift left, and subtract the polynomial if a bit is carried out. */
AESNI static __m128i times_x(__m128i h)
{
	__m128i carry = _mm_srli_epi64(h, 63);
	__m128i out = _mm_shuffle_epi32(_mm_srai_epi32(h, 31), 0xff);

	h = _mm_or_si128(_mm_slli_epi64(h, 1), _mm_slli_si128(carry, 8));
	return _mm_xor_si128(h, _mm_and_si128(out, polynomial()));
}

AESNI static struct aes_gcm *create(const uint8_t *key, unsigned key_len)
{
	struct x86 *x = aligned_alloc(64, (sizeof(*x) + 63) & ~(size_t)63);

	if (!x)
		return NULL;
	memset(x, 0, sizeof(*x));
	x->rounds = key_len == 16 ? 10 : 14;
	if (key_len == 16)
		expand_128(x->round, key);
	else
		expand_256(x->round, key);
	x->power[POWERS - 1] = times_x(reverse(encrypt(x, _mm_setzero_si128())));
	for (int i = POWERS - 2; i >= 0; i--) {
		struct product sum = { _mm_setzero_si128(), _mm_setzero_si128(),
			_mm_setzero_si128() };

		multiply(&sum, x->power[i + 1], x->power[POWERS - 1]);
		x->power[i] = reduce(&sum);
	}
	return &x->base;
}

static void destroy(struct aes_gcm *base)
{
	explicit_bzero(base, sizeof(struct x86));
	free(base);
}

AESNI static void start(struct aes_gcm *base, const uint8_t nonce[AES_GCM_NONCE], const void *ad,
	size_t len, bool seal)
{
	struct x86 *x = (struct x86 *)base;
	uint8_t block[16] = { [15] = 1 };
	const uint8_t *p = ad;

	memcpy(block, nonce, AES_GCM_NONCE);
	x->counter = reverse(_mm_loadu_si128((const void *)block));
	x->mask = encrypt(x, _mm_loadu_si128((const void *)block));
	x->hash = _mm_setzero_si128();
	x->ad_len = len;
	x->len = 0;
	x->used = 0;
	x->seal = seal;
	for (size_t at = 0; at < len; at += 16) {
		size_t n = len - at < 16 ? len - at : 16;

		memset(block, 0, sizeof(block));
		memcpy(block, p + at, n);
		hash_block(x, _mm_loadu_si128((const void *)block));
	}
}

/* 1 to 8 blocks. The loops have constant bounds, so that the blocks are in registers. */
AESNI INLINE void few(struct x86 *x, uint8_t *to, const uint8_t *from, unsigned count)
{
	struct product sum = { _mm_setzero_si128(), _mm_setzero_si128(), _mm_setzero_si128() };
	const __m128i *power = x->power + POWERS - count;
	__m128i s[8], in;

	UNROLL for (unsigned i = 0; i < 8; i++) s[i] = _mm_xor_si128(
		reverse(_mm_add_epi32(x->counter, _mm_set_epi32(0, 0, 0, (int)i + 1))),
		x->round[0]);
	for (unsigned r = 1; r < x->rounds; r++) {
		__m128i key = x->round[r];

		UNROLL for (unsigned i = 0; i < 8; i++) s[i] = _mm_aesenc_si128(s[i], key);
	}
	UNROLL for (unsigned i = 0; i < 8; i++) s[i] =
		_mm_aesenclast_si128(s[i], x->round[x->rounds]);
	x->counter = _mm_add_epi32(x->counter, _mm_set_epi32(0, 0, 0, (int)count));
	UNROLL for (unsigned i = 0; i < 8; i++)
	{
		if (i == count)
			break;
		in = _mm_loadu_si128((const void *)(from + 16 * i));
		s[i] = _mm_xor_si128(s[i], in);
		_mm_storeu_si128((void *)(to + 16 * i), s[i]);
		in = reverse(x->seal ? s[i] : in);
		multiply(&sum, i ? in : _mm_xor_si128(x->hash, in), power[i]);
	}
	x->hash = reduce(&sum);
}

AESNI static void blocks_by_8(struct x86 *x, uint8_t *to, const uint8_t *from, size_t count)
{
	for (; count >= 8; count -= 8, to += 128, from += 128)
		few(x, to, from, 8);
	if (count)
		few(x, to, from, (unsigned)count);
}

VAES INLINE __m256i both(__m128i v)
{
	return _mm256_broadcastsi128_si256(v);
}

VAES INLINE __m256i reverse_both(__m256i v)
{
	return _mm256_shuffle_epi8(
		v, both(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
}

VAES INLINE __m128i add_halves(__m256i v)
{
	return _mm_xor_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

VAES INLINE void sixteen(struct x86 *x, uint8_t *to, const uint8_t *from, bool seal)
{
	const __m256i two = _mm256_set_epi32(0, 0, 0, 2, 0, 0, 0, 2);
	__m256i low = _mm256_setzero_si256(), middle = low, high = low, s[8], in, power, key;
	__m256i counter =
		_mm256_add_epi32(both(x->counter), _mm256_set_epi32(0, 0, 0, 2, 0, 0, 0, 1));
	struct product sum;

	key = both(x->round[0]);
	UNROLL for (unsigned i = 0; i < 8; i++)
	{
		s[i] = _mm256_xor_si256(reverse_both(counter), key);
		counter = _mm256_add_epi32(counter, two);
	}
	for (unsigned r = 1; r < x->rounds; r++) {
		key = both(x->round[r]);
		UNROLL for (unsigned i = 0; i < 8; i++) s[i] = _mm256_aesenc_epi128(s[i], key);
	}
	key = both(x->round[x->rounds]);
	UNROLL for (unsigned i = 0; i < 8; i++) s[i] = _mm256_aesenclast_epi128(s[i], key);
	x->counter = _mm_add_epi32(x->counter, _mm_set_epi32(0, 0, 0, 16));
	UNROLL for (unsigned i = 0; i < 8; i++)
	{
		in = _mm256_loadu_si256((const void *)(from + 32 * i));
		s[i] = _mm256_xor_si256(s[i], in);
		_mm256_storeu_si256((void *)(to + 32 * i), s[i]);
		in = reverse_both(seal ? s[i] : in);
		if (!i)
			in = _mm256_xor_si256(in, _mm256_zextsi128_si256(x->hash));
		power = _mm256_loadu_si256((const void *)(x->power + 2 * i));
		low = _mm256_xor_si256(low, _mm256_clmulepi64_epi128(in, power, 0x00));
		middle = _mm256_xor_si256(middle, _mm256_clmulepi64_epi128(in, power, 0x01));
		middle = _mm256_xor_si256(middle, _mm256_clmulepi64_epi128(in, power, 0x10));
		high = _mm256_xor_si256(high, _mm256_clmulepi64_epi128(in, power, 0x11));
	}
	sum = (struct product){ add_halves(low), add_halves(middle), add_halves(high) };
	x->hash = reduce(&sum);
}

VAES static void blocks_by_16(struct x86 *x, uint8_t *to, const uint8_t *from, size_t count)
{
	if (x->seal)
		for (; count >= 16; count -= 16, to += 256, from += 256)
			sixteen(x, to, from, true);
	else
		for (; count >= 16; count -= 16, to += 256, from += 256)
			sixteen(x, to, from, false);
	blocks_by_8(x, to, from, count);
}

/* Process bytes of the last block. */
static void part(struct x86 *x, uint8_t *to, const uint8_t *from, size_t len)
{
	for (; len; len--, x->used++) {
		uint8_t in = *from++, out = in ^ x->stream[x->used];

		*to++ = out;
		x->block[x->used] = x->seal ? out : in;
	}
}

AESNI static void end_block(struct x86 *x)
{
	memset(x->block + x->used, 0, sizeof(x->block) - x->used);
	hash_block(x, _mm_loadu_si128((const void *)x->block));
	x->used = 0;
}

AESNI INLINE void update(struct aes_gcm *base, uint8_t *to, const uint8_t *from, size_t len,
	void (*blocks)(struct x86 *, uint8_t *, const uint8_t *, size_t))
{
	struct x86 *x = (struct x86 *)base;
	size_t n;

	x->len += len;
	if (x->used) {
		n = sizeof(x->block) - x->used;
		n = len < n ? len : n;
		part(x, to, from, n);
		to += n;
		from += n;
		len -= n;
		if (x->used < sizeof(x->block))
			return;
		end_block(x);
	}
	n = len / 16;
	if (n)
		blocks(x, to, from, n);
	if (len % 16) {
		_mm_storeu_si128((void *)x->stream, next_stream(x));
		part(x, to + 16 * n, from + 16 * n, len % 16);
	}
}

AESNI static void update_by_8(struct aes_gcm *base, uint8_t *to, const uint8_t *from, size_t len)
{
	update(base, to, from, len, blocks_by_8);
}

AESNI static void update_by_16(struct aes_gcm *base, uint8_t *to, const uint8_t *from, size_t len)
{
	update(base, to, from, len, blocks_by_16);
}

AESNI static void finish(struct aes_gcm *base, uint8_t tag[AES_GCM_TAG])
{
	struct x86 *x = (struct x86 *)base;
	__m128i lengths = _mm_set_epi64x((long long)(x->ad_len * 8), (long long)(x->len * 8));

	if (x->used)
		end_block(x);
	hash_block(x, reverse(lengths));
	_mm_storeu_si128((void *)tag, _mm_xor_si128(reverse(x->hash), x->mask));
}

static bool aesni_usable(void)
{
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul") &&
	       __builtin_cpu_supports("avx");
}

static bool vaes_usable(void)
{
	unsigned eax, ebx, ecx, edx;

	return aesni_usable() && __builtin_cpu_supports("avx2") &&
	       __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ecx & bit_VAES &&
	       ecx & bit_VPCLMULQDQ;
}

const struct aes_gcm_engine aes_gcm_vaes = {
	.name = "VAES",
	.usable = vaes_usable,
	.create = create,
	.start = start,
	.update = update_by_16,
	.finish = finish,
	.destroy = destroy,
};
const struct aes_gcm_engine aes_gcm_aesni = {
	.name = "AES-NI",
	.usable = aesni_usable,
	.create = create,
	.start = start,
	.update = update_by_8,
	.finish = finish,
	.destroy = destroy,
};
#endif
