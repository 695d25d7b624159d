// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The simulator's options and its loop. usage: sim [-n NAME] [-c CONSOLE] [-f FILE] ['WORDS' …], or
// sim -x CONSOLE WORD …; says "ready" when it is. The words are in sim.md.
#include "sim.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 32

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void say(struct sim *sim, char *line, const char *where)
{
	char answer[512];

	if (words_run(sim, line, answer, sizeof(answer)))
		return;
	fprintf(stderr, "sim: %s: %s\n", where, answer);
	exit(2);
}

static void say_file(struct sim *sim, const char *path)
{
	FILE *from = fopen(path, "re");
	char line[1024];

	if (!from) {
		fprintf(stderr, "sim: %s: %s\n", path, strerror(errno));
		exit(2);
	}
	while (fgets(line, sizeof(line), from))
		say(sim, line, path);
	fclose(from);
}

static int sooner(int64_t a, int64_t b)
{
	int64_t ns = a < 0 ? b : b < 0 || a < b ? a : b;

	return ns < 0 ? -1 : (int)((ns + 999999) / 1000000);
}

static int timers(struct sim *sim)
{
	int64_t net, rmpp, event;

	sim->now = clock_ns();
	net = net_timers(sim);
	rmpp = rmpp_timers(sim);
	event = event_timers(sim);
	return sooner(net, rmpp < 0 ? event : event < 0 || rmpp < event ? rmpp : event);
}

static void run(struct sim *sim)
{
	struct epoll_event event[EVENTS];

	for (;;) {
		int count = epoll_wait(sim->epoll, event, EVENTS, timers(sim));

		sim->now = clock_ns();
		for (int i = 0; i < count; i++) {
			if (event[i].data.u64 < CLIENTS)
				net_client(sim, (unsigned)event[i].data.u64, event[i].events);
			else if (event[i].data.u64 == CLIENTS)
				net_control(sim);
			else
				console_serve(sim);
		}
	}
}

static int usage(void)
{
	fputs("usage: sim [-n NAME] [-c CONSOLE] [-f FILE] ['WORDS' ...] | sim -x CONSOLE WORD "
	      "...\n",
		stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static struct sim sim = { .shape = { .hosts = 1,
					  .ports = 1,
					  .down = 36,
					  .up = 4,
					  .prefix = 0xfe80000000000000ull,
					  .seed = 1 } };
	const char *name = SIM_BASE, *console = NULL;
	char build[] = "build";
	int opt;

	sim.now = clock_ns();
	sim.epoll = epoll_create1(EPOLL_CLOEXEC);
	while ((opt = getopt(argc, argv, "+n:c:f:x:")) != -1) {
		if (opt == 'x')
			return console_ask(optarg, argc - optind, argv + optind);
		if (opt == 'n')
			name = optarg;
		else if (opt == 'c')
			console = optarg;
		else if (opt == 'f')
			say_file(&sim, optarg);
		else
			return usage();
	}
	for (; optind < argc; optind++)
		say(&sim, argv[optind], "argument");
	say(&sim, build, "shape");
	if (net_open(&sim, name) || (console && console_open(&sim, console))) {
		fprintf(stderr, "sim: %s: %s\n", name, strerror(errno));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	run(&sim);
}
