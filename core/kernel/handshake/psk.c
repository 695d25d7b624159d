/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pre-shared keys in the kernel's keyrings: keys of type "psk", whose description is the identity.
 * A key can be read by a process that has a keyring with it. */
#include "kernel_handshake.h"
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long keyctl(int what, long a, long b, long c, long d)
{
	return syscall(SYS_keyctl, what, a, b, c, d);
}

/* "psk;0;0;3f030000;NVMe0R02 …": type, owner, group, rights, description. */
int kernel_psk_identity(int32_t serial, char identity[KERNEL_PSK_IDENTITY])
{
	char text[KERNEL_PSK_IDENTITY + 64];
	long len = keyctl(KEYCTL_DESCRIBE, serial, (long)text, sizeof(text) - 1, 0);
	int at = 0;

	if (len < 0)
		return -errno;
	if (len >= (long)sizeof(text))
		return -ENAMETOOLONG;
	text[len] = 0;
	sscanf(text, "psk;%*d;%*d;%*x;%n", &at);
	if (!at || !text[at])
		return -ENOKEY;
	return (size_t)snprintf(identity, KERNEL_PSK_IDENTITY, "%s", text + at) <
			       KERNEL_PSK_IDENTITY
		       ? 0
		       : -ENAMETOOLONG;
}

bool kernel_psk_is_sha384(const char *identity, unsigned len)
{
	return !strncmp(identity, "NVMe", 4) && strlen(identity) > 8
		       ? !strncmp(identity + 6, "02", 2)
		       : len == 48;
}

static int read_key(int32_t serial, struct kernel_psk *psk)
{
	uint8_t bytes[sizeof(psk->key) + 1];
	long len = keyctl(KEYCTL_READ, serial, (long)bytes, sizeof(bytes), 0);
	int err = len < 0 ? -errno : len == 0 || len > (long)sizeof(psk->key) ? -EKEYREJECTED : 0;

	if (!err) {
		memcpy(psk->key, bytes, (size_t)len);
		psk->len = (uint8_t)len;
	}
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

static int read_psk(int32_t serial, struct kernel_psk *psk)
{
	int err;

	*psk = (struct kernel_psk){ .serial = serial };
	err = kernel_psk_identity(serial, psk->identity);
	if (!err)
		err = read_key(serial, psk);
	psk->sha384 = !err && kernel_psk_is_sha384(psk->identity, psk->len);
	return err;
}

int kernel_psk_read(int32_t serial, struct kernel_psk *psk, struct diag *diag)
{
	int err = read_psk(serial, psk);

	if (err == -ENOKEY)
		return diag_set(diag, DIAG_NOT_FOUND, ENOKEY,
			"the kernel has no pre-shared key of number %08x", (unsigned)serial);
	return err ? diag_sys(diag, -err, "read the kernel's key %08x", (unsigned)serial) : 0;
}

static bool has_identity(int32_t serial, const char *identity)
{
	char text[KERNEL_PSK_IDENTITY];

	return !kernel_psk_identity(serial, text) && !strcmp(text, identity);
}

static int32_t find_in_list(const int32_t *serial, size_t count, const char *identity)
{
	for (size_t i = 0; i < count; i++)
		if (has_identity(serial[i], identity))
			return serial[i];
	return -ENOKEY;
}

/* The keyring may grow between the two reads: the list is cut. */
static int32_t look_through(int32_t ring, const char *identity)
{
	long room = keyctl(KEYCTL_READ, ring, 0, 0, 0), len;
	int32_t *list, found;

	if (room < 0)
		return -errno;
	list = malloc((size_t)room + 1);
	if (!list)
		return -ENOMEM;
	len = keyctl(KEYCTL_READ, ring, (long)list, room, 0);
	if (len < 0)
		found = -errno;
	else
		found = find_in_list(
			list, (size_t)(len < room ? len : room) / sizeof(*list), identity);
	free(list);
	return found;
}

/* The kernel's search also finds a key whose description only begins with the identity. */
int32_t kernel_psk_serial(int32_t ring, const char *identity)
{
	long serial = keyctl(KEYCTL_SEARCH, ring, (long)"psk", (long)identity, 0);

	if (serial < 0 && errno == ENOKEY)
		return -ENOKEY;
	return serial > 0 && has_identity((int32_t)serial, identity) ? (int32_t)serial
								     : look_through(ring, identity);
}

int kernel_psk_find(int32_t ring, const char *identity, struct kernel_psk *psk)
{
	int32_t serial;

	*psk = (struct kernel_psk){ 0 };
	if (keyctl(KEYCTL_LINK, ring, KEY_SPEC_THREAD_KEYRING, 0, 0))
		return -errno;
	serial = kernel_psk_serial(ring, identity);
	return serial < 0 ? serial : read_psk(serial, psk);
}
