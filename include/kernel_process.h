/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Daemons: PID file, readiness, and independence of the system they were started in. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>

bool kernel_process_has_open(int root, int pid, const char *path); /* path: as in /proc/PID/fd */

/* Write this process's ID to a file and return a descriptor that keeps the file locked, and can't
 * write. A process has one such file. Symbolic links are not followed. -EBUSY: a live process,
 * which diag names, holds the lock, or is named in the file and started before the file was
 * written. -EINVAL: the file contains anything else. */
int kernel_pid_file(int root, const char *path, struct diag *);
/* Check whether kernel_pid_file() would succeed now; changes nothing. */
int kernel_pid_file_check(int root, const char *path, struct diag *);
void kernel_pid_file_end(int fd, const char *path); /* close it; unlink unless replaced */
/* Let the helper write this process's ID to this file and remove it (helper.h), which keeps `root`.
 * 0 or -ENOMEM. */
int kernel_pid_file_allow(int root, const char *path);
/* Report readiness to NOTIFY_SOCKET (sd_notify(3)), and as a newline to ready_fd unless it is -1,
 * which is closed. */
int kernel_notify_ready(int ready_fd, const char *status, struct diag *);
/* Connect to NOTIFY_SOCKET, as this process gives up its rights. A failure is reported later. */
void kernel_notify_hold(void);
bool kernel_notify_wanted(void); /* there is a NOTIFY_SOCKET: a service manager stops us */
/* Send "STATUS=…" or "WATCHDOG=1" to NOTIFY_SOCKET (sd_notify(3)). */
int kernel_notify(const char *text, struct diag *);
uint32_t kernel_watchdog_ms(void); /* limit between two WATCHDOG=1; 0: none expected */

/* Prepare a process that serves a local block device: it must not need that device to get memory or
 * to end, and must survive switch_root. Enters a private mount namespace and unmounts there what
 * may be on such a device; sets oom_score_adj to -1000 and PR_SET_IO_FLUSHER; locks memory; starts
 * argv[0] (may be NULL) with '@', as systemd expects of root storage daemons. Call it before
 * starting threads and after opening files by name. Failed steps are reported in one diag and are
 * not fatal. *mounts: the mount namespace is private. */
int kernel_survive(int root, char *argv0, bool *mounts, struct diag *);
/* Unmount everything on a device or server in the private mount namespace, as a mount there would
 * keep it busy after it is unmounted elsewhere. Call it when no more files are opened by name.
 * Mounts that hold the files in `keep`, each of which may be NULL, stay. */
void kernel_leave_mounts(int root, const char *const *keep, unsigned count);
/* Detach a forked process so that it survives switch_root: a new session; standard descriptors on
 * /dev/null, all others closed but those in `keep`, which includes `root`; process name "@name", no
 * environment; kernel_survive(), kernel_leave_mounts(); a private root directory with sysfs and
 * proc. Returns its descriptor, or `root` and a diag if that fails. */
int kernel_detach_process(
	int root, const char *name, const int *keep, unsigned count, struct diag *);
