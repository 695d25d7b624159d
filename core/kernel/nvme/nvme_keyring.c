/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find, add and remove TLS keys in the kernel's keyrings (keyrings(7)), where its NVMe/TCP driver
 * and tlshd look for them. */
#include "kernel_handshake.h"
#include "kernel_nvmf.h"
#include "kernel_sys.h"
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_RING ".nvme"
#define TYPE         "psk"

/* "3f2a1b0c I------     1 perm 1f0b0000     0     0 keyring   .nvme: empty" (proc(5)). Any user may
 * give a keyring any name: only those of root and of this user count. */
static int32_t ring_of_line(const char *line, const char *name)
{
	size_t len = strlen(name);
	char flags[8], type[12];
	unsigned serial, uid;
	int at = 0;

	if (sscanf(line, "%x %7s %*s %*s %*s %u %*s %11s %n", &serial, flags, &uid, type, &at) !=
			4 ||
		!at || strcmp(type, "keyring") || strpbrk(flags, "RD") ||
		(uid && uid != geteuid()) || strncmp(line + at, name, len) || line[at + len] != ':')
		return 0;
	return (int32_t)serial;
}

static int no_ring(const char *name, struct diag *diag)
{
	diag_set(diag, DIAG_NOT_FOUND, ENOKEY, "no keyring '%s' of root or this user in the kernel",
		name);
	if (strcmp(name, DEFAULT_RING))
		return -ENOKEY;
	return diag_hint(diag, "NVMe/TCP with TLS needs Linux 6.7 or later with "
			       "CONFIG_NVME_TCP_TLS");
}

int kernel_nvmf_keyring(int root, const char *name, int32_t *ring, struct diag *diag)
{
	char *text, *rest, *line;
	uint64_t number;

	name = name ? name : DEFAULT_RING;
	*ring = 0;
	if (!parse_u64(name, 1, INT32_MAX, &number, NULL)) {
		*ring = (int32_t)number;
		return 0;
	}
	text = rest = kernel_sys_read_all(root, "proc/keys");
	if (!text)
		return diag_sys(diag, errno, "read /proc/keys");
	while (!*ring && (line = strsep(&rest, "\n")))
		*ring = ring_of_line(line, name);
	free(text);
	return *ring ? 0 : no_ring(name, diag);
}

static long keyctl(int what, long a, long b, long c, long d)
{
	return syscall(SYS_keyctl, what, a, b, c, d);
}

static bool holds(int32_t key, const struct nvme_psk *tls)
{
	uint8_t bytes[sizeof(tls->key) + 1];
	long len = keyctl(KEYCTL_READ, key, (long)bytes, sizeof(bytes), 0);
	bool same = len == (long)tls->len && !memcmp(bytes, tls->key, tls->len);

	explicit_bzero(bytes, sizeof(bytes));
	return same;
}

static int refused(int32_t ring, int err, struct diag *diag)
{
	switch (err) {
	case ENODEV:
		return diag_set(diag, DIAG_UNSUPPORTED, err,
			"this kernel does not support TLS keys for NVMe/TCP");
	case ENOKEY:
	case ENOTDIR:
	case EKEYREVOKED:
		return diag_set(diag, DIAG_NOT_FOUND, err, "no keyring %d", ring);
	case EACCES:
	case EPERM:
		return diag_set(diag, DIAG_PERMISSION, err,
			"permission denied: only root can add a TLS key to keyring %d", ring);
	default:
		return diag_sys(diag, err, "add the TLS key to keyring %d", ring);
	}
}

/* Version 1 without its last word, which the kernel's search completes. */
static bool is_prefix(const char *identity)
{
	size_t len = strlen(identity);

	return len && identity[len - 1] == ' ';
}

/* A key is readable only with possession of its keyring: link the keyring to this process. */
int kernel_nvmf_key(
	int32_t ring, const struct nvme_psk *tls, struct nvmf_ring_key *key, struct diag *diag)
{
	long found;

	if (keyctl(KEYCTL_LINK, ring, KEY_SPEC_PROCESS_KEYRING, 0, 0))
		return refused(ring, errno, diag);
	found = kernel_psk_serial(ring, tls->identity);
	if (!tls->len && found <= 0 && is_prefix(tls->identity))
		found = keyctl(KEYCTL_SEARCH, ring, (long)TYPE, (long)tls->identity, 0);
	if (!tls->len && found <= 0)
		return diag_set(diag, DIAG_NOT_FOUND, ENOKEY, "keyring %d has no TLS key '%s'",
			ring, tls->identity);
	key->added = found <= 0;
	if (key->added || (tls->len && !holds((int32_t)found, tls)))
		found = syscall(SYS_add_key, TYPE, tls->identity, tls->key, (size_t)tls->len, ring);
	if (found < 0)
		return refused(ring, errno, diag);
	key->ring = ring;
	key->number = (int32_t)found;
	return 0;
}

/* Some kernels report no key of a controller that is connecting. */
static bool may_use(const struct nvmf_ctrl *ctrl, int32_t key)
{
	return ctrl->tls_key == key || ctrl->tls_configured_key == key ||
	       (ctrl->tls && !ctrl->tls_key && !ctrl->tls_configured_key);
}

int kernel_nvmf_key_remove(int root, const struct nvmf_ring_key *key)
{
	struct nvmf_ctrl *ctrls;
	unsigned count;
	bool used = false;
	int err = kernel_nvmf_list(root, &ctrls, &count, NULL);

	if (err)
		return err;
	for (unsigned i = 0; i < count; i++)
		used |= may_use(&ctrls[i], key->number);
	free(ctrls);
	return used || !keyctl(KEYCTL_UNLINK, key->number, key->ring, 0, 0) ? 0 : -errno;
}
