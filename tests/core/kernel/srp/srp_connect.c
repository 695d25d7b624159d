/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One login: which host it made, which one there was, what is undone; and the module's parameters.
 */
#include "kernel_srp.h"
#include "loop.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADD_TARGET "sys/class/infiniband_srp/srp-mlx5_0-1/add_target"

static struct tree tree;
static struct srp_want want;
static struct srp_made made;
static struct diag why;
static const struct srp_local local = { "mlx5_0", 1 };

static void setup(void)
{
	tree = tree_new();
	memset(&want, 0, sizeof(want));
	why = (struct diag){ 0 };
	cr_assert_eq(kernel_srp_parse(&want, "id_ext=1,ioc_guid=2,dest=10.0.0.1:5555", NULL), 0);
}

static void fini(void)
{
	tree_free(&tree);
}
TestSuite(srp_connect, .init = setup, .fini = fini);

static void host(unsigned number, const char *guid, const char *dev)
{
	char path[100];

#define PUT(name, text)                                                                            \
	(snprintf(path, sizeof(path), "sys/class/scsi_host/host%u/" name, number),                 \
		tree_file(&tree, path, text))
	PUT("id_ext", "0x0000000000000001\n");
	PUT("ioc_guid", guid);
	PUT("local_ib_device", dev);
	PUT("local_ib_port", "1\n");
#undef PUT
}

static int try(uint32_t ms)
{
	return kernel_srp_connect(
		tree.root, &want, &local, loop_clock() + ms * 1000000ull, &made, &why);
}

Test(srp_connect, the_line_is_written_and_a_host_awaited)
{
	char text[200] = "";
	int fd;

	tree_file(&tree, ADD_TARGET, "");
	host(3, "0x0000000000000002\n", "mlx5_0\n");
	cr_assert_eq(try(5000), -ENOTCONN, "host3 was there before");
	diag_says(&why, DIAG_CLOSED, NULL, "login");
	fd = openat(tree.root, ADD_TARGET, O_RDONLY);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	cr_assert_str_eq(
		text, "id_ext=0000000000000001,ioc_guid=0000000000000002,dest=10.0.0.1:5555");
}

/* Nobody reads the pipe: the write blocks, as in a kernel that waits. */
Test(srp_connect, a_target_that_does_not_answer)
{
	tree_dir(&tree, "sys/class/infiniband_srp/srp-mlx5_0-1");
	cr_assert_eq(mkfifoat(tree.root, ADD_TARGET, 0600), 0);
	cr_assert_eq(try(100), -ETIMEDOUT);
	diag_says(&why, DIAG_TIMEOUT, NULL, "login 0.1");
}

Test(srp_connect, what_is_taken_back_is_what_nobody_uses)
{
	tree_file(&tree, "sys/class/scsi_device/6:0:0:1/device/type", "0\n");
	tree_file(&tree, "sys/class/scsi_device/6:0:0:1/device/block/sda/dev", "8:0\n");
	tree_file(&tree, "sys/dev/block/8:0/uevent", "MAJOR=8\nMINOR=0\nDEVNAME=sda\n");
	tree_file(&tree, "proc/self/mountinfo", "36 35 8:0 / /mnt rw - ext4 /dev/sda rw\n");
	tree_dir(&tree, "sys/class/scsi_host/host6");
	tree_file(&tree, "sys/class/srp_remote_ports/port-6:1/delete", "");
	why.err = ETIMEDOUT;
	kernel_srp_undo(tree.root, 6, &why);
	text_says(why.hint, "host6 sda /mnt");
	why.hint[0] = 0;
	kernel_srp_undo(tree.root, 7, &why);
	cr_assert_str_eq(why.hint, "");
}

Test(srp_connect, the_reason_is_kept)
{
	tree_link(&tree, ADD_TARGET, "/dev/full");
	cr_assert_eq(try(5000), -ENOSPC);
	diag_says(&why, DIAG_IO, NULL, "add_target no_space_left");
}

Test(srp_connect, fits)
{
	struct kernel_srp one = { .host = "host6",
		.id_ext = 1,
		.ioc_guid = 2,
		.by_cm = true,
		.dev = "mlx5_0",
		.port = 1 };
	const struct srp_local other = { "mlx5_0", 2 };

	cr_assert(kernel_srp_fits(&one, &want, &local));
	cr_assert(kernel_srp_fits(&one, &want, NULL));
	cr_assert(!kernel_srp_fits(&one, &want, &other));
	one.by_cm = false;
	cr_assert(!kernel_srp_fits(&one, &want, &local), "by another connection manager");
	memset(&want, 0, sizeof(want));
	cr_assert_eq(kernel_srp_parse(&want,
			     "id_ext=1,ioc_guid=2,dgid=fe80::1,pkey=ffff,service_id=9", NULL),
		0);
	one.service_id = 9;
	memcpy(one.dgid, (uint8_t[16]){ 0xfe, 0x80, [15] = 1 }, 16);
	cr_assert(kernel_srp_fits(&one, &want, &local));
	one.dgid[15] = 2;
	cr_assert(!kernel_srp_fits(&one, &want, &local));
	one.dgid[15] = 1;
	one.service_id = 8;
	cr_assert(!kernel_srp_fits(&one, &want, &local));
	one.id_ext = 3;
	cr_assert(!kernel_srp_fits(&one, &want, &local));
}

Test(srp_connect, numbers_of_hosts)
{
	cr_assert_eq(kernel_srp_number("host0"), 0);
	cr_assert_eq(kernel_srp_number("host61"), 61);
	cr_assert_eq(kernel_srp_number("host"), -1);
	cr_assert_eq(kernel_srp_number("host6x"), -1);
	cr_assert_eq(kernel_srp_number("sda"), -1);
	cr_assert_eq(kernel_srp_number("host4294967295"), -1);
}

static int load(const char *param, bool *loaded)
{
	char *params[] = { (char *)param };

	why = (struct diag){ 0 };
	return kernel_srp_load(tree.root, params, 1, loaded, &why);
}

static void count(const char *name, const char *value, void *arg)
{
	if (!strcmp(name, "cmd_sg_entries"))
		cr_assert_str_eq(value, "12");
	++*(unsigned *)arg;
}

Test(srp_connect, parameters)
{
	unsigned seen = 0;
	bool loaded;

	cr_assert_eq(load("cmd_sg_entries=12", &loaded), -ENOENT);
	cr_assert_eq(why.code, DIAG_NO_MODULE);
	cr_assert_eq(load("cmd_sg_entries", &loaded), -EINVAL);
	diag_says(&why, DIAG_USAGE, NULL, "--module-param cmd_sg_entries NAME=VALUE");
	cr_assert_eq(load("a b=1", &loaded), -EINVAL);
	tree_dir(&tree, "sys/class/infiniband_srp");
	tree_file(&tree, "sys/module/ib_srp/parameters/cmd_sg_entries", "12\n");
	tree_file(&tree, "sys/module/ib_srp/parameters/prefer_fr", "Y\n");
	cr_assert_eq(load("cmd_sg_entries=12", &loaded), 0, "%s", why.text);
	cr_assert(!loaded);
	cr_assert_eq(load("prefer_fr=1", &loaded), 0, "%s", why.text);
	cr_assert_eq(load("prefer_fr=0", &loaded), -EALREADY);
	cr_assert_eq(load("cmd_sg_entries=13", &loaded), -EALREADY);
	diag_says(&why, DIAG_BUSY, NULL, "ib_srp cmd_sg_entries=12");
	cr_assert_eq(load("sparkle=1", &loaded), -ENOENT);
	kernel_srp_params(tree.root, count, &seen);
	cr_assert_eq(seen, 2);
}
