/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Follow redirects (RFC 7143, 11.13.5): to each portal once, at most ISCSI_REDIRECTS in all. */
#include "dial.h"
#include "iscsi.h"
#include "targets.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool same_place(const struct addr *a, const struct addr *b)
{
	char one[ADDR_TEXT], other[ADDR_TEXT];

	return !strcmp(addr_text(a, one), addr_text(b, other));
}

static void resolved(struct resolve *resolve)
{
	struct iscsi_redirects *redirects = container_of(resolve, struct iscsi_redirects, resolve);
	struct addr *next = &resolve->addr;

	redirects->why = resolve->why;
	for (unsigned i = 0; !redirects->why.err && i <= redirects->count; i++)
		if (same_place(next, &redirects->visited[i]))
			diag_set(&redirects->why, DIAG_PROTOCOL, ELOOP, "redirect loop: %s",
				redirects->to);
	if (!redirects->why.err && redirects->count == ISCSI_REDIRECTS)
		diag_set(&redirects->why, DIAG_PROTOCOL, ELOOP,
			"the target redirects more than %u times", ISCSI_REDIRECTS);
	if (!redirects->why.err)
		redirects->visited[++redirects->count] = *next;
	redirects->resolved(redirects);
}

void iscsi_redirects_init(struct iscsi_redirects *redirects, const struct addr *at,
	void (*fn)(struct iscsi_redirects *))
{
	*redirects = (struct iscsi_redirects){
		.visited = { *at }, .resolved = fn, .resolve.done = resolved
	};
}

/* Parse the target of a redirect for resolve_start(). */
static int read_redirect(const char *to, const struct addr *from, bool numbers,
	struct iscsi_record *record, struct diag *diag)
{
	struct addr addr;
	int known, err = iscsi_address_parse(to, from, record, diag);

	if (err)
		return err;
	known = addr_known(&addr, record->host, record->port, diag);
	if (!known && numbers)
		return diag_set(diag, DIAG_UNSUPPORTED, EAFNOSUPPORT,
			"the target redirects to host name %s; only IP addresses are supported "
			"here",
			to);
	return known < 0 ? known : 0;
}

void iscsi_redirects_follow(struct iscsi_redirects *redirects, struct loop *loop, const char *to,
	bool numbers, uint32_t timeout_ms)
{
	struct iscsi_record record = { 0 };
	struct diag why = { 0 };

	snprintf(redirects->to, sizeof(redirects->to), "%s", to);
	if (!read_redirect(to, &redirects->visited[redirects->count], numbers, &record, &why))
		resolve_start(
			&redirects->resolve, loop, record.host, record.port, timeout_ms, &why);
	if (why.err)
		resolve_fail(&redirects->resolve, loop, &why);
}

void iscsi_redirects_cancel(struct iscsi_redirects *redirects)
{
	resolve_cancel(&redirects->resolve);
}
