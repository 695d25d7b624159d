/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The URI of an iSCSI disk: libiscsi's grammar, and keys of our own. */
#include "ini.h"
#include "names.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IO_MS    30000
#define SESSIONS 16
#define RECV     (256u << 10)
#define FIRST    (64u << 10)

static int read_secret(const char *path, char secret[ISCSI_SECRET], struct diag *diag)
{
	char text[ISCSI_SECRET + 1] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	size_t len;

	if (fd < 0)
		return diag_sys(diag, errno, "open %s", path);
	secret_held();
	got = read(fd, text, sizeof(text) - 1);
	if (got < 0)
		diag_sys(diag, errno, "read %s", path);
	close(fd);
	if (got < 0)
		return -EIO;
	len = strcspn(text, "\r\n");
	if (len && len < ISCSI_SECRET)
		memcpy(secret, text, len);
	explicit_bzero(text, sizeof(text));
	return len && len < ISCSI_SECRET ? 0
					 : diag_set(diag, DIAG_USAGE, EINVAL,
						   "%s: the first line must have 1 to %u bytes",
						   path, ISCSI_SECRET - 1);
}

/* Ours, then the target's, as iser-login has them. */
static int read_auth(struct iscsi_conf *conf, struct uri *uri, struct diag *diag)
{
	const char *user[2] = { uri->user, uri_value(uri, "target_user") },
		   *plain[2] = { uri->password, uri_value(uri, "target_password") },
		   *file[2] = { uri_value(uri, "secret-file"),
			   uri_value(uri, "target-secret-file") },
		   *key = uri_value(uri, "user"), *algs = uri_value(uri, "auth");
	struct iscsi_auth *auth = &conf->from.auth;
	int err = 0;

	user[0] = user[0] ? user[0] : key;
	for (int i = 0; !err && i < 2; i++) {
		if ((user[i] && strlen(user[i]) >= ISCSI_SECRET) ||
			(plain[i] && strlen(plain[i]) >= ISCSI_SECRET))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"CHAP name or secret longer than %u bytes", ISCSI_SECRET - 1);
		if (user[i])
			snprintf(conf->user[i], sizeof(conf->user[i]), "%s", user[i]);
		if (plain[i])
			snprintf(conf->secret[i], sizeof(conf->secret[i]), "%s", plain[i]);
		if (file[i])
			err = read_secret(file[i], conf->secret[i], diag);
	}
	if (!err && algs)
		err = iscsi_chap_algs(algs, &auth->algs, diag);
	if (err)
		return err;
	auth->user = conf->user[0][0] ? conf->user[0] : NULL;
	auth->secret = conf->secret[0][0] ? conf->secret[0] : NULL;
	auth->target_user = conf->user[1][0] ? conf->user[1] : NULL;
	auth->target_secret = conf->secret[1][0] ? conf->secret[1] : NULL;
	if (!auth->user != !auth->secret)
		return diag_set(diag, DIAG_USAGE, EINVAL, "CHAP needs both %s",
			auth->user ? "a user and secret-file=" : "user= and a secret");
	if (auth->target_user && !auth->target_secret)
		return diag_set(diag, DIAG_USAGE, EINVAL, "no secret for target user '%s'",
			auth->target_user);
	if (auth->target_secret && !auth->user)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"mutual CHAP also needs a user and a secret of this side");
	return 0;
}

/* "IQN", "IQN/LUN" */
static int read_path(
	struct iscsi_conf *conf, struct scsi_ini *scsi, const char *path, struct diag *diag)
{
	size_t len = strcspn(path, "/");
	const char *lun = path + len + (path[len] == '/');
	uint64_t number;

	if (!len) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no target: expected iscsi://HOST/IQN/LUN");
		return diag_hint(diag, "list targets with: rdmastor iser-discover %s", conf->host),
		       -EINVAL;
	}
	if (len > ISCSI_NAME_MAX)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"target name too long: must be at most %d bytes", ISCSI_NAME_MAX);
	memcpy(conf->target, path, len);
	if (!iscsi_name_valid(conf->target))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid iSCSI name '%s': expected iqn.*, eui.* or naa.*", conf->target);
	scsi->any_lun = !*lun;
	if (!*lun)
		return 0;
	if (!lun_parse(&number, lun))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid LUN '%s'", lun);
	scsi_ini_lun(scsi->lun, number);
	return 0;
}

static int read_initiator(
	struct iscsi_conf *conf, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	const char *name = uri_value(uri, "initiator");

	name = name ? name : env->initiator;
	if (strlen(name) > ISCSI_NAME_MAX || !iscsi_name_valid(name))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid initiator name '%s': expected iqn.*, eui.* or naa.*", name);
	snprintf(conf->initiator, sizeof(conf->initiator), "%s", name);
	conf->from.initiator = conf->initiator;
	return 0;
}

static int read_host(struct iscsi_conf *conf, struct uri *uri, struct diag *diag)
{
	const char *src = uri_value(uri, "src"), *iface = uri_value(uri, "iface");
	uint32_t tos = 0;
	int err, known;

	if (!uri->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host: expected iscsi://HOST/IQN/LUN");
	conf->port = uri->port ? uri->port : ISCSI_PORT;
	snprintf(conf->host, sizeof(conf->host), "%s", uri->host);
	if (iface && strlen(iface) >= sizeof(conf->iface))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid interface '%s'", iface);
	if (iface)
		snprintf(conf->iface, sizeof(conf->iface), "%s", iface);
	err = src ? addr_source(&conf->src, src, diag) : 0;
	if (!err)
		err = uri_u32(uri, "tos", 0, 255, &tos, diag);
	conf->tos = (uint8_t)tos;
	if (err)
		return err;
	known = addr_known(&conf->dst, uri->host, conf->port, diag);
	return known < 0 ? known : 0;
}

int iscsi_conf_read(struct iscsi_conf *conf, struct scsi_ini *scsi, struct uri *uri,
	const struct bdev_env *env, struct diag *diag)
{
	uint32_t queues = SESSIONS, depth = ISCSI_DEPTH;
	bool header = false, data = false;
	int err = read_host(conf, uri, diag);

	conf->timeout_ms = env->timeout_ms ? env->timeout_ms : BDEV_TIMEOUT_MS;
	if (conf->timeout_ms == BDEV_NEVER)
		conf->timeout_ms = 0;
	conf->io_ms = IO_MS;
	if (!err)
		err = read_path(conf, scsi, uri->path, diag);
	if (!err)
		err = read_initiator(conf, uri, env, diag);
	if (!err)
		err = read_auth(conf, uri, diag);
	if (!err)
		err = uri_u32(uri, "queues", 1, ISCSI_SESSIONS, &queues, diag);
	if (!err)
		err = uri_u32(uri, "depth", 1, 1024, &depth, diag);
	if (!err)
		err = uri_bool(uri, "hdr_digest", &header, diag);
	if (!err)
		err = uri_bool(uri, "data_digest", &data, diag);
	conf->queues = (uint16_t)queues;
	conf->depth = (uint16_t)depth;
	conf->offer = (struct iscsi_offer){ .header_digest = header ? ISCSI_DIGEST_CRC32C : 0,
		.data_digest = data ? ISCSI_DIGEST_CRC32C : 0,
		.immediate_data = true,
		.first_burst = FIRST,
		.max_burst = ISCSI_MOST,
		.max_recv = RECV,
		.max_r2t = 1 };
	return err ? err : uri_done(uri, diag);
}

void iscsi_conf_wipe(struct iscsi_conf *conf)
{
	explicit_bzero(conf->secret, sizeof(conf->secret));
}
