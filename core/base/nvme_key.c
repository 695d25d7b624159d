/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keys of NVMe-oF: a prefix with the number of the hash, then the base64 of the key and its
 * checksum. */
#include "nvme_key.h"
#include "base64.h"
#include <errno.h>
#include <mbedtls/base64.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define CRC 4

static const struct form {
	const char *mark; /* the prefix before the number of the hash */
	const char *command;
	uint8_t most; /* the highest number, whose keys are the longest */
} forms[] = { [NVME_KEY_DHCHAP] = { "DHHC-1:0", "gen-dhchap-key", 3 },
	[NVME_KEY_TLS] = { "NVMeTLSkey-1:0", "gen-tls-key", 2 } };
static const uint8_t lengths[] = { 0, 32, 48, 64 }; /* of the hashes */

/* The CRC-32 (IEEE 802.3), little-endian as it follows the key. */
static void checksum(const uint8_t *key, unsigned len, uint8_t sum[CRC])
{
	uint32_t crc = ~0u;

	for (unsigned i = 0; i < len; i++) {
		crc ^= key[i];
		for (unsigned bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	for (unsigned i = 0; i < CRC; i++)
		sum[i] = (uint8_t)(~crc >> 8 * i);
}

static bool is_length(const struct form *form, unsigned hash, int len)
{
	bool any = false;

	for (unsigned i = 1; i <= form->most; i++)
		any |= len == lengths[i] && (!hash || i == hash);
	return any;
}

/* Decode the base64 of key and checksum. */
static int decode(struct nvme_key *key, const struct form *form, const char *name, const char *text,
	size_t text_len, struct diag *diag)
{
	uint8_t bytes[NVME_KEY_MAX + CRC], sum[CRC];
	int err = 0, len;

	while (text_len && text[text_len - 1] == '=')
		text_len--; /* the kernel takes any number of them */
	len = base64_get(bytes, sizeof(bytes), text, text_len) - CRC;
	if (!is_length(form, key->hash, len))
		err = diag_set(diag, DIAG_USAGE, EINVAL, "%s: wrong key length for '%s%u'", name,
			form->mark, key->hash);
	if (!err) {
		checksum(bytes, (unsigned)len, sum);
		if (memcmp(bytes + len, sum, CRC) != 0)
			err = diag_set(diag, DIAG_USAGE, EINVAL,
				"%s: wrong checksum: the key was changed or is incomplete", name);
	}
	if (!err) {
		key->len = (uint8_t)len;
		memcpy(key->key, bytes, key->len);
	}
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int nvme_key_parse(struct nvme_key *key, enum nvme_key_kind kind, const char *name,
	const char *text, struct diag *diag)
{
	const struct form *form = &forms[kind];
	const size_t mark = strlen(form->mark);
	const char *data = text + mark + 2,
		   *end = strlen(text) > mark + 2 ? strchr(data, ':') : NULL;

	*key = (struct nvme_key){ 0 };
	if (strncmp(text, form->mark, mark) || text[mark] < '0' || text[mark] > '0' + form->most ||
		text[mark + 1] != ':' || !end || end[1]) {
		diag_set(diag, DIAG_USAGE, EINVAL, "%s: expected a key of the form %sn:...:", name,
			form->mark);
		diag_hint(diag, "make one with: rdmastor nvme %s", form->command);
		return -EINVAL;
	}
	key->hash = (uint8_t)(text[mark] - '0');
	return decode(key, form, name, data, (size_t)(end - data), diag);
}

int nvme_key_new(char text[NVME_KEY_TEXT], enum nvme_key_kind kind, unsigned hash, unsigned len,
	struct diag *diag)
{
	uint8_t bytes[NVME_KEY_MAX + CRC];
	size_t begun, n;

	if (getrandom(bytes, len, 0) != (ssize_t)len)
		return diag_sys(diag, EAGAIN, "read random numbers");
	checksum(bytes, len, bytes + len);
	begun = (size_t)snprintf(text, NVME_KEY_TEXT, "%s%u:", forms[kind].mark, hash);
	mbedtls_base64_encode(
		(uint8_t *)text + begun, NVME_KEY_TEXT - begun - 1, &n, bytes, len + CRC);
	strcpy(text + begun + n, ":");
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}
