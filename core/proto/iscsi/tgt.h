/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The iSCSI target on the frame of all targets (target.h): a connection is a session. tgt.c is the
 * whole and the sessions on the target's loop, tgt_tcp.c the PDUs on the connection's. */
#pragma once
#include "cutter.h"
#include "iscsi_target.h"
#include "login_tgt.h"
#include "scsi.h"
#include "stream.h"

#define ISCSI_TGT_CONNECTIONS 1024
#define ISCSI_TGT_LOGIN_MS    10000
#define ISCSI_TGT_STALL_MS    30000
#define ISCSI_TGT_DEPTH       64 /* commands of a session, as MaxCmdSN allows them */
#define ISCSI_TGT_IMMEDIATE   8  /* more of them that are immediate */
#define ISCSI_TGT_TASKS       4  /* task management functions of a session */
/* FirstBurstLength that is wanted: most that comes along with a command. Each has memory for
 * whatever holds, which is 64 KiB for an initiator that does not negotiate it. */
#define ISCSI_TGT_FIRST_BURST 8192u
#define ISCSI_TGT_RECV        262144u
#define ISCSI_TGT_MAX_BURST   (16u << 20)
#define ISCSI_TGT_ANSWERS     2 /* PDUs with text that may be on their way at once */
#define ISCSI_TGT_HEAD        (ISCSI_BHS + 255 * 4 + ISCSI_DIGEST)
#define ISCSI_DIGEST          4

struct iscsi_tgt_node { /* one target: an iSCSI name */
	const char *name;
	struct scsi_target *scsi;
	uint32_t disks; /* of the frame's, bits */
};

struct iscsi_target {
	struct target base; /* first */
	struct iscsi_target_options opt;
	struct iscsi_tgt_node node[ISCSI_TARGET_DISKS];
	unsigned nodes;
	/* on the target's loop */
	struct iscsi_tgt_conn *sessions;
	uint16_t last_tsih;
};

struct iscsi_tgt_pdu { /* one that is sent */
	struct stream_out out;
	uint8_t head[ISCSI_BHS + ISCSI_DIGEST];
	uint8_t tail[3 + ISCSI_DIGEST];
};

struct iscsi_tgt_cmd {
	struct scsi_cmd scsi;       /* first */
	uint32_t itt, inside, want; /* inside: bytes that came along; want: of the piece */
	uint32_t got, burst, out;   /* of the piece; of the R2T still to come; given to Data-In */
	uint32_t datasn, in_datasn; /* of the next Data-Out; Data-In and R2T so far */
	uint16_t round;             /* of this slot, part of its transfer tags */
	bool last, with_status;     /* the piece is the last; the status is in its Data-In */
	bool asking, abandoned;     /* the R2T has not left yet; taken back, but not over */
	bool immediate;
	struct iscsi_tgt_pdu data, rsp;
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
	uint8_t data[ISCSI_PDU_DATA];
};

struct iscsi_tgt_conn {
	struct target_conn base; /* first */
	int fd;                  /* until opened */
	struct stream *stream;
	struct cutter cutter;
	struct iscsi_login_tgt *login;     /* NULL: over */
	struct diag refused;               /* why the login failed */
	const struct iscsi_tgt_node *node; /* NULL: a discovery session */
	struct scsi_nexus *nexus;
	char initiator[ISCSI_NAME_MAX + 1];
	uint8_t isid[6];
	bool header_digest, data_digest, immediate, full; /* full: in full feature phase */
	uint32_t max_send, max_burst, first_burst;        /* max_send: data of one PDU */
	uint32_t exp_cmdsn, statsn;
	unsigned leaving; /* commands whose response is on its way */
	/* the PDU that arrives */
	struct iscsi_bhs bhs;
	uint32_t len, crc;
	uint8_t trailer;               /* bytes behind the data: padding, digest */
	bool in_trailer, unwanted;     /* unwanted: the data is dropped */
	struct iscsi_tgt_cmd *filling; /* whose data it is */
	char *targets;                 /* text that is sent in several PDUs, from `told` on */
	size_t targets_len, told;
	struct iscsi_tgt_answer answer[ISCSI_TGT_ANSWERS];
	struct iscsi_tgt_task task[ISCSI_TGT_TASKS];
	uint8_t stage[ISCSI_TGT_HEAD];
	uint8_t text[ISCSI_PDU_DATA];
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

/* tgt_tcp.c */
void iscsi_tgt_incoming(struct target *, int fd, const struct addr *peer);
void iscsi_tgt_judged(struct loop_msg *);
uint32_t iscsi_tgt_decode(struct target_cmd *);
bool iscsi_tgt_recall(struct scsi_cmd *);
