/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NBFT: connections and network configuration from a valid table, and what can still be read
 * from a damaged one. */
#include "uapi/nbft.h"
#include "kernel_nbft.h"
#include "nbft_table.h"
#include "nvme_conf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID "abff48c0-ecbe-4d8c-a64a-54f12797e8c2"
static struct nbft nbft;
static struct diag why;

struct built { /* an interface of IPv4, one of IPv6 on a VLAN, one of DHCP; two subsystems */
	struct nbft_header header;
	struct nbft_control control;
	struct nbft_host host;
	struct nbft_hfi hfi[3];
	struct nbft_ssns ssns[3];
	struct nbft_security security;
	struct nbft_discovery discovery;
	struct nbft_hfi_tcp tcp[3]; /* the heap */
	struct nbft_ssns_extended extended;
	uint8_t addr[16], more[3];
	char texts[300];
	size_t used;
};
#define LEN  offsetof(struct built, used)
#define HEAP offsetof(struct built, tcp)

static struct nbft_ref ref(size_t offset, size_t len)
{
	return (struct nbft_ref){ put_le32((uint32_t)offset), put_le16((uint16_t)len) };
}

static struct nbft_ref text(struct built *b, const char *words)
{
	struct nbft_ref t = ref(offsetof(struct built, texts) + b->used, strlen(words));

	strcpy(b->texts + b->used, words);
	b->used += strlen(words) + 1;
	return t;
}

static struct nbft_list list(size_t offset, size_t each, uint8_t count)
{
	return (struct nbft_list){ put_le32((uint32_t)offset), put_le16((uint16_t)each), 1, count };
}

static void v4(uint8_t addr[16], uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	const uint8_t bytes[16] = { [10] = 0xff, [11] = 0xff, a, b, c, d };

	memcpy(addr, bytes, 16);
}

static void seal(struct built *b)
{
	uint8_t sum = 0;

	b->header.checksum = 0;
	for (size_t i = 0; i < LEN; i++)
		sum += ((uint8_t *)b)[i];
	b->header.checksum = (uint8_t)-sum;
}

static struct built build(void)
{
	struct built b = { .header = { .signature = "NBFT", .major = 1 },
		.control = { .id = NBFT_CONTROL, .flags = 1 },
		.host = { .id = NBFT_HOST, .flags = 1, .hostid = { 0xab, [15] = 0xcd } },
		.security = { .id = NBFT_SECURITY, .index = 4, .flags = put_le16(1) },
		.discovery = { .id = NBFT_DISCOVERY, .flags = 1, .index = 1, .hfi = 1 },
		.more = { 2, 1, 9 } };

	b.header.length = put_le32(LEN);
	b.header.heap = put_le32(HEAP);
	b.header.heap_length = put_le32(LEN - HEAP);
	b.control.length = put_le16(sizeof(b.control));
	b.control.host = ref(offsetof(struct built, host), sizeof(b.host));
	b.control.hfi = list(offsetof(struct built, hfi), sizeof(b.hfi[0]), 3);
	b.control.ssns = list(offsetof(struct built, ssns), sizeof(b.ssns[0]), 3);
	b.control.security = list(offsetof(struct built, security), sizeof(b.security), 1);
	b.control.discovery = list(offsetof(struct built, discovery), sizeof(b.discovery), 1);
	b.host.nqn = text(&b, "nqn.2014-08.org.nvmexpress:uuid:" ID);
	for (uint8_t i = 0; i < 3; i++) {
		b.hfi[i] = (struct nbft_hfi){ .id = NBFT_HFI,
			.index = i + 1,
			.flags = 1,
			.trtype = NBFT_TRTYPE_TCP,
			.transport = ref(HEAP + i * sizeof(b.tcp[0]), sizeof(b.tcp[0])) };
		b.tcp[i] = (struct nbft_hfi_tcp){ .id = NBFT_HFI_TCP,
			.version = 1,
			.trtype = NBFT_TRTYPE_TCP,
			.flags = 1,
			.mac = { 0x52, [5] = i },
			.prefix = i == 1 ? 64 : 24 };
		b.ssns[i] = (struct nbft_ssns){ .id = NBFT_SSNS,
			.index = put_le16(i + 1),
			.flags = put_le16(1),
			.trtype = NBFT_TRTYPE_TCP,
			.addr = ref(offsetof(struct built, addr), 16),
			.port = text(&b, "4420"),
			.nsid = put_le32(i + 1),
			.hfi = 1,
			.nqn = text(&b, i == 2 ? "nqn.away" : "nqn.disk") };
	}
	v4(b.addr, 10, 0, 0, 1);
	v4(b.tcp[0].addr, 10, 0, 0, 2);
	v4(b.tcp[0].gateway, 10, 0, 0, 254);
	v4(b.tcp[0].dns[0], 10, 0, 0, 53);
	b.tcp[0].host = text(&b, "node-1");
	b.tcp[1].addr[0] = 0xfd;
	b.tcp[1].addr[15] = 2;
	b.tcp[1].vlan = put_le16(5);
	v4(b.tcp[2].addr, 10, 0, 2, 2);
	v4(b.tcp[2].dhcp, 10, 0, 2, 1);
	b.tcp[2].flags |= NBFT_HFI_DHCP;
	b.ssns[0].transport_flags = put_le16(NBFT_VALID | NBFT_SSNS_HDR_DIGEST);
	b.ssns[0].more_hfis = ref(offsetof(struct built, more), 3);
	b.ssns[0].flags = put_le16(1 | NBFT_SSNS_EXTENDED_USED);
	b.ssns[0].extended = ref(offsetof(struct built, extended), sizeof(b.extended));
	b.extended = (struct nbft_ssns_extended){
		.id = NBFT_SSNS_EXTENDED, .version = 1, .ssns = put_le16(1), .flags = put_le32(1)
	};
	b.ssns[2].flags = put_le16(1 | NBFT_SSNS_UNAVAILABLE);
	b.discovery.uri = text(&b, "nvme+tcp://10.0.0.1:8009/");
	seal(&b);
	return b;
}

static int read_it(const struct built *b)
{
	struct built sealed = *b;

	seal(&sealed);
	return kernel_nbft_table(&sealed, LEN, &nbft, &why);
}

Test(nbft, a_good_table)
{
	struct built b = build();
	const struct nbft_hfi_info *hfi;

	cr_assert_eq(read_it(&b), 0, "%s", why.text);
	cr_assert_str_eq(nbft.hostnqn, "nqn.2014-08.org.nvmexpress:uuid:" ID);
	cr_assert_str_eq(nbft.hostid, "ab000000-0000-0000-0000-0000000000cd");
	cr_assert(nbft.hfis == 3 && nbft.ssnses == 3 && nbft.discoveries == 1 && !nbft.damages);
	hfi = kernel_nbft_hfi(&nbft, 1);
	cr_assert_str_eq(hfi->mac, "52:00:00:00:00:00");
	cr_assert_str_eq(hfi->addr, "10.0.0.2");
	cr_assert_str_eq(hfi->gateway, "10.0.0.254");
	cr_assert_str_eq(hfi->dns[0], "10.0.0.53");
	cr_assert_str_eq(hfi->dns[1], "");
	cr_assert_str_eq(hfi->host, "node-1");
	hfi = kernel_nbft_hfi(&nbft, 2);
	cr_assert(!strcmp(hfi->addr, "fd00::2") && hfi->vlan == 5 && hfi->prefix == 64);
	cr_assert_str_eq(kernel_nbft_hfi(&nbft, 3)->dhcp, "10.0.2.1");
	cr_assert_null(kernel_nbft_hfi(&nbft, 9));
	cr_assert(nbft.ssns[0].hfis == 2 && nbft.ssns[0].hfi[0] == 1 && nbft.ssns[0].hfi[1] == 2,
		"each valid HFI once");
	cr_assert(nbft.ssns[0].hdr_digest && !nbft.ssns[0].data_digest);
	cr_assert(!nbft.ssns[0].unavailable && nbft.ssns[2].unavailable);
	cr_assert_str_eq(nbft.discovery[0].uri, "nvme+tcp://10.0.0.1:8009/");
}

static void put_table(const struct tree *tree, const char *name, const struct built *b)
{
	char path[60];
	int fd;

	snprintf(path, sizeof(path), "sys/firmware/acpi/tables/%s", name);
	tree_file(tree, path, "");
	fd = openat(tree->root, path, O_WRONLY);
	cr_assert_eq(write(fd, b, LEN), (ssize_t)LEN);
	close(fd);
}

Test(nbft, entries_to_connect)
{
	struct tree tree = tree_new();
	struct nvmf_entries all = { 0 };
	struct built b = build(), bad = build();

	b.ssns[1].flags = put_le16(1 | NBFT_SSNS_SECURITY);
	b.ssns[0].security = b.ssns[1].security = b.discovery.security = 4;
	b.security.flags = put_le16(NBFT_VALID | 4 | 0xe00); /* authentication, all restrictions */
	b.security.secret = b.hfi[0].transport;
	seal(&b);
	put_table(&tree, "NBFT", &b);
	bad.header.checksum++;
	put_table(&tree, "NBFT1", &bad);
	tree_dir(&tree, "sys/firmware/acpi/tables/NBFT2"); /* EISDIR */
	cr_assert_eq(kernel_nvmf_conf_nbft(tree.root, &all, &why), 0, "%s", why.text);
	cr_assert_eq(all.count, 5);
	cr_assert_str_eq(all.entry[0].from, "NBFT SSNS 1 HFI 1");
	cr_assert_str_eq(all.entry[0].value[NVMF_TRADDR], "10.0.0.1");
	cr_assert_str_eq(all.entry[0].value[NVMF_HOST_TRADDR], "10.0.0.2");
	cr_assert_str_eq(all.entry[0].value[NVMF_NQN], "nqn.disk");
	cr_assert_str_eq(all.entry[0].value[NVMF_HOSTNQN], "nqn.2014-08.org.nvmexpress:uuid:" ID);
	cr_assert_str_eq(all.entry[0].value[NVMF_HOSTID], "ab000000-0000-0000-0000-0000000000cd");
	cr_assert_str_eq(all.entry[0].value[NVMF_HDR_DIGEST], "");
	cr_assert_eq(all.entry[0].nsid, 0, "two namespaces over one connection");
	cr_assert_str_eq(all.entry[1].value[NVMF_HOST_TRADDR], "fd00::2");
	cr_assert_eq(all.entry[1].nsid, 1);
	cr_assert(all.entry[2].discover && !strcmp(all.entry[2].from, "NBFT discovery 1"));
	cr_assert_str_eq(all.entry[3].from, "NBFT1 table");
	diag_says(all.entry[3].damage, DIAG_PROTOCOL, NULL, "checksum");
	cr_assert_str_eq(all.entry[4].from, "NBFT2 table");
	cr_assert_eq(all.entry[4].damage->err, EISDIR);
	text_says(all.entry[4].damage->text, "NBFT2");
	text_says(all.skipped, "NBFT SSNS 3 nqn.away unavailable");
	cr_assert_eq(lines_saying(all.skipped, "NBFT security_profile_4"), 2);
	text_says(all.skipped, "SSNS_2 not_applied: authentication key cipher_suites DH_groups "
			       "hash_functions options");
	cr_assert_null(all.entry[0].value[NVMF_TLS]);
	kernel_nvmf_conf_free(&all);
	tree_free(&tree);
}

/* The profile of the second subsystem and of the discovery controller, with these flags. */
static void read_profile(struct nvmf_entries *all, struct built *b, unsigned flags)
{
	struct tree tree = tree_new();

	b->ssns[1].flags = put_le16(1 | NBFT_SSNS_SECURITY);
	b->ssns[1].security = b->discovery.security = 4;
	b->security.flags = put_le16((uint16_t)(NBFT_VALID | flags));
	seal(b);
	put_table(&tree, "NBFT", b);
	*all = (struct nvmf_entries){ 0 };
	cr_assert_eq(kernel_nvmf_conf_nbft(tree.root, all, &why), 0, "%s", why.text);
	tree_free(&tree);
}

Test(nbft, tls_where_a_profile_requires_it)
{
	static const unsigned required[] = { 0x40, 0x60 }, optional[] = { 0, 0x20 };
	struct built b = build();
	struct nvmf_entries all;

	for (unsigned i = 0; i < 2; i++) {
		read_profile(&all, &b, required[i]);
		cr_assert_eq(all.count, 3);
		cr_assert_str_eq(all.entry[0].value[NVMF_TLS], "", "shared with another namespace");
		cr_assert_str_eq(all.entry[1].from, "NBFT SSNS 1 HFI 2");
		cr_assert_str_eq(all.entry[1].value[NVMF_TLS], "",
			"the same subsystem, without a profile");
		cr_assert_str_eq(all.entry[2].from, "NBFT discovery 1");
		cr_assert(!all.entry[2].discover && !all.entry[2].uri);
		diag_says(all.entry[2].damage, DIAG_UNSUPPORTED, NULL, "requires_TLS URI");
		kernel_nvmf_conf_free(&all);
		read_profile(&all, &b, optional[i]);
		cr_assert_null(all.entry[0].value[NVMF_TLS]);
		cr_assert(all.entry[2].discover && !all.entry[2].damage);
		cr_assert_eq(lines_saying(all.skipped, "security"), 0);
		kernel_nvmf_conf_free(&all);
	}
	b.ssns[1].nqn = b.ssns[2].nqn; /* a connection of its own */
	read_profile(&all, &b, required[0]);
	cr_assert_eq(all.count, 4);
	cr_assert_null(all.entry[0].value[NVMF_TLS], "another subsystem");
	cr_assert_null(all.entry[1].value[NVMF_TLS], "another subsystem");
	cr_assert_str_eq(all.entry[2].value[NVMF_NQN], "nqn.away");
	cr_assert_str_eq(all.entry[2].value[NVMF_TLS], "");
	kernel_nvmf_conf_free(&all);
	b.ssns[2].hfi = 2;
	b.ssns[2].flags = put_le16(1);
	read_profile(&all, &b, required[0]);
	cr_assert_eq(all.count, 5);
	cr_assert_str_eq(all.entry[3].from, "NBFT SSNS 3 HFI 2");
	cr_assert_str_eq(all.entry[3].value[NVMF_TLS], "", "no profile, but the same subsystem");
	kernel_nvmf_conf_free(&all);
}

Test(nbft, nothing_is_connected_without_its_profile)
{
	struct nvmf_entries all;
	struct built b;

#define MISSING(field, to)                                                                         \
	do {                                                                                       \
		b = build();                                                                       \
		b.field = to;                                                                      \
		read_profile(&all, &b, 0);                                                         \
		cr_assert_str_eq(all.entry[0].value[NVMF_NQN], "nqn.disk", "%s", #field);          \
		cr_assert_eq(all.entry[0].nsid, 1, "%s", #field);                                  \
		for (unsigned i = 2; i < all.count; i++)                                           \
			cr_assert_eq(all.entry[i].damage->code, DIAG_PROTOCOL, "%s", #field);      \
		cr_assert_str_eq(all.entry[all.count - 1].from, "NBFT SSNS 2", "%s", #field);      \
		diag_says(all.entry[all.count - 1].damage, DIAG_PROTOCOL, NULL, "security");       \
		kernel_nvmf_conf_free(&all);                                                       \
	} while (0)
	MISSING(security.index, 5);
	MISSING(security.id, 9);
	MISSING(control.security, list(UINT32_MAX, 64, 1));
	MISSING(control.security, list(offsetof(struct built, security), 63, 1));
	MISSING(control.security, list(0, 0, 0));
}

static int collect(const char *word, void *arg)
{
	strcat(arg, word);
	strcat(arg, "\n");
	return 0;
}

static void words(const struct tree *tree, const char *expected)
{
	char got[2000] = "";

	cr_assert_eq(kernel_boot_network_params(tree->root, collect, got, &why), 0);
	cr_assert_str_eq(got, expected);
}

static void nic(const struct tree *tree, unsigned index, const char *name, const char *text)
{
	char path[80];

	snprintf(path, sizeof(path), "sys/firmware/ibft/ethernet%u/%s", index, name);
	tree_file(tree, path, text);
}

Test(nbft, a_table_that_cant_be_read_leaves_the_rest)
{
	struct tree tree = tree_new();
	struct nvmf_entries all = { 0 };

	tree_dir(&tree, "sys/firmware/acpi/tables/NBFT");
	tree_file(&tree, "proc/cmdline", "rd.nvmf.discover=tcp,192.0.2.1");
	tree_file(&tree, "sys/firmware/ibft/initiator/initiator-name", "iqn.2024-01.lab:init");
	nic(&tree, 0, "index", "0");
	nic(&tree, 0, "flags", "3");
	nic(&tree, 0, "mac", "52:00:00:00:00:00");
	nic(&tree, 0, "ip-addr", "10.0.9.2");
	nic(&tree, 0, "subnet-mask", "255.255.255.0");
	cr_assert_eq(kernel_nvmf_conf_kernel(tree.root, &all, &why), 0, "%s", why.text);
	cr_assert_eq(all.count, 2);
	cr_assert_str_eq(all.entry[0].value[NVMF_TRADDR], "192.0.2.1");
	diag_says(all.entry[1].damage, all.entry[1].damage->code, NULL, "read NBFT");
	kernel_nvmf_conf_free(&all);
	words(&tree, "ifname=ibft0:52:00:00:00:00:00\nip=10.0.9.2:::255.255.255.0::ibft0:none\n");
	tree_free(&tree);
}

Test(nbft, with_the_kernel_command_line)
{
	static const struct {
		const char *words;
		unsigned count;
	} row[] = { { "quiet", 3 }, { "rd.nvmf.nonbft", 0 }, { "rd.nvmf.nonbft=0", 3 },
		{ "rd.nvmf.nonbft=off", 3 },
		{ "rd.nvmf.discover=tcp,192.0.2.1 rd.nvmf.hostnqn=nqn.other", 4 },
		{ "rd.nonvmf", 0 } };
	struct tree tree = tree_new();
	struct built b = build();

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct nvmf_entries all = { 0 };

		tree_file(&tree, "proc/cmdline", row[i].words);
		cr_assert_eq(kernel_nvmf_conf_kernel(tree.root, &all, &why), 0);
		cr_assert_eq(all.count, row[i].count == 4, "no table: %s", row[i].words);
		kernel_nvmf_conf_free(&all);
	}
	put_table(&tree, "NBFT", &b);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct nvmf_entries all = { 0 };

		tree_file(&tree, "proc/cmdline", row[i].words);
		cr_assert_eq(kernel_nvmf_conf_kernel(tree.root, &all, &why), 0);
		cr_assert_eq(all.count, row[i].count, "%s", row[i].words);
		if (row[i].count == 4)
			cr_assert_str_eq(all.entry[1].value[NVMF_HOSTNQN],
				"nqn.2014-08.org.nvmexpress:uuid:" ID);
		kernel_nvmf_conf_free(&all);
	}
	tree_free(&tree);
}

Test(nbft, none)
{
	struct tree tree = tree_new();
	struct nvmf_entries all = { 0 };

	cr_assert_eq(kernel_nvmf_conf_nbft(tree.root, &all, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "firmware NBFT");
	tree_free(&tree);
}

static void damage(const struct built *b, const char *words)
{
	cr_assert_eq(read_it(b), -EBADMSG, "%s", words);
	diag_says(&why, DIAG_PROTOCOL, NULL, words);
}

Test(nbft, damaged_as_a_whole)
{
	struct built b = build();

	b.header.checksum++;
	cr_assert_eq(kernel_nbft_table(&b, LEN, &nbft, &why), -EBADMSG);
	diag_says(&why, DIAG_PROTOCOL, NULL, "NBFT checksum");
#define DAMAGE(field, value, words)                                                                \
	do {                                                                                       \
		b = build();                                                                       \
		b.field = value;                                                                   \
		damage(&b, words);                                                                 \
	} while (0)
	DAMAGE(header.signature[0], 'i', "NBFT signature");
	DAMAGE(header.major, 2, "version 1");
	DAMAGE(header.heap, put_le32(UINT32_MAX), "heap");
	DAMAGE(header.heap_length, put_le32(UINT32_MAX), "heap");
	DAMAGE(control.id, 9, "control");
	DAMAGE(control.length, put_le16(10), "control");
	DAMAGE(control.host, ref(LEN - 31, 32), "host");
	DAMAGE(control.host, ref(UINT32_MAX, 32), "host");
	DAMAGE(host.flags, 0, "host");
	DAMAGE(host.nqn, ref(0, 9), "host NQN");
	DAMAGE(texts[0], ' ', "host NQN");
	DAMAGE(control.flags, 0, "control valid");
	b = build();
	b.header.length = put_le32(LEN + 1);
	cr_assert_eq(kernel_nbft_table(&b, LEN, &nbft, &why), -EBADMSG);
}

Test(nbft, damaged_in_part)
{
	struct built b;

#define LEFT_OUT(field, value, words)                                                              \
	do {                                                                                       \
		b = build();                                                                       \
		b.field = value;                                                                   \
		cr_assert_eq(read_it(&b), 0, "%s", #field);                                        \
		cr_assert_geq(nbft.damages, 1, "%s", #field);                                      \
		snprintf(why.text, sizeof(why.text), "%s: %s", nbft.damage[0].object,              \
			nbft.damage[0].text);                                                      \
		text_says(why.text, words);                                                        \
	} while (0)
	LEFT_OUT(hfi[1].id, 9, "HFI 2");
	LEFT_OUT(hfi[1].trtype, 1, "HFI 2 TCP");
	LEFT_OUT(hfi[1].transport, ref(HEAP - 1, 128), "HFI 2 heap");
	LEFT_OUT(hfi[1].transport, ref(LEN - 127, 128), "HFI 2 heap");
	LEFT_OUT(hfi[1].transport, ref(HEAP, 127), "HFI 2 heap");
	LEFT_OUT(tcp[1].version, 2, "HFI 2 transport");
	LEFT_OUT(tcp[1].flags, 0, "HFI 2 transport");
	LEFT_OUT(tcp[1].prefix, 129, "HFI 2 prefix");
	LEFT_OUT(tcp[0].prefix, 33, "HFI 1 prefix");
	LEFT_OUT(ssns[1].id, 9, "SSNS 2");
	LEFT_OUT(ssns[1].trtype, 1, "SSNS 2 TCP");
	LEFT_OUT(ssns[1].addr, ref(HEAP, 15), "SSNS 2 address");
	LEFT_OUT(ssns[1].port, ref(HEAP, 4), "SSNS 2 port");
	LEFT_OUT(ssns[1].nqn, ref(0, 4), "SSNS 2 NQN");
	LEFT_OUT(ssns[1].nqn, ref(0, 0), "SSNS 2 NQN");
	LEFT_OUT(ssns[1].hfi, 9, "SSNS 2 HFI");
	LEFT_OUT(ssns[1].more_hfis, ref(LEN - 1, 2), "SSNS 2 HFIs heap");
	cr_assert(nbft.ssnses == 3 && nbft.ssns[1].hfis == 1, "its own HFI stays");
	LEFT_OUT(control.hfi, list(LEN - 31, 32, 1), "HFI descriptors");
	LEFT_OUT(control.hfi, list(128, 31, 1), "HFI descriptors");
	LEFT_OUT(control.ssns, list(128, 128, 255), "SSNS descriptors");
	cr_assert(nbft.hfis == 3 && nbft.discoveries == 1);
	LEFT_OUT(control.discovery, list(LEN, 32, 1), "discovery descriptors");
	cr_assert(nbft.hfis == 3 && nbft.ssnses == 3);
	LEFT_OUT(discovery.id, 9, "discovery 1");
	LEFT_OUT(discovery.uri, ref(0, 1), "discovery 1 URI");
	LEFT_OUT(discovery.nqn, ref(LEN, 1), "discovery 1 NQN");
}

/* Nothing of them is used. */
Test(nbft, optional_parts_that_are_invalid)
{
	struct built b;

#define IGNORED(field, value)                                                                      \
	do {                                                                                       \
		b = build();                                                                       \
		b.field = value;                                                                   \
		cr_assert_eq(read_it(&b), 0, "%s", #field);                                        \
		cr_assert(!nbft.damages && nbft.hfis == 3 && nbft.ssnses == 3 &&                   \
				  nbft.discoveries == 1,                                           \
			"%s", #field);                                                             \
	} while (0)
	IGNORED(ssns[0].extended, ref(0, 0));
	IGNORED(ssns[0].extended, ref(LEN - 17, 18));
	IGNORED(extended.ssns, put_le16(2));
	IGNORED(security.flags, put_le16(0));
	IGNORED(security.ciphers, ref(0, 1));
	IGNORED(tcp[0].host, ref(LEN, 1));
	cr_assert_str_eq(nbft.hfi[0].host, "");
}

Test(nbft, every_length_and_every_byte)
{
	struct built b = build();

	for (size_t cut = 0; cut < LEN; cut++)
		cr_assert_eq(kernel_nbft_table(&b, cut, &nbft, &why), -EBADMSG);
	for (size_t i = 0; i < LEN; i++) {
		struct built one = b;

		((uint8_t *)&one)[i] ^= 0xff;
		read_it(&one);
	}
}

Test(nbft, network_words)
{
	static const char of_nbft[] = "ifname=nbft0:52:00:00:00:00:00\n"
				      "ip=10.0.0.2::10.0.0.254:24:node-1:nbft0:none:10.0.0.53\n"
				      "ifname=nbft1:52:00:00:00:00:01\n"
				      "ip=[fd00::2]:::64::nbft1.5:none\n"
				      "vlan=nbft1.5:nbft1\n"
				      "ifname=nbft2:52:00:00:00:00:02\n"
				      "ip=nbft2:dhcp\n";
	struct tree tree = tree_new();
	struct built b = build();
	char both[1000];

	words(&tree, "");
	put_table(&tree, "NBFT", &b);
	words(&tree, of_nbft);
	tree_file(&tree, "sys/firmware/ibft/initiator/initiator-name", "iqn.2024-01.lab:init");
	for (unsigned i = 0; i < 2; i++) {
		nic(&tree, i, "index", i ? "1" : "0");
		nic(&tree, i, "flags", "3");
		nic(&tree, i, "mac", i ? "52:00:00:00:00:09" : "52:00:00:00:00:00");
		nic(&tree, i, "ip-addr", "10.0.9.2");
		nic(&tree, i, "subnet-mask", "255.255.255.0");
	}
	snprintf(both, sizeof(both), "%s%s", of_nbft,
		"ifname=ibft0:52:00:00:00:00:09\nip=10.0.9.2:::255.255.255.0::ibft0:none\n");
	words(&tree, both);
	tree_file(&tree, "proc/cmdline", "rd.nvmf.nonbft");
	words(&tree, "ifname=ibft0:52:00:00:00:00:00\nip=10.0.9.2:::255.255.255.0::ibft0:none\n"
		     "ifname=ibft1:52:00:00:00:00:09\nip=10.0.9.2:::255.255.255.0::ibft1:none\n");
	tree_free(&tree);
}

Test(nbft, dhcp_of_an_interface_without_an_address)
{
	static const struct {
		bool mapped, gateway;
		const char *word;
	} row[] = { { false, false, "dhcp6" }, { true, false, "dhcp" }, { false, true, "dhcp" } };
	struct tree tree = tree_new();

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct built b = build();
		char expected[80];

		b.control.hfi.count = 1;
		memset(&b.tcp[0].gateway, 0, 16);
		memset(&b.tcp[0].dns, 0, 32);
		memset(&b.tcp[0].addr, 0, 16);
		if (row[i].mapped)
			v4(b.tcp[0].addr, 0, 0, 0, 0);
		if (row[i].gateway)
			v4(b.tcp[0].gateway, 10, 0, 0, 254);
		b.tcp[0].origin = NBFT_ORIGIN_DHCP;
		b.tcp[0].flags |= NBFT_HFI_DHCP;
		b.tcp[0].prefix = 0;
		seal(&b);
		put_table(&tree, "NBFT", &b);
		snprintf(expected, sizeof(expected),
			"ifname=nbft0:52:00:00:00:00:00\nip=nbft0:%s\n", row[i].word);
		words(&tree, expected);
	}
	tree_free(&tree);
}

Test(nbft, dhcp_of_the_ibft_without_an_address)
{
	static const char *const addr[] = { "10.0.0.1", "fd00::1" };
	struct tree tree = tree_new();

	tree_file(&tree, "sys/firmware/ibft/initiator/initiator-name", "iqn.2024-01.lab:init");
	nic(&tree, 0, "index", "0");
	nic(&tree, 0, "flags", "3");
	nic(&tree, 0, "mac", "52:00:00:00:00:00");
	nic(&tree, 0, "origin", "3");
	words(&tree, "ifname=ibft0:52:00:00:00:00:00\nip=ibft0:dhcp\n");
	tree_file(&tree, "sys/firmware/ibft/target0/flags", "3");
	tree_file(&tree, "sys/firmware/ibft/target0/nic-assoc", "0");
	tree_file(&tree, "sys/firmware/ibft/target0/target-name", "iqn.2024-01.lab:t0");
	for (unsigned i = 0; i < 2; i++) {
		tree_file(&tree, "sys/firmware/ibft/target0/ip-addr", addr[i]);
		words(&tree, i ? "ifname=ibft0:52:00:00:00:00:00\nip=ibft0:dhcp6\n"
			       : "ifname=ibft0:52:00:00:00:00:00\nip=ibft0:dhcp\n");
	}
	nic(&tree, 0, "dhcp", "10.0.0.3");
	words(&tree, "ifname=ibft0:52:00:00:00:00:00\nip=ibft0:dhcp\n");
	tree_free(&tree);
}

Test(nbft, an_address_without_a_mask)
{
	struct tree tree = tree_new();
	struct built b = build();

	b.tcp[0].prefix = 0;
	b.control.hfi.count = 1;
	seal(&b);
	put_table(&tree, "NBFT", &b);
	words(&tree, "");
	tree_free(&tree);
}

Test(nbft, a_host_name_is_no_further_word)
{
	struct tree tree = tree_new();
	struct built b = build();

	memcpy(memmem(b.texts, sizeof(b.texts), "node-1", 6), "a:b=cd", 6);
	b.control.hfi.count = 1;
	seal(&b);
	put_table(&tree, "NBFT", &b);
	words(&tree, "ifname=nbft0:52:00:00:00:00:00\n"
		     "ip=10.0.0.2::10.0.0.254:24::nbft0:none:10.0.0.53\n");
	tree_free(&tree);
}
