/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Disks with several paths: joined by the NVMe driver or by multipathd, which takes its time, or by
 * nothing; and disks that are not one. */
/* Link: leap kernel_multipath_of out_note out_warn */
#include "attach_multipath.h"
#include "kernel_multipath.h"
#include "leap.h"
#include "multipath_tree.h"
#include "says.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAA "naa.36001405abc"

static struct tree tree;
static struct loop *loop;
static struct multipath mp;
static struct diag why;
static bool joined[4];
static char warned[1000], noted[1000];
static uint64_t map_at; /* when multipathd makes its map; 0: it is there */

bool __wrap_kernel_multipath_of(int, const char *, struct multipath_map *);
bool __real_kernel_multipath_of(int, const char *, struct multipath_map *);
void __wrap_out_warn(const struct out_notes *, const char *, ...);

bool __wrap_kernel_multipath_of(int root, const char *node, struct multipath_map *map)
{
	return loop_clock() >= map_at && __real_kernel_multipath_of(root, node, map);
}

void __wrap_out_warn(const struct out_notes *notes, const char *fmt, ...)
{
	size_t at = strlen(warned);
	va_list args;

	(void)notes;
	va_start(args, fmt);
	vsnprintf(warned + at, sizeof(warned) - at, fmt, args);
	va_end(args);
}

void __wrap_out_note(const struct out_notes *, const char *, ...);

void __wrap_out_note(const struct out_notes *notes, const char *fmt, ...)
{
	size_t at = strlen(noted);
	va_list args;

	(void)notes;
	va_start(args, fmt);
	vsnprintf(noted + at, sizeof(noted) - at, fmt, args);
	va_end(args);
}

static void begin(void)
{
	const struct loop_options options = { .name = "test" };

	leap_now = 1000000000;
	cr_assert_eq(loop_new(&loop, &options, NULL), 0);
	tree = tree_new();
	mp = (struct multipath){ .root = tree.root, .loop = loop, .detach = "iser-logout" };
	multipath_tree_disk(&tree, "sda", "8:0");
	multipath_tree_disk(&tree, "sdb", "8:16");
	memset(joined, 0, sizeof(joined));
	warned[0] = noted[0] = 0;
	map_at = 0;
	why = (struct diag){ 0 };
}

static void end(void)
{
	multipath_free(&mp);
	loop_free(loop);
	tree_free(&tree);
}
TestSuite(multipath, .init = begin, .fini = end);

static void add(
	const char *via, const char *target, uint64_t unit, const char *node, const char *wwid)
{
	const struct multipath_path path = { .via = via,
		.target = target,
		.unit = unit,
		.node = node,
		.wwid = wwid,
		.joined = &joined[mp.count] };

	cr_assert_eq(multipath_add(&mp, &path, NULL), 0);
}

static void add_two(void)
{
	add("session1", "iqn.t", 0, "sda", NAA);
	add("session2", "iqn.t", 0, "sdb", NAA);
}

static void make_map(void)
{
	multipath_tree_map(&tree, "dm-0", "253:0", "mpatha", "mpath-" NAA, "sda sdb");
}

Test(multipath, one_device_of_the_driver)
{
	mp.nvme = true;
	add("nvme0", "nqn.t", 1, "nvme0n1", "uuid.1");
	add("nvme0", "nqn.t", 2, "nvme0n2", "uuid.2");
	add("nvme1", "nqn.t", 1, "nvme0n1", "uuid.1");
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(joined[0] && !joined[1] && joined[2]);
	cr_assert_str_eq(mp.path[0].name, "/dev/nvme0n1");
	cr_assert_str_eq(mp.path[0].by_id, "/dev/disk/by-id/nvme-uuid.1");
	cr_assert_str_eq(warned, "");
}

Test(multipath, map_that_exists)
{
	make_map();
	add_two();
	cr_assert_eq(multipath_join(&mp, &why), 0, "without multipathd, too");
	cr_assert(joined[0] && joined[1]);
	cr_assert_str_eq(mp.path[0].name, "/dev/mapper/mpatha");
	cr_assert_str_eq(mp.path[0].by_id, "/dev/disk/by-id/dm-uuid-mpath-" NAA);
}

Test(multipath, map_that_comes)
{
	make_map();
	multipath_tree_daemon(&tree);
	add_two();
	map_at = leap_now + 3000 * MSEC;
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(joined[0] && joined[1]);
	cr_assert_str_eq(warned, "");
}

Test(multipath, map_that_never_comes)
{
	uint64_t start = leap_now;

	multipath_tree_daemon(&tree);
	add_two();
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(!joined[0] && !joined[1]);
	cr_assert_str_eq(mp.path[0].missing, "map");
	text_says(warned, "sda sdb multipathd");
	text_says(noted, "hint: multipath_-v3");
	cr_assert_null(strstr(warned, "multipath -v3"));
	cr_assert_leq(leap_now - start, 6000 * MSEC);
	mp.deadline = start = leap_now;
	mp.deadline += 1000 * MSEC;
	mp.path[0].others = 0;
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert_leq(leap_now - start, 1100 * MSEC, "until the deadline");
}

Test(multipath, map_over_one_of_the_paths)
{
	multipath_tree_map(&tree, "dm-0", "253:0", "mpatha", "mpath-" NAA, "sda");
	add_two();
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(!joined[0] && !joined[1]);
}

Test(multipath, nothing_joins_them)
{
	add_two();
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(!joined[0] && !joined[1]);
	cr_assert_str_eq(mp.path[0].missing, "multipathd");
	text_says(warned, "sda sdb multipathd");
	text_says(noted, "hint: start_multipathd export path=");
	cr_assert_null(strstr(warned, "export"));
}

static const char *driver(const char *multipath)
{
	multipath_free(&mp);
	warned[0] = 0;
	tree_file(&tree, "sys/module/nvme_core/parameters/multipath", multipath);
	mp.nvme = true;
	add("nvme0", "nqn.t", 1, "nvme0n1", "uuid.1");
	add("nvme1", "nqn.t", 1, "nvme1n1", "uuid.1");
	cr_assert_eq(multipath_join(&mp, &why), 0);
	text_says(warned, "nvme0n1 nvme1n1");
	return mp.path[0].missing;
}

Test(multipath, driver_does_not_join_them)
{
	uint64_t start;

	cr_assert_str_eq(driver("N\n"), "nvme_core.multipath");
	text_says(warned, "nvme_core.multipath_is_off");
	text_says(noted, "hint: nvme_core.multipath=Y export");
	cr_assert_str_eq(driver("Y\n"), "shared");
	multipath_tree_daemon(&tree);
	start = leap_now;
	cr_assert_str_eq(driver("Y\n"), "shared");
	cr_assert_eq(leap_now, start, "multipathd leaves them to the driver");
	cr_assert_str_eq(driver("N\n"), "map");
}

Test(multipath, other_disks)
{
	add("session1", "iqn.t", 0, "sda", NAA);
	add("session1", "iqn.t", 1, "sdb", "naa.2");
	add("session2", "iqn.u", 0, "sdc", "naa.3");
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(!joined[0] && !joined[1] && !joined[2]);
	cr_assert_str_eq(warned, "");
}

Test(multipath, identity_is_unknown)
{
	add("session1", "iqn.t", 0, "sda", "");
	add("session2", "iqn.t", 0, "sdb", "");
	make_map();
	cr_assert_eq(multipath_join(&mp, &why), 0);
	cr_assert(joined[0] && joined[1], "the same unit of the same target");
}

Test(multipath, identity_is_not_certain)
{
	add("session1", "iqn.t", 0, "sda", "");
	add("session2", "iqn.t", 0, "sdb", "");
	cr_assert_eq(multipath_join(&mp, &why), 0);
	text_says(warned, "sda,_sdb without_an_identifier separate");
	cr_assert_str_eq(noted, "");
	multipath_free(&mp);
	warned[0] = 0;
	add("session1", "iqn.t", 0, "sda", NAA);
	add("session2", "iqn.u", 0, "sdb", NAA);
	cr_assert_eq(multipath_join(&mp, &why), 0);
	text_says(warned, "sda,_sdb several_targets_report " NAA " multipathd");
	cr_assert_null(strstr(warned, "one disk"));
}

Test(multipath, one_unit_that_is_two_disks)
{
	add("session1", "iqn.t", 0, "sda", NAA);
	add("session2", "iqn.t", 0, "sdb", "naa.2");
	cr_assert_eq(multipath_join(&mp, &why), -EXDEV);
	diag_says(&why, DIAG_MISMATCH, "iqn.t", "LUN_0 sda " NAA " session1 sdb naa.2 session2");
	cr_assert_str_eq(why.hint, "", "either may be the right one");
	multipath_free(&mp);
	mp.nvme = true;
	add("nvme0", "nqn.t", 1, "nvme0n1", "uuid.1");
	add("nvme1", "nqn.t", 1, "nvme1n1", "uuid.2");
	cr_assert_eq(multipath_join(&mp, &why), -EXDEV);
	text_says(why.hint, "iser-logout nvme1");
}

static bool ends(bool failed, const struct diag *other, char json[2000])
{
	struct out out;
	char *text;
	size_t len;
	bool set;

	noted[0] = 0;
	out_init(&out, "test", true);
	out.to = open_memstream(&text, &len);
	set = multipath_end(&mp, &out, failed, other, 3, &why);
	out_fini(&out, NULL);
	fclose(out.to);
	snprintf(json, 2000, "%s", text);
	free(text);
	return set;
}

Test(multipath, no_failure_hides_another)
{
	struct diag other[3] = { 0 };
	char json[2000];

	cr_assert(!ends(false, other, json));
	cr_assert_null(strstr(json, "other_errors"));
	diag_set(&other[0], DIAG_MISMATCH, EXDEV, "not one disk");
	diag_hint(&other[0], "end it");
	diag_set(&other[2], DIAG_UNSUPPORTED, ENOTSUP, "policy");
	cr_assert(ends(false, other, json));
	diag_says(&why, DIAG_MISMATCH, NULL, "not_one_disk");
	cr_assert_str_eq(noted, "policy");
	cr_assert(strstr(json, "\"other_errors\":[{") && strstr(json, "\"policy\""));
	cr_assert_null(strstr(json, "not one disk"), "that is the document's error");
	diag_set(&why, DIAG_REFUSED, ECONNREFUSED, "refused");
	cr_assert(!ends(true, other, json));
	diag_says(&why, DIAG_REFUSED, NULL, "refused");
	text_says(noted, "not_one_disk end_it policy");
	cr_assert(strstr(json, "not one disk") && strstr(json, "\"policy\""));
}
