/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of NVMe-oF share. */
#pragma once
#include "kernel_nvmf.h"

#define NVME_CLASS  "sys/class/nvme"
#define FABRICS_DEV "dev/nvme-fabrics"

/* Leaves of the kernel's lines those that can be of one attempt: of the controller `own`, or, where
 * it is not known (-1), of the only one that is none of `others`; no line that names another
 * subsystem, host or transport; and those of no controller. */
void kernel_nvme_words_own(
	char *words, const struct nvmf_want *, const struct nvme_numbers *others, int own);
/* Writes a word to a file; 0 or -errno. */
int kernel_nvme_write(int root, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A DH-HMAC-CHAP key as "DHHC-1:…" (NVMe Base 2.1, 8.3.5.5.7): its form, length and checksum. Never
 * quotes it. */
int kernel_nvmf_secret_check(const char *name, const char *secret, struct diag *);
