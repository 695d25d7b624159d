/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Internal functions of NVMe-oF. */
#pragma once
#include "kernel_nvmf.h"

#define NVME_CLASS  "sys/class/nvme"
#define FABRICS_DEV "dev/nvme-fabrics"

/* Keep only the log lines that can belong to one attempt: those of controller `own`, or if that is
 * unknown (-1), of the only controller not in `others`; and those of no controller. Drop lines that
 * name another subsystem, host or transport. */
void kernel_nvme_log_filter(
	char *lines, const struct nvmf_params *, const struct nvme_numbers *others, int own);
/* Write a text to a file in sysfs; 0 or -errno. */
int kernel_nvme_write(int root, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
