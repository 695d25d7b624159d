/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A queue of calculations, and the thread that runs them, which ends with the last one. */
#include "offload.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define NICE 10 /* loops on the same CPU get nine tenths of it */

enum state { WAITING, RUNNING, POSTED, CANCELLED };

/* head: ordered by round, then by arrival */
static struct {
	pthread_mutex_t lock;
	struct offload *head;
	uint64_t round; /* of the last calculation that was begun */
	bool thread;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A client's calculations are in different rounds. */
static void enqueue(struct offload *job)
{
	struct offload **at = &queue.head;

	job->round = queue.round;
	for (const struct offload *other = queue.head; other; other = other->next)
		if (other->client == job->client)
			job->round = other->round + 1;
	while (*at && (*at)->round <= job->round)
		at = &(*at)->next;
	job->next = *at;
	*at = job;
}

static void dequeue(struct offload *job)
{
	struct offload **at = &queue.head;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
}

/* On the loop, once posted. */
static void deliver(struct loop_msg *msg)
{
	struct offload *job = container_of(msg, struct offload, msg);

	if (job->state == CANCELLED)
		job->free(job);
	else
		job->done(job);
}

/* Post under the lock: the loop exists until offload_cancel() has seen that the message was
 * posted, and a loop runs what was posted before it is freed. */
static void *run_all(void *arg)
{
	struct offload *job;

	/* of this thread, on Linux */
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
	pthread_mutex_lock(&queue.lock);
	while ((job = queue.head)) {
		queue.head = job->next;
		queue.round = job->round;
		job->state = RUNNING;
		pthread_mutex_unlock(&queue.lock);
		job->work(job);
		pthread_mutex_lock(&queue.lock);
		if (job->state == CANCELLED) {
			job->free(job);
		} else {
			job->state = POSTED;
			loop_post(job->loop, &job->msg);
		}
	}
	queue.thread = false;
	pthread_mutex_unlock(&queue.lock);
	return arg;
}

/* Signals are blocked in the thread. */
static int start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attr, run_all, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	queue.thread = !err;
	return err;
}

int offload_start(struct offload *job, struct loop *loop, struct diag *diag)
{
	int err = 0;

	job->loop = loop;
	job->msg.run = deliver;
	job->state = WAITING;
	pthread_mutex_lock(&queue.lock);
	enqueue(job);
	if (!queue.thread)
		err = start_thread();
	if (err)
		dequeue(job);
	pthread_mutex_unlock(&queue.lock);
	return err ? diag_sys(diag, err, "start a thread") : 0;
}

void offload_cancel(struct offload *job)
{
	bool waiting;

	pthread_mutex_lock(&queue.lock);
	waiting = job->state == WAITING;
	if (waiting)
		dequeue(job);
	job->state = CANCELLED;
	pthread_mutex_unlock(&queue.lock);
	if (waiting)
		job->free(job);
}
