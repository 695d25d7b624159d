/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an initramfs needs to attach disks: kernel modules, a kernel parameter for each attached
 * disk, and the files that parameters name. */
#include "grow.h"
#include "kernel_boot.h"
#include "kernel_disk.h"
#include "kernel_nvmf.h"
#include "kernel_status.h"
#include "kernel_sys.h"
#include "list.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct collect {
	int root;
	const struct kernel_list *list;
	const struct kernel_serving *serving;
	struct boot_needs *to;
	struct diag why; /* the first failure */
};

/* A blank would end the kernel parameter, and a quote hide one; scripts read each need as a line.
 */
static bool is_plain_param(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f || strchr("\"'`\\", *text))
			return false;
	return true;
}

static void refuse(struct collect *collect, uint8_t kind, const char *text)
{
	static const char *const kinds[BOOT_NEED_KINDS] = {
		[BOOT_NEED_MODULE] = "module", [BOOT_NEED_PARAM] = "word", [BOOT_NEED_FILE] = "file"
	};

	if (collect->why.err)
		return;
	diag_set(&collect->why, DIAG_USAGE, EINVAL,
		"%s '%s' has a blank, a control character, a quote or a backslash, which an "
		"initramfs can't take",
		kinds[kind], text);
	diag_hint(&collect->why, kind == BOOT_NEED_FILE
					 ? "rename the file, and attach the disk with the new name"
					 : "attach the disk by a URI that has none");
}

static void add(struct collect *collect, uint8_t kind, const char *text)
{
	struct boot_needs *to = collect->to;
	struct boot_need *more;

	if (!is_plain_param(text)) {
		refuse(collect, kind, text);
		return;
	}
	for (unsigned i = 0; i < to->count; i++)
		if (to->need[i].kind == kind && !strcmp(to->need[i].text, text))
			return;
	more = grow(to->need, to->count);
	if (more) {
		more->kind = kind;
		snprintf(more->text, sizeof(more->text), "%s", text);
	} else if (!collect->why.err) {
		diag_sys(&collect->why, ENOMEM, "needs");
	}
}

static void add_module(struct collect *collect, const char *name)
{
	add(collect, BOOT_NEED_MODULE, name);
}

/* The module of a network interface's driver. */
static void add_netdev(struct collect *collect, const char *netdev)
{
	char path[120], target[200];

	snprintf(path, sizeof(path), "sys/class/net/%.15s/device/driver/module", netdev);
	if (*netdev && kernel_list_target(collect->root, target, sizeof(target), path) > 0 &&
		strrchr(target, '/'))
		add_module(collect, strrchr(target, '/') + 1);
}

/* Many PCI drivers leave RDMA to another module, which sysfs doesn't show. */
static void add_port(struct collect *collect, const struct list_port *port)
{
	static const char *const modules[][2] = {
		{ "mlx4_core", "mlx4_ib" },
		{ "mlx5_core", "mlx5_ib" },
		{ "bnxt_en", "bnxt_re" },
		{ "ice", "irdma" },
		{ "i40e", "irdma" },
		{ "cxgb4", "iw_cxgb4" },
		{ "hns3", "hns_roce_hw_v2" },
		{ "qede", "qedr" },
		{ "mana", "mana_ib" },
		{ "be2net", "ocrdma" },
		{ "ionic", "ionic_rdma" },
	};

	if (port->driver[0])
		add_module(collect, port->driver);
	for (unsigned i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		if (!strcmp(port->driver, modules[i][0]))
			add_module(collect, modules[i][1]);
	if (!port->driver[0])
		add_module(collect, strcmp(port->kind, "iwarp") ? "rdma_rxe" : "siw");
	if (!strcmp(port->kind, "ib") && port->netdev[0])
		add_module(collect, "ib_ipoib");
	add_netdev(collect, port->netdev);
}

static void add_ports(struct collect *collect, const char *dev)
{
	for (unsigned i = 0; i < collect->list->ports; i++)
		if (!dev || !strcmp(collect->list->port[i].dev, dev))
			add_port(collect, &collect->list->port[i]);
}

static void add_key(char uri[URI_MAX], const char *key, const char *value)
{
	if (*value)
		uri_add_key(uri, key, value);
}

static void srp_uri(const struct list_link *link, unsigned port, uint64_t unit, char *uri)
{
	bool ib = strlen(link->service) == 16; /* else a port of RDMA/CM */

	if (!ib && !port)
		return;
	uri_start(uri, ib ? "srp" : "srp+cm", link->address, ib ? 0 : port);
	uri_encode(uri, "/");
	uri_encode(uri, link->target);
	uri_add_unit(uri, unit);
	if (ib)
		uri_add_key(uri, "service_id", link->service);
}

/* The URI of a connection, with the name by which the target knows this machine, and the address
 * and interface it is bound to, which are another path; "": too little is known. */
static void link_uri(const struct list_link *link, uint64_t unit, char uri[URI_MAX])
{
	const char *host = link->iscsi.is ? link->iscsi.portal : link->address;
	unsigned port = (unsigned)strtoul(link->service, NULL, 10);
	char scheme[32];

	uri[0] = 0;
	if (!host[0])
		return;
	if (!strcmp(link->protocol, "nvme")) {
		snprintf(scheme, sizeof(scheme), "nvme+%s", link->transport);
		uri_start(uri, scheme, host, port);
		uri_add_name(uri, link->target);
		add_key(uri, "hostnqn", link->host);
		add_key(uri, "src", link->bound);
		add_key(uri, "iface", link->netdev);
	} else if (link->iscsi.is) {
		uri_start(uri, link->protocol, host, link->iscsi.portal_port);
		uri_add_name(uri, link->target);
		uri_add_unit(uri, unit);
		add_key(uri, "initiator", link->host);
		if (!strcmp(link->protocol, "iscsi"))
			add_key(uri, "iface", link->netdev);
	} else if (!strcmp(link->protocol, "srp")) {
		srp_uri(link, port, unit, uri);
	} else if (!strcmp(link->protocol, "nfs") && !strcmp(link->transport, "rdma")) {
		uri_start(uri, "nfs+rdma", host, port);
		uri_encode(uri, link->target);
		add_key(uri, "vers", link->version);
	}
	if (strlen(uri) >= URI_MAX - 4) /* perhaps cut */
		uri[0] = 0;
}

static bool is_rdma(struct uri *uri)
{
	const char *backend = uri_value(uri, "rdma");

	return (strstr(uri->scheme, "+rdma") || !strcmp(uri->scheme, "iser") ||
		       !strncmp(uri->scheme, "srp", 3)) &&
	       (!backend || strcmp(backend, "iwarp"));
}

static void add_verbs(struct collect *collect)
{
	add_module(collect, "rdma_ucm");
	add_module(collect, "ib_uverbs");
	add_ports(collect, NULL);
}

/* "secret-file", "tls_key_file", "tls-certificates", in either spelling. */
static bool names_file(const char *key)
{
	static const char end[] = "-file";
	char name[40];
	size_t len = strlen(key);

	if (len < strlen(end) || len >= sizeof(name))
		return false;
	for (size_t i = 0; i <= len; i++)
		name[i] = (char)(key[i] == '_' ? '-' : key[i]);
	return !strcmp(name + len - strlen(end), end) || !strcmp(name, "tls-certificates");
}

static void add_files(struct collect *collect, const struct uri *uri)
{
	for (unsigned i = 0; i < uri->keys; i++) {
		const struct uri_key *key = &uri->key[i];
		struct uri path;

		if (*key->value && names_file(key->name))
			add(collect, BOOT_NEED_FILE, key->value);
		if (strcmp(key->name, "path") || !strstr(key->value, "://"))
			continue;
		if (!uri_parse(&path, key->value, NULL))
			add_files(collect, &path);
		explicit_bzero(&path, sizeof(path));
	}
}

/* Add the needs of a disk that our export process serves as a block device. */
static void add_served(struct collect *collect, const struct list_link *link)
{
	char word[URI_MAX + 32], device[40];
	struct uri uri;

	add_module(collect, strcmp(link->protocol, "ublk") ? "nbd" : "ublk_drv");
	snprintf(device, sizeof(device), "/dev/%s", link->name);
	for (unsigned i = 0; i < collect->serving->processes; i++) {
		const struct serving_process *process = &collect->serving->process[i];

		for (unsigned j = 0; j < process->fronts; j++)
			for (unsigned k = 0; k < process->front[j].disks; k++) {
				const struct serving_disk *disk = &process->front[j].disk[k];

				if (strcmp(disk->device, device))
					continue;
				snprintf(word, sizeof(word), "rd.rdmastor=%s,via=%s", disk->uri,
					link->protocol);
				add(collect, BOOT_NEED_PARAM, word);
				if (uri_parse(&uri, disk->uri, NULL))
					continue;
				add_files(collect, &uri);
				if (is_rdma(&uri))
					add_verbs(collect);
			}
	}
}

static const struct {
	const char *protocol, *transport, *scheme, *module[3];
} initiator[] = {
	{ "nvme", "rdma", "nvme+rdma", { "nvme_rdma" } },
	{ "nvme", "tcp", "nvme+tcp", { "nvme_tcp" } },
	{ "srp", "rdma", "srp", { "ib_srp", "sd_mod" } },
	{ "srp", "rdma", "srp+cm", { "ib_srp", "sd_mod" } },
	{ "iser", "rdma", "iser", { "ib_iser", "sd_mod" } },
	{ "iscsi", "tcp", "iscsi", { "iscsi_tcp", "sd_mod" } },
	{ "nfs", "rdma", "nfs+rdma", { "nfs", "rpcrdma" } },
};
#define INITIATORS (sizeof(initiator) / sizeof(*initiator))

static void add_initiator(struct collect *collect, unsigned which)
{
	for (unsigned i = 0; i < 3 && initiator[which].module[i]; i++)
		add_module(collect, initiator[which].module[i]);
}

static void add_tls(struct collect *collect)
{
	add_module(collect, "tls");
	for (const char *const *module = kernel_nvmf_ciphers; *module; module++)
		add_module(collect, *module);
}

static void add_link(struct collect *collect, const struct list_link *link, uint64_t unit)
{
	char uri[URI_MAX], word[URI_MAX + 32];

	if (!strcmp(link->protocol, "ublk") || !strcmp(link->protocol, "nbd")) {
		add_served(collect, link);
		return;
	}
	for (unsigned i = 0; i < INITIATORS; i++)
		if (!strcmp(initiator[i].protocol, link->protocol) &&
			!strcmp(initiator[i].transport, link->transport))
			add_initiator(collect, i);
	if (!strcmp(link->protocol, "nvme") && kernel_nvmf_any_tls(collect->root))
		add_tls(collect);
	if (!strcmp(link->protocol, "nfs"))
		add_module(collect, link->version[0] == '3' ? "nfsv3" : "nfsv4");
	if (link->rdma_dev[0])
		add_ports(collect, link->rdma_dev);
	add_netdev(collect, link->netdev);
	link_uri(link, unit, uri);
	snprintf(word, sizeof(word), "rd.rdmastor=%s", uri);
	if (uri[0])
		add(collect, BOOT_NEED_PARAM, word);
}

static bool has_root(int root, const struct list_disk *disk)
{
	unsigned dev_major, dev_minor;
	char text[32];

	if (!disk->node[0])
		return !strcmp(disk->name, "/") || !strcmp(disk->name, "/usr");
	return kernel_sys_read(root, text, sizeof(text), "sys/class/block/%s/dev", disk->node) >
		       0 &&
	       sscanf(text, "%u:%u", &dev_major, &dev_minor) == 2 &&
	       kernel_holders_root(root, dev_major, dev_minor);
}

static int failed(const struct collect *collect, struct diag *diag)
{
	if (diag)
		*diag = collect->why;
	return -collect->why.err;
}

int kernel_boot_needs(int root, const struct kernel_list *list,
	const struct kernel_serving *serving, bool all, struct boot_needs *to, struct diag *diag)
{
	struct collect collect = { .root = root, .list = list, .serving = serving, .to = to };

	for (unsigned i = 0; i < list->paths; i++) {
		const struct list_path *path = &list->path[i];

		if (path->disk >= 0 && (all || has_root(root, &list->disk[path->disk])))
			add_link(&collect, &list->link[path->link], path->unit);
		if (collect.why.err) {
			diag_ctx(&collect.why, "%s", list->link[path->link].name);
			return failed(&collect, diag);
		}
	}
	return 0;
}

static void add_card(const char *netdev, void *arg)
{
	add_netdev(arg, netdev);
}

static void add_scheme(struct collect *collect, const char *scheme)
{
	for (unsigned i = 0; i < INITIATORS; i++)
		if (!strcmp(initiator[i].scheme, scheme)) {
			add_initiator(collect, i);
			if (!strcmp(initiator[i].protocol, "nfs")) {
				add_module(collect, "nfsv3");
				add_module(collect, "nfsv4");
			}
			if (!strcmp(initiator[i].transport, "rdma"))
				add_ports(collect, NULL);
		}
}

/* For other spellings: a transport ID has blanks. */
static void print_uri(const struct uri *uri, char text[URI_MAX])
{
	uri_start(text, uri->scheme, uri->host, uri->port);
	uri_add_target(text, uri);
	for (unsigned i = 0; i < uri->keys; i++)
		uri_add_key(text, uri->key[i].name, uri->key[i].value);
}

static void add_disk_param(
	struct collect *collect, const struct boot_disk *disk, const struct uri *uri)
{
	char word[URI_MAX + 32], text[URI_MAX];

	if (strstr(disk->uri, "://") || uri_is_iscsi(disk->uri))
		strcpy(text, disk->uri);
	else
		print_uri(uri, text);
	uri_hide(text);
	snprintf(word, sizeof(word), "rd.rdmastor=%s%s%s", text,
		disk->via == BOOT_KERNEL ? "" : ",via=",
		disk->via == BOOT_KERNEL ? "" : kernel_boot_via_name(disk->via));
	add(collect, BOOT_NEED_PARAM, word);
}

static void add_uri(
	struct collect *collect, const struct boot_disk *disk, struct uri *uri, bool attached)
{
	add_files(collect, uri);
	if (disk->via != BOOT_KERNEL)
		add_module(collect, disk->via == BOOT_UBLK ? "ublk_drv" : "nbd");
	else if (!attached)
		add_scheme(collect, uri->scheme);
	if (disk->via == BOOT_KERNEL && !attached && !strcmp(uri->scheme, "nvme+tcp") &&
		(uri_has(uri, "tls") || uri_has(uri, "tls-key-file") || uri_has(uri, "concat")))
		add_tls(collect);
	if (disk->via != BOOT_KERNEL && is_rdma(uri))
		add_verbs(collect);
	if (attached)
		return;
	kernel_sys_list(collect->root, "sys/class/net", add_card, collect);
	add_disk_param(collect, disk, uri);
}

int kernel_boot_needs_disk(int root, const struct kernel_list *list, const struct boot_disk *disk,
	bool attached, struct boot_needs *to, struct diag *diag)
{
	struct collect collect = { .root = root, .list = list, .to = to };
	struct uri uri;
	int err = uri_parse(&uri, disk->uri, diag) ? -EINVAL : 0;

	if (!err && !scheme_find(uri.scheme))
		err = kernel_boot_unknown_scheme(uri.scheme, diag);
	if (!err)
		add_uri(&collect, disk, &uri, attached);
	explicit_bzero(&uri, sizeof(uri));
	return err ? err : collect.why.err ? failed(&collect, diag) : 0;
}
