/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Less privilege for processes that read bytes of strangers: another user, no capabilities, no new
 * privileges. helper.h is about what still needs the caller's rights later. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PRIVILEGE_GROUPS  64
#define PRIVILEGE_NOBODY  65534 /* where there is no user database */
#define PRIVILEGE_CAP(no) (UINT64_C(1) << (no))

struct privilege_user {
	char name[64];
	uid_t uid;
	gid_t gid, group[PRIVILEGE_GROUPS]; /* group: supplementary groups */
	unsigned groups;
};
/* Find a user with its groups. name: a name, or a number, which is also the group if no such user
 * is known; NULL: "nobody", without supplementary groups. -ENOENT: no such user. */
int privilege_find(struct privilege_user *, const char *name, struct diag *);

/* Become that user for good; NULL: stay user and groups. The capabilities that are not in `keep`
 * (PRIVILEGE_CAP()) are cleared in all sets; other processes of the user can't trace this one.
 * Threads that are started later have the same rights, so call it before them: verbs are refused to
 * a thread whose credentials are not those that opened the device. Existing threads only change
 * their user. A death signal of the parent stays. -EPERM, -EINVAL: this process can't become that
 * user, and is still root. */
int privilege_drop(const struct privilege_user *, uint64_t keep, struct diag *);
bool privilege_dropped(void);
/* Never get privileges by executing a program. Inherited by children. */
void privilege_no_new(void);
/* From now on this process opens no file by name but for reading in /etc, /run, /proc and /sys, and
 * the devices of verbs; it executes and creates nothing. What is open stays so. It needs
 * privilege_no_new(), and is inherited by threads that are started later. Returns 0, or -ENOSYS or
 * -EOPNOTSUPP without Landlock in the kernel. */
int privilege_confine(void);
/* From now on the kernel kills this process for any system call that serving does not need. It
 * needs privilege_no_new(), and is inherited as above, also by child processes. Returns 0, or
 * -EINVAL without seccomp filters in the kernel. */
int privilege_filter(void);
/* Raise the limit of locked memory as far as possible. Returns the capability to keep for it, 0:
 * none is needed. */
uint64_t privilege_lock_memory(void);
/* This process may lock any amount of memory whatever the limit is. */
bool privilege_locks_memory(void);
