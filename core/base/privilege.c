/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Give up the rights of root. */
#include "privilege.h"
#include "uri.h"
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPS 64

static bool dropped;

static void set_user(struct privilege_user *user, const char *name, uid_t uid, gid_t gid)
{
	*user = (struct privilege_user){ .uid = uid, .gid = gid };
	snprintf(user->name, sizeof(user->name), "%s", name);
}

static int find_groups(struct privilege_user *user, struct diag *diag)
{
	int count = PRIVILEGE_GROUPS;

	if (getgrouplist(user->name, user->gid, user->group, &count) < 0)
		return diag_set(diag, DIAG_UNSUPPORTED, E2BIG,
			"user '%s' is in more than %d groups", user->name, PRIVILEGE_GROUPS);
	user->groups = (unsigned)count;
	return 0;
}

int privilege_find(struct privilege_user *user, const char *name, struct diag *diag)
{
	const struct passwd *known = getpwnam(name ? name : "nobody");
	uint64_t number;

	if (!name) {
		set_user(user, "nobody", known ? known->pw_uid : PRIVILEGE_NOBODY,
			known ? known->pw_gid : PRIVILEGE_NOBODY);
		return 0;
	}
	if (!known && !parse_u64(name, 0, UINT32_MAX - 1, &number, NULL)) {
		known = getpwuid((uid_t)number);
		if (!known) {
			set_user(user, name, (uid_t)number, (gid_t)number);
			return 0;
		}
	}
	if (!known)
		return diag_set(diag, DIAG_NOT_FOUND, ENOENT, "no user '%s'", name);
	if (strlen(known->pw_name) >= sizeof(user->name))
		return diag_set(
			diag, DIAG_UNSUPPORTED, ENAMETOOLONG, "the name '%s' is too long", name);
	set_user(user, known->pw_name, known->pw_uid, known->pw_gid);
	return find_groups(user, diag);
}

static uint64_t permitted(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &header, data)
		       ? 0
		       : data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static int set_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
		{ .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* Without CAP_SETPCAP the bounding set stays, but nothing is gained by executing a program. */
static void clear_bounding_set(void)
{
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned long cap = 0; cap < CAPS; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
}

static int become(const struct privilege_user *user)
{
	if (setgroups(user->groups, user->group) || setresgid(user->gid, user->gid, user->gid) ||
		setresuid(user->uid, user->uid, user->uid))
		return -errno;
	return 0;
}

/* Whether all rights are gone, whatever the calls have returned. */
static bool is_user(const struct privilege_user *user)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) || getresgid(&gid[0], &gid[1], &gid[2]))
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (uid[i] != user->uid || gid[i] != user->gid)
			return false;
	return getgroups(0, NULL) == (int)user->groups;
}

void privilege_no_new(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int privilege_drop(const struct privilege_user *user, uint64_t keep, struct diag *diag)
{
	int err = 0, death_signal = 0;

	keep &= permitted();
	prctl(PR_GET_PDEATHSIG, &death_signal);
	clear_bounding_set(); /* needs CAP_SETPCAP */
	if (user) {
		prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
		err = become(user);
	}
	if (err)
		return diag_sys(diag, -err, "become user '%s'", user->name);
	err = set_capabilities(keep);
	if (err)
		return diag_sys(diag, -err, "drop capabilities");
	privilege_no_new();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0); /* a change of the user clears it */
	if ((user && !is_user(user)) || permitted() != keep)
		abort();
	dropped = true;
	return 0;
}

bool privilege_dropped(void)
{
	return dropped;
}

uint64_t privilege_lock_memory(void)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit limit;

	if (!setrlimit(RLIMIT_MEMLOCK, &all))
		return 0;
	if (!getrlimit(RLIMIT_MEMLOCK, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	return PRIVILEGE_CAP(CAP_IPC_LOCK);
}

bool privilege_locks_memory(void)
{
	return permitted() & PRIVILEGE_CAP(CAP_IPC_LOCK);
}
