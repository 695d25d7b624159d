/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The list of hosts that authenticate, or use TLS. */
#pragma once
#include "chap.h"
#include "nvme_hosts.h"

struct nvme_host {
	char nqn[NVMF_NQN_MAX + 1];
	/* [0] of the host, [1] of the controller; len 0: it does not authenticate itself */
	struct nvme_key secret[2];
	struct nvme_key tls; /* len 0: it connects without TLS */
	bool concat;         /* it has to ask for secure channel concatenation */
};

struct nvme_hosts {
	struct nvme_host *host;
	unsigned count;
	unsigned chap, tls;         /* hosts that authenticate with DH-HMAC-CHAP, that use TLS */
	struct tls_creds *creds;    /* of both; NULL: without either */
	struct nvme_tls_keys *keys; /* in creds */
};

/* NULL: not in the list. Takes as long for any name. */
const struct nvme_host *nvme_hosts_find(const struct nvme_hosts *, const char *nqn);
