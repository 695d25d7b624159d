/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Leave the file system by Landlock (Linux 5.13). */
#include "privilege.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef LANDLOCK_ACCESS_FS_REFER /* Linux 5.19, ABI 2 */
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE /* Linux 6.2, ABI 3 */
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV /* Linux 6.10, ABI 5 */
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif

#define READ  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE LANDLOCK_ACCESS_FS_WRITE_FILE

static const struct rule {
	const char *path;
	uint64_t access;
} rules[] = {
	/* folders, as files in them are replaced */
	{ "/etc", READ },
	{ "/run", READ },
	{ "/proc", READ },
	{ "/sys", READ },
	{ "/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | WRITE },
	{ "/dev/infiniband", READ | WRITE | LANDLOCK_ACCESS_FS_IOCTL_DEV },
};

/* All that this version of the kernel can refuse. */
static uint64_t handled(long abi)
{
	uint64_t access = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1; /* ABI 1 */

	if (abi >= 2)
		access |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		access |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		access |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return access;
}

/* A path that does not exist needs no rule. */
static int add_rule(int set, const struct rule *rule, uint64_t all)
{
	struct landlock_path_beneath_attr beneath = { .allowed_access = rule->access & all,
		.parent_fd = open(rule->path, O_PATH | O_CLOEXEC) };
	int err = 0;

	if (beneath.parent_fd < 0)
		return 0;
	if (syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0))
		err = -errno;
	close(beneath.parent_fd);
	return err;
}

/* What the resolver reads may be a link to anywhere; its folder, as the file is replaced. */
static int add_target(int set, const char *path, uint64_t all)
{
	char target[PATH_MAX];
	struct rule rule = { target, READ };
	char *slash;

	if (!realpath(path, target))
		return 0;
	slash = strrchr(target, '/');
	if (slash > target)
		*slash = 0;
	else
		rule.access = LANDLOCK_ACCESS_FS_READ_FILE;
	return add_rule(set, &rule, all);
}

int privilege_confine(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = { .handled_access_fs = handled(abi) };
	int set, err = 0;

	if (abi < 0)
		return -errno;
	set = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
	if (set < 0)
		return -errno;
	for (unsigned i = 0; !err && i < sizeof(rules) / sizeof(*rules); i++)
		err = add_rule(set, &rules[i], attr.handled_access_fs);
	if (!err)
		err = add_target(set, "/etc/resolv.conf", attr.handled_access_fs);
	if (!err)
		err = add_target(set, "/etc/hosts", attr.handled_access_fs);
	if (!err && syscall(SYS_landlock_restrict_self, set, 0))
		err = -errno;
	close(set);
	return err;
}
