// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A two-level fat tree: adapters on leaf switches, each leaf on every spine. Adapters come first,
// then leaves, then spines.
#include "sim.h"
#include <stdlib.h>

#define HCA_GUID    0x0002c90300000000ull
#define SWITCH_GUID 0x0002c90200000000ull
/* as adapters have it, without IsSM and device management */
#define CAP_HCA 0x0251486au & ~0x2u
#define CAP_SM  0x2u

uint64_t fabric_random(struct sim *sim)
{
	uint64_t z = sim->chance += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

bool fabric_chance(struct sim *sim, uint32_t per_mille)
{
	return per_mille && fabric_random(sim) % 1000 < per_mille;
}

uint32_t fabric_end_nodes(const struct sim *sim)
{
	return sim->shape.hosts + sim->shape.targets;
}

static void add_port(struct sim *sim, struct node *node, unsigned num)
{
	uint16_t lid = (uint16_t)(sim->ports + 1);
	struct port *port = &sim->port[sim->ports];

	port->guid = node->guid + num;
	port->node = (uint32_t)(node - sim->node);
	port->num = (uint8_t)num;
	port->lid = lid;
	port->state = PORT_ACTIVE;
	port->pkey[0] = 0xffff;
	port->cap = node->type == MAD_NODE_CA ? CAP_HCA : 0;
	port->iocs = port->services = 1;
	port->slots = 16;
	port->io_class = 0x0100;
	port->change_id = 1;
	if (node->kind == 'T')
		port->cap |= PORT_CAP_DM;
	port->cap_before = port->cap;
	sim->by_lid[lid] = sim->ports++;
}

static void add_node(struct sim *sim, char kind, unsigned number, unsigned ports, uint32_t *ends)
{
	struct node *node = &sim->node[sim->nodes];
	bool is_switch = kind == 'L' || kind == 'S';

	*node = (struct node){
		.guid = (is_switch ? SWITCH_GUID : HCA_GUID) + ((uint64_t)(sim->nodes + 1) << 12),
		.kind = kind,
		.number = number,
		.type = is_switch ? MAD_NODE_SWITCH : MAD_NODE_CA,
		.ports = (uint8_t)ports,
		.port = sim->ports,
		.end = *ends,
	};
	*ends += ports;
	sim->nodes++;
	for (unsigned i = 1; i <= (is_switch ? 1 : ports); i++)
		add_port(sim, node, is_switch ? 0 : i);
}

static void connect_ends(struct sim *sim, uint32_t a, unsigned a_port, uint32_t b, unsigned b_port)
{
	sim->end[sim->node[a].end + a_port - 1] = (struct end){ b, (uint8_t)b_port };
	sim->end[sim->node[b].end + b_port - 1] = (struct end){ a, (uint8_t)a_port };
}

/* The second ports of adapters are on other leaves than the first. */
static void connect_all(struct sim *sim, unsigned leaves)
{
	const struct sim_shape *shape = &sim->shape;
	uint32_t adapters = fabric_end_nodes(sim), spine = adapters + leaves;

	for (uint32_t i = 0; i < adapters; i++)
		for (unsigned p = 1; p <= shape->ports; p++) {
			uint32_t at = (p - 1) * adapters + i;

			connect_ends(sim, i, p, adapters + at / shape->down, at % shape->down + 1);
		}
	for (unsigned l = 0; l < leaves; l++)
		for (unsigned s = 0; s < shape->up; s++)
			connect_ends(sim, adapters + l, shape->down + 1 + s, spine + s, l + 1);
}

int fabric_build(struct sim *sim)
{
	const struct sim_shape *shape = &sim->shape;
	uint32_t adapters = fabric_end_nodes(sim), ends = 0;
	unsigned leaves = (adapters * shape->ports + shape->down - 1) / shape->down;
	size_t all_ends = (size_t)adapters * shape->ports +
			  (size_t)leaves * (shape->down + shape->up) + (size_t)shape->up * leaves;

	if (!adapters || leaves > 254 || shape->down + shape->up > 254 ||
		adapters * shape->ports + leaves + shape->up > MAD_LID_MAX)
		return -1;
	sim->node = calloc(adapters + leaves + shape->up, sizeof(*sim->node));
	sim->port = calloc(adapters * shape->ports + leaves + shape->up, sizeof(*sim->port));
	sim->end = malloc(all_ends * sizeof(*sim->end));
	if (!sim->node || !sim->port || !sim->end)
		return -1;
	for (size_t i = 0; i < all_ends; i++)
		sim->end[i].node = NO_INDEX;
	memset(sim->by_lid, 0xff, sizeof(sim->by_lid));
	for (uint32_t i = 0; i < adapters; i++)
		add_node(sim, i < shape->hosts ? 'H' : 'T', i < shape->hosts ? i : i - shape->hosts,
			shape->ports, &ends);
	for (unsigned i = 0; i < leaves; i++)
		add_node(sim, 'L', i, shape->down + shape->up, &ends);
	for (unsigned i = 0; i < shape->up; i++)
		add_node(sim, 'S', i, leaves, &ends);
	connect_all(sim, leaves);
	sim->chance = shape->seed;
	sim->sm = 0;
	sim->sa.match = true;
	return 0;
}

static bool is_down(const struct sim *sim, const struct node *node, unsigned port)
{
	return node->type == MAD_NODE_CA && sim->port[node->port + port - 1].gone;
}

struct end *fabric_end(const struct sim *sim, const struct node *node, unsigned port)
{
	struct end *end = port && port <= node->ports ? &sim->end[node->end + port - 1] : NULL;

	if (!end || end->node == NO_INDEX || is_down(sim, node, port) ||
		is_down(sim, &sim->node[end->node], end->port))
		return NULL;
	return end;
}

uint32_t fabric_node(const struct sim *sim, const char *name, size_t len)
{
	uint32_t number = 0, adapters = fabric_end_nodes(sim);

	if (len < 2 || len > 9 || (*name != 'H' && *name != 'T'))
		return NO_INDEX;
	for (size_t i = 1; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return NO_INDEX;
		number = number * 10 + (uint32_t)(name[i] - '0');
	}
	if (*name == 'H')
		return number < sim->shape.hosts ? number : NO_INDEX;
	number += sim->shape.hosts;
	return number < adapters ? number : NO_INDEX;
}

struct port *fabric_port(const struct sim *sim, uint16_t lid)
{
	uint32_t at = lid ? sim->by_lid[lid] : NO_INDEX;

	return at == NO_INDEX || sim->port[at].gone ? NULL : &sim->port[at];
}

struct port *fabric_port_of_gid(const struct sim *sim, const uint8_t gid[16])
{
	uint64_t guid = wire_be(gid + 8, 8);

	if (wire_be(gid, 8) != sim->shape.prefix)
		return NULL;
	for (uint32_t i = 0; i < sim->ports; i++)
		if (sim->port[i].guid == guid)
			return sim->port[i].gone ? NULL : &sim->port[i];
	return NULL;
}

void fabric_set_lid(struct sim *sim, struct port *port, uint16_t lid)
{
	sim->by_lid[port->lid] = NO_INDEX;
	port->lid = lid;
	sim->by_lid[lid] = (uint32_t)(port - sim->port);
}

bool fabric_is_sm(const struct sim *sim, const struct port *port)
{
	return sim->sm != NO_INDEX && port == &sim->port[sim->sm];
}

uint16_t fabric_partition(const struct port *a, const struct port *b, uint16_t pkey)
{
	for (unsigned i = 0; i < PKEYS; i++)
		for (unsigned k = 0; k < PKEYS; k++) {
			uint16_t one = a->pkey[i], other = b->pkey[k];

			if ((one & 0x7fff) && (one & 0x7fff) == (other & 0x7fff) &&
				((one | other) & 0x8000) &&
				(!pkey || (pkey & 0x7fff) == (one & 0x7fff)))
				return pkey ? pkey : one;
		}
	return 0;
}

uint32_t fabric_cap_known(const struct sim *sim, const struct port *port)
{
	uint32_t cap = sim->now < port->stale_ns ? port->cap_before : port->cap;

	return fabric_is_sm(sim, port) ? cap | CAP_SM : cap;
}

void fabric_gid(const struct sim *sim, const struct port *port, uint8_t gid[16])
{
	wire_put_be(gid, 8, sim->shape.prefix);
	wire_put_be(gid + 8, 8, port->guid);
}

void fabric_node_info(const struct node *node, const struct port *port, unsigned local_port,
	struct node_info *info)
{
	*info = (struct node_info){
		.base_version = 1,
		.class_version = 1,
		.type = node->type,
		.ports = node->ports,
		.system_guid = put_be64(node->guid),
		.node_guid = put_be64(node->guid),
		.port_guid = put_be64(port->guid),
		.partition_cap = put_be16(PKEYS),
		.device_id = put_be16(0x1003),
		.local_port = (uint8_t)local_port,
		.vendor_id = put_be24(0x0002c9),
	};
}

/* Those without a LID of their own, of switches, have little to tell. */
void fabric_port_info(
	const struct sim *sim, const struct node *node, unsigned num, struct port_info *info)
{
	bool is_switch = node->type == MAD_NODE_SWITCH;
	const struct port *port = &sim->port[node->port + (is_switch ? 0 : num - 1)];
	bool up = is_switch ? !num || fabric_end(sim, node, num) : !port->gone;
	uint8_t *raw = (uint8_t *)info;

	*info = (struct port_info){
		.lid = put_be16(is_switch && num ? 0 : port->lid),
		.sm_lid = put_be16(is_switch && num      ? 0
				   : sim->sm == NO_INDEX ? 0
							 : sim->port[sim->sm].lid),
		.local_port = (uint8_t)num,
		.width_enabled = 3,
		.width_supported = 3,
		.width_active = 2, /* 4x */
		.speed_state = (uint8_t)(0x10 | (!up                ? PORT_DOWN
							: is_switch ? PORT_ACTIVE
								    : port->state)),
		.phys_down = up ? 0x52 : 0x22,
		.subnet_timeout = 18,
		.resp_time = 16,
	};
	if (!is_switch || !num) {
		info->gid_prefix = put_be64(sim->shape.prefix);
		info->cap_mask = put_be32(fabric_is_sm(sim, port) ? port->cap | CAP_SM : port->cap);
	}
	raw[35] = 0x11; /* speeds active, enabled */
	raw[36] = 0x40; /* neighbour's MTU 2048, SL 0 to the subnet manager */
	raw[41] = 0x04;
	raw[50] = is_switch && num ? 0 : 1; /* GUIDs */
}

void fabric_description(const struct node *node, uint8_t text[64])
{
	memset(text, 0, 64);
	snprintf((char *)text, 64, "%c%u simulated", node->kind, node->number);
}
