/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the SRP initiator fit together: a channel is one RDMA connection with its login,
 * its request limit and its commands in flight (chan.c); ini.c reads the URI. The disk on such
 * channels, and what its commands mean, is SCSI's (../scsi). */
#pragma once
#include "ep.h"
#include "ring.h"
#include "scsi/disk.h"
#include "wire/srp.h"

#define SRP_IMM_MAX 8192
/* Messages of the target's own that may be on their way: SRP lets it have one unanswered. */
#define SRP_ANSWERS 4

/* What an attach asked for: fixed from UP on, read by every channel on any thread. */
struct srp_conf {
	struct scsi_conf base; /* first */
	char dev[64];
	uint8_t backend;
	bool no_crc; /* software iWARP */
	uint8_t initiator[16], target[16]; /* as of SRP r16a: the extension, then the GUID */
	bool rev10;                        /* the target expects the GUID first */
	uint32_t imm; /* immediate data of a command, 0: none is to be asked for */
};

struct srp_slot {
	struct scsi_slot base; /* first */
	uint8_t *iu;           /* of the channel's memory */
	struct ep_op op;
	bool queued;   /* in the chain, not posted yet */
	bool held;     /* answered, but its tag is being aborted */
	uint32_t want; /* bytes of data */
	uint32_t turn; /* commands before this one; upper part of its tag */
};

struct srp_answer { /* to a request of the target's */
	struct ep_op op;
	uint8_t *iu;
	bool busy;
};

struct srp_chan {
	struct scsi_sess base; /* first */
	const struct srp_conf *conf;
	struct ep *ep;
	struct pool *pool; /* commands, answers, then receive buffers */
	struct ring ring;
	struct loop_work flush;
	uint32_t lkey, room;    /* commands that the device has room for */
	uint32_t imm;           /* immediate data: asked for, then what a command may have */
	int64_t window;         /* commands that may be out, by the target's request limit */
	struct loop_timer shut; /* while the window is: those that wait for it have no deadline */
	unsigned shuts;
	bool first; /* ends other channels of the same nexus */
	bool registered;
	struct srp_answer answer[SRP_ANSWERS + 1]; /* the last one: task management */
	struct {
		struct srp_slot *slot; /* NULL: none */
		bool sent;             /* and not answered yet */
		bool fruitless;        /* no command was answered since the last one */
		uint64_t tag;
	} abort;
	char way[200];       /* for people */
	const char *backend; /* "verbs", "iwarp" */
};

extern const struct scsi_carrier srp_carrier;
/* Why a target refused a login. */
int srp_login_refused(struct diag *, uint32_t reason, bool first);
