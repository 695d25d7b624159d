/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* dracut's strings in their documented and their odd forms. */
#include "iscsi_conf.h"
#include "says.h"
#include "uri.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IQN "iqn.2009-06.dracut:target0"

static struct iscsi_boot_target entry;
static struct diag why;

Test(iscsi_string, forms)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
		const char *netdev;
		int lun;
		const char *name;
		bool iser;
	} row[] = {
		{ "iscsi:192.168.50.1::::" IQN, "192.168.50.1", 0, "", -1, IQN, false },
		{ "iscsi:192.168.50.1:6:3261:7:" IQN, "192.168.50.1", 3261, "", 7, IQN, false },
		{ "iscsi:[2001:DB8::1]::::" IQN, "2001:DB8::1", 0, "", -1, IQN, false },
		{ "iscsi:[fe80::1%eth0]::3260:1:" IQN, "fe80::1%eth0", 3260, "", 1, IQN, false },
		{ "iscsi:10.0.0.1::3260:iface0:eth1:2:" IQN, "10.0.0.1", 3260, "eth1", 2, IQN,
			false },
		{ "iscsi:10.0.0.1::3260:eth1:2:" IQN, "10.0.0.1", 3260, "eth1", 2, IQN, false },
		{ "iscsi:10.0.0.1::3260:::2:" IQN, "10.0.0.1", 3260, "", 2, IQN, false },
		{ "iscsi:10.0.0.1::3260:" IQN, "10.0.0.1", 3260, "", -1, IQN, false },
		{ "iscsi:10.0.0.1:" IQN, "10.0.0.1", 0, "", -1, IQN, false },
		{ "iscsi:target.example.com::::eui.0123456789abcdef", "target.example.com", 0, "",
			-1, "eui.0123456789abcdef", false },
		{ "iscsi:10.0.0.1::::naa.52004567ba64678d", "10.0.0.1", 0, "", -1,
			"naa.52004567ba64678d", false },
		{ "iscsi:10.0.0.1::3260:1:disk:of:mine", "10.0.0.1", 3260, "", 1, "disk:of:mine",
			false },
		{ "iscsi:10.0.0.1::3260:if0:eth1:1:disk", "10.0.0.1", 3260, "eth1", 1, "disk",
			false },
		{ "iscsi:10.0.0.1:tcp:3260:1:kumo-disk-img37", "10.0.0.1", 3260, "", 1,
			"kumo-disk-img37", false },
		{ "iscsi:10.0.0.1::3260::IQN.2009-01.com.example:a:b", "10.0.0.1", 3260, "", -1,
			"IQN.2009-01.com.example:a:b", false },
		{ "iscsi:10.0.0.1::::iqn.a/b?c%41", "10.0.0.1", 0, "", -1, "iqn.a/b?c%41", false },
		{ "iscsi:@192.168.1.100::3260::iqn.2009-01.com.example:testdi@sk", "192.168.1.100",
			3260, "", -1, "iqn.2009-01.com.example:testdi@sk", false },
		{ "iscsi:192.168.1.100::3260::iqn.2009-01.com.example:a@b:c:d:e:f", "192.168.1.100",
			3260, "", -1, "iqn.2009-01.com.example:a@b:c:d:e:f", false },
		{ "iscsi:::::" IQN, "", 0, "", -1, IQN, false },
		{ "iser:10.0.0.1::::" IQN, "10.0.0.1", 0, "", -1, IQN, true },
		{ "iscsi:10.0.0.1:iser:::" IQN, "10.0.0.1", 0, "", -1, IQN, true },
		{ "iscsi:10.0.0.1:::iser:eth1:0:" IQN, "10.0.0.1", 0, "eth1", 0, IQN, true },
		{ "iscsi:[10.0.0.1]::0xcbc::" IQN, "10.0.0.1", 3260, "", -1, IQN, false },
		{ "iscsi:[disk.example]::::" IQN, "disk.example", 0, "", -1, IQN, false },
		{ "iscsi:[]::::" IQN, "", 0, "", -1, IQN, false },
		{ "ISCSI:10.0.0.1::::" IQN, "10.0.0.1", 0, "", -1, IQN, false },
		{ "iscsi:10.0.0.1::3260:4000-3:" IQN, "10.0.0.1", 3260, "", 0x34000, IQN, false },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		why = (struct diag){ 0 };
		cr_assert_eq(kernel_iscsi_string(row[i].text, &entry, &why), 0, "%s: %s",
			row[i].text, why.text);
		cr_assert_str_eq(entry.host, row[i].host, "%s: %s", row[i].text, entry.host);
		cr_assert_str_eq(entry.name, row[i].name, "%s: %s", row[i].text, entry.name);
		cr_assert_str_eq(entry.netdev, row[i].netdev, "%s: %s", row[i].text, entry.netdev);
		cr_assert_eq(entry.port, row[i].port, "%s: %u", row[i].text, entry.port);
		cr_assert_eq(entry.lun, row[i].lun < 0 ? SCSI_LUN_ALL : (uint64_t)row[i].lun,
			"%s", row[i].text);
		cr_assert_eq(entry.iser, row[i].iser, "%s", row[i].text);
		cr_assert(!entry.firmware && !entry.user[0][0] && !entry.user[1][0] &&
			  entry.tpgt == -1);
	}
}

Test(iscsi_string, users)
{
	cr_assert_eq(kernel_iscsi_string("iscsi:joe:longenough@10.0.0.1::::" IQN, &entry, &why), 0);
	cr_assert_str_eq(entry.user[0], "joe");
	cr_assert_str_eq(entry.secret[0], "longenough");
	cr_assert_str_eq(entry.user[1], "");
	cr_assert_eq(kernel_iscsi_string("iscsi:joe:longenough:disk:anothergood@[fd00::1]::::" IQN,
			     &entry, &why),
		0);
	cr_assert_str_eq(entry.user[1], "disk");
	cr_assert_str_eq(entry.secret[1], "anothergood");
	cr_assert_str_eq(entry.host, "fd00::1");
}

Test(iscsi_string, what_stands_for_the_firmware)
{
	static const char *const text[] = { "iscsi:", "iscsi:iscsi", "iscsi:iscsi:", "iscsi:ibft",
		"iser:" };

	for (unsigned i = 0; i < sizeof(text) / sizeof(*text); i++) {
		cr_assert_eq(kernel_iscsi_string(text[i], &entry, &why), 0, "%s", text[i]);
		cr_assert(entry.firmware && !entry.host[0] && !entry.name[0], "%s is not a host",
			text[i]);
	}
}

Test(iscsi_string, what_is_wrong)
{
	static const struct {
		const char *text, *words, *object; /* NULL: the text */
	} row[] = {
		{ "nbd:10.0.0.1", "'nbd:'" },
		{ "iscsi:3260", "target" },
		{ "iscsi:10.0.0.1", "target" },
		{ "iscsi:10.0.0.1::::", "target" },
		{ "iscsi:10.0.0.1::0::" IQN, "port 65535" },
		{ "iscsi:10.0.0.1::65536::" IQN, "port 65535" },
		{ "iscsi:10.0.0.1:::one:" IQN, "LUN" },
		{ "iscsi:10.0.0.1::::::::" IQN, "field" },
		{ "iscsi:[fd00::1::::" IQN, "'['" },
		{ "iscsi:10.0.0.1:::a-device-too-long:0:" IQN, "interface 15" },
		{ "iscsi:10.0.0.1::::iqn.a b", "blank" },
		{ "iscsi:10.0.0.1::::iqn.a\001b", "name 223" },
		{ "iscsi:joe:s3 s3cret@h::::" IQN, "blank", "iscsi:joe@h::::" IQN },
		{ "iscsi:10.0.0.1/iqn.a", "target" },
		{ "iscsi:10.0.0.1/a::::" IQN, "host '10.0.0.1/a'" },
		{ "iscsi:a:s3cret:b:s3cret:c@h::::" IQN, "user secret", "iscsi:a@h::::" IQN },
		{ "iscsi:joe:s3c@ret@h::::" IQN, "'@'", "iscsi:joe@h::::" IQN },
		{ "iscsi:joe:s3cret@h:x", "target", "iscsi:joe@h:x" },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		why = (struct diag){ 0 };
		cr_assert_eq(
			kernel_iscsi_string(row[i].text, &entry, &why), -EINVAL, "%s", row[i].text);
		diag_says(&why, DIAG_USAGE, row[i].object ? row[i].object : row[i].text,
			row[i].words);
		cr_assert_null(strstr(why.text, "s3cret"));
	}
}

Test(iscsi_string, too_long)
{
	char text[4096] = "iscsi:";

	memset(text + 6, 'a', 300);
	strcpy(text + 306, "::::" IQN);
	cr_assert_eq(kernel_iscsi_string(text, &entry, &why), -EINVAL, "a host");
	strcpy(text + 306, ":secret@h::::" IQN);
	cr_assert_eq(kernel_iscsi_string(text, &entry, &why), -EINVAL, "a user");
	strcpy(text, "iscsi:h::::iqn.");
	memset(text + 15, 'a', 219);
	text[15 + 219] = 0;
	cr_assert_eq(kernel_iscsi_string(text, &entry, &why), 0);
	strcpy(text + 15 + 219, "a");
	cr_assert_eq(kernel_iscsi_string(text, &entry, &why), -EINVAL, "a name");
}

Test(iscsi_string, is_distinguished_from_a_uri)
{
	cr_assert(uri_is_iscsi("iscsi:10.0.0.1::::" IQN));
	cr_assert(uri_is_iscsi("iser:"));
	cr_assert_not(uri_is_iscsi("iscsi://10.0.0.1/" IQN));
	cr_assert_not(uri_is_iscsi("10.0.0.1:3260"));
}

Test(iscsi_string, secrets_are_hidden)
{
	static const char *const row[][2] = {
		{ "iscsi:joe:s3cret@10.0.0.1::::" IQN, "iscsi:joe@10.0.0.1::::" IQN },
		{ "netroot=iser:joe:s3cret:disk:s4@h::::" IQN " quiet",
			"netroot=iser:joe@h::::" IQN " quiet" },
		{ "iscsi:joe:p@ss@h::::" IQN, "iscsi:joe@h::::" IQN },
		{ "ISCSI:joe:s3cret@h::::disk Iser:jim:s3cret@g::::disk", "ISCSI:joe@g::::disk" },
		{ "iscsi:h::::" IQN " and iscsi:joe:s3cret@g::::disk",
			"iscsi:h::::" IQN " and iscsi:joe@g::::disk" },
		{ "iscsi:h::::iqn.2009-06.dracut:a@b", "iscsi:h::::iqn.2009-06.dracut:a@b" },
		{ "iscsi:joe@h::::" IQN, "iscsi:joe@h::::" IQN },
	};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		char text[256];

		strcpy(text, row[i][0]);
		uri_hide(text);
		cr_assert_str_eq(text, row[i][1]);
	}
}

Test(iscsi_string, as_a_uri)
{
	static const char *const row[][2] = {
		{ "iscsi:10.0.0.1::::" IQN, "iscsi://10.0.0.1/" IQN },
		{ "iser:[fd00::1]::3261:7:" IQN, "iser://[fd00::1]:3261/" IQN "/7" },
		{ "iscsi:joe:s3cret:disk:s3cret@10.0.0.1:::eth1::" IQN,
			"iscsi://10.0.0.1/" IQN "?iface=eth1" },
		{ "iscsi:h::3260:0:disk0%", "iscsi://h:3260/disk0%25/0" },
	};
	char text[URI_MAX];
	struct uri uri;

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		cr_assert_eq(kernel_iscsi_string(row[i][0], &entry, &why), 0);
		kernel_iscsi_boot_uri(&entry, text);
		cr_assert_str_eq(text, row[i][1]);
		cr_assert_eq(uri_parse(&uri, text, &why), 0, "%s: %s", text, why.text);
		cr_assert_str_eq(uri.host, entry.host);
		cr_assert_eq(strncmp(uri.path, entry.name, strlen(entry.name)), 0);
	}
}
