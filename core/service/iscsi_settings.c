/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What can be said of a session, by our options' names and by those of open-iscsi's records. */
#include "iscsi_attach.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define AT(field) offsetof(struct iscsi_settings, field)
#define MAX24 16777215
#define DAY   86400
const struct iscsi_setting iscsi_setting[ISCSI_SETTINGS] = {
	{ "replacement-timeout", "node.session.timeo.replacement_timeout", ISCSI_SET_SECONDS, AT(replacement_timeout), true, -1, DAY, 120,
		"requests are held so long while the target is lost; -1: for ever" },
	{ "noop-interval", "node.conn[0].timeo.noop_out_interval", ISCSI_SET_SECONDS, AT(noop_interval), true, 0, DAY, 5, "between pings of an idle connection; 0: none" },
	{ "noop-timeout", "node.conn[0].timeo.noop_out_timeout", ISCSI_SET_SECONDS, AT(noop_timeout), true, 0, DAY, 5, "a ping unanswered for so long ends the connection" },
	{ "abort-timeout", "node.session.err_timeo.abort_timeout", ISCSI_SET_SECONDS, AT(abort_timeout), true, 0, DAY, 15, "for the target to abort a request" },
	{ "lu-reset-timeout", "node.session.err_timeo.lu_reset_timeout", ISCSI_SET_SECONDS, AT(lu_reset_timeout), true, 0, DAY, 30, "for the target to reset a unit" },
	{ "tgt-reset-timeout", "node.session.err_timeo.tgt_reset_timeout", ISCSI_SET_SECONDS, AT(tgt_reset_timeout), true, 0, DAY, 30, "for the target to reset itself" },
	{ "fast-abort", "node.session.iscsi.FastAbort", ISCSI_SET_BOOL, AT(fast_abort), true, 0, 1, 1, "do not wait for data of what is aborted" },
	{ "cmds-max", "node.session.cmds_max", ISCSI_SET_NUMBER, AT(cmds_max), false, 16, 2048, 128, "requests on the way at once, a power of 2" },
	{ "queue-depth", "node.session.queue_depth", ISCSI_SET_NUMBER, AT(queue_depth), false, 1, 1024, 32, "of these for one unit" },
	{ "sessions", "node.session.nr_sessions", ISCSI_SET_NUMBER, AT(nr_sessions), false, 1, 32, 1, "so many to the same portal" },
	{ "login-timeout", "node.conn[0].timeo.login_timeout", ISCSI_SET_SECONDS, AT(login_timeout), false, 1, DAY, 15, "for one login, from connecting on" },
	{ "logout-timeout", "node.conn[0].timeo.logout_timeout", ISCSI_SET_SECONDS, AT(logout_timeout), false, 1, DAY, 15, "for the target to answer a logout" },
	{ "header-digest", "node.conn[0].iscsi.HeaderDigest", ISCSI_SET_DIGEST, AT(header_digest), false, 0, 3, ISCSI_DIGEST_NONE, "TCP: None, CRC32C or both, the first is preferred" },
	{ "data-digest", "node.conn[0].iscsi.DataDigest", ISCSI_SET_DIGEST, AT(data_digest), false, 0, 3, ISCSI_DIGEST_NONE, "TCP: the same, of data" },
	{ "initial-r2t", "node.session.iscsi.InitialR2T", ISCSI_SET_BOOL, AT(initial_r2t), false, 0, 1, 0, "the target asks for every byte it is sent" },
	{ "immediate-data", "node.session.iscsi.ImmediateData", ISCSI_SET_BOOL, AT(immediate_data), false, 0, 1, 1, "data may come with a request" },
	{ "first-burst", "node.session.iscsi.FirstBurstLength", ISCSI_SET_BYTES, AT(first_burst), false, 512, MAX24, 262144, "unasked data of a request" },
	{ "max-burst", "node.session.iscsi.MaxBurstLength", ISCSI_SET_BYTES, AT(max_burst), false, 512, MAX24, 16776192, "data that is asked for at once" },
	{ "max-recv", "node.conn[0].iscsi.MaxRecvDataSegmentLength", ISCSI_SET_BYTES, AT(max_recv), false, 512, MAX24, 262144, "data segments that the target sends" },
	{ "max-xmit", "node.conn[0].iscsi.MaxXmitDataSegmentLength", ISCSI_SET_BYTES, AT(max_xmit), false, 0, MAX24, 0, "data segments that it is sent; 0: as long as it takes" },
	{ "max-r2t", "node.session.iscsi.MaxOutstandingR2T", ISCSI_SET_NUMBER, AT(max_r2t), false, 1, 65535, 1, "bursts of a request that are asked for at once" },
	{ "erl", "node.session.iscsi.ERL", ISCSI_SET_NUMBER, AT(erl), false, 0, 0, 0, "error recovery level; the kernel has 0" },
};
#undef AT

void iscsi_settings_init(struct iscsi_settings *set)
{
	*set = (struct iscsi_settings){ 0 };
	for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
		memcpy((char *)set + iscsi_setting[i].at, &iscsi_setting[i].initial, sizeof(int32_t));
}

/* Names of records with "conn[0]" or "conn", those of options with '-' or '_'. */
static bool same(const char *ours, const char *name)
{
	while (*ours && *name) {
		if (!strncmp(ours, "[0]", 3) && *name == '.')
			ours += 3;
		if (*ours != *name && !(*ours == '-' && *name == '_'))
			return false;
		ours++;
		name++;
	}
	return *ours == *name;
}

static int read_word(const char *text, const char *const *words, unsigned count, int32_t *value)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcasecmp(text, words[i])) {
			*value = (int32_t)i;
			return 0;
		}
	return -EINVAL;
}

static int read_number(const struct iscsi_setting *row, const char *text, int32_t *value, struct diag *why)
{
	uint64_t number;
	int err;

	if (row->min < 0 && !strcmp(text, "-1")) {
		*value = -1;
		return 0;
	}
	err = row->kind == ISCSI_SET_BYTES ? parse_size(text, &number, why) : parse_u64(text, 0, UINT32_MAX, &number, why);
	if (err)
		return err;
	*value = (int32_t)number;
	if (number > (uint64_t)row->max || *value < row->min)
		return diag_set(why, DIAG_USAGE, ERANGE, "'%s' is out of range: %d to %d", text, row->min, row->max);
	return 0;
}

static int read_value(const struct iscsi_setting *row, const char *text, int32_t *value, struct diag *why)
{
	static const char *const bools[] = { "no", "yes", "off", "on", "0", "1", "false", "true" };
	static const char *const digests[] = { "None", "CRC32C", "CRC32C,None", "None,CRC32C" };
	int err;

	switch ((enum iscsi_setting_kind)row->kind) {
	case ISCSI_SET_BOOL:
		err = read_word(text, bools, sizeof(bools) / sizeof(bools[0]), value);
		*value &= 1;
		return err ? diag_set(why, DIAG_USAGE, EINVAL, "'%s' is neither Yes nor No", text) : 0;
	case ISCSI_SET_DIGEST:
		err = read_word(text, digests, sizeof(digests) / sizeof(digests[0]), value);
		return err ? diag_set(why, DIAG_USAGE, EINVAL, "'%s' is none of None, CRC32C, 'CRC32C,None' and 'None,CRC32C'", text) : 0;
	case ISCSI_SET_NUMBER:
	case ISCSI_SET_SECONDS:
	case ISCSI_SET_BYTES:
		break;
	}
	return read_number(row, text, value, why);
}

int iscsi_settings_set(struct iscsi_settings *set, const char *name, const char *value, struct diag *diag)
{
	for (unsigned i = 0; i < ISCSI_SETTINGS; i++) {
		const struct iscsi_setting *row = &iscsi_setting[i];
		struct diag why = { 0 };
		int32_t number = 0;
		int err;

		if (!same(row->option, name) && !same(row->record, name))
			continue;
		err = read_value(row, value, &number, &why);
		if (err)
			return diag_set(diag, DIAG_USAGE, why.err, "%s: %s", name, why.text);
		if (row->at == offsetof(struct iscsi_settings, cmds_max) && number & (number - 1))
			return diag_set(diag, DIAG_USAGE, EINVAL, "%s: '%s' is no power of 2", name, value);
		memcpy((char *)set + row->at, &number, sizeof(number));
		return 0;
	}
	return diag_set(diag, DIAG_USAGE, ENOENT, "there is no setting '%s'", name);
}
