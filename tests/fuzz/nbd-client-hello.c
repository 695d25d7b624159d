/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/proto/nbd core/target */
/* The client's side of the NBD handshake under any bytes, cut anywhere: the first byte says how
 * much arrives at once, and whether the client wants TLS. */
#include "../../core/proto/nbd/ini_handshake.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_deal(const struct nbd_ini_negotiated *negotiated)
{
	const struct nbd_terms *terms = &negotiated->terms;

	if (!(terms->flags & NBD_FLAG_HAS_FLAGS) || terms->size > INT64_MAX ||
		(negotiated->meta && !negotiated->structured))
		abort();
	if (terms->minimum && (terms->minimum & (terms->minimum - 1) || terms->minimum > 65536 ||
				      terms->maximum < 512))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nbd_ini_handshake h = { .name = "disk" };
	struct diag why = { 0 };
	size_t step, have = 0, at = 0;
	bool secured = false;
	int used = 1;

	if (!size)
		return 0;
	h.tls = *data & 128;
	step = (*data++ & 127) + 1u;
	size--;
	while (have < size && used >= 0 && h.step != INI_DONE) {
		have = size - have > step ? have + step : size;
		do {
			/* its own memory, so that one byte too far is seen */
			uint8_t *copy = malloc(have - at + 1);

			if (!copy)
				abort();
			memcpy(copy, data + at, have - at);
			h.out_len = 0;
			used = nbd_ini_handshake_feed(&h, copy, have - at, &why);
			free(copy);
			if (used > (int)(have - at) || h.out_len > sizeof(h.out) ||
				h.replies > NBD_INI_REPLIES)
				abort();
			at += used > 0 ? (size_t)used : 0;
			if (h.tls && !secured && h.step > INI_SECURING)
				abort();
			if (h.step == INI_SECURING) {
				h.out_len = 0;
				nbd_ini_handshake_secured(&h);
				secured = true;
			}
		} while (used > 0);
	}
	if (used < 0 && (!why.text[0] || !why.err))
		abort();
	if (h.step == INI_DONE && used >= 0)
		check_deal(&h.negotiated);
	return 0;
}
