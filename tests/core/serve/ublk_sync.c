/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The process that writes back, on files in place of devices. */
#include "ublk.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

Test(ublk_sync, the_result)
{
	char path[] = "/tmp/ublk-XXXXXX";
	struct diag diag = { 0 };
	struct loop *loop;
	int dev, writer;

	cr_assert(mkdtemp(path));
	dev = open(path, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(loop_new(&loop, &(struct loop_options){ .name = "test" }, &diag), 0);
	cr_assert_eq(ublk_sync(loop, dev, 0, 0), 0, "no such device: nothing to do");
	close(openat(dev, "ublkb0", O_CREAT | O_RDWR, 0600));
	cr_assert_eq(ublk_sync(loop, dev, 0, 0), 0);
	cr_assert_eq(symlinkat("ublkb1", dev, "ublkb1"), 0);
	cr_assert_eq(ublk_sync(loop, dev, 1, 0), -ELOOP);
	cr_assert_eq(mkfifoat(dev, "ublkb2", 0600), 0); /* opening it waits for a writer */
	cr_assert_eq(ublk_sync(loop, dev, 2, loop_clock() + 50000000), -ETIMEDOUT);
	/* until it has been ended */
	WAIT_UNTIL((writer = openat(dev, "ublkb2", O_WRONLY | O_NONBLOCK)) < 0 || close(writer));
	for (unsigned i = 0; i < 3; i++)
		unlinkat(dev, (const char *[]){ "ublkb0", "ublkb1", "ublkb2" }[i], 0);
	close(dev);
	rmdir(path);
	loop_free(loop);
}
