/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decode attributes, whose layouts are in wire/mad.h. */
#include "codec.h"

#define INFORM_RESP_TIME 19 /* we answer a Report within 2.1 s */

bool mad_lid_valid(unsigned lid)
{
	return lid >= MAD_LID_MIN && lid <= MAD_LID_MAX;
}

uint16_t mad_port_pkey_index(const struct mad_port_info *port)
{
	uint16_t first = UINT16_MAX;

	for (uint16_t i = 0; i < port->pkeys; i++) {
		if ((port->pkey[i] & 0x7fff) == 0x7fff)
			return i;
		if (port->pkey[i] && first == UINT16_MAX)
			first = i;
	}
	return first == UINT16_MAX ? 0 : first;
}

bool mad_sa_table_get(struct sa_table *table, const void *mad, size_t len, size_t least)
{
	const struct sa_hdr *hdr = mad;
	bool many = hdr->mad.method == (MAD_GET_TABLE | MAD_RESPONSE);
	size_t rest;

	*table = (struct sa_table){ .at = (const uint8_t *)mad + sizeof(*hdr) };
	if (len < sizeof(*hdr))
		return false;
	if (!many) {
		table->each = least;
		table->count = 1;
		return len - sizeof(*hdr) >= least;
	}
	/* The record distance of an empty table may be 0; 15.2.1.1 */
	table->each = (size_t)get_be16(hdr->attr_offset) * 8;
	if (!table->each)
		return true;
	len -= sizeof(*hdr);
	rest = len % table->each;
	/* The last record may lack its padding to eight bytes */
	table->count = len / table->each + (rest >= least && table->each - rest < 8);
	for (size_t i = table->count * table->each; i < len;
		i++) /* only zeros may fill the last segment */
		table->cut |= table->at[i] != 0;
	return table->each >= least && (table->count || !len);
}

/* Return 4.096 us * 2^n in milliseconds. */
static uint32_t time_ms(unsigned n)
{
	return (uint32_t)((4096ull << (n & 31)) / 1000000);
}

void mad_port_get(struct sa_port *port, const struct port_info *info)
{
	port->lid = get_be16(info->lid);
	port->prefix = get_be64(info->gid_prefix);
	port->management = get_be32(info->cap_mask) & PORT_CAP_DM;
	port->first_ms = time_ms(info->subnet_timeout) + time_ms(info->resp_time);
}

bool mad_sa_port_get(struct sa_port *port, const struct port_info_record *record)
{
	mad_port_get(port, &record->info);
	port->lid = get_be16(record->lid);
	return mad_lid_valid(port->lid);
}

bool mad_sa_node_get(struct sa_node *node, const struct node_record *record)
{
	node->lid = get_be16(record->lid);
	node->guid = get_be64(record->info.port_guid);
	return mad_lid_valid(node->lid);
}

bool mad_sa_path_get(struct sa_path *path, const struct path_record *record)
{
	path->lid = get_be16(record->dlid);
	path->pkey = get_be16(record->pkey);
	path->sl = get_be16(record->qos_sl) & 0xf;
	return mad_lid_valid(path->lid);
}

static void text_get(char *to, const uint8_t *from, size_t len)
{
	memcpy(to, from, len);
	to[len] = 0;
}

void mad_dm_unit_get(struct mad_unit *unit, const struct io_unit_info *info)
{
	unit->change_id = get_be16(info->change_id);
	unit->max_controllers = info->max_controllers;
	memcpy(unit->list, info->list, sizeof(unit->list));
}

enum dm_slot mad_dm_unit_slot(const struct mad_unit *unit, unsigned slot)
{
	unsigned at = slot - 1;

	return at % 2 ? unit->list[at / 2] & 0xf : unit->list[at / 2] >> 4;
}

void mad_dm_ioc_get(struct mad_ioc *ioc, const struct ioc_profile *profile)
{
	ioc->known = true;
	ioc->guid = get_be64(profile->guid);
	ioc->vendor_id = get_be32(profile->vendor_id) >> 8;
	ioc->device_id = get_be32(profile->device_id);
	ioc->io_class = get_be16(profile->io_class);
	ioc->send_size = get_be32(profile->send_size);
	ioc->services = profile->services;
	text_get(ioc->id, profile->id, sizeof(profile->id));
}

void mad_dm_service_get(struct mad_service *service, const struct service_entry *entry)
{
	service->id = get_be64(entry->id);
	text_get(service->name, entry->name, sizeof(entry->name));
}

bool mad_notice_get(struct mad_notice *out, const struct notice *notice)
{
	static const uint8_t zero[16];

	*out = (struct mad_notice){ .trap = get_be16(notice->trap) };
	if (!(notice->generic_type & NOTICE_GENERIC))
		return false;
	switch (out->trap) {
	case MAD_TRAP_IN_SERVICE:
	case MAD_TRAP_OUT_OF_SERVICE: {
		const struct notice_gid *details = (const void *)notice->details;

		memcpy(out->gid, details->gid, sizeof(out->gid));
		return memcmp(out->gid, zero, sizeof(zero));
	}
	case MAD_TRAP_CAP_MASK: {
		const struct notice_caps *details = (const void *)notice->details;

		out->lid = get_be16(details->lid);
		out->cap_mask = get_be32(details->cap_mask);
		return mad_lid_valid(out->lid);
	}
	default:
		return false;
	}
}

/* OpenSM compares type and producer with those of the notice, so use the trap's. Unsubscribing
 * requires the queue pair. */
uint64_t mad_inform_put(struct inform_info *info, uint16_t trap, bool subscribe)
{
	bool of_port = trap == MAD_TRAP_CAP_MASK;

	*info = (struct inform_info){
		.lid_begin = put_be16(0xffff),
		.generic = 1,
		.subscribe = subscribe,
		.type = put_be16(of_port ? NOTICE_INFORMATIONAL : NOTICE_SUBNET_MANAGEMENT),
		.trap = put_be16(trap),
		.qpn_resp_time = put_be32(1 << 8 | INFORM_RESP_TIME),
		.producer = put_be32(of_port ? MAD_NODE_CA : NOTICE_BY_MANAGER),
	};
	return SA_INFORM_LID_BEGIN | SA_INFORM_GENERIC | SA_INFORM_SUBSCRIBE | SA_INFORM_TYPE |
	       SA_INFORM_TRAP | SA_INFORM_PRODUCER | (subscribe ? 0 : SA_INFORM_QPN);
}

const char *mad_sa_status_text(uint16_t status)
{
	switch (status) {
	case MAD_STATUS_BUSY:
		return "busy";
	case MAD_STATUS_REDIRECT:
		return "redirected to an unusable address";
	case 0x0004:
		return "unsupported version";
	case 0x0008:
		return "unsupported method";
	case 0x000c:
		return "unsupported attribute";
	case MAD_STATUS_FIELD:
		return "invalid field";
	case 0x0100:
		return "out of resources";
	case 0x0200:
		return "invalid request";
	case SA_STATUS_NO_RECORDS:
		return "no records";
	case SA_STATUS_TOO_MANY:
		return "too many records";
	case 0x0500:
		return "invalid GID";
	case 0x0600:
		return "insufficient components";
	case 0x0700:
		return "request denied";
	default:
		return "unknown status";
	}
}
