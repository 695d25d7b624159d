/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP and iSCSI connections for the list: SCSI hosts of the kernel's initiators, and the logical units they show. */
#include "kernel.h"
#include "list.h"
#include "sys.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS "sys/class/scsi_device"
#define HOSTS "sys/class/scsi_host"
#define PORTS "sys/class/srp_remote_ports"
#define SESSIONS "sys/class/iscsi_session"
#define CONNECTIONS "sys/class/iscsi_connection"

struct units {
	struct listing *list;
	unsigned host, target;
	bool any_target;
	int link;
	unsigned found;
};

static void first_name(const char *name, void *arg)
{
	char *to = arg;

	if (!*to)
		snprintf(to, 32, "%.31s", name);
}

/* A unit without a block device is no disk: a target's own controller, a tape. */
static void add_unit(const char *name, void *arg)
{
	struct units *units = arg;
	struct list_path path = { .link = units->link };
	unsigned host, channel, target;
	char dir[120], end;

	if (strlen(name) > 60 || sscanf(name, "%u:%u:%u:%" SCNu64 "%c", &host, &channel, &target, &path.unit, &end) != 4 || host != units->host ||
		(!units->any_target && target != units->target))
		return;
	snprintf(dir, sizeof(dir), UNITS "/%s/device/block", name);
	sys_list(units->list->root, dir, first_name, path.node);
	if (!path.node[0])
		return;
	sys_read(units->list->root, path.state, sizeof(path.state), UNITS "/%s/device/state", name);
	list_add_path(units->list, path, path.node);
	units->found++;
}

static void add_units(struct units *units)
{
	sys_list(units->list->root, UNITS, add_unit, units);
	if (!units->found)
		list_add_path(units->list, (struct list_path){ .link = units->link }, "");
}

struct remote {
	unsigned host;
	char dir[64];
};

static void look_port(const char *name, void *arg)
{
	struct remote *remote = arg;
	unsigned host, port;
	char end;

	if (sscanf(name, "port-%u:%u%c", &host, &port, &end) == 2 && host == remote->host)
		snprintf(remote->dir, sizeof(remote->dir), PORTS "/%.31s", name);
}

static void read_remote_port(int root, unsigned host, struct list_link *link)
{
	struct remote remote = { .host = host };
	int tried;

	sys_list(root, PORTS, look_port, &remote);
	if (!remote.dir[0])
		return;
	sys_read(root, link->state, sizeof(link->state), "%s/state", remote.dir);
	link->loss.retry_s = list_seconds(root, remote.dir, "reconnect_delay");
	link->loss.fail_s = list_seconds(root, remote.dir, "fast_io_fail_tmo");
	link->loss.give_up_s = list_seconds(root, remote.dir, "dev_loss_tmo");
	tried = list_seconds(root, remote.dir, "failed_reconnects");
	if (tried > 0)
		link->loss.attempts = tried;
}

/* ib_srp does not tell the address of a target that it reached by RDMA/CM; the connection does, when it is the only one of its port. */
static void find_peer(const struct listing *list, struct list_link *link)
{
	const struct list_cm *found = NULL;

	for (unsigned i = 0; i < list->cms; i++) {
		const struct list_cm *cm = &list->cm[i];
		char peer[ADDR_TEXT], other[ADDR_TEXT];

		if (strcmp(cm->owner, "ib_srp") || strcmp(cm->dev, link->rdma_dev) || cm->port != link->rdma_port)
			continue;
		if (found && strcmp(addr_text(&found->peer, peer), addr_text(&cm->peer, other)))
			return;
		found = cm;
	}
	if (!found)
		return;
	addr_host(&found->peer, link->address);
	addr_host(&found->source, link->source);
}

static void add_srp(struct listing *list, const struct kernel_srp *srp)
{
	struct list_link link = list_link_new(srp->host, "srp", "rdma");
	struct units units = { .list = list, .any_target = true };
	char dir[80];

	snprintf(dir, sizeof(dir), HOSTS "/%s", srp->host);
	snprintf(link.target, sizeof(link.target), "%016" PRIx64 "/%016" PRIx64, srp->ioc_guid, srp->id_ext);
	snprintf(link.rdma_dev, sizeof(link.rdma_dev), "%s", srp->dev);
	link.rdma_port = srp->port;
	link.queues = list_number(list->root, dir, "ch_count");
	if (srp->by_cm) {
		find_peer(list, &link);
	} else {
		for (unsigned i = 0; i < sizeof(srp->dgid); i++)
			snprintf(link.address + strlen(link.address), 4, "%s%02x", i && i % 2 == 0 ? ":" : "", srp->dgid[i]);
		sys_read(list->root, link.source, sizeof(link.source), "%s/sgid", dir);
		snprintf(link.service, sizeof(link.service), "%016" PRIx64, srp->service_id);
	}
	if (sscanf(srp->host, "host%u", &units.host) == 1)
		read_remote_port(list->root, units.host, &link);
	units.link = list_add_link(list, &link);
	add_units(&units);
}

void list_srp(struct listing *list)
{
	struct kernel_srp *hosts;
	unsigned count;

	if (kernel_srp_list(list->root, &hosts, &count, NULL)) {
		list->failed = true;
		return;
	}
	for (unsigned i = 0; i < count; i++)
		add_srp(list, &hosts[i]);
	free(hosts);
}

struct connection {
	struct listing *list;
	struct list_link *link;
	unsigned session, count;
};

/* "connection1:0", of session1; all of a session go to one portal group, the first is told. */
static void look_connection(const char *name, void *arg)
{
	struct connection *at = arg;
	const int root = at->list->root;
	struct list_link *link = at->link;
	unsigned session, number;
	char dir[80], end;

	if (sscanf(name, "connection%u:%u%c", &session, &number, &end) != 2 || session != at->session || at->count++)
		return;
	snprintf(dir, sizeof(dir), CONNECTIONS "/%.31s", name);
	if (sys_read(root, link->address, sizeof(link->address), "%s/address", dir) <= 0)
		sys_read(root, link->address, sizeof(link->address), "%s/persistent_address", dir);
	if (sys_read(root, link->service, sizeof(link->service), "%s/port", dir) <= 0)
		sys_read(root, link->service, sizeof(link->service), "%s/persistent_port", dir);
	sys_read(root, link->source, sizeof(link->source), "%s/local_ipaddr", dir);
}

/* "../../devices/platform/host3/session1/iscsi_session/session1" */
static bool host_of_session(int root, const char *dir, unsigned *host)
{
	char target[400], *at = target;

	if (list_target(root, target, sizeof(target), dir) < 0)
		return false;
	while ((at = strstr(at, "/host")))
		if (sscanf(at, "/host%u/session", host) == 1)
			return true;
		else
			at++;
	return false;
}

static void add_session(const char *name, void *arg)
{
	struct listing *list = arg;
	struct list_link link = list_link_new(name, "iscsi", "tcp");
	struct units units = { .list = list };
	struct connection at = { .list = list, .link = &link };
	char dir[80], text[32], end;

	if (sscanf(name, "session%u%c", &at.session, &end) != 1)
		return;
	snprintf(dir, sizeof(dir), SESSIONS "/%.31s", name);
	if (!host_of_session(list->root, dir, &units.host) ||
		sys_read(list->root, link.target, sizeof(link.target), "%s/targetname", dir) <= 0)
		return;
	sys_read(list->root, link.state, sizeof(link.state), "%s/state", dir);
	sys_read(list->root, link.host, sizeof(link.host), "%s/initiatorname", dir);
	link.loss.fail_s = list_seconds(list->root, dir, "recovery_tmo");
	units.any_target = sys_read(list->root, text, sizeof(text), "%s/target_id", dir) <= 0;
	units.target = units.any_target ? 0 : (unsigned)strtoul(text, NULL, 10);
	sys_list(list->root, CONNECTIONS, look_connection, &at);
	link.queues = at.count;
	sys_read(list->root, text, sizeof(text), HOSTS "/host%u/proc_name", units.host);
	if (strstr(text, "iser")) {
		snprintf(link.protocol, sizeof(link.protocol), "iser");
		snprintf(link.transport, sizeof(link.transport), "rdma");
		list_find_device(list, "ib_iser", &link);
	}
	units.link = list_add_link(list, &link);
	add_units(&units);
}

void list_iscsi(struct listing *list)
{
	sys_list(list->root, SESSIONS, add_session, list);
}
