/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The handshake of TLS 1.3, by mbedTLS, in steps that run on the thread of offload.h. At its end
 * the application traffic secrets are taken out of it. */
#include "tls_conn.h"
#include "tls_creds.h"
#include <arpa/inet.h>
#include <errno.h>
#include <psa/crypto.h>
#include <stdio.h>
#include <string.h>

/* A peer that fails before it has keys says so in an unprotected record, which mbedTLS can't read.
 */
static void look_for_alert(struct tls_conn *tls)
{
	const uint8_t *record = tls->in + tls->in_from;

	if (tls->feed == TLS_HEADER + 2 && record[0] == TLS_ALERT)
		tls->plain_alert = record[TLS_HEADER + 1];
}

/* Whole records only, so that tls_conn.c finds the rest. */
static int receive(void *user, unsigned char *to, size_t len)
{
	struct tls_conn *tls = user;

	if (!tls->feed) {
		if (!tls_conn_has_record(tls))
			return MBEDTLS_ERR_SSL_WANT_READ;
		tls->feed = TLS_HEADER +
			    ((size_t)tls->in[tls->in_from + 3] << 8 | tls->in[tls->in_from + 4]);
		look_for_alert(tls);
	}
	if (len > tls->feed)
		len = tls->feed;
	if (len > tls->in_to - tls->in_from)
		len = tls->in_to - tls->in_from;
	if (!len)
		return MBEDTLS_ERR_SSL_WANT_READ;
	memcpy(to, tls->in + tls->in_from, len);
	tls->in_from += len;
	tls->feed -= len;
	return (int)len;
}

static int send_bytes(void *user, const unsigned char *from, size_t len)
{
	struct tls_conn *tls = user;

	if (len > sizeof(tls->out) - tls->out_to)
		return MBEDTLS_ERR_SSL_ALLOC_FAILED;
	memcpy(tls->out + tls->out_to, from, len);
	tls->out_to += len;
	return (int)len;
}

static void export_key(void *user, mbedtls_ssl_key_export_type type, const unsigned char *secret,
	size_t len, const unsigned char client_random[32], const unsigned char server_random[32],
	mbedtls_tls_prf_types prf)
{
	struct tls_conn *tls = user;
	bool server = type == MBEDTLS_SSL_KEY_EXPORT_TLS1_3_SERVER_APPLICATION_TRAFFIC_SECRET;

	(void)client_random;
	(void)server_random;
	(void)prf;
	if ((!server && type != MBEDTLS_SSL_KEY_EXPORT_TLS1_3_CLIENT_APPLICATION_TRAFFIC_SECRET) ||
		len > TLS_SECRET)
		return;
	memcpy(tls->secret[server], secret, len);
	tls->secret_len = len;
}

/* Strangers choose the name, which messages quote. */
static void copy_name(char *to, size_t room, const unsigned char *name, size_t len)
{
	len = len < room ? len : room - 1;
	for (size_t i = 0; i < len; i++)
		to[i] = (char)(name[i] < ' ' || name[i] >= 0x7f ? '?' : name[i]);
	to[len] = 0;
}

/* The hash that an external pre-shared key belongs to (RFC 8446, 4.2.11). */
unsigned tls_psk_hash(mbedtls_ssl_context *ssl)
{
	const struct tls_conn *tls = mbedtls_ssl_get_user_data_p(ssl);

	return tls->sha384 ? PSA_ALG_SHA_384 : PSA_ALG_SHA_256;
}

static int ask_finder(struct tls_conn *tls, const unsigned char *name, size_t len)
{
	const struct tls_finder *finder = &tls->creds->finder;
	struct tls_shared_key key;
	int err;

	tls->unknown_user = !finder->find(finder->user, (const char *)name, len, &key);
	tls->sha384 = key.sha384;
	err = mbedtls_ssl_set_hs_psk(&tls->ssl, key.key, key.len);
	explicit_bzero(&key, sizeof(key));
	return err;
}

/* For an unknown user the key is random, so that a client can't find out which users exist. */
int tls_handshake_find_key(
	void *user, mbedtls_ssl_context *ssl, const unsigned char *name, size_t len)
{
	struct tls_conn *tls = mbedtls_ssl_get_user_data_p(ssl);
	const struct tls_psk *psk;
	uint8_t unknown[32];

	(void)user;
	copy_name(tls->peer, sizeof(tls->peer), name, len);
	if (tls->creds->finder.find)
		return ask_finder(tls, name, len);
	psk = tls_creds_find(tls->creds, name, len);
	tls->unknown_user = !psk;
	if (psk)
		return mbedtls_ssl_set_hs_psk(ssl, psk->key, psk->len);
	if (tls_random(NULL, unknown, sizeof(unknown)))
		return -1;
	return mbedtls_ssl_set_hs_psk(ssl, unknown, sizeof(unknown));
}

int tls_handshake_begin(struct tls_conn *tls, const char *hostname, struct diag *diag)
{
	mbedtls_ssl_context *ssl = &tls->ssl;

	mbedtls_ssl_init(ssl);
	tls->has_ssl = true;
	if (mbedtls_ssl_setup(ssl, &tls->creds->conf) ||
		(!tls->creds->server && mbedtls_ssl_set_hostname(ssl, hostname)))
		return diag_sys(diag, ENOMEM, "TLS");
	mbedtls_ssl_set_user_data_p(ssl, tls);
	tls->sha384 = tls->creds->sha384;
	mbedtls_ssl_set_bio(ssl, tls, send_bytes, receive, NULL);
	mbedtls_ssl_set_export_keys_cb(ssl, export_key, tls);
	return 0;
}

void tls_handshake_end(struct tls_conn *tls)
{
	if (tls->has_ssl)
		mbedtls_ssl_free(&tls->ssl);
	tls->has_ssl = false;
	explicit_bzero(tls->secret, sizeof(tls->secret));
}

/* --- failures */

void tls_alert_why(const struct tls_creds *creds, uint8_t alert, bool begun, struct diag *diag)
{
	static const struct {
		uint8_t alert;
		const char *text;
	} known[] = {
		{ MBEDTLS_SSL_ALERT_MSG_BAD_CERT, "it does not accept the certificate" },
		{ MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT,
			"it does not support the certificate's type" },
		{ MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED, "the certificate is revoked" },
		{ MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED, "the certificate has expired" },
		{ MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN, "it does not accept the certificate" },
		{ MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA,
			"the certificate was not issued by an authority that it trusts" },
		{ MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED, "access denied" },
		{ MBEDTLS_SSL_ALERT_MSG_CERT_REQUIRED, "it requires a client certificate" },
		{ MBEDTLS_SSL_ALERT_MSG_ILLEGAL_PARAMETER, "illegal parameter" },
		{ MBEDTLS_SSL_ALERT_MSG_BAD_RECORD_MAC, "wrong key" },
		{ MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE,
			"no common way to authenticate (key or certificates)" },
		{ MBEDTLS_SSL_ALERT_MSG_MISSING_EXTENSION,
			"no common way to authenticate (key or certificates)" },
		{ MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION, "it does not support TLS 1.3" },
	};
	const char *peer = creds->server ? "client" : "server", *text = NULL;
	char made[64];

	if (alert == MBEDTLS_SSL_ALERT_MSG_DECRYPT_ERROR) {
		snprintf(made, sizeof(made), "wrong key, or an unknown %s", creds->noun);
		text = made;
	} else if (alert == MBEDTLS_SSL_ALERT_MSG_UNKNOWN_PSK_IDENTITY) {
		snprintf(made, sizeof(made), "it does not know the %s", creds->noun);
		text = made;
	}
	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].alert == alert)
			text = known[i].text;
	if (text && !begun)
		diag_set(diag, DIAG_AUTH, EACCES, "the %s rejected TLS with %s: %s", peer,
			tls_creds_kind(creds), text);
	else
		diag_set(diag, DIAG_CLOSED, ECONNRESET, "the %s ended TLS with alert %u", peer,
			alert);
}

/* What is wrong with a certificate, the first row that applies, and the alert to send. */
static const struct defect {
	uint32_t flags;
	uint8_t alert;
	const char *text;
} defects[] = {
	{ MBEDTLS_X509_BADCERT_MISSING, MBEDTLS_SSL_ALERT_MSG_CERT_REQUIRED,
		"it sent no certificate" },
	{ MBEDTLS_X509_BADCERT_EXPIRED, MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED,
		"its certificate has expired" },
	{ MBEDTLS_X509_BADCERT_FUTURE, MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED,
		"its certificate is not valid yet" },
	{ MBEDTLS_X509_BADCERT_REVOKED, MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED,
		"its certificate is revoked" },
	{ MBEDTLS_X509_BADCERT_NOT_TRUSTED, MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA,
		"its certificate was not issued by an authority in ca-cert.pem" },
	{ MBEDTLS_X509_BADCERT_CN_MISMATCH, MBEDTLS_SSL_ALERT_MSG_BAD_CERT,
		"its certificate is for another name" },
	{ MBEDTLS_X509_BADCERT_BAD_MD | MBEDTLS_X509_BADCERT_BAD_PK | MBEDTLS_X509_BADCERT_BAD_KEY,
		MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT, "its certificate has a weak key or hash" },
	{ UINT32_MAX, MBEDTLS_SSL_ALERT_MSG_UNSUPPORTED_CERT,
		"its certificate is not for this use" },
};

/* NULL: nothing is known to be wrong. */
static const struct defect *find_defect(const struct tls_conn *tls)
{
	uint32_t flags = mbedtls_ssl_get_verify_result(&tls->ssl);
	const struct defect *defect = defects;

	if (!flags || flags == UINT32_MAX || tls->creds->psk_only)
		return NULL;
	while (!(defect->flags & flags))
		defect++;
	return defect;
}

static void bad_certificate(struct tls_conn *tls, const struct defect *defect, struct diag *diag)
{
	const char *name = mbedtls_ssl_get_hostname(&tls->ssl);
	bool server = tls->creds->server;

	diag_set(diag, DIAG_AUTH, EACCES, "the %s can't be trusted: %s",
		server ? "client" : "server", defect->text);
	if (!server && name && defect->flags == MBEDTLS_X509_BADCERT_CN_MISMATCH)
		diag_hint(
			diag, "it is not for '%s': name another one with tls-hostname=NAME", name);
	else if (!server && defect->flags == MBEDTLS_X509_BADCERT_NOT_TRUSTED)
		diag_hint(diag, "add the certificate of the server's authority to ca-cert.pem");
}

/* The peer's alert; 0: none. */
static uint8_t received_alert(const struct tls_conn *tls, int result)
{
	const mbedtls_ssl_context *ssl = &tls->ssl;

	if (tls->plain_alert || result != MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE ||
		ssl->MBEDTLS_PRIVATE(in_msgtype) != MBEDTLS_SSL_MSG_ALERT)
		return tls->plain_alert;
	return ssl->MBEDTLS_PRIVATE(in_msg)[1];
}

static void explain(struct tls_conn *tls, int result)
{
	struct diag *why = &tls->why;
	const struct defect *defect = find_defect(tls);
	const char *peer = tls->creds->server ? "client" : "server";
	uint8_t alert = received_alert(tls, result);

	if (result == MBEDTLS_ERR_SSL_ALLOC_FAILED)
		diag_sys(why, ENOMEM, "TLS handshake");
	else if (alert)
		tls_alert_why(tls->creds, alert, false, why);
	else if (defect)
		bad_certificate(tls, defect, why);
	else if (tls->unknown_user)
		diag_set(why, DIAG_AUTH, EACCES, "unknown %s '%s'", tls->creds->noun, tls->peer);
	else if (tls->creds->server && tls->peer[0])
		diag_set(why, DIAG_AUTH, EACCES, "wrong key of %s '%s'", tls->creds->noun,
			tls->peer);
	else if (result == MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION ||
		 result == MBEDTLS_ERR_SSL_UNSUPPORTED_EXTENSION)
		diag_set(why, DIAG_AUTH, EPROTO, "the %s does not support TLS 1.3", peer);
	else if (result == MBEDTLS_ERR_SSL_INVALID_RECORD)
		diag_set(why, DIAG_PROTOCOL, EPROTO, "the %s does not speak TLS", peer);
	else if (result == MBEDTLS_ERR_SSL_HANDSHAKE_FAILURE ||
		 tls->ssl.MBEDTLS_PRIVATE(alert_type) == MBEDTLS_SSL_ALERT_MSG_MISSING_EXTENSION)
		diag_set(why, DIAG_AUTH, EPROTO,
			"no way to authenticate in common with the %s: this side has %s", peer,
			tls_creds_kind(tls->creds));
	else
		diag_set(why, DIAG_PROTOCOL, EPROTO,
			"TLS handshake with the %s: mbedTLS error -0x%04x", peer,
			(unsigned)-result);
}

/* --- on the thread */

static int set_keys(struct tls_conn *tls)
{
	unsigned server = tls->creds->server;

	return tls_key_set(&tls->rx, tls->secret[!server], (unsigned)tls->secret_len) ||
			       tls_key_set(&tls->tx, tls->secret[server], (unsigned)tls->secret_len)
		       ? diag_sys(&tls->why, ENOMEM, "TLS")
		       : 0;
}

/* After its Finished a server's alerts are protected by the application traffic key, which mbedTLS
 * does not use until the end of the handshake: replace what it wrote. */
static void replace_alert(struct tls_conn *tls)
{
	const struct defect *defect = find_defect(tls);
	uint8_t alert = tls->ssl.MBEDTLS_PRIVATE(alert_type);

	if (defect)
		alert = defect->alert;
	else if (!alert)
		alert = MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE;
	tls->out_to = tls->out_from;
	if (!set_keys(tls))
		tls_conn_put_alert(tls, alert);
}

static void format_date(char to[12], const mbedtls_x509_time *time)
{
	snprintf(to, 12, "%04u-%02u-%02u", (unsigned)time->year % 10000, (unsigned)time->mon % 100,
		(unsigned)time->day % 100);
}

/* Append a name, if there is room for all of it. */
static void add_name(char names[TLS_USER], const char *name)
{
	size_t len = strlen(names);

	if (len + 1 + strlen(name) < TLS_USER)
		strcat(strcat(names, len ? " " : ""), name);
}

static void format_names(char names[TLS_USER], const mbedtls_x509_sequence *list)
{
	char name[TLS_USER];

	for (; list && list->buf.p; list = list->next) {
		const mbedtls_x509_buf *buf = &list->buf;
		int type = buf->tag & MBEDTLS_ASN1_TAG_VALUE_MASK;
		bool address = type == MBEDTLS_X509_SAN_IP_ADDRESS;

		if (type == MBEDTLS_X509_SAN_DNS_NAME)
			copy_name(name, sizeof(name), buf->p, buf->len);
		else if (!address || (buf->len != 4 && buf->len != 16) ||
			 !inet_ntop(buf->len == 4 ? AF_INET : AF_INET6, buf->p, name, sizeof(name)))
			continue;
		add_name(names, name);
	}
}

static void format_dn(char to[TLS_USER], const mbedtls_x509_name *dn)
{
	char text[TLS_USER];

	if (mbedtls_x509_dn_gets(text, sizeof(text), dn) > 0)
		copy_name(to, TLS_USER, (const unsigned char *)text, strlen(text));
}

static void keep_chain(struct tls_conn *tls, const mbedtls_x509_crt *cert)
{
	for (; cert && tls->chain_len < TLS_CHAIN; cert = cert->next) {
		struct tls_certificate *to = &tls->chain[tls->chain_len++];

		format_dn(to->subject, &cert->subject);
		format_dn(to->issuer, &cert->issuer);
		format_names(to->names, &cert->subject_alt_names);
		format_date(to->from, &cert->valid_from);
		format_date(to->until, &cert->valid_to);
	}
}

static int finish(struct tls_conn *tls)
{
	const mbedtls_x509_crt *cert = mbedtls_ssl_get_peer_cert(&tls->ssl);
	const char *suite = mbedtls_ssl_get_ciphersuite(&tls->ssl);

	snprintf(tls->suite, sizeof(tls->suite), "%s", suite);
	tls->psk = !cert && tls->peer[0];
	if (cert)
		format_dn(tls->peer, &cert->subject);
	if (!tls->creds->server)
		keep_chain(tls, cert);
	return set_keys(tls);
}

/* A client may offer a key, in a first ClientHello or for another key exchange, that the handshake
 * does not use: then its name proves nothing. */
static void forget_unused_key(struct tls_conn *tls)
{
	if (!tls->creds->server ||
		tls->ssl.MBEDTLS_PRIVATE(state) != MBEDTLS_SSL_SERVER_CERTIFICATE)
		return;
	tls->peer[0] = 0;
	tls->unknown_user = false;
}

static int handshake(struct tls_conn *tls)
{
	int result = 0;

	while (!result && !mbedtls_ssl_is_handshake_over(&tls->ssl)) {
		result = mbedtls_ssl_handshake_step(&tls->ssl);
		forget_unused_key(tls);
	}
	return result;
}

void tls_handshake_run(struct offload *job)
{
	struct tls_conn *tls = container_of(job, struct tls_conn, job);
	bool flight_sent = tls->creds->server && tls->secret_len;
	int result = handshake(tls);

	if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE)
		return;
	if (result)
		explain(tls, result);
	else
		tls->handshake_done = !finish(tls);
	if (result && flight_sent)
		replace_alert(tls);
	tls_handshake_end(tls);
}
