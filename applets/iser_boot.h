/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The targets of iser-login --from-cmdline and --ibft. */
#pragma once
#include "applet.h"
#include "iscsi_attach.h"
#include "kernel_iscsi_conf.h"

struct iser_boot_words {
	bool from_cmdline, ibft;
};
#define ISER_BOOT_ROWS(type)                                                                       \
	{ "from-cmdline", 0, OPT_FLAG, offsetof(type, boot.from_cmdline), NULL,                    \
		"log in to the targets of the kernel command line (iscsi:, iser:, rd.iscsi.*, "    \
		"iscsi_*)" },                                                                      \
	{                                                                                          \
		"ibft", 0, OPT_FLAG, offsetof(type, boot.ibft), NULL,                              \
			"log in to the targets of the boot firmware (iBFT)"                        \
	}

/* Report the sources with --verbose and --dry-run, and invalid parts always; these are counted in
 * w->problems. Set up the network if the command line asks for the firmware's, except in a dry run.
 */
int iser_boot_read(struct call *, const struct iser_boot_words *, int root, struct iscsi_wishes *);
/* rd.iscsi.login_retry_max: retry portals that did not answer for as long as that many logins may
 * take, as the network may be late. */
int iser_boot_again(struct loop *, int root, struct iscsi_want *, unsigned count,
	const struct iscsi_wishes *, uint64_t until, struct diag *);
