/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calculations off the loop: their order among clients, and cancelling one that waits, that runs,
 * and that has ended. */
#include "offload.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>

struct job {
	struct offload offload; /* first member */
	char name;
};

static struct loop *loop;
static struct diag why;
static sem_t running, go;
static char order[16], results[16];
static volatile int finished;
static atomic_uint freed, ends;
static unsigned expected;
static int priority; /* of the thread */

static void work(struct offload *offload)
{
	struct job *job = (struct job *)offload;

	if (job->name == '!') {
		sem_post(&running);
		sem_wait(&go);
	}
	order[strlen(order)] = job->name;
	priority = getpriority(PRIO_PROCESS, 0);
	atomic_fetch_add(&ends, 1);
}

static void release(struct offload *offload)
{
	free(offload);
	atomic_fetch_add(&freed, 1);
}

static void done(struct offload *offload)
{
	results[strlen(results)] = ((struct job *)offload)->name;
	free(offload);
	finished = strlen(results) == expected;
}

static struct offload *start(char name, const char *client)
{
	struct job *job = calloc(1, sizeof(*job));

	job->offload.work = work;
	job->offload.done = done;
	job->offload.free = release;
	job->offload.client = client;
	job->name = name;
	cr_assert_eq(offload_start(&job->offload, loop, &why), 0);
	return &job->offload;
}

/* The thread is busy with a first calculation. */
static struct offload *begin(void)
{
	struct offload *first;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ 0 }, &why), 0);
	sem_init(&running, 0, 0);
	sem_init(&go, 0, 0);
	first = start('!', "a");
	sem_wait(&running);
	return first;
}

static void wait_for(unsigned count)
{
	expected = count;
	sem_post(&go);
	if (count)
		cr_assert(loop_wait(loop, &finished, 0));
}

Test(offload, clients_take_turns)
{
	static const char a[] = "a", b[] = "b", c[] = "c";

	begin();
	for (char name = '1'; name <= '4'; name++)
		start(name, a);
	start('x', b);
	start('y', b);
	start('z', c);
	wait_for(8);
	cr_assert_str_eq(order, "!1xz2y34");
	cr_assert_str_eq(results, order);
	loop_free(loop);
}

Test(offload, cancelled_while_it_waits)
{
	struct offload *other;

	begin();
	other = start('1', "a");
	start('2', "a");
	offload_cancel(other);
	cr_assert_eq(freed, 1);
	wait_for(2);
	cr_assert_str_eq(results, "!2");
	loop_free(loop);
}

/* Nothing waits for it; the loop may be gone by then. */
Test(offload, cancelled_while_it_runs)
{
	struct offload *first = begin();

	offload_cancel(first);
	cr_assert_eq(freed, 0);
	loop_free(loop);
	wait_for(0);
	WAIT_UNTIL(freed == 1);
}

Test(offload, cancelled_when_it_has_ended)
{
	struct offload *first = begin(), *second = start('2', "a");

	sem_post(&go);
	WAIT_UNTIL(ends == 2);
	offload_cancel(first);
	offload_cancel(second);
	loop_free(loop); /* runs what was posted */
	WAIT_UNTIL(freed == 2);
	cr_assert_str_eq(results, "");
}

Test(offload, a_thread_starts_again)
{
	begin();
	wait_for(1);
	finished = 0;
	start('1', "a");
	wait_for(2);
	cr_assert_str_eq(results, "!1");
	cr_assert(priority > getpriority(PRIO_PROCESS, 0) || priority == 19);
	loop_free(loop);
}
