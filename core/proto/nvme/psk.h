/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TLS of NVMe/TCP with pre-shared keys (TCP Transport 1.1, 3.6). */
#pragma once
#include "nvme_key.h"
#include "tls.h"

struct nvme_conf;
struct nvme_hosts;

#define NVME_TLS_OFFERS 5

/* What a host offers to a controller, one connection after another until one is accepted. */
struct nvme_tls {
	struct tls_creds *creds[NVME_TLS_OFFERS]; /* NULL: without TLS */
	unsigned offers;
	unsigned last; /* atomic: the offer that was accepted last */
};
/* Derive the keys for the host and the subsystem of these settings, which have a configured PSK. */
int nvme_tls_new(struct nvme_tls **, const struct nvme_conf *, struct diag *);
void nvme_tls_free(struct nvme_tls *); /* NULL is allowed */

/* For a target: the keys of all hosts that have one. *creds is NULL if none has. */
int nvme_tls_of_hosts(struct tls_creds **, const struct nvme_hosts *, struct diag *);
