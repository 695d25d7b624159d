/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Hosts of an NVMe-oF target that have to authenticate with DH-HMAC-CHAP, or to use TLS, from a
 * file. */
#pragma once
#include "diag.h"
#include <stdbool.h>
#include <stdint.h>

struct addr;
struct nvme_hosts;
struct target;

/* Read a file (secret_list.h) with lines "HOSTNQN [dhchap=SECRET [dhchap-ctrl=SECRET]] [tls=KEY]
 * [concat=required]"; each host needs a secret or a key. DIAG_USAGE: a line is invalid. */
int nvme_hosts_read(struct nvme_hosts **, const char *path, struct diag *);
unsigned nvme_hosts_count(const struct nvme_hosts *);
/* Whether each host that authenticates has to use secure channel concatenation, but those with a
 * TLS key. False if there is none. */
bool nvme_hosts_concatenate(const struct nvme_hosts *);
void nvme_hosts_free(struct nvme_hosts *); /* wipes the secrets; NULL is allowed */
/* Replace target_options.chap.hosts, which may be freed then. A connected host needs its new secret
 * or key when it connects or authenticates again; one that was removed or added, or that now needs
 * what it did not need, or no longer does, is disconnected. On the
 * target's loop. */
void nvme_serve_hosts(struct target *, const struct nvme_hosts *);
/* A connected host. */
struct nvme_served_host {
	const char *hostnqn, *subnqn;
	const struct addr *address;
	/* of TLS: the identity of its key, and the name of the cipher suite; NULL: without TLS */
	const char *identity, *cipher;
	bool authenticated; /* by DH-HMAC-CHAP */
	bool generated;     /* its key is a generated PSK */
};
typedef void nvme_each_host(const struct nvme_served_host *, void *arg);
/* Call it for each connected host. On the target's loop. */
void nvme_serve_each_host(const struct target *, nvme_each_host *, void *arg);
/* Parse names of a hash, such as "sha384", and a DH group, such as "ffdhe4096" or "null". */
int nvme_chap_hash_parse(uint8_t *, const char *name, struct diag *);
int nvme_chap_group_parse(uint8_t *, const char *name, struct diag *);
