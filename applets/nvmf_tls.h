/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The key of NVMe/TCP with TLS: where it comes from, and that the kernel has it before it connects.
 */
#pragma once
#include "nvmf_want.h"

bool nvmf_tls_is_key(const char *text); /* or meant as one, and no number */
/* From options, URI and environment into t->tls; what was given instead of a key's number is taken
 * out of t->want. Errors: usage. */
int nvmf_tls_read(struct nvmf_target *, const struct call *, const struct nvmf_options *,
	const char *file, struct diag *);
/* Puts it into the kernel's keyring, and the numbers of both into t->want. Needs: the driver. */
int nvmf_tls_insert(int root, struct nvmf_target *, struct diag *);
/* What it will be called there; "" = no key was given. */
void nvmf_tls_identity(const struct nvmf_target *, char *text, size_t len);
