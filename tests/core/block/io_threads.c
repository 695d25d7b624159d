/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads for calls that may block: every job is done on the loop, and jobs that hang do not hold
 * up others while a thread is free. */
/* Link: leap */
#include "io_threads.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>

enum { JOBS = 50 };

static struct loop *loop;
static struct io_threads io_threads;
static pthread_t home;
static volatile int all_done;
static unsigned done_count, wanted;
static unsigned running, most_running; /* atomic */

struct test_job {
	struct io_thread_job job;
	sem_t *wait; /* hangs until then */
	bool ran;
};

static void setup(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	io_threads_init(&io_threads, loop);
	home = pthread_self();
}

static void fini(void)
{
	io_threads_fini(&io_threads);
	loop_free(loop);
}
TestSuite(io_threads, .init = setup, .fini = fini);

static void run(struct io_thread_job *job)
{
	struct test_job *test = container_of(job, struct test_job, job);
	unsigned now = __atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
	unsigned most = __atomic_load_n(&most_running, __ATOMIC_SEQ_CST);

	while (now > most && !__atomic_compare_exchange_n(&most_running, &most, now, false,
				     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	if (test->wait)
		sem_wait(test->wait);
	test->ran = !pthread_equal(pthread_self(), home);
	__atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

static void done(struct io_thread_job *job)
{
	cr_assert(container_of(job, struct test_job, job)->ran);
	cr_assert(pthread_equal(pthread_self(), home));
	all_done = ++done_count == wanted;
}

static void add(struct test_job *test, sem_t *wait)
{
	*test = (struct test_job){ .job = { .run = run, .done = done }, .wait = wait };
	cr_assert_eq(io_threads_add(&io_threads, &test->job), 0);
}

static void wait_for(unsigned jobs)
{
	wanted = jobs;
	all_done = done_count == wanted;
	loop_wait(loop, &all_done, 0);
}

Test(io_threads, more_jobs_than_threads)
{
	static struct test_job test[JOBS];
	sem_t go;

	sem_init(&go, 0, 0);
	for (unsigned i = 0; i < JOBS; i++)
		add(&test[i], &go);
	cr_assert_eq(io_threads.count, IO_THREADS_MAX);
	for (unsigned i = 0; i < JOBS; i++)
		sem_post(&go);
	wait_for(JOBS);
	cr_assert_leq(most_running, IO_THREADS_MAX);
}

Test(io_threads, one_that_hangs_holds_up_no_other)
{
	static struct test_job hangs[IO_THREADS_MAX - 1], quick[JOBS];
	sem_t go;

	sem_init(&go, 0, 0);
	for (unsigned i = 0; i < IO_THREADS_MAX - 1; i++)
		add(&hangs[i], &go);
	for (unsigned i = 0; i < JOBS; i++)
		add(&quick[i], NULL);
	wait_for(JOBS);
	for (unsigned i = 0; i < IO_THREADS_MAX - 1; i++)
		sem_post(&go);
	wait_for(JOBS + IO_THREADS_MAX - 1);
}

Test(io_threads, one_at_a_time_needs_one_thread)
{
	static struct test_job test[JOBS];

	for (unsigned i = 0; i < JOBS; i++) {
		add(&test[i], NULL);
		wait_for(i + 1);
	}
	cr_assert_eq(io_threads.count, 1);
}

static struct test_job follower;

static void adds_another(struct io_thread_job *job)
{
	done(job);
	add(&follower, NULL);
}

Test(io_threads, done_may_add_another)
{
	static struct test_job test;

	add(&test, NULL);
	test.job.done = adds_another;
	wait_for(2);
}
