/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The loss policy of an SRP target: --on-loss, and the remote port's timeouts that it sets. */
#pragma once
#include "applet.h"
#include "kernel_srp.h"

struct srp_loss_words {
	const char *on_loss, *reconnect_delay, *fast_io_fail_tmo, *dev_loss_tmo;
};
#define SRP_LOSS_ROWS(type)                                                                        \
	{ "on-loss", 0, OPT_TEXT, offsetof(type, loss.on_loss), "POLICY", OPT_ON_LOSS_HELP },      \
		{ "fast-io-fail-tmo", 0, OPT_TEXT, offsetof(type, loss.fast_io_fail_tmo),          \
			"SECONDS", "fail I/O this long after the loss, or off" },                  \
		{ "dev-loss-tmo", 0, OPT_TEXT, offsetof(type, loss.dev_loss_tmo), "SECONDS",       \
			"remove the disks this long after the loss, or off" },                     \
	{                                                                                          \
		"reconnect-delay", 0, OPT_TEXT, offsetof(type, loss.reconnect_delay), "SECONDS",   \
			"time between reconnect attempts, or off; default 10"                      \
	}

/* *given: an option or the URI sets something; the rest is VALUE_UNKNOWN. `otherwise`: the default
 * policy, or NULL. */
int srp_loss_read(const struct srp_loss_words *, const char *of_uri, const char *otherwise,
	struct srp_tmo *, bool *given, struct diag *);
/* with `now` where nothing is wanted */
struct srp_tmo srp_loss_merge(const struct srp_tmo *want, const struct srp_tmo *now);
const char *srp_loss_text(const struct srp_tmo *, char text[200]);
/* JSON: on_loss in the grammar of --on-loss, and the timeouts; what is off or unknown is left out.
 */
void srp_loss_show(struct out *, const struct srp_tmo *);
