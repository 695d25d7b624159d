/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nbd core/target */
/* The NBD handshake under any bytes, cut anywhere: the first byte says how much arrives at once,
 * and whether TLS is required. */
#include "../../core/proto/nbd/srv_handshake.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int enter(struct nbd_srv_handshake *h, unsigned export, struct diag *diag)
{
	(void)diag;
	if (export >= h->exports)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bdev disk[2] = {
		{ .lim = { .size = 1 << 20,
			  .block = 512,
			  .max = { 1 << 20, 1 << 20, 1, 1 << 20, 1 << 20, 1 << 20 } } },
		{ .lim = { .size = 1 << 20, .block = 4096, .max = { 1 << 20 } } },
	};
	static const struct nbd_export export[2] = {
		{ .name = "a", .bdev = &disk[0] },
		{ .name = "b", .description = "second", .bdev = &disk[1] },
	};
	static struct nbd_srv_handshake h;
	size_t step, have = 0, at = 0;
	bool tls;

	if (!size)
		return 0;
	tls = *data & 128;
	step = (*data++ & 127) + 1u;
	size--;
	memset(&h, 0, offsetof(struct nbd_srv_handshake, out));
	h.export = export;
	h.exports = 2;
	h.enter = enter;
	h.tls = tls;
	nbd_srv_handshake_start(&h);
	while (have < size && h.state < NBD_HANDSHAKE_DONE) {
		have = size - have > step ? have + step : size;
		for (;;) {
			/* its own memory, so that one byte too far is seen */
			uint8_t *copy = malloc(have - at + 1);
			size_t used;

			memcpy(copy, data + at, have - at);
			h.out_len = 0;
			used = h.state < NBD_HANDSHAKE_DONE
				       ? nbd_srv_handshake_feed(&h, copy, have - at)
				       : 0;
			free(copy);
			if (used > have - at || h.out_len > sizeof(h.out))
				abort();
			at += used;
			if (h.tls && !h.secured &&
				(h.structured || h.meta || h.state == NBD_HANDSHAKE_DONE))
				abort();
			if (h.state == NBD_HANDSHAKE_STARTTLS)
				nbd_srv_handshake_secured(&h);
			else if (!used)
				break;
		}
	}
	return 0;
}
