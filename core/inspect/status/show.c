/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print what is attached as tables: a row per path, the paths of a disk together; then the RDMA
 * ports. */
#include "show.h"
#include "names.h"
#include "out.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL 1400

const char *status_policy(const struct list_loss *loss, char text[24])
{
	int hold = loss->fail_s >= 0 ? loss->fail_s : loss->give_up_s;

	if (loss->give_up_s >= 0 && loss->give_up_s < hold)
		hold = loss->give_up_s;
	if (hold > 0)
		snprintf(text, 24, "wait=%d", hold);
	else
		snprintf(text, 24, "%s",
			hold == 0                                        ? "fail-fast"
			: hold == VALUE_OFF || loss->fail_s == VALUE_OFF ? "forever"
									 : "");
	return text;
}

/* Time until requests fail or, if they fail already, until the device is removed. */
static const char *left(const struct list_loss *loss, char text[24])
{
	int seconds = loss->fail_left_s;

	if (seconds <= 0 || (loss->give_up_left_s >= 0 && loss->give_up_left_s < seconds))
		seconds = loss->give_up_left_s >= 0 ? loss->give_up_left_s : seconds;
	text[0] = 0;
	if (seconds >= 0)
		snprintf(text, 24, "%ds", seconds);
	return text;
}

static const char *join(char *text, size_t len, const char *a, const char *with, const char *b)
{
	snprintf(text, len, "%s%s%s", a, a[0] && b[0] ? with : "", b);
	return text;
}

const char *status_address(const char *host, const char *port, char text[STATUS_ADDRESS])
{
	const bool brackets = strchr(host, ':');

	snprintf(text, STATUS_ADDRESS, "%s%s%s%s%s", brackets ? "[" : "", host, brackets ? "]" : "",
		*port ? ":" : "", port);
	return text;
}

static const char *target(
	const struct list_link *link, const struct list_path *path, char *text, size_t len)
{
	char server[32] = "";

	if (link->pid)
		snprintf(server, sizeof(server), "process %d", link->pid);
	if (!strcmp(link->transport, "local"))
		join(text, len, link->ours ? "rdmastor" : "", " ", server);
	else if (path->disk < 0 || !strcmp(link->protocol, "nfs"))
		snprintf(text, len, "%s", link->target);
	else
		snprintf(text, len, "%s/%" PRIu64, link->target, path->unit);
	return text;
}

const char *status_size(uint64_t bytes, char text[16])
{
	char *blank;

	text[0] = 0;
	if (bytes && (blank = strchr(out_human(bytes, text), ' ')))
		memmove(blank, blank + 1, strlen(blank));
	return text;
}

static const char *rdma_name(const char *dev, unsigned port, char text[80])
{
	text[0] = 0;
	if (dev[0] && port)
		snprintf(text, 80, "%s/%u", dev, port);
	else
		snprintf(text, 80, "%s", dev);
	return text;
}

static void path_row(
	struct table *table, const struct kernel_list *list, const struct list_path *path)
{
	static const struct list_disk none;
	const struct list_link *link = &list->link[path->link];
	const struct list_disk *disk = path->disk < 0 ? &none : &list->disk[path->disk];
	char via[80], state[64], where[STATUS_ADDRESS], rdma[80],
		queues[16] = "", loss[24], time[24], to[CELL], bytes[16], protocol[20];
	const bool own_name =
		path->node[0] && strcmp(path->node, disk->node) && strcmp(path->node, link->name);

	if (link->queues)
		snprintf(queues, sizeof(queues), "%u", link->queues);
	table_row(table,
		(const char *const[]){
			disk->name,
			status_size(disk->size, bytes),
			join(protocol, sizeof(protocol), link->protocol, "", link->version),
			link->transport,
			join(via, sizeof(via), strcmp(link->transport, "local") ? link->name : "",
				":", own_name ? path->node : ""),
			join(state, sizeof(state), link->state, "/", path->state),
			strcmp(link->protocol, "srp")
				? status_address(link->address, link->service, where)
				: link->address,
			link->source,
			rdma_name(link->rdma_dev, link->rdma_port, rdma),
			queues,
			status_policy(&link->loss, loss),
			left(&link->loss, time),
			target(link, path, to, sizeof(to)),
			disk->used_by,
		});
}

static void paths_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "DEVICE", "SIZE", "PROTOCOL", "TRANSPORT", "PATH",
		"STATE", "ADDRESS", "SOURCE", "RDMA", "QUEUES", "ON-LOSS", "LEFT", "TARGET",
		"USED-BY" };
	struct table table = TABLE(out, head);

	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->paths; i++)
			path_row(&table, list, &list->path[i]);
}

static unsigned paths_of(const struct kernel_list *list, int disk)
{
	unsigned count = 0;

	for (unsigned i = 0; i < list->paths; i++)
		count += disk >= 0 && list->path[i].disk == disk;
	return count;
}

/* Whether the disk can have several paths: one that has lost the others is still listed. */
static bool is_multipath(const struct kernel_list *list, const struct list_path *path)
{
	return paths_of(list, path->disk) > 1 || (path->disk >= 0 && list->disk[path->disk].is_map);
}

/* Requests since the previous sample, if that has the same path. */
static uint64_t requests_since(const struct kernel_list *list, const struct list_path *path,
	const struct kernel_list *before)
{
	for (unsigned i = 0; before && i < before->paths; i++) {
		const struct list_path *then = &before->path[i];

		if (!strcmp(then->node, path->node) && then->requests <= path->requests &&
			!strcmp(before->link[then->link].name, list->link[path->link].name))
			return path->requests - then->requests;
	}
	return path->requests;
}

/* "75%" of the requests of the disk; "": none, or unknown. */
static const char *share(const struct kernel_list *list, const struct list_path *path,
	const struct kernel_list *before, char text[24])
{
	uint64_t all = 0;

	text[0] = 0;
	for (unsigned i = 0; i < list->paths; i++)
		if (list->path[i].disk == path->disk)
			all += requests_since(list, &list->path[i], before);
	if (path->counted && all)
		snprintf(text, 24, "%.0f%%",
			100. * (double)requests_since(list, path, before) / (double)all);
	return text;
}

static void multipath_row(struct table *table, const struct kernel_list *list,
	const struct list_path *path, const struct kernel_list *before)
{
	const struct list_link *link = &list->link[path->link];
	const struct list_disk *disk = &list->disk[path->disk];
	char via[80], own[40], state[80], group[16] = "", part[24], retry[24] = "", time[24];

	if (path->has_group)
		snprintf(group, sizeof(group), "%" PRIu32, path->group);
	if (link->loss.retry_left_s >= 0)
		snprintf(retry, sizeof(retry), "%ds", link->loss.retry_left_s);
	if (disk->waits)
		snprintf(time, sizeof(time), "%us", disk->fails_in_s);
	else
		left(&link->loss, time);
	join(own, sizeof(own), strcmp(path->state, path->access) ? path->state : "", "/",
		path->map_state);
	table_row(table, (const char *const[]){
				 disk->name,
				 disk->policy,
				 join(via, sizeof(via), link->name, ":", path->node),
				 join(state, sizeof(state), link->state, "/", own),
				 path->access,
				 group,
				 path->preferred ? "yes" : "",
				 share(list, path, before, part),
				 retry,
				 time,
			 });
}

static void multipath_table(
	struct out *out, const struct kernel_list *list, const struct kernel_list *before)
{
	static const char *const head[] = { "MULTIPATH", "POLICY", "PATH", "STATE", "ACCESS",
		"GROUP", "PREFERRED", "SHARE", "RETRY", "LEFT" };
	struct table table = TABLE(out, head);
	bool any = false;

	for (unsigned i = 0; i < list->paths; i++)
		any |= is_multipath(list, &list->path[i]);
	if (!any)
		return;
	out_line(out, "%s", "");
	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->paths; i++)
			if (is_multipath(list, &list->path[i]))
				multipath_row(&table, list, &list->path[i], before);
}

static const char *number(int value, char text[24])
{
	text[0] = 0;
	if (value == VALUE_OFF)
		snprintf(text, 24, "off");
	else if (value >= 0)
		snprintf(text, 24, "%d", value);
	return text;
}

/* The number of a key; "": none. */
static const char *serial(int32_t key, char text[24])
{
	return number(key ? key : VALUE_UNKNOWN, text);
}

static const char *yes(int value)
{
	return value < 0 ? "" : value ? "yes" : "no";
}

static void session_row(
	struct table *table, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];
	const struct list_iscsi *iscsi = &link->iscsi;
	const struct kernel_iscsi_tmo *tmo = &iscsi->tmo;
	char where[STATUS_ADDRESS], port[8] = "", by[40], ping[24] = "", text[4][24];

	if (iscsi->portal_port)
		snprintf(port, sizeof(port), "%u", iscsi->portal_port);
	snprintf(by, sizeof(by), iscsi->restored_by_pid ? "%s:%d" : "%s", iscsi->restored_by,
		iscsi->restored_by_pid);
	if (tmo->recv >= 0 && tmo->ping >= 0)
		snprintf(ping, sizeof(ping), "%d+%d", tmo->recv, tmo->ping);
	table_row(table,
		(const char *const[]){ link->name, path->hctl, path->node, iscsi->connection_state,
			status_address(iscsi->portal, port, where), by,
			number(tmo->recovery, text[0]), ping, number(tmo->abort, text[1]),
			number(tmo->lu_reset, text[2]), number(tmo->target_reset, text[3]) });
}

/* Whether a path of the connection is listed. */
static bool is_listed(const struct kernel_list *list, unsigned link)
{
	bool listed = false;

	for (unsigned i = 0; i < list->paths; i++)
		listed |= list->path[i].link == (int)link;
	return listed;
}

static bool is_listed_session(const struct kernel_list *list, unsigned link)
{
	return list->link[link].iscsi.is && is_listed(list, link);
}

static bool is_listed_tls(const struct kernel_list *list, unsigned link)
{
	return list->link[link].tls.is && is_listed(list, link);
}

static void tls_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "TLS", "KEY", "CONFIGURED", "RESTORED", "IDENTITY" };
	struct table table = TABLE(out, head);
	char text[2][24];
	bool any = false;

	for (unsigned i = 0; i < list->links; i++)
		any |= is_listed_tls(list, i);
	if (!any)
		return;
	out_line(out, "%s", "");
	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->links; i++) {
			const struct list_tls *tls = &list->link[i].tls;

			if (is_listed_tls(list, i))
				table_row(&table, (const char *const[]){ list->link[i].name,
							  serial(tls->key, text[0]),
							  serial(tls->configured_key, text[1]),
							  list->handshakes_answered < 0
								  ? "unknown"
								  : yes(list->handshakes_answered),
							  tls->identity });
		}
	if (!list->handshakes_answered)
		out_line(out, "connections with TLS that are lost will not be restored: "
			      "start rdmastor tls-daemon --daemon, or tlshd");
}

static void sessions_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "ISCSI", "H:C:T:L", "NODE", "CONNECTION", "PORTAL",
		"KEPT-BY", "RECOVERY", "PING", "ABORT", "LU-RESET", "TARGET-RESET" };
	struct table table = TABLE(out, head);

	out_line(out, "%s", "");
	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->paths; i++)
			if (list->link[list->path[i].link].iscsi.is)
				session_row(&table, list, &list->path[i]);
}

static void agreed_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "ISCSI", "HEADER-DIGEST", "DATA-DIGEST", "MAX-RECV",
		"MAX-XMIT", "FIRST-BURST", "MAX-BURST", "R2T", "MAX-R2T", "IMMEDIATE", "ERL" };
	struct table table = TABLE(out, head);
	char text[6][24];

	out_line(out, "%s", "");
	while (table_pass(&table, head))
		for (unsigned i = 0; i < list->links; i++) {
			const struct kernel_iscsi_agreed_params *is = &list->link[i].iscsi.agreed;

			if (is_listed_session(list, i))
				table_row(&table,
					(const char *const[]){ list->link[i].name,
						yes(is->header_digest), yes(is->data_digest),
						number(is->max_recv, text[0]),
						number(is->max_xmit, text[1]),
						number(is->first_burst, text[2]),
						number(is->max_burst, text[3]),
						yes(is->initial_r2t), number(is->max_r2t, text[4]),
						yes(is->immediate_data),
						number(is->erl, text[5]) });
		}
}

static void iscsi_tables(struct out *out, const struct kernel_list *list, bool verbose)
{
	bool any = false;

	for (unsigned i = 0; i < list->links; i++)
		any |= is_listed_session(list, i);
	if (!any)
		return;
	sessions_table(out, list);
	if (verbose)
		agreed_table(out, list);
}

static void ports_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "RDMA", "LINK", "STATE", "NETDEV", "DRIVER", "PROVIDER",
		"RATE" };
	struct table table = TABLE(out, head);
	char name[80], state[64];

	while (table_pass(&table, head))
		for (const struct list_port *port = list->port; port < list->port + list->ports;
			port++)
			table_row(&table,
				(const char *const[]){ rdma_name(port->dev, port->port, name),
					port->kind,
					join(state, sizeof(state), port->state, "/",
						port->physical),
					port->netdev, port->driver, port->provider, port->rate });
}

static void gids_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "RDMA", "INDEX", "GID", "NETDEV", "TYPE" };
	struct table table = TABLE(out, head);
	char name[80], index[16];

	while (table_pass(&table, head))
		for (const struct list_port *port = list->port; port < list->port + list->ports;
			port++)
			for (unsigned g = 0; g < port->gids; g++) {
				snprintf(index, sizeof(index), "%u", port->gid[g].index);
				table_row(&table, (const char *const[]){
							  rdma_name(port->dev, port->port, name),
							  index, port->gid[g].gid,
							  port->gid[g].netdev, port->gid[g].type });
			}
}

static void show_text(
	struct out *out, const struct kernel_list *list, const struct status_show *what)
{
	const bool serving = what->serving->processes;

	if (list->paths)
		paths_table(out, list);
	else if (what->all && !serving)
		out_line(out, "nothing is attached or served%s",
			list->ports ? "" : "; no RDMA device");
	multipath_table(out, list, what->list_before);
	iscsi_tables(out, list, what->verbose);
	tls_table(out, list);
	if (serving && list->paths)
		out_line(out, "%s", "");
	serving_text(out, what->serving, what->before);
	if (!list->ports)
		return;
	if (list->paths || what->all || serving)
		out_line(out, "%s", "");
	ports_table(out, list);
	if (!what->gids)
		return;
	out_line(out, "%s", "");
	gids_table(out, list);
}

static void show_identity(struct out *out, const struct identity *identity)
{
	char id[UUID_TEXT];

	uuid_text(id, identity->hostid);
	out_line(out, "%s", "");
	out_line(out, "host NQN:  %s (%s)", identity->hostnqn, identity->nqn_from);
	out_line(out, "host ID:   %s (%s)", id, identity->id_from);
	out_object(out, "identity");
	out_text(out, "hostnqn", NULL, "%s", identity->hostnqn);
	out_text(out, "hostnqn_from", NULL, "%s", identity->nqn_from);
	out_text(out, "hostid", NULL, "%s", id);
	out_text(out, "hostid_from", NULL, "%s", identity->id_from);
	out_bool(out, "random", NULL, identity->random);
	out_end(out);
}

void kernel_status_show(
	struct out *out, const struct kernel_list *list, const struct status_show *what)
{
	if (out->json) {
		status_json(out, list);
		serving_json(out, what->serving);
	} else {
		show_text(out, list, what);
	}
	if (what->identity)
		show_identity(out, what->identity);
}
