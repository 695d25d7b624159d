/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files of keys and certificates: which are accepted, and how the others fail. */
#include "tls_creds.h"
#include "certificates.h"
#include "says.h"
#include "tls_ends.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct diag why;

static struct tls_creds *read_texts(bool server, const struct tls_texts *texts)
{
	why = (struct diag){ 0 };
	return tls_creds_of(server, texts, &why);
}

static void refused(bool server, const struct tls_texts *texts, enum diag_code code,
	const char *file, const char *words)
{
	cr_assert(!read_texts(server, texts));
	diag_says(&why, code, why.object, words);
	cr_assert(strstr(why.object, file), "%s: %s", why.object, why.text);
	/* nothing of a secret */
	cr_assert_null(strstr(why.text, "0001"), "%s", why.text);
}

static void bad_keys(const char *text, const char *user, enum diag_code code, const char *words)
{
	const struct tls_texts texts = { .psk_file = text, .user = user };

	refused(!user, &texts, code, "keys.psk", words);
}

Test(tls_creds, files_of_keys)
{
	bad_keys("alice\n", NULL, DIAG_USAGE, "USER:KEY");
	bad_keys(":00\n", NULL, DIAG_USAGE, "USER:KEY");
	bad_keys("alice:00010203\n", NULL, DIAG_USAGE, "USER:KEY 16 to 64");
	bad_keys("alice:000102030405060708090a0b0c0d0e0\n", NULL, DIAG_USAGE, "USER:KEY 16 to 64");
	bad_keys("alice:000102030405060708090a0b0c0d0e0g\n", NULL, DIAG_USAGE, "hexadecimal");
	bad_keys(TLS_ALICE TLS_ALICE, NULL, DIAG_USAGE, "'alice' twice");
	bad_keys("# none\n\n", NULL, DIAG_USAGE, "no key");
	bad_keys(TLS_ALICE, "bob", DIAG_AUTH, "no key 'bob'");
	cr_assert(!read_texts(true, &(struct tls_texts){ .psk_file = TLS_ALICE "\nbob\n" }));
	cr_assert(strstr(why.object, "line 3"));
}

Test(tls_creds, users)
{
	static char text[TLS_USER + 40];
	struct tls_creds *creds = read_texts(true,
		&(struct tls_texts){ .psk_file = "# all\r\nbob:FFEEDDCCBBAA99887766554433221100"
						 "\r\n\r\n" TLS_ALICE });
	const struct tls_psk *bob;

	cr_assert(creds, "%s", why.text);
	bob = tls_creds_find(creds, "bob...", 3);
	cr_assert(bob && bob->len == 16 && bob->key[0] == 0xff && bob->key[15] == 0);
	cr_assert(tls_creds_find(creds, "alice", 5));
	cr_assert_null(tls_creds_find(creds, "alice", 4));
	cr_assert_null(tls_creds_find(creds, "alice\0", 6));
	cr_assert_null(tls_creds_find(creds, "", 0));
	cr_assert(tls_creds_authenticate(creds));
	tls_creds_free(creds);
	memset(text, 'u', TLS_USER);
	strcpy(text + TLS_USER, ":000102030405060708090a0b0c0d0e0f\n");
	bad_keys(text, NULL, DIAG_USAGE, "longer than 255");
}

/* A client that names no user is the one who is logged in. */
Test(tls_creds, login_name)
{
	const struct tls_texts texts = { .psk_file = "no such user:000102030405060708090a0b0c0d0e"
						     "0f\n" };

	refused(false, &texts, DIAG_AUTH, "keys.psk", "no key user");
}

Test(tls_creds, certificates)
{
	const struct tls_texts open_server = { .cert = CERT_SERVER, .key = CERT_SERVER_KEY },
			       closed_server = { .ca = CERT_CA,
				       .crl = CERT_CRL,
				       .cert = CERT_SERVER,
				       .key = CERT_SERVER_KEY };
	struct tls_creds *creds = read_texts(true, &open_server);

	cr_assert(creds, "%s", why.text);
	cr_assert(!tls_creds_authenticate(creds));
	tls_creds_free(creds);
	creds = read_texts(true, &closed_server);
	cr_assert(creds, "%s", why.text);
	cr_assert(tls_creds_authenticate(creds));
	tls_creds_free(creds);
}

Test(tls_creds, files_of_certificates)
{
	struct tls_texts texts = { .cert = CERT_SERVER };

	refused(true, &texts, DIAG_NOT_FOUND, "server-key.pem", "no_such_file");
	texts = (struct tls_texts){ .key = CERT_SERVER_KEY };
	refused(true, &texts, DIAG_NOT_FOUND, "server-cert.pem", "no_such_file");
	texts = (struct tls_texts){ .cert = CERT_SERVER, .key = CERT_CLIENT_KEY };
	refused(true, &texts, DIAG_USAGE, "server-key.pem", "not private_key server-cert.pem");
	texts = (struct tls_texts){ .cert = CERT_SERVER, .key = CERT_SERVER };
	refused(true, &texts, DIAG_USAGE, "server-key.pem", "private_key mbedTLS");
	texts = (struct tls_texts){ .cert = "junk", .key = CERT_SERVER_KEY };
	refused(true, &texts, DIAG_USAGE, "server-cert.pem", "not PEM certificate");
	texts = (struct tls_texts){ .ca = "junk", .cert = CERT_SERVER, .key = CERT_SERVER_KEY };
	refused(true, &texts, DIAG_USAGE, "ca-cert.pem", "not PEM certificate");
	texts = (struct tls_texts){
		.ca = CERT_CA, .crl = CERT_CA, .cert = CERT_SERVER, .key = CERT_SERVER_KEY
	};
	refused(true, &texts, DIAG_USAGE, "ca-crl.pem", "not PEM revocation");
	texts = (struct tls_texts){ .cert = CERT_CLIENT, .key = CERT_CLIENT_KEY };
	refused(false, &texts, DIAG_NOT_FOUND, "ca-cert.pem", "no_such_file");
	texts = (struct tls_texts){ .ca = CERT_CA, .cert = CERT_CLIENT };
	refused(false, &texts, DIAG_NOT_FOUND, "client-key.pem", "no_such_file");
}

/* Where libnbd looks. */
Test(tls_creds, default_folder)
{
	const struct tls_files files = { 0 };
	char home[] = "/tmp/tls-home-XXXXXX", path[80];
	struct tls_creds *creds;

	cr_assert(mkdtemp(home));
	setenv("HOME", home, 1);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", home, i ? ".pki" : ".config");
		mkdir(path, 0700);
		strcat(path, i ? "/libnbd" : "/pki");
		mkdir(path, 0700);
		if (!i)
			mkdir(strcat(path, "/libnbd"), 0700);
		why = (struct diag){ 0 };
		cr_assert_neq(tls_creds_new(&creds, &files, &why), 0);
		diag_says(&why, DIAG_NOT_FOUND, strcat(path, "/ca-cert.pem"), "no_such_file");
	}
	for (const char *const *p = (const char *const[]){ ".pki/libnbd", ".pki",
		     ".config/pki/libnbd", ".config/pki", ".config", "", NULL };
		*p; p++) {
		snprintf(path, sizeof(path), "%s/%s", home, *p);
		cr_assert_eq(rmdir(path), 0);
	}
}

Test(tls_creds, what_is_no_file)
{
	struct tls_files files = { .server = true, .psk_file = "/" };
	struct tls_creds *creds;

	why = (struct diag){ 0 };
	cr_assert_eq(tls_creds_new(&creds, &files, &why), -EINVAL);
	diag_says(&why, DIAG_USAGE, "/", "not regular file");
	files.psk_file = "/nonexistent";
	why = (struct diag){ 0 };
	cr_assert_eq(tls_creds_new(&creds, &files, &why), -ENOENT);
	diag_says(&why, DIAG_NOT_FOUND, "/nonexistent", "no_such_file");
	tls_creds_free(NULL);
}
