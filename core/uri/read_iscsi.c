/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the URIs of iSCSI and iSER targets: libiscsi's grammar, and keys of our own. */
#include "uri_read.h"
#include <errno.h>
#include <stdio.h>

int uri_iscsi_name(char target[NAME_PLAIN_MAX + 1], const char *name, size_t len, struct diag *diag)
{
	char text[NAME_PLAIN_MAX + 1];

	if (len > NAME_PLAIN_MAX)
		return diag_set(diag, DIAG_USAGE, ENAMETOOLONG,
			"target name too long: must be at most %d bytes", NAME_PLAIN_MAX);
	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	if (!name_is_plain(text))
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"invalid target name '%s': must not contain blanks or control characters",
			text);
	iscsi_name_copy(target, text);
	return 0;
}

int uri_iscsi_read(struct uri_iscsi *iscsi, const struct uri *uri, enum uri_initiator initiator,
	struct diag *diag)
{
	static const char *const only[][7] = { [URI_OWN] = { "queues", "depth", "tos", "rdma",
						       "crc", "dev" },
		[URI_KERNEL] = { "tpgt" } };
	const char *const *other = only[initiator == URI_OWN ? URI_KERNEL : URI_OWN];
	int err = 0;

	*iscsi = (struct uri_iscsi){ 0 };
	if (uri->name_len)
		err = uri_iscsi_name(iscsi->target, uri->path, uri->name_len, diag);
	if (!err)
		err = uri_lun(uri, uri_unit(uri), &iscsi->lun, diag);
	for (; !err && *other; other++)
		err = uri_refuse_key(uri, initiator, *other, diag);
	return err;
}

struct uri_iscsi_identity uri_iscsi_identity(struct uri *uri)
{
	const char *user = uri_value(uri, "user");

	return (struct uri_iscsi_identity){ .initiator = uri_value(uri, "initiator"),
		.user = { uri->user && *uri->user ? uri->user : user,
			uri_value(uri, "target_user") },
		.secret = { uri->password, uri_value(uri, "target_password") },
		.secret_file = { uri_value(uri, "secret-file"),
			uri_value(uri, "target-secret-file") },
		.algs = uri_value(uri, "auth") };
}
