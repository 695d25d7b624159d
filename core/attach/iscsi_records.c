/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Settings by open-iscsi's record names, from iscsistart -P and iscsid.conf. */
#include "iscsi_want.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AUTH "node.session.auth."

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
	if (!strcmp(name, AUTH "chap_algs"))
		return iscsi_chap_algs(value, &records->algs, diag);
	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(name, auth[i].name)) {
			*auth[i].to = value;
			return set_text(NULL, ISCSI_WISH_TEXT, name, value, diag);
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
