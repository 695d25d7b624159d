/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two ends of TLS, whose bytes the test carries, cuts and damages: data, key updates, alerts,
 * tickets, and records that no peer sends. */
#include "says.h"
#include "tls_ends.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLIENT = TLS_CLIENT, SERVER = TLS_SERVER };
static struct diag why;
static uint8_t text[1 << 20], got[1 << 20];

static const struct tls_texts client = { .psk_file = TLS_ALICE, .user = "alice" },
			      server = { .psk_file = "bob:00112233445566778899aabbccddeeff\n"
						     "# a comment\n" TLS_ALICE };

/* As after a handshake, whose calculations take long under emulation. */
static void secure(void)
{
	static const uint8_t secret[2][TLS_SECRET] = { { 1 }, { 2 } };

	tls_ends_begin(&client, &server, NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct tls_conn *tls = tls_end[i].tls;

		cr_assert_eq(tls_key_set(&tls->tx, secret[i], 32), 0);
		cr_assert_eq(tls_key_set(&tls->rx, secret[!i], 32), 0);
		tls->secured = true;
	}
}

static ssize_t take(unsigned at, void *to, size_t len)
{
	struct iovec iov[2] = { { to, len / 3 }, { (uint8_t *)to + len / 3, len - len / 3 } };
	struct tls_cursor cursor = { iov, 2, 0 };

	return tls_conn_take(tls_end[at].tls, &cursor, &why);
}

/* Send text and expect it, in pieces of that size at most. */
static void pass(unsigned from, size_t len, size_t most, size_t room)
{
	size_t sent = 0, done = 0;

	memset(got, 0, len);
	while (done < len) {
		struct iovec iov[2] = { { text + sent, (len - sent) / 2 },
			{ text + sent + (len - sent) / 2, len - sent - (len - sent) / 2 } };
		ssize_t n = tls_conn_put(tls_end[from].tls, iov, 2, &why);

		cr_assert_geq(n, 0);
		sent += (size_t)n;
		tls_ends_carry(from, most);
		do {
			n = take(!from, got + done, len - done < room ? len - done : room);
			cr_assert_geq(n, 0, "%s", why.text);
			done += (size_t)n;
		} while (n);
	}
	cr_assert(!memcmp(got, text, len));
}

static void fill(void)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)rand();
}

Test(tls_conn, data_of_any_length_in_both_directions)
{
	secure();
	fill();
	for (size_t len = 1; len < 300000; len = len * 3 + 1) {
		pass(CLIENT, len, SIZE_MAX, SIZE_MAX);
		pass(SERVER, len, 7000, 900);
	}
	tls_ends_finish();
}

Test(tls_conn, keys_change_before_their_limit)
{
	uint8_t first[TLS_SECRET];

	secure();
	fill();
	memcpy(first, tls_end[SERVER].tls->rx.secret, 32);
	tls_end[CLIENT].tls->tx_limit = 3;
	pass(CLIENT, 500000, SIZE_MAX, SIZE_MAX);
	cr_assert_arr_neq(tls_end[SERVER].tls->rx.secret, first, 32);
	cr_assert_lt(tls_end[SERVER].tls->rx.records, 8);
	pass(SERVER, 1000, SIZE_MAX, SIZE_MAX);
	tls_ends_finish();
}

/* A record of that type as the peer could send it. */
static void inject(unsigned from, enum tls_type type, const void *p, size_t len)
{
	const struct iovec iov = { (void *)(uintptr_t)p, len };
	struct tls_cursor cursor = { &iov, 1, 0 };
	struct iovec room = tls_conn_room(tls_end[!from].tls);

	tls_conn_received(tls_end[!from].tls,
		tls_seal(&tls_end[from].tls->tx, type, &cursor, len, room.iov_base));
}

Test(tls_conn, requested_key_update_is_answered_once)
{
	static const uint8_t update[5] = { 24, 0, 0, 1, 1 };

	secure();
	fill();
	for (unsigned i = 0; i < 2; i++) {
		inject(CLIENT, TLS_HANDSHAKE, update, sizeof(update));
		tls_key_update(&tls_end[CLIENT].tls->tx);
		cr_assert_eq(take(SERVER, got, 100), 0, "%s", why.text);
	}
	cr_assert(tls_end[SERVER].tls->answer_update);
	pass(SERVER, 40000, SIZE_MAX, SIZE_MAX);
	cr_assert(!tls_end[SERVER].tls->answer_update);
	pass(CLIENT, 40000, SIZE_MAX, SIZE_MAX);
	tls_ends_finish();
}

/* The server gets this record; the client hears why it ended. */
static void refused(enum tls_type type, const void *p, size_t len, const char *words)
{
	inject(CLIENT, type, p, len);
	why = (struct diag){ 0 };
	cr_assert_lt(take(SERVER, got, sizeof(got)), 0);
	diag_says(&why, DIAG_PROTOCOL, "", words);
	tls_ends_carry(SERVER, SIZE_MAX);
	why = (struct diag){ 0 };
	cr_assert_lt(take(CLIENT, got, sizeof(got)), 0);
	diag_says(&why, DIAG_CLOSED, "", "server ended alert");
	tls_ends_finish();
}

Test(tls_conn, messages_that_no_peer_sends)
{
	static const uint8_t ticket[] = { 4, 0, 0, 2, 1, 1 }, bad_update[] = { 24, 0, 0, 1, 2 },
			     more[] = { 24, 0, 0, 1, 0, 4 }, hello[] = { 1, 0, 0, 4 };

	secure();
	refused(TLS_HANDSHAKE, ticket, sizeof(ticket), "unexpected handshake message");
	secure();
	refused(TLS_HANDSHAKE, hello, sizeof(hello), "unexpected handshake message");
	secure();
	refused(TLS_HANDSHAKE, bad_update, sizeof(bad_update), "malformed key update");
	secure();
	refused(TLS_HANDSHAKE, more, sizeof(more), "data behind key update");
	secure();
	refused(TLS_HANDSHAKE, "", 0, "unexpected record");
	secure();
	refused(20, "\1", 1, "unexpected record");
	secure();
	refused(0, "\0\0", 2, "malformed record"); /* padding alone */
	secure();
	refused(TLS_ALERT, "\2\0\0", 3, "malformed alert");
	secure();
	inject(CLIENT, TLS_HANDSHAKE, "\30\0", 2); /* a message that data interrupts */
	refused(TLS_DATA, "x", 1, "unexpected record");
}

Test(tls_conn, only_so_many_records_without_data)
{
	secure();
	for (unsigned i = 0; i < 3 * TLS_IDLE_RECORDS; i++) {
		inject(CLIENT, TLS_DATA, "", 0);
		cr_assert_eq(take(SERVER, got, 100), 0);
		if (i % 50 == 0) {
			inject(CLIENT, TLS_DATA, "x", 1);
			cr_assert_eq(take(SERVER, got, 100), 1);
		}
	}
	tls_ends_finish();
	secure();
	for (unsigned i = 1; i < TLS_IDLE_RECORDS; i++) {
		inject(CLIENT, TLS_DATA, "", 0);
		cr_assert_eq(take(SERVER, got, 100), 0);
	}
	refused(TLS_DATA, "", 0, "too many records without data");
}

/* Servers with GnuTLS and OpenSSL send them. */
Test(tls_conn, client_drops_tickets)
{
	uint8_t ticket[300] = { 4, 0, 1, 0x28 };

	secure();
	inject(SERVER, TLS_HANDSHAKE, ticket, 2);
	inject(SERVER, TLS_HANDSHAKE, ticket + 2, 200);
	inject(SERVER, TLS_HANDSHAKE, ticket + 202, 98);
	inject(SERVER, TLS_DATA, "data", 4);
	cr_assert_eq(take(CLIENT, got, 100), 4, "%s", why.text);
	cr_assert_arr_eq(got, "data", 4);
	tls_ends_finish();
}

Test(tls_conn, damaged_records_are_never_data)
{
	for (unsigned at = 0; at < 40; at += 3) {
		struct iovec iov = { text, 18 };
		uint8_t *record;
		ssize_t n;

		secure();
		tls_conn_put(tls_end[CLIENT].tls, &iov, 1, &why);
		record = tls_conn_pending(tls_end[CLIENT].tls).iov_base;
		record[at] ^= 1;
		tls_ends_carry(CLIENT, SIZE_MAX);
		why = (struct diag){ 0 };
		n = take(SERVER, got, 1000);
		/* a longer record is waited for */
		cr_assert(n < 0 || (!n && at == 3), "byte %u", at);
		tls_ends_finish();
	}
}

Test(tls_conn, record_too_long)
{
	struct iovec room;

	secure();
	room = tls_conn_room(tls_end[SERVER].tls);
	memcpy(room.iov_base, "\27\3\3\101\1", 5); /* 2^14 + 257 */
	tls_conn_received(tls_end[SERVER].tls, 5);
	cr_assert_lt(take(SERVER, got, 1000), 0);
	diag_says(&why, DIAG_PROTOCOL, "", "record too long");
	tls_ends_finish();
}

/* Before any data it refuses who connects, later the connection is lost. */
Test(tls_conn, an_alert_after_data_refuses_nobody)
{
	static const uint8_t alert[2] = { 2, TLS_BAD_RECORD_MAC };

	secure();
	inject(SERVER, TLS_ALERT, alert, sizeof(alert));
	cr_assert_lt(take(CLIENT, got, 100), 0);
	diag_says(&why, DIAG_AUTH, "", "server rejected wrong key");
	tls_ends_finish();
	secure();
	pass(SERVER, 100, SIZE_MAX, SIZE_MAX);
	inject(SERVER, TLS_ALERT, alert, sizeof(alert));
	cr_assert_lt(take(CLIENT, got, 100), 0);
	diag_says(&why, DIAG_CLOSED, "", "server ended alert 20");
	tls_ends_finish();
}

/* A peer that puts each byte into a record of its own does not keep the loop busy. */
Test(tls_conn, only_so_many_records_in_one_call)
{
	struct iovec iov = { text, 1 };

	secure();
	for (unsigned i = 0; i < TLS_RECORDS_TAKEN + 10; i++) {
		cr_assert_eq(tls_conn_put(tls_end[CLIENT].tls, &iov, 1, &why), 1);
		tls_ends_carry(CLIENT, SIZE_MAX);
	}
	cr_assert_eq(take(SERVER, got, 1000), TLS_RECORDS_TAKEN);
	cr_assert(tls_conn_has_data(tls_end[SERVER].tls));
	cr_assert_eq(take(SERVER, got, 1000), 10);
	tls_ends_finish();
}

Test(tls_conn, close_ends_data)
{
	secure();
	inject(CLIENT, TLS_DATA, "last", 4);
	tls_conn_put_close(tls_end[CLIENT].tls);
	tls_ends_carry(CLIENT, SIZE_MAX);
	cr_assert_eq(take(SERVER, got, 100), 4);
	cr_assert(tls_end[SERVER].tls->closed);
	cr_assert(tls_conn_has_data(tls_end[SERVER].tls), "the end is still to be reported");
	tls_ends_finish();
}

/* A step may run when the connection is freed, and needs the keys until it has ended. */
Test(tls_conn, freed_while_a_step_runs)
{
	for (unsigned i = 0; i < 20; i++) {
		tls_ends_begin(&client, &server, NULL);
		cr_assert_eq(tls_conn_step(tls_end[CLIENT].tls, tls_loop, &why), 0);
		if (i % 2)
			usleep(i * 50);
		tls_ends_finish();
	}
}
