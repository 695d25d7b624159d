/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Link: syscall */
#include "kernel_nvmf.h"
#include "nvme_tree.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/keyctl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

static struct diag why;

/* Two keys of keyring 99. The search finds the first one that begins with the identity. */
static const char *const keys[] = { "psk;0;0;3f030000;NVMe0R01 h s2",
	"psk;0;0;3f030000;NVMe0R01 h s" };
static unsigned present, added;
static long removed[2];

static long keyctl(const long arg[5])
{
	static const int32_t serial[] = { 1, 2 };
	const char *wanted = (const char *)arg[3];

	errno = ENOKEY;
	switch (arg[0]) {
	case KEYCTL_LINK:
		return 0;
	case KEYCTL_UNLINK:
		memcpy(removed, arg + 1, sizeof(removed));
		return 0;
	case KEYCTL_SEARCH:
		for (unsigned i = 0; i < present; i++)
			if (!strncmp(keys[i] + 17, wanted, strlen(wanted)))
				return i + 1;
		return -1;
	case KEYCTL_DESCRIBE:
		strcpy((char *)arg[2], keys[arg[1] - 1]);
		return (long)strlen(keys[arg[1] - 1]) + 1;
	default:
		cr_assert_eq(arg[0], KEYCTL_READ);
		if (arg[1] != 99)
			memset((void *)arg[2], 7, 32);
		else if (arg[2])
			memcpy((void *)arg[2], serial, present * sizeof(serial[0]));
		return arg[1] == 99 ? (long)(present * sizeof(serial[0])) : 32;
	}
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long arg[5];
	va_list args;

	va_start(args, number);
	for (unsigned i = 0; i < 5; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_keyctl)
		return keyctl(arg);
	if (number != SYS_add_key)
		return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
	added++;
	return 0x55;
}

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

Test(nvme_keyring, identities_that_begin_alike)
{
	struct nvme_psk tls = { .identity = "NVMe0R01 h s" };
	struct nvmf_ring_key key;

	present = 1;
	cr_assert_eq(kernel_nvmf_key(99, &tls, &key, &why), -ENOKEY);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "no TLS key 'NVMe0R01 h s'");
	tls.len = 32;
	memset(tls.key, 7, 32);
	cr_assert_eq(kernel_nvmf_key(99, &tls, &key, &why), 0);
	cr_assert(added == 1 && key.number == 0x55 && key.ring == 99 && key.added);
	present = 2;
	cr_assert_eq(kernel_nvmf_key(99, &tls, &key, &why), 0);
	cr_assert(added == 1 && key.number == 2 && !key.added);
	tls.len = 0;
	cr_assert_eq(kernel_nvmf_key(99, &tls, &key, &why), 0);
	cr_assert_eq(key.number, 2);
	memset(tls.key, 8, 32);
	tls.len = 32;
	cr_assert_eq(kernel_nvmf_key(99, &tls, &key, &why), 0);
	cr_assert(added == 2 && key.number == 0x55 && !key.added, "it replaces another");
}

static bool is_removed(const struct tree *tree)
{
	const struct nvmf_ring_key key = { .ring = 99, .number = 0x1a2b, .added = true };

	memset(removed, 0, sizeof(removed));
	kernel_nvmf_key_remove(tree->root, &key);
	return removed[0] == 0x1a2b && removed[1] == 99;
}

Test(nvme_keyring, a_key_in_use_stays)
{
	static const char *const names[] = { "sys/class/nvme/nvme1/tls_key",
		"sys/class/nvme/nvme1/tls_configured_key" };
	struct tree tree = tree_new();

	cr_assert(is_removed(&tree), "no controller");
	nvme_tree_ctrl(&tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	cr_assert(is_removed(&tree), "a controller without TLS");
	tree_file(&tree, names[0], "\n");
	cr_assert(!is_removed(&tree), "a controller whose key is unknown");
	tree_file(&tree, names[1], "00001a2b\n");
	cr_assert(!is_removed(&tree), "a controller that connects with it");
	tree_file(&tree, names[1], "00001a2c\n");
	cr_assert(is_removed(&tree), "a controller that connects with another one");
	tree_file(&tree, names[0], "00001a2b\n");
	cr_assert(!is_removed(&tree), "a controller that uses it");
	tree_file(&tree, names[0], "00001a2c\n");
	cr_assert(is_removed(&tree), "a controller that uses another one");
	tree_free(&tree);
}
