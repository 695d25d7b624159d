/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI target on the frame of all targets (target.h): a connection is a session. tgt.c is the
 * whole and the sessions on the target's loop, tgt_sess.c a session on the connection's, tgt_tcp.c
 * and tgt_iser.c what carries its PDUs and data there. */
#pragma once
#include "carrier.h"
#include "login_tgt.h"
#include "scsi.h"

#define ISCSI_TGT_CONNECTIONS 1024
#define ISCSI_TGT_LOGIN_MS    10000
#define ISCSI_TGT_STALL_MS    30000
/* Silence after which an initiator is pinged; as long again, and its session ends. */
#define ISCSI_TGT_SILENT_MS 20000
#define ISCSI_TGT_DEPTH     64 /* commands of a session, as MaxCmdSN allows them */
#define ISCSI_TGT_IMMEDIATE 8  /* more of them that are immediate */
#define ISCSI_TGT_TASKS     4  /* task management functions of a session */
/* FirstBurstLength that is wanted: most that comes along with a command. An initiator that does not
 * negotiate it may send 64 KiB, and may skip the stage in which the target could offer less: there
 * is room for a few such commands, and the others end with TASK SET FULL. */
#define ISCSI_TGT_FIRST_BURST 8192u
#define ISCSI_TGT_LONG_BURSTS 8u
#define ISCSI_TGT_RECV        262144u
#define ISCSI_TGT_MAX_BURST   (16u << 20)
#define ISCSI_TGT_ANSWERS     2 /* PDUs with text that may be on their way at once */

/* MaxOutstandingUnexpectedPDUs over iSER: requests beyond the window, such as immediate commands,
 * tasks, pings, a logout */
#define ISCSI_TGT_UNEXPECTED 16

struct iscsi_tgt_node { /* one target: an iSCSI name */
	const char *name;
	struct scsi_target *scsi;
	uint32_t disks; /* of the frame's, bits */
};

struct iscsi_target {
	struct target base; /* first */
	struct iscsi_auth auth;
	struct iscsi_tgt_node node[TARGET_DISKS];
	unsigned nodes;
	/* on the target's loop */
	struct iscsi_tgt_conn *sessions;
	uint16_t last_tsih;
};

struct iscsi_tgt_pdu { /* one that is sent */
	union {
		struct iscsi_tcp_pdu tcp;
		struct { /* over iSER */
			struct ep_op op;
			uint8_t *p; /* the message */
		};
	};
};

struct iscsi_tgt_cmd {        /* the carrier's embeds it first */
	struct scsi_cmd scsi; /* first */
	uint32_t itt, inside; /* inside: bytes that came along, at `came` */
	uint8_t *came;
	/* more: unsolicited data follows; spoiled: some data had a digest error; no_room: the data
	 * was dropped */
	bool immediate, more, spoiled, no_room;
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
	bool busy, ends; /* ends: the connection, once it has left */
	uint8_t *data;   /* the carrier's, ISCSI_PDU_DATA of them */
};

struct iscsi_tgt_conn {                    /* the carrier's embeds it first */
	struct target_conn base;           /* first */
	struct iscsi_login_tgt *login;     /* NULL: over */
	struct diag refused;               /* why the login failed */
	const struct iscsi_tgt_node *node; /* NULL: a discovery session */
	struct scsi_nexus *nexus;
	char initiator[ISCSI_NAME_MAX + 1];
	uint8_t isid[6];
	bool immediate, full;           /* full: in full feature phase */
	bool unsolicited;               /* InitialR2T=No */
	uint32_t max_send, first_burst; /* max_send: data of one PDU */
	uint32_t exp_cmdsn, statsn;
	unsigned depth;   /* commands, as MaxCmdSN allows them; the carrier's */
	unsigned leaving; /* commands whose response is on its way */
	/* the PDU that arrives */
	struct iscsi_bhs bhs;
	uint32_t len;              /* of its data */
	bool unwanted;             /* the data is dropped */
	struct iscsi_tgt_cmd *cmd; /* that it is */
	uint8_t *text;             /* data of no command; the carrier's, ISCSI_PDU_DATA of them */
	char *targets;             /* text that is sent in several PDUs, from `told` on */
	size_t targets_len, told;
	struct iscsi_tgt_answer answer[ISCSI_TGT_ANSWERS];
	struct iscsi_tgt_task task[ISCSI_TGT_TASKS];
	/* Since the timer fired last: PDUs have come; a ping is unanswered. */
	struct loop_timer silence;
	bool heard, pinged;
	bool leaves; /* has logged out: nothing more is taken */
	struct scsi_tmf logout;
	be32 logout_itt;
	/* the target's loop judges the login */
	bool asking;
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

/* tgt.c */
/* Judges the login of conn on the target's loop; iscsi_tgt_judged() follows on the connection's. */
void iscsi_tgt_judge(struct iscsi_tgt_conn *);
const struct iscsi_tgt_node *iscsi_tgt_find(const struct iscsi_target *, const char *name);
/* The answer to SendTargets=which, for conn->targets: "All", "" = of this session, a name. */
int iscsi_tgt_list(struct iscsi_tgt_conn *, const char *which);

/* tgt_sess.c: for tgt.c */
void iscsi_tgt_judged(struct loop_msg *);
uint32_t iscsi_tgt_decode(struct target_cmd *);
void iscsi_tgt_closing(struct target_conn *);

/* For carriers; all on the connection's loop. */
struct iscsi_tgt_carrier {
	struct target_carrier base; /* first */
	unsigned ways;              /* enum way, that it serves */
	/* The header is copied, the data stays as it is; iscsi_tgt_sent() follows. */
	void (*send)(struct iscsi_tgt_conn *, struct iscsi_tgt_pdu *, const void *bhs,
		const void *data, uint32_t len);
	/* The login succeeds: sets max_send; has room for depth and ISCSI_TGT_IMMEDIATE commands.
	 * What else login->keys hold is from `full` on. */
	int (*live)(struct iscsi_tgt_conn *, struct diag *);
	void (*more)(struct iscsi_tgt_conn *); /* iscsi_tgt_ready() may be true again */
	bool (*recall)(struct scsi_cmd *);     /* as of struct scsi_nexus_conf */
};
/* recv_max: most data of one PDU. login->keys.own may be set next. A failure needs no undoing. */
int iscsi_tgt_open(struct iscsi_tgt_conn *, uint32_t recv_max, struct diag *);
void iscsi_tgt_free(struct iscsi_tgt_conn *);
void iscsi_tgt_broken(struct iscsi_tgt_conn *, const char *text); /* ends it for that reason */

/* Whether the next PDU can be taken. */
bool iscsi_tgt_ready(struct iscsi_tgt_conn *);
/* Takes what is in bhs, with len. Its data goes to cmd->came, which the carrier sets, or to text,
 * or nowhere if unwanted. false: the connection has ended. */
bool iscsi_tgt_head(struct iscsi_tgt_conn *);
/* Rejects it, with the reason of 11.17.1, and discards its data; needs iscsi_tgt_ready(). ends: the
 * session, once the answer has left. */
void iscsi_tgt_reject(struct iscsi_tgt_conn *, uint8_t reason, const char *ends);
/* The data is there. false: the connection has ended, or nothing more is taken for now. */
bool iscsi_tgt_took(struct iscsi_tgt_conn *);

/* The numbers that all PDUs to initiators have at the same place. ending: it ends a command. */
void iscsi_tgt_number(struct iscsi_tgt_conn *, void *bhs, bool counts, bool ending);
uint8_t iscsi_tgt_residual(const struct scsi_cmd *); /* flag */
/* Makes the response; returns the bytes of cmd->sense that are its data. iscsi_tgt_responded()
 * follows once it has left. */
uint32_t iscsi_tgt_response(struct iscsi_tgt_cmd *, struct iscsi_scsi_rsp *);
void iscsi_tgt_responded(struct iscsi_tgt_cmd *);
/* It has left. false: it is the carrier's own. */
bool iscsi_tgt_sent(struct iscsi_tgt_conn *, const struct iscsi_tgt_pdu *);

/* tgt_tcp.c */
void iscsi_tgt_incoming(struct target *, int fd, const struct addr *peer);

/* tgt_iser.c */
void iscsi_tgt_iser_incoming(struct target *, struct ep_incoming *);
