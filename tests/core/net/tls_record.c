/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records of TLS 1.3: known answers, cursors over buffers, padding, damage, the next key. */
#include "tls_record.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* RFC 8448, section 3: the client's first application data. */
Test(tls_record, known_answer)
{
	static const uint8_t secret[32] = { 0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0,
		0x5a, 0xf8, 0x88, 0x9b, 0xce, 0x65, 0x52, 0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf, 0x00,
		0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5 };
	static const uint8_t record[72] = { 0x17, 0x03, 0x03, 0x00, 0x43, 0xa2, 0x3f, 0x70, 0x54,
		0xb6, 0x2c, 0x94, 0xd0, 0xaf, 0xfa, 0xfe, 0x82, 0x28, 0xba, 0x55, 0xcb, 0xef, 0xac,
		0xea, 0x42, 0xf9, 0x14, 0xaa, 0x66, 0xbc, 0xab, 0x3f, 0x2b, 0x98, 0x19, 0xa8, 0xa5,
		0xb4, 0x6b, 0x39, 0x5b, 0xd5, 0x4a, 0x9a, 0x20, 0x44, 0x1e, 0x2b, 0x62, 0x97, 0x4e,
		0x1f, 0x5a, 0x62, 0x92, 0xa2, 0x97, 0x70, 0x14, 0xbd, 0x1e, 0x3d, 0xea, 0xe6, 0x3a,
		0xee, 0xbb, 0x21, 0x69, 0x49, 0x15, 0xe4 };
	struct tls_key key = { 0 };
	uint8_t data[50], to[100];
	const struct iovec iov = { data, sizeof(data) };
	struct tls_cursor cursor = { &iov, 1, 0 };

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	cr_assert_eq(tls_key_set(&key, secret, sizeof(secret)), 0);
	cr_assert_eq(tls_seal(&key, TLS_DATA, &cursor, sizeof(data), to), sizeof(record));
	cr_assert_arr_eq(to, record, sizeof(record));
	tls_key_wipe(&key);
}

/* RFC 8448, section 3: what the kernel gets of the server's secret. That of SHA-384 was derived by
 * another program from the bytes 0 to 47. */
Test(tls_record, known_keys)
{
	static const uint8_t secret[32] = { 0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56, 0xad,
		0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50, 0x32, 0x82, 0x04, 0xb4, 0xf4, 0x4b, 0xfb, 0x6b,
		0x3a, 0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63, 0x16, 0x43 };
	static const uint8_t key128[16] = { 0x9f, 0x02, 0x28, 0x3b, 0x6c, 0x9c, 0x07, 0xef, 0xc2,
		0x6b, 0xb9, 0xf2, 0xac, 0x92, 0xe3, 0x56 };
	static const uint8_t nonce[12] = { 0xcf, 0x78, 0x2b, 0x88, 0xdd, 0x83, 0x54, 0x9a, 0xad,
		0xf1, 0xe9, 0x84 };
	static const uint8_t key256[32] = { 0x68, 0x77, 0xd0, 0x22, 0xf1, 0xc6, 0x1d, 0x24, 0xeb,
		0xb7, 0x48, 0x7c, 0x16, 0x75, 0x2d, 0x9a, 0x47, 0x98, 0xe4, 0x04, 0x31, 0xc7, 0x5b,
		0x39, 0x32, 0x0e, 0x53, 0x7c, 0x90, 0xe2, 0x32, 0x25 };
	static const uint8_t nonce256[12] = { 0x42, 0x82, 0x25, 0x31, 0xa0, 0xfe, 0x88, 0x64, 0x8f,
		0xc0, 0x9e, 0x9f };
	struct tls_key key = { 0 };
	uint8_t bytes[32], longer[48];

	cr_assert_eq(tls_key_set(&key, secret, sizeof(secret)), 0);
	cr_assert_eq(tls_key_bytes(&key, bytes), 0);
	cr_assert_eq(key.key_len, 16);
	cr_assert_arr_eq(bytes, key128, 16);
	cr_assert_arr_eq(key.nonce, nonce, 12);
	for (unsigned i = 0; i < 48; i++)
		longer[i] = (uint8_t)i;
	cr_assert_eq(tls_key_set(&key, longer, sizeof(longer)), 0);
	cr_assert_eq(tls_key_bytes(&key, bytes), 0);
	cr_assert_eq(key.key_len, 32);
	cr_assert_arr_eq(bytes, key256, 32);
	cr_assert_arr_eq(key.nonce, nonce256, 12);
	tls_key_wipe(&key);
}

struct pair {
	struct tls_key from, to;
};

static struct pair keys(unsigned secret_len)
{
	static const uint8_t secret[TLS_SECRET] = { 1, 2, 3 };
	struct pair pair = { 0 };

	cr_assert_eq(tls_key_set(&pair.from, secret, secret_len), 0);
	cr_assert_eq(tls_key_set(&pair.to, secret, secret_len), 0);
	return pair;
}

static void drop(struct pair *pair)
{
	tls_key_wipe(&pair->from);
	tls_key_wipe(&pair->to);
}

static uint8_t text[TLS_TEXT + 300], record[TLS_BODY + TLS_HEADER + 100], got[TLS_BODY];

static size_t seal(struct pair *pair, enum tls_type type, size_t len)
{
	const struct iovec iov = { text, len };
	struct tls_cursor cursor = { &iov, 1, 0 };

	return tls_seal(&pair->from, type, &cursor, len, record) - TLS_HEADER;
}

static int open_into(
	struct pair *pair, size_t len, const struct tls_cursor *to, uint8_t *type, uint8_t *alert)
{
	return tls_open(&pair->to, record, record + TLS_HEADER, len, to, type, alert);
}

Test(tls_record, any_length_into_many_buffers)
{
	uint8_t type, alert;

	for (unsigned secret_len = 32; secret_len <= 48; secret_len += 16) {
		struct pair pair = keys(secret_len);

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (uint8_t)rand();
		for (size_t len = 0; len <= TLS_TEXT; len += 1 + (size_t)rand() % 500) {
			size_t body = seal(&pair, TLS_DATA, len);
			size_t cut = (size_t)rand() % (len + 1);
			struct iovec iov[] = { { got, cut }, { got, 0 },
				{ got + cut, body - AES_GCM_TAG - cut } };
			struct tls_cursor to = { iov, 3, 0 };

			cr_assert_eq(tls_cursor_room(&to), len + 1);
			cr_assert_eq(open_into(&pair, body, &to, &type, &alert), (int)len);
			cr_assert_eq(type, TLS_DATA);
			cr_assert(!memcmp(got, text, len));
		}
		drop(&pair);
	}
}

Test(tls_record, in_place)
{
	struct pair pair = keys(32);
	size_t body = seal(&pair, TLS_HANDSHAKE, 1000);
	const struct iovec iov = { record + TLS_HEADER, body };
	const struct tls_cursor to = { &iov, 1, 0 };
	uint8_t type, alert;

	cr_assert_eq(open_into(&pair, body, &to, &type, &alert), 1000);
	cr_assert_eq(type, TLS_HANDSHAKE);
	cr_assert(!memcmp(record + TLS_HEADER, text, 1000));
	drop(&pair);
}

/* Section 5.4. The type is content here, so that zeroes follow it. */
Test(tls_record, padding)
{
	const struct iovec iov = { got, sizeof(got) };
	const struct tls_cursor to = { &iov, 1, 0 };
	struct pair pair = keys(32);
	uint8_t type, alert;

	memset(text, 0, sizeof(text));
	memcpy(text, "abc\27", 4);
	cr_assert_eq(open_into(&pair, seal(&pair, 0, 200), &to, &type, &alert), 3);
	cr_assert_eq(type, TLS_DATA);
	memset(text, 0, 4);
	cr_assert_eq(open_into(&pair, seal(&pair, 0, 200), &to, &type, &alert), -1);
	cr_assert_eq(alert, TLS_UNEXPECTED_MESSAGE);
	drop(&pair);
}

/* The longest body, but content of more than 2^14 bytes in it. */
Test(tls_record, content_too_long)
{
	const struct iovec iov = { got, sizeof(got) };
	const struct tls_cursor to = { &iov, 1, 0 };
	struct pair pair = keys(32);
	uint8_t type, alert;

	cr_assert_eq(open_into(&pair, seal(&pair, TLS_DATA, TLS_TEXT + 1), &to, &type, &alert), -1);
	cr_assert_eq(alert, TLS_RECORD_OVERFLOW);
	drop(&pair);
}

Test(tls_record, damage_replay_and_too_short)
{
	const struct iovec iov = { got, sizeof(got) };
	const struct tls_cursor to = { &iov, 1, 0 };
	uint8_t type, alert;

	for (size_t at = 0; at < TLS_HEADER + 20 + 1 + AES_GCM_TAG; at++) {
		struct pair pair = keys(48);
		size_t body = seal(&pair, TLS_DATA, 20);

		record[at] ^= 0x80;
		cr_assert_eq(open_into(&pair, body, &to, &type, &alert), -1, "byte %zu", at);
		cr_assert_eq(alert, TLS_BAD_RECORD_MAC);
		drop(&pair);
	}
	for (size_t body = 0; body <= AES_GCM_TAG + 1; body++) {
		struct pair pair = keys(32);

		seal(&pair, TLS_DATA, 20);
		cr_assert_eq(open_into(&pair, body, &to, &type, &alert), -1);
		drop(&pair);
	}
	for (unsigned again = 0; again < 2; again++) {
		struct pair pair = keys(32);
		size_t body = seal(&pair, TLS_DATA, 20);

		if (again)
			cr_assert_eq(open_into(&pair, body, &to, &type, &alert), 20);
		else
			seal(&pair, TLS_DATA, 20); /* the first one is lost */
		cr_assert_eq(open_into(&pair, body, &to, &type, &alert), -1);
		drop(&pair);
	}
}

Test(tls_record, next_key)
{
	const struct iovec iov = { got, sizeof(got) };
	const struct tls_cursor to = { &iov, 1, 0 };
	struct pair pair = keys(48);
	uint8_t type, alert, before[TLS_SECRET];

	seal(&pair, TLS_DATA, 20);
	memcpy(before, pair.from.secret, sizeof(before));
	cr_assert_eq(tls_key_update(&pair.from), 0);
	cr_assert_eq(pair.from.records, 0);
	cr_assert_arr_neq(pair.from.secret, before, sizeof(before));
	cr_assert_eq(tls_key_update(&pair.to), 0);
	cr_assert_eq(open_into(&pair, seal(&pair, TLS_DATA, 20), &to, &type, &alert), 20);
	drop(&pair);
}
