/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who else can read a file of secrets. */
#pragma once
#include <sys/stat.h>

/* Return the permissions of other users than the owner, 0: none. A file in $CREDENTIALS_DIRECTORY
 * has none for its group: systemd.exec(5) admits the service's user by an ACL, whose mask stat(2)
 * reports as the group's, in a folder that only this user can enter. */
mode_t secret_permissions(const char *path, const struct stat *);
