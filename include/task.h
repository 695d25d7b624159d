/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A command that runs on a loop of its own until it is done, a signal arrives, or --timeout. */
#pragma once
#include "applet.h"

struct task {
	struct loop *loop;
	/* Set by the owner while there are results to save: a signal then sets stop. Without it,
	 * and the second time, a signal ends the process. */
	bool running;
	bool timed_out; /* stop is set, too */
	int stop;
	struct loop_signal signal;
	struct loop_timer timeout;
};
int task_begin(struct task *, const struct call *, const struct loop_options *);
void task_end(struct task *);
int task_timed_out(const struct call *); /* Set the failure. */
