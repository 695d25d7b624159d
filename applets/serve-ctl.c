/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* serve-ctl: change a running serve process: how hosts see its listeners. */
#include "access.h"
#include "applet.h"
#include "kernel_serving.h"
#include "uri.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MS 5000

static const struct opt rows[] = { { 0 } };
static const struct opt_common defaults = { .timeout_ms = ANSWER_MS };

static int wrong(struct call *call, const char *what, const char *typed, const char *expected)
{
	return diag_set(call->diag, DIAG_USAGE, EINVAL, "invalid %s '%.100s': expected %s", what,
		typed, expected);
}

static int run(struct call *call)
{
	const struct opt_common *opts = call->opts;
	const char *word = call->operand[3];
	char command[SERVING_COMMAND], before[SERVING_RESULT];
	uint64_t pid, group;
	int err;

	if (strcmp(call->operand[1], "ana"))
		return wrong(call, "command", call->operand[1], "ana");
	if (parse_u64(call->operand[0], 1, INT32_MAX, &pid, NULL))
		return wrong(call, "process ID", call->operand[0], "1 to 2147483647");
	if (parse_u64(call->operand[2], 1, UINT16_MAX, &group, NULL))
		return wrong(call, "group", call->operand[2], "1 to 65535");
	if (access_parse(word) == ACCESSES)
		return wrong(call, "state", word,
			"optimized, non-optimized, inaccessible, persistent-loss or change");
	snprintf(command, sizeof(command), "ana %u %s", (unsigned)group, word);
	err = kernel_serving_command((int)pid, command, opts->timeout_ms, before, call->diag);
	if (!err && access_parse(before) == ACCESSES)
		err = diag_set(call->diag, DIAG_PROTOCOL, EPROTO,
			"process %u: invalid answer '%.32s'", (unsigned)pid, before);
	if (err)
		return err;
	out_u64(call->out, "pid", NULL, pid);
	out_u64(call->out, "group", NULL, group);
	out_text(call->out, "access", NULL, "%s", word);
	out_text(call->out, "access_before", NULL, "%s", before);
	out_line(call->out, "group %u: %s, was %s", (unsigned)group, word, before);
	return EXIT_DONE;
}

const struct applet applet_serve_ctl = {
	.name = "serve-ctl",
	.operands = "PID ana N STATE",
	.summary = "change the state of a running target's listeners",
	.opts = rows,
	.defaults = &defaults,
	.opts_size = sizeof(struct opt_common),
	.examples = "  rdmastor serve-ctl 4711 ana 2 inaccessible\n"
		    "  rdmastor serve-ctl $(cat serve.pid) ana 2 optimized\n",
	.notes = "States: optimized, non-optimized, inaccessible, persistent-loss, change\n",
	.min = 4,
	.max = 4,
	.run = run,
};
