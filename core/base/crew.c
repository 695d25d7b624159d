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

struct member {
	pthread_t thread;
	struct loop *loop;
	const struct loop_options *options;
	struct diag *diag;
	sem_t ready;
	int err;
	struct loop_msg stop;
};

struct crew {
	unsigned count;
	struct member member[];
};

static void *member_main(void *arg)
{
	struct member *member = arg;
	member->err = loop_new(&member->loop, member->options, member->diag);
	sem_post(&member->ready);
	if (member->err)
		return NULL;
	loop_run(member->loop);
	loop_free(member->loop);
	return NULL;
}

static void member_stop(struct loop_msg *msg)
{
	loop_stop(container_of(msg, struct member, stop)->loop);
}

static int member_start(
	struct member *member, const struct loop_options *options, struct diag *diag)
{
	sigset_t all, old;
	int err;

	member->options = options;
	member->diag = diag;
	sem_init(&member->ready, 0, 0);
	sigfillset(&all); /* signals are read from the main loop's signalfd */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&member->thread, NULL, member_main, member);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return diag_sys(diag, err, "thread");
	while (sem_wait(&member->ready) && errno == EINTR)
		;
	if (member->err)
		pthread_join(member->thread, NULL);
	return member->err;
}

int crew_start(
	struct crew **out, unsigned count, const struct loop_options *options, struct diag *diag)
{
	struct crew *crew = calloc(1, sizeof(*crew) + count * sizeof(crew->member[0]));
	int err;

	if (!crew)
		return diag_sys(diag, ENOMEM, "%u threads", count);
	for (; crew->count < count; crew->count++) {
		err = member_start(&crew->member[crew->count], options, diag);
		if (err) {
			crew_stop(crew);
			return err;
		}
	}
	*out = crew;
	return 0;
}

struct loop *crew_loop(struct crew *crew, unsigned index)
{
	return crew->member[index].loop;
}

void crew_stop(struct crew *crew)
{
	if (!crew)
		return;
	for (unsigned i = 0; i < crew->count; i++) {
		crew->member[i].stop.run = member_stop;
		loop_post(crew->member[i].loop, &crew->member[i].stop);
	}
	for (unsigned i = 0; i < crew->count; i++)
		pthread_join(crew->member[i].thread, NULL);
	free(crew);
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
