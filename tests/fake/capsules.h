/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For the tests of the NVMe target: a host that writes every capsule itself. One in a test process.
 */
#pragma once
#include "ep_pair.h"
#include "serving.h"
#include "wire/nvmf.h"

#define SIZE   (4u << 20) /* of the disk */
#define NQN    SERVING_NQN
#define HOST   "nqn.host"
#define MEMORY (2u << 20) /* the host's, at AT under KEY */
#define AT     0x7f0000001000ull
#define KEY    0x1234
#define DEPTH  16

struct capsules_answer {
	struct nvme_cqe cqe;
	struct ep *ep;
};
extern struct ep_peer peer;
extern uint8_t *memory;
extern uint8_t capsules_host[16]; /* ID of the host that connects */
extern const char *capsules_name; /* its NQN */
extern struct ep *admin, *io;     /* as the target sees them */
extern struct capsules_answer answers[64];
extern unsigned replies; /* since the last command */
extern unsigned goings;  /* of connections, up to 8 */

void capsules_begin(void);
void capsules_begin_live(void); /* with an admin queue, enabled, and I/O queue 1 */
void capsules_end(void);
void capsules_settle(void); /* so many turns that what can happen by itself has happened */
struct ep *capsules_call(uint16_t qid, uint16_t depth); /* a connection */
bool capsules_is_gone(const struct ep *);
/* Sends a command and gives its status; UINT32_MAX: no answer. */
uint32_t capsules_command(struct ep *, const void *capsule, uint32_t len);
uint32_t capsules_result(void); /* of the last answer */
uint32_t capsules_connect_to(
	struct ep *, uint16_t qid, uint16_t cntlid, const char *nqn, uint16_t sqsize);
uint32_t capsules_property(struct ep *, bool set, uint32_t offset, uint64_t value);
struct nvme_sgl capsules_keyed(uint64_t off, uint32_t len);
/* into the beginning of the memory */
struct nvme_sqe capsules_rw(uint8_t opcode, uint64_t lba, uint32_t blocks);
uint32_t capsules_run(struct nvme_sqe); /* on the I/O queue */
