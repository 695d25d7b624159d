/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Print what is attached as JSON: disks and mounts with their paths, then the RDMA ports. Unknown
 * values are omitted. */
#include "show.h"
#include <stdio.h>
#include <string.h>

static void put_number(struct out *out, const char *key, uint64_t value)
{
	if (value)
		out_u64(out, key, NULL, value);
}

static void put_signed(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_u64(out, key, NULL, (uint64_t)value);
}

static void put_loss(struct out *out, const struct list_loss *loss)
{
	char text[24];

	out_nonempty(out, "on_loss", status_policy(loss, text));
	out_object(out, "timeouts");
	put_signed(out, "reconnect_seconds", loss->retry_s);
	put_signed(out, "fail_seconds", loss->fail_s);
	put_signed(out, "give_up_seconds", loss->give_up_s);
	put_signed(out, "fail_left_seconds", loss->fail_left_s);
	put_signed(out, "give_up_left_seconds", loss->give_up_left_s);
	put_signed(out, "reconnect_left_seconds", loss->retry_left_s);
	out_end(out);
	if (loss->attempts >= 0)
		out_u64(out, "attempts", NULL, (uint64_t)loss->attempts);
}

/* Each protocol has its own names for its target. */
static void put_target(struct out *out, const struct list_link *link, const struct list_path *path)
{
	const bool nvme = !strcmp(link->protocol, "nvme"), srp = !strcmp(link->protocol, "srp"),
		   iscsi = link->iscsi.is;
	const char *slash = strchr(link->target, '/');

	if (srp && slash) {
		out_text(out, "ioc_guid", NULL, "%.*s", (int)(slash - link->target), link->target);
		out_text(out, "id_ext", NULL, "%s", slash + 1);
	} else {
		out_nonempty(out,
			nvme                             ? "subnqn"
			: iscsi                          ? "target"
			: !strcmp(link->protocol, "nfs") ? "path"
							 : "backend",
			link->target);
	}
	if (path->disk >= 0 && (nvme || srp || iscsi))
		out_u64(out, nvme ? "nsid" : "lun", NULL, path->unit);
	out_nonempty(out, nvme ? "hostnqn" : "initiator", link->host);
}

/* For iSCSI print the portal, as iser-login does: after a redirect the connection has another
 * address. */
static void put_address(struct out *out, const struct list_link *link)
{
	char port[8] = "";

	if (link->iscsi.portal_port)
		snprintf(port, sizeof(port), "%u", link->iscsi.portal_port);
	out_nonempty(out, "traddr", link->iscsi.is ? link->iscsi.portal : link->address);
	out_nonempty(out,
		strcmp(link->protocol, "srp") || strlen(link->service) < 16 ? "trsvcid"
									    : "service_id",
		link->iscsi.is ? port : link->service);
}

static void put_bool(struct out *out, const char *key, int value)
{
	if (value >= 0)
		out_bool(out, key, NULL, value);
}

static void put_tmo(struct out *out, const struct kernel_iscsi_tmo *tmo)
{
	out_object(out, "timeouts");
	put_signed(out, "replacement_timeout_seconds", tmo->recovery);
	put_signed(out, "noop_interval_seconds", tmo->recv);
	put_signed(out, "noop_timeout_seconds", tmo->ping);
	put_signed(out, "abort_timeout_seconds", tmo->abort);
	put_signed(out, "lu_reset_timeout_seconds", tmo->lu_reset);
	put_signed(out, "tgt_reset_timeout_seconds", tmo->target_reset);
	out_end(out);
}

static void put_agreed(struct out *out, const struct kernel_iscsi_agreed_params *is)
{
	out_object(out, "agreed");
	put_bool(out, "header_digest", is->header_digest);
	put_bool(out, "data_digest", is->data_digest);
	put_signed(out, "max_recv_bytes", is->max_recv);
	put_signed(out, "max_xmit_bytes", is->max_xmit);
	put_signed(out, "first_burst_bytes", is->first_burst);
	put_signed(out, "max_burst_bytes", is->max_burst);
	put_bool(out, "initial_r2t", is->initial_r2t);
	put_bool(out, "immediate_data", is->immediate_data);
	put_bool(out, "data_pdu_in_order", is->pdu_in_order);
	put_bool(out, "data_sequence_in_order", is->sequence_in_order);
	put_signed(out, "max_r2t", is->max_r2t);
	put_signed(out, "erl", is->erl);
	out_end(out);
}

static void put_iscsi(struct out *out, const struct list_link *link, const struct list_path *path)
{
	const struct list_iscsi *iscsi = &link->iscsi;

	out_object(out, "iscsi");
	out_u64(out, "sid", NULL, iscsi->sid);
	out_u64(out, "cid", NULL, iscsi->cid);
	out_nonempty(out, "connection_state", iscsi->connection_state);
	out_nonempty(out, "hctl", path->hctl);
	put_signed(out, "tpgt", iscsi->tpgt);
	out_object(out, "peer");
	out_nonempty(out, "traddr", link->address);
	out_nonempty(out, "trsvcid", link->service);
	out_end(out);
	out_text(out, "kept_by", NULL, "%s", iscsi->restored_by);
	if (iscsi->restored_by_pid)
		out_u64(out, "kept_by_pid", NULL, (uint64_t)iscsi->restored_by_pid);
	put_tmo(out, &iscsi->tmo);
	put_agreed(out, &iscsi->agreed);
	out_end(out);
}

static void put_tls(struct out *out, const struct kernel_list *list, const struct list_tls *tls)
{
	out_object(out, "tls");
	put_number(out, "key", (uint64_t)tls->key);
	put_number(out, "configured_key", (uint64_t)tls->configured_key);
	out_nonempty(out, "identity", tls->identity);
	if (list->handshakes_answered >= 0)
		out_bool(out, "restored", NULL, list->handshakes_answered);
	out_end(out);
}

static void put_access(struct out *out, const struct list_path *path)
{
	out_nonempty(out, "access", path->access);
	if (path->has_group)
		out_u64(out, "group", NULL, path->group);
	if (path->preferred)
		out_bool(out, "preferred", NULL, true);
	out_nonempty(out, "map_state", path->map_state);
	if (path->has_priority)
		out_real(out, "priority", NULL, path->priority, 0);
	if (path->counted)
		out_u64(out, "requests", NULL, path->requests);
}

static void put_path(struct out *out, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_link *link = &list->link[path->link];
	const bool local = !strcmp(link->transport, "local");

	out_object(out, NULL);
	out_nonempty(out, "connection", link->name);
	out_text(out, "protocol", NULL, "%s", link->protocol);
	out_nonempty(out, "vers", link->version);
	out_nonempty(out, "mounted_from", link->from);
	out_nonempty(out, "transport", link->transport);
	out_word(out, "state", link->state);
	out_nonempty(out, "node", path->node);
	out_word(out, "path_state", path->state);
	put_target(out, link, path);
	put_address(out, link);
	out_nonempty(out, "host_traddr", link->source);
	out_nonempty(out, "netdev", link->netdev);
	out_nonempty(out, "rdma_device", link->rdma_dev);
	put_number(out, "rdma_port", link->rdma_port);
	put_number(out, "queues", link->queues);
	put_number(out, "pid", (uint64_t)link->pid);
	if (local)
		out_bool(out, "ours", NULL, link->ours);
	else
		put_loss(out, &link->loss);
	if (link->iscsi.is)
		put_iscsi(out, link, path);
	if (link->tls.is)
		put_tls(out, list, &link->tls);
	put_access(out, path);
	out_end(out);
}

/* Open the member of the list for the path's disk. */
static void put_disk(struct out *out, const struct kernel_list *list, const struct list_path *path)
{
	const struct list_disk *disk = path->disk < 0 ? NULL : &list->disk[path->disk];

	out_object(out, NULL);
	if (disk) {
		out_text(out, disk->node[0] ? "device" : "directory", NULL, "%s", disk->name);
		put_number(out, "size", disk->size);
		put_number(out, "block_size", disk->block);
		out_nonempty(out, "wwid", disk->wwid);
		out_word(out, "policy", disk->policy);
		if (disk->queues)
			out_bool(out, "queue_if_no_path", NULL, true);
		if (disk->waits)
			out_u64(out, "fails_in_seconds", NULL, disk->fails_in_s);
		kernel_holders_put(out, &disk->holders);
	}
	out_list(out, "paths");
}

static void put_port(struct out *out, const struct list_port *port)
{
	double rate;

	out_object(out, NULL);
	out_text(out, "rdma_device", NULL, "%s", port->dev);
	out_u64(out, "rdma_port", NULL, port->port);
	out_nonempty(out, "link", port->kind);
	out_word(out, "state", port->state);
	out_word(out, "physical_state", port->physical);
	out_word(out, "link_layer", port->layer);
	if (sscanf(port->rate, "%lf Gb/sec", &rate) == 1 && rate > 0 && rate < 1e6)
		out_real(out, "gigabits_per_second", NULL, rate, 1);
	out_nonempty(out, "netdev", port->netdev);
	out_nonempty(out, "driver", port->driver);
	out_nonempty(out, "provider", port->provider);
	out_nonempty(out, "firmware", port->firmware);
	put_number(out, "lid", port->lid);
	put_number(out, "sm_lid", port->sm_lid);
	out_list(out, "gids");
	for (unsigned i = 0; i < port->gids; i++) {
		out_object(out, NULL);
		out_u64(out, "index", NULL, port->gid[i].index);
		out_text(out, "gid", NULL, "%s", port->gid[i].gid);
		out_word(out, "type", port->gid[i].type);
		out_nonempty(out, "netdev", port->gid[i].netdev);
		out_end(out);
	}
	out_end(out);
	out_end(out);
}

/* Print a disk with its paths, which begin at this one. Return the number of paths. */
static unsigned put_paths(struct out *out, const struct kernel_list *list, unsigned first)
{
	unsigned i = first;

	put_disk(out, list, &list->path[first]);
	do
		put_path(out, list, &list->path[i++]);
	while (i < list->paths && list->path[i].disk >= 0 &&
		list->path[i].disk == list->path[first].disk);
	out_end(out);
	out_end(out);
	return i - first;
}

void kernel_list_put_disk(struct out *out, const struct kernel_list *list, const char *node)
{
	for (unsigned i = 0; i < list->paths; i++) {
		int disk = list->path[i].disk;

		if (disk >= 0 && !strcmp(list->disk[disk].node, node)) {
			put_paths(out, list, i);
			return;
		}
	}
}

void status_json(struct out *out, const struct kernel_list *list)
{
	out_list(out, "attached");
	for (unsigned i = 0; i < list->paths;)
		i += put_paths(out, list, i);
	out_end(out);
	out_list(out, "rdma_ports");
	for (unsigned i = 0; i < list->ports; i++)
		put_port(out, &list->port[i]);
	out_end(out);
}
