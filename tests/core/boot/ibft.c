/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iBFT in sysfs and in ACPI: both give the same result. A damaged table is an error. */
#include "uapi/ibft.h"
#include "ibft.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct ibft ibft;
static struct diag why;

struct built { /* one NIC of IPv4, one of IPv6, a target behind each */
	struct ibft_header header;
	struct ibft_control control;
	struct ibft_initiator initiator;
	struct ibft_nic nic[2];
	struct ibft_target target[2];
	char texts[300];
	size_t used;
};

static struct ibft_text text(struct built *b, const char *words)
{
	struct ibft_text t = { put_le16((uint16_t)strlen(words)),
		put_le16((uint16_t)(offsetof(struct built, texts) + b->used)) };

	strcpy(b->texts + b->used, words);
	b->used += strlen(words) + 1;
	return t;
}

static struct ibft_part part(uint8_t id, uint8_t index, uint8_t flags, size_t len)
{
	return (struct ibft_part){ .id = id,
		.version = 1,
		.index = index,
		.flags = flags,
		.length = put_le16((uint16_t)len) };
}

static void v4(uint8_t addr[16], uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	const uint8_t bytes[16] = { [10] = 0xff, [11] = 0xff, a, b, c, d };

	memcpy(addr, bytes, 16);
}

static le16 at(size_t offset)
{
	return put_le16((uint16_t)offset);
}

static struct built build(void)
{
	struct built b = { 0 };

	memcpy(b.header.signature, "iBFT", 4);
	b.header.length = put_le32(offsetof(struct built, used));
	b.control = (struct ibft_control){ part(IBFT_CONTROL, 0, 0, sizeof(b.control)), at(0),
		at(offsetof(struct built, initiator)), at(offsetof(struct built, nic[0])),
		at(offsetof(struct built, target[0])), at(offsetof(struct built, nic[1])),
		at(offsetof(struct built, target[1])) };
	b.initiator.part = part(IBFT_INITIATOR, 0, 3, sizeof(b.initiator));
	b.initiator.name = text(&b, "iqn.2024-01.lab:init");
	for (uint8_t i = 0; i < 2; i++) {
		b.nic[i].part = part(IBFT_NIC, i, 3, sizeof(b.nic[i]));
		b.nic[i].mac[0] = 0x52;
		b.nic[i].mac[5] = i;
		b.nic[i].prefix = i ? 64 : 24;
		b.target[i].part = part(IBFT_TARGET, i, 3, sizeof(b.target[i]));
		b.target[i].port = put_le16(3260);
		b.target[i].nic = i;
		b.target[i].name = text(&b, i ? "iqn.2024-01.lab:t1" : "iqn.2024-01.lab:t0");
	}
	v4(b.nic[0].addr, 10, 0, 0, 2);
	v4(b.nic[0].gateway, 10, 0, 0, 254);
	v4(b.nic[0].dns[0], 10, 0, 0, 53);
	b.nic[0].origin = IBFT_ORIGIN_DHCP;
	b.nic[0].vlan = put_le16(5);
	b.nic[1].addr[0] = 0xfd;
	b.nic[1].addr[15] = 2;
	v4(b.target[0].addr, 10, 0, 0, 1);
	b.target[0].lun[1] = 0x1c;
	b.target[0].chap_type = 2;
	b.target[0].user = text(&b, "joe");
	b.target[0].secret = text(&b, "longenough");
	b.target[0].target_user = text(&b, "disk");
	b.target[0].target_secret = text(&b, "anothergood");
	b.target[1].addr[0] = 0xfd;
	b.target[1].addr[15] = 1;
	return b;
}

static void check_all(void)
{
	const struct ibft_nic_info *nic;
	struct iscsi_boot_target entry;

	cr_assert_str_eq(ibft.initiator, "iqn.2024-01.lab:init");
	cr_assert_eq(ibft.nics, 2);
	cr_assert_eq(ibft.targets, 2);
	cr_assert_str_eq(ibft.target[0].name, "iqn.2024-01.lab:t0");
	cr_assert_str_eq(ibft.target[0].lun, "01c000000");
	cr_assert_eq(ibft.target[0].number, 0x1c);
	cr_assert_eq(ibft.target[0].chap_type, 2);
	cr_assert_str_eq(ibft.target[1].addr, "fd00:0000:0000:0000:0000:0000:0000:0001");
	nic = kernel_ibft_nic(&ibft, &ibft.target[0]);
	cr_assert(nic && nic->index == 0 && nic->origin == IBFT_ORIGIN_DHCP && nic->prefix == 24);
	cr_assert_str_eq(nic->addr, "10.0.0.2");
	cr_assert_str_eq(nic->mask, "255.255.255.0");
	cr_assert_str_eq(nic->gateway, "10.0.0.254");
	cr_assert_str_eq(nic->dns[0], "10.0.0.53");
	cr_assert_str_eq(nic->dns[1], "");
	cr_assert_str_eq(nic->vlan, "5");
	cr_assert_str_eq(nic->mac, "52:00:00:00:00:00");
	cr_assert_str_eq(nic->netdev, "eth0");
	nic = kernel_ibft_nic(&ibft, &ibft.target[1]);
	cr_assert_str_eq(nic->addr, "fd00:0000:0000:0000:0000:0000:0000:0002");
	kernel_ibft_boot_target(&ibft, &ibft.target[0], &entry);
	cr_assert(!strcmp(entry.host, "10.0.0.1") && entry.port == 3260 && entry.lun == 0x1c &&
		  !entry.iser && entry.tpgt == -1);
	cr_assert_str_eq(entry.user[0], "joe");
	cr_assert_str_eq(entry.secret[0], "longenough");
	cr_assert_str_eq(entry.user[1], "disk");
	cr_assert_str_eq(entry.secret[1], "anothergood");
	cr_assert_str_eq(ibft.target[1].user[0], "");
}

static void put_table(const struct tree *tree, const struct built *b)
{
	int fd;

	tree_file(tree, "sys/firmware/acpi/tables/iBFT", "");
	fd = openat(tree->root, "sys/firmware/acpi/tables/iBFT", O_WRONLY);
	cr_assert_eq(
		write(fd, b, offsetof(struct built, used)), (ssize_t)offsetof(struct built, used));
	close(fd);
}

static void put_net(const struct tree *tree)
{
	tree_file(tree, "sys/class/net/eth0/address", "52:00:00:00:00:00\n");
	tree_file(tree, "sys/class/net/eth0/type", "1\n");
	tree_file(tree, "sys/class/net/lo/address", "00:00:00:00:00:00\n");
	tree_file(tree, "sys/class/net/lo/type", "772\n");
}

Test(ibft, from_acpi)
{
	struct tree tree = tree_new();
	struct built b = build();

	put_net(&tree);
	put_table(&tree, &b);
	cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), 0, "%s", why.text);
	text_says(ibft.from, "ACPI iBFT");
	check_all();
	tree_free(&tree);
}

/* A bridge or a VLAN has the address of the device below. */
Test(ibft, the_device_among_those_of_one_address)
{
	static const char *const names[] = { "a0", "eth0.5", "eth0", "br0", "z0" };
	struct tree tree = tree_new();
	struct built b = build();
	char path[60];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "sys/class/net/%s/address", names[i]);
		tree_file(&tree, path, "52:00:00:00:00:00\n");
		snprintf(path, sizeof(path), "sys/class/net/%s/type", names[i]);
		tree_file(&tree, path, "1\n");
	}
	tree_dir(&tree, "sys/class/net/eth0/device");
	put_table(&tree, &b);
	cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), 0, "%s", why.text);
	cr_assert_str_eq(ibft.nic[0].netdev, "eth0");
	tree_free(&tree);
}

Test(ibft, a_firmware_that_counts_the_nul)
{
	struct built b = build();

	b.initiator.name.length = put_le16(get_le16(b.initiator.name.length) + 1);
	b.target[0].secret.length = put_le16(get_le16(b.target[0].secret.length) + 1);
	cr_assert_eq(kernel_ibft_table(&b, offsetof(struct built, used), &ibft, &why), 0, "%s",
		why.text);
	cr_assert_str_eq(ibft.initiator, "iqn.2024-01.lab:init");
	cr_assert_str_eq(ibft.target[0].secret[0], "longenough");
}

static void put(const struct tree *tree, const char *name, const char *words)
{
	char path[100];

	snprintf(path, sizeof(path), "sys/firmware/ibft/%s", name);
	tree_file(tree, path, words);
}

/* What iscsi_ibft of Linux 6.12 shows of the same. */
Test(ibft, from_the_kernel)
{
	static const char *const files[][2] = { { "initiator/initiator-name",
							"iqn.2024-01.lab:init\n" },
		{ "ethernet0/index", "0\n" }, { "ethernet0/flags", "3\n" },
		{ "ethernet0/ip-addr", "10.0.0.2\n" }, { "ethernet0/prefix-len", "24\n" },
		{ "ethernet0/subnet-mask", "255.255.255.0\n" }, { "ethernet0/origin", "3\n" },
		{ "ethernet0/gateway", "10.0.0.254\n" }, { "ethernet0/primary-dns", "10.0.0.53\n" },
		{ "ethernet0/vlan", "5\n" }, { "ethernet0/mac", "52:00:00:00:00:00\n" },
		{ "ethernet1/index", "1\n" }, { "ethernet1/flags", "3\n" },
		{ "ethernet1/ip-addr", "fd00:0000:0000:0000:0000:0000:0000:0002\n" },
		{ "ethernet1/prefix-len", "64\n" }, { "ethernet1/mac", "52:00:00:00:00:01\n" },
		{ "target1/index", "1\n" }, { "target1/flags", "3\n" },
		{ "target1/ip-addr", "fd00:0000:0000:0000:0000:0000:0000:0001\n" },
		{ "target1/port", "3260\n" }, { "target1/lun", "00000000\n" },
		{ "target1/chap-type", "0\n" }, { "target1/nic-assoc", "1\n" },
		{ "target1/target-name", "iqn.2024-01.lab:t1\n" }, { "target0/index", "0\n" },
		{ "target0/flags", "3\n" }, { "target0/ip-addr", "10.0.0.1\n" },
		{ "target0/port", "3260\n" }, { "target0/lun", "01c000000\n" },
		{ "target0/chap-type", "2\n" }, { "target0/nic-assoc", "0\n" },
		{ "target0/target-name", "iqn.2024-01.lab:t0\n" }, { "target0/chap-name", "joe\n" },
		{ "target0/chap-secret", "longenough\n" }, { "target0/rev-chap-name", "disk\n" },
		{ "target0/rev-chap-name-secret", "anothergood\n" }, { "target2/index", "2\n" },
		{ "target2/flags", "0\n" },
		{ "target2/target-name", "iqn.2024-01.lab:not-valid\n" },
		{ "target2/ip-addr", "10.0.0.9\n" } };
	struct tree tree = tree_new();

	tree_file(&tree, "sys/class/net/eth9/address", "52:00:00:00:00:00\n");
	tree_file(&tree, "sys/class/net/eth9/type", "1\n");
	tree_dir(&tree, "sys/firmware/ibft/ethernet0/device/net/eth0");
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		put(&tree, files[i][0], files[i][1]);
	cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), 0, "%s", why.text);
	cr_assert_str_eq(ibft.from, "/sys/firmware/ibft");
	check_all();
	tree_free(&tree);
}

Test(ibft, luns_as_the_kernel_writes_them)
{
	static const struct {
		const char *words;
		uint64_t lun;
	} row[] = { { "00000000", 0 }, { "01000000", 1 }, { "0ff000000", 255 },
		{ "4034000000", 0x4034 }, { "10000000", 0x100 }, { "", 0 }, { "0100000012", 0 } };
	struct tree tree = tree_new();

	put(&tree, "initiator/initiator-name", "iqn.2024-01.lab:init\n");
	put(&tree, "target0/flags", "1\n");
	put(&tree, "target0/target-name", "iqn.2024-01.lab:t0\n");
	put(&tree, "target0/ip-addr", "10.0.0.1\n");
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		put(&tree, "target0/lun", row[i].words);
		cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), 0);
		cr_assert_eq(ibft.targets, 1);
		cr_assert_eq(ibft.target[0].number, row[i].lun, "%s", row[i].words);
		cr_assert_eq(ibft.target[0].port, 3260, "no port is the usual one");
		cr_assert_null(kernel_ibft_nic(&ibft, &ibft.target[0]));
	}
	tree_free(&tree);
}

Test(ibft, none)
{
	struct tree tree = tree_new();
	struct built b = build();

	cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "firmware iBFT");
	text_says(why.hint, "iscsi_ibft ACPI");
	b.control.part.id = 9;
	put_table(&tree, &b);
	cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), -EPROTO);
	tree_free(&tree);
}

static void damage(const struct built *b, const char *words)
{
	cr_assert_eq(kernel_ibft_table(b, offsetof(struct built, used), &ibft, &why), -EPROTO, "%s",
		words);
	diag_says(&why, DIAG_PROTOCOL, NULL, words);
}

Test(ibft, damaged)
{
	struct built b = build();

	memcpy(b.header.signature, "NBFT", 4);
	damage(&b, "iBFT offset_0");
	b = build();
	b.control.part.id = 9;
	damage(&b, "iBFT control offset_48");
	b = build();
	b.control.part.length = put_le16(9999);
	damage(&b, "iBFT control offset_48");
}

static void left_out(const struct built *b, unsigned nics, unsigned targets, const char *words)
{
	cr_assert_eq(
		kernel_ibft_table(b, offsetof(struct built, used), &ibft, &why), 0, "%s", words);
	cr_assert(ibft.nics == nics && ibft.targets == targets && ibft.damages == 1, "%s", words);
	text_says(ibft.damage[0], words);
}

Test(ibft, damaged_in_part)
{
	struct built b = build();

	b.control.nic1 = at(offsetof(struct built, used) - 3);
	left_out(&b, 1, 2, "iBFT structure offset_749");
	b = build();
	b.nic[1].part.length = put_le16(20);
	left_out(&b, 1, 2, "iBFT NIC offset_242");
	b = build();
	b.target[0].part.length = put_le16(20);
	left_out(&b, 2, 1, "iBFT target offset_344");
	b = build();
	b.initiator.part.length = put_le16(20);
	left_out(&b, 2, 2, "iBFT initiator offset_66");
	b = build();
	b.target[1].name.offset = at(offsetof(struct built, used) - 4);
	left_out(&b, 2, 1, "iBFT offset_748");
	b = build();
	b.target[1].name.length = put_le16(40);
	left_out(&b, 2, 1, "iBFT NUL offset_492");
	b = build();
	b.target[0].target_secret.offset = at(offsetof(struct built, used) - 4);
	left_out(&b, 2, 1, "iBFT offset_748");
}

/* Aborted attempts of a firmware leave anything there. */
Test(ibft, texts_that_the_chap_type_does_not_use)
{
	const struct ibft_text garbage = { put_le16(8), put_le16(0xfff0) };
	struct built b = build();

	b.target[1].user = b.target[1].secret = b.target[1].target_user = garbage;
	b.target[0].chap_type = 1;
	b.target[0].target_user = b.target[0].target_secret = garbage;
	cr_assert_eq(kernel_ibft_table(&b, offsetof(struct built, used), &ibft, &why), 0);
	cr_assert(ibft.targets == 2 && !ibft.damages);
	cr_assert_str_eq(ibft.target[0].user[0], "joe");
	cr_assert_str_eq(ibft.target[0].user[1], "");
}

Test(ibft, texts_that_the_kernel_shows_in_spite_of_the_chap_type)
{
	struct tree tree = tree_new();

	put(&tree, "initiator/initiator-name", "iqn.2024-01.lab:init\n");
	put(&tree, "target0/flags", "1\n");
	put(&tree, "target0/target-name", "iqn.2024-01.lab:t0\n");
	put(&tree, "target0/ip-addr", "10.0.0.1\n");
	put(&tree, "target0/chap-name", "joe\n");
	put(&tree, "target0/rev-chap-name", "\x01\xff\n");
	for (unsigned type = 0; type < 3; type++) {
		char text[] = { (char)('0' + type), 0 };

		put(&tree, "target0/chap-type", text);
		cr_assert_eq(kernel_ibft(tree.root, &ibft, &why), 0);
		cr_assert_str_eq(ibft.target[0].user[0], type ? "joe" : "");
		cr_assert_eq(ibft.target[0].user[1][0] != 0, type == 2);
	}
	tree_free(&tree);
}

Test(ibft, every_length_and_every_byte)
{
	struct built b = build();
	size_t len = offsetof(struct built, used);

	for (size_t cut = 0; cut < len; cut++)
		kernel_ibft_table(&b, cut, &ibft, &why);
	for (size_t i = 0; i < len; i++) {
		struct built one = b;

		((uint8_t *)&one)[i] ^= 0xff;
		kernel_ibft_table(&one, len, &ibft, &why);
	}
}

Test(ibft, what_keeps_a_network_from_being_set_up)
{
	struct ibft_nic_info nic = { .addr = "10.0.0.2", .mac = "52:00:00:00:00:00", .prefix = 24 };
	struct ibft_target_info target = { .addr = "10.0.1.1" };
	struct tree tree = tree_new();

	cr_assert_eq(kernel_ibft_network(tree.root, &nic, &target, &why), -ENODEV);
	diag_says(&why, DIAG_NO_DEVICE, NULL, "52:00:00:00:00:00 iBFT");
	strcpy(nic.netdev, "no-such-nic");
	cr_assert_eq(kernel_ibft_network(tree.root, &nic, &target, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "no-such-nic iBFT gateway");
	strcpy(target.addr, "fd00::1");
	cr_assert_eq(kernel_ibft_network(tree.root, &nic, &target, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "fd00::1 no-such-nic");
	strcpy(target.addr, "10.0.0.1");
	nic.prefix = 0;
	cr_assert_eq(kernel_ibft_network(tree.root, &nic, &target, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "iBFT no-such-nic mask");
	strcpy(nic.mask, "255.255.255.0");
	cr_assert_eq(kernel_ibft_network(tree.root, &nic, &target, &why), -ENODEV);
	diag_says(&why, DIAG_SYSTEM, NULL, "no-such-nic no_such_device");
	nic.addr[0] = 0;
	cr_assert_eq(kernel_ibft_network(tree.root, &nic, &target, &why), -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, NULL, "iBFT no-such-nic address");
	tree_free(&tree);
}
