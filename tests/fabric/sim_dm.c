// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Device management of all ports that have it: I/O units as of SRP targets, and the
// defects that the description asks for.
#include "sim.h"

#define SECOND_ANSWER_MS 300 /* of an answer that comes twice */

static uint64_t ioc_guid(const struct port *port, unsigned slot)
{
	return port->guid + ((uint64_t)slot << 4);
}

static bool present(const struct port *port, unsigned slot)
{
	return slot && slot <= port->iocs;
}

static void put_unit(struct port *port, struct io_unit_info *info)
{
	unsigned slots = port->lie == LIE_IOCS ? 255 : port->slots;

	if (port->lie == LIE_CHANGES)
		port->change_id++;
	*info = (struct io_unit_info){ .change_id = put_be16(port->change_id),
		.max_controllers = (uint8_t)slots };
	for (unsigned slot = 1; slot <= 256; slot++) {
		uint8_t what = slot > slots                                   ? DM_SLOT_NONE
			       : present(port, slot) || port->lie == LIE_IOCS ? DM_SLOT_PRESENT
									      : DM_SLOT_EMPTY;

		info->list[(slot - 1) / 2] |= (uint8_t)(slot % 2 ? what << 4 : what);
	}
}

static void put_text(uint8_t *to, size_t room, const char *text)
{
	size_t len = strlen(text);

	memcpy(to, text, len < room ? len : room);
}

static uint16_t put_profile(
	const struct sim *sim, const struct port *port, unsigned slot, struct ioc_profile *profile)
{
	const struct node *node = &sim->node[port->node];
	char text[64];

	if (!present(port, slot))
		return MAD_STATUS_FIELD;
	*profile = (struct ioc_profile){
		.guid = put_be64(ioc_guid(port, slot)),
		.vendor_id = put_be32(0x0002c900),
		.device_id = put_be32(0x5a44),
		.device_version = put_be16(1),
		.subsys_vendor_id = put_be32(0x0002c900),
		.subsys_id = put_be32(0x5a44),
		.io_class = put_be16(port->io_class),
		.io_subclass = put_be16(0x609e),
		.protocol = put_be16(0x0108),
		.protocol_version = put_be16(1),
		.send_depth = put_be16(128),
		.send_size = put_be32(2052),
		.rdma_size = put_be32(65536),
		.operations = 0x51,
		.services = port->lie == LIE_SERVICES ? 255 : port->services,
	};
	snprintf(text, sizeof(text), "%c%u port %u controller %u", node->kind, node->number,
		port->num, slot);
	put_text(profile->id, sizeof(profile->id), port->id ? port->id : text);
	if (port->lie == LIE_TEXT)
		memset(profile->id, 'A', sizeof(profile->id));
	return 0;
}

static uint16_t put_services(const struct port *port, uint32_t mod, struct service_entry *entry)
{
	unsigned slot = mod >> 16, last = mod >> 8 & 0xff, first = mod & 0xff;
	char name[64];

	if (!present(port, slot) || last < first || last - first >= DM_SERVICES_EACH ||
		last >= port->services)
		return MAD_STATUS_FIELD;
	for (unsigned i = first; i <= last; i++, entry++) {
		uint64_t id = ioc_guid(port, slot) + ((uint64_t)i << 48);

		if (port->ext)
			snprintf(name, sizeof(name), "SRP.T10:%s", port->ext);
		else
			snprintf(name, sizeof(name), "SRP.T10:%016llX", (unsigned long long)id);
		put_text(entry->name, sizeof(entry->name), name);
		if (port->lie == LIE_TEXT)
			memset(entry->name + 8, 'A', sizeof(entry->name) - 8);
		entry->id = put_be64(id);
	}
	return 0;
}

static uint16_t tell(
	struct sim *sim, struct port *port, uint16_t attr, uint32_t mod, uint8_t data[DM_DATA_LEN])
{
	switch (attr) {
	case MAD_CLASS_PORT_INFO:
		*(struct class_port_info *)data =
			(struct class_port_info){ 1, 1, .cap_mask2_resp_time = put_be32(18) };
		return 0;
	case DM_IO_UNIT_INFO:
		put_unit(port, (struct io_unit_info *)data);
		return 0;
	case DM_IOC_PROFILE:
		return put_profile(sim, port, mod, (struct ioc_profile *)data);
	case DM_SERVICE_ENTRIES:
		return put_services(port, mod, (struct service_entry *)data);
	default:
		return STATUS_UNSUPPORTED;
	}
}

static uint16_t answer(
	struct sim *sim, struct port *port, const struct mad_hdr *hdr, uint8_t data[DM_DATA_LEN])
{
	bool has = port->cap & PORT_CAP_DM,
	     set = hdr->method == MAD_SET && get_be16(hdr->attr) == MAD_CLASS_PORT_INFO;

	if (!has || (hdr->method != MAD_GET && !set))
		return STATUS_UNSUPPORTED; /* as a kernel without an agent of this class answers */
	if (port->lie == LIE_BUSY)
		return MAD_STATUS_BUSY;
	if (port->lie == LIE_STATUS)
		return MAD_STATUS_FIELD;
	if (set)
		return 0;
	memset(data, 0, DM_DATA_LEN);
	if (port->lie != LIE_NOISE)
		return tell(sim, port, get_be16(hdr->attr), get_be32(hdr->mod), data);
	for (size_t i = 0; i < DM_DATA_LEN; i++)
		data[i] = (uint8_t)fabric_random(sim);
	return 0;
}

void dm_ask(struct sim *sim, struct client *client, const struct sim_packet *req)
{
	struct port *port = fabric_port(sim, net_lid(req));
	uint8_t mad[MAD_LEN];
	struct mad_hdr *hdr = (void *)mad;

	memcpy(mad, req->mad, sizeof(mad));
	if (!port || port->mute || port->dead) {
		sim->count.unheard++;
		return;
	}
	hdr->status = put_be16(answer(sim, port, hdr, mad + sizeof(struct dm_hdr)));
	hdr->method = MAD_GET | MAD_RESPONSE;
	if (port->lie == LIE_TID)
		hdr->tid.b[7] ^= 0x55;
	sim->count.dm++;
	net_answer(sim, client, req, mad, port->slow_ms);
	if (port->lie == LIE_TWICE)
		net_answer(sim, client, req, mad, SECOND_ANSWER_MS);
}
