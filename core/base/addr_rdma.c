/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parse the RDMA keys behind an address (?rdma=…&crc=…). */
#include "uri.h"
#include <errno.h>
#include <string.h>

int addr_rdma(struct addr_rdma *how, char *text, struct diag *diag)
{
	static const struct {
		const char *key;
		bool verbs, iwarp, crc, no_crc;
	} known[] = {
		{ .key = "rdma=auto", .verbs = true, .iwarp = true },
		{ .key = "rdma=verbs", .verbs = true },
		{ .key = "rdma=iwarp", .iwarp = true },
		{ .key = "crc=0", .no_crc = true },
		{ .key = "crc=no", .no_crc = true },
		{ .key = "crc=off", .no_crc = true },
		{ .key = "crc=1", .crc = true },
		{ .key = "crc=yes", .crc = true },
		{ .key = "crc=on", .crc = true },
	};
	const unsigned rows = sizeof(known) / sizeof(known[0]);

	*how = (struct addr_rdma){ .verbs = true, .iwarp = true };
	for (char *key = strchr(text, '?'), *next; key; key = next) {
		unsigned row = 0;

		*key++ = 0;
		next = strchr(key, '&');
		if (next)
			*next = 0;
		while (row < rows && strcmp(key, known[row].key))
			row++;
		if (row == rows)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"unknown key '%s' after an address: expected rdma=verbs, "
				"rdma=iwarp, rdma=auto or crc=0",
				key);
		if (known[row].crc || known[row].no_crc) {
			how->no_crc = known[row].no_crc;
		} else {
			how->verbs = known[row].verbs;
			how->iwarp = known[row].iwarp;
		}
	}
	if (how->no_crc && !how->iwarp)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"crc=0 requires software iWARP, but rdma=verbs excludes it");
	return 0;
}
