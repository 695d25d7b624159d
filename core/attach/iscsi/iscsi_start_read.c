/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The input of iscsistart: targets from its options or the firmware, settings from iscsid.conf and
 * --param. */
#include "iscsi_start.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_MAX 30 /* open-iscsi's value, to bridge the time until a switch forwards */

static int wrong(const struct iscsi_start *s, const char *text, struct diag *diag)
{
	return diag_set(
		diag, DIAG_USAGE, EINVAL, "%s%s", text, s->as_tool ? ". Exiting iscsistart" : "");
}

static int one_target(
	struct iscsi_start *s, const struct iscsi_start_options *opts, struct diag *diag)
{
	struct iscsi_records *records = &s->records;
	uint64_t port = ISCSI_PORT, group = 0;
	struct iscsi_boot_target *entry;
	struct diag why = { 0 };
	const char *host;

	if (!opts->initiator)
		return wrong(s, "InitiatorName not set", diag);
	if (!opts->tgpt || !strcmp(opts->tgpt, "-1"))
		return wrong(s, "Portal Group not set", diag);
	if (!opts->target || !*opts->target)
		return wrong(s, "TargetName not set", diag);
	if (!opts->address || !*opts->address)
		return wrong(s, "IP Address not set", diag);
	if (opts->port && parse_u64(opts->port, 1, UINT16_MAX, &port, &why))
		return diag_set(diag, DIAG_USAGE, EINVAL, "port: %s", why.text);
	if (parse_u64(opts->tgpt, 0, UINT16_MAX, &group, &why))
		return diag_set(diag, DIAG_USAGE, EINVAL, "tgpt: %s", why.text);
	entry = s->boot_config.entry = calloc(1, sizeof(*entry));
	if (!entry)
		return diag_sys(diag, ENOMEM, "iscsistart");
	s->boot_config.count = 1;
	*entry = (struct iscsi_boot_target){
		.port = (uint16_t)port, .tpgt = (int)group, .lun = SCSI_LUN_ALL
	};
	if (strlen(opts->target) >= sizeof(entry->name) ||
		strlen(opts->address) >= sizeof(entry->host))
		return wrong(s, "TargetName or IP Address is too long", diag);
	strcpy(entry->name, opts->target);
	host = opts->address + (*opts->address == '[');
	snprintf(entry->host, sizeof(entry->host), "%.*s", (int)strcspn(host, "]"), host);
	for (unsigned i = 0; i < 2; i++) {
		records->user[i] = opts->user[i];
		records->secret[i] = opts->secret[i];
		if ((opts->user[i] && strlen(opts->user[i]) >= ISCSI_BOOT_TEXT) ||
			(opts->secret[i] && strlen(opts->secret[i]) >= ISCSI_BOOT_TEXT))
			return wrong(
				s, "user name or secret too long: must be at most 256 bytes", diag);
	}
	return 0;
}

static int firmware_targets(
	struct iscsi_start *s, const struct iscsi_start_options *opts, struct diag *diag)
{
	int err = kernel_iscsi_firmware(s->root, &s->boot_config, diag);

	if (!err && !s->boot_config.initiator[0] && !opts->initiator)
		err = diag_set(diag, DIAG_NOT_FOUND, ENOENT,
			"no initiator name in the iBFT: expected -i NAME");
	if (err)
		return err;
	for (unsigned i = 0; i < s->boot_config.count; i++)
		s->boot_config.entry[i].tpgt = 1;
	strcpy(s->records.initiator, s->boot_config.initiator);
	return 0;
}

int iscsi_start_targets(
	struct iscsi_start *s, const struct iscsi_start_options *opts, struct diag *diag)
{
	struct iscsi_records *records = &s->records;
	int err;

	iscsi_settings_init(&records->set);
	err = opts->firmware ? firmware_targets(s, opts, diag) : one_target(s, opts, diag);
	if (err || !opts->initiator)
		return err;
	if (strlen(opts->initiator) >= sizeof(records->initiator))
		return wrong(s, "InitiatorName is too long", diag);
	strcpy(records->initiator, opts->initiator);
	return 0;
}

static int set_param(struct iscsi_start *s, const char *param, struct diag *diag)
{
	size_t len = strcspn(param, "=");
	struct diag why = { 0 };
	char name[128] = "";
	int err = -ENOENT;

	if (len < sizeof(name)) {
		memcpy(name, param, len);
		name[len] = 0;
		err = param[len] && param[len + 1]
			      ? iscsi_record_set(&s->records, s->root, name, param + len + 1, &why)
			      : -EINVAL;
	}
	if (!err)
		return 0;
	if (err == -ENOENT && iscsi_record_is_other(name)) {
		iscsi_start_note(s, "%s is ignored: for iscsid or offload cards only", name);
		return 0;
	}
	if (err == -ENOENT)
		return diag_set(diag, DIAG_USAGE, EINVAL, "Unknown parameter %s.", name);
	return diag_set(diag, DIAG_USAGE, EINVAL, "Invalid --param %.*s. %s", (int)len, param,
		why.err ? why.text : "Missing value.");
}

/* Unknown names in the file are ignored: it is iscsid's, too. Users and secrets come from the
 * firmware. */
static int set_line(const char *name, const char *value, void *arg)
{
	struct iscsi_start *s = arg;
	struct diag why = { 0 };

	if (strncmp(name, "node.session.auth.", 18) || !strcmp(name, "node.session.auth.chap_algs"))
		iscsi_record_set(&s->records, s->root, name, value, &why);
	if (why.err && why.err != ENOENT)
		s->note(s, why.text);
	return 0;
}

/* Mutual CHAP that is only half configured must not end in a login without it. */
static int set_credentials(
	const struct iscsi_records *records, struct iscsi_boot_target *entry, struct diag *diag)
{
	for (unsigned i = 0; i < 2; i++) {
		if (records->user[i])
			strcpy(entry->user[i], records->user[i]);
		if (records->secret[i])
			strcpy(entry->secret[i], records->secret[i]);
	}
	if ((!entry->user[1][0] && !entry->secret[1][0]) ||
		(entry->secret[0][0] && entry->secret[1][0]))
		return 0;
	return diag_set(diag, DIAG_USAGE, EINVAL,
		entry->secret[0][0] ? "mutual CHAP also needs the target's secret: --password-in"
				    : "CHAP configuration has incoming authentication credentials "
				      "but has no outgoing credentials configured.");
}

int iscsi_start_settings(
	struct iscsi_start *s, const struct iscsi_start_options *opts, struct diag *diag)
{
	struct iscsi_records *records = &s->records;
	int err = 0;

	if (opts->firmware)
		err = kernel_iscsi_conf_file(s->root, opts->config, set_line, s, diag);
	/* as open-iscsi's iscsistart, which leaves no process to answer pings */
	records->set.noop_interval = records->set.noop_timeout = 0;
	records->retry_max = RETRY_MAX;
	for (unsigned i = 0; i < opts->params.count && !err; i++)
		err = set_param(s, opts->params.item[i], diag);
	for (unsigned i = 0; i < s->boot_config.count && !err; i++)
		err = set_credentials(records, &s->boot_config.entry[i], diag);
	return err;
}
