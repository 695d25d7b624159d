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

/* Read the iBFT like kernel_ibft_targets(), but succeed without targets. */
int kernel_ibft(int root, struct ibft *, struct diag *);
/* Parse the ACPI table; does not set netdevs. */
int kernel_ibft_table(const void *table, size_t len, struct ibft *, struct diag *);
/* Return the number of CHAP users that the CHAP type of a target needs. */
static inline unsigned kernel_ibft_chap_users(unsigned chap_type)
{
	return chap_type < 2 ? chap_type : 2;
}
/* Convert a target of the iBFT. */
void kernel_ibft_boot_target(
	const struct ibft *, const struct ibft_target_info *, struct iscsi_boot_target *);
