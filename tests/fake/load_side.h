/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of connections measured alone: the side that answers, on threads of its own, on
 * loopback. One in a test process. */
#pragma once
#include "host.h" /* loop, why */
#include "load.h"

extern struct loop *loops[2];
extern struct load_server *server;
extern struct addr at; /* the server's */

void load_side_begin(struct load_listen); /* its ways and nloops, at most 2 */
void load_side_end(void);
