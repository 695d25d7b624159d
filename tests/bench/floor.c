/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a socket alone can do here: 64-byte requests, replies of one size, one process a side, one
 * unix or TCP connection. Each side takes all that has arrived in one receive and answers it in one
 * send: the bound of every server that uses sockets. floor [bs=4096] [qd=32] [seconds=0.5] [spin=1]
 * [tcp=1] [client=CPU] [server=CPU] */
#include "hist.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUEST   64u
#define DEPTH_MAX 1024

static void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, errno ? strerror(errno) : "wrong argument");
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (cpu >= 0 && sched_setaffinity(0, sizeof(set), &set))
		die("processor");
}

static size_t get_some(int fd, uint8_t *p, size_t len, bool spin)
{
	ssize_t n;

	do
		n = recv(fd, p, len, spin ? MSG_DONTWAIT : 0);
	while (n < 0 && errno == EAGAIN);
	if (n < 0)
		die("receive");
	return (size_t)n;
}

static void put_all(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);
		if (n < 0)
			exit(0); /* the other side is done */
		p += n;
		len -= (size_t)n;
	}
}

static void serve(int fd, uint32_t bs, uint32_t qd, bool spin)
{
	uint8_t *in = malloc(REQUEST * qd), *out = calloc(qd, bs);
	size_t have = 0, n;

	if (!in || !out)
		die("memory");
	while ((n = get_some(fd, in, REQUEST * qd, spin))) {
		have += n;
		put_all(fd, out, have / REQUEST * bs);
		have %= REQUEST;
	}
	exit(0);
}

static void load(int fd, uint32_t bs, uint32_t qd, bool spin, double seconds)
{
	static uint64_t sent_at[DEPTH_MAX];
	static struct hist hist;
	size_t room = (size_t)bs * qd < 512 << 10 ? (size_t)bs * qd : 512 << 10, have = 0;
	uint8_t *in = malloc(room), *out = calloc(qd, REQUEST);
	uint64_t start = now_ns(), now = start, deadline = start + (uint64_t)(seconds * 1e9),
		 oldest = 0;

	if (!in || !out)
		die("memory");
	for (uint32_t i = 0; i < qd; i++)
		sent_at[i] = start;
	put_all(fd, out, (size_t)REQUEST * qd);
	while (now < deadline) {
		uint32_t whole;

		have += get_some(fd, in, room, spin);
		now = now_ns();
		whole = (uint32_t)(have / bs);
		have %= bs;
		for (uint32_t i = 0; i < whole; i++, oldest++) {
			hist_add(&hist, now - sent_at[oldest % qd]);
			sent_at[oldest % qd] = now;
		}
		put_all(fd, out, (size_t)REQUEST * whole);
	}
	hist_print(&hist, (double)(now - start) / 1e9, bs);
}

static void tcp_pair(int pair[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	socklen_t len = sizeof(at);

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || pair[0] < 0 || bind(listener, (struct sockaddr *)&at, len) ||
		listen(listener, 1) || getsockname(listener, (struct sockaddr *)&at, &len) ||
		connect(pair[0], (struct sockaddr *)&at, len))
		die("connection");
	pair[1] = accept(listener, NULL, NULL);
	if (pair[1] < 0)
		die("connection");
	close(listener);
	for (int i = 0; i < 2; i++)
		setsockopt(pair[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int main(int argc, char **argv)
{
	uint32_t bs = 4096, qd = 32;
	int pair[2], client = -1, server = -1;
	double seconds = 0.5;
	bool spin = false, tcp = false;
	pid_t pid;

	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');
		if (!value)
			die(argv[i]);
		*value++ = 0;
		if (!strcmp(argv[i], "bs"))
			bs = (uint32_t)atoi(value);
		else if (!strcmp(argv[i], "qd"))
			qd = (uint32_t)atoi(value);
		else if (!strcmp(argv[i], "seconds"))
			seconds = atof(value);
		else if (!strcmp(argv[i], "spin"))
			spin = atoi(value);
		else if (!strcmp(argv[i], "tcp"))
			tcp = atoi(value);
		else if (!strcmp(argv[i], "client"))
			client = atoi(value);
		else if (!strcmp(argv[i], "server"))
			server = atoi(value);
		else
			die(argv[i]);
	}
	if (!bs || qd < 1 || qd > DEPTH_MAX)
		die("usage: floor [bs=] [qd=] [seconds=] [spin=] [tcp=] [client=] [server=]");
	if (tcp)
		tcp_pair(pair);
	else if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socket");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(pair[0]);
		pin(server);
		serve(pair[1], bs, qd, spin);
	}
	close(pair[1]);
	pin(client);
	load(pair[0], bs, qd, spin, seconds);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	close(pair[0]);
	return 0;
}
