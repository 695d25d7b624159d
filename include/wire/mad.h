/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* InfiniBand management datagrams: the common header, RMPP, subnet administration, device
 * management and subnet management by directed route. Sections are those of the InfiniBand
 * Architecture Specification 1.4, volume 1. */
#pragma once
#include "wire.h"

#define MAD_LEN     256
#define MAD_LID_MIN 1
#define MAD_LID_MAX 0xbfff /* unicast; 4.1.3 */

enum mad_register_class {     /* 13.4.4 */
	MAD_CLASS_SMP = 0x01, /* by LID */
	MAD_CLASS_SA = 0x03,
	MAD_CLASS_DM = 0x06,
	MAD_CLASS_SMP_DR = 0x81,
};

enum mad_method { /* 13.4.5, 15.2.2 */
	MAD_GET = 0x01,
	MAD_SET = 0x02,
	MAD_REPORT = 0x06,
	MAD_GET_TABLE = 0x12,
	MAD_RESPONSE = 0x80, /* or-ed in */
};

enum mad_attr { /* 13.4.8.1, 14.2.5, 15.2.5, 16.3.3 */
	MAD_CLASS_PORT_INFO = 0x0001,
	MAD_NOTICE = 0x0002,
	MAD_INFORM_INFO = 0x0003,
	SMP_NODE_INFO = 0x0011,
	SMP_PORT_INFO = 0x0015,
	SA_NODE_RECORD = 0x0011,
	SA_PORT_INFO_RECORD = 0x0012,
	SA_PATH_RECORD = 0x0035,
	DM_IO_UNIT_INFO = 0x0010,
	DM_IOC_PROFILE = 0x0011,
	DM_SERVICE_ENTRIES = 0x0012,
};

#define MAD_STATUS_BUSY      0x0001 /* 13.4.7 */
#define MAD_STATUS_REDIRECT  0x0002
#define MAD_STATUS_FIELD     0x001c
#define MAD_STATUS_DR_D      0x8000 /* directed route: this is the way back; 14.2.1.2 */
#define SA_STATUS_NO_RECORDS 0x0300 /* 15.4.2 */
#define SA_STATUS_TOO_MANY   0x0400 /* records, to a Get */

struct mad_hdr {              /* 13.4.2 */
	uint8_t base_version; /* 1 */
	uint8_t mgmt_class, class_version, method;
	be16 status;
	be16 class_specific; /* directed route: hop pointer, hop count */
	be64 tid;            /* the kernel owns the upper half */
	be16 attr;
	be16 reserved;
	be32 mod;
};
WIRE_SIZE(struct mad_hdr, 24);

struct mad_rmpp { /* 13.6.2.1 */
	uint8_t version, type, rtime_flags, status;
	be32 segment, length;
};
WIRE_SIZE(struct mad_rmpp, 12);
#define MAD_RMPP_ACTIVE 0x01

struct sa_hdr { /* 15.2.1.1; once in front of a reassembled table */
	struct mad_hdr mad;
	struct mad_rmpp rmpp;
	be64 sm_key;
	be16 attr_offset; /* distance of records in units of eight bytes */
	be16 reserved;
	be64 mask;
};
WIRE_SIZE(struct sa_hdr, 56);
#define SA_CLASS_VERSION 2
#define SA_DATA_LEN      (MAD_LEN - sizeof(struct sa_hdr))

struct dm_hdr { /* 16.3.1 */
	struct mad_hdr mad;
	uint8_t reserved[40];
};
WIRE_SIZE(struct dm_hdr, 64);
#define DM_DATA_LEN (MAD_LEN - sizeof(struct dm_hdr))

/* Of class 0x01 too the attribute is where device management has it. */
#define SMP_HOPS_MAX 63
struct smp_dr { /* 14.2.1.2 */
	struct mad_hdr mad;
	be64 m_key;
	be16 dr_slid, dr_dlid; /* 0xffff: directed route all the way */
	uint8_t reserved[28];
	uint8_t data[64];
	uint8_t out[64], back[64]; /* [0] unused */
};
WIRE_SIZE(struct smp_dr, 256);

struct class_port_info { /* 13.4.8.1 */
	uint8_t base_version, class_version;
	be16 cap_mask;
	be32 cap_mask2_resp_time; /* low five bits: response time, 4.096 us * 2^n */
	uint8_t redirect_gid[16];
	be32 redirect_tc_sl_fl;
	be16 redirect_lid, redirect_pkey;
	be32 redirect_qp, redirect_qkey;
	uint8_t trap_gid[16];
	be32 trap_tc_sl_fl;
	be16 trap_lid, trap_pkey;
	be32 trap_hl_qp, trap_qkey;
};
WIRE_SIZE(struct class_port_info, 72);
/* 15.2.4.1: PortInfoRecord queries may match it by bits */
#define SA_CAP_PORT_INFO_MASK_MATCH (1 << 13)

struct notice {               /* 13.4.8.2 */
	uint8_t generic_type; /* bit 7: generic; then enum notice_type */
	be24 producer;        /* generic: enum mad_node_type, NOTICE_BY_MANAGER */
	be16 trap, issuer_lid, toggle_count;
	uint8_t details[54];
	uint8_t issuer_gid[16];
};
WIRE_SIZE(struct notice, 80);
#define NOTICE_GENERIC    0x80
#define NOTICE_BY_MANAGER 4 /* a class manager, as the subnet administrator */
enum notice_type { NOTICE_SUBNET_MANAGEMENT = 3, NOTICE_INFORMATIONAL = 4 };

struct notice_gid { /* details of traps 64 and 65; 15.2.3 */
	uint8_t reserved[6], gid[16];
};
WIRE_SIZE(struct notice_gid, 22);

struct notice_caps { /* details of trap 144; 14.2.5.1 */
	be16 reserved1, lid;
	uint8_t reserved2, other_changes;
	be32 cap_mask;
	be16 change_flags;
};
WIRE_SIZE(struct notice_caps, 12);

struct inform_info { /* 13.4.8.3, 15.2.5.12 */
	uint8_t gid[16];
	be16 lid_begin, lid_end; /* begin 0xffff: all */
	be16 reserved1;
	uint8_t generic, subscribe;
	be16 type, trap;
	/* upper 24 bits: queue pair of the subscriber, for unsubscribing; low five: 4.096 us
	 * * 2^n */
	be32 qpn_resp_time;
	be32 producer; /* low 24 bits */
};
WIRE_SIZE(struct inform_info, 36);
#define SA_INFORM_LID_BEGIN (1ull << 1) /* component mask */
#define SA_INFORM_GENERIC   (1ull << 4)
#define SA_INFORM_SUBSCRIBE (1ull << 5)
#define SA_INFORM_TYPE      (1ull << 6)
#define SA_INFORM_TRAP      (1ull << 7)
#define SA_INFORM_QPN       (1ull << 8)
#define SA_INFORM_RESP_TIME (1ull << 10)
#define SA_INFORM_PRODUCER  (1ull << 12)

enum mad_node_type { MAD_NODE_CA = 1, MAD_NODE_SWITCH = 2, MAD_NODE_ROUTER = 3 };

struct node_info { /* 14.2.5.3 */
	uint8_t base_version, class_version, type, ports;
	be64 system_guid, node_guid, port_guid;
	be16 partition_cap, device_id;
	be32 revision;
	uint8_t local_port;
	be24 vendor_id;
};
WIRE_SIZE(struct node_info, 40);

struct node_record { /* 15.2.5.2 */
	be16 lid, reserved;
	struct node_info info;
	uint8_t description[64];
};
WIRE_SIZE(struct node_record, 108);

struct port_info { /* 14.2.5.6; the members this program reads */
	be64 m_key, gid_prefix;
	be16 lid, sm_lid;
	be32 cap_mask;
	be16 diag_code, lease;
	uint8_t local_port, width_enabled, width_supported, width_active;
	uint8_t speed_state; /* low four bits: enum port_state */
	uint8_t phys_down;
	uint8_t rest1[17];
	uint8_t subnet_timeout; /* client reregister (bit 7), low five bits: 4.096 us * 2^n */
	uint8_t resp_time;      /* low five bits: 4.096 us * 2^n */
	uint8_t rest2[11];
};
WIRE_SIZE(struct port_info, 64);
#define PORT_CAP_DM (1u << 19) /* IsDeviceManagementSupported */

enum port_state { PORT_DOWN = 1, PORT_INIT = 2, PORT_ARMED = 3, PORT_ACTIVE = 4 };

struct port_info_record { /* 15.2.5.3 */
	be16 lid;
	uint8_t port, options;
	struct port_info info;
};
WIRE_SIZE(struct port_info_record, 68);
#define SA_PIR_LID      (1ull << 0) /* component mask */
#define SA_PIR_PORT     (1ull << 1)
#define SA_PIR_CAP_MASK (1ull << 7)
/* attribute modifier: records with at least these bits of the capability mask */
#define SA_PIR_MATCH (1u << 31)

struct path_record { /* 15.2.5.16 */
	be64 service_id;
	uint8_t dgid[16], sgid[16];
	be16 dlid, slid;
	be32 flow_hop;
	uint8_t tclass, numb_path;
	be16 pkey;
	be16 qos_sl; /* low four bits: service level */
	uint8_t mtu, rate, life, preference;
	uint8_t reserved[6];
};
WIRE_SIZE(struct path_record, 64);
#define SA_PATH_DGID (1ull << 2)
#define SA_PATH_SGID (1ull << 3)
#define SA_PATH_DLID (1ull << 4)
#define SA_PATH_SLID (1ull << 5)
#define SA_PATH_PKEY (1ull << 13)

enum dm_slot { DM_SLOT_EMPTY = 0, DM_SLOT_PRESENT = 1, DM_SLOT_NONE = 0xf };

struct io_unit_info { /* 16.3.3.3 */
	be16 change_id;
	uint8_t max_controllers, flags;
	uint8_t list[128]; /* a nibble for each controller, the first in the upper half */
};
WIRE_SIZE(struct io_unit_info, 132);

struct ioc_profile { /* 16.3.3.4 */
	be64 guid;
	be32 vendor_id; /* upper 24 bits */
	be32 device_id;
	be16 device_version, reserved1;
	be32 subsys_vendor_id, subsys_id;
	be16 io_class, io_subclass, protocol, protocol_version;
	be32 reserved2;
	be16 send_depth;
	uint8_t reserved3, read_depth;
	be32 send_size, rdma_size;
	uint8_t operations, reserved4, services, reserved5[9];
	uint8_t id[64]; /* not always terminated */
};
WIRE_SIZE(struct ioc_profile, 128);

struct service_entry {    /* 16.3.3.5 */
	uint8_t name[40]; /* not always terminated */
	be64 id;
};
WIRE_SIZE(struct service_entry, 48);
#define DM_SERVICES_EACH 4 /* of one answer */
