/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Add RDMA devices from /sys/class/infiniband: ports, GIDs, network interfaces, drivers. */
#include "grow.h"
#include "kernel_sys.h"
#include "list.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASS  "sys/class/infiniband"
#define NO_GID "0000:0000:0000:0000:0000:0000:0000:0000"

struct walk {
	struct listing *list;
	const char *dev;
	struct list_port *port;
	char ports[100]; /* directory of the ports */
};

/* The word in "4: ACTIVE". */
static void read_word(int root, char *text, size_t len, const char *dir, const char *name)
{
	char line[64], *word;

	kernel_sys_read(root, line, sizeof(line), "%s/%s", dir, name);
	word = strstr(line, ": ");
	snprintf(text, len, "%.*s", (int)len - 1, word ? word + 2 : line);
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

static void add_gid(const char *name, void *arg)
{
	struct walk *walk = arg;
	struct list_port *port = walk->port;
	struct list_gid gid = { 0 }, *more;
	const int root = walk->list->root;
	char end;

	if (sscanf(name, "%u%c", &gid.index, &end) != 1 ||
		kernel_sys_read(root, gid.gid, sizeof(gid.gid), "%s/gids/%u", walk->ports,
			gid.index) <= 0 ||
		!strcmp(gid.gid, NO_GID))
		return;
	kernel_sys_read(
		root, gid.type, sizeof(gid.type), "%s/gid_attrs/types/%u", walk->ports, gid.index);
	kernel_sys_read(root, gid.netdev, sizeof(gid.netdev), "%s/gid_attrs/ndevs/%u", walk->ports,
		gid.index);
	more = grow(port->gid, port->gids);
	walk->list->failed |= !more;
	if (more)
		*more = gid;
}

static int by_index(const void *a, const void *b)
{
	const struct list_gid *left = a, *right = b;

	return left->index < right->index ? -1 : left->index > right->index;
}

struct netdevs {
	struct walk *walk;
	char name[16][16];
	unsigned count;
};

static void add_netdev(const char *name, void *arg)
{
	struct netdevs *found = arg;
	char dir[160];

	snprintf(dir, sizeof(dir), CLASS "/%.60s/device/net/%.20s", found->walk->dev, name);
	if (kernel_list_number(found->walk->list->root, dir, "dev_port") + 1 ==
			found->walk->port->port &&
		found->count < 16)
		snprintf(found->name[found->count++], sizeof(found->name[0]), "%.15s", name);
}

static int by_text(const void *a, const void *b)
{
	return strverscmp(a, b);
}

/* RoCE has the interface of each GID in sysfs. IPoIB's interfaces belong to the same hardware;
 * dev_port plus 1 is the port. */
static void find_netdev(struct walk *walk)
{
	struct list_port *port = walk->port;
	struct netdevs found = { .walk = walk };
	char dir[160];

	for (unsigned i = 0; i < port->gids && !port->netdev[0]; i++)
		snprintf(port->netdev, sizeof(port->netdev), "%s", port->gid[i].netdev);
	if (port->netdev[0])
		return;
	snprintf(dir, sizeof(dir), CLASS "/%.60s/device/net", walk->dev);
	kernel_sys_list(walk->list->root, dir, add_netdev, &found);
	qsort(found.name, found.count, sizeof(found.name[0]), by_text);
	for (unsigned i = 0; i < found.count; i++) {
		size_t at = strlen(port->netdev);

		snprintf(port->netdev + at, sizeof(port->netdev) - at, "%s%s", at ? "," : "",
			found.name[i]);
	}
}

static void read_kind(int root, struct list_port *port, const char *dir)
{
	char node[32];

	read_word(root, node, sizeof(node), dir, "node_type");
	snprintf(port->kind, sizeof(port->kind), "%s",
		!strcmp(node, "RNIC")                ? "iwarp"
		: !strcmp(port->layer, "Ethernet")   ? "roce"
		: !strcmp(port->layer, "InfiniBand") ? "ib"
						     : "");
}

static void read_port(struct walk *walk)
{
	const int root = walk->list->root;
	struct list_port *port = walk->port;
	char dir[160], target[200], *name;

	read_word(root, port->state, sizeof(port->state), walk->ports, "state");
	lower(port->state);
	read_word(root, port->physical, sizeof(port->physical), walk->ports, "phys_state");
	kernel_sys_read(root, port->layer, sizeof(port->layer), "%s/link_layer", walk->ports);
	kernel_sys_read(root, port->rate, sizeof(port->rate), "%s/rate", walk->ports);
	port->lid = kernel_list_number(root, walk->ports, "lid");
	port->sm_lid = kernel_list_number(root, walk->ports, "sm_lid");
	snprintf(dir, sizeof(dir), CLASS "/%.60s", walk->dev);
	read_kind(root, port, dir);
	kernel_sys_read(root, port->firmware, sizeof(port->firmware), "%s/fw_ver", dir);
	snprintf(dir, sizeof(dir), CLASS "/%.60s/device/driver", walk->dev);
	if (kernel_list_target(root, target, sizeof(target), dir) > 0) {
		name = strrchr(target, '/');
		snprintf(port->driver, sizeof(port->driver), "%.31s", name ? name + 1 : target);
	}
	snprintf(dir, sizeof(dir), "%s/gids", walk->ports);
	kernel_sys_list(root, dir, add_gid, walk);
	if (port->gids)
		qsort(port->gid, port->gids, sizeof(*port->gid), by_index);
	find_netdev(walk);
}

static void add_port(const char *name, void *arg)
{
	struct walk *walk = arg;
	struct kernel_list *to = walk->list->to;
	struct list_port port = { 0 }, *more;
	char end;

	if (sscanf(name, "%u%c", &port.port, &end) != 1)
		return;
	snprintf(port.dev, sizeof(port.dev), "%s", walk->dev);
	snprintf(walk->ports, sizeof(walk->ports), CLASS "/%.60s/ports/%u", walk->dev, port.port);
	walk->port = &port;
	read_port(walk);
	more = grow(to->port, to->ports);
	walk->list->failed |= !more;
	if (more)
		*more = port;
	else
		free(port.gid);
}

static void add_device(const char *name, void *arg)
{
	struct walk walk = { .list = arg, .dev = name };
	char dir[100];

	if (strlen(name) > 60)
		return;
	snprintf(dir, sizeof(dir), CLASS "/%s/ports", name);
	kernel_sys_list(walk.list->root, dir, add_port, &walk);
}

static int by_name(const void *a, const void *b)
{
	const struct list_port *left = a, *right = b;
	int order = strverscmp(left->dev, right->dev);

	return order ? order : (int)left->port - (int)right->port;
}

void kernel_list_rdma(struct listing *list)
{
	struct kernel_list *to = list->to;

	kernel_sys_list(list->root, CLASS, add_device, list);
	if (!to->ports)
		return;
	qsort(to->port, to->ports, sizeof(*to->port), by_name);
	kernel_list_netlink(list);
}
