/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find out why a login over iSER failed: ib_iser does not report it. Use a discovery session of our
 * own. */
#include "iscsi_steps.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROBE_MS 2000

enum { ASK_ISER, ASK_TCP, ASKS };

static bool is_ambiguous(const struct diag *why)
{
	return why->code == DIAG_REFUSED || why->code == DIAG_TIMEOUT ||
	       why->code == DIAG_UNREACHABLE;
}

void iscsi_explain_stop(struct attach_iscsi *iscsi)
{
	for (unsigned i = 0; iscsi->ask && i < ASKS; i++)
		if (iscsi->ask[i].dial.loop)
			iscsi_discovery_end(&iscsi->ask[i]);
	free(iscsi->ask);
	iscsi->ask = NULL;
	iscsi->asks_pending = 0;
}

/* Linux 6.12 as the target does not answer a failed login over iSER. Check whether it lists the
 * target. */
static void check_target_list(struct attach_iscsi *iscsi, struct iscsi_discovery *ask)
{
	struct diag *why = &iscsi->attach.why;
	struct iscsi_target_list found = { 0 };
	bool listed = false;
	int err = ask->dial.why.err ? -ask->dial.why.err : iscsi_discovery_parse(ask, &found, NULL);

	for (unsigned i = 0; !err && i < found.count; i++)
		listed |= !strcmp(found.record[i].name, iscsi->params.target);
	iscsi_target_list_free(&found);
	if (err || listed)
		return;
	diag_set(why, DIAG_NOT_FOUND, ENOENT, "no target of this name in the list of the portal");
	diag_hint(why, "list its targets with: rdmastor iser-discover; the target's access list "
		       "filters them by initiator");
}

static void compare_probes(
	struct attach_iscsi *iscsi, const struct iscsi_dial *iser, const struct iscsi_dial *tcp)
{
	struct diag *why = &iscsi->attach.why;
	char at[ADDR_TEXT], uri[URI_MAX];

	if (is_ambiguous(why) && !iser->result.answers && iser->why.err)
		*why = iser->why;
	if (!tcp->result.answers)
		return;
	uri_start(uri, "iscsi", addr_host(&iscsi->params.portal, at),
		addr_port(&iscsi->params.portal));
	uri_add_name(uri, iscsi->params.target);
	diag_hint(why, "iSCSI over TCP answers there: rdmastor iser-login %s", uri);
}

static void ask_done(struct iscsi_discovery *ask)
{
	struct attach_iscsi *iscsi = ask->user;

	if (--iscsi->asks_pending)
		return;
	if (iscsi->ask[ASK_ISER].list)
		check_target_list(iscsi, &iscsi->ask[ASK_ISER]);
	else
		compare_probes(iscsi, &iscsi->ask[ASK_ISER].dial, &iscsi->ask[ASK_TCP].dial);
	iscsi_explain_stop(iscsi);
	iscsi_step(iscsi);
}

static void start_ask(struct attach_iscsi *iscsi, unsigned which, bool list)
{
	iscsi->ask[which] = (struct iscsi_discovery){
		.dial = { .loop = iscsi->attach.loop,
			.from = iscsi->params.from,
			.carrier = which == ASK_ISER ? ISCSI_ISER : ISCSI_TCP,
			.portal = iscsi->params.portal,
			.until = attach_limit(&iscsi->attach, PROBE_MS) },
		.list = list,
		.done = ask_done,
		.user = iscsi
	};
	iscsi->asks_pending++;
}

void iscsi_explain(struct attach_iscsi *iscsi)
{
	const struct diag *why = &iscsi->attach.why;
	bool list = why->code == DIAG_CLOSED, ambiguous = is_ambiguous(why);
	bool can_help =
		iscsi->params.carrier == ISCSI_ISER && !iscsi->result.answers && !iscsi->existed &&
		(list || ambiguous || why->code == DIAG_NO_DEVICE || why->code == DIAG_NO_MODULE);

	iscsi->ask = can_help ? calloc(ASKS, sizeof(*iscsi->ask)) : NULL;
	if (!iscsi->ask) {
		iscsi_step(iscsi);
		return;
	}
	if (list || ambiguous)
		start_ask(iscsi, ASK_ISER, list);
	if (!list)
		start_ask(iscsi, ASK_TCP, false);
	for (unsigned i = 0; i < ASKS; i++)
		if (iscsi->ask[i].dial.loop)
			iscsi_discovery_start(&iscsi->ask[i]);
}
