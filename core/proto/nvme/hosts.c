/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the file of hosts that authenticate or use TLS. */
#include "hosts.h"
#include "psk.h"
#include "secret_list.h"
#include "secret_mem.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CONCAT "concat=required"

static int read_word(struct nvme_host *host, const char *word, struct diag *diag)
{
	const struct {
		const char *name, *what;
		enum nvme_key_kind kind;
		struct nvme_key *key;
	} words[] = {
		{ "dhchap=", "DH-HMAC-CHAP secret", NVME_KEY_DHCHAP, &host->secret[0] },
		{ "dhchap-ctrl=", "DH-HMAC-CHAP secret", NVME_KEY_DHCHAP, &host->secret[1] },
		{ "tls=", "TLS key", NVME_KEY_TLS, &host->tls },
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].name);

		if (strncmp(word, words[i].name, len) != 0)
			continue;
		if (words[i].key->len)
			return diag_set(
				diag, DIAG_USAGE, EINVAL, "%s is given twice", words[i].name);
		return nvme_key_parse(words[i].key, words[i].kind, words[i].what, word + len, diag);
	}
	if (!strcmp(word, CONCAT)) {
		host->concat = true;
		return 0;
	}
	/* it may be a secret: not quoted */
	return diag_set(diag, DIAG_USAGE, EINVAL,
		"unknown word: expected %sSECRET, %sSECRET, %sKEY or " CONCAT, words[0].name,
		words[1].name, words[2].name);
}

/* In a file of another kind the first word may be a secret: it is not quoted. */
static int check_words(const struct nvme_host *host, struct diag *diag)
{
	if (host->secret[1].len && !host->secret[0].len)
		return diag_set(diag, DIAG_USAGE, EINVAL, "dhchap-ctrl= needs dhchap=SECRET");
	if (host->concat && (!host->secret[0].len || host->tls.len))
		return diag_set(diag, DIAG_USAGE, EINVAL, CONCAT " needs %s",
			host->tls.len ? "a line without tls=" : "dhchap=SECRET");
	if (!host->secret[0].len && !host->tls.len)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"expected HOSTNQN with dhchap=SECRET, tls=KEY, or both");
	return 0;
}

static int make_room(void *user, unsigned lines, struct diag *diag)
{
	struct nvme_hosts *hosts = user;

	hosts->host = secret_alloc((lines + 1ul) * sizeof(*hosts->host));
	return hosts->host ? 0 : diag_sys(diag, ENOMEM, "read");
}

static int read_line(void *user, unsigned number, const char *nqn, char *words, struct diag *diag)
{
	struct nvme_hosts *hosts = user;
	struct nvme_host *host = &hosts->host[hosts->count];
	const char *word;
	int err = 0;

	(void)number;
	if (strlen(nqn) > NVMF_NQN_MAX)
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "host NQN longer than %u bytes", NVMF_NQN_MAX);
	if (nvme_hosts_find(hosts, nqn))
		return diag_set(diag, DIAG_USAGE, EEXIST, "host '%s' is in the file twice", nqn);
	snprintf(host->nqn, sizeof(host->nqn), "%s", nqn);
	while (!err && (word = secret_list_word(&words)))
		err = read_word(host, word, diag);
	if (!err)
		err = check_words(host, diag);
	if (err) {
		explicit_bzero(host, sizeof(*host));
		return err;
	}
	hosts->count++;
	hosts->chap += host->secret[0].len > 0;
	hosts->tls += host->tls.len > 0;
	return 0;
}

int nvme_hosts_read(struct nvme_hosts **out, const char *path, struct diag *diag)
{
	static const struct secret_list_reader reader = { .begin = make_room, .line = read_line };
	struct nvme_hosts *hosts = calloc(1, sizeof(*hosts));
	int err;

	if (!hosts)
		return diag_sys(diag, ENOMEM, "%s", path);
	err = secret_list_read(path, &reader, hosts, diag);
	if (!err)
		err = nvme_tls_of_hosts(hosts, diag);
	if (err)
		nvme_hosts_free(hosts);
	else
		*out = hosts;
	return err;
}

unsigned nvme_hosts_count(const struct nvme_hosts *hosts)
{
	return hosts->count;
}

bool nvme_hosts_concatenate(const struct nvme_hosts *hosts)
{
	unsigned required = 0;

	for (unsigned i = 0; i < hosts->count; i++) {
		const struct nvme_host *host = &hosts->host[i];

		if (host->secret[0].len && !host->tls.len && !host->concat)
			return false;
		required += host->concat;
	}
	return required;
}

void nvme_hosts_free(struct nvme_hosts *hosts)
{
	if (!hosts)
		return;
	tls_creds_free(hosts->creds);
	secret_free(hosts->host);
	free(hosts);
}

const struct nvme_host *nvme_hosts_find(const struct nvme_hosts *hosts, const char *nqn)
{
	const struct nvme_host *found = NULL;

	for (unsigned i = 0; i < hosts->count; i++)
		if (!strcmp(hosts->host[i].nqn, nqn))
			found = &hosts->host[i];
	return found;
}

static int parse_name(uint8_t *to, const char *what, const char *name, int value,
	const char *expected, struct diag *diag)
{
	if (value < 0)
		return diag_set(diag, DIAG_USAGE, EINVAL, "unknown %s '%s': expected %s", what,
			name, expected);
	*to = (uint8_t)value;
	return 0;
}

int nvme_chap_hash_parse(uint8_t *hash, const char *name, struct diag *diag)
{
	return parse_name(
		hash, "hash", name, nvme_chap_hash_find(name), "sha256, sha384 or sha512", diag);
}

int nvme_chap_group_parse(uint8_t *group, const char *name, struct diag *diag)
{
	return parse_name(group, "DH group", name, nvme_chap_group_find(name),
		"null, ffdhe2048, ffdhe3072, ffdhe4096, ffdhe6144 or ffdhe8192", diag);
}
