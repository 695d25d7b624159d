/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI part of a status: the keeper of each session, its timeouts, the negotiated parameters.
 */
#include "status_show.h"
#include "status_table.h"
#include <stdio.h>
#include <string.h>

#define NUMBER 24

static const char *number(int value, char text[NUMBER])
{
	text[0] = 0;
	if (value == VALUE_OFF)
		snprintf(text, NUMBER, "off");
	else if (value >= 0)
		snprintf(text, NUMBER, "%d", value);
	return text;
}

static const char *pair(int left, const char *with, int right, char text[NUMBER])
{
	text[0] = 0;
	if (left >= 0 && right >= 0)
		snprintf(text, NUMBER, "%d%s%d", left, with, right);
	return text;
}

static const char *yes(int value)
{
	return value < 0 ? "" : value ? "yes" : "no";
}

static const char *portal(const struct list_iscsi *iscsi, char text[ADDR_TEXT + 16])
{
	const bool brackets = strchr(iscsi->portal, ':');

	snprintf(text, ADDR_TEXT + 16, iscsi->portal_port ? "%s%s%s:%u" : "%s%s%s",
		brackets ? "[" : "", iscsi->portal, brackets ? "]" : "", iscsi->portal_port);
	return text;
}

static const char *keeper(const struct list_iscsi *iscsi, char text[40])
{
	snprintf(text, 40, iscsi->kept_by_pid ? "%s:%d" : "%s", iscsi->kept_by, iscsi->kept_by_pid);
	return text;
}

static void session_row(
	struct table *table, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];
	const struct list_iscsi *iscsi = &link->iscsi;
	const struct kernel_iscsi_tmo *tmo = &iscsi->tmo;
	char where[ADDR_TEXT + 16], by[40], text[5][NUMBER];

	table_row(table,
		(const char *const[]){ link->name, path->hctl, path->node, iscsi->connection_state,
			portal(iscsi, where), keeper(iscsi, by), number(tmo->recovery, text[0]),
			pair(tmo->recv, "+", tmo->ping, text[1]), number(tmo->abort, text[2]),
			number(tmo->lu_reset, text[3]), number(tmo->target_reset, text[4]) });
}

static void agreed_row(struct table *table, const struct list_link *link)
{
	const struct kernel_iscsi_agreed *is = &link->iscsi.agreed;
	char text[6][NUMBER];

	table_row(table,
		(const char *const[]){ link->name, yes(is->header_digest), yes(is->data_digest),
			number(is->max_recv, text[0]), number(is->max_xmit, text[1]),
			number(is->first_burst, text[2]), number(is->max_burst, text[3]),
			yes(is->initial_r2t), number(is->max_r2t, text[4]), yes(is->immediate_data),
			number(is->erl, text[5]) });
}

/* A session has a line as long as one of its paths is listed. */
static bool is_listed(const struct kernel_list *list, unsigned link)
{
	bool listed = false;

	for (unsigned i = 0; i < list->paths; i++)
		listed |= list->path[i].link == (int)link;
	return listed && list->link[link].iscsi.is;
}

static void sessions_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "ISCSI", "H:C:T:L", "NODE", "CONNECTION", "PORTAL",
		"KEPT-BY", "RECOVERY", "PING", "ABORT", "LU-RESET", "TARGET-RESET" };
	struct table table = { .out = out, .columns = sizeof(head) / sizeof(*head) };

	out_line(out, "%s", "");
	for (int pass = 0; pass < 2; pass++) {
		table.print = pass;
		table_row(&table, head);
		for (unsigned i = 0; i < list->paths; i++)
			if (list->link[list->path[i].link].iscsi.is)
				session_row(&table, list, &list->path[i]);
	}
}

static void agreed_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "ISCSI", "HEADER-DIGEST", "DATA-DIGEST", "MAX-RECV",
		"MAX-XMIT", "FIRST-BURST", "MAX-BURST", "R2T", "MAX-R2T", "IMMEDIATE", "ERL" };
	struct table table = { .out = out, .columns = sizeof(head) / sizeof(*head) };

	out_line(out, "%s", "");
	for (int pass = 0; pass < 2; pass++) {
		table.print = pass;
		table_row(&table, head);
		for (unsigned i = 0; i < list->links; i++)
			if (is_listed(list, i))
				agreed_row(&table, &list->link[i]);
	}
}

void status_iscsi(struct out *out, const struct kernel_list *list, bool verbose)
{
	bool any = false;

	for (unsigned i = 0; i < list->links; i++)
		any |= is_listed(list, i);
	if (!any)
		return;
	sessions_table(out, list);
	if (verbose)
		agreed_table(out, list);
}

static void put_number(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_u64(out, key, NULL, (uint64_t)value);
}

static void put_bool(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_bool(out, key, NULL, value);
}

static void put_text(struct out *out, const char *key, const char *text)
{
	if (text[0])
		out_text(out, key, NULL, "%s", text);
}

static void put_tmo(struct out *out, const struct kernel_iscsi_tmo *tmo)
{
	out_object(out, "timeouts");
	status_seconds(out, "replacement_timeout_seconds", tmo->recovery);
	status_seconds(out, "noop_interval_seconds", tmo->recv);
	status_seconds(out, "noop_timeout_seconds", tmo->ping);
	status_seconds(out, "abort_timeout_seconds", tmo->abort);
	status_seconds(out, "lu_reset_timeout_seconds", tmo->lu_reset);
	status_seconds(out, "tgt_reset_timeout_seconds", tmo->target_reset);
	out_end(out);
}

static void put_agreed(struct out *out, const struct kernel_iscsi_agreed *is)
{
	out_object(out, "agreed");
	put_bool(out, "header_digest", is->header_digest);
	put_bool(out, "data_digest", is->data_digest);
	put_number(out, "max_recv_bytes", is->max_recv);
	put_number(out, "max_xmit_bytes", is->max_xmit);
	put_number(out, "first_burst_bytes", is->first_burst);
	put_number(out, "max_burst_bytes", is->max_burst);
	put_bool(out, "initial_r2t", is->initial_r2t);
	put_bool(out, "immediate_data", is->immediate_data);
	put_bool(out, "data_pdu_in_order", is->pdu_in_order);
	put_bool(out, "data_sequence_in_order", is->sequence_in_order);
	put_number(out, "max_r2t", is->max_r2t);
	put_number(out, "erl", is->erl);
	out_end(out);
}

void status_iscsi_json(struct out *out, const struct list_link *link, const struct list_path *path)
{
	const struct list_iscsi *iscsi = &link->iscsi;

	out_object(out, "iscsi");
	out_u64(out, "sid", NULL, iscsi->sid);
	out_u64(out, "cid", NULL, iscsi->cid);
	put_text(out, "connection_state", iscsi->connection_state);
	put_text(out, "hctl", path->hctl);
	put_number(out, "tpgt", iscsi->tpgt);
	out_object(out, "peer");
	put_text(out, "traddr", link->address);
	put_text(out, "trsvcid", link->service);
	out_end(out);
	out_text(out, "kept_by", NULL, "%s", iscsi->kept_by);
	if (iscsi->kept_by_pid)
		out_u64(out, "kept_by_pid", NULL, (uint64_t)iscsi->kept_by_pid);
	put_tmo(out, &iscsi->tmo);
	put_agreed(out, &iscsi->agreed);
	out_end(out);
}
