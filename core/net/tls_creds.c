/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read keys and certificates, from files laid out as those of GnuTLS, libnbd, nbdkit and qemu. All
 * memory that held secrets is wiped. */
#include "tls_creds.h"
#include "helper.h"
#include "secret_list.h"
#include "secret_mem.h"
#include "uri.h"
#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/pem.h>
#include <psa/crypto.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_MIN 16 /* bytes of a pre-shared key */
#define PATH    512

int tls_random(void *unused, unsigned char *to, size_t len)
{
	ssize_t n;

	(void)unused;
	for (; len; to += n, len -= (size_t)n) {
		n = getrandom(to, len, 0);
		if (n < 0 && errno != EINTR)
			return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
		n = n < 0 ? 0 : n;
	}
	return 0;
}

/* The random numbers of mbedTLS's PSA layer. */
psa_status_t mbedtls_psa_external_get_random(
	mbedtls_psa_external_random_context_t *context, uint8_t *to, size_t size, size_t *len);
psa_status_t mbedtls_psa_external_get_random(
	mbedtls_psa_external_random_context_t *context, uint8_t *to, size_t size, size_t *len)
{
	(void)context;
	*len = size;
	return tls_random(NULL, to, size) ? PSA_ERROR_INSUFFICIENT_ENTROPY : PSA_SUCCESS;
}

/* --- pre-shared keys */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* In a file of another kind the user may be a secret: it is not quoted. */
static int parse_key(struct tls_psk *psk, const char *hex, struct diag *diag)
{
	size_t len = strlen(hex);

	if (len % 2 || len / 2 < KEY_MIN || len / 2 > sizeof(psk->key))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"expected USER:KEY, KEY of %u to %zu bytes in hexadecimal digits", KEY_MIN,
			sizeof(psk->key));
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(hex[i]), low = hex_digit(hex[i + 1]);

		if (high < 0 || low < 0)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"expected USER:KEY, KEY in hexadecimal digits");
		psk->key[i / 2] = (uint8_t)(high << 4 | low);
	}
	psk->len = (uint8_t)(len / 2);
	return 0;
}

const struct tls_psk *tls_creds_find(const struct tls_creds *creds, const void *user, size_t len)
{
	for (unsigned i = 0; i < creds->psks; i++)
		if (strlen(creds->psk[i].user) == len && !memcmp(creds->psk[i].user, user, len))
			return &creds->psk[i];
	return NULL;
}

/* user: keep only the key of that one; NULL: all. */
static int parse_psk_line(struct tls_creds *creds, char *line, const char *user, struct diag *diag)
{
	struct tls_psk *psk = &creds->psk[creds->psks];
	char *key = strchr(line, ':');
	int err;

	line[strcspn(line, "\r")] = 0;
	if (!*line || *line == '#')
		return 0;
	if (!key || key == line)
		return diag_set(diag, DIAG_USAGE, EINVAL, "expected USER:KEY");
	*key++ = 0;
	if (strlen(line) >= sizeof(psk->user))
		return diag_set(diag, DIAG_USAGE, EINVAL, "user name longer than %zu bytes",
			sizeof(psk->user) - 1);
	if (user && strcmp(user, line) != 0)
		return 0;
	if (tls_creds_find(creds, line, strlen(line)))
		return diag_set(diag, DIAG_USAGE, EEXIST, "user '%s' is in the file twice", line);
	snprintf(psk->user, sizeof(psk->user), "%s", line);
	err = parse_key(psk, key, diag);
	creds->psks += !err;
	return err;
}

static int parse_psk_file(
	struct tls_creds *creds, const char *path, char *text, const char *user, struct diag *diag)
{
	unsigned lines = 1, number = 0;
	char *line;
	int err = 0;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	creds->psk = secret_alloc(lines * sizeof(*creds->psk));
	if (!creds->psk)
		return diag_sys(diag, ENOMEM, "read");
	while (!err && (line = strsep(&text, "\n"))) {
		number++;
		err = parse_psk_line(creds, line, user, diag);
	}
	if (err)
		return diag_ctx(diag, "%s line %u", path, number);
	if (!creds->psks && user)
		return diag_set(diag, DIAG_AUTH, ENOKEY, "no key for user '%s'", user);
	return creds->psks ? 0 : diag_set(diag, DIAG_USAGE, ENOKEY, "no key in it");
}

/* That of the caller, even after this process has become another user. */
static char login[TLS_USER];

static int find_login(struct diag *diag)
{
	const struct passwd *entry = login[0] ? NULL : getpwuid(geteuid());

	if (entry)
		snprintf(login, sizeof(login), "%s", entry->pw_name);
	if (login[0])
		return 0;
	diag_set(diag, DIAG_USAGE, ENOENT, "no login name for the user ID %u", geteuid());
	return diag_hint(diag, "name the user of the key in the URI: nbds://USER@HOST");
}

static int read_psks(struct tls_creds *creds, const struct tls_files *files, struct diag *diag)
{
	const char *user = files->server ? NULL : files->user;
	size_t size;
	char *text;
	int err = !files->server && !user ? find_login(diag) : 0;

	if (err)
		return err;
	if (!files->server && !user)
		user = login;
	text = secret_list_text(files->psk_file, false, &size, diag);
	err = text ? parse_psk_file(creds, files->psk_file, text, user, diag) : -diag->err;
	secret_free(text);
	if (!err && user &&
		mbedtls_ssl_conf_psk(&creds->conf, creds->psk->key, creds->psk->len,
			(const void *)creds->psk->user, strlen(creds->psk->user)))
		err = diag_sys(diag, ENOMEM, "use the key");
	if (err)
		return diag_ctx(diag, "%s", files->psk_file);
	if (files->server)
		mbedtls_ssl_conf_psk_cb(&creds->conf, tls_handshake_find_key, NULL);
	if (user)
		snprintf(creds->kind, sizeof(creds->kind), "PSK of '%s'", user);
	else
		snprintf(creds->kind, sizeof(creds->kind), "PSK");
	return 0;
}

/* --- certificates */

enum { CA, CRL, CERT, KEY };

static int parse_pem(struct tls_creds *creds, int kind, const char *text, size_t size)
{
	const unsigned char *p = (const void *)text;

	switch (kind) {
	case CA:
		return mbedtls_x509_crt_parse(&creds->ca, p, size);
	case CRL:
		return mbedtls_x509_crl_parse(&creds->crl, p, size);
	case CERT:
		return mbedtls_x509_crt_parse(&creds->cert, p, size);
	default:
		return mbedtls_pk_parse_key(&creds->key, p, size, NULL, 0, tls_random, NULL);
	}
}

/* -ENOENT: there is no such file. */
static int read_pem(
	struct tls_creds *creds, int kind, const char *dir, const char *name, struct diag *diag)
{
	static const char *const what[] = { "a PEM certificate", "a PEM revocation list",
		"a PEM certificate with a key of RSA, P-256 or P-384",
		"an unencrypted PEM private key of RSA, P-256 or P-384" };
	static const char *const purpose[] = {
		"it holds the authority that has issued the server's certificate",
		"it lists certificates that are revoked", "it holds the certificate of this side",
		"it holds the private key of the certificate"
	};
	char path[PATH];
	size_t size;
	char *text;
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	text = secret_list_text(path, false, &size, diag);
	if (!text) {
		if (diag->err == ENOENT)
			diag_hint(diag, "%s", purpose[kind]);
		return diag_ctx(diag, "%s", path);
	}
	err = parse_pem(creds, kind, text, size + 1);
	secret_free(text);
	if (!err)
		return 0;
	diag_set(diag, DIAG_USAGE, EINVAL, "not %s (mbedTLS error -0x%04x)", what[kind],
		(unsigned)-err);
	return diag_ctx(diag, "%s", path);
}

static int read_optional(struct tls_creds *creds, int kind, const char *dir, const char *name,
	bool *found, struct diag *diag)
{
	struct diag why = { 0 };
	int err = read_pem(creds, kind, dir, name, &why);

	*found = !err;
	if (err && why.err != ENOENT)
		*diag = why;
	return why.err == ENOENT ? 0 : err;
}

static int read_own(struct tls_creds *creds, const char *dir, bool needed, struct diag *diag)
{
	const char *cert = creds->server ? "server-cert.pem" : "client-cert.pem";
	const char *key = creds->server ? "server-key.pem" : "client-key.pem";
	bool found = true;
	int err = needed ? read_pem(creds, CERT, dir, cert, diag)
			 : read_optional(creds, CERT, dir, cert, &found, diag);

	if (err || !found)
		return err;
	err = read_pem(creds, KEY, dir, key, diag);
	if (err)
		return err;
	if (mbedtls_pk_check_pair(&creds->cert.pk, &creds->key, tls_random, NULL)) {
		diag_set(diag, DIAG_USAGE, EINVAL, "not the private key of %s", cert);
		return diag_ctx(diag, "%s/%s", dir, key);
	}
	if (mbedtls_ssl_conf_own_cert(&creds->conf, &creds->cert, &creds->key))
		return diag_sys(diag, ENOMEM, "use the certificate");
	return 0;
}

#define PLACES 3

/* The folders that libnbd would look for. */
static void default_folder(unsigned i, char dir[PATH])
{
	static const char *const places[PLACES] = { "/.pki/libnbd", "/.config/pki/libnbd",
		"/etc/pki/libnbd" };
	const char *home = getenv("HOME");

	snprintf(dir, PATH, "%s%s", i == PLACES - 1 ? "" : home ? home : "/nonexistent", places[i]);
}

/* A helper_fn. */
static int find_folder(const char *dir, int *fd, void *data, size_t len)
{
	(void)fd;
	(void)data;
	(void)len;
	return access(dir, F_OK) ? -errno : 0;
}

static int find_default_folder(char dir[PATH], struct diag *diag)
{
	int fd = -1;

	for (unsigned i = 0; i < PLACES; i++) {
		default_folder(i, dir);
		if (!helper_call(find_folder, dir, &fd, NULL, 0))
			return 0;
	}
	diag_set(diag, DIAG_USAGE, ENOENT, "no certificates: %s does not exist", dir);
	return diag_hint(diag, "name the folder of ca-cert.pem with tls-certificates=DIR, or the "
			       "file of a key with tls-psk-file=FILE");
}

static int read_certificates(
	struct tls_creds *creds, const struct tls_files *files, struct diag *diag)
{
	char found_dir[PATH];
	const char *dir = files->certificates;
	bool ca, crl;
	int err = dir ? 0 : find_default_folder(found_dir, diag);

	if (err)
		return err;
	dir = dir ? dir : found_dir;
	err = creds->server || files->no_verify
		      ? read_optional(creds, CA, dir, "ca-cert.pem", &ca, diag)
		      : read_pem(creds, CA, dir, "ca-cert.pem", diag);
	if (!err)
		err = read_optional(creds, CRL, dir, "ca-crl.pem", &crl, diag);
	if (!err)
		err = read_own(creds, dir, creds->server, diag);
	if (err)
		return err;
	if (!creds->server)
		ca = !files->no_verify;
	mbedtls_ssl_conf_ca_chain(&creds->conf, &creds->ca, crl ? &creds->crl : NULL);
	mbedtls_ssl_conf_authmode(
		&creds->conf, ca ? MBEDTLS_SSL_VERIFY_REQUIRED : MBEDTLS_SSL_VERIFY_NONE);
	creds->anonymous = !ca;
	snprintf(creds->kind, sizeof(creds->kind), "certificates%s",
		ca              ? ""
		: creds->server ? ", any client"
				: ", not verified");
	return 0;
}

static int allow_folder(const char *dir)
{
	static const char *const names[] = { "ca-cert.pem", "ca-crl.pem", "client-cert.pem",
		"client-key.pem" };
	char path[PATH];
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		err = secret_list_allow(path);
	}
	return err;
}

int tls_client_allow(const char *psk_file, const char *certificates)
{
	char dir[PATH];
	int err = psk_file ? secret_list_allow(psk_file) : 0;

	find_login(NULL);
	if (!err && certificates)
		err = allow_folder(certificates);
	for (unsigned i = 0; !err && !psk_file && !certificates && i < PLACES; i++) {
		default_folder(i, dir);
		err = helper_allow(HELPER_FILES, find_folder, dir);
		if (!err)
			err = allow_folder(dir);
	}
	return err;
}

/* --- both */

static int configure(struct tls_creds *creds)
{
	static const int suites[] = { MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
		MBEDTLS_TLS1_3_AES_256_GCM_SHA384, 0 };
	static const uint16_t groups[] = { MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
		MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1, MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1, 0 };
	mbedtls_ssl_config *conf = &creds->conf;

	if (psa_crypto_init() != PSA_SUCCESS ||
		mbedtls_ssl_config_defaults(conf,
			creds->server ? MBEDTLS_SSL_IS_SERVER : MBEDTLS_SSL_IS_CLIENT,
			MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT))
		return -ENOMEM;
	mbedtls_ssl_conf_rng(conf, tls_random, NULL);
	mbedtls_ssl_conf_ciphersuites(conf, suites);
	mbedtls_ssl_conf_groups(conf, groups);
	return 0;
}

/* NULL: diag is set. */
static struct tls_creds *allocate(bool server, struct diag *diag)
{
	struct tls_creds *creds = calloc(1, sizeof(*creds));

	if (!creds) {
		diag_sys(diag, ENOMEM, "TLS");
		return NULL;
	}
	secret_disable_dumps();
	creds->refs = 1;
	creds->server = server;
	creds->noun = "user";
	mbedtls_ssl_config_init(&creds->conf);
	mbedtls_x509_crt_init(&creds->ca);
	mbedtls_x509_crt_init(&creds->cert);
	mbedtls_x509_crl_init(&creds->crl);
	mbedtls_pk_init(&creds->key);
	if (configure(creds)) {
		diag_sys(diag, ENOMEM, "TLS");
		tls_creds_free(creds);
		return NULL;
	}
	return creds;
}

int tls_creds_new(struct tls_creds **out, const struct tls_files *files, struct diag *diag)
{
	bool certificates = files->certificates || !files->psk_file;
	struct diag own = { 0 };
	struct tls_creds *creds;
	int err = 0;

	diag = diag ? diag : &own;
	creds = allocate(files->server, diag);
	if (!creds)
		return -diag->err;
	if (files->psk_file)
		err = read_psks(creds, files, diag);
	if (!err && certificates)
		err = read_certificates(creds, files, diag);
	if (err) {
		tls_creds_free(creds);
		return err;
	}
	mbedtls_ssl_conf_tls13_key_exchange_modes(&creds->conf,
		(files->psk_file ? MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL : 0) |
			(certificates ? MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL : 0));
	creds->psk_only = !certificates;
	*out = creds;
	return 0;
}

/* --- keys of a protocol */

static void use_psks(struct tls_creds *creds, const struct tls_names *names)
{
	mbedtls_ssl_conf_tls13_key_exchange_modes(
		&creds->conf, MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL);
	creds->psk_only = true;
	creds->noun = names->noun;
	snprintf(creds->kind, sizeof(creds->kind), "%s", names->kind);
}

int tls_creds_new_key(struct tls_creds **out, const char *identity,
	const struct tls_shared_key *key, const struct tls_names *names, struct diag *diag)
{
	static const int sha256[] = { MBEDTLS_TLS1_3_AES_128_GCM_SHA256, 0 },
			 sha384[] = { MBEDTLS_TLS1_3_AES_256_GCM_SHA384, 0 };
	struct tls_creds *creds = allocate(false, diag);

	if (!creds)
		return -ENOMEM;
	use_psks(creds, names);
	creds->sha384 = key->sha384;
	mbedtls_ssl_conf_ciphersuites(&creds->conf, key->sha384 ? sha384 : sha256);
	if (mbedtls_ssl_conf_psk(
		    &creds->conf, key->key, key->len, (const void *)identity, strlen(identity))) {
		tls_creds_free(creds);
		return diag_sys(diag, ENOMEM, "TLS");
	}
	*out = creds;
	return 0;
}

int tls_creds_new_finder(struct tls_creds **out, const struct tls_finder *finder,
	const struct tls_names *names, struct diag *diag)
{
	struct tls_creds *creds = allocate(true, diag);

	if (!creds) {
		finder->free(finder->user);
		return -ENOMEM;
	}
	use_psks(creds, names);
	creds->finder = *finder;
	mbedtls_ssl_conf_psk_cb(&creds->conf, tls_handshake_find_key, NULL);
	*out = creds;
	return 0;
}

struct tls_creds *tls_creds_hold(struct tls_creds *creds)
{
	__atomic_add_fetch(&creds->refs, 1, __ATOMIC_RELAXED);
	return creds;
}

void tls_creds_free(struct tls_creds *creds)
{
	if (!creds || __atomic_sub_fetch(&creds->refs, 1, __ATOMIC_ACQ_REL))
		return;
	mbedtls_ssl_config_free(&creds->conf);
	mbedtls_x509_crt_free(&creds->ca);
	mbedtls_x509_crt_free(&creds->cert);
	mbedtls_x509_crl_free(&creds->crl);
	mbedtls_pk_free(&creds->key);
	secret_free(creds->psk);
	if (creds->finder.free)
		creds->finder.free(creds->finder.user);
	free(creds);
}

bool tls_creds_authenticate(const struct tls_creds *creds)
{
	return !creds->anonymous;
}

const char *tls_creds_kind(const struct tls_creds *creds)
{
	return creds->kind;
}
