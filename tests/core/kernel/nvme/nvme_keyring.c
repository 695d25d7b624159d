/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "kernel_nvmf.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>

static struct diag why;

Test(nvme_keyring, keyrings_by_name)
{
	struct tree tree = tree_new();
	int32_t ring;

	cr_assert_eq(kernel_nvmf_keyring(tree.root, NULL, &ring, &why), -ENOENT);
	tree_file(&tree, "proc/keys",
		"01f2a1b0 I--Q---     3 perm 1f3f0000     0 65534 keyring   _uid.0: empty\n"
		"02222222 I------     1 perm 1f0b0000     0     0 keyring   .nvmes: empty\n"
		"03333333 IR-----     1 perm 1f0b0000     0     0 keyring   .nvme: empty\n"
		"04444444 I------     1 expd 1f0b0000     0     0 psk       .nvme: 32\n"
		"06666666 I------     1 perm 3f3f0000  4711  4711 keyring   .nvme: 1\n"
		"07777777 I------     1 perm 3f3f0000  4711     0 keyring   my ring: 1\n"
		"08888888 I------     1 perm 3f3f0000  4711  4711 keyring   another's: 1\n"
		"2f3f4f5f I------     1 perm 1f0b0000     0     0 keyring   .nvme: 1\n"
		"05555555 I------     1 perm 1f0b0000     0     0 keyring   my ring: 1\n"
		"cut\n");
	cr_assert_eq(kernel_nvmf_keyring(tree.root, NULL, &ring, &why), 0, "%s", why.text);
	cr_assert_eq(ring, 0x2f3f4f5f);
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "my ring", &ring, &why), 0);
	cr_assert_eq(ring, 0x05555555);
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "77", &ring, &why), 0);
	cr_assert_eq(ring, 77);
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "none", &ring, &why), -ENOKEY);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "keyring 'none'");
	cr_assert_eq(kernel_nvmf_keyring(tree.root, "another's", &ring, &why), -ENOKEY);
	tree_file(&tree, "proc/keys", "");
	cr_assert_eq(kernel_nvmf_keyring(tree.root, NULL, &ring, &why), -ENOKEY);
	text_says(why.hint, "CONFIG_NVME_TCP_TLS");
	tree_free(&tree);
}
