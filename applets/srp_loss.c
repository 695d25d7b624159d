/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Loss policies in the words of ib_srp. A port with neither fast_io_fail_tmo nor dev_loss_tmo is
 * not blocked while it is lost, so that its requests fail: "off" is not "forever" (Linux 6.12,
 * srp_reconnect_rport()). */
#include "srp_loss.h"
#include "uri.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define HOLD_MAX 600 /* SCSI_DEVICE_BLOCK_MAX_TIMEOUT */
#define DELAY    10  /* ib_srp's own */

static int read_policy(const char *what, const char *text, struct srp_tmo *tmo, struct diag *diag)
{
	uint32_t ms;
	int err = loss_read(text, what, HOLD_MAX, &ms, diag);

	*tmo = (struct srp_tmo){ .reconnect_delay = DELAY, .dev_loss_tmo = VALUE_OFF };
	if (err)
		return err;
	tmo->fast_io_fail_tmo = ms == LOSS_FOREVER ? HOLD_MAX : loss_seconds(ms);
	/* No I/O fails during an attempt, which takes 80 s at a silent target. */
	if (tmo->fast_io_fail_tmo == DELAY)
		tmo->reconnect_delay++;
	return 0;
}

static int read_one(const char *name, const char *text, int *value, struct diag *diag)
{
	struct diag why = { 0 };
	uint64_t number;

	if (!text)
		return 0;
	if (!strcmp(text, "off") || !strcmp(text, "-1")) {
		*value = VALUE_OFF;
		return 0;
	}
	if (parse_u64(text, 0, INT_MAX / 1000, &number, &why))
		return diag_set(diag, DIAG_USAGE, why.err, "%s: %s, or off", name, why.text);
	*value = (int)number;
	return 0;
}

int srp_loss_read(const struct srp_loss_words *words, const char *of_uri, const char *otherwise,
	struct srp_tmo *tmo, bool *given, struct diag *diag)
{
	bool single = words->reconnect_delay || words->fast_io_fail_tmo || words->dev_loss_tmo;
	const char *policy = words->on_loss ? words->on_loss : of_uri;
	int err = 0;

	*given = policy || single;
	*tmo = (struct srp_tmo){ VALUE_UNKNOWN, VALUE_UNKNOWN, VALUE_UNKNOWN };
	if (!*given)
		policy = otherwise;
	if (policy)
		err = read_policy(words->on_loss ? "--on-loss" : "loss=", policy, tmo, diag);
	if (!err)
		err = read_one(
			"reconnect_delay", words->reconnect_delay, &tmo->reconnect_delay, diag);
	if (!err)
		err = read_one(
			"fast_io_fail_tmo", words->fast_io_fail_tmo, &tmo->fast_io_fail_tmo, diag);
	return err ? err : read_one("dev_loss_tmo", words->dev_loss_tmo, &tmo->dev_loss_tmo, diag);
}

struct srp_tmo srp_loss_merge(const struct srp_tmo *want, const struct srp_tmo *now)
{
	return (struct srp_tmo){
		.reconnect_delay = want->reconnect_delay == VALUE_UNKNOWN ? now->reconnect_delay
									  : want->reconnect_delay,
		.fast_io_fail_tmo = want->fast_io_fail_tmo == VALUE_UNKNOWN
					    ? now->fast_io_fail_tmo
					    : want->fast_io_fail_tmo,
		.dev_loss_tmo = want->dev_loss_tmo == VALUE_UNKNOWN ? now->dev_loss_tmo
								    : want->dev_loss_tmo,
	};
}

const char *srp_loss_text(const struct srp_tmo *tmo, char text[200])
{
	int fail = tmo->fast_io_fail_tmo, loss = tmo->dev_loss_tmo;
	size_t at;

	if (fail == 0)
		snprintf(text, 200, "I/O fails at once");
	else if (fail > 0)
		snprintf(text, 200, "I/O waits %d s, then fails", fail);
	else if (loss >= 0)
		snprintf(text, 200, "I/O waits until the disks are removed");
	else
		snprintf(text, 200, "I/O fails after a failed reconnect");
	at = strlen(text);
	if (tmo->reconnect_delay > 0)
		snprintf(text + at, 200 - at, ", reconnect every %d s", tmo->reconnect_delay);
	else
		snprintf(text + at, 200 - at, ", no reconnect");
	at = strlen(text);
	if (loss >= 0)
		snprintf(text + at, 200 - at, ", disks removed after %d s", loss);
	else
		snprintf(text + at, 200 - at, ", disks kept");
	return text;
}

static void show(struct out *out, const char *key, int seconds)
{
	if (seconds >= 0)
		out_u64(out, key, NULL, (uint64_t)seconds);
}

void srp_loss_show(struct out *out, const struct srp_tmo *tmo)
{
	int hold = tmo->fast_io_fail_tmo >= 0 ? tmo->fast_io_fail_tmo : tmo->dev_loss_tmo;
	char text[LOSS_TEXT];

	if (hold >= 0)
		out_text(out, "on_loss", NULL, "%s", loss_text(hold, text));
	out_object(out, "timeouts");
	show(out, "reconnect_seconds", tmo->reconnect_delay);
	show(out, "fail_seconds", tmo->fast_io_fail_tmo);
	show(out, "give_up_seconds", tmo->dev_loss_tmo);
	out_end(out);
}
