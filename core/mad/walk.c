/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Discover the fabric by directed routes: from our own port across every active link, each node
 * once, several links in parallel. scan.c queries what is behind the LIDs. */
#include "grow.h"
#include "xact.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCOUTS    32
#define NODES_MAX 65536 /* there are not more LIDs */
#define SMP_MS    100   /* agents answer immediately */

enum look { LOOK_PORT, LOOK_NODE, LOOK_END };

struct node { /* a switch, whose ports are visited one after the other */
	uint8_t ports, next, hops, hop[SMP_HOPS_MAX];
};

struct scout { /* one request in flight */
	struct walk *walk;
	struct mad_req req;
	enum look look;
	bool busy;
	uint8_t hops, hop[SMP_HOPS_MAX], link; /* link: becomes a hop once it is known to be up */
	uint64_t guid;
};

struct walk {
	struct mad *mad;
	struct mad_view *view;
	struct scout scout[SCOUTS];
	struct node *node;
	unsigned nodes, at, busy;
	uint64_t *seen; /* GUIDs seen, a hash table with open addressing */
	unsigned seens;
	int err, over;
	struct loop_timer deadline;
};
#define SEEN_ROOM (2 * NODES_MAX)

static void advance(struct walk *);
static void answered(struct mad_req *, const struct mad_answer *);

static void stop_walk(struct walk *walk, int err)
{
	walk->err = err;
	walk->over = 1;
}

/* False: the GUID was known already. */
static bool add_seen(struct walk *walk, uint64_t guid)
{
	unsigned at = (unsigned)((guid * 0x9e3779b97f4a7c15ull) >> 47) % SEEN_ROOM;

	for (; walk->seen[at]; at = (at + 1) % SEEN_ROOM)
		if (walk->seen[at] == guid)
			return false;
	if (!guid || walk->seens == NODES_MAX)
		return false;
	walk->seen[at] = guid;
	walk->seens++;
	return true;
}

static void send(struct scout *scout, enum look look, unsigned mod)
{
	scout->look = look;
	scout->req = (struct mad_req){
		.to = { .lid = 0xffff },
		.mgmt_class = MAD_CLASS_SMP_DR,
		.method = MAD_GET,
		.attr = look == LOOK_NODE ? SMP_NODE_INFO : SMP_PORT_INFO,
		.mod = mod,
		.hops = scout->hops,
		.hop = scout->hop,
		.first_ms = SMP_MS,
		.done = answered,
	};
	mad_send(scout->walk->mad, &scout->req);
}

static void rest(struct scout *scout)
{
	scout->busy = false;
	scout->walk->busy--;
	advance(scout->walk);
}

static void got_link(struct scout *scout, const struct port_info *info)
{
	if ((info->speed_state & 0xf) < PORT_INIT || scout->hops == SMP_HOPS_MAX) {
		rest(scout);
		return;
	}
	scout->hop[scout->hops++] = scout->link;
	send(scout, LOOK_NODE, 0);
}

static void add_switch(struct scout *scout, unsigned ports)
{
	struct walk *walk = scout->walk;
	struct node *node = grow(walk->node, walk->nodes);

	if (!node) {
		stop_walk(walk, -ENOMEM);
		return;
	}
	node->ports = (uint8_t)ports;
	node->next = 1;
	node->hops = scout->hops;
	memcpy(node->hop, scout->hop, sizeof(node->hop));
}

/* A node is identified by its GUID, an end port by its own: each port of an adapter counts. */
static void got_node(struct scout *scout, const struct node_info *info)
{
	struct walk *walk = scout->walk;
	bool is_switch = info->type == MAD_NODE_SWITCH;

	scout->guid = get_be64(info->port_guid);
	if (!add_seen(walk, is_switch ? get_be64(info->node_guid) : scout->guid)) {
		rest(scout);
		return;
	}
	walk->view->nodes++;
	if (is_switch)
		add_switch(scout, info->ports);
	if (!walk->over)
		send(scout, LOOK_END, is_switch ? 0 : info->local_port);
}

static void got_end(struct scout *scout, const struct port_info *info)
{
	struct walk *walk = scout->walk;
	struct mad_view *view = walk->view;
	struct mad_seen *seen = grow(view->port, view->count);

	if (!seen) {
		stop_walk(walk, -ENOMEM);
		return;
	}
	*seen = (struct mad_seen){
		.prefix = get_be64(info->gid_prefix),
		.guid = scout->guid,
		.lid = get_be16(info->lid),
		.state = info->speed_state & 0xf,
		.management = get_be32(info->cap_mask) & PORT_CAP_DM,
		.hops = scout->hops,
	};
	memcpy(seen->hop, scout->hop, sizeof(seen->hop));
	rest(scout);
}

static void answered(struct mad_req *req, const struct mad_answer *answer)
{
	struct scout *scout = container_of(req, struct scout, req);
	const void *data =
		answer->mad ? ((const struct smp_dr *)(const void *)answer->mad)->data : NULL;

	if (answer->err == -ENETDOWN) {
		stop_walk(scout->walk, answer->err);
	} else if (answer->err || answer->status) {
		scout->walk->view->silent++;
		rest(scout);
	} else if (scout->look == LOOK_PORT) {
		got_link(scout, data);
	} else if (scout->look == LOOK_NODE) {
		got_node(scout, data);
	} else {
		got_end(scout, data);
	}
}

/* Get the next unexplored link of a switch; false: none at the moment. */
static bool next_link(struct walk *walk, struct scout *scout)
{
	for (; walk->at < walk->nodes; walk->at++) {
		struct node *node = &walk->node[walk->at];

		if (node->next > node->ports || !node->next)
			continue;
		scout->link = node->next++; /* after port 255 it becomes 0 */
		scout->hops = node->hops;
		memcpy(scout->hop, node->hop, sizeof(scout->hop));
		return true;
	}
	return false;
}

static void advance(struct walk *walk)
{
	for (unsigned i = 0; i < SCOUTS && !walk->over; i++) {
		struct scout *scout = &walk->scout[i];

		if (scout->busy)
			continue;
		if (!next_link(walk, scout))
			break;
		scout->busy = true;
		walk->busy++;
		send(scout, LOOK_PORT, scout->link);
	}
	if (!walk->busy)
		walk->over = 1;
}

static void too_late(struct loop_timer *timer)
{
	stop_walk(container_of(timer, struct walk, deadline), -ETIMEDOUT);
}

/* Start with our own node and the peer of our own port. */
static void start_walk(struct walk *walk)
{
	for (unsigned i = 0; i < SCOUTS; i++)
		walk->scout[i].walk = walk;
	for (unsigned i = 0; i < 2; i++) {
		struct scout *scout = &walk->scout[i];

		scout->busy = true;
		walk->busy++;
		scout->hops = (uint8_t)i;
		scout->hop[0] = mad_port(walk->mad)->port;
		send(scout, LOOK_NODE, 0);
	}
}

static int run_walk(struct walk *walk, uint32_t timeout_ms)
{
	struct loop *loop = mad_loop(walk->mad);

	walk->deadline.fire = too_late;
	if (timeout_ms)
		loop_timer_set(loop, &walk->deadline, loop_clock() + timeout_ms * 1000000ull);
	loop_wait(loop, &walk->over, 0);
	loop_timer_del(loop, &walk->deadline);
	for (unsigned i = 0; i < SCOUTS; i++)
		mad_forget(walk->mad, &walk->scout[i].req);
	return walk->err;
}

static int failed(const struct mad_port_info *port, int err, struct diag *diag)
{
	if (err == -ETIMEDOUT)
		diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
			"timed out before the walk of the fabric ended");
	else
		diag_sys(diag, -err, "walk the fabric");
	return diag_ctx(diag, "%s port %u", port->dev, port->port);
}

int mad_walk(struct mad *mad, uint32_t timeout_ms, struct mad_view *view, struct diag *diag)
{
	struct walk *walk;
	int err = mad_class(mad, MAD_CLASS_SMP_DR, diag);

	*view = (struct mad_view){ 0 };
	if (err)
		return err;
	walk = calloc(1, sizeof(*walk));
	if (walk)
		walk->seen = calloc(SEEN_ROOM, sizeof(*walk->seen));
	if (!walk || !walk->seen) {
		free(walk);
		return diag_sys(diag, ENOMEM, "walk the fabric");
	}
	walk->mad = mad;
	walk->view = view;
	start_walk(walk);
	err = run_walk(walk, timeout_ms);
	free(walk->seen);
	free(walk->node);
	free(walk);
	if (!err)
		return 0;
	free(view->port);
	*view = (struct mad_view){ 0 };
	return failed(mad_port(mad), err, diag);
}

int mad_route_parse(struct mad_seen *seen, const char *text, struct diag *diag)
{
	const char *p = text;

	seen->hops = 0;
	for (unsigned i = 0;; i++) {
		char *end;
		unsigned long port = strtoul(p, &end, 10);

		if (end == p || *p < '0' || *p > '9' || port > UINT8_MAX || (i ? !port : port) ||
			(*end && *end != ','))
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"invalid route '%s': expected e.g. 0,1,3 (own port 1, then port 3 "
				"of the switch)",
				text);
		if (i > SMP_HOPS_MAX)
			return diag_set(diag, DIAG_USAGE, E2BIG, "route: must be at most %u hops",
				SMP_HOPS_MAX);
		if (i)
			seen->hop[seen->hops++] = (uint8_t)port;
		if (!*end)
			return 0;
		p = end + 1;
	}
}

struct glance {
	struct mad_req req;
	struct mad_answer answer;
	uint8_t data[64];
	int over;
};

static void glanced(struct mad_req *req, const struct mad_answer *answer)
{
	struct glance *glance = container_of(req, struct glance, req);

	glance->answer = *answer;
	if (answer->mad)
		memcpy(glance->data, ((const struct smp_dr *)(const void *)answer->mad)->data,
			sizeof(glance->data));
	glance->over = 1;
}

static int ask(struct mad *mad, struct glance *glance, const struct mad_seen *seen, uint16_t attr,
	unsigned mod, struct diag *diag)
{
	*glance = (struct glance){ 0 };
	glance->req = (struct mad_req){
		.to = { .lid = 0xffff },
		.mgmt_class = MAD_CLASS_SMP_DR,
		.method = MAD_GET,
		.attr = attr,
		.mod = mod,
		.hops = seen->hops,
		.hop = seen->hop,
		.first_ms = SMP_MS,
		.done = glanced,
	};
	mad_send(mad, &glance->req);
	loop_wait(mad_loop(mad), &glance->over, 0);
	if (glance->answer.err)
		return diag_set(diag, DIAG_UNREACHABLE, -glance->answer.err, "no answer: %s",
			diag_errno_text(-glance->answer.err));
	if (glance->answer.status)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "rejected by the node: status 0x%04x",
			glance->answer.status);
	return 0;
}

int mad_look(struct mad *mad, struct mad_seen *seen, struct diag *diag)
{
	const struct node_info *node;
	const struct port_info *port;
	struct glance glance;
	int err = mad_class(mad, MAD_CLASS_SMP_DR, diag);

	if (!err)
		err = ask(mad, &glance, seen, SMP_NODE_INFO, 0, diag);
	if (err)
		return err;
	node = (const void *)glance.data;
	seen->guid = get_be64(node->port_guid);
	err = ask(mad, &glance, seen, SMP_PORT_INFO,
		node->type == MAD_NODE_SWITCH ? 0 : node->local_port, diag);
	if (err)
		return err;
	port = (const void *)glance.data;
	seen->prefix = get_be64(port->gid_prefix);
	seen->lid = get_be16(port->lid);
	seen->state = port->speed_state & 0xf;
	seen->management = get_be32(port->cap_mask) & PORT_CAP_DM;
	return 0;
}
