/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the readers of iSCSI configuration. */
#pragma once
#include "kernel_iscsi_conf.h"

/* Copy the name of a target or initiator, of any type; false: invalid. */
bool kernel_iscsi_conf_name(char name[ISCSI_NAME_MAX + 1], const char *text);
/* wipes what it moves */
int kernel_iscsi_conf_add(struct iscsi_wishes *, const struct iscsi_wish *, struct diag *);
void kernel_iscsi_conf_note(struct iscsi_wishes *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* the same of something wanted; the diag names its object */
void kernel_iscsi_conf_problem(struct iscsi_wishes *, const struct diag *);
void kernel_iscsi_conf_wipe(char *text); /* wipe and free; NULL is allowed */

/* dracut's string (uri_is_iscsi()). A host may be missing; a name is not, but for the words that
 * stand for the firmware's targets. */
int kernel_iscsi_string(const char *text, struct iscsi_wish *, struct diag *);

/* Parse a kernel command line with dracut's and Debian's words. `debian`: text of iscsi.initramfs,
 * or NULL; the command line takes precedence. */
int kernel_iscsi_cmdline(
	struct iscsi_wishes *, const char *cmdline, const char *debian, struct diag *);

/* Like kernel_ibft_targets(), but a table without targets is no error. */
int kernel_ibft(int root, struct ibft *, struct diag *);
/* the same for the ACPI table; does not set netdevs */
int kernel_ibft_table(const void *table, size_t len, struct ibft *, struct diag *);
/* How many users with secrets the CHAP type of a target needs. */
static inline unsigned kernel_ibft_chap_users(unsigned chap_type)
{
	return chap_type < 2 ? chap_type : 2;
}
void kernel_ibft_wish(const struct ibft *, const struct ibft_target_info *, struct iscsi_wish *);
