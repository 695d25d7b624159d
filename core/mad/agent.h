/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The answers of the device management agent, for its tests. */
#pragma once
#include "mad.h"

#define SRP_IO_CLASS 0x0100 /* SRP r16a */

/* Build the attribute for the answer to a Get; zeroes if the returned MAD status is not 0. */
uint16_t mad_agent_get(
	const struct mad_agent_conf *, uint16_t attr, uint32_t mod, uint8_t out[DM_DATA_LEN]);
