/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Settings of a session by option or record name, and changing them in an existing session. */
#include "iscsi_settings.h"
#include "attach_iscsi.h"
#include "kernel_iscsi.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ROW(field, option, record, kind, live, min, max, initial, help)                            \
	{ option, record, ISCSI_SET_##kind, offsetof(struct iscsi_settings, field), live, min,     \
		max, initial, help },
const struct iscsi_setting iscsi_setting[ISCSI_SETTINGS] = { ISCSI_SETTING_LIST(ROW) };
#undef ROW

void iscsi_settings_init(struct iscsi_settings *set)
{
	*set = (struct iscsi_settings){ 0 };
	for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
		memcpy((char *)set + iscsi_setting[i].at, &iscsi_setting[i].initial,
			sizeof(int32_t));
}

/* Ignore "[0]" of a record's name, and accept '_' for '-' in an option's. */
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

static int read_number(
	const struct iscsi_setting *row, const char *text, int32_t *value, struct diag *why)
{
	uint64_t number;
	int err;

	if (row->min < 0 && !strcmp(text, "-1")) {
		*value = -1;
		return 0;
	}
	err = row->kind == ISCSI_SET_BYTES ? parse_size(text, &number, why)
					   : parse_u64(text, 0, UINT32_MAX, &number, why);
	if (err)
		return err;
	*value = (int32_t)number;
	if (number > (uint64_t)row->max || *value < row->min)
		return diag_set(why, DIAG_USAGE, ERANGE, "must be %d to %d%s",
			row->min < 0 ? 0 : row->min, row->max,
			row->min < 0 ? ", or -1 for forever" : "");
	return 0;
}

static int read_value(
	const struct iscsi_setting *row, const char *text, int32_t *value, struct diag *why)
{
	static const char *const bools[] = { "no", "yes", "off", "on", "0", "1", "false", "true" };
	static const char *const digests[] = { "None", "CRC32C", "CRC32C,None", "None,CRC32C" };
	int err;

	switch ((enum iscsi_setting_kind)row->kind) {
	case ISCSI_SET_BOOL:
		err = read_word(text, bools, sizeof(bools) / sizeof(bools[0]), value);
		*value &= 1;
		return err ? diag_set(why, DIAG_USAGE, EINVAL,
				     "invalid value '%s': expected Yes or No", text)
			   : 0;
	case ISCSI_SET_DIGEST:
		err = read_word(text, digests, sizeof(digests) / sizeof(digests[0]), value);
		return err ? diag_set(why, DIAG_USAGE, EINVAL,
				     "invalid digest list '%s': expected None, CRC32C, "
				     "'CRC32C,None' or 'None,CRC32C'",
				     text)
			   : 0;
	case ISCSI_SET_NUMBER:
	case ISCSI_SET_SECONDS:
	case ISCSI_SET_BYTES:
		break;
	}
	return read_number(row, text, value, why);
}

int iscsi_settings_set(
	struct iscsi_settings *set, const char *name, const char *value, struct diag *diag)
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
			return diag_set(diag, DIAG_USAGE, EINVAL, "%s: '%s' is not a power of 2",
				name, value);
		memcpy((char *)set + row->at, &number, sizeof(number));
		return 0;
	}
	return diag_set(diag, DIAG_USAGE, ENOENT, "unknown setting '%s'", name);
}

static const struct {
	uint16_t at;
	enum iscsi_if_param param;
} params[] = {
	{ offsetof(struct iscsi_settings, noop_interval), ISCSI_IF_RECV_TMO },
	{ offsetof(struct iscsi_settings, noop_timeout), ISCSI_IF_PING_TMO },
	{ offsetof(struct iscsi_settings, abort_timeout), ISCSI_IF_ABORT_TMO },
	{ offsetof(struct iscsi_settings, lu_reset_timeout), ISCSI_IF_LU_RESET_TMO },
	{ offsetof(struct iscsi_settings, tgt_reset_timeout), ISCSI_IF_TGT_RESET_TMO },
	{ offsetof(struct iscsi_settings, fast_abort), ISCSI_IF_FAST_ABORT },
};

static int set_one(struct kernel_iscsi *nl, uint64_t transport, struct iscsi_if_conn id,
	const struct iscsi_setting *row, int32_t value, struct diag *diag)
{
	char text[16];
	int err = -ENOSYS;

	snprintf(text, sizeof(text), "%d", value);
	for (unsigned i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		if (params[i].at == row->at)
			err = kernel_iscsi_set(nl, transport, id, params[i].param, text);
	if (err == -ENOTCONN)
		return diag_set(diag, DIAG_BUSY, EBUSY,
			"session%u has lost its connection: --%s can't change before it is back",
			id.sid, row->option);
	return err ? diag_sys(diag, -err, "session%u: --%s", id.sid, row->option) : 0;
}

int iscsi_adjust(struct loop *loop, int root, enum iscsi_carrier carrier, struct iscsi_if_conn id,
	const struct iscsi_settings *set, uint32_t given, struct diag *diag)
{
	struct kernel_iscsi_transport transport;
	struct kernel_iscsi *nl;
	int err;

	for (unsigned i = 0; i < ISCSI_SETTINGS; i++)
		if (given & 1u << i && !iscsi_setting[i].live)
			return diag_set(diag, DIAG_USAGE, EINVAL,
				"session%u is logged in: --%s applies to new sessions only", id.sid,
				iscsi_setting[i].option);
	err = kernel_iscsi_transport_find(root, carrier, &transport, diag);
	if (!err)
		err = kernel_iscsi_open(&nl, loop, NULL, diag);
	if (err)
		return err;
	for (unsigned i = 0; !err && i < ISCSI_SETTINGS; i++) {
		const struct iscsi_setting *row = &iscsi_setting[i];
		int32_t value;

		memcpy(&value, (const char *)set + row->at, sizeof(value));
		if (!(given & 1u << i))
			continue;
		if (row->at == offsetof(struct iscsi_settings, replacement_timeout))
			err = kernel_iscsi_recovery_set(root, id.sid, value, diag);
		else
			err = set_one(nl, transport.handle, id, row, value, diag);
	}
	kernel_iscsi_close(nl);
	return err;
}
