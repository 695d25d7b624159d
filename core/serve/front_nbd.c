/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Export disks by an NBD server over TCP and unix sockets. core/proto/nbd serves them. */
#include "front.h"
#include "front_kind.h"
#include "helper.h"
#include "nbd_server.h"
#include "stream.h"
#include "uri.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#define PORT 10809

struct nbd_front {
	struct front front;
	struct nbd_options nbd;
	struct nbd_server *server;
	char number[NBD_EXPORTS][12]; /* names of exports without a given one */
	char dir[96];                 /* directory of the private socket, "" = none */
};

/* The socket's directory is private, so that no other user reaches it. */
static int private_socket(struct nbd_front *f, struct addr *addr, struct diag *diag)
{
	const char *places[] = { getenv("TMPDIR"), "/tmp", "/run", "/dev/shm" };
	struct sockaddr_un *un = (struct sockaddr_un *)(void *)&addr->ss;
	int err = ENOENT;

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || snprintf(f->dir, sizeof(f->dir), "%s/rdmastor-XXXXXX",
					  places[i]) >= (int)sizeof(f->dir))
			continue;
		if (!mkdtemp(f->dir)) {
			err = errno;
			continue;
		}
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s/nbd", f->dir);
		addr->len = sizeof(*un);
		return 0;
	}
	f->dir[0] = 0;
	return diag_sys(diag, err, "create a temporary directory");
}

static int read_tls(struct nbd_front *f, const struct export_front_options *options)
{
	const struct tls_files files = { .server = true,
		.psk_file = options->tls_psk_file,
		.certificates = options->tls_certificates };
	const struct call *call = f->front.daemon->call;
	char key[PATH_MAX];

	if (!files.psk_file && !files.certificates)
		return 0;
	if (files.psk_file)
		secret_check_file(&call->notes, files.psk_file);
	if (files.certificates) {
		snprintf(key, sizeof(key), "%s/server-key.pem", files.certificates);
		secret_check_file(&call->notes, key);
	}
	return tls_creds_new(&f->nbd.tls, &files, call->diag);
}

static int read_options(struct front *front)
{
	struct nbd_front *f = container_of(front, struct nbd_front, front);
	const struct export_front_options *options = front->options;
	const struct call *call = front->daemon->call;
	struct nbd_options *nbd = &f->nbd;
	char *end;

	if (options->nbd.count > NBD_LISTENS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG,
			"--nbd: too many addresses: must be 1 to %d", NBD_LISTENS);
	if (call->rest > NBD_EXPORTS)
		return diag_set(call->diag, DIAG_USAGE, E2BIG, "too many disks: must be 1 to %d",
			NBD_EXPORTS);
	if (options->name.count > call->rest)
		return diag_set(call->diag, DIAG_USAGE, EINVAL, "--name %s: more names than disks",
			options->name.item[call->rest]);
	if (daemon_read_allow(front->daemon, &options->allow, &nbd->allows))
		return -EINVAL;
	if (read_tls(f, options))
		return -call->diag->err;
	nbd->clients = options->clients;
	nbd->slots = options->slots;
	nbd->buffer = (uint32_t)options->buffer;
	if (options->mode) {
		unsigned long mode = strtoul(options->mode, &end, 8);

		if (*end || end == options->mode || mode > 0777 || !mode || *options->mode == '-')
			return diag_set(call->diag, DIAG_USAGE, EINVAL,
				"--mode: invalid permissions '%s': must be octal 1 to 777",
				options->mode);
		nbd->mode = (unsigned)mode;
	}
	for (; nbd->listens < options->nbd.count; nbd->listens++)
		if (addr_parse(&nbd->listen[nbd->listens], options->nbd.item[nbd->listens], PORT,
			    call->diag)) {
			const char *text = options->nbd.item[nbd->listens];

			if (call->diag->code != DIAG_USAGE && !strchr(text, ':'))
				diag_hint(call->diag, "for a unix socket: --nbd unix:%s", text);
			return diag_ctx(call->diag, "--nbd %s", text);
		}
	if (nbd->listens)
		return 0;
	nbd->listens = 1;
	return private_socket(f, &nbd->listen[0], call->diag);
}

static void add_rights(const struct front *front, struct rights *rights)
{
	const struct nbd_options *nbd = &container_of(front, struct nbd_front, front)->nbd;

	for (unsigned i = 0; i < nbd->listens; i++)
		rights->low_port |= rights_low_port(&nbd->listen[i]);
}

/* A helper_fn. */
static int remove_dir(const char *dir, int *fd, void *data, size_t len)
{
	(void)fd;
	(void)data;
	(void)len;
	return rmdir(dir) ? -errno : 0;
}

static int allow(const struct front *front)
{
	const struct nbd_front *f = container_of(front, struct nbd_front, front);
	const unsigned mode = f->nbd.mode ? f->nbd.mode : NBD_SOCKET_MODE;
	int err = f->dir[0] ? helper_allow(HELPER_FILES, remove_dir, f->dir) : 0;

	for (unsigned i = 0; !err && i < f->nbd.listens; i++) {
		const struct sockaddr_un *un = (const void *)&f->nbd.listen[i].ss;

		if (un->sun_family == AF_UNIX)
			err = stream_allow_listen(un->sun_path, mode);
	}
	return err;
}

static int start(struct front *front)
{
	struct nbd_front *f = container_of(front, struct nbd_front, front);
	struct daemon *d = front->daemon;
	const struct opt_list *names = &((const struct export_front_options *)front->options)->name;
	bool open;
	int err;

	for (unsigned i = 0; i < d->disks; i++) {
		struct nbd_export *export = &f->nbd.export[f->nbd.exports++];

		snprintf(f->number[i], sizeof(f->number[i]), "%u", i + 1);
		export->name = i < names->count ? names->item[i]
			       : d->disks == 1  ? ""
						: f->number[i];
		export->description = d->disk[i]->id.model;
		export->bdev = d->disk[i];
		export->ro = d->opts->ro;
	}
	f->nbd.loops = d->loops;
	f->nbd.nloops = d->nloops;
	f->nbd.full = daemon_full;
	f->nbd.user = front;
	err = nbd_server_start(&f->server, d->loop, &f->nbd, d->call->diag);
	open = !f->nbd.allows.count && !(f->nbd.tls && tls_creds_authenticate(f->nbd.tls));
	for (unsigned i = 0; !err && open && i < f->nbd.listens; i++)
		daemon_warn_open(d, &f->nbd.listen[i], "--allow");
	return err;
}

/* For clients on other machines, if they are allowed. */
static void client_uri(
	const struct nbd_front *f, unsigned listen, unsigned export, char uri[URI_MAX])
{
	const struct addr *addr = nbd_server_addr(f->server, listen);
	bool local = f->nbd.allows.count;
	struct net_portal at;

	for (unsigned i = 0; i < f->nbd.allows.count; i++)
		local &= addr_is_local(&f->nbd.allows.item[i].net);
	nbd_server_uri(f->server, listen, export, uri);
	if (!addr_is_any(addr) || local)
		return;
	net_portal_of(&at, addr);
	uri_start(uri, nbd_server_scheme(f->server), at.host, at.port);
	uri_encode(uri, "/");
	uri_encode(uri, f->nbd.export[export].name);
}

static void put_listeners(struct out *out, const struct nbd_front *f)
{
	char uri[URI_MAX];

	out_list(out, "listeners");
	for (unsigned i = 0; i < f->nbd.listens; i++) {
		const struct addr addr = addr_unscoped(nbd_server_addr(f->server, i));

		client_uri(f, i, 0, uri);
		out_object(out, NULL);
		addr_show(out, addr.ss.ss_family == AF_UNIX ? "unix" : "tcp", &addr);
		out_text(out, "nbd_uri", NULL, "%s", uri);
		out_end(out);
	}
	out_end(out);
}

static void put_exports(struct out *out, const struct nbd_front *f, const char *key)
{
	char uri[URI_MAX];

	out_list(out, key);
	for (unsigned i = 0; i < f->nbd.exports; i++) {
		out_object(out, NULL);
		out_text(out, "name", NULL, "%s", f->nbd.export[i].name);
		out_list(out, "nbd_uris");
		for (unsigned n = 0; n < f->nbd.listens; n++) {
			client_uri(f, n, i, uri);
			out_text(out, NULL, NULL, "%s", uri);
		}
		out_end(out);
		daemon_show_disk(out, f->front.daemon, i);
		out_end(out);
	}
	out_end(out);
}

static void show(const struct front *front, struct out *out)
{
	const struct nbd_front *f = container_of(front, struct nbd_front, front);
	char text[ADDR_TEXT], uri[URI_MAX], size[48];

	put_listeners(out, f);
	for (unsigned i = 0; i < f->nbd.listens; i++) {
		addr_text(nbd_server_addr(f->server, i), text);
		for (unsigned n = 0; n < f->nbd.exports; n++) {
			client_uri(f, i, n, uri);
			out_line(out, "%s: %s, %s", text, uri,
				daemon_size_text(front->daemon->disk[n]->lim.size, size));
		}
	}
	put_exports(out, f, "exports");
}

static void first_uri(const struct front *front, char text[URI_MAX])
{
	nbd_server_uri(container_of(front, struct nbd_front, front)->server, 0, 0, text);
}

static void count(const struct front *front, struct io_count *sum)
{
	struct target_status now;

	nbd_server_get_status(container_of(front, struct nbd_front, front)->server, &now);
	*sum = now.count;
}

struct client_list {
	struct out *out;
	unsigned count;
};

static void show_client(const struct nbd_served_client *client, void *arg)
{
	struct client_list *list = arg;
	struct out *out = list->out;
	const struct addr address = addr_unscoped(client->address);
	bool local = address.ss.ss_family == AF_UNIX;
	const char *security = client->cipher && client->psk ? "tls-psk"
			       : client->cipher              ? "tls"
			       : local                       ? "file-permissions"
							     : "none";
	char from[ADDR_TEXT];

	if (list->count++ >= SERVING_HOSTS)
		return;
	out_object(out, NULL);
	out_text(out, "name", NULL, "%s", client->export->name);
	if (local) {
		out_text(out, "transport", NULL, "unix");
		if (client->pid)
			out_u64(out, "pid", NULL, (uint64_t)client->pid);
		out_u64(out, "uid", NULL, client->uid);
		snprintf(from, sizeof(from), "process %d", (int)client->pid);
	} else {
		addr_show(out, "tcp", &address);
		addr_text(&address, from);
	}
	out_text(out, "security", NULL, "%s", security);
	if (client->cipher) {
		out_text(out, "tls_version", NULL, "1.3");
		out_text(out, "tls_cipher", NULL, "%s", client->cipher);
		if (client->identity[0])
			out_text(out, "tls_identity", NULL, "%s", client->identity);
	}
	out_end(out);
	out_line(out, "client %s of export '%s': %s%s%s%s%s", from, client->export->name, security,
		client->cipher ? ", " : "", client->cipher ? client->cipher : "",
		client->identity[0] ? ", " : "", client->identity);
}

static void status(const struct front *front, struct out *out)
{
	const struct nbd_front *f = container_of(front, struct nbd_front, front);
	struct client_list list = { .out = out };
	struct target_status now;

	out_list(out, "nbd_clients");
	nbd_server_each_client(f->server, show_client, &list);
	out_end(out);
	daemon_show_more(out, "nbd_clients_left_out", list.count, "clients");
	nbd_server_get_status(f->server, &now);
	out_text(out, "protocol", NULL, "nbd");
	out_u64(out, "clients", "clients: ", now.clients);
	out_u64(out, "refused", "refused: ", now.refused);
	daemon_show_count(out, front);
	put_exports(out, f, "disks");
	put_listeners(out, f);
}

static void quit(const struct front *front)
{
	const struct nbd_front *f = container_of(front, struct nbd_front, front);
	int fd = -1;

	if (f->dir[0])
		helper_call(remove_dir, f->dir, &fd, NULL, 0);
}

static int stop(struct front *front, uint32_t timeout_ms, struct diag *diag)
{
	struct nbd_front *f = container_of(front, struct nbd_front, front);
	int err = nbd_server_stop(f->server, timeout_ms, diag);

	if (err != -EINPROGRESS) {
		tls_creds_free(f->nbd.tls);
		f->nbd.tls = NULL;
	}
	quit(front);
	return err;
}

const struct front_kind front_nbd = {
	.serving = "serving NBD clients",
	.size = sizeof(struct nbd_front),
	.read = read_options,
	.rights = add_rights,
	.allow = allow,
	.start = start,
	.show = show,
	.uri = first_uri,
	.count = count,
	.status = status,
	.quit = quit,
	.stop = stop,
};
