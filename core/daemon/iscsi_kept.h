/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A session in the keeper's hands: what the kernel tells of it, made into a login. */
#pragma once
#include "attach_iscsi.h"
#include "iscsi_keep.h"
#include "kernel_iscsi.h"

struct kept {
	struct keep_session s;
	struct kernel_iscsi_session is; /* as of the last look */
	/* What the kernel forgets with the connection, as of when it was seen live */
	int header_digest, data_digest; /* VALUE_UNKNOWN */
	char address[ADDR_TEXT];
	uint16_t port;
	/* Of the login under way */
	struct iscsi_link link;
	struct iscsi_want want;
	struct iscsi_from from;
	struct kernel_iscsi_secrets secrets;
};
/* Whether it can be kept: adapters that are initiators by themselves log in by themselves. */
bool iscsi_kept_can_be(const struct kernel_iscsi_session *);
int iscsi_kept_look(struct kept *, int root); /* -ENOENT: it is gone */
/* The login that the session would be made with now; loop, nl and done are the caller's to add. */
int iscsi_kept_prepare(struct kept *, int root, uint32_t limit_ms, struct diag *);
void iscsi_kept_forget(struct kept *); /* its secrets */

/* Start the keeper as a process of its own unless one is running. *pid: of the keeper; 0 = unknown.
 * Needs root, and a process without threads. -EALREADY: iscsid is running, *pid is iscsid's. */
int iscsi_keeper_start(int root, int *pid, struct diag *);

/* What that process does; for tests. */
struct iscsi_keeper;
struct iscsi_keeper_events {
	void *arg;
	void (*say)(void *arg, const char *line);
	void (*over)(void *arg); /* from the loop: no session is left; a new one is kept again */
};
int iscsi_keeper_new(struct iscsi_keeper **, struct loop *, int root,
	const struct iscsi_keeper_events *, struct diag *);
bool iscsi_keeper_idle(struct iscsi_keeper *); /* looks: no session is there */
void iscsi_keeper_free(struct iscsi_keeper *); /* sessions stay; a login under way is given up */
