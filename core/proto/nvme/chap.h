/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* DH-HMAC-CHAP (Base 2.1, 8.3.5.5): responses, Diffie-Hellman groups, and the messages of
 * both sides. No function keeps state. All secrets are wiped by who owns them. */
#pragma once
#include "nvme_key.h"
#include "wire/nvmf.h"
#include <stdbool.h>
#include <stddef.h>

#define NVME_CHAP_HASH_MAX 64   /* bytes of the longest digest */
#define NVME_CHAP_DH_MAX   1024 /* bytes of a value of the largest group */
#define NVME_CHAP_PRIVATE  64   /* bytes of a private exponent */

/* Return the length of a digest; 0: unknown hash. */
unsigned nvme_chap_hash_len(uint8_t hash);
/* Return the length of the values of a group, 0 for the null group; -1: unknown group. */
int nvme_chap_group_len(uint8_t group);
/* Names as the kernel has them: "sha256", "null", "ffdhe2048"; find: -1: unknown. */
const char *nvme_chap_hash_name(uint8_t hash), *nvme_chap_group_name(uint8_t group);
int nvme_chap_hash_find(const char *name), nvme_chap_group_find(const char *name);

/* What a response depends on, besides the secret. */
struct nvme_chap_round {
	bool controller; /* the controller authenticates itself, not the host */
	uint8_t hash;
	uint8_t sc_c; /* of Negotiate; enum nvme_auth_sc_c */
	uint16_t tid;
	uint32_t seq;
	const uint8_t *challenge;   /* as long as the digest */
	const uint8_t *session_key; /* likewise; NULL: null group */
	const char *hostnqn, *subnqn;
};
/* Write the response, as long as the digest. -ENOMEM */
int nvme_chap_respond(uint8_t response[NVME_CHAP_HASH_MAX], const struct nvme_key *,
	const struct nvme_chap_round *);
/* Compare in constant time. */
bool nvme_chap_equal(const uint8_t *, const uint8_t *, size_t len);

/* Write our public value for a private exponent of random bytes. -ENOMEM. Takes up to tens of
 * milliseconds: not on a loop. */
int nvme_chap_public(
	uint8_t value[NVME_CHAP_DH_MAX], uint8_t group, const uint8_t exponent[NVME_CHAP_PRIVATE]);
/* Write the digest of the shared secret. -ERANGE: the peer's value, which is as long as the
 * group's, reveals the secret. As slow as the other. */
int nvme_chap_session_key(uint8_t key[NVME_CHAP_HASH_MAX], uint8_t hash, uint8_t group,
	const uint8_t exponent[NVME_CHAP_PRIVATE], const uint8_t *peer);

/* Whether the hash or the group may be used with secure channel concatenation. */
bool nvme_chap_hash_concatenates(uint8_t hash), nvme_chap_group_concatenates(uint8_t group);
/* Write the generated PSK (8.3.5.5.9), as long as the digest: of the session key, the controller's
 * challenge and the host's. -ENOMEM */
int nvme_chap_generate_psk(uint8_t psk[NVME_CHAP_HASH_MAX], uint8_t hash,
	const uint8_t *session_key, const uint8_t *c1, const uint8_t *c2);

/* A message of either side; kind decides which other members are used. */
struct nvme_auth_msg {
	uint16_t kind; /* enum nvme_auth_kind */
	uint16_t tid;
	/* Negotiate: what the host supports, in its order, known and unknown */
	uint8_t sc_c; /* enum nvme_auth_sc_c, or unknown */
	uint8_t hashes, groups, hash_ids[NVME_AUTH_IDS], group_ids[NVME_AUTH_IDS];
	/* Challenge */
	uint8_t hash, group;
	/* Challenge, Reply */
	uint32_t seq;
	uint16_t dh_len;
	/* Challenge, Reply, Success1: of challenge and response */
	uint8_t hash_len;
	/* Reply: challenge is valid; Success1: response is valid */
	bool valid;
	/* in the message */
	const uint8_t *challenge, *response, *dh;
	/* Failure1, Failure2 */
	uint8_t reason; /* enum nvme_auth_reason */
};
/* -EPROTO; msg->kind is set, NVME_AUTH_UNKNOWN if it is. Bytes behind the message are ignored. */
int nvme_auth_get(struct nvme_auth_msg *, const void *, size_t, struct diag *);
/* Return the length of the message. */
size_t nvme_auth_put(uint8_t out[NVME_AUTH_MSG_MAX], const struct nvme_auth_msg *);
const char *nvme_auth_reason_text(uint8_t reason);
