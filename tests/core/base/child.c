/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands: their words, their environment, their end. */
#include "child.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(unsigned count, char **words)
{
	struct diag diag = { 0 };
	int status = -1;
	pid_t pid;

	if (child_start(&pid, words, count, "uri", "nbd://x/?a=b c", &diag))
		return -diag.err;
	for (int i = 0; i < 500 && !child_ended(pid, &status); i++)
		usleep(10000);
	return status;
}

Test(child, one_word_is_a_line_for_the_shell)
{
	char *line = "test \"$uri\" = 'nbd://x/?a=b c' && exit 7";

	cr_assert_eq(run(1, &line), 7);
}

Test(child, several_words_are_expanded_and_not_split)
{
	char *words[] = { "test", "<nbd://x/?a=b c,nbd://x/?a=b c>", "=", "<$uri,$uri>" };
	char *other[] = { "test", "$ur", "=", "$ur" };

	cr_assert_eq(run(4, words), 0);
	cr_assert_eq(run(4, other), 0);
}

Test(child, the_variable_replaces_an_older_one)
{
	char *words[] = { "sh", "-c", "test \"$(env | grep -c ^uri=)\" = 1" };

	setenv("uri", "old", 1);
	setenv("uri2", "other", 1);
	cr_assert_eq(run(3, words), 0);
}

Test(child, signals_are_as_a_shell_tells_them)
{
	char *words[] = { "sh", "-c", "kill -TERM $$" };

	cr_assert_eq(run(3, words), 128 + SIGTERM);
}

Test(child, signals_are_not_blocked_in_it)
{
	char *words[] = { "sh", "-c", "kill -PIPE $$; exit 3" };
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(run(3, words), 128 + SIGPIPE);
}

Test(child, a_program_that_is_not_there_is_named)
{
	char *words[] = { "no-such-program", "x" };
	struct diag diag = { 0 };
	pid_t pid;

	cr_assert_eq(child_start(&pid, words, 2, "uri", "", &diag), -ENOENT);
	diag_says(&diag, DIAG_NOT_FOUND, NULL, "no-such-program");
}

Test(child, runs_end_in_time)
{
	cr_assert_eq(child_run((char *const[]){ "sh", "-c", "echo seen; exit 7", NULL }, 5000), 7);
	cr_assert_eq(child_run((char *const[]){ "sh", "-c", "kill -TERM $$", NULL }, 5000),
		128 + SIGTERM);
	cr_assert_eq(child_run((char *const[]){ "/nonexistent/command", NULL }, 5000), -ENOENT);
	cr_assert_eq(child_run((char *const[]){ "sleep", "60", NULL }, 50), -ETIMEDOUT);
}

/* The text that was written to the last of its descriptors comes back by the first. */
static int relay(int fd, const void *arg)
{
	const unsigned *count = arg;
	char text[8];
	ssize_t len = read((int)*count - 1, text, sizeof(text));

	if (fcntl((int)*count, F_GETFD) >= 0)
		return 1;
	return write(fd, text, (size_t)len) == len ? 42 : 2;
}

Test(child, a_call_has_its_descriptors_in_order_and_no_other)
{
	int there[2], back[2], extra = dup(0);
	unsigned count = 3;
	char text[8];

	cr_assert_eq(pipe(there), 0);
	cr_assert_eq(pipe(back), 0);
	cr_assert_eq(write(there[1], "seen", 4), 4);
	cr_assert_eq(child_call((int[]){ back[1], 1, there[0] }, count, 5000, relay, &count), 42);
	cr_assert_eq(read(back[0], text, sizeof(text)), 4);
	cr_assert_eq(memcmp(text, "seen", 4), 0);
	/* also where they stand in each other's place */
	cr_assert_eq(dup2(back[1], 2), 2);
	cr_assert_eq(dup2(there[0], 0), 0);
	cr_assert_eq(write(there[1], "seen", 4), 4);
	cr_assert_eq(child_call((int[]){ 2, 1, 0 }, count, 5000, relay, &count), 42);
	close(extra);
}

static int sleep_long(int fd, const void *arg)
{
	(void)fd;
	(void)arg;
	return (int)sleep(60);
}

Test(child, a_call_that_does_not_come_back_is_not_waited_for)
{
	cr_assert_eq(child_call((int[]){ 0 }, 1, 50, sleep_long, NULL), -ETIMEDOUT);
}

static int at_once(int fd, const void *arg)
{
	(void)fd;
	(void)arg;
	return 0;
}

Test(child, whatever_descriptor_is_missing_no_process_is_left)
{
	struct rlimit limit;
	int lowest = dup(0), fds[] = { 0 };
	unsigned refused = 0;

	close(lowest);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (unsigned more = 0; more < 4; more++) {
		limit.rlim_cur = (rlim_t)lowest + more;
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		refused += child_call(fds, 1, 5000, at_once, NULL) == -EMFILE;
		cr_assert_eq(waitpid(-1, NULL, 0), -1, "%u more", more);
		cr_assert_eq(dup(0), more ? lowest : -1, "%u more", more);
		close(lowest);
	}
	cr_assert_geq(refused, 3);
}
