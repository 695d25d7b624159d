/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An NVMe host that sends what a test or a fuzzer specifies, over TCP or software iWARP (without
 * CRC). Nothing here waits: bytes are queued, raw_poll() moves them, and the caller turns the loop.
 */
#pragma once
#include "../../core/proto/nvme/codec.h"
#include "uri.h"

#define RAW_OUT       (1u << 18)
#define RAW_IN        (1u << 18)
#define RAW_TRANSFERS 128
#define RAW_KEY       5 /* of the memory in commands over iWARP */

struct raw_transfer { /* an R2T, or an RDMA READ of the host's memory, not answered in full */
	uint16_t cccid, ttag; /* TCP */
	uint32_t stag;        /* iWARP: where it goes */
	uint64_t off;         /* TCP: in the command's data; iWARP: in the sink */
	uint64_t at;          /* in the command's data */
	uint32_t len;
};

struct raw_host {
	int fd;
	bool iwarp;
	bool up;   /* ICResp or the MPA reply has come */
	bool over; /* the target has ended the connection */
	bool deaf; /* raw_poll() does not receive */
	uint32_t msn;
	struct raw_transfer transfer[RAW_TRANSFERS];
	unsigned transfers;
	unsigned replies;      /* counted */
	struct nvme_cqe reply; /* the last one */
	uint8_t data[4096];    /* the beginning of what was read last */
	uint8_t out[RAW_OUT], in[RAW_IN];
	size_t out_len, in_len;
};

struct raw_host *raw_dial(const struct addr *, bool iwarp);
void raw_close(struct raw_host *); /* frees it; NULL is allowed */
void raw_reset(struct raw_host *); /* the same, but the target sees a reset */
bool raw_poll(struct raw_host *);  /* true: something has moved */

void raw_bytes(struct raw_host *, const void *, size_t);         /* what does not fit is dropped */
void raw_hello(struct raw_host *, uint16_t qid, uint16_t depth); /* ICReq, or the MPA request */
/* A capsule with `len` bytes of data inside. */
void raw_command(struct raw_host *, const struct nvme_sqe *, const void *data, uint32_t len);
/* Send `len` bytes for a pending transfer; 0 or too many: all of it. The rest stays pending.
 * Software iWARP sends at most 32 KiB at once. The mark of the last data is right unless `lie`. */
void raw_give(struct raw_host *, unsigned transfer, const void *data, uint32_t len, bool lie);
/* An FPDU, made of a DDP header without its length and the payload. */
void raw_fpdu(struct raw_host *, const void *ddp, uint32_t len);

/* Commands. */
struct nvme_sgl raw_sgl(const struct raw_host *, uint32_t len); /* data outside the capsule */
struct nvme_sqe raw_rw(
	const struct raw_host *, uint8_t opcode, uint16_t cid, uint64_t lba, uint32_t blocks);
struct nvme_sqe raw_property(bool set, uint32_t offset, uint64_t value);
void raw_connect(struct raw_host *, const struct nvmf_connect *);
