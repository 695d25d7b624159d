/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is listed of the paths of a disk: group, access, preference, share of the requests and the
 * time until the next attempt, of NVMe multipath and dm-multipath. */
/* Link: kernel_multipath_status kernel_multipath_ask */
#include "../../../../core/inspect/status/list.h"
#include "../../../../core/inspect/status/show.h"
#include "kernel_multipath.h"
#include "nvme_tree.h"
#include "out.h"
#include "says.h"
#include "tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NVME0 "sys/class/nvme/nvme0/nvme0c0n1/"
#define NVME1 "sys/class/nvme/nvme1/nvme0c1n1/"

static struct multipath_status status;
static int status_err;

int __wrap_kernel_multipath_status(
	int root, const struct multipath_map *map, struct multipath_status *to);

int __wrap_kernel_multipath_status(
	int root, const struct multipath_map *map, struct multipath_status *to)
{
	(void)root;
	cr_assert_str_eq(map->node, "dm-0");
	*to = status;
	return status_err;
}

static struct multipath_daemon daemon_knows;
static bool daemon_answers;

bool __wrap_kernel_multipath_ask(int root, struct multipath_daemon *to);

bool __wrap_kernel_multipath_ask(int root, struct multipath_daemon *to)
{
	(void)root;
	*to = daemon_knows;
	return daemon_answers;
}

static char *shown(const struct kernel_list *list, const struct kernel_list *before, bool json)
{
	struct kernel_serving none = { 0 };
	struct status_show what = { .all = true, .serving = &none, .list_before = before };
	struct out out;
	char *text;
	size_t len;

	out_init(&out, "status", json);
	out.to = open_memstream(&text, &len);
	kernel_status_show(&out, list, &what);
	cr_assert_eq(out_fini(&out, NULL), 0);
	fclose(out.to);
	return text;
}

static void lines_are(const struct kernel_list *list, const struct kernel_list *before,
	const char *first, const char *second)
{
	char *text = shown(list, before, false);

	cr_assert_eq(lines_saying(text, first), 1, "no '%s' in %s", first, text);
	cr_assert_eq(lines_saying(text, second), 1, "no '%s' in %s", second, text);
	free(text);
}

static struct kernel_list list_of(const struct tree *tree)
{
	struct kernel_list list;

	cr_assert_eq(kernel_list(tree->root, &list, NULL), 0);
	return list;
}

/* reads, writes, discards and flushes; kernels before 5.5 have no flushes */
static void put_stat(const struct tree *tree, const char *dir, unsigned reads, unsigned writes)
{
	char path[80], text[160];

	snprintf(path, sizeof(path), "%sstat", dir);
	snprintf(text, sizeof(text), "%8u 1 4294967296 1 %8u 1 8 1 0 1 1 %8u 0 0 0 %8u 0\n", reads,
		writes, 1, 2);
	tree_file(tree, path, text);
}

static struct tree two_nvme_paths(void)
{
	struct tree tree = tree_new();

	nvme_tree_ctrl(&tree, "nvme0", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_ctrl(&tree, "nvme1", "tcp", "nqn.t1", "traddr=10.0.0.2,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme0", "nvme0c0n1", "nvme0n1", 1);
	nvme_tree_disk(&tree, "nvme1", "nvme0c1n1", "nvme0n1", 1);
	tree_file(&tree, NVME0 "ana_state", "optimized\n");
	tree_file(&tree, NVME1 "ana_state", "non-optimized\n");
	tree_file(&tree, NVME0 "ana_grpid", "1\n");
	tree_file(&tree, NVME1 "ana_grpid", "4294967295\n");
	put_stat(&tree, NVME0, 60, 12);
	put_stat(&tree, NVME1, 20, 2);
	tree_file(&tree, "sys/class/block/nvme0n1/device/iopolicy", "round-robin\n");
	return tree;
}

Test(list_paths, groups_and_shares_of_nvme)
{
	struct tree tree = two_nvme_paths();
	struct kernel_list list = list_of(&tree), later;
	char *json = shown(&list, NULL, true);

	lines_are(&list, NULL, "/dev/nvme0n1 round-robin nvme0:nvme0c0n1 live optimized _1_ 75%",
		"nvme1:nvme0c1n1 live non-optimized 4294967295 25%");
	cr_assert_not_null(strstr(json, "\"access\":\"optimized\","
					"\"group\":1,\"requests\":75"),
		"%s", json);
	free(json);
	put_stat(&tree, NVME0, 61, 12);
	put_stat(&tree, NVME1, 29, 2);
	later = list_of(&tree);
	lines_are(&later, &list, "nvme0c0n1 10%", "nvme0c1n1 90%");
	kernel_list_clear(&later);
	kernel_list_clear(&list);
	tree_free(&tree);
}

/* Of a kernel without ANA, or before 5.5. */
Test(list_paths, unknown_values_are_left_out)
{
	struct tree tree = two_nvme_paths();
	struct kernel_list list;

	tree_file(&tree, NVME0 "ana_grpid", "0\n");
	tree_file(&tree, NVME0 "stat", "1\n");
	tree_file(&tree, NVME1 "stat", "8 0 0 0 1 0 0 0 0 0 0\n");
	list = list_of(&tree);
	cr_assert_not(list.path[0].has_group);
	cr_assert_not(list.path[0].counted);
	cr_assert(list.path[1].counted);
	cr_assert_eq(list.path[1].requests, 9);
	kernel_list_clear(&list);
	tree_file(&tree, NVME1 "stat", "0 0 0 0 0 0 0 0 0 0 0\n");
	list = list_of(&tree);
	lines_are(&list, NULL, "round-robin nvme0c0n1 optimized _-_", "round-robin nvme0c1n1 _-_");
	kernel_list_clear(&list);
	tree_free(&tree);
}

Test(list_paths, a_disk_with_one_path_has_no_second_table)
{
	struct tree tree = tree_new();
	struct kernel_list list;
	char *text;

	nvme_tree_ctrl(&tree, "nvme0", "tcp", "nqn.t1", "traddr=10.0.0.1,trsvcid=4420");
	nvme_tree_disk(&tree, "nvme0", "nvme0c0n1", "nvme0n1", 1);
	list = list_of(&tree);
	text = shown(&list, NULL, false);
	cr_assert_eq(lines_saying(text, "MULTIPATH"), 0, "%s", text);
	free(text);
	kernel_list_clear(&list);
	tree_free(&tree);
}

static void put_bytes(const struct tree *tree, const char *path, const void *bytes, size_t len)
{
	int fd;

	tree_file(tree, path, "");
	fd = openat(tree->root, path, O_WRONLY);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void put_disk(const struct tree *tree, const char *name, const char *node, const char *dev,
	const char *access)
{
	/* T10 vendor ID, relative target port, target port group 258 */
	static const uint8_t page[] = { 0, 0x83, 0, 20, 0x02, 0x01, 0, 0, 0x61, 0x94, 0, 4, 0, 0, 0,
		1, 0x61, 0x95, 0, 4, 0, 0, 1, 2 };
	char path[128];

	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/type", name);
	tree_file(tree, path, "0\n");
	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/state", name);
	tree_file(tree, path, "running\n");
	snprintf(path, sizeof(path), "sys/class/scsi_device/%s/device/block/%s/dev", name, node);
	tree_file(tree, path, dev);
	snprintf(path, sizeof(path), "sys/class/block/%s/dev", node);
	tree_file(tree, path, dev);
	snprintf(path, sizeof(path), "sys/class/block/%s/holders/dm-0", node);
	tree_dir(tree, path);
	snprintf(path, sizeof(path), "sys/class/block/%s/device/vpd_pg83", node);
	put_bytes(tree, path, page, sizeof(page));
	snprintf(path, sizeof(path), "sys/class/block/%s/", node);
	put_stat(tree, path, 10, 7);
	snprintf(path, sizeof(path), "sys/class/block/%s/device/access_state", node);
	if (access)
		tree_file(tree, path, access);
	snprintf(path, sizeof(path), "sys/class/block/%s/device/preferred_path", node);
	tree_file(tree, path, "1\n");
}

static struct tree two_sessions(const char *access)
{
	struct tree tree = tree_new();

	for (unsigned i = 1; i <= 2; i++) {
		char dir[128], path[160], to[128];

		snprintf(dir, sizeof(dir), "platform/host%u/session%u/iscsi_session/session%u", i,
			i, i);
		snprintf(path, sizeof(path), "sys/devices/%s/targetname", dir);
		tree_file(&tree, path, "iqn.2024-01.example:t1\n");
		snprintf(path, sizeof(path), "sys/devices/%s/state", dir);
		tree_file(&tree, path, "LOGGED_IN\n");
		snprintf(path, sizeof(path), "sys/devices/%s/target_id", dir);
		tree_file(&tree, path, "0\n");
		snprintf(path, sizeof(path), "sys/class/iscsi_session/session%u", i);
		snprintf(to, sizeof(to), "../../devices/%s", dir);
		tree_link(&tree, path, to);
		snprintf(path, sizeof(path), "sys/class/scsi_host/host%u/proc_name", i);
		tree_file(&tree, path, "iscsi_tcp\n");
	}
	put_disk(&tree, "1:0:0:1", "sdb", "8:16\n", access);
	put_disk(&tree, "2:0:0:1", "sdc", "8:32\n", access);
	tree_file(&tree, "sys/class/block/dm-0/dm/uuid", "mpath-36001405\n");
	tree_file(&tree, "sys/class/block/dm-0/dm/name", "mpatha\n");
	tree_file(&tree, "sys/class/block/dm-0/dev", "254:0\n");
	return tree;
}

Test(list_paths, what_the_device_mapper_knows_without_multipathd)
{
	struct tree tree = two_sessions("active/optimized\n");
	struct kernel_list list;
	char *json;

	status = (struct multipath_status){ .policy = "service-time",
		.queues = true,
		.member = { { "8:32", true, 'E' }, { "8:16", false, 'A' }, { "8:48", false, 'D' } },
		.members = 3 };
	list = list_of(&tree);
	lines_are(&list, NULL,
		"/dev/mapper/mpatha service-time session1:sdb LOGGED_IN/running/active optimized "
		"258 "
		"yes 50%",
		"/dev/mapper/mpatha service-time session2:sdc LOGGED_IN/running/failed 50%");
	json = shown(&list, NULL, true);
	cr_assert_not_null(strstr(json, "\"policy\":\"service-time\",\"queue_if_no_path\":true"));
	cr_assert_not_null(strstr(json, "\"access\":\"optimized\",\"group\":258,\"preferred\":true,"
					"\"map_state\":\"active\",\"requests\":20"));
	cr_assert_not_null(strstr(json, "\"map_state\":\"failed\",\"requests\":20"));

	free(json);
	kernel_list_clear(&list);
	status_err = -EACCES;
	status = (struct multipath_status){ 0 };
	list = list_of(&tree);
	lines_are(&list, NULL, "/dev/mapper/mpatha _-_ session1:sdb LOGGED_IN/running optimized",
		"session2:sdc LOGGED_IN/running optimized");
	kernel_list_clear(&list);
	tree_free(&tree);
}

Test(list_paths, what_multipathd_adds)
{
	struct tree tree = two_sessions("active/optimized\n");
	struct kernel_list list = list_of(&tree);
	char *json;

	daemon_knows = (struct multipath_daemon){ .map = { { "mpathb", 9 }, { "mpatha", 12 } },
		.path = { { "8:32", 10 }, { "8:16", -1 } },
		.maps = 2,
		.paths = 2 };
	kernel_list_ask_multipathd(tree.root, &list);
	cr_assert_not(list.disk[0].waits, "it gives no answer");
	cr_assert_not(list.path[0].has_priority);
	daemon_answers = true;
	kernel_list_ask_multipathd(tree.root, &list);
	lines_are(&list, NULL, "session1:sdb 12s yes", "session2:sdc 12s yes");
	json = shown(&list, NULL, true);
	cr_assert_not_null(strstr(json, "\"fails_in_seconds\":12"), "%s", json);
	cr_assert_not_null(strstr(json, "\"priority\":-1,\"requests\":20"), "%s", json);
	cr_assert_not_null(strstr(json, "\"priority\":10,\"requests\":20"), "%s", json);
	free(json);
	kernel_list_clear(&list);
	tree_free(&tree);
	tree = two_nvme_paths();
	list = list_of(&tree);
	daemon_knows.map[0] = (struct multipath_queueing){ "nvme0n1", 5 };
	kernel_list_ask_multipathd(tree.root, &list);
	cr_assert_not(list.disk[0].waits, "NVMe multipath is not its");
	kernel_list_clear(&list);
	tree_free(&tree);
}

Test(list_paths, the_kernels_words_for_alua)
{
	static const char *const rows[][2] = { { "active/non-optimized\n", "non-optimized" },
		{ "LBA-dependent\n", "lba-dependent" }, { "transitioning\n", "transition" },
		{ "standby\n", "standby" }, { "unavailable\n", "unavailable" } };
	struct kernel_list list;
	struct tree tree;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		tree = two_sessions(rows[i][0]);
		list = list_of(&tree);
		cr_assert_str_eq(list.path[1].access, rows[i][1]);
		kernel_list_clear(&list);
		tree_free(&tree);
	}
	tree = two_sessions(NULL);
	list = list_of(&tree);
	cr_assert_str_eq(list.path[0].access, "");
	cr_assert_not(list.path[0].has_group, "without ALUA the group means nothing");
	cr_assert_not(list.path[0].preferred);
	kernel_list_clear(&list);
	tree_free(&tree);
}

/* What a target may report in its page. */
Test(list_paths, an_odd_page_of_designators)
{
	static const uint8_t cut[] = { 0, 0x83, 0, 8, 0x61, 0x95, 0, 4, 0, 0, 1 },
			     lies[] = { 0, 0x83, 0, 8, 0x61, 0x95, 0, 255, 0, 0, 1, 2 };
	struct tree tree = two_sessions("active/optimized\n");
	struct kernel_list list;

	put_bytes(&tree, "sys/class/block/sdb/device/vpd_pg83", cut, sizeof(cut));
	put_bytes(&tree, "sys/class/block/sdc/device/vpd_pg83", lies, sizeof(lies));
	list = list_of(&tree);
	cr_assert_not(list.path[0].has_group);
	cr_assert_not(list.path[1].has_group);
	kernel_list_clear(&list);
	tree_free(&tree);
}
