/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Shared by the files of NVMe-oF. */
#pragma once
#include "kernel_nvmf.h"

#define NVME_CLASS  "sys/class/nvme"
#define FABRICS_DEV "dev/nvme-fabrics"

/* Reduce the kernel's log lines to those that can belong to one attempt: lines of the controller
 * `own`; if that is unknown (-1), lines of the only controller that is not in `others`; and lines
 * of no controller. Lines that name another subsystem, host or transport are dropped. */
void kernel_nvme_words_own(
	char *words, const struct nvmf_want *, const struct nvme_numbers *others, int own);
/* Write a word to a file; 0 or -errno. */
int kernel_nvme_write(int root, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Check the form, length and checksum of a DH-HMAC-CHAP key "DHHC-1:…" (NVMe Base 2.1, 8.3.5.5.7).
 * Messages never quote it. */
int kernel_nvmf_secret_check(const char *name, const char *secret, struct diag *);
