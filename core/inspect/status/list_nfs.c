/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Add NFS mounts over RDMA and TCP: from mountinfo and mountstats, with the state of sunrpc's
 * transports (Linux 5.13). */
#include "kernel_nfs.h"
#include "kernel_sys.h"
#include "list.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWITCHES "sys/kernel/sunrpc/xprt-switches"

struct search {
	const struct listing *list;
	struct list_link *link;
	const char *sw;
	bool found, connected, connecting;
};

/* "xprt-3-rdma" */
static void read_transport(const char *name, void *arg)
{
	struct search *search = arg;
	struct list_link *link = search->link;
	const char *kind = strrchr(name, '-');
	char text[200], dir[160];
	struct addr addr;

	if (!kind || strcmp(kind + 1, link->transport))
		return;
	snprintf(dir, sizeof(dir), SWITCHES "/%.40s/%.40s", search->sw, name);
	if (kernel_sys_read(search->list->root, text, sizeof(text), "%s/dstaddr", dir) <= 0 ||
		addr_numeric(&addr, text, 1, NULL) || !kernel_list_same_host(link->address, &addr))
		return;
	search->found = true;
	if (kernel_sys_read(search->list->root, text, sizeof(text), "%s/xprt_state", dir) <= 0)
		return;
	search->connecting |= strstr(text, "CONNECTING") != NULL;
	if (!strstr(text, "CONNECTED"))
		return;
	search->connected = true;
	if (!link->source[0] &&
		kernel_sys_read(search->list->root, text, sizeof(text), "%s/srcaddr", dir) > 0 &&
		strpbrk(text, ".:"))
		snprintf(link->source, sizeof(link->source), "%.60s", text);
}

static void read_switch(const char *name, void *arg)
{
	struct search *search = arg;
	char dir[100];

	search->sw = name;
	snprintf(dir, sizeof(dir), SWITCHES "/%.40s", name);
	kernel_sys_list(search->list->root, dir, read_transport, search);
}

static long number(const char *options, const char *name, long otherwise)
{
	char text[24];

	return kernel_mount_option(options, name, text, sizeof(text)) ? strtol(text, NULL, 10)
								      : otherwise;
}

/* Requests of a soft mount fail after `retrans` retries, each waiting timeo longer than the one
 * before (nfs(5), xprt_calc_majortimeo()). */
static void read_loss(const char *super, struct list_loss *loss)
{
	const long tenths = number(super, "timeo", -1), retrans = number(super, "retrans", 0);
	char text[8];

	if (kernel_mount_option(super, "hard", text, sizeof(text)))
		loss->fail_s = loss->give_up_s = VALUE_OFF;
	else if (tenths >= 0 && tenths < 100000 && retrans >= 0 && retrans < 100000)
		loss->fail_s = (int)((tenths * (retrans + 1) + 9) / 10 > INT32_MAX
					     ? INT32_MAX
					     : (tenths * (retrans + 1) + 9) / 10);
}

static void add_mount(const char *dir, const struct kernel_mounted *m, void *arg)
{
	struct listing *list = arg;
	struct list_link link = kernel_list_link_new("", "nfs", m->transport);
	struct search search = { .list = list, .link = &link };
	const char *path = strstr(m->source, ":/");

	if (!link.transport[0])
		kernel_mount_option(m->super, "proto", link.transport, sizeof(link.transport));
	link.transport[strcspn(link.transport, "6")] = 0;
	snprintf(link.from, sizeof(link.from), "%s", m->source);
	snprintf(link.target, sizeof(link.target), "%s", path ? path + 1 : m->source);
	kernel_mount_option(m->super, "vers", link.version, sizeof(link.version));
	kernel_mount_option(m->super, "addr", link.address, sizeof(link.address));
	/* the kernel omits the default port */
	if (!kernel_mount_option(m->super, "port", link.service, sizeof(link.service)) ||
		!strcmp(link.service, "0"))
		snprintf(link.service, sizeof(link.service), "%s",
			strcmp(link.transport, "rdma") ? "2049" : "20049");
	link.queues = (unsigned)number(m->super, "nconnect", 1);
	read_loss(m->super, &link.loss);
	if (!strcmp(link.transport, "rdma"))
		kernel_list_find_device(list, "rpcrdma", &link);
	kernel_sys_list(list->root, SWITCHES, read_switch, &search);
	snprintf(link.state, sizeof(link.state), "%s",
		search.connected    ? "connected"
		: search.connecting ? "connecting"
		: search.found      ? "idle"
				    : "");
	kernel_list_add_mount(list, kernel_list_add_link(list, &link), dir);
}

void kernel_list_nfs(struct listing *list)
{
	kernel_nfs_mounts(list->root, add_mount, list);
}
