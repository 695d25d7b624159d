/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A SCSI disk as a bdev, on sessions of any transport: iSCSI sessions, SRP channels. The first
 * session opens the disk and then monitors it (disk.c); each further one is a lane (lane.c).
 * block/paths.c reconnects. */
#pragma once
#include "access_notice.h"
#include "bdev.h"
#include "inflight.h"
#include "ini.h"
#include "resolve.h"
#include "uri_read.h"

#define SCSI_SENSE_MAX 252 /* SPC-4, 4.5.1 */
#define SCSI_SESSIONS  64
#define SCSI_DEPTH     64
#define SCSI_INI_MAX   (1u << 20) /* bytes of one command: longer ones gain nothing */

/* The initiator port of a disk. Reservations belong to it, and a login of the same port ends its
 * earlier sessions at the target. So each disk and process has its own, which a path keeps when it
 * reconnects. */
#define SCSI_PORT_MASK                                                                             \
	((UINT64_C(1) << 33) - 1) /* bits of number that are unique in the process                 \
				   */
struct scsi_port {
	uint64_t number;
	struct scsi_port *next;
};
int scsi_port_acquire(struct scsi_port *, const struct uri *, struct diag *);
void scsi_port_release(const struct scsi_port *); /* no effect unless acquired */

/* Configuration of a disk; the transport's begins with it. Constant once the disk is up; every
 * session reads it, on any thread. */
struct scsi_conf {
	char host[ADDR_HOST];
	uint16_t port;
	struct addr dst, src;  /* dst: family 0 until the host is resolved */
	char where[ADDR_TEXT]; /* dst, for messages */
	uint8_t tos;
	uint16_t depth, queues;     /* commands of a session; sessions with I/O */
	uint32_t timeout_ms, io_ms; /* to open a session, 0: no limit; of one command */
	uint32_t detect_ms;         /* a silent target is lost; 0: the defaults */
};

struct scsi_data { /* of one command */
	uint8_t *p;
	uint32_t len;            /* 0: no data */
	bool out;                /* to the target */
	const struct pool *pool; /* contains p; mapped if the transport maps */
};

struct scsi_slot { /* first member of the transport's slot */
	struct inflight_slot flight;
	/* valid from reply() on */
	uint8_t status;
	bool overflow; /* the target has more data than fits */
	uint16_t sense_len;
	uint32_t moved; /* bytes of data that the target reports as transferred, at most all */
	uint8_t sense[SCSI_SENSE_MAX];
};

struct scsi_sess;
/* Called on the session's loop, never inside open() or send(). */
struct scsi_sess_events {
	void (*up)(struct scsi_sess *);
	void (*reply)(struct scsi_sess *, struct scsi_slot *); /* a response: call end() */
	void (*lost)(struct scsi_sess *, void *owner); /* a command ended with the session */
	const char *(*name)(const void *owner);        /* of a command, for messages */
	/* A command has timed out that the transport can abort. true: abort it; reply() follows,
	 * mostly with TASK ABORTED. false, or NULL: the session ends. */
	bool (*should_abort)(struct scsi_sess *, void *owner);
	void (*idle)(struct scsi_sess *);  /* slots may be free: start waiting commands */
	void (*event)(struct scsi_sess *); /* an asynchronous event of the target; may be NULL */
	void (*down)(struct scsi_sess *);  /* every command has ended; why is set */
};

enum scsi_sess_state {
	SCSI_SESS_IDLE,
	SCSI_SESS_OPENING,
	SCSI_SESS_UP,
	SCSI_SESS_CLOSING,
	SCSI_SESS_DOWN
};

struct scsi_sess { /* first member of the transport's session */
	const struct scsi_sess_events *ev;
	struct loop *loop;
	void *user;
	uint64_t port; /* number of the initiator port, for carriers without names of ports */
	struct inflight inflight;
	uint64_t deadline_ns; /* to open it; 0: none */
	uint8_t state;
	struct diag why;
	struct addr peer; /* the address that has answered; family 0: none yet */
};

/* The transport. Functions run on the session's loop. */
struct scsi_carrier {
	size_t sess_size;
	const char *sessions; /* what users call its sessions, in the plural */
	bool pings;           /* detects a silent target by itself */
	/* Start connecting to conf->dst; up() or down() follows. ev, loop, user and port are set,
	 * the rest is zero. conf outlives the session. number: 0 for the first session of the disk,
	 * below SCSI_SESSIONS. */
	int (*open)(struct scsi_sess *, const struct scsi_conf *, unsigned number, struct diag *);
	/* Send a command in a slot of inflight_take(); it leaves by the end of the turn. */
	void (*send)(struct scsi_sess *, struct scsi_slot *, const uint8_t lun[8],
		const uint8_t cdb[SCSI_INI_CDB], const struct scsi_data *);
	/* In reply(): release the slot and return the owner; the response stays readable until a
	 * slot is taken again. NULL: the session is ending, lost() follows. */
	void *(*end)(struct scsi_sess *, struct scsi_slot *);
	/* End the session; down() follows. The first reason counts. */
	void (*fail)(struct scsi_sess *, const struct diag *why);
	/* The same, after a logout; NULL: use fail(). */
	void (*logout)(struct scsi_sess *, const struct diag *why);
	/* Free at once, without upcalls. Allowed on a zeroed session. */
	void (*fini)(struct scsi_sess *);
	/* The session is up: set what its target knows it by. NULL: it can't be fenced. */
	void (*identify)(const struct scsi_sess *, unsigned number, struct bdev_session *);
	int (*map)(struct scsi_sess *, struct pool *, struct diag *); /* NULL: not needed */
	void (*unmap)(struct scsi_sess *, struct pool *);
};

/* Lanes, on any thread, read what is constant once the disk is up; they write only `lanes`,
 * `cache`, `lost_by`, `scsi.cached`, `bdev.sync_error` and, each its own, `bdev.session.lane`. */
struct scsi_disk {        /* first member of the transport's disk */
	struct bdev bdev; /* first */
	const struct scsi_carrier *carrier;
	struct scsi_conf *conf;
	struct scsi_sess *sess; /* the first one, without I/O */
	uint64_t port;          /* of its sessions */
	struct scsi_ini scsi;
	struct scsi_cache cache;
	uint32_t lost_by;           /* status after which writes may be lost; 0: none; atomic */
	struct loop_msg lost;       /* reports that; posted once, by a lane */
	volatile int loss_reported; /* `lost` has run */
	struct resolve resolve;
	struct loop_timer beat;
	uint64_t polled_ns;          /* begin of the last poll */
	bool ask_again;              /* access may have changed since */
	struct access_notice notice; /* from lanes */
	struct pool *page;           /* data of the first session's commands */
	uint64_t lanes;              /* numbers in use, as bits; atomic */
	bool reached, mapped, write;
	/* the next command of the first session, if pending */
	bool pending;
	uint8_t cdb[SCSI_INI_CDB];
	uint32_t in;
	struct scsi_cache_view view; /* of the first session, once the disk is up */
	struct scsi_cache_sent sent;
};

/* Parse the host and the keys that every transport has into disk->conf. port: the default. lun:
 * SCSI_LUN_ALL: the target's only disk. */
int scsi_disk_read(struct scsi_disk *, struct uri *, const struct bdev_env *, uint16_t port,
	uint64_t lun, struct diag *);
/* Start to open the disk; conf and scsi.lun are set. On failure do not call scsi_disk_fini(). */
int scsi_disk_start(struct scsi_disk *, struct loop *, const struct bdev_ops *,
	const struct scsi_carrier *, const struct bdev_env *, struct diag *);
void scsi_disk_fini(struct scsi_disk *);
/* Evaluate a command's status for the disk's write cache, on the loop of its session. Return true
 * once, if writes may be lost: run disk->lost on the disk's loop. */
bool scsi_disk_note_status(struct scsi_disk *, struct scsi_cache_view *,
	const struct scsi_cache_sent *, uint32_t detail);
/* of bdev_ops */
void scsi_disk_stop(struct bdev *);
int scsi_disk_lane(struct lane **, struct bdev *, struct loop *, struct diag *);
