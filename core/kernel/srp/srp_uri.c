/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Translate URIs of SRP targets (rdmastor-uri(7)) into options of add_target. */
#include "kernel_srp.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LID_MAX 0xbfff /* unicast (IBA 4.1.3) */

/* Keys of a URI have the names of add_target's options; these two options are in its authority
 * instead. */
static bool is_key(unsigned opt)
{
	return opt != SRP_OPT_DGID && opt != SRP_OPT_DEST;
}

static int set_part(struct srp_params *params, enum srp_opt opt, const char *piece, size_t len,
	struct diag *diag)
{
	char text[80];

	if (!len)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"no %s: expected srp://GID/IOC_GUID/ID_EXT or "
			"srp+cm://HOST:PORT/IOC_GUID/ID_EXT",
			kernel_srp_opt_name(opt));
	snprintf(text, sizeof(text), "%.*s", (int)len, piece);
	return kernel_srp_set(params, opt, text, diag);
}

static int read_path(
	struct srp_params *params, const char *path, struct srp_place *place, struct diag *diag)
{
	size_t guid = strcspn(path, "/"), ext = path[guid] ? strcspn(path + guid + 1, "/") : 0;
	const char *at = path + guid + (path[guid] == '/'), *lun = at + ext + (at[ext] == '/');
	struct diag why = { 0 };
	int err = set_part(params, SRP_OPT_IOC_GUID, path, guid, diag);

	if (!err)
		err = set_part(params, SRP_OPT_ID_EXT, at, ext, diag);
	if (err || !*lun)
		return err;
	if (parse_u64(lun, 0, UINT64_MAX - 1, &place->lun, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "LUN %s", why.text);
	return 0;
}

static int read_port(struct srp_params *params, const struct uri *uri, struct srp_place *place,
	struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t lid;

	if (uri->port)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp: URIs have no port number: expected srp://GID/... or srp://LID/...");
	if (strlen(uri->host) > 5 || !*uri->host ||
		strspn(uri->host, "0123456789") < strlen(uri->host))
		return *uri->host ? kernel_srp_set(params, SRP_OPT_DGID, uri->host, diag)
				  : set_part(params, SRP_OPT_DGID, "", 0, diag);
	if (parse_u64(uri->host, 1, LID_MAX, &lid, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "LID %s", why.text);
	place->lid = (uint16_t)lid;
	return 0;
}

static int read_host(struct srp_params *params, const struct uri *uri, struct diag *diag)
{
	char text[80];
	bool v6 = strchr(uri->host, ':');

	if (!*uri->host || !uri->port)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"srp+cm: requires HOST:PORT: SRP has no default port");
	if (strlen(uri->host) > sizeof(text) - 10)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"host name: must be at most %zu bytes", sizeof(text) - 10);
	snprintf(text, sizeof(text), "%s%s%s:%u", v6 ? "[" : "", uri->host, v6 ? "]" : "",
		uri->port);
	return kernel_srp_set(params, SRP_OPT_DEST, text, diag);
}

int kernel_srp_uri(
	struct srp_params *params, struct uri *uri, struct srp_place *place, struct diag *diag)
{
	bool cm = !strcmp(uri->scheme, "srp+cm");
	int err;

	*place = (struct srp_place){ .lun = SRP_LUN_ALL };
	if (!cm && strcmp(uri->scheme, "srp"))
		return diag_set(diag, DIAG_USAGE, EINVAL, "'%s' is not an srp: or srp+cm: URI",
			uri->spelling);
	if (uri->user)
		return diag_set(diag, DIAG_USAGE, EINVAL, "SRP has no users: remove USER@");
	err = cm ? read_host(params, uri, diag) : read_port(params, uri, place, diag);
	if (!err)
		err = read_path(params, uri->path, place, diag);
	for (unsigned i = 0; !err && i < SRP_OPTS; i++) {
		const char *value = is_key(i) ? uri_value(uri, kernel_srp_opt_name(i)) : NULL;

		if (value)
			err = kernel_srp_set(params, i, value, diag);
	}
	return err;
}
