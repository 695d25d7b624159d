/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Small files of the running system, by paths relative to a root descriptor. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The text without white space at its end; at most len - 1 bytes. Its length (0: empty counts as a
 * file), or -errno. */
ssize_t kernel_sys_read(int root, char *text, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The whole of a file of any length; NULL and errno when it cannot be read. Caller frees. */
char *kernel_sys_read_all(int root, const char *path);
/* The same of a file that somebody wrote: what is longer than SYS_CONF_MAX is none, be it an
 * endless device: EFBIG. */
#define SYS_CONF_MAX (1u << 20)
char *kernel_sys_read_conf(int root, const char *path);
/* The first bytes of a file, all it has up to len; their number, or -errno. */
ssize_t kernel_sys_read_bytes(int root, const char *path, void *to, size_t len);
bool kernel_sys_exists(int root, const char *path);
/* Calls for each name in a directory but . and .., in no order. False when there is no such
 * directory. */
bool kernel_sys_list(
	int root, const char *path, void (*each)(const char *name, void *arg), void *arg);
/* A word of /proc/self/mountinfo or /proc/swaps, in place: blanks and backslashes are written there
 * as \ooo (proc(5)). */
char *kernel_sys_unescape(char *text);
