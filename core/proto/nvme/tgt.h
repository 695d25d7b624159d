/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The NVMe target on the frame of all targets (target.h): its controllers and their queues. A queue
 * is a connection, on its worker's loop (tgt_queue.c, tgt_io.c, tgt_admin.c); two carriers deliver
 * its commands (tgt_rdma.c, tgt_tcp.c); controllers group queues, and are created and ended on the
 * target's loop (tgt_ctrl.c); tgt.c is the whole. */
#pragma once
#include "codec.h"
#include "hosts.h"
#include "reservation.h"
#include "target.h"

#define NVME_TGT_QUEUES      64   /* I/O queues per controller */
#define NVME_TGT_CONNECTIONS 1024 /* concurrent connections */
#define NVME_TGT_ADMIN_DEPTH 32   /* most admin commands of a discovery controller */
/* longest keep-alive timeout of discovery controllers, also if the host sets none; like nvmet */
#define NVME_TGT_DISC_KATO_MS 120000
/* 2^8 pages of 4 KiB: most data of one command, whatever the size of a buffer */
#define NVME_TGT_MDTS     8
#define NVME_TGT_MAX_DATA (4096u << NVME_TGT_MDTS)
#define NVME_TGT_AERS     4
#define NVME_TGT_ABORTS   4
#define NVME_TGT_RESETS   4       /* cross-controller resets at once */
#define NVME_TGT_RESET_MS 2000    /* most time of one, for what is at the disks */
#define NVME_TGT_VERSION  0x10400 /* 1.4: not all that later versions require is implemented */
/* All namespaces are in one ANA group: it has the state of the controller's listener. */
#define NVME_TGT_ANAGRPID 1
#define NVME_TGT_ANATT    30 /* seconds: hosts wait that long in state "change" */
#define NVME_TGT_NOTES    32 /* reservation notifications kept for a host */
#define NVME_TGT_LPA      4  /* log pages may be read from any offset */
/* added to a host's keep-alive timeout, for the network and a busy host */
#define NVME_TGT_GRACE_MS 1000
/* from that timeout until all writes of the host are done or orphans */
#define NVME_TGT_CQT_MS     (NVME_TGT_GRACE_MS + 1000)
#define NVME_TGT_CONNECT_MS 10000 /* time for a connection to become a queue */
/* time for a host's part of one piece of a command, and of the whole command: hosts do not wait
 * longer either */
#define NVME_TGT_STALL_MS 30000

struct nvme_target;
struct nvme_tgt_op;
struct nvme_tgt_ctrl;

struct nvme_tgt_ns { /* one namespace: a disk */
	const struct target_disk_options *conf;
	const struct target_disk *disk;
	struct reservations *reservations; /* of the disk */
	uint32_t nsid;
	uint8_t shift;
};

struct nvme_tgt_subsys {
	const char *nqn;
	struct nvme_tgt_ns *ns[TARGET_DISKS];
	unsigned count; /* 0: the discovery subsystem */
};

struct nvme_target {
	struct target base;                              /* first member */
	struct nvme_tgt_ns ns[TARGET_DISKS];             /* indexed like the disks */
	struct nvme_tgt_subsys subsys[TARGET_DISKS + 1]; /* the first is for discovery */
	unsigned subsystems;
	struct nvme_tgt_ctrl *ctrls;
	uint16_t last_cntlid; /* 0: none yet */
	uint8_t ciu;          /* of the next controller; never 0 */
	/* of this process, for CIRN; has_secret false: no cross-controller resets */
	uint8_t secret[32];
	bool has_secret;
	struct nvme_tgt_reset *resets; /* that wait for the end of a controller */
	uint64_t genctr;               /* atomic: generation of the discovery log */
	bool has_hosts_file;
	uint8_t tls;       /* atomic: enum nvme_tgt_tls */
	uint32_t last_seq; /* atomic: S1 of the last DH-HMAC-CHAP Challenge */
};

struct nvme_tgt_cmd {
	struct target_cmd base; /* first member */
	const struct nvme_tgt_op *op;
	struct nvme_sqe sqe;
	struct nvme_cqe cqe;
	const struct nvme_tgt_ns *ns;
	uint64_t off, len; /* of the command, in bytes of the disk */
	uint64_t log_off;
	uint16_t range, ranges;
	bool fua;
	/* Not 0: an Abort or a preemption could not cancel it. No further piece is executed, and it
	 * ends with this status. */
	uint32_t abandoned;
};

struct nvme_tgt_carrier {
	struct target_carrier base; /* first member */
	uint8_t trtype;
	uint32_t incap; /* most data in a capsule */
	/* Parse the command's data descriptor, for base.data_len bytes: sets base.p to where a
	 * capsule's data is, and base.immediate if the data is there. */
	uint32_t (*descriptor)(struct nvme_tgt_cmd *);
};
extern const struct nvme_tgt_carrier nvme_tgt_rdma, nvme_tgt_tcp;

/* A kind of command: how much data it transfers in which direction, and how each piece is
 * executed. */
struct nvme_tgt_op {
	uint8_t opcode;
	uint16_t flags;
	const char *name;
	/* Check the command; sets cmd->ns, off, len, and in base disk and changes_*. Returns the
	 * status to refuse it with, and the length of the data in *len. */
	uint32_t (*check)(struct nvme_tgt_cmd *, uint32_t *len);
	void (*work)(struct nvme_tgt_cmd *); /* see struct target_proto */
};
enum nvme_tgt_op_flag { /* in addition to enum target_cmd_flag */
	OP_OUT = TARGET_OUT,
	OP_IN = TARGET_IN,
	OP_HALF = TARGET_HALF,
	OP_WHOLE = 8,      /* all of the data in one piece */
	OP_EARLY = 16,     /* allowed before the controller is enabled */
	OP_DISCOVERY = 32, /* allowed for a discovery controller */
	OP_WRITES = 64,
	/* command groups that reservations distinguish (Base 2.1, figure 96) */
	OP_READ_GROUP = 128,
	OP_WRITE_GROUP = 256,
	OP_AUTH = 512, /* allowed after Connect if the host has to authenticate */
};

/* Whether the host's descriptor has room for the command's data. A command with OP_WHOLE contains
 * its own length, and its descriptor may be larger: Linux 6.12 gives every dataset management
 * command a page. */
bool nvme_tgt_cmd_fits(const struct nvme_tgt_cmd *, uint32_t room);

struct nvme_tgt_queue {
	struct target_conn base; /* first member; the carrier's struct begins with the queue */
	/* on its loop */
	bool no_sqfc;
	uint16_t qid, depth, sqhd;
	uint16_t max_depth;         /* most entries that the carrier can handle */
	bool io_only;               /* the carrier has no memory for data sent on an admin queue */
	struct nvme_tgt_ctrl *ctrl; /* NULL until the host has authenticated, if it has to */
	struct nvme_tgt_auth *auth; /* NULL: the host can't authenticate */
	bool securing;              /* the TLS handshake has not ended */
	bool has_keys;              /* atomic: keys of the hosts file for TLS, unless it is plain */
	char *identity;             /* of the PSK that the host has proven in it; NULL: no TLS */
	bool concatenated;          /* that PSK is a generated one */
	const struct nvme_tgt_cmd *first_connect; /* its only Connect */
	/* Connect, while the target's thread checks it */
	struct nvme_tgt_cmd *connect_cmd;
	struct nvmf_connect connect;
	struct nvmf_connect_reply connect_reply;
	/* on the target's loop */
	struct nvme_tgt_ctrl *bound;      /* its controller; the reply to Connect sets ctrl */
	struct nvme_tgt_queue *sibling;   /* of the same controller */
	struct nvme_tgt_queue *wait_next; /* in ctrl->waiting */
	struct nvme_tgt_auth *new_auth;   /* the reply to Connect sets auth */
	bool authenticates;               /* its host has to */
	struct loop_msg connect_hop;
};

/* DH-HMAC-CHAP of a queue; tgt_auth.c. */
struct nvme_tgt_auth {
	struct nvme_tgt_queue *queue;
	struct nvme_tgt_auth_job *job; /* NULL: none */
	struct nvme_tgt_cmd *cmd;      /* the Send that is executed; NULL: none */
	struct loop_msg hop;           /* to the target's loop and back */
	uint8_t state, sc_c, hash, group;
	bool mutual;  /* the host has asked for our response */
	bool known;   /* secret[0] is the host's, not random */
	bool plain;   /* the host has to ask for secure channel concatenation, and does not */
	bool proven;  /* the host's response is right */
	bool refused; /* the target's loop has refused the host */
	uint16_t tid;
	uint32_t seq[2];                          /* S1, S2 */
	uint8_t challenge[2][NVME_CHAP_HASH_MAX]; /* ours, the host's */
	uint8_t response[NVME_CHAP_HASH_MAX];     /* of the host */
	uint8_t exponent[NVME_CHAP_PRIVATE];
	struct nvme_key secret[2];
	struct nvme_psk psk;            /* of a generated PSK, for TLS */
	uint8_t out[NVME_AUTH_MSG_MAX]; /* the message to receive */
	uint16_t out_len;
};

/* An Abort in progress. */
struct nvme_tgt_abort {
	struct loop_msg hop;
	struct nvme_tgt_cmd *cmd;     /* the Abort command; NULL: this entry is free */
	struct nvme_tgt_queue *queue; /* the queue of the command to abort */
	bool dropped;
};

/* A Cross-Controller Reset in progress. */
struct nvme_tgt_reset {
	struct loop_msg hop;
	struct nvme_tgt_cmd *cmd; /* NULL: this entry is free */
	uint32_t status, result;
	/* on the target's loop */
	struct nvme_target *target;
	struct nvme_tgt_reset *next;
	struct loop_timer limit;
	uint16_t cntlid; /* of the controller to end */
};

/* A controller's host at one namespace. */
struct nvme_tgt_member {
	struct reservation_member base; /* first */
	struct nvme_tgt_ctrl *ctrl;
	uint32_t nsid;
	uint8_t mask; /* notifications not to report, as bits; under the lock of tgt_reserve.c */
};

/* Reservation notifications, oldest first, under that lock. */
struct nvme_tgt_notes {
	struct nvme_tgt_note {
		uint64_t count;
		uint32_t nsid;
		uint8_t type;
	} note[NVME_TGT_NOTES];
	unsigned first, used;
	uint64_t count; /* of the newest */
	uint64_t shown; /* of the one that was read last */
};

/* A controller. Members that are constant after creation may be read on any thread. */
struct nvme_tgt_ctrl {
	struct nvme_target *target;
	const struct nvme_tgt_subsys *subsys;
	uint16_t cntlid;
	uint8_t ciu;
	unsigned port; /* index of the listener that the admin queue came through */
	uint32_t kato_ms;
	uint8_t hostid[16];
	char hostnqn[NVMF_NQN_MAX + 1], subnqn[NVMF_NQN_MAX + 1];
	struct nvme_tgt_queue *admin;
	bool enabled; /* atomic */
	struct reservation_host host;
	struct nvme_tgt_member member[TARGET_DISKS]; /* by namespace ID, from 1 */
	struct nvme_tgt_notes notes;
	/* on the target's loop */
	struct nvme_tgt_ctrl *next;
	struct nvme_tgt_queue *queues;
	uint64_t qids;
	bool dying, noticing;
	/* of the PSK that new queues of its host use TLS with; NULL: no TLS */
	char *identity;
	bool concatenated;  /* that PSK is a generated one */
	bool authenticates; /* its host has to */
	bool pending;       /* and has not done so yet */
	/* passing the queues of the host's earlier controllers */
	struct target_fence fence;
	bool fencing;
	struct nvme_tgt_queue
		*waiting;  /* queues whose Connect continues when the fence has returned */
	bool resetting;    /* atomic: a reset message is on its way here */
	bool noted;        /* atomic: so is one about a reservation */
	struct loop *loop; /* of the admin queue */
	/* on the admin queue's loop */
	uint32_t cc, csts, event_mask;
	struct nvme_tgt_cmd *event[NVME_TGT_AERS];
	unsigned events;
	struct nvme_tgt_abort abort[NVME_TGT_ABORTS];
	struct nvme_tgt_reset cross[NVME_TGT_RESETS];
	uint32_t changed;     /* changed namespaces, as bits, for their log */
	uint32_t due, masked; /* bits of features: events to send; events masked until their log is
				 read */
	struct loop_timer keep;
	struct io shut; /* the flush of a shutdown */
	uint8_t *lower;
	unsigned shut_at;
	bool shut_failed;                   /* one of the flushes failed */
	const struct target_disk *shutting; /* the disk being flushed */
	bool admin_down;                    /* the admin queue is down */
	/* shared by both loops */
	bool write_through;      /* atomic: the host disabled the write cache */
	uint64_t pending_events; /* atomic: pending events as bits: one per namespace, then the
				  * discovery log, ANA, reservations
				  */
	struct loop_msg notice, reset, note;
};
#define NVME_TGT_PENDING_DISC (1ull << 32)
#define NVME_TGT_PENDING_ANA  (1ull << 33)
#define NVME_TGT_PENDING_NOTE (1ull << 34)
/* in ctrl->due, besides the bits of feature 0Bh */
#define NVME_TGT_EVENT_NOTE (1u << 30)

static inline struct nvme_tgt_queue *nvme_tgt_queue_of(const struct nvme_tgt_cmd *cmd)
{
	return (struct nvme_tgt_queue *)cmd->base.conn;
}
static inline const struct nvme_tgt_carrier *nvme_tgt_carrier_of(const struct nvme_tgt_queue *queue)
{
	return (const struct nvme_tgt_carrier *)queue->base.carrier;
}
static inline struct nvme_target *nvme_tgt_of(const struct nvme_tgt_queue *queue)
{
	return (struct nvme_target *)queue->base.target;
}
static inline bool nvme_tgt_is_discovery(const struct nvme_tgt_ctrl *ctrl)
{
	return !ctrl->subsys->count;
}

/* Add an incoming connection; on the target's loop. */
void nvme_tgt_tcp_incoming(struct target *, int fd, const struct addr *peer);
void nvme_tgt_rdma_incoming(struct target *, struct ep_incoming *);

/* tgt_ctrl.c: on the target's loop */
/* Check queue->connect, set queue->connect_reply, and bind the queue to its controller. False = a
 * fence is on its way; connect_hop runs again when it returns. */
bool nvme_tgt_ctrl_connect(struct nvme_tgt_queue *);
/* The host has proven who it is: admit the queue, and bind it to its controller. False: refused.
 * psk: for TLS, of a generated one; then only keep that, as the host connects again with it, or
 * uses it for new queues of this controller instead of the one of before. */
bool nvme_tgt_ctrl_admit(struct nvme_tgt_queue *, struct nvme_psk *psk);
void nvme_tgt_ctrl_remove_queue(struct target_conn *); /* the queue has ended */
/* NULL: the discovery log changed */
void nvme_tgt_ctrl_notify(struct nvme_target *, const struct nvme_tgt_ns *);
void nvme_tgt_log_changed(struct nvme_target *); /* that of discovery */
void nvme_tgt_ctrl_notice_back(struct loop_msg *);
void nvme_tgt_ctrl_noted(struct loop_msg *); /* there is a reservation notification */
void nvme_tgt_ctrl_reset(struct loop_msg *); /* the host disabled it: end its I/O queues */
/* Find a controller; NULL: it has ended. */
struct nvme_tgt_ctrl *nvme_tgt_ctrl_find(const struct nvme_target *, uint16_t cntlid, uint8_t ciu);
/* End the controller, whose host has lost its connections. */
void nvme_tgt_ctrl_cut(struct nvme_tgt_ctrl *);

/* The access through that listener has changed: notify its controllers. */
void nvme_tgt_ctrl_notify_access(struct nvme_target *, unsigned group);

/* tgt_ana.c: any thread */
/* Return the status of I/O commands in the controller's ANA state; 0: they are executed. */
uint32_t nvme_tgt_ana_status(const struct nvme_tgt_ctrl *);
uint64_t nvme_tgt_ana_len(const struct nvme_tgt_ctrl *); /* of the log page */
/* Write the log page, of that length at most. */
void nvme_tgt_ana_log(const struct nvme_tgt_ctrl *, bool groups_only, uint8_t *page);

/* tgt_queue.c: on the queue's loop */
void nvme_tgt_queue_begin(struct target *, struct nvme_tgt_queue *, const struct nvme_tgt_carrier *,
	const struct addr *peer); /* this one runs on the target's loop */
uint32_t nvme_tgt_decode(struct target_cmd *);
void nvme_tgt_complete(struct target_cmd *, uint32_t status);
/* Like target_cmd_abort(), but also aborts waiting event requests. */
bool nvme_tgt_cmd_abort(struct nvme_tgt_cmd *);
/* Set the result of the completion. */
void nvme_tgt_cmd_result(struct nvme_tgt_cmd *, uint64_t result);
void nvme_tgt_queue_connected(struct loop_msg *);
/* Connected, and authenticated if necessary: execute commands of the controller. */
void nvme_tgt_queue_go_live(struct nvme_tgt_queue *);
static inline struct nvme_tgt_cmd *nvme_tgt_cmd_at(const struct nvme_tgt_queue *queue, unsigned i)
{
	return (struct nvme_tgt_cmd *)target_cmd_at(&queue->base, i);
}
static inline void nvme_tgt_cmd_worked(struct nvme_tgt_cmd *cmd, uint32_t status)
{
	target_cmd_worked(&cmd->base, status);
}

/* tgt_io.c, tgt_admin.c: tables that end with a row without a name */
extern const struct nvme_tgt_op nvme_tgt_io_ops[], nvme_tgt_admin_ops[], nvme_tgt_fabrics_ops[];
uint32_t nvme_tgt_status(const struct io *);
/* Set cmd->ns and the disk from the namespace ID. */
uint32_t nvme_tgt_find_ns(struct nvme_tgt_cmd *);

/* tgt_admin.c: on the admin queue's loop */
void nvme_tgt_ctrl_noticed(struct loop_msg *);
void nvme_tgt_ctrl_restart_keep_alive(
	struct nvme_tgt_ctrl *); /* called for each command of the admin queue */
void nvme_tgt_ctrl_unmask(struct nvme_tgt_ctrl *, uint32_t event); /* its log was read */
void nvme_tgt_ctrl_kill_io(struct nvme_tgt_ctrl *);                /* ends its I/O queues */
void nvme_tgt_ctrl_quit(struct nvme_tgt_ctrl *);                   /* ends the admin queue */
void nvme_tgt_ctrl_forget(struct nvme_tgt_ctrl *, const struct nvme_tgt_cmd *event);

/* tgt_abort.c */
void nvme_tgt_abort(struct nvme_tgt_cmd *); /* executes one */

/* tgt_reset.c */
void nvme_tgt_cross_reset(struct nvme_tgt_cmd *); /* executes one */
void nvme_tgt_reset_init(struct nvme_target *);
void nvme_tgt_reset_ended(struct nvme_target *, uint16_t cntlid); /* on the target's loop */
/* Return the random number of a controller of this target; 0: none. Any thread. */
uint64_t nvme_tgt_cirn(const struct nvme_target *, uint16_t cntlid, uint8_t ciu);

/* tgt_reserve.c: reservations */
uint32_t nvme_tgt_reserve_check(const struct nvme_tgt_cmd *); /* of a command that was checked */
bool nvme_tgt_preempted(const struct target_conn *, const struct bdev *); /* proto->preempted */
uint32_t nvme_tgt_register_check(struct nvme_tgt_cmd *, uint32_t *len),
	nvme_tgt_acquire_check(struct nvme_tgt_cmd *, uint32_t *len),
	nvme_tgt_release_check(struct nvme_tgt_cmd *, uint32_t *len),
	nvme_tgt_report_check(struct nvme_tgt_cmd *, uint32_t *len);
void nvme_tgt_register_work(struct nvme_tgt_cmd *), nvme_tgt_acquire_work(struct nvme_tgt_cmd *),
	nvme_tgt_release_work(struct nvme_tgt_cmd *), nvme_tgt_report_work(struct nvme_tgt_cmd *);
/* Make the controller's host a member of its namespaces' reservations; remove it. */
void nvme_tgt_reserve_join(struct nvme_tgt_ctrl *), nvme_tgt_reserve_leave(struct nvme_tgt_ctrl *);
/* Write the log page. Remove the notification that was read; return whether others are left. */
void nvme_tgt_notes_page(struct nvme_tgt_ctrl *, struct nvme_reserve_log *);
bool nvme_tgt_notes_read(struct nvme_tgt_ctrl *);
uint8_t nvme_tgt_rescap(const struct nvme_tgt_ns *);
/* Features 82h and 83h of that namespace, or of all (NVME_NSID_ALL, only to set). */
uint32_t nvme_tgt_notice_mask_set(struct nvme_tgt_ctrl *, uint32_t nsid, uint32_t mask);
uint32_t nvme_tgt_notice_mask_get(struct nvme_tgt_ctrl *, uint32_t nsid, uint32_t *mask);
void nvme_tgt_persistence_set(struct nvme_tgt_cmd *); /* and end the command */
uint32_t nvme_tgt_persistence_get(struct nvme_tgt_ctrl *, uint32_t nsid, uint32_t *persist);

/* tgt_identify.c, tgt_log.c */
uint32_t nvme_tgt_identify_check(struct nvme_tgt_cmd *, uint32_t *len),
	nvme_tgt_log_check(struct nvme_tgt_cmd *, uint32_t *len);
void nvme_tgt_identify_work(struct nvme_tgt_cmd *), nvme_tgt_log_work(struct nvme_tgt_cmd *);

/* tgt_auth.c: Authentication Send and Receive */
uint32_t nvme_tgt_auth_check(struct nvme_tgt_cmd *, uint32_t *len);
void nvme_tgt_auth_send(struct nvme_tgt_cmd *), nvme_tgt_auth_receive(struct nvme_tgt_cmd *);
bool nvme_tgt_auth_failed(const struct nvme_tgt_auth *); /* the host must not do anything else */
void nvme_tgt_auth_down(struct nvme_tgt_auth *);         /* the connection is down */
/* On the target's loop. NULL: no memory. */
struct nvme_tgt_auth *nvme_tgt_auth_new(struct nvme_tgt_queue *);
void nvme_tgt_auth_free(struct nvme_tgt_auth *); /* NULL is allowed */

/* tgt_disc.c */
uint64_t nvme_tgt_disc_len(const struct nvme_tgt_cmd *);
void nvme_tgt_disc_page(const struct nvme_tgt_cmd *, uint64_t off, uint8_t *, uint32_t len);

/* tgt_host.c: which hosts may connect to a disk, and how. On the target's loop. */
/* The line of the queue's host in the hosts file, if it uses TLS exactly if that demands it. NULL:
 * the host is unknown. */
const struct nvme_host *nvme_tgt_host_find(const struct nvme_tgt_queue *);
enum nvme_tgt_host_verdict {
	NVME_TGT_HOST_REFUSE,
	NVME_TGT_HOST_AUTHENTICATE,
	NVME_TGT_HOST_ADMIT
};
/* If hosts authenticate, unknown ones have to as well, so that answers do not reveal names. */
enum nvme_tgt_host_verdict nvme_tgt_host_check(const struct nvme_tgt_queue *);
/* Whether the queue may only generate a PSK for TLS (ASCR). If all known hosts have to do so,
 * unknown ones have to as well. */
bool nvme_tgt_host_must_concatenate(const struct nvme_tgt_queue *);
bool nvme_tgt_host_needs_tls(const struct nvme_tgt_queue *);
/* Whether the queue is of the host and the subsystem that its PSK is for. Sets the member of
 * nvmf_connect_data that differs. */
bool nvme_tgt_host_is_named(const struct nvme_tgt_queue *, size_t *at);
/* Whether what the hosts file demands of the controller's host has changed. */
bool nvme_tgt_host_changed(const struct nvme_tgt_ctrl *, const struct nvme_hosts *);

/* What the discovery log says of TLS; any thread. */
enum nvme_tgt_tls { NVME_TGT_TLS_NONE, NVME_TGT_TLS_SOME, NVME_TGT_TLS_ALL };
enum nvme_tgt_tls nvme_tgt_tls_use(const struct target_options *);
