// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Records of the subnet administrator, and which of them a request matches. Component masks are
// supported where a client uses them.
#include "sim.h"
#include <stdlib.h>

/* 15.2.5.2 */
enum { NR_LID = 1 << 0, NR_TYPE = 1 << 4, NR_NODE_GUID = 1 << 7, NR_PORT_GUID = 1 << 8 };
enum { SR_ID = 1 << 0, SR_GID = 1 << 1, SR_PKEY = 1 << 2, SR_NAME = 1 << 6 }; /* 15.2.5.14 */

void sa_add(struct sa_records *found, const void *record, size_t len)
{
	found->each = (len + 7) & ~(size_t)7;
	if (found->len + found->each > found->room) {
		size_t room = found->room ? found->room * 2 : 4096;
		uint8_t *data = realloc(found->data, room);

		if (!data)
			return;
		found->data = data;
		found->room = room;
	}
	memset(found->data + found->len, 0, found->each);
	memcpy(found->data + found->len, record, len);
	found->len += found->each;
	found->count++;
}

static bool port_matches(const struct sim *sim, const struct sa_hdr *hdr,
	const struct port_info_record *asked, const struct port_info_record *have)
{
	uint64_t mask = get_be64(hdr->mask);
	uint32_t cap = get_be32(have->info.cap_mask), bits = get_be32(asked->info.cap_mask);
	bool some = get_be32(hdr->mad.mod) & SA_PIR_MATCH && sim->sa.match;

	return !((mask & SA_PIR_LID && get_be16(have->lid) != get_be16(asked->lid)) ||
		 (mask & SA_PIR_PORT && have->port != asked->port) ||
		 (mask & SA_PIR_CAP_MASK && (some ? (cap & bits) != bits : cap != bits)));
}

/* A client sees only ports that share a partition with its own, as with OpenSM. */
static bool visible(const struct sim *sim, const struct client *client, const struct port *port)
{
	return !port->gone &&
	       (sim->sa.tells_all ||
		       fabric_partition(&sim->port[net_node(sim, client)->port], port, 0));
}

static void select_ports(struct sim *sim, const struct client *client, const struct sa_hdr *hdr,
	const void *asked, struct sa_records *found)
{
	for (uint32_t i = 0; i < sim->nodes; i++) {
		const struct node *node = &sim->node[i];
		bool is_switch = node->type == MAD_NODE_SWITCH;

		for (unsigned num = is_switch ? 0 : 1; num <= node->ports; num++) {
			const struct port *port =
				&sim->port[node->port + (is_switch ? 0 : num - 1)];
			struct port_info_record record = { .lid = put_be16(port->lid),
				.port = (uint8_t)num };

			if (!visible(sim, client, port))
				continue;
			fabric_port_info(sim, node, num, &record.info);
			if (!is_switch || !num)
				record.info.cap_mask = put_be32(fabric_cap_known(sim, port));
			if (port_matches(sim, hdr, asked, &record))
				sa_add(found, &record, sizeof(record));
		}
	}
}

static bool node_matches(
	uint64_t mask, const struct node_record *asked, const struct node_record *have)
{
	return !((mask & NR_LID && get_be16(have->lid) != get_be16(asked->lid)) ||
		 (mask & NR_TYPE && have->info.type != asked->info.type) ||
		 (mask & NR_NODE_GUID &&
			 get_be64(have->info.node_guid) != get_be64(asked->info.node_guid)) ||
		 (mask & NR_PORT_GUID &&
			 get_be64(have->info.port_guid) != get_be64(asked->info.port_guid)));
}

/* One for each port with a LID. */
static void select_nodes(struct sim *sim, const struct client *client, const struct sa_hdr *hdr,
	const void *asked, struct sa_records *found)
{
	for (uint32_t i = 0; i < sim->ports; i++) {
		const struct port *port = &sim->port[i];
		const struct node *node = &sim->node[port->node];
		struct node_record record = { .lid = put_be16(port->lid) };

		if (!visible(sim, client, port))
			continue;
		fabric_node_info(node, port, port->num, &record.info);
		fabric_description(node, record.description);
		if (node_matches(get_be64(hdr->mask), asked, &record))
			sa_add(found, &record, sizeof(record));
	}
}

static void add_path(struct sim *sim, const struct port *from, const struct port *to, uint16_t pkey,
	struct sa_records *found)
{
	struct path_record path = {
		.dlid = put_be16(to->lid),
		.slid = put_be16(from->lid),
		.flow_hop = put_be32(0),
		.numb_path = 0x80 | 1,
		.pkey = put_be16(fabric_partition(from, to, pkey)),
		.mtu = 0x84,
		.rate = 0x83,
		.life = 0x92,
	};

	if (!get_be16(path.pkey))
		return;
	fabric_gid(sim, to, path.dgid);
	fabric_gid(sim, from, path.sgid);
	sa_add(found, &path, sizeof(path));
}

static void select_paths(struct sim *sim, const struct client *client, const struct sa_hdr *hdr,
	const struct path_record *asked, struct sa_records *found)
{
	uint64_t mask = get_be64(hdr->mask);
	uint16_t pkey = mask & SA_PATH_PKEY ? get_be16(asked->pkey) : 0;
	const struct port *from = &sim->port[net_node(sim, client)->port], *to = NULL;

	if (mask & SA_PATH_SGID)
		from = fabric_port_of_gid(sim, asked->sgid);
	else if (mask & SA_PATH_SLID)
		from = fabric_port(sim, get_be16(asked->slid));
	if (mask & SA_PATH_DGID)
		to = fabric_port_of_gid(sim, asked->dgid);
	else if (mask & SA_PATH_DLID)
		to = fabric_port(sim, get_be16(asked->dlid));
	if (from && to)
		add_path(sim, from, to, pkey, found);
	for (uint32_t i = 0; from && !(mask & (SA_PATH_DGID | SA_PATH_DLID)) && i < sim->ports; i++)
		if (!sim->port[i].gone)
			add_path(sim, from, &sim->port[i], pkey, found);
}

static void select_services(struct sim *sim, const struct sa_hdr *hdr,
	const struct sim_service *asked, struct sa_records *found)
{
	uint64_t mask = get_be64(hdr->mask);

	for (unsigned i = 0; i < sim->services; i++) {
		const struct sim_service *have = &sim->service[i];

		if ((mask & SR_ID && get_be64(have->id) != get_be64(asked->id)) ||
			(mask & SR_GID && memcmp(have->gid, asked->gid, 16)) ||
			(mask & SR_PKEY && get_be16(have->pkey) != get_be16(asked->pkey)) ||
			(mask & SR_NAME && memcmp(have->name, asked->name, 64)))
			continue;
		sa_add(found, have, sizeof(*have));
	}
}

bool sa_select(struct sim *sim, const struct client *client, const struct sa_hdr *hdr,
	const uint8_t *data, struct sa_records *found)
{
	const void *asked = data;

	switch (get_be16(hdr->mad.attr)) {
	case SA_NODE_RECORD:
		select_nodes(sim, client, hdr, asked, found);
		return true;
	case SA_PORT_INFO_RECORD:
		select_ports(sim, client, hdr, asked, found);
		return true;
	case SA_PATH_RECORD:
		select_paths(sim, client, hdr, asked, found);
		return true;
	case ATTR_SERVICE_RECORD:
		select_services(sim, hdr, asked, found);
		return true;
	default:
		return false;
	}
}
