/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NVM Express on the wire: commands, completions, SGL descriptors, Identify data (NVM Express Base
 * Specification 2.1, NVM Command Set Specification 1.1). Fields we neither send nor read are left
 * as padding between named ones. */
#pragma once
#include "wire.h"

enum nvme_admin_opcode { /* Base 2.1, figure 138 */
	NVME_ADMIN_GET_LOG = 0x02,
	NVME_ADMIN_IDENTIFY = 0x06,
	NVME_ADMIN_ABORT = 0x08,
	NVME_ADMIN_SET_FEATURES = 0x09,
	NVME_ADMIN_GET_FEATURES = 0x0a,
	NVME_ADMIN_ASYNC_EVENT = 0x0c,
	NVME_ADMIN_KEEP_ALIVE = 0x18,
	NVME_ADMIN_CROSS_RESET = 0x38, /* Base 2.3, 5.4.3 */
	NVME_FABRICS = 0x7f,
};

enum nvme_io_opcode { /* NVM Command Set 1.1, figure 21 */
	NVME_IO_FLUSH = 0x00,
	NVME_IO_WRITE = 0x01,
	NVME_IO_READ = 0x02,
	NVME_IO_COMPARE = 0x05,
	NVME_IO_WRITE_ZEROES = 0x08,
	NVME_IO_DSM = 0x09,
	NVME_IO_RESERVE_REGISTER = 0x0d, /* Base 2.1, 7.6 … */
	NVME_IO_RESERVE_REPORT = 0x0e,
	NVME_IO_RESERVE_ACQUIRE = 0x11,
	NVME_IO_RESERVE_RELEASE = 0x15,
};

/* Base 2.1, 3.1.4: controller properties. */
enum nvme_property { NVME_CAP = 0x00, NVME_VS = 0x08, NVME_CC = 0x14, NVME_CSTS = 0x1c };
#define NVME_CAP_MQES(cap)   ((uint32_t)((cap)&0xffff))       /* 0's based */
#define NVME_CAP_TO(cap)     ((uint32_t)((cap) >> 24 & 0xff)) /* units of 500 ms */
#define NVME_CAP_CSS(cap)    ((uint32_t)((cap) >> 37 & 0xff))
#define NVME_CAP_MPSMIN(cap) ((uint32_t)((cap) >> 48 & 0xf)) /* 2^(12 + n) bytes */
#define NVME_CAP_CQR         (1ull << 16) /* queues are contiguous: always so over fabrics */
#define NVME_CSS_NVM         (1u << 0)
#define NVME_CSS_IO_SETS     (1u << 6) /* one or more I/O command sets: CC.CSS 110b */
#define NVME_CC_EN           1u
#define NVME_CC_CSS_ALL      (6u << 4)
#define NVME_CC_CSS(cc)      ((cc) >> 4 & 7)
#define NVME_CC_MPS(cc)      ((cc) >> 7 & 0xf)
#define NVME_CC_SHN(cc)      ((cc) >> 14 & 3)
#define NVME_CC_SHN_NORMAL   (1u << 14)
#define NVME_CC_IOSQES       (6u << 16) /* 2^6 = 64 bytes */
#define NVME_CC_IOCQES       (4u << 20) /* 2^4 = 16 bytes */
#define NVME_CSTS_RDY        1u
#define NVME_CSTS_CFS        2u
#define NVME_CSTS_SHST(csts) ((csts) >> 2 & 3)
#define NVME_SHST_RUNNING    1u
#define NVME_SHST_COMPLETE   2u

enum nvme_cns { /* Base 2.1, figure 310 */
	NVME_CNS_NS = 0x00,
	NVME_CNS_CTRL = 0x01,
	NVME_CNS_NS_LIST = 0x02,
	NVME_CNS_NS_DESC = 0x03,
	NVME_CNS_IO_CTRL = 0x06,        /* I/O Command Set specific Identify Controller */
	NVME_CNS_NS_INDEPENDENT = 0x08, /* Identify Namespace, independent of the I/O Command Set */
};
#define NVME_CSI_NVM      0x00
#define NVME_IDENTIFY_LEN 4096
#define NVME_NSID_ALL     0xffffffffu

enum nvme_feature { /* Base 2.1, figure 386 */
	NVME_FEATURE_ARBITRATION = 0x01,
	NVME_FEATURE_POWER = 0x02,
	NVME_FEATURE_TEMPERATURE = 0x04,
	NVME_FEATURE_ERROR_RECOVERY = 0x05,
	NVME_FEATURE_WRITE_CACHE = 0x06,
	NVME_FEATURE_QUEUES = 0x07,
	NVME_FEATURE_ATOMICITY = 0x0a,
	NVME_FEATURE_ASYNC_EVENT = 0x0b,
	NVME_FEATURE_KATO = 0x0f,
	NVME_FEATURE_HOST_ID = 0x81,
	NVME_FEATURE_RESERVE_NOTICES = 0x82,
	NVME_FEATURE_RESERVE_PERSISTENCE = 0x83,
};
#define NVME_EVENT_NS_ATTR  (1u << 8) /* feature 0Bh, CDW11 */
#define NVME_EVENT_ANA      (1u << 11)
#define NVME_EVENT_DISC_LOG (1u << 31)

/* Completion of Asynchronous Event Request, Base 2.1, 5.1.2 */
#define NVME_AER_TYPE(dw0) ((dw0)&7)
#define NVME_AER_INFO(dw0) ((dw0) >> 8 & 0xff)
#define NVME_AER_LOG(dw0)  ((dw0) >> 16 & 0xff)
enum nvme_aer_type {
	NVME_AER_ERROR = 0,
	NVME_AER_HEALTH = 1,
	NVME_AER_NOTICE = 2,
	NVME_AER_IO = 6 /* I/O Command Set specific; information 0: reservation log */
};
enum nvme_aer_notice {
	NVME_NOTICE_NS_CHANGED = 0x00,
	NVME_NOTICE_ANA = 0x03,
	NVME_NOTICE_DISC_CHANGED = 0xf0
};

enum nvme_log {
	NVME_LOG_ERROR = 0x01,
	NVME_LOG_SMART = 0x02,
	NVME_LOG_FIRMWARE = 0x03,
	NVME_LOG_CHANGED_NS = 0x04,
	NVME_LOG_ANA = 0x0c,
	NVME_LOG_CROSS_RESET = 0x1e, /* Base 2.3 */
	NVME_LOG_DISCOVERY = 0x70,
	NVME_LOG_RESERVATION = 0x80
};
#define NVME_LOG_RAE     (1u << 15) /* CDW10: retain asynchronous event */
#define NVME_LOG_ANA_RGO (1u << 8)  /* CDW10, in LSP: groups only, without their namespaces */

/* Asymmetric Namespace Access log (Base 2.1, 5.1.12.1.13): a head, then a descriptor for each
 * group, followed by the IDs of its namespaces (le32), in ascending order. */
struct nvme_ana_log {
	le64 chgcnt; /* of the log */
	le16 groups;
	uint8_t rsvd10[6];
};
WIRE_SIZE(struct nvme_ana_log, 16);
struct nvme_ana_group {
	le32 grpid, nnsid;
	le64 chgcnt;
	uint8_t state, rsvd17[15];
};
WIRE_SIZE(struct nvme_ana_group, 32);
enum nvme_ana_state {
	NVME_ANA_OPTIMIZED = 0x1,
	NVME_ANA_NON_OPTIMIZED = 0x2,
	NVME_ANA_INACCESSIBLE = 0x3,
	NVME_ANA_PERSISTENT_LOSS = 0x4,
	NVME_ANA_CHANGE = 0xf,
};

/* Reservations (Base 2.1, 7.5 to 7.8). CDW10: action in bits 2:0, then */
#define NVME_RESERVE_ACTION(dw10) ((dw10)&7)
#define NVME_RESERVE_IEKEY        (1u << 3)            /* ignore existing key */
#define NVME_RESERVE_TYPE(dw10)   ((dw10) >> 8 & 0xff) /* Acquire, Release */
#define NVME_RESERVE_CPTPL(dw10)  ((dw10) >> 30)       /* Register: change persistence */
#define NVME_RESERVE_EDS          1u                   /* Report, CDW11: extended data */
enum nvme_reserve_register { NVME_RESERVE_REGISTER, NVME_RESERVE_UNREGISTER, NVME_RESERVE_REPLACE };
enum nvme_reserve_acquire {
	NVME_RESERVE_ACQUIRE,
	NVME_RESERVE_PREEMPT,
	NVME_RESERVE_PREEMPT_ABORT
};
enum nvme_reserve_release { NVME_RESERVE_RELEASE, NVME_RESERVE_CLEAR };
enum nvme_reserve_cptpl { NVME_CPTPL_KEEP, NVME_CPTPL_RESERVED, NVME_CPTPL_OFF, NVME_CPTPL_ON };
enum nvme_reserve_type { /* figure 92 */
	NVME_WRITE_EXCLUSIVE = 1,
	NVME_EXCLUSIVE_ACCESS,
	NVME_WRITE_EXCLUSIVE_REGISTRANTS,
	NVME_EXCLUSIVE_ACCESS_REGISTRANTS,
	NVME_WRITE_EXCLUSIVE_ALL,
	NVME_EXCLUSIVE_ACCESS_ALL
};
struct nvme_reserve_keys { /* data of Register and Acquire; Release has the first only */
	le64 crkey, other; /* NRKEY of Register, PRKEY of Acquire */
};
WIRE_SIZE(struct nvme_reserve_keys, 16);
struct nvme_reserve_report { /* extended data structure */
	le32 gen;
	uint8_t rtype, regctl[2], rsvd7[2], ptpls;
	uint8_t rsvd10[54];
};
WIRE_SIZE(struct nvme_reserve_report, 64);
struct nvme_reserve_registrant {
	le16 cntlid; /* FFFFh: dynamic */
	uint8_t rcsts, rsvd3[5];
	le64 rkey;
	uint8_t hostid[16];
	uint8_t rsvd32[32];
};
WIRE_SIZE(struct nvme_reserve_registrant, 64);
struct nvme_reserve_log { /* Base 2.1, 5.1.12.1.32 */
	le64 count;       /* of this page; 0: no notification */
	uint8_t type;     /* enum nvme_reserve_notice */
	uint8_t pages;    /* others that are available */
	uint8_t rsvd10[2];
	le32 nsid;
	uint8_t rsvd16[48];
};
WIRE_SIZE(struct nvme_reserve_log, 64);
enum nvme_reserve_notice { /* also bits of feature 82h */
	NVME_REGISTRATION_PREEMPTED = 1,
	NVME_RESERVATION_RELEASED = 2,
	NVME_RESERVATION_PREEMPTED = 3
};
#define NVME_RESERVE_NOTICES 0xeu /* mask of these bits */

/* Cross-Controller Reset (Base 2.3, 5.4.3). CDW10: controller ID and CIU of the controller to
 * reset; CDW12 and 13: its CIRN. Result: */
#define NVME_CROSS_RESET_DONE  1u /* immediately */
#define NVME_CROSS_RESET_VALID 2u /* the controller was identified */
#define NVME_CROSS_RESET_BEGUN 4u /* it had not ended yet */

struct nvme_smart { /* Base 2.1, 5.1.12.1.3 */
	uint8_t critical, temperature[2], spare, spare_threshold, used, rsvd6[26];
	uint8_t units_read[16], units_written[16]; /* 32: thousands of 512 bytes, rounded up */
	uint8_t reads[16], writes[16];             /* 64 */
	uint8_t busy[16], cycles[16], hours[16], unsafe[16], errors[16], entries[16]; /* 96 */
	uint8_t rsvd192[320];
};
WIRE_SIZE(struct nvme_smart, 512);
struct nvme_error_entry {
	uint8_t b[64];
};
struct nvme_firmware_log {
	uint8_t afi, rsvd1[7];
	char frs[7][8];
	uint8_t rsvd64[448];
};
WIRE_SIZE(struct nvme_firmware_log, 512);

/* SGL descriptors, Base 2.1, 4.3.2 */
#define NVME_SGL_OFFSET 0x01 /* type 0h, subtype 1h: offset into the capsule */
#define NVME_SGL_KEYED  0x40 /* type 4h, subtype 0h: address and key */
/* subtype Fh: and the reply is to invalidate the key (RDMA 1.1, 3.5.1) */
#define NVME_SGL_KEYED_INVAL 0x4f
#define NVME_SGL_TRANSPORT   0x5a /* type 5h, subtype Ah: the transport knows */
#define NVME_FUSE(flags)     ((flags)&3)
#define NVME_PSDT(flags)     ((flags)&0xc0)
/* command flags: SGL, metadata pointer is an address; the only form over fabrics */
#define NVME_PSDT_SGL 0x40

struct nvme_sgl {
	le64 addr;
	union {
		struct {
			le32 len;
			uint8_t rsvd[3];
		} block;
		struct {
			le24 len;
			le32 key;
		} keyed;
	};
	uint8_t type;
};
WIRE_SIZE(struct nvme_sgl, 16);

struct nvme_sqe {
	uint8_t opcode, flags;
	le16 cid;
	le32 nsid;
	le32 cdw2, cdw3;
	le64 mptr;
	struct nvme_sgl sgl;
	le32 cdw10, cdw11, cdw12, cdw13, cdw14, cdw15;
};
WIRE_SIZE(struct nvme_sqe, 64);
#define NVME_RW_FUA         (1u << 30) /* CDW12 of Write, Write Zeroes */
#define NVME_WZ_DEAC        (1u << 25) /* CDW12 of Write Zeroes */
#define NVME_DSM_DEALLOCATE (1u << 2)  /* CDW11 of Dataset Management */

struct nvme_cqe {
	le64 result; /* DW0 and DW1 */
	le16 sqhd, sqid;
	le16 cid;
	le16 status; /* bit 0: phase tag, not used over fabrics */
};
WIRE_SIZE(struct nvme_cqe, 16);
#define NVME_SQHD_NONE 0xffff /* SQ flow control is disabled */
/* Status without the phase bit: SC, SCT, and the rest. */
#define NVME_STATUS(sct, sc)     ((uint32_t)(sct) << 8 | (sc))
#define NVME_STATUS_CODE(status) ((status)&0x7ff)
#define NVME_STATUS_TYPE(status) ((status) >> 8 & 7)
#define NVME_STATUS_TYPE_PATH    3
#define NVME_STATUS_DNR          (1u << 14)
/* Not of the protocol: added to a status, what kind of command it answers, as this decides what
 * some command-specific codes mean. None: another admin command. */
#define NVME_STATUS_OF_IO      (1u << 16)
#define NVME_STATUS_OF_FABRICS (1u << 17)
enum nvme_status { /* those a target of ours answers with */
	NVME_OK,
	NVME_INVALID_OPCODE = NVME_STATUS(0, 0x01) | NVME_STATUS_DNR,
	NVME_INVALID_FIELD = NVME_STATUS(0, 0x02) | NVME_STATUS_DNR,
	NVME_INTERNAL = NVME_STATUS(0, 0x06),
	NVME_INVALID_NS = NVME_STATUS(0, 0x0b) | NVME_STATUS_DNR,
	NVME_SEQUENCE = NVME_STATUS(0, 0x0c) | NVME_STATUS_DNR,
	NVME_SGL_LENGTH = NVME_STATUS(0, 0x0f) | NVME_STATUS_DNR,
	NVME_SGL_TYPE = NVME_STATUS(0, 0x11) | NVME_STATUS_DNR,
	NVME_SGL_OFFSET_BAD = NVME_STATUS(0, 0x16) | NVME_STATUS_DNR,
	NVME_HOST_ID_FORMAT = NVME_STATUS(0, 0x18) | NVME_STATUS_DNR,
	NVME_PREEMPTED = NVME_STATUS(0, 0x1b),
	NVME_WRITE_PROTECTED = NVME_STATUS(0, 0x20) | NVME_STATUS_DNR,
	NVME_INTERRUPTED = NVME_STATUS(0, 0x21),
	NVME_NO_HOST_ID = NVME_STATUS(0, 0x27) | NVME_STATUS_DNR,
	NVME_LBA_RANGE = NVME_STATUS(0, 0x80) | NVME_STATUS_DNR,
	NVME_CAPACITY = NVME_STATUS(0, 0x81) | NVME_STATUS_DNR,
	NVME_CONFLICT = NVME_STATUS(0, 0x83) | NVME_STATUS_DNR,
	NVME_ABORT_REQUESTED = NVME_STATUS(0, 0x07),
	NVME_ABORT_LIMIT = NVME_STATUS(1, 0x03),
	NVME_AER_LIMIT = NVME_STATUS(1, 0x05) | NVME_STATUS_DNR,
	NVME_INVALID_LOG = NVME_STATUS(1, 0x09) | NVME_STATUS_DNR,
	NVME_FEATURE_UNSAVEABLE = NVME_STATUS(1, 0x0d) | NVME_STATUS_DNR,
	NVME_FEATURE_FIXED = NVME_STATUS(1, 0x0e) | NVME_STATUS_DNR,
	NVME_CROSS_RESET_LIMIT = NVME_STATUS(1, 0x41),
	NVMF_FORMAT = NVME_STATUS(1, 0x80) | NVME_STATUS_DNR,
	NVMF_BUSY = NVME_STATUS(1, 0x81),
	NVMF_PARAM = NVME_STATUS(1, 0x82) | NVME_STATUS_DNR,
	NVMF_HOST = NVME_STATUS(1, 0x84) | NVME_STATUS_DNR,
	NVMF_AUTH_REQUIRED = NVME_STATUS(1, 0x91) | NVME_STATUS_DNR,
	NVME_WRITE_FAULT = NVME_STATUS(2, 0x80),
	NVME_READ_ERROR = NVME_STATUS(2, 0x81),
	NVME_COMPARE_FAILURE = NVME_STATUS(2, 0x85) | NVME_STATUS_DNR,
	NVME_PATH_ERROR = NVME_STATUS(3, 0x00),
	NVME_ANA_STATUS_LOSS = NVME_STATUS(3, 0x01),
	NVME_ANA_STATUS_INACCESSIBLE = NVME_STATUS(3, 0x02),
	NVME_ANA_STATUS_TRANSITION = NVME_STATUS(3, 0x03),
};

struct nvme_dsm_range { /* NVM 1.1, 3.2.3 */
	le32 attributes, blocks;
	le64 lba;
};
WIRE_SIZE(struct nvme_dsm_range, 16);

struct nvme_id_power {
	uint8_t b[32];
};

struct nvme_id_ctrl {                         /* Base 2.1, 5.1.13.2.1 */
	le16 vid, ssvid;                      /* 0 */
	char sn[20], mn[40], fr[8];           /* 4, 24, 64 */
	uint8_t rab, ieee[3], cmic, mdts;     /* 72 */
	le16 cntlid;                          /* 78 */
	le32 ver, rtd3r, rtd3e, oaes, ctratt; /* 80 */
	le16 rrls;                            /* 100 */
	uint8_t rsvd102[9], cntrltype;        /* 111 */
	uint8_t fguid[16];                    /* 112 */
	le16 crdt[3];                         /* 128 */
	uint8_t rsvd134, ciu;                 /* 135: Base 2.3 */
	le64 cirn;                            /* 136 */
	uint8_t rsvd144[112];
	le16 oacs;                        /* 256 */
	uint8_t acl, aerl, frmw, lpa;     /* 258 */
	uint8_t elpe, npss, avscc, apsta; /* 262 */
	uint8_t rsvd266[54];
	le16 kas; /* 320: units of 100 ms */
	uint8_t rsvd322[20];
	uint8_t anatt, anacap;     /* 342: seconds */
	le32 anagrpmax, nanagrpid; /* 344 */
	uint8_t rsvd352[34];
	le16 cqt; /* 386: milliseconds */
	uint8_t rsvd388[124];
	uint8_t sqes, cqes;    /* 512 */
	le16 maxcmd;           /* 514 */
	le32 nn;               /* 516 */
	le16 oncs, fuses;      /* 520 */
	uint8_t fna, vwc;      /* 524 */
	le16 awun, awupf;      /* 526 */
	uint8_t icsvscc, nwpc; /* 530 */
	le16 acwu;             /* 532 */
	uint8_t rsvd534[2];
	le32 sgls; /* 536 */
	le32 mnan; /* 540 */
	uint8_t rsvd544[224];
	char subnqn[256]; /* 768 */
	uint8_t rsvd1024[768];
	le32 ioccsz, iorcsz;  /* 1792: units of 16 bytes */
	le16 icdoff;          /* 1800: units of 16 bytes */
	uint8_t fcatt, msdbd; /* 1802 */
	le16 ofcs;            /* 1804 */
	uint8_t dctype, ccrl; /* 1806; ccrl: Base 2.3 */
	uint8_t rsvd1808[240];
	struct nvme_id_power psd[32]; /* 2048 */
	uint8_t vs[1024];
};
WIRE_SIZE(struct nvme_id_ctrl, 4096);
enum nvme_cntrltype { NVME_CTRL_UNSAID, NVME_CTRL_IO, NVME_CTRL_DISCOVERY, NVME_CTRL_ADMIN };
#define NVME_CMIC_MULTI        3 /* several ports, several controllers */
#define NVME_CMIC_ANA          (1u << 3)
#define NVME_ANACAP_STATES     0x1fu     /* all of enum nvme_ana_state may be reported */
#define NVME_ANACAP_STATIC     (1u << 6) /* ANAGRPID of a namespace does not change */
#define NVME_VWC_PRESENT       1
#define NVME_VWC_FLUSH_ALL     (3u << 1)  /* Flush takes NSID FFFFFFFFh */
#define NVME_CTRATT_HOSTID     1          /* host identifiers of 128 bits */
#define NVME_CTRATT_TBKAS      (1u << 6)  /* the keep-alive timer counts any command */
#define NVME_CTRATT_RHII       (1u << 18) /* reservations need a host identifier */
#define NVME_ONCS_COMPARE      (1u << 0)
#define NVME_ONCS_DSM          (1u << 2)
#define NVME_ONCS_WRITE_ZEROES (1u << 3)
#define NVME_ONCS_RESERVATIONS (1u << 5)
#define NVME_SGLS_SUPPORT      3u /* bits 1:0 */
#define NVME_SGLS_KEYED        (1u << 2)
#define NVME_SGLS_OFFSET       (1u << 20)
#define NVME_OAES_NS_ATTR      (1u << 8)
#define NVME_OAES_ANA          (1u << 11)
#define NVME_OAES_DISC_LOG     (1u << 31)

struct nvme_lbaf {
	le16 ms;
	uint8_t lbads, rp;
};

struct nvme_id_ns {            /* NVM 1.1, 4.1.5.1 */
	le64 nsze, ncap, nuse; /* 0 */
	uint8_t nsfeat, nlbaf, flbas, mc, dpc, dps, nmic, rescap, fpi, dlfeat; /* 24 */
	le16 nawun, nawupf, nacwu, nabsn, nabo, nabspf, noiob;                 /* 34 */
	uint8_t nvmcap[16];                                                    /* 48 */
	le16 npwg, npwa, npdg, npda, nows;                                     /* 64 */
	le16 mssrl;                                                            /* 74 */
	le32 mcl;                                                              /* 76 */
	uint8_t msrc, rsvd81[11];                                              /* 80 */
	le32 anagrpid;                                                         /* 92 */
	uint8_t rsvd96[3], nsattr;                                             /* 99 */
	le16 nvmsetid, endgid;                                                 /* 100 */
	uint8_t nguid[16], eui64[8];                                           /* 104, 120 */
	struct nvme_lbaf lbaf[64];                                             /* 128 */
	uint8_t vs[3712];
};
WIRE_SIZE(struct nvme_id_ns, 4096);
#define NVME_FLBAS_INDEX(flbas) (((flbas)&0xf) | ((flbas) >> 1 & 0x30))
#define NVME_NSFEAT_OPTPERF     (1u << 4)
#define NVME_NMIC_SHARED        1
#define NVME_RESCAP_PERSIST     (1u << 0) /* through power loss, if a host asks for it */
#define NVME_RESCAP_TYPES       0x7e      /* all of enum nvme_reserve_type */
#define NVME_RESCAP_IEKEY       (1u << 7) /* as of NVMe 1.3 */
#define NVME_NSATTR_WP          (1u << 0)
#define NVME_DLFEAT_DEAC        (1u << 3)

struct nvme_id_ns_independent { /* Base 2.1, figure 320 */
	uint8_t nsfeat, nmic, rescap, fpi;
	le32 anagrpid;
	uint8_t nsattr, rsvd9;
	le16 nvmsetid, endgid;
	uint8_t nstat, rsvd15[4081];
};
WIRE_SIZE(struct nvme_id_ns_independent, 4096);
#define NVME_NSTAT_READY 1

struct nvme_ns_desc { /* Base 2.1, figure 315 */
	uint8_t nidt, nidl, rsvd[2];
};
WIRE_SIZE(struct nvme_ns_desc, 4);
enum nvme_nidt { NVME_NIDT_EUI64 = 1, NVME_NIDT_NGUID = 2, NVME_NIDT_UUID = 3, NVME_NIDT_CSI = 4 };

struct nvme_id_ctrl_nvm { /* NVM 1.1, 4.1.5.4 */
	uint8_t vsl, wzsl, wusl, dmrl;
	le32 dmrsl;
	le64 dmsl;
	uint8_t rsvd16[4080];
};
WIRE_SIZE(struct nvme_id_ctrl_nvm, 4096);
