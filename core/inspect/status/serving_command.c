/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Send a command to a process that serves disks. */
#include "served.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static int no_answer(struct diag *diag, int err, uint32_t timeout_ms)
{
	if (err != EAGAIN)
		return diag_sys(diag, err, "control socket");
	return diag_set(diag, DIAG_TIMEOUT, ETIMEDOUT,
		"no answer within %g s: it may be stopped or hung", timeout_ms / 1000.);
}

static int not_served(int pid, struct diag *diag)
{
	if (kill(pid, 0) && errno == ESRCH)
		return diag_set(diag, DIAG_NOT_FOUND, ESRCH, "no such process");
	diag_set(diag, DIAG_NOT_FOUND, ESRCH,
		"takes no commands: not 'rdmastor serve' in this network namespace");
	return diag_hint(diag, "list them with: rdmastor status");
}

/* Any process may listen at that name: ask the kernel which one does. */
static int check_owner(int fd, int pid, struct diag *diag)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return diag_sys(diag, errno, "control socket");
	if (cred.pid != pid)
		return diag_set(diag, DIAG_PERMISSION, EACCES,
			"another process, %d, listens in its name", (int)cred.pid);
	if (geteuid() && cred.uid != geteuid())
		return diag_set(diag, DIAG_PERMISSION, EACCES,
			"owned by another user: only they and root can change it");
	return 0;
}

static int dial(int pid, uint32_t timeout_ms, struct diag *diag)
{
	const struct timeval limit = { .tv_sec = timeout_ms / 1000,
		.tv_usec = timeout_ms % 1000 * 1000 };
	struct sockaddr_un un;
	socklen_t len = kernel_serving_address(&un, pid, SERVING_CONTROL);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return diag_sys(diag, errno, "control socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&un, len))
		err = errno == ECONNREFUSED ? not_served(pid, diag)
					    : no_answer(diag, errno, timeout_ms);
	if (!err)
		err = check_owner(fd, pid, diag);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* A failure; a code of another version counts as a system error. */
static int read_failure(char *code, char *rest, struct diag *diag)
{
	const char *err = strsep(&rest, "\n"), *object = strsep(&rest, "\n"),
		   *text = strsep(&rest, "\n"), *hint = rest;
	enum diag_code known = DIAG_USAGE;

	if (!text || atoi(err) <= 0)
		return diag_set(diag, DIAG_PROTOCOL, EPROTO, "invalid answer");
	while (known < DIAG_SYSTEM && strcmp(code, diag_code_word(known)))
		known++;
	diag_set(diag, known, atoi(err), "%s", text);
	if (*object)
		diag_ctx(diag, "%s", object);
	if (hint && *hint)
		diag_hint(diag, "%s", hint);
	return -atoi(err);
}

static int ended(struct diag *diag)
{
	return diag_set(diag, DIAG_CLOSED, ECONNRESET, "ended without an answer");
}

static int read_answer(int fd, uint32_t timeout_ms, char result[SERVING_RESULT], struct diag *diag)
{
	char text[SERVING_ANSWER], *rest = text, *code;
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n < 0 && errno != ECONNRESET)
		return no_answer(diag, errno, timeout_ms);
	if (n <= 0)
		return ended(diag);
	text[n] = 0;
	code = strsep(&rest, "\n");
	if (strcmp(code, "ok"))
		return read_failure(code, rest, diag);
	snprintf(result, SERVING_RESULT, "%s", rest ? rest : "");
	return 0;
}

int kernel_serving_command(int pid, const char *command, uint32_t timeout_ms,
	char result[SERVING_RESULT], struct diag *diag)
{
	int fd = dial(pid, timeout_ms, diag), err = fd < 0 ? fd : 0;

	if (!err && send(fd, command, strlen(command), MSG_NOSIGNAL) < 0)
		err = errno == EPIPE || errno == ECONNRESET ? ended(diag)
							    : no_answer(diag, errno, timeout_ms);
	if (!err)
		err = read_answer(fd, timeout_ms, result, diag);
	if (fd >= 0)
		close(fd);
	if (err)
		diag_ctx(diag, "process %d", pid);
	return err;
}
