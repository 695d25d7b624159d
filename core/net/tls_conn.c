/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The records of one connection: data, alerts, key updates, tickets (RFC 8446, sections 4.6, 5,
 * 6). */
#include "tls_conn.h"
#include "tls_creds.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NEW_SESSION_TICKET = 4, KEY_UPDATE = 24 }; /* section 4 */

static void step_done(struct offload *job)
{
	struct tls_conn *tls = container_of(job, struct tls_conn, job);

	tls->running = false;
	tls->secured = tls->handshake_done;
	tls->stepped(tls->user);
}

static void wipe(struct offload *job)
{
	struct tls_conn *tls = container_of(job, struct tls_conn, job);

	tls_handshake_end(tls);
	tls_key_wipe(&tls->rx);
	tls_key_wipe(&tls->tx);
	tls_creds_free(tls->creds);
	explicit_bzero(tls, sizeof(*tls));
	free(tls);
}

struct tls_conn *tls_conn_new(
	struct tls_creds *creds, const char *hostname, const void *client, struct diag *diag)
{
	struct tls_conn *tls = calloc(1, sizeof(*tls));

	if (!tls) {
		diag_sys(diag, ENOMEM, "TLS");
		return NULL;
	}
	tls->job.work = tls_handshake_run;
	tls->job.done = step_done;
	tls->job.free = wipe;
	tls->job.client = client;
	tls->creds = creds;
	tls_creds_hold(creds);
	tls->tx_limit = TLS_KEY_RECORDS;
	if (tls_handshake_begin(tls, hostname, diag)) {
		wipe(&tls->job);
		return NULL;
	}
	return tls;
}

bool tls_conn_begins(const struct tls_conn *tls)
{
	return !tls->creds->server;
}

void tls_conn_free(struct tls_conn *tls)
{
	if (!tls)
		return;
	if (tls->running)
		offload_cancel(&tls->job);
	else
		wipe(&tls->job);
}

int tls_conn_step(struct tls_conn *tls, struct loop *loop, struct diag *diag)
{
	int err;

	if (tls->steps++ == TLS_STEPS)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "the TLS handshake is too long");
	tls->running = true;
	err = offload_start(&tls->job, loop, diag);
	if (err)
		tls->running = false;
	return err;
}

/* --- receiving */

static size_t body_len(const uint8_t *header)
{
	return (size_t)header[3] << 8 | header[4];
}

static bool has_header(const struct tls_conn *tls)
{
	return tls->in_to - tls->in_from >= TLS_HEADER;
}

/* A record that is too long counts, too: it is refused without waiting for its end. */
bool tls_conn_has_record(const struct tls_conn *tls)
{
	const uint8_t *header = tls->in + tls->in_from;

	return has_header(tls) &&
	       (body_len(header) > TLS_BODY ||
		       tls->in_to - tls->in_from - TLS_HEADER >= body_len(header));
}

bool tls_conn_has_data(const struct tls_conn *tls)
{
	return tls->closed || tls->text_from < tls->text_to || tls_conn_has_record(tls);
}

struct iovec tls_conn_room(struct tls_conn *tls)
{
	size_t len = tls->in_to - tls->in_from;

	assert(tls->text_from == tls->text_to);
	if (!len || sizeof(tls->in) - tls->in_to < TLS_BODY) {
		memmove(tls->in, tls->in + tls->in_from, len);
		tls->in_from = 0;
		tls->in_to = len;
	}
	return (struct iovec){ tls->in + tls->in_to, sizeof(tls->in) - tls->in_to };
}

void tls_conn_received(struct tls_conn *tls, size_t len)
{
	tls->in_to += len;
}

static void put_record(struct tls_conn *tls, enum tls_type type, const void *content, size_t len)
{
	const struct iovec iov = { (void *)(uintptr_t)content, len };
	struct tls_cursor cursor = { &iov, 1, 0 };

	if (tls->tx.gcm && sizeof(tls->out) - tls->out_to >= len + TLS_OVERHEAD)
		tls->out_to += tls_seal(&tls->tx, type, &cursor, len, tls->out + tls->out_to);
}

void tls_conn_put_alert(struct tls_conn *tls, uint8_t alert)
{
	const uint8_t fatal[2] = { 2, alert };

	put_record(tls, TLS_ALERT, fatal, sizeof(fatal));
}

/* What is queued before the alert is still sent. */
static int violation(struct tls_conn *tls, uint8_t alert, const char *what, struct diag *diag)
{
	tls_conn_put_alert(tls, alert);
	return diag_set(diag, DIAG_PROTOCOL, EPROTO, "TLS: %s", what);
}

static int handle_alert(struct tls_conn *tls, const uint8_t *alert, size_t len, struct diag *diag)
{
	if (len != 2)
		return violation(tls, TLS_DECODE_ERROR, "malformed alert", diag);
	if (alert[1] == TLS_CLOSE_NOTIFY) {
		tls->closed = true;
		return 0;
	}
	tls_alert_why(tls->creds, alert[1], tls->begun, diag);
	return -diag->err;
}

/* The peer's next records have the next key. Section 4.6.3: a request is answered before more data
 * is sent; several are answered by one update. */
static int handle_key_update(struct tls_conn *tls, uint8_t request, struct diag *diag)
{
	if (request > 1)
		return violation(tls, TLS_UNEXPECTED_MESSAGE, "malformed key update", diag);
	if (tls_key_update(&tls->rx))
		return diag_sys(diag, ENOMEM, "TLS key update");
	tls->answer_update |= request;
	return 0;
}

/* Handshake messages, which records may split anywhere. Tickets are dropped. */
static int handle_messages(struct tls_conn *tls, const uint8_t *p, size_t len, struct diag *diag)
{
	while (len) {
		uint32_t skip = len < tls->message_rest ? (uint32_t)len : tls->message_rest;
		uint8_t *message = tls->message;

		tls->message_rest -= skip;
		p += skip;
		len -= skip;
		if (!len)
			break;
		message[tls->message_len++] = *p++;
		len--;
		if (tls->message_len < 4)
			continue;
		if (tls->message_len == 4 && message[0] == KEY_UPDATE && !message[1] &&
			!message[2] && message[3] == 1)
			continue;
		if (tls->message_len == 5) {
			/* section 5.1: the keys change at the end of a record */
			if (len)
				return violation(tls, TLS_UNEXPECTED_MESSAGE,
					"data behind a key update", diag);
			tls->message_len = 0;
			return handle_key_update(tls, message[4], diag);
		}
		if (message[0] != NEW_SESSION_TICKET || tls->creds->server)
			return violation(
				tls, TLS_UNEXPECTED_MESSAGE, "unexpected handshake message", diag);
		tls->message_rest =
			(uint32_t)message[1] << 16 | (uint32_t)message[2] << 8 | message[3];
		tls->message_len = 0;
	}
	return 0;
}

/* Content other than data, which is in the buffers or in the record. */
static int handle_control(
	struct tls_conn *tls, uint8_t type, struct tls_cursor from, size_t len, struct diag *diag)
{
	size_t part;
	int err = 0;

	if (++tls->idle == TLS_IDLE_RECORDS)
		return violation(
			tls, TLS_UNEXPECTED_MESSAGE, "too many records without data", diag);
	if (type == TLS_ALERT) {
		uint8_t alert[2] = { 0 };

		for (size_t at = 0; at < len && at < 2; at += part) {
			part = 1;
			alert[at] = *tls_cursor_next(&from, &part);
		}
		return handle_alert(tls, alert, len, diag);
	}
	if (type == TLS_DATA && !tls->message_len && !tls->message_rest)
		return 0; /* empty */
	if (type != TLS_HANDSHAKE || !len)
		return violation(tls, TLS_UNEXPECTED_MESSAGE, "unexpected record", diag);
	for (; len && !err; len -= part) {
		const uint8_t *p;

		part = len;
		p = tls_cursor_next(&from, &part);
		err = handle_messages(tls, p, part, diag);
	}
	return err;
}

/* Decrypt the next record. Returns its bytes of data in the buffers; those of a record for which
 * there is too little room remain where they are. */
static ssize_t take_record(struct tls_conn *tls, const struct tls_cursor *to, struct diag *diag)
{
	uint8_t *header = tls->in + tls->in_from, *body = header + TLS_HEADER;
	size_t len = body_len(header);
	const struct iovec in_place = { body, len };
	bool direct = tls_cursor_room(to) + AES_GCM_TAG >= len;
	struct tls_cursor place = direct ? *to : (struct tls_cursor){ &in_place, 1, 0 };
	uint8_t type, alert;
	int text;

	if (len > TLS_BODY)
		return violation(tls, TLS_RECORD_OVERFLOW, "record too long", diag);
	if (header[0] != TLS_DATA)
		return violation(tls, TLS_UNEXPECTED_MESSAGE, "unprotected record", diag);
	text = tls_open(&tls->rx, header, body, len, &place, &type, &alert);
	if (text < 0)
		return violation(tls, alert,
			alert == TLS_BAD_RECORD_MAC ? "a record failed authentication"
						    : "malformed record",
			diag);
	tls->in_from += TLS_HEADER + len;
	if (type != TLS_DATA || !text || tls->message_len || tls->message_rest)
		return handle_control(tls, type, place, (size_t)text, diag);
	tls->idle = 0;
	tls->begun = true;
	if (direct)
		return text;
	tls->text_from = (size_t)(body - tls->in);
	tls->text_to = tls->text_from + (size_t)text;
	return 0;
}

/* Copy what was decrypted in place. */
static size_t take_text(struct tls_conn *tls, struct tls_cursor *to)
{
	size_t sum = 0, part;

	while (tls->text_from < tls->text_to && tls_cursor_room(to)) {
		uint8_t *p;

		part = tls->text_to - tls->text_from;
		p = tls_cursor_next(to, &part);
		memcpy(p, tls->in + tls->text_from, part);
		tls->text_from += part;
		sum += part;
	}
	return sum;
}

static void advance(struct tls_cursor *cursor, size_t len)
{
	size_t part;

	for (; len; len -= part) {
		part = len;
		tls_cursor_next(cursor, &part);
	}
}

ssize_t tls_conn_take(struct tls_conn *tls, struct tls_cursor *to, struct diag *diag)
{
	size_t sum = take_text(tls, to);
	ssize_t got;

	for (int i = 0; i < TLS_RECORDS_TAKEN; i++) {
		if (tls->closed || !tls_cursor_room(to) || !tls_conn_has_record(tls))
			break;
		got = take_record(tls, to, diag);
		if (got < 0)
			return got;
		advance(to, (size_t)got);
		sum += (size_t)got + take_text(tls, to);
	}
	return (ssize_t)sum;
}

/* --- sending */

static int update_tx(struct tls_conn *tls, struct diag *diag)
{
	const uint8_t message[5] = { KEY_UPDATE, 0, 0, 1, 0 };

	put_record(tls, TLS_HANDSHAKE, message, sizeof(message));
	tls->answer_update = false;
	return tls_key_update(&tls->tx) ? diag_sys(diag, ENOMEM, "TLS key update") : 0;
}

ssize_t tls_conn_put(struct tls_conn *tls, const struct iovec *iov, int count, struct diag *diag)
{
	struct tls_cursor content = { iov, count, 0 };
	size_t left = tls_cursor_room(&content), sum = 0;
	int err = 0;

	if (tls->out_from < tls->out_to)
		return 0;
	tls->out_from = tls->out_to = 0;
	if (left && (tls->answer_update || tls->tx.records >= tls->tx_limit))
		err = update_tx(tls, diag);
	for (int i = 0; !err && left && i < TLS_RECORDS; i++) {
		size_t len = left < TLS_TEXT ? left : TLS_TEXT;

		tls->out_to += tls_seal(&tls->tx, TLS_DATA, &content, len, tls->out + tls->out_to);
		left -= len;
		sum += len;
	}
	tls->out_text = sum;
	return err ? err : (ssize_t)sum;
}

void tls_conn_put_close(struct tls_conn *tls)
{
	const uint8_t warning[2] = { 1, TLS_CLOSE_NOTIFY };

	put_record(tls, TLS_ALERT, warning, sizeof(warning));
}

struct iovec tls_conn_pending(struct tls_conn *tls)
{
	return (struct iovec){ tls->out + tls->out_from, tls->out_to - tls->out_from };
}

size_t tls_conn_sent(struct tls_conn *tls, size_t len)
{
	size_t text = tls->out_text;

	tls->out_from += len;
	if (tls->out_from < tls->out_to)
		return 0;
	tls->out_text = 0;
	return text;
}
