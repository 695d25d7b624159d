/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What multipathd answers, and what else may listen at its name. */
#include "../../../../core/kernel/disks/multipath.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct daemon {
	int fd;
	char name[64];
	size_t length; /* to announce */
	const char *answer;
	char asked[100];
	pthread_t thread;
};

static void *serve(void *arg)
{
	struct daemon *daemon = arg;
	int fd = accept(daemon->fd, NULL, NULL);
	size_t len = 0;

	cr_assert_eq(recv(fd, &len, sizeof(len), MSG_WAITALL), sizeof(len));
	cr_assert_lt(len, sizeof(daemon->asked));
	cr_assert_eq(recv(fd, daemon->asked, len, MSG_WAITALL), (ssize_t)len);
	cr_assert_eq(daemon->asked[len - 1], 0);
	send(fd, &daemon->length, sizeof(daemon->length), MSG_NOSIGNAL);
	send(fd, daemon->answer, strlen(daemon->answer) + 1, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

/* One answer; length 0: that of the text. */
static char *ask(const char *answer, size_t length, const char *command)
{
	static unsigned number;
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct daemon daemon = { .fd = socket(AF_UNIX, SOCK_STREAM, 0),
		.length = length ? length : strlen(answer) + 1,
		.answer = answer };
	char *text;
	int len;

	snprintf(daemon.name, sizeof(daemon.name), "rdmastor-test/%d/%u", (int)getpid(), number++);
	len = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", daemon.name) + 1;
	cr_assert_eq(bind(daemon.fd, (struct sockaddr *)&un,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len)),
		0);
	cr_assert_eq(listen(daemon.fd, 1), 0);
	cr_assert_eq(pthread_create(&daemon.thread, NULL, serve, &daemon), 0);
	text = multipath_ask(daemon.name, command);
	pthread_join(daemon.thread, NULL);
	close(daemon.fd);
	cr_assert_str_eq(daemon.asked, command);
	return text;
}

Test(multipath_daemon, one_question_and_its_answer)
{
	char *text = ask("mpatha 12 sec\n", 0, "show maps");

	cr_assert_str_eq(text, "mpatha 12 sec\n");
	free(text);
}

Test(multipath_daemon, answers_that_are_none)
{
	cr_assert_null(ask("x", 100, "cut"));
	cr_assert_null(ask("x", SIZE_MAX, "endless"));
	cr_assert_null(multipath_ask("rdmastor-test/none", "show maps"));
}

Test(multipath_daemon, it_is_not_asked_unless_it_runs)
{
	struct multipath_daemon daemon;
	struct tree tree = tree_new();

	cr_assert_not(kernel_multipath_ask(tree.root, &daemon));
	cr_assert_eq(daemon.maps + daemon.paths, 0);
	tree_free(&tree);
}

Test(multipath_daemon, what_the_answers_mean)
{
	struct multipath_daemon daemon = { 0 };
	char maps[] = "mpatha 12 sec\nmpathb on\nmpathc 5 chk\nmpathd off\n\nmpathe - \n"
		      "mpathf 0 sec\n",
	     paths[] = "8:16 50\n8:32 -1\nok\n[undef] 1\n";

	multipath_parse_queueing(&daemon, maps);
	multipath_parse_priorities(&daemon, paths);
	cr_assert_eq(daemon.maps, 2);
	cr_assert_str_eq(daemon.map[0].name, "mpatha");
	cr_assert_eq(daemon.map[0].fails_in_s, 12);
	cr_assert_str_eq(daemon.map[1].name, "mpathf");
	cr_assert_eq(daemon.paths, 3);
	cr_assert_str_eq(daemon.path[0].dev, "8:16");
	cr_assert_eq(daemon.path[0].priority, 50);
	cr_assert_eq(daemon.path[1].priority, -1);
}
