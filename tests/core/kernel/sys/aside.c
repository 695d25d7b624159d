/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls in a process of their own: what they give, and that nobody waits for one that hangs. */
#include "aside.h"
#include "loop.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static int give(int root, const void *arg)
{
	return faccessat(root, "etc", F_OK, 0) ? ENOENT : *(const int *)arg;
}

static int hang(int root, const void *arg)
{
	(void)root;
	(void)arg;
	pause();
	return 0;
}

static void noted(int sig)
{
	(void)sig;
}

/* Is not ended by the signal, and then looks whether it was given up. */
static int insist(int root, const void *arg)
{
	volatile bool *const *flags = arg;

	(void)root;
	signal(SIGTERM, noted);
	pause();
	(*flags)[1] = (*flags)[0];
	return EINTR;
}

static uint64_t in_ms(unsigned ms)
{
	return loop_clock() + ms * 1000000ull;
}

Test(aside, gives_what_the_call_gives)
{
	struct tree tree = tree_new();
	int value = 0;

	cr_assert_eq(kernel_aside_run(tree.root, give, &value, 0, 10, NULL), -ENOENT);
	tree_dir(&tree, "etc");
	cr_assert_eq(kernel_aside_run(tree.root, give, &value, 0, 10, NULL), 0);
	value = EREMOTEIO;
	cr_assert_eq(kernel_aside_run(tree.root, give, &value, in_ms(5000), 10, NULL), -EREMOTEIO);
	tree_free(&tree);
}

Test(aside, one_that_hangs_is_ended)
{
	struct tree tree = tree_new();
	uint64_t since = loop_clock();

	cr_assert_eq(kernel_aside_run(tree.root, hang, NULL, in_ms(50), 2000, NULL), -ETIMEDOUT);
	cr_assert_lt(loop_clock() - since, 1500 * 1000000ull);
	cr_assert_eq(kernel_aside_run(tree.root, hang, NULL, 1, 2000, NULL), -ETIMEDOUT,
		"a moment that has passed");
	tree_free(&tree);
}

Test(aside, one_that_cleans_up_knows_that_it_was_given_up)
{
	volatile bool *flags =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tree tree = tree_new();

	cr_assert_eq(
		kernel_aside_run(tree.root, insist, &flags, in_ms(300), 3000, &flags[0]), -EINTR);
	cr_assert(flags[0]);
	cr_assert(flags[1]);
	tree_free(&tree);
}
