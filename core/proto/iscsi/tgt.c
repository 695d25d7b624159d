/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI target as a whole: its names and their logical units, who may log in, and the sessions
 * there are. */
#include "tgt.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define BUFFER  131072
#define BUFFERS 64

_Static_assert(ISCSI_TARGET_DISKS <= TARGET_DISKS && ISCSI_TARGET_LISTENS <= TARGET_LISTENS,
	"the frame's");

static void complete(struct target_cmd *cmd, uint32_t status)
{
	scsi_complete((struct scsi_cmd *)cmd, status);
}

static bool busy(const struct target_conn *base)
{
	const struct iscsi_tgt_conn *conn = (const struct iscsi_tgt_conn *)base;

	return conn->asking || scsi_nexus_busy(conn->nexus);
}

static void left(struct target_conn *base)
{
	struct iscsi_tgt_conn *conn = (struct iscsi_tgt_conn *)base;

	if (!conn->link)
		return;
	*conn->link = conn->next;
	if (conn->next)
		conn->next->link = conn->link;
	conn->link = NULL;
}

static const struct target_proto proto = { .name = "iscsi",
	.hello = "login",
	.stream = iscsi_tgt_incoming,
	.rdma = iscsi_tgt_iser_incoming,
	.decode = iscsi_tgt_decode,
	.work = scsi_work,
	.complete = complete,
	.status = scsi_io_status,
	.closing = iscsi_tgt_closing,
	.busy = busy,
	.left = left };

/* ---- Logins, on the target's loop. */

#define REPLACED "its initiator has logged in again"

static bool same_port(const struct iscsi_tgt_conn *conn, const struct iscsi_tgt_conn *other)
{
	return other->node == conn->node && !strcmp(other->initiator, conn->initiator) &&
	       !memcmp(other->isid, conn->isid, sizeof(conn->isid));
}

/* On the loop of the other session, which ends here if it is replaced: nothing of it starts after
 * the new login has succeeded. */
static bool same_initiator(const struct target_fence *fence, const struct target_conn *base)
{
	const struct iscsi_tgt_conn *conn = container_of(fence, struct iscsi_tgt_conn, fence);
	struct iscsi_tgt_conn *other = (struct iscsi_tgt_conn *)(uintptr_t)base;

	if (other == conn || !other->full || other->node != conn->node ||
		strcmp(other->initiator, conn->initiator) != 0)
		return false;
	if (same_port(conn, other) && !target_conn_gone(&other->base))
		target_conn_fail(&other->base, DIAG_CLOSED, ECONNABORTED, REPLACED);
	return true;
}

static void judged(struct iscsi_tgt_conn *conn, uint16_t status)
{
	conn->status = status;
	conn->hop.run = iscsi_tgt_judged;
	loop_post(conn->base.loop, &conn->hop);
}

/* RFC 7143, 6.3.5: a session that the same initiator port begins again ends the ones before, which
 * are behind it in the list. */
static void fenced(struct target_fence *fence)
{
	struct iscsi_tgt_conn *conn = container_of(fence, struct iscsi_tgt_conn, fence);

	for (struct iscsi_tgt_conn *other = conn->next; other; other = other->next)
		if (same_port(conn, other))
			target_conn_kill(&other->base, REPLACED);
	judged(conn, 0);
}

static void judge(struct loop_msg *hop)
{
	struct iscsi_tgt_conn *conn = container_of(hop, struct iscsi_tgt_conn, hop);
	struct iscsi_target *target = iscsi_tgt_of(conn);

	if (!conn->node) {
		target_admit_guest(&conn->base);
		judged(conn, 0);
		return;
	}
	if (!target_admit(&conn->base, conn->initiator, false)) {
		judged(conn, ISCSI_NO_RESOURCES);
		return;
	}
	conn->tsih = ++target->last_tsih ? target->last_tsih : ++target->last_tsih;
	conn->link = &target->sessions;
	conn->next = target->sessions;
	if (conn->next)
		conn->next->link = &conn->next;
	target->sessions = conn;
	conn->fence.same = same_initiator;
	conn->fence.back = fenced;
	conn->fence.home = target->base.loop;
	target_fence(&target->base, &conn->fence);
}

void iscsi_tgt_judge(struct iscsi_tgt_conn *conn)
{
	conn->asking = true;
	conn->hop.run = judge;
	loop_post(conn->base.target->loop, &conn->hop);
}

/* ---- SendTargets. */

const struct iscsi_tgt_node *iscsi_tgt_find(const struct iscsi_target *target, const char *name)
{
	for (unsigned i = 0; i < target->nodes; i++)
		if (!strcmp(target->node[i].name, name))
			return &target->node[i];
	return NULL;
}

/* Portals of the carrier that the initiator uses. For a listener on all addresses, list the address
 * that it has connected to. */
static void list_portals(const struct iscsi_tgt_conn *conn, FILE *to)
{
	const struct iscsi_target *target = iscsi_tgt_of(conn);
	unsigned ways = ((const struct iscsi_tgt_carrier *)(const void *)conn->base.carrier)->ways;

	for (unsigned i = 0; i < target->opt.listens; i++) {
		struct addr bound;
		char host[ADDR_TEXT];

		if (!(target_ways(&target->base, i, &bound) & ways))
			continue;
		if (addr_is_any(&bound) && bound.ss.ss_family != conn->base.local.ss.ss_family &&
			bound.ss.ss_family != AF_INET6)
			continue;
		addr_host(addr_is_any(&bound) ? &conn->base.local : &bound, host);
		fprintf(to, "TargetAddress=%s%s%s:%u,%u%c", strchr(host, ':') ? "[" : "", host,
			strchr(host, ':') ? "]" : "", addr_port(&bound), ISCSI_TARGET_PORTAL_TAG,
			0);
	}
}

int iscsi_tgt_list(struct iscsi_tgt_conn *conn, const char *which)
{
	const struct iscsi_target *target = iscsi_tgt_of(conn);
	bool all = !strcmp(which, "All");
	FILE *to;

	free(conn->targets);
	conn->targets = NULL;
	conn->told = 0;
	to = open_memstream(&conn->targets, &conn->targets_len);
	if (!to)
		return -ENOMEM;
	for (unsigned i = 0; i < target->nodes; i++) {
		const struct iscsi_tgt_node *node = &target->node[i];

		if (!all && (*which ? strcmp(which, node->name) != 0 : node != conn->node))
			continue;
		fprintf(to, "TargetName=%s%c", node->name, 0);
		list_portals(conn, to);
	}
	return fclose(to) ? -ENOMEM : 0;
}

/* ---- The whole. */

static struct iscsi_tgt_node *node_of(struct iscsi_target *target, const char *name)
{
	for (unsigned i = 0; i < target->nodes; i++)
		if (!strcmp(target->node[i].name, name))
			return &target->node[i];
	target->node[target->nodes].name = name;
	return &target->node[target->nodes++];
}

static void free_nodes(struct iscsi_target *target)
{
	for (unsigned i = 0; i < target->nodes; i++)
		scsi_target_free(target->node[i].scsi);
}

static int make_node(struct iscsi_target *target, struct iscsi_tgt_node *node, struct diag *diag)
{
	struct scsi_target_conf conf = { .protocol = SCSI_ISCSI };

	snprintf(conf.device_name, sizeof(conf.device_name), "%s", node->name);
	snprintf(conf.port_name, sizeof(conf.port_name), "%s,t,0x%04x", node->name,
		ISCSI_TARGET_PORTAL_TAG);
	for (unsigned i = 0; i < target->opt.disks; i++) {
		const struct iscsi_target_disk *disk = &target->opt.disk[i];

		if (!(node->disks & 1u << i))
			continue;
		conf.lun[conf.luns].disk = &target->base.disk[i];
		conf.lun[conf.luns].bdev = disk->bdev;
		memcpy(conf.lun[conf.luns].uuid, disk->uuid, sizeof(disk->uuid));
		memcpy(conf.lun[conf.luns].nguid, disk->nguid, sizeof(disk->nguid));
		memcpy(conf.lun[conf.luns].serial, disk->serial, sizeof(disk->serial));
		conf.luns++;
	}
	return scsi_target_new(&node->scsi, &conf, diag);
}

static int start(
	struct iscsi_target *target, struct loop *loop, uint32_t timeout_ms, struct diag *diag)
{
	const struct iscsi_target_options *opt = &target->opt;
	struct target_options base = { .disks = opt->disks,
		.listens = opt->listens,
		.loops = opt->loops,
		.nloops = opt->nloops,
		.buffer = opt->buffer ? opt->buffer : BUFFER,
		.buffers = opt->buffers ? opt->buffers : BUFFERS,
		.connections = opt->connections ? opt->connections : ISCSI_TGT_CONNECTIONS,
		.listed = opt->initiators,
		.open_ms = ISCSI_TGT_LOGIN_MS,
		.stall_ms = opt->stall_ms ? opt->stall_ms : ISCSI_TGT_STALL_MS,
		.full = opt->full,
		.user = opt->user };

	for (unsigned i = 0; i < opt->disks; i++) {
		base.disk[i].bdev = opt->disk[i].bdev;
		base.disk[i].ro = opt->disk[i].ro;
	}
	for (unsigned i = 0; i < opt->listens; i++)
		base.listen[i] = opt->listen[i];
	return target_start(&target->base, loop, &proto, &base, timeout_ms, diag);
}

int iscsi_target_start(struct iscsi_target **out, struct loop *loop,
	const struct iscsi_target_options *opt, uint32_t timeout_ms, struct diag *diag)
{
	struct iscsi_target *target = calloc(1, sizeof(*target));
	int err = target ? iscsi_auth_check(&opt->auth, diag) : diag_sys(diag, ENOMEM, "target");

	if (!err) {
		target->opt = *opt;
		for (unsigned i = 0; i < opt->disks; i++)
			node_of(target, opt->disk[i].name)->disks |= 1u << i;
	}
	for (unsigned i = 0; !err && i < target->nodes; i++)
		err = make_node(target, &target->node[i], diag);
	if (!err)
		err = start(target, loop, timeout_ms, diag);
	if (err) {
		if (target)
			free_nodes(target);
		free(target);
		return err;
	}
	*out = target;
	return 0;
}

unsigned iscsi_target_ways(const struct iscsi_target *target, unsigned listen, struct addr *bound)
{
	return target_ways(&target->base, listen, bound);
}

void iscsi_target_get_status(const struct iscsi_target *target, struct iscsi_target_status *status)
{
	*status = (struct iscsi_target_status){ .refused = target_refused(&target->base) };
	target_get_count(&target->base, &status->count);
	for (const struct iscsi_tgt_conn *conn = target->sessions; conn; conn = conn->next)
		status->sessions++;
}

void iscsi_target_resized(struct iscsi_target *target, struct bdev *bdev)
{
	for (unsigned i = 0; i < target->opt.disks; i++) {
		if (target->base.disk[i].bdev != bdev || !target_resized(&target->base, i))
			continue;
		for (unsigned n = 0; n < target->nodes; n++)
			scsi_target_resized(target->node[n].scsi, &target->base.disk[i]);
	}
}

int iscsi_target_stop(struct iscsi_target *target, uint32_t timeout_ms, struct diag *diag)
{
	int err = target ? target_stop(&target->base, timeout_ms, diag) : 0;

	if (target && err != -EINPROGRESS) {
		free_nodes(target);
		free(target);
	}
	return err;
}
