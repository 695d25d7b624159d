/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* URIs of iSCSI targets, for the kernel's initiator and for ours. */
#include "says.h"
#include "uri_read.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct uri uri;
static struct uri_iscsi iscsi;
static struct diag why;

static int read_for(enum uri_initiator initiator, const char *text)
{
	int err;

	why = (struct diag){ 0 };
	err = uri_parse(&uri, text, &why);
	return err ? err : uri_iscsi_read(&iscsi, &uri, initiator, &why);
}

Test(read_iscsi, target_and_lun)
{
	static const struct {
		const char *text, *target;
		uint64_t lun;
	} row[] = {
		{ "iscsi://h", "", SCSI_LUN_ALL },
		{ "iscsi://h/iqn.x", "iqn.x", SCSI_LUN_ALL },
		{ "iser://h/IQN.x:a%2Fb/7", "iqn.x:a/b", 7 },
		{ "iscsi://h/iqn.x/0-1", "iqn.x", 0x10000 },
		{ "iscsi:h::::iqn.x", "iqn.x", SCSI_LUN_ALL },
		{ "iscsi://h//1", "", 1 },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		for (enum uri_initiator initiator = 0; initiator <= URI_KERNEL; initiator++) {
			cr_assert_eq(read_for(initiator, row[i].text), 0, "%s", why.text);
			cr_assert_str_eq(iscsi.target, row[i].target);
			cr_assert_eq(iscsi.lun, row[i].lun, "%s", row[i].text);
		}
}

Test(read_iscsi, refusals)
{
	static const struct {
		const char *text, *words;
		enum uri_initiator initiator;
	} row[] = {
		{ "iscsi://h/iqn.x/y", "LUN 'y'", URI_KERNEL },
		{ "iscsi://h/iqn.x%20y/0", "'iqn.x y'", URI_OWN },
		{ "iscsi://h/iqn.x/0?queues=2", "queues= not_supported kernel's", URI_KERNEL },
		{ "iscsi://h/iqn.x/0?tpgt=2", "tpgt= only kernel's", URI_OWN },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cr_assert_lt(read_for(row[i].initiator, row[i].text), 0, "%s", row[i].text);
		diag_says(&why, DIAG_USAGE, NULL, row[i].words);
	}
}

Test(read_iscsi, identity)
{
	struct uri_iscsi_identity from;

	cr_assert_eq(
		read_for(URI_OWN, "iscsi://joe%hush@h/iqn.x?user=x&target_user=disk&"
				  "target_password=s&secret-file=/f&initiator=iqn.me&auth=md5"),
		0);
	from = uri_iscsi_identity(&uri);
	cr_assert_str_eq(from.user[0], "joe");
	cr_assert_str_eq(from.secret[0], "hush");
	cr_assert_str_eq(from.secret_file[0], "/f");
	cr_assert_str_eq(from.user[1], "disk");
	cr_assert_str_eq(from.secret[1], "s");
	cr_assert_null(from.secret_file[1]);
	cr_assert_str_eq(from.initiator, "iqn.me");
	cr_assert_str_eq(from.algs, "md5");
	cr_assert_eq(uri_done(&uri, &why), 0, "%s", why.text);
}
