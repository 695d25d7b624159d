/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS 1.3 (RFC 8446): keys and certificates of this side of connections. stream_start_tls() uses
 * them. */
#pragma once
#include "diag.h"
#include <stdbool.h>

#define TLS_USER 256 /* a user's name, with its end */

struct tls_files {
	bool server;
	/* Pre-shared keys: lines USER:KEY, the key in hexadecimal digits. A client uses that of
	 * `user`, which is NULL for the login name. */
	const char *psk_file, *user;
	/* Folder with ca-cert.pem, ca-crl.pem, and server-cert.pem, server-key.pem or
	 * client-cert.pem, client-key.pem. A client without psk_file may leave it NULL: the first
	 * of $HOME/.pki/libnbd, $HOME/.config/pki/libnbd and /etc/pki/libnbd that exists.
	 * A server with ca-cert.pem demands certificates of its clients. */
	const char *certificates;
	bool no_verify; /* of a client: accept any certificate */
};
/* A certificate that a server has sent. */
#define TLS_CHAIN 4
struct tls_certificate {
	char subject[TLS_USER], issuer[TLS_USER];
	char names[TLS_USER];     /* DNS names and IP addresses, separated by blanks */
	char from[12], until[12]; /* "2026-11-29", UTC */
};

struct tls_creds;
/* Read the files. They may be used on any thread, by any number of connections, until freed. */
int tls_creds_new(struct tls_creds **, const struct tls_files *, struct diag *);
void tls_creds_free(struct tls_creds *); /* wipes the keys; NULL is allowed */
/* Whether every peer must prove who it is. */
bool tls_creds_authenticate(const struct tls_creds *);
/* What it authenticates with, for messages: "PSK of 'alice'", "certificates". */
const char *tls_creds_kind(const struct tls_creds *);
