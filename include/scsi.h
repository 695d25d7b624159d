/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SCSI's device server and task manager (SAM-5, SPC-4, SBC-3) on the frame of targets, for every
 * transport that carries SCSI commands. The transport's row (struct target_proto) has these:
 *
 *  decode    calls scsi_decode(), then says where data is that came along (inside, p, pool); it may
 *            do so only if all data_len bytes came
 *  work      scsi_work
 *  status    scsi_io_status
 *  complete  calls scsi_complete() first: status, sense and residual are set then
 *  busy      also while scsi_nexus_busy()
 *
 * Commands are run with scsi_run(). The transport discards data that the initiator sends beyond
 * data_len, or for a refused command. data_len of a command that answers (TARGET_IN) may shrink in
 * work(). Data buffers (target_options.buffer): a power of 2, at least 128 KiB. */
#pragma once
#include "target.h"
#include "wire/scsi.h"

#define SCSI_SENSE     18  /* bytes of sense data, in fixed format */
#define SCSI_CDB       32  /* longest CDB that is looked at */
#define SCSI_PORT_ID   252 /* longest TransportID */
#define SCSI_PORT_NAME 256

struct scsi_target; /* logical units, reservations, nexuses; shared by all loops */
struct scsi_nexus;  /* one initiator port at this target, over one connection */
struct scsi_op;

/* One per SCSI target (an iSCSI name, an SRP target port group), made before target_start(), freed
 * after target_stop(). LUN n is lun[n]; strings are copied. */
struct scsi_target_conf {
	struct {
		const struct target_disk *disk; /* &frame.disk[i] */
		const struct target_disk_options *opt;
	} lun[TARGET_DISKS];
	unsigned luns; /* at least one */
	/* VPD page 83h; SCSI name strings of the device and the port ("iqn.x", "iqn.x,t,0x0001"),
	 * "": has none. */
	char device_name[SCSI_PORT_NAME], port_name[SCSI_PORT_NAME];
	uint8_t protocol; /* SPC-4 protocol identifier: SCSI_SRP, SCSI_ISCSI */
};
enum scsi_protocol { SCSI_SRP = 4, SCSI_ISCSI = 5 };

int scsi_target_new(struct scsi_target **, const struct scsi_target_conf *, struct diag *);
void scsi_target_free(struct scsi_target *); /* allowed with NULL; no nexus may exist */
/* The disk's size is new: initiators get a unit attention. Any thread. */
void scsi_target_resized(struct scsi_target *, const struct target_disk *);

enum scsi_attr { SCSI_SIMPLE, SCSI_ORDERED, SCSI_HEAD, SCSI_ACA }; /* task attributes */

struct scsi_cmd {               /* the transport's command embeds it first */
	struct target_cmd base; /* first */
	/* set by the transport before scsi_run() */
	struct scsi_nexus *nexus;
	uint8_t lun[8], cdb[SCSI_CDB];
	uint8_t cdb_len, attr;
	uint64_t tag;
	uint32_t want_out, want_in; /* bytes that the initiator sends; has room for */
	/* set by scsi_complete() */
	uint8_t status, sense_len, sense[SCSI_SENSE];
	bool over;         /* residual: bytes the command wanted beyond want_*; else bytes unused */
	uint32_t residual; /* 0: none */
	/* private */
	const struct scsi_op *op;
	struct scsi_lu *lu;
	struct scsi_lu *from, *to; /* of EXTENDED COPY; sink: where in the second */
	uint64_t sink;
	struct scsi_cmd *later;        /* of those that wait for their turn */
	uint64_t off, len;             /* of the command, in bytes of the disk */
	uint64_t done;                 /* of len, where a command goes over the disk on its own */
	uint32_t wants;                /* bytes of data, by the CDB */
	uint32_t info;                 /* of the sense data */
	uint16_t range, ranges;        /* of a parameter list */
	bool fua, counted, info_valid; /* counted: in the task set */
	bool ran, waits, aborted, answer; /* scsi_run() to _complete(); by task management */
};

/* Instead of target_cmd_run(): waits first where a task attribute says so. */
void scsi_run(struct scsi_cmd *);
uint32_t scsi_decode(struct target_cmd *);
void scsi_work(struct target_cmd *);
uint32_t scsi_io_status(const struct io *);
void scsi_complete(struct scsi_cmd *, uint32_t status);

/* The status of a target_cmd: SAM status, and sense key, ASC, ASCQ for CHECK CONDITION. */
#define SCSI_CHECK(key, asc, ascq)                                                                 \
	(2u | (uint32_t)(key) << 8 | (uint32_t)(asc) << 16 | (uint32_t)(ascq) << 24)

struct scsi_nexus_conf {
	struct scsi_target *target;
	struct target_conn *conn; /* its commands embed a scsi_cmd first */
	/* the initiator port's TransportID (SPC-4 7.6.4): the same for the same port */
	uint8_t id[SCSI_PORT_ID];
	uint16_t id_len;
	uint16_t name_at, name_len; /* of id: the initiator's name, the same for all its ports */
	bool joins; /* other connections of the port, as one more of the same nexus */
	/* Takes back a transfer that is being pulled (TARGET_CMD_PULL): target_cmd_pulled() will
	 * not come, the rest of the data is discarded. false: it comes soon. NULL: as false. */
	bool (*recall)(struct scsi_cmd *);
};
/* On the connection's loop, before its first command; freed there too (carrier->free()), once no
 * command is left. */
int scsi_nexus_new(struct scsi_nexus **, const struct scsi_nexus_conf *, struct diag *);
void scsi_nexus_free(struct scsi_nexus *);       /* allowed with NULL */
bool scsi_nexus_busy(const struct scsi_nexus *); /* with NULL: no */

enum scsi_tmf_function {
	SCSI_ABORT_TASK,
	SCSI_ABORT_TASK_SET,
	SCSI_CLEAR_TASK_SET,
	SCSI_CLEAR_ACA,
	SCSI_LUN_RESET,
	SCSI_TARGET_RESET, /* all logical units */
	SCSI_NEXUS_RESET,  /* the nexus's commands on all of them */
};
enum scsi_tmf_answer { SCSI_TMF_DONE, SCSI_TMF_NO_TASK, SCSI_TMF_NO_LUN, SCSI_TMF_UNSUPPORTED };
struct scsi_tmf {         /* zero but for what the caller sets */
	uint8_t function; /* the caller's */
	uint8_t lun[8];
	uint64_t tag; /* ABORT_TASK */
	/* On the connection's loop, never inside scsi_tmf(). Does not come any more once the
	 * connection is down and scsi_nexus_busy() is false. */
	void (*done)(struct scsi_tmf *);
	uint8_t answer; /* for done() */
	/* private */
	struct scsi_tmf *next;
	bool begun;
};
/* On the connection's loop; one after another. A command that it ends without a reply is dropped
 * with target_cmd_forget(); others are answered before done(). */
void scsi_tmf(struct scsi_nexus *, struct scsi_tmf *);
