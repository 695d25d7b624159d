/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The logins of iscsistart: settings from -P and iscsid.conf by record names, with open-iscsi's
 * retries. */
#include "iscsi_start.h"
#include "iscsi_settings.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AUTH     "node.session.auth."
#define SCAN_S   60
#define RETRY_MS 1000

static int set_text(char *to, size_t room, const char *name, const char *value, struct diag *diag)
{
	if (strlen(value) >= room)
		return diag_set(diag, DIAG_USAGE, E2BIG, "%s: too long: must be at most %zu bytes",
			name, room - 1);
	if (to)
		strcpy(to, value);
	return 0;
}

int iscsi_record_set(struct iscsi_records *records, int root, const char *name, const char *value,
	struct diag *diag)
{
	const struct {
		const char *name, **to;
	} auth[] = { { AUTH "username", &records->user[0] },
		{ AUTH "username_in", &records->user[1] }, { AUTH "password", &records->secret[0] },
		{ AUTH "password_in", &records->secret[1] } };
	struct diag why = { 0 };
	uint64_t number;

	if (!strcmp(name, "iface.transport_name")) {
		records->iser = !strcmp(value, "iser");
		if (records->iser || !strcmp(value, "tcp"))
			return 0;
		return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
			"iface.transport_name: invalid value '%s': expected tcp or iser", value);
	}
	if (!strcmp(name, "iface.net_ifacename"))
		return set_text(records->netdev, sizeof(records->netdev), name, value, diag);
	if (!strcmp(name, "iface.hwaddress"))
		return kernel_mac_netdev(root, value, records->netdev)
			       ? 0
			       : diag_set(diag, DIAG_NO_DEVICE, ENODEV,
					 "iface.hwaddress: no network interface with the address "
					 "'%.40s'",
					 value);
	if (!strcmp(name, "iface.initiatorname"))
		return set_text(records->initiator, sizeof(records->initiator), name, value, diag);
	if (!strcmp(name, "node.session.initial_login_retry_max")) {
		if (parse_u64(value, 0, 10000, &number, &why))
			return diag_set(diag, DIAG_USAGE, why.err, "%s: %s", name, why.text);
		records->retry_max = (uint32_t)number;
		return 0;
	}
	if (!strcmp(name, ISCSI_CHAP_ALGS_RECORD))
		return iscsi_chap_algs(value, &records->algs, diag);
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(name, auth[i].name)) {
			*auth[i].to = value;
			return set_text(NULL, ISCSI_BOOT_TEXT, name, value, diag);
		}
	return strncmp(name, "node.", 5) ? -ENOENT
					 : iscsi_settings_set(&records->set, name, value, diag);
}

bool iscsi_record_is_other(const char *name)
{
	static const char *const others[] = { "node.startup", "node.leading_login",
		"node.session.scan", "node.session.reopen_max", "node.session.initial_cmdsn",
		"node.session.xmit_thread_priority", "node.session.err_timeo.host_reset_timeout",
		"node.session.iscsi.DefaultTime2Retain", "node.session.iscsi.DefaultTime2Wait",
		"node.session.iscsi.MaxConnections", AUTH "authmethod", AUTH "password_length",
		AUTH "password_in_length", "node.conn[0].startup", "node.conn[0].tcp.window_size",
		"node.conn[0].tcp.type_of_service", "node.conn[0].timeo.auth_timeout",
		"node.conn[0].iscsi.IFMarker", "node.conn[0].iscsi.OFMarker" };

	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return true;
	return !strncmp(name, "iface.", 6);
}

bool iscsi_start_resolved(const struct attach_iscsi *one)
{
	return one->params.portal.ss.ss_family;
}

/* Could a retry succeed? */
static bool should_retry(struct attach *attach)
{
	const struct attach_iscsi *one = container_of(attach, struct attach_iscsi, attach);
	uint8_t class = (uint8_t)(one->result.status >> 8);
	const struct diag *why = &attach->why;
	struct iscsi_start *s = one->user;

	if (one->existed || class == ISCSI_LOGIN_INITIATOR || loop_clock() + SEC >= s->retry_until)
		return false;
	if (iscsi_start_resolved(one) && class != ISCSI_LOGIN_TARGET && why->code != DIAG_TIMEOUT &&
		why->code != DIAG_REFUSED && why->code != DIAG_UNREACHABLE &&
		why->code != DIAG_CLOSED)
		return false;
	if (s->verbose)
		iscsi_start_note(s, "%s: %s; retrying", one->params.target, why->text);
	return true;
}

static void fill_params(struct iscsi_start *s, unsigned i, uint32_t limit_ms)
{
	const struct iscsi_records *records = &s->records;
	const struct iscsi_boot_target *entry = &s->boot_config.entry[i];
	struct iscsi_auth *auth = &s->from[i].auth;
	bool boot = entry->boot_target[0];

	s->from[i].initiator = records->initiator;
	if (entry->secret[0][0]) /* a user without a secret is ignored, as by open-iscsi */
		*auth = (struct iscsi_auth){ .user = entry->user[0], .secret = entry->secret[0] };
	if (entry->secret[1][0])
		auth->target_secret = entry->secret[1];
	if (entry->user[1][0])
		auth->target_user = entry->user[1];
	auth->algs = records->algs ? records->algs : ISCSI_CHAP_ALL; /* as open-iscsi's */
	s->attach[i].params = (struct iscsi_session_params){ .target = entry->name,
		.boot_root = boot ? "ibft" : NULL,
		.boot_target = boot ? entry->boot_target : NULL,
		.boot_nic = boot && entry->boot_nic[0] ? entry->boot_nic : NULL,
		.netdev = records->netdev[0] ? records->netdev : NULL,
		.carrier = records->iser ? ISCSI_ISER : ISCSI_TCP,
		.tpgt = -1,
		.from = &s->from[i],
		.set = records->set };
	s->attach[i].attach.limit_ms = limit_ms;
	s->attach[i].attach.retry_ms = RETRY_MS;
	s->attach[i].attach.retrying = should_retry;
	s->attach[i].user = s;
	s->attach[i].host = entry->host;
	s->attach[i].port = entry->port;
	s->attach[i].luns.lun = SCSI_LUN_ALL;
	s->attach[i].due = true;
}

int iscsi_start_run(struct iscsi_start *s, struct loop *loop, uint64_t until, struct diag *diag)
{
	uint32_t attempt_s = (uint32_t)s->records.set.login_timeout;
	unsigned count = s->boot_config.count;

	s->retry_until = loop_clock() + (uint64_t)attempt_s * s->records.retry_max * SEC;
	if (until && until < s->retry_until)
		s->retry_until = until;
	s->attach = calloc(count, sizeof(*s->attach));
	s->from = calloc(count, sizeof(*s->from));
	if (!s->attach || !s->from)
		return diag_sys(diag, ENOMEM, "iSCSI logins");
	for (unsigned i = 0; i < count; i++)
		fill_params(s, i, (attempt_s + SCAN_S) * 1000);
	return iscsi_attach(loop, s->root, s->attach, count, until, diag);
}

bool iscsi_start_has_session(const struct iscsi_start *s)
{
	for (unsigned i = 0; s->attach && i < s->boot_config.count; i++)
		if (iscsi_start_resolved(&s->attach[i]) && !s->attach[i].attach.why.err)
			return true;
	return false;
}

void iscsi_start_free(struct iscsi_start *s)
{
	for (unsigned i = 0; s->attach && i < s->boot_config.count; i++)
		attach_luns_free(&s->attach[i].luns);
	for (unsigned i = 0; i < 2; i++)
		if (s->records.secret[i])
			explicit_bzero((char *)(uintptr_t)s->records.secret[i],
				strlen(s->records.secret[i]));
	free(s->attach);
	free(s->from);
	kernel_iscsi_boot_free(&s->boot_config);
}
