/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Remote ports: their timeouts read, held against the kernel's rules, written; and their removal.
 * What the order of writes is good for is tests/vm/srp-connect's, where the kernel looks at each.
 */
#include "kernel_srp.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PORT "sys/class/srp_remote_ports/port-6:1/"

static struct tree tree;
static struct diag why;

static void setup(void)
{
	tree = tree_new();
	why = (struct diag){ 0 };
	tree_file(&tree, PORT "state", "blocked\n");
	tree_file(&tree, PORT "reconnect_delay", "10\n");
	tree_file(&tree, PORT "fast_io_fail_tmo", "15\n");
	tree_file(&tree, PORT "dev_loss_tmo", "off\n");
	tree_file(&tree, PORT "failed_reconnects", "3\n");
	tree_file(&tree, PORT "delete", "");
	tree_file(&tree, "sys/class/srp_remote_ports/port-61:1/state", "lost\n");
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(srp_rport, .init = setup, .fini = fini);

static void holds(const char *path, const char *text)
{
	char got[64] = "";
	int fd = openat(tree.root, path, O_RDONLY);

	cr_assert_geq(read(fd, got, sizeof(got) - 1), 0);
	close(fd);
	cr_assert_eq(strncmp(got, text, strlen(text)), 0, "%s: '%s'", path, got);
}

Test(srp_rport, is_read)
{
	struct srp_rport rport;

	cr_assert_eq(kernel_srp_rport(tree.root, 6, &rport), 0);
	cr_assert_str_eq(rport.name, "port-6:1");
	cr_assert_str_eq(rport.state, "blocked");
	cr_assert_eq(rport.tmo.reconnect_delay, 10);
	cr_assert_eq(rport.tmo.fast_io_fail_tmo, 15);
	cr_assert_eq(rport.tmo.dev_loss_tmo, VALUE_OFF);
	cr_assert_eq(rport.failed_reconnects, 3);
	cr_assert_eq(kernel_srp_rport(tree.root, 61, &rport), 0);
	cr_assert_eq(rport.tmo.dev_loss_tmo, VALUE_UNKNOWN);
	cr_assert_eq(kernel_srp_rport(tree.root, 7, &rport), -ENOENT);
}

Test(srp_rport, defaults_are_the_modules)
{
	struct srp_tmo tmo;

	kernel_srp_tmo_default(tree.root, &tmo);
	cr_assert(
		tmo.reconnect_delay == 10 && tmo.fast_io_fail_tmo == 15 && tmo.dev_loss_tmo == 600);
	tree_file(&tree, "sys/module/ib_srp/parameters/dev_loss_tmo", "off\n");
	tree_file(&tree, "sys/module/ib_srp/parameters/fast_io_fail_tmo", "7\n");
	kernel_srp_tmo_default(tree.root, &tmo);
	cr_assert(tmo.reconnect_delay == 10 && tmo.fast_io_fail_tmo == 7 &&
		  tmo.dev_loss_tmo == VALUE_OFF);
}

static void rule(int delay, int fail, int loss, const char *words)
{
	const struct srp_tmo tmo = { delay, fail, loss };

	why = (struct diag){ 0 };
	cr_assert_eq(kernel_srp_tmo_check(&tmo, &why), -why.err, "%d %d %d", delay, fail, loss);
	diag_says(&why, words ? DIAG_USAGE : DIAG_NONE, NULL, words ? words : "");
}

/* srp_tmo_valid() of Linux 6.12, each edge from both sides */
Test(srp_rport, rules)
{
	rule(10, 15, 600, NULL);
	rule(1, 0, 1, NULL);
	rule(VALUE_OFF, VALUE_OFF, 600, NULL);
	rule(VALUE_OFF, 600, VALUE_OFF, NULL);
	rule(10, VALUE_OFF, VALUE_OFF, NULL);
	rule(10, 600, 601, NULL);
	rule(0, 15, 600, "reconnect_delay 1 off");
	rule(10, 601, 700, "fast_io_fail_tmo 0_to_600 off");
	rule(10, VALUE_OFF, 601, "dev_loss_tmo 0_to_600 fast_io_fail_tmo off");
	rule(10, 15, 15, "fast_io_fail_tmo 15 dev_loss_tmo 15");
	rule(VALUE_OFF, VALUE_OFF, VALUE_OFF, "reconnect_delay fast_io_fail_tmo dev_loss_tmo off");
}

Test(srp_rport, what_is_given_is_written)
{
	const struct srp_tmo some = { VALUE_UNKNOWN, 5, VALUE_UNKNOWN },
			     all = { VALUE_OFF, VALUE_OFF, 30 },
			     wrong = { VALUE_UNKNOWN, 700, VALUE_UNKNOWN };

	cr_assert_eq(kernel_srp_tmo_set(tree.root, 6, &some, &why), 0, "%s", why.text);
	holds(PORT "reconnect_delay", "10");
	holds(PORT "fast_io_fail_tmo", "5");
	holds(PORT "dev_loss_tmo", "off");
	cr_assert_eq(kernel_srp_tmo_set(tree.root, 6, &all, &why), 0, "%s", why.text);
	holds(PORT "reconnect_delay", "off");
	holds(PORT "fast_io_fail_tmo", "off");
	holds(PORT "dev_loss_tmo", "30");
	cr_assert_eq(kernel_srp_tmo_set(tree.root, 6, &wrong, &why), -ERANGE);
	cr_assert_eq(kernel_srp_tmo_set(tree.root, 7, &some, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "host7 SRP");
	cr_assert_eq(kernel_srp_tmo_set(tree.root, 61, &some, &why), -EOPNOTSUPP);
}

Test(srp_rport, is_removed)
{
	cr_assert_eq(kernel_srp_delete(tree.root, 7), -ENOENT);
	cr_assert_eq(kernel_srp_delete(tree.root, 6), 0);
	holds(PORT "delete", "1");
	cr_assert_eq(unlinkat(tree.root, PORT "delete", 0), 0);
	tree_dir(&tree, PORT "delete");
	cr_assert_eq(kernel_srp_delete(tree.root, 6), -EISDIR);
}
