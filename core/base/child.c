/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Run in the background with a parent that waits for readiness, and run commands. */
#include "child.h"
#include "out.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 5

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void wait_ready(pid_t child, int from)
{
	int status = 0;
	ssize_t n;
	char byte;

	do
		n = read(from, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		_exit(0);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	status = exit_status(status);
	_exit(status ? status : 1);
}

int child_daemon(int *ready, struct diag *diag)
{
	pid_t pid, parent = getpid();
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC))
		return diag_sys(diag, errno, "pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		int err = errno;

		close(pipes[0]);
		close(pipes[1]);
		return diag_sys(diag, err, "fork to the background");
	}
	if (pid) {
		close(pipes[1]);
		wait_ready(pid, pipes[0]);
	}
	close(pipes[0]);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	setsid();
	*ready = pipes[1];
	return 0;
}

void child_daemon_ready(int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC),
	    last = out_log_background() ? STDOUT_FILENO : STDERR_FILENO;

	prctl(PR_SET_PDEATHSIG, 0);
	fflush(NULL);
	for (int fd = 0; fd <= last && null >= 0; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	while (write(ready, "+", 1) < 0 && errno == EINTR)
		;
	close(ready);
}

/* Replace every "$name" in the word by the value. */
static char *expand(const char *word, const char *name, const char *value)
{
	size_t name_len = strlen(name), len = 0;
	char *text = malloc(strlen(word) * (strlen(value) + 1) + 1);

	while (text && *word) {
		if (*word == '$' && !strncmp(word + 1, name, name_len)) {
			len += (size_t)sprintf(text + len, "%s", value);
			word += 1 + name_len;
		} else {
			text[len++] = *word++;
		}
	}
	if (text)
		text[len] = 0;
	return text;
}

static void free_argv(char **args)
{
	for (char **word = args; word && *word; word++)
		free(*word);
	free(args);
}

static char **make_argv(char *const *args, unsigned count, const char *name, const char *value)
{
	char **argv = calloc((size_t)count + 1, sizeof(*argv));

	for (unsigned i = 0; argv && i < count; i++) {
		argv[i] = expand(args[i], name, value);
		if (!argv[i]) {
			free_argv(argv);
			return NULL;
		}
	}
	return argv;
}

/* Copy the environment and add one variable. Free the array and *own, which holds the new
 * variable. */
static char **make_environ(const char *name, const char *value, char **own)
{
	unsigned count = 0, n = 0;
	size_t name_len = strlen(name);
	char **env;

	if (asprintf(own, "%s=%s", name, value) < 0) {
		*own = NULL;
		return NULL;
	}
	while (environ && environ[count])
		count++;
	env = calloc((size_t)count + 2, sizeof(*env));
	for (unsigned i = 0; env && i < count; i++)
		if (strncmp(environ[i], name, name_len) || environ[i][name_len] != '=')
			env[n++] = environ[i];
	if (env)
		env[n] = *own;
	return env;
}

static int spawn(pid_t *pid, char *const *argv, char **env, const posix_spawn_file_actions_t *files)
{
	posix_spawnattr_t attr;
	sigset_t set;
	int err;

	posix_spawnattr_init(&attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	fflush(NULL);
	err = posix_spawnp(pid, argv[0], files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	return err;
}

static void execute(const struct child_command *command, const char *value)
{
	char *line[] = { "sh", "-c", command->args[0], NULL }, *own = NULL, **argv = line;
	sigset_t none;

	environ = make_environ(command->name, value, &own);
	if (command->count > 1)
		argv = make_argv(command->args, command->count, command->name, value);
	if (!environ || !argv) {
		errno = ENOMEM;
		return;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	execvp(argv[0], argv);
}

/* Report an errno only if there is no program: its descriptor closes when it is executed. */
static void wait_for_value(const struct child_command *command, int from)
{
	char *value = malloc(CHILD_VALUE);
	ssize_t n = value ? recv(from, value, CHILD_VALUE, 0) : 0;
	int err;

	if (n <= 0 || value[n - 1])
		return;
	execute(command, value);
	err = errno;
	send(from, &err, sizeof(err), MSG_NOSIGNAL);
}

int child_prepare(struct child_command *command, struct diag *diag)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return diag_sys(diag, errno, "socket of a command");
	fflush(NULL);
	command->pid = fork();
	if (command->pid < 0) {
		int err = errno;

		close(pair[0]);
		close(pair[1]);
		return diag_sys(diag, err, "fork");
	}
	if (!command->pid) {
		close(pair[0]);
		wait_for_value(command, pair[1]);
		_exit(1);
	}
	close(pair[1]);
	command->fd = pair[0];
	return 0;
}

static int exec_error(int fd, const char *value)
{
	ssize_t n;
	int err;

	if (send(fd, value, strlen(value) + 1, MSG_NOSIGNAL) < 0)
		return errno;
	do
		n = recv(fd, &err, sizeof(err), 0);
	while (n < 0 && errno == EINTR);
	return n == sizeof(err) ? err : 0;
}

int child_begin(struct child_command *command, const char *value, struct diag *diag)
{
	int err = exec_error(command->fd, value);

	close(command->fd);
	command->fd = -1;
	if (!err)
		return 0;
	while (waitpid(command->pid, NULL, 0) < 0 && errno == EINTR)
		;
	command->pid = 0;
	diag_sys(diag, err, "run %s", command->count == 1 ? "sh" : command->args[0]);
	return command->count == 1
		       ? diag_hint(diag,
				 "without a shell, pass the program and each argument separately")
		       : -err;
}

bool child_reap(pid_t pid, int *status)
{
	int raw;

	if (waitpid(pid, &raw, WNOHANG) != pid)
		return false;
	*status = exit_status(raw);
	return true;
}

static void set_file(posix_spawn_file_actions_t *files, int fd, int from)
{
	if (from < 0)
		posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_RDWR, 0);
	else
		posix_spawn_file_actions_adddup2(files, from, fd);
}

int child_filter(char *const *argv, int in, int out, unsigned timeout_ms)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	posix_spawn_file_actions_t files;
	int err, status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	set_file(&files, 0, in);
	set_file(&files, 1, out);
	set_file(&files, 2, -1);
	err = spawn(&pid, argv, environ, &files);
	posix_spawn_file_actions_destroy(&files);
	if (err)
		return -err;
	for (unsigned ms = 0; !child_reap(pid, &status) && ms < timeout_ms; ms += STEP_MS)
		nanosleep(&step, NULL);
	if (status >= 0)
		return status;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -ETIMEDOUT;
}

int child_run(char *const *argv, unsigned timeout_ms)
{
	return child_filter(argv, -1, -1, timeout_ms);
}
