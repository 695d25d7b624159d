/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the readers of iSCSI configuration share. */
#pragma once
#include "kernel_iscsi_conf.h"

/* A target's or initiator's name, of any type; false: it is none. */
bool kernel_iscsi_conf_name(char name[ISCSI_NAME_MAX + 1], const char *text);
/* wipes what it moves */
int kernel_iscsi_conf_add(struct iscsi_wishes *, const struct iscsi_wish *, struct diag *);
void kernel_iscsi_conf_note(struct iscsi_wishes *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void kernel_iscsi_conf_wipe(char *text); /* and frees; NULL too */

/* What a kernel command line says, in dracut's and in Debian's words; `debian`, or NULL: the text
 * of iscsi.initramfs, which it outdoes. */
int kernel_iscsi_cmdline(
	struct iscsi_wishes *, const char *cmdline, const char *debian, struct diag *);

/* kernel_ibft_targets(), but a table without targets will do. */
int kernel_ibft(int root, struct ibft *, struct diag *);
/* the same, of an ACPI table; without netdevs */
int kernel_ibft_table(const void *table, size_t len, struct ibft *, struct diag *);
void kernel_ibft_wish(const struct ibft *, const struct ibft_target_info *, struct iscsi_wish *);
