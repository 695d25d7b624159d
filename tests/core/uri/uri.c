/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* URIs and their other spellings: parsed values, errors, and no secrets in printed URIs. */
#include "uri.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NQN "nqn.2014-08.org.nvmexpress:uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427"

static const struct {
	const char *text, *scheme, *host;
	unsigned port;
	const char *path, *keys; /* "name=value&…" as parsed */
} good[] = {
	{ "nvme+rdma://10.0.0.5/" NQN, "nvme+rdma", "10.0.0.5", 0, NQN, "" },
	{ "nvme+rdma://10.0.0.5:4420/" NQN "/1", "nvme+rdma", "10.0.0.5", 4420, NQN "/1", "" },
	{ "NVMe+TCP://Target-1.example_net", "nvme+tcp", "Target-1.example_net", 0, "", "" },
	{ "nvme+tcp://host?queues=4", "nvme+tcp", "host", 0, "", "queues=4" },
	{ "nvme+tcp://host/?queues=4&ro", "nvme+tcp", "host", 0, "", "queues=4&ro=" },
	{ "nvme+tcp://[::1]:8009/", "nvme+tcp", "::1", 8009, "", "" },
	{ "nvme+tcp://[fe80::1%eth0]/x", "nvme+tcp", "fe80::1%eth0", 0, "x", "" },
	{ "nvme+tcp://[fe80::1%25eth0]:1/x", "nvme+tcp", "fe80::1%eth0", 1, "x", "" },
	{ "nvme+tcp://[fe80::1%25]/x", "nvme+tcp", "fe80::1%25", 0, "x", "" },
	{ "nvme+tcp://h/a%20b%2fc?k=%26%3d", "nvme+tcp", "h", 0, "a b/c", "k=&=" },
	{ "nvme+tcp://h/n?path=nvme%2btcp%3a%2f%2fh2%3a1%2fn%3fro%3d1&path=10.0.0.6:4420",
		"nvme+tcp", "h", 0, "n", "path=nvme+tcp://h2:1/n?ro=1&path=10.0.0.6:4420" },
	{ "nvme+tcp://h/n?a=1&&b=c=d&", "nvme+tcp", "h", 0, "n", "a=1&b=c=d" },
	{ "nbd+unix:///disk?socket=/run/x.sock", "nbd+unix", "", 0, "disk", "socket=/run/x.sock" },
	{ "nbd://h", "nbd", "h", 0, "", "" },
	{ "nbd://h:65535/%2fname", "nbd", "h", 65535, "/name", "" },
	{ "file:/tmp/a?b#c%20", "file", "", 0, "/tmp/a?b#c%20", "" },
	{ "file:/tmp/a?ro=1&x", "file", "", 0, "/tmp/a", "ro=1&x=" },
	{ "file:rel?1=2", "file", "", 0, "rel?1=2", "" },
	{ "file:a?b?ro", "file", "", 0, "a?b", "ro=" },
	{ "file:///tmp/a%20b?ro=1", "file", "", 0, "/tmp/a b", "ro=1" },
	{ "file://localhost/tmp/a", "file", "", 0, "/tmp/a", "" },
	{ "/dev/sda", "file", "", 0, "/dev/sda", "" },
	{ "/odd:name?ro=1", "file", "", 0, "/odd:name?ro=1", "" },
	{ "./trtype:x", "file", "", 0, "./trtype:x", "" },
	{ "../x:y", "file", "", 0, "../x:y", "" },
	{ "disk.img", "file", "", 0, "disk.img", "" },
	{ "2024:disk.img", "file", "", 0, "2024:disk.img", "" },
	{ "ram:64M", "ram", "", 0, "64M", "" },
	{ "null:1T?block=4096", "null", "", 0, "1T", "block=4096" },
	{ "-", "-", "", 0, "", "" },
	{ "trtype:RDMA adrfam:IPv4 traddr:10.0.0.1 trsvcid:4420 subnqn:" NQN, "nvme+rdma",
		"10.0.0.1", 4420, NQN, "" },
	{ "trtype:tcp adrfam:ipv6 traddr:fe80::1%eth0 subnqn:n ns:2", "nvme+tcp", "fe80::1%eth0", 0,
		"n/2", "" },
	{ "traddr=10.0.0.1 trtype=TCP hostnqn:h hostaddr:10.0.0.2", "nvme+tcp", "10.0.0.1", 0, "",
		"hostnqn=h&src=10.0.0.2" },
	{ "transport=rdma;traddr=10.0.0.1;trsvcid=4420;nqn=n;host_traddr=10.0.0.2;host_iface=eth0",
		"nvme+rdma", "10.0.0.1", 4420, "n", "src=10.0.0.2&iface=eth0" },
	{ "transport=tcp,traddr=::1,host-traddr=::1", "nvme+tcp", "::1", 0, "", "src=::1" },
	{ "id_ext=0002c903004ed0b2,ioc_guid=0002c903004ed0b3,dgid=fe800000000000000002c903004ed0b1,"
	  "pkey=ffff,service_id=0002c903004ed0b2",
		"srp", "fe80::2:c903:4e:d0b1", 0, "0002c903004ed0b3/0002c903004ed0b2",
		"pkey=ffff&service_id=0002c903004ed0b2" },
	{ "ioc_guid=b,id_ext=a,dest=[fe80::1%eth0]:5555,max_sect=8", "srp+cm", "fe80::1%eth0", 5555,
		"b/a", "max_sect=8" },
	{ "nbd:10.0.0.1:10809:exportname=a/b?c%41", "nbd", "10.0.0.1", 10809, "a/b?c%41", "" },
	{ "nbd:[fd00::1]:10809", "nbd", "fd00::1", 10809, "", "" },
	{ "nbd:unix:/run/x:y&z:exportname=", "nbd+unix", "", 0, "", "socket=/run/x:y&z" },
	{ "iscsi:10.0.0.1::::iqn.a:b", "iscsi", "10.0.0.1", 0, "iqn.a:b", "" },
	{ "iscsi:[fd00::1]:iser:3261:eth1:4000-3:iqn.a:b", "iser", "fd00::1", 3261,
		"iqn.a:b/212992", "iface=eth1" },
};

Test(uri, good_ones)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct diag diag = { 0 };
		struct uri uri;
		char keys[512] = "";
		size_t len = 0;

		cr_assert_eq(
			uri_parse(&uri, good[i].text, &diag), 0, "%s: %s", good[i].text, diag.text);
		for (unsigned k = 0; k < uri.keys; k++)
			len += (size_t)snprintf(keys + len, sizeof(keys) - len, "%s%s=%s",
				k ? "&" : "", uri.key[k].name, uri.key[k].value);
		cr_expect_str_eq(uri.scheme, good[i].scheme, "%s", good[i].text);
		cr_expect_str_eq(uri.host, good[i].host, "%s", good[i].text);
		cr_expect_eq(uri.port, good[i].port, "%s", good[i].text);
		cr_expect_str_eq(uri.path, good[i].path, "%s", good[i].text);
		cr_expect_str_eq(keys, good[i].keys, "%s", good[i].text);
		cr_expect_str_eq(uri.spelling, good[i].text);
		cr_expect_null(uri.user);
		cr_expect_null(uri.password);
	}
}

static const struct {
	const char *text, *words, *hint;
} bad[] = {
	{ "", "URI", "" },
	{ "nvme+tcp://h:0/n", "'0' 1_to_65535", "" },
	{ "nvme+tcp://h:65536", "'65536' 1_to_65535", "" },
	{ "nvme+tcp://h:44x/n", "'44x' 1_to_65535", "" },
	{ "nvme+tcp://h:", "'' 1_to_65535", "" },
	{ "nvme+tcp://h:99999999999999999999/n", "'99999999999999999999' 1_to_65535", "" },
	{ "nvme+tcp://:4420/n", "':4420' host", "" },
	{ "nvme+tcp://fe80::1/n", "'fe80::1' HOST:PORT", "[fe80::1]" },
	{ "nvme+tcp://[fe80::1/n", "'[fe80::1' ']'", "" },
	{ "nvme+tcp://[fe80::1]4420/n", "'4420' ']'", "" },
	{ "nvme+tcp://[10.0.0.1]/n", "'10.0.0.1' IPv6", "" },
	{ "nvme+tcp://[]/n", "'' IPv6", "" },
	{ "nvme+tcp://[fe80::1%]/n", "'fe80::1%' IPv6", "" },
	{ "nvme+tcp://[fe80::1%a:1]/n", "'a:1' interface", "" },
	{ "nvme+tcp://10.0.0.300/n", "'10.0.0.300' IPv4", "" },
	{ "nvme+tcp://10.0.0/n", "'10.0.0' IPv4", "" },
	{ "nvme+tcp://a b/n", "'a_b' host", "" },
	{ "nvme+tcp://h%41/n", "'h%41' host", "" },
	{ "nvme+tcp://h/a%4", "path 'a%4' '%4'", "%25" },
	{ "nvme+tcp://h/a%zz", "path 'a%zz' '%zz'", "%25" },
	{ "nvme+tcp://h/a%00b", "path 'a%00b' '%00'", "%25" },
	{ "nvme+tcp://h/a?k=%", "k_'%'", "%25" },
	{ "nvme+tcp://h/a?=1", "'=1' key", "" },
	{ "nvme+tcp://h/a#b", "'#b' fragment", "%23" },
	{ "file:", "name file", "" },
	{ "file://", "name file", "" },
	{ "file:?ro=1", "name file", "" },
	{ "file://server/x", "'server' file", "" },
	{ "disk:2.img", "'disk:' '//' file", "./disk:2.img" },
	{ "nvme+rdma:10.0.0.1", "'nvme+rdma:' '//' file", "./nvme+rdma:10.0.0.1" },
	{ "trtype:FC traddr:1.2.3.4", "transport 'FC' RDMA TCP", "" },
	{ "trtype:RDMA", "address traddr:ADDRESS", "" },
	{ "traddr:1.2.3.4", "transport trtype:RDMA trtype:TCP", "" },
	{ "id_ext=a,dgid=::1", "id_ext= ioc_guid= dgid= dest=", "" },
	{ "id_ext=a,ioc_guid=b", "id_ext= ioc_guid= dgid= dest=", "" },
	{ "id_ext=a,ioc_guid=b,dgid=::1,dest=h:1", "id_ext= ioc_guid= dgid= dest=", "" },
	{ "id_ext=a,ioc_guid=b,dgid=fe80", "dgid 'fe80' 32", "" },
	{ "id_ext=a,ioc_guid=b,dest=h:x", "'x' 1_to_65535", "" },
	{ "id_ext=a,ioc_guid=b,dest=h:1,trsvcid=1", "NVMe", "" },
	{ "id_ext=a,ioc_guid", "'ioc_guid' NAME:VALUE", "" },
	{ "iscsi:3260", "target", "HOST:PROTOCOL:PORT:LUN:NAME" },
	{ "iscsi:a_b!::::iqn.a:b", "'a_b!' host", "" },
	{ "iser:ibft", "firmware", "--ibft" },
	{ "trtype:RDMA traddr:1.2.3.4 adrfam:IB", "family 'IB' IPv4 IPv6", "" },
	{ "trtype:RDMA traddr:1.2.3.4 adrfam:IPv6", "'1.2.3.4' IPv6", "" },
	{ "trtype:RDMA traddr:1.2.3.4 ns:1", "namespace subnqn:NQN", "" },
	{ "trtype:RDMA traddr:1.2.3.4 traddr:1.2.3.5", "'traddr'", "" },
	{ "trtype:RDMA traddr:1.2.3.4 word", "'word' NAME:VALUE", "" },
	{ "trtype:RDMA traddr:", "'traddr:' NAME:VALUE", "" },
	{ "trtype:RDMA traddr:1.2.3.4 trsvcid:x", "'x' 1_to_65535", "" },
};

Test(uri, bad_ones_quote_the_part_that_is_wrong)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct diag diag = { 0 };
		struct uri uri;

		cr_assert_lt(uri_parse(&uri, bad[i].text, &diag), 0, "%s", bad[i].text);
		diag_says(&diag, DIAG_USAGE, bad[i].text, bad[i].words);
		text_says(diag.hint, bad[i].hint);
		cr_assert_eq(!*diag.hint, !*bad[i].hint, "%s", diag.hint);
	}
}

Test(uri, every_beginning_of_a_good_one_is_harmless)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		for (size_t len = 0; len < strlen(good[i].text); len++) {
			struct diag diag = { 0 };
			struct uri uri;
			char text[512];

			snprintf(text, sizeof(text), "%.*s", (int)len, good[i].text);
			if (uri_parse(&uri, text, &diag))
				cr_expect_eq(diag.code, DIAG_USAGE, "%s", text);
			else
				cr_expect(*uri.scheme, "%s", text);
		}
}

Test(uri, a_file_that_exists_needs_no_mark)
{
	struct uri uri;

	cr_assert_eq(chdir("/tmp"), 0);
	FILE *file = fopen("rdmastor-test:1", "w");

	cr_assert_not_null(file);
	fclose(file);
	int rc = uri_parse(&uri, "rdmastor-test:1", NULL);

	unlink("rdmastor-test:1");
	cr_assert_eq(rc, 0);
	cr_assert_str_eq(uri.scheme, "file");
	cr_assert_str_eq(uri.path, "rdmastor-test:1");
}

Test(uri, what_is_encoded_is_read_as_it_was)
{
	static const char name[] = "a b?c#d%e&f/\xc3\xa4:~";
	char text[URI_MAX] = "nbd://h/", longest[URI_MAX] = "";
	struct uri uri;

	uri_encode(text, name);
	cr_assert_str_eq(text, "nbd://h/a%20b%3Fc%23d%25e%26f/%C3%A4:~");
	cr_assert_eq(uri_parse(&uri, text, NULL), 0);
	cr_assert_str_eq(uri.path, name);
	memset(text, '%', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	uri_encode(longest, text);
	cr_assert_lt(strlen(longest), sizeof(longest), "cut, not overrun");
}

static const struct {
	const char *text, *name, *unit;
} named[] = {
	{ "nvme+tcp://h/nqn.x:a", "nqn.x:a", "" },
	{ "nvme+tcp://h/nqn.x:a/", "nqn.x:a", "" },
	{ "nvme+tcp://h/nqn.x:a/3?ro", "nqn.x:a", "3" },
	{ "nvme+tcp://h/nqn.x:a%2Fb", "nqn.x:a/b", "" },
	{ "nvme+tcp://h/%2fa%2541%2F/1", "/a%41/", "1" },
	{ "nvme+tcp://h/nqn.x:t\xc3\xbc/2", "nqn.x:t\xc3\xbc", "2" },
	{ "nvme+tcp://h", "", "" },
	{ "trtype:TCP traddr:h subnqn:nqn.x:a/b", "nqn.x:a/b", "" },
	{ "trtype:TCP traddr:h subnqn:nqn.x:a?b%41 ns:7", "nqn.x:a?b%41", "7" },
	{ "transport=tcp;traddr=h;nqn=nqn.x:a/1;nsid=2", "nqn.x:a/1", "2" },
	{ "iscsi:h:::4:iqn.x:a#b%41", "iqn.x:a#b%41", "4" },
};

Test(uri, the_name_of_a_target_may_have_any_character)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		char text[URI_MAX], name[64];
		struct uri uri;

		cr_assert_eq(uri_parse(&uri, named[i].text, NULL), 0, "%s", named[i].text);
		cr_assert(uri_name(&uri, name, sizeof(name)));
		cr_expect_str_eq(name, named[i].name, "%s", named[i].text);
		cr_expect_str_eq(uri_unit(&uri), named[i].unit, "%s", named[i].text);
		cr_expect(!*name || !uri_name(&uri, name, strlen(name)), "no room for its end");
		uri_start(text, "nvme+tcp", "h", 0);
		uri_add_target(text, &uri);
		cr_assert_eq(uri_parse(&uri, text, NULL), 0, "%s", text);
		cr_assert(uri_name(&uri, name, sizeof(name)));
		cr_expect_str_eq(name, named[i].name, "%s", text);
		cr_expect_str_eq(uri_unit(&uri), named[i].unit, "%s", text);
	}
}

Test(uri, a_host_and_port_are_printed_as_they_are_read)
{
	char text[URI_MAX];
	struct uri uri;

	uri_start(text, "iser", "fe80::1%eth0", 3260);
	uri_add_name(text, "iqn.x:a/b");
	uri_add_unit(text, 18446744073709551615u);
	uri_add_key(text, "user", "a&b");
	uri_add_key(text, "iface", "eth0");
	cr_assert_str_eq(text, "iser://[fe80::1%eth0]:3260/iqn.x:a%2Fb/"
			       "18446744073709551615?user=a%26b&iface=eth0");
	cr_assert_eq(uri_parse(&uri, text, NULL), 0);
	cr_assert_str_eq(uri.host, "fe80::1%eth0");
	cr_assert_eq(uri.port, 3260);
	uri_start(text, "nbd", "h", 0);
	cr_assert_str_eq(text, "nbd://h");
}

Test(uri, too_long_and_too_many)
{
	struct diag diag = { 0 };
	struct uri uri;
	char text[URI_MAX + 2];

	memset(text, 'a', sizeof(text));
	text[URI_MAX] = 0;
	cr_assert_eq(uri_parse(&uri, text, &diag), -ENAMETOOLONG);
	diag_says(&diag, DIAG_USAGE, NULL, "URI 2047_bytes");
	text[URI_MAX - 1] = 0;
	cr_assert_eq(uri_parse(&uri, text, &diag), 0, "%s", diag.text);
	cr_assert_eq(strlen(uri.path), URI_MAX - 1);

	memset(text, '&', sizeof(text));
	strcpy(text, "ram:1M?");
	for (unsigned i = 0; i <= URI_KEYS; i++)
		strcat(text, "k&");
	cr_assert_eq(uri_parse(&uri, text, &diag), -E2BIG);
	diag_says(&diag, DIAG_USAGE, NULL, "24_keys 'k'");

	/* Each key needs two more bytes than it has in the text: the storage ends first */
	strcpy(text, "ram:");
	memset(text + 4, 'x', URI_MAX - 10);
	strcpy(text + URI_MAX - 10, "?a&b&c&d");
	cr_assert_eq(uri_parse(&uri, text, &diag), -ENAMETOOLONG);
}

static const struct {
	const char *text, *user, *password, *spelling;
} secrets[] = {
	{ "iscsi://joe%s:e%cret@h:3260/iqn.x/1", "joe", "s:e%cret", "iscsi://joe@h:3260/iqn.x/1" },
	{ "iser://joe%@h/x", "joe", "", "iser://joe@h/x" },
	{ "iscsi://joe@h/x", "joe", NULL, "iscsi://joe@h/x" },
	{ "iscsi://joe:a%40b@h/x", "joe", "a@b", "iscsi://joe@h/x" },
	{ "nvme+tcp://joe%40corp:p%3aw@h/x", "joe@corp", "p:w", "nvme+tcp://joe%40corp@h/x" },
	{ "nvme+tcp://joe:a@b@h/x", "joe", "a@b", "nvme+tcp://joe@h/x" },
	{ "nvme+tcp://@h/x", "", NULL, "nvme+tcp://@h/x" },
	{ "iscsi:joe:ab:disk:cd@h::::iqn.a:b", "joe", "ab", "iscsi:joe@h::::iqn.a:b" },
	{ "iscsi:joe@h::::iqn.a:b", "joe", NULL, "iscsi:joe@h::::iqn.a:b" },
};

Test(uri, passwords_are_read_but_not_printed)
{
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		struct diag diag = { 0 };
		struct uri uri;

		cr_assert_eq(uri_parse(&uri, secrets[i].text, &diag), 0, "%s: %s", secrets[i].text,
			diag.text);
		cr_expect_str_eq(uri.user, secrets[i].user);
		cr_expect_eq(!uri.password, !secrets[i].password);
		if (uri.password && secrets[i].password)
			cr_expect_str_eq(uri.password, secrets[i].password);
		cr_expect_str_eq(uri.spelling, secrets[i].spelling);
		cr_expect_str_eq(uri.host, "h");
	}
}

Test(uri, a_wrong_password_is_not_printed_either)
{
	struct diag diag = { 0 };
	struct uri uri;

	cr_assert_lt(uri_parse(&uri, "nvme+tcp://joe:hush%@h/x", &diag), 0);
	diag_says(&diag, DIAG_USAGE, "nvme+tcp://joe@h/x", "password '%'");
	cr_assert_lt(uri_parse(&uri, "nvme+tcp://joe:hush@h:x/y", &diag), 0);
	cr_assert_not(strstr(diag.text, "hush") || strstr(diag.object, "hush") ||
		      strstr(diag.hint, "hush"));
}

Test(uri, secrets_are_cut_out_of_any_text)
{
	static const struct {
		const char *text, *left;
	} rows[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "--path=iscsi://u%pw@h/x", "--path=iscsi://u@h/x" },
		{ "iscsi://u%a@h/ iscsi://v%b@i/ nbd://w:c@j/",
			"iscsi://u@h/ iscsi://v@i/ nbd://w@j/" },
		{ "iscsi://u%a&b c@h/", "iscsi://u@h/" },
		{ "nvme-iser://u%pw@h/", "nvme-iser://u@h/" },
		{ "nvme+tcp://h/n?path=iscsi%3A%2F%2Fu%25pw%40h%2Fx&ro",
			"nvme+tcp://h/n?path=&ro" },
		{ "nvme+tcp://h/n?path=nbd://u:pw@h2/x&path=nbd://h3/x",
			"nvme+tcp://h/n?path=nbd://u@h2/x&path=nbd://h3/x" },
		{ "nvme+tcp://h/n?dhchap-secret=DHHC-1:00:x&secret-file=/etc/s",
			"nvme+tcp://h/n?dhchap-secret=&secret-file=/etc/s" },
		{ "-S DHHC-1:00:Zm9v/b+=: -v", "-S DHHC-1:00: -v" },
		{ "'dhchap_secret=DHHC-1:03:Zm9v', NVMeTLSkey-1:01:YmFy:",
			"'dhchap_secret=DHHC-1:03:', NVMeTLSkey-1:01:" },
		{ "DHHC-1:4420", "DHHC-1:4420" },
		{ "nvme+tcp://h:4420/n@x", "nvme+tcp://h:4420/n@x" },
		{ "nvme+tcp://[::1]:4420/n", "nvme+tcp://[::1]:4420/n" },
		{ "://:@", "://@" },
		{ "a?=%", "a?=%" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[128] = { 0 };
		size_t len = strlen(rows[i].text), left = strlen(rows[i].left);

		strcpy(text, rows[i].text);
		uri_hide(text);
		cr_expect_str_eq(text, rows[i].left);
		for (size_t k = left; k < len; k++)
			cr_expect_eq(
				text[k], 0, "what was cut out of '%s' is zeroed", rows[i].text);
	}
}

Test(uri, keys_are_found_by_name)
{
	struct diag diag = { 0 };
	struct uri uri;
	uint32_t queues = 1, depth = 128, ms = 5;
	bool ro = false, fast = true;

	cr_assert_eq(uri_parse(&uri,
			     "ram:1M?queues=4&path=a&path=b&ro&fast=no&secret_file=x&timeout=0.5",
			     &diag),
		0);
	cr_assert_eq(uri_u32(&uri, "queues", 1, 64, &queues, &diag), 0);
	cr_assert_eq(queues, 4);
	cr_assert_eq(uri_u32(&uri, "depth", 1, 64, &depth, &diag), 0);
	cr_assert_eq(depth, 128, "kept");
	cr_assert_str_eq(uri_value_nth(&uri, "path", 0), "a");
	cr_assert_str_eq(uri_value_nth(&uri, "path", 1), "b");
	cr_assert_null(uri_value_nth(&uri, "path", 2));
	cr_assert_eq(uri_bool(&uri, "ro", &ro, &diag), 0);
	cr_assert(ro);
	cr_assert_eq(uri_bool(&uri, "fast", &fast, &diag), 0);
	cr_assert_not(fast);
	cr_assert_str_eq(uri_value(&uri, "secret-file"), "x");
	cr_assert_eq(uri_msec(&uri, "timeout", &ms, &diag), 0);
	cr_assert_eq(ms, 500);
	cr_assert_null(uri_value(&uri, "none"));
	cr_assert_eq(uri_done(&uri, &diag), 0);
}

Test(uri, a_wrong_value_names_its_key)
{
	static const char text[] = "ram:1M?queues=0&ro=maybe&timeout=x&depth=1x";
	struct diag diag = { 0 };
	struct uri uri;
	uint32_t n;
	bool b;

	cr_assert_eq(uri_parse(&uri, text, &diag), 0);
	cr_assert_lt(uri_u32(&uri, "queues", 1, 64, &n, &diag), 0);
	diag_says(&diag, DIAG_USAGE, text, "queues= 1_to_64");
	cr_assert_lt(uri_u32(&uri, "depth", 1, 64, &n, &diag), 0);
	diag_says(&diag, DIAG_USAGE, text, "depth= '1x'");
	cr_assert_lt(uri_bool(&uri, "ro", &b, &diag), 0);
	diag_says(&diag, DIAG_USAGE, text, "ro= 'maybe'");
	cr_assert_lt(uri_msec(&uri, "timeout", &n, &diag), 0);
	diag_says(&diag, DIAG_USAGE, text, "timeout= 'x'");
}

Test(uri, a_key_nobody_asked_for_is_an_error)
{
	static const struct {
		const char *text, *words, *hint;
	} rows[] = {
		{ "ram:1M?queues=4&timeuot=3", "key 'timeuot'", "timeout=" },
		{ "ram:1M?colour=red", "key 'colour'", "queues timeout" },
		{ "ram:1M?queues=4&queues=5", "key 'queues'", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diag diag = { 0 };
		struct uri uri;

		cr_assert_eq(uri_parse(&uri, rows[i].text, &diag), 0);
		uri_value(&uri, "queues");
		uri_value(&uri, "timeout");
		cr_assert_eq(uri_done(&uri, &diag), -EINVAL);
		diag_says(&diag, DIAG_USAGE, rows[i].text, rows[i].words);
		text_says(diag.hint, rows[i].hint);
		cr_assert_eq(!*diag.hint, !*rows[i].hint, "%s", diag.hint);
	}
}

Test(uri, a_key_that_is_refused_by_name_is_not_a_known_one)
{
	struct diag diag = { 0 };
	struct uri uri;

	cr_assert_eq(uri_parse(&uri, "ram:1M?tls_type=x&" URI_UNKNOWN_KEY, &diag), 0);
	cr_assert(uri_has(&uri, "tls-type"));
	cr_assert(!uri_has(&uri, "queues"));
	cr_assert_eq(uri.known.count, 0);
	cr_assert(uri_value(&uri, "tls-type"));
	cr_assert_eq(uri.known.count, 1);
	cr_assert_str_eq(uri.known.name[0], "tls-type");
	cr_assert_eq(uri_done(&uri, &diag), -EINVAL, "whatever was asked for");
}

static void keys_of_a_reader(const char *text, struct uri_key_names *known)
{
	struct uri uri;

	cr_assert(!strchr(text, '='), "a value is read: %s", text);
	cr_assert_eq(uri_parse(&uri, text, NULL), 0);
	uri_value(&uri, "queues");
	uri_value(&uri, "secret-file");
	*known = uri.known;
}

static void no_keys(const char *text, struct uri_key_names *known)
{
	(void)text;
	(void)known;
}

/* A hint names whole keys only. */
Test(uri, many_known_keys)
{
	static char name[URI_KEY_NAMES][24];
	struct diag diag = { 0 };
	struct uri uri;
	const char *last;

	cr_assert_eq(uri_parse(&uri, "ram:1M?zzz=1", NULL), 0);
	for (unsigned i = 0; i < URI_KEY_NAMES; i++) {
		snprintf(name[i], sizeof(name[i]), "a-key-with-number-%u", i);
		uri_value(&uri, name[i]);
	}
	cr_assert_eq(uri_done(&uri, &diag), -EINVAL);
	last = strrchr(diag.hint, ',');
	cr_assert_str_eq(last, ", ...");
	cr_assert(strstr(diag.hint, "a-key-with-number-0, a-key-with-number-1, "));
	cr_assert_geq(strlen(diag.hint), sizeof(diag.hint) - 32);
}

Test(uri, keys_are_checked_without_reading_their_values)
{
	static const char *const valid[] = { "nvme+tcp://h/x",
		"nvme+tcp://h/x?queues=2&secret_file=/run/pipe", "nvme+tcp://h/x?queues=none" };
	struct diag diag = { 0 };

	for (unsigned i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		cr_assert_eq(uri_check_keys(valid[i], keys_of_a_reader, &diag), 0, "%s: %s",
			valid[i], diag.text);
	cr_assert_eq(uri_check_keys("nvme+tcp://h/x?crc=0", keys_of_a_reader, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, "nvme+tcp://h/x?crc=0", "crc");
	diag = (struct diag){ 0 };
	cr_assert_eq(uri_check_keys("nvme+tcp://h/x?queus=1", keys_of_a_reader, &diag), -EINVAL);
	text_says(diag.hint, "queues=");
	cr_assert_eq(uri_check_keys("nvme+tcp://h/x?queus=1", no_keys, &diag), 0);
	cr_assert_eq(uri_check_keys("nvme+tcp://h/x?queus=1", NULL, &diag), 0);
}

Test(uri, keys_are_added_to_a_text)
{
	static const char *const names[] = { "rdma", "src", "socket", NULL };
	struct diag diag = { 0 };
	char text[URI_MAX] = "x://h/n";
	struct uri uri;

	cr_assert_eq(uri_parse(&uri, "nbd://h/n?socket=/a b%26c&depth=4&rdma=iwarp", &diag), 0);
	uri_add_keys(text, &uri, names);
	cr_assert_str_eq(text, "x://h/n?rdma=iwarp&socket=/a%20b%26c");
	cr_assert_eq(uri_parse(&uri, text, &diag), 0);
	cr_assert_str_eq(uri_value(&uri, "socket"), "/a b&c");

	snprintf(text, sizeof(text), "x://h/n");
	cr_assert_eq(uri_parse(&uri, "nbd://h/n?depth=4", &diag), 0);
	uri_add_keys(text, &uri, names);
	cr_assert_str_eq(text, "x://h/n");
}

Test(uri, keys_that_do_not_fit_are_cut_off)
{
	static const char *const names[] = { "src", "socket", NULL };
	struct {
		char text[URI_MAX];
		char after[8];
	} room = { .after = "after" };
	struct diag diag = { 0 };
	struct uri uri;

	cr_assert_eq(uri_parse(&uri, "nbd://h/n?src=%20%20&socket=y", &diag), 0);
	for (size_t len = URI_MAX - 30; len < URI_MAX; len++) {
		memset(room.text, 'x', len);
		room.text[len] = 0;
		uri_add_keys(room.text, &uri, names);
		cr_assert_eq(strlen(room.text), len + 20 < URI_MAX ? len + 20 : URI_MAX - 1);
		cr_assert_str_eq(room.after, "after");
	}
}
