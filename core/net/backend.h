/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the backends of an endpoint share. */
#pragma once
#include "ep.h"

/* Call request() and check the length that it returns. */
static inline int ep_request(struct ep *ep, uint8_t priv[EP_PRIV_MAX])
{
	int len = ep->ev->request(ep, priv);

	return len <= (int)ep->caps.priv_max
		       ? len
		       : diag_set(&ep->why, DIAG_UNSUPPORTED, EMSGSIZE,
				 "private data of %d bytes exceeds the connection manager's limit "
				 "of %u",
				 len, ep->caps.priv_max);
}
