/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What rping's two sides say to each other, as those of rdma-core's librdmacm/examples do: there is
 * no other description. The client tells where its data is and the server READs it; the client
 * tells where it is to come back to and the server WRITEs it there. Both steps the server answers
 * with a message of the same size, which means nothing else. No private data. */
#pragma once
#include "wire.h"

#define RPING_PORT 7174
/* bytes of data, unless both sides are configured otherwise: a server has no room for more */
#define RPING_SIZE     64
#define RPING_SIZE_MAX 65535u

struct rping_place {
	be64 addr;
	be32 rkey;
	be32 size;
};
WIRE_SIZE(struct rping_place, 16);
