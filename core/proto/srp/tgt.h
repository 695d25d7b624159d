/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP target on core/target: a connection is a channel. tgt.c handles logins on the target's
 * loop, tgt_chan.c the messages of a channel on its own loop. */
#pragma once
#include "scsi.h"
#include "srp.h"
#include "target_rdma.h"
#include "wire/srp.h"

#define SRP_TGT_CONNECTIONS 1024
#define SRP_TGT_CHANNELS    64 /* most channels that one initiator opens at once */
#define SRP_TGT_LOGIN_MS    10000
#define SRP_TGT_STALL_MS    30000
#define SRP_TGT_DEPTH       SRP_TARGET_DEPTH
#define SRP_TGT_SEGS        2048 /* most data descriptors of a command; the maximum of Linux */
#define SRP_TGT_IU          SRP_TARGET_IU
#define SRP_TGT_IU_MIN      64
#define SRP_TGT_REPLY       64 /* 36 bytes, and 18 of sense data */
#define SRP_TGT_TASKS       4  /* concurrent task management functions of a channel */
#define SRP_TGT_TABLE       (SRP_TGT_SEGS * (uint32_t)sizeof(struct srp_direct))

struct srp_tgt_cmd {
	struct scsi_cmd scsi; /* first member */
	be64 tag;
	uint8_t *imm_data; /* NULL: none */
	uint32_t room;     /* bytes of data that the initiator has announced */
	struct xfer_seg seg[SRP_TGT_SEGS];
};

struct srp_tgt_chan;
struct srp_tgt_task {        /* a task management function */
	struct scsi_tmf tmf; /* first member */
	struct srp_tgt_chan *chan;
	struct ep_op reply;
	be64 tag;
	bool busy;
};

struct srp_tgt_chan {
	struct target_conn base; /* first member */
	struct srp_login_cm login;
	struct scsi_nexus *nexus;
	struct srp_tgt_cmd *fetching; /* its descriptor table is being read; later messages wait */
	struct srp_tgt_task task[SRP_TGT_TASKS];
	uint32_t iu_len;
	uint32_t req_lim_delta; /* requests that the next response returns in addition */
	uint32_t imm_offset;    /* 0: no immediate data */
	/* in the connection's pool: receives, replies, a descriptor table */
	size_t stride, replies_at, table_at;
	struct {                  /* size changes of disks: SRP_AER_REQ, one at a time */
		uint32_t pending; /* LUNs as bits; atomic: set on the target's loop */
		uint32_t due;     /* LUNs still to report; on the channel's loop */
		bool unsent, unanswered;
		struct loop_msg hop;
		struct ep_op op;
	} event;
	uint64_t number; /* of its login, increasing */
	bool logged_out;
	/* admission, on the target's loop */
	bool admit_pending, other_channels; /* other_channels: its initiator port had some */
	const char *refused;                /* the reason; NULL: admitted */
	struct loop_msg hop;
	/* on the target's loop */
	struct srp_tgt_chan *next, **link; /* in srp_target.chans */
	struct target_fence fence;
};

struct srp_target {
	struct target base;                  /* first member */
	uint8_t guid[8];                     /* both its ID_EXT and its IOC_GUID */
	uint8_t initiator[TARGET_HOSTS][16]; /* allowed initiator ports; none: all */
	struct scsi_target *scsi;
	struct srp_tgt_chan *chans; /* admitted channels */
	uint64_t logins;
	uint64_t instance; /* random; initiators know by it which of several targets they reach */
};

static inline struct srp_target *srp_tgt_of(const struct srp_tgt_chan *chan)
{
	return (struct srp_target *)chan->base.target;
}

/* tgt.c: ask the target's loop for admission; srp_tgt_admitted() follows on the channel's loop. */
void srp_tgt_admit(struct srp_tgt_chan *);
/* tgt_chan.c */
extern const struct target_carrier srp_tgt_carrier;
void srp_tgt_admitted(struct loop_msg *);
void srp_tgt_event(struct loop_msg *); /* event.pending is set */
uint32_t srp_tgt_decode(struct target_cmd *);
