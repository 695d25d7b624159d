/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's parameters of a session. All are set, as the kernel's attributes are all that later
 * logins have to go by. */
#include "iscsi_link.h"
#include <errno.h>
#include <stdio.h>

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
	const struct iscsi_auth *auth = &link->from->auth;
	const struct {
		enum iscsi_if_param param;
		const char *what, *text;
	} rows[] = {
		{ ISCSI_IF_TARGET_NAME, "target's name", link->target },
		{ ISCSI_IF_INITIATOR_NAME, "initiator's name", link->from->initiator },
		{ ISCSI_IF_IFACE_NAME, "interface",
			link->iface                   ? link->iface
			: link->carrier == ISCSI_ISER ? "iser"
						      : "default" },
		{ ISCSI_IF_USERNAME, "user", auth->user },
		{ ISCSI_IF_PASSWORD, "secret", auth->user ? auth->secret : NULL },
		{ ISCSI_IF_USERNAME_IN, "target's user", auth->target_user },
		{ ISCSI_IF_PASSWORD_IN, "target's secret", auth->target_secret },
		{ ISCSI_IF_BOOT_ROOT, "boot_root", link->boot_root },
		{ ISCSI_IF_BOOT_NIC, "boot_nic", link->boot_nic },
		{ ISCSI_IF_BOOT_TARGET, "boot_target", link->boot_target },
	};
	int err = 0;

	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_text(link, rows[i].param, rows[i].what, rows[i].text, diag);
	return err;
}

int iscsi_link_describe(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_settings *set = link->set;
	const struct {
		enum iscsi_if_param param;
		const char *what;
		long long value;
	} rows[] = {
		{ ISCSI_IF_PERSISTENT_PORT, "port", addr_port(&link->portal) },
		{ ISCSI_IF_RECOVERY_TMO, "replacement timeout", set->replacement_timeout },
		{ ISCSI_IF_FAST_ABORT, "fast abort", set->fast_abort },
		{ ISCSI_IF_ABORT_TMO, "abort timeout", set->abort_timeout },
		{ ISCSI_IF_LU_RESET_TMO, "LUN reset timeout", set->lu_reset_timeout },
		{ ISCSI_IF_TGT_RESET_TMO, "target reset timeout", set->tgt_reset_timeout },
		{ ISCSI_IF_PING_TMO, "ping timeout", set->noop_timeout },
		{ ISCSI_IF_RECV_TMO, "ping interval", set->noop_interval },
	};
	char host[ADDR_TEXT];
	int err = set_text(
		link, ISCSI_IF_PERSISTENT_ADDRESS, "address", addr_host(&link->portal, host), diag);

	if (!err)
		err = describe_who(link, diag);
	for (unsigned i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		err = set_number(link, rows[i].param, rows[i].what, rows[i].value, diag);
	if (!err && link->netdev && !link->again)
		kernel_iscsi_conn_netdev(link->conn, link->netdev);
	return err;
}

int iscsi_link_agree(struct iscsi_link *link, struct diag *diag)
{
	const struct iscsi_agreed *a = &link->agreed;
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
