/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Handshakes with keys and with certificates, and what both ends say if one fails. */
#include "certificates.h"
#include "says.h"
#include "tls_ends.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CLIENT = TLS_CLIENT, SERVER = TLS_SERVER };

static const struct tls_texts alice = { .psk_file = TLS_ALICE, .user = "alice" },
			      keys = { .psk_file = TLS_ALICE }, visitor = { .ca = CERT_CA },
			      member = { .ca = CERT_CA,
				      .cert = CERT_CLIENT,
				      .key = CERT_CLIENT_KEY },
			      open_server = { .cert = CERT_SERVER, .key = CERT_SERVER_KEY },
			      closed_server = {
				      .ca = CERT_CA, .cert = CERT_SERVER, .key = CERT_SERVER_KEY
			      };

static void works(const struct tls_texts *client, const struct tls_texts *server,
	const char *hostname, const char *client_name, const char *server_name)
{
	tls_ends_begin(client, server, hostname);
	tls_ends_handshake(SIZE_MAX);
	for (unsigned i = 0; i < 2; i++)
		cr_assert(tls_end[i].tls->secured, "%s", tls_end[i].tls->why.text);
	cr_assert_str_eq(tls_end[SERVER].tls->peer, client_name);
	cr_assert_str_eq(tls_end[CLIENT].tls->peer, server_name);
	cr_assert_str_eq(tls_end[CLIENT].tls->suite, tls_end[SERVER].tls->suite);
	tls_ends_finish();
}

static const char *why_of(unsigned at)
{
	return tls_end[at].tls->why.text;
}

/* A client that has finished its part gets an alert with its first record. */
static void fails(const struct tls_texts *client, const struct tls_texts *server,
	const char *hostname, const char *client_words, const char *server_words)
{
	struct diag why = { 0 };
	uint8_t byte;
	struct iovec iov = { &byte, 1 };
	struct tls_cursor to = { &iov, 1, 0 };

	tls_ends_begin(client, server, hostname);
	tls_ends_handshake(SIZE_MAX);
	cr_assert(!tls_end[SERVER].tls->secured);
	diag_says(&tls_end[SERVER].tls->why, DIAG_AUTH, "", server_words);
	if (tls_end[CLIENT].tls->secured)
		cr_assert_lt(tls_conn_take(tls_end[CLIENT].tls, &to, &why), 0);
	else
		why = tls_end[CLIENT].tls->why;
	diag_says(&why, DIAG_AUTH, "", client_words);
	tls_ends_finish();
}

Test(tls_handshake, keys)
{
	works(&alice, &keys, NULL, "alice", "");
}

static void stepped(void *user)
{
	*(volatile int *)user = 1;
}

/* mbedTLS has 32 places for keys of handshakes, unless it is built with a dynamic store. */
Test(tls_handshake, forty_clients_at_once)
{
	struct tls_conn *more[40];
	struct diag why = { 0 };

	tls_ends_begin(&alice, &keys, NULL);
	for (unsigned i = 0; i < 40; i++) {
		volatile int done = 0;

		more[i] = tls_conn_new(tls_end[CLIENT].creds, NULL, NULL, &why);
		cr_assert(more[i]);
		more[i]->stepped = stepped;
		more[i]->user = (void *)(uintptr_t)&done;
		cr_assert_eq(tls_conn_step(more[i], tls_loop, &why), 0);
		cr_assert(loop_wait(tls_loop, &done, wait_limit()));
		cr_assert_eq(more[i]->why.err, 0, "%u: %s", i, more[i]->why.text);
	}
	tls_ends_handshake(SIZE_MAX);
	cr_assert(tls_end[CLIENT].tls->secured && tls_end[SERVER].tls->secured);
	for (unsigned i = 0; i < 40; i++)
		tls_conn_free(more[i]);
	tls_ends_finish();
}

Test(tls_handshake, byte_by_byte)
{
	tls_ends_begin(&alice, &keys, NULL);
	tls_ends_handshake(1);
	cr_assert(tls_end[CLIENT].tls->secured && tls_end[SERVER].tls->secured);
	tls_ends_finish();
}

/* Which of both it was, only the server knows. */
static void same_failure(const char *file, const char *user, const char *server_words)
{
	const struct tls_texts client = { .psk_file = file, .user = user };
	static char first[sizeof(((struct diag *)0)->text)];
	char *name;

	tls_ends_begin(&client, &keys, NULL);
	tls_ends_handshake(SIZE_MAX);
	diag_says(&tls_end[SERVER].tls->why, DIAG_AUTH, "", server_words);
	diag_says(&tls_end[CLIENT].tls->why, DIAG_AUTH, "", "server rejected wrong key");
	name = strstr(tls_end[CLIENT].tls->why.text, user);
	cr_assert(name);
	memset(name, 'x', strlen(user));
	if (first[0])
		cr_assert_str_eq(why_of(CLIENT), first);
	snprintf(first, sizeof(first), "%s", why_of(CLIENT));
	tls_ends_finish();
}

Test(tls_handshake, wrong_key_and_unknown_user_look_the_same)
{
	same_failure("alice:000102030405060708090a0b0c0d0e00\n", "alice", "wrong key 'alice'");
	same_failure("mandy:000102030405060708090a0b0c0d0e0f\n", "mandy", "unknown user 'mandy'");
}

/* The name stands in the log. */
Test(tls_handshake, user_with_control_characters)
{
	static const struct tls_texts client = {
		.psk_file = "a\33[2J:000102030405060708090a0b0c0d0e0f\n", .user = "a\33[2J"
	};

	fails(&client, &keys, NULL, "wrong key", "unknown user 'a?[2J'");
}

Test(tls_handshake, certificates)
{
	static const struct tls_texts rsa = { .cert = CERT_RSA, .key = CERT_RSA_KEY };

	works(&visitor, &open_server, "disk.example", "", "CN=server");
	works(&visitor, &open_server, "10.0.0.1", "", "CN=server");
	works(&visitor, &open_server, NULL, "", "CN=server");
	works(&visitor, &rsa, "disk.example", "", "CN=server with RSA");
	works(&member, &closed_server, "disk.example", "CN=alice", "CN=server");
}

Test(tls_handshake, chain_of_the_server)
{
	const struct tls_certificate *cert;

	tls_ends_begin(&visitor, &open_server, NULL);
	tls_ends_handshake(SIZE_MAX);
	cert = tls_end[CLIENT].tls->chain;
	cr_assert_eq(tls_end[CLIENT].tls->chain_len, 1);
	cr_assert_str_eq(cert->subject, "CN=server");
	cr_assert_str_eq(cert->issuer, "CN=authority");
	cr_assert_str_eq(cert->names, "disk.example 10.0.0.1");
	cr_assert_str_eq(cert->from, "2020-01-01");
	cr_assert_str_eq(cert->until, "2120-01-01");
	cr_assert_eq(tls_end[SERVER].tls->chain_len, 0);
	tls_ends_finish();
}

Test(tls_handshake, keys_and_certificates_at_one_server)
{
	static const struct tls_texts both = {
		.psk_file = TLS_ALICE, .ca = CERT_CA, .cert = CERT_SERVER, .key = CERT_SERVER_KEY
	};

	works(&alice, &both, NULL, "alice", "");
	works(&member, &both, "disk.example", "CN=alice", "CN=server");
}

/* The client offers its key for a key exchange that the server does not use. Another client could
 * do the same without the key. */
Test(tls_handshake, key_that_is_not_used)
{
	static const struct tls_texts both = {
		.psk_file = TLS_ALICE, .user = "alice", .ca = CERT_CA
	};
	static const struct tls_texts server = {
		.psk_file = TLS_ALICE, .cert = CERT_SERVER, .key = CERT_SERVER_KEY
	};

	works(&both, &server, "disk.example", "alice", "");
	tls_ends_begin(&both, &server, "disk.example");
	mbedtls_ssl_conf_tls13_key_exchange_modes(&tls_end[CLIENT].creds->conf,
		MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK |
			MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL);
	tls_ends_handshake(SIZE_MAX);
	for (unsigned i = 0; i < 2; i++)
		cr_assert(tls_end[i].tls->secured, "%s", why_of(i));
	cr_assert_str_eq(tls_end[CLIENT].tls->peer, "CN=server");
	cr_assert_str_eq(tls_end[SERVER].tls->peer, "");
	tls_ends_finish();
}

Test(tls_handshake, server_that_is_not_trusted)
{
	static const struct tls_texts elsewhere = { .ca = CERT_OTHER_CA },
				      trusting = { .ca = CERT_OTHER_CA, .no_verify = true },
				      expired = { .cert = CERT_SERVER_EXPIRED,
					      .key = CERT_SERVER_KEY };

	fails(&visitor, &open_server, "other.example", "trusted certificate another_name",
		"client rejected does_not_accept");
	fails(&visitor, &open_server, "10.0.0.2", "another_name", "rejected");
	fails(&elsewhere, &open_server, "disk.example", "not_issued ca-cert.pem",
		"client rejected authority");
	fails(&visitor, &expired, "disk.example", "expired", "client rejected expired");
	works(&trusting, &expired, "other.example", "", "CN=expired");
}

Test(tls_handshake, client_that_is_not_trusted)
{
	static const struct tls_texts revoking = { .ca = CERT_CA,
		.crl = CERT_CRL,
		.cert = CERT_SERVER,
		.key = CERT_SERVER_KEY },
				      elsewhere = { .ca = CERT_OTHER_CA,
					      .cert = CERT_SERVER,
					      .key = CERT_SERVER_KEY };

	fails(&visitor, &closed_server, "disk.example", "server rejected requires certificate",
		"client sent_no_certificate");
	fails(&member, &revoking, "disk.example", "server rejected revoked", "client revoked");
	fails(&member, &elsewhere, "disk.example", "server rejected authority",
		"client not_issued ca-cert.pem");
}

Test(tls_handshake, nothing_in_common)
{
	fails(&alice, &open_server, NULL, "server rejected no_common_way PSK",
		"no_way authenticate certificates");
	fails(&visitor, &keys, "disk.example", "server rejected no_common_way certificates",
		"no_way authenticate PSK");
}

static void not_tls(const char *bytes, size_t len, const char *words)
{
	struct iovec room;

	tls_ends_begin(&alice, &keys, NULL);
	room = tls_conn_room(tls_end[SERVER].tls);
	memcpy(room.iov_base, bytes, len);
	tls_conn_received(tls_end[SERVER].tls, len);
	cr_assert(tls_conn_has_record(tls_end[SERVER].tls));
	tls_ends_step(SERVER);
	cr_assert(tls_end[SERVER].tls->why.err);
	cr_assert_null(text_missing(why_of(SERVER), words), "%s", why_of(SERVER));
	tls_ends_finish();
}

Test(tls_handshake, client_without_tls)
{
	not_tls("IHAVEOPT\0\0\0\7\0\0\0\0", 16, "client not speak TLS");
	not_tls("\26\3\1\0\1\1", 6, "client");
}

/* A ClientHello of TLS 1.2, as OpenSSL sends it. */
Test(tls_handshake, client_of_tls_1_2)
{
	static const char hello[] = "\26\3\1\0\65\1\0\0\61\3\3"
				    "01234567890123456789012345678901"
				    "\0\0\4\xc0\x2b\0\xff\1\0\0\4\0\27\0\0";

	not_tls(hello, 5 + 0x35, "client not support TLS 1.3");
}

Test(tls_handshake, it_has_an_end)
{
	struct diag why = { 0 };
	int err = 0;

	tls_ends_begin(&alice, &keys, NULL);
	for (unsigned i = 0; !err && i <= TLS_STEPS; i++) {
		tls_end[SERVER].stepped = 0;
		err = tls_conn_step(tls_end[SERVER].tls, tls_loop, &why);
		while (!err && !tls_end[SERVER].stepped)
			loop_wait(tls_loop, &tls_end[SERVER].stepped, loop_clock() + 1000000);
	}
	cr_assert_eq(err, -EPROTO);
	diag_says(&why, DIAG_PROTOCOL, "", "handshake too_long");
	tls_ends_finish();
}
