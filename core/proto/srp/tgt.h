/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP target on the frame of all targets (target.h): a connection is a channel. tgt.c is the
 * whole and the logins on the target's loop, tgt_chan.c the messages on the channel's. */
#pragma once
#include "scsi.h"
#include "srp.h"
#include "wire/srp.h"
#include "xfer.h"

#define SRP_TGT_CONNECTIONS 1024
#define SRP_TGT_CHANNELS    64 /* that one initiator opens at once */
#define SRP_TGT_LOGIN_MS    10000
#define SRP_TGT_STALL_MS    30000
#define SRP_TGT_DEPTH       SRP_TARGET_DEPTH
#define SRP_TGT_SEGS        2048 /* parts of a command's data; Linux has no more */
#define SRP_TGT_IU          SRP_TARGET_IU
#define SRP_TGT_IU_MIN      64
#define SRP_TGT_REPLY       64 /* 36 bytes, and 18 of sense data */
#define SRP_TGT_TASKS       4  /* task management functions of a channel */
#define SRP_TGT_TABLE       (SRP_TGT_SEGS * (uint32_t)sizeof(struct srp_direct))

struct srp_tgt_cmd {
	struct scsi_cmd scsi; /* first */
	struct xfer xfer;
	struct ep_op reply;
	struct ep_rx *rx; /* its message, until the reply */
	be64 tag;
	uint8_t *inside; /* immediate data, NULL: none */
	uint32_t room;   /* of the initiator's memory, or of that data */
	unsigned segs;
	struct xfer_seg seg[SRP_TGT_SEGS];
};

struct srp_tgt_chan;
struct srp_tgt_task {        /* a task management function */
	struct scsi_tmf tmf; /* first */
	struct srp_tgt_chan *chan;
	struct ep_op reply;
	be64 tag;
	bool busy;
};

struct srp_tgt_chan {
	struct target_conn base; /* first */
	struct ep_incoming *incoming;
	struct srp_login_cm login;
	struct ring ring;
	struct xfer_port port;
	struct scsi_nexus *nexus;
	struct ep_rx *backlog, **backlog_end; /* what came before it was live, or before a `sent` */
	struct srp_tgt_cmd *fetching;         /* its table is being read; all that follows waits */
	struct srp_tgt_task task[SRP_TGT_TASKS];
	uint32_t lkey, iu_len;
	uint32_t owed;       /* requests of the limit that no response has given back */
	uint32_t imm_offset; /* 0: no immediate data */
	/* in the connection's pool: receives, replies, then a table of descriptors */
	size_t stride, replies_at, table_at;
	struct {               /* a disk has a new size: SRP_AER_REQ, one at a time */
		uint32_t news; /* LUNs, as bits; atomic: set on the target's loop */
		uint32_t due;  /* on the channel's */
		bool unsent, unanswered;
		struct loop_msg hop;
		struct ep_op op;
	} event;
	uint64_t number; /* of its login: a later one has a higher */
	bool logged_out;
	/* the target's loop admits it */
	bool asking, others; /* other channels of its port existed */
	const char *refused; /* NULL: is not */
	struct loop_msg hop;
	/* on the target's loop */
	struct srp_tgt_chan *next, **link; /* of the target */
	struct target_fence fence;
};

struct srp_target {
	struct target base;                  /* first */
	uint8_t guid[8];                     /* both its ID_EXT and its IOC_GUID */
	uint8_t initiator[TARGET_HOSTS][16]; /* admitted ports; none: everybody */
	struct scsi_target *scsi;
	struct srp_tgt_chan *chans; /* those admitted */
	uint64_t logins;
};

static inline struct srp_target *srp_tgt_of(const struct srp_tgt_chan *chan)
{
	return (struct srp_target *)chan->base.target;
}

/* tgt.c: admits the channel on the target's loop; srp_tgt_admitted() follows on the channel's. */
void srp_tgt_admit(struct srp_tgt_chan *);
/* tgt_chan.c */
extern const struct target_carrier srp_tgt_carrier;
void srp_tgt_admitted(struct loop_msg *);
void srp_tgt_event(struct loop_msg *); /* event.news is set */
uint32_t srp_tgt_decode(struct target_cmd *);
