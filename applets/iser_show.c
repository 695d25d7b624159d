/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What became of logins. */
#include "iser_show.h"
#include "iser_loss.h"
#include "scsi_show.h"
#include <stdio.h>
#include <string.h>

static void show_luns(struct out *out, const struct iscsi_want *want, const char *print)
{
	out_list(out, "luns");
	for (unsigned i = 0; i < want->count; i++)
		if (want->lun == SCSI_LUN_ALL || want->luns[i].lun == want->lun)
			scsi_show_lun(out, &want->luns[i], print);
	out_end(out);
}

static void show_numbers(struct out *out, const struct kernel_iscsi_session *session)
{
	const struct {
		const char *key;
		int value;
	} rows[] = {
		{ "tpgt", session->tpgt },
		{ "replacement_timeout", session->tmo.recovery },
		{ "noop_interval", session->tmo.recv },
		{ "noop_timeout", session->tmo.ping },
		{ "max_recv", session->agreed.max_recv },
		{ "max_xmit", session->agreed.max_xmit },
		{ "first_burst", session->agreed.first_burst },
		{ "max_burst", session->agreed.max_burst },
		{ "initial_r2t", session->agreed.initial_r2t },
		{ "immediate_data", session->agreed.immediate_data },
		{ "header_digest", session->agreed.header_digest },
		{ "data_digest", session->agreed.data_digest },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].value >= 0)
			out_u64(out, rows[i].key, NULL, (uint64_t)rows[i].value);
}

static void show_session(struct out *out, const struct iscsi_want *want, const struct kernel_iscsi_session *session, const char *print)
{
	const char *open = strchr(session->portal, ':') ? "[" : "", *close = *open ? "]" : "";
	char text[80], at[ADDR_TEXT];

	out_text(out, "session", NULL, "session%u", session->sid);
	out_text(out, "host", NULL, "host%u", session->host);
	out_text(out, "address", NULL, "%s", session->address[0] ? session->address : session->portal);
	out_text(out, "portal", NULL, "%s%s%s:%u", open, session->portal, close, session->portal_port);
	out_text(out, "state", NULL, "%s", session->state);
	out_text(out, "initiator", NULL, "%s", session->initiator);
	out_u64(out, "redirects", NULL, want->redirects);
	if (!want->existed)
		out_text(out, "chap", NULL, "%s", want->agreed.alg);
	show_numbers(out, session);
	out_text(out, "on_loss", NULL, "%s", iser_loss_text(session->tmo.recovery, text));
	show_luns(out, want, print);
	if (print)
		return;
	out_line(out, "session%u: %slogged in to %s at %s%s%s:%u over %s%s%s", session->sid, want->existed ? "already " : "", session->target, open,
		session->portal, close, session->portal_port, iscsi_carrier_word(want->carrier), want->redirects ? ", which sent on to " : "",
		want->redirects ? addr_text(&want->at, at) : "");
	out_line(out, "session%u: when the target is lost: %s", session->sid, text);
}

void iser_show_want(struct out *out, int root, const struct iscsi_want *want, const char *print)
{
	struct kernel_iscsi_session session;

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", want->target);
	out_text(out, "transport", NULL, "%s", iscsi_carrier_word(want->carrier));
	out_bool(out, "logged_in", NULL, !want->why.err);
	if (want->why.err) {
		out_text(out, "code", NULL, "%s", diag_code_word(want->why.code));
		out_text(out, "text", NULL, "%s", want->why.text);
		if (want->stays)
			out_text(out, "session", NULL, "session%u", want->sid);
		if (want->status)
			out_text(out, "login_status", NULL, "%04x", want->status);
	} else {
		out_bool(out, "existed", NULL, want->existed);
		if (!kernel_iscsi_session(root, want->sid, &session))
			show_session(out, want, &session, print);
	}
	out_end(out);
}

void iser_show_plan(struct out *out, const struct iscsi_want *want, const struct kernel_iscsi_session *list, unsigned count)
{
	const char *word = iscsi_carrier_word(want->carrier);
	const struct kernel_iscsi_session *there = kernel_iscsi_session_find(list, count, word, want->target, &want->portal);
	char at[ADDR_TEXT], text[80];

	addr_text(&want->portal, at);
	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", want->target);
	out_text(out, "portal", NULL, "%s", at);
	out_text(out, "transport", NULL, "%s", word);
	out_text(out, "initiator", NULL, "%s", want->from->initiator);
	out_u64(out, "login_timeout", NULL, (uint64_t)want->set.login_timeout);
	out_bool(out, "logged_in", NULL, there);
	out_end(out);
	if (there)
		out_line(out, "%s at %s: is logged in already, as session%u", want->target, at, there->sid);
	else
		out_line(out, "%s at %s: would be logged in to over %s, as %s; when it is lost: %s", want->target, at, word, want->from->initiator,
			iser_loss_text(want->set.replacement_timeout, text));
}
