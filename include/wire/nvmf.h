/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVMe over Fabrics on the wire: Fabrics commands and the discovery log (NVM Express Base
 * Specification 2.1), RDMA private data (RDMA Transport Specification 1.1), PDUs (TCP Transport
 * Specification 1.1). */
#pragma once
#include "wire/nvme.h"

#define NVMF_NQN_LEN        256 /* the field; at most 223 bytes are used */
#define NVMF_NQN_MAX        223
#define NVMF_DISCOVERY_NQN  "nqn.2014-08.org.nvmexpress.discovery"
#define NVMF_PORT           4420
#define NVMF_DISCOVERY_PORT 8009

enum nvmf_fctype {
	NVMF_PROPERTY_SET = 0x00,
	NVMF_CONNECT = 0x01,
	NVMF_PROPERTY_GET = 0x04,
	NVMF_AUTH_SEND = 0x05,
	NVMF_AUTH_RECEIVE = 0x06,
	NVMF_DISCONNECT = 0x08
};

struct nvmf_connect_sqe { /* Base 2.1, 6.3 */
	uint8_t opcode, flags;
	le16 cid;
	uint8_t fctype, rsvd5[19];
	struct nvme_sgl sgl;
	le16 recfmt, qid, sqsize; /* sqsize: 0's based */
	uint8_t cattr, rsvd47;
	le32 kato; /* ms */
	uint8_t rsvd52[12];
};
WIRE_SIZE(struct nvmf_connect_sqe, 64);

struct nvmf_connect_data {
	uint8_t hostid[16];
	le16 cntlid;
	uint8_t rsvd18[238];
	char subnqn[NVMF_NQN_LEN], hostnqn[NVMF_NQN_LEN];
	uint8_t rsvd768[256];
};
WIRE_SIZE(struct nvmf_connect_data, 1024);
#define NVMF_CNTLID_ANY    0xffff
#define NVMF_CNTLID_MAX    0xffef /* the rest is reserved */
#define NVMF_CATTR_NO_SQFC 4      /* cattr bit 2: without submission queue flow control */

/* DW0 of the Connect completion. Success: cntlid, then authentication bits. Invalid parameters:
 * ipo, then iattr. */
#define NVMF_AUTHREQ_ATR  (1u << 17) /* NVMe in-band authentication */
#define NVMF_AUTHREQ_ASCR (1u << 18) /* secure channel */
#define NVMF_IATTR_DATA   1          /* ipo counts from the start of the data, not of the command */

struct nvmf_property_sqe { /* Base 2.1, 6.5, 6.6 */
	uint8_t opcode, flags;
	le16 cid;
	uint8_t fctype, rsvd5[35];
	uint8_t attrib, rsvd41[3]; /* 0: 4 bytes, 1: 8 bytes */
	le32 offset;
	le64 value; /* Set only */
	uint8_t rsvd56[8];
};
WIRE_SIZE(struct nvmf_property_sqe, 64);

struct nvmf_auth_sqe { /* Base 2.1, 6.1, 6.2: Authentication Send, Receive */
	uint8_t opcode, flags;
	le16 cid;
	uint8_t fctype, rsvd5[19];
	struct nvme_sgl sgl;
	uint8_t rsvd40, spsp0, spsp1, secp;
	le32 len; /* TL or AL */
	uint8_t rsvd48[16];
};
WIRE_SIZE(struct nvmf_auth_sqe, 64);
#define NVMF_AUTH_SPSP 0x01 /* both */
#define NVMF_AUTH_SECP 0xe9 /* NVMe */

/* Messages of DH-HMAC-CHAP, Base 2.1, 8.3.5.5. Type and ID, as they begin. */
enum nvme_auth_kind {
	NVME_AUTH_NEGOTIATE = 0x0000,
	NVME_AUTH_CHALLENGE = 0x0101,
	NVME_AUTH_REPLY = 0x0201,
	NVME_AUTH_SUCCESS1 = 0x0301,
	NVME_AUTH_SUCCESS2 = 0x0401,
	NVME_AUTH_FAILURE2 = 0xf000, /* of the host */
	NVME_AUTH_FAILURE1 = 0xf100, /* of the controller */
	NVME_AUTH_UNKNOWN = 0xffff   /* none of these */
};
struct nvme_auth_head {
	le16 kind;
	uint8_t rsvd2[2];
	le16 tid;
};
WIRE_SIZE(struct nvme_auth_head, 6);
struct nvme_auth_negotiate {
	struct nvme_auth_head head;
	uint8_t sc_c, napd; /* descriptors that follow */
};
WIRE_SIZE(struct nvme_auth_negotiate, 8);
enum nvme_auth_sc_c { /* secure channel concatenation */
	NVME_AUTH_NO_CONCATENATION,
	NVME_AUTH_NEW_TLS_PSK = 2,
	NVME_AUTH_REPLACE_TLS_PSK
};
#define NVME_AUTH_IDS 30
struct nvme_auth_proto {
	uint8_t authid, rsvd1, halen, dhlen, hash[NVME_AUTH_IDS], group[NVME_AUTH_IDS];
};
WIRE_SIZE(struct nvme_auth_proto, 64);
#define NVME_AUTH_DHCHAP 0x01
enum nvme_chap_hash { NVME_CHAP_SHA256 = 1, NVME_CHAP_SHA384, NVME_CHAP_SHA512 };
enum nvme_chap_group {
	NVME_CHAP_NULL,
	NVME_CHAP_2048,
	NVME_CHAP_3072,
	NVME_CHAP_4096,
	NVME_CHAP_6144,
	NVME_CHAP_8192
};
struct nvme_auth_challenge { /* then challenge, DH value */
	struct nvme_auth_head head;
	uint8_t hl, rsvd7, hash, group;
	le16 dhvlen;
	le32 seqnum;
};
WIRE_SIZE(struct nvme_auth_challenge, 16);
struct nvme_auth_reply { /* then response, challenge, DH value */
	struct nvme_auth_head head;
	uint8_t hl, rsvd7, cvalid, rsvd9;
	le16 dhvlen;
	le32 seqnum;
};
WIRE_SIZE(struct nvme_auth_reply, 16);
struct nvme_auth_success1 { /* then the response, if valid */
	struct nvme_auth_head head;
	uint8_t hl, rsvd7, rvalid, rsvd9[7];
};
WIRE_SIZE(struct nvme_auth_success1, 16);
struct nvme_auth_success2 {
	struct nvme_auth_head head;
	uint8_t rsvd6[10];
};
WIRE_SIZE(struct nvme_auth_success2, 16);
struct nvme_auth_failure {
	struct nvme_auth_head head;
	uint8_t rescode, explanation;
};
WIRE_SIZE(struct nvme_auth_failure, 8);
#define NVME_AUTH_RESCODE_FAILED 1
enum nvme_auth_reason { /* explanation */
	NVME_AUTH_FAILED = 1,
	NVME_AUTH_NO_PROTOCOL,
	NVME_AUTH_CONCATENATION,
	NVME_AUTH_NO_HASH,
	NVME_AUTH_NO_GROUP,
	NVME_AUTH_PAYLOAD,
	NVME_AUTH_MESSAGE,
};
#define NVME_AUTH_BUFFER  4096 /* what hosts have for a message */
#define NVME_AUTH_MSG_MAX (16 + 2 * 64 + 1024)

struct nvmf_log_head { /* Base 2.1, 5.1.12.3.1 */
	le64 genctr, numrec;
	le16 recfmt;
	uint8_t rsvd18[1006];
};
WIRE_SIZE(struct nvmf_log_head, 1024);

struct nvmf_log_entry {
	uint8_t trtype, adrfam, subtype, treq;
	le16 portid, cntlid, asqsz, eflags;
	uint8_t rsvd12[20];
	char trsvcid[32];
	uint8_t rsvd64[192];
	char subnqn[NVMF_NQN_LEN], traddr[256];
	union {
		struct {
			uint8_t qptype, prtype, cms, rsvd3[5];
			le16 pkey;
			uint8_t rsvd10[246];
		} rdma;
		struct {
			uint8_t sectype, rsvd1[255];
		} tcp;
	} tsas;
};
WIRE_SIZE(struct nvmf_log_entry, 1024);
enum nvmf_trtype {
	NVMF_TRTYPE_RDMA = 1,
	NVMF_TRTYPE_FC = 2,
	NVMF_TRTYPE_TCP = 3,
	NVMF_TRTYPE_LOOP = 254
};
enum nvmf_adrfam {
	NVMF_ADRFAM_IP4 = 1,
	NVMF_ADRFAM_IP6 = 2,
	NVMF_ADRFAM_IB = 3,
	NVMF_ADRFAM_FC = 4
};
enum nvmf_treq { NVMF_TREQ_REQUIRED = 1, NVMF_TREQ_NOT_REQUIRED = 2, NVMF_TREQ_NO_SQFC = 4 };
enum nvmf_sectype { NVMF_SECTYPE_NONE, NVMF_SECTYPE_TLS12, NVMF_SECTYPE_TLS13 };
enum nvmf_rdma_word {
	NVMF_QPTYPE_CONNECTED = 1,
	NVMF_PRTYPE_ANY = 1,
	NVMF_PRTYPE_IWARP = 5,
	NVMF_CMS_RDMA_CM = 1
};
enum nvmf_subtype { NVMF_SUBTYPE_REFERRAL = 1, NVMF_SUBTYPE_NVME = 2, NVMF_SUBTYPE_CURRENT = 3 };

/* RDMA 1.1, 3.3: private data of the connection manager's messages. */
struct nvmf_rdma_req {
	le16 recfmt, qid, hrqsize, hsqsize; /* hrqsize: host receives; hsqsize: 0's based */
	le16 cntlid;
	uint8_t rsvd10[22];
};
WIRE_SIZE(struct nvmf_rdma_req, 32);
struct nvmf_rdma_rep {
	le16 recfmt, crqsize;
	uint8_t rsvd4[28];
};
WIRE_SIZE(struct nvmf_rdma_rep, 32);
struct nvmf_rdma_rej {
	le16 recfmt, status;
};
WIRE_SIZE(struct nvmf_rdma_rej, 4);
enum nvmf_rdma_status { /* figure 8 */
	NVMF_RDMA_INVALID_LEN = 1,
	NVMF_RDMA_INVALID_RECFMT,
	NVMF_RDMA_INVALID_QID,
	NVMF_RDMA_INVALID_HSQSIZE,
	NVMF_RDMA_INVALID_HRQSIZE,
	NVMF_RDMA_NO_RESOURCES,
	NVMF_RDMA_INVALID_IRD,
	NVMF_RDMA_INVALID_ORD,
	NVMF_RDMA_INVALID_CNTLID,
};

/* TCP 1.1, 3.6: PDUs. */
enum nvme_tcp_type {
	NVME_TCP_ICREQ = 0x00,
	NVME_TCP_ICRESP = 0x01,
	NVME_TCP_H2C_TERM = 0x02,
	NVME_TCP_C2H_TERM = 0x03,
	NVME_TCP_CMD = 0x04,
	NVME_TCP_RSP = 0x05,
	NVME_TCP_H2C_DATA = 0x06,
	NVME_TCP_C2H_DATA = 0x07,
	NVME_TCP_R2T = 0x09,
};
enum nvme_tcp_flag {
	NVME_TCP_HDGST = 1,
	NVME_TCP_DDGST = 2,
	NVME_TCP_LAST = 4,
	NVME_TCP_SUCCESS = 8
};
#define NVME_TCP_DIGEST 4
/* 3.3.2.1: in-capsule data every controller takes on the admin queue and for Fabrics commands */
#define NVME_TCP_ADMIN_INCAP 8192
#define NVME_TCP_MIN_H2C     4096 /* 3.6.2.3: the least MAXH2CDATA */
#define NVME_TCP_DGST_HDR    1
#define NVME_TCP_DGST_DATA   2

struct nvme_tcp_head {
	uint8_t type, flags, hlen, pdo;
	le32 plen;
};
WIRE_SIZE(struct nvme_tcp_head, 8);
struct nvme_tcp_ic { /* ICReq and ICResp */
	struct nvme_tcp_head head;
	le16 pfv;
	uint8_t pda, dgst; /* HPDA or CPDA: data alignment in dwords, 0's based */
	le32 max;          /* ICReq: MAXR2T, 0's based; ICResp: MAXH2CDATA, bytes */
	uint8_t rsvd16[112];
};
WIRE_SIZE(struct nvme_tcp_ic, 128);
struct nvme_tcp_term {
	struct nvme_tcp_head head;
	le16 fes;
	le32 fei;
	uint8_t rsvd14[10];
};
WIRE_SIZE(struct nvme_tcp_term, 24);
#define NVME_TCP_TERM_MAX 152 /* header and at most 128 bytes of the offending one */
enum nvme_tcp_fes {
	NVME_TCP_FES_HEADER = 1,
	NVME_TCP_FES_SEQUENCE,
	NVME_TCP_FES_HDGST,
	NVME_TCP_FES_RANGE,
	/* R2T limit exceeded (from the host), data transfer limit exceeded (from the controller) */
	NVME_TCP_FES_LIMIT,
	NVME_TCP_FES_PARAM,
};
struct nvme_tcp_cmd {
	struct nvme_tcp_head head;
	struct nvme_sqe sqe;
};
WIRE_SIZE(struct nvme_tcp_cmd, 72);
struct nvme_tcp_rsp {
	struct nvme_tcp_head head;
	struct nvme_cqe cqe;
};
WIRE_SIZE(struct nvme_tcp_rsp, 24);
struct nvme_tcp_data { /* H2CData, C2HData (no ttag), R2T */
	struct nvme_tcp_head head;
	le16 cccid, ttag;
	le32 off, len;
	uint8_t rsvd20[4];
};
WIRE_SIZE(struct nvme_tcp_data, 24);
/* a command's header and digest (76 bytes) padded to a multiple of 72; ICResp's has 128 */
#define NVME_TCP_HEAD_MAX 144
