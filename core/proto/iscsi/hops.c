/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Redirects (RFC 7143, 11.13.5): each is followed once, and not more than ISCSI_HOPS in all. */
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

static void arrived(struct resolve *resolve)
{
	struct iscsi_hops *hops = container_of(resolve, struct iscsi_hops, resolve);
	struct addr *next = &resolve->addr;

	hops->why = resolve->why;
	for (unsigned i = 0; !hops->why.err && i <= hops->count; i++)
		if (same_place(next, &hops->visited[i]))
			diag_set(&hops->why, DIAG_PROTOCOL, ELOOP, "redirect loop: %s", hops->to);
	if (!hops->why.err && hops->count == ISCSI_HOPS)
		diag_set(&hops->why, DIAG_PROTOCOL, ELOOP,
			"the target redirects more than %u times", ISCSI_HOPS);
	if (!hops->why.err)
		hops->visited[++hops->count] = *next;
	hops->arrived(hops);
}

void iscsi_hops_begin(
	struct iscsi_hops *hops, const struct addr *at, void (*fn)(struct iscsi_hops *))
{
	*hops = (struct iscsi_hops){ .visited = { *at }, .arrived = fn, .resolve.done = arrived };
}

/* Where a redirect leads, as resolve_start() takes it. */
static int read_redirect(const char *to, const struct addr *from, bool numbers,
	struct iscsi_record *record, struct diag *diag)
{
	struct addr addr;
	int known, err = iscsi_address_get(to, from, record, diag);

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

void iscsi_hops_on(struct iscsi_hops *hops, struct loop *loop, const char *to, bool numbers,
	uint32_t timeout_ms)
{
	struct iscsi_record record = { 0 };
	struct diag why = { 0 };

	snprintf(hops->to, sizeof(hops->to), "%s", to);
	if (!read_redirect(to, &hops->visited[hops->count], numbers, &record, &why))
		resolve_start(&hops->resolve, loop, record.host, record.port, timeout_ms, &why);
	if (why.err)
		resolve_fail(&hops->resolve, loop, &why);
}

void iscsi_hops_end(struct iscsi_hops *hops)
{
	resolve_cancel(&hops->resolve);
}
