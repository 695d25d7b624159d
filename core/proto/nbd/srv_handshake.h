/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The server's side of the NBD handshake: bytes in, bytes out, without a descriptor. */
#pragma once
#include "nbd_server.h"
#include "stream.h"
#include "wire/nbd.h"

/* longest name or description of ours: limits the reply to LIST, and makes the name fit an NBD
 * URI */
#define NBD_NAME_MAX 512
/* longest option data that is parsed: a name and some queries */
#define NBD_OPTION_MAX    8192
#define NBD_OPTION_SKIP   (1u << 20) /* longer options end the connection */
#define NBD_OPTIONS       256        /* per handshake */
#define NBD_HANDSHAKE_OUT (NBD_EXPORTS * (sizeof(struct nbd_rep) + 4 + 2 * NBD_NAME_MAX) + 1024)

enum nbd_srv_handshake_state {
	NBD_HANDSHAKE_FLAGS,
	NBD_HANDSHAKE_OPTIONS,
	NBD_HANDSHAKE_SKIP,
	NBD_HANDSHAKE_STARTTLS, /* once the reply is sent, until nbd_srv_handshake_secured() */
	NBD_HANDSHAKE_DONE,
	NBD_HANDSHAKE_END
};
struct nbd_srv_handshake {
	const struct nbd_export *export;
	unsigned exports;
	/* Prepare to serve that export; the client gets the reason for a failure. */
	int (*enter)(struct nbd_srv_handshake *, unsigned export, struct diag *);
	void *user; /* for enter */
	uint8_t state;
	bool tls;     /* refuse all options but NBD_OPT_STARTTLS until secured */
	bool secured; /* TLS is up */
	bool plain;   /* the client tried without TLS */
	bool fixed, no_zeroes, structured;
	unsigned chosen; /* valid in state DONE */
	unsigned meta;   /* 1 + the export whose base:allocation is selected; 0 = none */
	unsigned options;
	uint32_t skip;
	struct stream_out reply; /* the bytes of out being sent, if `sending` */
	bool sending;
	size_t out_len;
	uint8_t out[NBD_HANDSHAKE_OUT];
};
void nbd_srv_handshake_start(struct nbd_srv_handshake *);
/* Handle at most one message from p; returns the bytes used, 0 = more needed. Needs: out is empty,
 * state before DONE. */
size_t nbd_srv_handshake_feed(struct nbd_srv_handshake *, const uint8_t *p, size_t len);
/* TLS is up. What was negotiated before is void. */
void nbd_srv_handshake_secured(struct nbd_srv_handshake *);
uint16_t nbd_srv_flags(const struct nbd_export *, bool structured);
