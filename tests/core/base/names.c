/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Names by the examples of their standards: what is taken whole, what is refused and leaves the
 * result alone, and how they are printed. */
#include "names.h"
#include <criterion/criterion.h>
#include <string.h>

static const uint8_t rfc4122[16] = { 0xf8, 0x1d, 0x4f, 0xae, 0x7d, 0xec, 0x11, 0xd0, 0xa7, 0x65,
	0x00, 0xa0, 0xc9, 0x1e, 0x6b, 0xf6 };
#define RFC4122 "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

static char longest[300];

static const char *of_length(const char *begin, size_t len)
{
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, begin, strlen(begin));
	longest[len] = 0;
	return longest;
}

Test(names, uuids)
{
	static const char *const good[] = { RFC4122, "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
		"f81d4fae7dec11d0a76500a0c91e6bf6", "f8-1d4fae7dec11d0a76500a0c91e6b-f6" };
	static const char *const bad[] = { "", "-", "f81d4fae", RFC4122 "0", RFC4122 "-",
		"-" RFC4122, " " RFC4122, RFC4122 "\n", "f81d4fae--7dec-11d0-a765-00a0c91e6bf6",
		"f-81d4fae7dec11d0a76500a0c91e6bf6", "g81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf", "{" RFC4122 "}", "urn:uuid:" RFC4122 };
	char text[UUID_TEXT], nqn[NQN_UUID_TEXT];
	uint8_t uuid[16];

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++) {
		memset(uuid, 0x55, sizeof(uuid));
		cr_assert(uuid_parse(uuid, good[i]), "%s", good[i]);
		cr_assert_arr_eq(uuid, rfc4122, 16, "%s", good[i]);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		memset(uuid, 0x55, sizeof(uuid));
		cr_assert_not(uuid_parse(uuid, bad[i]), "%s", bad[i]);
		for (unsigned j = 0; j < sizeof(uuid); j++)
			cr_assert_eq(uuid[j], 0x55, "%s: %u", bad[i], j);
	}
	cr_assert_str_eq(uuid_text(text, rfc4122), RFC4122);
	cr_assert_str_eq(nqn_of_uuid(nqn, rfc4122), "nqn.2014-08.org.nvmexpress:uuid:" RFC4122);
	cr_assert_eq(strlen(nqn), sizeof(nqn) - 1);
	memset(uuid, 0xff, sizeof(uuid));
	uuid_mark_random(uuid);
	cr_assert_str_eq(uuid_text(text, uuid), "ffffffff-ffff-4fff-bfff-ffffffffffff");
	memset(uuid, 0, sizeof(uuid));
	uuid_mark_random(uuid);
	cr_assert_str_eq(uuid_text(text, uuid), "00000000-0000-4000-8000-000000000000");
}

Test(names, iscsi_names_in_capitals)
{
	char name[NAME_PLAIN_MAX + 1];

	iscsi_name_copy(name, "IQN.2024-01.COM.Example:Disk\xc3\x9c");
	cr_assert_str_eq(name, "iqn.2024-01.com.example:disk\xc3\x9c");
	iscsi_name_copy(name, "iqn.2024-01.com.example:Disk");
	cr_assert_str_eq(name, "iqn.2024-01.com.example:Disk", "as its target may have it");
	iscsi_name_copy(name, "KUMO-Disk");
	cr_assert_str_eq(name, "KUMO-Disk");
	iscsi_name_copy(name, of_length("NAA.", NAME_PLAIN_MAX + 9));
	cr_assert_eq(strlen(name), NAME_PLAIN_MAX);
}

Test(names, nqns)
{
	static const char *const good[] = { "nqn.2014-08.org.nvmexpress.discovery",
		"nqn.2014-08.com.example:nvme:nvm-subsystem-sn-d78432", "nqn.x", "nqn.\xc3\xbc" };
	static const char *const bad[] = { "", "nqn", "nqn.", "NQN.2014-08.org", " nqn.x",
		"iqn.2014-08.org", "nqn.a b", "nqn.a\t", "nqn.a\n", "nqn.a\x7f", "nqn.a\x01" };

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_assert(nqn_valid(good[i]), "%s", good[i]);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(nqn_valid(bad[i]), "%s", bad[i]);
	cr_assert(nqn_valid(of_length("nqn.", 223)));
	cr_assert_not(nqn_valid(of_length("nqn.", 224)));
}

Test(names, iscsi_names)
{
	/* RFC 3720, 3.2.6.3; RFC 7143, 4.2.7.5 and 4.2.7.6 */
	static const char *const good[] = { "iqn.2001-04.com.acme:storage.tape.sys1.xyz",
		"iqn.1998-03.com.disk-vendor.diskarrays.sn.45678",
		"iqn.2000-01.com.gateways.yourtargets.24", "eui.02004567A425678D",
		"naa.52004567BA64678D", "naa.62004567BA64678D0123456789ABCDEF" };
	static const char *const bad[] = { "", "iqn.", "eui.", "naa.", "iqn",
		"IQN.2001-04.com.acme", "t10.x", "iqn.2001-04.com.acme x", "iqn.a\n", "eui.\x7f",
		"nqn.2014-08.org" };
	static const char *const plain[] = { "a", "host", "\xc3\xbc" };
	static const char *const not_plain[] = { "", " ", "a b", "\t", "a\x1f", "\x7f" };

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_assert(iscsi_name_valid(good[i]), "%s", good[i]);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(iscsi_name_valid(bad[i]), "%s", bad[i]);
	cr_assert(iscsi_name_valid(of_length("iqn.", 223)));
	cr_assert_not(iscsi_name_valid(of_length("iqn.", 224)));
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		cr_assert(name_is_plain(plain[i]), "%s", plain[i]);
	for (unsigned i = 0; i < sizeof(not_plain) / sizeof(*not_plain); i++)
		cr_assert_not(name_is_plain(not_plain[i]), "%s", not_plain[i]);
	cr_assert(name_is_plain(of_length("", 223)));
	cr_assert_not(name_is_plain(of_length("", 224)));
}

Test(names, gids)
{
	static const uint8_t expected[16] = { 0xfe, 0x80, [8] = 0, 0x02, 0xc9, 0x03, 0, 0xa0, 0xb0,
		0xc0 };
	static const char *const good[] = { "fe80::2:c903:a0:b0c0", "FE80:0:0:0:2:C903:A0:B0C0",
		"fe80:0000:0000:0000:0002:c903:00a0:b0c0", "fe800000000000000002c90300a0b0c0",
		"FE800000000000000002C90300A0B0C0" };
	static const char *const bad[] = { "", "nine", "10.0.0.1", "fe80::1%eth0", "[fe80::1]",
		"fe800000000000000002c90300a0b0c", "fe800000000000000002c90300a0b0c00",
		"0xfe800000000000000002c90300a0b0c0", "fe800000-0000-0000-0002-c90300a0b0c0",
		"fe80::2:c903:a0:b0c0 " };
	char text[GID_TEXT], hex[33];
	uint8_t gid[16];

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++) {
		cr_assert(gid_parse(gid, good[i]), "%s", good[i]);
		cr_assert_arr_eq(gid, expected, 16, "%s", good[i]);
	}
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(gid_parse(gid, bad[i]), "%s", bad[i]);
	cr_assert_str_eq(gid_text(text, expected), good[2]);
	cr_assert_str_eq(hex_text(hex, expected, 16), good[3]);
	cr_assert_str_eq(hex_text(hex, expected, 0), "");
}

Test(names, hexadecimal_numbers)
{
	static const char *const bad[] = { "", "0x12", "-1", "+1", " 1", "1 ", "1,pkey=1", "g",
		"0002c90300A0B0C00" };
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	uint64_t value = 7;

	cr_assert(hex_parse(&value, "0002c90300A0B0C0", 16));
	cr_assert_eq(value, 0x0002c90300a0b0c0);
	cr_assert(hex_parse(&value, "ffffffffffffffff", 16));
	cr_assert_eq(value, UINT64_MAX);
	cr_assert(hex_parse(&value, "1", 16));
	cr_assert_eq(value, 1);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(hex_parse(&value, bad[i], 16), "%s", bad[i]);
	cr_assert_not(hex_parse(&value, "10000", 4));
	cr_assert_eq(value, 1, "untouched");
	for (int c = 1; c < 256; c++) {
		const char *at = strchr(digits, c);

		cr_assert_eq(hex_digit((char)c), at ? (int)(at - digits) % 16 : -1, "%d", c);
	}
	cr_assert_eq(hex_digit(0), -1);
}

/* SAM-5, 4.7: peripheral device, flat space, extended flat space and a second level. */
Test(names, luns)
{
	static const struct {
		uint8_t lun[8];
		uint64_t number;
	} wire[] = { { { 0 }, 0 }, { { 0, 5 }, 5 }, { { 0x40, 0x01 }, 16385 },
		{ { 0xd2, 0x01, 0x23, 0x45 }, 0x2345d201 },
		{ { 1, 2, 3, 4, 5, 6, 7, 8 }, 0x0708050603040102 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, UINT64_MAX } };
	static const struct {
		const char *text;
		uint64_t lun;
	} good[] = { { "0", 0 }, { "12", 12 }, { "16384", 16384 }, { "0x10", 16 }, { "0-0-0-0", 0 },
		{ "0001-0000-0000-0000", 1 }, { "4186-9", 0x94186 },
		{ "6734-9-156f-127", 0x0127156f00096734 },
		{ "4752-3A4F-6b7e-2f99", 0x2f996b7e3a4f4752 },
		{ "18446744073709551614", UINT64_MAX - 1 } };
	static const char *const bad[] = { "", "x", "-", "1-", "-1", "1--2", "12345-1", "1-12345",
		"1-2-3-4-5", "1-2-3-4-", "1-g", "1- 2", "18446744073709551615",
		"ffff-ffff-ffff-ffff" };
	uint64_t lun = 7;

	for (unsigned i = 0; i < sizeof(wire) / sizeof(*wire); i++)
		cr_assert_eq(lun_number(wire[i].lun), wire[i].number, "%u", i);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(lun_parse(&lun, bad[i]), "%s", bad[i]);
	cr_assert_eq(lun, 7, "untouched");
	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++) {
		cr_assert(lun_parse(&lun, good[i].text), "%s", good[i].text);
		cr_assert_eq(lun, good[i].lun, "%s", good[i].text);
	}
}
