/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Find the processes that serve disks, and query them: kernel_serving(). serving_read.c parses the
 * answers. */
#include "kernel_sys.h"
#include "served.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PROCESSES  256
#define OTHERS     64 /* of these, processes of untrusted users */
#define ANSWER_MAX (1u << 20)
#define STEP       16384u
#define LISTENS    0x10000 /* flag of /proc/net/unix: __SO_ACCEPTCON */

struct query {
	struct loop_fd fd;
	struct loop *loop;
	struct serving_process process;
	bool gone; /* it ended without an answer, or is not ready yet */
	struct find *find;
	char *text;
	size_t len, room;
};

struct find {
	struct query *query;
	unsigned count, others, waiting;
	unsigned left_out; /* others beyond these */
	volatile int finished;
};

static void end(struct query *a)
{
	loop_fd_del(a->loop, &a->fd);
	close(a->fd.fd);
	a->fd.fd = -1;
	a->find->finished = !--a->find->waiting;
}

static int make_room(struct query *a)
{
	char *more;

	if (a->room - a->len >= STEP)
		return 0;
	if (a->room >= ANSWER_MAX)
		return diag_set(&a->process.why, DIAG_PROTOCOL, EMSGSIZE,
			"the answer is longer than %u bytes", ANSWER_MAX);
	more = realloc(a->text, a->room + 4 * STEP);
	if (!more)
		return diag_sys(&a->process.why, ENOMEM, "answer");
	a->text = more;
	a->room += 4 * STEP;
	return 0;
}

static void ready(struct loop_fd *lfd, uint32_t events)
{
	struct query *a = container_of(lfd, struct query, fd);
	ssize_t n;

	(void)events;
	do {
		if (make_room(a)) {
			end(a);
			return;
		}
		n = recv(lfd->fd, a->text + a->len, STEP, MSG_DONTWAIT);
		a->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0 && errno == ECONNRESET)
		a->gone = true;
	else if (n < 0)
		diag_sys(&a->process.why, errno, "read the answer");
	else if (!a->len)
		diag_set(&a->process.why, DIAG_PERMISSION, EACCES,
			"owned by another user: its status is for them and root");
	else if (a->len == sizeof(SERVING_STARTS) - 1)
		a->gone = true;
	else
		kernel_serving_read(&a->process, a->text, a->len);
	end(a);
}

/* Check with the kernel that the process owns the socket; the name proves nothing. */
static bool is_its_own(struct query *a)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(a->fd.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) ||
		cred.pid != a->process.pid)
		return false;
	a->process.uid = cred.uid;
	return true;
}

/* False: it has ended, or the socket belongs to another process. */
static bool connect_process(struct query *a)
{
	struct sockaddr_un un;
	socklen_t len = kernel_serving_address(&un, a->process.pid, "");

	a->fd = (struct loop_fd){ .fd = socket(
					  AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
		.events = EPOLLIN,
		.ready = ready };
	if (a->fd.fd < 0)
		return false;
	if (connect(a->fd.fd, (struct sockaddr *)&un, len)) {
		if (errno ==
			EAGAIN) /* the backlog is full; nothing proves yet who owns the socket */
			diag_set(&a->process.why, DIAG_BUSY, EBUSY,
				"too many callers ask for its status");
	} else if (is_its_own(a) && !loop_fd_add(a->loop, &a->fd, &a->process.why)) {
		a->find->waiting++;
		return true;
	}
	close(a->fd.fd);
	a->fd.fd = -1;
	return a->process.why.err;
}

/* "0000000000000000: 00000002 00000000 00010000 0001 01 12345 @rdmastor/4711" */
static int pid_of(const char *line)
{
	unsigned flags, type;
	int pid, at = 0, end = 0;

	if (sscanf(line, "%*[0-9a-fA-F]: %*x %*x %x %x %*x %*u %n", &flags, &type, &at) != 2 ||
		!at || !(flags & LISTENS))
		return 0;
	if (sscanf(line + at, "@" SERVING_PREFIX "%d%n", &pid, &end) != 1 || !end ||
		line[at + end] || pid <= 0)
		return 0;
	return pid;
}

/* Untrusted users can have any number of sockets: limit them, so that trusted ones always fit. */
static void add(struct find *find, struct loop *loop, int pid)
{
	struct query *a = &find->query[find->count];

	for (unsigned i = 0; i < find->count; i++)
		if (find->query[i].process.pid == pid)
			return;
	if (!pid || find->count == PROCESSES)
		return;
	*a = (struct query){
		.loop = loop, .find = find, .process = { .pid = pid, .uid = UINT32_MAX }
	};
	if (!connect_process(a))
		return;
	if (kernel_serving_is_trusted(&a->process)) {
		find->count++;
	} else if (find->others < OTHERS) {
		find->count++;
		find->others++;
	} else {
		find->left_out++;
		if (a->fd.fd >= 0)
			end(a);
	}
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct serving_process *)a)->pid - ((const struct serving_process *)b)->pid;
}

/* Move the answers to the caller's list. */
static int move_answers(
	struct find *find, struct kernel_serving *to, uint32_t timeout_ms, struct diag *diag)
{
	to->process = calloc(find->count + 1, sizeof(*to->process));
	for (unsigned i = 0; i < find->count; i++) {
		struct query *a = &find->query[i];

		if (a->fd.fd >= 0) {
			diag_set(&a->process.why, DIAG_TIMEOUT, ETIMEDOUT,
				"no answer within %g s: it may be stopped or hung",
				timeout_ms / 1000.);
			end(a);
		}
		free(a->text);
		if (to->process && !a->gone)
			to->process[to->processes++] = a->process;
		else
			kernel_serving_clear(&a->process);
	}
	if (!to->process)
		return diag_sys(diag, ENOMEM, "%u processes", find->count);
	qsort(to->process, to->processes, sizeof(*to->process), by_pid);
	return 0;
}

int kernel_serving(int root, struct loop *loop, uint32_t timeout_ms, struct kernel_serving *to,
	struct diag *diag)
{
	struct find find = { .query = calloc(PROCESSES, sizeof(struct query)) };
	char *all = kernel_sys_read_all(root, "proc/net/unix"), *rest = all, *line;
	int err;

	*to = (struct kernel_serving){ 0 };
	if (!find.query) {
		free(all);
		return diag_sys(diag, ENOMEM, "processes that serve");
	}
	while (all && (line = strsep(&rest, "\n")))
		add(&find, loop, pid_of(line));
	free(all);
	find.finished = 0;
	if (find.waiting)
		loop_wait(loop, &find.finished, loop_clock() + timeout_ms * MSEC);
	err = move_answers(&find, to, timeout_ms, diag);
	to->left_out = find.left_out;
	free(find.query);
	return err;
}

bool kernel_serving_is_trusted(const struct serving_process *process)
{
	return !process->uid || process->uid == geteuid();
}

int kernel_serving_trusted(int root, struct loop *loop, uint32_t timeout_ms,
	struct kernel_serving *to, struct diag *diag)
{
	int err = kernel_serving(root, loop, timeout_ms, to, diag);
	unsigned count = 0;

	for (unsigned i = 0; i < to->processes; i++)
		if (kernel_serving_is_trusted(&to->process[i]))
			to->process[count++] = to->process[i];
		else
			kernel_serving_clear(&to->process[i]);
	to->processes = count;
	to->left_out = 0;
	return err;
}

void kernel_serving_free(struct kernel_serving *serving)
{
	for (unsigned i = 0; i < serving->processes; i++)
		kernel_serving_clear(&serving->process[i]);
	free(serving->process);
	*serving = (struct kernel_serving){ 0 };
}
