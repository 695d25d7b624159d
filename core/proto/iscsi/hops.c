/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Redirects (RFC 7143, 11.13.5), which a target may give without end. */
#include "iscsi.h"
#include "targets.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAME_MS 2000

static void same_scope(struct addr *to, const struct addr *from)
{
	struct sockaddr_in6 *a = (void *)&to->ss;
	const struct sockaddr_in6 *b = (const void *)&from->ss;

	if (to->ss.ss_family == AF_INET6 && from->ss.ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a->sin6_addr) && !a->sin6_scope_id)
		a->sin6_scope_id = b->sin6_scope_id;
}

static bool same_place(const struct addr *a, const struct addr *b)
{
	char one[ADDR_TEXT], other[ADDR_TEXT];

	return !strcmp(addr_text(a, one), addr_text(b, other));
}

static bool is_number(const char *host)
{
	struct in6_addr any;
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)strcspn(host, "%"), host);
	return inet_pton(AF_INET, text, &any) == 1 || inet_pton(AF_INET6, text, &any) == 1;
}

int iscsi_hops_on(struct iscsi_hops *hops, const char *to, bool numbers, struct addr *at, struct diag *diag)
{
	struct iscsi_record record;
	struct addr next;
	int err = iscsi_address_get(to, &record, diag);

	if (!err && numbers && !is_number(record.host))
		return diag_set(diag, DIAG_UNSUPPORTED, EAFNOSUPPORT, "the target redirects to a name, %s, and none is looked up here", to);
	if (!err)
		err = addr_resolve(&next, record.host, record.port, NAME_MS, diag);
	if (err)
		return err;
	same_scope(&next, at);
	for (unsigned i = 0; i <= hops->count; i++)
		if (same_place(&next, &hops->visited[i]))
			return diag_set(diag, DIAG_PROTOCOL, ELOOP, "the target redirects in a circle: to %s again", to);
	if (hops->count == ISCSI_HOPS)
		return diag_set(diag, DIAG_PROTOCOL, ELOOP, "the target redirects more than %u times", ISCSI_HOPS);
	hops->visited[++hops->count] = *at = next;
	return 0;
}
