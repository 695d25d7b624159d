/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A login made of the kernel's attributes: whoever made the session, and whatever process knew more
 * of it. */
#include "iscsi_kept.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MSEC 1000000ull

int iscsi_kept_look(struct kept *kept, int root)
{
	int err = kernel_iscsi_session(root, kept->s.sid, &kept->is);

	if (err || strcmp(kept->is.state, "LOGGED_IN"))
		return err;
	if (!strcmp(kept->is.connection_state, "up")) {
		kept->header_digest = kept->is.agreed.header_digest;
		kept->data_digest = kept->is.agreed.data_digest;
	}
	if (kept->is.address[0]) {
		snprintf(kept->address, sizeof(kept->address), "%s", kept->is.address);
		kept->port = kept->is.port;
	}
	return 0;
}

static void set_if(int32_t *to, int value)
{
	if (value != VALUE_UNKNOWN)
		*to = value;
}

static void agree_if(uint32_t *to, int value)
{
	if (value >= 0)
		*to = (uint32_t)value;
}

/* As before; where nobody knows, rather with than without. */
static uint32_t digest(int before)
{
	return before == 0  ? ISCSI_DIGEST_NONE
	       : before > 0 ? ISCSI_DIGEST_CRC32C
			    : ISCSI_DIGEST_CRC32C_NONE;
}

static void prepare_settings(struct kept *kept, uint32_t limit_ms)
{
	const struct kernel_iscsi_session *is = &kept->is;
	struct iscsi_settings *set = &kept->want.set;

	iscsi_settings_init(set);
	set_if(&set->replacement_timeout, is->tmo.recovery);
	set_if(&set->noop_interval, is->tmo.recv);
	set_if(&set->noop_timeout, is->tmo.ping);
	set_if(&set->abort_timeout, is->tmo.abort);
	set_if(&set->lu_reset_timeout, is->tmo.lu_reset);
	set_if(&set->tgt_reset_timeout, is->tmo.target_reset);
	agree_if(&set->fast_abort, is->fast_abort);
	agree_if(&set->first_burst, is->agreed.first_burst);
	agree_if(&set->max_burst, is->agreed.max_burst);
	/* over iSER they are no segments that one could ask for */
	if (kept->want.carrier == ISCSI_TCP) {
		agree_if(&set->max_recv, is->agreed.max_recv);
		agree_if(&set->max_xmit, is->agreed.max_xmit);
	}
	agree_if(&set->initial_r2t, is->agreed.initial_r2t);
	agree_if(&set->immediate_data, is->agreed.immediate_data);
	agree_if(&set->max_r2t, is->agreed.max_r2t);
	set->header_digest = digest(kept->header_digest);
	set->data_digest = digest(kept->data_digest);
	set->login_timeout = (int32_t)(limit_ms / 1000);
}

/* open-iscsi may have been told a name: then the address that it led to. */
static int find_portal(struct kept *kept, struct addr *portal, struct diag *diag)
{
	const struct kernel_iscsi_session *is = &kept->is;

	if (is->portal_port && !addr_numeric(portal, is->portal, is->portal_port, NULL))
		return 0;
	if (kept->port && !addr_numeric(portal, kept->address, kept->port, NULL))
		return 0;
	if (is->portal[0] && is->portal_port)
		return diag_set(diag, DIAG_UNSUPPORTED, EADDRNOTAVAIL,
			"its portal '%s' is a host name: the keeper does not resolve names",
			is->portal);
	return diag_set(
		diag, DIAG_NOT_FOUND, EADDRNOTAVAIL, "the kernel does not report its portal");
}

static enum iscsi_carrier carrier_of(const struct kernel_iscsi_session *is)
{
	enum iscsi_carrier carrier = ISCSI_TCP;

	while (carrier < ISCSI_CARRIERS && strcmp(is->transport, iscsi_carrier_word(carrier)))
		carrier++;
	return carrier;
}

bool iscsi_kept_can_be(const struct kernel_iscsi_session *is)
{
	return carrier_of(is) < ISCSI_CARRIERS;
}

static int find_transport(struct kept *kept, int root, struct diag *diag)
{
	enum iscsi_carrier carrier = carrier_of(&kept->is);
	struct kernel_iscsi_transport transport;
	int err;

	if (carrier == ISCSI_CARRIERS)
		return diag_set(diag, DIAG_UNSUPPORTED, EOPNOTSUPP,
			"the kernel does not report its transport");
	err = kernel_iscsi_transport_there(root,
		carrier == ISCSI_ISER ? KERNEL_ISCSI_ISER : KERNEL_ISCSI_TCP, &transport, diag);
	kept->want.carrier = (uint8_t)carrier;
	kept->link.transport = transport.handle;
	return err;
}

static const char *given(const char *text)
{
	return text[0] ? text : NULL;
}

static int find_secrets(struct kept *kept, int root, struct diag *diag)
{
	const struct kernel_iscsi_secrets *secrets = &kept->secrets;
	int err = kernel_iscsi_secrets(root, kept->s.sid, &kept->secrets, diag);

	kept->from = (struct iscsi_from){ .initiator = kept->is.initiator,
		.auth = { .user = given(secrets->user),
			.secret = given(secrets->secret),
			.target_user = given(secrets->target_user),
			.target_secret = given(secrets->target_secret) } };
	return err;
}

int iscsi_kept_prepare(struct kept *kept, int root, uint32_t limit_ms, struct diag *diag)
{
	const struct kernel_iscsi_session *is = &kept->is;
	int err;

	kept->want = (struct iscsi_want){ .target = is->target,
		.iface = given(is->iface),
		.netdev = given(is->netdev),
		.tpgt = is->tpgt >= 0 ? is->tpgt : -1,
		.from = &kept->from };
	kept->link = (struct iscsi_link){ .want = &kept->want,
		.again = true,
		.numbers = true,
		.id = { is->sid, is->cid },
		.until = loop_clock() + limit_ms * MSEC };
	if (!is->target[0] || !is->initiator[0] || !is->connections)
		return diag_set(diag, DIAG_NOT_FOUND, EINVAL,
			"it was never complete: the kernel reports no %s",
			!is->target[0]      ? "target"
			: !is->initiator[0] ? "initiator"
					    : "connection");
	err = find_portal(kept, &kept->want.portal, diag);
	if (!err)
		err = find_transport(kept, root, diag);
	if (!err)
		err = find_secrets(kept, root, diag);
	if (err)
		return err;
	prepare_settings(kept, limit_ms);
	return 0;
}

void iscsi_kept_forget(struct kept *kept)
{
	explicit_bzero(&kept->secrets, sizeof(kept->secrets));
}
