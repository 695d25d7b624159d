/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ask for a secret on a terminal. A signal that ends or stops this process is held back until the
 * terminal echoes again. The processes of a pipeline ask one after the other. */
#include "applet.h"
#include "secret.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

struct prompt {
	int fd, signal_fd;
	struct termios before;
	sigset_t mask; /* as before */
};

static void lock(int fd)
{
	while (flock(fd, LOCK_EX) && errno == EINTR)
		;
}

static void unlock(int fd)
{
	flock(fd, LOCK_UN);
}

static int catch_signals(struct prompt *prompt)
{
	static const int signos[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT };
	struct sigaction as_started;
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(signos) / sizeof(signos[0]); i++)
		if (!sigaction(signos[i], NULL, &as_started) && as_started.sa_handler != SIG_IGN)
			sigaddset(&set, signos[i]);
	prompt->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (prompt->signal_fd < 0)
		return -errno;
	pthread_sigmask(SIG_BLOCK, &set, &prompt->mask);
	return 0;
}

static void release_signals(struct prompt *prompt)
{
	close(prompt->signal_fd);
	pthread_sigmask(SIG_SETMASK, &prompt->mask, NULL);
}

static void show(const struct prompt *prompt, const char *text)
{
	size_t len = strlen(text);

	if (write(prompt->fd, text, len) < 0) /* opened for reading only */
		(void)!write(STDERR_FILENO, text, len);
}

/* What was typed before is discarded. */
static int disable_echo(struct prompt *prompt)
{
	struct termios silent;

	if (tcgetattr(prompt->fd, &prompt->before))
		return -errno;
	silent = prompt->before;
	silent.c_iflag |= ICRNL;
	silent.c_lflag |= ICANON | ISIG;
	silent.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	return tcsetattr(prompt->fd, TCSAFLUSH, &silent) ? -errno : 0;
}

/* Return a signal, or 0: the terminal has a line or an error. */
static int wait_for_line(const struct prompt *prompt)
{
	struct pollfd fds[2] = { { .fd = prompt->fd, .events = POLLIN },
		{ .fd = prompt->signal_fd, .events = POLLIN } };
	struct signalfd_siginfo info;

	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	return fds[1].revents && read(prompt->signal_fd, &info, sizeof(info)) == sizeof(info)
		       ? (int)info.ssi_signo
		       : 0;
}

/* *signo: what interrupted it, or 0. */
static ssize_t ask(int fd, const char *what, char *line, size_t room, int *signo)
{
	struct prompt prompt = { .fd = fd };
	ssize_t n = -1;
	int err = catch_signals(&prompt);

	*signo = 0;
	if (err)
		return err;
	err = disable_echo(&prompt);
	if (!err) {
		show(&prompt, what);
		show(&prompt, ": ");
		*signo = wait_for_line(&prompt);
		n = *signo ? 0 : read(fd, line, room);
		err = n < 0 ? -errno : 0;
		show(&prompt, "\n");
		tcsetattr(fd, TCSAFLUSH, &prompt.before);
	}
	release_signals(&prompt);
	return err ? err : n;
}

static void stop(int fd)
{
	sigset_t set, before;

	unlock(fd);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &set, &before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	lock(fd);
}

ssize_t secret_prompt(int fd, const char *what, char *line, size_t room)
{
	ssize_t n;
	int signo;

	lock(fd);
	n = ask(fd, what, line, room, &signo);
	/* a shell may have reset the terminal when it continued this process */
	while (signo == SIGTSTP || signo == SIGCONT) {
		if (signo == SIGTSTP)
			stop(fd);
		n = ask(fd, what, line, room, &signo);
	}
	unlock(fd);
	if (signo)
		end_by_signal(signo);
	return n;
}
