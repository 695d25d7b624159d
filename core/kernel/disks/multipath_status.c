/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the kernel knows of a multipath map without multipathd: the texts of the device mapper
 * (Linux 6.12, multipath_status()) with the table and the state of the target "multipath". */
#include "kernel_multipath.h"
#include "kernel_sys.h"
#include "multipath.h"
#include <errno.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define ROOM 16384u

struct words {
	char *rest;
	bool failed;
};

static const char *next_word(struct words *words)
{
	char *word;

	do
		word = strsep(&words->rest, " ");
	while (word && !*word);
	words->failed |= !word;
	return word ? word : "";
}

static unsigned next_number(struct words *words)
{
	const char *word = next_word(words);
	char *end;
	unsigned long value = strtoul(word, &end, 10);

	words->failed |= end == word || *end || value > UINT16_MAX;
	return words->failed ? 0 : (unsigned)value;
}

static void skip_words(struct words *words, unsigned count)
{
	while (count-- && !words->failed)
		next_word(words);
}

/* "2 queue_if_no_path retain_attached_hw_handler 1 alua 2 1 service-time 0 1 2 8:16 1 1 …": counts
 * of features and of words of the hardware handler, with these; the number of groups, the next one;
 * for each group its path selector. */
bool multipath_parse_table(struct multipath_status *status, char *text)
{
	struct words words = { .rest = text };
	unsigned features = next_number(&words), groups;

	while (features-- && !words.failed)
		status->queues |= !strcmp(next_word(&words), "queue_if_no_path");
	skip_words(&words, next_number(&words));
	groups = next_number(&words);
	next_number(&words);
	if (groups)
		snprintf(status->policy, sizeof(status->policy), "%s", next_word(&words));
	return !words.failed;
}

static void parse_member(struct multipath_status *status, struct words *words, char group)
{
	struct multipath_member member = { .group = group };

	snprintf(member.dev, sizeof(member.dev), "%s", next_word(words));
	member.failed = !strcmp(next_word(words), "F");
	next_word(words); /* how often it has failed */
	if (!words->failed && status->members < MULTIPATH_MEMBERS)
		status->member[status->members++] = member;
}

/* "2 0 0 0 2 1 A 0 1 2 8:16 A 0 0 1 E 0 1 2 8:32 F 1 0 0": as above, then for each group its state,
 * the words of its selector, the number of its paths and of the selector's words for each. */
bool multipath_parse_state(struct multipath_status *status, char *text)
{
	struct words words = { .rest = text };
	unsigned groups, paths, extra;

	skip_words(&words, next_number(&words));
	skip_words(&words, next_number(&words));
	groups = next_number(&words);
	next_number(&words);
	while (groups-- && !words.failed) {
		char group = *next_word(&words);

		skip_words(&words, next_number(&words));
		paths = next_number(&words);
		extra = next_number(&words);
		while (paths-- && !words.failed) {
			parse_member(status, &words, group);
			skip_words(&words, extra);
		}
	}
	return !words.failed;
}

/* Get the text of the only target of a map. */
static int read_target(
	int root, const struct multipath_map *map, uint32_t flags, void *room, char **text)
{
	struct dm_ioctl *head = memset(room, 0, ROOM);
	struct dm_target_spec *spec;
	int err;

	head->data_size = ROOM;
	head->data_start = sizeof(*head);
	head->flags = flags;
	err = kernel_multipath_control(root, DM_TABLE_STATUS, map, head);
	if (err)
		return err;
	if (head->flags & DM_BUFFER_FULL_FLAG || head->target_count != 1 ||
		head->data_start > ROOM - sizeof(*spec) - 1)
		return -EMSGSIZE;
	spec = (struct dm_target_spec *)(void *)((char *)room + head->data_start);
	if (strncmp(spec->target_type, "multipath", sizeof(spec->target_type)))
		return -ENODEV;
	((char *)room)[ROOM - 1] = 0;
	*text = (char *)(spec + 1);
	return 0;
}

int kernel_multipath_status(
	int root, const struct multipath_map *map, struct multipath_status *status)
{
	char *room = malloc(ROOM), *text;
	int err;

	*status = (struct multipath_status){ 0 };
	if (!room)
		return -ENOMEM;
	err = read_target(root, map, DM_STATUS_TABLE_FLAG, room, &text);
	if (!err && !multipath_parse_table(status, text))
		err = -EPROTO;
	if (!err)
		err = read_target(root, map, 0, room, &text);
	if (!err && !multipath_parse_state(status, text))
		err = -EPROTO;
	if (err)
		*status = (struct multipath_status){ 0 };
	free(room);
	return err;
}
