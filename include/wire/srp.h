/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SRP (INCITS T10/1415-D revision 16a, and immediate data of SRP-2): layouts of information units.
 * IU: information unit, one message. Tags are the sender's own bytes. */
#pragma once
#include "wire.h"

enum srp_opcode {
	SRP_LOGIN_REQ = 0x00,
	SRP_TSK_MGMT = 0x01,
	SRP_CMD = 0x02,
	SRP_I_LOGOUT = 0x03,
	SRP_CRED_RSP = 0x41,
	SRP_AER_RSP = 0x42,
	SRP_T_LOGOUT = 0x80,
	SRP_CRED_REQ = 0x81,
	SRP_AER_REQ = 0x82,
	SRP_LOGIN_RSP = 0xc0,
	SRP_RSP = 0xc1,
	SRP_LOGIN_REJ = 0xc2,
};

/* descriptor formats of a login, as bits */
#define SRP_FORMAT_DIRECT   0x2
#define SRP_FORMAT_INDIRECT 0x4

/* login flags */
#define SRP_MULTI_CHANNEL 0x01 /* other channels of the I_T nexus stay */
#define SRP_IMMEDIATE     0x80 /* SRP-2; in a response, too */
/* of the response */
#define SRP_CHANNELS_ENDED 0x01
#define SRP_CHANNELS_STAY  0x02

/* A login request by RDMA/CM, which has room for no more (as Linux has it). */
struct srp_login_cm {
	be64 tag;
	be16 formats;
	uint8_t flags, opcode;
	be32 it_iu_len; /* longest IU that the initiator will send */
	uint8_t initiator[16], target[16];
	be16 imm_offset; /* where immediate data begins in an SRP_CMD */
	uint8_t reserved[6];
};
WIRE_SIZE(struct srp_login_cm, 56);

/* A login request as the standard has it, by a service ID on InfiniBand. */
struct srp_login_req {
	uint8_t opcode, reserved1[7];
	be64 tag;
	be32 it_iu_len;
	uint8_t reserved2[4];
	be16 formats;
	uint8_t flags, reserved3;
	be16 imm_offset;
	uint8_t reserved4[2];
	uint8_t initiator[16], target[16];
};
WIRE_SIZE(struct srp_login_req, 64);

struct srp_login_rsp {
	uint8_t opcode, reserved1[3];
	be32 delta; /* the first request limit */
	be64 tag;
	be32 it_iu_len, ti_iu_len;
	be16 formats;
	uint8_t flags, reserved2[25];
};
WIRE_SIZE(struct srp_login_rsp, 52);

/* What rdmastor's target adds to a login response, in private data that SRP leaves unused: which
 * target it is. A login without SRP_MULTI_CHANNEL ends earlier channels of its initiator port; once
 * the target answers a command of the new channel, nothing of the earlier ones is executed that
 * later changes could overtake. */
struct srp_login_instance {
	uint8_t magic[8];
	be64 instance; /* random, of one target in one process */
};
WIRE_SIZE(struct srp_login_instance, 16);
#define SRP_INSTANCE_MAGIC "rdmastor"

struct srp_login_rej {
	uint8_t opcode, reserved1[3];
	be32 reason;
	be64 tag;
	uint8_t reserved2[8];
	be16 formats;
	uint8_t reserved3[6];
};
WIRE_SIZE(struct srp_login_rej, 32);
#define SRP_REJ_NO_CHANNEL     0x00010000
#define SRP_REJ_RESOURCES      0x00010001
#define SRP_REJ_IU_TOO_LONG    0x00010002
#define SRP_REJ_NO_ASSOCIATION 0x00010003
#define SRP_REJ_FORMAT         0x00010004
#define SRP_REJ_NO_MULTI       0x00010005
#define SRP_REJ_CHANNELS       0x00010006

/* Formats of a data buffer descriptor: in SRP_CMD's low nibble of data-in, in the high of
 * data-out. */
enum srp_format { SRP_NO_DATA, SRP_DIRECT, SRP_INDIRECT, SRP_IMM };

struct srp_direct {
	be64 va;
	be32 key, len;
};
WIRE_SIZE(struct srp_direct, 16);

struct srp_cmd {
	uint8_t opcode, sol_not, reserved1[3];
	uint8_t format;              /* data-out << 4 | data-in */
	uint8_t out_descs, in_descs; /* entries of the partial tables of indirect ones */
	be64 tag;
	uint8_t reserved2[4];
	uint8_t lun[8];
	uint8_t reserved3, attr, reserved4;
	uint8_t add_cdb; /* bytes of CDB behind cdb: dwords << 2 */
	uint8_t cdb[16];
};
WIRE_SIZE(struct srp_cmd, 48);

struct srp_tsk_mgmt {
	uint8_t opcode, sol_not, reserved1[6];
	be64 tag;
	uint8_t reserved2[4], lun[8], reserved3[2];
	uint8_t function, reserved4;
	be64 task_tag;
	uint8_t reserved5[8];
};
WIRE_SIZE(struct srp_tsk_mgmt, 48);
enum srp_function {
	SRP_TSK_ABORT_TASK = 0x01,
	SRP_TSK_ABORT_TASK_SET = 0x02,
	SRP_TSK_CLEAR_TASK_SET = 0x04,
	SRP_TSK_LUN_RESET = 0x08,
	SRP_TSK_CLEAR_ACA = 0x40,
};

/* sense data comes behind response data, which comes behind this */
struct srp_rsp {
	uint8_t opcode, sol_not, reserved1[2];
	be32 delta;
	be64 tag;
	uint8_t reserved2[2];
	uint8_t flags, status;
	be32 out_residual, in_residual;
	be32 sense_len, data_len;
};
WIRE_SIZE(struct srp_rsp, 36);
#define SRP_RSP_DATA      0x01
#define SRP_RSP_SENSE     0x02
#define SRP_RSP_OUT_OVER  0x04
#define SRP_RSP_OUT_UNDER 0x08
#define SRP_RSP_IN_OVER   0x10
#define SRP_RSP_IN_UNDER  0x20

struct srp_cred_req {
	uint8_t opcode, sol_not, reserved[2];
	be32 delta;
	be64 tag;
};
WIRE_SIZE(struct srp_cred_req, 16);

/* sense data behind it */
struct srp_aer_req {
	uint8_t opcode, sol_not, reserved1[2];
	be32 delta;
	be64 tag;
	uint8_t reserved2[4], lun[8];
	be32 sense_len;
	uint8_t reserved3[4];
};
WIRE_SIZE(struct srp_aer_req, 36);

/* SRP_CRED_RSP, SRP_AER_RSP, SRP_I_LOGOUT */
struct srp_plain {
	uint8_t opcode, reserved[7];
	be64 tag;
};
WIRE_SIZE(struct srp_plain, 16);

struct srp_t_logout {
	uint8_t opcode, sol_not, reserved[2];
	be32 reason;
	be64 tag;
};
WIRE_SIZE(struct srp_t_logout, 16);
