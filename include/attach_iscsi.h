/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Attach iSCSI targets through the kernel's initiators, over TCP and iSER; logins are our own. */
#pragma once
#include "attach.h"
#include "iscsi.h"
#include "kernel_iscsi_nl.h"

/* --- Settings of a session. One table has our names and open-iscsi's. */
enum iscsi_setting_kind {
	ISCSI_SET_NUMBER,  /* uint32_t */
	ISCSI_SET_SECONDS, /* int32_t; -1 where min is -1 */
	ISCSI_SET_BYTES,   /* uint32_t; in option and record plain numbers, K and M */
	ISCSI_SET_BOOL,    /* uint32_t; Yes No yes no on off 1 0 */
	/* uint32_t, enum iscsi_digest; None, CRC32C, "CRC32C,None", "None,CRC32C" */
	ISCSI_SET_DIGEST,
};
struct iscsi_settings {
	/* the kernel's; of a live session all but the last four can change */
	/* seconds to hold I/O while the connection is lost; 0 = fail at once, -1 = forever */
	int32_t replacement_timeout;
	int32_t noop_interval, noop_timeout; /* 0: no pings */
	int32_t abort_timeout, lu_reset_timeout, tgt_reset_timeout;
	uint32_t fast_abort;
	uint32_t cmds_max, queue_depth, nr_sessions;
	int32_t login_timeout;
	/* what is offered; iSER has no digests */
	uint32_t header_digest, data_digest;
	uint32_t initial_r2t, immediate_data, first_burst, max_burst, max_recv,
		max_xmit /* 0: as the target declares */, max_r2t;
};
struct iscsi_setting {
	const char *option; /* "replacement-timeout": iser-login's, without dashes */
	/* "node.session.timeo.replacement_timeout": iscsistart -P's and iscsid.conf's */
	const char *record;
	uint8_t kind; /* enum iscsi_setting_kind */
	uint16_t at;  /* in struct iscsi_settings; 32 bits */
	bool live;    /* can change in a session */
	int32_t min, max, initial;
	const char *help;
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
extern const struct iscsi_setting iscsi_setting[ISCSI_SETTINGS];
void iscsi_settings_init(struct iscsi_settings *); /* the initial values, which are open-iscsi's */
/* By either name; "node.conn[0]." and "node.conn." are the same. -ENOENT: it is none (a record such
 * as iface.transport_name is the caller's); -EINVAL, -ERANGE: what is wrong with the value, after
 * the name as it was given. */
int iscsi_settings_set(struct iscsi_settings *, const char *name, const char *value, struct diag *);

/* --- A wanted session. The caller keeps the strings until the attachment is over. */
struct iscsi_want {
	/* all but the target may be NULL; of iBFT, for the kernel to keep: boot_* */
	const char *target, *iface, *boot_root, *boot_nic, *boot_target;
	struct addr portal; /* where to begin; the kernel's persistent address */
	struct addr src;    /* family 0: any */
	const char *netdev; /* NULL: any */
	uint8_t carrier;    /* enum iscsi_carrier */
	int tpgt;           /* -1: any; another group than this is -ENOENT */
	unsigned nth;       /* 0: the first session to this target and portal */
	const struct iscsi_from *from;
	struct iscsi_settings set;
};

/* One connection: connect, log in, follow redirects, set every parameter, start. It is the same for
 * a new session and for one whose connection was lost (again): the keeper is no more than a caller
 * of this. Embedded in its owner; stays where it is until it is over. */
struct iscsi_link {
	/* The owner's, zeroes else; what is pointed to lives until it is over */
	const struct iscsi_want *want;
	struct kernel_iscsi *nl;
	uint64_t transport;      /* the handle of the kernel's */
	bool again;              /* connection `id` of a session that exists */
	bool numbers;            /* as of struct iscsi_dial */
	struct iscsi_if_conn id; /* filled in for a new one */
	uint64_t until;          /* loop_clock, 0 = set.login_timeout alone */
	/* once, from the loop: dial.why tells. Not after iscsi_link_end() */
	void (*done)(struct iscsi_link *);
	void *user;

	/* Filled in */
	/* why.err 0: the connection is live, the kernel has it, nothing is scanned yet */
	struct iscsi_dial dial;
	uint32_t host; /* number of the SCSI host; of a new session */

	/* private from here */
	struct kernel_iscsi_conn *conn;
	struct iscsi_offer offer;
	uint8_t isid[6];
};
void iscsi_link_start(struct iscsi_link *);
/* Any time, begun or not. What was half done is undone: a new session is gone, one of before is
 * without connection. */
void iscsi_link_end(struct iscsi_link *);

/* --- Whole sessions. Those of one loop that want the same one share it: to all but the first it
 * existed, and it stays if any of them gets its disks. */
struct attach_iscsi {
	struct attach attach; /* .proto: attach_iscsi_row, .what: "session3" */
	struct iscsi_want want;
	bool due; /* for iscsi_attach() */
	/* NULL, or looked up at each attempt while want.portal has no address */
	const char *host;
	uint16_t port;
	void *user; /* the owner's */
	/* NULL, or adds a hint to attach.why, as the kernel lacks the module */
	void (*no_module)(struct attach_iscsi *);

	/* Filled in. To detach: sid, cid and luns.host, by the owner. */
	bool existed; /* was logged in before */
	uint32_t sid, cid;
	struct iscsi_login_result result;
	/* .lun: the owner's, SCSI_LUN_ALL or the only one to wait for */
	struct attach_luns luns; /* attach_luns_free() */

	/* private from here */
	struct iscsi_initiator *initiator; /* what those of a loop share */
	struct attach_iscsi *next, *leader;
	bool follows, dials, dialled, has_turn;
	uint64_t turn;
	struct attach_iscsi_ready {
		struct diag why;
		struct kernel_iscsi_transport transport;
	} ready;
	struct loop_timer timer;
	struct loop_work work;
	struct resolve resolve;
	struct attach_reach reach;
	int keeper; /* process that logs in again to the session that was lost */
	struct iscsi_link link;
	struct child_call scan;
	struct iscsi_ask *ask; /* why iSER is not possible, and whether TCP is */
	unsigned asking;
	struct kernel_iscsi_conn *leaving;
	uint64_t gone_by; /* time limit of the session's removal; 0 = none */
};
extern const struct attach_proto attach_iscsi_row;
/* Attach those that are `due` and have an address or a host: all at once, from the start, with the
 * attempts that .attach allows (limit_ms, retry_ms, retrying). Clears due. Runs the loop until they
 * are over. 0: each has its result. */
int iscsi_attach(struct loop *, int root, struct attach_iscsi *, unsigned count, uint64_t until,
	struct diag *);

/* Changes settings of a session that is logged in: those of `given`, bits by the order of
 * iscsi_setting[]. -EINVAL: one that is for new ones. */
int iscsi_adjust(struct loop *, int root, enum iscsi_carrier, struct iscsi_if_conn,
	const struct iscsi_settings *, uint32_t given, struct diag *);
