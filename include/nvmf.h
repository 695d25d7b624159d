/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe-oF discovery for applets: NVM Express Base Specification 2.1, section 5.1.12.3.1 (Discovery
 * log page). */
#pragma once
#include "bdev.h"

struct nvmf_record { /* one discovery log page entry; text fields trimmed, terminated, printable */
	uint8_t trtype, adrfam, subtype, treq;
	uint16_t portid, cntlid, asqsz, eflags;
	char trsvcid[33], subnqn[224], traddr[257];
	union {
		struct {
			uint8_t qptype, prtype, cms;
			uint16_t pkey;
		} rdma;
		struct {
			uint8_t sectype;
		} tcp;
	} tsas;
	uint8_t hops; /* number of referrals followed to reach its controller */
};

struct nvmf_log {
	uint64_t genctr; /* of the first controller */
	unsigned count;
	struct nvmf_record *record;
	struct nvmf_failure { /* referrals that could not be queried; not all if there are many */
		char uri[URI_MAX];
		struct diag why;
	} * failure;
	unsigned failures;
};

#define NVMF_HOPS 8 /* a common limit for max_hops */

/* Discovery of one controller and of its referrals. The owner zeroes it and sets the first part. */
struct nvmf_discovery {
	bool referrals;    /* follow referrals, each controller once */
	unsigned max_hops; /* 0: none */
	/* Called once, from the loop. why.err 0: `log` is valid, and the owner calls
	 * nvmf_log_free(). A failed referral does not fail the discovery. */
	void (*done)(struct nvmf_discovery *);
	struct nvmf_log log;
	struct diag why;
	struct nvmf_discovery_state *state; /* private; NULL: not running */
};
/* Start a discovery. The URI is nvme+rdma://host[:port] or nvme+tcp://host[:port], and may have the
 * NQN of a discovery controller as its path; TCP without a port tries 8009, then 4420.
 * env->timeout_ms limits all controllers together; 0: 60 s more than the URI's timeout for one
 * controller; BDEV_NEVER: no limit. Returns 0, and done() follows, or a usage error or -ENOMEM. */
int nvmf_discovery_start(struct nvmf_discovery *, struct loop *, struct uri *,
	const struct bdev_env *, struct diag *);
/* Stop without done(). Allowed if not running. The owner still frees the log. */
void nvmf_discovery_cancel(struct nvmf_discovery *);
void nvmf_log_free(struct nvmf_log *);

/* Write the URI of a record's subsystem. False: not an NVM subsystem, or no URI can name it. */
bool nvmf_record_uri(const struct nvmf_record *, char uri[URI_MAX]);
/* Append the keys of the discovery controller's URI that its subsystems need as well, if the record
 * has the same transport: how to reach them, and the files of secrets. */
void nvmf_record_add_keys(const struct nvmf_record *, char uri[URI_MAX], struct uri *controller);

/* Return the names that nvme-cli prints; "unrecognized" for other values. */
const char *nvmf_trtype_str(uint8_t), *nvmf_adrfam_str(uint8_t), *nvmf_subtype_str(uint8_t),
	*nvmf_treq_str(uint8_t);
const char *nvmf_eflags_str(uint16_t), *nvmf_prtype_str(uint8_t), *nvmf_qptype_str(uint8_t),
	*nvmf_cms_str(uint8_t), *nvmf_sectype_str(uint8_t);
