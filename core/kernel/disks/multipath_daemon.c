/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ask multipathd what only it knows. Each side sends the length of a text as a size_t, then the
 * text with its final zero (multipath-tools, mpath_cmd). */
#include "kernel_multipath.h"
#include "multipath.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME       "/org/kernel/linux/storage/multipathd"
#define ANSWER_S   1 /* it may be busy with a path that hangs */
#define ANSWER_MAX (1u << 20)

/* Any user may listen at an abstract name: the answer must come from root, or from this user. */
static int check_owner(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	return !cred.uid || cred.uid == geteuid() ? 0 : -EACCES;
}

static int dial(const char *name)
{
	const struct timeval limit = { .tv_sec = ANSWER_S };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	size_t len;

	if (fd < 0)
		return -errno;
	/* an abstract name begins with a zero byte and has none at its end */
	len = (size_t)snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", name) + 1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	err = connect(fd, (struct sockaddr *)&un,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len))
		      ? -errno
		      : check_owner(fd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int receive(int fd, void *to, size_t len)
{
	for (ssize_t got; len; len -= (size_t)got, to = (char *)to + got) {
		got = recv(fd, to, len, 0);
		if (got <= 0)
			return got ? -errno : -ECONNRESET;
	}
	return 0;
}

char *multipath_ask(const char *name, const char *command)
{
	size_t len = strlen(command) + 1, length;
	int fd = dial(name);
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if (send(fd, &len, sizeof(len), MSG_NOSIGNAL) == sizeof(len) &&
		send(fd, command, len, MSG_NOSIGNAL) == (ssize_t)len &&
		!receive(fd, &length, sizeof(length)) && length && length <= ANSWER_MAX &&
		(text = malloc(length))) {
		if (receive(fd, text, length)) {
			free(text);
			text = NULL;
		} else {
			text[length - 1] = 0;
		}
	}
	close(fd);
	return text;
}

/* "mpatha 12 sec": the map holds I/O for that time; "on" and "5 chk": it could. */
void multipath_parse_queueing(struct multipath_daemon *daemon, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) && daemon->maps < MULTIPATH_MEMBERS) {
		struct multipath_queueing *map = &daemon->map[daemon->maps];
		char unit[4] = "";

		if (sscanf(line, "%127s %u %3s", map->name, &map->fails_in_s, unit) == 3 &&
			!strcmp(unit, "sec"))
			daemon->maps++;
	}
}

/* "8:16 50" */
void multipath_parse_priorities(struct multipath_daemon *daemon, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) && daemon->paths < MULTIPATH_MEMBERS) {
		struct multipath_priority *path = &daemon->path[daemon->paths];

		daemon->paths += sscanf(line, "%15s %d", path->dev, &path->priority) == 2;
	}
}

bool kernel_multipath_ask(int root, struct multipath_daemon *daemon)
{
	char *maps, *paths;
	bool answers;

	*daemon = (struct multipath_daemon){ 0 };
	if (!kernel_multipath_daemon(root))
		return false;
	maps = multipath_ask(NAME, "show maps raw format \"%n %Q\"");
	paths = maps ? multipath_ask(NAME, "show paths raw format \"%D %p\"") : NULL;
	answers = maps;
	if (maps)
		multipath_parse_queueing(daemon, maps);
	if (paths)
		multipath_parse_priorities(daemon, paths);
	free(maps);
	free(paths);
	return answers;
}
