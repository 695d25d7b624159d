/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A SCSI disk as a bdev, on sessions of any transport: iSCSI's sessions, SRP's channels. The first
 * session opens the disk and then watches it (core/proto/scsi/disk.c), each further one is a lane
 * (lane.c). Reconnecting is left to block/paths.c. */
#pragma once
#include "bdev.h"
#include "inflight.h"
#include "ini.h"
#include "resolve.h"

#define SCSI_SENSE_MAX 252 /* SPC-4, 4.5.1 */
#define SCSI_SESSIONS  64
#define SCSI_DEPTH     64
#define SCSI_MOST      (1u << 20) /* bytes of one command: longer ones gain nothing */

/* The initiator port of a disk: a login of the same port ends its earlier sessions at the target,
 * and reservations belong to it. So other processes, and other disks of this one, are other ports,
 * but a path that comes back is the one it was. */
#define SCSI_PORT_MASK ((UINT64_C(1) << 33) - 1) /* bits of the number that no other disk has */
struct scsi_port {
	uint64_t number;
	struct scsi_port *next;
};
int scsi_port_take(struct scsi_port *, const struct uri *, struct diag *);
void scsi_port_give(const struct scsi_port *); /* allowed if it was not taken */

/* What an attach asked for; the transport's own starts with it. Fixed from UP on, read by every
 * session on any thread. */
struct scsi_conf {
	char host[ADDR_HOST];
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until the host is looked up */
	char where[ADDR_TEXT]; /* dst, for messages */
	uint8_t tos;
	uint16_t depth, queues;     /* commands of a session; sessions with I/O */
	uint32_t timeout_ms, io_ms; /* of one opening, 0 = none; of one command */
};

/* Data of one command; len 0 = none. */
struct scsi_data {
	uint8_t *p;
	uint32_t len;
	bool out;                /* to the target */
	const struct pool *pool; /* that p is in; mapped, if the transport maps */
};

struct scsi_slot { /* first member of the transport's */
	struct inflight_slot flight;
	/* from reply() on; moved: bytes of data by the target's word, at most all */
	uint8_t status;
	bool overflow; /* the target has more data than fits */
	uint16_t sense_len;
	uint32_t moved;
	uint8_t sense[SCSI_SENSE_MAX];
};

struct scsi_sess;
struct scsi_sess_events { /* on the session's loop, never from inside open() or send() */
	void (*up)(struct scsi_sess *);
	/* A command is answered: ends it with end(). */
	void (*reply)(struct scsi_sess *, struct scsi_slot *);
	/* a command ended with its session */
	void (*lost)(struct scsi_sess *, void *owner);
	const char *(*name)(const void *owner); /* of a command, for messages */
	/* NULL, or: whether this command, which has no answer in time, is aborted and then answered
	 * as such, where the transport can; otherwise the session ends. */
	bool (*late)(struct scsi_sess *, void *owner);
	void (*idle)(struct scsi_sess *);  /* start what waits */
	void (*event)(struct scsi_sess *); /* the target reports one; NULL: no matter */
	void (*down)(struct scsi_sess *);  /* every command has ended; why is set */
};

enum scsi_sess_state {
	SCSI_SESS_IDLE,
	SCSI_SESS_OPENING,
	SCSI_SESS_UP,
	SCSI_SESS_CLOSING,
	SCSI_SESS_DOWN
};

struct scsi_sess { /* first member of the transport's */
	const struct scsi_sess_events *ev;
	struct loop *loop;
	void *user;
	struct inflight inflight;
	uint64_t deadline_ns; /* of the opening; 0 = none */
	uint8_t state;
	struct diag why;
	struct addr peer; /* that has answered; family 0: none yet */
};

/* The transport. */
struct scsi_carrier {
	size_t sess_size;
	const char *sessions; /* what its sessions are called, in the plural */
	/* Starts connecting to conf->dst; `up` or `down` follows. ev, loop and user are set, and
	 * nothing else. conf stays. number: of the disk's sessions, 0 is the first; at most
	 * SCSI_SESSIONS. */
	int (*open)(struct scsi_sess *, const struct scsi_conf *, unsigned number, struct diag *);
	/* A slot of inflight_take(); it leaves at the end of the turn. */
	void (*send)(struct scsi_sess *, struct scsi_slot *, const uint8_t lun[8],
		const uint8_t cdb[SCSI_INI_CDB], const struct scsi_data *);
	/* In reply(): gives the slot back; what was answered stays readable until the next is
	 * taken. NULL: the session is ending, and the command will be `lost`. Otherwise its owner.
	 */
	void *(*end)(struct scsi_sess *, struct scsi_slot *);
	/* Ends the session; the first reason given stays. `down` follows. */
	void (*fail)(struct scsi_sess *, const struct diag *why);
	/* The same, after saying so to the target; NULL: fail. */
	void (*leave)(struct scsi_sess *, const struct diag *why);
	/* at once; commands in flight are forgotten, not done. Allowed on a zeroed one */
	void (*fini)(struct scsi_sess *);
	int (*map)(struct scsi_sess *, struct pool *, struct diag *); /* NULL: nothing to do */
	void (*unmap)(struct scsi_sess *, struct pool *);
};

/* Lanes, on any thread, read what is fixed from UP on, and share only `lanes`, `cache`
 * and `scsi.cached`. */
struct scsi_disk {        /* first member of the transport's */
	struct bdev bdev; /* first */
	const struct scsi_carrier *carrier;
	struct scsi_conf *conf;
	struct scsi_sess *sess; /* the first: no I/O is on it */
	struct scsi_ini scsi;
	struct scsi_cache cache;
	uint32_t lost_by;     /* writes may be lost, by this answer; atomic */
	struct loop_msg lost; /* posted once, by a lane */
	volatile int told;    /* it was handled */
	struct resolve resolve;
	struct loop_timer beat;
	struct pool *page; /* what commands of the control plane read */
	uint64_t lanes;    /* numbers in use, as bits; atomic */
	bool reached, mapped, write;
	/* the command that is to be sent next */
	bool pending;
	uint8_t cdb[SCSI_INI_CDB];
	uint32_t in;
	struct scsi_cache_view view; /* of the first session, once the disk is up */
	struct scsi_cache_sent sent;
};

/* Takes the keys of the URI that every transport has, and its host, for disk->conf; port: where the
 * URI has none. lun: its text, "" = the only one there is. */
int scsi_disk_read(struct scsi_disk *, struct uri *, const struct bdev_env *, uint16_t port,
	const char *lun, struct diag *);
/* Starts to open it: conf and scsi.lun are set. On failure do not call
 * scsi_disk_fini(). */
int scsi_disk_start(struct scsi_disk *, struct loop *, const struct bdev_ops *,
	const struct scsi_carrier *, const struct bdev_env *, struct diag *);
void scsi_disk_fini(struct scsi_disk *);
/* Of sessions, on their loops: a command's answer says what has become of the disk's cache. True,
 * once: writes may be lost, which disk->lost.run() reports on the disk's loop. */
bool scsi_disk_heed(struct scsi_disk *, struct scsi_cache_view *, const struct scsi_cache_sent *,
	uint32_t detail);
/* of bdev_ops */
void scsi_disk_stop(struct bdev *);
int scsi_disk_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
