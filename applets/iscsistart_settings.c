/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Settings by open-iscsi's record names, from -P and iscsid.conf. */
#include "iscsistart_login.h"
#include <errno.h>
#include <string.h>

#define RETRY_MAX 30 /* open-iscsi's value, to bridge the time until a switch forwards */

/* Known names without effect here: for the daemon, the database or offload cards. */
static bool is_other(const char *name)
{
	static const char *const others[] = { "node.startup", "node.leading_login",
		"node.session.scan", "node.session.reopen_max", "node.session.initial_cmdsn",
		"node.session.xmit_thread_priority", "node.session.err_timeo.host_reset_timeout",
		"node.session.iscsi.DefaultTime2Retain", "node.session.iscsi.DefaultTime2Wait",
		"node.session.iscsi.MaxConnections", "node.session.auth.authmethod",
		"node.session.auth.password_length", "node.session.auth.password_in_length",
		"node.conn[0].startup", "node.conn[0].tcp.window_size",
		"node.conn[0].tcp.type_of_service", "node.conn[0].timeo.auth_timeout",
		"node.conn[0].iscsi.IFMarker", "node.conn[0].iscsi.OFMarker" };

	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return true;
	return !strncmp(name, "iface.", 6);
}

static int take_text(char *to, size_t room, const char *name, const char *value, struct diag *diag)
{
	if (strlen(value) >= room)
		return diag_set(diag, DIAG_USAGE, E2BIG, "%s: too long: must be at most %zu bytes",
			name, room - 1);
	strcpy(to, value);
	return 0;
}

static int take_transport(struct start *s, const char *value, struct diag *diag)
{
	s->iser = !strcmp(value, "iser");
	if (s->iser || !strcmp(value, "tcp"))
		return 0;
	return diag_set(diag, DIAG_UNSUPPORTED, ENOTSUP,
		"iface.transport_name: invalid value '%s': expected tcp or iser", value);
}

static int take_retries(struct start *s, const char *name, const char *value, struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t number;

	if (parse_u64(value, 0, 10000, &number, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "%s: %s", name, why.text);
	s->retry_max = (uint32_t)number;
	return 0;
}

static int take_secret(struct start *s, const char *name, const char *value, struct diag *diag)
{
	static const char *const words[] = { "username", "username_in", "password", "password_in" };

	for (unsigned i = 0; i < 4; i++)
		if (!strcmp(name + strlen("node.session.auth."), words[i])) {
			int err = 0;

			for (unsigned n = 0; n < s->sessions && !err; n++)
				err = take_text((i < 2 ? s->session[n].wish.user
						       : s->session[n].wish.secret)[i & 1],
					ISCSI_WISH_TEXT, name, value, diag);
			return err;
		}
	return -ENOENT;
}

/* -ENOENT: no such name. */
static int take(struct start *s, const char *name, const char *value, struct diag *diag)
{
	int err = -ENOENT;

	if (!strcmp(name, "iface.transport_name"))
		return take_transport(s, value, diag);
	if (!strcmp(name, "iface.net_ifacename"))
		return take_text(s->netdev, sizeof(s->netdev), name, value, diag);
	if (!strcmp(name, "iface.hwaddress"))
		return kernel_mac_netdev(s->root, value, s->netdev)
			       ? 0
			       : diag_set(diag, DIAG_NO_DEVICE, ENODEV,
					 "iface.hwaddress: no network interface with the address "
					 "'%.40s'",
					 value);
	if (!strcmp(name, "iface.initiatorname"))
		return take_text(s->initiator, sizeof(s->initiator), name, value, diag);
	if (!strcmp(name, "node.session.initial_login_retry_max"))
		return take_retries(s, name, value, diag);
	if (!strcmp(name, "node.session.auth.chap_algs"))
		return iscsi_chap_algs(value, &s->algs, diag);
	if (!strncmp(name, "node.session.auth.", 18))
		err = take_secret(s, name, value, diag);
	if (err == -ENOENT && !strncmp(name, "node.", 5))
		err = iscsi_settings_set(&s->set, name, value, diag);
	return err;
}

static int take_param(struct start *s, const char *param)
{
	size_t len = strcspn(param, "=");
	struct diag why = { 0 };
	char name[128] = "";
	int err = -ENOENT;

	if (len < sizeof(name)) {
		memcpy(name, param, len);
		name[len] = 0;
		err = param[len] && param[len + 1] ? take(s, name, param + len + 1, &why) : -EINVAL;
	}
	if (!err)
		return 0;
	if (err == -ENOENT && is_other(name)) {
		start_tell(s->call, "%s is ignored: for iscsid or offload cards only", name);
		return 0;
	}
	if (err == -ENOENT)
		diag_set(s->call->diag, DIAG_USAGE, EINVAL, "Unknown parameter %s.", name);
	else
		diag_set(s->call->diag, DIAG_USAGE, EINVAL, "Invalid --param %.*s. %s", (int)len,
			param, why.err ? why.text : "Missing value.");
	return EXIT_FAILED;
}

/* Unknown names in the file are ignored, as it is the daemon's too. Users and secrets are the
 * firmware's. */
static int take_line(const char *name, const char *value, void *arg)
{
	struct start *s = arg;
	struct diag why = { 0 };

	if (strncmp(name, "node.session.auth.", 18) || !strcmp(name, "node.session.auth.chap_algs"))
		take(s, name, value, &why);
	if (why.err && why.err != ENOENT)
		start_tell(s->call, "%s", why.text);
	return 0;
}

int start_settings(struct start *s)
{
	const struct start_options *opts = s->opts;
	int rc = 0;

	iscsi_settings_init(&s->set);
	if (opts->connect)
		rc = kernel_iscsi_conf_file(s->root, opts->config, take_line, s, s->call->diag);
	if (rc)
		return EXIT_FAILED;
	/* as open-iscsi's iscsistart, which leaves no process to answer pings */
	s->set.noop_interval = s->set.noop_timeout = 0;
	s->retry_max = RETRY_MAX;
	for (unsigned i = 0; i < opts->params.count && !rc; i++)
		rc = take_param(s, opts->params.item[i]);
	return rc;
}
