/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A mount(2) that is refused, that comes when its time is up, and that comes when it was killed and nobody waits for it any more. */
#include "kernel_nfs.h"
#include "loop.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags, const void *data);
int __wrap_umount2(const char *dir, int flags);
int __wrap_kill(pid_t pid, int sig);

static struct tree tree;
static unsigned mount_ms; /* 0: refused at once */

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

int __wrap_mount(const char *source, const char *dir, const char *type, unsigned long flags, const void *data)
{
	char line[200];

	(void)flags;
	(void)data;
	errno = ENODEV;
	if (!mount_ms)
		return -1;
	sleep_ms(mount_ms);
	snprintf(line, sizeof(line), "36 22 0:50 / %s rw - %s %s rw\n", dir, type, source);
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
	const struct kernel_mount_ask it = { "10.0.0.1:/x", "/mnt", "nfs4", "", 0, loop_clock() + until_ms * 1000000ull };

	mount_ms = ms;
	return kernel_mount(tree.root, &it, late);
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
