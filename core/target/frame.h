/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of the frame, beyond the contract. */
#pragma once
#include "buffers.h"

/* target.c */
void target_conn_over(struct loop_msg *); /* start the last hop, on the target's loop */

/* alone.c: a target whose workers run; before their lanes close. */
void target_known(struct target *), target_forgotten(struct target *);

/* conn.c: hops, on the connection's loop */
void target_conn_open(struct loop_msg *), target_conn_ended(struct loop_msg *),
	target_conn_killed(struct loop_msg *);
/* Make orphans of its commands at the disk that may change blocks. End the connection if its peer
 * has disconnected. */
void target_conn_fence(struct target_conn *);

/* Whose its requests are, for bdev_orphan.client. Clients that give no name may come back from any
 * address. */
static inline const void *target_conn_client(const struct target_conn *conn)
{
	return conn->place.host && !conn->target->proto->apart ? conn->place.host->client : NULL;
}
/* end it, as others wait for buffers that it holds */
void target_conn_evict(struct target_conn *);
/* At a stop: end a connection that waits for its peer to take replies, not for a disk. */
void target_conn_hurry(struct target_conn *);
/* At a stop: end it, and cancel requests that a disk has held since it went down. */
void target_conn_quit(struct target_conn *);
