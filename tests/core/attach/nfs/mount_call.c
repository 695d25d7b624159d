/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mount(2) that fails, that succeeds just as its timeout expires, and that succeeds after its
 * process was killed and its caller has given up. */
/* Link: leap mount umount2 kill */
#include "nfs_mount.h"
#include "nfs_steps.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags,
	const void *data);
int __wrap_umount2(const char *dir, int flags);
int __wrap_kill(pid_t pid, int sig);

static struct tree tree;
static bool refuses;           /* at once */
static bool fails;             /* in the end */
static bool overwrites = true; /* false: the existing mount stays the topmost */

/* Of all processes. */
static struct {
	sem_t end; /* posted when a mount(2) may end */
	atomic_uint mounting;
} * shared;

/* In a process that has no descriptor but the root's. */
static void put(const char *path, const char *text)
{
	struct tree here = tree;

	here.root = 0;
	tree_file(&here, path, text);
}

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags,
	const void *data)
{
	char line[200];

	(void)flags;
	errno = ENODEV;
	if (refuses)
		return -1;
	shared->mounting++;
	while (sem_wait(&shared->end) && errno == EINTR)
		;
	shared->mounting--;
	errno = ENODEV;
	if (fails)
		return -1;
	snprintf(line, sizeof(line), "36 22 0:50 / %s rw - %s %s rw,%s\n", dir, type, source,
		(const char *)data);
	if (overwrites)
		put("proc/self/mountinfo", line);
	return 0;
}

int __wrap_umount2(const char *dir, int flags)
{
	(void)flags;
	put("unmounted", dir);
	return 0;
}

/* It does not reach a process that the kernel keeps. */
int __wrap_kill(pid_t pid, int sig)
{
	(void)pid;
	(void)sig;
	return 0;
}

static volatile int over;
static unsigned stop_ms; /* 0: it is not stopped */

static void note_end(struct mount_call *call)
{
	(void)call;
	over = 1;
}

static void end_mount(struct loop_timer *timer)
{
	(void)timer;
	sem_post(&shared->end);
}

/* mount(2) takes ms, or lasts until end_mount() if that is 0; until_ms 0 = no end */
static int ask(unsigned ms, unsigned until_ms)
{
	struct loop_timer timer = { .fire = end_mount };
	struct mount_call call = { .ask = { .source = "10.0.0.1:/x",
					   .dir = "/mnt",
					   .type = "nfs4",
					   .data = "vers=4.2,proto=rdma" },
		.done = note_end };
	uint64_t now = loop_clock();
	struct loop *loop;

	over = 0;
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	if (ms)
		loop_timer_set(loop, &timer, now + ms * 1000000ull);
	cr_assert_eq(mount_call_start(
			     &call, loop, tree.root, until_ms ? now + until_ms * 1000000ull : 0),
		0);
	cr_assert_not(over, "never from inside");
	if (stop_ms && !loop_wait(loop, &over, now + stop_ms * 1000000ull))
		mount_call_stop(&call);
	loop_wait(loop, &over, 0);
	loop_free(loop);
	return call.err;
}

static bool has_child(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0;
}

static void setup(void)
{
	tree = tree_new();
	tree_file(&tree, "proc/self/mountinfo", "22 1 0:2 / / rw - rootfs rootfs rw\n");
	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(shared != MAP_FAILED && !sem_init(&shared->end, 1, 0));
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(mount_call, .init = setup, .fini = fini);

static bool unmounted(void)
{
	return !faccessat(tree.root, "unmounted", F_OK, 0);
}

Test(mount_call, one_that_is_refused)
{
	refuses = true;
	cr_assert_eq(ask(0, 5000), -ENODEV);
}

Test(mount_call, limit_time)
{
	cr_assert_eq(ask(10, 5000), 0);
	cr_assert_not(unmounted());
}

Test(mount_call, one_that_comes_when_its_time_is_up_stands)
{
	cr_assert_eq(ask(400, 100), 0);
	cr_assert_not(unmounted());
	cr_assert_not(has_child());
}

/* A mount(2) ends after it was given up. */
static void end_after_timeout(void)
{
	cr_assert_eq(shared->mounting, 1);
	end_mount(NULL);
	while (waitpid(-1, NULL, 0) > 0)
		;
}

Test(mount_call, one_that_comes_when_it_was_given_up_is_undone)
{
	cr_assert_eq(ask(0, 100), -ETIMEDOUT);
	end_after_timeout();
	cr_assert(unmounted());
}

/* What was mounted there after it was given up. */
static void another(const char *type, const char *super)
{
	char line[200];

	snprintf(line, sizeof(line), "37 22 0:51 / /mnt rw - %s 10.0.0.1:/x %s\n", type, super);
	tree_file(&tree, "proc/self/mountinfo", line);
	end_after_timeout();
	cr_assert_not(unmounted(), "%s", line);
}

Test(mount_call, one_that_failed_after_it_was_given_up_undoes_nothing)
{
	fails = true;
	cr_assert_eq(ask(0, 100), -ETIMEDOUT);
	another("nfs4", "rw,vers=4.2,proto=rdma");
}

Test(mount_call, one_that_succeeds_after_its_timeout_undoes_no_other)
{
	overwrites = false;
	cr_assert_eq(ask(0, 100), -ETIMEDOUT);
	another("nfs4", "rw,vers=4.1,proto=rdma");
}

Test(mount_call, nor_one_over_another_transport)
{
	overwrites = false;
	cr_assert_eq(ask(0, 100), -ETIMEDOUT);
	another("nfs4", "rw,vers=4.2,proto=tcp");
}

Test(mount_call, one_that_is_in_vain_is_stopped_and_undone)
{
	stop_ms = 500;
	cr_assert_eq(ask(0, 60000), -ECANCELED);
	end_after_timeout();
	cr_assert(unmounted());
}

/* retry= stops one every other second, for days. */
Test(mount_call, one_that_was_stopped_leaves_no_process_behind)
{
	fails = true;
	stop_ms = 500;
	cr_assert_eq(ask(800, 60000), -ECANCELED);
	cr_assert_not(has_child(), "it ended within the grace of 1.5 s");
}

Test(mount_call, one_that_was_done_when_it_was_stopped_stands)
{
	stop_ms = 500;
	cr_assert_eq(ask(800, 60000), 0);
	cr_assert_not(unmounted());
}

Test(mount_call, the_end_of_its_time_holds_after_that_too)
{
	cr_assert_eq(ask(1500, 700), 0, "it is done when its time is up");
}

static void end_four(struct loop_timer *timer)
{
	(void)timer;
	cr_assert_eq(shared->mounting, 4);
	for (unsigned i = 0; i < 4; i++)
		sem_post(&shared->end);
}

Test(mount_call, several_at_once)
{
	struct loop_timer timer = { .fire = end_four };
	struct mount_call call[4];
	volatile int never = 0;
	struct loop *loop;

	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, NULL), 0);
	for (unsigned i = 0; i < 4; i++) {
		call[i] = (struct mount_call){
			.ask = { "10.0.0.1:/x", "/mnt", "nfs4", "", 0 }, .done = note_end, .err = 1
		};
		cr_assert_eq(mount_call_start(&call[i], loop, tree.root, 0), 0);
	}
	loop_timer_set(loop, &timer, loop_clock() + 500 * 1000000ull);
	for (unsigned i = 0; i < 4; i++)
		while (call[i].err == 1)
			loop_wait(loop, &never, loop_clock() + 1000000);
	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(call[i].err, 0);
	loop_free(loop);
}
