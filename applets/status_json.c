/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, as JSON: disks and mounts with their paths, then the RDMA ports. Unknown values
 * are omitted. */
#include "status_show.h"
#include <stdio.h>
#include <string.h>

static void put_text(struct out *out, const char *key, const char *text)
{
	if (text[0])
		out_text(out, key, NULL, "%s", text);
}

static void put_number(struct out *out, const char *key, uint64_t value)
{
	if (value)
		out_u64(out, key, NULL, value);
}

void status_seconds(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_u64(out, key, NULL, (uint64_t)value);
}

static void put_loss(struct out *out, const struct list_loss *loss)
{
	char text[24];

	put_text(out, "on_loss", status_policy(loss, text));
	out_object(out, "timeouts");
	status_seconds(out, "reconnect_seconds", loss->retry_s);
	status_seconds(out, "fail_seconds", loss->fail_s);
	status_seconds(out, "give_up_seconds", loss->give_up_s);
	status_seconds(out, "fail_left_seconds", loss->fail_left_s);
	status_seconds(out, "give_up_left_seconds", loss->give_up_left_s);
	out_end(out);
	if (loss->attempts >= 0)
		out_u64(out, "attempts", NULL, (uint64_t)loss->attempts);
}

/* Each protocol has its own names for what it is connected to. */
static void put_target(struct out *out, const struct list_link *link, const struct list_path *path)
{
	const bool nvme = !strcmp(link->protocol, "nvme"), srp = !strcmp(link->protocol, "srp"),
		   iscsi = link->iscsi.is;
	const char *slash = strchr(link->target, '/');

	if (srp && slash) {
		out_text(out, "ioc_guid", NULL, "%.*s", (int)(slash - link->target), link->target);
		out_text(out, "id_ext", NULL, "%s", slash + 1);
	} else {
		put_text(out,
			nvme                             ? "subnqn"
			: iscsi                          ? "target"
			: !strcmp(link->protocol, "nfs") ? "path"
							 : "backend",
			link->target);
	}
	if (path->disk >= 0 && (nvme || srp || iscsi))
		out_u64(out, nvme ? "nsid" : "lun", NULL, path->unit);
	put_text(out, nvme ? "hostnqn" : "initiator", link->host);
}

/* Of iSCSI the portal, as iser-login prints it: after a redirect the connection's address is
 * another. */
static void put_address(struct out *out, const struct list_link *link)
{
	char port[8] = "";

	if (link->iscsi.portal_port)
		snprintf(port, sizeof(port), "%u", link->iscsi.portal_port);
	put_text(out, "traddr", link->iscsi.is ? link->iscsi.portal : link->address);
	put_text(out, strcmp(link->protocol, "srp") ? "trsvcid" : "service_id",
		link->iscsi.is ? port : link->service);
}

static void put_path(struct out *out, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];
	const bool local = !strcmp(link->transport, "local");

	out_object(out, NULL);
	put_text(out, "connection", link->name);
	out_text(out, "protocol", NULL, "%s", link->protocol);
	put_text(out, "vers", link->version);
	put_text(out, "mounted_from", link->from);
	put_text(out, "transport", link->transport);
	out_word(out, "state", link->state);
	put_text(out, "node", path->node);
	out_word(out, "path_state", path->state);
	put_target(out, link, path);
	put_address(out, link);
	put_text(out, "host_traddr", link->source);
	put_text(out, "netdev", link->netdev);
	put_text(out, "rdma_device", link->rdma_dev);
	put_number(out, "rdma_port", link->rdma_port);
	put_number(out, "queues", link->queues);
	put_number(out, "pid", (uint64_t)link->pid);
	if (local)
		out_bool(out, "ours", NULL, link->ours);
	else
		put_loss(out, &link->loss);
	if (link->iscsi.is)
		status_iscsi_json(out, link, path);
	out_end(out);
}

/* Opens the member of the list that the path belongs to. */
static void put_disk(struct out *out, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_disk *disk = path->disk < 0 ? NULL : &list->disk[path->disk];

	out_object(out, NULL);
	if (disk) {
		out_text(out, disk->node[0] ? "device" : "directory", NULL, "%s", disk->name);
		put_number(out, "size", disk->size);
		put_number(out, "block_size", disk->block);
		put_text(out, "wwid", disk->wwid);
		out_word(out, "policy", disk->policy);
		put_text(out, "holders", disk->used_by);
	}
	out_list(out, "paths");
}

static void put_port(struct out *out, const struct list_port *port)
{
	double rate;

	out_object(out, NULL);
	out_text(out, "rdma_device", NULL, "%s", port->dev);
	out_u64(out, "rdma_port", NULL, port->port);
	put_text(out, "link", port->kind);
	out_word(out, "state", port->state);
	out_word(out, "physical_state", port->physical);
	out_word(out, "link_layer", port->layer);
	if (sscanf(port->rate, "%lf Gb/sec", &rate) == 1 && rate > 0 && rate < 1e6)
		out_real(out, "gigabits_per_second", NULL, rate, 1);
	put_text(out, "netdev", port->netdev);
	put_text(out, "driver", port->driver);
	put_text(out, "provider", port->provider);
	put_text(out, "firmware", port->firmware);
	put_number(out, "lid", port->lid);
	put_number(out, "sm_lid", port->sm_lid);
	out_list(out, "gids");
	for (unsigned i = 0; i < port->gids; i++) {
		out_object(out, NULL);
		out_u64(out, "index", NULL, port->gid[i].index);
		out_text(out, "gid", NULL, "%s", port->gid[i].gid);
		out_word(out, "type", port->gid[i].type);
		put_text(out, "netdev", port->gid[i].netdev);
		out_end(out);
	}
	out_end(out);
	out_end(out);
}

void status_json(struct out *out, const struct kernel_list *list)
{
	const struct list_path *last = NULL;

	out_list(out, "attached");
	for (unsigned i = 0; i < list->paths; i++) {
		const struct list_path *path = &list->path[i];

		if (!last || path->disk < 0 || path->disk != last->disk) {
			if (last) {
				out_end(out);
				out_end(out);
			}
			put_disk(out, list, path);
		}
		put_path(out, list, path);
		last = path;
	}
	if (last) {
		out_end(out);
		out_end(out);
	}
	out_end(out);
	out_list(out, "rdma_ports");
	for (unsigned i = 0; i < list->ports; i++)
		put_port(out, &list->port[i]);
	out_end(out);
}
