/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The settings of an iSCSI disk, from its URI. */
#include "ini.h"
#include "names.h"
#include "rdma_keys.h"
#include "secret_mem.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define RECV  (256u << 10)
#define FIRST (64u << 10)
/* Another path may ask about a lost session that much later (fence.c). */
#define RETAIN_S 20

static int read_auth(
	struct iscsi_conf *conf, const struct uri_iscsi_identity *from, struct diag *diag)
{
	const char *const *user = from->user, *const *plain = from->secret,
			  *const *file = from->secret_file;
	struct iscsi_auth *auth = &conf->from.auth;
	int err = 0;

	if (plain[0] || plain[1] || file[0] || file[1]) {
		conf->secret = secret_alloc(2 * sizeof(*conf->secret));
		if (!conf->secret)
			return diag_sys(diag, ENOMEM, "secret");
	}
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
	if (!err && from->algs)
		err = iscsi_chap_algs(from->algs, &auth->algs, diag);
	if (err)
		return err;
	auth->user = conf->user[0][0] ? conf->user[0] : NULL;
	auth->secret = conf->secret && conf->secret[0][0] ? conf->secret[0] : NULL;
	auth->target_user = conf->user[1][0] ? conf->user[1] : NULL;
	auth->target_secret = conf->secret && conf->secret[1][0] ? conf->secret[1] : NULL;
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

static int read_target(
	struct iscsi_conf *conf, const struct uri *uri, uint64_t *lun, struct diag *diag)
{
	struct uri_iscsi iscsi;
	int err = uri_iscsi_read(&iscsi, uri, URI_OWN, diag);

	if (err)
		return err;
	if (!*iscsi.target) {
		diag_set(diag, DIAG_USAGE, EINVAL, "no target: expected %s://HOST/IQN/LUN",
			uri->scheme);
		return diag_hint(diag, "list targets with: rdmastor iser-discover %s", uri->host),
		       -EINVAL;
	}
	memcpy(conf->target, iscsi.target, sizeof(conf->target));
	*lun = iscsi.lun;
	return 0;
}

static int read_initiator(struct iscsi_conf *conf, const char *name, struct diag *diag)
{
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
	uint64_t lun = SCSI_LUN_ALL;
	struct uri_iscsi_identity from;
	bool header = false, data = false;
	int err;

	if (!uri->host[0])
		return diag_set(diag, DIAG_USAGE, EINVAL, "no host: expected %s://HOST/IQN/LUN",
			uri->scheme);
	if (carrier == ISCSI_ISER && uri_has(uri, "iface"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'iface': not supported over iSER");
	err = read_target(conf, uri, &lun, diag);
	if (!err && carrier == ISCSI_TCP)
		err = uri_text(uri, "iface", conf->iface, sizeof(conf->iface), diag);
	if (!err)
		err = scsi_disk_read(disk, uri, env, ISCSI_PORT, lun, diag);
	if (err)
		return err;
	from = uri_iscsi_identity(uri);
	err = read_initiator(conf, from.initiator ? from.initiator : env->initiator, diag);
	if (!err)
		err = read_auth(conf, &from, diag);
	if (!err && carrier == ISCSI_ISER)
		err = rdma_keys(uri, conf->dev, &conf->backend, &conf->no_crc, diag);
	if (!err && carrier == ISCSI_TCP)
		err = uri_bool(uri, "hdr_digest", &header, diag);
	if (!err && carrier == ISCSI_TCP)
		err = uri_bool(uri, "data_digest", &data, diag);
	conf->offered =
		(struct iscsi_offered_params){ .header_digest = header ? ISCSI_DIGEST_CRC32C : 0,
			.data_digest = data ? ISCSI_DIGEST_CRC32C : 0,
			.immediate_data = true,
			.first_burst = FIRST,
			.max_burst = SCSI_INI_MAX,
			.max_recv = carrier == ISCSI_TCP ? RECV : ISCSI_ISER_RECV,
			.target_recv = ISCSI_PDU_DATA,
			.max_r2t = 1,
			.time2retain = RETAIN_S };
	if (!err)
		err = uri_done(uri, diag);
	return err ? err : check_auth(&conf->from.auth, diag);
}

void iscsi_conf_fini(struct iscsi_conf *conf)
{
	secret_free(conf->secret);
	conf->secret = NULL;
}
