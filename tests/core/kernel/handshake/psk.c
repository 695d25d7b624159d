/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of a kernel that the test plays: descriptions, rights, lengths. */
/* Link: syscall */
#include "kernel_handshake.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/keyctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define ID1 "NVMe1R01 nqn.h nqn.s digest="
#define ID2 "NVMe0R02 nqn.h nqn.s"

#define RING 99

static const char *description; /* NULL: there is no such key */
static const char *others[4];   /* of keys with the numbers from 1; the search finds the first */
static long key_len;            /* < 0: -errno */
static long linked;             /* to this thread */

static long read_ring(int32_t *to, long room)
{
	static const int32_t serial[] = { 1, 2, 3, 4 };
	long len = 0;

	for (unsigned i = 0; i < 4 && others[i]; i++)
		len += (long)sizeof(serial[0]);
	if (to)
		memcpy(to, serial, (size_t)(len < room ? len : room));
	return len;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	long arg[5];
	const char *text;
	va_list args;
	size_t len;

	va_start(args, number);
	for (unsigned i = 0; i < 5; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number != SYS_keyctl)
		return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
	errno = ENOKEY;
	switch (arg[0]) {
	case KEYCTL_DESCRIBE:
		text = arg[1] >= 1 && arg[1] <= 4 && others[arg[1] - 1] ? others[arg[1] - 1]
									: description;
		if (!text)
			return -1;
		len = strlen(text) + 1;
		memcpy((void *)arg[2], text, len < (size_t)arg[3] ? len : (size_t)arg[3]);
		return (long)len;
	case KEYCTL_READ:
		if (arg[1] == RING)
			return read_ring((int32_t *)arg[2], arg[3]);
		errno = (int)-key_len;
		if (key_len < 0)
			return -1;
		memset((void *)arg[2], 7, (size_t)(key_len < arg[3] ? key_len : arg[3]));
		return key_len;
	case KEYCTL_LINK:
		cr_assert_eq(arg[2], KEY_SPEC_THREAD_KEYRING);
		linked = arg[1];
		return 0;
	case KEYCTL_SEARCH:
		cr_assert_eq(arg[1], linked);
		cr_assert_str_eq((const char *)arg[2], "psk");
		for (int i = 0; i < 4 && others[i]; i++)
			if (strstr(others[i], (const char *)arg[3]))
				return i + 1;
		return description && strstr(description, (const char *)arg[3]) ? 0x77 : -1;
	default:
		cr_assert(false, "keyctl %ld", arg[0]);
		return -1;
	}
}

static struct diag why;
static struct kernel_psk psk;

Test(psk, read_by_number)
{
	description = "psk;0;0;3f030000;" ID1;
	key_len = 32;
	cr_assert_eq(kernel_psk_read(5, &psk, &why), 0, "%s", why.text);
	cr_assert(psk.serial == 5 && psk.len == 32 && !psk.sha384 && psk.key[31] == 7);
	cr_assert_str_eq(psk.identity, ID1);
	description = "psk;0;0;3f030000;" ID2;
	key_len = 48;
	cr_assert_eq(kernel_psk_read(5, &psk, &why), 0);
	cr_assert(psk.len == 48 && psk.sha384);
}

Test(psk, no_such_key)
{
	char longer[800];

	description = NULL;
	cr_assert_eq(kernel_psk_read(0x1a2b, &psk, &why), -ENOKEY);
	diag_says(&why, DIAG_NOT_FOUND, NULL, "number 00001a2b");
	description = "user;0;0;3f030000;" ID1;
	cr_assert_eq(kernel_psk_read(5, &psk, &why), -ENOKEY);
	description = "psk;0;0;3f030000;";
	cr_assert_eq(kernel_psk_read(5, &psk, &why), -ENOKEY);
	description = longer;
	for (size_t len = KERNEL_PSK_IDENTITY; len < sizeof(longer) - 18; len++) {
		snprintf(longer, sizeof(longer), "psk;0;0;3f030000;%0*d", (int)len, 1);
		cr_assert_eq(kernel_psk_read(5, &psk, &why), -ENAMETOOLONG, "%zu", len);
	}
}

Test(psk, keys_that_cant_be_used)
{
	static const long lengths[] = { 0, 49, 4096 };

	description = "psk;0;0;3f030000;" ID1;
	for (unsigned i = 0; i < 3; i++) {
		key_len = lengths[i];
		cr_assert_eq(kernel_psk_read(5, &psk, &why), -EKEYREJECTED);
		cr_assert_eq(psk.len, 0);
	}
	key_len = -EACCES;
	cr_assert_eq(kernel_psk_read(0x55, &psk, &why), -EACCES);
	text_says(why.text, "key 00000055");
}

Test(psk, found_by_its_identity)
{
	description = "psk;0;0;3f030000;" ID2;
	key_len = 48;
	cr_assert_eq(kernel_psk_find(RING, ID2, &psk), 0);
	cr_assert(linked == RING && psk.serial == 0x77 && psk.sha384);
	cr_assert_eq(kernel_psk_find(RING, ID1, &psk), -ENOKEY);
	cr_assert_eq(psk.len, 0);
}

/* The kernel compares only the beginning of a description. */
Test(psk, identities_that_begin_alike)
{
	others[0] = "psk;0;0;3f030000;" ID2 "2";
	others[1] = "user;0;0;3f030000;" ID2;
	others[2] = "psk;0;0;3f030000;" ID2 " x";
	key_len = 48;
	cr_assert_eq(kernel_psk_find(RING, ID2 "2", &psk), 0);
	cr_assert_eq(psk.serial, 1);
	cr_assert_eq(kernel_psk_find(RING, ID2, &psk), -ENOKEY);
	cr_assert_eq(psk.len, 0);
	others[3] = "psk;0;0;3f030000;" ID2;
	cr_assert_eq(kernel_psk_find(RING, ID2, &psk), 0);
	cr_assert_eq(psk.serial, 4);
	cr_assert_str_eq(psk.identity, ID2);
}

Test(psk, hashes)
{
	cr_assert(kernel_psk_is_sha384("NVMe1R02 a b c", 32), "the identity decides");
	cr_assert(kernel_psk_is_sha384("NVMe1G02 a b c", 0));
	cr_assert_not(kernel_psk_is_sha384("NVMe1R01 a b c", 48));
	cr_assert_not(kernel_psk_is_sha384("NVMe1R0", 32));
	cr_assert(kernel_psk_is_sha384("alice", 48));
	cr_assert_not(kernel_psk_is_sha384("alice", 32));
}
