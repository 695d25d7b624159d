/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of the framework, in addition to target.h. */
#pragma once
#include "buffers.h"

/* target.c */
void target_conn_begin_free(struct loop_msg *); /* begin its last hop, on the target's loop */

/* exclusive.c: list a target for target_fence_next() while its lanes are open. */
void target_register(struct target *), target_unregister(struct target *);
/* Send the fence to the next target of this process that serves the disk. *passed: the number of
 * the one before, 0 at first. False: it has passed all of them. */
bool target_fence_next(const struct bdev *, uint64_t *passed, struct target_fence *);

/* conn.c: messages, on the connection's loop */
void target_conn_open(struct loop_msg *), target_conn_ended(struct loop_msg *),
	target_conn_killed(struct loop_msg *);
/* Make orphans of commands at the disk that may change blocks. End the connection if its peer has
 * disconnected. */
void target_conn_fence(struct target_conn *);

/* Return the bytes of conn->lower for each command. */
static inline size_t target_conn_io_size(const struct target_conn *conn)
{
	return conn->target->io_size ? (conn->target->io_size + 7u) & ~7u : 8;
}
/* Return bdev_orphan.client for its requests. NULL: unknown, as a client without a name may
 * reconnect from any address. */
static inline const void *target_conn_client(const struct target_conn *conn)
{
	return conn->admission.host && !conn->target->proto->quota_per_conn
		       ? conn->admission.host->client
		       : NULL;
}
/* End it without waiting for its peer, as others wait for the buffers it holds. */
void target_conn_evict(struct target_conn *);
/* At a stop: end it if it waits only for its peer to receive replies, not for a disk. */
void target_conn_abort_replies(struct target_conn *);
/* At a stop: end it, or if it is down already, cancel requests that a disk only holds. */
void target_conn_abort(struct target_conn *);
