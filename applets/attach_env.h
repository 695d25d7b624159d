/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The environment of attachments, from the common options of an applet. */
#pragma once
#include "applet.h"
#include "attach.h"

static inline struct attach_env attach_env_of(const struct call *call)
{
	const struct opt_common *common = call->opts;

	return (struct attach_env){ .notes = call->notes,
		.timeout_ms = common->timeout_ms,
		.no_timeout = common->no_timeout,
		.dry_run = common->dry_run };
}
