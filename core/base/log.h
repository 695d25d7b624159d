/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where messages go. message.c calls these with its lock held. */
#pragma once
#include "out.h"

enum log_place { LOG_STDERR, LOG_FILE, LOG_SYSTEM };
enum log_place log_place(void);
/* Write the lines. False: some of them could not be written. A terminal, pipe, socket, syslog or
 * the kernel's log never blocks. A regular file blocks as long as its file system does: O_NONBLOCK
 * has no effect there. */
bool log_put(enum out_level, const char *text, size_t len);
bool log_is_cut(void); /* the last message ended in the middle of a line */

int log_open_file(const char *path, struct diag *);
void log_open_system(void);
bool log_leave_terminal(void); /* out_log_background() */
bool log_is_background(void);
int log_fds(int fd[2]);
