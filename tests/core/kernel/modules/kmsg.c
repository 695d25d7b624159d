/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's log from a mark on, in a file instead of the device. */
#include "kernel_log.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool about_disks(const char *line)
{
	return strstr(line, "disk");
}

Test(kmsg, lines_since_the_mark)
{
	static const char more[] = "6,11,5,-;disk two\n SUBSYSTEM=disk\n6,12,6,-;a cat\nno record "
				   "with a disk\n6,13,7,-;disk; three\n";
	struct tree tree = tree_new();
	struct kernel_log log;
	char text[64];
	int fd;

	kernel_log_mark(tree.root, &log);
	kernel_log_since(&log, about_disks, text, sizeof(text));
	cr_assert_str_eq(text, "", "no log");
	tree_file(&tree, "dev/kmsg", "6,10,4,-;disk one\n");
	kernel_log_mark(tree.root, &log);
	fd = openat(tree.root, "dev/kmsg", O_WRONLY | O_APPEND);
	cr_assert_eq(write(fd, more, strlen(more)), (ssize_t)strlen(more));
	close(fd);
	kernel_log_since(&log, about_disks, text, sizeof(text));
	cr_assert_str_eq(text, "disk two\ndisk; three\n");
	kernel_log_since(&log, about_disks, text, sizeof(text));
	cr_assert_str_eq(text, "", "it has ended");
	tree_file(&tree, "dev/kmsg", "");
	kernel_log_mark(tree.root, &log);
	tree_file(&tree, "dev/kmsg", more);
	kernel_log_since(&log, about_disks, text, 15);
	cr_assert_str_eq(text, "disk two\n", "what does not fit is left out");
	kernel_log_mark(tree.root, &log);
	lseek(log.fd, 0, SEEK_SET);
	fd = dup(log.fd);
	kernel_log_since(&log, NULL, text, sizeof(text));
	cr_assert_str_eq(text, "");
	cr_assert(log.fd < 0 && !lseek(fd, 0, SEEK_CUR), "nothing is read");
	close(fd);
	tree_free(&tree);
}

static void collect(const char *line, void *text)
{
	strcat(strcat(text, line), "|");
}

Test(kmsg, every_line_of_the_kernel)
{
	struct tree tree = tree_new();
	char text[64] = "";

	kernel_log_each(tree.root, collect, text);
	cr_assert_str_eq(text, "", "no log");
	tree_file(&tree, "dev/kmsg",
		"6,1,5,-;one\n SUBSYSTEM=x\n14,2,6,-;a program's\n7,3,7,-;two\n");
	kernel_log_each(tree.root, collect, text);
	cr_assert_str_eq(text, "one|two|");
	tree_free(&tree);
}
