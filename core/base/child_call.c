/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Run a call that may block forever in a child, with a deadline. Neither side waits for the other:
 * the first to change the shared state decides whether the call counts or was abandoned. */
#include "child.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGAIN_MS 50

enum { UNDER_WAY, ENDED, ABANDONED };

struct child_shared {
	_Atomic int state;
	int rc; /* what fn returned, once ENDED */
	/* page-aligned: the kernel may read and write it on behalf of the call */
	_Alignas(4096) char out[];
};

/* Children that outlived their calls: each new call reaps those that have ended. */
struct leftover {
	struct leftover *next;
	const void *owner;
	pid_t pid;
};
static struct {
	pthread_mutex_t lock;
	struct leftover *first;
} leftovers = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

static void add_leftover(const struct child_call *call)
{
	struct leftover *leftover = has_ended(call->pid) ? NULL : malloc(sizeof(*leftover));

	if (!leftover)
		return;
	*leftover =
		(struct leftover){ .owner = call->owner ? call->owner : call, .pid = call->pid };
	pthread_mutex_lock(&leftovers.lock);
	leftover->next = leftovers.first;
	leftovers.first = leftover;
	pthread_mutex_unlock(&leftovers.lock);
}

unsigned child_call_abandoned(const void *owner)
{
	struct leftover **at = &leftovers.first, *leftover;
	unsigned count = 0;

	pthread_mutex_lock(&leftovers.lock);
	while ((leftover = *at)) {
		if (has_ended(leftover->pid)) {
			*at = leftover->next;
			free(leftover);
			continue;
		}
		count += leftover->owner == owner;
		at = &leftover->next;
	}
	pthread_mutex_unlock(&leftovers.lock);
	return count;
}

static bool set_state(struct child_shared *shared, int state)
{
	int was = UNDER_WAY;

	return atomic_compare_exchange_strong(&shared->state, &was, state);
}

/* Make these descriptors 0 ... count - 1 and close all others. */
static bool keep_only(const int *fds, unsigned count)
{
	int high[CHILD_FDS];

	for (unsigned i = 0; i < count; i++)
		high[i] = fcntl(fds[i], F_DUPFD, (int)count);
	for (unsigned i = 0; i < count; i++)
		if (high[i] < 0 || dup2(high[i], (int)i) < 0)
			return false;
	return !syscall(SYS_close_range, count, ~0u, 0);
}

static void interrupt(int sig)
{
	(void)sig;
}

static void run_child(const struct child_call *call, pid_t parent, const int *fds, unsigned count)
{
	struct sigaction action = { .sa_handler = call->undo ? interrupt : SIG_DFL };
	struct child_shared *shared = call->shared;
	bool counts;

	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigaction(SIGTERM, &action, NULL);
	sigprocmask(SIG_SETMASK, &action.sa_mask, NULL);
	if (!call->detached && (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent))
		return;
	if (keep_only(fds, count))
		shared->rc = call->fn(0, call->arg, shared->out);
	else
		shared->rc = errno;
	counts = set_state(shared, ENDED) && (call->detached || getppid() == parent);
	signal(SIGTERM, SIG_IGN);
	if (!counts && !shared->rc && call->undo)
		call->undo(0, call->arg, shared->out);
}

static void end_call(struct child_call *call, int otherwise)
{
	struct child_shared *shared = call->shared;

	if (call->loop) {
		loop_fd_del(call->loop, &call->watch);
		loop_timer_del(call->loop, &call->timer);
	}
	close(call->watch.fd);
	add_leftover(call);
	call->pid = 0;
	call->err = atomic_load(&shared->state) == ENDED ? -shared->rc : otherwise;
	if (call->err == -EINTR && call->expired)
		call->err = -ETIMEDOUT;
	if (call->out_len)
		memcpy(call->out, shared->out, call->out_len);
	munmap(shared, sizeof(*shared) + call->out_len);
}

static void finish_call(struct child_call *call)
{
	end_call(call, call->expired ? -ETIMEDOUT : -EINTR);
	if (call->loop)
		call->done(call);
}

/* Handle the deadline, then the grace time. SIGTERM is repeated during the grace time, as one that
 * arrives just before a system call does not interrupt it. */
static void expire(struct child_call *call)
{
	uint64_t now = loop_clock();

	if (!call->expired)
		call->end_ns = now + call->grace_ms * MSEC;
	else if (now >= call->end_ns) {
		set_state(call->shared, ABANDONED);
		finish_call(call);
		return;
	}
	call->expired = true;
	kill(call->pid, SIGTERM);
	call->at_ns = now + AGAIN_MS * MSEC < call->end_ns ? now + AGAIN_MS * MSEC : call->end_ns;
	if (call->loop)
		loop_timer_set(call->loop, &call->timer, call->at_ns);
}

void child_call_expire(struct child_call *call)
{
	if (call->pid && !call->expired)
		expire(call);
}

static void ended(struct loop_fd *watch, uint32_t events)
{
	(void)events;
	finish_call(container_of(watch, struct child_call, watch));
}

static void timed_out(struct loop_timer *timer)
{
	expire(container_of(timer, struct child_call, timer));
}

/* The child waits until its parent can watch for its end. */
static int fork_child(struct child_call *call, const int *fds, unsigned count)
{
	int gate[2], err = 0;
	pid_t parent = getpid();
	char byte = 0;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	call->pid = fork();
	if (!call->pid) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) == 1)
			run_child(call, parent, fds, count);
		_exit(0);
	}
	call->watch.fd = call->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, call->pid, 0);
	if (call->watch.fd < 0 || write(gate[1], &byte, 1) != 1)
		err = -errno;
	close(gate[0]);
	close(gate[1]);
	if (!err)
		return 0;
	if (call->watch.fd >= 0)
		close(call->watch.fd);
	while (call->pid > 0 && waitpid(call->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}

int child_call_start(struct child_call *call, struct loop *loop, const int *fds, unsigned count)
{
	int err;

	child_call_abandoned(NULL);
	call->loop = loop;
	call->expired = false;
	call->at_ns = call->until;
	call->shared = mmap(NULL, sizeof(*call->shared) + call->out_len, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (call->shared == MAP_FAILED)
		return -errno;
	if (call->out_len)
		memcpy(call->shared->out, call->out, call->out_len);
	err = fork_child(call, fds, count);
	if (err) {
		munmap(call->shared, sizeof(*call->shared) + call->out_len);
		call->pid = 0;
		return err;
	}
	if (!loop)
		return 0;
	call->watch.events = EPOLLIN;
	call->watch.ready = ended;
	call->timer.fire = timed_out;
	if (call->until)
		loop_timer_set(loop, &call->timer, call->until);
	err = loop_fd_add(loop, &call->watch, NULL);
	if (err)
		child_call_cancel(call);
	return err;
}

void child_call_cancel(struct child_call *call)
{
	if (!call->pid)
		return;
	if (!call->detached) {
		set_state(call->shared, ABANDONED);
		kill(call->pid, SIGTERM);
	}
	end_call(call, -ECANCELED);
}

bool child_call_wait(struct child_call *call, uint64_t until)
{
	struct pollfd watch = { .fd = call->watch.fd, .events = POLLIN };

	while (call->pid) {
		uint64_t now = loop_clock(), end = call->at_ns;
		bool first = !end || (until && until < end); /* `until` is earlier */

		end = first ? until : end;
		if (end && now >= end && first)
			return false;
		if (end && now >= end) {
			expire(call);
			continue;
		}
		now = end ? (end - now) / MSEC + 1 : 0;
		if (poll(&watch, 1, !end ? -1 : now > INT_MAX ? INT_MAX : (int)now) > 0)
			finish_call(call);
	}
	return true;
}

int child_call_run(struct child_call *call, const int *fds, unsigned count)
{
	int err = child_call_start(call, NULL, fds, count);

	if (err)
		return err;
	child_call_wait(call, 0);
	return call->err;
}
