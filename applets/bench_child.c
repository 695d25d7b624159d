/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Run other applets as children of bench --matrix --all. */
#include "bench_child.h"
#include <errno.h>
#include <unistd.h>

#define POLL_MS 10

static const int never;

void bench_child_add(struct bench_child *child, const char *const *word)
{
	unsigned count = 0;

	while (child->word[count])
		count++;
	for (; *word && count < BENCH_WORDS - 1; word++)
		child->word[count++] = (char *)*word;
}

/* A process group of its own: ^C is for the measurement. */
static int run(int argc, char **argv)
{
	setpgid(0, 0);
	return applet_exec(argc, argv);
}

static void ended(struct applet_run *run)
{
	container_of(run, struct bench_child, run)->ended = true;
}

int bench_child_start(struct bench *bench, struct bench_child *child)
{
	int err;

	child->run.loop = bench->task.loop;
	child->run.run = run;
	child->run.argv = child->word;
	child->run.done = ended;
	err = applet_run_start(&child->run);
	child->ended = err;
	return err;
}

static void wait_turn(struct bench *bench, const int *stop)
{
	loop_wait(bench->task.loop, stop, loop_clock() + POLL_MS * MSEC);
}

static int wait_ready(
	struct bench *bench, struct bench_child *child, const int *stop, uint64_t until)
{
	while (!child->ended && !applet_run_ready(&child->run)) {
		wait_turn(bench, stop);
		if (*stop)
			return -EINTR;
		if (loop_clock() >= until)
			return diag_set(&child->run.why, DIAG_TIMEOUT, ETIMEDOUT,
				"%s did not get ready", child->word[0]);
	}
	applet_run_error(&child->run, "error", &child->run.why);
	return -child->run.why.err;
}

int bench_child_ready(struct bench *bench, struct bench_child *child, uint64_t until)
{
	return wait_ready(bench, child, &bench->task.stop, until);
}

int bench_child_settle(struct bench *bench, struct bench_child *child, uint64_t until)
{
	return wait_ready(bench, child, &never, until);
}

int bench_child_finish(struct bench *bench, struct bench_child *child)
{
	while (child->run.loop && !child->ended)
		wait_turn(bench, &never);
	return -child->run.why.err;
}

void bench_child_expire(struct bench_child *child)
{
	if (child->run.loop && !child->ended)
		applet_run_expire(&child->run);
}

void bench_child_free(struct bench *bench, struct bench_child *child)
{
	bench_child_finish(bench, child);
	applet_run_free(&child->run);
}
