/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Decoding attributes; layouts are in wire/mad.h. */
#include "codec.h"

bool lid_valid(unsigned lid)
{
	return lid >= MAD_LID_MIN && lid <= MAD_LID_MAX;
}

bool sa_table_get(struct sa_table *table, const void *mad, size_t len, size_t least)
{
	const struct sa_hdr *hdr = mad;
	bool many = hdr->mad.method == (MAD_GET_TABLE | MAD_RESPONSE);

	*table = (struct sa_table){ .at = (const uint8_t *)mad + sizeof(*hdr) };
	if (len < sizeof(*hdr))
		return false;
	if (!many) {
		table->each = least;
		table->count = 1;
		return len - sizeof(*hdr) >= least;
	}
	/* Of an empty table the distance may be 0; 15.2.1.1 */
	table->each = (size_t)get_be16(hdr->attr_offset) * 8;
	if (!table->each)
		return true;
	table->count = (len - sizeof(*hdr)) / table->each;
	return table->each >= least;
}

/* 4.096 us * 2^n in milliseconds. */
static uint32_t time_ms(unsigned n)
{
	return (uint32_t)((4096ull << (n & 31)) / 1000000);
}

void port_get(struct sa_port *port, const struct port_info *info)
{
	port->lid = get_be16(info->lid);
	port->prefix = get_be64(info->gid_prefix);
	port->management = get_be32(info->cap_mask) & PORT_CAP_DM;
	port->first_ms = time_ms(info->subnet_timeout) + time_ms(info->resp_time);
}

bool sa_port_get(struct sa_port *port, const struct port_info_record *record)
{
	port_get(port, &record->info);
	port->lid = get_be16(record->lid);
	return lid_valid(port->lid);
}

bool sa_node_get(struct sa_node *node, const struct node_record *record)
{
	node->lid = get_be16(record->lid);
	node->guid = get_be64(record->info.port_guid);
	return lid_valid(node->lid);
}

bool sa_path_get(struct sa_path *path, const struct path_record *record)
{
	path->lid = get_be16(record->dlid);
	path->pkey = get_be16(record->pkey);
	path->sl = get_be16(record->qos_sl) & 0xf;
	return lid_valid(path->lid);
}

static void text_get(char *to, const uint8_t *from, size_t len)
{
	memcpy(to, from, len);
	to[len] = 0;
}

void dm_unit_get(struct mad_unit *unit, const struct io_unit_info *info)
{
	unit->change_id = get_be16(info->change_id);
	unit->max_controllers = info->max_controllers;
	memcpy(unit->list, info->list, sizeof(unit->list));
}

enum dm_slot dm_unit_slot(const struct mad_unit *unit, unsigned slot)
{
	unsigned at = slot - 1;

	return at % 2 ? unit->list[at / 2] & 0xf : unit->list[at / 2] >> 4;
}

void dm_ioc_get(struct mad_ioc *ioc, const struct ioc_profile *profile)
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

void dm_service_get(struct mad_service *service, const struct service_entry *entry)
{
	service->id = get_be64(entry->id);
	text_get(service->name, entry->name, sizeof(entry->name));
}
