/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the device mapper reports of a multipath map, in its texts. */
/* Link: ioctl */
#include "../../../../core/kernel/disks/multipath.h"
#include "multipath_tree.h"
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/dm-ioctl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define TABLE                                                                                      \
	"2 queue_if_no_path retain_attached_hw_handler 1 alua 2 1 service-time 0 2 2 8:16 1 1 "    \
	"8:32 1 1 round-robin 0 1 1 8:48 1 "
#define STATE "2 0 0 0 2 1 A 0 2 2 8:16 A 0 0 1 8:32 F 3 0 1 E 0 1 0 8:48 A 0 "

static const char *table = TABLE, *state = STATE, *type = "multipath";
static uint32_t flags, targets = 1;

int __wrap_ioctl(int, unsigned long, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct dm_target_spec spec = { 0 };
	struct dm_ioctl *head;
	va_list args;

	(void)fd;
	va_start(args, request);
	head = va_arg(args, struct dm_ioctl *);
	va_end(args);
	cr_assert_eq(request, DM_TABLE_STATUS);
	cr_assert_str_eq(head->uuid, "mpath-36001405abc");
	snprintf(spec.target_type, sizeof(spec.target_type), "%s", type);
	memcpy((char *)head + head->data_start, &spec, sizeof(spec));
	strcpy((char *)head + head->data_start + sizeof(spec),
		head->flags & DM_STATUS_TABLE_FLAG ? table : state);
	head->flags |= flags;
	head->target_count = targets;
	return 0;
}

static const struct multipath_map map = { .uuid = "mpath-36001405abc" };

static int asks(struct multipath_status *status)
{
	struct tree tree = tree_new();
	int err;

	tree_file(&tree, "dev/mapper/control", "");
	err = kernel_multipath_status(tree.root, &map, status);
	tree_free(&tree);
	if (err)
		cr_assert_eq(status->members, 0);
	return err;
}

static void member_is(
	const struct multipath_member *member, const char *dev, bool failed, char group)
{
	cr_assert_str_eq(member->dev, dev);
	cr_assert_eq(member->failed, failed);
	cr_assert_eq(member->group, group);
}

Test(multipath_status, groups_and_paths)
{
	struct multipath_status status;

	cr_assert_eq(asks(&status), 0);
	cr_assert_str_eq(status.policy, "service-time");
	cr_assert(status.queues);
	cr_assert_eq(status.members, 3);
	member_is(&status.member[0], "8:16", false, 'A');
	member_is(&status.member[1], "8:32", true, 'A');
	member_is(&status.member[2], "8:48", false, 'E');
	table = "0 0 1 1 queue-length 0 1 1 8:16 1 ";
	state = "2 0 0 0 1 1 D 0 1 1 8:16 A 0 0 ";
	cr_assert_eq(asks(&status), 0);
	cr_assert_str_eq(status.policy, "queue-length");
	cr_assert_not(status.queues);
	cr_assert_eq(status.members, 1);
	member_is(&status.member[0], "8:16", false, 'D');
	table = "0 0 0 0 "; /* a map without paths has no group */
	state = "2 0 0 0 0 0 ";
	cr_assert_eq(asks(&status), 0);
	cr_assert_str_eq(status.policy, "");
}

Test(multipath_status, what_it_can_not_read)
{
	struct multipath_status status;
	struct tree tree = tree_new();

	cr_assert_eq(kernel_multipath_status(tree.root, &map, &status), -ENOENT);
	tree_free(&tree);
	type = "linear";
	cr_assert_eq(asks(&status), -ENODEV);
	type = "multipath";
	targets = 2;
	cr_assert_eq(asks(&status), -EMSGSIZE);
	targets = 1;
	flags = DM_BUFFER_FULL_FLAG;
	cr_assert_eq(asks(&status), -EMSGSIZE);
	flags = 0;
}

/* Every text that ends early, and invalid counts. */
Test(multipath_status, texts_of_another_format)
{
	struct multipath_status status;
	char text[300];

	for (size_t len = 0; len < strlen(STATE) - 2; len++) {
		status = (struct multipath_status){ 0 };
		snprintf(text, sizeof(text), "%.*s", (int)len, STATE);
		cr_assert_not(
			multipath_parse_state(&status, text) && status.members == 3, "%zu", len);
		cr_assert_leq(status.members, 3);
	}
	for (unsigned i = 0; i < 3; i++) {
		static const char *const texts[] = { "x 0 1 1 a 0 1 1 8:16 1", "-1 0 1 1 a",
			"99999999999999999999 0 1 1 a" };

		snprintf(text, sizeof(text), "%s", texts[i]);
		cr_assert_not(multipath_parse_table(&status, text), "%s", texts[i]);
	}
}

Test(multipath_status, more_paths_than_there_is_room_for)
{
	struct multipath_status status = { 0 };
	char text[8000];
	int at = sprintf(text, "0 0 1 1 A 0 300 0 ");

	for (int i = 0; i < 300; i++)
		at += sprintf(text + at, "8:%d A 0 ", i);
	cr_assert(multipath_parse_state(&status, text));
	cr_assert_eq(status.members, MULTIPATH_MEMBERS);
}
