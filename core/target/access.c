/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Access to the disks of a target through its listeners, which hosts see as states of paths. */
#include "target.h"
#include <errno.h>

static const char *const words[ACCESSES] = {
	[ACCESS_OPTIMIZED] = "optimized",
	[ACCESS_NON_OPTIMIZED] = "non-optimized",
	[ACCESS_INACCESSIBLE] = "inaccessible",
	[ACCESS_LOSS] = "persistent-loss",
	[ACCESS_CHANGE] = "change",
};

const char *access_word(enum access access)
{
	return words[access];
}

enum access access_parse(const char *word)
{
	unsigned i = 0;

	while (i < ACCESSES && strcmp(words[i], word))
		i++;
	return i;
}

enum access target_get_access(const struct target *target, unsigned listen)
{
	return target_port_access(target, listen) & ((1u << TARGET_ACCESS_BITS) - 1);
}

static void set_access(struct target *target, unsigned i, enum access access)
{
	uint64_t changes = target_port_access(target, i) >> TARGET_ACCESS_BITS;

	__atomic_store_n(&target->port[i].access, (changes + 1) << TARGET_ACCESS_BITS | access,
		__ATOMIC_RELAXED);
}

int target_set_access(
	struct target *target, unsigned group, enum access access, enum access *before)
{
	bool found = false;

	if (!target->proto->access_changed)
		return -ENOTSUP;
	for (unsigned i = 0; i < target->opt.listens; i++) {
		if (target_port_group(target, i) != group)
			continue;
		*before = target_get_access(target, i); /* the same for all */
		found = true;
		if (*before != access)
			set_access(target, i, access);
	}
	if (!found)
		return -ENOENT;
	if (*before != access)
		target->proto->access_changed(target, group);
	return 0;
}
