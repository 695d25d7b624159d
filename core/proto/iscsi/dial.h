/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Logins and discovery sessions: what only this protocol calls. */
#pragma once
#include "iscsi.h"

void iscsi_redirects_init(struct iscsi_redirects *, const struct addr *at,
	void (*resolved)(struct iscsi_redirects *));
/* Resolve HOST:PORT, then call resolved() from the loop, never inside this call. why.err 0: the
 * portal is visited[count]. ELOOP: it was visited before, or there were too many redirects.
 * numbers: a host name is an error (EAFNOSUPPORT). timeout_ms 0: the resolver's own limit. */
void iscsi_redirects_follow(
	struct iscsi_redirects *, struct loop *, const char *to, bool numbers, uint32_t timeout_ms);
void iscsi_redirects_cancel(struct iscsi_redirects *); /* any time: no resolved() follows */

/* Finish after the current upcall: done() follows. why NULL: success. No effect if finished. */
void iscsi_dial_finish(struct iscsi_dial *, const struct diag *why);

/* List the targets of a portal; runs the loop until done, or for timeout_ms (0: no limit). The
 * caller frees the list after success. Errors of connecting, such as -ECONNREFUSED, mean that no
 * target was reached. */
int iscsi_discover(struct loop *, const struct addr *, enum iscsi_carrier,
	const struct iscsi_identity *, uint32_t timeout_ms, struct iscsi_target_list *,
	struct diag *);
