/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How the parts of the iSCSI initiator fit together: a session is one connection with its
 * login, its command window and its commands in flight (sess.c), on a mover (sess_tcp.c,
 * sess_iser.c); ini.c has the disks behind iscsi:// and iser://, ini_conf.c reads the URI. The disk
 * on such sessions, and what its commands mean, is SCSI's
 * (../scsi). */
#pragma once
#include "cutter.h"
#include "iscsi.h"
#include "scsi/disk.h"
#include "stream.h"
#include "wire/iscsi.h"

#define ISCSI_CONTROLS 8 /* answers and requests without a slot on their way at once */
/* data of the PDUs of an iSER target that answer commands: sense */
#define ISCSI_ISER_RECV 512
#define ISCSI_SECRET    258 /* secret_read(): of 256 bytes at most */

/* What an attach asked for: fixed from UP on, read by every session on any thread. */
struct iscsi_conf {
	struct scsi_conf base; /* first */
	char iface[16];        /* TCP */
	char dev[64];          /* iSER, from here */
	uint8_t backend;       /* enum ep_backend */
	bool no_crc;
	char initiator[ISCSI_NAME_MAX + 1], target[ISCSI_NAME_MAX + 1];
	char user[2][ISCSI_SECRET], secret[2][ISCSI_SECRET]; /* [1] the target's */
	struct iscsi_from from;                              /* of the above */
	struct iscsi_offer offer;
	struct scsi_port port;
};
/* Takes the URI, for disk->conf too. */
int iscsi_conf_read(struct iscsi_conf *, struct scsi_disk *, struct uri *, enum iscsi_carrier,
	const struct bdev_env *, struct diag *);
void iscsi_conf_wipe(struct iscsi_conf *);

struct iscsi_slot {            /* first member of its mover's */
	struct scsi_slot base; /* first */
	struct scsi_data data;
	struct iscsi_scsi_cmd cmd;
	/* The tag in the lower half; the upper one differs from one command to the next, so that a
	 * late or doubled answer ends no other. */
	uint32_t itt;
	uint32_t at; /* bytes received, or given to the target */
	bool aborting;
};
#define ISCSI_ITT_TAG 0xffff

struct iscsi_sess;
struct iscsi_mover {     /* what carries a session's PDUs */
	uint8_t carrier; /* enum iscsi_carrier */
	/* The target can't reach a command's data any more once it has answered its abort. */
	bool aborts;
	/* Status numbers come in order. */
	bool ordered;
	uint32_t slot_size;
	int (*connect)(struct iscsi_sess *, const struct addr *at, uint32_t timeout_ms,
		const struct datamover_events *, struct diag *); /* sets dial.dm */
	void (*hold)(struct datamover *);
	/* Takes the connection of the login over, in any case; close() follows on failure. */
	int (*start)(struct iscsi_sess *, struct datamover *, struct diag *);
	void (*run)(struct iscsi_sess *); /* what has come early */
	/* slot->cmd with as much data as may come along; sets `at` and flight.unsent, and then
	 * calls iscsi_sess_sent() for each message that was not sent at once. */
	void (*command)(struct iscsi_sess *, struct iscsi_slot *);
	bool (*control)(struct iscsi_sess *, void *bhs); /* false: too many are on their way */
	void (*r2t)(struct iscsi_sess *);                /* one has come; NULL: none may */
	void (*close)(struct iscsi_sess *);              /* iscsi_sess_down() follows */
	void (*fini)(struct iscsi_sess *);
};

struct iscsi_sess {            /* first member of its mover's */
	struct scsi_sess base; /* first */
	const struct iscsi_mover *mover;
	const struct iscsi_conf *conf;
	struct iscsi_dial dial;
	struct iscsi_agreed agreed;
	uint8_t isid[6];
	uint16_t most; /* commands at once; start() may lower it */
	bool logging_out;
	bool pinging;                 /* a NOP-Out of ours has no answer yet */
	uint8_t silent, shut, aborts; /* beats without a PDU, without a window; aborts in flight */
	uint32_t cmdsn, max_cmdsn, exp_statsn;
	struct loop_timer timer, beat; /* timer: of the logout */
	/* the PDU that arrives */
	struct iscsi_bhs bhs;
	struct iscsi_slot *in; /* whose data it has; NULL: it is in text */
	uint32_t len;          /* of its data segment */
	uint8_t text[ISCSI_PDU_DATA];
	const char *backend; /* "verbs", "iwarp"; iSER */
	char way[160];       /* for people */
	struct addr at;      /* where redirects have led */
};

/* Of movers: all of the PDU in bhs is here. */
void iscsi_sess_took(struct iscsi_sess *);
struct iscsi_slot *iscsi_sess_slot(struct iscsi_sess *, uint32_t itt); /* in flight, or NULL */
void iscsi_sess_sent(struct iscsi_sess *, struct iscsi_slot *);    /* one message of the command */
void iscsi_sess_breach(struct iscsi_sess *, const char *text);     /* ends it */
void iscsi_sess_down(struct iscsi_sess *, const struct diag *why); /* the connection is over */
/* Of carriers. */
int iscsi_sess_open(struct scsi_sess *, const struct scsi_conf *, const struct iscsi_mover *,
	unsigned number, struct diag *);
void iscsi_sess_send(struct scsi_sess *, struct scsi_slot *, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct scsi_data *);
void *iscsi_sess_end(struct scsi_sess *, struct scsi_slot *);
void iscsi_sess_fail(struct scsi_sess *, const struct diag *why);
void iscsi_sess_leave(struct scsi_sess *, const struct diag *why);
void iscsi_sess_fini(struct scsi_sess *);
extern const struct scsi_carrier iscsi_tcp_carrier, iscsi_iser_carrier;
