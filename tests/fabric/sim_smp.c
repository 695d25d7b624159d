// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Subnet management agents of all nodes, by LID and by directed route: they tell, and let nothing
// be set.
#include "sim.h"

struct place {
	const struct node *node;
	unsigned in; /* the port the request came by; 0 of a switch asked by LID */
};

/* Follow the directed route, hop by hop. False: it ends at no node. */
static bool follow(
	const struct sim *sim, const struct client *client, struct smp_dr *smp, struct place *place)
{
	unsigned hops = get_be16(smp->mad.class_specific) & 0xff;

	*place = (struct place){ .node = net_node(sim, client), .in = 1 };
	if (hops > SMP_HOPS_MAX)
		return false;
	for (unsigned i = 1; i <= hops; i++) {
		const struct end *end = fabric_end(sim, place->node, smp->out[i]);

		if (!end || (i > 1 && place->node->type == MAD_NODE_CA))
			return false;
		smp->back[i] = end->port;
		*place = (struct place){ .node = &sim->node[end->node], .in = end->port };
	}
	return true;
}

static const struct port *port_of(const struct sim *sim, const struct place *place)
{
	return &sim->port[place->node->port +
			  (place->node->type == MAD_NODE_SWITCH ? 0 : place->in - 1)];
}

static void put_pkeys(const struct port *port, unsigned block, uint8_t data[64])
{
	for (unsigned i = 0; !block && i < PKEYS; i++)
		wire_put_be(data + 2 * i, 2, port->pkey[i]);
}

static uint16_t tell(const struct sim *sim, const struct place *place, uint16_t attr, uint32_t mod,
	uint8_t data[64])
{
	const struct node *node = place->node;
	bool is_switch = node->type == MAD_NODE_SWITCH;
	const struct port *port = port_of(sim, place);
	unsigned num = mod & 0xff ? mod & 0xff : is_switch ? 0 : place->in;

	memset(data, 0, 64);
	switch (attr) {
	case ATTR_NODE_DESCRIPTION:
		fabric_description(node, data);
		return 0;
	case SMP_NODE_INFO:
		fabric_node_info(node, port, place->in, (struct node_info *)data);
		return 0;
	case SMP_PORT_INFO:
		if (num > node->ports)
			return MAD_STATUS_FIELD;
		fabric_port_info(sim, node, num, (struct port_info *)data);
		((struct port_info *)data)->local_port = (uint8_t)place->in;
		return 0;
	case ATTR_SWITCH_INFO:
		if (!is_switch)
			return STATUS_UNSUPPORTED;
		wire_put_be(data, 2, MAD_LID_MAX); /* linear forwarding table */
		return 0;
	case ATTR_GUID_INFO:
		if (!mod)
			wire_put_be(data, 8, port->guid);
		return 0;
	case ATTR_PKEY_TABLE:
		put_pkeys(port, mod & 0xffff, data);
		return 0;
	default:
		return STATUS_UNSUPPORTED;
	}
}

static bool reach(struct sim *sim, const struct client *client, const struct sim_packet *req,
	struct smp_dr *smp, struct place *place)
{
	const struct port *port;

	if (smp->mad.mgmt_class == MAD_CLASS_SMP_DR)
		return follow(sim, client, smp, place);
	port = fabric_port(sim, net_lid(req));
	if (!port)
		return false;
	*place = (struct place){ .node = &sim->node[port->node], .in = port->num };
	return true;
}

void smp_ask(struct sim *sim, struct client *client, const struct sim_packet *req)
{
	struct smp_dr smp;
	struct place place;
	uint16_t status;

	memcpy(&smp, req->mad, sizeof(smp));
	if (smp.mad.method != MAD_GET && smp.mad.method != MAD_SET)
		return;
	if (!reach(sim, client, req, &smp, &place) || port_of(sim, &place)->mute) {
		sim->count.unheard++;
		return;
	}
	status = STATUS_UNSUPPORTED;
	if (smp.mad.method == MAD_GET)
		status = tell(sim, &place, get_be16(smp.mad.attr), get_be32(smp.mad.mod), smp.data);
	smp.mad.method = MAD_GET | MAD_RESPONSE;
	if (smp.mad.mgmt_class == MAD_CLASS_SMP_DR) {
		status |= MAD_STATUS_DR_D;
		smp.mad.class_specific = put_be16(get_be16(smp.mad.class_specific) & 0xff);
	}
	smp.mad.status = put_be16(status);
	sim->count.smp++;
	net_answer(sim, client, req, &smp, 0);
}
