/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ib_iser reports that a connection failed, but not why: a discovery session of our own does. */
#include "iscsi_steps.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_MS 2000
#define MSEC     1000000ull

enum { ASK_ISER, ASK_TCP, ASKS };

static bool is_unsure(const struct diag *why)
{
	return why->code == DIAG_REFUSED || why->code == DIAG_TIMEOUT ||
	       why->code == DIAG_UNREACHABLE;
}

void iscsi_explain_stop(struct attach_iscsi *iscsi)
{
	for (unsigned i = 0; iscsi->ask && i < ASKS; i++)
		if (iscsi->ask[i].dial.loop)
			iscsi_ask_end(&iscsi->ask[i]);
	free(iscsi->ask);
	iscsi->ask = NULL;
	iscsi->asking = 0;
}

/* Linux's target (6.12) gives no answer over iSER to a login that fails; whether it has the target
 * it lists. */
static void judge_list(struct attach_iscsi *iscsi, struct iscsi_ask *ask)
{
	struct diag *why = &iscsi->attach.why;
	struct iscsi_found found = { 0 };
	bool listed = false;
	int err = ask->dial.why.err ? -ask->dial.why.err : iscsi_ask_found(ask, &found, NULL);

	for (unsigned i = 0; !err && i < found.count; i++)
		listed |= !strcmp(found.record[i].name, iscsi->want.target);
	iscsi_found_free(&found);
	if (err || listed)
		return;
	diag_set(why, DIAG_NOT_FOUND, ENOENT, "no target of this name in the list of the portal");
	diag_hint(why, "list its targets with: rdmastor iser-discover; the target's access list "
		       "filters them by initiator");
}

static void judge_probes(
	struct attach_iscsi *iscsi, const struct iscsi_dial *iser, const struct iscsi_dial *tcp)
{
	struct diag *why = &iscsi->attach.why;
	char at[ADDR_TEXT];

	if (is_unsure(why) && !iser->result.answers && iser->why.err)
		*why = iser->why;
	if (tcp->result.answers)
		diag_hint(why,
			"iSCSI over TCP answers there: rdmastor iser-login iscsi://%s/%.150s",
			addr_text(&iscsi->want.portal, at), iscsi->want.target);
}

static void asked(struct iscsi_ask *ask)
{
	struct attach_iscsi *iscsi = ask->user;

	if (--iscsi->asking)
		return;
	if (iscsi->ask[ASK_ISER].list)
		judge_list(iscsi, &iscsi->ask[ASK_ISER]);
	else
		judge_probes(iscsi, &iscsi->ask[ASK_ISER].dial, &iscsi->ask[ASK_TCP].dial);
	iscsi_explain_stop(iscsi);
	iscsi_step(iscsi);
}

static void start_ask(struct attach_iscsi *iscsi, unsigned which, bool list)
{
	iscsi->ask[which] =
		(struct iscsi_ask){ .dial = { .loop = iscsi->attach.loop,
					    .from = iscsi->want.from,
					    .carrier = which == ASK_ISER ? ISCSI_ISER : ISCSI_TCP,
					    .portal = iscsi->want.portal,
					    .until = attach_bound(&iscsi->attach, PROBE_MS) },
			.list = list,
			.done = asked,
			.user = iscsi };
	iscsi->asking++;
}

void iscsi_explain(struct attach_iscsi *iscsi)
{
	const struct diag *why = &iscsi->attach.why;
	bool list = why->code == DIAG_CLOSED, unsure = is_unsure(why);
	bool can_help =
		iscsi->want.carrier == ISCSI_ISER && !iscsi->result.answers && !iscsi->existed &&
		(list || unsure || why->code == DIAG_NO_DEVICE || why->code == DIAG_NO_MODULE);

	iscsi->ask = can_help ? calloc(ASKS, sizeof(*iscsi->ask)) : NULL;
	if (!iscsi->ask) {
		iscsi_step(iscsi);
		return;
	}
	if (list || unsure)
		start_ask(iscsi, ASK_ISER, list);
	if (!list)
		start_ask(iscsi, ASK_TCP, false);
	for (unsigned i = 0; i < ASKS; i++)
		if (iscsi->ask[i].dial.loop)
			iscsi_ask_start(&iscsi->ask[i]);
}
