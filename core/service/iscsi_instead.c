/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ib_iser says that a connection came to nothing, but not why; a connection of our own does. */
#include "iscsi_instead.h"
#include <string.h>

#define PROBE_MS 2000
#define MSEC     1000000ull

static uint32_t time_left(uint64_t until)
{
	uint64_t now = loop_clock(), left = until > now ? (until - now) / MSEC : 1;

	return !until || left > PROBE_MS ? PROBE_MS : (uint32_t)left;
}

void iscsi_instead(struct loop *loop, struct iscsi_want *want, uint64_t until)
{
	struct iscsi_probe probe[] = { { .addr = want->portal, .carrier = ISCSI_ISER }, { .addr = want->portal, .carrier = ISCSI_TCP } };
	bool unsure = want->why.code == DIAG_REFUSED || want->why.code == DIAG_TIMEOUT || want->why.code == DIAG_UNREACHABLE;
	char at[ADDR_TEXT];

	if (!unsure && want->why.code != DIAG_NO_DEVICE && want->why.code != DIAG_NO_MODULE)
		return;
	if (iscsi_probe(loop, want->from, unsure ? probe : probe + 1, unsure ? 2 : 1, time_left(until), NULL))
		return;
	if (unsure && !probe[0].answers && probe[0].why.err)
		want->why = probe[0].why;
	if (probe[1].answers)
		diag_hint(&want->why, "iSCSI over TCP answers there: iscsi://%s/%.150s", addr_text(&want->portal, at), want->target);
}
