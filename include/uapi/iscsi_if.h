/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NETLINK_ISCSI: what userspace tells the kernel's iSCSI transport class and hears of it
 * (scsi/iscsi_if.h of Linux 6.12; the layout has not changed since 2.6.32). Numbers are the
 * machine's own, behind a struct nlmsghdr whose type is the command's. */
#pragma once
#include <stdint.h>

#define ISCSI_IF_GROUP 1u /* of multicast, in which all events come */

enum iscsi_if_command {
	ISCSI_IF_CREATE_SESSION = 11,
	ISCSI_IF_DESTROY_SESSION = 12,
	ISCSI_IF_CREATE_CONN = 13,
	ISCSI_IF_DESTROY_CONN = 14,
	ISCSI_IF_BIND_CONN = 15,
	ISCSI_IF_SET_PARAM = 16,
	ISCSI_IF_START_CONN = 17,
	ISCSI_IF_STOP_CONN = 18,
	ISCSI_IF_SEND_PDU = 19,
	ISCSI_IF_EP_CONNECT = 22,
	ISCSI_IF_EP_POLL = 23,
	ISCSI_IF_EP_DISCONNECT = 24,
	ISCSI_IF_SET_HOST_PARAM = 26,
	ISCSI_IF_UNBIND_SESSION = 27,
	ISCSI_IF_CREATE_BOUND_SESSION = 28,
	ISCSI_IF_DESTROY_SESSION_ASYNC = 43, /* -ENOSYS: too old a kernel */
};

enum iscsi_if_event {
	ISCSI_IF_RECV_PDU = 101,
	ISCSI_IF_CONN_ERROR = 102,
	/* the type of an answer to a command that was refused; why is in iferror */
	ISCSI_IF_ERROR = 103,
	ISCSI_IF_SESSION_DESTROYED = 104,
	ISCSI_IF_SESSION_UNBOUND = 105, /* its disks are gone */
	ISCSI_IF_SESSION_CREATED = 106,
	ISCSI_IF_CONN_LOGIN_STATE = 109,
};

enum iscsi_if_stop { ISCSI_IF_TERM = 1, ISCSI_IF_RECOVER = 3 };

/* The parameters that are set here; all travel as text. */
enum iscsi_if_param {
	ISCSI_IF_MAX_RECV = 0,
	ISCSI_IF_MAX_XMIT = 1,
	ISCSI_IF_HEADER_DIGEST = 2,
	ISCSI_IF_DATA_DIGEST = 3,
	ISCSI_IF_INITIAL_R2T = 4,
	ISCSI_IF_MAX_R2T = 5,
	ISCSI_IF_IMMEDIATE_DATA = 6,
	ISCSI_IF_FIRST_BURST = 7,
	ISCSI_IF_MAX_BURST = 8,
	ISCSI_IF_PDU_IN_ORDER = 9,
	ISCSI_IF_SEQUENCE_IN_ORDER = 10,
	ISCSI_IF_ERL = 11,
	ISCSI_IF_EXP_STATSN = 14,
	ISCSI_IF_TARGET_NAME = 15,
	ISCSI_IF_TPGT = 16,
	ISCSI_IF_PERSISTENT_ADDRESS = 17,
	ISCSI_IF_PERSISTENT_PORT = 18,
	ISCSI_IF_RECOVERY_TMO = 19,
	ISCSI_IF_USERNAME = 22,
	ISCSI_IF_USERNAME_IN = 23,
	ISCSI_IF_PASSWORD = 24,
	ISCSI_IF_PASSWORD_IN = 25,
	ISCSI_IF_FAST_ABORT = 26,
	ISCSI_IF_ABORT_TMO = 27,
	ISCSI_IF_LU_RESET_TMO = 28,
	ISCSI_IF_PING_TMO = 30,
	ISCSI_IF_RECV_TMO = 31,
	ISCSI_IF_IFACE_NAME = 32,
	ISCSI_IF_INITIATOR_NAME = 34,
	ISCSI_IF_TGT_RESET_TMO = 35,
	ISCSI_IF_BOOT_ROOT = 39,
	ISCSI_IF_BOOT_NIC = 40,
	ISCSI_IF_BOOT_TARGET = 41,
};
enum iscsi_if_host_param { ISCSI_IF_HOST_HWADDRESS = 0, ISCSI_IF_HOST_NETDEV = 2 };

/* Of conn_error */
enum iscsi_if_reason {
	ISCSI_IF_CONN_FAILED = 1011,
	ISCSI_IF_SESSION_FAILED = 1013,
	ISCSI_IF_XMIT_FAILED = 1019,
	ISCSI_IF_CONN_CLOSED = 1020,
	ISCSI_IF_SCSI_RESET = 1021,
	ISCSI_IF_NOP_TIMEDOUT = 1022,
};

struct iscsi_if_conn { /* the object of most commands and events */
	uint32_t sid, cid;
};

struct iscsi_if_msg {
	uint32_t type;      /* as that of the header, or ISCSI_IF_ERROR */
	uint32_t iferror;   /* -errno */
	uint64_t transport; /* its handle */
	union {             /* request */
		struct {
			uint32_t cmdsn;
			uint16_t cmds_max, queue_depth;
		} create;
		struct {
			uint64_t ep;
			uint32_t cmdsn;
			uint16_t cmds_max, queue_depth;
		} create_bound;
		uint32_t sid;              /* destroy, unbind */
		struct iscsi_if_conn conn; /* create, destroy, start */
		struct {
			struct iscsi_if_conn conn;
			uint64_t ep; /* or a descriptor of the sender's */
			uint32_t leading;
		} bind;
		struct {
			struct iscsi_if_conn conn;
			uint32_t header, data; /* bytes that follow */
		} pdu;
		struct {
			struct iscsi_if_conn conn;
			uint32_t param, len; /* of the text that follows, its end included */
		} set;
		struct {
			uint32_t host, param, len;
		} set_host;
		struct {
			struct iscsi_if_conn conn;
			uint64_t unused;
			uint32_t flag;
		} stop;
		uint32_t ep_nonblocking; /* connect; a struct sockaddr follows */
		struct {
			uint64_t ep;
			uint32_t timeout_ms;
		} ep_poll;
		uint64_t ep; /* disconnect */
	} u;
	union { /* reply or event */
		int32_t code;
		struct {
			uint32_t sid, host;
		} session; /* created, unbound */
		struct iscsi_if_conn conn;
		struct {
			struct iscsi_if_conn conn;
			uint64_t unused;
		} recv;
		struct {
			struct iscsi_if_conn conn;
			uint32_t value; /* reason or state */
		} state;
		struct {
			uint32_t host, sid;
		} gone; /* destroyed */
		uint64_t ep;
	} r;
};
_Static_assert(sizeof(struct iscsi_if_msg) == 56 && _Alignof(struct iscsi_if_msg) <= 8,
	"struct iscsi_uevent");
