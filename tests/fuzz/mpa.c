/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rooms: core/net */
/* MPA's set-up frames under any bytes: what is understood is put back as it was, and negotiated
 * with. */
#include "../../core/net/mpa.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(const uint8_t *data, size_t size, bool reply)
{
	struct mpa local = { .revision = 2,
		.enhanced = true,
		.peer = true,
		.rtr = MPA_RTR_WRITE,
		.crc = true,
		.ird = 16,
		.ord = 16 },
		   mpa, rep;
	uint8_t out[MPA_FRAME_MAX];
	uint32_t ird, ord;
	struct diag diag;
	unsigned term;
	int len = mpa_len(data, size, reply, &diag);

	if (len > (int)sizeof(out))
		abort();
	if (len <= 0 || (size_t)len > size)
		return;
	if (mpa_get(&mpa, data, (size_t)len, reply, &diag))
		return;
	if (mpa_put(out, &mpa, reply) != (size_t)len || memcmp(out, data, MPA_KEY_LEN) ||
		memcmp(out + 20, data + 20, (size_t)len - 20))
		abort();
	rep = mpa_make_reply(&mpa, &local);
	if (rep.markers || rep.reject || (mpa.crc && !rep.crc) ||
		(mpa.enhanced && rep.ord > mpa.ird))
		abort();
	mpa_acceptable(&mpa, &diag);
	if (!mpa_apply_reply(&local, &mpa, &ird, &ord, &term, &diag) &&
		(ord > local.ord || ird > local.ird))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	one(data, size, false);
	one(data, size, true);
	return 0;
}
