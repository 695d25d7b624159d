/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read from a URI and its environment what every queue of a session needs: the target's address,
 * the transport's settings, and the host's identity. */
#include "names.h"
#include "nvme.h"
#include "rdma_keys.h"
#include "secret_mem.h"
#include "uri_read.h"
#include <errno.h>
#include <stdio.h>

static const struct nvme_carrier *carrier(const struct uri *uri)
{
	return strcmp(uri->scheme, "nvme+tcp") ? &nvme_rdma : &nvme_tcp;
}

/* The host's identity: keys take precedence over the environment. A host ID belongs to its NQN, so
 * that of the environment is not used with another NQN. */
static int identity(
	struct nvme_conf *conf, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	const char *id = uri_value(uri, "hostid"), *uuid;
	int err;

	snprintf(conf->hostnqn, sizeof(conf->hostnqn), "%s", env->hostnqn);
	memcpy(conf->hostid, env->hostid, sizeof(conf->hostid));
	err = uri_text(uri, "hostnqn", conf->hostnqn, sizeof(conf->hostnqn), diag);
	if (err)
		return err;
	if (id)
		return uuid_parse(conf->hostid, id) ? 0
						    : diag_set(diag, DIAG_USAGE, EINVAL,
							      "hostid='%s': expected a UUID", id);
	uuid = strstr(conf->hostnqn, ":uuid:");
	if (uuid && strcmp(conf->hostnqn, env->hostnqn))
		uuid_parse(conf->hostid, uuid + 6);
	if (!conf->hostnqn[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host NQN: set hostnqn=");
	return 0;
}

static int transport_keys(struct nvme_conf *conf, struct uri *uri, struct diag *diag)
{
	uint32_t tos = 0;
	int err = uri_source(uri, &conf->src, diag);

	if (!err)
		err = uri_u32(uri, "tos", 0, 255, &tos, diag);
	conf->tos = (uint8_t)tos;
	if (err)
		return err;
	if (conf->carrier == &nvme_tcp) {
		err = uri_text(uri, "iface", conf->iface, sizeof(conf->iface), diag);
		if (!err)
			err = uri_bool(uri, "hdr_digest", &conf->hdr_digest, diag);
		if (!err)
			err = uri_bool(uri, "data_digest", &conf->data_digest, diag);
		return err;
	}
	return rdma_keys(uri, conf->dev, &conf->backend, &conf->no_crc, diag);
}

#define SECRET_TEXT 128

/* The first word of the file: blanks may follow. */
static int read_secret(const struct nvme_key **out, enum nvme_key_kind kind, const char *key,
	const char *file, struct diag *diag)
{
	char text[SECRET_TEXT];
	struct diag why = { 0 };
	struct nvme_key *secret;
	int err = secret_read(NULL, key, NULL, file, text, sizeof(text), diag);

	if (err)
		return err;
	text[strcspn(text, " \t")] = 0;
	secret = secret_alloc(sizeof(*secret));
	*out = secret;
	err = secret ? nvme_key_parse(secret, kind,
			       kind == NVME_KEY_TLS ? "TLS key" : "DH-HMAC-CHAP secret", text, &why)
		     : diag_sys(&why, ENOMEM, "secret");
	explicit_bzero(text, sizeof(text));
	if (!err)
		return 0;
	diag_set(diag, why.code, why.err, "%s=%s: %s", key, file, why.text);
	return diag_hint(diag, "%s", why.hint), err;
}

void nvme_conf_fini(struct nvme_conf *conf)
{
	const struct nvme_key **const of[] = { &conf->secret[0], &conf->secret[1], &conf->psk };

	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		secret_free((struct nvme_key *)*of[i]);
		*of[i] = NULL;
	}
}

int nvme_conf_secrets(struct nvme_conf *conf, struct uri *uri, struct diag *diag)
{
	static const char *const keys[2] = { "dhchap-secret-file", "dhchap-ctrl-secret-file" };
	const char *const files[2] = { uri_value(uri, keys[0]), uri_value(uri, keys[1]) };
	const char *const psk = uri_value(uri, "tls-key-file");
	int err = uri_bool(uri, "concat", &conf->concat, diag);

	if (err)
		return err;
	if (conf->concat && conf->carrier != &nvme_tcp)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"concat= needs NVMe/TCP: expected nvme+tcp instead of %s", uri->scheme);
	if (files[1] && !files[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "%s= requires %s=", keys[1], keys[0]);
	if (conf->concat && !files[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "concat= requires %s=", keys[0]);
	if (conf->concat && psk)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"concat= generates the key of TLS: it can't be combined with "
			"tls-key-file=");
	if (psk && conf->carrier != &nvme_tcp)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"tls-key-file= needs NVMe/TCP: expected nvme+tcp instead of %s",
			uri->scheme);
	for (unsigned i = 0; i < 2 && !err; i++)
		if (files[i])
			err = read_secret(
				&conf->secret[i], NVME_KEY_DHCHAP, keys[i], files[i], diag);
	if (!err && psk)
		err = read_secret(&conf->psk, NVME_KEY_TLS, "tls-key-file", psk, diag);
	if (err)
		nvme_conf_fini(conf);
	return err;
}

int nvme_conf_host(struct nvme_conf *conf, const char *host, uint16_t port, struct diag *diag)
{
	int known = addr_known(&conf->dst, host, port, diag);

	if (known < 0)
		return known;
	snprintf(conf->host, sizeof(conf->host), "%s", host);
	conf->port = port;
	if (known)
		addr_text(&conf->dst, conf->where);
	else
		snprintf(conf->where, sizeof(conf->where), "%.120s", host);
	return 0;
}

int nvme_conf_init(struct nvme_conf *conf, struct uri *uri, const struct bdev_env *env,
	uint16_t default_port, struct diag *diag)
{
	int err;

	*conf = (struct nvme_conf){ .carrier = carrier(uri),
		.kato_ms = env->detect_ms ? env->detect_ms : NVME_KATO_MS,
		.detect_ms = env->detect_ms ? env->detect_ms : NVME_DETECT_MS,
		.timeout_ms = env->timeout_ms ? env->timeout_ms : BDEV_TIMEOUT_MS };
	if (conf->kato_ms < NVME_KATO_MIN_MS)
		conf->kato_ms = NVME_KATO_MIN_MS;
	if (conf->timeout_ms == BDEV_NEVER)
		conf->timeout_ms = 0;
	if (!uri->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host in the URI");
	err = transport_keys(conf, uri, diag);
	if (!err)
		err = identity(conf, uri, env, diag);
	if (!err)
		err = nvme_conf_host(conf, uri->host, uri->port ? uri->port : default_port, diag);
	return err;
}
