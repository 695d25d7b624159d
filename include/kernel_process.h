/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* This process and others: its id in a file, its readiness, how it outlives what it was started in.
 */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool kernel_process_has(int root, int pid, const char *path); /* open */

/* Writes this process's id to a file and returns a descriptor, which keeps the file locked.
 * Symbolic links are not followed. -EBUSY: a live process has it; diag names that. It has it if it
 * keeps it locked, or if the file names it and it began before the file was written. A file with
 * anything else in it is refused. */
int kernel_pid_file(int root, const char *path, struct diag *);
/* Whether it would succeed now; changes nothing. */
int kernel_pid_file_check(int root, const char *path, struct diag *);
void kernel_pid_file_end(int fd, const char *path); /* removes it if it is still the one at path */
/* Readiness: NOTIFY_SOCKET (sd_notify protocol) and a descriptor given with --ready-fd. */
int kernel_notify_ready(int ready_fd, const char *status, struct diag *);
/* "STATUS=…", "WATCHDOG=1", as sd_notify(3) has them; to NOTIFY_SOCKET alone */
int kernel_notify(const char *text, struct diag *);
uint32_t kernel_watchdog_ms(void); /* within which WATCHDOG=1 is awaited; 0 = it is not */

/* For a process behind a local block device: it must not need that device to free memory or to end,
 * and must outlive the switch from initramfs to root. Leaves the mount namespace, and in its own
 * one what may be mounted from such a device; oom_score_adj -1000; sets PR_SET_IO_FLUSHER; locks
 * memory; marks argv[0] (program_invocation_name) with '@' as systemd's root storage daemons are.
 * Call it before threads are started, which inherit, and after files were opened by name. What was
 * refused is told in diag as one line; never fatal. mounts, given: it has a namespace of its own.
 */
int kernel_survive(int root, char *argv0, bool *mounts, struct diag *);
/* In that namespace only, when no more files are opened by name: leaves all that is mounted from a
 * device or server, which to unmount elsewhere would end nothing as long as it is mounted here.
 * What the files to keep are on stays; each may be NULL. */
void kernel_leave_mounts(int root, const char *const *keep, unsigned count);
/* For a process that was forked to live on with the kernel alone, whatever becomes of the system it
 * was started in: another session, no standard input and output, no descriptor but 0 to 2 and those
 * to keep (`root` among them), the name "@name" in the list of processes and no environment,
 * kernel_survive(), kernel_leave_mounts(), and then a root directory of its own with sysfs and
 * proc. Its descriptor; `root` itself where that is refused, which diag tells. */
int kernel_stand_alone(int root, const char *name, const int *keep, unsigned count, struct diag *);
