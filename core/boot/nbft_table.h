/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The contents of the firmware's NBFTs, and their readers. */
#pragma once
#include "uri.h"

#define NBFT_LIST 64 /* descriptors of one kind in a table */
#define NBFT_ADDR 46

struct nbft_security_info { /* a profile */
	unsigned index;
	bool tls, auth;               /* required */
	bool ciphers, groups, hashes; /* restricted */
	bool key;                     /* the firmware knows where it is */
};

struct nbft_hfi_info { /* "": none */
	unsigned index, vlan, prefix, origin;
	bool v6; /* also without an address */
	char mac[18], addr[NBFT_ADDR], gateway[NBFT_ADDR], dns[2][NBFT_ADDR], dhcp[NBFT_ADDR],
		host[64];
};
struct nbft_ssns_info {
	unsigned index, nsid; /* nsid 0: none reported */
	bool unavailable, hdr_digest, data_digest;
	char addr[NBFT_ADDR], port[8], nqn[224];
	uint8_t hfi[NBFT_LIST]; /* indexes of valid ones, each once */
	unsigned hfis;
	const struct nbft_security_info *security; /* NULL: none */
};
struct nbft_discovery_info {
	unsigned index, hfi;
	const struct nbft_security_info *security; /* NULL: none */
	char uri[URI_MAX], nqn[224];               /* nqn "": the well-known one */
};
struct nbft_damage { /* a descriptor that is left out, or a table that can't be read */
	char object[32], text[128];
	int err;
	uint8_t code; /* enum diag_code */
};
struct nbft {
	char name[16];                 /* of the file in /sys/firmware/acpi/tables */
	char hostnqn[224], hostid[40]; /* "": none */
	struct nbft_hfi_info hfi[NBFT_LIST];
	struct nbft_ssns_info ssns[NBFT_LIST];
	struct nbft_discovery_info discovery[NBFT_LIST];
	struct nbft_security_info security[NBFT_LIST];
	struct nbft_damage damage[NBFT_LIST];
	unsigned hfis, ssnses, discoveries, securities, damages;
};
/* Read all tables of this machine, by name; free() them, and do not copy one of them. A table that
 * is invalid or can't be read is its only damage. -ENOENT: none. */
int kernel_nbft_read(int root, struct nbft **, unsigned *count, struct diag *);
/* Parse a table. Invalid descriptors are left out and listed. Errors: -EBADMSG for a table that
 * is invalid as a whole. */
int kernel_nbft_table(const void *bytes, size_t len, struct nbft *, struct diag *);
const struct nbft_hfi_info *kernel_nbft_hfi(const struct nbft *, unsigned index); /* NULL: none */
