// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A unix socket for commands at run time. A client sends a line and gets "ok" or "no" with a
// message. The command has been executed before the answer is sent.
#include "sim.h"
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LINE 512

static int address(struct sockaddr_un *addr, const char *path)
{
	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(addr->sun_path))
		return -1;
	strcpy(addr->sun_path, path);
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

int console_open(struct sim *sim, const char *path)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = CLIENTS + 1 };
	struct sockaddr_un addr;

	sim->console = address(&addr, path);
	if (sim->console < 0 || bind(sim->console, (struct sockaddr *)&addr, sizeof(addr)) ||
		listen(sim->console, 16))
		return -1;
	return epoll_ctl(sim->epoll, EPOLL_CTL_ADD, sim->console, &event);
}

/* Clients must send their line at once, as console_ask() does. */
void console_serve(struct sim *sim)
{
	char line[LINE], answer[LINE], out[LINE + 8];
	int fd = accept4(sim->console, NULL, NULL, SOCK_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : recv(fd, line, sizeof(line) - 1, 0);
	bool good;

	if (got > 0) {
		line[got] = 0;
		good = words_run(sim, line, answer, sizeof(answer));
		snprintf(
			out, sizeof(out), "%s%s%s", good ? "ok" : "no", *answer ? " " : "", answer);
		(void)!send(fd, out, strlen(out), MSG_NOSIGNAL);
	}
	if (fd >= 0)
		close(fd);
}

int console_ask(const char *path, int count, char **words)
{
	char line[LINE] = "";
	struct sockaddr_un addr;
	int fd = address(&addr, path);
	ssize_t got;

	for (int i = 0; i < count; i++) {
		size_t at = strlen(line);

		snprintf(line + at, sizeof(line) - at, "%s%s", i ? " " : "", words[i]);
	}
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		send(fd, line, strlen(line), MSG_NOSIGNAL) < 0) {
		perror(path);
		return 1;
	}
	got = recv(fd, line, sizeof(line) - 1, 0);
	close(fd);
	line[got > 0 ? got : 0] = 0;
	if (!strncmp(line, "ok", 2)) {
		if (line[2])
			puts(line + 3);
		return 0;
	}
	fprintf(stderr, "sim: %s\n", *line ? line + 3 : "no answer");
	return 1;
}
