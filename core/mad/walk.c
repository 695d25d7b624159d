/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Discover the fabric by directed routes: from our own port across every active link, each node
 * once, several links in parallel. scan.c queries what is behind the LIDs. */
#include "walk.h"
#include "grow.h"
#include "xact.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBES    32
#define NODES_MAX 65536 /* there are not more LIDs */
#define SMP_MS    100   /* agents answer immediately */

enum query { QUERY_LINK, QUERY_NODE, QUERY_END_PORT };

struct node { /* a switch, whose ports are visited one after the other */
	uint8_t ports, next, hops, hop[SMP_HOPS_MAX];
};

struct probe { /* one request in flight */
	struct walk *walk;
	struct mad_req req;
	enum query query;
	bool busy;
	uint8_t hops, hop[SMP_HOPS_MAX], link; /* link: becomes a hop once it is known to be up */
	uint64_t guid;
};

struct walk {
	struct mad *mad;
	struct mad_topology *view;
	struct probe probe[PROBES];
	struct node *node;
	unsigned nodes, at, busy;
	uint64_t *seen; /* GUIDs seen, a hash table with open addressing */
	unsigned seens;
	int err, finished;
	struct loop_timer deadline;
};
#define SEEN_ROOM (2 * NODES_MAX)

static void advance(struct walk *);
static void answered(struct mad_req *, const struct mad_answer *);

static void stop_walk(struct walk *walk, int err)
{
	walk->err = err;
	walk->finished = 1;
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

static void send(struct probe *probe, enum query query, unsigned mod)
{
	probe->query = query;
	probe->req = (struct mad_req){
		.to = { .lid = 0xffff },
		.mgmt_class = MAD_CLASS_SMP_DR,
		.method = MAD_GET,
		.attr = query == QUERY_NODE ? SMP_NODE_INFO : SMP_PORT_INFO,
		.mod = mod,
		.hops = probe->hops,
		.hop = probe->hop,
		.first_ms = SMP_MS,
		.done = answered,
	};
	mad_send(probe->walk->mad, &probe->req);
}

static void finish_probe(struct probe *probe)
{
	probe->busy = false;
	probe->walk->busy--;
	advance(probe->walk);
}

static void got_link(struct probe *probe, const struct port_info *info)
{
	if ((info->speed_state & 0xf) < PORT_INIT || probe->hops == SMP_HOPS_MAX) {
		finish_probe(probe);
		return;
	}
	probe->hop[probe->hops++] = probe->link;
	send(probe, QUERY_NODE, 0);
}

static void add_switch(struct probe *probe, unsigned ports)
{
	struct walk *walk = probe->walk;
	struct node *node = grow(walk->node, walk->nodes);

	if (!node) {
		stop_walk(walk, -ENOMEM);
		return;
	}
	node->ports = (uint8_t)ports;
	node->next = 1;
	node->hops = probe->hops;
	memcpy(node->hop, probe->hop, sizeof(node->hop));
}

/* A node is identified by its GUID, an end port by its own: each port of an adapter counts. */
static void got_node(struct probe *probe, const struct node_info *info)
{
	struct walk *walk = probe->walk;
	bool is_switch = info->type == MAD_NODE_SWITCH;

	probe->guid = get_be64(info->port_guid);
	if (!add_seen(walk, is_switch ? get_be64(info->node_guid) : probe->guid)) {
		finish_probe(probe);
		return;
	}
	walk->view->nodes++;
	if (is_switch)
		add_switch(probe, info->ports);
	if (!walk->finished)
		send(probe, QUERY_END_PORT, is_switch ? 0 : info->local_port);
}

static void got_end(struct probe *probe, const struct port_info *info)
{
	struct walk *walk = probe->walk;
	struct mad_topology *view = walk->view;
	struct mad_end_port *seen = grow(view->port, view->count);

	if (!seen) {
		stop_walk(walk, -ENOMEM);
		return;
	}
	*seen = (struct mad_end_port){
		.prefix = get_be64(info->gid_prefix),
		.guid = probe->guid,
		.lid = get_be16(info->lid),
		.state = info->speed_state & 0xf,
		.management = get_be32(info->cap_mask) & PORT_CAP_DM,
		.hops = probe->hops,
	};
	memcpy(seen->hop, probe->hop, sizeof(seen->hop));
	finish_probe(probe);
}

static void answered(struct mad_req *req, const struct mad_answer *answer)
{
	struct probe *probe = container_of(req, struct probe, req);
	const void *data =
		answer->mad ? ((const struct smp_dr *)(const void *)answer->mad)->data : NULL;

	if (answer->err == -ENETDOWN) {
		stop_walk(probe->walk, answer->err);
	} else if (answer->err || answer->status) {
		probe->walk->view->silent++;
		finish_probe(probe);
	} else if (probe->query == QUERY_LINK) {
		got_link(probe, data);
	} else if (probe->query == QUERY_NODE) {
		got_node(probe, data);
	} else {
		got_end(probe, data);
	}
}

/* Get the next unexplored link of a switch; false: none at the moment. */
static bool next_link(struct walk *walk, struct probe *probe)
{
	for (; walk->at < walk->nodes; walk->at++) {
		struct node *node = &walk->node[walk->at];

		if (node->next > node->ports || !node->next)
			continue;
		probe->link = node->next++; /* after port 255 it becomes 0 */
		probe->hops = node->hops;
		memcpy(probe->hop, node->hop, sizeof(probe->hop));
		return true;
	}
	return false;
}

static void advance(struct walk *walk)
{
	for (unsigned i = 0; i < PROBES && !walk->finished; i++) {
		struct probe *probe = &walk->probe[i];

		if (probe->busy)
			continue;
		if (!next_link(walk, probe))
			break;
		probe->busy = true;
		walk->busy++;
		send(probe, QUERY_LINK, probe->link);
	}
	if (!walk->busy)
		walk->finished = 1;
}

static void deadline_passed(struct loop_timer *timer)
{
	stop_walk(container_of(timer, struct walk, deadline), -ETIMEDOUT);
}

/* Start with our own node and the peer of our own port. */
static void start_walk(struct walk *walk)
{
	for (unsigned i = 0; i < PROBES; i++)
		walk->probe[i].walk = walk;
	for (unsigned i = 0; i < 2; i++) {
		struct probe *probe = &walk->probe[i];

		probe->busy = true;
		walk->busy++;
		probe->hops = (uint8_t)i;
		probe->hop[0] = mad_port(walk->mad)->port;
		send(probe, QUERY_NODE, 0);
	}
}

static int run_walk(struct walk *walk, uint32_t timeout_ms)
{
	struct loop *loop = mad_loop(walk->mad);

	walk->deadline.fire = deadline_passed;
	if (timeout_ms)
		loop_timer_set(loop, &walk->deadline, loop_clock() + timeout_ms * 1000000ull);
	loop_wait(loop, &walk->finished, 0);
	loop_timer_del(loop, &walk->deadline);
	for (unsigned i = 0; i < PROBES; i++)
		mad_cancel(walk->mad, &walk->probe[i].req);
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

int mad_walk(struct mad *mad, uint32_t timeout_ms, struct mad_topology *view, struct diag *diag)
{
	struct walk *walk;
	int err = mad_register_class(mad, MAD_CLASS_SMP_DR, diag);

	*view = (struct mad_topology){ 0 };
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
	*view = (struct mad_topology){ 0 };
	return failed(mad_port(mad), err, diag);
}

int mad_route_parse(struct mad_end_port *seen, const char *text, struct diag *diag)
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

struct sync_query {
	struct mad_req req;
	struct mad_answer answer;
	uint8_t data[64];
	int finished;
};

static void sync_query_done(struct mad_req *req, const struct mad_answer *answer)
{
	struct sync_query *sync_query = container_of(req, struct sync_query, req);

	sync_query->answer = *answer;
	if (answer->mad)
		memcpy(sync_query->data, ((const struct smp_dr *)(const void *)answer->mad)->data,
			sizeof(sync_query->data));
	sync_query->finished = 1;
}

static int run_query(struct mad *mad, struct sync_query *sync_query,
	const struct mad_end_port *seen, uint16_t attr, unsigned mod, struct diag *diag)
{
	*sync_query = (struct sync_query){ 0 };
	sync_query->req = (struct mad_req){
		.to = { .lid = 0xffff },
		.mgmt_class = MAD_CLASS_SMP_DR,
		.method = MAD_GET,
		.attr = attr,
		.mod = mod,
		.hops = seen->hops,
		.hop = seen->hop,
		.first_ms = SMP_MS,
		.done = sync_query_done,
	};
	mad_send(mad, &sync_query->req);
	loop_wait(mad_loop(mad), &sync_query->finished, 0);
	if (sync_query->answer.err)
		return diag_set(diag, DIAG_UNREACHABLE, -sync_query->answer.err, "no answer: %s",
			diag_errno_text(-sync_query->answer.err));
	if (sync_query->answer.status)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "rejected by the node: status 0x%04x",
			sync_query->answer.status);
	return 0;
}

int mad_query_route(struct mad *mad, struct mad_end_port *seen, struct diag *diag)
{
	const struct node_info *node;
	const struct port_info *port;
	struct sync_query sync_query;
	int err = mad_register_class(mad, MAD_CLASS_SMP_DR, diag);

	if (!err)
		err = run_query(mad, &sync_query, seen, SMP_NODE_INFO, 0, diag);
	if (err)
		return err;
	node = (const void *)sync_query.data;
	seen->guid = get_be64(node->port_guid);
	err = run_query(mad, &sync_query, seen, SMP_PORT_INFO,
		node->type == MAD_NODE_SWITCH ? 0 : node->local_port, diag);
	if (err)
		return err;
	port = (const void *)sync_query.data;
	seen->prefix = get_be64(port->gid_prefix);
	seen->lid = get_be16(port->lid);
	seen->state = port->speed_state & 0xf;
	seen->management = get_be32(port->cap_mask) & PORT_CAP_DM;
	return 0;
}
