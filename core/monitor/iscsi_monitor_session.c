/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parameters of a new login from the attributes that the kernel keeps, whatever process created the
 * session. */
#include "iscsi_monitor_session.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int iscsi_monitor_session_read(struct monitor_session *session, int root)
{
	int err = kernel_iscsi_session(root, session->recovery.sid, &session->kernel);

	if (err || strcmp(session->kernel.state, "LOGGED_IN"))
		return err;
	if (!strcmp(session->kernel.connection_state, "up")) {
		session->header_digest = session->kernel.agreed.header_digest;
		session->data_digest = session->kernel.agreed.data_digest;
	}
	if (session->kernel.address[0]) {
		snprintf(session->address, sizeof(session->address), "%s", session->kernel.address);
		session->port = session->kernel.port;
	}
	return 0;
}

static void set_i32_if(int32_t *to, int value)
{
	if (value != VALUE_UNKNOWN)
		*to = value;
}

static void set_u32_if(uint32_t *to, int value)
{
	if (value >= 0)
		*to = (uint32_t)value;
}

/* Keep the digest setting; if unknown, request digests. */
static uint32_t digest(int before)
{
	return before == 0  ? ISCSI_DIGEST_NONE
	       : before > 0 ? ISCSI_DIGEST_CRC32C
			    : ISCSI_DIGEST_CRC32C_NONE;
}

static void prepare_settings(struct monitor_session *session, uint32_t limit_ms)
{
	const struct kernel_iscsi_session *is = &session->kernel;
	struct iscsi_settings *set = &session->params.set;

	iscsi_settings_init(set);
	set_i32_if(&set->replacement_timeout, is->tmo.recovery);
	set_i32_if(&set->noop_interval, is->tmo.recv);
	set_i32_if(&set->noop_timeout, is->tmo.ping);
	set_i32_if(&set->abort_timeout, is->tmo.abort);
	set_i32_if(&set->lu_reset_timeout, is->tmo.lu_reset);
	set_i32_if(&set->tgt_reset_timeout, is->tmo.target_reset);
	set_u32_if(&set->fast_abort, is->fast_abort);
	set_u32_if(&set->first_burst, is->agreed.first_burst);
	set_u32_if(&set->max_burst, is->agreed.max_burst);
	/* over iSER the values in sysfs are not those of the login */
	if (session->params.carrier == ISCSI_TCP) {
		set_u32_if(&set->max_recv, is->agreed.max_recv);
		set_u32_if(&set->max_xmit, is->agreed.max_xmit);
	}
	set_u32_if(&set->initial_r2t, is->agreed.initial_r2t);
	set_u32_if(&set->immediate_data, is->agreed.immediate_data);
	set_u32_if(&set->max_r2t, is->agreed.max_r2t);
	set->header_digest = digest(session->header_digest);
	set->data_digest = digest(session->data_digest);
	set->login_timeout = (int32_t)(limit_ms / 1000);
}

/* open-iscsi may have stored a host name: then use the address it was connected to. */
static int find_portal(struct monitor_session *session, struct addr *portal, struct diag *diag)
{
	const struct kernel_iscsi_session *is = &session->kernel;

	if (is->portal_port && !addr_numeric(portal, is->portal, is->portal_port, NULL))
		return 0;
	if (session->port && !addr_numeric(portal, session->address, session->port, NULL))
		return 0;
	if (is->portal[0] && is->portal_port)
		return diag_set(diag, DIAG_UNSUPPORTED, EADDRNOTAVAIL,
			"its portal '%s' is a host name: the monitor does not resolve names",
			is->portal);
	return diag_set(
		diag, DIAG_NOT_FOUND, EADDRNOTAVAIL, "the kernel does not report its portal");
}

static enum iscsi_carrier carrier_of(const struct kernel_iscsi_session *is)
{
	enum iscsi_carrier carrier = ISCSI_TCP;

	while (carrier < ISCSI_CARRIERS && strcmp(is->transport, iscsi_carrier_name(carrier)))
		carrier++;
	return carrier;
}

bool iscsi_monitor_supports(const struct kernel_iscsi_session *is)
{
	return carrier_of(is) < ISCSI_CARRIERS;
}

static int find_transport(struct monitor_session *session, int root, struct diag *diag)
{
	enum iscsi_carrier carrier = carrier_of(&session->kernel);
	struct kernel_iscsi_transport transport;
	int err;

	if (carrier == ISCSI_CARRIERS)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the kernel does not report its transport");
	err = kernel_iscsi_transport_find(root, carrier, &transport, diag);
	session->params.carrier = (uint8_t)carrier;
	session->link.transport = transport.handle;
	return err;
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static int find_secrets(struct monitor_session *session, int root, struct diag *diag)
{
	const struct kernel_iscsi_secrets *secrets = &session->secrets;
	int err = kernel_iscsi_secrets(root, session->recovery.sid, &session->secrets, diag);

	/* the kernel does not store with which digests the user wanted to log in */
	session->from = (struct iscsi_identity){ .initiator = session->kernel.initiator,
		.auth = { .user = or_null(secrets->user),
			.secret = or_null(secrets->secret),
			.target_user = or_null(secrets->target_user),
			.target_secret = or_null(secrets->target_secret),
			.algs = ISCSI_CHAP_ALL } };
	return err;
}

int iscsi_monitor_session_prepare(
	struct monitor_session *session, int root, uint32_t limit_ms, struct diag *diag)
{
	const struct kernel_iscsi_session *is = &session->kernel;
	int err;

	session->params = (struct iscsi_session_params){ .target = is->target,
		.iface = or_null(is->iface),
		.netdev = or_null(is->netdev),
		.tpgt = is->tpgt >= 0 ? is->tpgt : -1,
		.from = &session->from };
	session->link = (struct iscsi_link){ .params = &session->params,
		.recover = true,
		.numeric_only = true,
		.id = { is->sid, is->cid },
		.until = loop_clock() + limit_ms * MSEC };
	if (!is->target[0] || !is->initiator[0] || !is->connections)
		return diag_set(diag, DIAG_NOT_FOUND, EINVAL,
			"it was never complete: the kernel reports no %s",
			!is->target[0]      ? "target"
			: !is->initiator[0] ? "initiator"
					    : "connection");
	err = find_portal(session, &session->params.portal, diag);
	if (!err)
		err = find_transport(session, root, diag);
	if (!err)
		err = find_secrets(session, root, diag);
	if (err)
		return err;
	prepare_settings(session, limit_ms);
	return 0;
}

void iscsi_monitor_session_wipe(struct monitor_session *session)
{
	explicit_bzero(&session->secrets, sizeof(session->secrets));
}
