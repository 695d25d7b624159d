/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read from an NBD URI (doc/uri.md of the NetworkBlockDevice project) what every connection
 * needs. */
#include "ini.h"
#include "uri_read.h"
#include <errno.h>
#include <stdio.h>

#define IO_MS 30000
/* TCP probes an idle peer once a second at most, and one lost packet proves nothing. */
#define DETECT_MIN_MS 2000
#define LINKS         16
#define DEPTH         64

static int unix_dst(struct nbd_ini_conf *conf, struct uri *uri, struct diag *diag)
{
	const char *path = uri_value(uri, "socket");
	char text[URI_MAX + 8];

	if (uri->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"host '%s' with a unix socket: expected nbd+unix:///NAME?socket=PATH",
			uri->host);
	if (!path || !*path)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no socket given: expected nbd+unix:///NAME?socket=PATH");
	snprintf(text, sizeof(text), "unix:%s", path);
	return addr_parse(&conf->dst, text, 0, diag);
}

static int tcp_dst(struct nbd_ini_conf *conf, struct uri *uri, struct diag *diag)
{
	int err, known;

	if (!uri->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host in the URI");
	err = uri_text(uri, "iface", conf->iface, sizeof(conf->iface), diag);
	if (!err)
		err = uri_source(uri, &conf->src, diag);
	if (err)
		return err;
	conf->port = uri->port ? uri->port : NBD_PORT;
	known = addr_known(&conf->dst, uri->host, conf->port, diag);
	snprintf(conf->host, sizeof(conf->host), "%s", uri->host);
	return known < 0 ? known : 0;
}

/* tls=optional is LIBNBD_TLS_ALLOW of libnbd, which has no key for it. */
static int tls_mode(struct nbd_ini_conf *conf, struct uri *uri, struct diag *diag)
{
	const char *mode = uri_value(uri, "tls");

	conf->secure = !strncmp(uri->scheme, "nbds", 4);
	if (!mode)
		return 0;
	if (strcmp(mode, "optional"))
		return diag_set(
			diag, DIAG_USAGE, EINVAL, "invalid tls=%s: expected tls=optional", mode);
	if (conf->secure)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"nbds requires TLS: expected nbd with tls=optional");
	conf->secure = conf->tls_optional = true;
	return 0;
}

/* The keys of libnbd, and the user of the key; `nbd` without TLS has none of them. */
static int tls_keys(struct nbd_ini_conf *conf, struct uri *uri, struct diag *diag)
{
	static const char *const keys[] = { "tls-psk-file", "tls-certificates", "tls-hostname",
		"tls-verify-peer" };
	struct tls_files *files = &conf->tls_files;
	const char *name;
	bool verify = true;
	int err;

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys) && !conf->secure; i++)
		if (uri_has(uri, keys[i]))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"%s= needs TLS: expected nbds instead of nbd", keys[i]);
	if (!conf->secure)
		return uri->user ? diag_set(diag, DIAG_USAGE, EINVAL,
					   "user '%s' needs TLS: expected nbds instead of nbd",
					   uri->user)
				 : 0;
	files->psk_file = uri_value(uri, keys[0]);
	files->certificates = uri_value(uri, keys[1]);
	name = uri_value(uri, keys[2]);
	err = uri_bool(uri, keys[3], &verify, diag);
	files->no_verify = !verify;
	files->user = uri->user;
	conf->psk = files->psk_file;
	snprintf(conf->tls_hostname, sizeof(conf->tls_hostname), "%s", name ? name : uri->host);
	return err;
}

int nbd_ini_conf_tls(struct nbd_ini_conf *conf, struct diag *diag)
{
	return conf->secure ? tls_creds_new(&conf->tls, &conf->tls_files, diag) : 0;
}

int nbd_ini_conf_init(
	struct nbd_ini_conf *conf, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	uint32_t links = LINKS, depth = DEPTH;
	int err;

	*conf = (struct nbd_ini_conf){ .timeout_ms =
					       env->timeout_ms == BDEV_NEVER ? 0 : env->timeout_ms,
		.io_ms = IO_MS,
		.detect_ms = env->detect_ms };
	if (conf->detect_ms && conf->detect_ms < DETECT_MIN_MS)
		conf->detect_ms = DETECT_MIN_MS;
	err = tls_mode(conf, uri, diag);
	if (!err)
		err = tls_keys(conf, uri, diag);
	if (!err)
		err = uri_u32(uri, "queues", 1, 256, &links, diag);
	if (!err)
		err = uri_u32(uri, "depth", 1, 1024, &depth, diag);
	if (!err)
		err = uri_msec(uri, "io-timeout", &conf->io_ms, diag);
	if (!err)
		err = strchr(uri->scheme, '+') ? unix_dst(conf, uri, diag)
					       : tcp_dst(conf, uri, diag);
	conf->links = (uint16_t)links;
	conf->depth = (uint16_t)depth;
	snprintf(conf->name, sizeof(conf->name), "%s", uri->path);
	addr_text(&conf->dst, conf->where);
	return err;
}
