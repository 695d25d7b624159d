/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log in one connection of the kernel's, of a new session or of one whose connection was lost, and
 * pass the result to the kernel. All parameters are set: a later login, by a keeper or iscsid,
 * reads them back from sysfs. */
#include "attach_iscsi.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct iscsi_link *link_of(struct iscsi_dial *dial)
{
	return container_of(dial, struct iscsi_link, dial);
}

/* ---- Parameters: who, where and with what timeouts before the login, then what was agreed on. */

static int set_text(struct iscsi_link *link, enum iscsi_if_param param, const char *what,
	const char *text, struct diag *diag)
{
	int err = text ? kernel_iscsi_conn_set(link->conn, param, "%s", text) : 0;

	if (!err || err == -ENOSYS) /* this transport has no such parameter */
		return 0;
	return diag_sys(diag, -err, "session%u: %s", link->id.sid, what);
}

static int set_number(struct iscsi_link *link, enum iscsi_if_param param, const char *what,
	long long value, struct diag *diag)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", value);
	return set_text(link, param, what, text, diag);
}

static int describe_who(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_auth *auth = &link->want->from->auth;
	const struct {
		enum iscsi_if_param param;
		const char *what, *text;
	} rows[] = {
		{ ISCSI_IF_TARGET_NAME, "target's name", link->want->target },
		{ ISCSI_IF_INITIATOR_NAME, "initiator's name", link->want->from->initiator },
		{ ISCSI_IF_IFACE_NAME, "interface",
			link->want->iface                   ? link->want->iface
			: link->want->carrier == ISCSI_ISER ? "iser"
							    : "default" },
		{ ISCSI_IF_USERNAME, "user", auth->user },
		{ ISCSI_IF_PASSWORD, "secret", auth->user ? auth->secret : NULL },
		{ ISCSI_IF_USERNAME_IN, "target's user", auth->target_user },
		{ ISCSI_IF_PASSWORD_IN, "target's secret", auth->target_secret },
		{ ISCSI_IF_BOOT_ROOT, "boot_root", link->want->boot_root },
		{ ISCSI_IF_BOOT_NIC, "boot_nic", link->want->boot_nic },
		{ ISCSI_IF_BOOT_TARGET, "boot_target", link->want->boot_target },
	};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_text(link, rows[i].param, rows[i].what, rows[i].text, diag);
	return err;
}

static int describe(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_settings *set = &link->want->set;
	const struct {
		enum iscsi_if_param param;
		const char *what;
		long long value;
	} rows[] = {
		{ ISCSI_IF_PERSISTENT_PORT, "port", addr_port(&link->want->portal) },
		{ ISCSI_IF_RECOVERY_TMO, "replacement timeout", set->replacement_timeout },
		{ ISCSI_IF_FAST_ABORT, "fast abort", set->fast_abort },
		{ ISCSI_IF_ABORT_TMO, "abort timeout", set->abort_timeout },
		{ ISCSI_IF_LU_RESET_TMO, "LUN reset timeout", set->lu_reset_timeout },
		{ ISCSI_IF_TGT_RESET_TMO, "target reset timeout", set->tgt_reset_timeout },
		{ ISCSI_IF_PING_TMO, "ping timeout", set->noop_timeout },
		{ ISCSI_IF_RECV_TMO, "ping interval", set->noop_interval },
	};
	char host[ADDR_TEXT];
	int err = set_text(link, ISCSI_IF_PERSISTENT_ADDRESS, "address",
		addr_host(&link->want->portal, host), diag);

	if (!err)
		err = describe_who(link, diag);
	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_number(link, rows[i].param, rows[i].what, rows[i].value, diag);
	if (!err && link->want->netdev && !link->again)
		kernel_iscsi_conn_netdev(link->conn, link->want->netdev);
	return err;
}

static int agree(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_agreed *a = &link->dial.result.agreed;
	const struct {
		enum iscsi_if_param param;
		const char *what;
		long long value;
	} rows[] = {
		{ ISCSI_IF_MAX_XMIT, "largest segment", a->max_xmit },
		{ ISCSI_IF_HEADER_DIGEST, "header digest", a->header_digest },
		{ ISCSI_IF_DATA_DIGEST, "data digest", a->data_digest },
		{ ISCSI_IF_INITIAL_R2T, "InitialR2T", a->initial_r2t },
		{ ISCSI_IF_MAX_R2T, "MaxOutstandingR2T", a->max_r2t },
		{ ISCSI_IF_IMMEDIATE_DATA, "ImmediateData", a->immediate_data },
		{ ISCSI_IF_FIRST_BURST, "FirstBurstLength", a->first_burst },
		{ ISCSI_IF_MAX_BURST, "MaxBurstLength", a->max_burst },
		{ ISCSI_IF_PDU_IN_ORDER, "DataPDUInOrder", a->pdu_in_order },
		{ ISCSI_IF_SEQUENCE_IN_ORDER, "DataSequenceInOrder", a->sequence_in_order },
		{ ISCSI_IF_ERL, "ErrorRecoveryLevel", a->erl },
		{ ISCSI_IF_EXP_STATSN, "status number", a->exp_statsn },
		{ ISCSI_IF_TPGT, "portal group", a->tpgt },
	};
	int err = 0;

	link->conn->dm.ops->enable_datamover(&link->conn->dm, a->max_recv);
	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_number(link, rows[i].param, rows[i].what, rows[i].value, diag);
	return err;
}

/* ---- Steps of the dial. */

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct datamover_events *events, struct diag *diag)
{
	struct iscsi_link *link = link_of(dial);
	const struct iscsi_want *want = link->want;
	const struct kernel_iscsi_how how = {
		.kind = want->carrier == ISCSI_ISER ? KERNEL_ISCSI_ISER : KERNEL_ISCSI_TCP,
		.transport = link->transport,
		.to = dial->result.at,
		.src = want->src,
		.netdev = want->netdev,
		.timeout_ms = timeout_ms,
		.cmds_max = (uint16_t)want->set.cmds_max,
		.queue_depth = (uint16_t)want->set.queue_depth,
		.again = link->again,
		.conn = link->id
	};
	int err = kernel_iscsi_dial(&link->conn, link->nl, &how, events, dial, diag);

	dial->dm = err ? NULL : &link->conn->dm;
	return err;
}

static struct iscsi_offer offer(const struct iscsi_settings *set)
{
	return (struct iscsi_offer){ .header_digest = (uint8_t)set->header_digest,
		.data_digest = (uint8_t)set->data_digest,
		.initial_r2t = set->initial_r2t,
		.immediate_data = set->immediate_data,
		.first_burst =
			set->first_burst < set->max_burst ? set->first_burst : set->max_burst,
		.max_burst = set->max_burst,
		.max_recv = set->max_recv,
		.max_r2t = set->max_r2t,
		.target_recv = set->max_xmit ? set->max_xmit : ISCSI_PDU_DATA };
}

/* The ISID of every login of a session: 00 02 3d and its number, as iscsid makes it. The target
 * then lets either of the two take over the other's session (RFC 7143, 6.3.5). */
static int up(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_link *link = link_of(dial);
	uint32_t sid = link->conn->id.sid;
	const uint8_t isid[6] = { 0x00, 0x02, 0x3d, (uint8_t)(sid >> 16), (uint8_t)(sid >> 8),
		(uint8_t)sid };

	link->id = link->conn->id;
	if (!link->again)
		link->host = link->conn->host;
	loop_trace(dial->loop, "session%u", sid);
	memcpy(link->isid, isid, sizeof(isid));
	link->offer = offer(&link->want->set);
	return describe(link, diag);
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_link *link = link_of(dial);
	const struct iscsi_want *want = link->want;
	struct iscsi_agreed *agreed = &dial->result.agreed;
	int err;

	if (want->tpgt >= 0 && agreed->tpgt >= 0 && want->tpgt != agreed->tpgt)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"the portal belongs to portal group %d, not %d", agreed->tpgt, want->tpgt);
	if (agreed->first_burst >
		agreed->max_burst) /* RFC 7143, 13.14: the kernel does not start it else */
		agreed->first_burst = agreed->max_burst;
	if (want->carrier == ISCSI_TCP && want->set.max_xmit &&
		want->set.max_xmit < agreed->max_xmit)
		agreed->max_xmit = want->set.max_xmit;
	err = agree(link, diag);
	if (!err)
		err = kernel_iscsi_start(link->conn, diag);
	return err ? err : 1;
}

static void ended(struct iscsi_dial *dial)
{
	struct iscsi_link *link = link_of(dial);

	if (dial->dm)
		kernel_iscsi_leave(link->conn);
	dial->dm = NULL;
	link->conn = NULL;
	link->done(link);
}

void iscsi_link_start(struct iscsi_link *link)
{
	static const struct iscsi_dial_ops ops = {
		.connect = connect_to, .up = up, .logged_in = logged_in, .done = ended
	};
	const struct iscsi_want *want = link->want;

	link->dial = (struct iscsi_dial){ .ops = &ops,
		.loop = kernel_iscsi_loop(link->nl),
		.target = want->target,
		.from = want->from,
		.offer = &link->offer,
		.isid = link->isid,
		.carrier = want->carrier,
		.numbers = link->numbers,
		.stays = true,
		.until = link->until,
		.limit_ms = (uint32_t)want->set.login_timeout * 1000,
		.portal = want->portal };
	iscsi_dial_start(&link->dial);
}

void iscsi_link_end(struct iscsi_link *link)
{
	if (link->dial.ops)
		iscsi_dial_end(&link->dial);
}
