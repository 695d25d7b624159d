/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two ends of TLS on one loop, whose bytes the test carries, cuts and damages. */
#pragma once
#include "../../core/net/tls_conn.h"
#include "../../core/net/tls_creds.h"

#define TLS_ALICE "alice:000102030405060708090a0b0c0d0e0f\n"

enum { TLS_CLIENT, TLS_SERVER };
struct tls_end {
	struct tls_creds *creds;
	struct tls_conn *tls;
	volatile int stepped;
};
extern struct tls_end tls_end[2];
extern struct loop *tls_loop;

/* Texts of files in place of their names; `certificates` is not used. */
struct tls_texts {
	const char *psk_file, *user;
	const char *ca, *crl, *cert, *key;
	bool no_verify;
};
/* NULL: diag is set. */
struct tls_creds *tls_creds_of(bool server, const struct tls_texts *, struct diag *);

void tls_ends_begin(
	const struct tls_texts *client, const struct tls_texts *server, const char *hostname);
void tls_ends_finish(void);
/* Carry at most that many bytes to the other end; returns how many. */
size_t tls_ends_carry(unsigned from, size_t most);
void tls_ends_step(unsigned at);
/* Until nothing moves; `most` bytes at once. */
void tls_ends_handshake(size_t most);
