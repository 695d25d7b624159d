/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From exec to exit: runs a command some times with its output thrown away, prints the median in
 * milliseconds, the exit status of the last and the most memory one had. startup RUNS COMMAND… */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define RUNS_MAX 1000

extern char **environ;

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double took[RUNS_MAX];
	int runs = argc > 2 ? atoi(argv[1]) : 0, status = 0;
	posix_spawn_file_actions_t quiet;
	struct rusage usage;

	if (runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "startup: usage: startup RUNS COMMAND…, 1 to %d runs\n", RUNS_MAX);
		return 2;
	}
	posix_spawn_file_actions_init(&quiet);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&quiet, fd, "/dev/null", O_RDWR, 0);
	for (int i = 0; i < runs; i++) {
		double start = now_ms();
		pid_t pid;
		int err = posix_spawnp(&pid, argv[2], &quiet, NULL, argv + 2, environ);

		if (err) {
			fprintf(stderr, "startup: %s: %s\n", argv[2], strerror(err));
			return 1;
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		took[i] = now_ms() - start;
	}
	qsort(took, (size_t)runs, sizeof(*took), compare);
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("ms %.3f status %d kb %ld\n", took[runs / 2],
		WIFEXITED(status) ? WEXITSTATUS(status) : 128, usage.ru_maxrss);
	return 0;
}
