/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS on one connection, bytes in and bytes out: tcp.c moves them. Until it is secured, mbedTLS
 * does the handshake on another thread; from then on tls_conn.c handles records. */
#pragma once
#include "offload.h"
#include "tls.h"
#include "tls_record.h"
#include <mbedtls/ssl.h>

#define TLS_RECORDS       4  /* received or sent with one call */
#define TLS_RECORDS_TAKEN 64 /* decrypted with one call, however short */
#define TLS_BUFFER        (TLS_RECORDS * (TLS_TEXT + TLS_OVERHEAD) + 256)
/* Records protected with one key, less than the 2^24.5 of section 5.5. */
#define TLS_KEY_RECORDS (1u << 24)
/* Records without data that may follow one another; steps of one handshake. */
#define TLS_IDLE_RECORDS 64
#define TLS_STEPS        64

struct tls_conn {
	struct offload job; /* first member: one step of the handshake */
	struct tls_creds *creds;
	void (*stepped)(void *user); /* on the loop: a step is done */
	void *user;
	bool running; /* the thread owns all that follows `secured` */
	bool secured; /* the handshake is done */
	bool handshake_done;
	struct diag why; /* the handshake has failed */
	/* the handshake, freed at its end */
	mbedtls_ssl_context ssl;
	bool has_ssl;
	bool unknown_user;
	bool sha384;         /* the hash of the pre-shared key; else SHA-256 */
	uint8_t plain_alert; /* the peer's, before it had keys; 0: none */
	uint8_t steps;
	size_t feed;                   /* bytes of the current record that mbedTLS has not taken */
	uint8_t secret[2][TLS_SECRET]; /* of the client, of the server */
	size_t secret_len;
	/* the identity of a pre-shared key, or the subject of a certificate */
	char peer[TLS_IDENTITY];
	char suite[32];
	bool psk;                                /* a pre-shared key was used */
	struct tls_certificate chain[TLS_CHAIN]; /* of a server */
	unsigned chain_len;
	/* received: records from in_from on; or the rest of one that was decrypted in place */
	struct tls_key rx;
	size_t in_from, in_to, text_from, text_to;
	uint8_t message[5], message_len; /* start of a handshake message */
	uint32_t message_rest;
	uint8_t idle;
	bool begun;  /* data was received */
	bool closed; /* by the peer's close_notify */
	/* to send */
	struct tls_key tx;
	uint64_t tx_limit; /* TLS_KEY_RECORDS, less in tests */
	size_t out_from, out_to;
	size_t out_text; /* bytes of content in it */
	bool answer_update;
	uint8_t in[TLS_BUFFER], out[TLS_BUFFER];
};

/* Prepare a handshake; the arguments are those of struct stream_tls. NULL: diag is set. */
struct tls_conn *tls_conn_new(
	struct tls_creds *, const char *hostname, const void *client, struct diag *);
bool tls_conn_begins(const struct tls_conn *); /* this side sends first */
/* In any state; a running step ends first, and the memory is freed then. */
void tls_conn_free(struct tls_conn *);
/* Run the next step; `stepped` follows. Needs: !running, a record to handle or a client's start. */
int tls_conn_step(struct tls_conn *, struct loop *, struct diag *);
/* Whether a whole record was received: the handshake or tls_conn_take() can continue. */
bool tls_conn_has_record(const struct tls_conn *);
bool tls_conn_has_data(const struct tls_conn *); /* tls_conn_take() has something to do */

/* Where to receive, at least a byte; then how much was. */
struct iovec tls_conn_room(struct tls_conn *);
void tls_conn_received(struct tls_conn *, size_t len);
/* Decrypt content into the buffers. Returns the bytes; 0: more must be received, or `closed`;
 * -errno: the connection has failed, the alert is to be sent. */
ssize_t tls_conn_take(struct tls_conn *, struct tls_cursor *, struct diag *);

/* Encrypt content if all of the last was sent; returns the bytes taken. -ENOMEM. */
ssize_t tls_conn_put(struct tls_conn *, const struct iovec *, int count, struct diag *);
/* Say that nothing more is sent. Needs: secured. */
void tls_conn_put_close(struct tls_conn *);
/* What is to be sent; then how much was. Returns the bytes of content that are sent with it. */
struct iovec tls_conn_pending(struct tls_conn *);
size_t tls_conn_sent(struct tls_conn *, size_t len);

void tls_conn_put_alert(struct tls_conn *, uint8_t alert); /* a fatal one */

/* tls_handshake.c: on the thread */
void tls_handshake_run(struct offload *);
int tls_handshake_begin(struct tls_conn *, const char *hostname, struct diag *);
void tls_handshake_end(struct tls_conn *);
/* Explain a fatal alert of the peer. begun: data was received before it. */
void tls_alert_why(const struct tls_creds *, uint8_t alert, bool begun, struct diag *);
