/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of NVMe-oF share. */
#pragma once
#include "attach_nvme.h"

#define NVMF_OPTION_NAME 40
/* "--queue-size" */
const char *nvmf_option_name(enum nvmf_key, char name[NVMF_OPTION_NAME]);
/* A usage error unless the scheme is one of NVMe-oF. */
int nvmf_uri_scheme(const struct uri *, struct diag *);
/* its value comes from the loss policy */
bool nvmf_target_by_policy(const struct nvmf_target *, enum nvmf_key);
/* The first word of a descriptor, or else of a file. */
int nvmf_read_key(const struct call *, const char *option, const char *fd, const char *file,
	char key[NVMF_SECRET], struct diag *);

/* Name an entry for messages, without the keys of a URI: one of them may be a secret. */
void nvmf_entry_name(
	const struct nvmf_entry *, const char *const value[NVMF_KEYS], char text[URI_MAX]);

bool nvmf_tls_is_key(const char *text); /* or meant as one, and not a number */
/* Read t->tls from options, URI and environment. A key, or the name of a keyring, is removed
 * from t->want, as the kernel takes only their numbers. Errors: usage. */
int nvmf_tls_read(
	struct nvmf_target *, const struct nvmf_options *, const char *file, struct diag *);
/* Something of it is the kernel's keyring's. */
bool nvmf_tls_wanted(const struct nvmf_target *);
/* Put it into the kernel's keyring: numbers of both. May block. Needs: the driver. */
int nvmf_tls_insert(
	int root, const struct nvmf_target *, int32_t *ring, int32_t *key, struct diag *);
/* Into t->want, if not 0. */
void nvmf_tls_numbers(struct nvmf_target *, int32_t ring, int32_t key);
/* What it is called there; "" = no key was given. */
void nvmf_tls_identity(const struct nvmf_target *, char *text, size_t len);
