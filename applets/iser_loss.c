/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Options for iSCSI settings; the loss policy becomes the kernel's replacement timeout. */
#include "iser_loss.h"
#include "policy.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HOLD_MAX 86400

int iser_set_read(const struct iser_set_words *words, struct uri *uri, struct iscsi_settings *set,
	uint32_t *given, struct diag *diag)
{
	const char *of_uri = uri ? uri_value(uri, "loss") : NULL,
		   *loss = words->on_loss ? words->on_loss : of_uri;
	uint32_t ms;
	int err = 0;

	iscsi_settings_init(set);
	set->replacement_timeout = LOSS_DEFAULT;
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
	err = loss_read(loss, words->on_loss ? "--on-loss" : "loss=", HOLD_MAX, &ms, diag);
	if (!err)
		set->replacement_timeout = loss_seconds(ms);
	return err;
}
