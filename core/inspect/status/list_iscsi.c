/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Add iSCSI sessions and the process that restores them. */
#include "kernel_iscsi.h"
#include "list.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct monitor {
	const char *by;
	int pid;
};

/* If iscsid runs, the session monitor leaves the sessions to it. */
static struct monitor find_monitor(int root)
{
	int iscsid = kernel_iscsid(root), ours = iscsid ? 0 : kernel_iscsi_monitor(root);

	return (struct monitor){ iscsid ? "iscsid"
				 : ours ? "rdmastor"
					: "none",
		iscsid ? iscsid : ours };
}

static void set_address(struct list_link *link, const struct kernel_iscsi_session *session)
{
	const bool live = session->address[0];
	unsigned port = live ? session->port : session->portal_port;

	snprintf(link->address, sizeof(link->address), "%s",
		live ? session->address : session->portal);
	if (port)
		snprintf(link->service, sizeof(link->service), "%u", port);
	snprintf(link->source, sizeof(link->source), "%s", session->local);
}

static int seconds(int value)
{
	return value == VALUE_OFF ? VALUE_OFF : value == VALUE_UNKNOWN ? VALUE_UNKNOWN : value;
}

static void add_session(struct listing *list, const struct kernel_iscsi_session *session,
	const struct monitor *monitor)
{
	const bool iser = !strcmp(session->transport, "iser");
	struct list_link link =
		kernel_list_link_new("", iser ? "iser" : "iscsi", iser ? "rdma" : "tcp");
	int at;

	snprintf(link.name, sizeof(link.name), "session%u", session->sid);
	snprintf(link.target, sizeof(link.target), "%s", session->target);
	snprintf(link.host, sizeof(link.host), "%.223s", session->initiator);
	snprintf(link.state, sizeof(link.state), "%s", session->state);
	snprintf(link.netdev, sizeof(link.netdev), "%s", session->netdev);
	set_address(&link, session);
	link.queues = session->connections;
	link.loss.fail_s = seconds(session->tmo.recovery);
	link.iscsi = (struct list_iscsi){ .is = true,
		.sid = session->sid,
		.cid = session->cid,
		.tpgt = session->tpgt,
		.agreed = session->agreed,
		.tmo = session->tmo,
		.portal_port = session->portal_port,
		.restored_by = monitor->by,
		.restored_by_pid = monitor->pid };
	snprintf(link.iscsi.connection_state, sizeof(link.iscsi.connection_state), "%s",
		session->connection_state);
	snprintf(link.iscsi.portal, sizeof(link.iscsi.portal), "%s", session->portal);
	if (strcmp(session->state, "LOGGED_IN"))
		kernel_list_lost(list->root, &link, kernel_list_iscsi_lost_at);
	if (!strcmp(session->state, "FREE"))
		link.loss.fail_left_s = 0;
	if (iser)
		kernel_list_find_device(list, "ib_iser", &link);
	at = kernel_list_add_link(list, &link);
	if (session->target_id >= 0)
		kernel_list_add_units(list, at, session->host, (unsigned)session->target_id);
	else
		kernel_list_add_path(list, (struct list_path){ .link = at }, "");
}

void kernel_list_iscsi(struct listing *list)
{
	struct kernel_iscsi_session *sessions;
	struct monitor monitor;
	unsigned count;

	if (kernel_iscsi_sessions(list->root, &sessions, &count, NULL)) {
		list->failed = true;
		return;
	}
	if (count)
		monitor = find_monitor(list->root);
	for (unsigned i = 0; i < count; i++)
		if (sessions[i].target[0])
			add_session(list, &sessions[i], &monitor);
	free(sessions);
}
