/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse, check and print names: NQNs, iSCSI names, UUIDs, GIDs, LUNs. */
#include "names.h"
#include "uri.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

int hex_digit(char c)
{
	return c >= '0' && c <= '9'                     ? c - '0'
	       : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
							: -1;
}

bool hex_parse(uint64_t *value, const char *text, unsigned digits)
{
	uint64_t sum = 0;
	unsigned len = 0;

	for (; len < digits && hex_digit(text[len]) >= 0; len++)
		sum = sum << 4 | (uint64_t)hex_digit(text[len]);
	if (!len || text[len])
		return false;
	*value = sum;
	return true;
}

const char *hex_text(char *text, const uint8_t *bytes, size_t len)
{
	text[0] = 0;
	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

bool name_is_plain(const char *name)
{
	size_t len = 0;

	for (; name[len]; len++)
		if ((unsigned char)name[len] <= ' ' || name[len] == 0x7f || len == NAME_PLAIN_MAX)
			return false;
	return len;
}

bool nqn_valid(const char *name)
{
	return !strncmp(name, "nqn.", 4) && name[4] && name_is_plain(name);
}

bool iscsi_name_valid(const char *name)
{
	return (!strncmp(name, "iqn.", 4) || !strncmp(name, "eui.", 4) ||
		       !strncmp(name, "naa.", 4)) &&
	       name[4] && name_is_plain(name);
}

void iscsi_name_copy(char to[NAME_PLAIN_MAX + 1], const char *name)
{
	bool capitals =
		!strncmp(name, "IQN.", 4) || !strncmp(name, "EUI.", 4) || !strncmp(name, "NAA.", 4);

	snprintf(to, NAME_PLAIN_MAX + 1, "%s", name);
	for (char *p = to; capitals && *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p += 'a' - 'A';
}

bool uuid_parse(uint8_t uuid[16], const char *text)
{
	uint8_t bytes[16];

	for (unsigned i = 0; i < sizeof(bytes); i++, text += 2) {
		if (i && *text == '-')
			text++;
		if (hex_digit(text[0]) < 0 || hex_digit(text[1]) < 0)
			return false;
		bytes[i] = (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
	}
	if (*text)
		return false;
	memcpy(uuid, bytes, sizeof(bytes));
	return true;
}

const char *uuid_text(char text[UUID_TEXT], const uint8_t uuid[16])
{
	char *to = text;

	for (unsigned i = 0; i < 16; i++)
		to += sprintf(
			to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
	return text;
}

void uuid_mark_random(uint8_t uuid[16])
{
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

const char *nqn_of_uuid(char text[NQN_UUID_TEXT], const uint8_t uuid[16])
{
	uuid_text(stpcpy(text, "nqn.2014-08.org.nvmexpress:uuid:"), uuid);
	return text;
}

bool gid_parse(uint8_t gid[16], const char *text)
{
	return (!strchr(text, '-') && uuid_parse(gid, text)) || inet_pton(AF_INET6, text, gid) == 1;
}

const char *gid_text(char text[GID_TEXT], const uint8_t gid[16])
{
	for (unsigned i = 0; i < 8; i++)
		sprintf(text + 5 * i, "%02x%02x%s", gid[2 * i], gid[2 * i + 1], i < 7 ? ":" : "");
	return text;
}

uint64_t lun_number(const uint8_t lun[8])
{
	uint64_t number = 0;

	for (unsigned i = 0; i < 8; i += 2)
		number |= (uint64_t)(lun[i] << 8 | lun[i + 1]) << 8 * i;
	return number;
}

bool lun_parse(uint64_t *lun, const char *text)
{
	uint64_t sum = 0, value;
	char group[5];

	if (!strchr(text, '-'))
		return !parse_u64(text, 0, UINT64_MAX - 1, lun, NULL);
	for (unsigned shift = 0; shift < 64; shift += 16) {
		size_t len = strcspn(text, "-");

		snprintf(group, sizeof(group), "%.*s", (int)len, text);
		if (len > 4 || !hex_parse(&value, group, 4))
			return false;
		sum |= value << shift;
		text += len;
		if (!*text) {
			if (sum == UINT64_MAX) /* "not specified" (SAM-5, 4.7.4) */
				return false;
			*lun = sum;
			return true;
		}
		text++;
	}
	return false;
}
