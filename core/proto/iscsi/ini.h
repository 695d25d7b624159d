/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the iSCSI initiator fit together: a session is one TCP connection with its
 * login, its command window and its commands in flight (sess.c); ini.c makes a bdev of the first
 * session of a disk, ini_lane.c a lane of each further one, ini_conf.c reads the URI. What the
 * commands mean is SCSI's (../scsi). */
#pragma once
#include "bdev.h"
#include "cutter.h"
#include "inflight.h"
#include "iscsi.h"
#include "resolve.h"
#include "scsi_ini.h"
#include "stream.h"
#include "wire/iscsi.h"

#define ISCSI_SESSIONS 64
#define ISCSI_DEPTH    64
#define ISCSI_SENSE    252        /* longest sense data (SPC-4, 4.5.1) */
#define ISCSI_MOST     (1u << 20) /* bytes of one command */
#define ISCSI_OUTS     8          /* Data-Out PDUs of a command on their way at once */
#define ISCSI_DIGEST   4
#define ISCSI_STAGE    65536
#define ISCSI_CONTROLS 8 /* answers and requests without a slot on their way at once */
#define ISCSI_SECRET   257

/* What an attach asked for: fixed from UP on, read by every session on any thread. */
struct iscsi_conf {
	char host[ADDR_HOST];
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until the host is looked up */
	char where[ADDR_TEXT]; /* dst, for messages; until then the host */
	uint8_t tos;
	char iface[16];
	char initiator[ISCSI_NAME_MAX + 1], target[ISCSI_NAME_MAX + 1];
	char user[2][ISCSI_SECRET], secret[2][ISCSI_SECRET]; /* [1] the target's */
	struct iscsi_from from;                              /* of the above */
	struct iscsi_offer offer;
	uint16_t depth, queues;
	uint32_t timeout_ms, io_ms; /* of one opening, 0 = none; of one command */
};
/* Takes the keys of the URI, and its path: lun and any_lun. */
int iscsi_conf_read(struct iscsi_conf *, struct scsi_ini *, struct uri *, const struct bdev_env *,
	struct diag *);
void iscsi_conf_wipe(struct iscsi_conf *);

struct iscsi_pdu {
	struct stream_out out;
	uint8_t head[ISCSI_BHS + ISCSI_DIGEST];
	le32 digest; /* of the data */
};

/* Data of one command; len 0 = none. */
struct iscsi_data {
	uint8_t *p;
	uint32_t len;
	bool out; /* to the target */
};

struct iscsi_slot {
	struct inflight_slot flight; /* first */
	struct iscsi_data data;
	struct iscsi_pdu cmd, outs[ISCSI_OUTS];
	uint8_t sending; /* outs on their way */
	uint32_t at;     /* bytes received, or put into Data-Outs */
	/* the burst that is sent, up to its end, and an R2T that came before it was over */
	uint32_t ttt, end, datasn, next_ttt, next_end;
	bool asked;
	uint8_t param[SCSI_INI_PARAM];
	/* from reply() on */
	uint8_t status;
	uint32_t moved;
	uint16_t sense_len;
	uint8_t sense[ISCSI_SENSE];
};

struct iscsi_sess;
struct iscsi_sess_events { /* on the session's loop, never from inside open() or send() */
	void (*up)(struct iscsi_sess *);
	/* A command is answered: ends it with iscsi_sess_end(). */
	void (*reply)(struct iscsi_sess *, struct iscsi_slot *);
	/* a command ended with its session */
	void (*lost)(struct iscsi_sess *, void *owner);
	const char *(*name)(const void *owner); /* of a command, for messages */
	void (*idle)(struct iscsi_sess *);      /* start what waits */
	void (*event)(struct iscsi_sess *);     /* SCSI's asynchronous event; NULL: no matter */
	void (*down)(struct iscsi_sess *);      /* every command has ended; why is set */
};

enum iscsi_sess_state {
	ISCSI_SESS_IDLE,
	ISCSI_SESS_OPENING,
	ISCSI_SESS_UP,
	ISCSI_SESS_CLOSING,
	ISCSI_SESS_DOWN
};

struct iscsi_sess {
	struct inflight inflight;
	const struct iscsi_sess_events *ev;
	const struct iscsi_conf *conf;
	struct loop *loop;
	struct iscsi_dial dial;
	struct iscsi_agreed agreed;
	struct stream *stream;
	struct cutter cutter;
	uint8_t state;
	bool logging_out;
	uint32_t cmdsn, max_cmdsn, exp_statsn;
	struct loop_timer timer; /* of the logout */
	struct loop_work later;  /* down, outside of all upcalls */
	uint8_t stage[ISCSI_STAGE];
	/* the PDU that arrives */
	struct iscsi_bhs bhs;
	struct iscsi_slot *in; /* whose data it has; NULL: it is in text */
	uint32_t len;          /* of its data segment */
	uint32_t crc;
	bool tail; /* padding and data digest are next */
	uint8_t text[ISCSI_PDU_DATA];
	struct {
		struct iscsi_pdu pdu;
		bool busy;
	} control[ISCSI_CONTROLS];
	struct diag why;
	char way[160];  /* for people */
	struct addr at; /* where redirects have led */
};

/* Starts connecting to conf->dst; `up` or `down` follows. conf stays. */
int iscsi_sess_open(struct iscsi_sess *, struct loop *, const struct iscsi_conf *,
	const struct iscsi_sess_events *, struct diag *);
/* A slot of inflight_take(); it leaves at the end of the turn. */
void iscsi_sess_send(struct iscsi_sess *, struct iscsi_slot *, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct iscsi_data *);
/* In reply(): gives the slot back; what was answered stays readable until the next is taken. NULL:
 * the session is ending, and the command will be `lost`. Otherwise its owner. */
void *iscsi_sess_end(struct iscsi_sess *, struct iscsi_slot *);
/* Ends the session; the first reason given stays. `down` follows. */
void iscsi_sess_fail(struct iscsi_sess *, const struct diag *why);
/* The same, after saying so to the target, which has a second to answer. */
void iscsi_sess_logout(struct iscsi_sess *, const struct diag *why);
/* at once; commands in flight are forgotten, not done. Allowed on a zeroed one */
void iscsi_sess_fini(struct iscsi_sess *);

/* The disk. Lanes, on any thread, read what is fixed from UP on, and share only `lanes`. */
struct iscsi_dev {
	struct bdev bdev;
	struct iscsi_conf conf;
	struct iscsi_sess sess; /* the first: no I/O is on it */
	struct scsi_ini scsi;
	struct resolve resolve;
	struct loop_timer beat;
	unsigned lanes; /* open; atomic */
	bool write;
	/* the command that is to be sent next */
	bool pending;
	uint8_t cdb[SCSI_INI_CDB];
	uint32_t in;
	uint8_t page[SCSI_INI_PAGE]; /* what commands of the control plane read */
};
int iscsi_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
