/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The TLS key of NVMe/TCP: from a file, a descriptor, the environment or the command line into the
 * kernel's keyring. */
#include "nvme_target.h"
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

	if (opts->tls_source) {
		t->tls.psk = opts->tls_source->tls.psk;
		t->tls.from = opts->tls_source->tls.from;
		return 0;
	}
	t->tls.from = given ? "option" : opts->tls_key_fd ? "descriptor" : file ? file : VARIABLE;
	if (!given && (opts->tls_key_fd || file))
		err = nvmf_read_key(
			&t->env->notes, "--tls-key-fd", opts->tls_key_fd, file, key, diag);
	else
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, " \t"), text);
	if (!err)
		err = nvme_key_parse(&t->tls.psk, NVME_KEY_TLS, "tls_key", key, diag);
	explicit_bzero(key, sizeof(key));
	return err;
}

/* As in nvme-cli, --tls-key takes a serial number or the key, --keyring a serial number or a name.
 * A serial number means that the key is in the kernel. */
int nvmf_tls_read(
	struct nvmf_target *t, const struct nvmf_options *opts, const char *file, struct diag *diag)
{
	const char **value = t->params.value, *key = value[NVMF_TLS_KEY],
		   *ring = value[NVMF_KEYRING];
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
	if (opts->tls_source || text || opts->tls_key_fd || file || ours)
		err = read_key(t, opts, text ? key : NULL, file, diag);
	if (!err && (t->tls.psk.len || t->tls.identity))
		value[NVMF_TLS] = "";
	return err;
}

/* A key with an identity and a hash is a derived TLS key, as other tools export it. */
static int derive(const struct nvmf_target *t, struct nvme_psk *tls)
{
	const struct nvme_key *psk = &t->tls.psk;

	if (!t->tls.identity || (psk->len && !psk->hash))
		return nvme_psk_derive(psk, t->params.value[NVMF_HOSTNQN],
			t->params.value[NVMF_NQN], &(struct nvme_psk_form){ .old = t->tls.old },
			tls);
	*tls = (struct nvme_psk){ .len = psk->len };
	memcpy(tls->key, psk->key, psk->len);
	return (size_t)snprintf(tls->identity, sizeof(tls->identity), "%s", t->tls.identity) <
			       sizeof(tls->identity)
		       ? 0
		       : -EINVAL;
}

bool nvmf_tls_uses_keyring(const struct nvmf_target *t)
{
	return t->tls.psk.len || t->tls.identity || t->tls.ring;
}

int nvmf_tls_insert(
	int root, const struct nvmf_target *t, struct nvmf_ring_key *key, struct diag *diag)
{
	struct nvme_psk tls;
	int err = kernel_nvmf_keyring(
		root, t->tls.ring ? t->tls.ring : t->params.value[NVMF_KEYRING], &key->ring, diag);

	if (err || (!t->tls.psk.len && !t->tls.identity))
		return err;
	err = derive(t, &tls) ? diag_set(diag, DIAG_USAGE, EINVAL,
					"the host NQN and subsystem NQN are too long for a TLS key")
			      : kernel_nvmf_key(key->ring, &tls, key, diag);
	explicit_bzero(tls.key, sizeof(tls.key));
	return err;
}

void nvmf_tls_numbers(struct nvmf_target *t, const struct nvmf_ring_key *key)
{
	static const enum nvmf_key keys[] = { NVMF_KEYRING, NVMF_TLS_KEY };
	const int32_t number[] = { key->ring, key->number };

	for (unsigned i = 0; i < 2; i++) {
		if (!number[i])
			continue;
		snprintf(t->tls.number[i], sizeof(t->tls.number[i]), "%d", number[i]);
		t->params.value[keys[i]] = t->tls.number[i];
	}
}

void nvmf_tls_identity(const struct nvmf_target *t, char *text, size_t len)
{
	struct nvme_psk tls = { 0 };

	if (t->tls.psk.len || t->tls.identity)
		derive(t, &tls);
	snprintf(text, len, "%s", tls.identity);
	explicit_bzero(&tls, sizeof(tls));
}
