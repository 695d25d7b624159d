/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the frame's files know of one another beyond the contract. */
#pragma once
#include "places.h"

/* target.c */
void target_conn_over(struct loop_msg *); /* the last hop begins, on the target's loop */

/* conn.c: hops, on the connection's loop */
void target_conn_open(struct loop_msg *), target_conn_ended(struct loop_msg *),
	target_conn_killed(struct loop_msg *);
/* Makes orphans of its commands that may change blocks and are at the disk; ends it if its peer has
 * hung up. */
void target_conn_fence(struct target_conn *);
/* others wait for buffers that it holds */
void target_conn_evict(struct target_conn *);
/* At a stop: ends one that no disk keeps, as its peer does not take its replies. */
void target_conn_hurry(struct target_conn *);
/* At a stop: ends it, and cancels also what a disk has come to hold since it went down. */
void target_conn_quit(struct target_conn *);
