/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Threads for calls that may block. The loop keeps the queue and gives a thread one job at a time,
 * so no lock is needed. */
#include "io_threads.h"

static void end_job(struct loop_msg *msg);

static void run_job(struct loop_msg *msg)
{
	struct io_thread *io_thread = container_of(msg, struct io_thread, msg);

	io_thread->job->run(io_thread->job);
	msg->run = end_job;
	loop_post(io_thread->io_threads->home, msg);
}

static void assign_job(struct io_thread *io_thread, struct io_thread_job *job)
{
	io_thread->job = job;
	io_thread->msg.run = run_job;
	loop_post(workers_loop(io_thread->workers, 0), &io_thread->msg);
}

static void end_job(struct loop_msg *msg)
{
	struct io_thread *io_thread = container_of(msg, struct io_thread, msg);
	struct io_thread_job *job = io_thread->job, *next = io_thread->io_threads->first;

	io_thread->job = NULL;
	if (next) {
		io_thread->io_threads->first = next->next;
		if (!next->next)
			io_thread->io_threads->last = &io_thread->io_threads->first;
		assign_job(io_thread, next);
	}
	job->done(job);
}

static int start_thread(struct io_threads *io_threads, struct diag *diag)
{
	const struct loop_options options = { .name = loop_options(io_threads->home)->name };
	struct io_thread *io_thread = &io_threads->io_thread[io_threads->count];
	int err = workers_start(&io_thread->workers, 1, &options, diag);

	if (err)
		return err;
	io_thread->io_threads = io_threads;
	io_threads->count++;
	return 0;
}

static struct io_thread *find_idle(struct io_threads *io_threads)
{
	for (unsigned i = 0; i < io_threads->count; i++)
		if (!io_threads->io_thread[i].job)
			return &io_threads->io_thread[i];
	return NULL;
}

void io_threads_init(struct io_threads *io_threads, struct loop *home)
{
	*io_threads = (struct io_threads){
		.home = home, .most = IO_THREADS_MAX, .last = &io_threads->first
	};
}

int io_threads_start(struct io_threads *io_threads, struct diag *diag)
{
	return io_threads->count ? 0 : start_thread(io_threads, diag);
}

int io_threads_add(struct io_threads *io_threads, struct io_thread_job *job)
{
	struct io_thread *io_thread = find_idle(io_threads);
	int err = 0;

	if (!io_thread && io_threads->count < io_threads->most) {
		err = start_thread(io_threads, NULL);
		io_thread = find_idle(io_threads);
	}
	if (io_thread) {
		assign_job(io_thread, job);
		return 0;
	}
	if (!io_threads->count)
		return err;
	io_threads->most = io_threads->count;
	job->next = NULL;
	*io_threads->last = job;
	io_threads->last = &job->next;
	return 0;
}

void io_threads_fini(struct io_threads *io_threads)
{
	for (unsigned i = 0; i < io_threads->count; i++)
		workers_stop(io_threads->io_thread[i].workers);
	io_threads->count = 0;
}
