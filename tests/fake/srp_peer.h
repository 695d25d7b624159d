/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An SRP target with one disk for tests, at the other end of an endpoint in memory. It holds the
 * initiator to the protocol by assertion. */
#pragma once
#include "ep_pair.h"
#include "wire/srp.h"

#define SRP_DISK   (8u << 20)
#define SRP_CHANS  8
#define SRP_SENSED 18

struct srp_peer {
	struct ep_peer peer; /* first */
	uint8_t *disk;
	struct ep *chan[SRP_CHANS]; /* in the order in which they came */
	unsigned chans;
	/* of logins */
	uint32_t reject;   /* reason; 0: accepted */
	bool long_rejects; /* those that ask for more than 320 bytes, as too long */
	bool no_imm;
	bool by_service;                   /* they have the form for service IDs */
	uint8_t initiator[16], target[16]; /* seen, by_service */
	int32_t limit, delta;              /* of the login; what each response gives back */
	uint32_t it_iu;
	/* of the disk */
	uint32_t block;
	uint64_t blocks;
	bool old;       /* no READ CAPACITY(16), VPD or mode pages */
	bool no_cache;  /* according to its caching mode page */
	bool protected; /* against writing */
	uint8_t type;   /* first byte of INQUIRY */
	uint8_t luns;
	/* The next so many commands end with this status and sense key, ASC, ASCQ. */
	unsigned failing;
	uint8_t status, sense[3];
	unsigned only; /* of those with this opcode + 1; 0: of all */
	/* counted */
	unsigned commands, inside, keyed, requests, flushes, fuas, unmaps, sames;
	/* Sees each command on channel n, first; false: it is answered there, or never. */
	bool (*script)(struct srp_peer *, unsigned n, const struct srp_cmd *, uint32_t len);
};
void srp_peer_init(struct srp_peer *, struct loop *);
void srp_peer_fini(struct srp_peer *);
/* The response that is due, in `out` (96 bytes); its length. */
uint32_t srp_peer_do(
	struct srp_peer *, struct ep *, const struct srp_cmd *, uint32_t len, uint8_t out[96]);
