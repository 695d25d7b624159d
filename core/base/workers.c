/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Worker threads with one loop each, and signals as loop events. */
#include "loop.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct worker {
	pthread_t thread;
	struct loop *loop;
	const struct loop_options *options;
	struct diag *diag;
	sem_t ready;
	int err;
	struct loop_msg stop;
};

struct workers {
	unsigned count;
	struct worker worker[];
};

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	worker->err = loop_new(&worker->loop, worker->options, worker->diag);
	sem_post(&worker->ready);
	if (worker->err)
		return NULL;
	loop_run(worker->loop);
	loop_free(worker->loop);
	return NULL;
}

static void worker_stop(struct loop_msg *msg)
{
	loop_stop(container_of(msg, struct worker, stop)->loop);
}

static int worker_start(
	struct worker *worker, const struct loop_options *options, struct diag *diag)
{
	sigset_t all, old;
	int err;

	worker->options = options;
	worker->diag = diag;
	sem_init(&worker->ready, 0, 0);
	sigfillset(&all); /* signals are read from the main loop's signalfd */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&worker->thread, NULL, worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return diag_sys(diag, err, "thread");
	while (sem_wait(&worker->ready) && errno == EINTR)
		;
	if (worker->err)
		pthread_join(worker->thread, NULL);
	return worker->err;
}

int workers_start(
	struct workers **out, unsigned count, const struct loop_options *options, struct diag *diag)
{
	struct workers *workers = calloc(1, sizeof(*workers) + count * sizeof(workers->worker[0]));
	int err;

	if (!workers)
		return diag_sys(diag, ENOMEM, "%u threads", count);
	for (; workers->count < count; workers->count++) {
		err = worker_start(&workers->worker[workers->count], options, diag);
		if (err) {
			workers_stop(workers);
			return err;
		}
	}
	*out = workers;
	return 0;
}

struct loop *workers_loop(struct workers *workers, unsigned index)
{
	return workers->worker[index].loop;
}

void workers_stop(struct workers *workers)
{
	if (!workers)
		return;
	for (unsigned i = 0; i < workers->count; i++) {
		workers->worker[i].stop.run = worker_stop;
		loop_post(workers->worker[i].loop, &workers->worker[i].stop);
	}
	for (unsigned i = 0; i < workers->count; i++)
		pthread_join(workers->worker[i].thread, NULL);
	free(workers);
}

static void signal_ready(struct loop_fd *fd, uint32_t events)
{
	struct loop_signal *signal = container_of(fd, struct loop_signal, fd);
	struct signalfd_siginfo info;

	(void)events;
	if (read(fd->fd, &info, sizeof(info)) == sizeof(info))
		signal->caught(signal, (int)info.ssi_signo);
}

int loop_signal_add(struct loop *loop, struct loop_signal *signal, const int *signos,
	unsigned count, struct diag *diag)
{
	struct sigaction as_started;
	sigset_t set;
	int err;

	sigemptyset(&set);
	for (unsigned i = 0; i < count; i++)
		if (!sigaction(signos[i], NULL, &as_started) && as_started.sa_handler != SIG_IGN)
			sigaddset(&set, signos[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal->fd = (struct loop_fd){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
		.events = EPOLLIN,
		.ready = signal_ready };
	if (signal->fd.fd < 0)
		return diag_sys(diag, errno, "signals");
	err = loop_fd_add(loop, &signal->fd, diag);
	if (err)
		close(signal->fd.fd);
	return err;
}

void loop_signal_del(struct loop *loop, struct loop_signal *signal)
{
	loop_fd_del(loop, &signal->fd);
	close(signal->fd.fd);
}
