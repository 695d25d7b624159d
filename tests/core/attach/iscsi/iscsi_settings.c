/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "iscsi_settings.h"
#include "attach_iscsi.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct iscsi_settings set;
static struct diag why;

static void init(void)
{
	iscsi_settings_init(&set);
}
TestSuite(iscsi_settings, .init = init);

Test(iscsi_settings, initial_values_are_those_of_open_iscsi)
{
	cr_assert_eq(set.replacement_timeout, 120);
	cr_assert_eq(set.noop_interval, 5);
	cr_assert_eq(set.cmds_max, 128);
	cr_assert_eq(set.initial_r2t, 0);
	cr_assert_eq(set.immediate_data, 1);
	cr_assert_eq(set.max_burst, 16776192);
}

Test(iscsi_settings, every_row_has_its_own_place_and_takes_its_bounds)
{
	for (unsigned i = 0; i < ISCSI_SETTINGS; i++) {
		const struct iscsi_setting *row = &iscsi_setting[i];
		char text[32];

		cr_assert(row->option && row->record && row->help);
		cr_assert(row->initial >= row->min && row->initial <= row->max, "%s", row->option);
		for (unsigned j = 0; j < i; j++)
			cr_assert(row->at != iscsi_setting[j].at, "%s", row->option);
		if (row->kind == ISCSI_SET_BOOL || row->kind == ISCSI_SET_DIGEST)
			continue;
		snprintf(text, sizeof(text), "%d", row->max);
		cr_assert_eq(iscsi_settings_set(&set, row->option, text, &why), 0, "%s: %s",
			row->option, why.text);
		snprintf(text, sizeof(text), "%lld", (long long)row->max + 1);
		cr_assert_eq(iscsi_settings_set(&set, row->option, text, &why), -ERANGE, "%s",
			row->option);
	}
}

Test(iscsi_settings, both_names_are_taken)
{
	cr_assert_eq(iscsi_settings_set(&set, "replacement-timeout", "9", &why), 0);
	cr_assert_eq(set.replacement_timeout, 9);
	cr_assert_eq(iscsi_settings_set(&set, "replacement_timeout", "-1", &why), 0);
	cr_assert_eq(set.replacement_timeout, -1);
	cr_assert_eq(
		iscsi_settings_set(&set, "node.session.timeo.replacement_timeout", "0", &why), 0);
	cr_assert_eq(set.replacement_timeout, 0);
	cr_assert_eq(
		iscsi_settings_set(&set, "node.conn[0].timeo.noop_out_interval", "7", &why), 0);
	cr_assert_eq(set.noop_interval, 7);
	cr_assert_eq(iscsi_settings_set(&set, "node.conn.timeo.noop_out_interval", "8", &why), 0);
	cr_assert_eq(set.noop_interval, 8);
	cr_assert_eq(iscsi_settings_set(&set, "node.session.iscsi.InitialR2T", "Yes", &why), 0);
	cr_assert_eq(set.initial_r2t, 1);
	cr_assert_eq(iscsi_settings_set(&set, "header-digest", "crc32c,none", &why), 0);
	cr_assert_eq(set.header_digest, ISCSI_DIGEST_CRC32C_NONE);
	cr_assert_eq(iscsi_settings_set(&set, "max-recv", "128K", &why), 0);
	cr_assert_eq(set.max_recv, 131072);
}

Test(iscsi_settings, errors_name_what_is_wrong)
{
	static const struct {
		const char *name, *value;
		int err;
		const char *words;
	} row[] = {
		{ "sparkle", "1", -ENOENT, "'sparkle'" },
		{ "node.session.timeo.replacement_timeou", "1", -ENOENT,
			"'node.session.timeo.replacement_timeou'" },
		{ "cmds-max", "100", -EINVAL, "cmds-max '100'" },
		{ "cmds-max", "8", -ERANGE, "cmds-max 16_to_2048" },
		{ "noop-timeout", "-1", -EINVAL, "noop-timeout '-1'" },
		{ "noop-timeout", "5x", -EINVAL, "noop-timeout '5x'" },
		{ "first-burst", "64M", -ERANGE, "first-burst 512_to_16777215" },
		{ "initial-r2t", "perhaps", -EINVAL, "initial-r2t 'perhaps' Yes No" },
		{ "data-digest", "MD5", -EINVAL, "data-digest 'MD5' None CRC32C" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct iscsi_settings before = set;

		cr_assert_eq(iscsi_settings_set(&set, row[i].name, row[i].value, &why), row[i].err,
			"%s: %s", row[i].name, why.text);
		diag_says(&why, DIAG_USAGE, NULL, row[i].words);
		cr_assert(!memcmp(&before, &set, sizeof(set)));
	}
}
