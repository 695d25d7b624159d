/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server's side of the NBD handshake: bytes in, bytes out, no descriptor. */
#pragma once
#include "nbd_server.h"
#include "stream.h"
#include "wire/nbd.h"

/* of a name or description of ours: bounds the reply to LIST, and lets an NBD URI hold the name */
#define NBD_NAME_MAX 512
/* bytes of one option's data that are worth reading: a name and some queries */
#define NBD_OPTION_MAX  8192
#define NBD_OPTION_SKIP (1u << 20) /* a longer option is taken for an attack */
#define NBD_OPTIONS     256        /* in one handshake */
#define NBD_HELLO_OUT   (NBD_EXPORTS * (sizeof(struct nbd_rep) + 4 + 2 * NBD_NAME_MAX) + 1024)

enum nbd_srv_hello_state {
	NBD_HELLO_FLAGS,
	NBD_HELLO_OPTIONS,
	NBD_HELLO_SKIP,
	NBD_HELLO_DONE,
	NBD_HELLO_END
};
struct nbd_srv_hello {
	const struct nbd_export *export;
	unsigned exports;
	/* Prepare to serve that export; the client gets the reason of a failure. */
	int (*enter)(struct nbd_srv_hello *, unsigned export, struct diag *);
	void *user; /* enter's */
	uint8_t state;
	bool fixed, no_zeroes, structured;
	unsigned chosen; /* valid in DONE */
	unsigned meta;   /* 1 + the export whose base:allocation is selected */
	unsigned options;
	uint32_t skip;
	struct stream_out reply; /* the bytes of out on their way, if sending */
	bool sending;
	size_t out_len;
	uint8_t out[NBD_HELLO_OUT];
};
void nbd_srv_hello_start(struct nbd_srv_hello *);
/* Takes at most one message from p; gives how many bytes were used, 0 = needs more. Needs: out
 * empty, state before DONE. */
size_t nbd_srv_hello_feed(struct nbd_srv_hello *, const uint8_t *p, size_t len);
uint16_t nbd_srv_flags(const struct nbd_export *, bool structured);
