/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The chain of host names, link by link, on trees of files. */
#include "kernel_identity.h"
#include "names.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UUID "4c4c4544-0035-5910-8052-b4c04f564432"
#define NQN  "nqn.2014-08.org.nvmexpress:uuid:" UUID

static const uint8_t uuid[16] = { 0x4c, 0x4c, 0x45, 0x44, 0x00, 0x35, 0x59, 0x10, 0x80, 0x52, 0xb4,
	0xc0, 0x4f, 0x56, 0x44, 0x32 };

static struct identity who(const struct tree *tree, const char *nqn, const char *id)
{
	struct identity identity;
	struct diag diag = { 0 };

	cr_assert_eq(kernel_identity(tree->root, nqn, id, &identity, &diag), 0, "%s", diag.text);
	return identity;
}

static void full(const struct tree *tree)
{
	tree_file(tree, "etc/nvme/hostnqn", "nqn.2024-01.org.example:file\n");
	tree_file(tree, "etc/nvme/hostid", "11112222-3333-4444-5555-666677778888\n");
	tree_file(tree, "proc/cmdline",
		"quiet rd.nvmf.hostnqn=nqn.2024-01.org.example:cmdline "
		"rd.nvmf.hostid=aaaabbbb-cccc-dddd-eeee-ffff00001111 ro\n");
	tree_file(tree, "sys/class/dmi/id/product_uuid", UUID "\n");
	tree_file(tree, "etc/machine-id", "3d1219c7c4c5404aaa1f6d2a48adfda4\n");
}

Test(identity, the_chain_in_its_order)
{
	struct tree tree = tree_new();
	struct identity id;

	full(&tree);
	id = who(&tree, "nqn.2024-01.org.example:wanted", NULL);
	cr_assert_str_eq(id.hostnqn, "nqn.2024-01.org.example:wanted");
	cr_assert_str_eq(id.nqn_from, "option");
	cr_assert_str_eq(id.id_from, "hostnqn"); /* the file's id belongs to the file's name */

	id = who(&tree, NULL, NULL);
	cr_assert_str_eq(id.hostnqn, "nqn.2024-01.org.example:file");
	cr_assert_str_eq(id.nqn_from, "/etc/nvme/hostnqn");
	cr_assert_str_eq(id.id_from, "/etc/nvme/hostid");
	cr_assert_eq(id.hostid[0], 0x11);

	tree_file(&tree, "etc/nvme/hostnqn", "\n");
	tree_file(&tree, "etc/nvme/hostid", "");
	id = who(&tree, NULL, NULL);
	cr_assert_str_eq(id.hostnqn, "nqn.2024-01.org.example:cmdline");
	cr_assert_str_eq(id.id_from, "/proc/cmdline");
	cr_assert_eq(id.hostid[15], 0x11);

	tree_file(&tree, "proc/cmdline", "quiet rd.nvmf.hostnqn= xrd.nvmf.hostnqn=nqn.x\n");
	id = who(&tree, NULL, NULL);
	cr_assert_str_eq(id.hostnqn, NQN);
	cr_assert_str_eq(id.nqn_from, "/sys/class/dmi/id/product_uuid");
	cr_assert_str_eq(id.id_from, "hostnqn");
	cr_assert_eq(memcmp(id.hostid, uuid, 16), 0);
	cr_assert_eq(id.random, 0);

	unlinkat(tree.root, "sys/class/dmi/id/product_uuid", 0);
	/* golden: systemd-id128 machine-id --app-specific=c7f4618112be49328c83106f9dddd86b on a
	 * machine with this id */
	id = who(&tree, NULL, NULL);
	cr_assert_str_eq(
		id.hostnqn, "nqn.2014-08.org.nvmexpress:uuid:d425fb17-c499-48fb-a273-5c5b0eb739c4");
	cr_assert_str_eq(id.nqn_from, "/etc/machine-id");

	tree_file(&tree, "etc/machine-id", "uninitialized\n");
	id = who(&tree, NULL, NULL);
	cr_assert_str_eq(id.nqn_from, "random");
	cr_assert_eq(id.random, 1);
	cr_assert_eq(strncmp(id.hostnqn, NQN, 32), 0);
	cr_assert_eq(strlen(id.hostnqn), strlen(NQN));
	cr_assert_eq(memcmp(id.hostid, who(&tree, NULL, NULL).hostid, 16), 0, "one per run");
	cr_assert_str_eq(id.hostnqn, who(&tree, NULL, NULL).hostnqn);
	tree_free(&tree);
}

Test(identity, an_empty_tree_still_has_one)
{
	struct tree tree = tree_new();

	cr_assert_eq(who(&tree, NULL, NULL).random, 1);
	cr_assert_eq(who(&tree, NQN, NULL).random, 0);
	tree_free(&tree);
}

Test(identity, uuids_of_careless_makers_are_not_believed)
{
	static const char *const fakes[] = {
		"00000000-0000-0000-0000-000000000000",
		"ffffffff-ffff-ffff-ffff-ffffffffffff",
		"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
		"03000200-0400-0500-0006-000700080009",
		"00020003-0004-0005-0006-000700080009",
		"12345678-1234-1234-1234-123456789abc",
		"12345678-1234-5678-90AB-CDDEEFAABBCC",
		"00010203-0405-0607-0809-0a0b0c0d0e0f",
		"00112233-4455-6677-8899-aabbccddeeff",
		"11111111-2222-3333-4444-555555555555",
		"fefefefe-fefe-fefe-fefe-fefefefefefe",
		"Not Settable",
		"4c4c4544-0035-5910-8052-b4c04f5644",
		"4c4c4544-0035-5910-8052-b4c04f564432ff",
	};
	struct tree tree = tree_new();

	for (unsigned i = 0; i < sizeof(fakes) / sizeof(*fakes); i++) {
		tree_file(&tree, "sys/class/dmi/id/product_uuid", fakes[i]);
		cr_assert_eq(who(&tree, NULL, NULL).random, 1, "%s was believed", fakes[i]);
	}
	tree_free(&tree);
}

Test(identity, a_host_id_without_a_name_gives_the_name)
{
	struct tree tree = tree_new();
	struct identity id;

	tree_file(&tree, "etc/nvme/hostid", UUID "\n");
	id = who(&tree, NULL, NULL);
	cr_assert_str_eq(id.hostnqn, NQN);
	cr_assert_eq(memcmp(id.hostid, uuid, 16), 0);
	tree_free(&tree);
}

Test(identity, an_id_is_derived_always_the_same_way)
{
	struct tree tree = tree_new();
	struct identity a = who(&tree, "nqn.2024-01.org.example:a", NULL),
			b = who(&tree, "nqn.2024-01.org.example:b", NULL);

	cr_assert_eq(memcmp(a.hostid, who(&tree, "nqn.2024-01.org.example:a", NULL).hostid, 16), 0);
	cr_assert_neq(memcmp(a.hostid, b.hostid, 16), 0);
	cr_assert_eq(a.hostid[6] >> 4, 4);
	cr_assert_eq(memcmp(who(&tree, "nqn.2024-01.org.example:a", UUID).hostid, uuid, 16), 0);
	tree_free(&tree);
}

Test(identity, what_was_asked_for_must_be_right)
{
	struct tree tree = tree_new();
	struct identity id;
	struct diag diag = { 0 };
	char longest[300] = "nqn.";

	cr_assert_eq(kernel_identity(tree.root, "iqn.2024-01.org:x", NULL, &id, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, "NQN 'iqn.2024-01.org:x'");
	cr_assert_eq(kernel_identity(tree.root, "nqn.2024-01.org: x", NULL, &id, &diag), -EINVAL);
	memset(longest + 4, 'a', 219);
	cr_assert_eq(kernel_identity(tree.root, longest, NULL, &id, &diag), 0);
	cr_assert_str_eq(id.hostnqn, longest);
	strcat(longest, "a");
	cr_assert_eq(kernel_identity(tree.root, longest, NULL, &id, &diag), -EINVAL);
	cr_assert_eq(kernel_identity(tree.root, NQN, "12", &id, &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, NULL, "'12' UUID");
	tree_free(&tree);
}

Test(identity, a_program_of_this_run_has_the_same_random_id)
{
	static const char text[] = "9f6ad6c4-94d1-4d0e-8a5f-0c3c6c1f2a11";
	uint8_t id[16];

	setenv("RDMASTOR_RUN_ID", text, 1);
	cr_assert(uuid_parse(id, text));
	cr_assert_arr_eq(kernel_identity_run(), id, 16);
	unsetenv("RDMASTOR_RUN_ID");
	kernel_identity_pass();
	cr_assert_str_eq(getenv("RDMASTOR_RUN_ID"), text);
}
