/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach iSCSI targets through the kernel's initiators, over TCP and iSER. The login protocol runs
 * in userspace. */
#pragma once
#include "attach.h"
#include "iscsi.h"
#include "kernel_iscsi_nl.h"

/* --- Settings of a session, by our names and open-iscsi's. */
struct iscsi_settings {
	/* seconds to hold I/O after a connection loss; 0: fail at once, -1: forever */
	int32_t replacement_timeout;
	int32_t noop_interval, noop_timeout; /* 0: no pings */
	int32_t abort_timeout, lu_reset_timeout, tgt_reset_timeout;
	uint32_t fast_abort;
	uint32_t cmds_max, queue_depth, nr_sessions;
	int32_t login_timeout;
	/* offered in the login; digests: TCP only */
	uint32_t header_digest, data_digest;
	uint32_t initial_r2t, immediate_data, first_burst, max_burst, max_recv,
		max_xmit /* 0: the target's limit */, max_r2t;
};
/* X(field, option, record, kind, live, min, max, initial, help) */
#define ISCSI_SETTING_LIST(X)                                                                      \
	X(replacement_timeout, "replacement-timeout", "node.session.timeo.replacement_timeout",    \
		SECONDS, true, -1, 86400, 120,                                                     \
		"--on-loss as the kernel stores it; 0: fail-fast, -1: forever; default 60")        \
	X(noop_interval, "noop-interval", "node.conn[0].timeo.noop_out_interval", SECONDS, true,   \
		0, 86400, 5, "interval of pings on an idle connection; 0: no pings; default 5")    \
	X(noop_timeout, "noop-timeout", "node.conn[0].timeo.noop_out_timeout", SECONDS, true, 0,   \
		86400, 5,                                                                          \
		"close the connection if a ping is unanswered this long; 0: only without pings; "  \
		"default 5")                                                                       \
	X(abort_timeout, "abort-timeout", "node.session.err_timeo.abort_timeout", SECONDS, true,   \
		0, 86400, 15,                                                                      \
		"time for the target to abort a command; 0: do not wait; default 15")              \
	X(lu_reset_timeout, "lu-reset-timeout", "node.session.err_timeo.lu_reset_timeout",         \
		SECONDS, true, 0, 86400, 30,                                                       \
		"time for the target to reset a LUN; 0: do not wait; default 30")                  \
	X(tgt_reset_timeout, "tgt-reset-timeout", "node.session.err_timeo.tgt_reset_timeout",      \
		SECONDS, true, 0, 86400, 30,                                                       \
		"time for the target to reset itself; 0: do not wait; default 30")                 \
	X(fast_abort, "fast-abort", "node.session.iscsi.FastAbort", BOOL, true, 0, 1, 1,           \
		"do not wait for data of aborted commands; default yes")                           \
	X(cmds_max, "cmds-max", "node.session.cmds_max", NUMBER, false, 16, 2048, 128,             \
		"commands in flight per session, a power of 2; default 128")                       \
	X(queue_depth, "queue-depth", "node.session.queue_depth", NUMBER, false, 1, 1024, 32,      \
		"commands in flight per LUN; default 32")                                          \
	X(nr_sessions, "sessions", "node.session.nr_sessions", NUMBER, false, 1, 32, 1,            \
		"sessions per portal; default 1")                                                  \
	X(login_timeout, "login-timeout", "node.conn[0].timeo.login_timeout", SECONDS, false, 1,   \
		86400, 15, "time limit of one login, including the connection; default 15")        \
	X(header_digest, "header-digest", "node.conn[0].iscsi.HeaderDigest", DIGEST, false, 0, 3,  \
		0, "TCP: None, CRC32C, or both in order of preference; default None")              \
	X(data_digest, "data-digest", "node.conn[0].iscsi.DataDigest", DIGEST, false, 0, 3, 0,     \
		"TCP: the same for data; default None")                                            \
	X(initial_r2t, "initial-r2t", "node.session.iscsi.InitialR2T", BOOL, false, 0, 1, 0,       \
		"send no data before the target requests it; default no")                          \
	X(immediate_data, "immediate-data", "node.session.iscsi.ImmediateData", BOOL, false, 0, 1, \
		1, "send data in the command's PDU; default yes")                                  \
	X(first_burst, "first-burst", "node.session.iscsi.FirstBurstLength", BYTES, false, 512,    \
		16777215, 262144, "largest unsolicited data of a command; default 256K")           \
	X(max_burst, "max-burst", "node.session.iscsi.MaxBurstLength", BYTES, false, 512,          \
		16777215, 16776192, "largest data per request of the target; default 16776192")    \
	X(max_recv, "max-recv", "node.conn[0].iscsi.MaxRecvDataSegmentLength", BYTES, false, 512,  \
		16777215, 262144, "largest data segment to receive; default 256K")                 \
	X(max_xmit, "max-xmit", "node.conn[0].iscsi.MaxXmitDataSegmentLength", BYTES, false, 0,    \
		16777215, 0, "largest data segment to send; 0: the target's limit; default 0")     \
	X(max_r2t, "max-r2t", "node.session.iscsi.MaxOutstandingR2T", NUMBER, false, 1, 65535, 1,  \
		"outstanding data requests per command; default 1")
#define ISCSI_SETTING_COUNT(...) +1
enum { ISCSI_SETTINGS = ISCSI_SETTING_LIST(ISCSI_SETTING_COUNT) };
/* Set all values to open-iscsi's defaults. */
void iscsi_settings_init(struct iscsi_settings *);
/* --- Parameters of a session. The caller keeps the strings until the attachment has ended. */
struct iscsi_session_params {
	const char *target;
	/* for the kernel to store and report; NULL: unset. boot_*: of the iBFT */
	const char *iface, *boot_root, *boot_nic, *boot_target;
	struct addr portal; /* before any redirect: the kernel's persistent address */
	struct addr src;    /* family 0: any */
	const char *netdev; /* NULL: any */
	uint8_t carrier;    /* enum iscsi_carrier */
	int tpgt;           /* required portal group, -ENOENT if it differs; -1: any */
	unsigned nth;       /* of several sessions to this target and portal, from 0 */
	const struct iscsi_identity *from;
	struct iscsi_settings set;
};

/* One login through the kernel: connect, log in, follow redirects, set all parameters, start. For a
 * new session, or to recover one whose connection was lost. Must not move until it has ended. */
struct iscsi_link { /* zeroed, then set by the owner; pointers must stay valid until the end */
	const struct iscsi_session_params *params;
	struct kernel_iscsi *nl;
	uint64_t transport;                /* the kernel's handle */
	bool recover;                      /* log in connection `id` of an existing session */
	bool numeric_only;                 /* as in struct iscsi_dial */
	struct iscsi_if_conn id;           /* filled in for a new session */
	uint64_t until;                    /* loop_clock(); 0: set.login_timeout only */
	void (*done)(struct iscsi_link *); /* once, from the loop; not after iscsi_link_end() */
	void *user;

	/* Filled in. dial.why.err 0: the kernel has the connection; LUNs are not scanned yet. */
	struct iscsi_dial dial;
	uint32_t host; /* SCSI host of a new session */

	/* private from here */
	struct kernel_iscsi_conn *conn;
	struct iscsi_offered_params offered;
	uint8_t isid[6];
};
void iscsi_link_start(struct iscsi_link *);
/* Cancel or release it; any time, started or not. If the login was incomplete, a new session is
 * removed, and an existing one is left without a connection. */
void iscsi_link_end(struct iscsi_link *);

/* --- Attach a session. Attachments of one loop with equal parameters share a session: only the
 * first creates it, and it stays if any of them succeeds. */
struct attach_iscsi {
	struct attach attach; /* .proto: attach_iscsi_row, .what: "session3" */
	struct iscsi_session_params params;
	bool due;             /* to be attached by iscsi_attach() */
	bool no_lookup_limit; /* of the name; otherwise login_timeout */
	/* resolved unless params.portal has an address; NULL: it has one */
	const char *host;
	uint16_t port;
	/* Called once params.portal has an address, before it is used. May be NULL. */
	void (*found)(struct attach_iscsi *);
	void *user; /* the owner's */
	/* Add a hint to attach.why: a kernel module is missing. May be NULL. */
	void (*no_module)(struct attach_iscsi *);

	/* Filled in. To detach, the owner sets sid, cid and luns.host. */
	bool existed; /* was logged in before */
	uint32_t sid, cid;
	struct iscsi_login_result result;
	/* .lun is set by the owner: SCSI_LUN_ALL, or the only one to wait for */
	struct attach_luns luns; /* attach_luns_free() */

	/* private from here */
	struct iscsi_initiator *initiator; /* shared by the attachments of a loop */
	struct attach_iscsi *next, *leader;
	bool following, connecting, connected, holds_login_lock;
	uint64_t login_lock_id;
	struct attach_iscsi_ready {
		struct diag why;
		struct kernel_iscsi_transport transport;
	} ready;
	struct loop_timer timer;
	struct loop_work work;
	int monitor_pid; /* of the process that recovers the session */
	struct iscsi_link link;
	struct child_call scan;
	struct iscsi_discovery *ask; /* why iSER failed, and whether TCP works */
	unsigned asks_pending;
	struct kernel_iscsi_conn *removing;
	uint64_t removal_deadline; /* 0: none */
};
extern const struct attach_proto attach_iscsi_row;
/* Start all that are `due` and have an address or a host, as a group, and clear due. Their .attach
 * may have limit_ms, retry_ms, retrying, find_only and no_wait set; the rest is overwritten. until:
 * the deadline, 0: none. The results are in .attach.why. */
void iscsi_attach_start(struct attach_group *, struct loop *, int root, struct attach_iscsi *,
	unsigned count, uint64_t until);
/* The same to the end, running the loop. Return 0 or -errno, as attach_run(). */
int iscsi_attach(struct loop *, int root, struct attach_iscsi *, unsigned count, uint64_t until,
	struct diag *);

/* Change settings of an existing session: the bits of `given` are in the order of iscsi_setting[].
 * May block. -EINVAL: one of them applies to new sessions only; -EBUSY: it has no connection. */
int iscsi_adjust(struct loop *, int root, enum iscsi_carrier, struct iscsi_if_conn,
	const struct iscsi_settings *, uint32_t given, struct diag *);
