/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The readers of NVMe-oF configuration, and functions for building entries. */
#pragma once
#include "kernel_nvmf.h"

/* Each appends entries and modifies the text. Formats: nvme-cli 2's lines of options; its JSON;
 * nvme-cli 3's sections; dracut.cmdline(7). */
int kernel_nvmf_conf_lines(struct nvmf_entries *, char *text, const char *from, struct diag *);
int kernel_nvmf_conf_json(struct nvmf_entries *, const char *text, const char *from, struct diag *);
int kernel_nvmf_conf_ini(struct nvmf_entries *, char *text, const char *from, struct diag *);
int kernel_nvmf_conf_cmdline(struct nvmf_entries *, char *text, struct diag *);

/* The kernel command line doesn't forbid the NBFT. */
bool kernel_nvmf_conf_nbft_wanted(int root);

/* NULL: out of memory, diag is set */
struct nvmf_entry *kernel_conf_add(
	struct nvmf_entries *, const char *from, unsigned line, struct diag *);
/* replaces the value; NULL unsets it */
int kernel_conf_set(struct nvmf_entry *, int key, const char *value, struct diag *);
/* copies the values that the entry does not set */
int kernel_conf_inherit(struct nvmf_entry *, const struct nvmf_entry *from, struct diag *);
void kernel_conf_clear(struct nvmf_entry *);
void kernel_conf_note(struct nvmf_entries *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same into `skipped`. */
void kernel_conf_warn(struct nvmf_entries *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Set the entry's damage. */
int kernel_conf_damage(struct nvmf_entry *, const struct diag *why, struct diag *);
/* Parse "transport=tcp;traddr=…" into the entry. */
int kernel_conf_tid(struct nvmf_entries *, struct nvmf_entry *, char *text, struct diag *);
