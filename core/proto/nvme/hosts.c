/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the file of hosts that authenticate. All memory that held secrets is wiped. */
#include "hosts.h"
#include "uri.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1u << 20) /* bytes */
#define BLANKS   " \t\r"

/* Files that nothing but their owner can read. */
static int open_file(const char *path, size_t *size, struct diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return diag_sys(diag, errno, "open");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		diag_set(diag, DIAG_USAGE, EINVAL, "not a regular file");
	} else if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		diag_set(diag, DIAG_PERMISSION, EACCES,
			"other users have access to its secrets (mode %03o)", st.st_mode & 0777);
		diag_hint(diag, "chmod 600 %s", path);
	} else if (st.st_size > FILE_MAX) {
		diag_set(diag, DIAG_USAGE, EFBIG, "larger than %u bytes", FILE_MAX);
	} else {
		*size = (size_t)st.st_size;
		return fd;
	}
	close(fd);
	return -diag->err;
}

/* Return the text, `size` bytes and a 0; NULL: diag is set. */
static char *read_file(const char *path, size_t *size, struct diag *diag)
{
	int fd = open_file(path, size, diag);
	char *text;
	size_t at = 0;
	ssize_t n = 1;

	if (fd < 0)
		return NULL;
	text = calloc(1, *size + 1);
	while (text && at < *size && n > 0) {
		n = read(fd, text + at, *size - at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (!text || n < 0)
		diag_sys(diag, text ? errno : ENOMEM, "read");
	close(fd);
	if (text && n < 0) {
		explicit_bzero(text, *size);
		free(text);
		return NULL;
	}
	return text;
}

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

static int read_line(struct nvme_hosts *hosts, char *line, struct diag *diag)
{
	struct nvme_host *host = &hosts->host[hosts->count];
	char *rest, *nqn = strtok_r(line, BLANKS, &rest), *word;
	int err = 0;

	if (!nqn)
		return 0;
	if (strlen(nqn) > NVMF_NQN_MAX)
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "host NQN longer than %u bytes", NVMF_NQN_MAX);
	if (nvme_hosts_find(hosts, nqn))
		return diag_set(diag, DIAG_USAGE, EEXIST, "host '%s' is in the file twice", nqn);
	snprintf(host->nqn, sizeof(host->nqn), "%s", nqn);
	while (!err && (word = strtok_r(NULL, BLANKS, &rest)))
		err = read_word(host, word, diag);
	if (!err && !host->secret[0].len)
		err = diag_set(diag, DIAG_USAGE, EINVAL, "host '%s' has no dhchap=SECRET", nqn);
	if (err)
		explicit_bzero(host, sizeof(*host));
	hosts->count += !err;
	return err;
}

static unsigned count_lines(const char *text)
{
	unsigned lines = 1;

	while ((text = strchr(text, '\n'))) {
		lines++;
		text++;
	}
	return lines;
}

static int parse(struct nvme_hosts *hosts, const char *path, char *text, struct diag *diag)
{
	unsigned number = 0;
	char *line;
	int err = 0;

	hosts->host = calloc(count_lines(text), sizeof(*hosts->host));
	if (!hosts->host)
		return diag_sys(diag, ENOMEM, "read");
	while (!err && (line = strsep(&text, "\n"))) {
		number++;
		line[strcspn(line, "#")] = 0;
		err = read_line(hosts, line, diag);
	}
	return err ? diag_ctx(diag, "%s line %u", path, number) : 0;
}

int nvme_hosts_read(struct nvme_hosts **out, const char *path, struct diag *diag)
{
	struct nvme_hosts *hosts = calloc(1, sizeof(*hosts));
	size_t size = 0;
	char *text;
	int err;

	if (!hosts)
		return diag_sys(diag, ENOMEM, "%s", path);
	secret_disable_dumps();
	text = read_file(path, &size, diag);
	err = text ? parse(hosts, path, text, diag) : -diag->err;
	if (text)
		explicit_bzero(text, size);
	free(text);
	if (err) {
		nvme_hosts_free(hosts);
		return diag_ctx(diag, "%s", path);
	}
	*out = hosts;
	return 0;
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
