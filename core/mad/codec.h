/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decode attributes of answers into host structs. Values of a peer are bounded here: texts are
 * terminated, LIDs are unicast, counts fit. */
#pragma once
#include "mad.h"

/* The records of an SA answer, one or a table. False: the answer is malformed. */
struct sa_table {
	const uint8_t *at;
	size_t each, count;
	bool cut; /* a partial record follows the last whole one */
};
bool mad_sa_table_get(struct sa_table *, const void *mad, size_t len,
	size_t least /* bytes of a record that will be read */);

struct sa_port {
	uint16_t lid;
	uint64_t prefix;
	bool management;
	uint32_t first_ms; /* wait at least that long for an answer */
};
bool mad_sa_port_get(struct sa_port *, const struct port_info_record *); /* false: no unicast LID */
void mad_port_get(struct sa_port *, const struct port_info *);

struct sa_node {
	uint16_t lid;
	uint64_t guid;
};
bool mad_sa_node_get(struct sa_node *, const struct node_record *);

struct sa_path {
	uint16_t lid, pkey;
	uint8_t sl;
};
bool mad_sa_path_get(struct sa_path *, const struct path_record *);

bool mad_lid_valid(unsigned lid);
/* Index of the default partition, which subnet management uses; if absent, the first. */
uint16_t mad_port_pkey_index(const struct mad_port_info *);

/* The caller has zeroed the unit. */
void mad_dm_unit_get(struct mad_unit *, const struct io_unit_info *);
enum dm_slot mad_dm_unit_slot(const struct mad_unit *, unsigned slot /* from 1 */);
void mad_dm_ioc_get(struct mad_ioc *, const struct ioc_profile *);
void mad_dm_service_get(struct mad_service *, const struct service_entry *);

/* Decode the notice of a Report. False: not one we subscribe to, or useless. */
bool mad_notice_get(struct mad_notice *, const struct notice *);
/* Build the subscription to a trap, or its end. Returns the component mask. */
uint64_t mad_inform_put(struct inform_info *, uint16_t trap, bool subscribe);

/* "request denied": text for the status of an SA answer; 13.4.7, 15.4.2. */
const char *mad_sa_status_text(uint16_t status);
