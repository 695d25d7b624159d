/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the kernel's log from a mark on: the reason behind an errno. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct kernel_log {
	int fd; /* 0 or less: none */
};
/* Mark the end of the log. Without permission to read it, no lines follow. */
void kernel_log_mark(int root, struct kernel_log *);
/* Copy the lines since the mark for which match() returns true, oldest first, each with a newline,
 * as far as they fit, and close the log. match NULL: only close it. */
void kernel_log_since(struct kernel_log *, bool (*match)(const char *line), char *text, size_t len);
