/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loss policy: its one grammar for options, URIs and output. Each kernel initiator maps it to
 * its own parameters elsewhere. */
#include "policy.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int loss_read(const char *text, const char *what, uint32_t max, uint32_t *ms, struct diag *diag)
{
	uint32_t value = 0;
	int err = 0;

	if (!strcmp(text, "forever")) {
		*ms = LOSS_FOREVER;
		return 0;
	}
	if (strcmp(text, "fail-fast"))
		err = parse_msec(!strncmp(text, "wait=", 5) ? text + 5 : text, &value, NULL);
	if (err == -EINVAL)
		return diag_set(diag, DIAG_USAGE, EINVAL,
			"%s: invalid loss policy '%s': expected fail-fast, wait=SECONDS, SECONDS "
			"or "
			"forever",
			what, text);
	if (err || (!value && strcmp(text, "fail-fast")) || value > (uint64_t)max * 1000)
		return diag_set(diag, DIAG_USAGE, ERANGE,
			"%s: must be 0.001 to %u seconds, fail-fast or forever", what, max);
	*ms = value;
	return 0;
}

int loss_seconds(uint32_t ms)
{
	return ms == LOSS_FOREVER ? VALUE_OFF : (int)(ms / 1000 + !!(ms % 1000));
}

const char *loss_text(int seconds, char text[LOSS_TEXT])
{
	if (seconds > 0)
		snprintf(text, LOSS_TEXT, "wait=%d", seconds);
	else
		snprintf(text, LOSS_TEXT, "%s", seconds ? "forever" : "fail-fast");
	return text;
}
