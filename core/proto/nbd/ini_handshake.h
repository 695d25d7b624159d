/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The client's side of the NBD handshake and its result. */
#pragma once
#include "diag.h"
#include "uri.h"
#include "wire/nbd.h"

/* Result of a handshake. Two connections to one export must agree in all but the context. */
struct nbd_ini_negotiated {
	struct nbd_terms terms;
	bool structured, meta;
	uint32_t context; /* ID of the metadata context, if meta */
};

enum nbd_ini_step {
	INI_GREETING,
	INI_STARTTLS,
	INI_SECURING, /* until nbd_ini_handshake_secured() */
	INI_STRUCTURED,
	INI_META,
	INI_GO,
	INI_LIST,
	INI_EXPORT_NAME,
	INI_DONE
};
#define NBD_INI_TEXT 256 /* longest message of a server that is kept, with its end */
/* client flags, the longest option */
#define NBD_INI_OUT (sizeof(be32) + sizeof(struct nbd_opt) + URI_MAX + 64)
struct nbd_ini_handshake {
	const char *name;
	/* If not NULL, list the exports and do not open one. */
	void (*listed)(struct nbd_ini_handshake *, const uint8_t *name, size_t len);
	struct nbd_ini_negotiated negotiated;
	uint8_t step;
	bool tls;          /* open the export, or list them, over TLS */
	bool tls_optional; /* in clear if the server does not offer TLS: clears `tls` */
	bool zeroes;       /* the reply to EXPORT_NAME ends with them */
	bool has_export;
	unsigned replies; /* to the current option */
	size_t out_len;   /* bytes to send before the next feed */
	uint8_t out[NBD_INI_OUT];
};
/* Handle at most one message from p; returns the bytes used, 0 = more needed, -errno = failed.
 * Needs: out is empty, step before DONE. */
int nbd_ini_handshake_feed(struct nbd_ini_handshake *, const uint8_t *p, size_t len, struct diag *);
/* TLS is up: continue. Needs: step INI_SECURING. */
void nbd_ini_handshake_secured(struct nbd_ini_handshake *);
#define NBD_INI_REPLY_MAX 8192  /* longest reply to an option: a string and some numbers */
#define NBD_INI_REPLIES   64    /* most replies to one option except NBD_OPT_LIST */
#define NBD_INI_EXPORTS   65536 /* most exports of a list; none is stored */
