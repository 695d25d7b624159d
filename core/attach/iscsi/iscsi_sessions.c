/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the kernel's sessions by what open-iscsi's tools call them. */
#include "iscsi_logins.h"
#include <stdio.h>
#include <string.h>

static int read_portal(const char *text, struct addr *portal, struct diag *diag)
{
	char uri[URI_MAX];
	struct uri at;
	int tpgt, err = iscsi_portal_uri(text, uri, &tpgt, diag);

	if (!err)
		err = uri_parse(&at, uri, diag);
	return err ? err : uri_resolve(&at, ISCSI_PORT, ADDR_LOOKUP_MS, portal, diag);
}

static bool matches(const struct kernel_iscsi_session *session, const char *sid, const char *target,
	const struct addr *portal)
{
	char text[12];

	snprintf(text, sizeof(text), "%u", session->sid);
	return (!sid || !strcmp(sid, text)) && (!target || !strcmp(target, session->target)) &&
	       (!portal || kernel_iscsi_session_find(
				   session, 1, NULL, session->transport, session->target, portal));
}

int iscsi_sessions_of(int root, const char *sid, const char *target, const char *portal,
	struct kernel_iscsi_session **list, unsigned *count, struct diag *diag)
{
	struct addr addr;
	unsigned all = 0;
	int err = portal ? read_portal(portal, &addr, diag) : 0;

	*list = NULL;
	*count = 0;
	if (!err)
		err = kernel_iscsi_sessions(root, list, &all, diag);
	for (unsigned i = 0; i < all && !err; i++)
		if (matches(&(*list)[i], sid, target, portal ? &addr : NULL))
			(*list)[(*count)++] = (*list)[i];
	return err;
}
