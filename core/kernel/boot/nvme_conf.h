/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Building entries of configuration; shared by its readers. */
#pragma once
#include "kernel_nvmf.h"

/* NULL: no memory, told */
struct nvmf_entry *kernel_conf_add(
	struct nvmf_entries *, const char *from, unsigned line, struct diag *);
/* replaces; NULL unsets */
int kernel_conf_set(struct nvmf_entry *, int key, const char *value, struct diag *);
/* what it does not say itself */
int kernel_conf_inherit(struct nvmf_entry *, const struct nvmf_entry *from, struct diag *);
void kernel_conf_clear(struct nvmf_entry *);
void kernel_conf_note(struct nvmf_entries *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "transport=tcp;traddr=…" into the entry. */
int kernel_conf_tid(struct nvmf_entries *, struct nvmf_entry *, char *text, struct diag *);
