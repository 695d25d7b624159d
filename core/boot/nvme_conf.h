/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Readers of NVMe-oF configuration, and functions that build entries. */
#pragma once
#include "kernel_nvmf.h"

/* Each appends entries and modifies the text. Formats: nvme-cli 2's lines of options; its JSON;
 * nvme-cli 3's sections; dracut.cmdline(7). */
int kernel_nvmf_conf_lines(struct nvmf_entries *, char *text, const char *from, struct diag *);
int kernel_nvmf_conf_json(struct nvmf_entries *, const char *text, const char *from, struct diag *);
int kernel_nvmf_conf_ini(struct nvmf_entries *, char *text, const char *from, struct diag *);
int kernel_nvmf_conf_cmdline(struct nvmf_entries *, char *text, struct diag *);

/* Whether the kernel command line allows to use the NBFT. */
bool kernel_nvmf_conf_nbft_enabled(int root);

/* Append an empty entry. NULL: too many, or out of memory; diag is set. */
struct nvmf_entry *kernel_conf_add(
	struct nvmf_entries *, const char *from, unsigned line, struct diag *);
/* Replace the value; NULL unsets it. */
int kernel_conf_set(struct nvmf_entry *, int key, const char *value, struct diag *);
/* Copy the values that the entry does not set. */
int kernel_conf_inherit(struct nvmf_entry *, const struct nvmf_entry *from, struct diag *);
void kernel_conf_clear(struct nvmf_entry *);
/* Add a line to `notes`. */
void kernel_conf_note(struct nvmf_entries *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Add a line to `skipped`. */
void kernel_conf_warn(struct nvmf_entries *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Mark the entry as invalid, for this reason. */
int kernel_conf_damage(struct nvmf_entry *, const struct diag *why, struct diag *);
/* Parse "transport=tcp;traddr=…" into the entry. */
int kernel_conf_tid(struct nvmf_entries *, struct nvmf_entry *, char *text, struct diag *);
