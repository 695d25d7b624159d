/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iWARP on the wire: MPA (RFC 5044, RFC 6581), DDP (RFC 5041) and RDMAP (RFC 5040). */
#pragma once
#include "wire.h"

/* MPA request and reply, RFC 5044 section 7.1.1: then the private data. */
#define MPA_KEY_LEN  16
#define MPA_KEY_REQ  "MPA ID Req Frame"
#define MPA_KEY_REP  "MPA ID Rep Frame"
#define MPA_PRIV_MAX 512

struct mpa_frame {
	uint8_t key[MPA_KEY_LEN];
	uint8_t flags;
	uint8_t revision;
	be16 priv_len;
};
WIRE_SIZE(struct mpa_frame, 20);

enum mpa_flag {
	MPA_MARKERS = 0x80,
	MPA_CRC = 0x40,
	MPA_REJECT = 0x20,
	/* RFC 6581 section 8: the private data begins with struct mpa_limits */
	MPA_ENHANCED = 0x10,
	/* Linux siw's own use of a bit the RFC reserves: FPDUs may be larger than a TCP segment */
	MPA_LARGE = 0x08,
};

/* RFC 6581 section 9: begins the private data of an enhanced request or reply. */
struct mpa_limits {
	be16 ird, ord;
};
WIRE_SIZE(struct mpa_limits, 4);

#define MPA_LIMIT_MASK 0x3fff
#define MPA_LIMIT_ANY  0x3fff /* unspecified */
/* peer-to-peer model: the initiator sends a ready-to-receive message first */
#define MPA_IRD_PEER      0x8000
#define MPA_IRD_RTR_EMPTY 0x4000 /* it may be an FPDU without content, */
#define MPA_ORD_RTR_WRITE 0x8000 /* an RDMA Write of no bytes, */
#define MPA_ORD_RTR_READ  0x4000 /* an RDMA Read of no bytes */

/* An FPDU, RFC 5044 section 4.1: length of the ULPDU (that is, the DDP segment), ULPDU, padding to
 * 4 bytes, CRC-32C or zero. The CRC is stored as its bytes come out of the register, least
 * significant first (RFC 3720 appendix B.4). */
#define MPA_LEN_SIZE  2u
#define MPA_CRC_SIZE  4u
#define MPA_ULPDU_MAX 64768 /* RFC 5044 section 5.1 */
#define MPA_ULPDU_MIN 128

/* DDP and RDMAP control, RFC 5041 section 4.1, RFC 5040 section 4.1: one byte each. */
enum ddp_control {
	DDP_TAGGED = 0x80,
	DDP_LAST = 0x40,
	DDP_VERSION_MASK = 0x03,
	DDP_VERSION = 1,
	RDMAP_VERSION_MASK = 0xc0,
	RDMAP_VERSION = 0x40,
	RDMAP_OP_MASK = 0x0f,
};

enum rdmap_op {
	RDMAP_WRITE,
	RDMAP_READ_REQ,
	RDMAP_READ_RESP,
	RDMAP_SEND,
	RDMAP_SEND_INVAL,
	RDMAP_SEND_SE,
	RDMAP_SEND_SE_INVAL,
	RDMAP_TERMINATE,
	RDMAP_OPS,
};

enum ddp_queue { DDP_QN_SEND, DDP_QN_READ, DDP_QN_TERMINATE };

/* Headers as they begin an FPDU, its length included. */
struct ddp_common {
	be16 len;
	uint8_t ddp, rdmap;
};
WIRE_SIZE(struct ddp_common, 4);

struct ddp_tagged {
	struct ddp_common c;
	be32 stag;
	be64 to;
};
WIRE_SIZE(struct ddp_tagged, 16);

struct ddp_untagged {
	struct ddp_common c;
	be32 inval; /* RDMAP: the STag to invalidate, or reserved */
	be32 qn, msn, mo;
};
WIRE_SIZE(struct ddp_untagged, 20);

struct rdmap_read_req { /* RFC 5040 section 4.4 */
	struct ddp_untagged u;
	be32 sink_stag;
	be64 sink_to;
	be32 len;
	be32 source_stag;
	be64 source_to;
};
WIRE_SIZE(struct rdmap_read_req, 48);

/* RFC 5040 section 4.8; then, as `which` says, segment length and headers of the culprit */
struct rdmap_terminate {
	struct ddp_untagged u;
	uint8_t layer_type; /* 4 bits each */
	uint8_t code;
	uint8_t which;
	uint8_t reserved;
};
WIRE_SIZE(struct rdmap_terminate, 24);

enum rdmap_terminate_which { TERM_LEN = 0x80, TERM_DDP = 0x40, TERM_RDMAP = 0x20 };

/* layer << 12 | type << 8 | code */
enum term {
	TERM_RDMAP_CATASTROPHE = 0x0000,
	TERM_RDMAP_STAG = 0x0100,
	TERM_RDMAP_BOUNDS = 0x0101,
	TERM_RDMAP_ACCESS = 0x0102,
	TERM_RDMAP_OWNER = 0x0103,
	TERM_RDMAP_WRAP = 0x0104,
	TERM_RDMAP_INVALIDATE = 0x0109,
	TERM_RDMAP_PROTECTION = 0x01ff,
	TERM_RDMAP_VERSION = 0x0205,
	TERM_RDMAP_OPCODE = 0x0206,
	TERM_RDMAP_STREAM = 0x0207,
	TERM_RDMAP_GLOBAL = 0x0208,
	TERM_RDMAP_NO_INVALIDATE = 0x0209,
	TERM_RDMAP_OTHER = 0x02ff,
	TERM_DDP_CATASTROPHE = 0x1000,
	TERM_DDP_STAG = 0x1100,
	TERM_DDP_BOUNDS = 0x1101,
	TERM_DDP_OWNER = 0x1102,
	TERM_DDP_WRAP = 0x1103,
	TERM_DDP_TAGGED_VERSION = 0x1104,
	TERM_DDP_QN = 0x1201,
	TERM_DDP_NO_BUFFER = 0x1202,
	TERM_DDP_MSN = 0x1203,
	TERM_DDP_MO = 0x1204,
	TERM_DDP_TOO_LONG = 0x1205,
	TERM_DDP_UNTAGGED_VERSION = 0x1206,
	TERM_MPA_CLOSED = 0x2001,
	TERM_MPA_CRC = 0x2002,
	TERM_MPA_MARKER = 0x2003,
	TERM_MPA_FRAME = 0x2004,
	TERM_MPA_CATASTROPHE = 0x2005,
	TERM_MPA_IRD = 0x2006,
	TERM_MPA_RTR = 0x2007,
};
