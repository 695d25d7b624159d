/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Finding our NBD device, requests to the driver, and its errors. */
#include "nbd_driver.h"
#include "says.h"
#include "wait.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nbd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (1ull << 20)

static const int ends[2] = { 0, 0 };

static struct kernel_nbd params(int index, const char *id)
{
	return (struct kernel_nbd){ .index = index,
		.size = 64 * MIB,
		.block = 512,
		.fds = ends,
		.nfds = 2,
		.connections = 2,
		.id = id,
		.longest = 262144,
		.resend_s = 5,
		.dead_s = 60 };
}

static void refused(const struct tree *tree, struct kernel_nbd nbd, int err, enum diag_code code,
	const char *object, const char *words)
{
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nbd_connect(tree->root, &nbd, &diag), -err);
	diag_says(&diag, code, object, words);
}

static int number(const struct tree *tree, const char *path)
{
	char text[32] = "";
	int fd = openat(tree->root, path, O_RDONLY);

	cr_assert(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return atoi(text);
}

Test(kernel_nbd, missing_driver_is_named_with_the_way_round)
{
	struct tree tree = tree_new();
	struct diag diag = { 0 };

	cr_assert_eq(kernel_nbd_ready(tree.root, &diag), -ENOENT);
	diag_says(&diag, DIAG_NO_MODULE, NULL, "module_nbd");
	text_says(diag.hint, "--nbd");
	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_ready(tree.root, &diag), 0);
	tree_free(&tree);
}

Test(kernel_nbd, what_the_driver_refuses_is_named)
{
	struct tree tree = tree_new();
	struct kernel_nbd large = params(-1, NULL);

	nbd_driver_start(&tree);
	nbd_driver.fail = -EPERM;
	refused(&tree, params(3, NULL), EPERM, DIAG_PERMISSION, "/dev/nbd3", "root");
	nbd_driver.fail = -ENOTSUP;
	refused(&tree, params(3, NULL), ENOTSUP, DIAG_UNSUPPORTED, "/dev/nbd3", "netlink");
	nbd_driver.fail = -EBUSY;
	refused(&tree, params(3, NULL), EBUSY, DIAG_BUSY, "/dev/nbd3", "use");
	nbd_driver.fail = -ETIMEDOUT;
	refused(&tree, params(-1, NULL), ETIMEDOUT, DIAG_TIMEOUT, NULL, "nbd");
	nbd_driver.fail = -ENOMEM;
	refused(&tree, params(-1, NULL), ENOMEM, DIAG_NO_MEMORY, NULL, "nbd out_of_memory");
	large.block = 8192;
	refused(&tree, large, ENOTSUP, DIAG_UNSUPPORTED, NULL, "8192 4096");
	cr_assert_eq(nbd_driver.connects, 0);
	tree_free(&tree);
}

Test(kernel_nbd, a_new_device_is_tuned_once_it_is_served)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, "rdmastor x");

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	cr_assert_eq(nbd.index, 0);
	cr_assert(!nbd.recovered);
	cr_assert_eq(nbd_driver.asked.dead_s, 60);
	cr_assert_eq(number(&tree, "sys/block/nbd0/queue/max_sectors_kb"), 1280);
	kernel_nbd_tune(tree.root, &nbd);
	cr_assert_eq(number(&tree, "sys/block/nbd0/queue/max_sectors_kb"), 256);
	cr_assert_eq(number(&tree, "sys/block/nbd0/queue/io_timeout"), 5000);
	tree_free(&tree);
}

Test(kernel_nbd, a_device_that_takes_no_setting_is_not_waited_for_without_end)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, "rdmastor x");

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	cr_assert_eq(unlinkat(tree.root, "sys/block/nbd0/queue/max_sectors_kb", 0), 0);
	/* opening it waits for a reader */
	cr_assert_eq(mkfifoat(tree.root, "sys/block/nbd0/queue/max_sectors_kb", 0600), 0);
	nbd.timeout_ms = 100;
	kernel_nbd_tune(tree.root, &nbd);
	tree_free(&tree);
}

Test(kernel_nbd, requests_of_several_connections_have_the_time_they_were_given)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, NULL);

	nbd_driver_start(&tree);
	nbd.timeout_s = 90;
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	kernel_nbd_tune(tree.root, &nbd);
	cr_assert_eq(nbd_driver.asked.timeout_s, 90);
	cr_assert_eq(number(&tree, "sys/block/nbd0/queue/io_timeout"), 30000);
	tree_free(&tree);
}

Test(kernel_nbd, only_the_device_of_the_same_disk_is_taken_over)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(2, "rdmastor x"), again = params(-1, "rdmastor x");

	nbd_driver_start(&tree);
	tree_file(&tree, "sys/block/nbd0/pid", "7\n");
	tree_file(&tree, "sys/block/nbd0/backend", "rdmastor xx\n");
	tree_file(&tree, "sys/block/nbd1/backend", "rdmastor x\n"); /* not connected */
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	cr_assert_eq(kernel_nbd_connect(tree.root, &again, NULL), 0);
	cr_assert(again.recovered);
	cr_assert_eq(again.index, 2);
	cr_assert_eq(nbd_driver.renews, 1);
	refused(&tree, params(2, "rdmastor y"), EBUSY, DIAG_BUSY, "/dev/nbd2", "use");
	refused(&tree, params(2, NULL), EBUSY, DIAG_BUSY, "/dev/nbd2", "use");
	refused(&tree, params(0, "rdmastor x"), EBUSY, DIAG_BUSY, "/dev/nbd0", "use");
	tree_free(&tree);
}

Test(kernel_nbd, a_device_larger_than_the_disk_is_not_taken_over)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, "rdmastor x"), smaller = params(-1, "rdmastor x");

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	smaller.size = 32 * MIB;
	refused(&tree, smaller, EINVAL, DIAG_MISMATCH, "/dev/nbd0", "67108864 33554432");
	cr_assert_eq(nbd_driver.renews, 0);
	tree_free(&tree);
}

Test(kernel_nbd, a_device_unlike_the_disk_is_not_taken_over)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, "rdmastor x"), flushing = params(-1, "rdmastor x");

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	tree_file(&tree, "sys/block/nbd0/queue/write_cache", "write through\n");
	flushing.flags = NBD_FLAG_SEND_FLUSH;
	refused(&tree, flushing, EINVAL, DIAG_MISMATCH, "/dev/nbd0", "write_cache");
	tree_file(&tree, "sys/block/nbd0/queue/logical_block_size", "4096\n");
	refused(&tree, flushing, EINVAL, DIAG_MISMATCH, "/dev/nbd0", "4096 512");
	cr_assert_eq(nbd_driver.renews, 0);
	tree_free(&tree);
}

Test(kernel_nbd, renewal_of_what_was_disconnected_says_so)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(4, "rdmastor x");
	struct diag diag = { 0 };

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_renew(&nbd, &diag), -ENODEV);
	diag_says(&diag, DIAG_CLOSED, NULL, "/dev/nbd4");
	nbd_driver.fail = -EPERM;
	cr_assert_eq(kernel_nbd_resize(&nbd, &diag), -EPERM);
	tree_free(&tree);
}

Test(kernel_nbd, disconnecting)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, "rdmastor x");
	struct diag diag = { 0 };
	char id[64];

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_disconnect(tree.root, 0, NULL, false, NO_LIMIT_MS, NULL), 0,
		"what is gone is gone");
	cr_assert_eq(nbd_driver.disconnects, 0);
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	cr_assert_eq(kernel_nbd_backend(tree.root, 0, id, sizeof(id)), 0);
	cr_assert_str_eq(id, "rdmastor x");
	cr_assert_eq(kernel_nbd_disconnect(tree.root, 0, NULL, false, NO_LIMIT_MS, &diag), -ENOENT,
		"what cannot be flushed stays");
	diag_says(&diag, DIAG_NOT_FOUND, "/dev/nbd0", "flush no_such_file");
	cr_assert_eq(nbd_driver.disconnects, 0);
	tree_file(&tree, "dev/nbd0", "");
	cr_assert_eq(kernel_nbd_disconnect(tree.root, 0, "rdmastor y", true, 0, &diag), 0,
		"a device of another process is left alone");
	cr_assert_eq(nbd_driver.disconnects, 0);
	cr_assert_eq(kernel_nbd_disconnect(tree.root, 0, "rdmastor x", false, NO_LIMIT_MS, &diag),
		0, "%s", diag.text);
	cr_assert_eq(nbd_driver.disconnects, 1);
	cr_assert_eq(kernel_nbd_backend(tree.root, 0, id, sizeof(id)), -ENOENT);
	tree_free(&tree);
}

Test(kernel_nbd, a_device_that_takes_no_data_is_not_waited_for_without_end)
{
	struct tree tree = tree_new();
	struct kernel_nbd nbd = params(-1, "rdmastor x");
	struct diag diag = { 0 };

	nbd_driver_start(&tree);
	cr_assert_eq(kernel_nbd_connect(tree.root, &nbd, NULL), 0);
	tree_dir(&tree, "dev");
	cr_assert_eq(mkfifoat(tree.root, "dev/nbd0", 0600), 0); /* opening it waits for a writer */
	cr_assert_eq(kernel_nbd_disconnect(tree.root, 0, NULL, false, 100, &diag), -ETIMEDOUT);
	diag_says(&diag, DIAG_TIMEOUT, "/dev/nbd0", "0.1_s");
	cr_assert_eq(nbd_driver.disconnects, 0);
	cr_assert_eq(kernel_nbd_disconnect(tree.root, 0, NULL, true, 0, &diag), 0);
	cr_assert_eq(nbd_driver.disconnects, 1);
	tree_free(&tree);
}
