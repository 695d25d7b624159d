/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The key of NVMe/TCP with TLS, from a file, a descriptor, the environment or the command line into
 * the kernel's keyring. */
#include "nvmf_tls.h"
#include "secret.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "RDMASTOR_TLS_KEY"

bool nvmf_tls_is_key(const char *text)
{
	return !strncmp(text, "NVMeTLSkey-", 11);
}

/* As nvme-cli has it, the key may stand where its number could. */
static const char *take_text(struct nvmf_target *t)
{
	const char *text = t->want.value[NVMF_TLS_KEY];

	if (!text || !nvmf_tls_is_key(text))
		return NULL;
	t->want.value[NVMF_TLS_KEY] = NULL;
	return text;
}

static void take_ring(struct nvmf_target *t)
{
	const char *ring = t->want.value[NVMF_KEYRING];
	uint64_t number;

	if (!ring || !*ring || !parse_u64(ring, 0, UINT64_MAX, &number, NULL))
		return;
	t->tls.ring = ring;
	t->want.value[NVMF_KEYRING] = NULL;
}

static int read_key(struct nvmf_target *t, const char *text, struct diag *diag)
{
	char word[NVMF_SECRET];
	int err;

	snprintf(word, sizeof(word), "%s", text);
	word[strcspn(word, " \t")] = 0;
	err = kernel_nvmf_psk_read(&t->tls.psk, "tls_key", word, diag);
	explicit_bzero(word, sizeof(word));
	return err;
}

static int read_from(struct nvmf_target *t, const struct call *call,
	const struct nvmf_options *opts, const char *file, struct diag *diag)
{
	const char *given = take_text(t), *variable = getenv(VARIABLE);
	char text[NVMF_SECRET];
	int err;

	if (opts->tls_of) {
		t->tls.psk = opts->tls_of->tls.psk;
		t->tls.from = opts->tls_of->tls.from;
		return 0;
	}
	if (given || (!opts->tls_key_fd && !file)) {
		t->tls.from = given ? "option" : VARIABLE;
		return read_key(t, given ? given : variable, diag);
	}
	t->tls.from = opts->tls_key_fd ? "descriptor" : file;
	if (opts->tls_key_fd)
		err = secret_of_fd("--tls-key-fd", opts->tls_key_fd, text, sizeof(text), diag);
	else
		err = secret_of_file(call, file, text, sizeof(text), diag);
	if (!err)
		err = read_key(t, text, diag);
	explicit_bzero(text, sizeof(text));
	return err;
}

int nvmf_tls_read(struct nvmf_target *t, const struct call *call, const struct nvmf_options *opts,
	const char *file, struct diag *diag)
{
	const char *key = t->want.value[NVMF_TLS_KEY];
	bool text = key && nvmf_tls_is_key(key),
	     ours = t->want.value[NVMF_TLS] && !key && getenv(VARIABLE);
	int err = 0;

	t->tls.old = opts->tls_key_compat;
	t->tls.identity = opts->tls_key_identity;
	take_ring(t);
	if (opts->no_secrets)
		return 0;
	/* a number says that the key is there already */
	if (key && !text && (opts->tls_key_fd || file || t->tls.identity))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"tls_key %s names a key in the kernel: another key or identity can't be "
			"combined with it",
			key);
	if (opts->tls_of || text || opts->tls_key_fd || file || ours)
		err = read_from(t, call, opts, file, diag);
	if (!err && (t->tls.psk.len || t->tls.identity))
		t->want.value[NVMF_TLS] = "";
	return err;
}

/* A key of which it is said how it is called, and that a hash was applied to, is the one of TLS
 * itself, as others gave it out. */
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

int nvmf_tls_insert(int root, struct nvmf_target *t, struct diag *diag)
{
	struct nvmf_tls_key tls;
	int32_t ring, key;
	int err;

	if (!t->tls.psk.len && !t->tls.identity && !t->tls.ring)
		return 0;
	err = kernel_nvmf_keyring(
		root, t->tls.ring ? t->tls.ring : t->want.value[NVMF_KEYRING], &ring, diag);
	if (err)
		return err;
	snprintf(t->tls.number[0], sizeof(t->tls.number[0]), "%d", ring);
	t->want.value[NVMF_KEYRING] = t->tls.number[0];
	if (!t->tls.psk.len && !t->tls.identity)
		return 0;
	err = derive(t, &tls) ? diag_set(diag, DIAG_USAGE, EINVAL,
					"the host NQN and subsystem NQN are too long for a TLS key")
			      : kernel_nvmf_key(ring, &tls, &key, diag);
	explicit_bzero(tls.key, sizeof(tls.key));
	if (err)
		return err;
	snprintf(t->tls.number[1], sizeof(t->tls.number[1]), "%d", key);
	t->want.value[NVMF_TLS_KEY] = t->tls.number[1];
	return 0;
}

void nvmf_tls_identity(const struct nvmf_target *t, char *text, size_t len)
{
	struct nvmf_tls_key tls = { 0 };

	if (t->tls.psk.len || t->tls.identity)
		derive(t, &tls);
	snprintf(text, len, "%s", tls.identity);
	explicit_bzero(&tls, sizeof(tls));
}
