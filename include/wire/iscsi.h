/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* iSCSI: layouts and constants of PDUs. Sections are those of RFC 7143. */
#pragma once
#include "wire.h"

#define ISCSI_PORT 3260
#define ISCSI_BHS  48 /* 11.2.1 */
/* 13.12: the longest data segment before another length is declared, and in all of the login phase
 */
#define ISCSI_PDU_DATA 8192
#define ISCSI_NO_TAG   UINT32_C(0xffffffff) /* 11.2.1.8, 11.18.2 */
#define ISCSI_NAME_MAX 223                  /* 4.2.7.1 */
#define ISCSI_KEY_MAX  63                   /* 6.1 */

/* 11.2.1.2 */
enum iscsi_opcode {
	ISCSI_NOP_OUT = 0x00,
	ISCSI_SCSI_CMD = 0x01,
	ISCSI_TASK_REQ = 0x02,
	ISCSI_LOGIN_REQ = 0x03,
	ISCSI_TEXT_REQ = 0x04,
	ISCSI_DATA_OUT = 0x05,
	ISCSI_LOGOUT_REQ = 0x06,
	ISCSI_NOP_IN = 0x20,
	ISCSI_SCSI_RSP = 0x21,
	ISCSI_TASK_RSP = 0x22,
	ISCSI_LOGIN_RSP = 0x23,
	ISCSI_TEXT_RSP = 0x24,
	ISCSI_DATA_IN = 0x25,
	ISCSI_LOGOUT_RSP = 0x26,
	ISCSI_R2T = 0x31,
	ISCSI_ASYNC = 0x32,
	ISCSI_REJECT = 0x3f,
};
#define ISCSI_OPCODE(byte) ((byte)&0x3f)
#define ISCSI_IMMEDIATE    0x40 /* 11.2.1.1 */

#define ISCSI_FINAL    0x80 /* F; T of login PDUs */
#define ISCSI_CONTINUE 0x40 /* C: the text continues in the next PDU */

/* 11.12.3: CSG in bits 3 and 2, NSG in bits 1 and 0 */
enum iscsi_stage { ISCSI_STAGE_SECURITY = 0, ISCSI_STAGE_OPERATIONAL = 1, ISCSI_STAGE_FULL = 3 };
#define ISCSI_CSG(flags)        ((flags) >> 2 & 3)
#define ISCSI_NSG(flags)        ((flags)&3)
#define ISCSI_STAGES(now, next) ((uint8_t)((now) << 2 | (next)))

struct iscsi_bhs { /* 11.2.1; what is common to all */
	uint8_t opcode, flags, specific[2];
	uint8_t ahs_len; /* words of four bytes */
	be24 data_len;
	uint8_t lun[8];
	be32 itt;
	uint8_t rest[28];
};
WIRE_SIZE(struct iscsi_bhs, ISCSI_BHS);

/* 11.3.1; the attribute in the lowest bits is SAM's plus one, but 0 is SIMPLE, too */
#define ISCSI_CMD_READ    0x40
#define ISCSI_CMD_WRITE   0x20
#define ISCSI_ATTR(flags) ((flags)&7)
enum iscsi_attr {
	ISCSI_UNTAGGED,
	ISCSI_SIMPLE,
	ISCSI_ORDERED,
	ISCSI_HEAD_OF_QUEUE,
	ISCSI_ATTR_ACA
};

struct iscsi_scsi_cmd { /* 11.3 */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, expected, cmdsn, exp_statsn;
	uint8_t cdb[16];
};
WIRE_SIZE(struct iscsi_scsi_cmd, ISCSI_BHS);

/* 11.4.1, 11.7.3: residual counts; in a Data-In, the status is there */
#define ISCSI_OVERFLOW  0x04
#define ISCSI_UNDERFLOW 0x02
#define ISCSI_STATUS    0x01

struct iscsi_scsi_rsp { /* 11.4; data: a 16-bit length and the sense data */
	uint8_t opcode, flags, response, status, ahs_len;
	be24 data_len;
	uint8_t reserved[8];
	be32 itt, snack_tag, statsn, exp_cmdsn, max_cmdsn, exp_datasn, bidi_residual, residual;
};
WIRE_SIZE(struct iscsi_scsi_rsp, ISCSI_BHS);

struct iscsi_task_req { /* 11.5; the function is in the flags */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ref_itt, cmdsn, exp_statsn, ref_cmdsn, exp_datasn;
	uint8_t reserved2[8];
};
WIRE_SIZE(struct iscsi_task_req, ISCSI_BHS);
/* 11.5.1 */
enum iscsi_task_function {
	ISCSI_ABORT_TASK = 1,
	ISCSI_ABORT_TASK_SET = 2,
	ISCSI_CLEAR_ACA = 3,
	ISCSI_CLEAR_TASK_SET = 4,
	ISCSI_LUN_RESET = 5,
	ISCSI_WARM_RESET = 6,
	ISCSI_COLD_RESET = 7,
	ISCSI_TASK_REASSIGN = 8,
};
/* 11.6.1 */
enum iscsi_task_response {
	ISCSI_TASK_COMPLETE = 0,
	ISCSI_TASK_NONE = 1,
	ISCSI_TASK_NO_LUN = 2,
	ISCSI_TASK_NO_REASSIGN = 4,
	ISCSI_TASK_UNSUPPORTED = 5,
	ISCSI_TASK_REJECTED = 255,
};

struct iscsi_task_rsp { /* 11.6 */
	uint8_t opcode, flags, response, reserved, ahs_len;
	be24 data_len;
	uint8_t reserved2[8];
	be32 itt;
	uint8_t reserved3[4];
	be32 statsn, exp_cmdsn, max_cmdsn;
	uint8_t reserved4[12];
};
WIRE_SIZE(struct iscsi_task_rsp, ISCSI_BHS);

struct iscsi_data_out { /* 11.7 */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ttt;
	uint8_t reserved2[4];
	be32 exp_statsn;
	uint8_t reserved3[4];
	be32 datasn, offset;
	uint8_t reserved4[4];
};
WIRE_SIZE(struct iscsi_data_out, ISCSI_BHS);

struct iscsi_data_in { /* 11.7 */
	uint8_t opcode, flags, reserved, status, ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ttt, statsn, exp_cmdsn, max_cmdsn, datasn, offset, residual;
};
WIRE_SIZE(struct iscsi_data_in, ISCSI_BHS);

struct iscsi_r2t { /* 11.8 */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ttt, statsn, exp_cmdsn, max_cmdsn, r2tsn, offset, desired;
};
WIRE_SIZE(struct iscsi_r2t, ISCSI_BHS);

struct iscsi_login_req { /* 11.12 */
	uint8_t opcode, flags, version_max, version_min, ahs_len;
	be24 data_len;
	uint8_t isid[6];
	be16 tsih;
	be32 itt;
	be16 cid;
	uint8_t reserved[2];
	be32 cmdsn, exp_statsn;
	uint8_t reserved2[16];
};
WIRE_SIZE(struct iscsi_login_req, ISCSI_BHS);

struct iscsi_login_rsp { /* 11.13 */
	uint8_t opcode, flags, version_max, version_active, ahs_len;
	be24 data_len;
	uint8_t isid[6];
	be16 tsih;
	be32 itt;
	uint8_t reserved[4];
	be32 statsn, exp_cmdsn, max_cmdsn;
	uint8_t status_class, status_detail, reserved2[10];
};
WIRE_SIZE(struct iscsi_login_rsp, ISCSI_BHS);

/* 11.13.5 */
enum {
	ISCSI_LOGIN_SUCCESS = 0,
	ISCSI_LOGIN_REDIRECT = 1,
	ISCSI_LOGIN_INITIATOR = 2,
	ISCSI_LOGIN_TARGET = 3
};
#define ISCSI_LOGIN_STATUS(class, detail) ((uint16_t)((class) << 8 | (detail)))
enum iscsi_login_refusal { /* class and detail */
	ISCSI_MOVED_FOR_NOW = 0x0101,
	ISCSI_MOVED = 0x0102,
	ISCSI_INITIATOR_ERROR = 0x0200,
	ISCSI_NOT_PROVED = 0x0201,
	ISCSI_FORBIDDEN = 0x0202,
	ISCSI_NOT_FOUND = 0x0203,
	ISCSI_REMOVED = 0x0204,
	ISCSI_OTHER_VERSION = 0x0205,
	ISCSI_TOO_MANY = 0x0206,
	ISCSI_MISSING = 0x0207,
	ISCSI_NOT_INCLUDED = 0x0208,
	ISCSI_SESSION_TYPE = 0x0209,
	ISCSI_NO_SESSION = 0x020a,
	ISCSI_OUT_OF_PLACE = 0x020b,
	ISCSI_TARGET_ERROR = 0x0300,
	ISCSI_UNAVAILABLE = 0x0301,
	ISCSI_NO_RESOURCES = 0x0302,
};

struct iscsi_text_req { /* 11.10 */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ttt, cmdsn, exp_statsn;
	uint8_t reserved2[16];
};
WIRE_SIZE(struct iscsi_text_req, ISCSI_BHS);

struct iscsi_text_rsp { /* 11.11 */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ttt, statsn, exp_cmdsn, max_cmdsn;
	uint8_t reserved2[12];
};
WIRE_SIZE(struct iscsi_text_rsp, ISCSI_BHS);

struct iscsi_logout_req { /* 11.14; the reason, 0 = close the session, is in the flags */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t reserved2[8];
	be32 itt;
	be16 cid;
	uint8_t reserved3[2];
	be32 cmdsn, exp_statsn;
	uint8_t reserved4[16];
};
WIRE_SIZE(struct iscsi_logout_req, ISCSI_BHS);

struct iscsi_logout_rsp { /* 11.15 */
	uint8_t opcode, flags, response, reserved, ahs_len;
	be24 data_len;
	uint8_t reserved2[8];
	be32 itt;
	uint8_t reserved3[4];
	be32 statsn, exp_cmdsn, max_cmdsn;
	uint8_t reserved4[4];
	be16 time2wait, time2retain; /* seconds */
	uint8_t reserved5[4];
};
WIRE_SIZE(struct iscsi_logout_rsp, ISCSI_BHS);

struct iscsi_async { /* 11.9 */
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 no_tag;
	uint8_t reserved2[4];
	be32 statsn, exp_cmdsn, max_cmdsn;
	uint8_t event, vendor;
	be16 parameter[3];
	uint8_t reserved3[4];
};
WIRE_SIZE(struct iscsi_async, ISCSI_BHS);

/* 11.9.1 */
enum iscsi_async_event {
	ISCSI_ASYNC_SCSI = 0,
	ISCSI_ASYNC_LOGOUT = 1, /* asked for, within parameter[2] seconds */
	/* of the connection parameter[0]; login again after parameter[1] seconds */
	ISCSI_ASYNC_DROP = 2,
	ISCSI_ASYNC_DROP_ALL = 3,
	ISCSI_ASYNC_NEGOTIATE = 4, /* wanted, within parameter[2] seconds */
};

/* 11.18, 11.19: in a NOP-In the third word of numbers is MaxCmdSN, in a NOP-Out it is reserved */
struct iscsi_nop {
	uint8_t opcode, flags, reserved[2], ahs_len;
	be24 data_len;
	uint8_t lun[8];
	be32 itt, ttt, sn, exp_sn, max_cmdsn;
	uint8_t reserved2[12];
};
WIRE_SIZE(struct iscsi_nop, ISCSI_BHS);

struct iscsi_reject { /* 11.17 */
	uint8_t opcode, flags, reason, reserved, ahs_len;
	be24 data_len;
	uint8_t reserved2[8];
	be32 itt;
	uint8_t reserved3[4];
	be32 statsn, exp_cmdsn, max_cmdsn, datasn;
	uint8_t reserved4[8];
};
WIRE_SIZE(struct iscsi_reject, ISCSI_BHS);
/* 11.17.1 */
enum iscsi_reject_reason {
	ISCSI_REJECT_DATA_DIGEST = 0x02,
	ISCSI_REJECT_PROTOCOL = 0x04,
	ISCSI_REJECT_UNSUPPORTED = 0x05,
	ISCSI_REJECT_TOO_MANY = 0x06
};

/* 12.1.3, and the IANA registry of CHAP algorithms for 6 to 8 */
enum iscsi_chap_alg {
	ISCSI_CHAP_MD5 = 5,
	ISCSI_CHAP_SHA1 = 6,
	ISCSI_CHAP_SHA256 = 7,
	ISCSI_CHAP_SHA3_256 = 8
};
#define ISCSI_CHAP_BINARY_MAX 1024 /* 12.1.3: bytes of a challenge or response */
