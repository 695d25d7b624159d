/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which of the targets found are wanted, by the keys of add_target. */
#pragma once
#include "applet.h"
#include "mad.h"

enum srp_key { SRP_ID_EXT, SRP_IOC_GUID, SRP_DGID, SRP_PKEY, SRP_SERVICE_ID, SRP_KEYS };

struct srp_value { /* up to 128 bits */
	uint64_t upper, lower;
};

struct srp_filter { /* a key without values takes all, one with values any of these */
	struct srp_filter_key {
		struct srp_value value[OPT_LIST_MAX];
		unsigned count;
	} key[SRP_KEYS];
	bool on;
};
/* Option texts to values, in hexadecimal as add_target takes them. */
int srp_filter_read(struct srp_filter *, enum srp_key, const struct opt_list *, struct diag *);
bool srp_filter_takes(const struct srp_filter *, const struct mad_target *, const struct mad_unit *,
	const struct mad_ioc *, const struct mad_service *);
/* Whether what could not be asked of a port may be missed. */
bool srp_filter_may_take(const struct srp_filter *, const struct mad_target *);
