/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Inside of the device server: logical units and nexuses (tgt.c), the table of commands
 * (tgt_ops.c), commands that move blocks (tgt_io.c) or describe the unit (tgt_info.c, tgt_mode.c),
 * target port groups (tgt_groups.c), copies (tgt_copy.c), reservations (tgt_pr.c), task management
 * (tgt_tmf.c). */
#pragma once
#include "reservation.h"
#include "scsi.h"
#include "wire.h"
#include <pthread.h>
#include <string.h>

/* largest data of a command that is not a read, in bytes */
#define SCSI_ANSWER 32768u
/* most bytes that one command may move, verify, fill or copy */
#define SCSI_TGT_MAX    (32u << 20)
#define SCSI_UNMAP_MOST 256 /* block descriptors */

enum scsi_key {
	KEY_NONE,
	KEY_NOT_READY = 2,
	KEY_MEDIUM,
	KEY_HARDWARE,
	KEY_ILLEGAL,
	KEY_ATTENTION,
	KEY_PROTECT,
	KEY_COPY = 0xa,
	KEY_ABORTED,
	KEY_MISCOMPARE = 0xe
};
#define SCSI_COPY_FAILED   SCSI_CHECK(KEY_COPY, 0x0d, 0x01)
#define SCSI_NO_SPACE      SCSI_CHECK(KEY_PROTECT, 0x27, 0x07)
#define SCSI_WRITE_PROTECT SCSI_CHECK(KEY_PROTECT, 0x27, 0x00)
#define SCSI_NOT_READY     SCSI_CHECK(KEY_NOT_READY, 0x04, 0x01)
#define SCSI_READ_ERROR    SCSI_CHECK(KEY_MEDIUM, 0x11, 0x00)
#define SCSI_WRITE_ERROR   SCSI_CHECK(KEY_MEDIUM, 0x0c, 0x00)
#define SCSI_INTERNAL      SCSI_CHECK(KEY_HARDWARE, 0x44, 0x00)
#define SCSI_DIFFERS       SCSI_CHECK(KEY_MISCOMPARE, 0x1d, 0x00)
#define SCSI_BAD_IU        SCSI_CHECK(KEY_ILLEGAL, 0x0e, 0x03)
#define SCSI_LIST_LENGTH   SCSI_CHECK(KEY_ILLEGAL, 0x1a, 0x00)
#define SCSI_BAD_OPCODE    SCSI_CHECK(KEY_ILLEGAL, 0x20, 0x00)
#define SCSI_LBA_RANGE     SCSI_CHECK(KEY_ILLEGAL, 0x21, 0x00)
#define SCSI_BAD_CDB       SCSI_CHECK(KEY_ILLEGAL, 0x24, 0x00)
#define SCSI_NO_LUN        SCSI_CHECK(KEY_ILLEGAL, 0x25, 0x00)
#define SCSI_BAD_LIST      SCSI_CHECK(KEY_ILLEGAL, 0x26, 0x00)
#define SCSI_NO_SAVING     SCSI_CHECK(KEY_ILLEGAL, 0x39, 0x00)

/* Unit attentions, as bits, in the order in which they are reported. */
enum scsi_ua {
	UA_POWER_ON,
	UA_RESET,
	UA_CAPACITY,
	UA_ACCESS,        /* to a target port group */
	UA_PREEMPTED,     /* reservations */
	UA_RELEASED,      /* reservations */
	UA_REGISTRATIONS, /* another port's registration was preempted */
	UA_COUNT
};

struct scsi_lu {
	struct scsi_target *target;
	const struct target_disk *disk;
	const struct bdev *bdev;
	uint8_t nguid[16];
	char serial[21];
	uint8_t index, shift;
	struct reservations *reservations; /* of the disk */
};

/* Protects the lists of nexuses. Never held while waiting. */
extern pthread_mutex_t scsi_lock;

struct scsi_target {
	struct scsi_lu lu[TARGET_DISKS];
	unsigned lus;
	uint8_t protocol;
	char device_name[SCSI_PORT_NAME];
	struct scsi_nexus *nexuses; /* under scsi_lock */
};

struct scsi_itl {                         /* an I_T_L nexus: the nexus at one unit */
	struct reservation_member member; /* first */
	struct scsi_nexus *nexus;
	uint8_t index; /* of the unit */
};

struct scsi_nexus {
	struct scsi_target *target;
	struct target_conn *conn;
	bool (*recall)(struct scsi_cmd *);
	struct reservation_host port;
	struct scsi_itl itl[TARGET_DISKS];
	uint16_t group;                  /* target port group, and the target port in it */
	struct scsi_nexus *next, **link; /* the target's list, under scsi_lock */
	uint32_t ua[TARGET_DISKS];       /* atomic: bits of enum scsi_ua */
	/* The rest is used on the connection's loop. Task sets are per unit and nexus, as the
	 * Control page reports. */
	struct {
		struct scsi_cmd *queue, **queue_end;
		unsigned running, ordered;
	} set[TARGET_DISKS];
	struct loop_work turn; /* starts queued commands */
	struct scsi_tmf *tmfs; /* the first is in progress */
	struct loop_work tmf_turn;
	struct loop_timer tmf_poll;
	struct target_fence fence; /* of the first function */
	bool fencing;
	/* Other connections of the port still have aborted commands: before, and in this round. */
	bool repeat_fence, others_busy;
};

/* An initiator port may have several connections. */
static inline bool scsi_same_port(const struct scsi_nexus *a, const struct scsi_nexus *b)
{
	return reservation_same_host(&a->port, &b->port);
}
/* So may it have to one target port. */
static inline bool scsi_same_ports(const struct scsi_nexus *a, const struct scsi_nexus *b)
{
	return a->group == b->group && scsi_same_port(a, b);
}

/* One row per command. */
struct scsi_op {
	uint8_t opcode;
	int8_t action; /* service action; -1: none */
	uint16_t flags;
	const char *name;
	/* Check the CDB and set off, len (bytes of the disk) and transfer_len. Return 0, or the
	 * status to refuse it with. NULL: nothing to check. */
	uint32_t (*check)(struct scsi_cmd *);
	void (*work)(struct scsi_cmd *); /* see struct target_proto */
	uint8_t usage[16];               /* CDB usage data (SPC-4 6.35.3) */
};
enum scsi_op_flag { /* with the bits of enum target_cmd_flag */
	OP_OUT = TARGET_OUT,
	OP_IN = TARGET_IN,
	OP_HALF = TARGET_HALF,
	OP_WHOLE = 8,    /* a parameter list: needs all data in one piece */
	OP_ANSWER = 16,  /* ends with scsi_answer(); transfer_len is the allocation length */
	OP_BUFFER = 32,  /* needs a data buffer, but no data is sent */
	OP_WRITES = 64,  /* changes blocks */
	OP_NO_LUN = 128, /* valid for a LUN that does not exist */
	OP_NO_UA = 256,  /* reports no unit attention; not bound by RESERVE 6 */
	OP_FREE = 512,   /* allowed under any persistent reservation */
	OP_READS = 1024, /* allowed unless the reservation is for exclusive access */
	OP_RELEASE = 2048,
	OP_ALWAYS = 4096, /* allowed in every state of the target port group */
};
extern const struct scsi_op scsi_ops[];
static inline unsigned scsi_cdb_len(uint8_t opcode)
{
	return (const uint8_t[]){ 6, 10, 10, 0, 16, 12, 0, 0 }[opcode >> 5];
}
static inline struct scsi_cmd *scsi_cmd_of(struct target_cmd *cmd)
{
	return (struct scsi_cmd *)(void *)cmd;
}
static inline uint32_t scsi_be(const struct scsi_cmd *cmd, unsigned at, int n)
{
	return (uint32_t)wire_be(cmd->cdb + at, n);
}
static inline void scsi_worked(struct scsi_cmd *cmd, uint32_t status)
{
	target_cmd_worked(&cmd->base, status);
}

/* tgt.c */
struct scsi_lu *scsi_lu_find(struct scsi_target *, const uint8_t lun[8]);
/* Post a unit attention to all initiator ports at the unit. Any thread. */
void scsi_ua_post(const struct scsi_lu *, enum scsi_ua);
/* Clear the first pending unit attention, also on other connections of both ports, and return its
 * status; 0: none pending. */
uint32_t scsi_ua_take(struct scsi_nexus *, const struct scsi_lu *);
void scsi_leave_task_set(struct scsi_cmd *); /* the command has ended */
void scsi_unqueue(struct scsi_cmd *);        /* remove it from the queue of its task set */
void scsi_sense_put(uint8_t sense[SCSI_SENSE], uint32_t status);

/* tgt_tmf.c */
void scsi_tmf_turn(struct loop_work *);
void scsi_tmf_poll(struct loop_timer *);
void scsi_tmf_answered(const struct scsi_cmd *); /* an aborted command is being answered */
void scsi_aborted(struct scsi_cmd *); /* end an aborted command, instead of its next piece */

/* tgt_groups.c */
/* Return the status of commands without OP_ALWAYS in the state of the nexus's group; 0: they are
 * executed. */
uint32_t scsi_access_status(const struct scsi_nexus *);

/* tgt_pr.c */
uint32_t scsi_pr_check(const struct scsi_cmd *);
/* Attach a new nexus to the registrations of its port; detach it, which ends its RESERVE 6. */
void scsi_pr_nexus_begin(struct scsi_nexus *), scsi_pr_nexus_end(struct scsi_nexus *);

/* tgt_ops.c */
/* Return len bytes at p, cut off at the allocation length and the initiator's buffer. */
void scsi_answer(struct scsi_cmd *, uint32_t len);

/* columns of the table */
uint32_t scsi_rw_check(struct scsi_cmd *), scsi_verify_check(struct scsi_cmd *),
	scsi_sync_check(struct scsi_cmd *), scsi_unmap_check(struct scsi_cmd *),
	scsi_same_check(struct scsi_cmd *), scsi_compare_write_check(struct scsi_cmd *),
	scsi_start_check(struct scsi_cmd *), scsi_lba_status_check(struct scsi_cmd *);
void scsi_read_work(struct scsi_cmd *), scsi_write_work(struct scsi_cmd *),
	scsi_write_verify_work(struct scsi_cmd *), scsi_verify_work(struct scsi_cmd *),
	scsi_sync_work(struct scsi_cmd *), scsi_unmap_work(struct scsi_cmd *),
	scsi_same_work(struct scsi_cmd *), scsi_compare_write_work(struct scsi_cmd *),
	scsi_ready_work(struct scsi_cmd *), scsi_lba_status_work(struct scsi_cmd *);
/* Return the longest COMPARE AND WRITE, in bytes; 0: not supported. */
uint32_t scsi_compare_write_most(const struct scsi_lu *, uint32_t buffer);
uint32_t scsi_inquiry_check(struct scsi_cmd *), scsi_sense_check(struct scsi_cmd *),
	scsi_capacity10_check(struct scsi_cmd *), scsi_alloc10_check(struct scsi_cmd *),
	scsi_alloc6_check(struct scsi_cmd *), scsi_luns_check(struct scsi_cmd *),
	scsi_opcodes_check(struct scsi_cmd *), scsi_groups_check(struct scsi_cmd *);
void scsi_inquiry_work(struct scsi_cmd *), scsi_sense_work(struct scsi_cmd *),
	scsi_capacity10_work(struct scsi_cmd *), scsi_capacity16_work(struct scsi_cmd *),
	scsi_luns_work(struct scsi_cmd *), scsi_opcodes_work(struct scsi_cmd *),
	scsi_groups_work(struct scsi_cmd *);
uint32_t scsi_pr_in_check(struct scsi_cmd *), scsi_pr_out_check(struct scsi_cmd *),
	scsi_reserve_check(struct scsi_cmd *);
void scsi_pr_in_work(struct scsi_cmd *), scsi_pr_out_work(struct scsi_cmd *),
	scsi_reserve_work(struct scsi_cmd *), scsi_release_work(struct scsi_cmd *);
uint32_t scsi_copy_check(struct scsi_cmd *), scsi_copy_results_check(struct scsi_cmd *);
void scsi_copy_work(struct scsi_cmd *), scsi_copy_results_work(struct scsi_cmd *);
uint32_t scsi_mode_sense_check(struct scsi_cmd *), scsi_mode_select_check(struct scsi_cmd *);
void scsi_mode_sense_work(struct scsi_cmd *), scsi_mode_select_work(struct scsi_cmd *);
