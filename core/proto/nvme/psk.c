/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The keys of both roles. A host can't know which version of the identity its target has, nor
 * whether that one's key was derived by an old tool, so it offers one after another. A target finds
 * the host in the identity, and derives the key when it is needed. */
#include "psk.h"
#include "hosts.h"
#include "loop.h"
#include "nvme.h"
#include "secret_mem.h"
#include <errno.h>
#include <pthread.h>
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

/* Wipes psk. */
static int offer(struct nvme_tls *tls, const struct nvme_conf *conf, const char *what,
	struct nvme_psk *psk, struct diag *diag)
{
	char kind[TLS_USER];
	const struct tls_names names = { .kind = kind, .noun = "host" };
	struct tls_shared_key key;
	int err;

	snprintf(kind, sizeof(kind), "the %s of '%s'", what, conf->hostnqn);
	share(&key, psk);
	err = tls_creds_new_key(&tls->creds[tls->offers], psk->identity, &key, &names, diag);
	tls->offers += !err;
	explicit_bzero(psk, sizeof(*psk));
	explicit_bzero(&key, sizeof(key));
	return err;
}

static int add_offer(struct nvme_tls *tls, const struct nvme_conf *conf,
	const struct nvme_psk_form *form, struct diag *diag)
{
	struct nvme_psk psk;

	if (nvme_psk_derive(conf->psk, conf->hostnqn, conf->subnqn, form, &psk))
		return 0; /* names that are too long for this form */
	return offer(tls, conf, "key", &psk, diag);
}

static int too_long(struct diag *diag)
{
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"the host NQN and subsystem NQN are too long for a TLS key");
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
		err = too_long(diag);
	if (err) {
		nvme_tls_free(tls);
		return err;
	}
	tls->offers += conf->tls_optional;
	*out = tls;
	return 0;
}

int nvme_tls_new_generated(struct nvme_tls **out, const struct nvme_conf *conf,
	const struct nvme_key *psk, struct diag *diag)
{
	struct nvme_tls *tls = calloc(1, sizeof(*tls));
	struct nvme_psk derived;
	int err;

	if (!tls)
		return diag_sys(diag, ENOMEM, "TLS");
	err = nvme_psk_derive_generated(psk->key, psk->len, conf->hostnqn, conf->subnqn, &derived)
		      ? too_long(diag)
		      : offer(tls, conf, "generated key", &derived, diag);
	if (err)
		nvme_tls_free(tls);
	else
		*out = tls;
	return err;
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

struct generated {
	struct generated *next; /* newer */
	uint64_t until_ns;
	struct nvme_psk psk;
};

struct nvme_tls_keys {
	struct nvme_key unknown[2]; /* random: of 32 and 48 bytes */
	pthread_mutex_t lock;       /* of the generated ones */
	struct generated *generated;
	unsigned count;
	struct {
		char nqn[NVMF_NQN_MAX + 1];
		struct nvme_key key;
	} host[];
};

static void drop(struct generated **at)
{
	struct generated *old = *at;

	*at = old->next;
	secret_free(old);
}

static void keys_free(void *user)
{
	struct nvme_tls_keys *keys = user;

	while (keys->generated)
		drop(&keys->generated);
	pthread_mutex_destroy(&keys->lock);
	secret_free(keys);
}

static bool find_generated(const struct nvme_tls_keys *const_keys, const char *identity, size_t len,
	struct nvme_psk *psk)
{
	struct nvme_tls_keys *keys = (struct nvme_tls_keys *)const_keys;
	const uint64_t now = loop_clock();
	bool found = false;

	pthread_mutex_lock(&keys->lock);
	for (const struct generated *at = keys->generated; at; at = at->next)
		if (now < at->until_ns && strlen(at->psk.identity) == len &&
			!memcmp(at->psk.identity, identity, len)) {
			*psk = at->psk;
			found = true;
		}
	pthread_mutex_unlock(&keys->lock);
	return found;
}

/* The words but the digest: version, names. */
static size_t names_len(const char *identity)
{
	return (size_t)(strrchr(identity, ' ') - identity);
}

static bool same_names(const struct nvme_psk *one, const struct nvme_psk *other)
{
	size_t from = strcspn(one->identity, " "), len = names_len(one->identity);

	return names_len(other->identity) == len &&
	       !memcmp(one->identity + from, other->identity + from, len - from);
}

static bool is_obsolete(const struct generated *at, const char *old)
{
	return loop_clock() >= at->until_ns || (old && !strcmp(at->psk.identity, old));
}

static void make_room(struct nvme_tls_keys *keys, const struct nvme_psk *psk, const char *old)
{
	struct generated **oldest = NULL, **at = &keys->generated;
	unsigned count = 0;

	while (*at) {
		if (is_obsolete(*at, old)) {
			drop(at);
			continue;
		}
		if (same_names(&(*at)->psk, psk))
			oldest = count++ ? oldest : at;
		at = &(*at)->next;
	}
	if (count >= NVME_TLS_GENERATED)
		drop(oldest);
}

int nvme_tls_add_generated(const struct nvme_hosts *hosts, struct nvme_psk *psk, const char *old)
{
	struct generated *new = secret_alloc(sizeof(*new)), **end;

	if (!new)
		return -ENOMEM;
	new->until_ns = loop_clock() + NVME_TLS_GENERATED_S * 1000 * MSEC;
	new->psk = *psk;
	explicit_bzero(psk, sizeof(*psk));
	pthread_mutex_lock(&hosts->keys->lock);
	make_room(hosts->keys, &new->psk, old);
	for (end = &hosts->keys->generated; *end; end = &(*end)->next)
		;
	*end = new;
	pthread_mutex_unlock(&hosts->keys->lock);
	return 0;
}

static bool find(const void *user, const char *identity, size_t len, struct tls_shared_key *to)
{
	const struct nvme_tls_keys *keys = user;
	const struct nvme_key *key = NULL, *unknown;
	struct nvme_psk_names names;
	struct nvme_psk psk;
	int err;

	if (!nvme_psk_parse(identity, len, &names))
		names = (struct nvme_psk_names){ .len = 32, .hostnqn = "?", .subnqn = "?" };
	if (names.generated && find_generated(keys, identity, len, &psk)) {
		share(to, &psk);
		explicit_bzero(&psk, sizeof(psk));
		return true;
	}
	for (unsigned i = 0; i < keys->count; i++)
		if (!names.generated && !strcmp(keys->host[i].nqn, names.hostnqn) &&
			keys->host[i].key.len == names.len)
			key = &keys->host[i].key;
	unknown = &keys->unknown[names.len == 48];
	err = nvme_psk_derive(key ? key : unknown, names.hostnqn, names.subnqn, &names.form, &psk);
	if (err)
		memcpy(psk.key, unknown->key, psk.len);
	share(to, &psk);
	explicit_bzero(&psk, sizeof(psk));
	return key && !err;
}

static bool set_unknown(struct nvme_tls_keys *keys)
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

int nvme_tls_of_hosts(struct nvme_hosts *hosts, struct diag *diag)
{
	static const struct tls_names names = { .kind = "keys of hosts", .noun = "host" };
	struct nvme_tls_keys *keys;
	int err;

	if (!hosts->tls && !hosts->chap)
		return 0;
	keys = secret_alloc(sizeof(*keys) + hosts->tls * sizeof(keys->host[0]));
	if (!keys)
		return diag_sys(diag, ENOMEM, "TLS");
	pthread_mutex_init(&keys->lock, NULL);
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
	err = tls_creds_new_finder(&hosts->creds,
		&(struct tls_finder){ .find = find, .free = keys_free, .user = keys }, &names,
		diag);
	if (!err)
		hosts->keys = keys;
	return err;
}
