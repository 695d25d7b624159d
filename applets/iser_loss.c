/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options for iSCSI settings; the loss policy becomes the kernel's replacement timeout. */
#include "iser_loss.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOLD 60

static int read_policy(
	const char *what, const char *text, struct iscsi_settings *set, struct diag *diag)
{
	struct diag why = { 0 };
	uint32_t ms = 0;

	if (parse_loss(text, 86400000, &ms, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "%s: %s", what, why.text);
	set->replacement_timeout = ms == UINT32_MAX ? -1 : (int)((ms + 999) / 1000);
	return 0;
}

int iser_set_read(const struct iser_set_words *words, struct uri *uri, struct iscsi_settings *set,
	uint32_t *given, struct diag *diag)
{
	const char *of_uri = uri ? uri_value(uri, "loss") : NULL,
		   *loss = words->on_loss ? words->on_loss : of_uri;
	int err = 0;

	iscsi_settings_init(set);
	set->replacement_timeout = HOLD;
	*given = 0;
	for (unsigned i = 0; !err && i < ISCSI_SETTINGS; i++) {
		const char *key = uri ? uri_value(uri, iscsi_setting[i].option) : NULL,
			   *value = words->value[i] ? words->value[i] : key;
		struct diag why = { 0 };

		if (!value)
			continue;
		*given |= 1u << i;
		if (iscsi_settings_set(set, iscsi_setting[i].option, value, &why))
			err = diag_set(diag, DIAG_USAGE, why.err, "%s%s",
				words->value[i] ? "--" : "", why.text);
	}
	/* the kernel would use 5 instead of 0 */
	if (!err && !set->noop_timeout && set->noop_interval)
		err = diag_set(diag, DIAG_USAGE, ERANGE,
			"--noop-timeout: must be 1 to 86400, or 0 with --noop-interval 0");
	if (err || !loss || words->value[ISER_replacement_timeout])
		return err;
	*given |= 1u << ISER_replacement_timeout;
	return read_policy(words->on_loss ? "--on-loss" : "loss=", loss, set, diag);
}

const char *iser_loss_text(int replacement_timeout, char text[ISER_LOSS_TEXT])
{
	if (replacement_timeout < 0)
		return "forever";
	if (!replacement_timeout)
		return "fail-fast";
	snprintf(text, ISER_LOSS_TEXT, "wait=%d", replacement_timeout);
	return text;
}
