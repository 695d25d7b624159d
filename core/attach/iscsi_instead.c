/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ib_iser says that a connection came to nothing, but not why; a connection of our own does. */
#include "iscsi_instead.h"
#include <errno.h>
#include <string.h>

#define PROBE_MS 2000
#define MSEC     1000000ull

static uint32_t time_left(uint64_t until)
{
	uint64_t now = loop_clock(), left = until > now ? (until - now) / MSEC : 1;

	return !until || left > PROBE_MS ? PROBE_MS : (uint32_t)left;
}

/* Linux's target (6.12) gives no answer over iSER to a login that fails; whether it has the target
 * it lists. */
static void look_for_target(struct loop *loop, struct iscsi_want *want, uint32_t ms)
{
	struct iscsi_found found = { 0 };
	bool listed = false;
	int err = iscsi_discover(loop, &want->portal, ISCSI_ISER, want->from, ms, &found, NULL);

	for (unsigned i = 0; !err && i < found.count; i++)
		listed |= !strcmp(found.record[i].name, want->target);
	iscsi_found_free(&found);
	if (err || listed)
		return;
	diag_set(&want->why, DIAG_NOT_FOUND, ENOENT,
		"no target of this name in the list of the portal");
	diag_hint(&want->why, "list its targets with: rdmastor iser-discover; the target's access "
			      "list filters them by initiator");
}

void iscsi_instead(struct loop *loop, struct iscsi_want *want, uint64_t until)
{
	struct iscsi_probe probe[] = { { .addr = want->portal, .carrier = ISCSI_ISER },
		{ .addr = want->portal, .carrier = ISCSI_TCP } };
	bool unsure = want->why.code == DIAG_REFUSED || want->why.code == DIAG_TIMEOUT ||
		      want->why.code == DIAG_UNREACHABLE;
	char at[ADDR_TEXT];

	if (want->why.code == DIAG_CLOSED)
		look_for_target(loop, want, time_left(until));
	if (!unsure && want->why.code != DIAG_NO_DEVICE && want->why.code != DIAG_NO_MODULE)
		return;
	if (iscsi_probe(loop, want->from, unsure ? probe : probe + 1, unsure ? 2 : 1,
		    time_left(until), NULL))
		return;
	if (unsure && !probe[0].answers && probe[0].why.err)
		want->why = probe[0].why;
	if (probe[1].answers)
		diag_hint(&want->why,
			"iSCSI over TCP answers there: rdmastor iser-login iscsi://%s/%.150s",
			addr_text(&want->portal, at), want->target);
}
