/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Read the kernel's log: from a mark on, for the reason behind an errno, or all of it. Lines that
 * programs have written are left out. */
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
/* Call each() for every line, oldest first. Does not block. Without permission there is none. */
void kernel_log_each(int root, void (*each)(const char *line, void *arg), void *arg);
