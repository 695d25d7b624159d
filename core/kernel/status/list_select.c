/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Select the entries of the list that a word refers to: kernel_list_select(). */
#include "kernel_nfs.h"
#include "list.h"
#include "sys/sys.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The word in every form it can be read as. */
struct wanted {
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
static void split_target(struct wanted *want)
{
	const bool srp = !strcmp(want->protocol, "srp");
	char *slash = srp ? strchr(want->target, '/') : want->target + want->uri.name_len;

	if (slash && srp)
		slash = strchr(slash + 1, '/');
	if (!slash || !*slash)
		return;
	if (!slash[1] || !parse_u64(slash + 1, 0, UINT64_MAX - 1, &want->unit, NULL))
		*slash = 0; /* else the slash is part of the name */
}

static int read_uri(struct wanted *want, const char *word, uint32_t timeout_ms, struct diag *diag)
{
	int err = uri_parse(&want->uri, word, diag);

	if (err)
		return err;
	for (unsigned i = 0; i < sizeof(protocol_of) / sizeof(*protocol_of) && !want->is_uri; i++) {
		if (strcmp(protocol_of[i].scheme, want->uri.scheme))
			continue;
		want->is_uri = true;
		want->protocol = protocol_of[i].protocol;
		want->transport = protocol_of[i].transport;
		snprintf(want->target, sizeof(want->target), "%s%s",
			protocol_of[i].slash ? "/" : "", want->uri.path);
		if (!protocol_of[i].slash)
			split_target(want);
	}
	if (!want->is_uri)
		return diag_set(diag, DIAG_USAGE, EINVAL, "the kernel can't attach '%s:' URIs",
			want->uri.scheme);
	if (want->uri.host[0] && strcmp(want->uri.scheme, "srp"))
		return uri_resolve(&want->uri, 1, timeout_ms, &want->addr, diag);
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
	struct wanted *want = arg;
	char path[100];

	for (unsigned i = 0; i < want->belows; i++)
		if (!strcmp(want->below[i], node))
			return;
	if (want->belows == sizeof(want->below) / sizeof(*want->below) ||
		strlen(node) >= sizeof(*want->below))
		return;
	strcpy(want->below[want->belows++], node);
	snprintf(path, sizeof(path), "sys/class/block/%s/slaves", node);
	kernel_sys_list(want->root, path, add_below, want);
	snprintf(path, sizeof(path), "sys/class/block/%s/partition", node);
	if (!kernel_sys_exists(want->root, path))
		return;
	snprintf(path, sizeof(path), "sys/class/block/%s/../slaves", node);
	kernel_sys_list(want->root, path, add_below, want);
}

static bool node_is(const struct wanted *want, const char *disk)
{
	bool is = starts_node(want->node, disk);

	for (unsigned i = 0; i < want->belows && !is; i++)
		is = starts_node(want->below[i], disk);
	return is;
}

static bool disk_is(const struct wanted *want, const struct list_disk *disk)
{
	return !strcmp(disk->name, want->word) || !strcmp(disk->name, want->real) ||
	       node_is(want, disk->node) || (disk->wwid[0] && !strcmp(disk->wwid, want->word));
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
static bool same_target(const struct wanted *want, const struct list_link *link)
{
	bool exact = !strcmp(want->protocol, "nvme") || !strcmp(want->protocol, "nfs");

	return !want->target[0] || !(exact ? strcmp : strcasecmp)(want->target, link->target);
}

/* Compare the portal of the login, from which an iSCSI session may have been redirected. */
static bool is_portal(const struct wanted *want, const struct list_link *link)
{
	const struct list_iscsi *iscsi = &link->iscsi;

	return iscsi->is && kernel_list_same_host(iscsi->portal, &want->addr) &&
	       (!want->uri.port || want->uri.port == iscsi->portal_port) &&
	       same_target(want, link);
}

static bool link_is_uri(const struct wanted *want, const struct list_link *link)
{
	char digits[80] = "";

	if (strcmp(link->protocol, want->protocol) || strcmp(link->transport, want->transport))
		return false;
	/* unknown values count as equal */
	if (link->address[0] && want->addr.ss.ss_family &&
		!kernel_list_same_host(link->address, &want->addr))
		return is_portal(want, link);
	if (!strcmp(want->uri.scheme, "srp") && !same_gid(want->uri.host, link->address))
		return false;
	snprintf(digits, sizeof(digits), "%u", want->uri.port);
	if (want->uri.port && link->service[0] && strcmp(want->protocol, "srp") &&
		strcmp(link->service, digits))
		return false;
	return same_target(want, link);
}

static bool link_is_source(const struct wanted *want, const struct list_link *link)
{
	char source[1400];

	snprintf(source, sizeof(source), strchr(link->address, ':') ? "[%s]:%s" : "%s:%s",
		link->address, link->target);
	return !strcmp(link->protocol, "nfs") &&
	       (!strcmp(source, want->word) || !strcmp(link->from, want->word));
}

static bool link_is(const struct wanted *want, const struct list_link *link)
{
	char port[80];

	if (want->is_uri)
		return link_is_uri(want, link);
	snprintf(port, sizeof(port), "%s/%u", link->rdma_dev, link->rdma_port);
	return (link->name[0] &&
		       (!strcmp(link->name, want->word) || !strcmp(link->name, want->node))) ||
	       (link->target[0] && !strcmp(link->target, want->word)) ||
	       link_is_source(want, link) ||
	       (link->rdma_dev[0] &&
		       (!strcmp(link->rdma_dev, want->word) || !strcmp(port, want->word)));
}

static bool path_is(
	const struct wanted *want, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];

	if (path->node[0] && !want->is_uri && node_is(want, path->node))
		return true;
	if (!want->is_uri && path->disk >= 0 && disk_is(want, &list->disk[path->disk]))
		return true;
	return link_is(want, link) &&
	       (!want->is_uri || want->unit == UINT64_MAX || path->unit == want->unit);
}

/* "mlx5_0", "mlx5_0/1" */
static bool port_is(const struct wanted *want, const struct list_port *port)
{
	char name[80];

	snprintf(name, sizeof(name), "%s/%u", port->dev, port->port);
	return !want->is_uri && (!strcmp(port->dev, want->word) || !strcmp(name, want->word));
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

/* Keep the ports that the word names, and those of the remaining connections. */
static void keep_ports(const struct wanted *want, struct kernel_list *list)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < list->ports; i++) {
		if (port_is(want, &list->port[i]) || in_use(list, &list->port[i]))
			list->port[kept++] = list->port[i];
		else
			free(list->port[i].gid);
	}
	list->ports = kept;
}

static int nothing(const struct wanted *want, struct diag *diag)
{
	struct stat st;

	if (!want->is_uri && !fstatat(want->root, want->real + (*want->real == '/'), &st, 0) &&
		S_ISBLK(st.st_mode))
		diag_set(diag, DIAG_NOT_FOUND, ENOENT, "not a remote disk, and not served");
	else
		diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"no such device, connection, mount, target, served disk or RDMA device");
	diag_ctx(diag, "%s", want->is_uri ? want->uri.spelling : want->word);
	return -ENOENT;
}

static int keep(const struct wanted *want, struct kernel_list *list, struct diag *diag)
{
	bool found = false;
	unsigned kept = 0;

	for (unsigned i = 0; i < list->ports; i++)
		found |= port_is(want, &list->port[i]);
	for (unsigned i = 0; i < list->paths; i++)
		if (path_is(want, list, &list->path[i]))
			list->path[kept++] = list->path[i];
	list->paths = kept;
	keep_ports(want, list);
	return found || kept ? 0 : nothing(want, diag);
}

int kernel_list_select(int root, struct kernel_list *list, const char *what, uint32_t timeout_ms,
	struct diag *diag)
{
	struct wanted *want = calloc(1, sizeof(*want));
	const char *path;
	int err;

	if (!want)
		return diag_sys(diag, ENOMEM, "read '%s'", what);
	if (!*what) {
		free(want);
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"empty operand: expected a device, directory or URI");
	}
	snprintf(want->word, sizeof(want->word), "%s", what);
	for (size_t len = strlen(want->word); len > 1 && want->word[len - 1] == '/'; len--)
		want->word[len - 1] = 0;
	want->unit = UINT64_MAX;
	want->root = root;
	/* not realpath(): don't touch a mount point, as its server may be unreachable */
	if (kernel_mount_dir(root, want->word, want->real))
		want->real[0] = 0;
	path = strncmp(want->real, "/dev/", 5) ? want->word : want->real;
	want->node = strncmp(path, "/dev/", 5) ? path : path + 5;
	if (!strchr(want->node, '/'))
		add_below(want->node, want);
	err = uri_is_address(what) ? read_uri(want, what, timeout_ms, diag) : 0;
	if (!err)
		err = keep(want, list, diag);
	free(want);
	return err;
}
