/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Secrets of files, pipes and descriptors: a pipe gives its line once, and it serves all targets.
 */
/* Link: munmap */
#include "uri.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned wiped; /* mappings */

int __real_munmap(void *, size_t);
int __wrap_munmap(void *, size_t);

int __wrap_munmap(void *p, size_t len)
{
	const char *bytes = p;
	bool zero = true;

	for (size_t i = 0; i < len; i++)
		zero = zero && !bytes[i];
	wiped += zero;
	return __real_munmap(p, len);
}

static char folder[] = "/tmp/secret-XXXXXX", path[64];

static void setup(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/secret", folder);
}

static void fini(void)
{
	unlink(path);
	rmdir(folder);
}
TestSuite(secret, .init = setup, .fini = fini);

static void reads(const char *option, const char *number, const char *expected)
{
	struct diag diag = { 0 };
	char secret[32];

	cr_assert_eq(secret_read(NULL, option, number, path, secret, sizeof(secret), &diag), 0,
		"%s", diag.text);
	cr_assert_str_eq(secret, expected);
}

static void put(const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

Test(secret, a_file_is_read_anew)
{
	put("one\ntwo\n");
	reads("--secret-file", NULL, "one");
	put("three\n");
	reads("--secret-file", NULL, "three");
}

/* Return its end to read from, whose number is in `number`, too. */
static int pipe_holding_one(char number[16])
{
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(write(fds[1], "one\n", 4), 4);
	close(fds[1]);
	snprintf(number, 16, "%d", fds[0]);
	return fds[0];
}

Test(secret, a_descriptor_is_read_once)
{
	char number[16];
	int fd = pipe_holding_one(number);

	reads("--secret-fd", number, "one");
	reads("--secret-fd", number, "one");
	cr_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC, "commands would inherit it");
	close(fd);
}

/* For another option, as that of a target's secret. */
Test(secret, lines_of_a_descriptor_are_read_one_after_another)
{
	char number[16];
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(write(fds[1], "one\ntwo\n", 8), 8);
	close(fds[1]);
	snprintf(number, sizeof(number), "%d", fds[0]);
	reads("--secret-fd", number, "one");
	reads("--target-secret-fd", number, "two");
	reads("--secret-fd", number, "one");
	close(fds[0]);
}

Test(secret, a_dash_is_standard_input)
{
	char number[16];
	int fd = pipe_holding_one(number);

	cr_assert_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	snprintf(path, sizeof(path), "-");
	reads("--secret-fd", NULL, "one");
	close(fd);
}

/* Its writer may live on. */
Test(secret, a_line_ends_the_read)
{
	char number[16];
	int fds[2];

	cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
	cr_assert_eq(write(fds[1], "one\n", 4), 4);
	snprintf(number, sizeof(number), "%d", fds[0]);
	reads("--secret-fd", number, "one");
	close(fds[0]);
	close(fds[1]);
}

/* Without a descriptor left, it would fail to open the pipe; with one, it would wait. */
Test(secret, a_named_pipe_is_opened_once)
{
	struct rlimit none = { 0 }, before;
	pid_t writer;

	cr_assert_eq(mkfifo(path, 0600), 0);
	writer = fork();
	if (!writer) {
		put("one\n");
		_exit(0);
	}
	reads("--secret-file", NULL, "one");
	cr_assert_eq(waitpid(writer, NULL, 0), writer);
	getrlimit(RLIMIT_NOFILE, &before);
	none.rlim_max = before.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	reads("--secret-file", NULL, "one");
	setrlimit(RLIMIT_NOFILE, &before);
}

/* The copies for further targets. */
Test(secret, what_was_kept_is_wiped)
{
	struct diag diag = { 0 };
	char number[16], secret[32];
	int fd = pipe_holding_one(number);

	reads("--secret-fd", number, "one");
	cr_assert_eq(wiped, 0);
	secret_forget();
	cr_assert_eq(wiped, 1);
	cr_assert_eq(secret_read(NULL, "--secret-fd", number, NULL, secret, 32, &diag), -EINVAL);
	secret_forget();
	close(fd);
}

/* An event loop tries again later. */
Test(secret, a_named_pipe_without_a_writer_is_not_waited_for)
{
	char secret[64];
	struct diag why = { 0 };
	int fd;

	secret_never_wait();
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(secret_read(NULL, "--secret-file", NULL, path, secret, sizeof(secret), &why),
		-EAGAIN);
	fd = open(path, O_RDWR);
	cr_assert_eq(secret_read(NULL, "--secret-file", NULL, path, secret, sizeof(secret), &why),
		-EAGAIN);
	cr_assert_eq(write(fd, "one\n", 4), 4);
	close(fd);
	unlink(path);
}

/* Nothing is typed there, and what has been typed is not taken. */
Test(secret, a_boot_asks_for_nothing_on_a_terminal)
{
	char secret[64], number[16];
	struct diag why = { 0 };
	int master = posix_openpt(O_RDWR | O_NOCTTY), fd;

	cr_assert_geq(master, 0);
	cr_assert_eq(grantpt(master) || unlockpt(master), 0);
	fd = open(ptsname(master), O_RDWR | O_NOCTTY);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(master, "one\n", 4), 4);
	snprintf(number, sizeof(number), "%d", fd);
	secret_never_wait();
	cr_assert_eq(secret_read(NULL, "--secret-fd", number, NULL, secret, sizeof(secret), &why),
		-EINVAL);
	cr_assert(strstr(why.text, "terminal"), "%s", why.text);
	cr_assert_eq(read(fd, secret, sizeof(secret)), 4);
	close(fd);
	close(master);
}
