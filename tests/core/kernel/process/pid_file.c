/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pid files: of processes that live, that have died, and of others with their number. */
#include "helper.h"
#include "kernel_process.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char dir[32], path[64];
static int root;
static struct diag diag;

static void begin(void)
{
	cr_assert(mkdtemp(strcpy(dir, "/tmp/pid-file-XXXXXX")));
	snprintf(path, sizeof(path), "%s/pid", dir);
	root = open("/", O_RDONLY | O_DIRECTORY);
}

static void end(void)
{
	unlink(path);
	rmdir(dir);
}

TestSuite(pid_file, .init = begin, .fini = end);

static int pid_in_file(void)
{
	FILE *file = fopen(path, "r");
	int pid = 0;

	if (file && fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

static void put(int pid, time_t age)
{
	struct timespec when = { .tv_sec = time(NULL) - age }, times[2] = { when, when };
	FILE *file = fopen(path, "w");

	fprintf(file, "%d\n", pid);
	fclose(file);
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A daemon with the pid file, or without one. */
static pid_t other(bool has_file)
{
	int up[2];
	char byte = 0;
	pid_t pid;

	cr_assert_eq(pipe(up), 0);
	pid = fork();
	if (!pid) {
		if (has_file && kernel_pid_file(root, path, NULL) < 0)
			_exit(1);
		if (write(up[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	close(up[1]);
	cr_assert_eq(read(up[0], &byte, 1), 1);
	close(up[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

static void taken(void)
{
	int fd = kernel_pid_file(root, path, &diag);

	cr_assert(fd >= 0, "%s", diag.text);
	cr_assert_eq(pid_in_file(), getpid());
	kernel_pid_file_end(fd, path);
	cr_assert(access(path, F_OK) < 0 && errno == ENOENT);
}

static void refused(int pid)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "%d", pid);
	cr_assert_eq(kernel_pid_file(root, path, &diag), -EBUSY);
	diag_says(&diag, DIAG_BUSY, path, expected);
	cr_assert_eq(pid_in_file(), pid);
}

Test(pid_file, is_written_and_removed)
{
	taken();
	put(12345678, 0);
	taken();
}

Test(pid_file, of_a_daemon_that_lives_and_after_it_was_killed)
{
	pid_t pid = other(true);

	refused(pid);
	stop(pid);
	taken();
}

Test(pid_file, of_a_zombie_daemon)
{
	pid_t pid = other(true);
	siginfo_t info;

	kill(pid, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	taken();
	stop(pid);
}

Test(pid_file, of_a_program_that_does_not_lock_it)
{
	pid_t pid = other(false);

	put(pid, -1);
	refused(pid);
	put(pid, 3600); /* written before that process began: its number was another's then */
	taken();
	stop(pid);
}

Test(pid_file, that_names_ourselves_is_an_old_one)
{
	put(getpid(), 0);
	taken();
}

Test(pid_file, with_something_else_in_it)
{
	FILE *file = fopen(path, "w");

	fputs("no number", file);
	fclose(file);
	cr_assert_eq(kernel_pid_file_check(root, path, &diag), -EINVAL);
	diag = (struct diag){ 0 };
	cr_assert_eq(kernel_pid_file(root, path, &diag), -EINVAL);
	cr_assert_eq(diag.code, DIAG_USAGE);
	cr_assert_str_eq(diag.object, path);
	cr_assert_eq(access(path, F_OK), 0, "it was removed");
}

Test(pid_file, checked_ahead)
{
	struct stat st;
	pid_t pid;

	cr_assert_eq(kernel_pid_file_check(root, path, &diag), 0);
	cr_assert(lstat(path, &st) < 0, "the check made it");
	cr_assert_eq(kernel_pid_file_check(root, "/proc/none/pid", &diag), -ENOENT);
	cr_assert_str_eq(diag.object, "/proc/none/pid");
	cr_assert_eq(kernel_pid_file_check(root, "/tmp", &diag), -EINVAL);
	pid = other(true);
	cr_assert_eq(kernel_pid_file_check(root, path, &diag), -EBUSY);
	cr_assert_eq(pid_in_file(), pid);
	stop(pid);
	cr_assert_eq(kernel_pid_file_check(root, path, &diag), 0);
	taken();
}

Test(pid_file, links_are_not_followed)
{
	char target[64];
	struct stat st;

	snprintf(target, sizeof(target), "%s/target", dir);
	cr_assert_eq(symlink("target", path), 0);
	cr_assert_eq(kernel_pid_file(root, path, &diag), -ELOOP);
	diag_says(&diag, DIAG_USAGE, path, "symbolic_link");
	cr_assert(lstat(target, &st) < 0);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(kernel_pid_file(root, path, &diag), -EINVAL);
}

Test(pid_file, that_was_replaced_is_not_removed)
{
	int fd = kernel_pid_file(root, path, &diag);

	cr_assert_eq(unlink(path), 0);
	put(1, 0);
	kernel_pid_file_end(fd, path);
	cr_assert_eq(pid_in_file(), 1);
}

Test(pid_file, by_the_helper_is_locked_but_not_writable)
{
	pid_t child;
	int fd, status;

	cr_assert_eq(kernel_pid_file_allow(root, path), 0);
	cr_assert_eq(helper_start(root, &diag), 0, "%s", diag.text);
	fd = kernel_pid_file(root, path, &diag);
	cr_assert(fd >= 0, "%s", diag.text);
	cr_assert_eq(pid_in_file(), getpid());
	cr_assert(pwrite(fd, "1\n", 2, 0) < 0 && ftruncate(fd, 0) < 0, "the server can write");
	child = fork();
	if (!child)
		_exit(kernel_pid_file_check(root, path, NULL) == -EBUSY ? 7 : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(WEXITSTATUS(status), 7);
	cr_assert_eq(unlink(path), 0);
	put(1, 0);
	kernel_pid_file_end(fd, path);
	cr_assert_eq(pid_in_file(), 1, "the file of another process was removed");
}

Test(pid_file, that_cannot_be_written_is_named)
{
	cr_assert_eq(kernel_pid_file(root, "/proc/none/pid", &diag), -ENOENT);
	cr_assert_str_eq(diag.object, "/proc/none/pid");
}
