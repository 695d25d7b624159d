/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is attached, as JSON: disks and mounts with their paths, then the RDMA ports. What is not known is left out. */
#include "status_show.h"
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

static void put_seconds(struct out *out, const char *key, int value)
{
	if (value == LIST_NEVER)
		out_text(out, key, NULL, "off");
	else if (value >= 0)
		out_u64(out, key, NULL, (uint64_t)value);
}

static void put_loss(struct out *out, const struct list_loss *loss)
{
	char text[24];

	out_object(out, "on_loss");
	put_text(out, "policy", status_policy(loss, text));
	put_seconds(out, "retry_s", loss->retry_s);
	put_seconds(out, "fail_s", loss->fail_s);
	put_seconds(out, "give_up_s", loss->give_up_s);
	put_seconds(out, "fail_left_s", loss->fail_left_s);
	put_seconds(out, "give_up_left_s", loss->give_up_left_s);
	put_seconds(out, "attempts", loss->attempts);
	out_end(out);
}

static void put_path(struct out *out, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];
	const bool local = !strcmp(link->transport, "local");

	out_object(out, NULL);
	put_text(out, "connection", link->name);
	out_text(out, "protocol", NULL, "%s", link->protocol);
	put_text(out, "version", link->version);
	put_text(out, "mounted_from", link->from);
	put_text(out, "transport", link->transport);
	put_text(out, "state", link->state);
	put_text(out, "path", path->node);
	put_text(out, "path_state", path->state);
	put_text(out, "target", link->target);
	if (path->disk >= 0 && !local && strcmp(link->protocol, "nfs"))
		out_u64(out, "unit", NULL, path->unit);
	put_text(out, "address", link->address);
	put_text(out, "service", link->service);
	put_text(out, "source", link->source);
	put_text(out, "netdev", link->netdev);
	put_text(out, "host", link->host);
	put_text(out, "rdma_device", link->rdma_dev);
	put_number(out, "rdma_port", link->rdma_port);
	put_number(out, "queues", link->queues);
	put_number(out, "pid", (uint64_t)link->pid);
	if (local)
		out_bool(out, "ours", NULL, link->ours);
	else
		put_loss(out, &link->loss);
	if (link->iscsi.is)
		status_iscsi_json(out, &link->iscsi, path);
	out_end(out);
}

/* Opens the member of the list that the path belongs to. */
static void put_disk(struct out *out, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_disk *disk = path->disk < 0 ? NULL : &list->disk[path->disk];

	out_object(out, NULL);
	if (disk) {
		out_text(out, disk->node[0] ? "device" : "mount", NULL, "%s", disk->name);
		put_number(out, "size", disk->size);
		put_number(out, "block_size", disk->block);
		put_text(out, "wwid", disk->wwid);
		put_text(out, "policy", disk->policy);
		put_text(out, "used_by", disk->used_by);
	}
	out_list(out, "paths");
}

static void put_port(struct out *out, const struct list_port *port)
{
	out_object(out, NULL);
	out_text(out, "device", NULL, "%s", port->dev);
	out_u64(out, "port", NULL, port->port);
	put_text(out, "link", port->kind);
	put_text(out, "state", port->state);
	put_text(out, "physical_state", port->physical);
	put_text(out, "link_layer", port->layer);
	put_text(out, "rate", port->rate);
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
		put_text(out, "type", port->gid[i].type);
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
	out_list(out, "rdma");
	for (unsigned i = 0; i < list->ports; i++)
		put_port(out, &list->port[i]);
	out_end(out);
}
