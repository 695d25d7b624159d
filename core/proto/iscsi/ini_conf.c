/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The URI of an iSCSI disk: libiscsi's grammar, and keys of our own. */
#include "ini.h"
#include "names.h"
#include "rdma_keys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RECV  (256u << 10)
#define FIRST (64u << 10)

/* [0]: this side, [1]: the target. */
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
		if ((user[i] && strlen(user[i]) > ISCSI_SECRET - 2) ||
			(plain[i] && strlen(plain[i]) > ISCSI_SECRET - 2))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"CHAP name or secret longer than %u bytes", ISCSI_SECRET - 2);
		if (user[i])
			snprintf(conf->user[i], sizeof(conf->user[i]), "%s", user[i]);
		if (plain[i])
			snprintf(conf->secret[i], sizeof(conf->secret[i]), "%s", plain[i]);
		if (file[i])
			err = secret_read(NULL, i ? "target-secret-file" : "secret-file", NULL,
				file[i], conf->secret[i], ISCSI_SECRET, diag);
	}
	if (!err && algs)
		err = iscsi_chap_algs(algs, &auth->algs, diag);
	if (err)
		return err;
	auth->user = conf->user[0][0] ? conf->user[0] : NULL;
	auth->secret = conf->secret[0][0] ? conf->secret[0] : NULL;
	auth->target_user = conf->user[1][0] ? conf->user[1] : NULL;
	auth->target_secret = conf->secret[1][0] ? conf->secret[1] : NULL;
	return 0;
}

/* Runs after the check for unknown keys: a secret may be misspelt. */
static int check_auth(const struct iscsi_auth *auth, struct diag *diag)
{
	if (auth->user && !auth->secret) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no CHAP secret for user '%s'", auth->user);
		return diag_hint(diag, "add the key secret-file=FILE to the URI"), -EINVAL;
	}
	if (auth->secret && !auth->user)
		return diag_set(diag, DIAG_USAGE, EINVAL, "a CHAP secret needs user=NAME");
	if (auth->target_user && !auth->target_secret) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no CHAP secret for target user '%s'",
			auth->target_user);
		return diag_hint(diag, "add the key target-secret-file=FILE to the URI"), -EINVAL;
	}
	if (auth->target_secret && !auth->user)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"mutual CHAP also needs a user and a secret of this side");
	return 0;
}

/* "IQN", "IQN/LUN" */
static int read_path(
	struct iscsi_conf *conf, const struct uri *uri, uint64_t *lun, struct diag *diag)
{
	char name[ISCSI_NAME_MAX + 1];

	if (!uri->name_len) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no target: expected %s://HOST/IQN/LUN",
			uri->scheme);
		return diag_hint(diag, "list targets with: rdmastor iser-discover %s", uri->host),
		       -EINVAL;
	}
	if (!uri_name(uri, name, sizeof(name)))
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"target name too long: must be at most %d bytes", ISCSI_NAME_MAX);
	if (!name_is_plain(name))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid target name '%s': must not contain blanks or control characters",
			name);
	iscsi_name_copy(conf->target, name);
	return uri_lun(uri_unit(uri), lun, diag);
}

static int read_initiator(
	struct iscsi_conf *conf, struct uri *uri, const struct bdev_env *env, struct diag *diag)
{
	const char *name = uri_value(uri, "initiator");

	name = name ? name : env->initiator;
	iscsi_name_copy(conf->initiator, name);
	if (strlen(name) > ISCSI_NAME_MAX || !iscsi_name_valid(conf->initiator))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid initiator name '%s': expected iqn.*, eui.* or naa.*", name);
	conf->from.initiator = conf->initiator;
	return 0;
}

int iscsi_conf_read(struct iscsi_conf *conf, struct scsi_disk *disk, struct uri *uri,
	enum iscsi_carrier carrier, const struct bdev_env *env, struct diag *diag)
{
	const char *iface = carrier == ISCSI_TCP ? uri_value(uri, "iface") : NULL;
	uint64_t lun = SCSI_LUN_ALL;
	bool header = false, data = false;
	int err;

	if (!uri->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host: expected %s://HOST/IQN/LUN",
			uri->scheme);
	if (carrier == ISCSI_ISER && uri_has(uri, "iface"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'iface': not supported over iSER");
	if (iface && strlen(iface) >= sizeof(conf->iface))
		return diag_set(diag, DIAG_USAGE, EINVAL, "invalid interface '%s'", iface);
	if (iface)
		snprintf(conf->iface, sizeof(conf->iface), "%s", iface);
	err = read_path(conf, uri, &lun, diag);
	if (!err)
		err = scsi_disk_read(disk, uri, env, ISCSI_PORT, lun, diag);
	if (!err)
		err = read_initiator(conf, uri, env, diag);
	if (!err)
		err = read_auth(conf, uri, diag);
	if (!err && carrier == ISCSI_ISER)
		err = rdma_keys(uri, conf->dev, &conf->backend, &conf->no_crc, diag);
	if (!err && carrier == ISCSI_TCP)
		err = uri_bool(uri, "hdr_digest", &header, diag);
	if (!err && carrier == ISCSI_TCP)
		err = uri_bool(uri, "data_digest", &data, diag);
	conf->offer = (struct iscsi_login_keys){ .header_digest = header ? ISCSI_DIGEST_CRC32C : 0,
		.data_digest = data ? ISCSI_DIGEST_CRC32C : 0,
		.immediate_data = true,
		.first_burst = FIRST,
		.max_burst = SCSI_INI_MAX,
		.max_recv = carrier == ISCSI_TCP ? RECV : ISCSI_ISER_RECV,
		.target_recv = ISCSI_PDU_DATA,
		.max_r2t = 1 };
	if (!err)
		err = uri_done(uri, diag);
	return err ? err : check_auth(&conf->from.auth, diag);
}

void iscsi_conf_wipe(struct iscsi_conf *conf)
{
	explicit_bzero(conf->secret, sizeof(conf->secret));
}
