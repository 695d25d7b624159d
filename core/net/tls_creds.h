/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Credentials as the handshake uses them. */
#pragma once
#include "tls.h"
#include <mbedtls/ssl.h>

struct tls_psk {
	char user[TLS_USER];
	uint8_t key[MBEDTLS_PSK_MAX_LEN];
	uint8_t len;
};
struct tls_creds {
	unsigned refs; /* atomic: the owner's, and a handshake's that it may outlive */
	bool server, psk_only, anonymous; /* anonymous: any certificate, or none */
	bool sha384;                      /* the hash of a client's pre-shared key; else SHA-256 */
	mbedtls_ssl_config conf;          /* constant during handshakes */
	mbedtls_x509_crt ca, cert;
	mbedtls_x509_crl crl;
	mbedtls_pk_context key;
	struct tls_psk *psk; /* of a client: one */
	unsigned psks;
	struct tls_finder finder; /* instead of psk, if it is set */
	const char *noun;
	char kind[TLS_USER + 16];
};
/* The user's key; NULL: unknown. */
const struct tls_psk *tls_creds_find(const struct tls_creds *, const void *user, size_t len);
/* tls_handshake.c: for mbedtls_ssl_conf_psk_cb(); the context's user data is a tls_conn. */
int tls_handshake_find_key(void *, mbedtls_ssl_context *, const unsigned char *user, size_t len);
int tls_random(void *unused, unsigned char *to, size_t len);
