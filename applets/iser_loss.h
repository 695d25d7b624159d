/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Settings of iSCSI sessions from options and URIs, among them the loss policy. */
#pragma once
#include "applet.h"
#include "iscsi_attach.h"

#define ISER_SETTING_INDEX(field, ...) ISER_##field,
enum iser_setting { ISCSI_SETTING_LIST(ISER_SETTING_INDEX) };

struct iser_set_words {
	const char *on_loss, *value[ISCSI_SETTINGS];
};
/* Their rows; the option struct's member is `set`, its type ISER_SET_TYPE. */
#define ISER_SETTING_ROW(field, option, record, kind, live, min, max, initial, help)               \
	{ option, 0, OPT_TEXT, offsetof(ISER_SET_TYPE, set.value[ISER_##field]), ISER_ARG_##kind,  \
		help },
#define ISER_ARG_NUMBER  "NUMBER"
#define ISER_ARG_SECONDS "SECONDS"
#define ISER_ARG_BYTES   "BYTES"
#define ISER_ARG_BOOL    "YES|NO"
#define ISER_ARG_DIGEST  "LIST"
#define ISER_SET_ROWS                                                                              \
	{ "on-loss", 0, OPT_TEXT, offsetof(ISER_SET_TYPE, set.on_loss), "POLICY",                  \
		OPT_ON_LOSS_HELP },                                                                \
		ISCSI_SETTING_LIST(ISER_SETTING_ROW)

/* *given: bits by enum iser_setting of the settings that were given. The URI may be NULL. */
int iser_set_read(const struct iser_set_words *, struct uri *, struct iscsi_settings *,
	uint32_t *given, struct diag *);
