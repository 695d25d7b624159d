/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Archives for the initramfs: paths, directories above them, and the alignment. */
#include "cpio.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Test(cpio, paths_are_plain)
{
	static const struct {
		const char *from, *path;
	} rows[] = {
		{ "/usr//bin/./tool/", "usr/bin/tool" },
		{ "tool", "tool" },
		{ "a/.b/c..", "a/.b/c.." },
		{ "", NULL },
		{ "/", NULL },
		{ "/./", NULL },
		{ "a/../b", NULL },
		{ "..", NULL },
		{ "TRAILER!!!", NULL },
		{ "a/TRAILER!!!", "a/TRAILER!!!" },
	};
	char path[CPIO_PATH], longest[CPIO_PATH];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(cpio_path(rows[i].from, path), !!rows[i].path, "%s", rows[i].from);
		if (rows[i].path)
			cr_assert_str_eq(path, rows[i].path);
	}
	memset(longest, 'x', sizeof(longest));
	longest[CPIO_PATH - 2] = 0;
	cr_assert(cpio_path(longest, path));
	longest[CPIO_PATH - 2] = 'x';
	longest[CPIO_PATH - 1] = 0;
	cr_assert_not(cpio_path(longest, path));
}

Test(cpio, a_path_is_added_once)
{
	struct cpio cpio = { 0 };
	struct diag diag = { 0 };

	cr_assert_eq(cpio_add_link(&cpio, "x", "a/b/c", &diag), 0);
	cr_assert_eq(cpio_add_link(&cpio, "x", "a/b/d", &diag), 0);
	cr_assert_eq(cpio.entries, 4, "two directories");
	cr_assert_eq(cpio_add_link(&cpio, "x", "a/b/c", &diag), -EEXIST);
	diag_says(&diag, DIAG_USAGE, "/a/b/c", "twice");
	diag = (struct diag){ 0 };
	cr_assert_eq(cpio_add_link(&cpio, "x", "a/b", &diag), -EEXIST);
	diag = (struct diag){ 0 };
	cr_assert_eq(cpio_add_link(&cpio, "x", "a/b/c/e", &diag), -ENOTDIR);
	diag_says(&diag, DIAG_USAGE, "/a/b/c", "file directory");
	diag = (struct diag){ 0 };
	cr_assert_eq(cpio_add_file(&cpio, "/", "f", &diag), -EINVAL);
	diag_says(&diag, DIAG_USAGE, "/", "regular");
	cpio_free(&cpio);
}

Test(cpio, an_archive_begins_aligned_and_fills_blocks)
{
	struct cpio cpio = { .time = 7 };
	struct diag diag = { 0 };
	char bytes[2048];
	FILE *to = tmpfile();
	size_t len;

	cr_assert_not_null(to);
	cr_assert_eq(fwrite("xyz", 1, 3, to), 3u);
	cr_assert_eq(fflush(to), 0);
	cr_assert_eq(cpio_add_link(&cpio, "abc", "l", &diag), 0);
	cr_assert_eq(cpio_write(&cpio, to, &diag), 0, "%s", diag.text);
	rewind(to);
	len = fread(bytes, 1, sizeof(bytes), to);
	cr_assert_eq(len, 4u + 512);
	cr_assert_arr_eq(bytes, "xyz", 4);
	cr_assert_arr_eq(bytes + 4, "070701000000010000A1FF", 22);
	cr_assert_eq(strlen(bytes + 4 + 110), 1u, "the path");
	cr_assert_arr_eq(bytes + 4 + 112, "abc", 4);
	cr_assert_str_eq(bytes + 4 + 116 + 110, "TRAILER!!!");
	cpio_free(&cpio);
	fclose(to);
}

Test(cpio, a_file_that_grows_is_an_error)
{
	char path[] = "/tmp/cpio.XXXXXX";
	struct cpio cpio = { 0 };
	struct diag diag = { 0 };
	FILE *to = tmpfile();
	int fd = mkstemp(path);

	cr_assert(fd >= 0 && to);
	cr_assert_eq(ftruncate(fd, 10), 0);
	cr_assert_eq(cpio_add_file(&cpio, path, "file", &diag), 0);
	cr_assert_eq(ftruncate(fd, 11), 0);
	cr_assert_eq(cpio_write(&cpio, to, &diag), -EIO);
	diag_says(&diag, DIAG_IO, "/file", "more size");
	cpio_free(&cpio);
	fclose(to);
	close(fd);
	unlink(path);
}
