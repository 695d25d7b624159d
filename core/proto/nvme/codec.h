/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of NVMe-oF as host structs. Every _get checks all that can be checked without knowing
 * the session, and returns 0 or -EPROTO with the reason in diag. Every _put writes a whole
 * message. */
#pragma once
#include "diag.h"
#include "nvmf.h"
#include "wire/nvmf.h"
#include <stdbool.h>

/* Discovery log page. */
struct nvmf_log_info {
	uint64_t genctr, numrec;
};
#define NVMF_LOG_RECORDS 65536 /* larger numbers are rejected */
void nvmf_log_put(struct nvmf_log_head *, const struct nvmf_log_info *);
int nvmf_log_get(struct nvmf_log_info *, const void *, size_t, struct diag *);
void nvmf_record_put(struct nvmf_log_entry *, const struct nvmf_record *);
int nvmf_record_get(struct nvmf_record *, const void *, size_t, struct diag *);

/* Identify data. */
struct nvme_ctrl_info {
	char serial[21], model[41], firmware[9], subnqn[NVMF_NQN_MAX + 1];
	uint16_t cntlid, maxcmd, oncs, icdoff;
	uint32_t ver, oaes, sgls, kas_ms, nn, ctratt;
	uint16_t cqt_ms; /* time to quiesce all commands after a communication loss; 0: not reported
			  */
	uint8_t cntrltype, mdts, aerl, vwc, cmic;
	/* for Cross-Controller Reset: instance and random number of this controller, and how many
	 * it can execute at once; 0: none */
	uint8_t ciu, ccrl;
	uint64_t cirn;
	uint8_t anatt, anacap; /* with NVME_CMIC_ANA; anatt in seconds */
	uint32_t anagrpmax, nanagrpid, mnan;
	uint32_t capsule; /* ioccsz in bytes; 0: not reported (discovery controllers) */
	uint32_t reply;   /* iorcsz in bytes */
};
void nvme_ctrl_put(struct nvme_id_ctrl *, const struct nvme_ctrl_info *);
int nvme_ctrl_get(struct nvme_ctrl_info *, const void *, size_t, struct diag *);

struct nvme_ns_info {
	uint64_t blocks; /* 0: the namespace does not exist */
	uint8_t shift;   /* log2 of the block size: 9 … 16 */
	uint8_t dlfeat;
	uint8_t rescap; /* reservations */
	bool ro, shared;
	bool unused;       /* report no used blocks */
	uint32_t anagrpid; /* 0: not a member of an ANA group */
	uint32_t best;     /* preferred write granularity in blocks; 0: not reported */
	uint8_t nguid[16], eui64[8];
};
void nvme_ns_put(struct nvme_id_ns *, const struct nvme_ns_info *);
int nvme_ns_get(struct nvme_ns_info *, const void *, size_t, struct diag *);

/* Find the state (enum nvme_ana_state) of a group in the ANA log. */
int nvme_ana_get(uint8_t *state, const void *, size_t, uint32_t grpid, struct diag *);

struct nvme_ns_ids {
	uint8_t uuid[16], nguid[16], eui64[8], csi;
};
void nvme_ns_ids_put(uint8_t page[NVME_IDENTIFY_LEN], const struct nvme_ns_ids *);
int nvme_ns_ids_get(struct nvme_ns_ids *, const void *, size_t, struct diag *);

struct nvme_nvm_info {
	uint8_t wzsl, dmrl;
	uint32_t dmrsl;
	uint64_t dmsl;
};
void nvme_nvm_put(struct nvme_id_ctrl_nvm *, const struct nvme_nvm_info *);
int nvme_nvm_get(struct nvme_nvm_info *, const void *, size_t, struct diag *);

/* Fabrics Connect. */
struct nvmf_connect {
	uint16_t qid, depth; /* entries */
	uint32_t kato_ms;
	uint8_t hostid[16];
	uint16_t cntlid;
	bool no_sqfc; /* without submission queue flow control */
	char subnqn[NVMF_NQN_MAX + 1], hostnqn[NVMF_NQN_MAX + 1];
};
void nvmf_connect_put(
	struct nvmf_connect_sqe *, struct nvmf_connect_data *, const struct nvmf_connect *);
int nvmf_connect_get(struct nvmf_connect *, const struct nvmf_connect_sqe *, const void *, size_t,
	struct diag *);

struct nvmf_connect_reply {
	uint32_t status; /* 0: accepted */
	uint16_t cntlid;
	bool auth;     /* authentication is required */
	bool secure;   /* so is a secure channel */
	uint16_t ipo;  /* status invalid parameters: offset of the first invalid field … */
	bool ipo_data; /* … in the data, not the command */
};
/* Choose the refusal of a Connect that nvmf_connect_get() rejects; status 0: it is valid. */
struct nvmf_connect_reply nvmf_connect_refusal(
	const struct nvmf_connect_sqe *, const struct nvmf_connect_data *);
void nvmf_connect_reply_put(struct nvme_cqe *, const struct nvmf_connect_reply *);
int nvmf_connect_reply_get(struct nvmf_connect_reply *, const void *, size_t, struct diag *);

/* RDMA private data. */
struct nvmf_rdma_req_info {
	uint16_t qid, receives, depth, cntlid;
};
void nvmf_rdma_req_put(struct nvmf_rdma_req *, const struct nvmf_rdma_req_info *);
int nvmf_rdma_req_get(struct nvmf_rdma_req_info *, const void *, size_t, struct diag *);
void nvmf_rdma_rep_put(struct nvmf_rdma_rep *, uint16_t receives);
int nvmf_rdma_rep_get(uint16_t *receives, const void *, size_t, struct diag *);
void nvmf_rdma_rej_put(struct nvmf_rdma_rej *, uint16_t status);
int nvmf_rdma_rej_get(uint16_t *status, const void *, size_t, struct diag *);

/* TCP: one PDU header, without its digest. */
struct nvme_tcp_pdu {
	uint8_t type, flags;
	uint8_t hlen;  /* length of the header without digest */
	uint8_t pdo;   /* offset of the data; 0: none */
	uint32_t plen; /* whole length: header, digest, padding, data, digest */
	uint32_t data; /* length of the data */
	union {
		struct {
			uint16_t pfv;
			uint8_t pda, dgst;
			uint32_t max;
		} ic;
		struct {
			uint16_t fes;
			uint32_t fei;
		} term;
		struct {
			uint16_t cccid, ttag;
			uint32_t off, len;
		} xfer; /* H2CData, C2HData, R2T */
		struct nvme_sqe sqe;
		struct nvme_cqe cqe;
	};
};
/* Length of the header for this type; 0: unknown type. */
unsigned nvme_tcp_hlen(uint8_t type);
/* Set hlen, pdo, plen and the digest flags from type, data, the negotiated digests
 * (NVME_TCP_DGST_*) and alignment, then write the header. Returns pdo or, without data, the length
 * of the header and its digest. The rest of `out` is not written. */
unsigned nvme_tcp_put(
	uint8_t out[NVME_TCP_HEAD_MAX], struct nvme_tcp_pdu *, unsigned dgst, unsigned align);
/* Needs hlen bytes of a header. */
int nvme_tcp_get(struct nvme_tcp_pdu *, const void *, size_t, unsigned dgst, struct diag *);

/* status.c: texts for codes. Each status with the NVME_STATUS_OF_* of its command. */
const char *nvme_status_text(uint32_t status);
int nvme_status_errno(uint32_t status);
/* What may help the command: bits of enum bdev_retry, nothing with Do Not Retry. */
unsigned nvme_status_again(uint32_t status);
int nvme_status_diag(struct diag *, uint32_t status, const char *what);
int nvmf_connect_diag(
	struct diag *, const struct nvmf_connect_reply *, const struct nvmf_connect *connect);
const char *nvmf_rdma_status_text(uint16_t status);
const char *nvme_tcp_fes_text(uint16_t fes);
