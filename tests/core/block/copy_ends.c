/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The checks of a copy's ends before they are opened. */
#include "../../../core/block/copy_ends.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/copy_ends.XXXXXX";

static void make_file(const char *name, off_t size)
{
	int fd = open(name, O_CREAT | O_WRONLY, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(ftruncate(fd, size), 0);
	close(fd);
}

static void begin(void)
{
	cr_assert(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	make_file("full", 4096);
	make_file("empty", 0);
	cr_assert_eq(link("full", "same"), 0);
	cr_assert_eq(symlink("full", "link"), 0);
	cr_assert_eq(mkdir("dir", 0700), 0);
}

static void end(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(copy_ends, .init = begin, .fini = end);

Test(copy_ends, harmful_and_impossible_ends_are_refused)
{
	static const struct {
		const char *src, *dst, *map, *says;
		int err;
	} rows[] = {
		{ "full", "full", NULL, "same disk", EINVAL },
		{ "full", "file:full", NULL, "same disk", EINVAL },
		{ "full", "same", NULL, "same disk", EINVAL },
		{ "full", "link", NULL, "same disk", EINVAL },
		{ "full", "file:full?part=1", NULL, "same disk", EINVAL },
		{ "nbd://h/a", "nbd://h/a", NULL, "same disk", EINVAL },
		{ "full", "new", "full", "source", EINVAL },
		{ "full", "new", "dir/../link", "source", EINVAL },
		{ "full", "new", "new", "destination", EINVAL },
		{ "full", "new", "dir/../new", "destination", EINVAL },
		{ "full", "empty?part=1", NULL, "keys", EINVAL },
		{ "-", "new", NULL, "standard input", ENOENT },
		{ "-", "empty?part=1", NULL, "keys", EINVAL },
		{ "full", "empty", NULL, NULL, 0 },
		{ "full", "empty?other", NULL, NULL, 0 },
		{ "full", "new", "map", NULL, 0 },
		{ "ram:1M", "ram:1M", NULL, NULL, 0 },
		{ "-", "-", NULL, NULL, 0 },
		{ "-", "empty", NULL, NULL, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct copy_ends ends = {
			.src = rows[i].src, .dst = rows[i].dst, .map = rows[i].map
		};
		struct diag diag = { 0 };

		cr_assert_eq(copy_ends_check(&ends, &diag), -rows[i].err, "%s to %s: %s",
			rows[i].src, rows[i].dst, diag.text);
		cr_assert_eq(diag.err, rows[i].err);
		if (rows[i].says)
			cr_assert(strstr(diag.text, rows[i].says), "%s", diag.text);
	}
}

Test(copy_ends, the_kind_of_the_destination_is_known)
{
	static const struct {
		const char *dst;
		bool regular, missing, empty;
		uint64_t length;
	} rows[] = {
		{ "full", true, false, false, 4096 },
		{ "file:full?part=1", false, false, false, 4096 },
		{ "empty", true, false, true, 0 },
		{ "new", true, true, true, 0 },
		{ "file:new?part=1", false, false, false, 0 },
		{ "/dev/null", false, false, false, 0 },
		{ "nbd://host/disk", false, false, false, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct copy_ends ends = { .src = "null:1M", .dst = rows[i].dst };

		cr_assert_eq(copy_ends_check(&ends, NULL), 0);
		cr_assert_eq(ends.regular, rows[i].regular, "%s", rows[i].dst);
		cr_assert_eq(ends.missing, rows[i].missing, "%s", rows[i].dst);
		cr_assert_eq(ends.empty, rows[i].empty, "%s", rows[i].dst);
		cr_assert_eq(ends.length, rows[i].length, "%s", rows[i].dst);
	}
}

static bool exists_after(const struct copy_progress *progress, const struct diag *why, off_t size)
{
	struct copy_ends ends = { .src = "full", .dst = "new" };
	bool exists;

	cr_assert_eq(copy_ends_check(&ends, NULL), 0);
	make_file("new", size);
	copy_ends_remove(&ends, progress, why);
	exists = !access("new", F_OK);
	unlink("new");
	return exists;
}

Test(copy_ends, only_a_file_of_this_copy_is_removed)
{
	const struct copy_progress none = { 0 }, some = { .zeroed = 512 };
	const struct diag busy = { .code = DIAG_BUSY }, other = { .code = DIAG_IO };
	struct copy_ends empty = { .src = "full", .dst = "empty" };

	cr_assert(!exists_after(&none, NULL, 4096));
	cr_assert(exists_after(&some, NULL, 4096));
	cr_assert(!exists_after(&none, &other, 0));
	cr_assert(exists_after(&none, &other, 4096));
	cr_assert(exists_after(&none, &busy, 0));
	cr_assert_eq(copy_ends_check(&empty, NULL), 0);
	copy_ends_remove(&empty, &none, NULL);
	cr_assert_eq(access("empty", F_OK), 0);
}

Test(copy_ends, a_disk_under_two_names_is_found)
{
	const struct copy_ends ends = { .dst = "nbd://h/a" };
	const struct bdev_id unknown = { 0 }, a = { .uuid = { 1 }, .nguid = { 2 } };
	const struct bdev_id b = { .uuid = { 1 } }, c = { .eui64 = { 1 }, .nguid = { 3 } };

	cr_assert_eq(copy_ends_differ(&ends, &unknown, &unknown, NULL), 0);
	cr_assert_eq(copy_ends_differ(&ends, &a, &b, NULL), -EINVAL);
	cr_assert_eq(copy_ends_differ(&ends, &a, &c, NULL), 0);
	cr_assert_eq(copy_ends_differ(&ends, &c, &c, NULL), -EINVAL);
}

Test(copy_ends, a_dry_run_knows_whether_a_file_can_be_created)
{
	static const struct {
		const char *dst;
		int err;
	} rows[] = { { "new", 0 }, { "empty", 0 }, { "none/new", ENOENT }, { "/dev/new", ENOENT } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct copy_ends ends = { .src = "full", .dst = rows[i].dst };
		struct diag diag = { 0 };

		cr_assert_eq(copy_ends_check(&ends, &diag), 0);
		copy_ends_writable(&ends, &diag);
		cr_assert_eq(diag.err, rows[i].err, "%s: %s", rows[i].dst, diag.text);
	}
}
