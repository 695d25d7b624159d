/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The input of iscsistart. */
#include "../../../../core/attach/iscsi/iscsi_start.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static const struct iscsi_start_options complete = { .initiator = "iqn.2024-01.a:host",
	.target = "iqn.2024-01.a:disk",
	.tgpt = "1",
	.address = "[fd00::1]" };
static char notes[512];

static void note(struct iscsi_start *s, const char *text)
{
	(void)s;
	snprintf(notes, sizeof(notes), "%s", text);
}

static int read_all(
	struct iscsi_start *s, const struct iscsi_start_options *opts, struct diag *diag)
{
	int err;

	*s = (struct iscsi_start){ .root = -1, .as_tool = true, .note = note };
	*diag = (struct diag){ 0 };
	notes[0] = 0;
	err = iscsi_start_targets(s, opts, diag);
	return err ? err : iscsi_start_settings(s, opts, diag);
}

Test(iscsi_start_read, a_target_needs_four_options)
{
	char longest[300];
	struct iscsi_start s;
	struct diag diag;
	struct iscsi_start_options rows[8];
	static const char *const says[] = { "InitiatorName _Exiting", "Portal Group _Exiting",
		"Portal Group", "TargetName _Exiting", "IP Address _Exiting", "port", "tgpt",
		"too long" };

	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	for (unsigned i = 0; i < 8; i++)
		rows[i] = complete;
	rows[0].initiator = rows[1].tgpt = rows[3].target = NULL;
	rows[2].tgpt = "-1";
	rows[4].address = "";
	rows[5].port = "0";
	rows[6].tgpt = "65536";
	rows[7].initiator = longest;
	for (unsigned i = 0; i < 8; i++) {
		cr_assert_eq(read_all(&s, &rows[i], &diag), -EINVAL, "%s", says[i]);
		diag_says(&diag, DIAG_USAGE, "", says[i]);
		iscsi_start_free(&s);
	}
	cr_assert_eq(read_all(&s, &complete, &diag), 0, "%s", diag.text);
	cr_assert_eq(s.boot_config.count, 1);
	cr_assert_str_eq(s.boot_config.entry->host, "fd00::1");
	cr_assert_eq(s.boot_config.entry->port, 3260);
	cr_assert_str_eq(s.records.initiator, complete.initiator);
	iscsi_start_free(&s);
}

Test(iscsi_start_read, parameters_are_records_of_open_iscsi)
{
	static const struct {
		const char *param, *says, *note;
	} rows[] = {
		{ "iface.transport_name=iser", NULL, NULL },
		{ "node.startup=manual", NULL, "node.startup ignored" },
		{ "node.nothing=1", "Unknown node.nothing", NULL },
		{ "node.startup=", "Missing_value", NULL },
		{ "iface.transport_name=bnx2i", "Invalid tcp_or_iser", NULL },
	};
	struct iscsi_start s;
	struct diag diag;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iscsi_start_options opts = complete;

		opts.params = (struct opt_list){ .item = { rows[i].param }, .count = 1 };
		cr_assert_eq(read_all(&s, &opts, &diag), rows[i].says ? -EINVAL : 0, "%s: %s",
			rows[i].param, diag.text);
		if (rows[i].says)
			diag_says(&diag, DIAG_USAGE, "", rows[i].says);
		if (rows[i].note)
			text_says(notes, rows[i].note);
		else
			cr_assert_str_empty(notes);
		cr_assert_eq(s.records.iser, !i);
		iscsi_start_free(&s);
	}
}

Test(iscsi_start_read, mutual_chap_needs_both_secrets)
{
	static const struct {
		const char *secret, *target_user, *target_secret;
		bool valid;
	} rows[] = {
		{ NULL, NULL, NULL, true },
		{ "ours", NULL, NULL, true },
		{ "ours", "them", "theirs", true },
		{ "ours", NULL, "theirs", true },
		{ "ours", "them", NULL, false },
		{ NULL, NULL, "theirs", false },
		{ NULL, "them", "theirs", false },
	};
	struct iscsi_start s;
	struct diag diag;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct iscsi_start_options opts = complete;
		char secret[2][16];

		for (unsigned j = 0; j < 2; j++) {
			const char *is = j ? rows[i].target_secret : rows[i].secret;

			if (is) /* is erased */
				opts.secret[j] = strcpy(secret[j], is);
		}
		opts.user[1] = rows[i].target_user;
		cr_assert_eq(read_all(&s, &opts, &diag), rows[i].valid ? 0 : -EINVAL, "row %u", i);
		if (rows[i].valid && rows[i].secret)
			cr_assert_str_eq(s.boot_config.entry->secret[0], rows[i].secret);
		iscsi_start_free(&s);
		for (unsigned j = 0; j < 2; j++)
			cr_assert(!opts.secret[j] || !opts.secret[j][0]);
	}
}
