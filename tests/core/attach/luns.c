/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* LUNs that are waited for: those that come, one by one or never, those without a block device, and
 * a host that goes. */
/* Link: leap kernel_disk_opens */
#include "attach_row.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MSEC 1000000ull

int __wrap_kernel_disk_opens(int, const char *);

/* It opens once it has a node: a file does. */
int __wrap_kernel_disk_opens(int root, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "dev/%s", name);
	return faccessat(root, path, 0, 0) ? -ENOENT : 0;
}

static struct loop *loop;
static struct tree tree;
static struct job {
	struct attach attach;
	struct attach_luns luns;
} job;

static void setup(void)
{
	const struct loop_options options = { .name = "test" };

	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	tree = tree_new();
	tree_dir(&tree, "sys/bus/scsi/drivers/sd");
	tree_dir(&tree, "dev");
	tree_file(&tree, "sys/class/scsi_host/host6/id_ext", "0x1\n");
}

static void fini(void)
{
	attach_luns_free(&job.luns);
	loop_free(loop);
	tree_free(&tree);
}
TestSuite(luns, .init = setup, .fini = fini);

static void put(const char *name, const char *file, const char *text)
{
	char path[200];

	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/%s", name, file);
	tree_file(&tree, path, text);
}

static void unit(const char *name, const char *type)
{
	put(name, "type", type);
	put(name, "state", "running\n");
}

static void disk(const char *name, const char *node)
{
	char file[80];

	unit(name, "0\n");
	snprintf(file, sizeof(file), "block/%s/dev", node);
	put(name, file, "8:0\n");
}

/* The last that sysfs has of a block device. */
static void queue(const char *name, const char *node)
{
	char file[80];

	snprintf(file, sizeof(file), "block/%s/queue/logical_block_size", node);
	put(name, file, "512\n");
}

static void dial(struct attach *attach)
{
	attach_step(attach, 0);
}

static int look(struct attach *attach)
{
	return attach_luns_poll(attach, &job.luns);
}

static void timed_out(struct attach *attach)
{
	attach_luns_timeout_error(attach, &job.luns);
}

static void done(struct attach *attach)
{
	(void)attach;
}

static int wait_for(uint64_t lun, bool scanned, unsigned ms)
{
	static const struct attach_proto row = {
		.events = "scsi", .connect = dial, .poll = look, .set_timeout_error = timed_out
	};
	struct attach *list = &job.attach;

	attach_luns_free(&job.luns);
	job = (struct job){ .attach = { .proto = &row,
				    .loop = loop,
				    .root = tree.root,
				    .deadline = loop_clock() + ms * MSEC,
				    .done = done },
		.luns = { .host = 6, .lun = lun, .scanned = scanned } };
	cr_assert_eq(attach_run(loop, &list, 1, NULL), 0);
	return -job.attach.why.err;
}

Test(luns, what_does_not_come)
{
	const struct diag *why = &job.attach.why;

	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), -ENOENT);
	diag_says(why, DIAG_NOT_FOUND, NULL, "initiator disk");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, false, 100), -ETIMEDOUT, "it may still come");
	diag_says(why, DIAG_TIMEOUT, NULL, "block_device after");
	unit("6:0:0:3", "1\n");
	cr_assert_eq(wait_for(7, true, 100), -ENOENT);
	diag_says(why, DIAG_NOT_FOUND, NULL, "LUN_7 3");
	cr_assert_eq(wait_for(3, true, 100), 0, "a tape is there, and needs no block device");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), 0);
	disk("6:0:0:4", "sda");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), -ETIMEDOUT, "no device node");
	diag_says(why, DIAG_TIMEOUT, NULL, "LUN_4 sda");
	cr_assert_eq(wait_for(3, true, 100), 0, "does not wait for that LUN");
	tree_file(&tree, "dev/sda", "");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), -ETIMEDOUT, "its blocks have no size yet");
	diag_says(why, DIAG_TIMEOUT, NULL, "LUN_4 sda");
	queue("6:0:0:4", "sda");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 1000), 0);
	cr_assert_eq(job.luns.count, 2);
	unit("6:0:0:5", "0\n");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), -ETIMEDOUT, "it has no block device yet");
	diag_says(why, DIAG_TIMEOUT, NULL, "LUN_5");
}

Test(luns, an_unconnected_unit_is_not_waited_for)
{
	unit("6:0:0:0", "0\n");
	put("6:0:0:0", "inquiry", "\x20\x01\x05\x02 ");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), 0, "%s", job.attach.why.text);
	cr_assert(!job.luns.list[0].disk);
}

Test(luns, a_host_that_goes)
{
	tree_free(&tree);
	tree = tree_new();
	cr_assert_eq(wait_for(SCSI_LUN_ALL, true, 100), -ENODEV);
	diag_says(&job.attach.why, DIAG_CLOSED, NULL, "host6");
}

Test(luns, more_come_while_the_host_is_scanned)
{
	uint64_t began = loop_clock();

	disk("6:0:0:1", "sda");
	queue("6:0:0:1", "sda");
	tree_file(&tree, "dev/sda", "");
	cr_assert_eq(wait_for(1, false, 100), 0, "the only one that is wanted");
	cr_assert_eq(wait_for(SCSI_LUN_ALL, false, 5000), 0);
	cr_assert_geq(loop_clock() - began, 1000 * MSEC);
}
