/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select the entries of the list that a name refers to: kernel_list_select(). */
#include "kernel_nfs.h"
#include "kernel_sys.h"
#include "list.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The name in every form that entries are compared with. */
struct selection {
	char word[URI_MAX]; /* as typed, without trailing slashes */
	const char *node;   /* "nvme0n1p1", the target of a link */
	char below[32][32]; /* nodes that it is built on, through any layers */
	unsigned belows;
	int root;
	char real[PATH_MAX]; /* "" = no such file */
	struct uri uri;
	bool is_uri;
	struct addr addr; /* of the URI; family 0: none */
	uint64_t unit;    /* of the URI; UINT64_MAX: none */
	char target[1200];
	const char *protocol, *transport;
};

static const struct {
	const char *scheme, *protocol, *transport;
	bool slash; /* the target is a path */
} protocol_of[] = {
	{ "nvme+rdma", "nvme", "rdma", false },
	{ "nvme+tcp", "nvme", "tcp", false },
	{ "iser", "iser", "rdma", false },
	{ "iscsi", "iscsi", "tcp", false },
	{ "srp", "srp", "rdma", false },
	{ "srp+cm", "srp", "rdma", false },
	{ "nfs+rdma", "nfs", "rdma", true },
	{ "nfs", "nfs", "tcp", true },
};

/* "NQN/3", "IOC_GUID/ID_EXT/0": split off the unit. */
static void split_target(struct selection *sel)
{
	const bool srp = !strcmp(sel->protocol, "srp");
	char *slash = srp ? strchr(sel->target, '/') : sel->target + sel->uri.name_len;

	if (slash && srp)
		slash = strchr(slash + 1, '/');
	if (!slash || !*slash)
		return;
	if (!slash[1] || !parse_u64(slash + 1, 0, UINT64_MAX - 1, &sel->unit, NULL))
		*slash = 0; /* else the slash is part of the name */
}

static int read_uri(struct selection *sel, const char *word, uint32_t timeout_ms, struct diag *diag)
{
	int err = uri_parse(&sel->uri, word, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < sizeof(protocol_of) / sizeof(*protocol_of) && !sel->is_uri; i++) {
		if (strcmp(protocol_of[i].scheme, sel->uri.scheme))
			continue;
		sel->is_uri = true;
		sel->protocol = protocol_of[i].protocol;
		sel->transport = protocol_of[i].transport;
		snprintf(sel->target, sizeof(sel->target), "%s%s", protocol_of[i].slash ? "/" : "",
			sel->uri.path);
		if (!protocol_of[i].slash)
			split_target(sel);
	}
	if (!sel->is_uri)
		return diag_set(diag, DIAG_USAGE, EINVAL, "the kernel can't attach '%s:' URIs",
			sel->uri.scheme);
	if (sel->uri.host[0] && strcmp(sel->uri.scheme, "srp"))
		return uri_resolve(&sel->uri, 1, timeout_ms, &sel->addr, diag);
	return 0;
}

static bool starts_node(const char *node, const char *disk)
{
	size_t len = strlen(disk);

	/* a partition: "sda1", "nvme0n1p1"; "dm-0" has none */
	if (!len || strncmp(node, disk, len))
		return false;
	node += len;
	if (*node == 'p' && node[1] && disk[len - 1] >= '0' && disk[len - 1] <= '9')
		node++;
	else if (*node && disk[len - 1] >= '0' && disk[len - 1] <= '9')
		return false;
	return strspn(node, "0123456789") == strlen(node);
}

static void add_below(const char *node, void *arg)
{
	struct selection *sel = arg;
	char path[100];

	for (unsigned i = 0; i < sel->belows; i++)
		if (!strcmp(sel->below[i], node))
			return;
	if (sel->belows == sizeof(sel->below) / sizeof(*sel->below) ||
		strlen(node) >= sizeof(*sel->below))
		return;
	strcpy(sel->below[sel->belows++], node);
	snprintf(path, sizeof(path), "sys/class/block/%s/slaves", node);
	kernel_sys_list(sel->root, path, add_below, sel);
	snprintf(path, sizeof(path), "sys/class/block/%s/partition", node);
	if (!kernel_sys_exists(sel->root, path))
		return;
	snprintf(path, sizeof(path), "sys/class/block/%s/../slaves", node);
	kernel_sys_list(sel->root, path, add_below, sel);
}

static bool node_is(const struct selection *sel, const char *disk)
{
	bool is = starts_node(sel->node, disk);

	for (unsigned i = 0; i < sel->belows && !is; i++)
		is = starts_node(sel->below[i], disk);
	return is;
}

static bool disk_is(const struct selection *sel, const struct list_disk *disk)
{
	return !strcmp(disk->name, sel->word) || !strcmp(disk->name, sel->real) ||
	       node_is(sel, disk->node) || (disk->wwid[0] && !strcmp(disk->wwid, sel->word));
}

/* A GID is written as an address or as 32 digits. A LID is shorter, and the kernel does not report
 * it. */
static bool same_gid(const char *host, const char *gid)
{
	struct addr addr;

	if (strchr(host, ':'))
		return !addr_numeric(&addr, host, 1, NULL) && kernel_list_same_host(gid, &addr);
	if (strlen(host) != 32)
		return true;
	for (; *host && *gid; gid++)
		if (*gid != ':' && tolower((unsigned char)*host++) != *gid)
			return false;
	return !*host && !*gid;
}

/* A path and an NQN are bytes; iSCSI names and hexadecimal numbers have no case. */
static bool same_target(const struct selection *sel, const struct list_link *link)
{
	bool exact = !strcmp(sel->protocol, "nvme") || !strcmp(sel->protocol, "nfs");

	return !sel->target[0] || !(exact ? strcmp : strcasecmp)(sel->target, link->target);
}

/* Compare the portal of the login, from which an iSCSI session may have been redirected. */
static bool is_portal(const struct selection *sel, const struct list_link *link)
{
	const struct list_iscsi *iscsi = &link->iscsi;

	return iscsi->is && kernel_list_same_host(iscsi->portal, &sel->addr) &&
	       (!sel->uri.port || sel->uri.port == iscsi->portal_port) && same_target(sel, link);
}

static bool link_is_uri(const struct selection *sel, const struct list_link *link)
{
	char digits[80] = "";

	if (strcmp(link->protocol, sel->protocol) || strcmp(link->transport, sel->transport))
		return false;
	/* unknown values count as equal */
	if (link->address[0] && sel->addr.ss.ss_family &&
		!kernel_list_same_host(link->address, &sel->addr))
		return is_portal(sel, link);
	if (!strcmp(sel->uri.scheme, "srp") && !same_gid(sel->uri.host, link->address))
		return false;
	snprintf(digits, sizeof(digits), "%u", sel->uri.port);
	if (sel->uri.port && link->service[0] && strcmp(sel->protocol, "srp") &&
		strcmp(link->service, digits))
		return false;
	return same_target(sel, link);
}

static bool link_is_source(const struct selection *sel, const struct list_link *link)
{
	char source[1400];

	snprintf(source, sizeof(source), strchr(link->address, ':') ? "[%s]:%s" : "%s:%s",
		link->address, link->target);
	return !strcmp(link->protocol, "nfs") &&
	       (!strcmp(source, sel->word) || !strcmp(link->from, sel->word));
}

static bool link_is(const struct selection *sel, const struct list_link *link)
{
	char port[80];

	if (sel->is_uri)
		return link_is_uri(sel, link);
	snprintf(port, sizeof(port), "%s/%u", link->rdma_dev, link->rdma_port);
	return (link->name[0] &&
		       (!strcmp(link->name, sel->word) || !strcmp(link->name, sel->node))) ||
	       (link->target[0] && !strcmp(link->target, sel->word)) || link_is_source(sel, link) ||
	       (link->rdma_dev[0] &&
		       (!strcmp(link->rdma_dev, sel->word) || !strcmp(port, sel->word)));
}

static bool path_is(
	const struct selection *sel, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];

	if (path->node[0] && !sel->is_uri && node_is(sel, path->node))
		return true;
	if (!sel->is_uri && path->disk >= 0 && disk_is(sel, &list->disk[path->disk]))
		return true;
	return link_is(sel, link) &&
	       (!sel->is_uri || sel->unit == UINT64_MAX || path->unit == sel->unit);
}

/* "mlx5_0", "mlx5_0/1" */
static bool port_is(const struct selection *sel, const struct list_port *port)
{
	char name[80];

	snprintf(name, sizeof(name), "%s/%u", port->dev, port->port);
	return !sel->is_uri && (!strcmp(port->dev, sel->word) || !strcmp(name, sel->word));
}

static bool in_use(const struct kernel_list *list, const struct list_port *port)
{
	for (unsigned i = 0; i < list->paths; i++) {
		const struct list_link *link = &list->link[list->path[i].link];

		if (!strcmp(link->rdma_dev, port->dev) && link->rdma_port == port->port)
			return true;
	}
	return false;
}

/* Keep the ports that the name matches, and those of the remaining connections. */
static void filter_ports(const struct selection *sel, struct kernel_list *list)
{
	unsigned count = 0;

	for (unsigned i = 0; i < list->ports; i++) {
		if (port_is(sel, &list->port[i]) || in_use(list, &list->port[i]))
			list->port[count++] = list->port[i];
		else
			free(list->port[i].gid);
	}
	list->ports = count;
}

static int nothing(const struct selection *sel, struct diag *diag)
{
	struct stat st;

	if (!sel->is_uri && !fstatat(sel->root, sel->real + (*sel->real == '/'), &st, 0) &&
		S_ISBLK(st.st_mode))
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "not a remote disk, and not served");
	else
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"no such device, connection, mount, target, served disk or RDMA device");
	diag_ctx(diag, "%s", sel->is_uri ? sel->uri.spelling : sel->word);
	return -ENOENT;
}

static int filter_list(const struct selection *sel, struct kernel_list *list, struct diag *diag)
{
	bool found = false;
	unsigned count = 0;

	for (unsigned i = 0; i < list->ports; i++)
		found |= port_is(sel, &list->port[i]);
	for (unsigned i = 0; i < list->paths; i++)
		if (path_is(sel, list, &list->path[i]))
			list->path[count++] = list->path[i];
	list->paths = count;
	filter_ports(sel, list);
	return found || count ? 0 : nothing(sel, diag);
}

static int keep_named(int root, struct kernel_list *list, const char *what, uint32_t timeout_ms,
	struct diag *diag)
{
	struct selection *sel = calloc(1, sizeof(*sel));
	const char *path;
	int err;

	if (!sel)
		return diag_sys(diag, ENOMEM, "read '%s'", what);
	if (!*what) {
		free(sel);
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"empty operand: expected a device, directory or URI");
	}
	snprintf(sel->word, sizeof(sel->word), "%s", what);
	for (size_t len = strlen(sel->word); len > 1 && sel->word[len - 1] == '/'; len--)
		sel->word[len - 1] = 0;
	sel->unit = UINT64_MAX;
	sel->root = root;
	/* not realpath(): don't touch a mount point, as its server may be unreachable */
	if (kernel_mount_dir(root, sel->word, sel->real))
		sel->real[0] = 0;
	path = strncmp(sel->real, "/dev/", 5) ? sel->word : sel->real;
	sel->node = strncmp(path, "/dev/", 5) ? path : path + 5;
	if (!strchr(sel->node, '/'))
		add_below(sel->node, sel);
	err = uri_is_address(what) ? read_uri(sel, what, timeout_ms, diag) : 0;
	if (!err)
		err = filter_list(sel, list, diag);
	free(sel);
	return err;
}

int kernel_list_select(int root, struct kernel_list *list, const char *what, uint32_t timeout_ms,
	struct diag *diag)
{
	int err = keep_named(root, list, what, timeout_ms, diag);

	if (err)
		kernel_list_clear(list);
	return err;
}
