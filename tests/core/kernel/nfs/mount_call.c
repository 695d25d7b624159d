/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A mount(2) that is refused, that comes when its time is up, and that comes when it was killed and
 * nobody waits for it any more. */
#include "kernel_nfs.h"
#include "loop.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags,
	const void *data);
int __wrap_umount2(const char *dir, int flags);
int __wrap_kill(pid_t pid, int sig);

static struct tree tree;
static unsigned mount_ms;      /* 0: refused at once */
static bool fails;             /* after that time */
static bool overwrites = true; /* else what is there stays the topmost */

static void sleep_ms(unsigned ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&time, NULL);
}

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
	if (!mount_ms)
		return -1;
	sleep_ms(mount_ms);
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

static int ask(unsigned ms, unsigned until_ms, bool *late)
{
	const struct kernel_mount_ask it = { .source = "10.0.0.1:/x",
		.dir = "/mnt",
		.type = "nfs4",
		.data = "vers=4.2,proto=rdma",
		.until = loop_clock() + until_ms * 1000000ull };

	mount_ms = ms;
	return kernel_mount(tree.root, &it, late);
}

static bool has_child(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0;
}

static void setup(void)
{
	tree = tree_new();
	tree_file(&tree, "proc/self/mountinfo", "22 1 0:2 / / rw - rootfs rootfs rw\n");
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
	bool late;

	cr_assert_eq(ask(0, 5000, &late), -ENODEV);
	cr_assert_not(late);
}

Test(mount_call, in_time)
{
	bool late;

	cr_assert_eq(ask(10, 5000, &late), 0);
	cr_assert_not(late);
	cr_assert_not(unmounted());
}

Test(mount_call, one_that_comes_when_its_time_is_up_stands)
{
	bool late;

	cr_assert_eq(ask(400, 100, &late), 0);
	cr_assert_not(late);
	cr_assert_not(unmounted());
	cr_assert_not(has_child());
}

Test(mount_call, one_that_comes_when_it_was_given_up_is_undone)
{
	bool late;

	cr_assert_eq(ask(2500, 100, &late), -ETIMEDOUT);
	cr_assert(late);
	for (unsigned i = 0; i < 100 && !unmounted(); i++)
		sleep_ms(50);
	cr_assert(unmounted());
}

/* What was mounted there after it was given up. */
static void another(const char *type, const char *super)
{
	char line[200];

	snprintf(line, sizeof(line), "37 22 0:51 / /mnt rw - %s 10.0.0.1:/x %s\n", type, super);
	tree_file(&tree, "proc/self/mountinfo", line);
	sleep_ms(2500);
	cr_assert_not(unmounted(), "%s", line);
}

Test(mount_call, one_that_failed_after_it_was_given_up_undoes_nothing)
{
	bool late;

	fails = true;
	cr_assert_eq(ask(2500, 100, &late), -ETIMEDOUT);
	another("nfs4", "rw,vers=4.2,proto=rdma");
}

Test(mount_call, one_that_comes_late_undoes_no_other)
{
	bool late;

	overwrites = false;
	cr_assert_eq(ask(2500, 100, &late), -ETIMEDOUT);
	another("nfs4", "rw,vers=4.1,proto=rdma");
}

Test(mount_call, nor_one_over_another_transport)
{
	bool late;

	overwrites = false;
	cr_assert_eq(ask(2500, 100, &late), -ETIMEDOUT);
	another("nfs4", "rw,vers=4.2,proto=tcp");
}

static int in_vain(void *arg)
{
	++*(unsigned *)arg;
	return mount_ms > 2000 || fails;
}

static int ask_meanwhile(unsigned ms, unsigned until_ms, unsigned *asked, bool *late)
{
	const struct kernel_mount_ask it = { .source = "10.0.0.1:/x",
		.dir = "/mnt",
		.type = "nfs4",
		.data = "vers=4.2,proto=rdma",
		.until = until_ms ? loop_clock() + until_ms * 1000000ull : 0,
		.patience_ms = 500,
		.meanwhile = in_vain,
		.arg = asked };

	*asked = 0;
	mount_ms = ms;
	return kernel_mount(tree.root, &it, late);
}

Test(mount_call, one_that_is_soon_done_is_not_asked_about)
{
	unsigned asked;
	bool late;

	cr_assert_eq(ask_meanwhile(10, 5000, &asked, &late), 0);
	cr_assert_eq(asked, 0);
	cr_assert_eq(ask_meanwhile(0, 0, &asked, &late), -ENODEV);
	cr_assert_eq(asked, 0);
}

Test(mount_call, one_that_takes_its_time_is_asked_about_once)
{
	unsigned asked;
	bool late;

	cr_assert_eq(ask_meanwhile(1000, 0, &asked, &late), 0);
	cr_assert_eq(asked, 1);
}

Test(mount_call, one_that_is_in_vain_is_stopped_and_undone)
{
	unsigned asked;
	bool late;

	cr_assert_eq(ask_meanwhile(3000, 60000, &asked, &late), -ECANCELED);
	cr_assert_not(late);
	cr_assert_eq(asked, 1);
	for (unsigned i = 0; i < 100 && !unmounted(); i++)
		sleep_ms(50);
	cr_assert(unmounted());
}

/* retry= stops one every other second, for days. */
Test(mount_call, one_that_was_stopped_leaves_no_process_behind)
{
	unsigned asked;
	bool late;

	fails = true;
	cr_assert_eq(ask_meanwhile(800, 60000, &asked, &late), -ECANCELED);
	cr_assert_eq(asked, 1);
	cr_assert_not(has_child(), "it ended within the grace of 1.5 s");
}

Test(mount_call, the_end_of_its_time_holds_after_that_too)
{
	unsigned asked;
	bool late;

	cr_assert_eq(ask_meanwhile(1500, 700, &asked, &late), 0, "it is done when its time is up");
	cr_assert_eq(asked, 1);
}
