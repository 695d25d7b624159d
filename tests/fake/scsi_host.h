/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A SCSI transport without a wire: initiators in the target's own process, whose commands and data
 * are passed from memory to memory. Asks are sent and answered by messages, so a connection may
 * live on another thread's loop. */
#pragma once
#include "../../core/proto/scsi.h"

#define SCSI_HOST_DEPTH 32
#define SCSI_HOST_LUNS  4

struct scsi_rig { /* zero but for the first ones */
	struct loop *loop, **loops;
	unsigned nloops;
	struct bdev *disk[SCSI_HOST_LUNS];
	unsigned disks;
	bool ro;
	uint32_t buffer;   /* 0: 128 KiB */
	uint16_t id_len;   /* of initiator ports; 0: 24 */
	uint8_t protocol;  /* 0: SCSI_SRP */
	uint16_t group[4]; /* of listeners that scsi_host_dial_at() uses */
	unsigned listens;
	/* its own */
	struct target target;
	struct scsi_target *scsi;
};
int scsi_rig_start(struct scsi_rig *, struct diag *);
int scsi_rig_stop(struct scsi_rig *, struct diag *);

struct scsi_host;
/* An initiator port of that number; each call is a nexus of its own, of the same port. The number
 * without its low byte is the initiator's name. */
struct scsi_host *scsi_host_dial(struct scsi_rig *, unsigned port);
struct scsi_host *scsi_host_dial_at(struct scsi_rig *, unsigned port, unsigned listener);
void scsi_host_drop(struct scsi_host *);  /* its connection ends once the disk has nothing of it */
void scsi_host_leave(struct scsi_host *); /* waits for that and frees it, too */

struct scsi_ask {
	/* set by the caller; kept until done */
	uint8_t cdb[SCSI_CDB], lun, attr;
	uint8_t cdb_len; /* 0: by the opcode */
	uint64_t tag;
	const uint8_t *out;
	uint8_t *in;
	uint32_t expected_out, expected_in;
	bool slow;      /* data that is pulled comes only with scsi_host_give() */
	bool immediate; /* the data comes along */
	/* the answer */
	volatile int done;
	uint32_t moved; /* bytes in or out */
	uint8_t status, key, asc, ascq;
	bool over, info_valid;
	uint32_t residual, info;
	unsigned order; /* of answers of this host */
	/* the rig's */
	struct scsi_host *host;
	struct loop_msg hop;
};
void scsi_host_send(struct scsi_host *, struct scsi_ask *);
void scsi_host_give(struct scsi_host *); /* what slow asks wait for */
/* Runs the loop until it is answered. */
void scsi_host_ask(struct scsi_host *, struct scsi_ask *);
/* A task management function; gives its answer. */
int scsi_host_manage(struct scsi_host *, uint8_t function, uint8_t lun, uint64_t tag);
