/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client's side of the NBD handshake: what is agreed on, and how. */
#pragma once
#include "diag.h"
#include "uri.h"
#include "wire/nbd.h"

/* What a connection has agreed on. Of two connections to one export all but the context must be the
 * same. */
struct nbd_ini_deal {
	struct nbd_terms terms;
	bool structured, meta;
	uint32_t context; /* of meta */
};

enum nbd_ini_step {
	INI_GREETING,
	INI_STRUCTURED,
	INI_META,
	INI_GO,
	INI_LIST,
	INI_EXPORT_NAME,
	INI_DONE
};
/* client flags, the longest option */
#define NBD_INI_OUT (sizeof(be32) + sizeof(struct nbd_opt) + URI_MAX + 64)
struct nbd_ini_hello {
	const char *name;
	/* If not NULL, the exports are listed instead of opening one. */
	void (*listed)(struct nbd_ini_hello *, const uint8_t *name, size_t len);
	struct nbd_ini_deal deal;
	uint8_t step;
	bool zeroes; /* EXPORT_NAME's reply has them */
	bool has_export;
	unsigned replies; /* to the option in hand */
	size_t out_len;   /* bytes to be sent before the next feed */
	uint8_t out[NBD_INI_OUT];
};
/* Takes at most one message from p; gives how many bytes were used, 0 = needs more, -errno = over.
 * Needs: out empty, step before DONE. */
int nbd_ini_hello_feed(struct nbd_ini_hello *, const uint8_t *p, size_t len, struct diag *);
#define NBD_INI_REPLY_MAX 8192  /* of one reply to an option: a string and some numbers */
#define NBD_INI_REPLIES   64    /* to one option other than NBD_OPT_LIST */
#define NBD_INI_EXPORTS   65536 /* of a list; none is stored */
