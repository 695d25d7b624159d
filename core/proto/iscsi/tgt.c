/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI target: its names and their logical units, authorization of logins, and the list of
 * sessions. */
#include "tgt.h"
#include "names.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

static void complete(struct target_cmd *cmd, uint32_t status)
{
	scsi_complete((struct scsi_cmd *)cmd, status);
}

static bool busy(const struct target_conn *base)
{
	const struct iscsi_tgt_conn *conn = (const struct iscsi_tgt_conn *)base;

	return conn->login_pending || scsi_nexus_busy(conn->nexus);
}

static bool preempted(const struct target_conn *base, const struct bdev *bdev)
{
	return scsi_preempted(((const struct iscsi_tgt_conn *)base)->nexus, bdev);
}

static void count_clients(const struct target *base, struct target_status *status)
{
	status->clients = 0;
	for (const struct iscsi_tgt_conn *conn = ((const struct iscsi_target *)base)->sessions;
		conn; conn = conn->next)
		status->clients++;
}

static void resized(struct target *base, struct target_disk *disk)
{
	struct iscsi_target *target = (struct iscsi_target *)base;

	for (unsigned i = 0; i < target->nodes; i++)
		scsi_target_resized(target->node[i].scsi, disk);
}

static void access_changed(struct target *base, unsigned group)
{
	struct iscsi_target *target = (struct iscsi_target *)base;

	(void)group;
	for (unsigned i = 0; i < target->nodes; i++)
		scsi_target_access_changed(target->node[i].scsi);
}

/* ---- Sessions, on the target's loop. */

/* Same initiator port and target port. */
static bool same_ports(const struct iscsi_tgt_conn *conn, const struct iscsi_tgt_conn *other)
{
	return other->node == conn->node &&
	       iscsi_tgt_portal_group(other) == iscsi_tgt_portal_group(conn) &&
	       !strcmp(other->initiator, conn->initiator) &&
	       !memcmp(other->isid, conn->isid, sizeof(conn->isid));
}

static bool was_of(const struct iscsi_tgt_lost *lost, const struct iscsi_tgt_conn *conn)
{
	return lost->node == conn->node && lost->portal_group == iscsi_tgt_portal_group(conn) &&
	       !strcmp(lost->initiator, conn->initiator) &&
	       !memcmp(lost->isid, conn->isid, sizeof(conn->isid));
}

/* Forget lost sessions: those of conn's ports, if any; those whose time is over; those beyond
 * max. */
static void forget_lost(
	struct iscsi_target *target, const struct iscsi_tgt_conn *conn, unsigned max)
{
	uint64_t now = loop_clock();

	for (struct iscsi_tgt_lost *lost, **at = &target->lost; (lost = *at);) {
		if (max && lost->until > now && !(conn && was_of(lost, conn))) {
			max--;
			at = &lost->next;
			continue;
		}
		*at = lost->next;
		free(lost);
	}
}

static void retain(struct iscsi_tgt_conn *conn)
{
	struct iscsi_target *target = iscsi_tgt_of(conn);
	struct iscsi_tgt_lost *lost;

	for (const struct iscsi_tgt_conn *other = target->sessions; other; other = other->next)
		if (same_ports(conn, other)) /* reinstated */
			return;
	lost = calloc(1, sizeof(*lost) + strlen(conn->initiator) + 1);
	if (!lost)
		return;
	forget_lost(target, conn, ISCSI_TGT_CONNECTIONS - 1);
	lost->next = target->lost;
	lost->node = conn->node;
	lost->until = loop_clock() + conn->time2retain * SEC;
	lost->portal_group = iscsi_tgt_portal_group(conn);
	lost->tsih = conn->tsih;
	memcpy(lost->isid, conn->isid, sizeof(lost->isid));
	strcpy(lost->initiator, conn->initiator);
	target->lost = lost;
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
	if (conn->full_feature && !conn->logged_out)
		retain(conn);
}

static void target_free(struct target *base)
{
	struct iscsi_target *target = (struct iscsi_target *)base;

	for (unsigned i = 0; i < target->nodes; i++)
		scsi_target_free(target->node[i].scsi);
	forget_lost(target, NULL, 0);
	pthread_mutex_destroy(&target->initiators_lock);
	explicit_bzero(target->decoy, sizeof(target->decoy));
	free(target);
}

static const struct target_proto proto = { .name = "iscsi",
	.handshake_name = "login",
	.connections = ISCSI_TGT_CONNECTIONS,
	.open_ms = ISCSI_TGT_LOGIN_MS,
	.stall_ms = ISCSI_TGT_STALL_MS,
	.stream = iscsi_tgt_incoming,
	.rdma = iscsi_tgt_iser_incoming,
	.decode = iscsi_tgt_decode,
	.work = scsi_work,
	.complete = complete,
	.status = scsi_io_status,
	.closing = iscsi_tgt_closing,
	.busy = busy,
	.closed = left,
	.count_clients = count_clients,
	.resized = resized,
	.access_changed = access_changed,
	.preempted = preempted,
	.free = target_free };

/* ---- Logins, on the target's loop. */

#define REPLACED "its initiator has logged in again"

/* Runs on the other session's loop. End the session if it is reinstated: none of its commands
 * starts after the new login succeeds. */
static bool same_initiator(const struct target_fence *fence, const struct target_conn *base)
{
	const struct iscsi_tgt_conn *conn = container_of(fence, struct iscsi_tgt_conn, fence);
	struct iscsi_tgt_conn *other = (struct iscsi_tgt_conn *)(uintptr_t)base;

	if (other == conn || !other->full_feature || other->node != conn->node ||
		strcmp(other->initiator, conn->initiator) != 0)
		return false;
	if (same_ports(conn, other) && !target_conn_is_closing(&other->base))
		target_conn_fail(&other->base, DIAG_CLOSED, ECONNABORTED, REPLACED);
	return true;
}

static void authorized(struct iscsi_tgt_conn *conn, uint16_t status)
{
	conn->status = status;
	conn->hop.run = iscsi_tgt_authorized;
	loop_post(conn->base.loop, &conn->hop);
}

/* Session reinstatement (RFC 7143, 6.3.5): a login ends earlier sessions of the same initiator
 * port, which follow it in the list. */
static void fence_done(struct target_fence *fence)
{
	struct iscsi_tgt_conn *conn = container_of(fence, struct iscsi_tgt_conn, fence);

	for (struct iscsi_tgt_conn *other = conn->next; other; other = other->next)
		if (same_ports(conn, other))
			target_conn_kill(&other->base, REPLACED);
	authorized(conn, 0);
}

/* A session has one connection, so no other one joins it. Tell the initiator whether this target
 * knows the session: it may ask by another portal than the one it has lost. */
static uint16_t refuse_to_join(const struct iscsi_tgt_conn *conn)
{
	struct iscsi_target *target = iscsi_tgt_of(conn);
	bool known = false;

	forget_lost(target, NULL, ISCSI_TGT_CONNECTIONS);
	for (const struct iscsi_tgt_conn *other = target->sessions; other; other = other->next)
		known |= other->tsih == conn->tsih && same_ports(conn, other);
	for (const struct iscsi_tgt_lost *lost = target->lost; lost; lost = lost->next)
		known |= lost->tsih == conn->tsih && was_of(lost, conn);
	return conn->node && known ? ISCSI_TOO_MANY : ISCSI_NO_SESSION;
}

/* The initiators may have been replaced since the login. An initiator whose own line is gone is
 * removed, even if "*" applies to it from now on. With the lock, or on the target's loop. */
static bool still_authenticates(const struct iscsi_tgt_conn *conn)
{
	const struct iscsi_initiators *list = conn->base.target->opt.initiators;
	const struct iscsi_initiator *now =
		list ? iscsi_initiators_find(list, conn->initiator) : NULL;

	return conn->authenticates == !!now && conn->own_line == iscsi_initiator_is_own(now);
}

/* Whether the login has proved what is required now. */
static bool has_proved(const struct iscsi_tgt_conn *conn)
{
	const struct iscsi_initiators *list = conn->base.target->opt.initiators;

	return still_authenticates(conn) &&
	       (!conn->authenticates || iscsi_initiator_is_same(conn->chap,
						iscsi_initiators_find(list, conn->initiator)));
}

static void authorize(struct loop_msg *hop)
{
	struct iscsi_tgt_conn *conn = container_of(hop, struct iscsi_tgt_conn, hop);
	struct iscsi_target *target = iscsi_tgt_of(conn);

	if (!has_proved(conn)) {
		authorized(conn, ISCSI_NOT_PROVED);
		return;
	}
	if (conn->unknown_node) {
		authorized(conn, ISCSI_NOT_FOUND);
		return;
	}
	if (conn->tsih) {
		authorized(conn, refuse_to_join(conn));
		return;
	}
	if (!conn->node) {
		target_admit_discovery(&conn->base);
		authorized(conn, 0);
		return;
	}
	if (!target_admit(&conn->base, conn->initiator, false)) {
		authorized(conn, ISCSI_NO_RESOURCES);
		return;
	}
	conn->tsih = ++target->last_tsih ? target->last_tsih : ++target->last_tsih;
	conn->link = &target->sessions;
	conn->next = target->sessions;
	if (conn->next)
		conn->next->link = &conn->next;
	target->sessions = conn;
	forget_lost(target, conn, ISCSI_TGT_CONNECTIONS);
	conn->fence.match = same_initiator;
	conn->fence.done = fence_done;
	conn->fence.home = target->base.loop;
	target_fence(&target->base, &conn->fence);
}

void iscsi_tgt_authorize(struct iscsi_tgt_conn *conn)
{
	conn->login_pending = true;
	conn->tsih = get_be16(conn->login->first.tsih);
	conn->hop.run = authorize;
	loop_post(conn->base.target->loop, &conn->hop);
}

static void report_failure(struct loop_msg *hop)
{
	struct iscsi_tgt_conn *conn = container_of(hop, struct iscsi_tgt_conn, hop);
	struct diag why = { 0 };

	diag_set(&why, DIAG_AUTH, EACCES, "initiator '%s' failed to authenticate: %s",
		conn->initiator, conn->refused.text);
	diag_ctx(&why, "%s", conn->base.name);
	target_admission_report_refusal(conn->base.target->admission, &why);
	authorized(conn, ISCSI_NOT_PROVED);
}

void iscsi_tgt_report_failure(struct iscsi_tgt_conn *conn)
{
	conn->login_pending = true;
	conn->hop.run = report_failure;
	loop_post(conn->base.target->loop, &conn->hop);
}

void iscsi_serve_initiators(struct target *base, const struct iscsi_initiators *list)
{
	struct iscsi_target *target = (struct iscsi_target *)base;

	pthread_mutex_lock(&target->initiators_lock);
	base->opt.initiators = list;
	pthread_mutex_unlock(&target->initiators_lock);
	for (struct iscsi_tgt_conn *conn = target->sessions; conn; conn = conn->next)
		if (!still_authenticates(conn))
			target_conn_kill(&conn->base,
				"the line of its initiator was added to the list of those that "
				"authenticate, or removed from it");
}

/* ---- SendTargets. */

const struct iscsi_tgt_node *iscsi_tgt_find(const struct iscsi_target *target, const char *name)
{
	for (unsigned i = 0; i < target->nodes; i++)
		if (!strcmp(target->node[i].name, name))
			return &target->node[i];
	return NULL;
}

/* List portals of the carrier that the initiator uses. For a listener on all addresses, list the
 * address that the initiator has connected to. */
static void list_portals(const struct iscsi_tgt_conn *conn, FILE *to)
{
	const struct iscsi_target *target = iscsi_tgt_of(conn);
	unsigned transports =
		((const struct iscsi_tgt_carrier *)(const void *)conn->base.carrier)->transports;

	for (unsigned i = 0; i < target->base.opt.listens; i++) {
		struct addr bound, at;
		char host[ADDR_TEXT];

		if (!(target_transports(&target->base, i, &bound) & transports))
			continue;
		if (addr_is_any(&bound) && bound.ss.ss_family != conn->base.local.ss.ss_family &&
			bound.ss.ss_family != AF_INET6)
			continue;
		at = addr_unscoped(addr_is_any(&bound) ? &conn->base.local : &bound);
		addr_host(&at, host);
		fprintf(to, "TargetAddress=%s%s%s:%u,%u%c", strchr(host, ':') ? "[" : "", host,
			strchr(host, ':') ? "]" : "", addr_port(&bound),
			target_port_group(&iscsi_tgt_of(conn)->base, i), 0);
	}
}

int iscsi_tgt_list_targets(struct iscsi_tgt_conn *conn, const char *which)
{
	struct iscsi_target *target = iscsi_tgt_of(conn);
	bool all = !strcmp(which, "All"), allowed;
	FILE *to;

	free(conn->targets);
	conn->targets = NULL;
	conn->targets_sent = 0;
	to = open_memstream(&conn->targets, &conn->targets_len);
	if (!to)
		return -ENOMEM;
	pthread_mutex_lock(&target->initiators_lock);
	allowed = still_authenticates(conn);
	pthread_mutex_unlock(&target->initiators_lock);
	for (unsigned i = 0; allowed && i < target->nodes; i++) {
		const struct iscsi_tgt_node *node = &target->node[i];

		if (!all && (*which ? strcmp(which, node->name) != 0 : node != conn->node))
			continue;
		fprintf(to, "TargetName=%s%c", node->name, 0);
		list_portals(conn, to);
	}
	return fclose(to) ? -ENOMEM : 0;
}

/* ---- Start. */

static struct iscsi_tgt_node *node_of(struct iscsi_target *target, const char *name)
{
	for (unsigned i = 0; i < target->nodes; i++)
		if (!strcmp(target->node[i].name, name))
			return &target->node[i];
	target->node[target->nodes].name = name;
	return &target->node[target->nodes++];
}

static int make_node(struct iscsi_target *target, struct iscsi_tgt_node *node,
	const struct target_options *opt, struct diag *diag)
{
	struct scsi_target_conf conf = { .protocol = SCSI_ISCSI };

	snprintf(conf.device_name, sizeof(conf.device_name), "%s", node->name);
	for (unsigned i = 0; i < opt->disks; i++) {
		if (!(node->disks & 1u << i))
			continue;
		conf.lun[conf.luns].disk = &target->base.disk[i];
		conf.lun[conf.luns++].opt = &opt->disk[i];
	}
	return scsi_target_new(&node->scsi, &conf, diag);
}

int iscsi_serve(struct target **out, struct loop *loop, const struct target_options *opt,
	uint32_t timeout_ms, struct diag *diag)
{
	struct iscsi_target *target = calloc(1, sizeof(*target));
	uint8_t decoy[16];
	int err = 0;

	if (!target)
		return diag_sys(diag, ENOMEM, "target");
	pthread_mutex_init(&target->initiators_lock, NULL);
	/* so that a session is not taken for one of another target of the same name */
	if (getrandom(&target->last_tsih, sizeof(target->last_tsih), GRND_NONBLOCK) < 0)
		target->last_tsih = 0;
	for (unsigned i = 0; i < opt->disks; i++)
		node_of(target, opt->disk[i].name)->disks |= 1u << i;
	if (getrandom(decoy, sizeof(decoy), GRND_NONBLOCK) != sizeof(decoy))
		err = diag_sys(diag, EAGAIN, "read random numbers");
	hex_text(target->decoy, decoy, sizeof(decoy));
	for (unsigned i = 0; !err && i < target->nodes; i++)
		err = make_node(target, &target->node[i], opt, diag);
	if (err) {
		target_free(&target->base);
		return err;
	}
	err = target_start(&target->base, loop, &proto, opt, timeout_ms, diag);
	if (!err)
		*out = &target->base;
	return err;
}
