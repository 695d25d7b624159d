/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls that may block forever: their results, deadlines, cancelling, and what happens to a call
 * that completes after it was abandoned. */
#include "child.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MSEC 1000000ull

static struct loop *loop;
static volatile int over;

static void setup(void)
{
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
}

static void fini(void)
{
	loop_free(loop);
}
TestSuite(child_call, .init = setup, .fini = fini);

static void done(struct child_call *call)
{
	(void)call;
	over++;
}

static uint64_t in_ms(unsigned ms)
{
	return loop_clock() + ms * MSEC;
}

/* Runs it in each of the two ways. */
static int both(struct child_call *call)
{
	struct child_call same = *call;
	int err = child_call_run(&same, (int[]){ 0 }, 1);

	call->done = done;
	over = 0;
	cr_assert_eq(child_call_start(call, loop, (int[]){ 0 }, 1), 0);
	cr_assert_eq(over, 0);
	loop_wait(loop, &over, 0);
	cr_assert_eq(over, 1);
	cr_assert_eq(call->err, err);
	cr_assert_eq(call->expired, same.expired);
	return err;
}

static int give(int fd, const void *arg, void *out)
{
	(void)fd;
	(void)out;
	return *(const int *)arg;
}

/* Without SIGTERM's default action it would return EINTR. */
static int hang(int fd, const void *arg, void *out)
{
	(void)fd;
	(void)arg;
	(void)out;
	pause();
	return EINTR;
}

static struct {
	atomic_bool begun; /* the call runs */
	atomic_bool may_end;
	atomic_int undone; /* what was undone, 0: nothing */
} * shared;

static void share(void)
{
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(shared, MAP_FAILED);
	shared->begun = shared->may_end = false;
	shared->undone = 0;
}

/* Returns an errno, not before the test allows it. */
static int insist(int fd, const void *arg, void *out)
{
	const int *err = arg;

	(void)fd;
	signal(SIGTERM, SIG_IGN);
	*(int *)out = 1;
	shared->begun = true;
	WAIT_UNTIL(shared->may_end);
	*(int *)out = 2;
	return *err;
}

static int hang_begun(int fd, const void *arg, void *out)
{
	shared->begun = true;
	return hang(fd, arg, out);
}

static void undo(int fd, const void *arg, void *out)
{
	(void)fd;
	(void)arg;
	shared->undone = *(int *)out;
}

/* Start it, and wait until the call runs. */
static void begin(struct child_call *call, struct loop *of)
{
	share();
	cr_assert_eq(child_call_start(call, of, (int[]){ 0 }, 1), 0);
	WAIT_UNTIL(shared->begun);
}

Test(child_call, gives_what_the_call_gives)
{
	struct child_call call = { .fn = give, .arg = &(int){ 0 } };

	cr_assert_eq(both(&call), 0);
	call.arg = &(int){ EREMOTEIO };
	cr_assert_eq(both(&call), -EREMOTEIO);
	call.until = in_ms(NO_LIMIT_MS);
	cr_assert_eq(both(&call), -EREMOTEIO);
	cr_assert_not(call.expired);
}

static int write_out(int fd, const void *arg, void *out)
{
	(void)fd;
	return memcmp(out, "before", 7) ? EPROTO : (memcpy(out, arg, 6), 0);
}

Test(child_call, memory_is_shared_with_it)
{
	char text[8] = "before";
	struct child_call call = {
		.fn = write_out, .arg = "after", .out = text, .out_len = sizeof(text)
	};

	cr_assert_eq(child_call_run(&call, (int[]){ 0 }, 1), 0);
	cr_assert_str_eq(text, "after");
}

/* The text that was written to the last of its descriptors comes back by the first. */
static int relay(int fd, const void *arg, void *out)
{
	const unsigned *count = arg;
	char text[8];
	ssize_t len = read((int)*count - 1, text, sizeof(text));

	(void)out;
	if (fcntl((int)*count, F_GETFD) >= 0)
		return 1;
	return write(fd, text, (size_t)len) == len ? 42 : 2;
}

Test(child_call, it_has_its_descriptors_in_order_and_no_other)
{
	int there[2], back[2], extra = dup(0);
	unsigned count = 3;
	struct child_call call = { .fn = relay, .arg = &count };
	char text[8];

	cr_assert_eq(pipe(there), 0);
	cr_assert_eq(pipe(back), 0);
	cr_assert_eq(write(there[1], "seen", 4), 4);
	cr_assert_eq(child_call_run(&call, (int[]){ back[1], 1, there[0] }, count), -42);
	cr_assert_eq(read(back[0], text, sizeof(text)), 4);
	cr_assert_eq(memcmp(text, "seen", 4), 0);
	/* also where they stand in each other's place */
	cr_assert_eq(dup2(back[1], 2), 2);
	cr_assert_eq(dup2(there[0], 0), 0);
	cr_assert_eq(write(there[1], "seen", 4), 4);
	cr_assert_eq(child_call_run(&call, (int[]){ 2, 1, 0 }, count), -42);
	close(extra);
}

/* The caller does not wait until the grace period has passed. */
Test(child_call, one_that_hangs_is_ended)
{
	struct child_call call = { .fn = hang, .grace_ms = NO_LIMIT_MS };

	call.until = in_ms(50);
	cr_assert_eq(both(&call), -ETIMEDOUT);
	call.until = 1; /* has passed */
	cr_assert_eq(both(&call), -ETIMEDOUT);
	cr_assert(call.expired);
	/* one that undoes is only interrupted */
	share();
	call.undo = undo;
	call.until = in_ms(50);
	cr_assert_eq(both(&call), -ETIMEDOUT);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
}

Test(child_call, one_that_ends_in_the_time_of_grace_counts)
{
	int out = 0;
	struct child_call call = { .fn = insist,
		.undo = undo,
		.arg = &(int){ 0 },
		.out = &out,
		.out_len = sizeof(out),
		.grace_ms = NO_LIMIT_MS };

	for (int err = 0; err <= ENOSPC; err += ENOSPC) {
		call.arg = &err;
		begin(&call, NULL);
		child_call_expire(&call);
		cr_assert_not(child_call_wait(&call, in_ms(100)));
		shared->may_end = true;
		cr_assert(child_call_wait(&call, 0));
		cr_assert_eq(call.err, -err);
		cr_assert(call.expired);
		cr_assert_eq(out, 2);
		WAIT_UNTIL(!child_call_abandoned(&call));
		cr_assert_eq(shared->undone, 0);
	}
}

/* What was undone once the process of an abandoned call has ended; it is reaped later. */
static int undone_later(const struct child_call *call)
{
	cr_assert_eq(child_call_abandoned(call), 1);
	shared->may_end = true;
	WAIT_UNTIL(!child_call_abandoned(call));
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	return shared->undone;
}

Test(child_call, one_that_succeeds_after_it_was_abandoned_is_undone)
{
	int out = 0;
	struct child_call call = { .fn = insist,
		.undo = undo,
		.out = &out,
		.out_len = sizeof(out),
		.done = done,
		.grace_ms = 20 };

	for (int err = 0; err <= EIO; err += EIO) {
		call.arg = &err;
		begin(&call, NULL);
		child_call_expire(&call);
		cr_assert(child_call_wait(&call, 0));
		cr_assert_eq(call.err, -ETIMEDOUT);
		cr_assert_eq(undone_later(&call), err ? 0 : 2, "%d", err);
	}
	call.arg = &(int){ 0 };
	begin(&call, loop);
	cr_assert_not(loop_wait(loop, &over, in_ms(100)));
	child_call_cancel(&call);
	child_call_cancel(&call);
	cr_assert_eq(call.err, -ECANCELED);
	cr_assert_eq(undone_later(&call), 2);
	cr_assert_not(loop_wait(loop, &over, in_ms(10)));
}

Test(child_call, one_is_undone_if_its_caller_dies)
{
	int out = 0;
	struct child_call call = {
		.fn = insist, .undo = undo, .arg = &(int){ 0 }, .out = &out, .out_len = sizeof(out)
	};
	pid_t caller;

	share();
	caller = fork();
	if (!caller) {
		begin(&call, NULL);
		_exit(0);
	}
	cr_assert_eq(waitpid(caller, NULL, 0), caller);
	shared->may_end = true;
	WAIT_UNTIL(shared->undone);
	cr_assert_eq(shared->undone, 2);
}

Test(child_call, one_that_stays_outlives_its_caller)
{
	struct child_call call = { .fn = hang, .detached = true };
	int status;
	pid_t pid;

	cr_assert_eq(child_call_start(&call, NULL, (int[]){ 0 }, 1), 0);
	pid = call.pid;
	usleep(100000);
	child_call_cancel(&call);
	usleep(100000);
	cr_assert_eq(child_call_abandoned(&call), 1);
	kill(pid, SIGTERM);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	cr_assert_eq(child_call_abandoned(&call), 0);
}

/* The call itself may be freed. */
Test(child_call, abandoned_calls_are_counted_by_their_owner)
{
	int owner;

	for (unsigned i = 0; i < 2; i++) {
		struct child_call call = {
			.fn = hang, .until = in_ms(0), .owner = &owner, .detached = true
		};
		pid_t pid;

		cr_assert_eq(child_call_start(&call, NULL, NULL, 0), 0);
		pid = call.pid;
		child_call_cancel(&call);
		cr_assert_eq(child_call_abandoned(&call), 0);
		cr_assert_eq(child_call_abandoned(&owner), 1);
		kill(pid, SIGKILL);
		WAIT_UNTIL(!child_call_abandoned(&owner));
	}
}

Test(child_call, waiting_may_stop_before_the_call)
{
	struct child_call call = {
		.fn = hang, .until = in_ms(NO_LIMIT_MS), .grace_ms = NO_LIMIT_MS
	};

	cr_assert_eq(child_call_start(&call, NULL, (int[]){ 0 }, 1), 0);
	cr_assert_not(child_call_wait(&call, in_ms(50)));
	cr_assert_not(call.expired);
	child_call_expire(&call);
	cr_assert(child_call_wait(&call, 0));
	cr_assert_eq(call.err, -ETIMEDOUT);
	cr_assert(call.expired);
}

Test(child_call, signals_of_the_terminal_are_left_to_the_caller)
{
	struct child_call call = {
		.fn = hang_begun, .until = in_ms(NO_LIMIT_MS), .grace_ms = NO_LIMIT_MS
	};

	begin(&call, NULL);
	kill(call.pid, SIGINT);
	kill(call.pid, SIGHUP);
	cr_assert_not(child_call_wait(&call, in_ms(100)));
	kill(call.pid, SIGKILL);
	cr_assert(child_call_wait(&call, 0));
	cr_assert_eq(call.err, -EINTR);
	cr_assert_not(call.expired);
}

Test(child_call, whatever_descriptor_is_missing_no_process_is_left)
{
	struct child_call call = { .fn = give, .arg = &(int){ 0 }, .until = in_ms(NO_LIMIT_MS) };
	int lowest = dup(0), fds[] = { 0 };
	unsigned refused = 0;
	struct rlimit limit;

	close(lowest);
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (unsigned more = 0; more < 4; more++) {
		limit.rlim_cur = (rlim_t)lowest + more;
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
		refused += child_call_run(&call, fds, 1) == -EMFILE;
		cr_assert_eq(child_call_abandoned(&call), 0, "%u more", more);
		cr_assert_eq(waitpid(-1, NULL, 0), -1, "%u more", more);
		cr_assert_eq(dup(0), more ? lowest : -1, "%u more", more);
		close(lowest);
	}
	cr_assert_geq(refused, 3);
}

static int wait_interrupt(int fd, const void *arg, void *out)
{
	(void)fd;
	(void)arg;
	(void)out;
	pause();
	return EALREADY;
}

static void undo_nothing(int fd, const void *arg, void *out)
{
	(void)fd;
	(void)arg;
	(void)out;
}

/* Long before its deadline. The signal kills a child that has not called the function yet. */
Test(child_call, an_early_end)
{
	struct child_call call = { .fn = wait_interrupt,
		.undo = undo_nothing,
		.until = in_ms(NO_LIMIT_MS),
		.grace_ms = NO_LIMIT_MS,
		.done = done };

	over = 0;
	child_call_expire(&call);
	cr_assert_eq(child_call_start(&call, loop, (int[]){ 0 }, 1), 0);
	child_call_expire(&call);
	cr_assert_eq(over, 0, "never from inside");
	loop_wait(loop, &over, 0);
	cr_assert(call.expired && (call.err == -EALREADY || call.err == -ETIMEDOUT));
	child_call_expire(&call);
	cr_assert_eq(over, 1);
}
