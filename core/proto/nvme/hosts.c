/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the file of hosts that authenticate. */
#include "hosts.h"
#include "secret_list.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int read_word(struct nvme_host *host, const char *word, struct diag *diag)
{
	static const char *const names[2] = { "dhchap=", "dhchap-ctrl=" };

	for (unsigned i = 0; i < 2; i++) {
		size_t len = strlen(names[i]);

		if (strncmp(word, names[i], len) != 0)
			continue;
		if (host->secret[i].len)
			return diag_set(diag, DIAG_USAGE, EINVAL, "%s is given twice", names[i]);
		return nvme_key_parse(
			&host->secret[i], NVME_KEY_DHCHAP, "DH-HMAC-CHAP secret", word + len, diag);
	}
	/* it may be a secret: not quoted */
	return diag_set(diag, DIAG_USAGE, EINVAL, "unknown word: expected %sSECRET or %sSECRET",
		names[0], names[1]);
}

static int make_room(void *user, unsigned lines, struct diag *diag)
{
	struct nvme_hosts *hosts = user;

	hosts->host = calloc(lines + 1, sizeof(*hosts->host));
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
	if (!err && !host->secret[0].len)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "host '%s' has no dhchap=SECRET", nqn);
	if (err)
		explicit_bzero(host, sizeof(*host));
	hosts->count += !err;
	return err;
}

int nvme_hosts_read(struct nvme_hosts **out, const char *path, struct diag *diag)
{
	static const struct secret_list_reader reader = { .begin = make_room, .line = read_line };
	struct nvme_hosts *hosts = calloc(1, sizeof(*hosts));
	int err;

	if (!hosts)
		return diag_sys(diag, ENOMEM, "%s", path);
	err = secret_list_read(path, &reader, hosts, diag);
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

void nvme_hosts_free(struct nvme_hosts *hosts)
{
	if (!hosts)
		return;
	for (unsigned i = 0; i < hosts->count; i++)
		explicit_bzero(&hosts->host[i], sizeof(hosts->host[i]));
	free(hosts->host);
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
