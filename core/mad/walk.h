/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Discovery of the fabric by directed routes (14.2.2): needs neither a subnet manager nor LIDs. */
#pragma once
#include "mad.h"

struct mad_end_port {
	uint64_t prefix, guid;
	uint16_t lid;
	uint8_t state;   /* enum port_state */
	bool management; /* it reports device management */
	uint8_t hops, hop[SMP_HOPS_MAX];
};
struct mad_topology {
	struct mad_end_port *port; /* the caller frees it */
	unsigned count;
	unsigned nodes, silent; /* all nodes; requests without an answer */
};
/* Set hops and hop from "0,1,3", the syntax of infiniband-diags: from this host (0) by its port 1,
 * from the next node by its port 3. */
int mad_route_parse(struct mad_end_port *, const char *text, struct diag *);
/* Query the end port at the end of its route. Runs the loop until the answer or the time limit. */
int mad_query_route(struct mad *, struct mad_end_port *, struct diag *);
/* Find all end ports. Runs the loop. timeout_ms: limit of the whole, 0: none; -ETIMEDOUT. */
int mad_walk(struct mad *, uint32_t timeout_ms, struct mad_topology *, struct diag *);
