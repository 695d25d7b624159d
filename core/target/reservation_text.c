/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The file of a disk's reservations: lines of text, the last one with a CRC. What is read has to be
 * what would be written. */
#include "crc32c.h"
#include "names.h"
#include "reservation_set.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEAD    "rdmastor reservations "
#define VERSION "1"
#define LINE    (2 * RESERVATION_ID + 128)

/* Bytes of host->id, with the name. */
static unsigned id_bytes(const struct reservation_host *host)
{
	unsigned end = host->name_at + host->name_len;

	return end > host->id_len ? end : host->id_len;
}

static void put_registrant(FILE *to, const struct reservation_registrant *reg)
{
	const struct reservation_host *host = &reg->host;
	char hex[2 * RESERVATION_ID + 1];

	hex_text(hex, host->id, id_bytes(host));
	fprintf(to, "host %u key %016" PRIx64 " port %u name %u+%u id %u %s\n", host->protocol,
		reg->key, host->target_port, host->name_at, host->name_len, host->id_len, hex);
}

static void put_set(FILE *to, const struct reservation_set *set)
{
	unsigned number = 0, holder = 0;

	for (const struct reservation_registrant *reg = set->registrants; reg; reg = reg->next) {
		if (reg->removed)
			continue;
		number++;
		if (reg == set->holder)
			holder = number;
		put_registrant(to, reg);
	}
	if (holder)
		fprintf(to, "reservation type %u holder %u\n", set->type, holder);
}

char *reservation_text(const struct reservation_set *set, const uint8_t nguid[16], size_t *len)
{
	char *text = NULL, disk[33];
	FILE *to = open_memstream(&text, len);
	bool bad;

	if (!to)
		return NULL;
	hex_text(disk, nguid, 16);
	fprintf(to, HEAD VERSION "\ndisk %s\npersist %u\n", disk, set->persist);
	if (set->persist)
		put_set(to, set);
	bad = fflush(to);
	if (!bad)
		fprintf(to, "end %08" PRIx32 "\n", crc32c(0, text, *len));
	bad |= ferror(to);
	if (!fclose(to) && !bad)
		return text;
	free(text);
	return NULL;
}

static bool read_hex(uint8_t *to, const char *hex, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		if (sscanf(hex + 2 * i, "%2hhx", &to[i]) != 1)
			return false;
	return true;
}

static bool is_known(const struct reservation_set *set, const struct reservation_host *host)
{
	const struct reservation_registrant *reg = set->registrants;

	while (reg && !reservation_same_host(&reg->host, host))
		reg = reg->next;
	return reg;
}

static int read_registrant(
	struct reservation_set *set, struct reservation_registrant ***end, const char *line)
{
	struct reservation_registrant *reg = calloc(1, sizeof(*reg));
	char hex[2 * RESERVATION_ID + 2];

	if (!reg)
		return -ENOMEM;
	if (sscanf(line, "host %3hhu key %16" SCNx64 " port %5hu name %5hu+%5hu id %5hu %505s",
		    &reg->host.protocol, &reg->key, &reg->host.target_port, &reg->host.name_at,
		    &reg->host.name_len, &reg->host.id_len, hex) != 7) {
		free(reg);
		return -EINVAL;
	}
	if (!reg->key || !reservation_host_valid(&reg->host) ||
		strlen(hex) != 2 * id_bytes(&reg->host) ||
		!read_hex(reg->host.id, hex, id_bytes(&reg->host)) || is_known(set, &reg->host)) {
		free(reg);
		return -EINVAL;
	}
	**end = reg;
	*end = &reg->next;
	return 0;
}

static bool read_holder(struct reservation_set *set, const char *line)
{
	unsigned number;

	if (sscanf(line, "reservation type %3hhu holder %5u", &set->type, &number) != 2 ||
		!reservation_type_valid(set->type) || !number)
		return false;
	set->holder = set->registrants;
	while (set->holder && --number)
		set->holder = set->holder->next;
	return set->holder;
}

/* The order of lines is checked by the comparison with what would be written. */
static int read_line(struct reservation_set *set, struct reservation_registrant ***end,
	unsigned *count, const char *line)
{
	if (!strcmp(line, "persist 1")) {
		set->persist = true;
		return 0;
	}
	if (!strncmp(line, "host ", 5))
		return ++*count > RESERVATION_MOST ? -EINVAL : read_registrant(set, end, line);
	if (!strncmp(line, "reservation ", 12))
		return read_holder(set, line) ? 0 : -EINVAL;
	return strncmp(line, "persist ", 8) && strncmp(line, "end ", 4) ? -EINVAL : 0;
}

/* line 0: unknown */
static int damaged(struct diag *diag, unsigned line)
{
	char where[24] = "";

	if (line)
		snprintf(where, sizeof(where), " in line %u", line);
	diag_set(diag, DIAG_MISMATCH, EINVAL, "the file is damaged or not one of reservations%s",
		where);
	return diag_hint(diag,
		"to start without its reservations, remove the file; hosts then have to register "
		"again");
}

/* The first two lines. */
static int read_head(const uint8_t nguid[16], const char *text, struct diag *diag)
{
	const char *version = text + strlen(HEAD), *disk;
	char own[33];
	int len;

	if (strncmp(text, HEAD, strlen(HEAD)) != 0)
		return damaged(diag, 1);
	len = (int)strspn(version, "0123456789");
	if (!len || version[len] != '\n')
		return damaged(diag, 1);
	if (strncmp(version, VERSION "\n", strlen(VERSION "\n")) != 0)
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"the file is of version %.*s: expected " VERSION, len, version);
	disk = version + len + strlen("\ndisk ");
	if (strncmp(version + len, "\ndisk ", strlen("\ndisk ")) != 0 ||
		strspn(disk, "0123456789abcdef") != 32)
		return damaged(diag, 2);
	if (strncmp(disk, hex_text(own, nguid, 16), 32) != 0)
		return diag_set(diag, DIAG_MISMATCH, EXDEV,
			"the file is of another disk: %.32s, expected %s", disk, own);
	return 0;
}

static int read_set(struct reservation_set *set, const char *text, struct diag *diag)
{
	struct reservation_registrant **end = &set->registrants;
	unsigned number = 0, count = 0;
	char line[LINE];
	int err = 0;

	for (const char *next; !err && *text; text = next) {
		size_t len = strcspn(text, "\n");

		next = text + len + (text[len] == '\n');
		if (++number <= 2)
			continue;
		if (len >= sizeof(line))
			return damaged(diag, number);
		memcpy(line, text, len);
		line[len] = 0;
		err = read_line(set, &end, &count, line);
	}
	return err == -ENOMEM ? diag_sys(diag, ENOMEM, "reservations")
	       : err          ? damaged(diag, number)
			      : 0;
}

int reservation_text_read(struct reservation_set *set, const uint8_t nguid[16], const char *text,
	size_t len, struct diag *diag)
{
	char *copy = malloc(len + 1), *again = NULL;
	size_t again_len = 0;
	int err;

	*set = (struct reservation_set){ 0 };
	if (!copy)
		return diag_sys(diag, ENOMEM, "reservations");
	memcpy(copy, text, len);
	copy[len] = 0;
	err = read_head(nguid, copy, diag);
	if (!err)
		err = read_set(set, copy, diag);
	if (!err) {
		again = reservation_text(set, nguid, &again_len);
		if (!again)
			err = diag_sys(diag, ENOMEM, "reservations");
		else if (again_len != len || memcmp(again, text, len) != 0)
			err = damaged(diag, 0);
	}
	if (err)
		reservation_set_free(set);
	free(again);
	free(copy);
	return err;
}
