/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of iSCSI settings: ISCSI_SETTING_LIST as rows. */
#pragma once
#include "attach_iscsi.h"

enum iscsi_setting_kind {
	ISCSI_SET_NUMBER,  /* uint32_t */
	ISCSI_SET_SECONDS, /* int32_t; -1 (forever) if min is -1 */
	ISCSI_SET_BYTES,   /* uint32_t; suffixes K and M */
	ISCSI_SET_BOOL,    /* uint32_t; yes no on off true false 1 0 */
	ISCSI_SET_DIGEST,  /* uint32_t, enum iscsi_digest; "CRC32C,None" in order of preference */
};
struct iscsi_setting {
	const char *option; /* of iser-login: "replacement-timeout" */
	const char *record; /* of open-iscsi: "node.session.timeo.replacement_timeout" */
	uint8_t kind;       /* enum iscsi_setting_kind */
	uint16_t at;        /* offset in struct iscsi_settings, of a 32-bit field */
	bool live;          /* can be changed in an existing session */
	int32_t min, max, initial;
	const char *help;
};
extern const struct iscsi_setting iscsi_setting[ISCSI_SETTINGS];
#define ISCSI_CHAP_ALGS_RECORD "node.session.auth.chap_algs" /* credentials, not a setting */
/* Set one value by option or record name; "node.conn[0]." and "node.conn." are the same. -ENOENT:
 * not a setting (iface.* records are the caller's); -EINVAL, -ERANGE: invalid value, and the text
 * begins with the name. */
int iscsi_settings_set(struct iscsi_settings *, const char *name, const char *value, struct diag *);
