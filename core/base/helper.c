/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Processes that keep the caller's rights, and how a server calls them. */
#include "helper.h"
#include "grow.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct task {
	enum helper_lane lane;
	helper_fn *fn;
	char *object;
};
static struct task *tasks;
static unsigned ntasks;

static struct lane {
	int fd; /* valid once `started` */
	bool started;
	pthread_mutex_t lock;
} lanes[HELPER_LANES] = {
	{ .lock = PTHREAD_MUTEX_INITIALIZER },
	{ .lock = PTHREAD_MUTEX_INITIALIZER },
};

struct message {
	uint32_t task;
	int32_t err;
	uint32_t len;
	uint32_t has_fd;
	char data[HELPER_DATA];
};

static struct task *find(helper_fn *fn, const char *object)
{
	for (unsigned i = 0; i < ntasks; i++)
		if (tasks[i].fn == fn && !strcmp(tasks[i].object, object))
			return &tasks[i];
	return NULL;
}

int helper_allow(enum helper_lane lane, helper_fn *fn, const char *object)
{
	struct task task = { lane, fn, NULL }, *more;

	if (find(fn, object))
		return 0;
	task.object = strdup(object);
	more = task.object ? grow(tasks, ntasks) : NULL;
	if (!more) {
		free(task.object);
		return -ENOMEM;
	}
	*more = task;
	return 0;
}

/* --- both sides */

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static int put(int to, struct message *message, int fd)
{
	union control control = { 0 };
	struct iovec iov = { message, offsetof(struct message, data) + message->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	message->has_fd = fd >= 0;
	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	do
		n = sendmsg(to, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Receive a whole message. *fd: -1, or what came with it. */
static int get(int from, struct message *message, int *fd)
{
	union control control = { 0 };
	struct iovec iov = { message, sizeof(*message) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	const struct cmsghdr *header;
	ssize_t n;

	*fd = -1;
	do
		n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	header = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	if (n >= (ssize_t)offsetof(struct message, data) && message->len <= HELPER_DATA &&
		(size_t)n == offsetof(struct message, data) + message->len &&
		message->has_fd == (*fd >= 0))
		return 0;
	if (*fd >= 0)
		close(*fd);
	return -ECONNRESET;
}

/* --- the helper */

static void silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (null > 2)
		close(null);
}

static void close_all_but(int a, int b)
{
	unsigned first = (unsigned)(a < b ? a : b), second = (unsigned)(a < b ? b : a);

	if (first > 3)
		syscall(SYS_close_range, 3, first - 1, 0);
	if (second > first + 1)
		syscall(SYS_close_range, first + 1, second - 1, 0);
	syscall(SYS_close_range, second + 1, ~0u, 0);
}

static void run_task(enum helper_lane lane, struct message *message, int *fd)
{
	const struct task *task = message->task < ntasks ? &tasks[message->task] : NULL;
	int given = *fd;

	message->err = task && task->lane == lane
			       ? task->fn(task->object, fd, message->data, message->len)
			       : -EPERM;
	if (given < 0)
		return;
	close(given);
	*fd = *fd == given ? -1 : *fd;
}

/* Signals to a process group or a control group are for the server, which may need its helper until
 * its end. */
static void run(enum helper_lane lane, int server)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE };
	struct message message;
	int fd;

	prctl(PR_SET_NAME, "rdmastor-helper");
	for (unsigned i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	while (!get(server, &message, &fd)) {
		run_task(lane, &message, &fd);
		if (put(server, &message, fd))
			return;
		if (fd >= 0)
			close(fd);
	}
}

static int start(enum helper_lane lane, int keep, struct diag *diag)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return diag_sys(diag, errno, "socket of the privileged helper");
	pid = fork();
	if (pid < 0) {
		int err = errno;

		close(pair[0]);
		close(pair[1]);
		return diag_sys(diag, err, "start the privileged helper");
	}
	if (!pid) {
		silence();
		close_all_but(pair[1], keep >= 3 ? keep : pair[1]);
		run(lane, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	lanes[lane].fd = pair[0];
	lanes[lane].started = true;
	return 0;
}

int helper_start(int keep, struct diag *diag)
{
	int err = 0;

	for (unsigned i = 0; !err && i < ntasks; i++)
		if (!lanes[tasks[i].lane].started)
			err = start(tasks[i].lane, keep, diag);
	return err;
}

/* --- the server */

static int call(const struct task *task, int *fd, void *data, size_t len)
{
	struct lane *lane = &lanes[task->lane];
	struct message message = { .task = (uint32_t)(task - tasks), .len = (uint32_t)len };
	int got, err;

	if (len > sizeof(message.data))
		return -E2BIG;
	if (len)
		memcpy(message.data, data, len);
	pthread_mutex_lock(&lane->lock);
	err = put(lane->fd, &message, *fd);
	if (!err)
		err = get(lane->fd, &message, &got);
	pthread_mutex_unlock(&lane->lock);
	if (err)
		return -ECONNRESET;
	if (len && message.len == len)
		memcpy(data, message.data, len);
	if (got >= 0)
		*fd = got;
	return message.err;
}

int helper_call(helper_fn *fn, const char *object, int *fd, void *data, size_t len)
{
	const struct task *task = find(fn, object);

	return task && lanes[task->lane].started ? call(task, fd, data, len)
						 : fn(object, fd, data, len);
}
