/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* List the exports of an NBD server as URIs. */
#include "ini.h"
#include "protocol.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct listing {
	struct nbd_ini_conf conf;
	struct nbd_ini_link link;
	struct resolve resolve;
	struct uri *uri;
	void (*found)(const char *uri, void *user);
	void *user;
	volatile int finished;
};

static void listed(struct nbd_ini_handshake *handshake, const uint8_t *name, size_t len)
{
	static const char *const keys[] = { "socket", "src", "iface", "tls", "tls-psk-file",
		"tls-certificates", "tls-hostname", "tls-verify-peer", NULL };
	struct listing *list = container_of(handshake, struct listing, link.handshake);
	const struct uri *uri = list->uri;
	char text[URI_MAX], path[NBD_STRING_MAX + 2] = "/";

	memcpy(path + 1, name, len);
	path[1 + len] = 0;
	uri_start_user(text, uri->scheme, uri->user, uri->host, uri->port);
	uri_encode(text, path);
	uri_add_keys(text, list->uri, keys);
	if (strlen(text) < URI_MAX - 1) /* not truncated */
		list->found(text, list->user);
}

static void up(struct nbd_ini_link *link)
{
	container_of(link, struct listing, link)->finished = 1;
}

static void resolved(struct resolve *resolve)
{
	container_of(resolve, struct listing, resolve)->finished = 1;
}

static int failed(const struct diag *why, struct diag *diag)
{
	if (diag)
		*diag = *why;
	return -why->err;
}

static int query_server(struct loop *loop, struct listing *list, struct diag *diag)
{
	static const struct nbd_ini_link_events events = { .up = up, .down = up };
	struct nbd_ini_conf *conf = &list->conf;
	uint64_t deadline = conf->timeout_ms ? loop_clock() + conf->timeout_ms * MSEC : 0;
	int err;

	if (!conf->dst.ss.ss_family) {
		list->resolve.done = resolved;
		err = resolve_start(
			&list->resolve, loop, conf->host, conf->port, conf->timeout_ms, diag);
		if (err)
			return err;
		loop_wait(loop, &list->finished, 0);
		if (list->resolve.why.err)
			return failed(&list->resolve.why, diag);
		conf->dst = list->resolve.addr;
		addr_text(&conf->dst, conf->where);
		list->finished = 0;
	}
	list->link.handshake.listed = listed;
	err = nbd_ini_link_dial(&list->link, loop, conf, deadline, &events, diag);
	if (err)
		return err;
	loop_wait(loop, &list->finished, 0); /* the link has a timeout */
	err = list->link.why.err ? failed(&list->link.why, diag) : 0;
	nbd_ini_link_fini(&list->link);
	return err;
}

int nbd_discover(struct loop *loop, struct uri *uri, const struct bdev_env *env,
	void (*found)(const char *uri, void *user), void *user, struct diag *diag)
{
	struct listing *list = calloc(1, sizeof(*list));
	int err;

	if (!list)
		return diag_sys(diag, ENOMEM, "list of exports");
	list->uri = uri;
	list->found = found;
	list->user = user;
	err = nbd_ini_conf_init(&list->conf, uri, env, diag);
	if (!err)
		err = nbd_ini_conf_tls(&list->conf, diag);
	if (!err)
		err = query_server(loop, list, diag);
	if (!err)
		nbd_ini_warn_insecure(
			&list->conf, list->conf.tls_optional, list->link.handshake.tls, diag);
	tls_creds_free(list->conf.tls);
	free(list);
	return err;
}
