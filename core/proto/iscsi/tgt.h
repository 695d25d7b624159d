/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI target on the frame of all targets (target.h): a connection is a session. tgt.c: the
 * target and its list of sessions, on the target's loop. tgt_sess.c: a session, on its connection's
 * loop. tgt_tcp.c, tgt_iser.c: carriers, which move its PDUs and data there. */
#pragma once
#include "ep.h"
#include "initiators.h"
#include "login_tgt.h"
#include "pdu.h"
#include "scsi.h"
#include <pthread.h>

#define ISCSI_TGT_CONNECTIONS 1024
#define ISCSI_TGT_LOGIN_MS    10000
#define ISCSI_TGT_STALL_MS    30000
/* Ping an initiator that has been silent for this time; end its session after as long again. */
#define ISCSI_TGT_SILENT_MS 20000
#define ISCSI_TGT_DEPTH     64 /* commands of a session that MaxCmdSN allows */
#define ISCSI_TGT_IMMEDIATE 8  /* immediate commands on top of that */
#define ISCSI_TGT_TASKS     4  /* task management functions of a session */
/* Offered FirstBurstLength. An initiator that does not negotiate it may send 64 KiB, and may skip
 * the operational stage in which the target could offer less: there is room for a few such
 * commands, others end with TASK SET FULL. */
#define ISCSI_TGT_FIRST_BURST 8192u
#define ISCSI_TGT_LONG_BURSTS 8u
#define ISCSI_TGT_RECV        262144u
#define ISCSI_TGT_MAX_BURST   (16u << 20)
#define ISCSI_TGT_ANSWERS     2 /* PDUs with text in flight */

/* MaxOutstandingUnexpectedPDUs over iSER: requests beyond the window, such as immediate commands,
 * task management, pings, a logout */
#define ISCSI_TGT_UNEXPECTED 16

struct iscsi_tgt_node { /* one target: an iSCSI name */
	const char *name;
	struct scsi_target *scsi;
	uint32_t disks; /* bits: indexes of the frame's disks */
};

/* A session whose connection was lost: the target knows it until DefaultTime2Retain has passed or
 * its initiator port logs in again (RFC 7143, 6.3.5 and 13.16). Its commands have ended. */
struct iscsi_tgt_lost {
	struct iscsi_tgt_lost *next;
	const struct iscsi_tgt_node *node;
	uint64_t until;
	uint16_t portal_group, tsih;
	uint8_t isid[6];
	char initiator[];
};

struct iscsi_target {
	struct target base; /* first */
	struct iscsi_tgt_node node[TARGET_DISKS];
	unsigned nodes;
	char decoy[33]; /* the secret of unknown initiators */
	/* of base.opt.initiators; the target's loop replaces it, and needs no lock to read it */
	pthread_mutex_t initiators_lock;
	/* on the target's loop */
	struct iscsi_tgt_conn *sessions; /* the newest first */
	struct iscsi_tgt_lost *lost;     /* the newest first, up to ISCSI_TGT_CONNECTIONS */
	uint16_t last_tsih;
};

struct iscsi_tgt_pdu { /* a PDU to send */
	union {
		struct iscsi_tcp_pdu tcp;
		struct { /* over iSER */
			struct ep_op op;
			uint8_t *p; /* the message */
		};
	};
};

struct iscsi_tgt_cmd {        /* first member of the carrier's command */
	struct scsi_cmd scsi; /* first */
	/* immediate data and, after it, unsolicited Data-Out received so far */
	uint32_t itt, unsolicited_len;
	uint8_t *unsolicited_data;
	/* immediate_cmd: delivered immediately (the I bit). unsolicited_pending: more unsolicited
	 * data follows. no_room: its data was dropped; it ends with TASK SET FULL. */
	bool immediate_cmd, unsolicited_pending, digest_error, no_room;
	uint8_t sense[2 + SCSI_SENSE];
};

struct iscsi_tgt_task {      /* a task management function */
	struct scsi_tmf tmf; /* first */
	struct iscsi_tgt_conn *conn;
	uint32_t itt;
	bool busy;
	struct iscsi_tgt_pdu rsp;
};

struct iscsi_tgt_answer { /* to a login, a text, a ping, a logout */
	struct iscsi_tgt_pdu pdu;
	bool busy, ends_session; /* ends_session: once it is sent */
	uint8_t *data;           /* ISCSI_PDU_DATA bytes, the carrier's */
};

struct iscsi_tgt_conn {                    /* first member of the carrier's connection */
	struct target_conn base;           /* first */
	struct iscsi_login_tgt *login;     /* NULL: finished */
	struct iscsi_initiator *chap;      /* names and secrets, during the login */
	struct diag refused;               /* why the login failed */
	const struct iscsi_tgt_node *node; /* NULL: a discovery session, or unknown_node */
	bool authenticates;                /* with CHAP */
	bool own_line;                     /* of the initiators, not "*" */
	bool unknown_node; /* a fact that the initiator gets once it has authenticated */
	struct scsi_nexus *nexus;
	char initiator[ISCSI_NAME_MAX + 1];
	uint8_t isid[6];
	bool immediate_data, full_feature; /* ImmediateData=Yes; in full feature phase */
	bool unsolicited;                  /* InitialR2T=No */
	uint32_t max_send, first_burst;    /* bytes; max_send: longest data segment to send */
	uint32_t time2retain;              /* s */
	uint32_t exp_cmdsn, statsn;
	unsigned depth;               /* commands that MaxCmdSN allows; set by the carrier */
	unsigned responses_in_flight; /* commands with an unsent response */
	/* the PDU being received */
	struct iscsi_bhs bhs;
	uint32_t len; /* of its data */
	bool discard_data;
	struct iscsi_tgt_cmd *cmd; /* NULL: not a command */
	uint8_t *text;             /* data of other PDUs: ISCSI_PDU_DATA bytes, the carrier's */
	char *targets;             /* answer to SendTargets; targets_sent bytes of it are sent */
	size_t targets_len, targets_sent;
	struct iscsi_tgt_answer answer[ISCSI_TGT_ANSWERS];
	struct iscsi_tgt_task task[ISCSI_TGT_TASKS];
	struct loop_timer silence;
	bool rx_since_ping, ping_outstanding; /* rx_since_ping: since `silence` fired last */
	bool logged_out;                      /* accept no further PDU */
	struct scsi_tmf logout;
	be32 logout_itt;
	bool login_pending; /* the target's loop authorizes the login */
	struct loop_msg hop;
	uint16_t status, tsih;
	/* on the target's loop */
	struct iscsi_tgt_conn *next, **link; /* of the sessions */
	struct target_fence fence;
};

static inline struct iscsi_target *iscsi_tgt_of(const struct iscsi_tgt_conn *conn)
{
	return (struct iscsi_target *)conn->base.target;
}

/* The groups of listeners are portal groups. */
static inline uint16_t iscsi_tgt_portal_group(const struct iscsi_tgt_conn *conn)
{
	return target_port_group(conn->base.target, conn->base.port);
}

/* tgt.c */
/* Authorize the login on the target's loop and reinstate the session, or refuse to add a connection
 * to one; iscsi_tgt_authorized() follows on the connection's loop, with conn->status. */
void iscsi_tgt_authorize(struct iscsi_tgt_conn *);
/* Report on the target's loop why the initiator has failed to authenticate; iscsi_tgt_authorized()
 * follows. */
void iscsi_tgt_report_failure(struct iscsi_tgt_conn *);
const struct iscsi_tgt_node *iscsi_tgt_find(const struct iscsi_target *, const char *name);
/* Build the answer to SendTargets=which in conn->targets: "All", a name, or "": this session's
 * target. Empty if the initiator has been removed since its login. -ENOMEM. */
int iscsi_tgt_list_targets(struct iscsi_tgt_conn *, const char *which);

/* tgt_sess.c, for tgt.c */
void iscsi_tgt_authorized(struct loop_msg *);
uint32_t iscsi_tgt_decode(struct target_cmd *);
void iscsi_tgt_closing(struct target_conn *);

/* How the PDUs of a session travel. Everything below runs on the connection's loop. */
struct iscsi_tgt_carrier {
	struct target_carrier base; /* first */
	unsigned transports;        /* bits of the listener's transports that it serves */
	/* Send a PDU: the header is copied, data must stay valid until iscsi_tgt_pdu_sent(). */
	void (*send)(struct iscsi_tgt_conn *, struct iscsi_tgt_pdu *, const void *bhs,
		const void *data, uint32_t len);
	/* The login succeeds: set max_send, make room for depth + ISCSI_TGT_IMMEDIATE commands.
	 * Other values of login->keys apply once full_feature is set. */
	int (*enter_full_feature)(struct iscsi_tgt_conn *, struct diag *);
	void (*resume_rx)(struct iscsi_tgt_conn *); /* iscsi_tgt_can_receive() may be true again */
	bool (*recall)(struct scsi_cmd *);          /* of struct scsi_nexus_conf */
};
/* Start the login. recv_max: longest data segment to receive. The carrier may set login->keys.own[]
 * next. A failure leaves nothing to free. */
int iscsi_tgt_open(struct iscsi_tgt_conn *, uint32_t recv_max, struct diag *);
void iscsi_tgt_free(struct iscsi_tgt_conn *);
void iscsi_tgt_protocol_error(struct iscsi_tgt_conn *, const char *text); /* end the connection */

/* Return whether the next PDU may be received now; resume_rx() tells when to ask again. */
bool iscsi_tgt_can_receive(struct iscsi_tgt_conn *);
/* Process the header in bhs, with len. The carrier then stores the data: of a command where it
 * points cmd->unsolicited_data, of other PDUs in text, or nowhere if discard_data. false: the
 * connection has ended. */
bool iscsi_tgt_begin_pdu(struct iscsi_tgt_conn *);
/* Reject the PDU with a reason of 11.17.1 and discard its data; needs iscsi_tgt_can_receive().
 * ends: NULL, or why the session ends once the Reject is sent. */
void iscsi_tgt_reject(struct iscsi_tgt_conn *, uint8_t reason, const char *ends);
/* Process a complete PDU. false: the connection has ended, or must not receive for now. */
bool iscsi_tgt_dispatch_pdu(struct iscsi_tgt_conn *);

/* Set StatSN, ExpCmdSN and MaxCmdSN. counts: advance StatSN. ending: the PDU ends a command. */
void iscsi_tgt_set_numbers(struct iscsi_tgt_conn *, void *bhs, bool counts, bool ending);
uint8_t iscsi_tgt_residual(const struct scsi_cmd *); /* the residual flag of a response */
/* Make the response of a command; return the length of its data, which is cmd->sense. Call
 * iscsi_tgt_response_sent() once it is sent. */
uint32_t iscsi_tgt_make_response(struct iscsi_tgt_cmd *, struct iscsi_scsi_rsp *);
void iscsi_tgt_response_sent(struct iscsi_tgt_cmd *);
/* A PDU is sent. false: it belongs to the carrier. */
bool iscsi_tgt_pdu_sent(struct iscsi_tgt_conn *, const struct iscsi_tgt_pdu *);

/* tgt_tcp.c */
void iscsi_tgt_incoming(struct target *, int fd, const struct addr *peer);

/* tgt_iser.c */
void iscsi_tgt_iser_incoming(struct target *, struct ep_incoming *);
