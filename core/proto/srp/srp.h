/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the SRP initiator fit together: a channel is one RDMA connection with its login,
 * its request limit and its commands in flight (chan.c); ini.c makes a bdev of the first channel
 * of a target, lane.c a lane of each further one. What the commands mean is SCSI's (../scsi). */
#pragma once
#include "bdev.h"
#include "ep.h"
#include "inflight.h"
#include "resolve.h"
#include "ring.h"
#include "scsi_ini.h"
#include "wire/srp.h"

#define SRP_QUEUES  64
#define SRP_DEPTH   64
#define SRP_SENSE   252 /* longest sense data (SPC-4, 4.5.1) */
#define SRP_IMM_MAX 8192
/* Messages of the target's own that may be on their way: SRP lets it have one unanswered. */
#define SRP_ANSWERS 4

/* What an attach asked for: fixed from UP on, read by every channel on any thread. */
struct srp_conf {
	char host[ADDR_HOST];
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until the host is looked up */
	char where[ADDR_TEXT]; /* dst, for messages; until then the host */
	char dev[64];
	uint8_t backend, tos;
	bool no_crc; /* software iWARP */
	uint8_t initiator[16], target[16];
	uint16_t depth, queues;
	uint32_t imm;               /* immediate data of a command, 0: none is to be asked for */
	uint32_t timeout_ms, io_ms; /* of one opening, 0 = none; of one command */
};

/* Data of one command; len 0 = none. */
struct srp_data {
	uint8_t *p;
	uint32_t len;
	bool out; /* to the target */
	const struct pool *pool;
};

struct srp_slot {
	struct inflight_slot flight; /* first */
	uint8_t *iu;                 /* SRP_IU bytes of the channel's memory */
	struct ep_op op;
	bool queued;   /* in the chain, not posted yet */
	uint32_t want; /* bytes of data */
	/* from reply() on; moved: bytes of data by the target's word, at most all */
	uint8_t status;
	uint32_t moved;
	uint16_t sense_len;
	uint8_t sense[SRP_SENSE];
};

struct srp_chan;
struct srp_chan_events { /* on the channel's loop, never from inside open() or send() */
	void (*up)(struct srp_chan *);
	/* A command is answered: ends it with srp_chan_end(). */
	void (*reply)(struct srp_chan *, struct srp_slot *);
	/* a command ended with its channel */
	void (*lost)(struct srp_chan *, void *owner);
	const char *(*name)(const void *owner); /* of a command, for messages */
	void (*idle)(struct srp_chan *);        /* start what waits; NULL = nothing does */
	void (*event)(struct srp_chan *);       /* the target reports one; NULL: no matter */
	void (*down)(struct srp_chan *);        /* every command has ended; why is set */
};

enum srp_chan_state { SRP_IDLE, SRP_OPENING, SRP_UP, SRP_CLOSING, SRP_DOWN };

struct srp_answer { /* to a request of the target's */
	struct ep_op op;
	uint8_t *iu;
	bool busy;
};

struct srp_chan {
	struct inflight inflight;
	const struct srp_chan_events *ev;
	const struct srp_conf *conf;
	struct loop *loop;
	struct ep *ep;
	struct pool *pool; /* commands, answers, then receive buffers */
	struct ring ring;
	struct loop_work flush;
	uint64_t deadline_ns; /* of the opening; 0 = none */
	uint32_t lkey, room;  /* commands that the device has room for */
	uint32_t imm;         /* immediate data: asked for, then what a command may have */
	int64_t window;       /* commands that may be out, by the target's request limit */
	uint8_t state;
	bool first; /* ends other channels of the same nexus */
	bool registered;
	struct srp_answer answer[SRP_ANSWERS];
	struct diag why;
	char way[200];       /* for people */
	const char *backend; /* "verbs", "iwarp" */
};

/* Starts connecting to conf->dst; `up` or `down` follows. conf stays. */
int srp_chan_open(struct srp_chan *, struct loop *, const struct srp_conf *, bool first,
	const struct srp_chan_events *, struct diag *);
/* A slot of inflight_take(); it leaves at the end of the turn. The data's pool is mapped. */
void srp_chan_send(struct srp_chan *, struct srp_slot *, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct srp_data *);
/* In reply(): gives the slot back; what was answered stays readable until the next is taken. NULL:
 * the channel is ending, and the command will be `lost`. Otherwise its owner. */
void *srp_chan_end(struct srp_chan *, struct srp_slot *);
/* Ends the channel; the first reason given stays. `down` follows. */
void srp_chan_fail(struct srp_chan *, const struct diag *why);
/* at once; commands in flight are forgotten, not done. Allowed on a zeroed one */
void srp_chan_fini(struct srp_chan *);
int srp_chan_map(struct srp_chan *, struct pool *, struct diag *);
void srp_chan_unmap(struct srp_chan *, struct pool *);
/* Why a target refused a login. */
int srp_login_refused(struct diag *, uint32_t reason, bool first);

/* The disk. Lanes, on any thread, read what is fixed from UP on, and share only `lanes`. */
struct srp_dev {
	struct bdev bdev;
	struct srp_conf conf;
	struct srp_chan chan; /* the first: no I/O is on it */
	struct scsi_ini scsi;
	struct resolve resolve;
	struct pool *page; /* what commands of the control plane read */
	struct loop_timer beat;
	unsigned lanes; /* open; atomic */
	bool mapped, write;
	/* the command that is to be sent next */
	bool pending;
	uint8_t cdb[SCSI_INI_CDB];
	uint32_t in;
};
int srp_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
