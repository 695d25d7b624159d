/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SRP initiator: a channel is one RDMA connection with its login, request limit and commands in
 * flight (chan.c); ini.c reads the URI, fence.c fences the channels of a lost path. The disk, and
 * the meaning of commands, is in ../scsi. */
#pragma once
#include "ep.h"
#include "ring.h"
#include "scsi/disk.h"
#include "wire/srp.h"

#define SRP_IMM_MAX 8192
/* Responses to requests of the target in flight; SRP allows it one request at a time. */
#define SRP_ANSWERS 4

/* Settings of an attachment: constant from UP on, read by every channel on any thread. */
struct srp_conf {
	struct scsi_conf base; /* first member */
	char dev[64];
	uint8_t backend;
	bool no_crc;                       /* software iWARP */
	uint8_t initiator[16], target[16]; /* in the order of SRP r16a: extension, GUID */
	bool rev10;                        /* SRP revision 10: the GUID comes first */
	uint32_t imm;                      /* immediate data per command to request; 0: none */
};

struct srp_slot {
	struct scsi_slot base; /* first member */
	uint8_t *iu;           /* in the channel's pool */
	struct ep_op op;
	bool queued;         /* in the ring's chain, not posted yet */
	bool held;           /* answered, but an ABORT TASK for its tag is in flight */
	uint32_t data_len;   /* bytes */
	uint32_t generation; /* number of earlier commands of this slot; upper part of the tag */
};

struct srp_answer { /* a response to a request of the target */
	struct ep_op op;
	uint8_t *iu;
	bool busy;
};

struct srp_chan {
	struct scsi_sess base; /* first member */
	const struct srp_conf *conf;
	struct ep *ep;
	struct pool *pool; /* commands, answers, receive buffers */
	struct ring ring;
	struct loop_work flush;
	uint32_t lkey, room; /* room: most commands in flight that the device allows */
	uint32_t imm;        /* immediate data per command: requested, then granted */
	int64_t window;      /* most commands in flight by the target's request limit */
	struct loop_timer
		stall; /* runs while the window is 0: ios that wait for it have no deadline */
	unsigned stalls;
	uint64_t instance; /* of a target that is rdmastor; 0: another one */
	bool first;        /* its login ends other channels of the same nexus */
	bool registered;
	struct srp_answer answer[SRP_ANSWERS + 1]; /* the last: task management */
	struct {
		struct srp_slot *slot; /* NULL: none */
		bool sent;             /* not answered yet */
		bool fruitless;        /* no command was answered since the last abort */
		uint64_t tag;
	} abort;
	char route[200];     /* text for people */
	const char *backend; /* "verbs", "iwarp" */
};

extern const struct scsi_carrier srp_carrier;
/* Set diag for the reason code of an SRP_LOGIN_REJ; returns -errno. first: the first channel. */
int srp_login_refused(struct diag *, uint32_t reason, bool first);
/* fence.c. Of struct bdev_ops; its state is in *at, NULL while there is none. */
struct srp_fence;
int srp_fence_start(struct srp_fence **at, struct scsi_disk *, struct bdev_fence *);
void srp_fence_free(struct srp_fence *); /* any time: no done() follows */
