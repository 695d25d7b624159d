/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the readers of iSCSI configuration. */
#pragma once
#include "kernel_iscsi_conf.h"

/* Copy the name of a target or initiator, of any type; false: invalid. */
bool kernel_iscsi_conf_name(char name[ISCSI_NAME_MAX + 1], const char *text);
/* Append a copy of the target; wipes the old memory when the array grows. */
int kernel_iscsi_conf_add(
	struct iscsi_boot_config *, const struct iscsi_boot_target *, struct diag *);
/* Add a line to `notes`, as far as it fits. */
void kernel_iscsi_conf_note(struct iscsi_boot_config *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a line about an invalid part, and count it as a problem. The diag names its object. */
void kernel_iscsi_conf_problem(struct iscsi_boot_config *, const struct diag *);
void kernel_iscsi_conf_wipe(char *text); /* wipe and free; NULL is allowed */

/* Parse dracut's string (uri_is_iscsi()). The host may be missing; the name only if the string
 * stands for the firmware's targets. */
int kernel_iscsi_string(const char *text, struct iscsi_boot_target *, struct diag *);

/* Parse a kernel command line with dracut's and Debian's parameters. `debian`: text of
 * iscsi.initramfs, or NULL; the command line takes precedence. */
int kernel_iscsi_cmdline(
	struct iscsi_boot_config *, const char *cmdline, const char *debian, struct diag *);
