/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which files of modules are loaded, and in which order. */
/* Link: child_run geteuid */
#include "modules.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEP "lib/modules/6.1/modules.dep"

static const char dep[] =
	"kernel/drivers/nvme/host/nvme-core.ko.xz: kernel/drivers/nvme/common/nvme-common.ko.xz\n"
	"kernel/drivers/nvme/host/nvme-fabrics.ko.xz: kernel/drivers/nvme/host/nvme-core.ko.xz "
	"kernel/drivers/nvme/common/nvme-common.ko.xz\n"
	"kernel/drivers/nvme/common/nvme-common.ko.xz:\n"
	"extra/nvme.ko: kernel/drivers/nvme/host/nvme-core.ko.xz\n"
	"updates/my_nvme_core.ko.zst:\n";

static void loads(const char *dir, const char *text, const char *module, const char *expected)
{
	struct tree tree = tree_new();
	char *path[MODULE_FILES], name[128], got[1024] = "";
	int count;

	snprintf(name, sizeof(name), "%s/6.1/modules.dep", dir);
	tree_file(&tree, name, text);
	count = kernel_module_files(tree.root, "6.1", module, path);
	cr_assert_gt(count, 0, "%s: %d", module, count);
	for (int i = 0; i < count; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ", path[i]);
	kernel_module_files_free(path, count);
	cr_assert_str_eq(got, expected);
	tree_free(&tree);
}

Test(modules, what_is_needed_comes_first)
{
	loads("lib/modules", dep, "nvme_fabrics",
		"lib/modules/6.1/kernel/drivers/nvme/common/nvme-common.ko.xz "
		"lib/modules/6.1/kernel/drivers/nvme/host/nvme-core.ko.xz "
		"lib/modules/6.1/kernel/drivers/nvme/host/nvme-fabrics.ko.xz ");
}

Test(modules, a_dash_is_an_underscore_and_a_part_of_a_name_is_none)
{
	loads("lib/modules", dep, "nvme-common",
		"lib/modules/6.1/kernel/drivers/nvme/common/nvme-common.ko.xz ");
	loads("lib/modules", dep, "nvme",
		"lib/modules/6.1/kernel/drivers/nvme/host/nvme-core.ko.xz "
		"lib/modules/6.1/extra/nvme.ko ");
	loads("lib/modules", dep, "my_nvme_core", "lib/modules/6.1/updates/my_nvme_core.ko.zst ");
}

Test(modules, the_folder_of_a_merged_usr_and_absolute_names)
{
	loads("usr/lib/modules", "/lib/modules/6.1/a.ko: /lib/modules/6.1/b.ko\n", "a",
		"lib/modules/6.1/b.ko lib/modules/6.1/a.ko ");
}

static struct tree rule(const char *text)
{
	struct tree tree = tree_new();

	tree_file(&tree, "etc/modprobe.d/a.conf", text);
	return tree;
}

/* As kmod 30 answers `modprobe -n -v nvme_tcp`. */
Test(modules, the_rules_of_the_machine)
{
	static const struct {
		const char *text;
		bool own, needed;
	} rows[] = {
		{ "", false, false },
		{ "# install nvme_tcp /bin/false\noptions nvme_tcp x=1\ninstall nvme /bin/false\n",
			false, false },
		{ "blacklist x\n\tinstall  nvme-tcp /bin/false\n", true, true },
		{ "install nvme* /bin/false\n", true, true },
		{ "install nvme[-_]tcp /bin/false", true, true },
		{ "install nvme-?cp /bin/false", true, true },
		{ "install nvme?? /bin/false", false, false },
		{ "install \\\n nvme_tcp /bin/false", true, true },
		{ "blacklist nvme_tcp\nblacklist nvme*\n", false, false },
		{ "alias nvme_tcp off", true, false },
		{ "alias nvme* off", true, false },
		{ "alias nvme-tcp nvme_auth", true, false },
		{ "alias nvme* nvme-tcp", false, false },
		{ "alias nvme_tcp", false, false },
		{ "install", false, false },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct tree tree = rule(rows[i].text);

		cr_expect_eq(kernel_module_has_rule(tree.root, "nvme_tcp", false), rows[i].own,
			"%s", rows[i].text);
		cr_expect_eq(kernel_module_has_rule(tree.root, "nvme-tcp", true), rows[i].needed,
			"%s", rows[i].text);
		tree_free(&tree);
	}
}

Test(modules, the_folders_of_rules)
{
	struct tree tree = tree_new();

	cr_assert(!kernel_module_has_rule(tree.root, "nvme_tcp", false), "no rules at all");
	tree_file(&tree, "etc/modprobe.d/b.conf.old", "install nvme_tcp /bin/false\n");
	cr_assert(!kernel_module_has_rule(tree.root, "nvme_tcp", false));
	tree_file(&tree, "usr/lib/modprobe.d/c.conf", "install nvme-tcp /bin/false\n");
	cr_assert(kernel_module_has_rule(tree.root, "nvme_tcp", false));
	tree_free(&tree);
}

/* As kmod 30 answers `modprobe -c`. */
Test(modules, the_order_of_files_and_those_that_are_hidden)
{
	struct tree tree = tree_new();
	char text[64];

	tree_file(&tree, "usr/lib/modprobe.d/a.conf",
		"options nvme_tcp x=lib\ninstall nvme_tcp /bin/false\n");
	tree_file(&tree, "lib/modprobe.d/z.conf", "options nvme_tcp x=z\n");
	tree_file(&tree, "etc/modprobe.d/m.conf", "options nvme_tcp x=m\n");
	cr_assert(kernel_module_has_rule(tree.root, "nvme_tcp", false));
	kernel_module_options(tree.root, "nvme_tcp", "", text, sizeof(text));
	cr_assert_str_eq(text, "x=lib x=m x=z");
	tree_file(&tree, "etc/modprobe.d/a.conf", "options nvme_tcp x=etc\n");
	cr_assert_not(kernel_module_has_rule(tree.root, "nvme_tcp", false));
	kernel_module_options(tree.root, "nvme_tcp", "", text, sizeof(text));
	cr_assert_str_eq(text, "x=etc x=m x=z");
	tree_free(&tree);
}

Test(modules, options_of_the_machine)
{
	struct tree tree = rule("options ib-srp  cmd_sg_entries=255 \\\n  ch_count=2\noptions ib* "
				"x=1\noptions ib_srpt y=1\noptions ib_srp\n");
	char text[64];

	kernel_module_options(tree.root, "ib_srp", "ch_count=4", text, sizeof(text));
	cr_assert_str_eq(text, "cmd_sg_entries=255   ch_count=2 ch_count=4");
	kernel_module_options(tree.root, "rdma_cm", "", text, sizeof(text));
	cr_assert_str_eq(text, "");
	kernel_module_options(tree.root, "rdma_cm", "a=1", text, sizeof(text));
	cr_assert_str_eq(text, "a=1");
	kernel_module_options(tree.root, "ib_srp", "ch_count=4", text, 8);
	cr_assert_str_eq(text, "cmd_sg_", "cut, not overrun");
	tree_free(&tree);
}

Test(modules, missing_parts_are_distinguished)
{
	struct tree tree = tree_new();
	char *path[MODULE_FILES], many[4096] = "kernel/many.ko:";

	cr_assert_eq(kernel_module_files(tree.root, "6.1", "nbd", path), -ENODATA);
	tree_file(&tree, DEP, dep);
	cr_assert_eq(kernel_module_files(tree.root, "6.1", "nbd", path), -ENOENT);
	cr_assert_eq(kernel_module_files(tree.root, "6.2", "nvme", path), -ENODATA);
	for (int i = 0; i < MODULE_FILES; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), " kernel/m%d.ko", i);
	tree_file(&tree, DEP, many);
	cr_assert_eq(kernel_module_files(tree.root, "6.1", "many", path), -E2BIG);
	tree_free(&tree);
}

Test(modules, what_is_in_the_kernel_itself)
{
	struct tree tree = tree_new();

	cr_assert(!kernel_module_built_in(tree.root, "6.1", "nvme_tcp"));
	tree_file(&tree, "usr/lib/modules/6.1/modules.builtin",
		"kernel/drivers/nvme/host/nvme-tcp.ko\nkernel/lib/crc7.ko\n");
	cr_assert(kernel_module_built_in(tree.root, "6.1", "nvme_tcp"));
	cr_assert(kernel_module_built_in(tree.root, "6.1", "crc7"));
	cr_assert(!kernel_module_built_in(tree.root, "6.1", "tcp"));
	cr_assert(!kernel_module_built_in(tree.root, "6.2", "crc7"));
	tree_free(&tree);
}

Test(modules, lines_cut_anywhere_do_no_harm)
{
	struct tree tree = tree_new();
	char *path[MODULE_FILES], cut[sizeof(dep)];

	for (size_t len = 0; len < sizeof(dep); len++) {
		int count;

		snprintf(cut, len + 1, "%s", dep);
		tree_file(&tree, DEP, cut);
		count = kernel_module_files(tree.root, "6.1", "nvme_fabrics", path);
		if (count > 0)
			kernel_module_files_free(path, count);
	}
	tree_free(&tree);
}

Test(modules, nothing_is_loaded_into_another_root)
{
	struct tree tree = tree_new();

	text_says(kernel_module_load(tree.root, "nbd"), "running_system");
	text_says(kernel_module_load_files(tree.root, "nbd", ""), "/lib/modules");
	tree_free(&tree);
}

uid_t __wrap_geteuid(void);
int __wrap_child_run(char *const *argv, unsigned timeout_ms);

uid_t __wrap_geteuid(void)
{
	return 0;
}

static int modprobe; /* how it ends */

int __wrap_child_run(char *const *argv, unsigned timeout_ms)
{
	cr_assert_str_eq(argv[0], "modprobe");
	cr_assert_gt(timeout_ms, 0);
	return modprobe;
}

/* The boot tries again after the former, and not after the latter. */
Test(modules, a_slow_modprobe_is_no_missing_module)
{
	int root = open("/", O_PATH | O_CLOEXEC);
	struct diag why = { 0 };

	modprobe = -ETIMEDOUT;
	cr_assert_eq(kernel_module_missing("x", kernel_module_load(root, "x"), &why), -ETIMEDOUT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "x not_loaded modprobe");
	modprobe = 1;
	cr_assert_eq(kernel_module_missing(
			     "no_such_module", kernel_module_load(root, "no_such_module"), &why),
		-ENOENT);
	diag_says(&why, DIAG_NO_MODULE, NULL, "no_such_module");
	close(root);
}
