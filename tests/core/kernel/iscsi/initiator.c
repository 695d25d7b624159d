/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The initiator's name, link by link of its chain, on trees of files. */
#include "kernel_iscsi.h"
#include "names.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <regex.h>
#include <string.h>

static struct kernel_initiator who(const struct tree *tree, const char *wanted)
{
	struct kernel_initiator initiator;
	struct diag diag = { 0 };

	cr_assert_eq(kernel_initiator(tree->root, wanted, &initiator, &diag), 0, "%s", diag.text);
	return initiator;
}

static void is(const struct tree *tree, const char *wanted, const char *name, const char *from)
{
	struct kernel_initiator initiator = who(tree, wanted);

	cr_assert_str_eq(initiator.name, name);
	text_says(initiator.from, from);
	cr_assert_not(initiator.random);
}

Test(initiator, the_chain_in_its_order)
{
	struct tree tree = tree_new();

	tree_file(&tree, "etc/iscsi/initiatorname.iscsi",
		"# InitiatorName=iqn.x:no\nInitiatorName=iqn.2024-01.example:file\n");
	tree_file(&tree, "proc/cmdline",
		"quiet iscsi_initiator=iqn.2024-01.example:old "
		"rd.iscsi.initiator=iqn.2024-01.example:new ro\n");
	tree_file(&tree, "sys/class/dmi/id/product_uuid", "4c4c4544-0035-5910-8052-b4c04f564432\n");
	is(&tree, "eui.0123456789abcdef", "eui.0123456789abcdef", "given");
	is(&tree, NULL, "iqn.2024-01.example:file", "/etc/iscsi/initiatorname.iscsi");
	tree_file(&tree, "etc/iscsi/initiatorname.iscsi", "GenerateName=yes\nInitiatorName=\n");
	is(&tree, NULL, "iqn.2024-01.example:new", "command_line");
	tree_file(
		&tree, "proc/cmdline", "quiet rd.iscsi.initiator=me xrd.iscsi.initiator=iqn.x:y\n");
	tree_file(&tree, "sys/firmware/ibft/initiator/initiator-name",
		"iqn.2024-01.example:firmware\n");
	is(&tree, NULL, "iqn.2024-01.example:firmware", "iBFT");
	tree_file(&tree, "sys/firmware/ibft/initiator/initiator-name", "\n");
	is(&tree, NULL, "iqn.2026-01.org.rdmastor:uuid:4c4c4544-0035-5910-8052-b4c04f564432",
		"DMI UUID");
	tree_free(&tree);
}

/* The rule of python3-rtslib-fb (normalize_wwn() in utils.py), by which targetcli accepts an IQN.
 */
static bool targetcli_accepts(const char *name)
{
	regex_t rule;
	bool matches;

	cr_assert_eq(regcomp(&rule, "^iqn\\.[0-9]{4}-[0-1][0-9]\\..*\\..*", REG_EXTENDED), 0);
	matches = !regexec(&rule, name, 0, NULL, 0);
	regfree(&rule);
	return matches;
}

Test(initiator, targetcli_accepts_generated_names)
{
	struct tree tree = tree_new();

	cr_assert(!targetcli_accepts("iqn.2024-01.example:disk1"));
	cr_assert(targetcli_accepts(who(&tree, NULL).name), "random");
	tree_file(&tree, "etc/machine-id", "d425fb17c49948fba2735c5b0eb739c4\n");
	cr_assert(targetcli_accepts(who(&tree, NULL).name), "%s", who(&tree, NULL).name);
	cr_assert(targetcli_accepts(IQN_OWN), "names of served disks");
	tree_free(&tree);
}

Test(initiator, made_up)
{
	struct tree tree = tree_new();
	struct kernel_initiator a = who(&tree, NULL), b = who(&tree, NULL);

	cr_assert(a.random && b.random);
	text_says(a.from, "random");
	cr_assert_str_eq(a.name, b.name, "one per run");
	tree_free(&tree);
}

Test(initiator, names_that_are_none)
{
	static const char *const bad[] = { "", "iqn.", "me", "iqn.x y", "iqn.x\n",
		"nqn.2014-08.org" };
	struct tree tree = tree_new();
	struct kernel_initiator initiator;
	struct diag diag = { 0 };
	char longest[225] = "iqn.";

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(kernel_initiator(tree.root, bad[i], &initiator, &diag), -EINVAL, "%s",
			bad[i]);
	memset(longest + 4, 'a', 219);
	cr_assert_eq(kernel_initiator(tree.root, longest, &initiator, &diag), 0);
	longest[223] = 'a';
	cr_assert_eq(kernel_initiator(tree.root, longest, &initiator, &diag), -EINVAL);
	tree_free(&tree);
}
