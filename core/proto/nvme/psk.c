/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keys of both roles. A host can't know which version of the identity its target has, nor
 * whether that one's key was derived by an old tool, so it offers one after another. A target finds
 * the host in the identity, and derives the key when it is needed. */
#include "psk.h"
#include "hosts.h"
#include "nvme.h"
#include "secret_mem.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static void share(struct tls_shared_key *key, const struct nvme_psk *psk)
{
	key->len = (uint8_t)psk->len;
	key->sha384 = psk->len == 48;
	memcpy(key->key, psk->key, psk->len);
}

/* --- host */

static int add_offer(struct nvme_tls *tls, const struct nvme_conf *conf,
	const struct nvme_psk_form *form, struct diag *diag)
{
	char kind[TLS_USER];
	const struct tls_names names = { .kind = kind, .noun = "host" };
	struct tls_shared_key key;
	struct nvme_psk psk;
	int err;

	if (nvme_psk_derive(&conf->psk, conf->hostnqn, conf->subnqn, form, &psk))
		return 0; /* names that are too long for this form */
	snprintf(kind, sizeof(kind), "the key of '%s'", conf->hostnqn);
	share(&key, &psk);
	err = tls_creds_new_key(&tls->creds[tls->offers], psk.identity, &key, &names, diag);
	tls->offers += !err;
	explicit_bzero(&psk, sizeof(psk));
	explicit_bzero(&key, sizeof(key));
	return err;
}

int nvme_tls_new(struct nvme_tls **out, const struct nvme_conf *conf, struct diag *diag)
{
	static const struct nvme_psk_form forms[] = {
		{ .version0 = false },
		{ .version0 = true },
		{ .version0 = false, .old = true },
		{ .version0 = true, .old = true },
	};
	struct nvme_tls *tls = calloc(1, sizeof(*tls));
	int err = tls ? 0 : diag_sys(diag, ENOMEM, "TLS");

	for (unsigned i = 0; !err && i < sizeof(forms) / sizeof(forms[0]); i++)
		err = add_offer(tls, conf, &forms[i], diag);
	if (!err && !tls->offers)
		err = diag_set(diag, DIAG_USAGE, EINVAL,
			"the host NQN and subsystem NQN are too long for a TLS key");
	if (err) {
		nvme_tls_free(tls);
		return err;
	}
	tls->offers += conf->tls_optional;
	*out = tls;
	return 0;
}

void nvme_tls_free(struct nvme_tls *tls)
{
	if (!tls)
		return;
	for (unsigned i = 0; i < tls->offers; i++)
		tls_creds_free(tls->creds[i]);
	free(tls);
}

/* --- target */

struct keys {
	struct nvme_key unknown[2]; /* random: of 32 and 48 bytes */
	unsigned count;
	struct {
		char nqn[NVMF_NQN_MAX + 1];
		struct nvme_key key;
	} host[];
};

static void keys_free(void *user)
{
	secret_free(user);
}

static bool find(const void *user, const char *identity, size_t len, struct tls_shared_key *to)
{
	const struct keys *keys = user;
	const struct nvme_key *key = NULL, *unknown;
	struct nvme_psk_names names;
	struct nvme_psk psk;
	int err;

	if (!nvme_psk_parse(identity, len, &names))
		names = (struct nvme_psk_names){ .len = 32, .hostnqn = "?", .subnqn = "?" };
	for (unsigned i = 0; i < keys->count; i++)
		if (!strcmp(keys->host[i].nqn, names.hostnqn) && keys->host[i].key.len == names.len)
			key = &keys->host[i].key;
	unknown = &keys->unknown[names.len == 48];
	err = nvme_psk_derive(key ? key : unknown, names.hostnqn, names.subnqn, &names.form, &psk);
	if (err)
		memcpy(psk.key, unknown->key, psk.len);
	share(to, &psk);
	explicit_bzero(&psk, sizeof(psk));
	return key && !err;
}

static bool set_unknown(struct keys *keys)
{
	for (unsigned i = 0; i < 2; i++) {
		struct nvme_key *key = &keys->unknown[i];

		key->hash = (uint8_t)(1 + i);
		key->len = i ? 48 : 32;
		if (getrandom(key->key, key->len, 0) != key->len)
			return false;
	}
	return true;
}

int nvme_tls_of_hosts(struct tls_creds **out, const struct nvme_hosts *hosts, struct diag *diag)
{
	static const struct tls_names names = { .kind = "keys of hosts", .noun = "host" };
	struct keys *keys;

	*out = NULL;
	if (!hosts->tls)
		return 0;
	keys = secret_alloc(sizeof(*keys) + hosts->tls * sizeof(keys->host[0]));
	if (!keys)
		return diag_sys(diag, ENOMEM, "TLS");
	for (unsigned i = 0; i < hosts->count; i++) {
		const struct nvme_host *host = &hosts->host[i];

		if (!host->tls.len)
			continue;
		memcpy(keys->host[keys->count].nqn, host->nqn, sizeof(host->nqn));
		keys->host[keys->count++].key = host->tls;
	}
	if (!set_unknown(keys)) {
		keys_free(keys);
		return diag_sys(diag, EAGAIN, "read random numbers");
	}
	return tls_creds_new_finder(out,
		&(struct tls_finder){ .find = find, .free = keys_free, .user = keys }, &names,
		diag);
}
