/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS of NVMe/TCP with pre-shared keys (TCP Transport 1.1, 3.6). */
#pragma once
#include "nvme_key.h"
#include "tls.h"

struct nvme_conf;
struct nvme_hosts;

#define NVME_TLS_OFFERS      5
#define NVME_TLS_GENERATED   16   /* generated PSKs of a host for a subsystem */
#define NVME_TLS_GENERATED_S 3600 /* as long as in Linux */

/* What a host offers to a controller, one connection after another until one is accepted. */
struct nvme_tls {
	struct tls_creds *creds[NVME_TLS_OFFERS]; /* NULL: without TLS */
	unsigned offers;
	unsigned last; /* atomic: the offer that was accepted last */
};
/* Derive the keys for the host and the subsystem of these settings, which have a configured PSK. */
int nvme_tls_new(struct nvme_tls **, const struct nvme_conf *, struct diag *);
/* Derive the key from the generated PSK. */
int nvme_tls_new_generated(
	struct nvme_tls **, const struct nvme_conf *, const struct nvme_key *psk, struct diag *);
void nvme_tls_free(struct nvme_tls *); /* NULL is allowed */

/* For a target: the keys of all hosts that have one, and those generated for hosts that
 * authenticate. Sets hosts->creds and keys, which stay NULL without such a host. */
int nvme_tls_of_hosts(struct nvme_hosts *, struct diag *);
/* Find a generated PSK by its identity from now on, for NVME_TLS_GENERATED_S seconds, or until the
 * host has NVME_TLS_GENERATED newer ones for the subsystem. It replaces the one with the identity
 * `old` (NULL: none), which is not found any more. Wipes psk. -ENOMEM */
int nvme_tls_add_generated(const struct nvme_hosts *, struct nvme_psk *psk, const char *old);
