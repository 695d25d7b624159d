/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where secrets come from: who else can read a file of them, and terminals. */
#pragma once
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Return the permissions of other users than the owner, 0: none. A file in $CREDENTIALS_DIRECTORY
 * has none for its group: systemd.exec(5) admits the service's user by an ACL, whose mask stat(2)
 * reports as the group's, in a folder that only this user can enter. */
mode_t secret_permissions(const char *path, const struct stat *);

/* Print "what: " on the terminal fd, or on standard error if it can only be read, and read a line
 * of at most `room` bytes without echo. Signals that end or stop this process do so with the
 * terminal as it was; a continued process asks again. Return the number of bytes, the line's end
 * included; 0: end of file; -errno. */
ssize_t secret_prompt(int fd, const char *what, char *line, size_t room);
