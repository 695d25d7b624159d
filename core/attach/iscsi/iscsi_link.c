/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log in one connection through the kernel, of a new session or of one whose connection was lost,
 * and pass the result to the kernel. All parameters are stored there: the session monitor or iscsid
 * reads them back for a later login. */
#include "attach_iscsi.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct iscsi_link *link_of(struct iscsi_dial *dial)
{
	return container_of(dial, struct iscsi_link, dial);
}

/* ---- Parameters: names, addresses and timeouts before the login, negotiated values after it. */

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

static int set_identity_params(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_auth *auth = &link->params->from->auth;
	const struct {
		enum iscsi_if_param param;
		const char *what, *text;
	} rows[] = {
		{ ISCSI_IF_TARGET_NAME, "target's name", link->params->target },
		{ ISCSI_IF_INITIATOR_NAME, "initiator's name", link->params->from->initiator },
		{ ISCSI_IF_IFACE_NAME, "interface",
			link->params->iface                   ? link->params->iface
			: link->params->carrier == ISCSI_ISER ? "iser"
							      : "default" },
		{ ISCSI_IF_USERNAME, "user", auth->user },
		{ ISCSI_IF_PASSWORD, "secret", auth->user ? auth->secret : NULL },
		{ ISCSI_IF_USERNAME_IN, "target's user", auth->target_user },
		{ ISCSI_IF_PASSWORD_IN, "target's secret", auth->target_secret },
		{ ISCSI_IF_BOOT_ROOT, "boot_root", link->params->boot_root },
		{ ISCSI_IF_BOOT_NIC, "boot_nic", link->params->boot_nic },
		{ ISCSI_IF_BOOT_TARGET, "boot_target", link->params->boot_target },
	};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_text(link, rows[i].param, rows[i].what, rows[i].text, diag);
	return err;
}

static int set_session_params(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_settings *set = &link->params->set;
	const struct {
		enum iscsi_if_param param;
		const char *what;
		long long value;
	} rows[] = {
		{ ISCSI_IF_PERSISTENT_PORT, "port", addr_port(&link->params->portal) },
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
		addr_host(&link->params->portal, host), diag);

	if (!err)
		err = set_identity_params(link, diag);
	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_number(link, rows[i].param, rows[i].what, rows[i].value, diag);
	if (!err && link->params->netdev && !link->recover)
		kernel_iscsi_conn_netdev(link->conn, link->params->netdev);
	return err;
}

static int set_negotiated_params(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_agreed_params *a = &link->dial.result.agreed;
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

	link->conn->dm.ops->enable_full_feature(&link->conn->dm, a->max_recv);
	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_number(link, rows[i].param, rows[i].what, rows[i].value, diag);
	return err;
}

/* ---- Steps of struct iscsi_dial. */

static int connect_to(struct iscsi_dial *dial, uint32_t timeout_ms,
	const struct iscsi_carrier_events *events, struct diag *diag)
{
	struct iscsi_link *link = link_of(dial);
	const struct iscsi_session_params *params = link->params;
	const struct kernel_iscsi_conn_params how = { .carrier = params->carrier,
		.transport = link->transport,
		.to = dial->result.at,
		.src = params->src,
		.netdev = params->netdev,
		.timeout_ms = timeout_ms,
		.cmds_max = (uint16_t)params->set.cmds_max,
		.queue_depth = (uint16_t)params->set.queue_depth,
		.recover = link->recover,
		.conn = link->id };
	int err = kernel_iscsi_connect(&link->conn, link->nl, &how, events, dial, diag);

	dial->conn = err ? NULL : &link->conn->dm;
	return err;
}

static struct iscsi_offered_params offer(const struct iscsi_settings *set)
{
	return (struct iscsi_offered_params){ .header_digest = (uint8_t)set->header_digest,
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

/* The ISID of every login of a session: 00 02 3d and its number, as iscsid makes it. So the target
 * accepts a login of either as session reinstatement (RFC 7143, 6.3.5). */
static int up(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_link *link = link_of(dial);
	uint32_t sid = link->conn->id.sid;
	const uint8_t isid[6] = { 0x00, 0x02, 0x3d, (uint8_t)(sid >> 16), (uint8_t)(sid >> 8),
		(uint8_t)sid };

	link->id = link->conn->id;
	if (!link->recover)
		link->host = link->conn->host;
	loop_trace(dial->loop, "session%u", sid);
	memcpy(link->isid, isid, sizeof(isid));
	link->offered = offer(&link->params->set);
	return set_session_params(link, diag);
}

static int logged_in(struct iscsi_dial *dial, struct diag *diag)
{
	struct iscsi_link *link = link_of(dial);
	const struct iscsi_session_params *params = link->params;
	struct iscsi_agreed_params *agreed = &dial->result.agreed;
	int err;

	if (params->tpgt >= 0 && agreed->tpgt >= 0 && params->tpgt != agreed->tpgt)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"the portal belongs to portal group %d, not %d", agreed->tpgt,
			params->tpgt);
	if (agreed->first_burst >
		agreed->max_burst) /* RFC 7143, 13.14: else the kernel rejects it */
		agreed->first_burst = agreed->max_burst;
	if (params->carrier == ISCSI_TCP && params->set.max_xmit &&
		params->set.max_xmit < agreed->max_xmit)
		agreed->max_xmit = params->set.max_xmit;
	err = set_negotiated_params(link, diag);
	if (!err)
		err = kernel_iscsi_start(link->conn, diag);
	return err ? err : 1;
}

static void ended(struct iscsi_dial *dial)
{
	struct iscsi_link *link = link_of(dial);

	if (dial->conn)
		kernel_iscsi_conn_free(link->conn);
	dial->conn = NULL;
	link->conn = NULL;
	link->done(link);
}

void iscsi_link_start(struct iscsi_link *link)
{
	static const struct iscsi_dial_ops ops = {
		.connect = connect_to, .up = up, .logged_in = logged_in, .done = ended
	};
	const struct iscsi_session_params *params = link->params;

	link->dial = (struct iscsi_dial){ .ops = &ops,
		.loop = kernel_iscsi_loop(link->nl),
		.target = params->target,
		.from = params->from,
		.offered = &link->offered,
		.isid = link->isid,
		.carrier = params->carrier,
		.numbers = link->numeric_only,
		.keep_open = true,
		.until = link->until,
		.limit_ms = (uint32_t)params->set.login_timeout * 1000,
		.portal = params->portal };
	iscsi_dial_start(&link->dial);
}

void iscsi_link_end(struct iscsi_link *link)
{
	if (link->dial.ops)
		iscsi_dial_end(&link->dial);
}
