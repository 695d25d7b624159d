/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What iser-login is to log in to by --from-cmdline and --ibft. */
#pragma once
#include "applet.h"
#include "iscsi_attach.h"
#include "kernel_iscsi_conf.h"

struct iser_boot_words {
	bool from_cmdline, ibft;
};
#define ISER_BOOT_ROWS(type) \
	{ "from-cmdline", 0, OPT_FLAG, offsetof(type, boot.from_cmdline), NULL, "what the kernel command line says (iscsi:, iser:, rd.iscsi.…, iscsi_…)" }, \
	{ "ibft", 0, OPT_FLAG, offsetof(type, boot.ibft), NULL, "what the boot firmware names" }

/* Tells with --verbose and --dry-run where each comes from. What was not understood is told in any case and counted in w->problems. Sets up the
 * network where the command line wants the firmware's, but for a dry run. */
int iser_boot_read(struct call *, const struct iser_boot_words *, int root, struct iscsi_wishes *);
/* rd.iscsi.login_retry_max: as long as so many logins may take those who did not answer are asked again, as a network may be late. */
int iser_boot_again(struct loop *, int root, struct iscsi_want *, unsigned count, const struct iscsi_wishes *, uint64_t until, struct diag *);
