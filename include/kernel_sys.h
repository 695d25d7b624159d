/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Small system files, by paths relative to a root descriptor. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read a text without trailing white space, at most len - 1 bytes. Returns its length or -errno. */
ssize_t kernel_sys_read(int root, char *text, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Read a whole file of any length; NULL with errno on failure. The caller frees it. */
char *kernel_sys_read_all(int root, const char *path);
/* Read a file written by a user; one longer than SYS_CONF_MAX, such as a device, fails with
 * EFBIG. */
#define SYS_CONF_MAX (1u << 20)
char *kernel_sys_read_conf(int root, const char *path);
/* Read the kernel command line as one text, preceded in dracut's order by the files *.conf of
 * etc/cmdline.d and etc/cmdline (dracut.cmdline(7)). NULL with errno. The caller frees it. */
char *kernel_sys_cmdline(int root);
/* Set the error when that returned NULL, from errno. */
int kernel_sys_no_cmdline(struct diag *);
/* Read the first bytes of a file, up to len; returns their number or -errno. */
ssize_t kernel_sys_read_bytes(int root, const char *path, void *to, size_t len);
bool kernel_sys_exists(int root, const char *path);
/* Call `each` for every name in a directory except . and .., in no particular order. False: no such
 * directory. */
bool kernel_sys_list(
	int root, const char *path, void (*each)(const char *name, void *arg), void *arg);
/* Decode a field of /proc/self/mountinfo or /proc/swaps in place: blanks and backslashes are
 * written there as \ooo (proc(5)). */
char *kernel_sys_unescape(char *text);
