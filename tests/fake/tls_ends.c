/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two ends of TLS. Their files are in a folder that exists while they are read. */
#include "tls_ends.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tls_end tls_end[2];
struct loop *tls_loop;

struct file {
	const char *name, *text;
	char path[96];
};

static void write_file(struct file *file, const char *folder)
{
	FILE *to;

	if (!file->text)
		return;
	snprintf(file->path, sizeof(file->path), "%s/%s", folder, file->name);
	to = fopen(file->path, "w");
	cr_assert(to);
	cr_assert_geq(fputs(file->text, to), 0);
	fclose(to);
}

struct tls_creds *tls_creds_of(bool server, const struct tls_texts *texts, struct diag *diag)
{
	char folder[] = "/tmp/tls-ends-XXXXXX";
	struct file file[] = { { .name = "keys.psk", .text = texts->psk_file },
		{ .name = "ca-cert.pem", .text = texts->ca },
		{ .name = "ca-crl.pem", .text = texts->crl },
		{ .name = server ? "server-cert.pem" : "client-cert.pem", .text = texts->cert },
		{ .name = server ? "server-key.pem" : "client-key.pem", .text = texts->key } };
	struct tls_files files = {
		.server = server, .user = texts->user, .no_verify = texts->no_verify
	};
	struct tls_creds *creds = NULL;

	cr_assert(mkdtemp(folder));
	for (unsigned i = 0; i < sizeof(file) / sizeof(*file); i++)
		write_file(&file[i], folder);
	if (texts->psk_file)
		files.psk_file = file[0].path;
	if (!texts->psk_file || texts->ca || texts->cert)
		files.certificates = folder;
	tls_creds_new(&creds, &files, diag);
	for (unsigned i = 0; i < sizeof(file) / sizeof(*file); i++)
		unlink(file[i].path);
	rmdir(folder);
	return creds;
}

static void stepped(void *user)
{
	((struct tls_end *)user)->stepped = 1;
}

void tls_ends_begin(
	const struct tls_texts *client, const struct tls_texts *server, const char *hostname)
{
	struct diag why = { 0 };

	loop_new(&tls_loop, &(struct loop_options){ .name = "test" }, &why);
	for (unsigned i = 0; i < 2; i++) {
		tls_end[i].creds = tls_creds_of(i, i ? server : client, &why);
		cr_assert(tls_end[i].creds, "%s: %s", why.object, why.text);
		tls_end[i].tls = tls_conn_new(tls_end[i].creds, i ? NULL : hostname, NULL, &why);
		tls_end[i].tls->stepped = stepped;
		tls_end[i].tls->user = &tls_end[i];
	}
}

void tls_ends_finish(void)
{
	for (unsigned i = 0; i < 2; i++) {
		tls_conn_free(tls_end[i].tls);
		tls_creds_free(tls_end[i].creds);
	}
	loop_free(tls_loop);
}

size_t tls_ends_carry(unsigned from, size_t most)
{
	struct iovec out = tls_conn_pending(tls_end[from].tls);
	struct iovec in = tls_conn_room(tls_end[!from].tls);
	size_t len = out.iov_len < in.iov_len ? out.iov_len : in.iov_len;

	len = len < most ? len : most;
	memcpy(in.iov_base, out.iov_base, len);
	tls_conn_received(tls_end[!from].tls, len);
	tls_conn_sent(tls_end[from].tls, len);
	return len;
}

void tls_ends_step(unsigned at)
{
	struct diag why = { 0 };

	tls_end[at].stepped = 0;
	cr_assert_eq(tls_conn_step(tls_end[at].tls, tls_loop, &why), 0, "%s", why.text);
	cr_assert(loop_wait(tls_loop, &tls_end[at].stepped, wait_limit()));
}

void tls_ends_handshake(size_t most)
{
	tls_ends_step(TLS_CLIENT);
	for (bool moved = true; moved;) {
		moved = false;
		for (unsigned i = 0; i < 2; i++) {
			struct tls_conn *to = tls_end[!i].tls;

			moved |= tls_ends_carry(i, most) > 0;
			if (!to->secured && !to->why.err && tls_conn_has_record(to))
				tls_ends_step(!i);
		}
	}
}
