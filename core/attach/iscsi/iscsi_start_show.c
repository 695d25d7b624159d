/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What iscsistart prints, in the words of open-iscsi's tool: logins, and the firmware's targets. */
#include "iscsi_start.h"
#include "out.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void iscsi_start_note(struct iscsi_start *s, const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		return;
	s->note(s, text);
	free(text);
}

/* ---- Logins. */

static void report_failure(struct iscsi_start *s, unsigned i)
{
	const struct diag *why = &s->attach[i].attach.why;
	const char *text;
	unsigned number;

	if (s->as_tool) {
		number = iscsi_start_error(&s->attach[i], &text);
		iscsi_start_note(s, "initiator reported error (%u - %s)", number, text);
	} else if (s->boot_config.count == 1) {
		return; /* it becomes that of the command */
	}
	iscsi_start_note(s, "%s: %s", s->boot_config.entry[i].name, why->text);
	if (why->hint[0])
		iscsi_start_note(s, "hint: %s", why->hint);
}

static void report_session(struct iscsi_start *s, unsigned i)
{
	const struct attach_iscsi *one = &s->attach[i];
	const struct iscsi_boot_target *entry = &s->boot_config.entry[i];

	if (one->existed)
		iscsi_start_note(s, "session%u to this target already exists", one->sid);
	else
		iscsi_start_note(s,
			"Connection%u:0 to [target: %s, portal: %s,%u] through [iface: %s] is "
			"operational now",
			one->sid, entry->name, entry->host, entry->port,
			one->params.carrier == ISCSI_ISER ? "iser" : "default");
	for (unsigned j = 0; j < one->luns.count && s->as_tool; j++)
		if (one->luns.list[j].node[0])
			iscsi_start_note(s, "/dev/%s: LUN %llu", one->luns.list[j].node,
				(unsigned long long)one->luns.list[j].lun);
}

/* An object of the open list. one NULL: nothing was done. */
static void print_session(struct iscsi_start *s, const struct iscsi_boot_target *entry,
	const struct attach_iscsi *one)
{
	const char *carrier = iscsi_carrier_name(s->records.iser ? ISCSI_ISER : ISCSI_TCP);
	struct out *out = s->out;
	char where[ADDR_TEXT];

	out_object(out, NULL);
	out_text(out, "target", NULL, "%s", entry->name);
	iscsi_show_portal(out,
		one && iscsi_start_resolved(one) ? addr_host(&one->params.portal, where)
						 : entry->host,
		entry->port);
	out_text(out, "transport", NULL, "%s", carrier);
	if (!one) {
		out_text(out, "initiator", NULL, "%s", s->records.initiator);
		out_line(out, "%s at %s port %u, over %s, as %s", entry->name, entry->host,
			entry->port, s->records.iser ? "iSER" : "TCP", s->records.initiator);
	} else {
		out_bool(out, "logged_in", NULL, !one->attach.why.err);
		out_error(out, "error", &one->attach.why);
	}
	if (one && !one->attach.why.err) {
		out_bool(out, "existed", NULL, one->existed);
		out_text(out, "session", NULL, "session%u", one->sid);
		out_list(out, "luns");
		for (unsigned j = 0; j < one->luns.count && (out->json || !s->as_tool); j++)
			kernel_scsi_show(out, &one->luns.list[j], NULL);
		out_end(out);
	}
	out_end(out);
}

unsigned iscsi_start_show(struct iscsi_start *s, struct diag *diag)
{
	unsigned failed = 0, count = s->boot_config.count;

	out_list(s->out, "sessions");
	for (unsigned i = 0; i < count; i++) {
		const struct attach_iscsi *one = s->attach ? &s->attach[i] : NULL;

		if (one && one->attach.why.err) {
			failed++;
			report_failure(s, i);
		} else if (one) {
			report_session(s, i);
		}
		print_session(s, &s->boot_config.entry[i], one);
	}
	out_end(s->out);
	if (failed < count || s->as_tool)
		return failed;
	if (count == 1) {
		*diag = s->attach->attach.why;
		diag_ctx(diag, "%s", s->boot_config.entry->name);
	} else {
		diag_set(diag, DIAG_IO, EIO, "all %u logins failed", failed);
	}
	return failed;
}

/* ---- The firmware's targets. */

static void print_record(void *arg, bool begin)
{
	struct iscsi_start *s = arg;

	if (begin && !s->records_open)
		out_list(s->out, "records");
	if (begin) {
		s->records_open = true;
		out_object(s->out, NULL);
		out_line(s->out, "# BEGIN RECORD %s", s->version);
	} else {
		out_line(s->out, "# END RECORD");
		out_end(s->out);
	}
}

static void print_value(void *arg, const char *name, const char *text, unsigned number)
{
	const struct iscsi_start *s = arg;

	if (text) {
		out_line(s->out, "%s = %s", name, text);
		out_text(s->out, name, NULL, "%s", text);
	} else {
		out_line(s->out, "%s = %u", name, number);
		out_u64(s->out, name, NULL, number);
	}
}

static void print_nic(void *arg, const char *netdev, bool failed)
{
	const struct iscsi_start *s = arg;

	out_line(s->out, "Setting up software interface %s%s", netdev, failed ? " failed" : "");
}

static void print_damage(void *arg, const char *text)
{
	struct iscsi_start *s = arg;

	s->note(s, text);
}

static const struct ibft_view view = {
	.record = print_record, .value = print_value, .nic = print_nic, .damage = print_damage
};

int iscsi_start_print(struct iscsi_start *s, struct diag *diag)
{
	struct ibft_view mine = view;
	int err;

	mine.arg = s;
	err = kernel_ibft_records(s->root, &mine, diag);
	if (s->records_open)
		out_end(s->out);
	else
		out_line(s->out, "Could not get list of targets from firmware.");
	return err;
}

int iscsi_start_network(struct iscsi_start *s, bool dry_run, struct diag *diag)
{
	struct ibft_view mine = view;
	int err;

	mine.arg = s;
	err = kernel_ibft_set_up(s->root, &mine, dry_run, diag);
	if (err < 0)
		out_line(s->out, "Could not setup fw entries.");
	return err;
}
