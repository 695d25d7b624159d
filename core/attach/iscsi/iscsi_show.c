/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print sessions of the kernel's iSCSI initiators, existing and planned. */
#include "iscsi_logins.h"
#include "kernel_iscsi.h"
#include "out.h"
#include "policy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void iscsi_show_portal(struct out *out, const char *host, unsigned port)
{
	if (*host)
		out_text(out, "traddr", NULL, "%s", host);
	if (port)
		out_text(out, "trsvcid", NULL, "%u", port);
}

void iscsi_show_chap(struct out *out, const char *alg)
{
	out_text(out, "chap", NULL, "%s", *alg ? alg : "none");
}

static void show_number(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_u64(out, key, NULL, (uint64_t)value);
}

static void show_bool(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_bool(out, key, NULL, value);
}

static void show_timeouts(struct out *out, const struct kernel_iscsi_tmo *tmo, int login_timeout)
{
	char text[LOSS_TEXT];

	if (tmo->recovery != VALUE_UNKNOWN)
		out_text(out, "on_loss", NULL, "%s", loss_text(tmo->recovery, text));
	out_object(out, "timeouts");
	show_number(out, "replacement_timeout_seconds", tmo->recovery);
	show_number(out, "noop_interval_seconds", tmo->recv);
	show_number(out, "noop_timeout_seconds", tmo->ping);
	show_number(out, "abort_timeout_seconds", tmo->abort);
	show_number(out, "lu_reset_timeout_seconds", tmo->lu_reset);
	show_number(out, "tgt_reset_timeout_seconds", tmo->target_reset);
	show_number(out, "login_timeout_seconds", login_timeout);
	out_end(out);
}

static void show_session(struct out *out, const struct attach_iscsi *one,
	const struct kernel_iscsi_session *session, const char *print)
{
	const struct kernel_iscsi_agreed_params *agreed = &session->agreed;
	const char *open = strchr(session->portal, ':') ? "[" : "", *close = *open ? "]" : "";
	char text[LOSS_TEXT], at[ADDR_TEXT];

	out_text(out, "session", NULL, "session%u", session->sid);
	out_text(out, "host", NULL, "host%u", session->host);
	iscsi_show_portal(out, session->portal, session->portal_port);
	if (session->address[0]) {
		out_object(out, "peer");
		iscsi_show_portal(out, session->address, session->port);
		out_end(out);
	}
	out_word(out, "state", session->state);
	out_text(out, "initiator", NULL, "%s", session->initiator);
	out_u64(out, "redirects", NULL, one->result.redirects);
	if (!one->existed)
		iscsi_show_chap(out, one->result.agreed.alg);
	show_number(out, "tpgt", session->tpgt);
	show_number(out, "max_recv_bytes", agreed->max_recv);
	show_number(out, "max_xmit_bytes", agreed->max_xmit);
	show_number(out, "first_burst_bytes", agreed->first_burst);
	show_number(out, "max_burst_bytes", agreed->max_burst);
	show_bool(out, "initial_r2t", agreed->initial_r2t);
	show_bool(out, "immediate_data", agreed->immediate_data);
	show_bool(out, "header_digest", agreed->header_digest);
	show_bool(out, "data_digest", agreed->data_digest);
	show_timeouts(out, &session->tmo, -1);
	out_list(out, "luns");
	for (unsigned i = 0; i < one->luns.count; i++)
		if (one->luns.lun == SCSI_LUN_ALL || one->luns.list[i].lun == one->luns.lun)
			kernel_scsi_show(out, &one->luns.list[i], print);
	out_end(out);
	if (print)
		return;
	out_line(out, "session%u: %slogged in to %s at %s%s%s:%u over %s%s%s", session->sid,
		one->existed ? "already " : "", session->target, open, session->portal, close,
		session->portal_port, iscsi_carrier_name(one->params.carrier),
		one->result.redirects ? ", redirected to " : "",
		one->result.redirects ? addr_text(&one->result.at, at) : "");
	if (session->tmo.recovery != VALUE_UNKNOWN)
		out_line(out, "session%u: on loss: %s", session->sid,
			loss_text(session->tmo.recovery, text));
}

void iscsi_show_login(struct out *out, int root, const struct attach_iscsi *one, const char *print)
{
	struct kernel_iscsi_session session;

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", one->params.target);
	out_text(out, "transport", NULL, "%s", iscsi_carrier_name(one->params.carrier));
	out_bool(out, "logged_in", NULL, !one->attach.why.err);
	if (one->attach.why.err) {
		if (one->attach.users[0])
			out_text(out, "session", NULL, "session%u", one->sid);
		if (one->result.status)
			out_text(out, "login_status", NULL, "%04x", one->result.status);
		out_error(out, "error", &one->attach.why);
	} else {
		out_bool(out, "existed", NULL, one->existed);
		if (!kernel_iscsi_session(root, one->sid, &session))
			show_session(out, one, &session, print);
	}
	out_end(out);
}

void iscsi_attach_uri(const struct attach_iscsi *one, char uri[URI_MAX])
{
	const struct iscsi_session_params *params = &one->params;
	char at[ADDR_TEXT];

	uri_start(uri, params->carrier == ISCSI_TCP ? "iscsi" : "iser",
		addr_host(&params->portal, at), addr_port(&params->portal));
	uri_add_name(uri, params->target);
	if (one->luns.lun != SCSI_LUN_ALL)
		uri_add_unit(uri, one->luns.lun);
}

void iscsi_show_plan(struct out *out, const struct out_notes *notes, int root,
	const struct attach_iscsi *one, const struct kernel_iscsi_session *list, unsigned count)
{
	const struct iscsi_session_params *params = &one->params;
	const char *word = iscsi_carrier_name(params->carrier);
	const struct kernel_iscsi_session *existing = kernel_iscsi_session_find(
		list, count, iscsi_own_name(params->from), word, params->target, &params->portal);
	const struct iscsi_settings *set = &params->set;
	const struct kernel_iscsi_tmo tmo = { .recovery = set->replacement_timeout,
		.recv = set->noop_interval,
		.ping = set->noop_timeout,
		.abort = set->abort_timeout,
		.lu_reset = set->lu_reset_timeout,
		.target_reset = set->tgt_reset_timeout };
	char at[ADDR_TEXT], text[LOSS_TEXT], uri[URI_MAX];

	iscsi_attach_uri(one, uri);
	out_object(out, NULL);
	out_text(out, "uri", NULL, "%s", uri);
	out_text(out, "target", NULL, "%s", params->target);
	iscsi_show_portal(out, addr_host(&params->portal, at), addr_port(&params->portal));
	out_text(out, "transport", NULL, "%s", word);
	out_text(out, "initiator", NULL, "%s", params->from->initiator);
	out_bool(out, "logged_in", NULL, existing);
	if (existing)
		out_text(out, "session", NULL, "session%u", existing->sid);
	else
		attach_show_missing(out, notes, root,
			(const char *[]){
				params->carrier == ISCSI_ISER ? "ib_iser" : "iscsi_tcp", NULL });
	show_timeouts(out, &tmo, set->login_timeout);
	out_end(out);
	addr_text(&params->portal, at);
	if (existing)
		out_line(out, "%s at %s: already logged in, as session%u", params->target, at,
			existing->sid);
	else
		out_line(out, "%s at %s: would log in over %s as %s; on loss: %s", params->target,
			at, word, params->from->initiator,
			loss_text(set->replacement_timeout, text));
}
