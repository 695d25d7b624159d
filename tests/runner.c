// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Replaces Criterion's library where it can't be used: in the ThreadSanitizer build, as Criterion
// shares memory with its test processes at an address that belongs to the sanitizer, and on other
// architectures. Here each test runs in a plain child. --tap=FILE and --filter=SUITE/TEST, with
// wildcards, are understood, other options are ignored.
#include <criterion/criterion.h>
#include <err.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

extern struct criterion_test *const __start_cr_tst[], *const __stop_cr_tst[];
extern struct criterion_suite *const __start_cr_sts[] __attribute__((weak));
extern struct criterion_suite *const __stop_cr_sts[] __attribute__((weak));

static const struct criterion_test *test;
static const struct criterion_test_extra_data *suite; /* of the test, NULL: none */
static bool failed;
struct criterion_options criterion_options;

int cr_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(text, format, args);
	va_end(args);
	return len;
}

void cr_asprintf_free(char *text)
{
	free(text);
}

/* The default message of an assertion: its expression, which is the first of the arguments. */
char *cr_translate_assert_msg(int index, ...)
{
	va_list args;
	char *text;

	(void)index;
	va_start(args, index);
	text = strdup(va_arg(args, const char *));
	va_end(args);
	return text;
}

void cri_asserts_passed_incr(void)
{
}

void criterion_send_assert(struct criterion_assert_stats *stats)
{
	if (stats->passed)
		return;
	failed = true;
	fprintf(stderr, "%s:%u: %s\n", stats->file, stats->line, stats->message);
}

void criterion_abort_test(void)
{
	exit(EXIT_FAILURE);
}

void criterion_continue_test(void)
{
}

void criterion_skip_test(const char *format, ...)
{
	(void)format;
	exit(SKIPPED);
}

void criterion_internal_test_setup(void)
{
	if (suite && suite->init)
		suite->init();
	if (test->data->init)
		test->data->init();
}

void criterion_internal_test_main(void (*fn)(void))
{
	fn();
}

void criterion_internal_test_teardown(void)
{
	if (test->data->fini)
		test->data->fini();
	if (suite && suite->fini)
		suite->fini();
}

static const struct criterion_test_extra_data *suite_of(const char *name)
{
	for (struct criterion_suite *const *s = __start_cr_sts; s < __stop_cr_sts; s++)
		if (*s && !strcmp((*s)->name, name))
			return (*s)->data;
	return NULL;
}

/* The sanitizer adds its own exit status to that of a test in which it found something. */
static const char *run(void)
{
	pid_t pid = fork();
	int status;
	bool good;

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		test->test();
		exit(failed ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		return "skip";
	if (test->data->signal)
		good = WIFSIGNALED(status) && WTERMSIG(status) == test->data->signal;
	else
		good = WIFEXITED(status) && WEXITSTATUS(status) == test->data->exit_code;
	return good ? "ok" : "not ok";
}

static bool is_wanted(const struct criterion_test *one, const char *filter)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/%s", one->category, one->name);
	return !filter || !fnmatch(filter, name, 0);
}

int main(int argc, char **argv)
{
	const char *filter = NULL;
	FILE *tap = NULL;
	bool good = true;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--filter=", 9))
			filter = argv[i] + 9;
		if (!strncmp(argv[i], "--tap=", 6) && !(tap = fopen(argv[i] + 6, "we")))
			err(1, "%s", argv[i] + 6);
	}
	tap = tap ? tap : stdout;
	for (struct criterion_test *const *t = __start_cr_tst; t < __stop_cr_tst; t++) {
		const char *how;

		if (!*t || !is_wanted(*t, filter))
			continue;
		test = *t;
		suite = suite_of(test->category);
		fflush(NULL);
		how = run();
		good &= strcmp(how, "not ok") != 0;
		if (!strcmp(how, "skip"))
			fprintf(tap, "ok - %s::%s # SKIP\n", test->category, test->name);
		else
			fprintf(tap, "%s - %s::%s\n", how, test->category, test->name);
	}
	fclose(tap);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
