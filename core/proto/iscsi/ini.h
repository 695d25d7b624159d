/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Inside of the iSCSI initiator. A session is one connection: login, command window and commands
 * in flight (sess.c), over a carrier (tcp.c, iser.c). ini.c has the disks of iscsi:// and iser://,
 * ini_conf.c parses the URI. What SCSI commands mean is left to ../scsi. */
#pragma once
#include "cutter.h"
#include "iscsi.h"
#include "scsi/disk.h"
#include "stream.h"
#include "wire/iscsi.h"

/* longest data segment of an iSER target's response: sense */
#define ISCSI_ISER_RECV 512
#define ISCSI_SECRET    258 /* for secret_read(): up to 256 bytes */

/* Configuration of a disk. Constant once it is open; every session reads it, on any thread. */
struct iscsi_conf {
	struct scsi_conf base; /* first */
	char iface[16];        /* TCP */
	char dev[64];          /* iSER, from here */
	uint8_t backend;       /* enum ep_backend */
	bool no_crc;
	char initiator[ISCSI_NAME_MAX + 1], target[ISCSI_NAME_MAX + 1];
	char user[2][ISCSI_SECRET];   /* [0] ours, [1] the target's */
	char (*secret)[ISCSI_SECRET]; /* likewise, in locked memory; NULL: none */
	struct iscsi_identity from;   /* points to the above */
	struct iscsi_offered_params offered;
	struct scsi_port port;
};
/* Parse the URI into conf, which is zeroed, and disk->conf, reading secret files. Call
 * iscsi_conf_fini() also after an error. */
int iscsi_conf_read(struct iscsi_conf *, struct scsi_disk *, struct uri *, enum iscsi_carrier,
	const struct bdev_env *, struct diag *);
void iscsi_conf_fini(struct iscsi_conf *); /* wipe and free the secrets */

struct iscsi_slot {            /* first member of the carrier's slot */
	struct scsi_slot base; /* first */
	struct scsi_data data;
	struct iscsi_scsi_cmd cmd;
	/* Low half: the tag. High half: differs from one command of the slot to the next, so that a
	 * late or duplicate response matches no other command. */
	uint32_t itt;
	uint32_t at; /* bytes received, or passed to the connection */
	bool aborting;
};
#define ISCSI_ITT_TAG 0xffff

struct iscsi_sess;
/* How commands of a session travel; other PDUs: struct iscsi_carrier_ops. All functions run on the
 * session's loop. */
struct iscsi_sess_carrier {
	uint8_t id; /* enum iscsi_carrier */
	/* Once an abort is answered the target can no longer access the command's data. */
	bool can_abort;
	bool ordered; /* StatSN arrives in order */
	uint32_t slot_size;
	/* Start connecting; sets dial.conn. After enable_full_feature() the carrier calls
	 * iscsi_sess_* functions instead of its events. */
	int (*connect)(struct iscsi_sess *, const struct addr *at, uint32_t timeout_ms,
		const struct iscsi_carrier_events *, struct diag *);
	/* Send slot->cmd with its unsolicited data: set slot->at and flight.unsent, and later call
	 * iscsi_sess_sent() for each of the flight.unsent messages. */
	void (*command)(struct iscsi_sess *, struct iscsi_slot *);
	void (*r2t)(struct iscsi_sess *);   /* an R2T is in bhs; NULL: not allowed */
	void (*close)(struct iscsi_sess *); /* iscsi_sess_down() follows */
};

struct iscsi_sess {            /* first member of the carrier's session */
	struct scsi_sess base; /* first */
	const struct iscsi_sess_carrier *carrier;
	const struct iscsi_conf *conf;
	struct iscsi_dial dial;
	uint8_t isid[6];
	uint16_t tsih;     /* set before it is opened: ask for a second connection of this one */
	uint16_t max_cmds; /* in flight; enable_full_feature() may lower it */
	bool enabled;      /* its full feature phase has begun */
	bool logging_out;
	bool ping_outstanding; /* a NOP-Out of ours is unanswered */
	uint8_t silent_beats;  /* without a PDU */
	uint32_t shut_ms;      /* with a closed window */
	uint8_t aborting;      /* commands in flight with an abort */
	uint32_t aborts;       /* without a response, of commands that have ended, too */
	uint32_t cmdsn, max_cmdsn, exp_statsn;
	struct loop_timer timer, beat; /* timer: of the logout */
	/* the PDU being received */
	struct iscsi_bhs bhs;
	struct iscsi_slot *data_slot; /* destination of a Data-In; NULL: data goes to text */
	uint32_t len;                 /* of the data segment */
	uint8_t text[ISCSI_PDU_DATA];
	const char *backend; /* "verbs", "iwarp"; iSER */
};

/* For carriers. */
void iscsi_sess_dispatch(struct iscsi_sess *); /* a PDU is complete, its header in bhs */
struct iscsi_slot *iscsi_sess_find_slot(struct iscsi_sess *, uint32_t itt); /* in flight, or NULL */
void iscsi_sess_sent(struct iscsi_sess *, struct iscsi_slot *); /* a message of the command */
void iscsi_sess_protocol_error(struct iscsi_sess *, const char *text); /* end the session */
void iscsi_sess_down(struct iscsi_sess *, const struct diag *why); /* the connection has ended */
/* Functions of struct scsi_carrier; a carrier's open() calls iscsi_sess_open(). */
int iscsi_sess_open(struct scsi_sess *, const struct scsi_conf *, const struct iscsi_sess_carrier *,
	unsigned number, struct diag *);
void iscsi_sess_send(struct scsi_sess *, struct scsi_slot *, const uint8_t lun[8],
	const uint8_t cdb[SCSI_INI_CDB], const struct scsi_data *);
void *iscsi_sess_end(struct scsi_sess *, struct scsi_slot *);
void iscsi_sess_fail(struct scsi_sess *, const struct diag *why);
void iscsi_sess_logout(struct scsi_sess *, const struct diag *why);
void iscsi_sess_fini(struct scsi_sess *);
void iscsi_sess_identify(const struct scsi_sess *, unsigned number, struct bdev_session *);
/* fence.c. Of struct bdev_ops; its state is in *at, NULL while there is none. */
struct iscsi_fence;
int iscsi_fence_start(struct iscsi_fence **at, struct scsi_disk *, struct bdev_fence *);
void iscsi_fence_free(struct iscsi_fence *); /* any time: no done() follows */
/* portals.c. The same for bdev_ops.search. */
struct iscsi_portals;
int iscsi_portals_start(
	struct iscsi_portals **at, struct scsi_disk *, struct bdev_search *, struct diag *);
void iscsi_portals_free(struct iscsi_portals *);
extern const struct scsi_carrier iscsi_tcp_carrier, iscsi_iser_carrier;
