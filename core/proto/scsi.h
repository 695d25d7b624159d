/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SCSI device server and task manager (SAM-5, SPC-4, SBC-3) on the frame of all targets (target.h),
 * for every transport that carries SCSI commands. In the transport's row (struct target_proto):
 *
 *  decode    calls scsi_decode(). Then, if all data_len bytes have arrived with the command, it may
 *            set immediate, p and pool.
 *  work      scsi_work
 *  status    scsi_io_status
 *  complete  calls scsi_complete() first, which sets status, sense and residual
 *  busy      is true at least while scsi_nexus_busy()
 *  preempted calls scsi_preempted()
 *
 * Commands are started with scsi_run(). The transport discards data that the initiator sends beyond
 * data_len, or for a command that was refused. data_len of a TARGET_IN command may shrink in
 * work(). Data buffers (target_options.buffer): a power of 2, at least 128 KiB.
 *
 * A group of listeners (listen_addr.group) is a target port group with one target port; its number
 * is that of the group, the relative identifier of the port, and the portal group tag of iSCSI. */
#pragma once
#include "target.h"
#include "wire/scsi.h"

#define SCSI_SENSE     18  /* bytes of sense data, in fixed format */
#define SCSI_CDB       32  /* longest CDB */
#define SCSI_PORT_ID   252 /* longest TransportID */
#define SCSI_PORT_NAME 256

struct scsi_target; /* logical units, reservations, nexuses; shared by all loops */
struct scsi_nexus;  /* one initiator port at this target, over one connection */
struct scsi_op;

/* LUN n is lun[n]. Strings are copied. */
struct scsi_target_conf {
	struct {
		const struct target_disk *disk; /* &frame.disk[i] */
		const struct target_disk_options *opt;
	} lun[TARGET_DISKS];
	unsigned luns; /* at least one */
	/* VPD page 83h: SCSI name string of the device; "": none. Names of its iSCSI ports are
	 * made of it. */
	char device_name[SCSI_PORT_NAME];
	uint8_t protocol; /* enum scsi_protocol */
};
enum scsi_protocol { SCSI_SRP = 4, SCSI_ISCSI = 5 }; /* protocol identifiers of SPC-4 */

/* One per SCSI target: an iSCSI name, an SRP target port group. Create it before target_start(). */
int scsi_target_new(struct scsi_target **, const struct scsi_target_conf *, struct diag *);
/* After target_stop(), without any nexus. NULL is allowed. */
void scsi_target_free(struct scsi_target *);
/* Report the disk's new size, or that access through a group of listeners has changed, to all
 * initiators, by a unit attention. Any thread. */
void scsi_target_resized(struct scsi_target *, const struct target_disk *);
void scsi_target_access_changed(struct scsi_target *);

enum scsi_attr { SCSI_SIMPLE, SCSI_ORDERED, SCSI_HEAD, SCSI_ACA }; /* task attributes */

struct scsi_cmd {               /* first member of the transport's command */
	struct target_cmd base; /* first */
	/* set by the transport before scsi_run() */
	struct scsi_nexus *nexus;
	uint8_t lun[8], cdb[SCSI_CDB];
	uint8_t cdb_len, attr;
	uint64_t tag;
	uint32_t expected_out, expected_in; /* bytes that the initiator sends, can receive */
	/* set by scsi_complete() */
	uint8_t status, sense_len, sense[SCSI_SENSE];
	bool overflow; /* residual counts bytes beyond expected_*; else bytes not transferred */
	uint32_t residual;
	/* private */
	const struct scsi_op *op;
	struct scsi_lu *lu;
	struct scsi_lu *from, *to; /* EXTENDED COPY; sink: offset in `to` */
	uint64_t sink;
	struct scsi_cmd *next_queued;
	uint64_t off, len;      /* range of the command, in bytes of the disk */
	uint64_t done;          /* of len, if the command needs several requests */
	uint32_t transfer_len;  /* bytes of data, by the CDB */
	uint32_t info;          /* INFORMATION field of the sense data */
	uint16_t range, ranges; /* in a parameter list: the next, their number */
	bool fua, in_task_set, info_valid;
	/* active: from scsi_run() to scsi_complete(). queued: waits for its turn in the task set.
	 * aborted: by task management, and answered with TASK ABORTED if reply_abort. */
	bool active, queued, aborted, reply_abort;
};

/* Start a command as target_cmd_run() does, after those that its task attribute makes it wait for
 * (SAM-5, 8). */
void scsi_run(struct scsi_cmd *);
/* Functions for the transport's row; see above. They run on the connection's loop. */
uint32_t scsi_decode(struct target_cmd *);
void scsi_work(struct target_cmd *);
uint32_t scsi_io_status(const struct io *);
void scsi_complete(struct scsi_cmd *, uint32_t status);

/* Status of a target_cmd: the SAM status, and sense key, ASC and ASCQ of CHECK CONDITION. */
#define SCSI_CHECK(key, asc, ascq)                                                                 \
	(2u | (uint32_t)(key) << 8 | (uint32_t)(asc) << 16 | (uint32_t)(ascq) << 24)

struct scsi_nexus_conf {
	struct scsi_target *target;
	struct target_conn *conn; /* its commands embed a scsi_cmd first */
	uint8_t id[SCSI_PORT_ID]; /* TransportID of the initiator port (SPC-4, 7.6.4) */
	uint16_t id_len;
	uint16_t name_at, name_len; /* in id: the initiator's name, shared by its ports */
	bool joins; /* share pending unit attentions with the port's other connections */
	/* Cancel a transfer in TARGET_CMD_PULL. true: target_cmd_pulled() is not called, and the
	 * rest of the data is discarded. false: target_cmd_pulled() follows soon. May be NULL:
	 * false. */
	bool (*recall)(struct scsi_cmd *);
};
/* Create a nexus on the connection's loop, before its first command. */
int scsi_nexus_new(struct scsi_nexus **, const struct scsi_nexus_conf *, struct diag *);
/* On the connection's loop, in carrier->free(): no command is left. NULL is allowed. */
void scsi_nexus_free(struct scsi_nexus *);
/* Return true while a fence of the nexus is in flight. NULL: false. */
bool scsi_nexus_busy(const struct scsi_nexus *);
/* Abort the nexus's commands to that disk if its port was preempted; see proto->preempted. NULL:
 * false. */
bool scsi_preempted(struct scsi_nexus *, const struct bdev *);

enum scsi_tmf_function {
	SCSI_ABORT_TASK,
	SCSI_ABORT_TASK_SET,
	SCSI_CLEAR_TASK_SET,
	SCSI_CLEAR_ACA,
	SCSI_LUN_RESET,
	SCSI_TARGET_RESET, /* all logical units */
	SCSI_NEXUS_RESET,  /* the nexus's commands at all of them */
};
enum scsi_tmf_answer { SCSI_TMF_DONE, SCSI_TMF_NO_TASK, SCSI_TMF_NO_LUN, SCSI_TMF_UNSUPPORTED };
struct scsi_tmf { /* a task management function; zero but for what the caller sets */
	uint8_t function;
	uint8_t lun[8];
	uint64_t tag; /* ABORT_TASK */
	/* Called on the connection's loop, never inside scsi_tmf(), with `answer` set. Not called
	 * once the connection is down and scsi_nexus_busy() is false. */
	void (*done)(struct scsi_tmf *);
	uint8_t answer; /* enum scsi_tmf_answer */
	/* private */
	struct scsi_tmf *next;
	bool started;
};
/* Execute a function on the connection's loop; functions run one after another. Commands that end
 * without a reply are dropped with target_cmd_forget(), others are answered before done(). */
void scsi_tmf(struct scsi_nexus *, struct scsi_tmf *);
