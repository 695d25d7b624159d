/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe-oF discovery for applets: NVM Express Base Specification 2.1, section 5.1.12.3.1 (Discovery
 * log page). */
#pragma once
#include "bdev.h"
#include "diag.h"
#include "loop.h"
#include "uri.h"

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
	uint8_t hops; /* 0: said by the controller asked; n: found behind n referrals */
};

struct nvmf_log {
	uint64_t genctr;
	unsigned count;
	struct nvmf_record *record; /* malloc'ed: nvmf_log_free() */
	struct nvmf_trouble {       /* referrals that could not be asked; the first few */
		char uri[300];
		struct diag why;
	} * trouble;
	unsigned troubles;
};

/* One controller, and those that it refers to. Zeroed, then set by the owner. */
struct nvmf_discovery {
	bool referrals; /* follow them, each controller once */
	unsigned max_hops;
	/* Once, from the loop: why.err 0 and log, or why. A failure of a referral is no failure. */
	void (*done)(struct nvmf_discovery *);
	struct nvmf_log log;
	struct diag why;
	struct nvmf_asking *asking; /* private; NULL: not under way */
};
/* URI: nvme+rdma://host[:port] or nvme+tcp://host[:port]; TCP without a port tries 8009, then 4420.
 * env->timeout_ms is the limit of all together; 0: a minute more than the URI's for one controller.
 * Returns 0, and `done` follows, or a usage error. */
int nvmf_discovery_start(struct nvmf_discovery *, struct loop *, struct uri *,
	const struct bdev_env *, struct diag *);
void nvmf_discovery_cancel(struct nvmf_discovery *); /* no `done`; allowed when not under way */
void nvmf_log_free(struct nvmf_log *);

/* The URI of the subsystem of a record; false: not an NVM subsystem, or no URI has its address. */
bool nvmf_record_uri(const struct nvmf_record *, char uri[URI_MAX]);

/* Words as nvme-cli prints them. */
const char *nvmf_trtype_word(uint8_t), *nvmf_adrfam_word(uint8_t), *nvmf_subtype_word(uint8_t),
	*nvmf_treq_word(uint8_t);
const char *nvmf_eflags_word(uint16_t), *nvmf_prtype_word(uint8_t), *nvmf_qptype_word(uint8_t),
	*nvmf_cms_word(uint8_t), *nvmf_sectype_word(uint8_t);
