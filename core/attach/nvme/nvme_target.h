/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the files of NVMe-oF share. */
#pragma once
#include "attach_nvme.h"
#include "attach_row.h"

#define NVMF_OPTION_NAME 40
/* Return "--queue-size". */
const char *nvmf_option_name(enum nvmf_key, char name[NVMF_OPTION_NAME]);
/* Return 0, or a usage error unless the scheme is nvme+rdma or nvme+tcp. */
int nvmf_uri_scheme(const struct uri *, struct diag *);
/* Return true if the value of this key comes from the loss policy. */
bool nvmf_target_key_from_policy(const struct nvmf_target *, enum nvmf_key);
/* Read the first word from a descriptor (number), or else from a file. option: for errors. */
int nvmf_read_key(const struct out_notes *, const char *option, const char *fd, const char *file,
	char key[NVMF_SECRET], struct diag *);

/* Add the keys of an entry, from this key on, to options that are unset. */
void nvmf_options_add(struct nvmf_options *, const struct nvmf_entry *, enum nvmf_key from);

/* Name an entry for messages, without the keys of a URI: one of them may be a secret. */
void nvmf_entry_name(
	const struct nvmf_entry *, const char *const value[NVMF_KEYS], char text[URI_MAX]);

bool nvmf_tls_is_key(const char *text); /* in the interchange format, valid or not */
/* Read t->tls from options, URI and environment. Remove a key or the name of a keyring from
 * t->params: the kernel takes serial numbers only. Errors: usage. */
int nvmf_tls_read(
	struct nvmf_target *, const struct nvmf_options *, const char *file, struct diag *);
/* Return true if nvmf_tls_insert() is needed. */
bool nvmf_tls_uses_keyring(const struct nvmf_target *);
/* Find the keyring and add the key to it, if there is one. May block. Needs the kernel's driver. */
int nvmf_tls_insert(int root, const struct nvmf_target *, struct nvmf_ring_key *, struct diag *);
/* Set its numbers in t->params, unless 0. */
void nvmf_tls_numbers(struct nvmf_target *, const struct nvmf_ring_key *);
/* Get the identity of the key in the keyring; "" = no key was specified. */
void nvmf_tls_identity(const struct nvmf_target *, char *text, size_t len);

/* Return 0, or a usage error that names the missing option. */
int nvmf_target_check_address(const char *transport, const char *traddr, struct diag *);
bool nvmf_target_discovery(const struct nvmf_target *); /* it has the well-known NQN */
bool nvmf_target_encrypts(const struct nvmf_target *);  /* TLS, or concat, which leads to it */
/* Check that an existing connection has the security that is asked for. -EALREADY: it has not. */
int nvmf_target_check_existing(
	const struct nvmf_target *, int root, const struct nvmf_ctrl *, struct diag *);
/* Hint at the command that attaches the target in userspace with the same parameters. No hint if
 * only the kernel can authenticate or encrypt. */
void nvmf_hint_userspace(const struct nvmf_target *, int root, struct diag *);
/* Set text, shown and identity for the discovery controller of this NQN at the address of a target.
 * port: only at its port; otherwise at the default ports. */
int nvmf_query_target(
	struct nvmf_query *, const struct nvmf_target *, const char *nqn, bool port, struct diag *);
/* Set a target from a record that a discovery controller has reported, and the options and URI keys
 * of `from`, by which the controller was found. All of them must outlive it. uri: of the record. */
int nvmf_record_target(struct nvmf_target *, const struct nvmf_target *from,
	const struct nvmf_options *, int root, const struct nvmf_record *, char uri[URI_MAX],
	struct diag *);

/* Print which parts of the configuration were skipped. */
void nvmf_show_notes(const struct out_notes *, const struct nvmf_entries *);
