/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The process that keeps the caller's rights: its list is fixed when it starts, descriptors and
 * data go both ways, and it ends with the server. */
#include "helper.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
	pid_t pid;
	int number;
};

/* Report where it runs, and write the object to the descriptor that it gets. */
static int describe(const char *object, int *fd, void *data, size_t len)
{
	struct job *job = data;

	cr_assert_eq(len, sizeof(*job));
	job->pid = getpid();
	job->number++;
	if (*fd >= 0 && write(*fd, object, strlen(object)) < 0)
		return -errno;
	return job->number == 100 ? -ENOSPC : 0;
}

static int open_object(const char *object, int *fd, void *data, size_t len)
{
	(void)data;
	(void)len;
	*fd = open(object, O_RDONLY | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static int count_files(const char *object, int *fd, void *data, size_t len)
{
	struct job *job = data;

	(void)object;
	(void)fd;
	(void)len;
	for (int i = 3; i < 256; i++)
		job->number += fcntl(i, F_GETFD) >= 0;
	return 0;
}

static int raise_signals(const char *object, int *fd, void *data, size_t len)
{
	(void)object;
	(void)fd;
	(void)data;
	(void)len;
	return kill(getpid(), SIGTERM) || kill(getpid(), SIGINT) || kill(getpid(), SIGHUP);
}

static int die(const char *object, int *fd, void *data, size_t len)
{
	(void)object;
	(void)fd;
	(void)data;
	(void)len;
	_exit(1);
}

static pid_t pid_of(helper_fn *fn, const char *object)
{
	struct job job = { 0 };
	int fd = -1;

	cr_assert_eq(helper_call(fn, object, &fd, &job, sizeof(job)), 0);
	cr_assert(fd == -1 && job.number == 1);
	return job.pid;
}

static void start(void)
{
	struct diag diag = { 0 };

	cr_assert_eq(helper_start(-1, &diag), 0, "%s", diag.text);
}

Test(helper, does_what_is_on_the_list)
{
	pid_t files, state;

	cr_assert_eq(helper_allow(HELPER_FILES, describe, "one"), 0);
	cr_assert_eq(helper_allow(HELPER_FILES, describe, "one"), 0);
	cr_assert_eq(helper_allow(HELPER_STATE, describe, "two"), 0);
	cr_assert_eq(pid_of(describe, "one"), getpid(), "it does not run yet");
	start();
	files = pid_of(describe, "one");
	state = pid_of(describe, "two");
	cr_assert(files != getpid() && state != getpid() && files != state);
	cr_assert_eq(pid_of(describe, "one"), files);
	/* what came later is on no list */
	cr_assert_eq(pid_of(describe, "three"), getpid());
	cr_assert_eq(helper_allow(HELPER_FILES, describe, "four"), 0);
	struct job job = { 0 };
	int fd = -1;
	cr_assert_eq(helper_call(describe, "four", &fd, &job, sizeof(job)), -EPERM);
	cr_assert_eq(job.number, 0);
}

Test(helper, without_a_list_nothing_is_started)
{
	start();
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_assert_eq(errno, ECHILD);
}

Test(helper, results_and_data)
{
	struct job job = { .number = 99 };
	char large[HELPER_DATA + 1] = "";
	int fd = -1;

	helper_allow(HELPER_FILES, describe, "x");
	start();
	cr_assert_eq(helper_call(describe, "x", &fd, &job, sizeof(job)), -ENOSPC);
	cr_assert_eq(job.number, 100);
	cr_assert_eq(helper_call(describe, "x", &fd, large, sizeof(large)), -E2BIG);
}

Test(helper, descriptors_are_passed)
{
	char path[] = "/tmp/helper-XXXXXX", text[16] = "";
	struct job job = { 0 };
	int pipes[2], fd = -1, file = mkstemp(path);

	cr_assert(file >= 0 && write(file, "inside", 6) == 6 && !pipe2(pipes, O_CLOEXEC));
	helper_allow(HELPER_FILES, describe, "the object");
	helper_allow(HELPER_FILES, open_object, path);
	start();
	cr_assert_eq(helper_call(open_object, path, &fd, NULL, 0), 0);
	cr_assert(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	cr_assert_eq(read(fd, text, sizeof(text)), 6);
	cr_assert_str_eq(text, "inside");
	close(fd);

	fd = pipes[1];
	cr_assert_eq(helper_call(describe, "the object", &fd, &job, sizeof(job)), 0);
	cr_assert_eq(fd, pipes[1]);
	close(pipes[1]); /* the helper has none */
	memset(text, 0, sizeof(text));
	cr_assert_eq(read(pipes[0], text, sizeof(text)), 10);
	cr_assert_str_eq(text, "the object");
	cr_assert_eq(read(pipes[0], text, sizeof(text)), 0);
	unlink(path);
	fd = -1;
	cr_assert_eq(helper_call(open_object, path, &fd, NULL, 0), -ENOENT);
	cr_assert_eq(fd, -1);
}

Test(helper, keeps_one_descriptor)
{
	int fd = -1, kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 40);
	struct job job = { 0 };

	cr_assert_eq(kept, fcntl(kept, F_GETFD) >= 0 ? kept : -1);
	helper_allow(HELPER_FILES, count_files, "");
	cr_assert_eq(helper_start(kept, NULL), 0);
	cr_assert_eq(helper_call(count_files, "", &fd, &job, sizeof(job)), 0);
	cr_assert_eq(job.number, 2, "its socket and what it keeps, not %d", job.number);
}

Test(helper, signals_of_a_group_do_not_end_it)
{
	int fd = -1;

	helper_allow(HELPER_FILES, raise_signals, "");
	start();
	cr_assert_eq(helper_call(raise_signals, "", &fd, NULL, 0), 0);
	cr_assert_eq(helper_call(raise_signals, "", &fd, NULL, 0), 0);
}

Test(helper, one_that_has_ended_is_reported)
{
	int fd = -1;

	helper_allow(HELPER_FILES, die, "");
	helper_allow(HELPER_FILES, open_object, "/dev/null");
	start();
	cr_assert_eq(helper_call(die, "", &fd, NULL, 0), -ECONNRESET);
	cr_assert_eq(helper_call(open_object, "/dev/null", &fd, NULL, 0), -ECONNRESET);
	cr_assert_eq(fd, -1);
}

Test(helper, ends_with_the_server)
{
	int pipes[2];
	pid_t server;
	char byte;

	cr_assert_eq(pipe(pipes), 0);
	server = fork();
	if (!server) {
		int fd = pipes[1];
		struct job job = { 0 };

		close(pipes[0]);
		helper_allow(HELPER_FILES, describe, "x");
		helper_start(pipes[1], NULL); /* which the helper keeps until it ends */
		helper_call(describe, "x", &fd, &job, sizeof(job));
		raise(SIGKILL);
	}
	close(pipes[1]);
	cr_assert_eq(read(pipes[0], &byte, 1), 1);
	cr_assert_eq(byte, 'x');
	cr_assert_eq(read(pipes[0], &byte, 1), 0, "it runs on");
	waitpid(server, NULL, 0);
}
