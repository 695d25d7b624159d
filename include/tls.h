/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS 1.3 (RFC 8446): keys and certificates of this side of connections. stream_start_tls() uses
 * them. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_FIRST_BYTE 22  /* of a ClientHello */
#define TLS_USER       256 /* a user's name, with its end */
#define TLS_IDENTITY   576 /* the identity of any pre-shared key, with its end */

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

/* Let the helper open the files of a client later (helper.h); NULL: as above. 0 or -ENOMEM. */
int tls_client_allow(const char *psk_file, const char *certificates);

struct tls_creds;
/* Read the files. They may be used on any thread, by any number of connections, until freed. */
int tls_creds_new(struct tls_creds **, const struct tls_files *, struct diag *);

/* A pre-shared key of a protocol that has its own way to share them. The hash decides on the
 * cipher: TLS_AES_128_GCM_SHA256 or TLS_AES_256_GCM_SHA384. */
struct tls_shared_key {
	uint8_t key[48];
	uint8_t len;
	bool sha384;
};
struct tls_names {
	const char *kind; /* for tls_creds_kind() */
	const char *noun; /* what messages call the owner of a key: "host" */
};
/* For a client: its only key. Copies all but the noun. */
int tls_creds_new_key(struct tls_creds **, const char *identity, const struct tls_shared_key *,
	const struct tls_names *, struct diag *);
/* For a server: whose keys are found by their identities. */
struct tls_finder {
	/* Set the key of an identity, which is any bytes; that of an unknown one is random, and
	 * takes as long. False: unknown. On any thread. */
	bool (*find)(const void *user, const char *identity, size_t len, struct tls_shared_key *);
	void (*free)(void *user);
	void *user; /* owned from here, also on failure */
};
int tls_creds_new_finder(
	struct tls_creds **, const struct tls_finder *, const struct tls_names *, struct diag *);

struct tls_creds *tls_creds_hold(struct tls_creds *); /* until one more tls_creds_free() */
void tls_creds_free(struct tls_creds *);              /* wipes the keys; NULL is allowed */
/* Whether every peer must prove who it is. */
bool tls_creds_authenticate(const struct tls_creds *);
/* What it authenticates with, for messages: "PSK of 'alice'", "certificates". */
const char *tls_creds_kind(const struct tls_creds *);
