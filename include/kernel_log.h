/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The kernel's log, read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* What the kernel's log says from a mark on: the reason behind an errno. Where it may not be read
 * it says nothing. */
struct kernel_log {
	int fd; /* 0 or less: none */
};
void kernel_log_mark(int root, struct kernel_log *);
/* The lines that `want` takes (NULL: none, and nothing is read), oldest first, each with a newline,
 * as far as they fit. Ends the log. */
void kernel_log_since(struct kernel_log *, bool (*want)(const char *line), char *text, size_t len);
