/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the device management agent says, for its tests. */
#pragma once
#include "mad.h"

#define SRP_IO_CLASS 0x0100 /* SRP r16a */

/* The attribute that a Get is answered with, or only zeros; returns the status. */
uint16_t mad_agent_get(
	const struct mad_served *, uint16_t attr, uint32_t mod, uint8_t out[DM_DATA_LEN]);
