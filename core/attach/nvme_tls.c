/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The key of NVMe/TCP with TLS, from a file, a descriptor, the environment or the command line into
 * the kernel's keyring. */
#include "nvme_want.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "RDMASTOR_TLS_KEY"

bool nvmf_tls_is_key(const char *text)
{
	return !strncmp(text, "NVMeTLSkey-", 11);
}

static int read_key(struct nvmf_target *t, const struct nvmf_options *opts, const char *given,
	const char *file, struct diag *diag)
{
	const char *text = given ? given : getenv(VARIABLE);
	char key[NVMF_SECRET];
	int err = 0;

	if (opts->tls_of) {
		t->tls.psk = opts->tls_of->tls.psk;
		t->tls.from = opts->tls_of->tls.from;
		return 0;
	}
	t->tls.from = given ? "option" : opts->tls_key_fd ? "descriptor" : file ? file : VARIABLE;
	if (!given && (opts->tls_key_fd || file))
		err = nvmf_read_key(t->call, "--tls-key-fd", opts->tls_key_fd, file, key, diag);
	else
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, " \t"), text);
	if (!err)
		err = kernel_nvmf_psk_read(&t->tls.psk, "tls_key", key, diag);
	explicit_bzero(key, sizeof(key));
	return err;
}

/* As nvme-cli has it, the key may stand where its number could, and a name where that of the
 * keyring could. A number means that the key is in the kernel. */
int nvmf_tls_read(
	struct nvmf_target *t, const struct nvmf_options *opts, const char *file, struct diag *diag)
{
	const char **value = t->want.value, *key = value[NVMF_TLS_KEY], *ring = value[NVMF_KEYRING];
	bool text = key && nvmf_tls_is_key(key), ours = value[NVMF_TLS] && !key && getenv(VARIABLE);
	uint64_t number;
	int err = 0;

	t->tls.old = opts->tls_key_compat;
	t->tls.identity = opts->tls_key_identity;
	if (ring && *ring && parse_u64(ring, 0, UINT64_MAX, &number, NULL)) {
		t->tls.ring = ring;
		value[NVMF_KEYRING] = NULL;
	}
	if (opts->no_secrets)
		return 0;
	if (key && !text && (opts->tls_key_fd || file || t->tls.identity))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"tls_key %s names a key in the kernel: another key or identity can't be "
			"combined with it",
			key);
	if (text)
		value[NVMF_TLS_KEY] = NULL;
	if (opts->tls_of || text || opts->tls_key_fd || file || ours)
		err = read_key(t, opts, text ? key : NULL, file, diag);
	if (!err && (t->tls.psk.len || t->tls.identity))
		value[NVMF_TLS] = "";
	return err;
}

/* A key with an identity that a hash was applied to is the one of TLS itself, as others gave it
 * out. */
static int derive(const struct nvmf_target *t, struct nvmf_tls_key *tls)
{
	const struct nvmf_psk *psk = &t->tls.psk;

	if (!t->tls.identity || (psk->len && !psk->hash))
		return kernel_nvmf_psk_derive(
			psk, t->want.value[NVMF_HOSTNQN], t->want.value[NVMF_NQN], t->tls.old, tls);
	*tls = (struct nvmf_tls_key){ .len = psk->len };
	memcpy(tls->key, psk->key, psk->len);
	return (size_t)snprintf(tls->identity, sizeof(tls->identity), "%s", t->tls.identity) <
			       sizeof(tls->identity)
		       ? 0
		       : -EINVAL;
}

bool nvmf_tls_wanted(const struct nvmf_target *t)
{
	return t->tls.psk.len || t->tls.identity || t->tls.ring;
}

int nvmf_tls_insert(
	int root, const struct nvmf_target *t, int32_t *ring, int32_t *key, struct diag *diag)
{
	struct nvmf_tls_key tls;
	int err = kernel_nvmf_keyring(
		root, t->tls.ring ? t->tls.ring : t->want.value[NVMF_KEYRING], ring, diag);

	if (err || (!t->tls.psk.len && !t->tls.identity))
		return err;
	err = derive(t, &tls) ? diag_set(diag, DIAG_USAGE, EINVAL,
					"the host NQN and subsystem NQN are too long for a TLS key")
			      : kernel_nvmf_key(*ring, &tls, key, diag);
	explicit_bzero(tls.key, sizeof(tls.key));
	return err;
}

void nvmf_tls_numbers(struct nvmf_target *t, int32_t ring, int32_t key)
{
	static const enum nvmf_key keys[] = { NVMF_KEYRING, NVMF_TLS_KEY };
	const int32_t number[] = { ring, key };

	for (unsigned i = 0; i < 2; i++) {
		if (!number[i])
			continue;
		snprintf(t->tls.number[i], sizeof(t->tls.number[i]), "%d", number[i]);
		t->want.value[keys[i]] = t->tls.number[i];
	}
}

void nvmf_tls_identity(const struct nvmf_target *t, char *text, size_t len)
{
	struct nvmf_tls_key tls = { 0 };

	if (t->tls.psk.len || t->tls.identity)
		derive(t, &tls);
	snprintf(text, len, "%s", tls.identity);
	explicit_bzero(&tls, sizeof(tls));
}
