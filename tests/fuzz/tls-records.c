/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/net */
/* Records of TLS after the handshake: of a peer that has the keys, and may send any content of any
 * type, and of anyone else, whose bytes must never become data. */
#include "../../core/net/tls_conn.h"
#include "../../core/net/tls_creds.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t secret[TLS_SECRET] = { 1, 2, 3 };
static struct tls_creds creds = { .refs = 1, .kind = "test" };
static struct tls_key peer;
static struct tls_conn *tls;
static size_t sealed, got; /* bytes of data */

static void receive(const uint8_t *p, size_t len)
{
	struct iovec room = tls_conn_room(tls);

	len = len < room.iov_len ? len : room.iov_len;
	memcpy(room.iov_base, p, len);
	tls_conn_received(tls, len);
}

static void receive_sealed(uint8_t type, const uint8_t *p, size_t len)
{
	static uint8_t record[TLS_TEXT + TLS_OVERHEAD];
	const struct iovec iov = { (void *)(uintptr_t)p, len };
	struct tls_cursor cursor = { &iov, 1, 0 };
	bool update = type == TLS_HANDSHAKE && len == 5 && !memcmp(p, "\30\0\0\1", 4);

	if (type == TLS_DATA || !type) /* the content of type 0 may end with a type and padding */
		sealed += len;
	receive(record, tls_seal(&peer, type, &cursor, len, record));
	if (update && tls_key_update(&peer))
		abort();
}

/* room: of each of two buffers */
static bool take(size_t room)
{
	struct diag why = { 0 };
	ssize_t n;

	do {
		/* their own memory, so that one byte too far is seen */
		struct iovec iov[2] = { { malloc(room), room }, { malloc(room), room } };
		struct tls_cursor to = { iov, 2, 0 };

		n = tls_conn_take(tls, &to, &why);
		free(iov[0].iov_base);
		free(iov[1].iov_base);
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	if (got > sealed || (n < 0 && (!why.err || !why.text[0])))
		abort();
	return !n && !tls->closed;
}

/* Drop what it would send, an answer to a key update among it. */
static void answer(void)
{
	const struct iovec iov = { "x", 1 };
	struct diag why = { 0 };

	if (tls_conn_put(tls, &iov, 1, &why) < 0)
		abort();
	tls_conn_sent(tls, tls_conn_pending(tls).iov_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size;
	unsigned secret_len;
	bool alive = true;

	if (size < 2)
		return 0;
	tls = calloc(1, sizeof(*tls));
	creds.server = data[0] & 1;
	secret_len = data[0] & 2 ? 48 : 32;
	tls->creds = &creds;
	tls->secured = true;
	tls->tx_limit = data[0] & 4 ? 2 : TLS_KEY_RECORDS;
	if (tls_key_set(&tls->rx, secret, secret_len) ||
		tls_key_set(&tls->tx, secret, secret_len) || tls_key_set(&peer, secret, secret_len))
		abort();
	sealed = got = 0;
	for (data++; alive && end - data >= 3; alive = take(1 + data[-1] % 64u * 300)) {
		uint8_t type = data[0];
		size_t len = data[1] * (type & 128 ? 64u : 1u);

		data += 3;
		len = len < (size_t)(end - data) ? len : (size_t)(end - data);
		if (type & 64)
			receive(data, len);
		else
			receive_sealed(type % 32, data, len);
		data += len;
		answer();
		if (data == end)
			break;
	}
	tls_key_wipe(&tls->rx);
	tls_key_wipe(&tls->tx);
	tls_key_wipe(&peer);
	free(tls);
	return 0;
}
