/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the URIs of SRP targets. Their keys have the names of add_target's options. */
#include "uri_read.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LID_MAX 0xbfff /* unicast (IBA 4.1.3) */

static int set_part(struct srp_params *params, enum srp_opt opt, const char *piece, size_t len,
	struct diag *diag)
{
	char text[80];

	if (!len)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no %s: expected srp://GID/IOC_GUID/ID_EXT or "
			"srp+cm://HOST:PORT/IOC_GUID/ID_EXT",
			srp_opt_name(opt));
	snprintf(text, sizeof(text), "%.*s", (int)len, piece);
	return srp_params_set(params, opt, text, diag);
}

static int read_path(struct uri_srp *srp, const struct uri *uri, struct diag *diag)
{
	const char *path = uri->path;
	size_t guid = strcspn(path, "/"), ext = path[guid] ? strcspn(path + guid + 1, "/") : 0;
	const char *at = path + guid + (path[guid] == '/'), *lun = at + ext + (at[ext] == '/');
	int err = set_part(&srp->params, SRP_OPT_IOC_GUID, path, guid, diag);

	if (!err)
		err = set_part(&srp->params, SRP_OPT_ID_EXT, at, ext, diag);
	return err ? err : uri_lun(uri, lun, &srp->lun, diag);
}

static int read_port(
	struct uri_srp *srp, const struct uri *uri, enum uri_initiator initiator, struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t lid;

	if (uri->port)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp: URIs have no port number: expected srp://GID/... or srp://LID/...");
	if (initiator == URI_OWN || strlen(uri->host) > 5 || !*uri->host ||
		strspn(uri->host, "0123456789") < strlen(uri->host))
		return *uri->host ? srp_params_set(&srp->params, SRP_OPT_DGID, uri->host, diag)
				  : set_part(&srp->params, SRP_OPT_DGID, "", 0, diag);
	if (parse_u64(uri->host, 1, LID_MAX, &lid, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "LID %s", why.text);
	srp->lid = (uint16_t)lid;
	return 0;
}

static int read_host(
	struct uri_srp *srp, const struct uri *uri, enum uri_initiator initiator, struct diag *diag)
{
	char text[SRP_VALUE];
	bool v6 = strchr(uri->host, ':');

	if (!*uri->host || !uri->port)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp+cm: requires HOST:PORT: SRP has no default port");
	if (initiator == URI_OWN)
		return 0;
	if (strlen(uri->host) > sizeof(text) - 10)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"host name: must be at most %zu bytes", sizeof(text) - 10);
	snprintf(text, sizeof(text), "%s%s%s:%u", v6 ? "[" : "", uri->host, v6 ? "]" : "",
		uri->port);
	return srp_params_set(&srp->params, SRP_OPT_DEST, text, diag);
}

static int read_key(struct uri_srp *srp, struct uri *uri, enum uri_initiator initiator,
	enum srp_opt opt, struct diag *diag)
{
	const char *name = srp_opt_name(opt), *value;

	if (opt == SRP_OPT_DGID || opt == SRP_OPT_DEST) /* in the authority instead */
		return 0;
	if (initiator == URI_OWN && srp_opt_kernel_only(opt))
		return uri_refuse_key(uri, initiator, name, diag);
	value = uri_value(uri, name);
	return value ? srp_params_set(&srp->params, opt, value, diag) : 0;
}

int uri_srp_read(
	struct uri_srp *srp, struct uri *uri, enum uri_initiator initiator, struct diag *diag)
{
	static const char *const own[] = { "queues", "depth", "tos", "immediate", "rdma", "crc" };
	bool cm = !strcmp(uri->scheme, "srp+cm");
	int err;

	*srp = (struct uri_srp){ .lun = SCSI_LUN_ALL };
	if (!cm && strcmp(uri->scheme, "srp"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s' is not an srp: or srp+cm: URI",
			uri->spelling);
	if (uri->user)
		return diag_set(diag, DIAG_USAGE, EINVAL, "SRP has no users: remove USER@");
	err = cm ? read_host(srp, uri, initiator, diag) : read_port(srp, uri, initiator, diag);
	if (!err)
		err = read_path(srp, uri, diag);
	for (unsigned i = 0; !err && i < SRP_OPTS; i++)
		err = read_key(srp, uri, initiator, i, diag);
	for (unsigned i = 0; !err && initiator == URI_KERNEL && i < sizeof(own) / sizeof(*own); i++)
		err = uri_refuse_key(uri, initiator, own[i], diag);
	return err;
}
