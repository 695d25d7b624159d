/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, as tables: a row for each path to a disk, those of one disk together; then the
 * RDMA ports. */
#include "status_show.h"
#include "names.h"
#include "status_serving.h"
#include "status_table.h"
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

/* Until requests fail, or, when they do so already, until the device goes. */
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

static const char *address(const struct list_link *link, char *text, size_t len)
{
	const bool brackets = strchr(link->address, ':') && strcmp(link->protocol, "srp");
	const bool port = link->service[0] && strcmp(link->protocol, "srp");

	snprintf(text, len, "%s%s%s%s%s", brackets ? "[" : "", link->address, brackets ? "]" : "",
		port ? ":" : "", port ? link->service : "");
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
	char way[80], state[64], where[200], rdma[80], queues[16] = "", loss[24], time[24],
						       to[CELL], bytes[16], protocol[20];
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
			join(way, sizeof(way), strcmp(link->transport, "local") ? link->name : "",
				":", own_name ? path->node : ""),
			join(state, sizeof(state), link->state, "/", path->state),
			address(link, where, sizeof(where)),
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
	struct table table = { .out = out, .columns = sizeof(head) / sizeof(*head) };

	for (int pass = 0; pass < 2; pass++) {
		table.print = pass;
		table_row(&table, head);
		for (unsigned i = 0; i < list->paths; i++)
			path_row(&table, list, &list->path[i]);
	}
}

static void port_row(struct table *table, const struct list_port *port)
{
	char name[80], state[64];

	table_row(table, (const char *const[]){ rdma_name(port->dev, port->port, name), port->kind,
				 join(state, sizeof(state), port->state, "/", port->physical),
				 port->netdev, port->driver, port->provider, port->rate });
}

static void ports_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "RDMA", "LINK", "STATE", "NETDEV", "DRIVER", "PROVIDER",
		"RATE" };
	struct table table = { .out = out, .columns = sizeof(head) / sizeof(*head) };

	for (int pass = 0; pass < 2; pass++) {
		table.print = pass;
		table_row(&table, head);
		for (unsigned i = 0; i < list->ports; i++)
			port_row(&table, &list->port[i]);
	}
}

static void gids_table(struct out *out, const struct kernel_list *list)
{
	static const char *const head[] = { "RDMA", "INDEX", "GID", "NETDEV", "TYPE" };
	struct table table = { .out = out, .columns = sizeof(head) / sizeof(*head) };
	char name[80], index[16];

	for (int pass = 0; pass < 2; pass++) {
		table.print = pass;
		table_row(&table, head);
		for (unsigned i = 0; i < list->ports; i++) {
			const struct list_port *port = &list->port[i];

			for (unsigned g = 0; g < port->gids; g++) {
				snprintf(index, sizeof(index), "%u", port->gid[g].index);
				table_row(&table, (const char *const[]){
							  rdma_name(port->dev, port->port, name),
							  index, port->gid[g].gid,
							  port->gid[g].netdev, port->gid[g].type });
			}
		}
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
	status_iscsi(out, list, what->verbose);
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

static void show_identity(struct out *out, const struct identity *who)
{
	char id[UUID_TEXT];

	uuid_text(id, who->hostid);
	out_line(out, "%s", "");
	out_line(out, "host NQN:  %s (from %s)", who->hostnqn, who->nqn_from);
	out_line(out, "host ID:   %s (from %s)", id, who->id_from);
	out_object(out, "identity");
	out_text(out, "hostnqn", NULL, "%s", who->hostnqn);
	out_text(out, "hostnqn_from", NULL, "%s", who->nqn_from);
	out_text(out, "hostid", NULL, "%s", id);
	out_text(out, "hostid_from", NULL, "%s", who->id_from);
	out_bool(out, "random", NULL, who->random);
	out_end(out);
}

void status_show(struct out *out, const struct kernel_list *list, const struct status_show *what)
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
